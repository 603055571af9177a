"""Pairs of neighbors whose outputs go on without end: what their merged prefixes say."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.directions import Directions
from dpcheck.check.evidence.futures import futures_of
from dpcheck.check.evidence.growth import DirectionGraph, GrowingRatio, growing_ratio
from dpcheck.check.evidence.hidden import HiddenPair, HiddenPairs, HiddenStates
from dpcheck.check.evidence.merged_prefixes import NO_PARTS, Hidden, MergedPrefixes, Parts, merged
from dpcheck.check.evidence.singular import SingularPart, singular_parts
from dpcheck.check.evidence.steady_ratios import SteadyRatios, steady_ratios
from dpcheck.exact import ExpPolynomial, Whole
from dpcheck.limits import LimitReached, Limits
from dpcheck.records import replace

MAX_DIRECTIONS = 2000
"""So many directions are looked at; where prefixes do not merge, their numbers grow with them."""

MAX_DEGREE = 256
"""Weights of directions may have this degree in e^r; where prefixes do not merge, it grows."""

SHARE_OF_STATES = 50
"""Merged prefixes of endless outputs may take one part in so many of the states allowed."""


class EndlessPrefixes:
    """The prefixes of outputs of pairs [n_pairs, 2] of states, as far as some claim asks.

    It is kept with the chain for all claims about the pairs, each with limits of its own; so it
    does not hold the chain, which would never be let go.
    """

    def __init__(self, chain: Chain, pairs: IntArray, limits: Limits) -> None:
        """Find out which states have the same future."""
        self._pairs, self._is_chosen = pairs, bool(chain.offers)
        self._directions = Directions(futures_of(chain, distinct(pairs), limits))
        self._roots = [self._directions.of_states(s, t) for s, t in pairs.tolist()]
        self._growth: list[GrowingRatio | None] = []
        self._singular: list[tuple[SingularPart, ...] | None] = []
        self._graphs: dict[
            tuple[int | None, bool, int, Parts, Hidden | None], MergedPrefixes | None
        ] = {}
        self._hidden: dict[HiddenPairs, HiddenStates | None] = {}

    def growth(self, limits: Limits) -> GrowingRatio | None:
        """Return outputs that can be repeated and make a ratio grow, if directions are few."""
        if not self._growth:
            are_few = self._are_few(limits)
            found = growing_ratio(self._directions, self._roots) if are_few else None
            self._growth.append(found)
        return self._growth[0]

    def complete(
        self, limits: Limits, steady: AbstractSet[SingularPart] = frozenset()
    ) -> MergedPrefixes | None:
        """Return the graph of all prefixes; None where it is not finite, or too large.

        There is none either for choices of an analyst on a cycle: strategies are not finite. No
        cycle of `steady` parts changes a ratio at the values that the graph is asked for.
        """
        parts = self.singular(limits)
        if parts is None or (parts and self._is_chosen):
            return None
        told = {side: [p.directions for p in parts if (p in steady) == side] for side in (0, 1)}
        kinds = Parts(*(frozenset().union(*told[side]) for side in (0, 1)))
        found = self._graph(None, limits, shows_state=False, parts=kinds)
        return None if found is not None and found.steps and self._is_chosen else found

    def identifying(
        self, limits: Limits, alike: HiddenPairs = frozenset(), doubtful: HiddenPairs = frozenset()
    ) -> MergedPrefixes | None:
        """Return the graph of prefixes until what follows tells in the long run of all states.

        None where that may take ever more outputs, or an analyst chooses. At the values that the
        graph is asked for states of `alike` pairs show the same, and others are told apart, but
        for `doubtful` ones: where these have weight more outputs are followed.
        """
        hidden = self._hidden_states(limits, doubtful)
        if hidden is None:
            return None
        same = frozenset(pair.states for pair in alike)
        return self._graph(None, limits, shows_state=False, hidden=Hidden(hidden, same))

    def hidden_pairs(self, limits: Limits, doubtful: HiddenPairs) -> tuple[HiddenPair, ...]:
        """Return the pairs of states that `identifying` outputs tell apart; none if none do.

        It is not asked at which values of a parameter that is so.
        """
        hidden = self._hidden_states(limits, doubtful)
        return () if hidden is None else tuple(hidden.needed)

    def _hidden_states(self, limits: Limits, doubtful: HiddenPairs) -> HiddenStates | None:
        """Return what is known of hidden states, if soon they are all seen in the long run."""
        if doubtful not in self._hidden:
            hidden = HiddenStates(self._directions.futures, doubtful)
            is_soon = not self._is_chosen and hidden.soon(self._pairs.tolist(), limits)
            self._hidden[doubtful] = hidden if is_soon else None
        return self._hidden[doubtful]

    def singular(self, limits: Limits) -> tuple[SingularPart, ...] | None:
        """Return the parts in which outputs tell all in the long run.

        None where directions are many, or ratios change in a part that both sides leave.
        """
        if not self._singular:
            are_few = self._are_few(limits)
            self._singular.append(singular_parts(self._directions) if are_few else None)
        return self._singular[0]

    def steady(
        self, limits: Limits, *, are_apart: bool
    ) -> tuple[list[int], list[SteadyRatios]] | None:
        """Return the ratios where none grows, and at which values of a parameter that is so.

        Which of these each pair has, [n_pairs]: all together have one, unless they `are_apart`.
        None where directions are many.
        """
        if not self._are_few(limits):
            return None
        if not are_apart:
            return [0] * len(self._roots), [steady_ratios(self._directions, self._roots, limits)]
        roots = dict.fromkeys(self._roots)
        numbers = dict(zip(roots, range(len(roots)), strict=True))
        found = [steady_ratios(self._directions, [root], limits) for root in roots]
        return [numbers[root] for root in self._roots], found

    def graph(self, limits: Limits) -> tuple[DirectionGraph, list[int]] | None:
        """Return the directions and where pairs begin; None if they are many, or somebody asks."""
        if self._is_chosen or not self._are_few(limits):
            return None
        return DirectionGraph(self._directions), self._roots

    def words(self, limits: Limits) -> MergedPrefixes | None:
        """Return the graph of all prefixes, in which an analyst chooses by uniform draws.

        Ratios are those of every strategy (`strategies`).
        """
        if not self._are_few(limits) or self.growth(limits) is not None:
            return None
        return self._graph(None, limits, shows_state=False)

    def cut(self, depth: int, limits: Limits, *, shows_state: bool) -> MergedPrefixes | None:
        """Return the graph of the first outputs, so many; None where it is too large.

        With `shows_state` what it shows bounds every loss from above, else from below.
        """
        return self._graph(depth, limits, shows_state=shows_state)

    def _graph(
        self,
        depth: int | None,
        limits: Limits,
        *,
        shows_state: bool,
        parts: Parts = NO_PARTS,
        hidden: Hidden | None = None,
    ) -> MergedPrefixes | None:
        some = replace(limits, max_states=limits.max_states // SHARE_OF_STATES)
        key = depth, shows_state, some.max_states, parts, hidden
        if key not in self._graphs:
            try:
                self._graphs[key] = merged(
                    *(self._directions, self._pairs, some),
                    depth=depth,
                    shows_cut=shows_state,
                    parts=parts,
                    hidden=hidden,
                )
            except LimitReached as reached:
                if reached.limit.kind != "states":
                    raise
                self._graphs[key] = None
        return self._graphs[key]

    def _are_few(self, limits: Limits) -> bool:
        """Return whether all directions that can be reached are few; then they are found."""
        node = 0
        while node < len(self._directions) <= MAX_DIRECTIONS:
            limits.check_time(f"{node} directions of beliefs found")
            if any(map(_is_long, self._directions.masses[node])):
                return False
            self._directions.steps(node)
            node += 1
        return node == len(self._directions)


def _is_long(weight: Whole) -> bool:
    return isinstance(weight, ExpPolynomial) and weight.coefficients.degree() > MAX_DEGREE
