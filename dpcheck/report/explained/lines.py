"""An explanation as text: labelled blocks in one order, tables below their labels.

neighbors    q = [1, 1, 0]
             q = [2, 0, 0]    (q[1], q[2] differ)
output       bot, then top
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from dpcheck.check.values.ranges import in_ranges
from dpcheck.check.values.verdicts import Amount, Phrase, ShownEvent
from dpcheck.explain import explanation
from dpcheck.report import notation
from dpcheck.report.characters import visible
from dpcheck.report.explained.attribution import (
    by_input_text,
    by_output_rows,
    run_rows,
    weighted_rows,
)
from dpcheck.report.styled import laid_out, line
from dpcheck.report.tables import LEAST_LABEL, Row

_ROOM = 100 - 8 - LEAST_LABEL - 2 - 1
"""Columns of a table, beside the longest label."""

_LONGEST_EXACT = (24, 24), (24, 0), (12, 24), (12, 0)
"""Characters of exact numbers in a row, and of the e^ε that is allowed, the best that fits first.

`fails` has all of them but the ratio.
"""

_EVENT_ROOM = 240
"""Characters of a set of sequences: two rows and a half."""


def explanation_rows(found: explanation.Explanation, file: str) -> list[Row]:
    """Return the rows of all blocks, in the order in which they are read."""
    return [row for block in _blocks(found, file) for row in block]


def _blocks(found: explanation.Explanation, file: str) -> Iterator[Iterable[Row]]:
    """Yield the blocks in the order in which they are read."""
    first = _first_of_several(found.event)
    remarks = _remarks(found.remarks, file)
    if found.neighbors is not None:
        yield _neighbors(found.neighbors)
    else:
        yield remarks
    if found.rule is not None and not found.event:
        yield [Row("in words", _rule(found.rule, None))]
    if found.event:
        yield _event(found.event)
    if found.inequality is not None:
        yield _inequality(found.inequality, is_short=found.rule is not None and not found.event)
    if found.rule is not None and found.event and not _says(found.event, found.rule):
        yield [Row("in words", _rule(found.rule, found.inequality))]
    yield remarks
    if found.runs:
        yield _weighted(found.runs)
    if found.by_output:
        rows = [(row, True) for row in by_output_rows(found.by_output, file, _ROOM)]
        yield _headed("by output", first, rows)
    if found.by_input:
        said = by_input_text(found.by_input)
        yield [Row("by input", "".join(map("for {}: ".format, first)) + said)]
    if found.run is not None:
        yield _run(found.run, file, first)
    if found.inner is not None:
        yield _inner(found.inner, file)
    if found.tight is not None:
        yield [Row(found.tight.label, _phrase(found.tight.text))]
    if found.attacker is not None:
        said = _attacker(found.attacker)
        yield [Row("attacker", "".join(map("after {}: ".format, first)) + said)]
    if found.others is not None:
        yield _others(found.others, found.neighbors)
    if found.also:
        settings = ", ".join(f"{each.name} = {each.value}" for each in found.also)
        yield [Row("also", f"with {visible(settings)}")]
    if found.omitted:
        yield [Row("omitted", _omitted(found))]


def _first_of_several(event: ShownEvent) -> list[str]:
    """Return the sequence of an event of several that factors and runs are about, if there are."""
    if isinstance(event, Phrase) or len(event) == 1:
        return []
    return [notation.sequence_text(each) for each in event[:1]]


def _omitted(found: explanation.Explanation) -> str:
    """Return the names of parts that were left out, and why."""
    late = [name for name in found.omitted if name not in found.faulty]
    said = [f"{', '.join(late)} (too much work)"] if late else []
    said += [f"{', '.join(found.faulty)} (a bug in dpcheck: see the end)"] if found.faulty else []
    return "; ".join(said).replace("_", " ").replace("explanation", "most of the explanation")


def _remarks(remarks: Sequence[explanation.Remark], file: str) -> Iterator[Row]:
    """Yield the rows of remarks, a label once for those that have it one after the other."""
    last = ""
    for remark in remarks:
        for item in remark.items or (remark.text,):
            alike = f"; the run is like that of {remark.like}" if remark.like else ""
            yield Row("" if remark.label == last else remark.label, _phrase(item) + alike)
            last = remark.label
        if remark.run is not None:
            yield from _run(remark.run, file, [], indent="  ")


def _inner(inner: explanation.Inner, file: str) -> Iterator[Row]:
    yield Row("inner", _phrase(inner.text))
    yield Row("  event", notation.event_text(inner.event))
    for row in _inequality(inner.inequality):
        yield Row(f"  {row.label}", row.text, row.role)
    if inner.run is not None:
        yield from _run(inner.run, file, [], indent="  ")


def _phrase(phrase: Phrase) -> str:
    return _fitted(
        lambda longest, _: notation.phrase_text(phrase, partial(notation.readable, longest=longest))
    )


def _weighted(runs: Sequence[explanation.WeightedRun]) -> Iterator[Row]:
    """Yield the heaviest runs, labelled by whether they satisfy the path formula."""
    has_two_sides = any(run.right is not None for run in runs)
    last = ""
    for run, lines in zip(runs, weighted_rows(runs, _ROOM), strict=True):
        side = "runs" if has_two_sides else "inside" if run.is_inside else "outside"
        for text in lines:
            yield Row("" if side == last else side, text, is_fixed=True)
            last = side


def _attacker(gain: explanation.Attacker) -> str:
    sure = ""
    if gain.n_runs is not None:
        fewest, most = gain.n_runs
        often = f"at most {most:,}" if fewest == 1 < most else f"{fewest:,} to {most:,}"
        often = f"{most:,}" if fewest == most else often
        sure = f"; 99 % right after {often} run{'s' * (most > 1)} on one input"

    def written(longest: int, _: int) -> str:
        return f"prior 1/2 becomes {notation.readable(gain.posterior, longest)}{sure}"

    return _fitted(written)


def _neighbors(pair: explanation.Neighbors) -> Iterator[Row]:
    yield Row(pair.kind, notation.shortened(visible(pair.left)))
    yield from (Row("", f"by way of {notation.shortened(visible(each))}") for each in pair.between)
    names = [difference.name for difference in pair.differences]
    said = [pair.note] if pair.note else []
    if names and not (len(names) == 1 and pair.left.startswith(f"{names[0]} = ")):
        said.append(f"{', '.join(names)} {'differs' if len(names) == 1 else 'differ'}")
    note = f"    ({'; '.join(said)})" if said else ""
    yield Row("", f"{notation.shortened(visible(pair.right))}{note}")


def _says(event: ShownEvent, rule: explanation.Rule) -> bool:
    """Return whether an event as it is shown says what a rule does: `<= 0`."""
    shown = () if isinstance(event, Phrase) else in_ranges(event)
    return len(shown) == 1 and rule.text == f"the output {notation.sequence_text(shown[0])}"


def _event(event: ShownEvent) -> Iterator[Row]:
    if not isinstance(event, Phrase):
        event = in_ranges(event)
    is_one = not isinstance(event, Phrase) and len(event) == 1
    label = "output" if is_one else "event" if isinstance(event, Phrase) else "outputs"
    yield Row(label, notation.event_text(event, _EVENT_ROOM))


def _inequality(failing: explanation.Inequality, *, is_short: bool = False) -> Iterator[Row]:
    """Yield the probabilities, unless they were told before, and what fails."""
    if failing.p is not None and not is_short:
        yield Row("probability", _probabilities(failing, failing.p), "number")
    if requirement := notation.requirement_text(failing.requirement, failing.sides):
        yield Row("fails", requirement)


def _fitted(written: Callable[[int, int], str]) -> str:
    """Return the text of the longest exact numbers that take no more rows than shorter ones."""
    texts = [written(*longest) for longest in _LONGEST_EXACT]
    return min(texts, key=lambda text: sum(1 for _ in laid_out(line(text, hang=0), _ROOM + 1)))


def _probabilities(failing: explanation.Inequality, left: Amount) -> str:
    """Return both probabilities, their ratio and what is allowed."""

    def written(longest: int, growth: int) -> str:
        p = notation.readable(left, longest)
        if failing.q is None:
            return p
        text = f"{p} against {notation.readable(failing.q, longest)}"
        both = [each for each in (failing.ratio, failing.allowed) if each is not None]
        readable = partial(notation.readable, digits=notation.digits_apart(both) or 17)
        told = [] if failing.ratio is None else [f"ratio {readable(failing.ratio)}"]
        if failing.allowed is not None:
            told.append(f"allowed {readable(failing.allowed, growth)}")
            if failing.slack is not None and failing.slack.exact != "0":
                told[-1] += f" and delta {notation.number_text(failing.slack, notation.LONGEST)}"
        return f"{text}: {', '.join(told)}" if told else text

    return _fitted(written)


def _headed(
    label: str, first: Sequence[str], rows: Iterable[tuple[str, bool]], indent: str = ""
) -> Iterator[Row]:
    """Yield rows, and whether they are fixed, below what outputs they are for."""
    for k, (text, is_fixed) in enumerate([*((f"for {text}", False) for text in first), *rows]):
        yield Row(indent + label * (k == 0), text, is_fixed=is_fixed)


def _run(
    run: explanation.TracedRun, file: str, first: Sequence[str], *, indent: str = ""
) -> Iterator[Row]:
    label = "the run" if run.share.exact == "1" else "a run"
    first = first if run.shown is None else [notation.sequence_text(run.shown)]
    yield from _headed(label, first, run_rows(run, file, _ROOM - len(indent)), indent)


def _rule(rule: explanation.Rule, told: explanation.Inequality | None) -> str:
    """Return a rule; with its probabilities if it is of another event than what was told before."""
    if told is not None and (rule.p, rule.q) == (told.p, told.q):
        return visible(rule.text)
    numbers = [rule.p, rule.q, *([rule.ratio] if rule.ratio else [])]

    def written(longest: int, _: int) -> str:
        texts = [notation.readable(each, longest) for each in numbers]
        lead = "" if told is None else "also violated where "
        return f"{lead}{visible(rule.text)}: {' against '.join(texts[:2])}" + "".join(
            f", ratio {text}" for text in texts[2:]
        )

    return _fitted(written)


def _worst_event(others: explanation.Others) -> str:
    if others.rule is not None:
        return visible(others.rule.text)
    if others.n_outputs == 1:
        return f"output {notation.event_text(others.outputs)}"
    return notation.event_text(others.outputs, n_all=others.n_outputs)


def _others(others: explanation.Others, pair: explanation.Neighbors | None) -> Iterator[Row]:
    """Yield how many pairs violate, if there are several, and the worst of them."""
    if others.n_pairs > 1:
        is_all = others.is_complete or others.n_violating == others.n_pairs
        least = "" if is_all else "at least "
        the, seen = ("the ", " looked at") if others.is_window else ("", "")
        text = f"{least}{others.n_violating:,} of {the}{others.n_pairs:,} pairs{seen} violate"
        yield Row("others", text + _worst(others, pair))


def _worst(others: explanation.Others, pair: explanation.Neighbors | None) -> str:
    """Return the worst pair with its optimal event."""
    if others.excess is None:
        return ""
    text = f"; largest excess {notation.readable(others.excess)}"
    worst = others.worst
    if worst is None:
        return text
    names = [notation.shortened(visible(each)) for each in (worst.left, worst.right)]
    is_shown = pair is not None and (pair.left, pair.right) == (worst.left, worst.right)
    said = "this pair" if is_shown else " against ".join(names)
    rule = others.rule
    chances = others.chances if rule is None else (rule.p, rule.q)
    told = " against ".join(map(notation.readable, chances))
    return f"{text}: {said}, {_worst_event(others)}: {told}"
