"""Claims about compositions and groups: independent runs on one input, neighbors further apart.

A composition has no chain here. The losses of its parts are computed pair by pair and composed
(`privacy.composition`), and every claim that losses determine is decided on the result. Beside it
stands what the rules promise: (A, B) is (ε_A + ε_B, δ_A + δ_B)-private (Dwork, Roth, 2014,
Theorem 3.16), and inputs at distance k are (k ε, δ Σ_{j<k} e^(jε))-private (Vadhan, 2017,
Lemma 2.2).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise, product
from math import prod
from typing import Final

import numpy as np
from flint import arb, ctx

from dpcheck import exact
from dpcheck.chain.chain import Chain, IntArray, NeighborRelation
from dpcheck.chain.sets import distinct
from dpcheck.check.quantities.composed_bounds import decide_by_bounds
from dpcheck.check.quantities.decide_quantity import decide_comparison, decide_on_losses
from dpcheck.check.quantities.endless_claims import decide_by_prefixes, decide_endless, doubled
from dpcheck.check.quantities.event_claims import why_infinite
from dpcheck.check.quantities.grid_bounds import Composition, enclosed_sum, total
from dpcheck.check.quantities.loss_values import KnownLosses, Measured, Side, sides_of
from dpcheck.check.quantities.pair_losses import losses_of_all
from dpcheck.check.quantities.privacy import EventClaim, decide_event_claim, quantity_of
from dpcheck.check.quantities.seen_pairs import (
    SeenPairs,
    complete_evidence,
    endless_prefixes,
    merged_evidence,
    seen_pairs,
)
from dpcheck.check.quantities.tight import least_delta, tight_epsilon
from dpcheck.check.values import verdicts
from dpcheck.check.values.amounts import enclosed_amount, epsilon_amount, number_amount
from dpcheck.check.values.event_text import EventText
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.measures import ClaimRejected
from dpcheck.diagnostics.quantities import DifferentInputs
from dpcheck.limits import Limit, Limits
from dpcheck.logic import claims
from dpcheck.privacy.composition import composed, is_short
from dpcheck.privacy.enclosed import Enclosed, ball_of
from dpcheck.privacy.losses import Loss, LossDistribution
from dpcheck.privacy.profile import Piece, profile
from dpcheck.records import dataclass
from dpcheck.records import replace as with_fields
from dpcheck.source import Span


def at_distance(chain: Chain, distance: int, limits: Limits) -> Chain:
    """Return the chain with states at distance 1 to `distance` of the neighbor graph as neighbors.

    Those are the groups of at most so many (Dwork, Roth, 2014, Theorem 2.2).
    """
    if distance == 1:
        return chain
    import networkx as nx

    graph = chain.neighbors.to_networkx()
    found: list[tuple[int, int]] = []
    for state in sorted(graph.nodes):
        limits.check_time(
            f"{len(found)} pairs at distance {exact.exact_text(distance)} or less found"
        )
        reached = nx.single_source_shortest_path_length(graph, state, cutoff=distance)
        found.extend((state, t) for t in reached if state < t)
    pairs = np.array(sorted(found), np.int64).reshape(-1, 2)
    return with_fields(chain, neighbors=NeighborRelation(pairs))


# --- compositions --------------------------------------------------------------------------

_OF_EVENTS: Final = (claims.TightEpsilon, claims.TightDelta)

MAX_OUTPUTS: Final = 64
"""So many first outputs of endless parts are composed: of two parts, thousands of losses a pair."""

ENDLESS_PART: Final = Limit(
    "size",
    unit="a part of it has infinitely many output sequences (outputs inside an unbounded loop)",
    advice="ask for `dp` of each part: the sums of their ε and δ are enough for all together",
)


Run = tuple[Chain, int]
"""A part of a composition: its chain, and how often it runs."""


def arranged(parts: Sequence[tuple[Chain, int, int]], limits: Limits) -> list[Run]:
    """Return the runs of parts that are given by chain, distance of neighbors, and number."""
    return [(at_distance(chain, k, limits), times) for chain, k, times in parts]


def independent_runs(
    parts: Sequence[tuple[Chain, int, int]], titles: Sequence[str], span: Span, limits: Limits
) -> list[Run]:
    """Return the runs of parts; raises `ClaimRejected` where they have not the same inputs."""
    runs = arranged(parts, limits)
    for (chain, _), title in zip(runs[1:], titles[1:], strict=True):
        difference = different_inputs(runs[0][0], chain)
        if difference is not None:
            raise ClaimRejected(DifferentInputs(span, titles[0], title, difference))
    return runs


def different_inputs(first: Chain, second: Chain) -> str | None:
    """Return how the inputs or neighbors of two chains differ, in words; None if they do not."""
    for chain in (first, second):
        texts = sorted(map(chain.state_text, _compared_states(chain)))
        twice = next((one for one, other in pairwise(texts) if one == other), None)
        if twice is not None:
            return f"two inputs of one are both written {twice}, so they cannot be told apart"
    mine, theirs = (set(map(chain.state_text, chain.initial.tolist())) for chain in (first, second))
    if mine != theirs:
        only = min(mine ^ theirs)
        return f"only one of them has the input {only}"
    pairs = [_named_pairs(chain) for chain in (first, second)]
    if pairs[0] != pairs[1]:
        names = " and ".join(sorted(min(map(sorted, pairs[0] ^ pairs[1]))))
        return f"{names} are neighbors for one of them only"
    return None


def _compared_states(chain: Chain) -> list[int]:
    """Return the states that runs start in, or that are neighbors of others."""
    found: list[int] = distinct(np.append(chain.neighbors.pairs, chain.initial)).tolist()
    return found


def _named_pairs(chain: Chain) -> set[frozenset[str]]:
    pairs = chain.neighbors.pairs.tolist()
    return {frozenset((chain.state_text(s), chain.state_text(t))) for s, t in pairs}


def decide_composition(
    claim: claims.Claim, runs: Sequence[Run], selected: IntArray, limits: Limits
) -> verdicts.Outcome:
    """Return the outcome of a claim about independent runs on the same input.

    All runs have the same inputs and neighbors; selected [n] are initial states of the first.
    """
    seen = seen_runs([chain for chain, _ in runs], selected, limits)
    times = [each for _, each in runs]
    if outcome := _shown_alone(claim, seen, times):
        return outcome
    evidence = [complete_evidence(each) for each in seen]
    parts = [None if each is None else losses_of_all(each) for each in evidence]
    known_parts = [part for part in parts if part is not None]
    if len(known_parts) < len(parts):
        if isinstance(claim, EventClaim) and isinstance(quantity_of(claim), _OF_EVENTS):
            return _decide_endless(claim, _Endless(seen, parts, times))
        return verdicts.Outcome(verdicts.Undecided(ENDLESS_PART), seen[0].coverage())
    together = list(zip(*known_parts, strict=True))
    if all(is_short(list(zip(each, times, strict=True))) for each in dict.fromkeys(together)):
        is_long = any(each is not None and each.tells_in_the_long_run for each in evidence)
        known = with_fields(_composed(together, times, limits), tells_in_the_long_run=is_long)
        outcome = _outcome(claim, known, seen[0])
    else:
        outcome = decide_by_bounds(claim, Composition(together, times, seen[0]))
    promises = _promises(claim, [ComposedEvidence(part) for part in known_parts], times)
    return with_fields(outcome, beside=(*outcome.beside, *promises))


def seen_runs(chains: Sequence[Chain], selected: IntArray, limits: Limits) -> list[SeenPairs]:
    """Return the same pairs of neighbors in each of some chains, in the same order.

    They have an end in selected[n], states of the first chain.
    """
    first = seen_pairs(chains[0], selected, limits)
    return [first if chain is chains[0] else _seen_in(chain, first) for chain in chains]


def _seen_in(chain: Chain, first: SeenPairs) -> SeenPairs:
    """Return the pairs of the first part's states as those of another part."""
    states = {chain.state_text(s): s for s in _compared_states(chain)}
    texts = [[first.asked.state_text(s) for s in pair] for pair in first.states.tolist()]
    mapped = [[states[text] for text in pair] for pair in texts]
    pairs = np.array(mapped, np.int64).reshape(-1, 2)
    related = with_fields(chain, neighbors=NeighborRelation(pairs))
    return with_fields(seen_pairs(related, distinct(pairs), first.limits), selected=first.selected)


