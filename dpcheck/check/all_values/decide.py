"""Claims about all values of a parameter: exactly where they fail, or a value as pieces.

Everything is decided on the open interval of the parameter, where the chain has one graph (see
`explore.values.weights`); ends that belong to it, and values at which a weight is 0, are asked one
by one, as claims about ordinary mechanisms. So is the value at which a counterexample is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import and_, methodcaller, or_
from typing import Final, assert_never

import numpy as np

from dpcheck.check.all_values.events import ENDLESS, Events, all_events, failing_events
from dpcheck.check.all_values.formulas import Where, compared
from dpcheck.check.all_values.pieces import Function, envelope
from dpcheck.check.all_values.piecewise import WORDS, AtRoots, joined_pieces, value_of_pieces
from dpcheck.check.all_values.rows import ONE, growth_on
from dpcheck.check.all_values.setting import (
    Failing,
    Setting,
    line_of_claim,
    numbers_of,
    told_by_all,
)
from dpcheck.check.arrangements import Run
from dpcheck.check.decide import looked_at, means, one_number, selected_states
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.formulas.vacuity import formula_vacuity
from dpcheck.check.values.amounts import bound_amount
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
    Undecided,
    Vacuity,
    Value,
    Violated,
)
from dpcheck.exact import Budget, ExpNumber, Extended, Number, Param, exact_text, growth_of
from dpcheck.exact.line import Chosen, Line, end_at, simplest
from dpcheck.exact.roots import (
    Growth,
    Region,
    Root,
    between,
    complement,
    everywhere,
    joined,
    without,
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
)
from dpcheck.logic.formulas import outermost_numbers
from dpcheck.records import replace

NOT_SHOWN: Final = Limit("size", unit="what a claim is about is not what is seen of a mechanism")
"""Why a claim about a chain that tells less, or more, has no counterexample."""


def decide_for_all(
    runs: Sequence[Run],
    claim: Claim,
    at: At | None,
    for_all: ForAll,
    vanishing: tuple[Number, ...],
    gaps: tuple[Number, ...],
    weights: tuple[Number, ...],
    *,
    at_value: Callable[[Chosen | Param], Outcome],
    measures: Measures,
    limits: Limits,
) -> Outcome:
    """Return the outcome of a claim for all values that are asked about.

    `at` restricts the states of the first run, `for_all` the values; see `Setting` for the rest.
    Raises `ClaimRejected` where the claim makes no sense, also at a value that is asked by itself.
    """
    truths = Truths(runs[0][0], limits)
    selected = selected_states(truths, at)
    asked = selected, truths, measures
    setting = Setting(*asked, claim, runs, for_all, vanishing, gaps, weights, at_value)
    match claim:
        case QuantityValue(quantity=quantity):
            return _value(quantity, setting)
        case FormulaClaim() | PrivacyClaim() | QuantityClaim() | ExpectationClaim():
            return _truth(claim, setting)
        case QuantityComparison():
            raise AssertionError("it is refused before anything is explored")
        case _:
            assert_never(claim)


def violated_somewhere(
    claim: Claim,
    for_all: ForAll,
    weights: tuple[Number, ...],
    at_value: Callable[[Chosen], Outcome],
) -> Outcome | None:
    """Return that a claim fails for a value: the simplest of all, or on either side of a middle.

    For a claim that is too much for all values at once. None if it is not known to fail for these.
    """
    known = *numbers_of(claim), *weights
    line = for_all.line(known)
    asked, middle = for_all.asked(line), Root.of(between(line.low, line.high))
    sides = (True, True, True), (True, False, False), (False, False, True)
    parts = [Region(line.low, line.high, (middle,), side) for side in sides]
    found = [_sample(joined(and_, [asked, part]), line, (), for_all) for part in parts]
    for value in dict.fromkeys(value for value in found if value is not None):
        end = end_at(value)
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
) -> Outcome | None:
    """Return that a claim fails for some values at least, if it does for one.

    Why it says little at that one is not known of others.
    """
    outcome = at_value(value)
    if not isinstance(outcome.verdict, Violated):
        return None
    known = _known(line, for_all, tuple(intervals), value)
    return replace(outcome, vacuity=(), all_values=replace(known, is_exact=False))


def decided_inside(
    failing: Region,
    zeros: Region,
    line: Line,
    for_all: ForAll,
    at_value: Callable[[Chosen], Outcome],
) -> Outcome | None:
    """Return the outcome of a claim that strictly inside of the interval fails for some values.

    Closed ends, and zeros of weights, are asked by themselves: None if the claim is undecided at
    one, or one is irrational. Why it says little at one value is not known of others.
    """
    single = dict.fromkeys(closed_ends(for_all), everywhere(False, line.low, line.high))
    for t in zeros.ends:
        value = line.value_of(line.of_param(t))
        if value is None:
            return None
        single[value] = Region(line.low, line.high, (t,), (False, True, False))
    outcomes = {value: at_value(value) for value in single}
    if any(isinstance(each.verdict, Undecided) for each in outcomes.values()):
        return None
    fail_alone = [value for value, each in outcomes.items() if isinstance(each.verdict, Violated)]
    region = without(failing, single.values())
    region = joined(or_, [region, *(single[value] for value in fail_alone)])
    sample = _sample(region, line, fail_alone, for_all)
    holding, hold_alone = without(for_all.asked(line), [region]), single.keys() - fail_alone
    known = replace(
        _known(line, for_all, with_ends(region, fail_alone, line), sample),
        holds_for=with_ends(holding, hold_alone, line),
    )
    if not known.fails_for:
        return Outcome(Holds(), Coverage(0), all_values=known)
    outcome = _at_sample(sample, for_all, lambda value: outcomes.get(value) or at_value(value))
    return replace(outcome, vacuity=(), all_values=known)


def holding_everywhere(for_all: ForAll) -> AllValues:
    """Return what is known of a claim that holds for all values asked."""
    line = for_all.line()
    holds_for = with_ends(for_all.asked(line), closed_ends(for_all), line)
    return replace(_known(line, for_all, (), None), holds_for=holds_for)


def _known(
    line: Line, for_all: ForAll, fails_for: tuple[ParamInterval, ...], sample: Chosen | None
) -> AllValues:
    """Return for which values of those asked a claim fails, and a simple one of them."""
    return AllValues(
        for_all.param.name,
        text_of_asked(for_all, line, for_all.asked(line)),
        fails_for,
        None if sample is None else exact_text(sample),
        shown_at=sample,
        is_part=bool(for_all.part),
    )


# --- true or false -------------------------------------------------------------------------


def _truth(
    claim: FormulaClaim | PrivacyClaim | QuantityClaim | ExpectationClaim, setting: Setting
) -> Outcome:
    failing = _failing(claim, setting)
    line = failing.line
    asked, single = setting.asked(line), _single_values(setting, failing)
    outcomes = _outcomes_at(single, setting, failing)
    undecided = [each for each in outcomes.values() if isinstance(each.verdict, Undecided)]
    if undecided:
        return undecided[0]
    fail_alone = [v for v, each in outcomes.items() if isinstance(each.verdict, Violated)]
    region = without(joined(and_, [asked, failing.region]), single.values())
    region = joined(or_, [region, *(single[value] for value in fail_alone)])
    intervals = with_ends(region, fail_alone, line)
    sample = _sample(region, line, fail_alone, setting.for_all)
    doubtful = everywhere(False, line.low, line.high)
    if failing.doubtful is not None:
        doubtful = without(joined(and_, [asked, failing.doubtful]), single.values())
    if not intervals and not doubtful.is_empty:
        raise too_large(*ENDLESS)
    holds_for = without(asked, [region, doubtful])
    shown = replace(
        _known(line, setting.for_all, intervals, sample),
        is_exact=doubtful.is_empty,
        holds_for=with_ends(holds_for, (v for v in outcomes if v not in fail_alone), line),
    )
    seen = failing.coverage, _vacuity(failing, outcomes)
    if not intervals:
        return Outcome(Holds(), *seen, all_values=shown)
    found = _at_sample(sample, setting.for_all, lambda at: outcomes.get(at) or setting.at(at))
    return Outcome(found.verdict, *seen, strategy=found.strategy, all_values=shown)


def _at_sample(
    sample: Chosen | None, for_all: ForAll, at_value: Callable[[Chosen], Outcome]
) -> Outcome:
    """Return the outcome at a value for which a claim fails, as the ordinary engine finds it."""
    name = for_all.param.name
    if sample is None:
        event = Phrase.of(f"no value of {name} for which it fails is rational")
        return Outcome(Violated(Counterexample((), event, (), Phrase(()))), Coverage(0))
    outcome = at_value(sample)
    if isinstance(outcome.verdict, Violated | Undecided):
        return outcome
    undecided = Undecided(NOT_SHOWN, Phrase.of(f"{name} = {exact_text(sample)}"))
    return Outcome(undecided, outcome.coverage)


def _failing(
    claim: FormulaClaim | PrivacyClaim | QuantityClaim | ExpectationClaim, setting: Setting
) -> Failing:
    """Return for which values strictly inside of the interval a claim fails."""
    match claim:
        case FormulaClaim():
            return _failing_formula(claim, setting)
        case QuantityClaim(quantity=PathProbability() | Expectation() as quantity):
            assert not isinstance(claim.bound, Budget), "a number is compared with a number"
            value = one_number(quantity, setting)
            relations = [(claim.comparison, claim.bound)]
            return _failing_numbers(quantity, [value], relations, setting)
        case ExpectationClaim(quantity=quantity, relations=relations):
            values = means(quantity, setting)
            return _failing_numbers(quantity, values, relations, setting)
        case PrivacyClaim() | QuantityClaim():
            return failing_events(claim, setting)


def _failing_formula(claim: FormulaClaim, setting: Setting) -> Failing:
    """Return where a state formula is false at some selected state."""
    truths, selected = setting.truths, setting.selected
    outer = list(outermost_numbers(claim.formula))
    pairs = truths.pairs_at(selected)
    states = np.unique(np.concatenate([selected, pairs.ravel()]))
    line = line_of_claim(
        setting, (p for each in outer for p in truths.probabilities(each.path, states))
    )
    where, regions = Where(truths, line), [everywhere(False, line.low, line.high)]
    for k, state in enumerate(selected.tolist()):
        setting.limits.check_time(f"the formula at {k} states")
        regions.append(complement(where.where_true(claim.formula, state)))
        if regions[-1].is_everything:
            break
    coverage = Coverage(len(pairs))
    vacuity = formula_vacuity(claim.formula, selected, truths)
    return Failing(line, joined(or_, regions), coverage, vacuity)


def _failing_numbers(
    quantity: PathProbability | Expectation,
    values: Sequence[Extended],
    relations: Sequence[tuple[Comparison, Extended]],
    setting: Setting,
) -> Failing:
    """Return where a probability, or one of some means, does not compare as claimed."""
    line = line_of_claim(setting, values)
    seen = looked_at(quantity, setting)
    regions = [compared(value, *each, line) for value in {*values} for each in relations]
    return Failing(line, complement(joined(and_, regions)), *seen)


# --- values as pieces ----------------------------------------------------------------------

_Part = tuple[Region, Callable[[Line], str]]
"""Where a quantity is one function, and its expression on the line, or at a value of it."""


def _value(quantity: Quantity, setting: Setting) -> Outcome:
    """Return a quantity as pieces: for which values it is which function."""
    parts, seen = _all_parts(quantity, setting)
    line = seen.line
    asked, single = setting.asked(line), _single_values(setting, seen)
    outcomes = _outcomes_at(single, setting, seen)
    undecided = [each for each in outcomes.values() if isinstance(each.verdict, Undecided)]
    if undecided:
        return undecided[0]
    texts: dict[Chosen | Param, str] = {}
    at_roots: dict[ParamEnd, dict[str, str]] = {}
    for at, outcome in outcomes.items():
        assert isinstance(outcome.verdict, Value), "a quantity has a value"
        texts[at] = outcome.verdict.amount.exact
        if isinstance(at, Param):
            at_roots.update([_expressions_at(single[at].ends[0], parts, line)])
    inside = without(asked, single.values())
    shown_on = line.at_root(asked.ends[0]) if setting.for_all.param.is_single else line
    found = [(joined(and_, [region, inside]), text(shown_on)) for region, text in parts]
    found += [(single[at], text) for at, text in texts.items()]
    pieces = _at_ends([Piece(*each) for each in line.pieces(found)], texts, line, at_roots)
    name, asked_text = setting.for_all.param.name, text_of_asked(setting.for_all, line, asked)
    cuts = [cut for is_high in (False, True) if (cut := line.cut(is_high=is_high)) is not None]
    at_cuts = [_expressions_at(cut, parts, line) for cut in cuts]
    told = tuple((end, tuple(texts.items())) for end, texts in at_cuts)
    known = AllValues(name, asked_text, pieces=tuple(pieces), at_cuts=told)
    shown = value_of_pieces(known, WORDS[type(quantity)])
    return Outcome(shown, seen.coverage, _vacuity(seen, outcomes), all_values=known)


def _all_parts(quantity: Quantity, setting: Setting) -> tuple[list[_Part], Failing]:
    """Return a quantity as pieces on the whole line, with what was looked at."""
    if isinstance(quantity, PathProbability | Expectation):
        value = one_number(quantity, setting)
        line = line_of_claim(setting, [value])
        is_one = not isinstance(value, ExpNumber)
        text = (lambda _: bound_amount(value).exact) if is_one else methodcaller("text", value)
        whole = everywhere(True, line.low, line.high)
        return [(whole, text)], Failing(line, whole, *looked_at(quantity, setting))
    assert isinstance(quantity, TightEpsilon | TightDelta), "other quantities are refused"
    known = all_events(setting)
    parts = [
        piece
        for region, events in known.events
        for part, text in _parts(quantity, events)
        for piece in _with_points(joined(and_, [region, part]), text)
    ]
    line = known.events[0][1].line
    return parts, known.failing(everywhere(True, line.low, line.high))


def _expressions_at(t: Root, parts: Sequence[_Part], line: Line) -> tuple[ParamEnd, dict[str, str]]:
    """Return the value of the parameter for a t, and what expressions of parts are there."""
    here = line.at_root(t)
    point = Region(line.low, line.high, (t,), (False, True, False))
    end = line.intervals(point)[0].low
    return end, {text(line): text(here) for _, text in parts}


def _parts(quantity: TightEpsilon | TightDelta, events: Events) -> list[_Part]:
    """Return ε or δ as pieces."""
    line, limits = events.line, events.limits
    match quantity:
        case TightEpsilon(delta=delta):
            ratios, infinite = events.ratios(delta)
            finite = complement(infinite)
            pieces = [] if finite.is_empty else envelope(ratios, (ONE, ONE, 1), line, limits)
            parts: list[_Part] = [(infinite, lambda _: "inf")]
            for region, (p, _, d) in pieces:
                text = methodcaller("logarithm_text", p**events.n_equal, d**events.n_equal)
                parts.append((joined(and_, [region, finite]), text))
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
    rest = without(region, (at for _, at in points))
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
    is_alone = second.startswith("-") or " " in second
    less = "" if second == "1" else f"({second})*" if is_alone else f"{second}*"
    return f"-{less}{power}" if first == "0" else f"{first} - {less}{power}"


# --- which values --------------------------------------------------------------------------


def _single_values(setting: Setting, known: Failing) -> dict[Chosen | Param, Region]:
    """Return the values that are asked by themselves, and where on the line each is, if it is.

    They are ends, and those where a weight is 0, for an irrational one a small interval around it;
    and those at which nothing else is known.
    """
    line, found = known.line, dict[Chosen | Param, Region]()
    if setting.for_all.param.is_single:
        return found
    for end in closed_ends(setting.for_all):
        found[end] = everywhere(False, line.low, line.high)
    zeros = setting.zeros(line)
    for t in zeros.ends:
        value = line.value_of(line.of_param(t))
        at = line.only(t, [*setting.vanishing, *setting.gaps]) if value is None else value
        found[at] = Region(line.low, line.high, (t,), (False, True, False))
    return found | {value: line.beside(value, (0,)) for value in known.alone}


def _outcomes_at(
    single: Iterable[Chosen | Param], setting: Setting, known: Failing
) -> dict[Chosen | Param, Outcome]:
    """Return the outcomes at values that are asked by themselves."""
    asked = (value for value in single if isinstance(value, Param) or value not in known.alone)
    return {**known.alone} | {value: setting.at(value) for value in asked}


def _vacuity(known: Failing, outcomes: Mapping[Chosen | Param, Outcome]) -> tuple[Vacuity, ...]:
    """Return why a claim says little, for values inside and for each that is asked by itself."""
    return told_by_all([known.vacuity, *(each.vacuity for each in outcomes.values())])


def with_ends(
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
            end = end_at(value)
            one = [Piece(ParamInterval(end, end), text)]
            pieces = one + pieces if value == line.param.low else pieces + one
    return joined_pieces(pieces, line.param.name, at_roots)


def closed_ends(for_all: ForAll) -> list[Chosen]:
    """Return the ends of the whole interval that are asked about by themselves (see `Line`)."""
    param = for_all.param
    ends = (param.low, param.has_low), (param.high, param.has_high)
    closed = [end for end, has_end in ends if has_end and end is not None]
    return [end for end in closed if end == 0] if for_all.is_exponential else [*closed]


def text_of_asked(for_all: ForAll, line: Line, asked: Region) -> str:
    """Return the values that are asked about, as the language writes them."""
    shown = with_ends(asked, closed_ends(for_all), line)
    return " and ".join(interval.text for interval in shown)


def _sample(
    region: Region, line: Line, failing: Iterable[Chosen | Param], for_all: ForAll
) -> Chosen | None:
    """Return the simplest value for which a claim fails, None where none is rational."""
    inside = line.simplest(region, at_logarithms=for_all.at_logarithms)
    alone = [value for value in failing if not isinstance(value, Param)]
    return simplest([*alone, inside])
