"""Reading an adjacency condition as local moves.

A condition is brought into a union of conjunctions. In each, the conjuncts that bound how far a
variable and its primed partner are apart become *moves*: `linf/l1/hamming(q, q') <= c`,
`abs(x - x') <= c`, `x = x'`, `count(i in S : q[i] != q'[i]) <= c` and their like, also with `<`
and `=`. Moves only narrow the search: a candidate pair still has to satisfy the condition itself,
so a conjunct that is not recognised costs time, never correctness.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Literal

from dpcheck.model import trees
from dpcheck.model.expressions import (
    Apply,
    ArrayVar,
    Binder,
    Const,
    Expr,
    Let,
    Logic,
    Var,
    known_cell,
)
from dpcheck.model.values import SetValue, Value
from dpcheck.records import dataclass, replace

MAX_CONJUNCTIONS = 64
"""Bounds the disjunctive form of a condition, which may double with every `|`."""
MAX_UNROLLED = 4096
"""Bounds the set of a quantifier that is written out."""

Norm = Literal["linf", "l1", "hamming"]

Names = tuple[frozenset[str], frozenset[str]]
"""The variables of the left side, and of the right one."""


@dataclass(frozen=True)
class Distance:
    """The pairs (left variable, right variable) are at most `bound` apart in the norm.

    `conjunct` is what says so; `is_exact` tells that, on integers, it says nothing else.
    """

    norm: Norm
    pairs: tuple[tuple[str, str], ...]
    bound: int
    conjunct: Expr
    is_exact: bool


def conjunctions(condition: Expr) -> list[tuple[Expr, ...]]:
    """Return the condition as a union of conjunctions, or whole where that would be too long."""
    return _union(substituted(condition, {}))


def _union(expr: Expr) -> list[tuple[Expr, ...]]:
    match expr:
        case Logic(op="or", args=args):
            parts = [part for arg in args for part in _union(arg)]
        case Logic(op="and", args=args):
            unions = [_union(arg) for arg in args]
            total = 1
            for union in unions:
                total *= len(union)
            if total > MAX_CONJUNCTIONS:
                return [(expr,)]
            parts = [tuple(e for part in choice for e in part) for choice in product(*unions)]
        case _:
            return [(expr,)]
    return parts if len(parts) <= MAX_CONJUNCTIONS else [(expr,)]


def substituted(expr: Expr, names: dict[str, Expr]) -> Expr:
    """Replace variables by names, also those bound by `Let` to one; unroll `forall`."""

    def written_out(node: object) -> object | None:
        match node:
            case Var(name=name) | ArrayVar(name=name):
                return names.get(name, node)
            case Let(name=name, value=value, body=body):
                inner = substituted(value, names)
                if isinstance(inner, Const | Var | ArrayVar):
                    return substituted(body, {**names, name: inner})
                return replace(node, value=inner, body=substituted(body, names))
            case Logic(op="and" | "or" as op, args=args):
                flat: list[Expr] = []
                for arg in args:
                    part = substituted(arg, names)
                    flat += part.args if isinstance(part, Logic) and part.op == op else (part,)
                return replace(node, args=tuple(flat))
            case Apply(op="index", args=(array, index), span=span):
                base, place = substituted(array, names), substituted(index, names)
                cell = known_cell(base, place)
                return replace(node, args=(base, place)) if cell is None else Var(cell, span)
            case Binder():
                return _unrolled(node, names)
        return None

    return trees.replaced(expr, written_out)


def _unrolled(expr: Binder, names: dict[str, Expr]) -> Expr:
    """Write out a quantifier or a sum of distances over a constant set."""
    domain = substituted(expr.domain, names)
    elements = constant_elements(domain)
    if elements is None or expr.where is not None or expr.kind not in _UNROLLED:
        where = None if expr.where is None else substituted(expr.where, names)
        return replace(expr, domain=domain, where=where, body=substituted(expr.body, names))
    bodies = tuple(
        substituted(expr.body, {**names, expr.name: Const(element, expr.span)})
        for element in elements
    )
    match expr.kind:
        case "forall":
            return Logic("and", bodies, expr.span)
        case "exists":
            return Logic("or", bodies, expr.span)
        case "sum" | "max" | "count" as op:
            array = Apply("array", (Const(0, expr.span), *bodies), expr.span)
            return Apply(op, (array,), expr.span)
        case _:
            raise AssertionError(f"{expr.kind} is not unrolled")


_UNROLLED = frozenset({"forall", "exists", "sum", "max", "count"})


def constant_elements(domain: Expr) -> tuple[Value, ...] | None:
    """Return the elements of a set that is known and has some, but not too many; else None."""
    match domain:
        case Const(value=SetValue() as value) if 0 < value.size <= MAX_UNROLLED:
            return tuple(value)
        case Apply(op="range", args=(Const(value=int(lo)), Const(value=int(hi)))) if (
            0 <= hi - lo < MAX_UNROLLED
        ):
            return tuple(range(lo, hi + 1))
        case _:
            return None


# --- distances -----------------------------------------------------------------------------


def distances(conjuncts: Iterable[Expr], names: Names) -> list[Distance]:
    """Return what the conjuncts say about the distance of left variables to right ones."""
    found = (_distance(conjunct, names) for conjunct in conjuncts)
    return [distance for distance in found if distance is not None]


def _distance(expr: Expr, names: Names) -> Distance | None:
    match expr:
        case Apply(op="=", args=(first, second)):
            same = _paired(first, second, names)
            # Arrays of other indices are never equal: of them, any bound holds.
            if same is not None and type(first) is type(second):
                return Distance("hamming", same, 0, expr, is_exact=True)
            return _bounded(expr, first, second, names) or _bounded(expr, second, first, names)
        case Apply(op="<=" | "<", args=(norm, bound)):
            return _bounded(expr, norm, bound, names)
        case Apply(op=">=" | ">", args=(bound, norm)):
            return _bounded(expr, norm, bound, names)
        case _:
            return None


def _bounded(expr: Apply, norm: Expr, bound: Expr, names: Names) -> Distance | None:
    """Read a comparison as `norm <= bound`, for an integer bound.

    Only a Hamming distance is an integer for certain, so only there `< c` is `<= c - 1`. Records
    that differ count once each, however many of their w cells do: k of them are at most k w cells.
    """
    if not isinstance(bound, Const) or not isinstance(bound.value, int):
        return None
    if isinstance(bound.value, bool):
        return None
    found = _norm(norm, names)
    if found is None:
        return None
    is_strict = expr.op in ("<", ">")
    is_whole = found[0] == "hamming" or bound.value <= 0
    most = bound.value - 1 if is_strict and is_whole else bound.value
    pairs = found[1]
    records = _counted_records(norm)
    are_cells = all(isinstance(side, Var) for record in records for side in record)
    is_exact = expr.op != "=" and (is_whole or not is_strict) and len(set(pairs)) == len(pairs)
    width = max((len(_variables(side) or ()) for record in records for side in record), default=1)
    return Distance(*found, most * width if most > 0 else most, expr, is_exact and are_cells)


def _counted_records(norm: Expr) -> list[tuple[Expr, ...]]:
    """Return both sides of what a count compares; nothing for another norm."""
    match norm:
        case Apply(op="count", args=(Apply(op="array", args=(_, *items)),)):
            return [item.args for item in items if isinstance(item, Apply)]
        case _:
            return []


def _norm(expr: Expr, names: Names) -> tuple[Norm, tuple[tuple[str, str], ...]] | None:
    """Read an expression that is a distance between left and right variables."""
    match expr:
        case Apply(op="linf" | "l1" | "hamming" as op, args=(first, second)):
            # One variable that holds a tuple has distances of its own, not seen from here.
            if isinstance(first, Var) or isinstance(second, Var):
                return None
            pairs = _paired(first, second, names)
            return None if pairs is None else (op, pairs)
        case Apply(op="abs", args=(Apply(op="-", args=(Var() as first, Var() as second)),)):
            pairs = _paired(first, second, names)
            return None if pairs is None else ("linf", pairs)
        case Apply(op="sum" | "max" | "count" as op, args=(Apply(op="array", args=(_, *items)),)):
            return _collected(op, items, names)
        case Apply(op="+", args=args) | Apply(op="sum", args=(_, _, *_) as args):
            return _collected("sum", args, names)
        case Apply(op="max", args=(_, _, *_) as args):
            return _collected("max", args, names)
        case _:
            return None


def _collected(
    op: Literal["sum", "max", "count"],
    items: Iterable[Expr],
    names: Names,
) -> tuple[Norm, tuple[tuple[str, str], ...]] | None:
    """Read a sum or maximum of `abs(x - x')`, or a count of `x != x'`, over several variables."""
    pairs: list[tuple[str, str]] = []
    for item in items:
        match item:
            case Apply(op="!=", args=(first, second)) if op == "count":
                found = _paired(first, second, names)
            case _ if op == "count":
                found = None
            case _:
                inner = _norm(item, names)
                wanted = ("linf", "l1") if op == "sum" else ("linf",)
                single = inner is not None and (len(inner[1]) == 1 or inner[0] == "l1")
                usable = inner is not None and inner[0] in wanted and (single or op == "max")
                found = inner[1] if inner is not None and usable else None
        if found is None:
            return None
        pairs += found
    norm: Norm = {"sum": "l1", "max": "linf", "count": "hamming"}[op]  # type: ignore[assignment]
    return norm, tuple(pairs)


def _paired(first: Expr, second: Expr, names: Names) -> tuple[tuple[str, str], ...] | None:
    """Return the variables that stand opposite each other, left one first."""
    (left, right), ours, theirs = names, _variables(first), _variables(second)
    if ours is None or theirs is None or len(ours) != len(theirs):
        return None
    pairs = []
    for a, b in zip(ours, theirs, strict=True):
        if a in left and b in right:
            pairs.append((a, b))
        elif b in left and a in right:
            pairs.append((b, a))
        else:
            return None
    return tuple(pairs)


def _variables(expr: Expr) -> tuple[str, ...] | None:
    match expr:
        case Var(name=name):
            return (name,)
        case ArrayVar(cells=cells):
            return cells
        case Apply(op="tuple", args=args) | Apply(op="array", args=(_, *args)):
            names = [arg.name for arg in args if isinstance(arg, Var)]
            return tuple(names) if len(names) == len(args) else None
        case _:
            return None
