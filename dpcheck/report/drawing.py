"""Mistakes drawn as people like to read them: the user's own lines, marked, with words beside.

    error[DP203]: the probabilities of this row sum to 9/8, not 1
     --> coin.dpm:4:9
      |
    4 |   pos -> 3/4: s + 3/8: t
      |          ^^^ 3/4  ^^^ 3/8
      = help: `1/4` in place of `3/8` makes the sum 1

The form is that of rustc and ruff. Marks on the line of the primary place are `^`, elsewhere `-`.
Words go beside a mark where they fit, else they hang below it. A place of several lines gets a
bracket in the margin. Tabs are four columns, wide characters two, and what would not show
(control characters, direction overrides) is shown as a picture of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from dpcheck.diagnostics.mistakes import Label, Mistake
from dpcheck.records import dataclass
from dpcheck.report.characters import visible, visible_char, width, with_short_numbers
from dpcheck.report.styled import Line, Piece, Role, line, plain
from dpcheck.source import SourceText

WIDTH = 96
"""Columns of source shown of one line; longer lines are clipped around their marks."""

_TAB = 4
"""Columns between tab stops, as most editors have them in code."""
_SHOWN_OF_BRACKET = 2  # lines shown at either end of a place of many lines


def draw_mistake(mistake: Mistake, columns: int | None = None) -> tuple[Line, ...]:
    """Return the lines that show one mistake, on a terminal of so many columns if there is one."""
    role: Role = "bad" if mistake.severity == "error" else "unsure"
    lines = [
        line(
            Piece(f"{mistake.severity}[{mistake.code}]", role),
            Piece(f": {visible(with_short_numbers(mistake.title))}", "strong"),
            hang=None if columns is None else 4,
        )
    ]
    distinct = tuple(dict.fromkeys(mistake.labels))
    last = max((each.span.source.position(each.span.end)[0] for each in distinct), default=0)
    margin = len(str(last)) if distinct else 0
    room = WIDTH if columns is None else max(20, min(WIDTH, columns - margin - 4))
    for position, (source, labels) in enumerate(_by_source(distinct)):
        lines.extend(_draw_source(source, labels, margin, room, is_first=position == 0))
    for note in mistake.notes:
        lines.extend(_draw_remark("note", with_short_numbers(note), margin, columns))
    if mistake.help is not None:
        lines.extend(_draw_remark("help", mistake.help, margin, columns))
    return tuple(lines)


def mistake_text(mistake: Mistake) -> str:
    """Return one mistake as it is drawn away from a terminal."""
    return "\n".join(map(plain, draw_mistake(mistake)))


def _by_source(labels: Sequence[Label]) -> list[tuple[SourceText, list[Label]]]:
    """Return the labels grouped by text, in the order in which the texts first appear."""
    groups: dict[SourceText, list[Label]] = {}
    for label in labels:
        groups.setdefault(label.span.source, []).append(label)
    return list(groups.items())


def _draw_remark(kind: str, text: str, margin: int, columns: int | None) -> Iterator[Line]:
    """Yield `= kind: text`, further lines of the text indented under the first.

    On a terminal long lines are folded; elsewhere they stay whole, for programs that look at them.
    """
    first, *others = text.split("\n")
    lead = " " * (margin + 1)
    column = len(f"{lead}= {kind}: ")
    hang = None if columns is None else column
    mark = Piece("= ", "other_mark")
    yield line(lead, mark, Piece(f"{kind}: ", "help"), visible(first), hang=hang)
    for other in others:
        yield line(" " * column, visible(other), hang=hang)


# --- one text ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Mark:
    """A place within one line: columns `start <= column < end` of the line as shown."""

    start: int
    end: int
    text: str
    symbol: str
    role: Role


@dataclass(frozen=True)
class _Bracket:
    """A place of several lines: first and last line, end column on the last, margin slot."""

    first: int
    last: int
    end: int
    text: str
    symbol: str
    role: Role
    slot: int


def _draw_source(
    source: SourceText, labels: Sequence[Label], margin: int, room: int, *, is_first: bool
) -> Iterator[Line]:
    """Yield the place and the marked lines of one text."""
    primary = labels[0].span
    arrow = "-->" if is_first else ":::"
    place = f"{visible(source.name)}:{primary.line}:{primary.column}"
    yield line(" " * margin, Piece(arrow, "other_mark"), " ", place)
    yield line(Piece(" " * margin + " |", "other_mark"))
    marks, brackets = _places(labels, main_line=primary.line if is_first else 0)
    slots = max((bracket.slot + 1 for bracket in brackets), default=0)
    previous = None
    for number in _lines_shown(marks, brackets):
        if previous is not None and number == previous + 2:
            yield from _draw_line(source, previous + 1, (), brackets, slots, margin, room)
        elif previous is not None and number > previous + 1:
            yield line(Piece("..." + " " * max(0, margin - 1), "faint"))
        here = marks.get(number, ())
        yield from _draw_line(source, number, here, brackets, slots, margin, room)
        previous = number


def _places(
    labels: Sequence[Label], main_line: int
) -> tuple[dict[int, list[_Mark]], list[_Bracket]]:
    """Return the marks by line number, and the brackets."""
    marks: dict[int, list[_Mark]] = {}
    brackets: list[_Bracket] = []
    for label in labels:
        span, text = label.span, visible(with_short_numbers(label.text.replace("\n", " ")))
        first, start = span.source.position(span.start)
        last, end = span.source.position(max(span.start, span.end - 1))
        symbol = "^" if main_line in (first, last) else "-"
        role: Role = "mark" if symbol == "^" else "other_mark"
        if first == last:
            shown = _Shown(span.source.line(first))
            left, right = shown.column(start - 1), shown.column(end)
            if span.start == span.end:
                right = left + 1
            mark = _Mark(left, max(right, left + 1), text, symbol, role)
            marks.setdefault(first, []).append(mark)
        else:
            right = _Shown(span.source.line(last)).column(end)
            slot = _free_slot(brackets, first, last)
            brackets.append(_Bracket(first, last, max(right, 1), text, symbol, role, slot))
    return marks, brackets


def _free_slot(brackets: Sequence[_Bracket], first: int, last: int) -> int:
    """Return the first margin slot that no bracket uses on these lines."""
    taken = {b.slot for b in brackets if b.first <= last and first <= b.last}
    return next(slot for slot in range(len(brackets) + 1) if slot not in taken)


def _lines_shown(marks: dict[int, list[_Mark]], brackets: Sequence[_Bracket]) -> list[int]:
    """Return the numbers of the lines to show, in order."""
    numbers = set(marks)
    for bracket in brackets:
        lines = range(bracket.first, bracket.last + 1)
        numbers.update(lines[:_SHOWN_OF_BRACKET], lines[-_SHOWN_OF_BRACKET:])
    return sorted(numbers)


def _draw_line(
    source: SourceText,
    number: int,
    marks: Sequence[_Mark],
    brackets: Sequence[_Bracket],
    slots: int,
    margin: int,
    room: int,
) -> Iterator[Line]:
    """Yield one line of the user's text, in so much room, and the rows of marks below it."""
    shown = _Shown(source.line(number))
    left, text = shown.clipped(marks, [b.end for b in brackets if b.last == number], room)
    gutter = _gutter(brackets, slots, number, is_text=True)
    yield line(Piece(f"{number:>{margin}} | ", "other_mark"), *gutter, text if text.strip() else "")
    below = _gutter(brackets, slots, number, is_text=False)
    for row in _mark_rows([_shifted(mark, left, room) for mark in marks]):
        yield line(Piece(" " * margin + " | ", "other_mark"), *below, *row)
    for bracket in brackets:
        if bracket.last == number:
            yield _bracket_end(bracket, brackets, slots, margin, left)


