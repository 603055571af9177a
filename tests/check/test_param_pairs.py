"""Parameters beside everything else: what is asked for all values, and where no value may leak."""

import json
import re
from fractions import Fraction
from math import isclose, log
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from tests.check.test_all_values import fails_at
from tests.checking import called, check_files, check_text, error_codes, verdicts
from tests.report.test_json import SCHEMA

ANSWER = """
mechanism answer(yes = YES, no = NO) {
  input x in {true, false}
  adjacent all
  y ~ bernoulli(if x then yes else no)
  output y
}
"""


def answers(head, yes, no, *claims):
    """Return the results of claims about an answer with these probabilities of `true`."""
    model = ANSWER.replace("YES", yes).replace("NO", no)
    return check_text("\n".join([head, model, *claims]), "--explain", "none")


def failing(result):
    """Return the intervals for which a claim fails, as texts, and the value that is shown."""
    values = result["values"]
    ends = [
        tuple(end.get("exact", end["decimal"]) for end in (each["from"], each["to"]))
        for each in values["fails_for"]
    ]
    return ends, values.get("sample")


def test_a_claim_that_fails_at_0_is_shown_there():
    report = answers(
        "param p in (-1, 1)",
        "(1 + p)/2",
        "(1 - p)/2",
        "check answer at x = true: P=? [ X output = true ] != 1/2",
        "check answer at x = true: P=? [ X output = true ] in_part 1/2".replace("in_part", "<"),
        "check answer: P<5/8 [ X output = true ]",
    )
    assert [failing(result) for result in report["results"]] == [
        ([("0", "0")], "0"),
        ([("0", "1")], "0"),
        ([("-1", "-1/4"), ("1/4", "1")], "-1/2"),
    ]


def test_the_simplest_value_is_an_end_where_that_fails_too():
    report = answers("param p in [0, 1]", "p", "1 - p", "check answer: dp(ln 4)")
    (result,) = report["results"]
    assert failing(result) == ([("0", "1/5"), ("4/5", "1")], "0")
    assert result["counterexample"]["ratio"] == "inf"


def test_a_part_may_begin_at_minus_infinity():
    report = answers(
        "param z in (-inf, 0]",
        "1/(2 - z)",
        "1 - 1/(3 - z)",
        "check answer for z in (-inf, -5): dp(ln 2)",
        "check answer for z in (-inf, 0): epsilon = ln((z^2 - 4*z + 3)/(2 - z))",
        "check answer for z in (-inf, 0]: dp(ln 2)",
    )
    first, second, third = report["results"]
    assert failing(first) == ([("-inf", "-5")], "-6")
    assert second["verdict"] == "holds"
    assert failing(third)[1] == "-1"


IRRATIONAL = ["ln(2)/2", "-ln(p)/2", "-ln(p)/3", "ln(2)/3 + ln(3)/5", "ln((1 + p)/p)/4"]


def test_delta_has_pieces_where_its_e_to_the_epsilon_is_irrational():
    computed = [f"compute answer: delta({epsilon})" for epsilon in IRRATIONAL]
    results = answers("param p in (0, 1)", "p", "1 - p", *computed)["results"]
    for value in (Fraction(1, 5), Fraction(1, 2), Fraction(4, 5)):
        ordinary = answers(f"const p = {value}", "p", "1 - p", *computed)["results"]
        for result, other in zip(results, ordinary, strict=True):
            expression = piece_at(result, value)
            shown = eval(expression.replace("^", "**"), {"p": float(value)})
            assert shown == pytest.approx(float(other["value"]["decimal"]), abs=1e-12)
    first = {piece["in"]: piece["exact"] for piece in results[0]["pieces"]}
    assert first["[0.585786, 1)"] == "p - (1 - p)*2^(1/2)"


