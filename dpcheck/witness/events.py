"""Evidence for `dp`: an event that exceeds the budget, or the laws of all inputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod

import numpy as np

from dpcheck.certify.evidence import sequence_probability
from dpcheck.chain.chain import Chain
from dpcheck.chain.graph import graph_of, reachable
from dpcheck.check.quantities.seen_pairs import SeenPairs
from dpcheck.check.values.exp_factor import ExpFactor
from dpcheck.check.values.verdicts import Counterexample
from dpcheck.exact import ExpPolynomial, Number, Whole, add, excess_sign, multiply, number, subtract
from dpcheck.logic.claims import PrivacyClaim
from dpcheck.records import dataclass
from dpcheck.witness import writing

MAX_STATES = 100_000
"""Bounds the rows of a file."""
MAX_EDGES = 2_000_000
"""A certificate of more rows, or edges, is not written."""
MAX_LENGTH = 5_000
"""`verify` visits the states of every step: 400 of each of 4,900 take it 1.5 s."""
MAX_SEQUENCES = 2_000_000
"""Bounds what `verify` keeps of all laws: some 300 MB."""
MAX_PRODUCTS = 30_000_000
"""Bounds the products of coefficients in laws and their comparisons: `verify` needs 20 s."""
ENDLESS = (
    "outputs go on without end, so that no laws can be listed; what decides the claim, prefixes of"
    " outputs merged by likelihood, has no form that `verify` checks"
)

Ends = tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Member:
    """A sequence of an event: its outputs and its end as the file has them, and both chances."""

    shown: Ends
    p: Number
    q: Number


def event_evidence(claim: PrivacyClaim, seen: SeenPairs, found: Counterexample) -> writing.Fields:
    """Return the pair of a counterexample and few sequences that exceed the budget."""
    first, second = _pair(seen, found.states)
    event = _enough(claim, _members(seen, found, (first, second)))
    p = q = number(0)
    for member in event:
        p, q = add(p, member.p), add(q, member.q)
    shown = [member.shown for member in event]
    told, starts = _rows_of_event(seen.chain, (first, second), shown)
    rows, same = writing.merged(told)
    sides = [
        {"input": text, "state": same[state], "probability": writing.Quotient(chance)}
        for text, state, chance in zip(found.states, starts, (p, q), strict=True)
    ]
    return {
        "says": "violated",
        "proof": "event",
        **writing.budget_fields(claim.epsilon, claim.delta),
        "sides": sides,
        "event": [_in_runs(each) for each in shown],
        **writing.rows_fields(rows, {same[start] for start in starts}),
    }


def _in_runs(shown: Ends) -> list[object]:
    """Return a sequence as it is written: three or more of an output in a row as [output, n]."""
    runs = [[*run] for _, run in groupby(shown)]
    return [x for run in runs for x in (run if len(run) < 3 else [[run[0], len(run)]])]


def _pair(seen: SeenPairs, texts: Sequence[str]) -> tuple[int, int]:
    """Return the two states of a pair by their texts, in this order."""
    for k, pair in enumerate(seen.pairs.tolist()):
        if set(seen.names(k)) == set(texts):
            first, second = (int(seen.sources[end]) for end in pair)
            return (first, second) if seen.names(k)[0] == texts[0] else (second, first)
    raise AssertionError("the counterexample is a pair of neighbors")


def _members(seen: SeenPairs, found: Counterexample, pair: tuple[int, int]) -> list[Member]:
    """Return the sequences of the event; of one in words, those that are named.

    What an analyst chooses has the chance 1.
    """
    shown = found.event
    listed = shown if isinstance(shown, tuple) else tuple(run.shown for run in found.runs)
    observed, offers = seen.chain.observation, seen.chain.offers
    every: list[int] = np.unique(observed[observed >= 0]).tolist()
    codes = {seen.chain.observation_text(code): code for code in every}
    if len(codes) < len(every):
        raise writing.Lacking("a query has several sets of choices")
    members = []
    for sequence in listed:
        seen.limits.check_time("evidence is written")
        outputs = [codes[text] for text in sequence.outputs]
        n_ways = prod(offers[code][1] for code in outputs if code in offers)
        p, q = (
            multiply(n_ways, sequence_probability(seen.chain, state, outputs, sequence.ending))
            for state in pair
        )
        members.append(Member((*sequence.outputs, *writing.shown_ends(sequence.ending)), p, q))
    return members


def _enough(claim: PrivacyClaim, members: list[Member]) -> list[Member]:
    """Return sequences, those with the largest gaps first, until they exceed the budget."""
    if not members:
        raise writing.Lacking("the outputs of its event are too many to be written")
    factor = ExpFactor.of(claim.epsilon).bounds()[0]
    gaps = [subtract(member.p, multiply(factor, member.q)) for member in members]
    order = sorted(range(len(members)), key=lambda k: gaps[k], reverse=True)
    taken, p, q = [], number(0), number(0)
    for k in order:
        member = members[k]
        taken.append(member)
        p, q = add(p, member.p), add(q, member.q)
        if excess_sign(p, q, claim.epsilon, claim.delta) > 0:
            return taken
    raise writing.Lacking(f"its event has more than {len(members)} sequences")


def _rows_of_event(
    chain: Chain, starts: tuple[int, int], event: Sequence[Ends]
) -> tuple[dict[int, writing.Row], tuple[int, int]]:
    """Return the rows on the way of some sequences, and the numbers of the starts among them.

    Where an analyst adapts, a state has a row for each history: the strategy of the event makes one
    choice after it, and may make another one elsewhere.
    """
    following: dict[tuple[int, str | None], int] = {}  # prefixes by number, shorter ones first
    whole = set[int]()
    for sequence in event:
        at = 0
        for shown in sequence:
            at = following.setdefault((at, shown), len(following) + 1)
        whole.add(at)
    entered = [set(starts), *(set[int]() for _ in following)]
    rows: dict[int, writing.Row] = {}
    for at, states in enumerate(entered):
        for s in states:
            rows[s] = rows[s] if s in rows else writing.row_of(chain, s)
            for _, t, shown in rows[s][1]:
                if t is not None and (at, shown) in following:
                    entered[following[at, shown]].add(t)
    places: dict[tuple[int, int], int] = {}

    def place(at: int, s: int) -> int:
        return places.setdefault((at, s), len(places)) if chain.offers else s

    sides = place(0, starts[0]), place(0, starts[1])
    kept: dict[int, writing.Row] = {}
    for at, states in reversed([*enumerate(entered)]):
        for s in sorted(states):
            edges = [
                (weight, None if t is None else place(then, t), shown)
                for weight, t, shown in rows[s][1]
                if (then := following.get((at, shown))) and (t is None or t in entered[then])
            ]
            if not edges and at > 0 and at not in whole:
                states.remove(s)  # no sequence is completed from there
                continue
            _, others = kept.get(place(at, s), (1, []))
            edges += [edge for edge in others if edge not in edges]
            kept[place(at, s)] = (rows[s][0] if edges else 1), edges
    return kept, sides


def laws_evidence(claim: PrivacyClaim, seen: SeenPairs) -> writing.Fields:
    """Return the rows behind the laws of all inputs, and the pairs whose laws differ.

    Raises `Lacking` where runs show outputs without end, or the chain is too large.
    """
    if not seen.are_finite:
        raise writing.Lacking(ENDLESS)
    rows, same = writing.merged(_all_rows(seen))
    texts: dict[int, str] = {}
    for k, pair in enumerate(seen.pairs.tolist()):
        ends = [int(seen.sources[end]) for end in pair]
        if not texts.keys() >= set(ends):
            texts.update(zip(ends, seen.names(k), strict=True))
    pairs = {tuple(sorted(same[int(s)] for s in pair)) for pair in seen.sources[seen.pairs]}
    asked = [list(pair) for pair in sorted(pairs) if pair[0] != pair[1]]
    length, written = _longest(rows), writing.rows_fields(rows, {same[s] for s in texts})
    _check_work(rows, asked, length, written)
    return {
        "says": "holds",
        "proof": "laws",
        **writing.budget_fields(claim.epsilon, claim.delta),
        "inputs": {text: same[s] for s, text in texts.items()},
        "pairs": asked,
        "length": length,
        **written,
    }


def _check_work(
    rows: dict[int, writing.Row], pairs: list[list[int]], length: int, written: writing.Fields
) -> None:
    """Raise `Lacking` where laws have too many sequences, or too long numbers, to be compared."""
    counts: dict[int | None, int] = {None: 1}
    for s in writing.ends_first(rows):
        counts[s] = sum(counts[target] for _, target, _ in rows[s][1])
    n_all = sum(counts[s] for s in rows)
    n_compared = sum(counts[s] for pair in pairs for s in pair)
    (degree, n_terms), *own = map(
        _size, [written["denominator"], *written.get("unders", {}).values()]
    )
    own_degree, n_own = map(max, zip((0, 1), *own, strict=True))
    n_of_run = min(own_degree + length * degree + 1, n_own * n_terms**length)
    n_products = (n_all + n_compared) * n_of_run * n_own
    if n_all > MAX_SEQUENCES or n_products > MAX_PRODUCTS:
        raise writing.Lacking(
            f"its laws have {n_all:,} output sequences, whose comparison takes {n_products:,}"
            f" products: more than {MAX_SEQUENCES:,}, or {MAX_PRODUCTS:,}"
        )


def _size(x: Whole) -> tuple[int, int]:
    """Return the degree of a number as a polynomial, and how many terms it has."""
    if not isinstance(x, ExpPolynomial):
        return 0, 1
    return x.coefficients.degree(), sum(c != 0 for c in x.coefficients.coeffs())


def _all_rows(seen: SeenPairs) -> dict[int, writing.Row]:
    """Return the rows of all states that the inputs of pairs reach."""
    chain = seen.chain
    sources = seen.sources[np.unique(seen.pairs)]
    is_reached = reachable(graph_of(chain), sources, np.ones(chain.n_states, np.bool_))
    is_reached[[s for s in (chain.stopped, chain.diverged) if s is not None]] = False
    states = np.flatnonzero(is_reached)
    n_edges = int((chain.indptr[states + 1] - chain.indptr[states]).sum())
    if len(states) > MAX_STATES or n_edges > MAX_EDGES:
        most = f"{MAX_STATES:,} rows, or {MAX_EDGES:,} transitions"
        raise writing.Lacking(f"a certificate of {len(states):,} rows would have more than {most}")
    rows: dict[int, writing.Row] = {}
    for s in states.tolist():
        seen.limits.check_time(f"{len(rows)} rows of evidence written")
        rows[s] = writing.row_of(chain, s)
    return rows


def _longest(rows: dict[int, writing.Row]) -> int:
    """Return how many steps the longest run takes, its end among them."""
    lengths: dict[int | None, int] = {None: 0}
    for s in writing.ends_first(rows):
        lengths[s] = 1 + max(lengths[target] for _, target, _ in rows[s][1])
    longest = max(lengths.values())
    if longest > MAX_LENGTH:
        raise writing.Lacking(f"its longest run has {longest:,} steps, more than {MAX_LENGTH:,}")
    return longest
