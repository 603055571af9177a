"""Markdown, as for the summary of a job: a table of all claims, then what went wrong in full.

Texts of the user's stand in code spans and fenced blocks only, whose fences are longer than any
run of backticks inside: nothing a model says is read as Markdown or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dpcheck.report.answers import Answer, Summary
from dpcheck.report.characters import visible, visible_lines
from dpcheck.report.formats.findings import Checkout, Finding, claim_text, findings
from dpcheck.report.styled import plain
from dpcheck.report.text import closing_lines, quantity_text, values_text

MAX_BYTES = 900_000
"""A job summary of GitHub's may have 1 MiB: what does not fit is counted."""

_MARKS = {"undecided": "❓", "wrong": "❌", "vacuous": "⚠️", "ok": "✅"}


def markdown_text(summary: Summary, checkout: Checkout) -> str:
    """Return a run as Markdown, without a final line break."""
    found = list(findings(summary, checkout))
    return "\n".join(_fitting([*_table(summary, checkout)], [_section(each) for each in found]))


def _table(summary: Summary, checkout: Checkout) -> Iterator[str]:
    """Yield the head of the page and the table of all claims."""
    closing, *more = map(plain, closing_lines(summary))
    yield "\n\n".join((f"# dpcheck: {closing}", *more))
    yield ""
    if not summary.answers:
        return
    yield "| | Claim | Came out | Where |"
    yield "|---|---|---|---|"
    for answer in summary.answers:
        place = f"{checkout.name(answer.file)}:{answer.line}"
        cells = (f"{answer.kind} {cell(claim_text(answer))}", _verdict(answer), cell(place))
        yield f"| {_MARKS[answer.standing]} | {' | '.join(cells)} |"
    yield ""
    if summary.changes:
        yield "| Since the baseline | Before | Now |"
        yield "|---|---|---|"
    for change in summary.changes:
        what = cell(f"{change.target}: {change.what}")
        yield f"| {what} | {cell(change.before)} | {cell(change.after or 'gone')} |"
    yield ""


def _verdict(answer: Answer) -> str:
    """Return a verdict in a few words, with the quantity it is about."""
    word = answer.outcome.verdict.word
    said = "" if word == "undecided" else quantity_text(answer).removeprefix(": it is ")
    claimed = ", vacuous" if answer.outcome.is_vacuous else ""
    if word == "value":
        return cell(said)
    if answer.kind == "refute" and word != "undecided":
        claimed = (", as claimed" if answer.is_as_claimed else ", yet to be refuted") + claimed
    values = values_text(answer).strip()
    claimed = (f" {cell(values)}" if values else "") + claimed
    return f"{word}{claimed}" + (f": {cell(said)}" if said else "")


def _section(found: Finding) -> str:
    """Return what is to be said of a finding under a heading of its own."""
    place = "" if found.place is None else f" at {code(f'{found.place.file}:{found.place.line}')}"
    return f"## {found.rule}{place}\n\n{code(found.sentence)}\n\n{fenced(found.text)}\n"


def _fitting(head: Sequence[str], sections: Sequence[str]) -> Iterator[str]:
    """Yield lines and sections as long as there is room."""
    room = MAX_BYTES
    for parts, what in ((head, "lines of the table"), (sections, "findings")):
        for i, part in enumerate(parts):
            room -= len(part.encode("utf-8", "surrogatepass")) + 1
            if room < 0:
                yield f"\nand {len(parts) - i} more {what}, which are not shown\n"
                return
            yield part


def cell(text: str) -> str:
    r"""Return a text as a code span inside of a table, where a bar would begin the next cell.

    >>> print(cell("a | b"))
    `a \| b`
    """
    return code(text).replace("|", "\\|")


def code(text: str) -> str:
    """Return a text as a code span.

    >>> code("a"), code("`x`")
    ('`a`', '`` `x` ``')
    """
    shown = visible(text)
    fence = "`" * (1 + _longest_run(shown))
    return f"{fence} {shown} {fence}" if len(fence) > 1 else f"`{shown}`"


def fenced(text: str) -> str:
    """Return a text of several lines as a block of code."""
    shown = visible_lines(text)
    fence = "`" * max(3, 1 + _longest_run(shown))
    return f"{fence}text\n{shown}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