@dataclass(frozen=True, eq=False)
class _Endless:
    """Parts of which some, those without known losses, have infinitely many losses of pairs."""

    seen: Sequence[SeenPairs]
    known: Sequence[list[LossDistribution] | None]
    times: Sequence[int]

    def cut(self, depth: int, *, shows_state: bool) -> ComposedEvidence | None:
        """Return evidence about so many first outputs of each; None where it is too large."""
        parts = list[list[LossDistribution]]()
        for seen, known in zip(self.seen, self.known, strict=True):
            if known is not None:
                parts.append(known)
                continue
            graph = endless_prefixes(seen).cut(depth, seen.limits, shows_state=shows_state)
            if graph is None:
                return None
            parts.append(losses_of_all(merged_evidence(seen, graph)))
        together = list(zip(*parts, strict=True))
        if not all(is_short(list(zip(each, self.times, strict=True))) for each in together):
            return None
        return _composed(together, self.times, self.seen[0].limits)


def _shown_alone(
    claim: claims.Claim, seen: Sequence[SeenPairs], times: Sequence[int]
) -> verdicts.Outcome | None:
    """Decide a claim about ratios by one part alone, if its ratios grow without end.

    They do for all parts together: others may show anything.
    """
    if not isinstance(claim, EventClaim) or not claims.is_pure(claim):
        return None
    for k, part in enumerate(seen):
        if not part.are_finite and endless_prefixes(part).growth(part.limits) is not None:
            outcome = decide_endless(claim, part)
            alone = verdicts.Beside(f"run {1 + sum(times[:k])} alone shows it")
            return with_fields(outcome, beside=(*outcome.beside, alone))
    return None


