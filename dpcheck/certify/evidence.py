"""Evidence checked again, by slow and obvious means that share nothing with how it was found.

Whoever found an event and its probabilities hands both over; here each sequence is followed
through the chain by itself, state by state, in exact numbers. An `AssertionError` is a bug in
dpcheck, never a mistake of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from dpcheck import exact
from dpcheck.chain.chain import Chain

End = Literal["stopped", "diverged", "goes on"]
Shown = tuple[Sequence[int], End]
_BITS = (64, 256, 1024, 4096)


def sequence_probability(
    chain: Chain, state: int, outputs: Sequence[int], end: End
) -> exact.Number:
    """Return the probability that a run from a state shows the outputs and then ends so.

    The chain shows one output per transition. `goes on` stands for any continuation.
    """
    reached: dict[int, exact.Number] = {state: 1}
    for code in outputs:
        following: dict[int, exact.Number] = {}
        for s, weight in reached.items():
            for j, t in _edges(chain, s):
                if chain.observation[t] == code and t not in (chain.stopped, chain.diverged):
                    p = _probability(chain, s, j)
                    following[t] = exact.add(following.get(t, 0), exact.multiply(weight, p))
        reached = following
    if end == "goes on":
        return exact.sum_of(reached.values())
    sink = chain.stopped if end == "stopped" else chain.diverged
    return exact.sum_of(
        exact.multiply(weight, _probability(chain, s, j))
        for s, weight in reached.items()
        for j, t in _edges(chain, s)
        if t == sink
    )


def certify_event(
    chain: Chain, state: int, event: Iterable[Shown], probability: exact.Number
) -> None:
    """Check that a set of output sequences has the given probability from a state."""
    total: exact.Number = 0
    seen: set[tuple[tuple[int, ...], End]] = set()
    for outputs, end in event:
        key = (tuple(outputs), end)
        assert key not in seen, "an event lists a sequence once"
        seen.add(key)
        total = exact.add(total, sequence_probability(chain, state, outputs, end))
    assert exact.compare(total, probability) == 0, "an event has the probability it is shown with"


def certify_violation(
    p: exact.Number, q: exact.Number, epsilon: exact.Budget, delta: exact.Number
) -> None:
    """Check that p > e^ε q + δ, by a rational upper bound of e^ε that shows it."""
    assert exact.compare(p, 0) >= 0, "probabilities are not negative"
    assert exact.compare(q, 0) >= 0, "probabilities are not negative"
    over = exact.subtract(p, delta)
    if exact.compare(q, 0) == 0:
        assert exact.compare(over, 0) > 0, "a violation exceeds its budget"
        return
    factor = epsilon.factor() if epsilon.offset == 0 else None
    if factor is not None:
        assert exact.compare(over, exact.multiply(factor, q)) > 0, "a violation exceeds its budget"
        return
    for bits in _BITS:
        try:
            _, upper = exact.exp_bounds(epsilon, bits)
        except exact.TooLarge:
            return
        if exact.compare(over, exact.multiply(upper, q)) > 0:
            return
    # Closer than 4096 bits: equality is excluded by the decision law, not by bounds.


def _edges(chain: Chain, state: int) -> Iterable[tuple[int, int]]:
    """Return the transitions of a state, each with its successor."""
    low, high = int(chain.indptr[state]), int(chain.indptr[state + 1])
    return enumerate(chain.targets[low:high].tolist(), low)


def _probability(chain: Chain, state: int, transition: int) -> exact.Number:
    above, below = chain.numerators[transition], chain.denominators[state]
    return exact.number(exact.whole(above), exact.whole(below))
