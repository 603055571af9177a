"""Formulas of dpCTL*: state formulas and path formulas over atoms.

Source: Liu, Wang, Zhang, "Model Checking Differentially Private Properties" (APLAS 2018), with
the derived operators of PCTL* (F, G, W, R, bounded forms). Atoms are opaque here: a key that the
chain's labelling knows. Binary Booleans take any number of arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dpcheck.exact import Budget, Number
from dpcheck.records import Frozen, fields
from dpcheck.source import Span

Comparison = Literal[">=", ">", "<=", "<", "="]
Relation = tuple[Comparison, Number]
"""A comparison with a bound, the bound on the right; it is exact."""


class Truth(Frozen):
    """`true` or `false`."""

    value: bool
    span: Span


class Atom(Frozen):
    """An atomic proposition; `key` names it in the chain's labelling, and prints it."""

    key: str
    span: Span


class Not(Frozen):
    """`! argument`."""

    argument: StateFormula
    span: Span


class And(Frozen):
    """All arguments hold."""

    arguments: tuple[StateFormula, ...]
    span: Span


class Or(Frozen):
    """Some argument holds."""

    arguments: tuple[StateFormula, ...]
    span: Span


class ProbabilityIs(Frozen):
    """`P comparison bound [ path ]`; `P in [low, high] [ path ]` is `>= low` and `<= high`."""

    relations: tuple[Relation, ...]
    path: PathFormula
    span: Span


class Private(Frozen):
    """`D{epsilon, delta} [ path ]`: for every neighbor t of s, both inequalities hold."""

    epsilon: Budget
    delta: Number
    path: PathFormula
    span: Span


StateFormula = Truth | Atom | Not | And | Or | ProbabilityIs | Private


class Holds(Frozen):
    """A state formula, of the first state of the path."""

    state: StateFormula
    span: Span


class PathNot(Frozen):
    """The path does not satisfy the argument."""

    argument: PathFormula
    span: Span


class PathAnd(Frozen):
    """All arguments hold of the path."""

    arguments: tuple[PathFormula, ...]
    span: Span


class PathOr(Frozen):
    """Some argument holds of the path."""

    arguments: tuple[PathFormula, ...]
    span: Span


class Next(Frozen):
    """`X argument`."""

    argument: PathFormula
    span: Span


class Finally(Frozen):
    """`F argument`, or `F<=bound argument` (within that many steps)."""

    argument: PathFormula
    bound: int | None
    span: Span


class Globally(Frozen):
    """`G argument`, or `G<=bound argument`."""

    argument: PathFormula
    bound: int | None
    span: Span


class Until(Frozen):
    """`left U right`, or `left U<=bound right`."""

    left: PathFormula
    right: PathFormula
    bound: int | None
    span: Span


class WeakUntil(Frozen):
    """`left W right`: `(left U right) | G left`."""

    left: PathFormula
    right: PathFormula
    span: Span


class Release(Frozen):
    """`left R right`: `!(!left U !right)`."""

    left: PathFormula
    right: PathFormula
    span: Span


PathFormula = (
    Holds | PathNot | PathAnd | PathOr | Next | Finally | Globally | Until | WeakUntil | Release
)


def outermost_numbers(node: object) -> Iterator[Private | ProbabilityIs]:
    """Yield the P and D of a formula, or of a tuple of formulas, that stand in no other."""
    return (each for each in _outermost(node) if not isinstance(each, Atom))


def outermost_atoms(node: object) -> Iterator[Atom]:
    """Yield the atoms of a formula that stand in no P or D."""
    return (each for each in _outermost(node) if isinstance(each, Atom))


def _outermost(node: object) -> Iterator[Atom | Private | ProbabilityIs]:
    if isinstance(node, Atom | Private | ProbabilityIs):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _outermost(part)
    elif hasattr(node, "__dataclass_fields__") and not isinstance(node, Span):
        for each in fields(node):  # type: ignore[arg-type]
            yield from _outermost(getattr(node, each.name))


def is_nested(node: object) -> bool:
    """Return whether a P or D stands in a formula, or in some of a tuple of formulas."""
    return any(True for _ in outermost_numbers(node))
