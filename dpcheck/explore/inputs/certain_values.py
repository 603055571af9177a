"""Which expressions surely have a value, whatever row they are evaluated on.

A condition is evaluated from left to right, and what has no value is the user's mistake. Only parts
that surely have one may be skipped, or evaluated in another order, without hiding such a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.exact import Rational
from dpcheck.explore.inputs.adjacency_patterns import constant_elements, substituted
from dpcheck.explore.values.codes import PLAIN, ValueTable
from dpcheck.model.expressions import Apply, ArrayVar, Binder, Const, Expr, If, Let, Logic, Var
from dpcheck.model.values import ArrayValue, SetValue, Value

Shape = str | tuple["Shape", ...]
"""`number`, `truth` or `value` (anything), or the shapes of the cells of a tuple or an array."""

NUMBER: Final = "number"
TRUTH: Final = "truth"
VALUE: Final = "value"

MAX_VALUES = 1 << 16
"""The shape of a column with more values than so many that are no integers stays open."""

_ORDERED = frozenset({"<", "<=", ">", ">="})
_RING = frozenset({"+", "-", "*", "neg", "abs"})
_OF_ITEMS = frozenset({"sum", "min", "max"})
_DISTANCES = frozenset({"hamming", "l1", "linf"})


def shape_of_column(codes: IntArray, table: ValueTable) -> Shape:
    """Return what all values of a column [n] have in common."""
    if len(codes) and int(np.abs(codes).max()) < PLAIN:
        return NUMBER
    different = distinct(codes)
    if len(different) > MAX_VALUES:
        return VALUE
    return _joined_shapes([_shape_of_value(value) for value in table.values(different)])


def _shape_of_value(value: Value) -> Shape:
    match value:
        case bool():
            return TRUTH
        case int() | Rational():
            return NUMBER
        case ArrayValue(items=items) | tuple(items):
            return tuple(map(_shape_of_value, items))
        case _:
            return VALUE


def _joined_shapes(shapes: Sequence[Shape]) -> Shape:
    """Return the narrowest shape of all."""
    if not shapes:
        return VALUE
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    if isinstance(first, tuple):
        cells = [shape for shape in shapes if isinstance(shape, tuple) and len(shape) == len(first)]
        if len(cells) == len(shapes):
            return tuple(_joined_shapes(column) for column in zip(*cells, strict=True))
    return VALUE


def shape(expr: Expr, columns: Mapping[str, Shape]) -> Shape | None:
    """Return what the values of an expression have in common; None if it may have no value."""
    match expr:
        case Const(value=value):
            return _shape_of_value(value)
        case Var(name=name):
            return columns.get(name)
        case ArrayVar(cells=cells):
            return _together([columns.get(cell) for cell in cells])
        case Logic(args=args):
            return TRUTH if all(shape(arg, columns) == TRUTH for arg in args) else None
        case If(condition=condition, then=then, orelse=orelse):
            both = _together([shape(then, columns), shape(orelse, columns)])
            is_chosen = shape(condition, columns) == TRUTH and both is not None
            return _joined_shapes(both) if is_chosen and both is not None else None
        case Let(name=name, value=value, body=body):
            known = shape(value, columns)
            return None if known is None else shape(body, {**columns, name: known})
        case Binder(kind="forall" | "exists" | "count" | "sum"):
            return _bound(expr, columns)
        case Apply():
            shapes = _together([shape(arg, columns) for arg in expr.args])
            return None if shapes is None else _applied(expr, shapes)
        case _:
            return None


def _bound(binder: Binder, columns: Mapping[str, Shape]) -> Shape | None:
    """Return the shape of a binder over a set that is known, for which it is written out."""
    elements = constant_elements(binder.domain)
    wanted = NUMBER if binder.kind == "sum" else TRUTH
    for element in elements or ():
        names: dict[str, Expr] = {binder.name: Const(element, binder.span)}
        where = None if binder.where is None else substituted(binder.where, names)
        if where is not None and shape(where, columns) != TRUTH:
            return None
        if shape(substituted(binder.body, names), columns) != wanted:
            return None
    if elements is None:
        return None
    return TRUTH if binder.kind in ("forall", "exists") else NUMBER


def _together(shapes: Sequence[Shape | None]) -> tuple[Shape, ...] | None:
    known = tuple(each for each in shapes if each is not None)
    return known if len(known) == len(shapes) else None


def _applied(expr: Apply, shapes: tuple[Shape, ...]) -> Shape | None:
    """Return the shape of what an operator gives for values of some shapes."""
    match expr.op:
        case "=" | "!=":
            return TRUTH
        case "in" if isinstance(expr.args[1], Const) and isinstance(expr.args[1].value, SetValue):
            return TRUTH
        case "not" if shapes == (TRUTH,):
            return TRUTH
        case op if op in _ORDERED and _are_all(NUMBER, shapes):
            return TRUTH
        case op if op in _RING and _are_all(NUMBER, shapes):
            return NUMBER
        case "/" | "div" | "mod" if _are_all(NUMBER, shapes):
            divisor = expr.args[1]
            return NUMBER if isinstance(divisor, Const) and divisor.value != 0 else None
        case "tuple":
            return shapes
        case "array":
            return shapes[1:]
        case op if op in _OF_ITEMS and _are_all(NUMBER, _items(shapes)):
            return NUMBER
        case "count" if _are_all(TRUTH, _items(shapes)):
            return NUMBER
        case op if op in _DISTANCES:
            return _distance(op, shapes)
        case _:
            return None


def _items(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Return the shapes of what a function of many values is given: its arguments, or one tuple.

    One number, or what may be no tuple, has no items.
    """
    match shapes:
        case (tuple() as items,):
            return items
        case (_,):
            return ()
    return shapes


def _distance(op: str, shapes: tuple[Shape, ...]) -> Shape | None:
    """Return `number` where two tuples or arrays of one length have a distance."""
    left, right = shapes
    if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
        return None
    return NUMBER if op == "hamming" or _are_all(NUMBER, (*left, *right)) else None


def _are_all(wanted: str, shapes: Sequence[Shape]) -> bool:
    return len(shapes) > 0 and all(shape == wanted for shape in shapes)
