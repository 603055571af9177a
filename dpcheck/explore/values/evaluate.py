"""Expressions on whole columns: the meaning is `model.evaluation.evaluate`, row by row.

Each node of an expression first tries one numpy operation that is exact for sure (see `plain`).
Where there is none the node is evaluated by `model.evaluation.apply` on the *distinct* tuples of
operands, and the results are gathered. A row without a result gets the code of a fault;
`& | => if where` evaluate their right sides only on the rows that need them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar, assert_never

import numpy as np

from dpcheck.chain.arrays import differences, marked
from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.chain.sets import distinct, distinct_rows
from dpcheck.chain.weights.rows import ranges
from dpcheck.explore.values import plain
from dpcheck.explore.values.codes import (
    FALSE,
    FIRST_FAULT,
    PLAIN,
    TRUE,
    UNASSIGNED,
    ValueTable,
    truth_codes,
)
from dpcheck.explore.values.mistakes import Unassigned
from dpcheck.model import evaluation
from dpcheck.model.expressions import (
    Apply,
    ArrayVar,
    Binder,
    Const,
    Expr,
    If,
    Let,
    Logic,
    Operator,
    Var,
)
from dpcheck.model.values import ArrayValue, SetValue, Value
from dpcheck.records import dataclass
from dpcheck.source import Span

Column = TypeVar("Column", IntArray, BoolArray)

MAX_EXPANDED = 1 << 20
"""Rows times elements that are evaluated at once: bounds the memory of a quantifier."""
MAX_DOMAIN = 1 << 25
"""Bounds the set of a quantifier, one element of which is a row."""
SUMMED = 64
"""How many numbers are added between two looks at the clock."""


class Frame:
    """Columns of one length by variable name; views on some of the rows gather on demand."""

    def __init__(self, n_rows: int, columns: Mapping[str, IntArray]) -> None:
        """Take columns of shape [n_rows]."""
        self.n_rows = n_rows
        self.depth = 0
        self._columns = dict(columns)
        self._parent: Frame | None = None
        self._rows: IntArray | None = None

    def __getitem__(self, name: str) -> IntArray:
        """Return a column, [n_rows]."""
        column = self._columns.get(name)
        if column is None:
            assert self._parent is not None, f"no column {name}"
            column = self._parent[name]
            if self._rows is not None:
                column = column[self._rows]
            self._columns[name] = column
        return column

    def at(self, rows: IntArray) -> Frame:
        """Return the frame of the given rows [n]."""
        view = Frame(len(rows), {})
        view._parent, view._rows, view.depth = self, rows, self.depth + 1
        return view

    def bound(self, name: str, column: IntArray) -> Frame:
        """Return the frame with one more variable [n_rows]."""
        view = Frame(self.n_rows, {name: _spread(column, self.n_rows)})
        view._parent, view.depth = self, self.depth + 1
        return view


def evaluated(expr: Expr, frame: Frame, table: ValueTable) -> IntArray:
    """Return the codes [n_rows] of the expression's values; faults where there is none."""
    return _spread(_codes(expr, frame, table), frame.n_rows)


def truths(expr: Expr, frame: Frame, table: ValueTable) -> IntArray:
    """Return `TRUE`, `FALSE` or a fault per row, [n_rows]; what is no Boolean is a fault."""
    return _spread(_truth(expr, frame, table), frame.n_rows)


def _spread(codes: Column, n_rows: int) -> Column:
    """Return codes (or a mask) of shape [n_rows] or [1] as [n_rows], without a copy.

    A view of one value by hand: `np.broadcast_to` takes thirty times as long.
    """
    if len(codes) == n_rows:
        return codes
    view = np.ndarray((n_rows,), codes.dtype, codes, 0, (0,))
    view.flags.writeable = False
    return view


def _codes(expr: Expr, frame: Frame, table: ValueTable) -> IntArray:
    """Return codes of shape [n_rows] or, where all rows agree, [1]."""
    match expr:
        case Const(value=value):
            return np.array([table.code(value)], np.int64)
        case Var():
            return _variable(expr.name, expr.span, frame, table)
        case ArrayVar():
            return _packed(_cells_of(expr, frame, table), expr.span, frame, table)
        case Apply(op="tuple" | "array"):
            cells = _cells_of(expr, frame, table)
            return _packed(cells, expr.span, frame, table)
        case Apply():
            return _applied(expr, frame, table)
        case Logic():
            return _logic(expr, frame, table)
        case If():
            condition = _truth(expr.condition, frame, table)
            return _chosen(condition, expr.then, expr.orelse, frame, table)
        case Let(name=name, value=value, body=body):
            bound = _codes(value, frame, table)
            found = _codes(body, frame.bound(name, bound), table)
            return np.where(bound >= FIRST_FAULT, bound, found) if plain.has_fault(bound) else found
        case Binder():
            return _binder(expr, frame, table)
    assert_never(expr)


