"""Neighbors that remember different numbers beyond the window, of which the offset is known."""

from __future__ import annotations

import random
from fractions import Fraction
from math import isclose, prod

import pytest

from dpcheck import loads
from dpcheck.explore.explore import explore
from dpcheck.explore.tails.tails import Window
from dpcheck.limits import Limits
from tests.checking import check_text

WIDTH = 120
"""0.9^120 is 3e-6; windows of numbers without bounds end at some 50."""


def values_of(text, policy="unbounded"):
    """Return the exact values of claims, as far as they are known."""
    results = check_text(text.replace("POLICY", policy))["results"]
    return [each["value"].get("exact") for each in results]


def bounds_of(text, policy="unbounded"):
    """Return the least and the greatest value of the one claim."""
    (result,) = check_text(text.replace("POLICY", policy))["results"]
    if "bounds" in result:
        return tuple(float(Fraction(result["bounds"][end]["exact"])) for end in ("low", "high"))
    low, high = result["value"].get("enclosure") or [result["value"]["exact"]] * 2
    return float(Fraction(low)), float(Fraction(high))


class Writer:
    """Writes a program that moves a number by the input and forgets where it came from."""

    def __init__(self, seed):
        self.pick = random.Random(seed).choice

    def program(self):
        pick = self.pick
        signs, ratio = (">=", ">", "<=", "<"), pick(("9/10", "4/5"))
        sign, other = pick(signs), pick(signs)
        kept = pick(
            (
                "v := n + x",
                "v := n - x",
                "v := n + 2 * x",
                "v := max(n, 1) + x",
                "v := max(n, y) + x",
                "v := if x = 0 then 2 else n",
                "if x = 0 { v := n } else { v := n + 3 }",
                "v := if x > 0 & y > n + 3 then n + 1 else n",
            )
        )
        shown = pick(("asked", f"y {other} 1", f"n {other} 1", f"y {other} n"))
        last = pick(
            (
                f"v {sign} z",
                f"v {sign} z + 1",
                f"v - x {sign} z",
                f"v {sign} z & z > 0",
                f"v {sign} z | z > 2",
            )
        )
        budgets = ("0", "ln (10/9)", "ln (11/10)", "ln 2", "ln (5/4)", "ln (81/64)", "ln (100/81)")
        budget = pick((*budgets, "0, 1/20", "0, 1/10", "ln (10/9), 1/100"))
        return f"""
mechanism m {{
  input x in 0..{pick("112")}
  adjacent {pick(("all", "abs(x - x') <= 1"))}
  n ~ geometric({pick("0x")}, {ratio}) POLICY
  y ~ geometric(0, {pick((ratio, "1/2"))}) POLICY
  {kept}
  output {shown}
  z ~ geometric({pick("0x1")}, {pick(("9/10", "1/2", "4/5"))}) POLICY
  output {last}
}}
compute m at x = {pick("01")}: P=? [ X D{{{budget}}} [ X output = {pick(("true", "false"))} ] ]
"""


@pytest.mark.parametrize("seed", range(24))
def test_formulas_beside_moved_numbers_are_those_of_clamped_noise(seed):
    text = Writer(seed).program()
    (exact,), (near,) = (
        values_of(text, each) for each in ("unbounded", f"clamped -{WIDTH}..{WIDTH}")
    )
    assert isclose(Fraction(exact), Fraction(near), abs_tol=2e-5)


MOVED = """
mechanism m {
  input x in 0..1
  adjacent all
  n ~ geometric(0, 1/2) POLICY
  v := n + x
  output asked
  z ~ geometric(x, 1/2) POLICY
  LAST
}
"""


AND = "c := v < z - x  w ~ geometric(x, 1/4) POLICY  output c & w < v"
OR = "c := v < z - x  w ~ geometric(x, 1/4) POLICY  output c | v < w - x"


@pytest.mark.parametrize(
    ("last", "budget", "value"),
    [
        # P(z - x > v) is 2^-v/3 for x = 0, and half of that for x = 1 and v + 1
        ("output v < z", "0", "1"),
        ("output v < z + x", "ln 2", "1"),
        ("output v < z + x", "ln (199/100)", "1/3"),
        ("output v < z - x", "ln 2", "1"),
        ("output v < z - x", "ln (199/100)", "1/6"),
        # with a part of 4^-v the ratio is less than 2 for all v > 0, or more, and 2 in the limit
        (AND, "ln 2", "1"),
        (AND, "ln (199/100)", "1/6"),
        (OR, "ln 2", "1/3"),
        (OR, "ln (201/100)", "11/32"),
    ],
)
def test_a_tight_budget_is_told_at_all_numbers(last, budget, value):
    claim = f"compute m at x = 0: P=? [ X D{{{budget}}} [ X output = true ] ]"
    assert values_of(MOVED.replace("LAST", last) + claim) == [value]


