"""Priors: a mechanism with data drawn beforehand is the mixture of its rows for chosen data."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

import dpcheck
from tests.checking import check_text, error_codes, verdicts

BODY = """
  y ~ geometric(if secret then a + 1 else b, 1/2) clamped 0..2
  output y
}
"""


def random_beliefs(choose):
    """Return the weights of a and b, in 0..2, for each secret: b may depend on a."""
    return {
        (secret, place): [choose.randrange(1, 5) for _ in range(3)]
        for secret in (False, True)
        for place in ("a", 0, 1, 2)
    }


def literal(weights):
    return ", ".join(f"{k}: {w}/{sum(weights)}" for k, w in enumerate(weights))


def given(secret, beliefs):
    """Return the two priors as text, where they read the secret and each other."""
    a = f"if secret then {{{literal(beliefs[True, 'a'])}}} else {{{literal(beliefs[False, 'a'])}}}"
    rows = [
        f"if secret = {str(s).lower()} & a = {k} then {{{literal(beliefs[s, k])}}}"
        for s in (False, True)
        for k in range(3)
    ]
    return f"  prior a ~ {a}\n  prior b ~ {' else '.join(rows)} else {{0: 1}}\n"


@pytest.mark.parametrize("seed", range(8))
def test_a_prior_mixes_the_rows_of_chosen_data(seed):
    beliefs = random_beliefs(Random(seed))
    head = "mechanism m {\n  input secret in {false, true}\n  adjacent all\n"
    believed = dpcheck.loads(head + given(None, beliefs) + BODY).target("m")
    chosen = dpcheck.loads(head + "  public a in 0..2\n  public b in 0..2\n" + BODY).target("m")
    rows = chosen.output_distributions()
    for secret in (False, True):
        mixed = {}
        for a, b in ((a, b) for a in range(3) for b in range(3)):
            weight = Fraction(beliefs[secret, "a"][a], sum(beliefs[secret, "a"]))
            weight *= Fraction(beliefs[secret, a][b], sum(beliefs[secret, a]))
            row = rows[f"secret = {str(secret).lower()}, a = {a}, b = {b}"]
            for output, chance in row.items():
                mixed[output] = mixed.get(output, 0) + weight * Fraction(str(chance))
        found = believed.output_distributions()[f"secret = {str(secret).lower()}"]
        assert {output: Fraction(str(chance)) for output, chance in found.items()} == mixed


LATER = """
mechanism m {
  input ill in {true, false}
  adjacent all
  %s others ~ {0: 1/2, 1: 1/2}
  output asked
  y ~ {0: if others = 1 then 1/4 else 3/4, 1: if others = 1 then 3/4 else 1/4}
  output y
}
check m: P>=1 [ X D{0} [ X output = 1 ] ]
"""


def test_data_need_not_be_equal_in_later_neighbors():
    assert verdicts(check_text(LATER % "")) == ["holds"]
    assert verdicts(check_text(LATER % "prior")) == ["violated"]


def test_a_prior_stands_first_and_draws_from_a_distribution():
    late = "mechanism m { output 1 prior x ~ bernoulli(1/2) output x }\ncheck m: P=1 [ X true ]"
    assert "DP127" in error_codes(check_text(late))
    sampled = "mechanism c { output 1 }\nmechanism m { prior x ~ c() output x }\ncheck m: dp(0)"
    assert error_codes(check_text(sampled)) == ["DP629"]


EXCLUDED = """
mechanism m {
  input ill in SET
  adjacent all
  prior others ~ {v: (if ill = 2 then 0 else 1 + v * ill) for v in 0..2} normalized
  y ~ geometric(others + ill, 1/2) clamped 0..5
  output y
}
compute m: epsilon
compute m: delta(0)
check m: D{ln 2} [ X output = 0 ]
check m: E>=1 [ output ]
"""


def test_a_secret_without_weight_is_left_out_with_a_warning():
    found, expected = (
        check_text(EXCLUDED.replace("SET", each), "--second-opinion")
        for each in ("0..3", "{0, 1, 3}")
    )
    assert [w["code"] for w in found["warnings"]] == ["DP642"]
    assert "warnings" not in expected
    for one, other in zip(found["results"], expected["results"], strict=True):
        assert one["verdict"] == other["verdict"]
        assert one.get("value") == other.get("value")
        assert one["neighbor_pairs"] == other["neighbor_pairs"] == 3
        assert one["second_opinion"]["says"] == "not covered"
    assert "agrees" in [each["second_opinion"]["says"] for each in expected["results"]]


def test_the_number_1_is_left_out_and_true_stays():
    text = """
