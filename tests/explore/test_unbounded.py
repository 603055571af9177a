"""Noise on all integers: laws beyond the window against sums, chains against clamped windows."""

from __future__ import annotations

import itertools
import random
import re
from collections import defaultdict
from fractions import Fraction
from math import comb, exp, isclose, log, prod

import pytest
from flint import fmpq

import dpcheck
from dpcheck.exact import decimal
from dpcheck.explore.tails import laws
from tests.check.test_all_values import expression_at
from tests.checking import called, check_text, error_codes, verdicts

FAR = 24
RATIOS = [fmpq(1, 2), fmpq(1, 3), fmpq(2, 5)]


def is_zero(number):
    return number == 0


# --- laws ----------------------------------------------------------------------------------------


def mass(levels, gaps):
    """Return the probability of some gaps, in floats."""
    lengths = [gap - base for gap, base in zip(gaps, levels.bases, strict=True)]
    if min(lengths, default=1) < 1:
        return 0.0
    return sum(
        float(c) * prod(float(r) ** (g - 1) for r, g in zip(ratios, lengths, strict=True))
        for ratios, c in levels.law.items()
    )


def one_level(*terms):
    return laws.Levels((0,), dict(terms))


def random_levels(seed):
    """Return two or three levels as draws, forgotten ones and moved ones leave them."""
    pick = random.Random(seed).choice
    levels = laws.NO_LEVELS
    for _ in range(6):
        if len(levels.bases) > 1 and pick((True, False)):
            levels = laws.without(levels, pick(range(1, len(levels.bases))))
        if pick((True, False)):
            levels, *_ = pick(list(laws.resolved(levels, pick((0, 1)), pick((1, 2)), 1)))
            code = pick(range(1, max(levels.codes, default=0) + 2))
            if code not in levels.codes and len(levels.bases) < 3:
                levels = laws.with_level(levels, code)
        if len(levels.bases) < 3:
            levels = pick(list(laws.places(levels, pick(RATIOS)))).levels
    return levels


def lengths_of(levels, far):
    """Yield gaps with their probabilities, up to some length each."""
    for gaps in itertools.product(range(1, far), repeat=len(levels.bases)):
        if (chance := mass(levels, gaps)) != 0:
            yield gaps, chance


