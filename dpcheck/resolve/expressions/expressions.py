"""Surface expressions to core expressions: names resolved, functions inlined, constants folded.

An expression whose parts are known is replaced by its value. An operation on known values that
has no result stays as it is: whether a run ever evaluates it is for the run to say, so
`x != 0 & 1/0 > x` is a mistake only where x is not 0. Where a value is *needed* before any run
(a parameter, a bound), `constant` says why there is none.

A name with a mistake becomes a hole, a variable that nothing assigns; whatever contains a hole
is never called a mistake again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Final, TypeVar, assert_never

from dpcheck import exact
from dpcheck.diagnostics import kinds
from dpcheck.diagnostics.composition import ArgumentByName, TooManyCalls
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.names import (
    AbsentSymbol,
    ConstantCycle,
    NotAValue,
    OutputOutsideClaim,
    PrimeOutsideAdjacency,
    UnknownFunction,
    UnknownName,
)
from dpcheck.diagnostics.params import ParamOutside, of_fault
from dpcheck.diagnostics.structure import EndlessHere, RoundAsValue, StreamMisused
from dpcheck.exact import Budget, Param
from dpcheck.model import surface
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.evaluation import Fault, apply, evaluate
from dpcheck.model.expressions import (
    Apply,
    ArrayVar,
    Binder,
    Const,
    Expr,
    If,
    Let,
    Logic,
    Operator,
    Var,
    known_cell,
    reads,
)
from dpcheck.model.program import Mechanism
from dpcheck.model.surface_text import free_names, one_line
from dpcheck.model.values import DistributionName, SetValue, Symbol, Value, as_held, value_text
from dpcheck.model.words import KEYWORDS
from dpcheck.resolve.expressions.params import as_param, param_of
from dpcheck.resolve.names import scopes
from dpcheck.source import Span

Result = TypeVar("Result")

HOLE: Final = "?"

MAX_FOLDED = 100_000
"""A binder over more elements than this is not evaluated ahead of the run."""

MAX_CALL_DEPTH = 50
"""Functions call each other at most this deep."""

MAX_CALLS = 50_000
"""A target has at most this many calls of functions, written out."""

BUILT_IN: Final[Mapping[str, tuple[Operator, int, int | None]]] = {
    "abs": ("abs", 1, 1),
    "min": ("min", 1, None),
    "max": ("max", 1, None),
    "sum": ("sum", 1, None),
    "count": ("count", 1, None),
    "clamp": ("clamp", 3, 3),
    "argmax": ("argmax", 1, None),
    "argmin": ("argmin", 1, None),
    "floor": ("floor", 1, 1),
    "ceil": ("ceil", 1, 1),
    "len": ("len", 1, 1),
    "exp": ("exp", 1, 1),
    "hamming": ("hamming", 2, 2),
    "l1": ("l1", 2, 2),
    "linf": ("linf", 2, 2),
}
"""Built-in functions: the operator, and the least and greatest number of arguments."""


def expression(tree: surface.Expression, scope: scopes.Scope) -> Expr:
    """Return the core expression of a surface expression; mistakes go to the scope's session."""
    match tree:
        case surface.Number():
            return Const(exact.number(tree.numerator, tree.denominator), tree.span)
        case surface.Boolean():
            return Const(tree.value, tree.span)
        case surface.Name():
            return _name(tree, scope, may_be_symbol=False)
        case surface.Call():
            return _call(tree, scope)
        case surface.Index():
            return _index(tree, scope)
        case surface.Conditional():
            return _conditional(tree, scope)
        case surface.Junction() | surface.Implication():
            return _logic(tree, scope)
        case surface.Comparison():
            return _comparison(tree, scope)
        case surface.Binder():
            return _binder(tree, scope)
        case (
            surface.Negative()
            | surface.Logarithm()
            | surface.Arithmetic()
            | surface.Range()
            | surface.Not()
            | surface.Tuple()
            | surface.SetLiteral()
        ):
            op, operands = _strict(tree)
            read = whole_value if op in ("tuple", "set") else expression
            return folded(op, [read(operand, scope) for operand in operands], tree.span)
        case _:
            return refused(_no_value(tree), scope)


