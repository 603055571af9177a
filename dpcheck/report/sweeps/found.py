"""What a sweep found: a row a unit, as a table, CSV, JSON, or a page with drawings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from dpcheck.check.values.verdicts import Amount, Table
from dpcheck.records import dataclass
from dpcheck.report.characters import visible
from dpcheck.report.styled import Line, Piece, line
from dpcheck.report.sweeps.drawings import curve_svg, heat_map_svg
from dpcheck.report.tables import aligned_lines, cell_text, table_csv

FIRST_CLAIM: Final = 2
"""The line of a unit's first question; each has a line of its own."""

Result = Mapping[str, Any]
"""The answer to a unit: the JSON object of a run."""


@dataclass(frozen=True)
class SweepRow:
    """The values of a unit, the hash of its content, and what was found.

    A unit that nobody answered has no result; `failure` says why, empty if it was not its turn.
    """

    values: tuple[str, ...]
    content: str
    result: Result | None
    failure: str = ""


@dataclass(frozen=True)
class Sweep:
    """What a sweep asked of a target, and a row for every combination of the values."""

    target: str
    names: tuple[str, ...]
    questions: tuple[str, ...]
    rows: tuple[SweepRow, ...]


def exit_status(sweep: Sweep) -> int:
    """Return the exit status of a sweep: the worst of its units, as `Summary.exit_status`."""
    found = {_status(row) for row in sweep.rows}
    return next(status for status in (70, 2, 1, 3, 0) if status in found | {0})


def _status(row: SweepRow) -> int:
    if row.result is None:
        return 70 if row.failure else 3
    if row.result.get("crashes"):
        return 70
    if row.result.get("errors"):
        return 2
    wrong = [each["verdict"] for each in row.result["results"] if not each["ok"]]
    if any(verdict != "undecided" for verdict in wrong):
        return 1
    return 3 if wrong or row.result.get("undecided") else 0


def is_decided(result: Result) -> bool:
    """Return whether a result says all there is to say: no limit and no bug cut it short."""
    if result.get("crashes") or result.get("undecided"):
        return False
    return all(each["verdict"] != "undecided" for each in result["results"])


# --- cells ---------------------------------------------------------------------------------


def sweep_table(sweep: Sweep) -> Table:
    """Return a row a unit: its values, then what each question came to."""
    columns = (*sweep.names, *(question.partition(" ")[2] for question in sweep.questions))
    rows = [(*row.values, *_cells(row, len(sweep.questions))) for row in sweep.rows]
    return Table("sweep", columns, tuple(rows))


def _cells(row: SweepRow, n_questions: int) -> Iterator[Amount | str]:
    """Yield what each question of a unit came to: an amount, or the word for it."""
    answers = {} if row.result is None else {each["line"]: each for each in row.result["results"]}
    for i in range(n_questions):
        answer = answers.get(FIRST_CLAIM + i)
        if answer is None:
            yield "failed" if row.failure or row.result is not None else "not asked"
        elif answer["verdict"] == "value":
            yield _pieces(answer["pieces"]) if "pieces" in answer else _amount(answer["value"])
        else:
            yield answer["verdict"]


def _pieces(pieces: Sequence[Mapping[str, Any]]) -> str:
    """Return a value for all values of a parameter: its expression, or each with its values."""
    texts = [p["exact"] if "exact" in p else "in [{}, {}]".format(*p["enclosure"]) for p in pieces]
    if len(set(texts)) == 1:
        return str(texts[0])
    return ", ".join(f"{text} in {p['in']}" for text, p in zip(texts, pieces, strict=True))


def _amount(value: Mapping[str, Any]) -> Amount:
    """Return a value of a JSON result as an amount."""
    enclosure = None
    exact = value.get("exact")
    if "enclosure" in value:
        low, high = enclosure = tuple(value["enclosure"])
        exact = exact or f"in [{low}, {high}]"
    return Amount(exact or "", value["decimal"], value.get("exp"), enclosure)


def failures(sweep: Sweep) -> Iterable[tuple[str, str]]:
    """Return the units that came to no full answer, with the reasons, each once."""
    return dict.fromkeys(_every_failure(sweep))


def _every_failure(sweep: Sweep) -> Iterator[tuple[str, str]]:
    for row in sweep.rows:
        at = _place(sweep, row)
        if row.result is None:
            if row.failure:
                yield at, row.failure
            continue
        for mistake in row.result.get("errors", ()):
            yield at, f"error[{mistake['code']}]: {mistake['message']}"
        for mistake in row.result.get("undecided", ()):
            yield at, mistake["message"]
        for crash in row.result.get("crashes", ()):
            yield at, f"a bug in dpcheck: {crash['traceback'].strip().splitlines()[-1]}"
        for each in row.result["results"]:
            if each["verdict"] == "undecided":
                reason, option = each["reason"]["text"], each["reason"]["option"]
                yield at, f"undecided: {reason}" + (f" ({option})" if option else "")


