"""All values of a parameter as a line of numbers t, on which what depends on it is rational.

A `Line` goes both ways: a number at the stand-in is a quotient of polynomials in t, and a set of t
is a set of values of the parameter, with ends to be shown, and with the simplest value in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from flint import arb, ctx, fmpq, fmpz_poly

from dpcheck.exact.budget import Budget
from dpcheck.exact.number import ExpNumber, Extended, Number
from dpcheck.exact.param import Param
from dpcheck.exact.polynomial import ExpPolynomial, Whole, precisions
from dpcheck.exact.roots import (
    Bound,
    Region,
    Root,
    rational_between,
    reversed_coefficients,
    scaled,
    where_sign,
)
from dpcheck.exact.text import decimal, exact_text
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.records import dataclass

ONE = fmpq(1)

NEAR = fmpq(1, 100)
"""How far values beside an irrational one may lie from it."""

Chosen = int | fmpq | Budget
"""A value of a parameter: a rational number, or a logarithm where `exp` of it is used."""


@dataclass(frozen=True)
class Line:
    """All values of a parameter by a number t from (low, high), in which all of it is rational.

    With `is_exponential`, t is exp(unit·eps); else the parameter is a function of t, as
    `exact.param` says, and the unit is 1.
    """

    param: Param
    unit: fmpq
    is_exponential: bool
    low: fmpq = ONE
    high: Bound = None

    def polynomials(self, value: Number) -> tuple[fmpz_poly, fmpz_poly]:
        """Return numerator and denominator of a number at the stand-in, as polynomials in t.

        The denominator is positive at the stand-in, so on the whole line if it is 0 nowhere there.
        """
        if isinstance(value, ExpNumber):
            step = value.unit / self.unit
            assert step.q == 1, "the unit of the line divides those of its numbers"
            return value.numerator.inflate(int(step.p)), value.denominator.inflate(int(step.p))
        exact = fmpq(value)
        return fmpz_poly([exact.p]), fmpz_poly([exact.q])

    def polynomial(self, value: Whole) -> fmpz_poly:
        """Return a whole number at the stand-in as a polynomial in t."""
        if isinstance(value, ExpPolynomial):
            step = value.unit / self.unit
            assert step.q == 1, "the unit of the line divides those of its numbers"
            return value.coefficients.inflate(int(step.p))
        return fmpz_poly([value])

    def where(self, value: Number, signs: Sequence[int]) -> Region:
        """Return where a number has one of some signs."""
        above, below = self.polynomials(value)
        return where_sign(above * below, signs, self.low, self.high)

    # --- from t to the parameter -------------------------------------------------------------

    @property
    def is_turned(self) -> bool:
        """Return whether the parameter falls as t grows."""
        return self.param.high is not None

    def of_param(self, t: Root) -> Root:
        """Return the value of the parameter for a t; of an exponential, that itself."""
        if self.is_exponential:
            return t
        ends = sorted([self.value_at(t.low), self.value_at(t.high)])
        return Root(primitive(self.in_param(t.polynomial, t.polynomial.degree())), *ends)

    def value_at(self, t: fmpq) -> fmpq:
        """Return the value of the parameter for a rational t."""
        value = self.param.value_at(t)
        assert not isinstance(value, ExpNumber), "rational numbers have one"
        return fmpq(value)

    def t_of(self, value: Chosen) -> Bound:
        """Return the t of a value of the parameter, None for an infinite or irrational one."""
        if isinstance(value, Budget) or self.is_exponential:
            budget = value if isinstance(value, Budget) else Budget.of(value)
            t = (budget * self.unit).exp()
            return None if isinstance(t, ExpNumber) else fmpq(t)
        low, high = self.param.low, self.param.high
        if low is None:
            assert high is not None, "a parameter is bounded on one side"
            return fmpq(high) + 1 - value
        if high is None:
            return fmpq(value) - low + 1
        return None if value == low else (fmpq(high) - low) / (value - low)

    def in_param(self, polynomial: fmpz_poly, degree: int) -> fmpz_poly:
        """Return (a multiple, the same for all of one degree, of) p(t) as one of the parameter.

        Where t is w/(α - low) that is (α - low)^degree p(t).
        """
        low, high = self.param.low, self.param.high
        if self.is_exponential:
            return polynomial
        if low is None:
            assert high is not None, "a parameter is bounded on one side"
            return _padded(scaled, polynomial, degree, fmpq(high) + 1, -ONE)
        if high is None:
            return _padded(scaled, polynomial, degree, 1 - fmpq(low), ONE)
        width = fmpq(high) - low
        turned = reversed_coefficients(polynomial, degree)
        return _padded(scaled, turned, degree, -low / width, 1 / width)

    # --- what is shown -----------------------------------------------------------------------

    def intervals(self, region: Region) -> list[ParamInterval]:
        """Return the intervals of values of the parameter that a set of t is, in order."""
        return [
            ParamInterval(self._end(low, has_low, is_high=False), self._end(high, has_high, True))
            for low, has_low, high, has_high in self._bounds(region)
        ]

    def _bounds(self, region: Region) -> list[tuple[Root | None, bool, Root | None, bool]]:
        """Return ends in the order of the parameter; None is an end of the line."""
        bounds = region.intervals()
        if not self.is_turned:
            return bounds
        return [(high, has_high, low, has_low) for low, has_low, high, has_high in reversed(bounds)]

    def _edge(self, is_high: bool) -> Root | None:
        """Return the end of the line where the parameter is least or greatest; None if infinite."""
        if self.is_exponential:
            return None if is_high else Root.of(1)
        end = self.param.high if is_high else self.param.low
        return None if end is None else Root.of(end)

    def _end(self, t: Root | None, has_end: bool, is_high: bool) -> ParamEnd:
        root = self._edge(is_high) if t is None else self.of_param(t)
        if root is None:
            return ParamEnd("inf" if is_high else "-inf", None, "inf" if is_high else "-inf", True)
        x = self._logarithm(root) if self.is_exponential else root.rational
        if x is None:
            equation = self.polynomial_text(root.polynomial)
            return ParamEnd(None, equation, self._decimal(root), not has_end)
        return ParamEnd(exact_text(x), None, decimal(x), not has_end)

    def _logarithm(self, root: Root) -> Budget | None:
        """Return ln(root)/unit where some power of the root is rational: of c t^n = b it is b/c."""
        p, n = root.polynomial, root.polynomial.degree()
        if any(p[k] != 0 for k in range(1, n)):
            return None
        return Budget.ln(fmpq(-p[0], p[n])) / (self.unit * n)

    def _decimal(self, root: Root) -> str:
        """Return an irrational end, correctly rounded to 17 digits."""
        while True:
            for _ in range(64):
                root.narrow()
            ends = [self._shown(x) for x in (root.low, root.high)]
            if ends[0] == ends[1]:
                return ends[0]

    def _shown(self, x: fmpq) -> str:
        return decimal(Budget.ln(x) / self.unit if self.is_exponential else x)

    def polynomial_text(self, polynomial: fmpz_poly) -> str:
        """Return a polynomial in the parameter (or exp(unit·eps)), the highest power first.

        The lowest first where that begins with a plus and the highest with a minus.

        >>> line = Line(Param("a", 0, 1), ONE, is_exponential=False)
        >>> line.polynomial_text(fmpz_poly([-1, 0, 2])), line.polynomial_text(fmpz_poly([1, -2]))
        ('2*a^2 - 1', '1 - 2*a')
        """
        powers = [k for k in range(polynomial.degree(), -1, -1) if polynomial[k] != 0]
        if powers and polynomial[powers[0]] < 0 < polynomial[powers[-1]]:
            powers.reverse()
        terms: list[str] = []
        for k in powers:
            c = polynomial[k]
            power = self._power_text(k)
            size = power if abs(c) == 1 and power else f"{abs(c)}*{power}" if power else f"{abs(c)}"
            sign = ("-" if c < 0 else "") if not terms else ("- " if c < 0 else "+ ")
            terms.append(f"{sign}{size}")
        return " ".join(terms) or "0"

    def _power_text(self, k: int) -> str:
        if k == 0:
            return ""
        name = self.param.name
        if not self.is_exponential:
            return name if k == 1 else f"{name}^{k}"
        return f"exp({_multiple_text(self.unit * k, name)})"

    def function(self, above: fmpz_poly, below: fmpz_poly) -> tuple[fmpz_poly, fmpz_poly]:
        """Return coprime polynomials in the parameter, or exp(unit·eps), with the same quotient."""
        degree = max(above.degree(), below.degree(), 0)
        n, d = self.in_param(above, degree), self.in_param(below, degree)
        divisor = n.gcd(d)
        n, d = n // divisor, d // divisor
        return (-n, -d) if d(self.somewhere) < 0 else (n, d)

    @property
    def somewhere(self) -> fmpq:
        """Some value of the parameter, or of exp(unit·eps)."""
        t = rational_between(self.low, self.high)
        return t if self.is_exponential else self.value_at(t)

    def text(self, value: Number) -> str:
        """Return a number at the stand-in as an expression over the parameter."""
        return self.fraction_text(*self.polynomials(value))

    def fraction_text(self, above: fmpz_poly, below: fmpz_poly) -> str:
        """Return a quotient of polynomials in t as an expression over the parameter."""
        n, d = self.function(above, below)
        over = self.polynomial_text(n)
        if d.is_one():
            return over
        under = self.polynomial_text(d)
        is_one = " " not in under and (under.isdigit() or under[0] not in "-0123456789")
        under = under if is_one else f"({under})"
        return f"({over})/{under}" if " " in over else f"{over}/{under}"

    def logarithm_text(self, above: fmpz_poly, below: fmpz_poly) -> str:
        """Return ln of a quotient of polynomials in t; that of a power of exp(eps) is q*eps.

        >>> line = Line(Param("eps", 0, None), ONE / 2, is_exponential=True)
        >>> line.logarithm_text(fmpz_poly([0, 0, 0, 1]), fmpz_poly([1]))
        '3*eps/2'
        """
        n, d = self.function(above, below)
        if n == d:
            return "0"
        if self.is_exponential and d.is_one() and n == fmpz_poly([0, 1]) ** n.degree():
            return _multiple_text(self.unit * n.degree(), self.param.name)
        return f"ln({self.fraction_text(above, below)})"

    # --- one value ---------------------------------------------------------------------------

    def simplest(self, region: Region, *, at_logarithms: bool = False) -> Chosen | None:
        """Return the value with the smallest denominator in a set, None if all are irrational.

        With an exponential a single value may be a logarithm; with `at_logarithms` every one is.
        """
        every = [self._within(*bound, at_logarithms) for bound in self._bounds(region)]
        return simplest([value for value in every if value is not None])

    def _within(
        self, low: Root | None, has_low: bool, high: Root | None, has_high: bool, is_logarithm: bool
    ) -> Chosen | None:
        """Return the simplest value in an interval, or the logarithm of the simplest number."""
        if low is not None and low is high:
            return self._single(self.of_param(low))
        first = self._edge(False) if low is None else self.of_param(low)
        last = self._edge(True) if high is None else self.of_param(high)
        inside = _simplest_between(first, last)
        if is_logarithm:
            return Budget.ln(inside) / self.unit
        if self.is_exponential:
            assert first is not None, "exponentials are above 1"
            return self._exponent_between(first, last)
        ends = [end for end, has in ((first, has_low), (last, has_high)) if end is not None and has]
        known = [end.rational for end in ends if end.rational is not None]
        return simplest([inside, *known])

    def value_of(self, t: Root) -> Chosen | None:
        """Return the value of the parameter for a t, None for one that is not asked by itself."""
        return self._single(self.of_param(t))

    def around(self, t: Root, region: Region) -> tuple[str, str]:
        """Return texts of values of a set a little below and above an irrational one."""
        root, bounds = self.of_param(t), self._bounds(region)
        low, high = bounds[0][0], bounds[-1][2]
        edges = (
            self._edge(False) if low is None else self.of_param(low),
            self._edge(True) if high is None else self.of_param(high),
        )
        known = [x for end in edges if end is not None and (x := end.rational) is not None]
        while root.high - root.low > NEAR or any(root.low <= x <= root.high for x in known):
            root.narrow()
        bottom = max([root.low - NEAR, *(x for x in known if x < root.low)])
        top = min([root.high + NEAR, *(x for x in known if x > root.high)])
        below, above = rational_between(bottom, root.low), rational_between(root.high, top)
        values = (Budget.ln(x) / self.unit if self.is_exponential else x for x in (below, above))
        first, second = map(exact_text, values)
        return first, second

    def end_at(self, value: Chosen) -> ParamEnd:
        """Return a value as an end that belongs to its interval."""
        return ParamEnd(exact_text(value), None, decimal(value), is_open=False)

    def _single(self, root: Root) -> Chosen | None:
        x = root.rational
        if x is None:
            return None
        return Budget.ln(x) / self.unit if self.is_exponential else simplest([x])

    def _exponent_between(self, first: Root, last: Root | None) -> fmpq:
        """Return the simplest rational between ln(first)/unit and ln(last)/unit.

        Both are 0 or irrational (Lindemann), so enclosures come to show that it lies between.
        """
        for bits in precisions():
            low = self._exponent(first, bits)
            high = None if last is None else self._exponent(last, bits)
            top = None if high is None else high.upper().fmpq()
            x = rational_between(low.lower().fmpq(), top)
            if low < x and (high is None or x < high):
                return x
        raise AssertionError("precisions are unbounded")

    def _exponent(self, root: Root, bits: int) -> arb:
        """Return an enclosure of ln(root)/unit."""
        while (root.high - root.low) * 2**bits > root.high:
            root.narrow()
        with ctx.workprec(bits + 32):
            ball = arb(root.low).union(arb(root.high))
            return ball.log() / arb(self.unit)

    def example_text(self, region: Region) -> str:
        """Return one value of a set as words: `at alpha = 1/2`."""
        value = self.simplest(region)
        if value is not None:
            return f"at {self.param.name} = {exact_text(value)}"
        return f"at {self.param.name} = {self.intervals(region)[0].low.decimal}..."


def line_of(param: Param, values: Iterable[Extended | Whole], *, is_exponential: bool) -> Line:
    """Return the line on which all of some numbers at the stand-in are rational."""
    if not is_exponential:
        return Line(param, ONE, is_exponential=False)
    units = {value.unit for value in values if isinstance(value, ExpNumber | ExpPolynomial)}
    return Line(param, reduce(lambda a, b: a.gcd(b), units, fmpq(0)) or ONE, is_exponential=True)


def simplest(values: Sequence[Chosen]) -> Chosen | None:
    """Return the value with the smallest denominator and size; a logarithm only if all are."""
    rational = [fmpq(value) for value in values if not isinstance(value, Budget)]
    if rational:
        best = min(rational, key=lambda x: (int(x.q), abs(int(x.p))))
        return int(best.p) if best.q == 1 else best
    return next((value for value in values if isinstance(value, Budget)), None)


def _multiple_text(factor: fmpq, name: str) -> str:
    """Return a multiple of a parameter as the language writes it: 3*eps/2."""
    above = name if factor.p == 1 else f"{factor.p}*{name}"
    return above if factor.q == 1 else f"{above}/{factor.q}"


def primitive(polynomial: fmpz_poly) -> fmpz_poly:
    """Return the primitive multiple with a positive leading coefficient."""
    content = polynomial.content()
    whole = polynomial / content
    return -whole if whole[whole.degree()] < 0 else whole


def _padded(
    transform: Callable[[fmpz_poly, fmpq, fmpq], fmpz_poly],
    polynomial: fmpz_poly,
    degree: int,
    start: fmpq,
    step: fmpq,
) -> fmpz_poly:
    """Return D^degree p(start + step x) for all polynomials of a degree up to that alike."""
    missing = int((start.q * step.q) ** (degree - polynomial.degree()))
    return transform(polynomial, start, step) * missing


def _simplest_between(first: Root | None, last: Root | None) -> fmpq:
    """Return the simplest rational strictly between two ends, of which None is infinite."""
    while True:
        if first is None:
            assert last is not None, "a parameter is bounded on one side"
            x = -rational_between(-last.high, None)
        else:
            x = rational_between(first.low, None if last is None else last.high)
        here = Root.of(x)
        is_above = first is None or first.compare(here) < 0
        if is_above and (last is None or here.compare(last) < 0):
            return x
        for end in (first, last):
            if end is not None:
                end.narrow()
