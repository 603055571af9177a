"""Where a sign or a comparison of weights is taken, a parameter is refused or never decided.

The list of those places is in `dpcheck.exact.param`. A parameter planted where a value is needed is
a mistake; and while a claim about all values is decided, no comparison sees the stand-in but those
that are listed here with their reasons.
"""

import math
import sys
from collections import Counter
from fractions import Fraction
from typing import get_args

import pytest
from flint import fmpq

from dpcheck.exact import Param, ParamNumber
from dpcheck.exact.number import ExpNumber
from dpcheck.exact.polynomial import ExpPolynomial
from dpcheck.model.evaluation import Fault, apply
from dpcheck.model.expressions import Operator
from dpcheck.model.values import value_text
from dpcheck.pipeline.claims import outcomes
from dpcheck.pipeline.claims.sieve import sifted_claim
from tests.checking import check_text, error_codes, verdicts
from tests.resolve.reading import sound

PROGRAM = """
param p in (0, 1)
fun big(a) = a > 1/2
dist skewed(a) = if a > 1/2 then {0: 1} else {1: 1}
mechanism m() {
  input x in 0..1
  adjacent all
  BODY
}
check m: dp(ln 3)
"""

REFUSED = [
    "if p > 1/2 { output 1 } else { output 0 }",
    "y := 0 while p > y { y := y + 1 } output y",
    "y := x + p output 1",
    "output p",
    "for i in 1..p { output i }",
    "for i in 0..2 where p > i { output i }",
    "var v[1..2] := 0 output v[p]",
    "y ~ geometric(p, 1/2) clamped 0..2 output y",
    "y ~ geometric(x, 1/2) clamped 0..p output y",
    "y ~ geometric(x, 1/2) unbounded if y > p { output 1 }",
    "y ~ uniform({p, 1}) output y",
    "y ~ {p: 1/2, 1: 1/2} output y",
    "y ~ binomial(p, 1/2) output y",
    "y ~ bernoulli(if p > 1/2 then 1/3 else 1/2) output y",
    "y ~ bernoulli(if big(p) then 1/3 else 1/2) output y",
    "y ~ bernoulli(if p in {1/2} then 1/3 else 1/2) output y",
    "y ~ bernoulli(if (p, 1) = (p, 1) then 1/3 else 1/2) output y",
    "y ~ bernoulli(if forall(i in 0..1 : p > i) then 1/3 else 1/2) output y",
    "y ~ bernoulli(min(p, 1/2)) output y",
    "y ~ bernoulli(abs(p)) output y",
    "y ~ bernoulli(floor(p)) output y",
    "y ~ bernoulli(p mod 1) output y",
    "y ~ bernoulli(1/(2 * p - 1)) output y",
    "y ~ skewed(p) output y",
    "output argmax(i in 0..1 : p * i)",
    "output clamp(x, 0, p)",
    "repeat p { output 1 }",
]


UNIT = Param("p", 0, 1)
OF_A_FIELD = {"+", "-", "*", "/", "^", "neg", "ln", "exp", "sum"}
"""What the language does with a parameter: rational functions, and logarithms as budgets."""


def value_there(value, at):
    """Return a number, or a budget, at a value of p, as a float; None where it has none there."""
    words = {"p": Fraction(at), "ln": math.log, "exp": math.exp}
    try:
        return float(eval(value_text(value).replace("^", "**"), words))
    except (ZeroDivisionError, ValueError):
        return None


@pytest.mark.parametrize("op", get_args(Operator))
def test_no_operator_but_those_of_a_field_takes_a_parameter(op):
    """A comparison, or `max`, would be of the number that stands for it: e^-1."""
    p = ParamNumber(UNIT.stand_in, UNIT)
    half = apply("-", (p, fmpq(1, 2)))
    for args in [(p,), (half,), (p, half), (half, p), (p, 2), (2, p), (fmpq(1, 2), half), (p, 0)]:
        if op not in OF_A_FIELD:
            with pytest.raises(Fault) as refused:
                apply(op, args)
            assert refused.value.kind == "parameter", args
            continue
        try:
            found = apply(op, args)
        except (Fault, TypeError):  # `exp` of it, an exponent; another number of operands
            continue
        for at in (fmpq(1, 5), fmpq(2, 3)):
            there = [arg if isinstance(arg, int | fmpq) else value_of(arg, at) for arg in args]
            try:
                expected = apply(op, there)
            except Fault:  # no number there: such weights are refused
                continue
            assert value_there(found, str(at)) == pytest.approx(value_there(expected, str(at)))


def value_of(param, at):
    """Return what p or p - 1/2 is at a value."""
    return at if value_text(param) == "p" else at - fmpq(1, 2)


