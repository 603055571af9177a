"""Sums of noise without bounds and numbers with bounds: the noise, moved."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import pytest

import dpcheck
from dpcheck.explore.programs import moved_centers
from tests.checking import check_text, verdicts

WIDTH = 11

SUMS = {
    "both sides": """
      t ~ geometric(0, 1/9) POLICY  z ~ geometric(0, 1/8) POLICY
      output x + z >= 1 + t - x""",
    "two steps": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(x, 1/9) POLICY
      y := 2 + z - x  best := y - 1
      output best > w""",
    "one-sided noise in an array": """
      var v[1..3] := 0
      for i in 1..3 { z ~ geometric_positive(1/8) POLICY  v[i] := i * x + z }
      output argmax(v)""",
    "two kinds of noise": """
      z ~ if x = 0 then geometric(0, 1/8) POLICY else geometric_positive(1/9) POLICY
      w ~ geometric(1, 1/8) POLICY
      output max(z + x, w - x) > 1""",
    "a loop with another number each time": """
      t ~ geometric(0, 1/8) POLICY  c := 0
      while c < 2 { z ~ geometric(0, 1/9) POLICY  if z + c > t - x { output up }  c := c + 1 }""",
    "one sum of two draws": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(0, 1/9) POLICY
      if z + x > w { z := 0 }
      output z + x > 1""",
    "drawn again": """
      z ~ geometric(0, 1/8) POLICY  output z + x > 0
      z ~ geometric(0, 1/9) POLICY  output z - x > 0  z := z - x  output z = 1""",
    "drawn from few numbers, too": """
      z ~ geometric(x, 1/8) POLICY  output z >= 1
      z ~ uniform(0..2)  output z + 1 >= 2 + x
      z ~ geometric(x, 1/8) clamped 0..2  output z + 1 >= 3""",
    "shown": """
      z ~ geometric_positive(1/8) POLICY
      output clamp(z + x, -3, 3)""",
    "one draw in two sums": """
      t ~ geometric(0, 1/8) POLICY  z ~ geometric(x, 1/9) POLICY
      output (z > t + 1, z > t, z - x < t - 3)""",
    "drawn after the noise": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(x, 1/9) POLICY
      k ~ uniform(0..2)  output z + k > w - x""",
    "kept and moved again": """
      best ~ geometric(x, 1/8) POLICY
      for i in 1..2 {
        v ~ geometric(0, 1/9) POLICY
        if v > best { best := v + 1 } else { best := best - x }
      }
      output best > 1""",
    "kept where another cell may be written": """
      var v[0..2] := 0  v[0] ~ geometric(0, 1/8) POLICY  output v[0] + x > 0
      v[x] := 2  output v[0] > 1""",
    "over a set": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(1, 1/9) POLICY
      output max(i in 0..x : z + i) > min(i in 0..x : w - i)""",
    "on both sides of 0": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(0, 1/9) POLICY
      output z + 3 > w - 3 & z - 3 < w + 3""",
    "across the window": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(0, 1/9) POLICY
      k ~ uniform(4..5)  output z + k > w""",
    "only where it is asked": """
      z ~ geometric(0, 1/8) POLICY  w ~ geometric(0, 1/9) POLICY
      output x > 0 & z + 2 div x > w""",
}


@pytest.mark.parametrize("are_moved", [True, False])
@pytest.mark.parametrize("statements", SUMS.values(), ids=SUMS)
def test_sums_are_as_with_clamped_noise(statements, are_moved, monkeypatch):
    """Whether centers are moved first, or gaps beyond the window are resolved."""
    if not are_moved:
        monkeypatch.setattr(moved_centers, "with_centers_moved", lambda program, _: program)

    def rows(policy):
        text = f"mechanism m {{ input x in 0..2  adjacent all {statements} }}"
        return dpcheck.loads(text.replace("POLICY", policy)).target("m").output_distributions()

    exact, near = rows("unbounded"), rows(f"clamped -{WIDTH}..{WIDTH}")
    for state, row in exact.items():
        assert sum(row.values()) == 1
        for shown in row.keys() | near[state].keys():
            assert abs(float(row.get(shown, 0) - near[state].get(shown, 0))) < 1e-7, (shown, state)


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        ("if z > 0 { output a }  output z + x", None),
        ("output (z + x > 0, z - x > 0)", None),
        ("output x - z", "DP540"),
        ("output 2 * z", "DP540"),
        ("w ~ geometric(x, 1/2) unbounded  output z + w > 0", "DP540"),
        ("w ~ geometric(x, 1/2) unbounded  output z - w > 0", "DP540"),
        ("w ~ bernoulli(1/2)  k := if w then 1 else x  output z + k > 0", None),
        ("k := x  if z + k > 0 { k := 0  output z + k > 0 }", None),
        ("output max(i in 0..x : z + i)", None),
        ("if z + 1 > 0 { output z + x }  output z > 3", "DP541"),
    ],
)
def test_no_sums_but_with_numbers_that_have_bounds(statements, code):
    text = f"""
