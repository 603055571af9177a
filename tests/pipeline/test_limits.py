"""A deadline may pass at any look at the clock: the answer is then `undecided`, never another."""

import sys

import pytest

from dpcheck.limits import LimitReached, Limits
from dpcheck.pipeline import Options, check_paths
from dpcheck.report import Answer

MODEL = """mechanism m {
  input x in 0..3
  adjacent abs(x - x') <= 1
  z := 0
  while z = 0 {
    z ~ {0: 1/2, 1: 1/4, 2: 1/4}
  }
  y ~ {0: 1/(z + x + 1), 1: (z + x)/(z + x + 1)}
  output y
}
check m: epsilon <= 1
"""


def verdicts(path):
    answers = [e for e in check_paths([str(path)], Options()) if isinstance(e, Answer)]
    return [type(answer.outcome.verdict).__name__ for answer in answers]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.dpm"
    path.write_text(MODEL)
    return path


def test_every_phase_looks_at_the_clock(path, monkeypatch):
    seen = set()
    monkeypatch.setattr(
        Limits, "check_time", lambda _self, _: seen.add(sys._getframe(1).f_code.co_name)
    )
    assert verdicts(path) == ["Holds"]
    phases = {"_check_time", "_acyclic", "_peeling", "_eliminated", "_backward"}
    assert seen >= phases | {"mechanism_chain", "complete_evidence", "rival_blocks"}


def test_a_deadline_at_any_look_leaves_the_claim_undecided(path, monkeypatch):
    looks = 0

    def count(*_):
        nonlocal looks
        looks += 1
        if looks == last:
            raise LimitReached("the time limit passed (so far)", "--timeout")

    monkeypatch.setattr(Limits, "check_time", count)
    last = 0
    assert verdicts(path) == ["Holds"]
    for last in range(1, looks + 1):  # noqa: B007 (the closure reads it)
        looks = 0
        assert verdicts(path) == ["Undecided"]
