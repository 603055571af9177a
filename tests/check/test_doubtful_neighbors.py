"""Formulas inside of paths where runs remember, draw and show different numbers beyond the window.

What nobody knows of all numbers there is bounded; the bounds are those of clamped noise, where runs
hardly ever come so far.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.checking import check_text

WIDTH = 13


def interval(result):
    """Return what is known of a probability: two equal numbers where it is known exactly."""
    value = result.get("value") or {"enclosure": [result["bounds"][end]["exact"] for end in ENDS]}
    ends = value.get("enclosure") or [value["exact"]] * 2
    return tuple(map(Fraction, ends))


ENDS = ("low", "high")


def compared(text, policy=f"clamped -{WIDTH}..{WIDTH}"):
    """Return bounds of what is computed, and the same with other noise."""
    (bounds,) = check_text(text.replace("POLICY", "unbounded"))["results"]
    (near,) = check_text(text.replace("POLICY", policy))["results"]
    return interval(bounds), interval(near)[0]


def test_a_number_shown_in_one_run_alone_without_bounds_keeps_lock_step():
    """One neighbor shows y, that is revealed first; the other z, that has bounds: both are 0..2."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  if x = 0 {
    y ~ geometric(0, 1/2) unbounded
    if y > 3 { c := 1 } else { c := 0 }
    output y
  } else {
    z ~ uniform(0..2)
    c := 0
    output z
  }
  w ~ bernoulli(if x = 0 then 1/4 + c/10 else 3/4)
  output w
}
compute m at x = 0: P=? [ X D{0} [ X output = true ] ]
"""
    (result,) = check_text(text)["results"]
    assert result["value"]["exact"] == "5/12"  # z is y with probability 1/3 + 1/6 + 1/12


@pytest.mark.parametrize(
    ("shows", "expected"),
    [
        ("y ~ NOISE  if x = 0 { output y } else { output 7 }", 1 - Fraction(1, 3 * 2**7)),
        (
            "if x = 0 { y ~ NOISE  output y } else { z ~ uniform(0..10)  output z }",
            Fraction(1, 3) + Fraction(1, 3 * 2**10),
        ),
        (
            "y ~ NOISE  if x = 0 { output (1, y) } else { output (1, 4) }",
            1 - Fraction(1, 3 * 2**4),
        ),
        (
            "y ~ NOISE  z ~ NOISE  if x = 0 { output y } else { output clamp(z, 2, 9) }",
            1 - sum(Fraction(1, 3 * 2**n) for n in range(2, 10)),
        ),
    ],
)
def test_what_is_shown_beyond_the_window_may_be_what_the_other_run_shows_by_value(shows, expected):
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {shows.replace("NOISE", "geometric(0, 1/2) unbounded")}
  w ~ bernoulli(1/4 + x/2)
  output w
}}
compute m at x = 0: P=? [ X D{{0}} [ X output = true ] ]
"""
    (result,) = check_text(text)["results"]
    assert result["value"]["exact"] == str(expected)


@pytest.mark.parametrize(
    ("shows", "expected"),
    [
        ("y ~ NOISE  if x = 0 { output y } else { output 7 }", Fraction(255, 256)),
        ("if x = 0 { y ~ NOISE  output y } else { z ~ uniform(0..10)  output z }", Fraction(1, 3)),
    ],
)
def test_one_run_may_be_told_a_number_that_the_other_need_not_be_told(shows, expected):
    """What claims compare with is told of y, one by one, where z has its value anyway."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {shows.replace("NOISE", "geometric(0, 1/2) unbounded")}
  w ~ bernoulli(1/4 + x/2)
  output w
}}
compute m at x = 0: P=? [ X (output <= 8 & D{{0}} [ X output = true ]) ]
"""
    (result,) = check_text(text)["results"]
    assert result["value"]["exact"] == str(expected)


