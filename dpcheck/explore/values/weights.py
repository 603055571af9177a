"""Weights as numbers: those that depend on a `param` by their value at the stand-in, once proved.

A weight that is positive for all values of its parameter makes one graph for all of them, and all
sums, products and quotients of weights are identities (see `exact.param`). So this is where the
parameter ends for the explorer: what it computes on is an element of a field like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import and_
from typing import TYPE_CHECKING

from dpcheck.diagnostics.params import ParamAsValue, WeightOutsideUnit
from dpcheck.exact import ExpNumber, Number, ParamNumber, add, divide, exponential, sign, subtract
from dpcheck.exact.parametric import combined, example_where, no_weight, zero_at_end
from dpcheck.explore.values.codes import ValueTable
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.model.values import Value, value_text
from dpcheck.source import Span

if TYPE_CHECKING:
    from dpcheck.exact.roots import Root


def weight_value(
    value: Value, span: Span, table: ValueTable, *, is_strict: bool = False, has_top: bool = True
) -> Value:
    """Return a weight without its parameter: one that lies in [0, 1] for all values of it.

    With `is_strict` it must lie in (0, 1), without `has_top` it is relative to others, and may be
    above 1. Other values are returned as they are. Raises `MistakeFault`, which names a value.
    """
    weights = table.weights
    if isinstance(value, ExpNumber):
        weights.has_exp = True
    elif isinstance(value, ParamNumber):
        if (found := no_weight(value, is_strict=is_strict, has_top=has_top)) is not None:
            raise MistakeFault(WeightOutsideUnit(span, (), f"`{value_text(value)}`", *found))
        if weights.param not in (None, (value.param, value.is_exponential)):
            raise _alone(span, f"`{value.param.name}`, alone or in `exp`, stands beside another")
        weights.param = value.param, value.is_exponential
        both = [value, combined("-", 1, value)][: 1 + has_top]
        sides = [each for each in both if isinstance(each, ParamNumber)]
        zeros = [side for side in sides if example_where(side, (0,))]
        weights.vanishing.update(dict.fromkeys(each.value for each in zeros))
        if isinstance(value.value, ExpNumber):
            power = exponential(value.unit)
            assert isinstance(power, ExpNumber), "a unit is not 0"
            weights.by_unit.setdefault(value.unit, power)
        if zeros and value.param.is_single:
            return 0 if zeros[0] is value else 1
        value = value.value
    if weights.param is not None and weights.has_exp:
        raise _alone(span, f"`exp` of a number stands beside `{weights.param[0].name}`")
    return value


def _alone(span: Span, why: str) -> MistakeFault:
    return MistakeFault(ParamAsValue(span, (), f"{why}, in the weights of one target"))


def are_positive(numbers: Sequence[Number], table: ValueTable) -> Iterator[bool]:
    """Yield for each number without its parameter whether it is positive for all values of it."""
    if table.weights.param is None:
        yield from (sign(number) > 0 for number in numbers)
        return
    from dpcheck.exact.line import line_of

    param, is_exponential = table.weights.param
    line = line_of(param, numbers, is_exponential=is_exponential)
    yield from (line.where(number, (-1, 0)).is_empty for number in numbers)


def shares(numbers: Sequence[Number], table: ValueTable) -> Sequence[Number]:
    """Return weights that sum to 1 at the single value asked as such that do so beside it, too.

    What is 0 there was left out of them, so that their sum is 1 at that value only. Other weights
    are returned as they are.
    """
    if table.weights.param is None or not table.weights.param[0].is_single:
        return numbers
    total = total_of(numbers, table)
    return numbers if total == 0 else [divide(number, total) for number in numbers]


def told_apart(
    ratios: Iterable[Number], known: Sequence[Number], table: ValueTable
) -> list[Number]:
    """Return ratios, without those that equal another at the single value asked.

    There the other stands for them, and their difference is like a weight that is 0.
    """
    param, found = table.weights.param, list(known)
    if param is None or not param[0].is_single:
        return list(ratios)
    for ratio in ratios:
        gaps = [subtract(ratio, each) for each in found]
        zeros = [gap for gap in gaps if gap != 0 and _zeros([gap], table)]
        table.weights.vanishing.update(dict.fromkeys(zeros))
        if not zeros and 0 not in gaps:
            found.append(ratio)
    return found


def is_zero(number: Number, table: ValueTable) -> bool:
    """Return whether a number is 0: at the single value asked where there is one, else as such."""
    param, vanishing = table.weights.param, table.weights.vanishing
    if number == 0 or param is None or not param[0].is_single or not vanishing:
        return number == 0
    return bool(_zeros([number, next(iter(vanishing))], table))


def _zeros(numbers: Sequence[Number], table: ValueTable) -> Sequence[Root]:
    """Return where all of some numbers are 0, as places of a line."""
    from dpcheck.exact.line import line_of
    from dpcheck.exact.roots import joined

    assert table.weights.param is not None, "they depend on a parameter"
    param, is_exponential = table.weights.param
    line = line_of(param, numbers, is_exponential=is_exponential)
    return joined(and_, [line.where(number, (0,)) for number in numbers]).ends


def total_of(numbers: Sequence[Number], table: ValueTable) -> Number:
    """Return the sum of weights."""
    total: Number = 0
    for number in numbers:
        table.check_time()
        total = add(total, number)
    return total


def sum_for_some_values(
    total: Number, span: Span, table: ValueTable, *, is_relative: bool = False
) -> WeightOutsideUnit | None:
    """Return the mistake of weights whose sum is not 1, or 0 if relative, for some value."""
    if table.weights.param is None:
        return None
    from dpcheck.exact.line import line_of

    param, is_exponential = table.weights.param
    line = line_of(param, [total], is_exponential=is_exponential)
    number, signs = (total, (0,)) if is_relative else (subtract(total, 1), (-1, 1))
    failing, place = line.where(number, signs), None
    if not failing.is_empty:
        place = line.example_text(failing)
    elif is_relative and isinstance(total, ExpNumber):
        place = zero_at_end(ParamNumber(total, param, is_exponential))
    if place is None:
        return None
    what, wrong = f"the sum of these weights, {line.text(total)},", "0" if is_relative else "not 1"
    return WeightOutsideUnit(span, (), what, wrong, place)
