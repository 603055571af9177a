"""Distributions: from calls, literals and policies to the core's distributions.

What is known before any run is checked here: probabilities, weights, bounds of a policy. The
explorer checks the rest when it meets the values.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck import exact
from dpcheck.diagnostics import kinds, runs
from dpcheck.diagnostics.names import UnknownFunction
from dpcheck.diagnostics.params import WeightOutsideUnit
from dpcheck.diagnostics.structure import (
    MissingPolicy,
    PolicyNotAllowed,
    PolicyWithoutValues,
    RatioByName,
)
from dpcheck.exact import ExpNumber, ParamNumber, Rational
from dpcheck.exact.parametric import example_where, no_weight
from dpcheck.model import program, surface
from dpcheck.model.distributions import DISTRIBUTIONS, BuiltIn, Parameter
from dpcheck.model.evaluation import Fault, apply, described
from dpcheck.model.expressions import Const, Expr, Var
from dpcheck.model.surface_text import one_line
from dpcheck.model.values import DistributionName, Number, Value, value_text
from dpcheck.records import replace
from dpcheck.resolve.expressions.expressions import (
    BUILT_IN,
    applied,
    argument_values,
    expression,
    has_hole,
    may_inline,
    takes,
)
from dpcheck.resolve.names.scopes import File, Held, Known, Scope
from dpcheck.source import Span


def distribution(tree: surface.Expression, scope: Scope) -> program.Distribution | None:
    """Return the distribution a tree describes; None, with a mistake, if it describes none."""
    match tree:
        case surface.Branches():
            return _branches(tree, scope)
        case surface.WeightedBranches():
            return _weighted(tree, scope)
        case surface.WithPolicy() | surface.Unbounded():
            return _with_policy(tree, scope)
        case surface.Conditional():
            return _choice(tree, scope)
        case surface.Call():
            return _call(tree, scope)
        case surface.Name() if not tree.quoted and not tree.primed:
            name = surface.Identifier(tree.name, span=tree.span)
            if _declared(tree.name, scope) is not None:
                return _call(surface.Call(name, (), span=tree.span), scope)
    if not has_hole(expression(tree, scope)):
        scope.report(kinds.ValueAsDistribution(tree.span))
    return None


def _choice(tree: surface.Conditional, scope: Scope) -> program.Distribution | None:
    condition = expression(tree.condition, scope)
    if isinstance(condition, Const) and isinstance(condition.value, bool):
        return distribution(tree.then if condition.value else tree.otherwise, scope)
    then = distribution(tree.then, scope.uncertain())
    orelse = distribution(tree.otherwise, scope.uncertain())
    if then is None or orelse is None:
        return None
    return program.ChooseDistribution(condition, then, orelse, tree.span)


# --- literals ------------------------------------------------------------------------------


def _branches(tree: surface.Branches, scope: Scope) -> program.Distribution:
    branches = tuple(
        (expression(branch.value, scope), expression(branch.weight, scope))
        for branch in tree.branches
    )
    weights = [weight for _, weight in branches]
    known = [_number(weight) for weight in weights]
    if not tree.normalized:
        for weight in weights:
            _check_probability(weight, scope)
        _check_sum(tree, known, scope)
        _check_sum_for_all(tree.span, weights, scope)
    return program.Branches(branches, tree.normalized, tree.span)


def _check_sum(tree: surface.Branches, known: list[Number | None], scope: Scope) -> None:
    """Report known weights that do not sum to 1."""
    numbers = [weight for weight in known if weight is not None]
    total = _total(numbers, tree.span, scope) if len(numbers) == len(known) else None
    if total is not None and total != 1:
        weights = tuple(
            (branch.weight.span, weight)
            for branch, weight in zip(tree.branches, known, strict=True)
            if weight is not None
        )
        scope.report(runs.WeightsDoNotSumToOne(tree.span, (), total, weights))


def _check_sum_for_all(span: Span, weights: Sequence[Expr], scope: Scope) -> None:
    """Report weights that do not sum to 1 for some value of the parameter they depend on."""
    if not scope.certain or all(_param_number(weight) is None for weight in weights):
        return
    values = [weight.value for weight in weights if isinstance(weight, Const)]
    try:
        total = apply("sum", (tuple(values),))
        rest = apply("-", (total, 1))
    except Fault:
        return  # it is told at the run that leads there
    if len(values) < len(weights) or not isinstance(rest, ParamNumber):
        return
    if (place := example_where(rest, (-1, 1))) is not None:
        what = f"the sum of these weights, {value_text(total)},"
        edit = _last_for_all(weights[-1], rest)
        scope.report(WeightOutsideUnit(span, (), what, "not 1", place, edit))


def _last_for_all(weight: Expr, excess: ParamNumber) -> str | None:
    """Return the edit that takes from the last weight what a sum has above 1, if there is room."""
    assert isinstance(weight, Const), "all weights are known"
    needed = apply("-", (weight.value, excess))
    if isinstance(needed, ParamNumber) and no_weight(needed) is not None:
        return None
    written = one_line(weight.span.text)
    return f"`{value_text(needed)}` in place of the last one, `{written}`, makes the sum 1"


def _weighted(tree: surface.WeightedBranches, scope: Scope) -> program.Distribution:
    domain = expression(tree.domain, scope)
    name = scope.names.fresh(tree.variable.name)
    held = Held(Var(name, tree.variable.span), "argument", tree.variable.span)
    inner = scope.uncertain().bound(tree.variable.name, held)
    where = None if tree.where is None else expression(tree.where, inner)
    value, weight = expression(tree.value, inner), expression(tree.weight, inner)
    return program.Weighted(name, domain, where, value, weight, tree.normalized, tree.span)


# --- calls ---------------------------------------------------------------------------------


def _declared(name: str, scope: Scope) -> tuple[File, surface.DistributionFunction] | None:
    """Return the `dist` a name stands for here: what a parameter passes, or one of the file."""
    visible = scope.file.visible
    match scope.bindings.get(name):
        case Known(value=DistributionName(name=passed)):
            assert scope.session.main is not None, "parameters have values after linking"
            name, visible = passed, scope.session.main.visible  # which sees every import
    file, declaration = visible.get(name, (None, None))
    if file is None or not isinstance(declaration, surface.DistributionFunction):
        return None
    return file, declaration


def mechanism_called(tree: surface.Expression, scope: Scope) -> surface.Call | None:
    """Return the call if a mechanism or chain is sampled, by a call or by its bare name."""
    match tree:
        case surface.Call(function=function):
            call = tree
        case surface.Name(name=name, primed=False, quoted=False, span=span):
            function = surface.Identifier(name, span=span)
            call = surface.Call(function, (), span=span)
        case _:
            return None
    binding = scope.bindings.get(function.name)
    is_passed = isinstance(binding, Known) and isinstance(binding.value, DistributionName)
    if is_passed or (binding is not None and isinstance(tree, surface.Name)):
        return None
    _, declaration = scope.file.visible.get(function.name, (None, None))
    return call if isinstance(declaration, surface.Mechanism | surface.Chain) else None


def _built_in(name: str, scope: Scope) -> BuiltIn | None:
    """Return the built-in distribution of a name; None where it names something else here."""
    is_own = name in scope.file.visible or _declared(name, scope) is not None
    return None if is_own else DISTRIBUTIONS.get(name)


def _call(tree: surface.Call, scope: Scope) -> program.Distribution | None:
    """Return a `dist`, applied, or a built-in distribution without a policy."""
    name = tree.function.name
    declared = _declared(name, scope)
    if declared is not None:
        return _applied(tree, *declared, scope)
    is_visible = name in scope.file.visible
    row = _built_in(name, scope)
    if row is not None and row.policies:
        argument_values(tree, scope)
        scope.report(MissingPolicy(tree.span, name, row.policies))
        return None
    if row is not None:
        args = _arguments(tree, row, scope)
        return None if args is None else program.Parametric(name, args, None, tree.span)
    binding = scope.bindings.get(name)
    if not is_visible and isinstance(binding, Known) and binding.role == "parameter":
        if binding.value is not None:
            place, value = tree.function.span, described(binding.value)
            scope.report(kinds.NoDistributionPassed(place, name, value, binding.span))
        return None
    if not is_visible and binding is None and name not in BUILT_IN:
        own = scope.file.names_of(surface.DistributionFunction | surface.Mechanism)
        known = [*DISTRIBUTIONS, *own]
        if name not in scope.session.lost_words:
            candidate = scope.session.suggestion(name, known)
            scope.report(UnknownFunction(tree.function.span, name, candidate, False))
        return None
    if not has_hole(expression(tree, scope)):
        scope.report(kinds.ValueAsDistribution(tree.span))
    return None


def _applied(
    tree: surface.Call, file: File, declaration: surface.DistributionFunction, scope: Scope
) -> program.Distribution | None:
    """Return a `dist` applied; mistakes call it by the name it was declared with."""
    function = surface.Identifier(declaration.name.name, span=tree.function.span)
    tree = replace(tree, function=function)
    args = argument_values(tree, scope)
    if not takes(declaration.parameters, len(args), tree, scope):
        return None
    if scope.session.is_recursive(file, function.name) or not may_inline(tree, scope):
        return None
    inner = scope.inside(file)
    return applied(
        declaration.parameters,
        args,
        inner,
        lambda inside: distribution(declaration.body, inside),
        lambda name, value, body: (
            None if body is None else program.LetDistribution(name, value, body, tree.span)
        ),
    )


def _arguments(tree: surface.Call, row: BuiltIn, scope: Scope) -> tuple[Expr, ...] | None:
    """Return the arguments of a built-in distribution, if there are as many as it takes."""
    needed = len(row.parameters)
    args = argument_values(tree, scope)
    if len(args) != needed:
        texts = [argument.span.text for argument in tree.arguments]
        edit = f"it is `{row.signature}`"
        if row.parameters[0].kind == "set" and texts:
            every = "..".join(texts) if len(texts) == 2 else f"{{{', '.join(texts)}}}"
            edit = f"write `{row.word}({every})`"
        counts = needed, needed, len(args)
        scope.report(kinds.WrongNumberOfArguments(tree.span, row.word, *counts, edit))
        return None
    for parameter, arg in zip(row.parameters, args, strict=True):
        if parameter.kind == "probability":
            _check_probability(arg, scope)
        elif parameter.kind == "ratio":
            _check_ratio(arg, parameter, scope)
    return tuple(args)


def _with_policy(
    tree: surface.WithPolicy | surface.Unbounded, scope: Scope
) -> program.Distribution | None:
    """Return a distribution of infinite support: as it is, or made finite by a policy."""
    inner, span = tree.distribution, tree.policy_span
    policy: program.Policy | program.Unbounded = program.Unbounded(span)
    word: str = "unbounded"
    if isinstance(tree, surface.WithPolicy):
        low, high = expression(tree.low, scope), expression(tree.high, scope)
        word, policy = tree.policy, program.Policy(tree.policy, low, high, span)
    row = _built_in(inner.function.name, scope) if isinstance(inner, surface.Call) else None
    if not isinstance(inner, surface.Call) or row is None or not row.policies:
        if mechanism_called(inner, scope) or distribution(inner, scope) is not None:
            scope.report(PolicyNotAllowed(span, word))
        return None
    if isinstance(policy, program.Policy):
        _check_bounds(policy, scope)
    args = _arguments(inner, row, scope)
    if args is None:
        return None
    if not (row.may_be_unbounded if word == "unbounded" else word in row.policies):
        scope.report(PolicyWithoutValues(span, row.word, word, row.policies))
        return None
    return program.Parametric(row.word, args, policy, tree.span)


# --- what is known before any run ----------------------------------------------------------


def _number(expr: Expr) -> Number | None:
    """Return the number an expression is known to be, or None."""
    value: Value | None = expr.value if isinstance(expr, Const) else None
    if isinstance(value, bool) or not isinstance(value, int | Rational | ExpNumber):
        return None
    return value


def _param_number(expr: Expr) -> ParamNumber | None:
    """Return what depends on a parameter and nothing else, or None."""
    value = expr.value if isinstance(expr, Const) else None
    return value if isinstance(value, ParamNumber) else None


def _check_for_all(expr: Expr, scope: Scope, *, is_strict: bool = False) -> None:
    """Report a probability, or a ratio strictly between 0 and 1, that is none for some value."""
    number = _param_number(expr) if scope.certain else None
    found = None if number is None else no_weight(number, is_strict=is_strict)
    if number is not None and found is not None:
        scope.report(WeightOutsideUnit(expr.span, (), f"`{value_text(number)}`", *found))


def _check_probability(expr: Expr, scope: Scope) -> None:
    _check_for_all(expr, scope)
    number = _number(expr) if scope.certain else None
    if number is not None and (exact.sign(number) < 0 or exact.compare(number, 1) > 0):
        scope.report(runs.ProbabilityOutsideUnit(expr.span, (), value_text(number)))


def check_row(span: Span, weights: Sequence[Expr], scope: Scope) -> None:
    """Report a row of known probabilities that has one outside [0, 1], or another sum than 1."""
    if not scope.certain:
        return
    known = [number for number in map(_number, weights) if number is not None]
    for weight in weights:
        _check_probability(weight, scope)
    if any(exact.sign(number) < 0 or exact.compare(number, 1) > 0 for number in known):
        return
    _check_sum_for_all(span, weights, scope)
    total = _total(known, span, scope) if len(known) == len(weights) else None
    if total is not None and total != 1:
        places = (weight.span for weight in weights)
        scope.report(
            runs.RowDoesNotSumToOne(span, (), total, tuple(zip(places, known, strict=True)))
        )


def _total(numbers: Sequence[Number], span: Span, scope: Scope) -> Number | None:
    """Return the sum of numbers; None, and report it, where powers of e make it too large."""
    try:
        return exact.sum_of(numbers)
    except exact.TooLarge as error:
        scope.report(runs.NumberTooLarge(span, (), str(error)))
        return None


def _check_ratio(expr: Expr, parameter: Parameter, scope: Scope) -> None:
    _check_for_all(expr, scope, is_strict=True)
    number = _number(expr) if scope.certain else None
    if number is not None and (exact.sign(number) <= 0 or exact.compare(number, 1) >= 0):
        is_scale = exact.compare(number, 1) >= 0 and not scope.session.chosen
        edit = parameter.edit(expr.span.text) if is_scale else None
        scope.report(runs.BadParameter(expr.span, (), parameter.outside(value_text(number)), edit))
    elif not has_hole(expr) and (meant := parameter.meant(expr.span.text)):
        scope.report(RatioByName(expr.span, expr.span.text, parameter.text, meant))


def _check_bounds(policy: program.Policy, scope: Scope) -> None:
    """Report bounds without room between them; `folded` needs two different ones."""
    if not isinstance(policy.lo, Const) or not isinstance(policy.hi, Const) or not scope.certain:
        return
    lo, hi = policy.lo.value, policy.hi.value
    try:
        is_empty = apply(">=" if policy.kind == "folded" else ">", (lo, hi))
    except Fault:
        return
    if is_empty:
        order = "<" if policy.kind == "folded" else "<="
        bounds = f"{value_text(lo)}..{value_text(hi)}"
        what = f"`{policy.kind} lo..hi` needs lo {order} hi, which {bounds} is not"
        scope.report(runs.BadParameter(policy.span, (), what))
