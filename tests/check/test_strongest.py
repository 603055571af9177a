"""Pairs that are enough: what they lose is what all pairs lose, by exact values at many points."""

import random
from collections import Counter

import numpy as np
import pytest
from flint import fmpq, fmpz_poly

from dpcheck.check.all_values import losses, strongest
from dpcheck.check.all_values.rows import ONE, ZERO, PolynomialRows, growth_on
from dpcheck.check.all_values.strongest import by_delta, by_epsilon, strongest_pairs
from dpcheck.exact import Budget, Param, divide, multiply, subtract
from dpcheck.exact.line import line_of
from dpcheck.exact.roots import PowerOfE, Root
from dpcheck.limits import LimitReached, Limits
from tests.check.test_param_rows import GROWTHS, LINE, TIMES, T, a, delta_at, row, some_rows
from tests.checking import check_text

ASKED = [
    *(growth for growth in GROWTHS if growth[1] == 1),
    *((divide(1, a), 2), (4, 3), (2, 2), (divide(8, multiply(a, multiply(a, a))), 2)),
    *((divide(3, multiply(a, a)), 4), (fmpq(9, 4), 2), (fmpq(10**12 + 1, 10**12), 3)),
]
UNIT = ONE, ONE, 1
DELTAS = [0, fmpq(1, 20), fmpq(1, 3)]


def enough(rows, pairs, question):
    """Return the pairs that are enough, in both directions."""
    kept = strongest_pairs(rows, pairs, question, Limits())
    both = {tuple(pair) for pair in np.concatenate([pairs, pairs[:, ::-1]]).tolist()}
    columns = {tuple(rows.index[:, i]): i for i in range(rows.index.shape[1])}
    same = {tuple(columns[tuple(rows.index[:, i])] for i in pair) for pair in both}
    assert {tuple(columns[tuple(rows.index[:, i])] for i in pair) for pair in kept.tolist()} <= same
    return kept


def sides_of(rows, i, j):
    """Return p and q of every sequence."""
    return list(zip(row(rows, i), row(rows, j), strict=True))


def directed_delta(rows, pairs, growth, t):
    """Return the largest sum of max(0, p - e^ε q) at t, in the directions given.

    A root in e^ε by 300 digits, which tell all numbers of these tests apart.
    """
    above, below, n = growth_on(LINE, growth)
    factor = nth_root(above(t) / below(t), n)
    sums = [
        sum(max(p(t) - factor * q(t), fmpq(0)) for p, q in sides_of(rows, i, j))
        for i, j in pairs.tolist()
    ]
    return max(sums, default=fmpq(0))


