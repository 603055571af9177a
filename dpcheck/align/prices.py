"""What shifts cost: the logarithms of ratios, for numbers or for all values of a parameter."""

from __future__ import annotations

from dpcheck import exact
from dpcheck.align.bound import Alignment
from dpcheck.align.neighbors import Unreadable
from dpcheck.align.ways import Ratios
from dpcheck.certify.alignments import certify_alignment
from dpcheck.certify.shifts import Answer, Place, certify_shifts
from dpcheck.diagnostics.align import NoCommonRate
from dpcheck.model.evaluation import apply
from dpcheck.model.values import Value
from dpcheck.records import dataclass
from dpcheck.source import Span

MOST = 64
"""The greatest power of a parameter that is recognized as a ratio."""


@dataclass(frozen=True)
class Rates:
    """The price of moving noise by 1, for each ratio.

    With a parameter they are multiples of `unit`, which is positive for all its values.
    """

    prices: tuple[exact.Budget, ...]
    unit: exact.ParamBudget | None = None


def rates_of(found: Ratios) -> Rates:
    """Return -ln r for all ratios r; raises `Unreadable` where they have no common measure."""
    ratios, spans = found.values, found.spans
    with_param = [ratio for ratio in ratios if isinstance(ratio, exact.ParamNumber)]
    if not with_param:
        return Rates(tuple(map(_price, ratios, spans)))
    multiples = [_multiple(ratio) for ratio in with_param]
    known = [multiple for multiple in multiples if multiple is not None]
    if len(known) < len(ratios):
        of_param = {id(ratio) for ratio, k in zip(with_param, multiples, strict=True) if k}
        wrong = next(i for i, ratio in enumerate(ratios) if id(ratio) not in of_param)
        one = with_param[0]
        base = f"exp(-{one.param.name})" if one.is_exponential else one.param.name
        raise Unreadable(NoCommonRate(spans[wrong], base))
    least = min(known)
    first = apply("neg", (apply("ln", (with_param[known.index(least)],)),))
    assert isinstance(first, exact.ParamBudget), "the logarithm of a parameter depends on it"
    unit = first / least
    assert isinstance(unit, exact.ParamBudget), "it is not 0"
    return Rates(tuple(exact.Budget.of(multiple) for multiple in known), unit)


def _price(ratio: Value, span: Span) -> exact.Budget:
    assert isinstance(ratio, int | exact.Rational | exact.ExpNumber), "ratios are numbers"
    price = exact.log(ratio)
    if isinstance(price, exact.LogOf):
        raise Unreadable(NoCommonRate(span, ""))
    return -price


def _multiple(ratio: exact.ParamNumber) -> int | exact.Rational | None:
    """Return k where a ratio is the k-th power of a parameter, or of exp(-eps); None if none."""
    if ratio.is_exponential:
        factor, exponent = ratio.value.monomial() or (0, 0)
        return -exponent if factor == 1 and exponent < 0 else None
    stand_in = ratio.param.stand_in
    found = (k for k in range(1, MOST + 1) if exact.power(stand_in, k) == ratio.value)
    return next(found, None)


def keeps_paths(alignment: Alignment) -> bool:
    """Return whether the shifts chosen keep all paths and outputs, checked by other code."""
    arena, places, answers = alignment.arena, {}, {}
    for number in alignment.reached():
        state, case = arena.states[number], arena.cases[number]
        groups = dict(case.within)
        ranges = {cell: (low, high, groups[cell]) for cell, low, high in case.ranges}
        places[number] = Place(state.node, state.known, state.draws, state.left, ranges)
        chosen = alignment.answers[number]
        answers[number] = [Answer(o.cost, o.target, o.left, o.kept) for o in chosen]
    ratios, drawn = arena.ratios.values, arena.drawing.values
    return certify_shifts(arena.mechanism, places, answers, arena.starts, ratios, drawn)


def bound_of(alignment: Alignment, rates: Rates) -> exact.Budget | None:
    """Return what ε is at most by an alignment, checked again; None where nothing is proved."""
    moves = [[(option.cost, option.target) for option in answers] for answers in alignment.answers]
    arena, cost = alignment.arena, alignment.cost
    is_sound = (
        cost is not None
        and certify_alignment(alignment.costs, moves, arena.starts, rates.prices)
        and keeps_paths(alignment)
    )
    if cost is None or not is_sound:
        return None
    nothing = exact.Budget.of(0)
    at_starts = (alignment.costs[start] or () for start in arena.starts)
    totals = (sum((rates.prices[ratio] * n for ratio, n in each), nothing) for each in at_starts)
    total = max(totals, default=nothing)
    if rates.unit is None:
        return total
    multiple = total.as_number()
    assert multiple is not None, "prices are multiples of the unit"
    return rates.unit * multiple
