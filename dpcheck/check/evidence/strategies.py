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

At a node, f is a maximum of lines p - E q in E = e^ε. Where two values of E have one line, it is
that of all between: f is not below it, the line of a strategy, and as f is convex not above it, its
chord. So of a profile, which asks for many E, nodes are settled one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

from dpcheck.check.evidence.futures import Label
from dpcheck.check.evidence.merged_evidence import (
    Better,
    MergedEvidence,
    Wanted,
    best_gap,
    by_size,
    exceeding,
    exceeding_more,
    likelier,
    wanted_of,
    without_counterpart,
)
from dpcheck.check.evidence.merged_prefixes import Edge, Masses, MergedPrefixes
from dpcheck.check.values.event_text import EventText
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import Situation, Strategy, Switch
from dpcheck.exact import Number, Whole, add, multiply, number
from dpcheck.privacy.profile import NOTHING, Line, Piece, profile_of_maximum
from dpcheck.records import dataclass, field, replace

Offers = Mapping[int, tuple[object, int]]
"""By label of a choice: what was offered, and how many choices there were."""

Plan = Mapping[object, int]
"""By offer, the label of the choice that is made whenever it is offered, whatever is seen."""

_Last = frozenset[tuple[object, Label]]
"""The choice that was made last of each offer, by its label."""

MAX_SITUATIONS = 12
"""So many situations of a strategy are shown, and how many more there are is said."""

_PLANS_KEPT = 8
"""So many plans that are equally good are looked at, to find one that is easy to tell."""


