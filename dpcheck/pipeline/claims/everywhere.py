"""Claims about all integers and endless streams: proved by an alignment, refuted by a window.

An alignment bounds ε from above for every input and every number of rounds; the ε of a window,
which is an ordinary mechanism, bounds it from below. What both say decides a claim, or is told.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache, partial
from math import prod
from operator import and_
from time import process_time
from typing import NamedTuple, TypeVar, cast

from dpcheck.align.arena import arena, n_combinations
from dpcheck.align.bound import Alignment, aligned
from dpcheck.align.neighbors import Unreadable, differences
from dpcheck.align.obstacles import obstacle_of
from dpcheck.align.prices import bound_of, rates_of
from dpcheck.align.windows import Row, Size, forgets_noise, longer, round_of, window
from dpcheck.check.all_values.decide import closed_ends, violated_within, with_ends
from dpcheck.check.all_values.piecewise import of_one_value, value_of_pieces
from dpcheck.check.quantities.privacy import false_comparison
from dpcheck.check.quantities.seen_pairs import complete_evidence, endless_prefixes, seen_pairs
from dpcheck.check.values.amounts import epsilon_amount, epsilon_between
from dpcheck.check.values.comparisons import as_budget, holds
from dpcheck.check.values.event_text import going_on
from dpcheck.check.values.measures import ClaimRejected
from dpcheck.check.values.verdicts import (
    OPPOSITE,
    Amount,
    Beside,
    Comparison,
    Counterexample,
    Coverage,
    Holds,
    Outcome,
    Phrase,
    Piece,
    Undecided,
    Value,
    Violated,
)
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.structure import ComputedWithUnbounded
from dpcheck.exact import (
    Budget,
    Epsilon,
    LogOf,
    Number,
    Param,
    compare_epsilon,
    divide,
    exact_text,
    growth_of,
    log,
    subtract,
)
from dpcheck.exact.line import Line, line_of
from dpcheck.exact.roots import Region, complement, everywhere, joined
from dpcheck.explore import MistakesFound
from dpcheck.explore.values.mistakes import spoken
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.logic import claims
from dpcheck.model.program import Mechanism
from dpcheck.model.surface_text import one_line
from dpcheck.model.values import Value as Chosen
from dpcheck.model.values import value_text
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.left_open import advice, amount_of, obstacle_text
from dpcheck.pipeline.claims.outcomes import (
    Ready,
    asked_at,
    made_ready,
    outcome_of,
    without_kinds,
)
from dpcheck.privacy.enclosed import Enclosed
from dpcheck.records import replace
from dpcheck.resolve import Resolved, ResolvedCheck

MAX_INPUTS = 750
"""Windows have at most so many inputs: above-threshold with 729 takes a second."""

MAX_INPUTS_OF_STREAMS = 250
"""The same for windows of streams that have all inputs, four rounds on -1..1, seven on 0..1."""

MAX_COSTLY_INPUTS = 32
"""The same with a parameter, or an analyst who adapts, where a window costs ten times as much."""

WIDTHS = ((0, 0), (0, 1), (-1, 1), (-2, 2), (-4, 4))
"""The integers of windows, from the first to the last."""

MAX_ROUNDS_FOR_ALL = 10
"""The same for all values of a parameter: 1.2 s, where each further round doubles that."""

MAX_ROUNDS = 20
"""Bounds the rounds of a stream that are tried to refute a claim."""

MAX_SEQUENCES = 512
"""Windows with more sequences of outputs are not made longer: nine rounds of two answers."""

MAX_SEQUENCES_FOR_ALL = 128
"""The same for all values of a parameter, where seven rounds take five seconds."""

MAX_STATES_GOING_ON = 25_000
"""Nor are those with more states: where every round keeps noise nine have more, after 20 s."""

MAX_COMBINATIONS = 3**6
"""In so many ways inputs differ together where each is told apart: 3^8 take ten seconds."""

FEW_STATES = 2_000
"""So many states a window may have that is looked at for mistakes only: the claim is proved."""

NOTHING = Coverage(0, 0)

UNSEEN = Outcome(Undecided(Limit("size", unit="no ratio grows without end")), NOTHING)
"""What an endless window says that does not show an infinite ε."""

MOST_REPEATED = 2
"""So many rounds come again in endless windows: two are enough for pairs of answers that differ."""

REPEATED_SECONDS = 5.0
"""So long an endless window may take; those of noise that is drawn anew take a second."""

NEARER_SECONDS = 20.0
"""After so long bounds of a value are told; a round more halves what is left in twice the time."""


Result = TypeVar("Result")


class Worst(NamedTuple):
    """The neighbors of a window that lose most, and how much; None is infinite."""

    epsilon: Epsilon | None
    size: Size
    pair: tuple[Row, ...]


class Seen(NamedTuple):
    """What a window of so many states says of a claim, and what its neighbors lose, if known."""

    size: Size
    outcome: Outcome
    worst: Callable[[], Worst | None]
    n_states: int = 0


Decide = Callable[[Size, claims.Claim, Limits], Seen]
"""Decides a claim about a window of the mechanism."""


Found = tuple[Outcome, Ready | None]
"""The outcome of a claim; beside it the window that violates the claim, if one does."""


def outcome_everywhere(check: ResolvedCheck, limits: Limits) -> Found:
    """Return the outcome of a claim about inputs that may be any integers."""
    return _end_of(outcomes_everywhere(check, limits))


def outcomes_everywhere(check: ResolvedCheck, limits: Limits) -> Generator[Outcome, None, Found]:
    """Return the outcome of a claim, and tell before what it is if the work ends now: bounds."""
    if check.for_all is not None and check.for_all.single is not None:
        return (yield from _at_single(check, check.for_all, limits))
    shown: list[tuple[Outcome, Ready]] = []
    assert isinstance(check.target, Mechanism), "only mechanisms have inputs"
    streams = [one.name for one in check.target.inputs if one.is_stream]

    def decide(size: Size, claim: claims.Claim, own: Limits) -> Seen:
        asked = _on_window(check, own, size, claim)
        if size.is_endless:
            seen = _seen_repeating(size, asked, own, streams)
            shown.append((seen.outcome, asked))
            return seen
        outcome, ready = outcome_of(asked, own)
        shown.append((outcome, ready))
        if check.for_all is not None:  # it is shown at a value, and what is lost at the stand-in
            ready = without_kinds(asked)
        is_decided = not isinstance(outcome.verdict, Undecided)
        worst = cache(partial(_worst, size, ready, own)) if is_decided else lambda: None
        return Seen(size, outcome, worst, ready.explored.sizes.n_states)

    outcome = yield from decided_everywhere(check, decide, limits)
    of_window = [ready for found, ready in shown if found.verdict is outcome.verdict]
    if not of_window or not isinstance(outcome.verdict, Violated):
        return outcome, None
    target = of_window[0].check.target
    assert isinstance(target, Mechanism), "it has inputs"
    verdict = Violated(_cut_off(outcome.verdict.counterexample, target.n_rounds))
    return replace(outcome, verdict=verdict), replace(of_window[0], whole=check)


def _seen_repeating(size: Size, asked: Ready, limits: Limits, streams: Sequence[str]) -> Seen:
    """Return what an endless window says of a claim, if a ratio grows there without end."""
    ready = without_kinds(asked)
    seen = seen_pairs(ready.chain, ready.chain.initial, limits)
    if seen.are_finite or endless_prefixes(seen).growth(limits) is None:
        return Seen(size, UNSEEN, lambda: None)
    outcome, _ = outcome_of(asked, limits)
    if streams:
        after = "each round" if size.n_rounds == 1 else f"{size.n_rounds} rounds"
        again = Beside(f"values of {', '.join(streams)} come again after {after}")
        outcome = replace(outcome, beside=(*outcome.beside, again))
    return Seen(size, outcome, lambda: Worst(None, size, ()))


def _end_of(work: Generator[object, None, Result]) -> Result:
    """Return what a generator returns, whatever it tells before."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return cast("Result", end.value)


