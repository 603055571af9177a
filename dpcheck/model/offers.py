"""Queries that an analyst chooses, as outputs: what was offered, and what was chosen.

A `query c in S` draws c uniformly from S and shows (offer, S, c), where the offer is a symbol that
no text can spell (files with NUL are refused). So no output of the user's is taken for a choice.
With `fixed` it shows (mark, c), where the mark is such a symbol too.
"""

from __future__ import annotations

from dpcheck.model.values import SetValue, Symbol, Value, value_text
from dpcheck.records import Frozen

_MARK = "\0query "
_FIXED = "\0fixed "


class Offer(Frozen):
    """What an analyst may choose from."""

    name: str
    choices: SetValue


def offer_symbol(name: str) -> Symbol:
    """Return the symbol of a query's offers."""
    return Symbol(_MARK + name)


def fixed_symbol(name: str) -> Symbol:
    """Return the mark of a query whose choice was fixed beforehand."""
    return Symbol(_FIXED + name)


def fixed_name(mark: str) -> str | None:
    """Return the name of the fixed query with this mark, if it is one."""
    return mark.removeprefix(_FIXED) if mark.startswith(_FIXED) else None


def fixed_choice(value: Value) -> tuple[str, Value] | None:
    """Return the name of a query and its choice, fixed beforehand, if a value shown is one."""
    match value:
        case (Symbol(name=mark), chosen) if (name := fixed_name(mark)) is not None:
            return name, chosen
    return None


def choice_of(value: Value) -> tuple[Offer, Value] | None:
    """Return what was offered and chosen, if a value shown is a choice."""
    match value:
        case (Symbol(name=mark), SetValue() as choices, chosen) if mark.startswith(_MARK):
            return Offer(mark.removeprefix(_MARK), choices), chosen
    return None


def is_choice(value: Value) -> bool:
    """Return whether a value shown is a choice of an analyst, no output."""
    return fixed_choice(value) is not None or choice_of(value) is not None


def shown_text(value: Value) -> str:
    """Return the text of what a state shows.

    >>> shown_text((offer_symbol("c"), SetValue(range(3)), 1)), shown_text((1, 2))
    ('c = 1', '(1, 2)')
    """
    fixed, choice = fixed_choice(value), choice_of(value)
    if fixed is not None:
        return f"{fixed[0]} = {value_text(fixed[1])}"
    return value_text(value) if choice is None else f"{choice[0].name} = {value_text(choice[1])}"
