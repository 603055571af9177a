"""One HTML page that holds everything: no network, no JavaScript, light and dark.

Headings and captions lead through it without eyes. Long tables scroll in a box of their own and
what is out of sight costs a browser nothing, so that a page of 1,000 claims stays usable. All texts
of the user's pass through `_text`, and nothing else writes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby

from dpcheck.check.values.verdicts import Amount, Cell, Violated
from dpcheck.explain.explanation import as_found
from dpcheck.report.answers import Answer, Portrait, Summary
from dpcheck.report.characters import visible_lines
from dpcheck.report.explained.lines import explanation_rows
from dpcheck.report.formats.chain_drawing import chain_svg
from dpcheck.report.formats.findings import Checkout, Finding, claim_text, findings, sentence
from dpcheck.report.notation import amount_text, counted, event_text, expression_text, number_text
from dpcheck.report.plot import Profile, profiles_svg
from dpcheck.report.styled import plain
from dpcheck.report.tables import Row
from dpcheck.report.text import answer_text, closing_lines, quantity_text, roots, values_text
from dpcheck.version import __version__

_CURVES = 8
"""Profiles in one drawing: more could not be told apart."""

_LOOKS = {
    "undecided": ("unsure", "? undecided"),
    "wrong": ("bad", "✗ not so"),
    "vacuous": ("unsure", "! vacuous"),
    "ok": ("good", "✓ ok"),
}
"""The class of a claim that stands so, and its mark with words to be read."""


def html_text(summary: Summary, checkout: Checkout) -> str:
    """Return a run as an HTML page, without a final line break."""
    return "\n".join(_page(summary, checkout))


def answer_html(answer: Answer) -> str:
    """Return all that is known of one claim as an element that stands alone, as in a notebook."""
    return "\n".join(_article(answer, ""))


def _text(text: str) -> str:
    r"""Return a text as HTML shows it, whatever it holds.

    >>> _text("<script>\x1b[31m")
    '&lt;script&gt;␛[31m'
    """
    shown = visible_lines(text)
    return escape("".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in shown))


def _page(summary: Summary, checkout: Checkout) -> Iterator[str]:
    closing, *more = (_text(plain(each)) for each in closing_lines(summary))
    style = files("dpcheck.report.formats").joinpath("page.css").read_text("utf-8")
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta name="generator" content="dpcheck {__version__}">'
    yield f"<title>dpcheck: {closing}</title>"
    yield f"<style>\n{style}</style></head><body>"
    said = "".join(f"<p>{each}</p>" for each in (closing, *more))
    yield f"<header><h1>dpcheck</h1>{said}</header><main>"
    wrong = list(findings(summary, checkout))
    numbers = {id(answer): place for place, answer in enumerate(summary.answers, start=1)}
    for file, group in groupby(summary.answers, key=lambda answer: answer.file):
        answers = list(group)
        yield f"<section><h2>{_text(checkout.name(file))}</h2>"
        yield from _claims(answers, numbers)
        for answer in filter(_has_details, answers):
            yield from _article(answer, f' id="claim-{numbers[id(answer)]}"')
        drawn = [portrait for portrait in summary.portraits if portrait.file == file]
        yield from _profiles(drawn)
        for portrait in drawn:
            yield from _chain(portrait)
        yield "</section>"
    yield from _mistakes([each for each in wrong if each.answer is None])
    for crash in summary.crashes:
        yield f"<section><h2>Internal error at {_text(crash.where)}</h2>"
        yield f"<pre>{_text(crash.traceback)}</pre></section>"
    yield f'</main><footer class="faint"><p>dpcheck {__version__}</p></footer></body></html>'


# --- claims --------------------------------------------------------------------------------


def _claims(answers: Sequence[Answer], numbers: dict[int, int]) -> Iterator[str]:
    """Yield the table of the claims of a file; a claim with more to say leads to it."""
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Claims"><table>'
    yield f"<caption>{counted(len(answers), 'claim')}</caption><thead><tr>"
    yield from (f'<th scope="col">{head}</th>' for head in ("", "Claim", "Came out", "Line"))
    yield "</tr></thead><tbody>"
    for answer in answers:
        claim = f"{answer.kind} {_text(claim_text(answer))}"
        if _has_details(answer):
            claim = f'<a href="#claim-{numbers[id(answer)]}">{claim}</a>'
        style, mark = _LOOKS[answer.standing]
        yield f'<tr><td class="{style}">{mark}</td><td>{claim}</td>'
        yield f"<td>{_came_out(answer)}</td><td>{answer.line}</td></tr>"
    yield "</tbody></table></div>"


def _came_out(answer: Answer) -> str:
    """Return the verdict with the quantity it is about."""
    said = "" if answer.is_undecided else quantity_text(answer).removeprefix(": it is ")
    word = answer.outcome.verdict.word
    word = "" if word == "value" else word + values_text(answer)
    return ", ".join(_text(part) for part in (word, said) if part)


def _has_details(answer: Answer) -> bool:
    is_plain = answer.is_ok and answer.table is None and not answer.outcome.is_vacuous
    return not is_plain or isinstance(answer.outcome.verdict, Violated)


def _article(answer: Answer, attributes: str) -> Iterator[str]:
    """Yield all that is known of a claim, under a heading."""
    style, mark = _LOOKS[answer.standing]
    yield f'<article{attributes} class="{style}"><h3><span class="word">{mark}</span> '
    yield f"{answer.kind} {_text(claim_text(answer))}</h3>"
    yield f"<p>{_text(sentence(answer))}</p>"
    covers = " · ".join((*answer.covers, f"line {answer.line}"))
    yield f'<p class="faint">{_text(covers)}</p>'
    verdict = answer.outcome.verdict
    if isinstance(verdict, Violated):
        found = answer.explanation or as_found(verdict.counterexample)
        rows = [(_text(row.label), _explained(row)) for row in explanation_rows(found, answer.file)]
        yield from _table("Counterexample", ("", ""), rows)
    known = answer.outcome.all_values
    if answer.table is not None:
        written = _piece_cell if known is not None and known.pieces else _cell
        cells = [[written(cell) for cell in row] for row in answer.table.rows]
        yield from _table(answer.table.name, answer.table.columns, cells)
    for text in () if known is None else roots(known):
        yield f'<p class="faint">where {_text(text)}</p>'
    if not answer.is_ok:
        yield "<details><summary>The report as text</summary>"
        yield f"<pre>{_text(answer_text(answer))}</pre></details>"
    yield "</article>"


def _explained(row: Row) -> str:
    """Return a row of an explanation; one of a table in it keeps its columns."""
    return f"<pre>{_text(row.text)}</pre>" if row.is_fixed else _text(row.text)


def _piece_cell(cell: Cell) -> str:
    """Return a cell of a table of expressions over a parameter."""
    return _text(expression_text(str(cell)))


def _cell(cell: Cell) -> str:
    """Return a cell: a number with its exact text, if that is another, on demand."""
    if not isinstance(cell, Amount):
        return _text(cell if isinstance(cell, str) else event_text(cell))
    shown = number_text(cell)
    return _text(shown) if shown == cell.exact else f"<span>{_text(amount_text(cell))}</span>"


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table of cells that are HTML already; its first column has headings."""
    label = _text(caption)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>'
    yield f"<caption>{label}</caption>"
    if any(columns):
        heads = "".join(f'<th scope="col">{_text(column)}</th>' for column in columns)
        yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for first, *others in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in others)
        yield f'<tr><th scope="row">{first}</th>{cells}</tr>'
    yield "</tbody></table></div>"


