"""Analysts who adapt, against every deterministic strategy, written out as public inputs."""

from __future__ import annotations

import re
from fractions import Fraction
from random import Random
from unittest.mock import patch

import pytest

import dpcheck
from dpcheck.check.evidence import strategies
from tests.checking import check_text, error_codes, verdicts

ADAPTIVE = """
  query c in 0..2
  {round}
  query d in 0..{last}
  {next}
}}
"""
WRITTEN_OUT = """
  c := first
  {round}
  d := if shown = 0 then after_0 else after_1
  {next}
}}
"""


def two_rounds(seed):
    """Return two rounds of questions about x, in which the second answer may remember the first."""
    choose = Random(seed)

    def answer(query, variable):
        weights = [f"{choose.randrange(1, 8)}/8" for _ in range(6)]
        chance = " else ".join(
            f"if {query} = {q} & x = {x} then {weights[2 * q + x]}"
            for q in range(3)
            for x in range(2)
        )
        return f"{variable} ~ bernoulli({chance} else 1/2)"

    first = f"{answer('c', 'b')}  shown := if b then 1 else 0  output shown"
    kept = choose.choice(["", "if b { x2 ~ bernoulli(1/3) output (again, x2) stop }"])
    return {
        "round": f"hidden ~ bernoulli(1/3)  {first}",
        "next": f"{kept} {answer('d', 'e')} output if hidden then e else !e",
        "last": choose.choice([1, 2]),
    }


HEAD = "mechanism m {\n  input x in 0..1\n  adjacent all\n"


def adaptive_and_written_out(seed):
    """Return two rounds with an analyst, and the same with every strategy as public inputs."""
    rounds = two_rounds(seed)
    public = f"  public first in 0..2\n  public after_0 in 0..{rounds['last']}\n"
    public += f"  public after_1 in 0..{rounds['last']}\n"
    return HEAD + ADAPTIVE.format(**rounds), HEAD + public + WRITTEN_OUT.format(**rounds)


@pytest.mark.parametrize("seed", range(10))
def test_the_worst_of_all_strategies(seed):
    adaptive, fixed = (dpcheck.loads(t).target("m") for t in adaptive_and_written_out(seed))
    assert adaptive.epsilon().exact == fixed.epsilon().exact
    for budget in ("0", "1/10", "ln 2", "ln 7"):
        assert adaptive.delta(budget).exact == fixed.delta(budget).exact
    assert adaptive.epsilon("1/20").exact == fixed.epsilon("1/20").exact
    profiles = [each.table("profile").rows for each in (adaptive, fixed)]
    first, other = ([[cell.exact for cell in row[:3]] for row in rows] for rows in profiles)
    assert first == other


@pytest.mark.parametrize("seed", range(10))
def test_the_strategy_that_is_shown_attains_the_value(seed):
    """Written out as public inputs; what it leaves open does not matter."""
    adaptive, written_out = adaptive_and_written_out(seed)
    for quantity in ("delta(0)", "delta(1/10)", "delta(ln 2)", "epsilon"):
        (result,) = check_text(f"{adaptive}compute m: {quantity}\n")["results"]
        if result["value"]["exact"] == "0":
            continue
        chosen = {"first": "0", "after_0": "0", "after_1": "0"}
        for each in result["strategy"]["situations"]:
            places = [f"after_{seen}" for seen in each["after"] or (0, 1)]
            for choice in each["asks"].split(" and "):
                query, _, number = choice.partition(" = ")
                chosen |= dict.fromkeys(("first",) if query == "c" else places, number)
        values = " & ".join(f"{name} = {number}" for name, number in chosen.items())
        asked = f"{written_out}compute m at {values} : {quantity}\n"
        (of_strategy,) = check_text(asked)["results"]
        assert of_strategy["value"] == result["value"]


def outputs_of(sequence):
    """Return the outputs of a sequence without choices, and whether it goes on."""
    shown = re.split(r", (?![^(]*\))", sequence)
    return tuple(s for s in shown if " = " not in s and s != "..."), shown[-1] == "..."


