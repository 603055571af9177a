"""A `dist` that is passed to a mechanism or chain is drawn from as if it were written there."""

import pytest

from tests.checking import check_files, check_text, outcome
from tests.resolve.reading import codes, sound

BEFORE = """
dist clamped_noise(x, alpha, n) = geometric(x, alpha) clamped 0..n
dist folded_noise(x, alpha, n) = geometric(x, alpha) folded 0..n
dist coin = bernoulli(1/2)
mechanism noisy(n = 5, noise = clamped_noise) {
  input x in 0..n  adjacent abs(x - x') <= 1
  y ~ noise(x, 1/2, n)
  output y
}
"""


def written(noise: str) -> str:
    return f"""mechanism written {{
      input x in 0..5  adjacent abs(x - x') <= 1
      y ~ geometric(x, 1/2) {noise} 0..5
      output y }}"""


@pytest.mark.parametrize("noise", ["clamped", "folded"])
def test_the_mechanism_is_the_one_that_is_written_out(noise):
    text = f"{BEFORE}{written(noise)}\nfor v in 0..5, k in 0..5 {{ P }}"
    asked = "compute {} at x = k : P=? [ X output = v ]"
    values = [
        [
            result["value"]["exact"]
            for result in check_text(text.replace("P }", asked.format(t) + " }"))["results"]
        ]
        for t in (f"noisy(noise = {noise}_noise)", "written")
    ]
    assert len(values[0]) == 36
    assert values[0] == values[1]


def test_targets_are_told_apart_by_what_is_passed():
    text = (
        "for noise in {clamped_noise, folded_noise} { check noisy(noise = noise): epsilon = ln 2 }"
    )
    results = outcome(check_text(BEFORE + text))
    assert results == [
        ("check", "noisy(noise = clamped_noise)", "epsilon = ln 2", "holds"),
        ("check", "noisy(noise = folded_noise)", "epsilon = ln 2", "violated"),
    ]
    checks = sound(BEFORE + "check noisy: dp(1) check noisy(noise = clamped_noise): dp(1)").checks
    assert checks[0].target is checks[1].target


def test_a_parameter_is_handed_on():
    text = """
      mechanism outer(noise = folded_noise, flip = true) {
        input x in 0..5  adjacent abs(x - x') <= 1
        y ~ noisy(noise = if flip then noise else clamped_noise, x = x)
        output y }
      check outer: epsilon = ln(1025/514)
      check outer(flip = false): epsilon = ln 2
      check outer(noise = clamped_noise): epsilon = ln 2"""
    assert {v for *_, v in outcome(check_text(BEFORE + text))} == {"holds"}


def test_rows_of_chains_draw_from_what_is_passed():
    text = """
      chain table(noise = clamped_noise) {
        state s[k in 0..5]  state t[l in 0..5]
        for k in 0..5 { s[k] -> l ~ noise(k, 1/2, 5) : t[l] }
        adjacent s[k] ~ s[l] where abs(k - l) = 1
        observe t }
      check table: epsilon = ln 2
      check table(noise = folded_noise): epsilon = ln(1025/514)"""
    assert {v for *_, v in outcome(check_text(BEFORE + text))} == {"holds"}


def test_names_are_those_of_the_file_that_passes_them():
    library = (
        "dist near(x) = {x: 3/4, 1 - x: 1/4}\n"
        """
      mechanism told(noise = near) { input x in 0..1 adjacent all  y ~ noise(x)  output y }"""
    )
    main = """import "library.dpm"
      dist far(x) = {x: 1/4, 1 - x: 3/4}
      dist near_one(x) = near(x)
      check told: epsilon = ln 3
      check told at x = 1 : P=1/4 [ X output = 0 ]
      check told(noise = near_one) at x = 1 : P=1/4 [ X output = 0 ]
      check told(noise = far) at x = 1 : P=3/4 [ X output = 0 ]"""
    report = check_files({"main.dpm": main, "library.dpm": library}, "main.dpm")
    assert [v for *_, v in outcome(report)] == ["holds"] * 4


