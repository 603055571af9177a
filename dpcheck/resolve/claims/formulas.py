"""State and path formulas: operators sorted out, `forall` expanded, atoms collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar, assert_never

from dpcheck import exact
from dpcheck.diagnostics import claims
from dpcheck.diagnostics.kinds import WrongKind
from dpcheck.diagnostics.names import UnknownState
from dpcheck.diagnostics.params import ParamAsValue
from dpcheck.diagnostics.runs import IndexOutOfRange, RunMistake
from dpcheck.logic import formulas as f
from dpcheck.logic.quantities import PATH_PROBABILITY, QUANTITIES
from dpcheck.model import surface, trees
from dpcheck.model.atoms import AtomMeaning, Condition, Label, Sink
from dpcheck.model.evaluation import described, outside_text
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, Var, reads
from dpcheck.model.fixed_queries import named_cells, open_cells
from dpcheck.model.program import ExplicitChain, Mechanism, Target
from dpcheck.model.surface_text import free_names, written_text
from dpcheck.model.values import Number, SetValue, Symbol, Value, value_text
from dpcheck.model.words import OPERATOR_WORDS, word_text
from dpcheck.records import dataclass, field, replace
from dpcheck.resolve.chains import States, known_member
from dpcheck.resolve.claims.elsewhere import for_one_event
from dpcheck.resolve.expressions import expressions
from dpcheck.resolve.expressions.kinds import BOOLEAN, KindChecker, Kinds, of_value
from dpcheck.resolve.expressions.params import wrong_value
from dpcheck.resolve.names.scopes import Asked, Held, Known, Scope, sound
from dpcheck.source import Span

MAX_EXPANDED: Final = 20_000
"""A `forall` in a formula has at most this many instances."""

_ALL: Final = ("&", "forall")
"""What is true if all of its operands are; of the other operators, one is enough."""

_OF_VALUES: Final = (
    RunMistake,
    claims.NotABudget,
    claims.BoundOutsideUnit,
    claims.BadStepBound,
    claims.EmptyInterval,
)
"""Mistakes that only a part has whose value is asked for."""


@dataclass(eq=False)
class Collected:
    """What the formulas of one claim need from the chain."""

    atoms: dict[str, AtomMeaning] = field(default_factory=dict)
    kept_inputs: dict[str, None] = field(default_factory=dict)
    needs_later_neighbors: bool = False
    is_nested: bool = False
    n_expanded: int = 0

    def add(self, other: Collected) -> None:
        """Need what the other needs, too; it began with the instances that were counted here."""
        self.atoms.update(other.atoms)
        self.kept_inputs.update(other.kept_inputs)
        self.needs_later_neighbors |= other.needs_later_neighbors
        self.is_nested |= other.is_nested
        self.n_expanded = other.n_expanded

    def keep_choices(self, target: Target) -> None:
        """Let states remember the choices that the claim names: P and D range over all others."""
        if isinstance(target, Mechanism):
            conditions = (atom for atom in self.atoms.values() if isinstance(atom, Condition))
            choices = {cell for cells in named_cells(target).values() for cell in cells}
            named = (name for atom in conditions for name in atom.inputs if name in choices)
            self.kept_inputs.update(dict.fromkeys(named))


@dataclass(frozen=True)
class Reader:
    """Reads formulas about one target.

    `scope` knows constants, loop variables, parameters and, for a mechanism, inputs and `output`;
    `filled_in` are the known values that a reader of the report sees in place of their names;
    `on_run` is true inside the brackets of P and D.
    """

    target: Target
    scope: Scope
    collected: Collected
    filled_in: Mapping[str, Value]
    on_run: bool = False

    @property
    def states(self) -> States:
        """The states and labels of the target, none of a mechanism."""
        families = self.target.families if isinstance(self.target, ExplicitChain) else ()
        return States(self.target.title, families)

    def bound(self, variable: surface.Identifier, value: Value) -> Reader:
        """Return the reader with one more known name."""
        known = Known(value, "loop variable", variable.span)
        filled_in = {**self.filled_in, variable.name: value}
        return replace(self, scope=self.scope.bound(variable.name, known), filled_in=filled_in)


# --- state formulas ------------------------------------------------------------------------


def state_formula(tree: surface.Expression, reader: Reader) -> f.StateFormula | None:
    """Return a state formula; None, with a mistake, if a part of it is none."""
    match tree:
        case surface.Boolean(value=value, span=span):
            return f.Truth(value, span)
        case surface.Not(operand=operand, span=span):
            argument = state_formula(operand, reader)
            return None if argument is None else f.Not(argument, span)
        case surface.Junction(operator=operator, operands=operands, span=span):
            known = _states(operands, [reader], operator)
            return None if known is None else _junction(operator, known, span)
        case surface.Implication() | surface.Conditional():
            return state_formula(_as_junction(tree), reader)
        case surface.Binder(kind="forall" | "exists" as kind) if _expands(tree, reader):
            readers = _instances(tree, reader)
            known = _states((tree.body,), readers or (), kind)
            return None if readers is None or known is None else _junction(kind, known, tree.span)
        case surface.ProbabilityIs() | surface.ProbabilityIn():
            return _probability(tree, reader)
        case surface.Private():
            return _private(tree, reader)
        case surface.TemporalPrefix() | surface.TemporalInfix():
            reader.scope.report(claims.PathOutsideBrackets(tree.operator_span, tree.operator))
            return None
        case surface.ProbabilityOf(span=span):
            reader.scope.report(claims.QuantityInFormula(span, "P=?"))
            return None
        case surface.Expectation(span=span):
            reader.scope.report(claims.QuantityInFormula(span, "E"))
            return None
    return _atom(tree, reader)


def _states(
    trees: Sequence[surface.Expression], readers: Sequence[Reader], operator: str
) -> tuple[f.StateFormula, ...] | None:
    return _operands(state_formula, trees, readers, operator)


def _paths(
    trees: Sequence[surface.Expression], readers: Sequence[Reader], operator: str
) -> tuple[f.PathFormula, ...] | None:
    return _operands(path_formula, trees, readers, operator)


Formula = TypeVar("Formula")


def _operands(
    read: Callable[[surface.Expression, Reader], Formula | None],
    trees: Sequence[surface.Expression],
    readers: Sequence[Reader],
    operator: str,
) -> tuple[Formula, ...] | None:
    """Return the operands that are needed, from left to right; one may decide alone.

    What follows such a one need have no value, as in `k = 1 | 1/(k - 1) > 2` with k = 1.
    """
    found: list[Formula | None] = []
    is_decided = False
    for inner in readers:
        for tree in trees:
            if is_decided:
                found += _unneeded(read, tree, inner)
                continue
            operand = read(tree, inner)
            found.append(operand)
            is_decided = operand is not None and _truth_of(operand) is (operator not in _ALL)
    return sound(found)


def _unneeded(
    read: Callable[[surface.Expression, Reader], Formula | None],
    tree: surface.Expression,
    reader: Reader,
) -> list[Formula | None]:
    """Return an operand whose truth does not matter; none where numbers in it have no meaning.

    Of its mistakes the others are reported. It is read once, for it may nest deeply.
    """
    session, seen = reader.scope.session, reader.collected
    aside, collected = replace(session, found={}, asked=[]), Collected(n_expanded=seen.n_expanded)
    scope = replace(reader.scope, session=aside)
    operand = read(tree, replace(reader, scope=scope, collected=collected))
    session.pairs_of_letters = aside.pairs_of_letters
    kept = [mistake for mistake in aside.found.values() if not isinstance(mistake, _OF_VALUES)]
    for mistake in kept:
        session.report(mistake)
    if len(kept) < len(aside.found):
        return [None] if kept else []
    session.asked += aside.asked
    seen.add(collected)
    return [operand]


def _truth_of(formula: object) -> bool | None:
    """Return the truth value of a formula that constants alone decide."""
    match formula:
        case f.Truth(value=value):
            return value
        case f.Holds(state=state):
            return _truth_of(state)
        case f.Not(argument=argument) | f.PathNot(argument=argument):
            opposite = _truth_of(argument)
            return None if opposite is None else not opposite
        case f.And(arguments=parts) | f.PathAnd(arguments=parts):
            is_any = False
        case f.Or(arguments=parts) | f.PathOr(arguments=parts):
            is_any = True
        case _:
            return None
    values = {_truth_of(part) for part in parts}
    if is_any in values:
        return is_any
    return None if None in values else not is_any


def _as_junction(tree: surface.Implication | surface.Conditional) -> surface.Junction:
    """Return `a => b` as `!a | b`, and `if a then b else c` as `a & b | !a & c`."""
    span = tree.span
    if isinstance(tree, surface.Implication):
        left = surface.Not(tree.left, span=tree.left.span)
        return surface.Junction("|", (left, tree.right), span=span)
    opposite = surface.Not(tree.condition, span=span)
    first = surface.Junction("&", (tree.condition, tree.then), span=span)
    second = surface.Junction("&", (opposite, tree.otherwise), span=span)
    return surface.Junction("|", (first, second), span=span)


def _junction(operator: str, known: tuple[f.StateFormula, ...], span: Span) -> f.StateFormula:
    """Return a conjunction or disjunction; of nothing, it is a truth value."""
    match known:
        case ():
            return f.Truth(operator in _ALL, span)
        case (single,):
            return single
    return f.And(known, span) if operator in _ALL else f.Or(known, span)


def _path_junction(operator: str, known: tuple[f.PathFormula, ...], span: Span) -> f.PathFormula:
    match known:
        case ():
            return f.Holds(f.Truth(operator in _ALL, span), span)
        case (single,):
            return single
    return f.PathAnd(known, span) if operator in _ALL else f.PathOr(known, span)


def _expands(tree: surface.Binder, reader: Reader) -> bool:
    """Return whether a binder is expanded: one over a set that a run decides is an atom itself."""
    if any(isinstance(node, surface.Formula) for node in trees.descendants(tree.body)):
        return True
    return next(reads(expressions.expression(tree.domain, reader.scope)), None) is None


def _instances(tree: surface.Binder, reader: Reader) -> list[Reader] | None:
    """Return a reader for each element of a binder's set that satisfies its condition."""
    value = expressions.constant(tree.domain, reader.scope, "the set of a `forall` in a formula")
    if value is None:
        return None
    if not isinstance(value, SetValue):
        reader.scope.report(claims.NotAClaim(tree.domain.span, f"{described(value)}, not a set"))
        return None
    reader.collected.n_expanded += value.size
    if reader.collected.n_expanded > MAX_EXPANDED:
        count = reader.collected.n_expanded
        reader.scope.report(
            claims.TooManyClaims(tree.span, "the instances of this formula", count, MAX_EXPANDED)
        )
        return None
    readers = [reader.bound(tree.variable, element) for element in value]
    if tree.where is None:
        return readers
    kept: list[Reader] = []
    for inner in readers:
        condition = expressions.constant(
            tree.where, inner.scope, "the condition of a `forall` in a formula"
        )
        if not isinstance(condition, bool):
            if condition is not None:
                found = described(condition)
                reader.scope.report(WrongKind(tree.where.span, "a Boolean", found))
            return None
        if condition:
            kept.append(inner)
    return kept


