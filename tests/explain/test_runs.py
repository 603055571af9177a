"""The runs of reports have the probabilities of their outputs, which the engine is asked for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcheck.check.quantities.loss_values import COMPUTED
from dpcheck.check.values.verdicts import OutputSequence
from dpcheck.cli import run as call
from dpcheck.exact import Budget
from dpcheck.explain.runs import program_runs
from dpcheck.logic.quantities import QUANTITIES, QuantityWord
from dpcheck.model.evaluation import evaluate
from tests.explain.explaining import answers, exact, explained, seeded

CLAIMS = [
    "dp(1/100)",
    "epsilon = 1/100",
    "delta(1/100) = 1/1000",
    "D{1/100} [ X output >= 1 ]",
    "P<=1/100 [ X output >= 1 ]",
    "P>=99/100 [ X output >= 1 ]",
    "D{1/100} [ X output = 1 ] | P<=1/100 [ X output = 0 ]",
    "P>=1 [ X D{1/100} [ X output = 1 ] ]",
    "total_variation <= 1/100",
]


def random_model(rng):
    """Return a program that shows two numbers: sums of noise, choices of it, or what it says."""

    def noise(center):
        policy = rng.choice(["clamped 0..3", "unbounded", "folded 0..3"])
        return f"geometric({center}, {rng.choice(['1/2', '1/3', '2/5'])}) {policy}"

    first = rng.choice(
        [
            f"y ~ {noise('x')}\n output y",
            f"y ~ {noise('x')}\n z ~ {noise('1')}\n output max(y, z)",
            f"y ~ {noise('1')}\n z ~ {noise('x')}\n if y >= z {{ output 1 }} else {{ output 0 }}",
            f"y ~ {noise('x')}\n if y > 1 {{ output 1 }} else {{ output 2 }}",
        ]
    )
    second = rng.choice([noise("x"), noise("2 - x"), "{0: 1/3 + x/9, 1: 2/3 - x/9}"])
    body = f"{first}\n w ~ {second}\n if w >= 1 {{ output 1 }} else {{ output 0 }}"
    return f"mechanism m {{\n input x in 0..2\n adjacent abs(x - x') <= 1\n {body}\n}}\n"


def path_of(shown):
    """Return the path formula of outputs; numbers far out stand together as `> 5`."""
    made = ""
    for text in reversed(shown.outputs):
        is_one = f"output {text}" if text[0] in "<>" else f"output = {text}"
        made = f"X ({is_one}{' & ' * bool(made)}{made})"
    return made


def chance_of(model, state, shown, folder):
    """Return the probability of outputs from an input, as the engine says when it is asked."""
    (answer,) = answers(f"{model}compute m at {state}: P=? [ {path_of(shown)} ]", folder)
    return Fraction(str(answer.outcome.verdict.amount.exact))


def is_priced(run):
    """Return the probability of a run's draws from the left, and right where all are taken."""
    left = right = Fraction(1)
    for step in (*run.steps, *run.same):
        left *= 1 if step.left is None else exact(step.left) ** step.times
        is_parting = step.note or (step.kind == "output" and step.right_value)
        cost = 0 if is_parting else 1 if step.right is None else exact(step.right)
        right *= cost**step.times
        if (
            step.factor is not None
            and step.right is not None
            and exact(step.right)
            and not step.note
        ):
            assert exact(step.factor) == exact(step.left) / exact(step.right)
    return left, right


@pytest.mark.parametrize("seed", range(8))
def test_a_run_has_its_share_of_its_outputs(seed, tmp_path):
    rng = seeded(seed)
    model = random_model(rng)
    claims = rng.sample(CLAIMS, 3)
    asked = "".join(f"check m: {claim}\n" for claim in claims)
    n_runs = 0
    for found in explained(model + asked, tmp_path):
        for run in found.all_runs:
            left, right = is_priced(run)
            shown = run.shown
            if shown is None:
                assert isinstance(found.event[0], OutputSequence)
                shown = found.event[0]
            states = [f"x = {k}" for k in range(3)]
            chances = {state: chance_of(model, state, shown, tmp_path) for state in states}
            if found.neighbors is not None:
                p, q = (chances[state] for state in (found.neighbors.left, found.neighbors.right))
                assert left == exact(run.share) * p
                assert right <= q
                assert bool(run.elsewhere) <= (q > 0)
            else:
                assert left in {exact(run.share) * p for p in chances.values()}
            n_runs += 1
    assert n_runs


