"""Bounds of a path formula's probability where some state formulas are not known everywhere."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpcheck.exact import compare
from dpcheck.limits import Limits
from dpcheck.logic import formulas as f
from dpcheck.solve import path_bounds, path_probabilities
from tests.solve.chains import atom, make_chain, no, truth
from tests.solve.strategies import SLOW_ORACLE, RandomChain, chains, paths, size


@settings(suppress_health_check=SLOW_ORACLE)
@given(chains(4), paths(6), st.sets(st.integers(0, 3), min_size=1, max_size=3))
def test_a_probability_lies_between_those_with_what_surely_and_possibly_holds(
    chain: RandomChain, path: f.PathFormula, unknown: set[int]
) -> None:
    """Nobody knows where `a` holds among some states: all that it may be is tried."""
    assume(size(path) <= 8)
    made = make_chain(*chain)
    everywhere = np.arange(made.n_states)
    open_states = [s for s in range(made.n_states) if s in unknown]

    def with_a(holds: tuple[bool, ...]) -> dict[str, np.ndarray]:
        label = made.labelling.get("a", np.zeros(made.n_states, np.bool_)).copy()
        label[open_states] = holds
        return {**made.labelling, "a": label}

    def reading(labels: dict[str, np.ndarray]) -> object:
        return truth(make_chain_like(labels))

    def make_chain_like(labels: dict[str, np.ndarray]) -> object:
        named = ["".join(k for k in labels if labels[k][s]) for s in range(made.n_states)]
        return make_chain(chain[0], named)

    surely, possibly = (reading(with_a((value,) * len(open_states))) for value in (False, True))
    ends = []
    for satisfying, below in ((surely, possibly), (possibly, surely)):
        ends.append(
            path_bounds(
                made,
                path,
                satisfying=satisfying,
                below_negations=below,
                states=everywhere,
                bits=64,
                limits=Limits(),
            )
        )
    for holds in product((False, True), repeat=len(open_states)):
        exact = path_probabilities(
            made,
            path,
            satisfying=reading(with_a(holds)),
            states=everywhere,
            limits=Limits(),
        )
        for low, p, high in zip(ends[0], exact, ends[1], strict=True):
            assert compare(low[0], p) <= 0 <= compare(high[1], p)


def test_what_holds_below_a_negation_makes_the_rest_less_probable() -> None:
    """`!a` surely holds where `a` not even possibly does."""
    rows, labels = [{0: 1}], ["a"]
    made = make_chain(rows, labels)
    found = path_bounds(
        made,
        no(atom("a")),
        satisfying=truth(make_chain(rows, [""])),
        below_negations=truth(made),
        states=np.array([0]),
        bits=64,
        limits=Limits(),
    )
    assert found == [(0, 0)]
