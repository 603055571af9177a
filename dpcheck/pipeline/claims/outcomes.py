"""The outcome of a claim whose target has one chain, or one for each value of a parameter."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import inf

from dpcheck.chain.chain import Chain
from dpcheck.check.decide import decide, decide_arranged, nothing_asked, selected_states
from dpcheck.check.formulas.truths import BEYOND, Truths
from dpcheck.check.values.measures import TOO_FAR, ClaimRejected, Measures
from dpcheck.check.values.verdicts import Amount, Outcome, Undecided
from dpcheck.check.values.verdicts import Value as QuantityOf
from dpcheck.diagnostics.runs import RunMistake
from dpcheck.exact import Budget, Number, Param
from dpcheck.explore import Explored, MistakesFound
from dpcheck.explore.tails.tails import Window, WindowTooSmall
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic.claims import Claim, ForAll, QuantityClaim, QuantityValue
from dpcheck.model.values import Value, value_text
from dpcheck.pipeline.claims.explorations import Explorations, measures_of
from dpcheck.pipeline.claims.shown_numbers import (
    Source,
    Told,
    decided_between,
    has_more_to_show,
    told_in_kinds,
    undecided_beyond,
    wider_windows,
)
from dpcheck.records import dataclass, field, replace
from dpcheck.resolve import ResolvedCheck

MAX_WIDER = 3
"""How often the window is made wider until laws are known, for formulas inside of a path."""

CLOSE = Fraction(1, 10**12)
"""Bounds of a probability that are no further apart are close enough."""

MANY_PAIRS = 5_000
"""No wider window is tried for closer bounds where so many states, and pairs of them, are there."""

NEARER_SECONDS = 20
"""So much time of the processor is spent on values for which it is not known if a claim fails."""

MAX_WIDENED = 16
"""How often the window of shown numbers is made twice as wide for errors: to 2^16 integers."""


@dataclass(frozen=True, eq=False)
class Ready:
    """A claim with the chains it is about; of an arrangement these have numbers in `parts`.

    `truths` is what was computed so far of formulas on the first. Of a claim about infinitely many
    inputs, `whole`, it is a window; of one about all analysts, `of_analysts`, about some of them;
    of one about all values of a parameter, `for_all`, about one.
    """

    check: ResolvedCheck
    sources: Sequence[Source]
    numbers: Sequence[int]
    explorations: Explorations
    truths: Truths
    whole: ResolvedCheck | None = None
    of_analysts: ResolvedCheck | None = None
    for_all: Ready | None = None

    @property
    def explored(self) -> Explored:
        """How the first chain was explored."""
        return self.sources[0].explored

    @property
    def chain(self) -> Chain:
        """The first chain."""
        return self.sources[0].chain

    @property
    def parts(self) -> list[tuple[Chain, int, int]]:
        """The parts of an arrangement: the chain of each, its distance, and how often it runs."""
        pairs = zip(self.check.parts, self.numbers, strict=True)
        return [(self.sources[k].chain, part.distance, part.times) for part, k in pairs]

    @property
    def titles(self) -> list[str]:
        """What the parts of an arrangement are called."""
        return [part.target.title for part in self.check.parts]

    @property
    def vanishing(self) -> tuple[Number, ...]:
        """The weights of all parts that are 0 for some value of a parameter."""
        known = (source.explored.table.weights.vanishing for source in self.sources)
        return tuple(dict.fromkeys(weight for each in known for weight in each))

    @property
    def weights(self) -> tuple[Number, ...]:
        """Weights of all parts, one for each unit."""
        known = (source.explored.table.weights.by_unit for source in self.sources)
        return tuple(weight for each in known for weight in each.values())

    @property
    def measures(self) -> Measures:
        """The numbers that the claim measures."""
        return measures_of(self.explored, self.check, self.chain.n_states)

    def asking(self, claim: Claim) -> Ready:
        """Return another claim about the same chain."""
        return replace(self, check=replace(self.check, claim=claim))

    def telling(self, told: Told) -> Ready:
        """Return the claim where an adversary is told so much of shown numbers."""
        sources = [source.telling(told) for source in self.sources]
        if sources[0].chain is self.chain:
            return replace(self, sources=sources)
        return replace(self, sources=sources, truths=Truths(sources[0].chain, self.truths.limits))


def made_ready(check: ResolvedCheck, explorations: Explorations, limits: Limits) -> Ready:
    """Return a claim with its chain, labelled; raises `MistakesFound` or `LimitReached`."""
    check = explorations.closed(check, limits)
    sources = [Source(check, *explorations.labelled(check, limits))]
    targets = list({id(part.target): part.target for part in check.parts}.values())
    for target in targets[1:]:
        own = replace(check, target=target, kept_inputs=())
        explored = explorations.explored(own, limits)
        sources.append(Source(own, explored, explored.chain))
    numbers = [targets.index(part.target) for part in check.parts]
    return Ready(check, sources, numbers, explorations, Truths(sources[0].chain, limits))


def outcome_of(ready: Ready, limits: Limits) -> tuple[Outcome, Ready]:
    """Return the outcome of a claim, and the claim that its counterexample is about.

    That is another one for a claim about all values of a parameter: the same for one value.
    """
    if ready.check.for_all is None:
        return decided(ready, limits)
    single = _SingleValues(ready.check, limits)
    value = ready.check.for_all.single
    if value is not None:
        from dpcheck.check.all_values.piecewise import of_one_value

        outcome = single.outcome(ready.check.claim, value)
        return of_one_value(outcome, value, ready.check.for_all), single.asked[value]
    outcome = _for_all_values(ready, ready.check.for_all, single, limits)
    shown_at = None if outcome.all_values is None else outcome.all_values.shown_at
    if shown_at is None:
        return outcome, ready
    return outcome, replace(single.asked[shown_at], for_all=ready)


# --- all values of a parameter -------------------------------------------------------------


def _for_all_values(
    ready: Ready, for_all: ForAll, single: _SingleValues, limits: Limits
) -> Outcome:
    """Return the outcome of a claim about all values; where that is too much, of one it fails for.

    Raises `LimitReached` where it is too much, and no value that is tried violates the claim.
    """
    from dpcheck.check.all_values.decide import violated_somewhere

    claim = ready.check.claim
    try:
        return _at_once(ready, for_all, single, limits)
    except LimitReached as reached:
        if reached.limit.kind != "size" or isinstance(claim, QuantityValue):
            raise
        at_value = partial(single.outcome, claim)
        shown = violated_somewhere(claim, for_all, ready.weights, at_value)
        if shown is None:
            raise
        return shown


def _at_once(ready: Ready, for_all: ForAll, single: _SingleValues, limits: Limits) -> Outcome:
    """Return the outcome of a claim about all values, from a chain of rows that depend on them."""
    from dpcheck.check.all_values.decide import NOT_SHOWN, decide_for_all
    from dpcheck.check.all_values.parts import gaps_of, joined_outcome, parts_of
    from dpcheck.check.all_values.setting import numbers_of
    from dpcheck.check.arrangements import independent_runs

    check = ready.check
    ratios = [ratio for source in ready.sources for ratio in source.window.ratios]

    def decide_on(ready: Ready, claim: Claim) -> Outcome:
        runs = [(ready.chain, 1)]
        if check.parts:
            runs = independent_runs(ready.parts, ready.titles, check.span, limits)
        return decide_for_all(
            *(runs, claim, check.at, for_all),
            *(ready.vanishing, tuple(gaps_of(ratios)), ready.weights),
            at_value=partial(single.outcome, claim),
            measures=ready.measures,
            limits=limits,
        )

    shown = told_in_kinds(ready.sources, check.claim)
    if shown:
        others = *numbers_of(check.claim), *ready.weights
        parts = parts_of(for_all, ratios, others, ready.vanishing)
        if parts:
            found = [single.outcome_or_limit(check.claim, part) for part in parts]
            return joined_outcome(check.claim, for_all, parts, found)
        return single.nearer(_told_in_kinds(ready, decide_on, limits)[0], for_all)
    outcome = _in_wider_windows(ready, decide_on, limits)
    verdict = outcome.verdict
    assert not isinstance(verdict, Undecided) or verdict.limit is not NOT_SHOWN, verdict
    return outcome


def _in_wider_windows(
    ready: Ready, decide_on: Callable[[Ready, Claim], Outcome], limits: Limits
) -> Outcome:
    """Return the outcome in a window where each comparison of a shown number has one result."""
    check = ready.check
    for _ in range(MAX_WIDENED):
        try:
            return decide_on(ready, check.claim)
        except WindowTooSmall as found:  # as the mean of a run's last output was computed
            ready.explorations.widen(check, found.window)
        ready = made_ready(check, ready.explorations, limits)
    raise LimitReached(TOO_FAR)


@dataclass(frozen=True)
class _SingleValues:
    """A claim about all values of a parameter, `asked` of some by themselves."""

    check: ResolvedCheck
    limits: Limits
    asked: dict[Value, Ready] = field(default_factory=dict)

    def outcome(self, claim: Claim, value: Value | Param) -> Outcome:
        """Return the outcome for a value, or for the irrational one of an interval.

        Raises `ClaimRejected` with a mistake that it meets.
        """
        try:
            one, is_whole = _at_value(self.check, value, self.limits), claim is self.check.claim
            if not is_whole:  # ε, which reads no parameter, or half of the claim
                own = one.check.claim
                if isinstance(claim, QuantityClaim) and isinstance(own, QuantityClaim):
                    claim = replace(own, comparison=claim.comparison)
                one = one.asking(claim)
            if isinstance(value, Param):
                assert one.check.for_all is not None, "it still depends on it"
                check = replace(one.check, chosen=self.check.chosen)
                inner = _SingleValues(check, self.limits, self.asked)
                return _for_all_values(one, one.check.for_all, inner, self.limits)
            outcome, ready = decided(one, self.limits)
            if is_whole:
                self.asked[value] = ready
        except ClaimRejected as rejected:
            mistake = rejected.mistake
            if isinstance(mistake, RunMistake) and self.check.for_all is not None:
                where = f"in {value.text}" if isinstance(value, Param) else f"= {value_text(value)}"
                mistake = mistake.on_run((f"{self.check.for_all.param.name} {where}", *mistake.run))
            raise ClaimRejected(mistake) from None
        return outcome

    def nearer(self, outcome: Outcome, for_all: ForAll) -> Outcome:
        """Return the outcome for all values with those of small intervals where it is not known."""
        from dpcheck.check.all_values.nearer import small_intervals, with_nearer

        if outcome.all_values is None or not (gaps := small_intervals(outcome.all_values, for_all)):
            return outcome
        deadline = min(self.limits.cpu_deadline or inf, time.process_time() + NEARER_SECONDS)
        quick = replace(self, limits=replace(self.limits, cpu_deadline=deadline))
        try:
            found = [quick.outcome(self.check.claim, gap) for gap in gaps]
        except LimitReached:
            return outcome
        return with_nearer(outcome, gaps, found)

    def outcome_or_limit(self, claim: Claim, part: Value | Param) -> Outcome | LimitReached:
        """Return the outcome for one of several parts, or the limit of size that was reached.

        Raises any other `LimitReached`, and `ClaimRejected` as `outcome` does.
        """
        try:
            return self.outcome(claim, part)
        except LimitReached as reached:
            if reached.limit.kind != "size":
                raise
            return reached.with_traceback(None)


def _at_value(check: ResolvedCheck, value: Value | Param, limits: Limits) -> Ready:
    """Return the claim for one value of its parameter; raises `ClaimRejected` with its mistake."""
    try:
        return made_ready(asked_at(check, value), Explorations(), limits)
    except MistakesFound as found:
        raise ClaimRejected(found.mistakes[0]) from None


def asked_at(check: ResolvedCheck, value: Value | Param) -> ResolvedCheck:
    """Return the claim for one value of its parameter; raises `ClaimRejected` with its mistake."""
    assert check.chosen is not None, "a parameter can be chosen"
    resolved = check.chosen(value)
    for mistake in resolved.mistakes:
        if mistake.severity == "error":
            raise ClaimRejected(mistake)
    (one,) = resolved.checks
    return one


# --- one chain -----------------------------------------------------------------------------


def decided(ready: Ready, limits: Limits) -> tuple[Outcome, Ready]:
    """Return the outcome of a claim that depends on no parameter, and the chain it is about."""
    check = ready.check
    if check.leaves_out is not None:
        return nothing_asked(check.kind, check.leaves_out), ready
    if not told_in_kinds(ready.sources, check.claim):
        return _decided_with_memory(ready, limits)
    return _told_in_kinds(ready, partial(_decided_on, limits=limits), limits)


def _told_in_kinds(
    ready: Ready, decide_on: Callable[[Ready, Claim], Outcome], limits: Limits
) -> tuple[Outcome, Ready]:
    """Return the outcome in a window beyond which it is alike for all shown numbers."""
    check = ready.check
    param = None if check.for_all is None else check.for_all.param

    def decide(told: Told, claim: Claim) -> Outcome:
        return decide_on(ready.telling(told), claim)

    def above(told: Told, epsilon: Budget) -> list[tuple[Number, Number]] | None:
        if check.parts:
            return None
        from dpcheck.check.quantities.loss_values import masses_above
        from dpcheck.check.quantities.seen_pairs import seen_pairs

        truths = ready.telling(told).truths
        selected = selected_states(truths, check.at)
        return masses_above(seen_pairs(truths.chain, selected, limits), epsilon)

    best: tuple[Outcome, Ready] | None = None
    while True:
        shown = told_in_kinds(ready.sources, check.claim)
        wider = wider_windows(shown, check.claim, param)
        try:
            how = {"is_first": best is None, "is_last": not wider}
            found = decided_between(shown, check.claim, decide, above, **how, param=param)
            if found is not None:
                best = found[0], ready.telling(found[1])
                if not has_more_to_show(found[0], **how):
                    return best
            if not wider:
                raise undecided_beyond(shown[0], param)
            for source, window in wider:
                ready.explorations.widen(source.check, window)
            ready = made_ready(check, ready.explorations, limits)
        except LimitReached:
            if best is None:
                raise
            return best


def _decided_with_memory(ready: Ready, limits: Limits) -> tuple[Outcome, Ready]:
    """Return the outcome, in a window beyond which it is the same for all hidden numbers.

    Where no window knows enough, by bounds: these are closer with every window, as runs come less
    and less often beyond it.
    """
    check, explorations, best = ready.check, ready.explorations, None
    for n_tried in range(MAX_WIDENED + 1):
        window: Window | None
        try:
            ready = without_kinds(
                ready if n_tried == 0 else made_ready(check, explorations, limits)
            )
            outcome = _decided_on(ready, check.claim, limits)
        except WindowTooSmall as found:
            window = found.window
        except LimitReached:
            if best is None:
                raise
            return best
        else:
            limit = outcome.verdict.limit if isinstance(outcome.verdict, Undecided) else None
            if limit == BEYOND:
                ready = replace(ready, truths=ready.truths.telling_bounds())
                best = _decided_on(ready, check.claim, limits), ready
                window = _closer_window(*best, n_tried)
            elif limit == TOO_FAR and ready.explored.window is not None:
                window = ready.explored.window.widened()
            else:
                return (outcome, ready) if limit is None or best is None else best
        if window is None:
            break
        explorations.widen(check, window)
    if best is None:
        raise LimitReached(TOO_FAR)
    return best


def _closer_window(outcome: Outcome, ready: Ready, n_tried: int) -> Window | None:
    """Return a window that knows more than what an outcome by bounds tells, None for none."""
    orders, level = ready.explored.orders, ready.truths.level
    if orders is None or not (
        _is_wide(outcome, ready) or (orders.knows_more(level) and n_tried < MAX_WIDER)
    ):
        return None
    return orders.wider(level)


def _is_wide(outcome: Outcome, ready: Ready) -> bool:
    """Return whether an outcome by bounds leaves something open that a wider window may tell.

    None is tried where the states and pairs of this one are many.
    """
    relation = ready.chain.neighbors
    if ready.chain.n_states + len(relation.later) + len(relation.doubtful) > MANY_PAIRS:
        return False
    match outcome.verdict:
        case Undecided():
            return True
        case QuantityOf(amount=Amount(enclosure=(low, high))):
            return Fraction(high) - Fraction(low) > CLOSE
    return False


def without_kinds(ready: Ready) -> Ready:
    """Return a claim with outputs that exist: formulas never tell kinds of shown numbers apart."""
    return ready if ready.check.parts else ready.telling("less")


def _decided_on(ready: Ready, claim: Claim, limits: Limits) -> Outcome:
    """Return the outcome of a claim on the chains that are ready."""
    check, chain = ready.check, ready.chain
    if not check.parts:
        known, measures = ready.truths, ready.measures
        return decide(chain, claim, at=check.at, limits=limits, measures=measures, truths=known)
    return decide_arranged(
        ready.parts,
        ready.titles,
        claim,
        at=check.at,
        span=check.span,
        limits=limits,
        measures=ready.measures,
    )