@pytest.mark.parametrize("x", [0, 1])
def test_what_is_true_of_far_numbers_only_is_told_where_it_begins(x):
    """P(z > n) changes by 2^-n/6 from n to n + 1, below 0 by 2/3 2^n: from k, or -k - 2, on.

    The window ends at some 30 first.
    """
    noise = "n ~ geometric(0, 9/10)"
    text = MOVED.replace("LAST", "output v < z - x").replace("n ~ geometric(0, 1/2)", noise)
    first = [*range(24, 38), 60]
    claims = "\n".join(
        f"compute m at x = {x}: P=? [ X D{{0, 1/(6 * 2^{k})}} [ X output = true ] ]" for k in first
    )
    expected = [
        (Fraction(9, 10) ** k + Fraction(9, 10) ** (k + 2)) / Fraction(19, 10) for k in first
    ]
    assert values_of(text + claims) == list(map(str, expected))


def test_a_neighbor_that_keeps_no_number_is_compared_with_all_of_them():
    """P(z > v) is 1/6 at v = 1, which all others are neighbors of, and 1/3 at 0, 1/12 at 2."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  n ~ geometric(0, 1/2) POLICY
  v := if x = 0 then n else 1
  output asked
  z ~ geometric(0, 1/2) POLICY
  output v < z
}
compute m at x = 0: P=? [ X D{ln 2} [ X output = true ] ]
compute m at x = 1: P=? [ X D{0, 5/6} [ X output = true ] ]
compute m at x = 1: P=? [ X D{0, 833333/1000000} [ X output = true ] ]
"""
    assert values_of(text) == [str(Fraction(1, 3) + Fraction(1, 12)), "1", "0"]


def test_draws_that_lie_close_to_each_other_lead_no_farther_than_their_number():
    """With x = 1 a number is kept if it is 4 or less, as draws below it say; these are forgotten.

    Farther out the only neighbors are those that keep none, and show `true`.
    """
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  a ~ geometric_positive(1/2) POLICY  ok := a <= 1
  n ~ geometric_positive(1/2) POLICY  ok := ok & n <= a + 1
  a ~ geometric_positive(1/2) POLICY  ok := ok & a <= n + 1
  n ~ geometric_positive(9/10) POLICY  ok := ok & n <= a + 1
  v := if x = 0 | ok then n else 0
  ok := x = 1 & ok
  output asked
  coin ~ bernoulli(1/2)
  output if ok then coin else v >= 0
}
compute m at x = 0: P=? [ X D{0} [ X output = true ] ]
"""
    assert values_of(text) == [str(Fraction(9, 10) ** 5)]


def test_what_is_known_of_numbers_that_were_forgotten_takes_as_wide_a_window():
    """Both are `ok` where nine numbers grow, at (1-r)^9 r^36 / Π (1 - r^k), k = 1, ..., 9; r = 1/2.

    While the last one is forgotten by one run before the other, such pairs are doubtful farther
    out. The number that is kept then is the only one drawn since.
    """
    draws, names = "a ~ geometric_positive(1/2) POLICY  ok := true\n", "ab"
    for k in range(8):
        kept, new = names[k % 2], names[1 - k % 2]
        draws += f"  {new} ~ geometric_positive(1/2) POLICY  ok := ok & {new} > {kept}\n"
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {draws}
  e := if x = 0 then a else 0
  coin ~ bernoulli(1/2)
  ok := ok & (e >= 0 | coin)
  a ~ geometric_positive(1/2) POLICY
  v := if x = 0 then a else 0
  output asked
  coin ~ bernoulli(1/2)
  output if ok & x = 0 then coin else v >= 0
}}
compute m at x = 0: P=? [ X D{{0}} [ X output = true ] ]
"""
    half = Fraction(1, 2)
    chance = half ** (9 + 36) / prod(1 - half**k for k in range(1, 10))
    assert values_of(text) == [str(1 - chance)]


