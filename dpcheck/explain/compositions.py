"""Violated claims about independent runs on one input: events as counts, or sums of scores.

The outputs of one run fall into classes of equal loss ln(p/q), and the optimal event of all runs is
"the losses add up to more than ε". With two classes of one part this is a count: at least c of
the n outputs are in the likelier class, c by exact comparison.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from dpcheck import exact
from dpcheck.check.quantities.privacy import EventClaim, budget_of, quantity_of
from dpcheck.check.values.amounts import INFINITE_EPSILON, bare, growth_amount, number_amount
from dpcheck.check.values.verdicts import Counterexample, OutputSequence, Phrase, PhrasePart
from dpcheck.explain import explanation
from dpcheck.explain.event_claims import ONE_SIDED, asked_tight
from dpcheck.explain.inputs import named_states
from dpcheck.explain.quantities import Weighed, falling, loss_text, named_block, weighed
from dpcheck.explain.runs.traced_run import first_traced
from dpcheck.explain.subject import Subject
from dpcheck.logic.claims import QuantityClaim, TightEpsilon
from dpcheck.records import dataclass, replace

_MAX_CLASSES = 6
"""Classes of a run that a sentence lists: with more it explains nothing."""
_MAX_SEQUENCES = 64
"""Bounds the sequences that are sorted into kinds."""
_MAX_LISTED = 4
"""Sequences that are listed in a row."""
_MAX_POWER_BITS = 200_000
"""Bounds a power that is written out to tell what the kinds weigh."""
_MAX_TIMES = 1000
"""Bounds the runs whose numbers are told one by one."""


@dataclass(frozen=True)
class Class:
    """Outputs of one run with one ratio p/q (None is infinite), and the likeliest with p and q."""

    ratio: exact.Number | None
    outputs: tuple[OutputSequence, ...]
    likeliest: Weighed

    @property
    def is_short(self) -> bool:
        """Return whether the outputs can be listed."""
        return len(self.outputs) <= _MAX_LISTED

    @property
    def text(self) -> str:
        """The outputs of the class, or how many they are."""
        texts = [_sequence_text(each) for each in self.outputs[:_MAX_LISTED]]
        more = [] if self.is_short else [f"{len(self.outputs) - _MAX_LISTED} more"]
        return " or ".join([*texts, *more])

    @property
    def has_one_output(self) -> bool:
        """Return whether every run of the class shows one output and ends."""
        return all(len(each.outputs) == 1 and each.ending == "stopped" for each in self.outputs)


@dataclass(frozen=True)
class Kind:
    """Runs whose outputs fall into the same classes: which of all runs they are, and how many.

    `part` is the first of these parts, alone; `names` are those of all.
    """

    part: Subject
    names: tuple[str, ...]
    places: tuple[str, ...]
    times: int
    classes: list[Class]

    @property
    def is_short(self) -> bool:
        """Return whether all outputs can be listed."""
        return len(self.classes) <= _MAX_CLASSES and all(each.is_short for each in self.classes)

    @property
    def outputs(self) -> str:
        """What the runs show: one output each, or several."""
        return "outputs" if all(each.has_one_output for each in self.classes) else "runs' outputs"

    @property
    def runs(self) -> str:
        """Which of all runs they are: `run 1`, `runs 2..4 and 6`."""
        return f"run{'s' * (self.times > 1)} {' and '.join(self.places)}"


def _sequence_text(shown: OutputSequence) -> str:
    """Return a sequence in one piece, quoted where it would read as several."""
    steps = [*shown.outputs, *(["diverged"] if shown.ending == "diverged" else [])]
    return f"({', then '.join(steps)})" if len(steps) > 1 else "".join(steps) or "no output"


def explain_composition(
    subject: Subject, claim: EventClaim, example: Counterexample
) -> explanation.Explanation | None:
    """Return why a composition violates dp(ε, δ), or has a larger ε or δ than claimed.

    None where an ε is smaller than claimed.
    """
    budget = budget_of(claim)
    if len(example.probabilities) != 2 or len(example.states) != 2 or budget is None:
        return None
    epsilon, delta = budget
    quantity = claim.quantity if isinstance(claim, QuantityClaim) else None
    if isinstance(quantity, TightEpsilon) and example.excess is None:
        return None
    (p, q), (left, right) = example.probabilities, example.states
    found = explanation.as_found(example, growth_amount(epsilon), number_amount(delta))
    n_runs = sum(times for _, _, times in subject.parts)
    note = f"{'both' if n_runs == 2 else f'all {n_runs}'} runs on the same input"
    kinds = _kinds(subject, example.states)
    is_listed = all(kind.classes for kind in kinds)
    reason = ONE_SIDED if is_listed else ""
    remarks: list[explanation.Remark] = []
    if reason and quantity is not None and subject.value == INFINITE_EPSILON:
        remarks.append(explanation.Remark("infinite", Phrase.of(reason)))
    text = str(example.event) if isinstance(example.event, Phrase) else ""
    has_rounded_losses = p.enclosure is not None or q.enclosure is not None
    is_of_ratio = isinstance(quantity_of(claim), TightEpsilon)  # any that the right cannot show
    is_optimal = not has_rounded_losses and not (is_of_ratio and q.exact == "0")
    if subject.detail == "full" and is_listed:
        if is_optimal:
            text = _in_words(epsilon, kinds) or text
            remarks += _likeliest(epsilon, kinds)
        remarks += _remarks(kinds, (left, right))
    return explanation.Explanation(
        neighbors=explanation.Neighbors(*example.states, note=note),
        event=() if text else found.event,
        inequality=found.inequality,
        rule=explanation.Rule(text, p, q, example.ratio, is_optimal) if text else None,
        remarks=tuple(remarks),
        tight=None
        if quantity is not None
        else subject.part("tight", lambda: asked_tight(subject, epsilon, delta, reason)),
    )


def _kinds(subject: Subject, names: tuple[str, ...]) -> list[Kind]:
    """Return the kinds of runs for the pair with these names: parts with equal classes are one."""
    found: list[Kind] = []
    first = 1
    for part, _, times in subject.parts:
        last = first + times - 1
        place = str(first) if times == 1 else f"{first}..{last}"
        classes, first = _classes(part, names), last + 1
        k = next((k for k, kind in enumerate(found) if kind.classes == classes), len(found))
        known = found[k] if k < len(found) else Kind(part, (), (), 0, classes)
        titles, places = (*known.names, part.target.title), (*known.places, place)
        made = replace(known, names=titles, places=places, times=known.times + times)
        found[k : k + 1] = [made]
    return found


def _classes(part: Subject, names: tuple[str, ...]) -> list[Class]:
    """Return the classes of one run of a part for the pair with these names, the likeliest first.

    There are none where they are many.
    """
    listed = named_block(part.chain, part.chain.initial, names, part.limits)
    if listed is None or len(listed[1].sequence) > _MAX_SEQUENCES:
        return []
    found: dict[exact.Number | None, list[Weighed]] = {}
    for _, each in falling([(each.p, each) for each in weighed(*listed)]):
        found.setdefault(None if each.q == 0 else exact.divide(each.p, each.q), []).append(each)
    finite = [ratio for ratio in found if ratio is not None]
    order = [None] * (None in found) + sorted(finite, key=exact.by_size, reverse=True)
    return [Class(r, tuple(each.shown for each in found[r]), found[r][0]) for r in order]


def _in_words(epsilon: exact.Budget, kinds: Sequence[Kind]) -> str:
    """Return the optimal event at ε: a count, or a sum of scores."""
    first, *others = kinds
    if not others and len(first.classes) == 2 and all(each.ratio for each in first.classes):
        high, low = first.classes
        those = f"{first.outputs} are {high.text}"
        if not high.is_short:
            those = f"{first.outputs} have factor {exact.exact_text(high.ratio or 1)}"
        count = _least_count(high.ratio or 1, low.ratio or 1, first.times, epsilon)
        if count == first.times:
            return f"{'both' if count == 2 else f'all {count}'} {those}"
        return "" if count is None else f"at least {count} of the {first.times} {those}"
    if not all(kind.is_short for kind in kinds):
        return ""
    scores = []
    for kind in kinds:
        own = [f"{_score(each.ratio)} for {each.text}" for each in kind.classes if each.ratio != 0]
        scores.append(f"in {kind.runs} " * bool(others) + ", ".join(own))
    lead = f"the scores of the {first.outputs} add up to more than {exact.exact_text(epsilon)}"
    return f"{lead}: {'; '.join(scores)}"


def _score(ratio: exact.Number | None) -> str:
    """Return the loss of a class, with its sign."""
    if ratio is None:
        return "+inf"
    return "+" * (exact.compare(ratio, 1) > 0) + loss_text(ratio)


def _least_count(
    high: exact.Number, low: exact.Number, n_runs: int, epsilon: exact.Budget
) -> int | None:
    """Return the least m with high^m low^(n-m) > e^ε, by bisection; None for too long numbers."""
    bits = sum(len(exact.exact_text(each)) for each in (high, low)) * 4 * n_runs
    if bits > _MAX_POWER_BITS:
        return None

    def exceeds(m: int) -> bool:
        product = exact.multiply(exact.power(high, m), exact.power(low, n_runs - m))
        return exact.excess_sign(product, 1, epsilon) > 0

    return bisect_left(range(n_runs), True, key=exceeds)


def _remarks(kinds: Sequence[Kind], names: tuple[str, str]) -> list[explanation.Remark]:
    """Return what one output of each kind of runs contributes, and a run of the worst part."""
    remarks: list[explanation.Remark] = []
    for kind in kinds:
        often = "once" if kind.times == 1 else f"{kind.times} times"
        often = often if len(kinds) == 1 else kind.runs
        parts: list[PhrasePart] = [f"{' and '.join(dict.fromkeys(kind.names))}, {often}"]
        for each in kind.classes[:_MAX_CLASSES]:
            parts += [
                f"{': ' if len(parts) == 1 else ', '}{each.text} has factor ",
                bare(each.ratio),
            ]
        parts += [", other outputs have smaller ones"] * (len(kind.classes) > _MAX_CLASSES)
        run = _run(kind, names) if kind is _worst(kinds) else None
        remarks.append(explanation.Remark("by part", Phrase.of(*parts), run))
    return remarks


def _worst(kinds: Sequence[Kind]) -> Kind:
    """Return the kind of runs with the output of the largest loss."""
    ratios = {kind.classes[0].ratio: kind for kind in reversed(kinds)}
    finite = [ratio for ratio in ratios if ratio is not None]
    return ratios[None if None in ratios else max(finite, key=exact.by_size)]


def _run(kind: Kind, names: tuple[str, str]) -> explanation.TracedRun | None:
    """Return the most probable run of a part with its output of the largest loss."""
    part, shown = kind.part, kind.classes[0].likeliest.shown
    left, right = named_states(part.chain, names)
    if min(left, right) < 0:
        return None
    return part.part("run", lambda: first_traced(part, [shown], (left, right)))


def _likeliest(epsilon: exact.Budget, kinds: Sequence[Kind]) -> list[explanation.Remark]:
    """Return the likeliest outputs of the event at ε.

    Runs of one kind with two losses are needed: which sequence of more is the likeliest is not
    looked for.
    """
    first, *others = kinds
    times = first.times
    if others or times > _MAX_TIMES or not all(each.has_one_output for each in first.classes):
        return []
    high, *low = first.classes
    if len(low) != 1 or not high.ratio or not low[0].ratio:
        return []
    least = _least_count(high.ratio, low[0].ratio, times, epsilon)
    if least is None:
        return []
    is_rarer = exact.compare(high.likeliest[1], low[0].likeliest[1]) < 0
    counts = [least, times - least] if is_rarer else [times]
    return [
        explanation.Remark("output", _product([each.likeliest for each in first.classes], counts))
    ]


def _product(outputs: Sequence[Weighed], counts: Sequence[int]) -> Phrase:
    """Return independent outputs, each so many times, with both probabilities and their ratio."""
    shown: tuple[str, ...] = ()
    p_all: exact.Number = 1
    q_all: exact.Number = 1
    powers = []
    for each, times in zip(outputs, counts, strict=False):
        shown += each.shown.outputs * times
        p_all = exact.multiply(p_all, exact.power(each.p, times))
        q_all = exact.multiply(q_all, exact.power(each.q, times))
        if each.q != 0 and times:
            text = exact.exact_text(exact.divide(each.p, each.q))
            powers.append(f"{text if text.isdigit() else f'({text})'}^{times}")
    parts: list[PhrasePart] = [OutputSequence(shown), ": "]
    parts += [number_amount(p_all), " against ", number_amount(q_all)]
    if q_all != 0:
        parts += [", ratio ", number_amount(exact.divide(p_all, q_all)), f" = {' * '.join(powers)}"]
    return Phrase.of(*parts)
