"""Random chains and path formulas."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import HealthCheck
from hypothesis import strategies as st

from dpcheck.logic import formulas as f
from tests.solve.chains import (
    Row,
    atom,
    both,
    either,
    finally_,
    following,
    globally,
    no,
    release,
    until,
    weak,
)

RandomChain = tuple[list[Row], list[str]]
SLOW_ORACLE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

LETTERS = "abc"


@st.composite
def chains(draw: st.DrawFn, max_states: int = 5) -> tuple[list[Row], list[str]]:
    """Draw the rows and labels of a chain; cycles, absorbing states and bottom cycles occur."""
    n = draw(st.integers(1, max_states))
    rows = []
    for _ in range(n):
        successors = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3, unique=True))
        weights = [draw(st.integers(1, 3)) for _ in successors]
        rows.append(
            {t: Fraction(w, sum(weights)) for t, w in zip(successors, weights, strict=True)}
        )
    labels = [draw(st.sets(st.sampled_from(LETTERS))) for _ in range(n)]
    return rows, ["".join(sorted(label)) for label in labels]


def paths(max_leaves: int = 5) -> st.SearchStrategy[f.PathFormula]:
    """Draw path formulas of every operator."""
    bounds = st.integers(0, 3)
    return st.recursive(
        st.sampled_from(LETTERS).map(atom),
        lambda inner: st.one_of(
            st.builds(no, inner),
            st.builds(both, inner, inner),
            st.builds(either, inner, inner),
            st.builds(following, inner),
            st.builds(finally_, inner),
            st.builds(globally, inner),
            st.builds(until, inner, inner),
            st.builds(weak, inner, inner),
            st.builds(release, inner, inner),
            st.builds(finally_, inner, bounds),
            st.builds(globally, inner, bounds),
            st.builds(until, inner, inner, bounds),
        ),
        max_leaves=max_leaves,
    )


def size(path: f.PathFormula) -> int:
    """Return how many X and U the oracle has to eliminate."""
    match path:
        case f.Holds():
            return 0
        case f.PathNot(argument) | f.Next(argument):
            return 1 + size(argument)
        case f.PathAnd(arguments) | f.PathOr(arguments):
            return sum(size(a) for a in arguments)
        case f.Finally(argument, bound) | f.Globally(argument, bound):
            return (bound or 1) + size(argument)
        case f.Until(left, right, bound):
            return (bound or 1) + size(left) + size(right)
        case f.WeakUntil(left, right) | f.Release(left, right):
            return 2 + size(left) + size(right)
