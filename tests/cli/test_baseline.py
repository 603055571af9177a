"""Budgets may not grow, and claims may not say less, beside a baseline that is reviewed."""

from __future__ import annotations

import json
import tomllib
from hashlib import blake2b
from importlib.resources import files

import jsonschema
import pytest

from dpcheck.cli import checking, run
from dpcheck.cli.baseline import is_greater
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.report.answers import Answer, Change, Measured, Measuring
from dpcheck.report.live import work_text
from dpcheck.report.styled import plain
from dpcheck.report.text import change_lines

SCHEMA = json.loads((files("dpcheck.report") / "schema" / "results-1.json").read_text("utf-8"))
COUNT = """\
mechanism count(n = 2, a = 1/2) {{
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ geometric(x, {alpha}) clamped 0..n
  output y
}}
{claims}
"""
CLAIMS = "check count: dp(ln 3)\ncheck count: accuracy(x, 1/10) <= 2\nrefute count: dp(0)"


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Return what writes the model of a folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "models").mkdir()

    def write(alpha="1/2", claims=CLAIMS, name="count"):
        text = COUNT.format(alpha=alpha, claims=claims)
        (tmp_path / "models" / f"{name}.dpm").write_text(text, "utf-8")

    return write


def compared(capsys, *options):
    """Return the exit status and the changes since the baseline."""
    status = run(["check", "models", "--baseline", "privacy.lock", "--format", "json", *options])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    found = [(c["rule"], c["what"], c["before"], c["after"]) for c in report.get("changes", [])]
    return status, found


def update(capsys):
    status = run(["check", "models", "--baseline", "privacy.lock", "--update-baseline"])
    capsys.readouterr()
    return status


def test_a_baseline_is_toml_in_a_fixed_order_and_agrees_with_itself(model, capsys, tmp_path):
    model()
    model(name='another "model" \\ \x7f')
    assert update(capsys) == 0
    text = (tmp_path / "privacy.lock").read_text("utf-8")
    found = tomllib.loads(text)["files"]
    assert list(found) == sorted(found)
    assert found["models/count.dpm"]["count"] == {
        "covers": ["for x in 0..2", "adjacent abs(x - x') <= 1"],
        "epsilon": "ln(2)",
        "delta(ln(3))": "0",
        "accuracy(x, 1/10)": "2",
        "claims": [
            {"check": "dp(ln 3)", "epsilon": "ln(3)", "delta": "0"},
            {"check": "accuracy(x, 1/10) <= 2", "accuracy(x, 1/10)": "2"},
        ],
    }
    assert compared(capsys) == (0, [])
    assert update(capsys) == 0
    assert (tmp_path / "privacy.lock").read_text("utf-8") == text


def test_what_grew_fails_and_what_fell_does_not(model, capsys):
    model()
    update(capsys)
    model(alpha="1/3")
    assert compared(capsys) == (1, [("budget-grew", "epsilon", "ln(2)", "ln(3)")])
    model(alpha="2/3")
    assert compared(capsys) == (0, [])
    model(alpha="9/10", claims=CLAIMS.replace("<= 2", "<= 9"))
    status, changes = compared(capsys)
    assert status == 1
    assert changes[-1] == (
        "claim-weakened", "claim", "accuracy(x, 1/10) <= 2", "accuracy(x, 1/10) <= 9",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("now", "changes"),
    [
        ("dp(ln 4)", [("claim-weakened", "claim", "dp(ln 3)", "dp(ln 4)")]),
        ("dp(ln 3, 1/9)", [("claim-weakened", "claim", "dp(ln 3)", "dp(ln 3, 1/9)")]),
        ("dp(1)", []),
        ("dp(2 * ln 3 - ln 3)", []),
        ("epsilon = ln 2", []),
        ("epsilon < ln 3", []),
        ("dp( ln 3 )", []),
        ("delta(ln 3) <= 0", []),
        ("delta(0) <= 1/2", [("claim-weakened", "claim", "dp(ln 3)", "delta(0) <= 1/2")]),
        ("epsilon >= 0", [("claim-removed", "claim", "dp(ln 3)", None)]),
        ("dp(ln 3)\ncheck count: dp(ln 9)", []),
    ],
)
def test_a_claim_that_says_less_is_named(model, capsys, now, changes):
    model()
    update(capsys)
    model(claims=CLAIMS.replace("dp(ln 3)", now))
    assert compared(capsys) == (bool(changes), changes)


