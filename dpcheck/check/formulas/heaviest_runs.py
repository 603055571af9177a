"""The runs that carry most of a path formula's probability, found best first.

Runs are grouped by what they show: outputs, and names of states that show nothing. A group is a
belief, the weights of (state, what the rest of the run must satisfy), once per departure, so that
neighbors are compared on equal observations. The rest formula is progressed state by state
(Bacchus & Kabanza, 2000); a group is reported when the formula has come true in it. The
search follows the heaviest group first and gives up after a while: it explains, it proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from heapq import heappop, heappush
from itertools import count
from typing import Any, assert_never

from dpcheck.chain.chain import BoolArray, Chain
from dpcheck.check.values.event_text import DIVERGED, GOES_ON, N_RUNS, STOPPED, output_sequence
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import Number, add, compare, multiply, number, subtract, whole
from dpcheck.logic import formulas as f

_MAX_GROUPS = 400
"""Bounds the search for runs to show: groups of runs that are taken up."""
_MAX_EDGES = 50_000
"""Bounds the same search: transitions that are looked at."""
_MAX_FOUND = 32
"""Complete runs after which the search ends: a few of them are shown."""

_Shown = tuple[int, str]
"""What entering a state shows, by code; -1 and its name if it is silent."""

Rest = tuple[Any, ...]
Belief = dict[tuple[int, Rest], Number]
HeavyRun = tuple[OutputSequence, tuple[Number, ...]]

TRUE: Rest = ("true",)
FALSE: Rest = ("false",)


def heavy_runs(
    chain: Chain,
    path: f.PathFormula,
    states: tuple[int, ...],
    *,
    satisfying: Callable[[f.StateFormula], BoolArray],
    is_satisfying: bool,
) -> list[HeavyRun]:
    """Return up to three groups of runs that satisfy the path formula (or do not).

    Each comes with its probability from every one of the states: one state, or two neighbors; then
    groups that are likelier from the first are wanted, by falling difference.
    """
    search = _Search(chain, satisfying)
    return search.found(search.start(path, is_satisfying=is_satisfying), states)


def progression(
    chain: Chain,
    path: f.PathFormula,
    *,
    satisfying: Callable[[f.StateFormula], BoolArray],
    is_satisfying: bool,
) -> tuple[Rest, Callable[[Rest, int], Rest]]:
    """Return what a run must satisfy, and what is left of that after a state, `TRUE` or `FALSE`.

    That is to satisfy the path formula, or not to.
    """
    search = _Search(chain, satisfying)
    return search.start(path, is_satisfying=is_satisfying), search.settled


class _Search:
    """The truth of the literals, and the groups found."""

    def __init__(self, chain: Chain, satisfying: Callable[[f.StateFormula], BoolArray]) -> None:
        self.chain = chain
        self.satisfying = satisfying
        self.literals: list[BoolArray] = []
        self.n_edges = 0

    def start(self, path: f.PathFormula, *, is_satisfying: bool) -> Rest:
        """Return what runs are to satisfy."""
        start = self.rest(path)
        return start if is_satisfying else _not(start)

    def settled(self, rest: Rest, state: int) -> Rest:
        """Return what is left of a formula after a state; where a run stays in it, all is known."""
        if self._is_absorbing(state):
            return TRUE if self._constant(rest, state) else FALSE
        return self._after(rest, state)

    def rest(self, path: f.PathFormula) -> Rest:
        """Return a path formula in X, U, W and Booleans over numbered literals."""
        match path:
            case f.Holds(state=state):
                self.literals.append(self.satisfying(state))
                return ("literal", len(self.literals) - 1)
            case f.PathNot(argument=argument):
                return _not(self.rest(argument))
            case f.PathAnd(arguments=arguments):
                return _and([self.rest(each) for each in arguments])
            case f.PathOr(arguments=arguments):
                return _or([self.rest(each) for each in arguments])
            case f.Next(argument=argument):
                return ("next", self.rest(argument))
            case f.Finally(argument=argument, bound=bound):
                return ("until", TRUE, self.rest(argument), bound)
            case f.Globally(argument=argument, bound=bound):
                return _not(("until", TRUE, _not(self.rest(argument)), bound))
            case f.Until(left=left, right=right, bound=bound):
                return ("until", self.rest(left), self.rest(right), bound)
            case f.WeakUntil(left=left, right=right):
                return ("weak", self.rest(left), self.rest(right))
            case f.Release(left=left, right=right):
                return _not(("until", _not(self.rest(left)), _not(self.rest(right)), None))
            case _:
                assert_never(path)

    def found(self, start: Rest, states: tuple[int, ...]) -> list[HeavyRun]:
        """Return the heaviest groups in which the formula has come true."""
        order = count()
        beliefs: list[Belief] = [{(s, start): 1} for s in states]
        waiting: list[tuple[_Falling, int, tuple[_Shown, ...], list[Belief]]] = []
        heappush(waiting, (_Falling(1), next(order), (), beliefs))
        runs: list[HeavyRun] = []
        for _ in range(_MAX_GROUPS):
            if not waiting or len(runs) >= _MAX_FOUND or self.n_edges > _MAX_EDGES:
                break
            _, _, shown, beliefs = heappop(waiting)
            true, open_beliefs, is_over = self._settled(beliefs)
            if compare(true[0], 0) > 0:
                runs.append((self._sequence(shown, is_over=is_over), true))
            for label, following in self._following(open_beliefs).items():
                mass = _mass(following[0])
                if mass != 0:
                    group = (*shown, label)
                    heappush(waiting, (_Falling(mass), next(order), group, following))
        return _heaviest(runs)

    def _settled(self, beliefs: list[Belief]) -> tuple[tuple[Number, ...], list[Belief], bool]:
        """Return the weight for which the formula is true now, and the beliefs still open.

        Also whether all runs for which it is true show nothing more, and end.
        """
        true: list[Number] = []
        rests: list[Belief] = []
        is_over = True
        for belief in beliefs:
            total: Number = 0
            left: Belief = {}
            for (s, rest), weight in belief.items():
                after = self.settled(rest, s)
                if after == TRUE:
                    total = add(total, weight)
                    is_over = is_over and self._ends(s)
                elif after != FALSE:
                    left[s, after] = add(left.get((s, after), 0), weight)
            true.append(total)
            rests.append(left)
        return tuple(true), rests, is_over

    def _following(self, beliefs: list[Belief]) -> dict[_Shown, list[Belief]]:
        """Return the beliefs after one more transition, by what it shows."""
        chain = self.chain
        found: dict[_Shown, list[Belief]] = {}
        for side, belief in enumerate(beliefs):
            for (s, rest), weight in belief.items():
                low, high = int(chain.indptr[s]), int(chain.indptr[s + 1])
                self.n_edges += high - low
                below = whole(chain.denominators[s])
                for j in range(low, high):
                    t = int(chain.targets[j])
                    label = self._label(t)
                    group = found.setdefault(label, [{} for _ in beliefs])[side]
                    step = multiply(weight, number(whole(chain.numerators[j]), below))
                    group[t, rest] = add(group.get((t, rest), 0), step)
        return found

    def _label(self, state: int) -> _Shown:
        """Return what entering a state shows: its output, or its name if it is silent."""
        code = int(self.chain.observation[state])
        return (code, "") if code >= 0 else (code, self.chain.state_text(state))

    def _sequence(self, shown: tuple[_Shown, ...], *, is_over: bool) -> OutputSequence:
        """Return what the runs of a group show, and how they end."""
        texts = [self.chain.observation_text(c) if c >= 0 else text for c, text in shown]
        for end, sink in ((STOPPED, "stopped"), (DIVERGED, "diverged")):
            if shown and shown[-1] == (-1, sink):
                return output_sequence(texts[:-1], end)
        return output_sequence(texts, STOPPED if is_over else GOES_ON)

    def _ends(self, state: int) -> bool:
        """Tell whether a run ends in a state: the next one is the end."""
        low, high = self.chain.indptr[state], self.chain.indptr[state + 1]
        return bool(high - low == 1 and self.chain.targets[low] == self.chain.stopped)

    def _is_absorbing(self, state: int) -> bool:
        """Tell whether a run stays in a state forever."""
        low, high = self.chain.indptr[state], self.chain.indptr[state + 1]
        return bool(high - low == 1 and self.chain.targets[low] == state)

    def _after(self, rest: Rest, state: int) -> Rest:
        """Return what the run from the next state on must satisfy."""
        match rest:
            case ("literal", int(k)):
                return TRUE if self.literals[k][state] else FALSE
            case ("not", tuple(argument)):
                return _not(self._after(argument, state))
            case ("or", frozenset(parts)):
                return _or([self._after(each, state) for each in parts])
            case ("next", tuple(argument)):
                return argument
            case ("until", tuple(left), tuple(right), bound):
                now = self._after(right, state)
                if now == TRUE or bound == 0:
                    return now
                later = ("until", left, right, None if bound is None else bound - 1)
                return _or([now, _and([self._after(left, state), later])])
            case ("weak", tuple(left), tuple(right)):
                now = self._after(right, state)
                return now if now == TRUE else _or([now, _and([self._after(left, state), rest])])
            case _:
                return rest

    def _constant(self, rest: Rest, state: int) -> bool:
        """Tell whether the path that stays in a state forever satisfies a formula."""
        match rest:
            case ("literal", int(k)):
                return bool(self.literals[k][state])
            case ("not", tuple(argument)):
                return not self._constant(argument, state)
            case ("or", frozenset(parts)):
                return any(self._constant(each, state) for each in parts)
            case ("next", tuple(argument)):
                return self._constant(argument, state)
            case ("until", _, tuple(right), _):
                return self._constant(right, state)
            case ("weak", tuple(left), tuple(right)):
                return self._constant(left, state) or self._constant(right, state)
            case _:
                return rest == TRUE


class _Falling:
    """A number that sorts before smaller ones."""

    __slots__ = ("value",)

    def __init__(self, value: Number) -> None:
        self.value = value

    def __lt__(self, other: _Falling) -> bool:
        return compare(self.value, other.value) > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Falling) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


def _heaviest(runs: list[HeavyRun]) -> list[HeavyRun]:
    """Return the groups with the largest positive difference (or probability, for one state)."""

    def weight(run: HeavyRun) -> Number:
        first, *second = run[1]
        return subtract(first, second[0]) if second else first

    def order(left: HeavyRun, right: HeavyRun) -> int:
        return compare(weight(right), weight(left))

    heavy = [run for run in runs if compare(weight(run), 0) > 0]
    return sorted(heavy, key=cmp_to_key(order))[:N_RUNS]


def _mass(belief: Belief) -> Number:
    """Return the total weight of a belief."""
    total: Number = 0
    for weight in belief.values():
        total = add(total, weight)
    return total


def _not(rest: Rest) -> Rest:
    """Return the negation, simplified."""
    if rest == TRUE:
        return FALSE
    if rest == FALSE:
        return TRUE
    return rest[1] if rest[0] == "not" and isinstance(rest[1], tuple) else ("not", rest)


def _and(arguments: list[Rest]) -> Rest:
    """Return the conjunction, simplified."""
    return _not(_or([_not(each) for each in arguments]))


def _or(arguments: list[Rest]) -> Rest:
    """Return the disjunction, simplified: flat, without repeats."""
    parts: set[Rest] = set()
    for each in arguments:
        if each == TRUE:
            return TRUE
        if each[0] == "or":
            parts |= each[1]
        elif each != FALSE:
            parts.add(each)
    if not parts:
        return FALSE
    return next(iter(parts)) if len(parts) == 1 else ("or", frozenset(parts))
