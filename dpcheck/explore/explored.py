"""From a target to its chain: the structure once, labels for the atoms of each claim after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpcheck.chain.chain import BoolArray, Chain, IntArray
from dpcheck.explore.columns import TRUE, ValueTable
from dpcheck.explore.evaluate import Frame, evaluated
from dpcheck.limits import Limits
from dpcheck.model.expressions import Expr
from dpcheck.model.program import ExplicitChain, Mechanism
from dpcheck.source import Span

Marker = Literal["stopped", "diverged"]
"""Atoms that are true at one sink and nowhere else."""


@dataclass(frozen=True, eq=False)
class Explored:
    """A chain without the labels of atoms, and what labels are computed from.

    columns: variable -> codes [n_reported_states] of `table`: the inputs that were kept, and
    `output`, where a state that shows nothing has a fault. origins: [n_reported_states] index into
    `spans`, the statement or declaration that a state comes from. inputs: variable -> codes
    [n_initial], all inputs of the initial states (empty for explicit chains).
    """

    chain: Chain
    table: ValueTable
    columns: Mapping[str, IntArray]
    inputs: Mapping[str, IntArray]
    origins: IntArray
    spans: tuple[Span, ...]

    def origin(self, state: int) -> Span | None:
        """Return the statement a state comes from; the sinks come from none."""
        if state >= len(self.origins):
            return None
        return self.spans[int(self.origins[state])]


def explore(
    target: Mechanism | ExplicitChain,
    *,
    kept_inputs: frozenset[str] = frozenset(),
    later_neighbors: bool = False,
    limits: Limits,
) -> Explored:
    """Return the chain of a target; `labelled` adds the atoms of a claim.

    kept_inputs names inputs that claims read: their values are part of every state.
    later_neighbors asks for the pairs of later states (nested D).
    Raises `MistakesFound` where some run (or row) is the user's mistake, `LimitReached` at a limit.
    """
    match target:
        case Mechanism():
            from dpcheck.explore.mechanism import mechanism_chain

            return mechanism_chain(
                target, kept_inputs=kept_inputs, later_neighbors=later_neighbors, limits=limits
            )
        case ExplicitChain():
            from dpcheck.explore.explicit import explicit_chain

            return explicit_chain(target, limits)


def labelled(explored: Explored, atoms: Mapping[str, Expr | Marker]) -> Chain:
    """Return the chain with a label for each atom, by its key.

    An atom is false where nothing is output and where its operation does not apply to the value;
    at the sinks only the markers can be true. Labels that the chain has already stay.
    """
    chain = explored.chain
    added: dict[str, BoolArray] = {}
    for key, atom in atoms.items():
        holds = np.zeros(chain.n_states, np.bool_)
        if atom == "stopped":
            holds[chain.stopped] = True
        elif atom == "diverged":
            if chain.diverged is not None:
                holds[chain.diverged] = True
        else:
            frame = Frame(chain.n_reported_states, explored.columns)
            codes = evaluated(atom, frame, explored.table)
            holds[: chain.n_reported_states] = codes == TRUE
        holds.flags.writeable = False
        added[key] = holds
    return replace(chain, labelling=Labelling(chain.labelling, added))


class Labelling(Mapping[str, BoolArray]):
    """The labels of atoms, and behind them the labels a chain has of itself."""

    def __init__(self, own: Mapping[str, BoolArray], added: Mapping[str, BoolArray]) -> None:
        """Look in `added` first."""
        self._own = own
        self._added = added

    def __getitem__(self, key: str) -> BoolArray:
        """Return [n_states] Booleans."""
        return self._added[key] if key in self._added else self._own[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the labels."""
        yield from self._added
        yield from (key for key in self._own if key not in self._added)

    def __len__(self) -> int:
        """Return the number of labels."""
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        """Tell whether there is such a label, without computing it."""
        return key in self._added or key in self._own
