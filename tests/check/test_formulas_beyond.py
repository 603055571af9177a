"""Formulas inside of paths, asked at all numbers beyond the window at once."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import isclose, prod

import pytest
from flint import fmpq

from dpcheck.chain.chain import Gap
from dpcheck.check.formulas.beyond import TruthBeyond, are_satisfying, are_violating
from dpcheck.check.values.comparisons import holds
from dpcheck.exact import Budget, compare, excess_sign
from dpcheck.exact.exponentials import differences, next_differences
from dpcheck.logic.formulas import Holds, Private, ProbabilityIs, Truth
from dpcheck.source import SourceText, Span
from tests.checking import check_text, verdicts

WIDTH = 13


def random_sum(rng, ratios):
    """Return the coefficients of a sum of exponentials."""
    return [fmpq(rng.randint(-3, 3), rng.choice((1, 9))) for _ in ratios]


def value_at(n, coefficients, ratios):
    return sum((a * r**n for a, r in zip(coefficients, ratios, strict=True)), fmpq(0))


def random_ratios(rng, most):
    bases = rng.sample([fmpq(1, d) for d in (2, 3, 4, 6, 8)], rng.randint(0, most))
    return (fmpq(1), *sorted(bases, reverse=True))


class Sum:
    """A random sum of products of powers, of as many gaps as there are tuples of ratios."""

    def __init__(self, rng, ratios):
        self.terms = [
            (fmpq(rng.randint(-2, 3), rng.choice((1, 9))), each) for each in product(*ratios)
        ]
        self.first = [self.at(gaps) for gaps in product(*(range(len(each)) for each in ratios))]

    def at(self, gaps):
        return sum(
            (
                a * prod((r**n for r, n in zip(each, gaps, strict=True)), start=fmpq(1))
                for a, each in self.terms
            ),
            fmpq(0),
        )


def test_gaps_of_thousands_are_told():
    span = Span(SourceText("", ""), 0, 0)
    asked = ProbabilityIs((("<=", fmpq(1, 2)),), Holds(Truth(True, span), span), span)
    p, bound = [fmpq(1, 2), fmpq(1, 4)], [fmpq(1, 2)] * 2  # 1/2^(n + 1)
    beyond = TruthBeyond([p, bound], ((fmpq(1), fmpq(1, 2)),), are_satisfying(asked))
    assert beyond.at((Gap(3000, is_known=False),)) is True


@pytest.mark.parametrize("seed", range(150))
def test_what_is_told_of_all_gaps_is_true_of_each(seed):
    rng = random.Random(seed)
    ratios = tuple(random_ratios(rng, 3 - n) for n in range(rng.randint(0, 3)))
    gaps = tuple(Gap(rng.randint(0, 3), rng.choice((True, False, False))) for _ in ratios)
    span = Span(SourceText("", ""), 0, 0)
    budget, delta = Budget.ln(rng.randint(1, 3)), rng.choice((0, 1, fmpq(1, 100)))
    p, q = Sum(rng, ratios), Sum(rng, ratios)
    private = Private(budget, delta, Holds(Truth(True, span), span), span)
    comparison, bound = rng.choice((">=", ">", "<", "=")), fmpq(rng.randint(-1, 3), 3)
    asked = ProbabilityIs(((comparison, bound),), private.path, span)
    constants = [[c] * len(p.first) for c in (delta, bound)]
    told = (
        TruthBeyond([p.first, q.first, constants[0]], ratios, are_violating(private)).at(gaps),
        TruthBeyond([p.first, constants[1]], ratios, are_satisfying(asked)).at(gaps),
    )
    lengths = [range(g.length, g.length + (1 if g.is_known else 9)) for g in gaps]
    truths = set(), set()
    for each in product(*lengths):
        ends = p.at(each), q.at(each)
        truths[0].add(any(excess_sign(*o, budget, delta) > 0 for o in (ends, ends[::-1])))
        truths[1].add(holds(comparison, compare(ends[0], bound)))
    for found, wanted in zip(told, truths, strict=True):
        assert found is None or wanted == {found}


def test_nothing_is_told_where_too_many_parts_are_left():
    """It is true of 300 gaps, one by one, and of no other."""
    ratio, span = fmpq(1023, 1024), Span(SourceText("", ""), 0, 0)
    path = Holds(Truth(True, span), span)
    told = are_satisfying(ProbabilityIs(((">", ratio**300),), path, span))
    values = [[fmpq(1), ratio], [ratio**300] * 2]
    assert TruthBeyond(values, ((fmpq(1), ratio),), told).at((Gap(0, False),)) is None
    assert TruthBeyond(values, ((fmpq(1), ratio),), told).at((Gap(301, False),)) is False
    assert TruthBeyond(values, ((fmpq(1), ratio),), told).at((Gap(299, True),)) is True


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


@pytest.mark.parametrize("least", ["3596/4096", "4006/4096"])
def test_two_numbers_that_are_kept_are_known_to_differ_by_the_draws_that_each_meets(least):
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  z ~ geometric(x, 1/4) unbounded
  u ~ geometric(x, 1/4) unbounded
  output asked
  w ~ geometric_positive(1/2) unbounded
  v ~ geometric_positive(1/2) unbounded
  output (w < z) & (v < u)
}}
compute m at x = 0: P=? [ X P>={least} [ X output = true ] ]
"""
    (result,) = check_text(text)["results"]
    half, quarter, far = Fraction(1, 2), Fraction(1, 4), range(1, 40)
    expected = sum(
        Fraction(9, 25) * quarter ** (z + u)
        for z in far
        for u in far
        if (1 - half**z) * (1 - half**u) >= Fraction(least)
    )
    assert isclose(float(result["value"]["decimal"]), float(expected), rel_tol=1e-9)


