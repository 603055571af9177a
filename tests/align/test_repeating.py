"""Endless windows: rounds whose values come again and again show an ε that is infinite."""

from __future__ import annotations

import pytest

from dpcheck.align.neighbors import Unreadable
from dpcheck.align.windows import Size, forgets_noise, window
from dpcheck.check.quantities.seen_pairs import endless_prefixes, seen_pairs
from dpcheck.exact import compare_epsilon
from dpcheck.explore import MistakesFound, explore
from tests.align.programs import RandomProgram
from tests.align.resolved import mechanism
from tests.align.test_alignment import LIMITS, bound, window_epsilon
from tests.checking import check_text, verdicts

ONE_VALUE = """
mechanism m {
  input x in integers
  adjacent abs(x - x') <= 1
  for i in 1.. { z ~ geometric(x, 1/2) unbounded  output z > 0 }
}
"""
STREAM = """
mechanism m {
  input x[1..] in integers
  adjacent linf(x, x') <= 1
  for i in 1.. { z ~ geometric(x[i], 1/2) unbounded  output z > 0 }
}
"""
CHANGES = STREAM.replace("for i", "last := 0  for i").replace(
    "(x[i], 1/2) unbounded", "(x[i] - last, 1/2) unbounded  last := x[i]"
)
KEEPS = STREAM.replace("for i", "t ~ geometric(0, 1/2) unbounded  for i").replace("z > 0", "z > t")


def grows(target, n_rounds):
    """Return whether a ratio grows without end where so many rounds come again."""
    chain = explore(window(target, Size(n_rounds, 0, 1, is_endless=True)), limits=LIMITS).chain
    seen = seen_pairs(chain, chain.initial, LIMITS)
    return not seen.are_finite and endless_prefixes(seen).growth(LIMITS) is not None


@pytest.mark.parametrize("text", [ONE_VALUE, STREAM, CHANGES])
def test_noise_that_is_drawn_anew_for_ever_has_no_bound(text):
    claims = """
    check m: dp(100)
    check m: epsilon = inf
    compute m: epsilon
    check m: epsilon < inf
    """
    results = check_text(text + claims)["results"]
    found = [each["verdict"] for each in results]
    assert found == ["violated", "holds", "value", "violated"]
    assert results[2]["value"]["exact"] == "inf"


def test_a_claim_that_few_rounds_violate_is_violated_by_them():
    [found] = check_text(f"{ONE_VALUE}check m: dp(ln 3)")["results"]
    assert found["counterexample"]["event"] == ["false, false, ..."]


def test_for_all_values_of_a_parameter_there_is_no_bound():
    text = f"param alpha in (0, 1)\n{ONE_VALUE.replace('1/2', 'alpha')}"
    computed, claimed = check_text(f"{text}compute m: epsilon\ncheck m: dp(ln 20)")["results"]
    assert [piece["exact"] for piece in computed["pieces"]] == ["inf"]
    assert claimed["verdict"] == "violated"
    assert "at_least" not in claimed["values"]


def test_rounds_that_differ_show_what_equal_ones_do_not():
    target = mechanism(CHANGES)
    assert [grows(target, n) for n in (1, 2)] == [False, True]


def test_windows_without_end_are_looked_at_where_no_noise_is_kept():
    assert forgets_noise(mechanism(CHANGES))
    assert not forgets_noise(mechanism(KEEPS))


@pytest.mark.parametrize("seed", range(90))
def test_a_ratio_grows_without_end_only_where_nothing_is_proved(seed):
    program = RandomProgram(seed)
    if not program.is_stream:
        return
    target = mechanism(program.text)
    try:
        most = bound(target)
        found = forgets_noise(target) and any(grows(target, n) for n in (1, 2))
    except (Unreadable, MistakesFound):
        return
    if found:
        assert most is None, program.text
        few, more = (window_epsilon(target, Size(n, 0, 1)) for n in (1, 4))
        assert more is None or compare_epsilon(few, more) < 0, program.text


def test_an_endless_window_that_takes_long_is_left_out(monkeypatch):
    monkeypatch.setattr("dpcheck.pipeline.claims.search.SOON_SECONDS", 0)
    monkeypatch.setattr("dpcheck.pipeline.claims.window_sizes.MAX_ROUNDS", 3)
    assert verdicts(check_text(f"{ONE_VALUE}check m: dp(100)")) == ["undecided"]
    assert verdicts(check_text(f"{ONE_VALUE}check m: dp(1)")) == ["violated"]