def _variable(name: str, span: Span, frame: Frame, table: ValueTable) -> IntArray:
    column = frame[name]
    missing = column == UNASSIGNED
    if not missing.any():
        return column
    title = f"`{span.text}` is read before it has a value"
    return np.where(missing, table.fault(Unassigned("empty", title, (), span)), column)


def _cells_of(expr: Expr, frame: Frame, table: ValueTable) -> plain.Cells | None:
    """Return an expression's cells where it is written as an array or a tuple."""
    match expr:
        case ArrayVar(lo=lo, cells=cells):
            return plain.Cells(lo, tuple(_variable(c, expr.span, frame, table) for c in cells))
        case Apply(op="tuple", args=args):
            return plain.Cells(None, tuple(_codes(arg, frame, table) for arg in args))
        case Apply(op="array", args=(Const(value=int(lo)), *items)):
            return plain.Cells(lo, tuple(_codes(item, frame, table) for item in items))
        case Const(value=ArrayValue(lo=lo, items=values)):
            return plain.Cells(lo, tuple(np.array([table.code(v)], np.int64) for v in values))
        case Const(value=tuple(values)):
            return plain.Cells(None, tuple(np.array([table.code(v)], np.int64) for v in values))
        case _:
            return None


def _packed(cells: plain.Cells | None, span: Span, frame: Frame, table: ValueTable) -> IntArray:
    """Return the array or tuple as one value per row, [n_rows]."""
    assert cells is not None, "only written-out arrays and tuples have cells"
    lo = cells.lo

    def build(values: Sequence[Value]) -> Value:
        return tuple(values) if lo is None else ArrayValue(lo, tuple(values))

    length = 1 if all(len(item) == 1 for item in cells.items) else frame.n_rows
    if not cells.items or any(plain.has_fault(item) for item in cells.items):
        return _by_value(build, cells.items, span, frame.n_rows, table)
    full = [_spread(item, length) for item in cells.items]
    first, group = distinct_rows(full)
    return table.packed(lo, [column[first] for column in full])[group]


# --- strict operators ----------------------------------------------------------------------

_COLLECTING: tuple[Operator, ...] = ("sum", "min", "max", "count", "argmax", "argmin", "len")
_FIRST_CELLS: Mapping[Operator, int] = {**dict.fromkeys(_COLLECTING, 1), "index": 2}
"""Operators whose first operand may be known by its cells, with so many operands."""
_TWO_CELLS = frozenset({"hamming", "l1", "linf"})


def _applied(expr: Apply, frame: Frame, table: ValueTable) -> IntArray:
    """Evaluate a strict operator, [n_rows]."""
    op = expr.op
    if op == "in" and isinstance(expr.args[1], Apply | Const):
        found = _membership(expr, frame, table)
        if found is not None:
            return found
    columns: list[IntArray] = []
    cells: list[plain.Cells | None] = []
    for i, arg in enumerate(expr.args):
        wanted = op in _TWO_CELLS or (i == 0 and len(expr.args) == _FIRST_CELLS.get(op))
        inner = _cells_of(arg, frame, table) if wanted else None
        cells.append(inner)
        columns.append(_codes(arg, frame, table) if inner is None else np.empty(0, np.int64))
    if any(c is not None for c in cells):
        fast = plain.on_cells(op, cells, columns)
        if fast is not None:
            return fast
        for i, inner in enumerate(cells):
            if inner is not None:
                columns[i] = _packed(inner, expr.args[i].span, frame, table)
    return _on_columns(op, columns, expr.span, frame.n_rows, table)


def _on_columns(
    op: Operator, columns: list[IntArray], span: Span, n_rows: int, table: ValueTable
) -> IntArray:
    """Return the result of an operator on columns of codes, each [n_rows]."""
    fast = plain.on_plain(op, columns)
    if fast is not None:
        return fast
    if any(plain.has_fault(column) for column in columns):
        return _beside_faults(op, columns, span, n_rows, table)
    return _by_value(lambda values: evaluation.apply(op, values), columns, span, n_rows, table)


