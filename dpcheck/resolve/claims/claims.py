"""Claims: formulas, whole-mechanism privacy, and quantities to report or compare."""

from __future__ import annotations

from typing import Final, Literal

from dpcheck.diagnostics import claims as mistakes
from dpcheck.diagnostics.names import UnknownFunction, UnknownName
from dpcheck.diagnostics.quantities import BudgetAgainstNumber, TableInComparison
from dpcheck.exact import Budget, Extended, MinusInfinity, ParamNumber
from dpcheck.logic import claims
from dpcheck.logic.formulas import Relation
from dpcheck.logic.quantities import EXPECTATION, PATH_PROBABILITY, QUANTITIES, QuantityWord
from dpcheck.model import surface
from dpcheck.model.atoms import Label
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.evaluation import described
from dpcheck.model.program import ExplicitChain
from dpcheck.model.surface_text import one_line, written_text
from dpcheck.resolve.chains import first_member, known_member
from dpcheck.resolve.claims.elsewhere import by_position, elsewhere
from dpcheck.resolve.claims.formulas import (
    Reader,
    as_number,
    asked_budget,
    epsilon_and_delta,
    is_interval,
    path_formula,
    state_formula,
)
from dpcheck.resolve.claims.outputs_at_start import report_outputs_at_start
from dpcheck.resolve.claims.quantities import quantity
from dpcheck.resolve.expressions.expressions import BUILT_IN, constant
from dpcheck.resolve.names.scopes import Asked
from dpcheck.source import Span

