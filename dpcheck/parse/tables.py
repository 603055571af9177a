"""The LALR(1) tables of `grammar/dpm.lark`, from the text that `generate` writes.

A run of dpcheck neither imports Lark nor builds tables, which takes longer than most verdicts.
"""

from __future__ import annotations

from pathlib import Path

TABLES = Path(__file__).with_name("tables.txt")

_STARTS, _WORDS, _OPERATORS, _PATTERNS, _RULES, _ROWS = (
    section.split("\n") for section in TABLES.read_text("utf-8").removesuffix("\n").split("\n%\n")
)

START_STATES = {name: int(start) for name, start, _ in map(str.split, _STARTS)}
END_STATES = {name: int(end) for name, _, end in map(str.split, _STARTS)}

WORDS = {text: name for name, text in map(str.split, _WORDS)}
"""The terminals that are words, by their texts."""

OPERATORS = {text: name for name, text in map(str.split, _OPERATORS)}
"""The terminals that are operators or brackets, by their texts."""

PATTERNS = dict(line.split(" ", maxsplit=1) for line in _PATTERNS)
"""The regular expressions of the other terminals, by name."""

RULES = _RULES
"""A line for each rule: origin, number of symbols, builder function (`-`: pass on), and the
positions of the symbols it receives."""

ROWS = _ROWS
"""A line for each state: name action name action ..."""
