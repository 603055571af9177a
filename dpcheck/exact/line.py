"""All values of a parameter as a line of numbers t, on which what depends on it is rational.

A `Line` goes both ways: a number at the stand-in is a quotient of polynomials in t, and a set of t
is a set of values of the parameter, with ends to be shown, and with the simplest value in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cmp_to_key, lru_cache, reduce
from itertools import count, pairwise
from math import lcm
from typing import TypeVar

from flint import arb, ctx, fmpq, fmpq_poly, fmpz_poly

from dpcheck.exact.budget import Budget
from dpcheck.exact.number import ExpNumber, Extended, Number, add, compare, multiply, subtract
from dpcheck.exact.param import Cut, Param
from dpcheck.exact.polynomial import ExpPolynomial, Whole, precisions
from dpcheck.exact.roots import (
    Bound,
    PowerOfE,
    Region,
    Root,
    between,
    everywhere,
    rational_between,
    reversed_coefficients,
    roots_between,
    scaled,
    where_sign,
    without,
)
from dpcheck.exact.text import decimal, exact_text, multiple_text
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.records import dataclass, replace

T = TypeVar("T")
ONE = fmpq(1)
ZERO = Root.of(0)
NOTHING = Budget.of(0)

_Edge = tuple[Root | None, bool]
"""An end of an interval, None if it is infinite, and whether it belongs to that."""

Chosen = int | fmpq | Budget
"""A value of a parameter: a rational number, or a logarithm where `exp` of it is used."""


@dataclass(frozen=True)
class Line:
    """All values of a parameter by a number t from (low, high), in which all of it is rational.

    With `is_exponential`, t is exp(unit·eps); else the parameter is a function of t, as
    `exact.param` says, and the unit is 1. Closed ends of an interval of eps other than 0 belong to
    it without being asked by themselves: no polynomial is 0 at the transcendental number t there.
    Functions are written as they are at a root of the `modulus`, a polynomial as `in_param` makes.
    """

    param: Param
    unit: fmpq
    is_exponential: bool
    modulus: fmpz_poly | None = None

    @property
    def low(self) -> Bound:
        """The least t, which is none itself: 1, or of an exponential another; None without end."""
        cut = self.cut(is_high=self.is_turned)
        if cut is not None:
            return cut
        if not self.is_exponential:
            return None if self.param.ends == (None, None) else _power(NOTHING)
        end = self.param.ends[self.is_turned]
        return ZERO if end is None else self.root_of(end)

    @property
    def high(self) -> Bound:
        """The greatest t, which is none itself."""
        cut = self.cut(is_high=not self.is_turned)
        if cut is not None:
            return cut
        end = self.param.ends[not self.is_turned]
        return self.root_of(end) if self.is_exponential and end is not None else None

    def cut(self, *, is_high: bool) -> Root | None:
        """Return the t of the irrational value below, or above, which all values are, if any."""
        cut = self.param.below if is_high else self.param.above
        return None if cut is None else _at_cut(self.param, self.unit, cut)

    def polynomials(self, value: Number) -> tuple[fmpz_poly, fmpz_poly]:
        """Return numerator and denominator of a number at the stand-in, as polynomials in t.

        The denominator is positive at the stand-in, so on the whole line if it is 0 nowhere there.
        """
        if isinstance(value, ExpNumber):
            step = self._step(value.unit)
            return value.numerator.inflate(step), value.denominator.inflate(step)
        exact = fmpq(value)
        return fmpz_poly([exact.p]), fmpz_poly([exact.q])

    def polynomial(self, value: Whole) -> fmpz_poly:
        """Return a whole number at the stand-in as a polynomial in t."""
        if isinstance(value, ExpPolynomial):
            return value.coefficients.inflate(self._step(value.unit))
        return fmpz_poly([value])

    def _step(self, unit: fmpq) -> int:
        """Return the power of t that e^unit stands for."""
        step = unit / self.unit / (self.param.exponent if self.is_exponential else 1)
        assert step.q == 1, "the unit of the line divides those of its numbers"
        return int(step.p)

    def where(self, value: Number, signs: Sequence[int]) -> Region:
        """Return where a number has one of some signs."""
        above, below = self.polynomials(value)
        return where_sign(above * below, signs, self.low, self.high)

    def positive(self, factor: fmpz_poly) -> fmpz_poly:
        """Return a factor of what is positive on the line, or its negative: that is positive too.

        Where a line has no last t that is the one that is positive there for large t, as gcds are.
        """
        if self.high is None or where_sign(factor, (-1,), self.low, self.high).is_empty:
            return factor
        return -factor

    def beside(self, value: Chosen, signs: Sequence[int]) -> Region:
        """Return where the parameter minus a value has one of some signs."""
        if not self.is_exponential:
            assert not isinstance(value, Budget), "it is rational"
            return self.where(subtract(self.param.stand_in, value), signs)
        t = self.root_of(value)
        signs = [-sign for sign in signs] if self.is_turned else signs
        for end, sign in ((self.low, 1), (self.high, -1)):
            if end is not None and end.compare(t) in (0, sign):
                return everywhere(sign in signs, self.low, self.high)
        return Region(self.low, self.high, (t,), tuple(sign in signs for sign in (-1, 0, 1)))

    def root_of(self, value: Chosen) -> Root:
        """Return exp(unit·value)."""
        return _power((value if isinstance(value, Budget) else Budget.of(value)) * self.unit)

    # --- from t to the parameter -------------------------------------------------------------

    @property
    def is_turned(self) -> bool:
        """Return whether the parameter falls as t grows."""
        return self.unit < 0 if self.is_exponential else self.param.high is not None

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

    def in_param(self, polynomial: fmpz_poly, degree: int) -> fmpz_poly:
        """Return (a multiple, the same for all of one degree, of) p(t) as one of the parameter.

        Where t is w/(α - low) that is (α - low)^degree p(t).
        """
        low, high = self.param.ends
        if self.is_exponential or (low is None and high is None):
            return polynomial
        if low is None:
            return _padded(polynomial, degree, fmpq(high or 0) + 1, -ONE)
        if high is None:
            return _padded(polynomial, degree, 1 - fmpq(low), ONE)
        width = fmpq(high) - low
        turned = reversed_coefficients(polynomial, degree)
        return _padded(turned, degree, -low / width, 1 / width)

    # --- what is shown -----------------------------------------------------------------------

    def intervals(self, region: Region) -> list[ParamInterval]:
        """Return the intervals of values of the parameter that a set of t is, in order."""
        return [interval for interval, _ in self.pieces([(region, None)])]

    def pieces(self, parts: Iterable[tuple[Region, T]]) -> list[tuple[ParamInterval, T]]:
        """Return the intervals of disjoint sets in order, with what goes with each."""
        found = [(*ends, what) for region, what in parts for ends in self._ends(region)]
        order = cmp_to_key(self._compare_starts)
        found.sort(key=lambda each: order(each[0]))
        return [
            (ParamInterval(self._end(*low, is_high=False), self._end(*high, is_high=True)), what)
            for low, high, what in found
        ]

    def _compare_starts(self, left: _Edge, right: _Edge) -> int:
        """Return -1, 0 or 1 as an interval from one end begins before, with or after another."""
        (x, has_x), (y, has_y) = left, right
        if x is None or y is None:
            return int(x is not None) - int(y is not None)
        order = y.compare(x) if self.is_exponential and self.is_turned else x.compare(y)
        return order or int(has_y) - int(has_x)

    def _ends(self, region: Region) -> list[tuple[_Edge, _Edge]]:
        """Return ends of intervals as values of the parameter, or of exp(unit·eps), in order."""
        found = []
        for low, has_low, high, has_high in region.intervals():
            first = self._edge(self.is_turned) if low is None else (self.of_param(low), has_low)
            last = self._edge(not self.is_turned)
            if high is not None:
                last = first if high is low else (self.of_param(high), has_high)
            found.append((last, first) if self.is_turned else (first, last))
        return found[::-1] if self.is_turned else found

    def _edge(self, is_high: bool) -> _Edge:
        """Return the end of the line where the parameter is least or greatest; None if infinite.

        And whether it belongs to the line.
        """
        param, cut = self.param, self.cut(is_high=is_high)
        if cut is not None:
            return self.of_param(cut), False
        end, has_end = (param.high, param.has_high) if is_high else (param.low, param.has_low)
        if end is None or not self.is_exponential:
            return None if end is None else Root.of(end), False
        return self.root_of(end), end != 0 and has_end

    def _end(self, root: Root | None, has_end: bool, is_high: bool) -> ParamEnd:
        if root is None:
            return ParamEnd("inf" if is_high else "-inf", None, "inf" if is_high else "-inf", True)
        x = self._logarithm(root) if self.is_exponential else root.rational
        if x is None:
            equation = self.polynomial_text(root.polynomial)
            return ParamEnd(None, equation, self._decimal(root), not has_end)
        return ParamEnd(exact_text(x), None, decimal(x), not has_end)

    def _logarithm(self, root: Root) -> Chosen | None:
        """Return ln(root)/unit where some power of the root is rational: of c t^n = b it is b/c."""
        if isinstance(root, PowerOfE):
            return (root.exponent / self.unit).plain()
        p, n = root.polynomial, root.polynomial.degree()
        if any(p[k] != 0 for k in range(1, n)):
            return None
        return (Budget.ln(fmpq(-p[0], p[n])) / (self.unit * n)).plain()

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
        return f"exp({multiple_text(self.unit * k, name)})"

    def function(self, above: fmpz_poly, below: fmpz_poly) -> tuple[fmpz_poly, fmpz_poly]:
        """Return coprime polynomials in the parameter, or exp(unit·eps), with the same quotient."""
        degree = max(above.degree(), below.degree(), 0)
        n, d = self.in_param(above, degree), self.in_param(below, degree)
        divisor = n.gcd(d)
        n, d = n // divisor, d // divisor
        if self.modulus is not None:
            _, inverse, _ = fmpq_poly(d).xgcd(fmpq_poly(self.modulus))
            whole = fmpq_poly(n) * inverse % fmpq_poly(self.modulus)
            return whole.numer(), fmpz_poly([whole.denom()])
        return (-n, -d) if d(self.somewhere) < 0 else (n, d)

    def number_at(self, number: Number, value: int | fmpq) -> fmpq:
        """Return what a number at the stand-in is for a value, or for one of exp(unit·eps).

        >>> Line(param := Param("a", 0, 1), ONE, is_exponential=False).number_at(param.stand_in, 3)
        3
        """
        above, below = self.function(*self.polynomials(number))
        return fmpq(above(fmpq(value))) / below(fmpq(value))

    def at_root(self, t: Root) -> Line:
        """Return a line on which functions are written as they are at t: as least polynomials."""
        return replace(self, modulus=self.of_param(t).polynomial)

    @property
    def somewhere(self) -> fmpq:
        """Some value of the parameter, or of exp(unit·eps)."""
        t = between(self.low, self.high)
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
        degree = max(n.degree(), 0)  # at a root of the modulus it may be 0
        if self.is_exponential and d.is_one() and n == fmpz_poly([0, 1]) ** degree:
            return multiple_text(self.unit * degree, self.param.name)
        return f"ln({self.fraction_text(above, below)})"

    # --- one value ---------------------------------------------------------------------------

    def simplest(self, region: Region, *, at_logarithms: bool = False) -> Chosen | None:
        """Return the value with the smallest denominator in a set, None if all are irrational.

        With an exponential a single value may be a logarithm; with `at_logarithms` every one is.
        """
        return simplest([self._within(*ends, at_logarithms) for ends in self._ends(region)])

    def _within(self, low: _Edge, high: _Edge, is_logarithm: bool) -> Chosen | None:
        """Return the simplest value in an interval, or the logarithm of the simplest number."""
        if low[0] is not None and low[0] is high[0]:
            return self.value_of(low[0])
        if is_logarithm:
            places = (high[0], low[0]) if self.is_turned else (low[0], high[0])
            return Budget.ln(between(*places)) / self.unit
        inside = (self._exponent_between if self.is_exponential else between)(low[0], high[0])
        ends = (self.value_of(end) for end, has_end in (low, high) if end is not None and has_end)
        return simplest([inside, *ends])

    def only(self, t: Root, numbers: Iterable[Number]) -> Param:
        """Return the parameter of which one irrational value is asked.

        Its interval lies around that for t, where one of some numbers is 0, and has no other zero.
        """
        zeros = [self.where(number, (0,)) for number in numbers]
        around = without(everywhere(True, self.low, self.high), zeros)
        ends, root = self._ends(around), self.of_param(t)
        k = next(k for k, (low, _) in enumerate(ends) if low[0] and low[0].compare(root) == 0)
        inside = self._exponent_between if self.is_exponential else between
        low, high = (inside(first[0], last[0]) for first, last in ends[k - 1 : k + 1])
        return Param(self.param.name, low, high, is_single=True)

    def within(self, low: Root | None, high: Root | None) -> Param:
        """Return the parameter of the values for t between two others, by default to the end.

        Rational ends come ever closer to irrational ones, until what stands for it is a value too.
        """
        first, last = (high, low) if self.is_turned else (low, high)
        for bits in count(4, 4):
            (below_first, above_first), (below_last, above_last) = (
                self._bounds(end, bits) for end in (first, last)
            )
            param = self.param
            if first is not None:
                param = replace(param, low=below_first, has_low=False, above=self._as_cut(first))
            if last is not None:
                param = replace(param, high=above_last, has_high=False, below=self._as_cut(last))
            here = param.exponent if self.is_exponential else param.stand_in
            order = [self.param.low, below_first, above_first, here]
            order += [below_last, above_last, self.param.high]
            known = [each for each in order if each is not None]
            if all(compare(a, b) <= 0 for a, b in pairwise(known)):
                return param
        raise AssertionError("counting has no end")

    def _as_cut(self, t: Root) -> Cut | None:
        """Return the value for a t as an end, None if it is rational."""
        root = self.of_param(t)
        is_rational = root.rational == 1 if self.is_exponential else root.rational is not None
        return None if is_rational else Cut(root, self.unit if self.is_exponential else None)

    def _bounds(self, t: Root | None, bits: int) -> tuple[fmpq, fmpq] | tuple[None, None]:
        """Return bounds of the parameter for a t, equal if it is rational; None without t."""
        if t is None or self.is_exponential:
            return self._exponent(t, bits)
        root = self.of_param(t)
        while (root.high - root.low) * 2**bits > 1:
            root.narrow()
        return root.low, root.high

    def value_of(self, root: Root) -> Chosen | None:
        """Return the value for a root in the parameter; None if it is not asked by itself.

        Exponentials have exact values there: e^(1/2 + 1/2 ln 2) is none.
        """
        if self.is_exponential:
            is_exact = isinstance(root, PowerOfE) and root.exponent.has_exact_power
            return self._logarithm(root) if is_exact or root.rational is not None else None
        return None if root.rational is None else simplest([root.rational])

    def _exponent_between(self, first: Root | None, last: Root | None) -> fmpq:
        """Return the simplest rational between ln(first)/unit and ln(last)/unit.

        Those that are not known are irrational (Lindemann), so enclosures come to show that it lies
        between.
        """
        for bits in precisions():
            low, high = self._exponent(first, bits), self._exponent(last, bits)
            x = rational_between(low[0], high[1])
            is_above = low[0] is None or low[0] == low[1] or low[1] < x
            if is_above and (high[0] is None or high[0] == high[1] or x < high[0]):
                return x
        raise AssertionError("precisions are unbounded")

    def _exponent(self, root: Root | None, bits: int) -> tuple[fmpq, fmpq] | tuple[None, None]:
        """Return bounds of ln(root)/unit, equal if it is rational; None if it is infinite."""
        if root is None:
            return None, None
        known = self._logarithm(root)
        if known is not None and not isinstance(known, Budget):
            return fmpq(known), fmpq(known)
        while (root.high - root.low) * 2**bits > root.high:
            root.narrow()
        with ctx.workprec(bits + 32):
            ball = (arb(root.low).union(arb(root.high))).log() / arb(self.unit)
            return ball.lower().fmpq(), ball.upper().fmpq()

    def example_text(self, region: Region) -> str:
        """Return one value of a set as words: `at alpha = 1/2`."""
        value = self.simplest(region)
        if value is not None:
            return f"at {self.param.name} = {exact_text(value)}"
        return f"at {self.param.name} = {self.intervals(region)[0].low.decimal}..."


def end_at(value: Chosen) -> ParamEnd:
    """Return a value as an end that belongs to its interval."""
    return ParamEnd(exact_text(value), None, decimal(value), is_open=False)


def line_of(param: Param, values: Iterable[Extended | Whole], *, is_exponential: bool) -> Line:
    """Return the line on which all of some numbers at the stand-in are rational."""
    if not is_exponential:
        return Line(param, ONE, is_exponential=False)
    units = {value.unit for value in values if isinstance(value, ExpNumber | ExpPolynomial)}
    cuts = [cut for cut in (param.above, param.below) if cut is not None]
    units.update(cut.unit * param.exponent for cut in cuts if cut.unit is not None)
    unit = reduce(lambda a, b: a.gcd(b), units, fmpq(0)) / param.exponent
    return Line(param, unit or ONE, is_exponential=True)


def simplest(values: Sequence[Chosen | None]) -> Chosen | None:
    """Return the value with the smallest denominator and size; a logarithm only if all are."""
    rational = [fmpq(value) for value in values if isinstance(value, int | fmpq)]
    if rational:
        best = min(rational, key=lambda x: (int(x.q), abs(int(x.p))))
        return int(best.p) if best.q == 1 else best
    return next((value for value in values if isinstance(value, Budget)), None)


@lru_cache(maxsize=256)
def _power(exponent: Budget) -> Root:
    """Return e^exponent: transcendental, or an n-th root of a rational number."""
    if exponent.offset != 0:
        return PowerOfE(exponent)
    n = lcm(*(int(fmpq(m).q) for _, m in exponent.powers))
    power = (exponent * n).exp()
    assert not isinstance(power, ExpNumber), "without a rational part there is no power of e"
    power = fmpq(power)
    (root,) = roots_between(fmpz_poly([-power.p]) + fmpz_poly([0, power.q]).inflate(n), ZERO, None)
    return root


@lru_cache(maxsize=256)
def _at_cut(param: Param, unit: fmpq, cut: Cut) -> Root:
    """Return the t of an irrational value of a parameter, on its line of a unit.

    t^k = y for y > 0 and t > 0 is one to one, so roots y of p are in the order of the t of p(t^k),
    or in reverse for k < 0.
    """
    polynomial = cut.root.polynomial
    if cut.unit is not None:
        power = int((cut.unit / unit).p)
        place = [y.compare(cut.root) for y in roots_between(polynomial, ZERO, None)].index(0)
        inflated = polynomial.inflate(abs(power))
        if power < 0:
            inflated, place = reversed_coefficients(inflated, inflated.degree()), -1 - place
        return roots_between(inflated, ZERO, None)[place]
    line = Line(replace(param, above=None, below=None), ONE, is_exponential=False)
    value: Number = 0
    for coefficient in reversed(polynomial.coeffs()):
        value = add(multiply(value, param.stand_in), int(coefficient))
    found = line.where(value, (0,)).ends
    return next(t for t in found if line.of_param(t).compare(cut.root) == 0)


def primitive(polynomial: fmpz_poly) -> fmpz_poly:
    """Return the primitive multiple with a positive leading coefficient."""
    content = polynomial.content()
    whole = polynomial / content
    return -whole if whole[whole.degree()] < 0 else whole


def _padded(polynomial: fmpz_poly, degree: int, start: fmpq, step: fmpq) -> fmpz_poly:
    """Return D^degree p(start + step x) for all polynomials of a degree up to that alike."""
    missing = int((start.q * step.q) ** (degree - polynomial.degree()))
    return scaled(polynomial, start, step) * missing