def rules_by_target(capsys, tmp_path, mechanism, cases):
    """Return for claims of mechanisms, before and now, which rules the change breaks."""
    for k in range(2):
        text = [f"{mechanism(n)}check m{n}{case[k]}\n" for n, case in enumerate(cases)]
        (tmp_path / "models" / "all.dpm").write_text("param eps > 0\n" + "".join(text), "utf-8")
        if k == 0:
            assert update(capsys) == 0
    run(["check", "models", "--baseline", "privacy.lock", "--format", "json"])
    found = [[] for _ in cases]
    for change in json.loads(capsys.readouterr().out).get("changes", []):
        if change["what"] == "claim":
            found[int(change["target"][1:])].append(change["rule"])
    return {case: " ".join(rules) for case, rules in zip(cases, found, strict=True)}


WEAKENED = "claim-weakened"
WORDS = {
    (": epsilon <= ln 3", ": epsilon <= ln 2"): "",
    (": epsilon <= ln 3", ": epsilon = ln 2"): "",
    (": epsilon <= ln 3", ": dp(ln 3)"): "",
    (": epsilon <= ln 3", ": epsilon < ln 3"): "",
    (": epsilon <= ln 3", ": epsilon < ln 4"): WEAKENED,
    (": epsilon < ln 3", ": epsilon <= ln 3"): WEAKENED,
    (": epsilon < ln 3", ": dp(ln 2)"): "",
    (": epsilon = ln 2", ": epsilon <= ln 3"): WEAKENED,
    (": epsilon(1/9) <= ln 3", ": dp(ln 3, 1/9)"): "",
    (": delta(ln 3) < 1/9", ": dp(ln 3, 1/9)"): WEAKENED,
    (": delta(ln 3) < 1/9", ": dp(ln 2, 1/10)"): "",
    (": accuracy(x, 1/10) <= 3", ": accuracy(x, 1/10) = 2"): "",
    (": tradeoff(1/10) <= 9/10", ": tradeoff(1/10) = 9/10"): "claim-removed",
    (" at x = 0: dp(ln 3)", ": dp(ln 2)"): "",
    (" at x = 0: dp(ln 3)", " at  x=0: dp(ln 2)"): "",
    (": dp(ln 3)", " at x = 0: dp(ln 2)"): WEAKENED,
}


def test_what_checks_bound_is_compared_whatever_their_words(model, capsys, tmp_path):
    def mechanism(n):
        return COUNT.format(alpha="1/2", claims="").replace("count", f"m{n}")

    assert rules_by_target(capsys, tmp_path, mechanism, list(WORDS)) == WORDS


def test_names_in_claims_have_values(model, capsys):
    model(claims="const b = ln 3\ncheck count: dp(b)")
    update(capsys)
    model(claims="const b = ln 4\ncheck count: dp(b)")
    assert compared(capsys) == (1, [("claim-weakened", "claim", "dp(b)", "dp(b)")])


def test_claims_about_fewer_inputs_or_neighbors_are_named(model, capsys, tmp_path):
    model(claims=CLAIMS + "\ncheck count at x = 0: dp(ln 2)")
    update(capsys)
    file = tmp_path / "models" / "count.dpm"
    text = file.read_text("utf-8")
    file.write_text(
        text.replace("check count: dp(ln 3)", "check count at x = 1: dp(ln 3)"), "utf-8"
    )
    assert compared(capsys)[1][-1] == (
        "claim-weakened", "claim", "dp(ln 3)", "at x = 1: dp(ln 3)",
    )  # fmt: skip
    file.write_text(text.replace("check count at x = 0: dp(ln 2)", ""), "utf-8")
    assert compared(capsys) == (
        1, [("claim-removed", "claim", "at x = 0: dp(ln 2)", None)],
    )  # fmt: skip
    file.write_text(text.replace("<= 1", "<= 1 & x != 0"), "utf-8")
    status, ((rule, what, before, after),) = compared(capsys)
    assert (status, rule, what) == (1, "cover-changed", "covers")
    assert (before, after) == (
        "adjacent abs(x - x') <= 1", "adjacent abs(x - x') <= 1 & x != 0",
    )  # fmt: skip


PARAM = "param p in (0, 1)\n" + COUNT.format(alpha="p", claims="check count: dp(-ln p)")


def test_claims_for_all_values_are_held_beside_what_they_were(model, capsys, tmp_path):
    file = tmp_path / "models" / "all.dpm"
    file.write_text(PARAM, "utf-8")
    assert update(capsys) == 0
    assert compared(capsys) == (0, [])
    file.write_text(PARAM.replace("-ln p", "-2 * ln p"), "utf-8")
    assert compared(capsys) == (
        1,
        [(
            "claim-weakened", "claim",
            "for p in (0, 1): dp(-ln p)", "for p in (0, 1): dp(-2 * ln p)",
        )],
    )  # fmt: skip
    file.write_text(PARAM.replace("check count", "check count for p in (0, 1/2)"), "utf-8")
    assert compared(capsys)[0] == 1
    louder = PARAM.replace("geometric(x,", "geometric(2 * x,").replace("0..n\n", "0..2 * n\n", 1)
    file.write_text(louder.replace("-ln p", "-2 * ln p") + "check count: true", "utf-8")
    status, changes = compared(capsys)
    assert status == 1
    assert ("budget-grew", "epsilon") in [change[:2] for change in changes]


