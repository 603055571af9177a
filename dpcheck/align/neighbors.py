"""Adjacency of inputs that may be any integers, as what their differences may be.

A relation of the class reads an input and its neighbor's value through their difference only, so it
is the same everywhere on the integers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from dpcheck.diagnostics import align
from dpcheck.diagnostics.mistakes import Refused
from dpcheck.exact import Rational, ceil, floor
from dpcheck.explore.inputs.adjacency_patterns import substituted
from dpcheck.model.expressions import (
    Apply,
    ArrayVar,
    Const,
    Expr,
    Let,
    Logic,
    Var,
    primed_name,
    reads,
)
from dpcheck.model.program import AdjacentWhere, Input, Mechanism
from dpcheck.model.values import SetValue
from dpcheck.records import dataclass

Ends = tuple[int | None, int | None]

OPPOSITE: dict[str, str] = {"<": ">", "<=": ">=", "=": "=", ">=": "<=", ">": "<"}


@dataclass(frozen=True)
class Differences:
    """What neighbors' values may differ by: each cell by low..high, and cells together.

    The absolute differences of the cells of a group add up to its limit at most; `within` says of
    each cell in which groups it is. Neighbors of the mechanism have such differences; there may be
    differences here that no neighbors have.
    """

    ranges: tuple[tuple[str, int, int], ...]
    within: tuple[tuple[str, tuple[int, ...]], ...]
    limits: tuple[int, ...]

    @property
    def mirrored(self) -> Differences:
        """The differences seen from the other neighbor."""
        ranges = tuple((cell, -high, -low) for cell, low, high in self.ranges)
        return Differences(ranges, self.within, self.limits)

    @property
    def are_empty(self) -> bool:
        """Return whether no two inputs have such differences: none at all is no difference.

        Where all cells differ by the least they may, groups have the most left for one more.
        """
        groups, left = dict(self.within), list(self.limits)
        least = {cell: max(low, -high, 0) for cell, low, high in self.ranges}
        for cell, far in least.items():
            for group in groups[cell]:
                left[group] -= far
        if min(left, default=0) < 0 or any(low > high for _, low, high in self.ranges):
            return True
        may_differ = (cell for cell, low, high in self.ranges if (low, high) != (0, 0))
        return not any(
            least[cell] or min((left[group] for group in groups[cell]), default=1)
            for cell in may_differ
        )


def differences(mechanism: Mechanism) -> tuple[Differences, ...]:
    """Return the differences of neighbors: one case a clause, and its mirror if that differs.

    Raises `Unreadable` with the mistakes of clauses outside of the class.
    """
    cases: list[Differences] = []
    for clause in mechanism.adjacency:
        if not isinstance(clause, AdjacentWhere):
            edit = f"adjacent {_bounded(mechanism.inputs)}"
            raise Unreadable(align.RelationOutside(clause.span, "this relation", edit))
        cases.append(_of_clause(clause.condition, mechanism))
    return tuple(dict.fromkeys(case for one in cases for case in (one, one.mirrored)))


class Unreadable(Refused):
    """A part of the program that is outside of the class: the user's mistake."""


def _of_clause(condition: Expr, mechanism: Mechanism) -> Differences:
    private = {cell: one for one in mechanism.inputs if not one.is_public for cell in one.cells}
    ends = {cell: _free(one) for cell, one in private.items()}
    sums: list[tuple[frozenset[str], int]] = []
    for part in _conjuncts(substituted(condition, {})):
        distance = _distance(part, private)
        if distance is not None:
            word, cells, bound = distance
            for cell in cells:
                _narrow(ends, cell, (-bound, bound))
            if word == "l1":
                sums.append((frozenset(cells), bound))
            continue
        cell, own = _of_cell(part, private)
        _narrow(ends, cell, own)
    ranges = []
    for cell, (low, high) in ends.items():
        if low is None or high is None:
            raise Unreadable(align.FreeDifference(condition.span, private[cell].name))
        domain = private[cell].domain
        ranges.append(
            (cell, -_greatest_difference(domain, -low), _greatest_difference(domain, high))
        )
    public = [
        c for one in mechanism.inputs if one.is_public and one.is_unbounded for c in one.cells
    ]
    ranges += [(cell, 0, 0) for cell in public]
    cells = (*private, *public)
    within = tuple((c, tuple(i for i, (cs, _) in enumerate(sums) if c in cs)) for c in cells)
    return Differences(tuple(ranges), within, tuple(limit for _, limit in sums))


def _free(one: Input) -> Ends:
    """Return what two values of a private input may differ by at all; a finite set is integers.

    A set is never listed: it may be too long.
    """
    if one.is_unbounded:
        return None, None
    if not one.domain.has_integers_only:
        raise Unreadable(align.OutsideAlignment(one.span, "a private input that is no number"))
    items = cast("Sequence[int]", one.domain.items)
    ends = (items[0], items[-1]) if isinstance(items, range) else items
    far = max(ends) - min(ends)
    return -far, far


def _greatest_difference(domain: SetValue, most: int) -> int:
    """Return the greatest difference of two values of a set that is at most a number.

    The number where all are greater; a range has no holes.
    """
    if isinstance(domain.items, range):
        return most
    values = sorted(cast("Iterable[int]", domain))
    below = ((value, bisect_right(values, value + most)) for value in values)
    return max((values[n - 1] - value for value, n in below if n), default=most)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Logic(op="and", args=args):
            for arg in args:
                yield from _conjuncts(arg)
        case Let(name=name, value=value, body=body):
            yield from _conjuncts(substituted(body, {name: value}))
        case Const(value=True):
            pass
        case _:
            yield condition