def _at_single(
    check: ResolvedCheck, for_all: claims.ForAll, limits: Limits
) -> Generator[Outcome, None, Found]:
    """Return the outcome at the one value of a parameter that is asked, with what shows it.

    A window with the parameter is looked at, too: weights are such for all of its values.
    """
    value = for_all.single
    assert value is not None, "one is asked"
    outcome, shown = yield from outcomes_everywhere(asked_at(check, value), limits)
    assert isinstance(check.target, Mechanism), "only mechanisms have inputs"
    for smallest in _sizes(check.target, MAX_COSTLY_INPUTS)[:1]:
        _on_window(check, limits, smallest, check.claim)
    return of_one_value(outcome, value, for_all), shown


def decided_everywhere(
    check: ResolvedCheck, decide: Decide, limits: Limits
) -> Generator[Outcome, None, Outcome]:
    """Return the outcome of a claim, and tell bounds; raises `ClaimRejected` outside of the class.

    The smallest window is looked at in any case, if it is small: mistakes that runs meet, they
    meet there.
    """

    def at_value(value: Chosen) -> Outcome:
        return outcome_everywhere(asked_at(check, value), limits)[0]

    try:
        search = _Search(check, decide, at_value, limits)
        return (yield from search.outcome(check.claim))
    except Unreadable as found:
        raise ClaimRejected(found.mistake) from None