@pytest.mark.parametrize(
    "shows",
    [
        "if x = 0 { y ~ NOISE  c := y > 3  output y } else { z ~ NEAR  c := z > 3  output z }",
        "y ~ NOISE  c := y > 3  if x = 0 { output y } else { output 7 }",
    ],
)
def test_runs_that_may_have_shown_equal_numbers_go_on(shows):
    """Only numbers beyond the window make c true: 4 to 10 in both runs, or 7."""
    shows = shows.replace("NOISE", "geometric(0, 1/2) unbounded").replace("NEAR", "uniform(0..10)")
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {shows}
  output go
  w ~ bernoulli(if c then 1/4 + x/2 else 1/2)
  output w
}}
compute m at x = 0: P=? [ X X D{{0}} [ X output = true ] ]
"""
    (result,) = check_text(text)["results"]
    low, high = interval(result)  # not where c is true, with probability 1/24
    assert low <= Fraction(23, 24) <= high
    assert high - low < Fraction(1, 10**6)


def test_states_that_know_more_of_a_number_have_the_neighbors_of_those_that_know_less():
    """x = 0 may compare t with a draw of its own, and parts then; t and the state are the same."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) POLICY
  c ~ bernoulli(1/2)
  d := 0
  if x = 0 & c { u ~ geometric(0, 1/2) POLICY  if u < t { d := 1 } }
  output go
  v ~ geometric(3 * x, 1/2) POLICY
  output v >= t
}
compute m at x = 0: P=? [ X D{ln 2} [ X output = true ] ]
"""
    (low, high), near = compared(text, "clamped -25..25")
    assert low <= Fraction(2, 3) <= high
    assert high - low < Fraction(1, 10**12)
    assert abs(near - Fraction(2, 3)) < Fraction(1, 10**7)


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        # Whatever a is, b may be so large that v >= b is no half as likely.
        ("a ~ NOISE  b ~ NOISE  t := if x = 0 then a else b", Fraction(0)),
        ("if x = 0 { t ~ NOISE } else { t ~ geometric(1, 1/2) POLICY }", Fraction(1)),
        ("prior t ~ NOISE", Fraction(0)),
    ],
)
def test_runs_that_remember_different_numbers_are_compared_by_bounds(kept, expected):
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  {kept.replace("NOISE", "geometric(0, 1/3) POLICY")}
  output go
  v ~ geometric(x, 1/2) POLICY
  output v >= t
}}
compute m at x = 0: P=? [ X D{{ln 2}} [ X output = true ] ]
"""
    (low, high), near = compared(text)
    assert low <= expected <= high
    assert high - low < Fraction(1, 10**7)
    assert low - Fraction(1, 10**6) <= near <= high + Fraction(1, 10**6)


@pytest.mark.parametrize("other", ["geometric(0, 1/2) POLICY", "uniform(0..10)"])
def test_a_copy_of_a_number_and_a_draw_may_be_equal(other):
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) POLICY
  output go
  if x = 0 {{ v ~ {{t: 1/2, 0: 1/2}} }} else {{ v ~ {other} }}
  output asked
  w ~ bernoulli(if x = 0 & v >= t then 3/4 else 1/4)
  output w
}}
compute m at x = 0: P=? [ X X D{{0}} [ X output = true ] ]
"""
    (low, high), near = compared(text, "clamped -25..25")
    assert low - Fraction(1, 10**7) <= near <= high + Fraction(1, 10**7)
    assert high - low < Fraction(1, 10**5)


def test_a_value_that_is_shown_with_bounds_may_be_one_that_is_told_as_beyond():
    """After 7 the state is one, whether y was 7 or not, and only there a neighbor goes on."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  y ~ geometric(0, 1/2) unbounded
  c ~ bernoulli(1/2)
  if c { output y } else { if x = 1 { stop }  output 7 }
  w ~ bernoulli(1/4 + x/2)
  output w
}
compute m at x = 0: P=? [ X D{0} [ X output = true ] ]
"""
    (result,) = check_text(text)["results"]
    assert interval(result) == (0, 0)


def test_two_numbers_shown_beyond_the_window_need_not_be_equal():
    """In lock step one shows (t, s), the other (s, t): only where t = s these are equal."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/3) unbounded
  s ~ geometric(0, 1/3) unbounded
  if x = 0 { output (t, s) } else { output (s, t) }
  w ~ bernoulli(if x = 0 then 1/3 else 1/2)
  output w
}
compute m at x = 0: P=? [ X D{ln (5/4)} [ X output = true ] ]
"""
    (result,) = check_text(text)["results"]
    low, high = interval(result)
    assert low <= Fraction(11, 16) <= high
    assert high - low < Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("kept", "met"),
    [
        ("c ~ bernoulli(1/2)  if x = 0 & c { u ~ bernoulli(1/2)  t := t + 1 }", "0"),
        (
            "s ~ NOISE  c ~ bernoulli(1/2)  d := 0  if x = 0 & c { u ~ NOISE  d := u < t }",
            "s",
        ),
    ],
)
def test_numbers_of_which_more_is_known_are_those_of_which_less_is(kept, met):
    """Where a gap is known a state stands for some of what another does: D is false at all."""
    noise = "geometric(0, 9/10) unbounded"
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ {noise}  {kept.replace("NOISE", noise)}
  output go
  w ~ bernoulli(if x = 0 then 1/4 else 3/4)
  output w
  output t > {met}
}}
compute m at x = 0: P=? [ X D{{ln 2}} [ X output = true ] ]
"""
    (result,) = check_text(text)["results"]
    assert interval(result)[0] == 0


