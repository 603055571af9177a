"""The locals of a mechanism, and the steps that assign them.

Which locals may be unassigned at the current place is known, with the turns a run takes to get
there without assigning them. They only ever become assigned, so one pass through a loop's body is
enough: what holds before the loop holds at every later round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from dpcheck.diagnostics import structure
from dpcheck.diagnostics.kinds import NotAnArray
from dpcheck.diagnostics.names import CannotAssign, MayBeUnassigned
from dpcheck.exact import ParamNumber
from dpcheck.model import program, surface
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, If, Let, Var, reads
from dpcheck.model.values import ArrayValue, value_text
from dpcheck.records import dataclass, replace
from dpcheck.resolve.expressions import expressions, signatures
from dpcheck.resolve.names.scopes import Held, Known, Local, Scope, what_is
from dpcheck.resolve.programs import graph
from dpcheck.resolve.programs.graph import Step, assign, choice, plain
from dpcheck.resolve.programs.loops import report_second_names
from dpcheck.source import Span

Turns = tuple[tuple[Span, str], ...]

Missing = dict[str, Turns] | None
"""What may be unassigned, with the turns of a run on which it is; None where no run gets."""


@dataclass(frozen=True)
class _Array:
    lo: int
    cells: tuple[str, ...]
    within: Expr | None
    span: Span


@dataclass(frozen=True)
class _Scalar:
    """`span` is where it stands first."""

    variable: str
    within: Expr | None
    span: Span


class Locals:
    """The locals at one place of a walk through a mechanism's body.

    `missing` are those that may be unassigned; `doubted` those that are read where they may be.
    `prefix` stands before the names of their variables.
    """

    def __init__(self, mechanism: surface.Mechanism, scope: Scope, prefix: str) -> None:
        """Begin before the first statement."""
        self.mechanism = mechanism
        self.prefix = prefix
        self.arrays: dict[str, _Array] = {}
        self.scalars: dict[str, _Scalar] = {}
        names = scope.session.locals_of(mechanism)
        locals_ = [name for name in names if _may_be_local(name, scope)]
        self.missing: Missing = dict.fromkeys(locals_, ())
        self.doubted: dict[str, None] = {}
        self.scope = scope.bound_all({name: Local(self) for name in locals_})

    def read(self, name: str, span: Span, *, certain: bool) -> Expr:
        """Return a local's value; report it if it may be unassigned and is read for certain."""
        turns = None if self.missing is None else self.missing.get(name)
        if turns is not None:
            self.doubted[name] = None
            if certain:
                self.scope.report(MayBeUnassigned(span, name, turns))
        array = self.arrays.get(name)
        if array is not None:
            return ArrayVar(self.prefix + name, array.lo, array.cells, span)
        if turns is not None and certain:
            return expressions.hole(span)
        return Var(self.scalar(name, span).variable, span)

    def scalar(self, name: str, span: Span) -> _Scalar:
        """Return the variable of a local that is no array, which stands here."""
        known = self.scalars.get(name)
        if known is None:
            variable = self.scope.names.fresh(self.prefix + name)
            known = self.scalars[name] = _Scalar(variable, None, span)
        return known

    def variables(self) -> set[str]:
        """Return the variables of all locals so far."""
        scalars = {scalar.variable for scalar in self.scalars.values()}
        return scalars.union(*(array.cells for array in self.arrays.values()))

    def variables_doubted(self) -> tuple[str, ...]:
        """Return the variables of the locals that are read where they may be unassigned."""
        arrays, place = self.arrays, self.mechanism.span
        return tuple(
            variable
            for name in self.doubted
            for variable in (
                arrays[name].cells if name in arrays else [self.scalar(name, place).variable]
            )
        )

    def assigned(self, name: str) -> None:
        """Note that a local has a value from here on."""
        if self.missing is not None:
            self.missing.pop(name, None)

    def assignable(self, place: surface.Identifier, scope: Scope) -> bool:
        """Return whether a name is a local here; else report what it is."""
        binding, chosen = scope.bindings.get(place.name), ""
        match binding:
            case Local():
                return True
            case Known() | Held():
                what = f"{'an' if binding.role[0] in 'aeiou' else 'a'} {binding.role}"
                declared = binding.span
            case None:
                file, constant_ = scope.file.visible[place.name]
                what, declared = what_is(constant_), constant_.name.span
                if isinstance(constant_, surface.Constant):
                    value = expressions.constant_of_file(scope.session, file, constant_)
                    if isinstance(value, ParamNumber):
                        chosen = value_text(value.param.simplest)
        scope.report(CannotAssign(place.span, place.name, what, declared, chosen))
        return False

    # --- assignments -----------------------------------------------------------------------

    def assignment(self, place: surface.Place, value: Expr, scope: Scope, span: Span) -> list[Step]:
        """Return the steps of `place := value`."""
        match place:
            case surface.Identifier():
                if not self.assignable(place, scope):
                    return []
                if place.name in self.arrays:
                    return self.whole_array(place.name, self.arrays[place.name], value, span)
                self.assigned(place.name)
                scalar = self.scalar(place.name, place.span)
                return [assign(scalar.variable, value, scalar.within, span)]
            case surface.Cell():
                return self.cell(place, value, scope, span)
            case surface.Pattern():
                return self.unpacking(place, value, scope, span)
        assert_never(place)

    def cell(self, place: surface.Cell, value: Expr, scope: Scope, span: Span) -> list[Step]:
        """Return `a[i] := value`; a known index names the variable at once."""
        index = expressions.expression(place.index, scope)
        if not self.assignable(place.name, scope):
            return []
        name = place.name.name
        array = self.arrays.get(name)
        if array is None or self.missing is None or name in self.missing:
            scope.report(NotAnArray(place.name.span, name, self.likely_range(array)))
            self.assigned(name)
            return []
        whole = ArrayVar(self.prefix + name, array.lo, array.cells, place.span)
        known = expressions.folded("index", [whole, index], place.span)
        if isinstance(known, Var):
            return [assign(known.name, value, array.within, span)]
        whole_name, cells = self.prefix + name, array.cells
        step = plain(
            program.AssignCell, whole_name, array.lo, cells, index, value, array.within, span=span
        )
        return [step]

    def likely_range(self, array: _Array | None) -> str:
        """Return the range of an array declared on another way, else that of the first input."""
        if array is not None:
            return f"{array.lo}..{array.lo + len(array.cells) - 1}"
        ranges = (declared.indices for declared in self.mechanism.inputs)
        given = (each.span.text for each in ranges if isinstance(each, surface.Range))
        return next(given, "1..3")

    def unpacking(
        self, place: surface.Pattern, value: Expr, scope: Scope, span: Span
    ) -> list[Step]:
        """Return `(a, b) := value`, with the declared ranges of a and b checked after it."""
        assignable = [self.assignable(name, scope) for name in place.names]
        if not all(assignable):
            return []
        report_second_names(place.names, "another part of this tuple", scope)
        needed = len(place.names)
        given = _length_of_tuple(value)
        if given is not None and given != needed:
            scope.report(structure.UnequalLengths(place.span, "this pattern", needed, given))
        for name in place.names:
            if name.name in self.arrays:
                scope.report(
                    structure.LocalChangesShape(name.span, name.name, self.arrays[name.name].span)
                )
            self.assigned(name.name)
        scalars = [self.scalar(name.name, name.span) for name in place.names]
        steps: list[Step] = [
            plain(program.Unpack, tuple(s.variable for s in scalars), value, span=span)
        ]
        for scalar in scalars:
            if scalar.within is not None:
                current = Var(scalar.variable, span)
                steps.append(assign(scalar.variable, current, scalar.within, span))
        return steps

    def whole_array(self, name: str, array: _Array, value: Expr, span: Span) -> list[Step]:
        """Return the assignment of an array to an array, cell by cell."""
        self.assigned(name)
        return list(self.cells_from(f"`{name}`", array.lo, array.cells, array.within, value, span))

    def cells_from(
        self,
        what: str,
        lo: int,
        cells: Sequence[str],
        within: Expr | None,
        value: Expr,
        span: Span,
    ) -> Iterator[Step]:
        """Yield the assignments that copy an array value into cells.

        All cells are read before the first is written, since the value may be the same array.
        """
        match value:
            case ArrayVar(cells=items) | Const(value=ArrayValue(items=items)):
                if len(items) != len(cells):
                    self.scope.report(structure.UnequalLengths(span, what, len(cells), len(items)))
                    return
        given = _length_of_tuple(value)
        if given is not None and given != len(cells):
            self.scope.report(structure.UnequalLengths(span, what, len(cells), given))
            return
        firsts = set(_first_indices(value, lo))
        if len(firsts) > 1:
            value, firsts = _with_tuples(value), {1}
        (first,) = firsts
        if expressions.has_hole(value):
            return
        source = value
        if not isinstance(value, ArrayVar | Const):
            hidden = self.scope.names.fresh("array#")
            yield assign(hidden, value, None, span)
            source = Var(hidden, value.span)
        for i, cell in enumerate(cells):
            item = expressions.folded("index", [source, Const(first + i, span)], value.span)
            if item != Var(cell, value.span) or within is not None:
                yield assign(cell, item, within, span)
        if source is not value:
            length = Apply("len", (source,), span)
            is_whole = Apply("=", (length, Const(len(cells), span)), span)
            reason = f"{what} needs {len(cells)} values, and got more"
            yield choice(is_whole, (), (graph.fail(reason, span),), span)

    def declaration(self, declared: surface.Var, scope: Scope) -> list[Step]:
        """Return the steps of `var`."""
        domain = None if declared.domain is None else expressions.expression(declared.domain, scope)
        value = None if declared.value is None else expressions.whole_value(declared.value, scope)
        name = declared.name.name
        steps: list[Step] = []
        if domain is not None and not self.variables().isdisjoint(reads(domain)):
            hidden = scope.names.fresh("values#")  # what it reads may change before it is asked
            steps.append(assign(hidden, domain, None, domain.span))
            domain = Var(hidden, domain.span)
        if not self.assignable(declared.name, scope):
            return []
        if declared.indices is not None:
            return steps + self.array(declared, domain, value, scope)
        if self.is_otherwise(declared.name, None, domain, scope):
            return []
        self.scalars[name] = replace(self.scalar(name, declared.name.span), within=domain)
        if value is not None:
            steps += self.assignment(declared.name, value, scope, declared.span)
        return steps

    def is_otherwise(
        self, declared: surface.Identifier, indices: range | None, domain: Expr | None, scope: Scope
    ) -> bool:
        """Report a local that was another array before, or none, or might have any value.

        In a loop what stands before a declaration runs after it, too.
        """
        name = declared.name
        known = self.arrays.get(name) or self.scalars.get(name)
        match known:
            case None:
                return False
            case _Array(lo=lo, cells=cells):
                is_alike = indices is not None and indices == range(lo, lo + len(cells))
            case _:
                is_alike = indices is None
        if is_alike and (domain is None or known.within is not None):
            return False
        above = known.span.line if is_alike else None
        scope.report(structure.LocalChangesShape(declared.span, name, known.span, above))
        self.assigned(name)
        return True

    def array(
        self, declared: surface.Var, domain: Expr | None, value: Expr | None, scope: Scope
    ) -> list[Step]:
        """Return the steps of `var a[lo..hi] := value`: every cell gets the value."""
        name = declared.name.name
        indices = signatures.index_range(declared.indices, name, scope)
        if value is None:
            scope.report(structure.ArrayWithoutValue(declared.name.span, name))
            value = expressions.hole(declared.span)
        if indices is None:
            self.assigned(name)
            return []
        if self.is_otherwise(declared.name, indices, domain, scope):
            return []
        known = self.arrays.get(name)
        if known is None:
            base = scope.names.fresh(self.prefix + name)
            cells = signatures.cell_names(base, indices)
            known = _Array(indices.start, cells, domain, declared.name.span)
        array = self.arrays[name] = replace(known, within=domain)
        self.assigned(name)
        if _is_array(value):
            return self.whole_array(name, array, value, declared.span)
        steps: list[Step] = []
        if not isinstance(value, Const | Var):
            hidden = scope.names.fresh("value#")
            steps.append(assign(hidden, value, None, declared.span))
            value = Var(hidden, value.span)
        steps.extend(assign(cell, value, domain, declared.span) for cell in array.cells)
        return steps