class _Search:
    """What is known so far: a bound from above, and from below the ε of the windows seen."""

    def __init__(
        self,
        check: ResolvedCheck,
        decide: Decide,
        at_value: Callable[[Chosen], Outcome],
        limits: Limits,
    ) -> None:
        mechanism, for_all = check.target, check.for_all
        assert isinstance(mechanism, Mechanism), "only mechanisms have inputs"
        self.mechanism, self.for_all, self.target = mechanism, for_all, check.target_text
        self.decide, self.at_value, self.limits = decide, at_value, limits
        self.proof = _proof(mechanism, limits)
        self.most, self.beside = self.proof.most, self.proof.beside
        self.low: Epsilon | None = Budget.of(0)
        self.is_stream = round_of(mechanism) is not None
        self.high: Epsilon | None = self.most
        self.worst: Worst | None = None
        self.shown = self.at = ""
        if for_all is not None:
            param, is_exponential = for_all.param, for_all.is_exponential
            value = param.exponent if is_exponential else param.stand_in
            self.at = f"at {for_all.param.name} = {exact_text(value)} "
            growth, root = (1, 0) if self.most is None else growth_of(self.most)
            self.high = log(growth) if root == 1 else None
        self.left_open: tuple[str, ...] = ("size",)

    def outcome(self, claim: claims.Claim) -> Generator[Outcome, None, Outcome]:
        """Return the outcome of a claim, and tell what is known after each step that tells more."""
        yield self.undecided()
        match claim:
            case claims.FormulaClaim():  # of a parameter for which another value was chosen
                return Outcome(Holds(), NOTHING)
            case claims.PrivacyClaim(epsilon=epsilon):
                return (yield from self.compared(claim, "<=", epsilon))
            case claims.QuantityClaim(comparison=comparison, bound=bound):
                claimed = None if bound is None else as_budget(bound)
                return (yield from self.compared(claim, comparison, claimed))
            case claims.QuantityValue():
                return (yield from self.value(claim))
            case _:
                raise AssertionError("other claims are refused when they are read")

    def compared(
        self, claim: claims.Claim, comparison: Comparison, epsilon: Budget | None
    ) -> Generator[Outcome, None, Outcome]:
        """Return whether ε compares so with a budget, with a parameter for all its values.

        An infinite budget is None. An equation has two halves; a window shows the lower one.
        """
        halves: tuple[Comparison, ...] = (comparison,)
        if comparison == "=":
            halves = (">=",) if epsilon is None else ("<=", ">=")
        elif comparison == "!=":
            halves = (">",)
        left = {half for half in halves if half in (">=", ">") or not self.is_below(half, epsilon)}
        if comparison == "!=" and self.is_below("<", epsilon):
            left = set()
        if not left:
            self.is_proved()
        for seen, is_larger in self.windows(_with_comparison(claim, halves[0])):
            if is_larger:
                yield self.undecided()
            for half in halves:
                outcome = seen.outcome
                if half != halves[0]:
                    outcome = self.decided(seen.size, _with_comparison(claim, half)).outcome
                if half in ("<=", "<") and isinstance(outcome.verdict, Violated):
                    assert half in left, "an alignment and a window contradict each other"
                    return self.violated_on_window(outcome, comparison, epsilon)
                if half in (">=", ">") and isinstance(outcome.verdict, Holds):
                    left.discard(half)
            if not left:
                has_window = comparison in (">=", ">") or epsilon is None
                return self.proved(Holds(), *([self.below] if has_window else []))
            if (refuted := self.refuted(claim, comparison, epsilon)) is not None:
                return refuted
        return self.undecided()

    def is_below(self, comparison: Comparison, epsilon: Budget | None) -> bool:
        """Return whether what is proved is below a budget, for all values of a parameter."""
        if self.most is None or epsilon is None or self.for_all is None:
            return holds(comparison, _sign(self.most, epsilon))
        if comparison == "<" and (self.for_all.param.has_low or self.for_all.param.has_high):
            return False  # e^ε is continuous, so that it may be equal there
        return where_false(self.most, comparison, epsilon, self.for_all, ())[1].is_empty

    def refuted(
        self, claim: claims.Claim, comparison: Comparison, epsilon: Budget | None
    ) -> Outcome | None:
        """Return that what is proved is too small for a claim, with a parameter for some values.

        For others the claim may be true, so that it fails for these at least.
        """
        if comparison in ("<=", "<") or not isinstance(claim, claims.QuantityClaim):
            return None
        least: Comparison = ">=" if comparison == "=" else comparison
        if self.for_all is not None:
            if self.most is None or comparison == "!=":
                return None
            budgets = self.most, least, epsilon
            line, region = where_false(*budgets, self.for_all, self.proof.weights)
            value = line.simplest(region, at_logarithms=self.for_all.at_logarithms)
            if value is None:
                return None
            are_all, where = self.is_below(OPPOSITE[least], epsilon), line.intervals(region)
            shown = where, value, line, self.for_all, self.at_value
            return violated_within(*shown, are_all=are_all)
        relation, is_wrong = "<=", not holds(least, _sign(self.most, epsilon))
        if comparison == "!=":
            relation, is_wrong = "=", _sign(self.low, self.most) == _sign(self.low, epsilon) == 0
        high = epsilon_amount(self.most)
        why = false_comparison("epsilon", claim, high, relation)
        return self.proved(Violated(why)) if is_wrong else None

    def violated_on_window(
        self, outcome: Outcome, comparison: Comparison, epsilon: Budget | None
    ) -> Outcome:
        """Return the outcome on a window, where that says for which values a claim fails.

        For others it may fail on wider windows, unless `epsilon <= b` is proved for them.
        """
        known = outcome.all_values
        if known is None or self.for_all is None:
            return outcome
        if self.most is None or comparison not in ("<=", "<"):
            return replace(outcome, all_values=known.some)
        false = self.most, comparison, epsilon, self.for_all
        line, region = where_false(*false, self.proof.weights)
        ends = closed_ends(self.for_all)  # of which `where_false` tells nothing of `<`
        if known.is_exact and (comparison == "<=" or not ends):
            n_inside = len(line.intervals(region))
            ends = [end for end in ends if len(with_ends(region, [end], line)) == n_inside]
            if with_ends(region, ends, line) == known.fails_for:
                return outcome
        proved = line.intervals(joined(and_, [self.for_all.asked(line), complement(region)]))
        return replace(outcome, all_values=replace(known.some, holds_for=tuple(proved)))

    def decided(self, size: Size, claim: claims.Claim) -> Seen:
        """Return what a window says of a claim; a size that is too much leaves it open."""
        if size.is_endless:
            return self.decided_repeating(size, claim)
        try:
            return self.decide(size, claim, self.limits)
        except LimitReached as limit:
            if limit.limit.kind not in self.left_open:
                raise
            return Seen(size, Outcome(Undecided(limit.limit), NOTHING), lambda: None)

    def decided_repeating(self, size: Size, claim: claims.Claim) -> Seen:
        """Return what an endless window says of a claim, if it is small and soon says it."""
        soon = process_time() + REPEATED_SECONDS
        few = min(self.limits.max_states, FEW_STATES)
        limits = replace(self.limits, max_states=few, cpu_deadline=soon)
        try:
            return self.decide(size, claim, limits)
        except (LimitReached, MistakesFound):
            self.limits.check_time("a window that repeats its rounds was looked at")
            return Seen(size, UNSEEN, lambda: None)

    def value(self, claim: claims.QuantityValue) -> Generator[Outcome, None, Outcome]:
        """Return ε, or what it lies between."""
        if self.for_all is not None:
            return (yield from self.value_for_all(claim, self.for_all))
        high = self.most
        for seen, is_larger in self.until_limit(self.windows(claim)):
            if is_larger:
                yield self.undecided()
            if _sign(self.low, high) == 0:
                value = Value(epsilon_amount(self.low), self.low)
                return self.proved(value, *(seen.outcome.beside if high is None else ()))
        assert self.low is not None, "else it was met"
        amount = epsilon_between(self.low, high)
        low, above = self.low, high
        exact = low if above is None else Enclosed(lambda _: low.ball(128).union(above.ball(128)))
        return self.proved(Value(amount, exact), self.below)

    def value_for_all(
        self, claim: claims.QuantityValue, for_all: claims.ForAll
    ) -> Generator[Outcome, None, Outcome]:
        """Return ε for all values of a parameter: what a window shows, and what is proved."""
        best = None
        for seen, is_larger in self.until_limit(self.windows(claim)):
            if is_larger:
                yield self.undecided()
            if self.low is None and not is_larger:
                break  # no window shows more
            if best is None or is_larger:
                best = seen.outcome.all_values
                shown = Beside(f"{_size_text(seen.size, self.mechanism)} at least")
        if best is None:
            return self.undecided()
        pieces = tuple(_piece_below(piece, self.most, for_all) for piece in best.pieces)
        known = replace(best, pieces=pieces)
        beside = shown, *self.beside
        return Outcome(value_of_pieces(known, "epsilon"), NOTHING, beside=beside, all_values=known)

    # --- what is known ---------------------------------------------------------------------

    def windows(self, claim: claims.Claim) -> Iterator[tuple[Seen, bool]]:
        """Yield what windows say, and whether they lose the most so far.

        Small ones come first, then those where the neighbors that lose most go on.
        """
        most = MAX_INPUTS_OF_STREAMS if self.is_stream else MAX_INPUTS
        is_costly = self.for_all is not None or self.mechanism.has_queries
        most = MAX_COSTLY_INPUTS if is_costly else most
        last, sizes = None, _sizes(self.mechanism, most)
        if self.for_all is not None:  # what has no bound fails for all values, not for some
            sizes.sort(key=lambda size: not size.is_endless)
        for size in sizes:
            if size.is_endless and self.most is not None:
                continue  # ε is finite
            seen = self.decided(size, claim)
            yield seen, self.loses_more(seen)
        while self.worst is not None and self.worst is not last and self.may_go_on(seen):
            last = self.worst
            seen = self.decided(longer(self.mechanism, last.size, last.pair), claim)
            yield seen, self.loses_more(seen)

    def until_limit(self, windows: Iterator[tuple[Seen, bool]]) -> Iterator[tuple[Seen, bool]]:
        """Yield what windows say until a limit is reached; raises it where nothing is known.

        A value lies between the bounds that are known then, wherever the search ends.
        """
        is_known, enough = self.most is not None, process_time() + NEARER_SECONDS
        try:
            for found in windows:
                is_known = True
                yield found
                if process_time() > enough:
                    return
        except LimitReached as limit:
            if not is_known or limit.limit.kind not in ("time", "run time", "states"):
                raise

    def may_go_on(self, seen: Seen) -> bool:
        """Return whether windows longer than one are looked at, that has its neighbors."""
        n_rounds, n_sequences = seen.size.n_rounds, seen.outcome.coverage.n_sequences
        enough = MAX_SEQUENCES if self.for_all is None else MAX_SEQUENCES_FOR_ALL
        is_small = n_sequences is not None and n_sequences <= enough
        is_small = is_small and seen.n_states <= MAX_STATES_GOING_ON
        most = MAX_ROUNDS if self.for_all is None else MAX_ROUNDS_FOR_ALL
        return self.is_stream and n_rounds < most and is_small and not seen.size.is_endless

    def loses_more(self, seen: Seen) -> bool:
        """Keep the ε of a window if it is the largest so far, at the stand-in of a parameter.

        Raises where a window loses more than the alignment proves: then one of them is wrong.
        """
        worst = seen.worst()
        lost: Epsilon | None = Budget.of(0) if worst is None else worst.epsilon
        if isinstance(seen.outcome.verdict, Value) and self.for_all is None:
            found = seen.outcome.verdict.exact
            assert found is None or isinstance(found, Budget | LogOf), "an ε is a logarithm"
            lost = found
        if self.high is not None and _sign(lost, self.high) > 0:
            raise AssertionError("an alignment and a window contradict each other")
        if _sign(lost, self.low) <= 0:
            return False
        self.low, self.shown = lost, self.at + _size_text(seen.size, self.mechanism)
        self.worst = worst
        return True

    def is_proved(self) -> None:
        """Look at small windows only from now on, whether there are mistakes."""
        few = min(self.limits.max_states, FEW_STATES)
        self.limits, self.left_open = replace(self.limits, max_states=few), ("size", "states")

    @property
    def below(self) -> Beside:
        """What a window shows."""
        return Beside(f"{self.shown} at least".lstrip(), epsilon_amount(self.low))

    def proved(self, verdict: Holds | Violated | Value, *beside: Beside) -> Outcome:
        """Return an outcome with the alignment beside it."""
        value = verdict.amount if isinstance(verdict, Value) else None
        return Outcome(verdict, NOTHING, (), value, (*beside, *self.beside))

    def undecided(self) -> Outcome:
        """Return that the claim lies between both bounds, with these."""
        parts: list[str | Amount] = []
        if self.shown:
            at_least = "it is at least " if self.low is not None else "it is "
            parts += [at_least, epsilon_amount(self.low), f" ({self.shown})"]
        if self.low is not None:  # else nothing bounds it
            parts += [", and "] if self.shown else []
            at_most = "at most " if self.shown else "it is at most "
            unbounded = [self.proof.unbounded]
            parts += unbounded if self.most is None else [at_most, amount_of(self.most)]
        why = "epsilon lies between what windows show and what is proved"
        if self.most is None:
            why = "no alignment bounds it, and finite windows show less"
        advised = advice(self.mechanism, self.target, self.most)
        limit = Limit("size", unit=why, advice=advised)
        return Outcome(Undecided(limit, Phrase.of(*parts)), NOTHING, beside=self.beside)


