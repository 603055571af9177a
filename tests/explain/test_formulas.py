"""What is said of violated formulas is true: budgets that would do, pairs, bounds."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from tests.explain.explaining import answers, exact, explained, random_rows, seeded, table_model

NOISE = """
mechanism m {
  input x[1..2] in 0..2
  adjacent linf(x, x') <= 1
  y ~ geometric(sum(x), 1/2) clamped 0..4
  output y
}
"""


def test_of_several_pairs_the_one_that_changes_least_is_shown(tmp_path):
    (found,) = explained(NOISE + "check m: D{ln 3/2} [ X output = 0 ]", tmp_path)
    assert [each.name for each in found.neighbors.differences] == ["x[2]"]
    # P(0) falls by half with each step of the sum, which four of the pairs leave as it is.
    assert (found.others.n_violating, found.others.n_pairs) == (16, 20)


@pytest.mark.parametrize("seed", range(6))
def test_the_budgets_that_would_do_do_and_no_less(seed, tmp_path):
    rows = random_rows(seeded(seed), 3, 3)
    text = table_model(rows, "D{1/10} [ X output = 0 ]")
    found = explained(text, tmp_path)
    chances = [row[0] for row in rows]
    least = [p / q for p in chances for q in chances if q]
    if max(chances) and not min(chances):
        assert found[0].tight.epsilon.exact == "inf"
    elif max(least, default=1) > Fraction(11, 10):
        assert found[0].tight.epsilon.exp == str(max(least))
        fits = text.replace("D{1/10}", f"D{{ln {found[0].tight.epsilon.exp}}}")
        assert answers(fits, tmp_path)[0].is_ok


def test_a_bound_of_probabilities_is_the_least_of_all_inputs(tmp_path):
    rows = random_rows(seeded(3), 4, 3)
    (found,) = explained(table_model(rows, "P>=99/100 [ X output = 0 ]"), tmp_path)
    least = min(row[0] for row in rows)
    assert str(found.tight.text) == f"holds up to P>={least}"
    assert {run.is_inside for run in found.runs} <= {True, False}


@pytest.mark.parametrize(
    ("claim", "told", "of"),
    [
        ("P in [1/4, 1/3] [ X top ]", "x = 1: 3/4, wanted at most 1/3", "inside"),
        ("P in [1/2, 7/10] [ X top ]", "x = 0: 1/5, wanted at least 1/2", "outside"),
        ("P=1/4 [ X top ]", "x = 1: 3/4, wanted exactly 1/4", "inside"),
        ("P=1/2 [ X top ]", "x = 0: 1/5, wanted exactly 1/2", "outside"),
        (
            "E in [1/4, 1/3] [ if output = top then 1 else 0 ]",
            "x = 1: 3/4, wanted at most 1/3",
            "",
        ),
    ],
)
def test_the_input_shown_is_the_one_furthest_from_the_bound(claim, told, of, tmp_path):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      y ~ {{top: 1/5 + x * 11/20, bot: 4/5 - x * 11/20}}
      output y
    }}
    check m: {claim}"""
    (answer,) = answers(text, tmp_path)
    example, found = answer.outcome.verdict.counterexample, answer.explanation
    assert str(found.remarks[0].text) == told
    assert told.startswith(f"{example.states[0]}: ")
    assert not of or found.run.of == of


def test_factors_by_output_and_by_input_multiply_to_the_ratio(tmp_path):
    text = """
    mechanism m {
      input q[1..2] in 0..2
      adjacent linf(q, q') <= 1
      t ~ geometric(1, 1/2) clamped 0..2
      for i in 1..2 {
        y ~ geometric(q[i], 1/2) clamped 0..2
        if y >= t { output top } else { output bot }
      }
    }
    check m: dp(1/10)
    check m: dp(1/10, 1/50)
    """
    for found in explained(text, tmp_path):
        ratio = exact(found.inequality.ratio)
        product = Fraction(1)
        for step in found.by_output:
            product *= exact(step.factor)
            assert exact(step.factor) == exact(step.left) / exact(step.right)
        assert not found.by_output or len(found.event) > 1 or product == ratio
        share = exact(found.run.share)
        assert 0 < share <= 1
        chances = [exact(step.left) for step in found.run.steps if step.left is not None]
        assert chances


def test_a_run_that_is_all_of_the_output_has_the_ratio_as_its_product(tmp_path):
    text = """
    mechanism m {
      input x in 0..3
      adjacent abs(x - x') <= 1
      repeat 3 { y ~ geometric(x, 1/2) clamped 0..3; output y }
    }
    check m: dp(1/2)
    """
    (found,) = explained(text, tmp_path)
    assert found.run.share.exact == "1"
    product = Fraction(1)
    for step in (*found.run.steps, *found.run.same):
        product *= 1 if step.factor is None else exact(step.factor) ** step.times
    assert product == exact(found.inequality.ratio)


THREE = """
mechanism m {
  input x in {a, b, c}
  adjacent (a, b), (b, c)
  z ~ if x = a then {Y: 2/3, N: 1/3} else if x = b then {Y: 1/3, N: 2/3} else {Y: 1/2, N: 1/2}
  output z
}
"""


@pytest.mark.parametrize(
    ("claim", "parts", "tight"),
    [
        (
            "!(P>1/2 [ X Y ] & D{ln 2} [ X Y ])",
            ["P<=1/2 [ X Y ]: 2/3", "ratio 2, allowed 2, so D is true"],
            ["P<=2/3 [ X Y ]", "!D [ X Y ] for every epsilon below ln(2)"],
        ),
        ("x = b | P>=3/4 [ X Y ]", ["x = b is false", "P>=3/4 [ X Y ]: 2/3"], ["P>=1/2 [ X Y ]"]),
        ("x = a => P>=3/4 [ X Y ]", ["!(x = a) is false", "2/3"], ["P>=2/3 [ X Y ]"]),
        (
            "P=1 [ X Y ] | D{0} [ X Y ]",
            ["P=1 [ X Y ]: 2/3", "ratio 2, allowed 1"],
            ["P in [1/3, 2/3] [ X Y ]", "D{ln(2)} [ X Y ]"],
        ),
    ],
)
def test_of_any_disjunction_each_part_says_why_it_is_false_and_what_would_do(
    claim, parts, tight, tmp_path
):
    (found,) = explained(f"{THREE} check m: {claim}", tmp_path)
    told = [str(each.text) for each in found.remarks if each.label.startswith("part")]
    assert len(told) == len(parts)
    assert all(part in text for part, text in zip(parts, told, strict=True))
    lead = "one of these would do: " if len(tight) > 1 else "this would do: "
    assert str(found.tight.text) == lead + "; ".join(tight)
    for each in tight:
        wider = claim.replace("P>1/2", "P>2/3") if each.startswith("P<=2/3") else None
        wider = wider or claim.replace("x = b | P>=3/4 [ X Y ]", f"x = b | {each}")
        wider = wider.replace("=> P>=3/4 [ X Y ]", f"=> {each}")
        wider = wider.replace("D{0} [ X Y ]", each).replace("D{ln 2}", "D{ln(2) - 1/1000}")
        assert answers(f"{THREE} check m: {wider}", tmp_path)[0].is_ok


@pytest.mark.parametrize(
    ("claim", "shown", "of"),
    [
        ("D{1/10} [ X (output = 1 & X output = 2) ]", "1, 2", "event"),
        ("P>=9/10 [ X output = 0 ]", "1, ...", "outside"),
        ("P<=1/10 [ X output = 1 ]", "1, ...", "inside"),
        ("P=1/10 [ X X output = 2 ]", "1, 2", "inside"),
    ],
)
def test_the_run_of_a_path_formula_has_the_chance_of_its_draws(claim, shown, of, tmp_path):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      a ~ bernoulli(2/5 + x/10)
      b ~ bernoulli(1/4)
      y := if a | b then 1 else 0
      output y
      z ~ {{1: 1/4, 2: 3/4}}
      output z
    }}
    check m: {claim}"""
    (found,) = explained(text, tmp_path)
    run = found.run
    assert (str(run.shown), run.of) == (shown, of)
    heaviest = next(each for each in found.runs if each.shown == run.shown)
    product = Fraction(1)
    for step in (*run.steps, *run.same):
        product *= 1 if step.left is None else exact(step.left)
    assert product == exact(run.share) * exact(heaviest.probability)


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        ("P>=1 [ F<=4 output = 1 ]", {"0": "1/4", "diverged": "1/2"}),
        ("P>=1 [ X (output = 0 & X X stopped) ]", {"1": "1/4", "diverged": "1/2"}),
        ("P>=1 [ F<=2 (output = 1 & X diverged) ]", {"0": "1/4", "1": "1/4", "diverged": "1/2"}),
    ],
)
def test_runs_that_are_over_while_a_formula_waits_have_their_outputs_alone(claim, shown, tmp_path):
    text = f"""mechanism m {{
      input x in 0..1
      adjacent all
      y ~ {{0: 1/4, 1: 1/4, 2: 1/2}}
      if y = 2 {{ while true {{ }} }}
      output y
    }}
    check m: {claim}"""
    (found,) = explained(text, tmp_path)
    outside = {str(run.shown): run.probability.exact for run in found.runs if not run.is_inside}
    assert outside == shown
    assert str(found.run.shown) in shown


def test_a_run_is_not_told_by_outputs_that_do_not_decide_a_formula(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      y ~ bernoulli(1/3 + x/10)
      output y
    }
    check m: D{0} [ X (output = true | x = 0) ]"""
    (found,) = explained(text, tmp_path)
    assert found.runs[0].right.exact == "0"
    assert found.run is None


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("P>=1/8 [ X output = a ]", "x = 0 with 1/6 >= 1/8"),
        ("P<=2/3 [ X output = a ]", "x = 2 with 1/2 <= 2/3"),
        ("P in [1/10, 51/100] [ X output = a ]", "x = 2 with 1/2 <= 51/100"),
        ("E>=0 [ if output = a then 1 else 0 ]", "x = 0 with 1/6 >= 0"),
        ("P>=1 [ X (output = a | output = b) ]", None),
    ],
)
def test_a_claim_that_holds_says_which_input_comes_closest(claim, said, tmp_path):
    text = f"""mechanism m {{
      input x in 0..2
      adjacent all
      y ~ {{a: (x + 1)/6, b: (5 - x)/6}}
      output y
    }}
    check m: {claim}"""
    (answer,) = answers(text, tmp_path)
    beside = [str(each.text) for each in answer.outcome.beside]
    assert beside == ([] if said is None else [f"tightest: {said}"])


