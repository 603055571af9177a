"""Which names of a file are symbols: names that stand for themselves.

A symbol is introduced, for the whole file, by a set literal in a declaration (a constant, input,
local, parameter or index), by a key of a distribution literal, or as a bare name that is a whole
output value; a value is whole if it stands alone, as a component of a tuple, or as a branch of
`if`. A name that means something else at that place introduces nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from dpcheck.model import surface, trees
from dpcheck.resolve.names.syntax import assigned_names, statements


def introduced_symbols(
    model: surface.SurfaceModel, constants: AbstractSet[str], declared: AbstractSet[str]
) -> frozenset[str]:
    """Return the symbols a file introduces.

    `constants` are the constants it sees, `declared` all top-level names it sees: a bare output
    is no symbol if it names anything, while in a set or as a key only a value can be meant.
    """
    found = _Found(constants, declared)
    for item in model.items:
        found.visit(item, frozenset(), in_declaration=False)
    return frozenset(found.symbols)


class _Found:
    """The symbols seen so far."""

    def __init__(self, constants: AbstractSet[str], declared: AbstractSet[str]) -> None:
        self.symbols: set[str] = set()
        self.constants = constants
        self.declared = declared

    def visit(self, node: object, bound: frozenset[str], *, in_declaration: bool) -> None:
        """Collect below a node at which the names in `bound` mean something."""
        more = _bound_by(node)
        bound = bound | more if more else bound  # a union copies, be it with nothing
        match node:
            case surface.Constant() | surface.Input() | surface.Parameter():
                in_declaration = True
            case surface.Family(indices=indices):
                for index in indices:
                    self.visit(index, bound, in_declaration=True)
                return
            case surface.Var(domain=domain, value=value):
                if domain is not None:
                    self.visit(domain, bound, in_declaration=True)
                if value is not None:
                    self.visit(value, bound, in_declaration=False)
                return
            case surface.Query(choices=choices):
                self.visit(choices, bound, in_declaration=True)
                return
            case surface.SetLiteral(items=items) if in_declaration:
                for item in items:
                    self.whole(item, bound, self.constants)
            case surface.Branches(branches=branches):
                for branch in branches:
                    self.whole(branch.value, bound, self.constants)
            case surface.WeightedBranches(value=value):
                self.whole(value, bound, self.constants)
            case surface.Output(value=value):
                self.whole(value, bound, self.declared)
        for part in trees.parts(node):
            self.visit(part, bound, in_declaration=in_declaration)

    def whole(
        self, value: surface.Expression, bound: frozenset[str], known: AbstractSet[str]
    ) -> None:
        """Collect the bare names of a whole value that are neither bound nor known."""
        for one in whole_names(value):
            if one.quoted or not (one.name in bound or one.name in known or one.name == "output"):
                self.symbols.add(one.name)


def whole_names(value: surface.Expression) -> Iterator[surface.Name]:
    """Yield the bare names that a value may be, or a component of it."""
    match value:
        case surface.Name(primed=False):
            yield value
        case surface.Tuple(items=items):
            for item in items:
                yield from whole_names(item)
        case surface.Conditional(then=then, otherwise=otherwise):
            yield from whole_names(then)
            yield from whole_names(otherwise)


def _bound_by(node: object) -> frozenset[str]:
    """Return the names that mean something throughout a node because of it."""
    match node:
        case surface.Binder(variable=variable) | surface.WeightedBranches(variable=variable):
            return frozenset({variable.name})
        case surface.QuestionsFor(indices=indices) | surface.RowsFor(indices=indices):
            return frozenset(index.variable.name for index in indices)
        case (
            surface.Function(parameters=parameters)
            | surface.DistributionFunction(parameters=parameters)
        ):
            return frozenset(parameter.name for parameter in parameters)
        case surface.Mechanism():
            return _names_of_mechanism(node)
        case surface.Chain(parameters=parameters):
            return frozenset(parameter.name.name for parameter in parameters)
    return frozenset()


def _names_of_mechanism(mechanism: surface.Mechanism) -> frozenset[str]:
    names = set(assigned_names(mechanism.body))
    names.update(parameter.name.name for parameter in mechanism.parameters)
    names.update(declared.name.name for declared in mechanism.inputs)
    for statement in statements(mechanism.body):
        if isinstance(statement, surface.For):
            names.update(index.variable.name for index in statement.indices)
    return frozenset(names)