class _Proof(NamedTuple):
    """The bound of the cheapest alignment, and what it moves; or why there is no bound.

    `weights` are those of all units that draws have, with a parameter.
    """

    most: Budget | None
    beside: tuple[Beside, ...] = ()
    unbounded: str = ""
    weights: tuple[Number, ...] = ()


def proved_bound(mechanism: Mechanism, limits: Limits) -> Budget | None:
    """Return what alignments prove of ε for all inputs and rounds, None where none bounds it.

    Raises `LimitReached` where that is not known.
    """
    try:
        return _best_proof(mechanism, limits).most
    except Unreadable:
        return None


def _proof(mechanism: Mechanism, limits: Limits) -> _Proof:
    """Return what alignments prove, or which limit was reached."""
    try:
        return _best_proof(mechanism, limits)
    except LimitReached as limit:
        return _Proof(None, unbounded=f"no bound was found: {limit.limit.text}")


def _best_proof(mechanism: Mechanism, limits: Limits) -> _Proof:
    """Return what alignments prove."""
    cases = differences(mechanism)
    are_many = n_combinations(mechanism, cases) > MAX_COMBINATIONS
    for is_settled in (False, True) if are_many else (True,):
        alignment = aligned(arena(mechanism, cases, limits, is_settled=is_settled), limits)
        bound = bound_of(alignment, rates_of(alignment.arena.ratios))
        if bound is not None:
            break
    else:
        why = "no way to move the noise that is tried bounds it"
        if alignment.cost is None:
            why = ": ".join(filter(None, (why, obstacle_text(obstacle_of(alignment)))))
        return _Proof(None, unbounded=why)
    most = Beside("at most", amount_of(bound))
    weights = tuple(alignment.arena.drawing.table.weights.by_unit.values())
    return _Proof(bound, (most, *map(Beside, _shifts(alignment))), "", weights)


