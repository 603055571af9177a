"""What a `~` can draw: finite supports with exact weights, one per distinct tuple of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any, assert_never

import numpy as np

from dpcheck.chain.arrays import end_to_end, marked, ranked_keys
from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.chain.weights.denominators import INT64_LIMIT, concatenated, gathered
from dpcheck.chain.weights.rows import ranges
from dpcheck.diagnostics import runs
from dpcheck.exact import (
    ExpNumber,
    ExpPolynomial,
    Number,
    Rational,
    Whole,
    add,
    as_fraction_parts,
    compare,
    exact_quotient,
    multiply,
    sign,
    whole_lcm,
)
from dpcheck.exact import number as quotient
from dpcheck.explore.sampling import closed_forms
from dpcheck.explore.sampling.closed_forms import Weights, positive
from dpcheck.explore.tails.tails import FARTHEST, TAIL_STATE, TailStates
from dpcheck.explore.values.codes import FALSE, FIRST_FAULT, TRUE, ValueTable
from dpcheck.explore.values.evaluate import Frame, evaluated, spread, truths
from dpcheck.explore.values.growing import Growing
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.explore.values.weights import shares, sum_for_some_values, total_of, weight_value
from dpcheck.limits import too_large
from dpcheck.model import program
from dpcheck.model.distributions import DISTRIBUTIONS, BuiltIn, Parameter
from dpcheck.model.evaluation import Fault, described
from dpcheck.model.expressions import Const, Expr, Var, reads
from dpcheck.model.values import SetValue, Value, value_text
from dpcheck.records import dataclass
from dpcheck.source import Span


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows repeated once per value of their support.

    row [n_drawn]: which row; value [n_drawn]: the code drawn; numerators [n_drawn].
    """

    row: IntArray
    value: IntArray
    numerators: WeightArray


class Supports:
    """The distributions met in one exploration, by number.

    Values are codes of `table`, strictly increasing in no particular order but without repeats,
    and every weight is positive.
    """

    def __init__(self, table: ValueTable, tails: TailStates | None = None) -> None:
        """Start with no distribution; `tails` are needed for noise without bounds."""
        self.table, self.tails = table, tails
        self.forms = closed_forms.closed_forms(table.check_time)
        self.largest = 0
        self._members: list[Weights] = []
        self._known: dict[tuple[str, Span], dict[tuple[int, ...], int]] = {}
        self._sizes = Growing()

    def add(self, support: Weights) -> int:
        """Return the number of a new distribution."""
        size, denominator = len(support.values), support.denominator
        is_small = isinstance(denominator, int) and denominator < INT64_LIMIT
        assert is_small or support.numerators.dtype == object, "sums of numerators fit int64"
        self._sizes.extend(np.array([size]))
        self.largest = max(self.largest, size)
        self._members.append(support)
        return len(self._members) - 1

    def known(self, kind: str, span: Span) -> dict[tuple[int, ...], int]:
        """Return the numbers (or codes of faults) by parameters, of what one place makes."""
        return self._known.setdefault((kind, span), {})

    def made(self, make: Callable[[], Weights]) -> int:
        """Return the number of a new distribution, or the code of a fault."""
        try:
            return self.add(make())
        except Fault as fault:
            return self.table.fault(fault)

    def lengths(self, numbers: IntArray) -> IntArray:
        """Return how many values each distribution has, [n]."""
        return self._sizes.values[numbers]

    def denominators(self, numbers: IntArray) -> WeightArray:
        """Return the denominators of the distributions, [n]."""
        distinct, index = ranked_keys(numbers)
        return gathered([self._members[k].denominator for k in distinct.tolist()], index)

    def drawn(self, numbers: IntArray) -> Drawn:
        """Return every row once per value of its distribution (`numbers` [n_rows])."""
        distinct, index = ranked_keys(numbers)
        members = [self._members[k] for k in distinct.tolist()]
        sizes = self.lengths(distinct)
        picked = ranges((sizes.cumsum() - sizes)[index], sizes[index])
        return Drawn(
            np.arange(len(numbers)).repeat(sizes[index]),
            end_to_end([m.values for m in members])[picked],
            concatenated([m.numerators for m in members])[picked],
        )