def test_two_runs_in_one_state_may_hold_different_numbers():
    """The data are any two above 3, also from one input: 4 and 20 have chances 2^16 apart."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  prior t ~ geometric(0, 1/2) unbounded
  output t > 3
  v ~ geometric(0, 1/2) unbounded
  output v >= t
}
compute m at x = 0: P=? [ X (output = true & D{ln 100} [ X output = true ]) ]
"""
    (result,) = check_text(text)["results"]
    low, high = interval(result)
    assert low == 0
    assert high < Fraction(1, 1000)


@pytest.mark.parametrize("n", range(2, 16))
@pytest.mark.parametrize("moved", ["v + 3 >= t", "v >= t - 3", "v + 1 >= t - 2"])
def test_a_number_next_to_the_end_may_be_met_by_one_that_is_moved(n, moved):
    """P(v >= t - 3) is 2/3 2^(3-t) for t >= 3: less than 99/100 of that at n for t > n."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/4) unbounded
  output go
  v ~ geometric(0, 1/2) unbounded
  output {moved}
}}
"""
    near = Fraction(2, 3) * Fraction(1, 2) ** (n - 3) if n > 3 else 1 - Fraction(2) ** (n - 3) / 3
    claim = f"compute m at x = 0: P=? [ X P<={near * Fraction(99, 100)} [ X output = true ] ]"
    (result,) = check_text(text + claim)["results"]
    low, high = interval(result)
    expected = Fraction(4, 5) * Fraction(1, 4) ** (n + 1)
    assert low <= expected <= high
    assert high - low < Fraction(1, 10**7)


DECIDED = """
mechanism m {
  input x in 0..1
  adjacent all
  a ~ geometric(0, 1/3) unbounded
  b ~ geometric(0, 1/3) unbounded
  t := if x = 0 then a else b
  output go
  v ~ geometric(x, 1/2) unbounded
  output v >= t
}
check m at x = 0: P<=1/1000 [ X D{ln 2} [ X output = true ] ]
check m at x = 0: P>=1/2 [ X D{ln 2} [ X output = true ] ]
check m at x = 0: P=? [ X D{ln 2} [ X output = true ] ] < 1/1000
check m at x = 0: P<=0 [ X D{ln 2} [ X output = true ] ]
check m at x = 0: P=? [ X D{ln 2} [ X output = true ] ] = 0
"""


def test_bounds_decide_claims_that_they_separate_and_say_what_is_known_of_others():
    results = check_text(DECIDED)["results"]
    verdicts = [result["verdict"] for result in results]
    assert verdicts == ["holds", "violated", "holds", "undecided", "undecided"]
    (probability,) = results[1]["counterexample"]["probabilities"]
    assert probability.startswith("in [0, ")
    known = results[3]["reason"]["progress"]
    assert known.startswith("P=? [ X D{ln(2)} [ X output = true ] ] is in [0, ")
    assert results[4]["bounds"]["low"]["exact"] == "0"


