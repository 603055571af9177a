"""Files of evidence: what is written proves the verdict, and nothing else is believed."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import subprocess
import sys
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest

from dpcheck.cli import run
from dpcheck.verify import Polynomial, exp_bounds, main, verify
from dpcheck.verify import Witness as Verified

ROOT = Path(__file__).parents[2]
VERIFY = ROOT / "dpcheck" / "verify.py"

MODEL = """
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ if x = pos then {Y: truth, N: 1 - truth} else {Y: 1 - truth, N: truth}
  output y
}
mechanism faint {
  input x in {pos, neg}
  adjacent all
  y ~ if x = pos then {Y: 1/10^400, N: 1 - 1/10^400} else {Y: 1/2, N: 1/2}
  output y
}
mechanism thrice { input x in {pos, neg} adjacent all repeat 3 { run survey(x = x) } }
mechanism noise(alpha = exp(-1/2)) {
  input x in 0..3
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) clamped 0..3
  output y
}
mechanism endless {
  input x in 0..1
  adjacent all
  go := true
  while go { output tick  go ~ bernoulli(if x = 1 then 1/2 else 1/3) }
}
mechanism silent {
  input x in 0..1
  adjacent all
  y := 0
  while y != 2 { if y = 0 { y ~ {0: 1/3, 1: (1 + x)/6, 2: (3 - x)/6} } }
  output y
}
mechanism long(k = 12) {
  input x in 0..1
  adjacent all
  for i in 1..k { y ~ bernoulli(if x = 1 then 1/2 else 1/3)  output y }
}
mechanism rates {
  input c[1..2] in 0..3
  adjacent linf(c, c') <= 1
  y ~ {i: exp(c[i]/10) for i in 1..2} normalized
  output y
  z ~ {i: exp(c[i]/7) for i in 1..2} normalized
  output z
}
chain c {
  state s[i in 0..1]
  state on : lit
  state off : dark
  for i in 0..1 { s[i] -> (1 + i)/4: on + (3 - i)/4: off }
  on -> 1/2: on + 1/2: off
  off -> 1/3: on + 1/3: off + 1/3: gone
  state gone : lost
  adjacent s[0] ~ s[1]
  observe lit, dark
}
"""

CLAIMS = {
    "survey: dp(ln 3)": ("holds", "laws"),
    "survey: dp(ln 2)": ("violated", "event"),
    "survey: dp(ln 2, 1/4)": ("holds", "laws"),
    "survey: dp(1/2 * ln 10)": ("holds", "laws"),
    "survey: dp(1)": ("violated", "event"),
    "thrice: dp(ln 3, 1/5)": ("violated", "event"),
    "thrice: dp(2, exp(-1))": ("holds", "laws"),
    "noise: dp(1/2)": ("holds", "laws"),
    "noise: dp(49/100)": ("violated", "event"),
    "noise(alpha = 1/2): dp(1/2)": ("violated", "event"),
    "endless: dp(ln 2)": ("violated", "event"),
    "silent: dp(ln(3/2))": ("violated", "event"),
    "silent: dp(ln 2)": ("holds", "laws"),
    "silent: D{ln 2} [ F diverged ]": ("holds", "path"),
    "silent: D{ln(3/2)} [ F diverged ]": ("violated", "path"),
    "silent: P<1/2 [ X output = 2 ]": ("violated", "path"),
    "endless: P>=1 [ F stopped ]": ("holds", "path"),
    "endless: D{ln(3/2)} [ X tick & X X tick ]": ("holds", "path"),
    "endless: D{1/3} [ X tick & X X tick ]": ("violated", "path"),
    "c: P>=2/3 [ G !lost ]": ("violated", "path"),
    "c: D{1} [ F<=3 lost ]": ("holds", "path"),
    "c: P in [1/10, 1/4] [ lit R !lost ]": ("violated", "path"),
    "c: P in [0, 1] [ G F (lit | lost) ]": ("holds", "path"),
    "survey: D{ln 2} [ X Y ] & D{ln 9} [ X N ]": ("violated", "path"),
    "noise: D{1/3} [ X output >= 2 ]": ("violated", "path"),
    "noise: P>=1/5 [ X output = x ]": ("holds", "path"),
    "compose(survey, 20): dp(4, 1/1000)": ("violated", "sum"),
    "compose(survey, 3, survey(truth = 2/3), 2): dp(3, 1/100)": ("violated", "sum"),
    "compose(faint, 2): dp(ln 2, 1/10)": ("violated", "sum"),
    "group(survey, 2): dp(ln 2)": ("violated", "event"),
    "survey: dp(400000)": ("holds", "laws"),
    "long: dp(12 * ln 2)": ("holds", "laws"),
    "long(k = 30): dp(30 * ln 2)": ("nothing", "4,294,967,293 output sequences"),
    "rates: dp(1)": ("holds", "laws"),
    "survey: dp(1000000)": ("nothing", "power of e above"),
    "survey: dp(10^9 * ln 3)": ("nothing", "power or a root above"),
    "survey: dp(1/10^7 * ln 3)": ("nothing", "power or a root above"),
    "compose(survey, 20): dp(30)": ("nothing", "within its budget"),
    "survey: epsilon = ln 2": ("nothing", "claims of this kind"),
    "survey: P>=1 [ X D{0} [ X Y ] ]": ("nothing", "inside"),
    "survey: D{ln 3} [ X Y ] & D{ln 3} [ X N ]": ("nothing", "several"),
}


INFINITE = """
mechanism anywhere {
  input x in integers
  adjacent abs(x - x') <= 1
  y ~ geometric(x, exp(-1/2)) unbounded
  output y
}
mechanism forever {
  input q[1..] in integers
  adjacent linf(q, q') <= 1
  for i in 1.. { output q[i] }
}
check anywhere: dp(1/2)
refute anywhere: dp(1/4)
compute anywhere: epsilon
refute forever: dp(2)
"""

INFINITELY_MANY = "it is about infinitely many inputs"
TO_READ = f"{INFINITELY_MANY}, and `alignment` is for people to read"

SLOW = """
mechanism slow {
  input x in 0..1
  adjacent all
  for i in 1..30 { y ~ bernoulli(if x = 1 then 1/2 else 1/3)  output y }
}
check slow: dp(1)
"""


@pytest.fixture(scope="module")
def witnesses(tmp_path_factory):
    """Return the witnesses of all claims, by their text."""
    place = tmp_path_factory.mktemp("witnesses")
    claims = list(CLAIMS)
    lines = "\n".join(f"check {claim}" for claim in claims)
    model = place / "m.dpm"
    model.write_text(MODEL + lines, "utf-8")
    run(["check", str(model), "-q", "--format", "json", "--witness", str(place / "w")])
    first = MODEL.count("\n") + 1
    found = {}
    for file in (place / "w").iterdir():
        line = int(file.stem.split("-")[-2])
        found[claims[line - first]] = file.read_text("utf-8")
    return found


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_a_witness_proves_its_verdict_or_says_what_it_lacks(witnesses, claim):
    fields = json.loads(witnesses[claim])
    says, how = CLAIMS[claim]
    assert fields["says"] == says
    if says == "nothing":
        assert how in fields["lacks"]
        assert verify(witnesses[claim])[0] == 2
    else:
        assert fields["proof"] == how
        assert verify(witnesses[claim]) == (0, f"proved: {claim}: {says} on the chain in the file")
        assert len(witnesses[claim]) < 3000 or says == "holds"


@pytest.mark.parametrize(
    ("model", "options", "reasons"),
    [
        (INFINITE, [], [TO_READ, None, INFINITELY_MANY]),
        (SLOW, ["--max-states", "3"], ["the claim has no verdict"]),
    ],
)
def test_every_check_and_refute_has_a_file(model, options, reasons, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.dpm").write_text(model, "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w", *options])
    files = [file.read_text("utf-8") for file in sorted(Path("w").iterdir())]
    assert [json.loads(file).get("lacks") for file in files] == reasons
    assert [verify(file)[0] for file in files] == [0 if why is None else 2 for why in reasons]


def test_a_claim_on_all_integers_that_holds_has_its_alignment_to_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.dpm").write_text(INFINITE, "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w"])
    files = [json.loads(file.read_text("utf-8")) for file in sorted(Path("w").iterdir())]
    found = [file.get("alignment") for file in files]
    assert found == [["at most 1/2", "noise of y -1 to +1"], None, None]


def test_verify_needs_nothing_but_the_standard_library(witnesses, tmp_path):
    names = []
    for k, (claim, says) in enumerate((claim, says) for claim, (says, _) in CLAIMS.items()):
        if claim in witnesses and says != "nothing":
            names.append(tmp_path / f"{k}.json")
            names[-1].write_text(witnesses[claim], "utf-8")
    call = [sys.executable, "-I", "-S", str(VERIFY), *map(str, names)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("proved") == len(names)


def test_verify_is_short_enough_to_be_read():
    assert len(VERIFY.read_text("utf-8").splitlines()) <= 300


def test_a_rejected_file_counts_more_than_one_without_evidence(witnesses, tmp_path, capsys):
    (tmp_path / "a").write_text(witnesses["survey: dp(ln 2)"], "utf-8")
    (tmp_path / "b").write_text(witnesses["survey: epsilon = ln 2"], "utf-8")
    (tmp_path / "c").write_text(witnesses["survey: dp(ln 2)"].replace("3/4", "7/8"), "utf-8")
    places = [str(tmp_path / name) for name in "abc"]
    assert [main(places[:1]), main(places[:2]), main(places), main([])] == [0, 2, 1, 2]
    assert "the digest is another one" in capsys.readouterr().out


# --- mutations ---------------------------------------------------------------------------


def leaves(value, path=()):
    """Yield the place of every value in a file that is no list and no object."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def mutated(value, random_):
    """Return another value of the same kind."""
    if isinstance(value, int):
        return value + random_.choice([-1, 1])
    if isinstance(value, str) and value.lstrip("-").replace("/", "").isdigit():
        return str(Fraction(value) + Fraction(random_.choice([-1, 1]), 97))
    return random_.choice(["stopped", "Y"]) if value is None else f"{value}x"


def signed(fields):
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps({**fields, "digest": digest}, separators=(",", ":"))


def one_by_one(event):
    """Return sequences in which an output that comes n times is [output, n] no more."""
    return [
        [
            output
            for each in shown
            for output in (each[:1] * each[1] if type(each) is list else [each])
        ]
        for shown in event
    ]


def chance(fields, state, shown):
    """Return the chance that the runs of a state begin so, by recursion."""
    if not shown:
        return Fraction(1)
    steps = (step for seen, steps in fields["steps"] if seen == shown[0] for step in steps)
    following = [
        Fraction(w, under_of(fields, s)) * chance(fields, t, shown[1:])
        for s, w, t in steps
        if s == state
    ]
    return sum(following)


def under_of(fields, state):
    return fields.get("unders", {}).get(str(state), fields["denominator"])


def is_true_violation(fields):
    """Return whether the event exceeds the budget: by exact chances, and floats at the end."""
    leaving = Counter()
    for state, w, _ in (step for _, steps in fields["steps"] for step in steps):
        leaving[state] += w
    if any(total > under_of(fields, state) for state, total in leaving.items()):
        return False
    event = one_by_one(fields["event"])
    p, q = (
        sum(chance(fields, side["state"], shown) for shown in event) for side in fields["sides"]
    )
    ((m, a),) = fields["ln"]
    factor = float(Fraction(a)) ** float(Fraction(m)) * exp(Fraction(fields["rational"]))
    is_disjoint = len({json.dumps(shown) for shown in event}) == len(event)
    return is_disjoint and p - Fraction(fields["delta"]) - factor * float(q) > 1e-12


@pytest.mark.parametrize(
    "claim", ["survey: dp(ln 2)", "thrice: dp(ln 3, 1/5)", "silent: dp(ln(3/2))"]
)
def test_every_mutation_is_rejected_or_says_another_truth(witnesses, claim):
    original = json.loads(witnesses[claim])
    del original["digest"]
    random_ = random.Random(claim)
    places = [p for p, _ in leaves(original) if p[0] not in ("claim", "sha256", "format")]
    n_rejected = 0
    for _ in range(400):
        fields = copy.deepcopy(original)
        *way, last = random_.choice(places)
        inner = fields
        for key in way:
            inner = inner[key]
        inner[last] = mutated(inner[last], random_)
        unsigned = {**fields, "digest": json.loads(witnesses[claim])["digest"]}
        told = verify(json.dumps(unsigned, separators=(",", ":")))
        assert told == (1, "rejected: the digest is another one"), "the digest tells accidents"
        status, _ = verify(signed(fields))
        n_rejected += status == 1
        assert status == 1 or (status == 0 and is_true_violation(fields)), (way, last)
    assert n_rejected > 250


def test_an_event_within_a_budget_proves_nothing(witnesses):
    fields = json.loads(witnesses["survey: dp(ln 2)"])
    del fields["digest"]
    fields["ln"] = [["1", "3"]]
    assert verify(signed(fields))[0] == 1
    assert verify(signed({**fields, "says": "holds"}))[0] == 1


def test_overlapping_sequences_are_no_event(witnesses):
    fields = json.loads(witnesses["survey: dp(ln 2)"])
    del fields["digest"]
    fields["ln"], fields["event"] = [["1", "3"]], [["Y", None], ["Y"]]
    assert "overlap" in verify(signed(fields))[1]


def test_chances_that_solve_the_equations_by_never_leaving_are_rejected():
    fields = {
        "says": "holds", "proof": "path", "sides": [], "states": [0], "bounds": [[">=", "1"]],
        "goal": [1], "under": 1, "values": {"0": [1, 1]}, "denominator": 1,
        "rows": {"0": [[1, 0, None]]},
    }  # fmt: skip
    assert verify(forged(**fields)) == (1, "rejected: the rank of state 0 is wrong")


def forged(*, rows=None, **fields):
    """Return a file with a digest; rows are {state: [[weight, target, output]]}."""
    head = {"format": "dpcheck-witness/2", "claim": {"target": "c", "text": "forged"}}
    steps = [(x, [int(s), w, t]) for s, edges in (rows or {}).items() for w, t, x in edges]
    fields |= {} if rows is None else {"steps": [[x, [step]] for x, step in steps]}
    return signed({**head, **fields})


@pytest.mark.parametrize("m", ["1/1000000007", "1000000007", "-1/1000000007", "1000001/1000003"])
def test_a_budget_of_huge_powers_or_roots_is_rejected_at_once(witnesses, m):
    fields = json.loads(witnesses["survey: dp(ln 2)"])
    del fields["digest"]
    assert verify(signed({**fields, "ln": [[m, "2"]]})) == (1, "rejected: out of range")


def said_of_event(event, rows, chances, delta):
    sides = [
        {"input": "a", "state": 0, "probability": chances[0]},
        {"input": "b", "state": 1, "probability": chances[1]},
    ]
    return forged(
        says="violated",
        proof="event",
        delta=delta,
        sides=sides,
        event=event,
        denominator=4,
        rows=rows,
    )


ENDING = {"2": [[4, None, None]]}


def test_one_sequence_written_in_two_ways_does_not_count_twice():
    rows = {"0": [[3, 2, "Y"]], "1": [[1, 2, "Y"]], **ENDING}
    assert verify(said_of_event([["Y"]], rows, ("3/4", "1/4"), "2/5"))[0] == 0
    assert verify(said_of_event([["Y"]], rows, ("3/4", "1/4"), "3/5"))[0] == 1
    assert verify(said_of_event([["Y"], "Y"], rows, ("3/2", "1/2"), "3/5"))[0] == 1


@pytest.mark.parametrize("name", ["sparse_vector_variants", "endless_outputs"])
def test_the_largest_witnesses_of_the_models_are_short(name, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    run(["check", f"models/streams/{name}.dpm", "-q", "--witness", str(tmp_path)])
    files = [file.read_text("utf-8") for file in tmp_path.iterdir()]
    violated = [file for file in files if json.loads(file)["says"] == "violated"]
    assert [len(file) for file in violated if verify(file)[0] != 0 or len(file) >= 2000] == []
    assert len(violated) >= 6


def test_a_witness_of_an_older_format_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.dpm").write_text(MODEL + "check survey: dp(ln 3)", "utf-8")
    call = ["check", "m.dpm", "-q", "--witness", "w"]
    assert run(call) == 0
    (file,) = Path("w").iterdir()
    written = file.read_text("utf-8")
    file.write_text(written.replace("witness/2", "witness/1"), "utf-8")
    assert "another one" in verify(file.read_text("utf-8"))[1]
    assert run(call) == 0
    assert file.read_text("utf-8") == written


@pytest.mark.parametrize(
    "shown", [["Y", "Y", "Y", "N"], [["Y", 3], "N"], [["Y", 2], ["Y", 1], "N"]]
)
def test_an_output_n_times_in_a_row_is_written_once(shown):
    rows = {"0": [[2, 0, "Y"], [1, 2, "N"]], "1": [[1, 1, "Y"], [1, 2, "N"]]}
    told = {p: verify(said_of_event([shown], rows, (p, "1/256"), "0"))[0] for p in ("1/32", "1/16")}
    assert told == {"1/32": 0, "1/16": 1}
    twice = [shown, ["Y", ["Y", 2], "N"]]
    assert "overlap" in verify(said_of_event(twice, rows, ("1/16", "1/128"), "0"))[1]


def test_a_chance_may_be_a_product_of_powers():
    rows = {"0": [[2, 0, "Y"], [1, 2, "N"]], "1": [[1, 1, "Y"], [1, 2, "N"]]}
    told = [
        verify(said_of_event([[["Y", 400], "N"]], rows, chances, "0"))[0]
        for chances in (
            ("2^-402", "4^-401"),
            ("4^1*2^-404", "3^2*9^-1*2^-802"),
            ("2^-401", "4^-401"),
        )
    ]
    assert told == [0, 0, 1]


def test_a_long_event_is_a_short_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    claim = "check endless: dp(300 * ln(3/2))"
    Path("m.dpm").write_text(MODEL + claim, "utf-8")
    run(["check", "m.dpm", "-q", "--witness", "w"])
    (file,) = Path("w").iterdir()
    fields = json.loads(file.read_text("utf-8"))
    assert verify(file.read_text("utf-8"))[0] == 0
    ((shown,),) = fields["event"]
    assert shown == ["tick", 302]
    assert [side["probability"] for side in fields["sides"]] == ["2^-301", "3^-301"]


def test_only_the_first_of_a_run_s_states_has_a_denominator_of_its_own():
    sides = [{"input": "a", "state": 0, "probability": "3/4"}]
    sides += [{"input": "b", "state": 1, "probability": "1/4"}]
    claim = {"says": "violated", "proof": "event", "delta": "2/5", "event": [["Y"]]}
    own = {"denominator": 1, "unders": {"0": 4, "1": 8}, "sides": sides}
    rows = {"0": [[3, 2, "Y"]], "1": [[2, 2, "Y"]], "2": [[1, None, None]]}
    assert verify(forged(**claim, **own, rows=rows))[0] == 0
    assert verify(forged(**claim, **{**own, "unders": {"0": 4, "1": 2}}, rows=rows))[0] == 1
    entered = {**rows, "2": [[1, 0, "Z"]]}
    told = verify(forged(**claim, **own, rows=entered))
    assert told == (1, "rejected: row 2 leads to a start, or a weight is not positive")


def test_laws_over_two_denominators_are_compared_as_they_are():
    fields = {
        "says": "holds", "proof": "laws", "delta": "0", "ln": [["1", "3"]], "inputs": {},
        "pairs": [[0, 1]], "length": 2, "denominator": 1, "unders": {"0": 4, "1": 8},
    }  # fmt: skip
    rows = {"0": [[3, 2, "Y"], [1, 2, "N"]], "1": [[2, 2, "Y"], [6, 2, "N"]]}
    ending = {"2": [[1, None, None]]}
    assert verify(forged(**fields, rows={**rows, **ending}))[0] == 0
    lower = {"0": [[3, 2, "Y"], [1, 2, "N"]], "1": [[1, 2, "Y"], [7, 2, "N"]]}
    assert verify(forged(**fields, rows={**lower, **ending}))[0] == 1


def test_laws_leave_no_runs_out():
    fields = {
        "says": "holds", "proof": "laws", "delta": "0", "inputs": {}, "pairs": [[0, 1]],
        "length": 2, "denominator": 4, "rows": {"0": [[3, 2, "Y"]], "1": [[3, 2, "Y"]], **ENDING},
    }  # fmt: skip
    assert verify(forged(**fields)) == (1, "rejected: row 0 does not sum to 1")


def test_nobody_sees_a_step_that_shows_nothing():
    rows = {"0": [[4, 3, None]], "3": [[4, 2, "Y"]], "1": [[4, 2, "Y"]], **ENDING}
    told = verify(said_of_event([[None, "Y"]], rows, ("1", "0"), "0"))
    assert told == (1, "rejected: row 0: a step is silent")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"state":0', '"state":0.0', "a number is not written as one"),
        ('"state":0', '"state":false', "a number is not written as one"),
        ('"delta":"0"', '"delta":NaN', "a number is not written as one"),
        ('"state":0', '"state":1,"state":0', "not as json.dumps writes it tersely"),
        ('"state":0', '"state": 0', "not as json.dumps writes it tersely"),
        ('"state":0', '"state":"0"', "a side has another chance"),
        ('"probability":"3/4"', '"probability":"3**4"', "'3**4' is no fraction"),
        ('"probability":"3/4"', '"probability":"3^4^5"', "'3^4^5' is no fraction"),
        ('"probability":"3/4"', '"probability":"-3^2"', "'-3^2' is no fraction"),
        ('"probability":"3/4"', '"probability":"3*4^-1"', "'3*4^-1' is no fraction"),
        ('"event":[["Y"', '"event":[[["Y",1000000]', "an output is shown too often"),
        ('"denominator":1', '"denominator":[[1,0],[4,0]]', "has a power twice"),
    ],
)
def test_everything_is_written_in_one_way_only(witnesses, old, new, why):
    fields = json.loads(witnesses["survey: dp(ln 2)"])
    text = json.dumps(fields, separators=(",", ":"))
    assert old in text
    status, said = verify(resigned(text.replace(old, new, 1)))
    assert status == 1
    assert why in said


def resigned(text):
    """Return a text with the digest of what a lenient reader takes from it."""
    fields = json.loads(text)
    old = fields.pop("digest")
    return text.replace(old, json.loads(signed(fields))["digest"])


def test_a_length_beyond_all_rows_is_rejected_at_once(witnesses):
    fields = json.loads(witnesses["survey: dp(ln 3)"])
    del fields["digest"]
    assert "than all rows" in verify(signed({**fields, "length": 10**12}))[1]


def test_a_part_runs_at_least_once(witnesses):
    fields = json.loads(witnesses["compose(survey, 20): dp(4, 1/1000)"])
    del fields["digest"]
    fields["parts"].append({"times": -1, "outputs": fields["parts"][0]["outputs"]})
    assert verify(signed(fields)) == (1, "rejected: a part never runs, or too often")
    fields["parts"][-1]["times"] = 10**12
    assert verify(signed(fields)) == (1, "rejected: a part never runs, or too often")


def test_powers_that_take_too_long_are_out_of_range(witnesses):
    fields = json.loads(witnesses["compose(survey, 20): dp(4, 1/1000)"])
    del fields["digest"]
    fields["parts"][0]["times"] = 10**5
    assert verify(signed(fields)) == (1, "rejected: out of range")
    fields = json.loads(witnesses["noise: dp(49/100)"])
    del fields["digest"]
    assert verify(signed({**fields, "ln": [["1/49999", "2"]]})) == (1, "rejected: out of range")


def test_laws_of_runs_as_long_as_any_certificate_s_are_followed(tmp_path):
    n = 5_000
    rows = {str(i): [[1, i + 1, "Y"]] for i in range(n - 1)} | {str(n - 1): [[1, None, None]]}
    claim = {"says": "holds", "proof": "laws", "delta": "0", "inputs": {}, "pairs": [[0, 0]]}
    (tmp_path / "w").write_text(forged(**claim, length=n, denominator=1, rows=rows), "utf-8")
    call = [sys.executable, "-I", "-S", str(VERIFY), str(tmp_path / "w")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("holds on the chain in the file\n"), done.stdout + done.stderr


@pytest.mark.parametrize("depth", [5_000, 200_000])
def test_brackets_within_brackets_end_no_process(depth, tmp_path):
    text = signed({"format": "dpcheck-witness/2", "says": "holds", "proof": "laws", "length": 0})
    (tmp_path / "w").write_text(text.replace("0", "[" * depth + "]" * depth), "utf-8")
    call = [sys.executable, "-I", "-S", str(VERIFY), str(tmp_path / "w")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2), done.stdout[:200] + done.stderr[-200:]
    assert not done.stderr


@pytest.mark.parametrize("field", ["delta", "rational", "unit"])
def test_an_exponent_makes_no_number_of_a_billion_digits(witnesses, field):
    fields = json.loads(witnesses["noise: dp(49/100)"])
    del fields["digest"]
    told = verify(signed({**fields, field: "1e-999999999"}))
    assert told == (1, "rejected: '1e-999999999' is no fraction")


def test_a_claim_that_cannot_be_shown_as_it_is_tells_of_no_other_file(tmp_path, capsys):
    claim = {"target": "\ud800", "text": "x\nother: proved"}
    text = forged(says="nothing", lacks="it").replace('"target":"c","text":"forged"', "%s")
    text = resigned(text % json.dumps(claim, separators=(",", ":"))[1:-1])
    (tmp_path / "w").write_text(text, "utf-8")
    assert main([str(tmp_path / "w")]) == 2
    said = capsys.readouterr().out
    assert said == f"{tmp_path / 'w'}: \\ud800: x\\nother: proved: not proved here: it\n"


def test_outputs_are_texts_and_true_is_not_1():
    rows = {
        "0": [[3, 2, 1], [1, 2, True]], "1": [[1, 2, 1], [3, 2, True]], **ENDING
    }  # fmt: skip
    told = verify(
        forged(
            says="holds", proof="laws", delta="0", inputs={}, pairs=[[0, 1]], length=2,
            denominator=4, rows=rows,
        )
    )  # fmt: skip
    assert told[0] == 1


@pytest.mark.parametrize(
    "outputs",
    [
        [[["Y", None], 1, 1, 0], [["Y", None], 0, 0, 1]],
        [[["Y"], 1, 1, 0], [["Y", None], 0, 0, 1]],
    ],
)
def test_an_output_of_a_part_has_one_score(outputs):
    sides = [{"input": "a", "probability": "1"}, {"input": "b", "probability": "0"}]
    parts = [{"times": 1, "outputs": outputs}]
    told = verify(
        forged(says="violated", proof="sum", delta="1/2", sides=sides, least=1, parts=parts)
    )
    assert told == (1, "rejected: overlapping")


def path_claim(**changed):
    fields = {
        "goal": [2], "under": 2, "values": {"0": [1, 2], "1": [1, 1]}, "denominator": 2,
        "rows": {"0": [[2, 1, None]], "1": [[1, 2, None]]}, "sides": [],
        "states": [0], "bounds": [["<=", "1/2"]],
    }  # fmt: skip
    return verify(forged(says="holds", proof="path", **{**fields, **changed}))


def test_a_goal_is_a_goal_and_a_state_is_a_number():
    assert path_claim()[0] == 0
    assert path_claim(goal=[1, 2]) == (1, "rejected: state 0 has another probability")
    told = path_claim(values={"0": [1, 2], "1": [1, 1], "2": [0, 0]}, bounds=[["<=", "1/4"]])
    assert told[0] == 1
    assert path_claim(goal=[2, "0"], states=["0"], bounds=[[">=", "1"]])[0] == 1
    assert path_claim(states=["0"], bounds=[["<", "1/4"]])[0] == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"digest": 1}', '"x"', "1e999", MODEL])
def test_what_is_no_witness_cannot_be_read(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("w.json").write_text(text, "utf-8")
    assert (run(["verify", "w.json"]), run(["replay", "w.json"])) == (2, 1)
    shown = capsys.readouterr()
    why = "a witness is JSON with a format and a digest"
    assert shown.out == f"w.json: cannot be read: {why}\n"
    assert f"`w.json` proves nothing: {why}" in shown.err


def test_a_witness_without_its_fields_is_rejected():
    assert verify(signed({"format": "dpcheck-witness/2"})) == (
        1, "rejected: it is malformed, KeyError('says')"
    )  # fmt: skip


# --- powers of e -------------------------------------------------------------------------


@pytest.mark.parametrize("x", ["0", "1/1000", "1/3", "7/2", "300"])
@pytest.mark.parametrize("bits", [64, 200])
def test_bounds_of_powers_of_e_are_close(x, bits):
    low, high = exp_bounds(Fraction(x), bits)
    with localcontext() as context:
        context.prec = 400
        number = (Decimal(Fraction(x).numerator) / Fraction(x).denominator).exp() * 2**bits
        assert low <= number <= high
    assert (high - low) * 2**bits < 16 * high


def test_powers_of_e_far_apart_are_compared_at_once():
    witness = Verified({"unit": "1"})
    signs = [witness.sign(Polynomial({0: -c, 400_000: c})) for c in (1, -1)]
    assert signs == [1, -1]
    with pytest.raises(ValueError, match="out of range"):
        witness.sign(Polynomial({0: -1, 10**6: 1}))


# --- files -------------------------------------------------------------------------------


def test_a_file_that_is_no_witness_is_not_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(MODEL + "check survey: dp(ln 3)", "utf-8")
    call = ["check", "m.dpm", "-q", "--witness", "w"]
    assert run(call) == run(call) == 0
    (file,) = (tmp_path / "w").iterdir()
    file.write_text("mine", "utf-8")
    capsys.readouterr()
    assert run(call) == 2
    assert file.read_text("utf-8") == "mine"
    assert "DP011" in capsys.readouterr().err


def test_a_directory_that_cannot_be_made_is_a_mistake(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.dpm").write_text(MODEL + "check survey: dp(ln 3)", "utf-8")
    (tmp_path / "w").write_text("", "utf-8")
    assert run(["check", "m.dpm", "-q", "--witness", "w/x"]) == 2
    assert "DP012" in capsys.readouterr().err
