"""Mechanisms people use, ready to be asked: the libraries behind `import std.NAME`.

Each function fills in the parameters of one mechanism of `dpcheck/std/`; the text of the model is
there and nowhere else. Parameters are numbers, or expressions of the language: `"1/3"`, `"ln 2"`.
"""

from __future__ import annotations

from fractions import Fraction

from dpcheck.front import Model, Parameter, Target
from dpcheck.pipeline.sources.imports import Library, standard_path


def _library(name: str) -> Model:
    """Return the model of a library that ships with dpcheck."""
    return Model(Library().closure(standard_path(name)))


def survey(truth: Parameter = Fraction(3, 4)) -> Target:
    """Return Warner's survey of one question: the answer is true with probability `truth`.

    Source: S. L. Warner, "Randomized response" (JASA 1965).

    >>> survey(truth="2/3").epsilon().exact
    'ln(2)'
    """
    return _library("survey").target("survey", truth=truth)


def randomized_response(n: int = 3, truth: Parameter = Fraction(2, 3), changes: int = 1) -> Target:
    """Return randomized response on n bits, of which neighbors differ in at most `changes`.

    >>> randomized_response(n=2, changes=2).epsilon().exact
    'ln(4)'
    """
    model = _library("randomized_response")
    return model.target("randomized_response", n=n, truth=truth, changes=changes)


def truncated_geometric(
    n: int = 5, alpha: Parameter = Fraction(1, 2), sensitivity: int = 1
) -> Target:
    """Return a count in 0..n with two-sided geometric noise clamped to 0..n.

    Source: Ghosh, Roughgarden, Sundararajan (STOC 2009). Neighbors differ by `sensitivity`.

    >>> truncated_geometric(sensitivity=2).epsilon().exact
    'ln(4)'
    """
    model = _library("truncated_geometric")
    return model.target("truncated_geometric", n=n, alpha=alpha, sensitivity=sensitivity)


def above_threshold(
    k: int = 3, n: int = 5, alpha_t: Parameter = Fraction(1, 4), alpha_q: Parameter = Fraction(1, 2)
) -> Target:
    """Return the sparse vector technique for the first of k answers in 0..n above a threshold.

    The noise of threshold (`alpha_t`) and answers (`alpha_q`) is clamped inside the algorithm.
    Source: Dwork and Roth (2014), section 3.6, with geometric noise.

    >>> above_threshold(k=1, n=2).epsilon().exact
    'ln(2)'
    """
    model = _library("above_threshold")
    return model.target("above_threshold", k=k, n=n, alpha_t=alpha_t, alpha_q=alpha_q)
