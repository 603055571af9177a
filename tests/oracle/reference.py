"""The reference interpreter as tests ask it about a text: inputs, neighbors, rows and chances."""

from __future__ import annotations

from dpcheck.reference.expressions import Scope
from dpcheck.reference.files import QUESTIONS, Loaded
from dpcheck.reference.syntax import parsed
from dpcheck.reference.values import End, NotCovered, Work, WrongProgram

STEPS = 3_000_000
STOPPED, DIVERGED = End.STOPPED.value, End.DIVERGED.value


class Program:
    """A mechanism or a chain of a text, with everything that the text declares."""

    def __init__(self, text, target="m"):
        items = [item for item in parsed(text, "file") if item[0] not in QUESTIONS]
        self.loaded = Loaded(Scope(items, {}), {}, work=Work(STEPS))
        (self.model,) = self.loaded.target(target)
        self.inputs = self.model.points

    @property
    def texts(self):
        """The inputs as people see them."""
        return [self.model.text_of(each) for each in self.inputs]

    def pairs(self):
        """Return the neighbors as pairs (i, j), i < j, of places among the inputs."""
        near = self.model.are_neighbors
        n = len(self.inputs)
        every = [(i, j) for i in range(n) for j in range(i + 1, n)]
        return [(i, j) for i, j in every if near(self.inputs[i], self.inputs[j])]

    def rows(self, most=10**6):
        """Return {(outputs, status): probability} of each input."""
        rows = [self.model.row(self.model.start(each), most) for each in self.inputs]
        return [{(outputs, end.value): p for (outputs, end), p in row.items()} for row in rows]

    def chances(self, path):
        """Return the probability of a path formula from each input."""
        return [self.model.chance(parsed(path), each, {}) for each in self.inputs]


def rows_or_none(program, most=10**6):
    """Return the rows, or None where a run meets a mistake or takes too long."""
    try:
        return program.rows(most)
    except (NotCovered, WrongProgram):
        return None
