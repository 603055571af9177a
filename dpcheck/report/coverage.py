"""What a verdict about a target covers, in words: the inputs and who is whose neighbor."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpcheck.exact import Rational
from dpcheck.model import program, trees
from dpcheck.model.expressions import Apply, ArrayVar, Binder, Const, Expr, Logic, Var
from dpcheck.model.surface_text import one_line
from dpcheck.model.values import SetValue, Symbol, Value, value_text

_ENDS_SHOWN = 3
"""Initial states that are named."""
_PAIRS_SHOWN = 4
"""Pairs of neighbors that are named."""
_LONGEST_VALUE = 40
"""Characters of a parameter with its value; longer ones, tables, are not shown."""


def covered_by(target: program.Target) -> tuple[str, ...]:
    """Return the facts to put beside every verdict: the box of inputs, then the adjacency."""
    if isinstance(target, program.Mechanism):
        taken = frozenset(declared.name for declared in target.inputs)  # a symbol is in quotes then
        return (*_inputs(target, taken), *_adjacency(target, taken), *_priors(target))
    return _chain_facts(target)


def _inputs(mechanism: program.Mechanism, taken: frozenset[str]) -> tuple[str, ...]:
    """Return `for x in 0..5, public t in 0..3`."""
    inputs = ", ".join(_input_text(declared, taken) for declared in mechanism.inputs)
    return (f"for {inputs}",) if inputs else ()


def _input_text(declared: program.Input, taken: frozenset[str]) -> str:
    public = "public " if declared.is_public else ""
    index = ""
    if declared.lo is not None:
        last = "" if declared.is_stream else declared.lo + len(declared.cells) - 1
        index = f"[{declared.lo}..{last}]"
    where = "" if declared.where is None else f" where {_condition_text(declared.where, taken)}"
    return f"{public}{declared.name}{index} in {value_text(declared.domain, taken)}{where}"


def _source_text(expr: Expr, taken: frozenset[str]) -> str:
    """Return an expression as the user wrote it, in one line, and the values of its parameters."""
    whole, values, waiting = expr.span, dict[str, str](), list[object]([expr])
    while waiting:
        part = waiting.pop()
        waiting += reversed(trees.parts(part))
        if not isinstance(part, Const) or part.span == whole:  # so is a 0 that no text has
            continue
        if whole.start <= part.span.start < whole.end:
            text = one_line(part.span.text)
            if re.search(r"[^\W\d]", text):
                values[text] = value_text(part.value, taken)
    said = [f"{name} = {value}" for name, value in values.items() if name != value]
    said = [each for each in said if len(each) <= _LONGEST_VALUE]
    return one_line(whole.text) + (f" ({', '.join(said)})" if said else "")


_INFIX = {
    "=": 1, "!=": 1, "<": 1, "<=": 1, ">": 1, ">=": 1, "in": 1, "range": 2, "+": 3, "-": 3,
    "*": 4, "/": 4, "div": 4, "mod": 4,
}  # fmt: skip
_PREFIX = {"abs", "sum", "min", "max", "len", "floor", "ceil", "hamming", "l1", "linf"}
_JOINED = {"and": " & ", "or": " | ", "implies": " => "}


def _condition_text(expr: Expr, taken: frozenset[str]) -> str:
    """Return a condition with the values its parameters have; as written where that is unclear."""
    text = _filled_in(expr, taken)
    return _source_text(expr, taken) if text is None else text[0]


def _filled_in(expr: Expr, taken: frozenset[str]) -> tuple[str, int] | None:
    """Return the text of an expression and how tightly it binds, or None for rarer shapes."""
    match expr:
        case Const(value=value):
            return value_text(value, taken), _tightness(value)
        case Var(name=name) | ArrayVar(name=name):
            return name, 9
        case Apply(op=op, args=(left, right)) if op in _INFIX:
            word = ".." if op == "range" else f" {op} "
            parts = _operands((left, right), _INFIX[op], taken)
            return None if parts is None else (word.join(parts), _INFIX[op])
        case Apply(op=op, args=args) if op in _PREFIX:
            parts = _operands(args, -1, taken)
            return None if parts is None else (f"{op}({', '.join(parts)})", 9)
        case Logic(op=op, args=args):
            parts = _operands(args, 0, taken)
            return None if parts is None else (_JOINED[op].join(parts), 0)
        case Binder(name=name, kind=kind, domain=domain, where=None, body=body) if not (
            expr.span.text.startswith(kind)  # else it is what a prior asks of its weights
        ):
            parts = _operands((domain, body), -1, taken)
            bound = name.partition("#")[0]
            return None if parts is None else (f"{kind}({bound} in {parts[0]} : {parts[1]})", 9)
        case _:
            return None


def _tightness(value: Value) -> int:
    """Return how tightly the text of a value binds."""
    match value:
        case bool() | Symbol() | tuple():
            return 9
        case SetValue(items=items):
            return _INFIX["range"] if isinstance(items, range) and items else 9
        case int():
            return 9 if value >= 0 else 5
        case Rational():
            return _INFIX["/"]
        case _:
            return 0


def _operands(args: Sequence[Expr], outer: int, taken: frozenset[str]) -> list[str] | None:
    """Return the texts of operands, in parentheses where they bind no tighter than `outer`."""
    texts = []
    for arg in args:
        part = _filled_in(arg, taken)
        if part is None:
            return None
        texts.append(part[0] if part[1] > outer else f"({part[0]})")
    return texts


def _adjacency(mechanism: program.Mechanism, taken: frozenset[str]) -> tuple[str, ...]:
    texts: list[str] = []
    for clause in mechanism.adjacency:
        match clause:
            case program.AdjacentAll():
                texts.append("all")
            case program.AdjacentWhere(condition=condition):
                texts.append(_condition_text(condition, taken))
            case program.AdjacentPairs(pairs=pairs):
                shown = [value_text(pair, taken) for pair in pairs[:_PAIRS_SHOWN]]
                more = ["..."] if len(pairs) > _PAIRS_SHOWN else []
                texts.append(", ".join(shown + more))
    return ("adjacent " + " or ".join(texts),) if texts else ()


def _priors(mechanism: program.Mechanism) -> tuple[str, ...]:
    """Return `prior others ~ binomial(2, p)` for each, as written."""
    draws = (node for node in mechanism.nodes if isinstance(node, program.Sample))
    return tuple(one_line(draw.span.text) for draw in draws if draw.is_prior)


def _chain_facts(chain: program.ExplicitChain) -> tuple[str, ...]:
    """Return the initial states and the adjacency of an explicit chain, as written."""
    facts = []
    if chain.initial is not None:
        states = [one_line(state.span.text) for state in chain.initial]
        more = ", ..." if len(states) > _ENDS_SHOWN else ""
        facts.append("from " + ", ".join(states[:_ENDS_SHOWN]) + more)
    texts = [one_line(clause.span.text) for clause in chain.adjacency]
    clauses = [text.removeprefix("adjacent").strip() for text in texts]
    if clauses:
        more = ", ..." if len(clauses) > _PAIRS_SHOWN else ""
        facts.append("adjacent " + ", ".join(clauses[:_PAIRS_SHOWN]) + more)
    return tuple(facts)
