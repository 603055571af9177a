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

Where outputs go on without end, sequences are cut after a number of outputs: a prefix of that
length is a leaf with the weights of μ and ν, for all sequences that begin with it. Nodes are
then told apart by their number of outputs too, so that the graph stays acyclic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property, cmp_to_key
from heapq import nlargest
from math import gcd
from typing import Any

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.graph import graph_from, topological_layers
from dpcheck.chain.sets import distinct
from dpcheck.check.evidence.sequences import inner_graph
from dpcheck.check.values.event_text import (
    DIVERGED,
    GOES_ON,
    N_RUNS,
    STOPPED,
    EventText,
    many_sequences,
    output_sequence,
)
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import (
    Number,
    Whole,
    compare,
    divide,
    exact_quotient,
    excess_sign,
    multiply,
    number,
    subtract,
    whole_gcd,
    whole_lcm,
)
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.privacy.losses import LossDistribution
from dpcheck.records import dataclass, field

StateWeights = tuple[tuple[int, Whole], ...]
Label = int
Edge = tuple[Label, Whole, int]
Scaled = tuple[Whole, Whole, Whole]
Wanted = Callable[[Whole, Whole], bool]
Better = Callable[[EventGap, EventGap], bool]
_STOPS, _GOES_SILENT = -1, -2
_CHECKED_EVERY = 1024
"""Nodes between two looks at the clock."""
_FEW_ROOTS = 8
"""So few pairs keep a profile each; of more, all are summed in one pass over the graph."""
_BEAM = 8
"""Runs that are followed at once in search of the heaviest: a display, not a verdict."""


@dataclass(frozen=True, eq=False)
class MergedPrefixes:
    """The graph of pairs (μ, ν) in lowest terms, from the pairs of neighbors down to leaves.

    roots [n_pairs] nodes. For an inner node n, `edges[n]` are (label, weight, node): the output
    shown or how the run ends, a weight over `scales[n]`, and what follows. For a leaf, `leaves[n]`
    is (p, q), coprime; None else. `masses[n]` are the total weights of μ and ν of a node, and
    `order` lists nodes after their successors.
    """

    roots: list[int]
    edges: list[list[Edge]]
    scales: list[Whole]
    leaves: list[tuple[Whole, Whole] | None]
    masses: list[tuple[Whole, Whole]]
    order: IntArray

    @cached_property
    def leaf_nodes(self) -> list[tuple[int, Whole, Whole]]:
        """The leaves as (node, p, q)."""
        return [(n, *leaf) for n, leaf in enumerate(self.leaves) if leaf is not None]

    def event_masses(self, event: AbstractSet[int], limits: Limits) -> list[tuple[Number, Number]]:
        """Return per root the probabilities of an event, a set of leaves, from both sides."""
        if len(self.roots) <= _FEW_ROOTS:
            return [self._mass_in(profile, event) for profile in self._profiles]
        below = self._masses_below(event, limits)
        scaled = [below[root] for root in self.roots]
        return [(number(p, scale), number(q, scale)) for p, q, scale in scaled]

    def losses(self, pair: int) -> LossDistribution:
        """Return the privacy losses of a pair: the leaves below its root, by ratio."""
        profile = self._profiles[pair] if len(self.roots) <= _FEW_ROOTS else None
        profile = self._profile(self.roots[pair]) if profile is None else profile
        return LossDistribution.of(
            (number(above * p, below), number(above * q, below))
            for node, p, q in self.leaf_nodes
            if node in profile
            for above, below in [profile[node]]
        )

    def mass_below(self, root: int, event: AbstractSet[int]) -> tuple[Number, Number]:
        """Return the probabilities of an event from both sides of one root."""
        return self._mass_in(self._profile(root), event)

    @cached_property
    def _profiles(self) -> list[dict[int, tuple[Whole, Whole]]]:
        """Per root the leaves below it with their weights: the distribution of its losses."""
        return [self._profile(root) for root in self.roots]

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
                weights[child] = _sum(weights.get(child), (above * factor, below))
        return profile

    def _mass_in(
        self, profile: dict[int, tuple[Whole, Whole]], event: AbstractSet[int]
    ) -> tuple[Number, Number]:
        """Return the probabilities of an event from both sides, by a root's profile."""
        p_mass: tuple[Whole, Whole] | None = None
        q_mass: tuple[Whole, Whole] | None = None
        for node, p, q in self.leaf_nodes:
            if node in event and node in profile:
                above, below = profile[node]
                p_mass = _sum(p_mass, (above * p, below))
                q_mass = _sum(q_mass, (above * q, below))
        return number(*(p_mass or (0, 1))), number(*(q_mass or (0, 1)))

    def _masses_below(self, event: AbstractSet[int], limits: Limits) -> dict[int, Scaled]:
        """Return per node the weights of an event's leaves below it, from both sides, scaled."""
        found: dict[int, Scaled] = {}
        for at, node in enumerate(self.order.tolist()):
            if at % _CHECKED_EVERY == 0:
                limits.check_time("privacy losses added up")
            leaf = self.leaves[node]
            if leaf is not None:
                found[node] = (*leaf, 1) if node in event else (0, 0, 1)
                continue
            p_mass: tuple[Whole, Whole] | None = None
            q_mass: tuple[Whole, Whole] | None = None
            for _, factor, child in self.edges[node]:
                p, q, scale = found[child]
                p_mass = _sum(p_mass, (factor * p, scale))
                q_mass = _sum(q_mass, (factor * q, scale))
            if p_mass is None or q_mass is None:
                found[node] = (0, 0, 1)
            else:
                found[node] = p_mass[0], q_mass[0], p_mass[1] * self.scales[node]
        return found