def test_a_window_without_that_room_tells_no_neighbors():
    """Four numbers that grow, none of which is kept: 2^-10 / Π (1 - 2^-k), k = 1, ..., 4."""
    draws = "a ~ geometric_positive(1/2) POLICY  ok := true\n"
    for kept, new in ("ab", "ba", "ab"):
        draws += f"  {new} ~ geometric_positive(1/2) POLICY  ok := ok & {new} > {kept}\n"
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {draws}
  e := if x = 0 then b else 0
  coin ~ bernoulli(1/2)
  ok := ok & (e >= 0 | coin)
  output asked
  coin ~ bernoulli(1/2)
  output if ok & x = 0 then coin else true
}}
compute m at x = 0: P=? [ X D{{0}} [ X output = true ] ]
"""
    assert values_of(text) == [str(1 - Fraction(1, 315))]


@pytest.mark.parametrize(
    "kept",
    [
        "n ~ geometric(0, 1/2) POLICY  y ~ geometric(0, 1/2) POLICY  v := if x = 0 then n else y",
        "prior n ~ geometric(x, 1/2) POLICY  v := n + x",
        "n ~ geometric(0, 1/2) POLICY  y ~ geometric(0, 1/2) POLICY  v := n + x",
        (
            "if x = 0 { n ~ geometric(0, 1/2) POLICY  y ~ geometric(0, 1/2) POLICY }"
            " else { y ~ geometric(0, 1/2) POLICY  n ~ geometric(0, 1/2) POLICY }  v := n"
        ),
        "n ~ geometric(0, 1/2) POLICY  y ~ geometric(0, 1/2) POLICY  v := n + x  u := y - x",
    ],
)
def test_neighbors_any_distance_apart_are_known_within_bounds(kept):
    last = "v > z & u > z" if "u :=" in kept else "v > z"
    shown = "y" if kept.endswith("v := n + x") and "y ~" in kept else "asked"
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {kept}
  output {shown}
  z ~ geometric(0, 1/2) POLICY
  output {last}
}}
compute m at x = 0: P=? [ X D{{ln 2}} [ X output = true ] ]
"""
    (low, high), (near, _) = bounds_of(text), bounds_of(text, "clamped -14..14")
    assert low - 1e-3 <= near <= high + 1e-3
    assert low < high


def test_of_two_numbers_that_are_kept_no_neighbors_are_told():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  n ~ geometric_positive(1/2) unbounded
  y ~ geometric_positive(1/2) unbounded
  v := n + x
  output asked
  z ~ geometric_positive(1/2) unbounded
  w ~ geometric_positive(1/2) unbounded
  output v < z | y < w
}
check m: P>0 [ X D{ln 2} [ X output = true ] ]
"""
    (check,) = loads(text).claims
    window, limits = Window(-27, 27), Limits()
    found = explore(check.target, later_neighbors=True, window=window, limits=limits)
    assert len(found.chain.neighbors.doubtful)
    assert found.orders.tells_partners(0)
    assert not len(found.chain.orders(0).partners().states)


@pytest.mark.parametrize(
    ("drawn", "depth"),
    [
        # k numbers beyond a cut, m that one is moved, f at once: k (max(m + f, 2m) + 1) + 6m + 2
        ("n ~ NOISE  v := n + x", 1 * 3 + 8),
        ("n ~ NOISE  y ~ NOISE  v := if n > y then n + x else n", 2 * 3 + 8),
        ("prior y ~ NOISE  n ~ NOISE  v := if n > y then n + x else n", 3 * 3 + 8),
        ("n ~ NOISE  v := n + x  v := v - x", 1 * 5 + 14),
        ("n ~ NOISE  y ~ NOISE  if n > y + 3 { v := n + x } else { v := n }", 2 * 5 + 8),
        ("n ~ NOISE  f := n > 1  n ~ NOISE  v := if f then n + x else n", 1 * 3 + 8),
        ("if x = 0 { n ~ NOISE  y ~ NOISE } else { y ~ NOISE  n ~ NOISE }  v := n", 2 * 1 + 2),
    ],
)
def test_neighbors_are_alike_from_where_no_draws_lead(drawn, depth):
    """Numbers of a `prior` are two in two runs; what was forgotten is no draw of what is kept."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {drawn.replace("NOISE", "geometric(0, 1/2) unbounded")}
  output asked
  z ~ geometric(0, 1/2) unbounded
  output v > z
}}
check m: P>0 [ X D{{0}} [ X output = true ] ]
"""
    (check,) = loads(text).claims
    assert explore(check.target, later_neighbors=True, limits=Limits()).orders.depth == depth


def test_data_that_differ_may_be_forgotten():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  prior y ~ geometric(x, 1/2) POLICY
  n ~ geometric(0, 1/2) POLICY
  v := if n > y then n + x else n
  output asked
  z ~ geometric(0, 1/2) POLICY
  output v > z
}
compute m at x = 0: P=? [ X D{ln 2} [ X output = true ] ]
compute m at x = 0: P=? [ X D{ln (199/100)} [ X output = true ] ]
"""
    near = map(Fraction, values_of(text, "clamped -14..14"))
    pairs = zip(map(Fraction, values_of(text)), near, strict=True)
    assert all(isclose(a, b, abs_tol=2e-4) for a, b in pairs)


