"""The reference interpreter: it agrees with the engine, and derives witnesses from the text."""

from __future__ import annotations

import hashlib
import json
import re
from fractions import Fraction
from pathlib import Path
from random import Random
from shutil import copytree

import pytest

import dpcheck
from dpcheck.cli import run
from dpcheck.reference import Contradicted, NotCovered, Replay, answer, load
from dpcheck.reference import replay as replay_module
from dpcheck.reference.numbers import Budget, Exp, excess_sign, quotient, sign
from dpcheck.reference.replay import _tells
from dpcheck.reference.syntax import Parser, named, parsed
from dpcheck.reference.values import End, WrongProgram
from tests.chains import built_chain, chain_rows, initial_pairs
from tests.explore import test_unbounded_programs as unbounded
from tests.oracle.programs import Writer, program
from tests.oracle.reference import Program
from tests.witness.test_witness import CLAIMS, MODEL

ROOT = Path(__file__).parents[2]
MOST = 6


@pytest.mark.parametrize("seed", range(25))
def test_rows_and_neighbors_of_random_programs_are_those_of_the_chain(seed):
    text = program(Writer(Random(seed).randint))
    reference = Program(text)
    try:
        rows = reference.rows(MOST)
    except (NotCovered, WrongProgram):
        pytest.skip("a mistake in the program, or too long")
    chain = built_chain(text, "m")
    assert chain_rows(chain, MOST) == rows
    assert initial_pairs(chain) == reference.pairs()


def test_numbers_with_e_are_compared_by_their_identities():
    one = {Fraction(0): Fraction(1)}
    e, root = Exp({Fraction(1): Fraction(1)}, one), Exp({Fraction(1, 2): Fraction(1)}, one)
    assert root * root == e
    assert quotient(1 - e, 1 - root) == 1 + root
    assert sign(e * e - e - Fraction(467, 100)) == 1
    assert excess_sign(e * 3, Fraction(3), Budget(Fraction(1))) == 0
    logs = ((Fraction(2), Fraction(1, 2)),)
    assert excess_sign(Fraction(141421356, 10**8), Fraction(1), Budget(Fraction(0), logs)) == -1
    assert Budget(Fraction(0), ((Fraction(4), Fraction(1, 2)),)).exp() == 2


BEYOND = ("endless: dp(ln 2)", "group(", "compose(")


@pytest.mark.parametrize("claim", [each for each in CLAIMS if CLAIMS[each][0] != "nothing"])
def test_answers_are_those_of_the_engine(tmp_path, claim):
    model = tmp_path / "m.dpm"
    model.write_text(MODEL, "utf-8")
    target, text = claim.split(": ", 1)
    if claim.startswith(BEYOND):
        with pytest.raises(NotCovered):
            answer(load(model, tmp_path), target, None, text)
        return
    found = answer(load(model, tmp_path), target, None, text)
    assert found.holds == (CLAIMS[claim][0] == "holds"), found


@pytest.mark.parametrize(
    "value",
    ["1", "-1", "a & b", "a = b", "a < b <= c", "!a = b & c", "a | b & c => d => e",
     "if a then b else c", "(a = b)", "1..3", "a in {b, c}", "f(x = y)"],
)  # fmt: skip
def test_a_named_argument_has_the_whole_expression_behind_its_sign(value):
    assert named(parsed(f"x = {value}")) == ("x", parsed(value))


def test_nested_arguments_that_look_named_are_read_once(monkeypatch):
    read, taken = [], Parser.expression
    monkeypatch.setattr(
        Parser, "expression", lambda parser, least: read.append(1) or taken(parser, least)
    )
    parsed("f(x = " * 60 + "1" + ")" * 60)
    assert len(read) == 60 * 2 + 1


