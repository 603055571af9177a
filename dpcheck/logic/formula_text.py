"""Formulas as text that reads back as the same formula."""

from __future__ import annotations

import re
from typing import assert_never

from dpcheck.exact import ExpNumber, exact_text
from dpcheck.logic import formulas as f

_OR, _AND, _UNTIL, _UNARY, _TIGHT = range(5)
_PLAIN = re.compile(r"(\w+|\"[^\"]*\")(\[[^\[\]]*\])?")


def formula_text(formula: f.StateFormula | f.PathFormula) -> str:
    """Return a formula as text, with as few parentheses as its operators need.

    >>> from dpcheck.source import SourceText, Span
    >>> span = Span(SourceText("", ""), 0, 0)
    >>> top, bot = (f.Holds(f.Atom(key, span), span) for key in ("top", "output = bot"))
    >>> formula_text(f.Next(f.PathAnd((bot, f.Next(top, span)), span), span))
    'X (output = bot & X top)'
    >>> formula_text(f.Until(f.PathNot(bot, span), f.PathOr((top, bot), span), 3, span))
    '!(output = bot) U<=3 (top | output = bot)'
    """
    return _text(formula)[0]


def _text(formula: f.StateFormula | f.PathFormula) -> tuple[str, int]:
    """Return the text and how tightly its outermost operator binds."""
    match formula:
        case f.Truth(value=value):
            return "true" if value else "false", _TIGHT
        case f.Atom(key=key):
            return key, _TIGHT if _PLAIN.fullmatch(key) else _UNARY
        case f.Holds(state=state):
            return _text(state)
        case f.Not(argument=argument) | f.PathNot(argument=argument):
            return _negation(argument), _UNARY
        case f.And(arguments=arguments) | f.PathAnd(arguments=arguments):
            return _joined_texts(arguments, "&", _AND)
        case f.Or(arguments=arguments) | f.PathOr(arguments=arguments):
            return _joined_texts(arguments, "|", _OR)
        case f.ProbabilityIs() | f.Private():
            return _operator_text(formula), _TIGHT
        case f.Next(argument=argument):
            return f"X {_within(argument, _UNARY)}", _UNARY
        case f.Finally(argument=argument, bound=bound):
            return f"F{_bound(bound)} {_within(argument, _UNARY)}", _UNARY
        case f.Globally(argument=argument, bound=bound):
            return f"G{_bound(bound)} {_within(argument, _UNARY)}", _UNARY
        case f.Until(left=left, right=right, bound=bound):
            return _binary(left, f"U{_bound(bound)}", right), _UNTIL
        case f.WeakUntil(left=left, right=right):
            return _binary(left, "W", right), _UNTIL
        case f.Release(left=left, right=right):
            return _binary(left, "R", right), _UNTIL
        case _:
            assert_never(formula)


def _joined_texts(
    arguments: tuple[f.StateFormula, ...] | tuple[f.PathFormula, ...], operator: str, binding: int
) -> tuple[str, int]:
    """Return a conjunction or disjunction."""
    return f" {operator} ".join(_within(each, binding + 1) for each in arguments), binding


def _operator_text(formula: f.ProbabilityIs | f.Private) -> str:
    """Return P or D with its bound and path."""
    path = f"[ {formula_text(formula.path)} ]"
    match formula:
        case f.ProbabilityIs(relations=((comparison, bound),)):
            text = exact_text(bound)
            return f"P{comparison}{f'({text})' if isinstance(bound, ExpNumber) else text} {path}"
        case f.ProbabilityIs(relations=relations):
            return f"P in [{', '.join(exact_text(bound) for _, bound in relations)}] {path}"
        case f.Private(epsilon=epsilon, delta=delta):
            plus = "" if delta == 0 else f", {exact_text(delta)}"
            return f"D{{{exact_text(epsilon)}{plus}}} {path}"
        case _:
            assert_never(formula)


def _within(formula: f.StateFormula | f.PathFormula, least: int) -> str:
    """Return the text, in parentheses if its operator binds less tightly than `least`."""
    text, binding = _text(formula)
    return text if binding >= least else f"({text})"


def _negation(argument: f.StateFormula | f.PathFormula) -> str:
    """Return `!argument`; an atom that is a comparison needs parentheses."""
    while isinstance(argument, f.Holds):
        argument = argument.state
    is_loose_atom = isinstance(argument, f.Atom) and not _PLAIN.fullmatch(argument.key)
    return f"!({formula_text(argument)})" if is_loose_atom else f"!{_within(argument, _UNARY)}"


def _binary(left: f.PathFormula, operator: str, right: f.PathFormula) -> str:
    """Return a binary temporal operator between arguments that bind more tightly."""
    return f"{_within(left, _UNTIL + 1)} {operator} {_within(right, _UNTIL + 1)}"


def _bound(bound: int | None) -> str:
    """Return `<=bound`, or nothing."""
    return "" if bound is None else f"<={exact_text(bound)}"