# --- P and D -------------------------------------------------------------------------------


def _probability(
    tree: surface.ProbabilityIs | surface.ProbabilityIn, reader: Reader
) -> f.StateFormula | None:
    reader.collected.is_nested |= reader.on_run
    path = path_formula(tree.path, replace(reader, on_run=True))
    if isinstance(tree, surface.ProbabilityIs):
        bound = probability(tree.bound, "the bound of P", reader.scope)
        if bound is None or path is None:
            return None
        return f.ProbabilityIs(((tree.comparison, bound),), path, tree.span)
    low = probability(tree.low, "the bound of P", reader.scope)
    high = probability(tree.high, "the bound of P", reader.scope)
    if low is None or high is None or path is None:
        return None
    if not is_interval(low, high, tree.low.span.to(tree.high.span), reader.scope):
        return None
    return f.ProbabilityIs(((">=", low), ("<=", high)), path, tree.span)


def is_interval(low: exact.Number, high: exact.Number, span: Span, scope: Scope) -> bool:
    """Return whether the two bounds that were asked last are an interval; else report it.

    Of a parameter that is found out where all that was asked is known.
    """
    first, last = (each.value for each in scope.session.asked[-2:])
    if isinstance(first, exact.ParamNumber) or isinstance(last, exact.ParamNumber):
        scope.session.asked.append(Asked((first, last), "interval", span))
    elif exact.compare(low, high) > 0:
        scope.report(claims.EmptyInterval(span, value_text(low), value_text(high)))
        return False
    return True


