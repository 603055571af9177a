"""Intervals of values of a parameter, as texts: what is said of a claim for all values."""

from __future__ import annotations

from decimal import Context

from dpcheck.records import dataclass

SHORT = 6
"""Digits of an irrational end in short."""


@dataclass(frozen=True)
class ParamEnd:
    """An end of an interval of values.

    `exact` is its text where it is rational (or the logarithm of a rational number), else None, and
    `equation` is what is 0 there. `decimal` is correctly rounded; `is_open`: the end is left out.
    """

    exact: str | None
    equation: str | None
    decimal: str
    is_open: bool

    @property
    def text(self) -> str:
        """The end in short."""
        if self.exact is not None:
            return self.exact
        return str(Context(prec=SHORT).create_decimal(self.decimal).normalize())


@dataclass(frozen=True)
class ParamInterval:
    """An interval of values of a parameter; both ends are one if it is a single value."""

    low: ParamEnd
    high: ParamEnd

    @property
    def is_exact(self) -> bool:
        """Whether its text is exact, and an interval, as the language writes it."""
        return self.low != self.high and None not in (self.low.exact, self.high.exact)

    @property
    def text(self) -> str:
        """The interval in short: `(0, 1/2]`, `{1/2}`.

        Irrational ends are rounded to six digits, but where they differ in later ones.
        """
        if self.low == self.high and not self.low.is_open:
            return f"{{{self.low.text}}}"
        low, high = self.low.text, self.high.text
        if low == high:
            low, high = (end.exact or end.decimal for end in (self.low, self.high))
        return f"{'(' if self.low.is_open else '['}{low}, {high}{')' if self.high.is_open else ']'}"
