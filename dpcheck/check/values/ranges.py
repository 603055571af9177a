"""Events of numbers as ranges: of outputs without bounds hundreds of values may be in one event.

Whoever draws reports reads this, too, and imports nothing of what decides: see `cli.workers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from re import compile as pattern

from dpcheck.check.values.verdicts import Ending, OutputSequence

_INTEGER = pattern(r"-?\d+")
_BEYOND = pattern(r"([<>]) (-?\d+)")
_CELL = pattern(r"in (-?\d+)\.\.(-?\d+)")
_READ_AT_ONCE = 4_000
"""Digits of integers that Python reads itself: up to 4,300."""
_MANY = 8
"""Of more outputs numbers in a row are told at once, with bounds or without."""

Range = tuple[int | None, int | None, str]
"""All integers from one to another one, None where there is no end; and how they are written."""


def in_ranges(event: tuple[OutputSequence, ...]) -> tuple[OutputSequence, ...]:
    """Return an event where numbers in a row are told at once, if it has many or some beyond all.

    These are the last outputs of sequences that are alike before. A number beyond a window is in a
    row with others only where no other one there is told apart from it.

    >>> def shown(*last):
    ...     event = (OutputSequence(("bot", n), has_all_beyond=True) for n in last)
    ...     return [str(each) for each in in_ranges(tuple(event))]
    >>> shown("1", "0", "< 0"), shown("1", "0", "2")
    (['bot, <= 1'], ['bot, 1', 'bot, 0', 'bot, 2'])
    >>> shown("> 9", "7", "1", "5", "6", "in 8..9", "< 0")
    ['bot, < 0', 'bot, 1', 'bot, >= 5']
    """
    known = [_range(each) for each in event]
    has_many = len(event) > _MANY or any(None in one[:2] for one in known if one is not None)
    if len(event) < 2 or not has_many:
        return event
    ranges: dict[tuple[tuple[str, ...], Ending], list[Range]] = {}
    for each, one in zip(event, known, strict=True):
        if one is not None:
            ranges.setdefault((each.outputs[:-1], each.ending), []).append(one)
    found: list[OutputSequence] = []
    for each, one in zip(event, known, strict=True):
        before = each.outputs[:-1]
        if one is None:
            found.append(each)
        else:
            texts = _joined(ranges.pop((before, each.ending), ()))
            found += [OutputSequence((*before, text), each.ending) for text in texts]
    return tuple(found)


def are_all_beyond(outputs: Sequence[str]) -> bool:
    """Return whether each of some outputs `> 5` stands for all numbers above 5 among them.

    >>> are_all_beyond(["3", "> 5", "< 0"]), are_all_beyond(["> 5", "50"])
    (True, False)
    """
    known = [one for text in outputs if (one := _range(OutputSequence((text,), "stopped", True)))]
    ends = sorted(known, key=lambda one: (one[0] is not None, one[0] or 0))
    return all(
        first[1] is not None and second[0] is not None and first[1] < second[0]
        for first, second in pairwise(ends)
    )


def is_range(output: str) -> bool:
    """Return whether an output may stand for several numbers, by its text.

    >>> is_range("> 5"), is_range("in 3..4"), is_range("5")
    (True, True, False)
    """
    return bool(_BEYOND.fullmatch(output) or _CELL.fullmatch(output))


def _integer(digits: str) -> int:
    """Return an integer of any length; Python reads none of more than 4,300 digits."""
    if len(digits) <= _READ_AT_ONCE:
        return int(digits)
    from flint import fmpz  # which takes longer to be imported than most events to be drawn

    return int(fmpz(digits))


def _range(shown: OutputSequence) -> Range | None:
    """Return the integers that the last output stands for, if it is one or some of them."""
    text = shown.outputs[-1] if shown.outputs else ""
    if _INTEGER.fullmatch(text):
        return _integer(text), _integer(text), text
    if not shown.has_all_beyond:
        return None
    if found := _BEYOND.fullmatch(text):
        end = _integer(found[2])
        return (end + 1, None, text) if found[1] == ">" else (None, end - 1, text)
    if found := _CELL.fullmatch(text):
        return _integer(found[1]), _integer(found[2]), text
    return None


def _joined(ranges: Iterable[Range]) -> list[str]:
    """Return disjoint ranges in order as outputs, from three numbers in a row on as one."""
    rows: list[list[Range]] = []
    for one in sorted(ranges, key=lambda each: (each[0] is not None, each[0] or 0)):
        if rows and rows[-1][-1][1] is not None and rows[-1][-1][1] + 1 == one[0]:
            rows[-1].append(one)
        else:
            rows.append([one])
    return [text for row in rows for text in _row_texts(row)]


def _row_texts(row: list[Range]) -> list[str]:
    (low, _, _), (_, high, _) = row[0], row[-1]
    if len(row) == 1 or (low is not None and high is not None and high - low < 2):
        return [text for _, _, text in row]
    if high is None:
        return ["any number" if low is None else f">= {low}"]
    return [f"<= {high}" if low is None else f"in {low}..{high}"]
