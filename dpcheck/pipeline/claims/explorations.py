"""The chains of targets: each is explored once for all claims that can share it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from math import inf

from dpcheck.chain.chain import Chain
from dpcheck.check.quantities.privacy import EventClaim
from dpcheck.check.values.measures import EndValue, Measures
from dpcheck.exact import Number
from dpcheck.explore import Explored, MistakesFound, explore, labelled
from dpcheck.explore.explored import at_end, measured
from dpcheck.explore.open_queries import UNBOUNDED, check_named, with_queries_closed
from dpcheck.explore.tails.tails import Window, WindowTooSmall
from dpcheck.limits import LimitReached, Limits
from dpcheck.model.atoms import AtEnd, Measure
from dpcheck.model.program import Mechanism, Target
from dpcheck.pipeline.claims.sieve import sieved, sifted_claim
from dpcheck.pipeline.options import Spread, in_place
from dpcheck.records import dataclass, field, replace
from dpcheck.resolve import ResolvedCheck

Key = tuple[Target, frozenset[str], bool, bool]
Explorable = Explored | MistakesFound | LimitReached

MORE_TIME = 1.1
"""A chain that was given up is tried again with so many times the time it had."""


@dataclass
class Explorations:
    """The chains built so far, by target and by what claims need of it.

    A limit or a mistake met once is met again by every claim that needs the same chain, without
    doing the work again. Of those `to_answer` that worst pairs decide, a chain has these alone
    where inputs are many; blocks of them are `spread`.
    """

    to_answer: Sequence[ResolvedCheck] = ()
    spread: Spread = in_place
    _found: dict[Key, Explorable] = field(default_factory=dict)
    _seconds: dict[Key, float] = field(default_factory=dict)  # that an attempt had
    _windows: dict[Key, Window] = field(default_factory=dict)  # of numbers without bounds
    _closed: dict[Mechanism, Mechanism | LimitReached] = field(default_factory=dict)
    _sifted: dict[ResolvedCheck, Sequence[EventClaim]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note for each claim all those about its target, if worst pairs decide every one."""
        found: defaultdict[Target, list[EventClaim | None]] = defaultdict(list)
        for check in self.to_answer:
            found[check.target].append(sifted_claim(check))
        sifted = {
            target: [claim for claim in claims if claim is not None]
            for target, claims in found.items()
            if None not in claims
        }
        self._sifted = {each: sifted.get(each.target, []) for each in self.to_answer}

    def closed(self, check: ResolvedCheck, limits: Limits) -> ResolvedCheck:
        """Return a claim about a mechanism without an analyst who has fixed queries.

        Raises `LimitReached` with `UNBOUNDED` where these are inputs of no finite number.
        """
        if not isinstance(check.target, Mechanism):
            return check
        open_ = check.target
        if open_ not in self._closed:
            try:
                self._closed[open_] = with_queries_closed(open_, limits)
            except LimitReached as reached:
                if reached.limit != UNBOUNDED:
                    raise
                self._closed[open_] = reached.with_traceback(None)
        target = self._closed[open_]
        if isinstance(target, LimitReached):
            raise target.with_traceback(None)
        if target is open_:
            return check
        check_named(check.atoms, open_, target, check.span)
        return replace(check, target=target)

    def explored(self, check: ResolvedCheck, limits: Limits) -> Explored:
        """Return the chain a claim needs; raises `MistakesFound` or `LimitReached`."""
        key = self._key(check)
        if key not in self._found or self._may_come_further(key, limits):
            self._seconds[key] = seconds_left(limits.deadline)
            self._found[key] = self._attempt(check, limits, self._windows.get(key))
        found = self._found[key]
        if isinstance(found, Explored):
            found.table.limits = limits  # values are still computed, now for this claim
            return found
        if self._windows.pop(key, None) is not None:
            del self._found[key]  # other claims may need no such window
        raise found.with_traceback(None)  # which would keep all that was being made

    def _key(self, check: ResolvedCheck) -> Key:
        kept, is_sifted = frozenset(check.kept_inputs), bool(self._sifted.get(check))
        return check.target, kept, check.needs_later_neighbors, is_sifted

    def _attempt(self, check: ResolvedCheck, limits: Limits, window: Window | None) -> Explorable:
        claims = self._sifted.get(check)
        try:
            if claims and isinstance(check.target, Mechanism):
                return sieved(check.target, claims, window, limits, self.spread)
            return explore(
                check.target,
                kept_inputs=frozenset(check.kept_inputs),
                later_neighbors=check.needs_later_neighbors,
                window=window,
                limits=limits,
            )
        except (MistakesFound, LimitReached) as stopped:
            return stopped.with_traceback(None)

    def labelled(self, check: ResolvedCheck, limits: Limits) -> tuple[Explored, Chain]:
        """Return what `explored` does, and the chain with the labels of a claim's atoms.

        Where numbers are too long in all cells, those are tried that this claim alone asks for.
        """
        has_others = True
        while True:
            window = self._windows.get(self._key(check))
            try:
                explored = self.explored(check, limits)
            except LimitReached:
                if window is None or not window.breaks or not has_others:
                    raise
                has_others = False
                self.widen(check, replace(window, breaks=()))
                continue
            try:
                chain = labelled(explored, check.atoms) if check.atoms else explored.chain
                measures_of(explored, check, chain.n_states)
            except WindowTooSmall as found:
                self.widen(check, found.window)
            else:
                return explored, chain

    def widen(self, check: ResolvedCheck, window: Window) -> None:
        """Let the chain a claim needs have another window for numbers without bounds."""
        key = self._key(check)
        self._windows[key] = window
        self._found.pop(key, None)

    def _may_come_further(self, key: Key, limits: Limits) -> bool:
        """Return whether a chain was given up for want of time, of which there is more now.

        Another claim may have used up much of its time before it came to the chain.
        """
        found = self._found[key]
        is_late = isinstance(found, LimitReached) and found.limit.kind == "time"
        return is_late and seconds_left(limits.deadline) > MORE_TIME * max(self._seconds[key], 0.0)

    def forget(self) -> None:
        """Let go of all chains: who was stopped at any point may have left values half entered."""
        self._found.clear()
        self._windows.clear()
        self._seconds.clear()
        self._closed.clear()


def seconds_left(deadline: float | None) -> float:
    """Return the time until a deadline, [s]."""
    return inf if deadline is None else deadline - time.monotonic()


def measures_of(explored: Explored, check: ResolvedCheck, n_states: int) -> Measures:
    """Return the numbers that a claim measures.

    The chain asked about, of n_states, may have more sinks than the one explored, where nothing is
    output.
    """
    more: list[Number | None] = [None] * (n_states - explored.chain.n_states)
    at_outputs: dict[str, list[Number | None]] = {}
    at_least: dict[str, list[Number | None]] = {}
    at_ends: dict[str, EndValue] = {}
    for key, meaning in check.atoms.items():
        match meaning:
            case Measure():
                least, most = measured(explored, meaning)
                at_least[key], at_outputs[key] = least + more, most + more
            case AtEnd(positions=positions, reads_last=reads_last, degree=degree):
                value = at_end(explored, meaning)
                at_ends[key] = EndValue(positions, reads_last, degree, value)
    return Measures(at_outputs, at_least, at_ends)
