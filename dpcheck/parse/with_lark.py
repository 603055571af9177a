"""Lark's own parser of dpm: `grammar/dpm.lark` with the lexer of this package handed to Lark.

For other tools: a tree of a model file without the language's meaning, by a grammar that can be
read. dpcheck itself reads files by tables made of the same grammar (see `generate`), which are
loaded faster and know their way on after a mistake. Only this module and `generate` import Lark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lark import Lark, Token
from lark.lexer import Lexer

from dpcheck.parse.tokens import END, tokens_of
from dpcheck.source import SourceText

START_SYMBOLS = ("model", "expression")
_PLACES = (Path(__file__).parents[1] / "grammar", Path(__file__).parents[2] / "grammar")
"""Where the grammar is: in the installed package, and in the repository."""


class DpmLexer(Lexer):
    """The tokens of `dpcheck.parse.tokens`, as Lark's; what is none has the type `BAD`."""

    def __init__(self, lexer_conf: Any) -> None:  # noqa: ANN401 (Lark's configuration)
        """Take Lark's configuration, of which nothing is needed."""

    def lex(self, text: str) -> Iterator[Token]:  # type: ignore[override]
        """Yield the tokens of a text with their places, lines and columns counted from 1."""
        source = SourceText("", text)
        for token in tokens_of(source).tokens:
            if token.type != END:
                line, column = source.position(token.start)
                yield Token(token.type, token.text, token.start, line, column, end_pos=token.end)


def grammar() -> str:
    """Return the text of `grammar/dpm.lark`."""
    folder = next(place for place in _PLACES if place.is_dir())
    return (folder / "dpm.lark").read_text(encoding="utf-8")


def lark_parser() -> Lark:
    """Return a parser of model files (`start="model"`) and of expressions (`start="expression"`).

    It raises `lark.UnexpectedInput` for a text with a syntax error.

    >>> tree = lark_parser().parse("const n = 2 * 3", start="model")
    >>> [node.data for node in tree.find_data("constant")], tree.meta.end_pos
    (['constant'], 15)
    """
    return Lark(
        grammar(), parser="lalr", lexer=DpmLexer, start=[*START_SYMBOLS], propagate_positions=True
    )
