"""Model files: which ones a call names, where their imports may lead, and their text.

A file's *root* bounds its imports: the directory given on the command line that led to it; for a
file given itself, the working directory if it contains the file, else the file's own folder. Of
several roots, where several arguments lead to one file, the widest counts.

A model may come from a stranger, so links are followed before anything is read: what they lead to
must lie below the root, in no hidden folder, and be named as a model or a table is.
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
    LinkOutsideRoot,
    NoModels,
    NoSuchFile,
    NotUtf8,
)
from dpcheck.diagnostics.mistakes import Mistake, similar
from dpcheck.records import dataclass, replace
from dpcheck.source import SourceText, Span

SUFFIX = ".dpm"
TABLE_SUFFIXES = (".json", ".csv")

MAX_BYTES = 32 * 2**20
"""A file of more bytes is not read: the longest model anybody wrote has a thousandth of them."""

ORDER_MARK = b"\xef\xbb\xbf"

STANDARD_INPUT = "-"
"""The argument that stands for the text of standard input, where a command reads it."""

_OF_THE_KERNEL = (Path("/proc"), Path("/sys"))
"""Files below these are made when they are read, of what processes and devices know."""


@dataclass(frozen=True)
class ModelPath:
    """A model file: the name shown to people, where it really is, and the root of its imports."""

    shown: str
    real: Path
    root: Path


def model_paths(
    arguments: Sequence[str], *, reads_input: bool = False
) -> tuple[tuple[ModelPath, ...], tuple[Mistake, ...]]:
    """Return the files that the arguments name, each once, in order, and the mistakes met.

    A directory stands for every `.dpm` file in it and below it, sorted by path; names that begin
    with a dot are left out. With `reads_input`, `-` stands for `input_path()`.
    """
    found: dict[Path, ModelPath] = {}
    mistakes: list[Mistake] = []
    for argument in arguments:
        is_input = reads_input and argument == STANDARD_INPUT
        for named in [input_path()] if is_input else _named_by(argument):
            if isinstance(named, Mistake):
                mistakes.append(named)
                continue
            known = found.setdefault(named.real, named)
            if known.root.is_relative_to(named.root):
                found[named.real] = replace(known, root=named.root)
    return tuple(found.values()), tuple(mistakes)


def input_path() -> ModelPath:
    """Return where the text of standard input stands: in the working directory, for its imports."""
    here = Path.cwd().resolve()
    return ModelPath("<stdin>", here / "<stdin>", here)


def _named_by(argument: str) -> list[ModelPath | Mistake]:
    """Return the files one argument names, in their places what keeps one from being looked at."""
    if not argument:
        return [EmptyPath(None)]
    path = Path(argument)
    try:
        if path.is_dir():
            return _files_below(path) or [NoModels(None, argument)]
        if path.exists() or path.is_symlink():
            return [_where_it_leads(argument, path, _root_of_file(path))]
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
        paths = [Path(folder) / name for name in names]
        found.extend(_where_it_leads(str(path), path, root) for path in paths)
    return found


def _root_of_file(path: Path) -> Path:
    folder, working = path.parent.resolve(), Path.cwd().resolve()
    return working if folder.is_relative_to(working) else folder


def _where_it_leads(shown: str, path: Path, root: Path) -> ModelPath | Mistake:
    """Return the file that a path names; links may lead only to models below the root."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # Python 3.13 has no `RuntimeError` for circles any more
        return CannotRead(None, shown, "its symbolic links lead in a circle")
    if path.is_symlink():
        is_model = real.suffix == SUFFIX and real.is_relative_to(root)
        if not is_model or is_hidden(real, path.parent.resolve()):
            return LinkOutsideRoot(None, shown, str(root))
    return ModelPath(shown, real, root)


def is_hidden(real: Path, start: Path) -> bool:
    """Return whether a file, or a folder on the way to it from another, begins with a dot.

    A repository keeps its secrets there (`.git`, `.env`).

    >>> is_hidden(Path("/repo/.git/config"), Path("/repo/models"))
    True
    >>> is_hidden(Path("/home/.cache/b.dpm"), Path("/home/.cache/models"))
    False
    """
    shared = os.path.commonpath([real, start])
    return any(part.startswith(".") for part in real.relative_to(shared).parts)


def similar_path(path: Path, but: Path | None = None) -> str | None:
    """Return a path beside `path` whose name looks like its name, none of a certain file."""
    try:
        beside = [entry for entry in path.parent.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return None
    close = similar(path.name, [entry.name for entry in beside if entry != but])
    return None if close is None else str(path.parent / close)


def read_source(shown: str, real: Path) -> SourceText | Mistake:
    """Return the text of a file, or the mistake that keeps it from being a model.

    A byte order mark at the beginning is not part of the text.
    """
    content = read_content(shown, real)
    return content if isinstance(content, Mistake) else decoded(shown, content)


def read_content(shown: str, real: Path) -> bytes | Mistake:
    """Return what stands in a file, or why it is not read."""
    try:
        found = real.stat()
        is_made_up = any(real.is_relative_to(place) for place in _OF_THE_KERNEL)
        if is_made_up or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            # To read a pipe may take for ever, and a device may never end.
            return CannotRead(None, shown, "it is a pipe or a device, not a file")
        if found.st_size > MAX_BYTES:
            reason = f"it has {found.st_size:,} bytes; a model has at most {MAX_BYTES:,}"
            return CannotRead(None, shown, reason)
        return real.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        return CannotRead(None, shown, os_reason(error))


def decoded(shown: str, content: bytes) -> SourceText | Mistake:
    """Return the content of a file as text, or the mistake that keeps it from being text."""
    if len(content) > MAX_BYTES:
        return CannotRead(None, shown, f"it has more than {MAX_BYTES:,} bytes")
    text = content.removeprefix(ORDER_MARK)
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
