"""Nested D: later neighbors are found by running neighboring inputs side by side."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

import dpcheck
from dpcheck.limits import Limits
from dpcheck.pipeline.claims.explorations import Explorations
from tests.checking import check_text
from tests.oracle.lockstep import first_output_is_private
from tests.oracle.reference import Program


def random_program(seed):
    """Return a program of Boolean and integer variables with bounded loops."""
    choose = Random(seed)
    names = ["x", "y"]

    def condition():
        a, b = choose.choice(names), choose.choice([*names, "0", "1"])
        return f"{a} {choose.choice(['=', '!=', '<'])} {b}"

    def value():
        return choose.choice([*names, *names, "1", f"({choose.choice(names)} + 1) mod 2"])

    def statement(depth):
        kind = choose.randrange(9)
        if kind <= 1:
            return f"output {value()}"
        if kind == 2 and depth:
            return f"if {condition()} {{ {block(depth)} }} else {{ {block(depth)} }}"
        if kind == 3 and depth:
            return f"repeat 2 {{ {block(depth)} }}"
        if kind <= 5:
            return f"{choose.choice('uvw')} := {value()}"
        weight = f"if {condition()} then 1/3 else {choose.choice(['1/2', '2/3'])}"
        return f"{choose.choice('uvw')} ~ {{1: {weight}, 0: 1 - ({weight})}}"

    def block(depth):
        return "; ".join(statement(depth - 1) for _ in range(choose.randrange(1, 4)))

    lines = ["mechanism m {", "  input x in 0..1", "  input y in 0..1"]
    lines.append(f"  adjacent {choose.choice(['all', 'x = x', 'abs(x - x`) + abs(y - y`) <= 1'])}")
    first = choose.choice(["u", "1", "u = x", "v"])
    lines += [
        "  w := y",
        "  u ~ {1: if x = 0 then 1/3 else 1/2, 0: 1 - (if x = 0 then 1/3 else 1/2)}",
        "  v ~ bernoulli(1/4)",
        f"  output {first}",
    ]
    names += ["u", "w"]
    lines += [f"  {statement(2)}" for _ in range(choose.randrange(3, 7))]
    return (
        "\n".join([*lines, "}"]).replace("`", "'").replace("adjacent x = x\n", "adjacent x != x'\n")
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_nested_d_looks_at_the_later_neighbors_and_no_others(seed):
    text = random_program(seed)
    program = Program(text)
    claims, expected = [], []
    for e_epsilon, delta in ((1, 0), (1, Fraction(1, 3))):
        for wanted in (0, 1):
            chances = first_output_is_private(program, e_epsilon, delta, wanted)
            for place, chance in enumerate(chances):
                inner = f"D{{ln {e_epsilon}, {delta}}} [ X output = {wanted} ]"
                claims.append(
                    f"compute m at x = {place // 2} & y = {place % 2} : P=? [ X {inner} ]"
                )
                expected.append(chance)
    report = check_text(text + "\n" + "\n".join(claims))
    assert not report.get("errors"), report["errors"]
    assert [Fraction(result["value"]["exact"]) for result in report["results"]] == expected


UNBOUNDED = """
mechanism m {
  input x in 0..1
  input y in 0..2
  adjacent abs(x - x') + abs(y - y') <= 1
  t ~ geometric(0, 1/2) unbounded
  w := y
  output x = 0 | y > 0
  v ~ geometric(w, 1/3) unbounded
  if v >= t { output true } else { output false }
  u ~ geometric(w, 1/2) unbounded
  output u >= t
  u ~ bernoulli((w + 1)/4)
  output u
}
"""


@pytest.mark.parametrize("text", [UNBOUNDED, *map(random_program, range(20))])
def test_later_neighbors_are_those_that_lock_step_leads_to(text):
    check = dpcheck.loads(text).resolved_question("check m: D{1} [ F D{1} [ X output = 1 ] ]")
    chain = Explorations().explored(check, Limits()).chain
    neighbors = chain.neighbors
    after = neighbors.lock_step(Limits())
    following = [{t for t, _ in chain.row(s)[1]} for s in range(chain.n_states)]
    found, here = set(), neighbors.pairs
    while len(here):
        there = {(s, t) for s, t in after(here).tolist()}
        steps = [{(a, b) for a in following[s] for b in following[t]} for s, t in here.tolist()]
        assert there <= set().union(*steps)
        there -= found
        found |= there
        here = np.array(sorted(there), np.int64).reshape(-1, 2)
    assert {(min(pair), max(pair)) for pair in found} == set(map(tuple, neighbors.later.tolist()))
    assert len(neighbors.later) or text != UNBOUNDED
