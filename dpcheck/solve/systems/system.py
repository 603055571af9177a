"""Linear systems x = Q x + b with a substochastic Q and 0 <= x <= 1.

    D_s x_s = b_s + Σ_j n_sj x_j        for every state s,

n, b >= 0 and D > 0 whole (as in `chain`), b_s + Σ_j n_sj <= D_s. From every
state a path leads to a row that loses mass to b or to nowhere, so I - Q is a non-singular M-matrix:
the solution is unique and monotone in b.
"""

from __future__ import annotations

import numpy as np

from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.graph import Graph
from dpcheck.chain.weights.rows import indptr_of, ranges
from dpcheck.records import dataclass


@dataclass(frozen=True, eq=False)
class System:
    """graph: the entries of Q by rows; numerators [n_entries], denominators and constants [n].

    home: the graph of the chain that the equations are about; what is made for them may be kept as
    long as that is.
    """

    graph: Graph
    numerators: WeightArray
    denominators: WeightArray
    constants: WeightArray
    home: Graph | None = None

    @property
    def n_states(self) -> int:
        """The number of unknowns."""
        return self.graph.n_states

    @property
    def is_rational(self) -> bool:
        """Whether every weight is an integer."""
        return all(
            weights.dtype == np.int64 or all(isinstance(w, int) for w in weights)
            for weights in (self.numerators, self.denominators, self.constants)
        )

    def restricted(self, states: IntArray) -> System:
        """Return the system of the given states [n], in their order; no entry may leave them."""
        lengths = self.graph.degrees[states]
        entries = ranges(self.graph.indptr[states], lengths)
        place = np.full(self.n_states, -1, np.int64)
        place[states] = np.arange(len(states))
        return System(
            Graph(indptr_of(lengths), place[self.graph.targets[entries]]),
            self.numerators[entries],
            self.denominators[states],
            self.constants[states],
            self.home,
        )


def without_self_loops(system: System) -> System:
    """Return the same equations solved for x_s in every row: a self-loop n leaves it over D - n.

    (D - n) x_s = b_s + ... is D x_s = b_s + n x_s + ..., and D - n > 0 as the row loses mass.
    """
    graph = system.graph
    loops = np.flatnonzero(graph.sources == graph.targets)
    if not len(loops):
        return system
    denominators = system.denominators.copy()
    denominators[graph.sources[loops]] -= system.numerators[loops]
    kept = graph.sources != graph.targets
    lengths = np.bincount(graph.sources[kept], minlength=graph.n_states)
    inner = Graph(indptr_of(lengths), graph.targets[kept])
    return System(inner, system.numerators[kept], denominators, system.constants, system.home)
