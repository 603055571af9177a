"""Evidence as JSON: whole numbers over common denominators, polynomials over one unit."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from math import gcd, lcm
from typing import Any, assert_never

from flint import fmpz

from dpcheck import exact
from dpcheck.chain.chain import Chain
from dpcheck.check.values.verdicts import Ending
from dpcheck.model.postorder import postorder
from dpcheck.records import dataclass

FORMAT = "dpcheck-witness/2"
MAX_BITS = 100_000
"""A denominator of more bits would make every number of a file as long."""
MAX_BYTES = 16_000_000
"""Bounds a file, which `verify` reads as a whole."""
MAX_EXPONENT = 500_000
"""`verify` compares powers of e up to twice that: those of weights come to that of a budget."""
LONG, LONGEST, PRIMES = 10**50, 1 << 99_999, 168
"""Numbers between are written as products of so many primes, below 1,000, and a rest: `verify`
refuses powers of six digits."""

Fields = dict[str, Any]
Row = tuple[exact.Whole, list[tuple[exact.Whole, int | None, str | None]]]
"""The denominator of a row, and its edges: weight, target (None at the end), what is shown."""


class Lacking(Exception):
    """There is no short evidence of this kind; the text says which."""


@dataclass(frozen=True)
class Quotient:
    """A number that is written as a fraction, and not as a whole number."""

    value: exact.Number


def witness_json(head: Fields, evidence: Fields) -> str:
    """Return the text of a witness, its digest last: SHA-256 of the canonical JSON without it.

    The first line is the same in every witness, so that one may be written over another. Raises
    `Lacking` where it is too long.
    """
    with _numbers_of_any_length():
        fields = {"format": FORMAT, **head, **_over_one_unit(evidence)}
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        fields["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
        first, rest = json.dumps(fields, separators=(",", ":")).split(",", 1)
    if len(rest) > MAX_BYTES:
        raise Lacking(f"it would have {len(rest):,} bytes, more than {MAX_BYTES:,}")
    return f"{first},\n{rest}\n"


@contextmanager
def _numbers_of_any_length() -> Iterator[None]:
    """Let Python write integers of more than 4,300 digits, as `verify` lets it read them."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def budget_fields(epsilon: exact.Budget, delta: exact.Number) -> Fields:
    """Return a budget r + sum of m ln a, and δ; raises `Lacking` where `verify` takes it for none.

    That is where r, or an m over the common denominator of all, is too large.
    """
    logs = [(_fraction(m), _fraction(a)) for a, m in epsilon.powers]
    root = lcm(*(m.denominator for m, _ in logs))
    if any((abs(m) + 1) * root > MAX_EXPONENT for m, _ in logs):
        raise Lacking(f"its budget has a power or a root above {MAX_EXPONENT:,}")
    rational = _fraction(epsilon.offset)
    if abs(rational) * root > MAX_EXPONENT:
        raise Lacking(f"its budget has a power of e above {MAX_EXPONENT:,}")
    written = [[str(m), str(a)] for m, a in logs]
    return {"rational": str(rational), "ln": written, "delta": Quotient(delta)}


def row_of(chain: Chain, state: int) -> Row:
    """Return a row of a chain that shows an output a transition, as a run is seen.

    What an analyst chooses has the chance that it has if it is chosen.
    """
    edges: list[tuple[exact.Whole, int | None, str | None]] = []
    below, row = chain.row(state)
    for target, weight in row:
        if target in (chain.stopped, chain.diverged):
            edges.append((weight, None, None if target == chain.stopped else "diverged"))
        else:
            code = int(chain.observation[target])
            _, n_choices = chain.offers.get(code, (None, 1))
            edges.append((n_choices * weight, target, chain.observation_text(code)))
    return below, edges


def shown_ends(ending: Ending) -> tuple[str | None, ...]:
    """Return what the end of a sequence shows: None or `diverged`, nothing where it goes on."""
    match ending:
        case "stopped":
            return (None,)
        case "diverged":
            return ("diverged",)
        case "goes on":
            return ()
        case _ as never:
            assert_never(never)


def ends_first(rows: Mapping[int, Row]) -> list[int]:
    """Return the states of rows, each after those that it leads to (cycles aside)."""
    return postorder(rows, lambda s: [t for _, t, _ in rows[s][1] if t is not None])