def _may_be_local(name: str, scope: Scope) -> bool:
    """Return whether assigning a name makes it a local: it is no input, parameter or constant."""
    _, declaration = scope.file.visible.get(name, (None, None))
    return name not in scope.bindings and not isinstance(declaration, surface.Constant)


def turned(missing: Missing, span: Span, text: str) -> Missing:
    """Return what is unassigned after a turn, with the turn added to the way."""
    if missing is None:
        return None
    return {name: (*turns, (span, text)) for name, turns in missing.items()}


def merged(before: Missing, left: Missing, right: Missing) -> Missing:
    """Return what is unassigned on one of two ways; a turn that does not matter is left out."""
    if left is None or right is None or before is None:
        return right if left is None else left
    return {
        name: before[name] if name in left and name in right else turns
        for name, turns in {**left, **right}.items()
    }


def _length_of_tuple(value: Expr) -> int | None:
    """Return how long an expression is that is a tuple, whichever way it goes; else None."""
    match value:
        case Const(value=tuple() as items):
            return len(items)
        case Apply(op="tuple", args=args):
            return len(args)
        case If(then=then, orelse=orelse):
            length = _length_of_tuple(then)
            return length if length == _length_of_tuple(orelse) else None
        case Let(body=body):
            return _length_of_tuple(body)
    return None


