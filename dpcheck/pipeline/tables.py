"""Tables of probabilities as mechanisms: a JSON or CSV file that a model imports.

`import "measured.csv"` declares the chain `measured`, whose initial states are the inputs of the
table and whose observed states are its outputs:

    row,x = pos,Y,3/4                  {"mechanism": "measured",
    row,x = pos,N,1/4                   "rows": {"x = pos": {"Y": "3/4", "N": "1/4"},
    row,x = neg,Y,1/4                            "x = neg": {"Y": "1/4", "N": "3/4"}},
    row,x = neg,N,3/4                   "pairs": [["x = pos", "x = neg"]]}
    pair,x = pos,x = neg

Probabilities are expressions of the language, or JSON numbers, which are read digit by digit and
never through a float. There is no default adjacency, here as everywhere. The table is written out
as a chain in the language, so that what follows is the same as for a chain written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from dpcheck.diagnostics.imports import MalformedTable
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.parse import parse_expression
from dpcheck.records import dataclass
from dpcheck.source import SourceText, Span

SUFFIXES = (".json", ".csv")


@dataclass(frozen=True, slots=True)
class _Table:
    """Distributions of outputs by input, and pairs of neighbors."""

    name: str
    rows: Mapping[str, Mapping[str, str]]
    pairs: Sequence[tuple[str, str]]


class _Malformed(Exception):
    """What is wrong with a table, and on which line if that is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def table_model(source: SourceText) -> SourceText | Mistake:
    """Return a table of probabilities as the text of a model, or what is wrong with it."""
    try:
        table = _json_table(source) if source.name.endswith(".json") else _csv_table(source)
        return SourceText(source.name, _chain_text(table))
    except _Malformed as wrong:
        span = None if wrong.line is None else _line_span(source, wrong.line)
        return MalformedTable(span, source.name, wrong.reason)


def _line_span(source: SourceText, line: int) -> Span:
    lines = source.text.splitlines(keepends=True)
    start = sum(map(len, lines[: line - 1]))
    length = len(lines[line - 1].rstrip()) if line <= len(lines) else 0
    return Span(source, start, start + length)


def _stem(source: SourceText) -> str:
    return re.sub(r"\W", "_", PurePath(source.name).stem)


def _json_table(source: SourceText) -> _Table:
    import json

    try:
        found: Any = json.loads(source.text, parse_float=str, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as wrong:
        raise _Malformed(f"it is not JSON: {wrong.msg}", wrong.lineno) from None
    except RecursionError:
        raise _Malformed("it is nested too deeply") from None
    if not isinstance(found, dict) or not isinstance(found.get("rows"), dict):
        raise _Malformed('it needs "rows": {input: {output: probability}}')
    pairs = found.get("pairs")
    if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
        raise _Malformed('it needs "pairs": [[input, input], ...], who is whose neighbor')
    rows: dict[str, dict[str, str]] = {}
    for given, row in found["rows"].items():
        if not isinstance(row, dict) or not all(isinstance(p, str) for p in row.values()):
            raise _Malformed(f"the row of {given} is not {{output: probability}}")
        rows[given] = row
    name = found.get("mechanism", _stem(source))
    return _Table(str(name), rows, [(first, second) for first, second in pairs])


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(s, str) for s in pair)


def _csv_table(source: SourceText) -> _Table:
    import csv

    rows: dict[str, dict[str, str]] = {}
    pairs: list[tuple[str, str]] = []
    reader = csv.reader(source.text.splitlines())
    for cells in reader:
        line = reader.line_num
        match [cell.strip() for cell in cells]:
            case []:
                continue
            case ["row", given, shown, p]:
                row = rows.setdefault(given, {})
                if shown in row:
                    raise _Malformed(f"{given} has {shown} twice", line)
                row[shown] = p
            case ["pair", first, second]:
                pairs.append((first, second))
            case _:
                wanted = "`row,input,output,probability` or `pair,input,input`"
                raise _Malformed(f"a line is {wanted}", line)
    if not pairs:
        raise _Malformed("it has no line `pair,input,input`, so nobody is anybody's neighbor")
    return _Table(_stem(source), rows, pairs)


def _chain_text(table: _Table) -> str:
    """Return the table as a chain in the language."""
    if not re.fullmatch(r"[^\W\d]\w*", table.name):
        raise _Malformed(f"{table.name!r} is no name for a mechanism")
    outputs = dict.fromkeys(shown for row in table.rows.values() for shown in row)
    for given in table.rows:
        if given in outputs:
            raise _Malformed(f"{given} is both an input and an output")
    for given in (state for pair in table.pairs for state in pair):
        if given not in table.rows:
            raise _Malformed(f"the pair with {given} has no row for it")
    lines = [f"chain {table.name} {{"]
    lines += [f"  state {_quoted(state)}" for state in (*table.rows, *outputs)]
    for given, row in table.rows.items():
        branches = [f"({_checked(p, given)}): {_quoted(shown)}" for shown, p in row.items()]
        lines.append(f"  {_quoted(given)} -> {' + '.join(branches)}")
    lines += [f"  adjacent {_quoted(s)} ~ {_quoted(t)}" for s, t in table.pairs]
    lines.append(f"  init {', '.join(map(_quoted, table.rows))}")
    lines.append(f"  observe {', '.join(map(_quoted, outputs))}")
    return "\n".join([*lines, "}", ""])


def _quoted(state: str) -> str:
    if '"' in state or "\n" in state or not state:
        raise _Malformed(f"{state!r} cannot be the name of an input or output")
    return f'"{state}"'


def _checked(p: str, given: str) -> str:
    """Return a probability that is one expression of the language."""
    parsed = parse_expression(SourceText("probability", p))
    if parsed.mistakes or parsed.expression is None or "#" in p or "\n" in p:
        raise _Malformed(f"the row of {given} has {p!r}, which is no number")
    return p


# --- writing -------------------------------------------------------------------------------


def table_json(
    name: str, rows: Mapping[str, Mapping[str, str]], pairs: Sequence[Sequence[str]]
) -> str:
    """Return distributions of outputs as a JSON table that can be imported."""
    import json

    found = {"mechanism": name, "rows": rows, "pairs": [list(pair) for pair in pairs]}
    return json.dumps(found, indent=2) + "\n"


def table_csv(rows: Mapping[str, Mapping[str, str]], pairs: Sequence[Sequence[str]]) -> str:
    """Return distributions of outputs as a CSV table that can be imported."""
    import csv
    import io

    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    for given, row in rows.items():
        out.writerows(["row", given, shown, p] for shown, p in row.items())
    out.writerows(["pair", first, second] for first, second in pairs)
    return stream.getvalue()
