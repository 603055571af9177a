"""Violated claims about output sequences: dp(ε, δ), and an ε or δ that is larger than claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np

from dpcheck.certify.evidence import Shown, certify_event, certify_violation
from dpcheck.chain.chain import IntArray
from dpcheck.check.evidence.sequences import ENDS
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities.event_claims import evidence_against
from dpcheck.check.quantities.privacy import EventClaim, budget_of
from dpcheck.check.quantities.seen_pairs import SeenPairs, complete_evidence
from dpcheck.check.quantities.tight import Evidence, tight_delta, tight_epsilon
from dpcheck.check.values.amounts import (
    epsilon_between,
    growth_amount,
    number_amount,
    quantity_amount,
    ratio_amount,
)
from dpcheck.check.values.comparisons import inequality, inequality_sides
from dpcheck.check.values.event_text import GOES_ON, STOPPED
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.check.values.verdicts import Amount, Counterexample, Enough, Phrase, PhrasePart
from dpcheck.exact import Budget, Number, compare, exact_text, excess, subtract
from dpcheck.exact.reading import as_budget, compare_texts
from dpcheck.explain import minimal
from dpcheck.explain.attacker import attacker
from dpcheck.explain.explanation import (
    Explanation,
    Inequality,
    Others,
    Remark,
    Tight,
    TracedRun,
    as_found,
)
from dpcheck.explain.inputs import InputCells, input_cells
from dpcheck.explain.pairs import ShownPair
from dpcheck.explain.rules import rules_of
from dpcheck.explain.runs.attribution import by_input, by_output
from dpcheck.explain.runs.traced_run import traced_run
from dpcheck.explain.subject import Subject
from dpcheck.logic import claims
from dpcheck.records import replace

ONE_SIDED = "outputs possible on one side only"
"""Why ε is infinite where the outputs of runs are finitely many."""
IN_THE_LONG_RUN = "outputs tell both sides apart in the long run"
"""Why it is where they go on without end."""
_LISTED = 4
"""Sequences of the worst pair that are listed where no rule says which they are."""


def explain_event_claim(subject: Subject, example: Counterexample) -> Explanation | None:
    """Return why a claim about output sequences is violated.

    What is tight comes first: where there is no time for all, it says most.
    """
    claim = subject.claim
    assert isinstance(claim, EventClaim), "others are explained elsewhere"
    seen, evidence = evidence_against(claim, subject.chain, subject.selected, subject.limits)
    budget, n_outputs = budget_of(claim), subject.n_outputs
    if n_outputs is not None and isinstance(evidence, TableEvidence):
        evidence = _cut_off(evidence, n_outputs)
    told = None
    if isinstance(claim, claims.PrivacyClaim):
        asked, early = (claim.epsilon, claim.delta), subject.early
        told = early.part(
            "tight", lambda: _tight(early, replace(seen, limits=early.limits), evidence, *asked)
        )
    made = None
    # A δ below 0 is exceeded by what is impossible, which no sequence shows.
    is_shown = budget is not None and budget[0].sign() >= 0 and compare(budget[1], 0) >= 0
    if budget is not None and is_shown and isinstance(evidence, TableEvidence):
        table = evidence
        made = subject.part("explanation", lambda: _of_pairs(subject, seen, table, budget))
    if made is None:
        made = _from_counterexample(subject, example)
    if told is not None:
        made = replace(made, tight=told(_one_sided(made.run)))
    if made.event:
        return replace(made, remarks=_why_infinite(claim, example, _one_sided(made.run)))
    return replace(made, remarks=_why_zero(claim, subject.value) if len(seen.pairs) else ())


def _of_pairs(
    subject: Subject, seen: SeenPairs, evidence: TableEvidence, budget: tuple[Budget, Number]
) -> Explanation | None:
    """Return why the smallest pair violates a budget; None if none that was compared does."""
    found = minimal.violations(evidence, *budget, subject.limits)
    return _of_smallest_pair(subject, seen, found, budget) if found.n_violating else None


def _cut_off(evidence: TableEvidence, n_outputs: int) -> TableEvidence:
    """Return the evidence about the first outputs of endless runs, which go on after so many."""
    table = evidence.rows.table
    is_cut = (np.array(_lengths(evidence)) == n_outputs) & (table.end == STOPPED)
    cut = replace(table, end=np.where(is_cut, GOES_ON, table.end))
    return replace(evidence, rows=replace(evidence.rows, table=cut))


def _lengths(evidence: TableEvidence) -> list[int]:
    """Return how many outputs each sequence has, [n_sequences]."""
    table = evidence.rows.table
    return [len(table.outputs(k)) for k in range(table.n_sequences)]


def _of_smallest_pair(
    subject: Subject, seen: SeenPairs, found: minimal.Violations, budget: tuple[Budget, Number]
) -> Explanation:
    """Return why the smallest pair violates a budget: what says most comes first."""
    cells = input_cells(subject.explored)
    shown = _shown_pair(seen, found, cells, subject)
    certify_violation(shown.event.p, shown.event.q, *budget)
    attributed = _attributed(shown, cells, subject, budget[0])
    rules = partial(rules_of, found, shown.gap, cells, subject.limits)
    return Explanation(
        neighbors=cells.neighbors(shown.left, shown.right),
        event=shown.sequences,
        inequality=inequality_of(shown.event.p, shown.event.q, *budget),
        rule=subject.part("rule", lambda: rules().simplest(is_single=len(shown.sequences) == 1)),
        others=subject.part("others", lambda: _others(shown, cells, subject)),
        attacker=subject.part("attacker", lambda: attacker(shown, subject)),
        **attributed,
    )


def _why_infinite(claim: claims.Claim, example: Counterexample, reason: str) -> tuple[Remark, ...]:
    """Return why an ε that is compared is infinite, if it is: an impossible event shows it."""
    is_epsilon = isinstance(claim, claims.QuantityClaim) and isinstance(
        claim.quantity, claims.TightEpsilon
    )
    if not is_epsilon or example.ratio is None or example.ratio.exact != "inf":
        return ()
    return (Remark("infinite", Phrase.of(reason)),)


def _why_zero(claim: claims.Claim, value: Amount | None) -> tuple[Remark, ...]:
    """Return what an ε or a δ that is 0 says of all events: there is none to be shown."""
    if not isinstance(claim, claims.QuantityClaim) or value is None or value.exact != "0":
        return ()
    told: tuple[PhrasePart, ...] = (
        "every set of outputs is equally likely on both sides of every pair",
    )
    on = " on one side of a pair than on the other"
    match claim.quantity:
        case claims.TightDelta(epsilon=epsilon) if epsilon.sign() != 0:
            lead = "no set of outputs is more than "
            told = lead, growth_amount(epsilon), " times as likely", on.replace("than", "as")
        case claims.TightEpsilon(delta=delta) if delta != 0:
            told = "no set of outputs is more likely", on, " by more than ", number_amount(delta)
        case _:
            pass
    return (Remark("no event", Phrase.of(*told)),)


def _one_sided(run: TracedRun | None) -> str:
    """Return why an ε is infinite."""
    cut = f": the noise is cut at {run.cut}" if run is not None and run.cut else ""
    return f"{ONE_SIDED}{cut}"


def _attributed(
    shown: ShownPair, cells: InputCells, subject: Subject, epsilon: Budget
) -> dict[str, Any]:
    """Return where the ratio comes from; a run that is all of the output says it alone."""
    limits = subject.limits
    sequence, pair = shown.sequences[0], (shown.left, shown.right)
    run = subject.part("run", lambda: traced_run(subject, sequence, pair, epsilon))
    if run is not None and run.share.exact == "1" and not run.elsewhere:
        return {"run": run}
    least = 2 if run is not None else 1
    steps = subject.part("by_output", lambda: by_output(shown, cells, run, limits)) or ()
    changes = subject.part("by_input", lambda: by_input(shown, cells)) or ()
    is_telling = sum(step.factor.exact != "1" for step in steps) >= least
    return {"run": run, "by_output": steps if is_telling else (), "by_input": changes}


def inequality_of(p: Number, q: Number, epsilon: Budget, delta: Number) -> Inequality:
    """Return p <= e^ε q + δ with the numbers filled in."""
    return Inequality(
        number_amount(p),
        number_amount(q),
        ratio_amount(p, q),
        growth_amount(epsilon),
        number_amount(delta),
        inequality(p, q, epsilon, delta),
        inequality_sides(p, q, epsilon, delta),
    )


def _shown_pair(
    seen: SeenPairs, found: minimal.Violations, cells: InputCells, subject: Subject
) -> ShownPair:
    """Return the smallest pair with its smallest event, both probabilities checked again."""
    limits = subject.limits
    gap = minimal.smallest_pair(found, cells, seen.states, limits)
    event = minimal.smallest_event(found, gap, limits)
    (left, right), sources = _ends(seen.states, gap), _ends(seen.sources[seen.pairs], gap)
    table = found.evidence.rows.table

    def sequences() -> Iterator[Shown]:
        for n, k in enumerate(event.sequences):
            limits.check_time(f"{n} of {len(event.sequences)} sequences checked again")
            yield table.outputs(k), ENDS[int(table.end[k])]

    for source, probability in zip(sources, (event.p, event.q), strict=True):
        certify_event(seen.chain, source, sequences(), probability)
    return ShownPair(seen, found, gap, event, left, right, sources)


def _ends(pairs: IntArray, gap: EventGap) -> tuple[int, int]:
    """Return the states of a gap's pair of pairs [n_pairs, 2], the likelier first."""
    first, second = pairs[gap.pair].tolist()
    return (first, second) if gap.is_forward else (second, first)


