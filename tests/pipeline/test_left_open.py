"""Claims about all integers that a limit ends, or nothing decides: what is told of them."""

from __future__ import annotations

import re
import time

import pytest

from dpcheck.align.arena import arena
from dpcheck.align.bound import aligned
from dpcheck.align.neighbors import differences
from dpcheck.align.obstacles import obstacle_of
from dpcheck.cli import workers
from dpcheck.cli.workers import Work, supervised
from dpcheck.limits import Limit, Limits, RunLimits
from dpcheck.pipeline.claims.left_open import obstacle_text
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.pipeline.stopped import after_limit
from dpcheck.report.answers import Known, Started
from tests.align.resolved import mechanism
from tests.checking import check_text, verdicts

STREAM = """
mechanism m {
  input q[1..] in integers
  public t in integers
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, 1/4) unbounded
  n := 0
  for round in 1.. {
    z ~ geometric(q[round], 1/2) unbounded
    BODY
  }
}
"""
STOPS = STREAM.replace("BODY", "if z >= noisy_t { output top stop } output bot")
GOES_ON = STREAM.replace("BODY", "output z >= noisy_t")
TWICE = STREAM.replace("BODY", "output z >= noisy_t  if z >= noisy_t { stop }")
COUNTS = STREAM.replace("BODY", "n := n + 1  output z >= n + noisy_t")
KEEPS = """
mechanism m {
  input q[1..2] in integers
  adjacent linf(q, q') <= 1
  z ~ geometric(0, 1/2) unbounded
  if q[1] + z >= q[2] + z { output yes } else { output no }
}
"""


def reason(text, *options):
    """Return the limit that ended the last claim of a text, what was known, and the advice."""
    found = check_text(text, *options)["results"][-1]
    assert found["verdict"] == "undecided"
    return found["reason"]


@pytest.mark.parametrize("claim", ["check m: dp(ln 9)", "check m: epsilon = ln 9"])
def test_a_limit_that_ends_the_search_leaves_both_bounds(claim):
    found = reason(f"{STOPS}{claim}", "--max-states", "90")
    assert found["option"] == "--max-states"
    assert re.match(
        r"it is at least ln\(.*\) \(in the .*\), and at most ln\(16\)", found["progress"]
    )


def test_a_limit_in_the_first_window_leaves_what_is_proved():
    found = reason(f"{STOPS}check m: dp(ln 9)", "--max-states", "1")
    assert found["progress"] == "it is at most ln(16)"


def told(text, folder):
    """Return what is told until the work on the only claim of a text is stopped."""
    path = folder / "m.dpm"
    path.write_text(text)
    events = []
    for event in check_paths([str(path)], Options()):
        events.append(event)
        if isinstance(event, Known) and "at least" in str(event.outcome.verdict.progress):
            return events
    raise AssertionError("nothing was known before the end")


def test_work_that_is_stopped_from_outside_leaves_both_bounds(tmp_path):
    events = told(f"{STOPS}check m: dp(ln 9)", tmp_path)
    limit = Limit("memory", 1 << 20)
    answer, *_ = after_limit(events, limit, 1.0)
    verdict = answer.outcome.verdict
    assert verdict.limit == limit
    assert str(verdict.progress).startswith("it is at least ln(")
    assert str(verdict.progress).endswith("and at most ln(16)")


def test_the_end_of_the_run_leaves_bounds_of_the_claim_at_work_only(tmp_path):
    text = f"{STOPS}check m: dp(ln 9)\ncheck m: dp(ln 8)"
    first, second, *_ = after_limit(told(text, tmp_path), Limit("run time", 1), 1.0)
    assert str(first.outcome.verdict.progress).endswith("and at most ln(16)")
    assert str(second.outcome.verdict.progress) == ""


def test_what_is_known_is_told_of_long_work_and_gives_it_no_more_time(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "FIRST_WAIT", 0.1)
    monkeypatch.setattr(workers, "GRACE", 0.1)
    events = told(f"{STOPS}check m: dp(ln 9)", tmp_path)
    started = next(event for event in events if isinstance(event, Started))

    def working(_told):
        yield started
        for _ in range(100):
            time.sleep(0.05)
            yield events[-1]

    heard = []
    work = Work(working, lambda _, stopped: ((stopped,), False), lambda _event: False)
    *_, end = supervised(work, RunLimits(timeout=1), heard.append)
    assert end.limit == Limit("time", 1)
    assert re.fullmatch(
        r"after 0.1 s still .*m.dpm:13: check m: dp\(ln 9\); it is at least ln.* at most ln.*",
        heard[0],
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOES_ON, "noise of z is moved again and again"),
        (TWICE, "noise of z is moved again and again"),
        (COUNTS, "no bound was found: runs of neighbors have more than 50000 states together"),
    ],
)
def test_what_keeps_a_program_without_a_bound_is_told(text, why, monkeypatch):
    monkeypatch.setattr("dpcheck.pipeline.claims.window_sizes.MAX_ROUNDS", 2)
    found = reason(f"{text}check m: dp(1000)")
    assert found["progress"].endswith(why)
    assert found["progress"].startswith("it is at least ln(")


