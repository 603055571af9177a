"""What a program does with numbers that are other numbers in the run from the neighboring input.

Law (randomness alignment). Fix a pair of neighbors. The *path* of a run is the outcome of every
comparison and of every other draw. Moving each noisy number by a shift that depends on the path
alone maps the draws of a path one to one to draws for the neighbor's input, and to the same path,
if what was found of a number f is still so where f is moved by s:

    f >= 0 or f > 0:  s >= 0        f < 0 or f <= 0:  s <= 0        f = 0, f != 0 or f shown:  s = 0

A number with center c + d in place of c, moved by s, has a probability at most r^-abs(s - d) times
smaller. Paths are disjoint events, so P(path) <= r^-cost P'(path), and with the greatest cost of a
path that holds for every set of outputs. Nothing here depends on how large the integers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar, assert_never, cast

from dpcheck.align.neighbors import Unreadable
from dpcheck.certify.moved import Items, Mixed, Moved, is_mixed, items_of
from dpcheck.diagnostics.align import MayFail, OpenRange, OutsideAlignment
from dpcheck.exact import Rational
from dpcheck.model import expressions
from dpcheck.model.evaluation import Fault, apply, described, elements_of, evaluate
from dpcheck.model.values import SetValue, Value
from dpcheck.source import Span

STILL = Moved()


Need = tuple[Moved, int]
"""What a path needs: that a number is moved by 0 (0), by at least (1) or at most 0 (-1)."""

Result = TypeVar("Result")
After = TypeVar("After")

CasesOf = list[tuple[Result, tuple[Need, ...]]]
"""How an evaluation may go: each way its result, and what keeps the neighbor's run on that way."""

Cases = CasesOf[Mixed]

IF_TRUE = {">=": 1, ">": 1, "<": -1, "<=": -1, "=": 0, "!=": 0}
"""The need of a difference that compares so with 0; where it does not, the opposite."""

WORDS: Mapping[expressions.Operator, str] = {
    "index": "an index that depends on inputs or noise",
    "set": "a set of what depends on inputs",
}
"""How operators that have no law are called where they have no sign."""