def _sum(left: tuple[Whole, Whole] | None, right: tuple[Whole, Whole]) -> tuple[Whole, Whole]:
    """Return the sum of two (numerator, denominator), over their least common denominator."""
    if left is None or (left[0] == 0 and left[1] == 1):
        return right
    if left[1] == right[1]:
        return left[0] + right[0], left[1]
    below = whole_lcm(left[1], right[1])
    above = left[0] * exact_quotient(below, left[1]) + right[0] * exact_quotient(below, right[1])
    return above, below


def merge_prefixes(
    chain: Chain, pairs: IntArray, limits: Limits, *, depth: int | None = None
) -> MergedPrefixes:
    """Return the graph for pairs [n_pairs, 2] of states of a chain with one output per transition.

    With `depth`, sequences are cut after so many outputs; without, the caller knows that they are
    finitely many.
    """
    futures = _futures(chain, distinct(pairs), limits)
    builder = _Builder(futures, limits, depth)
    roots = [
        builder.node(((futures.alike[first], 1),), ((futures.alike[second], 1),), 0)[0]
        for first, second in pairs.tolist()
    ]
    builder.expand_all()
    return MergedPrefixes(
        roots,
        builder.edges,
        builder.scales,
        builder.leaves,
        builder.masses,
        _order(builder.edges),
    )


def _order(edges: list[list[Edge]]) -> IntArray:
    """Return the nodes so that successors come first."""
    layers = topological_layers(graph_from([[node for _, _, node in row] for row in edges]))
    assert layers is not None, "finitely many output sequences have no cycle"
    return layers[0]


