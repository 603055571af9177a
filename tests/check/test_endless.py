"""Endless outputs: exact values where prefixes merge, bounds on both sides where they do not."""

from __future__ import annotations

import gc
import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import exp, mpf

import dpcheck
from dpcheck.check.evidence import futures
from dpcheck.check.evidence.endless import EndlessPrefixes
from dpcheck.check.evidence.merged_evidence import MergedEvidence
from dpcheck.check.values.exp_factor import ExpFactor
from dpcheck.check.values.verdicts import Undecided, Value, Violated
from dpcheck.exact import divide
from dpcheck.limits import Limits
from tests.chains import built_chain
from tests.check.building import mechanism_chain, random_mechanisms
from tests.check.claims import compare, compute, delta, dp, epsilon, fraction, ln, outcome
from tests.checking import called, check_text, verdicts

RUNNING = "still running"


def as_fraction(number):
    return Fraction(str(number))


def prefixes_of(chain, state, depth):
    """Return {outputs so far, and how the run ended or where it is: probability}, walked slowly."""
    rows = {((), int(state)): Fraction(1)}
    for _ in range(depth + 1):
        following = {}
        for (shown, s), p in rows.items():
            if not isinstance(s, int) or (len(shown) == depth and s not in _ends(chain)):
                following[shown, s] = following.get((shown, s), 0) + p
                continue
            if s in _ends(chain):
                key = shown, "stopped" if s == chain.stopped else "diverged"
                following[key] = following.get(key, 0) + p
                continue
            for j in range(chain.indptr[s], chain.indptr[s + 1]):
                t = int(chain.targets[j])
                step = Fraction(int(chain.numerators[j]), int(chain.denominators[s]))
                code = int(chain.observation[t])
                key = shown if code < 0 else (*shown, code), t
                following[key] = following.get(key, 0) + p * step
        rows = following
    return rows


def _ends(chain):
    return {chain.stopped, chain.diverged}


def brute_bounds(chain, factor, depth):
    """Return δ's bounds: what is cut counts as its prefix, or as wholly different."""
    low = high = Fraction(0)
    for pair in chain.neighbors.pairs.tolist():
        sides = [prefixes_of(chain, s, depth) for s in pair]
        for p_side, q_side in (sides, sides[::-1]):
            shown = {}
            for side, row in enumerate((p_side, q_side)):
                for (outputs, end), p in row.items():
                    key = outputs, RUNNING if isinstance(end, int) else end
                    shown.setdefault(key, [Fraction(0), Fraction(0)])[side] += p
            gaps = {key: max(0, p - factor * q) for key, (p, q) in shown.items()}
            low = max(low, sum(gaps.values()))
            running = sum(p for (_, end), (p, _) in shown.items() if end == RUNNING)
            ended = sum(gap for (_, end), gap in gaps.items() if end != RUNNING)
            high = max(high, running + ended)
    return low, high


def largest_ratio(chain, depth):
    """Return the largest ratio of all prefixes; None where one is impossible on one side."""
    worst = Fraction(1)
    for pair in chain.neighbors.pairs.tolist():
        shown = {}
        for side, s in enumerate(pair):
            for (outputs, end), p in prefixes_of(chain, s, depth).items():
                key = outputs, RUNNING if isinstance(end, int) else end
                shown.setdefault(key, [Fraction(0), Fraction(0)])[side] += p
        for p, q in shown.values():
            if 0 in (p, q):
                return None
            worst = max(worst, p / q, q / p)
    return worst


def bounds_of(amount):
    """Return the fractions that an amount says a value lies between."""
    if amount.enclosure is not None:
        return tuple(map(Fraction, amount.enclosure))
    return (Fraction(amount.exact),) * 2


@settings(max_examples=25)
@given(
    random_mechanisms(is_endless=True, stops_by=12),
    st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(4)]),
)
def test_delta_lies_between_what_slow_prefixes_allow(chain, factor):
    low, high = brute_bounds(chain, factor, 5)
    verdict = outcome(chain, compute(delta(ln(str(factor))))).verdict
    if isinstance(verdict, Value):
        least, most = bounds_of(verdict.amount)
    else:  # where bounds are close, but not for its size
        assert isinstance(verdict, Undecided)
        least, most = (Fraction(end.exact) for end in (verdict.bounds.low, verdict.bounds.high))
        assert most - least < Fraction(1, 1000)
    assert low <= most
    assert least <= high
    assert high - low < Fraction(1, 10)


