"""What merged prefixes say about events: the worst ones of all pairs, in words and sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cmp_to_key
from heapq import nlargest

from dpcheck.check.evidence import futures
from dpcheck.check.evidence.merged_prefixes import IN_THE_LONG_RUN, UNSEEN, Masses, MergedPrefixes
from dpcheck.check.values import event_text
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import OutputSequence, Phrase
from dpcheck.exact import Number, Whole, compare, divide, excess_sign, multiply, number, subtract
from dpcheck.limits import Limits
from dpcheck.records import dataclass, field

Wanted = Callable[[Whole, Whole], bool]
Better = Callable[[EventGap, EventGap], bool]
by_size = cmp_to_key(compare)
SEEN_IN_THE_LONG_RUN = Phrase.of("what is seen on one side only, in the long run")
_MANY = 10**18
"""So many sequences are not counted for people."""
_TURNS = 64
"""Outputs more than there are nodes, along which sequences through cycles are looked for."""
_BEAM = 8
"""Runs that are followed at once in search of the heaviest: a display, not a verdict."""


@dataclass(frozen=True, eq=False)
class MergedEvidence:
    """What a loss graph says about its pairs of neighbors."""

    graph: MergedPrefixes
    output_text: Callable[[int], str]
    limits: Limits = field(default_factory=Limits)

    @property
    def tells_in_the_long_run(self) -> bool:
        """Return whether some of its events are shown by no finite number of outputs."""
        return self.graph.tells_in_the_long_run

    def worst_ratio(self) -> EventGap | None:
        """Return the event of all sequences with the largest ratio, where it is likeliest.

        None where every ratio is 1.
        """
        worst = self._worst_loss()
        return None if worst == (1, 1) else self._best(lambda p, q: (p, q) == worst, likelier)

    def _worst_loss(self) -> tuple[Whole, Whole]:
        """Return the sides of the largest ratio of a leaf, in lowest terms; from 1 : 1 on."""
        worst: tuple[Whole, Whole] = 1, 1
        for _, first, second in self.graph.leaf_nodes:
            for p, q in ((first, second), (second, first)):
                if p * worst[1] > worst[0] * q:
                    worst = p, q
        return worst

    def worst_gap(self, factor: ExpFactor) -> EventGap | None:
        """Return p - E q, the largest over all events, pairs and directions."""
        return self._best(exceeding(factor), exceeding_more(factor))

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> event_text.EventText:
        """Return a gap's event in words, and sequences that carry much of it."""
        event = self._event(wanted_of(gap, factor), is_forward=gap.is_forward)
        root = self.graph.roots[gap.pair]
        runs = self._heavy_runs(root, event, is_forward=gap.is_forward)
        if gap.q == 0 and self.tells_in_the_long_run:
            return event_text.EventText(SEEN_IN_THE_LONG_RUN, runs)
        n_sequences = self._n_sequences(event, root)
        if n_sequences is None or n_sequences > event_text.MAX_LISTED:
            n_told = n_sequences if (n_sequences or 0) < _MANY else None
            words = event_text.many_sequences(n_told, gap, factor)
            if self.tells_in_the_long_run:
                words = Phrase.of(*words.parts, ", in the long run")
            return event_text.EventText(words, runs, n_told)
        return event_text.EventText(event_text.by_value(self._sequences(root, event)), runs)

    def _n_sequences(self, event: AbstractSet[int], root: int) -> int | None:
        """Return how many sequences lead to an event; None where some have no end, or no words."""
        found = [0] * len(self.graph.edges)
        for node in self.graph.order.tolist():
            row = self.graph.edges[node]
            if any(label in (UNSEEN, IN_THE_LONG_RUN) for label, _, _ in row):
                return None
            found[node] = (node in event) + sum(found[child] for _, _, child in row)
        return found[root]

    def _sequences(self, root: int, event: AbstractSet[int]) -> Iterator[OutputSequence]:
        """Yield the sequences that lead to an event."""
        reaching, waiting = self._reaching(event), [(tuple[futures.Label, ...](), root)]
        for shown, node in waiting:
            if node in event:
                yield self._shown(shown)
            row = self.graph.edges[node]
            waiting += [((*shown, label), child) for label, _, child in row if reaching[child]]

    def _event(self, wanted: Wanted, *, is_forward: bool) -> AbstractSet[int]:
        """Return the leaves whose loss is wanted, seen from the first or from the second side."""
        return {
            node
            for node, p, q in self.graph.leaf_nodes
            if (wanted(p, q) if is_forward else wanted(q, p))
        }

    def _best(self, wanted: Wanted, is_better: Better) -> EventGap | None:
        """Return the best event of wanted leaves over all pairs, directions, and strategies."""
        sides = {side: self._masses(wanted, is_better, is_forward=side) for side in (True, False)}
        return best_gap(sides, is_better)

    def _masses(
        self,
        wanted: Wanted,
        is_better: Better,  # noqa: ARG002 - for those who choose
        *,
        is_forward: bool,
    ) -> Masses:
        """Return per pair the probabilities p and q of wanted leaves, [n_pairs]."""
        masses = self.graph.event_masses(self._event(wanted, is_forward=is_forward), self.limits)
        return masses if is_forward else [(p, q) for q, p in masses]

    def _heavy_runs(
        self, root: int, event: AbstractSet[int], *, is_forward: bool
    ) -> tuple[tuple[OutputSequence, Number, Number], ...]:
        """Return heavy sequences of an event: a beam search along prefixes that can reach it."""
        reaching, masses, side = self._reaching(event), self.graph.masses, not is_forward

        def likelihood(weight: Number, node: int) -> Number:
            return multiply(weight, number(masses[node][side]))

        beam: list[tuple[tuple[futures.Label, ...], Number, int]] = [((), 1, root)]
        found: list[tuple[OutputSequence, Number, Number]] = []
        for _ in range(len(self.graph.edges) + _TURNS):
            following: list[tuple[tuple[futures.Label, ...], Number, int]] = []
            for shown, weight, node in beam:
                leaf = self.graph.leaves[node]
                if leaf is not None:
                    p, q = (multiply(weight, number(each)) for each in leaf)
                    run = self._shown(shown)
                    found.append((run, p, q) if is_forward else (run, q, p))
                    continue
                scale, edges = self.graph.one_output(node)
                for label, factor, child in edges:
                    if reaching[child] and label != IN_THE_LONG_RUN:
                        below = multiply(weight, number(factor, scale))
                        following.append(((*shown, label), below, child))
            if not following or (len(found) >= event_text.N_RUNS and self.graph.steps):
                break
            beam = nlargest(_BEAM, following, key=lambda each: by_size(likelihood(*each[1:])))
        return tuple(
            nlargest(event_text.N_RUNS, found, key=lambda run: by_size(subtract(run[1], run[2])))
        )

    def shortest(self, gap: EventGap) -> tuple[tuple[futures.Label, ...], Number, Number]:
        """Return the shortest sequence with the ratio of a gap, the likeliest, and its p and q."""
        event = self._event(wanted_of(gap, None), is_forward=gap.is_forward)
        level: dict[int, tuple[tuple[futures.Label, ...], Number]]
        level, seen = {self.graph.roots[gap.pair]: ((), 1)}, set[int]()
        while not level.keys() & event:
            seen |= level.keys()
            following: dict[int, tuple[tuple[futures.Label, ...], Number]] = {}
            for node, (shown, weight) in level.items():
                scale, edges = self.graph.one_output(node)
                for label, factor, child in edges:
                    below = multiply(weight, number(factor, scale))
                    known = following.get(child)
                    if child not in seen and (known is None or compare(below, known[1]) > 0):
                        following[child] = (*shown, label), below
            assert following, "some sequence has the ratio"
            level = following
        found = []
        for node in level.keys() & event:
            leaf, (shown, weight) = self.graph.leaves[node], level[node]
            assert leaf is not None, "an event is made of leaves"
            p, q = (multiply(weight, number(each)) for each in leaf)
            found.append((shown, p, q) if gap.is_forward else (shown, q, p))
        return max(found, key=lambda each: (by_size(each[1]), each[0]))

    def _reaching(self, event: AbstractSet[int]) -> list[bool]:
        """Return per node whether some leaf of an event is below it."""
        reaching = [False] * len(self.graph.edges)
        for node in self.graph.order.tolist():
            reaching[node] = node in event or any(
                reaching[child] for _, _, child in self.graph.edges[node]
            )
        return reaching

    def _shown(self, labels: tuple[futures.Label, ...]) -> OutputSequence:
        """Return a sequence of labels as outputs and an ending."""
        outputs = [self.output_text(label) for label in labels if label >= 0]
        if labels and labels[-1] == futures.STOPS:
            return event_text.output_sequence(outputs, event_text.STOPPED)
        if labels and labels[-1] == futures.GOES_SILENT:
            return event_text.output_sequence(outputs, event_text.DIVERGED)
        return event_text.output_sequence(outputs, event_text.GOES_ON)