@pytest.mark.parametrize(
    "kept",
    [
        "if x = 0 { n ~ NOISE  v := n } else { y ~ NOISE  v := y + 1 }",
        "if x = 0 { n ~ NOISE  f := n > 1 } else { f ~ bernoulli(1/3) }  n ~ NOISE  v := n + x",
        "if x = 0 { n ~ NOISE  v := n } else { b ~ uniform(0..40)  v := if b > 20 then 1 else 0 }",
        "if x = 0 { n ~ NOISE  v := n + 2 } else { b ~ {-30: 1/2, 3: 1/2}  v := 1 }",
        "if x = 0 { n ~ NOISE  y ~ NOISE  v := n } else { y ~ NOISE  n ~ NOISE  v := max(y, 1) }",
        "if x = 0 { n ~ NOISE  y ~ NOISE  v := y } else { u ~ NOISE  n ~ NOISE  v := n - 1 }",
        "n ~ NOISE  if x = 0 { v ~ {n: 1/2, 1: 1/2} } else { v ~ {n: 3/4, 2: 1/4}  v := v + 1 }",
    ],
)
@pytest.mark.parametrize("budget", ["ln 2", "ln (10/9)", "0, 1/10"])
def test_neighbors_that_draw_at_different_places_are_those_of_clamped_noise(kept, budget):
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {kept.replace("NOISE", "geometric(0, 9/10) POLICY")}
  output asked
  z ~ geometric(0, 1/2) POLICY
  output v < z
}}
compute m at x = 0: P=? [ X D{{{budget}}} [ X output = true ] ]
"""
    (exact,), (near,) = values_of(text), values_of(text, f"clamped -{WIDTH}..{WIDTH}")
    assert isclose(Fraction(exact), Fraction(near), abs_tol=2e-5)


@pytest.mark.parametrize(
    "noise",
    [
        "if x = 0 { n ~ NOISE } else { n ~ uniform(-40..40) }",
        "n ~ if x = 0 then NOISE else uniform(-40..40)",
        "if x = 0 { n ~ NOISE } else { b ~ uniform(-40..40)  n := b }",
    ],
)
def test_bounds_of_what_is_drawn_in_place_of_noise_are_no_far_numbers(noise):
    """P(z <= v) > 3/4 from v = n + 1 = 1 on: up to n = 40 that is a neighbor, and from there none.

    Below, P(z <= v) < 1/3 from n = -3 on. Of y all far numbers have neighbors.
    """
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {noise.replace("NOISE", "geometric(0, 9/10) unbounded")}
  v := n + x
  output asked
  z ~ geometric(0, 1/2) unbounded
  coin ~ bernoulli(1/2)
  output if x = 0 then coin else v >= z
  y ~ geometric(0, 9/10) unbounded
  u := y + x
  output asked
  w ~ geometric(0, 1/2) unbounded
  output u > w
}}
compute m at x = 0: P=? [ X D{{ln (3/2)}} [ X output = true ] ]
"""
    near = sum(Fraction(9, 10) ** abs(n) for n in range(-40, 41) if n not in {-1, -2}) / 19
    assert values_of(text) == [str(1 - near)]


def draws_in_pairs(first):
    """Return what draws 11 numbers, and compares every other one with the one before."""
    text = "    u0 := 0\n"
    for k in range(1, 12):
        text += f"    u{k} ~ geometric_positive({'9/10' if k > 9 else '1/2'}) POLICY\n"
        if k % 2 == first:
            text += f"    if u{k} > u{k - 1} + 1 {{ ok := false }}\n"
    return text


def test_draws_of_two_runs_at_different_places_lead_as_far_as_both_say():
    """Both are `ok` where u1 <= 1, u2 <= u1 + 1, ..., of which each run knows every other one.

    So the number that is kept is 11 or less there.
    """
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  ok := true
  if x = 0 {{
{draws_in_pairs(1)}
    v := if ok then u11 else 0
  }} else {{
{draws_in_pairs(0)}
    v := 0
  }}
  output asked
  coin ~ bernoulli(1/2)
  output if x = 1 & ok then coin else v >= 0
}}
compute m at x = 0: P=? [ X D{{0}} [ X output = true ] ]
"""
    ratio = Fraction(9, 10)
    chance = Fraction(3, 4) * Fraction(5, 6) ** 4 * ratio**23 / (1 + ratio)
    assert values_of(text) == [str(chance)]


def test_rounds_without_end_may_draw_anew():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  while true {
    n ~ geometric(0, 9/10) POLICY
    v := n + x
    output n > 0
    z ~ geometric(0, 1/2) POLICY
    output v < z
  }
}
compute m at x = 0: P=? [ X D{ln 2} [ X output = true ] ]
compute m at x = 1: P=? [ X X X D{ln (199/100)} [ X output = true ] ]
compute m at x = 1: P=? [ X X X D{0, 1/10} [ X (output = true & P>0 [ X output = true ]) ] ]
"""
    assert values_of(text) == ["1", "81/190", "1629/1900"]
    near = [float(Fraction(each)) for each in values_of(text, "clamped -100..100")]
    assert near == pytest.approx([1, 81 / 190, 1629 / 1900], abs=1e-3)