def _shifted(mark: _Mark, left: int, room: int) -> _Mark:
    """Return the mark in the coordinates of the clipped line, short if it was cut."""
    start = max(0, mark.start - left)
    end = min(max(start + 1, mark.end - left), room + 3)
    return _Mark(start, max(end, start + 1), mark.text, mark.symbol, mark.role)


# --- brackets ------------------------------------------------------------------------------


def _gutter(brackets: Sequence[_Bracket], slots: int, number: int, *, is_text: bool) -> list[Piece]:
    """Return the margin before a line: `/` where a bracket begins, `|` where it goes on."""
    pieces = [Piece("  ")] * slots
    for bracket in brackets:
        if bracket.first == number and is_text:
            pieces[bracket.slot] = Piece("/ ", bracket.role)
        elif bracket.first <= number <= bracket.last:
            pieces[bracket.slot] = Piece("| ", bracket.role)
    return pieces


def _bracket_end(
    bracket: _Bracket, brackets: Sequence[_Bracket], slots: int, margin: int, left: int
) -> Line:
    """Return the row `|____^ words` that closes a bracket."""
    pieces = _gutter(
        [b for b in brackets if b.slot < bracket.slot and b.last > bracket.last],
        bracket.slot,
        bracket.last,
        is_text=False,
    )
    reach = 2 * (slots - bracket.slot - 1) + max(1, bracket.end - left)
    tail = f"|{'_' * reach}{bracket.symbol} {bracket.text}"
    return line(Piece(" " * margin + " | ", "other_mark"), *pieces, Piece(tail, bracket.role))


