"""Claims about all integers and endless streams: proved by an alignment, refuted by a window.

An alignment bounds ε from above for every input and every number of rounds; the ε of a window,
which is an ordinary mechanism, bounds it from below. What both say decides a claim, or is told.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache, partial
from typing import TypeVar, cast

from dpcheck.align.neighbors import Unreadable
from dpcheck.align.windows import Size, window
from dpcheck.check.all_values.piecewise import of_one_value
from dpcheck.check.decide import nothing_asked
from dpcheck.check.quantities.privacy import quantity_text, requirement_of
from dpcheck.check.quantities.seen_pairs import complete_evidence, endless_prefixes, seen_pairs
from dpcheck.check.values.event_text import going_on
from dpcheck.check.values.measures import ClaimRejected
from dpcheck.check.values.verdicts import (
    Amount,
    Beside,
    Counterexample,
    Outcome,
    Undecided,
    Violated,
)
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.structure import ComputedWithUnbounded
from dpcheck.exact import Param, divide, log
from dpcheck.explore import MistakesFound
from dpcheck.limits import Limits
from dpcheck.logic import claims
from dpcheck.model.program import Mechanism
from dpcheck.model.values import Value as Chosen
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.outcomes import Ready, asked_at, made_ready, outcome_of, without_kinds
from dpcheck.pipeline.claims.search import UNSEEN, Decide, Search, Seen, Worst
from dpcheck.pipeline.claims.window_sizes import smallest_size
from dpcheck.records import replace
from dpcheck.resolve import Resolved, ResolvedCheck

Result = TypeVar("Result")

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
    windows: list[Ready] = []
    assert isinstance(check.target, Mechanism), "only mechanisms have inputs"
    streams = [one.name for one in check.target.inputs if one.is_stream]

    def decide(size: Size, claim: claims.Claim, own: Limits) -> Seen:
        asked = on_window(check, own, size, claim)
        windows.append(asked)
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
        return Seen(size, outcome, worst, ready.explored.sizes.n_states, asked.vanishing)

    at_values: list[Found] = []

    def at_value(value: Chosen) -> Outcome:
        at_values.append(outcome_everywhere(asked_at(check, value), limits))
        return at_values[-1][0]

    outcome = yield from decided_everywhere(check, decide, at_value, limits)
    for found, ready in at_values:
        if found.verdict is outcome.verdict:
            return outcome, ready and replace(ready, whole=check, for_all=windows[-1])
    of_window = [ready for found, ready in shown if found.verdict is outcome.verdict]
    if not of_window or not isinstance(outcome.verdict, Violated):
        return outcome, None
    target = of_window[0].check.target
    assert isinstance(target, Mechanism), "it has inputs"
    cut_off = _cut_off(outcome.verdict.counterexample, target.n_rounds)
    verdict = Violated(of_all(cut_off, check.claim, outcome.value))
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
    on_window(check, limits, smallest_size(check.target), check.claim)
    return of_one_value(outcome, value, for_all), shown


def decided_everywhere(
    check: ResolvedCheck, decide: Decide, at_value: Callable[[Chosen], Outcome], limits: Limits
) -> Generator[Outcome, None, Outcome]:
    """Return the outcome of a claim, and tell bounds; raises `ClaimRejected` outside of the class.

    The smallest window is looked at in any case, if it is small: mistakes that runs meet, they
    meet there.
    """
    try:
        search = Search(check, decide, at_value, limits)
        if check.leaves_out is not None:
            return nothing_asked(check.kind, check.leaves_out)
        return (yield from search.outcome(check.claim))
    except Unreadable as found:
        raise ClaimRejected(found.mistake) from None


def _cut_off(found: Counterexample, most: int | None) -> Counterexample:
    """Return a counterexample of a stream, whose runs go on after the first outputs."""
    runs = tuple(replace(run, shown=going_on(run.shown, most)) for run in found.runs)
    event = found.event
    if isinstance(event, tuple):
        event = tuple(going_on(each, most) for each in event)
    return replace(found, event=event, runs=runs)


def of_all(found: Counterexample, claim: claims.Claim, value: Amount | None) -> Counterexample:
    """Return a counterexample on some inputs to a claim about all of them.

    A quantity that is claimed is at least what is lost here, and just that if its value is.
    """
    if not isinstance(claim, claims.QuantityClaim):
        return found
    assert found.sides is not None, "it compares"
    sides = replace(found.sides, comparison=claim.comparison)
    known = "inf" if value is None else value.exact
    relation = "=" if sides.left.exact == known else ">="
    said = requirement_of(quantity_text(claim.quantity), sides, relation)
    return replace(found, requirement=said, sides=sides)


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


def on_window(check: ResolvedCheck, limits: Limits, size: Size, claim: claims.Claim) -> Ready:
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