def test_numbers_that_are_moved_differ_by_more_than_draws_beyond_the_window():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  z ~ geometric(x, 1/2) POLICY
  u ~ geometric(0, 1/2) POLICY
  output z > 0
  w ~ geometric(0, 1/2) POLICY
  output w < max(z, u) - 4
}
compute m at x = 0: P=? [ X P>=4089/4096 [ X output = true ] ]
"""
    (near,) = check_text(text.replace("POLICY", f"clamped -{WIDTH}..{WIDTH}"))["results"]
    (exact,) = check_text(text.replace("POLICY", "unbounded"))["results"]
    assert isclose(*(float(each["value"]["decimal"]) for each in (exact, near)), abs_tol=1e-6)


def values_of(text, policy):
    """Return the values of claims, the lower bound where one is known within bounds."""
    results = check_text(text.replace("POLICY", policy))["results"]
    return [each["value"].get("exact") or each["value"]["enclosure"][0] for each in results]


BETWEEN = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) POLICY
  s ~ geometric(x, 1/2) POLICY
  v ~ geometric(x, 1/2) POLICY
  output if v < t then low else high
  v ~ geometric(x, 1/2) POLICY
  output if s < v & v < t then low else high
}
compute m at x = 0: P=? [ X (low => P>0 [ X low ]) ]
compute m at x = 0: P=? [ X (low => D{ln (3/2)} [ X low ]) ]
compute m at x = 0: P=? [ X (low => D{ln 2} [ X low ]) ]
compute m at x = 0: P=? [ X (low & P>1/10 [ X low ]) ]
compute m at x = 0: P=? [ X (low & P in [1/24, 1/12] [ X low ]) ]
"""


def test_formulas_tell_how_far_two_numbers_are_apart():
    """A draw between s and t is possible where t > s + 1, with a ratio of 2 wherever these are."""
    found = values_of(BETWEEN, "unbounded")
    assert found[:4] == ["145/189", "496/567", "1", "841/5184"]
    near = values_of(BETWEEN, "clamped -20..20")
    pairs = zip(found, near, strict=True)
    assert all(isclose(Fraction(a), Fraction(b), abs_tol=1e-8) for a, b in pairs)


