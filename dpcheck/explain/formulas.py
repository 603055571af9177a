"""Violated state formulas: D, P, their nesting, and the parts of a disjunction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.check.formulas.heaviest_runs import heavy_runs
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.amounts import (
    bare,
    epsilon_amount,
    growth_amount,
    number_amount,
    ratio_amount,
)
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import Amount, Counterexample, OutputSequence, Phrase
from dpcheck.exact import (
    Budget,
    Epsilon,
    Number,
    compare,
    compare_epsilon,
    divide,
    exact_text,
    excess,
    log,
    subtract,
)
from dpcheck.explain.event_claims import inequality_of, known_inequality, known_runs
from dpcheck.explain.explanation import (
    Explanation,
    Inequality,
    Neighbors,
    Others,
    Remark,
    Tight,
    WeightedRun,
)
from dpcheck.explain.inputs import InputCells, input_cells
from dpcheck.explain.nested import inner_of
from dpcheck.explain.subject import Subject
from dpcheck.logic.claims import Claim, FormulaClaim
from dpcheck.logic.formula_text import formula_text
from dpcheck.logic.formulas import (
    And,
    Not,
    Or,
    PathFormula,
    Private,
    ProbabilityIn,
    ProbabilityIs,
    StateFormula,
)
from dpcheck.records import dataclass, replace

_INPUTS_NAMED = 4


def explain_formula(subject: Subject, example: Counterexample, *, is_short: bool) -> Explanation:
    """Return why a state formula is false at some selected state."""
    claim = subject.claim
    assert isinstance(claim, FormulaClaim), "others are explained elsewhere"
    selected = subject.selected
    failing = selected[~subject.truths.at(claim.formula, selected)]
    formula, more = _false_part(claim.formula, failing, subject.truths)
    match formula:
        case Private():
            made = _private(subject, formula, failing)
        case ProbabilityIs() | ProbabilityIn():
            made = _probability(subject, formula, selected, failing)
        case Or() if all(isinstance(each, Private | ProbabilityIs) for each in formula.arguments):
            made = _disjunction(subject, formula, failing)
        case Not(argument=Private() as private):
            made = _negated(subject, private, failing, example)
        case _:
            return as_found(claim, example)
    if more and made.tight is not None:
        text = Phrase.of("all of these: ", *made.tight.text.parts, *more)
        made = replace(made, tight=replace(made.tight, text=text))
    if is_short:
        made = replace(made, runs=(), others=None, inner=None)
    return made


def _false_part(
    formula: StateFormula, failing: IntArray, truths: Truths
) -> tuple[StateFormula, tuple[str, ...]]:
    """Return the part of a conjunction to explain, and what its other false parts are.

    failing [n_failing] are the states where the formula is false.
    """
    if not isinstance(formula, And):
        return formula, ()
    false = [each for each in formula.arguments if not truths.at(each, failing).all()]
    order = sorted(false, key=lambda each: not isinstance(each, Private))
    first, more = _false_part(order[0], failing[~truths.at(order[0], failing)], truths)
    return first, (*(f"; {formula_text(each)} is false, too" for each in order[1:]), *more)


def as_found(claim: Claim, example: Counterexample) -> Explanation:
    """Return what the counterexample to a claim says, and no more."""
    if len(example.states) == len(example.probabilities) == 2:
        return Explanation(
            neighbors=Neighbors(*example.states),
            event=example.event,
            inequality=known_inequality(claim, example),
            runs=known_runs(example),
        )
    chances = [*example.probabilities, *[None] * len(example.states)]
    remarks = [
        Remark("from", Phrase.of(state) if chance is None else Phrase.of(f"{state}: ", chance))
        for state, chance in zip(example.states, chances, strict=False)
    ]
    remarks.append(Remark("fails", example.requirement))
    return Explanation(event=example.event, remarks=tuple(remarks))


# --- D -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gap:
    """The probabilities of a path formula at a pair of neighbors, the larger one first."""

    left: int
    right: int
    p: Number
    q: Number


def _gaps(truths: Truths, path: PathFormula, pairs: IntArray) -> list[Gap]:
    """Return the gap of each pair, pairs [n_pairs, 2]."""
    chances = [truths.probabilities(path, pairs[:, k]) for k in (0, 1)]
    return [
        Gap(s, t, p, q) if compare(p, q) >= 0 else Gap(t, s, q, p)
        for (s, t), p, q in zip(pairs.tolist(), *chances, strict=True)
    ]


def _private(subject: Subject, formula: Private, failing: IntArray) -> Explanation:
    """Return the smallest pair that violates a formula D; failing [n_failing] are its states."""
    truths, cells = subject.truths, input_cells(subject.explored)
    pairs = truths.pairs_at(failing)
    gaps = _gaps(truths, formula.path, truths.violating(formula, pairs))
    shown = _smallest(gaps, cells, formula)
    made = Explanation(
        neighbors=cells.neighbors(shown.left, shown.right),
        event=Phrase.of(formula_text(formula.path)),
        inequality=inequality_of(shown.p, shown.q, formula.epsilon, formula.delta),
        tight=subject.part("tight", lambda: _tight(formula, gaps)),
    )
    inner = subject.part("inner", lambda: inner_of(subject, formula.path))
    n_pairs = len(truths.pairs_at(subject.selected))
    return replace(
        made,
        inner=None if inner is None else inner.shown,
        runs=_pair_runs(subject, formula.path, shown),
        others=Others(len(gaps), n_pairs, True) if n_pairs > 1 else None,
    )


def _smallest(gaps: Sequence[Gap], cells: InputCells, formula: Private) -> Gap:
    """Return the gap of the pair that changes least, then of the largest excess."""
    ends = np.array([(gap.left, gap.right) for gap in gaps], np.int64)
    known = cells.places[ends].min(axis=1) >= 0 if cells.values else np.ones(len(gaps), np.bool_)
    chosen = np.flatnonzero(known) if known.any() else np.arange(len(gaps))
    if known.any():
        count, size, _ = cells.distances(ends[chosen])
        least = np.lexsort((size, count))[0]
        chosen = chosen[(count == count[least]) & (size == size[least])]
    factor, best = ExpFactor.of(formula.epsilon), gaps[int(chosen[0])]
    for k in chosen.tolist():
        if _event(gaps[k]).exceeds(_event(best), factor):
            best = gaps[k]
    return best


def _event(gap: Gap) -> EventGap:
    return EventGap(gap.p, gap.q, 0, True)


def _tight(formula: Private, gaps: Sequence[Gap]) -> Tight:
    """Return the least ε at the formula's δ, and the least δ at its ε, for pairs that violate."""
    factor, worst = ExpFactor.of(formula.epsilon), gaps[0]
    for gap in gaps:
        if _event(gap).exceeds(_event(worst), factor):
            worst = gap
    epsilon = epsilon_amount(least_budget(gaps, formula.delta))
    delta = number_amount(excess(worst.p, worst.q, formula.epsilon))
    first = () if epsilon.exact == "inf" else ("epsilon = ", epsilon, " or ")
    text = Phrase.of(*first, "delta = ", delta, " would do")
    return Tight(text, epsilon, delta)


