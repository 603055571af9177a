"""Numbers too long for Python to print, and powers of e without a common unit, in every message.

Python refuses to write an integer of more than 4,300 digits; nothing that dpcheck says may depend
on that. What is checked here by class is also looked for by `tests.fuzz`.
"""

from __future__ import annotations

import pytest

from tests.checking import called, check_files, check_text, error_codes, verdicts

LONG = "10^5000"
AROUND = "mechanism m {{ input x in 0..1 adjacent all {} }}\ncheck m: dp(ln 3)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for k in 1..{n} {{ check m(k = k): dp(0) }} mechanism m(k) {{ output k }}", "DP609"),
        ("mechanism m {{ input x in 0..{n} adjacent all output x }} check m: dp(1)", "violated"),
        (AROUND.format("y := (1, 2) output y[{n}]"), "DP501"),
        (AROUND.format("y := (1, 2) output y[x + {n}]"), "DP501"),
        (AROUND.format("y ~ geometric(x, 1/2) clamped 0..{n} output y"), "undecided"),
        (AROUND.format("y ~ uniform(0..{n}) output y"), "undecided"),
        (AROUND.format("y ~ geometric_positive(1/2) conditioned -{n}..-{n} output y"), "DP208"),
        (AROUND.format("var a[{n}..{n} + 1] := 0 output a[{n}]"), "DP208"),
        (AROUND.format("output x + {n}") + " check m: P>=1 [ X output = {n} ]", "violated"),
        (AROUND.format("output x") + " check m: P>=1 [ F<=({n}) output = 1 ]", "violated"),
        (AROUND.format("output x + {n}") + " compute m: epsilon", "value"),
        (AROUND.format("output x") + " compute compose(m, {n}): delta(0)", "value"),
        (AROUND.format("output x") + " compute group(m, {n}): delta(0)", "value"),
        (AROUND.format("repeat {n} {{ output x }}"), "undecided"),
    ],
)
def test_a_number_of_any_length_can_be_talked_about(text, expected):
    report = check_text(
        text.replace("{{", "{").replace("}}", "}").replace("{n}", LONG), "--max-states", "1000"
    )
    assert "crashes" not in report
    assert expected in [*error_codes(report), *verdicts(report)]


E = "exp(-1/1000000007)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"y ~ {{1: {E}/2, 2: exp(-1)/2, 3: 1 - {E}/2 - exp(-1)/2}} output y", "DP208"),
        (f"y ~ {{1: {E}/2, 2: exp(-1)/2, 3: 1/2}} output y", "DP208"),
        ("y ~ {1: exp(-x/1000000007)/2, 2: exp(-1)/2, 3: 1/2} output y", "undecided"),
        (f"y ~ bernoulli(if x = 0 then {E} else exp(-1)) output y", "undecided"),
        (f"y ~ {{v: {E}^v for v in 1..3}} normalized output y", "holds"),
        (
            f"y ~ {{v: if v = x then {E} else exp(-1) for v in 0..2}} normalized output y",
            "holds",
        ),
    ],
)
def test_powers_of_e_without_a_common_unit_are_no_crash(text, expected):
    report = check_text(AROUND.format(text), "--max-states", "1000")
    assert "crashes" not in report
    assert expected in [*error_codes(report), *verdicts(report)]


@pytest.mark.parametrize("weights", [(E, "exp(-1)"), (E, f"1 - {E}"), ("1e-99", "1/3")])
def test_tables_of_such_numbers_are_no_crash(weights):
    rows = "".join(f"row,a,{k},{p}\n" for k, p in enumerate(weights))
    table = f"{rows}row,a,rest,0\nrow,b,0,{weights[1]}\nrow,b,1,1 - ({weights[1]})\npair,a,b\n"
    report = check_files({"t.csv": table, "m.dpm": 'import "t.csv" check t: dp(1)'}, "m.dpm")
    assert "crashes" not in report
    assert report["results"] or report["errors"]


def test_a_row_whose_sum_is_too_long_for_python_is_said():
    rows = "".join(f"row,a,{k},1/{10**90 + k}\n" for k in range(60))
    table = f"{rows}row,b,0,1\npair,a,b\n"
    report = check_files({"t.csv": table, "m.dpm": 'import "t.csv" check t: dp(1)'}, "m.dpm")
    assert error_codes(report) == ["DP706", "DP705"]


def test_violated_claims_about_probabilities_of_any_length_are_reported(tmp_path):
    file = tmp_path / "m.dpm"
    claims = (
        "P<=0 [ X output ]",
        "D{1/10} [ X output ]",
        "dp(1/10)",
        "E<=0 [ if output then 1 else 0 ]",
    )
    text = "mechanism m { input x in 0..1 adjacent all y ~ bernoulli(1/2^(20000 + x)) output y }"
    file.write_text(text + "".join(f"\ncheck m: {claim}" for claim in claims))
    told = called("check", file)
    assert told.returncode == 1
    assert "violated" in told.stdout
    for bound in ("P<=2.512389e-6021", "D{1/10, 1.124079e-6021}", "E<=2.512389e-6021"):
        assert bound in told.stdout