def test_of_a_composition_the_run_is_one_of_the_part_that_loses_most(tmp_path):
    part = "input x in 0..1 adjacent all b ~ bernoulli(1/2) y ~ {x: P, 1 - x: 1 - P} output y"
    text = f"""mechanism low {{ {part.replace("P", "2/3")} }}
mechanism high {{ {part.replace("P", "3/4")} }}
check compose(low, 2, high, 1): dp(ln 3, 1/20)"""
    (found,) = explained(text, tmp_path)
    first, second = found.remarks
    assert first.run is None
    assert str(second.text).startswith("high, run 3: ")
    assert [step.line.number for step in second.run.steps] == [2, 2]
    assert is_priced(second.run) == (Fraction(3, 8), Fraction(1, 8))


def test_what_an_analyst_asks_is_no_draw_of_a_run(tmp_path):
    text = """
    mechanism m {
      input x in 0..1
      adjacent all
      for i in 1..2 {
        query p in {2/3, 3/4, 4/5}
        y ~ {x: p, 1 - x: 1 - p}
        output y
      }
    }
    check m: dp(ln 3, 1/20)"""
    (answer,) = answers(text, tmp_path)
    run, failing = answer.explanation.run, answer.explanation.inequality
    assert [step.value for step in run.steps if step.kind == "query"] == ["p = 4/5"] * 2
    assert (
        is_priced(run)
        == (exact(failing.p), exact(failing.q))
        == (Fraction(16, 25), Fraction(1, 25))
    )


def test_of_noise_without_bounds_the_most_probable_run_is_shown(tmp_path):
    model = """
    mechanism m {
      input x in 0..1
      adjacent all
      y ~ geometric(x, 1/2) unbounded
      z ~ geometric(3, 1/3) unbounded
      if y > z { output above } else { output below }
    }
    check m: dp(1/10)
    """
    (found,) = explained(model, tmp_path)

    def likely(center, ratio, value):
        return (1 - ratio) / (1 + ratio) * ratio ** abs(value - center)

    x = int(found.neighbors.left[-1])
    best = max(
        likely(x, Fraction(1, 2), y) * likely(3, Fraction(1, 3), z)
        for y in range(-30, 30)
        for z in range(-30, 30)
        if (y > z) == (found.event[0].outputs == ("above",))
    )
    assert is_priced(found.run)[0] == best


def test_a_number_far_out_is_drawn_as_it_is_likeliest(tmp_path):
    model = """
    mechanism m {
      input x in 0..1
      adjacent all
      y ~ geometric(x, 1/2) unbounded
      if y > 5 { output y }
    }
    check m: D{1/10} [ F output >= 6 ]
    """
    (found,) = explained(model, tmp_path)
    assert found.runs[0].shown.outputs[0].startswith(("6", "> "))
    assert [step.value for step in found.run.steps] == ["6", "6"]


GIVEN = {"budget": "0", "probability": "1/2", "order": "2", "digits": "5"}


