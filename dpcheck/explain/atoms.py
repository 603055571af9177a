"""Simple properties of output sequences, each as words and as a bit a sequence.

Which properties there are: the i-th output, or a component of it, is (or is not) a value, is at
least, at most, odd or even; how many outputs there are, and how many are a value; where a value
comes first; sums; which outputs, or parts of one output, are equal or in order; which queries are
made that an analyst has fixed beforehand, which are no outputs; how the run ends.
Of sequences that go on with anything only the outputs that all of them show are spoken of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from dpcheck.chain.chain import BoolArray
from dpcheck.check.values.event_text import DIVERGED, GOES_ON
from dpcheck.exact import Number, Rational, add, compare
from dpcheck.explore import Explored
from dpcheck.model.values import ArrayValue, Beyond, Symbol, Value, value_text
from dpcheck.records import dataclass, replace

_MAX_ATOMS = 300
"""Pairs of so many atoms are compared in a tenth of a second, over 4,096 sequences."""

_MAX_PAIRS = 10
"""Bounds the places of outputs that are compared with each other."""
_ORDINALS = ("first", "second", "third")
_ORDERS = ("=", {0}), ("!=", {-1, 1}), ("<", {-1}), (">", {1})


@dataclass(frozen=True)
class Shown:
    """An output sequence: its values, their texts, how it ends, and texts of the queries in it."""

    values: tuple[Value, ...]
    texts: tuple[str, ...]
    end: int
    queries: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Atom:
    """A property in words, how hard it is to read, and which sequences have it, [n_sequences]."""

    text: str
    cost: float
    bits: BoolArray


def output_values(explored: Explored) -> dict[int, Value]:
    """Return the value behind each code of an observation; labels of states are symbols."""
    chain, shown = explored.chain, explored.shown
    codes = np.unique(chain.observation[: chain.n_reported_states]).tolist()
    return {
        code: explored.table.value(int(shown[code]))
        if len(shown)
        else Symbol(chain.observation_text(code))
        for code in codes
        if code >= 0
    }


def atoms(sequences: Sequence[Shown]) -> list[Atom]:
    """Return properties that some of the sequences have and some have not, the easiest first.

    Of properties that the same sequences have the easiest one is kept.
    """
    kept: dict[bytes, Atom] = {}
    for atom in sorted(_all(sequences), key=lambda each: (each.cost, each.text)):
        if atom.bits.any() and not atom.bits.all():
            kept.setdefault(atom.bits.tobytes(), atom)
    return list(kept.values())[:_MAX_ATOMS]


def _all(sequences: Sequence[Shown]) -> Iterator[Atom]:
    known = min((len(each.values) for each in sequences if each.end == GOES_ON), default=None)
    has_one_output = known is None and all(len(each.values) <= 1 for each in sequences)
    sequences = [replace(each, values=each.values[:known]) for each in sequences]
    columns = _columns(sequences, has_one_output=has_one_output)
    for name, column in columns.items():
        yield from _value_atoms(name, column)
    if known is not None:
        yield from _equality_atoms(sequences)
        return
    yield _atom("the run diverges", 1, (each.end == DIVERGED for each in sequences))
    for text in sorted(frozenset().union(*(each.queries for each in sequences))):
        yield _atom(f"{text} is asked", 1.2, (text in each.queries for each in sequences))
    if has_one_output:
        yield _atom("there is no output", 1, (not each.values for each in sequences))
        are_alike = not any(isinstance(v, tuple) for each in sequences for v in each.values)
        yield from _part_atoms(columns, are_alike=are_alike)
    else:
        yield from _count_atoms(sequences)
        yield from _sum_atoms("the sum of the outputs", [each.values for each in sequences])
        yield from _equality_atoms(sequences)


def _atom(text: str, cost: float, bits: Iterable[bool]) -> Atom:
    return Atom(text, cost, np.fromiter(bits, np.bool_))


def _columns(sequences: Sequence[Shown], *, has_one_output: bool) -> dict[str, list[Value | None]]:
    """Return the outputs, or their components, by name: None where a sequence has none."""
    columns: dict[str, list[Value | None]] = {}
    for row, each in enumerate(sequences):
        for place, value in enumerate(each.values):
            which = "the" if has_one_output else f"the {_ordinal(place)}"
            for index, part in _parts(value):
                is_plain = has_one_output and index  # `output[1]`, as in claims
                name = f"output{index}" if is_plain else f"{which} output{index}"
                columns.setdefault(name, [None] * len(sequences))[row] = part
    return columns


def _ordinal(place: int) -> str:
    """Return which output it is, counted from 1: first, second, third, 4th, .. 11th, .. 21st."""
    if place < len(_ORDINALS):
        return _ORDINALS[place]
    number = place + 1
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _parts(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield an output itself, or its components, each with its index in brackets."""
    match value:
        case tuple():
            for i, part in enumerate(value, 1):
                yield f"[{i}]", part
        case ArrayValue(lo=lo, items=items):
            for i, part in enumerate(items, lo):
                yield f"[{i}]", part
        case _:
            yield "", value


def _number(value: Value | None) -> Number | None:
    """Return a value that is a rational number."""
    return value if isinstance(value, int | Rational) and not isinstance(value, bool) else None


Range = tuple[Number | None, Number | None]
"""The least and the greatest number that a value may be; None where there is no end."""


def _range(value: Value | None) -> Range | None:
    """Return where a value stands among numbers: one beyond a window anywhere there."""
    match value:
        case Beyond(first=first, last=int() as last):
            return min(first, last), max(first, last)
        case Beyond(first=first, is_above=is_above):
            return (first, None) if is_above else (None, first)
    number = _number(value)
    return None if number is None else (number, number)