# --- pictures, mistakes --------------------------------------------------------------------


def _profiles(drawn: Sequence[Portrait]) -> Iterator[str]:
    """Yield the profiles of a file's targets, several in one drawing."""
    found = [
        Profile(each.target, each.profile, each.budgets)
        for each in drawn
        if each.profile is not None and len(each.profile.rows) > 1
    ]
    for start in range(0, len(found), _CURVES):
        some = found[start : start + _CURVES]
        names = ", ".join(each.name for each in some)
        title = "Privacy profile" if len(some) == 1 else "Privacy profiles"
        yield '<figure class="profile"><div class="scroll" tabindex="0" role="region" '
        yield f'aria-label="{title}">{profiles_svg(title, some, is_log=True, on_page=True)}</div>'
        yield f"<figcaption>δ over ε of {_text(names)}; circles are stated budgets</figcaption>"
        yield "</figure>"


def _chain(portrait: Portrait) -> Iterator[str]:
    """Yield the drawing of a chain, and its transitions as a table."""
    if portrait.graph is None:
        return
    title, nodes = f"Chain of {portrait.target}", portrait.graph.nodes
    yield f'<figure class="chain"><figcaption>{_text(title)}</figcaption>'
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(title)}">'
    yield f"{chain_svg(title, portrait.graph)}</div>"
    yield "<details><summary>Transitions as a table</summary>"
    rows = [
        (_text(nodes[s].text), _text(nodes[t].text), _text(p)) for s, t, p in portrait.graph.edges
    ]
    yield from _table(title, ("From", "To", "Probability"), rows)
    yield "</details></figure>"


def _mistakes(found: Sequence[Finding]) -> Iterator[str]:
    if not found:
        return
    yield "<section><h2>Mistakes</h2>"
    for each in found:
        style = "bad" if each.level == "error" else "unsure"
        yield f'<article class="{style}"><h3>{_text(each.rule)}: {_text(each.sentence)}</h3>'
        yield f"<pre>{_text(each.text)}</pre></article>"
    yield "</section>"
