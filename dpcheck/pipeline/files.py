"""Model files: which ones a call names, where their imports may lead, and their text.

A file's *root* bounds its imports: the directory given on the command line that led to it; for a
file given itself, the working directory if it contains the file, else the file's own folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpcheck.diagnostics.files import CannotRead, EmptyFile, HoldsNul, NoModels, NoSuchFile, NotUtf8
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.records import dataclass
from dpcheck.source import SourceText, Span

SUFFIX = ".dpm"


@dataclass(frozen=True, slots=True)
class ModelPath:
    """A model file: the name shown to people, where it really is, and the root of its imports."""

    shown: str
    real: Path
    root: Path


def model_paths(arguments: Sequence[str]) -> tuple[tuple[ModelPath, ...], tuple[Mistake, ...]]:
    """Return the files that the arguments name, each once, in order, and the mistakes met.

    A directory stands for every `.dpm` file in it and below it, sorted by path; names that begin
    with a dot are left out.
    """
    found: dict[Path, ModelPath] = {}
    mistakes: list[Mistake] = []
    for argument in arguments:
        named = _named_by(argument)
        if isinstance(named, Mistake):
            mistakes.append(named)
        else:
            for path in named:
                found.setdefault(path.real, path)
    return tuple(found.values()), tuple(mistakes)


def _named_by(argument: str) -> list[ModelPath] | Mistake:
    """Return the files one argument names, or why it names none."""
    path = Path(argument)
    try:
        if path.is_dir():
            root = path.resolve()
            below = [ModelPath(str(file), file.resolve(), root) for file in _files_below(path)]
            return below or NoModels(None, argument)
        if path.exists():
            real = path.resolve()
            return [ModelPath(argument, real, _root_of_file(real))]
    except (OSError, ValueError, RuntimeError) as error:
        return CannotRead(None, argument, os_reason(error))
    return NoSuchFile(None, argument, similar_path(path))


def _files_below(directory: Path) -> Iterator[Path]:
    """Yield the model files below a directory in the order of their paths."""
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIX) and not name.startswith("."):
                yield Path(folder) / name


def _root_of_file(real: Path) -> Path:
    working = Path.cwd().resolve()
    return working if real.is_relative_to(working) else real.parent


def similar_path(path: Path) -> str | None:
    """Return a path beside `path` whose name looks like its name."""
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in path.parent.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return None
    close = get_close_matches(path.name, names, n=1)
    return str(path.parent / close[0]) if close else None


def read_source(shown: str, real: Path) -> SourceText | Mistake:
    """Return the text of a file, or the mistake that keeps it from being a model.

    A byte order mark at the beginning is not part of the text.
    """
    try:
        content = real.read_bytes()
    except (OSError, ValueError) as error:
        return CannotRead(None, shown, os_reason(error))
    return decoded(shown, content)


def decoded(shown: str, content: bytes) -> SourceText | Mistake:
    """Return the content of a file as text, or the mistake that keeps it from being text."""
    text = content.removeprefix(b"\xef\xbb\xbf")
    try:
        source = SourceText(shown, text.decode("utf-8"))
    except UnicodeDecodeError as error:
        around = SourceText(shown, text.decode("utf-8", "replace"))
        start = len(text[: error.start].decode("utf-8"))
        offset = error.start + len(content) - len(text)
        return NotUtf8(Span(around, start, start + 1), shown, content[offset], offset)
    nul = source.text.find("\0")
    if nul >= 0:
        return HoldsNul(Span(source, nul, nul + 1), shown)
    if not source.text.strip():
        return EmptyFile(None, shown)
    return source


def os_reason(error: Exception) -> str:
    """Return the operating system's words, in lower case."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]