INTEGERS = """\
mechanism m{n} {{
  input x in {inputs}
  adjacent abs(x - x') <= 1
  z ~ geometric(x, exp(-{rate})) unbounded
  output z
}}
"""
BUDGETS = {
    (": dp(eps)", ": dp(3*eps)"): WEAKENED,
    (": dp(eps)", " for eps in (0, 1/1000]: dp(100*eps)"): WEAKENED,
    (": dp(eps)", " for eps in (0, 1): dp(eps)"): WEAKENED,
    (": dp(eps)", ": dp( 2*eps/2 )"): "",
    (": dp(2*eps)", ": dp(eps)"): "",
    (": dp(2*eps)", ": epsilon = eps"): "",
    (" for eps in (0, 1): dp(eps)", ": dp(eps)"): "",
    (" for eps in (0, 1): dp(2*eps)", " for eps in (0, 1]: dp(eps)"): "",
    (" for eps in (0, 1]: dp(eps)", " for eps in (0, 1): dp(eps)"): WEAKENED,
    (" for eps in (0, ln 2): dp(eps)", " for eps in (0, ln 3): dp(eps)"): "",
    (" for eps in (0, ln 2): dp(eps)", " for eps in (0, ln 2): dp(2*eps)"): WEAKENED,
}


@pytest.mark.parametrize("inputs", ["integers", "0..2"])
def test_budgets_are_compared_for_all_values(model, capsys, tmp_path, inputs):
    def mechanism(n):
        return INTEGERS.format(n=n, inputs=inputs, rate="eps")

    assert rules_by_target(capsys, tmp_path, mechanism, list(BUDGETS)) == BUDGETS


@pytest.mark.parametrize("inputs", ["integers", "0..2"])
def test_a_mechanism_that_costs_more_or_less_for_all_values(model, capsys, tmp_path, inputs):
    file = tmp_path / "models" / "all.dpm"
    told, lock = [], tmp_path / "privacy.lock"
    name = '"epsilon at most"' if inputs == "integers" else "epsilon"  # no window is searched
    for rates in (("eps", "eps/2"), ("eps/2", "eps")):
        for rate, is_first in zip(rates, (True, False), strict=True):
            text = INTEGERS.format(n=0, inputs=inputs, rate=rate)
            file.write_text(f"param eps > 0\n{text}check m0: dp(4*eps)", "utf-8")
            if is_first:
                update(capsys)
                assert f'\n{name} = "for eps in (0, inf): ' in lock.read_text("utf-8")
        status, changes = compared(capsys)
        told.append((status, [change[0] for change in changes]))
    assert told == [(0, []), (1, ["budget-grew"])]


def test_a_quantity_that_is_undecided_now_is_no_success(model, capsys):
    model()
    update(capsys)
    status, changes = compared(capsys, "--max-states", "2")
    assert status == 3
    assert changes[0] == ("budget-unknown", "epsilon", "ln(2)", "undecided")


def test_what_was_not_measured_is_not_known_to_be_worse(model, capsys, monkeypatch):
    model()
    update(capsys)
    whole = checking._events

    def interrupted(*asked):
        for event in whole(*asked):
            yield event
            if isinstance(event, Answer):
                raise KeyboardInterrupt

    monkeypatch.setattr(checking, "_events", interrupted)
    assert run(["check", "models", "--baseline", "privacy.lock"]) == 130
    printed = capsys.readouterr().out
    assert "not known whether worse than privacy.lock" in printed
    assert "count: epsilon            ln(2)   unknown  models/count.dpm:7" in printed
    assert "worse than the baseline" not in printed
    model(claims=CLAIMS.replace("ln 3", "ln 4"))  # claims are known before anything is measured
    changes = compared(capsys)[1]
    assert changes[-1] == ("claim-weakened", "claim", "dp(ln 3)", "dp(ln 4)")


def test_what_is_measured_is_told_before_it_is_and_kept_short(tmp_path):
    file = tmp_path / "m.dpm"
    file.write_text(COUNT.format(alpha=f"1/{7**300}", claims="check count: dp(600)"), "utf-8")
    events = [*check_paths([str(file)], Options(measures={}))]
    at = [work_text(event) for event in events if isinstance(event, Measuring)]
    assert at == [
        f"{file}: {quantity} of count, for the baseline"
        for quantity in ("epsilon", "delta(600)")
    ]  # fmt: skip
    (found,) = (event for event in events if isinstance(event, Measured))
    epsilon = found.amounts["epsilon"].exact
    text = f"ln({7**300})"
    digest = blake2b(text.encode(), digest_size=16).hexdigest()
    assert epsilon == (
        "in [583.77304471659398, 583.77304471659400] "
        f"({len(text)} characters, blake2b {digest})"
    )  # fmt: skip
    other = epsilon.replace(digest, "0" * 32)
    assert is_greater(epsilon, epsilon) is False
    assert is_greater(other, epsilon) is None
    assert is_greater("584", epsilon) is True
    assert is_greater(epsilon, "583") is True
    assert is_greater("583", epsilon) is False


