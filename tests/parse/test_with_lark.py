"""Lark, with the lexer of this package, parses what the table machine parses."""

from pathlib import Path

import lark
import pytest
from lark.visitors import Transformer_NonRecursive

from dpcheck.parse import parse_model
from dpcheck.parse.build import Builder, builder_of
from dpcheck.parse.tokens import Token
from dpcheck.parse.with_lark import lark_parser
from dpcheck.source import SourceText, Span

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted([*ROOT.glob("models/**/*.dpm"), *ROOT.glob("dpcheck/std/*.dpm")])


@pytest.fixture(scope="module")
def parser():
    return lark_parser()


class Built(Transformer_NonRecursive):
    """The surface items of Lark's tree: rules with an alias are built, others passed on."""

    def __init__(self, source):
        super().__init__()
        self.source, self.builder = source, Builder(source)

    def __default__(self, data, children, meta):
        if isinstance(data, lark.Token):  # the name of a rule without an alias
            (passed,) = children
            return passed
        place = (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)
        given = [
            Token(child.type, str(child), child.start_pos, child.end_pos)
            if isinstance(child, lark.Token)
            else child
            for child in children
        ]
        return builder_of(data)(self.builder, Span(self.source, *place), *given)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_lark_reads_every_shipped_file_as_the_table_machine_does(path, parser):
    source = SourceText(path.name, path.read_text("utf-8"))
    expected = parse_model(source)
    assert expected.mistakes == ()
    items = Built(source).transform(parser.parse(source.text, start="model"))
    assert repr(tuple(items)) == repr(expected.model.items)
    assert tuple(items) == expected.model.items


def test_a_place_in_larks_tree_is_a_place_in_the_text(parser):
    tree = parser.parse("const n = 1\nconst höhe = 22", start="model")
    *_, number = tree.find_data("number")
    (token,) = number.children
    assert (token, token.line, token.column, token.start_pos) == ("22", 2, 14, 25)


@pytest.mark.parametrize("text", ["const n 5", "mechanism m { output }", "const n = ¤"])
def test_a_mistake_is_larks_mistake(text, parser):
    with pytest.raises(lark.UnexpectedInput):
        parser.parse(text, start="model")
