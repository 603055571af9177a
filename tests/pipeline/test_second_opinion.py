"""The second opinion: every answer beside that of the reference interpreter."""

from __future__ import annotations

import json

import pytest

from dpcheck.check.quantities.loss_values import COMPUTED
from dpcheck.cli import run
from dpcheck.exact import Budget
from dpcheck.logic.quantities import QUANTITIES, QuantityWord
from dpcheck.pipeline.evidence import second_opinion
from dpcheck.reference import claims
from dpcheck.reference.values import Work
from tests.witness.test_witness import CLAIMS, MODEL

MORE = """
mechanism wide { input x[1..3] in 0..6 adjacent hamming(x, x') <= 1
  y ~ geometric(x[1], 1/2) clamped 0..9 output y }
mechanism slow { input x in 0..1 adjacent all
  for i in 1..60 { output i } }
mechanism halves { input x in 0..1 adjacent all
  y ~ if x = 0 then uniform(0..1) else uniform(1..2)  output y }
check wide: dp(ln 2)
refute wide: dp(ln(3/2))
compute wide: epsilon
compute noise: epsilon
compute survey: epsilon(1/100)
check survey: delta(ln 2) = 1/4
compute noise: delta(1/3)
compute survey at x = pos: P=? [ X Y ]
compute survey: renyi(2)
compute halves: epsilon(1/4)
check halves: epsilon(1/2) = 0
compute halves: epsilon
check slow: dp(ln 1)
"""


@pytest.fixture
def opinions(tmp_path, monkeypatch, capsys):
    """Return a function from the text of a model to the exit status and the opinions of a check."""
    monkeypatch.chdir(tmp_path)

    def asked(text, *options):
        (tmp_path / "m.dpm").write_text(text, "utf-8")
        capsys.readouterr()
        call = ["check", "m.dpm", "--second-opinion", "--format", "json", *options]
        status = run(call)
        found = json.loads(capsys.readouterr().out)
        return status, [each["second_opinion"] for each in found["results"]], found

    return asked


def test_every_answer_says_what_was_covered_or_why_not(opinions):
    asked = [claim for claim in CLAIMS if claim.startswith(("survey", "silent", "c:", "group"))]
    claims = "".join(f"check {claim}\n" for claim in asked)
    _, found, _ = opinions(MODEL + claims + MORE)
    assert {each["says"] for each in found} == {"agrees", "not covered"}
    texts = dict(zip([*asked, *MORE.splitlines()[-13:]], found, strict=True))
    assert texts["survey: dp(ln 2)"]["text"] == "all 2 inputs, 1 pair of neighbors"
    assert texts["check slow: dp(ln 1)"]["text"] == "runs of more than 40 outputs"
    assert texts["compute survey: renyi(2)"]["says"] == "not covered"
    uncovered = [claim for claim, each in texts.items() if each["says"] != "agrees"]
    assert len(uncovered) == 9, uncovered
    for power in ("10^9", "1/10^7"):
        text = texts[f"survey: dp({power} * ln 3)"]["text"]
        assert text == "a budget with a power or a root above 1,000,000"


def test_a_quantity_that_is_a_row_and_a_function_is_no_symbol(opinions, monkeypatch):
    monkeypatch.setitem(QUANTITIES, "advantage", QuantityWord("advantage", "losses"))
    monkeypatch.setitem(
        COMPUTED, "advantage", lambda sides: COMPUTED["loss_tail"](sides, Budget.of(0))
    )
    text = "compute survey: advantage  check survey: advantage = 1/2  check survey: advantage < 1/4"
    _, found, _ = opinions(MODEL + text)
    assert found == [{"says": "not covered", "text": "this quantity"}] * 3


NOT_COVERED = """
param p in (0, 1)
mechanism coin(q = 1/3) { input x in 0..1  adjacent all
  y ~ bernoulli(q)  output if y then x else 1 - x }
mechanism best { input x in 0..1  adjacent all
  a ~ geometric(x, 1/2) unbounded  b ~ geometric(0, 1/2) unbounded  output max(a, b) }
mechanism later { input x in 0..1  adjacent all
  while true { y ~ bernoulli(if x = 1 then 1/3 else 1/2)  output y
    s ~ bernoulli(1/2)  if s { stop } } }
check coin(q = p): dp(ln 2)
compute best: renyi(2)
compute later: renyi(2)
compute coin: epsilon
"""


