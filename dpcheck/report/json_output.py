"""The machine-readable answer: one JSON object, described by `schema/results-1.json`.

Numbers stand in full, as text, because a float would not be the value. Keys may be added within
schema 1; none changes its meaning.
"""

from __future__ import annotations

import re
from typing import Any, assert_never

from dpcheck.check.values import verdicts
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.intervals import ParamEnd, ParamInterval
from dpcheck.records import fields
from dpcheck.report.answers import OPTIONS, Answer, Change, Summary
from dpcheck.report.explained.json_object import explanation_object
from dpcheck.report.notation import amount_object, event_text
from dpcheck.version import __version__

SCHEMA = 1
"""The version of the schema; a key never changes its meaning within one."""


def json_text(summary: Summary, _: object = None) -> str:
    r"""Return the JSON object of a run in ASCII, indented, without a final line break.

    Names of files may hold bytes that are no UTF-8, and tables halves of characters: Python keeps
    them as lone surrogates, which no text has. They are written out: `\udcff`.
    """
    import json

    text = json.dumps(json_object(summary), indent=2, ensure_ascii=False)
    text = re.sub("[\ud800-\udfff]", lambda half: f"\\\\u{ord(half[0]):x}", text)
    return json.dumps(json.loads(text), indent=2)


def json_object(summary: Summary) -> dict[str, Any]:
    """Return the JSON object of a run as dictionaries and lists."""
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "dpcheck": __version__,
        "ok": summary.exit_status == 0,
        "results": [_result(answer) for answer in summary.answers],
    }
    if summary.errors:
        found["errors"] = [_mistake(mistake) for mistake in summary.errors]
    warnings = [m for m in summary.mistakes if m.severity == "warning"]
    if warnings:
        found["warnings"] = [_mistake(mistake) for mistake in warnings]
    if summary.stopped:
        found["undecided"] = [_mistake(mistake) for mistake in summary.stopped]
    if summary.changes:
        found["changes"] = [
            {each.name: getattr(change, each.name) for each in fields(Change)}
            for change in summary.changes
        ]
    if summary.crashes:
        found["crashes"] = [
            {"where": crash.where, "traceback": crash.traceback} for crash in summary.crashes
        ]
    if summary.is_interrupted:
        found["interrupted"] = True
    return found


def _bounds(bounds: verdicts.Bounds) -> dict[str, Any]:
    """Return what is known of a quantity that stayed unknown."""
    made: dict[str, Any] = {"quantity": bounds.quantity}
    made |= {"low": amount_object(bounds.low), "high": amount_object(bounds.high)}
    return {**made, "shown_by": str(bounds.shown_by)} if bounds.shown_by.parts else made


def _result(answer: Answer) -> dict[str, Any]:
    outcome = answer.outcome
    result: dict[str, Any] = {
        "file": answer.file,
        "line": answer.line,
        "name": answer.name,
        "kind": answer.kind,
        "target": answer.target,
        "at": answer.at,
        "claim": answer.claim,
        "verdict": outcome.verdict.word,
        "ok": answer.is_ok,
        "states": answer.n_states,
        "transitions": answer.n_transitions,
        "neighbor_pairs": answer.neighbor_pairs,
        "seconds": round(answer.seconds, 4),
        "vacuous": outcome.is_vacuous,
        "covers": list(answer.covers),
    }
    if answer.witness is not None:
        result["witness"] = answer.witness.name
    if answer.opinion is not None:
        result["second_opinion"] = {"says": answer.opinion.word, "text": answer.opinion.text}
    if outcome.vacuity:
        result["vacuity"] = [{"kind": v.kind, "text": v.text} for v in outcome.vacuity]
    result.update(_evidence(answer))
    if outcome.value is not None:
        result.setdefault("value", amount_object(outcome.value))
    if outcome.all_values is not None:
        result.update(_all_values(outcome.all_values, answer.outcome.verdict))
    if outcome.beside:
        result["beside"] = [
            {
                "text": str(each.text),
                **({} if each.amount is None else {"value": amount_object(each.amount)}),
            }
            for each in outcome.beside
        ]
    if outcome.strategy is not None:
        result["strategy"] = _strategy(outcome.strategy)
    return result


def _strategy(strategy: verdicts.Strategy) -> dict[str, Any]:
    """Return what an analyst asks after which outputs, and whether again and again."""
    situations = [
        {"after": list(each.seen), "asks": each.asks, "goes_on": each.goes_on}
        for each in strategy.situations
    ]
    switches = [
        {"after": each.seen, "asks": each.asks, "goes_on": each.goes_on, "alike": each.n_alike}
        for each in strategy.switches
    ]
    told = {"switches": switches, "more_switches": strategy.n_more_switches} if switches else {}
    return {"situations": situations, "more": strategy.n_more, **told}


