"""The law of every operator: numbers moved as a case allows give that case's result again."""

from __future__ import annotations

from itertools import product

import pytest

from dpcheck.align.moves import Reader
from dpcheck.align.neighbors import Unreadable
from dpcheck.certify.moved import Items, Moved, numbers_in
from dpcheck.model.evaluation import evaluate
from dpcheck.model.program import Output
from tests.align.resolved import mechanism

COMPARISONS = [f"x {op} {side}" for op in (">=", ">", "<", "<=", "=", "!=") for side in "0y"]

READ = [
    *COMPARISONS,
    "0 < x <= y",
    "x > 0 & y > 0",
    "x > 0 | y > 0",
    "x > y => y > 0",
    "!(x > 0)",
    "x in 0..1",
    "x in 1..0",
    "x + 1",
    "x - y > 0",
    "-x > y",
    "y - (x - 1) > 0",
    "sum((x, y, 1)) > 0",
    "x + x > 1",
    "max(x, y)",
    "min(x, y, 1)",
    "max(x, y) > min(x, 0)",
    "argmax(x, y)",
    "argmin(x, y, 0)",
    "clamp(x, 0, 1)",
    "clamp(x, 0, 1) >= y",
    "if x > 0 then x else y",
    "if x > 0 then x - y else 1",
    "(x, y > 0)",
    "(y, x)[2] > 0",
    "count(i in 0..2 : x > i)",
    "count(i in 0..2 where i > 1 : x > i)",
    "exists(i in 0..1 : x = i)",
    "forall(i in 0..1 : x > i | y > i)",
    "max(i in 0..1 : x - i)",
    "argmax(i in 0..2 : if i = 1 then x else y)",
    "argmin(i in 0..2 : if i = 1 then x else y)",
    "sum(i in 0..1 : x) > 0",
]


def expression(text):
    """Return an expression about two noisy numbers."""
    target = mechanism(f"""
mechanism m {{
  input q in integers
  adjacent abs(q - q') <= 1
  x ~ geometric(q, 1/2) unbounded
  y ~ geometric(q, 1/2) unbounded
  output {text}
}}""")
    return next(node.value for node in target.nodes if isinstance(node, Output))


def shift(number, shifts):
    return number.by + sum(n * shifts[draw] for draw, n in number.draws)


def is_kept(needs, shifts):
    moved = [(shift(number, shifts), sign) for number, sign in needs]
    return all((by >= 0 or sign < 0) and (by <= 0 or sign > 0) for by, sign in moved)


def moved_by(result, value, shifts):
    """Return what a value of a case is in the other run."""
    match result:
        case Moved():
            return value + shift(result, shifts)
        case Items(items=items):
            return type(value)(moved_by(*pair, shifts) for pair in zip(items, value, strict=True))
        case tuple() if numbers_in(result):
            return tuple(moved_by(*pair, shifts) for pair in zip(result, value, strict=True))
        case _:
            return result


@pytest.mark.parametrize("text", READ)
def test_some_case_tells_what_becomes_of_numbers_however_they_are_moved(text):
    read = expression(text)
    cases = Reader({"x": Moved(((0, 1),), 0, True), "y": Moved(((1, 1),), 0, True)}).cases(read)
    moves = list(product(range(-2, 3), repeat=2))
    allowed = [[by for by in moves if is_kept(needs, by)] for _, needs in cases]
    values = {
        at: evaluate(read, {"x": at[0], "y": at[1]}) for at in product(range(-4, 6), repeat=2)
    }

    def explains(k, x, y):
        result, value = cases[k][0], values[x, y]
        return moved_by(result, value, (0, 0)) == value and all(
            values[x + a, y + b] == moved_by(result, value, (a, b)) for a, b in allowed[k]
        )

    for x, y in product(range(-2, 4), repeat=2):
        assert any(explains(k, x, y) for k in range(len(cases))), (x, y)


COMPARED_WITHOUT_NOISE = ["q > 0", "max(q, x) > 0", "clamp(q, 0, 1)", "q in 0..1", "argmax(q, 1)"]
WITHOUT_LAW = [
    "x * 2",
    "q * q",
    "q * 1/2",
    "q * x",
    "abs(x)",
    "x div 2",
    "x in {0, 2}",
    "x + 1/2 > y",
    "(x, y) = (0, 0)",
]
OF_NOTHING = [f"arg{best}(i in {{j for j in 0..2 where j > 2}} : x)" for best in ("max", "min")]


@pytest.mark.parametrize("text", [*COMPARED_WITHOUT_NOISE, *OF_NOTHING, *WITHOUT_LAW])
def test_what_has_no_law_is_not_read(text):
    known = {"x": Moved(((0, 1),), 0, True), "y": Moved(((1, 1),), 0, True), "q": Moved((), 1)}
    with pytest.raises(Unreadable):
        Reader(known).cases(expression(text))
