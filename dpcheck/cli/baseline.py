"""A baseline: what mechanisms cost, and what is claimed of them, as a file that is reviewed.

It is TOML in a fixed order, a table a target, so that a change of a budget is a change of one
line. Targets of files that a run did not look at stay as they are.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any

from dpcheck.exact.reading import compare_texts
from dpcheck.records import dataclass
from dpcheck.report.answers import Change, ClaimMade, Measured, Summary

HEAD = """\
# What each mechanism costs, and what is claimed of it. `dpcheck check --baseline` fails where
# something here grew or was weakened; `dpcheck check --update-baseline` writes this file.
version = 1
"""


class WrongBaseline(ValueError):
    """A baseline that cannot be read: why."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a baseline says of a target: quantities, and claims with the ε and δ of each `dp`."""

    amounts: Mapping[str, str]
    claims: tuple[ClaimMade, ...]


Baseline = dict[str, dict[str, Recorded]]
"""By file, as seen from the folder of the baseline, and target."""


def read_baseline(place: Path) -> Baseline:
    """Return what a baseline records; raises `WrongBaseline`."""
    try:
        found = tomllib.loads(place.read_text("utf-8"))
        if found.get("version") != 1:
            raise WrongBaseline("it has no `version = 1`")
        files = found.get("files", {})
        return {
            file: {target: _recorded(said) for target, said in targets.items()}
            for file, targets in files.items()
        }
    except OSError as error:
        raise WrongBaseline((error.strerror or str(error)).lower()) from None
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise WrongBaseline(str(error) or "it is no baseline") from None


def _recorded(said: Mapping[str, Any]) -> Recorded:
    amounts = {name: text for name, text in said.items() if name != "claims"}
    if not all(isinstance(text, str) for text in amounts.values()):
        raise WrongBaseline("a quantity is no text")
    for text in amounts.values():
        compare_texts(_upper_end(text), "0")
    claims = []
    for claim in said["claims"]:
        budget = (claim["epsilon"], claim["delta"]) if "epsilon" in claim else None
        claims.append(ClaimMade(claim["check"], 0, budget))
    return Recorded(amounts, tuple(claims))


def baseline_text(measured: Sequence[Measured], before: Baseline, folder: Path) -> str:
    """Return a baseline of what was measured, and of what an earlier one says of other files."""
    now: Baseline = {}
    for each in measured:
        amounts = {name: amount.exact for name, amount in each.amounts.items()}
        targets = now.setdefault(_named(each.file, folder), {})
        targets[each.target] = Recorded(amounts, each.claims)
    lines = [HEAD]
    for file, targets in sorted({**before, **now}.items()):
        for target, said in sorted(targets.items()):
            lines.append(f"[files.{_quoted(file)}.{_quoted(target)}]")
            lines += [f"{_quoted(name)} = {_quoted(text)}" for name, text in said.amounts.items()]
            lines += [*_claim_lines(said.claims), ""]
    return "\n".join(lines)


def _claim_lines(claims: Sequence[ClaimMade]) -> Iterator[str]:
    yield "claims = ["
    for claim in dict.fromkeys(ClaimMade(each.text, 0, each.budget) for each in claims):
        fields = {"check": claim.text}
        if claim.budget is not None:
            fields |= {"epsilon": claim.budget[0], "delta": claim.budget[1]}
        inner = ", ".join(f"{name} = {_quoted(text)}" for name, text in fields.items())
        yield f"  {{ {inner} }},"
    yield "]"


def _quoted(text: str) -> str:
    """Return a text as a basic string of TOML, whose escapes are those of JSON and one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _named(file: str, folder: Path) -> str:
    """Return the name of a file as seen from the folder of the baseline."""
    return Path(relpath(file, folder)).as_posix()


# --- comparison ----------------------------------------------------------------------------


def changes_since(before: Baseline, summary: Summary, folder: Path) -> tuple[Change, ...]:
    """Return what is worse than a baseline records, of the files that a run looked at.

    A file that is gone counts as looked at. What the run left undecided is not compared.
    """
    found: list[Change] = []
    shown = {_named(each.file, folder): each.file for each in summary.measured}
    now = {(_named(each.file, folder), each.target): each for each in summary.measured}
    for file, targets in before.items():
        if file not in shown and (folder / file).exists():
            continue
        for target, recorded in targets.items():
            measured = now.get((file, target))
            if measured is None:
                gone = Measured(shown.get(file, relpath(folder / file)), target, 1, {}, ())
                found += _claim_changes(recorded, gone)
            else:
                found += [*_growth(recorded, measured), *_claim_changes(recorded, measured)]
    return tuple(found)


def _growth(recorded: Recorded, now: Measured) -> Iterator[Change]:
    for what, before in recorded.amounts.items():
        amount = now.amounts.get(what)
        if amount is not None and is_greater(amount.exact, before):
            yield Change("budget-grew", now.file, now.line, now.target, what, before, amount.exact)


def is_greater(now: str, before: str) -> bool:
    """Return whether a value is greater than another; of enclosures the upper ends are compared.

    A value that cannot be told from the other one has not grown.

    >>> is_greater("ln(3)", "1"), is_greater("in [0.1, 0.2]", "in [0.1, 0.3]")
    (True, False)
    """
    try:
        return compare_texts(_upper_end(now), _upper_end(before)) > 0
    except ValueError:
        return False


def _upper_end(text: str) -> str:
    from fractions import Fraction

    if not text.startswith("in ["):
        return text
    end = text.removeprefix("in [").removesuffix("]").split(", ")[1]
    return end if end == "inf" else str(Fraction(end))


def _claim_changes(recorded: Recorded, now: Measured) -> Iterator[Change]:
    """Yield claims that are gone, or say less: nothing now claimed implies what was."""
    fresh = [each for each in now.claims if each.text not in {c.text for c in recorded.claims}]
    for claim in recorded.claims:
        if any(_implies(each, claim) for each in now.claims):
            continue
        weaker = [each for each in fresh if (each.budget is None) == (claim.budget is None)]
        where = now.file, weaker[0].line if weaker else now.line, now.target
        if weaker:
            yield Change("claim-weakened", *where, "claim", claim.text, weaker[0].text)
        else:
            yield Change("claim-removed", *where, "claim", claim.text, None)


def _implies(now: ClaimMade, before: ClaimMade) -> bool:
    """Return whether a claim says all that another one did."""
    if now.budget is None or before.budget is None:
        return now.text == before.text
    return all(not is_greater(n, b) for n, b in zip(now.budget, before.budget, strict=True))
