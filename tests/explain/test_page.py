"""The reports on the page that explains them are those that come out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reading-a-counterexample.md").read_text("utf-8")
BLOCKS = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
GOLDEN = [path.read_text("utf-8") for path in (ROOT / "tests" / "golden").glob("*.txt")]


def lines_of(text):
    """Return the lines of a text, without the places of claims, which stand flush right."""
    return [re.sub(r" +\S+\.dpm:\d+$", "", line) for line in text.splitlines()]


def has_in_turn(lines, wanted):
    rest = iter(lines)
    return all(line in rest for line in wanted)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("  ")[3].strip())
def test_a_report_on_the_page_comes_out_as_it_stands_there(block):
    assert any(has_in_turn(lines_of(golden), lines_of(block)) for golden in GOLDEN)


def test_the_page_shows_reports():
    assert len(BLOCKS) > 2