def test_an_inner_pair_is_one_of_the_input_shown_if_it_has_one(tmp_path):
    text = """mechanism m {
      input x in 0..3
      adjacent abs(x - x') <= 1
      y ~ geometric(x, 1/2) clamped 0..3
      output if y >= 2 then top else bot
      z ~ geometric(x, 1/2) clamped 0..3
      output z
    }
    check m: P>=1 [ X (top => D{ln 3 - 1/2} [ X output = 0 ]) ]"""
    (found,) = explained(text, tmp_path)
    (first,) = (each for each in found.remarks if each.label == "from")
    assert str(first.text).startswith("x = 3: ")
    assert " after top (line 5), x = 2 against x = 3, " in str(found.inner.text)


SUM_OF_DRAWS = """
mechanism m {
  input x in 0..2
  input y in 0..2
  adjacent abs(x - x') <= 1 & abs(y - y') <= 1
  n ~ uniform(0..3)
  v := n + x
  output start
  w ~ bernoulli(1/2)
  output w
  u ~ geometric(y, 1/2) clamped -5..9
  output u >= v
}
"""
SIDES = r"x = (\d), y = (\d) against x = (\d), y = (\d) with v = (\d) against v = (\d)"


@pytest.mark.parametrize(
    ("claim", "after"),
    [
        ("P=1 [ X D{ln 2} [ X X output = true ] ]", "start"),
        ("P=1 [ X X D{ln 2} [ X output = true ] ]", "start, false|start, true"),
    ],
)
def test_an_inner_pair_has_the_same_draws_on_both_sides(claim, after, tmp_path):
    """A sum is remembered without its parts: two sums are in lock step from some inputs alone."""
    starts = [f"x = {x} & y = {y}" for x in range(3) for y in range(3)]
    checks = [f"check m at {start}: {claim}" for start in starts]
    found = explained(SUM_OF_DRAWS + "\n".join(checks), tmp_path)
    assert len(found) == len(checks)
    for start, each in zip(starts, found, strict=True):
        text = str(each.inner.text)
        x, y, other_x, other_y, v, other_v = map(int, re.search(SIDES, text).groups())
        assert re.search(f" after ({after}), x = ", text)
        assert v - x == other_v - other_x, text
        assert 0 <= v - x <= 3
        assert (abs(x - other_x) <= 1, abs(y - other_y) <= 1) == (True, True)
        begun = [f"x = {x} & y = {y}", f"x = {other_x} & y = {other_y}"]
        assert (" come to one of the two, too" in text) == (start not in begun)