@settings(max_examples=10)
@given(
    random_mechanisms(is_endless=True), st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(4)])
)
def test_no_verdict_on_delta_contradicts_slow_prefixes(chain, factor):
    low, high = brute_bounds(chain, factor, 4)
    for claimed in (low, high, (low + high) / 2):
        verdict = outcome(chain, dp(ln(str(factor)), str(claimed))).verdict
        kind = type(verdict).__name__
        assert kind != "Violated" or claimed < high
        assert kind != "Holds" or low <= claimed


@settings(max_examples=50)
@given(random_mechanisms(is_endless=True))
def test_epsilon_is_infinite_only_where_ratios_grow_and_finite_only_where_they_do_not(chain):
    ratio = largest_ratio(chain, 5)
    found = outcome(chain, compute(epsilon()))
    if not isinstance(found.verdict, Value):
        return
    if found.verdict.amount.exact != "inf":
        assert ratio is not None
        top = found.verdict.amount.exp or "inf"
        assert top == "inf" or ratio <= Fraction(top)
        return
    refuted = outcome(chain, dp(ln("1000000"))).verdict
    assert isinstance(refuted, Violated)
    example = refuted.counterexample
    if ratio is None or not isinstance(example.event, tuple):
        return
    sides = [word_probability(chain, name, example.event) for name in example.states]
    assert [Fraction(each.exact) for each in example.probabilities] == sides
    assert sides[0] > 1000000 * sides[1]


def word_probability(chain, name, event):
    """Return the probability of sequences from the state with a name, walked slowly."""
    start = next(int(s) for s in chain.initial if chain.state_text(int(s)) == name)
    total = Fraction(0)
    for sequence in event:
        weights = {start: Fraction(1)}
        for text in sequence.outputs:
            weights = _after(chain, weights, lambda t, text=text: _shown(chain, t) == text)
        if sequence.ending == "goes on":
            total += sum(weights.values())
        else:
            end = chain.stopped if sequence.ending == "stopped" else chain.diverged
            total += sum(_after(chain, weights, lambda t, end=end: t == end).values())
    return total


def _shown(chain, state):
    code = int(chain.observation[state])
    return None if code < 0 else chain.observation_text(code)


def _after(chain, weights, wanted):
    following = {}
    for s, p in weights.items():
        for j in range(chain.indptr[s], chain.indptr[s + 1]):
            t = int(chain.targets[j])
            if wanted(t):
                step = Fraction(int(chain.numerators[j]), int(chain.denominators[s]))
                following[t] = following.get(t, 0) + p * step
    return following


@given(random_mechanisms(is_endless=True), st.sampled_from(["1", "3/2", "4"]))
def test_bounds_come_closer_as_more_outputs_are_followed(chain, factor):
    pairs, found = chain.neighbors.pairs, ExpFactor.of(ln(factor))
    lows, highs = [], []
    for depth in (1, 2, 3, 5):
        for shows_cut, values in ((False, lows), (True, highs)):
            graph = EndlessPrefixes(chain, pairs, Limits()).cut(
                depth, Limits(), shows_state=shows_cut
            )
            gap = MergedEvidence(graph, chain.observation_text).worst_gap(found)
            values.append(
                Fraction(0)
                if gap is None
                else max(0, as_fraction(gap.p) - Fraction(factor) * as_fraction(gap.q))
            )
    assert lows == sorted(lows)
    assert highs == sorted(highs, reverse=True)
    assert lows[-1] <= highs[-1]


@given(random_mechanisms(is_endless=True))
def test_ratios_of_merged_prefixes_are_those_of_prefixes_as_long_as_there_are_nodes(chain):
    pairs = chain.neighbors.pairs
    graph = EndlessPrefixes(chain, pairs, Limits()).complete(Limits())
    assume(graph is not None and len(graph.edges) <= 60)
    assume(not MergedEvidence(graph, str).tells_in_the_long_run)
    cut = EndlessPrefixes(chain, pairs, Limits()).cut(len(graph.edges), Limits(), shows_state=False)
    ratios = [
        None if gap is None else "inf" if gap.q == 0 else divide(gap.p, gap.q)
        for gap in (MergedEvidence(each, str).worst_ratio() for each in (graph, cut))
    ]
    assert ratios[0] == ratios[1]


# --- planted cycles ------------------------------------------------------------------------------

