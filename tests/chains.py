"""Chains as the pipeline builds them, read with plain fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import dpcheck


def chain_rows(chain, most):
    """Return, for each initial state, {(outputs, how it ends): probability}.

    Outputs are followed for at most `most` of them; then the end is `cut`.
    """

    def step(s):
        return [
            (int(chain.targets[j]), Fraction(int(chain.numerators[j]), int(chain.denominators[s])))
            for j in range(chain.indptr[s], chain.indptr[s + 1])
        ]

    @cache
    def row(s, left):
        if s == chain.stopped:
            return {((), "stopped"): Fraction(1)}
        if chain.diverged is not None and s == chain.diverged:
            return {((), "diverged"): Fraction(1)}
        result = {}
        for t, p in step(s):
            code = int(chain.observation[t])
            if code >= 0 and left == 0:
                result[(), "cut"] = result.get(((), "cut"), 0) + p
                continue
            shown = (chain.observation_text(code),) if code >= 0 else ()
            for (outputs, ends), q in row(t, left - len(shown)).items():
                key = shown + outputs, ends
                result[key] = result.get(key, 0) + p * q
        return result

    return [row(int(s), most) for s in chain.initial]


def initial_pairs(chain):
    """Return the neighboring initial states as pairs of places among them."""
    place = {int(s): i for i, s in enumerate(chain.initial)}
    return sorted(tuple(sorted((place[int(s)], place[int(t)]))) for s, t in chain.neighbors.pairs)


def built_chain(text, name, **parameters):
    """Return the chain of a target of a text."""
    return dpcheck.loads(text).target(name, **parameters).chain()
