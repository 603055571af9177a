"""Walks that look at a part of a tree find what walks over all of it find."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args

import pytest

import dpcheck
from dpcheck.model import surface
from dpcheck.parse.parse import parse_model
from dpcheck.resolve.names.syntax import assigned_names, descendants, statements
from dpcheck.source import SourceText

ROOT = Path(dpcheck.__file__).parent
TEXTS = [path.read_text() for path in sorted(ROOT.glob("std/*.dpm"))]
NESTED = """
mechanism m {
  input x in 0..1
  adjacent all
  var a := 0
  if x = 0 { b := 1  while b < 3 { b := b + 1  c ~ bernoulli(1/2) } }
  else if x = 1 { repeat 2 { for i in 1..2 { (d, e) := (i, x) } } }
  else { f := x }
  output if a = 0 then b else f
}
"""


def every_part(node: object) -> list[object]:
    """Return the nodes in all fields that are compared: nothing is left out unseen."""

    def nodes(value: object) -> list[object]:
        if isinstance(value, tuple):
            return [node for item in value for node in nodes(item)]
        return [value] if is_dataclass(value) else []

    return nodes(tuple(getattr(node, field.name) for field in fields(node) if field.compare))


@pytest.mark.parametrize("text", [NESTED, *TEXTS])
def test_walks_miss_nothing(text: str):
    model = parse_model(SourceText("m.dpm", text)).model
    assert model.items
    for item in model.items:
        for node in descendants(item):
            assert surface.parts(node) == every_part(node)
        if isinstance(item, surface.Mechanism):
            everything = [node for statement in item.body for node in descendants(statement)]
            found = [node for node in everything if isinstance(node, get_args(surface.Statement))]
            assert [id(s) for s in statements(item.body)] == [id(node) for node in found]


def test_names_are_assigned_however_deep_their_statement_stands():
    (mechanism,) = parse_model(SourceText("m.dpm", NESTED)).model.items
    assert isinstance(mechanism, surface.Mechanism)
    assert set(assigned_names(mechanism.body)) == set("abcdef")