def least_budget(gaps: Sequence[Gap], delta: Number) -> Epsilon | None:
    """Return the least ε >= 0 with p <= e^ε q + δ for all gaps; None where there is none."""
    best: Epsilon = Budget.of(0)
    for gap in gaps:
        over = subtract(gap.p, delta)
        if compare(over, 0) <= 0:
            continue
        if gap.q == 0:
            return None
        needed = log(divide(over, gap.q))
        if compare_epsilon(needed, best) > 0:
            best = needed
    return best


def _pair_runs(subject: Subject, path: PathFormula, gap: Gap) -> tuple[WeightedRun, ...]:
    """Return the runs that carry most of the difference of a pair, with both probabilities."""
    ends = gap.left, gap.right
    found = subject.part("run", lambda: _heavy_runs(subject, path, ends, is_satisfying=True))
    return tuple(
        WeightedRun(shown, number_amount(chances[0]), True, number_amount(chances[1]))
        for shown, chances in found or ()
    )


def _heavy_runs(
    subject: Subject, path: PathFormula, states: tuple[int, ...], *, is_satisfying: bool
) -> list[tuple[OutputSequence, tuple[Number, ...]]]:
    truths = subject.truths
    return heavy_runs(
        truths.chain, path, states, satisfying=truths.everywhere, is_satisfying=is_satisfying
    )


