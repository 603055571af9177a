"""A line ends with LF, CR LF, or CR alone."""

from __future__ import annotations

import pytest

from dpcheck.parse import parse_model
from dpcheck.source import SourceText

LINES = ("# first", "const a = 1 # one", "// no", "const b = 'B", "const c = 3", "oops")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_ends_comments_and_quotes_and_counts(end):
    source = SourceText("test.dpm", end.join(LINES))
    parsed = parse_model(source)
    found = [(type(mistake).__name__, mistake.span.line) for mistake in parsed.mistakes]
    expected = parse_model(SourceText("test.dpm", "\n".join(LINES))).mistakes
    assert found == [(type(mistake).__name__, mistake.span.line) for mistake in expected]
    assert {line for _, line in found} == {3, 4, 6}
    assert [item.name.name for item in parsed.model.items] == ["a", "c"]
    assert [source.line(i + 1) for i in range(len(LINES))] == list(LINES)
