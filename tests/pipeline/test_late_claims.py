"""A chain that was given up for want of time is tried again where there is more of it."""

from __future__ import annotations

import time

import pytest

import dpcheck
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.pipeline.claims.explorations import Explorations

(CHECK,) = dpcheck.loads(
    "mechanism m { input x in 0..1 adjacent all output x } check m: dp(0)"
).claims


def limits(seconds):
    return Limits(10**6, deadline=time.monotonic() + seconds)


@pytest.fixture
def attempts(monkeypatch):
    """Return the seconds that each attempt had; the first runs out of time."""
    known = []
    explore = Explorations._attempt

    def attempt(explorations, check, allowed, window):
        known.append(allowed.deadline)
        late = LimitReached(Limit("time", 1.0))
        return late if len(known) == 1 else explore(explorations, check, allowed, window)

    monkeypatch.setattr(Explorations, "_attempt", attempt)
    return known


def test_a_later_claim_with_more_time_explores_again(attempts):
    explorations = Explorations()
    with pytest.raises(LimitReached):
        explorations.explored(CHECK, limits(1))
    assert explorations.explored(CHECK, limits(100)).chain.n_states
    explorations.explored(CHECK, limits(1000))
    assert len(attempts) == 2


def test_a_later_claim_with_as_little_time_does_not(attempts):
    explorations = Explorations()
    for _ in range(3):
        with pytest.raises(LimitReached):
            explorations.explored(CHECK, limits(1))
    assert len(attempts) == 1


def test_a_limit_other_than_time_is_met_once(monkeypatch):
    explorations, n_attempts = Explorations(), []

    def attempt(_explorations, check, allowed, window):
        n_attempts.append(allowed)
        return LimitReached(Limit("states", 10))

    monkeypatch.setattr(Explorations, "_attempt", attempt)
    for seconds in (1, 100):
        with pytest.raises(LimitReached):
            explorations.explored(CHECK, limits(seconds))
    assert len(n_attempts) == 1