class Reader:
    """Evaluates expressions where the variables have these values."""

    def __init__(self, environment: Mapping[str, Mixed]) -> None:
        """Start with the values of all variables that may be read."""
        self.environment = environment

    def cases(self, expr: expressions.Expr) -> Cases:
        """Return all ways an expression may be evaluated; raises `Unreadable`."""
        known = self.environment
        if not any(is_mixed(known[name]) for name in expressions.reads(expr) if name in known):
            return [(self._alike(expr), ())]
        match expr:
            case expressions.Var(name=name):
                return [(known[name], ())]
            case expressions.ArrayVar(lo=lo, cells=cells):
                return [(Items(lo, tuple(known[cell] for cell in cells)), ())]
            case expressions.Apply(args=args):
                return then_each(self.each(args), lambda values: self._applied(expr, values))
            case expressions.Logic(op=op, args=args):
                return _read_in_turn(op, [(self, arg) for arg in args])
            case expressions.If(condition=condition, then=then, orelse=orelse):
                truths = self.truths(condition)
                return then_each(truths, lambda truth: self.cases(then if truth else orelse))
            case expressions.Let(name=name, value=value, body=body):
                bound = self.cases(value)
                return then_each(bound, lambda known: self.where(name, known).cases(body))
            case expressions.Binder():
                return self._binder(expr)
            case expressions.Const():
                return [(expr.value, ())]
        assert_never(expr)

    def where(self, name: str, value: Mixed) -> Reader:
        """Return the reader that knows one more variable."""
        return Reader({**self.environment, name: value})

    def alike(self, expr: expressions.Expr) -> Value:
        """Return the value of what has to be alike in both runs."""
        found = self.cases(expr)
        value = found[0][0]
        if len(found) != 1 or isinstance(value, Moved | Items) or is_mixed(value):
            raise outside(expr.span, "a value here that depends on inputs")
        return cast("Value", value)

    def truths(self, condition: expressions.Expr) -> CasesOf[bool]:
        """Return all ways a condition may be evaluated; raises `Unreadable`."""
        found = []
        for value, needs in self.cases(condition):
            if not isinstance(value, bool):
                what = "a number" if is_mixed(value) else described(cast("Value", value))
                raise may_fail(condition.span, f"a condition must be true or false, not {what}")
            found.append((value, needs))
        return found

    # --- parts -----------------------------------------------------------------------------

    def _alike(self, expr: expressions.Expr) -> Value:
        """Return a value that both runs have."""
        try:
            return evaluate(expr, cast("Mapping[str, Value]", self.environment))
        except Fault as fault:
            raise may_fail(fault.span or expr.span, fault.title) from None
        except KeyError as name:
            raise may_fail(expr.span, f"`{name.args[0]}` may have no value here") from None

    def each(self, args: Sequence[expressions.Expr]) -> CasesOf[list[Mixed]]:
        """Return the values of all operands together."""
        return _together([self.cases(arg) for arg in args])

    def _applied(self, expr: expressions.Apply, values: Sequence[Mixed]) -> Cases:
        """Return the cases of an operator on values of which some may differ."""
        match expr.op, values:
            case op, _ if not any(map(is_mixed, values)):
                return [(_value_of(op, cast("Sequence[Value]", values), expr), ())]
            case ((">=" | ">" | "<" | "<=" | "=" | "!=") as op, (left, right)):
                difference = self._number(left, expr).plus(self._number(right, expr), -1)
                _need_noise(difference, expr)
                need = IF_TRUE[op]
                return [(True, ((difference, need),)), (False, ((difference, -need),))]
            case (("+" | "-" | "neg" | "sum"), _):
                return [(self._sum(values, expr), ())]
            case "*", (Moved(is_noisy=False) as q, n) | (n, Moved(is_noisy=False) as q) if (
                type(n) is int
            ):
                return [(STILL.plus(q, n), ())]
            case (("max" | "min" | "argmax" | "argmin"), _):
                return self._extreme(values, expr)
            case "clamp", (whole, low, high) if not is_mixed((low, high)):
                _value_of("clamp", (0, cast("Value", low), cast("Value", high)), expr)
                number = self._number(whole, expr)
                _need_noise(number, expr)
                stays = ((number, 1), (number, -1))
                return [(low, ((number, -1),)), (high, ((number, 1),)), (number, stays)]
            case "in", (item, SetValue(items=range())):
                number = self._number(item, expr)
                _need_noise(number, expr)
                stays = ((number, 1), (number, -1))
                return [(True, stays), (False, ((number, 1),)), (False, ((number, -1),))]
            case "tuple", _:
                return [(tuple(values), ())]
            case "array", (int(lo), *items):
                return [(Items(lo, tuple(items)), ())]
            case "index", (Items(lo=lo, items=cells), int(i)) if 0 <= i - lo < len(cells):
                return [(cells[i - lo], ())]
            case "index", (tuple() as whole, int(i)) if 1 <= i <= len(whole):
                return [(whole[i - 1], ())]
            case "len", (Items(items=cells),):
                return [(len(cells), ())]
            case op, _:
                if op in ("range", "rounds"):
                    what = "a range whose end depends on inputs or noise"
                    raise Unreadable(OpenRange(expr.span, what))
                raise outside(expr.span, WORDS.get(op, f"`{op}`"))

    def _number(self, value: Mixed, expr: expressions.Expr) -> Moved:
        """Return how a number is moved; one that both runs have is not."""
        if isinstance(value, Moved):
            return value
        if isinstance(value, int | Rational) and not isinstance(value, bool):
            return STILL
        raise outside(expr.span, "what compares or computes with other values than numbers")

    def _sum(self, values: Sequence[Mixed], expr: expressions.Apply) -> Moved:
        """Return how a sum or difference of integers is moved."""
        total = STILL
        for i, item in enumerate(items_of(values)):
            if isinstance(item, Rational):
                raise outside(expr.span, "a sum with a fraction")
            is_subtracted = i == 1 if expr.op == "-" else expr.op == "neg"
            total = total.plus(self._number(item, expr), -1 if is_subtracted else 1)
        return total

    def _extreme(self, values: Sequence[Mixed], expr: expressions.Apply) -> Cases:
        """Return the cases of a maximum or minimum, or of the first place that has it."""
        first = values[0].lo if len(values) == 1 and isinstance(values[0], Items) else 1
        items = items_of(values)
        labels = items if expr.op in ("max", "min") else range(first, first + len(items))
        return self._best(expr.op.endswith("max"), items, labels, expr)

    def _best(
        self,
        is_greatest: bool,
        items: Sequence[Mixed],
        labels: Sequence[Mixed],
        expr: expressions.Expr,
    ) -> Cases:
        """Return the cases in which each item is the first of the greatest, or of the least."""
        numbers = [self._number(item, expr) for item in items]
        for number in numbers:
            _need_noise(number, expr)
        sign = 1 if is_greatest else -1
        return [
            (
                labels[j],
                tuple((own.plus(number, -1), sign) for i, number in enumerate(numbers) if i != j),
            )
            for j, own in enumerate(numbers)
        ]

    def _binder(self, expr: expressions.Binder) -> Cases:
        """Return the cases of a binder over a set that both runs have, element by element."""
        elements = list(elements_in(self.alike(expr.domain), expr.domain.span))
        if expr.where is not None:
            where = expr.where
            elements = [e for e in elements if self.where(expr.name, e).alike(where) is True]
        inner = [self.where(expr.name, element) for element in elements]
        if expr.kind in ("forall", "exists"):
            op: Literal["and", "or"] = "or" if expr.kind == "exists" else "and"
            return _read_in_turn(op, [(each, expr.body) for each in inner])
        bodies = _together([each.cases(expr.body) for each in inner])
        return then_each(bodies, lambda values: self._collected(expr, elements, values))

    def _collected(
        self, expr: expressions.Binder, elements: Sequence[Value], values: list[Mixed]
    ) -> Cases:
        """Return the cases of a binder whose bodies have these values."""
        match expr.kind:
            case "argmax" | "argmin" if values:
                return self._best(expr.kind == "argmax", values, elements, expr)
            case "count" | "argmax" | "argmin":  # the best of nothing is a mistake
                return [(_value_of(expr.kind, (tuple(cast("list[Value]", values)),), expr), ())]
            case "max" | "min" | "sum":
                return self._applied(expressions.Apply(expr.kind, (), expr.span), [tuple(values)])
            case _:
                raise outside(expr.span, f"`{expr.kind}`")


