"""What is too long to be written out is seen at once: these tests would run for minutes or days."""

from __future__ import annotations

from dpcheck.diagnostics.structure import ProgramTooLarge
from dpcheck.resolve.programs import statements
from tests.resolve.reading import resolved, sound

INPUT = "input x in 0..1 adjacent all"


def mechanisms(n, body):
    """Return r0..rn, each with the body, which names the next one R, and the last one random."""
    chain = (f"mechanism r{i} {{ {INPUT} {body.replace('R', f'r{i + 1}')} }}" for i in range(n))
    return "\n".join([*chain, f"mechanism r{n} {{ {INPUT} y ~ bernoulli(1/2) output y }}"])


def test_mechanisms_that_run_the_next_one_twice_are_refused_and_not_each_of_them(monkeypatch):
    monkeypatch.setattr(statements, "MAX_STEPS", 2_000)
    for body in ("run R(x=x) run R(x=x)", "y ~ R(x=x) z ~ R(x=x) output z"):
        found = resolved(mechanisms(30, body) + "\ncheck r0: dp(1)").mistakes
        assert {type(mistake) for mistake in found} == {ProgramTooLarge}
        assert len(found) <= 2


def test_what_may_not_be_run_is_not_counted():
    branches = "if x = 2 { run R(x=x) } else { y := 1 } for i in 1..0 { run R(x=x) run R(x=x) }"
    assert sound(mechanisms(12, branches) + "\ncheck r0: dp(1)").checks
    stops = "stop run R(x=x) run R(x=x)"
    assert sound(mechanisms(30, stops) + "\ncheck r0: dp(1)").checks


def test_loops_in_loops_are_tried_out_only_so_often(monkeypatch):
    monkeypatch.setattr(statements, "MAX_FORGOTTEN", 5_000)
    for body in ("y := 1 - y", ""):
        loops = "repeat 2 { " * 30 + body + " }" * 30
        text = f"mechanism m {{ {INPUT} y := x {loops} output y }}\ncheck m: dp(1)"
        assert sound(text).checks
