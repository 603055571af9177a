"""What a mistake advises, done to the text as a program would: for tests of the help."""

from __future__ import annotations

import re


def after_advice(text, mistake):
    """Return the text after what the help of a mistake says, taken literally.

    "write `a`" puts a in place of what is marked; "and, after line n, `b`" also adds a line with b;
    "declare `param a in b`" does so where a is declared; "`a` in place of the last one, `b`" in the
    marked place, "ask about one value: `a` after `b`", or "in place of `b`", in its line;
    "move lines i to j above line k" moves them; "leave it out" is about what is marked.
    """
    span, advice = mistake.span, mistake.help
    if advice == "leave it out":
        return text[: span.start] + text[span.end :]
    declared = re.match(r"declare `(param (\w+) in [^`]*)`$", advice)
    if declared:
        return re.sub(rf"^param {declared[2]} .*$", declared[1], text, flags=re.MULTILINE)
    last = re.match(r"`([^`]*)` in place of the last one, `([^`]*)`", advice)
    if last:
        start = text.rindex(last[2], span.start, span.end)
        return text[:start] + last[1] + text[start + len(last[2]) :]
    part = re.search(r"ask about one value: `([^`]*)` (after|in place of) `([^`]*)`$", advice)
    if part:
        put, where, old = part.groups()
        start = text.index(old, text.rindex("\n", 0, span.start))
        kept = f"{old} " if where == "after" else ""
        return text[:start] + kept + put + text[start + len(old) :]
    written = re.match(r"write `([^`]*)`(?: and, after line (\d+), `([^`]*)`)?", advice)
    if written:
        put, line, added = written.groups()
        text = text[: span.start] + put + text[span.end :]
        lines = text.split("\n")
        if line:
            lines.insert(int(line), added)
        return "\n".join(lines)
    moved = re.match(r"move lines? (\d+)(?: to (\d+))? above line (\d+)", advice)
    assert moved, f"no program can follow {advice!r}"
    first, last, target = (int(n or moved[1]) for n in moved.groups())
    lines = text.split("\n")
    taken = lines[first - 1 : last]
    rest = lines[: first - 1] + lines[last:]
    return "\n".join(rest[: target - 1] + taken + rest[target - 1 :])
