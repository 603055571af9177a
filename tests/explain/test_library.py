"""Every violation of the library and of the examples has a report that fits into 100 columns.

`DPCHECK_ALL_MODELS=1` looks at all of them, which takes a minute; else at a few, chosen anew when
files come in.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from dpcheck.limits import RunLimits
from dpcheck.report.characters import width
from dpcheck.report.text import answer_text
from tests.explain.explaining import answers, seeded

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path
    for folder in ("models", "dpcheck/std")
    for path in (ROOT / folder).rglob("*.dpm")
    if 'import "' not in path.read_text("utf-8")
)
CHOSEN = FILES if os.environ.get("DPCHECK_ALL_MODELS") else seeded(len(FILES)).sample(FILES, 6)


@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.stem)
def test_a_claim_that_is_refuted_has_a_report_of_at_most_100_columns(path, tmp_path):
    text = re.sub(r"^(\s*)refute\b", r"\1check", path.read_text("utf-8"), flags=re.MULTILINE)
    targets = re.findall(r"^mechanism (\w+)", text, flags=re.MULTILINE)
    asked = "".join(f"check {target}: dp(0, 1/50)\n" for target in targets)
    for answer in answers(f"{text}\n{asked}", tmp_path, limits=RunLimits(2_000, 2)):
        if answer.explanation is None:
            continue
        assert max(map(width, answer_text(answer).splitlines())) <= 98