def _shifts(alignment: Alignment) -> Iterator[str]:
    """Yield by how much the noise of variables is moved, and where that depends."""
    found: dict[str, dict[str, list[int]]] = {}
    for step in alignment.steps():
        is_of_outcome = step.outcome in ("true", "false")
        where = f" where `{one_line(step.span.text)}` is {step.outcome}" if is_of_outcome else ""
        found.setdefault(step.name, {}).setdefault(where, []).append(step.moved)
    alike: dict[str, list[str]] = {}
    for name, places in found.items():
        texts = []
        for place, moved in sorted(places.items(), key=lambda pair: max(map(abs, pair[1]))):
            low, high = min(moved), max(moved)
            by = f"{high:+d}" if low == high else f"{low:+d} to {high:+d}"
            texts.append(f"{by}{place}")
        alike.setdefault(", ".join(texts), []).append(spoken(name))
    for text, names in sorted(alike.items(), key=lambda pair: pair[1]):
        yield f"noise of {', '.join(names)} {text}"


# --- windows -------------------------------------------------------------------------------


def _sizes(mechanism: Mechanism, most: int = MAX_INPUTS) -> list[Size]:
    """Return the windows to look at, by their number of inputs."""
    rounds = range(1, MAX_ROUNDS + 1) if round_of(mechanism) is not None else (1,)
    widths = {1: WIDTHS}  # where all inputs are alike nothing is lost: it shows mistakes
    far = max(
        (max(-low, high) for case in differences(mechanism) for _, low, high in case.ranges),
        default=1,
    )
    steps = (1,) if far <= 1 else (1, far)
    sizes = [
        Size(n, *ends, step) for n in rounds for ends in widths.get(n, WIDTHS[1:]) for step in steps
    ]
    if round_of(mechanism) is not None and forgets_noise(mechanism):
        has_streams = any(one.is_stream for one in mechanism.inputs)
        periods = range(1, MOST_REPEATED + 1) if has_streams else (1,)
        sizes += [Size(n, 0, 1, step, is_endless=True) for n in periods for step in steps]
    counts = {size: _n_inputs(mechanism, size) for size in sizes}
    few = [
        size for size in sizes if counts[size] <= most and (size.n_rounds == 1 or counts[size] > 1)
    ]
    # What a few rounds show is shown by them, not by rounds without end.
    order = {size: (counts[size], -size.step, size.n_rounds + 5 * size.is_endless) for size in few}
    return sorted(few, key=order.__getitem__) or sizes[:1]


