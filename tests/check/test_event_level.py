"""Event-level privacy against its definition, by both kinds of evidence."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.check.evidence.endless import EndlessPrefixes
from dpcheck.check.evidence.merged_evidence import MergedEvidence
from dpcheck.check.evidence.merged_prefixes import merge_prefixes
from dpcheck.check.evidence.paired_rows import PairedRows
from dpcheck.check.evidence.sequences import sequence_table
from dpcheck.check.evidence.table_evidence import TableEvidence
from dpcheck.check.quantities import seen_pairs as of_pairs
from dpcheck.check.quantities.seen_pairs import complete_evidence, seen_pairs
from dpcheck.check.quantities.tight import tight_epsilon
from dpcheck.check.values.exp_factor import ExpFactor
from dpcheck.check.values.verdicts import Holds, Violated
from dpcheck.exact import Budget, Rational, divide, excess, exponential, multiply, subtract
from dpcheck.limits import Limits
from tests.chains import built_chain
from tests.check.building import (
    DIVERGE,
    STOP,
    geometric_row,
    mechanism_chain,
    random_mechanisms,
    release_chain,
    survey_chain,
)
from tests.check.claims import (
    compare,
    compute,
    delta,
    dp,
    epsilon,
    fraction,
    ln,
    outcome,
    value,
    verdict,
)
from tests.checking import check_text, verdicts
from tests.oracle import privacy as oracle

ZERO = Budget.of(0)


def evidence_of(chain):
    """Return the evidence of listed and of merged sequences about all pairs of a chain."""
    table = sequence_table(chain, chain.initial, limits=Limits())
    listed = TableEvidence(PairedRows(table, chain.neighbors.pairs), chain.observation_text)
    merged = MergedEvidence(
        merge_prefixes(chain, chain.neighbors.pairs, Limits()), chain.observation_text
    )
    return listed, merged


def rows_of(chain):
    """Return {sequence: probability} per initial state, by walking every path."""

    def walk(state, shown, p):
        if state == chain.stopped or state == chain.diverged:
            yield (shown, state == chain.stopped), p
            return
        for j in range(chain.indptr[state], chain.indptr[state + 1]):
            t = int(chain.targets[j])
            step = Fraction(int(chain.numerators[j]), int(chain.denominators[state]))
            seen = shown if chain.observation[t] < 0 else (*shown, int(chain.observation[t]))
            yield from walk(t, seen, p * step)

    rows = []
    for state in chain.initial:
        row = {}
        for sequence, p in walk(int(state), (), Fraction(1)):
            row[sequence] = row.get(sequence, 0) + p
        rows.append(row)
    return rows


def as_fraction(number):
    return Fraction(str(number))


@given(
    random_mechanisms(), st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(7)])
)
def test_both_kinds_of_evidence_agree_with_the_definition(chain, factor):
    rows, pairs = rows_of(chain), chain.neighbors.pairs.tolist()
    budget = Budget.ln(Rational(factor.numerator, factor.denominator))
    for evidence in evidence_of(chain):
        worst = evidence.worst_ratio()
        exact = oracle.e_epsilon(rows, pairs)
        if exact == 1:
            assert worst is None
        elif exact == oracle.INFINITE:
            assert worst.q == 0
        else:
            assert as_fraction(divide(worst.p, worst.q)) == exact
        gap = evidence.worst_gap(ExpFactor.of(budget))
        found = 0 if gap is None else as_fraction(excess(gap.p, gap.q, budget))
        assert found == oracle.delta(rows, pairs, factor)


@given(random_mechanisms(), st.sampled_from(["0", "1/100", "1/8", "1/3", "9/10"]))
def test_least_epsilon_for_a_delta_uses_the_delta_up(chain, allowed):
    rows, pairs = rows_of(chain), chain.neighbors.pairs.tolist()
    bound = Fraction(allowed)
    texts = set()
    for evidence in evidence_of(chain):
        found = tight_epsilon(evidence, fraction(allowed)).value
        texts.add(str(found))
        if found is None:
            assert oracle.delta(rows, pairs, Fraction(10**9)) > bound
            continue
        factor = as_fraction(found.exp())
        assert oracle.delta(rows, pairs, factor) <= bound
        if factor > 1:
            assert oracle.delta(rows, pairs, factor - Fraction(1, 10**9)) > bound
    assert len(texts) == 1


@given(random_mechanisms())
def test_a_worst_event_has_the_probabilities_it_is_shown_with(chain):
    rows = rows_of(chain)
    listed, _ = evidence_of(chain)
    gap = listed.worst_gap(ExpFactor.of(ZERO))
    if gap is None:
        return
    first, second = chain.neighbors.pairs[gap.pair].tolist()
    if not gap.is_forward:
        first, second = second, first
    table = listed.rows.table
    event = [
        (table.outputs(k), int(table.end[k]) == 0) for k in listed.event(gap, ExpFactor.of(ZERO))
    ]
    assert sum(rows[first].get(o, 0) for o in event) == as_fraction(gap.p)
    assert sum(rows[second].get(o, 0) for o in event) == as_fraction(gap.q)


@pytest.mark.parametrize("budget", [Budget.of(fraction("1/2")), ln(2) / 2, ln(3) + fraction("1/2")])
def test_irrational_budgets_agree_on_listed_and_merged_sequences(budget):
    for k in (1, 3, 5):
        gaps = [each.worst_gap(ExpFactor.of(budget)) for each in evidence_of(survey_chain(k))]
        assert gaps[0] == gaps[1]


def test_a_budget_between_two_ratios_is_decided_in_the_fortieth_digit():
    root = Budget.ln(2) / 2
    close = Rational(14142135623730950488016887242096980785696718, 10**43)
    p = divide(close, close + 1)
    rows = {"a": {0: p, 1: subtract(1, p)}, "b": {0: subtract(1, p), 1: p}}
    chain = release_chain(rows, [("a", "b")])
    assert verdict(chain, dp(root)) == "holds"
    assert verdict(chain, dp(root - Rational(1, 10**50))) == "holds"
    assert verdict(chain, dp(root - Rational(1, 10**43))) == "violated"


def test_powers_of_e_tie_with_their_own_budget():
    alpha = exponential(Rational(-1, 2))
    low, high = divide(1, 1 + alpha), divide(alpha, 1 + alpha)
    chain = release_chain({"a": {0: low, 1: high}, "b": {0: high, 1: low}}, [("a", "b")])
    half = Budget.of(fraction("1/2"))
    assert value(chain, epsilon()) == "exp(1/2)"
    assert verdict(chain, compare(epsilon(), "=", half)) == "holds"
    assert verdict(chain, dp(half)) == "holds"
    assert verdict(chain, dp(half - Rational(1, 10**30))) == "violated"
    least = subtract(low, high)
    assert outcome(chain, compute(delta(ZERO))).verdict.amount.decimal.startswith("0.2449186")
    assert verdict(chain, compare(delta(ZERO), "=", least)) == "holds"
    double = mechanism_chain(
        {"a": (low, 2), "b": (high, 2)},
        [("a", "b")],
        lambda m: (
            [(1, STOP, None)]
            if m[1] == 0
            else [(m[0], 0, (m[0], m[1] - 1)), (subtract(1, m[0]), 1, (m[0], m[1] - 1))]
        ),
    )
    assert value(double, epsilon()) == "exp(1)"
    gaps = [each.worst_gap(ExpFactor.of(half)) for each in evidence_of(double)]
    assert gaps[0] == gaps[1]
    assert gaps[0].p == multiply(low, low)


def test_many_bits_are_decided_by_merging():
    n = 12
    truth = Fraction(2, 3)

    def step(bits):
        if not bits:
            return [(1, STOP, None)]
        return [(truth, bits[0], bits[1:]), (1 - truth, 1 - bits[0], bits[1:])]

    inputs = {str(i): tuple(int(b) for b in f"{i:012b}") for i in range(0, 2**n, 37)}
    inputs |= {str(i ^ 8): tuple(int(b) for b in f"{i ^ 8:012b}") for i in range(0, 2**n, 37)}
    chain = mechanism_chain(inputs, [(str(i), str(i ^ 8)) for i in range(0, 2**n, 37)], step)
    assert value(chain, epsilon()) == "2"
    assert value(chain, delta(ZERO)) == "1/3"
    found = outcome(chain, dp(ln("3/2"))).verdict.counterexample
    assert found.ratio.exact == "2"
    assert found.runs


def test_a_hundred_answers_of_one_person():
    chain = survey_chain(100)
    assert value(chain, epsilon()) == str(3**100)
    found = outcome(chain, dp(ln(9), "1/10")).verdict
    assert isinstance(found, Violated)
    assert found.counterexample.probabilities[0].decimal.startswith("0.99")


# --- infinitely many sequences -------------------------------------------------------------


def endless(first, second):
    """Return two inputs that say `a` with some chance, else `b`, and stop with chance 1/4."""

    def step(p):
        return [(Fraction(1, 4), STOP, None), (p * 3 / 4, "a", p), ((1 - p) * 3 / 4, "b", p)]

    inputs = {"x = 1": Fraction(first), "x = 2": Fraction(second)}
    return mechanism_chain(inputs, [("x = 1", "x = 2")], step)


def test_outputs_without_end_are_bounded_from_both_sides():
    assert verdict(endless("1/3", "1/3"), dp(ZERO)) == "holds"
    chain = endless("1/3", "1/2")
    assert verdict(chain, dp(ln(2))) == "violated"
    assert verdict(chain, dp(ln(2), "1/1000000")) == "violated"
    assert verdict(chain, dp(ln(2), "99/100")) == "holds"


def test_what_finitely_many_outputs_prove_about_a_quantity_is_kept():
    chain = endless("1/3", "1/2")
    assert verdict(chain, compare(epsilon(), "<=", ln(3))) == "violated"
    assert verdict(chain, compare(epsilon(), "=", ln("3/2"))) == "violated"
    assert verdict(chain, compare(epsilon(), ">", ln(3))) == "holds"
    assert verdict(chain, compare(epsilon(), "=", None)) == "holds"
    assert outcome(chain, compute(epsilon())).value.exact == "inf"
    assert verdict(endless("0", "1/2"), compare(epsilon(), "=", None)) == "holds"


@given(random_mechanisms(is_endless=True), st.integers(1, 5), st.sampled_from(["1", "3/2", "4"]))
def test_merged_prefixes_say_what_a_table_of_prefixes_says(chain, depth, factor):
    table = sequence_table(chain, chain.initial, limits=Limits(), depth=depth)
    prefixes = EndlessPrefixes(chain, chain.neighbors.pairs, Limits())
    graph = prefixes.cut(depth, Limits(), shows_state=False)
    listed = TableEvidence(PairedRows(table, chain.neighbors.pairs), chain.observation_text)
    merged = MergedEvidence(graph, chain.observation_text)
    ratios = [evidence.worst_ratio() for evidence in (listed, merged)]
    assert (ratios[0] is None) == (ratios[1] is None)
    if ratios[0] is not None:
        assert ratios[0].p * ratios[1].q == ratios[1].p * ratios[0].q
    budget = ln(factor)
    gaps = [evidence.worst_gap(ExpFactor.of(budget)) for evidence in (listed, merged)]
    assert len({0 if gap is None else excess(gap.p, gap.q, budget) for gap in gaps}) == 1


def test_long_prefixes_refute_what_no_short_one_does():
    heads = """
    mechanism m(end = 0) {
      input x in {1/2, 1/3}
      adjacent all
      go := true
      while go {
        head ~ bernoulli(x)
        output head
        over ~ bernoulli(end)
        if over { go := false }
      }
    }
    """
    claims = ["dp(10)", "dp(0, 3/4)", "epsilon(1/2) <= 1"]
    text = "\n".join(f"refute m: {claim}\nrefute m(end = 1/100): {claim}" for claim in claims)
    assert verdicts(check_text(heads + text)) == ["violated"] * 6


def test_only_the_greatest_value_is_taken_from_prefixes():
    text = """
    mechanism m {
      input x in {a, b}
      adjacent all
      while true { output x }
    }
    """
    claims = ("compute m: epsilon", "compute m: delta(ln 2)", "check m: delta(3) = 1")
    results = check_text(text + "\n".join(claims))["results"]
    assert [result["value"]["exact"] for result in results] == ["inf", "1", "1"]
    chain = endless("1/3", "1/2")
    found = outcome(chain, compare(delta(ln(3)), ">", 0))
    assert found.value is None
    assert [(each.text, each.amount.exact) for each in found.beside] == [
        ("it is at least", "39/4096")
    ]


def test_an_endless_stream_of_one_word_is_private():
    chain = mechanism_chain({"x = 1": 0, "x = 2": 1}, [("x = 1", "x = 2")], lambda m: [(1, "a", m)])
    assert verdict(chain, dp(ZERO)) == "holds"


# --- counterexamples and flags -------------------------------------------------------------


def test_the_first_state_is_the_likelier_one():
    rows = {
        "x = 1": {"a": Fraction(1, 4), "b": Fraction(3, 4)},
        "x = 2": {"a": Fraction(3, 4), "b": Fraction(1, 4)},
    }
    rows["x = 2"] = {"a": Fraction(7, 8), "b": Fraction(1, 8)}
    found = outcome(release_chain(rows, [("x = 1", "x = 2")]), dp(ln(2))).verdict.counterexample
    assert found.states == ("x = 1", "x = 2")
    assert [*map(str, found.event)] == ["b"]
    assert [p.exact for p in found.probabilities] == ["3/4", "1/8"]
    assert found.ratio.exact == "6"
    assert found.excess.exact == "1/2"
    assert str(found.requirement) == "3/4 <= 2 * 1/8"


def test_an_excess_over_an_irrational_budget_is_an_expression():
    found = outcome(survey_chain(), dp(Budget.of(fraction("1/2")))).verdict.counterexample
    assert found.excess.exact == "3/4 - 1/4*exp(1/2)"
    assert found.excess.decimal == "0.33781968232496796"


def test_an_output_possible_on_one_side_has_an_infinite_ratio():
    rows = {"x = 1": {"a": Fraction(1, 4), "b": Fraction(3, 4)}, "x = 2": {"b": Fraction(1)}}
    found = outcome(release_chain(rows, [("x = 1", "x = 2")]), dp(ln(100))).verdict.counterexample
    assert found.ratio.exact == "inf"
    assert [*map(str, found.event)] == ["a"]
    assert found.excess.exact == "1/4"


def test_no_pair_and_one_certain_sequence_are_vacuous():
    alone = release_chain({"x = 1": {"a": Fraction(1)}}, [])
    assert isinstance(outcome(alone, dp(ZERO)).verdict, Holds)
    assert [v.kind for v in outcome(alone, dp(ZERO)).vacuity] == ["no neighbors"]
    assert value(alone, epsilon()) == "1"
    constant = release_chain({i: {"a": Fraction(1)} for i in range(2)}, [(0, 1)])
    assert [v.kind for v in outcome(constant, dp(ZERO)).vacuity] == ["trivial probability"]
    assert outcome(survey_chain(), dp(ln(3))).vacuity == ()


def test_silence_forever_is_told_apart_from_the_end():
    chain = mechanism_chain(
        {"x = 1": 0, "x = 2": 1},
        [("x = 1", "x = 2")],
        lambda m: [(1, STOP if m else DIVERGE, None)],
    )
    found = outcome(chain, dp(ln(2))).verdict.counterexample
    assert {*map(str, found.event)} <= {"(no output)", "diverged"}
    assert found.ratio.exact == "inf"


def test_long_numbers_are_compared_exactly():
    n = 40
    rows = {i: geometric_row(i, Fraction(1, 1024), 0, n - 1) for i in range(n)}
    chain = release_chain(rows, [(i, i + 1) for i in range(n - 1)])
    assert chain.numerators.dtype == np.object_
    assert value(chain, epsilon()) == "1024"
    assert verdict(chain, dp(ln(Rational(1024 * 10**60 - 1, 10**60)))) == "violated"


def test_prefixes_do_not_tell_apart_what_nobody_sees():
    def step(memory):
        # After `a`, one input surely stops; the other may, and shows the same if it does.
        match memory:
            case "sure":
                return [(1, "a", "end")]
            case "end":
                return [(1, STOP, None)]
            case "maybe":
                return [(1, "a", "loop")]
            case "loop":
                return [(1 - Fraction(1, 10**9), STOP, None), (Fraction(1, 10**9), "b", "loop")]

    chain = mechanism_chain({"x = 1": "sure", "x = 2": "maybe"}, [("x = 1", "x = 2")], step)
    assert verdict(chain, dp(ln(2), "1/1000000")) == "holds"
    assert verdict(chain, dp(ln(2))) == "violated"


@pytest.mark.parametrize(
    ("claim", "requirement"),
    [
        ("epsilon = ln 2", "epsilon = ln(2), but it is ln(3)"),
        ("epsilon(1/4) = ln 3", "epsilon(1/4) = ln(3), but it is ln(2)"),
        ("delta(ln 2) = 1/3", "delta(ln(2)) = 1/3, but it is 1/4"),
        ("delta(0) < 1/3", "delta(0) < 1/3, but it is 1/2"),
    ],
)
def test_a_wrong_value_is_told_with_its_parameter(claim, requirement):
    text = "import std.survey check survey: CLAIM".replace("CLAIM", claim)
    (result,) = check_text(text)["results"]
    assert result["counterexample"]["requirement"] == requirement


def test_each_selection_of_inputs_has_the_pairs_with_an_end_among_them():
    rows = {
        str(x): {"Y": Fraction(1, 2**k), "N": 1 - Fraction(1, 2**k)}
        for x, k in enumerate([4, 1, 2, 3])
    }
    chain = release_chain(rows, [("0", "1"), ("1", "2"), ("2", "3")])
    for selected, largest in (([3], 2), ([0], 8), ([2, 3], 2), ([0, 1, 2, 3], 8)):
        seen = seen_pairs(chain, np.array(selected), Limits())
        found = tight_epsilon(complete_evidence(seen), 0)
        assert found.value == ln(largest)
        assert seen.names(0)[1] == str(max(selected[0], 1))


@pytest.mark.parametrize(
    ("adjacent", "kind"), [("all", TableEvidence), ("hamming(x, x') <= 1", MergedEvidence)]
)
def test_sequences_are_listed_where_pairs_are_more(monkeypatch, adjacent, kind):
    """81 inputs with 81 sequences each: 3,240 pairs, or 324, which have fewer nodes merged."""
    monkeypatch.setattr(of_pairs, "_MAX_ENTRIES", 1)
    monkeypatch.setattr(of_pairs, "_PREFIXES_A_PAIR", 0)
    text = f"""mechanism m {{
      input x[1..4] in 0..2
      adjacent {adjacent}
      for i in 1..4 {{ y ~ geometric(x[i], 1/2) clamped 0..2 output y }}
    }}"""
    chain = built_chain(text, "m")
    evidence = complete_evidence(seen_pairs(chain, chain.initial, Limits()))
    assert isinstance(evidence, kind)
    assert tight_epsilon(evidence, 0).value == ln(4**4 if adjacent == "all" else 4)


@pytest.mark.parametrize("largest", [1 << 20, 1 << 18])
def test_a_table_for_many_pairs_may_have_more_sequences(monkeypatch, largest):
    """4,950 pairs of states with 4,096 sequences each: merged, that are 20 million prefixes."""
    monkeypatch.setattr(of_pairs, "_MAX_ENTRIES_OF_MANY_PAIRS", largest)
    chain = built_chain(
        """mechanism m { input x in 0..99  adjacent all
        for i in 1..12 { b ~ bernoulli((x + 1)/102)  output b } }""",
        "m",
    )
    table = of_pairs._paired_rows(seen_pairs(chain, chain.initial, Limits()), of_pairs._MAX_ENTRIES)
    assert (table is None) is (largest < 1 << 20)
