"""What every operator means on values, against plain Python."""

import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck import exact
from dpcheck.exact import Budget
from dpcheck.model.evaluation import Fault, apply, evaluate
from dpcheck.model.values import ArrayValue, SetValue, Symbol, same_value, value_key, value_text
from tests.resolve.reading import constants, resolved


def number(value: Fraction):
    return exact.number(value.numerator, value.denominator)


def fraction(value) -> Fraction:
    numerator, denominator = exact.as_fraction_parts(value)
    return Fraction(numerator, denominator)


fractions = st.fractions(max_denominator=50).filter(lambda q: abs(q) < 1000)


@given(fractions, fractions, st.sampled_from(["+", "-", "*", "<", "<=", ">", ">=", "=", "!="]))
def test_rational_arithmetic_and_order_agree_with_fractions(a, b, op):
    python = {"+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt,
              "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
              "!=": operator.ne}[op]  # fmt: skip
    result, expected = apply(op, (number(a), number(b))), python(a, b)
    if isinstance(expected, bool):
        assert result is expected
    else:
        assert fraction(result) == expected


@given(fractions, fractions.filter(bool))
def test_division_is_exact_and_div_and_mod_floor(a, b):
    p, q = number(a), number(b)
    assert fraction(apply("/", (p, q))) == a / b
    assert fraction(apply("div", (p, q))) == a // b
    assert fraction(apply("mod", (p, q))) == a % b


@given(fractions.filter(bool), st.integers(-6, 6))
def test_powers_take_negative_exponents(a, k):
    assert fraction(apply("^", (number(a), k))) == a**k


@pytest.mark.parametrize(
    ("op", "args", "kind"),
    [
        ("/", (1, 0), "division by zero"),
        ("div", (1, 0), "division by zero"),
        ("mod", (1, 0), "division by zero"),
        ("^", (0, -1), "division by zero"),
        ("^", (2, exact.number(1, 2)), "not an integer exponent"),
        ("^", (2, 10**10), "too large"),
        ("+", (1, True), "wrong kind"),
        ("+", (Symbol("a"), 1), "wrong kind"),
        ("<", (Symbol("a"), Symbol("b")), "wrong kind"),
        ("<", (False, True), "wrong kind"),
        ("not", (1,), "wrong kind"),
        ("in", (1, 2), "wrong kind"),
        ("ln", (0,), "no exact value"),
        ("exp", (Budget.ln(2) / 2,), "no exact value"),
        ("max", (SetValue(range(0)),), "empty"),
        ("argmax", (ArrayValue(1, ()),), "empty"),
        ("clamp", (1, 3, 2), "empty"),
        ("index", (ArrayValue(1, (5, 6)), 3), "index out of range"),
        ("index", ((5, 6), 0), "index out of range"),
        ("hamming", (ArrayValue(1, (1,)), ArrayValue(1, (1, 2))), "lengths differ"),
        ("count", (ArrayValue(1, (1, 2)),), "wrong kind"),
        ("*", (Budget.ln(2), Budget.ln(3)), "wrong kind"),
    ],
)
def test_what_has_no_result_is_a_fault_of_its_kind(op, args, kind):
    with pytest.raises(Fault) as caught:
        apply(op, args)
    assert caught.value.kind == kind


def test_budgets_add_scale_compare_and_become_numbers():
    ln2, ln3 = Budget.ln(2), Budget.ln(3)
    assert apply("+", (ln2, ln3)) == Budget.ln(6)
    assert apply("-", (Budget.ln(6), Budget.ln(6))) == 0
    assert apply("*", (2, ln2)) == Budget.ln(4)
    assert apply("/", (Budget.ln(4), 2)) == ln2
    assert apply("+", (ln2, exact.number(1, 2))) == ln2 + exact.number(1, 2)
    assert apply("<", (ln2, 1)) is True
    assert apply("exp", (apply("neg", (ln3,)),)) == exact.number(1, 3)
    assert apply("=", (apply("ln", (1,)), 0)) is True


def test_equality_across_kinds_is_false():
    values = [1, True, Symbol("a"), (1,), ArrayValue(1, (1,)), SetValue((1,)), Budget.ln(2)]
    for i, left in enumerate(values):
        for j, right in enumerate(values):
            assert apply("=", (left, right)) is (i == j)


def test_a_range_is_the_set_of_its_elements():
    assert same_value(SetValue(range(1, 4)), SetValue((3, 1, 2)))
    assert value_key(SetValue(range(0))) == value_key(SetValue(()))


def test_products_are_pairs_in_order():
    pairs = apply("*", (SetValue(range(2)), SetValue((Symbol("a"), True))))
    assert [value_text(pair) for pair in pairs] == ["(0, a)", "(0, true)", "(1, a)", "(1, true)"]