def _beside_faults(
    op: Operator, columns: list[IntArray], span: Span, n_rows: int, table: ValueTable
) -> IntArray:
    """Return the first operand's fault on rows that have one, the operator's result on others."""
    result = np.zeros(n_rows, np.int64)
    for column in reversed(columns):
        if plain.has_fault(column):
            np.copyto(result, column, where=column >= FIRST_FAULT)
    good = marked(result < FIRST_FAULT)
    if len(good):
        operands = [column if len(column) == 1 else column[good] for column in columns]
        result[good] = _on_columns(op, operands, span, len(good), table)
    return result


def _membership(expr: Apply, frame: Frame, table: ValueTable) -> IntArray | None:
    """Return `value in set` [n_rows] for a constant set or a range of integers, or None."""
    value_expr, domain = expr.args
    match domain:
        case Const(value=SetValue(items=range() as items)):
            value = _codes(value_expr, frame, table)
            are_plain = -PLAIN < items.start <= items.stop < PLAIN
            if plain.has_fault(value) or items.step != 1 or not are_plain:
                return None
            return truth_codes((value >= items.start) & (value < items.stop))
        case Const(value=SetValue(items=items)):
            value = _codes(value_expr, frame, table)
            return (
                None if plain.has_fault(value) else truth_codes(np.isin(value, table.codes(items)))
            )
        case Apply(op="range", args=(low, high)):
            value = _codes(value_expr, frame, table)
            lo, hi = _codes(low, frame, table), _codes(high, frame, table)
            if plain.has_fault(value) or not (plain.is_plain(lo) and plain.is_plain(hi)):
                return None
            return truth_codes((value >= lo) & (value <= hi))
        case _:
            return None


def _by_value(
    operation: Callable[[Sequence[Value]], Value],
    columns: Sequence[IntArray],
    span: Span,
    n_rows: int,
    table: ValueTable,
) -> IntArray:
    """Apply an operation to each distinct tuple of values; a fault among them is the result."""
    length = 1 if all(len(column) == 1 for column in columns) else n_rows
    full = [_spread(column, length) for column in columns]
    if not full:
        return np.array([_code_of(operation, (), span, table)], np.int64)
    first, group = distinct_rows(full)
    results = np.array(
        [
            _code_of(operation, codes, span, table)
            for codes in zip(*(column[first].tolist() for column in full), strict=True)
        ],
        np.int64,
    )
    return results[group]


def _code_of(
    operation: Callable[[Sequence[Value]], Value],
    codes: tuple[int, ...],
    span: Span,
    table: ValueTable,
) -> int:
    for code in codes:
        if code >= FIRST_FAULT:
            return code
    table.check_time()
    try:
        return table.code(operation([table.value(code) for code in codes]))
    except evaluation.Fault as fault:
        return table.fault(fault.at(span))


# --- lazy operators ------------------------------------------------------------------------


def _truth(expr: Expr, frame: Frame, table: ValueTable) -> IntArray:
    """Return `TRUE`, `FALSE` or a fault, of shape [n_rows] or [1]."""
    codes = _codes(expr, frame, table)
    if plain.are_truths(codes):
        return codes
    wrong = (codes != TRUE) & (codes != FALSE) & (codes < FIRST_FAULT)
    if not wrong.any():
        return codes
    codes = codes.copy()
    for code in distinct(codes[wrong]).tolist():
        codes[codes == code] = table.fault(evaluation.no_condition(table.value(code), expr.span))
    return codes


def _chosen(
    condition: IntArray, then: Expr, orelse: Expr, frame: Frame, table: ValueTable
) -> IntArray:
    """Evaluate one branch where the condition is true and the other where it is false."""
    if len(condition) == 1:
        code = int(condition[0])
        if code >= FIRST_FAULT:
            return condition
        return _codes(then if code == TRUE else orelse, frame, table)
    result = np.array(condition)
    for value, branch in ((TRUE, then), (FALSE, orelse)):
        rows = marked(condition == value)
        if len(rows) == len(condition):
            return _codes(branch, frame, table)
        if len(rows):
            result[rows] = _codes(branch, frame.at(rows), table)
    return result


def _logic(expr: Logic, frame: Frame, table: ValueTable) -> IntArray:
    """Evaluate from left to right [n_rows], each argument only on rows it can still decide."""
    go_on = FALSE if expr.op == "or" else TRUE
    result = np.array(truths(expr.args[0], frame, table))
    for i, arg in enumerate(expr.args[1:], start=1):
        rows = marked(result == go_on)
        if expr.op == "implies" and i == 1:
            result[result == FALSE] = TRUE
        if not len(rows):
            continue
        here = frame if len(rows) == frame.n_rows else frame.at(rows)
        result[rows] = _truth(arg, here, table)
    return result


