"""Mechanisms from their text."""

from __future__ import annotations

from dpcheck.parse.parse import parse_model
from dpcheck.resolve import resolve_model
from dpcheck.source import SourceText


def mechanism(text):
    """Return the mechanism `m` of a text."""
    parsed = parse_model(SourceText("main.dpm", f"{text}\ncheck m: dp(1)"))
    assert parsed.mistakes == ()
    resolved = resolve_model(parsed.model)
    assert [m.title for m in resolved.mistakes if m.severity == "error"] == []
    return resolved.checks[0].target
