"""What the reference interpreter says of small texts, against values worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcheck.reference import answer, load
from dpcheck.reference.chains import Chain
from dpcheck.reference.distributions import noise
from dpcheck.reference.expressions import Scope, evaluate
from dpcheck.reference.numbers import Budget, Exp, excess_sign, exp_bounds, sign
from dpcheck.reference.runs import Equations, Result
from dpcheck.reference.syntax import parsed
from dpcheck.reference.values import Work, WrongProgram, as_text
from tests.oracle.reference import DIVERGED, STOPPED, Program

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize(
    "equation",
    [
        "1 - 2 - 3 = -4",
        "2 * 3 + 4 * 5 = 26",
        "-2 ^ 2 = -4",
        "2 ^ 3 ^ 2 = 512",
        "2 ^ -1 * 4 = 2",
        "-7 mod 3 = 2",
        "7 mod -3 = -2",
        "-7 div 2 = -4",
        "false => false => false",
        "!1 = 2 & true | false",
        "!(false | true & false) & 0 <= 1 < 2 & !(2 < 1 < 3)",
        "2 in 1..3 & !(4 in 1..3)",
        "(5, 6)[1] = 5",
        "argmax(i in 4..6 : 0) = 4",
        "argmin(i in 4..6 : abs(i - 5)) = 5",
        "argmax((1, 3, 3)) = 2",
        "max(1, 3, 2) + min(1, 3, 2) = 4",
        "{i for i in 1..5 where i mod 2 = 1} = {1, 3, 5}",
        "{1, 2} * {3} = {(1, 3), (2, 3)}",
        "sum(i in 1..3 : i) + product(i in 1..3 : i) + count(i in 1..3 : i > 1) = 14",
        "forall(i in 1..3 where i > 1 : i >= 2) & exists(i in 1..3 : i = 3)",
        "hamming((1, 2, 3), (1, 5, 9)) = 2",
        "l1((1, 2, 3), (1, 5, 9)) = 9",
        "linf((1, 2, 3), (1, 5, 9)) = 6",
        "clamp(7, 0, 5) = 5 & clamp(-1, 0, 5) = 0",
        "floor(7/2) = 3 & ceil(7/2) = 4 & floor(-7/2) = -4",
        "floor(exp(1)) = 2 & ceil(exp(1)) = 3 & floor(-exp(1)) = -3",
        "floor(ln 8) = 2 & ceil(ln 8) = 3 & ln 9 div 2 = 1",
        "abs(1 - exp(1)) = exp(1) - 1 & l1((exp(1), 0), (0, 1)) = exp(1) + 1 & abs(-ln 2) = ln 2",
        "exp(2 * ln 3 - ln 3) = 3 & exp(1/2 * ln 4) = 2",
        "exp(1/2) * exp(1/2) = exp(1) & exp(1) / exp(1) = 1",
        "2.718281828 < exp(1) < 2.718281829",
        "0.281718171 < 3 - exp(1) < 0.281718172",
        "exp(1) - exp(2) < -4.67 & exp(1) - exp(2) > -4.671",
        "ln 2 + 1/2 > 1.1931 & ln 2 + 1/2 < 1.1932 & ln 4 = 2 * ln 2",
        "(if 1 = true then 2 else 3) = 3",
        "len({1, 1, 2}) = 2",
    ],
)
def test_equations_of_expressions_are_true(equation):
    assert evaluate(parsed(equation), {}, Scope([], {})) == "true"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("3/6", "1/2"),
        ('"a b"', '"a b"'),
        ("{2}", "{2}"),
        ("exp(1) / exp(1)", "1"),
        ("(1 + exp(1)) / (2 + 2*exp(1))", "1/2"),
    ],
)
def test_values_are_written_as_outputs_are(text, written):
    assert as_text(evaluate(parsed(text), {}, Scope([], {}))) == written


def test_signs_are_decided_at_the_edges():
    e = Exp({Fraction(1): Fraction(1)}, {Fraction(0): Fraction(1)})
    assert sign(e - e) == 0
    assert sign(e - Fraction(271828182845904523536028747, 10**26)) == 1
    assert sign(e - Fraction(271828182845904523536028748, 10**26)) == -1
    for near, expected in (("747", -1), ("748", 1)):
        ratio = Fraction(f"2.71828182845904523536028{near}")
        assert [sign(ratio * e - e * e), sign(e * e - ratio * e)] == [expected, -expected]
    half_log = Budget(Fraction(0), ((Fraction(4), HALF),))  # ln 2
    assert excess_sign(Fraction(2, 3), THIRD, half_log) == 0
    assert excess_sign(Fraction(2, 3) + Fraction(1, 10**9), THIRD, half_log) == 1
    assert excess_sign(Fraction(0), THIRD, half_log) == -1
    assert excess_sign(HALF, Fraction(0), half_log, HALF) == 0
    assert excess_sign(HALF, Fraction(0), half_log, THIRD) == 1


@pytest.mark.parametrize("r", ["0", "1", "-1", "1e-30", "-1e-30", "22/7", "-1000/3", "7000/3"])
def test_few_digits_enclose_what_many_do(r):
    low, high = exp_bounds(Fraction(r), 20)
    lowest, highest = exp_bounds(Fraction(r), 60)
    assert low < lowest < highest < high < low * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("policy", ["clamped", "conditioned", "folded", "wrapped"])
@pytest.mark.parametrize(("low", "high"), [(0, 2), (-3, 1), (2, 5)])
def test_one_sided_noise_is_brought_into_its_bounds(policy, low, high):
    period = 2 * (high - low)
    into = {
        "clamped": lambda z: min(max(z, low), high),
        "conditioned": lambda z: z if low <= z <= high else None,
        "wrapped": lambda z: low + (z - low) % (high - low + 1),
        "folded": lambda z: low + min((z - low) % period, -(z - low) % period),
    }[policy]
    near = dict.fromkeys([None, *range(low, high + 1)], Fraction(0))
    for z in range(200):
        near[into(z)] += HALF ** (z + 1)
    kept = 1 - near.pop(None)
    found = noise("geometric_positive", [HALF], policy, low, high)
    for z, p in near.items():
        assert abs(found.get(z, 0) - p / kept) < Fraction(1, 10**30)


def rows(body, declared=""):
    text = f"{declared} mechanism m {{ input x in 0..1 adjacent all\n {body} }}"
    return Program(text).rows()


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("i := 7 for i in 1..2 { j := i } output i", "7"),
        ("i := 7 for i in 1..3 { for i in 4..5 { break } output i break } output i", "1 7"),
        ("for i in 1..2, j in 1..2 where i != j { output (i, j) }", "(1, 2) (2, 1)"),
        ("for i in 1..2, j in 1..2 { break } output 5", "5"),
        ("n := 0 while n < 3 { n := n + 1 if n = 2 { break } } output n", "2"),
        ("repeat 2 { output 1 } stop output 2", "1 1"),
        ("run other(z = 3) output 4", "3 4"),
        ("z := 1 run other(z = 3) output z", "3 1"),
        ("y ~ other(z = 3) output y + 1", "4"),
        ("var a[1..2] := 5 a[2] := 6 output a", "[5, 6]"),
        ("(a, b) := (1, 2) output a - b", "-1"),
        ("var y in 0..1 := 1 var y := 1 y := 5 output y", "5"),
        ("if x > 5 { output 1 } else if x >= 0 { output 2 } else { output 3 }", "2"),
    ],
)
def test_statements_output_these(body, outputs):
    other = "mechanism other { input z in 0..9 adjacent all output z stop output 9 }"
    expected = [{(tuple(outputs.replace(", ", ",").split()), STOPPED): 1}] * 2
    found = rows(body, other)
    assert [
        {(tuple(each.replace(", ", ",") for each in shown), status): p}
        for row in found
        for (shown, status), p in row.items()
    ] == expected


@pytest.mark.parametrize(
    "body",
    [
        "var a[1..2] := 0 output a[x - 1]",
        "var y in 0..3 := 0 y := 4 output y",
        "var y in 0..3 := 4 output y",
        "output 1/0",
        "y ~ {1: 1/2} output y",
        "y ~ {1: -1, 2: 2} output y",
        "output max({i for i in 1..2 where i > 2})",
    ],
)
def test_mistakes_of_a_run_are_mistakes(body):
    with pytest.raises(WrongProgram):
        rows(body)


def test_a_run_without_end_diverges_with_what_is_left():
    row, _ = rows("y ~ bernoulli(1/3) output 0 while y { y := y } output 1")
    assert row == {(("0",), DIVERGED): THIRD, (("0", "1"), STOPPED): 2 * THIRD}


@pytest.mark.parametrize(
    ("path", "chance"),
    [
        ("X a", HALF),
        ("X (a & X b)", HALF * HALF),
        ("F b", 3 * HALF**2),
        ("F<=1 b", HALF),
        ("F<=2 b", 3 * HALF**2),
        ("G !b", HALF**2),
        ("G<=1 !b", HALF),
        ("X (a U b)", 3 * HALF**2),
        ("X (a U<=0 b)", HALF),
        ("X (b W a)", 3 * HALF**2),
        ("X (b R a)", 0),
        ("X (a W stopped)", HALF**2),
        ("X (stopped R (a | b | stopped))", 1),
        ("X X X stopped", 1),
        ("F diverged", 0),
        ("!(X a) => X b", 1),
        ("if b then F a else F b", 3 * HALF**2),
        ("X (if a then X b else X a)", HALF),
        ("F (output = b & X (output = b))", HALF**2),
    ],
)
def test_paths_have_these_chances(path, chance):
    text = """mechanism m { input x in 0..1 adjacent all
      repeat 2 { y ~ uniform({a, b}) output y } }"""
    assert Program(text).chances(path) == [chance] * 2


def test_a_path_that_waits_forever_is_false_and_one_that_fears_true():
    text = """mechanism m { input x in 0..1 adjacent all
      y ~ bernoulli(1/3) while true { output y output 7 } }"""
    program = Program(text)
    assert program.chances("F output = 5") == [0, 0]
    assert program.chances("F false") == [0, 0]
    assert program.chances("G !(output = 5)") == [1, 1]
    assert program.chances("F output = true") == [THIRD] * 2


CHAIN = """
chain c(n = 3) {
  state s[i in 0..n] : start
  state t[i in 0..n] : low
  state u
  for i in 0..n { s[i] -> 1/2: t[i] + j ~ uniform(0..1): t[j] }
  for i in 0..n { if i > 0 { t[i] -> 1: t[i] } else { t[i] -> 1: u } }
  adjacent s[i] ~ s[j] where abs(i - j) = 1
  observe t, u
}
"""


def test_a_chain_shows_members_of_families_until_it_stays():
    program = Program(CHAIN.replace("1/2: t[i] + j ~ uniform(0..1): t[j]", "1: t[i]"), "c")
    assert program.texts == ["s[0]", "s[1]", "s[2]", "s[3]"]
    assert program.pairs() == [(0, 1), (1, 2), (2, 3)]
    assert program.rows()[:2] == [
        {(("t[0]", "u"), STOPPED): 1},
        {(("t[1]",), STOPPED): 1},
    ]
    assert program.chances("X low") == [1] * 4
    assert program.chances("X t[1]") == [0, 1, 0, 0]
    assert program.chances("F stopped") == [1, 0, 0, 0]


def test_a_state_is_no_neighbor_of_its_own():
    text = CHAIN.replace("1/2: t[i] + j ~ uniform(0..1): t[j]", "1: t[i]")
    text = text.replace("abs(i - j) = 1", "i + j = 1 | i = 3 & j = 3")
    assert Program(text, "c").texts == ["s[0]", "s[1]"]


def test_equal_names_in_neighbors_are_equal_indices():
    text = CHAIN.replace("1/2: t[i] + j ~ uniform(0..1): t[j]", "j ~ uniform(0..1): t[j]")
    text = text.replace("adjacent s[i] ~ s[j] where abs(i - j) = 1", "adjacent s[i] ~ t[i]")
    assert Program(text, "c(n = 1)").pairs() == [(0, 2), (1, 3)]
    label = text.replace("observe t, u", "observe low, u")
    assert Program(label, "c(n = 1)").rows()[1] == {
        (("low", "u"), STOPPED): HALF,
        (("low",), STOPPED): HALF,
    }


def test_two_neighbors_among_many_states_are_found_without_comparing_all(monkeypatch):
    asked, are_neighbors = [], Chain.are_neighbors
    monkeypatch.setattr(
        Chain, "are_neighbors", lambda *pair: asked.append(pair) or are_neighbors(*pair)
    )
    text = """chain c { state s[i in 0..2000] state a state b
      for i in 0..1999 { s[i] -> 1: s[i + 1] }
      a -> 1: s[1998] b -> 1/2: s[1998] + 1/2: s[1999] adjacent a ~ b observe s }"""
    program = Program(text, "c")
    assert program.texts == ["a", "b"]
    assert program.pairs() == [(0, 1)]
    assert len(asked) == 1


MODEL = """
mechanism one(p = 1/4) { input x in 0..1 adjacent all
  y ~ {a: if x = 1 then 0 else p, b: 1 - (if x = 1 then 0 else p)} output y }
