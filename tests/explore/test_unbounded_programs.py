"""Random programs that show numbers without bounds, against clamped noise."""

from __future__ import annotations

import itertools
import random
import re
from math import exp, inf, isclose

import pytest

import dpcheck
from dpcheck.explore.tails.wide import wide_uses
from tests.checking import check_text

WIDTH = 8
ALPHAS = ["1/8", "1/16", "1/64"]
CENTERS = ["q[1]", "q[2]", "q[1] - q[2]", "q[1] + q[2]", "1", "0"]


class Writer:
    """Writes one random program of the class; the same for every policy."""

    def __init__(self, seed, policy):
        self.pick = random.Random(seed).randrange
        self.policy = policy
        self.names = []

    def one_of(self, *texts):
        return texts[self.pick(len(texts))]

    def noise(self, center):
        alpha = ALPHAS[self.pick(3)]
        if self.pick(4) == 0:
            return f"geometric_positive({alpha}) {self.policy}"
        return f"geometric({center}, {alpha}) {self.policy}"

    def drawn(self, name):
        """Draw a variable with noise, or add the center to noise around 0."""
        center = self.one_of(*CENTERS)
        self.names.append(name)
        if self.pick(3) == 0:
            return f"z{name} ~ {self.noise('0')}  {name} := {center} + z{name}"
        return f"{name} ~ {self.noise(center)}"

    def pair(self):
        first = self.pick(len(self.names))
        other = (first + 1 + self.pick(len(self.names) - 1)) % len(self.names)
        return self.names[first], self.names[other]

    def number(self):
        x, y = self.pair()
        chosen = self.one_of(f"max({x}, {y})", f"min({x}, {y}, 1)", f"(if {x} > 0 then {y} else 1)")
        return self.one_of(x, y, chosen)

    def truth(self):
        sign = self.one_of("<", "<=", ">", ">=", "=", "!=")
        x, y = self.pair()
        return self.one_of(f"{x} {sign} {y}", f"{x} {sign} {self.pick(3) - 1}", f"{x} in 0..2")

    def program(self):
        lines = [self.drawn("a"), self.drawn("b")]
        if self.pick(2):
            lines.append(
                f"if {self.truth()} {{ {self.one_of('output up', 'stop', 'output up stop')} }}"
            )
        if self.pick(2):
            lines.append(self.drawn("c"))
        if self.pick(3) == 0:
            turn = "if w > best { best := w winner := i }"
            loop = f"for i in 1..2 {{ w ~ {self.noise('q[i]')} {turn} }}"
            lines += [f"best := {self.number()}  winner := 0", loop]
            lines.append(f"output {self.one_of('winner', 'best', '(winner, best)', 'best > 1')}")
        else:
            x, y = self.pair()
            whole = self.one_of(
                f"({self.truth()}, {self.number()})", f"({x}, {y})", f"argmax(({x}, {y}))"
            )
            lines.append(
                f"output {self.one_of(whole, self.number(), f'clamp({self.number()}, 0, 2)')}"
            )
        if self.pick(4) == 0:
            lines.append(f"{self.drawn('d')}  output d")
        body = "\n  ".join(lines)
        return f"mechanism m {{\n  input q[1..2] in 0..1\n  adjacent all\n  {body}\n}}\n"

    def measured(self):
        """Return a program that shows two numbers, and what claims measure of them."""
        lines = [self.drawn("a"), self.drawn("b")]
        if self.pick(2):
            lines.append(f"if {self.truth()} {{ output (0, 2) output {self.number()} stop }}")
        lines += [f"output ({self.number()}, 1)", self.drawn("c"), "output c"]
        error = self.one_of(
            "abs(A - q[1])", "(A - 1)^2", "max(A, 1)", "clamp(A, -1, 2)", "A * q[2]"
        )
        other = self.one_of(
            "B", "A * B", "output * B", "if B > A[2] then B else -A", "linf((A, 1), (q[1], q[2]))"
        )
        truth = self.one_of(
            "abs(output - q[2]) <= 2", "output^2 < 5 - output", "2 * output in -3..4", "-output = 0"
        )
        names = {"A[2]": "output(1)[2]", "A": "output(1)[1]", "B": "output(2)"}
        value = f"{error} - ({other}) / 2"
        for short, name in names.items():
            value = value.replace(short, name)
        body = "\n  ".join(lines)
        program = f"mechanism m {{\n  input q[1..2] in 0..1\n  adjacent all\n  {body}\n}}\n"
        at = f"compute m at q[1] = {self.pick(2)} & q[2] = {self.pick(2)}: "
        return f"{program}{at}E=? [ {value} ]\n{at}P=? [ X X {truth} ]\n"


