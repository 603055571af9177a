"""The runs that carry most of a path formula's probability, found best first.

Runs are grouped by what they show: outputs, and names of states that show nothing. A group has the
weights of (state, what the rest of the run must satisfy), once per departure, so that neighbors are
compared on equal observations. The rest is a term of `solve`, progressed state by state as in
`solve.formulas.progression`, but without what is only almost sure: the formula has come true where
every run of the group satisfies it. The search follows the heaviest group first and gives up after
a while: it explains, it proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from heapq import heappop, heappush
from itertools import count

from dpcheck.chain.chain import BoolArray, Chain
from dpcheck.check.values.event_text import DIVERGED, GOES_ON, N_RUNS, STOPPED, output_sequence
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.exact import ExpPolynomial, Number, add, compare, multiply, number, subtract
from dpcheck.logic.formulas import PathFormula, StateFormula
from dpcheck.solve.formulas import terms as kinds
from dpcheck.solve.paths import Literals

_MAX_GROUPS = 400
_MAX_EDGES = 50_000
_MAX_FOUND = 32

_Shown = tuple[int, str]
"""What entering a state shows, by code; -1 and its name if it is silent."""

Weights = dict[tuple[int, int], Number]
"""The weight of each (state, term that the rest of the run must satisfy)."""

HeavyRun = tuple[OutputSequence, tuple[Number, ...]]


def heavy_runs(
    chain: Chain,
    path: PathFormula,
    states: tuple[int, ...],
    *,
    satisfying: Callable[[StateFormula], BoolArray],
    is_satisfying: bool,
) -> list[HeavyRun]:
    """Return up to three groups of runs that satisfy the path formula (or do not).

    Each comes with its probability from every one of the states: one state, or two neighbors; then
    groups that are likelier from the first are wanted, by falling difference.
    """
    literals = Literals(keeps_constants=True)  # a run is followed to where they are seen
    start = literals.term(literals.translated(path, satisfying))
    wanted = start if is_satisfying else literals.terms.negation(start)
    return _RunSearch(chain, literals).found(wanted, states)


class _RunSearch:
    """The search for the heaviest groups on a chain."""

    def __init__(self, chain: Chain, literals: Literals) -> None:
        self.chain = chain
        self.literals = literals
        self.n_edges = 0

    def found(self, start: int, states: tuple[int, ...]) -> list[HeavyRun]:
        """Return the heaviest groups in which the term has come true."""
        order = count()
        group: list[Weights] = [{(s, start): 1} for s in states]
        waiting: list[tuple[_Falling, int, tuple[_Shown, ...], list[Weights]]] = []
        heappush(waiting, (_Falling(1), next(order), (), group))
        runs: list[HeavyRun] = []
        for _ in range(_MAX_GROUPS):
            if not waiting or len(runs) >= _MAX_FOUND or self.n_edges > _MAX_EDGES:
                break
            _, _, shown, group = heappop(waiting)
            true, still_open = self._settled(group)
            if compare(true[0], 0) > 0:
                runs.append((self._sequence(shown), true))
            for label, following in self._following(still_open).items():
                mass = _mass(following[0])
                if mass != 0:
                    entry = _Falling(mass), next(order), (*shown, label), following
                    heappush(waiting, entry)
        return _heaviest(runs)

    def _settled(self, group: list[Weights]) -> tuple[tuple[Number, ...], list[Weights]]:
        """Return the weight for which the formula is true now, and the weights still open."""
        true: list[Number] = []
        rests: list[Weights] = []
        for weights in group:
            total: Number = 0
            left: Weights = {}
            for (s, rest), weight in weights.items():
                if self._is_absorbing(s):
                    after = kinds.TRUE if self._holds_forever(rest, s) else kinds.FALSE
                else:
                    after = self._after(rest, s)
                if after == kinds.TRUE:
                    total = add(total, weight)
                elif after != kinds.FALSE:
                    left[s, after] = add(left.get((s, after), 0), weight)
            true.append(total)
            rests.append(left)
        return tuple(true), rests

    def _following(self, group: list[Weights]) -> dict[_Shown, list[Weights]]:
        """Return the weights after one more transition, by what it shows."""
        chain = self.chain
        found: dict[_Shown, list[Weights]] = {}
        for side, weights in enumerate(group):
            for (s, rest), weight in weights.items():
                low, high = int(chain.indptr[s]), int(chain.indptr[s + 1])
                self.n_edges += high - low
                below = _whole(chain.denominators[s])
                for j in range(low, high):
                    t = int(chain.targets[j])
                    label = self._label(t)
                    reached = found.setdefault(label, [{} for _ in group])[side]
                    step = multiply(weight, number(_whole(chain.numerators[j]), below))
                    reached[t, rest] = add(reached.get((t, rest), 0), step)
        return found

    def _label(self, state: int) -> _Shown:
        """Return what entering a state shows: its output, or its name if it is silent."""
        code = int(self.chain.observation[state])
        return (code, "") if code >= 0 else (code, self.chain.state_text(state))

    def _sequence(self, shown: tuple[_Shown, ...]) -> OutputSequence:
        """Return what the runs of a group show, and how they end."""
        texts = [self.chain.observation_text(c) if c >= 0 else text for c, text in shown]
        for end, sink in ((STOPPED, "stopped"), (DIVERGED, "diverged")):
            if shown and shown[-1] == (-1, sink):
                return output_sequence(texts[:-1], end)
        return output_sequence(texts, GOES_ON)

    def _is_absorbing(self, state: int) -> bool:
        """Return whether a run stays in a state forever."""
        low, high = self.chain.indptr[state], self.chain.indptr[state + 1]
        return bool(high - low == 1 and self.chain.targets[low] == state)

    def _after(self, term: int, state: int) -> int:
        """Return what the run from the next state on must satisfy; `progression` has the laws."""
        terms = self.literals.terms
        match terms[term]:
            case kinds.Constant():
                return term
            case kinds.Literal(k, positive):
                is_true = self.literals.arrays[k][state] == positive
                return kinds.TRUE if is_true else kinds.FALSE
            case kinds.Conjunction(parts):
                return terms.both(*(self._after(part, state) for part in parts))
            case kinds.Disjunction(parts):
                return terms.either(*(self._after(part, state) for part in parts))
            case kinds.Next(argument):
                return argument
            case kinds.StrongUntil(left, right, bound):
                rest = terms.until(left, right, None if bound is None else bound - 1)
            case kinds.WeakUntil(left, right, bound):
                rest = terms.weak(left, right, None if bound is None else bound - 1)
        now = self._after(right, state)
        if now == kinds.TRUE:
            return now
        return terms.either(now, terms.both(self._after(left, state), rest))

    def _holds_forever(self, term: int, state: int) -> bool:
        """Return whether the path that stays in a state forever satisfies a term."""
        match self.literals.terms[term]:
            case kinds.Constant(value):
                return value
            case kinds.Literal(k, positive):
                return bool(self.literals.arrays[k][state] == positive)
            case kinds.Conjunction(parts):
                return all(self._holds_forever(part, state) for part in parts)
            case kinds.Disjunction(parts):
                return any(self._holds_forever(part, state) for part in parts)
            case kinds.WeakUntil(left, right, _):
                return self._holds_forever(left, state) or self._holds_forever(right, state)
            case kinds.Next(inner) | kinds.StrongUntil(_, inner, _):
                return self._holds_forever(inner, state)


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


def _mass(weights: Weights) -> Number:
    """Return the total of weights."""
    total: Number = 0
    for weight in weights.values():
        total = add(total, weight)
    return total


def _whole(weight: int | ExpPolynomial) -> int | ExpPolynomial:
    """Return a numpy integer as a Python one."""
    return weight if isinstance(weight, ExpPolynomial) else int(weight)