def test_a_negative_factor_of_a_piece_stands_in_brackets():
    report = answers("param p in (-1, 0)", "1/2", "-p", "compute answer: delta(ln(2)/2)")
    (result,) = report["results"]
    assert [piece["exact"] for piece in result["pieces"]] == [
        "1/2 - (p + 1)*2^(1/2)", "0", "1/2 - (-p)*2^(1/2)",
    ]  # fmt: skip


def piece_at(result, value):
    """Return the expression of the piece in which a value lies."""
    for piece in result["pieces"]:
        ends = [Fraction(piece[end]["decimal"]) for end in ("from", "to")]
        if ends[0] < value < ends[1] or value in ends:
            return piece["exact"]
    raise AssertionError(f"{value} lies in no piece")


def test_where_delta_stays_below_a_bound_with_an_irrational_e_to_the_epsilon():
    claims = [f"check answer: delta({epsilon}) <= p/5" for epsilon in IRRATIONAL]
    claims += [f"check answer: D{{{epsilon}, 1/7}} [ X output = true ]" for epsilon in IRRATIONAL]
    results = answers("param p in (0, 1)", "p", "1 - p", *claims)["results"]
    seen = set()
    for value in (Fraction(k, 23) for k in (2, 6, 8, 9, 11, 13, 15, 16, 21)):
        ordinary = verdicts(answers(f"const p = {value}", "p", "1 - p", *claims))
        for claim, result, verdict in zip(claims, results, ordinary, strict=True):
            assert fails_at(result, value) == (verdict == "violated"), (claim, value)
            seen.add((claim, verdict))
    assert len(seen) == 2 * len(claims)


def test_budgets_are_told_by_the_parameter_where_they_can_be():
    report = answers(
        "param eps > 0",
        "exp(eps)/(1 + exp(eps))",
        "1/(1 + exp(eps))",
        "compute answer: epsilon",
        "compute answer: delta(eps/2)",
    )
    first, second = report["results"]
    assert first["pieces"][0]["exact"] == "eps"
    assert second["pieces"][0]["exact"] == "(exp(eps) - exp(eps/2))/(exp(eps) + 1)"


FILE = f"""param p in (0, 1)
{ANSWER.replace("YES", "p").replace("NO", "1 - p")}
check   answer for p in [1/2, 1): dp(ln(p / (1 - p)))
check   answer: dp(ln 3)
compute answer: epsilon
"""


@pytest.fixture(name="model")
def _model(tmp_path):
    path = tmp_path / "m.dpm"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_a_baseline_keeps_pieces_of_what_depends_on_a_parameter(model, tmp_path):
    kept = tmp_path / "baseline.toml"
    called("check", model, "--baseline", kept, "--update-baseline")
    text = kept.read_text(encoding="utf-8")
    assert 'epsilon = "for p in (0, 1/2): ln((1 - p)/p)' in text
    assert 'epsilon = "0"' not in text
    weaker = FILE.replace("dp(ln 3)", "dp(ln 4)")
    model.write_text(weaker, encoding="utf-8")
    assert "1 worse than the baseline" in called("check", model, "--baseline", kept).stdout


def test_no_table_of_numbers_is_written_where_none_is_chosen(model):
    refused = called("pmf", model, "answer")
    assert refused.returncode == 2
    assert "DP627" in refused.stderr
    chosen = called("pmf", model, "answer", "-D", "p=1/3")
    assert json.loads(chosen.stdout)["rows"]["x = true"] == {"true": "1/3", "false": "2/3"}


@pytest.mark.parametrize("form", ["html", "sarif", "junit", "github", "markdown", "json"])
def test_formats_say_for_which_values_and_never_the_stand_in(model, form):
    shown = called("check", model, "--format", form).stdout
    assert "exp(" not in shown
    assert "2.718" not in shown
    assert "0.3678" not in shown
    if form == "json":
        jsonschema.validate(json.loads(shown), SCHEMA)
    else:
        assert "violated for p in (0, 1/4) and (3/4, 1)" in shown.replace("%2C", ",")


