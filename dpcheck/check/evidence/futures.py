"""What states of a chain will show, and weights of states: the material of merged prefixes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.graph import topological_layers
from dpcheck.check.evidence.sequences import inner_graph
from dpcheck.exact import Whole, exact_quotient, whole_gcd
from dpcheck.limits import Limits
from dpcheck.records import dataclass

StateWeights = tuple[tuple[int, Whole], ...]
Label = int
Row = tuple[Whole, dict[Label, list[tuple[int, Whole]]]]

STOPS, GOES_SILENT = -1, -2
CHECKED_EVERY = 1024
"""States, or nodes, between two looks at the clock."""
_FEWEST_ROUNDS, _MAX_COMPARED = 16, 500_000
"""So many rounds, and looks at a state in more of them, tell states on cycles apart; if these are
not enough, none count as alike."""


@dataclass(frozen=True, eq=False)
class Futures:
    """Which states show the same from here on, and how they go on.

    `alike[s]` stands for all states with the future of s; `rows` are, for those that stand for
    others, the denominator and by label the (target, numerator) pairs.
    """

    alike: dict[int, int]
    rows: dict[int, Row]


def futures_of(chain: Chain, sources: IntArray, limits: Limits) -> Futures:
    """Return the futures of all states that runs from sources [n_sources] visit.

    States whose rows are equal once targets are replaced by what stands for them are alike. What a
    state showed when it was entered belongs to the past. From the ends upwards one pass finds
    them; where there are cycles all states count as alike at first, and are told apart by their
    rows until no row tells more: the coarsest ordinary lumping (Kemeny and Snell, Finite Markov
    Chains, 1960), so that states of one class show every sequence with the same probability.
    """
    inner, graph = inner_graph(chain, sources)
    layers = topological_layers(graph)
    ends = {sink: sink for sink in (chain.stopped, chain.diverged) if sink is not None}
    if layers is None:
        return _told_apart(chain, inner.tolist(), ends, limits)
    futures = Futures(ends, {})
    known: dict[object, int] = {}
    for at, s in enumerate(inner[layers[0]].tolist()):
        _look(at, limits)
        row, content = _future_row(chain, s, futures.alike)
        first = known.setdefault(content, s)
        futures.alike[s] = first
        if first == s:
            futures.rows[s] = row
    return futures


def _told_apart(chain: Chain, states: list[int], ends: dict[int, int], limits: Limits) -> Futures:
    """Return the futures of states on cycles.

    On a long cycle each round may tell only one state apart. Any lumping is exact, that of each
    state alone too: with it less is merged.
    """
    alike = ends | dict.fromkeys(states, states[0])
    n_classes = 1
    for _ in range(_FEWEST_ROUNDS + _MAX_COMPARED // max(len(states), 1)):
        known: dict[object, int] = {}
        finer, rows = dict(ends), {}
        for at, s in enumerate(states):
            _look(at, limits)
            row, content = _future_row(chain, s, alike)
            finer[s] = known.setdefault((alike[s], content), s)
            if finer[s] == s:
                rows[s] = row
        if len(known) == n_classes:
            return Futures(alike, rows)
        alike, n_classes = finer, len(known)
    alone = Futures(ends | {s: s for s in states}, {})
    for at, s in enumerate(states):
        _look(at, limits)
        alone.rows[s] = _future_row(chain, s, alone.alike)[0]
    return alone


def _look(at: int, limits: Limits) -> None:
    if at % CHECKED_EVERY == 0:
        limits.check_time(f"{at} states compared by what they will show")


def _future_row(chain: Chain, state: int, alike: dict[int, int]) -> tuple[Row, object]:
    """Return a state's row among states that stand for others, and its content."""
    below, row = chain.row(state)
    sums: dict[tuple[Label, int], Whole] = {}
    for t, numerator in row:
        key = _label(chain, t), alike[t]
        sums[key] = sums.get(key, 0) + numerator
    divisor = common_divisor((below, *sums.values()))
    steps: dict[Label, list[tuple[int, Whole]]] = {}
    for key, weight in sums.items():
        sums[key] = exact_quotient(weight, divisor)
        steps.setdefault(key[0], []).append((key[1], sums[key]))
    below = exact_quotient(below, divisor)
    return (below, steps), (below, frozenset(sums.items()))


def _label(chain: Chain, state: int) -> Label:
    """Return what entering a state shows."""
    if state == chain.stopped:
        return STOPS
    if state == chain.diverged:
        return GOES_SILENT
    code = int(chain.observation[state])
    assert code >= 0, "every transition shows an output or ends the run"
    return code


def state_weights(weights: dict[int, Whole]) -> StateWeights:
    """Return weights as a tuple that is found again, in the order of the states."""
    return tuple(sorted(weights.items(), key=lambda item: item[0]))


def common_divisor(weights: Iterable[Whole]) -> Whole:
    """Return the greatest common divisor."""
    divisor: Whole = 0
    for weight in weights:
        divisor = weight if divisor == 0 else whole_gcd(divisor, weight)
        if divisor == 1:
            break
    return divisor


def mass(weights: StateWeights) -> Whole:
    """Return the total weight."""
    return reduce(add, (weight for _, weight in weights), 0)
