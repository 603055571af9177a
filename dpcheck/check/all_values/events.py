"""Claims about `epsilon` and `delta(..)` for all values of a parameter: by what pairs show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import and_, or_
from typing import Final, TypeVar

import numpy as np
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.chain.sets import distinct
from dpcheck.check.all_values.composed import RunRows, composed_rows
from dpcheck.check.all_values.deltas import WorstSets, growing_sets, worst_sets
from dpcheck.check.all_values.pieces import Function
from dpcheck.check.all_values.ratios import where_exceeded
from dpcheck.check.all_values.rows import ONE, ZERO, growth_on, polynomial_rows, units_of
from dpcheck.check.all_values.setting import Failing, Setting, line_of_claim, numbers_of
from dpcheck.check.all_values.strongest import Question, by_delta, by_epsilon, strongest_pairs
from dpcheck.check.all_values.tables import (
    PairsTable,
    hidden_pairs_of,
    pairs_table,
    singular_parts_of,
    table_of_hidden,
    tables_of_prefixes,
)
from dpcheck.check.arrangements import ENDLESS_PART, seen_runs
from dpcheck.check.evidence.hidden import HiddenPair, HiddenPairs
from dpcheck.check.evidence.singular import SingularPart
from dpcheck.check.evidence.steady_ratios import INSTEAD
from dpcheck.check.formulas.vacuity import NO_NEIGHBORS
from dpcheck.check.quantities.privacy import as_comparison
from dpcheck.check.quantities.seen_pairs import SeenPairs
from dpcheck.check.values.comparisons import SIGNS, as_budget, as_number
from dpcheck.check.values.verdicts import Coverage, Outcome, Undecided
from dpcheck.exact import Budget, Number, growth_of, subtract
from dpcheck.exact.line import Chosen, Line
from dpcheck.exact.roots import (
    Region,
    complement,
    everywhere,
    joined,
    where_above,
    where_sign,
    without,
)
from dpcheck.limits import LimitReached, Limits, too_large
from dpcheck.logic.claims import PrivacyClaim, QuantityClaim, TightDelta, TightEpsilon, is_pure
from dpcheck.records import dataclass, field, replace

ENDLESS: Final = (
    "outputs stand inside of an unbounded loop, so sequences are infinitely many",
    INSTEAD,
)
"""Why nothing is known, and what to ask."""


Seen = Sequence[SeenPairs]
"""The same pairs in each of some runs."""

Tables = Sequence[PairsTable]
"""What each of some runs shows of pairs."""


class Events:
    """The pairs of a claim about sequences of outputs, with their rows as polynomials.

    If ratios alone are asked, n equal runs have the rows of one: r^n <= e^ε is r <= e^(ε/n).
    """

    def __init__(self, setting: Setting, seen: Seen, known: Tables, line: Line) -> None:
        """Make the rows, on a line on which they and the numbers of the claim are rational."""
        self.setting, self.seen, self.limits = setting, seen, setting.limits
        self.line = line
        rows = [polynomial_rows(each.table, line, self.limits) for each in known]
        self.rows, self.pairs = rows[0], known[0].pairs
        self.n_equal = setting.n_equal
        self.are_listed = not setting.is_composed and known[0].are_listed
        if setting.is_composed:
            parts = [
                RunRows(each, table.pairs, times // self.n_equal)
                for each, table, (_, times) in zip(rows, known, setting.runs, strict=True)
            ]
            about_ratios = is_pure(setting.claim)
            self.rows, self.pairs = composed_rows(parts, self.limits, is_pure=about_ratios)
        changes = (x for each in known for x in each.changes)
        self.steady: Region = _where_0(changes, line, self.limits)

    def failing(self, region: Region) -> Failing:
        """Return a region with what was looked at."""
        n_pairs = len(self.seen[0].pairs)
        n_sequences = len(self.rows.members) if self.are_listed else None
        coverage = Coverage(n_pairs, n_sequences)
        vacuity = () if n_pairs else (NO_NEIGHBORS,)
        return Failing(self.line, region, coverage, vacuity)

    def above(self, epsilon: Budget, delta: Number) -> Region:
        """Return where dp(ε, δ) fails."""
        if delta == 0:
            return self.at_least(epsilon, or_equal=False)
        return self.sets(epsilon, delta).where_above(delta)

    def at_least(self, epsilon: Budget, *, or_equal: bool) -> Region:
        """Return where ε is above a budget or, with `or_equal`, at least that if it is not 0."""
        growth = growth_of(epsilon / self.n_equal)
        exceeded = where_exceeded(self.rows, self.pairs, growth, self.limits, or_equal=or_equal)
        return joined(or_, [complement(self.steady), exceeded])

    def sets(self, epsilon: Budget, least: Number = 0) -> WorstSets:
        """Return the worst sets of pairs that are enough where δ(ε) is above some least one."""
        growth, pairs = growth_of(epsilon), self.pairs
        least_sides = self.line.polynomials(least)
        question = by_delta(growth_on(self.line, growth), least_sides, self.rows)
        if question is not None:
            pairs = self._strongest(question)
        return worst_sets(self.rows, pairs, growth, self.limits)

    def _strongest(self, question: Question) -> IntArray:
        """Return pairs that are as strong as all, and the floor, for the values asked."""
        asked = self.setting.asked(self.line)
        return strongest_pairs(self.rows, self.pairs, question, self.limits, asked)

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

        That is of one of `n_equal` runs.

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
        pairs = self._strongest(question)
        return growing_sets(self.rows, pairs, self.limits)

    def _single_sides(self) -> Iterator[tuple[fmpz_poly, fmpz_poly]]:
        """Yield p and q of every sequence, where they differ and p is not 0."""
        question = by_epsilon(self.line.polynomials(0), self.rows)
        pairs = self._strongest(question)
        for s, members in enumerate(self.rows.members):
            self.limits.check_time(f"the ratios of {s} sequences")
            codes = self.rows.index[s][pairs]
            both_ways = np.concatenate([codes, codes[:, ::-1]])
            for key in distinct(both_ways[:, 0] * len(members) + both_ways[:, 1]).tolist():
                i, j = divmod(key, len(members))
                if members[i] != ZERO and i != j:
                    yield members[i], members[j]


@dataclass(frozen=True, eq=False)
class Known:
    """All that is seen of pairs, and for which values; but for those of which outcomes are known.

    Nothing is known where that is no list of events.
    """

    events: Sequence[tuple[Region, Events]] = ()
    alone: Mapping[Chosen, Outcome] = field(default_factory=dict)

    def failing(self, region: Region) -> Failing:
        """Return a region, but for values that are known alone, with what was looked at."""
        return replace(self.events[0][1].failing(region), alone=self.alone)


def all_events(setting: Setting) -> Known:
    """Return all that is seen of pairs.

    Raises `LimitReached` where it is no list of events.
    """
    found = _known_events(setting, _seen(setting))
    if not found.events:
        raise _endless(setting)
    return found


def _seen(setting: Setting) -> Seen:
    """Return the pairs of neighbors in each of the runs."""
    chains = [chain for chain, _ in setting.runs]
    return seen_runs(chains, setting.selected, setting.limits)


def _endless(setting: Setting) -> LimitReached:
    """Return that nothing is known."""
    return LimitReached(ENDLESS_PART) if setting.is_composed else too_large(*ENDLESS)


def _known_events(setting: Setting, seen: Seen) -> Known:
    """Return all that is seen of pairs.

    At values at which some parts are steady, or some hidden states alike, it is another list.
    """
    about_ratios = is_pure(setting.claim)
    parts = [part for each in seen for part in singular_parts_of(each, is_pure=about_ratios)]
    how = {"is_pure": about_ratios, "are_apart": len(seen) > 1}

    def tables(steady: frozenset[SingularPart]) -> Tables | None:
        found = (pairs_table(each, **how, steady=steady) for each in seen)
        known = [each for each in found if each is not None]
        return known if len(known) == len(seen) else None

    found = _events_by(list(dict.fromkeys(parts)), tables, setting, seen)
    return Known(found) if found or len(seen) > 1 else _events_of_hidden(setting, seen)


def _events_of_hidden(setting: Setting, seen: Seen) -> Known:
    """Return what is seen where outputs tell of hidden states, after as many as it takes.

    At every value asked all states that have weight then are told apart, or alike. If that takes
    ever more outputs for single values, these are asked by themselves.
    """
    (part,), doubtful = seen, frozenset[HiddenPair]()
    told, untold = None, dict[HiddenPair, list[Chosen | None]]()
    while pairs := hidden_pairs_of(part, doubtful):
        told = pairs, partial(_table_of_hidden, part, doubtful)
        untold = _untold(pairs, setting)
        if not untold:
            break
        doubtful = doubtful.union(untold)
    alone: dict[Chosen, Outcome] = {}
    for value in dict.fromkeys(value for values in untold.values() for value in values):
        outcome = None if value is None else setting.at(value)
        if value is None or outcome is None or isinstance(outcome.verdict, Undecided):
            return Known()
        alone[value] = outcome
    return Known() if told is None else Known(_events_by(*told, setting, seen), alone)


def _table_of_hidden(part: SeenPairs, doubtful: HiddenPairs, alike: HiddenPairs) -> Tables | None:
    """Return the table of a part, by the hidden states that are alike."""
    table = table_of_hidden(part, alike, doubtful)
    return None if table is None else [table]


_Special = TypeVar("_Special", SingularPart, HiddenPair)


def _events_by(
    special: Sequence[_Special],
    tables_where: Callable[[frozenset[_Special]], Tables | None],
    setting: Setting,
    seen: Seen,
) -> list[tuple[Region, Events]]:
    """Return all that is seen, by what has changes that are all 0; nothing where a table lacks."""
    line = line_of_claim(setting, [x for each in special for x in each.changes])
    tables: dict[frozenset[_Special], Tables] = {}
    for unchanged, _ in _where_unchanged(special, line, setting):
        found = tables_where(unchanged)
        if found is None:
            return []
        tables[unchanged] = found
    line = _line_of_tables(setting, [table for found in tables.values() for table in found])
    return [
        (region, Events(setting, seen, tables[unchanged], line))
        for unchanged, region in _where_unchanged(special, line, setting)
    ]


def _where_unchanged(
    special: Sequence[_Special], line: Line, setting: Setting
) -> list[tuple[frozenset[_Special], Region]]:
    """Return sets of what has changes, and at which values that are asked these are all 0."""
    found = {frozenset[_Special](): everywhere(True, line.low, line.high)}
    for each in special:
        here = _where_0(each.changes, line, setting.limits)
        if not joined(and_, [here, setting.asked(line)]).is_empty:
            both = (
                (known | more, joined(and_, [region, at]))
                for known, region in found.items()
                for more, at in ((set[_Special](), complement(here)), ({each}, here))
            )
            found = {known: region for known, region in both if not region.is_empty}
    return list(found.items())


def _untold(pairs: Iterable[HiddenPair], setting: Setting) -> dict[HiddenPair, list[Chosen | None]]:
    """Return pairs of states that are neither told apart nor alike at some values asked, and these.

    But for values at which a weight is 0, which are asked by themselves. None is an irrational one.
    """
    numbers = [x for pair in pairs for part in (pair.changes, *pair.parts) for x in part]
    line, limits = line_of_claim(setting, numbers), setting.limits
    found, whole = {}, everywhere(True, line.low, line.high)
    for pair in pairs:
        changing = (complement(_where_0(part, line, limits)) for part in pair.parts)
        alike = _where_0(pair.changes, line, limits)
        values = without(setting.of_chain(line), [alike, joined(and_, [whole, *changing])]).ends
        if values:
            found[pair] = [line.value_of(line.of_param(t)) for t in values]
    return found


def _where_0(numbers: Iterable[Number], line: Line, limits: Limits) -> Region:
    """Return where all of some numbers are 0."""
    found = everywhere(True, line.low, line.high)
    for number in numbers:
        limits.check_time("before the values at which no output changes a ratio")
        found = joined(and_, [found, line.where(number, (0,))])
        if found.is_empty:
            break
    return found


def failing_events(claim: PrivacyClaim | QuantityClaim, setting: Setting) -> Failing:
    """Return where a claim about `epsilon` or `delta(..)` fails."""
    compared = as_comparison(claim)
    assert isinstance(compared, QuantityClaim), "it is compared with a bound"
    seen = _seen(setting)
    known = _known_events(setting, seen)
    if known.events:
        parts = [without(region, [_where_holds(compared, each)]) for region, each in known.events]
        return known.failing(joined(or_, parts))
    failing: Failing | None = None
    for low, high in _events_of_prefixes(setting, seen):
        surely, possibly = _where_between(compared, low, high)
        doubtful = without(possibly, [surely])
        failing = replace(low.failing(complement(possibly)), doubtful=doubtful)
        if joined(and_, [setting.asked(low.line), doubtful]).is_empty:
            break
    if failing is None:
        raise _endless(setting)
    return failing


def _events_of_prefixes(setting: Setting, seen: Seen) -> Iterator[tuple[Events, Events]]:
    """Yield what more and more first outputs show, without and with the state after them.

    As many as runs together have few ratios of.
    """
    for ends in zip(*map(tables_of_prefixes, seen), strict=False):
        line = _line_of_tables(setting, [table for end in ends for table in end])
        try:
            low, high = (Events(setting, seen, each, line) for each in zip(*ends, strict=True))
        except LimitReached as reached:
            if reached.limit.kind != "size":
                raise
            return
        yield low, high


def _where_between(claim: QuantityClaim, low: Events, high: Events) -> tuple[Region, Region]:
    """Return where a comparison of what lies between two is surely true, and where possibly."""
    if claim.comparison in ("=", "!="):
        sides = [_where_between(replace(claim, comparison=c), low, high) for c in ("<=", ">=")]
        surely, possibly = (joined(and_, both) for both in zip(*sides, strict=True))
        if claim.comparison == "!=":
            surely, possibly = complement(possibly), complement(surely)
        return surely, possibly
    first, last = (high, low) if claim.comparison in ("<=", "<") else (low, high)
    return _where_holds(claim, first), _where_holds(claim, last)


def _line_of_tables(setting: Setting, tables: Sequence[PairsTable]) -> Line:
    """Return the line on which all numbers of tables are rational, and the share of each run."""
    known = [x for each in tables for x in (*units_of(each.table), *each.changes)]
    match setting.claim:
        case PrivacyClaim(epsilon=budget) | QuantityClaim(bound=Budget() as budget):
            known += numbers_of(budget / setting.n_equal)
    return line_of_claim(setting, known)


def _where_holds(claim: QuantityClaim, events: Events) -> Region:
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


def _epsilon_against(claim: QuantityClaim, delta: Number, events: Events) -> tuple[Region, Region]:
    """Return where ε is above a bound, and where it is at least that; without a bound, infinite."""
    line = events.line
    if claim.bound is None:
        return everywhere(False, line.low, line.high), events.ratios(delta)[1]
    bound = as_budget(claim.bound)
    if delta != 0 and claim.comparison not in ("<=", ">"):
        above, reached = events.against(bound, delta)
    else:
        above = reached = events.above(bound, delta)
        if claim.comparison not in ("<=", ">"):
            reached = events.at_least(bound, or_equal=True)
    at_zero = line.where(subtract(growth_of(bound)[0], 1), (0, -1))  # ε is at least 0
    return above, joined(or_, [reached, at_zero])
