"""Exact distributions of complete output sequences, written out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dpcheck.chain.chain import Chain
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.sequences import has_output_cycle, sequence_table
from dpcheck.check.quantities.seen_pairs import observed
from dpcheck.check.values.event_text import output_sequence
from dpcheck.exact import Number, add, divide
from dpcheck.limits import Limits, too_large


def output_rows(chain: Chain, limits: Limits) -> dict[str, dict[str, Number]]:
    """Return, for each initial state, its output sequences and their probabilities.

    Sequences are written as everywhere (`bot, top`; the ends of a run that shows nothing in words).
    Raises `LimitReached` where they are infinitely many, or an analyst chooses.
    """
    states = distinct(chain.initial)
    seen, sources = observed(chain, states, limits)
    if chain.offers:
        unknown = "outputs have probabilities for a strategy of the analyst only"
        raise too_large(unknown, "public inputs in place of queries")
    if has_output_cycle(seen, sources):
        raise too_large("there are infinitely many output sequences", "a bounded formula")
    table = sequence_table(seen, sources, limits=limits)
    assert table is not None, "without a bound on its size there is a table"
    texts = [
        str(output_sequence(map(chain.observation_text, table.outputs(k)), int(end)))
        for k, end in enumerate(table.end)
    ]
    names = [chain.state_text(state) for state in states.tolist()]
    assert len(set(texts)) == len(texts), "no two sequences are written alike"
    assert len(set(names)) == len(names), "no two initial states are written alike"
    return {
        name: {texts[sequence]: p for sequence, p in table.row(i)} for i, name in enumerate(names)
    }


def tells_as_much(
    less: Mapping[str, Mapping[str, Number]],
    more: Mapping[str, Mapping[str, Number]],
    pairs: Iterable[tuple[str, str]],
) -> bool:
    """Return whether rows tell two neighbors apart as well as others that some of them sum up.

    What is known of two neighbors is how likely each ratio of their probabilities is (Blackwell),
    so outputs may be one where they have one ratio, and nowhere else.

    >>> more = {"x": {"0": 1, "1": 2, "2": 3}, "y": {"0": 2, "1": 1, "2": 6}}
    >>> tells_as_much({"x": {"0": 4, "1": 2}, "y": {"0": 8, "1": 1}}, more, [("x", "y")])
    True
    >>> tells_as_much({"x": {"0": 3, "2": 3}, "y": {"0": 3, "2": 6}}, more, [("x", "y")])
    False
    """
    return all(_by_ratio(less[s], less[t]) == _by_ratio(more[s], more[t]) for s, t in pairs)


def _by_ratio(p: Mapping[str, Number], q: Mapping[str, Number]) -> dict[Number, Number]:
    """Return the sum of P + Q over all outputs with one P / (P + Q), by that."""
    found: dict[Number, Number] = {}
    for shown in {*p, *q}:
        both = add(p.get(shown, 0), q.get(shown, 0))
        share = divide(p.get(shown, 0), both)
        found[share] = add(found.get(share, 0), both)
    return found
