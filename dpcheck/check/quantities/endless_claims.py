"""Claims about endless outputs whose prefixes do not merge into finitely many.

ε and δ are bounded from below by the first outputs, and from above by the first outputs together
with the state of the run after them (`merged_prefixes`). Both come closer as more outputs are
followed, until the claim lies outside or a limit is reached. Where a cycle of outputs multiplies
the ratio of two probabilities, ε is infinite, and as many turns as exceed a budget are the event
that shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import prod
from typing import ClassVar

import numpy as np

from dpcheck.check.evidence.futures import GOES_SILENT, STOPS, Label
from dpcheck.check.evidence.growth import GrowingRatio
from dpcheck.check.evidence.merged_evidence import MergedEvidence
from dpcheck.check.evidence.merged_prefixes import MergedPrefixes
from dpcheck.check.evidence.sequences import ENDS
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities.privacy import (
    Decision,
    EventClaim,
    as_comparison,
    asked_bound,
    decide_between,
    decide_event_claim,
    greatest,
    quantity_of,
    quantity_text,
    undecided_sequences,
    verdict_on,
)
from dpcheck.check.quantities.seen_pairs import (
    SeenPairs,
    endless_prefixes,
    merged_evidence,
    prefix_table,
)
from dpcheck.check.quantities.tight import Evidence, tight_quantity
from dpcheck.check.quantities.turns import series_from, worst_gap
from dpcheck.check.values import event_text
from dpcheck.check.values.amounts import (
    ENCLOSED_DIGITS,
    INFINITE_EPSILON,
    number_amount,
    quantity_amount,
)
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import (
    Beside,
    Outcome,
    OutputSequence,
    Phrase,
    Undecided,
    Verdict,
    Violated,
)
from dpcheck.exact import Budget, Extended, TooLarge, divide, excess_sign, multiply
from dpcheck.limits import Limit, LimitReached
from dpcheck.logic.claims import TightDelta, TightEpsilon
from dpcheck.records import dataclass, replace

_MAX_DEPTH = 256
"""Bounds the first outputs that are listed, doubled each time."""
_MAX_MERGED_DEPTH = 4096
"""Bounds the first outputs that are merged, doubled each time."""
_MAX_DEPTH_TOLD = 16
"""So many outputs a run are cut down to the fewest that show a bound: more are not read anyway."""
_SHARE_TO_TELL = 5
"""Outputs that are looked for to tell a verdict known without them may take one part in so many of
the states allowed."""
_ASKED_OUTPUTS = 2
"""Outputs of the path formula that advice suggests."""
FEWEST_DIGITS = 3
"""In so many digits the bounds of a value agree: else it is undecided, and the bounds are told."""
_MAX_CERTIFIED = 1024
"""Outputs of a sequence that is followed once more, in a tenth of a second."""


def decide_endless(claim: EventClaim, seen: SeenPairs) -> Outcome:
    """Decide a claim that no complete evidence decides."""
    match quantity_of(claim):
        case TightEpsilon(delta=0):
            prefixes = endless_prefixes(seen)
            growth, graph = prefixes.growth(seen.limits), prefixes.words(seen.limits)
            if growth is not None:
                return _decide_growing(claim, seen, growth)
            if graph is not None:  # an analyst chooses: the worst word has the ratio
                decision = decide_event_claim(claim, _worst_word(graph, seen), seen)
                assert decision.verdict is not None, "complete evidence decides"
                return Outcome(decision.verdict, seen.coverage(), (), decision.value)
        case TightDelta(epsilon=epsilon):
            outcome = _decide_turns(claim, seen, epsilon)
            if outcome is not None:
                return outcome
    return decide_by_prefixes(claim, seen, _prefixes(seen), _cut(seen, shows_state=True))


def _decide_turns(claim: EventClaim, seen: SeenPairs, epsilon: Budget) -> Outcome | None:
    """Decide a claim about δ by cycles that are repeated: exactly, else by rounded powers."""
    exact = _turns(seen, epsilon, 0)
    low, high = (exact or _turns(seen, epsilon, side) for side in (-1, 1))
    if low is None or high is None:
        return None
    if exact is not None:
        found = decide_event_claim(claim, exact, seen)
        assert found.verdict is not None, "complete evidence decides"
        outcome = Outcome(found.verdict, seen.coverage(), (), found.value)
    else:
        outcome = decide_by_prefixes(as_comparison(claim), seen, iter([(1, low)]), {1: high}.get)
    if isinstance(outcome.verdict, Violated):
        short, shown = violating_prefixes(claim, seen), outcome.verdict.counterexample
        if exact is None:  # what was rounded is no probability of the event
            shown = replace(shown, probabilities=(), ratio=None, excess=None)
        verdict = short and short[1].verdict
        outcome = replace(outcome, verdict=verdict or Violated(shown))
    return None if isinstance(outcome.verdict, Undecided) else outcome


def _turns(seen: SeenPairs, epsilon: Budget, rounding: int) -> WordEvidence | None:
    """Return the worst event for ε, if all outputs are told by cycles that are repeated.

    None where powers are too long, and are not to be rounded (0): then down (-1) or up (1).
    """
    graph, roots = endless_prefixes(seen).graph(seen.limits) or (None, [])
    series = [None if graph is None else series_from(graph, root) for root in roots]
    with suppress(TooLarge):
        gap = worst_gap([row for row in series if row is not None], epsilon, rounding)
        is_shown = gap is not None and excess_sign(gap.p, gap.q, epsilon) > 0
        if gap is not None and is_shown and None not in series:
            words = event_text.many_sequences(None, gap, ExpFactor.of(epsilon))
            return WordEvidence(gap, event_text.EventText(words, ()))
    return None


def violating_prefixes(claim: EventClaim, seen: SeenPairs) -> tuple[Evidence, Decision] | None:
    """Return evidence about few outputs that violates a claim, if it soon does."""
    return _violating(claim, seen, _prefix_tables(seen, _MAX_DEPTH_TOLD))


def finite_evidence(
    claim: EventClaim, seen: SeenPairs, complete: Decision, evidence: Evidence
) -> tuple[Evidence, Decision] | None:
    """Return evidence about first outputs that violates a claim, None where there is none.

    Few of them; more where all that is known beside them is what is seen in the long run. But what
    they show bounds a quantity from below: if it is not above what is claimed, none are looked for.
    complete: the decision by the evidence about all outputs.
    """
    verdict = complete.verdict
    is_above = isinstance(verdict, Violated) and verdict.counterexample.excess is not None
    short = violating_prefixes(claim, seen)
    if short is not None or not is_above or not evidence.tells_in_the_long_run:
        return short
    allowed = replace(seen.limits, max_states=seen.limits.max_states // _SHARE_TO_TELL)
    asked = replace(seen, limits=allowed)
    return _violating(claim, asked, _prefixes(asked))


def _violating(
    claim: EventClaim, seen: SeenPairs, prefixes: Iterator[tuple[int, Evidence]]
) -> tuple[Evidence, Decision] | None:
    """Return the first evidence about prefixes that violates a claim."""
    for _, evidence in prefixes:
        decision = decide_event_claim(claim, evidence, seen, is_complete=False)
        if isinstance(decision.verdict, Violated):
            return evidence, decision
    return None


def evidence_of_prefixes(claim: EventClaim, seen: SeenPairs) -> Evidence:
    """Return evidence by which a claim is violated: it is known to be.

    Raises `LimitReached` where less is allowed than it took to find that out.
    """
    short = violating_prefixes(claim, seen)
    if short is not None:
        return short[0]
    growth, bound = endless_prefixes(seen).growth(seen.limits), asked_bound(claim)
    if growth is not None and isinstance(bound, Budget):
        return WordEvidence.beyond(bound, growth, seen)
    longer = _violating(claim, seen, _prefixes(seen))
    if longer is not None:
        return longer[0]
    raise LimitReached(Limit("size", unit="the outputs that violate the claim are too many"))


# --- ratios that grow ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WordEvidence:
    """One event: what a sequence of outputs shows bounds ε from below."""

    gap: EventGap
    event: event_text.EventText
    tells_in_the_long_run: ClassVar = False

    @staticmethod
    def beyond(epsilon: Budget, growth: GrowingRatio, seen: SeenPairs) -> WordEvidence:
        """Return the fewest turns that exceed a budget; raises `TooLarge` for very many."""
        n_turns = growth.least_turns(epsilon)
        p, q = growth.probabilities(n_turns)
        gap = EventGap(p, q, growth.pair, growth.is_forward)
        return WordEvidence.of(growth.outputs(n_turns), gap, seen)

    @staticmethod
    def of(labels: Sequence[Label], gap: EventGap, seen: SeenPairs) -> WordEvidence:
        """Return what a sequence shows; its gap has the choices of an analyst drawn uniformly.

        Whoever asks what stands in the sequence is sure to do so.
        """
        end = {STOPS: event_text.STOPPED, GOES_SILENT: event_text.DIVERGED}.get(
            labels[-1], event_text.GOES_ON
        )
        codes = [label for label in labels if label >= 0]
        if len(codes) <= _MAX_CERTIFIED:
            seen.certify(gap, [(codes, ENDS[end])])
        offers = seen.chain.offers
        n_ways = prod(offers[code][1] for code in codes if code in offers)
        p, q = multiply(n_ways, gap.p), multiply(n_ways, gap.q)
        word = event_text.output_sequence(map(seen.chain.observation_text, codes), end)
        event = event_text.EventText((word,), ((word, p, q),))
        return WordEvidence(replace(gap, p=p, q=q), event)

    def worst_ratio(self) -> EventGap:
        """Return the event of the sequence."""
        return self.gap

    def worst_gap(self, factor: ExpFactor) -> EventGap:  # noqa: ARG002 - one for all
        """Return the event of the sequence."""
        return self.gap

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> event_text.EventText:  # noqa: ARG002
        """Return the sequence."""
        return self.event


def _worst_word(graph: MergedPrefixes, seen: SeenPairs) -> Evidence:
    """Return a sequence with the largest ratio, in a graph with choices of an analyst."""
    words = MergedEvidence(graph, seen.chain.observation_text, seen.limits)
    gap = words.worst_ratio()
    if gap is None:
        return words
    labels, p, q = words.shortest(gap)
    return WordEvidence.of(labels, replace(gap, p=p, q=q), seen)


def _decide_growing(claim: EventClaim, seen: SeenPairs, growth: GrowingRatio) -> Outcome:
    """Decide a claim about ε, which is infinite, by as many turns as exceed what it allows."""
    bound, decision = asked_bound(claim), Decision(None)
    if isinstance(bound, Budget):
        short = violating_prefixes(claim, seen)
        with suppress(TooLarge):
            evidence = short[0] if short else WordEvidence.beyond(bound, growth, seen)
            decision = decide_event_claim(claim, evidence, seen, is_complete=False)
    verdict = decision.verdict or _verdict_on_infinity(claim, seen, growth)
    turn, factor = _sequence(growth.turn, seen), number_amount(divide(*growth.factor))
    # What is shown may be likelier from the other side: the ratio that grows is named.
    one, other = seen.names(growth.pair, is_forward=growth.is_forward)
    ratio = f" multiplies the ratio of {one} to {other} by "
    beside = Beside(Phrase.of("every further ", turn, ratio, factor))
    return Outcome(verdict, seen.coverage(), (), INFINITE_EPSILON, (beside,))


def _verdict_on_infinity(claim: EventClaim, seen: SeenPairs, growth: GrowingRatio) -> Verdict:
    """Return the verdict on an ε that is infinite, where no sequence is written out."""
    asked, states = as_comparison(claim), seen.names(growth.pair, is_forward=growth.is_forward)
    verdict = verdict_on(asked, quantity_text(asked.quantity), None, INFINITE_EPSILON, states)
    if not isinstance(verdict, Violated):
        return verdict
    event = _in_words(growth, asked_bound(claim), seen)
    return Violated(replace(verdict.counterexample, event=event))


def _in_words(growth: GrowingRatio, bound: Budget | Extended, seen: SeenPairs) -> Phrase:
    """Return outputs whose probabilities are too long to be written."""
    times = "again and again"
    if isinstance(bound, Budget):
        with suppress(TooLarge):
            times = f"({growth.least_turns(bound):,} times)"
    parts = [_sequence(part, seen) for part in (growth.lead, growth.tail)]
    before = (parts[0], ", then ") if growth.lead else ()
    after = (", then ", parts[1]) if growth.tail else ()
    return Phrase.of(*before, _sequence(growth.turn, seen), f" {times}", *after, ", then anything")


def _sequence(labels: Sequence[Label], seen: SeenPairs) -> OutputSequence:
    """Return some outputs of a run, without an end."""
    codes = [label for label in labels if label >= 0]
    return event_text.output_sequence(map(seen.chain.observation_text, codes), event_text.STOPPED)


# --- bounds on both sides --------------------------------------------------------------------


def decide_by_prefixes(
    claim: EventClaim,
    seen: SeenPairs,
    prefixes: Iterator[tuple[int, Evidence]],
    with_state: Callable[[int], Evidence | None],
) -> Outcome:
    """Decide a claim by what the first outputs show, and what more can follow them at most.

    prefixes: evidence about the first outputs, and how many; with_state: about so many, and what
    state the run is in after them, if that is not too much.
    """
    last, depth = Decision(None), 0
    attained: tuple[int, Evidence, Decision] | None = None
    high = greatest(claim)

    def between(n_digits: int) -> Outcome | None:
        """Return the outcome if both bounds decide; there may be no first outputs that do."""
        if last.shown is None:
            return None
        found = decide_between(claim, last, high, n_digits=n_digits)
        beside = () if found.value else (Beside("it is at most", quantity_amount(high)),)
        if found.verdict is None:
            return None
        return Outcome(found.verdict, seen.coverage(), (), found.value, beside)

    for depth, evidence in prefixes:
        before = last
        last = decide_event_claim(claim, evidence, seen, is_complete=False)
        if last.verdict is not None:
            beside = () if last.at_least is None else (Beside("it is at least", last.at_least),)
            return Outcome(last.verdict, seen.coverage(), (), last.value, beside)
        if last.at_least != before.at_least:
            attained = depth, evidence, last
        above = with_state(depth)
        if above is not None:
            high = tight_quantity(quantity_of(claim), above).value
        if outcome := between(ENCLOSED_DIGITS):
            return outcome
    if outcome := between(FEWEST_DIGITS):
        return outcome
    path, shown_by = _path_of_outputs(seen), Phrase(())
    if attained is not None:
        shown_by = _shown_by(seen, *_fewest_outputs(claim, seen, *attained))
    undecided = undecided_sequences(claim, last.at_least, high, depth, path, shown_by)
    return Outcome(undecided, seen.coverage())


def _fewest_outputs(
    claim: EventClaim, seen: SeenPairs, depth: int, evidence: Evidence, decision: Decision
) -> tuple[Evidence, Decision]:
    """Return evidence about fewer outputs that shows the same lower bound, if it is soon found."""
    is_short = depth <= _MAX_DEPTH_TOLD and isinstance(evidence, TableEvidence)
    for length in range(depth // 2 + 1, depth) if is_short else ():
        shorter = prefix_table(seen, length)
        if shorter is not None:
            found = decide_event_claim(claim, shorter, seen, is_complete=False)
            if found.at_least == decision.at_least:
                return shorter, found
    return evidence, decision


def _shown_by(seen: SeenPairs, evidence: Evidence, decision: Decision) -> Phrase:
    """Return the event behind a lower bound, with its probabilities from both sides."""
    found = decision.shown
    if found is None or found.gap is None:
        return Phrase(())
    try:
        event = evidence.event_text(found.gap, found.factor)
    except LimitReached:  # which costs the words, and no bound
        return Phrase(())
    gap = found.gap
    left, right = seen.names(gap.pair, is_forward=gap.is_forward)
    shown = event_text.event_parts(event.event)
    sides = number_amount(gap.p), f" from {left}, ", number_amount(gap.q), f" from {right}"
    return Phrase.of(*shown, ": ", *sides)


def _cut(seen: SeenPairs, *, shows_state: bool) -> Callable[[int], Evidence | None]:
    """Return what makes merged evidence about so many first outputs, if that is not too much."""

    def evidence(depth: int) -> Evidence | None:
        graph = endless_prefixes(seen).cut(depth, seen.limits, shows_state=shows_state)
        return None if graph is None else merged_evidence(seen, graph)

    return evidence


def _prefixes(seen: SeenPairs) -> Iterator[tuple[int, Evidence]]:
    """Yield evidence about the first outputs, twice as many each time, and their number.

    As tables first, then, as these become too large, merged: long prefixes are many, but often few
    of them differ in what they say about the pair.
    """
    depth = 1
    for tabled, evidence in _prefix_tables(seen, _MAX_DEPTH):
        yield tabled, evidence
        depth = 2 * tabled
    yield from doubled(depth, _MAX_MERGED_DEPTH, _cut(seen, shows_state=False))


def _prefix_tables(seen: SeenPairs, most: int) -> Iterator[tuple[int, Evidence]]:
    """Yield tables of the first outputs, so many at most, as long as these are few."""
    return doubled(1, 0 if seen.chain.offers else most, partial(prefix_table, seen))


def doubled(
    depth: int, most: int, evidence_at: Callable[[int], Evidence | None]
) -> Iterator[tuple[int, Evidence]]:
    """Yield numbers of outputs, twice as many each time, with evidence as long as it is there."""
    while depth <= most and (evidence := evidence_at(depth)) is not None:
        yield depth, evidence
        depth *= 2


def _path_of_outputs(seen: SeenPairs) -> str | None:
    """Return a path formula about the likeliest first outputs, to ask in place of all sequences.

    None where an analyst chooses: formulas say nothing of strategies.
    """
    chain = seen.chain
    if chain.offers:
        return None
    shown: list[str] = []
    state = int(seen.sources[0]) if len(seen.sources) else chain.stopped
    while len(shown) < _ASKED_OUTPUTS:
        row = slice(int(chain.indptr[state]), int(chain.indptr[state + 1]))
        showing = np.flatnonzero(chain.observation[chain.targets[row]] >= 0)
        if not len(showing):
            break
        likeliest = max(showing.tolist(), key=chain.numerators[row].tolist().__getitem__)
        state = int(chain.targets[row][likeliest])
        shown.append(chain.observation_text(int(chain.observation[state])))
    if not shown:
        return "X stopped"
    if seen.is_of_labels:
        label = f"({shown[0]})" if " & " in shown[0] else shown[0]
        return f"F<={_ASKED_OUTPUTS} {label}"
    *before, last = (f"output = {text}" for text in shown)
    return f"X ({before[0]} & X {last})" if before else f"X {last}"
