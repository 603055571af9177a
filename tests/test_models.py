"""The example models, the library, and the page that shows both: every claim is as it says."""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path

import pytest

from docs.generate_library import FOLDERS, PAGE, library_part, model_part, models
from dpcheck.parse import parse_model
from dpcheck.pipeline.sources.library import library
from dpcheck.source import SourceText
from tests.checking import check_text, outcome

ROOT = Path(__file__).parent.parent
MODELS = sorted((ROOT / "models").rglob("*.dpm"))
BUGS = sorted((ROOT / "models" / "bugs").glob("*.dpm"))
LIBRARY = sorted((ROOT / "dpcheck" / "std").glob("*.dpm"))


def shown(path):
    return path.relative_to(ROOT).as_posix()


@functools.cache
def report_on(path):
    return check_text(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODELS, ids=shown)
def test_every_claim_of_the_model_is_as_it_says(path):
    report = report_on(path)
    assert not report.get("errors"), report["errors"]
    wrong = [result for result in report["results"] if not result["ok"]]
    assert not wrong
    assert report["results"]
    # What the command line says about the file stands on the page of the library, word for word.
    assert model_part(path, report["results"]) in PAGE.read_text("utf-8"), (
        "docs/library.md is out of date; docs/generate_library.py writes it"
    )


@pytest.mark.parametrize("path", MODELS, ids=shown)
def test_no_claim_of_a_model_is_vacuous(path):
    vacuous = [
        (result["target"], result["claim"])
        for result in report_on(path)["results"]
        if result.get("vacuous") and result["claim"] != "D{0} [ F stopped ]"
    ]
    assert not vacuous


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_a_library_file_declares_its_mechanism_and_makes_no_claims(path):
    result = parse_model(SourceText(path.name, path.read_text(encoding="utf-8")))
    assert not result.mistakes
    kinds = {type(item).__name__ for item in result.model.items}
    assert "Question" not in kinds
    assert "QuestionsFor" not in kinds
    assert path.stem in {item.name.name for item in result.model.items}


def test_every_library_mechanism_with_clamped_noise_has_a_form_on_all_integers():
    text = "\n".join(re.sub(r"#.*", "", path.read_text("utf-8")) for path in LIBRARY)
    bodies = dict(re.findall(r"(?ms)^mechanism (\w+)(.*?)^}", text))
    clamped = {name for name, body in bodies.items() if "clamped" in body}
    assert len(clamped) > 30
    unbounded = {name for name, body in bodies.items() if " unbounded" in body}
    forms = {name.removeprefix("unbounded_") for name in unbounded}
    # `noise_unbounded`, `unbounded_geometric`; a difference of two numbers without bounds has none.
    assert clamped - forms == {"noisy_count", "truncated_geometric", "sparse_vector_with_gap"}


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_a_model_imports_every_library(path):
    imports = [text for model in MODELS for text in model.read_text("utf-8").split("\n")]
    assert f"import std.{path.stem}" in imports


def test_libraries_do_not_share_names_so_that_any_can_be_imported_together():
    owners = {}
    for path in LIBRARY:
        model = parse_model(SourceText(path.name, path.read_text("utf-8"))).model
        for item in model.items:
            owners.setdefault(item.name.name, []).append(path.stem)
    assert {name: stems for name, stems in owners.items() if len(stems) > 1} == {}
    everything = "".join(f"import std.{path.stem}\n" for path in LIBRARY)
    report = check_text(everything + "check survey: epsilon = ln 3\n")
    assert outcome(report) == [("check", "survey", "epsilon = ln 3", "holds")]


@pytest.mark.parametrize("path", [*MODELS, *LIBRARY], ids=shown)
def test_a_model_says_what_it_models_and_its_adjacency(path):
    comments = [
        line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")
    ]
    assert comments[0].endswith((".", "?")), "the first line is a title of its own"
    assert comments[1] == "#"
    assert any("Adjacency:" in line for line in comments)
    assert any("Models:" in line or "Source:" in line for line in comments)


@pytest.mark.parametrize("path", [*MODELS, *LIBRARY], ids=shown)
def test_a_model_chooses_its_kind_of_adjacency(path):
    lines = itertools.takewhile(
        lambda line: line.startswith("#"), path.read_text("utf-8").split("\n")
    )
    header = " ".join(line.strip("# ") for line in lines)
    part = re.search(r"Adjacency: (.*?) (?:Proved|Guarantee|Caution|Limits|Use):", header)[1]
    assert re.search(r"\b(add/remove|replace-one)\b", part)
    assert "add/remove or replace-one" not in part.lower()


@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.stem)
def test_a_bug_names_its_report_refutes_the_claim_and_checks_a_fixed_twin(path):
    text = path.read_text("utf-8")
    number = re.search(r"_(\d+)_", path.stem)[1]
    assert re.search(rf"(issues?|pull request) [^.:;]*\b{number}\b", " ".join(text.split()))
    kinds = {
        (result["kind"], (result["name"] or "").split(",")[0])
        for result in report_on(path)["results"]
    }
    assert ("check", "fixed") in kinds
    assert any(kind == "refute" for kind, _ in kinds)


def test_the_page_of_the_library_shows_every_file_once_and_nothing_else():
    page = PAGE.read_text("utf-8")
    assert library_part() in page
    headings = re.findall(r"(?m)^### \[\w+\]\(\.\./(.*)\)$", page)
    assert headings == [shown(path) for folder in FOLDERS for path in models(folder)]
    assert sorted(headings) == sorted(map(shown, MODELS))


def test_every_library_has_a_title_in_the_list():
    assert [file.name for file in library()] == [path.stem for path in LIBRARY]
    assert all(file.title for file in library())


# --- known truths about bugs that shipped ------------------------------------------------------

TRUTHS = {
    "opendp_2922_threshold": [
        ("refute", "shown_from_threshold", "dp(ln 2, 1/48)", "violated"),
        ("check", "shown_from_threshold", "delta(ln 2) = 1/24", "holds"),
    ],
    "opendp_2707_last_bit": [
        ("refute", "last_bit_exact", "dp(ln 9)", "violated"),
        ("check", "last_bit_exact", "epsilon = inf", "holds"),
        ("check", "last_bit_exact", "delta(ln 9) = 1", "holds"),
    ],
    "pure_ldp_11_unary_encoding": [
        ("refute", "true_bit_not_cleared", "dp(ln 3)", "violated"),
        ("check", "true_bit_not_cleared", "epsilon = ln 5", "holds"),
        ("refute", "true_bit_not_cleared(p = 2/3, q = 1/3)", "dp(ln 4)", "violated"),
        ("check", "true_bit_not_cleared(p = 2/3, q = 1/3)", "epsilon = ln 7", "holds"),
    ],
    "opendp_480_lie": [
        ("refute", "lie_may_be_true_bool", "dp(ln 3)", "violated"),
        ("check", "lie_may_be_true_bool", "epsilon = ln 7", "holds"),
    ],
}


@pytest.mark.parametrize("stem", TRUTHS)
def test_a_shipped_bug_costs_what_is_known_of_it(stem):
    found = outcome(report_on(ROOT / "models" / "bugs" / f"{stem}.dpm"))
    assert [truth for truth in TRUTHS[stem] if truth not in found] == []
