"""Intervals of values of a parameter, as texts: what is said of a claim for all values."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

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

    def inside(self, *, is_high: bool) -> ParamEnd:
        """Return the end of an interval that a claim can name: rounded inward if it is irrational.

        `decimal` is the number's to more digits. One of few digits is on either side of it, so
        that the next one is taken.
        """
        if self.exact is not None:
            return self
        known = Decimal(self.decimal)
        rounded = Context(prec=SHORT, rounding=ROUND_FLOOR if is_high else ROUND_CEILING)
        near = rounded.create_decimal(known)
        if near == known:
            near = near.next_minus(rounded) if is_high else near.next_plus(rounded)
        text = f"{near.normalize():f}"
        return ParamEnd(text, None, text, is_open=False)


@dataclass(frozen=True)
class ParamInterval:
    """An interval of values of a parameter; both ends are one if it is a single value."""

    low: ParamEnd
    high: ParamEnd

    @property
    def inside(self) -> ParamInterval | None:
        """The largest interval in it that a claim can name: irrational ends are rounded inward.

        None where that has no value, as of a single irrational one.
        """
        found = ParamInterval(self.low.inside(is_high=False), self.high.inside(is_high=True))
        # A rounded end has no more digits: where decimals differ, they are in the numbers' order.
        is_some = found == self or Decimal(found.low.decimal) < Decimal(found.high.decimal)
        return found if is_some else None

    @property
    def rounded_ends(self) -> tuple[str, ...]:
        """The ends of what is `inside` that are rounded."""
        ends = (
            (self.low, self.low.inside(is_high=False)),
            (self.high, self.high.inside(is_high=True)),
        )
        return tuple(new.text for old, new in ends if new != old and self.inside is not None)

    @property
    def claimed(self) -> str:
        """An interval of exact ends as a claim writes it, also of one value."""
        return self._between(self.low.text, self.high.text)

    @property
    def text(self) -> str:
        """The interval in short: `(0, 1/2]`, `{1/2}`.

        Irrational ends are rounded to six digits, but where they differ in later ones.
        """
        if self.low == self.high and not self.low.is_open:
            return f"{{{self.low.text}}}"
        return self._between(*self.end_texts)

    @property
    def end_texts(self) -> tuple[str, str]:
        """Both ends as `text` has them."""
        low, high = self.low, self.high
        if low.text != high.text or low == high:
            return low.text, high.text
        return low.exact or low.decimal, high.exact or high.decimal

    def _between(self, low: str, high: str) -> str:
        return f"{'(' if self.low.is_open else '['}{low}, {high}{')' if self.high.is_open else ']'}"
