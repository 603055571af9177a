"""Why a state formula is false: the neighbors or the state that show it, as a counterexample."""

from __future__ import annotations

from typing import assert_never

from dpcheck.chain.chain import BoolArray, IntArray
from dpcheck.check.formulas.closest import closest_pair
from dpcheck.check.formulas.truths import BEYOND, Bounds, Truths
from dpcheck.check.values.amounts import between_amount, number_amount, ratio_amount
from dpcheck.check.values.comparisons import by_size, distance, holds, inequality, inequality_sides
from dpcheck.check.values.verdicts import OPPOSITE, Amount, Counterexample, Phrase, Run, Sides
from dpcheck.exact import Number, compare, divide, exact_text, excess, exp_text, subtract
from dpcheck.limits import LimitReached
from dpcheck.logic import formulas as f
from dpcheck.logic.formula_text import formula_text
from dpcheck.records import replace


def counterexample(formula: f.StateFormula, states: IntArray, truths: Truths) -> Counterexample:
    """Return why a formula is false at the given states [n], at all of which it is.

    Of a conjunction a false part is shown, of a disjunction the most telling part; of a D formula
    the pair of neighbors furthest beyond the budget, of a P formula the state furthest from the
    bound.
    """
    return _example(formula, states, truths, is_true=False)


def _example(
    formula: f.StateFormula, states: IntArray, truths: Truths, *, is_true: bool
) -> Counterexample:
    """Return why a formula is true, or false, at states [n]."""
    match formula:
        case f.Not(argument=argument):
            return _example(argument, states, truths, is_true=not is_true)
        case f.And(arguments=arguments) | f.Or(arguments=arguments):
            part, where = _telling_part(arguments, states, truths, is_true=is_true)
            return _example(part, where, truths, is_true=is_true)
        case f.ProbabilityIs():
            return _probability_example(formula, states, truths, is_true=is_true)
        case f.Private():
            return _pair_example(formula, states, truths, is_true=is_true)
        case f.Truth() | f.Atom():
            name = truths.chain.state_text(int(states[0]))
            text = formula_text(formula)
            requirement = Phrase.of(f"{'not ' if is_true else ''}{text}")
            return Counterexample((name,), Phrase.of(text), (), requirement)
        case _:
            assert_never(formula)


def _telling_part(
    arguments: tuple[f.StateFormula, ...], states: IntArray, truths: Truths, *, is_true: bool
) -> tuple[f.StateFormula, IntArray]:
    """Return an argument with the wanted truth at some of states [n], and those states.

    Formulas about pairs come first, then those about probabilities.
    """
    found = [
        (_rank(argument), k, argument, states[_surely(argument, states, truths, is_true=is_true)])
        for k, argument in enumerate(arguments)
    ]
    _, _, argument, where = min((each for each in found if len(each[3])), key=lambda each: each[:2])
    return argument, where


def _surely(
    formula: f.StateFormula, states: IntArray, truths: Truths, *, is_true: bool
) -> BoolArray:
    """Return where a formula surely is true, or false, among states [n]."""
    found = truths.bounds_at(formula, states)
    return found.surely if is_true else ~found.possibly


def false_parts(
    formula: f.StateFormula, states: IntArray, truths: Truths
) -> list[tuple[f.StateFormula, IntArray]]:
    """Return the parts of nested conjunctions that are false, the most telling first, and where.

    At the given states [n] the formula is false.
    """
    if not isinstance(formula, f.And):
        return [(formula, states)]
    where = [(each, states[truths.false_at(each, states)]) for each in formula.arguments]
    found = [
        part for each, those in where if len(those) for part in false_parts(each, those, truths)
    ]
    return sorted(found, key=lambda part: _rank(part[0]))


def _rank(formula: f.StateFormula) -> int:
    """Return how little a formula tells: 0 for pairs of neighbors, 1 for probabilities, 2 else."""
    kinds = {isinstance(part, f.Private) for part in f.outermost_numbers(formula)}
    return 2 if not kinds else int(True not in kinds)


def _pair_example(
    formula: f.Private, states: IntArray, truths: Truths, *, is_true: bool
) -> Counterexample:
    """Return the pair furthest beyond the budget of a D formula (or closest to it, if it holds)."""
    pairs = truths.pairs_at(states)
    text = formula_text(formula)
    if len(pairs) == 0:
        name = truths.chain.state_text(int(states[0]))
        requirement = Phrase.of(f"not {text}: no state has a neighbor")
        return Counterexample((name,), Phrase.of(text), (), requirement)
    shown = pairs if is_true else truths.violating(formula, pairs)
    worst, _ = closest_pair(formula, shown, truths)
    ends = shown[worst.pair]
    p, q = _shown(formula.path, ends, truths)
    first, second = ends.tolist()
    if compare(p[0], q[0]) < 0:
        first, second, p, q = second, first, q, p
    requirement, sides = _inequality(p, q, formula)
    least, most = (
        excess(subtract(above, formula.delta), below, formula.epsilon)
        for above, below in ((p[0], q[1]), (p[1], q[0]))
    )
    return Counterexample(
        states=(truths.chain.state_text(first), truths.chain.state_text(second)),
        event=Phrase.of(formula_text(formula.path)),
        probabilities=(between_amount(*p), between_amount(*q)),
        requirement=Phrase.of("not ", *requirement.parts) if is_true else requirement,
        sides=_opposite(sides) if is_true else sides,
        ratio=_ratio(p, q),
        excess=between_amount(least, most),
        runs=_runs(formula.path, (first, second), truths, is_satisfying=True),
    )