def nth_root(x, n):
    """Return a root to 300 digits, exactly where it is rational."""
    x = fmpq(x)
    exact = fmpq(x.p.root(n), x.q.root(n))
    return exact if exact**n == x else fmpq((x.p * 10 ** (300 * n) // x.q).root(n), 10**300)


def directed_growth(rows, pairs, delta, t):
    """Return the largest (P(S) - δ)/Q(S) at t, and 1, None if it is infinite: of all sets."""
    found = [fmpq(1)]
    for i, j in pairs.tolist():
        sides = [(fmpq(p(t)), fmpq(q(t))) for p, q in sides_of(rows, i, j)]
        for chosen in range(1 << len(sides)):
            p, q = (sum(s[k] for n, s in enumerate(sides) if chosen >> n & 1) for k in (0, 1))
            if q == 0 and p > delta:
                return None
            found += [(p - delta) / q] if q else []
    return max(found)


def near_rows(draw, n_sequences, n_sources, size):
    """Return rows of which pairs lose nearly the same: small parts tell them apart."""
    members, index = [], np.zeros((n_sequences, n_sources), np.int64)
    for s in range(n_sequences):
        found = [ZERO]
        for source in range(n_sources):
            small = fmpz_poly([draw.randint(0, 9) for _ in range(4)])
            found.append(size * draw.choice([4, 5, 6]) * (T + s) ** 2 + small)
            index[s, source] = source + 1
        members.append(tuple(found))
    return PolynomialRows(LINE, 10 * size * (T + 9) ** 4, tuple(members), index)


@pytest.fixture(params=["usual", "small", "rounded", "one halving"])
def constants(request, monkeypatch):
    """Set constants so that every way is gone with few and small pairs."""
    monkeypatch.setattr(strongest, "FEW", 0)
    monkeypatch.setattr(strongest, "HALVINGS", 1 if request.param == "one halving" else 5)
    if request.param == "small":
        monkeypatch.setattr(strongest, "BLOCK", 16)
    if request.param == "rounded":
        monkeypatch.setattr(losses, "BITS", 14)


@pytest.mark.usefixtures("constants")
@pytest.mark.parametrize("growth", ASKED, ids=str)
def test_pairs_that_are_enough_lose_as_much_as_all_of_them(growth):
    draw = random.Random(7)
    for k in range(6):
        make, size = draw.choice([some_rows, near_rows]), draw.choice([1, 9, 10**12])
        rows = make(draw, n_sequences=3, n_sources=7, size=size)
        pairs = np.array([[i, j] for i in range(7) for j in range(i) if draw.random() < 0.7])
        both_ways = np.concatenate([pairs, pairs[:, ::-1]])
        least = DELTAS[k % 3]
        question = by_delta(growth_on(LINE, growth), LINE.polynomials(least), rows)
        kept = enough(rows, pairs, question)
        for t in TIMES:
            wanted = directed_delta(rows, both_ways, growth, t)
            own = directed_delta(rows, kept, growth, t)
            assert own == wanted or own <= wanted <= least * rows.denominator(t)


@pytest.mark.usefixtures("constants")
def test_pairs_that_are_enough_need_as_much_epsilon_as_all_of_them():
    draw = random.Random(8)
    for k in range(12):
        make, size = draw.choice([some_rows, near_rows]), draw.choice([1, 9, 10**12])
        rows = make(draw, n_sequences=3, n_sources=6, size=size)
        pairs = np.array([[i, j] for i in range(6) for j in range(i) if draw.random() < 0.7])
        both_ways = np.concatenate([pairs, pairs[:, ::-1]])
        delta = DELTAS[k % 3]
        kept = enough(rows, pairs, by_epsilon(LINE.polynomials(delta), rows))
        zeros = [p for members in rows.members for p in members if p != ZERO]
        for t in TIMES:
            if all(p(t) != 0 for p in zeros):  # else this value is asked by itself
                bound = delta * rows.denominator(t)
                wanted = directed_growth(rows, both_ways, bound, t)
                assert directed_growth(rows, kept, bound, t) == wanted


def scaled_rows(n_sources, size=1):
    """Return rows of which the k-th is (k + 1)/n of the first sequence, for n sources."""
    members = (ZERO, *(size * (k + 1) * T for k in range(n_sources)))
    others = (ZERO, *(size * (n_sources - k) * T for k in range(n_sources)))
    index = np.array([list(range(1, n_sources + 1))] * 2)
    return PolynomialRows(LINE, size * (n_sources + 1) * T, (members, others), index)


@pytest.mark.parametrize("size", [1, 10**40 + 1])
def test_of_pairs_that_lose_the_same_one_is_enough(monkeypatch, size):
    monkeypatch.setattr(strongest, "FEW", 0)
    rows = scaled_rows(12, size)
    pairs = np.array([[i, j] for i in range(12) for j in range(i)])
    some, root = LINE.polynomials(fmpq(1, 100)), (fmpz_poly([3]), fmpz_poly([2]), 5)
    for known in (*(by_delta(each, some, rows) for each in (UNIT, root)), by_epsilon(some, rows)):
        (kept,) = strongest_pairs(rows, pairs, known, Limits()).tolist()
        assert sorted(kept) == [0, 11]


def test_an_interval_that_tells_no_pair_of_a_block_apart_is_not_asked_of_others(monkeypatch):
    asked = []

    def none_below(known, root, rows, codes, interval):
        asked.append(interval)
        return np.arange(codes.shape[1])

    monkeypatch.setattr(strongest, "not_below", none_below)
    monkeypatch.setattr(strongest, "BLOCK", 16)
    monkeypatch.setattr(strongest, "HALVINGS", 2)
    rows = some_rows(random.Random(7), n_sequences=3, n_sources=7, size=9)
    pairs = np.array([[i, j] for i in range(7) for j in range(i)])
    strongest_pairs(rows, pairs, by_delta(UNIT, LINE.polynomials(0), rows), Limits())
    n_blocks = max(Counter(asked).values())
    assert n_blocks > 1
    # The whole and its halves of the first block alone, quarters of all.
    assert Counter(Counter(asked).values()) == {1: 3, n_blocks: 4}


def test_all_pairs_are_needed_where_epsilon_is_infinite_or_the_work_is_done(monkeypatch):
    monkeypatch.setattr(strongest, "FEW", 0)
    rows = scaled_rows(6)
    pairs = np.array([[i, j] for i in range(6) for j in range(i)])
    known = by_epsilon(LINE.polynomials(0), rows)
    assert len(strongest_pairs(rows, pairs, known, Limits())) == 1
    monkeypatch.setattr(strongest, "WORK", -1)
    bumpy = PolynomialRows(LINE, 99 * T**3, ((ZERO, T**3, 3 * T**2, 9 * T, 2 * T**3),), COLUMNS)
    known = by_delta(UNIT, LINE.polynomials(0), bumpy)
    assert len(strongest_pairs(bumpy, pairs[:6], known, Limits())) > 6
    index = rows.index.copy()
    index[0, 2] = 0  # impossible from one input
    infinite = PolynomialRows(LINE, rows.denominator, rows.members, index)
    known = by_epsilon(LINE.polynomials(0), infinite)
    assert len(strongest_pairs(infinite, pairs, known, Limits())) >= 15


COLUMNS = np.array([[1, 2, 3, 4]])


def test_pairs_that_differ_in_the_order_of_sequences_are_one(monkeypatch):
    monkeypatch.setattr(strongest, "FEW", 0)
    monkeypatch.setattr(strongest, "HALVINGS", 0)  # what is not told from others is needed
    members = (ZERO, 5 * T, 4 * T + 3)  # equal at 3
    rows = PolynomialRows(LINE, 9 * T + 3, (members, members), np.array([[1, 2], [2, 1]]))
    known = by_delta(UNIT, LINE.polynomials(0), rows)
    assert len(strongest_pairs(rows, np.array([[0, 1]]), known, Limits())) == 1


def test_losses_that_differ_in_a_late_digit_of_a_root_are_told_apart(monkeypatch):
    monkeypatch.setattr(strongest, "FEW", 0)
    pells = [(1, 0)]
    while len(pells) < 40:
        p, q = pells[-1]
        pells.append((3 * p + 4 * q, 2 * p + 3 * q))  # p^2 = 2 q^2 + 1: p - sqrt(2) q is tiny
    members = (ZERO, *(c * T for pair in pells[-2:] for c in pair))
    rows = PolynomialRows(LINE, 10**40 * T, (members,), np.array([[1, 2, 3, 4]]))
    question = by_delta((2 * ONE, ONE, 2), LINE.polynomials(0), rows)
    for pairs in ([[0, 1], [2, 3]], [[2, 3], [0, 1]]):
        assert [0, 1] in strongest_pairs(rows, np.array(pairs), question, Limits()).tolist()


def test_budgets_with_a_root_of_more_than_a_term_leave_no_pair_out():
    rows = scaled_rows(4)
    assert by_delta((T + 1, T, 2), LINE.polynomials(0), rows) is None
    assert by_delta((4 * T, ONE, 2), LINE.polynomials(0), rows).power == 2


def test_long_numbers_are_compared_exactly_where_rounded_ones_are_equal(monkeypatch):
    monkeypatch.setattr(strongest, "FEW", 0)
    c = (10**40 + 1) * T
    members = (ZERO, 5 * c, c, 6 * c, 2 * c, 4 * c)  # 5 - 1 is 6 - 2
    index = np.array([[1, 2, 3, 4], [2, 1, 0, 5]])
    rows = PolynomialRows(LINE, 6 * c, (members, members), index)
    known = by_delta(UNIT, LINE.polynomials(0), rows)
    assert len(strongest_pairs(rows, np.array([[0, 1], [2, 3]]), known, Limits())) == 1


def test_no_pair_is_needed_below_the_floor():
    rows = scaled_rows(12)
    pairs = np.array([[i, j] for i in range(12) for j in range(i)])
    for delta, n_most in ((fmpq(11, 13), 0), (fmpq(109, 130), 2)):
        bound = LINE.polynomials(delta)
        for known in (by_delta(UNIT, bound, rows), by_epsilon(bound, rows)):
            kept = strongest_pairs(rows, pairs, known, Limits())
            assert bool(n_most) <= len(kept) <= n_most
    with pytest.raises(LimitReached):
        strongest_pairs(rows, pairs, known, Limits(deadline=0))


def test_a_pair_that_is_stronger_between_two_values_only_is_kept():
    base, bump = 100 * T**4, T**4 - (T - 3) ** 2 * (T + 9) ** 2  # above at 3 and around
    first = (ZERO, base, base + T**4, base + T**4 + bump - 9 * T**2, base - T)
    rows = PolynomialRows(LINE, 1000 * T**4, (first,), np.array([[1, 2, 3, 4]]))
    pairs = np.array([[1, 0], [2, 0], [3, 0]])
    known = by_delta(UNIT, LINE.polynomials(0), rows)
    kept = strongest_pairs(rows, pairs, known, Limits())
    for t in [*TIMES, fmpq(3), fmpq(29, 10), fmpq(31, 10)]:
        wanted = delta_at(rows, pairs, (1, 1), t)
        assert directed_delta(rows, kept, (1, 1), t) / rows.denominator(t) == wanted


def test_lines_with_two_ends_and_with_none():
    whole = line_of(Param("a", None, None), [], is_exponential=False)
    ended = line_of(Param("a", fmpq(1, 2), 2), [], is_exponential=True)
    rows = scaled_rows(6)
    pairs = np.array([[i, j] for i in range(6) for j in range(i)])
    for line, n_kept in ((whole, 30), (ended, 2)):
        on_line = PolynomialRows(line, rows.denominator, rows.members, rows.index)
        known = by_delta(UNIT, line.polynomials(0), on_line)
        assert len(strongest_pairs(on_line, pairs, known, Limits())) <= n_kept


def test_all_powers_of_a_line_are_asked_where_a_budget_has_a_root(monkeypatch):
    monkeypatch.setattr(strongest, "FEW", 0)
    line = line_of(Param("a", 1, 4), [], is_exponential=True)  # t from 2.7 to 55
    rows = PolynomialRows(line, 10**6 * T**2, ((ZERO, 5 * T, T**2),), np.array([[0, 1, 2]]))
    question = by_delta((2 * T, ONE, 2), line.polynomials(0), rows)
    kept = strongest_pairs(rows, np.array([[1, 0], [2, 0]]), question, Limits())
    assert kept.tolist() == [[1, 0], [2, 0]]


def test_a_bound_that_is_reached_at_one_value_is_told_from_one_that_is_not(monkeypatch):
    monkeypatch.setattr(strongest, "FEW", 0)
    model = """
param alpha in (0, 1)
mechanism touching {
  input x in 0..2
  adjacent x != x'
  y ~ bernoulli(if x = 2 then alpha * (1 - alpha) else alpha * (1 - alpha) / (x + 2))
  output y
}
"""
    for bound, comparison, fails in (
        ("1/6", "<", ["1/2"]),
        ("1/6", "<=", []),
        ("1/6", "!=", ["1/2"]),
        ("1/5", "<", []),
    ):
        report = check_text(f"{model}check touching: delta(0) {comparison} {bound}")
        (known,) = (result["values"] for result in report["results"])
        for end in ("from", "to"):
            assert [interval[end]["exact"] for interval in known["fails_for"]] == fails


REVEALING = """
param alpha in (0, 1)
mechanism m {
  input x in 0..1
  adjacent x != x'
  r ~ bernoulli(1/10)
  if r { output 2 + x; stop }
  y ~ bernoulli(if x = 1 then (1 + alpha) / 3 else 1/3)
  output y
}
mechanism plain {
  input x in 0..1
  adjacent x != x'
  y ~ bernoulli(if x = 1 then (1 + alpha) / 3 else 1/3)
  output y
}
"""


@pytest.mark.parametrize(
    ("claim", "fails"),
    [
        # 1/10 is lost by outputs that the other never has: the rest, with ln(1 + alpha), is ε(1/10)
        ("check m: epsilon(1/10) >= ln(3/2)", ["(0, 1/2)"]),
        ("check m: epsilon(1/10) = ln(3/2)", ["(0, 1/2)", "(1/2, 1)"]),
        ("check m: epsilon(1/10) > ln(3/2)", ["(0, 1/2]"]),
        ("check m: epsilon(1/10) < ln(3/2)", ["[1/2, 1)"]),
        # for a smaller δ it is infinite
        ("check m: epsilon(1/20) >= ln 9", []),
        ("check m: epsilon(alpha/5) >= ln 9", ["[1/2, 1)"]),
        # for a larger one, a set of outputs that both have loses it
        ("check plain: epsilon(1/20) >= ln(5/4)", ["(0, 2/5)"]),
        ("check plain: epsilon(1/20) > ln(5/4)", ["(0, 2/5]"]),
        ("check plain: epsilon((alpha - 1/2)^2) >= ln 2", ["(0, 1)"]),
        ("check m: epsilon(1/4) >= 0", []),
        ("check m: epsilon(1/4) >= ln(5/4)", ["(0, 3/4)"]),
        ("check m: epsilon(1/4) = ln(5/4)", ["(0, 3/4)", "(3/4, 1)"]),
    ],
)
def test_epsilon_is_at_least_a_bound_where_delta_is_lost_by_it(claim, fails):
    (result,) = check_text(REVEALING + claim)["results"]
    found = []
    for interval in result["values"]["fails_for"]:
        ends = ", ".join(interval[end]["exact"] for end in ("from", "to"))
        first, last = interval["open"]
        found.append(f"{'(' if first else '['}{ends}{')' if last else ']'}")
    assert found == fails


@pytest.mark.parametrize("claim", ["delta(ln 2) <= 10^30 * p", "delta(ln 2) > 10^30 * p"])
def test_bounds_may_be_longer_than_all_sums(claim):
    model = """param p in (0, 1)
mechanism m {
  input x in 0..4
  adjacent abs(x - x') <= 1
  y ~ geometric(x, p) conditioned 0..4
  output y
}
"""
    (result,) = check_text(f"{model}check m: {claim}", "--explain", "none")["results"]
    (fails,) = result["values"]["fails_for"]
    ends = "from" if ">" in claim else "to"
    assert fails[ends]["decimal"].startswith("1e-30")


def test_only_pairs_that_are_strong_for_the_values_asked_are_needed(monkeypatch):
    """Elsewhere δ may be below 0, which allows no ε."""
    monkeypatch.setattr(strongest, "FEW", 0)
    rows = scaled_rows(6)
    pairs = np.array([[i, j] for i in range(6) for j in range(i)])
    question = by_epsilon(LINE.polynomials(subtract(a, fmpq(3, 4))), rows)
    assert len(strongest_pairs(rows, pairs, question, Limits())) == 15  # one direction of each
    above = LINE.beside(fmpq(3, 4), (1,))
    (kept,) = strongest_pairs(rows, pairs, question, Limits(), above).tolist()
    assert sorted(kept) == [0, 5]
    point = LINE.beside(fmpq(4, 5), (0,))
    assert len(strongest_pairs(rows, pairs, question, Limits(), point)) == 1
    nothing = LINE.beside(2, (0,))
    assert len(strongest_pairs(rows, pairs, question, Limits(), nothing)) == 15


def test_a_delta_may_be_below_0_where_nothing_is_asked():
    model = """param p in (0, 1)
mechanism m {
  input x in 0..2
  adjacent all
  y ~ geometric(x, p) clamped 0..2
  output y
}
compute m for p in (3/4, 1): epsilon(2 * p - 3/2)
"""
    (result,) = check_text(model, "--explain", "none")["results"]
    pieces = [(piece["in"], piece["exact"]) for piece in result["pieces"]]
    assert pieces == [("(3/4, 5/6)", "ln((5 - p - 4*p^2)/(2*p^2))"), ("[5/6, 1)", "0")]
    (alone,) = check_text(model.replace(" for p in (3/4, 1)", ""), "-D", "p=4/5")["results"]
    assert alone["value"]["exact"] == "ln(41/32)"


def test_the_floor_of_pairs_is_what_they_lose_at_that_epsilon():
    rows = scaled_rows(12)
    pairs = np.array([[i, j] for i in range(12) for j in range(i)])
    two = *LINE.polynomials(2), 1
    for delta, n_most in ((fmpq(10, 13), 0), (fmpq(99, 130), 2)):  # 12/13 - 2/13 is lost
        question = by_delta(two, LINE.polynomials(delta), rows)
        assert bool(n_most) <= len(strongest_pairs(rows, pairs, question, Limits())) <= n_most


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("ends", [(fmpq(1523, 1728), fmpq(483, 548)), (fmpq(1, 10**6), fmpq(9))])
def test_irrational_ends_are_rounded_outward_to_few_digits(ends, power):
    """However often the interval is halved, its middle lies between them."""
    low, high = (PowerOfE(Budget.of(end)) for end in ends)
    found = strongest._around(low, high, power)
    if power == 1:
        assert max(found.low.q, found.high.q).bit_length() < 32
    assert Root.of(found.low**power).compare(low) < 0 < Root.of(found.high**power).compare(high)
    first = last = found
    for _ in range(strongest.HALVINGS):
        first, last = first.halves()[0], last.halves()[1]
    assert low.compare(Root.of(first.middle**power)) < 0 < high.compare(Root.of(last.middle**power))