def _tight(
    subject: Subject, seen: SeenPairs, against: Evidence, epsilon: Budget, delta: Number
) -> Callable[[str], Tight | None]:
    """Return what tells the least ε at the claim's δ and the least δ at ε, and why ε is infinite.

    Where there is no evidence about all outputs, that against the claim bounds both from below: δ
    where it lists the first outputs, since the likeliest event of all is far from a single one.
    """
    complete = complete_evidence(seen)
    evidence = against if complete is None else complete
    least_epsilon = quantity_amount(tight_epsilon(evidence, delta).value)
    least_delta: Amount | None = quantity_amount(tight_delta(evidence, epsilon).value)
    # A ratio that grows with every turn of a cycle is no event of one side alone.
    is_shown = least_epsilon.exact == "inf"
    in_the_long_run = IN_THE_LONG_RUN if evidence.tells_in_the_long_run else ""
    more, is_known = "", complete is not None
    if complete is None and isinstance(against, TableEvidence):
        n = max(_lengths(against))
        outputs = "output" if n == 1 else f"{n} outputs"
        more = f" (seen in the first {outputs}; more may need more)"
    elif complete is None:
        least_delta = None
    known = is_known, is_known
    if not is_known and delta == 0 and subject.value is not None:
        least_epsilon, known = subject.value, (True, False)
    least = least_epsilon, least_delta

    def told(reason: str) -> Tight | None:
        why = (in_the_long_run or reason) if is_shown else ""
        return _told((epsilon, delta), least, why, known, more)

    return told


