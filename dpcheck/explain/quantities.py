"""Violated claims about other quantities: the pair, input or outputs that attain the value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from itertools import islice
from typing import NamedTuple, TypeVar

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.paired_rows import Block
from dpcheck.check.evidence.sequences import sequence_table
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities.decide_quantity import error_laws, largest_errors, most_guessable
from dpcheck.check.quantities.seen_pairs import complete_evidence, observed, seen_pairs
from dpcheck.check.values.amounts import bare, number_amount
from dpcheck.check.values.event_text import by_value, event_parts, output_sequence
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import Amount, Counterexample, OutputSequence, Phrase
from dpcheck.exact import (
    Budget,
    Number,
    add,
    compare,
    divide,
    exact_text,
    log,
    multiply,
    number,
    power,
    subtract,
    whole,
)
from dpcheck.explain.explanation import Explanation, Neighbors, Remark, Tight
from dpcheck.explain.runs.attribution import Vector, mass, reached
from dpcheck.explain.runs.likeliest import ways
from dpcheck.explain.subject import Subject
from dpcheck.limits import Limits
from dpcheck.logic.claims import LeastError, LossQuantity

Shown = TypeVar("Shown")

Part = str | Amount | OutputSequence
Reached = tuple[int, Vector, bool]
"""How many outputs there were, the states after them, and whether the last was too far off."""

_LISTED = 4
"""Outputs that a sentence lists."""
_MAX_ORDER = 64
"""The largest order of which powers of probabilities are written down."""


class Weighed(NamedTuple):
    """An output sequence and its probabilities on both sides."""

    shown: OutputSequence
    p: Number
    q: Number


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
        Weighed(evidence.shown(int(k)), *block.probabilities(j))
        for j, k in enumerate(block.sequence.tolist())
    ]


def explain_losses(
    subject: Subject, quantity: LossQuantity, example: Counterexample
) -> Explanation | None:
    """Return the pair that attains a quantity of losses, and the outputs that carry it."""
    names, limits = example.states, subject.limits
    found = named_block(subject.chain, subject.selected, names, limits) if len(names) == 2 else None
    if found is None:
        return None
    outputs = weighed(*found)
    remark = _remark(quantity, outputs, found[1], found[0], names)
    pair = Neighbors(names[0], names[1])
    return Explanation(pair, remarks=() if remark is None else (remark,))


def _remark(
    quantity: LossQuantity,
    outputs: Sequence[Weighed],
    block: Block,
    evidence: TableEvidence,
    names: tuple[str, ...],
) -> Remark | None:
    """Return which outputs a quantity comes from."""
    argument = quantity.arguments[0] if quantity.arguments else None
    match quantity.word:
        case "renyi":
            is_short = isinstance(argument, int) and argument <= _MAX_ORDER
            shared = _shares(outputs, argument) if isinstance(argument, int) and is_short else None
            return shared or _losses(outputs)
        case "posterior_max" | "posterior_min" as word:
            assert argument is not None, "a posterior has a prior"
            assert not isinstance(argument, Budget), "a prior is a number"
            return _posterior(outputs, argument, names, is_largest=word == "posterior_max")
        case "loss_tail":
            assert isinstance(argument, Budget), "the argument of a tail is a budget"
            text = f"the outputs with a loss above {exact_text(argument)}: "
            return _event(text, block, evidence, argument)
        case "total_variation":
            return _event("the outputs likelier from the left: ", block, evidence, Budget.of(0))
        case "zcdp":
            return _losses(outputs)
        case _:
            return None


def _losses(outputs: Sequence[Weighed]) -> Remark:
    """Return the losses ln(p/q) of the likeliest outputs from the left, and their probabilities."""
    possible = [(each.p, each) for each in outputs if each.p != 0]
    losses = [
        (
            each.shown,
            f": loss {'inf' if each.q == 0 else loss_text(divide(p, each.q))} with ",
            bare(p),
        )
        for p, each in falling(possible)[:_LISTED]
    ]
    return _listed("losses", losses, len(possible))


def _listed(label: str, items: Iterable[Sequence[Part]], n_all: int) -> Remark:
    """Return the first of so many items as one sentence."""
    parts: list[Part] = []
    for item in items:
        parts += ["; " * bool(parts), *item]
    more = [f"; and {n_all - _LISTED:,} more outputs"] * (n_all > _LISTED)
    return Remark(label, Phrase.of(*parts, *more))


def loss_text(ratio: Number) -> str:
    """Return ln of a ratio, as minus ln of its inverse where that is larger."""
    is_gain = compare(ratio, 1) < 0
    return f"-{exact_text(log(divide(1, ratio)))}" if is_gain else exact_text(log(ratio))


def _shares(outputs: Sequence[Weighed], order: int) -> Remark | None:
    """Return the shares of outputs in Σ p^a q^(1-a)."""
    terms: list[tuple[Number, OutputSequence]] = []
    total: Number = 0
    for each in outputs:
        if each.q == 0:
            return Remark("carried by", Phrase.of(each.shown, ": impossible on the right"))
        if each.p != 0:
            term = divide(power(each.p, order), power(each.q, order - 1))
            terms.append((term, each.shown))
            total = add(total, term)
    below = "q" if order == 2 else f"q^{order - 1}"
    shares: list[list[Part]] = [
        [shown, ": ", bare(divide(term, total))] for term, shown in falling(terms)[:_LISTED]
    ]
    shares[0] += [f" of the sum of p^{order}/{below} (", bare(total), ")"]
    return _listed("carried by", shares, len(terms))


def falling(terms: list[tuple[Number, Shown]]) -> list[tuple[Number, Shown]]:
    """Return terms, the largest first."""

    def order(one: tuple[Number, Shown], other: tuple[Number, Shown]) -> int:
        return compare(other[0], one[0])

    return sorted(terms, key=cmp_to_key(order))


def _posterior(
    outputs: Sequence[Weighed], prior: Number, names: tuple[str, ...], *, is_largest: bool
) -> Remark:
    """Return the output after which the left one is likeliest, or least likely."""
    rest = subtract(1, prior)
    weights = [(multiply(prior, each.p), multiply(rest, each.q), each) for each in outputs]
    known = [(divide(p, add(p, q)), each) for p, q, each in weights if add(p, q) != 0]
    after, found = falling(known)[0 if is_largest else -1]
    p, q = bare(found.p), bare(found.q)
    text = ("after the output ", found.shown, ": ", p, " against ", q, f", so {names[0]} has ")
    return Remark("attained", Phrase.of(*text, bare(after)))


def _event(lead: str, block: Block, evidence: TableEvidence, epsilon: Budget) -> Remark:
    """Return the outputs with p > e^ε q, and their probabilities."""
    mask = block.exceeding(ExpFactor.of(epsilon))
    p_sums, q_sums = block.sums(mask)
    gap = block.gap(0, p_sums[0], q_sums[0])
    found = by_value(evidence.shown(k) for k in block.sequence[mask].tolist())
    told = lead, *event_parts(found), ": ", bare(gap.p), " against ", bare(gap.q)
    return Remark("carried by", Phrase.of(*told))


def explain_error(
    subject: Subject, quantity: LeastError, bound: Number | None, example: Counterexample
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
    most = max(chances.values(), key=cmp_to_key(compare))
    if compare(chances[state], quantity.failure) <= 0:
        return None
    p, allowed = number_amount(chances[state]), number_amount(quantity.failure)
    told = f"{name(state)}: further off than {exact_text(bound)} with probability "
    remarks = (
        Remark("from", Phrase.of(told, p, ", allowed ", allowed)),
        _far_outputs(subject, errors, bound, state),
    )
    enough: list[str | Amount] = ["with the probability of failure ", number_amount(most)]
    if subject.value is not None and subject.value.exact != "inf":
        enough = ["with the bound ", subject.value, ", or ", *enough]
    return Explanation(remarks=remarks, tight=Tight(Phrase.of("holds ", *enough)))


def _further(law: Mapping[Number, Number], bound: Number) -> Number:
    """Return the probability of an error above a bound, or of none that is finite."""
    rest: Number = 1
    for error, p in law.items():
        rest = subtract(rest, p) if compare(error, bound) <= 0 else rest
    return rest


def _far_outputs(
    subject: Subject, errors: Mapping[int, Sequence[Number | None]], bound: Number, state: int
) -> Remark:
    """Return the likeliest outputs with an error above a bound, each with it and its line."""
    chain = subject.chain

    def following(at: Reached) -> Iterator[tuple[Vector, Number, Reached]]:
        place, before, _ = at
        edges = [j for s in before for j in range(int(chain.indptr[s]), int(chain.indptr[s + 1]))]
        for code in distinct(chain.observation[chain.targets[edges]]).tolist():
            after = reached(chain, before, code, None)
            error = errors[place + 1][next(iter(after))] if place + 1 in errors else 0
            is_far = error is None or compare(error, bound) > 0
            if is_far or place + 1 < max(errors):
                yield after, divide(mass(after), mass(before)), (place + 1, after, is_far)

    def key(at: Reached) -> tuple[int, frozenset[tuple[int, Number]]]:
        return at[0], frozenset(at[1].items())

    start, limits = (0, {state: number(1)}, False), subject.limits
    found = [*islice(ways(start, following, key, lambda at: at[2], limits), _LISTED)]
    shown: list[tuple[OutputSequence, Number | None, str, Number]] = []
    for vectors, p in found:
        steps = [next(iter(vector)) for vector in vectors]
        codes = chain.observation[steps].tolist()
        outputs = tuple(chain.observation_text(code) for code in codes if code >= 0)
        sequence = OutputSequence(outputs, "stopped" if len(steps) == max(errors) else "goes on")
        origin = subject.explored.origin(steps[-1])
        line = "" if origin is None else f" (line {origin.line})"
        shown.append((sequence, errors[len(steps)][steps[-1]], line, p))
    if all(error is None for _, error, _, _ in shown):
        listed = " and ".join(", ".join(each.outputs) or "no output" for each, _, _, _ in shown)
        are = "output {} is no number" if len(shown) == 1 else "outputs {} are no numbers"
        return Remark("attained", Phrase.of(f"the {are.format(listed)}, so no error is finite"))
    offs = ["no number" if each[1] is None else f"off by {exact_text(each[1])}" for each in shown]
    items = [
        (sequence, f", {off}{line}: ", bare(p))
        for off, (sequence, _, line, p) in zip(offs, shown, strict=True)
    ]
    return _listed("outputs", items, len(items))


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
    for row, below in enumerate(table.denominators):
        subject.limits.check_time(f"{row} of {len(states)} inputs compared")
        entries = slice(int(table.indptr[row]), int(table.indptr[row + 1]))
        weights = zip(table.sequences[entries].tolist(), table.weights[entries], strict=True)
        for sequence, weight in weights:
            p = number(whole(weight), below)
            if sequence not in best or compare(p, best[sequence][0]) > 0:
                best[sequence] = p, row
    order = falling([(p, (sequence, row)) for sequence, (p, row) in best.items()])
    guesses: list[list[Part]] = []
    for p, (sequence, row) in order[:_LISTED]:
        outputs = map(seen.observation_text, table.outputs(sequence))
        shown = output_sequence(outputs, int(table.end[sequence]))
        name = subject.chain.state_text(int(states[row]))
        guesses.append(["after ", shown, f" guess {name}, from which it has ", bare(p)])
    return Explanation(remarks=(_listed("best guess", guesses, len(order)),))