def _no_value(tree: surface.EndlessRange | surface.Distribution | surface.Formula) -> Mistake:
    """Return why an expression has no value."""
    match tree:
        case surface.EndlessRange():
            return EndlessHere(tree.span)
        case (
            surface.Branches()
            | surface.WeightedBranches()
            | surface.WithPolicy()
            | surface.Unbounded()
        ):
            return kinds.DistributionAsValue(tree.span)
        case _:
            return kinds.FormulaAsValue(tree.span)


def whole_value(tree: surface.Expression, scope: scopes.Scope) -> Expr:
    """Return the core expression of what may well be a symbol, alone.

    A name that means nothing there is told how a symbol is written.
    """
    if isinstance(tree, surface.Name):
        return _name(tree, scope, may_be_symbol=True)
    return expression(tree, scope)


def constant(tree: surface.Expression, scope: scopes.Scope, purpose: str) -> Value | None:
    """Return the value an expression has before any run; None, with a mistake, if it has none.

    `purpose` says what needs the value: "a parameter", "the bound of P".
    """
    return known_value(expression(tree, scope), scope, purpose)


def argument_value(tree: surface.Expression, scope: scopes.Scope, purpose: str) -> Value | None:
    """Return what a parameter stands for: a `dist` of the file by its name, or a constant.

    The `dist` may be a parameter around, or stand in the branches of an `if`.
    """
    match tree:
        case surface.Name() if not tree.quoted and not tree.primed:
            binding = scope.bindings.get(tree.name)
            if isinstance(binding, scopes.Known) and isinstance(binding.value, DistributionName):
                return binding.value
            _, declaration = scope.file.visible.get(tree.name, (None, None))
            if binding is None and isinstance(declaration, surface.DistributionFunction):
                return DistributionName(tree.name)
        case surface.Conditional(condition=condition, then=then, otherwise=otherwise):
            known = expression(condition, scope)
            if isinstance(known, Const) and isinstance(known.value, bool):
                return argument_value(then if known.value else otherwise, scope, purpose)
    return constant(tree, scope, purpose)


def known_value(expr: Expr, scope: scopes.Scope, purpose: str) -> Value | None:
    """Return the value of a core expression that may read no variable; else report why not."""
    if isinstance(expr, Const):
        return expr.value
    free = list(dict.fromkeys(reads(expr)))
    if HOLE in free:
        return None
    if free:
        scope.report(kinds.NotConstant(expr.span, purpose, tuple(free)))
        return None
    try:
        return evaluate(expr, {})
    except Fault as fault:
        scope.report(of_fault(fault, expr.span))
        return None


def ordered(tree: surface.Expression, scope: scopes.Scope) -> Expr:
    """Return the core expression of what is gone through, or passed to a function, as a run has it.

    Equal sets are one value and have one order. Loops that are written out, and functions, must not
    tell the order in which a set was made of what they bind; one of constants keeps it, and so does
    what a name stands for.
    """
    expr = expression(tree, scope)
    if isinstance(tree, surface.Name) or not isinstance(expr, Const):
        return expr
    if all(name.name not in scope.bindings for name in free_names(tree)):
        return expr
    return Const(as_held(expr.value), expr.span)


def hole(span: Span) -> Expr:
    """Return what stands for an expression with a mistake."""
    return Var(HOLE, span)


def refused(mistake: Mistake, scope: scopes.Scope) -> Expr:
    """Report a mistake; return what stands for the expression that has it."""
    assert mistake.span is not None, "expressions have places"
    scope.report(mistake)
    return hole(mistake.span)


def has_hole(expr: Expr) -> bool:
    """Return whether a part of the expression has a mistake."""
    return HOLE in reads(expr)


def folded(op: Operator, args: list[Expr], span: Span) -> Expr:
    """Return the operation, or its value where all operands are known and it has one."""
    values = [arg.value for arg in args if isinstance(arg, Const)]
    if len(values) == len(args):
        try:
            return Const(apply(op, values), span)
        except Fault:
            return Apply(op, tuple(args), span)
    cell = known_cell(args[0], args[1]) if op == "index" else None
    return Apply(op, tuple(args), span) if cell is None else Var(cell, span)


