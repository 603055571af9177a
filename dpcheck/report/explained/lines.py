"""An explanation as text: labelled blocks in one order, tables below their labels.

neighbors    q = [1, 1, 0]
             q = [2, 0, 0]    (q[1], q[2] differ)
output       bot, then top
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpcheck.check.values.verdicts import Amount, Phrase, ShownEvent
from dpcheck.explain.explanation import (
    Explanation,
    Inequality,
    Neighbors,
    Others,
)
from dpcheck.records import dataclass
from dpcheck.report.characters import visible, width
from dpcheck.report.notation import (
    amount_text,
    event_text,
    phrase_text,
    requirement_text,
    short_decimal,
    shortened,
)
from dpcheck.report.styled import Line, Piece, Role, line

_INDENT = 8
_LONGEST_EXACT = 24
"""Characters of the longest number that stands exactly beside others: `fails` has all of it."""

_EVENT_ROOM = 240
"""Characters of a set of sequences: two rows and a half."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a block; the first of a block has its label. A row of a table is not folded."""

    label: str
    text: str
    role: Role = "plain"
    is_fixed: bool = False


def explanation_lines(found: Explanation) -> Iterator[Line]:
    """Yield the blocks of an explanation, indented below the line of its claim."""
    rows = explanation_rows(found)
    column = max((width(row.label) for row in rows), default=0)
    hang = _INDENT + column + 2
    for row in rows:
        gap = " " * (column - width(row.label) + 2)
        folded = None if row.is_fixed else hang
        text = Piece(row.text, row.role)
        yield line(" " * _INDENT, Piece(row.label, "faint"), gap, text, hang=folded)


def explanation_rows(found: Explanation) -> list[Row]:
    """Return the rows of all blocks, in the order in which they are read."""
    return [row for block in _blocks(found) for row in block]


def _blocks(found: Explanation) -> Iterator[Iterable[Row]]:
    """Yield the blocks in the order in which they are read."""
    if found.neighbors is not None:
        yield _neighbors(found.neighbors)
    if found.event:
        yield _event(found.event)
    if found.inequality is not None:
        yield _inequality(found.inequality)
    if found.tight is not None:
        yield [Row("tight", phrase_text(found.tight.text).replace("= ≈", "≈"))]
    if found.others is not None:
        yield _others(found.others)


def _neighbors(pair: Neighbors) -> Iterator[Row]:
    yield Row("neighbors", shortened(visible(pair.left)))
    names = [difference.name for difference in pair.differences]
    said = [pair.note] if pair.note else []
    if names and not (len(names) == 1 and pair.left.startswith(f"{names[0]} = ")):
        said.append(f"{', '.join(names)} {'differs' if len(names) == 1 else 'differ'}")
    note = f"    ({'; '.join(said)})" if said else ""
    yield Row("", f"{shortened(visible(pair.right))}{note}")


def _event(event: ShownEvent) -> Iterator[Row]:
    is_one = not isinstance(event, Phrase) and len(event) == 1
    label = "output" if is_one else "event" if isinstance(event, Phrase) else "outputs"
    yield Row(label, event_text(event, _EVENT_ROOM))


def _inequality(failing: Inequality) -> Iterator[Row]:
    yield Row("probability", _probabilities(failing), "number")
    if requirement := requirement_text(failing.requirement, failing.sides):
        yield Row("fails", requirement)


def _probabilities(failing: Inequality) -> str:
    """Return both probabilities, their ratio and what is allowed."""
    if failing.q is None:
        return readable(failing.p)
    text = f"{readable(failing.p)} against {readable(failing.q)}"
    has_slack = failing.slack is not None and failing.slack.exact != "0"
    more = f" and {readable(failing.slack)}" if has_slack and failing.slack is not None else ""
    if failing.ratio is None or failing.ratio.exact == "inf":
        allowed = (
            "" if failing.allowed is None else f": allowed {readable(failing.allowed)} times that"
        )
        return text + allowed + more
    text += f": ratio {readable(failing.ratio)}"
    if failing.allowed is None:
        return text
    return f"{text}, allowed {readable(failing.allowed)}{more}{' more' if more else ''}"


def readable(amount: Amount) -> str:
    """Return an amount exactly with its decimal, or as a decimal alone where the text is long."""
    return amount_text(amount) if len(amount.exact) <= _LONGEST_EXACT else short_decimal(amount)


def _others(others: Others) -> Iterator[Row]:
    least = "" if others.is_complete else "at least "
    text = f"{least}{others.n_violating:,} of {others.n_pairs:,} pairs violate"
    if others.n_pairs == 1:
        return
    if others.excess is not None:
        text += f"; largest excess {amount_text(others.excess)}"
    if others.worst is not None:
        left, right = (shortened(visible(each)) for each in (others.worst.left, others.worst.right))
        text += f": {left} against {right}"
    yield Row("others", text)
