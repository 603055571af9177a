"""Text of the language comes in; what its mechanisms and chains mean, by definition, goes out.

A reference interpreter that shares no code with the rest of dpcheck: a parser by recursive descent,
and one function a construct on Python's fractions. It is slow, and meant to be read.
"""

from dpcheck.reference.claims import Answer, answer
from dpcheck.reference.files import Loaded, load
from dpcheck.reference.values import NotCovered, WrongProgram

__all__ = ["Answer", "Loaded", "NotCovered", "WrongProgram", "answer", "load"]
