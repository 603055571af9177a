"""What a `~` can draw: finite supports with exact weights, one per distinct tuple of parameters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import assert_never

import numpy as np

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import IntArray, WeightArray
from dpcheck.chain.sets import distinct_rows
from dpcheck.chain.weights.denominators import INT64_LIMIT, concatenated, weight_array
from dpcheck.chain.weights.rows import ranges
from dpcheck.diagnostics.runs import (
    BadParameter,
    EmptyUniform,
    NegativeWeight,
    NoPositiveWeight,
    NumberTooLarge,
    ProbabilityOutsideUnit,
    WeightsDoNotSumToOne,
    WrongKindOnRun,
)
from dpcheck.exact import (
    ExpNumber,
    Number,
    Rational,
    Whole,
    add,
    as_fraction_parts,
    compare,
    divide,
    exact_quotient,
    floor,
    multiply,
    subtract,
    whole_lcm,
)
from dpcheck.explore.sampling import closed_forms
from dpcheck.explore.sampling.closed_forms import Weights
from dpcheck.explore.values.codes import (
    FALSE,
    FIRST_FAULT,
    TRUE,
    ValueTable,
)
from dpcheck.explore.values.evaluate import Frame, evaluated, spread, truths
from dpcheck.explore.values.growing import Growing
from dpcheck.explore.values.mistakes import MistakeFault
from dpcheck.limits import too_large
from dpcheck.model.evaluation import Fault, described
from dpcheck.model.expressions import Expr, reads
from dpcheck.model.program import (
    Bernoulli,
    Binomial,
    Branches,
    ChooseDistribution,
    Distribution,
    Gaussian,
    Geometric,
    GeometricPositive,
    LetDistribution,
    Policy,
    Uniform,
    Weighted,
)
from dpcheck.model.values import SetValue, Value, value_text
from dpcheck.records import dataclass
from dpcheck.source import Span

MAX_SUPPORT = 5_000_000
MAX_COMMON = 1 << 16
"""How many values a distribution has at most that is kept in columns with others."""

MAX_TABLE_BITS = 1 << 34


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

    def __init__(self, table: ValueTable) -> None:
        """Start with no distribution."""
        self.table = table
        self.largest = 0
        self._members: list[Weights] = []
        self._known: dict[tuple[str, Span], dict[tuple[int, ...], int]] = {}
        self._sizes, self._starts = Growing(), Growing()
        self._values, self._numerators = Growing(), Growing()
        self._denominators = Growing()

    def add(self, support: Weights) -> int:
        """Return the number of a new distribution.

        Values and numerators of small ones stand in common columns; a start of -1 says that the
        distribution is not there, a denominator of 0 that it is no int64.
        """
        size, denominator = len(support.values), support.denominator
        is_common = support.numerators.dtype == np.int64 and size <= MAX_COMMON
        is_small = isinstance(denominator, int) and denominator < INT64_LIMIT
        assert is_small or support.numerators.dtype == object, "sums of numerators fit int64"
        self._starts.extend(np.array([len(self._values) if is_common else -1]))
        self._sizes.extend(np.array([size]))
        self._denominators.extend(np.array([denominator if is_small else 0], np.int64))
        if is_common:
            self._values.extend(support.values)
            self._numerators.extend(support.numerators)
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
        """Return how many values each distribution has."""
        return self._sizes.values[numbers]

    def denominators(self, numbers: IntArray) -> WeightArray:
        """Return the denominators of the distributions."""
        found: WeightArray = self._denominators.values[numbers]
        if found.all():
            return found
        return weight_array([self._members[k].denominator for k in numbers.tolist()])

    def drawn(self, numbers: IntArray) -> Drawn:
        """Return every row once per value of its distribution (`numbers` [n_rows])."""
        sizes, starts = self.lengths(numbers), self._starts.values[numbers]
        row = np.arange(len(numbers)).repeat(sizes)
        if (starts >= 0).all():
            picked = ranges(starts, sizes)
            return Drawn(row, self._values.values[picked], self._numerators.values[picked])
        distinct, index = np.unique(numbers, return_inverse=True)
        members = [self._members[k] for k in distinct.tolist()]
        own_sizes = self.lengths(distinct)
        picked = ranges((own_sizes.cumsum() - own_sizes)[index], sizes)
        return Drawn(
            row,
            np.concatenate([np.empty(0, np.int64), *(m.values for m in members)])[picked],
            concatenated([m.numerators for m in members])[picked],
        )


def distributions(distribution: Distribution, frame: Frame, supports: Supports) -> IntArray:
    """Return the number of each row's distribution [n_rows], or a fault's code."""
    match distribution:
        case Weighted():
            return _weighted(distribution, frame, supports)
        case LetDistribution(name=name, value=value, body=body):
            column = evaluated(value, frame, supports.table)
            return distributions(body, frame.bound(name, column), supports)
        case ChooseDistribution():
            return _chosen(distribution, frame, supports)
        case _:
            return _per_row(recipe(distribution, supports.table), frame, supports)


def _chosen(choice: ChooseDistribution, frame: Frame, supports: Supports) -> IntArray:
    """Return the distributions of the branch each row takes."""
    result = np.array(truths(choice.condition, frame, supports.table))
    then, orelse = marked(result == TRUE), marked(result == FALSE)
    for rows, branch in ((then, choice.then), (orelse, choice.orelse)):
        if len(rows):
            result[rows] = distributions(branch, frame.at(rows), supports)
    return result


Maker = Callable[[list[Value], Span], Weights]
Parametric = Bernoulli | Uniform | Binomial | Geometric | GeometricPositive | Gaussian | Branches


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
        values = [supports.table.value(code) for code in codes]
        return supports.made(partial(self.make, values, self.span))


def recipe(distribution: Parametric, table: ValueTable) -> Recipe:
    """Return the parameters of a distribution and its maker."""
    match distribution:
        case Bernoulli(probability=p, span=span):
            return Recipe("bernoulli", (p,), span, _bernoulli)
        case Uniform(domain=domain, span=span):
            return Recipe("uniform", (domain,), span, partial(_uniform, table))
        case Binomial(trials=n, probability=p, span=span):
            return Recipe("binomial", (n, p), span, partial(_binomial, table))
        case Geometric(center=center, alpha=alpha, policy=policy, span=span):
            parameters = (center, alpha, policy.lo, policy.hi)
            return Recipe("geometric", parameters, span, _geometric(policy))
        case GeometricPositive(alpha=alpha, policy=policy, span=span):
            three = (alpha, policy.lo, policy.hi)
            return Recipe("geometric_positive", three, span, _geometric_positive(policy))
        case Gaussian(center=center, base=base, policy=policy, span=span):
            parameters = (center, base, policy.lo, policy.hi)
            return Recipe("gaussian", parameters, span, _gaussian(policy))
        case Branches(branches=branches, span=span):
            parts = tuple(part for branch in branches for part in branch)
            return Recipe("branches", parts, span, partial(_branches, distribution, table))
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
        raise MistakeFault(WrongKindOnRun(span, (), f"{what} is {described(value)}, not a number"))
    return value


def _integer(value: Value, what: str, span: Span) -> int:
    number = _number(value, what, span)
    if not isinstance(number, int):
        raise _bad(span, f"{what} must be an integer, not {value_text(value)}")
    return number


def _bad(span: Span, what: str) -> MistakeFault:
    return MistakeFault(BadParameter(span, (), what))


def _probability(value: Value, span: Span) -> Number:
    number = _number(value, "the probability", span)
    if compare(number, 0) < 0 or compare(number, 1) > 0:
        raise MistakeFault(ProbabilityOutsideUnit(span, (), value_text(value)))
    return number


def _open_unit(value: Value, what: str, span: Span) -> tuple[Whole, Whole]:
    """Return numerator and denominator of a number strictly between 0 and 1."""
    number = _number(value, what, span)
    if compare(number, 0) <= 0 or compare(number, 1) >= 0:
        title = f"{what} must lie strictly between 0 and 1, and is {value_text(value)}"
        edit = None
        if what == "the base" and compare(number, 1) >= 0:
            sigma = value_text(value)
            square = f"{sigma}^2" if sigma.isdigit() else f"({sigma})^2"
            edit = f"for a deviation of {sigma} the base is `exp(-1/(2 * {square}))`"
        raise MistakeFault(BadParameter(span, (), title, edit))
    return as_fraction_parts(number)


def _window(low: Value, high: Value, policy: Policy) -> tuple[int, int]:
    """Return the bounds of a policy, both small enough for a table."""
    lo = _integer(low, f"the lower bound of `{policy.kind}`", policy.span)
    hi = _integer(high, f"the upper bound of `{policy.kind}`", policy.span)
    text = f"{value_text(lo)}..{value_text(hi)}"
    if lo > hi:
        raise _bad(policy.span, f"`{policy.kind} {text}` leaves no value")
    if policy.kind == "folded" and lo == hi:
        raise _bad(policy.span, f"`folded {text}` needs a lower bound below the upper one")
    _check_support(hi - lo + 1)
    if max(abs(lo), abs(hi)) >= 2**30:
        _refuse(policy.span, f"the bounds of `{policy.kind} {text}` are too large")
    return lo, hi


def _check_support(n_values: int) -> None:
    """Stop before a distribution is written out that has more values than any limit on states."""
    if n_values > MAX_SUPPORT:
        raise too_large(
            f"a distribution has {value_text(n_values)} values, and {MAX_SUPPORT} are the limit",
            "a smaller range",
        )


def _refuse(span: Span, what: str) -> None:
    raise MistakeFault(NumberTooLarge(span, (), what))


def _check_table(n_entries: int, largest: int, parts: Sequence[Whole], span: Span) -> None:
    """Refuse tables of powers up to `largest` that no memory holds."""
    if not _fits(n_entries, largest, parts):
        powers = f": powers up to {largest}" if largest > 1 else ""
        _refuse(span, f"the probabilities have too many digits{powers}")


def _fits(n_entries: int, largest: int, parts: Sequence[Whole]) -> bool:
    """Return whether so many powers of the parts, up to `largest`, may be kept."""
    bits = max(p.bit_length() if isinstance(p, int) else 64 for p in parts)
    return n_entries * largest * bits <= MAX_TABLE_BITS


# --- kinds ---------------------------------------------------------------------------------


def _bernoulli(values: list[Value], span: Span) -> Weights:
    """Return `true` with the given probability."""
    numerator, denominator = as_fraction_parts(_probability(values[0], span))
    return _positive([TRUE, FALSE], [numerator, denominator - numerator], denominator)


def _positive(codes: Sequence[int], weights: Sequence[Whole], denominator: Whole) -> Weights:
    """Return the distribution without its zeros."""
    kept = [i for i, weight in enumerate(weights) if weight != 0]
    numerators = weight_array([*(weights[i] for i in kept), denominator])[:-1]
    return Weights(np.array([codes[i] for i in kept], np.int64), numerators, denominator)


def _uniform(table: ValueTable, values: list[Value], span: Span) -> Weights:
    """Return every element of a set alike."""
    domain = values[0]
    if not isinstance(domain, SetValue):
        title = f"`uniform` needs a set, not {described(domain)}"
        raise MistakeFault(WrongKindOnRun(span, (), title))
    if domain.size == 0:
        raise MistakeFault(EmptyUniform(span, ()))
    _check_support(domain.size)
    codes = table.codes(domain.items)
    return Weights(codes, np.ones(len(codes), np.int64), len(codes))


def _binomial(table: ValueTable, values: list[Value], span: Span) -> Weights:
    """Return the number of successes."""
    trials = _integer(values[0], "the number of trials", span)
    a, b = as_fraction_parts(_probability(values[1], span))
    if trials < 0:
        raise _bad(span, f"the number of trials must be at least 0, and is {trials}")
    _check_table(trials + 1, trials + 1, (a, b), span)
    return closed_forms.binomial(trials, a, b, table.check_time)


def _geometric(policy: Policy) -> Maker:
    """Return the maker of two-sided geometric distributions under a policy."""

    def make(values: list[Value], span: Span) -> Weights:
        center = _integer(values[0], "the center of `geometric`", span)
        a, b = _open_unit(values[1], "alpha", span)
        lo, hi = _window(values[2], values[3], policy)
        reach = max(hi - lo, abs(center - lo), abs(hi - center))
        match policy.kind:
            case "clamped":
                _check_table(min(hi - lo, reach) + 1, reach, (a, b), span)
                return closed_forms.geometric_clamped(center, a, b, lo, hi)
            case "conditioned":
                _check_table(hi - lo + 1, hi - lo + 1, (a, b), span)
                inside = min(max(center, lo), hi)
                return closed_forms.geometric_conditioned(inside, a, b, lo, hi)
            case "folded":
                _check_table(hi - lo + 1, 2 * (hi - lo), (a, b), span)
                center = lo + (center - lo) % (2 * (hi - lo))
                return closed_forms.geometric_folded(center, a, b, lo, hi)
            case "wrapped":
                _check_table(hi - lo + 1, hi - lo + 1, (a, b), span)
                center = lo + (center - lo) % (hi - lo + 1)
                return closed_forms.geometric_wrapped(center, a, b, lo, hi)
        assert_never(policy.kind)

    return make


def _geometric_positive(policy: Policy) -> Maker:
    """Return the maker of one-sided geometric distributions under a policy."""

    def make(values: list[Value], span: Span) -> Weights:
        a, b = _open_unit(values[0], "alpha", span)
        lo, hi = _window(values[1], values[2], policy)
        match policy.kind:
            case "clamped":
                _check_table(hi - lo + 1, max(hi, 1), (a, b), span)
                return closed_forms.positive_clamped(a, b, lo, hi)
            case "conditioned":
                if hi < 0:
                    raise _bad(
                        policy.span,
                        f"`conditioned {value_text(lo)}..{value_text(hi)}` leaves no value >= 0",
                    )
                _check_table(hi - lo + 1, hi - lo + 1, (a, b), span)
                return closed_forms.positive_conditioned(a, b, lo, hi)
            case "folded":
                _check_table(hi - lo + 1, 2 * (hi - lo), (a, b), span)
                return closed_forms.positive_folded(a, b, lo, hi)
            case "wrapped":
                _check_table(hi - lo + 1, hi - lo + 1, (a, b), span)
                return closed_forms.positive_wrapped(a, b, lo, hi)
        assert_never(policy.kind)

    return make


def _gaussian(policy: Policy) -> Maker:
    """Return the maker of discrete Gaussians conditioned on a window."""

    def make(values: list[Value], span: Span) -> Weights:
        twice = multiply(2, _number(values[0], "the center of `gaussian`", span))
        if not isinstance(twice, int):
            title = f"the center of `gaussian` must be an integer, not {value_text(values[0])}"
            raise _bad(span, title)
        a, b = _open_unit(values[1], "the base", span)
        lo, hi = _window(values[2], values[3], policy)
        reach = _gaussian_reach(twice, lo, hi)
        if not _fits(hi - lo + 1, reach + 1, (a, b)):
            what = f"the probabilities have too many digits: powers up to {reach + 1}"
            advice = _narrower(twice, (lo + hi) // 2, _number(values[1], "the base", span))
            raise MistakeFault(NumberTooLarge(span, (), what, advice))
        return closed_forms.gaussian_conditioned(twice, a, b, lo, hi)

    return make


def _gaussian_reach(twice_center: int, lo: int, hi: int) -> int:
    """Return a bound of how far the exponents of a window lie apart."""
    return (hi - lo) * max(abs(2 * hi - twice_center), abs(2 * lo - twice_center))


def _narrower(twice_center: int, middle: int, base: Number) -> str | None:
    """Return which window fits, with this base and, if it is not rational, with one near it."""
    window = _widest_window(twice_center, middle, *as_fraction_parts(base))
    if window is None:
        return None
    advice = f"the widest that fits is `conditioned {window}`"
    if isinstance(base, ExpNumber):
        n = max(2, floor(divide(1, subtract(1, base))))
        wider = _widest_window(twice_center, middle, n - 1, n)
        advice += f", or `conditioned {wider}` with the rational base {n - 1}/{n}"
    return advice


def _widest_window(twice_center: int, middle: int, a: Whole, b: Whole) -> str | None:
    """Return the widest window around a middle that fits, whatever center it has in the window."""

    def fits(half: int) -> bool:
        lo, hi = middle - half, middle + half
        reach = max(_gaussian_reach(twice, lo, hi) for twice in (2 * lo, twice_center))
        return _fits(2 * half + 1, reach + 1, (a, b))

    half = bisect_left(range(1, MAX_SUPPORT), True, key=lambda half: not fits(half))
    return f"{middle - half}..{middle + half}" if half else None


def _branches(
    distribution: Branches, table: ValueTable, values: list[Value], span: Span
) -> Weights:
    """Return a literal `{value: weight, ...}`."""
    places = [weight.span for _, weight in distribution.branches]
    codes = [table.code(value) for value in values[::2]]
    return _literal(codes, values[1::2], places, distribution.normalized, span, table)


def _weighted(distribution: Weighted, frame: Frame, supports: Supports) -> IntArray:
    """Return the distributions of `{value: weight for name in domain where condition}`."""
    table = supports.table
    first, group = _distinct_readings(distribution, frame)
    bodies = (distribution.value, distribution.weight)
    lists = spread(
        distribution.name,
        distribution.domain,
        distribution.where,
        bodies,
        frame.at(first),
        table,
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


def _distinct_readings(distribution: Weighted, frame: Frame) -> tuple[IntArray, IntArray]:
    """Return the first row of each group that agrees on what the distribution reads."""
    names = sorted(set(distribution_reads(distribution)))
    if not names:
        return np.zeros(min(1, frame.n_rows), np.int64), np.zeros(frame.n_rows, np.int64)
    return distinct_rows([frame[name] for name in names])


def distribution_reads(distribution: Distribution) -> Iterator[str]:
    """Yield the variables that the distribution reads, with repeats."""
    match distribution:
        case Bernoulli(probability=p):
            yield from reads(p)
        case Uniform(domain=domain):
            yield from reads(domain)
        case Branches(branches=branches):
            for value, weight in branches:
                yield from reads(value)
                yield from reads(weight)
        case Weighted(name=name, domain=domain, where=where, value=value, weight=weight):
            yield from reads(domain)
            inner = (value, weight) if where is None else (where, value, weight)
            for part in inner:
                yield from (free for free in reads(part) if free != name)
        case Binomial(trials=n, probability=p):
            yield from reads(n)
            yield from reads(p)
        case (
            Geometric(center=first, alpha=second, policy=policy)
            | Gaussian(center=first, base=second, policy=policy)
        ):
            for part in (first, second, policy.lo, policy.hi):
                yield from reads(part)
        case GeometricPositive(alpha=alpha, policy=policy):
            for part in (alpha, policy.lo, policy.hi):
                yield from reads(part)
        case LetDistribution(name=name, value=value, body=body):
            yield from reads(value)
            yield from (free for free in distribution_reads(body) if free != name)
        case ChooseDistribution(condition=condition, then=then, orelse=orelse):
            yield from reads(condition)
            yield from distribution_reads(then)
            yield from distribution_reads(orelse)


def _literal(
    codes: list[int],
    weights: Sequence[Value],
    places: Sequence[Span],
    normalized: bool,
    span: Span,
    table: ValueTable,
) -> Weights:
    """Return the distribution with the given weights, equal values added up."""
    numbers = [_number(w, "this weight", p) for w, p in zip(weights, places, strict=True)]
    for number, place in zip(numbers, places, strict=True):
        if compare(number, 0) < 0:
            raise MistakeFault(NegativeWeight(place, (), value_text(number)))
    if normalized and all(number == 0 for number in numbers):
        raise MistakeFault(NoPositiveWeight(span, ()))
    total = 1 if normalized else _total(numbers, table)
    if total != 1:
        branches = tuple(zip(places, numbers, strict=True)) if len(set(places)) > 1 else ()
        raise MistakeFault(WeightsDoNotSumToOne(span, (), total, branches))
    return _whole_weights(codes, numbers, span, table)


def _total(numbers: Sequence[Number], table: ValueTable) -> Number:
    total: Number = 0
    for number in numbers:
        table.check_time()
        total = add(total, number)
    return total


def _whole_weights(
    codes: list[int], numbers: Sequence[Number], span: Span, table: ValueTable
) -> Weights:
    """Return positive numbers as whole weights over their sum, equal values added up."""
    parts = [as_fraction_parts(number) for number in numbers]
    common: Whole = 1
    for _, denominator in parts:
        table.check_time()
        common = whole_lcm(common, denominator)
    _check_table(len(parts), 1, (common,), span)
    merged: dict[int, Whole] = {}
    total: Whole = 0
    for code, (n, d) in zip(codes, parts, strict=True):
        table.check_time()
        weight = n * exact_quotient(common, d)
        merged[code] = merged.get(code, 0) + weight
        total = total + weight
    return _positive(list(merged), list(merged.values()), total)