WAITS = """
mechanism waits(here = 1/10, there = 1/10) {
  input x in {true, false}
  adjacent all
  while true {
    now ~ bernoulli(if x then here else there)
    if now { y ~ {x: 3/4, !x: 1/4} output y stop }
    output bot
  }
}
"""


def test_a_cycle_of_ratio_one_costs_nothing():
    text = """
    check   waits: dp(ln 3)
    check   waits: epsilon = ln 3
    check   waits: delta(ln 2) = 1/4
    check   waits: delta(0) = 1/2
    check   waits: epsilon(1/4) = ln 2
    refute  waits: dp(ln 3 - 1/1000000)
    refute  waits: delta(ln 2) < 1/4
    refute  waits: epsilon = inf
    check   waits: renyi(2) = ln(7/3)
    """
    assert check_text(WAITS + text)["ok"]


@pytest.mark.parametrize("hair", ["1/1000", "1/100000"])
def test_a_cycle_of_a_ratio_above_one_by_a_hair_is_no_bound(hair):
    claims = "compute w: epsilon refute w: dp(2) refute w: epsilon <= 2 check w: epsilon = inf"
    text = WAITS + claims.replace("w:", f"waits(there = 1/10 + {hair}):")
    results = check_text(text)["results"]
    assert [result["ok"] for result in results] == [True] * 4
    assert results[0]["value"]["exact"] == "inf"


def test_turns_too_many_to_write_their_probabilities_are_counted():
    text = WAITS + "refute waits(there = 1/10 + 1/100000): dp(2)"
    (result,) = check_text(text)["results"]
    example = result["counterexample"]
    assert example["probabilities"] == []
    (word,) = example["event"]
    turns = int(word.split("(")[1].split(" times")[0].replace(",", ""))
    step, ends = mpf(90000) / 89999, mpf(30000) / 10001
    assert step**turns * ends > exp(mpf(2)) >= step ** (turns - 1) * ends


def test_the_fewest_turns_that_exceed_a_budget_are_shown():
    text = WAITS + "refute waits(there = 1/10 + 1/1000): dp(2)"
    (result,) = check_text(text)["results"]
    (word,) = result["counterexample"]["event"]
    outputs = word.split(", ")
    turns = outputs.count("bot")
    step, ends = Fraction(900, 899), Fraction(300, 101)  # bot, and the answer at last
    e2 = Fraction(738905609893065023, 10**17)
    assert outputs[turns:] in (["true"], ["false"], ["..."])
    assert (step ** (turns + 1) > e2) or step**turns * ends > e2
    p, q = (Fraction(each) for each in result["counterexample"]["probabilities"])
    assert p / q > e2
    assert p / q / step <= e2


ALTERNATES = """
mechanism alternates(second = 1/2) {
  input x in {true, false}
  adjacent all
  odd := true
  while true {
    now ~ bernoulli(if odd = x then second else 1/4)
    if now { output top stop }
    output bot
    odd := !odd
  }
}
"""


def test_a_cycle_of_several_outputs_may_have_the_ratio_one():
    # 3/4 against 1/2, then 1/2 against 3/4: bot, bot costs nothing; top after one of them does.
    text = ALTERNATES + "check alternates: epsilon = ln 3 check alternates: dp(ln 3)"
    assert check_text(text)["ok"]
    slower = ALTERNATES.replace(
        "odd = x then second", "odd & x then 1/3 else if !odd & !x then 1/2"
    )
    assert check_text(slower + "check alternates: epsilon = inf")["ok"]


def test_states_that_differ_in_what_is_spent_are_alike():
    text = """
    mechanism spends(k = 2) {
      input x in {true, false}
      adjacent all
      var left in 0..k := k
      while true {
        y ~ {x: 3/4, !x: 1/4}
        if left = 0 { y ~ bernoulli(1/2) } else { left := left - 1 }
        output y
      }
    }
    for k in 1..4 { check spends(k = k): epsilon = k * ln 3 }
    check spends(k = 4): dp(4 * ln 3)
    check spends(k = 2): delta(0) = 1/2
    """
    assert check_text(text)["ok"]