def _n_inputs(mechanism: Mechanism, size: Size) -> int:
    integers = size.high - size.low + 1
    return prod(
        (integers if one.is_unbounded else one.domain.size)
        ** (size.n_rounds if one.is_stream else len(one.cells))
        for one in mechanism.inputs
    )


def _size_text(size: Size, mechanism: Mechanism) -> str:
    outputs = "" if round_of(mechanism) is None else f"in the first {size.n_rounds} outputs, "
    if size.is_endless:
        outputs = "in outputs without end, "
    return f"{outputs}on {value_text(size.integers)}"


def _cut_off(found: Counterexample, most: int | None) -> Counterexample:
    """Return a counterexample of a stream, whose runs go on after the first outputs."""
    runs = tuple(replace(run, shown=going_on(run.shown, most)) for run in found.runs)
    event = found.event
    if isinstance(event, tuple):
        event = tuple(going_on(each, most) for each in event)
    return replace(found, event=event, runs=runs)


def _worst(size: Size, ready: Ready, limits: Limits) -> Worst | None:
    """Return the neighbors of a window that lose most; None where all lose nothing."""
    seen = seen_pairs(ready.chain, ready.chain.initial, limits)
    evidence = complete_evidence(seen)
    gap = None if evidence is None else evidence.worst_ratio()
    if gap is None:
        return None
    lost = None if gap.q == 0 else log(divide(gap.p, gap.q))
    cells, table = ready.explored.inputs, ready.explored.table
    pair = tuple(
        tuple((cell, table.value(int(codes[one]))) for cell, codes in cells.items())
        for one in seen.states[gap.pair].tolist()
    )
    return Worst(lost, size, pair)