def _place(sweep: Sweep, row: SweepRow) -> str:
    return ", ".join(f"{n} = {v}" for n, v in zip(sweep.names, row.values, strict=True))


# --- formats -------------------------------------------------------------------------------


def sweep_lines(sweep: Sweep) -> Iterator[Line]:
    """Yield the table of a sweep, then which units failed and why."""
    table = sweep_table(sweep)
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    yield from aligned_lines([visible(column) for column in table.columns], rows, "")
    places: dict[str, list[str]] = {}
    for at, reason in failures(sweep):
        places.setdefault(reason, []).append(at)
    for reason, units in places.items():
        more = f" and {len(units) - 1} more" if len(units) > 1 else ""
        yield line(Piece(visible(units[0]), "strong"), f"{more}: {visible(reason)}", hang=4)


def sweep_csv(sweep: Sweep, _version: str) -> str:
    """Return a sweep as CSV: exact amounts, decimals beside them, and why a unit failed."""
    said: dict[str, list[str]] = {}
    for at, reason in failures(sweep):
        said.setdefault(at, []).append(reason)
    table, first = sweep_table(sweep), len(sweep.names)
    rows = [
        (*cells, "; ".join(said.get(_place(sweep, row), [])))
        for cells, row in zip(table.rows, sweep.rows, strict=True)
    ]
    whole = Table(table.name, (*table.columns, "failure"), tuple(rows))
    computed = [i for i, asked in enumerate(sweep.questions, first) if asked.startswith("compute")]
    return table_csv(whole, computed)


def sweep_json(sweep: Sweep, version: str) -> str:
    """Return a sweep as JSON: every unit with its values and its whole result."""
    import json

    units = [
        {
            "values": dict(zip(sweep.names, row.values, strict=True)),
            "unit": row.content,
            "result": row.result,
            "failure": row.failure or None,
        }
        for row in sweep.rows
    ]
    asked = {"target": sweep.target, "names": sweep.names, "questions": sweep.questions}
    found = json.dumps({"dpcheck": version, **asked, "units": units}, indent=1)
    return f'{{"sweep": 1,{found[1:]}\n'


def sweep_html(sweep: Sweep, version: str) -> str:
    """Return a page with drawings of a sweep, as far as it can be drawn, and its table."""
    title = f"sweep of {sweep.target}"
    table = sweep_table(sweep)
    head = "".join(f"<th>{_html(column)}</th>" for column in table.columns)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{_html(cell_text(cell))}</td>' for cell in row)}</tr>"
        for row in table.rows
    )
    notes = "".join(f"<li>{_html(at)}: {_html(reason)}</li>" for at, reason in failures(sweep))
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{_html(title)}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{_html(title)}</h1>",
        *drawings(sweep),
        f"<table><thead><tr>{head}</tr></thead>",
        f"<tbody>\n{body}\n</tbody></table>",
        f"<ul>{notes}</ul>" if notes else "",
        f"<p>dpcheck {_html(version)}</p></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


_STYLE = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left}p{color:#555}"
)


def _html(text: str) -> str:
    return escape(visible(text))


def drawings(sweep: Sweep) -> Iterator[str]:
    """Yield a drawing a question: a curve over one name, a map over two.

    Names with one value are left out; over three or more there is only the table.
    """
    varying = [i for i in range(len(sweep.names)) if len({row.values[i] for row in sweep.rows}) > 1]
    if not 1 <= len(varying) <= 2:
        return
    table = sweep_table(sweep)
    for j in range(len(sweep.names), len(table.columns)):
        title = f"{table.columns[j]} of {sweep.target}"
        points = {tuple(str(row[i]) for i in varying): row[j] for row in table.rows}
        cells = {place: cell for place, cell in points.items() if isinstance(cell, Amount | str)}
        names = [sweep.names[i] for i in varying]
        curve = [(p[0], float(c.decimal)) for p, c in cells.items() if isinstance(c, Amount)]
        if len(varying) == 1 and curve:
            yield curve_svg(title, names[0], table.columns[j], curve)
        else:
            yield heat_map_svg(title, names, _cells_of_map(cells))


def _cells_of_map(
    cells: Mapping[tuple[str, ...], Amount | str],
) -> Mapping[tuple[str, str], tuple[str, float | None]]:
    """Return a text and, if it is one, a number for each column and row of a map."""
    found = {}
    for place, cell in cells.items():
        number = float(cell.decimal) if isinstance(cell, Amount) else None
        row = place[1] if len(place) > 1 else ""
        found[place[0], row] = cell_text(cell), number
    return found
