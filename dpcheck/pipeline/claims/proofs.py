"""What alignments prove of claims about all integers and endless streams."""

from __future__ import annotations

from collections.abc import Iterator
from operator import and_
from typing import NamedTuple

from dpcheck.align.arena import arena, n_combinations
from dpcheck.align.bound import Alignment, aligned
from dpcheck.align.neighbors import Unreadable, differences
from dpcheck.align.obstacles import obstacle_of
from dpcheck.align.prices import bound_of, rates_of
from dpcheck.check.values.comparisons import holds
from dpcheck.check.values.verdicts import Beside, Comparison
from dpcheck.exact import Budget, Number, growth_of, subtract
from dpcheck.exact.line import Line
from dpcheck.exact.roots import Region, everywhere, joined
from dpcheck.explore.values.mistakes import spoken
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import claims
from dpcheck.model.program import Mechanism
from dpcheck.model.surface_text import one_line
from dpcheck.pipeline.claims.left_open import amount_of, obstacle_text

MAX_COMBINATIONS = 3**6
"""In so many ways inputs differ together where each is told apart: 3^8 take ten seconds."""


class Proof(NamedTuple):
    """The bound of the cheapest alignment, and what it moves; or why there is no bound.

    `weights` are those of all units that draws have, with a parameter.
    """

    most: Budget | None
    beside: tuple[Beside, ...] = ()
    unbounded: str = ""
    weights: tuple[Number, ...] = ()


def proved_bound(mechanism: Mechanism, limits: Limits) -> Budget | None:
    """Return what alignments prove of ε for all inputs and rounds, None where none bounds it.

    Raises `LimitReached` where that is not known.
    """
    try:
        return _best(mechanism, limits).most
    except Unreadable:
        return None


def proof_of(mechanism: Mechanism, limits: Limits) -> Proof:
    """Return what alignments prove, or which limit was reached."""
    try:
        return _best(mechanism, limits)
    except LimitReached as limit:
        return Proof(None, unbounded=f"no bound was found: {limit.limit.text}")


def _best(mechanism: Mechanism, limits: Limits) -> Proof:
    """Return what alignments prove."""
    cases = differences(mechanism)
    are_many = n_combinations(mechanism, cases) > MAX_COMBINATIONS
    for is_settled in (False, True) if are_many else (True,):
        alignment = aligned(arena(mechanism, cases, limits, is_settled=is_settled), limits)
        bound = bound_of(alignment, rates_of(alignment.arena.ratios))
        if bound is not None:
            break
    else:
        why = "no way to move the noise that is tried bounds it"
        if alignment.cost is None:
            why = ": ".join(filter(None, (why, obstacle_text(obstacle_of(alignment)))))
        return Proof(None, unbounded=why)
    most = Beside("at most", amount_of(bound))
    weights = tuple(alignment.arena.drawing.table.weights.by_unit.values())
    return Proof(bound, (most, *map(Beside, _shifts(alignment))), "", weights)


def _shifts(alignment: Alignment) -> Iterator[str]:
    """Yield by how much the noise of variables is moved, and where that depends."""
    found: dict[str, dict[str, list[int]]] = {}
    for step in alignment.steps():
        is_of_outcome = step.outcome in ("true", "false")
        where = f" where `{one_line(step.span.text)}` is {step.outcome}" if is_of_outcome else ""
        found.setdefault(step.name, {}).setdefault(where, []).append(step.moved)
    alike: dict[str, list[str]] = {}
    for name, places in found.items():
        texts = []
        for place, moved in sorted(places.items(), key=lambda pair: max(map(abs, pair[1]))):
            low, high = min(moved), max(moved)
            by = f"{high:+d}" if low == high else f"{low:+d} to {high:+d}"
            texts.append(f"{by}{place}")
        alike.setdefault(", ".join(texts), []).append(spoken(name))
    for text, names in sorted(alike.items(), key=lambda pair: pair[1]):
        yield f"noise of {', '.join(names)} {text}"


def where_false(
    low: Budget,
    comparison: Comparison,
    high: Budget | None,
    for_all: claims.ForAll,
    weights: tuple[Number, ...],
) -> tuple[Line, Region]:
    """Return for which values that are asked a comparison of budgets is false; None is infinite.

    With e^(high - low) = F^(1/n) that is by the sign of F - 1, decided strictly inside of the
    interval. F is continuous, so that `<=` is true at closed ends as well where it is inside.
    On the line all weights are rational, too.
    """
    growth, _ = (0, 1) if high is None else growth_of(high - low)
    line = for_all.line([growth, *weights])
    signs = [sign for sign in (-1, 0, 1) if not holds(comparison, -sign)]
    asked = for_all.asked(line)
    if high is None:
        return line, joined(and_, [asked, everywhere(1 in signs, line.low, line.high)])
    return line, joined(and_, [asked, line.where(subtract(growth, 1), signs)])