def test_a_false_input_is_not_true_where_false_is_output(tmp_path):
    model = tmp_path / "m.dpm"
    model.write_text(
        """
mechanism m {
  input y in {false, true}
  adjacent all
  z ~ bernoulli(1/2)
  output z
}
""",
        "utf-8",
    )
    assert answer(load(model, tmp_path), "m", "y = false", "P=0 [ F y ]").holds
    assert answer(load(model, tmp_path), "m", "y = true", "P=1 [ F y ]").holds
    assert answer(load(model, tmp_path), "m", "y = true", "P=1/2 [ F output = y ]").holds


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a directory with the model, and the witnesses of its violated claims in `w`."""
    place = tmp_path_factory.mktemp("made")
    claims = [claim for claim, (says, _) in CLAIMS.items() if says == "violated"]
    (place / "m.dpm").write_text(MODEL + "".join(f"refute {c}\n" for c in claims), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    return place


@pytest.fixture
def witnesses(made, tmp_path, monkeypatch, capsys):
    """Return the witnesses, copied into the working directory."""
    copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return sorted((tmp_path / "w").iterdir())


def test_every_violation_is_derived_again_from_the_text(witnesses, capsys):
    assert run(["replay", *map(str, witnesses)]) == 2
    shown, beyond = capsys.readouterr()
    assert shown.count("is violated by the text of m.dpm") == len(witnesses) - 1
    assert "is not derived again: the target group(...)" in beyond


def test_a_changed_model_is_no_model_of_the_witness(witnesses, tmp_path, capsys):
    model = tmp_path / "m.dpm"
    model.write_text(model.read_text("utf-8").replace("3/4", "4/5"), "utf-8")
    assert run(["replay", str(witnesses[0])]) == 2
    assert "DP051" in capsys.readouterr().err


def signed(fields):
    fields = {name: value for name, value in fields.items() if name != "digest"}
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return {**fields, "digest": hashlib.sha256(canonical.encode()).hexdigest()}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("ln", 0, 1), "3/2"),
        (("sides", 0, "input"), "x = maybe"),
        (("sides", 1, "input"), "x = pos"),
        (("delta",), "1/97"),
    ],
)
def test_a_forged_witness_that_verifies_is_contradicted_by_the_text(witnesses, path, value):
    fields = json.loads(next(w for w in map(Path.read_text, witnesses) if 'dp(ln 2)"' in w))
    *way, last = path
    inner = fields
    for key in way:
        inner = inner[key]
    inner[last] = value
    replay = Replay(load(Path("m.dpm"), Path.cwd()), signed(fields))
    with pytest.raises(Contradicted):
        replay.derived()


def test_rows_that_hide_an_edge_are_contradicted_by_the_text(witnesses, tmp_path, capsys):
    fields = json.loads(next(w for w in map(Path.read_text, witnesses) if 'dp(ln 2)"' in w))
    for _, steps in fields["steps"]:
        steps[:] = [step for step in steps if step[0] != 1]
    fields["sides"][1]["probability"] = "0"
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(signed(fields), separators=(",", ":")), "utf-8")
    assert run(["verify", str(forged)]) == 0
    assert run(["replay", str(forged)]) == 1
    assert "DP053" in capsys.readouterr().err


def test_an_event_of_more_outputs_than_python_recurses_is_derived_again(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    model = """mechanism waits {
      input x in 0..1  adjacent all  go := true
      while go { output tick  go ~ bernoulli(if x = 1 then 999/1000 else 998/1000) }
    }"""
    (tmp_path / "m.dpm").write_text(f"{model} refute waits: dp(3)", "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    (witness,) = (tmp_path / "w").iterdir()
    assert json.loads(witness.read_text("utf-8"))["event"] == [[["tick", 2997]]]
    assert run(["verify", str(witness)]) == 0
    capsys.readouterr()
    assert run(["replay", str(witness)]) == 0
    assert "tick (2997 times), then anything" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("text",), "dp(ln 3/2)"),
        (("text",), "dp(ln 2, 0)"),
        (("line",), 1),
        (("target",), "survey(truth = 3/4)"),
        (("at",), "x = pos"),
        (("for",), "alpha in (0, 1)"),
    ],
)
def test_a_claim_that_does_not_stand_in_its_line_is_contradicted_by_the_text(
    witnesses, path, value, tmp_path, capsys
):
    fields = json.loads(next(w for w in map(Path.read_text, witnesses) if 'dp(ln 2)"' in w))
    fields["claim"][path[0]] = value
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(signed(fields), separators=(",", ":")), "utf-8")
    assert run(["verify", str(forged)]) == 0
    assert run(["replay", str(forged)]) == 1
    assert (
        f"line {fields['claim']['line']} of the model has no such claim" in capsys.readouterr().err
    )


@pytest.mark.parametrize("shown", ["1..2", "{2, 1}", "{7, 5}", "3..3", "{3}", "{{2, 1}, 4..6}"])
def test_a_set_has_one_text_whichever_way_it_is_written(shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = f"""mechanism m {{
      input x in 0..1  adjacent all
      y ~ bernoulli(if x = 0 then 1/4 else 1/2)
      if y {{ output {shown} }}
    }}
    refute m: dp(ln(3/2))"""
    (tmp_path / "m.dpm").write_text(model, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    (witness,) = (tmp_path / "w").iterdir()
    assert run(["replay", str(witness)]) == 0, capsys.readouterr().err


def test_claims_in_a_loop_are_found_with_the_values_of_its_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    claims = """for k in 1..2, d in {1/3, -1/7} where d > 0 | k = 1 {
      refute "named" survey(truth = 3/4) at x = pos : dp(k * ln 2 - d, max(d - 1/3, 0)/k)
      refute survey : forall(y in {Y, N} : D{(1 - d)/2} [ X output = y ])
    }"""
    (tmp_path / "m.dpm").write_text(MODEL + claims, "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w"])
    files = [json.loads(each.read_text("utf-8")) for each in (tmp_path / "w").iterdir()]
    names = sorted(str(each) for each in (tmp_path / "w").iterdir())
    violated = [n for n in names if json.loads(Path(n).read_text())["says"] == "violated"]
    assert len(files) == 6
    assert len(violated) >= 4
    assert run(["replay", *violated]) == 0, capsys.readouterr()


PARAMETRIC = """
param alpha in (0, 1)
mechanism count {
  input x in 0..3
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) clamped 0..3
  output y
}
refute count for alpha in (0, 1/2]: dp(ln 2)
"""


def test_a_violation_for_a_value_of_a_parameter_is_derived_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(PARAMETRIC, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    (witness,) = (tmp_path / "w").iterdir()
    assert run(["verify", str(witness)]) == run(["replay", str(witness)]) == 0
    said = capsys.readouterr().out
    fields = json.loads(witness.read_text("utf-8"))
    assert f"with {fields['value']} is violated by the text" in said
    loaded = load(Path("m.dpm"), tmp_path, [fields["value"]])
    elsewhere = {**fields, "claim": {**fields["claim"], "for": "alpha in (1/2, 1)"}}
    beyond = load(Path("m.dpm"), tmp_path, ["alpha = 1"])
    outside = load(Path("m.dpm"), tmp_path, ["alpha = 3/4"])
    wider = {**fields, "claim": {**fields["claim"], "for": "alpha in (0, 1)"}}
    without = {name: part for name, part in fields["claim"].items() if name != "for"}
    unknown = {**fields, "value": "beta = 1/2"}
    for model, forged, why in [
        (loaded, elsewhere, "no such claim"),
        (loaded, wider, "no such claim"),
        (loaded, {**fields, "claim": without}, "no such claim"),
        (beyond, fields, "no value"),
        (outside, fields, "no value"),
        (loaded, unknown, "no parameter"),
    ]:
        replay = Replay(model, forged)
        with pytest.raises(Contradicted, match=why):
            replay.derived()


def test_a_value_of_a_parameter_is_one_that_a_claim_for_all_values_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(PARAMETRIC.replace(" for alpha in (0, 1/2]", ""), "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    (witness,) = (tmp_path / "w").iterdir()
    fields = json.loads(witness.read_text("utf-8"))
    model = load(Path("m.dpm"), tmp_path, [fields["value"]])
    assert len(Replay(model, fields).derived()) == 2
    del fields["claim"]["for"]
    with pytest.raises(Contradicted, match="no such claim"):
        Replay(model, fields).derived()


@pytest.mark.parametrize(
    ("param", "asked", "budget"),
    [
        ("eps > 0", "", "eps/2"),
        ("eps > 0", " for eps in (2 * ln 2, 3)", "ln 2"),
        ("eps > 0", " for eps in [ln 2, ln 2]", "eps/2"),
        ("eps in (-inf, inf)", "", "ln 2"),
        ("eps in (-1, inf)", " for eps in [0.5, 2.5]", "ln 2"),
    ],
)
def test_values_of_a_parameter_may_be_written_in_other_words(
    param, asked, budget, tmp_path, monkeypatch, capsys
):
    """As `> 0`, with decimals, logarithms of powers, one value, and no ends at all."""
    monkeypatch.chdir(tmp_path)
    model = f"""
