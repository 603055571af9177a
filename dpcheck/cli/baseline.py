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
from dpcheck.report.answers import Asked, Change, ChangeRule, Stated, Summary

HEAD = """\
# What each mechanism costs, and what is claimed of it. `dpcheck check --baseline` fails where
# something here grew or was weakened; `dpcheck check --update-baseline` writes this file.
version = 1
"""


@dataclass(frozen=True)
class Claim:
    """A `check`: its words, for which values and where it is asked, what it bounds from above.

    `values` are those of a parameter (`p in (0, 1)`), `at` is a condition on states; both may be
    "". The bounds are as in `Stated`. `line` is 0 in a baseline.
    """

    text: str
    values: str
    at: str
    bounds: Mapping[str, str]
    line: int = 0

    @property
    def words(self) -> str:
        """The claim as one text."""
        where = self.values and f"for {self.values}", self.at and f"at {self.at}"
        return f"{' '.join(filter(None, where))}: {self.text}" if any(where) else self.text

    @property
    def upper(self) -> Mapping[str, tuple[str, bool]]:
        """By quantity what bounds it, and whether that is not reached."""
        return {k.removesuffix(" <"): (b, k.endswith(" <")) for k, b in self.bounds.items()}

    def is_as(self, other: Claim) -> bool:
        """Return whether both say the same, however it is spaced, of the same values of names."""
        return self.bounds == other.bounds and _tokens(self.words) == _tokens(other.words)


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
        bounds = {name: text for name, text in claim.items() if name not in ("check", "for", "at")}
        claims.append(Claim(claim["check"], claim.get("for", ""), claim.get("at", ""), bounds))
    covers = tuple(said["covers"])
    texts = [*covers, *amounts.values()]
    texts += [text for each in claims for text in (each.words, *each.bounds.values())]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a quantity is no text")
    numbers = [text for each in claims if not each.values for text in each.bounds.values()]
    for text in (*amounts.values(), *numbers):
        if not text.startswith(PIECES) and HASHED not in text:
            compare_texts(_ends(text)[1], "0")
    return Target(covers, amounts, tuple(claims))


PIECES = "for "
"""Begins the text of a quantity that depends on a parameter: `for alpha in (0, 1): ln(1/alpha)`."""

HASHED = " characters, blake2b "
"""Stands in the text of a quantity that is too long to be written down."""


def baseline_of(summary: Summary, folder: Path) -> Baseline:
    """Return what a run found, as a baseline in a folder would record it."""
    costs = {(each.file, each.target): each.amounts for each in summary.measured}
    found: Baseline = {}
    for file, asked in summary.files.items():
        targets = found.setdefault(_named(file, folder), {})
        for target in dict.fromkeys(each.target for each in asked):
            own = [each for each in asked if each.target == target]
            amounts = {
                name: None if amount is None else amount.exact
                for name, amount in costs.get((file, target), {}).items()
            }
            claims = tuple(_claim(each, each.stated) for each in own if each.stated is not None)
            targets[target] = Target(own[0].covers, amounts, claims, own[0].line)
    return found


def _claim(asked: Asked, stated: Stated) -> Claim:
    return Claim(asked.claim, stated.values, asked.at or "", stated.bounds, asked.line)


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
        said = {"check": claim.text, "for": claim.values, "at": claim.at}
        fields = {name: text for name, text in said.items() if text} | dict(claim.bounds)
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
            word = "undecided" if name in now.amounts else "unknown"  # nobody measured it
            yield self._change("budget-unknown", now.line, name, before, word)
        elif is_greater(after, before) is None:
            yield self._change("budget-unknown", now.line, name, before, after)
        elif is_greater(after, before):
            yield self._change("budget-grew", now.line, name, before, after)

    def _claim_changes(self, now: Target) -> Iterator[Change]:
        """Yield claims that are gone, or say less: nothing now claimed implies what was."""
        fresh = [each for each in now.claims if not any(map(each.is_as, self.before.claims))]
        for claim in self.before.claims:
            if any(_implies(each, claim) for each in now.claims):
                continue
            alike = [each for each in fresh if set(each.upper) == set(claim.upper)]
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

    Of enclosures the upper ends are compared, of pieces over a parameter those of equal values.

    >>> is_greater("ln(3)", "1"), is_greater("in [0.1, 0.2]", "in [0.1, 0.3]")
    (True, False)
    >>> is_greater("for p in (1, 2): ln(p)", "for p in (1, 2): 2*ln(p)")
    False
    """
    if now == before:
        return False
    if now.startswith(PIECES) and before.startswith(PIECES):
        from dpcheck.pipeline.budgets import are_pieces_greater

        return are_pieces_greater(now, before)
    try:
        (low, high), (low_before, high_before) = _ends(now), _ends(before)
        if compare_texts(low, high_before) > 0:
            return True
        return False if compare_texts(high, low_before) <= 0 else None
    except ValueError:
        return None


def _ends(text: str) -> tuple[str, str]:
    """Return what a number is at least and at most, where it is too long to be written down.

    Of another one that is what it is compared by, of an enclosure the upper end.
    """
    if not text.startswith("in ["):
        return text, text
    ends = text.removeprefix("in [").partition("]")[0].split(", ")
    low, high = (end if end == "inf" else str(Fraction(end)) for end in ends)
    return (low, high) if HASHED in text else (high, high)


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+|\S", text)


def _implies(now: Claim, before: Claim) -> bool:
    """Return whether a claim surely bounds all that another one did, for as many values.

    What bounds nothing has to be said in the same words.
    """
    if not before.bounds or now.is_as(before):
        return now.is_as(before)
    if now.at and _tokens(now.at) != _tokens(before.at):
        return False
    if now.values != before.values and not _has_all_values(now, before):
        return False
    own = now.upper
    return set(own) == set(before.upper) and all(
        _is_within(name, own[name], bound, before.values) for name, bound in before.upper.items()
    )


def _has_all_values(now: Claim, before: Claim) -> bool:
    from dpcheck.pipeline.budgets import has_all

    return bool(now.values and before.values) and has_all(now.values, before.values)


def _is_within(name: str, now: tuple[str, bool], before: tuple[str, bool], values: str) -> bool:
    """Return whether a bound surely says what another one did: each with whether it is strict."""
    (own, is_strict), (bound, was_strict) = now, before
    if was_strict and not is_strict:  # it has to be less
        return not values and is_greater(bound, own) is True
    if own == bound or not values:
        return is_greater(own, bound) is False
    from dpcheck.pipeline.budgets import is_greater_somewhere

    return name in ("epsilon", "delta") and (
        is_greater_somewhere(own, bound, values, "epsilon" if name == "epsilon" else "delta")
        is False
    )