class WriterOfTwo(Writer):
    """Writes a program that keeps two numbers and redraws them before it compares them."""

    def program(self, policy):
        pick, claim = self.pick, self.formula(0)
        first, other = pick(("1/8", "1/27")), pick(("1/8", "1/16"))
        kept = f"s ~ geometric(0, {first}) {policy}  t ~ geometric({pick('01x')}, {other}) {policy}"
        kept += pick(("", "", "  if s > t { s := t }"))
        drawn = f"w ~ geometric(x, 1/27) {policy}  if w > t {{ t := w }}"
        signs = ("<", "<=", ">", ">=", "=")
        low = pick(("v < s", "s < v", f"s {pick(signs)} t"))
        return f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {kept}
  output asked
  {pick(("", "", drawn))}
  c := 0  while c < 2 {{ c := c + 1 }}
  v ~ geometric(x, 1/27) {policy}
  if v {pick(signs)} t {{ output top }} else {{ output if {low} then low else bot }}
}}
compute m at x = {pick("01")}: P=? [ {pick("XF")} (asked & {claim}) ]
"""

    def path(self, depth):
        return f"{self.pick('XF')} {self.pick(('top', 'low', 'bot', '(bot | top)'))}"


@pytest.mark.parametrize("seed", range(24))
def test_formulas_about_two_numbers_are_those_of_clamped_noise(seed):
    """One compares how far s is below with how far t is above: it is known within bounds."""
    writer = WriterOfTwo(seed).program("POLICY")
    (exact,) = check_text(writer.replace("POLICY", "unbounded"))["results"]
    (near,) = values_of(writer, "clamped -9..9")
    assert isclose(float(exact["value"]["decimal"]), Fraction(near), abs_tol=1e-6)
    assert ("enclosure" in exact["value"]) == (seed == 6)


class WriterOfRounds(Writer):
    """Writes a program that draws and compares numbers in every round, of which none is last."""

    def program(self, policy):
        pick, sign = self.pick, self.pick((">=", ">", "<=", "<"))
        first, other = pick(("1/8", "1/27")), pick(("1/8", "1/16"))
        compared = pick(
            (f"v {sign} t", f"v {sign} t + 1", f"v + x {sign} t", f"v {sign} s | v < t")
        )
        after = pick(("", "", "if v < t { stop }", "output if v > 0 then high else low"))
        return f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {pick(("", "output begin"))}
  while true {{
    t ~ geometric({pick("01x")}, {first}) {policy}
    {f"s ~ geometric(0, {first}) {policy}" if "s" in compared else ""}
    output {pick(("bot", "if t > 0 then top else bot"))}
    v ~ geometric(x, {other}) {policy}
    output if {compared} then top else bot
    {after}
  }}
}}
compute m at x = {pick("01")}: P=? [ X {self.formula(pick((0, 0, 1)))} ]
"""

    def path(self, depth):
        return super().path(depth).replace("F ", "F<=4 ").replace("G ", "G<=3 ")


@pytest.mark.parametrize("seed", range(30))
def test_numbers_that_rounds_without_end_draw_anew_are_known_until_they_do(seed):
    writer = WriterOfRounds(seed).program("POLICY")
    (exact,) = check_text(writer.replace("POLICY", "unbounded"))["results"]
    (near,) = values_of(writer, f"clamped -{WIDTH}..{WIDTH}")
    assert isclose(float(exact["value"]["decimal"]), Fraction(near), abs_tol=1e-6)
    assert "exact" in exact["value"]


