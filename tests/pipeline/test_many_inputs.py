"""Claims about more inputs than can be listed: what is proved of all integers, or a few violate."""

from __future__ import annotations

import json
import re

import pytest

import dpcheck
from tests.checking import check_text, verdicts

ABOVE = """
{param}
mechanism m(k = 10) {{
  input q[1..k] in {values}
  public t in 0..2
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, {threshold}) unbounded
  for i in 1..k {{
    z ~ geometric(q[i], {noise}) unbounded
    if z {compared} noisy_t {{ output top stop }}
    output {shown}
  }}
}}
"""


def above(values="0..100", compared=">=", shown="bot", param="", weights=("1/4", "1/2")):
    threshold, noise = weights
    return ABOVE.format(**locals())


@pytest.mark.parametrize("values", ["0..100", "{1, 2, 5, 8, 10}", "-3..10^12 where true"])
def test_what_is_proved_of_all_integers_holds_for_some(values):
    claims = ["dp(ln 16)", "dp(ln 16, 1/10)", "epsilon <= ln 16", "epsilon(1/5) <= 3"]
    report = check_text(above(values) + "".join(f"check m: {claim}\n" for claim in claims))
    assert verdicts(report) == ["holds"] * len(claims)
    assert "noise of z +0" in str(report["results"][0]["beside"])


def test_it_holds_for_all_values_of_a_parameter():
    weights = "exp(-eps/2)", "exp(-eps/4)"
    model = above(param="param eps > 0", weights=weights)
    claims = "check m: dp(eps)\ncheck m: dp(eps/2)\ncheck m for eps in [1, 1]: dp(eps)\n"
    report = check_text(model + claims)
    assert verdicts(report) == ["holds", "undecided", "undecided"]


@pytest.mark.parametrize(
    "claim",
    [
        "check m: dp(ln 15.999)",  # more than a few inputs lose, less than is proved
        "check m: epsilon < ln 16",
        "check m: epsilon = ln 16",
        "check m: delta(ln 16) = 0",
        "check m: delta(ln 16) > 0",
        "check m: epsilon >= ln 2",
        "check m: D{ln 2} [ F top ]",
        "compute m: epsilon",
        "check compose(m, 2): dp(2 * ln 16)",
        "check group(m, 1): dp(ln 16)",
    ],
)
def test_others_are_left_open(claim):
    assert verdicts(check_text(above() + claim)) == ["undecided"]


def test_a_smaller_bound_is_left_open_with_the_claim_that_is_proved():
    (result,) = check_text(above() + "check m: dp(ln 15.999)")["results"]
    assert result["reason"]["option"].startswith("claim what is proved, `check m: dp(ln(16))`, or ")
    (others,) = check_text(above() + "check m: delta(ln 2) <= 1/2")["results"]
    assert others["reason"]["option"].startswith("shrink the sets")


@pytest.mark.parametrize("at", ["q[1] = 5", "q[1] = 1000", "1 / (q[1] - 5) = 1", "output = 1"])
def test_of_some_inputs_it_is_left_open_with_the_claim_of_all(at):
    """`at` may select none, or compute with no value: a mistake, but no run was looked at."""
    model = above()
    (found,) = check_text(f"{model}check m at {at}: dp(ln 16)")["results"]
    assert found["verdict"] == "undecided"
    advised = re.search(r"`(check m: dp\(.*?)`", found["reason"]["option"])
    assert verdicts(check_text(model + advised[1])) == ["holds"]


def test_a_refuted_claim_that_is_proved_is_not_as_claimed():
    (result,) = check_text(above() + "refute m: dp(ln 16)")["results"]
    assert (result["verdict"], result["ok"]) == ("holds", False)


@pytest.mark.parametrize("compared", [">=", ">", "<", "<="])
@pytest.mark.parametrize("shown", ["bot", "z", "if q[1] > 0 then yes else no"])
@pytest.mark.parametrize("budget", ["ln 8", "ln 16"])
def test_only_what_holds_for_small_sets_is_said_to(compared, shown, budget):
    """The ordinary engine decides of two numbers what is left open where states are few."""
    model = above("0..1", compared, shown).replace("k = 10", "k = 2")
    claim = f"check m: dp({budget})"
    (few,) = verdicts(check_text(model + claim, "--max-states", "5"))
    whole = check_text(model + claim)
    assert few in {"holds", "undecided"}
    assert few == "undecided" or verdicts(whole) == ["holds"]


