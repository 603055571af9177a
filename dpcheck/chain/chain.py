"""Labelled Markov chains with a neighbor relation, as arrays.

A chain has states `0 .. n_states-1`. The last states are the sinks: † (`stopped`), and, where
some run goes silent forever, `diverged`; each has a self-loop. Row s of the transition matrix is

    P(s, targets[j]) = numerators[j] / denominators[s]   for indptr[s] <= j < indptr[s+1],

targets strictly increasing within a row. Numerators and denominators are whole: int64 while every
denominator is below 2^62 (a probability is at most 1, so a numerator never exceeds its
denominator), else Python integers, or elements of ℤ[e^r] (`exact.ExpPolynomial`) in object arrays.
Invariant: the numerators of a row sum to its denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.exact import Number, Whole, as_fraction, number
from dpcheck.records import dataclass, field

if TYPE_CHECKING:  # importing numpy.typing takes as long as a small check
    import networkx as nx
    from numpy.typing import NDArray

    from dpcheck.limits import Limits

    IntArray = NDArray[np.int64]
    BoolArray = NDArray[np.bool_]
    WeightArray = NDArray[np.int64] | NDArray[np.object_]
else:
    IntArray = BoolArray = WeightArray = np.ndarray


@dataclass(frozen=True, eq=False)
class NeighborRelation:
    """Unordered pairs of neighboring states, without self-pairs or repeats.

    pairs: [n_pairs, 2], each row (s, t) with s < t, sorted lexicographically.
    `later` [n_later, 2] are the pairs of later states (mechanisms with nested D only): states
    that runs from neighboring inputs reach at one program point with equal outputs and equal
    results of every `~`. `doubtful` [n_doubtful, 2] are pairs of states that stand for infinitely
    many, or follow such, of which some may be neighbors like that; both may be one state.
    `lock_step` explores anew, and returns what finds the pairs of states [m, 2] that runs come to
    next in lock step from some pairs [n, 2]; doubtful ones are left out. `draw_alike` tells that
    such runs draw numbers without bounds at the same places of the program.
    """

    pairs: IntArray
    later: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    doubtful: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    lock_step: Callable[[Limits], Callable[[IntArray], IntArray]] | None = None
    draw_alike: bool = True

    def to_networkx(self) -> nx.Graph[int]:
        """Return the graph of `pairs`; states without neighbors are left out."""
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph()
        graph.add_edges_from(self.pairs.tolist())
        return graph


@dataclass(frozen=True)
class Gap:
    """How many numbers lie between two that are next to each other: exactly, or at least."""

    length: int
    is_known: bool


@dataclass(frozen=True, eq=False)
class Order:
    """States that hold all the same but for the gaps between some numbers, n_1, n_2, ... >= 0.

    The probability of a path formula is a sum of products, Σ_k a_k Π_j ρ_kj^(n_j), where ρ_kj is
    one of ratios[j], from 1 downwards. `near` are the states where n_j is below the number of
    these, the last gap running fastest.
    """

    near: tuple[int, ...]
    ratios: tuple[tuple[Number, ...], ...]


@dataclass(frozen=True)
class Partner:
    """A neighbor of each state of an order: one of another order, its gap so much longer.

    Or one state, whatever the gap.
    """

    order: Order | None
    longer: int = 0
    state: int = -1


@dataclass(frozen=True, eq=False)
class Partners:
    """The neighbors of states that may stand for several, or follow such, as far as these are told.

    At `states` [n] no pair is doubtful. Those there that hold one gap, of `depth` or more, have the
    partners `of_orders`; others, beside the neighbors that are known, all the states so far out of
    some orders, `of_states`.
    """

    states: IntArray
    depth: int
    of_orders: Mapping[Order, AbstractSet[Partner]]
    of_states: Mapping[int, AbstractSet[Order]]


@dataclass(frozen=True, eq=False)
class Ordered:
    """States that remember numbers beyond a window, as far as these are told apart.

    placed: the orders of such states as far as they are known, with their gaps. That is so for
    formulas inside of a path that are alike at all states of each class of `alike`, [n_alike]: no
    more is told apart there. partners: the neighbors of such states, and of those that follow them;
    None if these are not told.
    """

    alike: Sequence[IntArray]
    placed: Callable[[], Mapping[int, tuple[Order, tuple[Gap, ...]]]]
    partners: Callable[[], Partners | None] = lambda: None


@dataclass(frozen=True, eq=False)
class Chain:
    """A finite labelled Markov chain (see the module's first lines for the arrays).

    indptr [n_states+1], targets [n_transitions], numerators [n_transitions],
    denominators [n_states]; initial [n_initial] state numbers in input order;
    observation [n_states]: a code >= 0 of what entering the state shows, -1 if nothing
    (`observation_text` writes a code out); labelling: label -> [n_states] Booleans;
    `state_text` describes a state for people (`x = pos` for an initial state of a mechanism).
    `shows_every_step` tells that every transition shows an output or leads to a sink, as in the
    chain of a mechanism or after `contracted`; a self-loop outside the sinks then shows outputs
    forever, while in an explicit chain a run ends in an absorbing state.
    shows_several: whether a code stands for several outputs, as for all numbers beyond a window.
    known: [n_initial] the number of what everybody knows at an initial state, its public inputs;
    None where nothing is public.
    offers: for codes that are an analyst's choices, what was offered, of how many.
    alike: [n_states] the number of what a state is apart from choices that an analyst has fixed
    beforehand and the claim does not name: states of one number differ in these alone. None where
    nothing is fixed so.
    lumped: states that stand for infinitely many, which remember numbers beyond a window: no
    probability at one of these differs from that at the state by more than the number given.
    orders: what is told of such states: 0 where no formulas are inside of a path, from 1 on ever
    more of gaps between their numbers; None where that is more than the window tells.
    `with_one_end` is the same chain before its sinks were split into copies that remember inputs
    (for formulas that read them); states that are no sinks have the same numbers in both.
    """

    indptr: IntArray
    targets: IntArray
    numerators: WeightArray
    denominators: WeightArray
    initial: IntArray
    neighbors: NeighborRelation
    observation: IntArray
    labelling: Mapping[str, BoolArray]
    stopped: int
    diverged: int | None
    state_text: Callable[[int], str]
    observation_text: Callable[[int], str]
    shows_every_step: bool = False
    shows_several: Callable[[int], bool] = lambda _: False
    known: IntArray | None = None
    offers: Mapping[int, tuple[object, int]] = field(default_factory=dict)
    alike: IntArray | None = None
    lumped: Mapping[int, Number] = field(default_factory=dict)
    orders: Callable[[int], Ordered | None] = lambda _: None
    with_one_end: Chain | None = None

    @property
    def n_states(self) -> int:
        """The number of states, sinks included."""
        return len(self.indptr) - 1

    @property
    def n_sinks(self) -> int:
        """† alone, or † and `diverged`."""
        return 1 if self.diverged is None else 2

    @property
    def n_reported_states(self) -> int:
        """The number of states as reported: the sinks are left out."""
        return self.n_states - self.n_sinks

    @property
    def n_reported_transitions(self) -> int:
        """The number of transitions as reported: those into the sinks are left out."""
        into_sinks = self.targets == self.stopped
        if self.diverged is not None:
            into_sinks = into_sinks | (self.targets == self.diverged)
        return int(len(self.targets) - np.count_nonzero(into_sinks))

    def row(self, state: int) -> tuple[Whole, list[tuple[int, Whole]]]:
        """Return the denominator of a state's row, and each target with its numerator."""
        edges = slice(*self.indptr[state : state + 2].tolist())
        weights: list[Whole] = self.numerators[edges].tolist()
        below: list[Whole] = self.denominators[state : state + 1].tolist()
        return below[0], list(zip(self.targets[edges].tolist(), weights, strict=True))

    def to_networkx(self) -> nx.DiGraph[int]:
        """Return the chain as a graph of networkx, to draw it or to run algorithms on it.

        A node is the number of a state, with `text`, `is_initial`, `labels` (sorted) and `shows`
        (None for nothing); an edge has its exact `probability`, a `Fraction` or an `ExpNumber`.

        >>> import dpcheck
        >>> graph = dpcheck.mechanisms.survey().chain().to_networkx()
        >>> graph.nodes[0]["text"], [graph[0][t]["probability"] for t in sorted(graph[0])]
        ('x = pos', [Fraction(3, 4), Fraction(1, 4)])
        """
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        initial = set(self.initial.tolist())
        for state, shown in enumerate(self.observation.tolist()):
            graph.add_node(
                state,
                text=self.state_text(state),
                is_initial=state in initial,
                labels=sorted(name for name, mask in self.labelling.items() if mask[state]),
                shows=None if shown < 0 else self.observation_text(shown),
            )
        sources = np.arange(self.n_states).repeat(self.indptr[1:] - self.indptr[:-1]).tolist()
        denominators = self.denominators.tolist()
        for s, t, weight in zip(
            sources, self.targets.tolist(), self.numerators.tolist(), strict=True
        ):
            graph.add_edge(s, t, probability=as_fraction(number(weight, denominators[s])))
        return graph
