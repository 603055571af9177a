"""Quantities of privacy losses: the worst pair's value, and functions as tables.

Every quantity here is a maximum (an error of a test: a minimum) over pairs of neighbors and both
directions; equal loss distributions are looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from dpcheck import exact
from dpcheck.check.formulas.vacuity import NO_NEIGHBORS
from dpcheck.check.quantities.pair_losses import NumberedLosses, losses_of_all
from dpcheck.check.quantities.seen_pairs import SeenPairs, complete_evidence
from dpcheck.check.values.amounts import (
    INFINITE,
    between_amount,
    bound_amount,
    enclosed_amount,
    epsilon_amount,
    number_amount,
)
from dpcheck.check.values.event_text import EventText
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import Amount, Beside, Cell, Coverage, Table, Vacuity
from dpcheck.privacy.concentrated import zcdp
from dpcheck.privacy.enclosed import Enclosed, Measure, compare_measures
from dpcheck.privacy.losses import LossDistribution, both_directions
from dpcheck.privacy.posterior import posterior
from dpcheck.privacy.profile import Piece, profile
from dpcheck.privacy.renyi import renyi
from dpcheck.privacy.tradeoff import curve, type_two_error
from dpcheck.records import dataclass


@dataclass(frozen=True, eq=False)
class KnownLosses:
    """The losses of those pairs that are seen that have different rows.

    `event_text` describes the event of a gap; `n_sequences` are there, where they are listed.
    """

    pairs: Sequence[NumberedLosses]
    seen: SeenPairs
    event_text: Callable[[EventGap, ExpFactor], EventText]
    n_sequences: int | None = None

    @property
    def looked_at(self) -> tuple[Coverage, tuple[Vacuity, ...]]:
        """What a claim about them is about, and why it says little."""
        return self.seen.coverage(self.n_sequences), () if len(self.seen.pairs) else (NO_NEIGHBORS,)


@dataclass(frozen=True)
class Side:
    """One direction of a pair: `losses` has the first state's P if `is_forward`."""

    losses: LossDistribution
    pair: int
    is_forward: bool

    def names(self, known: KnownLosses) -> tuple[str, str]:
        """Return the two states, P's first."""
        return known.seen.names(self.pair, is_forward=self.is_forward)


@dataclass(frozen=True)
class Measured:
    """A value, the side that has it, and what is worth saying beside it.

    Of a loss, e to the value is shown, too; of another budget it says nothing.
    """

    value: Measure
    side: Side | None
    beside: tuple[Beside, ...] = ()
    is_loss: bool = True

    def amount(self, digits: int) -> Amount:
        """Return the value as an amount; with so many digits where it has no exact form."""
        match self.value:
            case Enclosed():
                return enclosed_amount(self.value, digits)
            case None | exact.Budget() | exact.LogOf() if self.is_loss:
                return epsilon_amount(self.value)
            case _:
                return bound_amount(self.value)


def sides_of(pairs: Sequence[NumberedLosses]) -> Iterator[Side]:
    """Yield both directions of all pairs; of equal loss distributions the first."""
    seen: set[LossDistribution] = set()
    for pair, losses in pairs:
        for directed, is_forward in both_directions(losses):
            if directed not in seen:
                seen.add(directed)
                yield Side(directed, pair, is_forward)


# --- values --------------------------------------------------------------------------------


def _greatest(
    sides: Sequence[Side], value_of: Callable[[LossDistribution], Measure], start: Measure
) -> Measured:
    """Return the first value that none is surely greater than, and its side; without any, start.

    Of an exact value and one that no enclosure separates from it, the greatest is known no better
    than by the enclosure.
    """
    best, found = start, None
    for side in sides:
        value = value_of(side.losses)
        sign = compare_measures(value, best)
        if sign == 1 or (sign is None and not isinstance(best, Enclosed)):
            best, found = value, side
        if best is None:
            break
    return Measured(best, found)


def loss_tail(losses: LossDistribution, epsilon: exact.Budget) -> exact.Number:
    """Return P(loss > ε), which is often taken for δ(ε) and is never smaller."""
    return _above(losses, epsilon)[0]


def _above(losses: LossDistribution, epsilon: exact.Budget) -> tuple[exact.Number, exact.Number]:
    """Return P(A) and Q(A), where A are the outputs whose loss is above ε."""
    above = [each for each in losses.losses if exact.excess_sign(each.p, each.q, epsilon) > 0]
    p = exact.sum_of([losses.p_only, *(each.p for each in above)])
    return p, exact.sum_of(each.q for each in above)


def masses_above(
    seen: SeenPairs, epsilon: exact.Budget
) -> list[tuple[exact.Number, exact.Number]] | None:
    """Return P(A) and Q(A) of all pairs, in both directions; None for endless outputs."""
    evidence = complete_evidence(seen)
    if evidence is None:
        return None
    return [
        _above(directed, epsilon)
        for losses in losses_of_all(evidence)
        for directed, _ in both_directions(losses)
    ]


def _least_error(sides: Sequence[Side], type_one: exact.Number) -> Measured:
    best, found = exact.subtract(1, type_one), None
    for side in sides:
        error = type_two_error(side.losses, type_one)
        if exact.compare(error, best) < 0:
            best, found = error, side
    return Measured(best, found)