class WriterOfSums(Writer):
    """Writes a program that keeps two numbers, and compares sums of them with a draw."""

    def program(self, policy):
        pick = self.pick
        signs, steps = (">=", ">", "<=", "<"), ("- 2", "- 1", "+ 0", "+ 1", "+ 2")
        first, other = pick(("1/8", "1/27")), pick(("1/8", "1/16"))
        seen = pick(("asked", f"if z {pick(signs)} t {pick(steps)} then asked else silent"))
        kept = pick(("t := max(t, z)", "if z > t { t := z }", "t := min(z, t + 1)", "t := t", ""))
        compared = f"v {pick(signs)} t {pick(steps)}"
        if kept in ("t := t", ""):
            compared += f" {pick('&|')} v {pick(signs)} z {pick(steps)}"
        return f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric({pick("0x")}, {first}) {policy}
  z ~ geometric({pick("01")}, {other}) {policy}
  output {seen}
  {kept}
  v ~ geometric(x, 1/27) {policy}
  output if {compared} then top else bot
}}
compute m at x = {pick("01")}: P=? [ X (asked & {self.formula(0)}) ]
"""

    def path(self, depth):
        return f"X {self.pick(('top', 'bot'))}"


@pytest.mark.parametrize("seed", [2, 3, 4, 8, 9, 11, 13, 20, 22, 26])
def test_formulas_about_sums_of_two_numbers_are_those_of_clamped_noise(seed):
    writer = WriterOfSums(seed).program("POLICY")
    (exact,) = check_text(writer.replace("POLICY", "unbounded"))["results"]
    (near,) = values_of(writer, "clamped -9..9")
    assert isclose(float(exact["value"]["decimal"]), Fraction(near), abs_tol=1e-6)
    assert "exact" in exact["value"]


@pytest.mark.parametrize("seed", [2, 3, 4, 8, 9, 11, 13, 20, 22, 26])
def test_formulas_about_gaps_that_are_not_told_are_known_within_bounds(seed, monkeypatch):
    """A gap of which nothing is known may be one that draws tie numbers across."""
    monkeypatch.setattr("dpcheck.explore.runs.orders.MANY_TIED", 0)
    writer = WriterOfSums(seed).program("POLICY")
    (found,) = check_text(writer.replace("POLICY", "unbounded"))["results"]
    (near,) = values_of(writer, "clamped -9..9")
    low, high = found["value"].get("enclosure") or [found["value"]["decimal"]] * 2
    assert float(low) - 1e-6 <= Fraction(near) <= float(high) + 1e-6


@pytest.mark.parametrize(
    ("shown", "kept", "then", "value"),
    [
        ("z > t", "t := max(t, z)", "w >= t + 1", "25/36"),
        ("z > t + 1", "t := max(t, z)", "w >= t", "121/144"),
        ("z > t", "", "if w >= t + 1 then true else w >= z + 1", "35/36"),
    ],
)
def test_formulas_about_the_larger_of_two_numbers_have_their_closed_form(shown, kept, then, value):
    """P(w >= n) is at least 1/6 for n <= 2; the last one is that of the smaller number."""
    text = f"""
mechanism m {{
  input q in 0..1
  adjacent all
  t ~ geometric(0, 1/2) unbounded
  z ~ geometric(0, 1/2) unbounded
  output {shown}
  {kept}
  w ~ geometric(q, 1/2) unbounded
  output {then}
}}
check m at q = 0: P=({value}) [ X P>=1/6 [ X output = true ] ]
check m: P=1 [ X D{{ln 2}} [ X output = true ] ]
"""
    assert verdicts(check_text(text)) == ["holds", "holds"]


def test_formulas_compare_numbers_that_draws_may_part():
    """It is true of v = 6, t = 12 alone."""
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
    assert values_of(text, "") == [str(fmpq(1, 3) / 2**12)]


@pytest.mark.parametrize(
    "later",
    [
        "output t >= 3",
        "v ~ geometric(0, 1/2) POLICY  output v < t",
    ],
)
def test_numbers_that_a_loop_moves_come_from_beyond_the_window(later):
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) POLICY
  output asked
  c := 0  while c < 7 {{ t := t - 1  c := c + 1 }}
  {later}
}}
compute m at x = 1: P=? [ X P>=2/3 [ X output = true ] ]
"""
    (exact,), (near,) = (values_of(text, policy) for policy in ("unbounded", "clamped -20..20"))
    assert isclose(Fraction(exact), Fraction(near), abs_tol=1e-5)


