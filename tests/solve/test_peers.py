"""The same rationals as Storm's exact engine, which has LTL for Markov chains of its own."""

from __future__ import annotations

import random
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpcheck.logic import formulas as f
from tests.solve import chains as c
from tests.solve.chains import Row, as_fraction, make_chain, probabilities
from tests.solve.strategies import LETTERS
from tests.solve.test_reach import random_rows

pytestmark = pytest.mark.peers
stormpy: Any = pytest.importorskip("stormpy")


def storm_text(path: f.PathFormula) -> str:
    """Return the formula in Storm's syntax."""
    match path:
        case f.Holds(f.Atom(key)):
            return f'"{key}"'
        case f.PathNot(argument):
            return f"!({storm_text(argument)})"
        case f.PathAnd(arguments):
            return "(" + " & ".join(storm_text(a) for a in arguments) + ")"
        case f.PathOr(arguments):
            return "(" + " | ".join(storm_text(a) for a in arguments) + ")"
        case f.Next(argument):
            return f"(X {storm_text(argument)})"
        case f.Finally(argument, None):
            return f"(F {storm_text(argument)})"
        case f.Globally(argument, None):
            return f"(G {storm_text(argument)})"
        case f.Until(left, right, None):
            return f"({storm_text(left)} U {storm_text(right)})"
        case f.WeakUntil(left, right):
            return f"({storm_text(c.until(left, right))} | (G {storm_text(left)}))"
        case f.Release(left, right):
            return f"!(!({storm_text(left)}) U !({storm_text(right)}))"
        case f.Finally(argument, 0) | f.Globally(argument, 0) | f.Until(_, argument, 0):
            return storm_text(argument)
        # Storm's LTL has no bounds: one step is written out at a time.
        case f.Finally(argument, bound):
            later = c.following(c.finally_(argument, bound - 1))
            return storm_text(c.either(argument, later))
        case f.Globally(argument, bound):
            later = c.following(c.globally(argument, bound - 1))
            return storm_text(c.both(argument, later))
        case f.Until(left, right, bound):
            later = c.following(c.until(left, right, bound - 1))
            return storm_text(c.either(right, c.both(left, later)))
    raise AssertionError(path)


def storm_probabilities(rows: list[Row], labels: list[str], path: f.PathFormula) -> list[Fraction]:
    """Return Storm's exact probabilities from every state."""
    lines = ["dtmc", "module m", f"s : [0..{len(rows) - 1}];"]
    for s, row in enumerate(rows):
        branches = " + ".join(f"{w.numerator}/{w.denominator}:(s'={t})" for t, w in row.items())
        lines.append(f"[] s={s} -> {branches};")
    lines.append("endmodule")
    for letter in LETTERS:
        where = [f"s={s}" for s, label in enumerate(labels) if letter in label]
        lines.append(f'label "{letter}" = {" | ".join(where) or "false"};')
    lines.extend(f'label "state{s}" = s={s};' for s in range(len(rows)))
    lines.append(f"init 0<=s & s<={len(rows) - 1} endinit")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chain.prism"
        file.write_text("\n".join(lines))
        program = stormpy.parse_prism_program(str(file))
    properties = stormpy.parse_properties(f"P=? [ {storm_text(path)} ]", program)
    options = stormpy.BuilderOptions(properties)
    options.set_build_all_labels()
    model = stormpy.build_model[stormpy.Rational](program, options=options)
    result = stormpy.model_checking(model, properties[0], only_initial_states=False)
    numbers = [model.labeling.get_states(f"state{s}") for s in range(len(rows))]
    return [Fraction(str(result.get_value(next(iter(states))))) for states in numbers]


def random_path(rng: random.Random, depth: int) -> f.PathFormula:
    if depth == 0 or rng.random() < 0.15:
        return c.atom(rng.choice(LETTERS))
    inner = [random_path(rng, depth - 1) for _ in range(2)]
    return rng.choice(
        [
            lambda p, _: c.no(p),
            c.both,
            c.either,
            lambda p, _: c.following(p),
            lambda p, _: c.finally_(p),
            lambda p, _: c.globally(p),
            c.until,
            c.weak,
            c.release,
            lambda p, _: c.finally_(p, rng.randrange(3)),
            lambda p, _: c.globally(p, rng.randrange(3)),
            lambda p, q: c.until(p, q, rng.randrange(3)),
        ]
    )(*inner)


@pytest.mark.parametrize("seed", range(100))
def test_storm_finds_the_same_rational(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(3, 12)
    rows = random_rows(rng, n, rng.choice(["acyclic", "small cycles", "any"]))
    if seed % 2:
        rows[-1] = {0: Fraction(1, 2), n - 1: Fraction(1, 2)}
        rows[-2] = {0: Fraction(1)}
    labels = ["".join(x for x in LETTERS if rng.random() < 0.4) for _ in range(n)]
    path = random_path(rng, 3)
    expected = storm_probabilities(rows, labels, path)
    found = [as_fraction(value) for value in probabilities(make_chain(rows, labels), path)]
    assert found == expected
