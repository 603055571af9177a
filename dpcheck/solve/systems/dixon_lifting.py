"""Large sparse systems: digits from a float factorization, an exact residual, and a proof.

For the whole matrix A = diag(D) - N and whole b, the solution of A x = b is found in digits. Let r
be what is left of b; a float factorization of A, made once, or an iteration gives an approximate
A⁻¹r (`float_solves`), and

    x_i = round(2^K A⁻¹ r),      r ← 2^K r - A x_i

adds K bits (Wan, J. Symbolic Computation 2006). The residual is exact: it is computed modulo 2^64,
and once more in floats with an error bound, which proves that it lies within int64, so that
its residue is itself. So after bits T in all, with X = Σ x_i 2^(T - T_i),

    2^T b = A X + r,      x - X/2^T = A⁻¹ r / 2^T,

whatever the quality of the guesses; bad ones only cost bits.

*Enclosure.* A is an M-matrix, A⁻¹ >= 0. If some y >= 0 has A y >= 1 in every row (checked exactly),
then |A⁻¹ r| <= max|r| · y in every row, so every state has certified bounds after every digit.

*Exact values.* The continued fraction of X_s/2^T gives the only fraction p/q near it once q is
short against T. That q is a common denominator is then proved for all unknowns at once:

    if every q x_t is within d_t of an integer p_t, and Σ_t |A_st| d_t < 1 in every row s, then
    A p - q b = A (p - q x) is a vector of integers smaller than 1, hence 0, and x = p/q.

The distances need only the digits' contributions modulo 1: 64-bit wrap-around sums over the digits.
If it fails at t, the fractional part of q x_t tells which factor is missing. If it cannot be
applied, digits are added up to the determinant's bound: det A <= Π D_s for an M-matrix (Fischer),
and x_s det A is an integer, so an error below 1/(2 q Π D_s) leaves only p/q.

Measured, for one exact value of a grid walk: 100x100 (10,000 unknowns, 4,000-bit denominators) 1 s;
300x300 (90,000 unknowns) 3 minutes and 1.3 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import prod
from typing import Any

import numpy as np
from flint import fmpz

from dpcheck.chain.chain import IntArray
from dpcheck.exact import Number, number
from dpcheck.limits import Limits
from dpcheck.records import dataclass
from dpcheck.solve.systems.float_solves import FloatArray, IllConditioned, kept_float_solve
from dpcheck.solve.systems.system import System

MAX_WEIGHT_BITS = 40
"""Bounds weights, so that in a row of A the errors of all distances stay below 1 in sum."""
FIRST_CONSTANT_BITS = 24
"""Bits of long constants in the first residual; the rest comes with later digits."""
MAX_DIGIT_BITS = 50
"""Bounds a digit, which a float of 53 bits holds with its rounding."""
LEAST_DIGIT_BITS = 6
"""With fewer bits a step, floats are no guide, and another backend has to solve the system."""
PIECE_BITS = 7
"""Digits are split in pieces of so many bits: products with fixed point then hardly err."""
STORED_DIGITS_LIMIT = 1 << 30
"""Bytes of digits that are stored; those beyond are computed once more."""
MAX_REPAIRS = 24
"""Bounds the factors that a denominator is found to lack."""
FIRST_ATTEMPT = 160
"""Bits after which rational numbers are first tried; each further attempt has an eighth more."""
SPARE_BITS = 24
"""Bits beyond those that a fraction needs, so that hardly a wrong one is put to the proof."""
EXTRA_BITS = 48
"""Bits that the rest beyond all digits is smaller by: it adds 2^-48 to a distance."""


@dataclass(frozen=True, eq=False)
class Digit:
    """One step: digits [n], the bits it added and the bits in all, and the largest residual."""

    values: IntArray
    bits: int
    total: int
    residual: int


class LiftedSystem:
    """A system ready to be lifted: integer matrix, float factorization, certified bound y."""

    def __init__(self, system: System, limits: Limits) -> None:
        """Factor the matrix; raises `IllConditioned` where floats cannot give digits."""
        from scipy.sparse import csr_matrix, diags

        for weights in (system.denominators, system.numerators):
            if weights.dtype != np.int64 or weights.max() >> MAX_WEIGHT_BITS:
                raise IllConditioned
        n = system.n_states
        graph = system.graph
        off = csr_matrix((system.numerators, graph.targets, graph.indptr), (n, n))
        matrix = (diags([system.denominators], [0], (n, n), dtype=np.int64) - off).tocsr()
        self.n_states = n
        self.denominators = system.denominators
        self.constants: list[int] = [int(b) for b in system.constants.tolist()]
        self._sources = np.flatnonzero([b != 0 for b in self.constants])
        self._unsigned: Any = matrix.astype(np.uint64)
        self._float: Any = matrix.astype(np.float64)
        self._sizes: Any = abs(self._float)
        self._row_length = int(np.diff(matrix.indptr).max())
        self._norm = 2 * int(system.denominators.max())
        self._guess = kept_float_solve(self._float, system.home, limits)
        self.bound, self.bound_scale = self._certified_bound(limits)

    def _certified_bound(self, limits: Limits) -> tuple[IntArray, int]:
        """Return y [n] and m with A y >= 2^m in every row, so that A⁻¹ 1 <= y / 2^m."""
        guess = self._guess(np.full(self.n_states, 2.0), limits)
        if not np.all(np.isfinite(guess)) or guess.min() <= 0 or guess.max() >= 2.0**48:
            raise IllConditioned
        # As fine as floats go: rounding y up may cost a row |A| units of the 2^m to spare.
        bits = min(40, 52 - int(np.ceil(np.log2(guess.max()))))
        bound = np.ceil(np.ldexp(guess, bits)).astype(np.int64)
        image = self._product(bound)
        if image.min() < 1 << bits:
            raise IllConditioned
        return bound, bits

    def _product(self, vector: IntArray) -> IntArray:
        """Return A v, [n_states]; raises `IllConditioned` if it is not proved to fit int64."""
        as_float = vector.astype(np.float64)
        estimate = self._float @ as_float
        size = self._sizes @ np.abs(as_float)
        # A float sum of k products errs by less than (k + 2) 2^-53 of the sum of their sizes.
        error = size * (self._row_length + 2) * 2.0**-52
        if np.any(np.abs(estimate) + error >= 2.0**61) or np.abs(as_float).max() >= 2.0**53:
            raise IllConditioned
        exact: IntArray = (self._unsigned @ vector.view(np.uint64)).view(np.int64)
        return exact

    def error(self, state: int, residual: int) -> int:
        """Return e with |x_s - X/2^T| <= e/2^T when no residual exceeds the given one."""
        return (residual * int(self.bound[state]) >> self.bound_scale) + 1

    def row_sums_below_one(self, distances: FloatArray) -> bool:
        """Return whether Σ_t |A_st| d_t < 1, d [n_states], in each row (with room for rounding)."""
        return bool((self._sizes @ distances).max() < 0.9)

    def digits(self, limits: Limits) -> Iterator[Digit]:
        """Yield digit after digit, most significant first; always the same ones.

        Constants too long for int64 enter from the top: r holds their first bits, and each step
        brings in as many more as it adds to x.
        """
        longest = max(b.bit_length() for b in self.constants)
        total = -max(0, longest - FIRST_CONSTANT_BITS)
        residual = np.array([b >> -total for b in self.constants], np.int64)
        bits = MAX_DIGIT_BITS
        while True:
            limits.check_time(f"{max(total, 0)} bits of {self.n_states} unknowns")
            bits, values, residual = self._step(
                residual, min(bits + 1, MAX_DIGIT_BITS), total, limits
            )
            total += bits
            yield Digit(values, bits, total, int(np.abs(residual).max()))

    def _step(
        self, residual: IntArray, bits: int, total: int, limits: Limits
    ) -> tuple[int, IntArray, IntArray]:
        """Return the bits of one step, its digits and the residual it leaves."""
        guess: FloatArray = np.empty(0)
        while bits >= LEAST_DIGIT_BITS:
            incoming = self._incoming(bits, total)
            if incoming is not None or not len(guess):
                right = residual.astype(np.float64)
                if incoming is not None:
                    right += np.ldexp(incoming.astype(np.float64), -bits)
                guess = self._guess(right, limits)
            largest = float(np.abs(guess).max())
            if largest < 2.0 ** (MAX_DIGIT_BITS - bits):
                values = np.rint(np.ldexp(guess, bits)).astype(np.int64)
                left = self._residual(residual, values, bits, incoming)
                if left is not None:
                    return bits, values, left
            bits -= 1
        raise IllConditioned

    def _incoming(self, bits: int, total: int) -> IntArray | None:
        """Return the bits of b that the step brings in, [n]; None when b has no more."""
        if total >= 0:
            return None
        incoming = np.zeros(self.n_states, np.int64)
        left = -total - bits
        for s in self._sources.tolist():
            b = self.constants[s]
            incoming[s] = (b >> left if left >= 0 else b << -left) & ((1 << bits) - 1)
        return incoming

    def _residual(
        self, residual: IntArray, values: IntArray, bits: int, incoming: IntArray | None
    ) -> IntArray | None:
        """Return 2^K r + incoming - A x, [n_states], if it is proved to be small, else None."""
        as_float = values.astype(np.float64)
        scaled = np.ldexp(residual.astype(np.float64), bits)
        exact = residual.view(np.uint64) * np.uint64(1 << bits)
        if incoming is not None:
            scaled += incoming
            exact = exact + incoming.view(np.uint64)
        estimate = scaled - self._float @ as_float
        size = np.abs(scaled) + self._sizes @ np.abs(as_float)
        # A float sum of k terms errs by less than (k + 2) 2^-53 of the sum of their sizes.
        error = size * (self._row_length + 4) * 2.0**-52
        if np.any(np.abs(estimate) + error >= 2.0**61):
            return None
        found: IntArray = (exact - self._unsigned @ values.view(np.uint64)).view(np.int64)
        # A few wrong units in each digit are fine: they are in the residual.
        return found if int(np.abs(found).max()) <= 8 * self._norm else None


@dataclass(frozen=True, eq=False)
class _Digits:
    """The digits so far: of the asked states, and the first ones of all states.

    Proving a denominator takes the digits down to its own size, about the first half of those that
    it was found from; so what does not fit in memory is seldom needed.
    """

    asked: list[IntArray]
    everywhere: list[IntArray]
    bits: list[int]
    totals: list[int]
    residuals: list[int]

    def value(self, column: int) -> int:
        """Return X of one asked state after all digits."""
        return _joined_digits([int(values[column]) for values in self.asked], self.bits)


def lifted_values(system: System, asked: IntArray, limits: Limits) -> list[Number]:
    """Return x_s for asked states [n]; raises `IllConditioned` if another backend must do it."""
    lifted = LiftedSystem(system, limits)
    found = _Digits([], [], [], [], [])
    attempt = FIRST_ATTEMPT
    for digit in lifted.digits(limits):
        _keep(found, digit, asked)
        if digit.total < attempt:
            continue
        attempt = digit.total * 9 // 8
        candidate = _likely_denominator(lifted, found, int(asked[0]))
        if candidate is None:
            continue
        common = _proved_denominator(lifted, found, candidate, limits)
        if common is not None:
            return _values_over(found, common, len(asked))
        if digit.total > _determinant_bits(lifted) + candidate.bit_length():
            return _values_by_determinant(lifted, found, asked)
    raise AssertionError("digits never end")


def lifted_bounds(
    system: System, asked: IntArray, bits: int, limits: Limits
) -> list[tuple[Number, Number]]:
    """Return certified lower and upper bounds of x_s at asked states [n], at most 2^-bits apart."""
    lifted = LiftedSystem(system, limits)
    found = _Digits([], [], [], [], [])
    for digit in lifted.digits(limits):
        found.asked.append(digit.values[asked])
        found.bits.append(digit.bits)
        errors = [lifted.error(int(s), digit.residual) for s in asked]
        if digit.total > bits + 1 + max(errors).bit_length():
            scale = 1 << digit.total
            values = [found.value(column) for column in range(len(asked))]
            return [
                (number(max(0, x - e), scale), number(min(scale, x + e), scale))
                for x, e in zip(values, errors, strict=True)
            ]
    raise AssertionError("digits never end")


def _keep(found: _Digits, digit: Digit, asked: IntArray) -> None:
    """Add a digit at asked [n]; those of all states only while they fit in memory."""
    found.asked.append(digit.values[asked])
    found.bits.append(digit.bits)
    found.totals.append(digit.total)
    found.residuals.append(digit.residual)
    if digit.values.nbytes * len(found.asked) <= STORED_DIGITS_LIMIT:
        found.everywhere.append(digit.values)


def _joined_digits(digits: list[int], bits: list[int]) -> int:
    """Return the integer whose digits, of so many bits each, are given; halves, then wholes."""
    while len(digits) > 1:
        if len(digits) % 2:
            digits, bits = [0, *digits], [0, *bits]
        digits = [(digits[i] << bits[i + 1]) + digits[i + 1] for i in range(0, len(digits), 2)]
        bits = [bits[i] + bits[i + 1] for i in range(0, len(bits), 2)]
    return digits[0]


def _likely_denominator(lifted: LiftedSystem, found: _Digits, state: int) -> int | None:
    """Return q of the first convergent p/q of X/2^T within the error, if much shorter than T."""
    error = lifted.error(state, found.residuals[-1])
    total = found.totals[-1]
    q = _convergent(found.value(0), total, error)[1]
    return q if 2 * q.bit_length() + error.bit_length() + SPARE_BITS < total else None


def _convergent(x: int, total: int, error: int) -> tuple[int, int]:
    """Return the first convergent p/q of x/2^total with |p/q - x/2^total| <= error/2^total.

    If some p/q lies within the error and 2 q² error < 2^total, it is this convergent: two
    fractions that near would differ by less than the product of their denominators allows.
    """
    above, below = fmpz(x), fmpz(1) << total
    p, p_before, q, q_before = fmpz(1), fmpz(0), fmpz(0), fmpz(1)
    while True:
        whole, rest = divmod(above, below)
        p, p_before = whole * p + p_before, p
        q, q_before = whole * q + q_before, q
        # |q x - p 2^total| is the rest, up to its sign.
        if rest <= error * q:
            return int(p), int(q)
        above, below = below, rest


def _proved_denominator(lifted: LiftedSystem, found: _Digits, q: int, limits: Limits) -> int | None:
    """Return a common denominator of the whole solution, proved; None if q does not lead to one."""
    for _ in range(MAX_REPAIRS):
        distances, fractions = _distances(lifted, found, q, limits)
        if distances is None:
            return None
        if lifted.row_sums_below_one(distances):
            return q
        missing = _small_denominator(float(fractions[int(np.argmax(distances))]))
        if missing == 1:
            return None
        q *= missing
    return None


def _distances(
    lifted: LiftedSystem, found: _Digits, q: int, limits: Limits
) -> tuple[FloatArray | None, FloatArray]:
    """Return upper bounds of the distances of q x_t from integers, and the parts q x_t mod 1.

    q x_t = Σ_i d_it q 2^-T_i + q A⁻¹ r / 2^T. With d = Σ_j d_j 2^7j the factors of all d_j are
    rounded down to multiples of 2^-64 and taken modulo 1, which makes the sum err by less than
    Σ_j |d_j| 2^-64 < 2^-54 a digit. None if there are not enough digits to tell.

    Digits that were not stored are computed once more: they are always the same ones.
    """
    enough = q.bit_length() + EXTRA_BITS + int(lifted.bound.max()).bit_length()
    sums = np.zeros(lifted.n_states, np.uint64)
    for n_digits, (values, total, residual) in enumerate(_all_digits(lifted, found, limits)):
        rest = values
        for place in range(0, MAX_DIGIT_BITS, PIECE_BITS):
            is_last = place + PIECE_BITS >= MAX_DIGIT_BITS  # it keeps the sign
            piece = rest if is_last else rest & ((1 << PIECE_BITS) - 1)
            sums += piece.view(np.uint64) * _fixed_point(q, 64 + place - total)
            rest = rest >> PIECE_BITS
        if total - residual.bit_length() >= enough:
            fractions = np.ldexp(sums.view(np.int64).astype(np.float64), -64)
            # The rest, q max|r| y_t / 2^(m+T), is below 2^-EXTRA_BITS.
            slack = (n_digits + 1) * 2.0**-54 + 2.0**-EXTRA_BITS
            return np.abs(fractions) * (1 + 2.0**-50) + slack, fractions
    return None, np.empty(0)


def _all_digits(
    lifted: LiftedSystem, found: _Digits, limits: Limits
) -> Iterator[tuple[IntArray, int, int]]:
    """Yield every digit [n] so far with the bits until there and the largest residual."""
    n_stored, n_digits = len(found.everywhere), len(found.totals)
    yield from zip(found.everywhere, found.totals, found.residuals, strict=False)
    if n_stored < n_digits:
        for digit in islice(lifted.digits(limits), n_stored, n_digits):
            yield digit.values, digit.total, digit.residual


def _fixed_point(q: int, shift: int) -> np.uint64:
    """Return floor(q 2^shift) modulo 2^64."""
    return np.uint64((q << shift if shift >= 0 else q >> -shift) & 0xFFFF_FFFF_FFFF_FFFF)


def _small_denominator(fraction: float) -> int:
    """Return the denominator of a short fraction very near, 1 if there is none."""
    p, q, p_before, q_before = 0.0, 1.0, 1.0, 0.0
    rest = abs(fraction)
    for _ in range(12):
        if abs(abs(fraction) - p / q) < 2.0**-32:
            return int(q)
        rest = 1 / rest if rest > 0 else 0.0
        whole = float(np.floor(rest))
        rest -= whole
        p, p_before = whole * p + p_before, p
        q, q_before = whole * q + q_before, q
        if q > 2.0**14:
            break
    return 1


def _values_over(found: _Digits, common: int, n_asked: int) -> list[Number]:
    """Return p/q with the nearest integer p to q X_s / 2^T."""
    total = found.totals[-1]
    half = 1 << (total - 1)
    return [
        number((common * found.value(column) + half) >> total, common) for column in range(n_asked)
    ]


def _determinant_bits(lifted: LiftedSystem) -> int:
    """Return the bits of the determinant's bound Π D_s, of an error and of the factor 2."""
    bits = sum(int(d).bit_length() for d in lifted.denominators)
    return bits + int(lifted.bound.max()).bit_length() + 2 * SPARE_BITS


def _values_by_determinant(lifted: LiftedSystem, found: _Digits, asked: IntArray) -> list[Number]:
    """Return the only fractions p/q within the error whose q can divide the determinant."""
    total, residual = found.totals[-1], found.residuals[-1]
    bound = prod(int(d) for d in lifted.denominators)
    result = []
    for column, s in enumerate(asked.tolist()):
        error = lifted.error(s, residual)
        p, q = _convergent(found.value(column), total, error)
        # Two fractions over q and over the determinant, both within the error, must be equal.
        if 2 * error * q * bound >= 1 << total:
            raise IllConditioned
        result.append(number(p, q))
    return result
