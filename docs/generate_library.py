"""Write docs/library.md: every model and library with what its comment says and its verdicts.

Run from the root of the repository, after a change of `models/` or `dpcheck/std/`:

    .venv/bin/python docs/generate_library.py

A test compares the page with the files and with the verdicts it gets itself.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "library.md"
MODELS = ROOT / "models"
STANDARD = ROOT / "dpcheck" / "std"

FOLDERS = {
    ".": "First models",
    "dpctl": "The paper that introduced dpCTL*",
    "correlated": "Correlated records",
    "anonymity": "Introductory notes: anonymity and randomized response",
    "beliefs": "Notes on epsilon, delta and what an attacker learns",
    "secrets": "Secrets and what an adversary believes about the rest (Pufferfish)",
    "analysts": "Analysts who adapt",
    "building_blocks": "Building blocks of a lecture",
    "local": "Local: people answer for themselves",
    "all_values": "All values of a parameter",
    "noise": "Noise on a number",
    "selection": "Selection",
    "streams": "Streams",
    "histograms": "Histograms and release",
    "iterative": "Iterative mechanisms",
    "subtleties": "Subtleties",
    "bugs": "Bugs that libraries shipped",
}
"""The folders of `models/` in the order of the page, with their headings."""

INTRODUCTION = """\
# The library

Every mechanism that ships with dpcheck, and every example under `models/` with its verdicts. This
page is written by `docs/generate_library.py` from the files; do not edit it.

A claim stands here once for all parameters it is checked with. *holds* and *violated, as claimed*
are exact, for all inputs of the box that the model declares: see *Limits*.

Mechanisms that the literature states with noise on all integers, or on ℝ, are here twice: with
noise that is clamped, as programs have it, and with noise on all integers, `unbounded_...` beside
it, where the published number is claimed. `noisy_count(noise = noise_unbounded)` and
`unbounded_geometric` (of `std.truncated_geometric`) are such forms as well. Totals of noisy numbers
are sums of numbers without bounds, which are not computed: `unbounded_prefix_sum` and
`unbounded_smart_sum` show the numbers that the totals are made of, which tells as much. Three have
no form without bounds: `sparse_vector_with_gap` shows the difference of two such numbers;
`staircase` has noise that is not geometric, and only clamps what it shows; on the circle of
`noisy_count_on_circle` there is none. The discrete Gaussian has no exact weights on all integers.
"""

Results = Sequence[Mapping[str, Any]]


def page(results_of: Mapping[Path, Results]) -> str:
    """Return the whole page; `results_of` has the results of every model file."""
    parts = [INTRODUCTION, library_part()]
    for folder, heading in FOLDERS.items():
        parts.append(f"## {heading}\n")
        parts += [model_part(path, results_of[path]) for path in models(folder)]
    return "\n".join(parts)


def models(folder: str) -> list[Path]:
    """Return the model files right in a folder of `models/`."""
    return sorted((MODELS / folder).glob("*.dpm"))


def library_part() -> str:
    """Return the table of what `import std.NAME` brings in."""
    rows = ["## What `import std.NAME` brings in\n", "| library | mechanisms | |", "|---|---|---|"]
    for path in sorted(STANDARD.glob("*.dpm")):
        text = path.read_text("utf-8")
        names = ", ".join(f"`{name}`" for name in re.findall(r"(?m)^mechanism (\w+)", text))
        link = f"[`std.{path.stem}`](../dpcheck/std/{path.name})"
        rows.append(f"| {link} | {names} | {_cell(_comment(text)[0])} |")
    return "\n".join(rows) + "\n"


def model_part(path: Path, results: Results) -> str:
    """Return the section of one model file: its comment, and a table of its claims."""
    where = path.relative_to(ROOT).as_posix()
    title, *fields = _comment(path.read_text("utf-8"))
    lines = [f"### [{path.stem}](../{where})\n", f"{title}\n"]
    lines += [f"- {field}" for field in fields]
    lines += ["", "| | claim | verdict |", "|---|---|---|", *_claim_rows(results)]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    """Return the title and the fields (`Models: ...`) of the comment a file begins with."""
    lines = []
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        lines.append(line[1:].strip())
    paragraphs = " \n".join(lines).split(" \n \n", 1)
    fields = re.split(r"(?m)^(?=[A-Z]\w+: )", paragraphs[1]) if len(paragraphs) > 1 else []
    title = " ".join(paragraphs[0].split())
    return [title, *(_field(field) for field in fields if field.strip())]


def _field(text: str) -> str:
    """Return a field in one line, its name in bold."""
    name, told = " ".join(text.split()).split(": ", 1)
    return f"**{name}:** {told.replace('*', chr(92) + '*')}"


def _claim_rows(results: Results) -> Iterable[str]:
    """Yield a row for every claim of the file, whatever the number of its parameters."""
    by_line: dict[int, list[Mapping[str, Any]]] = {}
    for result in results:
        by_line.setdefault(result["line"], []).append(result)
    for _, same in sorted(by_line.items()):
        first, *others = same
        name = f"*{_cell(first['name'])}*: " if first["name"] else ""
        claim = f"{name}`{_cell(first['target'])}: {_cell(first['claim'])}`"
        more = f", and {len(others)} more" if others else ""
        verdicts = dict.fromkeys(_verdict(result) for result in same)
        yield f"| {first['kind']} | {claim}{more} | {', '.join(verdicts)} |"


def _verdict(result: Mapping[str, Any]) -> str:
    if "pieces" in result:
        texts = dict.fromkeys(piece["exact"] for piece in result["pieces"])
        return "; ".join(f"`{_cell(text)}`" for text in texts)
    if result["verdict"] == "value":
        value = result["value"]
        low, high = value.get("enclosure", ("", ""))
        return f"`{_cell(value.get('exact', f'in [{low}, {high}]'))}`"
    if result["kind"] == "refute" and result["verdict"] == "violated":
        return "violated, as claimed"
    return str(result["verdict"])


def _cell(text: str) -> str:
    """Return the text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def checked() -> dict[Path, Results]:
    """Return the results of every model file, from the command line's JSON."""
    run = subprocess.run(
        [sys.executable, "-m", "dpcheck", "check", str(MODELS), "--format", "json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[Path, list[Mapping[str, Any]]] = {}
    for result in json.loads(run.stdout)["results"]:
        found.setdefault(Path(result["file"]), []).append(result)
    return found


if __name__ == "__main__":
    PAGE.write_text(page(checked()), "utf-8")
