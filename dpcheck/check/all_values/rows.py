"""Exact rows of output probabilities as polynomials in t, over one denominator.

At the stand-in of a parameter a probability is an element of ℚ(e), which is a rational function of
the parameter; so one table of output sequences is the table for all values (see `exact.param`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from flint import fmpz_poly

from dpcheck.chain.chain import IntArray
from dpcheck.check.evidence.sequences import SequenceTable
from dpcheck.exact import Number, Whole
from dpcheck.exact.line import Line
from dpcheck.exact.roots import Growth, where_sign
from dpcheck.limits import Limits
from dpcheck.records import dataclass

ZERO, ONE = fmpz_poly([0]), fmpz_poly([1])


@dataclass(frozen=True, eq=False)
class PolynomialRows:
    """For each source the probabilities of all sequences, as polynomials over `denominator`.

    `denominator` is positive on the line. `members[s]` are the different polynomials of sequence s,
    and `index` [n_sequences, n_sources] says which of them each source has.
    """

    line: Line
    denominator: fmpz_poly
    members: tuple[tuple[fmpz_poly, ...], ...]
    index: IntArray


def polynomial_rows(table: SequenceTable, line: Line, limits: Limits) -> PolynomialRows:
    """Return the rows of a table on a line."""
    scales, codes = table.scales
    places, denominators = codes.tolist(), [line.polynomial(scale) for scale in scales]
    common = line.positive(_lcm(denominators))
    # Weights are fractions in lowest terms, between 0 and 1: their denominators are 0 nowhere.
    is_positive = where_sign(common, (1,), line.low, line.high).is_everything
    assert is_positive, "probabilities have no poles"
    cofactors = [common // d for d in denominators]
    members: list[list[fmpz_poly]] = [[ZERO] for _ in range(table.n_sequences)]
    numbers: list[dict[object, int]] = [{(): 0} for _ in range(table.n_sequences)]
    index = np.zeros((table.n_sequences, len(table.sources)), np.int64)
    known: dict[tuple[int, int], tuple[fmpz_poly, object]] = {}
    weights = table.weights.tolist()  # one object for each that is shared
    starts, sequences = table.indptr.tolist(), table.sequences.tolist()
    for i in range(len(places)):
        limits.check_time(f"{i} of {len(places)} rows over one denominator")
        for j in range(starts[i], starts[i + 1]):
            weight, s = weights[j], sequences[j]
            place = (weight if isinstance(weight, int) else id(weight), places[i])
            if place not in known:
                made = line.polynomial(weight) * cofactors[places[i]]
                known[place] = made, tuple(made.coeffs())
            polynomial, key = known[place]
            number = numbers[s].setdefault(key, len(members[s]))
            if number == len(members[s]):
                members[s].append(polynomial)
            index[s, i] = number
    return PolynomialRows(line, common, tuple(map(tuple, members)), index)


def numbered(rows: PolynomialRows) -> tuple[list[fmpz_poly], IntArray]:
    """Return the different polynomials of all sequences, and which each source has of each."""
    known: dict[object, int] = {}
    found: list[fmpz_poly] = []
    numbers = np.zeros_like(rows.index)
    for s, members in enumerate(rows.members):
        for p in members:
            if known.setdefault(tuple(p.coeffs()), len(found)) == len(found):
                found.append(p)
        codes = np.array([known[tuple(p.coeffs())] for p in members], np.int64)
        numbers[s] = codes[rows.index[s]]
    return found, numbers


def units_of(table: SequenceTable) -> Iterable[Whole]:
    """Return numbers whose units are those of a whole table."""
    return [*table.denominators, *(w for w in table.weights.tolist() if not isinstance(w, int))]


def _lcm(polynomials: Iterable[fmpz_poly]) -> fmpz_poly:
    """Return the least common multiple."""
    found = ONE
    for each in polynomials:
        found = found * (each // found.gcd(each))
    return found


def growth_on(line: Line, growth: tuple[Number, int]) -> Growth:
    """Return F^(1/n), for `growth` (F, n), by polynomials on a line."""
    return (*line.polynomials(growth[0]), growth[1])
