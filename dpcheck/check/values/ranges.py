"""Events of numbers as ranges: of outputs without bounds hundreds of values may be in one event.

Whoever draws reports reads this, too, and imports nothing of what decides: see `cli.workers`.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import compile as pattern

from dpcheck.check.values.verdicts import Ending, OutputSequence

_INTEGER = pattern(r"-?\d+")
_BEYOND = pattern(r"([<>]) (-?\d+)")
_CELL = pattern(r"in (-?\d+)\.\.(-?\d+)")
_MANY = 8
"""Of more outputs numbers in a row are told at once, with bounds or without."""

Range = tuple[int | None, int | None, str]
"""All integers from one to another one, None where there is no end; and how they are written."""


def in_ranges(event: tuple[OutputSequence, ...]) -> tuple[OutputSequence, ...]:
    """Return an event where numbers in a row are told at once, if it has many or some beyond all.

    These are the last outputs of sequences that are alike before.

    >>> [str(each) for each in in_ranges(tuple(OutputSequence((n,)) for n in ("1", "0", "< 0")))]
    ['<= 1']
    >>> [str(each) for each in in_ranges(tuple(OutputSequence((n,)) for n in ("1", "0", "2")))]
    ['1', '0', '2']
    >>> event = (OutputSequence(("bot", n)) for n in ("> 9", "7", "1", "5", "6", "in 8..9", "< 0"))
    >>> [str(each) for each in in_ranges(tuple(event))]
    ['bot, < 0', 'bot, 1', 'bot, >= 5']
    """
    texts = [each.outputs[-1] if each.outputs else "" for each in event]
    has_many = len(event) > _MANY or any(_BEYOND.fullmatch(text) for text in texts)
    if len(event) < 2 or not has_many:
        return event
    ranges: dict[tuple[tuple[str, ...], Ending], list[Range]] = {}
    for each, text in zip(event, texts, strict=True):
        known = _range(text)
        if known is not None:
            ranges.setdefault((each.outputs[:-1], each.ending), []).append(known)
    found: dict[OutputSequence, None] = {}
    for each, text in zip(event, texts, strict=True):
        before = each.outputs[:-1]
        if _range(text) is None:
            found[each] = None
        else:
            joined = _joined(ranges.pop((before, each.ending), ()))
            found |= {OutputSequence((*before, said), each.ending): None for said in joined}
    return tuple(found)


def _range(text: str) -> Range | None:
    """Return the integers that an output stands for, if it is one or some of them."""
    if _INTEGER.fullmatch(text):
        return int(text), int(text), text
    if found := _BEYOND.fullmatch(text):
        end = int(found[2])
        return (end + 1, None, text) if found[1] == ">" else (None, end - 1, text)
    if found := _CELL.fullmatch(text):
        return int(found[1]), int(found[2]), text
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
