"""Exact values read back from their text, and compared.

What `exact_text` wrote is read as balls, as narrow as asked: two values are decided where their
balls part. Equal texts are equal values, rationals are compared as such; all else that does not
part within `LAST_BITS` is not decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flint import arb, ctx, fmpq, fmpz

LAST_BITS = 1 << 14
"""Different values that people meet part within some hundred bits."""

_TOKEN = re.compile(r"\s*(\d+|[a-z]+|[-+*/^()])")


def compare_texts(left: str, right: str) -> int:
    """Return -1, 0 or 1 as the left value is less than, equal to or greater than the right one.

    The values are texts as `exact_text` writes them, or `inf`. Raises `ValueError` where they
    cannot be told apart, and for any other text.

    >>> compare_texts("ln(3)", "1/2 + 1/2"), compare_texts("1/2*ln(9)", "inf")
    (1, -1)
    """
    if left == right:
        return 0
    if "inf" in (left, right):
        return 1 if left == "inf" else -1
    rationals = as_rational(left), as_rational(right)
    if rationals[0] is not None and rationals[1] is not None:
        return int(rationals[0] > rationals[1]) - int(rationals[0] < rationals[1])
    bits = 64
    while bits <= LAST_BITS:
        difference = ball_of_text(left, bits) - ball_of_text(right, bits)
        if difference > 0:
            return 1
        if difference < 0:
            return -1
        bits *= 2
    raise ValueError(f"{left} and {right} cannot be told apart")


def as_rational(text: str) -> fmpq | None:
    """Return the rational number that a text is, None if it is none.

    >>> as_rational("-3/4"), as_rational("ln(3)")
    (-3/4, None)
    """
    if not re.fullmatch(r"-?\d+(/\d+)?", text):
        return None
    above, _, below = text.partition("/")
    return fmpq(fmpz(above), fmpz(below or "1"))


def ball_of_text(text: str, bits: int) -> arb:
    """Return a ball around the value of a text, computed with so many bits.

    Raises `ValueError` for what is no text of an exact value.
    """
    before = ctx.prec
    ctx.prec = bits
    try:
        tokens = [match[1] for match in _TOKEN.finditer(text)]
        if "".join(tokens) != re.sub(r"\s", "", text):
            raise ValueError(f"{text} is no exact value")
        reader = _Reader(iter(tokens))
        value = reader.sum()
        if reader.next is not None:
            raise ValueError(f"{text} is no exact value")
        return value
    finally:
        ctx.prec = before


class _Reader:
    """Reads sums, products, powers, `ln` and `exp`; `next` is the token ahead."""

    def __init__(self, tokens: Iterator[str]) -> None:
        self._tokens = tokens
        self.next = next(tokens, None)

    def _taken(self) -> str:
        token, self.next = self.next, next(self._tokens, None)
        if token is None:
            raise ValueError("the text ends too early")
        return token

    def sum(self) -> arb:
        """Read terms with their signs."""
        value = -self._advanced() if self.next == "-" else self._product()
        while self.next in ("+", "-"):
            value = value + self._product() if self._taken() == "+" else value - self._product()
        return value

    def _advanced(self) -> arb:
        self._taken()
        return self._product()

    def _product(self) -> arb:
        value = self._power()
        while self.next in ("*", "/"):
            value = value * self._power() if self._taken() == "*" else value / self._power()
        return value

    def _power(self) -> arb:
        base = self._atom()
        if self.next != "^":
            return base
        self._taken()
        return base ** (-self._advanced() if self.next == "-" else self._atom())

    def _atom(self) -> arb:
        token = self._taken()
        if token.isdigit():
            return arb(fmpz(token))
        if token not in ("ln", "exp", "("):
            raise ValueError(f"{token!r} is in no exact value")
        if token != "(" and self._taken() != "(":
            raise ValueError(f"{token} has no argument")
        inner = self.sum()
        if self._taken() != ")":
            raise ValueError("a bracket is not closed")
        return inner.log() if token == "ln" else inner.exp() if token == "exp" else inner
