"""The largest gap over pairs: floats leave out what is surely smaller, and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from flint import fmpq

from dpcheck.check.evidence.blocks import Block
from tests.checking import check_text

# As floats, 0.1 + 0.2 is larger than 0.3 + 10^-18; exactly it is smaller.
NEAR = """
mechanism m {
  input x in {a, b, c, d}
  adjacent (a, b), (c, d)
  y ~ if x = a then {u: 1/10, v: 2/10, w: 7/10}
      else if x = c then {u: 3/10 + 1/10^18, w: 7/10 - 1/10^18}
      else {w: 1}
  output y
}
compute m: delta(1/10)
"""


def test_gaps_that_floats_order_wrongly_are_compared_exactly():
    (result,) = check_text(NEAR)["results"]
    found = fmpq(*map(int, result["value"]["exact"].split("/")))
    assert found == fmpq(3, 10) + fmpq(1, 10**18)


def random_rows(drawn, unit):
    """Return a mechanism with four inputs and four outputs, its weights powers of the unit."""
    rows = [[drawn.randrange(0, 5) for _ in range(4)] for _ in range(4)]
    options = [
        "{" + ", ".join(f"{y}: ({unit})^{k}" for y, k in zip("stuv", row, strict=True)) + "}"
        for row in rows
    ]
    chosen = " else ".join(f"if x = {x} then {row} normalized" for x, row in enumerate(options[:3]))
    return (
        f"mechanism m {{ input x in 0..3 adjacent all y ~ {chosen} else {options[3]} normalized "
        "output y }"
    )


@pytest.mark.parametrize("unit", ["1/2", "exp(-1/3)", "exp(1/10^6)"])
@pytest.mark.parametrize("seed", range(3))
def test_no_largest_gap_is_left_out(seed, unit, monkeypatch):
    asked = "".join(f"\ncompute m: delta({e})" for e in ("0", "1/4", "ln 2", "1/10^9"))
    text = random_rows(Random(seed), unit) + asked
    found = [result["value"] for result in check_text(text)["results"]]
    bounds = Block.excess_bounds

    def nothing_known(self, mask, factor):
        low, high = bounds(self, mask, factor)
        return low * 0, high + 2

    monkeypatch.setattr(Block, "excess_bounds", nothing_known)
    assert [result["value"] for result in check_text(text)["results"]] == found
