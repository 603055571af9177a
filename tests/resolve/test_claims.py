"""Claims and formulas as the logic means them."""

import pytest

from dpcheck import exact
from dpcheck.exact import Budget
from dpcheck.logic import claims, formulas
from dpcheck.model.atoms import Condition, Label, Sink
from tests.resolve.reading import codes, sound

MECHANISM = """mechanism m(n = 3) {
  input x in 0..n  public t in {a, b}  adjacent all
  if x = 1 { output top }
  output (x, 1)
}
"""
CHAIN = """chain c(n = 2) {
  state s[k in 0..n] : start  state t[l in 0..n] : answer  state end
  for k in 0..n { s[k] -> l ~ geometric(k, 1/2) clamped 0..n : t[l] }
  adjacent s[k] ~ s[l] where abs(k - l) = 1
  observe t, end
}
"""


def check_of(text: str):
    (check,) = sound(MECHANISM + CHAIN + text).checks
    return check


def test_quantities_compare_from_either_side():
    left = check_of("check m: epsilon <= ln 3").claim
    right = check_of("check m: ln 3 >= epsilon").claim
    assert isinstance(left, claims.QuantityClaim)
    assert isinstance(right, claims.QuantityClaim)
    assert (left.comparison, left.bound) == (right.comparison, right.bound) == ("<=", Budget.ln(3))


@pytest.mark.parametrize(
    ("text", "quantity", "bound"),
    [
        ("epsilon = inf", claims.TightEpsilon, None),
        ("epsilon(1/4) = 0", claims.TightEpsilon, Budget.of(0)),
        ("delta(0) = 1/2", claims.TightDelta, exact.number(1, 2)),
        ("P=? [ F top ] > 1/3", claims.PathProbability, exact.number(1, 3)),
    ],
)
def test_each_quantity_has_its_kind_of_bound(text, quantity, bound):
    claim = check_of(f"check m at x = 1 & t = a: {text}").claim
    assert isinstance(claim.quantity, quantity)
    assert claim.bound == bound


def test_epsilon_is_the_quantity_even_if_a_constant_has_that_name():
    claim = check_of("const epsilon = ln 3 check m: epsilon = epsilon").claim
    assert isinstance(claim, claims.QuantityClaim)
    assert claim.bound == Budget.ln(3)
    assert check_of("const epsilon = ln 3 check m: dp(epsilon)").claim.epsilon == Budget.ln(3)


def test_dp_takes_a_delta():
    claim = check_of("check m: dp(ln 2 + 1/2, 1/8)").claim
    assert isinstance(claim, claims.PrivacyClaim)
    assert (claim.epsilon, claim.delta) == (Budget.ln(2) + exact.number(1, 2), exact.number(1, 8))


def test_forall_expands_to_a_conjunction():
    check = check_of("check m: forall(v in 0..n : D{ln 2} [ F output = v ])")
    assert isinstance(check.claim.formula, formulas.And)
    assert list(check.atoms) == [f"output = {v}" for v in range(4)]


def test_forall_inside_a_path_expands_to_a_path():
    check = check_of("check m: P>=0 [ forall(v in {0, 2} : F output = v) ]")
    path = check.claim.formula.path
    assert isinstance(path, formulas.PathAnd)
    assert all(isinstance(part, formulas.Finally) for part in path.arguments)


def test_booleans_over_states_stay_state_formulas_inside_paths():
    path = check_of(
        "check m: P>=0 [ !top & x = 1 | F<=2 top U<=(1 + 2) stopped ]"
    ).claim.formula.path
    assert isinstance(path, formulas.PathOr)
    assert isinstance(path.arguments[0], formulas.Holds)
    until = path.arguments[1]
    assert isinstance(until, formulas.Until)
    assert (until.bound, until.left.bound) == (3, 2)


def test_a_symbol_named_as_an_end_is_no_end():
    check = check_of('check m: P>=0 [ exists(v in {"stopped", "diverged"} : F v) & F stopped ]')
    assert check.atoms.keys() == {'"stopped"', '"diverged"', "stopped"}


def test_atoms_mean_what_they_say():
    check = check_of("check m: P>=0 [ F (top & output[1] = x & t = a & stopped & diverged) ]")
    assert check.atoms["stopped"] == Sink("stopped")
    assert check.atoms["diverged"] == Sink("diverged")
    top, component = check.atoms["top"], check.atoms["output[1] = x"]
    assert isinstance(top, Condition)
    assert isinstance(component, Condition)
    assert (top.reads_output, top.inputs) == (True, ())
    assert (component.reads_output, component.inputs) == (True, ("x",))
    assert check.atoms["t = a"].reads_output is False
    assert check.kept_inputs == ("x", "t")


def test_inputs_outside_the_brackets_are_not_kept():
    assert check_of("check m at x = 1: t = a => P>=0 [ F top ]").kept_inputs == ()


def test_nested_d_needs_later_neighbors():
    assert check_of("check m: D{1} [ X (top & D{1} [ X top ]) ]").needs_later_neighbors
    assert check_of("check m: P>=0 [ X D{1} [ X top ] ]").needs_later_neighbors
    assert not check_of("check m: D{1} [ X top ] & D{1} [ X X top ]").needs_later_neighbors


def test_chain_atoms_are_labels_states_families_and_members():
    check = check_of("check c: P>=0 [ F (answer & t & t[1 + 1] & end) ]")
    assert check.atoms == {
        "answer": Label("answer", None), "t": Label("t", None),
        "t[2]": Label("t", (2,)), "end": Label("end", None)}  # fmt: skip


