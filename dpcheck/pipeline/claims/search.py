"""The search for ε on all integers and in endless streams, by which claims are decided.

An alignment bounds it from above, for all inputs and every number of rounds; windows, which are
ordinary mechanisms, bound it from below.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import cache
from operator import and_
from time import process_time
from typing import NamedTuple

from dpcheck.align.neighbors import differences
from dpcheck.align.windows import Row, Size, longer, round_of
from dpcheck.check.all_values.decide import (
    closed_ends,
    decided_inside,
    holding_everywhere,
    violated_within,
    with_ends,
)
from dpcheck.check.all_values.piecewise import of_one_value, value_of_pieces
from dpcheck.check.all_values.setting import zeros_of
from dpcheck.check.quantities.privacy import false_comparison
from dpcheck.check.values.amounts import enclosed_between, epsilon_amount, epsilon_between
from dpcheck.check.values.comparisons import as_budget, holds, order
from dpcheck.check.values.verdicts import (
    Amount,
    Beside,
    Comparison,
    Coverage,
    Holds,
    Outcome,
    Phrase,
    Piece,
    Undecided,
    Vacuity,
    Value,
    Violated,
)
from dpcheck.exact import Budget, Epsilon, LogOf, Number, exact_text, growth_of, log
from dpcheck.exact.line import simplest
from dpcheck.exact.reading import as_rational
from dpcheck.exact.roots import complement, joined
from dpcheck.explore import MistakesFound
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.logic import claims
from dpcheck.model.program import Mechanism
from dpcheck.model.values import Value as Chosen
from dpcheck.pipeline.claims.left_open import advice, amount_of
from dpcheck.pipeline.claims.proofs import proof_of, where_false
from dpcheck.pipeline.claims.window_sizes import may_be_longer, size_text, sizes_to_try
from dpcheck.records import replace
from dpcheck.resolve import ResolvedCheck

FEW_STATES = 2_000
"""So many states a window may have that is looked at for mistakes only: the claim is proved."""

NOTHING = Coverage(0)

UNSEEN = Outcome(Undecided(Limit("size", unit="no ratio grows without end")), NOTHING)
"""What a window says that does not soon tell, or an endless one that shows no infinite ε."""

SOON_SECONDS = 5.0
"""So long an endless window may take (fresh noise: a second), or one of many numbers."""

NEARER_SECONDS = 20.0
"""After so long bounds of a value are told; a round more halves what is left in twice the time."""

NEAR = 1e-10
"""Bounds of a value that differ by less of it are told: people read fewer digits."""


class Worst(NamedTuple):
    """The neighbors of a window that lose most, and how much; None is infinite."""

    epsilon: Epsilon | None
    size: Size
    pair: tuple[Row, ...]


class Seen(NamedTuple):
    """What a window of so many states says of a claim, and what its neighbors lose, if known.

    `vanishing` are its weights that are 0 for some value of a parameter.
    """

    size: Size
    outcome: Outcome
    worst: Callable[[], Worst | None]
    n_states: int = 0
    vanishing: tuple[Number, ...] = ()


Decide = Callable[[Size, claims.Claim, Limits], Seen]
"""Decides a claim about a window of the mechanism."""


class Search:
    """What is known so far: a bound from above, and from below the ε of the windows seen."""

    def __init__(
        self,
        check: ResolvedCheck,
        decide: Decide,
        at_value: Callable[[Chosen], Outcome],
        limits: Limits,
    ) -> None:
        """Look for a proof; `decide` and `at_value` say what windows and single values do."""
        mechanism, for_all = check.target, check.for_all
        assert isinstance(mechanism, Mechanism), "only mechanisms have inputs"
        self.mechanism, self.for_all, self.target = mechanism, for_all, check.target_text
        self.decide, self.at_value, self.limits = decide, cache(at_value), limits
        self.proof = proof_of(mechanism, limits)
        self.most, self.beside = self.proof.most, self.proof.beside
        self.vacuity = vacuity_of(mechanism)
        self.low: Epsilon | None = Budget.of(0)
        self.is_stream = round_of(mechanism) is not None
        self.high: Epsilon | None = self.most
        self.worst: Worst | None = None
        self.vanishing: tuple[Number, ...] = ()
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
        refuted = None
        for seen, is_larger in self.windows(_with_comparison(claim, halves[0])):
            if is_larger:
                yield refuted or self.undecided()
            if left and (known := self.known_for_all(comparison, epsilon)) is not None:
                return known
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
            if refuted is not None:  # no more values are known from one more window
                return refuted
            refuted = self.refuted(claim, comparison, epsilon)
            if refuted is not None and self.for_all is None:
                return refuted
        return refuted or self.undecided()

    def is_below(self, comparison: Comparison, epsilon: Budget | None) -> bool:
        """Return whether what is proved is below a budget, for all values of a parameter."""
        if self.most is None or epsilon is None or self.for_all is None:
            return holds(comparison, order(self.most, epsilon))
        if comparison == "<" and closed_ends(self.for_all):
            return False  # e^ε is continuous, so that it may be equal there
        return self.is_below_inside(comparison, epsilon)

    def is_below_inside(self, comparison: Comparison, epsilon: Budget | None) -> bool:
        """Return whether it is, for all values but for closed ends that are asked by themselves."""
        assert self.most is not None, "something is proved"
        assert self.for_all is not None, "there is a parameter"
        return where_false(self.most, comparison, epsilon, self.for_all, ())[1].is_empty

    def known_for_all(self, comparison: Comparison, epsilon: Budget | None) -> Outcome | None:
        """Return the outcome for all values of a parameter, if inside ε compares as what is proved.

        That is ε where a window loses as much; and what is below a budget compares with it alike.
        Where weights of the window are 0 it may lose less.
        """
        if self.for_all is None or self.most is None:
            return None
        below: Comparison = "<=" if comparison in ("<=", ">") else "<"
        if not self.is_met() and not self.is_below_inside(below, epsilon):
            return None
        compared = self.most, comparison, epsilon, self.for_all
        line, failing = where_false(*compared, (*self.proof.weights, *self.vanishing))
        zeros = zeros_of(self.vanishing, self.for_all, line)
        known = decided_inside(failing, zeros, line, self.for_all, self.at_value)
        if known is None or not isinstance(known.verdict, Holds):
            return known and replace(known, vacuity=self.vacuity)
        return self.proved(Holds(), *([self.below] if self.is_met() else []))

    def is_met(self) -> bool:
        """Return whether a window loses what is proved, with a parameter for all of its values.

        Its stand-in is transcendental: two ratios that are equal there are one.
        """
        return self.high is not None and order(self.low, self.high) == 0

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
            shown = line.intervals(region), value, line, self.for_all, self.at_value
            found = violated_within(*shown)
            return found and replace(found, vacuity=self.vacuity)
        relation, is_wrong = "<=", not holds(least, order(self.most, epsilon))
        if comparison == "!=":
            relation, is_wrong = "=", order(self.low, self.most) == order(self.low, epsilon) == 0
        high = epsilon_amount(self.most)
        why = false_comparison("epsilon", claim, high, relation)
        return self.proved(Violated(why)) if is_wrong else None

    def violated_on_window(
        self, outcome: Outcome, comparison: Comparison, epsilon: Budget | None
    ) -> Outcome:
        """Return the outcome on a window, where that says for which values a claim fails.

        For others it may fail on wider windows, unless `epsilon <= b` is proved for them. The ε of
        the window is that of all inputs where no more is proved.
        """
        if outcome.value is not None:
            is_known = self.for_all is None and order(self.low, self.most) == 0
            outcome = replace(outcome, value=epsilon_amount(self.low) if is_known else None)
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
        if size.is_endless or (size.only and not self.is_stream):
            return self.decided_soon(size, claim)
        try:
            return self.decide(size, claim, self.limits)
        except LimitReached as limit:
            if limit.limit.kind not in self.left_open:
                raise
            return Seen(size, Outcome(Undecided(limit.limit), NOTHING), lambda: None)

    def decided_soon(self, size: Size, claim: claims.Claim) -> Seen:
        """Return what an endless window, or one of many numbers, says of a claim, if it soon does.

        An endless one is small, too. Of many numbers there may be any number of outputs.
        """
        soon = process_time() + SOON_SECONDS
        few = min(self.limits.max_states, FEW_STATES)
        most = few if size.is_endless else self.limits.max_states
        try:
            return self.decide(
                size, claim, replace(self.limits, max_states=most, cpu_deadline=soon)
            )
        except LimitReached:
            self.limits.check_time("a window was looked at")
        except MistakesFound:
            if not size.is_endless:
                raise
        return Seen(size, UNSEEN, lambda: None)

    def value(self, claim: claims.QuantityValue) -> Generator[Outcome, None, Outcome]:
        """Return ε, or what it lies between."""
        if self.for_all is not None:
            return (yield from self.value_for_all(claim, self.for_all))
        high = self.most
        for seen, is_larger in self.until_limit(self.windows(claim)):
            if is_larger:
                yield self.undecided()
            if order(self.low, high) == 0:
                value = Value(epsilon_amount(self.low), self.low)
                return self.proved(value, *(seen.outcome.beside if high is None else ()))
            if self.low is not None and high is not None and _are_near(self.low, high):
                break
        assert self.low is not None, "else it was met"
        value = Value(epsilon_between(self.low, high), enclosed_between(self.low, high))
        return self.proved(value, self.below)

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
                shown = Beside(f"{size_text(seen.size, self.mechanism)} at least")
        if best is None:
            return self.undecided()
        pieces = tuple(self.piece(piece, for_all) for piece in best.pieces)
        known = replace(best, pieces=pieces)
        beside = shown, *self.beside
        value = value_of_pieces(known, "epsilon")
        return Outcome(value, NOTHING, self.vacuity, beside=beside, all_values=known)

    def piece(self, shown: Piece, for_all: claims.ForAll) -> Piece:
        """Return what a window shows for some values, with what is proved; one is asked alone."""
        found, end = _piece_below(shown, self.most, for_all), shown.interval.low
        value = None if end.exact is None else as_rational(end.exact)
        if found.most is None or end != shown.interval.high or value is None:
            return found
        at = simplest([value])
        assert at is not None, "it is of one value"
        alone = of_one_value(self.at_value(at), at, for_all).all_values
        return alone.pieces[0] if alone is not None and alone.pieces else found

    # --- what is known ---------------------------------------------------------------------

    def windows(self, claim: claims.Claim) -> Iterator[tuple[Seen, bool]]:
        """Yield what windows say, and whether they lose the most so far.

        Small ones come first, then those where the neighbors that lose most go on.
        """
        last, is_for_all = None, self.for_all is not None
        for size in sizes_to_try(self.mechanism, is_for_all=is_for_all):
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
        n_sequences, is_for_all = seen.outcome.coverage.n_sequences, self.for_all is not None
        return self.is_stream and may_be_longer(
            seen.size, n_sequences, seen.n_states, is_for_all=is_for_all
        )

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
        if self.high is not None and order(lost, self.high) > 0:
            raise AssertionError("an alignment and a window contradict each other")
        if order(lost, self.low) <= 0:
            return False
        self.low, self.shown = lost, self.at + size_text(seen.size, self.mechanism)
        self.worst, self.vanishing = worst, seen.vanishing
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
        """Return an outcome with the alignment beside it, and for which values a claim holds."""
        value = verdict.amount if isinstance(verdict, Value) else None
        known = None
        if self.for_all is not None and isinstance(verdict, Holds):
            known = holding_everywhere(self.for_all)
        return Outcome(verdict, NOTHING, self.vacuity, value, (*beside, *self.beside), known)

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


def vacuity_of(mechanism: Mechanism) -> tuple[Vacuity, ...]:
    """Return that a claim says nothing where no two inputs are neighbors."""
    if not all(case.are_empty for case in differences(mechanism)):
        return ()
    from dpcheck.check.formulas.vacuity import NO_NEIGHBORS

    return (NO_NEIGHBORS,)


def _piece_below(piece: Piece, most: Budget | None, for_all: claims.ForAll) -> Piece:
    """Return what a window shows for some values of a parameter, with what is proved."""
    if most is None:
        return piece if piece.exact == "inf" else replace(piece, most="inf")
    growth, root = growth_of(most)
    line = for_all.line([growth])
    if root == 1 and piece.exact == line.logarithm_text(*line.polynomials(growth)):
        return piece
    return replace(piece, most=amount_of(most).exact)


def _are_near(low: Epsilon, high: Epsilon) -> bool:
    """Return whether more windows would add digits only that nobody reads."""
    below, above = float(epsilon_amount(low)), float(epsilon_amount(high))
    return above - below < NEAR * above


def _with_comparison(claim: claims.Claim, comparison: Comparison) -> claims.Claim:
    """Return the part of a claim that compares so."""
    if isinstance(claim, claims.QuantityClaim):
        return replace(claim, comparison=comparison)
    return claim
