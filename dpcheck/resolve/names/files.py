"""Files and what each sees: its own declarations, and those of everything it imports.

Calls that go in a circle are found here, before anything is inlined.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from dpcheck.diagnostics.composition import ImportClash, Recursion
from dpcheck.diagnostics.names import NameTaken
from dpcheck.model import surface
from dpcheck.resolve.names.scopes import Declaration, File, Session, what_is
from dpcheck.resolve.names.symbols import introduced_symbols
from dpcheck.resolve.names.syntax import called_names

Import = surface.ImportFile | surface.ImportStandard


def linked_file(
    main: surface.SurfaceModel, imported: Sequence[surface.SurfaceModel], session: Session
) -> File:
    """Return the main file with everything it sees.

    `imported` is everything it imports, directly or not, every file after those it imports
    itself. A file sees what it declares and all that its imports see.
    """
    files: dict[str, File] = {}
    for model in imported:
        files[PurePath(model.source.name).as_posix()] = _file(model, files, session)
    return _file(main, files, session)


def _file(model: surface.SurfaceModel, known: Mapping[str, File], session: Session) -> File:
    declared = _declared(model, session)
    visible: dict[str, tuple[File, Declaration]] = {}
    symbols: frozenset[str] = frozenset()
    for item in model.items:
        if isinstance(item, Import):
            for file in _imported(model, item, known):
                symbols |= file.symbols
                _bring_in(file, item, visible, session)
    for name, declaration in declared.items():
        if name in visible:
            clash = visible[name][1]
            session.report(ImportClash(declaration.name.span, name, clash.name.span))
    names = {**{name: entry[1] for name, entry in visible.items()}, **declared}
    constants = {n for n, found in names.items() if isinstance(found, surface.Constant)}
    symbols |= introduced_symbols(model, constants, set(names))
    file = File(model, declared, visible, symbols)
    visible.update({name: (file, declaration) for name, declaration in declared.items()})
    _report_recursion(file, session)
    return file


def _declared(model: surface.SurfaceModel, session: Session) -> dict[str, Declaration]:
    """Return what a file declares; a name that is taken is a mistake, the first one counts."""
    declared: dict[str, Declaration] = {}
    for item in model.items:
        if isinstance(item, Declaration):
            first = declared.setdefault(item.name.name, item)
            if first is not item:
                what = what_is(first)
                session.report(NameTaken(item.name.span, item.name.name, what, first.name.span))
            match item:
                case surface.Constant(name=surface.Identifier("inf"), value=surface.Interval()):
                    session.report(NameTaken(item.name.span, "inf", "infinity", None))
    return declared


def _imported(
    importer: surface.SurfaceModel, item: Import, known: Mapping[str, File]
) -> Sequence[File]:
    """Return the file an import names; all of them where its name was reached by a link."""
    match item:
        case surface.ImportStandard(module=module):
            name = f"std.{module}"
        case surface.ImportFile(path=path):
            folder = PurePath(importer.source.name).parent.as_posix()
            name = posixpath.normpath(posixpath.join(folder, path))
    return (known[name],) if name in known else tuple(known.values())


def _bring_in(
    file: File, item: Import, visible: dict[str, tuple[File, Declaration]], session: Session
) -> None:
    """Add what a file sees; one declaration may come in on several ways."""
    if not visible:  # as in long chains of imports: nothing can clash
        visible.update(file.visible)
        return
    for name, (home, declaration) in file.visible.items():
        _, first = visible.setdefault(name, (home, declaration))
        if first is not declaration:
            session.report(ImportClash(item.span, name, first.name.span))


def _report_recursion(file: File, session: Session) -> None:
    """Report every cycle of calls among the declarations of one file.

    Imports have no cycles, so a cycle of calls never leaves its file.
    """
    graph = {name: _calls(declaration, file) for name, declaration in file.declared.items()}
    for name in _without_leaves(graph):
        cycle = _cycle_from(name, graph)
        if cycle is not None:
            session.recursive.add(id(file.declared[name]))
            if min(cycle) == name:
                declaration = file.declared[name]
                names = (*cycle, cycle[0])
                session.report(Recursion(declaration.name.span, names))


def _calls(declaration: Declaration, file: File) -> list[str]:
    if isinstance(declaration, surface.Constant | surface.Chain):
        return []
    called = (identifier.name for identifier in called_names(declaration))
    return [name for name in dict.fromkeys(called) if name in file.declared]


def _without_leaves(graph: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the nodes that paths may leave without end, in order: those of cycles among them.

    Nearly always there are none, and a long row of calls needs no search from each of its members.
    """
    n_left = {name: len(targets) for name, targets in graph.items()}
    callers: dict[str, list[str]] = {name: [] for name in graph}
    for name, targets in graph.items():
        for target in targets:
            callers[target].append(name)
    waiting = [name for name, count in n_left.items() if count == 0]
    for leaf in waiting:
        for name in callers[leaf]:
            n_left[name] -= 1
            if n_left[name] == 0:
                waiting.append(name)
    return [name for name, count in n_left.items() if count > 0]


def _cycle_from(start: str, graph: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
    """Return a shortest cycle through a node, or None."""
    reached: dict[str, tuple[str, ...]] = {start: (start,)}
    waiting = [start]
    for name in waiting:
        for target in graph[name]:
            if target == start:
                return reached[name]
            if target not in reached:
                reached[target] = (*reached[name], target)
                waiting.append(target)
    return None
