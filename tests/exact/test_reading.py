"""Values read back from their text compare as the values do."""

from __future__ import annotations

import random

import pytest
from flint import fmpq

from dpcheck.exact import Budget, LogOf, compare_epsilon, exact_text, exponential, number
from dpcheck.exact.reading import compare_texts


def random_values(seed, n):
    choose = random.Random(seed)
    for _ in range(n):
        rational = fmpq(choose.randint(-9, 9), choose.randint(1, 9))
        logarithm = Budget.ln(fmpq(choose.randint(1, 9), choose.randint(1, 9)))
        yield choose.choice([Budget.of(rational), logarithm * choose.randint(1, 3) + rational])


def test_budgets_compare_as_their_texts():
    values = list(random_values(1, 60))
    for left in values:
        for right in values:
            expected = compare_epsilon(left, right)
            assert compare_texts(exact_text(left), exact_text(right)) == expected


def test_close_values_are_told_apart_and_equal_ones_in_other_words_are_not():
    third = exact_text(LogOf(exponential(fmpq(1, 3)) + number(1, 10**40)))
    assert compare_texts(third, "1/3") == 1
    assert compare_texts("1/3", third) == -1
    assert compare_texts(f"1{'0' * 4999}1/1{'0' * 5000}", "1") == 1
    assert compare_texts("ln(9)", "2*ln 3") == 0
    with pytest.raises(ValueError, match="cannot be told apart"):
        compare_texts("exp(1)*exp(1)", "exp(2)")


@pytest.mark.parametrize(
    ("text", "same"),
    [("0.1", "1/10"), ("1e-6", "1/1000000"), ("2.5e1*ln 1.5", "25*ln(3/2)")],
)
def test_decimals_are_fractions(text, same):
    """A float is the number it stores, but a text is what it says."""
    assert compare_texts(text, same) == 0
    assert compare_texts(f"exp(1)*({text})", f"exp(1)*({same}) - 1/{10**30}") == 1
    assert compare_texts(f"exp(1)*({text})", f"exp(1)*({same}) + 1/{10**30}") == -1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ln",
        "ln(",
        "1 +",
        "x",
        "ln(3))",
        "2 2",
        "1..2",
        "1.",
        ".5",
        "1e",
        "1e99999",
        "__import__(1)",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        compare_texts(text, "1")
