"""Very large and very deep texts: an answer or a mistake, never a crash."""

import time

import pytest

from dpcheck.model.surface import MAX_NESTING
from dpcheck.parse import parse_expression, parse_model
from dpcheck.source import SourceText
from tests.parse.printing import surface_text

N = 10_000

DEEP = {
    "parentheses": "(" * N + "1" + ")" * N,
    "unclosed": "(" * N + "1",
    "brackets": "a[" * N + "1" + "]" * N,
    "sets": "{" * N + "1" + "}" * N,
    "calls": "f(" * N + "1" + ")" * N,
    "minus": "-" * N + "1",
    "logarithms": "ln " * N + "2",
    "not": "!" * N + "a",
    "sum": "1" + " + 1" * N,
    "power": "2" + "^2" * N,
    "implication": "a" + " => a" * N,
    "conditional": "if a then b else " * N + "c",
    "index": "a" + "[1]" * N,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_deep_expressions_are_a_mistake(text):
    for prefix in ("", "const a = "):
        parse = parse_model if prefix else parse_expression
        mistakes = parse(SourceText("a", prefix + text)).mistakes
        assert [found.code for found in mistakes] == ["DP113"]
        assert len(mistakes[0].span.text) <= 1


@pytest.mark.parametrize("text", ["X " * N + "a", "a U " * N + "b", "P>=1 [ " * N + "a" + "]" * N])
def test_deep_formulas_are_a_mistake(text):
    mistakes = parse_model(SourceText("a", f"check m: {text}")).mistakes
    assert [found.code for found in mistakes] == ["DP113"]


WIDE = {
    "and": "a" + " & a" * N,
    "or": "a" + " | a" * N,
    "comparison": "a" + " < a" * N,
    "set": "{" + "1, " * N + "1}",
    "arguments": "f(" + "1, " * N + "1)",
}


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE.keys())
def test_wide_expressions_are_fine(text):
    expression = parse_expression(SourceText("a", text)).expression
    assert surface_text(expression) == text


def test_else_if_does_not_nest():
    text = "mechanism m { if a { } " + "else if a { stop } " * N + "}"
    parsed = parse_model(SourceText("a", text))
    assert parsed.mistakes == ()
    assert len(parsed.model.items[0].body[0].branches) == N + 1


def test_deep_blocks_are_one_mistake():
    text = "mechanism m {" + "while a {" * N + "}" * N + "}\nconst b = 1"
    parsed = parse_model(SourceText("a", text))
    assert [found.code for found in parsed.mistakes] == ["DP113"]
    assert [item.name.name for item in parsed.model.items] == ["b"]


def test_the_deepest_text_that_is_accepted_can_be_printed():
    depth = MAX_NESTING
    signs = "-" * (depth - 1)
    assert surface_text(parse_expression(SourceText("a", signs + "1")).expression) == signs + "1"
    assert parse_expression(SourceText("a", "(" * depth + "1" + ")" * depth)).expression


def test_a_model_of_ten_thousand_lines_takes_seconds():
    lines = ["mechanism m {", "  input x in 0..1", "  adjacent all"]
    lines += ["  y := if x = 1 & y != 3 then f(x, 2 * y) else a[x + 1]"] * N
    lines += ["  output y", "}"]
    started = time.process_time()
    parsed = parse_model(SourceText("a", "\n".join(lines)))
    assert time.process_time() - started < 20
    assert len(parsed.model.items[0].body) == N + 1


@pytest.mark.parametrize("line", ["const a = |x - 1|", "check m dp(1)", "y := 1 1"])
def test_many_syntax_errors_take_a_time_proportional_to_their_number(line):
    def seconds(n):
        text = "mechanism m {\n  input x in 0..1\n  adjacent all\n" + f"  {line}\n" * n + "}\n"
        started = time.process_time()
        assert len(parse_model(SourceText("a", text)).mistakes) >= min(n, 200)
        return time.process_time() - started

    seconds(20)  # what is made once is made
    assert seconds(800) < 9 * seconds(200)  # 16 times as long where each looks at all before it
