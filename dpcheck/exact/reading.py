"""Exact values read back from their text, and compared.

Rationals and budgets r + Σ m ln a are read exactly. All else that `exact_text` writes is read as
balls, as narrow as asked: two values are decided where their balls part, and those that do not part
within `LAST_BITS` are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq, fmpz

from dpcheck.exact.budget import Budget, compare_epsilon

LAST_BITS = 1 << 14
"""Different values that people meet part within some hundred bits."""

_TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[-+]?\d{1,4})?|[a-z]+|[-+*/^()])")


def compare_texts(left: str, right: str) -> int:
    """Return -1, 0 or 1 as the left value is less than, equal to or greater than the right one.

    The values are texts as `exact_text` writes them, or `inf`; `ln 3` may stand for `ln(3)`, and
    `0.25` or `1e-6` for a fraction. Raises `ValueError` where they cannot be told apart, and for
    any other text.

    >>> compare_texts("ln(3)", "1/2 + 1/2"), compare_texts("1/2 * ln 9", "ln(3)")
    (1, 0)
    """
    if left == right:
        return 0
    ends = {"inf": 1, "-inf": -1}
    if left in ends or right in ends:
        return 1 if ends.get(left, 0) > ends.get(right, 0) else -1
    budgets = as_budget(left), as_budget(right)
    if budgets[0] is not None and budgets[1] is not None:
        return compare_epsilon(budgets[0], budgets[1])
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


def as_budget(text: str) -> Budget | None:
    """Return the budget r + Σ m ln a that a text is, None if it is none.

    >>> as_budget("2*ln(3) - ln 9") == Budget.of(0), as_budget("exp(1)")
    (True, None)
    >>> as_budget("exp(2*ln(3))/3")
    Budget(3)
    >>> as_budget("ln((1/2)^2) - 3^-1") == Budget.ln(fmpq(1, 4)) - fmpq(1, 3)
    True
    """
    try:
        value = _read(text, _number, Budget.ln, _rational_power)
        return value if isinstance(value, Budget) else Budget.of(value)
    except (ArithmeticError, TypeError, ValueError):
        return None


def _number(digits: str) -> fmpq:
    if digits.isdigit():  # of any length
        return fmpq(fmpz(digits))
    return fmpq(*Fraction(digits).as_integer_ratio())


def _rational_power(exponent: Budget | fmpq) -> fmpq:
    value = (Budget.of(0) + exponent).exp()
    if not isinstance(value, int | fmpq):
        raise ValueError("a power of e is no budget")
    return fmpq(value)


def ball_of_text(text: str, bits: int) -> arb:
    """Return a ball around the value of a text, computed with so many bits.

    Raises `ValueError` for what is no text of an exact value.
    """
    before = ctx.prec
    ctx.prec = bits
    try:
        value: arb = _read(text, lambda digits: arb(_number(digits)), arb.log, arb.exp)
        return value
    finally:
        ctx.prec = before


Function = Callable[[Any], Any]


def _read(text: str, number: Callable[[str], Any], ln: Function, exp: Function) -> Any:  # noqa: ANN401
    """Return the value of a text in the arithmetic of what `number` makes of digits."""
    tokens = [match[1] for match in _TOKEN.finditer(text)]
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"{text} is no exact value")
    reader = _Reader(iter(tokens), number, {"ln": ln, "exp": exp})
    value = reader.sum()
    if reader.next is not None:
        raise ValueError(f"{text} is no exact value")
    return value


class _Reader:
    """Reads sums, products, powers, `ln` and `exp`; `next` is the token ahead."""

    def __init__(
        self, tokens: Iterator[str], number: Callable[[str], Any], functions: dict[str, Function]
    ) -> None:
        self._tokens = tokens
        self._number = number
        self._functions = functions
        self.next = next(tokens, None)

    def _taken(self) -> str:
        token, self.next = self.next, next(self._tokens, None)
        if token is None:
            raise ValueError("the text ends too early")
        return token

    def sum(self) -> Any:  # noqa: ANN401
        """Read terms with their signs."""
        value = self._term()
        while self.next in ("+", "-"):
            value = value + self._product() if self._taken() == "+" else value - self._product()
        return value

    def _term(self) -> Any:  # noqa: ANN401
        if self.next != "-":
            return self._product()
        self._taken()
        return -1 * self._product()

    def _product(self) -> Any:  # noqa: ANN401
        value = self._power()
        while self.next in ("*", "/"):
            value = value * self._power() if self._taken() == "*" else value / self._power()
        return value

    def _power(self) -> Any:  # noqa: ANN401
        base = self._atom()
        if self.next != "^":
            return base
        self._taken()
        exponent = self._term() if self.next == "-" else self._atom()
        is_whole = isinstance(exponent, fmpq) and exponent.q == 1  # of a rational number no other
        return base ** (int(exponent.p) if is_whole else exponent)

    def _atom(self) -> Any:  # noqa: ANN401
        token = self._taken()
        if token[0].isdigit():
            return self._number(token)
        if token in self._functions:
            return self._functions[token](self._atom())
        if token != "(":
            raise ValueError(f"{token!r} is in no exact value")
        inner = self.sum()
        if self._taken() != ")":
            raise ValueError("a bracket is not closed")
        return inner