def distributions(distribution: program.Distribution, frame: Frame, supports: Supports) -> IntArray:
    """Return the number of each row's distribution [n_rows], or a fault's code."""
    match distribution:
        case program.Weighted():
            return _weighted(distribution, frame, supports)
        case program.LetDistribution(name=name, value=value, body=body):
            column = evaluated(value, frame, supports.table)
            found = distributions(body, frame.bound(name, column), supports)
            return np.where(column >= FIRST_FAULT, column, found)
        case program.ChooseDistribution():
            return _chosen(distribution, frame, supports)
        case _:
            return _per_row(_recipe(distribution, supports), frame, supports)


def _chosen(choice: program.ChooseDistribution, frame: Frame, supports: Supports) -> IntArray:
    """Return the distributions of the branch each row takes."""
    result = np.array(truths(choice.condition, frame, supports.table))
    then, orelse = marked(result == TRUE), marked(result == FALSE)
    for rows, branch in ((then, choice.then), (orelse, choice.orelse)):
        if len(rows):
            result[rows] = distributions(branch, frame.at(rows), supports)
    return result


Maker = Callable[[list[Value], Span], Weights]


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to make a distribution from the values of its parameters."""

    kind: str
    parameters: tuple[Expr, ...]
    span: Span
    make: Maker

    def numbers(self, rows: Iterable[tuple[int, ...]], supports: Supports) -> list[int]:
        """Return the numbers of the distributions with these parameters, or codes of faults."""
        known, found = supports.known(self.kind, self.span), []
        for codes in rows:
            number = known.get(codes)
            if number is None:
                number = known[codes] = self._made(codes, supports)
            found.append(number)
        return found

    def _made(self, codes: tuple[int, ...], supports: Supports) -> int:
        for code in codes:
            if code >= FIRST_FAULT:
                return code
        # A set that is known before any run keeps the order in which it was written.
        values = [
            each.value if isinstance(each, Const) else supports.table.value(code)
            for each, code in zip(self.parameters, codes, strict=True)
        ]
        return supports.made(partial(self.make, values, self.span))


def _recipe(distribution: program.Parametric | program.Branches, supports: Supports) -> Recipe:
    """Return the parameters of a distribution and its maker."""
    match distribution:
        case program.Parametric(word=word, arguments=arguments, policy=policy, span=span):
            row = DISTRIBUTIONS[word]
            if isinstance(policy, program.Unbounded):
                added = [each.span for each in arguments[len(row.parameters) :]]
                unbounded = partial(_unbounded, row, supports, added)
                read = (*arguments, Var(TAIL_STATE, span))
                return Recipe(f"{word} unbounded", read, span, unbounded)
            bounds = () if policy is None else (policy.lo, policy.hi)
            make = partial(_parametric, row, policy, supports)
            return Recipe(word, (*arguments, *bounds), span, make)
        case program.Branches(branches=branches, span=span):
            parts = tuple(part for branch in branches for part in branch)
            return Recipe("branches", parts, span, partial(_branches, distribution, supports.table))
    assert_never(distribution)


def _per_row(found: Recipe, frame: Frame, supports: Supports) -> IntArray:
    """Evaluate the parameters and make one distribution per distinct tuple of them."""
    columns = [evaluated(parameter, frame, supports.table) for parameter in found.parameters]
    first, group = distinct_rows(columns)
    codes = zip(*(column[first].tolist() for column in columns), strict=True)
    return np.array(found.numbers(codes, supports), np.int64)[group]


# --- parameters ----------------------------------------------------------------------------


def _number(value: Value, what: str, span: Span) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | Rational | ExpNumber):
        raise MistakeFault(
            runs.WrongKindOnRun(span, (), f"{what} is {described(value)}, not a number")
        )
    return value


def integer_of(value: Value, what: str, span: Span, edit: str | None = None) -> int:
    """Return an integer; raises the mistake of what is none, named by `what`."""
    number = _number(value, what, span)
    if not isinstance(number, int):
        raise _bad(span, f"{what} must be an integer, not {value_text(value)}", edit)
    return number


def move_of(value: Value, span: Span) -> int:
    """Return by how much a number without bounds is moved; raises as `integer_of` does."""
    return integer_of(value, "what is added to noise", span, "round what is added with `floor`")


def _bad(span: Span, what: str, edit: str | None = None) -> MistakeFault:
    return MistakeFault(runs.BadParameter(span, (), what, edit))


def checked_argument(
    parameter: Parameter, value: Value, span: Span, table: ValueTable
) -> tuple[Any, ...]:
    """Return an argument as its closed form takes it; raises the mistake of one that is not so.

    A probability and a ratio come as numerator and denominator, a half-integer as its double, a
    set as the codes of its elements.
    """
    what = parameter.text
    match parameter.kind:
        case "set":
            return (_elements(value, what, span, table),)
        case "integer":
            return (integer_of(value, what, span),)
        case "half-integer":
            twice = multiply(2, _number(value, what, span))
            if not isinstance(twice, int):
                raise _bad(span, f"{what} must be an integer, not {value_text(value)}")
            return (twice,)
        case "count":
            count = integer_of(value, what, span)
            if count < 0:
                raise _bad(span, f"{what} must be at least 0, and is {count}")
            return (count,)
        case "probability":
            number = _number(weight_value(value, span, table), what, span)
            if compare(number, 0) < 0 or compare(number, 1) > 0:
                raise MistakeFault(runs.ProbabilityOutsideUnit(span, (), value_text(value)))
            return as_fraction_parts(number)
        case "ratio":
            return _ratio(parameter, weight_value(value, span, table, is_strict=True), span)
    assert_never(parameter.kind)


def _elements(value: Value, what: str, span: Span, table: ValueTable) -> IntArray:
    """Return the codes of the elements of a non-empty set."""
    if not isinstance(value, SetValue):
        raise MistakeFault(
            runs.WrongKindOnRun(span, (), f"{what} needs a set, not {described(value)}")
        )
    if value.size == 0:
        raise MistakeFault(runs.EmptyUniform(span, ()))
    _check_support(value.size)
    return table.codes(value.items)


def _ratio(parameter: Parameter, value: Value, span: Span) -> tuple[Whole, Whole]:
    """Return numerator and denominator of a number strictly between 0 and 1."""
    number = _number(value, parameter.text, span)
    if compare(number, 0) > 0 and compare(number, 1) < 0:
        return as_fraction_parts(number)
    text = value_text(number)
    edit = parameter.edit(text) if compare(number, 1) >= 0 else None
    raise MistakeFault(runs.BadParameter(span, (), parameter.outside(text), edit))


def _window(low: Value, high: Value, policy: program.Policy) -> tuple[int, int]:
    """Return the bounds of a policy, both small enough for a table."""
    lo = integer_of(low, f"the lower bound of `{policy.kind}`", policy.span)
    hi = integer_of(high, f"the upper bound of `{policy.kind}`", policy.span)
    text = f"{value_text(lo)}..{value_text(hi)}"
    if lo > hi:
        raise _bad(policy.span, f"`{policy.kind} {text}` leaves no value")
    if policy.kind == "folded" and lo == hi:
        raise _bad(policy.span, f"`folded {text}` needs a lower bound below the upper one")
    _check_support(hi - lo + 1)
    if max(abs(lo), abs(hi)) >= closed_forms.FARTHEST_BOUND:
        what = f"the bounds of `{policy.kind} {text}` are too large"
        raise MistakeFault(runs.NumberTooLarge(policy.span, (), what))
    return lo, hi


def _check_support(n_values: int) -> None:
    """Stop before a distribution is written out that has more values than any limit on states."""
    most = closed_forms.MAX_SUPPORT
    if n_values > most:
        raise too_large(
            f"a distribution has {value_text(n_values)} values, and {most} are the limit",
            "a smaller range",
        )


def _parametric(
    row: BuiltIn, policy: program.Policy | None, supports: Supports, values: list[Value], span: Span
) -> Weights:
    """Return a built-in distribution, its arguments checked in the order they are written."""
    given: list[Any] = []
    for parameter, value in zip(row.parameters, values, strict=False):
        given.extend(checked_argument(parameter, value, span, supports.table))
    if policy is not None:
        given.extend(_window(values[-2], values[-1], policy))
    form = supports.forms[row.word, None if policy is None else policy.kind]
    try:
        return form(*given)
    except closed_forms.NoValueLeft as error:
        raise _bad(span if policy is None else policy.span, str(error)) from None
    except closed_forms.TooManyDigits as error:
        raise MistakeFault(runs.NumberTooLarge(span, (), str(error), error.advice)) from None


def _unbounded(
    row: BuiltIn, supports: Supports, added: Sequence[Span], values: list[Value], span: Span
) -> Weights:
    """Return noise on all integers: values in the window, and arrivals beyond it.

    added: where what moves its center stands.
    """
    given: list[Any] = []
    for parameter, value in zip(row.parameters, values, strict=False):
        given.extend(checked_argument(parameter, value, span, supports.table))
    tails, state = supports.tails, values[-1]
    assert tails is not None, "what is wide has tails"
    assert isinstance(state, int), "a tail state is a number"
    moves = values[len(row.parameters) : -1]
    shift = sum(map(move_of, moves, added))
    low, high = tails.window.low - 1 - shift, tails.window.high + 1 - shift
    if abs(shift) > FARTHEST:
        raise tails.window.beyond_codes()
    try:
        inner = supports.forms[row.word, "clamped"](*given, low, high)
    except closed_forms.TooManyDigits:
        centers = tails.met.low, tails.met.high
        digits = closed_forms.too_many_digits(*centers, *given[-2:])
        raise tails.window.too_far(*digits) from None
    ratio = quotient(given[-2], given[-1])
    codes: list[int] = []
    numbers: list[Number] = []
    beyond: Number = 0
    for code, weight in zip(inner.values.tolist(), inner.numerators.tolist(), strict=True):
        chance = quotient(weight, inner.denominator)
        if low < code < high:
            codes.append(code + shift)
            numbers.append(chance)
            continue
        beyond = add(beyond, chance)
        for arrival, share in tails.arriving(state, ratio, span, is_above=code == high):
            codes.append(arrival)
            numbers.append(multiply(chance, share))
    if compare(beyond, tails.most_beyond) > 0:
        tails.most_beyond = beyond
    return whole_weights(codes, numbers, span, supports.table)


# --- literals ------------------------------------------------------------------------------


def _branches(
    distribution: program.Branches, table: ValueTable, values: list[Value], span: Span
) -> Weights:
    """Return a literal `{value: weight, ...}`."""
    places = [weight.span for _, weight in distribution.branches]
    codes = [table.code(value) for value in values[::2]]
    return _literal(codes, values[1::2], places, distribution.normalized, span, table)


def _weighted(distribution: program.Weighted, frame: Frame, supports: Supports) -> IntArray:
    """Return the distributions of `{value: weight for name in domain where condition}`."""
    table = supports.table
    first, group = _distinct_readings(distribution, frame)
    bodies = (distribution.value, distribution.weight)
    lists = spread(
        distribution.name, distribution.domain, distribution.where, bodies, frame.at(first), table
    )
    place = distribution.weight.span
    known = supports.known("weighted", distribution.span)
    numbers = []
    for found in lists:
        if isinstance(found, int):
            numbers.append(found)
            continue

        def make(found: tuple[int, ...] = found) -> Weights:
            weights = [table.value(code) for code in found[1::2]]
            places = [place] * len(weights)
            codes, is_normalized = list(found[::2]), distribution.normalized
            return _literal(codes, weights, places, is_normalized, distribution.span, table)

        if found not in known:
            known[found] = supports.made(make)
        numbers.append(known[found])
    return np.array(numbers, np.int64)[group]


def _distinct_readings(distribution: program.Weighted, frame: Frame) -> tuple[IntArray, IntArray]:
    """Return the first row of each group that agrees on what the distribution reads."""
    names = sorted(set(reads(distribution)))
    if not names:
        return np.zeros(min(1, frame.n_rows), np.int64), np.zeros(frame.n_rows, np.int64)
    return distinct_rows([frame[name] for name in names])


def _literal(
    codes: list[int],
    weights: Sequence[Value],
    places: Sequence[Span],
    normalized: bool,
    span: Span,
    table: ValueTable,
) -> Weights:
    """Return the distribution with the given weights, equal values added up."""
    proved = [
        weight_value(w, p, table, has_top=not normalized)
        for w, p in zip(weights, places, strict=True)
    ]
    numbers = [_number(w, "this weight", p) for w, p in zip(proved, places, strict=True)]
    for number, place in zip(numbers, places, strict=True):
        if sign(number) < 0:
            raise MistakeFault(runs.NegativeWeight(place, (), value_text(number)))
    if normalized and all(number == 0 for number in numbers):
        raise MistakeFault(runs.NoPositiveWeight(span, ()))
    numbers = list(shares(numbers, table))
    is_free = normalized and table.weights.param is None
    total = 1 if is_free else total_of(numbers, table)
    if (mistake := sum_for_some_values(total, span, table, is_relative=normalized)) is not None:
        raise MistakeFault(mistake)
    if total != 1 and not normalized:
        branches = tuple(zip(places, numbers, strict=True)) if len(set(places)) > 1 else ()
        raise MistakeFault(runs.WeightsDoNotSumToOne(span, (), total, branches))
    return whole_weights(codes, numbers, span, table)


def whole_weights(
    codes: list[int], numbers: Sequence[Number], span: Span, table: ValueTable
) -> Weights:
    """Return positive numbers as whole weights over their sum, equal values added up."""
    parts = _relative_terms(numbers) or [as_fraction_parts(number) for number in numbers]
    common: Whole = 1
    for denominator in {denominator for _, denominator in parts}:
        table.check_time()
        common = whole_lcm(common, denominator)
    try:
        closed_forms.check_digits(len(parts), 1, common)
    except closed_forms.TooManyDigits as error:
        raise MistakeFault(runs.NumberTooLarge(span, (), str(error))) from None
    merged: dict[int, Whole] = {}
    total: Whole = 0
    for code, (n, d) in zip(codes, parts, strict=True):
        table.check_time()
        weight = n * exact_quotient(common, d)
        merged[code] = merged.get(code, 0) + weight
        total = total + weight
    return positive(list(merged), list(merged.values()), total)


_ZERO = Rational(0)
_MAX_TERM = 1_000
"""Terms of so high a degree are worth writing down over one unit."""


def _relative_terms(numbers: Sequence[Number]) -> list[tuple[Whole, Whole]] | None:
    """Return numerators and denominators of weights c e^s, all times one power of e.

    Only their proportions count, so the least power becomes 1, and denominators are integers. None
    where some weight is no such term, or none has a power of e.
    """
    terms = [n.monomial() if isinstance(n, ExpNumber) else (n, _ZERO) for n in numbers]
    known = [term for term in terms if term is not None]
    exponents = [exponent for factor, exponent in known if factor != 0]
    if len(known) < len(terms) or all(exponent == 0 for exponent in exponents):
        return None
    least = min(exponents)
    unit = reduce(Rational.gcd, (exponent - least for exponent in exponents), _ZERO)
    found: list[tuple[Whole, Whole]] = []
    for factor, exponent in known:
        degree = int(((exponent - least) / unit).p) if unit and factor != 0 else 0
        if degree > _MAX_TERM:
            return None
        exact = Rational(factor)
        above, below = int(exact.p), int(exact.q)
        term = ExpPolynomial.exp(unit) ** degree * above if degree else above
        found.append((term, below))
    return found
