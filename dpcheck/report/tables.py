"""Tables as text: columns aligned, numbers exact where they are short."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from dpcheck.check.values.verdicts import AT_LEAST, Amount, Beside, Cell, Phrase, Table
from dpcheck.records import dataclass
from dpcheck.report.characters import visible, width
from dpcheck.report.notation import (
    amount_text,
    event_text,
    expression_text,
    number_text,
    phrase_text,
)
from dpcheck.report.styled import WIDTH, Line, Piece, Role, line
from dpcheck.source import escaped

_TEXT_SHOWN = 60
"""Characters of a cell."""
_ROWS_SHOWN = 30
"""Rows of a table on a terminal, half of them from its end."""

LEAST_LABEL = len("probability")
"""Columns of the labels of rows, at least."""


@dataclass(frozen=True)
class Row:
    """A row of a block; the first of a block has its label. A row of a table is not folded."""

    label: str
    text: str
    role: Role = "plain"
    is_fixed: bool = False


def row_lines(rows: Sequence[Row], indent: int = 8) -> Iterator[Line]:
    """Yield labels with texts that begin in one column, folded below it.

    Blanks before a label move the whole row.
    """
    column = max([LEAST_LABEL, *(width(row.label.strip()) for row in rows)]) + 2
    for row in rows:
        reach = column + len(row.label) - len(row.label.lstrip())
        hang = indent + reach
        label = Piece(row.label, "help" if row.label == "help" else "faint")
        gap = " " * (reach - width(row.label))
        text = Piece(row.text, row.role)
        yield line(" " * indent, label, gap, text, hang=None if row.is_fixed else hang)


def table_lines(table: Table, indent: str, *, all_rows: bool = False) -> Iterator[Line]:
    """Yield a table, its header first; without `all_rows` the middle of a long one is left out."""
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    n_hidden = 0 if all_rows else max(0, len(rows) - _ROWS_SHOWN)
    yield from aligned_lines(table.columns, _without_middle(rows, n_hidden), indent)
    yield from _hidden_lines(n_hidden, indent)


def piece_lines(table: Table, indent: str) -> Iterator[Line]:
    """Yield a table of values with an expression each, or two bounds, folded where they are long.

    Bounds that do not fit beside each other stand below each other.
    """
    rows = [[cell_text(first), *map(_expression_cell, others)] for first, *others in table.rows]
    n_hidden = max(0, len(rows) - _ROWS_SHOWN)
    shown, columns = _without_middle(rows, n_hidden), table.columns
    reach = sum(max(map(width, cells)) + 2 for cells in zip(columns, *shown, strict=True))
    if len(columns) == 3 and len(indent) + reach - 2 >= WIDTH:
        columns = columns[0], "", table.name
        shown = [row for each in shown for row in _stacked(*each)]
    yield from aligned_lines(columns, shown, indent, folds=True)
    yield from _hidden_lines(n_hidden, indent)


def _stacked(first: str, low: str, most: str) -> list[list[str]]:
    """Return two bounds below each other, or the row of a value."""
    if not most:
        return [[first, "", low]]
    return [[first, AT_LEAST.strip(), low.removeprefix(AT_LEAST)], ["", "at most", most]]


def _expression_cell(cell: Cell) -> str:
    text = visible(str(cell))
    lead = AT_LEAST if text.startswith(AT_LEAST) else ""
    return lead + expression_text(text.removeprefix(lead))


def _without_middle(rows: list[list[str]], n_hidden: int) -> list[list[str]]:
    half = _ROWS_SHOWN // 2
    return [*rows[:half], *rows[half + n_hidden :]] if n_hidden else rows


def _hidden_lines(n_hidden: int, indent: str) -> Iterator[Line]:
    if n_hidden:
        yield line(indent, Piece(f"{n_hidden:,} more rows in the middle are not shown", "faint"))


def aligned_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], indent: str, *, folds: bool = False
) -> Iterator[Line]:
    """Yield a header and rows, every column as wide as its widest cell.

    With `folds` the last one is folded where it is long.
    """
    widths = [max(width(text) for text in column) for column in zip(columns, *rows, strict=True)]

    def spread(texts: Sequence[str]) -> str:
        cells = (
            text + " " * (reach - width(text)) for text, reach in zip(texts, widths, strict=True)
        )
        return indent + "  ".join(cells)

    yield line(Piece(spread(columns), "faint"))
    hang = len(indent) + sum(reach + 2 for reach in widths[:-1])
    for row in rows:
        yield line(spread(row).rstrip(), hang=hang if folds else None)


def cell_text(cell: Cell) -> str:
    """Return what a cell shows: a short number or its decimal, an event, or words.

    >>> cell_text(Amount("3/4", "0.75")), cell_text("x = " + "1" * 70)
    ('3/4', 'x = 1111111111111111111111111111111111111111111111111111111…')
    """
    if isinstance(cell, Amount):
        return number_text(cell)
    text = visible(cell) if isinstance(cell, str) else event_text(cell, _TEXT_SHOWN)
    return text if len(text) <= _TEXT_SHOWN else text[: _TEXT_SHOWN - 1] + "…"


def beside_text(beside: Sequence[Beside]) -> str:
    """Return what stands beside a value, in parentheses.

    >>> beside_text([Beside("composition promises", Amount("1", "1")), Beside("of two")])
    ' (composition promises 1; of two)'
    """
    parts = [
        _beside_words(each.text) + ("" if each.amount is None else f" {amount_text(each.amount)}")
        for each in beside
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _beside_words(text: str | Phrase) -> str:
    return visible(text) if isinstance(text, str) else phrase_text(text)


def table_csv(table: Table, numbers: Collection[int] = ()) -> str:
    """Return a table as CSV: exact numbers, and a column of decimals beside each column of them.

    Columns of numbers may be named that have none.
    """
    import csv
    import io

    numeric = [
        i in numbers or any(isinstance(row[i], Amount) for row in table.rows)
        for i in range(len(table.columns))
    ]
    header: list[str] = []
    for name, is_number in zip(table.columns, numeric, strict=True):
        header += [name, f"{name} (decimal)"] if is_number else [name]
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    out.writerow(header)
    for row in table.rows:
        cells: list[str] = []
        for cell, is_number in zip(row, numeric, strict=True):
            if isinstance(cell, Amount):
                cells += [cell.exact, cell.decimal]
            else:
                text = escaped(cell if isinstance(cell, str) else event_text(cell))
                cells += [text, ""] if is_number else [text]
        out.writerow(cells)
    return stream.getvalue()
