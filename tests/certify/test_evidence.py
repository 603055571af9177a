"""Certification accepts what is right and refuses what was changed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcheck.certify.evidence import certify_event, certify_violation, sequence_probability
from dpcheck.exact import Budget, Rational
from tests.check.building import STOP, mechanism_chain
from tests.check.claims import ln


def test_a_sequence_has_the_sum_over_its_runs():
    def step(memory):
        if memory == "start":
            return [(Fraction(1, 2), "a", "left"), (Fraction(1, 2), "a", "right")]
        p = {"left": Fraction(1, 3), "right": Fraction(1, 5)}[memory]
        return [(p, "b", None), (1 - p, STOP, None)]

    chain = mechanism_chain({"x": "start"}, [], step)
    code = {chain.observation_text(k): k for k in (0, 1)}
    shown = sequence_probability(chain, 0, [code["a"], code["b"]], "stopped")
    assert shown == Rational(4, 15)
    assert sequence_probability(chain, 0, [code["a"]], "stopped") == Rational(11, 15)
    assert sequence_probability(chain, 0, [code["a"]], "goes on") == 1
    certify_event(chain, 0, [([code["a"], code["b"]], "stopped"), ([code["a"]], "stopped")], 1)
    with pytest.raises(AssertionError):
        certify_event(chain, 0, [([code["a"]], "stopped")], Rational(1, 2))


def test_a_violation_must_exceed_its_budget():
    p, q = Rational(3, 4), Rational(1, 4)
    certify_violation(p, q, ln(2), 0)
    certify_violation(p, q, Budget.of(Rational(1, 2)), Rational(1, 3))
    with pytest.raises(AssertionError):
        certify_violation(p, q, ln(3), 0)