def test_every_quantity_of_losses_names_outputs_and_shows_a_run_where_it_is_not_as_claimed(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(QUANTITIES, "advantage", QuantityWord("advantage", "losses"))
    monkeypatch.setitem(
        COMPUTED, "advantage", lambda sides: COMPUTED["loss_tail"](sides, Budget.of(0))
    )
    calls = [
        f"{word}({', '.join(GIVEN[each.kind] for each in QUANTITIES[word].parameters)})"
        for word in COMPUTED
    ]
    claims = "".join(f"check m: {call.replace('()', '')} < 0\n" for call in calls)
    found = explained(random_model(seeded(1)) + claims, tmp_path)
    assert len(found) == len(COMPUTED)
    for explanation in found:
        assert explanation.run.steps
        assert any(
            isinstance(part, OutputSequence)
            for remark in explanation.remarks
            for part in remark.text.parts
        )


def test_of_an_output_that_differs_the_line_of_its_assignment_is_told(tmp_path):
    """Of several assignments it is the last one before the output."""
    text = """mechanism m { input x in 0..1 adjacent all
      var sent := 9
      drawn ~ bernoulli(1/2)
      if drawn { sent := 7 }
      sent := 2 * x
      output (drawn, sent, x) }
    check m: dp(1)"""
    (found,) = explained(text, tmp_path)
    (differing,) = (step for step in found.run.steps if step.right_value)
    assert [(each.name, each.line and each.line.number) for each in differing.reads] == [
        ("sent", 5),
        ("x", None),
    ]


def mixture(rng):
    """Return a hidden choice among tables, its weights, and tables[branch][x][y]."""
    weights = [rng.randint(1, 3) for _ in range(3)]
    tables = [[[rng.randint(1, 4) for _ in range(2)] for _ in range(2)] for _ in range(3)]
    tables[rng.randrange(3)] = [[1, 1], [1, 1]]
    chances = [[[Fraction(w, sum(row)) for w in row] for row in table] for table in tables]
    total = sum(weights)
    branches = " else ".join(
        (f"if m = {k} " if k < 2 else "")
        + "{ y ~ if x = 0 then "
        + " else ".join(
            "{" + ", ".join(f"{y}: {p}" for y, p in enumerate(row)) + "}" for row in rows
        )
        + " }"
        for k, rows in enumerate(chances)
    )
    hidden = ", ".join(f"{k}: {w}/{total}" for k, w in enumerate(weights))
    text = f"mechanism m {{\n input x in 0..1\n adjacent all\n m ~ {{{hidden}}}\n var y := 0\n"
    return f"{text} {branches}\n output y\n}}\n", [Fraction(w, total) for w in weights], chances


@pytest.mark.parametrize("seed", range(12))
def test_the_run_shown_exceeds_the_budget_and_is_the_likeliest_that_does(seed, tmp_path):
    """Of hidden ways to one output some keep to the budget; of equal ones the worst is shown."""
    text, weights, chances = mixture(seeded(seed))
    for budget in (Fraction(101, 100), Fraction(5, 4), Fraction(3, 2), Fraction(2)):
        for each in explained(f"{text}check m: dp(ln({budget}))\n", tmp_path):
            left, right = (int(side[-1]) for side in (each.neighbors.left, each.neighbors.right))
            y = int(each.event[0].outputs[0])
            ways = [
                (w * table[left][y], table[left][y] / table[right][y])
                for w, table in zip(weights, chances, strict=True)
            ]
            likeliest, ratio = max(way for way in ways if way[1] > budget)
            p, q = is_priced(each.run)
            assert (p, p / q) == (likeliest, ratio)
            assert exact(each.run.share) == p / sum(chance for chance, _ in ways)
            assert each.run.is_beyond == (likeliest < max(ways)[0])


def test_a_run_that_keeps_to_the_budget_gives_way_to_one_that_does_not(tmp_path, capsys):
    """Most runs are noise of one law; few show the data, whose draws show another output there."""
    text = """mechanism m {
      input x in 0..1
      adjacent all
      mode ~ {noise: 8/10, data: 2/10}
      y := x
      if mode = noise { y ~ {0: 1/2, 1: 1/2} }
      output y
    }
    """
    (each,) = explained(f"{text}check m: dp(ln(11/10))\n", tmp_path)
    assert (each.run.share.exact, each.run.is_beyond) == ("1/3", True)
    assert [(step.kind, step.right_value) for step in each.run.steps] == [("output", "1")]
    assert [step.value for step in each.run.same] == ["data"]
    (formula,) = explained(f"{text}check m: D{{ln(11/10)}} [ X output = 0 ]\n", tmp_path)
    assert (formula.run.share.exact, formula.run.is_beyond) == ("1/3", True)
    (tmp_path / "m.dpm").write_text(f"{text}check m: dp(ln(11/10))\n", "utf-8")
    call(["check", str(tmp_path / "m.dpm")])
    told = "a run        the most probable one from the left whose ratio is not allowed,"
    assert told in capsys.readouterr().out


def test_a_round_of_an_endless_stream_reads_its_own_cell(tmp_path):
    """The variable `q[i]` of a round has no place in the neighbors, `q[2]` has."""
    text = """mechanism m {
      input q[1..] in integers
      adjacent linf(q, q') <= 1
      for i in 1.. {
        y ~ geometric(q[i], 1/2) unbounded
        if y >= 1 { output top } else { output bot }
      }
    }
    """
    (each,) = explained(f"{text}check m: dp(ln 3)\n", tmp_path)
    names = {difference.name for difference in each.neighbors.differences}
    read = {difference.name for step in each.run.steps for difference in step.reads}
    assert read == names != set()


def test_a_ratio_has_digits_that_tell_it_from_what_is_allowed(tmp_path, capsys):
    law = "{0: 1/3 + x*(1/3 + 1/10^9), 1: 2/3 - x*(1/3 + 1/10^9)}"
    body = f"input x in 0..1\n adjacent all\n y ~ {law}\n output y"
    (tmp_path / "m.dpm").write_text(f"mechanism m {{ {body} }}\ncheck m: dp(ln 2)\n", "utf-8")
    call(["check", str(tmp_path / "m.dpm")])
    told = capsys.readouterr().out
    assert "ratio 2000000000/999999997 ≈ 2.00000001, allowed 2" in " ".join(told.split())


def test_the_right_s_own_draws_stand_beside_a_run_only_where_they_exceed_the_budget(tmp_path):
    """Two ways of 1/4 lead to 1 from x = 1, from x = 0 one of 3/10, which neither exceeds."""
    text = """mechanism m {
      input x in 0..1
      adjacent all
      y ~ if x = 1 then {1: 1/4, 2: 1/4, 3: 1/2} else {0: 3/10, 3: 7/10}
      if y < 3 { output 1 } else { output 0 }
    }
    """
    (each,) = explained(f"{text}check m: dp(ln(3/2))\n", tmp_path)
    (draw,) = [step for step in each.run.steps if step.kind == "draw"]
    assert (draw.value, draw.right_value, draw.right.exact) == ("1", "", "0")
    assert [step.value for step in each.run.elsewhere if step.kind == "draw"] == ["0"]
    assert each.run.share.exact == "1/2"


@pytest.mark.parametrize("seed", range(6))
def test_no_run_shown_keeps_to_the_budget(seed, tmp_path):
    rng = seeded(seed)
    for _ in range(4):
        for each in explained(random_model(rng) + "check m: dp(ln(3/2))\n", tmp_path):
            left, right = is_priced(each.run)
            assert left > Fraction(3, 2) * right or each.run.elsewhere


def test_sequences_that_are_no_numbers_are_parted_from_each_other(tmp_path):
    text = """mechanism m { input x in 0..1 adjacent all b ~ uniform(1..2)
      output (x, 0) output b > 1 }
    check m: accuracy(output(2), x, 1/4) <= 1"""
    (why,) = explained(text, tmp_path)
    (told,) = [str(each.text) for each in why.remarks if each.label == "attained"]
    both = "{ (0, 0), then false; (0, 0), then true }"
    assert told == f"the outputs {both} are no numbers, so no error is finite"


def test_a_run_counts_that_shows_the_first_outputs_and_nothing_more_for_ever(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      b ~ bernoulli(if x = 1 then 3/4 else 1/4)
      output if x = 1 then N else Y
      if b { while true { } }
      output b
    }
    check m: P<=1/3 [ F output = N ]"""
    (found,) = explained(text, tmp_path)
    assert (str(found.run.shown), found.run.share.exact) == ("N, ...", "3/4")
    assert [step.value for step in found.run.steps] == ["true", "N"]


def test_what_the_right_does_after_the_first_outputs_does_not_part_it(tmp_path):
    text = """mechanism m {
      input x in 0..1
      adjacent all
      b ~ bernoulli(if x = 1 then 3/4 else 1/4)
      output b
      if x = 0 { output x }
    }
    check m: D{0} [ X output = true ]"""
    (found,) = explained(text, tmp_path)
    assert [(str(each.shown), each.right.exact) for each in found.runs] == [("true, ...", "1/4")]
    assert [step.note for step in found.run.steps] == ["", ""]
    assert found.run.elsewhere == ()


def test_a_silent_loop_without_an_end_is_left_as_soon_as_it_repeats_itself(tmp_path, monkeypatch):
    n_silent = 0

    def counted(expression, environment):
        nonlocal n_silent
        n_silent += 1
        return evaluate(expression, environment)

    monkeypatch.setattr(program_runs, "evaluate", counted)
    text = """mechanism m {
      input x in 0..1
      adjacent all
      a ~ uniform(0..9)
      n := 0
      while a < 9 & x = 1 { n := (n + 1) mod 3 }
      output x
    }
    check m: dp(ln 3)"""
    (found,) = explained(text, tmp_path)
    assert found.omitted == ()
    assert found.tight is not None
    assert n_silent < 1000