@pytest.mark.parametrize("body", REFUSED)
def test_a_parameter_planted_where_a_value_is_needed_is_a_mistake(body):
    text = body.replace(" output", "\n  output").replace(" y ~", "\n  y ~")
    report = check_text(PROGRAM.replace("BODY", text))
    assert set(error_codes(report)) == {"DP410"}
    assert "crashes" not in report


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("y ~ geometric(x, 2 * p) clamped 0..2\n  output y", "DP211"),
        ("y ~ {0: p - 1/2, 1: 1} normalized\n  output y", "DP211"),
        ("y ~ {0: p, 1: p}\n  output y", "DP211"),
        ("y ~ {x: (3 * p - 1)^2, 1: (3 * p - 1)^2} normalized\n  output y", "DP211"),
        ("y ~ {i: (2 * p^2 - 1)^2 for i in 0..1} normalized\n  output y", "DP211"),
        ("y ~ bernoulli(2^(-p))\n  output y", "DP209"),
        ("y ~ bernoulli(p / 0)\n  output y", "DP207"),
    ],
)
def test_what_is_no_weight_for_some_value_is_a_mistake(body, code):
    assert error_codes(check_text(PROGRAM.replace("BODY", body))) == [code]


@pytest.mark.parametrize(
    "body",
    [
        "y ~ geometric(x, 2 * p - p^2) clamped 0..2\n  output y",
        "y ~ {x: 1 - p, 2: 1 - p} normalized\n  output y",
    ],
)
def test_what_is_no_weight_at_a_closed_end_is_a_mistake_that_names_it(body):
    text = PROGRAM.replace("BODY", body)
    assert error_codes(check_text(text)) == []
    (mistake,) = check_text(text.replace("(0, 1)", "(0, 1]"))["errors"]
    assert mistake["code"] == "DP211"
    assert mistake["message"].endswith(" at p = 1")


@pytest.mark.parametrize("part", ["", " for p in (0, 1/2]", " for p in [1/4, 1/4]"])
@pytest.mark.parametrize("weight", ["1 - 1/(2 + 1/(1 - p))", "1 - 1/(2 + (1 - p)^-2)"])
def test_a_divisor_that_is_0_at_a_closed_end_is_a_mistake_that_names_it(weight, part):
    text = PROGRAM.replace("BODY", f"y ~ bernoulli({weight})\n  output y")
    text = text.replace(": dp(ln 3)", f"{part}: dp(ln 3)")
    assert error_codes(check_text(text)) == []
    closed = text.replace("(0, 1)", "(0, 1]")
    (mistake,) = check_text(closed)["errors"]
    assert mistake["code"] == "DP410"
    assert mistake["message"].endswith("is 0 at p = 1")
    assert error_codes(check_text(closed.replace("param p in (0, 1]", "const p = 1/4"))) == []


def test_a_mistake_at_a_value_that_is_asked_by_itself_names_it():
    text = PROGRAM.replace("BODY", "y ~ bernoulli(p/2)\n  output y").replace("(0, 1)", "(0, 1]")
    (mistake,) = check_text(text.replace("dp(ln 3)", "dp(-ln(1 - p))"))["errors"]
    assert mistake["code"] == "DP209"
    assert mistake["notes"][0].startswith("on the run: p = 1")
    assert "`ln` of positive ones" in mistake["help"]


ANSWER = """
param p in (0, 1)
mechanism answer() {
  input x in 0..1
  adjacent all
  y ~ bernoulli(if x = 0 then p else 1 - p)
  if y { output 1 } else { output 0 }
}
"""


@pytest.mark.parametrize(
    ("claim", "code"),
    [
        ("check answer at p > 1/2: dp(ln 3)", "DP410"),
        ("check answer: P>=1/2 [ X output > p ]", "DP410"),
        ("check answer: dp(if p > 1/2 then ln 2 else ln 3)", "DP410"),
        ("check answer: dp(max(ln 2, -ln p))", "DP410"),
        ("check answer: dp(floor(-ln p) * ln 2)", "DP410"),
        ("for k in {p, 1/2} { check answer: dp(ln 3) }", "DP410"),
        ("for k in {1, 2} where p > k { check answer: dp(ln 3) }", "DP410"),
        ("check answer: P in [1 - p, p] [ X output = 1 ]", "DP628"),
        ("check answer: dp(ln 2, p - 1/2)", "DP628"),
        ("check answer: dp(ln p)", "DP628"),
        ("check answer: E in [1 - p, p] [ output ]", "DP628"),
        ("check answer: P>=1/2 [ F<=p output = 1 ]", "DP410"),
        ("check answer: P>=1/2 [ F P>=1/2 [ X output = 1 ] ]", "DP627"),
        ("check answer: D{ln 2} [ F D{ln 2} [ X output = 1 ] ]", "DP627"),
        ("check answer at x = 0: P=? [ F P>=1/2 [ X output = 1 ] ] >= p", "DP627"),
        ("check answer at P>=1/2 [ X P>=1/2 [ output = 1 ] ]: dp(ln 2)", "DP627"),
        ("check compose(answer, 2): renyi(2) <= ln 3", "DP627"),
        ("check answer: loss_tail(ln 2) <= 1/2", "DP627"),
        ("check group(answer, p): dp(ln 2)", "DP410"),
        ("check compose(answer, p): dp(ln 2)", "DP410"),
        ("check subsample(answer, p): dp(ln 2)", "DP410"),
    ],
)
def test_claims_decide_nothing_by_the_number_that_stands_for_a_parameter(claim, code):
    report = check_text(ANSWER + claim)
    assert error_codes(report) == [code]
    assert "exp(" not in report["errors"][0]["message"]