def then_each(ways: CasesOf[Result], after: Callable[[Result], CasesOf[After]]) -> CasesOf[After]:
    """Return the ways of what comes after each of some ways, with the needs of both."""
    return [(result, (*needs, *more)) for value, needs in ways for result, more in after(value)]


def _together(each: Sequence[Cases]) -> CasesOf[list[Mixed]]:
    """Return the values of several evaluations together."""
    found: CasesOf[list[Mixed]] = [([], ())]
    for own in each:
        found = [([*v, w], (*needs, *more)) for v, needs in found for w, more in own]
    return found


def _read_in_turn(
    op: Literal["and", "or", "implies"], operands: Sequence[tuple[Reader, expressions.Expr]]
) -> Cases:
    """Return the cases of `and`, `or`, `implies`, which read only what they need."""
    if not operands:
        return [(op == "and", ())]
    (reader, first), *rest = operands
    truths = reader.truths(first)
    if not rest:
        return [*truths]
    ends_at, result = op == "or", op != "and"  # the truth of the operand that decides the whole

    def after(truth: bool) -> Cases:
        return [(result, ())] if truth is ends_at else _read_in_turn(op, rest)

    return then_each(truths, after)


def _need_noise(number: Moved, expr: expressions.Expr) -> None:
    """Refuse to compare inputs that differ without noise: the outcomes may differ for certain."""
    if not number.is_noisy and number.by != 0:
        raise outside(expr.span, "a comparison without noise")


def _value_of(op: expressions.Operator, values: Sequence[Value], expr: expressions.Expr) -> Value:
    """Return the value of an operator on values that both runs have."""
    try:
        return apply(op, values)
    except Fault as fault:
        raise may_fail(fault.span or expr.span, fault.title) from None


def elements_in(value: Value, span: Span) -> Iterable[Value]:
    """Return the elements of a set that both runs have."""
    try:
        return elements_of(value, span)
    except Fault as fault:
        raise may_fail(span, fault.title) from None


def may_fail(span: Span, what: str) -> Unreadable:
    """Return what to raise where a run may meet a mistake."""
    return Unreadable(MayFail(span, what))


def outside(span: Span, what: str) -> Unreadable:
    """Return what to raise for a part of a program that is outside of the class."""
    return Unreadable(OutsideAlignment(span, what))