@pytest.mark.parametrize("seed", range(12))
def test_places_of_a_new_number_are_those_of_its_order_among_the_levels(seed):
    levels, ratio, far = random_levels(seed), RATIOS[seed % 3], 15
    found = list(laws.places(levels, ratio))
    assert sum(place.probability for place in found) == 1
    assert all(laws.total(place.levels.law) == 1 for place in found)
    expected = defaultdict(float)
    for gaps, chance in lengths_of(levels, far):
        known = list(itertools.accumulate(gaps))
        for new in range(1, 2 * far):
            after = sorted({*known, new})
            steps = tuple(b - a for a, b in itertools.pairwise([0, *after]))
            key = after.index(new) + 1, new in known
            expected[key, steps] += chance * float((1 - ratio) * ratio ** (new - 1))
    for (key, steps), chance in expected.items():
        places = [place for place in found if (place.level, place.is_shared) == key]
        sums = sum(float(place.probability) * mass(place.levels, steps) for place in places)
        assert isclose(sums, chance, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_forgotten_level_is_summed_out(seed):
    levels, far = random_levels(seed), 22
    for level in range(1, len(levels.bases) + 1):
        others = laws.without(levels, level)
        assert laws.total(others.law) == 1
        expected = defaultdict(float)
        for gaps, chance in lengths_of(levels, far):
            merged = (sum(gaps[level - 1 : level + 1]),) if level < len(gaps) else ()
            expected[*gaps[: level - 1], *merged, *gaps[level + 1 :]] += chance
        for steps, chance in expected.items():
            if max(steps, default=0) < 6:
                assert isclose(mass(others, steps), chance, abs_tol=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_gaps_are_resolved_as_far_as_sums_tell(seed):
    levels = random_levels(seed)
    for reach, (gap, way) in itertools.product((0, 1, 4), ((0, 1), (1, 1), (1, -1))):
        found = list(laws.resolved(levels, gap, reach, way))
        assert sum(chance for _, chance, _ in found) == 1
        for one, _, rest in found:
            left, place = reach, gap
            while left > 0 and place in range(len(one.bases)):
                assert one.is_known(place) or one.bases[place] >= left
                left = left - one.bases[place] - 1 if one.is_known(place) else 0
                place += way
            assert max(left, 0) == max(rest, 0)
        for steps, chance in lengths_of(levels, 6):
            sums = sum(float(part) * mass(one, steps) for one, part, _ in found)
            assert isclose(sums, chance, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_a_moved_number_stands_as_far_as_it_is_moved(seed):
    """Next to level 1 there is another one, and then the gaps are one less, and 1."""
    *_, (levels, _, _) = laws.resolved(random_levels(seed), 0, 4, 1)
    before = levels.codes[0]
    for code, moved in ((before - 1, -1), (before + 1, 1)):
        if code in (0, *levels.codes):
            continue
        after = laws.with_level(levels, code)
        for (first, *others), chance in lengths_of(levels, 6):
            if moved < 0:
                steps = (first - 1, 1, *others)
            else:
                steps = (first, 1, *([others[0] - 1] if others else []), *others[1:])
            assert isclose(mass(after, steps), chance, abs_tol=1e-12)


def test_draws_below_a_number_follow_the_recursion_of_their_counts():
    """Z(a, b) = Z(a+1, b) + Z(a, b+1), where Z(a, b) = Σ (1-s) s^(j-1) r^((j-1)a) (1-r^(j-1))^b."""
    s, r = fmpq(1, 4), fmpq(1, 2)

    def z(a, b):
        signs = ((-1) ** i * laws_binomial(b, i) for i in range(b + 1))
        return sum(sign * (1 - s) / (1 - s * r ** (a + i)) for i, sign in enumerate(signs))

    levels = one_level(((s,), 1 - s))
    for b in range(6):
        below, at, above = laws.places(levels, r)
        assert below.probability == z(0, b + 1) / z(0, b)
        assert at.probability + above.probability == z(1, b) / z(0, b)
        levels = laws.without(below.levels, 1)


def laws_binomial(n, k):
    return prod(range(n - k + 1, n + 1)) // prod(range(1, k + 1))


def test_kinds_of_a_shown_number_are_a_mixture_with_one_kernel_for_all_laws():
    ratios = (fmpq(1, 2), fmpq(1, 3), fmpq(1, 4))
    first = one_level(((ratios[0],), fmpq(3, 2)), ((ratios[1],), fmpq(-4, 3)))
    second = one_level(((ratios[2],), fmpq(3, 4)))
    for margin, law in itertools.product((0, 3), (first, second)):
        chances = laws.shown_kinds(law, ratios, margin, is_zero)
        known = sum(laws.chance(law, step) for step in range(1, margin + 1))
        assert known + sum(chances) == laws.total(law.law) == 1
        for g in range(1, 12):
            mixed = sum(
                chance * kind_chance(ratios[k:], g - len(ratios) + k)
                for k, chance in enumerate(chances)
            )
            assert mixed == laws.chance(law, margin + g)


def kind_chance(ratios, n):
    """Return the probability of a sum n of numbers, each with (1-r) r^j for its ratio."""
    found = [fmpq(n == j) for j in range(n + 1)][::-1]  # all of it at 0
    for ratio in ratios:
        for j in range(n + 1):
            found[j] = found[j] * (1 - ratio) + (ratio * found[j - 1] if j else 0)
    return found[n] if found else 0


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_moments_of_kinds_are_those_of_sums(kind):
    ratios = (fmpq(1, 2), fmpq(1, 3), fmpq(1, 4))
    for k in range(5):
        exact = laws.kind_moment(ratios, kind, k)
        sums = sum(
            comb(s, k) * float(kind_chance(ratios[kind - 1 :], s - len(ratios) + kind))
            for s in range(120)
        )
        assert isclose(float(fmpq(exact)), sums, rel_tol=1e-12)


@pytest.mark.parametrize(("first", "last"), [(5, 5), (4, 9), (3, None)])
def test_cells_have_the_chances_of_their_numbers(first, last):
    law = laws.Levels((2,), {(fmpq(1, 3),): fmpq(4, 9), (fmpq(0),): fmpq(1, 3)})
    assert laws.total(law.law) == 1
    cell = laws.cell_chance(law, first + 1, None if last is None else last + 1)
    sums = sum(laws.chance(law, step + 1) for step in range(first, (last or 200) + 1))
    assert cell == sums if last else isclose(float(cell), float(sums), rel_tol=1e-12)


@pytest.mark.parametrize("length", [2, 3, 20])
def test_moments_in_cells_are_those_of_sums(length):
    ratio = fmpq(2, 5)
    total = sum(ratio**s for s in range(length))
    for k in range(5):
        sums = sum(comb(s, k) * ratio**s for s in range(length))
        assert laws.cell_moment(ratio, length, k) == sums / total


def test_kinds_need_a_margin_where_a_difference_is_negative():
    """At 1, 2, ... the law is 1/2, 1/4, ...: at 3 it is less than the least ratio lets it be."""
    ratios = (fmpq(1, 2), fmpq(1, 3), fmpq(1, 4))
    chances = fmpq(1, 8), fmpq(-1), fmpq(27, 16)
    law = one_level(*(((ratio,), chance) for ratio, chance in zip(ratios, chances, strict=True)))
    assert laws.total(law.law) == 1
    assert laws.shown_kinds(law, ratios, 0, is_zero) is None
    assert laws.shown_kinds(law, ratios, 9, is_zero) is not None


# --- programs ------------------------------------------------------------------------------------

SPARSE = """
mechanism svt(n = 1, t = 1, alpha_t = 1/4, alpha_q = 1/2) {
  input q[1..n] in 0..2
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, alpha_t) unbounded
  for i in 1..n {
    noisy_q ~ geometric(q[i], alpha_q) unbounded
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
"""


def test_above_threshold_has_the_known_loss():
    claims = """
check svt: epsilon = ln(13/7)
check svt(n = 2): epsilon = ln(62/17)
check svt(n = 3): epsilon = ln(3686/527)
check svt(n = 3): delta(ln 2) = 236/1395
check svt(n = 3): D{ln 4} [ F top ]
refute svt(n = 3): D{1/10} [ F top ]
check svt(n = 2): P=1 [ F (top | stopped) ]
check compose(svt, 2): epsilon = 2 * ln(13/7)
"""
    report = check_text(SPARSE + claims)
    assert report["ok"]
    assert len(report["results"]) == 8


def test_nested_formulas_relate_later_states():
    claim = "check svt(n = 2): D{ln 16} [ X (bot & D{ln 2, 1/100} [ X top ]) ]"
    report = check_text(SPARSE + claim)
    assert report["ok"]
    assert report["results"][0]["vacuous"] is False


NESTED = [
    "P=? [ X (bot & P>=1/16 [ X top ]) ]",
    "P=? [ X (bot & P<1/100 [ X top ]) ]",
    "P=? [ F (bot & P in [1/50, 1/5] [ F top ]) ]",
    "P=? [ F (bot & D{ln(3/2), 1/20} [ X top ]) ]",
    "P=? [ X (bot & P>=1/10 [ X (bot & P<=1/9 [ X top ]) ]) ]",
]


@pytest.mark.parametrize("claim", NESTED)
def test_formulas_inside_of_paths_are_asked_for_every_number_beyond_the_window(claim):
    """A state such as `noisy_t > 2` stands for all of them, and they have other probabilities."""
    asked = f"compute svt(n = 3) at q[1] = 0 & q[2] = 0 & q[3] = 1: {claim}"
    found = [
        float(Fraction(check_text(text + asked)["results"][0]["value"]["exact"]))
        for text in (SPARSE, SPARSE.replace("unbounded", "clamped -17..17"))
    ]
    assert isclose(*found, abs_tol=1e-8)


def test_a_formula_inside_of_a_path_holds_for_all_numbers_beyond_the_window():
    text = """
mechanism m(n = 1) {
  input x in 0..1
  adjacent all
  var kept[1..n] := 0
  for i in 1..n { kept[i] ~ geometric(x, 1/2) unbounded }
  output asked
  for i in 1..n { z ~ geometric(x, 1/2) unbounded  if z < kept[i] { stop } }
  output yes
}
check m: P=1 [ X P>0 [ X yes ] ]
check m(n = 2): P=1 [ X P>0 [ X yes ] ]
"""
    assert verdicts(check_text(text)) == ["holds", "holds"]


@pytest.mark.parametrize(
    "remembered",
    [
        "prior kept ~ geometric(x, 1/2) unbounded",
        (
            "a ~ geometric(0, 1/2) unbounded  b ~ geometric(0, 1/2) unbounded\n"
            "  kept := if x = 0 then a else b"
        ),
    ],
)
def test_runs_that_remember_different_numbers_are_not_compared_draw_by_draw(remembered):
    """Two draws beyond the window may be equal though they stand on different levels."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {remembered}
  for i in 1..2 {{ c ~ geometric(0, 1/3) unbounded  output c > kept }}
}}
compute m at x = 0: P=? [ X (output & D{{ln(3/2), 1/5}} [ X output ]) ]
compute m at x = 0: P=? [ X (output & P>=1/3 [ X output ]) ]
"""
    near = check_text(text.replace("unbounded", "clamped -12..12"))["results"]
    for far, other in zip(check_text(text)["results"], near, strict=True):
        low, high = far["value"].get("enclosure") or [far["value"]["decimal"]] * 2
        value = float(other["value"]["decimal"])
        assert float(low) - 1e-5 <= value <= float(high) + 1e-5
        assert float(high) - float(low) < 1e-3


KEPT_AND_SHOWN = """
mechanism m {
  input x in 0..1
  adjacent all
  kept ~ geometric(1, 1/8) POLICY
  output asked
  output kept
}
compute m at x = 1: P=? [ X (P>=1/100 [ X output = 2 ]) ]
compute m at x = 1: P=? [ X (P>=1/100 [ X (output > 3 & X P=1 [ F stopped ]) ]) ]
"""


def test_a_formula_inside_of_a_path_reads_a_number_that_is_shown_later():
    """The number is told apart as far as formulas compare it, not only up to its center."""
    report = check_text(KEPT_AND_SHOWN.replace("POLICY", "unbounded"))
    assert [result["value"]["exact"] for result in report["results"]] == ["7/72", "1/576"]
    near = check_text(KEPT_AND_SHOWN.replace("POLICY", "clamped -12..12"))
    assert [result["value"]["exact"] for result in near["results"]] == ["7/72", "1/576"]


@pytest.mark.parametrize("moved", ["z + x > 0", "z + p > 0", "z > 0"])
def test_later_neighbors_have_equal_noise_also_where_something_is_added_to_it(moved):
    """With equal z one run may see `z + x > 0` and the other not: see the clamped window."""
    text = f"""
mechanism m {{
  input x in 0..1
  public p in 0..1
  adjacent all
  z ~ geometric(0, 1/8) POLICY
  output asked
  output {moved}
}}
compute m at x = 0 & p = 0: P=? [ X (output = asked & D{{0, 1/2}} [ X output = true ]) ]
"""
    for policy in ("unbounded", "clamped -9..9"):
        (result,) = check_text(text.replace("POLICY", policy))["results"]
        assert result["value"]["exact"] == ("2/9" if moved == "z + x > 0" else "1")


ARGMAX = """
mechanism noisy_argmax(m = 3, n = 2) {
  input q[1..m] in 0..n
  adjacent linf(q, q') <= 1
  var v[1..m] := 0
  for i in 1..m { v[i] ~ geometric(q[i], 1/2) unbounded }
  output argmax(v)
}
mechanism running(m = 3, n = 2) {
  input q[1..m] in 0..n
  adjacent linf(q, q') <= 1
  best ~ geometric(q[1], 1/2) unbounded
  winner := 1
  for i in 2..m {
    v ~ geometric(q[i], 1/2) unbounded
    if v > best { best := v; winner := i }
  }
  output winner
}
"""


def test_argmax_over_an_array_and_a_running_best_have_the_known_loss():
    claims = """
check noisy_argmax: epsilon = ln(376/103)
check running: epsilon = ln(376/103)
check noisy_argmax(n = 3) at "q" [1] = 2 & q[2] = 2 & q[3] = 1: epsilon <= ln 4
""".replace('"q" [1]', "q[1]")
    report = check_text(ARGMAX + claims)
    assert report["ok"]
    rows = dpcheck.loads(ARGMAX).target("noisy_argmax", n=3).output_distributions()
    one, other = (rows[f"q = {q}"] for q in ("[2, 2, 1]", "[3, 3, 0]"))
    worst = max(max(one[k] / other[k], other[k] / one[k]) for k in one)
    assert worst == Fraction(800, 209)


@pytest.mark.parametrize(
    ("shown", "loss"),
    [
        ("v[1]", "2"),
        ("max(v[1], v[2], 2)", "5/3"),
        ("(v[1], v[2])", "2"),
        ("clamp(v[1], 0, 2)", "2"),
    ],
)
def test_shown_numbers_have_the_loss_of_all_their_values(shown, loss):
    text = f"""
mechanism m {{
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  var v[1..2] := 0
  v[1] ~ geometric(q[1], 1/2) unbounded
  v[2] ~ geometric(q[2], 1/2) unbounded
  output {shown}
}}
check m: epsilon = ln({loss})
"""
    assert check_text(text)["ok"]


def test_claims_about_shown_numbers_let_the_window_grow():
    text = """
mechanism m {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ geometric(x, 1/2) unbounded
  output (a, y)
}
check m at x = 2: P=? [ X output[2] > 10 ] = 1/768
check m: P=1/3 [ X output[2] = x ]
check m: P=1/3 [ X (output[1] = a & output[2] in {x, 30}) ]
check m: delta(0) = 1/3
"""
    report = check_text(text)
    assert verdicts(report) == ["holds", "holds", "violated", "holds"]


PAIR = """
mechanism pair {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ geometric(x, 1/2) unbounded
  output (a, y)
}
"""


@pytest.mark.parametrize(
    ("condition", "probability"),
    [
        ("output = (a, 3)", "1/6"),
        ("output in {(a, 3), (a, 4)}", "1/4"),
        ("output != (a, 5)", "23/24"),
        ("output = (a, 30)", "1/805306368"),
    ],
)
def test_whole_outputs_are_compared_with_numbers_beyond_the_window(condition, probability):
    report = check_text(f"{PAIR}check pair at x = 2: P=? [ X {condition} ] = {probability}")
    assert report["ok"]


@pytest.mark.parametrize(
    "condition",
    ["output[1] < output[2]", "output[1] = output[2]", "argmax((output[1], output[2])) = 1"],
)
def test_two_shown_numbers_are_not_compared_in_claims(condition):
    """Beyond the window both are only known to be there."""
    text = f"""
mechanism two {{
  input x in 0..1
  adjacent all
  a ~ geometric(x, 1/2) unbounded
  b ~ geometric(x, 1/2) unbounded
  output (a, b)
}}
check two: P<=1 [ X {condition} ]
"""
    (mistake,) = check_text(text)["errors"]
    assert mistake["code"] == "DP540"


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("P>=1/2 [ X linf(output, (1, 2)) <= 2 ]", None),
        ("E<=9 [ if output[1] > output[2] then 1 else 0 ]", None),
        ("P>=0 [ X (output[1] > 20 | output[2] > 24) ]", "holds"),
        ("P>=0 [ X (output[1] > output[3]) ]", "holds"),
        ("E<=9 [ l1((output[1], output[2]), (1, 2)) ]", "holds"),
    ],
)
def test_a_window_does_not_grow_for_ever(claim, verdict):
    """Another number that is shown may be as far from the end of every window."""
    text = f"""
mechanism two {{
  input x in 0..1
  adjacent all
  a ~ geometric(x, 1/2) unbounded
  b ~ geometric(x, 1/2) unbounded
  output (a, b, 5 * x)
}}
check two: {claim.replace("output, (1, 2)", "output, (1, 2, 0)")}
"""
    report = check_text(text)
    assert verdicts(report) == ([] if verdict is None else [verdict])
    assert error_codes(report) == (["DP540"] if verdict is None else [])


def distributions(statements, policy="unbounded"):
    """Return the distributions of outputs by input, for noise centered at x and at others."""
    statements = statements.replace("POLICY", policy)
    pick = "dist pick(n, k) = if n > k then {n: 1/2, 1: 1/2} else uniform(-4..k)\n"
    text = f"{pick}mechanism m {{ input x in 0..1\n  adjacent all\n  {statements}\n}}"
    return dpcheck.loads(text).target("m").output_distributions()


@pytest.mark.parametrize(
    "statements",
    [
        "a ~ geometric(x, 1/8) POLICY  output max(i in 0..5 where i = 0 | a > i : i)",
        "a ~ geometric(x, 1/8) POLICY  output count(i in 0..5 where a > i : true)",
        "a ~ geometric(x, 1/8) POLICY  output count(i in 0..3 : i > 0 & a > 6 div i - 1)",
        "a ~ geometric(x, 1/8) POLICY  output exists(i in 0..2 where i > 0 & a > 4 div i : i = 1)",
        (
            "a ~ geometric(x, 1/8) POLICY  b ~ geometric(0, 1/9) POLICY\n"
            "  output count(i in 1..4 where a > b + i & 6 mod i = 0 : a + 6/i > b + 4)"
        ),
        (
            "a ~ geometric(x, 1/8) POLICY  b ~ geometric(0, 1/9) POLICY\n"
            "  output count(i in 0..3 : i > 0 & a + 6 div i > b + 4)"
        ),
        (
            "a ~ geometric(x, 1/8) POLICY  b ~ geometric(0, 1/9) POLICY\n"
            "  output max(i in 0..4 where i = 0 | a > b + i : i)"
        ),
        (
            "a ~ geometric(x, 1/8) POLICY  k ~ {i: if a > i then 2 else 1 for i in 2..4} normalized"
            "  output k"
        ),
        (
            "a ~ geometric(x, 1/8) POLICY  k ~ {i: 1 for i in 2..4 where i = 2 | a > i} normalized"
            "  output k"
        ),
        "a ~ geometric(x, 1/8) POLICY  k ~ {if a > i then i else 0: 1/3 for i in 2..4}  output k",
    ],
)
def test_what_numbers_are_compared_with_element_by_element_lies_in_the_window(statements):
    """Also where a condition on noise chooses elements, and where some of them have no value."""
    exact, near = distributions(statements), distributions(statements, f"clamped -{WIDTH}..{WIDTH}")
    for state, row in exact.items():
        assert len(row) > 1
        assert all(abs(float(p - near[state].get(y, 0))) < 1e-7 for y, p in row.items()), state


def test_a_mistake_at_one_element_is_found_however_far_the_noise_has_to_be():
    counted = "count(i in 3..6 where a > i & 6 mod (i - 6) <= 0 : a > 2)"
    text = f"""
mechanism m {{ input x in 0..1  adjacent all  a ~ geometric(x, 1/2) unbounded  output {counted} }}
compute m: epsilon
"""
    (error,) = check_text(text)["errors"]
    assert error["code"] == "DP207"


@pytest.mark.parametrize(
    "statements",
    [
        (
            "a ~ geometric(x, 1/9) POLICY  b ~ geometric(0, 1/8) POLICY  k := 0\n"
            "  if b > a { (a, k) := (4, 1) }  c ~ geometric(x, 1/9) POLICY\n  output (a > c, k)"
        ),
        (
            "a ~ if x = 0 then geometric(0, 1/8) POLICY else {7/2: 1}\n"
            "  b ~ geometric(x, 1/8) POLICY\n  output a < b"
        ),
        (
            "a ~ if x = 0 then geometric(0, 1/8) POLICY else {none: 1}\n"
            "  b ~ geometric(x, 1/8) POLICY\n  output a = b"
        ),
        "prior s ~ geometric(x, 1/8) POLICY\n  b ~ geometric(0, 1/9) POLICY\n  output s < b",
        (
            "a ~ geometric(x, 1/8) POLICY  b ~ geometric(0, 1/9) POLICY  k ~ uniform(1..2)\n"
            "  c := (a, 4)[k]  output c > b"
        ),
        (
            "var a[1..2] := 0  a[1] ~ geometric(x, 1/8) POLICY  a[2] := 4\n"
            "  b ~ geometric(0, 1/9) POLICY  k ~ uniform(1..2)  output a[k] > b"
        ),
        (
            "var a[1..3] := 0  var b[1..3] := 0  a[1] := 4  a[2] ~ geometric(x, 1/8) POLICY\n"
            "  a[3] ~ geometric(0, 1/9) POLICY  output argmax(if x = 0 then a else b)"
        ),
        (
            "n ~ geometric(0, 1/8) POLICY  a ~ if x = 0 then {n: 1/2, 0: 1/2} else uniform(-4..4)\n"
            "  b ~ geometric(x, 1/8) POLICY  output a < b"
        ),
        (
            "n ~ geometric(0, 1/8) POLICY  a ~ if x = 0 then {4: 1/2, 0: 1/2} else {n + x: 1}\n"
            "  b ~ geometric(x, 1/8) POLICY  output a < b"
        ),
        (
            "n ~ geometric(0, 1/9) POLICY  b ~ geometric(0, 1/8) POLICY\n"
            "  a ~ if x = 0 then geometric(0, 1/8) POLICY else if b > 0 then {n: 1} else {4: 1}\n"
            "  output a < b"
        ),
        (
            "n ~ geometric(0, 1/8) POLICY  a ~ pick(n + x, 2 + x)\n"
            "  b ~ geometric(x, 1/8) POLICY  output a < b"
        ),
    ],
)
def test_other_values_of_a_variable_with_noise_lie_in_the_window(statements):
    exact, near = distributions(statements), distributions(statements, f"clamped -{WIDTH}..{WIDTH}")
    for state, row in exact.items():
        assert all(abs(float(p - near[state].get(y, 0))) < 1e-8 for y, p in row.items()), state


@pytest.mark.parametrize(
    ("noise", "shown", "advice"),
    [
        ("geometric(x + 2^60, 1/2) unbounded", "a", "nearer"),
        ("geometric(x + 2^61, 1/2) unbounded", "a > 2^61", "nearer"),
        ("geometric(x - 10^20, 1/2) unbounded", "a > 0 - 10^20", "nearer"),
        ("geometric(x, 1/2) unbounded", "a + 2^61", "nearer"),
        ("geometric(x, 1/2) unbounded", "a + 10^19", "nearer"),
        ("geometric(x, 1/2) unbounded", "a > 10^9", "nearer"),
        ("geometric(x, 1/2) unbounded", "a > 10^5", "clamped -99..101"),
        ("geometric_positive(1/2) unbounded", "x + a > 2^61", "nearer"),
    ],
)
def test_numbers_that_no_window_holds_leave_a_claim_undecided(noise, shown, advice):
    """Codes from 2^60 on are no integers: they were read as `false`, or as arrivals beyond."""
    text = f"mechanism m {{ input x in 0..2  adjacent all\n  a ~ {noise}\n  output {shown} }}"
    (result,) = check_text(text + "\ncheck m: dp(ln 16)")["results"]
    assert result["verdict"] == "undecided"
    assert advice in result["reason"]["option"]
    if advice != "nearer":  # what is offered works when pasted
        (result,) = check_text(text.replace("unbounded", advice) + "\ncheck m: dp(ln 16)")[
            "results"
        ]
        assert result["verdict"] != "undecided"


@pytest.mark.parametrize(
    ("shown", "claim", "is_decided"),
    [
        ("y", "P<=1/100 [ X output > 20000 ]", True),
        ("y", "P<=1/100 [ X output > 10^5 ]", True),
        ("y", "D{ln 4} [ X output < -10^5 ]", True),
        ("y", "P<=1/100 [ X output = 10^5 ]", True),
        ("(y, z)", "P<=1/100 [ X output = (10^5, -10^5) ]", True),
        ("y", "P<=1/100 [ X output > 10^8 ]", False),
        ("max(y, z)", "P<=1/100 [ X output > 10^5 ]", False),
    ],
)
def test_claims_about_numbers_far_out_are_decided_or_told_to_be_too_large(shown, claim, is_decided):
    """Some ran until the time limit: all 200,000 probabilities were written down.

    Of one ratio numbers are told in cells; chosen ones are known one by one.
    """
    text = (
        "mechanism m { input x in 0..2  adjacent all\n  y ~ geometric(x, 1/2) unbounded\n"
        f"  z ~ geometric(x, 1/2) unbounded  output {shown} }}\ncheck m: {claim}"
    )
    (result,) = check_text(text)["results"]
    assert result["verdict"] == ("holds" if is_decided else "undecided")
    if not is_decided:
        assert result["reason"]["option"] == (
            "a policy with room around the centers, `clamped -99..101`"
        )


@pytest.mark.parametrize(
    "other", ["{2^60: 1/2, 2^60 + 1: 1/2}", "uniform(2^60..2^60 + 9)", "{2^61 + 2^60: 1}"]
)
def test_a_large_number_that_is_drawn_in_place_of_noise_is_itself(other):
    """It was taken for a number beyond the window: a total variation of 1/3."""
    noise = f"a ~ if x = 0 then geometric(0, 1/2) unbounded else {other}"
    text = f"mechanism m {{ input x in 0..1  adjacent all\n  {noise}\n  output a }}"
    (result,) = check_text(text + "\ncheck m: delta(0) < 1/2")["results"]
    assert result["verdict"] == "undecided"
    assert "numbers without bounds matter" in result["reason"]["text"]


def test_noise_far_from_zero_is_what_it_is_next_to_it():
    far = distributions("a ~ geometric(x + 2^57, 1/2) unbounded\n  output a")["x = 0"]
    assert far[str(2**57)] == Fraction(1, 3)
    assert far[f"> {2**57 + 1}"] == Fraction(1, 6)


def test_what_a_claim_compares_far_out_leaves_others_as_they_are():
    """A window that no memory holds is of the claim that needs it, in whatever order they stand."""
    text = """
mechanism m { input x in 0..2  adjacent all
  a ~ geometric(x, 1/2) unbounded
  output a }
"""
    claims = ["output > 20", "output > 10^18", "output = 1e30", "output > 3", "output^2 > 99"]
    text += "".join(f"check m: P<=1/2 [ X {claim} ]\n" for claim in claims)
    assert verdicts(check_text(text)) == ["holds", "undecided", "undecided", "holds", "holds"]


def test_cells_that_other_claims_ask_for_leave_a_claim_as_it_is():
    text = """
mechanism m { input x in 0..2  adjacent all
  a ~ geometric(x, 1/2) unbounded
  output a }
"""
    claims = ["P<=0 [ X output > 15000 ]", "P>0 [ X output < -10^5 ]", "P<=0 [ X output > 10^6 ]"]
    text += "".join(f"check m: {claim}\n" for claim in (*claims, *claims))
    text += "check m: accuracy(x, 1/100) = 7\ncheck m: accuracy(x - 10^5, 1/100) = 100006\n"
    found = verdicts(check_text(text))
    assert found == ["violated", "holds", "violated"] * 2 + ["holds", "holds"]


def test_numbers_of_several_ratios_are_told_in_no_cells():
    """A cell would have one ratio, of some 2^117, where its numbers have ever larger ones."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  y ~ if x = 0 then geometric(0, 1/2) unbounded else geometric(0, 1/3) unbounded
  output y
}
check m at x = 0: P=? [ X output > 200 ] = PROBABILITY
check m: dp(100)
check m: epsilon = inf
"""
    text = text.replace("PROBABILITY", f"1/{3 * 2**200}")
    assert verdicts(check_text(text)) == ["holds", "violated", "holds"]


def test_squares_beside_comparisons_far_out_widen_the_margin():
    number = "output[2]"
    comparison = f"{number} in {{200, 300, 400}} & ({number} - 350)^2 > 100"
    text = f"{PAIR}check pair at x = 2: P=? [ X ({comparison}) ] = "
    exact = sum(Fraction(1, 3 * 2 ** (n - 2)) for n in (200, 300, 400))
    assert check_text(text + str(exact))["ok"]


def upper_tail(ratio, center, n):
    """Return the probability of all numbers from n on."""
    far = ratio ** (n - center if n > center else center - n + 1) / (1 + ratio)
    return far if n > center else 1 - far


def random_comparison(draw, far):
    """Return a comparison of a shown number with numbers up to `far`, and as a function."""
    n, m = draw.randint(-far, far), draw.randint(1, far)
    comparisons = [
        (f"output > {n}", lambda y: y > n),
        (f"output <= {n}", lambda y: y <= n),
        (f"output != {n}", lambda y: y != n),
        (f"2 * output + 1 >= {n}", lambda y: 2 * y + 1 >= n),
        (f"abs(output - 1) < {m}", lambda y: abs(y - 1) < m),
        (f"output in {n}..{n + m}", lambda y: n <= y <= n + m),
        (f"output in {{{n}, {n + 40}, {n + 90}}}", lambda y: y in {n, n + 40, n + 90}),
        (f"max(output, {n}) < {n + m}", lambda y: max(y, n) < n + m),
        (f"output > {n} + 100 * x", None),
    ]
    text, truth = draw.choice(comparisons)
    return text, (lambda y, x: y > n + 100 * x) if truth is None else lambda y, _: truth(y)


@pytest.mark.parametrize("seed", range(16))
def test_comparisons_far_out_have_the_probabilities_of_their_intervals(seed):
    """And two inputs differ by the ratio that these have; 1/3 is no power of 1/2."""
    draw, far = random.Random(seed), random.Random(seed).choice((60, 600))
    (one, first), (other, second) = (random_comparison(draw, far) for _ in range(2))
    word, joined = draw.choice((("&", lambda a, b: a and b), ("|", lambda a, b: a or b)))
    ratio, is_pair = draw.choice((Fraction(1, 2), Fraction(2, 3))), draw.random() < 0.3
    condition = f"({one} {word} {other})"
    shown = condition.replace("output", "output[2]") if is_pair else condition
    text = f"""
mechanism m {{
  input x in 0..2
  adjacent all
  y ~ geometric(x, {ratio}) unbounded
  output {"(a, y)" if is_pair else "y"}
}}
check m: D{{ln 3}} [ X {shown} ]
"""
    text += "".join(f"compute m at x = {x}: P=? [ X {shown} ]\n" for x in range(3))
    private, *values = check_text(text)["results"]
    exact = []
    for x in range(3):
        truths = [joined(first(y, x), second(y, x)) for y in range(-4 * far, 4 * far + 1)]
        chance = Fraction(truths[0])
        for y, (before, after) in enumerate(itertools.pairwise(truths), 1 - 4 * far):
            chance += (after - before) * upper_tail(ratio, x, y)
        exact.append(chance)
    assert [Fraction(each["value"]["exact"]) for each in values] == exact, shown
    holds = all(p <= 3 * q for p in exact for q in exact)
    assert private["verdict"] == ("holds" if holds else "violated")


def test_a_number_that_is_shown_later_is_not_the_same_in_all_cells():
    """A state that remembers it stands for numbers that are told apart then."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  y ~ geometric(x, 1/2) unbounded
  output a
  output y
}
"""
    claims = [
        "P<=0 [ X P>=1/2 [ X output > 100 ] ]",
        "P>0 [ X X output > 10^5 ]",
    ]
    text += "".join(f"check m: {claim}\n" for claim in claims)
    assert verdicts(check_text(text)) == ["violated", "holds"]


def test_an_analyst_chooses_after_numbers_that_were_chosen_among_hidden_ones():
    """What is told of such numbers is told in kinds, and less of them is: choices stay choices."""

    def values(policy):
        report = check_text(f"""
mechanism m {{
  input q[1..2] in 0..1
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/16) {policy}
  b ~ geometric(q[2], 1/8) {policy}
  output max(a, b)
  query c in {{1, 2}}
  z ~ geometric(q[c], 1/16) {policy}
  output z > 0
}}
compute m: delta(ln 2)
compute m: delta(ln 20)
check m: delta(ln 2) > 5/6
""")
        assert verdicts(report)[-1] == "holds"
        return [float(each["value"]["decimal"]) for each in report["results"][:-1]]

    assert values("unbounded") == pytest.approx(values(f"clamped -{WIDTH}..{WIDTH}"), abs=1e-8)


def test_outputs_may_be_arrays_and_values_that_are_no_integers():
    row = distributions("y ~ {x: 1/2, 7/2: 1/2}  z ~ geometric(x, 1/2) unbounded\n  output (y, z)")
    assert row["x = 0"]["(7/2, 0)"] == Fraction(1, 6)
    text = "a ~ if x = 0 then geometric(0, 1/2) unbounded else {7/2: 1}\n  output a"
    assert distributions(text)["x = 1"] == {"7/2": 1}
    text = "var v[0..1] := 0\n  for i in 0..1 { v[i] ~ geometric(x, 1/2) unbounded }\n  output v"
    assert distributions(text)["x = 0"]["[0: 0, > 1]"] == Fraction(1, 18)


LARGEST = """
mechanism m {
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded
  b ~ geometric(q[2], 1/2) unbounded
  output max(a, b, 2)
}
"""


def chances_of_more_than(number):
    """Return the probabilities of a larger output of `LARGEST` for two neighbors."""
    text = LARGEST.replace("max(a, b, 2)", f"max(a, b, 2) > {number}")
    rows = dpcheck.loads(text).target("m").output_distributions()
    return [rows[f"q = {q}"]["true"] for q in ("[0, 2]", "[0, 1]")]


@pytest.mark.parametrize(
    ("claim", "number"),
    [
        ("dp(ln(33/20))", 4),
        ("epsilon <= ln(8/5)", 2),
        ("epsilon < ln(8/5)", 2),
        ("epsilon = ln(33/20)", 4),
    ],
)
def test_a_violated_claim_is_shown_by_outputs_that_exist(claim, number):
    """A kind of values beyond the window, such as the first one, is told to nobody."""
    (result,) = check_text(f"{LARGEST}check m: {claim}")["results"]
    found = result["counterexample"]
    first, second = chances_of_more_than(number)
    assert found["event"] == [f"> {number}"]
    assert found["probabilities"] == [str(first), str(second)]
    assert found["ratio"] == str(first / second)
    bound = Fraction(claim.partition("ln(")[2].rstrip(")"))
    assert first > bound * second
    if not claim.startswith("dp"):
        assert result["value"]["exact"] == "ln(5/3)"


@pytest.mark.parametrize(
    "claim", ["epsilon < ln(5/3)", "epsilon != ln(5/3)", "epsilon >= ln 2", "epsilon = ln 2"]
)
def test_a_limit_that_no_output_attains_is_shown_by_the_closest_one(claim):
    (result,) = check_text(f"{LARGEST}check m: {claim}")["results"]
    found = result["counterexample"]
    first, second = chances_of_more_than(4)
    assert found["event"] == ["> 4"]
    assert found["probabilities"] == [str(first), str(second)]
    assert first < Fraction(5, 3) * second
    (said,) = (each["text"] for each in result["explanation"]["remarks"])
    assert said.startswith("no output attains it: those further out come ever closer to ln(5/3)")
    assert said.endswith("the closest here has ln(118/71)")


OF_TWO_RATIOS = """
mechanism m {
  input q in 0..1
  adjacent all
  b ~ bernoulli(1/2)
  if b { y ~ geometric(2*q, exp(-1/3)) unbounded  output y }
  else { y ~ geometric(q, exp(-1/2)) unbounded  output y }
}
"""


@pytest.mark.parametrize(
    "claim", ["= 0", "<= 1/4", "> 1", ">= 1", "= 1", "!= 2/3", "< 2/3", "<= 2/3"]
)
def test_outputs_may_lose_a_logarithm_that_is_no_budget(claim):
    """The outputs of a window lose ln(p/q) with powers of e in both: it was an internal error."""
    (found,) = check_text(f"{OF_TWO_RATIOS}check m: epsilon {claim}")["results"]
    assert found["verdict"] == ("holds" if claim == "<= 2/3" else "violated")
    assert found["value"]["exact"] == "2/3"
    if found["verdict"] == "violated":
        ratio = eval(found["counterexample"]["ratio"])
        assert (1 if claim in ("= 0", "<= 1/4") else exp(3 / 5)) < ratio < exp(2 / 3)


@pytest.mark.parametrize(
    ("claim", "whose", "number", "is_limit"),
    [
        ("posterior_max(1/2) < 5/8", "[0, 2]", 4, True),
        ("posterior_max(1/2) <= 3/5", "[0, 2]", 2, False),
        ("posterior_min(1/2) > 3/8", "[0, 1]", 4, True),
        ("posterior_min(1/2) = 2/5", "[0, 1]", 2, False),
    ],
)
def test_a_belief_that_no_output_attains_is_shown_by_the_closest(claim, whose, number, is_limit):
    (result,) = check_text(f"{LARGEST}check m: {claim}")["results"]
    closest, *limit = result["explanation"]["remarks"]
    first, second = chances_of_more_than(number)
    belief = (first if whose == "[0, 2]" else second) / (first + second)
    assert closest["label"] == "closest"
    told = f"after the output > {number}: {first} against {second}, so q = {whose} has {belief}"
    assert closest["text"] == told
    assert [each["label"] for each in limit] == ["limit"] * is_limit


def test_a_bound_that_only_far_outputs_exceed_is_shown_by_the_closest_one(tmp_path):
    """A witness has no event: the closest one does not exceed the bound."""
    text = f"{LARGEST}check m: dp(ln(5/3 - 1/10^25))"
    (result,) = check_text(text, "--witness", str(tmp_path))["results"]
    (witness,) = tmp_path.iterdir()
    assert "further out than those told one by one" in witness.read_text("utf-8")
    found = result["counterexample"]
    first, second = chances_of_more_than(64)
    assert found["probabilities"] == [str(first), str(second)]
    assert first < (Fraction(5, 3) - Fraction(1, 10**25)) * second
    (said,) = (each["text"] for each in result["explanation"]["remarks"])
    assert said.startswith("outputs beyond -62..64 violate it")


def test_a_claim_about_a_limit_is_decided_where_no_wider_window_is_allowed():
    """What is known before is told: a wider window would only show it better."""
    text = f"{LARGEST}check m: epsilon <= ln(5/3 - 1/10^25)"
    (result,) = check_text(text, "--max-states", "100")["results"]
    (said,) = (each["text"] for each in result["explanation"]["remarks"])
    assert said.startswith("outputs beyond -30..32 violate it")


def two_sided(ratio, center, number):
    """Return the probability of a number by noise of a ratio on all integers."""
    return (1 - ratio) / (1 + ratio) * ratio ** abs(number - center)


@pytest.mark.parametrize("beta", ["1/3", "1/20", "1/400"])
@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ("accuracy(x, BETA)", lambda x, y, z: abs(max(y, z) - x)),
        ("accuracy(x + 9, BETA)", lambda x, y, z: abs(max(y, z) - x - 9)),
        ("accuracy(output(2)[1], x/2, BETA)", lambda x, y, z: abs(y - Fraction(x, 2))),
        ("accuracy(output(2), (x, 0), BETA)", lambda x, y, z: max(abs(y - x), abs(z))),
    ],
)
def test_accuracy_of_outputs_without_bounds_is_the_least_bound_of_all_their_values(
    asked, error, beta
):
    """Against sums of the two laws as far as 60: beyond lies less than 2^-58."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  a ~ geometric(x, 1/2) unbounded
  b ~ geometric(x, 1/3) unbounded
  output max(a, b)
  y ~ geometric(x, 1/2) unbounded
  z ~ geometric(x, 1/3) unbounded
  output (y, z)
}
"""
    (result,) = check_text(f"{text}compute m: {asked.replace('BETA', beta)}")["results"]
    worst = Fraction(0)
    for x in range(2):
        law = {}
        for y, z in itertools.product(range(-60, 61), repeat=2):
            chance = two_sided(1 / 2, x, y) * two_sided(1 / 3, x, z)
            law[error(x, y, z)] = law.get(error(x, y, z), 0.0) + chance
        rest = 1 - float(Fraction(beta))
        for far in sorted(law):
            rest -= law[far]
            if rest <= 1e-15:
                worst = max(worst, Fraction(far))
                break
    assert Fraction(result["value"]["exact"]) == worst


