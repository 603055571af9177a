"""Claims about many inputs, by the pairs of neighbors that decide them, found block by block.

dp, ε and δ are about the worst pair, and the worst of all pairs is the worst of those that are the
worst in their blocks (`explore.parted`). So of each block only these are kept; a chain of theirs
alone decides the claims, with the ordinary engine, which also shows and explains what it finds.
Every block begins with the same values and gives whole numbers and texts, so that nothing hangs on
where and in what order blocks are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from dpcheck.check.evidence.sequences import ends_at_once
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities import privacy
from dpcheck.check.quantities.seen_pairs import complete_evidence, seen_pairs
from dpcheck.check.quantities.tight import tight_quantity
from dpcheck.check.values.exp_factor import EventGap
from dpcheck.exact import excess_sign
from dpcheck.explore import Explored, MistakesFound
from dpcheck.explore.explored import Sizes
from dpcheck.explore.inputs.adjacency import check_pairs
from dpcheck.explore.mechanism import given_inputs, mechanism_chain
from dpcheck.explore.parted import Block, PartedInputs, ShownState, parted_inputs
from dpcheck.explore.tails.tails import Window
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.logic.claims import (
    PrivacyClaim,
    QuantityClaim,
    QuantityValue,
    TightDelta,
    TightEpsilon,
)
from dpcheck.model.program import Mechanism
from dpcheck.pipeline.options import Spread
from dpcheck.records import dataclass, replace
from dpcheck.resolve import ResolvedCheck


@dataclass(frozen=True)
class Sifted:
    """What is kept of a block: pairs of inputs that may decide claims, and what is counted."""

    pairs: tuple[tuple[int, int], ...]
    n_pairs: int
    n_transitions: int
    shown: frozenset[ShownState]


@dataclass(frozen=True)
class Unsifted:
    """A block came to no end: by a limit, or where its own mistakes are told if it is done again.

    Without either, runs go on after their first output: there blocks are not kept apart.
    """

    limit: Limit | None = None
    progress: str = ""
    is_mistaken: bool = False


def sifted_claim(check: ResolvedCheck) -> privacy.EventClaim | None:
    """Return the claim if worst pairs decide it, and the chain of its target is all it needs."""
    claim, target = check.claim, check.target
    is_plain = not (check.at or check.parts or check.for_all or check.leaves_out or check.atoms)
    if not is_plain or check.kept_inputs or check.needs_later_neighbors:
        return None
    if not isinstance(target, Mechanism) or target.has_unbounded_inputs:
        return None
    if target.has_queries or target.choices:
        return None
    match claim:
        case (
            PrivacyClaim()
            | QuantityClaim(quantity=TightEpsilon() | TightDelta())
            | QuantityValue(quantity=TightEpsilon() | TightDelta())
        ):
            return claim
        case _:
            return None


def sieved(
    target: Mechanism,
    claims: Sequence[privacy.EventClaim],
    window: Window | None,
    limits: Limits,
    spread: Spread,
) -> Explored:
    """Return the chain of all inputs, or where they are many of those that decide the claims.

    Raises what `explore` does; of several blocks, what the first one of them does. Limits on states
    are for the inputs, and for what is explored of a block: it is let go before the next.
    """
    given = given_inputs(target, limits=limits)
    parted = parted_inputs(given)
    if parted is None:
        return mechanism_chain(given, window)
    found: list[Sifted] = []
    n_pairs = 0
    pieces = [partial(_sifted, parted, k, claims) for k in range(len(parted.parts))]
    for number, one in enumerate(spread(pieces)):
        if isinstance(one, Unsifted):
            if one.limit is not None:
                raise LimitReached(one.limit, one.progress)
            if one.is_mistaken:
                parted.block(number)
            return mechanism_chain(given, window)
        found.append(one)
        n_pairs += one.n_pairs
        check_pairs(n_pairs, limits)
        limits.check_time(f"{number + 1} of {len(pieces)} blocks of inputs compared")
    pairs = sorted({pair for one in found for pair in one.pairs})
    explored = parted.alone(np.array(pairs, np.int64).reshape(-1, 2))
    n_states = given.n_inputs + len(frozenset().union(*(one.shown for one in found)))
    sizes = Sizes(given.n_inputs, n_pairs, n_states, sum(one.n_transitions for one in found))
    return replace(explored, whole=sizes)


def _sifted(
    parted: PartedInputs, number: int, claims: Sequence[privacy.EventClaim]
) -> Sifted | Unsifted:
    """Return what is kept of a block."""
    try:
        return _kept(parted.block(number), claims, parted.given.limits)
    except LimitReached as reached:
        return Unsifted(reached.limit, reached.progress)
    except MistakesFound:
        return Unsifted(is_mistaken=True)


def _kept(block: Block, claims: Sequence[privacy.EventClaim], limits: Limits) -> Sifted | Unsifted:
    chain = block.explored.chain
    if not ends_at_once(chain, chain.initial):
        return Unsifted()
    seen = seen_pairs(chain, chain.initial, limits)
    evidence = complete_evidence(seen)
    assert isinstance(evidence, TableEvidence), "no table is as small as one of single outputs"
    chosen = set[int]()
    for claim in claims:
        chosen.update(gap.pair for gap in _deciding(claim, evidence))
    if len(seen.pairs):
        # Of pairs with equal rows, the first is shown, and those that are not sure say something.
        chosen |= {0, int(evidence.certain().argmin())}
    pairs = block.inputs[seen.states[sorted(chosen)]]
    return Sifted(
        tuple((s, t) for s, t in pairs.tolist()), len(seen.pairs), block.n_transitions, block.shown
    )


def _deciding(claim: privacy.EventClaim, evidence: TableEvidence) -> Iterator[EventGap]:
    """Yield the worst event of what a claim bounds; where it is too bad, those that explain it."""
    asked, budget = privacy.quantity_of(claim), privacy.budget_of(claim)
    gap = tight_quantity(asked, evidence).gap
    if gap is None:
        return
    yield gap
    if budget is None or budget[0].sign() < 0 or excess_sign(gap.p, gap.q, *budget) <= 0:
        return
    epsilon, delta = budget
    for other in (TightEpsilon(delta, claim.span), TightDelta(epsilon, claim.span)):
        found = tight_quantity(other, evidence).gap
        if found is not None:
            yield found
