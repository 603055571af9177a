"""The built-in distributions: a row each, which is all that the rooms know of one.

A new distribution is a row here and its closed forms in `explore.sampling.closed_forms`. Messages,
corrections of misspelt names and checks before any run follow from the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from dpcheck.records import dataclass

PolicyKind = Literal["clamped", "conditioned", "folded", "wrapped"]
"""What happens to a result outside of a window."""

POLICIES: Final[tuple[PolicyKind, ...]] = ("clamped", "conditioned", "folded", "wrapped")

ParameterKind = Literal["set", "integer", "half-integer", "count", "probability", "ratio"]
"""What an argument must be; `count` is an integer >= 0, `ratio` a number strictly inside (0, 1)."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name in the documents, what it takes, and how messages call it.

    `scale` is advice where a ratio is given that is no less than 1, as a scale of the noise would
    be: `{given}` stands for what is given, `{factor}` for that in parentheses if it needs them.
    `budget` is advice where it is given by the name of one.
    """

    name: str
    kind: ParameterKind
    text: str
    scale: str = ""
    budget: str = ""

    def outside(self, given: str) -> str:
        """Return what is wrong with a ratio."""
        return f"{self.text} must lie strictly between 0 and 1, and is {given}"

    def edit(self, given: str) -> str | None:
        """Return what to write in place of a ratio that is no less than 1; a power is no scale."""
        if "exp(" in given:
            return None
        factor = given if given.isalnum() else f"({given})"
        return self.scale.format(given=given, factor=factor) or None

    def meant(self, name: str) -> str | None:
        """Return what to write in place of a ratio that has the name of a scale or a budget."""
        if name in ("eps", "epsilon"):
            return self.budget.format(given=name) or None
        return self.edit(name) if name in ("sigma", "sd", "std", "stddev", "scale") else None


@dataclass(frozen=True)
class BuiltIn:
    """A built-in distribution: what it takes and what it draws.

    `draws` is "element" where a drawn value is an element of the set it takes. `policies` are those
    under which its probabilities have exact values, in the order of `POLICIES`; a distribution with
    finitely many values has none and needs none. `domain` says of the parameters what BadParameter
    explains, and is empty where nothing can be wrong with them. `may_be_unbounded` says that it may
    be drawn from with all its values (see `explore.tails`).
    """

    word: str
    parameters: tuple[Parameter, ...]
    draws: Literal["Boolean", "number", "element"]
    policies: tuple[PolicyKind, ...] = ()
    domain: str = ""
    may_be_unbounded: bool = False

    @property
    def signature(self) -> str:
        """The call with the names of the parameters: `geometric(center, alpha)`."""
        return f"{self.word}({', '.join(parameter.name for parameter in self.parameters)})"


_LAPLACE: Final = (
    "write `exp(-1/{factor})` for noise of scale {given}",
    "write `exp(-{given})` for noise of which each step costs {given}",
)

_ROWS: Final = (
    BuiltIn("bernoulli", (Parameter("p", "probability", "the probability"),), "Boolean"),
    BuiltIn("uniform", (Parameter("S", "set", "`uniform`"),), "element"),
    BuiltIn(
        word="binomial",
        parameters=(
            Parameter("n", "count", "the number of trials"),
            Parameter("p", "probability", "the probability"),
        ),
        draws="number",
        domain="an integer n >= 0 and 0 <= p <= 1",
    ),
    BuiltIn(
        word="geometric",
        parameters=(
            Parameter("center", "integer", "the center of `geometric`"),
            Parameter("alpha", "ratio", "alpha", *_LAPLACE),
        ),
        draws="number",
        policies=POLICIES,
        domain="an integer center and 0 < alpha < 1",
        may_be_unbounded=True,
    ),
    BuiltIn(
        word="geometric_positive",
        parameters=(Parameter("alpha", "ratio", "alpha", *_LAPLACE),),
        draws="number",
        policies=POLICIES,
        domain="0 < alpha < 1",
        may_be_unbounded=True,
    ),
    BuiltIn(
        word="gaussian",
        parameters=(
            Parameter("center", "half-integer", "the center of `gaussian`"),
            Parameter(
                "base",
                "ratio",
                "the base",
                "for a deviation of {given} the base is `exp(-1/(2 * {factor}^2))`",
            ),
        ),
        draws="number",
        # The tails of the discrete Gaussian sum to theta series, which have no exact value.
        policies=("conditioned",),
        domain="an integer center and 0 < base < 1",
    ),
)

DISTRIBUTIONS: Final[Mapping[str, BuiltIn]] = {row.word: row for row in _ROWS}
"""The built-in distributions by their words."""