def test_what_is_drawn_once_and_hidden_bounds_all_that_follows():
    text = """
    mechanism hides {
      input x in {true, false}
      adjacent all
      secret ~ {x: 3/4, !x: 1/4}
      while true { y ~ {secret: 2/3, !secret: 1/3} output y }
    }
    check hides: dp(ln 3)
    check hides: dp(ln 2, 1/4)
    check hides: epsilon <= ln 3
    refute hides: epsilon > ln 3
    refute hides: epsilon = 2
    refute hides: dp(ln 2)
    check hides: delta(ln 2) < 1/4
    """
    assert verdicts(check_text(text)) == ["holds"] * 3 + ["violated"] * 4


def test_an_undecided_value_lies_between_its_bounds():
    chain = mechanism_chain(
        {"x = 1": "p", "x = 2": "q"},
        [("x = 1", "x = 2")],
        lambda memory: {
            "p": [(Fraction(1, 2), "a", "early"), (Fraction(1, 2), "a", "other")],
            "q": [(Fraction(3, 4), "a", "late"), (Fraction(1, 4), "a", "other")],
            "early": [(Fraction(1, 2), "a", "will a"), (Fraction(1, 2), "a", "will b")],
            "will a": [(1, "a", "early")],
            "will b": [(1, "b", "early")],
            "late": [(1, "a", "late b")],
            "late b": [(Fraction(1, 2), "a", "late"), (Fraction(1, 2), "b", "late")],
            "other": [(1, "a", "other b")],
            "other b": [(Fraction(3, 4), "a", "other"), (Fraction(1, 4), "b", "other")],
        }[memory],
    )
    found = outcome(chain, compare(delta(ln(1)), "<", fraction("1/2"))).verdict
    assert Fraction(found.bounds.low.exact) < Fraction(1, 4)
    assert found.bounds.high.exact == "3/4"  # early and late show the same


ASKED_FOR_EVER = """
mechanism told {
  input x in {true, false}
  adjacent all
  while true {
    query rate in {1/10, 1/2}
    now ~ bernoulli(rate)
    if now { y ~ {x: 3/4, !x: 1/4} output y stop }
    output bot
  }
}
mechanism biased {
  input x in {true, false}
  adjacent all
  while true {
    query rate in {1/2, 1/3}
    now ~ bernoulli(if x then rate else 1/2)
    if now { output top stop }
    output bot
  }
}
mechanism one_sided {
  input x in 0..1
  adjacent all
  while true {
    query c in 0..2
    if c = 2 & x = 1 { output none stop }
    y ~ bernoulli(1/4)
    output y
    if y { stop }
  }
}
"""


def test_an_analyst_who_chooses_for_ever_is_bounded_too():
    claims = """
    check   told: epsilon = ln 3
    refute  told: dp(1)
    check   told: dp(ln 2, 26/100)
    refute  told: dp(ln 2, 24/100)
    check   biased: epsilon = inf
    refute  biased: dp(1)
    check   biased: dp(1, 1/2)
    """
    assert check_text(ASKED_FOR_EVER + claims)["ok"]


def test_an_analyst_who_may_wait_for_ever_need_not():
    # Whoever asks at once learns 1/3; who tosses a coin before each question, 2/9 in all.
    text = """
    mechanism m {
      input x in 0..1
      adjacent all
      going := 1
      while going = 1 {
        query c in 0..1
        if c = 0 { going ~ uniform(0..1) output going }
        else { y ~ bernoulli((1 + x)/3) output y going := 0 }
      }
    }
    refute m: delta(0) <= 1/4
    check  m: dp(0, 1/3)
    """
    assert check_text(text)["ok"]


@pytest.mark.parametrize("likely", [0, 1])
def test_a_ratio_that_falls_along_a_cycle_grows_from_the_other_side(likely):
    text = f"""
    mechanism m {{
      input x in 0..1
      adjacent all
      y := true
      while y {{ output 0 y ~ bernoulli(if x = {likely} then 2/3 else 1/3) }}
    }}
    """
    chain = built_chain(text, "m")
    found = EndlessPrefixes(chain, chain.neighbors.pairs, Limits()).growth(Limits())
    assert found.is_forward == (likely == 0)
    assert divide(*found.factor) == 2


@pytest.mark.parametrize("rounds", [0, 1])
def test_without_states_that_count_as_alike_the_same_is_decided(rounds, monkeypatch):
    monkeypatch.setattr(futures, "_FEWEST_ROUNDS", rounds)
    monkeypatch.setattr(futures, "_MAX_COMPARED", 0)
    text = """
    check   waits: epsilon = ln 3
    check   waits: delta(ln 2) = 1/4
    check   waits(there = 1/9): epsilon = inf
    check   alternates: epsilon = ln 3
    """
    assert check_text(WAITS + ALTERNATES + text)["ok"]


