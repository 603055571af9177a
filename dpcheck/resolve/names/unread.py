"""Warnings about names that nothing reads, and about symbols in their place.

A bare name that is output and names nothing is a symbol, so nothing else tells of such a slip.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import chain

from dpcheck.diagnostics.names import MisspeltOutput, UnusedLocal
from dpcheck.model import surface, trees
from dpcheck.resolve.names.scopes import Scope
from dpcheck.resolve.names.symbols import whole_names
from dpcheck.resolve.names.syntax import assigned_names

SHORTEST = 4
"""Shorter names than that look alike without being meant: `lo` and `low`."""


class UnreadNames:
    """What is looked for in a file without mistakes."""

    def __init__(self, model: surface.SurfaceModel, scope: Scope) -> None:
        """Keep the main file of a scope."""
        self.model, self.scope = model, scope

    def report(self) -> None:
        """Warn of locals that nothing reads, and of symbols that look like a local."""
        for item in self.model.items:
            if isinstance(item, surface.Mechanism):
                self._report_of(item)

    def _report_of(self, mechanism: surface.Mechanism) -> None:
        nodes = [node for statement in mechanism.body for node in trees.descendants(statement)]
        read = {node.name for node in nodes if isinstance(node, surface.Name)}
        suggestion = self.scope.session.suggestion
        outputs = (node.value for node in nodes if isinstance(node, surface.Output))
        names = chain.from_iterable(map(whole_names, outputs))
        symbols = [one for one in names if one.name in self.scope.file.symbols]
        shown = [symbol.name for symbol in symbols]
        for node in nodes:
            match node:
                case (
                    surface.Assign(place=surface.Identifier(name=name, span=span))
                    | surface.Sample(place=surface.Identifier(name=name, span=span))
                    | surface.Var(name=surface.Identifier(name=name, span=span))
                ) if name not in read:
                    self.scope.report(UnusedLocal(span, name, suggestion(name, shown)))
                    read.add(name)
        locals_read = {one for one in assigned_names(mechanism.body) if len(one) >= SHORTEST} & read
        for symbol in symbols:
            if symbol.quoted or len(symbol.name) < SHORTEST:
                continue
            meant = suggestion(symbol.name, locals_read)
            if meant is not None and self._n_named[symbol.name] == 1:
                self.scope.report(MisspeltOutput(symbol.span, symbol.name, meant))

    @cached_property
    def _n_named(self) -> Counter[str]:
        """How often each name stands in the file, where it is not declared."""
        nodes = (node for item in self.model.items for node in trees.descendants(item))
        return Counter(node.name for node in nodes if isinstance(node, surface.Name))