def is_inside(shown):
    """Return whether all numbers that are shown lie far inside of the clamped window."""
    return all(abs(int(number)) < WIDTH - 2 for number in re.findall(r"-?\b\d+", shown))


def largest_ratio(rows):
    """Return the largest ratio of what is shown inside, between any two inputs."""
    return max(
        inf if shown not in other else float(chance / other[shown])
        for row, other in itertools.permutations(rows.values(), 2)
        for shown, chance in row.items()
        if is_inside(shown)
    )


@pytest.mark.parametrize("seed", range(14))
def test_random_programs_show_what_they_do_with_clamped_noise(seed):
    text = Writer(seed, "unbounded").program()
    target = dpcheck.loads(text).target("m")
    try:
        exact = target.output_distributions()
    except dpcheck.ModelError as error:
        if "[DP541]" not in str(error):  # a shown number that others still depend on
            raise
        return
    clamped = Writer(seed, f"clamped -{WIDTH}..{WIDTH}").program()
    near = dpcheck.loads(clamped).target("m").output_distributions()
    for state, row in exact.items():
        assert sum(row.values()) == 1
        for shown, chance in row.items():
            if not re.search("[<>]|above|below", shown):
                assert isclose(float(chance), float(near[state].get(shown, 0)), abs_tol=3e-7), text
    loss = float(target.epsilon())
    assert isclose(exp(min(loss, 700)), min(largest_ratio(near), exp(700)), rel_tol=0.02), text


@pytest.mark.parametrize("seed", range(12))
def test_random_claims_compute_with_shown_numbers_as_with_clamped_ones(seed):
    texts = [
        Writer(seed, policy).measured() for policy in ("unbounded", f"clamped -{WIDTH}..{WIDTH}")
    ]
    exact, near = map(check_text, texts)
    for one, other in zip(exact["results"], near["results"], strict=True):
        found, clamped = (float(each["value"]["decimal"]) for each in (one, other))
        assert isclose(found, clamped, abs_tol=3e-4), texts[0]


@pytest.mark.parametrize(
    ("asked", "as_loop", "n_groups"),
    [
        ("count(i in 1..3 : v[i] >= q[i])", "c", 3),
        ("exists(i in 1..3 : v[i] >= q[i])", "c >= 1", 3),
        ("forall(i in 1..3 : v[i] >= q[i])", "c = 3", 3),
        ("count(i in 1..3 : max(v[i], q[i]) = v[i])", "c", 3),
        ("count(i in 1..3 : v[i] + 1 > q[i])", "c", 1),
        ("count(i in 1..3 : v[i] >= v[2])", "d", 1),
        ("count(i in 1..3 : exists(j in 2..2 : v[i] >= v[j]))", "d", 1),
    ],
)
def test_cells_that_are_asked_one_by_one_are_not_compared(asked, as_loop, n_groups):
    """So their order beyond the window is not told: of nine cells there would be 7,087,261."""
    text = """mechanism m {
      input q[1..3] in 0..1  adjacent hamming(q, q') <= 1
      var v[1..3] := 0  for i in 1..3 { v[i] ~ geometric(q[i], 1/8) unbounded }
      c := 0  d := 0
      for i in 1..3 { if v[i] >= q[i] { c := c + 1 }  LOOP }
      output SHOWN }"""
    compared = "if v[i] >= v[2] { d := d + 1 }" if as_loop == "d" else ""
    loop = dpcheck.loads(text.replace("LOOP", compared).replace("SHOWN", as_loop))
    at_once = dpcheck.loads(text.replace("LOOP", "").replace("SHOWN", asked))
    wide, mistakes = wide_uses(at_once.target("m")._core.nodes)
    assert (len(wide.groups), mistakes) == (n_groups, [])
    rows = at_once.target("m").output_distributions()
    assert rows == loop.target("m").output_distributions()


@pytest.mark.parametrize("asked", ["exists(i in 2..3 : v[i] > 1)", "count(i in 1..1 : v[i] > 1)"])
def test_cells_that_are_not_asked_are_remembered_as_those_that_are(asked):
    """A question of some cells reads an array, all of whose cells live on until then."""
    text = """mechanism m {
      input q[1..3] in 0..1  adjacent hamming(q, q') <= 1
      var v[1..3] := 0  for i in 1..3 { v[i] ~ geometric(q[i], 1/8) NOISE }
      output v[2] > 0  output SHOWN }""".replace("SHOWN", asked)
    rows = [
        dpcheck.loads(text.replace("NOISE", noise)).target("m").output_distributions()
        for noise in ("unbounded", "clamped -1..3")
    ]
    assert rows[0] == rows[1]
