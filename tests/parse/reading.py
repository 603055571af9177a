"""Ways to parse in one word, for the tests of this room."""

from dpcheck.model.surface import SurfaceModel
from dpcheck.parse import parse_expression, parse_model
from dpcheck.source import SourceText


def model_of(text) -> SurfaceModel:
    parsed = parse_model(SourceText("test.dpm", text))
    assert [mistake.title for mistake in parsed.mistakes] == []
    return parsed.model


def item_of(text):
    (item,) = model_of(text).items
    return item


def expression_of(text):
    parsed = parse_expression(SourceText("test", text))
    assert [mistake.title for mistake in parsed.mistakes] == []
    return parsed.expression


def formula_of(text):
    """Return what a text means as the claim of a question."""
    return item_of(f"check m: {text}").claim


def mistakes_in(text):
    """Return (line, column, code, title) of every mistake."""
    return [
        (found.span.line, found.span.column, found.code, found.title)
        for found in parse_model(SourceText("test.dpm", text)).mistakes
    ]
