"""What bounds of probabilities tell of formulas that they leave undecided."""

from __future__ import annotations

from dpcheck.chain.chain import IntArray
from dpcheck.check.formulas.truths import Bounds, Truths
from dpcheck.check.values.amounts import between_amount, epsilon_amount
from dpcheck.check.values.comparisons import least_budget
from dpcheck.check.values.verdicts import Amount, Phrase
from dpcheck.exact import Epsilon, Number, by_size
from dpcheck.logic import formulas as f
from dpcheck.logic.formula_text import formula_text


def told_bounds(
    formula: f.StateFormula, selected: IntArray, truths: Truths, added: str = ""
) -> Phrase:
    """Return what is known of the parts of a formula at states [n_selected], and words after it."""
    parts: list[str | Amount] = []
    told: list[str | Amount]
    for each in formula.arguments if isinstance(formula, f.And) else (formula,):
        match each:
            case f.ProbabilityIs(path=path):
                bounds = truths.bounds(path, selected)
                known = hull(bounds)
                told = [f"P=? [ {formula_text(path)} ] is ", between_amount(*known)]
            case f.Private(path=path, delta=delta):
                epsilon = _sufficient(truths, path, selected, delta)
                told = ["D holds for epsilon from ", epsilon_amount(epsilon), " on"]
                told = told if epsilon is not None else ["no epsilon is known to be enough for D"]
            case _:
                continue
        parts += ["; " * bool(parts), *told]
    return Phrase.of(*parts, added * bool(parts))


def hull(bounds: list[Bounds]) -> Bounds:
    """Return the least and the greatest of bounds."""
    lows, highs = zip(*bounds, strict=True)
    return min(lows, key=by_size), max(highs, key=by_size)


def _sufficient(
    truths: Truths, path: f.PathFormula, selected: IntArray, delta: Number
) -> Epsilon | None:
    """Return the least ε >= 0 with max p <= e^ε min q + δ for all neighbors; None without any.

    The claim is about selected[n_selected].
    """
    different, _ = truths.paired_bounds(path, truths.pairs_at(selected))
    extremes = (
        (above[1], below[0])
        for first, second in different
        for above, below in ((first, second), (second, first))
    )
    return least_budget(extremes, delta)