def _private(tree: surface.Private, reader: Reader) -> f.StateFormula | None:
    if reader.on_run:
        reader.collected.is_nested = reader.collected.needs_later_neighbors = True
    path = path_formula(tree.path, replace(reader, on_run=True))
    epsilon, delta = epsilon_and_delta(tree.epsilon, tree.delta, "D{{{}, {}}}", reader.scope)
    if path is None or epsilon is None or delta is None:
        return None
    return f.Private(epsilon, delta, path, tree.span)


def epsilon_and_delta(
    first: surface.Expression, second: surface.Expression | None, form: str, scope: Scope
) -> tuple[exact.Budget | None, Number | None]:
    """Return the ε and the δ (0 if none is given) of a claim written as `form`; else report it."""
    epsilon = budget(first, scope)
    if second is None:
        return epsilon, 0
    swapped = None
    first_number = None if epsilon is None else epsilon.as_number()
    if _is_in_unit(first_number) and first_number != 1:  # δ = 1 would say nothing
        swapped = form.format(*(" ".join(tree.span.text.split()) for tree in (second, first)))
    return epsilon, probability(second, "δ", scope, swapped)


def probability(
    tree: surface.Expression, what: str, scope: Scope, swapped: str | None = None
) -> Number | None:
    """Return a number between 0 and 1 that is known before any run; else report it.

    `swapped` is what to write if this is the ε of a privacy claim, and its δ stands before it.
    """
    value = expressions.constant(tree, scope, what)
    if value is None:
        return None
    scope.session.asked.append(Asked(value, "probability", tree.span))
    if isinstance(value, exact.ParamNumber):
        return value.value
    number = as_number(value)
    if number is None or not _is_in_unit(number):
        known = as_budget(value)
        may_be_epsilon = known is not None and known.sign() >= 0
        has_logarithm = known is not None and number is None
        help_text = swapped if may_be_epsilon else None
        span, text = tree.span, value_text(value)
        scope.report(claims.BoundOutsideUnit(span, what, text, has_logarithm, help_text))
        return None
    return number