def _shown(path: f.PathFormula, states: IntArray, truths: Truths) -> list[Bounds]:
    """Return exact probabilities from states [n] of a counterexample, as bounds that are equal.

    The verdict is known by now: where exact numbers reach a limit, its certified bounds are shown.
    Raises `LimitReached` where a wider window may know them.
    """
    try:
        return [(p, p) for p in truths.probabilities(path, states)]
    except LimitReached as reached:
        if reached.limit == BEYOND and not truths.tells_bounds:
            raise
        return truths.bounds(path, states)


def _is_exact(bounds: Bounds) -> bool:
    return compare(*bounds) == 0


def _inequality(p: Bounds, q: Bounds, formula: f.Private) -> tuple[Phrase, Sides | None]:
    """Return p <= e^ε q + δ with the numbers filled in, and the values of its sides.

    Of numbers known by bounds it has the names, and then says where they lie.
    """
    if _is_exact(p) and _is_exact(q):
        known = (p[0], q[0], formula.epsilon, formula.delta)
        return inequality(*known), inequality_sides(*known)
    plus = "" if formula.delta == 0 else f" + {exact_text(formula.delta)}"
    where = (", where ", *_known("p", p), " and ", *_known("q", q))
    return Phrase.of(f"p <= {exp_text(formula.epsilon)} * q{plus}", *where), None


def _known(name: str, bounds: Bounds) -> tuple[str, Amount]:
    """Return `p = 3/4`, or `p in [0.74, 0.76]`."""
    return f"{name} = " if _is_exact(bounds) else f"{name} ", between_amount(*bounds)


def _ratio(p: Bounds, q: Bounds) -> Amount | None:
    """Return p/q: infinite over zero, None for 0/0 and where q may be either."""
    if _is_exact(p) and _is_exact(q):
        return ratio_amount(p[0], q[0])
    return None if q[0] == 0 else between_amount(divide(p[0], q[1]), divide(p[1], q[0]))


def _probability_example(
    formula: f.ProbabilityIs, states: IntArray, truths: Truths, *, is_true: bool
) -> Counterexample:
    """Return the one of states [n] whose probability is furthest from what a P formula asks."""
    lower = [low for low, _ in truths.bounds(formula.path, states)]
    wants_less = formula.relations[0][0] in ("<=", "<")
    far = [by_size(distance(p, _kept_not(p, formula)[1])) for p in lower]
    k = far.index(max(far))
    (p,), s = _shown(formula.path, states[k : k + 1], truths), int(states[k])
    requirement = _comparison(p, formula)
    sides = _compared(p[0], formula) if _is_exact(p) else None
    return Counterexample(
        states=(truths.chain.state_text(s),),
        event=Phrase.of(formula_text(formula.path)),
        probabilities=(between_amount(*p),),
        requirement=Phrase.of("not ", *requirement.parts) if is_true else requirement,
        sides=_opposite(sides) if is_true else sides,
        runs=_runs(formula.path, (s,), truths, is_satisfying=wants_less != is_true),
    )


def _comparison(p: Bounds, formula: f.ProbabilityIs) -> Phrase:
    """Return the comparison that a P formula makes of a probability."""
    name = between_amount(*p) if _is_exact(p) else "p"
    where = () if _is_exact(p) else (", where ", *_known("p", p))
    (comparison, bound), *others = formula.relations
    for _, high in others:
        return Phrase.of(number_amount(bound), " <= ", name, " <= ", number_amount(high), *where)
    return Phrase.of(name, f" {comparison} ", number_amount(bound), *where)


def _kept_not(p: Number, formula: f.ProbabilityIs) -> f.Relation:
    """Return the comparison that is false of a probability, the last one if all are true."""
    false = [each for each in formula.relations if not holds(each[0], compare(p, each[1]))]
    return (false or formula.relations[-1:])[0]


def _compared(p: Number, formula: f.ProbabilityIs) -> Sides:
    """Return the values that a P formula compares; of an interval the end that p is beyond."""
    comparison, bound = _kept_not(p, formula)
    return Sides(number_amount(p), comparison, number_amount(bound))


def _opposite(sides: Sides | None) -> Sides | None:
    """Return the comparison that is false where the given one is true."""
    return None if sides is None else replace(sides, comparison=OPPOSITE[sides.comparison])


def _runs(
    path: f.PathFormula, states: tuple[int, ...], truths: Truths, *, is_satisfying: bool
) -> tuple[Run, ...]:
    """Return the runs that carry most of the difference, or of one state's probability."""
    if not truths.is_known(path):
        return ()
    from dpcheck.check.formulas.heaviest_runs import heavy_runs

    found = heavy_runs(
        *(truths.chain, path, states),
        surely=truths.surely,
        possibly=truths.possibly,
        is_satisfying=is_satisfying,
    )
    return tuple(Run(shown, tuple(number_amount(p) for p in each)) for shown, each in found)
