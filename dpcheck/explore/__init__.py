"""The explore room: from a mechanism or an explicit chain to labelled arrays, in batches."""

from dpcheck.explore.explore import explore
from dpcheck.explore.explored import Explored, Labelling, labelled
from dpcheck.explore.values.mistakes import MistakesFound

__all__ = ["Explored", "Labelling", "MistakesFound", "explore", "labelled"]
