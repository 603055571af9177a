"""Claims about quantities beyond ε and δ: values, comparisons and tables, as outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import assert_never

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.graph import graph_of
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.sequences import has_output_cycle, sequence_table
from dpcheck.check.evidence.strategies import StrategyEvidence
from dpcheck.check.evidence.table_evidence import n_listed
from dpcheck.check.quantities.loss_values import (
    COMPUTED,
    TABULATED,
    KnownLosses,
    profile_table,
    sides_of,
)
from dpcheck.check.quantities.pair_losses import pair_losses
from dpcheck.check.quantities.privacy import INFINITELY_MANY, quantity_text, verdict_on
from dpcheck.check.quantities.seen_pairs import SeenPairs, complete_evidence, observed
from dpcheck.check.values import verdicts
from dpcheck.check.values.amounts import INFINITE, number_amount, quantity_amount
from dpcheck.check.values.comparisons import holds
from dpcheck.check.values.event_text import EventText, many_sequences
from dpcheck.check.values.measures import TOO_FAR, Measures
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.logic import claims
from dpcheck.privacy.enclosed import compare_measures

Question = claims.QuantityClaim | claims.QuantityValue
OtherQuantity = claims.LossQuantity | claims.LossTable | claims.ChannelQuantity | claims.LeastError

UNBOUNDED = verdicts.Undecided(
    Limit(
        "size",
        unit=INFINITELY_MANY,
        advice="ask about a mechanism whose runs have a bounded number of outputs",
    )
)


def decide_quantity(
    claim: Question, quantity: OtherQuantity, seen: SeenPairs, measures: Measures
) -> verdicts.Outcome:
    """Return the outcome of a claim about a quantity of the chain that was asked."""
    is_profile = isinstance(quantity, claims.LossTable) and quantity.word == "profile"
    assert is_profile or not seen.asked.offers, "others are refused when they are read"
    match quantity:
        case claims.LossQuantity() | claims.LossTable():
            return _decide_losses(claim, quantity, seen)
        case claims.ChannelQuantity():
            return _decide_channel(claim, quantity, seen)
        case claims.LeastError():
            return _decide_least_error(claim, quantity, seen, measures)
        case _:
            assert_never(quantity)


def _decide_losses(
    claim: Question, quantity: claims.LossQuantity | claims.LossTable, seen: SeenPairs
) -> verdicts.Outcome:
    """Decide a claim about the losses of pairs.

    Of an analyst who adapts only a profile is asked: there is a strategy for each ε.
    """
    evidence = complete_evidence(seen)
    if evidence is None:
        return verdicts.Outcome(UNBOUNDED, seen.coverage())
    if isinstance(evidence, StrategyEvidence):
        known = KnownLosses((), seen, lambda *gap: EventText(many_sequences(None, *gap), ()))
        return tabulated(profile_table(evidence.profile(), known), *known.looked_at)
    known = KnownLosses(pair_losses(evidence), seen, evidence.event_text, n_listed(evidence))
    return decide_on_losses(claim, quantity, known)


def tabulated(
    table: verdicts.Table, coverage: verdicts.Coverage, vacuity: tuple[verdicts.Vacuity, ...] = ()
) -> verdicts.Outcome:
    """Return a table as the outcome of what asks for one."""
    amount = number_amount(len(table.rows))
    value = verdicts.Value(amount, len(table.rows), table)
    return verdicts.Outcome(value, coverage, vacuity, amount)


def decide_on_losses(
    claim: Question, quantity: claims.LossQuantity | claims.LossTable, known: KnownLosses
) -> verdicts.Outcome:
    """Return the outcome of a claim about a quantity that privacy losses determine."""
    if isinstance(quantity, claims.LossTable):
        return tabulated(TABULATED[quantity.word](known), *known.looked_at)
    found = COMPUTED[quantity.word](tuple(sides_of(known.pairs)), *quantity.arguments)
    amount = found.amount(quantity.digits)
    names = () if found.side is None else found.side.names(known)
    pair = (between(names),) if names else ()
    verdict = verdict_on(claim, quantity_text(quantity), found.value, amount, names)
    return verdicts.Outcome(verdict, *known.looked_at, amount, (*found.beside, *pair))


def between(names: tuple[str, str]) -> verdicts.Beside:
    """Return whose value it is."""
    return verdicts.Beside(f"between {names[0]} and {names[1]}", names_states=True)


def decide_comparison(
    claim: claims.QuantityComparison, decided: Callable[[claims.QuantityValue], verdicts.Outcome]
) -> verdicts.Outcome:
    """Return the outcome of `left comparison right` from the values of both sides."""
    sides = [decided(claims.QuantityValue(each, claim.span)) for each in (claim.left, claim.right)]
    coverage = sides[0].coverage
    vacuity = tuple(dict.fromkeys(reason for side in sides for reason in side.vacuity))
    values = [side.verdict for side in sides if isinstance(side.verdict, verdicts.Value)]
    if len(values) < len(sides):
        unknown = next(side for side in sides if not isinstance(side.verdict, verdicts.Value))
        return verdicts.Outcome(unknown.verdict, coverage, vacuity)
    left, right = quantity_text(claim.left), quantity_text(claim.right)
    named = list(zip((left, right), (value.amount for value in values), strict=True))
    sign = compare_measures(values[0].exact, values[1].exact)
    verdict: verdicts.Holds | verdicts.Violated | verdicts.Undecided
    if sign is None:
        unsure = f"no enclosure separates {left} from {right}"
        verdict = verdicts.Undecided(
            Limit("size", unit=unsure, advice="compare each of them with a number")
        )
    elif holds(claim.comparison, sign):
        verdict = verdicts.Holds()
    else:
        first, second = (value.amount for value in values)
        requirement = verdicts.Phrase.of(
            *(f"{left} {claim.comparison} {right}, but {left} = ", first),
            *(f" and {right} = ", second),
        )
        difference = verdicts.Sides(first, claim.comparison, second)
        verdict = verdicts.Violated(verdicts.Counterexample((), (), (), requirement, difference))
    beside = tuple(verdicts.Beside(f"{text} is", amount) for text, amount in named)
    return verdicts.Outcome(verdict, coverage, vacuity, beside=beside)


# --- the whole channel ---------------------------------------------------------------------


CHANNEL_VALUES: Mapping[str, Callable[[exact.Number, int], exact.Number | exact.Epsilon]] = {
    "bayes_vulnerability": exact.divide,
    "min_entropy_leakage": lambda total, _: exact.log(total),
}
"""What Σ_o max_s P(o|s) and the number of inputs, all equally likely, say about guessing them."""


def _decide_channel(
    claim: Question, quantity: claims.ChannelQuantity, seen: SeenPairs
) -> verdicts.Outcome:
    """Decide a claim about guessing which of the selected states, equally likely, it was.

    Whoever guesses knows the public inputs; the answer is the greatest for all of these.
    """
    found = most_guessable(seen.asked, seen.selected, seen.limits)
    if found is None:
        return verdicts.Outcome(UNBOUNDED, seen.coverage())
    states, total = found[quantity.word == "min_entropy_leakage"]
    value = CHANNEL_VALUES[quantity.word](total, len(states))
    amount = quantity_amount(value)
    verdict = verdict_on(claim, quantity.word, value, amount, ())
    beside = (verdicts.Beside(f"for {len(states)} equally likely inputs"),)
    return verdicts.Outcome(verdict, seen.coverage(), (), amount, beside)


Guessed = tuple[IntArray, exact.Number]
"""States that agree in what everybody knows, and Σ_o max_s P(o|s) over them."""


def most_guessable(
    chain: Chain, selected: IntArray, limits: Limits
) -> tuple[Guessed, Guessed] | None:
    """Return where a guess is likeliest, and where outputs help most; None for endless outputs."""
    found: list[Guessed] = []
    for states in alike_in_public(chain, selected):
        seen, sources = observed(chain, states, limits)
        if has_output_cycle(seen, sources):
            return None
        found.append((states, _sum_of_maxima(seen, sources, limits)))
    likeliest = max(found, key=lambda each: exact.by_size(exact.divide(each[1], len(each[0]))))
    return likeliest, max(found, key=lambda each: exact.by_size(each[1]))


def alike_in_public(chain: Chain, selected: IntArray) -> list[IntArray]:
    """Return the states of selected[n], sorted, apart by what everybody knows at them."""
    states = distinct(selected)
    if chain.known is None:
        return [states]
    known = chain.known[np.searchsorted(chain.initial, states)]
    return [states[known == value] for value in distinct(known)]


def _sum_of_maxima(chain: Chain, sources: IntArray, limits: Limits) -> exact.Number:
    """Return Σ_o max_s P(o|s) over output sequences o and the states s of sources[n]."""
    table = sequence_table(chain, sources, limits=limits)
    assert table is not None, "without a bound on its size there is a table"
    best: dict[int, exact.Number] = {}
    for i in range(len(sources)):
        limits.check_time(f"{i} of {len(sources)} inputs compared")
        for sequence, p in table.row(i):
            known = best.get(sequence)
            if known is None or exact.compare(p, known) > 0:
                best[sequence] = p
    return exact.sum_of(best.values())


# --- accuracy ------------------------------------------------------------------------------


def _decide_least_error(
    claim: Question, quantity: claims.LeastError, seen: SeenPairs, measures: Measures
) -> verdicts.Outcome:
    """Decide a claim about the least α that all errors keep with probability 1 - β."""
    least, most = measures.at_least, measures.at_outputs
    value, state = _worst_error(quantity, most, seen)
    is_known = all(least[key] == most[key] for _, key in quantity.errors)
    if not is_known and quantity.failure != 0:  # at 0 each number beyond the window counts
        least_value, _ = _worst_error(quantity, least, seen)
        if compare_measures(least_value, value) != 0:
            raise LimitReached(TOO_FAR)
    amount, name = INFINITE if value is None else number_amount(value), seen.asked.state_text(state)
    verdict = verdict_on(claim, quantity.text, value, amount, (name,))
    beside = (verdicts.Beside(f"reached from {name}", names_states=True),)
    return verdicts.Outcome(verdict, seen.coverage(), (), amount, beside)


def _worst_error(
    quantity: claims.LeastError, known: Mapping[str, Sequence[exact.Number | None]], seen: SeenPairs
) -> tuple[exact.Number | None, int]:
    """Return the least α for errors by key, [n_states] each, and the state that needs it."""
    errors = largest_errors(quantity, known, seen.asked)
    laws = error_laws(seen.asked, seen.selected, errors, seen.limits)
    needed = exact.subtract(1, quantity.failure)
    found = [(_quantile(laws[state], needed), state) for state in seen.selected.tolist()]
    return reduce(
        lambda worst, each: each if compare_measures(each[0], worst[0]) == 1 else worst, found
    )


def largest_errors(
    quantity: claims.LeastError, known: Mapping[str, Sequence[exact.Number | None]], chain: Chain
) -> dict[int, list[exact.Number | None]]:
    """Return by the number of an output its largest error at each state, [n_states] each."""
    errors: dict[int, list[Sequence[exact.Number | None]]] = {}
    for position, key in quantity.errors:
        errors.setdefault(position, []).append(known[key])
    return {position: _largest(each, chain.n_states) for position, each in errors.items()}


def error_laws(
    chain: Chain,
    sources: IntArray,
    errors: Mapping[int, Sequence[exact.Number | None]],
    limits: Limits,
) -> dict[int, dict[exact.Number, exact.Number]]:
    """Return P(largest error = e) for every source and every e; the rest of 1 is infinitely far.

    `errors` has for the number of an output its error, [n_states]. One transition is one output, so
    the law at a state is that of its successors, one output later, mixed.
    """
    graph, last = graph_of(chain), max(errors)
    layers = [distinct(sources)]
    for _ in range(last - 1):
        limits.check_time(f"{len(layers)} outputs followed")
        layers.append(distinct(graph.successors(layers[-1])))
    laws: dict[int, dict[exact.Number, exact.Number]] = {}
    nothing: dict[exact.Number, exact.Number] = {0: 1}
    for position in range(last, 0, -1):
        limits.check_time(f"{last - position} of {last} outputs compared")
        worst = errors.get(position, [0] * chain.n_states)
        later, laws = laws, {}
        for state in layers[position - 1].tolist():
            law: dict[exact.Number, exact.Number] = {}
            below, row = chain.row(state)
            for target, weight in row:
                error, p = worst[target], exact.number(weight, below)
                if error is None:
                    continue
                for largest, q in later.get(target, nothing).items():
                    key = error if exact.compare(error, largest) > 0 else largest
                    law[key] = exact.add(law.get(key, 0), exact.multiply(p, q))
            laws[state] = law
    return laws


def _largest(
    errors: Sequence[Sequence[exact.Number | None]], n_states: int
) -> list[exact.Number | None]:
    """Return the largest of several errors at each state, [n_states]; None where one is."""
    largest: list[exact.Number | None] = [0] * n_states
    for error in errors:
        pairs = zip(largest, error, strict=True)
        largest = [right if compare_measures(left, right) == -1 else left for left, right in pairs]
    return largest


def _quantile(
    law: Mapping[exact.Number, exact.Number], needed: exact.Number
) -> exact.Number | None:
    """Return the least α with P(error <= α) >= needed; None for no α."""
    if needed == 0:
        return 0
    reached: exact.Number = 0
    for error in sorted(law, key=exact.by_size):
        reached = exact.add(reached, law[error])
        if exact.compare(reached, needed) >= 0:
            return error
    return None
