"""Analysts: fixed queries are public inputs here too, and witnesses about them replay."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dpcheck.cli import run
from dpcheck.reference import Contradicted, NotCovered, Replay, answer, load
from dpcheck.verify import verify
from tests.test_analysts import adaptive_and_written_out
from tests.witness.test_witness import signed

MODEL = """
mechanism twice(how = 0) {
  input x in 0..1
  adjacent all
  for i in 1..2 {
    query c in {low, high, gamble} fixed
    b ~ bernoulli(if c = low then 3/5 else if c = high then 3/4 else 1/10)
    if c = gamble { if b { output (bit, x) } else { output none } }
    else { output if b then x else 1 - x }
  }
}
mechanism sometimes {
  public big in 0..1
  input x in 0..1
  adjacent all
  if big = 1 { query c in {(low, 1), (high, 2)} fixed  y ~ bernoulli(c[2]/4)  output y = (x = 1) }
  query d in 1..2 fixed
  output if d = 1 then x > 5 else big
}
mechanism for_ever {
  input x in 0..1
  adjacent all
  going := true
  while going {
    query c in {low, high} fixed
    b ~ bernoulli(if c = low then 3/5 else 3/4)
    output if b then x else 1 - x
    going ~ bernoulli(9/10)
  }
}
"""
REFUTED = (
    "twice: dp(ln 2)",
    "twice: dp(ln 2, 1/10)",
    "twice at c[1] = gamble & c[2] = low : dp(ln(3/2))",
    "twice: P<=1/2 [ X output = x ]",
    "twice: D{ln 2} [ X X output = 1 ]",
    "sometimes: dp(ln(3/2), 1/50)",
    "sometimes: D{ln(3/2)} [ X output = true ]",
    "for_ever: dp(ln 2)",
    "for_ever: dp(ln 3, 1/10)",
    "for_ever at c[2] = low : dp(ln 3)",
    "for_ever: P<=1/2 [ F<=3 output != x ]",
    "for_ever: P<=4/5 [ F output != x ]",
    "for_ever: D{ln 3} [ X (output = 1 & X output = 1) ]",
)


def written(tmp_path, monkeypatch, text):
    """Return a model's witnesses, in the order of its claims."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(text, "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
    files = sorted(Path("w").iterdir(), key=lambda file: int(file.stem.split("-")[1]))
    return [json.loads(file.read_text("utf-8")) for file in files]


def test_what_fixed_queries_violate_is_derived_from_the_text(tmp_path, monkeypatch, capsys):
    every = written(tmp_path, monkeypatch, MODEL + "".join(f"refute {each}\n" for each in REFUTED))
    assert [each["says"] for each in every] == ["violated"] * len(REFUTED)
    assert run(["replay", *map(str, Path("w").iterdir()), "--simulate", "20"]) == 0, (
        capsys.readouterr()
    )


@pytest.mark.parametrize("change", [("high", "low"), ("c = [", "c = [low, "), ("x = 1", "x = 0")])
def test_other_choices_are_not_taken_for_those_of_a_witness(tmp_path, monkeypatch, change):
    (fields,) = written(tmp_path, monkeypatch, f"{MODEL}refute {REFUTED[-1]}\n")
    loaded = load(Path("m.dpm"), tmp_path)
    for side in fields["sides"]:
        side["input"] = side["input"].replace(*change)
    with pytest.raises(Contradicted):
        Replay(loaded, fields).derived()


def test_neighbors_face_the_same_analyst(tmp_path):
    (tmp_path / "m.dpm").write_text(MODEL, "utf-8")
    (model,) = load(tmp_path / "m.dpm", tmp_path).target("for_ever")
    low, other = (model.point_of(f"x = {x}, c = [low]") for x in (0, 1))
    assert model.are_neighbors(low, other)
    assert not model.are_neighbors(low, model.point_of("x = 1, c = [high]"))


@pytest.mark.parametrize(
    ("target", "at", "claim"),
    [
        ("for_ever", None, "dp(ln 2)"),
        ("for_ever", None, "P<=3/4 [ X output = x ]"),
        ("twice", "c[2] = low", "delta(0) = 1"),
        ("twice", None, "P<=3/4 [ X (output = x & c[1] = high) ]"),
    ],
)
def test_steady_analysts_are_not_taken_for_all(tmp_path, target, at, claim):
    (tmp_path / "m.dpm").write_text(MODEL, "utf-8")
    with pytest.raises(NotCovered, match="analyst"):
        answer(load(tmp_path / "m.dpm", tmp_path), target, at, claim)


ADAPTIVE = """
refute m: dp(0)
refute m: dp(0, 1/100)
"""


@pytest.mark.parametrize("seed", range(10))
def test_what_an_analyst_who_adapts_violates_is_verified_and_derived(
    seed, tmp_path, monkeypatch, capsys
):
    every = written(tmp_path, monkeypatch, adaptive_and_written_out(seed)[0] + ADAPTIVE)
    assert [each["says"] for each in every] == ["violated"] * 2
    files = [str(file) for file in Path("w").iterdir()]
    assert run(["verify", *files]) == 0
    assert run(["replay", *files]) == 0, capsys.readouterr()


def adaptive_witness(tmp_path, monkeypatch):
    """Return the witness of a dp whose event asks different things after different answers."""
    model = MODEL.replace(" fixed", "") + "refute twice: dp(ln 2, 7/16)\n"
    model = re.sub("mechanism (sometimes|for_ever) {.*?\n}", "", model, flags=re.DOTALL)
    (fields,) = written(tmp_path, monkeypatch, model)
    return fields


def test_an_event_is_of_one_strategy(tmp_path, monkeypatch):
    """Two choices after one history would count twice."""
    fields = adaptive_witness(tmp_path, monkeypatch)
    assert {text for each in fields["event"] for text in each if "=" in (text or "")} == {
        "c = high",
        "c = gamble",
    }
    first = [weight for _, steps in fields["steps"] for state, weight, _ in steps if state == 0]
    assert first == [fields["unders"]["0"]]
    loaded = load(Path("m.dpm"), tmp_path)
    assert [p for _, p in Replay(loaded, fields).derived()]
    other = [text.replace("high", "low") if text else text for text in fields["event"][0]]
    fields["event"].append(other)
    with pytest.raises(NotCovered, match="more than one strategy"):
        Replay(loaded, fields).derived()


def test_a_row_with_two_choices_is_rejected(tmp_path, monkeypatch):
    fields = adaptive_witness(tmp_path, monkeypatch)
    del fields["digest"]
    assert verify(signed(fields))[0] == 0
    shown, steps = next(group for group in fields["steps"] if group[1][0][0] == 0)
    fields["steps"].append([shown.replace("high", "low"), steps[:1]])
    assert "does not sum to 1" in verify(signed(fields))[1]


def test_an_analyst_who_adapts_has_no_second_opinion(tmp_path, monkeypatch):
    adaptive_witness(tmp_path, monkeypatch)
    with pytest.raises(NotCovered, match="analyst"):
        answer(load(Path("m.dpm"), tmp_path), "twice", None, "dp(ln 2, 1/2)")
