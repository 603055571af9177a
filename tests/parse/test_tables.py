"""The generated tables belong to the grammar."""

import dataclasses
import logging
import subprocess
import sys

import lark
import pytest

from dpcheck.model import surface
from dpcheck.parse import automaton, build
from dpcheck.parse.generate import tables_text
from dpcheck.parse.tables import TABLES
from dpcheck.parse.tokens import CHAIN_WORDS, END, ITEM_WORDS, MECHANISM_WORDS, STATEMENT_WORDS
from dpcheck.parse.with_lark import START_SYMBOLS, grammar


def test_tables_are_generated_from_the_grammar_as_it_is():
    assert TABLES.read_text("utf-8") == tables_text(grammar()), (
        "run: python -m dpcheck.parse.generate"
    )


def test_the_grammar_has_no_conflicts(caplog):
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        lark.Lark(
            grammar(),
            parser="lalr",
            lexer="basic",
            start=list(START_SYMBOLS),
            debug=True,
        )
    assert [record.message for record in caplog.records if "onflict" in record.message] == []


def test_a_rule_without_a_builder_keeps_the_fields_of_its_node():
    wrong = []
    for rule in automaton.rules():
        if rule.function in {"-", *build.KINDS} or hasattr(build.Builder, rule.function):
            continue
        node = getattr(surface, rule.function.title().replace("_", ""), None)
        fields = [] if node is None else [f for f in dataclasses.fields(node) if not f.kw_only]
        needed = [field for field in fields if field.default is dataclasses.MISSING]
        if node is None or not len(needed) <= len(rule.kept) <= len(fields):
            wrong.append(rule)
    assert wrong == []


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ("statements", STATEMENT_WORDS),
        ("mechanism_items", STATEMENT_WORDS | MECHANISM_WORDS),
        ("chain_items", CHAIN_WORDS | {"IF", "FOR"}),
        ("items", ITEM_WORDS | {"FOR"}),
    ],
)
def test_the_words_that_begin_an_element_are_those_of_the_grammar(elements, words):
    rows = [automaton.ROWS[state] for state in range(len(automaton.ROWS.lines))]
    lists = {row[elements] for row in rows if elements in row}
    begin = {kind for state in lists for kind in automaton.ROWS[state] if kind.isupper()}
    others = {"NAME", "STRING", "PATTERN_OPEN", "SEMICOLON", "CLOSE_BRACE", END}
    assert begin - others == words


def test_parsing_does_not_import_lark():
    code = "import sys, dpcheck.parse; print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