def test_a_strategy_of_an_analyst_is_not_chosen_by_the_number_that_stands_for_a_parameter():
    asks = ANSWER.replace("  y ~", "  query c in 0..1\n  y ~").replace("x = 0", "x = c")
    assert error_codes(check_text(asks + "check answer: dp(ln 2, 1/9)")) == ["DP627"]
    assert verdicts(check_text(asks + "check answer: dp(ln 2)")) == ["violated"]


def test_no_pairs_are_left_out_where_a_parameter_has_no_value():
    """Which of many pairs exceed a budget most depends on it."""
    claim = f"{ANSWER}check answer: dp(ln 2)"
    (check,) = sound(claim).checks
    assert sifted_claim(check) is None
    (chosen,) = sound(claim.replace("param p in (0, 1)", "const p = 1/2")).checks
    assert sifted_claim(chosen) is not None


def test_an_interval_of_a_parameter_is_one_where_it_is_asked():
    report = check_text(ANSWER + "check answer for p in [1/2, 1): P in [1 - p, p] [ X output = 1 ]")
    assert verdicts(report) == ["holds"]


MODELS = """
param p in (0, 1)
mechanism noisy() {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ geometric(x, p) clamped 0..2
  output y
}
mechanism sums() {
  input x in 0..1
  adjacent all
  y ~ geometric(x, p^2) folded 0..2
  z ~ {i: product(j in 0..i : p) for i in 0..2} normalized
  if y + z > 2 { output many } else { output few }
}
mechanism again() {
  input x in 0..1
  adjacent all
  y := 2
  while y = 2 { y ~ geometric(x, p) clamped 0..2 }
  output y
}
mechanism above() {
  input q[1..2] in 0..1
  adjacent linf(q, q') <= 1
  t ~ geometric(0, p^2) unbounded
  for i in 1..2 {
    y ~ geometric(q[i], p) unbounded
    if y >= t { output top; stop }
    output bot
  }
}
mechanism mixed() {
  input x in 0..1
  adjacent all
  k ~ binomial(2, 4 * p * (1 - p))
  y ~ geometric(if k = 1 then x else 0, p) unbounded
  z ~ geometric(0, p^2) unbounded
  output max(y, z)
}
mechanism sizes() {
  input x in 0..2
  adjacent abs(x - x') <= 1
  k ~ bernoulli(p)
  y ~ geometric(x, p) conditioned 0..2
  z ~ geometric_positive(p/2) wrapped 0..2
  output if k then y else z
}
mechanism believed() {
  input x in 0..1
  adjacent all
  prior a ~ {0: p, 1: 1 - p}
  y ~ geometric(x + a, p/2) clamped 0..2
  output y
}
mechanism asked() {
  input x in 0..1
  adjacent all
  repeat 2 {
    query c in 0..1
    y ~ bernoulli(if x = c then p else 1 - p)
    output y
  }
}
mechanism shown() {
  input x in 0..1
  adjacent all
  y ~ geometric(x, p) unbounded
  z ~ geometric(1 - x, p/(1 + p)) unbounded
  output max(y, z)
}
chain walk {
  state s[i in 0..4] : place
  state end : over
  for i in 1..3 { s[i] -> p: s[i + 1] + 1 - p: s[i - 1] }
  s[0] -> 1: end
  s[4] -> 1: end
  adjacent s[1] ~ s[2]
  observe over
}
for k in 1..2 {
  check group(noisy, k): dp(-ln p)
  check group(sums, k): delta(ln(3)/2) <= p
}
check   noisy: P>=p/9 [ X output = 1 ] | D{ln 2, 1/9} [ X output = x ]
check   again: epsilon <= -2 * ln p
check   above: dp(-4 * ln p)
check   mixed: dp(-ln p)
check   sizes at x = 1: P=? [ X output = 1 ] >= p/9
check   sizes: delta(-ln p) <= p
check   walk: P>=(p^4) [ F s[4] ] & D{ln 2} [ F<=6 s[0] ]
check   believed: delta(ln 2) <= p/2
check   asked: dp(-2 * ln p)
check   shown: dp(ln 2, 1/9)
check   sizes: E<=(1 + p) [ output ]
compute shown: delta(0)
compute sums: epsilon
compute again: delta(ln 2)
"""

