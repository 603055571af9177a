"""Tables of values over a parameter: rows of bounds say so, rows of values do not."""

from __future__ import annotations

from dpcheck.check.all_values.piecewise import value_of_pieces
from dpcheck.check.values.verdicts import AllValues, Piece
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.report.styled import plain
from dpcheck.report.tables import piece_lines


def interval(low, high):
    ends = (ParamEnd(text, None, text, is_open=True) for text in (low, high))
    return ParamInterval(*ends)


def shown(*pieces):
    """Return the lines of a table of pieces of ε."""
    known = AllValues("p", "(0, 1)", pieces=pieces)
    table = value_of_pieces(known, "epsilon").table
    return [plain(each).rstrip() for each in piece_lines(table, "")]


EXACT = Piece(interval("0", "0.5"), "ln(2)")
BOUNDED = Piece(interval("0.5", "1"), "ln(3)", "ln(4)")


def test_an_exact_row_beside_bounds_has_none():
    assert shown(EXACT, BOUNDED) == [
        "p in      epsilon         at most",
        "(0, 0.5)  ln(2)",
        "(0.5, 1)  at least ln(3)  ln(4)",
    ]


def test_an_exact_row_beside_bounds_that_stand_below_each_other_has_none():
    long = "ln((p^52 + 2*p^51 + 4*p^50)/(p^3 + 17))"
    assert shown(EXACT, Piece(BOUNDED.interval, long, f"{long} + {long}")) == [
        "p in                epsilon",
        "(0, 0.5)            ln(2)",
        f"(0.5, 1)  at least  {long}",
        f"          at most   {long} + {long}",
    ]