def _decide_endless(claim: EventClaim, parts: _Endless) -> verdicts.Outcome:
    """Decide a claim about parts without known losses, by their first outputs."""
    prefixes = doubled(1, MAX_OUTPUTS, partial(parts.cut, shows_state=False))
    with_state = partial(parts.cut, shows_state=True)
    outcome = decide_by_prefixes(claim, parts.seen[0], prefixes, with_state)
    if isinstance(outcome.verdict, verdicts.Undecided):
        return with_fields(outcome, verdict=with_fields(outcome.verdict, limit=ENDLESS_PART))
    return outcome


def _composed(
    pairs: Sequence[tuple[LossDistribution, ...]], times: Sequence[int], limits: Limits
) -> ComposedEvidence:
    """Return what composed losses say of every pair; pairs with equal parts are composed once."""
    known = {
        together: composed(list(zip(together, times, strict=True)), limits)
        for together in dict.fromkeys(pairs)
    }
    return ComposedEvidence([known[together] for together in pairs])


def _outcome(claim: claims.Claim, evidence: ComposedEvidence, seen: SeenPairs) -> verdicts.Outcome:
    known = KnownLosses(evidence.different, seen, evidence.event_text)
    match claim:
        case claims.QuantityClaim(quantity=quantity) | claims.QuantityValue(quantity=quantity) if (
            isinstance(quantity, claims.LossQuantity | claims.LossTable)
        ):
            return decide_on_losses(claim, quantity, known)
        case claims.QuantityComparison():
            return decide_comparison(claim, lambda side: _outcome(side, evidence, seen))
        case claims.PrivacyClaim() | claims.QuantityClaim() | claims.QuantityValue():
            decision = decide_event_claim(claim, evidence, seen, by_excess=True)
            assert decision.verdict is not None, "complete evidence decides"
            beside = why_infinite(seen, decision, evidence)
            return verdicts.Outcome(decision.verdict, *known.looked_at, decision.value, beside)
        case _:
            raise AssertionError("formulas are not asked about compositions")


