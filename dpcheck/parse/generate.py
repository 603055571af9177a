"""Write the parser's tables: `python -m dpcheck.parse.generate`.

Lark computes the LALR(1) automaton of `grammar/dpm.lark`; this module writes it down as text, so
that a run of dpcheck neither imports Lark nor builds tables (see `tables`).
"""

from __future__ import annotations

from typing import Any

from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from dpcheck.parse.tables import TABLES
from dpcheck.parse.with_lark import START_SYMBOLS, grammar

DECLARED = ("PATTERN_OPEN", "ARG_NAME", "AT", "BREAK", "FIXED", "ENDLESS")
"""Terminals without patterns, made by the lexer's look around."""

REDUCE = 1
"""Lark's number for the action; 0 is a shift, or where a rule's name leads."""

Actions = dict[str, tuple[int, Any]]
"""By terminal or rule name: 0 and a state, or `REDUCE` and a reference to a rule."""


def main() -> None:
    """Generate the tables from the grammar and write them beside this module."""
    TABLES.write_text(tables_text(grammar()), encoding="utf-8")
    print(f"wrote {TABLES}")  # noqa: T201


def tables_text(text: str) -> str:
    """Return the tables of a grammar: sections of lines, `%` between them.

    A row of the automaton maps a terminal or rule name to a number: `n >= 0` shifts to (or goes
    to) state n, `n < 0` reduces by rule `-n - 1`. States are numbered in the order of a
    breadth-first walk, so equal grammars give equal tables.
    """
    lark = Lark(text, parser="lalr", lexer="basic", start=list(START_SYMBOLS))
    written, memo = lark.memo_serialize([TerminalDef, Rule])
    table = written["parser"]["parser"]
    states = {
        state: {table["tokens"][token]: action for token, action in actions.items()}
        for state, actions in table["states"].items()
    }
    starts, ends = table["start_states"], table["end_states"]
    number = {state: k for k, state in enumerate(_walk(states, starts))}
    numbers = {_key(rule.serialize()): k for k, rule in enumerate(lark.rules)}
    rules = {k: numbers[_key(rule)] for k, rule in memo.items() if rule["__type__"] == "Rule"}
    words, operators, patterns = _terminals(lark)
    sections = [
        [f"{name} {number[starts[name]]} {number[ends[name]]}" for name in START_SYMBOLS],
        words,
        operators,
        patterns,
        _rules(lark.rules),
        [_row(states[state], number, rules) for state in number],
    ]
    return "\n%\n".join("\n".join(lines) for lines in sections) + "\n"


def _key(rule: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of a rule and of its symbols: no two rules have the same."""
    return (rule["origin"]["name"], *(symbol["name"] for symbol in rule["expansion"]))


def _walk(states: dict[int, Actions], starts: dict[str, int]) -> list[int]:
    """Return the states in breadth-first order from the start states, names in sorted order."""
    order = [starts[name] for name in START_SYMBOLS]
    seen = set(order)
    for state in order:
        for _, (action, argument) in sorted(states[state].items(), key=lambda item: item[0]):
            if action != REDUCE and argument not in seen:
                seen.add(argument)
                order.append(argument)
    return order


def _row(actions: Actions, number: dict[int, int], rules: dict[int, int]) -> str:
    """Return one state's actions, sorted by name."""
    return " ".join(
        f"{name} {-rules[argument['@']] - 1 if action == REDUCE else number[argument]}"
        for name, (action, argument) in sorted(actions.items(), key=lambda item: item[0])
    )


def _terminals(lark: Lark) -> tuple[list[str], list[str], list[str]]:
    """Return a line `NAME text` for each word, operator and pattern, sorted by name."""
    words: list[str] = []
    operators: list[str] = []
    patterns: list[str] = []
    for terminal in sorted(lark.terminals, key=lambda terminal: terminal.name):
        if terminal.name in DECLARED:
            continue
        text = terminal.pattern.value
        kind = operators if terminal.pattern.type == "str" else patterns
        # The control characters of a pattern are written as Python's `re` reads them.
        line = f"{terminal.name} {text}".replace("\n", "\\n").replace("\r", "\\r")
        (words if text.isidentifier() else kind).append(line)
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


if __name__ == "__main__":
    main()
