"""A baseline: what mechanisms cost, and what is claimed of them, as a file that is reviewed.

It is TOML in a fixed order, a table a target, so that a change of a budget is a change of one
line. Targets of files that a run did not look at stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpcheck.exact.reading import compare_texts
from dpcheck.records import dataclass
from dpcheck.report.answers import Answer, Change, ChangeRule, Measured, Summary

HEAD = """\
# What each mechanism costs, and what is claimed of it. `dpcheck check --baseline` fails where
# something here grew or was weakened; `dpcheck check --update-baseline` writes this file.
version = 1
"""


@dataclass(frozen=True)
class Claim:
    """A `check`: its words, `where` it is asked (`at x = 0: `), and what it bounds from above.

    Of `dp(ln 2)` that is ε and δ, of `epsilon <= 1` that quantity. `line` is 0 in a baseline.
    """

    text: str
    where: str
    bounds: Mapping[str, str]
    line: int = 0

    @property
    def words(self) -> str:
        """The claim as one text."""
        return f"{self.where}{self.text}"


@dataclass(frozen=True)
class Target:
    """What is known of a target: what verdicts cover, its quantities, and its claims.

    A quantity that stayed undecided is None.
    """

    covers: tuple[str, ...]
    amounts: Mapping[str, str | None]
    claims: tuple[Claim, ...]
    line: int = 0


Baseline = dict[str, dict[str, Target]]
"""By file, as seen from the folder of the baseline, and target."""


def read_baseline(place: Path) -> Baseline:
    """Return what a baseline records; raises `ValueError` with the reason."""
    try:
        found = tomllib.loads(place.read_text("utf-8"))
        if found.get("version") != 1:
            raise ValueError("it has no `version = 1`")
        files = found.get("files", {})
        return {
            file: {target: _recorded(said) for target, said in targets.items()}
            for file, targets in files.items()
        }
    except FileNotFoundError:
        raise ValueError(
            "there is no such file; `--update-baseline` beside `--baseline` writes it"
        ) from None
    except OSError as error:
        raise ValueError((error.strerror or str(error)).lower()) from None
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise ValueError(str(error) or "it is no baseline") from None


def _recorded(said: Mapping[str, Any]) -> Target:
    amounts = {name: text for name, text in said.items() if name not in ("covers", "claims")}
    claims = []
    for claim in said["claims"]:
        bounds = {name: text for name, text in claim.items() if name not in ("check", "where")}
        claims.append(Claim(claim["check"], claim.get("where", ""), bounds))
    covers = tuple(said["covers"])
    texts = [*covers, *amounts.values()]
    texts += [text for each in claims for text in (each.words, *each.bounds.values())]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a quantity is no text")
    for text in (*amounts.values(), *(b for each in claims for b in each.bounds.values())):
        if not text.startswith(PIECES):
            compare_texts(_upper_end(text), "0")
    return Target(covers, amounts, tuple(claims))


PIECES = "for "
"""Begins the text of a quantity that depends on a parameter: `for alpha in (0, 1): ln(1/alpha)`."""


def baseline_of(summary: Summary, folder: Path) -> Baseline:
    """Return what a run found, as a baseline in a folder would record it."""
    found: Baseline = {_named(file, folder): {} for file in summary.files}
    costs = {(each.file, each.target): each for each in summary.measured}
    answers: dict[tuple[str, str], list[Answer]] = {}
    for answer in summary.answers:
        answers.setdefault((answer.file, answer.target), []).append(answer)
    for (file, target), own in answers.items():
        measured = costs.get((file, target), Measured(file, target, {}, {}))
        amounts = {
            name: None if amount is None else amount.exact
            for name, amount in measured.amounts.items()
        }
        claims = [_claim(each, measured) for each in own if each.kind == "check"]
        known = Target(own[0].covers, amounts, tuple(claims), own[0].line)
        found.setdefault(_named(file, folder), {})[target] = known
    return found


def _claim(answer: Answer, measured: Measured) -> Claim:
    """Return a claim; of one for all values of a parameter, no bound is a number."""
    known = answer.outcome.all_values
    bounds = measured.bounds.get(answer.claim, {}) if known is None else {}
    where = "" if answer.at is None else f"at {answer.at}: "
    if known is not None:
        where = f"for {known.param} in {known.asked} {where}".rstrip(": ") + ": "
    return Claim(answer.claim, where, bounds, answer.line)


def baseline_text(found: Baseline) -> str:
    """Return a baseline as the text of its file."""
    lines = [HEAD]
    for file, targets in sorted(found.items()):
        for target, said in sorted(targets.items()):
            lines.append(f"[files.{_quoted(file)}.{_quoted(target)}]")
            lines.append(f"covers = [{', '.join(map(_quoted, said.covers))}]")
            lines += [
                f"{_key(name)} = {_quoted(text)}"
                for name, text in said.amounts.items()
                if text is not None
            ]
            lines += [*_claim_lines(said.claims), ""]
    return "\n".join(lines)


def _claim_lines(claims: Sequence[Claim]) -> Iterator[str]:
    yield "claims = ["
    for claim in {each.words: each for each in claims}.values():
        fields = {"check": claim.text, **({"where": claim.where} if claim.where else {})}
        fields |= claim.bounds
        inner = ", ".join(f"{_key(name)} = {_quoted(text)}" for name, text in fields.items())
        yield f"  {{ {inner} }},"
    yield "]"


def _key(name: str) -> str:
    """Return the name of a value as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return a text as a basic string of TOML, whose escapes are those of JSON and one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _named(file: str, folder: Path) -> str:
    """Return the name of a file as seen from the folder of the baseline."""
    return Path(os.path.relpath(file, folder)).as_posix()


