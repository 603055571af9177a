"""Violated claims about other quantities: the pair, input or outputs that attain the value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.graph import graph_of, reachable
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.blocks import Block
from dpcheck.check.evidence.sequences import sequence_table
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities.decide_quantity import error_laws, largest_errors, most_guessable
from dpcheck.check.quantities.seen_pairs import complete_evidence, observed, seen_pairs
from dpcheck.check.values import verdicts
from dpcheck.check.values.amounts import bare, number_amount
from dpcheck.check.values.event_text import by_value, event_parts, output_sequence
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.measures import EndValue
from dpcheck.exact import (
    Budget,
    Number,
    add,
    by_size,
    compare,
    divide,
    exact_text,
    log,
    multiply,
    number,
    power,
    subtract,
    sum_of,
)
from dpcheck.explain.bounds import Outside
from dpcheck.explain.explanation import Explanation, Neighbors, Remark, Tight, TracedRun
from dpcheck.explain.runs.attribution import Vector, is_over, mass, output_lines, reached
from dpcheck.explain.runs.likeliest import ways
from dpcheck.explain.runs.traced_run import first_traced
from dpcheck.explain.subject import Subject
from dpcheck.limits import Limits
from dpcheck.logic.claims import LeastError, LossQuantity
from dpcheck.records import replace

Shown = TypeVar("Shown")

_LISTED = 4
"""Outputs that a sentence lists."""
_MAX_WAYS = 200
"""Of so many likeliest outputs those are looked for that carry most of a mean."""
_MAX_ORDER = 64
"""The largest order of which powers of probabilities are written down."""


class Weighed(NamedTuple):
    """An output sequence, its probabilities on both sides, and whether it stands for several."""

    shown: verdicts.OutputSequence
    p: Number
    q: Number
    is_several: bool


def named_block(
    chain: Chain, selected: IntArray, names: tuple[str, ...], limits: Limits
) -> tuple[TableEvidence, Block] | None:
    """Return the outputs of a pair among selected[n_selected], the state named first on the left.

    None where they are not listed.
    """
    seen = seen_pairs(chain, selected, limits)
    evidence = complete_evidence(seen)
    pair = seen.named(names)
    if pair is None or not isinstance(evidence, TableEvidence):
        return None
    return evidence, evidence.rows.block_of(EventGap(0, 0, pair, seen.names(pair) == names))


def weighed(evidence: TableEvidence, block: Block) -> list[Weighed]:
    """Return the outputs of a pair, in the order of the table."""
    return [
        Weighed(evidence.shown(k), *block.probabilities(j), evidence.stands_for_several(k))
        for j, k in enumerate(block.sequence.tolist())
    ]


def explain_losses(
    subject: Subject, quantity: LossQuantity, example: verdicts.Counterexample
) -> Explanation | None:
    """Return the pair that attains a quantity of losses, and the outputs that carry it."""
    names, limits = example.states, subject.limits
    found = named_block(subject.chain, subject.selected, names, limits) if len(names) == 2 else None
    if found is None:
        return None
    pair = Neighbors(names[0], names[1])
    return Explanation(pair, remarks=(_remark(subject, quantity, *found, names),))


def _remark(
    subject: Subject,
    quantity: LossQuantity,
    evidence: TableEvidence,
    block: Block,
    names: tuple[str, ...],
) -> Remark:
    """Return which outputs a quantity comes from."""
    argument = quantity.arguments[0] if quantity.arguments else None
    outputs = weighed(evidence, block)
    match quantity.word:
        case "renyi" if isinstance(argument, int) and argument <= _MAX_ORDER:
            return _shares(outputs, argument, is_known=not subject.is_partial)
        case "posterior_max" | "posterior_min" as word:
            assert isinstance(argument, Number), "a prior is a number"
            largest = word == "posterior_max"
            return _posterior(outputs, argument, names, subject.value, is_largest=largest)
        case "loss_tail":
            assert isinstance(argument, Budget), "the argument of a tail is a budget"
            text = f"the outputs with a loss above {exact_text(argument)}, "
            return _event(text, block, evidence, argument)
        case _:
            window = subject.explored.window
            return _losses(outputs, have_kinds=window is not None and window.has_kinds)


def _losses(outputs: Sequence[Weighed], *, have_kinds: bool) -> Remark:
    """Return the losses ln(p/q) of the likeliest outputs from the left, and their probabilities.

    have_kinds: outputs that stand for several may be of kinds, and each has a loss of its own.
    """
    possible = [(each.p, each) for each in outputs if each.p != 0]
    losses: list[list[verdicts.PhrasePart]] = []
    for p, each in falling(possible)[:_LISTED]:
        loss = "inf" if each.q == 0 else loss_text(divide(p, each.q))
        whose = " of all as one," if have_kinds and each.is_several else ""
        losses.append(["output ", each.shown, f": loss {loss}{whose} with ", bare(p)])
    return _listed("losses", losses, len(possible))


def _listed(label: str, items: Iterable[Sequence[verdicts.PhrasePart]], n_all: int) -> Remark:
    """Return the first of so many items, as a sentence and one by one."""
    n_more = n_all - _LISTED
    more = [(f"and {n_more:,} more output{'s' * (n_more > 1)}",)] * (n_more > 0)
    phrases = tuple(verdicts.Phrase.of(*item) for item in (*items, *more))
    parts = [part for each in phrases for part in ("; ", *each.parts)]
    return Remark(label, verdicts.Phrase.of(*parts[1:]), items=phrases)


def loss_text(ratio: Number) -> str:
    """Return ln of a ratio, as minus ln of its inverse where that is larger."""
    is_gain = compare(ratio, 1) < 0
    return f"-{exact_text(log(divide(1, ratio)))}" if is_gain else exact_text(log(ratio))


def _shares(outputs: Sequence[Weighed], order: int, *, is_known: bool) -> Remark:
    """Return the shares of outputs in Σ p^a q^(1-a), or their terms where these are bounds.

    Numbers that are shown as one, with several ratios, add no less than as one output (Jensen).
    """
    terms: list[tuple[Number, verdicts.OutputSequence]] = []
    total: Number = 0
    for each in outputs:
        if each.q == 0:
            told = "output ", each.shown, ": impossible on the right"
            return Remark("carried by", verdicts.Phrase.of(*told))
        if each.p != 0:
            term = divide(power(each.p, order), power(each.q, order - 1))
            terms.append((term, each.shown))
            total = add(total, term)
    below = "q" if order == 2 else f"q^{order - 1}"
    shares: list[list[verdicts.PhrasePart]] = [
        ["output ", shown, ": ", bare(divide(term, total))]
        if is_known
        else ["output ", shown, ": at least ", bare(term)]
        for term, shown in falling(terms)[:_LISTED]
    ]
    least = "" if is_known else "at least "
    shares[0] += [f" of the sum of p^{order}/{below} ({least}", bare(total), ")"]
    return _listed("carried by", shares, len(terms))


def falling(terms: list[tuple[Number, Shown]]) -> list[tuple[Number, Shown]]:
    """Return terms, the largest first, equal ones as they stand."""
    return sorted(terms, key=lambda term: by_size(term[0]), reverse=True)


def _posterior(
    outputs: Sequence[Weighed],
    prior: Number,
    names: tuple[str, ...],
    value: verdicts.Amount | None,
    *,
    is_largest: bool,
) -> Remark:
    """Return the output after which the left one is likeliest, or the right one least likely.

    Where the value is a limit of outputs, that comes closest to it.
    """
    known: list[tuple[Number, Weighed]] = []
    for each in outputs:
        own, other = (each.p, each.q) if is_largest else (each.q, each.p)
        own, other = multiply(prior, own), multiply(subtract(1, prior), other)
        if (total := add(own, other)) != 0:
            known.append((divide(own, total), each))
    after, found = falling(known)[0 if is_largest else -1]
    p, q, whose = bare(found.p), bare(found.q), names[0 if is_largest else 1]
    lead = "after the output " if found.shown.outputs else "after "  # nothing, or diverged
    text = (lead, found.shown, ": ", p, " against ", q, f", so {whose} has ")
    is_limit = value is not None and value.exact != number_amount(after).exact
    label = "closest" if is_limit else "attained"
    return Remark(label, verdicts.Phrase.of(*text, bare(after)))


def _event(lead: str, block: Block, evidence: TableEvidence, epsilon: Budget) -> Remark:
    """Return the outputs with p > e^ε q, and their probabilities."""
    mask = block.exceeding(ExpFactor.of(epsilon))
    p_sums, q_sums = block.sums(mask)
    gap = block.gap(0, p_sums[0], q_sums[0])
    found = by_value(evidence.shown(k) for k in block.sequence[mask].tolist())
    told = lead, *event_parts(found), ": ", bare(gap.p), " against ", bare(gap.q)
    return Remark("carried by", verdicts.Phrase.of(*told))


def explain_error(
    subject: Subject, quantity: LeastError, bound: Number | None, example: verdicts.Counterexample
) -> Explanation | None:
    """Return the input whose outputs are too far off, the likeliest of those, and what holds.

    None where the error is not too large.
    """
    chain, name = subject.chain, subject.chain.state_text
    state = next((s for s in subject.selected.tolist() if name(s) == example.states[0]), None)
    if state is None or bound is None:
        return None
    errors = largest_errors(quantity, subject.measures.at_outputs, chain)
    laws = error_laws(chain, subject.selected, errors, subject.limits)
    chances = {source: _further(law, bound) for source, law in laws.items()}
    most = max(chances.values(), key=by_size)
    if compare(chances[state], quantity.failure) <= 0:
        return None
    p, allowed = number_amount(chances[state]), number_amount(quantity.failure)
    least = largest_errors(quantity, subject.measures.at_least, chain)
    (law,) = error_laws(chain, np.array([state]), least, subject.limits).values()
    is_known = compare(_further(law, bound), chances[state]) == 0  # of `< 0` some may be near
    told = f"{name(state)}: further off than {exact_text(bound)} with probability "
    told += "" if is_known else "at most "
    outputs, run = _far_outputs(subject, (least, errors), bound, state)
    remarks = Remark("from", verdicts.Phrase.of(told, p, ", allowed ", allowed)), outputs
    failure = verdicts.Enough(number_amount(most), "<=", is_chance=True)
    enough: list[verdicts.PhrasePart] = ["with the probability of failure ", failure]
    if subject.value is not None and subject.value.exact != "inf":
        enough = ["with the bound ", verdicts.Enough(subject.value, "<="), ", or ", *enough]
    return Explanation(remarks=remarks, run=run, tight=Tight(verdicts.Phrase.of("holds ", *enough)))


def _further(law: Mapping[Number, Number], bound: Number) -> Number:
    """Return the probability of an error above a bound, or of none that is finite."""
    return subtract(1, sum_of(p for error, p in law.items() if compare(error, bound) <= 0))


def run_from(subject: Subject, shown: verdicts.OutputSequence, state: int) -> TracedRun | None:
    """Return the most probable run from one state that shows some outputs."""
    run = subject.part("run", lambda: first_traced(subject, [shown], [state]))
    return None if run is None else replace(run, of="input")


class Walk(NamedTuple):
    """Runs with equal outputs: how many these are, the states reached, and whether the runs end.

    `known` are the states after those outputs that are asked for by their places.
    """

    n_outputs: int
    states: Vector
    known: tuple[tuple[int, int], ...] = ()
    is_over: bool = False

    @property
    def state(self) -> int:
        """One of the states; all of them showed the same outputs."""
        return next(iter(self.states))

    def following(self, chain: Chain, positions: Collection[int]) -> Iterator[Walk]:
        """Yield what may be shown next, and the end."""
        edges = [slice(int(chain.indptr[s]), int(chain.indptr[s + 1])) for s in self.states]
        targets = distinct(np.concatenate([chain.targets[each] for each in edges]))
        for code in distinct(chain.observation[targets]).tolist():
            after = reached(chain, self.states, code, None)
            n = self.n_outputs + 1
            # Of `> 1` that is asked for each kind is a way of its own: kinds have other means.
            are_kinds = code >= 0 and n in positions and chain.shows_several(code)
            for states in [{s: p} for s, p in after.items()] if are_kinds else [after]:
                known = ((n, next(iter(states))),) if n in positions else ()
                if code >= 0:
                    yield Walk(n, states, (*self.known, *known))
        for end in {chain.stopped, chain.diverged} & {*targets.tolist()}:
            shares = {s: mass(reached(chain, {s: p}, None, end)) for s, p in self.states.items()}
            ended = {state: share for state, share in shares.items() if share != 0}
            yield Walk(self.n_outputs, ended, self.known, is_over=True)


Way = tuple[verdicts.OutputSequence, Walk, Number]
"""Outputs, where they lead, and how likely they are."""


def _far_ways(
    subject: Subject, state: int, positions: Collection[int], is_far: Callable[[Walk], bool | None]
) -> Iterator[Way]:
    """Yield the likeliest outputs from a state that lead too far, where they do, and how likely.

    `is_far` is None where that is not known before more is shown.
    """
    chain = subject.chain

    def following(walk: Walk) -> Iterator[tuple[Walk, Number]]:
        for after in () if walk.is_over else walk.following(chain, positions):
            if is_far(after) is not False:
                yield after, divide(mass(after.states), mass(walk.states))

    def key(walk: Walk) -> tuple[object, ...]:
        return *walk[:1], frozenset(walk.states.items()), *walk[2:]

    start = Walk(0, {state: number(1)})
    found = ways(
        start, following, lambda _, walk: walk, key, lambda at: bool(is_far(at)), subject.limits
    )
    for end, walks, p in found:
        codes = [int(chain.observation[walk.state]) for walk in walks if not walk.is_over]
        outputs = tuple(map(chain.observation_text, codes))
        ends = end.is_over or is_over(chain, state, outputs)
        yield verdicts.OutputSequence(outputs, "stopped" if ends else "goes on"), end, p


def _told(
    subject: Subject,
    state: int,
    label: str,
    found: Sequence[tuple[verdicts.OutputSequence, Shown, Number]],
    said: Callable[[Shown], str],
) -> tuple[Remark, TracedRun | None]:
    """Return outputs, each with what is said of it, its probability and its line, and a run."""
    items: list[tuple[verdicts.PhrasePart, ...]] = []
    runs = [run_from(subject, shown, state) for shown, _, _ in found[:_LISTED]]
    for (shown, told, p), run in zip(found, runs, strict=False):
        line = "".join(map(subject.in_brackets, [] if run is None else output_lines(run)[-1:]))
        items.append((f"{said(told)} with chance ", bare(p), ": ", shown, line))
    return _listed(label, items, len(found)), runs[0]


def _far_outputs(
    subject: Subject,
    known_errors: tuple[Mapping[int, Sequence[Number | None]], ...],
    bound: Number,
    state: int,
) -> tuple[Remark, TracedRun | None]:
    """Return the likeliest outputs with an error above a bound, each with it and its line.

    The errors are the least and the largest that may be: of `> 4` the latter is None.
    """
    least, errors = known_errors

    def error_of(
        walk: Walk, errors: Mapping[int, Sequence[Number | None]] = errors
    ) -> Number | None:
        known = errors.get(walk.n_outputs)
        return None if walk.is_over else 0 if known is None else known[walk.state]

    def is_far(walk: Walk) -> bool | None:
        error, is_last = error_of(walk), walk.n_outputs == max(errors)
        return error is None or compare(error, bound) > 0 or (False if is_last else None)

    def said(walk: Walk) -> str:
        error, nearest = error_of(walk), error_of(walk, least)
        if nearest is None:
            return "no number"
        return (
            f"off by at least {exact_text(nearest)}"
            if error is None
            else f"off by {exact_text(error)}"
        )

    found = [*islice(_far_ways(subject, state, (), is_far), _LISTED)]
    remark, run = _told(subject, state, "outputs", found, said)
    if all(error_of(walk, least) is None for _, walk, _ in found):
        shown = [", then ".join(each.outputs) or "no output" for each, _, _ in found]
        are_longer = any(len(each.outputs) > 1 for each, _, _ in found) and len(found) > 1
        listed = f"{{ {'; '.join(shown)} }}" if are_longer else " and ".join(shown)
        are = "output {} is no number" if len(found) == 1 else "outputs {} are no numbers"
        text = f"the {are.format(listed)}, so no error is finite"
        remark = Remark("attained", verdicts.Phrase.of(text))
    return remark, run


def carrying_outputs(subject: Subject, end: EndValue, found: Outside) -> Explanation | None:
    """Return which of the likeliest outputs carry most of a mean beyond a bound, and their run.

    An output of probability p and value v adds p (v - bound) to what is above it. None where an
    analyst chooses, and where no run ends.
    """
    sign, chain = 1 if found.side == "inside" else -1, subject.chain
    ends = np.array([s for s in (chain.stopped, chain.diverged) if s is not None], np.int64)
    may_end = reachable(graph_of(chain).backward, ends, np.ones(chain.n_states, np.bool_))

    def mean_of(state: int, walk: Walk) -> Number:
        known = end.value(state, walk.n_outputs, dict(walk.known), walk.n_outputs)
        assert known is not None, "a mean was taken"
        return known

    def value(walk: Walk) -> Number:
        # Numbers that are shown as one, `> 1`, may be of several kinds, a state each.
        total = mass(walk.states)
        return divide(sum_of(multiply(p, mean_of(s, walk)) for s, p in walk.states.items()), total)

    def beyond(value: Number) -> Number:
        return multiply(sign, subtract(value, found.bound))

    def is_far(walk: Walk) -> bool | None:
        if not may_end[[*walk.states]].any():
            return False  # no run that goes on for ever is listed
        has_kinds = any(chain.shows_several(int(chain.observation[s])) for _, s in walk.known)
        return has_kinds or compare(beyond(value(walk)), 0) > 0 if walk.is_over else None

    far = () if chain.offers else _far_ways(subject, found.state, end.positions, is_far)
    order = [each for _, each in falling(_with_means(islice(far, _MAX_WAYS), value, beyond))]
    if not order:
        return None
    name = "carried by"
    remark, run = _told(subject, found.state, name, order, lambda v: f"value {exact_text(v)}")
    return Explanation(remarks=(remark,), run=run)


def _with_means(
    found: Iterable[Way], value: Callable[[Walk], Number], beyond: Callable[[Number], Number]
) -> list[tuple[Number, tuple[verdicts.OutputSequence, Number, Number]]]:
    """Return what outputs add to a mean beyond a bound, where they do: with mean and probability.

    Ways with equal outputs, of which some number is of several kinds, are one.
    """
    kinds: dict[verdicts.OutputSequence, list[tuple[Walk, Number]]] = {}
    for shown, walk, p in found:
        kinds.setdefault(shown, []).append((walk, p))
    means: list[tuple[verdicts.OutputSequence, Number, Number]] = []
    for shown, ways_there in kinds.items():
        p = sum_of(each for _, each in ways_there)
        sum_ = sum_of(multiply(each, value(walk)) for walk, each in ways_there)
        means.append((shown, divide(sum_, p), p))
    added = [(multiply(each[2], beyond(each[1])), each) for each in means]
    return [term for term in added if compare(term[0], 0) > 0]


def explain_guesses(subject: Subject, word: str) -> Explanation | None:
    """Return the best guess of the input after each of the likeliest outputs."""
    found = most_guessable(subject.chain, subject.selected, subject.limits)
    if found is None:
        return None
    states, _ = found[word == "min_entropy_leakage"]
    seen, sources = observed(subject.chain, states, subject.limits)
    table = sequence_table(seen, sources, limits=subject.limits)
    if table is None:
        return None
    best: dict[int, tuple[Number, int]] = {}
    for row in range(len(states)):
        subject.limits.check_time(f"{row} of {len(states)} inputs compared")
        for sequence, p in table.row(row):
            if sequence not in best or compare(p, best[sequence][0]) > 0:
                best[sequence] = p, row
    order = falling([(p, (sequence, row)) for sequence, (p, row) in best.items()])
    guesses: list[tuple[str, verdicts.OutputSequence, str, verdicts.Amount | str]] = []
    for p, (sequence, row) in order[:_LISTED]:
        outputs = map(seen.observation_text, table.outputs(sequence))
        shown = output_sequence(outputs, int(table.end[sequence]))
        name = subject.chain.state_text(int(states[row]))
        guesses.append(("after ", shown, f" guess {name}, from which it has ", bare(p)))
    run = run_from(subject, guesses[0][1], int(states[order[0][1][1]]))
    return Explanation(remarks=(_listed("best guess", guesses, len(order)),), run=run)