def _narrow(ends: dict[str, Ends], cell: str, own: Ends) -> None:
    (low, high), (low_now, high_now) = own, ends[cell]
    lows = [end for end in (low, low_now) if end is not None]
    highs = [end for end in (high, high_now) if end is not None]
    ends[cell] = max(lows, default=None), min(highs, default=None)


def _distance(part: Expr, private: dict[str, Input]) -> tuple[str, Iterable[str], int] | None:
    """Return (linf or l1, cells, c) for a distance that is at most c; None if it is none."""
    match part:
        case Apply(op="=", args=(ArrayVar() as one, ArrayVar() as other)):
            return _of_arrays("linf", (one, other), 0, private)
    op, left, bound = _compared(part)
    if op not in ("<", "<=", "="):
        return None
    most = ceil(bound) - 1 if op == "<" else floor(bound)
    match left:
        case Apply(op=("linf" | "l1") as word, args=(ArrayVar() as one, ArrayVar() as other)):
            if word == "l1" and any(private[c].is_stream for c in one.cells if c in private):
                edit = f"linf({one.name}, {other.name}) <= {most}"
                raise Unreadable(align.SumOverStream(part.span, "`l1` of a stream", edit))
            return _of_arrays(word, (one, other), most, private)
        case Apply(op="abs", args=(difference,)):
            cell = _difference(difference, private)
            if cell is None or cell[2] != 0 or private[cell[0]].is_stream:
                return None  # `q[1]` of a stream is one round, not all
            return "linf", (cell[0],), most
        case _:
            return None


def _compared(part: Expr) -> tuple[str, Expr, int | Rational]:
    """Return (op, x, c) for a comparison of x with a number, on whichever side; else op is "".

    Of two others it is one of their difference with 0.
    """
    match part:
        case Apply(op=op, args=(whole, Const(value=int() | Rational() as bound))):
            return op if op in OPPOSITE else "", whole, bound
        case Apply(op=op, args=(Const(value=int() | Rational() as bound), whole)):
            return OPPOSITE.get(op, ""), whole, bound
        case Apply(op=op, args=(_, _) as args) if op in OPPOSITE:
            return op, Apply("-", args, part.span), 0
        case _:
            return "", part, 0


def _of_arrays(
    word: str, arrays: tuple[ArrayVar, ArrayVar], most: int, private: dict[str, Input]
) -> tuple[str, Iterable[str], int] | None:
    """Return a distance of an array from the neighbor's; None for other arrays."""
    one, other = arrays
    cells = one.cells if one.cells[0] in private else other.cells
    is_pair = {one.cells, other.cells} == {cells, tuple(map(primed_name, cells))}
    return (word, cells, most) if is_pair and all(cell in private for cell in cells) else None


def _of_cell(part: Expr, private: dict[str, Input]) -> tuple[str, Ends]:
    """Return what one comparison lets the neighbor's value of a cell differ by."""
    outside = Unreadable(_outside(part, private))
    op, whole, bound = _compared(part)
    found = _difference(whole, private)
    if found is None or not op:
        raise outside
    cell, sign, moved = found
    bound = bound - moved
    if private[cell].is_stream:
        raise outside
    least = floor(bound) + 1 if op == ">" else ceil(bound) if op in (">=", "=") else None
    most = ceil(bound) - 1 if op == "<" else floor(bound) if op in ("<=", "=") else None
    if sign < 0:
        least, most = None if most is None else -most, None if least is None else -least
    return cell, (least, most)


def _outside(part: Expr, private: dict[str, Input]) -> align.RelationOutside:
    """Return that a relation is outside of the class, and what is near it."""
    for cell in reads(part):
        if cell in private and private[cell].is_stream:
            edit = f"`input {private[cell].name}[1..3] in 0..2` and `for i in 1..3`"
            return align.RelationOfStream(part.span, _word(part), edit)
    return align.RelationOutside(part.span, _word(part), _bounded(dict.fromkeys(private.values())))


def _bounded(inputs: Iterable[Input]) -> str:
    """Return a condition of the class about all private inputs."""
    private = [one for one in inputs if not one.is_public]
    distance = ("abs({0} - {0}') <= 1", "linf({0}, {0}') <= 1")
    return " & ".join(distance[one.lo is not None].format(one.name) for one in private)


def _difference(expr: Expr, private: dict[str, Input]) -> tuple[str, int, int | Rational] | None:
    """Return (x, 1, c) for x' - x + c, (x, -1, c) for x - x' + c; None for anything else."""
    n_times: Counter[str] = Counter()
    constant: int | Rational = 0
    for sign, part in _summands(expr, 1):
        match part:
            case Var(name=name):
                n_times[name] += sign
            case Const(value=int() | Rational() as number):
                constant += sign * number
            case _:
                return None
    for cell, sign in n_times.items():
        if cell in private and n_times == Counter({cell: sign, primed_name(cell): -sign}):
            return (cell, -sign, constant) if sign in (1, -1) else None
    return None


def _summands(expr: Expr, sign: int) -> Iterator[tuple[int, Expr]]:
    """Yield the parts of a sum, each with the sign that it has there."""
    match expr:
        case Apply(op=("+" | "-") as op, args=(one, other)):
            yield from _summands(one, sign)
            yield from _summands(other, sign if op == "+" else -sign)
        case _:
            yield sign, expr


def _word(part: Expr) -> str:
    match part:
        case (
            Apply(args=(Apply(op=("linf" | "l1" | "hamming") as word), _))
            | Apply(args=(_, Apply(op=("linf" | "l1" | "hamming") as word)))
        ):
            return f"`{word}`"
        case _:
            return "this relation"