@pytest.mark.parametrize("shown", ["h", "go"])
def test_an_inner_run_is_told_where_its_outputs_lead_to_the_inner_pair_alone(shown, tmp_path):
    text = f"""mechanism m {{
      input x in {{pos, neg}}
      adjacent all
      h ~ bernoulli(3/4)
      output {shown}
      if h {{ y ~ {{x: 1/2, other: 1/2}} }} else {{ y ~ {{x: 9/10, other: 1/10}} }}
      output y
    }}
    check m: P>=1 [ X D{{ln 3}} [ X pos ] ]"""
    (found,) = explained(text, tmp_path)
    assert (found.inner.run is not None) == (shown == "h")


ASKED = """mechanism asked { input x in 0..1 adjacent all
  for i in 1..2 { query c in {high, low} fixed
    b ~ bernoulli(if c = low then 1/2 else 3/4) output if b then x else 1 - x } }
"""


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        (
            "P=1 [ X P>=3/5 [ X output = x ] ]",
            (
                "P>=3/5 [ X output = x ] is false after 0 from x = 0, c = [high, low]: 1/2"
                " (queries that are not asked yet are any)"
            ),
        ),
        (
            "at c[2] = low : P=1 [ X P>=3/5 [ X output = x ] ]",
            "is false after 0 from x = 0, c = [high, low]: 1/2",
        ),
        ("at c[1] = low : P>=1/2 [ P>=3/5 [ X output = x ] ]", "c = [low, high]: 1/2"),
        (
            "P>=1 [ X (output = 1 => P>=3/5 [ X output = x ]) ]",
            (
                "P>=3/5 [ X output = x ] is false after 1 from x = 1, c = [high, low]: 1/2"
                " (queries that are not asked yet are any)"
            ),
        ),
        (
            "P>=1 [ X (output = 0 => output = x | P>=3/5 [ X output = x ]) ]",
            "after 0 from x = 1, c = [low, low]: 1/2 (queries that are not asked yet are any)",
        ),
        ("P>=1 [ X (output = x => output = 2 & P>=3/5 [ X output = x ]) ]", None),  # the P may hold
    ],
)
def test_an_inner_bound_says_after_what_it_is_false(claim, told, tmp_path):
    name = "asked" if claim.startswith("P") else "asked "
    (found,) = explained(f"{ASKED}check {name}{': ' * (name == 'asked')}{claim}", tmp_path)
    inner = [str(each.text) for each in found.remarks if each.label == "inner"]
    assert len(inner) == (told is not None)
    assert all(text.endswith(told) for text in inner)
    if claim.startswith("P="):
        assert found.tight is None, "P=0 says nothing of the inner formula"


