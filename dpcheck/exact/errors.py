"""The two ways an exact computation can refuse: too large to write down, and outside ℚ(e^r)."""

from __future__ import annotations

LONGEST_TOLD = 10**30
"""Greater numbers are not written into messages: Python refuses to, from some length on."""


class TooLarge(ArithmeticError):
    """A number would have more bits, or a polynomial more terms, than allowed; it is not computed.

    `what` describes the number in words, `bits` is its estimated size, `limit` the allowed size.
    """

    def __init__(self, what: str, bits: int, limit: int) -> None:
        """Keep the description and both sizes for the message shown to the user."""
        super().__init__(f"{what} is too large to write down")
        self.what = what
        self.bits = bits
        self.limit = limit


class IrrationalExponential(ArithmeticError):
    """`exp` of a budget r' + Σ m_i ln a_i whose Π a_i^m_i is irrational, such as (ln 2)/2."""