mechanism m {
  input x in {1, true, 2}
  adjacent all
  prior z ~ {0: if x = 1 then 0 else 1, 1: if x = 1 then 0 else if x = 2 then 3 else 1} normalized
  y ~ bernoulli((z + 1) / 4)
  output y
}
check m: epsilon = ln (7/6)
"""
    report = check_text(text)
    assert verdicts(report) == ["holds"]
    assert report["results"][0]["neighbor_pairs"] == 1


def test_secrets_of_several_inputs_are_left_out_together():
    text = """
mechanism m {
  input a in 0..1
  input b in 0..1
  adjacent all
  prior n ~ {0: a, 1: b} normalized
  y ~ bernoulli((1 + n)/4)
  output y
}
check m: epsilon = ln 2
check m at a = 1 & b = 0 : P=1/4 [ X output = true ]
"""
    report = check_text(text)
    assert verdicts(report) == ["holds", "holds"]
    assert [w["code"] for w in report["warnings"]] == ["DP642"]
    assert report["results"][0]["neighbor_pairs"] == 3


def test_a_prior_that_fails_for_drawn_data_or_for_all_secrets_is_a_mistake():
    head = "mechanism m { input x in 0..1 adjacent all "
    drawn = "prior a ~ {0: 1/2, 1: 1/2} prior b ~ {0: a, 1: 0} normalized output b }"
    never = "prior b ~ {0: 0 * x, 1: 0} normalized output b }"
    negative = "prior b ~ {0: x - 1, 1: 0} normalized output b }"
    for body in (drawn, never):
        assert "DP204" in error_codes(check_text(f"{head}{body} check m: dp(0)"))
    assert error_codes(check_text(f"{head}{negative} check m: dp(0)"))


def test_listed_pairs_of_a_secret_without_weight_are_left_out_with_it():
    text = """
mechanism m {
  input x in {0, 1, true, 2}
  adjacent (0, 1), (1, 2), (true, 1)
  prior z ~ {0: if x = 0 then 0 else 1, 1: if x = true then 3 else 2 * count({x > 1})} normalized
  y ~ bernoulli((z + 1) / 4)
  output y
}
check m: total_variation = 3/16
"""
    text = text.replace("2 * count({x > 1})", "if x = 2 then 2 else 0")
    report = check_text(text)
    assert [each["code"] for each in report["warnings"]] == ["DP642"]
    assert verdicts(report) == ["holds"]
    assert report["results"][0]["neighbor_pairs"] == 2
    (alone,) = check_text(text.replace(", (1, 2), (true, 1)", "").replace("3/16", "0"))["results"]
    assert (alone["neighbor_pairs"], alone["vacuous"]) == (0, True)


def test_a_secret_that_its_where_excludes_is_not_warned_about():
    text = """
mechanism m {
  input q[1..2] in 0..1 where sum(q) > 0
  public t in 0..1
  adjacent linf(q, q') <= 1
  prior z ~ {v: q[v] * (1 + t) for v in 1..2} normalized
  output z
}
check m: total_variation = 1
"""
    report = check_text(text)
    assert "warnings" not in report
    assert verdicts(report) == ["holds"]
    report = check_text(text.replace(" where sum(q) > 0", ""))
    assert [each["code"] for each in report["warnings"]] == ["DP642"]


@pytest.mark.parametrize(
    ("weight", "where"),
    [
        ("v * x + t", "exists(v in 1..2 : v * x + t != 0)"),
        ("0^(x*t)", "{v:0^(x*t) for v in 1..2} normalized"),
    ],
)
def test_what_a_prior_leaves_out_is_told_as_a_condition(weight, where):
    text = f"""
mechanism m {{
  input x in 0..1
  public t in 0..1
  adjacent all
  prior z ~ {{v:{weight} for v in 1..2}} normalized
  output z
}}
check m: epsilon = 0
"""
    (result,) = check_text(text)["results"]
    assert result["covers"][0] == f"for x in 0..1, public t in 0..1 where {where}"
