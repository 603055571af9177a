"""A misspelt keyword is named, with the word that was probably meant."""

from __future__ import annotations

import pytest

from dpcheck.diagnostics.syntax import Unexpected
from dpcheck.parse import parse_expression, parse_model
from dpcheck.source import SourceText

ITEMS = {
    "mechansim m { }": "mechanism",
    "Mechanism m { }": "mechanism",
    "chek m: dp(1)": "check",
    "CHECK m: dp(1)": "check",
    "refut m: dp(1)": "refute",
    "comput m: epsilon": "compute",
    'impotr "b.dpm"': "import",
    "cons a = 1": "const",
}
STATEMENTS = {
    "adjacnt all": "adjacent",
    "inptu x in 0..1": "input",
    "ouput y": "output",
    "outputs y": "output",
    "whle y < 1 { y := 1 }": "while",
    "fr i in 0..1 { y := i }": "for",
    "y ~ geometric(x, 1/2) clampd 0..1": "clamped",
}


def first(text):
    return parse_model(SourceText("test.dpm", text)).mistakes[0]


@pytest.mark.parametrize(("text", "meant"), ITEMS.items())
def test_what_begins_an_item_is_named(text, meant):
    found = first(f"const one = 1\n{text}\n")
    assert isinstance(found, Unexpected)
    assert found.help == f"did you mean `{meant}`?"
    assert found.span.text == text.split()[0]


@pytest.mark.parametrize(("text", "meant"), STATEMENTS.items())
def test_what_begins_a_statement_is_named_at_its_own_place(text, meant):
    found = first(f"mechanism m {{\n  y := 0\n  {text}\n  output y\n}}\n")
    assert isinstance(found, Unexpected)
    assert found.help == f"did you mean `{meant}`?"
    assert found.span.text == ("clampd" if meant == "clamped" else text.split()[0])


@pytest.mark.parametrize(("text", "meant"), [("stat a", "state"), ("observed b", "observe")])
def test_so_it_is_in_a_chain(text, meant):
    found = first(f"chain c {{\n  state s\n  {text}\n}}\n")
    assert isinstance(found, Unexpected)
    assert (found.help, found.span.text) == (f"did you mean `{meant}`?", text.split()[0])


def test_after_an_expression_that_is_complete_only_the_end_is_expected():
    (found,) = parse_expression(SourceText("-D", "3; check m: dp(1)")).mistakes
    assert "expected ," not in found.title
