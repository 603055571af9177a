"""`y ~ h(x)` is a `~`: later states are neighbors only where its results are equal."""

from __future__ import annotations

import pytest

from tests.checking import check_text

BODIES = {
    "a copy": ("output x", "y ~ {x: 1}"),
    "after a draw": (
        "u ~ bernoulli(1/3) output if u then x else 0",
        "u ~ bernoulli(1/3) y ~ {(if u then x else 0): 1}",
    ),
    "one of two places": (
        "u ~ bernoulli(1/3) if u { output x; stop } output 1 - x",
        "u ~ bernoulli(1/3) if u { y ~ {x: 1} } else { y ~ {1 - x: 1} }",
    ),
    "in a loop": (
        "u := false while !u { u ~ bernoulli(1/3) } output u & x = 1",
        "u := false while !u { u ~ bernoulli(1/3) } y ~ {(u & x = 1): 1}",
    ),
    "what all inputs share": ("u ~ bernoulli(1/3) output u", "y ~ bernoulli(1/3)"),
}
REST = "output 0 z ~ bernoulli(if y = {y} then 1/4 else if x = 1 then 1/2 else 3/4) output z"


def chances(mechanisms):
    """Return the chance that nested D holds, for several ε, of the mechanism `m` of a text."""
    claims = "\n".join(
        f"compute m at x = 0 : P=? [ X D{{ln {e}}} [ X output = true ] ]" for e in (1, 2, 4)
    )
    report = check_text(f"{mechanisms}\n{claims}\n")
    assert not report.get("errors"), report["errors"]
    return [result["value"]["exact"] for result in report["results"]]


@pytest.mark.parametrize("case", BODIES)
@pytest.mark.parametrize("place", ["y", "a[1]"])
def test_the_result_of_a_mechanism_is_compared_like_any_draw(case, place):
    """As where the mechanism is written out and its result drawn with certainty."""
    called, written_out = BODIES[case]
    value = "true" if "u &" in called or case.startswith("what") else "0"
    rest = REST.replace("{y}", value).replace("y =", f"{place} =")
    head = "mechanism m { input x in 0..1 adjacent all var a[1..1] := 0"
    h = f"mechanism h {{ input x in 0..1 adjacent all {called} }}"
    first = chances(f"{h}\n{head} {place} ~ h(x = x) {rest} }}")
    drawn = written_out.replace("y ~", f"{place} ~")
    assert first == chances(f"{head} {drawn} {rest} }}")


def test_a_sampled_copy_tells_inputs_apart_and_an_assigned_one_does_not():
    """Different results: no later neighbors, so every D holds after the first output."""
    h = "mechanism h { input x in 0..1 adjacent all output x }"
    body = "output 0 z ~ bernoulli(if y = 0 then 1/4 else 3/4) output z }"
    head = "mechanism m { input x in 0..1 adjacent all"
    assert chances(f"{h} {head} y ~ h(x = x) {body}") == ["1", "1", "1"]
    assert chances(f"{h} {head} y := x {body}") == ["0", "0", "1"]
