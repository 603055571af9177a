"""Texts resolved for the tests of this room."""

from dpcheck.model import surface
from dpcheck.model.program import Mechanism
from dpcheck.model.values import value_text
from dpcheck.parse import parse_expression, parse_model
from dpcheck.resolve import Resolved, resolve_model
from dpcheck.resolve.expressions.expressions import constant_of_file
from dpcheck.resolve.names.files import linked_file
from dpcheck.resolve.names.scopes import Session
from dpcheck.source import SourceText


def parsed(text: str, name: str = "test.dpm") -> surface.SurfaceModel:
    result = parse_model(SourceText(name, text))
    assert all(mistake.severity == "warning" for mistake in result.mistakes), result.mistakes
    return result.model


def expression_of(text: str) -> surface.Expression:
    result = parse_expression(SourceText("-D", text))
    assert result.expression is not None
    return result.expression


def resolved(text: str, imported: tuple[surface.SurfaceModel, ...] = (), **overrides: str):
    values = {name: expression_of(value) for name, value in overrides.items()}
    return resolve_model(parsed(text), imported, values)


def sound(text: str, imported: tuple[surface.SurfaceModel, ...] = (), **overrides: str) -> Resolved:
    result = resolved(text, imported, **overrides)
    errors = [(m.code, m.title, m.span) for m in result.mistakes if m.severity == "error"]
    assert not errors
    return result


def constants(text: str, **overrides: str) -> dict[str, str]:
    """Return the values of the constants that a text declares, which all have one."""
    values = {name: expression_of(value) for name, value in overrides.items()}
    session = Session(values)
    session.main = linked_file(parsed(text), (), session)
    declared = session.main.declared.values()
    kinds = [item for item in declared if isinstance(item, surface.Constant)]
    found = {item.name.name: constant_of_file(session, session.main, item) for item in kinds}
    assert not session.found
    return {name: value_text(value) for name, value in found.items()}


def codes(text: str, imported: tuple[surface.SurfaceModel, ...] = ()) -> list[str]:
    return [mistake.code for mistake in resolved(text, imported).mistakes]


def mechanism(body: str, head: str = "input x in 0..3 adjacent all", before: str = "") -> Mechanism:
    """Return the core of a mechanism with this body, in which there is no mistake."""
    text = f"{before}\nmechanism m {{ {head}\n{body} }}\ncheck m: dp(1)"
    target = sound(text).checks[0].target
    assert isinstance(target, Mechanism)
    return target


def codes_in(body: str, head: str = "input x in 0..3 adjacent all", before: str = "") -> list[str]:
    return codes(f"{before}\nmechanism m {{ {head}\n{body} }}\ncheck m: dp(1)")