def test_a_table_of_changes_fits_a_screen():
    change = Change(
        "budget-unknown", "m.dpm", 1, "m", "epsilon", "for p in (0, 1): " + "p*" * 999, "?"
    )
    assert max(len(plain(each)) for each in change_lines([change], "privacy.lock")) < 160


def test_a_file_whose_claims_are_all_gone_was_looked_at(model, capsys):
    model()
    update(capsys)
    model(claims="")
    status, changes = compared(capsys, "--allow-empty")
    assert status == 1
    assert [change[0] for change in changes] == ["claim-removed"] * 2


def test_what_was_recorded_is_measured_though_nobody_claims_it_any_more(model, capsys, tmp_path):
    model(alpha="2/3", claims="check count: dp(ln 5/4, 1/2)")
    update(capsys)
    known = tomllib.loads((tmp_path / "privacy.lock").read_text("utf-8"))["files"]
    measured = {"delta(1/4*ln(5))", "epsilon(1/2)"}  # ε alone costs much, and nobody asks for it
    assert set(known["models/count.dpm"]["count"]) == {"covers", "claims", *measured}
    model(alpha="2/3", claims="check count: dp(ln 6/5, 1/2)")
    assert compared(capsys) == (0, [])
    model(alpha="1/2", claims="check count: dp(ln 6/5, 1/2)")
    assert [change[1] for change in compared(capsys)[1]] == ["delta(1/4*ln(5))"]


def test_a_target_or_file_that_is_gone_is_named_and_others_are_kept(model, capsys, tmp_path):
    model()
    model(name="other")
    update(capsys)
    assert run(["check", "models/count.dpm", "--baseline", "privacy.lock"]) == 0
    run(["check", "models/count.dpm", "--baseline", "privacy.lock", "--update-baseline"])
    assert "models/other.dpm" in (tmp_path / "privacy.lock").read_text("utf-8")
    (tmp_path / "models" / "other.dpm").unlink()
    capsys.readouterr()
    status, changes = compared(capsys)
    assert status == 1
    assert {rule for rule, *_ in changes} == {"claim-removed"}
    assert update(capsys) == 0
    assert "other" not in (tmp_path / "privacy.lock").read_text("utf-8")


def test_changes_are_a_table_in_text_and_annotations_elsewhere(model, capsys):
    model()
    update(capsys)
    model(alpha="1/3")
    assert run(["check", "models", "--baseline", "privacy.lock", "--output", "github=-"]) == 1
    printed = capsys.readouterr().out
    assert "worse than privacy.lock" in printed
    assert "count: epsilon  ln(2)   ln(3)  models/count.dpm:7" in printed
    assert "::error file=models/count.dpm,line=7,title=budget-grew%3A count" in printed


@pytest.mark.parametrize(
    "text",
    [
        "x =",
        "version = 2",
        "version = 1\n[files.a]\nb = 1",
        'version = 1\n[files.a.m]\ncovers = []\nepsilon = "open(1)"\nclaims = []',
        'version = 1\n[files.a.m]\ncovers = []\nclaims = [{ check = "dp(1)", epsilon = 1 }]',
        None,
    ],
)
def test_a_baseline_that_is_none_stops_the_run(model, capsys, tmp_path, text):
    model()
    if text is not None:
        (tmp_path / "privacy.lock").write_text(text, "utf-8")
    assert run(["check", "models", "--baseline", "privacy.lock"]) == 2
    assert "error[DP016]: the baseline privacy.lock cannot be read" in capsys.readouterr().err


def test_a_model_with_mistakes_leaves_the_baseline_as_it_is(model, capsys, tmp_path):
    model()
    update(capsys)
    before = (tmp_path / "privacy.lock").read_bytes()
    model(claims="check nobody: dp(1)")
    assert update(capsys) == 2
    assert (tmp_path / "privacy.lock").read_bytes() == before
    assert run(["check", "models", "--baseline", "a", "--select", "x"]) == 2
    assert run(["check", "models", "--update-baseline"]) == 2


def test_enclosures_compare_by_their_upper_ends():
    assert is_greater("in [0.1, 0.31]", "in [0.2, 0.3]")
    assert not is_greater("in [0.2, 0.3]", "3/10")
    assert is_greater("in [0.2, inf]", "in [0.2, 1e-3]")
    assert is_greater("open(1)", "1") is None
