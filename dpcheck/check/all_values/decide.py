"""Claims about all values of a parameter: exactly where they fail, or a value as pieces.

Everything is decided on the open interval of the parameter, where the chain has one graph (see
`explore.values.weights`); ends that belong to it, and values at which a weight is 0, are asked one
by one, as claims about ordinary mechanisms. So is the value at which a counterexample is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import and_, methodcaller, or_
from typing import Final, assert_never

import numpy as np
from flint import fmpz_poly

from dpcheck.chain.chain import Chain
from dpcheck.chain.sets import distinct
from dpcheck.check.all_values.deltas import WorstSets, growing_sets, worst_sets
from dpcheck.check.all_values.formulas import Where, compared
from dpcheck.check.all_values.pieces import Function, envelope
from dpcheck.check.all_values.piecewise import WORDS, AtRoots, joined_pieces, value_of_pieces
from dpcheck.check.all_values.ratios import where_exceeded
from dpcheck.check.all_values.rows import (
    ONE,
    ZERO,
    PolynomialRows,
    growth_on,
    polynomial_rows,
    units_of,
)
from dpcheck.check.all_values.strongest import by_delta, by_epsilon, strongest_pairs
from dpcheck.check.all_values.tables import PairsTable, pairs_table, tables_of_prefixes
from dpcheck.check.decide import Asked, looked_at, means, one_number, selected_states
from dpcheck.check.evidence.steady_ratios import INSTEAD
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.formulas.vacuity import NO_NEIGHBORS, formula_vacuity
from dpcheck.check.quantities.privacy import as_comparison
from dpcheck.check.quantities.seen_pairs import SeenPairs, seen_pairs
from dpcheck.check.values.amounts import bound_amount
from dpcheck.check.values.comparisons import SIGNS, as_budget, as_number
from dpcheck.check.values.measures import Measures
from dpcheck.check.values.verdicts import (
    AllValues,
    Comparison,
    Counterexample,
    Coverage,
    Holds,
    Outcome,
    Phrase,
    Piece,
    Strategy,
    Undecided,
    Vacuity,
    Value,
    Violated,
)
from dpcheck.exact import (
    Budget,
    ExpNumber,
    Extended,
    Number,
    Param,
    Whole,
    exact_text,
    growth_of,
    subtract,
)
from dpcheck.exact.line import Chosen, Line, line_of, simplest
from dpcheck.exact.roots import (
    Growth,
    Region,
    Root,
    between,
    complement,
    everywhere,
    joined,
    where_above,
    where_sign,
)
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.limits import Limit, Limits, too_large
from dpcheck.logic.claims import (
    At,
    Claim,
    Expectation,
    ExpectationClaim,
    ForAll,
    FormulaClaim,
    PathProbability,
    PrivacyClaim,
    Quantity,
    QuantityClaim,
    QuantityComparison,
    QuantityValue,
    TightDelta,
    TightEpsilon,
    is_pure,
)
from dpcheck.logic.formulas import outermost_numbers
from dpcheck.records import Frozen, dataclass, fields, replace

ENDLESS: Final = (
    "outputs stand inside of an unbounded loop, so sequences are infinitely many",
    INSTEAD,
)
"""Why nothing is known, and what to ask."""

NOT_SHOWN: Final = Limit("size", unit="what a claim is about is not what is seen of a mechanism")
"""Why a claim about a chain that tells less, or more, has no counterexample."""


@dataclass(frozen=True, eq=False)
class Setting(Asked):
    """What a claim about all values of a parameter is decided with.

    `vanishing` are weights that are 0 for some value of it. `at` asks the same claim of one value,
    or of the irrational one that lies in an interval.
    """

    claim: Claim
    for_all: ForAll
    vanishing: tuple[Number, ...]
    at: Callable[[Chosen | Param], Outcome]

    def zeros(self, line: Line) -> Region:
        """Return the values asked strictly inside of the interval at which a weight is 0."""
        zeros = [line.where(weight, (0,)) for weight in self.vanishing]
        nowhere = everywhere(False, line.low, line.high)
        return joined(and_, [self.for_all.asked(line), joined(or_, [nowhere, *zeros])])

    def asked(self, line: Line) -> Region:
        """Return the values strictly inside of the interval that are asked about."""
        if not self.for_all.param.is_single:
            return self.for_all.asked(line)
        zeros = self.zeros(line)
        assert len(zeros.ends) == 1, "weights are 0 at the value asked, and at no other"
        return zeros

    @property
    def limits(self) -> Limits:
        """What the claim may use."""
        return self.truths.limits


def decide_for_all(
    chain: Chain,
    claim: Claim,
    at: At | None,
    for_all: ForAll,
    vanishing: tuple[Number, ...],
    *,
    at_value: Callable[[Chosen | Param], Outcome],
    measures: Measures,
    limits: Limits,
) -> Outcome:
    """Return the outcome of a claim for all values that are asked about.

    `at` restricts the states, `for_all` the values; see `Setting` for the rest. Raises
    `ClaimRejected` where the claim makes no sense, also at a value that is asked by itself.
    """
    truths = Truths(chain, limits)
    selected = selected_states(truths, at)
    asked = selected, truths, measures
    setting = Setting(*asked, claim, for_all, vanishing, at_value)
    match claim:
        case QuantityValue(quantity=quantity):
            return _value(quantity, setting)
        case FormulaClaim() | PrivacyClaim() | QuantityClaim() | ExpectationClaim():
            return _truth(claim, setting)
        case QuantityComparison():
            raise AssertionError("it is refused before anything is explored")
        case _:
            assert_never(claim)


def violated_somewhere(for_all: ForAll, at_value: Callable[[Chosen], Outcome]) -> Outcome | None:
    """Return that a claim fails for a value: the simplest of all, or on either side of a middle.

    For a claim that is too much for all values at once. None if it is not known to fail for these.
    """
    line = line_of(for_all.param, [], is_exponential=for_all.is_exponential)
    asked, middle = for_all.asked(line), Root.of(between(line.low, line.high))
    sides = (True, True, True), (True, False, False), (False, False, True)
    parts = [Region(line.low, line.high, (middle,), side) for side in sides]
    found = [_sample(joined(and_, [asked, part]), line, (), for_all) for part in parts]
    for value in dict.fromkeys(value for value in found if value is not None):
        end = line.end_at(value)
        shown = violated_within([ParamInterval(end, end)], value, line, for_all, at_value)
        if shown is not None:
            return shown
    return None


def violated_within(
    intervals: Sequence[ParamInterval],
    value: Chosen,
    line: Line,
    for_all: ForAll,
    at_value: Callable[[Chosen], Outcome],
    *,
    are_all: bool = False,
) -> Outcome | None:
    """Return that a claim fails for some values at least, or for all asked, if it does for one."""
    outcome, asked = at_value(value), for_all.asked(line)
    if not isinstance(outcome.verdict, Violated):
        return None
    fails_for = _with_ends(asked, _closed_ends(for_all), line) if are_all else tuple(intervals)
    known = AllValues(
        *(for_all.param.name, _asked_text(for_all, line, asked), fails_for, exact_text(value)),
        shown_at=value,
        is_exact=are_all,
    )
    return replace(outcome, all_values=known)


# --- true or false -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Failing:
    """For which values strictly inside of the interval a claim fails, and what was looked at.

    `doubtful` are values for which it is not known whether it fails.
    """

    line: Line
    region: Region
    coverage: Coverage
    vacuity: tuple[Vacuity, ...] = ()
    doubtful: Region | None = None


def _truth(
    claim: FormulaClaim | PrivacyClaim | QuantityClaim | ExpectationClaim, setting: Setting
) -> Outcome:
    match claim:
        case FormulaClaim():
            failing = _failing_formula(claim, setting)
        case QuantityClaim(quantity=PathProbability() | Expectation() as quantity):
            assert not isinstance(claim.bound, Budget), "a number is compared with a number"
            value = one_number(quantity, setting)
            relations = [(claim.comparison, claim.bound)]
            failing = _failing_numbers(quantity, [value], relations, setting)
        case ExpectationClaim(quantity=quantity, relations=relations):
            values = means(quantity, setting)
            failing = _failing_numbers(quantity, values, relations, setting)
        case PrivacyClaim() | QuantityClaim():
            failing = _failing_events(claim, setting)
    line = failing.line
    asked, single = setting.asked(line), _single_values(setting, line)
    outcomes = {value: setting.at(value) for value in single}
    undecided = [each for each in outcomes.values() if isinstance(each.verdict, Undecided)]
    if undecided:
        return undecided[0]
    fail_alone = [v for v, each in outcomes.items() if isinstance(each.verdict, Violated)]
    region = _without(joined(and_, [asked, failing.region]), single.values())
    region = joined(or_, [region, *(single[value] for value in fail_alone)])
    intervals = _with_ends(region, fail_alone, line)
    sample = _sample(region, line, fail_alone, setting.for_all)
    doubtful = everywhere(False, line.low, line.high)
    if failing.doubtful is not None:
        doubtful = _without(joined(and_, [asked, failing.doubtful]), single.values())
    if not intervals and not doubtful.is_empty:
        raise too_large(*ENDLESS)
    holds_for = _without(asked, [region, doubtful])
    shown = AllValues(
        setting.for_all.param.name,
        _asked_text(setting.for_all, line, asked),
        intervals,
        None if sample is None else exact_text(sample),
        shown_at=sample,
        is_exact=doubtful.is_empty,
        holds_for=_with_ends(holds_for, (v for v in outcomes if v not in fail_alone), line),
    )
    if not intervals:
        return Outcome(Holds(), failing.coverage, failing.vacuity, all_values=shown)
    verdict, strategy = _counterexample(sample, outcomes, setting)
    seen = failing.coverage, failing.vacuity
    return Outcome(verdict, *seen, strategy=strategy, all_values=shown)


def _counterexample(
    sample: Chosen | None, outcomes: Mapping[Chosen | Param, Outcome], setting: Setting
) -> tuple[Violated | Undecided, Strategy | None]:
    """Return the counterexample at a value, as the ordinary engine finds it there.

    And the strategy of an analyst that shows it.
    """
    name = setting.for_all.param.name
    if sample is None:
        event = Phrase.of(f"no value of {name} for which it fails is rational")
        return Violated(Counterexample((), event, (), Phrase(()))), None
    outcome = outcomes[sample] if sample in outcomes else setting.at(sample)
    if isinstance(outcome.verdict, Violated | Undecided):
        return outcome.verdict, outcome.strategy
    return Undecided(NOT_SHOWN, Phrase.of(f"{name} = {exact_text(sample)}")), None


def _failing_formula(claim: FormulaClaim, setting: Setting) -> _Failing:
    """Return where a state formula is false at some selected state."""
    truths, selected = setting.truths, setting.selected
    outer = list(outermost_numbers(claim.formula))
    pairs = truths.pairs_at(selected)
    states = np.unique(np.concatenate([selected, pairs.ravel()]))
    line = _line(setting, (p for each in outer for p in truths.probabilities(each.path, states)))
    where, regions = Where(truths, line), [everywhere(False, line.low, line.high)]
    for k, state in enumerate(selected.tolist()):
        setting.limits.check_time(f"the formula at {k} states")
        regions.append(complement(where.where_true(claim.formula, state)))
        if regions[-1].is_everything:
            break
    coverage = Coverage(len(selected), len(pairs))
    vacuity = formula_vacuity(claim.formula, selected, truths)
    return _Failing(line, joined(or_, regions), coverage, vacuity)


def _failing_numbers(
    quantity: PathProbability | Expectation,
    values: Sequence[Extended],
    relations: Sequence[tuple[Comparison, Extended]],
    setting: Setting,
) -> _Failing:
    """Return where a probability, or one of some means, does not compare as claimed."""
    line = _line(setting, values)
    seen = looked_at(quantity, setting)
    regions = [compared(value, *each, line) for value in {*values} for each in relations]
    return _Failing(line, complement(joined(and_, regions)), *seen)


# --- events --------------------------------------------------------------------------------


class _Events:
    """The pairs of a claim about sequences of outputs, with their rows as polynomials."""

    def __init__(
        self, setting: Setting, seen: SeenPairs, known: PairsTable, line: Line | None = None
    ) -> None:
        """Make the rows, on a line on which they and the numbers of the claim are rational."""
        self.setting, self.seen, self.limits = setting, seen, setting.limits
        self.pairs = known.pairs
        self.line = _line_of_tables(setting, [known]) if line is None else line
        self.rows: PolynomialRows = polynomial_rows(known.table, self.line, self.limits)
        self.steady: Region = self._where_0(known.changes)

    def _where_0(self, numbers: Iterable[Number]) -> Region:
        """Return where all of some numbers are 0."""
        found = everywhere(True, self.line.low, self.line.high)
        for number in numbers:
            self.limits.check_time("before the values at which no output changes a ratio")
            found = joined(and_, [found, self.line.where(number, (0,))])
            if found.is_empty:
                break
        return found

    def failing(self, region: Region) -> _Failing:
        """Return a region with what was looked at."""
        n_pairs = len(self.seen.pairs)
        n_sequences = len(self.rows.members) if self.seen.are_finite else None
        coverage = Coverage(len(self.setting.selected), n_pairs, n_sequences)
        vacuity = () if n_pairs else (NO_NEIGHBORS,)
        return _Failing(self.line, region, coverage, vacuity)

    def above(self, epsilon: Budget, delta: Number) -> Region:
        """Return where dp(ε, δ) fails."""
        if delta == 0:
            return self.at_least(growth_of(epsilon), or_equal=False)
        return self.sets(epsilon, delta).where_above(delta)

    def at_least(self, growth: tuple[Number, int], *, or_equal: bool) -> Region:
        """Return where ε is above a budget or, with `or_equal`, at least that if it is not 0."""
        exceeded = where_exceeded(self.rows, self.pairs, growth, self.limits, or_equal=or_equal)
        return joined(or_, [complement(self.steady), exceeded])

    def sets(self, epsilon: Budget, least: Number = 0) -> WorstSets:
        """Return the worst sets of pairs that are enough where δ(ε) is above some least one."""
        growth, pairs = growth_of(epsilon), self.pairs
        least_sides = self.line.polynomials(least)
        question = by_delta(growth_on(self.line, growth), least_sides, self.rows)
        if question is not None:
            pairs = strongest_pairs(self.rows, pairs, question, self.limits)
        return worst_sets(self.rows, pairs, growth, self.limits)

    def against(self, epsilon: Budget, delta: Number) -> tuple[Region, Region]:
        """Return where ε(δ) is above an ε, and where it is at least that, for a δ that is not 0.

        It is above where δ(ε) > δ, and at least that where δ(ε) is P(S) - e^ε Q(S) >= δ for a set
        with Q(S) > 0, which loses more by every smaller ε. A worst set with Q(S) = 0 does not.
        """
        sets = self.sets(epsilon)
        above, positive = sets.where_above(delta), self.line.where(delta, (1,))
        if positive.is_everything and all(q != ZERO or p == ZERO for p, q in sets.sides):
            return above, sets.where_above(delta, or_equal=True)
        ratios, reached = self.ratios(delta)
        factor, ends = growth_on(self.line, growth_of(epsilon)), (self.line.low, self.line.high)
        regions = (where_above(p, d, factor, *ends, or_equal=True) for p, _, d in ratios)
        return above, joined(or_, [reached, *regions])

    def ratios(self, delta: Number) -> tuple[list[Function], Region]:
        """Return functions, the largest of which is e^ε(δ), and where it is infinite instead.

        P(S) - e^ε Q(S) <= δ for all S is e^ε >= (P(S) - δ)/Q(S) for each; with δ = 0 it is enough
        to ask single sequences.
        """
        line = self.line
        found: dict[object, Function] = {(): (ONE, ZERO, ONE)}
        infinite = complement(self.steady)
        above, below = line.polynomials(delta)
        for p, q in self._single_sides() if delta == 0 else self._several_sides(delta):
            rest = below * p - above * self.rows.denominator
            if q == ZERO:
                infinite = joined(or_, [infinite, where_sign(rest, (1,), line.low, line.high)])
                if infinite.is_everything:
                    return [], infinite
                continue
            under = below * q
            if delta == 0:  # else a factor may be 0 inside of the line, where it changes its sign
                divisor = line.positive(rest.gcd(under))
                rest, under = rest // divisor, under // divisor
            found[tuple(rest.coeffs()), tuple(under.coeffs())] = rest, ZERO, under
        return list(found.values()), infinite

    def _several_sides(self, delta: Number) -> Iterator[tuple[fmpz_poly, fmpz_poly]]:
        """Yield P(S) and Q(S) for sets S of which the worst is one, whatever ε is."""
        question = by_epsilon(self.line.polynomials(delta), self.rows)
        pairs = strongest_pairs(self.rows, self.pairs, question, self.limits)
        return growing_sets(self.rows, pairs, self.limits)

    def _single_sides(self) -> Iterator[tuple[fmpz_poly, fmpz_poly]]:
        """Yield p and q of every sequence, where they differ and p is not 0."""
        question = by_epsilon(self.line.polynomials(0), self.rows)
        pairs = strongest_pairs(self.rows, self.pairs, question, self.limits)
        for s, members in enumerate(self.rows.members):
            self.limits.check_time(f"the ratios of {s} sequences")
            codes = self.rows.index[s][pairs]
            both_ways = np.concatenate([codes, codes[:, ::-1]])
            for key in distinct(both_ways[:, 0] * len(members) + both_ways[:, 1]).tolist():
                i, j = divmod(key, len(members))
                if members[i] != ZERO and i != j:
                    yield members[i], members[j]


def _all_events(setting: Setting) -> _Events:
    """Return all that is seen of pairs; raises `LimitReached` if that is not one list of events."""
    seen = seen_pairs(setting.truths.chain, setting.selected, setting.limits)
    known = pairs_table(seen, is_pure=is_pure(setting.claim))
    if known is None:
        raise too_large(*ENDLESS)
    return _Events(setting, seen, known)


def _failing_events(claim: PrivacyClaim | QuantityClaim, setting: Setting) -> _Failing:
    """Return where a claim about `epsilon` or `delta(..)` fails."""
    compared = as_comparison(claim)
    assert isinstance(compared, QuantityClaim), "it is compared with a bound"
    seen = seen_pairs(setting.truths.chain, setting.selected, setting.limits)
    known = pairs_table(seen, is_pure=is_pure(claim))
    if known is not None:
        events = _Events(setting, seen, known)
        return events.failing(complement(_where_holds(compared, events)))
    failing: _Failing | None = None
    for tables in tables_of_prefixes(seen):
        line = _line_of_tables(setting, tables)
        low, high = (_Events(setting, seen, each, line) for each in tables)
        surely, possibly = _where_between(compared, low, high)
        doubtful = _without(possibly, [surely])
        failing = replace(low.failing(complement(possibly)), doubtful=doubtful)
        if joined(and_, [setting.asked(line), doubtful]).is_empty:
            break
    if failing is None:
        raise too_large(*ENDLESS)
    return failing


def _where_between(claim: QuantityClaim, low: _Events, high: _Events) -> tuple[Region, Region]:
    """Return where a comparison of what lies between two is surely true, and where possibly."""
    if claim.comparison in ("=", "!="):
        sides = [_where_between(replace(claim, comparison=c), low, high) for c in ("<=", ">=")]
        surely, possibly = (joined(and_, both) for both in zip(*sides, strict=True))
        return (surely, possibly) if claim.comparison == "=" else _swapped(surely, possibly)
    first, last = (high, low) if claim.comparison in ("<=", "<") else (low, high)
    return _where_holds(claim, first), _where_holds(claim, last)


def _swapped(surely: Region, possibly: Region) -> tuple[Region, Region]:
    """Return where the opposite is surely true, and where possibly."""
    return complement(possibly), complement(surely)


def _line_of_tables(setting: Setting, tables: Sequence[PairsTable]) -> Line:
    """Return the line on which all numbers of tables are rational."""
    return _line(setting, [x for each in tables for x in (*units_of(each.table), *each.changes)])


def _where_holds(claim: QuantityClaim, events: _Events) -> Region:
    """Return where a comparison of `epsilon` or `delta(..)` with a bound is true."""
    match claim.quantity:
        case TightEpsilon(delta=delta):
            above, reached = _epsilon_against(claim, delta, events)
        case TightDelta(epsilon=epsilon):
            bound = as_number(claim.bound)
            sets = events.sets(epsilon, bound if claim.comparison in ("<=", ">") else 0)
            above, reached = sets.where_above(bound), sets.where_above(bound, or_equal=True)
        case _:
            raise AssertionError("other quantities are refused")
    at = {1: above, 0: joined(and_, [reached, complement(above)]), -1: complement(reached)}
    return joined(or_, [at[sign] for sign in SIGNS[claim.comparison]])


def _epsilon_against(claim: QuantityClaim, delta: Number, events: _Events) -> tuple[Region, Region]:
    """Return where ε is above a bound, and where it is at least that; without a bound, infinite."""
    line = events.line
    if claim.bound is None:
        return everywhere(False, line.low, line.high), events.ratios(delta)[1]
    bound = as_budget(claim.bound)
    growth = growth_of(bound)
    if delta != 0 and claim.comparison not in ("<=", ">"):
        above, reached = events.against(bound, delta)
    else:
        above = reached = events.above(bound, delta)
        if claim.comparison not in ("<=", ">"):
            reached = events.at_least(growth, or_equal=True)
    at_zero = line.where(subtract(growth[0], 1), (0, -1))  # ε is at least 0
    return above, joined(or_, [reached, at_zero])


# --- values as pieces ----------------------------------------------------------------------

_Part = tuple[Region, Callable[[Line], str]]
"""Where a quantity is one function, and its expression on the line, or at a value of it."""


def _value(quantity: Quantity, setting: Setting) -> Outcome:
    """Return a quantity as pieces: for which values it is which function."""
    if isinstance(quantity, PathProbability | Expectation):
        value = one_number(quantity, setting)
        line = _line(setting, [value])
        is_one = not isinstance(value, ExpNumber)
        text = (lambda _: bound_amount(value).exact) if is_one else methodcaller("text", value)
        parts: list[_Part] = [(everywhere(True, line.low, line.high), text)]
        seen = _Failing(line, parts[0][0], *looked_at(quantity, setting))
    else:
        assert isinstance(quantity, TightEpsilon | TightDelta), "other quantities are refused"
        events = _all_events(setting)
        line = events.line
        parts = _parts(quantity, events)
        seen = events.failing(everywhere(True, line.low, line.high))
    asked, single = setting.asked(line), _single_values(setting, line)
    outcomes = {value: setting.at(value) for value in single}
    undecided = [each for each in outcomes.values() if isinstance(each.verdict, Undecided)]
    if undecided:
        return undecided[0]
    texts: dict[Chosen | Param, str] = {}
    at_roots: dict[ParamEnd, dict[str, str]] = {}
    for at, outcome in outcomes.items():
        assert isinstance(outcome.verdict, Value), "a quantity has a value"
        texts[at] = outcome.verdict.amount.exact
        if isinstance(at, Param):
            here = line.at_root(single[at].ends[0])
            end = line.intervals(single[at])[0].low
            at_roots[end] = {text(line): text(here) for _, text in parts}
    inside = _without(asked, single.values())
    shown_on = line.at_root(asked.ends[0]) if setting.for_all.param.is_single else line
    found = [(joined(and_, [region, inside]), text(shown_on)) for region, text in parts]
    found += [(single[at], text) for at, text in texts.items()]
    pieces = _at_ends([Piece(*each) for each in line.pieces(found)], texts, line, at_roots)
    name, asked_text = setting.for_all.param.name, _asked_text(setting.for_all, line, asked)
    known = AllValues(name, asked_text, pieces=tuple(pieces))
    shown = value_of_pieces(known, WORDS[type(quantity)])
    return Outcome(shown, seen.coverage, seen.vacuity, all_values=known)


def _parts(quantity: TightEpsilon | TightDelta, events: _Events) -> list[_Part]:
    """Return ε or δ as pieces."""
    line, limits = events.line, events.limits
    match quantity:
        case TightEpsilon(delta=delta):
            ratios, infinite = events.ratios(delta)
            finite = complement(infinite)
            pieces = [] if finite.is_empty else envelope(ratios, (ONE, ONE, 1), line, limits)
            parts: list[_Part] = [(infinite, lambda _: "inf")]
            for region, (p, _, d) in pieces:
                text = methodcaller("logarithm_text", p, d)
                parts += _with_points(joined(and_, [region, finite]), text)
            return parts
        case TightDelta(epsilon=epsilon):
            factor, root = growth_of(epsilon)
            growth = growth_on(line, (factor, root))
            pieces = envelope(events.sets(epsilon).functions(), growth, line, limits)
            return [(region, partial(_delta_text, function, growth)) for region, function in pieces]


def _with_points(region: Region, text: Callable[[Line], str]) -> list[_Part]:
    """Return a part, with the single values of it apart: what a function is there is a number."""
    ends = [low for low, _, high, _ in region.intervals() if low is not None and low is high]
    points = [(t, Region(region.low, region.high, (t,), (False, True, False))) for t in ends]
    rest = _without(region, (at for _, at in points))
    return [(rest, text), *((at, partial(_text_at, text, t)) for t, at in points)]


def _text_at(text: Callable[[Line], str], t: Root, line: Line) -> str:
    """Return what an expression is at one t of the line."""
    return text(line.at_root(t))


def _delta_text(function: Function, growth: Growth, line: Line) -> str:
    """Return p/d - φ q/d as an expression, for φ = (f/g)^(1/n)."""
    p, q, d = function
    first, second = line.fraction_text(p, d), line.fraction_text(q, d)
    if second == "0":
        return first
    f, g, n = growth
    base = line.fraction_text(f, g)
    power = f"{base}^(1/{n})" if base.isalnum() else f"({base})^(1/{n})"
    less = "" if second == "1" else f"({second})*" if " " in second else f"{second}*"
    return f"-{less}{power}" if first == "0" else f"{first} - {less}{power}"


# --- which values --------------------------------------------------------------------------


def _line(setting: Setting, found: Iterable[Extended | Whole]) -> Line:
    """Return the line on which found numbers, and those of the claim and weights, are rational."""
    for_all = setting.for_all
    known = *_numbers(setting.claim), *setting.vanishing
    return line_of(for_all.param, [*found, *known], is_exponential=for_all.is_exponential)


def _numbers(node: object) -> Iterator[ExpNumber]:
    """Yield the numbers at the stand-in in what is claimed, budgets by powers of e^budget."""
    match node:
        case ExpNumber():
            yield node
        case Budget():
            yield from _numbers(growth_of(node)[0])
        case tuple():
            for part in node:
                yield from _numbers(part)
        case Frozen():
            for each in fields(node):
                yield from _numbers(getattr(node, each.name))


def _single_values(setting: Setting, line: Line) -> dict[Chosen | Param, Region]:
    """Return the values that are asked by themselves, and where on the line each is, if it is.

    They are ends, and those where a weight is 0; for an irrational one a small interval around it.
    """
    found: dict[Chosen | Param, Region] = {}
    if setting.for_all.param.is_single:
        return found
    for end in _closed_ends(setting.for_all):
        found[end] = everywhere(False, line.low, line.high)
    zeros = setting.zeros(line)
    rest = _without(setting.asked(line), [zeros])
    for t in zeros.ends:
        value = line.value_of(line.of_param(t))
        at = line.only(t, rest) if value is None else value
        found[at] = Region(line.low, line.high, (t,), (False, True, False))
    return found


def _without(region: Region, others: Iterable[Region]) -> Region:
    """Return what of a region belongs to none of others."""
    return joined(and_, [region, *map(complement, others)])


def _with_ends(
    region: Region, ends: Iterable[Chosen | Param], line: Line
) -> tuple[ParamInterval, ...]:
    """Return the intervals of a region, with those ends of the whole line that are given."""
    pieces = [Piece(interval, "") for interval in line.intervals(region)]
    return tuple(piece.interval for piece in _at_ends(pieces, dict.fromkeys(ends, ""), line, {}))


def _at_ends(
    pieces: list[Piece], ends: Mapping[Chosen | Param, str], line: Line, at_roots: AtRoots
) -> list[Piece]:
    """Return pieces with those at ends of the whole line, joined; others are passed over."""
    for value, text in ends.items():
        if value in line.param.ends:
            assert not isinstance(value, Param), "an end is a number"
            end = line.end_at(value)
            one = [Piece(ParamInterval(end, end), text)]
            pieces = one + pieces if value == line.param.low else pieces + one
    return joined_pieces(pieces, line.param.name, at_roots)


def _closed_ends(for_all: ForAll) -> list[Chosen]:
    """Return the ends of the whole interval that are asked about by themselves (see `Line`)."""
    param = for_all.param
    ends = (param.low, param.has_low), (param.high, param.has_high)
    closed = [end for end, has_end in ends if has_end and end is not None]
    return [end for end in closed if end == 0] if for_all.is_exponential else [*closed]


def _asked_text(for_all: ForAll, line: Line, asked: Region) -> str:
    """Return the values that are asked about, as the language writes them."""
    shown = _with_ends(asked, _closed_ends(for_all), line)
    return " and ".join(interval.text for interval in shown)


def _sample(
    region: Region, line: Line, failing: Iterable[Chosen | Param], for_all: ForAll
) -> Chosen | None:
    """Return the simplest value for which a claim fails, None where none is rational."""
    inside = line.simplest(region, at_logarithms=for_all.at_logarithms)
    alone = [value for value in failing if not isinstance(value, Param)]
    return simplest([*alone, inside])
