"""Text of surface expressions: canonical, with names filled in, as written."""

import pytest
from hypothesis import given

from dpcheck.model import surface as s
from dpcheck.model.surface_text import written_text
from dpcheck.parse import parse_model
from dpcheck.source import SourceText
from tests.parse.printing import filled, surface_text
from tests.parse.surface_trees import expressions


def parsed(text):
    result = parse_model(SourceText("test", f"check m: {text}"))
    assert not [m.title for m in result.mistakes if m.severity == "error"], text
    (question,) = result.model.items
    return question.claim


@given(expressions)
def test_printing_and_parsing_again_gives_the_same_tree(expression):
    text = surface_text(expression)
    again = parsed(text)
    assert again == expression, text
    assert again.span.text == text or text.startswith("(")


@pytest.mark.parametrize(
    "text",
    [
        "a + b - c", "a - (b - c)", "(a => b) => c", "a => b => c", "-a^2", "(-a)^2", "a^-b^c",
        "ln 2^3", "ln(3/2)", "(ln 3)/2", "3/4", "a * b / c", "a * (b/c)", "(a + b)/c", "0..n",
        "S * T", "a..({b})", "a clamped b..({c})",
        "0 <= x < 3", "(0 <= x) < 3", "!a & b", "!(a & b)", "a & (b & c)", "F<=3 a U b",
        "F (a U b)",
        "a U<=n/m b W c", "F output = 3", "(F output) = 3", "X X a",
        "P>=3/4 [ F Y ]",
        "P=? [ X top ] <= 1/2", "P in [1/4, 3/4] [ X a ]",
        "D{ln 2, 1/3} [ X (a & D{0} [ X b ]) ]",
        "P>=(1 - b) [ a ]", "F<=n (a | b)", "forall(v in 0..n : D{ln 2} [ F output = v ])",
        "sum(i in 1..3 where i != j : a[i])", "{r: 2^score(r) for r in S} normalized",
        "geometric(x, 1/2) clamped 0..n + 1", "f(x = a & b, (x = a & b), 3)", '"R" | q\'[1] = 2',
        '"F"(x) + 1', 'F<=3 "F"', 'X output = "U"',
        "if a then b else if c then d else e", "(if a then b else c) + 1", "{}", "{a, (b, c)}",
    ],
)  # fmt: skip
def test_canonical_text_is_kept(text):
    assert surface_text(parsed(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((a))", "a"), ("ln(3)", "ln 3"), ("ln (3)/ 2", "(ln 3)/2"), ("a  &\n b # c", "a & b"),
        ("(a & b) & c", "(a & b) & c"), ("D{ln 3}[X Y]", "D{ln 3} [ X Y ]"),
        ("(a*b)*c", "a * b * c"),
        ("P>=(3/4)[F (Y)]", "P>=3/4 [ F Y ]"), ("2^(-1)", "2^-1"),
        ("{a:1/2,b:1/2}", "{a: 1/2, b: 1/2}"),
    ],
)  # fmt: skip
def test_redundant_parentheses_and_spaces_vanish(text, canonical):
    assert surface_text(parsed(text)) == canonical


def test_free_names_are_filled_and_bound_ones_stay():
    five = parsed("5")
    filled_in = filled(parsed("k * ln 3 + sum(k in 1..k : k)"), {"k": five})
    assert surface_text(filled_in) == "5 * ln 3 + sum(k in 1..5 : k)"
    assert surface_text(filled(parsed("x^k"), {"k": parsed("-1/2")})) == "x^(-1/2)"


def test_named_arguments_keep_their_names_when_values_are_filled_in():
    model = parse_model(
        SourceText("a", "for k in 1..4 { check rr(k = k): epsilon = k * ln 3 }")
    ).model
    (loop,) = model.items
    question = loop.body[0]
    four = parsed("4")
    assert surface_text(filled(question.target, {"k": four})) == "rr(k = 4)"
    assert written_text(question.target, {"k": "4"}) == "rr(k = 4)"
    assert written_text(question.claim, {"k": "4"}) == "epsilon = 4 * ln 3"


def test_written_text_keeps_the_users_spelling_on_one_line():
    claim = parsed('D{ln k}[X\n  "a  b" # why\n & k*2 = k]')
    assert written_text(claim, {"k": "3/2"}) == 'D{ln (3/2)}[X "a  b" & (3/2)*2 = 3/2]'


def test_named_argument_is_a_comparison_where_the_function_takes_no_names():
    call = parsed("f(x = a & b, y = (c | d), z = 1 < 2)")
    texts = [surface_text(s.positional(argument)) for argument in call.arguments]
    assert texts == ["x = a & b", "y = (c | d)", "z = 1 < 2"]
    assert isinstance(s.positional(call.arguments[0]), s.Junction)
