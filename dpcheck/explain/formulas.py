"""Violated state formulas: D, P, their nesting, and the parts of a disjunction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key, reduce

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import IntArray
from dpcheck.check.decide import Asked, means
from dpcheck.check.formulas.counterexamples import false_parts
from dpcheck.check.values.amounts import (
    bare,
    epsilon_amount,
    growth_amount,
    number_amount,
    ratio_amount,
)
from dpcheck.check.values.comparisons import as_number, least_budget
from dpcheck.check.values.exp_factor import EventGap, ExpFactor
from dpcheck.check.values.verdicts import Amount, Counterexample, Enough, Phrase, PhrasePart
from dpcheck.explain.bounds import Outside, kept_by, outside, says_nothing
from dpcheck.explain.event_claims import inequality_of
from dpcheck.explain.explanation import Explanation, Others, Remark, Tight, TracedRun, as_found
from dpcheck.explain.inputs import InputCells, input_cells
from dpcheck.explain.nested import false_within, inner_of
from dpcheck.explain.pairs import Gap, gaps_of
from dpcheck.explain.quantities import carrying_outputs
from dpcheck.explain.runs.deciding_runs import deciding_runs
from dpcheck.explain.subject import Subject
from dpcheck.logic import claims
from dpcheck.logic import formulas as f
from dpcheck.logic.formula_text import formula_text
from dpcheck.records import replace

_NEGATED: dict[f.Comparison, f.Comparison] = {">=": "<", ">": "<=", "<=": ">", "<": ">="}


def explain_formula(subject: Subject, example: Counterexample) -> Explanation:
    """Return why a state formula is false at some selected state."""
    claim = subject.claim
    assert isinstance(claim, claims.FormulaClaim), "others are explained elsewhere"
    if subject.truths.tells_bounds:
        return _within_bounds(subject, _positive(claim.formula), example)
    selected = subject.selected
    failing = selected[subject.truths.false_at(claim.formula, selected)]
    (formula, failing), *more = false_parts(_positive(claim.formula), failing, subject.truths)
    match formula:
        case f.Private():
            made = _private(subject, formula, failing)
        case f.ProbabilityIs():
            made = _probability(subject, formula, selected)
        case f.Or():
            made = _disjunction(subject, formula, failing)
        case f.Not(argument=f.Private() as private):
            made = _negated(subject, private, failing, example)
        case _:
            return as_found(example)
    if more and made.tight is not None:
        parts = [formula, *(part for part, _ in more)]
        enough = subject.part("tight", lambda: _all_of(subject, parts))
        made = replace(made, tight=None if enough is None else Tight(enough))
    return made


def _positive(formula: f.StateFormula, *, is_true: bool = True) -> f.StateFormula:
    """Return a formula, or what is so where it is false, with `!` before atoms, D and P= only."""
    match formula:
        case f.Not(argument=argument):
            return _positive(argument, is_true=not is_true)
        case f.And(arguments=arguments) | f.Or(arguments=arguments):
            made = f.And if isinstance(formula, f.And) == is_true else f.Or
            parts = (_positive(each, is_true=is_true) for each in arguments)
            return made(tuple(parts), formula.span)
        case f.ProbabilityIs(relations=((comparison, bound),)) if not is_true and comparison != "=":
            return replace(formula, relations=((_NEGATED[comparison], bound),))
        case _:
            return formula if is_true else f.Not(formula, formula.span)


def _all_of(subject: Subject, formulas: Sequence[f.StateFormula]) -> Phrase:
    """Return weaker formulas in place of those that are false, as far as there are any."""
    parts: list[PhrasePart] = ["all of these: "]
    for k, each in enumerate(formulas):
        weaker = _weaker(subject, each, subject.selected)
        parts += ["; " * (k > 0), *(weaker or [f"{formula_text(each)} is false, too"])]
    return Phrase.of(*parts)


# --- bounds --------------------------------------------------------------------------------


def _within_bounds(
    subject: Subject, formula: f.StateFormula, example: Counterexample
) -> Explanation:
    """Return why a formula is false that is known within bounds: what bounds it, and what is sure.

    What the counterexample says stands beside it.
    """
    selected = subject.selected
    failing = selected[subject.truths.false_at(formula, selected)]
    (part, failing), *more = false_parts(formula, failing, subject.truths)
    made = as_found(example)
    if not isinstance(part, f.ProbabilityIs | f.Private):
        return made
    unknown = [
        each
        for each in f.outermost_numbers(part.path)
        if not subject.truths.bounds_everywhere(each).are_known
    ]
    if not unknown:
        return made
    why = "depends on how far beyond the window numbers without bounds are"
    known = Remark("known", Phrase.of(f"within bounds: {formula_text(unknown[0])} {why}"))
    made = replace(made, remarks=(*made.remarks, known))
    tight: Tight | None
    if isinstance(part, f.Private):
        tight = subject.part("tight", lambda: _sure_budget(subject, part))
    else:
        tight = subject.part("tight", lambda: _sure_bound(subject, part))
        made = _inner_within(subject, part, example, made)
    return made if more else replace(made, tight=tight)


def _inner_within(
    subject: Subject, formula: f.ProbabilityIs, example: Counterexample, made: Explanation
) -> Explanation:
    """Return an explanation with a D or P inside of a path that surely fails."""
    name, path = subject.chain.state_text, formula.path
    start = next(s for s in subject.selected.tolist() if name(s) == example.states[0])
    inner, _ = subject.part("inner", lambda: inner_of(subject, path, start)) or (None, None)
    within = None
    if formula.relations[0][0] in (">=", ">", "="):
        within = subject.part("inner", lambda: false_within(subject, path, start))
    remarks = made.remarks if within is None else (*made.remarks, within)
    return replace(made, remarks=remarks, inner=inner)


def _sure_bound(subject: Subject, formula: f.ProbabilityIs) -> Tight | None:
    """Return the bounds of a P that all inputs surely keep, None where every probability does."""
    ends = [end for pair in subject.truths.bounds(formula.path, subject.selected) for end in pair]
    kept = kept_by("P", formula.relations, ends)
    return None if says_nothing(kept) else Tight(Phrase.of("sure to hold as P", *kept))


def _sure_budget(subject: Subject, formula: f.Private) -> Tight:
    """Return budgets of a D that all pairs surely keep: the most of one side, the least of another.

    Smaller ones may do.
    """
    truths = subject.truths
    pairs = truths.pairs_at(subject.selected)
    left, right = (truths.bounds(formula.path, pairs[:, k]) for k in (0, 1))
    both = list(zip(left, right, strict=True))
    most = [Gap(0, 0, p[1], q[0]) for one in both for p, q in (one, one[::-1])]
    return Tight(_tight(formula, most).text)


# --- D -------------------------------------------------------------------------------------


def _private(subject: Subject, formula: f.Private, failing: IntArray) -> Explanation:
    """Return the smallest pair that violates a formula D; failing [n_failing] are its states."""
    truths, cells = subject.truths, input_cells(subject.explored)
    pairs = truths.pairs_at(failing)
    gaps = gaps_of(truths, formula.path, truths.violating(formula, pairs))
    shown = _smallest(gaps, cells, formula)
    tight = subject.part("tight", lambda: _tight(formula, gaps))
    inner, _ = subject.part("inner", lambda: inner_of(subject, formula.path)) or (None, None)
    n_pairs = len(truths.pairs_at(subject.selected))
    pair = shown.left, shown.right
    runs, run = deciding_runs(subject, formula.path, pair, "event", epsilon=formula.epsilon)
    return Explanation(
        neighbors=cells.neighbors(*pair),
        event=Phrase.of(formula_text(formula.path)),
        inequality=inequality_of(shown.p, shown.q, formula.epsilon, formula.delta),
        runs=runs,
        run=run,
        inner=inner,
        tight=tight,
        others=Others(len(gaps), n_pairs, True, is_window=subject.is_window)
        if n_pairs > 1
        else None,
    )


def _smallest(gaps: Sequence[Gap], cells: InputCells, formula: f.Private) -> Gap:
    """Return the gap of the pair that changes least, then of the largest excess."""
    ends = np.array([(gap.left, gap.right) for gap in gaps], np.int64)
    known = cells.places[ends].min(axis=1) >= 0 if cells.values else np.ones(len(gaps), np.bool_)
    chosen = np.flatnonzero(known) if known.any() else np.arange(len(gaps))
    if known.any():
        count, size, _ = cells.distances(ends[chosen])
        least = np.lexsort((size, count))[0]
        chosen = chosen[(count == count[least]) & (size == size[least])]
    return _worst([gaps[k] for k in chosen.tolist()], formula)


def _tight(formula: f.Private, gaps: Sequence[Gap]) -> Tight:
    """Return D with the least ε at its δ, and with the least δ at its ε, for pairs that violate."""
    worst = _worst(gaps, formula)
    epsilon = epsilon_amount(least_budget(_chances(gaps), formula.delta))
    delta = number_amount(exact.excess(worst.p, worst.q, formula.epsilon))
    own = exact.exact_text(formula.epsilon)
    first = () if epsilon.exact == "inf" else (*_with_epsilon(formula, epsilon), " or ")
    more = f"D{{{own}, ", Enough(delta, "<=", is_chance=True), "} would do"
    return Tight(Phrase.of(*first, *more), epsilon, delta)


def _with_epsilon(formula: f.Private, epsilon: Amount) -> list[PhrasePart]:
    """Return D with another ε and its own δ."""
    slack = "" if formula.delta == 0 else f", {exact.exact_text(formula.delta)}"
    return ["D{", Enough(epsilon, "<="), f"{slack}}}"]


def _worst(gaps: Sequence[Gap], formula: f.Private) -> Gap:
    """Return the gap with the largest excess over the budget of a formula D."""
    factor = ExpFactor.of(formula.epsilon)
    events = [EventGap(gap.p, gap.q, k, True) for k, gap in enumerate(gaps)]
    return gaps[reduce(lambda a, b: b if b.exceeds(a, factor) else a, events).pair]


def _chances(gaps: Sequence[Gap]) -> list[tuple[exact.Number, exact.Number]]:
    return [(gap.p, gap.q) for gap in gaps]


def _negated(
    subject: Subject, formula: f.Private, failing: IntArray, example: Counterexample
) -> Explanation:
    """Return why a formula D holds that should not, at the states failing [n_failing]."""
    if len(example.states) != 2 or len(example.probabilities) != 2:
        return as_found(example)
    amount = _least_true(subject, formula, failing)
    assert amount is not None, "where the ratio is infinite, D is false"
    text = Phrase.of("D is false for every epsilon below ", Enough(amount, ">="))
    if amount.exact == "0":
        text = Phrase.of("D is true for every epsilon")
    return replace(as_found(example), tight=Tight(text, amount))


def _least_true(subject: Subject, formula: f.Private, states: IntArray) -> Amount | None:
    """Return the least ε with which a formula D is true at one of states [n], None without any."""
    truths = subject.truths
    least = [
        least_budget(
            _chances(gaps_of(truths, formula.path, truths.pairs_at(np.array(each)))), formula.delta
        )
        for each in dict.fromkeys(truths.initial_alike(state) for state in states.tolist())
    ]
    found = [epsilon for epsilon in least if epsilon is not None]
    return epsilon_amount(min(found, key=cmp_to_key(exact.compare_epsilon))) if found else None


# --- P and E -------------------------------------------------------------------------------


def _probability(subject: Subject, formula: f.ProbabilityIs, selected: IntArray) -> Explanation:
    """Return the inputs that fail a formula P, what runs are meant, and the bound that holds.

    selected [n_selected] are the states that the claim is about.
    """
    chances = subject.truths.probabilities(formula.path, selected)
    found = _outside(subject, "P", formula.relations, chances)
    runs, run = deciding_runs(subject, formula.path, (found.state,), found.side)
    start, path, within = found.state, formula.path, None
    inner, least = subject.part("inner", lambda: inner_of(subject, path, start)) or (None, None)
    if found.side == "outside":
        within = subject.part("inner", lambda: false_within(subject, path, start))
    is_equal = formula.relations[0][0] == "="
    tight = None if within is not None and is_equal else found.tight  # the inner P is to blame
    return Explanation(
        remarks=found.remarks if within is None else (*found.remarks, within),
        runs=runs,
        run=run,
        inner=inner,
        tight=tight if least is None else Tight(least),
    )


def explain_expectation(subject: Subject, claim: claims.ExpectationClaim) -> Explanation:
    """Return the inputs that fail a claim E, and the bound that holds."""
    values = means(claim.quantity, Asked(subject.selected, subject.truths, subject.measures))
    found = _outside(subject, "E", claim.relations, values)
    end = subject.measures.at_ends[claim.quantity.key]
    carried = subject.part("run", lambda: carrying_outputs(subject, end, found))
    made = carried or Explanation()
    return replace(made, remarks=(*found.remarks, *made.remarks), tight=found.tight)


def explain_compared(subject: Subject, claim: claims.QuantityClaim) -> Explanation | None:
    """Return why `P=?` or `E=?` is not as claimed, like a P or E with that bound."""
    bound = None if claim.bound is None else as_number(claim.bound)
    if bound is None or claim.comparison == "!=":
        return None
    relations: tuple[f.Relation, ...] = ((claim.comparison, bound),)
    match claim.quantity:
        case claims.PathProbability(path=path):
            formula = f.ProbabilityIs(relations, path, claim.span)
            return _probability(subject, formula, subject.selected)
        case claims.Expectation() as mean:
            return explain_expectation(
                subject, claims.ExpectationClaim(mean, relations, claim.span)
            )
        case _:
            return None


def _outside(
    subject: Subject, word: str, relations: Sequence[f.Relation], values: Sequence[exact.Extended]
) -> Outside:
    """Return which of the selected states are outside of bounds, by the values that they have."""
    known = dict(zip(subject.selected.tolist(), values, strict=True))
    return outside(word, relations, known, subject.chain.state_text, is_all=not subject.is_window)


# --- disjunctions --------------------------------------------------------------------------


def _disjunction(subject: Subject, formula: f.Or, failing: IntArray) -> Explanation:
    """Return each part with its own evidence, at an input where all are false.

    failing [n_failing] are those inputs.
    """
    state = int(failing[0])
    n_parts = len(formula.arguments)
    all_parts = "both parts" if n_parts == 2 else f"all {n_parts} parts"
    at_state = f"{subject.chain.state_text(state)}: {all_parts} are false"
    remarks = [Remark("from", Phrase.of(at_state))]
    wider: list[list[PhrasePart]] = []
    first: dict[object, int] = {}
    for k, part in enumerate(formula.arguments, 1):
        why = _why_false(subject, part, state)
        alike = first.setdefault(_factors(why.run), k)
        if why.run is not None and alike < k:
            why = replace(why, run=None, like=f"part {alike}")
        remarks.append(replace(why, label=f"part {k}"))
        where = subject.selected
        for other in formula.arguments:
            where = where if other is part else where[~subject.truths.at(other, where)]
        weaker = _weaker(subject, part, where)
        wider += [weaker] if weaker else []
    lead = "one of these would do: " if len(wider) > 1 else "this would do: "
    texts = [each for k, weaker in enumerate(wider) for each in ("; " * (k > 0), *weaker)]
    tight = Tight(Phrase.of(lead, *texts)) if wider else None
    return Explanation(remarks=tuple(remarks), tight=tight)


def _factors(run: TracedRun | None) -> object:
    """Return the lines of a run and what they contribute."""
    steps = () if run is None else run.steps
    return tuple((step.line, step.kind, step.times, step.factor or step.left) for step in steps)


def _why_false(subject: Subject, part: f.StateFormula, state: int) -> Remark:
    """Return why a part is false at a state, or for other queries at it that were fixed."""
    truths, text, name = subject.truths, formula_text(part), subject.chain.state_text
    alike = np.array(truths.initial_alike(state), np.int64)
    states = alike[~truths.at(part, alike)][:1]
    run: TracedRun | None = None
    match part:
        case f.ProbabilityIs():
            (p_here,) = truths.probabilities(part.path, states)
            (own,) = states.tolist()
            found = outside("P", part.relations, {own: p_here}, name)
            _, run = deciding_runs(subject, part.path, (own,), found.side)
            from_here = f" from {name(own)}" if own != state else ""
            told: list[PhrasePart] = [number_amount(p_here), from_here]
        case f.Private():
            gap = gaps_of(truths, part.path, truths.violating(part, truths.pairs_at(states)))[0]
            ends = gap.left, gap.right
            _, run = deciding_runs(subject, part.path, ends, "event", epsilon=part.epsilon)
            told = _against(subject, gap, part)
        case f.Not(argument=f.Private() as private) if len(pairs := truths.pairs_at(states)):
            worst = _worst(gaps_of(truths, private.path, pairs), private)
            told = [*_against(subject, worst, private), ", so D is true"]
        case _:
            return Remark("", Phrase.of(f"{text} is false"))
    return Remark("", Phrase.of(f"{text}: ", *told), run)


def _against(subject: Subject, gap: Gap, formula: f.Private) -> list[PhrasePart]:
    """Return both probabilities of a pair, from where they are, and what D allows."""
    left, right = map(subject.chain.state_text, (gap.left, gap.right))
    parts: list[PhrasePart] = [bare(gap.p), f" from {left} against ", bare(gap.q), f" from {right}"]
    ratio = ratio_amount(gap.p, gap.q)
    parts += [] if ratio is None else [", ratio ", ratio]
    parts += [", allowed ", growth_amount(formula.epsilon)]
    if formula.delta != 0:
        parts += [" and delta ", number_amount(formula.delta)]
    return parts


def _weaker(subject: Subject, part: f.StateFormula, states: IntArray) -> list[PhrasePart]:
    """Return a formula like a part that is true at states [n]; empty where there is none."""
    truths, text = subject.truths, formula_text(part)
    match part:
        case f.ProbabilityIs():
            kept = kept_by("P", part.relations, truths.probabilities(part.path, states))
            return [] if says_nothing(kept) else ["P", *kept, text[text.index(" [ ") :]]
        case f.Private():
            gaps = gaps_of(truths, part.path, truths.pairs_at(states))
            epsilon = least_budget(_chances(gaps), part.delta)
            if epsilon is None:
                return []
            return [*_with_epsilon(part, epsilon_amount(epsilon)), text[text.index(" [ ") :]]
        case f.Not(argument=f.Private() as private):
            smallest = _least_true(subject, private, states)
            if smallest is None or smallest.exact == "0":
                return []
            text = formula_text(private.path)
            return [f"!D [ {text} ] for every epsilon below ", Enough(smallest, ">=")]
        case _:
            return []
