"""The LALR(1) machine: tokens in, the surface tree out, and recovery from syntax errors.

The machine is the textbook one (Aho, Lam, Sethi, Ullman, Compilers, 2006, section 4.5): a stack of
states, one table lookup for each shift or reduction, no recursion, so no depth of text can
exhaust Python's stack. Steps `A -> B` that build nothing only change the topmost state.

Recovery is panic mode. Where no action is possible the mistake is described, the stack is cut back
to the nearest list (of statements, rows, questions, items) that can go on with the next token
that looks like the start of an element or the end of a block, and what lies between is skipped.
A list is cut back to only if it accepts that token, so every recovery makes progress.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from dpcheck.diagnostics.syntax import Misplaced
from dpcheck.parse import tables
from dpcheck.parse.build import Builder, builder_of
from dpcheck.parse.tokens import (
    BAD,
    CHAIN_WORDS,
    END,
    ITEM_WORDS,
    MECHANISM_WORDS,
    STATEMENT_WORDS,
    Token,
    begins_line,
)
from dpcheck.source import SourceText, Span

LISTS = ("items", "questions", "mechanism_items", "statements", "chain_items", "rows")
"""The rules to whose elements recovery returns."""

ELEMENT_STARTS = STATEMENT_WORDS | MECHANISM_WORDS | CHAIN_WORDS | {"PATTERN_OPEN"}

AFTER_PLACE = frozenset({"ASSIGN", "TILDE", "EQ", "OPEN_BRACKET", "ARROW"})


class Rule(NamedTuple):
    """One rule: its name, its length, what builds its value, and the positions that it reads."""

    origin: str
    length: int
    function: str
    kept: tuple[int, ...]


class Rows(dict[int, dict[str, int]]):
    """The row of every state, read from the tables when the state is first entered."""

    def __init__(self) -> None:
        """Keep the lines; nothing is read yet."""
        super().__init__()
        self.lines = tables.ROWS

    def __missing__(self, state: int) -> dict[str, int]:
        """Read a row."""
        parts = self.lines[state].split()
        row = dict(zip(parts[::2], map(int, parts[1::2]), strict=True))
        self[state] = row
        return row


ROWS = Rows()


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules by their numbers."""
    found = []
    for line in tables.RULES:
        origin, length, function, *kept = line.split(" ")
        found.append(Rule(origin, int(length), function, tuple(map(int, kept))))
    return tuple(found)


@cache
def _builders() -> tuple[tuple[Rule, Callable[..., object] | None], ...]:
    """Return every rule with what makes its value."""
    return tuple(
        (rule, None if rule.function == "-" else builder_of(rule.function)) for rule in rules()
    )


@cache
def _passed(below: int, state: int, kind: str) -> int:
    """Return the state in which steps `A -> B` that build nothing end before a token.

    The steps from an operand up to the whole expression are most of all steps.
    """
    action = ROWS[state].get(kind, 0)
    if action >= 0:
        return state
    origin, length, function, _ = rules()[-action - 1]
    if length != 1 or function != "-":
        return state
    return _passed(below, ROWS[below][origin], kind)


@cache
def list_states() -> frozenset[int]:
    """Return the states that stand in a list, ready for its next element."""
    every = [ROWS[state] for state in range(len(ROWS.lines))]
    return frozenset(row[name] for row in every for name in LISTS if name in row)


