"""A mechanism or an explicit chain comes in; a chain with labels and neighbor pairs goes out."""

from dpcheck.explore.explore import explore
from dpcheck.explore.explored import Explored, labelled
from dpcheck.explore.values.mistakes import MistakesFound

__all__ = ["Explored", "MistakesFound", "explore", "labelled"]