# --- binders -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Spread:
    """Some rows, once per element of their domain; `owner` counts rows of `rows`, increasing."""

    rows: IntArray
    owner: IntArray
    element: IntArray
    inner: Frame


def _spreads(
    name: str, domain: Expr, domains: IntArray, frame: Frame, table: ValueTable
) -> Iterator[_Spread]:
    """Yield blocks of rows repeated over the elements of their domains (none if it is no set).

    domains [n_rows] are the codes of the domain's values.
    """
    distinct, group = np.unique(domains, return_inverse=True)
    elements = [_elements(domain, code, table) for code in distinct.tolist()]
    sizes = np.array([len(e) for e in elements], np.int64)
    starts = sizes.cumsum() - sizes
    pool = np.concatenate([np.empty(0, np.int64), *elements])
    for rows in _row_blocks(sizes[group]):
        counts = sizes[group[rows]]
        owner = np.arange(len(rows)).repeat(counts)
        element = pool[ranges(starts[group[rows]], counts)]
        yield _Spread(rows, owner, element, frame.at(rows[owner]).bound(name, element))


def _domains(expr: Expr, frame: Frame, table: ValueTable) -> IntArray:
    """Return codes of sets [n_rows]; faults where the value is no set, or one beyond memory."""
    domains = np.array(evaluated(expr, frame, table))
    for code in distinct(domains[domains < FIRST_FAULT]).tolist():
        try:
            evaluation.check_size(evaluation.elements_of(table.value(code)), MAX_DOMAIN)
        except evaluation.Fault as fault:
            domains[domains == code] = table.fault(fault.at(expr.span))
    return domains


def _binder(expr: Binder, frame: Frame, table: ValueTable) -> IntArray:
    """Evaluate the body once for every row and element of the domain, then reduce."""
    domains = _domains(expr.domain, frame, table)
    result = domains.copy()
    for part in _spreads(expr.name, expr.domain, domains, frame, table):
        result[part.rows] = _reduced(expr, part, table)
    return np.where(domains >= FIRST_FAULT, domains, result)


def spread(
    name: str,
    domain: Expr,
    where: Expr | None,
    bodies: tuple[Expr, ...],
    frame: Frame,
    table: ValueTable,
) -> list[tuple[int, ...] | int]:
    """Return per row the codes of the bodies, over all elements that satisfy `where`, in a row.

    For each kept element its bodies follow one another. A row without a result has the code of
    its first fault instead.
    """
    domains = _domains(domain, frame, table)
    result: list[tuple[int, ...] | int] = domains.tolist()
    for part in _spreads(name, domain, domains, frame, table):
        owner, _, codes = _kept_bodies(where, bodies, part, table)
        counts = np.bincount(owner, minlength=len(part.rows))
        ends = counts.cumsum()
        faulty = codes.max(axis=0, initial=0) >= FIRST_FAULT
        flat = codes.T.tolist()
        for i, row in enumerate(part.rows.tolist()):
            if domains[row] >= FIRST_FAULT:
                continue
            span = slice(int(ends[i] - counts[i]), int(ends[i]))
            found = tuple(code for codes_of_one in flat[span] for code in codes_of_one)
            result[row] = found
            if faulty[span].any():
                result[row] = next(code for code in found if code >= FIRST_FAULT)
    return result


def spread_frames(
    name: str, domain: Expr, frame: Frame, table: ValueTable
) -> tuple[IntArray, Iterator[Frame]]:
    """Return the domains' codes [n_rows] (faults to report), and blocks of the repeated rows."""
    domains = _domains(domain, frame, table)
    return domains, (part.inner for part in _spreads(name, domain, domains, frame, table))


def codes_of_all(expr: Expr, frame: Frame, table: ValueTable) -> IntArray:
    """Return the codes [n_codes] of an expression's values: of a set `{e for i in S}`, of each e.

    So an e without a value, which is a fault, leaves the others known. Where it is a fault whether
    an element is in the set, it is.
    """
    match expr:
        case Let(name=name, value=value, body=body):
            return codes_of_all(body, frame.bound(name, _codes(value, frame, table)), table)
        case Binder(name=name, kind="set", domain=domain, where=where, body=body):
            found = [np.empty(0, np.int64)]
            for inner in spread_frames(name, domain, frame, table)[1]:
                kept = inner
                if where is not None:
                    kept = inner.at(marked(truths(where, inner, table) != FALSE))
                found.append(codes_of_all(body, kept, table))
            return np.concatenate(found)
        case _:
            return evaluated(expr, frame, table)