def _negated(
    subject: Subject, formula: Private, failing: IntArray, example: Counterexample
) -> Explanation:
    """Return why a formula D holds that should not, at the states failing [n_failing]."""
    truths = subject.truths
    if len(example.states) != 2 or len(example.probabilities) != 2:
        return as_found(subject.claim, example)
    least = [
        least_budget(_gaps(truths, formula.path, truths.pairs_at(each)), formula.delta)
        for each in failing[:, None]
    ]
    found = [epsilon for epsilon in least if epsilon is not None]
    assert len(found) == len(least), "where the ratio is infinite, D is false"
    smallest = found[0]
    for epsilon in found[1:]:
        smallest = epsilon if compare_epsilon(epsilon, smallest) < 0 else smallest
    (left, right), (p, q) = example.states, example.probabilities
    amount = epsilon_amount(smallest)
    text = Phrase.of("D is false for every epsilon below ", amount)
    if amount.exact == "0":
        text = Phrase.of("D is true for every epsilon")
    return Explanation(
        neighbors=Neighbors(left, right),
        event=example.event,
        inequality=Inequality(p, q, example.ratio, None, None, example.requirement, example.sides),
        tight=Tight(text, amount),
    )


# --- P -------------------------------------------------------------------------------------


def _probability(
    subject: Subject,
    formula: ProbabilityIs | ProbabilityIn,
    selected: IntArray,
    failing: IntArray,
) -> Explanation:
    """Return the inputs that fail a formula P, what runs are meant, and the bound that holds.

    selected [n_selected] are the states that the claim is about, failing [n_failing] of them fail.
    """
    truths, name = subject.truths, subject.chain.state_text
    known = dict(zip(selected.tolist(), truths.probabilities(formula.path, selected), strict=True))
    bad = failing.tolist()
    wants_more = _wants_more(formula, known[bad[0]])
    worst = bad[0]
    for state in bad:
        if compare(known[state], known[worst]) * (-1 if wants_more else 1) > 0:
            worst = state
    wanted = _wanted(formula, known[worst])
    remarks = [Remark("from", Phrase.of(f"{name(worst)}: ", number_amount(known[worst]), *wanted))]
    if len(known) > 1:
        remarks.append(Remark("inputs", _inputs(subject, known, bad)))
    runs = [
        *_weighted(subject, formula.path, worst, is_inside=True),
        *_weighted(subject, formula.path, worst, is_inside=False)[: int(wants_more)],
    ]
    inner = subject.part("inner", lambda: inner_of(subject, formula.path))
    tight = Tight(_bound(formula, list(known.values())))
    if inner is not None and inner.least is not None:
        tight = Tight(inner.least)
    return Explanation(
        remarks=tuple(remarks),
        runs=tuple(runs),
        inner=None if inner is None else inner.shown,
        tight=tight,
    )


def _weighted(
    subject: Subject, path: PathFormula, state: int, *, is_inside: bool
) -> list[WeightedRun]:
    """Return the heaviest runs from a state that satisfy a path formula, or do not."""
    found = subject.part(
        "run", lambda: _heavy_runs(subject, path, (state,), is_satisfying=is_inside)
    )
    return [
        WeightedRun(shown, number_amount(chances[0]), is_inside) for shown, chances in found or ()
    ]


def _wants_more(formula: ProbabilityIs | ProbabilityIn, p: Number) -> bool:
    """Return whether a larger probability is wanted."""
    match formula:
        case ProbabilityIs(comparison=">=" | ">"):
            return True
        case ProbabilityIs(comparison="="):
            return compare(p, formula.bound) < 0
        case ProbabilityIs():
            return False
        case ProbabilityIn(low=low):
            return compare(p, low) < 0


_WORDS = {
    ">=": ", wanted at least ", ">": ", wanted more than ", "<=": ", wanted at most ",
    "<": ", wanted less than ", "=": ", wanted exactly ",
}  # fmt: skip


def _wanted(formula: ProbabilityIs | ProbabilityIn, p: Number) -> tuple[str | Amount, ...]:
    match formula:
        case ProbabilityIs(comparison=comparison, bound=bound):
            return _WORDS[comparison], number_amount(bound)
        case ProbabilityIn(low=low, high=high):
            is_low = compare(p, low) < 0
            return _WORDS[">=" if is_low else "<="], number_amount(low if is_low else high)