# --- rows of marks -------------------------------------------------------------------------


def _mark_rows(marks: Sequence[_Mark]) -> Iterator[list[Piece]]:
    """Yield the row of marks, with the words that fit beside them, then rows of hanging words."""
    if not marks:
        return
    ordered = sorted(marks, key=lambda mark: (mark.start, -mark.end))
    beside = {i for i in range(len(ordered)) if _fits_beside(ordered, i)}
    canvas = _Canvas()
    for mark in ordered:
        canvas.paint(mark.start, mark.symbol * (mark.end - mark.start), mark.role)
    for i in beside:
        canvas.paint(ordered[i].end + 1, ordered[i].text, ordered[i].role)
    yield canvas.pieces()
    hanging = [mark for i, mark in enumerate(ordered) if i not in beside and mark.text]
    yield from _hanging_rows(hanging)


def _fits_beside(ordered: Sequence[_Mark], i: int) -> bool:
    """Return whether the words of mark i fit between it and whatever comes next."""
    mark = ordered[i]
    if not mark.text:
        return True
    others = [other for j, other in enumerate(ordered) if j != i]
    if any(other.start < mark.end and mark.start < other.end for other in others):
        return not any(other.end > mark.start for other in others[i:]) and all(
            other.end <= mark.end for other in others
        )
    reach = mark.end + 1 + width(mark.text)
    return all(other.start >= reach + 2 for other in others if other.start >= mark.end)


def _hanging_rows(hanging: list[_Mark]) -> Iterator[list[Piece]]:
    """Yield words below their marks, the rightmost first, joined by `|`."""
    groups = [(s, list(g)) for s, g in groupby(hanging, key=lambda mark: mark.start)]
    for start, group in reversed(groups):
        waiting = [mark for mark in hanging if mark.start <= start]
        canvas = _Canvas()
        for mark in waiting:
            canvas.paint(mark.start, "|", mark.role)
        yield canvas.pieces()
        for mark in group:
            canvas = _Canvas()
            for other in waiting:
                if other.start < start:
                    canvas.paint(other.start, "|", other.role)
            canvas.paint(start, mark.text, mark.role)
            yield canvas.pieces()


class _Canvas:
    """One row of characters, each with a role, painted from any column."""

    def __init__(self) -> None:
        self._cells: dict[int, tuple[str, Role]] = {}

    def paint(self, column: int, text: str, role: Role) -> None:
        """Put text at a column; later paint covers earlier paint."""
        for char in text:
            self._cells[column] = (char, role)
            column += max(1, width(char))

    def pieces(self) -> list[Piece]:
        """Return the row as pieces."""
        made: list[Piece] = []
        at = 0
        for column in sorted(self._cells):
            char, role = self._cells[column]
            if column > at:
                made.append(Piece(" " * (column - at)))
            made.append(Piece(char, role))
            at = column + max(1, width(char))
        return made


# --- characters and columns ----------------------------------------------------------------


class _Shown:
    """A line as shown: tabs expanded, every character visible, and where each one begins."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        self._chars: list[str] = []
        for char in text:
            at = self._starts[-1]
            shown = " " * (_TAB - at % _TAB) if char == "\t" else visible_char(char)
            self._chars.append(shown)
            self._starts.append(at + width(shown))

    def column(self, index: int) -> int:
        """Return the column at which character `index` begins; beyond the end counts on."""
        beyond = max(0, index - len(self._chars))
        return self._starts[min(index, len(self._chars))] + beyond

    def clipped(self, marks: Sequence[_Mark], ends: Sequence[int], room: int) -> tuple[int, str]:
        """Return what is shown of the line, and the columns to take off every mark.

        A line of at most `room` columns is shown whole; of a longer one a window around its
        marks, with `...` where something was cut off.
        """
        total = self._starts[-1]
        if total <= room:
            return 0, "".join(self._chars)
        first = min([mark.start for mark in marks] + list(ends), default=0)
        last = max([mark.end for mark in marks] + list(ends), default=0)
        start = 0 if last <= room - 8 else max(0, min(first - 16, last + 8 - room))
        start = min(start, max(0, first - 4)) if last - first < room else max(0, first - 16)
        kept = [
            (at, char)
            for at, char in zip(self._starts, self._chars, strict=False)
            if start <= at and at + width(char) <= start + room
        ]
        head = "..." if start else ""
        begin = kept[0][0] if kept else start
        tail = "..." if begin + room < total else ""
        return begin - len(head), head + "".join(char for _, char in kept) + tail
