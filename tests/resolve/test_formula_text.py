"""A formula as text reads back as the same formula."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.exact import Budget, compare, divide, exponential, number
from dpcheck.logic import formulas as f
from dpcheck.logic.claims import FormulaClaim
from dpcheck.logic.formula_text import formula_text
from dpcheck.model.words import KEYWORDS, OPERATOR_WORDS, is_plain
from dpcheck.source import SourceText, Span
from tests.resolve.reading import sound

HERE = Span(SourceText("test.dpm", ""), 0, 0)

CHAIN = """
chain c {
  state a : "R"; state b[i in 0..2] : d; state "if" : "two words", stopping
  adjacent a ~ "if"
}
"""
CHAIN_ATOMS = ["a", "b", "b[2]", '"if"', '"R"', '"two words"', "stopping", "stopped", "diverged"]

MECHANISM = """
mechanism m {
  input x in 0..2; input y[1..2] in {top, "U"}
  adjacent all
  output top; output bot; output "U"; output (x, 1); output y[1]
}
"""
MECHANISM_ATOMS = [
    *("top", '"U"', "output = 3", "output = -1", "abs(output - x) <= 2", "0 <= x < 2"),
    *("output in {1, (top, 1)}", "output[2] = 1/2", "stopped", "y[1] = top", "output in 0..x"),
    *("(output, x) = (1, 2)", "exists(i in 0..x : output = i)"),
]


def plain(node):
    """Return a formula as nested tuples without places."""
    if isinstance(node, tuple):
        return tuple(plain(part) for part in node)
    names = getattr(type(node), "__dataclass_fields__", None)
    if names is None or not type(node).__module__.endswith("formulas"):
        return node
    return (
        type(node).__name__,
        *(plain(getattr(node, name)) for name in names if name != "span"),
    )


def read(target, text):
    """Return the formula that a claim about the target is."""
    head, name = (CHAIN, "c") if target == "chain" else (MECHANISM, "m")
    claim = sound(f"{head}\ncheck {name}: {text}").checks[0].claim
    assert isinstance(claim, FormulaClaim)
    return claim.formula


PROBABILITIES = st.sampled_from(
    [0, 1, number(1, 2), number(3, 7), exponential(number(-1, 2)), divide(exponential(-2), 3)]
)
BUDGETS = st.sampled_from(
    [
        *(Budget.of(0), Budget.of(2), Budget.of(number(1, 2)), Budget.ln(3)),
        *(Budget.ln(3) + number(1, 2), Budget.ln(number(7, 5)) * number(1, 3)),
    ]
)
BOUNDS = st.one_of(st.none(), st.integers(0, 12))


def of_path(path):
    """Return the state formulas with an operator around a path formula."""
    comparisons = st.sampled_from([">=", ">", "<=", "<", "="])
    relation = st.tuples(comparisons, PROBABILITIES)
    interval = st.tuples(PROBABILITIES, PROBABILITIES)
    return st.one_of(
        st.builds(lambda r, p: f.ProbabilityIs((r,), p, HERE), relation, path),
        st.builds(lambda i, p: f.ProbabilityIs(_ordered(i), p, HERE), interval, path),
        st.builds(lambda e, d, p: f.Private(e, d, p, HERE), BUDGETS, PROBABILITIES, path),
    )


def _ordered(ends):
    low, high = ends if compare(*ends) <= 0 else (ends[1], ends[0])
    return (">=", low), ("<=", high)


def lifted(path):
    """Return a path formula as the resolver does: Booleans over states are states."""
    match path:
        case f.PathNot(f.Holds(state)):
            return f.Holds(f.Not(state, HERE), HERE)
        case f.PathAnd(parts) if all(isinstance(part, f.Holds) for part in parts):
            return f.Holds(f.And(tuple(part.state for part in parts), HERE), HERE)
        case f.PathOr(parts) if all(isinstance(part, f.Holds) for part in parts):
            return f.Holds(f.Or(tuple(part.state for part in parts), HERE), HERE)
        case _:
            return path


def path_formulas(state):
    """Return path formulas over state formulas."""

    def larger(path):
        several = st.lists(path, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(lambda p: lifted(f.PathNot(p, HERE)), path),
            st.builds(lambda ps: lifted(f.PathAnd(ps, HERE)), several),
            st.builds(lambda ps: lifted(f.PathOr(ps, HERE)), several),
            st.builds(lambda p: f.Next(p, HERE), path),
            st.builds(lambda p, b: f.Finally(p, b, HERE), path, BOUNDS),
            st.builds(lambda p, b: f.Globally(p, b, HERE), path, BOUNDS),
            st.builds(lambda p, q, b: f.Until(p, q, b, HERE), path, path, BOUNDS),
            st.builds(lambda p, q: f.WeakUntil(p, q, HERE), path, path),
            st.builds(lambda p, q: f.Release(p, q, HERE), path, path),
        )

    return st.recursive(state.map(lambda s: f.Holds(s, HERE)), larger, max_leaves=4)


def state_formulas(atoms):
    """Return state formulas over atoms, with formulas about paths inside."""
    leaf = st.one_of(
        st.sampled_from(atoms).map(lambda key: f.Atom(key, HERE)),
        st.booleans().map(lambda value: f.Truth(value, HERE)),
    )

    def larger(state):
        several = st.lists(state, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(lambda s: f.Not(s, HERE), state),
            st.builds(lambda s: f.And(s, HERE), several),
            st.builds(lambda s: f.Or(s, HERE), several),
            of_path(path_formulas(state)),
        )

    return st.recursive(leaf, larger, max_leaves=4)


@given(state_formulas(CHAIN_ATOMS))
@settings(max_examples=25)
def test_a_formula_about_a_chain_reads_back_as_itself(formula):
    assert plain(read("chain", formula_text(formula))) == plain(formula)


@given(state_formulas(MECHANISM_ATOMS))
@settings(max_examples=25)
def test_a_formula_about_a_mechanism_reads_back_as_itself(formula):
    assert plain(read("mechanism", formula_text(formula))) == plain(formula)


@pytest.mark.parametrize(
    "text",
    [
        "forall(v in {} : P>=1 [ X output = v ])",
        "exists(v in {} : P>=1 [ X output = v ]) | P>=0 [ exists(v in {} : F output = v) ]",
        "forall(v in 0..0 : D{0} [ F output = v ])",
        'forall(v in {"U", top} : P>=1/2 [ F v ])',
        'forall(v in {("U", -1/2), (top, 1)} : P>=1/2 [ F output = v ])',
        "P>=1/2 [ x = 1 => F top => G !top ]",
        "P>=1/2 [ if top then X bot else top W bot U top ]",
        "D{2 * ln 2, 1/8} [ (top U bot) U<=(1 + 2) !(top R bot) ]",
        "P in [exp(-2), 1] [ F<=3 G<=0 D{ln 3} [ X top ] ] & P>(exp(-1)) [ top ]",
    ],
)
def test_what_the_resolver_expands_prints_as_a_formula_of_the_same_meaning(text):
    once = read("mechanism", text)
    assert plain(read("mechanism", formula_text(once))) == plain(once)


def test_the_words_of_the_language_are_those_of_its_grammar():
    grammar = (Path(__file__).parents[2] / "grammar" / "dpm.lark").read_text("utf-8")
    terminals = re.findall(r'^[A-Z_]+(?:\.\d+)?: "([A-Za-z]+)"', grammar, re.MULTILINE)
    words = re.findall(r'"([a-z]+)"', grammar.partition("%declare")[0])
    assert {*terminals, *words} <= KEYWORDS | OPERATOR_WORDS
    assert not KEYWORDS & OPERATOR_WORDS
    assert not any(is_plain(word) for word in KEYWORDS | OPERATOR_WORDS)
