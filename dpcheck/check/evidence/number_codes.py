"""The different numbers of a sequence table over ℤ[e^r], as codes: each is looked at once.

A table of 10^6 entries over ℤ[e^r] has, as a rule, some hundreds of different numbers. A code
stands for a numerator and the denominator below it, so equal codes are equal probabilities (not the
other way: one probability may be written over two denominators, which costs work and nothing else).
A comparison p X > q Y depends on the codes of p and q alone, and is decided once for each pair.

Floats: p/D is enclosed at 128 bits. It counts where 60 bits of it are certain and it is above
2^-1000; its middle is then rounded once, which makes a smaller error than the five rounded steps
that `rounded_chances` promises. Any other is not a number: no comparison with it is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

import numpy as np
from flint import arb, ctx

from dpcheck.chain.chain import IntArray
from dpcheck.check.evidence.float_probabilities import FloatArray
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.exact import MAX_FLOAT_BITS, ExpPolynomial, Whole
from dpcheck.records import dataclass

_BITS = 128
"""The precision in which quotients are rounded: twice what a float holds, and more."""
_CERTAIN_BITS = 60
"""Correct bits that make a rounded quotient a float with a proved error."""


@dataclass(frozen=True, eq=False)
class NumberCodes:
    """The codes of the table's entries, and their probabilities rounded.

    codes [n_entries]: from 1 on, 0 for the number 0. chances [n_codes] begins with that.
    """

    codes: IntArray
    chances: FloatArray


def number_codes(
    table: SequenceTable, scales: Sequence[Whole], scale_codes: IntArray
) -> NumberCodes | None:
    """Return the codes of a table's entries, None where all numbers are integers.

    scales: the different denominators; scale_codes [n_sources]: which of them each row has.
    """
    if table.weights.dtype != object:
        return None
    weights = table.weights.tolist()
    if ExpPolynomial not in {*map(type, weights), *map(type, scales)}:
        return None
    scale_of = np.repeat(scale_codes, np.diff(table.indptr))
    # Equal objects are equal numbers: the arithmetic of chains keeps what it does not change.
    addresses = np.fromiter(map(id, weights), np.int64, len(weights))
    _, address = np.unique(addresses, return_inverse=True)
    _, first, which = np.unique(
        address * len(scales) + scale_of, return_index=True, return_inverse=True
    )
    numbers = [weights[j] for j in first.tolist()]
    below = scale_of[first].tolist()
    chances = _rounded(numbers, scales, below)
    codes, representatives = _interned(numbers, below, chances)
    return NumberCodes(codes[which], np.array([0.0, *(chances[k] for k in representatives)]))


def _rounded(numbers: list[Whole], scales: Sequence[Whole], below: list[int]) -> list[float]:
    """Return each number over its scale as a float, or not a number."""
    with ctx.workprec(_BITS):
        inverses = [1 / _ball(scale) for scale in scales]
        least = arb(2) ** -MAX_FLOAT_BITS
        balls = [_ball(n) * inverses[k] for n, k in zip(numbers, below, strict=True)]
        return [
            float(ball.mid()) if ball > least and ball.rel_accuracy_bits() >= _CERTAIN_BITS else nan
            for ball in balls
        ]


def _ball(value: Whole) -> arb:
    return value.ball(_BITS) if isinstance(value, ExpPolynomial) else arb(value)


def _interned(
    numbers: list[Whole], below: list[int], chances: list[float]
) -> tuple[IntArray, list[int]]:
    """Return the code [n] of each number over its scale, and the first number of each but 0.

    Equal numbers have equal floats, as these are made in the same way: only such are compared.
    """
    representatives: list[int] = []
    alike: dict[tuple[float, int], list[int]] = {}
    codes = np.zeros(len(numbers), np.int64)
    for k, (number, scale, chance) in enumerate(zip(numbers, below, chances, strict=True)):
        if isnan(chance) and number == 0:
            continue
        # What has no float is told apart by its hash.
        known = alike.setdefault((hash(number) if isnan(chance) else chance, scale), [])
        code = next((c for c in known if numbers[representatives[c - 1]] == number), None)
        if code is None:
            representatives.append(k)
            code = len(representatives)
            known.append(code)
        codes[k] = code
    return codes, representatives
