"""Exact distributions of complete output sequences, written out."""

from __future__ import annotations

from dpcheck.chain.chain import Chain
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.sequences import has_output_cycle, sequence_table
from dpcheck.check.quantities.seen_pairs import observed
from dpcheck.check.values.event_text import output_sequence
from dpcheck.exact import Number
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