mechanism m {{ input x in 0..2  adjacent all  z ~ geometric(0, 1/2) unbounded  {statements} }}
check m: P>=0 [ F stopped ]
"""
    report = check_text(text)
    codes = {mistake["code"] for mistake in report.get("errors", [])}
    assert codes == ({code} if code else set())
    assert code or report["ok"]


@pytest.mark.parametrize(
    ("comparison", "instead"),
    [
        ("z - w > x - 1", "write `z > w + x - 1`"),
        ("z - w = w - z", None),
        ("z - w > 2 * w", None),
    ],
)
def test_a_compared_difference_is_a_sum_where_the_other_side_has_bounds(comparison, instead):
    noise = "z ~ geometric(x, 1/2) unbounded  w ~ geometric(0, 1/2) unbounded"
    text = f"mechanism m {{ input x in 0..2  adjacent all  {noise}  output {comparison} }}\n"
    first, *others = check_text(text + "check m: P>=0 [ F stopped ]")["errors"]
    if instead is None:
        helps = [each["help"] for each in (first, *others)]
        assert all("use `clamp(" in each for each in helps)
    else:
        assert (first["help"], others) == (instead, [])
        assert check_text(text.replace(comparison, instead[7:-1]) + "compute m: epsilon")["ok"]


@pytest.mark.parametrize(
    "statements",
    [
        "output a - (if b > 2 & b + 1 < a then 4 else 0) > b",
        "y := a - (if b > 2 & b + 1 < a then 9 else 0)  output y > 1",
        "output down(a, if b > 2 & b + 1 < a then 4 else 0) > b",
        "output a - max(i in 0..4 where i = 0 | b > 2 & b + 1 < a : i) > b",
        "output a - (if a - (if b > 2 & b + 1 < a then 4 else 0) > b then 6 else 0) > b - 1",
    ],
)
def test_what_is_added_to_a_number_may_depend_on_other_sums(statements):
    """Of two far numbers it is known then how far they are apart, before that is added."""

    def rows(policy):
        noise = f"a ~ geometric(2, 1/2) {policy}  b ~ geometric(1 + x, 1/3) {policy}"
        text = f"mechanism m {{ input x in 0..1\n  adjacent all\n  {noise}\n  {statements} }}"
        model = dpcheck.loads(f"fun down(z, k) = z - k\n{text}")
        return model.target("m").output_distributions()

    exact, near = rows("unbounded"), rows("clamped -45..50")
    for state, row in exact.items():
        assert len(row) == 2
        assert all(abs(float(p - near[state][y])) < 1e-12 for y, p in row.items()), state


class Writer:
    """Writes a random program that moves noise, compares it, and keeps it; for every policy."""

    def __init__(self, seed):
        self.pick = random.Random(seed).choice
        self.names = []

    def noise(self):
        ratio = self.pick(("1/8", "1/9", "1/16"))
        center = self.pick(("0", "x", "1", "-x"))
        two_sided = f"geometric({center}, {ratio}) POLICY"
        return self.pick((two_sided, two_sided, f"geometric_positive({ratio}) POLICY"))

    def number(self):
        name, other = self.pick(self.names), self.pick(self.names)
        by = self.pick(("1", "2", "x", "k", "(x - 1)", "(k - 2)"))
        return self.pick(
            (
                name,
                f"({name} + {by})",
                f"({name} - {by})",
                f"({by} + {name} - x)",
                f"(max({name} + x, {other}) - 1)",
                f"(if {name} > 0 then {other} + 1 else {name} - k)",
                f"max(i in 0..x : {name} + i)",
            )
        )

    def truth(self):
        other = self.pick((self.number(), self.number(), "x"))
        return f"{self.number()} {self.pick(('<', '<=', '>', '>=', '=', '!='))} {other}"

    def statement(self):
        if len(self.names) < 2:
            self.names.append(f"v{len(self.names)}")
            return f"{self.names[-1]} ~ {self.noise()}"
        name = self.pick(self.names)
        turn = f"if w + {self.pick('1xk')} > {name} {{ {name} := w + {self.pick('0xk')} }}"
        return self.pick(
            (
                "k ~ uniform(0..2)",
                f"{name} := {self.number()}",
                f"if {self.truth()} {{ {name} := {self.number()} }}",
                f"output {self.truth()}",
                f"for i in 1..2 {{ w ~ {self.noise()} {turn} }}",
            )
        )

    def program(self):
        lines = ["k := 1", *(self.statement() for _ in range(5))]
        shown = self.pick((f"argmax(({self.number()}, {self.number()}))", self.truth()))
        lines.append(self.pick((f"output {shown}", f"output clamp({self.number()}, -2, 2)")))
        body = "\n  ".join(lines)
        return f"mechanism m {{\n  input x in 0..2\n  adjacent all\n  {body}\n}}\n"


@pytest.mark.parametrize("seed", range(8))
def test_random_sums_are_as_with_clamped_noise(seed):
    def rows(policy):
        text = Writer(seed).program().replace("POLICY", policy)
        return dpcheck.loads(text).target("m").output_distributions()

    exact, near = rows("unbounded"), rows(f"clamped -{WIDTH}..{WIDTH}")
    for state, row in exact.items():
        assert sum(row.values()) == 1
        for shown in row.keys() | near[state].keys():
            assert abs(float(row.get(shown, 0) - near[state].get(shown, 0))) < 2e-6, (shown, state)


def test_two_comparisons_of_one_draw_have_their_closed_form():
    """P(z = t + 1) is the sum over t of (1-r)^2/(1+r)^2 r^(|t| + |t+1-x|)."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) unbounded
  z ~ geometric(x, 1/2) unbounded
  output z > t & !(z > t + 1)
}
compute m at x = 0: P=? [ X output = true ]
compute m at x = 1: P=? [ X output = true ]
"""
    found = [Fraction(each["value"]["exact"]) for each in check_text(text)["results"]]
    scale = Fraction(1, 3) ** 2
    for x, probability in enumerate(found):
        terms = (Fraction(1, 2) ** (abs(t) + abs(t + 1 - x)) for t in range(-60, 60))
        assert abs(float(probability - scale * sum(terms))) < 1e-15


def test_theorems_are_the_same_with_noise_that_is_added():
    text = """
