"""Claims: what a `check`, `refute` or `compute` asks about a target, names and numbers resolved.

Every claim carries `text`, the claim as the user wrote it with loop variables filled in.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import and_
from typing import TYPE_CHECKING, Literal

from dpcheck import exact
from dpcheck.logic.formulas import PathFormula, Private, Relation, StateFormula, outermost_numbers
from dpcheck.records import Frozen
from dpcheck.source import Span

if TYPE_CHECKING:
    from dpcheck.exact.line import Chosen, Line
    from dpcheck.exact.polynomial import Whole
    from dpcheck.exact.roots import Region


class FormulaClaim(Frozen):
    """A state formula that must hold at every initial state (or where `at` says)."""

    formula: StateFormula
    span: Span


class PrivacyClaim(Frozen):
    """`dp(epsilon, delta)`: event-level differential privacy of complete output sequences."""

    epsilon: exact.Budget
    delta: exact.Number
    span: Span


class TightEpsilon(Frozen):
    """`epsilon` or `epsilon(delta)`: the least ε >= 0 for which dp(ε, delta) holds."""

    delta: exact.Number
    span: Span


class TightDelta(Frozen):
    """`delta(epsilon)`: the least δ for which dp(epsilon, δ) holds; δ(0) is `total_variation`."""

    epsilon: exact.Budget
    span: Span
    word: str = "delta"


class PathProbability(Frozen):
    """`P=? [ path ]` at exactly one state."""

    path: PathFormula
    span: Span


class LossQuantity(Frozen):
    """A number that the privacy losses of the pairs of neighbors determine; the worst pair's.

    `arguments` are of the kinds that the word's row in `logic.quantities` says, but for `digits`,
    which are asked for where there is no exact form.
    """

    word: str
    arguments: tuple[exact.Budget | exact.Number, ...]
    digits: int
    span: Span


class ChannelQuantity(Frozen):
    """A number that the distributions of all initial states together determine."""

    word: str
    span: Span


class LeastError(Frozen):
    """`accuracy(f, beta)`: the least α with P(all errors <= α) >= 1 - beta everywhere.

    `errors` are the numbers of outputs, from 1, each with the key of its measure among the atoms:
    how far that output is from f. `text` is the quantity as written.
    """

    errors: tuple[tuple[int, str], ...]
    failure: exact.Number
    text: str
    span: Span


class Expectation(Frozen):
    """`E=? [ value ]`: the mean of a number that the end of a run determines.

    `key` names the number among the atoms; `text` is the quantity as written.
    """

    key: str
    text: str
    span: Span


class LossTable(Frozen):
    """A function to report: the privacy profile, the worst pair's losses, its trade-off curve."""

    word: str
    span: Span


Quantity = (
    TightEpsilon
    | TightDelta
    | PathProbability
    | LossQuantity
    | ChannelQuantity
    | LeastError
    | Expectation
    | LossTable
)


class QuantityClaim(Frozen):
    """`quantity comparison bound`; a bound `inf` is None (`epsilon = inf`)."""

    quantity: Quantity
    comparison: Literal["=", "!=", "<", "<=", ">", ">="]
    bound: exact.Budget | exact.Extended
    span: Span


class QuantityComparison(Frozen):
    """`left comparison right` for two quantities of one target."""

    left: Quantity
    comparison: Literal["=", "!=", "<", "<=", ">", ">="]
    right: Quantity
    span: Span


class QuantityValue(Frozen):
    """A quantity to report, as `compute` asks."""

    quantity: Quantity
    span: Span


class ExpectationClaim(Frozen):
    """`E<=r [ value ]`, `E in [a, b] [ value ]`: all relations hold from every initial state."""

    quantity: Expectation
    relations: tuple[Relation, ...]
    span: Span


Claim = (
    FormulaClaim
    | PrivacyClaim
    | QuantityClaim
    | QuantityComparison
    | QuantityValue
    | ExpectationClaim
)


def quantities_of(claim: Claim) -> tuple[Quantity, ...]:
    """Return the quantities that a claim reports or compares: one, or two with each other."""
    match claim:
        case QuantityComparison(left=left, right=right):
            return left, right
        case FormulaClaim() | PrivacyClaim():
            return ()
        case _:
            return (claim.quantity,)


def is_about_pairs(claim: Claim) -> bool:
    """Return whether a claim compares neighbors, so that it says nothing where there are none."""
    if isinstance(claim, FormulaClaim):
        return _compares(claim.formula)
    if not isinstance(claim, QuantityClaim | QuantityComparison | QuantityValue):
        return isinstance(claim, PrivacyClaim)
    of_pairs = TightEpsilon | TightDelta | LossQuantity | LossTable
    return any(
        _compares(each.path) if isinstance(each, PathProbability) else isinstance(each, of_pairs)
        for each in quantities_of(claim)
    )


def _compares(node: object) -> bool:
    """Return whether a D stands in a formula, at any depth."""
    return any(
        isinstance(each, Private) or _compares(each.path) for each in outermost_numbers(node)
    )


def is_pure(claim: Claim) -> bool:
    """Return whether a claim is about ε without a δ: about ratios of probabilities alone."""
    if isinstance(claim, PrivacyClaim):
        return claim.delta == 0
    return any(isinstance(each, TightEpsilon) and each.delta == 0 for each in quantities_of(claim))


class ForAll(Frozen):
    """A claim is about all values of a parameter that lie beside some others, as signs say.

    Numbers stand in the claim as they are at the stand-in (see `exact.param`); its budgets are
    `ParamBudget` or sums of logarithms. With `is_exponential` all are functions of exp(q·eps).
    Closed ends of `param` are among the values asked. `at_logarithms`: a budget such as
    `ln(1 + exp(eps))` has exact values where exp(q·eps) has. `single` is the value that is asked
    where it is one that is known: the claim is that about the ordinary mechanism there.
    """

    param: exact.Param
    is_exponential: bool
    span: Span
    part: tuple[tuple[Chosen, tuple[int, ...]], ...] = ()
    at_logarithms: bool = False
    single: Chosen | None = None

    def line(self, numbers: Iterable[exact.Extended | Whole] = ()) -> Line:
        """Return the parameter's values as a line on which some numbers are rational."""
        from dpcheck.exact.line import line_of

        return line_of(self.param, numbers, is_exponential=self.is_exponential)

    def asked(self, line: Line) -> Region:
        """Return the values strictly inside of the interval that are asked about."""
        from dpcheck.exact.roots import everywhere, joined

        conditions = [line.beside(value, signs) for value, signs in self.part]
        return joined(and_, [everywhere(True, line.low, line.high), *conditions])


class AtCondition(Frozen):
    """`at condition`: the initial states where a state formula holds.

    `member` is a state of the family that the condition names, if it is one.
    """

    condition: StateFormula
    span: Span
    member: str | None = None


class AtState(Frozen):
    """`at s[3]` on an explicit chain: that state, initial or not (`key` is its atom)."""

    key: str
    span: Span


At = AtCondition | AtState