def _strict(
    tree: surface.Negative
    | surface.Logarithm
    | surface.Arithmetic
    | surface.Range
    | surface.Not
    | surface.Tuple
    | surface.SetLiteral,
) -> tuple[Operator, tuple[surface.Expression, ...]]:
    """Return the operator and the operands of a strict operation."""
    match tree:
        case surface.Negative(operand):
            return "neg", (operand,)
        case surface.Logarithm(operand):
            return "ln", (operand,)
        case surface.Arithmetic(operator, left, right):
            return operator, (left, right)
        case surface.Range(low, high):
            return "range", (low, high)
        case surface.Not(operand):
            return "not", (operand,)
        case surface.Tuple(items):
            return "tuple", items
        case surface.SetLiteral(items):
            return "set", items
    assert_never(tree)


# --- names ---------------------------------------------------------------------------------


def _name(tree: surface.Name, scope: scopes.Scope, *, may_be_symbol: bool) -> Expr:
    """Return what a name stands for: binding, constant, or symbol, in this order."""
    if scope.is_symbol(tree):
        if scope.is_absent(tree.name):
            candidate = scope.session.suggestion(tree.name, scope.file.symbols)
            scope.report(AbsentSymbol(tree.span, tree.name, candidate))
        return Const(Symbol(tree.name), tree.span)
    if tree.primed:
        return _primed(tree, scope)
    binding = scope.bindings.get(tree.name)
    if binding is not None:
        return _of_binding(tree.name, binding, scope, tree.span)
    if tree.name == "output":
        return refused(OutputOutsideClaim(tree.span), scope)
    file, declaration = scope.file.visible.get(tree.name, (None, None))
    if file is not None and isinstance(declaration, surface.Constant):
        return _or_hole(constant_of_file(scope.session, file, declaration), tree.span)
    if tree.name in scope.file.symbols:
        return Const(Symbol(tree.name), tree.span)
    if declaration is not None:
        scope.report(NotAValue(tree.span, tree.name, scopes.what_is(declaration)))
    else:
        _report_unknown(tree, scope, may_be_symbol=may_be_symbol)
    return hole(tree.span)


def _report_unknown(tree: surface.Name, scope: scopes.Scope, *, may_be_symbol: bool) -> None:
    """Report a name that means nothing, unless an item with a syntax error may introduce it.

    A reserved word that is read as a name was told as one.
    """
    if tree.name not in scope.session.lost_words | KEYWORDS:
        names = chain(scope.known_names(), ("stopped", "diverged") if scope.about else ())
        candidate = scope.session.suggestion(tree.name, names)
        inputs = tuple(scope.primed or ())
        reader, target = "`adjacent`", scope.about
        if isinstance(target, Mechanism) and (UnknownName, tree.span) not in scope.session.found:
            reader, is_local = "a claim", tree.name in target.locals
            if is_local:
                candidate = "output" if target.shows_only(tree.name) else None
            if is_local or (may_be_symbol and scope.is_absent(tree.name)):
                may_be_symbol, inputs = False, ("output", *(one.name for one in target.inputs))
        scope.report(UnknownName(tree.span, tree.name, candidate, may_be_symbol, inputs, reader))


def _primed(tree: surface.Name, scope: scopes.Scope) -> Expr:
    if scope.primed is None:
        return refused(PrimeOutsideAdjacency(tree.span, tree.name), scope)
    held = scope.primed.get(tree.name)
    binding = scope.bindings.get(tree.name)
    if isinstance(binding, scopes.Known) and binding.role == "parameter":
        return refused(UnknownName(tree.span, f"{tree.name}'", None, is_parameter=True), scope)
    if held is None and isinstance(binding, scopes.Known) and binding.value is None:
        return hole(tree.span)
    if held is None:
        candidate = scope.session.suggestion(tree.name, scope.primed)
        shown = None if candidate is None else f"{candidate}'"
        inputs = tuple(scope.primed)
        return refused(UnknownName(tree.span, f"{tree.name}'", shown, known=inputs), scope)
    return _at(held.variable, tree.span)


def _of_binding(name: str, binding: scopes.Binding, scope: scopes.Scope, span: Span) -> Expr:
    match binding:
        case scopes.Known(value=DistributionName()):
            return refused(NotAValue(span, name, "a distribution"), scope)
        case scopes.Known(value=value):
            return _or_hole(value, span)
        case scopes.Held(role="round"):
            return refused(RoundAsValue(span, name), scope)
        case scopes.Held(role="stream"):
            wanted = f"is read one value a round: `{name}[i]` in `for i in 1..`"
            advice = f"what is read otherwise has an end: `{name}[1..3] in integers`"
            return refused(StreamMisused(span, name, wanted, advice), scope)
        case scopes.Held(variable=variable):
            return _at(variable, span)
        case scopes.Local(walk=walk):
            return walk.read(name, span, certain=scope.certain)
    assert_never(binding)


