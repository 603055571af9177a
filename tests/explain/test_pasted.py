"""What a report offers to write, pasted as it is shown, makes the claim true.

`DPCHECK_ALL_MODELS=1` looks at all models, which takes minutes; else at those of the golden texts
and a few others, chosen anew when files come in.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.check.values.amounts import number_amount
from dpcheck.check.values.verdicts import Enough
from dpcheck.limits import RunLimits
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.report.answers import Answer
from dpcheck.report.notation import enough_text, readable
from dpcheck.report.text import answer_text
from tests.explain.explaining import seeded

ROOT = Path(__file__).resolve().parents[2]
OWN = [each for each in ROOT.glob("tests/golden/[a-z]*.dpm") if "utf8" not in each.name]
OTHERS = [*ROOT.glob("models/**/*.dpm"), *ROOT.glob("dpcheck/std/*.dpm")]
ALONE = sorted(path for path in OTHERS if 'import "' not in path.read_text("utf-8"))
CHOSEN = ALONE if os.environ.get("DPCHECK_ALL_MODELS") else seeded(len(ALONE)).sample(ALONE, 12)


def checked(text, folder, definitions=()):
    """Return the answers of a model's claims, with short explanations."""
    (folder / "model.dpm").write_text(text, "utf-8")
    options = Options(definitions, n_explained=0, limits=RunLimits(100_000, 2))
    events = check_paths([str(folder / "model.dpm")], options)
    return [event for event in events if isinstance(event, Answer)]


def tight_row(answer):
    """Return the row `tight`, or `at least`, as it is shown, in one line."""
    found = re.search(
        r"^( +)(?:tight|at least) +(.*(?:\n\1 {8,}.*)*)", answer_text(answer), re.MULTILINE
    )
    return "" if found is None else " ".join(found[2].split())


def offered(claim, row):
    """Yield the claims that are to be true by a row `tight`."""
    path = claim[claim.find("}") + 1 :]
    relation = re.match(r"([PE])=\? *(\[.*\])|([PE]) *(?:in \[.*?\]|[<>=]+.*?)(?= *\[)", claim)
    if row.startswith(("one of these would do: ", "this would do: ")):
        for each in row.partition(": ")[2].split("; "):
            text, _, below = each.partition(" for every epsilon below ")
            made = text.replace("!D", f"!D{{{below} - 1/10^9}}") if below else text
            yield f"({claim}) | ({made})"
    elif row.startswith("all of these: "):
        if "is false, too" not in row:
            yield " & ".join(row.removeprefix("all of these: ").split("; "))
    elif row.startswith("inner D"):
        yield re.sub(r"D *\{.*?\}", row.removeprefix("inner ").partition(": ")[0], claim)
    elif found := re.match(r"D is false for every epsilon below (.*)", row):
        yield re.sub(r"D *\{[^,}]*", f"D{{{found[1]} - 1/10^9", claim)
    elif found := re.match(r"holds (?:up to|from|as) [PE]([<>= ].*?)(?: on)?$", row):
        word, path = relation[1] or relation[3], relation[2] or claim[relation.end() :]
        yield f"{word}{found[1]} {path}"
    elif found := re.match(r"holds with (?:the bound (.*), or with )?.* failure (.*)", row):
        target, bound = re.fullmatch(r"accuracy\((.*), [^,]*\) <= (.*)", claim).groups()
        yield f"accuracy({target}, {found[2]}) <= {bound}"
        if found[1]:
            yield re.sub(r"<= .*", f"<= {found[1]}", claim)
    elif row.endswith(" would do"):
        yield from (made + path for made in row.removesuffix(" would do").split(" or "))
    elif not row.startswith("no bound would do") and row != "D is true for every epsilon":
        row = row.partition(" (seen in the first ")[0]
        yield from (each for each in row.split("; ") if " >= " in each)
        for name, value in values(row.split("; ")):
            word, _, given = name.partition("(")
            if word == "epsilon":
                yield f"dp({value}{f', {given[:-1]}' * bool(given)})"
            else:
                yield f"dp({given[:-1]}, {value})"


def values(texts):
    """Yield names and numbers of `delta(2) = 1/3 <= 0.3333334`, but for lower bounds and `inf`."""
    for text in texts:
        name, *numbers = re.split(r" (?:=|<=) ", text)
        for number in numbers:
            if not number.startswith("inf"):
                yield name, number


def at_a_value(row):
    """Return the claims about some values, the definition of one, and what is so there."""
    row = re.sub(r"^epsilon[^;]* for \w+ in [^;]*; ", "", row)  # that is for all values
    found = re.fullmatch(
        r"((?:check .*?; )*)(?:rounded inward: [^;]*; )?with -D (\S+|'.*?'): (.*)", row
    )
    return ((), (), row) if found is None else (found[1].split("; ")[:-1], (found[2],), found[3])


NEAR = st.integers(-9, 9).map(lambda n: Fraction(n, 10**30))


@given(st.fractions(max_denominator=10**8), NEAR, st.sampled_from(["<=", ">="]))
def test_a_rounded_number_is_on_its_side(middle, off, side):
    for value in (middle + off, Fraction(round(middle * 10**6), 10**6) + off):
        found = Enough(number_amount(fmpq(value.numerator, value.denominator)), side)
        shown = Fraction(enough_text(found, lambda amount: readable(amount, 0)))
        assert shown == value or (shown > value) == (side == "<=")
        assert abs(shown - value) <= Fraction(2, 10**6) * abs(value)


@pytest.mark.parametrize("path", [*sorted(OWN), *CHOSEN], ids=lambda path: path.stem)
def test_what_would_make_a_claim_true_does_so_as_it_is_shown(path, tmp_path):
    text = re.sub(r"^(\s*)refute\b", r"\1check", path.read_text("utf-8"), flags=re.MULTILINE)
    targets = re.findall(r"^mechanism (\w+)", text, flags=re.MULTILINE)
    asked = "".join(f"check {target}: dp(1/7, 1/500)\n" for target in targets)
    pasted = defaultdict(list)
    for answer in checked(f"{text}\n{asked}", tmp_path):
        at = "" if answer.at is None else f" at {answer.at}"
        if answer.explanation is not None:
            asks, definitions, row = at_a_value(tight_row(answer))
            pasted[()] += asks
            made = offered(answer.claim, row)
            pasted[definitions] += [f"check {answer.target}{at}: {claim}" for claim in made]
    for definitions, claims in ((key, found) for key, found in pasted.items() if found):
        told = checked("\n".join([text, *claims]), tmp_path, definitions)[-len(claims) :]
        assert len(told) == len(claims)
        assert [(each.target, each.claim) for each in told if not each.is_ok] == []