def _value_atoms(name: str, column: Sequence[Value | None]) -> Iterator[Atom]:
    """Yield what one output can be."""
    texts = [None if value is None else value_text(value) for value in column]
    different = sorted({text for text in texts if text is not None})
    for text in different:
        yield _atom(f"{name} is {text}", 1, (each == text for each in texts))
        if len(different) > 2:
            bits = (each is not None and each != text for each in texts)
            yield _atom(f"{name} is other than {text}", 1.2, bits)
    values = [value for value in column if value is not None]
    ranges = [_range(value) for value in column]
    if all(_range(value) is not None for value in values):
        yield from _order_atoms(name, ranges, 1.1)
        if len(different) > 3 and all(isinstance(value, int) for value in values):
            for rest, word in enumerate(("even", "odd")):
                bits = (isinstance(n, int) and n % 2 == rest for n in column)
                yield _atom(f"{name} is {word}", 1.5, bits)


def _order_atoms(name: str, ranges: Sequence[Range | None], cost: float) -> Iterator[Atom]:
    """Yield bounds of a number; those that only one value meets are equalities.

    A bound that parts the numbers which a value may be says nothing of it, and is left out.
    """
    found = sorted({end for ends in ranges if ends is not None for end in ends if end is not None})
    for bound in found[1:-1]:
        for word, sign in ((">=", 1), ("<=", -1)):
            bits = [ends is not None and _keeps(ends, bound, sign) for ends in ranges]
            known = [bit for bit in bits if bit is not None]
            if len(known) == len(bits):
                yield _atom(f"{name} {word} {value_text(bound)}", cost, known)


def _keeps(ends: Range, bound: Number, sign: int) -> bool | None:
    """Return whether all numbers of a range are at least a bound, or at most (a negative sign).

    None where some are and some are not.
    """
    least, most = ends if sign > 0 else reversed(ends)
    if least is not None and compare(least, bound) * sign >= 0:
        return True
    return False if most is not None and compare(most, bound) * sign < 0 else None


def _count_atoms(sequences: Sequence[Shown]) -> Iterator[Atom]:
    """Yield how many outputs there are, how many are a value, and where it is first."""
    lengths = [len(each.values) for each in sequences]
    yield from _number_atoms(lengths, lambda word, n: f"there {_are(n)} {word}{n} output{_s(n)}")
    for text in sorted({text for each in sequences for text in each.texts}):

        def said(word: str, n: int, text: str = text) -> str:
            exactly = word or "exactly "
            none = n == 0 and not word
            return (
                f"no output is {text}" if none else f"{exactly}{n} output{_s(n)} {_are(n)} {text}"
            )

        yield from _number_atoms([each.texts.count(text) for each in sequences], said)
        places = [1 + each.texts.index(text) if text in each.texts else 0 for each in sequences]
        for n in sorted(set(places) - {0}):
            yield _atom(f"the first {text} is output {n}", 1.3, (at == n for at in places))
            lead = f"the first {text} is among the first {n} outputs"
            yield _atom(lead, 1.4, (0 < at <= n for at in places))


def _number_atoms(counts: Sequence[int], said: Callable[[str, int], str]) -> Iterator[Atom]:
    """Yield what a count can be, from what is said of a word and a number."""
    different = sorted(set(counts))
    for n in different:
        yield _atom(said("", n), 1.3, (count == n for count in counts))
    for n in different[1:-1]:
        yield _atom(said("at least ", n), 1.4, (count >= n for count in counts))
        yield _atom(said("at most ", n), 1.4, (count <= n for count in counts))


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _s(n: int) -> str:
    return "" if n == 1 else "s"


def _sum_atoms(name: str, rows: Sequence[Iterable[Value]]) -> Iterator[Atom]:
    """Yield bounds of a sum, where all summands are numbers."""
    sums: list[Number] = []
    for row in rows:
        total: Number = 0
        for value in row:
            number = _number(value)
            if number is None:
                return
            total = add(total, number)
        sums.append(total)
    for total in sorted(set(sums)):
        yield _atom(f"{name} is {value_text(total)}", 1.4, (each == total for each in sums))
    yield from _order_atoms(name, [(total, total) for total in sums], 1.5)


def _equality_atoms(sequences: Sequence[Shown]) -> Iterator[Atom]:
    longest = min(_MAX_PAIRS, max(len(each.values) for each in sequences))
    for i, j in combinations(range(longest), 2):
        if any(isinstance(v, Beyond) for each in sequences for v in each.values[i : j + 1 : j - i]):
            continue  # two numbers beyond a window need not be equal
        bits = (len(each.values) > j and each.texts[i] == each.texts[j] for each in sequences)
        yield _atom(f"outputs {i + 1} and {j + 1} are equal", 1.5, bits)


def _part_atoms(columns: dict[str, list[Value | None]], *, are_alike: bool) -> Iterator[Atom]:
    """Yield sums and comparisons of the parts of one output.

    Those of a tuple may be a name and a number, which nobody adds; both may be the same noise.
    """
    numbers = {name: [_number(value) for value in column] for name, column in columns.items()}
    known = {name: column for name, column in numbers.items() if None not in column}
    if len(known) < 2:
        return
    if are_alike:
        rows = [[n for n in row if n is not None] for row in zip(*known.values(), strict=True)]
        yield from _sum_atoms("the sum of the parts", rows)
    for one, other in combinations(list(known)[:_MAX_PAIRS], 2):
        signs = [
            compare(a, b)
            for a, b in zip(known[one], known[other], strict=True)
            if a is not None and b is not None
        ]
        for word, wanted in _ORDERS[: 4 if are_alike else 2]:
            yield _atom(f"{one} {word} {other}", 1.5, (each in wanted for each in signs))