class Writer:
    """Writes programs whose neighbors draw, copy, choose and show far numbers in different ways."""

    def __init__(self, seed):
        self.pick = random.Random(seed).choice

    def program(self):
        pick = self.pick
        lines, names = [self.draw("t")], ["t"]
        if pick((0, 1)):
            lines.append(self.draw("s"))
            names.append("s")
        lines.insert(pick((0, len(lines), len(lines))), "output go")
        for _ in range(pick((1, 2))):
            lines += [self.draw("v"), self.show([*names, "v"])]
        a, other = pick(names), pick(("0", "3", "7", f"clamp({pick(names)}, 0, {pick('27')})"))
        alone = f"if x = {pick('01')} {{ output {a} }} else {{ output {other} }}"
        lines.append(pick(("", "", "", f"output {a}", alone, alone)))
        if pick((0, 1)):
            lines.append("w ~ bernoulli(if x = 0 then 1/3 else 1/2)  output w")
        text = "\n  ".join(lines)
        asked = f"compute m at x = {pick('01')}: P=? [ {self.path(pick((1, 1, 1, 2)))} ]"
        return f"mechanism m {{\n  input x in 0..1\n  adjacent all\n  {text}\n}}\n{asked}\n"

    def noise(self, center="0"):
        pick = self.pick
        two_sided = f"geometric({center}, 1/{pick((8, 8, 16, 27))}) POLICY"
        return pick((*[two_sided] * 6, f"geometric_positive(1/{pick((8, 16))}) POLICY"))

    def draw(self, v):
        pick = self.pick
        noise, other = self.noise(pick(("0", "x", "1", "2*x"))), self.noise("1")
        more = f"u{v} ~ {other}  if u{v} {pick(('<', '>='))} {v} {{ {v} := u{v} }}"
        return pick(
            (
                *[f"{v} ~ {noise}"] * 4,
                f"if x = 0 {{ {v} ~ {noise} }} else {{ {v} ~ {other} }}",
                f"if x = 0 {{ {v} ~ {noise} }} else {{ {v} ~ uniform(0..{pick((1, 3, 9))}) }}",
                f"a{v} ~ {noise}  b{v} ~ {other}  {v} := if x = 0 then a{v} else b{v}",
                f"{v} ~ {noise}  c{v} ~ bernoulli(1/2)  if x = {pick('01')} & c{v} {{ {more} }}",
                f"{v} ~ {noise}  {v} := {v} + {pick(('x', '1', '2*x'))}",
            )
        )

    def show(self, names):
        pick = self.pick
        a, b, sign = pick(names), pick(names), pick(("<", "<=", ">", ">=", "="))
        return pick(
            (
                f"output {a} {sign} {pick('012')}",
                f"output {a} {sign} {b}",
                f"output {a} + x {sign} {b}",
                f"output if {a} {sign} {b} then 2 else {a} > 1",
                f"if {a} {sign} {b} {{ {a} := {b} }}  output {a} > 0",
                f"output x = 0 | {a} > {pick('01')}",
            )
        )

    def path(self, depth):
        if depth == 0:
            return self.pick(
                (
                    "X output = true",
                    "F output = true",
                    "X X output = true",
                    "G !(output = 2)",
                    "X (output = true | output = 2)",
                    "X (output = false & X output = true)",
                )
            )
        inner = self.formula(depth - 1)
        return self.pick(
            (
                f"X ({inner})",
                f"X (go & {inner})",
                f"F (output = true & {inner})",
                f"X (go & X ({inner}))",
                f"X (output = false => {inner})",
                f"!X ({inner})",
                f"X (!({inner}) & F output = true)",
                f"({inner}) U (output = true)",
            )
        )

    def formula(self, depth):
        pick, path = self.pick, self.path(depth)
        budget = f"D{{ln ({pick(('3/2', '2', '8', '16', '27', '64'))})}} [ {path} ]"
        found = pick(
            (
                *[budget] * 3,
                f"D{{ln ({pick(('3/2', '2', '8'))}), 1/{pick((10, 100))}}} [ {path} ]",
                f"P{pick(('>0', '>=1/2', '<1/9', '<=1/10', ' in [1/100, 1]'))} [ {path} ]",
            )
        )
        return pick((found, found, f"!{found}"))


@pytest.mark.parametrize("seed", [n for n in range(16, 72) if n not in (19, 55, 63)])  # 7, 36, 16 s
def test_random_formulas_lie_within_bounds(seed):
    text = Writer(seed).program()
    report = check_text(text.replace("POLICY", "unbounded"))
    assert not report.get("errors"), report["errors"]
    (low, high), near = compared(text)
    margin = Fraction(1, 10**7)
    assert low - margin <= near <= high + margin
    assert high - low < Fraction(1, 1000) or "bounds" in report["results"][0]
