"""What alignments prove: the weights of the literature, and nothing that a window refutes."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import pairwise
from math import log

import pytest

from dpcheck.align.answers import answers
from dpcheck.align.arena import _Game, arena
from dpcheck.align.bound import aligned
from dpcheck.align.neighbors import Unreadable, differences
from dpcheck.align.prices import bound_of, rates_of
from dpcheck.align.windows import Size, longer, thinned, window
from dpcheck.certify.alignments import certify_alignment
from dpcheck.certify.moved import Draw, Moved
from dpcheck.check.decide import decide
from dpcheck.check.values.amounts import epsilon_amount
from dpcheck.check.values.verdicts import Outcome, Value
from dpcheck.exact import Budget, compare_epsilon
from dpcheck.explore import MistakesFound, explore
from dpcheck.explore.tails.tails import TailStates
from dpcheck.explore.values.codes import ValueTable
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.logic.claims import QuantityValue, TightEpsilon
from dpcheck.model.values import SetValue
from dpcheck.parse.parse import parse_model
from dpcheck.pipeline.claims.everywhere import _end_of, decided_everywhere
from dpcheck.pipeline.claims.search import NOTHING, Search, Seen
from dpcheck.records import replace
from dpcheck.resolve import resolve_model
from dpcheck.source import SourceText
from tests.align.programs import NOISY_ARGMAX, RandomProgram, sums_with_noise
from tests.align.resolved import mechanism
from tests.checking import check_text, error_codes, verdicts

LIMITS = Limits(max_states=100_000)


def alignment_of(target, *, is_settled=True):
    found = arena(target, differences(target), LIMITS, is_settled=is_settled)
    return aligned(found, LIMITS)


def bound(target, *, is_settled=True):
    found = alignment_of(target, is_settled=is_settled)
    return bound_of(found, rates_of(found.arena.ratios))


def window_epsilon(target, size):
    """Return the exact ε of a window, by the ordinary engine; None is infinite."""
    chain = explore(window(target, size), limits=LIMITS).chain
    asked = QuantityValue(TightEpsilon(0, target.span), target.span)
    return decide(chain, asked, at=None, limits=LIMITS).verdict.exact


def stream(body, rate_t, before=""):
    return f"""