def _at(variable: Var | ArrayVar, span: Span) -> Expr:
    """Return the variable as read at a place."""
    if isinstance(variable, Var):
        return Var(variable.name, span)
    return ArrayVar(variable.name, variable.lo, variable.cells, span)


def _or_hole(value: Value | None, span: Span) -> Expr:
    return hole(span) if value is None else Const(value, span)


def _index(tree: surface.Index, scope: scopes.Scope) -> Expr:
    cell = _cell_of_round(tree, scope)
    if cell is not None:
        return cell
    base = expression(tree.base, scope)
    indices = [expression(index, scope) for index in tree.indices]
    if len(indices) != 1:
        return refused(kinds.SeveralIndices(tree.span, len(indices)), scope)
    return folded("index", [base, indices[0]], tree.span)


def _cell_of_round(tree: surface.Index, scope: scopes.Scope) -> Expr | None:
    """Return the value of a stream at the round at hand, where an index asks for that."""
    match tree:
        case surface.Index(surface.Name(name=name, primed=False), (surface.Name(name=index),)):
            pass
        case _:
            return None
    match scope.bindings.get(name), scope.bindings.get(index):
        case scopes.Held(ArrayVar(cells=(cell,)), role="stream"), scopes.Held(role="round"):
            return Var(cell, tree.span)
        case scopes.Known(value=None), scopes.Held(role="round"):
            return hole(tree.span)
        case _:
            return None


# --- calls ---------------------------------------------------------------------------------


def argument_values(tree: surface.Call, scope: scopes.Scope) -> list[Expr]:
    """Return the arguments of a call of what takes none by name; one with a name is a mistake.

    Where the name means something, `f(x = 1)` is a comparison that was meant.
    """
    values, session, file = [], scope.session, scope.file
    meaning = scope.bindings, file.visible, file.symbols, session.lost_words
    for argument in tree.arguments:
        name, value = argument.name, argument.value
        if name is None or any(name.name in each for each in meaning):
            values.append(ordered(surface.positional(argument), scope))
        else:
            text = one_line(value.span.text)
            scope.report(ArgumentByName(argument.span, tree.function.name, text))
            expression(value, scope)
            values.append(hole(argument.span))
    return values


def _call(tree: surface.Call, scope: scopes.Scope) -> Expr:
    """Return a call of a function of the file, inlined, or of a built-in one."""
    name = tree.function.name
    file, declaration = scope.file.visible.get(name, (None, None))
    if file is not None and isinstance(declaration, surface.Function):
        args = argument_values(tree, scope)
        if not takes(declaration.parameters, len(args), tree, scope):
            return hole(tree.span)
        if scope.session.is_recursive(file, name) or is_too_large(file, declaration, scope):
            return hole(tree.span)
        if not may_inline(tree, scope):
            return hole(tree.span)
        return applied(
            declaration.parameters,
            args,
            scope.inside(file),
            lambda inside: expression(declaration.body, inside),
            lambda variable, value, body: Let(variable, value, body, tree.span),
        )
    if declaration is not None and not isinstance(declaration, surface.Constant):
        return refused(NotAValue(tree.span, name, scopes.what_is(declaration)), scope)
    if name in DISTRIBUTIONS:
        return refused(kinds.DistributionAsValue(tree.span), scope)
    args = argument_values(tree, scope)
    if name not in BUILT_IN:
        known = [*BUILT_IN, *scope.file.names_of(surface.Function)]
        match scope.bindings.get(name):
            case scopes.Known(value=DistributionName()):
                return refused(NotAValue(tree.span, name, "a distribution"), scope)
        is_array = name in scope.bindings
        if name not in scope.session.lost_words:
            candidate = scope.session.suggestion(name, known)
            scope.report(UnknownFunction(tree.function.span, name, candidate, is_array))
        return hole(tree.span)
    op, least, most = BUILT_IN[name]
    if len(args) < least or (most is not None and len(args) > most):
        return refused(kinds.WrongNumberOfArguments(tree.span, name, least, most, len(args)), scope)
    return _rounded_quotient(op, args[0], tree.span) or folded(op, args, tree.span)


