"""Claims about all values of a parameter: of which one, for which values, and what has no place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import and_
from typing import TYPE_CHECKING, TypeGuard

from dpcheck import exact
from dpcheck.diagnostics.mistakes import Label
from dpcheck.diagnostics.params import (
    BoundForSomeValues,
    LoopHidesParam,
    NotForAllValues,
    ParamInterval,
    ParamNotThere,
    ParamsTogether,
)
from dpcheck.exact.parametric import MOST
from dpcheck.logic import claims
from dpcheck.logic.formulas import PathFormula, outermost_numbers
from dpcheck.model import surface
from dpcheck.model.evaluation import apply
from dpcheck.model.program import Mechanism, Target
from dpcheck.model.surface_text import one_line
from dpcheck.model.values import Value, value_text
from dpcheck.records import dataclass, replace
from dpcheck.resolve.expressions.expressions import interval_ends, is_within
from dpcheck.resolve.expressions.params import (
    OF_RATIONALS,
    ParamValue,
    near_interval,
    params_in,
    place_of,
)
from dpcheck.resolve.names.scopes import Asked, FreshNames, Known, Scope
from dpcheck.source import Span

if TYPE_CHECKING:
    from dpcheck.exact.line import Chosen, Line
    from dpcheck.exact.roots import Region


@dataclass(frozen=True)
class Quantified:
    """What is asked: for all values of a parameter, if it depends on one.

    `is_sound` is false where a mistake was reported.
    """

    for_all: claims.ForAll | None = None
    is_sound: bool = True


WRONG = Quantified(is_sound=False)


def quantified(
    question: surface.Question,
    claim: claims.Claim,
    at: claims.At | None,
    targets: Sequence[Target],
    scope: Scope,
) -> Quantified:
    """Return for which values of which parameter a question is asked; else report why none."""
    if not scope.session.has_params and question.part is None:
        return Quantified()
    asked = scope.session.asked
    of_claim = [value for each in asked for value in params_in(each.value)]
    found = [*params_in(targets), *of_claim]
    values = [value for value in found if not isinstance(value, exact.ExpNumber)]
    params = list(dict.fromkeys(value.param for value in values))
    if question.part is not None and question.part.name.name not in [p.name for p in params]:
        name = question.part.name
        if not _is_chosen(name.name, scope):
            scope.report(ParamNotThere(name.span, name.name, tuple(p.name for p in params)))
            return WRONG
    if not params:
        return Quantified()
    known = None if _is_hidden(question, params, scope) else _for_all(question, values[0], scope)
    if known is None:
        return WRONG
    what = _undecided_for_all(claim, at, targets)
    is_one = known.single is not None and len(params) == 1
    if is_one and (what is not None or _has_values_at(known.single, known, values)):
        return Quantified(known)
    known = replace(known, single=None, at_logarithms=any(map(_has_no_monomial, values)))
    own, value = known.param.name, _one_asked(known)
    part = _part_of(question, own, value) if len(params) == 1 else None
    chosen = f"{own}={value}" if len(params) == 1 else _all_but_one(params, values)
    if what is not None:
        instead = _instead_of(claim)
        scope.report(NotForAllValues(*what, own, value, part, instead))
    sound = [target for target in targets if target not in scope.session.doubtful]
    why, other = _why_not_together([*params_in(sound), *of_claim], params, asked)
    if why is not None:
        place = question.target.span.to(question.claim.span)
        scope.report(ParamsTogether(place, why, chosen, part, _label_of(other, sound)))
    # Bounds of one parameter, alone or in `exp`, are looked at whatever else stands beside them.
    is_mixed = len({value.is_exponential for value in values}) > 1
    of_one = () if is_mixed else tuple(filter(partial(_is_of_one, params[0]), asked))
    is_fitting = _bounds_fit(known, of_one, scope)
    return Quantified(known) if is_fitting and what is None and why is None else WRONG


def _all_but_one(params: Sequence[exact.Param], values: Sequence[ParamValue]) -> str:
    """Return values as `-D` takes them of all parameters but one, which stands beside them.

    One in `exp` or budgets stands beside rational numbers alone, so it is left; of two, none is.
    """
    exponential = list(dict.fromkeys(value.param for value in values if value.is_exponential))
    kept = (exponential or [params[-1]]) if len(exponential) < 2 else ()
    others = (param for param in params if param not in kept)
    return " -D ".join(f"{param.name}={value_text(param.simplest)}" for param in others)


def _label_of(
    value: ParamValue | exact.ExpNumber | None, targets: Sequence[Target]
) -> Label | None:
    """Return the mark of a number where it stands in a target, if that is known."""
    if value is None or (place := place_of(targets, value)) is None:
        return None
    return Label(place, f"this is {value_text(value)}")


def _is_of_one(param: exact.Param, asked: Asked) -> bool:
    """Return whether a bound depends on no other parameter."""
    return all(
        isinstance(value, exact.ExpNumber) or value.param == param
        for value in params_in(asked.value)
    )


def _is_hidden(question: surface.Question, params: Sequence[exact.Param], scope: Scope) -> bool:
    """Return whether a loop goes through a name that is that of a parameter, too; report it."""
    for name in (param.name for param in params):
        loop = scope.bindings.get(name)
        if question.part is None and isinstance(loop, Known) and loop.role == "loop variable":
            target = question.target.span
            scope.report(LoopHidesParam(target, name, one_line(target.text), loop.span))
            return True
    return False


def _one_asked(known: claims.ForAll) -> str:
    """Return the simplest value that is asked about, as `-D` takes it."""
    param = known.param
    line = known.line()
    value = line.simplest(known.asked(line), at_logarithms=False)
    return value_text(param.simplest if value is None else value)


def _part_of(question: surface.Question, name: str, value: str) -> str:
    """Return the edit of a claim that asks it about one value of its parameter."""
    part, target = question.part, one_line(question.target.span.text)
    place = f"after `{target}`" if part is None else f"in place of `{one_line(part.span.text)}`"
    return f"`for {name} in [{value}, {value}]` {place}"


def _has_values_at(
    single: Chosen | None, known: claims.ForAll, values: Sequence[ParamValue]
) -> bool:
    """Return whether all numbers are such that the language has where one value is asked.

    exp(-eps/2) is none at eps = ln 2: it is asked for all values of a part, of which it is the only
    one.
    """
    if not isinstance(single, exact.Budget):
        return True
    numbers = [value.value for value in values if isinstance(value, exact.ParamNumber)]
    line = known.line(numbers)
    return (single * line.unit).has_exact_power


def _has_no_monomial(value: ParamValue) -> bool:
    """Return whether a value is the logarithm of more than a multiple of exp(q·eps)."""
    if not isinstance(value, exact.ParamBudget) or not value.is_exponential:
        return False
    return value.argument.monomial() is None


def _instead_of(claim: claims.Claim) -> str:
    """Return what to ask, as the beginning of advice, that is the same for all values."""
    match claims.quantities_of(claim):
        case (claims.LossTable(word="profile"),):
            return "ask for `delta(ε)` at some ε, or "
        case _:
            return ""


def _why_not_together(
    found: Sequence[ParamValue | exact.ExpNumber],
    params: Sequence[exact.Param],
    asked: Sequence[Asked],
) -> tuple[str | None, ParamValue | exact.ExpNumber | None]:
    """Return why what a claim depends on has no common field, and a value that does not fit.

    None if it has one; None beside a reason that only the claim gives.
    `found` leaves out what stands in a target with a mistake: it may be meant as another thing.
    """
    values = [value for value in found if not isinstance(value, exact.ExpNumber)]
    params = list(dict.fromkeys(value.param for value in values)) or params[:1]
    first = f"`{params[0].name}`"
    if len(params) > 1:
        second = next(value for value in values if value.param == params[1])
        why = f"this depends on {first} and `{params[1].name}`, and a target has one `param`"
        return why, second
    outside = next((value for value in values if not value.is_exponential), None)
    if outside is not None and any(value.is_exponential for value in values):
        if any(v.is_exponential and isinstance(v, exact.ParamNumber) for v in values):
            return f"{first} stands both inside and outside of `exp`", outside
        text, name = value_text(outside), params[0].name
        meant = f": a ratio is `exp(-{name})`, or the budget of one is `-ln {name}`"
        other = f"alone{meant}" if text == name else f"as `{text}`"
        why = f"{first} is a budget here, so it stands in `exp` and budgets only, not {other}"
        return why, outside
    number = next((value for value in found if isinstance(value, exact.ExpNumber)), None)
    if number is not None:
        return f"`exp` of a number stands beside the parameter {first}", number
    for each in asked:
        budget = each.value
        if isinstance(budget, exact.Budget) and budget.offset != 0:
            written = f"not `{one_line(each.span.text)}`"
            why = f"beside {first} a budget is a sum of logarithms, such as `ln 3`, {written}"
            return why, None
    return None, None


# --- which values --------------------------------------------------------------------------


def left_out(part: surface.Part | None, scope: Scope) -> str | None:
    """Return the value that `-D` has chosen of a parameter, `p = 1/2`, if a part is without it."""
    if part is None or not _is_chosen(part.name.name, scope):
        return None
    _, declared = scope.file.visible[part.name.name]
    value, ends = scope.session.constants.get(id(declared)), _ends(part, scope)
    if value is None or ends is None or is_within(value, *ends, part.interval):
        return None
    return f"{part.name.name} = {value_text(value)}"


def _is_chosen(name: str, scope: Scope) -> bool:
    """Return whether a name is a parameter that has a value."""
    _, declared = scope.file.visible.get(name, (None, None))
    if not isinstance(declared, surface.Constant):
        return False
    session, value = scope.session, scope.session.constants.get(id(declared))
    is_single = value is not None and not isinstance(value, ParamValue)
    is_part = isinstance(value, ParamValue) and name in session.chosen
    return is_single or name in session.overrides or (name in session.chosen and not is_part)


def _for_all(question: surface.Question, value: ParamValue, scope: Scope) -> claims.ForAll | None:
    """Return the values that are asked about, of those the parameter has."""
    param, is_exponential, part = value.param, value.is_exponential, question.part
    whole = claims.ForAll(param, is_exponential, question.span)
    if part is None:
        return whole
    ends = _ends(part, scope)
    if ends is None:
        return None
    low, high = ends
    interval = part.interval
    conditions: list[tuple[Chosen, tuple[int, ...]]] = []
    for end, signs in (
        (low, (1, 0)[: 1 + interval.has_low]),
        (high, (-1, 0)[: 1 + interval.has_high]),
    ):
        if end is not None:
            if not _is_end(end, is_exponential=is_exponential):
                near = near_interval(low, high, interval)
                scope.report(ParamInterval(interval.span, param.name, OF_RATIONALS, near))
                return None
            if is_exponential and not -MOST <= exact.Budget.of(0) + end <= MOST:
                why = f"lie between -{MOST} and {MOST}, or reach `inf`, where `exp` of it is used"
                scope.report(ParamInterval(interval.span, param.name, why))
                return None
            conditions.append((end, signs))
    has_low = param.has_low and is_within(param.low, low, high, interval)
    has_high = param.has_high and is_within(param.high, low, high, interval)
    asked = replace(param, has_low=has_low, has_high=has_high)
    known = replace(whole, param=asked, part=tuple(conditions))
    line = known.line()
    if known.asked(line).is_empty and not has_low and not has_high:
        why = f"here are none of {param.text}"
        scope.report(ParamInterval(interval.span, param.name, why))
        return None
    return replace(known, single=_only_value(known, low, high))


def _only_value(known: claims.ForAll, low: Value | None, high: Value | None) -> Chosen | None:
    """Return the value of the parameter that a part with these ends asks, None if it asks several.

    It is both ends of the part, or one of it with the other end beyond the interval.
    """
    param = known.param
    line = known.line()
    if known.asked(line).is_empty:
        return param.low if param.has_low else param.high
    if low is None or high is None or apply("=", (low, high)) is not True:
        return None
    return low if _is_end(low, is_exponential=known.is_exponential) else None


def _ends(part: surface.Part, scope: Scope) -> tuple[Value | None, Value | None] | None:
    """Return the ends of a part, None for infinite ones; None, with a mistake, for no part."""
    home = Scope(scope.session, scope.file, FreshNames(), scope.bindings)
    return interval_ends(part.name.name, part.interval, home)


def _is_end(end: Value, *, is_exponential: bool) -> TypeGuard[Chosen]:
    """Return whether a part may end there: at a budget only where `exp` is used."""
    if isinstance(end, exact.Budget):
        return is_exponential and not isinstance(end, exact.ParamBudget)
    return isinstance(end, int | exact.Rational) and not isinstance(end, bool)


# --- what may be asked ---------------------------------------------------------------------


def _undecided_for_all(
    claim: claims.Claim, at: claims.At | None, targets: Sequence[Target]
) -> tuple[Span, str] | None:
    """Return what of a claim is decided for single values only, and where; None if nothing is."""
    adapts = any(isinstance(target, Mechanism) and target.has_queries for target in targets)
    if adapts and not claims.is_pure(claim):
        return claim.span, "δ of an analyst who adapts"
    if isinstance(at, claims.AtCondition):
        for each in outermost_numbers(at.condition):
            return each.span, "P or D in the condition of `at`"
    paths: tuple[PathFormula, ...] = ()
    match claim, claims.quantities_of(claim):
        case claims.FormulaClaim(formula=formula), _:
            paths = tuple(each.path for each in outermost_numbers(formula))
        case claims.QuantityComparison(), _:
            return claim.span, "a comparison of two quantities"
        case _, (claims.PathProbability(path=path),):
            paths = (path,)
        case _, (claims.TightDelta() | claims.TightEpsilon() | claims.Expectation(),):
            pass
        case claims.PrivacyClaim(), _:
            pass
        case _:
            return claim.span, "this quantity"
    for each in outermost_numbers(paths):
        return each.span, "a P or D inside of the brackets of another"
    return None


def _bounds_fit(known: claims.ForAll, asked: Sequence[Asked], scope: Scope) -> bool:
    """Return whether every bound is one for all values that are asked about; else report it."""
    from dpcheck.exact.roots import joined

    is_sound = True
    for each in asked:
        numbers = list(_must_be_positive(each))
        line = known.line(numbers)
        for number in numbers:
            failing = joined(and_, [known.asked(line), line.where(number, (-1,))])
            if not failing.is_empty:
                is_pair = each.needed == "interval"
                text = f"[{each.span.text}]" if is_pair else value_text(each.value)
                there = _value_there(each, line, failing)
                place = line.example_text(failing)
                positive = joined(and_, [known.asked(line), line.where(number, (1,))])
                is_negative = each.needed == "budget" and positive.is_empty
                edit = _negated(one_line(each.span.text)) if is_negative else None
                scope.report(BoundForSomeValues(each.span, text, each.needed, there, place, edit))
                is_sound = False
                break
    return is_sound


def _negated(text: str) -> str:
    """Return an expression with the other sign: `-ln p` for `ln p`, and back."""
    if not {"+", "-"} & set(text[1:]):
        return text[1:] if text[0] == "-" else f"-{text}"
    return f"-({text})"


def _value_there(each: Asked, line: Line, failing: Region) -> str:
    """Return what a bound is at the simplest value where it is none, or what is wrong there."""
    at, bound = line.simplest(failing), each.value
    wrong = {"budget": "negative", "probability": "not between 0 and 1"}.get(each.needed, "empty")
    if not isinstance(at, int | exact.Rational):
        return wrong
    if isinstance(bound, exact.ParamBudget) and line.is_exponential:
        monomial = bound.argument.monomial()
        if monomial is None:
            return wrong
        factor, exponent = monomial
        inside = exact.Budget.ln(factor) + exponent / bound.param.exponent * at
        return f"{value_text((inside * bound.exponent).plain())} < 0"
    if line.is_exponential or not isinstance(bound, exact.ParamBudget | exact.ParamNumber):
        return wrong
    number = bound.value if isinstance(bound, exact.ParamNumber) else bound.argument
    found = line.number_at(number, at)
    if isinstance(bound, exact.ParamNumber):
        return value_text(found)
    return f"{value_text(exact.Budget.ln(found) * bound.exponent)} < 0"


def _must_be_positive(each: Asked) -> Iterator[exact.Number]:
    """Yield what is at least 0 where a bound is as it must be."""
    match each.value:
        case exact.ParamBudget() as budget if each.needed == "budget":
            # a^n >= 1 where a >= 1, or a <= 1 for n < 0: no power is written down
            sides = (budget.argument, 1) if budget.exponent > 0 else (1, budget.argument)
            yield exact.subtract(*sides)
        case exact.ParamNumber(value=value) if each.needed == "probability":
            yield value
            yield exact.subtract(1, value)
        case (first, last) if each.needed == "interval":
            room = apply("-", (last, first))
            if isinstance(room, exact.ParamNumber | int | exact.Rational):
                yield room.value if isinstance(room, exact.ParamNumber) else room