def _greatest_posterior(sides: Sequence[Side], prior: exact.Number) -> Measured:
    ratio, found = _largest_ratio(sides)
    return Measured(posterior(prior, ratio), found)


def _least_posterior(sides: Sequence[Side], prior: exact.Number) -> Measured:
    ratio, found = _largest_ratio(sides)
    if ratio is None:
        return Measured(1 if prior == 1 else 0, found)
    return Measured(posterior(prior, exact.divide(1, ratio)), found)


def _largest_ratio(sides: Sequence[Side]) -> tuple[exact.Number | None, Side | None]:
    """Return the largest likelihood ratio, None for infinity, and the side that has it."""
    found = _greatest(sides, lambda losses: losses.largest_ratio, 1)
    assert found.value is None or isinstance(found.value, exact.Number), "a ratio is a number"
    return found.value, found.side


def _least_rho(sides: Sequence[Side]) -> Measured:
    found = zcdp([side.losses for side in sides])
    if found is None:
        return Measured(exact.Budget.of(0), None, is_loss=False)
    side = sides[found.index]
    if found.rho is None:
        return Measured(None, side, is_loss=False)
    low, high = found.orders
    if low == high:
        beside = Beside("attained as the order approaches 1")
    else:
        beside = Beside("attained at the order", between_amount(low, high))
    return Measured(found.rho, side, (beside,), is_loss=False)


COMPUTED: Mapping[str, Callable[..., Measured]] = {
    "loss_tail": lambda sides, epsilon: _greatest(sides, partial(loss_tail, epsilon=epsilon), 0),
    "tradeoff": _least_error,
    "posterior_max": _greatest_posterior,
    "posterior_min": _least_posterior,
    "renyi": lambda sides, order: _greatest(sides, partial(renyi, order=order), exact.Budget.of(0)),
    "zcdp": _least_rho,
}
"""The functions of all sides and the arguments that compute quantities."""


# --- tables --------------------------------------------------------------------------------


def profile_table(pieces: Iterable[Piece], known: KnownLosses) -> Table:
    """Return the pieces of a profile as a table."""
    rows = [_profile_row(piece, known) for piece in pieces]
    columns = ("from e^ε", "to e^ε", "δ at the start", "P(S)", "Q(S)", "P from", "Q from")
    return Table("profile", (*columns, "event S"), tuple(rows))


def _profile_row(piece: Piece, known: KnownLosses) -> tuple[Cell, ...]:
    line = piece.line
    end = INFINITE if piece.end is None else number_amount(piece.end)
    numbers = (line.at(piece.start), line.p, line.q)
    amounts = (number_amount(piece.start), end, *map(number_amount, numbers))
    if line.pair < 0:
        return (*amounts, "", "", "")
    gap = EventGap(line.p, line.q, line.pair, line.is_forward)
    event = known.event_text(gap, ExpFactor.of_number(piece.start)).event
    return (*amounts, *known.seen.names(line.pair, is_forward=line.is_forward), event)


def _loss_rows(known: KnownLosses) -> Iterator[tuple[Amount | str, ...]]:
    """Yield the worst pair's losses in both directions, falling; infinite ones first."""
    for side in worst_sides(known):
        names = side.names(known)
        losses = side.losses
        if losses.p_only != 0:
            yield (*names, epsilon_amount(None), number_amount(losses.p_only), number_amount(0))
        for loss in losses.losses:
            numbers = (number_amount(loss.p), number_amount(loss.q))
            yield (*names, epsilon_amount(exact.log(loss.ratio)), *numbers)


def _tradeoff_rows(known: KnownLosses) -> Iterator[tuple[Amount | str, ...]]:
    for side in worst_sides(known):
        for corner in curve(side.losses):
            errors = (number_amount(corner.type_one), number_amount(corner.type_two))
            yield (*side.names(known), *errors)


def worst_sides(known: KnownLosses) -> tuple[Side, ...]:
    """Return both directions of the worst pair, the worse one first.

    The worst pair has the largest loss; of several, or of several with an infinite one, the one
    whose largest loss is most probable.
    """
    worst: list[Side] = []
    for pair, losses in known.pairs:
        forward, backward = Side(losses, pair, True), Side(losses.reversed(), pair, False)
        is_backward_worse = _is_worse(backward.losses, losses)
        both = [backward, forward] if is_backward_worse else [forward, backward]
        if not worst or _is_worse(both[0].losses, worst[0].losses):
            worst = both
    return tuple(worst)


def _is_worse(left: LossDistribution, right: LossDistribution) -> bool:
    """Compare by largest loss, then by its probability."""
    if left.exceeds(right):
        return True
    is_tie = left.largest_ratio is not None and left.largest_ratio == right.largest_ratio
    return is_tie and exact.compare(left.losses[0].p, right.losses[0].p) > 0


TABULATED: Mapping[str, Callable[[KnownLosses], Table]] = {
    "profile": lambda known: profile_table(profile(known.pairs), known),
    "losses": lambda known: Table(
        "losses", ("P from", "Q from", "loss", "P", "Q"), tuple(_loss_rows(known))
    ),
    "tradeoff": lambda known: Table(
        *("tradeoff", ("P from", "Q from", "type I error", "type II error")),
        tuple(_tradeoff_rows(known)),
    ),
}
"""The functions that make the tables that words are without arguments."""
