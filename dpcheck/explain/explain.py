"""A violated claim, explained: which parts its kind has, each within what is left of the time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from dpcheck.chain.chain import Chain
from dpcheck.check.arrangements import at_distance
from dpcheck.check.decide import decide
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.quantities.privacy import quantity_text
from dpcheck.check.values import verdicts
from dpcheck.check.values.comparisons import as_number
from dpcheck.exact import Budget, Number
from dpcheck.explain.compositions import explain_composition
from dpcheck.explain.event_claims import ONE_SIDED, asked_tight, explain_event_claim, found_against
from dpcheck.explain.explanation import (
    Explanation,
    NeighborKind,
    Neighbors,
    Remark,
    TracedRun,
    as_found,
)
from dpcheck.explain.formulas import explain_compared, explain_expectation, explain_formula
from dpcheck.explain.inputs import differences, named_states
from dpcheck.explain.quantities import explain_error, explain_guesses, explain_losses
from dpcheck.explain.runs.deciding_runs import decided
from dpcheck.explain.runs.traced_run import first_traced
from dpcheck.explain.subject import Subject
from dpcheck.limits import Limits
from dpcheck.logic import claims
from dpcheck.model.program import Mechanism, Sample, Target
from dpcheck.records import replace

SECONDS = 2
"""What an explanation may take of the processor: a reader waits that long without wondering."""

MAX_STATES = 200_000
"""Bounds chains that are made to explain, far below those that decide."""


def short_limits(limits: Limits) -> Limits:
    """Return the limits of explaining a claim: tighter ones than those of the claim."""
    end, most = time.process_time() + SECONDS, min(limits.max_states, MAX_STATES)
    return replace(limits, max_states=most, cpu_deadline=end)


def explain(subject: Subject, outcome: verdicts.Outcome) -> Explanation | None:
    """Return why a claim is violated, at least what the counterexample says; else None."""
    if not isinstance(outcome.verdict, verdicts.Violated):
        return None
    example, claim = outcome.verdict.counterexample, subject.claim
    made = subject.part("explanation", lambda: _explained(subject, example))
    made = found_against(claim, example) if made is None else made
    if example.beyond is not None:
        made = replace(made, remarks=(*made.remarks, Remark("limit", example.beyond.text)))
    if (pair := made.neighbors) is not None:  # the run first: bounds about all inputs take longer
        made = _with_run(subject, made, pair)
        differing = pair.differences or differences(subject.explored, pair)
        kind: NeighborKind = "secrets" if _are_secrets(subject.target) else "neighbors"
        made = replace(made, neighbors=replace(pair, differences=differing, kind=kind))
    if subject.is_partial and isinstance(claim, claims.PrivacyClaim):
        epsilon, delta = claim.epsilon, claim.delta
        # Where one side cannot show an event, p > δ from the other exceeds e^ε · 0 + δ for every ε.
        failing = made.inequality
        is_one_sided = failing is not None and failing.q is not None and failing.q.exact == "0"
        reason = ONE_SIDED * is_one_sided
        shown = None if made.tight is None else made.tight.epsilon
        tight = subject.part("tight", lambda: asked_tight(subject, epsilon, delta, reason, shown))
        made = replace(made, tight=tight)
    elif subject.is_window:
        made = replace(made, tight=None)  # it is that of the inputs looked at
    if subject.detail != "full":
        made = made.in_short
    if subject.detail == "none":
        made = replace(made, tight=None)
    left_out = tuple(dict.fromkeys(subject.omitted))
    return replace(made, omitted=left_out, faulty=tuple(subject.faults))


def _with_run(subject: Subject, made: Explanation, pair: Neighbors) -> Explanation:
    """Return an explanation with the run of the first outputs that are named, if it has no run."""
    ends = named_states(subject.explored.chain, (pair.left, pair.right))
    if made.all_runs or "run" in subject.omitted or min(ends) < 0:
        return made
    event = made.event if isinstance(made.event, tuple) else ()
    named = [part for remark in made.remarks for part in remark.text.parts]
    first = [part for part in named if isinstance(part, verdicts.OutputSequence)][:1]

    def told() -> TracedRun | None:
        shown = *event, *first, *decided(subject, made.runs, ends)
        return first_traced(subject, shown, ends)

    run = subject.part("run", told)
    if run is not None and len(event) == 1:
        run = replace(run, shown=None)  # which is told already
    return replace(made, run=run)


def _are_secrets(target: Target) -> bool:
    """Return whether data are drawn, so that inputs are secrets."""
    nodes = target.nodes if isinstance(target, Mechanism) else ()
    return any(isinstance(node, Sample) and node.is_prior for node in nodes)


def _explained(subject: Subject, example: verdicts.Counterexample) -> Explanation | None:
    """Return why a claim is violated, by what its target is."""
    if subject.explored.tells_kinds and not isinstance(subject.claim, claims.FormulaClaim):
        # Kinds of numbers are no outputs; formulas tell none of them apart.
        return found_against(subject.claim, example)
    if subject.parts:
        return _explain_arranged(subject, example)
    return _explain_one(subject, example)


def _explain_one(subject: Subject, example: verdicts.Counterexample) -> Explanation | None:
    """Return why a claim about one target is violated."""
    match subject.claim:
        case (
            claims.PrivacyClaim()
            | claims.QuantityClaim(quantity=claims.TightEpsilon() | claims.TightDelta())
        ):
            return explain_event_claim(subject, example)
        case claims.FormulaClaim():
            return explain_formula(subject, example)
        case claims.ExpectationClaim() as claim:
            return explain_expectation(subject, claim)
        case claims.QuantityClaim(quantity=claims.LossQuantity() as quantity):
            return explain_losses(subject, quantity, example)
        case claims.QuantityClaim(quantity=claims.ChannelQuantity(word=word)):
            return explain_guesses(subject, word)
        case claims.QuantityClaim(quantity=claims.LeastError() as quantity, bound=bound):
            most = None if bound is None else as_number(bound)
            return explain_error(subject, quantity, most, example)
        case (
            claims.QuantityClaim(quantity=claims.PathProbability() | claims.Expectation()) as claim
        ):
            return explain_compared(subject, claim)
        case claims.QuantityComparison() as claim:
            return replace(as_found(example), remarks=tuple(_sides(subject, claim)))
        case _:
            return None


def _sides(subject: Subject, claim: claims.QuantityComparison) -> Iterator[Remark]:
    """Yield by which inputs and outputs the quantities are attained that are compared."""
    ask = partial(decide, subject.chain, at=subject.at, limits=subject.limits)
    for quantity in (claim.left, claim.right):
        known = ask(claims.QuantityValue(quantity, claim.span), measures=subject.measures).verdict
        if not isinstance(known, verdicts.Value) or not isinstance(
            known.exact, Budget | Number | None
        ):
            continue
        other = claims.QuantityClaim(quantity, "!=", known.exact, claim.span)
        verdict = ask(other, measures=subject.measures).verdict
        assert isinstance(verdict, verdicts.Violated), "a value equals itself"
        example, one = verdict.counterexample, replace(subject, claim=other)
        made = _explain_one(one, example) or as_found(example)
        pair = made.neighbors
        run = made.run if pair is None else _with_run(one, made, pair).run
        text = f"{quantity_text(quantity)}: {' against '.join(example.states)}"
        yield Remark("attained", verdicts.Phrase.of(text), run)
        yield from made.remarks if example.probabilities or pair else ()


def _explain_arranged(subject: Subject, example: verdicts.Counterexample) -> Explanation | None:
    """Return why a claim about an arrangement is violated: one of one run is about its chain."""
    (alone, distance, times), *more = subject.parts
    if times == 1 and not more:
        chain = alone.chain
        grouped = at_distance(chain, distance, subject.limits)
        truths = Truths(grouped, subject.limits)  # of the neighbors of a group
        made = _explain_one(replace(alone, chain=grouped, truths=truths), example)
        if made is None or made.neighbors is None or distance == 1:
            return made
        between = subject.part("between", lambda: _between(chain, made.neighbors))
        return replace(made, neighbors=replace(made.neighbors, between=between or ()))
    match subject.claim:
        case (
            claims.PrivacyClaim()
            | claims.QuantityClaim(quantity=claims.TightEpsilon() | claims.TightDelta()) as claim
        ):
            return explain_composition(subject, claim, example)
        case _:
            return None


def _between(chain: Chain, pair: Neighbors | None) -> tuple[str, ...]:
    """Return the inputs on a shortest way between the two of a pair, each one's neighbor next."""
    from networkx import shortest_path

    assert pair is not None, "a group's pair is shown"
    ends = named_states(chain, (pair.left, pair.right))
    way = [] if min(ends) < 0 else shortest_path(chain.neighbors.to_networkx(), *ends)
    return tuple(map(chain.state_text, way[1:-1]))