def _on_window(check: ResolvedCheck, limits: Limits, size: Size, claim: claims.Claim) -> Ready:
    """Return a claim about a window of the mechanism asked about, with its chain."""

    def on_window(own: ResolvedCheck) -> ResolvedCheck:
        assert isinstance(own.target, Mechanism), "it has inputs"
        part = own.claim
        if isinstance(part, claims.QuantityClaim) and isinstance(claim, claims.QuantityClaim):
            part = replace(part, comparison=claim.comparison)
        return replace(own, target=window(own.target, size), claim=part)

    def chosen(value: Chosen | Param) -> Resolved:
        assert check.chosen is not None, "a parameter can be chosen"
        resolved = check.chosen(value)
        return replace(resolved, checks=tuple(map(on_window, resolved.checks)))

    one = replace(on_window(check), claim=claim, chosen=chosen)
    try:
        return made_ready(one, Explorations(), limits)
    except MistakesFound as found:
        raise MistakesFound([_of_all_integers(mistake) for mistake in found.mistakes]) from None


def _of_all_integers(mistake: Mistake) -> Mistake:
    """Return a mistake of a window as one of the mechanism, whose noise has no bounds to advise."""
    if isinstance(mistake, ComputedWithUnbounded):
        return replace(mistake, is_everywhere=True)
    return mistake