def test_the_first_index_wins_ties():
    assert apply("argmax", (ArrayValue(3, (1, 7, 7)),)) == 4
    assert apply("argmin", (5, 2, 2)) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^-1", "1/2"),
        ("-2^2", "-4"),
        ("-7 div 2", "-4"),
        ("-7 mod 2", "1"),
        ("1 + 2 * 3", "7"),
        ("0 <= 1 < 3", "true"),
        ("0 <= 5 < 3", "false"),
        ("1 = true", "false"),
        ("{1, 2, 1}", "{1, 2}"),
        ("{2*i for i in 1..3 where i != 2}", "{2, 6}"),
        ("sum(i in 1..4 : i^2)", "30"),
        ("product(i in 1..30 : i)", "265252859812191058636308480000000"),
        ("product(i in 1..3 where i != 2 : i / 2)", "3/4"),
        ("product(i in {} : i)", "1"),
        ("product(i in 1..10^4 : i - 10^4)", "0"),
        ("max(i in 1..4 : -(i - 3)^2)", "0"),
        ("argmax(i in 1..4 : -(i - 3)^2)", "3"),
        ("count(i in 1..10 : i mod 3 = 0)", "3"),
        ("forall(i in 1..3 : i < 4)", "true"),
        ("exists(i in 1..3 : i > 4)", "false"),
        ("max(3, 5, 4)", "5"),
        ("min({4, 2})", "2"),
        ("len(1..7)", "7"),
        ("len(0..10^30)", "1000000000000000000000000000001"),
        ("10^20 in 0..10^30", "true"),
        ("(1, 2)[2]", "2"),
        ("hamming((1, 2, 3), (1, 3, 2))", "2"),
        ("l1((1, 2), (4, 0))", "5"),
        ("linf((1, 2), (4, 0))", "3"),
        ("clamp(7, 0, 5)", "5"),
        ("abs(-3/2) + floor(3/2) + ceil(3/2)", "9/2"),
        ("(floor(ln 3), ceil(ln 3), floor(-ln 3), ceil(-ln 3))", "(1, 2, -2, -1)"),
        ("(ceil(ln(10^6)/(1/10)), ceil(3 * (ln 8)/ln 2), ceil((ln 9)/ln 4))", "(139, 9, 2)"),
        ("(floor((ln 9)/ln 3), ceil(2/ln 3), floor(-2/ln 3))", "(2, 2, -2)"),
        ("(ln 9 div ln 3, ln 9 div 1, -1 div ln 3, ln 3 div (ln 3 + 1/2))", "(2, 2, -1, 0)"),
        ("if 1 = 2 then 1/0 else 3", "3"),
        ("1 = 2 & 1/0 = 1", "false"),
        ("1 = 1 | 1/0 = 1", "true"),
        ("1 = 2 => 1/0 = 1", "true"),
        ("ln 8 = 3 * ln 2", "true"),
        ("exp(-(ln 3 + ln 2))", "1/6"),
        ("{1, 2} = {2, 1}", "true"),
        ("(1, 2) in {1} * {2, 3}", "true"),
    ],
)
def test_constants_have_their_values(text, value):
    assert constants(f"const c = {text}") == {"c": value}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1/0", "DP207"),
        ("2^(10^10)", "DP208"),
        ("2^(1/2)", "DP209"),
        ("(1, 2)[3]", "DP501"),
        ("1 + true", "DP504"),
        ("max({})", "DP505"),
        ("sum(i in 0..10^12 : i)", "DP208"),
        ("product(i in 1..10^5 : 10^1000)", "DP208"),
        ("(0..10^9) * (0..10^9)", "DP208"),
        ("exp(ln 2 / 2)", "DP209"),
    ],
)
def test_constants_without_a_value_are_mistakes(text, code):
    assert [mistake.code for mistake in resolved(f"const c = {text}").mistakes] == [code]


def test_a_binder_over_nothing_has_no_best_element():
    model = resolved("const c = argmax(i in 3..1 : i)")
    assert [mistake.code for mistake in model.mistakes] == ["DP505"]


def test_evaluation_is_lazy_where_the_language_is():
    from tests.resolve.reading import mechanism

    nodes = mechanism("y := x != 0 & 1/x > 2  output y").nodes
    assert evaluate(nodes[0].value, {"x": 0}) is False
    with pytest.raises(Fault):
        evaluate(mechanism("y := 1/x > 2  output y").nodes[0].value, {"x": 0})


def test_tuples_of_tuples_are_limited_with_all_they_hold():
    pairs = "".join(f"const a{i} = (a{i - 1}, a{i - 1})\n" for i in range(1, 60))
    (found,) = resolved(f"const a0 = (1, 1)\n{pairs}").mistakes
    assert (found.code, found.span.line) == ("DP208", 16)


def test_a_long_number_is_no_part_of_a_title():
    (found,) = resolved("const b = exp(10^1000)").mistakes
    assert found.title == "exp(a number of 1001 digits) has too many digits to write down"