def test_states_of_a_long_cycle_are_not_compared_in_as_many_rounds(monkeypatch):
    n_looked_at = itertools.count()
    row = futures._future_row
    monkeypatch.setattr(futures, "_future_row", lambda *args: (next(n_looked_at), row(*args))[1])
    monkeypatch.setattr(futures, "_MAX_COMPARED", 20_000)
    text = """
    mechanism ring(n = 400) {
      input x in {true, false}
      adjacent all
      var i in 0..n := 0
      while true {
        y ~ bernoulli(if i > 0 then 1/(i + 3) else if x then 1/3 else 1/4)
        if y { output a stop }
        output b
        i := if i < n then i + 1 else 0
      }
    }
    check ring: dp(1/100)
    """
    assert verdicts(check_text(text, "--explain", "none")) == ["violated"]
    assert next(n_looked_at) < 20_000 + 18 * 2 * 402


def test_what_is_kept_of_endless_outputs_is_let_go_with_their_chain():
    before = set(map(id, _kept_prefixes()))
    count = dpcheck.loads(WAITS).target("waits")
    assert count.epsilon() == "ln 3"
    assert not set(map(id, _kept_prefixes())) <= before
    del count
    assert set(map(id, _kept_prefixes())) <= before


def _kept_prefixes():
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, EndlessPrefixes)]


def test_a_sequence_that_grows_is_evidence_for_whoever_reads_the_file(tmp_path):
    text = WAITS + "refute waits(there = 1/10 + 1/1000): dp(2)"
    check_text(text, "--witness", str(tmp_path))
    (path,) = tmp_path.iterdir()
    found = called("verify", path)
    assert found.returncode == 0
    assert "proved" in found.stdout


def test_a_violation_whose_outputs_are_too_many_to_explain_is_told():
    text = """
mechanism m {
  input s in {true, false}
  adjacent all
  while true { b ~ bernoulli(if s then 1/3 else 1/4) output b  g ~ bernoulli(1/1000) if g { stop } }
}
check m: dp(1, 1/2)
"""
    (result,) = check_text(text)["results"]
    assert result["verdict"] == "violated"
    assert result["explanation"]["omitted"] == ["explanation"]


def test_an_analyst_whose_first_outputs_are_too_many_leaves_a_claim_undecided():
    text = """
mechanism m {
  input x in {true, false}
  adjacent all
  while true {
    query rate in {1/10, 1/2}
    now ~ bernoulli(rate)
    if now { y ~ {x: 3/4, !x: 1/4} output y stop }
    output bot
  }
}
check m: epsilon = ln 3
"""
    (result,) = check_text(text, "--max-states", "90")["results"]
    assert result["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("claim", "event", "probabilities"),
    [
        # Nobody tosses a coin before a query: the first answer of `told` comes in half of all runs.
        ("told: dp(1)", ["rate = 1/2, true"], ["3/8", "1/8"]),
        ("told: epsilon > ln 4", ["rate = 1/2, true"], ["3/8", "1/8"]),
        ("biased: dp(1/2)", ["rate = 1/3, bot, rate = 1/3, bot, ..."], ["4/9", "1/4"]),
        ("one_sided: dp(5)", ["c = 2, false, ..."], ["3/4", "0"]),
    ],
)
def test_what_an_endless_analyst_asks_is_sure_to_be_asked(claim, event, probabilities):
    (result,) = check_text(ASKED_FOR_EVER + f"refute {claim}")["results"]
    shown = result["counterexample"]
    assert shown["event"] == event
    assert shown["probabilities"] == probabilities


def test_where_equal_laws_come_from_other_states_the_ratio_before_them_is_all():
    # A coin that is kept a round and one that is not: no states are alike, but what they show is.
    model = """
    mechanism coins {
      input x in 0..1
      adjacent all
      kept ~ {0: 1/2, 1: 1/2}
      first ~ {0: (1 + x)/3, 1: (2 - x)/3}
      output first
      while true {
        var shown := kept
        if x = 1 { kept ~ {0: 1/2, 1: 1/2} } else { shown ~ {0: 1/2, 1: 1/2} }
        output shown
      }
    }
    check coins: epsilon = ln 2
    check coins: delta(0) = 1/3
    """
    assert verdicts(check_text(model)) == ["holds", "holds"]