def test_accuracy_of_a_shown_maximum_may_be_asked_at_some_inputs():
    """P(error > 3) is 1/12, P(error > 4) 1/24; `at` tells the ends of runs apart by x."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  y ~ geometric(x, 1/2) unbounded
  z ~ geometric(x, 1/2) unbounded
  output max(y, z)
}
check m at x = 1: accuracy(x, 1/23) = 4
check m at x = 0: accuracy(x, 1/20) = 4
check m at x = 0: accuracy(x, 1/10) = 3
"""
    assert check_text(text)["ok"]


def test_no_error_is_certain_of_a_number_without_bounds():
    claims = """
check pair: accuracy(output(1)[2], x, 0) = inf
check pair: accuracy(output(1)[2], x, 1/1000) = 10
check pair: accuracy(output(1)[2], x, 1/1000000000) = 30
refute pair: accuracy(output(1)[2], x, 1/1000) < 10
check pair: accuracy(output(2), x, 1/2) = inf
"""
    assert check_text(PAIR + claims)["ok"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("if output[2] > 9 then 1 else 0", "1/384"),
        ("if output(1)[2] in {x, 9} then 6 else 0", "2 + 1/64"),
        ("clamp(output[2], 0, 4)", "2"),
        ("output[2]", "2"),
        ("abs(output[2] - x)", "4/3"),
        ("(output[2] - x)^2 / 4 + 1", "2"),
        ("(2 - output(1)[2])^4", "100"),
        ("(output[2] - x) * (output(1)[2] - x)", "4"),
        ("max(output[2], 9) - min(output[2], 9)", "7 + 1/96"),
        ("linf((output[2], 9), (x, 9))", "4/3"),
    ],
)
def test_expected_values_compute_with_shown_numbers(value, expected):
    """The noise has E|z| = 4/3, E z^2 = 4 and no odd moments; E z^4 = 100."""
    claim = f"check pair at x = 2: E=? [ {value} ] = {expected}"
    assert check_text(PAIR + claim)["ok"]


