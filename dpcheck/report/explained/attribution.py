"""Where a ratio comes from, as rows of tables: by output, by input, by the steps of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, zip_longest

from dpcheck.check.values.verdicts import Amount
from dpcheck.explain.explanation import InputStep, Line, OutputStep, RunStep, TracedRun, WeightedRun
from dpcheck.records import replace
from dpcheck.report.characters import visible, width
from dpcheck.report.notation import (
    LONGEST_IN_TABLE,
    number_text,
    readable,
    sequence_text,
    shortened,
)

_CAPS = range(60, 5, -2)
"""Characters of a cell, from the widest table to the narrowest."""

_GAP = "  "

_MOST_REPEATED = 8
"""Rows that are looked for again as a whole: the steps of one turn of a loop."""
_LEAST_TIMES = 4
"""Fewer turns stand there one by one."""

_MOST_ROWS = 40
"""Of a longer run the first and the last steps are shown."""

_MOST_LINES = 8
"""A cell is folded into so many lines at most."""


def table_rows(
    rows: Sequence[Sequence[str]], room: int, *, is_numbered: bool = True
) -> list[list[str]]:
    """Return the lines of each row of a table that has so much room; numbers stand flush right.

    Cells that are too wide for that are folded. Columns without any text below the head are left
    out.

    >>> table_rows([("line", "draw", "reads"), ("8", "x = 1", ""), ("12", "output y", "")], 15)
    [['line  draw'], ['   8  x = 1'], ['  12  output y']]
    >>> table_rows([("line", "draw"), ("12", "output (1, 2)")], 15)
    [['line  draw'], ['  12  output', '      (1, 2)']]
    """
    filled = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    for cap in _CAPS:
        folded = [[_folded(shortened(visible(row[k])), cap) for k in filled] for row in rows]
        widths = [max(width(line) for row in folded for line in row[k]) for k in range(len(filled))]
        if sum(widths) + len(_GAP) * (len(widths) - 1) <= room:
            break
    return [
        [_row(line, widths, is_numbered=is_numbered) for line in zip_longest(*row, fillvalue="")]
        for row in folded
    ]


def _folded(text: str, room: int) -> list[str]:
    """Return the lines of a cell, broken between words, and within one that has no room.

    `x = 1`, `1 | 2`, `≈ 3` and `(line 4)` stay together.

    >>> _folded("c = high, then (bit, 0), then anything", 16)
    ['c = high, then', '(bit, 0), then', 'anything']
    >>> _folded("r[2] = 1 | -1", 12)
    ['r[2] = 1 |', '-1']
    """
    lines = [""]
    for word in re.split(r"(?<![=|≈])(?<!\(line) (?![=|])", text):
        if lines[-1] and width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
            continue
        lines += [""] * bool(lines[-1])
        for part in re.findall(r"≈.*|\S+ ?", word):  # no number is broken
            fits = part.startswith("≈") or width(part.rstrip()) <= room
            for piece in [part] if fits else part:
                lines += [""] * (lines[-1] != "" and width(lines[-1] + piece.rstrip()) > room)
                lines[-1] += piece
    lines = [each.rstrip() for each in lines]
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]


def _row(cells: Sequence[str], widths: Sequence[int], *, is_numbered: bool) -> str:
    padded = [
        " " * (widest - width(cell)) + cell
        if is_numbered and k == 0
        else cell + " " * (widest - width(cell))
        for k, (cell, widest) in enumerate(zip(cells, widths, strict=True))
    ]
    return _GAP.join(padded).rstrip()


def _home(lines: Iterable[Line | None], file: str) -> tuple[str, list[str]]:
    """Return the file that all lines are of, if it is one, and a heading if it is another file.

    Numbers alone then say which line it is; else other files stand beside them.
    """
    stems = {line.file: line.stem for line in lines if line is not None}
    if len(stems) != 1 or file in stems:
        return file, []
    ((home, stem),) = stems.items()
    return home, [f"lines of {stem}"]


def by_output_rows(steps: Sequence[OutputStep], file: str, room: int) -> list[str]:
    """Return the factors of outputs as a table, without steps that are certain on both sides.

    Queries that an analyst has fixed are not counted. Equal steps in a row are one: `2..5 = bot`.
    """
    rows = [("line", "output", "left", "right", "factor")]
    home, heading = _home([line for step in steps for line in step.lines], file)
    n_before = 0
    for step, group in groupby(replace(each, place=0) for each in steps):
        times = sum(1 for _ in group)
        first, n_before = n_before + 1, n_before + times * (step.query is None)
        if step.left.exact == step.right.exact == "1":
            continue
        lines = ", ".join(line.text(home) for line in step.lines)
        places = f"{first}..{n_before}" if first < n_before else f"{first}"
        shown = "the end" if step.shown is None else f"{places} = {step.shown}"
        told = step.shown if step.query and step.shown else shown
        chances = number_text(step.left), number_text(step.right)
        rows.append((lines, told, *chances, _power(step.factor, times)))
    return [*heading, *chain.from_iterable(table_rows(rows, room))]


def weighted_rows(runs: Sequence[WeightedRun], room: int) -> list[list[str]]:
    """Return the lines of runs with their probabilities as a table."""
    rows = [("", "")]
    for run in runs:
        against = "" if run.right is None else f" against {number_text(run.right)}"
        rows.append((sequence_text(run.shown), f"{number_text(run.probability)}{against}"))
    return table_rows(rows, room, is_numbered=False)[1:]


def by_input_text(steps: Sequence[InputStep]) -> str:
    """Return the factors of the changes of inputs, in their order."""
    texts = [
        f"{step.change.name}: {step.change.left} -> {step.change.right} gives "
        f"{readable(step.factor)}"
        for step in steps
    ]
    return ", then ".join(map(visible, texts))


_SHARES = {"output": ("from the left", "this output"), "event": ("from the left", "this event")}


def run_rows(run: TracedRun, file: str, room: int) -> Iterator[tuple[str, bool]]:
    """Yield the rows of a run, and whether each is one of a table, which is not folded."""
    side, whole = _SHARES.get(run.of, (run.of, "that chance"))
    if run.shown is not None:
        side, whole = side.replace(run.of, "").strip(), "this sequence"
    if run.share.exact != "1":
        lead = " ".join(["the most probable one", *([side] if side else [])])
        lead += " whose ratio is not allowed" * run.is_beyond
        yield f"{lead}, {readable(run.share)} of {whole}", False
    elif run.of not in _SHARES and run.shown is None:
        yield f"the only one {side}", False
    is_chain = any(step.kind == "passing" for step in run.steps)
    first = "left" if run.of in _SHARES else "chance"
    rows = [("line", "to state" if is_chain else "draw", "reads", first, "right", "factor")]
    steps = (*run.steps, *run.same, *run.elsewhere)
    home, heading = _home([step.line for step in steps], file)
    yield from ((text, False) for text in heading)
    possible, is_beside = bool(run.elsewhere), len(run.elsewhere) == len(run.steps)
    cells = [_step_cells(step, home, is_possible=possible) for step in run.steps]
    if is_chain and is_beside:
        cells = [
            _with_line(each, other, home) for each, other in zip(cells, run.elsewhere, strict=True)
        ]
    rows += _short(_repeated(cells))
    for row in chain.from_iterable(table_rows(rows, room)):
        yield row, True
    if run.instead:
        yield visible(run.instead), False
    if run.same:
        told = _listed(run.same, home, has_prices=bool(run.elsewhere))
        yield f"the same on both sides: {told}", False
    if is_chain and run.elsewhere and not is_beside:
        told = _listed(run.elsewhere, home, has_prices=True)
        yield f"the most probable one from the right: {told}", False
    elif run.elsewhere and not is_chain:
        draws = [each for each in run.elsewhere if each.kind == "draw"]
        told = _listed(draws, home, has_prices=True)
        yield f"from the right other draws give this output, most probably {told}", False


Cells = tuple[str, str, str, str, str, str]


def _with_line(cells: Cells, other: RunStep, file: str) -> Cells:
    """Return the cells of a step with the line of the other side's step, if that is another."""
    line = "" if other.line is None else other.line.text(file)
    return cells if line == cells[0] else (f"{cells[0]} | {line}", *cells[1:])


