"""Evidence checked again, by slow and obvious means that share nothing with how it was found.

Whoever found an event and its probabilities hands both over; here each sequence is followed
through the chain by itself, state by state, in exact numbers. An `AssertionError` is a bug in
dpcheck, never a mistake of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain
from dpcheck.exact import (
    Budget,
    ExpPolynomial,
    Number,
    TooLarge,
    Whole,
    add,
    compare,
    exp_bounds,
    multiply,
    number,
    subtract,
)

End = Literal["stopped", "diverged", "goes on"]
Shown = tuple[Sequence[int], End]
_BITS = (64, 256, 1024, 4096)


def certify_rows(chain: Chain) -> None:
    """Check that every row of a chain is a distribution, and that the sinks are sinks."""
    for s in range(chain.n_states):
        low, high = int(chain.indptr[s]), int(chain.indptr[s + 1])
        targets = chain.targets[low:high].tolist()
        assert targets == sorted(set(targets)), f"the targets of row {s} increase"
        assert all(0 <= t < chain.n_states for t in targets), f"row {s} leads to states"
        total: Whole = 0
        for weight in chain.numerators[low:high].tolist():
            assert weight > 0, f"the weights of row {s} are positive"
            total = total + weight
        assert total == _whole(chain.denominators[s]), f"row {s} sums to 1"
    for sink in (chain.stopped, chain.diverged):
        if sink is not None:
            low = int(chain.indptr[sink])
            assert chain.indptr[sink + 1] == low + 1, "a sink has one transition"
            assert chain.targets[low] == sink, "a sink is never left"


def sequence_probability(chain: Chain, state: int, outputs: Sequence[int], end: End) -> Number:
    """Return the probability that a run from a state shows the outputs and then ends so.

    The chain shows one output per transition. `goes on` stands for any continuation.
    """
    reached: dict[int, Number] = {state: 1}
    for code in outputs:
        following: dict[int, Number] = {}
        for s, weight in reached.items():
            for t, p in _row(chain, s):
                if chain.observation[t] == code and not _is_sink(chain, t):
                    following[t] = add(following.get(t, 0), multiply(weight, p))
        reached = following
    total: Number = 0
    for s, weight in reached.items():
        if end == "goes on":
            total = add(total, weight)
            continue
        sink = chain.stopped if end == "stopped" else chain.diverged
        for t, p in _row(chain, s):
            if t == sink:
                total = add(total, multiply(weight, p))
    return total


def certify_event(chain: Chain, state: int, event: Iterable[Shown], probability: Number) -> None:
    """Check that a set of output sequences has the given probability from a state."""
    total: Number = 0
    seen: set[tuple[tuple[int, ...], End]] = set()
    for outputs, end in event:
        key = (tuple(outputs), end)
        assert key not in seen, "an event lists a sequence once"
        seen.add(key)
        total = add(total, sequence_probability(chain, state, outputs, end))
    assert compare(total, probability) == 0, "an event has the probability it is shown with"


def certify_violation(p: Number, q: Number, epsilon: Budget, delta: Number) -> None:
    """Check that p > e^ε q + δ, by a rational upper bound of e^ε that shows it."""
    assert compare(p, 0) >= 0, "probabilities are not negative"
    assert compare(q, 0) >= 0, "probabilities are not negative"
    over = subtract(p, delta)
    if compare(q, 0) == 0:
        assert compare(over, 0) > 0, "a violation exceeds its budget"
        return
    factor = epsilon.factor() if epsilon.offset == 0 else None
    if factor is not None:
        assert compare(over, multiply(factor, q)) > 0, "a violation exceeds its budget"
        return
    for bits in _BITS:
        try:
            _, upper = exp_bounds(epsilon, bits)
        except TooLarge:
            return
        if compare(over, multiply(upper, q)) > 0:
            return
    # Closer than 4096 bits: equality is excluded by the decision law, not by bounds.


def certify_reachability(
    chain: Chain, allowed: BoolArray, target: BoolArray, probabilities: Sequence[Number]
) -> None:
    """Check the probabilities of `allowed U target` at all states of a chain.

    They are the least solution of the one-step equations (Baier & Katoen, Principles of Model
    Checking, 2008, section 10.1): 1 on the target; 0 exactly where no path through allowed
    states reaches it; elsewhere the average over the successors. With the zeros known the equations
    have one solution.
    """
    positive = _can_reach(chain, allowed, target)
    for s in range(chain.n_states):
        p = probabilities[s]
        if target[s]:
            assert p == 1, f"state {s} is a target"
        elif not positive[s]:
            assert p == 0, f"state {s} reaches no target"
        else:
            assert compare(p, 0) > 0, f"state {s} may reach a target"
            average: Number = 0
            for t, step in _row(chain, s):
                average = add(average, multiply(step, probabilities[t]))
            assert compare(average, p) == 0, f"state {s} averages over its successors"


def _can_reach(chain: Chain, allowed: BoolArray, target: BoolArray) -> BoolArray:
    """Return where a path through allowed states leads to a target, by repeating until nothing new.

    [n_states]
    """
    reaches: BoolArray = np.array(target, np.bool_)
    while True:
        before = int(reaches.sum())
        for s in range(chain.n_states):
            if allowed[s] and not reaches[s]:
                reaches[s] = any(reaches[t] for t, _ in _row(chain, s))
        if int(reaches.sum()) == before:
            return reaches


def _row(chain: Chain, state: int) -> list[tuple[int, Number]]:
    """Return the successors of a state with their probabilities."""
    low, high = int(chain.indptr[state]), int(chain.indptr[state + 1])
    below = _whole(chain.denominators[state])
    return [
        (int(chain.targets[j]), number(_whole(chain.numerators[j]), below))
        for j in range(low, high)
    ]


def _is_sink(chain: Chain, state: int) -> bool:
    """Return whether a run is over in a state."""
    return state in (chain.stopped, chain.diverged)


def _whole(weight: Whole) -> Whole:
    """Return a numpy integer as a Python one."""
    return weight if isinstance(weight, ExpPolynomial) else int(weight)