def test_a_violated_claim_is_explained_where_nothing_is_output():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  z ~ geometric(x, 1/2) unbounded
  if z > z { output z }
}
check m: P>0 [ F output = 1 ]
"""
    report = check_text(text)
    assert verdicts(report) == ["violated"]
    assert "crashes" not in report


@pytest.mark.parametrize(("low", "high"), [(100, 140), (50, 300), (-300, -60)])
def test_expected_values_of_numbers_in_cells_are_their_sums(low, high):
    value = f"if output[2] in {low}..{high} then output[2]^2 - 3 * output[2] else 0"
    text = f"{PAIR}compute pair at x = 2: E=? [ {value} ]\n"
    text += f"check pair at x = 2: E=? [ if output[2] in {low}..{high} then 0 else 1 ] < 1\n"
    text += "check pair at x = 2: E=? [ (output[2] - x)^4 ] = 100"
    report = check_text(text)
    half = Fraction(1, 2)
    wanted = sum((y * y - 3 * y) * half ** abs(y - 2) / 3 for y in range(low, high + 1))
    assert Fraction(report["results"][0]["value"]["exact"]) == wanted
    assert verdicts(report)[1:] == ["holds", "holds"]


@pytest.mark.parametrize(
    "claim",
    [
        "E<=9 [ output[2] mod 2 ]",
        "E<=9 [ 1 / output[2] ]",
        "E<=9 [ 2 ^ output[2] ]",
        "E<=9 [ ceil(output[2] / 2) ]",
        "E<=9 [ output[2] * ln 2 ]",
        "P<=1 [ X {output[2]} = {1} ]",
        "P<=1 [ X 3 in 1..output[2] ]",
        "E<=9 [ output[2] ^ (1/2) ]",
        "P<=1 [ X len({output[2], 3}) = 2 ]",
    ],
)
def test_claims_do_not_compute_what_is_no_polynomial_of_a_shown_number(claim):
    (mistake,) = check_text(f"{PAIR}check pair: {claim}")["errors"]
    assert mistake["code"] == "DP540"


def test_a_claim_that_is_told_less_has_a_witness_on_the_chain_it_is_about(tmp_path):
    text = """
