"""Claims about models where a shortcut once went further than its law, with what is true."""

from __future__ import annotations

import mpmath
import pytest

import dpcheck
from tests.checking import check_text, verdicts

RARE = "y ~ bernoulli(if {a} = 0 & {b} = 0 then 1/10 else if {a} = 0 | {b} = 0 then 3/10 else 9/10)"
RECORDS = f"""mechanism m {{
  input q[1..2] in 0..3
  input r[1..2] in 0..3
  adjacent %s
  {RARE.format(a="q[1]", b="r[1]")}
  output y
}}
compute m: epsilon
"""
PAIRS = f"""mechanism m {{
  input x in (0..3) * (0..3)
  input w in 0..20
  adjacent %s
  {RARE.format(a="x[1]", b="x[2]")}
  output y
}}
compute m: epsilon
"""
SHAPES = """mechanism m {
  input q[1..2] in 0..5
  input r[0..1] in 0..5
  adjacent %s & linf(r, q') <= 1
  output q[1] = 0
}
compute m: epsilon
"""
THREE = """mechanism m {
  input x in 0..1
  adjacent all
  y ~ {0: if x=0 then 1/2 else 1/10, 1: if x=0 then 1/4 else 13/20, 2: 1/8, 3: 1/8}
  output y
}
check m: %s
"""
SYMBOLS = """mechanism m {
  input x in {a, b}
  adjacent all
  y ~ {a: if x=a then 3/4 else 1/4, b: 1/4, "x": if x=a then 0 else 1/2}
  output y
}
check m at x = a: P>=3/4 [ F output = x ] & forall(v in {"x"} : P<=1/2 [ F output = v ])
"""
FAMILY = """chain c {
  state p
  state s[k in {%s, %s}]
  p -> 1/4: s[%s] + 3/4: s[%s]
  init p
}
check c: P>=3/4 [ F s[%s] ]
"""
LABELS = """chain c {
  state p
  state n
  state s : A, B
  state t : B, A
  p -> 1: s
  n -> 1: t
  adjacent p ~ n
  observe A, B
}
compute c: epsilon
"""
TEXTS = """mechanism m {
  input x in {"1", 1, 2}
  adjacent all
  y ~ bernoulli(if x = 1 then 1/2 else if x = 2 then 1/3 else 1/5)
  output y
}
mechanism k {
  input x in {"1", 1, 2}
  adjacent all
  y ~ bernoulli(if x = 1 then 1/2 else if x = 2 then 1/3 else 1/5)
  output y
}
compute compose(m, k): epsilon
"""
CHAINS = """chain d {
  state p
  state n
  state a : A
  state b : B
  p -> 3/4: a + 1/4: b
  n -> 1/2: a + 1/2: b
  init p
  adjacent p ~ n
  observe A, B
}
chain e {
  state p
  state n
  state a : A
  state b : B
  p -> 1/3: a + 2/3: b
  n -> 1/2: a + 1/2: b
  init p
  adjacent p ~ n
  observe A, B
}
compute compose(d, e): epsilon
"""
FAR = """mechanism m {
  input x in 0..1
  adjacent all
  y ~ gaussian(10^30 + x, 1/2) conditioned 5..5
  output y
}
compute m: epsilon
"""
GUARDED = """mechanism m {
  input h[1..2] in 0..2 where h[1] * h[2] != 0 & 4 / h[1] > 1
  adjacent all
  y ~ bernoulli(h[1] / 4)
  output y
}
compute m: epsilon
"""

