"""The base of every diagnostic: a mistake in the user's text as typed, frozen data.

A concrete mistake derives from `Mistake`, which makes it a frozen dataclass. It carries the values
involved and says what to show; `report` draws it. The first line of its docstring stands in the
list of `dpcheck explain`. Codes never change their meaning:

    DP0xx files and command line     DP1xx syntax        DP2xx probabilities and numbers
    DP3xx names                      DP4xx kinds         DP5xx mechanisms and chains
    DP6xx claims and formulas        DP7xx imports and composition
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Literal

from dpcheck.records import Frozen, dataclass
from dpcheck.source import Span

MAX_TEXT = 60
"""A longer text in a title is cut in its middle."""


def shortened(text: str) -> str:
    """Return a text of at most about `MAX_TEXT` characters.

    >>> shortened("9" * 100)
    '99999999999999999999...99999999999999999999 (100 characters)'
    """
    return text if len(text) <= MAX_TEXT else f"{text[:20]}...{text[-20:]} ({len(text)} characters)"


Severity = Literal["error", "warning", "undecided"]


@dataclass(frozen=True)
class Label:
    """Words beside a place."""

    span: Span
    text: str


class Mistake(Frozen):
    """One mistake: where, and through its class which. The first label is the primary place.

    `class EmptyFile(FileMistake, code="DP004")` is a kind of mistake. Its `explanation` (what it
    means, why it matters, a wrong and a right example) is shown by `dpcheck explain`. `title` is
    lower case, stands alone, shows values. What is `undecided` is no mistake of the user's, but a
    limit that was reached.

    A title, help or label that only fills in fields is a text of the class,
    `"{self.name} is unknown"`; one that needs more overrides the property. In titles
    `{short.name}` is a text that may be long. A help that names a field that is None is none, or
    that of `help_otherwise`. `second_place` names a field that holds another place, or None, and
    the words beside it.
    """

    span: Span | None

    code: ClassVar[str]
    explanation: ClassVar[str]
    severity: ClassVar[Severity] = "error"
    title_text: ClassVar[str]
    help_text: ClassVar[str] = ""
    help_otherwise: ClassVar[str] = ""
    label_text: ClassVar[str] = ""
    second_place: ClassVar[tuple[str, str] | None] = None

    def __init_subclass__(cls, *, code: str = "", severity: Severity | None = None) -> None:
        """Take the code of a kind of mistake; classes without one are bases."""
        super().__init_subclass__()
        if code:
            cls.code = code
        if severity is not None:
            cls.severity = severity

    @property
    def title(self) -> str:
        """One line that says what is wrong, with the values."""
        return self.title_text.format(self=self, short=_Short(self))

    @property
    def file(self) -> str | None:
        """The name of the file the mistake is in, where there is one."""
        return None if self.span is None else self.span.source.name

    @property
    def labels(self) -> tuple[Label, ...]:
        """The places to show, the primary one first."""
        if self.span is None:
            return ()
        own = Label(self.span, self.label_text.format(self=self))
        place, text = self.second_place or (None, "")
        other = None if place is None else getattr(self, place)
        return (own,) if other is None else (own, Label(other, text.format(self=self)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Further facts, such as the run that leads there."""
        return ()

    @property
    def help(self) -> str | None:
        """One concrete edit, or nothing."""
        named = re.findall(r"\{self\.(\w+)", self.help_text)
        is_known = all(getattr(self, name) is not None for name in named)
        return (self.help_text if is_known else self.help_otherwise).format(self=self) or None


class Refused(Exception):
    """Work ends at a mistake of the user's; a class below this says which work."""

    def __init__(self, mistake: Mistake) -> None:
        """Keep the mistake for the report."""
        super().__init__(mistake.title)
        self.mistake = mistake


class _Short:
    """The fields of a mistake, texts and numbers, as a title shows what may be long."""

    def __init__(self, mistake: Mistake) -> None:
        self._mistake = mistake

    def __getattr__(self, name: str) -> str:
        """Return the text of a field; whoever draws no numbers imports none."""
        from dpcheck.exact import exact_text

        value = getattr(self._mistake, name)
        return shortened(value if isinstance(value, str) else exact_text(value))


CODE = "`{}`"
"""The form of a word of the language in a sentence."""


def listed(words: Iterable[str], conjunction: str = "or", form: str = "{}") -> str:
    """Return words as a sentence lists them, each in some form.

    >>> listed(["clamped"]), listed(["renyi", "zcdp", "accuracy"], "and", CODE)
    ('clamped', '`renyi`, `zcdp` and `accuracy`')
    """
    *first, last = map(form.format, words)
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def has_errors(mistakes: Iterable[Mistake]) -> bool:
    """Return whether some of the mistakes are worse than warnings."""
    return any(mistake.severity == "error" for mistake in mistakes)


def similar(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that looks most like the name, if one does.

    >>> similar("tpo", ["top", "bot"]), similar("x", ["alpha"])
    ('top', None)
    """
    from difflib import get_close_matches

    known = sorted(candidates)
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return close[0]
    folded = {candidate.lower(): candidate for candidate in known}
    return folded.get(name.lower())
