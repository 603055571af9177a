"""The pair and the event that are shown are the smallest ones, by looking at all of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from tests.explain.explaining import exact, explained, random_rows, seeded, table_model


def violating_events(p, q, growth, delta):
    """Yield the sizes of all events with P(S) > growth Q(S) + delta."""
    outputs = [k for k in range(len(p)) if p[k] or q[k]]
    for size in range(1, len(outputs) + 1):
        for event in combinations(outputs, size):
            if sum(p[k] for k in event) > growth * sum(q[k] for k in event) + delta:
                yield size, event


@pytest.mark.parametrize("seed", range(12))
def test_no_event_with_fewer_sequences_violates(seed, tmp_path):
    rng = seeded(seed)
    rows = random_rows(rng, 3, 6)
    delta = rng.choice([Fraction(0), Fraction(1, 20), Fraction(1, 5)])
    found = explained(table_model(rows, f"dp(ln 2, {delta})"), tmp_path)
    sizes = {
        (s, t): next(violating_events(rows[s], rows[t], 2, delta), (None, ()))[0]
        for s in range(3)
        for t in range(3)
        if s != t
    }
    violating = {pair: size for pair, size in sizes.items() if size is not None}
    if not violating:
        assert not found
        return
    (explanation,) = found
    left, right = (
        int(side.removeprefix("x = "))
        for side in (explanation.neighbors.left, explanation.neighbors.right)
    )
    assert len(explanation.event) == violating[left, right]
    # least change, then fewest sequences, then least ranks
    assert min((abs(s - t), size, s + t) for (s, t), size in violating.items()) == (
        abs(left - right),
        violating[left, right],
        left + right,
    )
    event = [int(sequence.outputs[0]) for sequence in explanation.event]
    p, q = (sum(rows[side][k] for k in event) for side in (left, right))
    assert (exact(explanation.inequality.p), exact(explanation.inequality.q)) == (p, q)
    assert p > 2 * q + delta
    pairs = {frozenset(pair) for pair in violating}
    assert (explanation.others.n_violating, explanation.others.n_pairs) == (len(pairs), 3)
    excess = max(
        sum(max(Fraction(0), a - 2 * b) for a, b in zip(rows[s], rows[t], strict=True)) - delta
        for s, t in violating
    )
    assert exact(explanation.others.excess) == excess


@pytest.mark.parametrize("seed", range(4))
def test_the_pair_shown_does_not_depend_on_the_names_of_symbols(seed, tmp_path):
    rows = random_rows(seeded(100 + seed), 4, 4)
    shown = []
    for names in (["a", "b", "c", "d"], ["tin", "zinc", "lead", "iron"]):
        (found,) = explained(table_model(rows, "dp(1/10)", names), tmp_path)
        sides = (found.neighbors.left, found.neighbors.right)
        shown.append([names.index(side.removeprefix("x = ")) for side in sides])
    assert shown[0] == shown[1]


def test_a_pair_that_changes_one_cell_is_shown_before_one_with_a_larger_ratio(tmp_path):
    text = """
    mechanism m {
      input x[1..3] in 0..2
      adjacent linf(x, x') <= 1
      y ~ geometric(sum(x), 1/2) clamped 0..6
      output y
    }
    check m: dp(ln 3/2)
    """
    (found,) = explained(text, tmp_path)
    assert [each.name for each in found.neighbors.differences] == ["x[3]"]
    assert found.tight.epsilon.exact == "ln(8)"


def _two_gaps(*gaps):
    """Return rows in which the first two outputs have such gaps p - 2 q."""
    q = [Fraction(1, 10), Fraction(1, 90)]
    p = [gap + 2 * each for gap, each in zip(gaps, q, strict=True)]
    return [[*p, 1 - sum(p)], [*q, 1 - sum(q)]]


@pytest.mark.parametrize(
    ("rows", "event"),
    [
        # Only 2 is impossible on the right, whatever gaps others have.
        (
            ([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 8), Fraction(7, 8), 0]),
            "2",
        ),
        # The gap of 1 is larger, by less than floats see: in them it is smaller.
        (_two_gaps(Fraction(1, 7), Fraction(1, 7) + Fraction(1, 10**20)), "1"),
    ],
)
def test_one_sequence_is_the_first_of_all(rows, event, tmp_path):
    (found,) = explained(table_model(rows, "dp(ln 2)"), tmp_path)
    assert [str(each) for each in found.event] == [event]


TINY = Fraction(1, 10**310)


@pytest.mark.parametrize("q", [Fraction(0), TINY])
def test_what_is_too_small_for_floats_on_the_right_leaves_the_gap_on_the_left(q, tmp_path):
    """Long denominators leave no float of a probability that is small, or 0: gaps were 0, too."""
    likely, other = 1 - 2 * Fraction(1, 10), Fraction(1, 10)
    rows = [[likely, other, other], [q, Fraction(1, 90) + TINY, Fraction(89, 90) - q - TINY]]
    rows.append([likely, other + TINY, other - TINY])
    (found,) = explained(table_model(rows, "dp(ln(3/2), 1/20)"), tmp_path)
    assert [str(each) for each in found.event] == ["0"]
    assert (found.others.n_violating, found.others.n_pairs) == (2, 3)


@pytest.mark.parametrize(("delta", "n_violating"), [("1/4", 1), ("1/2", 0), ("7/16", 1)])
def test_large_factors_of_what_is_too_small_for_floats_are_compared_exactly(
    delta, n_violating, tmp_path
):
    """Of 2^1040 q with q = 2^-1042 no float tells that it is 1/4, not 0: 3/4 - 1/4 is 1/2."""
    least = Fraction(1, 2**1042)
    rows = [[Fraction(3, 4), Fraction(1, 4)], [least, 1 - least]]
    found = explained(table_model(rows, f"dp(1040 * ln 2, {delta})"), tmp_path)
    assert [each.others.n_violating for each in found] == [1] * n_violating