@pytest.mark.parametrize("form", ["html", "sarif", "junit", "github", "markdown", "json", "text"])
def test_a_part_without_the_value_that_was_chosen_has_no_number(tmp_path, form):
    model = tmp_path / "m.dpm"
    model.write_text(FILE.replace("answer: epsilon", "answer for p in (0, 1/2): epsilon"))
    shown = called("check", model, "-D", "p=3/4", "--format", form).stdout
    assert not re.search(r"\bnan\b", shown)
    if form == "json":
        jsonschema.validate(json.loads(shown), SCHEMA)
        *_, computed = json.loads(shown)["results"]
        assert "value" not in computed
        assert computed["vacuous"]
    else:
        assert "not asked" in shown


def test_a_formula_about_a_group_is_explained_by_the_neighbors_of_the_group():
    report = check_text("""
    param p in (0, 1)
    mechanism noisy() {
      input x in 0..2
      adjacent abs(x - x') <= 1
      y ~ geometric(x, p) clamped 0..2
      output y
    }
    check group(noisy, 2): D{-ln p} [ X output = 0 ]
    """)
    assert "crashes" not in report
    pair = json.dumps(report["results"][0]["explanation"]["neighbors"])
    assert "x = 0" in pair
    assert "x = 2" in pair


def test_a_profile_for_all_values_is_epsilon_as_pieces(model):
    shown = called("profile", model)
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[1:4] == [
        "  p in      epsilon",
        "  (0, 1/2)  ln((1 - p)/p)",
        "  [1/2, 1)  ln(p/(1 - p))",
    ]


