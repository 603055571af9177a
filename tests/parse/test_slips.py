"""What is plainly meant is mended: one mistake each, and what it advises makes the text right."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpcheck
from dpcheck.model.words import KEYWORDS, OPERATOR_WORDS
from dpcheck.parse import parse_model
from dpcheck.parse.slips.slips import slips_in
from dpcheck.parse.tables import WORDS
from dpcheck.parse.tokens import tokens_of
from dpcheck.source import SourceText
from tests.advice import after_advice
from tests.checking import check_text

IN_A_MECHANISM = {
    "return x": "output x",
    "print(x)": "output (x)",
    "y := x return y": "y := x output y",
    "y ~ geometric(x, 1/2) unbounded return y": "y ~ geometric(x, 1/2) unbounded output y",
    "adjacent x ~ x'": "adjacent abs(x - x') <= 1",
    "y := count(i in 0..3 where i = max(x, 1))": "y := count(i in 0..3 : i = max(x, 1))",
    "y := sum(x * i for i in 1..3)": "y := sum(i in 1..3 : x * i)",
    "y := max([x - i for i in 1..3 if i != x])": "y := max(i in 1..3 where i != x : x - i)",
    "if any(x = i for i in 1..3) { stop }": "if exists(i in 1..3 : x = i) { stop }",
    "if exists i in 1..3: x = i { stop }": "if exists(i in 1..3 : x = i) { stop }",
    "z := exists i in 1..3: x = i": "z := exists(i in 1..3 : x = i)",
    "if exists i: x = i { stop }": "if exists(i in 1..3 : x = i) { stop }",
    "if forall i in {1, 2}: x = i { stop }": "if forall(i in {1, 2} : x = i) { stop }",
    "y ~ uniform(0..2 * 1..3)": "y ~ uniform((0..2) * (1..3))",
    "y ~ uniform(-1..2 * -1..3)": "y ~ uniform((-1..2) * (-1..3))",
    "if (x, x) in 0..x * 1..n { stop }": "if (x, x) in (0..x) * (1..n) { stop }",
    "halt": "stop",
    "if x = 1 { exit() }": "if x = 1 { stop }",
    "if x = 1 { stop() }": "if x = 1 { stop }",
    "return()": "stop",
    "if x = 1 { pass } else { stop }": "if x = 1 { } else { stop }",
    "repeat { c := x } until c = 1": "while true { c := x if c = 1 { break } }",
    "do { c := x } while c = 1": "while true { c := x if !(c = 1) { break } }",
    "if x = 1 { stop  else { output 2 }": "if x = 1 { stop } else { output 2 }",
    "foreach i in 0..1 { stop }": "for i in 0..1 { stop }",
    "for each i in 0..1 { stop }": "for i in 0..1 { stop }",
    "for (i = 0; i < 3; i++) { stop }": "for i in 0..3 - 1 { stop }",
    "for i = 0..1 { stop }": "for i in 0..1 { stop }",
    "for i in 1 to 3 { stop }": "for i in 1 .. 3 { stop }",
    "loop { stop }": "while true { stop }",
    "while x = 1 do { stop }": "while x = 1 { stop }",
    "repeat 3 times { stop }": "repeat 3 { stop }",
    "let z := 3": "z := 3",
    "c += x": "c := c + x",
    "c++": "c := c + 1",
    "y <- x": "y := x",
    "y <- uniform(0..3)": "y ~ uniform(0..3)",
    "y <-$ uniform(0..3)": "y ~ uniform(0..3)",
    "y ~~ uniform(0..3)": "y ~ uniform(0..3)",
    "if x = 1 and y = 2 { stop }": "if x = 1 & y = 2 { stop }",
    "if x = 1 or not x = 2 { stop }": None,
    "if x not in {1, 2} { stop }": "if !(x in {1, 2}) { stop }",
    "if x = 1 { stop } elif x = 2 { stop }": "if x = 1 { stop } else if x = 2 { stop }",
    "if x = 1 then output a else output b": "if x = 1 { output a } else { output b }",
    "if x = 1 then { output a }": "if x = 1 { output a }",
    "if x = 1 output a": "if x = 1 { output a }",
    "if x = 1: output a": "if x = 1 { output a }",
    "y := x = 1 ? 2 : 3": "y := if x = 1 then 2 else 3",
    "y := 2 if x = 1 else 3": "y := if x = 1 then 2 else 3",
    "y := |x - 2|": "y := abs(x - 2)",
    "y := [1, 2]": "y := (1, 2)",
    "v := [0, 0, 0] v[2] := x": "var v[1..3] := 0 v[2] := x",
    "v := [x, x] v[0] := 1": "var v[0..1] := x v[0] := 1",
    "v := [0, 1] v[2] := x": "v := (0, 1) v[2] := x",
    "y := 2 x": "y := 2 * x",
    "y := 2(x + 1)": "y := 2 * (x + 1)",
    "y := 1,000,000": "y := 1000000",
    "y ~ bernoulli(75%)": "y ~ bernoulli(75/100)",
    "y ~ geometric(x, 1/2) clamped [0, 3]": "y ~ geometric(x, 1/2) clamped 0..3",
    "y ~ geometric(x, 1/2) truncated 0..3": "y ~ geometric(x, 1/2) clamped 0..3",
    "y ~ geometric(x, 1/2) clamped(0, 3)": "y ~ geometric(x, 1/2) clamped 0..3",
    "output x, 3": "output (x, 3)",
    "output = x": "output x",
    "output ~ uniform(0..3)": "y ~ uniform(0..3) output y",
    "z : = x": "z := x",
    "if x ! = 1 { stop }": "if x != 1 { stop }",
    "if x = < 1 { stop }": "if x <= 1 { stop }",
    "y := max(1 if x = 2 else 3, 0)": "y := max(if x = 2 then 1 else 3, 0)",
    "output := x": "output x",
    "z ~ [0: 1/2, x: 1/2]": "z ~ {0: 1/2, x: 1/2}",
    "input z in [0, 3]": "input z in 0..3",
    "input z in [0, 1, 2]": "input z in {0, 1, 2}",
    "input z in [0..3]": "input z in 0..3",
    "input z in 0:3": "input z in 0..3",
    "y, z ~ uniform(0..3)": "y ~ uniform(0..3) z ~ uniform(0..3)",
    "y, z ~ pair(x)": "(y, z) ~ pair(x)",
    "y, z := (0, 1)": "(y, z) := (0, 1)",
    "input z: int in 0..3": "input z in 0..3",
    "input z: int": "input z in 0..3",
    "public z: bool": "public z in {false, true}",
    "input z : 0..3": "input z in 0..3",
    "input int z in 0..3": "input z in 0..3",
    "private z in 0..3": "input z in 0..3",
    "neighbors |x - x'| <= 1": None,
    "adjacent ||x - x'||_1 <= 1": "adjacent l1(x, x') <= 1",
    "adjacent ||x - x'||_inf <= 1": "adjacent linf(x, x') <= 1",
}
AT_TOP_LEVEL = {
    "check m: dp(3 ln 2)": "check m: dp(3 * ln 2)",
    "check m: dp(n ln 2)": "check m: dp(n * ln 2)",
    "check m: dp ln 2": "check m: dp(ln 2)",
    "check m: dp ln 2 + n": "check m: dp(ln 2 + n)",
    "check m: dp 1/2": "check m: dp(1/2)",
    "check m: zcdp ln 2": "check m: zcdp <= ln 2",
    "check m: delta 1/2": "check m: delta <= 1/2",
    "check m: delta eps": "check m: delta(eps)",
    "check m: dp(log 2)": "check m: dp(ln 2)",
    "check m dp(1)": "check m: dp(1)",
    "check m with n = 3: dp(1)": "check m(n = 3): dp(1)",
    "check m(n = 3) with k = 3: dp(1)": "check m(n = 3, k = 3): dp(1)",
    "check m with x = 3: dp(1)": "check m at x = 3: dp(1)",
    "check m: dp(1) and P>=1/2 [ X a ]": "check m: dp(1) check m: P>=1/2 [ X a ]",
    "refute m: dp(1) and P>=1/2 [ X a ]": "refute m: dp(1) & P>=1/2 [ X a ]",
    "check m: P< =1/2 [ next a ]": None,
    "check m: P<=1/2 [ a until b ]": "check m: P<=1/2 [ a U b ]",
    "check m satisfies dp(1)": "check m: dp(1)",
    "check m |= dp(1)": "check m: dp(1)",
    "check m.epsilon = 1": "check m:epsilon = 1",
    "check epsilon = 1 : m": "check m: epsilon = 1",
    "check dp(1)": "check m: dp(1)",
    "check epsilon <= 1": "check m: epsilon <= 1",
    "check: dp(1)": "check m: dp(1)",
    "assert m: dp(1)": "check m: dp(1)",
    "check m: D_{ln 2, 0} [ X a ]": "check m: D{ln 2, 0} [ X a ]",
    "import noise": 'import "noise.dpm"',
    "import noise  # of ours": 'import "noise.dpm"  # of ours',
    "check m: P=1 [ F[0,3] a ]": "check m: P=1 [ F<=3 a ]",
    "check m: P=1 [ a U[0, n] b ]": "check m: P=1 [ a U<=n b ]",
    "check m: P=1 [ F[1, n] a ]": "check m: P=1 [ X F<=(n - 1) a ]",
    "check m: P=1 [ F[2,5] a ]": "check m: P=1 [ X X F<=(5 - 2) a ]",
    "check m: P=1 [ !G>=3 a ]": "check m: P=1 [ !X X X G a ]",
    "check m: P=1 [ G[2] a ]": "check m: P=1 [ G<=2 a ]",
    "check m: P=1 [ forall v in 0..1: F output = v ]": (
        "check m: P=1 [ forall(v in 0..1 : F output = v) ]"
    ),
    "check m: a & !forall v in 0..1: output = v": "check m: a & !forall(v in 0..1 : output = v)",
    "check m: dp{ln 2, 1/4}": "check m: dp(ln 2, 1/4)",
    "check m: delta{ln 2} <= 1/4": "check m: delta(ln 2) <= 1/4",
    "check m: D(ln 2) [ X a ]": "check m: D{ln 2} [ X a ]",
    "check m: D{ln 2} ( X a )": "check m: D{ln 2} [ X a ]",
    "check m: P_{>=1/2} [ X a ]": "check m: P>=1/2 [ X a ]",
    "check m: P>=1/2 ( X a )": "check m: P>=1/2 [ X a ]",
    "check m: P>=exp(-1)/2 [ X a ]": "check m: P>=(exp(-1)/2) [ X a ]",
    "check m: P>=exp(-1)/2 [ X a = q[1] ]": "check m: P>=(exp(-1)/2) [ X a = q[1] ]",
    "check m: P>= exp(-1) [ X a ]": "check m: P>= (exp(-1)) [ X a ]",
    "check m: P>=exp (-n) [ X a ] & a": "check m: P>=(exp (-n)) [ X a ] & a",
    "check m: P<=1/2+1/4 [ P>=1 [ X a ] ]": "check m: P<=(1/2+1/4) [ P>=1 [ X a ] ]",
    "check m: P<=1 [ F P>=2*n [ X a ] ]": "check m: P<=1 [ F P>=(2*n) [ X a ] ]",
    "check m: P<(1/2)/3 [ X a ]": "check m: P<((1/2)/3) [ X a ]",
    "check m: P=1/2/3 [ X a ]": "check m: P=(1/2/3) [ X a ]",
    "check m: P>=-n [ X a ]": "check m: P>=(-n) [ X a ]",
    "check m: P>=1/ln 2 [ X a ]": "check m: P>=(1/ln 2) [ X a ]",
    'check m: P>="a b" * 2 [ X a ]': 'check m: P>=("a b" * 2) [ X a ]',
    "check m: E<=1/2+1/4 [ output ]": "check m: E<=(1/2+1/4) [ output ]",
    "check m: E<=-1/2 * n [ output ]": "check m: E<=(-1/2 * n) [ output ]",
    "check m: P>=n ( X a )": "check m: P>=n [ X a ]",
    "check m: P>=1% [ X a ]": "check m: P>=1/100 [ X a ]",
    "check m: Pmax=? [ X a ] = 1": "check m: P=? [ X a ] = 1",
    "check m: P=? [ X D(ln 2, 0) [ X a ] ]": "check m: P=? [ X D{ln 2, 0} [ X a ] ]",
    "check m: P=1 [ <> a ]": "check m: P=1 [ F a ]",
    "check m: P=1 [ [] a ]": "check m: P=1 [ G a ]",
    "check m: P=1 [ not X a ]": "check m: P=1 [ !X a ]",
    "const int k = 3": "const k = 3",
    "chain c {\n state s, t }": "chain c {\n state s state t }",
    "chain c {\n state s state t\n s -> 1/2 s + 1/2 t }": None,
    "chain c {\n state s state t\n s ~ t }": "chain c {\n state s state t\n adjacent s ~ t }",
    "chain c {\n state s : init }": "chain c {\n state s init s }",
    "check m: s |= P=1 [ X a ]": "check m at s: P=1 [ X a ]",
    "check m, x = 3: dp(1)": "check m at x = 3: dp(1)",
    "check m at q = [0, 1+1]: dp(1)": "check m at q[1] = 0 & q[2] = 1+1: dp(1)",
    "check m: P=1 [ X output = [0, 1] ]": "check m: P=1 [ X (output[1] = 0 & output[2] = 1) ]",
    "check m at q = [(0, 1), 1]: dp(1)": "check m at q = ((0, 1), 1): dp(1)",
    "check m at x = 3 for p in (0, 1/2]: dp(1)": "check m for p in (0, 1/2] at x = 3: dp(1)",
    "check m: P[X a] >= 1/2": "check m: P>=1/2 [X a]",
    "check m: P[X output >= 0] >= 0.5": "check m: P>=0.5 [X output >= 0]",
    "check m: P[X a] >= 1/2 + 1/10": "check m: P>=(1/2 + 1/10) [X a]",
    "check m: P[X a] = 0.5": "check m: P=0.5 [X a]",
    "check m: P[X a] > exp(-n) & a": "check m: P>(exp(-n)) [X a] & a",
    "check m: P[X a] <= 1e-3 & P[X a = 0] >= 1/8": None,
    "check m: P [ X a ] = ?": "check m: P=? [ X a ]",
    "check m: P(X (a)) >= 1/4": "check m: P>=1/4 [X (a)]",
    "check m: Prob[X a] > 0.25 and a": None,
    "check m: E[output] <= -1/2": "check m: E<=-1/2 [output]",
    "check m: D[ln 2, 0] (X a)": None,
    "check m^10: dp(1)": "check compose(m, 10): dp(1)",
    "forall k in 0..1 { check m: dp(k) }": "for k in 0..1 { check m: dp(k) }",
    "for k in 0..1: check m: dp(k)": "for k in 0..1 { check m: dp(k) }",
    "const k 3": "const k = 3",
    "k = 3": "const k = 3",
    "let k = 3": "const k = 3",
    "from std import survey": "import std.survey",
    'include "a.dpm"': 'import "a.dpm"',
    "float eps = 1": "const eps = 1",
    "mechanism q(float eps) { output eps }": "mechanism q(eps) { output eps }",
    "mechanism q(eps: float = 1) { output eps }": "mechanism q(eps = 1) { output eps }",
    "check m: epsilon = ln(8) for p in (0,1/2]": "check m for p in (0,1/2]: epsilon = ln(8)",
    "compute m: epsilon for all p in [1/2, 1) # a": "compute m for p in [1/2, 1): epsilon # a",
    "compute m: epsilon for p in {1/2}": "compute m for p in [1/2, 1/2]: epsilon",
    "check m for p in {1/2} at x = 1: dp(1)": "check m for p in [1/2, 1/2] at x = 1: dp(1)",
    "param p > 0\ncheck m for p = 1/2: dp(1)": "param p > 0\ncheck m for p in [1/2, 1/2]: dp(1)",
    "param p > 0\ncheck m for p >= 1: dp(1)": "param p > 0\ncheck m for p in [1, inf): dp(1)",
    "param p in [0, 1)\ncheck m where p < 1/2: dp(1)": (
        "param p in [0, 1)\ncheck m for p in [0, 1/2): dp(1)"
    ),
    "check m for all p: dp(1)": "check m: dp(1)",
    "check m for p in 0..1 at x = 1: dp(1)": "check m for p in (0, 1) at x = 1: dp(1)",
    "check m for p in 1..2: dp(1)": "check m for p in [1, 2]: dp(1)",
    "check m for p in {1/4, 3/4}: dp(p)": (
        "for p in {1/4, 3/4} { check m for p in [p, p]: dp(p) }"
    ),
    "param p, q in (0, 1)": "param p in (0, 1) param q in (0, 1)",
    "param p in ]0, 1[": "param p in (0, 1)",
    "param p in ]0, 1/2]": "param p in (0, 1/2]",
    "param p in [0, 1[": "param p in [0, 1)",
    "param p = 1/2": "const p = 1/2",
    "param p >= 0": "param p in [0, inf)",
    "param 0 < p <= 1/2": "param p in (0, 1/2]",
    "param p in 0..1": "param p in (0, 1)",
    "param p in 1..5": "param p in [1, 5]",
    "check m for p in (0, 1/4) and (3/4, 1): dp(1)": (
        "check m for p in (0, 1/4): dp(1) check m for p in (3/4, 1): dp(1)"
    ),
    "check m for all p in (0, 1): dp(1)": "check m for p in (0, 1): dp(1)",
    "check m: P>=1 [ X a ] at x = 1": "check m at x = 1: P>=1 [ X a ]",
    "-- a comment\nconst k = 3": "# a comment\nconst k = 3",
    "const k = 3 -- of all of them": "const k = 3 # of all of them",
    "% a comment\nconst k = 3": "# a comment\nconst k = 3",
    "def q(k) {\n  output k\n}": "mechanism q(k) {\n  output k\n}",
    "def f(k) = k + 1": "fun f(k) = k + 1",
    "mechanism q:\n  if n = 3:\n    stop\n  output a\n": None,
    "mechanism q {\n  fun f(a) = a\n  output f(3)\n}": None,
    "mechanism q {\n  param eps > 0\n  output 3\n}": None,
    "mechanism q {\n  if n = 3 {\n    stop\n  else {\n    output a\n  }\n}": None,
}
FRAME = """const n = 3
mechanism m {
  input x in 0..3
  adjacent all
  %s
  output x
}
"""
CASES = [(FRAME % wrong, right and FRAME % right) for wrong, right in IN_A_MECHANISM.items()]
CASES += [
    (f"{FRAME % ''}{wrong}\n", right and f"{FRAME % ''}{right}\n")
    for wrong, right in AT_TOP_LEVEL.items()
]


def mistakes_of(text):
    return parse_model(SourceText("test.dpm", text)).mistakes


@pytest.mark.parametrize(("wrong", "right"), CASES)
def test_what_a_slip_advises_makes_the_text_right(wrong, right):
    found = mistakes_of(wrong)
    assert found
    is_one = len(found) == 1
    assert is_one or right is None
    for _ in found:
        wrong = after_advice(wrong, mistakes_of(wrong)[0])
    assert [mistake.title for mistake in mistakes_of(wrong)] == []
    if right is not None:
        assert wrong.replace(" ", "") == right.replace(" ", "")


@pytest.mark.parametrize(("wrong", "right"), CASES)
def test_a_slip_hides_no_other_mistake(wrong, right):
    n = len(mistakes_of(wrong))
    assert len(mistakes_of(f"const a = +\n{wrong}\nconst b = +\n")) == n + 2


def test_places_are_those_of_the_text_as_written():
    text = "mechanism m {\n  fun f(a) = a + \n  y := |2 x - 1| $\n}\n"
    shown = [(found.span.line, found.span.text) for found in mistakes_of(text)]
    assert (2, "fun") in shown
    assert (3, "2 x") in shown
    assert (3, "$") in shown


def test_nothing_that_the_language_accepts_is_taken_for_a_slip():
    root = Path(dpcheck.__file__).parent.parent
    files = [*(root / "dpcheck/std").glob("*.dpm"), *(root / "models").rglob("*.dpm")]
    assert len(files) > 40
    for file in files:
        source = SourceText(file.name, file.read_text("utf-8"))
        every = list(range(0, len(source.text), 50))
        assert slips_in(tokens_of(source).tokens, source, every) == []


@pytest.mark.parametrize("word", sorted(KEYWORDS - {"output"}))
def test_a_reserved_word_that_is_assigned_needs_another_name(word):
    (found,) = mistakes_of(FRAME % f"{word} := 1")
    assert found.title == f"`{word}` is a reserved word, which cannot be a name"
    assert found.help == "choose another name"


@pytest.mark.parametrize("word", ["dist", "state", "query", "run", "prior", "const", "check"])
def test_a_reserved_word_is_told_once_where_it_is_read_later(word):
    text = f"{word} := 1\nif {word} = 1 {{ {word} := {word} + 1 }}\nz := max({word}, x)"
    (found,) = check_text(FRAME % text)["errors"]
    assert found["code"] == "DP105"
    (found,) = check_text(FRAME % f"var {word}[1..2] := 0\n{word}[1] := 1")["errors"]
    assert found["code"] == "DP105"
    (found,) = check_text(FRAME % f"y := {word} + 1\nz := max(y, 2)")["errors"]
    assert found["code"] == "DP105"


def test_the_reserved_words_are_listed():
    page = (Path(dpcheck.__file__).parent.parent / "docs/language.md").read_text("utf-8")
    paragraph = page.partition("**Reserved words**")[2].partition("\n\n")[0]
    listed = paragraph.partition("They are\n`")[2].partition("`")[0]
    assert listed.split() == sorted(WORDS.keys() - OPERATOR_WORDS)


def test_the_question_of_a_claim_is_no_choice():
    """`P=? [ X a ]` before another claim of the line is no `c ? a : b`."""
    (found,) = mistakes_of(f"{FRAME % ''}compute m at D = 1: P=? [ X a ] check m: dp(1)\n")
    assert found.code == "DP105"


def test_the_brackets_of_a_path_are_no_list():
    """A comma in a bracket inside of these makes no list `(..)` of a path `[..]`."""
    (found,) = mistakes_of(f"{FRAME % ''}compute m at x = 0: P=? [ X D(ln 2, 0) ]\n")
    assert "expected `{`, found `(`" in found.title


@pytest.mark.parametrize("bound", ["exp(-1)", "n(1/2)", "max(n, 1/2)"])
def test_a_call_before_brackets_is_a_bound_and_no_formula(bound):
    """`P>=exp(-1) (X a)` is not `P>=exp [-1] (X a)`; its formula needs its brackets first."""
    (found,) = mistakes_of(f"{FRAME % ''}check m: P>={bound} (X a)\n")
    assert found.code == "DP101"
    assert found.help.startswith("put the bound in parentheses")


@pytest.mark.parametrize("other", ["P>=2 n [ X a ]", "P>=n a", "P>= [ X a ]", "P>=1+ [ X a ]"])
def test_what_is_no_expression_gets_no_parentheses(other):
    (found,) = mistakes_of(f"{FRAME % ''}check m: {other} & P>=1/2 [ X a ]\n")
    assert found.code == "DP101"


@pytest.mark.parametrize(
    "bound", ["E<=-1/2", "E<=-n", "E<=-(n)", "P>=1/2", "P>=n/2", 'P<"a b"', "P=(n + 1)"]
)
def test_a_bound_that_is_read_gets_no_parentheses(bound):
    (found,) = mistakes_of(f"{FRAME % ''}check m: {bound} [ X a ] & P>=2*n [ X a ]\n")
    assert found.span.text == "P>=2*n"


def test_a_loop_after_a_block_is_a_loop_of_its_own():
    [mistake] = mistakes_of(FRAME % "do { c := x } while c = 1 { stop }")
    assert "write the body once before" in mistake.help


def test_values_in_a_comment_are_no_part_of_a_claim():
    (found,) = mistakes_of(f"{FRAME % ''}check m: dp(1 # for p in (0, 1)\n")
    assert found.code == "DP102"