def _short(rows: Sequence[Cells]) -> list[Cells]:
    """Return the first and last rows of many, and how many others there are."""
    if len(rows) <= _MOST_ROWS:
        return [*rows]
    left_out = len(rows) - _MOST_ROWS
    told = ("", f"({left_out:,} more rows)", "", "", "", "")
    return [*rows[: _MOST_ROWS // 2], told, *rows[-_MOST_ROWS // 2 :]]


def _repeated(rows: Sequence[Cells]) -> list[Cells]:
    """Return rows in which a few that stand there four times or more in turn stand once.

    >>> head, end = ("", "go", "", "", "", ""), ("", "end", "", "", "", "")
    >>> [row[1] for row in _repeated([head, end] * 4 + [end])]
    ['go', 'end', '(2 rows 3 more times)', 'end']
    """
    made: list[Cells] = []
    k = 0
    while k < len(rows):
        found = [(_n_equal(rows[k:], size), size) for size in range(2, _MOST_REPEATED + 1)]
        times, size = max(found, key=lambda each: (each[0], -each[1]))
        if times < _LEAST_TIMES:
            made.append(rows[k])
            k += 1
            continue
        made += rows[k : k + size]
        made.append(("", f"({size} rows {times - 1} more times)", "", "", "", ""))
        k += size * times
    return made


def _n_equal(rows: Sequence[Cells], size: int) -> int:
    """Return how many times the first rows, so many, stand there in turn."""
    found = 1
    while rows[found * size : (found + 1) * size] == rows[:size] and len(rows) >= size:
        found += 1
    return found


def _step_cells(step: RunStep, file: str, *, is_possible: bool) -> Cells:
    """Return the cells of a step; the outputs may be possible on the right though it is not."""
    line = "" if step.line is None else step.line.text(file)
    there = f" | {step.right_value}" if step.right_value else ""
    match step.kind:
        case "draw":
            said = f"{step.variable} = {step.value}{there}"
        case "query":
            said = f"asks {step.value}"
        case "output":
            said = f"output {step.value}"
            said += f" | output {step.right_value}" if step.right_value else ""
        case "passing" | "end":
            said = step.value + there
    times = {1: "", 2: " (twice)"}.get(step.times, f" ({step.times} times)")
    reads = ", ".join(
        " | ".join(filter(None, (f"{each.name} = {each.left}", each.right)))
        + ("" if each.line is None else f" (line {each.line.text(file)})")
        for each in step.reads
    )
    factor = step.note or _power(step.factor, step.times)
    factor = "other draws" if factor == "inf" and is_possible else factor
    right = "-" if step.note else _chance(step.right)
    return line, said + times, reads, _chance(step.left), right, factor


def _chance(amount: Amount | None) -> str:
    return "" if amount is None else number_text(amount)


def _power(factor: Amount | None, times: int) -> str:
    """Return the factor of a step that is taken some times."""
    if factor is None or times == 1:
        return "" if factor is None else readable(factor, LONGEST_IN_TABLE)
    if factor.exact.isdigit():
        return " * ".join([factor.exact] * times) if times <= 4 else f"{factor.exact}^{times}"
    return f"({number_text(factor)})^{times}"


def _listed(steps: Sequence[RunStep], file: str, *, has_prices: bool = False) -> str:
    """Return steps in one sentence, each with its line, and how probable it is."""
    texts = []
    for step in steps:
        said = [] if step.line is None else [f"line {step.line.text(file)}"]
        said += [{2: "twice"}.get(step.times, f"{step.times} times")] * (step.times > 1)
        said += [number_text(step.left)] if has_prices and step.left is not None else []
        draw = f"{step.variable} = " if step.kind == "draw" else ""
        texts.append(f"{draw}{step.value}" + (f" ({', '.join(said)})" if said else ""))
    return visible(", ".join(texts))
