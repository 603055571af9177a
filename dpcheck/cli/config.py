"""`[tool.dpcheck]` of pyproject.toml: what `check` does where the call says nothing else.

The file may be a stranger's, as models are. So it names nothing outside of its own folder, nothing
to be written and no cache; it makes a run stricter and limits lower, never the contrary.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from dpcheck.cli.memory import memory_of
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.limits import MAX_STATES, TIMEOUT, RunLimits, memory_text
from dpcheck.pipeline.sources.files import read_content
from dpcheck.records import dataclass, replace

NAME: Final = "pyproject.toml"


class WrongConfig(ValueError):
    """Settings that cannot be used: why."""


@dataclass(frozen=True)
class Config:
    """Settings of a project; None, or nothing, where it says nothing. `file` is where they stand.

    Times are in seconds, memory is in bytes.
    """

    file: Path | None = None
    paths: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    baseline: str | None = None
    explain: Literal["full", "short", "none"] | None = None
    strict_vacuity: bool = False
    max_states: int | None = None
    timeout: float | None = None
    total_timeout: float | None = None
    max_memory: int | None = None
    jobs: int | None = None

    @property
    def names(self) -> frozenset[str]:
        """The constants it sets, which a file need not declare."""
        return frozenset(text.partition("=")[0] for text in self.constants)

    def lowered(self, name: str, otherwise: float | None) -> float | None:
        """Return a limit: the one set here if it is lower; None is without a limit.

        >>> Config(timeout=9).lowered("timeout", 600), Config().lowered("timeout", 600)
        (9, 600)
        """
        own = getattr(self, name)
        return otherwise if own is None or (otherwise and own > otherwise) else own


def read_config(here: Path) -> Config:
    """Return the settings of the project that a folder is in; raises `WrongConfig`.

    That is the nearest pyproject.toml that has some, in the folder or above it in its checkout.
    """
    for folder in (here, *here.parents):
        file = folder / NAME
        if file.is_file():
            said = _table(file)
            if said is not None:
                return _config(file, said)
        if (folder / ".git").exists():
            break
    return Config()


def _table(file: Path) -> Mapping[str, Any] | None:
    """Return the table of dpcheck in a file, if it has one."""
    if file.resolve() != file.parent.resolve() / NAME:
        raise WrongConfig(f"{file} is a link that leads elsewhere")
    content = read_content(str(file), file)
    if isinstance(content, Mistake):
        raise WrongConfig(content.title)
    if b"dpcheck" not in content:
        return None
    import tomllib

    try:
        tools = tomllib.loads(content.decode("utf-8")).get("tool", {})
    except ValueError as error:
        raise WrongConfig(f"{file} cannot be read: {error}") from None
    said = tools.get("dpcheck") if isinstance(tools, dict) else None
    if said is not None and not isinstance(said, dict):
        raise WrongConfig(f"`dpcheck` in {file} is no table")
    return said


def _config(file: Path, said: Mapping[str, Any]) -> Config:
    found: dict[str, Any] = {}
    for name, value in said.items():
        read = _READERS.get(name)
        if read is None:
            known = ", ".join(sorted(_READERS))
            raise WrongConfig(f"[tool.dpcheck] in {file} has no setting `{name}`; it has {known}")
        try:
            found[name.replace("-", "_")] = read(value, file.parent)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            reason = str(error) if isinstance(error, WrongConfig) else "that is no value for it"
            raise WrongConfig(f"`{name}` of [tool.dpcheck] in {file}: {reason}") from None
    return Config(file, **found)


def _inside(value: Any, folder: Path) -> str:  # noqa: ANN401
    """Return a path below the folder of the file, as seen from the working directory."""
    place = folder / _text(value, folder)
    if not place.resolve().is_relative_to(folder.resolve()):
        raise WrongConfig(f"`{value}` lies outside of {folder}")
    return os.path.relpath(place)


def _text(value: Any, _folder: Path) -> str:  # noqa: ANN401
    if not isinstance(value, str) or not value:
        raise WrongConfig("a text is meant")
    return value


def _paths(value: Any, folder: Path) -> tuple[str, ...]:  # noqa: ANN401
    if not isinstance(value, list) or not value:
        raise WrongConfig('a list of files and folders is meant, `["models/"]`')
    return tuple(_inside(each, folder) for each in value)


def _constants(value: Any, _folder: Path) -> tuple[str, ...]:  # noqa: ANN401
    if not isinstance(value, dict) or not all(re.fullmatch(r"[^\W\d]\w*", name) for name in value):
        raise WrongConfig('a table of names is meant, `{ n = 8, alpha = "1/2" }`')
    if not all(type(each) in (str, int) for each in value.values()):
        raise WrongConfig("a value is an integer or a text of the language: a float is not exact")
    return tuple(f"{name}={each}" for name, each in value.items())


def _switch(value: Any, _folder: Path) -> bool:  # noqa: ANN401
    if value is not True:
        raise WrongConfig("only `true` is meant: a file makes a run stricter, not looser")
    return True


def _detail(value: Any, folder: Path) -> str:  # noqa: ANN401
    if _text(value, folder) not in ("full", "short", "none"):
        raise WrongConfig("`full`, `short` or `none` is meant")
    return str(value)


def _number(kind: type[int | float]) -> Callable[[Any, Path], Any]:
    def read(value: Any, _folder: Path) -> Any:  # noqa: ANN401
        is_number = isinstance(value, kind | int) and not isinstance(value, bool)
        if not is_number or not 0 < value < 10**18:
            raise WrongConfig("a positive number is meant")
        return value

    return read


_READERS: Final[Mapping[str, Callable[[Any, Path], Any]]] = {
    "baseline": _inside,
    "constants": _constants,
    "explain": _detail,
    "jobs": _number(int),
    "max-memory": lambda value, folder: memory_of(_text(value, folder)),
    "max-states": _number(int),
    "paths": _paths,
    "strict-vacuity": _switch,
    "timeout": _number(float),
    "total-timeout": _number(float),
}


def limited(config: Config, limits: RunLimits, is_given: Callable[[str], bool]) -> RunLimits:
    """Return the limits of a run: what the call gives, else the lower of default and setting."""
    names = ("max_states", "timeout", "total_timeout", "max_memory")
    own: dict[str, Any] = {
        n: config.lowered(n, getattr(limits, n)) for n in names if not is_given(n)
    }
    found = replace(limits, **own)
    if found.total_timeout == limits.total_timeout or found.total_timeout is None:
        return found
    import time

    return replace(found, deadline=time.monotonic() + found.total_timeout)


def settings(config: Config, memory: int | None) -> list[tuple[str, str, str]]:
    """Return the name, value and origin of every setting; `memory` is what a run may take."""
    defaults: dict[str, Any] = {
        "explain": "full",
        "jobs": 1,
        "max-memory": memory,
        "max-states": MAX_STATES,
        "timeout": TIMEOUT,
    }
    rows = []
    for name in sorted(_READERS):
        own, default = getattr(config, name.replace("-", "_")), defaults.get(name)
        origin = "default" if not own else os.path.relpath(config.file or NAME)
        is_limit = name in ("max-memory", "max-states", "timeout")
        if own and is_limit and default is not None and own > default:
            own, origin = None, f"default, which {origin} cannot raise"
        rows.append((name, _shown(name, own or default), origin))
    return rows


def _shown(name: str, value: Any) -> str:  # noqa: ANN401
    match value:
        case None | False | ():
            return "none"
        case True:
            return "true"
        case tuple():
            return ", ".join(value)
        case _ if name == "max-memory":
            return memory_text(value)
        case _ if name.endswith("timeout"):
            return f"{value:g} s"
        case _:
            return str(value)