def test_an_inner_bound_that_is_false_at_the_end_shows_no_output_there(tmp_path):
    text = """mechanism m { input x in 0..1 adjacent all
      b ~ bernoulli(if x = 0 then 1/3 else 2/3) output b }
    check m: P>=1 [ X X P>=1/2 [ F output = true ] ]"""
    (found,) = explained(text, tmp_path)
    (inner,) = (str(each.text) for each in found.remarks if each.label == "inner")
    assert re.fullmatch(r".* is false after (true|false) at the end from x = [01]: 0", inner)


ANALYSTS = """mechanism m {
  input x in {0, 1}
  adjacent all
  while true {
    query c in {low, high} fixed
    y ~ if c = high then {x: 3/4, 1 - x: 1/4} else {0: 1/2, 1: 1/2}
    output y
  }
}
"""


def test_what_few_analysts_show_is_no_bound_for_all(tmp_path):
    """After low, then high, the chance is 3/8: analysts who ask the same twice have 1/4 at most."""
    path = "[ X output = 1 & X X output = 0 ]"
    first, more, private = explained(
        f"{ANALYSTS}check m: P<=1/10 {path}\ncheck m: P<=3/10 {path}\ncheck m: D{{1/10}} {path}\n",
        tmp_path,
    )
    (looked_at,) = [str(each.text) for each in first.remarks if each.label == "inputs"]
    assert looked_at.startswith("4 of the 4 looked at fail: x = 0, c = [low] (1/4)")
    assert (first.tight, more.tight, private.tight) == (None, None, None)
    assert private.others.is_window