FLIPPED: Final[dict[str, Literal["=", "!=", "<", "<=", ">", ">="]]] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""`a op b` is `b FLIPPED[op] a`."""


def claim(question: surface.Question, reader: Reader) -> claims.Claim | None:
    """Return what a question claims or asks; None, with a mistake, if that is nothing."""
    tree = question.claim
    foreign = elsewhere(tree, question.kind, lambda name: _is_declared(name, reader))
    if foreign is not None:
        reader.scope.report(foreign)
        return None
    if _has_misspelt_quantity(tree, reader):
        return None
    word = _word(tree, reader)
    if question.kind == "compute":
        if word is None or word.value == "truth":
            is_comparison = isinstance(tree, surface.Comparison)
            reader.scope.report(mistakes.NothingToCompute(tree.span, is_comparison))
            return None
        found = _quantity(tree, word, reader)
        return None if found is None else claims.QuantityValue(found, tree.span)
    if word is not None and word.value == "truth":
        return _privacy(tree, word, reader)
    if word is not None:
        text = written_text(tree, {})
        reader.scope.report(mistakes.QuantityWithoutBound(tree.span, text, question.kind))
        return None
    if isinstance(tree, surface.Comparison):
        words = [_word(operand, reader) for operand in tree.operands]
        if any(words):
            return _comparison(tree, words, reader)
    if isinstance(tree, surface.Expectation):
        return _expectations(tree, reader)
    formula = state_formula(tree, reader)
    if formula is None:
        return None
    report_outputs_at_start(formula, reader)
    return claims.FormulaClaim(formula, tree.span)


def _has_misspelt_quantity(tree: surface.Expression, reader: Reader) -> bool:
    """Report a side of the claim whose unknown name looks like a quantity; return whether one does.

    Only there can a quantity stand.
    """
    scope = reader.scope
    sides = tree.operands if isinstance(tree, surface.Comparison) else (tree,)
    known = {*QUANTITIES, *BUILT_IN, *DISTRIBUTIONS}
    for side in sides:
        match side:
            case surface.Call(function=surface.Identifier(name=name, span=span)):
                is_call = True
            case surface.Name(name=name, primed=False, quoted=False, span=span):
                is_call = False
            case _:
                continue
        if name in known or _is_declared(name, reader):
            continue
        candidate = scope.session.suggestion(name, QUANTITIES)
        if candidate is not None:
            unknown = UnknownFunction(span, name, candidate, False)
            scope.report(unknown if is_call else UnknownName(span, name, candidate))
            return True
    return False


def _labels(reader: Reader) -> set[str]:
    """Return the names of states and labels that a claim may use."""
    return {"stopped", "diverged", "inf", *reader.states.names()}


def at_condition(tree: surface.Expression, reader: Reader) -> claims.At | None:
    """Return where a claim is asked: one state of a chain, or the states of a condition."""
    member: Label | None = None
    if isinstance(reader.target, ExplicitChain):
        states = reader.states
        match tree:
            case surface.Name(name=name, primed=False, span=span) if name in states.families:
                if not states.families[name].indices:
                    return _at_state(Label(name, ()), span, reader)
                member = first_member(states.families[name])
            case surface.Index(
                base=surface.Name(name=name, primed=False, span=base), indices=indices, span=span
            ) if name in states.families:
                identifier = surface.Identifier(name, span=base)
                asked = known_member(identifier, indices, span, states, reader.scope)
                return None if asked is None else _at_state(asked, span, reader)
    formula = state_formula(tree, reader)
    one = None if member is None else member.text
    return None if formula is None else claims.AtCondition(formula, tree.span, one)


def _at_state(state: Label, span: Span, reader: Reader) -> claims.AtState:
    """Return the choice of one state, which is not the label of its name: others may have that."""
    key = f"at {state.text}"
    reader.collected.atoms[key] = state
    return claims.AtState(key, span)


def quantity_names(tree: surface.Expression) -> frozenset[str]:
    """Return the plain names that are the quantity of a claim, whatever else they may name."""
    sides = tree.operands if isinstance(tree, surface.Comparison) else (tree,)
    names = (side.name for side in sides if isinstance(side, surface.Name))
    return frozenset(name for name in names if name == "epsilon")


def _word(tree: surface.Expression, reader: Reader) -> QuantityWord | None:
    """Return the row of the quantity a tree is, if it is one.

    As a whole claim, or as the first side of its comparison that can be one, `epsilon` is the
    quantity, whatever else has that name.
    """
    match tree:
        case surface.ProbabilityOf():
            return PATH_PROBABILITY
        case surface.Expectation(relations=()):
            return EXPECTATION
        case surface.Call(function=function) if function.name in QUANTITIES:
            row = QUANTITIES[function.name]
            is_declared = function.name in reader.scope.file.visible
            return row if not is_declared or row.of == "sequences" else None
        case surface.Name(name="epsilon", primed=False, quoted=False):
            return QUANTITIES["epsilon"]
        case surface.Name(name=name, primed=False, quoted=False) if name in QUANTITIES:
            is_known = name in reader.scope.known_names() or name in reader.scope.bindings
            return None if is_known or name in reader.states.names() else QUANTITIES[name]
    return None


def _arguments(
    tree: surface.Expression, word: QuantityWord, reader: Reader
) -> list[surface.Expression] | None:
    """Return the arguments of a quantity or of `dp`; else report how it is written."""
    given = tree.arguments if isinstance(tree, surface.Call) else ()
    fits = word.n_required <= len(given) <= len(word.parameters)
    if not fits or any(argument.name is not None for argument in given):
        example = by_position(word.word, given)
        reader.scope.report(mistakes.WordTaken(tree.span, word.word, word.usage, example))
        return None
    return [argument.value for argument in given]


def _privacy(tree: surface.Expression, word: QuantityWord, reader: Reader) -> claims.Claim | None:
    arguments = _arguments(tree, word, reader)
    is_observed = _is_observed(tree.span, word, reader)
    if arguments is None:
        return None
    given = arguments[0], arguments[1] if len(arguments) == 2 else None
    epsilon, delta = epsilon_and_delta(*given, "dp({}, {})", reader.scope)
    if epsilon is None or delta is None or not is_observed:
        return None
    return claims.PrivacyClaim(epsilon, delta, tree.span)


def _quantity(
    tree: surface.Expression, word: QuantityWord, reader: Reader
) -> claims.Quantity | None:
    """Return the quantity a tree is."""
    if isinstance(tree, surface.ProbabilityOf):
        on_run = Reader(reader.target, reader.scope, reader.collected, reader.filled_in, True)
        path = path_formula(tree.path, on_run)
        return None if path is None else claims.PathProbability(path, tree.span)
    is_observed = _is_observed(tree.span, word, reader)
    if isinstance(tree, surface.Expectation):
        from dpcheck.resolve.claims.expectations import expectation

        return expectation(tree.value, tree.span, reader) if is_observed else None
    arguments = _arguments(tree, word, reader)
    if arguments is None:
        return None
    found = quantity(word, arguments, tree.span, reader)
    return found if is_observed else None


def _expectations(tree: surface.Expectation, reader: Reader) -> claims.Claim | None:
    """Return `E` compared with bounds from every initial state."""
    from dpcheck.resolve.claims.expectations import expectation

    is_observed = _is_observed(tree.span, EXPECTATION, reader)
    found = expectation(tree.value, tree.span, reader) if is_observed else None
    relations: list[Relation] = []
    for comparison, side in tree.relations:
        bound, is_sound = _bound(side, EXPECTATION, reader)
        if isinstance(bound, Budget | MinusInfinity | None):
            if is_sound:
                reader.scope.report(mistakes.NotABound(side.span, "E", f"`{side.span.text}`"))
            return None
        relations.append((comparison, bound))
    if len(relations) == 2:
        (_, low), (_, high) = relations
        span = tree.relations[0][1].span.to(tree.relations[1][1].span)
        if not is_interval(low, high, span, reader.scope):
            return None
    return None if found is None else claims.ExpectationClaim(found, tuple(relations), tree.span)


def _is_observed(span: Span, word: QuantityWord, reader: Reader) -> bool:
    """Return whether an adversary sees anything of the target; else report it."""
    target = reader.target
    if isinstance(target, ExplicitChain) and target.observed is None:
        reader.scope.report(mistakes.NothingObserved(span, target.title, word.word, target.span))
        return False
    return True


def _comparison(
    tree: surface.Comparison, words: list[QuantityWord | None], reader: Reader
) -> claims.Claim | None:
    """Return a quantity compared with one bound, on either side, or with another quantity."""
    position = next(i for i, word in enumerate(words) if word is not None)
    word = words[position]
    assert word is not None, "some side is a quantity"
    operator = tree.operators[0]
    if len(tree.operands) != 2 or word.value == "truth" or operator == "in":
        place, texts = tree.operands[position].span, [one_line(o.span.text) for o in tree.operands]
        sides = zip(texts, tree.operators, texts[1:], strict=False)
        pairs = tuple(f"`{left} {sign} {right}`" for left, sign, right in sides)
        is_chain = len(tree.operands) > 2 and word.value != "truth"
        mistake = mistakes.QuantityInFormula(place, word.word, pairs if is_chain else ())
        reader.scope.report(mistake)
        return None
    other_word = words[1 - position]
    if other_word is not None and not _is_declared(other_word.word, reader):
        return _comparison_of_quantities(tree, operator, (word, other_word), reader)
    comparison = operator if position == 0 else FLIPPED[operator]
    compared = _compared_quantity(tree.operands[position], word, reader)
    bound, is_sound = _bound(tree.operands[1 - position], word, reader)
    if compared is None or not is_sound:
        return None
    return claims.QuantityClaim(compared, comparison, bound, tree.span)


def _is_declared(word: str, reader: Reader) -> bool:
    """Return whether a word that could be a quantity means something that the file declares."""
    scope = reader.scope
    known = {*scope.file.visible, *scope.bindings, *scope.known_names(), *scope.session.lost_words}
    return word in known or word in _labels(reader)


def _compared_quantity(
    tree: surface.Expression, word: QuantityWord, reader: Reader
) -> claims.Quantity | None:
    """Return the quantity that a side of a comparison is: one value, no table."""
    found = _quantity(tree, word, reader)
    if isinstance(found, claims.LossTable):
        reader.scope.report(TableInComparison(found.span, word.word, word.one_value))
        return None
    return found


def _comparison_of_quantities(
    tree: surface.Comparison,
    comparison: Literal["=", "!=", "<", "<=", ">", ">="],
    words: tuple[QuantityWord, QuantityWord],
    reader: Reader,
) -> claims.Claim | None:
    """Return a comparison of two quantities of the target, both budgets or both numbers."""
    left_word, right_word = words
    if right_word.value == "truth":
        reader.scope.report(mistakes.QuantityInFormula(tree.operands[1].span, right_word.word))
        return None
    if left_word.value != right_word.value:
        texts = {word.value: word.word for word in words}
        reader.scope.report(BudgetAgainstNumber(tree.span, texts["budget"], texts["number"]))
        return None
    sides = zip(tree.operands, words, strict=True)
    left, right = [_compared_quantity(side, word, reader) for side, word in sides]
    if left is None or right is None:
        return None
    return claims.QuantityComparison(left, comparison, right, tree.span)


def _bound(
    tree: surface.Expression, word: QuantityWord, reader: Reader
) -> tuple[Budget | Extended, bool]:
    """Return the bound (None for `inf`), and whether it fits the quantity."""
    match tree:
        case surface.Negative(operand=surface.Name(name="inf") as name) if word is EXPECTATION:
            bound, is_sound = _bound(name, word, reader)
            return (MinusInfinity.VALUE if bound is None else bound), is_sound
        case surface.Name(name="inf", primed=False, quoted=False) if (
            "inf" not in reader.scope.known_names()
        ):
            if word.may_be_infinite:
                return None, True
            reader.scope.report(mistakes.NotABound(tree.span, word.word, "`inf`"))
            return None, False
    value = constant(tree, reader.scope, "a bound")
    if value is None:
        return None, False
    if word.value == "budget":
        bound = asked_budget(value, tree.span, reader.scope)
    else:
        reader.scope.session.asked.append(Asked(value, "bound", tree.span))
        bound = value.value if isinstance(value, ParamNumber) else as_number(value)
    if bound is None:
        reader.scope.report(mistakes.NotABound(tree.span, word.word, described(value)))
    return bound, bound is not None