def _evidence(answer: Answer) -> dict[str, Any]:
    """Return what a verdict rests on: a counterexample, a value, or what kept it undecided."""
    found: dict[str, Any] = {}
    match answer.outcome.verdict:
        case verdicts.Violated(counterexample=counterexample):
            found["counterexample"] = _counterexample(counterexample)
            if answer.explanation is not None:
                found["explanation"] = explanation_object(answer.explanation)
        case verdicts.Undecided(limit=limit, progress=progress, bounds=bounds):
            option = limit.advice or OPTIONS.get(limit.kind, "")
            found["reason"] = {"text": limit.text, "progress": str(progress), "option": option}
            if bounds is not None:
                found["bounds"] = _bounds(bounds)
        case verdicts.Value(amount=amount, table=table):
            if amount.param is None:  # else there are pieces
                found["value"] = amount_object(amount)
            if table is not None:
                found["table"] = table_object(table)
        case verdicts.Holds():
            pass
        case _ as never:
            assert_never(never)
    return found


def _all_values(known: verdicts.AllValues, verdict: verdicts.Verdict) -> dict[str, Any]:
    """Return for which values of a parameter a claim fails, or the pieces of a quantity."""
    values: dict[str, Any] = {"param": known.param, "in": known.asked}
    if isinstance(verdict, verdicts.Value):
        pieces = [
            {"in": each.interval.text, **_param_interval(each.interval), **_piece(each)}
            for each in known.pieces
        ]
        return {"values": values, "pieces": pieces}
    values["fails_for"] = [_param_interval(interval) for interval in known.fails_for]
    if not known.is_exact:
        values["at_least"] = True
        if known.holds_for:
            values["holds_for"] = [_param_interval(interval) for interval in known.holds_for]
    if known.sample is not None:
        values["sample"] = known.sample
    return {"values": values}


def _piece(piece: verdicts.Piece) -> dict[str, Any]:
    if piece.most is None:
        return {"exact": piece.exact}
    return {"enclosure": [piece.exact, piece.most]}


def _param_interval(interval: ParamInterval) -> dict[str, Any]:
    return {
        "from": _param_end(interval.low),
        "to": _param_end(interval.high),
        "open": [interval.low.is_open, interval.high.is_open],
    }


def _param_end(end: ParamEnd) -> dict[str, str]:
    if end.exact is not None:
        return {"exact": end.exact, "decimal": end.decimal}
    return {"root_of": end.equation or "", "decimal": end.decimal}


def _counterexample(found: verdicts.Counterexample) -> dict[str, Any]:
    made: dict[str, Any] = {
        "states": list(found.states),
        "event": _event(found.event),
        "probabilities": [amount.exact for amount in found.probabilities],
        "decimals": [amount.decimal for amount in found.probabilities],
        "requirement": str(found.requirement),
    }
    if found.sides is not None:
        made["sides"] = [amount_object(found.sides.left), amount_object(found.sides.right)]
    if found.ratio is not None:
        made["ratio"] = found.ratio.exact
    if found.excess is not None:
        made["excess"] = amount_object(found.excess)
    if found.n_sequences is not None:
        made["event_sequences"] = found.n_sequences
    if found.runs:
        made["runs"] = [
            {"run": str(run.shown), "probabilities": [amount.exact for amount in run.probabilities]}
            for run in found.runs
        ]
    return made


def _event(event: verdicts.ShownEvent) -> list[str]:
    """Return output sequences as the keys of tables write them, anything else as one text."""
    texts = [str(event)] if isinstance(event, verdicts.Phrase) else map(str, event)
    return [text for text in texts if text]


def table_object(table: verdicts.Table) -> dict[str, Any]:
    """Return a table as an object: its name, columns, and rows of texts and amounts."""
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    return {"name": table.name, "columns": list(table.columns), "rows": rows}


def _cell(cell: verdicts.Cell) -> str | dict[str, Any]:
    if isinstance(cell, verdicts.Amount):
        return amount_object(cell)
    return cell if isinstance(cell, str) else event_text(cell)


def _mistake(mistake: Mistake) -> dict[str, Any]:
    span = mistake.span
    return {
        "code": mistake.code,
        "message": mistake.title,
        "file": mistake.file,
        "line": None if span is None else span.line,
        "column": None if span is None else span.column,
        "help": mistake.help,
        "notes": list(mistake.notes),
    }
