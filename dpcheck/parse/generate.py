"""Write the parser's tables: `python -m dpcheck.parse.generate`.

Lark computes the LALR(1) automaton of `grammar/dpm.lark`; this module writes it down as a Python
module of plain constants, so that a run of dpcheck neither imports Lark nor builds tables. It is
the only module that uses Lark (an extra of the tests, not a dependency).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lark import Lark
from lark.parsers.lalr_analysis import ParseTableBase

START_SYMBOLS = ("model", "expression")
DECLARED = ("PATTERN_OPEN", "ARG_NAME", "AT", "BREAK")
"""Terminals without patterns, made by the lexer's look around."""

REPOSITORY = Path(__file__).parents[2]
GRAMMAR = REPOSITORY / "grammar" / "dpm.lark"
TABLES = Path(__file__).parent / "generated_tables.py"


def main() -> None:
    """Generate the tables from the grammar and write them beside this module."""
    TABLES.write_text(tables_module(GRAMMAR.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {TABLES}")  # noqa: T201


def tables_module(grammar: str) -> str:
    """Return the text of the module of tables for a grammar.

    A row of the automaton maps a terminal or rule name to a number: `n >= 0` shifts to (or goes
    to) state n, `n < 0` reduces by rule `-n - 1`. States are numbered in the order of a
    breadth-first walk, so equal grammars give equal tables.
    """
    lark = Lark(grammar, parser="lalr", lexer="basic", start=list(START_SYMBOLS))
    rules = list(lark.rules)
    rule_numbers = {rule: number for number, rule in enumerate(rules)}
    table = lark.parser.parser._parse_table  # noqa: SLF001
    order = _walk(table)
    state_numbers = {state: number for number, state in enumerate(order)}
    rows = [_row(table.states[state], state_numbers, rule_numbers) for state in order]
    starts = {name: state_numbers[table.start_states[name]] for name in START_SYMBOLS}
    ends = {name: state_numbers[table.end_states[name]] for name in START_SYMBOLS}
    words, operators, patterns = _terminals(lark)
    parts = [
        '"""The LALR(1) tables of grammar/dpm.lark: dpcheck.parse.generate writes this file."""',
        _constant("START_STATES", "dict[str, int]", _lines(starts)),
        _constant("END_STATES", "dict[str, int]", _lines(ends)),
        _constant("WORDS", "dict[str, str]", _lines(words)),
        _constant("OPERATORS", "dict[str, str]", _lines(operators)),
        _constant("PATTERNS", "dict[str, str]", _lines(patterns)),
        "# a line for each rule: origin, number of symbols, builder function (`-`: pass on), and",
        "# the positions of the symbols it receives",
        _constant("RULES", "str", _text(_rules(rules))),
        "# a line for each state: name action name action ...",
        _constant("ROWS", "str", _text(rows)),
    ]
    return "\n".join(parts) + "\n"


def _walk(table: ParseTableBase[int]) -> list[int]:
    """Return the states in breadth-first order from the start states, names in sorted order."""
    order = [table.start_states[name] for name in START_SYMBOLS]
    seen = set(order)
    for state in order:
        for _, (action, argument) in sorted(table.states[state].items()):
            if action.name == "Shift" and argument not in seen:
                seen.add(argument)
                order.append(argument)
    return order


def _row(
    actions: dict[str, Any], state_numbers: dict[int, int], rule_numbers: dict[Any, int]
) -> str:
    """Return one state's actions, sorted by name."""
    return " ".join(
        f"{name} {state_numbers[argument]}"
        if action.name == "Shift"
        else f"{name} {-rule_numbers[argument] - 1}"
        for name, (action, argument) in sorted(actions.items())
    )


def _terminals(lark: Lark) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the words, the operators (both by their text) and the patterns (by name)."""
    words, operators, patterns = {}, {}, {}
    for terminal in sorted(lark.terminals, key=lambda terminal: terminal.name):
        if terminal.name in DECLARED:
            continue
        text = terminal.pattern.value
        if terminal.pattern.type == "re":
            patterns[terminal.name] = text
        elif text.isidentifier():
            words[text] = terminal.name
        else:
            operators[text] = terminal.name
    return words, operators, patterns


def _rules(rules: list[Any]) -> list[str]:
    lines = []
    for rule in rules:
        kept = [
            str(position)
            for position, symbol in enumerate(rule.expansion)
            if not getattr(symbol, "filter_out", False)
        ]
        if rule.alias is None and len(kept) != 1:
            raise ValueError(f"the rule {rule} keeps {len(kept)} symbols and has no name")
        parts = (rule.origin.name, str(len(rule.expansion)), rule.alias or "-", *kept)
        lines.append(" ".join(parts))
    return lines


def _text(lines: list[str]) -> str:
    """Return lines as one literal, which Python reads fast even where it may not cache."""
    return '"""\\\n' + "\n".join(lines) + '"""'


def _lines(mapping: dict[str, Any]) -> str:
    return "{\n" + "\n".join(f"    {key!r}: {value!r}," for key, value in mapping.items()) + "\n}"


def _constant(name: str, annotation: str, text: str) -> str:
    return f"{name}: {annotation} = {text}"


if __name__ == "__main__":
    main()
