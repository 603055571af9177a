"""The example models and the library: every claim in them is as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcheck.parse import parse_model
from dpcheck.source import SourceText
from tests.checking import check_text

ROOT = Path(__file__).parent.parent
MODELS = sorted((ROOT / "models").rglob("*.dpm"))
LIBRARY = sorted((ROOT / "dpcheck" / "std").glob("*.dpm"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_claim_of_the_model_is_as_it_says(path):
    report = check_text(path.read_text(encoding="utf-8"))
    assert not report.get("errors"), report["errors"]
    wrong = [result for result in report["results"] if not result["ok"]]
    assert not wrong
    assert report["results"]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_no_claim_of_a_model_is_vacuous(path):
    report = check_text(path.read_text(encoding="utf-8"))
    vacuous = [
        (result["target"], result["claim"])
        for result in report["results"]
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


@pytest.mark.parametrize("path", [*MODELS, *LIBRARY], ids=lambda path: path.stem)
def test_a_model_says_what_it_models_and_its_adjacency(path):
    comments = [
        line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")
    ]
    assert any("Adjacency:" in line for line in comments)
    assert any("Models:" in line or "Source:" in line for line in comments)