mechanism fresh {
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded
  output a
}
mechanism m {
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded
  b ~ geometric(q[2], 1/2) unbounded
  output max(a, b)
}
check m: dp(ln(3/2))
check m: dp(ln(3/2), 1/100)
check compose(m, 2): dp(ln 3)
check compose(fresh, m): dp(ln 3, 1/1000)
"""
    report = check_text(text, "--witness", str(tmp_path))
    assert verdicts(report) == ["violated"] * 4
    found = sorted(tmp_path.iterdir())
    assert len(found) == 4
    for witness in found:
        assert called("verify", witness).returncode == 0


LARGER = """
mechanism m {
  input q[1..2] in 0..1
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded
  b ~ geometric(q[2], 1/2) unbounded
  output max(a, b, 1)
}
"""


def larger(first, second):
    """Return P(max(a, b, 1) = n) for n = 1..200, where the last has all that is beyond."""

    def below(center, n):
        if n < center:
            return Fraction(2, 3) * Fraction(1, 2) ** (center - n)
        return 1 - Fraction(1, 3) * Fraction(1, 2) ** (n - center)

    both = [below(first, n) * below(second, n) for n in range(1, 200)]
    return [above - under for under, above in itertools.pairwise([Fraction(0), *both, Fraction(1)])]


ROWS = [larger(*centers) for centers in itertools.product((0, 1), repeat=2)]
NEIGHBORS = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 0), (2, 0), (3, 1), (3, 2)]


def test_divergences_of_numbers_chosen_are_bounds_that_other_windows_agree_with():
    orders = ["2", "3/2", "1/2", "5"]
    asked = [f"compute m: renyi({order})\n" for order in (*orders, "1")]
    found = check_text(LARGER + "".join(asked) + "compute m: zcdp")["results"]
    ends = [tuple(map(float, result["value"]["enclosure"])) for result in found]
    assert all(0 < low < high < low + 2e-14 for low, high in ends)
    for order, (low, high) in zip((2, 1.5, 0.5, 5), ends, strict=False):
        sums = [
            sum(float(p) * (p / q) ** (order - 1) for p, q in zip(ROWS[i], ROWS[j], strict=True))
            for i, j in NEIGHBORS
        ]
        assert low - 1e-12 < max(log(total) / (order - 1) for total in sums) < high + 1e-12
    low, high = ends[-1]
    assert 2 * low >= ends[4][0], "zcdp is the largest renyi(a)/a, that at a = 2 among them"
    low, high = (Fraction(end) for end in found[0]["value"]["enclosure"])
    claims = (
        f"check m: renyi(2) <= {high}\nrefute m: renyi(2) <= {low}\ncheck m: renyi(2) < epsilon"
    )
    assert verdicts(check_text(LARGER + claims)) == ["holds", "violated", "holds"]


def test_a_profile_of_numbers_chosen_has_the_exact_delta_but_for_what_is_told_beside():
    (result,) = check_text(LARGER + "compute m: profile")["results"]
    rows = [[Fraction(row[k]["exact"]) for k in (0, 3, 4)] for row in result["table"]["rows"]]
    (gap,) = (Fraction(beside["value"]["exact"]) for beside in result["beside"])
    assert 0 < gap < 1e-30
    factors = [Fraction(n, 10) for n in range(10, 17)] + [rows[20][0], rows[-1][0]]
    for factor in factors:
        known = max(p - factor * q for _, p, q in rows)
        true = max(
            sum(max(p - factor * q, 0) for p, q in zip(ROWS[i], ROWS[j], strict=True))
            for i, j in NEIGHBORS
        )
        assert known <= true + Fraction(1, 2**150) <= known + gap + Fraction(1, 2**149)


PARTS = """
mechanism fresh {
  input q[1..2] in 0..1  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded  output a
}
mechanism best {
  input q[1..2] in 0..1  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded  b ~ geometric(q[2], 1/2) unbounded  output max(a, b)
}
mechanism worst {
  input q[1..2] in 0..1  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/4) unbounded  b ~ geometric(q[2], 1/8) unbounded  output min(a, b, 1)
}
"""


@pytest.mark.parametrize(
    "parts", [["fresh", "best"], ["best", "worst"], ["worst", "best"], ["fresh", "worst", "best"]]
)
@pytest.mark.parametrize("quantity", ["epsilon", "delta(ln 2)", "delta(ln(5/4))"])
def test_numbers_chosen_may_be_shown_by_any_part_of_a_composition(parts, quantity):
    """Only the first could: `compose(fresh, best)` was undecided."""
    runs = "  ".join(f"run {part}(q = q)" for part in parts)
    both = f"mechanism m {{ input q[1..2] in 0..1  adjacent l1(q, q') <= 1  {runs} }}"
    claims = f"compute compose({', '.join(parts)}): {quantity}\ncompute m: {quantity}"
    composed, run = check_text(f"{PARTS}{both}\n{claims}")["results"]
    values = [float(each["value"]["decimal"]) for each in (composed, run)]
    assert isclose(*values, rel_tol=1e-13)
    assert "exact" in composed["value"]


def test_the_greatest_belief_after_numbers_chosen_is_a_limit():
    claims = "check m: posterior_max(1/2) = 3/5\ncheck m: posterior_min(1/2) = 2/5"
    report = check_text(LARGER + claims)
    assert verdicts(report) == ["holds", "holds"]
    text = "a limit of numbers beyond 0..1, which no output need attain"
    assert all(result["beside"][-1]["text"] == text for result in report["results"])


def table_of(word):
    """Return a table of `LARGER`, by the numbers of its pairs, and what is told beside."""
    (result,) = check_text(f"{LARGER}compute m: {word}")["results"]
    rows = {}
    for *names, _, _ in (row for row in result["table"]["rows"]):
        pair = tuple(int(name[5]) * 2 + int(name[8]) for name in names[:2])
        rows[pair] = [row[2:] for row in result["table"]["rows"] if row[:2] == names[:2]]
    (beside,) = result["beside"]
    return rows, Fraction(beside["value"]["exact"])


def test_losses_of_numbers_chosen_are_those_of_values_but_for_what_is_told_beside():
    tables, gap = table_of("losses")
    assert len(tables) == 2
    assert 0 < gap < 1e-18
    for (i, j), rows in tables.items():
        true = defaultdict(Fraction)
        for p, q in zip(ROWS[i], ROWS[j], strict=True):
            true[p / q] += p
        known = {
            Fraction(p["exact"]) / Fraction(q["exact"]): Fraction(p["exact"]) for _, p, q in rows
        }
        assert sum(known.values()) == 1
        assert sum(p for ratio, p in known.items() if true[ratio] != p) <= gap


def test_trade_off_curves_of_numbers_chosen_are_below_by_no_more_than_is_told():
    tables, gap = table_of("tradeoff")
    assert 0 < gap < 1e-18
    for (i, j), rows in tables.items():
        ratios = sorted(zip(ROWS[i], ROWS[j], strict=True), key=lambda pq: pq[0] / pq[1])
        for corner in rows:
            type_one, known = (Fraction(each["exact"]) for each in corner)
            left, missed = type_one, Fraction(1)
            for p, q in ratios:  # reject what P makes less likely than Q, for p of type I errors
                share = min(left / p, 1)
                left, missed = left - share * p, missed - share * q
            assert known - gap - Fraction(1, 2**150) <= missed <= known + Fraction(1, 2**150)


@pytest.mark.parametrize("factor", ["3/2", "5/3", "1", "9/8", "23/20", "14/9", "1000/601", "2"])
def test_the_probability_of_a_loss_is_exact_where_more_is_told_far_out(factor):
    """5/3 is the limit of all losses, and 1.15, 14/9, 1000/601 are between those of two values."""
    claims = f"compute m: loss_tail(ln({factor}))\ncheck m: loss_tail(ln({factor})) <= loss_tail(0)"
    found, compared = check_text(LARGER + claims)["results"]
    most = max(
        sum(p for p, q in zip(ROWS[i], ROWS[j], strict=True) if p > Fraction(factor) * q)
        for i, j in NEIGHBORS
    )
    assert abs(Fraction(found["value"]["exact"]) - most) < Fraction(1, 2**190)
    assert compared["verdict"] == "holds"


@pytest.mark.parametrize("factor", ["3/2", "5/2", "25/9", "12/5"])
def test_the_probability_of_a_loss_of_two_chosen_numbers_is_that_of_their_values(factor):
    """The loss of two values is the sum of theirs, which is less than twice ln(5/3)."""
    again = "c ~ geometric(q[1], 1/2) unbounded  d ~ geometric(q[2], 1/2) unbounded"
    text = LARGER.rstrip().removesuffix("}") + f"  {again}\n  output max(c, d, 1)\n}}\n"
    (found,) = check_text(f"{text}compute m: loss_tail(ln({factor}))")["results"]
    near = [[*row[:25], sum(row[25:])] for row in ROWS]
    most = max(
        sum(
            p * r
            for p, q in zip(near[i], near[j], strict=True)
            for r, s in zip(near[i], near[j], strict=True)
            if p * r > Fraction(factor) * q * s
        )
        for i, j in NEIGHBORS
    )
    assert abs(Fraction(found["value"]["exact"]) - most) < Fraction(1, 2**20)


SHOWN_FOR_ALL = """
mechanism largest(n = 2, r = 1/2) {
  input q[1..2] in 0..n
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], r) unbounded
  b ~ geometric(q[2], r) unbounded
  output max(a, b, n)
}
mechanism tested_answer_shown(k = 2, r = 1/2) {
  input q[1..k] in 0..1
  adjacent linf(q, q') <= 1
  t ~ geometric(1, r) unbounded
  for i in 1..k {
    noisy ~ geometric(q[i], r) unbounded
    if noisy >= t { output noisy; stop }
    output bot
  }
}
"""


def test_shown_numbers_that_were_chosen_are_decided_for_all_ratios():
    """At 1/2 the loss is ln(5/3) again; beyond a root of a^3 + a^2 - 1 another output is worst."""
    claims = """
param alpha in (0, 1)
check largest(r = alpha): dp(-ln alpha)
check largest(r = alpha) for alpha in (1/2, 1): dp(ln(5/3))
refute largest(r = alpha) for alpha in (1/3, 1): dp(ln(5/3))
check largest(r = 1/3): epsilon = ln(5/2)
check largest(r = 4/5): epsilon = ln(29/25)
"""
    assert check_text(SHOWN_FOR_ALL + claims)["ok"]
    computed = "param alpha in (0, 1)\ncompute largest(r = alpha): epsilon"
    (result,) = check_text(SHOWN_FOR_ALL + computed)["results"]
    pieces = [piece["exact"] for piece in result["pieces"]]
    assert pieces == ["ln((alpha^2 + 1)/(alpha^2 + alpha))", "ln(1 + alpha - alpha^2)"]


def test_kinds_that_are_negative_for_some_ratios_are_asked_in_parts():
    """Which of two ratios is the larger one changes at an irrational value of the parameter."""
    text = """
param alpha in (0, 1)
mechanism m(r = alpha^2) {
  input q[1..2] in 0..1
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], r) unbounded
  b ~ geometric(q[2], 1/2) unbounded
  output max(a, b)
}
check m: dp(-9 * ln alpha)
check m(r = 1/3): dp(2 * ln 3)
"""
    report = check_text(text)
    assert verdicts(report) == ["violated", "holds"]
    (where,) = report["results"][0]["values"]["fails_for"]
    assert (where["from"]["root_of"], where["to"]["exact"]) == ("2*alpha^9 - 1", "1")
    part = text[: text.index("check")]
    (found,) = check_text(part + "check m: dp(ln 2, 1/10)")["results"]
    (where,) = found["values"]["fails_for"]
    assert (found["verdict"], where["to"]["root_of"]) == ("violated", "43*alpha^2 - 17")


LARGER_OF_TWO = """
param a in (-1, 1)
mechanism larger(r = (a + 1)/2) {
  input x in 0..1
  adjacent all
  y ~ geometric(x, r) unbounded
  z ~ geometric(1 - x, r/(1 + r)) unbounded
  output max(y, z)
}
"""


LARGER_BY_THEIR_OWN = """
param a in (0, 1)
mechanism first { input x in 0..1  adjacent all
  u ~ geometric(x, a^2/2) unbounded  v ~ geometric(2 * x, a/3) unbounded
  if u >= v { output u } }
