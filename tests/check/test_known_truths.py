"""The known truths, on tables and chains written by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest

from dpcheck.exact import Budget
from tests.check.building import (
    STOP,
    geometric_row,
    mechanism_chain,
    release_chain,
    survey_chain,
)
from tests.check.claims import (
    at,
    atom,
    both,
    compare,
    delta,
    dp,
    epsilon,
    eventually,
    formula,
    fraction,
    here,
    ln,
    next_,
    private,
    probability,
    state,
    value,
    verdict,
)

ZERO = Budget.of(0)


def neighbors(inputs, are_neighbors):
    """Return the pairs of inputs that are neighbors."""
    return [(s, t) for s, t in combinations(inputs, 2) if are_neighbors(s, t)]


def convolved(one, other):
    """Return the distribution of pairs of independent results."""
    return {(a, b): p * q for (a, p), (b, q) in product(one.items(), other.items())}


def mapped(row, function):
    """Return the distribution of a function of the result."""
    result = {}
    for o, p in row.items():
        result[function(o)] = result.get(function(o), 0) + p
    return result


def randomized_response(bits, truth):
    """Return the row of n reported bits."""
    row = {}
    for reported in product((0, 1), repeat=len(bits)):
        p = Fraction(1)
        for bit, shown in zip(bits, reported, strict=True):
            p *= truth if bit == shown else 1 - truth
        row[reported] = p
    return row


def geometric_chain(alpha, distance):
    rows = {d: geometric_row(d, alpha, 0, 5) for d in range(6)}
    return release_chain(rows, neighbors(rows, lambda s, t: abs(s - t) <= distance))


def above_threshold(k, is_above):
    """Return the chain of above threshold with k queries in 0..5, each changing by at most 1."""
    noise_t = {t: geometric_row(t, Fraction(1, 4), 0, 5) for t in range(6)}
    noise_q = {q: geometric_row(q, Fraction(1, 2), 0, 5) for q in range(6)}

    def answers(noisy_t, queries):
        top = sum(p for v, p in noise_q[queries[0]].items() if is_above(v, noisy_t))
        after = ("t", noisy_t, queries[1:]) if queries[1:] else None
        return [(top, "top", None), (1 - top, "bot", after)]

    def step(memory):
        if memory[0] == "t":
            return answers(memory[1], memory[2])
        return [
            (p * chance, output, after)
            for noisy_t, p in noise_t[memory[1]].items()
            for chance, output, after in answers(noisy_t, memory[2])
        ]

    inputs = {(t, *q): ("input", t, q) for t in range(6) for q in product(range(6), repeat=k)}
    names = {str(key): memory for key, memory in inputs.items()}
    pairs = [
        (str(s), str((s[0], *other)))
        for s in inputs
        for other in product(*([v for v in (q - 1, q, q + 1) if 0 <= v <= 5] for q in s[1:]))
    ]
    return mechanism_chain(names, pairs, step)


def test_survey_needs_three():
    chain = survey_chain()
    assert value(chain, epsilon()) == "3"
    assert value(chain, delta(ZERO)) == "1/2"
    assert value(chain, delta(ln(2))) == "1/4"
    assert verdict(chain, formula(private(ln(3), next_(here("Y"))))) == "holds"
    assert verdict(chain, formula(private(ln(3), next_(here("N"))))) == "holds"
    assert verdict(chain, formula(private(ZERO, next_(here("Y")), "1/2"))) == "holds"
    assert verdict(chain, formula(private(ZERO, next_(here("Y")), "499/1000"))) == "violated"


def test_two_answers_need_nine_and_less_delta_than_composition_promises():
    chain = survey_chain(2)
    assert value(chain, epsilon()) == "9"
    assert value(chain, delta(ZERO)) == "1/2"
    assert value(chain, delta(ln(3))) == "3/8"
    both_yes = next_(both(here("Y"), next_(here("Y"))))
    assert verdict(chain, formula(private(ln(9), both_yes))) == "holds"
    assert verdict(chain, formula(private(ln("89/10"), both_yes))) == "violated"
    assert verdict(chain, formula(private(ln(3), next_(next_(here("Y")))))) == "holds"


@pytest.mark.parametrize(
    ("k", "exact"),
    [(1, "0"), (2, "3/8"), (3, "3/8"), (4, "75/128"), (5, "75/128"), (6, "735/1024")],
)
def test_delta_of_k_answers(k, exact):
    assert value(survey_chain(k), delta(ln(3))) == exact


def test_each_answer_within_its_budget_does_not_bound_sets_of_answers():
    chain = survey_chain(4)
    least = Fraction(39, 128)

    def answers(shown):
        path = here(shown[-1])
        for output in reversed(shown[:-1]):
            path = both(here(output), next_(path))
        return next_(path)

    for shown in product("YN", repeat=4):
        assert verdict(chain, formula(private(ln(3), answers(shown), str(least)))) == "holds"
    tight = formula(private(ln(3), answers("YYYY"), str(least - Fraction(1, 10**6))))
    assert verdict(chain, tight) == "violated"
    assert verdict(chain, dp(ln(3), str(least))) == "violated"
    assert verdict(chain, dp(ln(3), "75/128")) == "holds"


@pytest.mark.parametrize(("distance", "exact"), [(1, "2"), (2, "4"), (5, "32")])
def test_clamped_geometric_needs_a_factor_per_unit_of_distance(distance, exact):
    chain = geometric_chain(Fraction(1, 2), distance)
    assert value(chain, epsilon()) == exact
    if distance == 1:
        assert value(chain, delta(ZERO)) == "1/3"
    assert verdict(chain, compare(epsilon(), "=", distance * ln(2))) == "holds"


def test_quarter_geometric_needs_four():
    assert value(geometric_chain(Fraction(1, 4), 1), epsilon()) == "4"


@pytest.mark.parametrize("is_above", [lambda v, t: v >= t, lambda v, t: v > t])
@pytest.mark.parametrize(
    ("k", "factor", "total"), [(1, "2", "18139/61440"), (2, "4", "9947/30720")]
)
def test_clamped_above_threshold_needs_two_to_the_k(k, factor, total, is_above):
    chain = above_threshold(k, is_above)
    assert value(chain, epsilon()) == factor
    if is_above(0, 0):
        assert value(chain, delta(ZERO)) == total


@pytest.mark.parametrize("n", [1, 2, 3])
def test_randomized_response_of_one_bit_or_of_all(n):
    rows = {bits: randomized_response(bits, Fraction(2, 3)) for bits in product((0, 1), repeat=n)}
    one = neighbors(rows, lambda s, t: sum(a != b for a, b in zip(s, t, strict=True)) == 1)
    assert value(release_chain(rows, one), epsilon()) == "2"
    assert value(release_chain(rows, neighbors(rows, lambda s, t: True)), epsilon()) == str(2**n)


@pytest.mark.parametrize(
    ("base", "one_changes", "exact"), [(2, False, "3"), (2, True, "9/5"), (4, False, "11")]
)
def test_exponential_mechanism(base, one_changes, exact):
    rows = {}
    for scores in product(range(3), repeat=3):
        total = sum(base**s for s in scores)
        rows[scores] = {i: Fraction(base**s, total) for i, s in enumerate(scores)}

    def are_neighbors(s, t):
        changes = [abs(a - b) for a, b in zip(s, t, strict=True)]
        return max(changes) <= 1 and (not one_changes or sum(changes) == 1)

    assert value(release_chain(rows, neighbors(rows, are_neighbors)), epsilon()) == exact


def test_deterministic_release_is_never_private():
    chain = release_chain({n: {n: Fraction(1)} for n in range(4)}, [(0, 1), (1, 2), (2, 3)])
    assert value(chain, epsilon()) == "inf"
    assert verdict(chain, compare(epsilon(), "=", None)) == "holds"
    assert verdict(chain, dp(ln(10**9))) == "violated"
    assert value(chain, delta(ln(1000))) == "1"


def test_release_of_a_random_record_has_delta_one_in_n():
    n = 4
    rows = {}
    for records in product((0, 1), repeat=n):
        row = {}
        for i, record in enumerate(records):
            row[i, record] = Fraction(1, n)
        rows[records] = row
    chain = release_chain(
        rows, neighbors(rows, lambda s, t: sum(a != b for a, b in zip(s, t, strict=True)) == 1)
    )
    assert value(chain, epsilon()) == "inf"
    assert value(chain, epsilon("1/4")) == "1"
    assert value(chain, epsilon("1/5")) == "inf"
    for factor in (1, 2, 100):
        assert value(chain, delta(ln(factor))) == "1/4"


@pytest.mark.parametrize(("most", "exact"), [(1, "2"), (2, "4")])
def test_histogram_of_two_bins(most, exact):
    noise = {v: geometric_row(v, Fraction(1, 2), 0, 3) for v in range(4)}
    rows = {(a, b): convolved(noise[a], noise[b]) for a, b in product(range(4), repeat=2)}

    def are_neighbors(s, t):
        changes = [t[0] - s[0], t[1] - s[1]]
        return sum(map(abs, changes)) == 1 if most == 1 else sorted(changes) == [-1, 1]

    assert value(release_chain(rows, neighbors(rows, are_neighbors)), epsilon()) == exact


def test_conditioned_noise_is_not_clamped_noise():
    rows = {}
    for d in range(6):
        weights = {v: Fraction(1, 2 ** abs(v - d)) for v in range(6)}
        rows[d] = {v: w / sum(weights.values()) for v, w in weights.items()}
    chain = release_chain(rows, neighbors(rows, lambda s, t: t - s == 1))
    assert value(chain, epsilon()) == "52/21"
    assert value(chain, delta(ln(2))) == "80/819"


def test_clamped_noise_resampled_while_zero():
    rows = {}
    for d in range(6):
        row = geometric_row(d, Fraction(1, 2), 0, 5)
        rows[d] = {v: p / (1 - row[0]) for v, p in row.items() if v != 0}
    assert value(release_chain(rows, [(d, d + 1) for d in range(5)]), epsilon()) == "5/2"


@pytest.mark.parametrize(
    ("n", "one_changes", "exact"), [(2, False, "4"), (3, False, "8"), (3, True, "2")]
)
def test_clamped_noisy_argmax_loses_the_textbook_bound(n, one_changes, exact):
    noise = {v: geometric_row(v, Fraction(1, 2), 0, 3) for v in range(4)}
    rows = {}
    for counts in product(range(4), repeat=n):
        row = {}
        for results in product(range(4), repeat=n):
            p = Fraction(1)
            for count, result in zip(counts, results, strict=True):
                p *= noise[count][result]
            winner = results.index(max(results))
            row[winner] = row.get(winner, 0) + p
        rows[counts] = row

    def are_neighbors(s, t):
        changes = [abs(a - b) for a, b in zip(s, t, strict=True)]
        return max(changes) <= 1 and (not one_changes or sum(changes) == 1)

    assert value(release_chain(rows, neighbors(rows, are_neighbors)), epsilon()) == exact


def test_flip_probability_is_no_budget():
    flip = Fraction(1, 4)
    chain = release_chain({"a": {0: 1 - flip, 1: flip}, "b": {0: flip, 1: 1 - flip}}, [("a", "b")])
    assert value(chain, epsilon()) == "3"
    assert verdict(chain, dp(Budget.of(fraction("1/2")))) == "violated"
    assert verdict(chain, compare(epsilon(), ">", Budget.of(fraction("1/2")))) == "holds"
    assert verdict(chain, dp(Budget.of(fraction("11/10")))) == "holds"


@pytest.mark.parametrize(("k", "exact"), [(2, "1/2"), (3, "2/5"), (5, "2/7")])
def test_k_ary_randomized_response(k, exact):
    keep, other = Fraction(3, k + 2), Fraction(1, k + 2)
    rows = {v: {w: keep if v == w else other for w in range(k)} for v in range(k)}
    chain = release_chain(rows, neighbors(rows, lambda s, t: True))
    assert value(chain, epsilon()) == "3"
    assert value(chain, delta(ZERO)) == exact


@pytest.mark.parametrize(
    ("alpha", "one", "exact"),
    [(Fraction(1, 2), True, "2"), (Fraction(1, 2), False, "8"), (Fraction(1, 4), True, "4")],
)
def test_noisy_partial_sum(alpha, one, exact):
    rows = {bits: geometric_row(sum(bits), alpha, 0, 3) for bits in product((0, 1), repeat=3)}
    chain = release_chain(
        rows,
        neighbors(
            rows, lambda s, t: not one or sum(a != b for a, b in zip(s, t, strict=True)) == 1
        ),
    )
    assert value(chain, epsilon()) == exact


def test_reachability_hides_when_a_run_stops():
    def step(memory):
        end = Fraction(1, 2) if memory == "a" else Fraction(1, 3)
        return [(end, STOP, None), (1 - end, "tick", memory)]

    chain = mechanism_chain({"x = a": "a", "x = b": "b"}, [("x = a", "x = b")], step)
    assert verdict(chain, formula(private(ZERO, eventually(here("stopped"))))) == "holds"
    assert verdict(chain, dp(ln(2))) == "violated"
    assert verdict(chain, dp(ln(10**6))) == "violated"
    assert verdict(chain, formula(private(ZERO, eventually(here("stopped"), 1)))) == "violated"


@pytest.mark.parametrize(("t", "exact"), [(3, "1/6"), (5, "1/24"), (10, "1/768")])
def test_stability_based_histogram(t, exact):
    shown = Fraction(1, 2) ** (t - 2) / 3
    chain = release_chain(
        {"present": {"key": shown, "none": 1 - shown}, "absent": {"none": Fraction(1)}},
        [("present", "absent")],
    )
    assert value(chain, epsilon()) == "inf"
    for factor in (1, 3, 1000):
        assert value(chain, delta(ln(factor))) == exact


def test_rappor_once_and_instantaneous():
    f, p, q = Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)

    def bits(v, chance):
        row = {}
        for reported in product((0, 1), repeat=2):
            weight = Fraction(1)
            for i, bit in enumerate(reported):
                one = chance(1 if i == v else 0)
                weight *= one if bit else 1 - one
            row[reported] = weight
        return row

    def permanent(bit):
        return f / 2 + (1 - f) * bit

    def instantaneous(bit):
        return q * permanent(bit) + p * (1 - permanent(bit))

    once = release_chain({v: bits(v, permanent) for v in (0, 1)}, [(0, 1)])
    assert value(once, epsilon()) == "9"
    again = release_chain({v: bits(v, instantaneous) for v in (0, 1)}, [(0, 1)])
    assert value(again, epsilon()) == "25/9"


@pytest.mark.parametrize(("n", "exact"), [(1, "1/4"), (2, "3/16"), (3, "9/64"), (5, "81/1024")])
def test_shuffling_keeps_epsilon_and_lowers_delta(n, exact):
    truth = Fraction(3, 4)

    def shuffled(ones):
        row = {}
        for a, b in product(range(ones + 1), range(n - ones + 1)):
            p = comb(ones, a) * truth**a * (1 - truth) ** (ones - a)
            p *= comb(n - ones, b) * (1 - truth) ** b * truth ** (n - ones - b)
            row[a + b] = row.get(a + b, 0) + p
        return row

    chain = release_chain(
        {ones: shuffled(ones) for ones in range(n + 1)}, [(i, i + 1) for i in range(n)]
    )
    assert value(chain, epsilon()) == "3"
    assert value(chain, delta(ln(2))) == exact


def test_nested_privacy_after_an_answer():
    chain = survey_chain(2)
    inner = private(ln(3), next_(here("Y")))
    assert verdict(chain, formula(private(ln(3), next_(both(here("Y"), state(inner)))))) == "holds"


def test_at_restricts_to_some_inputs():
    chain = survey_chain()
    likely = formula(probability(">=", "3/4", eventually(here("Y"))))
    assert verdict(chain, likely) == "violated"
    assert verdict(chain, likely, at("x = pos")) == "holds"
    assert verdict(chain, formula(atom("x = pos")), at("x = pos")) == "holds"