def merged(rows: Mapping[int, Row]) -> tuple[dict[int, Row], dict[int | None, int]]:
    """Return rows of which no two are equal, numbered from 0, and which stands for each state.

    States whose rows lead with equal weights to states with equal laws have equal laws (ordinary
    lumpability: Kemeny, Snell, Finite Markov Chains, 1960).
    """
    same: dict[int | None, int] = {}
    found: dict[int, Row] = {}
    first: dict[str, int] = {}
    for state in ends_first(rows):
        below, edges = rows[state]
        weights: dict[tuple[int | None, str | None], exact.Whole] = {}
        for weight, target, shown in edges:
            way = same.get(target, target), shown
            weights[way] = weights.get(way, 0) + weight
        row = below, sorted(((w, *way) for way, w in weights.items()), key=repr)
        same[state] = first.setdefault(repr(row), state)
        found.setdefault(same[state], row)
    number = {s: n for n, s in enumerate(sorted(found))}
    same = {s: number[other] for s, other in same.items()}
    return {
        number[s]: (below, [(w, same.get(t), shown) for w, t, shown in edges])
        for s, (below, edges) in found.items()
    }, same


def rows_fields(rows: Mapping[int, Row], starts: Collection[int] = ()) -> Fields:
    """Return rows over one denominator, and those of starts that nothing enters over their own.

    So a law has one denominator, and those of many inputs need not be multiplied by each other. The
    steps of all rows stand by what they show, which need not be repeated then.
    """
    entered = {target for _, edges in rows.values() for _, target, _ in edges}
    unders = {s: rows[s][0] for s in sorted(starts) if s not in entered}
    under = common_multiple(below for s, (below, _) in rows.items() if s not in unders)
    steps: dict[str | None, list[list[exact.Whole | None]]] = {}
    for state, (below, edges) in sorted(rows.items()):
        scale = 1 if state in unders else exact.exact_quotient(under, below)
        for weight, target, shown in edges:
            steps.setdefault(shown, []).append([state, scale * weight, target])
    own = {str(s): below for s, below in unders.items() if below != under}
    return {"denominator": under, **({"unders": own} if own else {}), "steps": [*steps.items()]}


def common_multiple(denominators: Iterable[exact.Whole]) -> exact.Whole:
    """Return the least common multiple; raises `Lacking` where it is too long."""
    found: exact.Whole = 1
    for denominator in set(denominators):
        found = exact.whole_lcm(found, denominator)
        if isinstance(found, int) and found.bit_length() > MAX_BITS:
            raise Lacking("its numbers are too long")
    return found


def _fraction(value: exact.Number) -> Fraction:
    found = exact.as_fraction(value)
    assert isinstance(found, Fraction), "units, and what a budget is made of, are rational"
    return found


def _over_one_unit(evidence: Fields) -> Fields:
    """Return evidence as JSON, its polynomials over the greatest unit that they have in common.

    The power of e in e^ε, to the power that makes the rest of it rational, is a multiple as well.
    """
    units = {_fraction(each.unit) for each in _polynomials(evidence)}
    if evidence.get("rational", "0") != "0":
        root = lcm(*(Fraction(m).denominator for m, _ in evidence["ln"]))
        units.add(abs(Fraction(evidence["rational"]) * root))
    if not units:
        return {name: _written(value, Fraction(1)) for name, value in evidence.items()}
    below = lcm(*(unit.denominator for unit in units))
    unit = Fraction(gcd(*(int(unit * below) for unit in units)), below)
    return {"unit": str(unit), **{k: _written(value, unit) for k, value in evidence.items()}}


def _polynomials(value: object) -> Iterator[exact.ExpPolynomial]:
    """Yield the polynomials in some evidence that are no integers."""
    match value:
        case exact.ExpPolynomial():
            if not value.is_constant:
                yield value
        case Quotient():
            yield from _polynomials(exact.as_fraction_parts(value.value))
        case dict():
            yield from _polynomials(list(value.values()))
        case list() | tuple():
            for each in value:
                yield from _polynomials(each)


def _rational(over: int, under: int) -> str:
    """Return a fraction; one of many digits as powers of small primes, where that is shorter.

    Chances of a hundred equal steps are such products.
    """
    plain = str(over) if under == 1 else f"{over}/{under}"
    if over <= 0 or not LONG <= max(over, under) < LONGEST:
        return plain
    powers = [f"{p}^{k}" for p, k in fmpz(over).factor(PRIMES)]
    powers += [f"{p}^-{k}" for p, k in fmpz(under).factor(PRIMES)]
    return min("*".join(powers), plain, key=len)


def _written(value: object, unit: Fraction) -> object:
    """Return a value as JSON."""
    match value:
        case Quotient():
            over, under = exact.as_fraction_parts(value.value)
            if isinstance(over, int) and isinstance(under, int):
                return _rational(over, under)
            return [_written(over, unit), _written(under, unit)]
        case exact.ExpPolynomial():
            step = 1 if value.is_constant else int(_fraction(value.unit) / unit)
            coefficients = enumerate(value.coefficients.coeffs())
            return [[int(c), n * step] for n, c in coefficients if c]
        case dict():
            return {name: _written(each, unit) for name, each in value.items()}
        case list() | tuple():
            return [_written(each, unit) for each in value]
        case _:
            return value