@dataclass(frozen=True, eq=False)
class ComposedEvidence:
    """What the losses of all pairs say about events."""

    pairs: Sequence[LossDistribution]
    tells_in_the_long_run: bool = False

    @cached_property
    def different(self) -> list[tuple[int, LossDistribution]]:
        """The pairs with different rows; of equal losses the first."""
        first: dict[LossDistribution, int] = {}
        for pair, losses in enumerate(self.pairs):
            if not losses.is_certain:
                first.setdefault(losses, pair)
        return [(pair, losses) for losses, pair in first.items()]

    @cached_property
    def _sides(self) -> list[Side]:
        return list(sides_of(self.different))

    def worst_ratio(self) -> EventGap | None:
        """Return an event with the largest ratio; None where all pairs have equal rows."""
        best: Side | None = None
        for side in self._sides:
            if best is None or side.losses.exceeds(best.losses):
                best = side
        if best is None:
            return None
        if best.losses.p_only != 0:
            return EventGap(best.losses.p_only, 0, best.pair, best.is_forward)
        top = best.losses.losses[0]
        return EventGap(top.p, top.q, best.pair, best.is_forward)

    def worst_gap(self, factor: ExpFactor) -> EventGap | None:
        """Return the event with the largest gap; None where no event has a positive one."""

        def is_within(loss: Loss) -> bool:
            return exact.excess_sign(loss.p, loss.q, factor.epsilon) <= 0

        best: EventGap | None = None
        for side in self._sides:
            losses = side.losses
            n_above = bisect_left(losses.losses, True, key=is_within)
            corner = losses.corners[n_above + (losses.p_only != 0)]
            if corner[0] == 0:
                continue
            gap = EventGap(*corner, side.pair, side.is_forward)
            if best is None or gap.exceeds(best, factor):
                best = gap
        return best

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> EventText:
        """Return the event of a gap in words."""
        if factor is not None:
            lead = "the outputs whose losses add up to more than "
            return EventText(verdicts.Phrase.of(lead, epsilon_amount(factor.epsilon)), ())
        if gap.q == 0:
            return EventText(
                verdicts.Phrase.of("the outputs that are possible on one side only"), ()
            )
        return EventText(verdicts.Phrase.of("the outputs with the largest loss"), ())


# --- what the rules promise ----------------------------------------------------------------


def _promises(
    claim: claims.Claim, parts: Sequence[ComposedEvidence], times: Sequence[int]
) -> tuple[verdicts.Beside, ...]:
    """Return what the sum of the budgets, or basic composition, promises for a claim."""
    if not isinstance(claim, EventClaim):
        return ()
    match quantity_of(claim):
        case claims.TightEpsilon(delta=0):
            found = [
                (tight_epsilon(each, 0).value, n) for each, n in zip(parts, times, strict=True)
            ]
            amount = Measured(total(found), None).amount(exact.DIGITS)
            return (verdicts.Beside("the budgets of the parts sum to", amount),)
        case claims.TightDelta(epsilon=epsilon):
            return (_basic_composition(epsilon, parts, times),)
        case _:
            return ()


MAX_TRIED = 20_000
"""So many losses, and gaps of pairs, are looked at to split a budget among parts."""


def _basic_composition(
    epsilon: exact.Budget, parts: Sequence[ComposedEvidence], times: Sequence[int]
) -> verdicts.Beside:
    """Return the least Σ times · δ(share) over the ways to split ε among the parts.

    The runs of a part have equal shares. Between corners of its profile δ = p - e^ε q is concave in
    ε, so a sum is least where all parts but one stand at a corner, those at ε = 0 among them; these
    ways are tried, and equal shares. (Corners that are no budgets, of ratios in ℚ(e^r), are not,
    nor where they are very many.)
    """
    ways = [[epsilon / sum(times)] * len(parts)]
    different = [losses.losses for part in parts for _, losses in part.different]
    is_tried = len(parts) > 1 and sum(map(len, different)) <= MAX_TRIED
    profiles = [profile(part.different) for part in parts] if is_tried else []
    corners = [_corners(pieces, epsilon / n) for pieces, n in zip(profiles, times, strict=False)]
    for rest in range(len(profiles)):
        others = [c if k != rest else [exact.Budget.of(0)] for k, c in enumerate(corners)]
        if prod(map(len, others)) * len(different) > MAX_TRIED:
            continue
        for way in map(list, product(*others)):
            spent = sum(
                (share * n for share, n in zip(way, times, strict=True)), exact.Budget.of(0)
            )
            if spent <= epsilon:
                ways.append(way)
                way[rest] = (epsilon - spent) / times[rest]
    promises = [
        [(least_delta(part, share), n) for part, share, n in zip(parts, way, times, strict=True)]
        for way in ways
    ]
    # Each is a promise, so it does no harm if the least is found by sixteen of its digits.
    least = min(promises, key=lambda terms: float(enclosed_sum(terms).ball(128).mid()))
    return _at_most("basic composition", epsilon, _capped_sum(least))


