"""Progression of a conjunction or disjunction part by part, where its parts are independent.

after(φ ∧ ψ) = after(φ) ∧ after(ψ), and ∨ alike (see `progression`), so a formula may be kept as the
tuple of what its parts have become. Written out as one disjunction of conjunctions, four parts of
four conjunctions each would be 256, and each step would compare them all.

Parts are taken apart only where that makes no more formulas. The formulas after a path contain
elements X φ, φ U ψ, φ W ψ of the part they come from; where no element of one part is one of
another, nor its negation, nor differs from it by the bound alone, no rule of `progression` relates
the parts: the minimal conjunctions of the whole are the unions of one of each part, so two tuples
without a false part (a true one, in a disjunction) are equal as formulas only if equal part by
part. Parts that do share an element stay together. Shared literals do not matter, since a formula
is kept with its literals put in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dpcheck.solve.formulas.progression import Progression
from dpcheck.solve.formulas.terms import (
    Conjunction,
    Disjunction,
    Next,
    StrongUntil,
    Terms,
    WeakUntil,
)

NEVER_FORMULA = 0
"""The number of the formula that no path satisfies."""
ALWAYS_FORMULA = 1
"""The number of the formula that every path satisfies."""


class Factors:
    """Formulas as tuples of formulas of independent parts, numbered; 0 is false, 1 true.

    `static` are the elements known to some class, as for `Progression`; a part is
    progressed by the classes as far as they decide its own elements.
    """

    def __init__(self, terms: Terms, root: int, static: Sequence[int]) -> None:
        """Take the root apart; where that is impossible it is its only part."""
        # A part equal to this decides the whole: a false one of ∧, a true one of ∨.
        is_disjunction = isinstance(terms[root], Disjunction)
        self._absorbing = ALWAYS_FORMULA if is_disjunction else NEVER_FORMULA
        self._parts = independent_parts(terms, root)
        self._elements: list[frozenset[int]] = []
        self._progressions: list[Progression] = []
        for part in self._parts:
            elements = frozenset(terms.subterms(part))
            self._elements.append(elements)
            self._progressions.append(Progression(terms, [t for t in static if t in elements]))
        n_parts = len(self._parts)
        self._tuples: list[tuple[int, ...]] = [
            (NEVER_FORMULA,) * n_parts,
            (ALWAYS_FORMULA,) * n_parts,
        ]
        self._numbers = {formulas: number for number, formulas in enumerate(self._tuples)}
        # Classes that decide the elements of a part in the same way are one class to it.
        self._kinds: list[dict[tuple[tuple[int, ...], tuple[int, ...]], int]] = [
            {} for _ in self._parts
        ]
        self._class_kinds: list[tuple[int, ...]] = []
        self._steps: list[dict[tuple[int, int], int]] = [{} for _ in self._parts]
        self._settled: list[dict[tuple[int, int], int]] = [{} for _ in self._parts]

    def add_class(self, true: Iterable[int], false: Iterable[int]) -> None:
        """Add a class of states by the terms decided there."""
        truths, falsehoods = list(true), list(false)
        kinds = []
        for elements, progression, known in zip(
            self._elements, self._progressions, self._kinds, strict=True
        ):
            kind = (
                tuple(t for t in truths if t in elements),
                tuple(t for t in falsehoods if t in elements),
            )
            if kind not in known:
                known[kind] = progression.add_class(*kind)
            kinds.append(known[kind])
        self._class_kinds.append(tuple(kinds))

    def root(self) -> int:
        """Return the number of the formula that was taken apart."""
        parts = zip(self._progressions, self._parts, strict=True)
        return self._number([progression.formula(part) for progression, part in parts])

    def settled(self, formula: int, state_class: int) -> int:
        """Return the formula with what the class of the first state decides put in place."""
        return self._part_by_part(self._settled, Progression.settled, formula, state_class)

    def step(self, formula: int, state_class: int) -> int:
        """Return the formula after a first state of the class."""
        return self._part_by_part(self._steps, Progression.step, formula, state_class)

    def counts(self, formula: int) -> bool:
        """Return whether some part of a formula has a bounded operator."""
        parts = zip(self._progressions, self._tuples[formula], strict=True)
        return any(progression.counts(part) for progression, part in parts)

    def __len__(self) -> int:
        """Return how many formulas were met."""
        return len(self._tuples)

    def _part_by_part(
        self,
        known: list[dict[tuple[int, int], int]],
        function: Callable[[Progression, int, int], int],
        formula: int,
        state_class: int,
    ) -> int:
        found = []
        kinds = self._class_kinds[state_class]
        for i, (part, kind) in enumerate(zip(self._tuples[formula], kinds, strict=True)):
            value = known[i].get((part, kind))
            if value is None:
                value = function(self._progressions[i], part, kind)
                known[i][part, kind] = value
            if value == self._absorbing:
                return value
            found.append(value)
        return self._number(found)

    def _number(self, parts: list[int]) -> int:
        if self._absorbing in parts:
            return self._absorbing
        formulas = tuple(parts)
        found = self._numbers.get(formulas)
        if found is None:
            found = self._numbers[formulas] = len(self._tuples)
            self._tuples.append(formulas)
        return found


def independent_parts(terms: Terms, root: int) -> list[int]:
    """Return terms whose conjunction or disjunction is the root, none sharing an element.

    >>> terms = Terms()
    >>> a, b = (terms.until(0, terms.after(terms.literal(i))) for i in range(2))
    >>> len(independent_parts(terms, terms.both(a, b)))
    2
    >>> len(independent_parts(terms, terms.both(a, terms.either(a, b))))
    1
    """
    match terms[root]:
        case Conjunction(parts):
            join = terms.both
        case Disjunction(parts):
            join = terms.either
        case _:
            return [root]
    groups: list[tuple[set[int], list[int]]] = []
    for part in parts:
        elements, members = _elements(terms, part), [part]
        apart = []
        for group in groups:
            if elements.isdisjoint(group[0]):
                apart.append(group)
            else:
                elements |= group[0]
                members += group[1]
        groups = [*apart, (elements, members)]
    return [join(*members) for _, members in groups]


def _elements(terms: Terms, part: int) -> set[int]:
    """Return the elements below a term and their negations, all without their bounds."""
    found: set[int] = set()
    for number in terms.subterms(part):
        match terms[number]:
            case Next():
                found.update(_twins(terms, number))
            case StrongUntil(left, right, _):
                found.update(_twins(terms, terms.until(left, right)))
            case WeakUntil(left, right, _):
                found.update(_twins(terms, terms.weak(left, right)))
    return found


def _twins(terms: Terms, number: int) -> tuple[int, int]:
    return number, terms.negation(number)
