"""Answers as text: grouped by target, one line a claim, more where there is more to know.

survey.dpm

  survey  for x in {pos, neg} · adjacent all · 2 states, 1 neighbor pair
    ✓ check   dp(ln 3)         holds
    ✓ refute  dp(ln 2)         violated, as claimed: Y has 3/4 = 0.75 from x = pos, ...
    · compute epsilon          ln(3) ≈ 1.098612
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import assert_never

from dpcheck.check.values import verdicts
from dpcheck.report import notation
from dpcheck.report.answers import OPTIONS, Answer, Asked, Change, Crash, Summary
from dpcheck.report.characters import visible, width
from dpcheck.report.styled import WIDTH, Line, Piece, Role, laid_out, line, plain
from dpcheck.report.tables import (
    Row,
    aligned_lines,
    beside_text,
    piece_lines,
    row_lines,
    table_lines,
)

_CLAIM_COLUMN = 44  # longer claims push their verdict to the right
_HANG = 8
"""Columns before the second line of a claim."""
_INTERVALS_SHOWN = 6
"""Intervals of a parameter that are shown."""
_SITUATIONS_TOLD = 6
"""Of more situations of an analyst, those are told in which something else is asked than before."""
_CRASHES_SHOWN = 3
"""Internal errors that are shown in full."""


class AnswerLines:
    """Lines for the answers of one file, each as soon as it is known, in the order of the file.

    With `only_wrong`, claims that came out as written are left out, computed values kept. Every
    head says what the verdicts below it cover.
    """

    def __init__(self, asked: Sequence[Asked], *, only_wrong: bool) -> None:
        """Take all claims of the file: they say how wide those about one target are."""
        self._only_wrong = only_wrong
        self._groups = groupby(asked, key=lambda each: each.target)
        self._shown: Answer | None = None
        self._head: Answer | None = None  # what the head above the next claims was made of
        self._column = 0

    def add(self, answer: Answer) -> Iterator[Line]:
        """Yield the lines of an answer, below those of the file and the target where they begin."""
        if self._only_wrong and not _is_worth_saying(answer):
            return
        last, self._shown = self._shown, answer
        if last is None:
            yield line(Piece(visible(answer.file), "strong"))
        if last is None or last.target != answer.target:
            self._column = self._next_column(answer.target)
            self._head = answer
            yield line()
            yield _heading(answer)
        yield from _answer(answer, _claim_text(answer), self._column)
        yield from self._own_pairs(answer)

    def end(self) -> Iterator[Line]:
        """Yield what stands between this file and the next."""
        if self._shown is not None:
            yield line()

    def _own_pairs(self, answer: Answer) -> Iterator[Line]:
        """Yield how many neighbors a claim was about, by `at`, if others are told above it."""
        assert self._head is not None, "a head stands above each claim"
        pairs, above = _counts(answer)[1:], _counts(self._head)[1:]
        if answer.is_about_pairs and pairs and pairs != above:
            yield from row_lines([Row("covers", pairs[0], "faint")])
            if answer.at is None:  # these are all that the target has
                self._head = answer

    def _next_column(self, target: str) -> int:
        """Return how wide the next claims about a target are, but for those that are very wide."""
        members = next(group for name, group in self._groups if name == target)
        return min(max(width(_claim_text(each)) for each in members), _CLAIM_COLUMN)


def answer_text(answer: Answer) -> str:
    """Return all that is said of a claim below its target, as away from a terminal."""
    lines = [_heading(answer), *_answer(answer, _claim_text(answer), 0)]
    rows = (plain(row) for each in lines for row in laid_out(each, WIDTH))
    return "\n".join(row.removeprefix("  ") for row in rows)


def _is_worth_saying(answer: Answer) -> bool:
    differs = answer.opinion is not None and answer.opinion.word == "differs"
    return not answer.is_ok or answer.kind == "compute" or differs


def _heading(first: Answer) -> Line:
    """Return the target of an answer, what every verdict below it covers, and its own counts."""
    facts = [*first.covers, *_counts(first)]
    if first.at is not None and len(_counts(first)) > 1:
        facts[-1] += f" at {first.at}"
    said = Piece(" · ".join(notation.shortened(visible(text)) for text in facts), "faint")
    return line("  ", Piece(visible(first.target), "strong"), "  ", said, hang=_HANG)


def _counts(answer: Answer) -> list[str]:
    """Return how many states a finished chain has, and how many pairs were looked at.

    Where data are drawn, these are pairs of secrets. A claim that compares none is `at` states.
    """
    if answer.n_states is None:
        return []
    if answer.at is not None and not answer.is_about_pairs:
        return [notation.counted(answer.n_states, "state")]
    n_pairs = answer.outcome.neighbor_pairs
    pairs = notation.counted(n_pairs, "neighbor pair")
    if any(fact.startswith("prior ") for fact in answer.covers):
        pairs = f"{notation.counted(n_pairs, 'pair')} of secrets"
    return [notation.counted(answer.n_states, "state"), pairs]


def _claim_text(answer: Asked) -> str:
    name = "" if answer.name is None else f'"{answer.name}" '
    where = "" if answer.at is None else f"at {answer.at}: "
    return f"{answer.kind:<7} {visible(name)}{notation.shortened(visible(where + answer.claim))}"


def _answer(answer: Answer, claim: str, column: int) -> Iterator[Line]:
    """Yield the line of a claim and whatever must stand below it."""
    symbol, role = _symbol(answer)
    gap = " " * max(2, column - width(claim) + 2)
    lead: tuple[Piece | str, ...] = ("    ", Piece(symbol, role), " ", claim, gap)
    verdict = answer.outcome.verdict
    place = None if answer.is_ok else Piece(visible(f"{answer.file}:{answer.line}"), "faint")
    said = partial(line, *lead, hang=width(symbol + claim + gap) + 5, place=place)
    match verdict:
        case verdicts.Holds():
            word = "holds" if answer.is_as_claimed else "holds, yet it is to be refuted"
            yield said(Piece(word, role), *_quantity(answer), *_values(answer), *_beside(answer))
        case verdicts.Value(amount=amount, table=None):
            number = Piece(notation.amount_text(amount), "number")
            yield said(number, Piece(asked_text(answer), "faint"), *_beside(answer))
        case verdicts.Value(table=table):
            assert table is not None, "the case before has no table"
            yield said(Piece(notation.counted(len(table.rows), "row"), "number"), *_beside(answer))
            yield from _table(answer, table)
        case verdicts.Violated(counterexample=counterexample) if answer.is_as_claimed:
            quantity = _quantity(answer)
            why = "" if quantity and not counterexample.probabilities else in_short(counterexample)
            words = (*_values(answer), *quantity, f": {why}" if why else "")
            yield said(Piece("violated, as claimed", role), *words)
        case verdicts.Violated(counterexample=counterexample):
            yield said(Piece("violated", role), *_quantity_shown(answer), *_beside(answer))
            from dpcheck.explain.explanation import as_found
            from dpcheck.report.explained.lines import explanation_rows

            explained = explanation_rows(
                answer.explanation or as_found(counterexample), answer.file
            )
            yield from row_lines([*_value_rows(answer), *explained])
        case verdicts.Undecided():
            yield said(Piece("undecided", role), f": {notation.shortened(visible(verdict.reason))}")
            yield from undecided_lines(verdict)
        case _ as never:
            assert_never(never)
    yield from _remarks(answer)


def _remarks(answer: Answer) -> Iterator[Line]:
    """Yield what stands below a verdict of any kind: a strategy, vacuity, a second opinion."""
    if answer.outcome.strategy is not None and not (answer.is_ok and answer.kind == "refute"):
        yield from row_lines([*_strategy_rows(answer.outcome.strategy)])
    for reason in answer.outcome.vacuity:
        tone: Role = "bad" if answer.is_strict else "unsure"
        yield line("        ", Piece("vacuous: ", tone), visible(reason.text), hang=8 + 9)
    if (opinion := answer.opinion) is not None:
        tone = "bad" if opinion.word == "differs" else "faint"
        told = Piece(f"{opinion.word}: {notation.shortened(visible(opinion.text))}", tone)
        yield line("        ", Piece("second opinion  ", "faint"), told, hang=8 + 16)


def _table(answer: Answer, table: verdicts.Table) -> Iterator[Line]:
    """Yield a table; of pieces over a parameter, whole expressions and what their ends are."""
    known = answer.outcome.all_values
    if known is None or not known.pieces:
        yield from table_lines(table, "        ")
        return
    yield from piece_lines(table, "        ")
    yield from row_lines([Row("where", text, "faint") for text in roots(known)])


def _symbol(answer: Answer) -> tuple[str, Role]:
    if answer.is_undecided:
        return "?", "unsure"
    if not answer.is_ok:
        return "✗", "bad"
    return ("·", "plain") if answer.kind == "compute" else ("✓", "good")


def quantity_text(answer: Answer) -> str:
    """Return what the quantity of a claim is, where there is one to be told."""
    verdict = answer.outcome.verdict
    known = answer.outcome.all_values
    if known is not None and isinstance(verdict, verdicts.Value) and verdict.table is not None:
        pieces = [(notation.expression_text(p.text), p.interval.text) for p in known.pieces]
        if pieces:
            return notation.shortened(", ".join(f"{text} in {where}" for text, where in pieces))
    if isinstance(verdict, verdicts.Value):
        return notation.amount_text(verdict.amount) if verdict.table is None else "a table"
    return "".join(piece if isinstance(piece, str) else piece.text for piece in _quantity(answer))


def _quantity(answer: Answer) -> tuple[Piece | str, ...]:
    """Return what the quantity of a comparison is, where it is not just what was claimed."""
    value = answer.outcome.value
    if value is None or isinstance(answer.outcome.verdict, verdicts.Value):
        return ()
    if isinstance(answer.outcome.verdict, verdicts.Holds) and _compact(answer.claim).endswith(
        "=" + _compact(value.exact)
    ):
        return ()
    name = "epsilon" if answer.claim.startswith("dp(") else "it"
    return (f": {name} is ", Piece(notation.amount_text(value), "number"))


def _quantity_shown(answer: Answer) -> tuple[Piece | str, ...]:
    """Return what the quantity is, and at which value of a parameter it was looked at."""
    quantity, known = _quantity(answer), answer.outcome.all_values
    if not quantity or known is None or known.sample is None:
        return quantity
    return (*quantity, f" at {known.param} = {known.sample}")


def _values(answer: Answer) -> tuple[Piece, ...]:
    known = answer.outcome.all_values
    if known is None:
        return ()
    return (Piece(values_text(answer), "plain" if known.fails_for else "faint"),)


def values_text(answer: Answer) -> str:
    """Return for which values of a parameter a claim holds, or fails and where that is shown."""
    known = answer.outcome.all_values
    if known is None or isinstance(answer.outcome.verdict, verdicts.Value):
        return ""
    if not known.fails_for:
        return asked_text(answer)
    failing = f" for {_values_that_fail(known)}"
    if known.sample is not None:
        return f"{failing}, at {known.sample}"
    ends = " and ".join(roots(known))
    return f"{failing}, where {ends}" if ends else failing


def asked_text(answer: Answer) -> str:
    """Return for which values of a parameter a claim was asked, if it depends on one."""
    known = answer.outcome.all_values
    if known is None:
        return ""
    if known.asked.startswith("{") and " and " not in known.asked:
        return f" for {known.param} = {known.asked[1:-1]}"
    return f" for all {known.param} in {known.asked}"


def _values_that_fail(known: verdicts.AllValues) -> str:
    texts = [interval.text for interval in known.fails_for[:_INTERVALS_SHOWN]]
    n_more = len(known.fails_for) - len(texts)
    more = f" and {n_more} more" if n_more else ""
    least = "" if known.is_exact else " at least"
    asked = ""
    if known.is_part:
        are_all = " and ".join(each.text for each in known.fails_for) == known.asked
        asked = ", all asked" if are_all else f", asked for {known.asked}"
    return f"{known.param} in {' and '.join(texts)}{more}{least}{asked}"


def _values_that_hold(known: verdicts.AllValues) -> str:
    """Return for which values a claim holds that may fail for more than is told, rounded inward."""
    inside = [] if known.is_exact else [each.inside for each in known.holds_for]
    texts = [each.claimed for each in inside if each is not None]
    n_more = len(texts) - _INTERVALS_SHOWN
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{known.param} in {' and '.join(texts[:_INTERVALS_SHOWN])}{more}" if texts else ""


def _value_rows(answer: Answer) -> list[Row]:
    """Return the exact set of values for which a claim fails, and which one is shown."""
    known = answer.outcome.all_values
    if known is None:
        return []
    rows = [Row("for", _values_that_fail(known), "number")]
    rows += [Row("where", text, "faint") for text in roots(known)]
    if holding := _values_that_hold(known):
        rows.append(Row("holds for", holding))
    if known.sample is not None:
        rows.append(Row("shown at", f"{known.param} = {known.sample}"))
    return rows


def roots(known: verdicts.AllValues) -> list[str]:
    """Return what the irrational ends of the set, or of the pieces, are."""
    intervals = *known.fails_for, *(piece.interval for piece in known.pieces)
    found = dict.fromkeys(
        (text, end.equation)
        for interval in intervals
        for text, end in zip(interval.end_texts, (interval.low, interval.high), strict=True)
        if end.equation is not None
    )
    return [f"{text} is a root of {notation.expression_text(root)}" for text, root in found]


def _beside(answer: Answer) -> tuple[Piece, ...]:
    """Return what stands beside a verdict, without the states that an explanation names."""
    is_told = answer.explanation is not None
    shown = [each for each in answer.outcome.beside if not (is_told and each.names_states)]
    return (Piece(beside_text(shown), "faint"),)


def _compact(text: str) -> str:
    """Return an expression without spaces, `ln 3` with brackets.

    >>> _compact("epsilon <= ln 3 + 1/2")
    'epsilon<=ln(3)+1/2'
    """
    return re.sub(r"\bln (\d+)", r"ln(\1)", text).replace(" ", "")


def undecided_lines(verdict: verdicts.Undecided, indent: int = 8) -> Iterator[Line]:
    """Yield what stands below an undecided claim: how far the work got, and what to raise."""
    option = OPTIONS.get(verdict.limit.kind)
    advice = verdict.limit.advice or (f"raise `{option}`" if option else "")
    shown_by = notation.phrase_text(verdict.bounds.shown_by) if verdict.bounds is not None else ""
    rows = [
        Row("so far", notation.phrase_text(verdict.progress)),
        Row("shown by", shown_by),
        Row("help", notation.shortened(visible(advice))),
    ]
    yield from row_lines([row for row in rows if row.text], indent)


# --- counterexamples -----------------------------------------------------------------------


def in_short(found: verdicts.Counterexample) -> str:
    """Return a counterexample in one line, for a claim that was to be refuted."""
    states = [notation.shortened(visible(state)) for state in found.states]
    sides = [
        f"{_chance_text(amount)} from {state}"
        for state, amount in zip(states, found.probabilities, strict=False)
    ]
    if not sides:
        said = notation.requirement_text(found.requirement, found.sides)
        return said or " and ".join(states)
    event = notation.event_text(found.event)
    has = "have" if " output sequences " in event else "has"
    return f"{event} {has} {', '.join(sides)}"


def _chance_text(amount: verdicts.Amount) -> str:
    """Return a probability as what an event `has`."""
    if amount.enclosure is None:
        return notation.amount_text(amount)
    return f"a probability {notation.readable(amount)}"


def _strategy_rows(strategy: verdicts.Strategy) -> Iterator[Row]:
    """Yield what an analyst asks: a table of what was seen and what is asked next.

    Of many situations those are told in which something else is asked than before.
    """
    is_long = len(strategy.situations) + strategy.n_more > _SITUATIONS_TOLD and strategy.switches
    told: Sequence[verdicts.Situation | verdicts.Switch] = (
        strategy.switches if is_long else strategy.situations
    )
    first = "at first" if len(told) > 1 else ""
    whens = [_when(each, first) for each in told]
    reach = max(map(width, whens), default=0)
    for k, (when, each) in enumerate(zip(whens, told, strict=True)):
        asks = visible(each.asks) + (" from then on" if each.seen else ", always") * each.goes_on
        gap = " " * (reach - width(when) + 2 * bool(reach))
        yield Row("" if k else "strategy", f"{when}{gap}{asks}", is_fixed=True)
    n_more = strategy.n_more_switches if is_long else strategy.n_more
    if n_more:
        yield Row("", f"and {notation.counted(n_more, 'situation')} more", "faint")
    if is_long:
        yield Row("", "elsewhere what was asked last is asked again", "faint")


def _when(situation: verdicts.Situation | verdicts.Switch, first: str) -> str:
    """Return after which outputs something is asked; `first` where there is none yet."""
    if not situation.seen:
        return first
    seen = notation.sequence_text(verdicts.OutputSequence(situation.seen)).replace(", then ", ", ")
    n_others = situation.n_alike - 1 if isinstance(situation, verdicts.Switch) else 0
    return f"after {seen}" + f", or {notation.counted(n_others, 'other')} alike" * bool(n_others)


# --- the baseline --------------------------------------------------------------------------

_IN_CELL = 60
"""Characters of a cell of a table of before and after: three of them fit a wide terminal."""


def change_lines(changes: Sequence[Change], baseline: str) -> Iterator[Line]:
    """Yield what is worse than a baseline records, as a table, and one of what may be worse."""
    rest = [each for each in changes if each.rule == "budget-unknown"]
    worse = [each for each in changes if each.rule != "budget-unknown"]
    for head, shown in (
        (Piece("worse than ", "bad"), worse),
        (Piece("not known whether worse than ", "unsure"), rest),
    ):
        if shown:
            yield line(head, Piece(visible(baseline), "strong"))
            columns = ("", "before", "now", "")
            yield from aligned_lines(columns, [_change_cells(each) for each in shown], "    ")
            yield line()


def _change_cells(change: Change) -> list[str]:
    """Return a row of a table of before and after, whose texts are short enough for one."""
    texts = f"{change.target}: {change.what}", change.before, change.after or "gone"
    said = (notation.shortened(visible(text)) for text in texts)
    cells = [text if len(text) <= _IN_CELL else f"{text[: _IN_CELL - 1]}…" for text in said]
    return [*cells, visible(f"{change.file}:{change.line}")]


# --- the end -------------------------------------------------------------------------------


def closing_lines(
    summary: Summary, seconds: float | None = None, n_explained: int | None = None
) -> Iterator[Line]:
    """Yield the last lines of a run: how many claims came out how, and how long that took.

    So many were explained in full as `n_explained` says (None: all).
    """
    answers = summary.answers
    n_hold = sum(_came_out(answer, "check") for answer in answers)
    counts: list[tuple[int, str, Role]] = [
        (n_hold, "holds" if n_hold == 1 else "hold", "good"),
        (sum(_came_out(answer, "refute") for answer in answers), "refuted", "good"),
        (sum(_came_out(answer, "compute") for answer in answers), "computed", "plain"),
        (sum(not (a.is_as_claimed or a.is_undecided) for a in answers), "not as claimed", "bad"),
        (len(summary.worse), "worse than the baseline", "bad"),
        (summary.n_undecided, "undecided", "unsure"),
        (sum(answer.outcome.is_vacuous for answer in answers), "vacuous", "unsure"),
        (len(summary.errors), "mistakes" if len(summary.errors) != 1 else "mistake", "bad"),
    ]
    said: list[Piece | str] = [notation.counted(len(answers), "claim"), ": "]
    parts = [Piece(f"{count} {word}", role) for count, word, role in counts if count]
    nothing = "interrupted" if summary.is_interrupted else "nothing to check"
    for i, part in enumerate(parts or [Piece(nothing)]):
        said += [", ", part] if i else [part]
    took = "" if seconds is None else f" ({seconds:.2f} s)"
    yield line(*said, Piece(took, "faint"), hang=4)
    words = Counter(each.opinion.word for each in answers if each.opinion is not None)
    if words:
        of_many = {"agrees": "agree", "differs": "differ"}
        opinions = ", ".join(
            f"{n} {word if n == 1 else of_many.get(word, word)}"
            for word, n in sorted(words.items())
        )
        yield line("second opinion: ", opinions)
    n_short = sum(answer.explanation is not None for answer in answers) - (n_explained or 0)
    if n_explained is not None and n_short > 0:
        counted = notation.counted(n_short, "violated claim")
        how = "--select GLOB tells some in full, --output html=FILE all"
        yield line(f"{counted} explained in short: {how}", hang=4)


def _came_out(answer: Answer, kind: str) -> bool:
    return answer.is_ok and answer.kind == kind


def crash_lines(crashes: Sequence[Crash]) -> Iterator[Line]:
    """Yield what to report about bugs in dpcheck."""
    for crash in crashes[:_CRASHES_SHOWN]:
        yield line(Piece("internal error", "bad"), Piece(f" at {visible(crash.where)}", "strong"))
        for text in crash.traceback.rstrip().splitlines():
            yield line("  ", Piece(visible(text), "faint"))
    if len(crashes) > _CRASHES_SHOWN:
        yield line(Piece(f"and {len(crashes) - _CRASHES_SHOWN} more internal errors", "bad"))
    if all("\nModuleNotFoundError: " in crash.traceback for crash in crashes):
        yield line("A package that dpcheck needs is missing from this Python. In dpcheck's folder:")
        yield line("  python -m pip install .")
        return
    yield line(
        "This is a bug in dpcheck, not in your file. Please report it with the lines above ",
        "and the model that shows it. All other results are unaffected.",
        hang=0,
    )