# --- comparisons ---------------------------------------------------------------------------


def _sign(left: Epsilon | None, right: Epsilon | None) -> int:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right; None is infinite."""
    if left is None or right is None:
        return (left is None) - (right is None)
    return compare_epsilon(left, right)


def where_false(
    low: Budget,
    comparison: Comparison,
    high: Budget | None,
    for_all: claims.ForAll,
    weights: tuple[Number, ...],
) -> tuple[Line, Region]:
    """Return for which values that are asked a comparison of budgets is false; None is infinite.

    With e^(high - low) = F^(1/n) that is by the sign of F - 1, decided strictly inside of the
    interval. F is continuous, so that `<=` is true at closed ends as well where it is inside.
    On the line all weights are rational, too.
    """
    growth, _ = (0, 1) if high is None else growth_of(high - low)
    line = line_of(for_all.param, [growth, *weights], is_exponential=for_all.is_exponential)
    signs = [sign for sign in (-1, 0, 1) if not holds(comparison, -sign)]
    asked = for_all.asked(line)
    if high is None:
        return line, joined(and_, [asked, everywhere(1 in signs, line.low, line.high)])
    return line, joined(and_, [asked, line.where(subtract(growth, 1), signs)])


def _piece_below(piece: Piece, most: Budget | None, for_all: claims.ForAll) -> Piece:
    """Return what a window shows for some values of a parameter, with what is proved."""
    if most is None:
        return piece if piece.exact == "inf" else replace(piece, most="inf")
    growth, root = growth_of(most)
    line = line_of(for_all.param, [growth], is_exponential=for_all.is_exponential)
    if root == 1 and piece.exact == line.logarithm_text(*line.polynomials(growth)):
        return piece
    return replace(piece, most=amount_of(most).exact)


def _with_comparison(claim: claims.Claim, comparison: Comparison) -> claims.Claim:
    """Return the part of a claim that compares so."""
    if isinstance(claim, claims.QuantityClaim):
        return replace(claim, comparison=comparison)
    return claim