def asked_tight(
    subject: Subject,
    epsilon: Budget,
    delta: Number,
    reason: str = "",
    shown: Amount | None = None,
) -> Tight | None:
    """Return the least ε at the claim's δ, and the least δ at its ε, as far as they are known.

    An infinite ε has a reason, if that is known. `shown` is that of the inputs looked at.
    """
    span = subject.claim.span
    least_epsilon = subject.ask(claims.QuantityValue(claims.TightEpsilon(delta, span), span))
    least_epsilon = _at_least(least_epsilon, shown)
    least_delta = None
    if not subject.is_window:
        least_delta = subject.ask(claims.QuantityValue(claims.TightDelta(epsilon, span), span))
    return _told((epsilon, delta), (least_epsilon, least_delta), reason)


def _at_least(known: Amount | None, shown: Amount | None) -> Amount | None:
    """Return what is known of an ε, not less than the shown one, where nothing bounds it above.

    >>> known = epsilon_between(Budget.of(2), None)
    >>> [_at_least(known, Amount(text, text)).ends[0] for text in ("7/2", "1", "inf")]
    ['7/2', '2', '2']
    """
    least = None if shown is None else as_budget(shown.exact)
    if known is None or least is None or known.ends[1] != "inf" or known.ends[0] == "inf":
        return known
    is_more = compare_texts(exact_text(least), known.ends[0]) > 0
    return epsilon_between(least, None) if is_more else known


