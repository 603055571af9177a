"""The command as a process: streams, exit status, speed, and what happens when things go wrong."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from dpcheck.cli import run
from dpcheck.cli.options import _states
from tests.checking import called

SURVEY = """\
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ {Y: if x = pos then truth else 1 - truth, N: if x = pos then 1 - truth else truth}
  output y
}
"""
TRUE_CLAIM = SURVEY + "check survey: dp(ln 3)\n"
FALSE_CLAIM = SURVEY + "check survey: dp(ln 2)\n"
ENDLESS = """\
mechanism walk {
  input x in {0, 1}
  adjacent all
  n := x
  while n < 3000000 { c ~ bernoulli(1/2); if c { n := n + 1 } output c }
}
check walk: P>=0 [ F stopped ]
"""
SCHEMA = json.loads((files("dpcheck.report") / "schema" / "results-1.json").read_text("utf-8"))


def process(*arguments, cwd=None, **options):
    """Run dpcheck in a process of its own, as a user would."""
    return subprocess.run(
        [sys.executable, "-m", "dpcheck", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.dpm").write_text(TRUE_CLAIM, "utf-8")
    (tmp_path / "wrong.dpm").write_text(FALSE_CLAIM, "utf-8")
    (tmp_path / "broken.dpm").write_text("mechanism {", "utf-8")
    return tmp_path


def json_of(run):
    report = json.loads(run.stdout)
    jsonschema.validate(report, SCHEMA)
    return report


# --- exit status ---------------------------------------------------------------------------


def test_all_as_claimed_ends_with_0(folder):
    run = process("check", "good.dpm", cwd=folder)
    assert (run.returncode, run.stderr) == (0, "")
    assert "holds" in run.stdout


def test_a_violated_check_ends_with_1(folder):
    run = called("check", "wrong.dpm", "good.dpm", cwd=folder)
    assert run.returncode == 1
    assert "violated" in run.stdout


def test_bad_input_ends_with_2_and_other_files_are_still_checked(folder):
    run = process("check", folder)
    assert run.returncode == 2
    assert "broken.dpm" in run.stderr
    assert "good.dpm" in run.stdout
    assert "wrong.dpm" in run.stdout


def test_a_limit_ends_with_3(folder):
    (folder / "endless.dpm").write_text(ENDLESS, "utf-8")
    run = called("check", "endless.dpm", "--max-states", "1000", cwd=folder)
    assert run.returncode == 3
    assert "undecided" in run.stdout
    assert "--max-states" in run.stdout


def test_a_violation_outweighs_a_limit(folder):
    (folder / "endless.dpm").write_text(ENDLESS, "utf-8")
    run = called("check", "endless.dpm", "wrong.dpm", "--max-states", "1000", cwd=folder)
    assert run.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("check", "--no-such-option", "good.dpm"),
        ("check", "good.dpm", "--max-states", "0"),
        ("check", "good.dpm", "--max-states", "many"),
        ("check", "good.dpm", "--timeout", "-1"),
        ("check", "good.dpm", "--total-timeout", "soon"),
        ("check", "good.dpm", "--max-memory", "0"),
        ("check", "good.dpm", "--max-memory", "much"),
        ("check", "good.dpm", "--timeout", "nan"),
        ("check", "good.dpm", "--format", "xml"),
        ("check", "good.dpm", "-D", "n"),
        ("check", "good.dpm", "-D", "n=1"),
        ("check", "good.dpm", "--select", "nothing"),
        ("check", "good.dpm", "no_such.dpm"),
        ("explain", "DP000"),
        ("no-such-command",),
    ],
)
def test_a_wrong_call_ends_with_2_and_words(folder, arguments):
    run = called(*arguments, cwd=folder)
    assert run.returncode == 2
    assert run.stderr.strip()
    assert "Traceback" not in run.stderr


# --- options -------------------------------------------------------------------------------


def test_select_matches_names_targets_and_claims(folder):
    (folder / "many.dpm").write_text(
        SURVEY
        + 'check "first one" survey: dp(ln 3)\n'
        + "for k in 2..3 { check survey(truth = k/(k + 1)): epsilon = ln k }\n",
        "utf-8",
    )

    def claims(pattern):
        run = called("check", "many.dpm", "--format", "json", "--select", pattern, cwd=folder)
        return [result["claim"] for result in json_of(run)["results"]]

    assert claims("first*") == ["dp(ln 3)"]
    assert len(claims("survey")) == 3
    assert len(claims("survey(*")) == 2
    assert len(claims("epsilon*")) == 2
    assert claims("epsilon = ln 2") == ["epsilon = ln 2"]


def test_constants_come_from_the_command_line(folder):
    (folder / "const.dpm").write_text(
        "const t = 3/4\n" + SURVEY + "compute survey(truth = t): epsilon\n", "utf-8"
    )

    def value(*arguments):
        run = called("check", "const.dpm", "--format", "json", *arguments, cwd=folder)
        return json_of(run)["results"][0]["value"]["exact"]

    assert value() == "ln(3)"
    assert value("-D", "t=4/5") == "ln(4)"
    assert value("-D", "t = 2/3") == "ln(2)"


def test_a_constant_of_other_letters_is_offered(tmp_path):
    path = tmp_path / "n.dpm"
    path.write_text("const n = 3\nmechanism m { input x in 0..1 adjacent all output n }\n")
    assert "did you mean `n`?" in called("check", str(path), "-D", "N=3").stderr


def test_the_end_says_how_to_read_more_of_explanations_in_short(folder):
    claims = "\n".join(f"check survey: dp({k}/100)" for k in range(7))
    (folder / "many.dpm").write_text(f"import std.survey\n{claims}\n", "utf-8")
    said = "violated claims explained in short: --select GLOB tells"
    assert f"\n2 {said}" in process("check", "many.dpm", cwd=folder).stdout
    for arguments in (
        ["--select", "dp(3/100)"],
        ["--explain", "short"],
        ["--output", "html=a.html"],
    ):
        assert "in short" not in process("check", "many.dpm", *arguments, cwd=folder).stdout


def test_quiet_prints_only_what_is_not_as_claimed(folder):
    assert called("check", "-q", "good.dpm", cwd=folder).stdout == ""
    assert "violated" in called("check", "-q", "wrong.dpm", cwd=folder).stdout


def test_a_file_named_twice_is_checked_once(folder):
    run = called("check", "good.dpm", folder / "good.dpm", "--format", "json", cwd=folder)
    assert len(json_of(run)["results"]) == 1


def test_timeout_is_for_each_claim(folder):
    (folder / "slow.dpm").write_text(ENDLESS + TRUE_CLAIM, "utf-8")
    started = time.monotonic()
    run = called("check", "slow.dpm", "--timeout", "1", "--format", "json", cwd=folder)
    assert time.monotonic() - started < 60
    verdicts = {result["target"]: result["verdict"] for result in json_of(run)["results"]}
    assert verdicts == {"walk": "undecided", "survey": "holds"}
    assert run.returncode == 3


# --- JSON ----------------------------------------------------------------------------------


def test_json_follows_its_schema_and_the_language_page(folder):
    run = called("check", "wrong.dpm", "--format", "json", cwd=folder)
    report = json_of(run)
    assert (report["schema"], report["ok"]) == (1, False)
    (result,) = report["results"]
    assert {key: result[key] for key in ("file", "line", "name", "kind", "target", "claim")} == {
        "file": "wrong.dpm",
        "line": 7,
        "name": None,
        "kind": "check",
        "target": "survey",
        "claim": "dp(ln 2)",
    }
    assert (result["verdict"], result["ok"], result["vacuous"]) == ("violated", False, False)
    assert (result["states"], result["transitions"], result["neighbor_pairs"]) == (4, 4, 1)
    found = result["counterexample"]
    assert (found["states"], found["event"]) == (["x = pos", "x = neg"], ["Y"])
    assert (found["probabilities"], found["ratio"]) == (["3/4", "1/4"], "3")
    assert found["excess"] == {"exact": "1/4", "decimal": "0.25"}


def test_json_counts_no_pairs_where_a_limit_kept_the_chain_from_being_finished(folder):
    (folder / "endless.dpm").write_text(ENDLESS, "utf-8")
    run = called("check", "endless.dpm", "--max-states", "9", "--format", "json", cwd=folder)
    (result,) = json_of(run)["results"]
    assert (result["states"], result["transitions"], result["neighbor_pairs"]) == (None,) * 3


def test_json_keeps_the_numbers_of_a_chain_that_stands_when_a_limit_is_met(folder, monkeypatch):
    from dpcheck.limits import Limit, LimitReached
    from dpcheck.pipeline import run  # noqa: F401 - what imports the function keeps the right one
    from dpcheck.pipeline.claims import explorations
    from tests.checking import check_text

    def stopped(*arguments, **options):
        raise LimitReached(Limit("time", 1), "labels")

    monkeypatch.setattr(explorations, "measures_of", stopped)
    (result,) = check_text(TRUE_CLAIM)["results"]
    assert (result["verdict"], result["states"], result["neighbor_pairs"]) == ("undecided", 4, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "json"], "missing argument"),
        (["--format", "json", "--max-states", "abc", "good.dpm"], "--max-states"),
        (["--timeout", "nan", "good.dpm", "--format=json"], "--timeout"),
        (["--no-such", "--format", "json", "good.dpm"], "--no-such"),
    ],
)
def test_json_says_what_is_wrong_with_a_call(folder, capsys, arguments, said):
    from dpcheck import cli

    assert cli.run(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    report = json.loads(out)
    jsonschema.validate(report, SCHEMA)
    assert (report["ok"], report["results"], err) == (False, [], "")
    (error,) = report["errors"]
    assert error["code"] == "DP016"
    assert said in error["message"].lower()


def test_a_file_that_is_named_like_the_option_is_no_option(folder, capsys):
    from dpcheck import cli

    assert cli.run(["check", "--no-such", "--", "--format", "json"]) == 2
    assert capsys.readouterr().out == ""


def test_json_lists_mistakes_beside_results(folder):
    run = called("check", folder, "--format", "json")
    report = json_of(run)
    assert run.returncode == 2
    assert not report["ok"]
    assert len(report["results"]) == 2
    error = report["errors"][0]
    assert error["code"].startswith("DP")
    assert error["file"].endswith("broken.dpm")
    assert (error["line"], error["column"]) == (1, 11)


# --- streams -------------------------------------------------------------------------------


def test_without_a_terminal_there_is_no_color_and_no_progress(folder):
    run = process("check", folder)
    assert "\x1b" not in run.stdout + run.stderr
    assert "\r" not in run.stdout + run.stderr


def test_an_ascii_terminal_gets_ascii(folder):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = process("check", "wrong.dpm", cwd=folder, env=environment)
    assert run.returncode == 1
    assert run.stdout.isascii()
    assert "?" not in run.stdout


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no such signal here")
def test_a_reader_that_goes_away_is_no_drama(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcheck", "check", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    stderr = process.stderr.read()
    process.stderr.close()
    assert process.wait() == -signal.SIGPIPE
    assert "Traceback" not in stderr


@pytest.mark.skipif(os.name != "posix", reason="sends an interrupt")
def test_an_interrupt_keeps_the_results_and_ends_with_130(folder):
    (folder / "later.dpm").write_text(ENDLESS, "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcheck", "check", "good.dpm", "later.dpm"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stdout.readline()
    while "holds" not in line:
        line = process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.strip().count("\n") == 0
    assert "interrupted" in stderr


@pytest.mark.skipif(os.name != "posix", reason="changes permissions")
def test_a_read_only_directory_is_fine(folder):
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert called("check", "good.dpm", cwd=folder).returncode == 0
    finally:
        folder.chmod(stat.S_IRWXU)


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_color_unless_the_user_says_no(folder, no_color):
    import pty

    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    if no_color:
        environment["NO_COLOR"] = "1"
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcheck", "check", "good.dpm"],
        cwd=folder,
        stdout=secondary,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    os.close(secondary)
    shown = b""
    while True:
        try:
            part = os.read(primary, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(primary)
    assert process.wait() == 0
    assert (b"\x1b[32m" in shown) is not no_color


# --- bugs ----------------------------------------------------------------------------------


def test_a_bug_ends_with_70_and_loses_no_result(folder, monkeypatch, capsys):
    from dpcheck import cli
    from dpcheck.pipeline.claims import outcomes

    def broken(*arguments, **options):
        raise AssertionError("an invariant is broken")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(outcomes, "decide", broken)
    status = cli.run(["check", "good.dpm", "broken.dpm"])
    _, err = capsys.readouterr()
    assert status == 70
    assert "an invariant is broken" in err
    assert "report" in err
    assert "error[DP" in err


def test_a_missing_package_is_said_to_be_missing_and_no_bug(folder):
    program = (
        "import sys; sys.modules['flint'] = None; from dpcheck.cli import run;"
        "sys.exit(run(['check', 'good.dpm']))"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 70
    assert "A package that dpcheck needs is missing" in ended.stderr
    assert "bug" not in ended.stderr


@pytest.mark.parametrize("way", [["good.dpm"], ["--format", "text", "good.dpm"]])
def test_a_call_without_options_checks_as_the_defaults_of_the_options_say(
    folder, monkeypatch, capsys, way
):
    from dpcheck import cli
    from dpcheck.cli import checking
    from dpcheck.cli.checking import trusted_cache
    from dpcheck.cli.memory import available_memory
    from dpcheck.limits import run_limits
    from dpcheck.pipeline.options import Options

    seen = []

    def told(paths, options, tell):
        seen.append((list(paths), options))
        yield from ()

    monkeypatch.chdir(folder)
    monkeypatch.setattr(checking, "_events", told)
    assert cli.run(["check", *way]) == 0
    defaults = run_limits(max_memory=available_memory())
    kept = trusted_cache(["good.dpm"], None)
    assert seen == [(["good.dpm"], Options(limits=defaults, cache=kept))]


@pytest.mark.parametrize("arguments", [["check"], ["check", "--", "-a.dpm"]])
def test_a_call_without_files_or_with_dashes_is_read_by_its_options(folder, capsys, arguments):
    from dpcheck import cli

    assert cli.run(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["check", "good.dpm"], ["check", "-q", "good.dpm"]])
def test_an_interrupt_before_anything_is_found_ends_with_130(
    folder, monkeypatch, capsys, arguments
):
    from dpcheck import cli
    from dpcheck.cli import checking

    def interrupted(paths, options, tell):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(checking, "_events", interrupted)
    assert cli.run(arguments) == 130
    assert "interrupted" in capsys.readouterr().err


# --- speed ---------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from dpcheck.cli import run; run(['--help']);"
        "heavy = {'numpy', 'flint', 'scipy', 'networkx', 'sympy', 'rich', 'lark'};"
        "sys.exit(sorted(heavy & set(sys.modules)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (run.returncode, run.stderr) == (0, b"")


def test_a_verdict_imports_nothing_it_does_not_need(folder):
    program = (
        "import sys; from dpcheck.cli import run; run(['check', 'good.dpm']);"
        "heavy = {'scipy', 'networkx', 'sympy', 'rich', 'lark', 'jsonschema'};"
        "heavy |= {'click', 'tempfile', 'csv', 'difflib', 'dpcheck.solve'};"
        "sys.exit(sorted(heavy & set(sys.modules)) or 0)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("arguments", [["check"], ["check", "--format", "json"]])
def test_an_output_that_cannot_be_written_is_said_in_a_line(folder, arguments):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "dpcheck", *arguments, str(folder)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        "dpcheck: cannot write the output: No space left on device"
    )
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize(
    "arguments", ["check no_such.dpm", "check --no-such-option x", "explain DP000", "pmf no m"]
)
@pytest.mark.parametrize("stdout", ["/dev/null", "/dev/full"])
def test_complaints_that_cannot_be_written_keep_the_exit_status(folder, arguments, stdout):
    full = f"{sys.executable} -m dpcheck {arguments} 2>/dev/full >{stdout}"
    assert subprocess.run(full, shell=True, cwd=folder, check=False).returncode == 2


def test_a_closed_output_keeps_the_exit_status(folder):
    closed = f"{sys.executable} -m dpcheck check {folder} >&-"
    ended = subprocess.run(closed, shell=True, capture_output=True, text=True, check=False)
    assert ended.returncode == process("check", str(folder)).returncode
    assert "Traceback" not in ended.stderr


def test_a_table_is_written_for_constants_and_within_limits(tmp_path):
    model = tmp_path / "m.dpm"
    model.write_text(
        "const n = 3 mechanism m { input x in 0..n adjacent abs(x - x') <= 1"
        " y ~ geometric(x, 1/2) clamped 0..n output y }"
    )
    small = called("pmf", str(model), "m", "-D", "n=1", "--format", "csv")
    assert small.stdout.splitlines()[:2] == ["row,x = 0,0,2/3", "row,x = 0,1,1/3"]
    assert called("pmf", str(model), "m", "--max-states", "2").returncode == 3
    assert called("pmf", str(model), "m", "-D", "n").returncode == 2
    assert called("pmf", str(model), "m", "-D", "k=1").returncode == 2


def test_a_drawing_says_where_it_is_and_replaces_no_other_file(tmp_path):
    model, drawing = tmp_path / "m.dpm", tmp_path / "m.svg"
    text = "mechanism m { input x in 0..1 adjacent all output x } mechanism n { output 1 }"
    model.write_text(text)
    asked = ("profile", str(model), "--target", "m", "--svg")
    for _ in range(2):  # its own drawing may be replaced
        drawn = called(*asked, str(drawing))
        assert drawn.returncode == 0
        assert drawn.stderr == f"dpcheck: wrote {drawing}\n"
    assert drawing.read_text().startswith("<svg")
    refused = called(*asked, str(model))
    assert refused.returncode == 2
    assert "error[DP011]" in refused.stderr
    assert model.read_text() == text
    lost = called(*asked, str(tmp_path / "no" / "x.svg"))
    assert lost.returncode == 2
    assert "error[DP012]" in lost.stderr
    several = called("profile", str(model), "--svg", str(drawing))
    assert several.returncode == 2
    assert "error[DP016]" in several.stderr


def test_a_mistake_in_a_target_stands_once_where_somebody_wrote_it(tmp_path, capsys):
    model = tmp_path / "m.dpm"
    model.write_text(
        "mechanism m { input x in integers adjacent abs(x - x') <= 1\n"
        "  y ~ geometric(x, 1/2) unbounded  output y }\n"
        "param p in (0, 1)\n"
        "mechanism s { input x in 0..1 adjacent all y ~ {0: p, 1: 1 - p} output y }\n"
    )
    told = {}
    for command in (
        ["quantities", str(model), "--target", "nope"],
        ["profile", str(model), "--target", "s(k = 1)"],
        ["profile", str(model), "--target", "m"],
        ["profile", str(model)],
        ["pmf", str(model), "nope"],
        ["pmf", str(model), "s"],
    ):
        assert run(command) == 2
        out, err = capsys.readouterr()
        assert not (out and command[0] == "quantities")
        told[" ".join(command)] = err.split("error[")[1:]
    assert [len(each) for each in told.values()] == [1] * 6
    places = [each[0].splitlines()[1].partition("--> ")[2] for each in told.values()]
    assert places == [
        *("--target:1:1", "--target:1:3", "--target:1:1"),
        *(f"{model}:1:11", "TARGET:1:1", "TARGET:1:1"),
    ]


@pytest.mark.parametrize(
    ("number", "states"), [("10^4", 10_000), ("2e3", 2_000), ("5_000", 5_000), ("7", 7)]
)
def test_a_number_of_states_may_be_a_power(number, states):
    assert _states(number) == states


@pytest.mark.parametrize("number", ["0", "-3", "10^99", "1e400", "9^^9", "many"])
def test_no_other_number_of_states_is_taken(number):
    run = called("check", "x.dpm", "--max-states", number)
    assert run.returncode == 2
    assert f"'{number}' is not a number of states, such as 10000000 or 10^8." in run.stderr