def test_at_picks_a_state_of_a_chain_or_a_condition():
    assert check_of("check c at s[3 - 1]: P>=0 [ F t ]").at.key == "at s[2]"
    assert check_of("check c at end: P>=0 [ F t ]").at.key == "at end"
    assert isinstance(check_of("check c at s: P>=0 [ F t ]").at, claims.AtCondition)
    assert isinstance(check_of("check m at x = 1: P>=0 [ F top ]").at, claims.AtCondition)


def test_texts_have_loop_variables_and_parameters_filled_in():
    check = check_of("""for k in 1..1 {
      check "name" m(n = k + 1) at x = k : D{k * ln 2, n/4} [ F output = (k, 1) ] }""")
    assert check.name == "name"
    assert check.target_text == "m(n = 2)"
    assert check.claim_text == "D{1 * ln 2, 2/4} [ F output = (1, 1) ]"
    assert check.at_text == "x = 1"
    assert list(check.atoms) == ["output = (1, 1)", "x = 1"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("check m: F top", "DP601"),
        ("check m: dp(1) & P>=0 [ F top ]", "DP602"),
        ("check m: P>=1 [ F dp(1) ]", "DP602"),
        ("check m: 0 <= epsilon <= 1", "DP602"),
        ("compute m: dp(1)", "DP603"),
        ("check m: epsilon", "DP604"),
        ("check m: dp(-1)", "DP605"),
        ("check m: D{1, 2} [ F top ]", "DP606"),
        ("check m: P>=1 [ F<=(1/2) top ]", "DP607"),
        ("check m: delta <= 1", "DP612"),
        ("check m: epsilon = a", "DP610"),
        ("check m: P>=1 [ F 3 ]", "DP611"),
        ("check m: P>=1 [ F output + 1 ]", "DP401"),
        ("check m: P>=1 [ F x + 1 > top ]", "DP401"),
        ("check m: P>=x [ F top ]", "DP402"),
        ("check m: forall(v in 0..x : D{1} [ F output = v ])", "DP402"),
        ("check c: P>=1 [ F t[3] ]", "DP510"),
        ("check c: P>=1 [ F t[1, 2] ]", "DP531"),
        ("check c: P>=1 [ F output = 1 ]", "DP307"),
        ("check c at s[7]: P>=1 [ F t ]", "DP510"),
        ("check m: P>=1 [ F topp ]", "DP301"),
        ("check c: P>=1 [ F answr ]", "DP311"),
        ("check m(x = 1): dp(1)", "DP716"),
        ("check m(k = 1): dp(1)", "DP712"),
        ("check q: dp(1)", "DP305"),
    ],
)
def test_claims_that_mean_nothing_are_mistakes(text, code):
    assert codes(MECHANISM + CHAIN + text) == [code]


def test_a_mistake_in_one_claim_hides_no_other():
    found = codes(MECHANISM + "check m: F top check m: dp(-1) check m(k = 2): dp(1)")
    assert found == ["DP601", "DP605", "DP712"]


def texts(loop: str) -> list[str]:
    return [check.target_text for check in sound(MECHANISM + loop).checks]


def test_a_loop_asks_for_what_satisfies_its_where():
    assert texts("for k in 1..4 where k mod 2 = 0 { check m(n = k): dp(0) }") == [
        "m(n = 2)", "m(n = 4)"]  # fmt: skip
    assert texts("for k in 1..3, l in k..3 where k != l { check m(n = 10*k + l): dp(0) }") == [
        "m(n = 12)", "m(n = 13)", "m(n = 23)"]  # fmt: skip
    # What the condition skips is not evaluated.
    assert texts("for k in 0..2 where k != 0 & 2/k = 2 { check m(n = 2/k): dp(0) }") == ["m(n = 2)"]


def test_a_where_may_leave_few_of_very_many_rounds():
    assert len(texts("for k in 1..50000 where k < 3 { check m(n = k): dp(0) }")) == 2


@pytest.mark.parametrize(
    ("loop", "code"),
    [
        ("for k in 1..9, k in 1..9 { check m(n = k): dp(0) }", "DP302"),
        ("for k in 1..9 where 3 { check m(n = k): dp(0) }", "DP401"),
        ("for k in 1..9 where x > k { check m(n = k): dp(0) }", "DP301"),
        ("for k in 1..9 where 1/(k - 2) > 0 { check m(n = k): dp(0) }", "DP207"),
        ("for k in 1..9 where k > 9 { check m(n = k): dp(0) }", "DP614"),
        ("for k in {} { check m(n = k): dp(0) }", "DP614"),
        ("for k in 1..2 { }", "DP614"),
        ("for k in 1..200000 where k < 3 { check m(n = k): dp(0) }", "DP609"),
        ("for k in 1..1000, l in 1..1000 where k = l { check m(n = k): dp(0) }", "DP609"),
        ("for k in 1..6000 { check m: dp(k) check m: dp(k + 1/2) }", "DP609"),
    ],
)
def test_mistakes_in_the_head_of_a_loop(loop, code):
    assert set(codes(MECHANISM + loop)) == {code}


def test_an_inner_loop_may_be_empty_in_some_rounds():
    assert codes(MECHANISM + "for k in 0..2 { for l in 1..k { check m(n = l): dp(0) } }") == []


@pytest.mark.parametrize("condition", ["v", "3", "a", "{v}"])
@pytest.mark.parametrize("formula", ["D{0} [ X output = v ]", "P>=1 [ F output = v ]"])
def test_a_condition_of_a_binder_that_is_no_boolean_is_a_mistake(formula, condition):
    text = f"check m: forall(v in 0..3 where {condition} : {formula})"
    assert codes(MECHANISM + text) == ["DP401"]
    path = f"check m: P>=0 [ exists(v in 0..3 where {condition} : X output = v) ]"
    assert codes(MECHANISM + path) == ["DP401"]
