"""Integers as products of pairwise coprime ones, found by gcds: nothing is ever factored.

Bach, Driscoll, Shallit, "Factor refinement", J. Algorithms 1993.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from flint import fmpz


def coprime_bases(integers: Iterable[fmpz | int], most: float = math.inf) -> list[fmpz]:
    """Return pairwise coprime integers > 1, sorted, of which all given positive ones are products.

    A common factor of two is split off both with all its powers; each split divides the product of
    all that is still to be placed by 2 at least, so the work ends. It ends where there must be more
    than `most`, too: bases found on the way only become more.

    >>> coprime_bases([8, 12, 1, 25])
    [2, 3, 25]
    """
    placed: list[fmpz] = []
    waiting = sorted({fmpz(n) for n in integers if n > 1}, reverse=True)
    while waiting and len(placed) <= most:
        value = waiting.pop()
        for position, other in enumerate(placed):
            common = value.gcd(other)
            if common > 1:
                del placed[position]
                parts = {common, multiplicity(value, common)[1], multiplicity(other, common)[1]}
                waiting += [n for n in parts if n > 1]
                break
        else:
            placed.append(value)
    return sorted(placed)


def multiplicity(value: fmpz, divisor: fmpz) -> tuple[int, fmpz]:
    """Return (k, rest) with value = divisor^k · rest and rest no multiple of the divisor.

    Divides by divisor, divisor^2, divisor^4, ... and back: O(log k) divisions.
    """
    squares = [divisor]
    times, rest = 0, value
    while squares[-1].bit_length() <= rest.bit_length():
        quotient, remainder = divmod(rest, squares[-1])
        if remainder != 0:
            break
        times, rest = times + (1 << (len(squares) - 1)), quotient
        squares.append(squares[-1] ** 2)
    for index in reversed(range(len(squares))):
        quotient, remainder = divmod(rest, squares[index])
        if remainder == 0:
            times, rest = times + (1 << index), quotient
    return times, rest
