"""Parameters, inputs and arguments: what a mechanism or chain is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcheck.diagnostics.composition import (
    ArgumentTwice,
    ArgumentWithoutName,
    MissingArgument,
    UnknownArgument,
)
from dpcheck.diagnostics.kinds import WrongKind
from dpcheck.diagnostics.names import NameTaken
from dpcheck.diagnostics.runs import NumberTooLarge
from dpcheck.diagnostics.structure import EmptyDomain, EndlessFrom, StreamMisused
from dpcheck.model import surface
from dpcheck.model.evaluation import described
from dpcheck.model.expressions import Var
from dpcheck.model.values import INTEGERS, SetValue, Value, value_text
from dpcheck.records import dataclass
from dpcheck.resolve.expressions.expressions import argument_value, constant
from dpcheck.resolve.names.scopes import Binding, Held, Known, Scope, is_param
from dpcheck.source import Span

MAX_CELLS = 100_000
"""An array with more elements than this is not laid out."""

MAX_INDEX = 2**62
"""Indices up to here; differences of two of them fit into the integers of numpy."""


@dataclass(frozen=True)
class InputShape:
    """An input with its set, and the range of its indices if it is an array.

    A stream has one cell, that of the round at hand.
    """

    declared: surface.Input
    indices: range | None
    domain: SetValue

    @property
    def is_stream(self) -> bool:
        """Return whether there is a value for each round of a loop that never ends."""
        return isinstance(self.declared.indices, surface.EndlessRange)

    @property
    def name(self) -> str:
        """The name as declared."""
        return self.declared.name.name


def named_arguments(
    arguments: Sequence[surface.Argument], target: str, known: Sequence[str], scope: Scope
) -> dict[str, surface.Argument]:
    """Return the arguments by name; those without a name, twice or unknown are mistakes."""
    given: dict[str, surface.Argument] = {}
    for argument in arguments:
        if argument.name is None:
            example = known[0] if known else None
            scope.report(ArgumentWithoutName(argument.span, target, example))
            continue
        name = argument.name.name
        if name not in known:
            candidate, place = scope.session.suggestion(name, known), argument.name.span
            _, declared = scope.file.visible.get(name, (None, None))
            value = argument.value.span.text if is_param(declared) else None
            scope.report(UnknownArgument(place, name, target, candidate, tuple(known), value))
        elif name in given:
            scope.report(ArgumentTwice(argument.span, name, given[name].span))
        else:
            given[name] = argument
    return given


def parameter_bindings(
    parameters: Sequence[surface.Parameter],
    given: Mapping[str, Value | None],
    target: str,
    inner: Scope,
    use: Span,
) -> dict[str, Binding]:
    """Return what each parameter is: the value given, or its default in the target's own scope.

    A default may use the parameters before it. `use` is where the target is named.
    """
    bindings: dict[str, Binding] = {}
    for parameter in parameters:
        name = parameter.name.name
        if name in bindings:
            first = bindings[name]
            assert isinstance(first, Known), "parameters are known"
            inner.report(NameTaken(parameter.name.span, name, "a parameter", first.span))
            continue
        if name in given:
            value = given[name]
        elif parameter.default is not None:
            purpose = f"the default of `{name}`"
            value = argument_value(parameter.default, inner.bound_all(bindings), purpose)
        else:
            inner.report(MissingArgument(use, name, target, "parameter"))
            value = None
        bindings[name] = Known(value, "parameter", parameter.name.span)
    return bindings


def input_shapes(
    mechanism: surface.Mechanism, scope: Scope
) -> tuple[list[InputShape], dict[str, Known]]:
    """Return the shapes of a mechanism's inputs, and the inputs that have a mistake.

    `scope` knows the parameters. The set of an input is known before any run, so it reads no
    other input.
    """
    shapes: list[InputShape] = []
    broken: dict[str, Known] = {}
    taken = {p.name.name: p.name.span for p in mechanism.parameters}
    for declared in mechanism.inputs:
        name = declared.name.name
        if name in taken:
            is_parameter = any(p.name.name == name for p in mechanism.parameters)
            what = "a parameter" if is_parameter else "an input"
            scope.report(NameTaken(declared.name.span, name, what, taken[name]))
            broken.setdefault(name, Known(None, "input", declared.name.span))
            continue
        taken[name] = declared.name.span
        indices = index_range(declared.indices, name, scope)
        domain = _domain(declared, scope)
        if domain is None or (declared.indices is not None and indices is None):
            broken[name] = Known(None, "input", declared.name.span)
        else:
            shapes.append(InputShape(declared, indices, domain))
        held = Held(Var(name, declared.name.span), "input", declared.name.span)
        scope = scope.bound(name, held)
    return shapes, broken


def _domain(declared: surface.Input, scope: Scope) -> SetValue | None:
    """Return the set of an input, `integers` for all of them; else report why there is none."""
    name, tree = declared.name.name, declared.domain
    if isinstance(tree, surface.Name) and tree.name == "integers" and not scope.knows(tree):
        if declared.where is None:
            return INTEGERS
        wanted = "takes all integers, and no `where`"
        advice = "leave the `where` out: what is private on all integers is private on fewer"
        scope.report(StreamMisused(declared.where.span, name, wanted, advice))
        return None
    if isinstance(declared.indices, surface.EndlessRange):
        scope.report(StreamMisused(tree.span, name, "takes all integers: write `in integers`"))
        return None
    return known_set(tree, scope, f"the set of `{name}`")


def known_set(tree: surface.Expression, scope: Scope, purpose: str) -> SetValue | None:
    """Return a set that is known before any run and has an element; else report why not."""
    value = constant(tree, scope, purpose)
    if value is None:
        return None
    if not isinstance(value, SetValue):
        scope.report(WrongKind(tree.span, "a set", described(value), ()))
        return None
    if value.size == 0:
        scope.report(EmptyDomain(tree.span, purpose))
        return None
    return value


def index_range(
    tree: surface.Range | surface.EndlessRange | None, name: str, scope: Scope
) -> range | None:
    """Return the indices of an array, if it has some; else report why not."""
    if tree is None:
        return None
    if isinstance(tree, surface.EndlessRange):
        first = endless_start(tree, scope)
        return None if first is None else range(first, first + 1)
    indices = known_set(tree, scope, f"the range of `{name}`")
    if indices is None:
        return None
    assert isinstance(indices.items, range), "a range is a range"
    if max(abs(indices.items.start), abs(indices.items.stop)) > MAX_INDEX:
        what = f"the indices of `{name}` are too large, beyond {MAX_INDEX}"
        scope.report(NumberTooLarge(tree.span, (), what))
        return None
    if indices.size > MAX_CELLS:
        what = f"the range of `{name}` has {value_text(indices.size)} elements"
        scope.report(NumberTooLarge(tree.span, (), f"{what}, more than {MAX_CELLS}"))
        return None
    return indices.items


def endless_start(tree: surface.EndlessRange, scope: Scope) -> int | None:
    """Return where a range without an end begins, which is 1; else report that it is not."""
    first = constant(tree.low, scope, "the first round")
    if first is not None and first != 1:
        scope.report(EndlessFrom(tree.low.span, value_text(first)))
    return 1 if first == 1 else None


def cell_names(name: str, indices: range) -> tuple[str, ...]:
    """Return the variables of an array's cells.

    >>> cell_names("q", range(1, 3))
    ('q[1]', 'q[2]')
    """
    return tuple(f"{name}[{i}]" for i in indices)
