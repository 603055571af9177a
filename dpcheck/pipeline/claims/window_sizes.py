"""Windows that are looked at for claims about all integers and endless streams: which, in words."""

from __future__ import annotations

from math import prod

from dpcheck.align.neighbors import differences
from dpcheck.align.windows import Size, forgets_noise, round_of, thinned
from dpcheck.model.program import Mechanism
from dpcheck.model.values import value_text

MAX_INPUTS = 750
"""Windows have at most so many inputs: above-threshold with 729 takes a second."""

MAX_INPUTS_OF_STREAMS = 250
"""The same for windows of streams that have all inputs, four rounds on -1..1, seven on 0..1."""

MAX_COSTLY_INPUTS = 32
"""The same with a parameter, or an analyst who adapts, where a window costs ten times as much."""

MAX_THINNED = 8
"""Of numbers that are too many even on 0..1, so many inputs: a hundred counts take 3 s."""

WIDTHS = ((0, 0), (0, 1), (-1, 1), (-2, 2), (-4, 4))
"""The integers of windows, from the first to the last."""

MAX_ROUNDS = 20
"""Bounds the rounds of a stream that are tried to refute a claim."""

MAX_ROUNDS_FOR_ALL = 10
"""The same for all values of a parameter: 1.2 s, where each further round doubles that."""

MAX_SEQUENCES = 512
"""Windows with more sequences of outputs are not made longer: nine rounds of two answers."""

MAX_SEQUENCES_FOR_ALL = 128
"""The same for all values of a parameter, where seven rounds take five seconds."""

MAX_STATES_GOING_ON = 25_000
"""Nor are those with more states: where every round keeps noise nine have more, after 20 s."""

MOST_REPEATED = 2
"""So many rounds come again in endless windows: two are enough for pairs of answers that differ."""


def sizes_to_try(mechanism: Mechanism, *, is_for_all: bool) -> list[Size]:
    """Return the windows to look at, by their number of inputs; those without end may be first.

    What has no bound fails for all values of a parameter, not for some.
    """
    most = MAX_INPUTS_OF_STREAMS if round_of(mechanism) is not None else MAX_INPUTS
    is_costly = is_for_all or mechanism.has_queries
    sizes = _sizes(mechanism, MAX_COSTLY_INPUTS if is_costly else most)
    return sorted(sizes, key=lambda size: is_for_all and not size.is_endless)


def smallest_size(mechanism: Mechanism) -> Size:
    """Return the window with the fewest inputs."""
    return _sizes(mechanism, MAX_COSTLY_INPUTS)[0]


def may_be_longer(size: Size, n_sequences: int | None, n_states: int, *, is_for_all: bool) -> bool:
    """Return whether after a window of a stream with so many sequences longer ones are tried."""
    enough = MAX_SEQUENCES_FOR_ALL if is_for_all else MAX_SEQUENCES
    most = MAX_ROUNDS_FOR_ALL if is_for_all else MAX_ROUNDS
    is_small = n_sequences is not None and n_sequences <= enough and n_states <= MAX_STATES_GOING_ON
    return size.n_rounds < most and is_small and not size.is_endless


def _sizes(mechanism: Mechanism, most: int) -> list[Size]:
    """Return the windows with so many inputs at most, by that number; one at least."""
    rounds = range(1, MAX_ROUNDS + 1) if round_of(mechanism) is not None else (1,)
    widths = {1: WIDTHS}  # where all inputs are alike nothing is lost: it shows mistakes
    far = max(
        (max(-low, high) for case in differences(mechanism) for _, low, high in case.ranges),
        default=1,
    )
    steps = (1,) if far <= 1 else (1, far)
    sizes = [
        Size(n, *ends, step) for n in rounds for ends in widths.get(n, WIDTHS[1:]) for step in steps
    ]
    if round_of(mechanism) is not None and forgets_noise(mechanism):
        has_streams = any(one.is_stream for one in mechanism.inputs)
        periods = range(1, MOST_REPEATED + 1) if has_streams else (1,)
        sizes += [Size(n, 0, 1, step, is_endless=True) for n in periods for step in steps]
    counts = {size: _n_inputs(mechanism, size) for size in sizes}
    few = [
        size for size in sizes if counts[size] <= most and (size.n_rounds == 1 or counts[size] > 1)
    ]
    # What a few rounds show is shown by them, not by rounds without end.
    order = {size: (counts[size], -size.step, size.n_rounds + 5 * size.is_endless) for size in few}
    few = sorted(few, key=order.__getitem__) or sizes[:1]
    if round_of(mechanism) is None and all(size.low == size.high for size in few):
        few += [thinned(mechanism, Size(1, 0, 1, step), MAX_THINNED) for step in steps]
    return few


def _n_inputs(mechanism: Mechanism, size: Size) -> int:
    integers = size.high - size.low + 1
    return prod(
        (integers if one.is_unbounded else one.domain.size)
        ** (size.n_rounds if one.is_stream else len(one.cells))
        for one in mechanism.inputs
    )


def size_text(size: Size, mechanism: Mechanism) -> str:
    """Return which outputs and inputs a window has, in words."""
    outputs = "" if round_of(mechanism) is None else f"in the first {size.n_rounds} outputs, "
    if size.is_endless:
        outputs = "in outputs without end, "
    return f"{outputs}on {value_text(size.integers)}"
