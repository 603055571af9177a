"""Discrete Gaussians over windows as wide as can be written down."""

from __future__ import annotations

import re

import pytest

from dpcheck.exact import as_fraction_parts, exponential
from dpcheck.explore.sampling import closed_forms
from dpcheck.explore.sampling.closed_forms import gaussian_conditioned
from tests.checking import check_text, error_codes, verdicts
from tests.numbers import rational

MODEL = """
mechanism g {{
  input x in {centers}
  adjacent all
  y ~ gaussian(x, {base}) conditioned {window}
  output y
}}
check g: P<=1 [ X output = 0 ]
"""


@pytest.mark.parametrize(
    "base", [rational("0.995"), rational("0.5"), exponential(rational("-0.1"))]
)
@pytest.mark.parametrize(("twice", "lo", "hi"), [(0, -7, 7), (5, -3, 9), (-30, 2, 6)])
def test_weights_are_powers_of_the_base(base, twice, lo, hi):
    a, b = as_fraction_parts(base)
    found = gaussian_conditioned(twice, a, b, lo, hi)
    weights = found.numerators.tolist()
    for y, v in zip(range(lo, hi), weights, strict=False):
        w = weights[y + 1 - lo]
        step = 2 * y + 1 - twice  # (y + 1 - c)² - (y - c)²
        up, down = (a, b) if step >= 0 else (b, a)
        assert w * down ** abs(step) == v * up ** abs(step)
    assert sum(weights[1:], weights[0]) == found.denominator


@pytest.mark.parametrize("base", ["exp(-1/200)", "1/2", "99/100"])
def test_the_window_that_is_said_to_fit_fits_for_all_its_centers_and_no_wider_one(
    base, monkeypatch
):
    monkeypatch.setattr(closed_forms, "MAX_TABLE_BITS", 1 << 21)
    text = MODEL.format(centers="0..3", base=base, window="-400..400")
    (mistake,) = check_text(text)["errors"]
    assert mistake["code"] == "DP208"
    windows = re.findall(r"conditioned (-\d+\.\.\d+)", mistake["help"])
    assert len(windows) == (2 if "exp" in base else 1)
    half = int(windows[0].rpartition(".")[2])
    edges = f"{{{-half}, 0, {half}}}"
    assert verdicts(check_text(MODEL.format(centers=edges, base=base, window=windows[0])))
    edge, wider = f"{{{half + 1}}}", f"{-half - 1}..{half + 1}"
    assert error_codes(check_text(MODEL.format(centers=edge, base=base, window=wider))) == ["DP208"]
    rational_base = re.search(r"rational base (\d+/\d+)", mistake["help"])
    if rational_base:
        text = MODEL.format(centers="{0}", base=rational_base[1], window=windows[1])
        assert verdicts(check_text(text))