@pytest.mark.parametrize(
    ("text", "advised"),
    [(GOES_ON, 3), (STOPS, 4), (COUNTS, 4), (TWICE, 4)],
)
def test_what_is_advised_can_be_written_instead(text, advised, monkeypatch):
    monkeypatch.setattr("dpcheck.pipeline.claims.window_sizes.MAX_ROUNDS", 2)
    claim = "check m: dp(ln 9)" if text == STOPS else "check m: dp(1000)"
    told = re.findall("`([^`]*)`", reason(f"{text}{claim}")["option"])
    assert len(told) == advised
    inputs = [each for each in told if each.startswith(("input", "public", "for"))]
    assert inputs == ["input q[1..3] in 0..2", "public t in 0..2", "for round in 1..3"]
    finite = text
    for each in inputs:
        head = re.escape(each.split(" in ")[0].replace("1..3", "1.."))
        finite = re.sub(rf"{head} in (integers|1\.\.)", each, finite)
    written = {"check m: dp(ln(16))": f"{text}check m: dp(ln(16))"}
    written["n := min(n + 1, 3)"] = text.replace("n := n + 1", "n := min(n + 1, 3)")
    kept = text.replace("if z >= noisy_t {", "if outcome {")
    kept = kept.replace("output z >= noisy_t", "outcome := z >= noisy_t output outcome")
    written["outcome := z >= noisy_t"] = f"{kept}check m: dp(ln 16)"
    (other,) = {*told} - {*inputs} or {None}
    assert verdicts(check_text(f"{finite}{claim}")) == ["holds"]
    if other is not None:
        assert "undecided" not in verdicts(check_text(written[other]))


def test_a_value_is_told_by_bounds_where_longer_windows_take_long(monkeypatch):
    monkeypatch.setattr("dpcheck.pipeline.claims.search.NEARER_SECONDS", 0)
    (found,) = check_text(f"{STOPS}compute m: epsilon")["results"]
    low, high = map(float, found["value"]["enclosure"])
    assert 0 <= low < 1 < 2.77 < high < 2.79


@pytest.mark.parametrize("near", [1e-2, 1e-4])
def test_no_more_digits_are_looked_for_than_are_read(near, monkeypatch):
    """The next window comes nearer by a digit or so: the last one before that was not near."""
    monkeypatch.setattr("dpcheck.pipeline.claims.search.NEAR", near)
    one_count = STOPS.replace("q[1..]", "q").replace("q[round]", "q")
    one_count = one_count.replace("linf(q, q')", "abs(q - q')")
    (found,) = check_text(f"{one_count}compute m: epsilon")["results"]
    low, high = map(float, found["value"]["enclosure"])
    assert near / 100 < 1 - low / high < near


def test_a_comparison_without_an_answer_is_shown():
    target = mechanism(KEEPS)
    found = obstacle_of(aligned(arena(target, differences(target), Limits()), Limits()))
    assert obstacle_text(found).endswith("keeps both runs alike at `q[1] + z >= q[2] + z`")


@pytest.mark.parametrize(("n", "is_advised"), [(3, True), (20, False)])
def test_finite_inputs_are_advised_where_they_are_few(n, is_advised, monkeypatch):
    """Those of twenty counts are 3^20, about which nothing is told before the time is over."""
    monkeypatch.setattr("dpcheck.pipeline.claims.search.SOON_SECONDS", 0)
    monkeypatch.setattr("dpcheck.pipeline.claims.window_sizes.MAX_INPUTS", 1)
    counts = f"""
    mechanism m {{
      input q[1..{n}] in integers
      adjacent l1(q, q') <= 1
      for i in 1..{n} {{ z ~ geometric(q[i], 1/2) unbounded  output z > 0 }}
    }}
    """
    advised = reason(f"{counts}check m: dp(ln(3/2))")["option"]
    assert advised.startswith("claim what is proved, `check m: dp(ln(2))`")
    assert ("ask about finite inputs" in advised) == is_advised
