"""Tables of probabilities as mechanisms: a JSON or CSV file that a model imports.

`import "measured.csv"` declares the chain `measured`, whose initial states are the inputs of the
table and whose observed states are its outputs:

    row,x = pos,Y,3/4                  {"mechanism": "measured",
    row,x = pos,N,1/4                   "rows": {"x = pos": {"Y": "3/4", "N": "1/4"},
    row,x = neg,Y,1/4                            "x = neg": {"Y": "1/4", "N": "3/4"}},
    row,x = neg,N,3/4                   "pairs": [["x = pos", "x = neg"]]}
    pair,x = pos,x = neg

Probabilities are expressions of the language, or JSON numbers, which are read digit by digit and
never through a float. A line `normalized`, or `"normalized": true`, says that the numbers are
counts or were rounded: each row is divided by its sum. There is no default adjacency, here as
everywhere: without pairs nobody is anybody's neighbor. The table is written out as a chain in the
language, so that what follows is the same as for a chain written by hand; only places in that text
are shown as those in the table.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import PurePath
from typing import Any

from dpcheck import exact
from dpcheck.diagnostics.imports import MalformedTable
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.syntax import NumberTooLong
from dpcheck.parse import parse_expression, parse_model
from dpcheck.records import dataclass, field
from dpcheck.source import SourceText, Span, escaped


@dataclass(frozen=True)
class _Table:
    """Distributions of outputs by input, and pairs of neighbors.

    `normalized` says that rows are divided by their sums, and `normalized_by` how a table says so.
    `places` has that of the name, as (), of an (input,), of the probability of an (input, output),
    and of a ("pair", input, input), as far as they are known.
    """

    name: str
    rows: Mapping[str, Mapping[str, str]]
    pairs: Sequence[tuple[str, str]]
    normalized: bool
    normalized_by: str
    places: Mapping[tuple[object, ...], Span]


class _Malformed(Exception):
    """What is wrong with a table, and where, if that is known."""

    def __init__(self, reason: str, span: Span | None = None, advice: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.advice = advice


@dataclass(frozen=True)
class TableText(SourceText):
    """The text of a chain that is made of a table; lines and columns are those of the table.

    said: in order, begin and end of each part that stands in the table, and where it does.
    """

    table: SourceText
    said: Sequence[tuple[int, int, Span]] = field(compare=False, repr=False)

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [start for start, _, _ in self.said]

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column in the table, behind the last part before what is not in it."""
        known = bisect_right(self._starts, offset)
        if not known:
            return 1, 1
        start, end, span = self.said[known - 1]
        inside = min(span.start + offset - start, max(span.start, span.end - 1))
        return self.table.position(inside if offset < end else span.end)

    def line(self, number: int) -> str:
        """Return a line of the table."""
        return self.table.line(number)


def table_model(source: SourceText) -> SourceText | Mistake:
    """Return a table of probabilities as the text of a model, or what is wrong with it.

    What can be wrong with plain numbers is found here, where the words for tables are known.
    """
    is_json = source.name.endswith(".json")
    try:
        table = _json_table(source) if is_json else _csv_table(source)
        return _written(table, source)
    except _Malformed as wrong:
        return MalformedTable(wrong.span, source.name, wrong.reason, wrong.advice)


def _written(table: _Table, source: SourceText) -> TableText:
    """Return a table as a chain in the language, each part with its place in the table."""
    text, said, length = list[str](), list[tuple[int, int, Span]](), 0
    for part, place in _chain_parts(table):
        if place is not None:
            said.append((length, length + len(part), place))
        text.append(part)
        length += len(part)
    return TableText(source.name, "".join(text), source, said)


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends, which only LF and CR are."""
    import io

    return io.StringIO(text, newline="").readlines()


def _line_span(source: SourceText, line: int, last: int | None = None) -> Span:
    """Return where a line is, or several, without white space at the end."""
    starts, length = source.line_starts, len(source.text)
    start, end = (starts[n] if n < len(starts) else length for n in (line - 1, last or line))
    return Span(source, start, start + len(source.text[start:end].rstrip()))


def _cell_span(line: Span, cell: str, *, is_last: bool = False) -> Span:
    """Return where the last cell is, or the first behind the word; in quotes, the whole line."""
    text = line.text
    at = text.rfind(cell) if is_last else text.find(cell, text.find(",") + 1)
    start = line.start + at
    return line if at < 0 else Span(line.source, start, start + len(cell))


def _key_span(source: SourceText, key: str) -> Span | None:
    """Return where an object has a key, as it is mostly written; of several places the last."""
    import json

    places = re.finditer(re.escape(json.dumps(key, ensure_ascii=False)) + r"(?=\s*:)", source.text)
    found = [Span(source, *place.span()) for place in places]
    return found[-1] if found else None


def _stem(source: SourceText) -> str:
    return re.sub(r"\W", "_", PurePath(source.name).stem)


class _Object(dict[str, Any]):
    """A JSON object that remembers a key it was given twice: JSON itself keeps the last value."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice: str | None = None
        if len(self) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            self.twice = next(key for key, count in counts.items() if count > 1)


