"""How long a mechanism is at least once all it runs is written out, told before it is written.

Mechanisms that each run the next one twice double with every level, so writing them out up to the
limit, for every one of them, takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpcheck.model import surface, trees
from dpcheck.resolve.names.scopes import File, Session


def too_long_part(
    mechanism: surface.Mechanism, file: File, session: Session, limit: int
) -> surface.Mechanism | None:
    """Return the mechanism that makes one too long for certain, itself or one it runs, or None.

    Of several that run each other it is the innermost.
    """
    if _least_steps(mechanism, file, session) <= limit:
        return None
    for home, called in _called(mechanism.body, file):
        part = too_long_part(called, home, session, limit)
        if part is not None:
            return part
    return mechanism


def _least_steps(mechanism: surface.Mechanism, file: File, session: Session) -> int:
    """Return how many steps a mechanism has at the very least, written out.

    Only what is run in any case is counted, each time as a step, and one for each input that is no
    array: nothing inside of loops, which may have no round; of an `if` the shorter branch; nothing
    after what may `stop` or go on forever.
    """
    known = session.least_steps.get(id(mechanism))
    if known is None:
        known = session.least_steps[id(mechanism)] = 0  # while pending: calls in a circle
        known = _of_block(mechanism.body, file, session)
        session.least_steps[id(mechanism)] = known
    return known


def _of_block(body: Sequence[surface.Statement], file: File, session: Session) -> int:
    total = 0
    for statement in body:
        match statement:
            case surface.If(branches=branches, otherwise=otherwise):
                blocks = [*(block for _, block in branches), otherwise]
                total += min(_of_block(block, file, session) for block in blocks)
            case surface.Run() | surface.Sample():
                for home, called in _called((statement,), file):
                    scalars = sum(declared.indices is None for declared in called.inputs)
                    total += 1 + scalars + _least_steps(called, home, session)
        if any(isinstance(node, _ENDS) for node in trees.descendants(statement)):
            break
    return total


_ENDS = (surface.Stop, surface.Break, surface.While)


def _called(
    body: Sequence[surface.Statement], file: File
) -> Iterator[tuple[File, surface.Mechanism]]:
    """Yield the mechanisms that statements run or sample by a call."""
    for statement in body:
        for node in trees.descendants(statement):
            match node:
                case surface.Run(mechanism=name):
                    pass
                case surface.Sample(distribution=surface.Call(function=name)):
                    pass
                case _:
                    continue
            home, called = file.visible.get(name.name, (None, None))
            if home is not None and isinstance(called, surface.Mechanism):
                yield home, called
