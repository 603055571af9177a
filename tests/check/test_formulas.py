"""State formulas: where they hold, why not, and when they say nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcheck import solve
from dpcheck.chain.chain import Chain, NeighborRelation
from dpcheck.check.decide import decide
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.measures import ClaimRejected
from dpcheck.check.values.verdicts import Undecided, Violated
from dpcheck.exact import Budget
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.logic import claims as c
from dpcheck.logic import formulas as f
from dpcheck.logic.formula_text import formula_text
from dpcheck.solve import path_probabilities
from tests.check.building import SPAN, STOP, mechanism_chain, release_chain, survey_chain
from tests.check.claims import (
    at,
    atom,
    both,
    compare,
    compute,
    eventually,
    formula,
    fraction,
    here,
    ln,
    next_,
    outcome,
    private,
    probability,
    state,
    verdict,
)
from tests.checking import check_text

ZERO = Budget.of(0)


def with_later(chain, pairs):
    """Return the chain with later neighbors."""
    values = {name: getattr(chain, name) for name in chain.__dataclass_fields__}
    relation = NeighborRelation(chain.neighbors.pairs, np.array(pairs, np.int64).reshape(-1, 2))
    return Chain(**{**values, "neighbors": relation})


def go_then_reveal():
    """Return a chain that says `go`, then the input; its later pair are the states after `go`."""

    def step(memory):
        x, said = memory
        return [(1, "go", (x, True))] if not said else [(1, f"is {x}", None)]

    inputs = {"x = 1": (1, False), "x = 2": (2, False)}
    chain = mechanism_chain(inputs, [("x = 1", "x = 2")], step)
    after = [s for s in range(chain.n_states) if chain.labelling["go"][s]]
    return with_later(chain, [after])


def test_nested_privacy_sees_the_states_that_neighbors_reach():
    chain = go_then_reveal()
    inner = private(ZERO, next_(here("is 1")))
    nested = formula(probability("=", "1", next_(both(here("go"), state(inner)))))
    assert verdict(chain, nested) == "violated"
    assert outcome(chain, nested).vacuity == ()
    blind = with_later(chain, [])
    assert verdict(blind, nested) == "holds"
    assert [each.kind for each in outcome(blind, nested).vacuity] == ["no neighbors"]


def test_the_pair_shown_has_the_largest_gap_and_the_likelier_state_first():
    rows = {
        "x = 1": {"a": Fraction(1, 2), "b": Fraction(1, 2)},
        "x = 2": {"a": Fraction(3, 5), "b": Fraction(2, 5)},
        "x = 3": {"a": Fraction(9, 10), "b": Fraction(1, 10)},
    }
    chain = release_chain(rows, [("x = 1", "x = 2"), ("x = 1", "x = 3")])
    found = outcome(chain, formula(private(ZERO, next_(here("a")), "1/20"))).verdict
    assert isinstance(found, Violated)
    shown = found.counterexample
    assert shown.states == ("x = 3", "x = 1")
    assert str(shown.event) == "X a"
    assert shown.ratio.exact == "9/5"
    assert shown.excess.exact == "7/20"
    assert str(shown.runs[0].shown) == "a"
    assert [p.exact for p in shown.runs[0].probabilities] == ["9/10", "1/2"]


def test_a_conjunction_shows_the_part_that_fails():
    chain = survey_chain()
    claim = formula(
        f.And((private(ln(3), next_(here("Y"))), private(ln(2), next_(here("N")))), SPAN)
    )
    shown = outcome(chain, claim).verdict.counterexample
    assert str(shown.event) == "X N"
    assert shown.states == ("x = neg", "x = pos")
    assert str(shown.requirement) == "3/4 <= 2 * 1/4"


def test_a_probability_shows_the_state_furthest_from_its_bound():
    chain = survey_chain()
    shown = outcome(chain, formula(probability(">=", "4/5", next_(here("Y"))))).verdict
    assert shown.counterexample.states == ("x = neg",)
    assert str(shown.counterexample.requirement) == "1/4 >= 4/5"
    shown = outcome(chain, formula(probability("<=", "1/5", next_(here("Y"))))).verdict
    assert shown.counterexample.states == ("x = pos",)
    assert shown.counterexample.probabilities[0].exact == "3/4"


@pytest.mark.parametrize("bound", ["3/4", "1/4", "1"])
@pytest.mark.parametrize("comparison", [">=", ">", "<=", "<", "="])
def test_comparisons_are_exact(bound, comparison):
    chain = survey_chain()
    exact = {
        ">=": Fraction(3, 4) >= Fraction(bound),
        ">": Fraction(3, 4) > Fraction(bound),
        "<=": Fraction(3, 4) <= Fraction(bound),
        "<": Fraction(3, 4) < Fraction(bound),
        "=": Fraction(3, 4) == Fraction(bound),
    }[comparison]
    claim = formula(probability(comparison, bound, next_(here("Y"))))
    assert verdict(chain, claim, at("x = pos")) == ("holds" if exact else "violated")
    negated = formula(f.Not(probability(comparison, bound, next_(here("Y"))), SPAN))
    assert verdict(chain, negated, at("x = pos")) == ("violated" if exact else "holds")


def between(low, high, path):
    return f.ProbabilityIs(((">=", fraction(low)), ("<=", fraction(high))), path, SPAN)


def test_an_interval_includes_its_ends():
    chain = survey_chain()
    inside = between("1/4", "3/4", next_(here("Y")))
    assert verdict(chain, formula(inside)) == "holds"
    narrow = between("1/4", "2/3", next_(here("Y")))
    shown = outcome(chain, formula(narrow)).verdict.counterexample
    assert shown.states == ("x = pos",)
    assert str(shown.requirement) == "1/4 <= 3/4 <= 2/3"


def test_sure_events_dead_atoms_and_lonely_states_are_vacuous():
    chain = survey_chain()
    kinds = [
        v.kind for v in outcome(chain, formula(private(ZERO, eventually(here("stopped"))))).vacuity
    ]
    assert kinds == ["trivial probability"]
    dead = outcome(chain, formula(private(ZERO, eventually(here("diverged")))))
    assert [v.kind for v in dead.vacuity] == ["trivial probability", "unsatisfied atom"]
    lonely = release_chain({"x = 1": {"a": Fraction(1, 2), "b": Fraction(1, 2)}}, [])
    alone = outcome(lonely, formula(private(ZERO, next_(here("a")))))
    assert type(alone.verdict).__name__ == "Holds"
    assert [v.kind for v in alone.vacuity] == ["no neighbors"]
    assert outcome(chain, formula(private(ln(3), next_(here("Y"))))).vacuity == ()


def test_a_probability_is_asked_of_one_state():
    chain = survey_chain()
    question = c.PathProbability(next_(here("Y")), SPAN)
    with pytest.raises(ClaimRejected) as rejected:
        outcome(chain, compute(question))
    assert rejected.value.mistake.code == "DP692"
    assert "`x = pos`, `x = neg`" in rejected.value.mistake.notes[0]
    assert outcome(chain, compute(question), at("x = pos")).value.exact == "3/4"
    assert verdict(chain, compare(question, "=", fraction("3/4")), at("x = pos")) == "holds"
    assert verdict(chain, compare(question, "!=", fraction("3/4")), at("x = pos")) == "violated"


def test_at_that_selects_nothing_is_a_mistake():
    chain = survey_chain()
    with pytest.raises(ClaimRejected) as rejected:
        outcome(chain, formula(atom("Y")), at("Y"))
    assert rejected.value.mistake.code == "DP691"
    after = c.AtState("Y", SPAN)
    assert verdict(chain, formula(atom("Y")), after) == "holds"


def test_a_limit_is_undecided():
    chain = survey_chain(3)
    past = Limits(deadline=0.0, timeout=1.0)
    found = decide(chain, c.PrivacyClaim(ln(3), 0, SPAN), at=None, limits=past)
    assert isinstance(found.verdict, Undecided)
    assert found.verdict.limit.kind == "time"
    assert found.neighbor_pairs == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f.Until(here("a"), f.Finally(here("b"), None, SPAN), None, SPAN), "a U F b"),
        (f.PathOr((both(here("a"), here("b")), here("c")), SPAN), "a & b | c"),
        (both(f.PathOr((here("a"), here("b")), SPAN), here("c")), "(a | b) & c"),
        (f.Globally(f.PathNot(here("a"), SPAN), 3, SPAN), "G<=3 !a"),
        (f.PathNot(here("output = 3"), SPAN), "!(output = 3)"),
        (f.Release(here("a"), here("b"), SPAN), "a R b"),
        (
            next_(state(private(ln(2), eventually(here("top")), "1/4"))),
            "X D{ln(2), 1/4} [ F top ]",
        ),
    ],
)
def test_formulas_print_with_the_parentheses_they_need(path, text):
    assert formula_text(path) == text


def test_runs_show_both_sides_of_equal_outputs():
    def step(memory):
        p, left = memory
        if left == 0:
            return [(1, STOP, None)]
        return [(p, "a", (p, left - 1)), (1 - p, "b", (p, left - 1))]

    inputs = {"x = 1": (Fraction(3, 4), 2), "x = 2": (Fraction(1, 4), 2)}
    chain = mechanism_chain(inputs, [("x = 1", "x = 2")], step)
    shown = outcome(chain, formula(private(ZERO, eventually(here("a"))))).verdict.counterexample
    assert shown.probabilities[0].exact == "15/16"
    assert str(shown.runs[0].shown) == "a, ..."
    assert [p.exact for p in shown.runs[0].probabilities] == ["3/4", "1/4"]


def only_bounds(monkeypatch):
    """Let exact probabilities reach the time limit; bounds are 1/1000 apart."""

    def too_long(*arguments, **options):
        raise LimitReached(Limit("time", 1), "3 digits found")

    def bounds(*arguments, **options):
        del options["bits"], options["below_negations"]
        half = fraction("1/2000")
        return [(p - half, p + half) for p in path_probabilities(*arguments, **options)]

    monkeypatch.setattr(solve, "path_probabilities", too_long)
    monkeypatch.setattr(solve, "path_bounds", bounds)


def test_a_probability_that_is_known_is_its_own_bounds(monkeypatch):
    truths, path = Truths(survey_chain(), Limits()), next_(here("Y"))
    states = truths.chain.initial
    exact = truths.probabilities(path, states)
    monkeypatch.setattr(solve, "path_bounds", None)  # no system is solved again
    assert truths.bounds(path, states) == [(p, p) for p in exact]


def test_what_bounds_refute_is_violated_although_exact_numbers_take_too_long(monkeypatch):
    only_bounds(monkeypatch)
    chain = survey_chain()
    found = outcome(chain, formula(private(ln(2), next_(here("Y"))))).verdict
    assert isinstance(found, Violated)
    shown = found.counterexample
    assert shown.states == ("x = pos", "x = neg")
    assert [p.enclosure for p in shown.probabilities] == [
        ("0.7495", "0.7505"),
        ("0.2495", "0.2505"),
    ]
    assert str(shown.requirement) == (
        "p <= 2 * q, where p in [0.7495, 0.7505] and q in [0.2495, 0.2505]"
    )
    assert shown.excess.exact == "in [0.2485, 0.2515]"
    assert shown.ratio.enclosure == ("2.99201596806387", "3.00801603206413")
    found = outcome(chain, formula(probability(">=", "4/5", next_(here("Y"))))).verdict
    assert isinstance(found, Violated)
    assert str(found.counterexample.requirement) == "p >= 4/5, where p in [0.2495, 0.2505]"


def test_what_bounds_leave_open_is_undecided_when_exact_numbers_take_too_long(monkeypatch):
    only_bounds(monkeypatch)
    chain = survey_chain()
    assert verdict(chain, formula(private(ln(3), next_(here("Y"))))) == "undecided"
    assert verdict(chain, formula(private(ln("301/100"), next_(here("Y"))))) == "holds"
    assert verdict(chain, formula(probability("<=", "3/4", next_(here("Y"))))) == "undecided"


def test_deeply_nested_operators_are_explained_in_no_more_time_than_they_are_decided_in():
    """Each level once wrote the levels below it twice."""
    weak = " W (".join("ab"[k % 2] for k in range(60)) + " W c" + ")" * 59
    released = weak.replace(" W ", " R ")
    chain = """chain k {
      state s : a  state u : b  state w : a, b  state y : c  state z
      s -> 1/3: s + 1/3: u + 1/3: w
      u -> 1/2: s + 1/2: w
      w -> 1/2: w + 1/4: z + 1/4: y
      y -> 1: y
      z -> 1: z
      init s
    }
    """
    text = f"{chain}check k: P>=1 [ {weak} ]\ncheck k: P>=1 [ {released} ]\n"
    weak_answer, released_answer = check_text(text)["results"]
    shown = weak_answer["counterexample"]
    assert [run["run"] for run in shown["runs"]] == ["w, z, ...", "u, w, z, ...", "w, w, z, ..."]
    assert released_answer["verdict"] == "violated"


def test_budgets_beyond_all_ratios_are_not_written_out():
    """e to the power of 10^9 has 10^9 bits; whether it exceeds a ratio is seen without them."""
    text = """mechanism m {
      input x in 0..1
      adjacent all
      y ~ {x: 3/4, 1 - x: 1/4}
      output y
    }
    check m: dp(1000000000, 1/10)
    check m: dp(2900, 1/10)
    """
    assert [answer["verdict"] for answer in check_text(text)["results"]] == ["holds", "holds"]


def test_what_is_certain_on_both_sides_is_so_however_its_weight_is_written():
    text = """mechanism m {
      input x in 0..1
      adjacent all
      z ~ bernoulli(if x = 0 then 1/2 else exp(-2))
      if z { y ~ bernoulli(1/2) } else { y ~ bernoulli(exp(-1)) }
      output 1
    }
    check m: dp(0)
    """
    (answer,) = check_text(text)["results"]
    assert [vacuity["kind"] for vacuity in answer["vacuity"]] == ["trivial probability"]
