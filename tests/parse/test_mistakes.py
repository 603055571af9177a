"""Syntax errors: what is said, where, and what can still be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.parse import parse_expression, parse_model
from dpcheck.parse.tables import OPERATORS, WORDS
from dpcheck.source import SourceText
from tests.parse.reading import mistakes_in

SURVEY = """mechanism survey {
  input x in {pos, neg}
  adjacent all
  y ~ bernoulli(3/4)
  output if y then x else neg
}
"""


def test_an_unclosed_mechanism_names_its_line():
    text = "mechanism m {\n  output top\n\nchain c { state s }\n"
    assert mistakes_in(text) == [
        (
            4,
            1,
            "DP102",
            "expected `}` to close the mechanism opened at line 1, found `chain`",
        )
    ]
    parsed = parse_model(SourceText("a", text))
    assert [item.name.name for item in parsed.model.items] == ["c"]
    assert {"m", "top"} <= parsed.lost_words
    assert "s" not in parsed.lost_words


def test_equals_sign_for_assignment_is_explained_and_repaired():
    text = "mechanism m { adjacent all\n x = 3\n a[1] = 2 }"
    found = mistakes_in(text)
    assert [(line, code) for line, _, code, _ in found] == [(2, "DP104"), (3, "DP104")]
    assert len(parse_model(SourceText("a", text)).model.items) == 1


def test_equals_sign_after_the_set_of_a_variable_is_no_comparison():
    found = mistakes_in(
        "mechanism m { adjacent all\n var c in 0..9 = 0\n var d in (0..9) = c\n stop }"
    )
    assert [(line, column, code) for line, column, code, _ in found] == [
        (2, 16, "DP104"),
        (3, 18, "DP104"),
    ]


def test_several_mistakes_of_one_mechanism_are_reported_at_once():
    text = """mechanism m {
  input x = 0..5
  adjacent all
  if x > 3 then { output x }
  y := (x + 1
  z := 2
  var a[5] := 0
  output x y
  return 3
}
check m dp(1)
check m: dp(1)
"""
    assert [line for line, *_ in mistakes_in(text)] == [2, 4, 6, 7, 8, 9, 11]


@pytest.mark.parametrize(
    ("text", "column", "title"),
    [
        ("check survey {1}", 14, "expected `:`, `for`, `at` or `(`, found `{`"),
        ("const a = 1 +", 14, "expected an expression, found the end of the text"),
        ("const a = (1, 2", 16, "expected `)` to close the `(` opened at line 1, found the end"),
        ("const a = f(1]", 14, "expected `)` to close the `(` opened at line 1, found `]`"),
        ("check m: P>=1 [X = 1]", 16, "`X` is the operator 'next' in a formula"),
        ("check m: exists(R in S : a)", 17, "`R` is the operator 'release' in a formula"),
        ("check m: {a for D in S} = S", 17, "`D` is the privacy operator in a formula"),
        ("const a = F b", 13, "expected an operator or the next declaration or check"),
        ("const check = 1", 7, "`check` is a reserved word, which cannot be a name"),
        ("check m: P=1 [ F R ]", 18, "`R` is the operator 'release' in a formula"),
        ("check m: P=1 [ F P ]", 18, "`P` is the probability operator in a formula"),
        ("const a = 1 == 2", 13, "`==` is written `=`"),
        ("const a = 3 # 4\n}", 1, "`}` closes nothing"),
        ("output 3", 1, "`output` belongs inside a mechanism"),
        ("const a = 2x", 11, "`2x` is neither a number nor a name"),
        ("const a = 1e999999999999999", 11, "`1e999999999999999` is too large to write down"),
        ("const a = $", 11, "stray character `$`"),
        ("const a = \0", 11, "stray character `\\x00`"),
        ('import "a', 8, "this quote is not closed before the end of the line"),
        ("const a = g(x) clamped 3", 24, "`clamped` needs a range `lo..hi` after it"),
        ("const a = sum(i : 3)", 15, "`sum` needs `name in set` before the `:`"),
        ("const a = 1 != !b", 16, "expected an expression, found `!`"),
        ("fun f(a, b = a", 12, "expected `)` or `,`, found `=`"),
        ("check m: P>=1/2 X a", 17, "expected `[`, found `X`"),
    ],
)
def test_titles_and_columns(text, column, title):
    (found,) = mistakes_in(text)
    assert found[1] == column
    assert found[3].startswith(title)


def test_a_stray_brace_does_not_spoil_what_is_before_it():
    parsed = parse_model(SourceText("a", SURVEY + "}\ncheck survey: dp(ln 3)\n"))
    assert [found.code for found in parsed.mistakes] == ["DP103"]
    assert len(parsed.model.items) == 2


def test_good_items_survive_between_bad_ones():
    lines = [
        "const a = ",
        "const b = 1",
        "const c = 1 1",
        "const d = 2",
        "const = 3",
        "const e = 3",
    ]
    parsed = parse_model(SourceText("a", "\n".join(lines)))
    assert [item.name.name for item in parsed.model.items] == ["b", "d", "e"]
    assert {"a", "c"} <= parsed.lost_words
    assert not {"b", "d", "e"} & parsed.lost_words
    assert len(parsed.mistakes) == 3


def test_logarithm_of_a_quotient_is_a_warning_and_no_error():
    parsed = parse_expression(SourceText("a", "ln 3/2"))
    assert [found.severity for found in parsed.mistakes] == ["warning"]
    assert parsed.expression is not None
    for clear in ("ln(3/2)", "(ln 3)/2", "ln(3)/2", "2/ln 3", "1/2 * ln 3"):
        assert not parse_expression(SourceText("a", clear)).mistakes


def test_an_expression_with_a_mistake_is_none():
    assert parse_expression(SourceText("a", "1 + ")).expression is None
    assert parse_expression(SourceText("a", "")).expression is None
    assert parse_expression(SourceText("a", "1; 2")).expression is None


words = st.sampled_from([*WORDS, *OPERATORS, "x", "m", "1", "2.5", '"R"', "q'", "\n", "@", "=="])


@given(st.lists(words, max_size=60).map(" ".join))
def test_any_sequence_of_words_gives_an_answer_with_places_inside_the_text(text):
    parsed = parse_model(SourceText("a", text))
    for found in parsed.mistakes:
        assert 0 <= found.span.start <= found.span.end <= len(text)
        assert found.title
        assert "None" not in found.title
    if not parsed.mistakes:
        assert all(item.span.text for item in parsed.model.items)


@given(st.text(max_size=80))
def test_any_text_gives_an_answer(text):
    parse_model(SourceText("a", text))
    parse_expression(SourceText("a", text))


@given(st.data())
def test_a_mistake_never_spoils_the_next_top_level_line(data):
    tokens = SURVEY.split()
    position = data.draw(st.integers(1, len(tokens) - 1))
    operation = data.draw(st.sampled_from(["drop", "insert", "replace"]))
    word = data.draw(words)
    changed = list(tokens)
    match operation:
        case "drop":
            del changed[position]
        case "insert":
            changed.insert(position, word)
        case _:
            changed[position] = word
    text = " ".join(changed) + "\nconst last = 5\nconst more = 6\n"
    names = [
        item.name.name
        for item in parse_model(SourceText("a", text)).model.items
        if hasattr(item, "name")
    ]
    assert names[-1:] == ["more"]


def test_a_range_without_its_end_is_not_taken_for_the_head_of_a_block():
    text = (
        "mechanism m { input x[1..2] in 0..1 adjacent forall(i in 1.. : x[i] = x'[i]) output x[1] }"
    )
    (found,) = parse_model(SourceText("a.dpm", text)).mistakes
    assert "give the range its end, as in `1..n`" in found.help


@pytest.mark.parametrize(
    ("written", "titles"),
    [
        ("ln 1/8", ["`ln 1/8` means (ln 1)/8"]),
        ("-ln 1/8", ["`-ln 1/8` means (-ln 1)/8"]),
        ("1 - ln 1/8", ["`ln 1/8` means (ln 1)/8"]),
        ("-(ln 1)/8", []),
        ("-(ln 1/8)", ["`ln 1/8` means (ln 1)/8"]),
    ],
)
def test_the_logarithm_of_a_quotient_is_asked_about(written, titles):
    parsed = parse_model(SourceText("a", f"const a = {written}"))
    assert [mistake.title for mistake in parsed.mistakes] == titles
