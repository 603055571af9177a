"""Surface expressions as text: in the user's own words with names filled in, on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dpcheck.model import surface, trees
from dpcheck.model.words import OPERATOR_WORDS


def written_text(
    node: surface.Expression | surface.Argument | surface.Target, texts: Mapping[str, str]
) -> str:
    """Return what the user wrote, on one line without comments, with texts for free names.

    A text that is more than one word or number gets parentheses unless it stands between
    brackets, commas or relation signs.
    """
    source, start, end = node.span.source.text, node.span.start, node.span.end
    parts = []
    for name in sorted(free_names(node), key=lambda name: name.span.start):
        if name.name not in texts:
            continue
        text = texts[name.name]
        before = source[: name.span.start].rstrip()[-1:] if start < name.span.start else ""
        after = source[name.span.end :].lstrip()[:1] if name.span.end < end else ""
        if not re.fullmatch(r'\w+|"[^"]*"', text) and not _stands_alone(before, after):
            text = f"({text})"
        parts += [one_line(source[start : name.span.start]), text]
        start = name.span.end
    parts.append(one_line(source[start:end]))
    return "".join(parts)


def free_names(node: object) -> Iterator[surface.Name]:
    """Yield the names in a tree that it does not bind; a symbol in quotes is no name."""
    match node:
        case surface.Name(name, primed=False, quoted=quoted) if (
            not quoted or name in OPERATOR_WORDS
        ):
            yield node
        case surface.Binder() | surface.WeightedBranches():
            for part in trees.parts(node):
                bound = None if part is node.domain else node.variable.name
                yield from (free for free in free_names(part) if free.name != bound)
        case _:
            for part in trees.parts(node):
                yield from free_names(part)


def _stands_alone(before: str, after: str) -> bool:
    """Return whether the characters around a name separate it from everything."""
    return (not before or before in "([{,:=<>") and (not after or after in ")]},:=<>")


def one_line(text: str) -> str:
    """Return text without comments, every run of white space outside of quotes one space."""

    def shown(match: re.Match[str]) -> str:
        return match.group() if match.group().startswith('"') else " "

    return re.sub(r'"[^"\n]*"|(?:\s|#[^\n]*)+', shown, text)