def test_what_has_no_opinion_says_why(opinions):
    """An answer for all values, within bounds, or none at all is never said to be agreed with."""
    status, found, _ = opinions(NOT_COVERED)
    assert status == 1  # the first claim is violated
    assert [(each["says"], each["text"]) for each in found[:3]] == [
        ("not covered", "all values of a parameter"),
        ("not covered", "values known within bounds"),
        ("not covered", "a claim without an answer"),
    ]
    assert found[3]["says"] == "agrees"


@pytest.mark.parametrize(
    ("uncovered", "says"), [({1}, "agrees"), ({2}, "agrees"), ({1, 2}, "not covered")]
)
def test_a_question_without_an_opinion_does_not_undo_what_was_agreed(
    opinions, monkeypatch, uncovered, says
):
    """A claim about a quantity is two questions: its value, and whether the claim is true."""
    own, asked = second_opinion.answer, []

    def answer(*args):
        asked.append(args)
        if len(asked) in uncovered:
            raise second_opinion.NotCovered("this one")
        return own(*args)

    monkeypatch.setattr(second_opinion, "answer", answer)
    text = NOT_COVERED + "check coin: epsilon = ln 2\n"
    _, (found,), _ = opinions(text, "--select", "epsilon =*")
    assert found["says"] == says


def test_of_many_inputs_a_sample_is_asked_with_the_pair_that_violates(opinions):
    _, found, _ = opinions(MODEL + MORE)
    assert [each["says"] for each in found[:3]] == ["agrees"] * 3
    assert all(" of 343 inputs" in each["text"] for each in found[:3])


def test_a_sample_of_pairs_is_one_even_where_it_has_all_inputs(opinions, monkeypatch):
    monkeypatch.setattr(claims, "STEPS", 1)
    monkeypatch.setattr(claims, "N_NEIGHBORS", 1)
    monkeypatch.setattr(Work, "spend", lambda *_: None)
    text = "mechanism m { input x in 0..3 adjacent all\n  y ~ bernoulli((1 + x^3)/64) output y }"
    _, found, _ = opinions(text + "compute m: epsilon")
    assert found == [{"says": "agrees", "text": "4 of 4 inputs, 3 pairs of neighbors"}]


@pytest.mark.parametrize(
    ("claim", "planted", "engine", "reference"),
    [
        ("compute survey: epsilon", (2, 3), "ln(3)", "ln(2)"),
        ("check survey: delta(ln 2) = 1/4", (4, 5), "1/4", "4/5 against 1/5"),
        ("compute survey at x = pos: P=? [ X Y ]", (2, 3), "3/4", "P = 2/3"),
        ("refute survey: dp(ln 2)", (2, 3), "3/4 from x = pos", "2/3 against 1/3"),
        ("check survey: D{ln 3} [ X Y ]", (4, 5), "holds", "4/5 from x = pos, 1/5 from x = neg"),
    ],
)
def test_a_difference_ends_with_70_and_both_numbers(
    opinions, monkeypatch, claim, planted, engine, reference
):
    """The interpreter is given another number, as if the engine's were wrong."""
    honest = second_opinion.load

    def load(*arguments):
        found = honest(*arguments)
        kind, name, _, *parts = found.scope.items["mechanism"]["survey"]
        over, under = (("constant", n) for n in planted)
        truth = ("truth", ("/", over, under))
        found.scope.items["mechanism"]["survey"] = (kind, name, (truth,), *parts)
        return found

    monkeypatch.setattr(second_opinion, "load", load)
    status, (opinion,), found = opinions(MODEL + claim)
    assert status == 70
    assert opinion["says"] == "differs"
    assert engine in opinion["text"].split("reference:")[0]
    assert reference in opinion["text"].split("reference:")[1]
    assert "second opinion on" in found["crashes"][0]["traceback"]
