"""Walks that look at a part of a tree find what walks over all of it find."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args

import pytest

import dpcheck
from dpcheck.model import surface
from dpcheck.model.expressions import ArrayVar, Binding, Var, reads
from dpcheck.model.trees import descendants, parts
from dpcheck.parse.parse import parse_model
from dpcheck.resolve.names.syntax import assigned_names, statements
from dpcheck.source import SourceText
from tests.resolve.reading import mechanism

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
            assert parts(node) == every_part(node)
        if isinstance(item, surface.Mechanism):
            everything = [node for statement in item.body for node in descendants(statement)]
            found = [node for node in everything if isinstance(node, get_args(surface.Statement))]
            assert [id(s) for s in statements(item.body)] == [id(node) for node in found]


def test_names_are_assigned_however_deep_their_statement_stands():
    (mechanism,) = parse_model(SourceText("m.dpm", NESTED)).model.items
    assert isinstance(mechanism, surface.Mechanism)
    assert set(assigned_names(mechanism.body)) == set("abcdef")


def every_node(node: object) -> list[object]:
    """Return a node and all below it, in whatever fields they stand."""
    below = node if isinstance(node, tuple) else ()
    if is_dataclass(node):
        below = [getattr(node, field.name) for field in fields(node)]
    return [node, *(found for value in below for found in every_node(value))]


def test_a_node_reads_the_variables_below_it_that_it_does_not_bind():
    body = """
  var a[1..2] in 0..9 := 0
  top := if x > 1 then 2 else 3
  b ~ if x = 0 then {v: v + x for v in 0..2 where v <= top} normalized else noisy(x * 2)
  c ~ geometric(x - b, 1/2) clamped 0..b
  a[x] := max(v in 0..2 where v != b : v * c)
  (d, e) := (len(a), a[1])
  while c < x { c := c + 1 }
  output if d = e then hamming(a, a) else c
"""
    noisy = "dist noisy(n) = {n: 1/2, n + 1: 1/2}"
    for node in mechanism(body, "input x in 1..2 adjacent all", noisy).nodes:
        below = every_node(node)
        bound = {each.name for each in below if isinstance(each, Binding)}
        names = [each.name for each in below if isinstance(each, Var)]
        names += [cell for each in below if isinstance(each, ArrayVar) for cell in each.cells]
        assert set(reads(node)) == set(names) - bound
