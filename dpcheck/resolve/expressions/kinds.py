"""Kinds of values that are sure before any run, and operations that surely cannot apply.

Every variable has the set of kinds it may hold: inputs those of their domains, locals those of
all values assigned to them, taken together until nothing changes. An operation is a mistake only
if *none* of the kinds an operand may have fits, so what is reported is sure; what is merely
possible is left to the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, assert_never

from dpcheck.diagnostics.kinds import WrongKind
from dpcheck.model import expressions, program
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.evaluation import Kind, kind_of
from dpcheck.model.program import Distribution, ExplicitChain, Mechanism, Node
from dpcheck.model.surface_text import one_line
from dpcheck.model.values import ArrayValue, SetValue, Value
from dpcheck.records import dataclass
from dpcheck.resolve.names.scopes import Scope
from dpcheck.source import Span

MAX_LOOKED_AT: Final = 1_000
"""Of a larger set only its first elements tell kinds, and any other kind stays possible."""

EVERY: Final[frozenset[Kind]] = frozenset(
    ("number", "budget", "Boolean", "symbol", "tuple", "array", "set")
)
NUMBER: Final[frozenset[Kind]] = frozenset({"number"})
QUANTITY: Final[frozenset[Kind]] = frozenset({"number", "budget"})
BOOLEAN: Final[frozenset[Kind]] = frozenset({"Boolean"})
SET: Final[frozenset[Kind]] = frozenset({"set"})
INDEXED: Final[frozenset[Kind]] = frozenset({"array", "tuple"})
COLLECTION: Final[frozenset[Kind]] = frozenset({"array", "tuple", "set"})

_WORDS: Final[Mapping[Kind, str]] = {
    "number": "a number",
    "budget": "a budget",
    "Boolean": "a Boolean",
    "symbol": "a symbol",
    "tuple": "a tuple",
    "array": "an array",
    "set": "a set",
}


@dataclass(frozen=True)
class Kinds:
    """The kinds a value may have; `items` those of its elements if it is a collection."""

    possible: frozenset[Kind]
    items: frozenset[Kind] = EVERY

    def either(self, other: Kinds) -> Kinds:
        """Return the kinds of a value that is one or the other."""
        return Kinds(self.possible | other.possible, self.items | other.items)


ANY: Final = Kinds(EVERY)
NOTHING: Final = Kinds(frozenset(), frozenset())

Environment = Mapping[str, Kinds]


def report_wrong_kinds(mechanism: Mechanism, scope: Scope) -> None:
    """Report every operation of a mechanism that surely cannot apply to its operands."""
    inputs = {
        cell: Kinds(of_value(given.domain).items)
        for given in mechanism.inputs
        for cell in given.cells
    }
    checker = KindChecker(scope, _variable_kinds(mechanism, inputs))
    neighbors = {expressions.primed_name(name): kinds for name, kinds in inputs.items()}
    both = KindChecker(scope, {**inputs, **neighbors})
    for given in mechanism.inputs:
        if given.where is not None:
            checker.needs(given.where, BOOLEAN)
    for clause in mechanism.adjacency:
        if isinstance(clause, program.AdjacentWhere):
            both.needs_bound(clause.condition)
    for node in mechanism.nodes:
        checker.node(node)


def report_wrong_kinds_of_rows(chain: ExplicitChain, scope: Scope) -> None:
    """Report every operation of a chain that surely cannot apply to its operands."""
    checker = KindChecker(scope, {})
    for row in chain.rows:
        _check_row(row, checker)
    for clause in chain.adjacency:
        inner = checker
        for name, domain in clause.fresh:
            inner = inner.inside(name, Kinds(inner.kinds(domain).items))
        if clause.where is not None:
            inner.needs(clause.where, BOOLEAN)


def _check_row(row: program.RowStatement, checker: KindChecker) -> None:
    match row:
        case program.RowsFor(name=name, domain=domain, body=body):
            inner = checker.inside(name, Kinds(checker.needs(domain, SET).items))
            for part in body:
                _check_row(part, inner)
        case program.RowsIf(condition=condition, then=then, orelse=orelse):
            checker.needs(condition, BOOLEAN)
            for part in (*then, *orelse):
                _check_row(part, checker)
        case program.Row(branches=branches):
            for branch in branches:
                if isinstance(branch, program.RowBranch):
                    checker.needs(branch.probability, NUMBER)
                else:
                    checker.drawn(branch.distribution)


def _variable_kinds(mechanism: Mechanism, inputs: Mapping[str, Kinds]) -> dict[str, Kinds]:
    """Return the kinds each variable may hold: the least solution of what is assigned where.

    Sets of kinds only grow and there are seven kinds, so this ends.
    """
    kinds: dict[str, Kinds] = dict(inputs)
    for node in mechanism.nodes:
        for name in program.written(node):
            kinds.setdefault(name, NOTHING)
    silent = KindChecker(None, kinds)
    changed = True
    while changed:
        changed = False
        for node in mechanism.nodes:
            assigned = silent.assigned(node)
            for name in program.written(node):
                wider = kinds[name].either(assigned)
                if wider != kinds[name]:
                    kinds[name] = wider
                    changed = True
    return kinds


def of_value(value: Value) -> Kinds:
    """Return the kind of a value, and the kinds of its elements."""
    match value:
        case SetValue(items=range()):
            return Kinds(SET, NUMBER)
        case SetValue(items=tuple() as items) | ArrayValue(items=items):
            looked_at = frozenset(kind_of(item) for item in items[:MAX_LOOKED_AT])
            return Kinds(
                frozenset({kind_of(value)}), looked_at if len(items) <= MAX_LOOKED_AT else EVERY
            )
        case tuple():
            return Kinds(frozenset({"tuple"}), frozenset(kind_of(item) for item in value))
        case _:
            return Kinds(frozenset({kind_of(value)}))


def shown(kinds: Iterable[Kind]) -> str:
    """Return kinds as words.

    >>> shown(["budget", "number"]), shown({"set", "tuple", "array"})
    ('a number or a budget', 'a tuple, an array or a set')
    """
    wanted = set(kinds)
    words = [word for kind, word in _WORDS.items() if kind in wanted]
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


_NEEDS: Final[Mapping[expressions.Operator, frozenset[Kind]]] = {
    **dict.fromkeys(("+", "-", "neg", "abs", "<", "<=", ">", ">=", "clamp", "exp"), QUANTITY),
    **dict.fromkeys(("div", "floor", "ceil"), QUANTITY),
    **dict.fromkeys(("mod", "^", "ln", "range", "rounds"), NUMBER),
    "not": BOOLEAN,
    **dict.fromkeys(("hamming", "l1", "linf"), INDEXED),
}
"""What every operand of an operator must be; operators with unlike operands are in `_check`."""

_YIELDS: Final[Mapping[expressions.Operator, frozenset[Kind]]] = {
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "in", "not"), BOOLEAN),
    **dict.fromkeys(("div", "mod", "^", "floor", "ceil", "count", "len", "hamming"), NUMBER),
    "exp": NUMBER,
    "ln": QUANTITY,
    **dict.fromkeys(("+", "-", "/", "neg", "abs", "clamp", "l1", "linf"), QUANTITY),
    **dict.fromkeys(("sum", "min", "max"), QUANTITY),
    **dict.fromkeys(("argmax", "argmin"), NUMBER),
    "tuple": frozenset({"tuple"}),
    "array": frozenset({"array"}),
    **dict.fromkeys(("set", "range", "rounds"), SET),
}


_SINGLE_DISTANCES: Final[Mapping[expressions.Operator, str]] = {
    "hamming": "(if {} = {} then 0 else 1)",
    **dict.fromkeys(("l1", "linf"), "abs({} - {})"),
}
"""What to write for distances of arrays, of two single values."""


def _conversion(
    expr: expressions.Expr, needed: frozenset[Kind], found: frozenset[Kind]
) -> str | None:
    """Return how a Boolean is written as a number, or a number as a Boolean; None for others."""
    text = one_line(expr.span.text)
    if found <= BOOLEAN and not needed.isdisjoint(NUMBER):
        return f"(if {text} then 1 else 0)"
    return f"{text} != 0" if found <= QUANTITY and needed <= BOOLEAN else None


class KindChecker:
    """Infers kinds of expressions over variables of known kinds, reporting what cannot be.

    Without a scope it reports nothing.
    """

    def __init__(self, scope: Scope | None, environment: Environment) -> None:
        """Take the kinds of the variables; one that is not there may be anything."""
        self.scope = scope
        self.environment = environment

    def node(self, node: Node) -> None:
        """Check everything a node evaluates."""
        match node:
            case program.Branch(condition=condition):
                self.needs(condition, BOOLEAN)
            case program.Output(value=value):
                self.kinds(value)
            case program.AssignCell(index=index, within=within):
                self.needs(index, NUMBER)
                self.assigned(node)
                self.within(within)
            case program.Assign(within=within) | program.Sample(within=within):
                self.assigned(node)
                self.within(within)
            case program.Unpack(value=value):
                self.needs(value, frozenset({"tuple"}))
            case program.Forget() | program.Stop() | program.Fail():
                pass

    def within(self, domain: expressions.Expr | None) -> None:
        """Check the set a variable is declared in."""
        if domain is not None:
            self.needs(domain, SET)

    def assigned(self, node: Node) -> Kinds:
        """Return the kinds of what a node assigns."""
        match node:
            case program.Assign(value=value) | program.AssignCell(value=value):
                return self.kinds(value)
            case program.Unpack(value=value):
                return Kinds(self.kinds(value).items)
            case program.Sample(distribution=distribution):
                return self.drawn(distribution)
            case _:
                return NOTHING

    def needs(
        self, expr: expressions.Expr, needed: frozenset[Kind], *others: expressions.Expr
    ) -> Kinds:
        """Return the kinds of an operand; report it if none of them fits.

        `others` are operands whose kinds explain what is needed.
        """
        found = self.kinds(expr)
        if self.scope is not None and found.possible and found.possible.isdisjoint(needed):
            silent = KindChecker(None, self.environment)
            beside: list[tuple[Span, str]] = []
            for other in others:
                kinds = silent.kinds(other).possible
                if kinds and len(kinds) < len(EVERY):
                    beside.append((other.span, f"this is {shown(kinds)}"))
            texts = shown(needed), shown(found.possible)
            edit = _conversion(expr, needed, found.possible)
            self.scope.report(WrongKind(expr.span, *texts, tuple(beside), edit))
        return found

    def needs_bound(self, condition: expressions.Expr) -> None:
        """Report a condition of `adjacent` that is no Boolean; a distance wants its bound."""
        found = KindChecker(None, self.environment).kinds(condition).possible
        if self.scope is None or not found or not found <= QUANTITY:
            self.needs(condition, BOOLEAN)
            return
        self.kinds(condition)
        edit = f"{one_line(condition.span.text)} <= 1"
        self.scope.report(WrongKind(condition.span, shown(BOOLEAN), shown(found), edit=edit))

    def kinds(self, expr: expressions.Expr) -> Kinds:
        """Return the kinds an expression may have, checking its parts."""
        match expr:
            case expressions.Const(value=value):
                return of_value(value)
            case expressions.Var(name=name):
                return self.environment.get(name, ANY)
            case expressions.ArrayVar(cells=cells):
                items: frozenset[Kind] = frozenset()
                for cell in cells:
                    items |= self.environment.get(cell, ANY).possible
                return Kinds(frozenset({"array"}), items)
            case expressions.Logic(args=args):
                for arg in args:
                    self.needs(arg, BOOLEAN)
                return Kinds(BOOLEAN)
            case expressions.If(condition=condition, then=then, orelse=orelse):
                self.needs(condition, BOOLEAN)
                return self.kinds(then).either(self.kinds(orelse))
            case expressions.Let(name=name, value=value, body=body):
                return self.inside(name, self.kinds(value)).kinds(body)
            case expressions.Binder():
                return self.binder(expr)
            case expressions.Apply():
                return self.operation(expr)
        assert_never(expr)

    def inside(self, name: str, kinds: Kinds) -> KindChecker:
        """Return the checker with one more variable."""
        return KindChecker(self.scope, {**self.environment, name: kinds})

    def binder(self, expr: expressions.Binder) -> Kinds:
        """Return the kinds of a binder's result."""
        domain = self.needs(expr.domain, SET)
        inner = self.inside(expr.name, Kinds(domain.items))
        if expr.where is not None:
            inner.needs(expr.where, BOOLEAN)
        match expr.kind:
            case "forall" | "exists":
                inner.needs(expr.body, BOOLEAN)
                return Kinds(BOOLEAN)
            case "count":
                inner.needs(expr.body, BOOLEAN)
                return Kinds(NUMBER)
            case "set":
                return Kinds(SET, inner.kinds(expr.body).possible)
            case "product":
                inner.needs(expr.body, NUMBER)
                return Kinds(NUMBER)
            case "sum" | "max" | "min":
                return Kinds(inner.needs(expr.body, QUANTITY).possible & QUANTITY or QUANTITY)
            case "argmax" | "argmin":
                inner.needs(expr.body, QUANTITY)
                return Kinds(domain.items)
        assert_never(expr.kind)

    def operation(self, expr: expressions.Apply) -> Kinds:
        """Return the kinds of an operation's result, its operands checked."""
        op, args = expr.op, expr.args
        if self.is_distance(expr) or self.is_norm_of_single_values(expr):
            return Kinds(NUMBER)
        needed = _NEEDS.get(op)
        if needed is not None:
            found = [
                self.needs(arg, needed, *(other for other in args if other is not arg))
                for arg in args
            ]
        else:
            found = self.unlike_operands(expr)
        match op:
            case "index" | "element":
                return Kinds(found[0].items)
            case "*":
                return _product_kinds(found)
            case "+" | "-" | "neg" | "abs" | "/" | "clamp":
                is_plain = all("budget" not in kinds.possible for kinds in found)
                return Kinds(NUMBER if is_plain else QUANTITY)
            case "tuple" | "set":
                items: frozenset[Kind] = frozenset()
                for kinds in found:
                    items |= kinds.possible
                return Kinds(_YIELDS[op], items)
            case "range" | "rounds":
                return Kinds(SET, NUMBER)
            case _:
                return Kinds(_YIELDS.get(op, EVERY))

    def is_distance(self, expr: expressions.Apply) -> bool:
        """Return whether `x - x'`, or a norm of that, is written of arrays; then report it."""
        inner, norms = expr, [expr.op]
        while inner.op in ("abs", "sum") and isinstance(inner.args[0], expressions.Apply):
            inner = inner.args[0]
            norms.append(inner.op)
        arrays = expressions.ArrayVar | expressions.Var  # of others, kinds would be found twice
        if norms[-1] != "-" or not all(isinstance(arg, arrays) for arg in inner.args):
            return False
        found = frozenset[Kind]().union(*(self.kinds(arg).possible for arg in inner.args))
        if not found or not found <= INDEXED:
            return False
        norm = "l1" if "sum" in norms else "linf"
        edit = f"{norm}({', '.join(arg.span.text for arg in inner.args)})"
        self.report_distance(expr.span, QUANTITY, found, edit)
        return True

    def is_norm_of_single_values(self, expr: expressions.Apply) -> bool:
        """Return whether a distance of arrays, `l1(x, x')`, is of single values; then report it."""
        if expr.op not in _SINGLE_DISTANCES:
            return False
        silent = KindChecker(None, self.environment)
        found = [silent.kinds(arg).possible for arg in expr.args]
        single = EVERY - INDEXED if expr.op == "hamming" else QUANTITY
        if not all(kinds and kinds <= single for kinds in found):
            return False
        texts = (one_line(arg.span.text) for arg in expr.args)
        operands = (text if re.fullmatch(r"[\w'.]+", text) else f"({text})" for text in texts)
        edit = _SINGLE_DISTANCES[expr.op].format(*operands)
        self.report_distance(expr.span, INDEXED, frozenset[Kind]().union(*found), edit)
        return True

    def report_distance(
        self, span: Span, needed: frozenset[Kind], found: frozenset[Kind], edit: str
    ) -> None:
        """Report a distance that is none of such values, and how one is written."""
        if self.scope is not None:
            what = "this is computed of"
            mistake = WrongKind(span, shown(needed), shown(found), edit=edit, what=what)
            self.scope.report(mistake)

    def unlike_operands(self, expr: expressions.Apply) -> list[Kinds]:
        """Check the operands of an operator that needs different kinds at its places."""
        args = expr.args
        match expr.op:
            case "/":
                return [
                    self.needs(args[0], QUANTITY, args[1]),
                    self.needs(args[1], NUMBER, args[0]),
                ]
            case "*":
                return self.product_operands(args[0], args[1])
            case "in":
                return [self.kinds(args[0]), self.needs(args[1], SET)]
            case "index":
                return [self.needs(args[0], INDEXED), self.needs(args[1], NUMBER)]
            case "len":
                return [self.needs(args[0], COLLECTION)]
            case "sum" | "min" | "max" | "argmax" | "argmin" | "count":
                return self.collected(expr)
            case _:
                return [self.kinds(arg) for arg in args]

    def product_operands(self, left: expressions.Expr, right: expressions.Expr) -> list[Kinds]:
        """Check `left * right`: two sets, or two numbers of which one may be a budget."""
        kinds = self.kinds(left), self.kinds(right)
        needed = QUANTITY | SET
        if kinds[0].possible and kinds[0].possible <= SET:
            needed = SET
        elif kinds[0].possible and kinds[0].possible.isdisjoint(SET):
            needed = QUANTITY
        return [self.needs(left, QUANTITY | SET, right), self.needs(right, needed, left)]

    def collected(self, expr: expressions.Apply) -> list[Kinds]:
        """Check the operands of a function over one collection or over several values."""
        item = BOOLEAN if expr.op == "count" else QUANTITY
        if len(expr.args) > 1:
            return [
                self.needs(arg, item, *(other for other in expr.args if other is not arg))
                for arg in expr.args
            ]
        found = self.needs(expr.args[0], COLLECTION)
        is_wrong = found.items and found.items.isdisjoint(item)
        if self.scope is not None and is_wrong and found.possible <= COLLECTION:
            span = expr.args[0].span
            needed = f"a collection of which each element is {shown(item)}"
            self.scope.report(WrongKind(span, needed, f"one of {shown(found.items)}", ()))
        return [found]

    # --- distributions ---------------------------------------------------------------------

    def drawn(self, distribution: Distribution) -> Kinds:
        """Return the kinds of what a distribution yields, its parts checked."""
        match distribution:
            case program.Parametric():
                return self.parametric(distribution)
            case program.Branches(branches=branches):
                drawn = NOTHING
                for value, weight in branches:
                    self.needs(weight, NUMBER)
                    drawn = drawn.either(self.kinds(value))
                return drawn
            case program.Weighted():
                return self.weighted(distribution)
            case program.LetDistribution(name=name, value=value, body=body):
                return self.inside(name, self.kinds(value)).drawn(body)
            case program.ChooseDistribution(condition=condition, then=then, orelse=orelse):
                self.needs(condition, BOOLEAN)
                return self.drawn(then).either(self.drawn(orelse))
        assert_never(distribution)

    def parametric(self, distribution: program.Parametric) -> Kinds:
        """Return the kinds of what a built-in distribution yields."""
        row, items = DISTRIBUTIONS[distribution.word], NUMBER
        for parameter, argument in zip(row.parameters, distribution.arguments, strict=True):
            if parameter.kind == "set":
                items = self.needs(argument, SET).items
            else:
                self.needs(argument, NUMBER)
        if isinstance(distribution.policy, program.Policy):
            self.needs(distribution.policy.lo, NUMBER)
            self.needs(distribution.policy.hi, NUMBER)
        return Kinds(BOOLEAN if row.draws == "Boolean" else items)

    def weighted(self, distribution: program.Weighted) -> Kinds:
        """Return the kinds of the values of a weighted set."""
        domain = self.needs(distribution.domain, SET)
        inner = self.inside(distribution.name, Kinds(domain.items))
        if distribution.where is not None:
            inner.needs(distribution.where, BOOLEAN)
        inner.needs(distribution.weight, NUMBER)
        return inner.kinds(distribution.value)


def _product_kinds(found: list[Kinds]) -> Kinds:
    """Return the kinds of a product of two numbers or two sets."""
    left, right = found[0].possible, found[1].possible
    if left.isdisjoint(SET) or right.isdisjoint(SET):
        is_plain = "budget" not in left and "budget" not in right
        return Kinds(NUMBER if is_plain else QUANTITY)
    if left <= SET and right <= SET:
        return Kinds(SET, frozenset({"tuple"}))
    return Kinds(QUANTITY | SET)