TRUTHS = {
    "a record of two fields differs once": (
        RECORDS % "count(i in 1..2 : (q[i], r[i]) != (q'[i], r'[i])) <= 1",
        "ln(9)",
    ),
    "so it does where the count is negated": (
        RECORDS % "!(count(i in 1..2 : (q[i], r[i]) != (q'[i], r'[i])) > 1)",
        "ln(9)",
    ),
    "fields that are counted one by one": (
        RECORDS % "count(i in 1..2 : q[i] != q'[i]) + count(i in 1..2 : r[i] != r'[i]) <= 1",
        "ln(7)",
    ),
    "a tuple has a distance of its own": (
        PAIRS % "hamming(x, x') <= 1 & abs(w - w') <= 1",
        "ln(7)",
    ),
    "arrays that begin elsewhere are not equal": (SHAPES % "q = r'", "0"),
    "an array is no tuple": (SHAPES % "q = (r'[0], r'[1])", "0"),
    "sets are told apart": (
        THREE % "forall(S in {{0}, {2}} : D{0} [ F output in S ])",
        "violated",
    ),
    "powers of e are told apart": (
        (THREE % "exists(v in {exp(1), exp(3)} : P>=1/10 [ F output = v ])")
        .replace("2: 1/8", "exp(1): 1/8")
        .replace("3: 1/8", "exp(3): 1/20, 4: 3/40"),
        "holds",
    ),
    "a symbol and an input of its name": (SYMBOLS, "holds"),
    "a symbol that looks like a number": (
        FAMILY % ('"1"', "1", "1", '"1"', '"1"'),
        "holds",
    ),
    "a space within a name": (
        FAMILY % ('"ab"', '"a b"', '"ab"', '"a b"', '"a b"'),
        "holds",
    ),
    "labels have no order": (LABELS, "0"),
    "inputs that look alike in two parts": (TEXTS, "ln(25/4)"),
    "neighbors that no run starts from": (CHAINS, "ln(3)"),
    "a window of one value far from its center": (FAR, "0"),
    "a guard in front of a division": (GUARDED, "ln(2)"),
    "a function that does not use an output reads it": (
        "fun three(v) = 3  " + THREE % "P>=1 [ three(output) = 3 ]",
        "violated",
    ),
    "a function reads an output that it may not need": (
        "fun one(c, v) = if c then 1 else v  " + THREE % "P>=1 [ one(x = x, output) = 1 ]",
        "violated",
    ),
}


@pytest.mark.parametrize(("text", "truth"), TRUTHS.values(), ids=TRUTHS)
def test_the_truth_is_told(text, truth):
    (answer,) = check_text(text)["results"]
    assert (answer["value"]["exact"] if "value" in answer else answer["verdict"]) == truth


def greatest_rate(p, q):
    """Return the largest D_α(p|q)/α of two coins, either way, over a grid of orders."""

    def rate(first, second, order):
        terms = ((first, second), (1 - first, 1 - second))
        total = sum(u**order * v ** (1 - order) for u, v in terms)
        return mpmath.log(total) / (order - 1) / order

    orders = [1 + mpmath.mpf(k) / 20 for k in range(1, 1000)]
    return max(max(rate(p, q, order), rate(q, p, order)) for order in orders)