def _kept_bodies(
    where: Expr | None, bodies: tuple[Expr, ...], part: _Spread, table: ValueTable
) -> tuple[IntArray, IntArray, IntArray]:
    """Return owner and element of what `where` keeps, and the bodies' codes [n_bodies, n_kept].

    Where the condition itself is a fault, so are all bodies.
    """
    owner, element = part.owner, part.element
    if where is None:
        codes = [evaluated(body, part.inner, table) for body in bodies]
        return owner, element, np.stack(codes)
    truth = truths(where, part.inner, table)
    kept = marked(truth != FALSE)
    result = np.repeat(truth[kept][np.newaxis], len(bodies), axis=0)
    good = marked(truth[kept] == TRUE)
    inner = part.inner.at(kept[good])
    for k, body in enumerate(bodies):
        result[k, good] = evaluated(body, inner, table)
    return owner[kept], element[kept], result


def _row_blocks(sizes: IntArray) -> Iterable[IntArray]:
    """Cut rows of sizes [n_rows] so that each block expands to about `MAX_EXPANDED` rows."""
    block = sizes.cumsum() // MAX_EXPANDED
    cuts = marked(differences(block)) + 1
    return [part for part in np.split(np.arange(len(sizes)), cuts) if len(part)]


def _elements(domain: Expr, code: int, table: ValueTable) -> IntArray:
    """Return the elements [n] of a set in order, as written if it is known; a fault has none."""
    if code >= FIRST_FAULT:
        return np.empty(0, np.int64)
    value = domain.value if isinstance(domain, Const) else table.value(code)
    assert isinstance(value, SetValue), "other kinds of values are faults by now"
    return table.codes(value.items)


def _reduced(expr: Binder, part: _Spread, table: ValueTable) -> IntArray:
    """Return the value of the binder over the elements of each row, [n_rows]."""
    n_rows = len(part.rows)
    owner, element, (body,) = _kept_bodies(expr.where, (expr.body,), part, table)
    if expr.kind in ("forall", "exists"):
        return _quantified(expr, owner, body, n_rows, table)
    counts = np.bincount(owner, minlength=n_rows)
    fast = plain.reduced(expr.kind, owner, element, body, counts)
    return _reduced_by_value(expr, element, body, counts, table) if fast is None else fast


def _quantified(
    expr: Binder, owner: IntArray, body: IntArray, n_rows: int, table: ValueTable
) -> IntArray:
    """Return the first body of each row [n_rows] that decides: false (or a fault) for `forall`."""
    go_on = TRUE if expr.kind == "forall" else FALSE
    deciding = marked(body != go_on)
    rows, first = np.unique(owner[deciding], return_index=True)
    result = np.full(n_rows, go_on, np.int64)
    codes = body[deciding[first]]
    for i in marked((codes != TRUE) & (codes != FALSE) & (codes < FIRST_FAULT)).tolist():
        value = table.value(int(codes[i]))
        title = f"`{expr.kind}` needs true or false, not {evaluation.described(value)}"
        codes[i] = table.fault(evaluation.Fault("wrong kind", title, (value,), expr.span))
    result[rows] = codes
    return result


def _reduced_by_value(
    expr: Binder, element: IntArray, body: IntArray, counts: IntArray, table: ValueTable
) -> IntArray:
    """Reduce row by row on values, each distinct list of bodies once."""
    known: dict[tuple[int, ...], int] = {}
    result, at = [], 0
    is_sum = expr.kind == "sum"
    reduce = partial(_sum_in_parts, table) if is_sum else partial(evaluation.reduced, expr.kind)
    codes, elements = body.tolist(), element.tolist()
    for count in counts.tolist():
        bodies = tuple(codes[at : at + count])
        code = known.get(bodies)
        if code is None:
            code = known[bodies] = _code_of(reduce, bodies, expr.span, table)
        if expr.kind in ("argmax", "argmin") and code < FIRST_FAULT:
            code = elements[at + code]
        result.append(code)
        at += count
    return np.array(result, np.int64)


def _sum_in_parts(table: ValueTable, values: Sequence[Value]) -> Value:
    """Return the sum as `apply` does, from left to right, with a look at the clock at times."""
    total: Value = 0
    for first in range(0, len(values), SUMMED):
        table.check_time()
        part = (total, *values[first : first + SUMMED])
        total = evaluation.apply("sum", (ArrayValue(0, part),))
    return total