mechanism larger { input x in 0..1  adjacent all
  u ~ geometric(x, a/3) unbounded  v ~ geometric(1 - x, a/2) unbounded
  output max(u, v) }
"""
FIRST_DELTA = "(a^5 - 2*a^3 - 18*a^2 + 36)/(36 + 12*a + 18*a^2 - 2*a^4 - 3*a^5 - a^6)"
LARGER_DELTA = "(a^5 - 5*a^4 - 13*a^3 + 30*a^2 + 36*a)/(36*a^2 + 180*a + 216)"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        (LARGER_OF_TWO, "check larger: delta(0) >= 1/10"),
        (LARGER_OF_TWO, "check larger: delta(0) = 1/10"),
        (LARGER_OF_TWO, "check larger: dp(ln 2, 1/50)"),
        (LARGER_OF_TWO, "check larger: dp(ln 2, 1/9)"),
        (LARGER_BY_THEIR_OWN, f"check first: delta(-ln a) = {FIRST_DELTA}"),
        (LARGER_BY_THEIR_OWN, f"check larger: delta(0) != {LARGER_DELTA}"),
    ],
)
def test_delta_of_numbers_chosen_fails_where_it_does_at_single_values(text, claim):
    """In windows that grow until telling less and more is alike for all values."""
    text += claim
    (result,) = check_text(text, "--explain", "none")["results"]
    assert "at_least" not in result["values"]
    intervals = result["values"]["fails_for"]
    ends = {Fraction(each[end]["decimal"]) for each in intervals for end in ("from", "to")}
    values = [Fraction(1, 10), Fraction(1, 3)]
    values += [x + s for x in ends - {-1, 0, 1} for s in (Fraction(-1, 10**6), Fraction(1, 10**6))]
    for value in values:
        (at,) = verdicts(check_text(text, "-D", f"a={value}", "--explain", "none"))
        within = [
            Fraction(each["from"]["decimal"]) < value < Fraction(each["to"]["decimal"])
            for each in intervals
        ]
        assert any(within) == (at == "violated"), value


def test_a_ratio_of_kinds_in_between_is_no_ratio_of_numbers():
    """Next to the window it is 464/189; numbers farther away are told until the ends decide."""
    text = """
mechanism m { input x in 0..1  adjacent all
  a ~ geometric(3 * x, 3/4) unbounded
  b ~ geometric(1 - x, 1/2) unbounded
  c ~ geometric(0, 1/8) unbounded
  if a > b { output c } else { output a } }
check m: epsilon = ln(11097376/4659721)
"""
    assert verdicts(check_text(text)) == ["holds"]


EITHER = """
mechanism either(r = 1/2, s = 1/3) { input x in 0..1  adjacent all
  a ~ geometric(x, r) unbounded
  b ~ geometric(0, r) unbounded
  c ~ geometric(0, s) unbounded
  output (if a < b then c else b) }
mechanism both(r = 1/5, s = 1/6) { input x in 0..1  adjacent all
  a ~ geometric(x, 1/2) unbounded
  b ~ geometric(0, 1/2) unbounded
  c ~ geometric(0, 1/3) unbounded
  d ~ geometric(x, r) unbounded
  e ~ geometric(0, r) unbounded
  f ~ geometric(0, s) unbounded
  output ((if a < b then c else b), (if d < e then f else e)) }