@dataclass(frozen=True, eq=False)
class StrategyEvidence(MergedEvidence):
    """What a graph of merged prefixes says where some labels are an analyst's choices."""

    offers: Offers = field(default_factory=dict)

    def worst_ratio(self) -> EventGap | None:
        """Return the event of the likeliest word with the largest ratio; None if all are 1."""
        gap = super().worst_ratio()
        return None if gap is None else self._as_shown(gap, None)

    def worst_gap(self, factor: ExpFactor) -> EventGap | None:
        """Return p - E q, the largest over all events, pairs, directions and strategies."""
        gap = super().worst_gap(factor)
        return None if gap is None else self._as_shown(gap, factor)

    def _as_shown(self, gap: EventGap, factor: ExpFactor | None) -> EventGap:
        """Return an equally good gap: that of the strategy which is told."""
        event, played = self._played(gap, factor)
        masses = played.event_masses(event, self.limits)[gap.pair]
        p, q = masses if gap.is_forward else masses[::-1]
        return replace(gap, p=p, q=q)

    def profile(self) -> tuple[Piece, ...]:
        """Return δ as a function of E = e^ε, for each E that of the worst strategy."""
        sides = (True, False)
        roots, known = self.graph.roots, list[tuple[Number, dict[bool, Masses]]]()

        def line(values: Mapping[bool, Masses], is_better: Better) -> Line:
            masses = {side: [values[side][root] for root in roots] for side in sides}
            gap = best_gap(masses, is_better)
            return NOTHING if gap is None else Line(gap.p, gap.q, gap.pair, gap.is_forward)

        def line_at(number: Number) -> Line:
            factor = ExpFactor.of_number(number)
            at = bisect_left(known, by_size(number), key=lambda each: by_size(each[0]))
            right = known[at][1] if at < len(known) else last
            ends = {side: (known[at - 1][1][side], right[side]) if at else None for side in sides}
            wanted, is_better = exceeding(factor), exceeding_more(factor)
            found = {
                side: self._best_choices(wanted, is_better, is_forward=side, between=ends[side])[1]
                for side in sides
            }
            known.insert(at, (number, found))
            return line(found, is_better)

        last = {
            side: self._best_choices(without_counterpart, likelier, is_forward=side)[1]
            for side in sides
        }
        return profile_of_maximum(line_at, line(last, likelier))

    def event_text(self, gap: EventGap, factor: ExpFactor | None) -> EventText:
        """Return a gap's event in words: choices stand among the outputs of its sequences."""
        _, played = self._played(gap, factor)
        return MergedEvidence(played, self.output_text, self.limits).event_text(gap, factor)

    def strategy(self, gap: EventGap, factor: ExpFactor | None) -> Strategy:
        """Return what the worst analyst of a gap asks, situation by situation, the shortest first.

        Where the same is asked from a situation on whatever is seen, that is one situation.
        """
        event, graph = self._played(gap, factor)
        plans, root = self._plans(graph, event), graph.roots[gap.pair]
        plan = plans[root]
        if plan is not None:
            texts = self._asked_at((), plan)
            is_again = self._n_asked(graph)[root] > 1
            return Strategy(tuple(Situation((), text, is_again) for text in texts), 0)
        situations = self._situations(graph, plans, root)
        switches = self._switches(graph, plans, root)
        return Strategy(
            tuple(situations),
            self._numbers_of_situations(graph, plans)[root] - len(situations),
            tuple(switches[:MAX_SITUATIONS]),
            max(0, len(switches) - MAX_SITUATIONS),
        )

    def _situations(
        self, graph: MergedPrefixes, plans: Sequence[Plan | None], root: int
    ) -> list[Situation]:
        """Return the first situations, the shortest first."""
        n_asked = self._n_asked(graph)
        found: list[Situation] = []
        waiting: list[tuple[tuple[str, ...], int]] = [((), root)]
        for seen, node in waiting:
            row, plan = graph.edges[node], plans[node]
            texts = self._asked_at(row, plan)
            found += [
                Situation(seen, text, plan is not None and n_asked[node] > 1) for text in texts
            ]
            if len(found) >= MAX_SITUATIONS:
                break
            if not self._is_told(row, plan):
                waiting += [((*seen, *self._seen_at(row, label)), child) for label, _, child in row]
        return found[:MAX_SITUATIONS]

    def _switches(
        self, graph: MergedPrefixes, plans: Sequence[Plan | None], root: int
    ) -> list[Switch]:
        """Return where something else is asked than before, the shortest first.

        Prefixes that lead to one node after equal last choices are one: what follows is the same.
        """
        n_asked = self._n_asked(graph)
        found: list[Switch] = []
        reached: dict[int, dict[_Last, tuple[int, tuple[str, ...]]]] = {
            root: {frozenset(): (1, ())}
        }
        for at, node in enumerate(reversed(graph.order.tolist())):
            if at % 1024 == 0:
                self.limits.check_time("situations of the analyst compared")
            row, plan = graph.edges[node], plans[node]
            for last, (n_alike, seen) in reached.pop(node, {}).items():
                before = dict(last)
                if self._is_told(row, plan):
                    assert plan is not None, "it tells what is asked from there on"
                    if any(before.get(offer) != label for offer, label in plan.items()):
                        texts, goes_on = self._asked_at(row, plan), n_asked[node] > 1
                        found += [Switch(seen, text, goes_on, n_alike) for text in texts]
                    continue
                for label, _, child in row:
                    after = before
                    if label in self.offers:
                        offer = self.offers[label][0]
                        if before.get(offer) != label:
                            found.append(Switch(seen, self.output_text(label), False, n_alike))
                        after = {**before, offer: label}
                    there, following = reached.setdefault(child, {}), frozenset(after.items())
                    n_before, other = there.get(following, (0, None))
                    longer = (*seen, *self._seen_at(row, label))
                    shortest = longer if other is None else min(longer, other, key=_length)
                    there[following] = n_before + n_alike, shortest
        return sorted(found, key=lambda change: _length(change.seen))

    def _seen_at(self, row: Sequence[Edge], label: Label) -> tuple[str, ...]:
        """Return what an edge of a row adds to what was seen.

        What was asked is known from what was seen, unless something else could happen.
        """
        is_sure = label in self.offers and len(row) == 1
        return () if is_sure or label < 0 else (self.output_text(label),)

    def _is_told(self, row: Sequence[Edge], plan: Plan | None) -> bool:
        """Return whether a plan is told where it begins: where it is asked, or nothing is left."""
        asks = any(label in self.offers for label, _, _ in row)
        return plan is not None and (asks or not plan)

    def _asked_at(self, row: Sequence[Edge], plan: Plan | None) -> list[str]:
        """Return what is asked at a node, together where there is a plan from it on."""
        if plan is None or (row and not self._is_told(row, plan)):
            return [self.output_text(label) for label, _, _ in row if label in self.offers]
        return [" and ".join(dict.fromkeys(map(self.output_text, plan.values())))] if plan else []

    def _n_asked(self, graph: MergedPrefixes) -> list[int]:
        """Return per node how often something is asked from it on, at most."""
        found = [0] * len(graph.edges)
        for node in graph.order.tolist():
            found[node] = max(
                (found[child] + (label in self.offers) for label, _, child in graph.edges[node]),
                default=0,
            )
        return found

    def _numbers_of_situations(
        self, graph: MergedPrefixes, plans: Sequence[Plan | None]
    ) -> list[int]:
        """Return per node how many situations there are to tell of, from it on."""
        found = [0] * len(graph.edges)
        for node in graph.order.tolist():
            row, plan = graph.edges[node], plans[node]
            found[node] = len(self._asked_at(row, plan))
            if not self._is_told(row, plan):
                found[node] += sum(found[child] for _, _, child in row)
        return found

    def _plans(self, graph: MergedPrefixes, event: AbstractSet[int]) -> list[Plan | None]:
        """Return per node the choices that are made from it on, None if they depend on more.

        Where nothing of the event is left, it does not matter what is asked.
        """
        plans: list[Plan | None] = [{}] * len(graph.edges)
        matters = self._reaching(event)
        for node in graph.order.tolist():
            if matters[node]:
                parts = (self._followed(edge, plans[edge[2]]) for edge in graph.edges[node])
                plans[node] = _merged(*parts)
        return plans

    def _followed(self, edge: Edge, plan: Plan | None) -> Plan | None:
        """Return the plan of an edge, a choice or not, that a plan follows; None for no plan."""
        label = edge[0]
        return _merged({self.offers[label][0]: label}, plan) if label in self.offers else plan

    def _played(
        self, gap: EventGap, factor: ExpFactor | None
    ) -> tuple[AbstractSet[int], MergedPrefixes]:
        """Return the leaves of a gap's event, and the graph with a best choice alone of each offer.

        The weight of a choice is then times |S|.

        Of choices that are equally good, one is taken that is best from there on whatever is seen,
        the same wherever it can be. Equally good events may have other probabilities: all that is
        told of a gap is of this graph.
        """
        wanted = wanted_of(gap, factor)
        is_better = likelier if factor is None else exceeding_more(factor)
        event = self._event(wanted, is_forward=gap.is_forward)
        best, _ = self._best_choices(wanted, is_better, is_forward=gap.is_forward)
        steady = self._steady_plans(best, event)
        edges: list[list[Edge]] = [[] for _ in best]
        wishes: list[Plan] = [{}] * len(best)
        for node in reversed(self.graph.order.tolist()):
            fitting = (plan for plan in steady[node] if _merged(plan, wishes[node]) is not None)
            wish: Plan = next(fitting, next(iter(steady[node]), wishes[node]))
            for alternatives in best[node]:
                wished = (edge for edge in alternatives if edge[0] in wish.values())
                chosen = next(wished, alternatives[0])
                edges[node].append(chosen)
                wishes[chosen[2]] = {**wish, **(self._followed(chosen, {}) or {})}
        return event, replace(self.graph, edges=edges)

    def _steady_plans(
        self, best: Sequence[list[list[Edge]]], event: AbstractSet[int]
    ) -> list[list[Plan]]:
        """Return per node plans that are best from it on, a few of them."""
        plans: list[list[Plan]] = [[{}] for _ in best]
        matters = self._reaching(event)
        for node in self.graph.order.tolist():
            if not matters[node]:
                continue
            found: list[Plan] = [{}]
            for alternatives in best[node]:
                following = [
                    self._followed(edge, plan) for edge in alternatives for plan in plans[edge[2]]
                ]
                both = (_merged(plan, after) for plan in found for after in following)
                found = [plan for plan in both if plan is not None][:_PLANS_KEPT]
            plans[node] = found
        return plans

    def _masses(self, wanted: Wanted, is_better: Better, *, is_forward: bool) -> Masses:
        """Return per pair p and q of wanted leaves, by a best strategy for each, [n_pairs]."""
        _, below = self._best_choices(wanted, is_better, is_forward=is_forward)
        return [below[root] for root in self.graph.roots]

    def _best_choices(
        self,
        wanted: Wanted,
        is_better: Better,
        *,
        is_forward: bool,
        between: tuple[Masses, Masses] | None = None,
    ) -> tuple[list[list[list[Edge]]], Masses]:
        """Return per node its outputs, each alone, and of each offer the best choices, as edges.

        And p and q of wanted leaves below each node, which may be known `between` two factors: a
        node that has the same ones for both has no edges then.
        """
        graph, event = self.graph, self._event(wanted, is_forward=is_forward)
        best: list[list[list[Edge]]] = [[] for _ in graph.edges]
        below: list[tuple[Number, Number]] = [(0, 0) for _ in graph.edges]
        for at, node in enumerate(graph.order.tolist()):
            if at % 1024 == 0:
                self.limits.check_time("choices compared")
            if between is not None and between[0][node] == between[1][node]:
                below[node] = between[0][node]
                continue
            leaf = graph.leaves[node]
            if leaf is not None:
                p, q = (number(each, 1) for each in (leaf if is_forward else leaf[::-1]))
                below[node] = (p, q) if node in event else (0, 0)
                continue
            best[node] = self._best_of_row(graph.edges[node], below, is_better)
            chosen = [alternatives[0] for alternatives in best[node]]
            below[node] = _total(chosen, graph.scales[node], below)
        return best, below

    def _best_of_row(
        self, row: list[Edge], below: list[tuple[Number, Number]], is_better: Better
    ) -> list[list[Edge]]:
        """Return the outputs of a row, and of each offer the choices that are best."""
        found = [[edge] for edge in row if edge[0] not in self.offers]
        choices = [edge for edge in row if edge[0] in self.offers]
        offered = sorted(choices, key=lambda edge: (repr(self.offers[edge[0]][0]), edge[0]))
        for _, alternatives in groupby(offered, key=lambda edge: self.offers[edge[0]][0]):
            best: list[Edge] = []
            most: EventGap | None = None
            for label, weight, child in alternatives:
                p, q = (multiply(number(weight, 1), each) for each in below[child])
                gap = EventGap(p, q, 0, is_forward=True)
                edge = label, weight * self.offers[label][1], child
                if most is None or is_better(gap, most):
                    best, most = [edge], gap
                elif not is_better(most, gap):
                    best.append(edge)
            found.append(best)
        return found


def _merged(*plans: Plan | None) -> Plan | None:
    """Return the plan that agrees with several, None if there is none."""
    found: dict[object, int] = {}
    for plan in plans:
        if plan is None:
            return None
        for offer, label in plan.items():
            if found.setdefault(offer, label) != label:
                return None
    return found


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


def _length(seen: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Return by what prefixes are ordered: the shorter, then the earlier one."""
    return len(seen), seen
