"""An irrational value at which a weight is 0, against a rational one of a model of the same shape.

With a = 2p^2 - 1 a weight a^2 w(a) is 0 at p = 1/sqrt(2); with a = 2p - 1 it is at p = 1/2, and
what is claimed there is decided by the ordinary engine, which the rational value is given to.
"""

import math
import random
import re

import pytest

from tests.checking import check_text

IRRATIONAL, RATIONAL = "(2 * p^2 - 1)", "(2 * p - 1)"
ROOT = {"root_of": "2*p^2 - 1", "decimal": "0.70710678118654752"}
HALF = {"exact": "1/2", "decimal": "0.5"}

LOOP = """
mechanism m {
  input x in 0..1
  adjacent all
  y := N
  while y = N { y ~ {Y: A, Z: B, N: 1 - A - B} }
  output y
  z ~ bernoulli(if x = 0 then C else 1/3)
  output z
}
"""
STAYS = """
mechanism m {
  input x in 0..1
  adjacent all
  y := 0
  while y = 0 { y ~ {0: 1 - A, 1: A}  output if x = y then N else Y  if y = 0 { z ~ bernoulli(C)
    if z = 1 { stop } } }
}
"""
TOLD = """
mechanism m {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ {x: A, 3: B, 4: 1 - A - B}
  z ~ {y: C, 0: A} normalized
  output z
}
"""
NOISE = """
mechanism m {
  input x in 0..2
  adjacent abs(x - x') <= 1
  y ~ bernoulli(A)
  z ~ geometric(x, if y then 1/2 else 1/3) unbounded
  output max(z, 0)
  w ~ binomial(2, 1 - B)
  output w
}
"""
CHAIN = """
chain m {
  state s
  state t
  state u
  init s, t
  s -> A: u + C: t + 1 - A - C: s
  t -> B: u + 1 - B: s
  u -> B: s + 1 - B: u
  adjacent s ~ t
  observe t, u
}
"""
WEIGHTS = ["a^2", "a^2 / 3", "a^4 / 2 + a^2 / 8", "a^2 * (1 + a) / 5"]
"""Each is 0 where a is, and at most 1/2 for a from -1/2 to 1/2."""
OTHERS = ["1/4 + a^2 / 2", "1/3 + a / 5", "1/5", "(2 + a) / 6"]
FORMULAS = [
    "P{} 1/3 [ X output = {} ]",
    "P{} 1/2 [ F output = {} ]",
    "D{{ln 2}} [ X output = {1} ] & P{0} 1/4 [ F stopped ]",
]
QUANTITIES = ["epsilon", "delta(ln 2)", "delta(0)", "epsilon(1/5)"]


def filled_in(program, rng, weights, others):
    """Return a program with weights: A is 0 where a is, B may be, and C is not."""
    for name, some in (("A", weights), ("B", weights + others), ("C", others)):
        program = program.replace(name, f"({rng.choice(some)})")
    return program


def claims(rng, shown):
    """Yield claims about programs that show these values; the first three are formulas."""
    for _ in range(3):
        formula = rng.choice(FORMULAS)
        yield formula.format(rng.choice(["<", "<=", ">", ">="]), rng.choice(shown))
    quantity, sign = rng.choice(QUANTITIES), rng.choice(["<", "<=", "=", ">"])
    yield f"{quantity} {sign} {rng.choice(['0', 'ln 2' if 'eps' in quantity else '1/5'])}"
    yield "dp(ln 2)"
    yield "dp(ln 3, 1/7)"
    yield "epsilon = inf"


