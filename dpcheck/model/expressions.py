"""Core expressions: what the text means once every name is known.

A core expression reads *variables* (columns of the explorer, each holding one value per state).
Functions of the file are gone: a call is a chain of `Let`. Constants and parameters are folded
into `Const`. Binders bind variables of their own; every bound name is unique in its mechanism.
Arrays are a family of variables, one a cell, so that liveness and merging see each cell.

Semantics of evaluation are strict, left to right, except `Logic`, `If` and the `where` of a
`Binder`, which evaluate only what they need.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dpcheck.model.trees import parts
from dpcheck.model.values import Value
from dpcheck.records import Frozen
from dpcheck.source import Span

Operator = Literal[
    # arithmetic: args are numbers (int, rational, K-number) or budgets where they make sense
    "+", "-", "*", "/", "div", "mod", "^", "neg", "ln", "exp",
    "abs", "floor", "ceil", "clamp", "sum", "min", "max", "count", "argmax", "argmin", "len",
    # comparison and membership; "=" and "!=" take any two values
    "=", "!=", "<", "<=", ">", ">=", "in",
    # Booleans
    "not",
    # structure
    "tuple", "array", "set", "range", "index",
    # distances of arrays or tuples of equal length
    "hamming", "l1", "linf",
    # the i-th element of a set in its order, from 0 (loops over sets use it); 1..n for `repeat n`
    "element", "rounds",
]  # fmt: skip

BinderKind = Literal[
    "forall", "exists", "sum", "product", "max", "min", "count", "argmax", "argmin", "set"
]


class Const(Frozen):
    """A value known before exploration."""

    value: Value
    span: Span


class Var(Frozen):
    """The current value of a variable (input, local, or bound by `Let` or `Binder`).

    `output` names what was output at the state, in atoms of formulas only; a primed input
    (`x'`) is the neighbor's value, in adjacency only.
    """

    name: str
    span: Span


class ArrayVar(Frozen):
    """A whole array variable as a value: cell `lo + i` is the variable `cells[i]`."""

    name: str
    lo: int
    cells: tuple[str, ...]
    span: Span


class Apply(Frozen):
    """A strict operator or built-in function.

    Shapes: `index` (array, or tuple counted from 1, integer), `array` (lo, items...),
    `sum/min/max/count/argmax/argmin` over one array, set or tuple, or over several arguments;
    comparisons are binary (chains are conjunctions by now).
    """

    op: Operator
    args: tuple[Expr, ...]
    span: Span


class Logic(Frozen):
    """`and`, `or`, `implies`: lazy from left to right; `implies` has two arguments."""

    op: Literal["and", "or", "implies"]
    args: tuple[Expr, ...]
    span: Span


class If(Frozen):
    """`if condition then then else orelse`; only one branch is evaluated."""

    condition: Expr
    then: Expr
    orelse: Expr
    span: Span


class Binding(Frozen):
    """What binds a variable in some of its parts."""

    name: str


class Let(Binding):
    """Evaluate `value` once, bind it to `name` in `body`."""

    value: Expr
    body: Expr
    span: Span


class Binder(Binding):
    """`kind(name in domain where condition : body)`; `set` builds a set of the bodies.

    `argmax` and `argmin` return the first element of the domain that attains the best body;
    `count` counts the elements whose (Boolean) body is true.
    """

    kind: BinderKind
    domain: Expr
    where: Expr | None
    body: Expr
    span: Span


Expr = Const | Var | ArrayVar | Apply | Logic | If | Let | Binder


def primed_name(name: str) -> str:
    """Return the variable with the neighbor's value of an input variable.

    >>> primed_name("x"), primed_name("q[1]")
    ("x'", "q'[1]")
    """
    array, bracket, index = name.partition("[")
    return f"{array}'{bracket}{index}"


def known_cell(array: Expr, index: Expr) -> str | None:
    """Return the variable of the cell that a constant index selects of an array variable.

    None where the index is not known, or there is no such cell.
    """
    match array, index:
        case ArrayVar(lo=lo, cells=cells), Const(value=int(i)) if not isinstance(i, bool):
            return cells[i - lo] if 0 <= i - lo < len(cells) else None
    return None


def reads(*nodes: object) -> Iterator[str]:
    """Yield the free variables below nodes of the core, array cells included, with repeats.

    They come in the order of evaluation. Bound names are unique, so a name that is bound anywhere
    below is bound wherever it is read. No recursion: inlined functions may nest deeply.
    """
    found: list[str] = []
    bound: set[str] = set()
    waiting = [*reversed(nodes)]
    while waiting:
        match waiting.pop():
            case Const():
                pass
            case Var(name=name):
                found.append(name)
            case ArrayVar(cells=cells):
                found.extend(cells)
            case Apply(op="index", args=(array, index)) if cell := known_cell(array, index):
                found.append(cell)
            case other:
                if isinstance(other, Binding):
                    bound.add(other.name)
                waiting.extend(reversed(parts(other)))
    return (name for name in found if name not in bound)
