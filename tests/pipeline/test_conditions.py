"""What the help of a mistake says after `at` can be written there, and picks one state."""

from __future__ import annotations

import pytest

from tests.checking import check_text, error_codes

BODY = "adjacent all y ~ bernoulli(1/2) output y }"
CHAIN = "chain m { state a state STATE STATE -> 1: a init STATE, a observe a }"


@pytest.mark.parametrize(
    ("model", "condition"),
    [
        (f"mechanism m {{ input x in 0..1 input q in {{a, b}} {BODY}", "x = 0 & q = a"),
        (f"mechanism m {{ input x[1..2] in 0..1 {BODY}", "x[1] = 0 & x[2] = 0"),
        (f"mechanism m {{ input x[0..0] in {{-1/2, 1}} {BODY}", "x[0] = -1/2"),
        (f'mechanism m {{ input q in {{"b, c", "if", a}} {BODY}', 'q = "b, c"'),
        (f'mechanism m {{ input q in {{"if", a}} {BODY}', 'q = "if"'),
        (f'mechanism m {{ input q in {{"q", a}} {BODY}', 'q = "q"'),
        (f"mechanism m {{ input q in {{(1, a), (1, b)}} {BODY}", "q = (1, a)"),
        (CHAIN.replace("STATE", '"x = 1, y"'), '"x = 1, y"'),
        (CHAIN.replace("STATE", '"s[1]"'), '"s[1]"'),
        (CHAIN.replace("state a", "state a state s").replace("STATE", '"s[1]"'), '"s[1]"'),
        (
            CHAIN.replace("state a", "state a state s[i in 0..1]").replace("STATE", '"s[1]"'),
            '"s[1]"',
        ),
        (CHAIN.replace("state STATE", "state s[i in 0..2]").replace("STATE", "s[1]"), "s[1]"),
        (
            CHAIN.replace("state STATE", 'state s[i in 0..2, j in {k, "b c"}]').replace(
                "STATE", 's[1, "b c"]'
            ),
            's[1, "b c"]',
        ),
    ],
)
def test_the_condition_that_is_offered_picks_one_state(model, condition):
    report = check_text(f"{model} compute m: P=? [ X true ]")
    assert error_codes(report) == ["DP692"], report
    assert report["errors"][0]["help"] == f"say which one, such as `at {condition}`"
    report = check_text(f"{model} compute m at {condition} : P=? [ X true ]")
    assert report["ok"], report
