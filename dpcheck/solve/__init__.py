"""Chains and path formulas come in; exact probabilities, or certified bounds, go out."""

from dpcheck.solve.choices import Game, game_of, path_extremes
from dpcheck.solve.paths import path_bounds, path_estimates, path_probabilities, path_product
from dpcheck.solve.reachability.reach import reach_probabilities

__all__ = [
    "Game",
    "game_of",
    "path_bounds",
    "path_estimates",
    "path_extremes",
    "path_probabilities",
    "path_product",
    "reach_probabilities",
]