def _rounded_quotient(op: Operator, arg: Expr, span: Span) -> Expr | None:
    """Return floor(a / b) as a div b, and ceil(a / b) as -(-a div b), where b is a budget.

    The quotient of budgets is no value, but which integers it lies between is decided.
    """
    match op, arg:
        case "floor", Apply("/", (left, Const(value=Budget()) as right)):
            return folded("div", [left, right], span)
        case "ceil", Apply("/", (left, Const(value=Budget()) as right)):
            below = folded("div", [folded("neg", [left], span), right], span)
            return folded("neg", [below], span)
    return None


def takes(
    parameters: tuple[surface.Identifier, ...], given: int, tree: surface.Call, scope: scopes.Scope
) -> bool:
    """Return whether a call gives as many arguments as there are parameters; else report it."""
    if len(parameters) == given:
        return True
    needed = len(parameters)
    scope.report(kinds.WrongNumberOfArguments(tree.span, tree.function.name, needed, needed, given))
    return False


def is_too_large(file: scopes.File, function: surface.Function, scope: scopes.Scope) -> bool:
    """Return whether a call of a function, on its own, can never be written out; then report it."""
    from dpcheck.resolve.expressions.calls import too_large_function

    limits = MAX_CALL_DEPTH, MAX_CALLS
    found = too_large_function(function, file, scope.session, limits)
    if found is not None:
        scope.report(TooManyCalls(found.name.span, found.name.name, *limits))
    return found is not None


def may_inline(tree: surface.Call, scope: scopes.Scope) -> bool:
    """Return whether one more call may be written out here; else report it."""
    scope.names.n_calls += 1
    if scope.depth < MAX_CALL_DEPTH and scope.names.n_calls <= MAX_CALLS:
        return True
    if scope.names.n_calls <= MAX_CALLS + 1:
        name = tree.function.name
        scope.report(TooManyCalls(tree.function.span, name, MAX_CALL_DEPTH, MAX_CALLS))
    return False


def applied(
    parameters: tuple[surface.Identifier, ...],
    args: list[Expr],
    scope: scopes.Scope,
    resolved_body: Callable[[scopes.Scope], Result],
    let: Callable[[str, Expr, Result], Result],
) -> Result:
    """Return a body with its parameters bound: to values and variables directly, else by `let`.

    Expressions have no effects, so a variable may stand for a parameter; anything longer is
    evaluated once and gets a fresh name.
    """
    lets: list[tuple[str, Expr]] = []
    for parameter, arg in zip(parameters, args, strict=True):
        binding, variable = bound_argument(parameter, arg, scope)
        if variable is not None:
            lets.append((variable, arg))
        scope = scope.bound(parameter.name, binding)
    result = resolved_body(scope)
    for variable, arg in reversed(lets):
        result = let(variable, arg, result)
    return result


def bound_argument(
    parameter: surface.Identifier, arg: Expr, scope: scopes.Scope
) -> tuple[scopes.Binding, str | None]:
    """Return what a parameter is bound to, and the fresh variable a `Let` must introduce."""
    match arg:
        case Const(value=value):
            return scopes.Known(value, "argument", parameter.span), None
        case Var() | ArrayVar() if arg.name != "output":  # which has no value before there is one
            return scopes.Held(arg, "argument", parameter.span), None
        case _:
            variable = scope.names.fresh(parameter.name)
            return scopes.Held(Var(variable, parameter.span), "argument", parameter.span), variable


# --- what evaluates only what it needs -----------------------------------------------------


def _conditional(tree: surface.Conditional, scope: scopes.Scope) -> Expr:
    condition = expression(tree.condition, scope)
    if isinstance(condition, Const) and isinstance(condition.value, bool):
        chosen, other = tree.then, tree.otherwise
        if not condition.value:
            chosen, other = other, chosen
        whole_value(other, scope.uncertain())
        return whole_value(chosen, scope)
    then = whole_value(tree.then, scope.uncertain())
    orelse = whole_value(tree.otherwise, scope.uncertain())
    return If(condition, then, orelse, tree.span)