def _first_indices(value: Expr, lo: int) -> Iterator[int]:
    """Yield the first index of all that an expression may be, `lo` where that is not known."""
    match value:
        case Const(value=tuple()) | Apply(op="tuple"):
            yield 1  # components of tuples count from 1, whatever the indices of an array are
        case ArrayVar(lo=first) | Const(value=ArrayValue(lo=first)):
            yield first
        case If(then=then, orelse=orelse):
            yield from _first_indices(then, lo)
            yield from _first_indices(orelse, lo)
        case Let(body=body):
            yield from _first_indices(body, lo)
        case _:
            yield lo


def _with_tuples(value: Expr) -> Expr:
    """Return an expression with tuples in place of arrays, which have one first index."""
    match value:
        case ArrayVar(cells=cells, span=span):
            return Apply("tuple", tuple(Var(cell, span) for cell in cells), span)
        case Const(value=ArrayValue(items=items), span=span):
            return Const(items, span)
        case If(then=then, orelse=orelse):
            return replace(value, then=_with_tuples(then), orelse=_with_tuples(orelse))
        case Let(body=body):
            return replace(value, body=_with_tuples(body))
    return value


def _is_array(value: Expr) -> bool:
    """Return whether an expression is a whole array, whichever way it goes."""
    match value:
        case ArrayVar() | Const(value=ArrayValue()):
            return True
        case If(then=then, orelse=orelse):
            return _is_array(then) and _is_array(orelse)
        case Let(body=body):
            return _is_array(body)
        case _:
            return False
