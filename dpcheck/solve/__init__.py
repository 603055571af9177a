"""Exact probabilities of path formulas and of reachability on chains."""

from dpcheck.solve.paths import path_probabilities
from dpcheck.solve.reach import bounded_reach_probabilities, reach_probabilities

__all__ = ["bounded_reach_probabilities", "path_probabilities", "reach_probabilities"]
