"""Text of the language comes in; what it means, by definition and on fractions, goes out."""

from dpcheck.reference.claims import Answer, answer
from dpcheck.reference.files import Loaded, load
from dpcheck.reference.replay import Contradicted, Replay
from dpcheck.reference.values import NotCovered, WrongProgram

__all__ = [
    "Answer",
    "Contradicted",
    "Loaded",
    "NotCovered",
    "Replay",
    "WrongProgram",
    "answer",
    "load",
]
