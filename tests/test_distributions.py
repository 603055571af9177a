"""The rows of the built-in distributions, and what follows from them elsewhere."""

from pathlib import Path

from dpcheck.explore.sampling.closed_forms import closed_forms
from dpcheck.model.distributions import DISTRIBUTIONS, POLICIES

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
