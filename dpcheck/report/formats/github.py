"""Workflow commands of GitHub Actions: an annotation on the line of whatever went wrong.

Source: GitHub's documentation, "Workflow commands for GitHub Actions". A command is one line, so
line breaks and `%` are written as `%0A` and `%25`; in its properties also `:` and `,`.
"""

from __future__ import annotations

from dpcheck.report.answers import Summary
from dpcheck.report.characters import visible_lines
from dpcheck.report.formats.findings import Checkout, Finding, findings

_ORDER = ("error", "open", "warning")
"""GitHub shows ten errors and ten warnings a step: the worst come first."""


def github_text(summary: Summary, checkout: Checkout) -> str:
    """Return a run as workflow commands, without a final line break."""
    found = sorted(findings(summary, checkout), key=lambda each: _ORDER.index(each.level))
    commands = [_command(each) for each in found]
    for crash in summary.crashes:
        said = _data(f"at {crash.where}\n{crash.traceback}")
        commands.append(f"::error title=internal error in dpcheck::{said}")
    return "\n".join(commands)


def _command(found: Finding) -> str:
    command = "error" if found.level == "error" else "warning"
    title = f"{found.rule}: {found.sentence}"
    properties = {"title": title if len(title) <= 200 else f"{title[:199]}…"}
    place = found.place
    if place is not None:
        where = {"file": place.file, "line": str(place.line)}
        if place.region is not None:
            where["endLine"] = str(place.region.end_line)
            if place.region.end_line == place.line:
                where["col"] = str(place.region.column)
                where["endColumn"] = str(place.region.end_column)
        properties = {**where, **properties}
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {written}::{_data(found.text)}"


def _data(text: str) -> str:
    r"""Return a text as the data of a command.

    >>> _data("100%\n\x1b[31m")
    '100%25%0A␛[31m'
    """
    shown = visible_lines(text)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