def asked_by(baseline: Baseline, folder: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the quantities that a baseline records, by where the file really is, and target."""
    return {
        os.path.realpath(folder / file): {
            target: tuple(said.amounts) for target, said in targets.items()
        }
        for file, targets in baseline.items()
    }


# --- comparison ----------------------------------------------------------------------------


def changes_since(before: Baseline, summary: Summary, folder: Path) -> tuple[Change, ...]:
    """Return what is worse than a baseline records, of the files that a run looked at.

    A file that is gone counts as looked at.
    """
    found: list[Change] = []
    shown = {_named(file, folder): file for file in summary.files}
    now = baseline_of(summary, folder)
    for file, targets in before.items():
        if file not in shown and (folder / file).exists():
            continue
        for target, recorded in targets.items():
            known = now.get(file, {}).get(target)
            compared = _Compared(shown.get(file, os.path.relpath(folder / file)), target, recorded)
            found += compared.gone() if known is None else compared.changes(known)
    return tuple(found)


@dataclass(frozen=True)
class _Compared:
    """A target of a baseline, to be held beside what it is now."""

    file: str
    target: str
    before: Target

    def gone(self) -> Iterator[Change]:
        """Yield that nothing is said of the target any more."""
        for claim in self.before.claims:
            yield self._change("claim-removed", 1, "claim", claim.words, None)
        if not self.before.claims:
            covers = " · ".join(self.before.covers)
            yield self._change("claim-removed", 1, "target", covers, None)

    def changes(self, now: Target) -> Iterator[Change]:
        """Yield what is worse: what verdicts cover, quantities, claims."""
        old, new = self.before.covers, now.covers
        if old != new:
            texts = (
                " · ".join(c for c in own if c not in o) for own, o in ((old, new), (new, old))
            )
            yield self._change("cover-changed", now.line, "covers", *texts)
        for name, amount in self.before.amounts.items():
            assert amount is not None, "a baseline has numbers only"
            yield from self._growth(name, amount, now)
        yield from self._claim_changes(now)

    def _growth(self, name: str, before: str, now: Target) -> Iterator[Change]:
        after = now.amounts.get(name)
        if after is None:
            yield self._change("budget-unknown", now.line, name, before, "undecided")
        elif is_greater(after, before) is None:
            yield self._change("budget-unknown", now.line, name, before, after)
        elif is_greater(after, before):
            yield self._change("budget-grew", now.line, name, before, after)

    def _claim_changes(self, now: Target) -> Iterator[Change]:
        """Yield claims that are gone, or say less: nothing now claimed implies what was."""
        known = {each.words for each in self.before.claims}
        fresh = [each for each in now.claims if each.words not in known]
        for claim in self.before.claims:
            if any(_implies(each, claim) for each in now.claims):
                continue
            alike = [each for each in fresh if set(each.bounds) == set(claim.bounds)]
            if alike:
                said = claim.words, alike[0].words
                yield self._change("claim-weakened", alike[0].line, "claim", *said)
            else:
                yield self._change("claim-removed", now.line, "claim", claim.words, None)

    def _change(
        self, rule: ChangeRule, line: int, what: str, before: str, after: str | None
    ) -> Change:
        return Change(rule, self.file, line, self.target, what, before, after)


def is_greater(now: str, before: str) -> bool | None:
    """Return whether a value is greater than another; None where that is not known.

    Of enclosures the upper ends are compared.

    >>> is_greater("ln(3)", "1"), is_greater("in [0.1, 0.2]", "in [0.1, 0.3]")
    (True, False)
    >>> is_greater("for p in (0, 1): 2*p", "for p in (0, 1): p") is None
    True
    """
    if now == before:
        return False
    try:
        return compare_texts(_upper_end(now), _upper_end(before)) > 0
    except ValueError:
        return None


def _upper_end(text: str) -> str:
    if not text.startswith("in ["):
        return text
    end = text.removeprefix("in [").removesuffix("]").split(", ")[1]
    return end if end == "inf" else str(Fraction(end))


def _implies(now: Claim, before: Claim) -> bool:
    """Return whether a claim surely says all that another one did."""
    if now.words == before.words:
        return True
    if now.where != before.where or not now.bounds or set(now.bounds) != set(before.bounds):
        return False
    return all(is_greater(now.bounds[name], b) is False for name, b in before.bounds.items())