def best_gap(sides: Mapping[bool, Masses], is_better: Better) -> EventGap | None:
    """Return the best gap of events that are possible, of p and q seen from both sides."""
    best: EventGap | None = None
    for is_forward, masses in sides.items():
        for pair, (p, q) in enumerate(masses):
            gap = EventGap(p, q, pair, is_forward)
            if p != 0 and (best is None or is_better(gap, best)):
                best = gap
    return best


def exceeding(factor: ExpFactor) -> Wanted:
    """Return whether p > E q."""
    return lambda p, q: excess_sign(number(p), number(q), factor.epsilon) > 0


def exceeding_more(factor: ExpFactor) -> Better:
    """Return whether p - E q is greater for one event than for another."""
    return lambda left, right: left.exceeds(right, factor)


def wanted_of(gap: EventGap, factor: ExpFactor | None) -> Wanted:
    """Return which leaves belong to the event of a gap; without a factor, of the gap's ratio."""
    if factor is not None:
        return exceeding(factor)
    if gap.q == 0:
        return without_counterpart
    ratio = divide(gap.p, gap.q)
    return lambda p, q: q != 0 and number(p, q) == ratio


def likelier(left: EventGap, right: EventGap) -> bool:
    """Return whether the event of the left gap is likelier on the side of p."""
    return compare(left.p, right.p) > 0


def without_counterpart(p: Whole, q: Whole) -> bool:
    """Return whether q is 0 and p is not."""
    return q == 0 and p != 0
