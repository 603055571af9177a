"""The library that ships with dpcheck, and the file a newcomer starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dpcheck.diagnostics.files import AlreadyExists, CannotWrite, NotAName
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.parse import parse_model
from dpcheck.pipeline.sources.files import SUFFIX, os_reason
from dpcheck.pipeline.sources.imports import STANDARD
from dpcheck.records import dataclass
from dpcheck.source import SourceText


@dataclass(frozen=True)
class LibraryFile:
    """A library: `import std.NAME` brings it in; the title is its first line."""

    name: str
    title: str


def library() -> tuple[LibraryFile, ...]:
    """Return the libraries that ship with the package, by name.

    >>> [file.title for file in library() if file.name == "survey"]
    ['The survey of one yes-or-no question, answered with deniability.']
    """
    return tuple(
        LibraryFile(path.stem, title(path.read_text("utf-8")))
        for path in sorted(STANDARD.glob(f"*{SUFFIX}"))
    )


def title(text: str) -> str:
    r"""Return the first line of the comment that a model file begins with.

    >>> title("# A survey.\n#\n# Source: Warner")
    'A survey.'
    """
    first = text.split("\n", 1)[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def write_new_file(name: str) -> Path | Mistake:
    """Write the file to start from for a mechanism and return its path, or why there is none.

    The name may lead to a directory and may end in `.dpm`; a file that exists is never touched.
    """
    path = Path(name if name.endswith(SUFFIX) else name + SUFFIX)
    mechanism = path.name.removesuffix(SUFFIX)
    text = STARTING_FILE.replace("NAME", mechanism)
    if not _is_name(mechanism) or parse_model(SourceText(str(path), text)).mistakes:
        return NotAName(None, mechanism)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return AlreadyExists(None, str(path))
    except (OSError, ValueError) as error:
        return CannotWrite(None, str(path), os_reason(error))
    return path


PLAIN_SUFFIXES = (".txt", ".log")
"""Files of these names may be replaced by plain text, whatever they begin with."""


def written_over_own(
    place: str, text: str, *, head: str | None = None, is_plain: bool = False
) -> Mistake | None:
    """Write a text to a file, or return why not: only what begins as this text does is replaced.

    Then it was made by dpcheck: its first line is the same, or as much of it as `head`. With
    `is_plain`, only files of `PLAIN_SUFFIXES` are replaced. Pipes and devices hold nothing that
    could be lost.
    """
    path = Path(place)
    begins = not (is_plain and path.suffix in PLAIN_SUFFIXES)
    first = (text.partition("\n")[0] if head is None else head).encode() if begins else b""
    try:
        if path.is_file():
            with path.open("rb") as file:
                if file.read(len(first)) not in (b"", first):
                    return AlreadyExists(None, place)
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        return CannotWrite(None, place, os_reason(error))
    return None


def written_witnesses(directory: str, witnesses: Sequence[tuple[str, str]]) -> Mistake | None:
    """Write named texts into a directory, which is made; or return why not.

    Of two with one name the second gets another: the names of files may differ in signs only. Those
    of any version are replaced.
    """
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        return CannotWrite(None, directory, os_reason(error))
    taken: Counter[str] = Counter()
    for name, text in witnesses:
        taken[name] += 1
        other = name if taken[name] == 1 else f"{taken[name]}-{name}"
        refused = written_over_own(str(place / other), text, head=text.partition("/")[0])
        if refused is not None:
            return refused
    return None


def _is_name(text: str) -> bool:
    """Return whether a mechanism may have this name beside the noise that the file draws."""
    return text.isidentifier() and text != "geometric"


STARTING_FILE = """\
# One line that says what NAME is; `dpcheck check` reads on.
#
# Models:    what is modelled, and the source (author, work, year).
# Adjacency: what differs between neighbors: one record added or removed, or one replaced?
# Proved:    what the claims below show, in words.
# Limits:    which inputs they cover.

mechanism NAME(n = 5, alpha = 1/2) {
  input x in 0..n                           # private; every value of the set is checked
  adjacent abs(x - x') <= 1                 # who is a neighbor; x' is the neighbor's x

  y ~ geometric(x, alpha) clamped 0..n      # noise; what falls outside lands on the bounds
  output y                                  # what an adversary sees, and nothing else
}

check   NAME: dp(ln 2)                      # must hold, for every pair of neighbors
check   NAME: epsilon = ln 2                # the least budget, exactly
refute  NAME: dp(1/2)                       # must be violated: a known leak stays known
compute NAME: delta(0)                      # a value to report

# The same claim for several parameters.
for k in 2..4 { check NAME(alpha = 1/k): epsilon = ln k }

# Ready-made mechanisms: `dpcheck list` shows them, `import std.survey` brings one in.
"""
