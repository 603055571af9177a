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
language, so that what follows is the same as for a chain written by hand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from dpcheck import exact
from dpcheck.diagnostics.imports import MalformedTable
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.parse import parse_expression, parse_model
from dpcheck.records import dataclass
from dpcheck.source import SourceText, Span, escaped


@dataclass(frozen=True)
class _Table:
    """Distributions of outputs by input, and pairs of neighbors.

    `normalized` says that rows are divided by their sums, and `normalized_by` how a table says so.
    `lines` has the line of an input's first row, of an (input, output), and of a pair, where lines
    are known: in CSV.
    """

    name: str
    rows: Mapping[str, Mapping[str, str]]
    pairs: Sequence[tuple[str, str]]
    normalized: bool
    normalized_by: str
    lines: Mapping[object, int]


class _Malformed(Exception):
    """What is wrong with a table, and on which line, or beside which JSON key, if that is known."""

    def __init__(
        self,
        reason: str,
        line: int | None = None,
        key: str | None = None,
        advice: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.key = key
        self.advice = advice


def table_model(source: SourceText) -> SourceText | Mistake:
    """Return a table of probabilities as the text of a model, or what is wrong with it.

    What can be wrong with plain numbers is found here, where the user's own lines are known.
    """
    is_json = source.name.endswith(".json")
    try:
        table = _json_table(source) if is_json else _csv_table(source)
        return SourceText(source.name, _chain_text(table))
    except _Malformed as wrong:
        span = None if wrong.line is None else _line_span(source, wrong.line)
        if is_json and wrong.key is not None:
            span = _key_span(source, wrong.key)
        return MalformedTable(span, source.name, wrong.reason, wrong.advice)


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends, which only LF and CR are."""
    import io

    return io.StringIO(text, newline="").readlines()


def _line_span(source: SourceText, line: int) -> Span:
    lines = _lines(source.text)
    start = sum(map(len, lines[: line - 1]))
    length = len(lines[line - 1].rstrip()) if line <= len(lines) else 0
    return Span(source, start, start + length)


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
    found = _json(source)
    if not isinstance(found, dict) or not isinstance(found.get("rows"), dict):
        raise _Malformed('it needs "rows": {input: {output: probability}}')
    pairs = found.get("pairs")
    if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
        raise _Malformed('it needs "pairs": [[input, input], ...], who is whose neighbor')
    rows: dict[str, dict[str, str]] = {}
    for given, row in found["rows"].items():
        if not isinstance(row, dict) or not all(isinstance(p, str) for p in row.values()):
            raise _Malformed(f"the row of {given} is not {{output: probability}}", key=given)
        rows[given] = row
    name = found.get("mechanism", _stem(source))
    normalized = found.get("normalized", False)
    if not isinstance(normalized, bool):
        raise _Malformed('"normalized" is true or false', key="normalized")
    pairs = [(first, second) for first, second in pairs]
    return _Table(str(name), rows, pairs, normalized, '`"normalized": true`', {})


def _json(source: SourceText) -> object:
    """Return what a JSON text says, numbers as they are written."""
    import json

    try:
        found: object = json.loads(
            source.text,
            parse_float=str,
            parse_int=str,
            parse_constant=str,
            object_pairs_hook=_Object,
        )
        _refuse_repeats(found, "the table")
    except json.JSONDecodeError as wrong:
        raise _Malformed(f"it is not JSON: {wrong.msg}", wrong.lineno) from None
    except RecursionError:
        raise _Malformed("it is nested too deeply") from None
    return found


def _refuse_repeats(value: object, where: str) -> None:
    """Refuse a key that an object has twice, at any depth: the first value would be lost."""
    if isinstance(value, _Object):
        if value.twice is not None:
            raise _Malformed(f"{where} has {value.twice} twice", key=value.twice)
        for key, inner in value.items():
            _refuse_repeats(inner, key)
    elif isinstance(value, list):
        for inner in value:
            _refuse_repeats(inner, where)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(s, str) for s in pair)


def _csv_table(source: SourceText) -> _Table:
    import csv

    rows: dict[str, dict[str, str]] = {}
    pairs: list[tuple[str, str]] = []
    lines: dict[object, int] = {}
    normalized = False
    reader = csv.reader(_lines(source.text))
    last = 0
    try:
        for cells in reader:
            line, last = last + 1, reader.line_num  # quoted cells may hold ends of lines
            match [cell.strip() for cell in cells]:
                case []:
                    continue
                case ["row", given, shown, p]:
                    row = rows.setdefault(given, {})
                    if shown in row:
                        raise _Malformed(f"{given} has {shown} twice", line)
                    row[shown] = p
                    lines.setdefault(given, line)
                    lines[given, shown] = line
                case ["pair", first, second]:
                    pairs.append((first, second))
                    lines["pair", first, second] = line
                case ["normalized"]:
                    normalized = True
                case _:
                    wanted = "`row,input,output,probability`, `pair,input,input` or `normalized`"
                    raise _Malformed(f"a line is {wanted}", line)
    except csv.Error as wrong:
        raise _Malformed(f"it is not CSV: {wrong}", last + 1) from None
    return _Table(_stem(source), rows, pairs, normalized, "a line `normalized`", lines)


def _chain_text(table: _Table) -> str:
    """Return the table as a chain in the language."""
    if not _is_name(table.name):
        raise _Malformed(f"{table.name!r} is no name for a mechanism", key="mechanism")
    if not table.rows:
        raise _Malformed("it has no rows", key="rows")
    outputs = dict.fromkeys(shown for row in table.rows.values() for shown in row)
    probabilities: dict[str, Sequence[str]] = {}
    for given, row in table.rows.items():
        probabilities[given] = _probabilities(given, row, table)
        if given in outputs:
            raise _Malformed(
                f"{given} is both an input and an output", table.lines.get(given), given
            )
    for pair in table.pairs:
        for given in pair:
            if given not in table.rows:
                line = table.lines.get(("pair", *pair))
                raise _Malformed(f"the pair with {given} has no row for it", line)
    lines = [f"chain {table.name} {{"]
    lines += [f"  state {_quoted(state)}" for state in (*table.rows, *outputs)]
    for given, row in table.rows.items():
        weighted = zip(probabilities[given], row, strict=True)
        branches = [f"({p}): {_quoted(shown)}" for p, shown in weighted]
        lines.append(f"  {_quoted(given)} -> {' + '.join(branches)}")
    lines += [f"  adjacent {_quoted(s)} ~ {_quoted(t)}" for s, t in table.pairs]
    lines.append(f"  init {', '.join(map(_quoted, table.rows))}")
    lines.append(f"  observe {', '.join(map(_quoted, outputs))}")
    return "\n".join([*lines, "}", ""])


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
        raise _Malformed(f"the row of {given} is empty: no output has a probability", key=given)
    numbers = [_number(given, shown, p, table) for shown, p in row.items()]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return list(row.values())
    total = sum(known, Fraction())
    line = table.lines.get(given)
    if table.normalized and total > 0:
        return [_text(number / total) for number in known]
    if total != 1:
        advice = None if table.normalized else _normalize(table)
        reason = f"the row of {given} sums to {_text(total)}, not 1"
        raise _Malformed(reason, line, given, advice)
    return list(row.values())


def _number(given: str, shown: str, p: str, table: _Table) -> Fraction | None:
    """Return a weight of a row as a number, None if it is a longer expression; else refuse it."""
    line = table.lines.get((given, shown))
    for state in (given, shown):
        if not _may_be_state(state):
            raise _Malformed(f"{state!a} cannot be the name of an input or output", line, given)
    number = _plain_number(p)
    if number is None:
        parsed = parse_expression(SourceText("probability", p))
        if parsed.mistakes or parsed.expression is None or "#" in p or "\n" in p:
            raise _Malformed(f"the row of {given} has {p!r}, which is no number", line, given)
        if table.normalized:
            reason = f"{given} has {shown} with {p}, and `normalized` takes numbers such as 3/4"
            raise _Malformed(reason, line, given)
    elif number < 0 or (number > 1 and not table.normalized):
        advice = _normalize(table) if number > 1 else None
        reason = f"{given} has {shown} with {p}, which is no probability"
        raise _Malformed(reason, line, given, advice)
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
    """Return distributions of outputs as a JSON table that can be imported."""
    import json

    found = {"mechanism": name, "rows": rows, "pairs": [list(pair) for pair in pairs]}
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
