"""Every kind of mistake by its code, for `dpcheck explain` and for the tests."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from dpcheck import diagnostics
from dpcheck.diagnostics.mistakes import Mistake


def mistakes_by_code() -> dict[str, type[Mistake]]:
    """Return the class of every code, in the order of the codes.

    Every module of this room is imported; a class that has a `code` is a kind of mistake.

    >>> mistakes_by_code()["DP004"].__name__
    'EmptyFile'
    """
    for module in pkgutil.iter_modules(diagnostics.__path__):
        import_module(f"{diagnostics.__name__}.{module.name}")
    found: dict[str, type[Mistake]] = {}
    for kind in _kinds(Mistake):
        known = found.setdefault(kind.code, kind)
        assert known is kind, f"{kind.code} is the code of two kinds of mistake"
    return dict(sorted(found.items()))


def _kinds(base: type[Mistake]) -> Iterator[type[Mistake]]:
    """Yield the classes below `base` that have a code of their own, each once."""
    for kind in base.__subclasses__():
        if "code" in vars(kind) and kind.__module__.startswith(diagnostics.__name__):
            yield kind
        yield from _kinds(kind)
