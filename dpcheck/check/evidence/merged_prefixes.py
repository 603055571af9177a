"""Event-level privacy of pairs whose output sequences are too many to list, by merging prefixes.

After a prefix of outputs, μ and ν are the weights of the states that runs from one and from the
other of two neighbors are in. Let f(μ, ν) be the largest P(S) - E Q(S) over
sets S of ways to go on, or the part of it that lies in sequences of one given ratio. Then

    f(c μ, c ν) = c f(μ, ν)   and   f(μ, ν) = Σ_o f(μ_o, ν_o)   over the next outputs o,

because sequences with different prefixes are disjoint and p > E q does not change when both are
scaled. So two prefixes whose pairs (μ, ν) are proportional carry the same privacy losses and are
merged by adding their weights; and once μ is itself proportional to ν, all that follows has
one loss, and the pair is a leaf. What remains is an acyclic graph of pairs (μ, ν) in lowest terms,
shared by all pairs of neighbors and both directions, on which every quantity is one pass
from the leaves. k independent answers of one person have O(k²) merged prefixes instead of 2^k
sequences; n bits of which one differs have O(n 2^n) instead of 4^n.

Where outputs go on without end, the graph may have cycles, and is exact if it is finite. A
component that is left is replaced by its exits: f solves linear equations there, and prefixes stay
in it with probability 0. In one that is not left, p/q of the prefixes is a martingale under Q that
visits all nodes of the component for ever, and a bounded martingale converges: it is constant,
every way to go on has the loss that the node has, and the node is a leaf. Where the graph is not
finite for ever growing p/q, parts that are never left, but for what one side alone shows, may be
`singular`: there what follows a node is told apart in the long run, and it leads to what one side
alone shows, and what the other does. So does what outputs tell of `hidden` states, to each state.

Where it is not finite, sequences are cut after a number of outputs: a prefix of that length is a
leaf with the weights of μ and ν, for all sequences that begin with it. Nodes are then told apart by
their number of outputs too. These events are coarser than the sequences, and finer the later the
cut, so what they show bounds ε and δ from below. With `shows_cut` the state of the run is shown
where it is cut: what follows is drawn from it alone, in the same way on both sides, so what these
events show bounds ε and δ from above (post-processing), and by less the later the cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.graph import Graph, graph_from, strong_components, topological_layers
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence import futures
from dpcheck.check.evidence.directions import EQUAL, Directions
from dpcheck.check.evidence.hidden import HiddenStates
from dpcheck.exact import Number, Whole, exact_quotient, number, whole_gcd, whole_lcm
from dpcheck.exact.linear import common_row, solve_linear
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.privacy.losses import LossDistribution
from dpcheck.records import dataclass, field

Edge = tuple[futures.Label, Whole, int]
Scaled = tuple[Whole, Whole, Whole]
Masses = list[tuple[Number, Number]]
UNSEEN = -3
"""The label of what is no output: a state that is shown, or the way out of a cycle."""
IN_THE_LONG_RUN = -4
"""The label of an event that is seen by no finite number of outputs (see `singular`)."""
_MAX_ELIMINATED = 400
"""Nodes on one cycle: their equations are solved exactly in about a second."""


@dataclass(frozen=True)
class Parts:
    """Directions that are never left, but for what one side alone shows.

    Their cycles change ratios (`singular`), or do not.
    """

    singular: frozenset[int] = frozenset()
    steady: frozenset[int] = frozenset()


NO_PARTS = Parts()


@dataclass(frozen=True)
class Hidden:
    """States that are seen in the long run, but for pairs of them that show the same."""

    states: HiddenStates
    alike: frozenset[tuple[int, int]] = frozenset()

    def seen_as(self, states: Iterable[int]) -> dict[int, int]:
        """Return for states, which are all seen, one that each shows the same as."""
        found: dict[int, int] = {}
        for s in sorted(states):
            found[s] = next((r for r in found.values() if (r, s) in self.alike), s)
        return found


@dataclass(frozen=True, eq=False)
class MergedPrefixes:
    """The graph of pairs (μ, ν) in lowest terms, from the pairs of neighbors down to leaves.

    roots [n_pairs] nodes. For an inner node n, `edges[n]` are (label, weight, node): the output
    shown or how the run ends, a weight over `scales[n]`, and what follows. For a leaf, `leaves[n]`
    is (p, q), coprime; None else. `masses[n]` are the total weights of μ and ν of a node, and
    `order` lists nodes after their successors. A node on a cycle has edges to where prefixes leave
    it; `steps` has the scale and the edges of single outputs there.
    """

    roots: list[int]
    edges: list[list[Edge]]
    scales: list[Whole]
    leaves: list[tuple[Whole, Whole] | None]
    masses: list[tuple[Whole, Whole]]
    order: IntArray
    steps: dict[int, tuple[Whole, list[Edge]]] = field(default_factory=dict)

    @cached_property
    def leaf_nodes(self) -> list[tuple[int, Whole, Whole]]:
        """The leaves as (node, p, q)."""
        return [(n, *leaf) for n, leaf in enumerate(self.leaves) if leaf is not None]

    @cached_property
    def tells_in_the_long_run(self) -> bool:
        """Whether some events are seen in the long run only."""
        return any(label == IN_THE_LONG_RUN for row in self.edges for label, _, _ in row)

    def one_output(self, node: int) -> tuple[Whole, list[Edge]]:
        """Return the scale and the edges of a node, each of one output."""
        return self.steps.get(node) or (self.scales[node], self.edges[node])

    def event_masses(self, event: AbstractSet[int], limits: Limits) -> Masses:
        """Return per root the probabilities of an event, a set of leaves, from both sides."""
        found: dict[int, Scaled] = {}
        for at, node in enumerate(self.order.tolist()):
            if at % futures.CHECKED_EVERY == 0:
                limits.check_time("privacy losses added up")
            leaf = self.leaves[node]
            if leaf is not None:
                found[node] = (*leaf, 1) if node in event else (0, 0, 1)
                continue
            p_mass: tuple[Whole, Whole] = (0, 1)
            q_mass: tuple[Whole, Whole] = (0, 1)
            for _, factor, child in self.edges[node]:
                p, q, scale = found[child]
                p_mass = _sum(p_mass, (factor * p, scale))
                q_mass = _sum(q_mass, (factor * q, scale))
            found[node] = p_mass[0], q_mass[0], p_mass[1] * self.scales[node]
        scaled = [found[root] for root in self.roots]
        return [(number(p, scale), number(q, scale)) for p, q, scale in scaled]

    def losses(self, pair: int) -> LossDistribution:
        """Return the privacy losses of a pair: the leaves below its root, by ratio."""
        profile = self._profile(self.roots[pair])
        return LossDistribution.of(
            (number(above * p, below), number(above * q, below))
            for node, p, q in self.leaf_nodes
            if node in profile
            for above, below in [profile[node]]
        )

    def _profile(self, root: int) -> dict[int, tuple[Whole, Whole]]:
        """Return the weights (numerator, denominator) of the leaves below a root.

        Weights of one depth mostly share a denominator, so nothing is reduced on the way.
        """
        weights: dict[int, tuple[Whole, Whole]] = {root: (1, 1)}
        profile: dict[int, tuple[Whole, Whole]] = {}
        for node in reversed(self.order.tolist()):
            weight = weights.pop(node, None)
            if weight is None:
                continue
            if self.leaves[node] is not None:
                profile[node] = weight
                continue
            above, below = weight[0], weight[1] * self.scales[node]
            for _, factor, child in self.edges[node]:
                weights[child] = _sum(weights.get(child, (0, 1)), (above * factor, below))
        return profile


def _sum(left: tuple[Whole, Whole], right: tuple[Whole, Whole]) -> tuple[Whole, Whole]:
    """Return the sum of two (numerator, denominator), over their least common denominator."""
    if left[0] == 0 and left[1] == 1:
        return right
    if left[1] == right[1]:
        return left[0] + right[0], left[1]
    below = whole_lcm(left[1], right[1])
    above = left[0] * exact_quotient(below, left[1]) + right[0] * exact_quotient(below, right[1])
    return above, below


def merge_prefixes(chain: Chain, pairs: IntArray, limits: Limits) -> MergedPrefixes:
    """Return the graph for pairs [n_pairs, 2] of states of a chain with one output per transition.

    The caller knows that sequences are finitely many.
    """
    directions = Directions(futures.futures_of(chain, distinct(pairs), limits))
    found = merged(directions, pairs, limits)
    assert found is not None, "finitely many output sequences have no cycle"
    return found


def merged(
    directions: Directions,
    pairs: IntArray,
    limits: Limits,
    *,
    depth: int | None = None,
    shows_cut: bool = False,
    parts: Parts = NO_PARTS,
    hidden: Hidden | None = None,
) -> MergedPrefixes | None:
    """Return the graph for pairs [n_pairs, 2] of states, None where its cycles are too large.

    With `hidden` no more outputs are followed where these show all states in the long run.
    Raises `LimitReached` where there are too many nodes, as surely where they are not finite.
    """
    builder = _Builder(directions, limits, depth, parts, shows_cut=shows_cut, hidden=hidden)
    roots = [
        builder.node(directions.of_states(first, second), 1, 1, 0)[0]
        for first, second in pairs.tolist()
    ]
    builder.expand_all()
    if not builder.leave_cycles():
        return None
    return MergedPrefixes(
        roots,
        builder.edges,
        builder.scales,
        builder.leaves,
        builder.masses,
        _order(builder.edges),
        builder.steps,
    )


def _order(edges: list[list[Edge]]) -> IntArray:
    """Return the nodes [n_nodes] so that successors come first."""
    layers = topological_layers(_graph(edges))
    assert layers is not None, "cycles were left"
    return layers[0]


def _graph(edges: list[list[Edge]]) -> Graph:
    """Return the graph of the edges."""
    return graph_from([[node for _, _, node in row] for row in edges])


class _Builder:
    """The graph under construction; nodes are expanded in the order they were found.

    A node is a direction, the coprime factors of its sides, and a level: the number of outputs
    before it where they are counted (`depth`), else 0.
    """

    def __init__(
        self,
        directions: Directions,
        limits: Limits,
        depth: int | None,
        parts: Parts,
        *,
        shows_cut: bool,
        hidden: Hidden | None,
    ) -> None:
        self.directions = directions
        self.limits = limits
        self.depth = depth
        self.parts = parts
        self.shows_cut = shows_cut
        self.hidden = hidden
        self.numbers: dict[tuple[int, Whole, Whole, int], int] = {}
        self.found: list[tuple[int, Whole, Whole, int]] = []
        self.edges: list[list[Edge]] = []
        self.scales: list[Whole] = []
        self.leaves: list[tuple[Whole, Whole] | None] = []
        self.masses: list[tuple[Whole, Whole]] = []
        self.steps: dict[int, tuple[Whole, list[Edge]]] = {}

    def node(self, direction: int, p: Whole, q: Whole, level: int) -> tuple[int, Whole]:
        """Return the node of a direction with coprime factors, and what else was taken out."""
        if direction == EQUAL:
            return self._leaf(p, q), 1
        mu, nu = self.directions.masses[direction]
        is_cut = level == self.depth and not self.shows_cut
        if is_cut or direction in self.parts.steady:
            return self._scaled_leaf(p * mu, q * nu)
        return self._known(direction, p, q, level, (p * mu, q * nu)), 1

    def _scaled_leaf(self, p: Whole, q: Whole) -> tuple[int, Whole]:
        """Return the leaf with the loss p : q, and the factor taken out."""
        divisor = whole_gcd(p, q)
        return self._leaf(exact_quotient(p, divisor), exact_quotient(q, divisor)), divisor

    def _leaf(self, p: Whole, q: Whole) -> int:
        """Return the leaf with a loss in lowest terms."""
        node = self._known(EQUAL, p, q, 0, (p, q))
        self.leaves[node] = p, q
        return node

    def _known(
        self, direction: int, p: Whole, q: Whole, level: int, masses: tuple[Whole, Whole]
    ) -> int:
        """Return the node with a key, made if need be."""
        key = direction, p, q, level
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.found)
            self.found.append(key)
            self.edges.append([])
            self.scales.append(1)
            self.leaves.append(None)
            self.masses.append(masses)
        return known

    def expand_all(self) -> None:
        """Fill in the edges of all nodes, found ones included."""
        node = 0
        while node < len(self.found):
            if node % futures.CHECKED_EVERY == 0:
                self.limits.check_time(f"{len(self.found)} merged prefixes found")
                check_number(len(self.found), self.limits)
            direction, p, q, level = self.found[node]
            if self.leaves[node] is None and level == self.depth:
                self._show_states(node, direction, p, q, UNSEEN)
            elif direction in self.parts.singular:
                self._tell_apart(node, *self.masses[node])
            elif self._shows_states_later(node, direction):
                self._show_states(node, direction, p, q, IN_THE_LONG_RUN)
            elif self.leaves[node] is None:
                self._expand(node, direction, p, q, level if self.depth is None else level + 1)
            node += 1

    def _expand(self, node: int, direction: int, p: Whole, q: Whole, level: int) -> None:
        """Fill in the edges of a node, to nodes of a level.

        gcd(p a, q b) = gcd(p, b) gcd(q, a) where p, q and a, b are coprime; p and q may be long,
        but a and b are short.
        """
        self.scales[node], steps = self.directions.steps(direction)
        for label, weight, target, a, b in steps:
            first, second = whole_gcd(p, b), whole_gcd(q, a)
            child, divisor = self.node(
                target,
                exact_quotient(p, first) * exact_quotient(a, second),
                exact_quotient(q, second) * exact_quotient(b, first),
                level,
            )
            self.edges[node].append((label, weight * first * second * divisor, child))

    def _shows_states_later(self, node: int, direction: int) -> bool:
        """Return whether outputs after a node tell in the long run which state a run is in."""
        if self.hidden is None or self.leaves[node] is not None:
            return False
        return self.hidden.states.are_seen(self.directions.beliefs[direction])

    def _show_states(self, node: int, direction: int, p: Whole, q: Whole, label: int) -> None:
        """Fill in the edges of a node to the states of the runs, as the label says seen or not."""
        mu, nu = map(dict, self.directions.beliefs[direction])
        shown: dict[int, tuple[Whole, Whole]] = {}
        for s, alike in self._seen_as({**mu, **nu}, label).items():
            a, b = shown.get(alike, (0, 0))
            shown[alike] = a + mu.get(s, 0), b + nu.get(s, 0)
        for a, b in shown.values():
            leaf, divisor = self._scaled_leaf(p * a, q * b)
            self.edges[node].append((label, divisor, leaf))

    def _seen_as(self, states: Iterable[int], label: int) -> dict[int, int]:
        """Return as what each of some states is shown."""
        if self.hidden is None or label == UNSEEN:
            return {s: s for s in states}
        return self.hidden.seen_as(states)

    def _tell_apart(self, node: int, p: Whole, q: Whole) -> None:
        """Fill in the edges of a node to the events that one side alone shows in the long run."""
        edges = (p, self._leaf(1, 0)), (q, self._leaf(0, 1))
        self.edges[node] = [(IN_THE_LONG_RUN, mass, leaf) for mass, leaf in edges]

    def leave_cycles(self) -> bool:
        """Replace edges along cycles by those that leave them; False if some are too many."""
        graph = _graph(self.edges)
        if topological_layers(graph) is not None:
            return True
        component, count = strong_components(graph)
        groups: list[list[int]] = [[] for _ in range(count)]
        for node, k in enumerate(component.tolist()):
            groups[k].append(node)
        for group in groups:
            inside = set(group)
            following = {child for node in group for _, _, child in self.edges[node]}
            if not following & inside:
                continue
            if following <= inside:
                self._end(group)
            elif len(group) > _MAX_ELIMINATED:
                return False
            else:
                self._eliminate(group)
        return True

    def _end(self, group: list[int]) -> None:
        """Let nodes that are never left lead to the leaf of the ratio that all of them have."""
        leaves = set()
        for node in group:
            leaf, divisor = self._scaled_leaf(*self.masses[node])
            self.edges[node], self.scales[node] = [(UNSEEN, divisor, leaf)], 1
            leaves.add(leaf)
        assert len(leaves) == 1, "a martingale that stays among finitely many values is constant"

    def _eliminate(self, group: list[int]) -> None:
        """Replace the edges of nodes on cycles by rows over the nodes outside.

        With the weights of ν taken into account the rows are those of Q's prefixes, substochastic,
        and they leave the group with probability 1.
        """
        self.limits.check_time(f"before elimination of a cycle of {len(group)} merged prefixes")
        place = {node: k for k, node in enumerate(group)}
        edges = [(place[n], weight, child) for n in group for _, weight, child in self.edges[n]]
        rows = solve_linear(
            [self.scales[node] for node in group],
            [(k, place[child], weight) for k, weight, child in edges if child in place],
            [(k, child, weight) for k, weight, child in edges if child not in place],
        )
        for node, row in zip(group, rows, strict=True):
            self.steps[node] = self.scales[node], self.edges[node]
            numerators, self.scales[node] = common_row(row)
            self.edges[node] = [(UNSEEN, weight, child) for child, weight in numerators.items()]


def check_number(n_found: int, limits: Limits) -> None:
    """Raise `LimitReached` when there are too many merged prefixes: each is worth five states."""
    if 5 * n_found > limits.max_states:
        limit = Limit("states", limits.max_states // 5, "merged prefixes of outputs")
        charged = f"five states of the {limits.max_states} allowed are charged for each"
        raise LimitReached(limit, charged)
