"""Short ways to write core mechanisms by hand: expressions, and statements laid out as a graph."""

from dpcheck.exact import Rational
from dpcheck.model.expressions import Apply, ArrayVar, Const, If, Logic, Var
from dpcheck.model.program import (
    AdjacentAll,
    Assign,
    AssignCell,
    Branch,
    Branches,
    Fail,
    Input,
    Mechanism,
    Output,
    Parametric,
    Policy,
    Sample,
    Stop,
    Unpack,
)
from dpcheck.model.values import SetValue, Symbol
from dpcheck.source import SourceText, Span

SPAN = Span(SourceText("test.dpm", "text"), 0, 4)


def c(value):
    return Const(value, SPAN)


def sym(name):
    return Const(Symbol(name), SPAN)


def v(name):
    return Var(name, SPAN)


def arr(name, lo, hi):
    return ArrayVar(name, lo, cells(name, lo, hi), SPAN)


def cells(name, lo, hi):
    return tuple(f"{name}[{i}]" for i in range(lo, hi + 1))


def op(name, *args):
    return Apply(name, tuple(as_expr(a) for a in args), SPAN)


def logic(name, *args):
    return Logic(name, tuple(as_expr(a) for a in args), SPAN)


def if_(condition, then, orelse):
    return If(as_expr(condition), as_expr(then), as_expr(orelse), SPAN)


def as_expr(value):
    if isinstance(value, (bool, int, Rational, Symbol, SetValue, tuple)):
        return c(value)
    if isinstance(value, str):
        return v(value)
    return value


def bernoulli(p):
    return Parametric("bernoulli", (as_expr(p),), None, SPAN)


def branches(*pairs, normalized=False):
    return Branches(tuple((as_expr(a), as_expr(w)) for a, w in pairs), normalized, SPAN)


def geometric(center, alpha, lo, hi, kind="clamped"):
    policy = Policy(kind, as_expr(lo), as_expr(hi), SPAN)
    return Parametric("geometric", (as_expr(center), as_expr(alpha)), policy, SPAN)


def scalar(name, values, *, where=None, public=False):
    return Input(name, None, (name,), domain(values), where, public, SPAN)


def array(name, lo, hi, values, *, where=None, public=False):
    return Input(name, lo, cells(name, lo, hi), domain(values), where, public, SPAN)


def domain(values):
    return values if isinstance(values, SetValue) else SetValue(values)


def symbols(*names):
    return SetValue(tuple(Symbol(name) for name in names))


def mechanism(inputs, body, adjacency=None):
    """Lay out nested statements (tuples, see `_Layout.put`) as a graph."""
    layout = _Layout()
    entry = layout.block(body, layout.add(Stop(SPAN)))
    clauses = (AdjacentAll(SPAN),) if adjacency is None else tuple(adjacency)
    return Mechanism("m", tuple(inputs), clauses, tuple(layout.nodes), entry, SPAN)


class _Layout:
    def __init__(self):
        self.nodes = []

    def add(self, node):
        self.nodes.append(node)
        return len(self.nodes) - 1

    def block(self, statements, after):
        for statement in reversed(statements):
            after = self.put(statement, after)
        return after

    def put(self, statement, after):
        kind, *rest = statement
        match kind:
            case ":=":
                target, value, *within = rest
                limit = within[0] if within else None
                return self.add(Assign(target, as_expr(value), limit, after, SPAN))
            case "[]":
                name, lo, hi, index, value = rest
                node = AssignCell(
                    name, lo, cells(name, lo, hi), as_expr(index), as_expr(value), None, after, SPAN
                )
                return self.add(node)
            case "()":
                targets, value = rest
                return self.add(Unpack(targets, as_expr(value), after, SPAN))
            case "~":
                target, distribution, *within = rest
                limit = within[0] if within else None
                return self.add(Sample(target, distribution, limit, after, SPAN))
            case "output":
                return self.add(Output(as_expr(rest[0]), after, SPAN))
            case "stop":
                return self.add(Stop(SPAN))
            case "fail":
                return self.add(Fail("a test fails", SPAN))
            case "if":
                condition, then, orelse = rest
                first, second = self.block(then, after), self.block(orelse, after)
                return self.add(Branch(as_expr(condition), first, second, False, SPAN))
            case "while":
                condition, body = rest
                head = self.add(None)
                inside = self.block(body, head)
                self.nodes[head] = Branch(as_expr(condition), inside, after, True, SPAN)
                return head
        raise AssertionError(kind)