def _logic(tree: surface.Junction | surface.Implication, scope: scopes.Scope) -> Expr:
    """Return a lazy operation without the operands that are known not to matter."""
    if isinstance(tree, surface.Implication):
        left = expression(tree.left, scope)
        right = expression(tree.right, scope.uncertain())
        match left:
            case Const(value=False):
                return Const(True, tree.span)
            case Const(value=True) if isinstance(right, Const) and isinstance(right.value, bool):
                return right
        return Logic("implies", (left, right), tree.span)
    decisive = tree.operator == "|"
    kept: list[Expr] = []
    inner = scope
    for operand in tree.operands:
        expr = expression(operand, inner)
        is_neutral = isinstance(expr, Const) and expr.value is (not decisive)
        if not is_neutral:
            kept.append(expr)
            inner = scope.uncertain()
    return _joined_conditions(tree, kept)


def _joined_conditions(tree: surface.Junction, kept: list[Expr]) -> Expr:
    """Return the operation on the operands left: neutral ones are gone.

    Nothing after a decisive constant is evaluated; nothing before it may be dropped, since it
    might fail.
    """
    for i, expr in enumerate(kept):
        if isinstance(expr, Const) and isinstance(expr.value, bool):
            kept = kept[: i + 1]
            break
    match kept:
        case []:
            return Const(tree.operator == "&", tree.span)
        case [Const(value=bool() as value)]:
            return Const(value, tree.span)
    return Logic("or" if tree.operator == "|" else "and", tuple(kept), tree.span)


def _comparison(tree: surface.Comparison, scope: scopes.Scope) -> Expr:
    """Return a comparison; a chain is a conjunction of comparisons of operands evaluated before."""
    read = whole_value if {"=", "!=", "in"} & {*tree.operators} else expression
    operands = [read(operand, scope) for operand in tree.operands]
    lets: list[tuple[str, Expr]] = []
    for i, operand in enumerate(operands[1:], start=1):
        if len(operands) > 2 and not isinstance(operand, Const | Var | ArrayVar):
            variable = scope.names.fresh("operand")
            lets.append((variable, operand))
            operands[i] = Var(variable, operand.span)
    parts: list[Expr] = [
        folded(op, [operands[i], operands[i + 1]], tree.span) for i, op in enumerate(tree.operators)
    ]
    result = parts[0] if len(parts) == 1 else _conjunction(parts, tree.span)
    for variable, value in reversed(lets):
        result = Let(variable, value, result, tree.span)
    return result


def _conjunction(parts: list[Expr], span: Span) -> Expr:
    if all(isinstance(part, Const) for part in parts):
        return Const(all(isinstance(p, Const) and p.value is True for p in parts), span)
    return Logic("and", tuple(parts), span)


def _binder(tree: surface.Binder, scope: scopes.Scope) -> Expr:
    is_written = isinstance(tree.domain, surface.SetLiteral)
    domain = (expression if is_written else ordered)(tree.domain, scope)
    variable = scope.names.fresh(tree.variable.name)
    held = scopes.Held(Var(variable, tree.variable.span), "argument", tree.variable.span)
    inner = scope.uncertain().bound(tree.variable.name, held)
    where = None if tree.where is None else expression(tree.where, inner)
    body = expression(tree.body, inner)
    binder = Binder(variable, tree.kind, domain, where, body, tree.span)
    result = _folded_binder(binder, domain)
    if result is binder and binder.kind in ("argmax", "argmin", "forall", "exists"):
        match domain:
            case Apply(op="set", args=args) if is_written:
                return _as_written(binder, args, scope)
    return result


def _as_written(binder: Binder, args: tuple[Expr, ...], scope: scopes.Scope) -> Expr:
    """Return a binder over a set whose elements are written out, and looked at in that order.

    On ties the first one wins, and a quantifier looks no further than it needs. A set of a run does
    not remember the order (equal sets are one value), so places in a tuple are looked at.
    """
    span = binder.span
    elements = Apply("tuple", args, binder.domain.span)
    written = Var(scope.names.fresh("elements#"), span)
    place = Var(scope.names.fresh("place#"), span)
    element = Apply("index", (written, place), span)
    where = None if binder.where is None else Let(binder.name, element, binder.where, span)
    body = Let(binder.name, element, binder.body, span)
    places = Const(SetValue(range(1, len(args) + 1)), span)
    found: Expr = Binder(place.name, binder.kind, places, where, body, span)
    if binder.kind in ("argmax", "argmin"):
        found = Apply("index", (written, found), span)
    return Let(written.name, elements, found, span)