@pytest.mark.parametrize("exponent", [6, 9, 12, 45])
def test_the_concentrated_budget_of_a_rare_event_is_found_far_from_order_1(exponent):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      y ~ bernoulli(if x = 0 then 1/10^{exponent} else 1/10^{exponent + 3})
      output y
    }}
    compute m: zcdp
    """
    (answer,) = check_text(text)["results"]
    with mpmath.workdps(200):
        p, q = mpmath.mpf(10) ** -exponent, mpmath.mpf(10) ** -(exponent + 3)
        expected = float(greatest_rate(p, q))
    assert float(answer["value"]["decimal"]) == pytest.approx(expected, rel=1e-3)


def test_of_pairs_nearly_alike_the_greater_one_is_taken():
    """One pair attains its supremum at order 1, another a slightly larger one far from there."""
    text = """mechanism m {
      input x in {a, b, c, d}
      adjacent (a, b), (c, d)
      y ~ bernoulli(if x = a then 1/100 else if x = b then 1/1000
                    else if x = c then 66725522036141785911/10^20
                    else 1 - 66725522036141785911/10^20)
      output y
    }
    check m: zcdp <= 23275130890/10^11
    refute m: renyi(5.428919776) <= 5.428919776 * 23275130890/10^11
    """
    answers = check_text(text)["results"]
    assert [answer["verdict"] for answer in answers] == ["violated", "violated"]


def test_orders_beyond_what_is_written_out_are_enclosed():
    text = """mechanism m {
      input x in 0..1
      adjacent all
      y ~ bernoulli((1 + x)/3)
      output y
    }
    check m: renyi(10^9) <= 7/10
    check m: renyi(10^9) >= 69/100
    """
    answers = check_text(text)["results"]
    assert [answer["verdict"] for answer in answers] == ["holds", "holds"]


@pytest.mark.parametrize("symbols", [("a b", "1", 1), ("a b", "c d", 2)])
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_table_with_symbols_that_are_no_names_is_read_again(tmp_path, form, symbols):
    names = [f'"{name}"' if isinstance(name, str) else name for name in symbols]
    first, second, third = names
    text = f"""mechanism m {{
      input x in {{{first}, {second}, {third}}}
      adjacent all
      y ~ {{{first}: if x = {third} then 1/2 else 1/3, {second}: if x = {third} then 1/4 else 1/3,
            {third}: if x = {third} then 1/4 else 1/3}}
      output y
    }}
    """
    table = dpcheck.loads(text).target("m").pmf(form)
    (tmp_path / f"m.{form}").write_text(table)
    model = tmp_path / "model.dpm"
    model.write_text(f'import "m.{form}"\ncheck m: epsilon = ln(3/2)\n')
    assert [answer.is_ok for answer in dpcheck.load(str(model)).answers()] == [True]


LEFT_OUT = """mechanism m {
  input x in 0..2
  adjacent all
  y ~ {0: 1/2, 1: 1/2}
  output (if x = 1 then 7 else x)
}
"""


@pytest.mark.parametrize(
    ("where", "verdict"),
    [("P=0", "holds"), ("P>=1", "violated"), ("P>=0", "violated")],
)
def test_accuracy_selects_starts_by_what_they_are_at_the_end(where, verdict):
    """An input keeps its value when a run has stopped, and x = 1 is the one start that is off."""
    text = f"{LEFT_OUT}check m at {where} [ F (stopped & x = 1) ]: accuracy(x, 1/4) = 0"
    (answer,) = check_text(text)["results"]
    assert answer["verdict"] == verdict


COINS = """mechanism m {
  input x in 0..3
  adjacent abs(x - x') <= 1
  y ~ bernoulli(if x = 0 then 1/2 else if x = 1 then 7/8 else if x = 2 then 1/2 else 1/16)
  output y
}
"""


@pytest.mark.parametrize(
    ("target", "epsilon"), [("group(m, 2)", "ln(4)"), ("compose(group(m, 2), 2)", "ln(16)")]
)
@pytest.mark.parametrize("budget", ["ln 2", "ln 4"])
def test_a_group_selects_starts_by_its_own_neighbors(target, epsilon, budget):
    """Up to distance 2 only the start 0 is private; at distance 1 the start 1 is, too."""
    text = f"{COINS}compute {target} at D{{{budget}}} [ X (output = true) ] : epsilon"
    (answer,) = check_text(text)["results"]
    assert answer["value"]["exact"] == epsilon


def test_what_the_group_rule_promises_counts_pairs_on_the_way():
    """From 0 one comes to 2 over 1 and 2, a pair that has no end at 0."""
    text = """mechanism m {
      input x in 0..2
      adjacent abs(x - x') <= 1
      y ~ bernoulli(if x = 2 then 8/9 else if x = 1 then 1/9 else 1/18)
      output y
    }
    compute group(m, 2) at x = 0: epsilon
    """
    (answer,) = check_text(text)["results"]
    assert answer["value"]["exact"] == "ln(16)"
    assert "ln(64)" in str(answer)


@pytest.mark.parametrize(
    ("statements", "first"),
    [
        ("output argmax(i in {3, 1} : 0 * z)", 3),
        ("output argmin(i in {3, 1} : 0 * z)", 3),
        ("output argmax(i in {1, 3} : i * z)", 1),
        ("for i in {3, 1} { output i  for j in 1..15000 { z := 1 - z }  output z }", 3),
    ],
)
def test_equal_sets_are_gone_through_as_each_is_written(statements, first):
    """The set {1, 3} has been met before: as a value it is {3, 1}."""
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      s := {{1, 3}}
      z := if x in s then 1 else 0
      {statements}
    }}
    compute m at x = 0: P=? [ X output = {first} ]
    """
    (answer,) = check_text(text)["results"]
    assert answer["value"]["exact"] == "1"


@pytest.mark.parametrize("value", ["(x, 1, 2)", "if x = 0 then b else d", "b"])
def test_an_array_takes_no_fewer_items_than_it_is_given(value):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      var a[1..2] := 0
      var b[1..3] := 7
      var d[1..3] := 8
      a := {value}
      output a
    }}
    compute m: epsilon
    """
    report = check_text(text)
    assert not report.get("results")
    assert "needs 2 values" in str(report)


def test_a_number_of_runs_may_be_computed_by_a_built_in_function():
    report = check_text(
        "mechanism m { input x in 0..1 adjacent all y ~ bernoulli(1/4)"
        " output if y then x else 1 - x }"
        " check compose(m, ceil(5/2)): epsilon = 3 * ln 3 check compose(m, max(1, 2)): dp(2 * ln 3)"
    )
    assert verdicts(report) == ["holds", "holds"]
    assert [result["target"] for result in report["results"]] == ["compose(m, 3)", "compose(m, 2)"]