param {param}
mechanism survey {{
  input x in 0..1
  adjacent all
  y ~ bernoulli(if x = 1 then exp(eps)/(1 + exp(eps)) else 1/(1 + exp(eps)))
  output y
}}
refute survey{asked}: dp({budget})
for k in 2..3 {{ refute survey for eps in [1/k, 5]: dp(ln k) }}
"""
    (tmp_path / "m.dpm").write_text(model, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    witnesses = sorted(map(str, (tmp_path / "w").iterdir()))
    assert len(witnesses) == 3
    assert run(["replay", *witnesses]) == 0, capsys.readouterr().err


NEAR = """mechanism near { input x in 0..2 adjacent abs(x - x') <= 1
  y ~ if x = 0 then {Y: 1/8, N: 7/8} else {Y: 1/2, N: 1/2}  output y }
refute near: dp(ln 2)
refute near: P<=1/4 [ X Y ]
refute compose(near, 3): dp(3 * ln 2)
refute near: D{ln 2} [ X Y ]
"""


@pytest.mark.parametrize(
    ("line", "change", "why"),
    [
        (3, lambda fields: fields["sides"][0].update(input="x = 2"), "no neighbors"),
        (
            4,
            lambda fields: fields["sides"][0].update(input="x = 0", probability="1/8"),
            "is true at these inputs",
        ),
        (4, lambda fields: fields.update(bounds=[["<=", "1/3"]]), "and these bounds"),
        (6, lambda fields: fields.update(delta="1/8"), "and these bounds"),
        (6, lambda fields: fields.update(ln=[["1", "3"]]), "and these bounds"),
        (5, lambda fields: fields["parts"][0]["outputs"][0].__setitem__(2, 9), "of a part"),
        (5, lambda fields: fields["parts"][0].update(times=2), "another number of times"),
    ],
)
def test_what_is_wrong_of_a_witness_alone_is_contradicted(tmp_path, monkeypatch, line, change, why):
    """The rest is as the text says: inputs 1 and 2 have one law, and 1/8 is the chance at 0."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(NEAR, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    fields = json.loads(Path(f"w/m-{line}-1.json").read_text("utf-8"))
    replay = Replay(load(Path("m.dpm"), tmp_path), fields)
    assert [text for text, _ in replay.derived()] == [side["input"] for side in fields["sides"]]
    change(fields)
    replay = Replay(load(Path("m.dpm"), tmp_path), fields)
    with pytest.raises(Contradicted, match=why):
        replay.derived()


@pytest.mark.parametrize("kind", ["check", "refute"])
@pytest.mark.parametrize("explain", ["full", "none"])
def test_evidence_is_about_the_pair_and_the_event_of_the_report(
    kind, explain, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    model = """mechanism counts {
      input x[1..2] in 0..3
      adjacent linf(x, x') <= 1
      for i in 1..2 { y ~ geometric(x[i], 1/2) clamped 0..3 output y }
    }
    """
    (tmp_path / "m.dpm").write_text(f"{model}check counts: dp(ln 2, 1/20)", "utf-8")
    run(["check", "m.dpm", "--format", "json", "--explain", explain])
    (told,) = json.loads(capsys.readouterr().out)["results"]
    why = told["explanation"]
    (tmp_path / "m.dpm").write_text(f"{model}{kind} counts: dp(ln 2, 1/20)", "utf-8")
    run(["check", "m.dpm", "-q", "--explain", explain, "--witness", "w"])
    (witness,) = (tmp_path / "w").iterdir()
    fields = json.loads(witness.read_text("utf-8"))
    assert [side["input"] for side in fields["sides"]] == [
        why["neighbors"]["left"],
        why["neighbors"]["right"],
    ]
    assert [each[:-1] for each in fields["event"]] == [each["outputs"] for each in why["event"]]
    capsys.readouterr()
    assert run(["replay", str(witness)]) == 0
    assert "\n  output  0, then 0\n" in capsys.readouterr().out


def test_frequencies_of_drawn_runs_are_near_the_exact_chance(witnesses, capsys):
    survey = next(w for w in witnesses if 'dp(ln 2)"' in w.read_text("utf-8"))
    assert run(["replay", str(survey), "--simulate", "500", "--seed", "1"]) == 0
    first = capsys.readouterr().out
    assert run(["replay", str(survey), "--simulate", "500", "--seed", "1"]) == 0
    assert capsys.readouterr().out == first
    assert "95 % confidence from 0." in first


def test_runs_of_every_violation_are_drawn_but_those_of_compositions(witnesses, capsys):
    """Paths of chains and parts of conjunctions too; and by chance no interval is far off."""
    run(["replay", *map(str, witnesses), "--simulate", "1000"])
    told = capsys.readouterr().out
    assert told.count("no runs were drawn: they are those of a composition") == 3
    chance = r"[ =≈](?P<p>[\d./]+)\n    drawn .* = (?P<k>[\d.e-]+), 95 %"
    drawn = [(float(Fraction(m["p"])), float(m["k"])) for m in re.finditer(chance, told)]
    assert len(drawn) > 20
    assert all(abs(p - k) <= 4 * (p * (1 - p) / 1000) ** 0.5 for p, k in drawn)


def test_a_path_that_nothing_decides_is_not_drawn_for_ever(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = """chain ring { state a  state b  init a  a -> 1: b  b -> 1: a }
    refute ring: P<1/2 [ G (a | b) ]"""
    (tmp_path / "m.dpm").write_text(text, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    capsys.readouterr()
    assert run(["replay", *map(str, sorted(Path("w").iterdir())), "--simulate", "20"]) == 0
    told = capsys.readouterr().out
    assert "drawn 20 of 20" not in told
    assert "no runs were drawn: a path is not decided in 10,000 steps" in told


def test_evidence_that_a_claim_holds_is_not_derived_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(MODEL + "check survey: dp(ln 3)", "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w"])
    (tmp_path / "m.dpm").write_text(MODEL + "check survey: epsilon = ln 3", "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w2"])
    capsys.readouterr()
    files = [next((tmp_path / name).iterdir()) for name in ("w", "w2")]
    assert run(["replay", *map(str, files)]) == 2
    told = capsys.readouterr()
    rest = "only violations are derived from the model's text"
    assert told.out == (
        f"{files[0]}: proved: survey: dp(ln 3): holds on the chain in the file; {rest}\n"
        f"{files[1]}: survey: epsilon = ln 3: not proved here: claims of this kind have none, only"
        f" dp and formulas P and D do; {rest}\n"
    )
    assert not told.err


@pytest.mark.parametrize(
    ("declared", "body", "shown"),
    [
        ("fun f(a, b) = if a then b else 0", "output f(x = 0 & true, 2)", ["2", "0"]),
        ("dist d(c) = if c then {1: 1} else {2: 1}", "y ~ d(x = 1) output y", ["2", "1"]),
    ],
)
def test_an_argument_that_looks_named_is_a_comparison_where_nothing_has_names(
    declared, body, shown
):
    program = Program(f"{declared} mechanism m {{ input x in 0..1 adjacent all {body} }}")
    assert [output for row in program.rows() for (output,), _ in row] == shown


def test_an_analyst_is_not_covered_even_where_a_condition_reads_the_choices(tmp_path):
    (tmp_path / "m.dpm").write_text(
        "mechanism m { input x in 0..1 adjacent all\n  query c in {a, b} fixed\n  output x }",
        "utf-8",
    )
    with pytest.raises(NotCovered, match="analyst"):
        answer(load(tmp_path / "m.dpm", tmp_path), "m", "c[1] = a", "delta(0) = 1")


@pytest.mark.parametrize("step", ["assume (x <= 1)", "assume", "assume[x]", "(1, 2)"])
def test_a_step_that_is_no_statement_is_refused_and_no_break(step):
    text = "mechanism m { input x in 0..1 adjacent all\n  for i in 1..2 { output i STEP } }"
    assert Program(text.replace("STEP", "break")).rows() == [{(("1",), "stopped"): 1}] * 2
    with pytest.raises((NotCovered, WrongProgram)):
        Program(text.replace("STEP", step)).rows()


def test_a_mistake_in_one_clause_is_not_hidden_by_another():
    text = "mechanism m { input x in 0..1 adjacent x = x' - 1 adjacent 1/(x' - 1) > 0 output x }"
    with pytest.raises(WrongProgram):
        Program(text).pairs()


@pytest.mark.parametrize("seed", range(6))
def test_noise_without_bounds_has_the_chances_of_the_chain_within_what_is_left_out(seed):
    text = unbounded.Writer(seed, "unbounded").program()
    exact = dpcheck.loads(text).target("m").output_distributions()
    (model,) = Program(text).loaded.target("m", reach=5)
    for point in model.points:
        chances = exact[model.text_of(point)]
        low, left_out = dict.fromkeys(chances, Fraction(0)), Fraction(0)
        for (outputs, status), p in model.row(model.start(point), 9).items():
            shown = ", ".join(outputs) or "(no output)"
            if status is End.UNKNOWN:
                left_out += p
            else:
                low[next((far for far in low if _tells(far, shown)), shown)] += p
        assert 0 < left_out < Fraction(1, 1000)
        assert all(low[shown] <= p <= low[shown] + left_out for shown, p in chances.items())


def test_numbers_in_a_cell_are_among_those_that_its_text_tells():
    assert _tells("(a, in -9..-3, 1/2)", "(a, -4, 1/2)")
    assert not _tells("(a, in -9..-3, 1/2)", "(a, -2, 1/2)")
    assert not _tells("(a1, in 3..9)", "(a2, 4)")
    assert not _tells("(in 3..9, 1)", "(s4, 1)")


UNBOUNDED = """
fun center(x, y) = 2*x - y
dist loud(c) = geometric(c, exp(-1)) unbounded
mechanism noisy { input x in 0..1 adjacent all  y ~ geometric(x, 1/2) unbounded  output y }
mechanism m {
  input x in 0..2
  input y in 0..1
  adjacent x != x'
  z ~ geometric(center(x, y), 1/3) unbounded
  w ~ geometric_positive(1/2) unbounded
  if z > w { output (x, big) } else { output (y, z) stop }
  v ~ loud(x)
  output v
}
mechanism called { input x in 0..1 adjacent all  y ~ noisy(x = x)  output y > 3 }
mechanism shown { input x in 0..1 adjacent all
  y ~ geometric(x, 1/2) unbounded  if y >= 5 { output y } else { output hidden } }
refute m: dp(ln 2)
refute m: dp(ln 2, 1/50)
refute called: dp(ln(3/2))
refute noisy: dp(ln(3/2), 1/100)
refute shown: dp(ln(3/2))
refute shown: dp(0, 1/48 - 1/10^60)
refute noisy: D{0} [ X output > 5 ]
"""


def test_bounds_decide_noise_without_bounds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(UNBOUNDED, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    *derived, _ = files = sorted(map(str, (tmp_path / "w").iterdir()))
    capsys.readouterr()
    assert run(["verify", *files]) == 0
    assert run(["replay", *derived]) == 0, capsys.readouterr()
    told = capsys.readouterr().out
    assert told.count("is violated by the text of m.dpm") == len(derived) == 6
    assert told.count(" and at most ") == 2 * len(derived)
    assert run(["replay", derived[0], "--simulate", "9"]) == 0
    assert capsys.readouterr().out.endswith("\n  no runs were drawn: noise without bounds\n")
    assert run(["replay", files[-1]]) == 2
    assert "noise without bounds" in capsys.readouterr().err


MANY = """
mechanism anywhere {
  input q[2..3] in integers
  public x in {true, 1, top, (top, 1)}
  adjacent linf(q, q') <= 1
  for i in 2..3 { z ~ geometric(q[i], 1/2) unbounded  output z > 0 }
}
mechanism many {
  input q[1..5] in {3 * j for j in 0..50} where sum(q) > 9
  public u in {-1, 1/2}
  adjacent l1(q, q') <= 3
  y ~ geometric(q[2], 1/2) clamped 70..80
  output y
}
check anywhere: dp(ln 2)
check many: dp(ln 2)
refute many: dp(ln 2, 1/100)
"""


def test_what_some_of_too_many_inputs_violate_is_derived_again(tmp_path, monkeypatch, capsys):
    """Neither interpreter lists all inputs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(MANY, "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w", "--max-states", "2000"])
    files = sorted(map(str, (tmp_path / "w").iterdir()))
    capsys.readouterr()
    assert run(["verify", *files]) == 0
    assert run(["replay", *files]) == 0, capsys.readouterr()
    assert capsys.readouterr().out.count("is violated by the text of m.dpm") == len(files) == 3


@pytest.mark.parametrize(
    ("input_text", "is_one"),
    [
        ("q = [0, -12], x = true", True),
        ("q = [0, -12], x = (top, 1)", True),
        ("q = [0, -12], x = 1", True),
        ("q = [0, -12], x = 2", False),
        ("q = [0, -12], x = top2", False),
        ("q = [0, -12]", False),
        ("q = [0], x = 1", False),
        ("q = [0, 1, 2], x = 1", False),
        ("q = [0, 012], x = 1", False),
        ("q = [0, 1/2], x = 1", False),
        ("q = 0, x = 1", False),
        ("start", False),
        ("", False),
    ],
)
def test_a_text_is_an_input_or_none(input_text, is_one, tmp_path):
    (tmp_path / "m.dpm").write_text(MANY, "utf-8")
    (target,) = load(tmp_path / "m.dpm", tmp_path).target("anywhere")
    point = target.point_of(input_text)
    assert (point is not None) is is_one
    assert point is None or target.text_of(point) == input_text


def test_bounds_that_are_too_far_apart_decide_nothing(tmp_path, monkeypatch):
    """The least delta is 1/96: nothing is claimed of what is nearer than what is left out."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(UNBOUNDED, "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w"])
    witness = next(w for w in map(Path.read_text, Path("w").iterdir()) if "10^60" in w)
    monkeypatch.setattr(replay_module, "REACHES", [4, 16, 64])
    replay = Replay(load(Path("m.dpm"), tmp_path), json.loads(witness))
    with pytest.raises(NotCovered, match="noise more than 64 from its center"):
        replay.derived()
    wrong = json.loads(witness)
    wrong["sides"][0]["probability"] = "1/7"
    with pytest.raises(Contradicted, match="is another one"):
        Replay(load(Path("m.dpm"), tmp_path), wrong).derived()


def test_a_composition_of_what_is_not_there_is_not_covered(tmp_path):
    (tmp_path / "m.dpm").write_text(MODEL, "utf-8")
    with pytest.raises(NotCovered):
        answer(load(tmp_path / "m.dpm", tmp_path), "compose(nothing(k = 1), 2)", None, "dp(1)")


def test_what_the_command_line_defined_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = "const k = 2\n" + PARAMETRIC.replace("0..3", "0..k").replace("ln 2", "0")
    (tmp_path / "m.dpm").write_text(model, "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w", "-D", "k=3"])
    (witness,) = (tmp_path / "w").iterdir()
    capsys.readouterr()
    assert run(["replay", str(witness)]) == 0
    said = json.loads(witness.read_text("utf-8"))["value"]
    assert f"dp(0) with k=3, {said} is violated by the text of m.dpm" in capsys.readouterr().out


CHAIN_OF_NAMES = """chain c {
  state z : s1
  state s0
  state s1
  state y : a
  state n : b
  s0 -> 1: y
  s1 -> 1/2: y + 1/2: n
  z -> 1: n
  adjacent s0 ~ s1
  INIT
  observe a, b
}
"""


@pytest.mark.parametrize(
    "claim", ["delta(0) = 1/2", "dp(ln 2)", "at s1: P=1/2 [ X a ]", "at s1: P=1 [ s1 ]"]
)
@pytest.mark.parametrize("init", ["", "init s1", "init s0, z"])
def test_the_name_of_a_state_is_that_state_where_others_have_it_as_a_label(
    claim, init, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    at = claim if claim.startswith("at") else f": {claim}"
    text = CHAIN_OF_NAMES.replace("INIT", init) + f"check c {at}\n"
    agrees_and_is_derived_again(text, capsys)


@pytest.mark.parametrize(
    "text",
    [
        """chain c { state s0  state s1  state y : a  s0 -> 1: y
        adjacent s0 ~ s1  init s0  observe a }
        check c: dp(ln 3)
        check c: D{ln 3} [ X a ]
        check c: epsilon = inf
        check c at s1: delta(0) = 1
        check c at s1: D{0, 1/2} [ X a ]""",
        """mechanism m { public s[1..2] in 0..1  input x in 0..2  public t in 0..1
        adjacent (0, 1), (2, 1)  output (if x = t then s[1] else 2) }
        check m: epsilon = inf
        check m: dp(ln 3)
        check m: D{ln 3} [ X output = 2 ]""",
    ],
)
def test_neighbors_are_initial_or_not_and_agree_on_what_is_public(
    text, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    agrees_and_is_derived_again(text, capsys)


def test_a_label_after_at_picks_initial_states(tmp_path):
    text = CHAIN_OF_NAMES.replace("INIT", "init s0")
    (tmp_path / "m.dpm").write_text(text, "utf-8")
    loaded = load(tmp_path / "m.dpm", tmp_path)
    assert answer(loaded, "c", "a", "P=0 [ X a ]").covered.startswith("all 0 inputs")


def agrees_and_is_derived_again(text, capsys):
    """Check a text with second opinions, and replay the witnesses of its violations."""
    Path("m.dpm").write_text(text, "utf-8")
    code = run(["check", "m.dpm", "--second-opinion", "--witness", "w"])
    told, errors = capsys.readouterr()
    assert code in (0, 1), told + errors
    assert told.count("second opinion  agrees") == text.count("check")
    files = [file for file in Path("w").iterdir() if '"says":"violated"' in file.read_text("utf-8")]
    assert run(["replay", *map(str, files)]) == 0 if files else code == 0, capsys.readouterr()


@pytest.mark.parametrize("at", ["", " at s0"])
def test_a_state_that_a_claim_does_not_ask_about_violates_nothing(at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = CHAIN_OF_NAMES.replace("INIT", "init s0").replace("1: y", "1/4: y + 3/4: n")
    Path("m.dpm").write_text(f"{text}refute c at s1: P<=1/3 [ X a ]", "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    (witness,) = Path("w").iterdir()
    fields = json.loads(witness.read_text("utf-8"))
    assert Replay(load(Path("m.dpm"), tmp_path), fields).derived()
    Path("m.dpm").write_text(f"{text}refute c{at}: P<=1/3 [ X a ]", "utf-8")
    del fields["claim"]["at"]
    forged = {**fields, "claim": {**fields["claim"], **({"at": "s0"} if at else {})}}
    with pytest.raises(Contradicted, match="about none of these inputs"):
        Replay(load(Path("m.dpm"), tmp_path), forged).derived()


def test_a_loop_without_sense_around_other_claims_is_in_nobody_s_way(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = """mechanism m(n = 2) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ {0: 1/(x+2), 1: 1 - 1/(x+2)}
  output y
}
for i in 1..unknown { check m(n = i): dp(ln 2) }
for i in 1..2 where i > 1 {
  check m(n = i): dp(0)
}
"""
    Path("m.dpm").write_text(model, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 2
    (witness,) = Path("w").iterdir()
    assert run(["replay", str(witness)]) == 0
    assert "is violated by the text of m.dpm:9" in capsys.readouterr().out
