"""What makes a nested D or P false: a pair of states or a state, and how runs come to it.

Neighbors of later states are reached in lock step: with equal outputs and equal draws
(`Chain.neighbors.later`). A breadth-first search over pairs finds the nearest one that fails after
as many steps as lead to the D: one an X, up to k an F<=k. In an explicit chain, whose states have
the neighbors that it declares, the search is over states.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import Chain, IntArray
from dpcheck.chain.sets import distinct, union
from dpcheck.check.values.amounts import epsilon_amount, number_amount
from dpcheck.check.values.verdicts import Enough, OutputSequence, Phrase, PhrasePart
from dpcheck.explain.event_claims import inequality_of
from dpcheck.explain.explanation import Inner, Remark
from dpcheck.explain.inputs import input_cells
from dpcheck.explain.pairs import gaps_of
from dpcheck.explain.runs.attribution import after_outputs, output_lines
from dpcheck.explain.runs.deciding_runs import deciding_runs
from dpcheck.explain.subject import Subject
from dpcheck.logic import formulas as f
from dpcheck.logic.claims import FormulaClaim
from dpcheck.logic.formula_text import formula_text
from dpcheck.model import trees
from dpcheck.model.program import Mechanism
from dpcheck.model.values import value_text
from dpcheck.records import dataclass, replace

Pair = tuple[int, int]
Depths = tuple[int, int | None]
"""After how many steps something is asked: at least, and at most (None: after any number)."""

Node = TypeVar("Node")


@dataclass(frozen=True)
class Nested:
    """A D within a formula, and when it is asked.

    `sign` is 1 where the formula can only gain by its truth, -1 where it can only lose, else 0.
    `within` is all that is asked of the states then. With a `start` it is asked of runs from there.
    """

    formula: f.Private
    depths: Depths
    sign: int
    within: f.StateFormula
    start: int | None = None


def inner_of(
    subject: Subject, path: f.PathFormula, start: int | None = None
) -> tuple[Inner, Phrase | None] | None:
    """Return the first D within a path formula that fails at a pair that runs reach, and where.

    Runs from the state `start` come first. Beside it stands the least ε with which the claim holds,
    if one does. Those whose truth the formula can only lose by are left out.
    """
    for nested in _privates(path, (0, 0), 1):
        if nested.sign < 0:
            continue
        found = _failing(subject, replace(nested, start=start))
        if found is not None:
            is_formula = nested.sign > 0 and isinstance(subject.claim, FormulaClaim)
            least = _least(subject, nested.formula) if is_formula else None
            return found, least
    return None


def false_within(subject: Subject, path: f.PathFormula, start: int) -> Remark | None:
    """Return after what a P within a path formula is false in runs from a state, if one is.

    What an analyst has fixed and not asked yet may be anything (`Truths`): the queries that are
    named, with which the P is false there, may be others than those of `start`.
    """
    truths, cells = subject.truths, input_cells(subject.explored)
    alike_first = sorted(truths.initial_alike(start), key=lambda s: len(cells.changed(start, s)))
    following = partial(_following_states, truths.chain)
    for formula, depths, whole in _required(path, (0, 0)):
        false = set(np.flatnonzero(~truths.possibly(whole)).tolist())
        way = _nearest(subject, [start], following, false.__contains__, depths)
        if way is not None:
            alike = truths.alike(way[-1])
            false = set(alike[truths.false_at(formula, alike)].tolist())
            way = _nearest(subject, alike_first, following, false.__contains__, depths)
        if way is not None:
            return _false_after(subject, formula, way, is_other=way[0] != start)
    return None


def _false_after(
    subject: Subject, formula: f.ProbabilityIs, way: Sequence[int], *, is_other: bool
) -> Remark:
    """Return that a P is false where a way ends: what it is there, after which outputs."""
    chain, name = subject.truths.chain, subject.chain.state_text
    (p,) = subject.truths.probabilities(formula.path, np.array(way[-1:], np.int64))
    where: list[PhrasePart] = [f" at {name(way[-1])}"]
    if isinstance(subject.target, Mechanism):
        codes = chain.observation[np.array(way[1:], np.int64)].tolist()
        shown = tuple(chain.observation_text(code) for code in codes if code >= 0)
        after: list[PhrasePart] = [" after ", OutputSequence(shown)] if shown else []
        where = [*after, " at the end" * (len(shown) < len(codes)), f" from {name(way[0])}"]
        where += _remembered(subject, [(state,) for state in way], shown)
    why = " (queries that are not asked yet are any)" if is_other else ""
    said = [f"{formula_text(formula)} is false", *where, ": ", number_amount(p), why]
    return Remark("inner", Phrase.of(*said))


def _remembered(
    subject: Subject, way: Sequence[tuple[int, ...]], outputs: Sequence[str]
) -> list[PhrasePart]:
    """Return what is remembered where a way of states, or of pairs, ends: ` with noisy_t > 5`.

    Without it two states with the same outputs would look alike, of which one fails. Nothing is
    said where the outputs alone tell the states.
    """
    chain = subject.truths.chain
    ends = zip(way[0], way[-1], strict=True)
    if all(set(after_outputs(chain, {s: 1}, outputs)) == {t} for s, t in ends):
        return []
    texts = [_memory(subject, s, t) for s, t in zip(way[0], way[-1], strict=True)]
    if not any(texts):
        return []
    lead = ", both with " if len(texts) > 1 and len(set(texts)) == 1 else " with "
    return [lead, " against ".join(text or "nothing" for text in dict.fromkeys(texts))]


def _memory(subject: Subject, start: int, state: int) -> str:
    """Return what a state remembers beside the inputs of the start, which are told already."""
    chain, cells = subject.truths.chain, input_cells(subject.explored)
    code = int(chain.observation[state])
    lead = f"after output {chain.observation_text(code)} with " if code >= 0 else ""
    text = chain.state_text(state)
    if not lead or not text.startswith(lead):
        return ""
    memory = f", {text.removeprefix(lead)},"
    for name, value in cells.environment(start).items() if cells.values else ():
        memory = memory.replace(f", {name} = {value_text(value)},", ",")
    return memory.strip(", ")


def _required(
    tree: object, depths: Depths, whole: f.StateFormula | None = None
) -> Iterator[tuple[f.ProbabilityIs, Depths, f.StateFormula]]:
    """Yield the P formulas that are false where a run fails, and when they are asked.

    Beside each stands what is false then: the P, or the whole disjunction `bot => P>=1/2 [ .. ]`.
    """
    match tree:
        case f.ProbabilityIs():
            yield tree, depths, whole or tree
        case f.Holds(state=part):
            yield from _required(part, depths)
        case f.And(arguments=parts) | f.PathAnd(arguments=parts):
            for part in parts:
                yield from _required(part, depths)
        case f.Or(arguments=parts):
            for part in parts:
                if isinstance(part, f.ProbabilityIs | f.Or):
                    yield from _required(part, depths, whole or tree)
        case f.Next(argument=part):
            yield from _required(part, _later(depths, 1, 1))
        case f.Globally(argument=part, bound=bound):
            yield from _required(part, _later(depths, 0, bound))


def _privates(
    tree: object, depths: Depths, sign: int, within: f.StateFormula | None = None
) -> Iterator[Nested]:
    """Yield the D formulas within a formula, outer ones first."""
    match tree:
        case f.Private():
            yield Nested(tree, depths, sign, within or tree)
            sign = 0
        case f.Holds(state=state):
            within = state
        case f.Not() | f.PathNot() | f.ProbabilityIs(relations=(("<=" | "<", _),)):
            sign = -sign
        case f.ProbabilityIs(relations=(("=", _),) | (_, _)):
            sign = 0
        case f.Next():
            depths = _later(depths, 1, 1)
        case f.Finally(bound=bound) | f.Globally(bound=bound) | f.Until(bound=bound):
            depths = _later(depths, 0, bound)
        case f.WeakUntil() | f.Release():
            depths = _later(depths, 0, None)
        case _:
            pass
    for part in trees.parts(tree):
        yield from _privates(part, depths, sign, within)


def _later(depths: Depths, least: int, most: int | None) -> Depths:
    return depths[0] + least, None if depths[1] is None or most is None else depths[1] + most


def _failing(subject: Subject, nested: Nested) -> Inner | None:
    """Return the nearest pair at which a D is false when it is asked, and where that is.

    Those come first that runs from the start reach, and where all that is asked is false.
    """
    truths, formula, name = subject.truths, nested.formula, subject.chain.state_text
    pairs: list[Pair] = [(s, t) for s, t in truths.violating(formula, truths.pairs).tolist()]
    false = ~truths.possibly(nested.within)
    pairs = [(s, t) for s, t in pairs if false[s] or false[t]] or pairs
    failing = [*pairs, *((t, s) for s, t in pairs)]
    is_program = isinstance(subject.target, Mechanism)
    way = (_in_lock_step if is_program else _in_chain)(subject, failing, nested)
    if way is None:
        return None
    p, q = truths.probabilities(formula.path, np.array(way[-1], np.int64))
    if exact.compare(p, q) < 0:
        way, p, q = [(t, s) for s, t in way], q, p
    shown, places = truths.chain.observation, way[1:] if is_program else []
    outputs = tuple(truths.chain.observation_text(int(shown[s])) for s, _ in places)
    left, right = map(name, way[0] if is_program else way[-1])
    said: list[PhrasePart] = [f"{formula_text(formula)} is false"]
    event, failing_there = formula.path, inequality_of(p, q, formula.epsilon, formula.delta)
    run = None
    memory = _remembered(subject, way, outputs) if is_program else []
    if all(
        set(after_outputs(truths.chain, {s: 1}, outputs)) == {t}
        for s, t in zip(way[0], way[-1], strict=True)
    ):
        _, run = deciding_runs(subject, event, way[-1], "event", before=outputs, starts=way[0])
    if outputs:
        passed = [] if run is None else output_lines(run)[len(outputs) - 1 : len(outputs)]
        line = "".join(map(subject.in_brackets, passed))
        said += [" after ", OutputSequence(outputs), f"{line}, {left} against {right}"]
        said += [*memory, ", after the same draws on both sides"]
        if nested.start is not None and nested.start not in way[0]:
            said.append(f"; runs from {name(nested.start)} come to one of the two, too")
    else:
        said.append(f"{' at the inputs' * is_program}, {left} against {right}")
    return Inner(Phrase.of(*said), Phrase.of(formula_text(event)), failing_there, run)


def _in_lock_step(subject: Subject, failing: Sequence[Pair], nested: Nested) -> list[Pair] | None:
    """Return the pairs on a way to the nearest one that fails, or None.

    Where runs from the start come to the first of a pair, and not in lock step with others to the
    second, inputs elsewhere do to both.
    """
    truths, start = subject.truths, nested.start
    every, here = truths.chain.neighbors.pairs, truths.pairs_at(subject.selected)
    here = here if start is None else here[np.any(here == start, axis=1)]
    lock_step = truths.chain.neighbors.lock_step
    after = _nowhere if lock_step is None else lock_step(subject.limits)
    way = _from_pairs(here, after, failing, nested.depths, truths.chain.n_states)
    if way is None and len(here) < len(every):
        following, firsts = partial(_following_states, truths.chain), {s for s, _ in failing}
        starts = subject.selected.tolist() if start is None else [start]
        met = _nearest(subject, starts, following, firsts.__contains__, nested.depths)
        failing = [pair for pair in failing if met is not None and met[-1] in pair]
        way = _from_pairs(every, after, failing, nested.depths, truths.chain.n_states)
    return way


def _from_pairs(
    here: IntArray,
    after: Callable[[IntArray], IntArray],
    failing: Sequence[Pair],
    depths: Depths,
    n_states: int,
) -> list[Pair] | None:
    """Return the pairs on a way in lock step from one here, [n, 2], to the nearest that fails."""
    least, most = depths
    wanted = _numbers(np.array(failing, np.int64).reshape(-1, 2), n_states)
    ways, seen = [here], np.empty(0, np.int64)
    while len(here) and (most is None or len(ways) <= most + 1):
        if len(ways) > least:
            numbers = _numbers(here, n_states)
            found = here[np.isin(numbers, wanted)]
            if len(found):
                return _way_back(found[:1], ways[:-1], after)
            seen = union(seen, distinct(numbers))
        here = after(here)
        here = here[~np.isin(_numbers(here, n_states), seen)]
        ways.append(here)
    return None


def _numbers(pairs: IntArray, n_states: int) -> IntArray:
    """Return a number for each pair of states, [n_pairs]."""
    found: IntArray = pairs[:, 0] * n_states + pairs[:, 1]
    return found


def _way_back(
    last: IntArray, levels: Sequence[IntArray], after: Callable[[IntArray], IntArray]
) -> list[Pair]:
    """Return a pair of each level [n, 2] that leads to one of the next, and so to the last one."""
    way = [last]
    for level in reversed(levels):
        here = level
        while len(here) > 1:
            half, others = np.array_split(here, 2)
            leads = (after(half) == way[-1]).all(axis=1).any()
            here = half if leads else others
        way.append(here)
    return [(int(s), int(t)) for ((s, t),) in reversed(way)]


def _in_chain(subject: Subject, failing: Sequence[Pair], nested: Nested) -> list[Pair] | None:
    """Return the nearest state of an explicit chain with a neighbor that fails, and that one."""
    chain, neighbors = subject.truths.chain, dict(failing)

    following, every = partial(_following_states, chain), subject.selected.tolist()
    for starts in (every,) if nested.start is None else ([nested.start], every):
        way = _nearest(subject, starts, following, neighbors.__contains__, nested.depths)
        if way is not None:
            return [(way[-1], neighbors[way[-1]])]
    return None


def _nearest(
    subject: Subject,
    starts: Iterable[Node],
    following: Callable[[Node], Iterable[Node]],
    is_wanted: Callable[[Node], bool],
    depths: Depths,
) -> list[Node] | None:
    """Return the nodes on a shortest way of an allowed length to one that is wanted, or None."""
    least, most = depths
    waiting: dict[Node, list[Node]] = {start: [start] for start in starts}
    seen: set[Node] = set()
    depth = 0
    while waiting and (most is None or depth <= most):
        subject.limits.check_time(f"{len(seen)} states reached")
        if depth >= least:
            for node in filter(is_wanted, waiting):
                return waiting[node]
            seen.update(waiting)
        later: dict[Node, list[Node]] = {}
        for node, way in waiting.items():
            for after in following(node):
                if after not in seen:
                    later.setdefault(after, [*way, after])
        waiting = later
        depth += 1
    return None


def _following_states(chain: Chain, state: int) -> list[int]:
    found: list[int] = chain.targets[chain.indptr[state] : chain.indptr[state + 1]].tolist()
    return found


def _nowhere(pairs: IntArray) -> IntArray:
    """Return the pairs that follow where nothing is asked of later states."""
    return pairs[:0]


def _least(subject: Subject, formula: f.Private) -> Phrase | None:
    """Return the least ε of a D with which the claim holds, in words; None where none is enough.

    The claim can only gain by the D, whose truth changes at the ratios of pairs, so the least of
    them is found by bisection.
    """
    claim, truths = subject.claim, subject.truths
    assert isinstance(claim, FormulaClaim), "others are explained elsewhere"
    ratios = _ratios(subject, formula)

    def holds(ratio: exact.Number) -> bool:
        epsilon = exact.log(ratio)
        assert isinstance(epsilon, exact.Budget), "other ratios were left out"
        wider = replace(formula, epsilon=epsilon)
        formula_then = trees.replaced(
            claim.formula, lambda node: wider if node is formula else None
        )
        return bool(truths.bounds_at(formula_then, subject.selected).surely.all())

    if not ratios or not holds(ratios[-1]):
        return None
    least = epsilon_amount(exact.log(ratios[bisect_left(ratios[:-1], True, key=holds)]))
    more = "" if formula.delta == 0 else f", {exact.exact_text(formula.delta)}"
    return Phrase.of("inner D{", Enough(least, "<="), f"{more}}}: then the claim holds")


def _ratios(subject: Subject, formula: f.Private) -> list[exact.Number]:
    """Return the finite e^ε above a D's own from which on it is true at some pair, rising."""
    truths = subject.truths
    found: dict[exact.Number, None] = {}
    for gap in gaps_of(truths, formula.path, truths.pairs):
        over = exact.subtract(gap.p, formula.delta)
        if gap.q != 0 and exact.compare(over, 0) > 0:
            found[exact.divide(over, gap.q)] = None
    larger = [
        ratio
        for ratio in found
        if isinstance(needed := exact.log(ratio), exact.Budget)
        and exact.compare_epsilon(needed, formula.epsilon) > 0
    ]
    return sorted(larger, key=exact.by_size)
