"""Assertions about mechanisms for tests in Python, whose messages are the terminal's report.

>>> import dpcheck
>>> assert_budget(dpcheck.mechanisms.survey(), epsilon="ln 3")
"""

from __future__ import annotations

from dpcheck.front import Parameter, Target, parameter_text


def assert_dp(target: Target, claim: str, *, at: str | None = None) -> None:
    """Assert that a claim holds, written as in a model file: `"dp(ln 2)"`, `"epsilon <= 1"`.

    Raises `AssertionError` with the counterexample, or with what is undecided.

    >>> import dpcheck
    >>> assert_dp(dpcheck.mechanisms.survey(), "dp(ln 2)")
    Traceback (most recent call last):
    AssertionError: ...
    """
    __tracebackhide__ = True
    answer = target.check(claim, at=at)
    if not answer:
        raise AssertionError(f"\n{answer}")


def assert_budget(target: Target, *, epsilon: Parameter, delta: Parameter = 0) -> None:
    """Assert (epsilon, delta)-differential privacy of a target; raises as `assert_dp` does."""
    __tracebackhide__ = True
    assert_dp(target, f"dp({parameter_text(epsilon)}, {parameter_text(delta)})")