def _at_most(rule: str, epsilon: exact.Budget, delta: verdicts.Amount) -> verdicts.Beside:
    """Return the δ that a rule promises at ε; of one that is enclosed, the upper end."""
    end = verdicts.Enough(delta, "<=").end
    amount = verdicts.Amount(end, end) if end else delta
    return verdicts.Beside(f"by {rule} delta({exact.exact_text(epsilon)}) <=", amount)


def _corners(pieces: Sequence[Piece], most: exact.Budget) -> list[exact.Budget]:
    """Return the corners of a profile that are budgets of at most so much."""
    logarithms = (exact.log(piece.start) for piece in pieces)
    return [corner for corner in logarithms if isinstance(corner, exact.Budget) and corner <= most]


def _capped_sum(terms: Sequence[tuple[exact.Number | exact.Excess, int]]) -> verdicts.Amount:
    """Return the sum, or 1 if that is less."""
    numbers = [
        exact.multiply(value, n) for value, n in terms if not isinstance(value, exact.Excess)
    ]
    if len(numbers) < len(terms):
        return _capped(enclosed_sum(terms))
    total = exact.sum_of(numbers)
    return number_amount(1 if exact.compare(total, 1) > 0 else total)


def _capped(value: Enclosed) -> verdicts.Amount:
    """Return a δ, or 1 if it is surely more."""
    return number_amount(1) if value.compare(1) == 1 else enclosed_amount(value, exact.DIGITS)


def group_promise(
    claim: claims.Claim, chain: Chain, distance: int, limits: Limits
) -> tuple[verdicts.Beside, ...]:
    """Return what the k·ε rule promises for a claim, from the chain with its own neighbors.

    All pairs of it count: inputs at a distance are joined by pairs that may have no end selected.
    """
    if not isinstance(claim, EventClaim) or (
        isinstance(claim, claims.PrivacyClaim) and claim.delta != 0
    ):
        return ()
    quantity = quantity_of(claim)
    is_tight = isinstance(quantity, claims.TightEpsilon) and quantity.delta == 0
    if not (is_tight or isinstance(quantity, claims.TightDelta)):
        return ()
    seen = seen_pairs(chain, distinct(chain.neighbors.pairs), limits)
    evidence = complete_evidence(seen)
    if evidence is None:
        return ()
    if not isinstance(quantity, claims.TightDelta):
        grown = Measured(total([(tight_epsilon(evidence, 0).value, distance)]), None)
        return (verdicts.Beside(f"{distance} times ε is", grown.amount(exact.DIGITS)),)
    share = quantity.epsilon / distance
    delta = least_delta(evidence, share)
    is_zero = exact.compare_values(delta, 0) == 0
    grown_delta = number_amount(0) if is_zero else _grown(delta, share, distance)
    return (_at_most("the group rule", quantity.epsilon, grown_delta),)


def _grown(
    delta: exact.Number | exact.Excess, share: exact.Budget, distance: int
) -> verdicts.Amount:
    """Return δ Σ_{j<k} e^(jε), or 1 if that is less.

    Terms are added until they exceed 1, so that k may be of any size.
    """

    def enclosure(bits: int) -> arb:
        with ctx.workprec(bits):
            ball = ball_of(delta, bits)
            if share == exact.Budget.of(0):
                return ball * distance
            above, below = (share * distance).exp_ball(bits) - 1, share.exp_ball(bits) - 1
            return ball * above / below

    factor = ExpFactor.of(share).value
    if isinstance(delta, exact.Excess) or factor is None:
        return _capped(Enclosed(enclosure))
    if factor == 1:
        total: exact.Number = exact.multiply(distance, delta)
        return number_amount(1 if exact.compare(total, 1) > 0 else total)
    total, term = 0, delta
    for _ in range(distance):
        total, term = exact.add(total, term), exact.multiply(term, factor)
        if exact.compare(total, 1) > 0:
            return number_amount(1)
    return number_amount(total)
