"""Events in words: rules made of few properties of output sequences.

Over the sequences that are possible on some side of a pair, a rule is exact for that pair. Either
it is the optimal event {p > e^ε q} (sequences with p = e^ε q may be on either side), or it is the
simplest rule whose event violates the claim; every rule that is shown was confirmed by exact sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

import numpy as np

from dpcheck.chain.chain import BoolArray
from dpcheck.check.evidence.blocks import Block
from dpcheck.check.evidence.float_probabilities import FloatArray
from dpcheck.check.values.amounts import number_amount, ratio_amount
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.exact import excess_sign, exp_float_bounds, float_bounds
from dpcheck.explain.atoms import Atom, Shown, atoms, output_values
from dpcheck.explain.explanation import Rule
from dpcheck.explain.inputs import InputCells
from dpcheck.explain.minimal import Violations
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.model.offers import fixed_choice
from dpcheck.model.values import Value
from dpcheck.records import dataclass

_MAX_SEQUENCES = 4096
"""With more sequences possible, only single properties are tried."""

MOST_DESCRIBED = 3_000
"""Properties are as many as sequences, and each is looked at for every one of these."""

_MAX_FOUND = 50
"""Bounds the rules for an event that are compared."""
_MAX_TRIED = 20
"""Bounds the atoms that are tried as exceptions."""
_MAX_THIRDS = 60
"""Bounds the atoms of which three are joined: their number enters to the third power."""
_MAX_PARTS = 40
"""Properties that are tried in pairs beside each third one: 47,000 ways in all, half a second."""

_OR = 0.2
"""What `or` costs beside its parts: `a and b` is easier to read."""


@dataclass(frozen=True, eq=False)
class Rules:
    """The sequences that are possible for an ordered pair, and their properties.

    `is_inside` and `is_outside` [n_sequences]: of the optimal event, and against it; gaps
    [n_sequences] are estimates of p - e^ε q.
    """

    found: Violations
    block: Block
    properties: list[Atom]
    is_inside: BoolArray
    is_outside: BoolArray
    gaps: FloatArray
    limits: Limits

    def optimal(self) -> Rule | None:
        """Return a rule that is the optimal event, if a short one is."""
        known = sorted(islice(self._exact(), _MAX_FOUND), key=lambda each: (each.cost, each.text))
        return self._confirmed(known[0], is_optimal=True) if known else None

    def simplest(self, *, is_single: bool) -> Rule | None:
        """Return the simplest rule whose event violates the claim.

        Of rules that are as simple it is the one with the largest excess. Beside a single sequence
        only a single property is simpler, and only where others have it too.
        """
        order = sorted(
            self._violating(is_single=is_single),
            key=lambda each: (round(2 * each.cost), -self._sum(each), each.text),
        )
        for candidate in order[:_MAX_TRIED]:
            rule = self._confirmed(candidate, is_optimal=False)
            if rule is not None:
                return None if is_single and candidate.bits.sum() == 1 else rule
        return None

    def _sum(self, candidate: Atom) -> float:
        return round(float(self.gaps[candidate.bits].sum()), 12)

    def _confirmed(self, candidate: Atom, *, is_optimal: bool) -> Rule | None:
        """Return a rule with exact probabilities, if it violates the claim."""
        p_sums, q_sums = self.block.sums(candidate.bits)
        gap = self.block.gap(0, p_sums[0], q_sums[0])
        if excess_sign(gap.p, gap.q, self.found.factor.epsilon, self.found.delta) <= 0:
            return None
        amounts = number_amount(gap.p), number_amount(gap.q), ratio_amount(gap.p, gap.q)
        return Rule(candidate.text, *amounts, is_optimal)

    def _exact(self) -> Iterator[Atom]:
        """Yield rules that are the optimal event: of the first shape that has any."""
        for shape in (self._single, self._pairs, self._triples):
            known = list(islice(shape(), _MAX_FOUND))
            self.limits.check_time("events described")
            if known or len(self.block.sequence) > _MAX_SEQUENCES:
                yield from known
                return

    def _is_exact(self, bits: BoolArray) -> bool:
        """Return whether bits [n_sequences] are the optimal event."""
        is_enough = not bool((self.is_inside & ~bits).any())
        return is_enough and not bool((self.is_outside & bits).any())

    def _containing(self, wanted: BoolArray) -> list[Atom]:
        """Return the properties that all of some sequences have, wanted [n_sequences]."""
        return [each for each in self.properties if not (wanted & ~each.bits).any()]

    @property
    def _within(self) -> list[Atom]:
        """Properties that no sequence against the event has, those of most of the event first."""
        fit = [each for each in self.properties if not (self.is_outside & each.bits).any()]
        return sorted(fit, key=lambda each: -int((each.bits & self.is_inside).sum()))

    def _single(self) -> Iterator[Atom]:
        return (each for each in self.properties if self._is_exact(each.bits))

    def _pairs(self) -> Iterator[Atom]:
        """Yield `a and b`, of properties that all of the event has, and `a or b`."""
        for a, b in combinations(self._containing(self.is_inside), 2):
            if self._is_exact(bits := a.bits & b.bits):
                yield Atom(f"{a.text} and {b.text}", a.cost + b.cost, bits)
        for a, b in combinations(self._within, 2):
            if self._is_exact(bits := a.bits | b.bits):
                yield Atom(f"{a.text} or {b.text}", a.cost + b.cost + _OR, bits)

    def _triples(self) -> Iterator[Atom]:
        """Yield `c, or a and b`, and `a or b or c`."""
        within = self._within[:_MAX_THIRDS]
        for c in within:
            rest = self.is_inside & ~c.bits
            self.limits.check_time("events described")
            for a, b in combinations(self._containing(rest)[:_MAX_PARTS], 2):
                if self._is_exact(bits := c.bits | (a.bits & b.bits)):
                    cost = a.cost + b.cost + c.cost + 2 * _OR
                    yield Atom(f"{c.text}, or {a.text} and {b.text}", cost, bits)
        for a, b, c in combinations(within, 3):
            if self._is_exact(bits := a.bits | b.bits | c.bits):
                cost = a.cost + b.cost + c.cost + 3 * _OR
                yield Atom(f"{a.text} or {b.text} or {c.text}", cost, bits)

    def _violating(self, *, is_single: bool) -> Iterator[Atom]:
        """Yield rules whose estimated gap exceeds δ: single properties, else pairs of them."""
        if not self.properties:
            return
        atoms_of, bits = self.properties, np.array([each.bits for each in self.properties])
        least = (float_bounds(self.found.delta) or (0.0, 0.0))[0] + 1e-12
        sums = bits @ self.gaps
        single = np.flatnonzero(sums > least)
        yield from (atoms_of[i] for i in single.tolist())
        if is_single or len(single) or len(self.block.sequence) > _MAX_SEQUENCES:
            return
        both = (bits * self.gaps) @ bits.T.astype(np.float64)
        either = sums[:, None] + sums[None, :] - both
        for matrix, word, more in ((both, "and", 0.0), (either, "or", _OR)):
            for i, j in np.argwhere(np.triu(matrix > least, 1)).tolist():
                a, b = atoms_of[i], atoms_of[j]
                joined = a.bits & b.bits if word == "and" else a.bits | b.bits
                yield Atom(f"{a.text} {word} {b.text}", a.cost + b.cost + more, joined)


def rules_of(found: Violations, gap: EventGap, cells: InputCells, limits: Limits) -> Rules:
    """Return what can be said of the sequences of an ordered pair."""
    block, factor = found.evidence.rows.block_of(gap), found.factor
    p, q = (np.nan_to_num(chances) for chances in block.chances())
    bounds = exp_float_bounds(factor.epsilon)
    is_inside = block.exceeding(factor)
    is_equal = np.zeros(len(p), np.bool_)
    if factor.value is not None:
        is_equal[block.equal_ratio(factor.value, np.arange(len(p)))] = True
    if len(p) > MOST_DESCRIBED:
        limit = Limit("size", unit=f"{len(p):,} output sequences")
        raise LimitReached(limit, "events were not described")
    values = output_values(cells.explored)
    sequences = [_shown(found, int(k), values) for k in block.sequence]
    limits.check_time("events described")
    return Rules(
        found,
        block,
        atoms(sequences),
        is_inside,
        ~is_inside & ~is_equal,
        p - (2.0**1000 if bounds is None else bounds[0]) * q,
        limits,
    )


def _shown(found: Violations, sequence: int, values: dict[int, Value]) -> Shown:
    """Return a sequence of the table by its values, apart from queries: P, D and E count none."""
    table, text = found.evidence.rows.table, found.evidence.output_text
    codes = table.outputs(sequence)
    outputs = [code for code in codes if fixed_choice(values[code]) is None]
    return Shown(
        tuple(values[code] for code in outputs),
        tuple(map(text, outputs)),
        int(table.end[sequence]),
        frozenset(text(code) for code in codes if code not in outputs),
    )
