"""Model files: which ones a call names, where their imports may lead, and their text.

A file's *root* bounds its imports: the directory given on the command line that led to it; for a
file given itself, the working directory if it contains the file, else the file's own folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from dpcheck.diagnostics.files import (
    CannotRead,
    EmptyFile,
    EmptyPath,
    HoldsNul,
    NoModels,
    NoSuchFile,
    NotUtf8,
)
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
        for named in _named_by(argument):
            if isinstance(named, Mistake):
                mistakes.append(named)
            else:
                found.setdefault(named.real, named)
    return tuple(found.values()), tuple(mistakes)


def _named_by(argument: str) -> list[ModelPath | Mistake]:
    """Return the files one argument names, in their places what keeps one from being looked at."""
    if not argument:
        return [EmptyPath(None)]
    path = Path(argument)
    try:
        if path.is_dir():
            return _files_below(path) or [NoModels(None, argument)]
        if path.exists():
            real = path.resolve()
            return [ModelPath(argument, real, _root_of_file(real))]
    except (OSError, ValueError, RuntimeError) as error:
        return [CannotRead(None, argument, os_reason(error))]
    return [NoSuchFile(None, argument, similar_path(path))]


def _files_below(directory: Path) -> list[ModelPath | Mistake]:
    """Return the model files below a directory in the order of their paths."""
    root = directory.resolve()
    found: list[ModelPath | Mistake] = []

    def refused(error: OSError) -> None:
        found.append(CannotRead(None, str(error.filename), os_reason(error)))

    for folder, folders, files in os.walk(directory, onerror=refused):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names = [name for name in sorted(files) if name.endswith(SUFFIX) and name[0] != "."]
        found.extend(_file_below(Path(folder) / name, root) for name in names)
    return found


def _file_below(file: Path, root: Path) -> ModelPath | Mistake:
    try:
        return ModelPath(str(file), file.resolve(), root)
    except (OSError, RuntimeError):  # Python 3.13 has no `RuntimeError` for circles any more
        return CannotRead(None, str(file), "its symbolic links lead in a circle")


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
        mode = real.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            # To read a pipe may take for ever, and a device may never end.
            return CannotRead(None, shown, "it is a pipe or a device, not a file")
        content = real.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
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
