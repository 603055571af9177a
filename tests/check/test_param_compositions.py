"""Compositions for all values of a parameter: against the ordinary engine, and runs written out."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.check.test_all_values import beside_ends, expression_at, fails_at
from tests.checking import check_text, verdicts

HEAD = "param p in (0, 1)"
WEIGHTS = ("p", "1 - p", "p^2", "p * (1 - p)", "1/2", "1/3", "2/5", "1 - p/2", "1 + p", "p/3")
CLAIMS = [
    "dp(ln 3)",
    "dp(-3 * ln p)",
    "dp(ln(5)/2)",
    "epsilon < ln 4",
    "epsilon >= ln 3",
    "epsilon = ln 4",
    "dp(ln 2, 1/5)",
    "dp(-ln p, p/4)",
    "dp(ln(2)/2, 1/4)",
    "delta(ln 2) <= 1/4",
    "delta(0) > 1/3",
    "delta(ln 3) = 0",
    "epsilon(1/10) <= ln 3",
    "epsilon(p/9) >= ln 2",
]
QUANTITIES = ["epsilon", "delta(ln 2)", "delta(0)", "epsilon(1/10)", "epsilon(p/9)"]


def drawn_mechanism(draw, name):
    """Return a mechanism on 0..2 with random weights in its rows, of which two may be alike."""
    rows = [", ".join(f"{y}: {draw.choice(WEIGHTS)}" for y in range(3)) for _ in range(3)]
    if draw.random() < 0.4:
        rows[draw.choice((0, 2))] = rows[1]
    rows = [f"{{{row}}} normalized" for row in rows]
    return (
        f"mechanism {name} {{\n  input x in 0..2\n  adjacent abs(x - x') <= 1\n"
        f"  if x = 0 {{ y ~ {rows[0]} }} else {{ if x = 1 {{ y ~ {rows[1]} }} "
        f"else {{ y ~ {rows[2]} }} }}\n  output y\n}}\n"
    )


def drawn_model(draw):
    """Return two mechanisms, a composition of them, and a program that does all of its runs."""
    times = draw.choice([(1, 1), (2, 0), (2, 1), (3, 0), (1, 2)])
    written = [f"{name}, {n}" for name, n in zip("ab", times, strict=True) if n]
    runs = "".join(f"  run {name}(x = x)\n" * n for name, n in zip("ab", times, strict=True))
    whole = f"mechanism both {{\n  input x in 0..2\n  adjacent abs(x - x') <= 1\n{runs}}}\n"
    parts = "".join(drawn_mechanism(draw, name) for name in "ab")
    return f"{HEAD}\n{parts}{whole}", f"compose({', '.join(written)})"


@pytest.mark.parametrize("seed", range(4))
def test_a_composition_fails_where_the_program_that_runs_its_parts_does(seed):
    draw = random.Random(seed)
    text, composition = drawn_model(draw)
    checks = [f"check {target}: {claim}" for target in (composition, "both") for claim in CLAIMS]
    found = check_text("\n".join([text, *checks]), "--explain", "none")["results"]
    composed, written = found[: len(CLAIMS)], found[len(CLAIMS) :]
    for one, other in zip(composed, written, strict=True):
        assert one["verdict"] == other["verdict"] != "undecided"
        assert one["values"] == other["values"]
    assert {one["verdict"] for one in composed} == {"holds", "violated"}


@pytest.mark.parametrize("seed", range(4))
def test_a_composition_fails_where_the_ordinary_engine_says(seed):
    draw = random.Random(seed)
    text, composition = drawn_model(draw)
    checks = [f"check {composition}: {claim}" for claim in CLAIMS]
    results = check_text("\n".join([text, *checks]), "--explain", "none")["results"]
    ends = [beside_ends(result) for result in results]
    values = [*draw.sample(sorted(set().union(*ends)), 4), Fraction(draw.randint(1, 99), 100)]
    for value in values:
        single = "\n".join([text.replace(HEAD, f"const p = {value}"), *checks])
        ordinary = verdicts(check_text(single, "--explain", "none"))
        for claim, result, verdict in zip(CLAIMS, results, ordinary, strict=True):
            assert fails_at(result, value) == (verdict == "violated"), (claim, value)


@pytest.mark.parametrize("seed", range(3))
def test_a_computed_piece_has_the_value_of_the_ordinary_engine(seed):
    draw = random.Random(seed)
    text, composition = drawn_model(draw)
    asked = [f"compute {composition}: {quantity}" for quantity in QUANTITIES]
    results = check_text("\n".join([text, *asked]))["results"]
    value = Fraction(draw.randint(1, 99), 100)
    checks = []
    for quantity, result in zip(QUANTITIES, results, strict=True):
        checks.append(f"check {composition}: {quantity} = {expression_at(result, value)}")
    single = text.replace(HEAD, f"const p = {value}")
    assert set(verdicts(check_text("\n".join([single, *checks])))) == {"holds"}