def _told(
    budget: tuple[Budget, Number],
    least: tuple[Amount | None, Amount | None],
    reason: str,
    known: tuple[bool, bool] = (True, True),
    more: str = "",
) -> Tight | None:
    """Return the least ε and δ, as far as there are any, or that they are not less: not `known`."""
    epsilon, delta = (exact_text(each) for each in budget)
    names = "epsilon" if delta == "0" else f"epsilon({delta})", f"delta({epsilon})"
    parts: list[PhrasePart] = []
    for name, amount, is_known in zip(names, least, known, strict=True):
        if amount is not None:
            is_bounded = amount.enclosure is None or amount.enclosure[1] != "inf"
            side: Literal["<=", ">="] = "<=" if is_known and is_bounded else ">="
            parts += ["; " * bool(parts), Enough(amount, side, name, name.startswith("delta"))]
            parts += [f", {reason}"] if reason and amount.exact == "inf" else []
            parts += [] if is_bounded else [" (no upper bound is known)"]
    return Tight(Phrase.of(*parts, more), *least) if parts else None


def _others(shown: ShownPair, cells: InputCells, subject: Subject) -> Others:
    """Return how many pairs violate the claim, and the worst of all with its optimal event."""
    found, seen, limits = shown.found, shown.seen, subject.limits
    # Of outputs that go on, longer sequences may violate the claim for more pairs.
    is_complete = found.is_complete and found.evidence.rows.table.is_complete
    counts = found.n_violating, len(seen.pairs), is_complete and not subject.is_partial
    if not counts[-1]:
        return Others(*counts, is_window=subject.is_window)
    gap = minimal.worst_pair(found, seen.states)
    over = number_amount(excess(subtract(gap.p, found.delta), gap.q, found.factor.epsilon))
    worst = _ends(seen.states, gap)
    event = minimal.largest_gaps(found, gap, limits)
    if worst == (shown.left, shown.right) and set(event) == set(shown.event.sequences):
        return Others(*counts, over)
    rule = None if len(event) == 1 else rules_of(found, gap, cells, limits).optimal()
    return Others(
        *counts,
        over,
        cells.neighbors(*worst),
        rule,
        tuple(map(found.evidence.shown, event[:_LISTED])),
        len(event),
        (number_amount(gap.p), number_amount(gap.q)),
    )


def _from_counterexample(subject: Subject, example: Counterexample) -> Explanation:
    """Return what the counterexample says, where its pair is the one to show.

    That is so where pairs and events are too many to compare, and where a value is too small, so
    that the pair attains it.
    """
    made = found_against(subject.claim, example)
    event = made.event
    if not isinstance(event, Phrase):
        shown = [run.shown for run in made.runs]
        event = (*shown, *(each for each in event if each not in shown))
    return replace(made, event=event)


def found_against(claim: claims.Claim, example: Counterexample) -> Explanation:
    """Return what a counterexample says by itself, with what a budget allows."""
    if not isinstance(claim, claims.PrivacyClaim):
        return as_found(example)
    return as_found(example, growth_amount(claim.epsilon), number_amount(claim.delta))