TWO_THRESHOLDS = """
mechanism m {
  input q in 0..1
  adjacent abs(q - q') <= 1
  a ~ geometric(0, 1/3) unbounded
  b ~ geometric(0, 1/3) unbounded
  t := if q = 0 then a else b
  coin ~ bernoulli(1/4 + q/4)
  output coin
  v ~ geometric(q, 1/2) unbounded
  output if v >= t then top else bot
}
"""


@pytest.mark.parametrize(
    ("claim", "lead"),
    [
        ("P>=3/4 [ X (output | D{ln 2} [ X top ]) ]", "sure to hold as P"),
        ("P>=3/4 [ X (!output & !D{ln 2} [ X top ]) ]", "sure to hold as P"),
        ("P=3/4 [ X (output | D{ln 2} [ X top ]) ]", "sure to hold as P"),
        ("D{1/1000} [ X (output | D{ln 2} [ X top ]) ]", ""),
    ],
)
def test_what_is_sure_of_a_formula_that_is_known_within_bounds_holds(claim, lead, tmp_path):
    (found,) = explained(f"{TWO_THRESHOLDS}check m: {claim}", tmp_path)
    known = next(remark for remark in found.remarks if remark.label == "known")
    assert "depends on how far beyond the window" in str(known.text)
    said = str(found.tight.text)
    assert said.startswith(lead)
    path = claim[claim.index("[ X (") :]
    bounds = said.removeprefix("sure to hold as ").removesuffix(" would do").split(" or ")
    for bound in bounds:
        holding = f"{TWO_THRESHOLDS}check m: {bound} {path}"
        assert [type(each.outcome.verdict).__name__ for each in answers(holding, tmp_path)] == [
            "Holds"
        ]


def test_a_state_is_told_by_what_it_remembers_where_outputs_do_not_tell_it(tmp_path):
    text = """
mechanism m {
  input q[1..2] in 0..1
  adjacent linf(q, q') <= 1
  t ~ geometric(1, 1/4) unbounded
  for i in 1..2 {
    v ~ geometric(q[i], 1/2) unbounded
    output if v > t then top else bot
  }
}
"""
    first, after = explained(
        f"{text}check m: P=1 [ X P>=1/50 [ X bot ] ]\ncheck m: P=1 [ P>=1 [ X bot ] ]", tmp_path
    )
    (inner,) = (str(each.text) for each in first.remarks if each.label == "inner")
    assert re.search(r"after (top|bot) from q = \[., .\] with t < -?\d+, 1 draw \w+ it: ", inner)
    assert "q[2]" not in inner
    assert " with " not in "".join(str(each.text) for each in after.remarks)
