"""Formula progression: what must hold of the rest of a path once its first state is known.

A *formula* is a disjunction of conjunctions of elements, the elements being literals, X φ, φ U ψ
and φ W ψ; no element is negated, so a formula is a monotone function of its elements, and the set
of its minimal conjunctions (bit masks, no one containing another) is the same for all formulas
that are equivalent as propositions. A path s₀s₁s₂… satisfies φ exactly if s₁s₂… satisfies
after(φ, s₀), where (Bacchus & Kabanza, Artificial Intelligence 2000)

    after(X φ) = φ,       after(φ U<=k ψ) = after(ψ) ∨ (after(φ) ∧ φ U<=k-1 ψ),   W alike.

Formulas after a path are conjunctions and disjunctions of subterms of the first, with smaller
bounds, so there are finitely many. Three laws keep them few: entailment between elements
(φ entails F φ, G φ entails φ, F<=3 φ entails F<=5 φ) removes what a conjunction entails and what a
disjunction absorbs; G F φ and F G φ stay as they are; and where a state decides a subterm, which
it then does for almost all paths from there, the constant takes its place (`recurrence`).

States enter only through their *class*: which elements are surely true, and which surely false,
for almost all paths that start there. All states of a class progress in one step.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise
from math import inf
from operator import and_

from dpcheck.limits import too_large
from dpcheck.solve.formulas.terms import (
    FALSE,
    Conjunction,
    Constant,
    Disjunction,
    Literal,
    Next,
    StrongUntil,
    Terms,
    WeakUntil,
)

MAX_CONJUNCTIONS = 5_000
"""Bounds what is left of a formula: it may grow exponentially in the formula's size."""

TermSet = int
"""A conjunction of terms: a bit each."""

Formula = tuple[TermSet, ...]

NEVER: Formula = ()
ALWAYS: Formula = (0,)


