"""Sums and products of many terms: the same values, in trees of few levels."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from dpcheck.parse.build import TERMS_IN_A_ROW
from dpcheck.parse.parse import parse_expression
from dpcheck.source import SourceText
from tests.checking import check_text, verdicts

ROW = TERMS_IN_A_ROW


def long_text(rng, n_terms, operators):
    """Return n random terms with operators between them, some in brackets."""
    parts = []
    for k in range(n_terms):
        term = str(rng.randint(1, 9))
        if rng.random() < 0.1:
            term = f"({term} {rng.choice('+-*')} {rng.randint(10, 20)})"
        parts += [rng.choice(operators), term] if k else [term]
    return " ".join(parts)


def python_value(text):
    """Return the value that Python's own rules give."""
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    exact = "".join(f"Fraction({word})" if word.isdigit() else word for word in words)
    return eval(exact, {"Fraction": Fraction})


@pytest.mark.parametrize("operators", ["+", "+-", "*", "*/", "+-*/", "-", "/"])
@pytest.mark.parametrize("n_terms", [2, ROW, ROW + 1, ROW + 2, 2 * ROW + 1, 140])
def test_long_sums_and_products_have_their_value(operators, n_terms):
    rng = random.Random(f"{operators} {n_terms}")
    text = long_text(rng, n_terms, operators)
    value = python_value(text)
    model = f"mechanism m {{ input x in 0..1 adjacent all output {text} }}\n"
    assert verdicts(check_text(f"{model}check m: P=1 [ X output = {value} ]")) == ["holds"]


@pytest.mark.parametrize("operator", ["+", "*"])
def test_thousands_of_terms_are_no_nesting(operator):
    text = f" {operator} ".join(["1"] * 5000)
    parsed = parse_expression(SourceText("text", text))
    assert parsed.mistakes == ()
    value = 5000 if operator == "+" else 1
    model = f"const total = {text}\nmechanism m {{ input x in 0..1 adjacent all output total }}\n"
    assert verdicts(check_text(f"{model}check m: P=1 [ X output = {value} ]")) == ["holds"]


def test_a_term_of_another_kind_is_found_at_its_place():
    text = " + ".join(["1"] * 100 + ["true"] + ["1"] * 100)
    report = check_text(f"const total = {text}\n")
    (error,) = report["errors"]
    assert (error["code"], error["line"]) == ("DP504", 1)
    assert error["column"] > len("const total = ") + 4 * 64