@pytest.mark.parametrize("seed", range(10))
def test_an_event_lists_its_sequences_under_the_strategy(seed):
    """Their probabilities add up to those told, where the strategy is a public input."""
    adaptive, written_out = adaptive_and_written_out(seed)
    rows = dpcheck.loads(written_out).target("m").output_distributions()
    for result in check_text(f"{adaptive}check m: dp(ln 2)\ncheck m: dp(0, 1/20)\n")["results"]:
        if result["verdict"] == "holds":
            continue
        example, chosen = result["counterexample"], dict.fromkeys(("first", "0", "1"), "0")
        for each in result["strategy"]["situations"]:
            for choice in each["asks"].split(" and "):
                query, _, number = choice.partition(" = ")
                places = ["first"] if query == "c" else each["after"] or ["0", "1"]
                chosen |= dict.fromkeys(places, number)
        public = f"first = {chosen['first']}, after_0 = {chosen['0']}, after_1 = {chosen['1']}"
        for state, told in zip(example["states"], example["probabilities"], strict=True):
            found = Fraction(0)
            for run, chance in rows[f"{state}, {public}"].items():
                whole = outputs_of(run)[0]
                listed = [outputs_of(each) for each in example["event"]]
                inside = [whole[: len(e)] == e if goes_on else whole == e for e, goes_on in listed]
                found += any(inside) * Fraction(str(chance))
            assert found == Fraction(told)


@pytest.mark.parametrize(("k", "budget"), [(3, "ln 2"), (4, "ln 9"), (5, "1"), (6, "ln 9")])
def test_of_a_strategy_it_is_told_where_something_else_is_asked(k, budget):
    """All situations are listed here, and each is compared with the last one that led to it."""
    with patch.object(strategies, "MAX_SITUATIONS", 10**6):
        (result,) = check_text(f"{RESPONSES}compute rr(k = {k}): delta({budget})\n")["results"]
    told = result["strategy"]
    assert told["more"] == told["more_switches"] == 0
    asked = {tuple(each["after"]): (each["asks"], each["goes_on"]) for each in told["situations"]}
    expected = {
        after: asks
        for after, asks in asked.items()
        if asks[0] != next((asked[after[:n]][0] for n in reversed(range(len(after)))), None)
    }
    switches = told["switches"]
    assert sum(each["alike"] for each in switches) == len(expected)
    for each in switches:
        assert expected[tuple(each["after"])] == (each["asks"], each["goes_on"])
    assert len(switches) > 2


def test_a_strategy_that_asks_the_same_wherever_it_can_is_told_in_one_line():
    text = """
mechanism m(n) {
  input b[1..2] in 0..1
  adjacent hamming(b, b') <= 1
  repeat n {
    query c in {first, second}
    truth := if c = first then b[1] else b[2]
    y ~ {truth: 3/4, 1 - truth: 1/4}
    output y
  }
}
for n in 2..6 { compute m(n = n): delta(ln 3) }
"""
    always = {"situations": [{"after": [], "asks": "c = second", "goes_on": True}], "more": 0}
    assert [result["strategy"] for result in check_text(text)["results"]] == [always] * 5


def test_probabilities_are_those_of_the_strategy_that_is_shown():
    """After 0, 0 the third answer may be left: 9/16 - 3/16 is 27/64 - 3/64, for other sequences."""
    text = """
mechanism m {
  input b[1..2] in 0..1
  adjacent hamming(b, b') <= 1
  repeat 3 { query c in 1..2  y ~ bernoulli(3/4)  output if y then b[c] else 1 - b[c] }
}
check m: dp(ln 3, 3/10)
"""
    (result,) = check_text(text)["results"]
    (situation,) = result["strategy"]["situations"]
    assert (situation["asks"], situation["goes_on"]) == ("c = 2", True)
    assert result["counterexample"]["probabilities"] == ["27/64", "1/64"]


def test_a_strategy_may_be_steady_after_some_outputs_only():
    text = """
mechanism m {
  input b[1..2] in 0..1
  adjacent hamming(b, b') <= 1
  swap ~ bernoulli(1/2)
  output swap
  repeat 3 {
    query c in {first, second}
    truth := if (c = first) = swap then b[1] else b[2]
    y ~ {truth: 3/4, 1 - truth: 1/4}
    output y
  }
}
compute m: delta(ln 3)
"""
    (result,) = check_text(text)["results"]
    told = {(*each["after"], each["asks"]) for each in result["strategy"]["situations"]}
    assert told == {("true", "c = second"), ("false", "c = first")}


RESPONSES = """
mechanism rr(k = 2) {
  input x in 0..1
  adjacent all
  for i in 1..k {
    query c in {low, high, gamble}
    b ~ bernoulli(if c = low then 3/5 else if c = high then 3/4 else 1/10)
    if c = gamble { if b { output (bit, x) } else { output none } }
    else { output if b then x else 1 - x }
  }
}
"""


