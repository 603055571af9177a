"""Formulas inside of paths, asked at all numbers beyond the window at once."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import isclose, prod

import pytest
from flint import fmpq

from dpcheck.check.formulas.beyond import ExponentialSum
from dpcheck.exact import Budget, excess_sign
from dpcheck.exact.exponentials import differences, next_differences
from dpcheck.limits import LimitReached
from tests.checking import check_text

WIDTH = 13


def random_sum(rng, ratios):
    """Return the coefficients of a sum of exponentials."""
    return [fmpq(rng.randint(-3, 3), rng.choice((1, 9))) for _ in ratios]


def value_at(n, coefficients, ratios):
    return sum((a * r**n for a, r in zip(coefficients, ratios, strict=True)), fmpq(0))


@pytest.mark.parametrize("seed", range(90))
def test_signs_of_sums_of_exponentials_are_those_of_their_values(seed):
    """In one dimension to three; with 0 among them it may be the sign of an end alone."""
    rng = random.Random(seed)
    n_axes = seed % 3 + 1
    axes = []
    for _ in range(n_axes):
        bases = rng.sample([fmpq(1, d) for d in (2, 3, 4, 6, 8)], rng.randint(0, 4 - n_axes))
        axes.append((fmpq(1), *sorted(bases, reverse=True)))
    terms = [list(product(*axes)) for _ in range(2)]
    known = [{each: fmpq(rng.randint(-3, 3), rng.choice((1, 9))) for each in one} for one in terms]

    def value(side, place):
        powers = (prod(map(pow, ratios, place), start=a) for ratios, a in side.items())
        return sum(powers, fmpq(0))

    box = list(product(*(range(len(ratios)) for ratios in axes)))
    p, q = (
        ExponentialSum({place: value(side, place) for place in box}, tuple(axes)) for side in known
    )
    budget, delta = Budget.ln(rng.randint(1, 3)), rng.choice((0, 1, fmpq(1, 100)))
    try:
        signs = p.excess_signs(q, budget, delta)
    except LimitReached:
        assert n_axes > 1, "in one dimension all sums have one sign far out"
        return
    seen = {
        excess_sign(value(known[0], place), value(known[1], place), budget, delta)
        for place in product(*(range(len(r), len(r) + (40, 12, 6)[n_axes - 1]) for r in axes))
    }
    assert seen <= signs
    assert n_axes > 1 or signs - {0} == seen - {0}


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_exponentials_are_sums_of_products_that_are_not_negative(seed):
    """f(n) = Σ_k D_k h_(n-N+k)(ρ_k, ..., ρ_N), with all products of so many factors in h."""
    rng = random.Random(seed)
    ratios = sorted((fmpq(1, d) for d in rng.sample(range(1, 30), rng.randint(1, 5))), reverse=True)
    wanted = random_sum(rng, ratios)
    values = [value_at(n, wanted, ratios) for n in range(30)]
    found = differences(values[: len(ratios)], ratios)
    for n in range(8):
        products = [
            sum(
                (
                    prod(each, start=fmpq(1))
                    for each in combinations_with_replacement(ratios[k:], m)
                ),
                fmpq(0),
            )
            for k in range(len(ratios))
            if (m := n - len(ratios) + k + 1) >= 0
        ]
        parts = found[len(ratios) - len(products) :]
        assert sum((d * h for d, h in zip(parts, products, strict=True)), fmpq(0)) == values[n]
    for n in range(1, 20):
        found = next_differences(found, ratios)
        assert found == differences(values[n : n + len(ratios)], ratios)


SPARSE = """
mechanism svt(n = 2, alpha_q = 1/2) {
  input q[1..n] in 0..1
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(1, 1/4) unbounded
  for i in 1..n {
    noisy_q ~ geometric(q[i], alpha_q) unbounded
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
"""


@pytest.mark.parametrize(
    ("inner", "alpha"),
    [
        ("P>0 [ X top ]", "1/2"),
        ("P>0 [ X top ]", "exp(-1/2)"),
        ("D{ln 2} [ X top ]", "1/2"),
        ("D{1/2} [ X top ]", "exp(-1/2)"),
    ],
)
def test_a_formula_may_be_true_of_all_thresholds_though_probabilities_fall_to_0(inner, alpha):
    """Far beyond both sides are multiples of alpha^T, with a quotient of exactly 1/alpha."""
    asked = f"svt(alpha_q = {alpha}) at q[1] = 0 & q[2] = 0: P=? [ X"
    claims = f"compute {asked} (bot & {inner}) ]\ncompute {asked} bot ]"
    formula, bot = (result["value"]["exact"] for result in check_text(SPARSE + claims)["results"])
    assert formula == bot


@pytest.mark.parametrize(
    ("inner", "alpha"), [("D{ln(199/100)} [ X top ]", "1/2"), ("D{49/100} [ X top ]", "exp(-1/2)")]
)
def test_a_formula_may_be_false_of_all_thresholds_from_the_first_on(inner, alpha):
    """Below, at noisy_t < 1, both queries are above it with probabilities close to 1."""
    asked = f"compute svt(alpha_q = {alpha}) at q[1] = 0 & q[2] = 0: P=? [ X (bot & {inner}) ]"
    texts = (SPARSE, SPARSE.replace("unbounded", "clamped -30..30"))
    found = [check_text(text + asked)["results"][0]["value"]["decimal"] for text in texts]
    assert 0.05 < float(found[0]) < 0.25
    assert isclose(*map(float, found), rel_tol=1e-6)


def test_what_is_true_of_some_thresholds_only_is_told_for_each():
    """At noisy_t = 1, 2, 3, ... another query is above it with probability 1/3, 1/6, 1/12, ..."""
    claims = "compute svt at q[1] = 0 & q[2] = 0: P=? [ X (bot & P<1/1000 [ X top ]) ]"
    (result,) = check_text(SPARSE + claims)["results"]
    first = next(t for t in range(1, 99) if Fraction(2, 3) / 2**t < Fraction(1, 1000))
    rest = sum(
        Fraction(3, 5) / 4 ** (t - 1) * (1 - Fraction(2, 3) / 2**t) for t in range(first, 200)
    )
    assert isclose(float(Fraction(result["value"]["exact"])), float(rest), rel_tol=1e-12)


def test_formulas_in_two_brackets_are_alike_near_the_end_of_the_window_first():
    """The inner one becomes true at noisy_t = 10 or 11, the outer one is false in between."""
    inner = "D{0, 1/1000} [ X (bot & P<1/1000 [ X top ]) ]"
    claim = f"compute svt(n = 3) at q[1] = 0 & q[2] = 0 & q[3] = 0: P=? [ X (bot & {inner}) ]"
    texts = (SPARSE, SPARSE.replace("unbounded", "clamped -30..30"))
    found = [check_text(text + claim)["results"][0]["value"]["decimal"] for text in texts]
    assert isclose(*map(float, found), rel_tol=1e-12)


class Writer:
    """Writes a program that keeps a number with noise, and a formula with others inside."""

    def __init__(self, seed):
        self.pick = random.Random(seed).choice

    def program(self, policy):
        pick, n = self.pick, self.pick((2, 3))
        sign, others = pick((">=", ">", "<=", "<")), pick(("1/8", "1/27"))
        shows = pick(
            (
                f"if v {sign} t {{ output top {pick(('stop', ''))} }} else {{ output bot }}",
                f"if v {sign} t {{ t := v output top }} else {{ output bot }}",
                f"w ~ geometric(1, 1/16) {policy} output if v {sign} t & w < v then top else bot",
                f"output if v + 1 {sign} t then top else bot",
                f"output if v + q[i] {sign} t + 1 then top else bot",
                f"k ~ {{0: 1/3, 1: 2/3}} output if v - k {sign} t then top else bot",
            )
        )
        at = " & ".join(f"q[{i}] = {pick('01')}" for i in range(1, n + 1))
        return f"""
mechanism m {{
  input q[1..{n}] in 0..1
  adjacent linf(q, q') <= 1
  t ~ geometric(0, {pick(("1/8", "1/16"))}) {policy}
  for i in 1..{n} {{ v ~ geometric(q[i], {others}) {policy} {shows} }}
}}
compute m at {at}: P=? [ {self.path(pick((1, 1, 2)))} ]
"""

    def path(self, depth):
        shown = self.pick(("top", "bot"))
        if depth == 0:
            other = self.pick(("top", "bot"))
            return self.pick(
                (f"X {shown}", f"F {shown}", f"X ({shown} & X {other})", f"G !{other}")
            )
        inner = self.formula(depth - 1)
        return self.pick(
            (f"X ({shown} & {inner})", f"F ({shown} & {inner})", f"X ({inner} & F bot)")
        )

    def formula(self, depth):
        path, budget = (
            self.path(depth),
            self.pick(("3/2", "7/5", "2", "8", "16", "27", "64", "216")),
        )
        return self.pick(
            (
                f"D{{ln ({budget})}} [ {path} ]",
                f"D{{ln ({budget})}} [ {path} ]",
                f"D{{ln ({budget}), 1/{self.pick(('10', '100'))}}} [ {path} ]",
                f"P{self.pick(('>0', '>=1/2', '<1/9', '<=1/10', ' in [1/100, 1]'))} [ {path} ]",
            )
        )


@pytest.mark.parametrize("seed", [*range(16), 198])
def test_random_formulas_are_those_of_clamped_noise(seed):
    """Only far beyond, where runs hardly ever come, do bounds of the noise matter."""
    exact, near = (
        check_text(Writer(seed).program(policy))["results"][0]["value"]
        for policy in ("unbounded", f"clamped -{WIDTH}..{WIDTH}")
    )
    assert isclose(float(exact["decimal"]), float(near["decimal"]), abs_tol=1e-6)


class WriterOfTwo(Writer):
    """Writes a program that keeps two numbers, moves and redraws them, before it compares them."""

    def program(self, policy):
        pick, claim = self.pick, self.formula(0)
        first, other = pick(("1/8", "1/27")), pick(("1/8", "1/16"))
        kept = f"s ~ geometric(0, {first}) {policy}  t ~ geometric({pick('01x')}, {other}) {policy}"
        kept += pick(("", "", "  if s > t { s := t }", "  if t = s { s := s - 1 }"))
        by = "1" if claim.startswith("D") else "x"  # neighbors would remember different numbers
        drawn = f"w ~ geometric(x, 1/27) {policy}  if w > t {{ t := w }}"
        moved = pick(("", f"s := s + {by}", "t := t - 1", drawn))
        later = pick((moved, f"c := 0  while c < 2 {{ {moved}  c := c + 1 }}"))
        again = f"output asked  if v < s {{ s := v }}  v ~ geometric(x, 1/16) {policy}"
        signs = ("<", "<=", ">", ">=", "=")
        low = pick(("v < s", "v < s", "s < v + 1", f"s {pick(signs)} t"))
        return f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {kept}
  output asked
  {later}
  v ~ geometric(x, 1/27) {policy}
  {pick(("", again))}
  if v {pick(signs)} t {{ output top }} else {{ output if {low} then low else bot }}
}}
compute m at x = {pick("01")}: P=? [ {pick("XF")} (asked & {claim}) ]
"""

    def path(self, depth):
        return f"{self.pick('XF')} {self.pick(('top', 'low', 'bot', '(bot | top)'))}"


SHOWN_LATER = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/8) POLICY
  output asked
  v ~ geometric(x, 1/16) POLICY
  output v > 1
  w ~ geometric(x, 1/9) POLICY
  output w >= t
  output t
}
compute m at x = 0: P=? [ X P<1/500 [ X X (output = true) ] ]
compute m at x = 1: P=? [ X D{ln 9} [ X X (output = true & X output < 5) ] ]
compute m at x = 1: P=? [ X D{ln 3} [ X X (output = true) ] ]
compute m at x = 1: P=? [ X P>0 [ X X (output = true & X output = 6) ] ]
"""


def test_formulas_compare_a_number_that_is_shown_later_with_draws():
    exact, near = (
        [r["value"]["exact"] for r in check_text(SHOWN_LATER.replace("POLICY", policy))["results"]]
        for policy in ("unbounded", "clamped -12..12")
    )
    assert exact == near == ["1/576", "1", "8/9", "7/2359296"]


def test_formulas_inside_of_formulas_are_asked_of_numbers_that_are_shown_later():
    """Where shown numbers are told apart no law of gaps is known: what is read comes first."""
    inner = "P>=1 [ X (output = true | output = false) ]"
    model = SHOWN_LATER[: SHOWN_LATER.index("compute")]
    model += "compute m at x = 0: P=? [ X P>1/1000000 [ X "
    model += f"({inner} & X (output = true & X output = 2)) ] ]"
    exact, near = (
        check_text(model.replace("POLICY", policy))["results"][0]["value"]["decimal"]
        for policy in ("unbounded", "clamped -9..9")
    )
    assert isclose(float(exact), float(near), abs_tol=1e-6)
    assert float(exact) > 0


def test_gaps_of_states_without_a_law_may_be_told_apart():
    """Draws without end may follow `low`, not where t is kept: the formula is true of t > 3."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/4) unbounded
  b ~ bernoulli(1/2)
  if b { output left   v ~ geometric(0, 1/8) unbounded }
  else { output right  v ~ geometric(0, 1/8) unbounded }
  output if v < t then low else high
  if b {
    output asked
    w ~ geometric(0, 1/8) unbounded
    output if w >= t then top else bot
  } else {
    w ~ geometric(0, 1/8) unbounded
    while w > 0 { output round  w ~ geometric(0, 1/8) unbounded }
  }
}
compute m at x = 0: P=? [ X P>1/2 [ X (low & P>=1 [ X (asked & P<1/1000 [ X top ]) ]) ] ]
"""
    (result,) = check_text(text)["results"]
    assert result["verdict"] == "undecided"


def test_gaps_are_known_as_far_as_numbers_are_moved():
    """v > t - 7 has the probability 2/3 * 2^-(t-7) from t = 7 on, and another law before."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) unbounded
  output asked
  c := 0  while c < 7 { t := t - 1  c := c + 1 }
  v ~ geometric(0, 1/2) unbounded
  output v >= t
}
compute m at x = 1: P=? [ X P<1/3 [ X output = true ] ]
compute m at x = 1: P=? [ X P>=1/3 [ X output = true ] ]
"""
    found = [result["value"]["exact"] for result in check_text(text)["results"]]
    assert found == [str(fmpq(2, 3) / 2**9), str(1 - fmpq(2, 3) / 2**9)]


@pytest.mark.parametrize(
    "later",
    [
        "k ~ {0: 1/3, 2: 2/3}  output if s + k < t then top else bot",
        "k ~ {0: 1/3, 2: 2/3}  u := s + k  output asked  output if u < t then top else bot",
    ],
)
def test_numbers_that_are_only_added_to_later_are_known_as_far_as_sums_tell(later):
    """No draw is to come: s + k < t for all k where t - s > 2, where s + 0 < t for a third."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  s ~ geometric(0, 1/16) POLICY
  t ~ geometric(x, 1/16) POLICY
  output if s < t then asked else bot
  {later}
}}
compute m at x = 0: P=? [ X (asked & P>=1/2 [ F top ]) ]
compute m at x = 0: P=? [ X (asked & P in [1/4, 1/2] [ F top ]) ]
"""
    exact, near = (
        [r["value"]["decimal"] for r in check_text(text.replace("POLICY", policy))["results"]]
        for policy in ("unbounded", "clamped -8..8")
    )
    assert all(isclose(float(e), float(n), abs_tol=1e-8) for e, n in zip(exact, near, strict=True))


def test_gaps_are_known_as_far_as_draws_may_part_them():
    """It is true of v = 6, t = 12 alone: formulas are alike where gaps are 7 long or longer."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) unbounded
  output asked
  v ~ geometric(0, 1/2) unbounded
  output asked
  w ~ geometric(0, 1/4) unbounded
  output if v > 0 & v < w & w <= t then hit else miss
}}
compute m at x = 1: P=? [ X P>0 [ X P={fmpq(4, 5) * (fmpq(1, 4**7) - fmpq(1, 4**13))} [ X hit ] ] ]
"""
    (result,) = check_text(text)["results"]
    assert result["value"]["exact"] == str(fmpq(1, 3) / 2**12)


@pytest.mark.parametrize("seed", [*range(4), 5, 6, 7, 10])
def test_formulas_about_two_numbers_are_those_of_clamped_noise(seed):
    """Also where a loop draws, or moves one of them."""
    exact, near = (
        check_text(WriterOfTwo(seed).program(policy))["results"][0]["value"]
        for policy in ("unbounded", "clamped -9..9")
    )
    assert isclose(float(exact["decimal"]), float(near["decimal"]), abs_tol=1e-6)
