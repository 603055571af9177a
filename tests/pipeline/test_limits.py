"""A deadline may pass at any look at the clock: the answer is then `undecided`, never another."""

import contextlib
import gc
import itertools
import re
import sys
import time
import traceback
from pathlib import Path

import pytest

import dpcheck
from dpcheck.chain.chain import Chain
from dpcheck.limits import Limit, LimitReached, Limits, RunLimits
from dpcheck.pipeline.claims import outcomes
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.report.answers import Answer

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
    phases = {"check_time", "acyclic", "_eliminated", "backward_rows"}
    assert seen >= phases | {"_neighbors", "complete_evidence", "blocks_of"}


def test_how_far_the_work_got_is_told_in_words():
    files = Path(dpcheck.__file__).parent.rglob("*.py")
    calls = r'(?:check_time|LimitReached|too_large)\(\s*f?"([^"]*)"'
    told = [each for file in files for each in re.findall(calls, file.read_text("utf-8"))]
    assert len(told) > 50
    assert not [each for each in told if "_" in re.sub(r"\{[^}]*\}", "", each)]


def test_a_deadline_at_any_look_leaves_the_claim_undecided(path, monkeypatch):
    looks = 0

    def count(*_):
        nonlocal looks
        looks += 1
        if looks == last:
            raise LimitReached(Limit("time", 1), "so far")

    monkeypatch.setattr(Limits, "check_time", count)
    last = 0
    assert verdicts(path) == ["Holds"]
    for last in range(1, looks + 1):  # noqa: B007 (the closure reads it)
        looks = 0
        assert verdicts(path) == ["Undecided"]


VALUES = """mechanism m {
  input x in 0..3
  adjacent all
  y ~ geometric(x, 1/2) clamped 0..3
  output y
}
check m: P<=1 [ X (output / 3 < 1/2) ]
check m: P<=1 [ X (output / 7 < 1/2) ]
"""


def test_a_claim_has_all_its_own_time_to_compute_values(tmp_path, monkeypatch):
    """The values of a chain are shared by all claims about it; the deadline of the first is not."""
    path = tmp_path / "values.dpm"
    path.write_text(VALUES)
    clock = itertools.count(step=0.01)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    events = check_paths([str(path)], Options(limits=RunLimits(timeout=1.0)))
    verdicts = []
    for event in events:
        if isinstance(event, Answer):
            verdicts.append(type(event.outcome.verdict).__name__)
            clock = itertools.count(100 * len(verdicts), 0.01)
    assert verdicts == ["Holds", "Holds"]


@pytest.mark.parametrize("stop", [MemoryError, KeyboardInterrupt, ZeroDivisionError])
def test_values_half_entered_are_not_used_again(stop, monkeypatch):
    """A stop that may come anywhere lets go of the chain that was being asked."""
    target = dpcheck.loads(VALUES).target("m")
    assert target.check("P<=1 [ X output = 1 ]").is_ok
    chain = target.chain()

    def stopped(*_, **__):
        raise stop

    with monkeypatch.context() as patched, contextlib.suppress(KeyboardInterrupt, AssertionError):
        patched.setattr(outcomes, "decide", stopped)
        target.check("P<=1 [ X output = 2 ]")
    assert target.check("P<=1 [ X output = 3 ]").is_ok
    assert target.chain().indptr is not chain.indptr


def test_a_chain_given_up_for_want_of_time_is_tried_again_with_more_of_it():
    check = dpcheck.loads(VALUES).resolved_question("check m: dp(1)")
    explorations, now = Explorations(), time.monotonic()
    with pytest.raises(LimitReached) as first:
        explorations.explored(check, Limits(deadline=now - 1, timeout=1))
    with pytest.raises(LimitReached) as again:
        explorations.explored(check, Limits(deadline=now - 1, timeout=1))
    assert again.value is first.value
    explored = explorations.explored(check, Limits(deadline=now + 60, timeout=60))
    assert explored.chain.n_reported_states == 8


def test_what_was_given_up_is_not_kept_by_the_limit_that_was_met():
    check = dpcheck.loads(VALUES).resolved_question("check m: dp(1)")
    explorations = Explorations()
    for _ in range(2):
        with pytest.raises(LimitReached) as met:
            explorations.explored(check, Limits(max_states=1))
        names = [frame.name for frame in traceback.extract_tb(met.value.__traceback__)]
        assert names[1:] == ["explored"]


def test_numbers_too_long_to_write_down_leave_a_claim_undecided(tmp_path):
    path = tmp_path / "long.dpm"
    path.write_text(
        """mechanism m {
          input x in {0, 1}
          adjacent all
          a ~ bernoulli(if x = 0 then exp(-2000000) else exp(-1999999))
          output a
        }
        check m: dp(1)
        check m: P<1 [ X output = true ]
        """
    )
    assert verdicts(path) == ["Undecided", "Holds"]


OBSERVED = """chain c {
  state s
  state t
  state a : Y
  state b : N
  s -> 1/2: a + 1/2: b
  t -> 1/3: a + 2/3: b
  adjacent s ~ t
  observe Y, N
}
check c: dp(1)
"""


@pytest.mark.parametrize("text", [MODEL, OBSERVED])
def test_chains_are_let_go_with_their_file(tmp_path, text):
    path = tmp_path / "m.dpm"
    path.write_text(text)
    before = living_chains()
    assert verdicts(path) == ["Holds"]
    assert living_chains() <= before


def living_chains():
    gc.collect()
    return {id(found) for found in gc.get_objects() if isinstance(found, Chain)}
