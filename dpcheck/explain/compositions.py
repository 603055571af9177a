"""Violated claims about independent runs on one input: events as counts, or sums of scores.

The outputs of one run fall into classes of equal loss ln(p/q), and the optimal event of all runs is
"the losses add up to more than ε". With two classes of one part this is a count: at least c of
the n outputs are in the likelier class, c by exact comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from dpcheck.chain.chain import Chain
from dpcheck.check.arrangements import Run, decide_composition
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities.event_claims import complete_evidence, seen_pairs
from dpcheck.check.quantities.privacy import EventClaim
from dpcheck.check.values.amounts import growth_amount, number_amount
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.check.values.verdicts import Amount, Counterexample, OutputSequence, Phrase
from dpcheck.exact import (
    Budget,
    Number,
    compare,
    divide,
    exact_text,
    excess_sign,
    log,
    multiply,
    power,
)
from dpcheck.explain.event_claims import budget_of
from dpcheck.explain.explanation import Explanation, Inequality, Neighbors, Remark, Rule, Tight
from dpcheck.explain.subject import Subject
from dpcheck.logic.claims import QuantityClaim, QuantityValue, TightDelta, TightEpsilon
from dpcheck.records import dataclass
from dpcheck.source import Span

_MAX_CLASSES = 6
_MAX_SEQUENCES = 64
_MAX_LISTED = 4
_MAX_POWER_BITS = 200_000
_MAX_TIMES = 1000


@dataclass(frozen=True, slots=True)
class Class:
    """The outputs of one run with one ratio p/q (None is infinite); the likeliest with p and q."""

    ratio: Number | None
    outputs: tuple[OutputSequence, ...]
    likeliest: tuple[OutputSequence, Number, Number]

    @property
    def text(self) -> str:
        """The outputs of the class."""
        texts = [", then ".join(each.outputs) or "no output" for each in self.outputs]
        more = ["..."] if len(texts) > _MAX_LISTED else []
        return " or ".join([*texts[:_MAX_LISTED], *more])


def explain_composition(
    subject: Subject, claim: EventClaim, example: Counterexample, *, is_short: bool
) -> Explanation | None:
    """Return why a composition violates dp(ε, δ), or has a larger ε or δ than claimed.

    None where an ε or δ is smaller than claimed, or its event is not the one at the claimed ε.
    """
    budget = budget_of(claim)
    if len(example.probabilities) != 2 or len(example.states) != 2 or budget is None:
        return None
    if isinstance(claim, QuantityClaim) and (
        example.excess is None
        or (isinstance(claim.quantity, TightEpsilon) and claim.quantity.delta != 0)
    ):
        return None
    epsilon, delta = budget
    p, q = example.probabilities
    inequality = Inequality(
        *(p, q, example.ratio, growth_amount(epsilon), number_amount(delta)),
        *(example.requirement, example.sides),
    )
    n_runs = sum(times for _, _, times in subject.parts)
    note = f"all {n_runs} runs on the same input"
    classes = [_classes(subject, chain, example.states) for chain, _, _ in subject.parts]
    remarks: list[Remark] = []
    text = str(example.event) if isinstance(example.event, Phrase) else ""
    is_exact = p.enclosure is None and q.enclosure is None  # else its event has rounded losses
    if not is_short and is_exact and all(classes):
        has_largest_loss = delta == 0 and not (
            isinstance(claim, QuantityClaim) and isinstance(claim.quantity, TightDelta)
        )
        text = _in_words(subject, None if has_largest_loss else epsilon, classes) or text
        remarks = [*_likeliest(subject, classes), *_remarks(subject, classes)]
    return Explanation(
        neighbors=Neighbors(*example.states, note=note),
        inequality=inequality,
        rule=Rule(text, p, q, example.ratio, is_optimal=True),
        remarks=tuple(remarks),
        tight=None
        if isinstance(claim, QuantityClaim)
        else subject.part("tight", lambda: _tight(subject, epsilon, delta, claim.span)),
    )


def _classes(subject: Subject, chain: Chain, names: tuple[str, ...]) -> list[Class]:
    """Return the classes of one run of a part for the pair with these names, the likeliest first.

    There are none where they are many.
    """
    seen = seen_pairs(chain, chain.initial, subject.limits)
    if not seen.are_finite:
        return []
    evidence = complete_evidence(seen)
    pair = next((k for k in range(len(seen.pairs)) if set(seen.names(k)) == set(names)), None)
    if pair is None or not isinstance(evidence, TableEvidence):
        return []
    is_forward = seen.names(pair) == names
    block = evidence.rows.block_of(EventGap(0, 0, pair, is_forward))
    if len(block.sequence) > _MAX_SEQUENCES:
        return []
    found: dict[Number | None, list[tuple[OutputSequence, Number, Number]]] = {}
    for j, k in enumerate(block.sequence.tolist()):
        p, q = block.probabilities(j)
        ratio = None if q == 0 else divide(p, q)
        found.setdefault(ratio, []).append((evidence.shown(k), p, q))
    finite = [ratio for ratio in found if ratio is not None]
    order = [
        *([None] if None in found else []),
        *sorted(finite, key=cmp_to_key(compare), reverse=True),
    ]
    classes = [
        Class(ratio, tuple(each for each, _, _ in found[ratio]), _likeliest_of(found[ratio]))
        for ratio in order
    ]
    return classes if len(classes) <= _MAX_CLASSES else []


def _likeliest_of(
    outputs: Sequence[tuple[OutputSequence, Number, Number]],
) -> tuple[OutputSequence, Number, Number]:
    """Return the output with the largest p, the first of them."""
    best = outputs[0]
    for each in outputs[1:]:
        best = each if compare(each[1], best[1]) > 0 else best
    return best


def _in_words(subject: Subject, epsilon: Budget | None, classes: Sequence[list[Class]]) -> str:
    """Return the optimal event at ε (None: of the largest loss): a count, or a sum of scores."""
    times = [n for _, _, n in subject.parts]
    n_runs = sum(times)
    first = classes[0]
    if len(classes) == 1 and len(first) == 2 and all(each.ratio for each in first):
        high, low = first
        if epsilon is None:
            return f"all {n_runs} outputs are {high.text}"
        count = _least_count(high.ratio or 1, low.ratio or 1, n_runs, epsilon)
        if count is not None:
            return f"at least {count} of the {n_runs} outputs are {high.text}"
        return ""
    if epsilon is None:
        return ""
    scores = [
        f"{each.text} {_score(each.ratio)}" for part in classes for each in part if each.ratio != 0
    ]
    lead = f"the scores of the outputs add up to more than {exact_text(epsilon)}"
    return f"{lead}: {', '.join(dict.fromkeys(scores))}"


def _score(ratio: Number | None) -> str:
    """Return the loss of a class, with its sign."""
    if ratio is None:
        return "+inf"
    text = exact_text(log(ratio)) if compare(ratio, 1) >= 0 else exact_text(log(divide(1, ratio)))
    return f"{'+' if compare(ratio, 1) >= 0 else '-'}{text}" if ratio != 1 else "0"


def _least_count(high: Number, low: Number, n_runs: int, epsilon: Budget) -> int | None:
    """Return the least m with high^m low^(n-m) > e^ε, by bisection; None for too long numbers."""
    bits = sum(len(exact_text(each)) for each in (high, low)) * 4 * n_runs
    if bits > _MAX_POWER_BITS:
        return None

    def exceeds(m: int) -> bool:
        product = multiply(power(high, m), power(low, n_runs - m))
        return excess_sign(product, 1, epsilon) > 0

    low_end, high_end = 0, n_runs
    while low_end < high_end:
        middle = (low_end + high_end) // 2
        low_end, high_end = (low_end, middle) if exceeds(middle) else (middle + 1, high_end)
    return low_end


def _remarks(subject: Subject, classes: Sequence[list[Class]]) -> list[Remark]:
    """Return what one output of each part contributes."""
    remarks: list[Remark] = []
    for (_, _, times), part in zip(subject.parts, classes, strict=True):
        factors = [
            f"{each.text} has factor {'inf' if each.ratio is None else exact_text(each.ratio)}"
            for each in part
        ]
        often = "once" if times == 1 else f"{times} times"
        remarks.append(
            Remark("by part" if not remarks else "", Phrase.of(f"{often}: {', '.join(factors)}"))
        )
    return remarks


def _likeliest(subject: Subject, classes: Sequence[list[Class]]) -> list[Remark]:
    """Return the likeliest outputs of the event, where all runs are of one part."""
    (_, _, times), *others = subject.parts
    shown, p, q = classes[0][0].likeliest
    if others or len(shown.outputs) != 1 or times > _MAX_TIMES:
        return []
    outputs = OutputSequence(shown.outputs * times)
    p_all, q_all = power(p, times), power(q, times)
    parts: list[str | Amount | OutputSequence] = [outputs, ": ", number_amount(p_all), " against "]
    parts.append(number_amount(q_all))
    if q != 0:
        once, ratio = divide(p, q), divide(p_all, q_all)
        text = exact_text(once)
        base = text if text.isdigit() else f"({text})"
        parts += [", ratio ", number_amount(ratio), f" = {base}^{times}"]
    return [Remark("output", Phrase.of(*parts))]


def _tight(subject: Subject, epsilon: Budget, delta: Number, span: Span) -> Tight:
    """Return the least ε at the claim's δ, and the least δ at its ε, of the whole composition."""
    runs = [Run(chain, times) for chain, _, times in subject.parts]
    values = []
    for quantity in (TightEpsilon(delta, span), TightDelta(epsilon, span)):
        asked = QuantityValue(quantity, span)
        outcome = decide_composition(asked, runs, subject.selected, subject.limits)
        values.append(outcome.value)
    least_epsilon, least_delta = values
    name = "epsilon" if delta == 0 else f"epsilon({exact_text(delta)})"
    parts: list[str | Amount] = []
    if least_epsilon is not None:
        parts += [f"{name} = ", least_epsilon]
    if least_delta is not None:
        parts += ["; " * bool(parts) + f"delta({exact_text(epsilon)}) = ", least_delta]
    return Tight(Phrase.of(*parts), least_epsilon, least_delta)
