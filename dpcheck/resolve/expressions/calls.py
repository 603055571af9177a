"""How deep and how often functions call functions, told before their calls are written out."""

from __future__ import annotations

from collections.abc import Iterator

from dpcheck.model import surface
from dpcheck.resolve.names.scopes import File, Session
from dpcheck.resolve.names.syntax import called_names


def written_out(function: surface.Function, file: File, session: Session) -> tuple[int, int]:
    """Return how deep a call of a function goes, and how many calls it is, itself included.

    Every call in a body is written out, whatever the arguments are. Calls in a circle, a mistake
    of their own, count once. No recursion: functions may call each other in a long row.
    """
    known = session.written_out
    waiting = [(file, function)]
    while waiting:
        home, current = waiting[-1]
        called = [] if id(current) in session.recursive else list(_called(current, home))
        unknown = [pair for pair in called if id(pair[1]) not in known]
        if unknown and id(current) not in known:
            waiting.extend(unknown)
            continue
        waiting.pop()
        if id(current) not in known:
            counts = [known[id(other)] for _, other in called]
            depth = 1 + max((below for below, _ in counts), default=0)
            known[id(current)] = depth, 1 + sum(n_calls for _, n_calls in counts)
    return known[id(function)]


def too_large_function(
    function: surface.Function, file: File, session: Session, limits: tuple[int, int]
) -> surface.Function | None:
    """Return a function that is over a limit although none that it calls is; None within both."""
    found: list[surface.Function] = []
    waiting = [(file, function)]
    while waiting:
        home, current = waiting.pop()
        depth, n_calls = written_out(current, home, session)
        if depth > limits[0] or n_calls > limits[1]:
            found.append(current)
            waiting = list(_called(current, home))
            known = session.too_large.get(id(current))
            if known is not None:
                found.append(known)
                break
    session.too_large.update((id(above), found[-1]) for above in found)
    return found[-1] if found else None


def _called(function: surface.Function, file: File) -> Iterator[tuple[File, surface.Function]]:
    """Yield the functions that a function's body calls, each as often as it does."""
    for name in called_names(function.body):
        home, called = file.visible.get(name.name, (None, None))
        if home is not None and isinstance(called, surface.Function):
            yield home, called
