"""Claims and formulas without a text behind them, and decisions on chains made by hand."""

from __future__ import annotations

from dpcheck.check.decide import decide
from dpcheck.check.values.verdicts import Holds, Value, Violated
from dpcheck.exact import Budget
from dpcheck.limits import Limits
from dpcheck.logic import claims as c
from dpcheck.logic import formulas as f
from tests.check.building import SPAN
from tests.numbers import rational


def ln(text):
    """Return ln of a rational, given as text or number."""
    return Budget.ln(fraction(text))


def fraction(text):
    """Return an exact rational from `3/4`, `0.1` or a number."""
    return rational(text) if isinstance(text, str) else text


def dp(epsilon, delta=0):
    return c.PrivacyClaim(epsilon, fraction(delta), SPAN)


def epsilon(delta=0):
    return c.TightEpsilon(fraction(delta), SPAN)


def delta(budget):
    return c.TightDelta(budget, SPAN)


def compare(quantity, comparison, bound):
    return c.QuantityClaim(quantity, comparison, bound, SPAN)


def compute(quantity):
    return c.QuantityValue(quantity, SPAN)


def atom(key):
    return f.Atom(key, SPAN)


def here(key):
    return f.Holds(atom(key), SPAN)


def state(formula):
    return f.Holds(formula, SPAN)


def next_(path):
    return f.Next(path, SPAN)


def eventually(path, bound=None):
    return f.Finally(path, bound, SPAN)


def both(*paths):
    return f.PathAnd(paths, SPAN)


def private(budget, path, delta=0):
    return f.Private(budget, fraction(delta), path, SPAN)


def probability(comparison, bound, path):
    return f.ProbabilityIs(((comparison, fraction(bound)),), path, SPAN)


def formula(state_formula):
    return c.FormulaClaim(state_formula, SPAN)


def at(key):
    return c.AtCondition(atom(key), SPAN)


def outcome(chain, claim, where=None):
    return decide(chain, claim, at=where, limits=Limits())


def verdict(chain, claim, where=None):
    """Return `holds`, `violated`, `undecided` or `value`."""
    return type(outcome(chain, claim, where).verdict).__name__.lower()


def value(chain, quantity, where=None):
    """Return the exact text of a quantity, for an ε that of e^ε."""
    found = outcome(chain, compute(quantity), where).verdict
    assert isinstance(found, Value), found
    return found.amount.exp or found.amount.exact


__all__ = ["Holds", "Violated"]