def _json_table(source: SourceText) -> _Table:
    found, places = _json(source)
    if not isinstance(found, dict) or not isinstance(found.get("rows"), dict):
        raise _Malformed('it needs "rows": {input: {output: probability}}')
    pairs = found.get("pairs")
    if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
        raise _Malformed('it needs "pairs": [[input, input], ...], who is whose neighbor')
    rows: dict[str, dict[str, str]] = {}
    for given, row in found["rows"].items():
        if not isinstance(row, dict) or not all(isinstance(p, str) for p in row.values()):
            place = places["rows", given]
            raise _Malformed(f"the row of {given} is not {{output: probability}}", place)
        rows[given] = row
    name = found.get("mechanism", _stem(source))
    normalized = found.get("normalized", False)
    if not isinstance(normalized, bool):
        raise _Malformed('"normalized" is true or false', places["normalized",])
    pairs = [(first, second) for first, second in pairs]
    known = {path[1:]: place for path, place in places.items() if path[0] == "rows"}
    known[()] = places.get(("mechanism",), Span(source, 0, 0))
    known |= {("pair", *pair): places["pairs", k, 0] for k, pair in enumerate(pairs)}
    return _Table(str(name), rows, pairs, normalized, '`"normalized": true`', known)


def _json(source: SourceText) -> tuple[object, dict[tuple[object, ...], Span]]:
    """Return what a JSON text says, numbers as they are written, and `_json_places` by path."""
    import json

    try:
        found: object = json.loads(
            source.text,
            parse_float=str,
            parse_int=str,
            parse_constant=str,
            object_pairs_hook=_Object,
        )
        _refuse_repeats(found, "the table", source)
        scalars = (Span(source, *_inside(each)) for each in _SCALAR.finditer(source.text))
        return found, dict(_json_places(found, (), scalars))
    except json.JSONDecodeError as wrong:
        raise _Malformed(f"it is not JSON: {wrong.msg}", _line_span(source, wrong.lineno)) from None
    except RecursionError:
        raise _Malformed("it is nested too deeply") from None


_SCALAR = re.compile(r'"((?:[^"\\]|\\.)*)"|[^\s"{}\[\]:,]+')
"""What JSON texts are made of beside brackets, colons and commas; of a string, what is in it."""


def _inside(scalar: re.Match[str]) -> tuple[int, int]:
    return scalar.span(1 if scalar[1] is not None else 0)


