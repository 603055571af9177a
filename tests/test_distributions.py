"""The rows of the built-in distributions, and what follows from them elsewhere."""

from pathlib import Path

import pytest

from dpcheck.explore.sampling.closed_forms import closed_forms
from dpcheck.model.distributions import DISTRIBUTIONS, POLICIES
from tests.checking import check_text

LANGUAGE = Path(__file__).parents[1] / "docs" / "language.md"


def test_every_distribution_has_a_closed_form_under_each_policy_it_takes_and_no_other():
    rows = DISTRIBUTIONS.values()
    taken = {(row.word, policy) for row in rows for policy in row.policies or (None,)}
    assert set(closed_forms(lambda: None)) == taken


def test_the_document_of_the_language_shows_every_distribution_and_policy():
    text = LANGUAGE.read_text("utf-8")
    for row in DISTRIBUTIONS.values():
        assert f"\n| `{row.signature}` |" in text
    for policy in POLICIES:
        assert f"\n| `{policy} lo..hi` |" in text


def test_advice_on_a_ratio_that_is_a_scale_stands_in_parentheses_where_it_must():
    *_, base = DISTRIBUTIONS["gaussian"].parameters
    assert base.edit("2") == "for a deviation of 2 the base is `exp(-1/(2 * 2^2))`"
    assert base.edit("3/2") == "for a deviation of 3/2 the base is `exp(-1/(2 * (3/2)^2))`"
    (probability,) = DISTRIBUTIONS["bernoulli"].parameters
    assert probability.edit("2") is None


@pytest.mark.parametrize("given", ["0", "1", "3/2", "-1"])
def test_a_ratio_outside_is_told_alike_before_any_run_and_on_one(given):
    model = (
        "mechanism m { input x in 0..3 adjacent all DO y ~ geometric(x, A) folded 0..3 output y }"
    )
    told = [
        check_text(f"{model.replace('DO', do).replace('A', a)} check m: dp(1)")["errors"]
        for do, a in (("", given), (f"a := if x = 0 then {given} else 1/2", "a"))
    ]
    assert [[each["message"] for each in errors] for errors in told] == [
        [f"alpha must lie strictly between 0 and 1, and is {given}"]
    ] * 2