class Progression:
    """Formulas over the terms of one path formula, numbered, and their progression by classes.

    Formula 0 is false, formula 1 true. `classes` holds, per class, the elements known to be true
    and to be false there, as terms.
    """

    def __init__(self, terms: Terms, static: Sequence[int]) -> None:
        """Give the `static` terms (in increasing order) their bits before any formula is made."""
        self.terms = terms
        self.formulas: list[Formula] = [NEVER, ALWAYS]
        self._numbers: dict[Formula, int] = {NEVER: 0, ALWAYS: 1}
        self._bits: dict[int, int] = {}
        self._elements: list[int] = []
        self._entailed: list[int] = []
        self._families: dict[tuple[type, int, int], list[tuple[float, int]]] = {}
        # What conjunctions of several elements entail, by the highest of their bits.
        self._sufficient: dict[int, list[tuple[int, int]]] = {}
        self._contrary: list[int] = []
        self._closures: dict[int, int] = {}
        self._reductions: dict[int, int] = {}
        self._after: dict[tuple[int, int], Formula] = {}
        self._true: list[int] = []
        self._false: list[int] = []
        for number in static:
            if not isinstance(terms[number], Constant | Conjunction | Disjunction):
                self._bit(number)

    def add_class(self, true: Iterable[int], false: Iterable[int]) -> int:
        """Add a class of states by the terms decided there; return its number."""
        self._true.append(sum(1 << self._bit(number) for number in true))
        self._false.append(sum(1 << self._bit(number) for number in false))
        for bit in range(len(self._elements)):
            self._inherit(bit, len(self._true) - 1)
        return len(self._true) - 1

    def formula(self, term: int) -> int:
        """Return the number of the formula equal to a term."""
        return self._number(self._formula(term))

    def settled(self, formula: int, state_class: int) -> int:
        """Return the formula with what the class of the first state decides put in place."""
        true, false = self._true[state_class], self._false[state_class]
        parts = self.formulas[formula]
        if not any(part & (true | false) for part in parts):
            return formula
        return self._number(self._minimal([p & ~true for p in parts if not p & false]))

    def step(self, formula: int, state_class: int) -> int:
        """Return the formula after a first state of the class."""
        result = NEVER
        for part in self.formulas[formula]:
            result = self._union(
                result, self._all(self._element_after(e, state_class) for e in self._members(part))
            )
        return self._number(result)

    def counts(self, formula: int) -> bool:
        """Return whether a formula has a bounded operator, maybe inside of others."""
        members = 0
        for part in self.formulas[formula]:
            members |= part
        return any(self.terms.is_counting(element) for element in self._members(members))

    def _number(self, formula: Formula) -> int:
        found = self._numbers.get(formula)
        if found is None:
            found = self._numbers[formula] = len(self.formulas)
            self.formulas.append(formula)
        return found

    def _members(self, conjunction: TermSet) -> Iterable[int]:
        while conjunction:
            low = conjunction & -conjunction
            yield self._elements[low.bit_length() - 1]
            conjunction ^= low

    def _element_after(self, term: int, state_class: int) -> Formula:
        """Return after(term) for a first state of the class; constants where it decides."""
        found = self._after.get((term, state_class))
        if found is None:
            found = self._after[term, state_class] = self._progressed(term, state_class)
        return found

    def _progressed(self, term: int, state_class: int) -> Formula:
        bit = self._bits.get(term)
        if bit is not None:
            if self._true[state_class] >> bit & 1:
                return ALWAYS
            if self._false[state_class] >> bit & 1:
                return NEVER
        match self.terms[term]:
            case Constant(value):
                return ALWAYS if value else NEVER
            case Literal():
                raise AssertionError("a class decides every literal")
            case Conjunction(parts):
                return self._all(self._element_after(part, state_class) for part in parts)
            case Disjunction(parts):
                return self._any(self._element_after(part, state_class) for part in parts)
            case Next(argument):
                return self._formula(argument)
            case StrongUntil(left, right, bound):
                rest = self.terms.until(left, right, None if bound is None else bound - 1)
            case WeakUntil(left, right, bound):
                rest = self.terms.weak(left, right, None if bound is None else bound - 1)
        now = self._element_after(right, state_class)
        if now == ALWAYS:
            return now
        onwards = self._element_after(left, state_class)
        return self._union(now, self._all((onwards, self._formula(rest))))

    # --- formulas in minimal disjunctive form ---------------------------------------------

    def _formula(self, term: int) -> Formula:
        match self.terms[term]:
            case Constant(value):
                return ALWAYS if value else NEVER
            case Conjunction(parts):
                return self._all(self._formula(part) for part in parts)
            case Disjunction(parts):
                return self._any(self._formula(part) for part in parts)
            case _:
                return (1 << self._bit(term),)

    def _all(self, formulas: Iterable[Formula]) -> Formula:
        result = ALWAYS
        for formula in formulas:
            if formula == NEVER or result == NEVER:
                return NEVER
            if result == ALWAYS:
                result = formula
            elif formula != ALWAYS:
                result = self._minimal([p | q for p in result for q in formula])
        return result

    def _any(self, formulas: Iterable[Formula]) -> Formula:
        result = NEVER
        for formula in formulas:
            result = self._union(result, formula)
        return result

    def _union(self, left: Formula, right: Formula) -> Formula:
        if not left or right == ALWAYS:
            return right
        if not right or left == ALWAYS:
            return left
        return self._minimal([*left, *right])

    def _minimal(self, parts: list[TermSet]) -> Formula:
        """Return the weakest conjunctions, each without what its other members entail."""
        if len(parts) > MAX_CONJUNCTIONS:
            raise too_large(
                f"a path formula grew to {len(parts)} conjunctions, more than {MAX_CONJUNCTIONS}",
                "a simpler formula",
            )
        closed = {self._closure(part): part for part in set(parts)}
        for pair in self._contrary:
            closed = {closure: p for closure, p in closed.items() if closure & pair != pair}
        kept: list[tuple[int, int]] = []
        for closure, part in sorted(closed.items(), key=lambda item: item[0].bit_count()):
            if not any(smaller & ~closure == 0 for _, smaller in kept):
                kept.append((closure, self._reduced(part)))
        singles = [part for _, part in kept]
        if any(all(1 << b in singles for b in _bits(pair)) for pair in self._contrary):
            return ALWAYS
        return tuple(sorted(singles))

    def _reduced(self, conjunction: TermSet) -> TermSet:
        """Drop members that other members entail (one at a time, so never both of a cycle)."""
        found = self._reductions.get(conjunction)
        if found is None:
            found = conjunction
            for bit in _bits(conjunction):
                if found >> bit & 1:
                    found &= ~(self._entailed[bit] & ~(1 << bit))
            for bit in _bits(conjunction):
                for enough, entailed in self._sufficient.get(bit, ()):
                    if enough & ~found == 0:
                        found &= ~(entailed & ~enough)
            self._reductions[conjunction] = found
        return found

    def _closure(self, conjunction: TermSet) -> int:
        """Return all elements that the conjunction entails by the rules."""
        found = self._closures.get(conjunction)
        if found is None:
            found = 0
            for bit in _bits(conjunction):
                found |= self._entailed[bit]
            fresh = found
            while fresh:
                before = found
                for bit in _bits(fresh):
                    for enough, entailed in self._sufficient.get(bit, ()):
                        if enough & ~found == 0:
                            found |= entailed
                fresh = found & ~before
            self._closures[conjunction] = found
        return found

    # --- elements and what they entail ------------------------------------------------------

    def _bit(self, term: int) -> int:
        """Return the bit of an element, which gets one, and its rules, when first met."""
        bit = self._bits.get(term)
        if bit is None:
            bit = self._bits[term] = len(self._elements)
            self._elements.append(term)
            self._entailed.append(1 << bit)
            self._add_rules(term, bit)
            for state_class in range(len(self._true)):
                self._inherit(bit, state_class)
        return bit

    def _add_rules(self, term: int, bit: int) -> None:
        self._forget()
        contrary = self._bits.get(self.terms.negation(term))
        if contrary is not None:
            self._contrary.append(1 << bit | 1 << contrary)
        match self.terms[term]:
            case StrongUntil(left, right, _) | WeakUntil(left, right, _):
                self._join_family(term, bit)
                self._reached_by(right, bit)
                if right == FALSE and not isinstance(self.terms[left], Constant | Disjunction):
                    self._holds_now(left, bit)

    def _join_family(self, term: int, bit: int) -> None:
        """φ U<=i ψ entails φ U<=j ψ, and φ W<=j ψ entails φ W<=i ψ, for i <= j."""
        mine = self.terms[term]
        assert isinstance(mine, StrongUntil | WeakUntil)
        family = self._families.setdefault((type(mine), mine.left, mine.right), [])
        place = bisect(family, (inf if mine.bound is None else mine.bound, bit))
        family.insert(place, (inf if mine.bound is None else mine.bound, bit))
        nearest = [other for _, other in family[max(place - 1, 0) : place + 2]]
        for first, second in pairwise(nearest):
            self._entails(*((first, second) if isinstance(mine, StrongUntil) else (second, first)))

    def _reached_by(self, right: int, bit: int) -> None:
        """ψ entails φ U ψ and φ W ψ: so does each conjunction of ψ."""
        for part in self._formula(right):
            if part == 0:
                return  # ψ is a tautology, which its term does not show
            if part & (part - 1):
                highest = part.bit_length() - 1
                self._sufficient.setdefault(highest, []).append((part, self._entailed[bit]))
            else:
                self._entails(part.bit_length() - 1, bit)

    def _holds_now(self, left: int, bit: int) -> None:
        """G φ entails φ: so whatever all conjunctions of φ have in common."""
        conjunctions = self._formula(left)
        shared = reduce(and_, conjunctions) if conjunctions else 0
        for member in _bits(shared):
            self._entails(bit, member)

    def _forget(self) -> None:
        """Drop what was derived from fewer rules."""
        self._closures.clear()
        self._reductions.clear()

    def _entails(self, stronger: int, weaker: int) -> None:
        """Record that one element entails another, keeping the relation transitive."""
        gained = self._entailed[weaker]
        if stronger == len(self._entailed) - 1:
            self._entailed[stronger] |= gained  # it is new: nothing else entails it yet
            return
        probe = 1 << stronger
        for bit, entailed in enumerate(self._entailed):
            if entailed & probe:
                self._entailed[bit] = entailed | gained
        self._forget()

    def _inherit(self, bit: int, state_class: int) -> None:
        """Let a bounded until be false where the unbounded one is, a weak one true where it is."""
        match self.terms[self._elements[bit]]:
            case StrongUntil(left, right, int()):
                known, twin = self._false, self.terms.until(left, right)
            case WeakUntil(left, right, int()):
                known, twin = self._true, self.terms.weak(left, right)
            case _:
                return
        if twin in self._bits and known[state_class] >> self._bits[twin] & 1:
            known[state_class] |= 1 << bit


def _bits(mask: int) -> Iterable[int]:
    """Yield the positions of the ones."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