def _inputs(subject: Subject, known: dict[int, Number], bad: list[int]) -> Phrase:
    """Return how many inputs fail and which probabilities some of them, and some others, have."""
    name, lost = subject.chain.state_text, set(bad)
    parts: list[str | Amount] = [f"{len(bad)} of {len(known)} fail: "]
    for k, state in enumerate(bad[:_INPUTS_NAMED]):
        parts += [", " * (k > 0) + f"{name(state)} (", bare(known[state]), ")"]
    if len(bad) > _INPUTS_NAMED:
        parts.append(" and others")
    good = [state for state in known if state not in lost]
    for k, state in enumerate(good[: _INPUTS_NAMED - 1]):
        parts += [("; " if k == 0 else ", ") + f"{name(state)} has ", bare(known[state])]
    return Phrase.of(*parts)


def _bound(formula: ProbabilityIs | ProbabilityIn, values: Sequence[Number]) -> Phrase:
    """Return the bound up to which a formula P holds at all inputs."""
    least, most = _extremes(values)
    match formula:
        case ProbabilityIs(comparison=">=" | ">"):
            return Phrase.of("holds up to P>=", bare(least))
        case ProbabilityIs(comparison="<=" | "<"):
            return Phrase.of("holds from P<=", bare(most), " on")
        case _:
            return Phrase.of("holds as P in [", bare(least), ", ", bare(most), "]")


def _extremes(values: Sequence[Number]) -> tuple[Number, Number]:
    least, most = values[0], values[0]
    for value in values[1:]:
        least = value if compare(value, least) < 0 else least
        most = value if compare(value, most) > 0 else most
    return least, most


# --- disjunctions --------------------------------------------------------------------------


def _disjunction(subject: Subject, formula: Or, failing: IntArray) -> Explanation:
    """Return each part with its own evidence, at an input where all are false.

    failing [n_failing] are those inputs.
    """
    state = int(failing[0])
    at_state = f"{subject.chain.state_text(state)}: all {len(formula.arguments)} parts are false"
    remarks = [Remark("from", Phrase.of(at_state))]
    wider: list[Phrase] = []
    for k, part in enumerate(formula.arguments, 1):
        text, enough = _part(subject, part, state)
        remarks.append(Remark(f"part {k}", text))
        wider += [enough] if enough.parts else []
    parts = [piece for k, each in enumerate(wider) for piece in ("; " * (k > 0), *each.parts)]
    tight = Tight(Phrase.of("one of these would do: ", *parts)) if wider else None
    return Explanation(remarks=tuple(remarks), tight=tight)


def _part(subject: Subject, part: StateFormula, state: int) -> tuple[Phrase, Phrase]:
    """Return why a part is false at a state, and a weaker one that is true where it is asked.

    There is no weaker one, but nothing, where no ε is enough.
    """
    truths, text, name = subject.truths, formula_text(part), subject.chain.state_text
    states = np.array([state], np.int64)
    match part:
        case Private():
            gaps = _gaps(truths, part.path, truths.violating(part, truths.pairs_at(states)))
            gap = gaps[0]
            p, q = number_amount(gap.p), number_amount(gap.q)
            from_left = f" from {name(gap.left)}" if gap.left != state else ""
            from_right = f" from {name(gap.right)}" if gap.right != state else ""
            ratio = ratio_amount(_event(gap))
            parts: list[str | Amount] = [f"{text}: ", p, f"{from_left} against ", q, from_right]
            if ratio is not None and ratio.exact != "inf":
                parts += [", ratio ", ratio]
            parts += [", allowed ", growth_amount(part.epsilon)]
            parts += [" and ", number_amount(part.delta), " more"] if part.delta != 0 else []
            pairs = truths.pairs_at(subject.selected)
            least = least_budget(_gaps(truths, part.path, pairs), part.delta)
            path = text[text.index("} ") :]
            if least is None:
                return Phrase.of(*parts), Phrase.of()
            more = "" if part.delta == 0 else f", {exact_text(part.delta)}"
            return Phrase.of(*parts), Phrase.of(f"D{{{exact_text(least)}{more}{path}")
        case ProbabilityIs():
            (p_here,) = truths.probabilities(part.path, states)
            values = truths.probabilities(part.path, subject.selected)
            lowest, most = _extremes(values)
            weaker = f"P>={exact_text(lowest)}" if part.comparison in (">=", ">") else None
            weaker = weaker or f"P<={exact_text(most)}"
            said = Phrase.of(f"{text}: ", number_amount(p_here))
            return said, Phrase.of(weaker + text[text.index(" [") :])
        case _:
            raise AssertionError("other parts are explained by the counterexample")
