"""What a report says is so, where it is easily said though it is not."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from math import prod

import pytest

from dpcheck.check.values.event_text import GOES_ON, STOPPED
from dpcheck.explain.atoms import Shown, atoms
from dpcheck.model.values import Beyond, value_text
from dpcheck.report.text import answer_text
from tests.explain.explaining import answers, exact, explained, random_rows, seeded, table_model

TWO = """
  input x in 0..1
  adjacent all
"""


def test_of_outputs_that_go_on_nothing_is_said_but_what_was_seen():
    sequences = [
        Shown((1, 2), ("1", "2"), GOES_ON),
        Shown((1, 3), ("1", "3"), GOES_ON),
        Shown((2,), ("2",), STOPPED),
        Shown((1,), ("1",), STOPPED),
    ]
    texts = {atom.text for atom in atoms(sequences)}
    assert "the first output is 1" in texts
    assert {text for text in texts if "first output is" not in text} == {
        "the second output is 2",
        "the second output is 3",
    }


def test_of_endless_outputs_only_a_number_of_runs_that_is_enough_is_told(tmp_path):
    text = f"""mechanism m {{{TWO}
      while true {{
        y ~ {{top: if x = 0 then 1/10 else 1/30, bot: if x = 0 then 9/10 else 29/30}}
        output y
      }}
    }}
    check m: dp(ln 2)"""
    (found,) = explained(text, tmp_path)
    assert found.attacker.n_runs[0] == 1


STREAM = """mechanism fresh {
  input q[1..] in integers
  adjacent linf(q, q') <= 1
  for i in 1.. {
    z ~ geometric(q[i], 1/2) unbounded
    if z >= 0 { output top } else { output bot }
    if z > 10 { stop }
  }
}
"""


def test_of_an_endless_stream_outputs_go_on_after_those_that_were_looked_at(tmp_path):
    (found,) = answers(f"{STREAM} check fresh: dp(ln 3)", tmp_path)
    why = found.explanation
    assert [str(each) for each in why.event] == ["bot, bot, ..."]
    assert found.outcome.verdict.counterexample.event == why.event
    assert why.attacker.n_runs[0] == 1, "later outputs may tell more"
    assert all(step.shown is not None for step in why.by_output)
    assert "epsilon is inf" in answer_text(found)


def test_of_endless_outputs_more_pairs_may_violate_than_are_counted(tmp_path):
    text = """mechanism m {
      input x in 0..2
      adjacent abs(x - x') = 1
      p := if x = 0 then 1/2 else if x = 1 then 9/20 else 1/10
      while true { y ~ {stay: p, go: 1 - p} output y }
    }
    check m: dp(ln 3)"""
    (answer,) = answers(text, tmp_path)
    # From 0, `stay` is 10/9 times as likely as from 1, so (10/9)^11 > 3 times after eleven outputs.
    assert (answer.explanation.others.n_violating, answer.explanation.others.n_pairs) == (1, 2)
    assert not answer.explanation.others.is_complete
    assert "at least 1 of 2 pairs violate" in answer_text(answer)


def test_variables_of_a_run_are_named_as_on_their_lines(tmp_path):
    text = f"""mechanism inner {{{TWO}
      y ~ {{0: if x = 0 then 3/4 else 1/4, 1: if x = 0 then 1/4 else 3/4}}
      output y
    }}
    mechanism m {{{TWO}
      var c[1..2] := 0
      repeat 2 {{
        i ~ {{1: 1/2, 2: 1/2}}
        c[i] ~ {{0: if x = 0 then 2/3 else 1/3, 1: if x = 0 then 1/3 else 2/3}}
      }}
      run inner(x = x)
      run inner(x = x)
      output c
    }}
    check m: dp(ln 2)"""
    (found,) = explained(text, tmp_path)
    steps = [*found.run.steps, *found.run.same, *found.run.elsewhere]
    assert {step.variable for step in steps} == {"y", "c[i]", "i", ""}
    assert {each.name for step in steps for each in step.reads} == {"x"}


def test_a_cell_that_is_too_wide_is_folded_and_loses_nothing(tmp_path):
    long = "a_symbol_of_thirty_letters_" + "x" * 3
    text = f"""mechanism m {{{TWO}
      if x = 0 {{ z ~ {{{long}: 1/2, b: 1/2}} output ({long}, z) }}
      output x
    }}
    check m: dp(ln 2)"""
    (answer,) = answers(text, tmp_path)
    told = answer_text(answer)
    assert "…" not in told
    assert "goes elsewhere" in " ".join(told.split())


def test_an_interval_that_every_probability_keeps_is_not_offered(tmp_path):
    text = f"""mechanism m {{{TWO} output x }}
    check m: P in [1/3, 1/2] [ X output = 0 ]
    check m: P in [1/3, 1/2] [ X output >= 0 ]
    check m: D{{0}} [ X output = 0 ] | P in [1/3, 1/2] [ X output = 0 ]"""
    *alone, part = explained(text, tmp_path)
    both, one = (str(each.tight.text) for each in alone)
    assert part.tight is None
    assert both == "no bound would do: for some input it is 0, for another 1"
    assert one == "holds as P=1"


def test_an_expected_value_is_explained_at_the_worst_input(tmp_path):
    text = f"""mechanism m {{ input x in 0..3 adjacent abs(x - x') <= 1
      y ~ {{0: 1/2, 1: 1/2}} output x * y }}
    check m: E<=1/2 [ output ]
    check m: E in [0, 1] [ output ]
    check m: E>=1/4 [ output ]
    check s: E<=1 [ outputs ]
    mechanism s {{{TWO}
      while true {{ y ~ {{0: 1/2, 1: 1/2}} if y = 0 & x = 0 {{ stop }} output y }}
    }}
    """
    most, within, least, endless = explained(text, tmp_path)
    assert [str(each.text) for each in most.remarks] == [
        "x = 3: 3/2, wanted at most 1/2",
        "2 of 4 fail: x = 2 (1), x = 3 (3/2); x = 0 has 0, x = 1 has 1/2",
        "value 3 with chance 1/2: 3 (line 2)",
    ]
    assert [step.value for step in most.run.steps] == ["1", "3"]
    assert str(most.tight.text) == "holds from E<=3/2 on"
    assert str(within.tight.text) == "holds as E in [0, 3/2]"
    assert str(least.remarks[0].text) == "x = 0: 0, wanted at least 1/4"
    assert str(endless.tight.text) == "no bound would do: E is infinite"
    assert not most.event


def test_what_carries_a_mean_are_the_outputs_that_add_most_to_it(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      y ~ {0: 1/2, 2: 3/10, 9: 1/5}
      output x
      output y
    }
    check m: E<=1 [ output(1) * output(2) ]
    check m: E>=1 [ output(1) * output(2) ]"""
    most, least = explained(text, tmp_path)
    # From x = 1, 9 adds 8/5 and 2 adds 3/10, though it is likelier; from x = 0 all are 0.
    carried = "value 9 with chance 1/5: 1, 9 (line 6)", "value 2 with chance 3/10: 1, 2 (line 6)"
    assert str(most.remarks[-1].text) == "; ".join(carried)
    assert tuple(map(str, most.remarks[-1].items)) == carried
    assert [step.value for step in most.run.steps] == ["9", "1", "9"]
    assert str(least.remarks[-1].text).startswith("value 0 with chance 1/2: 0, 0 (line 6); ")


def test_quantities_that_are_compared_are_attained_somewhere(tmp_path):
    text = f"mechanism m {{{TWO} y ~ {{a: 1/4 + x/2, b: 3/4 - x/2}} output y }}"
    (found,) = explained(f"{text} check m: delta(0) = loss_tail(1)", tmp_path)
    delta, tail, outputs = found.remarks
    assert str(delta.text).startswith("delta(0): x = ")
    assert str(tail.text).startswith("loss_tail(1): x = ")
    assert str(outputs.text).startswith("the outputs with a loss above 1, ")
    assert delta.run is not None
    assert tail.run is not None


def test_the_best_guess_has_a_run_from_what_is_guessed(tmp_path):
    text = f"mechanism m {{{TWO} y ~ {{a: 1/4 + x/2, b: 3/4 - x/2}} output y }}"
    (found,) = explained(f"{text} check m: bayes_vulnerability <= 1/2", tmp_path)
    (step, shown) = found.run.steps
    assert found.run.of == "input"
    assert (step.left.exact, shown.value) == ("3/4", found.run.shown.outputs[0])


def test_all_false_parts_of_a_conjunction_get_what_would_make_them_true(tmp_path):
    rows = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    claim = "P<=1/8 [ X output = 0 ] & (D{ln 2} [ X output = 0 ] & D{1/2, 1/9} [ X output = 1 ])"
    (found,) = explained(table_model(rows, claim), tmp_path)
    all_of, enough = str(found.tight.text).split(": ", 1)
    assert all_of == "all of these"
    assert len(enough.split("; ")) == 3
    (fits,) = answers(table_model(rows, " & ".join(enough.split("; "))), tmp_path)
    assert fits.is_ok


def test_noise_is_cut_only_where_wider_noise_would_do(tmp_path):
    noise = "z ~ geometric(0, 1/2) clamped 0..7\n"
    shown = f"mechanism m {{{TWO}{noise} output z + x }} check m: dp(1)"
    (found,) = explained(shown, tmp_path)
    assert "the noise is cut at 0..7" in str(found.tight.text)
    other = f"mechanism m {{{TWO}{noise} if x = 1 {{ output z }} }} check m: dp(1)"
    (found,) = explained(other, tmp_path)
    assert found.tight.epsilon.exact == "inf"
    assert "cut" not in str(found.tight.text)


def test_the_most_probable_run_is_so_where_floats_are_equal(tmp_path):
    text = f"""mechanism m {{{TWO}
      y ~ {{0: 1/2 - 1/10^20, 1: 1/2 + 1/10^20}}
      z ~ {{0: if x = 0 then 1/4 else 3/4, 1: if x = 0 then 3/4 else 1/4}}
      if y = 5 {{ output y }}
      output z
    }}
    check m: dp(ln 2)"""
    (found,) = explained(text, tmp_path)
    assert [step.value for step in found.run.same] == ["1"]


def test_the_worst_pair_is_so_where_floats_are_equal(tmp_path):
    chances = [Fraction(0), Fraction(1, 2), Fraction(1) + Fraction(1, 10**15)]
    rows = "\n".join(
        f"if x = {x} {{ y ~ {{0: {1 - p / 2}, 1: {p / 2}}} }}" for x, p in enumerate(chances)
    )
    text = f"""mechanism m {{ input x in 0..2 adjacent abs(x - x') = 1 var y := 0 {rows} output y }}
      check m: dp(0)"""
    (found,) = explained(text, tmp_path)
    assert found.others.excess == found.tight.delta
    assert found.others.worst.left in ("x = 1", "x = 2")


NESTED = """
mechanism m {
  input x in {pos, neg}
  adjacent all
  y ~ {a: if x = pos then 9/10 else 1/10, b: if x = pos then 1/10 else 9/10}
  output y
  z ~ {a: if x = pos then 3/4 else 1/4, b: if x = pos then 1/4 else 3/4}
  output z
}
"""


def test_an_inner_budget_is_the_least_where_the_formula_asks_for_it(tmp_path):
    (found,) = explained(NESTED + "check m: P>=1 [ X D{ln 2} [ X a ] ]", tmp_path)
    assert exact(found.inner.inequality.ratio) == 3
    assert "after a" in str(found.inner.text)
    assert str(found.tight.text) == "inner D{ln(3)}: then the claim holds"


def test_an_inner_formula_that_is_true_too_often_is_not_to_be_made_true(tmp_path):
    (found,) = explained(NESTED + "check m: P<=1/2 [ X D{ln 3} [ X a ] ]", tmp_path)
    assert found.inner is None


def test_a_formula_d_that_is_to_be_false_everywhere_needs_the_least_ratio(tmp_path):
    text = """mechanism m {
      input x in 0..2
      adjacent abs(x - x') = 1 & x + x' <= 1 | abs(x - x') = 2
      p := if x = 0 then 1/2 else if x = 1 then 1/4 else 1/16
      y ~ {a: p, b: 1 - p}
      output y
    }
    check m: !D{ln 8} [ X a ]"""
    (found,) = explained(text, tmp_path)
    assert found.tight.epsilon.exp == "2"  # at x = 1, though 8 at the others


def compose(text, claim, folder):
    rows = "y ~ {Y: if x = 0 then P else Q, N: if x = 0 then 1 - P else 1 - Q} output y"
    parts = [
        f"mechanism m{k} {{{TWO}{rows.replace('P', p).replace('Q', q)} }}"
        for k, (p, q) in enumerate([("3/4", "1/4"), ("2/3", "1/3"), ("1/100", "1/1000")])
    ]
    (found,) = explained("\n".join([*parts, f"check {text}: {claim}"]), folder)
    return found


def test_scores_of_different_parts_are_told_apart(tmp_path):
    found = compose("compose(m0, m1)", "dp(ln 2, 1/10)", tmp_path)
    assert found.rule.text == (
        "the scores of the outputs add up to more than ln(2): in run 1 +ln(3) for Y, "
        "-ln(3) for N; in run 2 +ln(2) for Y, -ln(2) for N"
    )


def test_runs_of_one_kind_are_told_of_together(tmp_path):
    found = compose("compose(m0, 2, m1, 1, m0, 1)", "dp(ln 2, 1/10)", tmp_path)
    assert "in runs 1..2 and 4 +ln(3) for Y" in found.rule.text
    assert [str(each.text) for each in found.remarks] == [
        "m0, runs 1..2 and 4: Y has factor 3, N has factor 1/3",
        "m1, run 3: Y has factor 2, N has factor 1/2",
    ]
    found = compose("compose(m0, 2, m0, 1)", "dp(ln 2, 1/10)", tmp_path)
    assert found.rule.text == "at least 2 of the 3 outputs are Y"
    found = compose("compose(m0, 2, m0, 2)", "dp(ln 10, 1/10)", tmp_path)
    assert found.rule.text == "all 4 outputs are Y"


def test_the_output_of_a_composition_is_the_likeliest_of_its_event(tmp_path):
    found = compose("compose(m2, 3)", "dp(ln 2, 1/100)", tmp_path)
    assert found.rule.text == "at least 1 of the 3 outputs are Y"
    assert str(found.remarks[0].text).startswith("Y, N, N: ")


@pytest.mark.parametrize("claim", ["dp(ln 2)", "dp(ln 2, 1/50)", "epsilon <= ln 2"])
def test_the_event_of_a_composition_is_the_one_that_exceeds_the_budget_most(claim, tmp_path):
    """The event of the largest loss, all four outputs, is the rarest that violates it."""
    found = compose("compose(m0, 2, m1, 2)", claim, tmp_path)
    p = q = Fraction(0)
    for outputs in product([0, 1], repeat=4):
        left, right = Fraction(1), Fraction(1)
        for one, chance in zip(outputs, [Fraction(3, 4)] * 2 + [Fraction(2, 3)] * 2, strict=True):
            left, right = (
                left * (chance - one * (2 * chance - 1)),
                right * (1 - chance + one * (2 * chance - 1)),
            )
        if left > 2 * right:
            p, q = p + left, q + right
    assert (exact(found.inequality.p), exact(found.inequality.q)) == (p, q)
    assert "add up to more than ln(2)" in found.rule.text


@pytest.mark.parametrize(
    ("claim", "is_optimal"),
    [
        ("dp(ln 3)", False),
        ("dp(ln 3, 1/10)", True),
        ("epsilon <= ln 3", False),
        ("epsilon(1/10) <= ln 3", False),
        ("delta(ln 3) <= 1/10", True),
    ],
)
def test_words_and_probabilities_of_a_composition_are_of_one_event(claim, is_optimal, tmp_path):
    """Beside Z, which one side alone shows, Y alone may exceed the budget in all runs."""
    law = {"Y": (4, 1), "N": (1, 5), "Z": (1, 0)}  # of 6, on both sides
    weights = ", ".join(f"{one}: (if x = 0 then {p} else {q})/6" for one, (p, q) in law.items())
    text = f"mechanism m {{{TWO} y ~ {{{weights}}} output y }} check compose(m, 3): {claim}"
    (found,) = explained(text, tmp_path)
    side = found.neighbors.left == "x = 1"
    p = q = 0
    for outputs in product(law, repeat=3):
        left, right = (prod(law[one][k] for one in outputs) for k in (side, not side))
        is_meant = left > 3 * right if found.rule.text.startswith("the scores") else right == 0
        p, q = p + is_meant * left, q + is_meant * right
    assert (exact(found.rule.p), exact(found.rule.q)) == (Fraction(p, 216), Fraction(q, 216))
    assert found.rule.is_optimal == is_optimal


@pytest.mark.parametrize("claim", ["dp(2)", "epsilon <= 2"])
def test_the_event_of_many_runs_is_one_that_is_met(claim, tmp_path):
    """The largest loss in all of them would have a probability below 10^-100."""
    text = f"""mechanism m {{{TWO}
      which ~ bernoulli(1/2)
      truth ~ bernoulli(if which then 11/20 else 13/25)
      output (which, truth = (x = 1))
    }}
    check compose(m, 300): {claim}"""
    (found,) = explained(text, tmp_path)
    ratio = found.inequality.ratio.enclosure
    assert found.inequality.p.compared("1/2") > 0
    assert float(ratio[0]) > 20


def test_a_run_of_a_chain_is_its_most_probable_path(tmp_path):
    text = """chain walk {
      state s[x in 0..1]
      state u[x in 0..1]
      state good : good
      state bad : bad
      for x in 0..1 { s[x] -> 2/3: u[x] + 1/3: bad }
      for x in 0..1 {
        u[x] -> (if x = 0 then 3/4 else 1/4): good + (if x = 0 then 1/4 else 3/4): bad
      }
      adjacent s[0] ~ s[1]
      observe good, bad
    }
    check walk: dp(ln(6/5))
    """
    (found,) = explained(text, tmp_path)
    assert [step.value for step in found.run.steps] == ["u[0]", "good"]
    assert [step.line.number for step in found.run.steps] == [6, 8]
    assert [step.value for step in found.run.elsewhere] == ["u[1]", "good"]
    product = Fraction(1)
    for step in found.run.steps:
        product *= exact(step.left)
    assert product == exact(found.run.share) * exact(found.inequality.p)


WALK = """chain walk {
  state s[i in 0..1]
  state on : lit
  state off : dark
  state gone : lost
  for i in 0..1 { s[i] -> (1 + i)/4: on + (3 - i)/4: off }
  on -> 1/2: on + 1/2: off
  off -> 1/3: on + 1/3: off + 1/3: gone
  adjacent s[0] ~ s[1]
  observe lit, dark
}
"""


@pytest.mark.parametrize(
    ("claim", "states", "lines", "p"),
    [
        ("D{0} [ F<=3 lost ]", ["off", "gone"], [6, 8], Fraction(3, 8)),
        ("P>=2/3 [ G !lost ]", ["off", "gone"], [6, 8], Fraction(1)),
        ("P in [1/10, 1/4] [ lit R !lost ]", ["on"], [6], Fraction(3, 4)),
        ("P<=1/10 [ X lit & X X lit ]", ["on", "on"], [6, 7], Fraction(1, 4)),
        ("P<=1/10 [ !dark U lost ]", None, None, None),
    ],
)
def test_a_run_of_a_chain_that_decides_a_formula_has_the_lines_of_its_rows(
    claim, states, lines, p, tmp_path
):
    found = explained(f"{WALK}check walk: {claim}", tmp_path)
    if states is None:
        assert not found
        return
    run = found[0].run
    assert [step.value for step in run.steps] == states
    assert [step.line.number for step in run.steps] == lines
    product = Fraction(1)
    for step in run.steps:
        product *= exact(step.left)
    assert product == exact(run.share) * p


@pytest.mark.parametrize("seed", range(4))
def test_what_carries_a_quantity_adds_up_to_it(seed, tmp_path):
    rows = random_rows(seeded(seed), 2, 4)
    text = table_model(rows, "renyi(2) <= 0") + "check m: loss_tail(1/10) <= 0\n"
    for answer in answers(text, tmp_path):
        explanation, value = answer.explanation, answer.outcome.value
        left, right = (
            rows[int(side.removeprefix("x = "))]
            for side in (explanation.neighbors.left, explanation.neighbors.right)
        )
        (remark,) = explanation.remarks
        numbers = str(remark.text).rpartition(": ")[2].split(" against ")
        if answer.claim.startswith("loss_tail"):
            assert numbers[0] == value.exact
        elif any(p and not q for p, q in zip(left, right, strict=True)):
            assert value.exact == "inf"
        else:
            total = sum(p * p / q for p, q in zip(left, right, strict=True) if q)
            assert f"({total})" in str(remark.text)
            assert value.exp == str(total)


@pytest.mark.parametrize("seed", range(4))
def test_the_most_extreme_belief_is_told_with_whom_it_is_in(seed, tmp_path):
    rows = random_rows(seeded(seed), 2, 4)
    text = table_model(rows, "posterior_max(1/3) <= 0") + "check m: posterior_min(1/3) >= 1\n"
    for answer in answers(text, tmp_path):
        (remark,) = answer.explanation.remarks
        told = re.fullmatch(r"after the output (\d): .*, so x = (\d) has (\S+)", str(remark.text))
        k, x = int(told[1]), int(told[2])
        own, other = Fraction(rows[x][k]) / 3, Fraction(rows[1 - x][k]) * 2 / 3
        assert Fraction(told[3]) == own / (own + other) == exact(answer.outcome.value)


@pytest.mark.parametrize(
    ("otherwise", "told"), [("", "(no output)"), ("while true { }", "diverged")]
)
def test_a_belief_where_nothing_is_output_is_told_so(otherwise, told, tmp_path):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      y ~ bernoulli(if x = 1 then 3/4 else 1/2)
      if y {{ output a stop }} {otherwise}
    }}
    check m: posterior_max(1/2) <= 1/2
    """
    (found,) = explained(text, tmp_path)
    (remark,) = (each for each in found.remarks if each.label == "attained")
    assert str(remark.text) == f"after {told}: 1/2 against 1/4, so x = 0 has 2/3"


@pytest.mark.parametrize("budget", ["10^9", "10^30", "10^30 * ln 3", "ln(10^3000)"])
def test_budgets_of_any_size_are_written(budget, tmp_path):
    text = table_model([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]], "")
    (holds,) = answers(text.replace("check m: ", f"check m: dp({budget})"), tmp_path)
    assert holds.is_ok
    assert "epsilon ln(3)" in answer_text(holds)
    cut = f"mechanism o {{{TWO} output x }} check o: dp(10^9)"
    (violated,) = answers(cut, tmp_path)
    assert "e+434294481" in answer_text(violated)


@pytest.mark.parametrize(
    ("claim", "is_told"),
    [
        ("epsilon = ln(3/2)", False),
        ("epsilon <= ln(3)/2", True),
        ("epsilon <= ln 3", True),
    ],
)
def test_a_value_is_left_out_only_where_it_is_what_is_claimed(claim, is_told, tmp_path):
    rows = [[Fraction(3, 5), Fraction(2, 5)], [Fraction(2, 5), Fraction(3, 5)]]
    (holds,) = answers(table_model(rows, claim), tmp_path)
    assert holds.is_ok
    assert ("it is" in answer_text(holds)) == is_told


def test_a_value_is_what_is_claimed_whether_its_logarithm_has_brackets(tmp_path):
    rows = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    for claim in ("epsilon = ln 3", "epsilon <= ln(3)"):
        (holds,) = answers(table_model(rows, claim), tmp_path)
        assert "it is" not in answer_text(holds)


def test_a_run_that_has_ended_is_not_followed_by_anything(tmp_path):
    text = """import std.survey
    mechanism twice { input x in {pos, neg} adjacent all
      first ~ survey(x = x) output first
      if first = Y { run survey(x = x) } }
    check twice: P>=1 [ F N ]
    mechanism bits { input b[1..10] in {false, true} adjacent hamming(b, b') <= 1
      for i in 1..10 { z ~ {true: if b[i] then 2/3 else 1/3, false: if b[i] then 1/3 else 2/3}
        output z } }
    check bits: dp(ln 2 / 2)"""
    answered = answers(text, tmp_path)
    runs = {str(run.shown): run.is_inside for run in answered[0].explanation.runs}
    assert runs == {"N": True, "Y, N": True, "Y, Y": False}
    (shown,) = answered[1].explanation.event  # one of many is enough: δ is 0
    assert (shown.ending, len(shown.outputs)) == ("stopped", 10)


def test_what_analysts_saw_of_a_run_that_has_ended_is_told_with_its_end(tmp_path):
    text = """mechanism asks { input x in 0..1 adjacent all
          for i in 1..2 { query w in 1..2
            y ~ bernoulli(if x = 1 then w/3 else 1/4) output y } }
        refute asks: dp(ln 2)
        refute asks: dp(ln 2, 1/10)
        refute asks: epsilon > 100"""
    for answer in answers(text, tmp_path):
        event = answer.outcome.verdict.counterexample.event
        assert {(each.ending, len(each.outputs)) for each in event} == {("stopped", 4)}


def test_no_infinite_factor_stands_beside_a_finite_ratio(tmp_path):
    text = f"""mechanism m {{{TWO}
      is_honest ~ bernoulli(1/2)
      if is_honest {{ y := x }} else {{ y ~ {{0: 1/2, 1: 1/2}} }}
      output y
    }}
    check m: dp(ln 2)"""
    (answer,) = answers(text, tmp_path)
    assert answer.explanation.inequality.ratio.exact == "3"
    assert answer.explanation.run.steps[-1].factor.exact == "inf"
    said = answer_text(answer)
    row = r"output 0 \| output 1  y = 0 \| 1 \(line \d+\)  other draws$"
    assert re.search(row, said, re.MULTILINE)
    assert "from the right other draws give this output, most probably is_honest = false" in said


def test_draws_that_have_to_differ_stand_side_by_side(tmp_path):
    text = f"""mechanism m {{{TWO}
      noise ~ geometric(0, 1/2) wrapped 0..8
      coin ~ bernoulli(1/2)
      output (x + noise) mod 9
      if coin {{ output heads }} else {{ output tails }}
    }}
    check m: dp(ln 2 / 2)"""
    (answer,) = answers(text, tmp_path)
    run = answer.explanation.run
    assert (run.share.exact, run.elsewhere) == ("1", ())
    factors = {(step.variable, step.value, step.right_value): step.factor for step in run.steps}
    assert factors["noise", "0", "8"] == answer.explanation.inequality.ratio
    assert [(step.variable, step.right_value) for step in run.same] == [("coin", "")]
    assert re.search(r"noise = 0 \| 8  +\d+/\d+ ", answer_text(answer))


def test_where_the_right_side_does_not_end_a_run_says_so(tmp_path):
    text = f"""mechanism m {{{TWO}
      for i in 0..x {{
        noise ~ bernoulli(1/3)
        output noise
      }}
    }}
    check m: dp(1)"""
    (answer,) = answers(text, tmp_path)
    step = answer.explanation.run.steps[-1]
    assert (step.kind, step.note) == ("end", "right goes elsewhere (line 5)")
    assert re.search(r"the end +- +right goes elsewhere \(line 5\)\n", answer_text(answer))


def test_an_infinite_budget_of_unbounded_noise_says_why_where_it_is_one_sided(tmp_path):
    text = f"""mechanism m {{{TWO}
      y ~ geometric(x, 1/2) unbounded
      if y > 3 & x = 1 {{ output above }} else {{ output y }}
    }}
    check m: dp(ln 2)
    mechanism steeper {{{TWO}
      if x = 1 {{ y ~ geometric(0, 1/2) unbounded }} else {{ y ~ geometric(0, 1/3) unbounded }}
      output y
    }}
    check steeper: dp(ln 2)"""
    cut, steeper = (str(each.explanation.tight.text) for each in answers(text, tmp_path))
    assert cut.startswith("epsilon = inf, outputs possible on one side only; delta(ln(2)) = ")
    assert steeper.startswith("epsilon = inf; ")  # all outputs are possible on both sides


def test_an_infinite_budget_of_a_composition_says_why(tmp_path):
    text = f"""mechanism m {{{TWO} y ~ uniform(x..x+3) output y }}
    check compose(m, 2): dp(1, 1/48)
    check compose(m, 2): epsilon(1/48) <= 1
    compute compose(m, 2): epsilon(1/48)"""
    tight, value, computed = answers(text, tmp_path)
    why = "outputs possible on one side only"
    assert str(tight.explanation.tight.text).startswith(f"epsilon(1/48) = inf, {why}; delta(1) = ")
    assert ("infinite", why) in [(e.label, str(e.text)) for e in value.explanation.remarks]
    (beside,) = computed.outcome.beside
    assert str(beside.text) == "some outputs are possible from x = 0, and not from x = 1"


LIBRARY = """mechanism ended {
  input x in 0..1
  adjacent all
  for i in 0..x {
    noise ~ bernoulli(1/3)
    output noise
  }
}
mechanism later {
  input x in 0..1
  adjacent all
  y ~ bernoulli(1/2)
  output y
  z ~ {0: 2/3 - x/3, 1: 1/3 + x/3}
  output z
}
"""


def test_a_line_of_another_file_is_told_with_that_file(tmp_path):
    (tmp_path / "lib.dpm").write_text(LIBRARY, "utf-8")
    text = """import "lib.dpm"
    check ended: dp(1)
    check later: P>=1 [ X D{0} [ X output = 1 ] ]
    check later: E>=1/2 [ output(2) ]"""
    end, inner, mean = explained(text, tmp_path)
    assert end.run.steps[-1].note == "right goes elsewhere (line lib:4)"
    assert "after true (line lib:13), " in str(inner.inner.text)
    assert str(mean.remarks[-1].text).endswith(" (line lib:15)")
    (here,) = explained(f"{LIBRARY}check ended: dp(1)", tmp_path)
    assert here.run.steps[-1].note == "right goes elsewhere (line 4)"


def test_a_record_is_kept_on_the_line_of_its_input(tmp_path):
    text = f"""mechanism m {{{TWO} y ~ bernoulli(1/3 + x/3) output y }}
    check subsample(m, 1/2): epsilon <= 3
    check subsample(m, 1/2): dp(1/10)"""
    assert [step.line.number for step in explained(text, tmp_path)[0].run.steps][:2] == [2, 4]


def test_where_no_budget_is_enough_an_output_shows_it(tmp_path):
    text = f"""mechanism m {{{TWO}
      noise ~ geometric(0, 1/2) clamped -4..4
      output x + noise
    }}
    check m: dp(ln 2 / 2)
    check m: dp(ln 2 / 2, 1/100)"""
    pure, approximate = explained(text, tmp_path)
    assert str(pure.tight.text).startswith("epsilon = inf, outputs possible on one side only")
    assert [str(each) for each in pure.event] == ["-4"]
    assert pure.inequality.q.exact == "0"
    assert approximate.inequality.q.exact != "0"


def test_nobody_adds_a_name_to_a_number(tmp_path):
    text = f"""mechanism m {{{TWO}
      who ~ {{1: 1/2, 2: 1/2}}
      y ~ geometric(2 * x, 1/2) clamped 0..6
      output (who, y)
    }}
    mechanism same {{{TWO}
      y ~ {{0: 1/4, 1: 1/4, 2: 1/4, 3: 1/4}}
      z ~ {{0: 1/4, 1: 1/4, 2: 1/4, 3: 1/4}}
      output (y, if x = 0 then y else z)
    }}
    check m: dp(0, 1/50)
    check same: dp(ln 2, 1/3)
    check same: dp(ln 2, 1/2)"""
    one, *others = explained(text, tmp_path)
    assert "sum" not in one.rule.text
    rules = ["output[1] = output[2]", "output[1] != output[2]"]
    assert [other.rule.text for other in others] == rules


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_an_error_is_told_with_its_outputs_and_what_would_do(n_rounds, tmp_path):
    each = ", ".join(f"output({i})" for i in range(1, n_rounds + 1))
    value = ", ".join(["x"] * n_rounds)
    text = f"""mechanism m {{
      input x in 0..4
      adjacent abs(x - x') <= 1
      repeat {n_rounds} {{ y ~ geometric(x, 1/2) clamped 0..4  output y }}
    }}
    check m: accuracy(({each}), ({value}), 1/20) <= 1"""
    (found,) = explained(text, tmp_path)
    start, outputs = found.remarks
    # From 2, both 0 and 4 have 1/12 · 2: all rounds stay within 1 with (2/3)^n.
    chances = {"x = 2": 1 - Fraction(2, 3) ** n_rounds, "x = 0": 1 - Fraction(5, 6) ** n_rounds}
    name, _, said = str(start.text).partition(": further off than 1 with probability ")
    assert said == f"{chances[name]}, allowed 1/20"
    assert "off by " in str(outputs.text)
    assert "(line 4)" in str(outputs.text)
    assert str(found.tight.text).endswith(f"the probability of failure {max(chances.values())}")


def test_a_claim_that_is_violated_with_smaller_parameters_says_so(tmp_path):
    text = """mechanism m(k = 4, n = 3) {
      input q[1..k] in 0..n
      adjacent linf(q, q') <= 1
      for i in 1..k { y ~ geometric(q[i], 1/2) clamped 0..n  output y }
    }
    check m: dp(2 * ln 2)
    check m(k = 3, n = 1): dp(2 * ln 2)
    check m(k = 2, n = 1): dp(2 * ln 2)
    check m(n = 1): epsilon = ln 2"""
    found = [answer.explanation for answer in answers(text, tmp_path)]
    assert [(each.name, each.value) for each in found[0].also] == [("k", 3), ("n", 1)]
    assert found[1].also == ()
    assert found[2] is None
    assert found[3].also == ()


@pytest.mark.parametrize("claim", ["dp(k)", "delta(half(k)) <= 1/100", "D{k} [ X output = 0 ]"])
def test_no_smaller_parameters_are_told_with_which_the_claim_is_another(claim, tmp_path):
    """As it is told, dp(4): that holds with k = 1, where dp(1) does not."""
    text = f"""fun half(k) = k / 2
    mechanism m(k = 4, n = 2) {{
      input x in 0..k  input z in 0..n
      adjacent abs(x - x') <= k & z = z'
      y ~ geometric(x, 1/3) clamped 0..k  output y
    }}
    check m: {claim}
    check m at x = k: dp(4)"""
    told, elsewhere = (answer.explanation.also for answer in answers(text, tmp_path))
    assert [(each.name, each.value) for each in told] == [("n", 0)]
    assert [(each.name, each.value) for each in elsewhere] == [("n", 0)]


MAXIMUM = """mechanism m {
  input q[1..3] in 0..2
  adjacent l1(q, q') <= 1
  var a[1..3] := 0
  for i in 1..3 { a[i] ~ geometric(q[i], 1/2) clamped 0..2 }
  output max(a[1], a[2], a[3])
  output argmax(i in 1..3 : a[i])
}
"""


def test_an_output_that_is_too_far_off_is_told_once_with_all_of_its_probability(tmp_path):
    text = f"{MAXIMUM} check m: accuracy(max(q[1], q[2], q[3]), 1/10) <= 1"
    (found,) = explained(text, tmp_path)
    (_, outputs) = found.remarks
    p = 1 - Fraction(5, 6) ** 3  # some of three are 2, from 0
    assert str(outputs.text) == f"off by 2 with chance {p}: 2, ... (line 6)"
    assert found.run.shown.outputs == ("2",)


def test_numbers_beyond_those_told_are_too_far_off_and_still_numbers(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      t ~ geometric(0, 1/2) unbounded
      y ~ geometric(x, 1/2) unbounded
      if y >= t { output y } else { output 0 }
    }
    check m: accuracy(x, 1/10) <= 1"""
    (found,) = explained(text, tmp_path)
    (_, outputs) = found.remarks
    # From 0, P(y > 3) = 1/24; less where t is larger still: sum of 2/9 2^-y 2^-t for t > y > 3.
    p = Fraction(1, 24) - Fraction(1, 9) * Fraction(1, 4**4) * Fraction(4, 3)
    assert f"off by at least 4 with chance {p}: > 3" in str(outputs.text)
    assert "no number" not in str(outputs.text)


@pytest.mark.parametrize(("after", "asked"), [("", "output"), ("output done", "output(1)")])
def test_a_mean_of_numbers_of_several_kinds_is_that_of_all(after, asked, tmp_path):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      t ~ geometric(0, 1/2) unbounded
      y ~ geometric(x, 1/2) unbounded
      output max(y, t)  {after}
    }}
    check m: E<=1/2 [ {asked} ]"""
    (found,) = explained(text, tmp_path)
    # From 1: P(max > k) = 2/3 2^-k + 1/3 2^-k - 2/9 4^-k for k >= 1, whose sum from 1 on, and one
    # more P(max > 1) since all are above 1, is the mean times P(max > 1) = 4/9.
    tail = sum(Fraction(1, 2**k) - Fraction(2, 9 * 4**k) for k in range(1, 60))
    mean = 1 + tail / Fraction(4, 9)
    (carried,) = (each for each in found.remarks if each.label == "carried by")
    value = Fraction(str(carried.text).removeprefix("value ").partition(" with chance 4/9: > 1")[0])
    assert abs(value - mean) < Fraction(1, 10**12)
    assert value == Fraction(37, 12)


def test_the_chance_of_an_error_is_at_most_where_numbers_told_as_one_may_be_near(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      t ~ geometric(0, 1/2) unbounded
      y ~ geometric(x, 1/2) unbounded
      if y >= t { output y } else { output none }
    }
    check m: accuracy(x, 1/10) <= 1"""
    (found,) = explained(text, tmp_path)
    start, outputs = found.remarks
    # -1 is off by 1 from 0: 7/12 are further off, and 1/18 show -1.
    assert "further off than 1 with probability at most 23/36" in str(start.text)
    assert "off by at least 1 with chance 2/27: < 0" in str(outputs.text)


def test_numbers_told_as_one_carry_at_least_so_much_of_a_divergence(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      t ~ geometric(0, 1/3) unbounded
      y ~ geometric(3 * x, 4/5) unbounded
      output max(y, t)
    }
    check m: renyi(3) <= 1/100"""
    (found,) = explained(text, tmp_path)
    first = found.remarks[0].items[0]
    # P(> 3) = 437/972 from 1, P(> 3) = 28517/121500 from 0; the sum of all numbers is 2.2058.
    term = Fraction(437, 972) ** 3 / Fraction(28517, 121500) ** 2
    assert str(first).startswith(f"output > 3: at least {term} of the sum of p^3/q^2 (at least ")
    # Each number above 3 has a loss of its own; with one ratio beyond the window they have one.
    (found,) = explained(text.replace("renyi(3)", "zcdp"), tmp_path)
    ratio = Fraction(437, 972) / Fraction(28517, 121500)
    told = f"output > 3: loss ln({ratio}) of all as one, with "
    assert str(found.remarks[0].items[0]).startswith(told)
    (found,) = explained(text.replace("max(y, t)", "y").replace("renyi(3)", "zcdp"), tmp_path)
    assert "output > 3: loss -ln(125/64) with 256/1125;" in str(found.remarks[0].text)


def test_what_carries_a_divergence_most_has_its_run(tmp_path):
    (found,) = explained(f"{MAXIMUM} check m: renyi(2) <= 1/100", tmp_path)
    run = found.run
    assert str(run.shown) in str(found.remarks[0].text)
    assert {step.line.number for step in run.steps} == {5, 6, 7}


@pytest.mark.parametrize(
    ("claim", "tight", "n_violating"),
    [
        ("D{1/2} [ X output >= 2 ]", "ln(2)", 2),
        ("D{1/5} [ X output >= 2 ]", "ln(2)", 3),
        ("P>=3/4 [ X abs(output - x) <= 1 ]", "holds up to P>=2/3", None),
        ("!D{4} [ X output >= 2 ]", "D is false for every epsilon below ln(5/4)", None),
    ],
)
def test_formulas_about_noise_without_bounds_have_all_rows(claim, tight, n_violating, tmp_path):
    """P(output >= 2) from 0, 1, 2, 3 is 1/6, 1/3, 2/3, 5/6."""
    text = f"""mechanism m {{
      input x in 0..3
      adjacent abs(x - x') <= 1
      y ~ geometric(x, 1/2) unbounded
      output y
    }}
    check m: {claim}"""
    (found,) = explained(text, tmp_path)
    assert tight in str(found.tight.text)
    assert n_violating is None or found.others.n_violating == n_violating
    assert found.runs


def test_what_nothing_carries_has_no_run(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      y ~ bernoulli(1/3 + x/10)
      output y
    }
    check m: loss_tail(20) >= 1/10
    check m: loss_tail(1) = 1/10"""
    assert [found.run for found in explained(text, tmp_path)] == [None, None]


@pytest.mark.parametrize("turn", ["sensitive", "!sensitive"])
def test_lines_of_outputs_are_those_that_the_pair_reaches(turn, tmp_path):
    """Both branches lead to the same states, so a state does not tell which of them was taken."""
    noisy = "output if coin = x then yes else no"
    exact = "output if flip then (if x then no else yes) else if x then yes else no"
    first, second = (exact, noisy) if turn == "sensitive" else (noisy, exact)
    text = f"""mechanism m {{ input x in {{false, true}} adjacent all
      public sensitive in {{false, true}}
      for i in 1..2 {{ coin ~ bernoulli(3/4) flip ~ bernoulli(chance)
        if {turn} {{
          {first}
        }} else {{
          {second}
        }} }} }}
    check m at sensitive = true: dp(ln 3)"""
    line = {"sensitive": 5, "!sensitive": 7}[turn]
    (noisy_answer,) = answers(text.replace("chance", "1/10"), tmp_path)
    steps = noisy_answer.explanation.by_output
    shown = [step.lines for step in steps if step.shown is not None]
    assert [[each.number for each in lines] for lines in shown] == [[line], [line]]
    (sure,) = answers(text.replace("chance", "0"), tmp_path)
    assert re.search(rf"never outputs \w+: line {line} shows \w+$", answer_text(sure), re.MULTILINE)


def test_where_the_right_goes_elsewhere_it_says_what_is_shown_there(tmp_path):
    text = """mechanism m { input x in 0..1 adjacent all
      b ~ bernoulli(1/2)
      if x = 1 & b { output yes } else { output no } }
    check m: dp(ln 3)"""
    told = answer_text(answers(text, tmp_path)[0])
    assert re.search(r"output yes .*right goes elsewhere \(line 3\)", told)
    assert "the right never outputs yes: line 3 shows no" in told


def test_a_ratio_that_grows_is_named_where_the_other_side_is_shown_first(tmp_path):
    text = """mechanism m { input x in {yes, no} adjacent all
      done := false
      while !done { output wait  done ~ bernoulli(if x = yes then 1/10 else 1/8) } }
    check m: dp(1/10)"""
    (answer,) = answers(text, tmp_path)
    assert answer.explanation.neighbors.left == "x = no"
    (beside,) = answer.outcome.beside
    assert str(beside.text) == (
        "every further wait multiplies the ratio of x = yes to x = no by 36/35"
    )


def test_an_output_that_the_right_shows_later_is_one_that_it_never_shows_first(tmp_path):
    text = """mechanism m { input x in 0..1 adjacent all
      output x
      b ~ bernoulli(1/2)
      output if b then 0 else 1 }
    check m: dp(ln 3)"""
    told = answer_text(answers(text, tmp_path)[0])
    assert "the right never outputs 0 first: line 2 shows 1" in told


def test_of_an_endless_stream_the_infinite_epsilon_is_told(tmp_path):
    text = """mechanism m { input q[1..] in integers adjacent linf(q, q') <= 1
      for i in 1.. { z ~ geometric(q[i], 1/2) unbounded
        if z >= 0 { output top } else { output bot } } }
    check m: dp(ln 3)"""
    told = answer_text(answers(text, tmp_path)[0])
    assert re.search(r"tight +epsilon = inf", told)


def test_numbers_beyond_a_window_are_in_order_with_others_and_never_equal():
    low, high = Beyond(is_above=False, bound=0), Beyond(is_above=True, bound=2)
    rows = [(low, low), (0, 0), (1, 0), (high, high), (2, high)]

    def texts(rows):
        shown = [Shown(row, tuple(map(value_text, row)), STOPPED) for row in rows]
        return {atom.text: atom.bits.tolist() for atom in atoms(shown)}

    found = texts(rows)
    assert found["the first output <= 0"] == [True, True, False, False, False]
    assert found["the second output is > 2"] == [False, False, False, True, True]
    assert not any("equal" in text or "even" in text for text in found)
    cell = Beyond(is_above=True, bound=2, last=9)  # bounds within are left out
    farther = Beyond(is_above=True, bound=9)
    in_cells = texts([*rows[:-2], (cell, cell), (farther, farther)])
    assert in_cells["the first output <= 9"] == [True, True, True, True, False]
    assert "the first output is in 3..9" in in_cells
    assert not any(">= 9" in text or "even" in text for text in in_cells)
    with_more = texts([*rows, (7, 7)])  # there may be a number above 7 that is `> 2`
    assert with_more["the first output >= 2"] == [False, False, False, True, True, True]
    assert with_more["the first output <= 1"] == [True, True, True, False, False, False]
    assert not any("7" in text and "=" in text for text in with_more)


VANISHES = """param p in [0, 1/2]
mechanism survey {
  input x in {no, yes}
  adjacent all
  y ~ bernoulli(if x = yes then p else 1 - p)
  output y
}
"""


def test_what_is_tight_for_all_values_is_so_too_where_a_weight_vanishes(tmp_path):
    (answer,) = answers(f"{VANISHES} check survey: dp(ln 3)", tmp_path)
    assert str(answer.explanation.tight.text).startswith(
        "epsilon = inf for p in {0}; with param p in (0, 1/2]: epsilon = ln((1 - p)/p); "
    )


IRRATIONAL = """param p in (0, 1)
mechanism two {
  input x in {a, b}
  adjacent all
  y ~ {L: if x = a then p^2 else p/2, M: if x = a then 1 - p^2 else 1 - p/2}
  output y
}
mechanism three {
  input x in {a, b}
  adjacent all
  y ~ {A: if x = a then p^3/2 else (1 + p)/4, B: if x = a then 1/4 else p/4,
       C: if x = a then 3/4 - p^3/2 else 3/4 - p/2}
  output y
}
"""


@pytest.mark.parametrize("claim", ["two: dp(ln 2)", "two: dp(ln 3, 1/10)", "three: dp(ln 2)"])
def test_irrational_ends_are_told_so_that_what_is_pasted_is_true(claim, tmp_path):
    (answer,) = answers(f"{IRRATIONAL}check {claim}", tmp_path)
    told, _, rounded = str(answer.explanation.tight.text).partition("; rounded inward: ")
    pasted = [text for text in told.split("; ") if text.startswith("check ")]
    assert len(pasted) == 1
    pieces = told.partition("; ")[0].removeprefix("epsilon = ") * told.startswith("epsilon")
    for value, values in re.findall(r"(\S.*?) for (.*?[])])", pieces):
        pasted.append(f"check three for {values}: epsilon = {value.removeprefix(', ')}")
    for text in pasted:
        (one,) = answers(f"{IRRATIONAL}{text}", tmp_path)
        assert one.is_ok, text
    assert len(pasted) == (3 if claim.startswith("three") else 1)
    shown = {end for text in pasted for end in re.findall(r"0\.\d+", text)}
    assert shown == set(rounded.partition("; ")[0].split(", "))


@pytest.mark.parametrize(
    ("shown", "told"), [("argmax(v)", "with -D "), ("v[1]", "epsilon = ln(1/alpha) for alpha in ")]
)
def test_what_is_tight_for_all_values_is_that_of_all_integers(shown, told, tmp_path):
    """Which of two is the larger costs ever more on wider windows; noise on one costs as proved."""
    text = f"""param alpha in (0, 1)
    mechanism m {{
      input q[1..2] in integers
      adjacent linf(q, q') <= 1
      var v[1..2] := 0
      for i in 1..2 {{ v[i] ~ geometric(q[i], alpha) unbounded }}
      output {shown}
    }}
    check m: dp(-ln alpha / 2)"""
    (answer,) = answers(text, tmp_path)
    assert str(answer.explanation.tight.text).startswith(told)


def test_a_delta_over_a_parameter_is_told_over_it(tmp_path):
    text = f"""{VANISHES}
    param eps > 0
    check survey for p in (0, 1/2]: dp(ln 3, p)
    mechanism response {{
      input x in {{no, yes}}
      adjacent all
      y ~ bernoulli(if x = yes then exp(eps)/(1 + exp(eps)) else 1/(1 + exp(eps)))
      output y
    }}
    check response: dp(eps/2, exp(-eps))"""
    rational, exponential = (str(each.explanation.tight.text) for each in answers(text, tmp_path))
    assert rational.startswith(
        "epsilon(p) = 0 for p in [1/3, 1/2]; with param p in (0, 1/3): epsilon(p) = ln((1 - 2*p)/p)"
    )
    assert exponential.startswith("epsilon(1/exp(eps)) = 0 for eps in ")
