"""What is true of neighbors that remember different numbers beyond a window.

A state that keeps T = cut + 1 + n has neighbors that keep T + d, for one d and all n, or one that
keeps no such number (`Partners`). Probabilities at both, p(n) and q(n + d), are sums of
exponentials with the same ratios, as σ^(n+d) = σ^d σ^n. So signs of p(n) - e^ε q(n + d) - δ are
known for all n, as they are where both keep one number (`beyond`). From -d on if d is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dpcheck.chain.chain import Gap, IntArray, Order, Partner, Partners
from dpcheck.check.formulas.beyond import TruthBeyond, are_violating, continued
from dpcheck.exact import Number
from dpcheck.logic.formulas import PathFormula, Private

Probabilities = Callable[[PathFormula, IntArray], list[Number]]
"""Those of a path formula from each of some states [n]."""


class Beside:
    """Which states violate formulas D beside their partners."""

    def __init__(
        self,
        placed: Mapping[int, tuple[Order, tuple[Gap, ...]]],
        partners: Partners,
        probabilities: Probabilities,
    ) -> None:
        """Keep the orders of states with their partners, and what tells probabilities."""
        self._partners, self._placed, self._probabilities = partners, placed, probabilities
        self._known: dict[tuple[int, Order, Partner], tuple[Private, TruthBeyond]] = {}

    @property
    def told(self) -> IntArray:
        """The states [n] of which all neighbors are told."""
        return self._partners.states

    def are_violating(self, formula: Private, state: int) -> bool | None:
        """Return whether partners violate a formula at all that a state stands for, or at none.

        None where they seem to do at some. Formulas inside of its path tell no more than orders do.
        """
        verdicts = {self._truth(formula, *each) for each in self._partners_of(state)}
        return True if True in verdicts else None if None in verdicts else False

    def _partners_of(self, state: int) -> Iterator[tuple[Order, Gap, Partner]]:
        """Yield the partners of a state, each of an order with its gap."""
        told, far = self._partners, Gap(self._partners.depth, is_known=False)
        for order in told.of_states.get(state, ()):
            yield order, far, Partner(None, state=state)
        if state in self._placed:
            order, (gap, *_) = self._placed[state]
            beside = told.of_orders.get(order, ()) if gap.length >= told.depth else ()
            yield from ((order, gap, each) for each in beside)

    def _truth(self, formula: Private, order: Order, gap: Gap, partner: Partner) -> bool | None:
        """Return whether a partner violates a formula at all lengths of an order's gap, or none."""
        key = id(formula), order, partner
        if key not in self._known:
            truth = TruthBeyond(
                self._values(formula, order, partner), order.ratios, are_violating(formula)
            )
            self._known[key] = formula, truth
        length = gap.length + min(partner.longer, 0)
        return self._known[key][1].at((Gap(length, gap.is_known),))

    def _values(self, formula: Private, order: Order, partner: Partner) -> list[list[Number]]:
        """Return the first values of p, q and δ, from where both keep a number beyond the cut."""
        (ratios,), n = order.ratios, len(order.near)
        there = (partner.state,) * n if partner.order is None else partner.order.near
        p, q = (
            self._probabilities(formula.path, np.array(near, np.int64))
            for near in (order.near, there)
        )
        first = max(-partner.longer, 0)
        beside = continued(p, ratios, first), continued(q, ratios, first + partner.longer)
        return [*beside, [formula.delta] * n]
