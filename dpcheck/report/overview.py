"""Overviews of targets: the privacy profile of each, and one table of quantities for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpcheck.check.values.verdicts import AllValues, Table, Undecided
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.logic.quantities import QUANTITIES
from dpcheck.records import dataclass, field
from dpcheck.report import plot
from dpcheck.report.answers import Answer, StatedBudget
from dpcheck.report.characters import visible
from dpcheck.report.notation import counted, expression_text
from dpcheck.report.styled import Line, Piece, line
from dpcheck.report.tables import aligned_lines, cell_text, table_csv, table_lines
from dpcheck.report.text import undecided_lines

COLUMNS = dict(row.overview for row in QUANTITIES.values() if row.overview is not None)
"""What the overview of a file shows, with the heads of its columns."""


@dataclass(frozen=True)
class Overview:
    """What was found about one target: answers by quantity, and budgets the file states for it.

    `mistakes` are those in its name, or in the file; `impossible` are those that single quantities
    of this target would be.
    """

    target: str
    answers: Mapping[str, Answer]
    budgets: tuple[StatedBudget, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    impossible: Mapping[str, Mistake] = field(default_factory=dict)

    @property
    def table(self) -> Table | None:
        """The profile, where it was asked for and found; none for all values of a parameter."""
        answer = self.answers.get("profile")
        return None if answer is None or answer.outcome.all_values else answer.table

    @property
    def over_parameter(self) -> AllValues | None:
        """ε for all values of a parameter, in place of the profile."""
        answer = self.answers.get("profile")
        known = None if answer is None else answer.outcome.all_values
        return known if known is not None and known.pieces else None


def profile_lines(found: Overview) -> Iterator[Line]:
    """Yield a profile: what it covers, then its table or why there is none."""
    answer, table = found.answers.get("profile"), found.table
    if answer is None:
        return
    facts = list(answer.covers)
    if answer.neighbor_pairs is not None:
        facts.append(counted(answer.neighbor_pairs, "neighbor pair"))
    text = visible(" · ".join(facts))
    yield line(Piece(visible(found.target), "strong"), "  ", Piece(text, "faint"))
    if table is not None:
        yield from table_lines(table, "  ", all_rows=True)
    known = found.over_parameter
    if known is not None:  # ε as a function of the parameter, in place of δ as one of ε
        rows = [[values, expression_text(found)] for values, found in _rows(known)]
        yield from aligned_lines([*_heads(known)], rows, "  ", folds=True)
    yield from _undecided_lines(found, "  ")
    for budget in found.budgets:
        said = f"stated: ε = {budget.epsilon.exact}, δ = {budget.delta.exact}"
        yield line("  ", Piece(visible(said), "faint"))
    yield line()


def _heads(known: AllValues) -> tuple[str, str]:
    return f"{known.param} in", "epsilon"


def _rows(known: AllValues) -> list[list[str]]:
    return [[piece.interval.text, piece.text] for piece in known.pieces]


def profile_svg(found: Overview) -> str:
    """Return the drawing of a profile, or of ε over a parameter."""
    if found.over_parameter is not None:
        return plot.parameter_svg(f"epsilon of {found.target}", found.over_parameter)
    assert found.table is not None, "the profile was found"
    drawn = plot.Profile(found.target, found.table, found.budgets)
    return plot.profiles_svg(f"privacy profile of {found.target}", [drawn])


def profile_csv(found: Overview) -> str:
    """Return a profile, or ε over a parameter, as CSV."""
    known = found.over_parameter
    if known is not None:
        return table_csv(Table("epsilon", _heads(known), tuple(map(tuple, _rows(known)))))
    assert found.table is not None, "the profile was found"
    return table_csv(found.table)


def quantity_lines(found: Sequence[Overview]) -> Iterator[Line]:
    """Yield one row a target, one column a quantity; below, why something is missing."""
    rows = [
        [visible(each.target), *(_cell(each.answers.get(quantity)) for quantity in COLUMNS)]
        for each in found
        if each.answers or each.impossible
    ]
    if rows:
        yield from aligned_lines(["", *COLUMNS.values()], rows, "")
    for each in found:
        yield from _undecided_lines(each, "")
        yield from _impossible_lines(each)


def _impossible_lines(found: Overview) -> Iterator[Line]:
    """Yield why there are no quantities of some names, each reason once."""
    reasons: dict[str, list[str]] = {}
    for quantity, mistake in found.impossible.items():
        reasons.setdefault(f"{mistake.title} ({mistake.code})", []).append(quantity)
    for reason, names in reasons.items():
        yield line(f"{visible(found.target)}: {', '.join(names)}: {visible(reason)}")


def _undecided_lines(found: Overview, indent: str) -> Iterator[Line]:
    """Yield why quantities of a target are undecided, each reason once."""
    reasons: dict[Undecided, list[str]] = {}
    for quantity, answer in found.answers.items():
        verdict = answer.outcome.verdict
        if isinstance(verdict, Undecided):
            reasons.setdefault(verdict, []).append(quantity)
    for verdict, names in reasons.items():
        of = f"{visible(found.target)}: {', '.join(names)}: "
        yield line(indent, of, Piece("undecided", "unsure"), f": {visible(verdict.reason)}")
        yield from undecided_lines(verdict, len(indent) + 4)


def _cell(answer: Answer | None) -> str:
    """Return the value an answer found, `-` where there was no answer."""
    if answer is None:
        return "-"
    if isinstance(answer.outcome.verdict, Undecided):
        return "undecided"
    known = answer.outcome.all_values
    if known is not None:
        pieces = [(piece.text, piece.interval.text) for piece in known.pieces]
        parts = [f"{exact} for {known.param} in {interval}" for exact, interval in pieces]
        return visible("; ".join(parts) if len(parts) > 1 else pieces[0][0])
    value = answer.outcome.value
    return "-" if value is None else cell_text(value)
