"""The explore room: from a mechanism or an explicit chain to labelled arrays, in batches."""

from dpcheck.explore.explored import Explored, Labelling, Marker, explore, labelled
from dpcheck.explore.mistakes import MistakesFound

__all__ = ["Explored", "Labelling", "Marker", "MistakesFound", "explore", "labelled"]
