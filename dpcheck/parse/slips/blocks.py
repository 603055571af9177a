"""Slips in statements and their blocks: `if c:`, `repeat ... until`, `output x, y`."""

from __future__ import annotations

from dpcheck.diagnostics import syntax
from dpcheck.parse.slips.reader import LINE_WORDS, NAMES, OPENERS, Edit, Reader, Slip
from dpcheck.parse.slips.vocabulary import AT_TOP_LEVEL, ELSE_IF
from dpcheck.parse.tokens import BLOCK_HEADS, CLOSERS, END, QUESTION_WORDS


def indented_block(r: Reader, i: int) -> Slip | None:
    """`if c:` before an indented block, or before a statement on its line."""
    head = r.line_firsts[i]
    is_word = r.text(head) in ELSE_IF or AT_TOP_LEVEL.get(r.text(head)) in ("fun", "mechanism")
    if r.type(head) not in BLOCK_HEADS | {"FORALL"} and not is_word:
        return None
    before = range(head + 1, i)
    if any(r.type(k) in OPENERS and r.partners.get(k, i) >= i for k in before):
        return None
    if any(r.type(k) in QUESTION_WORDS | {"EXISTS", "FORALL"} for k in before):
        return None
    colon = r.after(i - 1, " {", i)
    if not r.is_first[i + 1]:
        if r.type(i + 1) not in LINE_WORDS | NAMES | QUESTION_WORDS:
            return None
        last = r.part_ends[i]
        return r.slip(i - 1, last, colon, r.after(last, " }"))
    after = i + 1
    while r.type(after) != END and (not r.is_first[after] or r.column(after) > r.column(head)):
        after += 1
    if after == i + 1:
        return None
    last_line = r.lines[after - 1]
    mistake = syntax.IndentedBlock(r.span(i, i), r.text(head), last_line)
    return Slip(mistake, (colon, r.after(after - 1, "\n}")))


def is_statement(r: Reader, i: int) -> bool:
    """Return whether token i begins a statement of one line."""
    assigns = r.type(i) in NAMES and r.type(i + 1) in ("ASSIGN", "TILDE")
    return r.type(i) in LINE_WORDS or assigns or r.text(i) in ("return", "print")


def else_alone(r: Reader, i: int) -> Slip | None:
    """`else` before the `}` of its `if`."""
    brace = r.blocks[i]
    if r.type(i - 1) == "CLOSE_BRACE" or brace is None or r.type(r.line_firsts[brace]) != "IF":
        return None
    if r.lines[brace] == r.lines[i]:
        is_expression = any(r.type(k) in ("IF", "THEN") for k in range(brace, i))
        is_closed = r.lines[r.partners.get(brace, -1)] == r.lines[i]
        if is_expression or is_closed or r.type(i + 1) not in ("OPEN_BRACE", "IF"):
            return None
    elif r.column(r.line_firsts[brace]) != r.column(i):
        return None
    place = r.span(brace, brace)
    mistake = syntax.UnclosedBracket(r.span(i, i), place, "}", "`if`", "`else`", "} else")
    return Slip(mistake, (r.before(i, "} "),))


def repeated(r: Reader, i: int) -> Slip | None:
    """`repeat { ... } until c` is `while true { ... if c { break } }`; so is `do { ... } while`."""
    close = r.partners.get(i + 1, -1)
    word, last = r.text(close + 1), r.part_ends[close + 1]
    is_loop = r.type(i + 1) == "OPEN_BRACE" and r.text(i) in ("repeat", "do")
    is_test = word in ("until", "while") and close + 1 < last and r.type(last) != "CLOSE_BRACE"
    if not is_loop or not is_test:
        return None
    condition = r.span(close + 2, last).text
    test = condition if word == "until" else f"!({condition})"
    return r.slip(i, last, r.put(i, "while true"), r.put(close, f"if {test} {{ break }} }}", last))


def inner_item(r: Reader, i: int) -> Slip | None:
    """`fun`, `const`, `check` inside of a mechanism: they belong outside."""
    brace = r.blocks[i]
    if brace is None:
        return None
    head, close = r.line_firsts[brace], r.partners.get(brace, len(r.tokens) - 1)
    if r.type(head) not in ("MECHANISM", "CHAIN") or not r.is_first[i]:
        return None
    if r.column(i) <= r.column(head) or r.blocks[brace] is not None:
        return None
    after = i + 1
    while after < close and (not r.is_first[after] or r.column(after) > r.column(i)):
        after += 1
    start, end = r.tokens[i].start, r.tokens[after - 1].end
    home = f"at the top level of the file, outside of the {r.text(head)}"
    mistake = syntax.Misplaced(
        r.span(i, i), r.text(i), home, (r.lines[i], r.lines[after - 1], r.lines[head])
    )
    text, target = r.source.text[start:end], r.tokens[head].start
    # The line break keeps the item on lines of its own; it comes from nowhere.
    moved = Edit(target, target, text, start), Edit(target, target, "\n")
    return Slip(mistake, (Edit(start, end, ""), *moved))


def output(r: Reader, i: int) -> Slip | None:
    """`output x, y` is `output (x, y)`; `output = x` is `output x`; `output ~ d` needs a name."""
    if r.blocks[i] is None or not r.begins_element(i):
        return None
    if r.type(i + 1) == "TILDE":
        taken = {token.text for token in r.tokens}
        name = next(name for name in ("y", "z", "shown", "what_is_shown") if name not in taken)
        return r.slip(i, r.part_ends[i], r.put(i, name), r.after(r.part_ends[i], f" output {name}"))
    if r.type(i + 1) in ("EQ", "ASSIGN"):
        return r.slip(i, i + 1, r.after(i, "", i + 1))
    end = r.part_ends[i]
    depth = 0
    for k in range(i + 1, end + 1):
        depth += (r.type(k) in OPENERS) - (r.type(k) in CLOSERS)
        if r.type(k) == "COMMA" and depth == 0:
            return r.slip(i, end, r.before(i + 1, "("), r.after(end, ")"))
    return None