def _is_in_unit(number: Number | None) -> bool:
    return number is not None and exact.sign(number) >= 0 and exact.compare(number, 1) <= 0


def budget(tree: surface.Expression, scope: Scope) -> exact.Budget | None:
    """Return a privacy budget, at least 0 and known before any run; else report it."""
    value = expressions.constant(tree, scope, "a budget")
    if value is None:
        return None
    known = asked_budget(value, tree.span, scope)
    if isinstance(known, exact.ParamBudget) or (
        known is None and isinstance(value, exact.ParamNumber)
    ):
        return known
    if known is None or known.sign() < 0:
        exponent = None
        if isinstance(tree, surface.Call) and tree.function.name == "exp":
            exponent = tree.arguments[0].value.span.text
        scope.report(claims.NotABudget(tree.span, value_text(value), exponent))
        return None
    return known


def asked_budget(value: Value, span: Span, scope: Scope) -> exact.Budget | None:
    """Return the value as a budget, if it is one; a multiple of a parameter is one, too."""
    if isinstance(value, exact.ParamNumber):
        try:
            value = exact.parametric.as_budget(value)
        except exact.ParamError as error:
            scope.report(ParamAsValue(span, (), str(error), instead=error.help))
            return None
    known = as_budget(value)
    if known is not None:
        scope.session.asked.append(Asked(known, "budget", span))
    return known


