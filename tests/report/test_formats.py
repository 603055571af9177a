"""What is written for CI systems: every format well-formed, whatever a model says."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePath
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from dpcheck.check.values.verdicts import (
    Amount,
    Counterexample,
    Coverage,
    Outcome,
    OutputSequence,
    Phrase,
    Violated,
)
from dpcheck.cli import run
from dpcheck.explain.explanation import Difference, Explanation, Line, Neighbors, RunStep, TracedRun
from dpcheck.report.answers import Answer, Summary
from dpcheck.report.formats.findings import Checkout
from dpcheck.report.formats.sarif import sarif_log

SCHEMA = json.loads(Path(__file__).with_name("sarif-schema-2.1.0.json").read_text("utf-8"))
GOLDEN = Path(__file__).parents[1] / "golden"
HOSTILE = GOLDEN / "formats.dpm"

SURVEY = """\
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ bernoulli(if x = pos then truth else 1 - truth)
  output if y then Y else N
}
"""


def written(form, *arguments, capsys):
    """Return what `check` prints in a format, and the exit status."""
    status = run(["check", *map(str, arguments), "--format", form])
    return capsys.readouterr().out, status


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Work in an empty folder, outside of any workflow."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def sarif(*arguments, capsys):
    log = json.loads(written("sarif", *arguments, capsys=capsys)[0])
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    return log["runs"][0]


def test_sarif_is_valid_and_has_a_result_for_each_thing_that_went_wrong(capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    found = sarif(HOSTILE, "DP305_unknown_target.dpm", "--max-states", "2000", capsys=capsys)
    rules = [result["ruleId"] for result in found["results"]]
    assert rules[:6] == [
        "dp-violated", "refute-holds", "dp-violated", "vacuous", "undecided", "DP305",
    ]  # fmt: skip
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in found["results"]]
    assert {each["uri"] for each in uris} == {"formats.dpm", "DP305_unknown_target.dpm"}
    declared = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    assert all(declared[r["ruleIndex"]] == r["ruleId"] for r in found["results"])


def test_sarif_regions_cover_the_claim_in_the_file(checkout, capsys):
    (checkout / "a.dpm").write_text(SURVEY + "  check survey: dp(0)  # not so\n", "utf-8")
    (result,) = sarif("a.dpm", capsys=capsys)["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    line = (checkout / "a.dpm").read_text("utf-8").splitlines()[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "check survey: dp(0)"
    assert region["endLine"] == region["startLine"]


def test_sarif_shows_the_draws_of_a_run_from_both_neighbors():
    third, half = Amount("1/3", "0.33333333333333333"), Amount("1/2", "0.5")
    reads = (Difference("q[1]", "1", "0"),)
    steps = (
        RunStep(Line("a.dpm", 4), "draw", "y", "<b>", reads, half, third, Amount("3/2", "1.5")),
        RunStep(Line("a.dpm", 5), "output", "", "Y"),
    )
    explained = Explanation(Neighbors("x = 0", "x = 1"), run=TracedRun(Amount("1", "1"), steps))
    event = (OutputSequence(("Y",)),)
    found = Counterexample(("x = 0", "x = 1"), event, (half, third), Phrase.of(half))
    outcome = Outcome(Violated(found), Coverage(1))
    asked = ("a.dpm", 9, None, "check", "m", None, "dp(0)", (), False)
    answer = Answer(*asked, outcome, 4, 4, 0.1, explained)
    log = sarif_log(Summary((answer,), ()), Checkout(PurePath("/"), PurePath("/")))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    (flow,) = log["runs"][0]["results"][0]["codeFlows"]
    left, right = flow["threadFlows"]
    assert [s["location"]["physicalLocation"]["region"] for s in left["locations"]] == [
        {"startLine": 4}, {"startLine": 5},
    ]  # fmt: skip
    assert (
        left["locations"][0]["location"]["message"]["text"] == "y = <b> with probability 1/2 = 0.5"
    )
    assert right["locations"][0]["state"] == {"q[1]": {"text": "0"}}
    assert right["locations"][0]["importance"] == "essential"


def test_sarif_follows_the_right_up_to_what_it_cannot_draw(checkout, capsys):
    text = """mechanism m { input x in 0..1 adjacent all
      first ~ uniform(1..2)
      y ~ uniform(x..x+3)
      output (first, y)
    }
    check m: dp(1)"""
    (checkout / "a.dpm").write_text(text, "utf-8")
    (flow,) = sarif("a.dpm", capsys=capsys)["results"][0]["codeFlows"]
    told = {
        thread["id"]: [step["location"]["message"]["text"] for step in thread["locations"]]
        for thread in flow["threadFlows"]
    }
    assert any(each.startswith("y = 0 with ") for each in told["left"])
    assert not any(each.startswith("y = 0") for each in told.get("right", []))


def fingerprints(capsys, *arguments):
    results = sarif(*arguments, capsys=capsys)["results"]
    return [result["partialFingerprints"]["dpcheck/v1"] for result in results]


def test_fingerprints_survive_moved_lines_and_tell_equal_claims_apart(checkout, capsys):
    claims = "check survey: dp(0)\nrefute survey: dp(ln 3)\ncheck survey: dp(0)\n"
    file = checkout / "a.dpm"
    file.write_text(SURVEY + claims, "utf-8")
    before = fingerprints(capsys, "a.dpm")
    assert len(set(before)) == 3
    file.write_text("# moved\n\n" + SURVEY + "\ncompute survey: epsilon\n" + claims, "utf-8")
    assert fingerprints(capsys, "./a.dpm") == before
    assert fingerprints(capsys, file) == before
    file.write_text(SURVEY + claims.replace("dp(0)", "dp(1/9)"), "utf-8")
    assert set(fingerprints(capsys, "a.dpm")) & set(before) == {before[1]}


def test_a_run_without_steps_of_its_own_is_no_flow(checkout, capsys):
    """The most probable run without output draws 1, from either neighbor with 1/4."""
    text = """mechanism m { input s in 0..1 adjacent all
      x ~ {0: 1/2 + s/4, 1: 1/4, 2: 1/4 - s/4}
      if x = 0 { output 1 } }
    check m: !(D{ln 3} [ X stopped ])"""
    (checkout / "m.dpm").write_text(text, "utf-8")
    (result,) = sarif("m.dpm", capsys=capsys)["results"]
    assert "codeFlows" not in result


def test_names_of_files_are_uris_from_the_root_of_the_checkout(checkout, capsys, monkeypatch):
    folder = checkout / "my models"
    folder.mkdir()
    (folder / "a%#.dpm").write_text(SURVEY + "check survey: dp(0)\n", "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(checkout))
    (result,) = sarif("a%#.dpm", capsys=capsys)["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == "my%20models/a%25%23.dpm"
    printed, _ = written("github", "a%#.dpm", capsys=capsys)
    assert "file=my models/a%25#.dpm,line=7," in printed


def test_a_wrong_call_is_written_in_the_format_that_was_asked_for(checkout, capsys):
    assert run(["check", "--format", "sarif", "--no-such-option", "a.dpm"]) == 2
    log = json.loads(capsys.readouterr().out)
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["DP016"]


def test_junit_has_a_suite_a_file_and_a_case_a_claim(capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    text, status = written(
        "junit", "formats.dpm", "DP305_unknown_target.dpm", "--max-states", "2000", capsys=capsys
    )
    assert status == 2
    first, second = ET.fromstring(text).findall("testsuite")
    assert first.get("name") == "formats.dpm"
    counts = [first.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["9", "3", "1", "0"]
    assert len(first.findall("testcase")) == 9
    failure = first.find("testcase/failure")
    assert failure.text.startswith("formats.dpm:11: ")
    assert "<script>alert(1)</script>" in failure.text
    assert "]]> %0A::error::" in "".join(first.itertext())
    assert second.find("testcase/error").get("type") == "DP305"


def decoded(text):
    return text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")


def test_every_line_for_github_is_one_command_that_says_all(capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    text, _ = written("github", "formats.dpm", "--max-states", "2000", capsys=capsys)
    lines = text.splitlines()
    assert [re.match(r"::(\w+) ", line)[1] for line in lines] == ["error"] * 3 + ["warning"] * 2
    for line in lines:
        properties, said = re.fullmatch(r"::\w+ (.*?)::(.*)", line).groups()
        names = [each.split("=")[0] for each in properties.split(",")]
        assert names == ["file", "line", "endLine", "col", "endColumn", "title"]
        assert "\n" in decoded(said)
    assert decoded(lines[0].split("::", 2)[2]).count("\n") >= 6
    assert "]]> %0A::error::`|`" in decoded(lines[2])


def test_findings_say_in_words_what_is_known_within_bounds(capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    text, _ = written("markdown", "report_within_bounds.dpm", capsys=capsys)
    sentences = [line for line in text.splitlines() if " is violated: " in line]
    assert "X D{ln(2)} [ X top ] has a probability in [0, 0.0000056450" in sentences[3]
    assert re.search(
        r"is at least 1\.9+\d* times as likely from q = 1 \(in \[0\.5, 0\.5", sentences[5]
    )


def test_the_summary_of_a_job_is_added_to(checkout, capsys, monkeypatch):
    (checkout / "a.dpm").write_text(SURVEY + "check survey: dp(0)\n", "utf-8")
    summary = checkout / "summary.md"
    summary.write_text("before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(["check", "a.dpm", "--output", "github=-"]) == 1
    printed = capsys.readouterr().out
    assert "✗ check" in printed
    assert "\n::error file=a.dpm,line=7," in printed
    text = summary.read_text("utf-8")
    assert text.startswith("before\n# dpcheck: 1 claim: 1 not as claimed\n")
    assert "| ❌ | check `survey: dp(0)` | violated | `a.dpm:7` |" in text


def test_markdown_holds_texts_of_a_model_in_code_only(capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    text, _ = written("markdown", "formats.dpm", "--max-states", "2000", capsys=capsys)
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert "<script>" not in outside
    assert "::error::" not in outside
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {5}


@pytest.mark.parametrize("form", ["markdown", "html"])
@pytest.mark.parametrize(
    ("n_claims", "head", "says"),
    [(1, "1 claim: 1 holds", "1 agrees"), (2, "2 claims: 2 hold", "2 agree")],
)
def test_pages_begin_with_what_second_opinions_say(form, n_claims, head, says, checkout, capsys):
    Path("a.dpm").write_text(SURVEY + n_claims * "check survey: dp(ln 3)\n")
    text, status = written(form, "a.dpm", "--second-opinion", capsys=capsys)
    assert status == 0
    assert re.search(rf"second opinion: {says}\b", text)
    assert text.index(head) < text.index("second opinion: ") < text.index("a.dpm")


def test_several_formats_are_written_at_once_and_replace_only_their_own(checkout, capsys):
    (checkout / "a.dpm").write_text(SURVEY + "check survey: dp(0)\n", "utf-8")
    forms = {"sarif": "a.sarif", "junit": "a.xml", "json": "a.json", "markdown": "a.md"}
    outputs = [part for f, file in forms.items() for part in ("--output", f"{f}={file}")]
    outputs += ["--output", "text=a.txt"]
    for _ in range(2):
        assert run(["check", "a.dpm", *outputs]) == 1
        for file in (*forms.values(), "a.txt"):
            assert f"wrote {file}" in capsys.readouterr().err or (checkout / file).exists()
    assert json.loads((checkout / "a.json").read_text("utf-8"))["ok"] is False
    assert "violated" in (checkout / "a.txt").read_text("utf-8")
    model = (checkout / "a.dpm").read_bytes()
    for form in (*forms, "text"):
        assert run(["check", "a.dpm", "--output", f"{form}=a.dpm"]) == 2
        assert "DP011" in capsys.readouterr().err
        assert (checkout / "a.dpm").read_bytes() == model


def test_markdown_of_another_run_is_replaced(checkout, capsys):
    for claims in ("check survey: dp(ln 3)\n", "check survey: dp(0)\n" * 2):
        (checkout / "a.dpm").write_text(SURVEY + claims, "utf-8")
        run(["check", "a.dpm", "--output", "markdown=a.md"])
    assert (checkout / "a.md").read_text("utf-8").startswith("# dpcheck: 2 claims")


PARTS = """\
param p in (1/2, 1)
mechanism survey {
  input x in {yes, no}
  adjacent all
  y ~ bernoulli(if x = yes then p else 1 - p)
  output y
}
check survey: dp(ln 2)
check survey for p in (1/2, 2/3]: dp(ln 2)
"""


def test_claims_about_parts_of_a_parameter_have_names_of_their_own(checkout, capsys):
    (checkout / "a.dpm").write_text(PARTS, "utf-8")
    cases = ET.fromstring(written("junit", "a.dpm", capsys=capsys)[0]).iter("testcase")
    assert [case.get("name") for case in cases] == [
        "check survey for p in (1/2, 1): dp(ln 2)", "check survey for p in (1/2, 2/3]: dp(ln 2)",
    ]  # fmt: skip
    (result,) = sarif("a.dpm", capsys=capsys)["results"]
    assert " is violated for p in (2/3, 1), at 3/4: " in result["message"]["text"]


LONG_INPUT = f"""\
mechanism m {{
  input x in {{0, {10**80}}}
  adjacent all
  y ~ bernoulli(if x = 0 then 3/4 else 1/4)
  output y
}}
refute m: dp(0)
refute m: P>=1/2 [ F output = true ]
check m: P>=1/2 [ F output = true ]
check m: P in [1/2, 1] [ F output = true ]
"""


@pytest.mark.parametrize("form", ["text", "sarif", "junit", "github", "markdown"])
def test_long_numbers_of_inputs_are_shortened_wherever_they_are_told(form, checkout, capsys):
    (checkout / "a.dpm").write_text(LONG_INPUT, "utf-8")
    told = written(form, "a.dpm", capsys=capsys)[0]
    if form == "sarif":  # whose properties are for programs
        told = str([each["message"] for each in json.loads(told)["runs"][0]["results"]])
    assert str(10**80) not in told
    assert "1e+80 (81 digits)" in " ".join(told.split())


def test_an_output_that_cannot_be_written_is_no_success(checkout, capsys):
    (checkout / "a.dpm").write_text(SURVEY + "check survey: dp(ln 3)\n", "utf-8")
    assert run(["check", "a.dpm", "--output", "sarif=no/such/a.sarif"]) == 2
    assert "DP012" in capsys.readouterr().err
    (checkout / "b.dpm").write_text(SURVEY + "check survey: dp(0)\n", "utf-8")
    assert run(["check", "b.dpm"]) == 1
    assert run(["check", "b.dpm", "--output", "sarif=no/such/b.sarif"]) == 2
    assert run(["check", "b.dpm", "--max-states", "1", "--witness", "a.dpm"]) == 2
    assert run(["check", "a.dpm", "--output", "sarif"]) == 2
    assert "FORMAT=FILE" in capsys.readouterr().err