mechanism m {{
  input q[1..] in integers
  public t in integers
  adjacent linf(q, q') <= 1
  {before}
  noisy_t ~ geometric(t, exp(-{rate_t})) unbounded
  for i in 1.. {{ {body} }}
}}"""


def query(rate):
    return f"noisy_q ~ geometric(q[i], exp(-{rate})) unbounded"


def counted(c, more=""):
    return (
        f"if noisy_q >= noisy_t {{ output top {more} n := n + 1 if n = {c} {{ stop }} }}"
        " else { output bot }"
    )


FRESH = "noisy_t ~ geometric(t, exp(-1/4)) unbounded"
VALUE = "y ~ geometric(q[i], exp(-1/2)) unbounded output y"
ANSWER = "output if noisy_q >= noisy_t then top else bot"

WEIGHTS = {
    "1, c = 1": (stream(f"{query('1/4')} {counted(1)}", "1/2", "n := 0"), 1),
    "1, c = 2": (stream(f"{query('1/8')} {counted(2)}", "1/2", "n := 0"), 1),
    "1, mirrored": (
        stream(f"{query('1/8')} {counted(2).replace('>=', '<=')}", "1/2", "n := 0"),
        1,
    ),
    "2": (stream(f"{query('1/8')} {counted(2, FRESH)}", "1/4", "n := 0"), 1),
    "3": (
        stream(f"{query('1/2')} if noisy_q >= noisy_t {{ output noisy_q stop }} output bot", "1/2"),
        None,
    ),
    "4": (stream(f"{query('3/4')} {counted(1)}", "1/4", "n := 0"), Fraction(7, 4)),
    "5": (stream("output if q[i] >= noisy_t then top else bot", "1/2"), None),
    "6": (stream(f"{query('1/2')} {ANSWER}", "1/2"), None),
    "numeric": (stream(f"{query('1/4')} {counted(1, VALUE)}", "1/2", "n := 0"), Fraction(3, 2)),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_variants_of_the_sparse_vector_technique_weigh_what_the_literature_says(name):
    text, weight = WEIGHTS[name]
    found = bound(mechanism(text))
    assert (None if found is None else Fraction(str(found.as_number()))) == weight


def retained(n, query="z", streams="", own=""):
    """Return a mechanism with n noisy thresholds, compared with numbers of every round."""
    return f"""
mechanism m {{
  input q[1..] in integers
  public t in integers
  {streams}
  adjacent linf(q, q') <= 1
  var a[1..{n}] := 0
  for j in 1..{n} {{ a[j] ~ geometric(t, exp(-1/2)) unbounded }}
  for i in 1.. {{
    z ~ geometric(q[i], exp(-1/4)) unbounded
    {own}
    if {query} >= a[c] {{ output top stop }}
    output bot
  }}
}}"""


@pytest.mark.parametrize("n", [4, 7, 12])
def test_many_retained_numbers_are_settled_together(n):
    target = mechanism(retained(n, own=f"query c in 1..{n}"))
    found = arena(target, differences(target), LIMITS)
    assert len(found.moves) < 15 * n
    assert bound(target) == Budget.of(1) * (n + 1) / 2  # each by 1, and the last query by 2


def test_rounds_are_settled_once_for_all_private_centers(monkeypatch):
    """There are 3^4 ways in which the centers differ, and four thresholds to be settled."""
    rounds = []
    settle = _Game._after_a_round
    monkeypatch.setattr(_Game, "_after_a_round", lambda *args: rounds.append(1) or settle(*args))
    text = retained(4, streams="input x[1..4] in integers", own="query c in 1..4")
    text = text.replace("geometric(t,", "geometric(x[j],").replace(
        "<= 1", "<= 1 & linf(x, x') <= 1"
    )
    assert bound(mechanism(text)) == Budget.of(1) * 9 / 2  # each by 2, and the last query by 2
    assert len(rounds) < 10


def test_a_state_that_leads_to_long_rounds_ends_with_the_time_too():
    """Each round makes the number that is kept of one draw more, and is followed by itself."""
    target = mechanism("""
mechanism m {
  input q[1..] in integers
  adjacent linf(q, q') <= 1
  s ~ geometric(0, 1/2) unbounded
  w ~ geometric(0, 1/2) unbounded
  for i in 1.. {
    w := s - w
    z ~ geometric(q[i], 1/2) unbounded
    output z >= w
    s ~ geometric(q[i], 1/2) unbounded
  }
}""")
    asked = []

    class Late(Limits):
        def check_time(self, progress):
            asked.append(progress)
            if len(asked) > 20:
                raise LimitReached(Limit("time", 1), progress)

    with pytest.raises(LimitReached):
        arena(target, differences(target), Late())
    assert asked[-1] == asked[-2], "no state was finished between two looks at the clock"


def test_windows_have_integers_as_far_apart_as_neighbors():
    """Answers that differ by 100 show in two rounds what 201 integers would be needed for."""
    text = in_rounds("output z >= 50").replace("<= 1", "<= 100").replace("1/2)", "exp(-1/100))")
    assert verdicts(check_text(text.replace("dp(ln 2)", "dp(9/10)"))) == ["violated"]
    assert Size(2, -1, 1, 3).integers == SetValue((-3, 0, 3))


@pytest.mark.parametrize(("query", "n_inputs"), [("", 250), ("query c in 0..1", 32)])
def test_windows_of_an_analyst_who_adapts_have_fewer_inputs(query, n_inputs, monkeypatch):
    """Seven rounds with two choices took a minute."""
    sizes = []

    def decided(self, size, claim):
        sizes.append(size)
        return DECIDED(self, Size(1, 0, 0), claim)

    monkeypatch.setattr("dpcheck.pipeline.claims.search.Search.decided", decided)
    noisy = f"{query}  z ~ geometric(q[i], 1/4) unbounded"
    check_text(f"{stream(f'{noisy} output z >= 1', '1/2')}check m: epsilon <= 1")
    found = [(size.high - size.low + 1) ** (size.n_rounds + 1) for size in sizes]
    assert n_inputs / 3 < max(found) <= n_inputs


def test_a_window_that_is_too_large_costs_no_proof():
    """The smallest window of this one has some 3^20 states; it is looked at for mistakes only."""
    text = retained(20, own="query c in 1..20")
    assert verdicts(check_text(f"{text}\ncheck m: dp(21/2)")) == ["holds"]


def test_what_is_kept_moves_as_far_as_sums_of_inputs_differ():
    target = mechanism(
        retained(1, "z + x[i]", "input x[1..] in integers", "c := 1").replace(
            "<= 1", "<= 1 & linf(x, x') <= 1"
        )
    )
    assert bound(target) == Budget.of(2)  # the threshold by 2, and the last query by 4


def test_retained_numbers_that_are_compared_with_each_other_are_not_settled():
    text = retained(2, own="output a[1] >= a[2] c := 1")
    assert bound(mechanism(text)) == Budget.of(1) * 3 / 2  # each by 1, and the last query by 2


@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_settling_rounds_changes_no_bound(seed, monkeypatch):
    target = mechanism(RandomProgram(seed).text)
    try:
        settled = bound(target)
    except Unreadable:
        return
    monkeypatch.setattr("dpcheck.align.arena._Game._settled", lambda _, way: way)
    assert bound(target) == settled


@pytest.mark.parametrize(
    ("relation", "cost"),
    [
        ("linf(q, q') <= 1", 2),
        ("l1(q, q') <= 1", 1),
        ("forall(i in 1..3 : 0 <= q'[i] - q[i] <= 1)", 1),
        ("forall(i in 1..3 : -2 < q'[i] - q[i] < 1)", 1),
        ("forall(i in 1..3 : q[i] <= q'[i] & q'[i] < q[i] + 2)", 1),
        ("linf(q, q') <= 1 & forall(i in 1..3 : q'[i] >= q[i])", 1),
        ("q'[1] = q[1] + 2 & 3 - q[2] = 2 - q'[2] & q[3] = q'[3]", 3),
        ("linf(q, q') <= 2", 4),
        ("l1(q, q') < 3", 2),
        ("q[1] = q'[1] & abs(q[2] - q'[2]) <= 1 & q[3] = q'[3]", 1),
    ],
)
def test_noisy_argmax_costs_what_its_neighbors_differ_by(relation, cost):
    target = mechanism(f"""
mechanism m {{
  input q[1..3] in integers
  adjacent {relation}
  var v[1..3] := 0
  for i in 1..3 {{ v[i] ~ geometric(q[i], 1/2) unbounded }}
  output argmax(v)
}}""")
    found = bound(target)
    assert found == Budget.ln(2) * cost
    assert compare_epsilon(window_epsilon(target, Size(1, -1, 1)), found) <= 0


@pytest.mark.parametrize("n", [3, 9, 40])
@pytest.mark.parametrize(
    ("answer", "cost"),
    [
        ("argmax(v)", 2),  # the best moved up by 1, from a center that went down
        ("v[1] - v[2] > 0", 2),
        ("v[2] > 0", 1),
        ("v[2] > 1/2", 1),
        ("max(v[1], 5/2) > v[2]", 2),
        ("if forall(i in 1..2 : v[i] > 0) then v[1] else v[2]", 2),
        ("(v[1], v[3] >= v[2])", 3),
    ],
)
def test_differences_of_many_inputs_are_left_open(answer, cost, n):
    target = mechanism(f"""
mechanism m {{
  input q[1..{n}] in integers
  adjacent linf(q, q') <= 1
  var v[1..{n}] := 0
  for i in 1..{n} {{ v[i] ~ geometric(q[i], 1/2) unbounded }}
  output {answer}
}}""")
    assert bound(target, is_settled=False) == Budget.ln(2) * cost
    if n < 5:
        assert bound(target) == Budget.ln(2) * cost


@pytest.mark.parametrize(
    ("center", "cost"),
    [
        ("q[1] + q[2]", 2),
        ("q[1] - q[1]", 0),
        ("-q[2] + 3", 1),
        ("q[1] + q[1] - q[2]", 3),
        ("2 * q[1]", 2),
        ("q[1] * -3 + 2 * q[2]", 5),
        ("3 * (q[1] - q[2]) - 3 * q[1]", 3),
        ("0 * q[1]", 0),
    ],
)
def test_a_center_differs_by_what_its_inputs_do_together(center, cost):
    target = mechanism(f"""
mechanism m {{
  input q[1..2] in integers
  adjacent linf(q, q') <= 1
  z ~ geometric({center}, 1/2) unbounded
  output z
}}""")
    assert bound(target, is_settled=False) == bound(target) == Budget.ln(2) * cost


@pytest.mark.parametrize("is_settled", [True, False])
@pytest.mark.parametrize("seed", range(80))
def test_no_window_of_a_random_program_loses_more_than_is_proved(seed, is_settled):
    program = RandomProgram(seed)
    target = mechanism(program.text)
    if not is_settled and program.is_stream:
        return  # a stream has no other inputs
    try:
        most = bound(target, is_settled=is_settled)
    except Unreadable:
        return
    if most is None:
        return
    narrow = [Size(1, 0, 1), Size(2, 0, 1), Size(2, 0, 1, 2)]
    for size in narrow if program.is_stream else [Size(1, -1, 1), Size(1, 0, 1, 2)]:
        try:
            least = window_epsilon(target, size)
        except (MistakesFound, Unreadable):
            return  # windows read less, and see silent rounds
        assert least is not None, program.text
        assert compare_epsilon(least, most) <= 0, program.text


@pytest.mark.parametrize("seed", range(60))
def test_no_window_loses_more_than_is_proved_where_noise_is_added_to_inputs(seed):
    target = mechanism(sums_with_noise(seed))
    try:
        most = bound(target)
    except Unreadable:
        return
    if most is None:
        return
    for size in [Size(1, -1, 1), Size(1, 0, 1, 2)]:
        try:
            least = window_epsilon(target, size)
        except MistakesFound:
            return  # windows read less
        assert least is not None, target.span.source.text
        assert compare_epsilon(least, most) <= 0, target.span.source.text


@pytest.mark.parametrize("noise", ["geometric_positive(1/2)", "geometric(0, 1/2)"])
@pytest.mark.parametrize(
    ("relation", "cost"),
    [("linf(q, q') <= 1", 2), ("forall(i in 1..K : 0 <= q'[i] - q[i] <= 1)", 1)],
)
@pytest.mark.parametrize("k", [2, 4])
def test_noise_added_to_inputs_moves_as_far_as_two_of_them_differ(noise, relation, cost, k):
    """Only the noise of the winner is moved, and up: one-sided noise cannot be moved down."""
    target = mechanism(f"""
mechanism m {{
  input q[1..{k}] in integers
  adjacent {relation.replace("K", str(k))}
  var v[1..{k}] := 0
  for i in 1..{k} {{ z ~ {noise} unbounded  v[i] := q[i] + z }}
  output argmax(v)
}}""")
    assert bound(target) == Budget.ln(2) * cost
    least = window_epsilon(target, Size(1, -1, 1) if k < 4 else Size(1, 0, 1))
    assert compare_epsilon(least, bound(target)) <= 0
    if k == 2 and "positive" in noise:
        assert compare_epsilon(least, bound(target)) == 0


@pytest.mark.parametrize("relation", ["0 <= q'[i] - q[i] <= 1", "-1 <= q'[i] - q[i] <= 0"])
def test_a_relation_in_one_direction_is_looked_at_in_both(relation):
    target = mechanism(f"""
mechanism m {{
  input q[1..4] in integers
  adjacent forall(i in 1..4 : {relation})
  noisy_t ~ geometric(0, 1/4) unbounded
  for i in 1..4 {{
    z ~ geometric(q[i], 1/2) unbounded
    if z >= noisy_t {{ output top stop }}
    output bot
  }}
}}""")
    found = bound(target)
    assert found == Budget.ln(8)  # the threshold moved by 1 for what stays below, the last by 1
    assert compare_epsilon(window_epsilon(target, Size(1, 0, 1)), found) <= 0


def test_a_cost_that_is_too_small_somewhere_is_found():
    found = alignment_of(mechanism(WEIGHTS["1, c = 1"][0]))
    rates = rates_of(found.arena.ratios).prices
    moves = [[(o.cost, o.target) for o in answers] for answers in found.answers]
    assert certify_alignment(found.costs, moves, found.arena.starts, rates)
    paid = [i for i, cost in enumerate(found.costs) if cost]
    for state in paid[::3]:
        less = [() if i == state else cost for i, cost in enumerate(found.costs)]
        assert not certify_alignment(less, moves, found.arena.starts, rates)


def test_a_window_shows_some_of_the_values_for_which_a_claim_fails():
    """Above-threshold is eps-private for every length; two rounds show that eps/2 is too little."""
    text = """
param eps > 0
mechanism m {
  input q[1..] in integers
  public t in integers
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, exp(-eps/2)) unbounded
  for i in 1.. {
    z ~ geometric(q[i], exp(-eps/4)) unbounded
    if z >= noisy_t { output top stop }
    output bot
  }
}
check m: dp(eps/2)
check m: dp(3/5 * eps)
"""
    everywhere, there = check_text(text)["results"]
    assert [everywhere["verdict"], there["verdict"]] == ["violated", "violated"]
    assert "at_least" not in everywhere["values"]
    assert there["values"]["at_least"] is True
    assert "holds_for" not in there["values"]  # more rounds show that it fails for some of these


ANSWERS_THAT_GO_ON = """
param eps > 0
mechanism m {
  input q[1..] in integers
  public t in integers
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, exp(-eps/2)) unbounded
  for i in 1.. {
    z ~ geometric(q[i], exp(-eps/4)) unbounded
    output z >= noisy_t
  }
}
"""


def test_a_violation_in_five_rounds_is_found_for_all_values_of_a_parameter():
    """Windows that have all inputs have four rounds; their ε(1) is 0.81."""
    [found] = check_text(f"{ANSWERS_THAT_GO_ON}check m: dp(eps)")["results"]
    assert found["verdict"] == "violated"
    assert found["values"]["sample"] == "1"
    assert found["values"]["fails_for"][0]["to"] == {"exact": "inf", "decimal": "inf"}
    assert "at_least" not in found["values"]


def test_the_sample_is_one_of_the_values_that_are_asked():
    text = f"{ANSWERS_THAT_GO_ON}check m for eps in (ln 8, inf): dp(eps)"
    [found] = check_text(text)["results"]
    assert [found["verdict"], found["values"]["sample"]] == ["violated", "3"]


def test_what_is_proved_for_all_values_is_told_when_the_time_is_over(monkeypatch):
    monkeypatch.setattr("dpcheck.pipeline.claims.search.Search.decided", _in_time_for_some)
    text = ANSWERS_THAT_GO_ON.replace("noisy_t\n", "noisy_t stop\n")
    [found] = check_text(f"{text}check m for eps in (0, ln 2): dp(6/25 * eps)")["results"]
    assert found["verdict"] == "undecided"
    assert "at most eps/4" in found["reason"]["progress"]


DECIDED = Search.decided


def _in_time_for_some(self, size, claim):
    if size != Size(1, 0, 0):
        raise LimitReached(Limit("time", 1))
    return DECIDED(self, size, claim)


def test_a_longer_window_has_each_round_twice_where_another_one_follows():
    target = mechanism(WEIGHTS["6"][0])
    rows = [
        (("q[1]", 0), ("q[2]", 0), ("q[3]", 1), ("t", 5)),
        (("q[1]", 1), ("q[2]", 1), ("q[3]", 0), ("t", 5)),
    ]
    found = longer(target, Size(3, 0, 1), rows)
    values = [[dict(row)[f"q[{i}]"] for i in (1, 2, 3, 4)] for row in found.only]
    assert values == [[0, 0, 0, 1], [1, 1, 1, 0], [0, 0, 1, 1], [1, 1, 0, 0]]
    assert {dict(row)["t"] for row in found.only} == {5}
    chain = explore(window(target, replace(found, low=0, high=9)), limits=LIMITS).chain
    assert len(chain.initial) == 4


def test_the_worst_neighbors_of_short_windows_come_near_to_what_long_ones_lose():
    """The ε of above-threshold is ln 16; ten rounds show 2.7699, twenty 2.77258841."""
    text = stream(f"{query('1/4')} {counted(1)}", "1/2", "n := 0")
    text = text.replace("exp(-1/2)", "1/4").replace("exp(-1/4)", "1/2")
    [found] = check_text(f"{text}compute m: epsilon")["results"]
    low, high = (float(end) for end in found["value"]["enclosure"])
    assert 2.77258841 <= low <= high <= 2.77258873


def test_the_condition_of_a_weighted_distribution_must_be_alike():
    text = """
mechanism m {
  input x in integers
  adjacent abs(x - x') <= 1
  y ~ {v: 1/3 for v in 0..2 where v >= CENTER} normalized
  output y
}
check m: dp(0)
"""
    assert error_codes(check_text(text.replace("CENTER", "x"))) == ["DP557"]
    assert verdicts(check_text(text.replace("CENTER", "1"))) == ["holds"]


def test_a_copied_array_keeps_its_noise_when_draws_are_forgotten():
    """The noise of v[1], read through a, costs ln 1000; it is not the noise of v[2]."""
    text = """
mechanism m {
  input q[1..3] in integers
  adjacent linf(q, q') <= 1
  var v[1..2] := 0
  w ~ geometric(q[3], 1/4) unbounded
  v[1] ~ geometric(q[1], 1/1000) unbounded
  v[2] ~ geometric(q[2], 1/2) unbounded
  a := v
  output w > 0
  output a[1] > 0
}
"""
    assert bound(mechanism(text)) == Budget.ln(4000)


def test_a_ratio_too_small_for_a_float_has_its_price():
    text = """
mechanism m {
  input x in integers
  adjacent abs(x - x') <= 1
  z ~ geometric(x, exp(-1000)) unbounded
  output z > 0
}
"""
    assert bound(mechanism(text)) == Budget.of(1000)


def in_rounds(body, before="", streams=""):
    return f"""
mechanism m {{
  input q[1..] in integers
  {streams}
  public t in integers
  adjacent linf(q, q') <= 1
  {before}
  for i in 1.. {{
    z ~ geometric(q[i], 1/2) unbounded
    {body}
  }}
}}
check m: dp(ln 2)
"""


@pytest.mark.parametrize(
    ("before", "body", "why"),
    [
        ("var n in 0..3 := 0", "output bot n := n + 1 if n > 5 { stop }", "`n` becomes 4"),
        ("var n in 0..3 := 0", "output bot n ~ uniform(n..n + 1)", "`n` becomes 4"),
        ("var a[1..2] in 0..3 := 0", "output bot a[1] := a[1] + 1", "`a[1]` becomes 4"),
        ("n := 3", "output 1/n n := n - 1", "division by zero"),
        ("n := 2", "output bot b ~ {0: 1/n, 1: 1/2} output b n := n + 1", "sum to 5/6"),
        ("n := 1", "output bot b ~ binomial(n, 1/2) output b n := n - 1", "at least 0"),
        ("n := 1", "w ~ geometric(t, n/3) unbounded output w > 0 n := n + 1", "between 0 and 1"),
        ("n := 0", "w ~ geometric(n/2, 1/3) unbounded output w > 0 n := n + 1", "an integer"),
        ("n := 0", "output clamp(z, n, 2) n := n + 1", "lo <= hi"),
        ("n := true", "output if n then z > 0 else false n := 5", "must be true or false"),
        ("n := true", "output n & z > 0 n := 5", "must be true or false"),
        ("n := true", "output count(j in 1..1 : n) n := 5", "needs true or false"),
        ("n := 1", "output max(j in 1..n : z) > 0 n := n - 1", "nothing"),
    ],
)
def test_a_program_that_fails_in_a_later_round_is_not_proved(before, body, why):
    [mistake] = check_text(in_rounds(body, before))["errors"]
    assert mistake["code"] == "DP560"
    assert why in mistake["message"]


def test_a_sampled_mechanism_that_may_not_answer_is_not_proved():
    text = in_rounds("y ~ once(n = n) output y n := 1", "n := 0")
    once = "mechanism once { public n in 0..1 if n = 0 { output n } }"
    assert error_codes(check_text(once + text)) == ["DP560"]


def test_an_argument_that_may_be_any_integer_does_not_fit_a_finite_set():
    inner = """
mechanism inner {
  input x in SET
  adjacent abs(x - x') <= 1
  z ~ geometric(x, 1/2) unbounded
  output z > 0
}
mechanism m {
  input x in integers
  adjacent abs(x - x') <= 1
  run inner(x = x)
}
check m: dp(ln 2)
"""
    assert verdicts(check_text(inner.replace("SET", "integers"))) == ["holds"]
    assert error_codes(check_text(inner.replace("SET", "-9..9"))) == ["DP557"]


@pytest.mark.parametrize(
    "relation",
    [
        *("abs(q[1] - q'[1]) <= 1", "q[1] = q'[1]", "max(q) = max(q')", "hamming(q, q') <= 1"),
        "exists(i in 1..2 : q[i] != q'[i])",
    ],
)
def test_a_relation_of_one_round_says_nothing_of_the_others_and_is_one_of_three(relation):
    text = in_rounds("output z > 0").replace("linf(q, q') <= 1", relation)
    (mistake,) = check_text(text)["errors"]
    assert mistake["code"] == "DP555"
    assert "`input q[1..3] in 0..2` and `for i in 1..3`" in mistake["help"]
    text = text.replace("input q[1..] in integers", "input q[1..3] in 0..2")
    text = text.replace("for i in 1.. ", "for i in 1..3 ").replace("t in integers", "t in 0..2")
    assert error_codes(check_text(text)) == []


@pytest.mark.parametrize("relation", ["abs(x' - x + 1) <= 1", "x' + x <= 1", "x' + x' <= x + x"])
def test_what_a_relation_says_beside_a_difference_is_not_overlooked(relation):
    text = f"""mechanism m {{
  input x in integers
  adjacent abs(x - x') <= 1 & {relation}
  z ~ geometric(x, 1/2) unbounded
  output z
}}
check m: dp(ln 2)"""
    assert error_codes(check_text(text)) == ["DP555"]


@pytest.mark.parametrize(
    ("relation", "cost"),
    [
        ("q'[2] - q[2] >= 1 & l1(q, q') <= 1", 1),
        ("q'[2] - q[2] = 1 & l1(q, q') <= 2", 2),
        ("l1(q, q') <= 3 & q[2] - q'[2] >= 2", 3),
    ],
)
def test_a_difference_of_one_number_may_leave_none_for_the_next(relation, cost):
    """Who differs in the first number by all that `l1` allows has no neighbor with the second."""
    target = mechanism(f"""
mechanism m {{
  input q[1..2] in integers
  adjacent {relation}
  for i in 1..2 {{ z ~ geometric(q[i], 1/2) unbounded  output z }}
}}""")
    assert bound(target) == Budget.ln(2) * cost


@pytest.mark.parametrize(
    ("public", "ratio"),
    [
        ("public d in 0..2 where d > 0", "1/(2 * d)"),
        ("public c in 0..2 public d in 0..2 where d >= c", "1/(2 + d - c)"),
        ("public d[1..2] in 0..2 where d[1] <= d[2]", "1/(2 + d[2] - d[1])"),
    ],
)
def test_no_run_has_public_values_that_are_left_out(public, ratio):
    text = f"""
mechanism m {{
  input x in integers
  {public}
  adjacent abs(x - x') <= 1
  z ~ geometric(x, {ratio}) unbounded
  output z
}}
check m: dp(ln 4)
"""
    assert verdicts(check_text(text)) == ["holds"]
    all_values = text.replace(public, public.partition(" where")[0])
    assert error_codes(check_text(all_values)) == ["DP560"]


@pytest.mark.parametrize(
    ("relation", "is_empty"),
    [
        ("q = q'", True),
        ("linf(q, q') <= 0", True),
        ("linf(q, q') <= 1 & q'[2] - q[2] > 1", True),
        ("l1(q, q') <= 1 & q'[1] - q[1] > 0 & q[2] - q'[2] > 0", True),
        ("l1(q, q') <= 2 & q'[1] - q[1] > 0 & q[2] - q'[2] > 0", False),
        ("l1(q, q') <= 0 & linf(q, q') <= 1", True),
        ("l1(q, q') <= 1 & q[1] = q'[1]", False),
        ("0 <= q'[1] - q[1] <= 1 & q[2] = q'[2]", False),
    ],
)
@pytest.mark.parametrize("values", ["integers", "0..2"])
def test_what_is_proved_of_no_neighbors_says_nothing(relation, is_empty, values):
    """As it does of finite inputs."""
    text = f"""
param alpha in (0, 1)
mechanism m {{
  input q[1..2] in {values}
  adjacent {relation}
  for i in 1..2 {{ z ~ geometric(q[i], alpha) unbounded  output z > 0 }}
}}
check m: dp(-2 * ln alpha)
compute m for alpha in [1/2, 1/2]: epsilon
compute m: epsilon
"""
    found = check_text(text)["results"]
    assert [each["vacuous"] for each in found] == [is_empty] * 3


@pytest.mark.parametrize(
    ("given", "relation", "verdict", "told"),
    [
        ("input x in", "abs(x - x') <= 1 &", "holds", ""),
        ("public x in", "", "undecided", "public inputs have more than 1000000 values together"),
    ],
)
def test_long_sets_beside_all_integers_are_never_listed(given, relation, verdict, told):
    text = f"""
mechanism m {{
  {given} 0..10^13
  input y in integers
  adjacent {relation} abs(y - y') <= 1
  z ~ geometric(x, 1/2) unbounded
  w ~ geometric(y, 1/2) unbounded
  output z > 0
  output w > 0
}}
check m: dp(ln 4)
"""
    (found,) = check_text(text)["results"]
    assert found["verdict"] == verdict
    assert told in str(found)


@pytest.mark.parametrize(
    ("values", "relation", "is_empty"),
    [
        ("{0, 5, 100}", "abs(x - x') <= 4", True),
        ("{5, 100, 0}", "abs(x - x') <= 5", False),
        ("{-3, -1, 2}", "x' = x + 1", True),
        ("{-3, -1, 2}", "x' = x + 3", False),
        ("{-3, -1, 2}", "6 <= x - x' <= 9", True),
        ("{7}", "abs(x - x') <= 3", True),
        ("0..10^12", "abs(x - x') <= 1", False),
    ],
)
@pytest.mark.parametrize("others", ["input y in integers", "input y[1..10] in 0..9"])
def test_sets_with_holes_may_have_no_neighbors(values, relation, is_empty, others):
    text = f"""
mechanism m {{
  input x in {values}
  {others}
  adjacent {relation} & y = y'
  z ~ geometric(x, 1/2) unbounded
  output z > 0
}}
check m: dp(200 * ln 2)
check m: epsilon <= 10^13
"""
    found = check_text(text, "--max-states", "100")["results"]
    assert [(each["verdict"], each["vacuous"]) for each in found] == [("holds", is_empty)] * 2


def test_arrays_that_are_equal_differ_by_nothing():
    target = mechanism("""
mechanism m {
  input q[1..2] in integers
  input p[1..2] in integers
  adjacent linf(q, q') <= 1 & p = p'
  z ~ geometric(q[1] + p[1], 1/2) unbounded
  output z > 0
}""")
    assert bound(target) == Budget.ln(2)


def test_a_public_stream_is_alike_in_every_round():
    text = in_rounds("output z > t[i] stop", streams="public s[1..] in integers")
    text = text.replace("t[i]", "s[i]")
    assert verdicts(check_text(text)) == ["holds"]
    assert bound(mechanism(text.rsplit("check", 1)[0])) == Budget.ln(2)


@pytest.mark.parametrize(
    ("relation", "cost"), [("abs(x - x') <= 1 & b = b'", 1), ("abs(x - x') <= 1", 4)]
)
def test_a_private_input_from_a_finite_set_differs_by_less_than_its_length(relation, cost):
    target = mechanism(f"""
mechanism m {{
  input x in integers
  input b in 0..3
  adjacent {relation}
  z ~ geometric(x + b, 1/2) unbounded
  output z > 0
}}""")
    assert bound(target) == Budget.ln(2) * cost
    assert compare_epsilon(window_epsilon(target, Size(1, 0, 1)), bound(target)) <= 0


@pytest.mark.parametrize("finite", ["public t in {3, 5}", "input b in 0..1"])
def test_inputs_from_finite_sets_stand_beside_those_that_are_all_integers(finite):
    near = " & abs(b - b') <= 1" if "b" in finite.split() else ""
    center = "q + b" if near else "q + t"
    cost = "ln 4" if near else "ln 2"
    text = f"""mechanism m {{
      input q in integers
      {finite}
      adjacent abs(q - q') <= 1{near}
      z ~ geometric({center}, 1/2) unbounded
      output z
    }}
    check m: epsilon = {cost}
    check m: dp(ln 3/2)
    """
    assert verdicts(check_text(text)) == ["holds", "violated"]


def test_windows_move_what_is_added_to_noise_into_its_center():
    """One-sided noise is added to a number; the loop that was written out is in no window."""
    text = """
mechanism m {
  input q[1..] in integers
  public t in integers
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric_positive(1/4) unbounded
  for i in 1.. {
    z ~ geometric_positive(1/2) unbounded
    if q[i] + z >= t + noisy_t { output top stop }
    output bot
  }
}"""
    target = mechanism(text)
    assert bound(target) == Budget.ln(16)
    for size in (Size(1, 0, 1), Size(2, 0, 1)):
        assert compare_epsilon(window_epsilon(target, size), bound(target)) <= 0
    assert verdicts(check_text(f"{text}\ncheck m: dp(ln 16)")) == ["holds"]


DISTRIBUTIONS = """
dist around(c) = geometric(c, 1/2) unbounded
dist one_of(c) = if c then geometric(0, 1/2) unbounded else geometric(5, 1/2) unbounded
dist by_sign(z) = if z > 0 then geometric(0, 1/2) unbounded else geometric(5, 1/2) unbounded
"""


@pytest.mark.parametrize(
    "drawn",
    [
        "geometric(if w > 0 then 0 else 5, 1/2) unbounded",
        "geometric(0, if w > 0 then 1/2 else 1/4) unbounded",
        "around(if w > 0 then 0 else 5)",
        "one_of(w > 0)",
        "by_sign(w)",
    ],
)
def test_what_a_draw_reads_of_noise_is_on_its_path(drawn):
    target = mechanism(f"""{DISTRIBUTIONS}
mechanism m {{
  input x in integers
  adjacent abs(x - x') <= 1
  w ~ geometric(x, 1/3) unbounded
  y ~ {drawn}
  output y
}}""")
    assert bound(target) == Budget.ln(3)


def test_noise_around_noise_is_not_read():
    target = mechanism("""
mechanism m {
  input x in integers
  adjacent abs(x - x') <= 1
  w ~ geometric(x, 1/3) unbounded
  y ~ geometric(w, 1/2) unbounded
  output y > 0
}""")
    with pytest.raises(Unreadable):
        bound(target)


@pytest.mark.parametrize("op", [">=", "<"])
def test_one_sided_noise_moves_to_its_side_only(op):
    target = mechanism(f"""
mechanism m {{
  input x in integers
  adjacent abs(x - x') <= 1
  z ~ geometric_positive(1/2) unbounded
  output x + z {op} 0
}}""")
    assert bound(target) is None
    assert window_epsilon(target, Size(1, -1, 1)) is None


def test_what_neighbors_may_still_differ_by_tells_states_apart():
    """Who differs by 2 in the first input is alike in the second, whose noise costs more."""
    target = mechanism("""
mechanism m {
  input q[1..2] in integers
  adjacent l1(q, q') <= 2
  z ~ geometric(q[1], 1/2) unbounded
  output z > 0
  z ~ geometric(q[2], 1/8) unbounded
  output z > 0
}""")
    assert bound(target) == Budget.ln(64)


def test_what_is_in_tuples_tells_states_apart():
    target = mechanism("""
mechanism m {
  input x in integers
  adjacent abs(x - x') <= 1
  z ~ geometric(x, 1/2) unbounded
  known := (z > 0, 1)
  output known[2]
  if !known[1] {
    z ~ geometric(x, 1/8) unbounded
    output z > 0
  }
}""")
    assert bound(target) == Budget.ln(16)


def test_what_is_in_arrays_tells_states_apart():
    """Beside an integer that is known to both runs, `true` is not 1."""
    target = mechanism("""
mechanism m {
  input x in integers
  public t in integers
  adjacent abs(x - x') <= 1
  var v[1..2] := 0
  v[2] := t
  c ~ bernoulli(1/2)
  v[1] := if c then true else 1
  c := false
  kept := v
  v[1] := 0
  output kept[1]
  z ~ geometric(x, 1/2) unbounded
  output z > kept[2]
}""")
    assert bound(target) == Budget.ln(2)


def test_a_program_that_counts_without_end_is_told_from_one_that_leaks(monkeypatch):
    monkeypatch.setattr("dpcheck.align.arena.MAX_STATES", 200)
    monkeypatch.setattr("dpcheck.pipeline.claims.window_sizes.MAX_INPUTS", 3)
    counting, leaking = "output z > 0 if n = 10^9 { stop } n := n + 1", "output z > 0"
    texts = [in_rounds(body, "n := 0") for body in (counting, leaking)]
    found = [check_text(text.replace("dp(ln 2)", "dp(50)")) for text in texts]
    reasons = [json.dumps(one["results"][0]) for one in found]
    assert ["more than 200 states" in reason for reason in reasons] == [True, False]


@pytest.mark.parametrize("sign", [-1, 0, 1])
@pytest.mark.parametrize("times", [-3, -2, -1, 1, 2, 3])
@pytest.mark.parametrize(("low", "high"), [(-4, 4), (1, 1), (-1, -1)])
def test_a_need_of_one_draw_leaves_the_shifts_that_fulfil_it(times, sign, low, high):
    for by in range(-5, 6):
        needs = [(Moved(((0, times),), by, True), sign)]
        found = answers((Draw(0, 0, "z", low, high),), needs, {0}, 1, [1.0])
        left = {s for (draw,) in found for s in range(draw.low, draw.high + 1)}
        moved = {s: by + times * s for s in range(low, high + 1)}
        kept = {s for s, f in moved.items() if (f >= 0 or sign < 0) and (f <= 0 or sign > 0)}
        assert left == kept, by


@pytest.mark.parametrize("op", ["=", "!=", "<", ">="])
def test_noise_that_cancels_hides_nothing(op):
    target = mechanism(f"""
mechanism m {{
  input q[1..2] in integers
  adjacent l1(q, q') <= 1
  z ~ geometric(0, 1/2) unbounded
  output q[1] + z {op} q[2] + z
}}""")
    assert bound(target) is None


def test_the_choice_of_an_analyst_is_no_output_of_a_round():
    text = in_rounds("query c in 0..1 if z > c { output top }")
    assert error_codes(check_text(text)) == ["DP558"]
    assert verdicts(check_text(text.replace("output top }", "output top } stop"))) == ["holds"]


@pytest.mark.parametrize("ratio", ["exp(-eps)/2", "1/2"])
def test_ratios_without_a_common_measure_are_refused(ratio):
    text = f"""
param eps > 0
mechanism m {{
  input x in integers
  adjacent abs(x - x') <= 1
  y ~ geometric(x, exp(-eps)) unbounded
  output y > 0
  z ~ geometric(x, {ratio}) unbounded
  output z > 0
}}
check m: dp(2 * eps)
"""
    [mistake] = check_text(text)["errors"]
    assert mistake["code"] == "DP559"
    [advised] = re.findall("such as `(.*?)`", mistake["help"])
    assert verdicts(check_text(text.replace(f"(x, {ratio})", f"(x, {advised})"))) == ["violated"]


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [
        ("exp(-eps)", "1/2", 2),
        ("1/2", "exp(-eps)", 1),
        ("exp(-eps)", "exp(-eps)/2", 2),
        ("exp(-eps)/2", "exp(-eps)", 1),
        ("1/(1 + exp(eps))", "1/3", 1),
    ],
)
def test_the_noise_whose_ratio_has_no_common_measure_is_shown(first, second, wrong):
    text = f"""param eps > 0
mechanism m {{ input x in integers  adjacent abs(x - x') <= 1
  y ~ geometric(x, {first}) unbounded  output y > 0
  z ~ geometric(x, {second}) unbounded  output z > 0 }}
check m: dp(2 * eps)
"""
    (mistake,) = check_text(text)["errors"]
    assert (mistake["code"], mistake["line"]) == ("DP559", 2 + wrong)
    assert "`exp(-eps)`" in mistake["message"]


@pytest.mark.parametrize("power", [1, 2, 63, 64])
def test_powers_of_a_parameter_have_a_common_measure(power):
    text = f"""
    param alpha in (0, 1)
    mechanism m {{ input x in integers  adjacent abs(x - x') <= 1
      y ~ geometric(x, alpha^{power}) unbounded  output y > 0
      z ~ geometric(x, alpha) unbounded  output z > 0 }}
    check m: epsilon = -{power + 1} * ln alpha
    """
    [found] = check_text(text)["results"]
    assert found["verdict"] == "holds"


def test_what_is_proved_is_told_when_the_time_for_windows_is_over():
    """One window is looked at; with the second one the time is over."""
    text = """
mechanism m {
  input q[1..] in integers
  adjacent linf(q, q') <= 1
  t ~ geometric(0, 1/2) unbounded
  for i in 1.. {
    z ~ geometric(q[i], 1/4) unbounded
    output z >= t
    if z >= t { stop }
  }
}
compute m: epsilon
"""
    parsed = parse_model(SourceText("main.dpm", text))
    (asked,) = resolve_model(parsed.model).checks
    seen = []

    def decide_one(size, _claim, _limits):
        if seen:
            raise LimitReached(Limit("time", 1))
        seen.append(size)
        low = Budget.ln(3)
        return Seen(size, Outcome(Value(epsilon_amount(low), low), NOTHING), lambda: None)

    def no_value(value):
        raise AssertionError("there is no parameter")

    amount = _end_of(decided_everywhere(asked, decide_one, no_value, LIMITS)).verdict.amount
    low, high = map(float, amount.enclosure)
    assert 1 < low <= 1.0987 < high
    with pytest.raises(LimitReached):  # nothing is known before the first window
        _end_of(decided_everywhere(asked, decide_one, no_value, LIMITS))
    parsed = parse_model(SourceText("main.dpm", text.replace("if z >= t { stop }", "stop")))
    (bounded,) = resolve_model(parsed.model).checks
    amount = _end_of(decided_everywhere(bounded, decide_one, no_value, LIMITS)).verdict.amount
    assert [round(float(end), 4) for end in amount.enclosure] == [0, 0.694]


@pytest.mark.parametrize("values", ["integers", "0..2"])
@pytest.mark.parametrize(
    ("kind", "claim", "verdict"),
    [("check", "dp(ln 2)", "holds"), ("refute", "dp(0)", "holds"), ("compute", "epsilon", "value")],
)
def test_a_claim_that_leaves_out_the_chosen_value_says_nothing(kind, claim, verdict, values):
    text = f"""
param alpha in (0, 1)
mechanism m {{
  input x in {values}
  adjacent abs(x - x') <= 1
  z ~ geometric(x, alpha) unbounded
  output z > 0
}}
{kind} m for alpha in (0, 1/4]: {claim}
"""
    [found] = check_text(text, "-D", "alpha=1/2")["results"]
    assert (found["verdict"], found["vacuous"]) == (verdict, True)


@pytest.mark.parametrize(
    ("values", "claim", "verdict"),
    [
        ("alpha in (0, 1)", "dp(-ln alpha)", "violated"),
        ("alpha in (0, 1/2]", "dp(-ln alpha)", "holds"),
        ("alpha in (0, 1/2]", "epsilon <= -ln alpha", "holds"),
        ("alpha in (0, 1/2)", "epsilon < -ln alpha", "holds"),
        ("alpha in (0, 1/2]", "epsilon < -ln alpha", "violated"),
        ("alpha in (0, 51/100)", "dp(-ln alpha)", "violated"),
        ("eps > 0", "dp(eps/2)", "violated"),
    ],
)
def test_noise_without_the_parameter_is_compared_with_a_budget_for_all_its_values(
    values, claim, verdict
):
    """The ε of the mechanism is ln 2, whatever the value: at most the budget up to a tie."""
    text = f"""
    param {values}
    mechanism noisy {{
      input q in integers
      adjacent abs(q - q') <= 1
      z ~ geometric(q, 1/2) unbounded
      output z
    }}
    check noisy: {claim}
    """
    assert verdicts(check_text(text)) == [verdict]


COUNT = """
mechanism m {
  input x in integers
  adjacent abs(x - x') <= 1
  z ~ geometric(x, alpha) unbounded
  output z
}
"""
ABOVE = """
mechanism m {
  input q[1..] in integers
  public t in integers
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, alpha^2) unbounded
  for i in 1.. {
    z ~ geometric(q[i], alpha) unbounded
    output z >= noisy_t
    STOP
  }
}
"""
STOPS = ABOVE.replace(
    "output z >= noisy_t\n    STOP", "if z >= noisy_t { output top stop } output bot"
)
GOES_ON = ABOVE.replace("STOP", "")
SHOWS_ORDER = GOES_ON.replace("z >=", "q[i] >=")
FRESH_COUNTS = GOES_ON.replace("z >= noisy_t", "z >= 0")


def for_all_alpha(text, values="alpha in (0, 1)"):
    return check_text(f"param {values}\n{text}")["results"]


@pytest.mark.parametrize(
    ("text", "claim", "epsilon", "told"),
    [
        (STOPS, "epsilon <= ln(3/2)", None, "at least ln(13/7)"),  # it is ln 16, in the limit
        (STOPS, "epsilon < ln(4)", None, "at least ln(3800/633)"),
        (STOPS, "epsilon = ln(7/4)", None, "at least ln(13/7)"),
        (COUNT, "epsilon <= ln(3/2)", "ln(2)", "ln(2)"),
        (COUNT, "epsilon = ln(3/2)", "ln(2)", "ln(2)"),
        (FRESH_COUNTS, "epsilon < inf", "inf", "inf"),
        (FRESH_COUNTS, "epsilon <= 5", "inf", "at least ln(256)"),  # of outputs that are shown
    ],
)
def test_what_a_window_loses_is_not_what_all_inputs_do(text, claim, epsilon, told):
    """Three claims about above-threshold said that ε is 0.62, 1.23 and 1.79: a window's each."""
    text = text.replace("alpha^2", "1/4").replace("alpha", "1/2")
    [found] = check_text(f"{text}check m: {claim}")["results"]
    assert found["verdict"] == "violated"
    assert found.get("value", {}).get("exact") == epsilon
    assert found["counterexample"]["requirement"] == f"{claim}, but it is {told}"


def test_what_a_window_loses_at_a_value_is_not_what_all_inputs_do():
    [found] = for_all_alpha(f"{STOPS}check m: epsilon <= -ln alpha")
    assert ", but it is at least ln(" in found["counterexample"]["requirement"]


def test_what_is_computed_for_all_values_lies_between_a_window_and_what_is_proved():
    """The ε of the stream is -4 ln(alpha); ten rounds show the more of it the smaller alpha."""
    [found] = for_all_alpha(f"{STOPS}compute m: epsilon")
    [piece] = found["pieces"]
    low, high = piece["enclosure"]
    assert (found["verdict"], piece["in"], high) == ("value", "(0, 1)", "-4*ln(alpha)")
    for alpha, least in ((0.01, 0.999), (0.1, 0.99), (0.5, 0.9), (0.9, 0.3), (0.99, 0.3)):
        below = eval(low.replace("^", "**"), {"ln": log, "alpha": alpha})
        assert least < below / (-4 * log(alpha)) <= 1, alpha
    assert found["table"]["columns"] == ["alpha in", "epsilon", "at most"]
    assert "value" not in found


def test_what_a_window_shows_is_the_value_where_no_more_is_proved():
    [counted] = for_all_alpha(f"{COUNT}compute m: epsilon")
    assert [piece["exact"] for piece in counted["pieces"]] == ["ln(1/alpha)"]
    [shown] = for_all_alpha(f"{SHOWS_ORDER}compute m: epsilon")
    assert [piece["exact"] for piece in shown["pieces"]] == ["inf"]
    [leaks] = for_all_alpha(f"{GOES_ON}compute m: epsilon")
    assert {piece["enclosure"][1] for piece in leaks["pieces"]} == {"inf"}


def test_what_is_computed_for_a_part_of_the_values_is_of_that_part():
    [found] = check_text(
        f"param alpha in (0, 1)\n{COUNT}compute m for alpha in [1/3, 1/2): epsilon"
    )["results"]
    assert [piece["in"] for piece in found["pieces"]] == ["[1/3, 1/2)"]


@pytest.mark.parametrize(
    ("program", "claim", "verdict"),
    [
        (COUNT, "epsilon = -ln alpha", "holds"),
        (COUNT, "epsilon >= -ln alpha", "holds"),
        (COUNT, "epsilon > -1/2 * ln alpha", "holds"),
        (COUNT, "epsilon < -2 * ln alpha", "holds"),
        (COUNT, "epsilon < -ln alpha", "violated"),
        (COUNT, "epsilon = -1/2 * ln alpha", "violated"),
        (COUNT, "epsilon > -ln alpha", "violated"),
        (COUNT, "epsilon = -2 * ln alpha", "violated"),
        (COUNT, "epsilon != -2 * ln alpha", "holds"),
        (SHOWS_ORDER, "epsilon = inf", "holds"),
        (SHOWS_ORDER, "epsilon >= inf", "holds"),
        (SHOWS_ORDER, "epsilon != inf", "undecided"),
        (COUNT, "epsilon = inf", "violated"),
        (COUNT, "epsilon < inf", "holds"),
        (SHOWS_ORDER, "epsilon < inf", "violated"),
    ],
)
def test_comparisons_for_all_values_take_what_is_proved_and_what_a_window_shows(
    program, claim, verdict
):
    assert [found["verdict"] for found in for_all_alpha(f"{program}check m: {claim}")] == [verdict]


@pytest.mark.parametrize("claim", ["dp(2 * ln 2)", "epsilon < ln 5", "epsilon > ln(3/2)"])
def test_a_proved_claim_says_for_which_values(claim):
    text = f"param alpha in (0, 1)\n{COUNT}check m for alpha in [1/4, 1/2]: {claim}"
    [found] = check_text(text)["results"]
    values = {"param": "alpha", "in": "[1/4, 1/2]", "fails_for": []}
    assert (found["verdict"], found["values"]) == ("holds", values)


def test_what_is_left_open_for_all_values_has_both_bounds():
    [found] = for_all_alpha(f"{STOPS}check m: epsilon = -4 * ln alpha")
    progress = found["reason"]["progress"]
    assert progress.startswith("it is at least ")
    assert "at alpha = exp(-1) in the first 10 outputs" in progress
    assert progress.endswith("and at most -4*ln(alpha)")


def test_what_a_window_loses_is_not_what_it_loses_where_a_claim_fails():
    """At 1/4, where this is shown, the loss is ln 4, more than what is proved at exp(-1)."""
    [found] = for_all_alpha(f"{COUNT}check m: dp(ln 3)")
    assert (found["verdict"], found["values"]["sample"]) == ("violated", "1/4")
    assert [each["to"]["exact"] for each in found["values"]["fails_for"]] == ["1/3"]


@pytest.mark.parametrize(
    ("values", "claim", "fails_for", "sample"),
    [
        ("alpha in (0, 1)", "epsilon > -2 * ln alpha", ["(0, 1)"], "1/2"),
        ("alpha in (0, 1)", "epsilon > ln 3", ["[1/3, 1)"], "1/2"),
        ("alpha in (0, 1)", "epsilon >= ln(1/alpha + alpha)", ["(0, 1)"], "1/2"),
        ("alpha in (0, 3/4]", "epsilon = ln 2", ["(0, 1/2)", "(1/2, 3/4]"], "1/3"),
        ("alpha in [1/9, 1/4]", "epsilon > ln 5", ["[1/5, 1/4]"], "1/4"),
        ("alpha in [1/9, 1/4]", "epsilon > ln 9", ["[1/9, 1/4]"], "1/4"),
        ("alpha in [1/9, 1/4]", "epsilon < ln 9", ["[1/9, 1/9]"], "1/9"),
        ("alpha in [1/9, 1/4]", "epsilon != ln 4", ["[1/4, 1/4]"], "1/4"),
        ("alpha in [1/9, 1/4]", "epsilon != ln 5", ["[1/5, 1/5]"], "1/5"),
        ("alpha in [1/9, 1/4]", "epsilon != -ln alpha", ["[1/9, 1/4]"], "1/4"),
        ("alpha in (0, 1)", "epsilon >= ln 3", ["(1/3, 1)"], "1/2"),
    ],
)
def test_what_is_known_for_all_values_shows_exactly_where_a_claim_fails(
    values, claim, fails_for, sample
):
    """ε is -ln(alpha): a window loses what is proved."""
    [found] = for_all_alpha(f"{COUNT}check m: {claim}", values)
    assert [interval_text(each) for each in found["values"]["fails_for"]] == fails_for
    assert (found["verdict"], found["values"]["sample"]) == ("violated", sample)
    assert "at_least" not in found["values"]


@pytest.mark.parametrize(
    ("values", "claim"),
    [
        ("alpha in [1/9, 1/4]", "epsilon < ln 10"),
        ("alpha in [1/9, 1/4]", "epsilon > ln 3"),
        ("alpha in [1/9, 1/4]", "epsilon != ln 10"),
        ("alpha in [1/9, 1/4]", "epsilon != ln 3"),
        ("eps in (0, 1]", "epsilon < 2 * eps"),
        ("eps in [1/2, 1]", "epsilon != eps + ln(3/2)"),
    ],
)
def test_what_is_known_for_all_values_is_asked_at_closed_ends_too(values, claim):
    text = COUNT if "alpha" in values else COUNT.replace("alpha", "exp(-eps)")
    [found] = for_all_alpha(f"{text}check m: {claim}", values)
    assert (found["verdict"], found["values"]["fails_for"]) == ("holds", [])


MOSTLY_SHOWN = """
mechanism m {
  input q in integers
  adjacent abs(q - q') <= 1
  b ~ bernoulli(WEIGHT)
  if b { y ~ geometric(q, alpha) unbounded  output y } else { output no }
}
"""


@pytest.mark.parametrize(
    ("weight", "claim", "fails_for"),
    [
        ("(1 - 2*alpha)^2", "epsilon = -ln alpha", ["[1/2, 1/2]"]),
        ("(1 - 2*alpha)^2", "epsilon > 0", ["[1/2, 1/2]"]),
        ("(1 - 2*alpha)^2", "epsilon < ln 2", ["(0, 1/2)"]),
        ("(1 - 2*alpha)^2", "epsilon != ln 2", []),
        ("(1 - 2*alpha)^2", "epsilon >= ln 3", ["(1/3, 1)"]),
        ("(1 - 2*alpha)^2", "epsilon < -2 * ln alpha", []),
        ("(1 - 2*alpha^2)^2", "epsilon = -ln alpha", None),  # no rational value
    ],
)
def test_a_window_shows_nothing_where_its_weights_are_0(weight, claim, fails_for):
    """At 1/2 nothing of the input is shown, and no window says so of all values at once."""
    [found] = for_all_alpha(f"{MOSTLY_SHOWN.replace('WEIGHT', weight)}check m: {claim}")
    if fails_for is None:
        assert found["verdict"] == "undecided"
        return
    assert found["verdict"] == ("violated" if fails_for else "holds")
    assert [interval_text(each) for each in found["values"]["fails_for"]] == fails_for
    assert "at_least" not in found["values"]


def test_a_value_at_which_weights_are_0_is_computed_alone():
    text = MOSTLY_SHOWN.replace("WEIGHT", "(1 - 2*alpha)^2")
    [found] = for_all_alpha(f"{text}compute m: epsilon")
    assert [(each["in"], each["exact"]) for each in found["pieces"]] == [
        ("(0, 1/2)", "ln(1/alpha)"),
        ("{1/2}", "0"),
        ("(1/2, 1)", "ln(1/alpha)"),
    ]


def interval_text(found):
    """Return values of JSON as they are written in a claim; single ones have both ends."""
    (is_open, ends_open), ends = found["open"], (found["from"]["exact"], found["to"]["exact"])
    return f"{'[('[is_open]}{ends[0]}, {ends[1]}{'])'[ends_open]}"


def test_a_proof_refutes_what_is_above_it_for_some_values_at_least():
    """The ε of the stream is -4 ln(alpha), which no finite window loses."""
    [found] = for_all_alpha(f"{STOPS}check m: epsilon > ln 3")
    [fails] = found["values"]["fails_for"]
    assert (fails["from"]["decimal"][:7], fails["to"]["exact"]) == ("0.75983", "1")
    assert (found["verdict"], found["values"]["at_least"]) == ("violated", True)
    assert ", but it is at most ln(" in found["counterexample"]["requirement"]


def test_a_claim_that_fails_up_to_a_logarithm_that_is_asked_fails_for_all():
    text = STOPS.replace("alpha^2", "exp(-eps/2)").replace("alpha", "exp(-eps/4)")
    [found] = for_all_alpha(f"{text}check m for eps in (0, ln 2]: dp(eps/2)", "eps > 0")
    assert "at_least" not in found["values"]
    [part] = for_all_alpha(f"{text}check m for eps in (0, ln 64]: dp(3/5 * eps)", "eps > 0")
    assert part["values"]["at_least"] is True


@pytest.mark.parametrize(
    ("part", "claim", "fails_for"),
    [
        ("(0, 1)", "dp(ln 2)", "(0, 1/2)"),
        ("(1/8, 3/4]", "epsilon <= ln 2", "(1/8, 1/2)"),
        ("(0, 1)", "epsilon < ln(1 + alpha)", "(0, 0.618033]"),
    ],
)
def test_a_window_that_fails_where_the_proof_may_shows_all_values(part, claim, fails_for):
    model = f"{COUNT}check m for alpha in {part}: {claim}"
    [found] = for_all_alpha(model, "alpha in (0, 1)")
    assert "at_least" not in found["values"]
    (one,) = found["values"]["fails_for"]
    low, high = (each.get("exact", each["decimal"][:8]) for each in (one["from"], one["to"]))
    assert (low, high) == tuple(fails_for.strip("([])").split(", "))


@pytest.mark.parametrize("values", ["alpha in (0, 1/2]", "alpha in [1/4, 1/2]"])
@pytest.mark.parametrize("claim", ["> 0", "!= 0", "> ln 2", "= ln 2"])
def test_what_no_neighbors_violate_for_all_values_is_vacuous(values, claim):
    text = COUNT.replace("abs(x - x') <= 1", "x' = x + 1 & x' = x + 2")
    assert text != COUNT
    [found] = for_all_alpha(f"{text}refute m: epsilon {claim}", values)
    assert (found["verdict"], found["vacuous"]) == ("violated", True)


def test_closed_ends_are_asked_for_all_values():
    for comparison, is_open in (("<=", True), ("<", False)):
        text = f"{COUNT}check m: epsilon {comparison} ln 2"
        [found] = for_all_alpha(text, "alpha in [1/4, 3/4]")
        [fails] = found["values"]["fails_for"]
        assert (fails["from"]["exact"], fails["to"]["exact"]) == ("1/4", "1/2")
        assert fails["open"] == [False, is_open]
        assert "at_least" not in found["values"]


def test_a_claim_is_refuted_at_a_logarithm_where_ratios_are_exact():
    """At ln(2), where exp(eps) is one, exp(-eps/2) is no ratio."""
    text = COUNT.replace("<= 1", "<= 2").replace("alpha", "exp(-eps/2)")
    for own in (text, COUNT.replace("alpha", "exp(-eps/2)^2")):
        [found] = for_all_alpha(f"{own}check m: epsilon >= ln(1 + exp(eps))", "eps > 0")
        assert (found["verdict"], found["values"]["sample"]) == ("violated", "ln(4)")


def test_the_clock_is_looked_at_before_each_state_of_tails_is_settled(monkeypatch):
    """Nine numbers that are kept have so many that a window took twice its time."""
    events = []
    settled, check_time = TailStates.settled, ValueTable.check_time
    monkeypatch.setattr(
        TailStates, "settled", lambda *args: events.append("settled") or settled(*args)
    )
    monkeypatch.setattr(
        ValueTable, "check_time", lambda table: events.append("checked") or check_time(table)
    )
    explore(window(mechanism(NOISY_ARGMAX), Size(1, 0, 0)), limits=LIMITS)
    pairs = set(pairwise(events))
    assert ("checked", "settled") in pairs
    assert ("settled", "settled") not in pairs


MANY_COUNTS = """
mechanism m(n = 20, ratio = 1/2) {
  input q[1..n] in integers
  adjacent l1(q, q') <= 1
  for i in 1..n { z ~ geometric(q[i], ratio) unbounded  output z > 0 }
}
"""


def test_some_neighbors_of_many_numbers_are_looked_at():
    text = f"""param eps > 0 {MANY_COUNTS}
    refute m: dp(ln(3/2))
    check  m: epsilon = ln 2
    refute m(n = 7, ratio = exp(-eps)): dp(eps/2)
    """
    assert verdicts(check_text(text)) == ["violated", "holds", "violated"]


def test_of_many_numbers_all_are_alike_or_all_but_one():
    target = mechanism(MANY_COUNTS.replace("n = 20", "n = 3"))
    for most, n_rows in ((8, 8), (4, 4), (100, 8)):
        size = thinned(target, Size(1, 0, 1), most)
        rows = {tuple(value for _, value in row) for row in size.only}
        assert len(rows) == len(size.only) == n_rows
        assert {min(sum(row), 3 - sum(row)) for row in rows} == {0, 1}
        assert (0, 0, 1) in rows
    every = window_epsilon(target, Size(1, 0, 1))
    assert compare_epsilon(window_epsilon(target, size), every) == 0


def test_a_window_of_many_numbers_that_takes_long_is_left_out(monkeypatch):
    monkeypatch.setattr("dpcheck.pipeline.claims.search.SOON_SECONDS", 0)
    assert verdicts(check_text(f"{MANY_COUNTS}refute m: dp(ln(3/2))")) == ["undecided"]


def test_a_mistake_in_a_window_of_many_numbers_is_told():
    text = MANY_COUNTS.replace("output z > 0", "output if z > 0 then 1/(1 - 1) else 0")
    assert error_codes(check_text(f"{text}check m: dp(1)"))


@pytest.mark.parametrize("place", [1, 20])
def test_the_first_and_the_last_of_many_numbers_are_told_from_the_others(place):
    text = MANY_COUNTS.replace("for i in 1..n { z ~ geometric(q[i]", f"{{ z ~ geometric(q[{place}]")
    text = text.replace("{ z ~", "z ~").replace("output z > 0 }", "output z > 0")
    assert verdicts(check_text(f"{text}check m: epsilon = ln 2")) == ["holds"]


def test_neighbors_of_many_numbers_agree_on_public_ones():
    """The winner and all others differ by one, in the other direction: two of the rows."""
    text = """
    mechanism m(n = 10) {
      input q[1..n] in integers
      public t in integers
      adjacent linf(q, q') <= 1
      for i in 1..n {
        z ~ geometric(q[i] - t, 1/2) unbounded
        if z >= 0 { output top stop }
        output bot
      }
    }
    """
    loss = "10 * ln 2"
    assert verdicts(check_text(f"{text}check m: epsilon <= {loss} refute m: dp(5 * ln 2)")) == [
        "holds",
        "violated",
    ]
