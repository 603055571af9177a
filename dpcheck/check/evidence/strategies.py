"""The worst analyst who adapts: merged prefixes with choices among them.

A `query c in S` is a uniform draw of c that is shown, so after it the weights of both sides are
those of runs in which c was asked, times 1/|S|. What an analyst makes of a node (μ, ν), for
neighbors who face the same strategy, is

    f(μ, ν) = Σ_o f(μ_o, ν_o) + Σ_offers |S| max_c f(μ_c, ν_c)

over the outputs o and the choices c of each offer that is made. Outputs and offers are seen, and so
are choices, hence deterministic strategies that look at nothing else attain the maximum: f is a sum
of functions of what each history leaves, and histories are told apart. f is homogeneous, so that
prefixes with proportional weights still merge. A ratio of two probabilities has the factor 1/|S|
on both sides: no strategy occurs in it, and ε for δ = 0 is that of the worst word of choices and
outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import groupby

from dpcheck.check.evidence.merged_prefixes import (
    Better,
    Edge,
    MergedEvidence,
    MergedPrefixes,
    Wanted,
    exceeding,
    without_counterpart,
)
from dpcheck.check.values.event_text import EventText
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.exact import Number, Whole, add, compare, divide, multiply, number
from dpcheck.privacy.profile import NOTHING, Line, Piece, profile_of_maximum
from dpcheck.records import dataclass, field, replace

Offers = Mapping[int, tuple[object, int]]
"""By label of a choice: what was offered, and how many choices there were."""

MAX_SITUATIONS = 12
"""So many situations of a strategy are shown."""


@dataclass(frozen=True, eq=False)
class StrategyEvidence(MergedEvidence):
    """What a graph of merged prefixes says where some labels are an analyst's choices."""

    offers: Offers = field(default_factory=dict)

    def worst_ratio(self) -> EventGap | None:
        """Return the event of the likeliest word with the largest ratio; None if all are 1."""
        worst: tuple[Whole, Whole] = 1, 1
        for _, first, second in self.graph.leaf_nodes:
            for p, q in ((first, second), (second, first)):
                if p * worst[1] > worst[0] * q:
                    worst = p, q
        if worst == (1, 1):
            return None
        return self._best(lambda p, q: (p, q) == worst, _likelier)

    def profile(self) -> tuple[Piece, ...]:
        """Return δ as a function of E = e^ε, for each E that of the worst strategy."""

        def line_at(factor: Number) -> Line:
            return _line(self.worst_gap(ExpFactor.of_number(factor)))

        return profile_of_maximum(line_at, _line(self._best(without_counterpart, _likelier)))

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> EventText:
        """Return a gap's event in words: choices stand among the outputs of its sequences."""
        wanted, is_better = _asked(gap, factor)
        event = self._event(wanted, is_forward=gap.is_forward)
        played = self.played(event, is_better, is_forward=gap.is_forward)
        return MergedEvidence(played, self.output_text, self.limits).event_text(gap, factor)

    def strategy(self, gap: EventGap, factor: ExpFactor | None) -> list[tuple[str, str]]:
        """Return what the worst analyst asks: what was seen so far, and the choice.

        At most `MAX_SITUATIONS` situations, the shortest first, in which the answer still matters.
        """
        wanted, is_better = _asked(gap, factor)
        event = self._event(wanted, is_forward=gap.is_forward)
        graph = self.played(event, is_better, is_forward=gap.is_forward)
        found: list[tuple[str, str]] = []
        waiting: list[tuple[list[str], int]] = [([], graph.roots[gap.pair])]
        for seen, node in waiting:
            for label, _, child in graph.edges[node]:
                text = self.output_text(label) if label >= 0 else ""
                if label in self.offers:
                    found.append((", then ".join(seen), text))
                if len(found) == MAX_SITUATIONS:
                    return found
                if graph.leaves[child] is None:
                    waiting.append(([*seen, text], child))
        return found

    def played(
        self, event: AbstractSet[int], is_better: Better, *, is_forward: bool
    ) -> MergedPrefixes:
        """Return the graph with the best choice alone of each offer, its weight times |S|."""
        graph = self.graph
        edges: list[list[Edge]] = [[] for _ in graph.edges]
        below: list[tuple[Number, Number]] = [(0, 0) for _ in graph.edges]
        for at, node in enumerate(graph.order.tolist()):
            if at % 1024 == 0:
                self.limits.check_time("choices compared")
            leaf = graph.leaves[node]
            if leaf is not None:
                p, q = (number(each, 1) for each in (leaf if is_forward else leaf[::-1]))
                below[node] = (p, q) if node in event else (0, 0)
                continue
            edges[node] = self._chosen(graph.edges[node], below, is_better)
            below[node] = _total(edges[node], graph.scales[node], below)
        return replace(graph, edges=edges)

    def _chosen(
        self, row: list[Edge], below: list[tuple[Number, Number]], is_better: Better
    ) -> list[Edge]:
        """Return the outputs of a row, and of each offer the best choice."""
        kept = [edge for edge in row if edge[0] not in self.offers]
        choices = [edge for edge in row if edge[0] in self.offers]
        offered = sorted(choices, key=lambda edge: (repr(self.offers[edge[0]][0]), edge[0]))
        for _, alternatives in groupby(offered, key=lambda edge: self.offers[edge[0]][0]):
            best: tuple[EventGap, Edge] | None = None
            for label, weight, child in alternatives:
                p, q = (multiply(number(weight, 1), each) for each in below[child])
                gap = EventGap(p, q, 0, is_forward=True)
                if best is None or is_better(gap, best[0]):
                    best = gap, (label, weight * self.offers[label][1], child)
            assert best is not None, "an offer has a choice"
            kept.append(best[1])
        return kept


def _total(
    row: list[Edge], scale: Whole, below: list[tuple[Number, Number]]
) -> tuple[Number, Number]:
    """Return the weights of an event below a node, from those below its successors."""
    p: Number = 0
    q: Number = 0
    for _, weight, child in row:
        share = number(weight, scale)
        p, q = add(p, multiply(share, below[child][0])), add(q, multiply(share, below[child][1]))
    return p, q


def _likelier(left: EventGap, right: EventGap) -> bool:
    return compare(left.p, right.p) > 0


def _line(gap: EventGap | None) -> Line:
    return NOTHING if gap is None else Line(gap.p, gap.q, gap.pair, gap.is_forward)


def _asked(gap: EventGap, factor: ExpFactor | None) -> tuple[Wanted, Better]:
    """Return which leaves belong to the event of a gap, and what its strategy maximizes."""
    if factor is not None:
        return exceeding(factor), lambda left, right: left.exceeds(right, factor)
    if gap.q == 0:
        return without_counterpart, _likelier
    ratio = divide(gap.p, gap.q)
    return lambda p, q: q != 0 and number(p, q) == ratio, _likelier