def _json_places(
    value: object, path: tuple[object, ...], scalars: Iterator[Span]
) -> Iterator[tuple[tuple[object, ...], Span]]:
    """Yield the path to each part of a JSON text, and where its key is, then it if it is scalar.

    Scalars of the text are in the order of what it says, where no key is given twice.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), next(scalars)
            yield from _json_places(inner, (*path, key), scalars)
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _json_places(inner, (*path, k), scalars)
    else:
        yield path, next(scalars)


def _refuse_repeats(value: object, where: str, source: SourceText) -> None:
    """Refuse a key that an object has twice, at any depth: the first value would be lost."""
    if isinstance(value, _Object):
        if value.twice is not None:
            place = _key_span(source, value.twice)
            raise _Malformed(f"{where} has {value.twice} twice", place)
        for key, inner in value.items():
            _refuse_repeats(inner, key, source)
    elif isinstance(value, list):
        for inner in value:
            _refuse_repeats(inner, where, source)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(s, str) for s in pair)


def _csv_table(source: SourceText) -> _Table:
    import csv

    rows: dict[str, dict[str, str]] = {}
    pairs: list[tuple[str, str]] = []
    places: dict[tuple[object, ...], Span] = {(): Span(source, 0, 0)}
    normalized = False
    reader = csv.reader(_lines(source.text))
    last = 0
    try:
        for cells in reader:
            first, last = last + 1, reader.line_num  # quoted cells may hold ends of lines
            line = _line_span(source, first, last)
            match [cell.strip() for cell in cells]:
                case []:
                    continue
                case ["row", given, shown, p]:
                    row = rows.setdefault(given, {})
                    if shown in row:
                        raise _Malformed(f"{given} has {shown} twice", line)
                    row[shown] = p
                    places.setdefault((given,), _cell_span(line, given))
                    places[given, shown] = _cell_span(line, p, is_last=True)
                case ["pair", one, other]:
                    pairs.append((one, other))
                    places["pair", one, other] = line
                case ["normalized"]:
                    normalized = True
                case _:
                    wanted = "`row,input,output,probability`, `pair,input,input` or `normalized`"
                    raise _Malformed(f"a line is {wanted}", line)
    except csv.Error as wrong:
        place = _line_span(source, last + 1)
        raise _Malformed(f"it is not CSV: {wrong}", place) from None
    return _Table(_stem(source), rows, pairs, normalized, "a line `normalized`", places)


def _chain_parts(table: _Table) -> Iterator[tuple[str, Span | None]]:
    """Yield the table as a chain in the language, in parts, and where it says them."""
    places = table.places
    if not _is_name(table.name):
        raise _Malformed(f"{table.name!r} is no name for a mechanism", places[()])
    if not table.rows:
        raise _Malformed("it has no rows", places[()])
    outputs = dict.fromkeys(shown for row in table.rows.values() for shown in row)
    probabilities: dict[str, Sequence[str]] = {}
    for given, row in table.rows.items():
        probabilities[given] = _probabilities(given, row, table)
        if given in outputs:
            raise _Malformed(f"{given} is both an input and an output", places[given,])
    for pair in table.pairs:
        for given in pair:
            if given not in table.rows:
                place = places["pair", *pair]
                raise _Malformed(f"the pair with {given} has no row for it", place)
    yield f"chain {table.name} {{\n", places[()]
    yield from ((f"  state {_quoted(state)}\n", None) for state in (*table.rows, *outputs))
    for given, row in table.rows.items():
        yield _quoted(given), places[given,]
        sign = " -> ("
        for shown, p in zip(row, probabilities[given], strict=True):
            yield sign, None
            yield p, places[given, shown]
            yield f"): {_quoted(shown)}", None
            sign = " + ("
        yield "\n", None
    yield from (
        (f"  adjacent {_quoted(s)} ~ {_quoted(t)}\n", places["pair", s, t]) for s, t in table.pairs
    )
    yield f"  init {', '.join(map(_quoted, table.rows))}\n", None
    yield f"  observe {', '.join(map(_quoted, outputs))}\n}}\n", None


def _is_name(text: str) -> bool:
    """Return whether a chain may have this name: words of the language are none."""
    if not re.fullmatch(r"[^\W\d]\w*", text):
        return False
    return not parse_model(SourceText("name", f"chain {text} {{ state s }}")).mistakes


def _probabilities(given: str, row: Mapping[str, str], table: _Table) -> Sequence[str]:
    """Return what a chain says of a row: each probability as an expression.

    Refuses what cannot be written so, and numbers that are no distribution. Expressions that are
    more than a number are left to the chain, which computes them.
    """
    if not row:
        reason = f"the row of {given} is empty: no output has a probability"
        raise _Malformed(reason, table.places[given,])
    numbers = [_number(given, shown, p, table) for shown, p in row.items()]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return list(row.values())
    total = sum(known, Fraction())
    if table.normalized and total > 0:
        return [_text(number / total) for number in known]
    if table.normalized:
        reason = f"the row of {given} sums to 0: no output has a weight above 0"
        raise _Malformed(reason, table.places[given,])
    if total != 1:
        reason = f"the row of {given} sums to {_text(total)}, not 1"
        raise _Malformed(reason, table.places[given,], _normalize(table))
    return list(row.values())


def _number(given: str, shown: str, p: str, table: _Table) -> Fraction | None:
    """Return a weight of a row as a number, None if it is a longer expression; else refuse it."""
    place = table.places[given, shown]
    for state, at in ((given, table.places[given,]), (shown, place)):
        if not _may_be_state(state):
            raise _Malformed(f"{state!a} cannot be the name of an input or output", at)
    number = _plain_number(p)
    if number is None:
        parsed = parse_expression(SourceText("probability", p))
        if parsed.mistakes or parsed.expression is None or "#" in p or "\n" in p:
            is_large = any(isinstance(each, NumberTooLong) for each in parsed.mistakes)
            what = "too large to write down" if is_large else "no number"
            raise _Malformed(f"the row of {given} has {p!r}, which is {what}", place)
        if table.normalized:
            reason = f"{given} has {shown} with {p}, and `normalized` takes numbers such as 3/4"
            raise _Malformed(reason, place)
    elif number < 0 or (number > 1 and not table.normalized):
        advice = _normalize(table) if number > 1 else None
        reason = f"{given} has {shown} with {p}, which is no probability"
        raise _Malformed(reason, place, advice)
    return number


def _may_be_state(name: str) -> bool:
    """Return whether a chain can write a name in quotes, and a report can print it."""
    is_text = not any("\ud800" <= char <= "\udfff" for char in name)
    return bool(name) and is_text and not any(char in name for char in '"\n\r')


def _normalize(table: _Table) -> str:
    how = f"add {table.normalized_by}"
    return f"{how} if these are counts or rounded: each row is then divided by its sum"


def _text(number: Fraction) -> str:
    return exact.exact_text(exact.number(*number.as_integer_ratio()))


def _plain_number(text: str) -> Fraction | None:
    """Return a number as it is mostly written, exactly; None for any other expression.

    >>> _plain_number("3/4"), _plain_number("0.25"), _plain_number("1/2 + 1/4")
    (Fraction(3, 4), Fraction(1, 4), None)
    """
    number = r"[0-9]{1,99}(\.[0-9]{1,99})?([eE][+-]?[0-9]{1,3})?"
    if not re.fullmatch(rf"\s*-?{number}(\s*/\s*{number})?\s*", text):
        return None
    above, _, below = text.partition("/")
    divisor = Fraction(below.strip() or 1)
    return Fraction(above.strip()) / divisor if divisor else None


def _quoted(state: str) -> str:
    return f'"{state}"'


# --- writing -------------------------------------------------------------------------------


def names_in_table(texts: Iterable[str]) -> dict[str, str]:
    """Return how a table names inputs or outputs of some texts: without double quotes.

    They are left out where all remain different. Otherwise single quotes stand for them, and
    single quotes and backslashes get a backslash, so that no two names become one.

    >>> names_in_table(['"a b"', "c"]), names_in_table(['"1"', "1"])
    ({'"a b"': 'a b', 'c': 'c'}, {'"1"': "'1'", '1': '1'})
    """
    plain = {text: text.replace('"', "").strip() for text in texts}
    if len(set(plain.values())) == len(plain):
        return plain
    return {text: re.sub(r"([\\'])", r"\\\1", text).replace('"', "'") for text in plain}


def table_json(
    name: str, rows: Mapping[str, Mapping[str, str]], pairs: Sequence[Sequence[str]]
) -> str:
    """Return distributions of outputs as a JSON table that can be imported.

    A target with arguments, such as `m(k = 2)`, is no name: there the file gives the mechanism its.
    """
    import json

    named = {"mechanism": name} if _is_name(name) else {}
    found = {**named, "rows": rows, "pairs": [list(pair) for pair in pairs]}
    return json.dumps(found, indent=2) + "\n"


def table_csv(rows: Mapping[str, Mapping[str, str]], pairs: Sequence[Sequence[str]]) -> str:
    """Return distributions of outputs as a CSV table that can be imported."""
    import csv
    import io

    names = _clean_names([*rows, *(shown for row in rows.values() for shown in row)])
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    for given, row in rows.items():
        out.writerows(["row", names[given], names[shown], p] for shown, p in row.items())
    out.writerows(["pair", names[first], names[second]] for first, second in pairs)
    return stream.getvalue()


def _clean_names(names: Sequence[str]) -> dict[str, str]:
    """Return names without characters that do not show, no two of them alike."""
    clean = {name: escaped(name) for name in names}
    if len(set(clean.values())) == len(clean):
        return clean
    return {name: escaped(name.replace("\\", "\\\\")) for name in names}
