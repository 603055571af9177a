"""What the atoms of a claim's formulas mean on its target.

A formula knows an atom by its key (`logic.formulas.Atom`), which is also its text. Beside every
check stands a mapping from keys to these meanings; whoever builds the chain labels its states:

- `Condition`, on a mechanism: a Boolean core expression over `output` (the variable of that name)
  and the inputs, which keep their values along a run. One that reads `output` is false where
  nothing was output (the initial states and the sinks), and where an operation in it does not
  apply to the value that was. One that reads inputs only has the run's own truth value everywhere.
- `Label`, on an explicit chain: a label, a state, a family (any of its members), or one member.
- `Measure`, on a mechanism: a number computed from `output` and inputs; no formula reads it, the
  quantity `accuracy` does.
- `AtEnd`, on a mechanism: a number computed at the end of a run, whose mean `E=?` is.
- `Sink`: `stopped` holds at †, `diverged` where a run has gone silent forever.
"""

from __future__ import annotations

from typing import Literal

from dpcheck.model.expressions import Expr
from dpcheck.model.values import Value, value_text
from dpcheck.model.words import word_text
from dpcheck.records import dataclass


@dataclass(frozen=True)
class Condition:
    """`condition` over `output` and inputs; `inputs` are the input variables (cells) it reads."""

    condition: Expr
    reads_output: bool
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Label:
    """A label, or the name of a state or family, of an explicit chain; `indices` for one member.

    Without indices (None) it holds wherever that is a label or a name; the empty indices are those
    of a single state.
    """

    name: str
    indices: tuple[Value, ...] | None

    @property
    def text(self) -> str:
        """The label as a formula writes it: no two labels are written alike.

        >>> Label("g", (1, 2)).text, Label("s", None).text, Label("s[1]", None).text
        ('g[1, 2]', 's', '"s[1]"')
        """
        if not self.indices:
            return word_text(self.name)
        return f"{word_text(self.name)}[{', '.join(map(value_text, self.indices))}]"


@dataclass(frozen=True)
class Sink:
    """`stopped` or `diverged`."""

    name: Literal["stopped", "diverged"]


@dataclass(frozen=True)
class Measure:
    """The first of `values` that is a number; `inputs` are the input variables (cells) it reads."""

    values: tuple[Expr, ...]
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class AtEnd:
    """A number that the end of a run determines.

    `value` may read inputs (`inputs` are their variables), the variable `output` (the last one),
    `output(i)` for each i of `positions`, and `outputs`, their number; it is a polynomial in that
    of at most the given degree, or not known to be one (None).
    """

    value: Expr
    inputs: tuple[str, ...]
    positions: tuple[int, ...]
    reads_last: bool
    degree: int | None


AtomMeaning = Condition | Label | Sink | Measure | AtEnd


def inputs_of(atom: AtomMeaning) -> tuple[str, ...]:
    """Return the input variables (cells) that an atom reads."""
    return () if isinstance(atom, Label | Sink) else atom.inputs
