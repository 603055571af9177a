"""Evidence for compositions: the laws of each part's runs, and an event by the scores of outputs.

A score is the privacy loss of an output in units of a grid, rounded. The finer the grid, the closer
"the scores add up to at least t" comes to the event with the largest p - e^ε q.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, lcm, log

import numpy as np

from dpcheck.chain.chain import Chain
from dpcheck.check.evidence.sequences import ENDS, sequence_table
from dpcheck.check.quantities.seen_pairs import observed
from dpcheck.check.values.verdicts import Counterexample
from dpcheck.exact import Number, excess_sign, number
from dpcheck.limits import Limits
from dpcheck.logic.claims import PrivacyClaim
from dpcheck.records import dataclass
from dpcheck.witness.writing import Fields, Lacking, Quotient, budget_fields, shown_ends

MAX_SEQUENCES = 1_000
"""Bounds the sequences of a part, each a row of the file."""
MAX_WORK = 4_000_000
"""A composition whose scores take more products of weights has no evidence."""
FINEST = 64
"""Bounds how often scores are made finer, until they exceed the budget."""

Law = dict[int, int]
"""Weights by score."""


@dataclass(frozen=True, eq=False)
class Part:
    """The runs of a part: what they show, with the weights of both sides, over one denominator."""

    times: int
    outputs: list[tuple[list[str | None], tuple[int, int]]]

    def losses(self) -> list[float]:
        """Return the privacy losses of the outputs."""
        return [
            inf if q == 0 else -inf if p == 0 else log(p) - log(q) for _, (p, q) in self.outputs
        ]


def composition_evidence(
    claim: PrivacyClaim,
    parts: Sequence[tuple[Chain, int]],
    found: Counterexample | None,
    limits: Limits,
) -> Fields:
    """Return the laws of the parts for a counterexample's pair, and scores that exceed the budget.

    Raises `Lacking` where the composition is too long, or no score of the grids tried exceeds it.
    """
    if found is None:
        raise Lacking("that a composition is within its budget would need all of its losses")
    laws = [_part(chain, times, found.states, limits) for chain, times in parts]
    finite = [abs(x) for part in laws for x in part.losses() if x not in (0, inf, -inf)]
    unit, finer = min(finite, default=1.0), 1
    while finer <= FINEST:
        limits.check_time("evidence is written")
        scores = [_scores(part, unit / finer, laws) for part in laws]
        chosen = _least(claim, laws, scores)
        if chosen is not None:
            least, chances = chosen
            return {
                "says": "violated",
                "proof": "sum",
                **budget_fields(claim.epsilon, claim.delta),
                "sides": [
                    {"input": text, "probability": Quotient(chance)}
                    for text, chance in zip(found.states, chances, strict=True)
                ],
                "least": least,
                "parts": [
                    {
                        "times": part.times,
                        "outputs": [
                            [shown, score, *weights]
                            for score, (shown, weights) in zip(own, part.outputs, strict=True)
                        ],
                    }
                    for part, own in zip(laws, scores, strict=True)
                ],
            }
        finer *= 4
    raise Lacking("no event by rounded losses was found that exceeds the budget")


def _part(chain: Chain, times: int, texts: Sequence[str], limits: Limits) -> Part:
    """Return the laws of one part's runs on two inputs, named by their texts."""
    states = [next(s for s in chain.initial.tolist() if chain.state_text(s) == t) for t in texts]
    ends, back = np.unique(np.array(states, np.int64), return_inverse=True)
    seen, sources = observed(chain, ends, limits)
    table = sequence_table(seen, sources, limits=limits, max_entries=2 * MAX_SEQUENCES)
    if table is None or table.n_sequences > MAX_SEQUENCES:
        raise Lacking(f"a part shows more than {MAX_SEQUENCES:,} sequences of outputs")
    if not all(isinstance(d, int) for d in table.denominators):
        raise Lacking("its probabilities are no rational numbers")
    under = lcm(*(int(d) for d in table.denominators if isinstance(d, int)))
    laws: list[dict[int, int]] = []
    for i in back.tolist():
        scale = under // int(table.denominators[i])
        entries = range(int(table.indptr[i]), int(table.indptr[i + 1]))
        laws.append({int(table.sequences[j]): scale * int(table.weights[j]) for j in entries})
    outputs = []
    for k in sorted(laws[0].keys() | laws[1].keys()):
        words = [seen.observation_text(code) for code in table.outputs(k)]
        shown = [*words, *shown_ends(ENDS[int(table.end[k])])]
        outputs.append((shown, (laws[0].get(k, 0), laws[1].get(k, 0))))
    return Part(times, outputs)


def _scores(part: Part, unit: float, laws: Sequence[Part]) -> list[int]:
    """Return losses in units; one that is infinite outweighs all that are not."""
    finite = [
        each.times * max((abs(x) for x in each.losses() if abs(x) != inf), default=0)
        for each in laws
    ]
    most = 2 * round(sum(finite) / unit) + 2
    return [most if x == inf else -most if x == -inf else round(x / unit) for x in part.losses()]


def _least(
    claim: PrivacyClaim, laws: Sequence[Part], scores: Sequence[Sequence[int]]
) -> tuple[int, tuple[Number, Number]] | None:
    """Return a score such that to reach it exceeds the budget, and how likely that is."""
    sums: list[Law] = []
    for k in (0, 1):
        total: Law = {0: 1}
        for part, own in zip(laws, scores, strict=True):
            run: Law = {}
            for score, (_, weights) in zip(own, part.outputs, strict=True):
                run[score] = run.get(score, 0) + weights[k]
            for _ in range(part.times):
                if len(total) * len(run) * part.times > MAX_WORK:
                    raise Lacking("its runs are too many to be followed by their scores")
                total = _product(total, run)
        sums.append(total)
    under = sum(sums[0].values())
    p = q = 0
    for score in sorted(sums[0].keys() | sums[1].keys(), reverse=True):
        p, q = p + sums[0].get(score, 0), q + sums[1].get(score, 0)
        chances = number(p, under), number(q, under)
        if excess_sign(*chances, claim.epsilon, claim.delta) > 0:
            return score, chances
    return None


def _product(left: Law, right: Law) -> Law:
    found: Law = {}
    for n, x in left.items():
        for m, y in right.items():
            if x and y:
                found[n + m] = found.get(n + m, 0) + x * y
    return found