ENDLESS = """
param p in (0, 1)
mechanism stream() {
  input q[1..] in integers
  adjacent linf(q, q') <= 1
  t ~ geometric(0, p^2) unbounded
  for i in 1.. {
    y ~ geometric(q[i], p) unbounded
    if y >= t { output top; stop }
    output bot
  }
}
mechanism count() {
  input x in integers
  adjacent abs(x - x') <= 1
  y ~ geometric(x, p) unbounded
  output y
}
check   stream: dp(-4 * ln p)
refute  stream: dp(-ln p)
check   count: dp(ln 3)
check   count: epsilon = -ln p
compute count: epsilon
"""

OWN = ("exact/number.py", "exact/polynomial.py", "test_param_guards.py")

PROVED = {"_ratio", "checked_argument", "_literal", "_why_no_probability"}
"""Look whether a number is a weight after `weight_value` proved it for all values."""

KINDS = {"shown_kinds", "with_ratios"}
"""Choose a window and its kinds; that these are probabilities is proved for all values."""

FOR_NESTED = {"_unbounded", "lumped_states", "_products_to_come"}
"""Bounds on what numbers beyond the window change in nested formulas; with a parameter are none."""

ORDERED = {"by_falling_ratio"}
"""Put the losses of merged prefixes in an order, of which all are looked at in any case."""

GUIDED = {"number_of", "loses_more", "undecided"}
"""Rates of shifts, multiples of one, in their order; and what windows lose at this very value, of
which it is told while the search goes on."""

EQUAL = {"is_met"}
"""Asks whether two ratios are equal at the stand-in, which is transcendental: then they are one."""

FORMS = {"_fraction", "whole_lcm", "whole_gcd"}
"""Normal forms, whose denominators are positive at the stand-in, so where they are 0 nowhere."""


def callers(frame):
    """Yield the names of the functions that are being called, the innermost first."""
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back


@pytest.fixture(name="seen")
def _seen(monkeypatch):
    """Return how often each function looks at the stand-in, at values that are chosen 0 times."""
    seen, pauses = Counter(), []

    def watched(method):
        def called(self, *arguments):
            frame = sys._getframe(1)
            while frame.f_code.co_filename.endswith(OWN):
                if frame.f_code.co_name in FORMS:
                    return method(self, *arguments)
                frame = frame.f_back
            if not pauses and not (GUIDED | EQUAL).isdisjoint(callers(frame)):
                seen["guided"] += 1
            else:
                seen[frame.f_code.co_name] += not pauses
            return method(self, *arguments)

        return called

    def ordinary(function):
        def called(*arguments):
            pauses.append(1)
            try:
                return function(*arguments)
            finally:
                pauses.pop()

        return called

    for kind, name in ((ExpNumber, "ball"), (ExpPolynomial, "ball"), (ExpPolynomial, "sign")):
        monkeypatch.setattr(kind, name, watched(getattr(kind, name)))
    monkeypatch.setattr(outcomes, "_at_value", ordinary(outcomes._at_value))
    monkeypatch.setattr(outcomes, "decided", ordinary(outcomes.decided))
    return seen


def test_no_comparison_but_those_listed_sees_the_stand_in(seen):
    report = check_text(MODELS, "--explain", "none")
    assert set(verdicts(report)) == {"holds", "violated", "value"}
    assert seen["_ratio"] > 0
    assert {name for name, count in seen.items() if count} <= PROVED | KINDS | FOR_NESTED | ORDERED
    assert set(seen) >= KINDS


def test_bounds_for_all_integers_are_only_guided_by_the_stand_in(seen):
    report = check_text(ENDLESS, "--explain", "none")
    assert verdicts(report) == ["holds", "violated", "violated", "holds", "value"]
    assert seen["guided"] > 0
    known = PROVED | KINDS | FOR_NESTED | {"guided", "log"}  # whose argument is e^budget
    assert {name for name, count in seen.items() if count} <= known


def test_a_loop_around_claims_goes_through_powers_of_e():
    text = PROGRAM.replace("BODY", "y ~ geometric(x, a) clamped 0..1 output y").replace(
        "m()", "m(a)"
    )
    loop = text.replace("check m: dp(ln 3)", "for a in {1/2, exp(-1/2)} { check m(a = a): dp(1) }")
    assert verdicts(check_text(loop)) == ["holds", "holds"]