def as_number(value: Value) -> Number | None:
    """Return the value if it is a number."""
    if isinstance(value, bool) or not isinstance(value, int | exact.Rational | exact.ExpNumber):
        return None
    return value


def as_budget(value: Value) -> exact.Budget | None:
    """Return the value as a budget, if it is one; every rational number is."""
    match value:
        case bool():
            return None
        case int() | exact.Rational():
            return exact.Budget.of(value)
        case exact.Budget():
            return value
        case _:
            return None


# --- path formulas -------------------------------------------------------------------------


def path_formula(tree: surface.Expression, reader: Reader) -> f.PathFormula | None:
    """Return a path formula; a state formula speaks of the path's first state."""
    match tree:
        case surface.TemporalPrefix() | surface.TemporalInfix():
            return _temporal(tree, reader)
        case _ if not _speaks_of_run(tree):
            pass
        case surface.Not(operand=operand, span=span):
            argument = path_formula(operand, reader)
            return None if argument is None else f.PathNot(argument, span)
        case surface.Junction(operator=operator, operands=operands, span=span):
            known = _paths(operands, [reader], operator)
            return None if known is None else _path_junction(operator, known, span)
        case surface.Implication() | surface.Conditional():
            return path_formula(_as_junction(tree), reader)
        case surface.Binder(kind=kind, body=body, span=span):
            readers = _instances(tree, reader)
            known = _paths((body,), readers or (), kind)
            return None if readers is None or known is None else _path_junction(kind, known, span)
    state = state_formula(tree, reader)
    return None if state is None else f.Holds(state, state.span)


def _speaks_of_run(tree: object) -> bool:
    """Return whether a temporal operator stands in a formula outside of further brackets."""
    match tree:
        case surface.TemporalPrefix() | surface.TemporalInfix():
            return True
        case surface.Not() | surface.Junction() | surface.Implication() | surface.Conditional():
            return any(map(_speaks_of_run, trees.parts(tree)))
        case surface.Binder(kind="forall" | "exists", body=body):
            return _speaks_of_run(body)
        case _:
            return False


def _temporal(
    tree: surface.TemporalPrefix | surface.TemporalInfix, reader: Reader
) -> f.PathFormula | None:
    operands = (
        (tree.operand,) if isinstance(tree, surface.TemporalPrefix) else (tree.left, tree.right)
    )
    known: tuple[f.PathFormula, ...] | None = sound([path_formula(o, reader) for o in operands])
    bound = None if tree.bound is None else _steps(tree.bound, reader.scope)
    if known is None or (bound is None and tree.bound is not None):
        return None
    match tree.operator:
        case "X":
            return f.Next(known[0], tree.span)
        case "F":
            return f.Finally(known[0], bound, tree.span)
        case "G":
            return f.Globally(known[0], bound, tree.span)
        case "U":
            return f.Until(known[0], known[1], bound, tree.span)
        case "W":
            return f.WeakUntil(known[0], known[1], tree.span)
        case "R":
            return f.Release(known[0], known[1], tree.span)
    assert_never(tree.operator)


def _steps(tree: surface.Expression, scope: Scope) -> int | None:
    """Return a bound of steps that is known before any run; else report it."""
    value = expressions.constant(tree, scope, "a bound of steps")
    if value is None or (type(value) is int and value >= 0):
        return value
    mistake = claims.BadStepBound(tree.span, value_text(value))
    scope.report(wrong_value(value, tree.span, mistake))
    return None


