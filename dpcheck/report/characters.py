"""Characters as a terminal shows them: how wide they are, and those that would not show."""

from __future__ import annotations

import re
import unicodedata


def width(text: str) -> int:
    """Return the columns a text takes on a terminal.

    >>> width("ab"), width("漢"), width("e\N{COMBINING ACUTE ACCENT}")
    (2, 2, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def visible(text: str) -> str:
    r"""Return the text with characters that would not show replaced by pictures of them.

    >>> visible("a\x00b\x1b[31m")
    'a␀b␛[31m'
    """
    return text if text.isprintable() else "".join(visible_char(char) for char in text)


def visible_lines(text: str) -> str:
    """Return a text of several lines, each with what would not show as pictures."""
    return "\n".join(map(visible, text.split("\n")))


def visible_char(char: str) -> str:
    """Return a character, or a picture of one that would not show."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if char != " " and not char.isprintable() and not unicodedata.combining(char):
        return "\N{REPLACEMENT CHARACTER}"
    return char


def with_short_numbers(text: str) -> str:
    """Return the text with every number of more than 60 digits shortened, its digits counted.

    >>> with_short_numbers("not 1/" + "9" * 100)
    'not 1/99999999999999999999...99999999999999999999 (100 digits)'
    """
    return re.sub(r"\d{61,}", lambda n: f"{n[0][:20]}...{n[0][-20:]} ({len(n[0])} digits)", text)
