"""Path formulas on complete output sequences: a run is a finite word that repeats its last letter.

Letter 0 is the initial state, where nothing is output; then one letter an output; the last letter
is the sink, `stopped` or `diverged`, for ever. On such a word every operator is decided by looking
at finitely many letters.
"""

from __future__ import annotations

from fractions import Fraction

from dpcheck.model import surface
from tests.oracle.expressions import evaluate
from tests.oracle.values import TRUE, OracleError, Sym, integer


def path_probability(path, row, inputs, file):
    """Return the probability that a run of the input satisfies the path formula."""
    return sum(
        (p for word, p in row.items() if satisfies(path, letters(word), 0, dict(inputs), file)),
        Fraction(0),
    )


def letters(word):
    """Return the letters of (outputs, status): the initial one, the outputs, the sink."""
    outputs, status = word
    return [("initial", None), *(("output", shown) for shown in outputs), (status, None)]


def satisfies(formula, word, i, env, file):
    """Return whether the word satisfies the formula from letter i on."""

    def at(inner, j):
        return satisfies(inner, word, j, env, file)

    last = len(word) - 1
    match formula:
        case surface.Not():
            return not at(formula.operand, i)
        case surface.Junction(operator="&"):
            return all(at(operand, i) for operand in formula.operands)
        case surface.Junction():
            return any(at(operand, i) for operand in formula.operands)
        case surface.Implication():
            return not at(formula.left, i) or at(formula.right, i)
        case surface.TemporalPrefix(operator="X"):
            return at(formula.operand, min(i + 1, last))
        case surface.TemporalPrefix(operator="F"):
            return any(at(formula.operand, j) for j in seen(formula.bound, i, last, env, file))
        case surface.TemporalPrefix(operator="G"):
            return all(at(formula.operand, j) for j in seen(formula.bound, i, last, env, file))
        case surface.TemporalInfix(operator="U"):
            reached = seen(formula.bound, i, last, env, file)
            return until(formula, reached, at)
        case surface.TemporalInfix(operator="W"):
            everywhere = range(i, last + 1)
            return until(formula, everywhere, at) or all(at(formula.left, j) for j in everywhere)
        case surface.TemporalInfix(operator="R"):
            return all(
                at(formula.right, j) or any(at(formula.left, k) for k in range(i, j))
                for j in range(i, last + 1)
            )
        case surface.Binder(kind="forall" | "exists"):
            domain = evaluate(formula.domain, env, file).items
            name = formula.variable.name
            quantified = all if formula.kind == "forall" else any
            return quantified(
                satisfies(formula.body, word, i, {**env, name: v}, file) for v in domain
            )
        case _:
            return atom_holds(formula, word[i], env, file)


def seen(bound, i, last, env, file):
    """Return the letters an operator looks at: up to `bound` steps from i, or all."""
    if bound is None:
        return range(i, last + 1)
    return range(i, min(i + integer(evaluate(bound, env, file)), last) + 1)


def until(formula, reached, at):
    """Return whether the right side holds at a letter reached with the left side before it."""
    for j in reached:
        if at(formula.right, j):
            return True
        if not at(formula.left, j):
            return False
    return False


def atom_holds(atom, letter, env, file):
    """Return whether an atom holds at a letter; mistakes in it make it false."""
    kind, shown = letter
    if isinstance(atom, surface.Name) and atom.name in ("stopped", "diverged"):
        return kind == atom.name
    try:
        if kind == "output":
            value = evaluate(atom, {**env, "output": shown}, file)
            return value == TRUE or (
                isinstance(atom, surface.Name) and value == shown == Sym(atom.name)
            )
        if reads_output(atom):
            return False
        return evaluate(atom, env, file) == TRUE
    except (OracleError, AttributeError, IndexError, TypeError):
        return False


def reads_output(node):
    """Return whether the word `output` occurs in a tree."""
    if isinstance(node, surface.Name):
        return node.name == "output"
    if isinstance(node, tuple):
        return any(reads_output(inner) for inner in node)
    if hasattr(node, "__dataclass_fields__"):
        fields = (name for name in node.__dataclass_fields__ if "span" not in name)
        return any(reads_output(getattr(node, name)) for name in fields)
    return False