PLACE = re.compile(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(middle|end)"[^>]*>([\d.]+)<')


def on_paper(drawing):
    """Return functions from places on paper to what the ticks of both axes say there."""
    ticks = [(float(x), float(y), axis, float(text)) for x, y, axis, text in PLACE.findall(drawing)]
    (x0, _, _, u0), *_, (x1, _, _, u1) = [tick for tick in ticks if tick[2] == "middle"]
    (_, y0, _, v0), *_, (_, y1, _, v1) = [tick for tick in ticks if tick[2] == "end"]
    return (
        lambda x: u0 + (u1 - u0) * (x - x0) / (x1 - x0),
        lambda y: v0 + (v1 - v0) * (y + 4 - y0) / (y1 - y0),
    )


@pytest.mark.parametrize("head", ["(-inf, inf)", "(-inf, 0]", "(-2, -1]"])
def test_epsilon_is_drawn_over_values_that_are_negative_or_without_end(tmp_path, head):
    model, drawing = tmp_path / "m.dpm", tmp_path / "m.svg"
    model.write_text(f"""param p in {head}
mechanism m {{
  input x in {{0, 1}}
  adjacent all
  y ~ bernoulli(if x = 0 then 1/(2 + p^2) else 1/2)
  output y
}}
""")
    assert called("profile", model, "--svg", drawing).returncode == 0
    points = re.findall(r"(-?[\d.]+),(-?[\d.]+)", drawing.read_text().split("polyline")[1])
    assert len(points) > 100


@pytest.mark.parametrize(
    ("param", "truth", "expected"),
    [
        ("p in (0, 1)", "p", lambda p: abs(log((1 - p) / p))),
        ("p in [1/4, 1/2]", "p", lambda p: log((1 - p) / p)),
        ("p > 0", "exp(p)/(1 + exp(p))", lambda p: p),
        ("p in (0, 1)", "1/2", None),
    ],
)
def test_epsilon_over_a_parameter_is_drawn_and_written(tmp_path, param, truth, expected):
    model, drawing = tmp_path / "m.dpm", tmp_path / "m.svg"
    model.write_text(f"""param {param}
mechanism m(truth = {truth}) {{
  input x in {{0, 1}}
  adjacent all
  y ~ {{x: truth, 1 - x: 1 - truth}}
  z ~ {{0: {"p" if expected is None else "1/2"}, 1: {"1 - p" if expected is None else "1/2"}}}
  output (y, z)
}}
""")
    table = tmp_path / "m.csv"
    assert called("profile", model, "--svg", drawing, "--csv", table).returncode == 0
    assert table.read_text().startswith("p in,epsilon")
    text = drawing.read_text()
    ET.fromstring(text)
    assert ">p</text>" in text
    u, v = on_paper(text)
    curves = re.findall(r'<polyline points="([^"]*)"', text)
    points = [tuple(map(float, each.split(","))) for curve in curves for each in curve.split()]
    assert len(points) > 100
    for x, y in points:
        wanted = 0 if expected is None else expected(u(x))
        assert isclose(v(y), wanted, abs_tol=0.03 * max(1, wanted) + 0.3 * (u(x) < 0.05))


def test_a_sweep_that_chooses_no_value_shows_the_pieces(model):
    table = called("sweep", model, "--target", "answer(no = q)", "--set", "q=1/3,1/2").stdout
    assert "ln(3*p) in" in table
    assert "exp(" not in table
    values = called("sweep", model, "--target", "answer", "--set", "p=1/3,1/4").stdout
    assert [row.split() for row in values.splitlines()[1:]] == [["1/3", "ln(2)"], ["1/4", "ln(3)"]]


def test_a_table_of_probabilities_reads_no_parameter():
    rows = "row,x = pos,Y,p\nrow,x = pos,N,1-p\nrow,x = neg,Y,1/2\nrow,x = neg,N,1/2\n"
    files = {
        "t.csv": rows + "pair,x = pos,x = neg\n",
        "main.dpm": 'param p in (0, 1)\nimport "t.csv"\ncheck t: dp(ln 2)\n',
    }
    assert error_codes(check_files(files, "main.dpm")) == ["DP301", "DP301"]


@pytest.mark.parametrize(
    ("budget", "fails"),
    [
        ("-ln(p)/2 - ln(p)/3 + ln 2", ("0", "1/64")),  # 1/p <= 2 p^(-5/6)
        ("-ln(p)/2 - ln(p)/3 + ln(2)/6", ("0", "1/2")),
        ("ln(4 * p)/2 - ln(p)/2", ("0", "1/2")),  # ln 2
        ("ln(8) - 2 * ln(p) + ln(p)", None),
    ],
)
def test_budgets_with_a_parameter_are_added_as_logarithms_are(budget, fails):
    model = """param p in (0, 1)
mechanism m {
  input x in 0..1
  adjacent all
  y ~ geometric(x, p) unbounded
  output y
}
"""
    (result,) = check_text(f"{model}check m: dp({budget})", "--explain", "none")["results"]
    assert failing(result)[0] == ([] if fails is None else [fails])


SUBSAMPLED = """param eps > 0
mechanism m {
  input x in {0, 1}
  adjacent all
  is_kept ~ bernoulli(1/3)
  is_true ~ bernoulli(exp(eps/2)/(1 + exp(eps/2)))
  bit := if is_kept then x else 0
  output if is_true then bit else 1 - bit
}
"""


@pytest.mark.parametrize(
    ("asked", "sample"),
    [
        ("m: dp(ln(1 + (exp(eps/2) - 1)/4))", "ln(4)"),
        ("m for eps in (0, ln 2]: epsilon <= ln(1 + (exp(eps/2) - 1)/4)", "ln(16/9)"),
        ("m: D{ln(1 + (exp(eps/2) - 1)/4)} [ X output = 1 ]", "ln(4)"),
        ("m: dp(eps/6)", "1"),
    ],
)
def test_budgets_that_are_none_at_rational_values_are_exceeded_at_a_logarithm(asked, sample):
    text = f"{SUBSAMPLED}check m: dp(ln(1 + (exp(eps/2) - 1)/3))\ncheck {asked}"
    holds, violated = check_text(text, "--explain", "none")["results"]
    assert holds["verdict"] == "holds"
    assert failing(violated)[1] == sample
    if "ln" in sample:
        chosen = check_text(text, "--explain", "none", "-D", f"eps={sample}")
        assert chosen["results"][1]["counterexample"] == violated["counterexample"]


RARE = """param p in (0, 1)
dist rare() = {0: (2 * p^2 - 1)^2, 1: 1 - (2 * p^2 - 1)^2}
mechanism once {
  input x in 0..1
  adjacent all
  y ~ rare()
  output y
}
mechanism noisy {
  input x in 0..1
  adjacent all
  y ~ rare()
  z ~ bernoulli(if x = y then 2/3 else 1/3)
  output z
}
mechanism told {
  input x in 0..1
  adjacent all
  y ~ rare()
  output if y = 1 then 2 else x
}
mechanism again {
  input x in 0..1
  adjacent all
  y := 1
  while y = 1 { y ~ rare() }
  output y
}
mechanism relative {
  input x in 0..1
  adjacent all
  y ~ {0: (2 * p^2 - 1)^2, 1: 1} normalized
  output y
}
chain line {
  state s
  state t
  state u
  s -> (2 * p^2 - 1)^2: t + 1 - (2 * p^2 - 1)^2: u
  adjacent s ~ t
  observe t, u
}
chain cycle {
  state s
  state t
  s -> (2 * p^2 - 1)^2: t + 1 - (2 * p^2 - 1)^2: s
  adjacent s ~ t
  observe t
}
"""
POINT = {"root_of": "2*p^2 - 1", "decimal": "0.70710678118654752"}


@pytest.mark.parametrize(
    ("claim", "fails"),
    [
        ("once: dp(0)", []),
        ("once: epsilon = 0", []),
        ("once: P>0 [ X output = 0 ]", [POINT]),
        ("once at x = 0: P=? [ X output = 1 ] < 1", [POINT]),
        ("told: delta(0) > 0", [POINT]),
        ("told: D{ln 2} [ X output = 0 ] & P>=0 [ F stopped ]", None),
        ("told: epsilon = inf", [POINT]),
        ("told: epsilon < inf", None),
        ("noisy: dp(ln 2)", []),
        ("noisy: epsilon < ln 2", [POINT]),
        ("noisy: delta(0) != 1/3", [POINT]),
        ("line: P>0 [ F t ]", [POINT]),
        ("again: P>0 [ X output = 0 ]", [POINT]),  # a loop that never ends there
        ("again: P<1 [ X output = 0 ]", None),
        ("cycle: P>0 [ F t ]", [POINT]),
        ("again: dp(0)", []),
        ("relative: P<1 [ X output = 1 ]", [POINT]),
    ],
)
def test_an_irrational_value_at_which_a_weight_is_0_is_decided(claim, fails):
    """By a chain of its own: what is 0 there leaves the other weights of a row their sum."""
    (result,) = check_text(f"{RARE}check {claim}", "--explain", "none")["results"]
    places = [(each["from"], each["to"]) for each in result["values"]["fails_for"]]
    if fails is None:  # on both sides of it, and not there
        assert places[0][1] == places[1][0] == POINT
        assert [each["open"] for each in result["values"]["fails_for"]] == [[True, True]] * 2
    else:
        assert places == [(point, point) for point in fails]


def test_a_set_of_irrational_values_has_no_sample_and_says_so(tmp_path):
    model = ANSWER.replace("YES", "p^2").replace("NO", "1 - p^2")
    asked = "check answer at x = true: P=? [ X output = true ] != 1/2"
    text = f"param p in (0, 1)\n{model}{asked}\n"
    (result,) = check_text(text)["results"]
    end = {"root_of": "2*p^2 - 1", "decimal": "0.70710678118654752"}
    assert result["values"]["fails_for"] == [{"from": end, "to": end, "open": [False, False]}]
    assert "sample" not in result["values"]
    assert result["counterexample"]["states"] == []
    assert result["counterexample"]["event"] == ["no value of p for which it fails is rational"]
    place = tmp_path / "m.dpm"
    place.write_text(text, encoding="utf-8")
    shown = called("check", place).stdout
    assert "p in {0.707107}" in shown
    assert "0.707107 is a root of 2*p^2 - 1" in shown
    place.write_text(text.replace("check answer at", "refute answer at"), encoding="utf-8")
    shown = " ".join(called("check", place).stdout.split())
    assert "as claimed for p in {0.707107}, where 0.707107 is a root of 2*p^2 - 1" in shown


def test_evidence_for_all_values_is_lacking_and_for_a_value_where_it_fails_is_proved(tmp_path):
    model = ANSWER.replace("YES", "p^2").replace("NO", "1 - p^2")
    claims = ["dp(ln 2)", "dp(ln 2, 1)", "epsilon > 0", "epsilon != ln 2", "delta(0) <= 1"]
    checks = "\n".join(f"check answer: {claim}" for claim in claims)
    place = tmp_path / "m.dpm"
    place.write_text(f"param p in (0, 1)\n{model}{checks}\n")
    folder = tmp_path / "w"
    called("check", place, "--witness", folder, "-q")
    found = {
        json.loads(each.read_text())["claim"]["text"]: called("verify", each).returncode
        for each in folder.iterdir()
    }
    assert found == dict.fromkeys(claims, 2) | {"dp(ln 2)": 0}


@pytest.mark.parametrize("yes", ["exp(-eps/2)^2", "exp(-eps/2) * exp(-eps/2)", "1/exp(eps/2)^2"])
def test_values_that_are_shown_are_those_at_which_all_that_is_read_is_exact(yes):
    """At ln(2), `exp(-eps/2)^2` reads an irrational number, though it is 1/2 itself."""
    model = f"param eps > 0\n{ANSWER.replace('YES', yes).replace('NO', '1/3')}"
    claim = "check answer: epsilon >= ln(1 + exp(eps))\n"
    (shown,) = check_text(model + claim)["results"]
    (plain,) = check_text(model.replace(yes, "exp(-eps)") + claim)["results"]
    assert shown["values"]["fails_for"] == plain["values"]["fails_for"]
    assert (shown["values"]["sample"], plain["values"]["sample"]) == ("ln(4)", "ln(2)")


def test_what_is_said_to_hold_names_the_target_with_its_parameter(tmp_path):
    model = ANSWER.replace("YES", "1/2").replace("NO", "1/3")
    place = tmp_path / "m.dpm"
    asked = "check answer(yes = exp(-eps)) at x = true: P>=1/2 [ X output = true ]\n"
    place.write_text(f"param eps in (0, 1)\n{model}{asked}")
    shown = " ".join(called("check", place).stdout.split())
    pasted = re.search(r"tight (check .*?); with -D eps=3/4: holds", shown)[1]
    assert pasted.startswith("check answer(yes = 1/exp(eps)) for eps in (0, ln(2)] at x = true: ")
    (result,) = check_text(f"param eps in (0, 1)\n{model}{pasted}\n")["results"]
    assert (result["verdict"], result["values"]["in"]) == ("holds", "(0, ln(2)]")


def test_each_irrational_end_is_explained_as_it_is_written(tmp_path):
    """Ends that are equal in six digits have more where they stand, and so below."""
    answer = ANSWER.replace("YES", "(2*p^2 - 1)^2").replace("NO", "1/2")
    place = tmp_path / "m.dpm"
    asked = "check answer: dp(10 * ln 10)\ncheck answer: dp(18 * ln 10)\n"
    place.write_text(f"param p in (0, 1)\n{answer}{asked}", encoding="utf-8")
    shown = " ".join(called("check", place, "--explain", "none").stdout.split())
    assert "and (0.99999999999375, 1)" in shown
    assert "where 0.99999999999375 is a root of 80000000000*p^4" in shown
    assert "(0.70710678093654752, 0.70710678143654752)" in shown
    for end in ("093654752", "143654752"):
        assert f"where 0.70710678{end} is a root of 8000000000000000000*p^4" in shown
