"""The page that leads from the source documents to the models says what the models say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate_library import MODELS
from tests.test_models import report_on

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "sources.md"
FOLDERS = ("dpctl", "correlated", "anonymity", "beliefs", "building_blocks")
"""The folders of models/ that belong to one document each."""


def rows():
    """Return (system, model file, [(claim name, verdict)]) of every row of the page."""
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| system "):
            system, model, claims, *_ = re.split(r"(?<!\\)\|", line)[1:]
            (path,) = re.findall(r"\]\(\.\./(models/[^)]+)\)", model)
            named = re.findall(r'"([^"]+)" (holds|violated)', claims)
            assert len(named) == len(claims.split(";")), f"a claim without a verdict: {claims}"
            unescaped = [(name.replace("\\|", "|"), verdict) for name, verdict in named]
            found.append((system.strip(), ROOT / path, unescaped))
    return found


ROWS = rows()


def test_every_document_has_a_table_and_every_row_names_claims():
    headings = re.findall(r"(?m)^## (.*)$", PAGE.read_text("utf-8"))
    assert len(headings) == len(FOLDERS)
    assert len(ROWS) > 40
    assert all(claims for _, _, claims in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_named_claim_exists_and_comes_out_as_said(row):
    _, path, claims = row
    verdicts: dict[str, set[str]] = {}
    for result in report_on(path)["results"]:
        assert result["ok"]
        if result["name"]:
            verdicts.setdefault(result["name"], set()).add(result["verdict"])
    assert {name: verdicts.get(name) for name, _ in claims} == {
        name: {verdict} for name, verdict in claims
    }


def test_every_model_of_a_document_stands_on_the_page():
    named = {path for _, path, _ in ROWS}
    assert {path for folder in FOLDERS for path in (MODELS / folder).glob("*.dpm")} <= named


def test_the_readme_leads_to_the_page():
    assert "](docs/sources.md)" in (ROOT / "README.md").read_text("utf-8")