mechanism alone { input x in 0..2 adjacent x' = x + 5 output x }
mechanism two { input x in 0..2 public y in 0..1 adjacent x' = x + 1
  z ~ bernoulli(1/2^(x + 1)) output z }
"""


@pytest.mark.parametrize(
    ("claim", "is_true"),
    [
        ("one: epsilon = inf", True),
        ("one: epsilon > 100", True),
        ("one: delta(0) = 1/4", True),
        ("one: delta(1) = 1/4", True),
        ("one: delta(0) < 1/4", False),
        ("one: dp(5, 1/4)", True),
        ("one: dp(5, 1/4 - 1/10^9)", False),
        ("one: dp(ln(4/3), 1/4)", True),
        ("two: epsilon = ln 2", True),
        ("two: epsilon <= ln 2 - 1/10^9", False),
        ("two: epsilon < inf", True),
        ("two: epsilon = inf", False),
        ("two: dp(ln 2)", True),
        ("two: D{ln 2} [ X output = true ]", True),
        ("two: D{0, 1/4} [ X output = true ]", True),
        ("two: D{0, 1/5} [ X output = true ]", False),
        ("one: posterior_max(1/3) = 1", True),
        ("one: posterior_min(1/3) = 0", True),
        ("two: posterior_max(1/2) = 2/3", True),
        ("two: posterior_min(1/2) = 1/3", True),
        ("two: posterior_max(1/3) <= 1/2", True),
        ("two: posterior_min(1/3) >= 1/5", True),
        ("two: posterior_min(1/3) > 1/5", False),
        ("alone: posterior_max(1/3) = 1/3", True),
        ("alone: posterior_min(1/3) = 1/3", True),
        ("two: forall(x in 1..1 : D{0, 1/8} [ x = 1 & X output = true ])", False),
        ("two: P>=1/8 [ X output = true ]", True),
        ("two: P>1/8 [ X output = true ]", False),
        ("two: x = 2 => P=1/8 [ X output = true ]", True),
        ("two: forall(v in 0..2 : x = v => P=(1/2^(v + 1)) [ X output = true ])", True),
        ("two: exists(v in 0..1 : x = v)", False),
        ("two: if x = 2 then P=1/8 [ X output = true ] else P>=1/4 [ X output = true ]", True),
    ],
)
def test_claims_have_these_answers(tmp_path, claim, is_true):
    (tmp_path / "m.dpm").write_text(MODEL, "utf-8")
    target, text = claim.split(": ", 1)
    assert answer(load(tmp_path / "m.dpm", tmp_path), target, None, text).holds == is_true


def test_an_import_stays_below_the_root(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "m.dpm").write_text(MODEL, "utf-8")
    (tmp_path / "a" / "m.dpm").write_text('import "../m.dpm"', "utf-8")
    with pytest.raises(WrongProgram, match="out of the root"):
        load(tmp_path / "a" / "m.dpm", tmp_path / "a")
    assert load(tmp_path / "a" / "m.dpm", tmp_path).scope.of("mechanism", "one") is not None


def test_equations_forget_what_a_mistake_left_half_done():
    laws = {"a": {"c": HALF, "b": HALF}, "b": {"a": 1}, "c": {Result("end"): 1}}
    mistakes = ["c"]

    def following(node):
        if node in mistakes:
            mistakes.remove(node)
            raise WrongProgram
        return dict(laws[node])

    equations = Equations(following, Work())
    with pytest.raises(WrongProgram):
        equations.results("a")
    assert equations.results("b") == {"end": 1}
