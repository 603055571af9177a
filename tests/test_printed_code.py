"""What is printed as code is language: parsed again, it is the same tree, or means the same."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dpcheck
from dpcheck.diagnostics.syntax import LogarithmOfQuotient
from dpcheck.logic.formula_text import formula_text
from dpcheck.model import surface as s
from dpcheck.model.surface_text import written_text
from dpcheck.model.trees import descendants
from dpcheck.parse import parse_expression, parse_model
from dpcheck.parse.tokens import tokens_of
from dpcheck.report.coverage import covered_by
from dpcheck.source import SourceText
from tests.checking import check_text
from tests.parse.printing import filled, surface_text
from tests.parse.surface_trees import HERE, expressions, larger, leaves
from tests.test_random_inputs import Inputs, expected

MODELS = sorted(Path(__file__).parent.parent.glob("models/**/*.dpm"))


def claim_tree(text):
    """Return the tree of a claim."""
    result = parse_model(SourceText("test", f"check m: {text}"))
    assert not [m.title for m in result.mistakes if m.severity == "error"], text
    (question,) = result.model.items
    return question.claim


def noisy(text, seed):
    """Return a text with other white space, line breaks and comments between its tokens."""
    choose = Random(seed)
    tokens = tokens_of(SourceText("test", text)).tokens[:-1]
    pieces = [text[token.start : token.end] for token in tokens]
    gaps = ["", " ", "\n", "  ", ' # "no end (\n']
    parts = [pieces[0]]
    for (before, piece), (left, right) in zip(pairwise(pieces), pairwise(tokens), strict=True):
        touches = left.end == right.start
        parts += ["" if touches else choose.choice(gaps[1:]), piece]
        assert before
    return "".join(parts)


def test_an_adjacency_that_is_shown_as_written_has_the_values_of_its_parameters():
    model = """mechanism m(B = 2, n = 3) {
      input q[1..n] in 0..n
      adjacent exists(i in 1..n : -B <= q[i] - q'[i] <= B)
      output q[1]
    }
    check m: dp(1)"""
    (answer,) = check_text(model)["results"]
    assert answer["covers"][-1] == (
        "adjacent exists(i in 1..n : -B <= q[i] - q'[i] <= B) (1..n = 1..3, -B = -2, B = 2)"
    )


@given(expression=expressions, seed=st.integers(0, 2**32))
def test_what_the_user_wrote_is_shown_as_the_same_tree(expression, seed):
    text = noisy(surface_text(expression), seed)
    again = claim_tree(written_text(claim_tree(text), {}))
    assert again == expression, text


VALUES = ["5", "-1", "3/4", "-2/3", "true", "zz", '"a b"', '"R"', "(1, -2)", "0..3", "{1, x}"]


@given(expression=expressions, values=st.lists(st.sampled_from(VALUES), min_size=2, max_size=2))
def test_values_in_place_of_names_are_read_as_those_values(expression, values):
    """The names a and b of the trees; both ways to fill in, canonical and as written."""
    texts = dict(zip("ab", values, strict=True))
    bounds = {getattr(node, "bound", None) for node in descendants(expression)}
    in_bounds = [texts.get(bound.name) for bound in bounds if isinstance(bound, s.Name)]
    assume(not {"true", "zz", '"a b"', '"R"'} & set(in_bounds))  # bounds are numbers
    trees = {name: claim_tree(f"f({text})").arguments[0].value for name, text in texts.items()}
    wanted = filled(expression, trees)
    assert claim_tree(surface_text(wanted)) == wanted
    shown = written_text(claim_tree(surface_text(expression)), texts)
    assert claim_tree(shown) == wanted, shown


@given(
    argument=st.recursive(leaves, larger, max_leaves=5),
    divisor=st.recursive(leaves, larger, max_leaves=5),
)
def test_both_readings_of_a_logarithm_of_a_quotient_are_what_they_say(argument, divisor):
    """DP119 warns of `ln a / b` and advises two texts: the first reading is the one it has."""
    quotient = s.Arithmetic("/", argument, divisor, span=HERE)
    one = s.Number(1, 1, "1", span=HERE)
    over = surface_text(s.Arithmetic("/", one, divisor, span=HERE)).removeprefix("1")
    shown = surface_text(s.Logarithm(argument, span=HERE)) + over
    found = parse_model(SourceText("test", f"check m: {shown}"))
    warnings = [m for m in found.mistakes if isinstance(m, LogarithmOfQuotient)]
    for warning in [warning for warning in warnings if warning.written == shown]:
        other, meant = re.fullmatch(r"write `(.*)` or `(.*)`", warning.help).groups()
        left = s.Logarithm(argument, span=HERE)
        assert claim_tree(meant) == s.Arithmetic("/", left, divisor, span=HERE)
        assert claim_tree(other) == s.Logarithm(quotient, span=HERE)


def test_the_advice_beside_a_divisor_in_parentheses_keeps_them():
    found = parse_expression(SourceText("test", "ln 27 / (1 + 2)"))
    (warning,) = found.mistakes
    assert warning.title == "`ln 27 / (1 + 2)` means (ln 27)/(1 + 2)"
    assert warning.help == "write `ln(27/(1 + 2))` or `(ln 27)/(1 + 2)`"


def facts(target):
    """Return the declarations that are printed beside a verdict, as declarations."""
    shown = covered_by(target)
    inputs = next((fact for fact in shown if fact.startswith("for ")), "for ")
    adjacent = next(fact for fact in shown if fact.startswith("adjacent "))
    # A comma outside of brackets ends an input.
    depth, lines = 0, [""]
    for char in inputs.removeprefix("for "):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            lines.append("")
        else:
            lines[-1] += char
    lines = [line.strip() for line in lines if line.strip()]
    declared = [line if line.startswith("public ") else f"input {line}" for line in lines]
    return "\n".join([*declared, adjacent])


@pytest.mark.parametrize("block", range(4))
def test_the_inputs_and_adjacency_beside_a_verdict_are_declarations(block):
    """Declared anew, they give the same inputs and the same neighbors."""
    n_compared = 0
    for seed in range(block * 20, block * 20 + 20):
        text = Inputs(seed).text()
        wanted = expected(text)
        if wanted is None or not wanted[0] or text.count("  adjacent") > 1:
            continue
        first = dpcheck.loads(text).target("m")
        again = f"mechanism m {{ {facts(first._core)} s ~ {{a: 1, b: 0}} output s }}"
        second = dpcheck.loads(again).target("m")
        pairs = [target.chain().neighbors.pairs.tolist() for target in (first, second)]
        assert pairs[0] == pairs[1], again
        n_compared += 1
    assert n_compared > 3


def test_parameters_and_symbols_are_filled_in_so_that_they_are_read_again():
    text = """mechanism m(k = 1/2, low = -1, s = 0..2, "a b" = 1) {
      input f[1..2] in 0..4 where (f[1] < 4) | (f[2] - low < 4) # not all
      input a in {pos, "a", "stopped"}
      adjacent (f'[1] = 4 & f[2] / k = f'[2]) | (f[1] - (f[2] - low) in s) # "hello
         & a != "a"
      output 0
    }""".replace(', "a b" = 1', "")
    target = dpcheck.loads(text).target("m")
    assert "f'[1] = 4" in covered_by(target._core)[1]
    again = dpcheck.loads(f"mechanism m {{ {facts(target._core)} output 0 }}").target("m")
    pairs = [each.chain().neighbors.pairs.tolist() for each in (target, again)]
    assert pairs[0] == pairs[1]


def test_a_symbol_that_an_input_hides_is_quoted_in_claims():
    """`output = a` would compare with the input a."""
    text = """mechanism m { input a in {pos, neg} adjacent all output "a" }
    for v in {"a", pos} { compute m at a = pos : P=? [ X output = v ] }
    """
    shown = [result["claim"] for result in check_text(text)["results"]]
    assert shown == ['P=? [ X output = "a" ]', "P=? [ X output = pos ]"]


@pytest.mark.parametrize("path", MODELS[::9], ids=lambda path: path.stem)
def test_claims_as_shown_are_the_claims_of_the_library(path):
    """Each claim, with parameters and loop variables filled in, is asked again as it is shown."""
    model = dpcheck.load(path)
    for check in model.claims[:40]:
        at = "" if check.at_text is None else f" at {check.at_text} "
        again = model.resolved_question(f"{check.kind} {check.target_text}{at}: {check.claim_text}")
        shown = check.target_text, check.claim_text, check.at_text, list(check.atoms)
        assert shown == (again.target_text, again.claim_text, again.at_text, list(again.atoms))
        formula = getattr(check.claim, "formula", None)
        if formula is not None:
            text = formula_text(formula)
            asked = model.resolved_question(f"check {check.target_text}{at}: {text}")
            assert formula_text(asked.claim.formula) == text
