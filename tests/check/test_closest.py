"""The pair that comes closest to a formula D that holds is the one that a plain search finds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.checking import check_text
from tests.explain.explaining import answers, random_rows, seeded, table_model


@pytest.mark.parametrize("n_inputs", [2, 3, 9])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 3)])
def test_no_pair_comes_closer(n_inputs, seed, delta, tmp_path):
    rows = random_rows(seeded(seed), n_inputs, 3)
    chances = [row[0] for row in rows]
    if delta == 0:  # else no ε is enough
        chances = [chance or Fraction(1, 7) for chance in chances]
        rows = [[p, 1 - p, Fraction(0)] for p in chances]
    claim = f"D{{ln 50{f', {delta}' if delta else ''}}} [ X 0 ]"
    (answer,) = answers(table_model(rows, claim.replace("X 0", "X output = 0")), tmp_path)
    pairs = [(p, q) for p in chances for q in chances if p > q]
    if any(p > 50 * q + delta for p, q in pairs):
        assert not answer.is_ok
        return
    said = [str(each.text) for each in answer.outcome.beside]
    if not pairs:
        assert not said
        return
    best = max(p - 50 * q if delta else p / q for p, q in pairs)
    word, most = ("delta", delta) if delta else ("ratio", 50)
    (text,) = said
    assert text.endswith(f", {word} {max(best, 0)} of {most}")
    names = text.removeprefix("tightest: ").split(",")[0].split(" against ")
    p, q = (chances[int(name.removeprefix("x = "))] for name in names)
    assert best == (p - 50 * q if delta else p / q)


def test_an_event_with_several_outputs_is_not_told_as_one_of_them():
    """Of 5 and 6, which are possible from c = 1 alone, each has half of the δ."""
    text = """
mechanism m {
  input c in 0..1
  adjacent all
  y ~ {5: c/4, 6: c/4, 0: 1 - c/2}
  output y
}
mechanism one {
  input c in 0..1
  adjacent all
  y ~ {5: c/4, 0: 1 - c/4}
  output y
}
check m: dp(ln 2, 1/2)
check one: dp(ln 2, 1/4)
"""
    several, one = (result["beside"][0]["text"] for result in check_text(text)["results"])
    assert several.endswith(" and others")
    assert one.endswith(" at output 5")


@pytest.mark.parametrize(
    ("first", "neighbors", "shown"),
    [("0", "x = 0 | x' = 0", ["1/2", "0"]), ("1/8", "abs(x - x') = 1", ["1/2", "1/4"])],
)
def test_of_pairs_with_one_ratio_the_likelier_is_shown(first, neighbors, shown):
    """All ratios over 0 are infinite, and 1/4 is to 1/8 as 1/2 to 1/4."""
    text = f"""
mechanism m {{
  input x in 0..2
  adjacent {neighbors}
  y ~ bernoulli(if x = 0 then {first} else x/4)
  output y
}}
check m: D{{ln(3/2)}} [ X output = true ]
"""
    (found,) = check_text(text)["results"]
    assert found["counterexample"]["probabilities"] == shown