"""


@pytest.mark.parametrize(
    ("target", "loss"),
    [
        ("either", "11/7"),
        ("either(r = 9/10, s = 5/6)", "371/351"),
        ("both", "11/2"),
        ("compose(either, either)", "121/49"),
    ],
)
def test_ends_with_other_ratios_have_limits_of_their_own(target, loss):
    """Far above, terms of ratio s or r^2 are the first; there is none of r, as there is below."""
    (result,) = check_text(f"{EITHER}compute {target}: epsilon")["results"]
    assert result["value"]["exact"] == f"ln({loss})"
    assert verdicts(check_text(f"{EITHER}check {target}: epsilon = ln({loss})")) == ["holds"]


def test_ends_with_other_ratios_have_limits_for_all_values():
    """Which term is left far above changes where s = r^4: there ε is the limit of neither."""
    asked = "compute either(r = p^2, s = p/(1 + p)): epsilon"
    (result,) = check_text(f"param p in (0, 1)\n{EITHER}{asked}")["results"]
    pieces = [(each["in"], each["exact"]) for each in result["pieces"]]
    assert pieces[0] == ("(0, 0.819173)", "ln((p^4 + p^2 + 2)/(p^4 + 3*p^2))")
    assert pieces[2] == ("(0.819173, 1)", "ln(1/p^2)")
    for value, far in [("1/2", False), ("4/5", False), ("5/6", True)]:
        p = Fraction(value)
        loss = 1 / p**2 if far else (p**4 + p**2 + 2) / (p**4 + 3 * p**2)
        at = f"check either(r = {p**2}, s = {p / (1 + p)}): epsilon = ln({loss})"
        assert verdicts(check_text(f"{EITHER}{at}")) == ["holds"]


@pytest.mark.parametrize(
    ("claim", "fails"),
    [
        ("epsilon = ln 2", [("-1", "0"), ("0", "1")]),
        ("epsilon <= ln 2", [("-1", "0")]),
        ("epsilon < ln 3", [("-1", "-1/3")]),
        ("dp(ln 2)", [("-1", "0")]),
        ("dp(ln 2 - ln(a + 1))", [(None, "1")]),  # from sqrt(5) - 2 on
    ],
)
def test_a_pure_epsilon_of_three_ratios_is_decided_for_all_of_them(claim, fails):
    """Up to sqrt(5) - 2 it is ln(2/(a + 1)), from the far end; then ln((a + 3)/2)."""
    (result,) = check_text(f"{LARGER_OF_TWO}check larger: {claim}", "--explain", "none")["results"]
    found = [
        (each["from"].get("exact"), each["to"].get("exact"))
        for each in result["values"]["fails_for"]
    ]
    assert found == fails
    assert "at_least" not in result["values"]
    for value in ("-1/2", "-1/3", "-1/4", "0", "1/9", "1/4", "1/2"):
        text = f"{LARGER_OF_TWO}check larger: {claim}"
        (at,) = verdicts(check_text(text, "-D", f"a={value}", "--explain", "none"))
        intervals = result["values"]["fails_for"]
        assert (at == "violated") == any(
            float(each["from"]["decimal"]) < float(Fraction(value)) < float(each["to"]["decimal"])
            or (each["to"].get("exact") == value and not each["open"][1])
            for each in intervals
        )


INFINITELY_MANY = """
param alpha in (0, 1)
mechanism largest(r = alpha) {
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], r) unbounded
  b ~ geometric(q[2], r) unbounded
  output max(a, b, 2)
}
"""


def test_delta_whose_worst_events_are_infinitely_many_has_bounds_next_to_one_value():
    """Towards sqrt(2) - 1 fewer and fewer values belong to the worst event, and none beyond."""
    (result,) = check_text(INFINITELY_MANY + "compute largest: delta(ln 2)")["results"]
    pieces = result["pieces"]
    assert pieces[-1]["exact"] == "0"
    assert pieces[-1]["from"]["root_of"] == "alpha^2 + 2*alpha - 1"
    within = [piece for piece in pieces if "enclosure" in piece]
    assert len(pieces) > 10
    assert 0 < len(within) < 4
    assert float(within[0]["from"]["decimal"]) > 0.4142135
    assert [each["in"] for each in within] == [each["in"] for each in pieces[-4:-1]][-len(within) :]
    for value in ("1/5", "41/100", "413/1000", "41421/100000"):
        chosen = expression_at(result, Fraction(value))
        text = f"{INFINITELY_MANY}check largest: delta(ln 2) = {chosen}"
        assert verdicts(check_text(text, "-D", f"alpha={value}")) == ["holds"], value
    for piece in within:
        middle = Fraction(piece["from"]["decimal"]) + Fraction(piece["to"]["decimal"])
        low, high = piece["enclosure"]
        text = f"check largest: delta(ln 2) >= {low}\ncheck largest: delta(ln 2) <= {high}"
        report = check_text(INFINITELY_MANY + text, "-D", f"alpha={middle / 2}")
        assert verdicts(report) == ["holds", "holds"]


def test_what_is_undecided_for_all_ratios_says_where_it_may_fail_and_what_to_ask():
    part = "check largest for alpha in (2/5, 414213562/1000000000): delta(ln 2)"
    (result,) = check_text(f"{INFINITELY_MANY}{part} > 1/{10**30}")["results"]
    assert result["verdict"] == "undecided"
    assert result["reason"]["progress"].startswith("it holds but for alpha in [0.414214, ")
    assert "`-D alpha=1/2`" in result["reason"]["option"]
    near = part.replace("2/5", "414213549/1000000000")
    for claim in (f"{part} <= 1/{10**30}", f"{near} = 1/{10**20}"):
        (result,) = check_text(INFINITELY_MANY + claim)["results"]
        assert (result["verdict"], result["values"]["at_least"]) == ("violated", True)


@pytest.mark.parametrize(
    ("claim", "fails"),
    [
        ("delta(ln 2) = 0", ["0", "alpha^2 + 2*alpha - 1"]),
        ("delta(ln 2) <= 0", ["0", "alpha^2 + 2*alpha - 1"]),
        ("delta(ln 2) > 0", ["alpha^2 + 2*alpha - 1", "1"]),
        ("delta(-ln alpha) > 0", ["0", "1"]),
    ],
)
def test_delta_that_is_0_is_known_for_all_ratios_as_epsilon_is(claim, fails):
    """Pieces of δ(ln 2) are infinitely many next to sqrt(2) - 1, where it becomes 0."""
    text = f"{INFINITELY_MANY}check largest: {claim}"
    (result,) = check_text(text, "--explain", "none")["results"]
    (interval,) = result["values"]["fails_for"]
    ends = interval["from"], interval["to"]
    assert [end.get("exact") or end["root_of"] for end in ends] == fails
    assert "at_least" not in result["values"]


CHOSEN = """
mechanism best(m = 3, r = 1/2) {
  input q[1..m] in 0..1
  adjacent l1(q, q') <= 1
  var v[1..m] := 0
  for i in 1..m { v[i] ~ geometric(q[i], r) unbounded }
  output max(v)
}
mechanism sparse(k = 2, r = 1/2) {
  input q[1..k] in 0..1
  adjacent linf(q, q') <= 1
  t ~ geometric(1, r^2) unbounded
  for i in 1..k {
    noisy ~ geometric(q[i], r) unbounded
    if noisy >= t { output noisy; stop }
    output bot
  }
}
"""


@pytest.mark.parametrize(
    ("target", "claim", "verdict"),
    [
        ("best", "dp(-ln(R))", "holds"),
        ("best", "dp(ln(3/2))", "violated"),
        ("best", "dp(ln 2, 1/9)", "violated"),
        ("best", "delta(ln 2) <= 1/9", "violated"),
        ("sparse", "dp(-2 * ln(R))", "holds"),
        ("sparse(k = 3)", "dp(-4 * ln(R))", "holds"),
        ("sparse", "dp(-ln(R))", "violated"),
        ("sparse", "dp(-3 * ln(R), 1/2)", "holds"),
    ],
)
def test_claims_about_numbers_chosen_hold_for_all_ratios_as_for_each(target, claim, verdict):
    name, _, given = target.partition("(")
    given = given.removesuffix(")") + ", " if given else ""

    def asked(ratio):
        return f"check {name}({given}r = {ratio}): {claim.replace('R', ratio)}\n"

    (result,) = check_text(f"{CHOSEN}param alpha in (0, 1)\n{asked('alpha')}")["results"]
    assert result["verdict"] == verdict
    ratios = [Fraction(n, 40) for n in (1, 7, 13, 21, 23, 29, 33, 39)]
    fails = result.get("values", {}).get("fails_for", ())
    outside = [r for r in ratios if not any(is_within(r, each) for each in fails)]
    report = check_text(CHOSEN + "".join(asked(str(r)) for r in ratios))
    expected = ["holds" if r in outside else "violated" for r in ratios]
    assert verdicts(report) == expected


def is_within(ratio, interval):
    low, high = (float(interval[end]["decimal"]) for end in ("from", "to"))
    return low < ratio < high


@pytest.mark.parametrize(
    ("target", "quantity"),
    [
        ("best", "epsilon"),
        ("best", "delta(ln 2)"),
        ("sparse", "epsilon"),
    ],
)
def test_quantities_of_numbers_chosen_are_functions_of_the_ratio(target, quantity):
    text = f"{SHOWN_FOR_ALL}{CHOSEN}param alpha in (0, 1)\ncompute {target}(r = alpha): {quantity}"
    (result,) = check_text(text)["results"]
    ratios = [Fraction(n, 40) for n in (1, 7, 13, 21, 23, 29, 33, 39)]
    asked = [f"compute {target}(r = {ratio}): {quantity}\n" for ratio in ratios]
    found = check_text(SHOWN_FOR_ALL + CHOSEN + "".join(asked))["results"]
    for ratio, one in zip(ratios, found, strict=True):
        (piece,) = (each for each in result["pieces"] if is_within(ratio, each))
        written = piece["exact"].replace("^", "**").replace("ln", "log").replace("alpha", "R")
        value = eval(written, {"log": log, "R": float(ratio)})
        assert isclose(value, float(one["value"]["decimal"]), rel_tol=1e-9, abs_tol=1e-12)


def test_a_loss_that_comes_from_all_numbers_far_beyond_is_said_to_be_a_supremum():
    claims = (
        "compute largest: epsilon\ncheck largest: epsilon <= ln 2\ncheck largest: epsilon < ln(5/3)"
    )
    report = check_text(SHOWN_FOR_ALL + claims)
    assert verdicts(report) == ["value", "holds", "violated"]
    for result in report["results"]:
        assert any("a supremum over numbers" in each["text"] for each in result["beside"])
    attained = "check tested_answer_shown(k = 1): epsilon = ln 2"
    (result,) = check_text(SHOWN_FOR_ALL + attained)["results"]
    assert result["verdict"] == "holds"
    assert not any("supremum" in each["text"] for each in result.get("beside", ()))


def test_formulas_are_shown_by_outputs_that_exist():
    claim = "check largest: D{ln(3/2)} [ X output > 4 ]"
    (result,) = check_text(SHOWN_FOR_ALL + claim)["results"]
    assert [run["run"] for run in result["counterexample"]["runs"]] == ["> 4"]


def test_an_event_of_all_values_beyond_the_window_is_written_as_one():
    claims = "check noisy_argmax: D{ln 2} [ X output = 3 ]\ncheck m: delta(ln(3/2)) <= 1/100"
    text = """
mechanism m {
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded
  b ~ geometric(q[2], 1/2) unbounded
  output max(a, b, 2)
}
"""
    first, second = check_text(ARGMAX + text + claims)["results"]
    assert first["verdict"] == second["verdict"] == "violated"
    assert second["counterexample"]["event"] == ["> 2"]
    assert second["counterexample"]["ratio"] == "28/17"


def test_states_tell_what_is_known_beyond_the_window():
    texts = dpcheck.loads(SPARSE).target("svt", n=3).chain()
    found = {texts.state_text(s) for s in range(texts.n_reported_states)}
    assert "after output bot with q[3] = 0, noisy_t > 2, 2 draws below it" in found
    assert "after output bot with q[2] = 1, q[3] = 2, noisy_t > 2" in found


@pytest.mark.parametrize("comparison", ["=", ">=", "<="])
def test_states_tell_that_what_was_drawn_may_be_the_number_itself(comparison):
    """After `w = t` and after a w farther out the same is known of t: it is one state."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/4) unbounded
  w ~ geometric(x, 1/2) unbounded
  output w {comparison} t
  output t > 0
}}
"""
    chain = dpcheck.loads(text).target("m").chain()
    found = {chain.state_text(s) for s in range(chain.n_reported_states)}
    sides = {"=": ("above", "below"), ">=": ("above",), "<=": ("below",)}[comparison]
    far = {"above": "t > 1", "below": "t < 0"}
    for side in sides:
        assert f"after output true with {far[side]}, 1 draw at or {side} it" in found
    assert not any(re.search(r"draws? above it", each) for each in found if "t > 1" in each)
    assert not any(re.search(r"draws? below it", each) for each in found if "t < 0" in each)


# --- against clamped windows ---------------------------------------------------------------------


def random_program(pick, noise):
    """Return statements of a random program of the class, with noise written by `noise`."""
    lines = [f"a ~ {noise('q[1]', pick(3))}", f"b ~ {noise('q[2]', pick(3))}"]
    last = pick(6)
    if pick(2):
        lines.append(f"if a {['<', '<=', '>', '>='][pick(4)]} b {{ output lower }}")
    if pick(2):
        lines.append("best := max(a, b)" if pick(2) else "best := if a >= 1 then b else a")
    else:
        lines.append("best := a")
    lines.append(f"c ~ {noise('q[1] - q[2]', pick(3))}")
    if pick(2):
        lines.append("if c > best { best := c }")
    lines.append(
        [
            "output best >= 1",
            "output argmax((a, b, c))",
            "output (c > b, c = best)",
            "output clamp(best, 0, 1)",
            "output min(a, c) <= max(b, 0)",
            "if c != a { output differ } else { output best in 0..2 }",
        ][last]
    )
    return "\n  ".join(lines)


WIDTH = 11
ALPHAS = ["1/8", "1/9", "1/12"]


@pytest.mark.parametrize("seed", range(12))
def test_clamped_windows_converge_to_noise_without_bounds(seed):
    """The tails beyond 11 have less than 2 * 8^-10 each."""

    def distributions(policy):
        draw = random.Random(seed)
        body = random_program(
            draw.randrange, lambda center, k: f"geometric({center}, {ALPHAS[k]}) {policy}"
        )
        text = f"mechanism m {{ input q[1..2] in 0..1\n  adjacent all\n  {body}\n}}"
        return dpcheck.loads(text).target("m").output_distributions()

    exact, near = distributions("unbounded"), distributions(f"clamped -{WIDTH}..{WIDTH}")
    for state, row in exact.items():
        assert sum(row.values()) == 1
        for shown in row.keys() | near[state].keys():
            difference = row.get(shown, 0) - near[state].get(shown, 0)
            assert abs(float(difference)) < 1e-8, (shown, state)


LOOPS = {
    "while y <= t { y ~ geometric(0, 1/4) unbounded }  output x": False,
    "while y <= t { output below  y ~ geometric(0, 1/4) unbounded }": False,
    "while y > t { t := y  y ~ geometric(0, 1/4) unbounded  output above }": False,
    "while y < 0 { y ~ geometric(x, 1/4) unbounded  t := max(t, y) }  output y > t": False,
    "while true { y ~ geometric(x, 1/4) unbounded  if y > t { t := y }  output y = t }": False,
    "c := 0  while c < 30 { y ~ geometric(x, 1/4) unbounded  output y > t  c := c + 1 }": True,
    "while true { t ~ geometric(x, 1/2) unbounded  for i in 1..20 {"
    "  y ~ geometric(x, 1/4) unbounded  output y > t } }": True,
    "for i in 1..30 { y ~ geometric(x, 1/4) unbounded  if y > t { output i  stop } }": True,
    "while y <= t { t ~ geometric(0, 1/2) unbounded  y ~ geometric(x, 1/2) unbounded }": True,
    "b := true  while b { b ~ bernoulli(1/2)  t := t + 1 }  output t > y": False,
    "c := 0  while c < 20 { t := t + 1  c := c + 1 }  output t > 3": True,
}


@pytest.mark.parametrize(("loop", "has_end"), LOOPS.items(), ids=LOOPS)
def test_loops_without_end_that_learn_ever_more_are_mistakes(loop, has_end):
    """Each new draw makes another law of the number that is kept."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric(x, 1/2) unbounded
  y ~ geometric(0, 1/4) unbounded
  {loop}
}}
check m: P>=0 [ X output = 1 ]
"""
    assert error_codes(check_text(text)) == ([] if has_end else ["DP542"])


def test_one_sided_noise_has_no_values_below_zero():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  z ~ geometric_positive(1/2) unbounded
  w ~ geometric(x, 1/3) unbounded
  output (z < 0, z > 3, w <= z)
}
"""
    row = dpcheck.loads(text).target("m").output_distributions()["x = 0"]
    assert sum(p for shown, p in row.items() if shown.startswith("(true")) == 0
    assert sum(p for shown, p in row.items() if shown.startswith("(false, true")) == Fraction(1, 16)
    below = sum(p for shown, p in row.items() if shown.endswith("true)"))
    sums = sum(0.5 ** (z + 1) * (1 - (1 / 3) ** (z + 1) / (4 / 3)) for z in range(80))
    assert isclose(float(below), sums, abs_tol=1e-12)


def test_probabilities_may_lie_beyond_the_rationals():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, exp(-1/2)) unbounded
  y ~ geometric(x, exp(-1)) unbounded
  output y >= t
}
check m: dp(1)
refute m: dp(1/10)
"""
    assert check_text(text)["ok"]
    rows = dpcheck.loads(text).target("m").output_distributions()
    r, s = exp(-1), exp(-1 / 2)
    sums = sum(
        (1 - s) / (1 + s) * s ** abs(t) * (1 - r) / (1 + r) * r ** abs(y)
        for t in range(-80, 81)
        for y in range(t, 81)
    )
    assert isclose(float(decimal(rows["x = 0"]["true"])), sums, abs_tol=1e-9)


@pytest.mark.parametrize(("copy", "code"), [("a := v", ["DP540"]), ("var a[1..2] := 0 a := v", [])])
def test_numbers_are_copied_one_by_one(copy, code):
    """An array in one variable would keep numbers that nobody counts any more."""
    text = f"""