# --- atoms ---------------------------------------------------------------------------------


def _atom(tree: surface.Expression, reader: Reader) -> f.StateFormula | None:
    """Return an atom, or its truth value where that is known."""
    quantity = _quantity_word(tree, reader)
    event = for_one_event(tree, lambda name: name in reader.scope.file.visible)
    if event is not None:
        reader.scope.report(event)
        return None
    if quantity is not None:
        reader.scope.report(claims.QuantityInFormula(tree.span, quantity))
        return None
    match tree:
        case surface.Name(name="stopped" | "diverged" as name, quoted=False, primed=False) if (
            name not in reader.scope.bindings
        ):
            return _collected(name, Sink(name), tree.span, reader)
    if isinstance(reader.target, ExplicitChain):
        return _label(tree, reader)
    return _condition(tree, reader.target, reader)


def _quantity_word(tree: surface.Expression, reader: Reader) -> str | None:
    """Return the word of a whole-mechanism quantity used as a part of a formula."""
    match tree:
        case surface.Name(name=name, quoted=False, primed=False):
            is_known = name in reader.scope.bindings or name in reader.scope.file.symbols
        case surface.Call(function=function):
            name, is_known = function.name, False
        case surface.Comparison(operands=operands):
            words = (_quantity_word(operand, reader) for operand in operands)
            return next((word for word in words if word is not None), None)
        case surface.Negative(operand=operand):
            return _quantity_word(operand, reader)
        case surface.Arithmetic(left=left, right=right):
            return _quantity_word(left, reader) or _quantity_word(right, reader)
        case surface.ProbabilityOf():
            return PATH_PROBABILITY.word
        case surface.Expectation():
            return "E"
        case _:
            return None
    is_quantity = name in QUANTITIES and name not in reader.scope.file.visible
    return name if is_quantity and not is_known and name not in reader.states.names() else None


def _collected(key: str, meaning: AtomMeaning, span: Span, reader: Reader) -> f.Atom:
    """Return the atom with this key; what it needs is noted."""
    reader.collected.atoms[key] = meaning
    if isinstance(meaning, Condition) and reader.on_run:
        reader.collected.kept_inputs.update(dict.fromkeys(meaning.inputs))
    return f.Atom(key, span)


def _label(tree: surface.Expression, reader: Reader) -> f.StateFormula | None:
    """Return an atom of a chain: a label, a state, a family or a member of one."""
    states, scope = reader.states, reader.scope
    match tree:
        case surface.Name(name=name, primed=False, span=span):
            if name in states.families or name in states.labels:
                label = Label(name, None)
                return _collected(label.text, label, span, reader)
            if name not in scope.known_names():
                candidate = scope.session.suggestion(name, states.names())
                scope.report(UnknownState(span, name, states.chain, candidate))
                return None
        case surface.Index(
            base=surface.Name(name=name, primed=False, span=base_span),
            indices=indices,
            span=span,
        ) if name in states.families or name not in scope.known_names():
            identifier = surface.Identifier(name, span=base_span)
            member = known_member(identifier, indices, span, states, scope)
            if member is None:
                return None
            return _collected(member.text, member, span, reader)
    return _truth(expressions.expression(tree, scope), tree, reader)


def _condition(
    tree: surface.Expression, mechanism: Mechanism, reader: Reader
) -> f.StateFormula | None:
    """Return an atom of a mechanism: a condition over `output` and inputs."""
    expr = expressions.whole_value(tree, reader.scope)
    match expr:
        case Const(value=Symbol() as symbol):
            output: Expr = Var("output", tree.span)
            equal = Apply("=", (output, expr), tree.span)
            meaning = Condition(equal, reads_output=True, inputs=())
            return _collected(_symbol_text(symbol, tree, reader), meaning, tree.span, reader)
    free = tuple(dict.fromkeys(reads(expr)))
    if expressions.has_hole(expr):
        return None
    if not free:
        return _truth(expr, tree, reader)
    errors = reader.scope.session.n_errors
    KindChecker(reader.scope, _input_kinds(mechanism)).needs(expr, BOOLEAN)
    report_cells_that_are_none(expr, reader)
    if reader.scope.session.n_errors > errors:
        return None
    inputs = tuple(name for name in free if name != "output")
    meaning = Condition(expr, "output" in free, inputs)
    return _collected(_text(tree, reader), meaning, tree.span, reader)