class Machine:
    """One run of the automaton over the tokens of one text."""

    def __init__(self, tokens: list[Token], source: SourceText, start: str) -> None:
        """Stand before the first token."""
        self.tokens = tokens
        self.source = source
        self.builder = Builder(source)
        self.rows, self.rules = ROWS, rules()
        self.end_state = tables.END_STATES[start]
        self.states = [tables.START_STATES[start]]
        self.values: list[object] = []
        self.firsts: list[int] = []  # of each value, the index of its first token
        self.position = 0
        self.recovered_at = -1
        self.openers: list[int | None] | None = None
        # The states that reductions took away since the last shift: a merged lookahead may reduce
        # before it fails, and messages list what could come before that.
        self.reduced: list[list[int]] = []

    def run(self) -> object | None:
        """Return the value of the start symbol, or None if nothing could be saved."""
        builders = _builders()
        tokens, rows, source, builder = self.tokens, self.rows, self.source, self.builder
        states, values, firsts, reduced = self.states, self.values, self.firsts, self.reduced
        end_state = self.end_state
        while True:
            token = tokens[self.position]
            kind = token.type
            action = rows[states[-1]].get(kind)
            if action is None:
                if not self._recover():
                    return None
            elif action >= 0:
                states.append(action)
                values.append(token)
                firsts.append(self.position)
                self.position += 1
                reduced.clear()
            else:
                (origin, length, _, kept), build = builders[-action - 1]
                reduced.append(states[-length:] if length else [])
                if length == 1 and build is None:
                    states[-1] = _passed(states[-2], rows[states[-2]][origin], kind)
                else:
                    first = firsts[-length] if length else self.position
                    if build is None:
                        value = values[kept[0] - length]
                    else:
                        start = tokens[first].start
                        end = tokens[self.position - 1].end if length else start
                        span = Span(source, start, end)
                        value = build(builder, span, *[values[i - length] for i in kept])
                    if length:
                        del states[-length:], values[-length:], firsts[-length:]
                    states.append(rows[states[-1]][origin])
                    values.append(value)
                    firsts.append(first)
                if states[-1] == end_state and kind == END:
                    return values[0]

    # --- recovery ----------------------------------------------------------------------------

    def _recover(self) -> bool:
        """Report the mistake at this token and find a way on; False if there is none."""
        token = self.tokens[self.position]
        accepts = self._accepts()
        if token.type == "ARG_NAME" and accepts("NAME"):
            self.tokens[self.position] = token._replace(type="NAME")
            return True
        if self._ends_element():
            end = self.tokens[self.position - 1].end
            self.tokens.insert(self.position, Token("SEMICOLON", ";", end, end))
            self.openers = None
            return True
        skipped = self.position == self.recovered_at
        resumed = False
        if token.type != BAD and not skipped:
            from dpcheck.parse.explain import innermost_openers, mistake_at

            if self.openers is None:
                self.openers = innermost_openers(self.tokens)
            opener = self.openers[self.position]
            found = mistake_at(self.tokens, self.position, opener, self.source, accepts)
            self.builder.mistakes.append(found.mistake)
            if found.substitute is not None:
                self.tokens[self.position] = token._replace(type=found.substitute)
                return True
            skipped = isinstance(found.mistake, Misplaced)
            if found.is_before and begins_line(self.tokens, self.position, self.source):
                resumed = self._resume(self.position, self._lists())
        resumed = resumed or self._cut_back(self.position + skipped)
        if resumed:  # the element that goes on here is not spoiled, what holds the mistake is
            self.builder.spoil(min(token.start, self.tokens[self.position].start - 1))
        return resumed

    def _ends_element(self) -> bool:
        """Return whether what was read is complete without this token, which opens a new line.

        The element before a stray bracket or statement is then kept.
        """
        before = self.tokens[self.position - 1].type if self.position else BAD
        if before == "SEMICOLON" or self._in_list():
            return False
        if before != "CLOSE_BRACE" and not begins_line(self.tokens, self.position, self.source):
            return False
        return _shifts(tuple(self.states), "SEMICOLON", self.end_state)

    def _in_list(self) -> bool:
        return self.states[-1] in list_states() or any(
            name in self.rows[self.states[-1]] for name in LISTS
        )

    def _cut_back(self, start: int) -> bool:
        """Go on at the first token, from `start` on, at which a list can."""
        lists = self._lists()
        if not lists:
            return False
        opened = 0  # braces opened since
        inherited = self._open_braces(lists[0][0])
        for i in range(start, len(self.tokens)):
            kind = self.tokens[i].type
            may = kind == END or self._is_item(i) or (not opened and self._may_resume(i, inherited))
            if may and self._resume(i, lists):
                return True
            if kind == "OPEN_BRACE":
                opened += 1
            elif kind == "CLOSE_BRACE" and opened:
                opened -= 1
            elif kind == "CLOSE_BRACE":
                inherited = max(0, inherited - 1)
        return False

    def _accepts(self) -> Callable[[str], bool]:
        """Return what tells which types of token could follow the last one shifted."""
        states = list(self.states)
        for taken in reversed(self.reduced):
            states[-1:] = taken
        stack = tuple(states)
        return lambda kind: _shifts(stack, kind, self.end_state)

    def _lists(self) -> list[tuple[int, int]]:
        """Return the lists to which the stack can be cut back, innermost first.

        Each as the number of states to keep, and the state in which the list stands: the topmost
        one kept, or one to add for a list that has no elements yet.
        """
        found = []
        for size in range(len(self.states), 0, -1):
            state = self.states[size - 1]
            if state in list_states():
                found.append((size, state))
            else:
                row = self.rows[state]
                found += [(size, row[name]) for name in LISTS if name in row]
        return found

    def _resume(self, i: int, lists: list[tuple[int, int]]) -> bool:
        """Cut back to the innermost list that can go on with token i, if there is one."""
        kind = self.tokens[i].type
        for size, state in lists:
            if kind not in self.rows[state]:
                continue
            empty = self.states[size - 1] != state
            del self.states[size:], self.values[size - 1 :], self.firsts[size - 1 :]
            if empty:
                self.states.append(state)
                self.values.append([])
                self.firsts.append(i)
            self.position = self.recovered_at = i
            return True
        return False

    def _open_braces(self, size: int) -> int:
        """Return how many `{` stand open between the innermost list and this token."""
        first = self.firsts[size - 1] if size - 1 < len(self.firsts) else self.position
        kinds = [token.type for token in self.tokens[first : self.position]]
        return max(0, kinds.count("OPEN_BRACE") - kinds.count("CLOSE_BRACE"))

    def _may_resume(self, i: int, inherited: int) -> bool:
        """Return whether token i looks like the start of an element, or the end of a block."""
        kind = self.tokens[i].type
        if kind == "SEMICOLON" or (kind == "CLOSE_BRACE" and inherited == 0):
            return True
        if not begins_line(self.tokens, i, self.source):
            return False
        if kind in ELEMENT_STARTS:
            return True
        return kind in ("NAME", "STRING") and self.tokens[i + 1].type in AFTER_PLACE

    def _is_item(self, i: int) -> bool:
        """Return whether token i begins a top-level item, and so ends whatever was open."""
        if self.tokens[i].type not in ITEM_WORDS:
            return False
        return begins_line(self.tokens, i, self.source) or self.tokens[i - 1].type in (
            "SEMICOLON",
            "CLOSE_BRACE",
        )


@lru_cache(maxsize=4096)
def _shifts(stack: tuple[int, ...], kind: str, end_state: int) -> bool:
    """Return whether reductions of the stack lead to a shift of that type.

    Every type is asked for at each mistake, and mistakes repeat.
    """
    states = list(stack)
    while True:
        action = ROWS[states[-1]].get(kind)
        if action is None or action >= 0:
            return action is not None
        origin, length, _, _ = rules()[-action - 1]
        if length:
            del states[-length:]
        states.append(ROWS[states[-1]][origin])
        if kind == END and states[-1] == end_state:
            return True
