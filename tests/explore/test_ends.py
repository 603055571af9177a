"""An input keeps its value along a run, also once the run has ended."""

import pytest

from tests.checking import check_text

MODEL = """
mechanism m {
  input x in {pos, neg}
  adjacent all
  output x
  output 1
}
"""


@pytest.mark.parametrize(
    "claim",
    [
        "check m at x = pos: P>=1 [ G x = pos ]",
        "check m at x = pos: P>=1 [ F (stopped & x = pos) ]",
        "check m: P>=1 [ X X X (stopped & (x = pos | x = neg)) ]",
        "refute m: P>=1 [ F (stopped & x = neg) ]",
        "check m at (P>=1 [ G x = pos ]): epsilon = inf",
    ],
)
def test_an_input_is_known_where_a_run_has_ended(claim):
    report = check_text(MODEL + claim)
    assert report["ok"]