@pytest.mark.parametrize(("k", "kept"), [(4, "0"), (5, "0"), (4, "1/16")])
def test_a_profile_has_the_delta_of_every_epsilon(k, kept):
    """Nodes are settled between two values of e^ε: at all ends of pieces, and inside of them."""
    text = RESPONSES.replace(
        "{ output none }", f"{{ r ~ bernoulli({kept}) output if r then x else none }}"
    )
    target = dpcheck.loads(text).target("rr", k=k)
    rows = target.table("profile").rows
    ends = [Fraction(row[0].exact) for row in rows]
    assert len(ends) > 6
    for row, low, high in zip(rows, ends, [*ends[1:], ends[-1] + 1], strict=True):
        for factor in (low, (low + high) / 2):
            line = Fraction(row[3].exact) - factor * Fraction(row[4].exact)
            assert line == Fraction(target.delta(f"ln({factor})").exact)


def test_delta_is_worse_than_for_every_fixed_sequence():
    claims = "check rr: delta(ln 2) = 37/80\ncheck rr(k = 4): delta(ln 9) = 1651/4000\n"
    assert verdicts(check_text(RESPONSES + claims)) == ["holds", "holds"]
    public = RESPONSES.replace("adjacent", "public q[1..k] in {low, high, gamble}  adjacent")
    fixed = public.replace("query c in {low, high, gamble}", "c := q[i]")
    assert verdicts(check_text(fixed + "check rr: delta(ln 2) = 7/16\n")) == ["holds"]


@pytest.mark.parametrize("seed", range(6))
def test_fixed_queries_are_public_inputs(seed):
    rounds = two_rounds(seed)
    head = "mechanism m {\n  input x in 0..1\n  adjacent all\n"
    last = rounds["last"]
    public = f"  public first in 0..2\n  public after_0 in 0..{last}\n"
    asked = f"{head}{ADAPTIVE.format(**rounds)}".replace("in 0..2", "in 0..2 fixed")
    asked = re.sub(rf"(query d in 0..{last})( fixed)?", r"\1 fixed", asked)
    written = WRITTEN_OUT.format(**rounds).replace("after_1", "after_0")
    one, other = (dpcheck.loads(text).target("m") for text in (asked, head + public + written))
    assert one.epsilon().exact == other.epsilon().exact
    assert one.delta("ln 2").exact == other.delta("ln 2").exact
    claims = ["P<=3/8 [ X output = 1 ]", "D{ln 2, 1/8} [ X X output = true ]", "E>=5/4 [ outputs ]"]
    claims = "".join(f"check m: {claim}\n" for claim in claims)
    found = [verdicts(check_text(text + claims)) for text in (asked, head + public + written)]
    assert found[0] == found[1]


def test_a_fixed_query_is_seen_and_is_no_output():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  if x = 0 { query c in {low, high} fixed }
  output done
}
check m: delta(0) = 1
check m: D{0} [ X output = done ]
check m: E=1 [ outputs ]
check m: P>=1 [ X P>=1 [ X stopped ] ]
check m at c[1] = high : dp(1, 1)
check m: delta(0) < E=? [ 1 ]
"""
    *sound, mixed = text.splitlines(keepends=True)
    assert verdicts(check_text("".join(sound))) == ["holds"] * 5
    assert error_codes(check_text("".join([*sound, mixed]))) == ["DP638"]


def test_queries_of_parts_keep_their_names():
    text = """
mechanism part(w = 1/3) {
  input v in 0..1
  adjacent all
  query c in {low, high} fixed
  b ~ bernoulli(if c = low then w else 1 - w)
  output if b then v else 1 - v
}
mechanism m {
  input c in 0..1
  adjacent all
  run part(v = c)
  run part(v = c, w = 1/4)
}
check m: epsilon = ln 6
check m: delta(ln 2) = 5/12
"""
    assert verdicts(check_text(text))[0] == "holds"


def test_a_branch_tells_that_a_query_was_made():
    """A query on one branch only is seen: outputs of the other and its choices do not mix."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  b ~ bernoulli(if x = 0 then 1/4 else 3/4)
  if b { query c in 0..1  output if c = 0 then x else 0 } else { output none }
}
check m: delta(0) = 3/4
check m: delta(ln 3) = 3/4
"""
    # Asked 0, x = 1 shows 1 with 3/4, and x = 0 never does.
    assert verdicts(check_text(text)) == ["holds", "holds"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("for i in 0..1 { query c in 0..i fixed  output c }", "DP636"),
        ("query c in 0..x fixed  output c", "DP632"),
        ("query c in 1..0 fixed  output c", "DP524"),
        ("query c in 0..x  output c", "DP632"),
        ("y ~ bernoulli(1/2)  query c in {0, if y then 1 else 2}  output c", "DP632"),
    ],
)
def test_what_is_no_query(line, code):
    text = f"mechanism m {{ input x in 0..1 adjacent all {line} }}\ncheck m: dp(0)"
    assert code in error_codes(check_text(text))


@pytest.mark.parametrize(
    "claim",
    ["P>=1/2 [ X output = 0 ]", "D{1} [ X output = 0 ]", "renyi(2) <= 1", "E<=1 [ output ]"],
)
def test_what_needs_a_strategy_is_a_mistake(claim):
    text = RESPONSES + f"check rr: {claim}"
    assert error_codes(check_text(text)) == ["DP633"]
    assert error_codes(check_text(RESPONSES + "check compose(rr, 2): dp(1)")) == ["DP633"]


def test_a_query_may_read_public_inputs_and_earlier_queries():
    text = """
