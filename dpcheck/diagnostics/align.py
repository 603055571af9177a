"""Mistakes in programs about all integers and endless streams (DP55x, DP64x)."""

from __future__ import annotations

from typing import Final

from dpcheck.diagnostics.mistakes import Mistake

_CLASS: Final = """\
What is claimed for all integers is proved by moving noise, by shifts that depend on how inputs
differ and on nothing else of them. So an input that may be any integer is the center of noise
without bounds, or is compared with such noise; and neighbors are related by how much they differ.

Right: input q[1..3] in integers
       adjacent linf(q, q') <= 1        (also l1, abs(x - x') <= 1, 0 <= x' - x <= 1)
       z ~ geometric(q[1], 1/2) unbounded
       output z > 0
"""


class RelationOutside(Mistake, code="DP555"):
    """A relation of neighbors that says more than how much inputs of all integers differ."""

    what: str
    edit: str

    title_text = "{self.what} does not say how much the values of neighbors differ"
    help_text = "write `{self.edit}`: these are other neighbors, so it is another claim"
    explanation = _CLASS


class SumOverStream(RelationOutside):
    """A bound of the sum of all differences of a stream."""

    help_text = (
        "write `{self.edit}`: another claim, about more neighbors, whose budget is enough for these"
        " but may be more than they need"
    )


class RelationOfStream(RelationOutside):
    """Another relation of streams: any is one of finitely many rounds, `edit`."""

    help_text = "any relation is one of finitely many rounds and values: {self.edit}"


class FreeDifference(Mistake, code="DP556"):
    """An input of all integers in which neighbors may differ by any amount."""

    name: str

    title_text = "the values of `{self.name}` in neighbors may differ by any amount"
    help_text = "bound the difference: `linf({self.name}, {self.name}') <= 1`"
    explanation = _CLASS


class OutsideAlignment(Mistake, code="DP557"):
    """Something that is done with a number that may be any integer."""

    what: str

    title_text = "{self.what} is not possible where inputs are all integers"
    help_text = (
        "use inputs as centers of noise without bounds or in comparisons with it, or give them"
        " finite sets: `input q[1..3] in 0..2`, `for i in 1..3`"
    )
    explanation = _CLASS


class OpenRange(OutsideAlignment):
    """A range with an end that noise moves."""

    help_text = (
        "write the numbers that matter, and compare with them: `exists(j in 0..9 : j <= z & j > 3)`"
        " in place of `exists(j in 0..z : j > 3)`"
    )


class MayFail(Mistake, code="DP560"):
    """A place where a run may meet a mistake, as far as an alignment can tell."""

    what: str

    title_text = "a run may fail here: {self.what}"
    help_text = (
        "avoid it in every round, whatever comparisons with noise give: `min(n + 1, 3)` counts no"
        " further than 3"
    )
    explanation = """\
Claims about all integers are proved for all runs. Runs are followed through both outcomes of every
comparison with noise, and through any number of rounds; none of them may divide by zero, leave the
set of a variable, or draw with weights that are none. Outcomes that exclude each other are followed
too: what a program avoids only because of them has to be avoided another way.

Wrong: var n in 0..3 := 0    for i in 1.. { ... n := n + 1 ... }
Right: var n in 0..3 := 0    for i in 1.. { ... n := min(n + 1, 3) ... }
"""


class NoCommonRate(Mistake, code="DP559"):
    """Ratios of noise whose logarithms are not known together.

    `base` is what they have to be powers of, `alpha` or `exp(-eps)`; empty without a parameter.
    """

    base: str

    explanation = """\
Moving noise of ratio r by 1 costs -ln r. These costs are added and compared: for ratios that are
rational or powers of e, and for all values of a parameter where all ratios are its powers, so that
every cost is a multiple of one.

Wrong: noisy_t ~ geometric(t, alpha) unbounded      noisy_q ~ geometric(q[i], alpha / 2) unbounded
Right: noisy_t ~ geometric(t, alpha^2) unbounded    noisy_q ~ geometric(q[i], alpha) unbounded
"""

    @property
    def title(self) -> str:
        if self.base:
            return f"a ratio of this noise is no power of `{self.base}`"
        return "a ratio of this noise is neither rational nor a power of e"

    @property
    def help(self) -> str | None:
        power = f"{self.base}^2" if self.base else "exp(-1/2)"
        return f"write a ratio such as `{power}`, or give the inputs finite sets"


class SilentRound(Mistake, code="DP558"):
    """A loop that never ends, of which a round may show nothing."""

    title_text = "a round of this loop may show nothing"
    help_text = "let every round output something, such as `output bot`"
    explanation = """\
What is shown after n rounds is looked at to refute a claim about an endless stream. So every round
has to show something or end the run; else nobody could tell how many rounds the outputs belong to.

Wrong: for i in 1.. { z ~ geometric(q[i], 1/2) unbounded   if z > 3 { output top } }
Right: for i in 1.. { z ~ geometric(q[i], 1/2) unbounded   output if z > 3 then top else bot }
"""


class NotForAllIntegers(Mistake, code="DP640"):
    """A claim that is not decided for inputs of all integers."""

    what: str

    title_text = "{self.what} is not decided where inputs are all integers"
    help_text = (
        "ask for `dp(ε)` or `epsilon`, or give the inputs finite sets:"
        " `input q[1..3] in 0..2`, `for i in 1..3`"
    )
    explanation = _CLASS
