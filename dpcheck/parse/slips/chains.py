"""Slips in relations of neighbors, in chains and mechanisms, and comments of other languages."""

from __future__ import annotations

import re

from dpcheck.diagnostics import syntax
from dpcheck.parse.slips.blocks import is_statement
from dpcheck.parse.slips.reader import Edit, Reader, Slip
from dpcheck.parse.tokens import BLOCK_HEADS, CLOSERS
from dpcheck.source import Span


def empty_adjacent(r: Reader, i: int) -> Slip | None:
    """Say what may stand after an `adjacent` of a mechanism with nothing on its line."""
    brace, after = r.blocks[i], i + 1
    if brace is None or r.type(r.line_firsts[brace]) != "MECHANISM" or not r.is_first[after]:
        return None
    if not (is_statement(r, after) or r.type(after) in CLOSERS | BLOCK_HEADS | {"INPUT", "VAR"}):
        return None
    example = _example_of_adjacency(r, brace, i)
    wanted, edit = "which inputs are neighbors", f"write `adjacent {example}`"
    mistake = syntax.Unexpected(r.span(i, i), (wanted,), "the end of the line", edit)
    return Slip(mistake, (r.after(i, " all"),))


def _example_of_adjacency(r: Reader, brace: int, i: int) -> str:
    """Return a condition for the first input of numbers in a mechanism, `all` if there is none."""
    for k in range(brace, r.partners.get(brace, i)):
        if r.type(k) == "INPUT" and r.type(k + 3) == "NUMBER":
            is_array, name = r.type(k + 2) == "OPEN_BRACKET", r.text(k + 1)
            return f"linf({name}, {name}') <= 1" if is_array else f"abs({name} - {name}') <= 1"
    return "all"


def states_of_mechanism(r: Reader, i: int) -> Slip | None:
    """`adjacent x ~ x'`, as in a chain, says in a mechanism which inputs are neighbors."""
    brace = r.blocks[i]
    if brace is None or r.type(r.line_firsts[brace]) != "MECHANISM" or r.type(i + 1) != "PRIMED":
        return None
    if r.type(i - 2) != "ADJACENT" or r.text(i + 1) != f"{r.text(i - 1)}'":
        return None
    example = _example_of_adjacency(r, brace, i)
    why = "" if example == "all" else "or `adjacent all`"
    return r.slip(i - 2, i + 1, r.put(i - 1, example, i + 1), why=why)


def bare_neighbors(r: Reader, i: int) -> Slip | None:
    """`s ~ t` in a chain is `adjacent s ~ t`."""
    block = r.blocks[i]
    if block is None or r.type(r.line_firsts[block]) != "CHAIN" or not r.is_first[i - 1]:
        return None
    return r.slip(i - 1, i + 1, r.before(i - 1, "adjacent "))


def dash_comment(r: Reader, i: int) -> Slip | None:
    """`-- a comment`, and `% a comment` at the start of a line."""
    start = r.tokens[i].start
    match = re.compile(r"((?<!\S)--(?=\s)|%).*").match(r.source.text, start)
    if match is None or (match[1] == "%" and not r.is_first[i]):
        return None
    place = Span(r.source, start, start + len(match[1]))
    return Slip(syntax.SlashComment(place, match[1]), (Edit(*match.span(), ""),))
