"""From a target to its chain: a program's runs, or an explicit chain's rows."""

from __future__ import annotations

from dpcheck.explore.explored import Explored
from dpcheck.explore.tails.tails import Window
from dpcheck.limits import Limits
from dpcheck.model.program import ExplicitChain, Mechanism


def explore(
    target: Mechanism | ExplicitChain,
    *,
    kept_inputs: frozenset[str] = frozenset(),
    later_neighbors: bool = False,
    window: Window | None = None,
    limits: Limits,
) -> Explored:
    """Return the chain of a target; `labelled` adds the atoms of a claim.

    kept_inputs names inputs that claims read: their values are part of every state.
    later_neighbors asks for the pairs of later states (nested D). window: where numbers without
    bounds have to be known exactly.
    Raises `MistakesFound` where some run (or row) is the user's mistake, `LimitReached` at a limit.
    """
    match target:
        case Mechanism():
            from dpcheck.explore.mechanism import given_inputs, mechanism_chain
            from dpcheck.explore.open_queries import with_queries_closed

            closed = with_queries_closed(target, limits)
            given = given_inputs(
                closed, kept_inputs, later_neighbors=later_neighbors, limits=limits
            )
            return mechanism_chain(given, window)
        case ExplicitChain():
            from dpcheck.explore.explicit.layout import explicit_chain

            return explicit_chain(target, limits)
