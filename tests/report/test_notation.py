"""Numbers for the eye: rounded correctly, `=` only where nothing is lost."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpcheck.check.values.ranges import in_ranges
from dpcheck.check.values.verdicts import Amount, OutputSequence, Phrase, Sides
from dpcheck.records import replace
from dpcheck.report.notation import (
    amount_text,
    event_text,
    number_text,
    phrase_text,
    requirement_text,
    sequence_text,
    shortened,
)


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6))
def test_an_equals_sign_means_that_the_decimal_is_exact(numerator, denominator):
    value = Fraction(numerator, denominator)
    decimal = format(float(value), ".12f").rstrip("0").rstrip(".")
    text = amount_text(Amount(str(value), decimal))
    if " = " in text:
        assert Fraction(text.split(" = ")[1]) == value


def test_a_number_of_more_than_sixty_characters_is_its_decimal_and_counts_its_digits():
    assert shortened("9" * 60) == "9" * 60
    assert shortened("x = " + "12345678" * 100) == "x ≈ 1.234568e+799 (800 digits)"
    assert shortened("x != " + "7" * 80).startswith("x != ≈ ")
    short, long = "1/" + "3" * 58, "1/" + "3" * 59
    assert amount_text(Amount(short, "3e-58")) == f"{short} ≈ 3e-58"
    assert amount_text(Amount(long, "3e-59")) == "≈ 3e-59 (exact: 60 digits)"
    assert number_text(Amount(long, "3e-59"), 60) == "≈ 3e-59"


def test_numbers_beyond_what_python_prints_are_shortened():
    assert shortened("7" * 5000 + "/3").endswith("(5,001 digits)")


def test_a_failing_inequality_shows_digits_until_its_sides_differ():
    left, right = Amount("a", "0.12345678"), Amount("b", "0.12345676")
    text = requirement_text(Phrase.of(left, " <= ", right), Sides(left, "<=", right))
    assert text == "a <= b      0.12345678 > 0.12345676"


OUTPUTS = ["a", '"diverged"', "anything", '"no output"', '"a, then a"', '"a (3 times)"']


@given(st.lists(st.lists(st.sampled_from(OUTPUTS), max_size=6)))
def test_different_sequences_have_different_texts(sequences):
    endings = ("stopped", "diverged", "goes on")
    all_of_them = {OutputSequence(tuple(s), e) for s in sequences for e in endings}
    assert len({sequence_text(each) for each in all_of_them}) == len(all_of_them)


def test_almost_one_is_not_one():
    almost = Amount(f"{10**30 - 1}/{10**30}", "1")
    assert "≈ 1" in amount_text(almost)


def test_tiny_and_huge_decimals_keep_their_exponent():
    assert amount_text(Amount("exp(-100)", "3.7200759760208360e-44")) == "exp(-100) ≈ 3.720076e-44"
    assert amount_text(Amount("inf", "inf")) == "inf"


def test_bounds_that_no_decimal_tells_apart_say_so():
    low, high = (Amount(digit * 99, "0.25000000000000001") for digit in "12")
    text = phrase_text(Phrase.of("between ", low, " and ", high))
    assert text.endswith(" (equal in their first 17 digits)")
    assert text.count("0.25000000000000001") == 2
    assert "equal" not in phrase_text(Phrase.of("between ", low, " and ", low))


def test_what_depends_on_a_parameter_stands_beside_decimals_as_it_is():
    low = Amount("1/3", "0.33333333333333333")
    high = Amount("-5*ln(a)", "-5*ln(a)", param="a")
    assert phrase_text(Phrase.of(low, " to ", high)) == "1/3 ≈ 0.3333333 to -5*ln(a)"
    assert phrase_text(Phrase.of("at most ", high)) == "at most -5*ln(a)"


OUTPUTS = ["< -2", *map(str, range(-2, 3)), "in 3..9", "in 10..20", "> 20"]


def numbers(*texts, has_all_beyond=True):
    return tuple(OutputSequence((text,), has_all_beyond=has_all_beyond) for text in texts)


def integers(output):
    """Return those of -40..40 that an output, or a range of outputs, stands for."""
    if output == "any number":
        return set(range(-40, 41))
    word, _, number = output.rpartition(" ")
    low, _, high = number.partition("..")
    low, high = int(low), int(high or low)
    keeps = {
        "<": lambda n: n < low,
        "<=": lambda n: n <= low,
        ">": lambda n: n > low,
        ">=": lambda n: n >= low,
    }
    return set(filter(keeps.get(word, lambda n: low <= n <= high), range(-40, 41)))


@given(st.sets(st.sampled_from(OUTPUTS), min_size=1), st.randoms())
def test_ranges_stand_for_the_numbers_of_an_event_in_any_order(chosen, random):
    event = random.sample(sorted(chosen), len(chosen))
    shown = [each.outputs[0] for each in in_ranges(numbers(*event))]
    parts = [integers(each) for each in shown]
    assert set.union(*parts) == set.union(*map(integers, event))
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert len(shown) <= len(event)


def test_an_event_of_one_range_is_told_as_a_condition():
    assert event_text(numbers("0", "< 0")) == "output <= 0"
    many = map(str, range(-38, 0))
    assert event_text(numbers(*many)) == "output in -38..-1"
    assert event_text(numbers(*map(str, range(-38, 0)), "> 5")) == "{ in -38..-1; > 5 }"
    event = (replace(each, outputs=("bot", *each.outputs)) for each in numbers("0", "< 0"))
    assert event_text(tuple(event)) == "bot, then <= 0"


def test_a_part_of_an_event_is_no_range():
    """Of many sequences an explanation has the first ones."""
    assert event_text(numbers("0", "< 0"), n_all=9) == "{ 0; < 0; and 7 more }"


def test_a_number_beyond_others_that_is_told_apart_leaves_no_range():
    """`> 2` is not all that is above 2 where 50 is output, too."""
    assert event_text(numbers("2", "> 2", has_all_beyond=False)) == "{ 2; > 2 }"