def test_a_name_alone_is_drawn_from_where_the_dist_has_no_parameters():
    text = """mechanism tossed(toss = coin) { input x in 0..1 adjacent all  y ~ toss  output y }
      check tossed: epsilon = 0"""
    assert {v for *_, v in outcome(check_text(BEFORE + text))} == {"holds"}


def test_built_in_distributions_keep_their_meaning_beside_parameters_of_their_name():
    text = """mechanism m(uniform = 3, bernoulli = 1/4) {
        input x in 0..1 adjacent all
        y ~ uniform(1..uniform)  z ~ bernoulli(bernoulli)  output (y, z) }
      check m: epsilon = 0"""
    assert {v for *_, v in outcome(check_text(text))} == {"holds"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("check noisy(noise = 1/2): dp(1)", "DP409"),
        ("check noisy(noise = {1, 2}): dp(1)", "DP409"),
        ("check noisy(noise = coin): dp(1)", "DP403"),
        ("check noisy(noise = noisy): dp(1)", "DP303"),
        ("check noisy(noise = clamped_noise(1, 1/2, 3)): dp(1)", "DP303"),
        ("check noisy(n = coin): dp(1)", "DP303"),
        ("const c = clamped_noise  check noisy(noise = c): dp(1)", "DP303"),
        ("fun f(noise) = noise  check noisy(n = f(coin)): dp(1)", "DP303"),
        ("check noisy(noise = nothing): dp(1)", "DP301"),
        ("for noise in {{coin}} { check noisy(noise = noise): dp(1) }", "DP303"),
        ("for noise in {coin} { check noisy: dp(noise) }", "DP303"),
    ],
)
def test_a_distribution_is_passed_by_name_and_drawn_from_only(text, code):
    assert set(codes(BEFORE + text)) == {code}


@pytest.mark.parametrize("policy", ["clamped 0..3", "unbounded"])
@pytest.mark.parametrize(
    ("before", "parameters"),
    [
        ("dist geometric(c, a) = {0: a, c: 1 - a}", ""),
        ("dist pair(c, a) = {0: a, c: 1 - a}", "(geometric = pair)"),
    ],
)
def test_a_policy_makes_no_built_in_distribution_of_a_name_that_the_file_gives(
    before, parameters, policy
):
    text = f"""{before}
      mechanism m{parameters} {{
        input x in 0..3  adjacent all
        y ~ geometric(x, 1/2) {policy}
        output y }}
      check m: dp(1)"""
    assert codes(text) == ["DP523"]
    assert codes(text.replace(f" {policy}", "")) == []


@pytest.mark.parametrize("name", ["geometric", "noise"])
@pytest.mark.parametrize("policy", ["clamped 0..3", "unbounded"])
def test_a_policy_behind_a_mechanism_is_left_out(name, policy):
    """It was told that a mechanism is no value, and to draw from it with `~`, as it was."""
    text = f"""
      mechanism {name} {{ input v in 0..3  adjacent all  output v }}
      mechanism m {{ input x in 0..3  adjacent all  y ~ {name}(v = x) {policy}  output y }}
      check m: dp(1)"""
    assert codes(text) == ["DP523"]
    assert codes(text.replace(f" {policy}", "")) == []


@pytest.mark.parametrize("drawn", ["noise", "noise()"])
def test_a_parameter_is_nearer_than_a_mechanism_of_its_name(drawn):
    text = f"""
      dist fair = {{0: 1/2, 1: 1/2}}
      mechanism noise {{ output 2 }}
      mechanism m(noise = fair) {{ input x in 0..1  adjacent all  y ~ {drawn}  output y }}
      check m at x = 0: P=? [ X output = 1 ] = 1/2"""
    assert {v for *_, v in outcome(check_text(text))} == {"holds"}
