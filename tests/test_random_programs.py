"""Random programs: the chain that is built says the same as the interpreter beside it."""

from __future__ import annotations

import re
from fractions import Fraction

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpcheck.reference.values import Arr, as_text
from tests.chains import built_chain, chain_rows, initial_pairs
from tests.checking import check_text
from tests.oracle import privacy
from tests.oracle.programs import programs, programs_with_formulas
from tests.oracle.reference import Program, rows_or_none

random_programs = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
)
MOST = 6


def followed(text, most=MOST):
    """Return the program with its rows; discard what has a mistake or takes too long."""
    program = Program(text)
    rows = rows_or_none(program, most)
    assume(rows)
    return program, rows


def is_complete(rows):
    """Return whether every run ends within the outputs that were followed."""
    return all(status != "cut" for row in rows for _, status in row)


@random_programs
@given(programs())
def test_every_input_has_the_output_distribution_of_its_runs(text):
    program, rows = followed(text)
    chain = built_chain(text, "m")
    assert chain_rows(chain, MOST) == rows
    assert initial_pairs(chain) == program.pairs()


@random_programs
@given(programs())
def test_tight_quantities_are_those_of_the_definition(text):
    program, rows = followed(text)
    assume(is_complete(rows))
    report = check_text(
        text
        + "compute m: epsilon compute m: delta(0) compute m: delta(ln 2) compute m: delta(ln(5/3))"
    )
    assert not report.get("errors"), report["errors"]
    by_place, pairs = dict(enumerate(rows)), program.pairs()
    values = [result["value"] for result in report["results"]]
    least = privacy.e_epsilon(by_place, pairs)
    if least == privacy.INFINITE:
        assert values[0]["exact"] == "inf"
    else:
        assert Fraction(values[0]["exp"]) == least
    for value, e_epsilon in zip(values[1:], (1, 2, Fraction(5, 3)), strict=True):
        assert Fraction(value["exact"]) == privacy.delta(by_place, pairs, e_epsilon)
    assert pairs or all(result["vacuous"] for result in report["results"])


@random_programs
@given(programs_with_formulas())
def test_path_formulas_have_the_probability_of_the_runs_that_satisfy_them(drawn):
    text, formula = drawn
    program, rows = followed(text)
    assume(is_complete(rows))
    expected = program.chances(formula)
    conditions = [same_input(program.model.names, values) for values in program.inputs]
    claims = [
        f"check m at {condition} : P=? [ {formula} ] = {p}\n"
        for condition, p in zip(conditions, expected, strict=True)
    ]
    report = check_text(text + "".join(claims))
    assert not report.get("errors"), report["errors"]
    assert [result["verdict"] for result in report["results"]] == ["holds"] * len(claims), report
    ways = [(expected[s], expected[t]) for s, t in program.pairs()]
    excess = max((max(p - 2 * q, q - 2 * p) for p, q in ways), default=Fraction(0))
    excess = max(excess, Fraction(0))
    private = f"check m: D{{ln 2, {excess}}} [ {formula} ]\n"
    if excess > 0:
        private += f"refute m: D{{ln 2, {excess} - 1e-20}} [ {formula} ]\n"
    report = check_text(text + private)
    assert report["ok"], report


def same_input(names, values):
    """Return the condition that the inputs have these values."""
    conditions = []
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Arr):
            conditions += [
                f"{name}[{value.lo + i}] = {as_text(item)}" for i, item in enumerate(value.items)
            ]
        else:
            conditions.append(f"{name} = {as_text(value)}")
    return " & ".join(conditions)


# --- changes that must not matter ------------------------------------------------------------


def measured(chain):
    """Return what must not change: the sizes, the rows and the pairs."""
    return (
        chain.n_reported_states,
        chain.n_reported_transitions,
        chain_rows(chain, MOST),
        initial_pairs(chain),
    )


@random_programs
@given(programs())
def test_renaming_locals_changes_nothing(text):
    followed(text, most=1)
    renamed = re.sub(r"\b([vriwab])(\d+)\b", r"another_\1_\2", text)
    assert measured(built_chain(text, "m")) == measured(built_chain(renamed, "m"))


@random_programs
@given(programs(), st.data())
def test_dead_code_changes_nothing(text, data):
    followed(text, most=1)
    head, body = text.split("mechanism m(k = 2) {\n")
    lines = body.splitlines()
    start = max(
        i
        for i, line in enumerate(lines)
        if line.lstrip().startswith(("input", "public", "adjacent"))
    )
    place = data.draw(st.integers(start + 1, len(lines) - 1))
    dead = data.draw(
        st.sampled_from(
            [
                "dead := 7",
                "dead ~ uniform(1..3)",
                "if false { output never; stop }",
                "if k = 3 { output never }",
                "repeat 0 { output never }",
                "while k > 2 { output never }",
                "var dead[1..3] := k; dead[k] ~ bernoulli(1/3)",
            ]
        )
    )
    changed = (
        head + "mechanism m(k = 2) {\n" + "\n".join([*lines[:place], f";{dead};", *lines[place:]])
    )
    assert measured(built_chain(text, "m")) == measured(built_chain(changed, "m"))


@random_programs
@given(programs())
def test_showing_less_never_raises_epsilon_or_delta(text):
    _, rows = followed(text)
    assume(is_complete(rows))
    # `quiet` is the same program with every output replaced by whether it is an integer at most 1.
    _, body = text.split("mechanism m(k = 2) {\n")
    quiet = "mechanism quiet(k = 2) {\n" + re.sub(
        r"^(\s*)output (.*?)(;?)$", r"\1output (\2) = 0\3", body, flags=re.MULTILINE
    )
    claims = "".join(
        f"compute {name}: {quantity}\n"
        for quantity in ("epsilon", "delta(ln 2)")
        for name in ("m", "quiet")
    )
    report = check_text(text + quiet + claims)
    assert not report.get("errors"), report["errors"]
    epsilon, less, delta, smaller = (result["value"] for result in report["results"])
    if epsilon["exact"] != "inf":
        assert less["exact"] != "inf"
        assert Fraction(less["exp"]) <= Fraction(epsilon["exp"])
    assert Fraction(smaller["exact"]) <= Fraction(delta["exact"])


@random_programs
@given(programs())
def test_announcing_every_output_changes_neither_epsilon_nor_delta(text):
    _, rows = followed(text)
    assume(is_complete(rows))
    _, body = text.split("mechanism m(k = 2) {\n")
    announced = re.sub(r"^(\s*)output ", r"\1output now; output ", body, flags=re.MULTILINE)
    claims = "".join(
        f"compute {name}: {quantity}\n"
        for quantity in ("epsilon", "delta(ln 2)")
        for name in ("m", "announced")
    )
    report = check_text(text + "mechanism announced(k = 2) {\n" + announced + claims)
    assert not report.get("errors"), report["errors"]
    values = [result["value"] for result in report["results"]]
    assert values[0] == values[1]
    assert values[2] == values[3]


@random_programs
@given(programs())
def test_the_order_of_claims_does_not_matter(text):
    followed(text, most=1)
    claims = ["compute m: epsilon", "compute m: delta(0)", "check m: P>=1/2 [ F stopped ]"]
    forward = check_text(text + "\n".join(claims))["results"]
    backward = check_text("\n".join(reversed(claims)) + text)["results"]
    kept = ("claim", "verdict", "states", "transitions", "neighbor_pairs", "vacuous", "value")

    def comparable(results):
        return [{key: result.get(key) for key in kept} for result in results]

    assert comparable(forward) == list(reversed(comparable(backward)))