@pytest.mark.parametrize(
    "statement",
    ["var c in 0..50 := q[1]  output c > 3", "output 10 / (q[1] - 50) > 2", "output q[1] > 7"],
)
def test_what_is_no_claim_about_all_integers_is_left_open(statement):
    model = above().replace("for i in", f"{statement}\n  for i in")
    assert verdicts(check_text(f"{model}check m: dp(ln 16)")) == ["undecided"]


def test_the_alignment_is_the_evidence(tmp_path):
    report = check_text(above() + "check m: dp(ln 16)", "--witness", str(tmp_path))
    assert verdicts(report) == ["holds"]
    (path,) = tmp_path.iterdir()
    witness = json.loads(path.read_text("utf-8"))
    assert "more inputs than can be listed" in json.dumps(witness)
    assert any("noise of noisy_t" in text for text in witness["alignment"])


@pytest.mark.parametrize(
    ("values", "k", "claim"),
    [
        ("0..100", 10, "dp(ln 4)"),
        ("0..100", 10, "dp(ln 4, 1/10^9)"),
        ("0..10^12", 30, "dp(ln 4)"),
        ("0..100", 10, "epsilon < ln 4"),
        ("0..100", 10, "delta(ln 2) <= 1/10^6"),
        ("0..100 where true", 10, "dp(ln 4)"),
    ],
)
def test_what_a_few_inputs_violate_is_violated(values, k, claim):
    """They are told as some of all, and no bound of theirs is told for all."""
    model = above(values).replace("k = 10", f"k = {k}").replace("t in 0..2", f"t in {values}")
    (found,) = check_text(f"{model}check m: {claim}")["results"]
    assert found["verdict"] == "violated"
    assert "value" not in found
    assert "tight" not in found["explanation"]
    requirement = found["counterexample"]["requirement"]
    assert claim.startswith("dp") or "but it is at least " in requirement
    pair = [found["explanation"]["neighbors"][side] for side in ("left", "right")]
    middle = 49 if "0..100" in values else (10**12 - 1) // 2
    numbers = {int(n) for side in pair for n in re.findall(r"-?\d+", side.partition("=")[2])}
    assert numbers == {middle, middle + 1}


def test_what_only_other_inputs_violate_is_left_open():
    """Nothing is a neighbor, or nothing is an input, among the few."""
    for part in ("0..100 where q[1] > 80", "{10 * j for j in 0..9}"):
        report = check_text(above(part) + "check m: dp(ln 2)")
        assert verdicts(report) == ["undecided"]


@pytest.mark.parametrize("claim", ["epsilon < 0", "delta(ln 2) < 0"])
def test_a_few_inputs_without_neighbors_tell_nothing(claim):
    """That they have none is so of them only."""
    model = above().replace("linf(q, q') <= 1", "linf(q, q') = 2")
    (found,) = check_text(f"{model}check m: {claim}")["results"]
    assert (found["verdict"], found["vacuous"]) == ("undecided", False)


def test_clamped_noise_is_asked_of_a_few_inputs_too():
    model = above().replace("unbounded", "clamped 0..100").replace("t in 0..2", "t in 40..60")
    report = check_text(f"{model}check m: dp(ln 4)\nrefute m: dp(ln 4)\ncheck m: dp(ln 16)\n")
    assert verdicts(report) == ["violated", "violated", "undecided"]
    assert [each["ok"] for each in report["results"]][:2] == [False, True]
    assert "looked at" in text_of_first(model + "check m: dp(ln 4)")


def text_of_first(text):
    """Return the report on the first claim."""
    return str(dpcheck.loads(text).answers()[0])


def test_a_second_opinion_does_not_list_them():
    claims = "check m: dp(ln 2)\ncheck m: dp(ln 16)\n"
    report = check_text(above() + claims, "--second-opinion")
    assert verdicts(report) == ["violated", "holds"]
    told = [each["second_opinion"]["text"] for each in report["results"]]
    assert all("too long" in text or "unbounded" in text for text in told)
