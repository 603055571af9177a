"""P and D over all analysts, where an analyst has fixed queries for histories of any length.

Whether P or D holds for all of them is undecidable in general (Liu, Wang, Zhang, APLAS 2018). What
is decided here are bounds (`solve.choices`): a P that the least and the greatest probability
satisfy holds, and so does a D where the greatest probability of each state is within the budget of
the least one of each neighbor, the sufficient test of the paper. Where the bounds do not tell, the
formula is undecided.
"""

from __future__ import annotations

from typing import Final

from dpcheck.chain.chain import IntArray
from dpcheck.check.formulas.truths import Bounds, Truths
from dpcheck.exact import Number, compare
from dpcheck.limits import Limit, LimitReached
from dpcheck.logic import formulas as f
from dpcheck.solve import path_extremes

BETWEEN: Final = Limit(
    "size",
    unit="queries are `fixed` for histories of any length, and the bounds do not tell",
    advice="a loop with fewer rounds, such as `for i in 1..3`, where every analyst is tried",
)

OVER_ALL: Final = ", by the least and the greatest over all analysts"
"""What is added to bounds in words."""


class TruthsOverAnalysts(Truths):
    """The truth of formulas on a chain with choices, of which nobody knows how they are made.

    Raises `LimitReached` with `BETWEEN` where bounds do not tell.
    """

    def estimates(self, path: f.PathFormula, pairs: IntArray) -> None:
        """Return no floats for pairs [n_pairs, 2]: there are bounds alone."""

    def _exact(self, path: f.PathFormula, states: IntArray) -> list[Number]:
        """Return the probabilities at states [n] that do not depend on the analyst."""
        bounds = self.bounds(path, states)
        if any(compare(low, high) != 0 for low, high in bounds):
            raise LimitReached(BETWEEN)
        return [low for low, _ in bounds]

    def _enclosed(self, path: f.PathFormula, states: IntArray) -> list[Bounds]:
        """Return the least and the greatest probabilities at states [n]."""
        return path_extremes(
            self.chain, path, satisfying=self.everywhere, states=states, limits=self.limits
        )