def _folded_binder(binder: Binder, domain: Expr) -> Expr:
    """Return the value of a binder that reads no variable, if it has one and it is not long."""
    match domain:
        case Const(value=SetValue() as elements) if elements.size <= MAX_FOLDED:
            if next(reads(binder), None) is None:
                try:
                    return Const(evaluate(binder, {}), binder.span)
                except Fault:
                    return binder
    return binder


# --- constants of a file -------------------------------------------------------------------


def constant_of_file(
    session: scopes.Session, file: scopes.File, declaration: surface.Constant
) -> Value | None:
    """Return the value of a `const`, or of the `-D` that overrides it; None if it has none.

    The order of declarations does not matter: a constant is evaluated when it is first needed.
    Constants that need each other are a mistake, reported once.
    """
    key = id(declaration)
    if key in session.constants:
        return session.constants[key]
    if any(pending is declaration for pending in session.in_progress):
        start = [pending is declaration for pending in session.in_progress].index(True)
        cycle = tuple(session.in_progress[start:])
        names = tuple(member.name.name for member in (*cycle, cycle[0]))
        session.report(ConstantCycle(cycle[0].name.span, names))
        return None
    session.in_progress.append(declaration)
    was_making, session.is_making = session.is_making, True
    scope = scopes.Scope(session, file, scopes.FreshNames())
    override = session.overrides.get(declaration.name.name)
    value: Value | None
    if declaration.name.name in session.chosen:
        chosen = session.chosen[declaration.name.name]
        value = as_param(chosen) if isinstance(chosen, Param) else chosen
        session.has_params |= isinstance(chosen, Param)
    elif override is not None and session.main is not None:
        value = _overridden(declaration, override, scope)
    elif isinstance(declaration.value, surface.Interval):
        param = interval(declaration.name.name, declaration.value, scope)
        session.has_params = True
        value = None if param is None else as_param(param)
    else:
        value = constant(declaration.value, scope, f"the constant `{declaration.name.name}`")
    session.in_progress.pop()
    session.is_making = was_making
    session.constants[key] = value
    return value


def _overridden(
    declaration: surface.Constant, override: surface.Expression, scope: scopes.Scope
) -> Value | None:
    """Return the value that `-D` gives a constant, or chooses of a `param`."""
    assert scope.session.main is not None, "values are given after linking"
    name = declaration.name.name
    home = scopes.Scope(scope.session, scope.session.main, scopes.FreshNames())
    value = constant(override, home, f"the constant `{name}`")
    if value is None or not isinstance(declaration.value, surface.Interval):
        return value
    param = interval(name, declaration.value, scope)
    if param is None or is_within(value, *param.ends, param):
        return value
    scope.report(ParamOutside(override.span, name, param.text, value_text(value)))
    return None


def is_within(
    value: Value | None, low: Value | None, high: Value | None, ends: surface.Interval | Param
) -> bool:
    """Return whether a value lies between two others, None for infinite ones, or is one of them."""
    if value is None:
        return False
    try:
        above = low is None or apply(">=" if ends.has_low else ">", (value, low))
        below = high is None or apply("<=" if ends.has_high else "<", (value, high))
    except Fault:
        return False
    return bool(above and below)


def interval(name: str, tree: surface.Interval, scope: scopes.Scope) -> Param | None:
    """Return a parameter with the values of an interval."""
    ends = interval_ends(name, tree, scope)
    return None if ends is None else param_of(name, *ends, tree, scope)


def interval_ends(
    name: str, tree: surface.Interval, scope: scopes.Scope
) -> tuple[Value | None, Value | None] | None:
    """Return the ends of an interval, None for infinite ones; None, with a mistake, for none."""
    ends: list[Value | None] = []
    for end in (tree.low, tree.high):
        if _is_infinite(end, is_high=end is tree.high):
            ends.append(None)
            continue
        value = constant(end, scope, f"an end of the values of `{name}`")
        if value is None:
            return None
        ends.append(value)
    return ends[0], ends[1]


def _is_infinite(tree: surface.Expression, *, is_high: bool) -> bool:
    """Return whether an end is written `inf`, or `-inf` as the low one."""
    if isinstance(tree, surface.Negative) and not is_high:
        return _is_infinite(tree.operand, is_high=True)
    return is_high and isinstance(tree, surface.Name) and tree.name == "inf"