mechanism m {{
  input q[1..3] in 0..1
  adjacent linf(q, q') <= 1
  var v[1..2] := 0
  w ~ geometric(q[3], 1/4) unbounded
  for i in 1..2 {{ v[i] ~ geometric(q[i], 1/2) unbounded }}
  c ~ geometric(0, 1/2) unbounded
  {copy}
  output w > 0
  output a[1]
  output c > 0
}}
check m: epsilon = ln 8
"""
    report = check_text(text)
    assert error_codes(report) == code
    assert code or report["ok"]


BESIDE_A_TRUTH = """
mechanism m { input x in 0..1  adjacent all
  a ~ geometric(3 * x, 3/4) unbounded
  b ~ geometric(1 - x, 1/2) unbounded
  c ~ geometric(0, 1/8) unbounded
  truth ~ {x: 3/5, 1 - x: 1/5, 2: 1/5}
  if a > b { output c } else { output a }
  while true { LOOP }
}
compute m: delta(ln(36/5))
check m: dp(ln(36/5))
"""


def test_bounds_of_endless_claims_are_no_ratios_of_kinds():
    """At most 64 outputs are followed; no number, with the hidden truth, tells more than 7.15."""
    twins = """
    y := false
    if truth = 1 { y ~ bernoulli(1/2) }
    output none
    if truth != 1 { y ~ bernoulli(if truth = 2 then 1/4 else 1/2) }
    output y
    """
    computed, _ = check_text(BESIDE_A_TRUTH.replace("LOOP", twins))["results"]
    assert computed["verdict"] == "undecided"
    assert computed["reason"]["progress"].startswith("delta(ln(36/5)) is between 0 and ")


def test_a_number_beside_what_is_seen_in_the_long_run_has_no_ratio_of_its_kind():
    seen = "y ~ bernoulli((1 + truth)/4)  output y"
    computed, checked = check_text(BESIDE_A_TRUTH.replace("LOOP", seen))["results"]
    assert (computed["verdict"], checked["verdict"]) == ("value", "holds")
    assert computed["value"]["exact"] == "0"


def test_a_number_is_not_shown_while_another_one_beyond_it_is_still_in_use():
    text = """
mechanism m { input x in 0..1  adjacent all
  a ~ geometric(x, 1/2) unbounded
  b ~ geometric(0, 1/2) unbounded
  if a > b { output a  output b > 0 } }
check m: dp(ln 9)
"""
    assert error_codes(check_text(text)) == ["DP541"]


@pytest.mark.parametrize(
    "rest",
    [
        "output y - z",
        "output -y",
        "output 2 * y",
        "output abs(y)",
        "output y div 2",
        "output y mod 2",
        "output y / 2",
        "output x - y",
        "output sum((y, 1))",
        "output {y, 1}",
        "output (y, z) = (0, 0)",
        "w ~ geometric(y, 1/2) unbounded  output w",
        "var a[1..3] := 0  output a[y]",
        "var a[1..3] := 0  a[y] := 1  output a",
        "var w in 2..5 := y  output w",
        "a := (y, 1)  a := (a[2], a[1])  output a[1]",
        "a := (y, 1)  output a = (0, 1)",
        "a := (y, 1)  output {a, (0, 1)}",
        "a := (y, 1)  output 2 * a[1]",
        "a := (y, (z, 1))  output a[2][1] mod 2",
        "output (max(y, z), min(y, z))",
        "output (y, max(y, z))",
        "output (y, y)",
        "output max(y, z)  output min(y, z)",
        "output y > z  output (y, z)",
        "output y  if y > 1 { output big }",
        "w ~ uniform(0..y)  output w",
        "w ~ uniform(y..3)  output w",
        "w ~ binomial(y, 1/2)  output w",
        "w ~ bernoulli(y)  output w",
        "w ~ {1: y, 0: 1} normalized  output w",
        "w ~ geometric(0, 1/2) clamped 0..y  output w",
        "repeat y { output x }",
        "output max(i in 0..y : i)",
        "output 1 / y",
        "output x mod y",
        "output x ^ y",
        "output ln y",
        "output clamp(x, y, 5)",
        "output (3, 2)[y]",
    ],
)
def test_what_is_offered_in_place_of_a_number_without_bounds_works_when_pasted(rest):
    """There were `clamped lo..hi` and `clamp(y, lo, hi)`, with names that nobody declares."""
    head = "mechanism m { input x in 0..2  adjacent all\n"
    noise = "y ~ geometric(x, 1/2) unbounded  z ~ geometric(x, 1/2) unbounded\n"

    def first_mistake(noise, rest):
        report = check_text(f"{head}{noise}{rest} }}\ncheck m: dp(1000)")
        return next(iter(report.get("errors", [])), None)

    n_mistakes = 0
    clamped = rest
    while (found := first_mistake(noise, clamped)) is not None:
        n_mistakes += 1
        assert n_mistakes <= 4
        offered, name = re.search(r"(clamp\((.*), -?\d+, -?\d+\))", found["help"]).groups()
        at = found["column"] - 1
        assert clamped[at:].startswith(name)
        clamped = clamped[:at] + offered + clamped[at + len(name) :]
        policy = re.search(r"clamped -?\d+[.][.]-?\d+", found["help"])
        if policy is not None:
            assert first_mistake(noise.replace("unbounded", policy[0]), rest) is None
    assert n_mistakes


def test_number_compared_for_ever_is_told_where_it_is_compared():
    """The place was what stood after an output, where such a state was the last one met."""
    text = """mechanism m { input x in 0..1  adjacent all  s ~ geometric(1, 1/2) unbounded
  go := true  while go { output s  output h  go ~ bernoulli(1/3) }
  go := true  while go {
w ~ geometric(1, 1/2) unbounded
    if w - 1 < s { s := w  output d }  output h  go ~ bernoulli(1/3) } }
check m: dp(1)"""
    (found,) = check_text(text)["errors"]
    assert (found["code"], found["line"]) == ("DP542", 5)


@pytest.mark.parametrize("rest", ["z := z - 1", "z := z + x"])
def test_what_is_offered_where_a_number_is_moved_for_ever_works_when_pasted(rest):
    """It was a policy, with which the number grows as before."""
    text = f"""mechanism m {{ input x in 0..2  adjacent all  b ~ bernoulli(1/2)
z ~ geometric(x, 1/2) unbounded  while b {{ {rest}  b ~ bernoulli(1/2) }}  output z > 3 }}
check m: dp(1000)"""
    (found,) = check_text(text)["errors"]
    assert found["code"] == "DP542"
    offered = re.search(r"`(z := [^`]*)`", found["help"])[1]
    assert verdicts(check_text(text.replace(rest, f"{rest}  {offered}"))) == ["holds"]


@pytest.mark.parametrize("rest", ["y ~ geometric(x, 1/2) unbounded"])
def test_what_is_offered_for_an_endless_memory_works_when_pasted(rest):
    text = (
        "mechanism m { input x in 0..2  adjacent all  var b in {true, false} := true\n"
        "y ~ geometric(x, 1/2) unbounded  z ~ geometric(x, 1/2) unbounded\n"
        f"while y < z & b {{ {rest} }}  output done }}\ncheck m: dp(1000)"
    )
    codes = []
    while (report := check_text(text)).get("errors"):  # of one number after the other
        codes += error_codes(report)
        offer = r"draw `(\w)` `(clamped [^`]*)`"
        name, policy = re.search(offer, report["errors"][0]["help"]).groups()
        noise = f"{name} ~ geometric(x, 1/2) "
        assert noise + "unbounded" in text
        text = text.replace(noise + "unbounded", noise + policy, 1)
    assert 1 <= len(codes) <= 2
    assert set(codes) == {"DP542"}


@pytest.mark.parametrize(
    "claim",
    [
        "P<=1 [ X output[1] = output[2] ]",
        "E<=100 [ abs(output[1] - output[2]) ]",
        "P<=1 [ X output[1] mod 2 = 0 ]",
        "E<=100 [ floor(output[1] / 2) ]",
    ],
)
def test_what_is_offered_in_claims_about_shown_numbers_works_when_pasted(claim):
    """It was `clamp(output, lo, hi)`, of a tuple."""
    head = (
        "mechanism m { input x in 0..2  adjacent all  y ~ geometric(x, 1/2) unbounded\n"
        "z ~ geometric(x, 1/2) unbounded  output (y, z) }\ncheck m: "
    )
    (found,) = check_text(head + claim)["errors"]
    offered, name = re.search(r"(clamp\((.*), -20, 20\))", found["help"]).groups()
    (result,) = check_text(head + claim.replace(name, offered))["results"]
    assert result["verdict"] == "holds"


CARRIED = """
mechanism m {{
  input x in 0..2
  adjacent abs(x - x') <= 1
  z ~ geometric(x, 1/2) unbounded
  {}
}}
compute m: epsilon
compute m: delta(1/10)
compute m at x = 1: P=? [ F (output in {{(1, false), (0, true), (0, (0, true)), 1}}) ]
"""
INNER = """
mechanism inner {
  input q in 0..2
  adjacent all
  v ~ geometric(q, 1/2) unbounded
  pair := (v, v > 0)
  output pair
}
"""


@pytest.mark.parametrize(
    ("carried", "direct"),
    [
        ("t := (z, x > 5)  output t", "output (z, x > 5)"),
        ("t := (z, x > 0)  u := t  output u", "output (z, x > 0)"),
        ("t := (0, (z, z > 3))  output t", "output (0, (z, z > 3))"),
        (
            "t := (z, true)  if x = 2 { t := (1, false) }  output t",
            "if x = 2 { output (1, false) } else { output (z, true) }",
        ),
        (
            "t := (z, 1)  if t[1] > 2 { output t[2] } else { output 0 }",
            "output (if z > 2 then 1 else 0)",
        ),
        (
            "c := true  t := (0, false)  while c { t := (z, c)  c ~ bernoulli(1/2) }  output t",
            "output (z, true)",
        ),
        ("t := ((z, x), 1)  output t[1][1] - x > 0", "output z > x"),
        (
            "t := (z, x)  i := 1  if x = 2 { i := 2 }  output (t[i], 1)",
            "output (if x = 2 then x else z, 1)",
        ),
        ("t ~ inner(q = x)  output t", "output (z, z > 0)"),
        ("(a, b) := (z, 1)  output a > b", "output z > 1"),
        ("a := 1  (z, a) := (a, z)  output z < a", "output 1 < z"),
        ("t := ((z, 1), 1)  (a, b) := t  (c, d) := a  output c > d + b", "output z > 2"),
        ("t ~ inner(q = x)  (a, b) := t  if b { output a > 1 }", "if z > 0 { output z > 1 }"),
        (
            "(a, b) := (z, 1)  c := 0  while c < 3 { (a, b) := (b, a)  c := c + 1 }  output a > b",
            "output 1 > z",
        ),
        (
            "for i in 1..2 { t ~ inner(q = x)  output t }",
            "output (z, z > 0)  w ~ geometric(x, 1/2) unbounded  output (w, w > 0)",
        ),
    ],
)
def test_a_tuple_may_carry_a_number_to_where_it_is_output(carried, direct):
    found, wanted = (check_text(INNER + CARRIED.format(each)) for each in (carried, direct))
    values = [[each["value"] for each in one["results"]] for one in (found, wanted)]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    "body",
    [
        "t := (z, 1)  t := (t[2], t[1])  output t",
        "t := (z, 1)  if x = 1 { t := (z, 1, 1) }  output t",
        "t := (z, 1)  if x = 1 { t := 0 }  output t",
        "t := (z, 1)  if x = 1 { t ~ uniform({(0, 1), (0, 2)}) }  output t",
        "var v[1..2] := (0, 0)  v[1] := (z, 1)  output v",
        "t := (z, 1)  output t = (0, 1)",
        "t := if x = 1 then (z, 1) else (1, z)  (a, b) := t  output b",
        "var t in {(0, 1), (1, 1)} := (0, 1)  t := (z, 1)  output t",
    ],
)
def test_a_tuple_of_which_more_is_asked_says_what_it_needs(body):
    codes = error_codes(check_text(CARRIED.format(body)))
    assert set(codes) == {"DP540"}