mechanism svt(k = 3, t = 1) {
  input q[1..k] in 0..2
  adjacent linf(q, q') <= 1
  rho ~ geometric(0, 1/4) unbounded
  for i in 1..k {
    nu ~ geometric(0, 1/2) unbounded
    if q[i] + nu >= t + rho { output top; stop }
    output bot
  }
}
mechanism count {
  input x in 0..2
  adjacent abs(x - x') <= 1
  z ~ geometric(0, 1/2) unbounded
  output x + z
}
check svt: epsilon = ln(3686/527)
check count: epsilon = ln 2
check count at x = 2: P=? [ X output = 4 ] = 1/12
"""
    assert check_text(text)["ok"]


def test_later_neighbors_draw_the_same_noise_that_each_moves():
    """The runs with x = 0 and x = 1 part where equal draws are compared with other results."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  z ~ geometric(0, 1/8) POLICY
  output asked
  w ~ geometric(0, 1/9) POLICY
  output w + x > 0
  output z > 0
}
compute m at x = 0: P=? [ X (output = asked & D{ln 9} [ X output = true ]) ]
compute m at x = 0: P=? [ X X (D{0, 1/2} [ X output = true ]) ]
"""
    found = []
    for policy in ("unbounded", "clamped -9..9"):
        report = check_text(text.replace("POLICY", policy))
        assert verdicts(report) == ["value", "value"]
        found.append([float(each["value"]["decimal"]) for each in report["results"]])
    assert found[0] == pytest.approx(found[1], abs=1e-7)


@pytest.mark.parametrize("budget", ["ln 3", "ln 9"])
def test_runs_part_where_equal_draws_are_moved_differently(budget):
    """Those that showed `bot` in both remember one threshold, wherever it lies."""
    text = f"""
mechanism m {{
  input q[1..2] in 0..1
  adjacent linf(q, q') <= 1
  rho ~ geometric(0, 1/4) POLICY
  for i in 1..2 {{
    nu ~ geometric(0, 1/8) POLICY
    if q[i] + nu >= 1 + rho {{ output top; stop }}
    output bot
  }}
}}
compute m at q[1] = 0 & q[2] = 1: P=? [ X (bot & D{{{budget}}} [ X top ]) ]
"""
    reports = [check_text(text.replace("POLICY", p)) for p in ("unbounded", "clamped -13..13")]
    exact, near = (float(report["results"][0]["value"]["decimal"]) for report in reports)
    assert exact == pytest.approx(near, abs=1e-7)


def test_what_is_added_to_noise_is_an_integer():
    text = """
mechanism m {
  input x in {1/2, 1}
  adjacent all
  z ~ geometric(0, 1/2) unbounded
  output x + z > 0
}
check m: dp(1)
"""
    (mistake,) = check_text(text)["errors"]
    assert mistake["message"] == "what is added to noise must be an integer, not 1/2"


@pytest.mark.parametrize(
    "condition",
    [
        "x = 1 & z + 1/x > w",
        "x >= 1 & x < 2 & w < z + 1/x",
        "!(x != 1 | z + 1/x <= w)",
        "!(x = 1 => z + 1/x <= w)",
    ],
)
def test_what_is_added_where_a_condition_fails_is_no_mistake(condition):
    text = """mechanism m {
      input x in 0..2  adjacent abs(x - x') <= 1
      z ~ geometric(0, 1/2) unbounded  w ~ geometric(x, 1/2) unbounded
      if CONDITION { output top } else { output bot } }"""
    added = dpcheck.loads(text.replace("CONDITION", condition)).target("m")
    whole = dpcheck.loads(text.replace("CONDITION", "x = 1 & z + 1 > w")).target("m")
    assert added.output_distributions() == whole.output_distributions()
    reached = text.replace("CONDITION", condition.replace("1", "2", 1).replace("< 2", "< 3"))
    (mistake,) = check_text(f"{reached} check m: dp(1)")["errors"]
    assert mistake["message"] == "what is added to noise must be an integer, not 1/2"


@pytest.mark.parametrize("other", ["pos", "1/2"])
def test_what_is_added_on_other_runs_alone_is_no_mistake(other):
    text = f"""mechanism m {{
      input x in {{0, 1, {other}}}  adjacent all
      z ~ geometric(0, 1/4) unbounded
      if x = {other} {{ output 5  stop }}
      output z + x >= 1 }}"""
    rows = dpcheck.loads(text).target("m").output_distributions()
    assert rows[f"x = {other}"] == {"5": 1}
    assert rows["x = 0"]["true"] == Fraction(1, 5)
    assert rows["x = 1"]["true"] == Fraction(4, 5)


@pytest.mark.parametrize("name", ["one draw in two sums", "drawn after the noise", "two steps"])
def test_growing_clamped_windows_converge_to_sums_of_noise_without_bounds(name):
    """Three integers more at each end leave less than a hundredth of it, down to 10^-9."""

    def rows(policy):
        text = f"mechanism m {{ input x in 0..2  adjacent all {SUMS[name]} }}"
        return dpcheck.loads(text.replace("POLICY", policy)).target("m").output_distributions()

    exact, found = rows("unbounded"), []
    for width in (7, 10, 13):
        near = rows(f"clamped -{width}..{width}")
        differences = (
            abs(row.get(shown, 0) - near[state].get(shown, 0))
            for state, row in exact.items()
            for shown in row.keys() | near[state].keys()
        )
        found.append(float(max(differences)))
    assert found[-1] < 1e-9
    assert all(after < before / 100 for before, after in pairwise(found))