def _input_kinds(mechanism: Mechanism) -> dict[str, Kinds]:
    """Return the kinds of the inputs; `output` may be anything."""
    kinds: dict[str, Kinds] = {}
    for given in mechanism.inputs:
        items = of_value(given.domain).items
        kinds.update(dict.fromkeys(given.cells, Kinds(items)))
    return kinds


def report_cells_that_are_none(expr: Expr, reader: Reader) -> None:
    """Report each known index that is none of an input's: no value of the input has such a cell.

    Of choices in a loop nobody knows the number before runs are followed (DP643).
    """
    for node in trees.descendants(expr):
        match node:
            case Apply(op="index", args=(ArrayVar(lo=lo, cells=cells), Const(value=int(i)))):
                if lo <= i < lo + len(cells) or cells in _open_choices(reader.target):
                    continue
                mistake = IndexOutOfRange(node.span, (), outside_text(i, lo, len(cells)))
                reader.scope.report(mistake)


def _open_choices(target: Target) -> tuple[tuple[str, ...], ...]:
    """Return the cells of each array of choices whose number is not known."""
    return tuple(open_cells(target).values()) if isinstance(target, Mechanism) else ()


def _symbol_text(symbol: Symbol, tree: surface.Expression, reader: Reader) -> str:
    if symbol.name in OPERATOR_WORDS and reader.scope.hides_symbol(symbol.name):
        return _text(tree, reader)  # `"R"` would be what hides the symbol
    is_quoted = isinstance(tree, surface.Name) and tree.quoted
    is_taken = symbol.name in taken_names(reader.scope)
    return f'"{symbol.name}"' if is_quoted or is_taken else word_text(symbol.name)


def _truth(expr: Expr, tree: surface.Expression, reader: Reader) -> f.StateFormula | None:
    """Return the truth value of a part that reads nothing."""
    value = expressions.known_value(expr, reader.scope, "this part of a formula")
    if value is None:
        return None
    if not isinstance(value, bool):
        reader.scope.report(claims.NotAClaim(tree.span, described(value)))
        return None
    return f.Truth(value, tree.span)


def _text(tree: surface.Expression, reader: Reader) -> str:
    """Return the text of an atom, with known values in place of their names.

    Atoms are told apart by their texts, so a symbol that another name hides in formulas, in quotes
    too, is not filled in: it stands behind.
    """
    known, used = filled_in_texts(reader), {name.name for name in free_names(tree)}
    hidden = [f'"{word}"' for word in OPERATOR_WORDS if reader.scope.hides_symbol(word)]
    behind = {
        name: text
        for name, text in known.items()
        if name in used and any(word in text for word in hidden)
    }
    text = written_text(tree, {name: known[name] for name in known.keys() - behind.keys()})
    others = ", ".join(f"{name} = {value}" for name, value in behind.items())
    return f"{text} with {others}" if others else text


def taken_names(scope: Scope) -> frozenset[str]:
    """Return the names of inputs and constants: they hide symbols."""
    held = (name for name, binding in scope.bindings.items() if isinstance(binding, Held))
    return frozenset(held).union(scope.file.names_of(surface.Constant))


def filled_in_texts(reader: Reader) -> dict[str, str]:
    """Return the values that a reader of the report sees in place of names, as a claim has them."""
    taken = taken_names(reader.scope)
    return {name: value_text(value, taken) for name, value in reader.filled_in.items()}