def test_a_draw_may_meet_another_that_a_number_is_moved_to():
    """v >= t - 3 and w >= v - 3: a multiple of 4^-t from t = 7 on, and of no other t."""
    chance = fmpq(4096, 27) / 4**14
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/4) unbounded
  output asked
  v ~ geometric(0, 1/2) unbounded  w ~ geometric(0, 1/2) unbounded
  output if v + 3 >= t & w + 3 >= v then hit else miss
}}
compute m at x = 0: P=? [ X P={chance} [ X hit ] ]
"""
    assert values_of(text, "") == [str(fmpq(3, 5) / 4**14)]


def test_numbers_with_bounds_may_equal_one_beyond_the_window():
    """Neighbors that draw equal numbers go on; one is told by its value, one as beyond."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  if x = 0 { v ~ geometric(0, 1/2) POLICY  f := v >= 0 } else { b ~ uniform(0..10)  f := b > 4 }
  output asked
  w ~ bernoulli(if f then 1/2 + x/4 else 1/2)
  output w
}
compute m at x = 0: P=? [ X D{0} [ X output = true ] ]
"""
    assert values_of(text, "clamped -20..20") == ["1/3"]
    assert values_of(text, "unbounded") == ["1/3"]


class WriterOfShown(Writer):
    """Writes a program that shows numbers that it kept, and formulas that read them."""

    def program(self, policy):
        pick, n = self.pick, self.pick((1, 2))
        sign, other = pick((">=", ">", "<=", "<")), pick(("1/8", "1/27"))
        shows = pick(
            (
                f"if v {sign} t {{ output top }} else {{ output bot }}",
                f"if v {sign} t {{ output top output v stop }} else {{ output bot }}",
                f"if v {sign} t {{ t := v output top }} else {{ output bot }}",
                f"if v {sign} t {{ output v stop }} else {{ output bot }}",
            )
        )
        at = " & ".join(f"q[{i}] = {pick('01')}" for i in range(1, n + 1))
        claims = [self.path(pick((1, 1, 2))) for _ in range(2)]
        asked = "\n".join(f"compute m at {at}: P=? [ {claim} ]" for claim in claims)
        return f"""
mechanism m {{
  input q[1..{n}] in 0..1
  adjacent linf(q, q') <= 1
  t ~ geometric({pick(("0", "q[1]"))}, {pick(("1/8", "1/16"))}) {policy}
  output go
  v ~ geometric(0, 1/8) {policy}
  for i in 1..{n} {{ v ~ geometric(q[i], {other}) {policy} {shows} }}
  output {pick(("t", "t", "if t > 0 then t else 0", "clamp(t, -1, 2)", "(t, 1)"))}
}}
{asked}
"""

    def path(self, depth):
        shown = self.pick(("top", "bot", "(output > 1)", "(output = 1)", "(output <= -2 | top)"))
        if depth == 0:
            return f"{self.pick(('X', 'F', 'X X'))} {shown}"
        inner, other = self.formula(depth - 1), self.pick(("top", "bot", "go", "true"))
        return self.pick(
            (f"X ({other} & {inner})", f"F ({other} & {inner})", f"F ({shown} & {inner})")
        )


@pytest.mark.parametrize("seed", range(24))
def test_formulas_about_numbers_that_are_shown_later_are_those_of_clamped_noise(seed):
    writer = WriterOfShown(seed).program("POLICY")
    found = values_of(writer, "unbounded")
    near = values_of(writer, "clamped -11..11")
    pairs = zip(found, near, strict=True)
    assert all(isclose(Fraction(a), Fraction(b), abs_tol=1e-6) for a, b in pairs)


SHOWN_LATER = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(x, 1/2) unbounded
  output go
  v ~ geometric(x, 1/3) unbounded
  if v > t { output top } else { output bot }
  output t
}
check m: P=1 [ X D{ln 3} [ X top ] ]
refute m: P=1 [ X D{ln 2} [ X top ] ]
compute m at x = 1: P=? [ X (go & P>=1/2 [ F output > 9 ]) ]
compute m at x = 1: P=? [ X (go & P>=1/2 [ F output > 25 ]) ]
compute m at x = 1: P=? [ X (go & P>=1/2 [ F output > 12 ]) ]
compute m at x = 1: P=? [ X (go & P>=1/2 [ F output > 3 ]) ]
"""


def test_what_is_claimed_of_a_number_that_is_shown_later_is_known_where_claims_change():
    """P(t > n) is (2/3) 2^-n for x = 1, and n is in the window of the claim before."""
    results = check_text(SHOWN_LATER)["results"]
    assert [each["verdict"] for each in results[:2]] == ["holds", "violated"]
    values = [each["value"]["exact"] for each in results[2:]]
    assert values == [str(Fraction(2, 3) / 2**n) for n in (9, 25, 12, 3)]