mechanism m {
  input x in 0..1
  public n in 1..2
  adjacent all
  query c in 0..n
  query d in {c, c + 1}
  y ~ bernoulli(if d = 3 then (1 + x)/3 else 1/2)
  output y
}
check m at n = 1 : epsilon = 0
check m at n = 2 : epsilon = ln 2
"""
    assert verdicts(check_text(text)) == ["holds", "holds"]


def test_a_name_fixed_is_no_word_elsewhere():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  query c in 0..1
  fixed := c
  output fixed
}
check m: dp(0)
"""
    assert verdicts(check_text(text)) == ["holds"]


def test_no_strategy_is_the_worst_for_all_values_of_a_parameter():
    text = f"param a in (0, 1/2)\n{RESPONSES.replace('3/5', '1 - a')}"
    asked = f"{text}check rr: delta(ln 2) <= 1/2\n"
    assert error_codes(check_text(asked)) == ["DP627"]
    assert verdicts(check_text(asked, "-D", "a=2/5")) == ["holds"]
    for claim in ("dp(ln 2, 1/10)", "epsilon(1/2) <= ln 2"):
        assert error_codes(check_text(f"{text}check rr: {claim}\n")) == ["DP627"]


@pytest.mark.parametrize("seed", range(6))
def test_epsilon_is_that_of_the_worst_word_for_all_values_of_a_parameter(seed):
    rounds, k = two_rounds(seed), 1 + seed
    rounds = {key: str(each).replace(f"{k}/8", "a", 1) for key, each in rounds.items()}
    text = "param a in (0, 1)\nmechanism m {\n  input x in 0..1\n  adjacent all\n"
    asked = f"{text}{ADAPTIVE.format(**rounds)}check m: dp(ln 8)\ncompute m: epsilon\n"
    violated, computed = check_text(asked)["results"]
    fails = violated.get("values", {"fails_for": []})["fails_for"]
    for n in range(1, 16):
        value = Fraction(n, 16)
        one, epsilon = check_text(asked, "-D", f"a={value}")["results"]
        inside = [
            Fraction(each["from"]["decimal"]) < value < Fraction(each["to"]["decimal"])
            or value in (Fraction(each[end]["decimal"]) for end in ("from", "to"))
            for each in fails
        ]
        if one["verdict"] == "violated":
            assert any(inside)
            assert violated["strategy"]["situations"]
        near = [
            piece["exact"]
            for piece in computed.get("pieces", [computed.get("value")])
            if "from" not in piece
            or Fraction(piece["from"]["decimal"]) <= value <= Fraction(piece["to"]["decimal"])
        ]
        exact = [re.sub(r"(\d+)", r"Fraction(\1)", text[3:-1]).replace("^", "**") for text in near]
        ratios = [eval(text, {"a": value, "Fraction": Fraction}) for text in exact]
        assert Fraction(epsilon["value"]["exp"]) in ratios


def test_no_distribution_of_outputs_is_shown_without_a_strategy():
    target = dpcheck.loads(RESPONSES).target("rr")
    with pytest.raises(dpcheck.LimitReached, match="strategy of the analyst"):
        target.output_distributions()
    report = check_text(RESPONSES + "check rr: dp(3)", "--output", "html=/dev/null")
    assert verdicts(report) == ["violated"]


def test_claims_that_hold_show_the_worst_strategy_too():
    claims = "check rr: delta(ln 2) = 37/80\ncheck rr: dp(ln 2, 37/80)\ncompute rr: delta(ln 2)\n"
    found = check_text(RESPONSES + claims)["results"]
    assert [one["strategy"] for one in found] == [found[-1]["strategy"]] * 3