class _Builder:
    """The graph under construction; nodes are expanded in the order they were found.

    A node's level is the number of outputs before it where they are counted (`depth`), else 0.
    """

    def __init__(self, futures: _Futures, limits: Limits, depth: int | None) -> None:
        self.futures = futures
        self.limits = limits
        self.depth = depth
        self.numbers: dict[tuple[StateWeights, StateWeights, int], int] = {}
        self.found: list[tuple[StateWeights, StateWeights, int]] = []
        self.edges: list[list[Edge]] = []
        self.scales: list[Whole] = []
        self.leaves: list[tuple[Whole, Whole] | None] = []
        self.masses: list[tuple[Whole, Whole]] = []
        self._single: dict[tuple[int, int], _SingleStep] = {}

    def node(self, mu: StateWeights, nu: StateWeights, level: int) -> tuple[int, Whole]:
        """Return the node of a pair (μ, ν), and the factor taken out."""
        if level == self.depth or _is_alike(mu, nu):
            return self._leaf(_mass(mu), _mass(nu))
        divisor = _common_divisor(weight for _, weight in mu + nu)
        return self._known(_over(mu, divisor), _over(nu, divisor), level), divisor

    def _leaf(self, p: Whole, q: Whole) -> tuple[int, Whole]:
        """Return the leaf with the loss p : q, and the factor taken out."""
        divisor = whole_gcd(p, q)
        p, q = exact_quotient(p, divisor), exact_quotient(q, divisor)
        return self._known_leaf(p, q), divisor

    def _known_leaf(self, p: Whole, q: Whole) -> int:
        """Return the leaf with a loss in lowest terms."""
        node = self._known(((-1, p),), ((-1, q),), 0)
        self.leaves[node] = p, q
        return node

    def _known(self, mu: StateWeights, nu: StateWeights, level: int) -> int:
        """Return the node of a pair (μ, ν) in lowest terms."""
        key = mu, nu, level
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.found)
            self.found.append(key)
            self.edges.append([])
            self.scales.append(1)
            self.leaves.append(None)
            self.masses.append((_mass(mu), _mass(nu)))
        return known

    def expand_all(self) -> None:
        """Fill in the edges of all nodes, found ones included."""
        node = 0
        while node < len(self.found):
            if node % _CHECKED_EVERY == 0:
                self.limits.check_time(f"{len(self.found)} merged prefixes found")
                _check_number(len(self.found), self.limits)
            mu, nu, level = self.found[node]
            following = level if self.depth is None else level + 1
            if self.leaves[node] is None and not self._expand_simply(node, mu, nu, following):
                self._expand(node, mu, nu, following)
            self.found[node] = ((), (), 0)
            node += 1

    def _expand(self, node: int, mu: StateWeights, nu: StateWeights, level: int) -> None:
        """Fill in the edges of a node, to nodes of a level."""
        scale: Whole = 1
        for s, _ in mu + nu:
            scale = whole_lcm(scale, self.futures.rows[s][0])
        after: dict[Label, tuple[dict[int, Whole], dict[int, Whole]]] = {}
        for side, weights in enumerate((mu, nu)):
            for s, weight in weights:
                below, steps = self.futures.rows[s]
                factor = weight * exact_quotient(scale, below)
                for label, following in steps.items():
                    states = after.setdefault(label, ({}, {}))[side]
                    for t, numerator in following:
                        states[t] = states.get(t, 0) + factor * numerator
        self.scales[node] = scale
        for label, (first, second) in after.items():
            target, divisor = self.node(_state_weights(first), _state_weights(second), level)
            self.edges[node].append((label, divisor, target))

    def _expand_simply(self, node: int, mu: StateWeights, nu: StateWeights, level: int) -> bool:
        """Fill in the edges of a node if μ and ν are, and stay, one state each.

        For an output that leads to one state on each side, with weights x and y, g = gcd(x, y):
        gcd(a x, b y) = g · gcd(a, y/g) · gcd(b, x/g) when gcd(a, b) = 1; a and b may be long,
        but x and y are short.
        """
        if len(mu) != 1 or len(nu) != 1:
            return False
        (s, a), (t, b) = mu[0], nu[0]
        step = self._single.get((s, t))
        if step is None:
            step = self._single[s, t] = self._single_step(s, t)
        if step.edges is None or not isinstance(a, int) or not isinstance(b, int):
            return False
        self.scales[node] = step.scale
        for label, g, u, x, v, y in step.edges:
            first, second = gcd(a, y), gcd(b, x)
            p, q = a // first * (x // second), b // second * (y // first)
            is_leaf = u == v or level == self.depth
            target = self._known_leaf(p, q) if is_leaf else self._known(((u, p),), ((v, q),), level)
            self.edges[node].append((label, g * first * second, target))
        return True

    def _single_step(self, s: int, t: int) -> _SingleStep:
        """Return how two single states go on, if each output leads to one state on each side."""
        (below_s, steps_s), (below_t, steps_t) = self.futures.rows[s], self.futures.rows[t]
        scale = whole_lcm(below_s, below_t)
        edges: list[tuple[int, int, int, int, int, int]] = []
        for label in {**steps_s, **steps_t}:
            first, second = steps_s.get(label, []), steps_t.get(label, [])
            if len(first) != 1 or len(second) != 1:
                return _SingleStep(scale, None)
            (u, x), (v, y) = first[0], second[0]
            x, y = x * exact_quotient(scale, below_s), y * exact_quotient(scale, below_t)
            if not isinstance(x, int) or not isinstance(y, int):
                return _SingleStep(scale, None)
            divisor = gcd(x, y)
            edges.append((label, divisor, u, x // divisor, v, y // divisor))
        return _SingleStep(scale, tuple(edges))


def _check_number(n_found: int, limits: Limits) -> None:
    """Raise `LimitReached` when there are too many merged prefixes: each is worth five states."""
    if 5 * n_found > limits.max_states:
        limit = Limit("states", limits.max_states // 5, "merged prefixes of outputs")
        charged = f"five states of the {limits.max_states} allowed are charged for each"
        raise LimitReached(limit, charged)


Row = tuple[Whole, dict[Label, list[tuple[int, Whole]]]]


@dataclass(frozen=True, eq=False)
class _Futures:
    """Which states show the same from here on, and how they go on.

    `alike[s]` stands for all states with the future of s; `rows` are, for those that stand for
    others, the denominator and by label the (target, numerator) pairs.
    """

    alike: dict[int, int]
    rows: dict[int, Row]


def _futures(chain: Chain, sources: IntArray, limits: Limits) -> _Futures:
    """Return the futures of all states that runs from the sources visit.

    From the ends upwards: states whose rows are equal once targets are replaced by what stands for
    them are alike. What a state showed when it was entered belongs to the past. Where states are
    on cycles, each stands for itself.
    """
    states, graph = inner_graph(chain, sources)
    layers = topological_layers(graph)
    futures = _Futures({}, {})
    known: dict[object, int] = {}
    for sink in (chain.stopped, chain.diverged):
        if sink is not None:
            futures.alike[sink] = sink
    if layers is None:
        futures.alike.update((s, s) for s in states.tolist())
        futures.rows.update((s, _future_row(chain, s, futures.alike)[0]) for s in states.tolist())
        return futures
    for at, s in enumerate(states[layers[0]].tolist()):
        if at % _CHECKED_EVERY == 0:
            limits.check_time(f"{at} states compared by what they will show")
        row, content = _future_row(chain, s, futures.alike)
        first = known.setdefault((row[0], content), s)
        futures.alike[s] = first
        if first == s:
            futures.rows[s] = row
    return futures


def _future_row(chain: Chain, state: int, alike: dict[int, int]) -> tuple[Row, frozenset[object]]:
    """Return a state's row among states that stand for others, and its content."""
    low, high = int(chain.indptr[state]), int(chain.indptr[state + 1])
    sums: dict[tuple[Label, int], Whole] = {}
    numerators = chain.numerators[low:high].tolist()
    for t, numerator in zip(chain.targets[low:high].tolist(), numerators, strict=True):
        key = _label(chain, t), alike[t]
        sums[key] = sums.get(key, 0) + numerator
    steps: dict[Label, list[tuple[int, Whole]]] = {}
    for (label, t), weight in sums.items():
        steps.setdefault(label, []).append((t, weight))
    below: Whole = chain.denominators[state : state + 1].tolist()[0]
    return (below, steps), frozenset(sums.items())


def _label(chain: Chain, state: int) -> Label:
    """Return what entering a state shows."""
    if state == chain.stopped:
        return _STOPS
    if state == chain.diverged:
        return _GOES_SILENT
    code = int(chain.observation[state])
    assert code >= 0, "every transition shows an output or ends the run"
    return code


@dataclass(frozen=True, slots=True)
class _SingleStep:
    """How a pair of states goes on: a common scale, and (label, g, u, x, v, y) per output.

    The output leads to u with weight g x and to v with weight g y, x and y coprime. Without
    edges: some output leads to several states, or is possible on one side only.
    """

    scale: Whole
    edges: tuple[tuple[Label, int, int, int, int, int], ...] | None


def _state_weights(weights: dict[int, Whole]) -> StateWeights:
    """Return weights as a tuple that is found again, in the order of the states."""
    return tuple(sorted(weights.items(), key=lambda item: item[0]))


def _common_divisor(weights: Iterable[Whole]) -> Whole:
    """Return the greatest common divisor."""
    divisor: Whole = 0
    for weight in weights:
        divisor = weight if divisor == 0 else whole_gcd(divisor, weight)
        if divisor == 1:
            break
    return divisor


def _over(weights: StateWeights, divisor: Whole) -> StateWeights:
    """Return weights divided by a common divisor."""
    if divisor == 1:
        return weights
    return tuple((s, exact_quotient(weight, divisor)) for s, weight in weights)


def _is_alike(mu: StateWeights, nu: StateWeights) -> bool:
    """Return whether weights are a multiple of others (zero included)."""
    if not mu or not nu:
        return True
    (_, u), (_, v) = mu[0], nu[0]
    return len(mu) == len(nu) and all(
        s == t and x * v == y * u for (s, x), (t, y) in zip(mu, nu, strict=True)
    )


def _mass(weights: StateWeights) -> Whole:
    """Return the total weight."""
    total: Whole = 0
    for _, weight in weights:
        total = total + weight
    return total


def _number(weight: Whole) -> Number:
    """Return a weight as a number."""
    return weight if isinstance(weight, int) else number(weight)


@dataclass(frozen=True, eq=False)
class MergedEvidence:
    """What a loss graph says about its pairs of neighbors."""

    graph: MergedPrefixes
    output_text: Callable[[int], str]
    limits: Limits = field(default_factory=Limits)

    @property
    def n_sequences(self) -> None:
        """Sequences were not listed."""
        return None

    def has_certain_rows(self) -> bool:
        """There are many sequences, so none is certain."""
        return False

    def worst_ratio(self) -> EventGap | None:
        """Return the event of all sequences with the largest ratio, in a pair that has some.

        Of few pairs it is the one where the event is likeliest. None where every ratio is 1.
        """
        worst: tuple[Whole, Whole] = 1, 1
        for _, first, second in self.graph.leaf_nodes:
            for p, q in ((first, second), (second, first)):
                if p * worst[1] > worst[0] * q:
                    worst = p, q
        if worst == (1, 1):
            return None
        if len(self.graph.roots) > _FEW_ROOTS:
            return self._first(lambda p, q: (p, q) == worst)
        return self._best(lambda p, q: (p, q) == worst, lambda a, b: compare(a.p, b.p) > 0)

    def worst_gap(self, factor: ExpFactor) -> EventGap | None:
        """Return p - E q, the largest over all events, pairs and directions."""
        return self._best(exceeding(factor), lambda a, b: a.exceeds(b, factor))

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> EventText:
        """Return a gap's event in words, and sequences that carry much of it."""
        if factor is not None:
            wanted = exceeding(factor)
        elif gap.q == 0:
            wanted = without_counterpart
        else:
            ratio = divide(gap.p, gap.q)
            wanted = lambda p, q: q != 0 and number(p, q) == ratio  # noqa: E731
        event = self._event(wanted, is_forward=gap.is_forward)
        runs = self._heavy_runs(self.graph.roots[gap.pair], event, is_forward=gap.is_forward)
        return EventText(many_sequences(None, gap, factor), runs)

    def _event(self, wanted: Wanted, *, is_forward: bool) -> AbstractSet[int]:
        """Return the leaves whose loss is wanted, seen from the first or from the second side."""
        return {
            node
            for node, p, q in self.graph.leaf_nodes
            if (wanted(p, q) if is_forward else wanted(q, p))
        }

    def _first(self, wanted: Wanted) -> EventGap:
        """Return the event of wanted leaves in the first pair that reaches one."""
        for is_forward in (True, False):
            event = self._event(wanted, is_forward=is_forward)
            reaching = self._reaching(event)
            for pair, root in enumerate(self.graph.roots):
                if reaching[root]:
                    first, second = self.graph.mass_below(root, event)
                    p, q = (first, second) if is_forward else (second, first)
                    return EventGap(p, q, pair, is_forward)
        raise AssertionError("every leaf is below some pair")

    def played(
        self,
        event: AbstractSet[int],  # noqa: ARG002 - for those who choose
        is_better: Better,  # noqa: ARG002
        *,
        is_forward: bool,  # noqa: ARG002
    ) -> MergedPrefixes:
        """Return the graph in which nothing is left to choose; here nobody chooses."""
        return self.graph

    def _best(self, wanted: Wanted, is_better: Better) -> EventGap | None:
        """Return the best event of wanted leaves over all pairs, directions, and strategies."""
        best: EventGap | None = None
        for is_forward in (True, False):
            event = self._event(wanted, is_forward=is_forward)
            if not event:
                continue
            played = self.played(event, is_better, is_forward=is_forward)
            masses = played.event_masses(event, self.limits)
            for pair, (first, second) in enumerate(masses):
                p, q = (first, second) if is_forward else (second, first)
                gap = EventGap(p, q, pair, is_forward)
                if p != 0 and (best is None or is_better(gap, best)):
                    best = gap
        return best

    def _heavy_runs(
        self, root: int, event: AbstractSet[int], *, is_forward: bool
    ) -> tuple[tuple[OutputSequence, Number, Number], ...]:
        """Return heavy sequences of an event: a beam search along prefixes that can reach it."""
        reaching = self._reaching(event)
        beam: list[tuple[tuple[Label, ...], Number, int]] = [((), 1, root)]
        found: list[tuple[OutputSequence, Number, Number]] = []
        while beam:
            following: list[tuple[tuple[Label, ...], Number, int]] = []
            for shown, weight, node in beam:
                leaf = self.graph.leaves[node]
                if leaf is not None:
                    p, q = (multiply(weight, _number(each)) for each in leaf)
                    run = self._shown(shown)
                    found.append((run, p, q) if is_forward else (run, q, p))
                    continue
                for label, factor, child in self.graph.edges[node]:
                    if reaching[child]:
                        below = multiply(weight, number(factor, self.graph.scales[node]))
                        following.append(((*shown, label), below, child))
            beam = nlargest(_BEAM, following, key=cmp_to_key(self._lighter(is_forward)))
        return tuple(nlargest(N_RUNS, found, key=cmp_to_key(_less_different)))

    def _lighter(
        self, is_forward: bool
    ) -> Callable[[tuple[Any, Number, int], tuple[Any, Number, int]], int]:
        """Return a comparison of prefixes by their probability on the side of p."""
        side = 0 if is_forward else 1

        def order(left: tuple[Any, Number, int], right: tuple[Any, Number, int]) -> int:
            masses = self.graph.masses
            return compare(
                multiply(left[1], _number(masses[left[2]][side])),
                multiply(right[1], _number(masses[right[2]][side])),
            )

        return order

    def _reaching(self, event: AbstractSet[int]) -> list[bool]:
        """Return per node whether some leaf of an event is below it."""
        reaching = [False] * len(self.graph.edges)
        for node in self.graph.order.tolist():
            reaching[node] = node in event or any(
                reaching[child] for _, _, child in self.graph.edges[node]
            )
        return reaching

    def _shown(self, labels: tuple[Label, ...]) -> OutputSequence:
        """Return a sequence of labels as outputs and an ending."""
        outputs = [self.output_text(label) for label in labels if label >= 0]
        if labels and labels[-1] == _STOPS:
            return output_sequence(outputs, STOPPED)
        if labels and labels[-1] == _GOES_SILENT:
            return output_sequence(outputs, DIVERGED)
        return output_sequence(outputs, GOES_ON)


def exceeding(factor: ExpFactor) -> Wanted:
    """Return whether p > E q."""
    return lambda p, q: excess_sign(_number(p), _number(q), factor.epsilon) > 0


def without_counterpart(p: Whole, q: Whole) -> bool:
    """Return whether q is 0 and p is not."""
    return q == 0 and p != 0


def _less_different(
    left: tuple[OutputSequence, Number, Number], right: tuple[OutputSequence, Number, Number]
) -> int:
    """Compare two sequences by p - q."""
    return compare(subtract(left[1], left[2]), subtract(right[1], right[2]))
