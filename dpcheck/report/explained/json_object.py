"""An explanation as a JSON object: its fields by their names, empty ones left out."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from dpcheck.check.values.verdicts import Amount, Phrase
from dpcheck.explain import Explanation
from dpcheck.report.notation import amount_object


def explanation_object(found: Explanation) -> dict[str, Any]:
    """Return the object of an explanation.

    Records become objects, amounts as everywhere, and phrases texts with their numbers in full.
    """
    made = _object(found)
    assert isinstance(made, dict), "an explanation is a record"
    return made


def _object(value: object) -> object:
    if isinstance(value, Amount):
        return amount_object(value)
    if isinstance(value, Phrase):
        return str(value)
    if isinstance(value, tuple):
        return [_object(each) for each in value]
    if is_dataclass(value):
        shown = [field.name for field in fields(value) if field.compare]  # others are for the text
        parts = {name: _object(getattr(value, name)) for name in shown}
        return {name: part for name, part in parts.items() if part not in (None, [], "")}
    return value