def fails_at(result, point):
    """Return whether a claim fails at a value that is asked by itself."""
    where = None if "values" not in result else result["values"]["fails_for"]
    if where is None:
        return result["verdict"] == "violated"
    ends = [(each["from"], each["to"], each["open"]) for each in where]
    x = float(point["decimal"])
    for low, high, (is_low_open, is_high_open) in ends:
        is_above = not is_low_open if low == point else float(low["decimal"]) < x
        is_below = not is_high_open if high == point else x < float(high["decimal"])
        if is_above and is_below:
            return True
    return False


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("program", "shown"),
    [(LOOP, "Y1"), (STAYS, "YN"), (TOLD, "0234"), (NOISE, "012"), (CHAIN, None)],
)
def test_an_irrational_value_is_what_a_rational_one_of_the_same_shape_is(program, shown, seed):
    rng = random.Random(f"{seed} {shown}")
    text = filled_in(program, rng, WEIGHTS, OTHERS)
    if shown is None:
        every = [
            "P>0 [ F u ]",
            "P<1/2 [ F t ]",
            "P>=1/2 [ X t ]",
            "D{ln 2} [ X u ]",
            "D{0} [ F u ]",
        ]
    else:
        every = list(claims(rng, shown))[: 3 if program == STAYS else None]
    asked = "\n".join(f"check m: {claim}" for claim in every)
    results = []
    for a, interval in ((IRRATIONAL, "(3/5, 4/5)"), (RATIONAL, "(3/8, 5/8)")):
        model = re.sub(r"\ba\b", a, text)
        report = check_text(f"param p in {interval}\n{model}{asked}\n", "--explain", "none")
        assert report.get("errors") is None
        results.append(report["results"])
    for irrational, rational in zip(*results, strict=True):
        assert fails_at(irrational, ROOT) == fails_at(rational, HALF), irrational["claim"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("program", [LOOP, TOLD])
def test_what_is_computed_at_an_irrational_value_is_what_it_is_at_a_rational_one(program, seed):
    """Weights that are even in a are the same numbers there, and expressions in p are reduced."""
    rng = random.Random(seed)
    text = filled_in(program, rng, WEIGHTS[:3], OTHERS[::2])
    asked = "\n".join(f"compute m: {quantity}" for quantity in QUANTITIES)
    values = []
    for a, interval, point in ((IRRATIONAL, "(3/5, 4/5)", ROOT), (RATIONAL, "(3/8, 5/8)", HALF)):
        model = re.sub(r"\ba\b", a, text)
        report = check_text(f"param p in {interval}\n{model}{asked}\n", "--explain", "none")
        assert report.get("errors") is None
        values.append([piece_at(result, point) for result in report["results"]])
    chosen = re.sub(r"\ba\b", "0", text)
    exact = check_text(f"{chosen}{asked}\n", "--explain", "none")["results"]
    assert len(exact) == len(QUANTITIES)
    for irrational, rational, result in zip(*values, exact, strict=True):
        known = result["value"]["decimal"]
        for text, x in ((irrational, 0.5**0.5), (rational, 0.5)):
            assert evaluated(text, x) == pytest.approx(float(known), abs=1e-12)


def piece_at(result, point):
    """Return the expression of a computed value at a point."""
    x = float(point["decimal"])
    for piece in result["pieces"]:
        low, high = piece["from"], piece["to"]
        is_above = not piece["open"][0] if low == point else float(low["decimal"]) < x
        is_below = not piece["open"][1] if high == point else x < float(high["decimal"])
        if is_above and is_below:
            return piece["exact"]
    raise AssertionError("pieces are all values")


def evaluated(text, p):
    """Return an expression as a float, at a value of p."""
    names = {"p": p, "ln": math.log, "inf": math.inf, "exp": math.exp}
    return eval(text.replace("^", "**"), {"__builtins__": {}}, names)


@pytest.mark.parametrize(
    ("head", "weight", "end"),
    [
        ("param p in (0, 1)", "(2 * p^2 - 1)^2", "2*p^2 - 1"),
        ("param p in [7/10, 708/1000]", "(2 * p^2 - 1)^2", "2*p^2 - 1"),
        ("param p in (-inf, 0)", "(2 * p^2 - 1)^2 / (1 + 4 * p^4)", "2*p^2 - 1"),
        ("param p > 0", "(exp(-2 * p) + exp(-p) - 1)^2", "exp(p)"),
        ("param p > 0", "(2 * exp(-2 * p) - 1)^2", "exp(p)"),
        ("param p > 1/3", "(2 * exp(-2 * p) - 1)^2 * (3 * exp(-2 * p) - 1)^2", "exp(p)"),
    ],
)
@pytest.mark.parametrize("part", ["", "for p in (17/50, 9/10)"])
def test_an_irrational_value_is_asked_in_every_interval(head, weight, end, part):
    part = part.replace("(17/50, 9/10)", "(-9/10, -1/20)") if "-inf" in head else part
    part = "" if "7/10" in head else part
    model = f"""{head}
mechanism m {{
  input x in 0..1
  adjacent all
  y := 1
  while y = 1 {{ y ~ {{0: {weight}, 1: 1 - ({weight})}} }}
  output y
}}
check m {part}: P>0 [ X output = 0 ]
compute m at x = 0: P=? [ X output = 0 ]
"""
    checked, computed = check_text(model, "--explain", "none")["results"]
    singles = [each for each in checked["values"]["fails_for"] if each["from"] == each["to"]]
    assert [each["open"] for each in singles] == [[False, False]] * len(singles)
    assert len(singles) == len(checked["values"]["fails_for"]) == (2 if "3 *" in weight else 1)
    assert all(end in each["from"].get("root_of", "exp(p)") for each in singles)
    values = [piece["exact"] for piece in computed["pieces"]]
    assert values == ["1", "0"] * len(singles) + ["1"]


def test_a_mistake_at_an_irrational_value_names_where_it_is():
    model = RARE_END.replace("W", "(2 * p^2 - 1)^2")
    (mistake,) = check_text(f"{model}check m: E>=0 [ output ]")["errors"]
    (twin,) = check_text(f"{RARE_END.replace('W', '(2 * p - 1)^2')}check m: E>=0 [ output ]")[
        "errors"
    ]
    assert twin["code"] == mistake["code"]
    assert any("p = 1/2" in note for note in twin["notes"])
    assert any("p in (1/2, 3/4)" in note for note in mistake["notes"])


RARE_END = """param p in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  y := 1
  while y = 1 { y ~ {0: W, 1: 1 - W} }
  output y
}
"""


def test_what_is_no_limit_of_what_is_beside_it_is_shown_as_it_is():
    """No run ends there, so that nothing is shown; where some do, what x is may be seen."""
    model = RARE_END.replace("output y", "z ~ bernoulli(W)  output if z then x else 2")
    for weight, point in (("(2 * p^2 - 1)^2", "{0.707107}"), ("(2 * p - 1)^2", "{1/2}")):
        text = f"{model.replace('W', weight)}compute m: epsilon"
        (result,) = check_text(text, "--explain", "none")["results"]
        pieces = [(piece["in"], piece["exact"]) for piece in result["pieces"]]
        end = point.strip("{}")
        assert pieces == [(f"(0, {end})", "inf"), (point, "0"), (f"({end}, 1)", "inf")]


def test_what_is_computed_beside_a_logarithm_is_shown_where_another_expression_is_0_there():
    model = """param eps > 0
mechanism m {
  input x in 0..1
  adjacent all
  y ~ bernoulli(if x = 1 then exp(-eps/2) else (1 - 2 * exp(-eps))^2)
  output y
}
"""
    (result,) = check_text(f"{model}compute m: epsilon", "--explain", "none")["results"]
    (at,) = (piece for piece in result["pieces"] if "inf" in piece["exact"])
    assert at["in"] == "{ln(2)}"
    assert len(result["pieces"]) > 3


WITH_COIN = """param eps > 0
mechanism m {
  input x in 0..1
  adjacent all
  y ~ bernoulli(FIRST)
  output y
  z ~ bernoulli(exp(-eps/2))
  output z
}
"""


@pytest.mark.parametrize(
    ("first", "asked", "is_ok"),
    [
        ("if x = 0 then (1 - 2 * exp(-eps))^2 else 1/2", "D{ln 5} [ X output = true ]", False),
        ("(1 - 2 * exp(-eps))^2", "D{ln 5} [ X output = true ]", True),
        ("(1 - 2 * exp(-eps))^2", "P<1 [ X output = true ]", True),
        ("if x = 0 then 1/10 else 9/10", "D{ln(1 + exp(eps))} [ X output = true ]", False),
    ],
)
def test_numbers_that_a_claim_does_not_read_are_exact_where_it_is_asked(first, asked, is_ok):
    """At ln(2) the coin has the irrational weight 1/sqrt(2)."""
    text = f"{WITH_COIN.replace('FIRST', first)}check m: {asked}"
    (result,) = check_text(text, "--explain", "none")["results"]
    assert (result["verdict"] == "holds") == is_ok


def test_only_the_weight_that_is_0_may_have_the_unit_in_which_it_is():
    """exp(eps/2) is the golden ratio there, of which no other number is a power."""
    model = WITH_COIN.replace("FIRST", "(1 - exp(-eps/2) - exp(-eps))^2")
    model = model.replace("z ~ bernoulli(exp(-eps/2))", "z ~ bernoulli(exp(-eps))")
    claim = "check m: P<1 [ X output = true ]"
    (result,) = check_text(model + claim, "--explain", "none")["results"]
    assert result["verdict"] == "holds"


def test_a_claim_that_is_tried_at_a_logarithm_has_exact_numbers_there():
    """Outputs without end are tried at single values."""
    model = """param eps > 0
mechanism m {
  input x in 0..1
  adjacent all
  y := 0
  while y = 0 {
    y ~ bernoulli(if x = 0 then 1/(1 + exp(eps)) else exp(-eps/2)/2)
    y := if y then 1 else 0
    output y
  }
}
"""
    for budget in ("ln(1 + exp(eps/2))", "ln(1 + exp(eps))"):
        text = f"{model}check m: dp({budget})"
        (result,) = check_text(text, "--explain", "none")["results"]
        assert result["values"]["sample"] == "ln(4)"


@pytest.mark.parametrize("part", ["(0, ln 2]", "[ln 2, 1]"])
def test_a_part_may_end_at_an_irrational_value(part):
    """Of the interval around that value only one side is asked."""
    first = "if x = 0 then (1 - 2 * exp(-eps))^2 else 1/2"
    text = f"{WITH_COIN.replace('FIRST', first)}check m for eps in {part}: epsilon < inf"
    (result,) = check_text(text, "--explain", "none")["results"]
    (at,) = result["values"]["fails_for"]
    assert (at["from"], at["open"]) == (at["to"], [False, False])
    assert at["from"]["exact"] == "ln(2)"


def test_no_ratios_are_taken_for_equal_at_an_irrational_value_where_a_weight_is_0():
    """(1/6)^(1/3) and (1/2)^(1/3) lie in (1/2, 4/5): p^3 = 1/6 at one, 2 p^3 = 1 at the other."""
    text = """
param p in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  b ~ bernoulli(if x = 1 then p^3 else (2*p^3 - 1)^2)
  y ~ geometric(0, 1/6) unbounded
  z ~ geometric(x, p^3) unbounded
  output z
  output y
}
check m at x = 0: P<=1/42 [ X X output > 1 ]
check m at x = 0: P<=1/4 [ X output > 1 ]
"""
    holds, fails = check_text(text)["results"]
    assert holds["verdict"] == "holds"
    (interval,) = fails["values"]["fails_for"]
    assert interval["from"]["root_of"] == "4*p^6 - p^3 - 1"
    assert interval["to"]["exact"] == "1"
