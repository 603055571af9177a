"""Answers as text: grouped by target, one line a claim, more where there is more to know.

survey.dpm

  survey  for x in {pos, neg} · adjacent all · 2 states, 1 neighbor pair
    ✓ check   dp(ln 3)         holds
    ✓ refute  dp(ln 2)         violated, as claimed: {Y} has 3/4 = 0.75 from x = pos, ...
    · compute epsilon          ln(3) ≈ 1.098612
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import assert_never

from dpcheck.check.values.verdicts import (
    Amount,
    Counterexample,
    Holds,
    Undecided,
    Value,
    Violated,
)
from dpcheck.report.answers import Answer, Crash, Summary
from dpcheck.report.drawing import visible, width
from dpcheck.report.numbers import amount_text, shortened
from dpcheck.report.styled import Line, Piece, Role, line
from dpcheck.report.tables import beside_text, table_lines

_CLAIM_COLUMN = 44  # longer claims push their verdict to the right
_EVENT_SHOWN = 8
_RUNS_SHOWN = 5
_TEXT_SHOWN = 600
_CRASHES_SHOWN = 3


def answer_lines(answers: Sequence[Answer], *, only_wrong: bool) -> Iterator[Line]:
    """Yield the lines for the answers of one file, in the order of the file.

    With `only_wrong`, claims that came out as written are left out, computed values kept.
    """
    shown = [answer for answer in answers if not only_wrong or _is_worth_saying(answer)]
    if not shown:
        return
    yield line(Piece(visible(shown[0].file), "strong"))
    for target, group in groupby(shown, key=lambda answer: answer.target):
        members = list(group)
        yield line()
        yield _heading(target, members)
        claims = [_claim_text(answer) for answer in members]
        column = min(max(map(width, claims)), _CLAIM_COLUMN)
        for answer, claim in zip(members, claims, strict=True):
            yield from _answer(answer, claim, column)
    yield line()


def _is_worth_saying(answer: Answer) -> bool:
    return not answer.is_ok or answer.kind == "compute"


def _heading(target: str, members: Sequence[Answer]) -> Line:
    """Return the target, and what every verdict below it covers."""
    first = members[0]
    facts = [shortened(visible(text)) for text in first.covers]
    if first.n_states is not None:
        facts.append(_counted(first.n_states, "state"))
        facts.append(_counted(first.outcome.neighbor_pairs, "neighbor pair"))
    return line("  ", Piece(visible(target), "strong"), "  ", Piece(" · ".join(facts), "faint"))


def _claim_text(answer: Answer) -> str:
    name = "" if answer.name is None else f'"{answer.name}" '
    where = "" if answer.at is None else f"at {answer.at}: "
    return f"{answer.kind:<7} {visible(name)}{visible(where + answer.claim)}"


def _answer(answer: Answer, claim: str, column: int) -> Iterator[Line]:
    """Yield the line of a claim and whatever must stand below it."""
    symbol, role = _symbol(answer)
    gap = " " * max(2, column - width(claim) + 2)
    lead: tuple[Piece | str, ...] = ("    ", Piece(symbol, role), " ", claim, gap)
    verdict = answer.outcome.verdict
    is_set = _is_about_sequences(answer)
    match verdict:
        case Holds():
            word = "holds" if answer.is_as_claimed else "holds, yet it is to be refuted"
            yield line(*lead, Piece(word, role), *_quantity(answer), *_beside(answer))
        case Value(amount=amount, table=None):
            yield line(*lead, Piece(amount_text(amount), "number"), *_beside(answer))
        case Value(table=table):
            assert table is not None, "the case before has no table"
            yield line(*lead, Piece(_counted(len(table.rows), "row"), "number"))
            yield from table_lines(table, "        ")
        case Violated(counterexample=counterexample) if answer.is_as_claimed:
            said = f": {_in_short(counterexample, is_set=is_set)}"
            yield line(*lead, Piece("violated, as claimed", role), *_quantity(answer), said)
        case Violated(counterexample=counterexample):
            yield line(*lead, Piece("violated", role), *_quantity(answer), *_beside(answer))
            yield from _in_full(counterexample, is_set=is_set)
        case Undecided():
            yield line(*lead, Piece("undecided", role), f": {visible(verdict.reason)}")
            yield from undecided_lines(verdict, "        ")
        case _ as never:
            assert_never(never)
    for reason in answer.outcome.vacuity:
        tone: Role = "bad" if answer.is_strict else "unsure"
        yield line("        ", Piece("vacuous: ", tone), visible(reason.text))


def _symbol(answer: Answer) -> tuple[str, Role]:
    if answer.is_undecided:
        return "?", "unsure"
    if not answer.is_ok:
        return "✗", "bad"
    return ("·", "plain") if answer.kind == "compute" else ("✓", "good")


def _quantity(answer: Answer) -> tuple[Piece | str, ...]:
    """Return what the quantity of a comparison is, where it is not just what was claimed."""
    value = answer.outcome.value
    if value is None or isinstance(answer.outcome.verdict, Value):
        return ()
    if isinstance(answer.outcome.verdict, Holds) and _compact(answer.claim).endswith(
        "=" + _compact(value.exact)
    ):
        return ()
    return (": it is ", Piece(amount_text(value), "number"))


def _beside(answer: Answer) -> tuple[Piece, ...]:
    return (Piece(beside_text(answer.outcome.beside), "faint"),)


def _compact(text: str) -> str:
    return text.translate({ord(char): None for char in " ()"})


def undecided_lines(verdict: Undecided, indent: str) -> Iterator[Line]:
    """Yield what stands below an undecided claim: how far the work got, and what to raise."""
    if verdict.progress:
        yield line(indent, "so far  ", shortened(visible(verdict.progress)))
    if verdict.option:
        advice = verdict.option
        advice = f"raise `{advice}`" if advice.startswith("--") else advice
        yield line(indent, Piece("help    ", "help"), shortened(visible(advice)))


# --- counterexamples -----------------------------------------------------------------------


def _in_short(found: Counterexample, *, is_set: bool) -> str:
    """Return a counterexample in one line, for a claim that was to be refuted."""
    sides = [
        f"{amount_text(amount)} from {visible(state)}"
        for state, amount in zip(found.states, found.probabilities, strict=False)
    ]
    if not sides:
        return shortened(visible(found.requirement)) or " and ".join(map(visible, found.states))
    return f"{_event(found, is_set=is_set)} has {', '.join(sides)}"


def _in_full(found: Counterexample, *, is_set: bool) -> Iterator[Line]:
    """Yield a counterexample in full: states, event, probabilities, ratio, excess, runs."""
    rows: list[tuple[str, str, Role]] = []
    if found.event:
        rows.append(("event", _event(found, is_set=is_set), "plain"))
    if found.probabilities:
        for state, amount in zip(found.states, found.probabilities, strict=False):
            rows.append((f"from {visible(state)}", amount_text(amount), "number"))
    elif found.states:
        rows.append(("from", " and ".join(map(visible, found.states)), "plain"))
    if found.requirement:
        rows.append(("fails", shortened(visible(found.requirement)), "plain"))
    if found.ratio is not None:
        rows.append(("ratio", amount_text(found.ratio), "number"))
    if found.excess is not None:
        rows.append(("excess", f"{amount_text(found.excess)} over the budget", "number"))
    column = max(width(label) for label, _, _ in rows)
    for label, text, role in rows:
        gap = " " * (column - width(label) + 2)
        yield line("        ", Piece(label, "faint"), gap, Piece(text, role))
    yield from _runs(found, column)


def _runs(found: Counterexample, column: int) -> Iterator[Line]:
    """Yield the runs that carry most of the difference; one that is the event says nothing new."""
    runs = found.runs
    if not runs or (len(runs) == 1 and found.event == (runs[0].text,)):
        return
    label = "runs"
    texts = [_clipped(visible(run.text)) for run in runs[:_RUNS_SHOWN]]
    reach = min(max(map(width, texts)), _CLAIM_COLUMN)
    for text, run in zip(texts, runs, strict=False):
        amounts = " against ".join(_short_amount(amount) for amount in run.probabilities)
        gaps = " " * (column - width(label) + 2), " " * max(2, reach - width(text) + 2)
        yield line(
            "        ", Piece(label, "faint"), gaps[0], text, gaps[1], Piece(amounts, "number")
        )
        label = ""
    if len(runs) > _RUNS_SHOWN:
        yield line("        ", " " * (column + 2), f"and {len(runs) - _RUNS_SHOWN} more")


def _short_amount(amount: Amount) -> str:
    return shortened(amount.exact)


def _event(found: Counterexample, *, is_set: bool) -> str:
    """Return the event: a path formula as it is, output sequences in braces."""
    shown = [_clipped(shortened(visible(text))) for text in found.event[:_EVENT_SHOWN]]
    n_hidden = (found.n_sequences or len(found.event)) - len(shown)
    if found.n_sequences is not None and len(found.event) == 1 and found.n_sequences > 1:
        return f"{shown[0]} ({_counted(found.n_sequences, 'sequence')})"
    if not is_set:
        return " and ".join(shown)
    more = [f"... {n_hidden} more"] if n_hidden > 0 else []
    return "{" + "; ".join(shown + more) + "}"


def _is_about_sequences(answer: Answer) -> bool:
    """Tell whether the claim is about sets of output sequences, not about a path formula."""
    return answer.claim.startswith(("dp", "epsilon", "delta"))


def _clipped(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else text[:_TEXT_SHOWN] + "…"


# --- the end -------------------------------------------------------------------------------


def closing_lines(summary: Summary, seconds: float) -> Iterator[Line]:
    """Yield the last line of a run: how many claims came out how."""
    answers = summary.answers
    n_hold = sum(_came_out(answer, "check") for answer in answers)
    counts: list[tuple[int, str, Role]] = [
        (n_hold, "holds" if n_hold == 1 else "hold", "good"),
        (sum(_came_out(answer, "refute") for answer in answers), "refuted", "good"),
        (sum(_came_out(answer, "compute") for answer in answers), "computed", "plain"),
        (sum(_is_failed(answer) for answer in answers), "not as claimed", "bad"),
        (sum(answer.is_undecided for answer in answers), "undecided", "unsure"),
        (sum(answer.outcome.is_vacuous for answer in answers), "vacuous", "unsure"),
        (len(summary.errors), "mistakes" if len(summary.errors) != 1 else "mistake", "bad"),
    ]
    said: list[Piece | str] = [_counted(len(answers), "claim"), ": "]
    parts = [Piece(f"{count} {word}", role) for count, word, role in counts if count]
    nothing = "interrupted" if summary.is_interrupted else "nothing to check"
    for i, part in enumerate(parts or [Piece(nothing)]):
        said += [", ", part] if i else [part]
    yield line(*said, Piece(f" ({seconds:.2f} s)", "faint"))


def _came_out(answer: Answer, kind: str) -> bool:
    return answer.is_ok and answer.kind == kind


def _is_failed(answer: Answer) -> bool:
    return not answer.is_as_claimed and not answer.is_undecided


def crash_lines(crashes: Sequence[Crash]) -> Iterator[Line]:
    """Yield what to report about bugs in dpcheck."""
    for crash in crashes[:_CRASHES_SHOWN]:
        yield line(Piece("internal error", "bad"), Piece(f" at {visible(crash.where)}", "strong"))
        for text in crash.traceback.rstrip().splitlines():
            yield line("  ", Piece(visible(text), "faint"))
    if len(crashes) > _CRASHES_SHOWN:
        yield line(Piece(f"and {len(crashes) - _CRASHES_SHOWN} more internal errors", "bad"))
    yield line(
        "This is a bug in dpcheck, not in your file. Please report it with the lines above ",
        "and the model that shows it. All other results are unaffected.",
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
