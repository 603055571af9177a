"""Statements to the steps of a graph: one walk through a mechanism's body, forwards.

The walk knows which locals may be unassigned at the current place, with the turns a run takes to
get there without assigning them. Locals only ever become assigned, so one pass through a loop's
body is enough: what holds before the loop holds at every later round.

Loops over sets known before any run are unrolled while that stays short; then the loop variable
is a constant, and so may be parameters, indices and conditions in the body. Other loops get
hidden variables for the set and the position in it. Mechanisms that are run or sampled are
written out with fresh variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, assert_never

from dpcheck.diagnostics import composition, structure
from dpcheck.diagnostics.kinds import NotAnArray
from dpcheck.diagnostics.names import CannotAssign, MayBeUnassigned
from dpcheck.model import program, surface
from dpcheck.model.expressions import Apply, ArrayVar, Const, Expr, If, Let, Var, reads
from dpcheck.model.offers import fixed_symbol, offer_symbol
from dpcheck.model.values import ArrayValue, SetValue, Value, value_text
from dpcheck.records import dataclass, replace
from dpcheck.resolve.expressions import expressions, signatures
from dpcheck.resolve.names.scopes import (
    Binding,
    Held,
    Known,
    Local,
    Scope,
    report_no_target,
    what_is,
)
from dpcheck.resolve.names.syntax import place_names
from dpcheck.resolve.programs import graph
from dpcheck.resolve.programs.distributions import distribution
from dpcheck.resolve.programs.graph import Step, assign, choice, plain
from dpcheck.resolve.programs.loops import guarded, report_second_variables
from dpcheck.source import Span

MAX_UNROLLED: Final = 20_000
"""A loop is unrolled while its mechanism has at most this many steps."""

MAX_FORGOTTEN: Final = 50_000
"""No loop is unrolled once so many steps were made in vain, for loops that turned out too long."""

TRIAL: Final = 20
"""What a round made in vain costs beside its steps, counted in steps."""

MAX_STEPS: Final = 50_000
"""A mechanism with more steps than this, written out, is a mistake."""

Turns = tuple[tuple[Span, str], ...]

Body = Callable[[Scope], "list[Step]"]
"""The steps of a loop's body, in a scope that knows the loop's variable."""


@dataclass(eq=False)
class Size:
    """How many steps the whole mechanism has so far, everything it runs included.

    `n_forgotten` counts those of first rounds that told that a loop is too long: of loops in loops
    each asks twice for the one inside, so that without a limit the work doubles with every level.
    """

    n_steps: int = 0
    n_forgotten: int = 0

    @property
    def may_try(self) -> bool:
        """Return whether a first round may be made only to see how long it is."""
        return self.n_forgotten < MAX_FORGOTTEN

    def count_rounds(self, start: int, n_rounds: int) -> None:
        """Note that a loop that began at `start` has rounds; an empty one counts as a step."""
        self.n_steps = max(self.n_steps, start + n_rounds)

    def is_too_long(self, start: int, n_rounds: int) -> bool:
        """Return whether a loop would be too long, given the steps of its first round.

        If so the round is forgotten.
        """
        per_round = max(1, self.n_steps - start)
        if start + per_round * n_rounds <= MAX_UNROLLED:
            return False
        self.n_steps = start
        self.n_forgotten += per_round + TRIAL
        return True


class TooManySteps(Exception):
    """The mechanism, written out, is too long."""


@dataclass(frozen=True)
class _Array:
    lo: int
    cells: tuple[str, ...]
    within: Expr | None
    span: Span


@dataclass(frozen=True)
class _Scalar:
    variable: str
    within: Expr | None


def mechanism_steps(
    mechanism: surface.Mechanism, scope: Scope, size: Size, prefix: str = "", *, captured: bool
) -> tuple[Step, ...]:
    """Return the steps of a mechanism's body.

    `scope` knows its parameters and inputs; `prefix` is put before the names of its locals;
    `captured` says whether a caller takes its outputs. Raises `TooManySteps`.
    """
    walk = _Walk(mechanism, scope, size, prefix, captured=captured)
    steps = walk.block(mechanism.body, walk.scope)
    if walk.doubted and prefix:  # else they have no value when a run begins
        forget = partial(program.Forget, walk.variables_doubted(), span=mechanism.span)
        steps.insert(0, plain(forget))
    return tuple(steps)


class _Walk:
    """The state of one walk: locals, and those that may be unassigned (None: nothing gets here).

    `asked` are the variables that an analyst has chosen; `left` has, for each loop around, what may
    be unassigned where `break` leaves it; `doubted` are the locals that are read where they may be.
    `has_rounds` is set by a loop that never ends.
    """

    def __init__(
        self,
        mechanism: surface.Mechanism,
        scope: Scope,
        size: Size,
        prefix: str,
        *,
        captured: bool,
    ) -> None:
        self.mechanism = mechanism
        self.size = size
        self.prefix = prefix
        self.captured = captured
        self.arrays: dict[str, _Array] = {}
        self.scalars: dict[str, _Scalar] = {}
        names = scope.session.locals_of(mechanism)
        locals_ = [name for name in names if _may_be_local(name, scope)]
        self.missing: dict[str, Turns] | None = dict.fromkeys(locals_, ())
        self.left: list[list[dict[str, Turns]]] = []
        self.doubted: dict[str, None] = {}
        self.asked: set[str] = set()
        self.has_rounds = False
        self.scope = scope.bound_all({name: Local(self) for name in locals_})

    # --- locals ----------------------------------------------------------------------------

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
        return Var(self.scalar(name).variable, span)

    def scalar(self, name: str) -> _Scalar:
        """Return the variable of a local that is no array."""
        known = self.scalars.get(name)
        if known is None:
            variable = self.scope.names.fresh(self.prefix + name)
            known = self.scalars[name] = _Scalar(variable, None)
        return known

    def variables_doubted(self) -> tuple[str, ...]:
        """Return the variables of the locals that are read where they may be unassigned."""
        arrays = self.arrays
        return tuple(
            variable
            for name in self.doubted
            for variable in (arrays[name].cells if name in arrays else [self.scalar(name).variable])
        )

    def assigned(self, name: str) -> None:
        """Note that a local has a value from here on."""
        if self.missing is not None:
            self.missing.pop(name, None)

    def assignable(self, place: surface.Identifier, scope: Scope) -> bool:
        """Return whether a name is a local here; else report what it is."""
        binding = scope.bindings.get(place.name)
        match binding:
            case Local():
                return True
            case Known() | Held():
                what = f"{'an' if binding.role[0] in 'aeiou' else 'a'} {binding.role}"
                declared = binding.span
            case None:
                _, constant_ = scope.file.visible[place.name]
                what, declared = what_is(constant_), constant_.name.span
        scope.report(CannotAssign(place.span, place.name, what, declared))
        return False

    # --- blocks ----------------------------------------------------------------------------

    def block(self, statements: Sequence[surface.Statement], scope: Scope) -> list[Step]:
        """Return the steps of statements; what follows a sure `stop` or `break` is left out."""
        steps: list[Step] = []
        for statement in statements:
            if self.missing is None:
                break
            before = self.size.n_steps
            made = self.statement(statement, scope)
            steps.extend(made)
            self.size.n_steps = max(self.size.n_steps, before + len(made))
            if self.size.n_steps > MAX_STEPS:
                raise TooManySteps
        return steps

    def statement(self, statement: surface.Statement, scope: Scope) -> list[Step]:
        """Return the steps of one statement."""
        match statement:
            case surface.Assign(place=place, value=value, span=span):
                return self.assignment(place, expressions.whole_value(value, scope), scope, span)
            case surface.Sample():
                return self.sample(statement, scope)
            case surface.Var():
                return self.declaration(statement, scope)
            case surface.If(branches=branches, otherwise=otherwise):
                return self.choice(branches, otherwise, scope)
            case surface.For():
                return self.loop(statement, scope)
            case surface.Repeat():
                return self.repetition(statement, scope)
            case surface.While():
                return self.while_loop(statement, scope)
            case surface.Output(value=value, span=span):
                shown = expressions.expression(value, scope)
                return [
                    graph.captured(shown, span)
                    if self.captured
                    else plain(partial(program.Output, shown, span=span))
                ]
            case surface.Query():
                return self.query(statement, scope)
            case surface.Stop():
                self.missing = None
                return [graph.STOP]
            case surface.Break(span=span):
                way = _turned(self.missing, span, "when this leaves the loop")
                assert way is not None, "what nothing gets to is left out"
                self.left[-1].append(way)
                self.missing = None
                return [graph.BREAK]
            case surface.Run(mechanism=name, arguments=arguments, span=span):
                body = self.called(name, arguments, scope, span, captured=self.captured)
                return [] if body is None else [*body[0], graph.call(body[1])]
        assert_never(statement)

    def query(self, statement: surface.Query, scope: Scope) -> list[Step]:
        """Return `query c in S` as a draw of c from S that is shown with what was offered.

        The analyst's strategy decides between the draws: see `check.evidence.strategies`. Where it
        is `fixed`, a public input takes the draw's place: see `resolve.programs.fixed_queries`.
        """
        name, span = statement.name, statement.span
        choices = expressions.expression(statement.choices, scope)
        if not self.assignable(name, scope):
            return []
        if self.captured:
            scope.report(composition.QueryOfSampled(span, name.name))
        private = self.private_reads(choices)
        if private:
            scope.report(composition.QueryReadsPrivate(statement.choices.span, name.name, private))
        self.assigned(name.name)
        variable = self.scalar(name.name).variable
        self.asked.add(variable)
        uniform = program.Parametric("uniform", (choices,), None, statement.choices.span)
        mark = fixed_symbol if statement.is_fixed else offer_symbol
        offered = () if statement.is_fixed else (choices,)
        parts = (Const(mark(name.name), span), *offered, Var(variable, span))
        draw = partial(program.Sample, variable, uniform, None, span=span)
        shown = partial(
            program.Output,
            Apply("tuple", parts, span),
            span=span,
            query="fixed" if statement.is_fixed else "adaptive",
        )
        return [plain(draw), plain(shown)]

    def private_reads(self, choices: Expr) -> str:
        """Return a variable that the choices read and the analyst does not know; "" if none."""
        known = set(self.asked)
        if not self.prefix:
            for shape in signatures.input_shapes(self.mechanism, self.scope)[0]:
                if shape.declared.is_public and shape.indices is not None:
                    known.update(signatures.cell_names(shape.name, shape.indices))
                elif shape.declared.is_public:
                    known.add(shape.name)
        return next((name for name in reads(choices) if name not in known), "")

    def choice(
        self,
        branches: Sequence[tuple[surface.Expression, tuple[surface.Statement, ...]]],
        otherwise: tuple[surface.Statement, ...],
        scope: Scope,
    ) -> list[Step]:
        """Return an `if`; a condition known before any run leaves one branch."""
        if not branches:
            return self.block(otherwise, scope)
        (tree, body), *rest = branches
        condition = expressions.expression(tree, scope)
        if isinstance(condition, Const) and isinstance(condition.value, bool):
            return (
                self.block(body, scope) if condition.value else self.choice(rest, otherwise, scope)
            )
        before = self.missing
        self.missing = _turned(before, tree.span, "when this is true")
        then = self.block(body, scope)
        after_then = self.missing
        self.missing = _turned(before, tree.span, "when this is false")
        orelse = self.choice(rest, otherwise, scope)
        self.missing = _merged(before, after_then, self.missing)
        return [choice(condition, then, orelse, tree.span)]

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
                scalar = self.scalar(place.name)
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
            scope.report(NotAnArray(place.name.span, name))
            self.assigned(name)
            return []
        whole = ArrayVar(self.prefix + name, array.lo, array.cells, place.span)
        known = expressions.folded("index", [whole, index], place.span)
        if isinstance(known, Var):
            return [assign(known.name, value, array.within, span)]
        return [
            plain(
                partial(
                    program.AssignCell,
                    self.prefix + name,
                    array.lo,
                    array.cells,
                    index,
                    value,
                    array.within,
                    span=span,
                )
            )
        ]

    def unpacking(
        self, place: surface.Pattern, value: Expr, scope: Scope, span: Span
    ) -> list[Step]:
        """Return `(a, b) := value`, with the declared ranges of a and b checked after it."""
        assignable = [self.assignable(name, scope) for name in place.names]
        if not all(assignable):
            return []
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
        scalars = [self.scalar(name.name) for name in place.names]
        steps: list[Step] = [
            plain(partial(program.Unpack, tuple(s.variable for s in scalars), value, span=span))
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
        first = lo
        match value:
            case ArrayVar(lo=first, cells=items) | Const(value=ArrayValue(lo=first, items=items)):
                if len(items) != len(cells):
                    self.scope.report(structure.UnequalLengths(span, what, len(cells), len(items)))
                    return
        given = _length_of_tuple(value)
        if given is not None and given != len(cells):
            self.scope.report(structure.UnequalLengths(span, what, len(cells), given))
            return
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
        if not self.assignable(declared.name, scope):
            return []
        if declared.indices is not None:
            return self.array(declared, domain, value, scope)
        if name in self.arrays:
            scope.report(
                structure.LocalChangesShape(declared.name.span, name, self.arrays[name].span)
            )
            return []
        self.scalars[name] = replace(self.scalar(name), within=domain)
        if value is None:
            return []
        return self.assignment(declared.name, value, scope, declared.span)

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
        known = self.arrays.get(name)
        if known is None and name not in self.scalars:
            base = scope.names.fresh(self.prefix + name)
            cells = signatures.cell_names(base, indices)
            known = _Array(indices.start, cells, domain, declared.name.span)
        elif known is None or (known.lo, len(known.cells)) != (indices.start, len(indices)):
            first = declared.name.span if known is None else known.span
            scope.report(structure.LocalChangesShape(declared.name.span, name, first))
            return []
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

    # --- sampling --------------------------------------------------------------------------

    def sample(self, statement: surface.Sample, scope: Scope) -> list[Step]:
        """Return `place ~ distribution`, or the sampling of another mechanism."""
        place, span = statement.place, statement.span
        mechanism = _mechanism_called(statement.distribution, scope)
        if mechanism is not None and statement.is_prior:
            scope.report(composition.PriorOfMechanism(mechanism.span, mechanism.function.name))
            for name in place_names(place):
                self.assigned(name.name)
            return []
        if mechanism is not None:
            return self.sampled(mechanism, statement, scope)
        drawn = distribution(statement.distribution, scope)

        def sampled(target: str, within: Expr | None) -> Step:
            assert drawn is not None, "it was found to be a distribution"
            is_prior = statement.is_prior
            return plain(
                partial(program.Sample, target, drawn, within, span=span, is_prior=is_prior)
            )

        if isinstance(place, surface.Identifier) and place.name not in self.arrays:
            if not self.assignable(place, scope):
                return []
            self.assigned(place.name)
            scalar = self.scalar(place.name)
            if drawn is None:
                return []
            return [sampled(scalar.variable, scalar.within)]
        hidden = scope.names.fresh("drawn#")
        steps = self.assignment(place, Var(hidden, span), scope, span)
        if drawn is None:
            return []
        match steps:
            case [Step(assigns=(cell, within))] if isinstance(place, surface.Cell):
                return [sampled(cell, within)]
        return [sampled(hidden, None), *steps]

    def sampled(
        self, mechanism: surface.Call, statement: surface.Sample, scope: Scope
    ) -> list[Step]:
        """Return the sampling of a mechanism, whose one output is the value."""
        name, span = mechanism.function.name, statement.span
        body = self.called(mechanism.function, mechanism.arguments, scope, span, captured=True)
        result = scope.names.fresh(f"{name}.output#")
        assignment = self.assignment(statement.place, Var(result, span), scope, span)
        if body is None:
            return []
        counts = graph.captured_counts(body[1])
        if counts is not None and counts[1] == 0:
            scope.report(
                composition.NeverExactlyOnce(mechanism.span, name, "never outputs anything")
            )
        elif counts is not None and counts[0] > 1:
            scope.report(
                composition.NeverExactlyOnce(mechanism.span, name, "outputs more than once")
            )
        counter = scope.names.fresh(f"{name}.outputs#")
        taken = graph.sampled(body[1], name, result, counter, span)
        return [*body[0], *taken, *assignment]

    def called(
        self,
        name: surface.Identifier,
        arguments: Sequence[surface.Argument],
        scope: Scope,
        span: Span,
        *,
        captured: bool,
    ) -> tuple[list[Step], tuple[Step, ...]] | None:
        """Return the steps that pass the arguments to a mechanism, and its body."""
        file, mechanism = scope.file.visible.get(name.name, (None, None))
        if file is None or not isinstance(mechanism, surface.Mechanism):
            _report_no_mechanism(name, scope)
            return None
        if scope.session.is_recursive(scope.file, name.name):
            return None
        parameters = [parameter.name.name for parameter in mechanism.parameters]
        inputs = [declared.name.name for declared in mechanism.inputs]
        given = signatures.named_arguments(arguments, name.name, [*parameters, *inputs], scope)
        values = {
            parameter: expressions.argument_value(
                given[parameter].value, scope, f"the parameter `{parameter}`"
            )
            for parameter in parameters
            if parameter in given
        }
        inner = Scope(scope.session, file, scope.names)
        inner = inner.bound_all(
            signatures.parameter_bindings(mechanism.parameters, values, name.name, inner, span)
        )
        passed = self.passed(mechanism, given, scope, inner, span)
        if passed is None:
            return None
        steps, inner = passed
        self.size.n_steps += len(steps) + 1
        prefix = f"{self.prefix}{name.name}."
        body = mechanism_steps(mechanism, inner, self.size, prefix, captured=captured)
        return steps, body

    def passed(
        self,
        mechanism: surface.Mechanism,
        given: dict[str, surface.Argument],
        scope: Scope,
        inner: Scope,
        span: Span,
    ) -> tuple[list[Step], Scope] | None:
        """Return the steps that give a mechanism its inputs, and the scope that knows them."""
        steps: list[Step] = []
        shapes, broken = signatures.input_shapes(mechanism, inner)
        values: dict[str, Expr] = {}
        for declared in mechanism.inputs:
            name = declared.name.name
            if name in given:
                values[name] = expressions.expression(given[name].value, scope)
            else:
                what = "public input" if declared.is_public else "input"
                scope.report(composition.MissingArgument(span, name, mechanism.name.name, what))
        if broken or len(values) != len(mechanism.inputs):
            return None
        for shape in shapes:
            place = given[shape.name].value.span
            binding, made = self.input_steps(shape, values[shape.name], mechanism, place)
            steps.extend(made)
            inner = inner.bound(shape.name, binding)
            if shape.declared.where is not None:
                condition = expressions.expression(shape.declared.where, inner)
                reason = f"the arguments of `{mechanism.name.name}` do not satisfy its `where`"
                steps.append(choice(condition, (), (graph.fail(reason, span),), span))
        return steps, inner

    def input_steps(
        self, shape: signatures.InputShape, value: Expr, mechanism: surface.Mechanism, span: Span
    ) -> tuple[Binding, list[Step]]:
        """Return the variables that hold an argument, and the steps that check and copy it."""
        name = f"{self.prefix}{mechanism.name.name}.{shape.name}"
        variable = self.scope.names.fresh(name)
        within = Const(shape.domain, shape.declared.domain.span)
        declared = shape.declared.name.span
        if shape.is_stream:
            self.scope.report(structure.EndlessInside(span))
        if shape.indices is None:
            step = assign(variable, value, within, span)
            return Held(Var(variable, declared), "input", declared), [step]
        cells = signatures.cell_names(variable, shape.indices)
        lo = shape.indices.start
        what = f"the input `{shape.name}` of `{mechanism.name.name}`"
        steps = list(self.cells_from(what, lo, cells, within, value, span))
        return Held(ArrayVar(variable, lo, cells, declared), "input", declared), steps

    # --- loops -----------------------------------------------------------------------------

    def with_breaks(self, steps: list[Step], before: dict[str, Turns] | None) -> list[Step]:
        """Return the steps of a loop that ends here, which `break` may leave.

        `before` is what was unassigned before the loop.
        """
        ways = self.left.pop()
        for way in ways:
            self.missing = _merged(before, self.missing, way)
        return [graph.left_by_break(steps)] if ways else steps

    def while_loop(self, loop: surface.While, scope: Scope) -> list[Step]:
        """Return a `while`; what its body assigns is not assigned after it."""
        condition = expressions.expression(loop.condition, scope)
        known = condition.value if isinstance(condition, Const) else None
        if known is False:
            return []
        before = self.missing
        self.missing = _turned(before, loop.condition.span, "in the first round")
        self.left.append([])
        body = self.block(loop.body, scope)
        self.missing = None
        if known is not True:
            self.missing = _turned(before, loop.condition.span, "when this is false at once")
        return self.with_breaks([graph.while_loop(condition, body, loop.condition.span)], before)

    def loop(self, loop: surface.For, scope: Scope) -> list[Step]:
        """Return a `for`: a loop for each index inside of the one before, left by one `break`."""
        report_second_variables(loop.indices, scope)
        before = self.missing
        self.left.append([])
        steps = self.over(loop.indices, guarded(loop), scope)
        return self.with_breaks(steps, before)

    def over(
        self,
        indices: Sequence[surface.LoopIndex],
        body: Sequence[surface.Statement],
        scope: Scope,
    ) -> list[Step]:
        """Return the loops over the indices that are left, around the body."""
        if not indices:
            return self.block(body, scope)
        index, *rest = indices
        if isinstance(index.domain, surface.EndlessRange):
            return self.endless(index, index.domain, partial(self.over, rest, body), scope)
        domain = expressions.expression(index.domain, scope)
        inside = partial(self.over, rest, body)
        return self.rounds(inside, domain, scope, index.variable, index.domain.span)

    def endless(
        self, index: surface.LoopIndex, domain: surface.EndlessRange, body: Body, scope: Scope
    ) -> list[Step]:
        """Return a loop that never ends, each round of which reads the next values of streams."""
        if self.prefix or self.captured or len(self.left) > 1 or self.has_rounds:
            scope.report(structure.EndlessInside(index.span))
        self.has_rounds = True
        signatures.endless_start(domain, scope)
        number = Var(scope.names.fresh(index.variable.name), index.variable.span)
        inner = scope.bound(index.variable.name, Held(number, "round", index.variable.span))
        self.missing = _turned(self.missing, domain.span, "in the first round")
        steps = body(inner)
        self.missing = None
        always = Const(True, domain.span)
        return [graph.while_loop(always, steps, domain.span, is_round=True)]

    def repetition(self, loop: surface.Repeat, scope: Scope) -> list[Step]:
        """Return a `repeat`: a loop over 1..n whose variable has no name."""
        times = expressions.expression(loop.times, scope)
        span = loop.times.span
        if isinstance(times, Const):
            value = times.value
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                scope.report(structure.BadRepeat(span, value_text(value)))
                return []
        domain = expressions.folded("range", [Const(1, span), times], span)
        before = self.missing
        self.left.append([])
        steps = self.rounds(partial(self.block, loop.body), domain, scope, None, span)
        return self.with_breaks(steps, before)

    def rounds(
        self,
        body: Body,
        domain: Expr,
        scope: Scope,
        variable: surface.Identifier | None,
        span: Span,
    ) -> list[Step]:
        """Return a loop over a set, unrolled where the set is known and that stays short."""
        if isinstance(domain, Const) and isinstance(domain.value, SetValue):
            unrolled = self.unrolled(body, domain.value, scope, variable)
            if unrolled is not None:
                return unrolled
        if isinstance(domain, Apply) and domain.op == "set" and variable is not None:
            written = self.as_written(body, domain, scope, variable)
            if written is not None:
                return written
        return self.rolled(body, domain, scope, variable, span)

    def as_written(
        self, body: Body, domain: Apply, scope: Scope, variable: surface.Identifier
    ) -> list[Step] | None:
        """Return the rounds over a set literal whose elements a run decides, in the order written.

        Equal sets are one value, whose elements have one order, so the literal is not made a set:
        all elements are evaluated first, and one that is equal to an earlier one has no round.
        None where that is too long.
        """
        if not self.size.may_try:
            return None
        start, before, n_left = self.size.n_steps, self.missing, len(self.left[-1])
        elements = [Var(scope.names.fresh("element#"), arg.span) for arg in domain.args]
        steps: list[Step] = [
            assign(element.name, arg, None, arg.span)
            for element, arg in zip(elements, domain.args, strict=True)
        ]
        for i, element in enumerate(elements):
            here, place = self.missing, element.span
            if here is None:
                break
            if i > 0:
                self.missing = _turned(here, place, "when no earlier element equals this")
            held = Var(scope.names.fresh(variable.name), variable.span)
            inner = scope.bound(variable.name, Held(held, "loop variable", variable.span))
            round_ = [assign(held.name, element, None, variable.span), *body(inner)]
            if i == 0:
                steps.extend(round_)
            else:
                skipped = _turned(here, place, "when an earlier element equals this")
                self.missing = _merged(here, self.missing, skipped)
                is_earlier = Apply(
                    "in", (element, expressions.folded("set", list(elements[:i]), place)), place
                )
                steps.append(choice(is_earlier, (), round_, place))
            self.size.count_rounds(start, i + 1)
            if i == 0 and self.size.is_too_long(start, len(elements)):
                self.missing = before
                del self.left[-1][n_left:]
                return None
        return steps

    def unrolled(
        self, body: Body, elements: SetValue, scope: Scope, variable: surface.Identifier | None
    ) -> list[Step] | None:
        """Return the body once for each element; None where that is too long.

        The first round tells how long one is. If all together would be too long, it is forgotten
        and the loop stays a loop.
        """
        if elements.size > 1 and not self.size.may_try:
            return None
        steps: list[Step] = []
        start, before, n_left = self.size.n_steps, self.missing, len(self.left[-1])
        self.missing = None if before is None else dict(before)
        for i, element in enumerate(elements):
            if self.missing is None:
                break
            steps.extend(body(_with_element(scope, variable, element)))
            self.size.count_rounds(start, i + 1)
            if i == 0 and elements.size > 1 and self.size.is_too_long(start, elements.size):
                self.missing = before
                del self.left[-1][n_left:]
                return None
        return steps

    def rolled(
        self,
        body: Body,
        domain: Expr,
        scope: Scope,
        variable: surface.Identifier | None,
        span: Span,
    ) -> list[Step]:
        """Return a loop with hidden variables for the set and the position in it."""
        elements, position = scope.names.fresh("set#"), scope.names.fresh("position#")
        there, here = Var(elements, span), Var(position, span)
        # The order written of a set known before any run: equal sets are one value on a run.
        held_as = domain
        match domain:
            case Const(value=SetValue(items=tuple() as items)) if items:
                held_as = Const(items, domain.span)
        steps: list[Step] = [
            assign(elements, held_as, None, span),
            assign(position, Const(0, span), None, span),
        ]
        round_: list[Step] = []
        inner = scope
        if variable is not None:
            held = Var(scope.names.fresh(variable.name), variable.span)
            inner = scope.bound(variable.name, Held(held, "loop variable", variable.span))
            element = Apply("element", (there, here), span)
            if held_as is not domain:  # a tuple, whose components count from 1
                place = Apply("+", (here, Const(1, span)), span)
                element = Apply("index", (there, place), span)
            round_.append(assign(held.name, element, None, variable.span))
        following = Apply("+", (here, Const(1, span)), span)
        round_.append(assign(position, following, None, span))
        before = self.missing
        self.missing = _turned(before, span, "in the first round")
        round_.extend(body(inner))
        is_entered = isinstance(domain, Const) and (self.missing is not None or self.left[-1])
        if not is_entered:
            self.missing = _turned(before, span, "when this has no element")
        condition = Apply("<", (here, Apply("len", (there,), span)), span)
        self.size.n_steps += len(steps) + len(round_) + 1
        return [*steps, graph.while_loop(condition, round_, span)]


# --- small questions -----------------------------------------------------------------------


def _may_be_local(name: str, scope: Scope) -> bool:
    """Return whether assigning a name makes it a local: it is no input, parameter or constant."""
    _, declaration = scope.file.visible.get(name, (None, None))
    return name not in scope.bindings and not isinstance(declaration, surface.Constant)


def _turned(missing: dict[str, Turns] | None, span: Span, text: str) -> dict[str, Turns] | None:
    """Return what is unassigned after a turn, with the turn added to the way."""
    if missing is None:
        return None
    return {name: (*turns, (span, text)) for name, turns in missing.items()}


def _merged(
    before: dict[str, Turns] | None,
    left: dict[str, Turns] | None,
    right: dict[str, Turns] | None,
) -> dict[str, Turns] | None:
    """Return what is unassigned on one of two ways; a turn that does not matter is left out."""
    if left is None or right is None or before is None:
        return right if left is None else left
    merged = {**left, **right}
    return {name: before[name] if name in left and name in right else turns
            for name, turns in merged.items()}  # fmt: skip


def _length_of_tuple(value: Expr) -> int | None:
    match value:
        case Const(value=tuple() as items):
            return len(items)
        case Apply(op="tuple", args=args):
            return len(args)
    return None


def _with_element(scope: Scope, variable: surface.Identifier | None, element: Value) -> Scope:
    if variable is None:
        return scope
    return scope.bound(variable.name, Known(element, "loop variable", variable.span))


def _mechanism_called(tree: surface.Expression, scope: Scope) -> surface.Call | None:
    """Return the call if a mechanism or chain is sampled, by a call or by its bare name."""
    match tree:
        case surface.Call(function=function):
            call = tree
        case surface.Name(name=name, primed=False, quoted=False, span=span):
            function = surface.Identifier(name, span=span)
            call = surface.Call(function, (), span=span)
        case _:
            return None
    _, declaration = scope.file.visible.get(function.name, (None, None))
    is_local = isinstance(tree, surface.Name) and function.name in scope.bindings
    if is_local or not isinstance(declaration, surface.Mechanism | surface.Chain):
        return None
    return call


def _report_no_mechanism(name: surface.Identifier, scope: Scope) -> None:
    _, declaration = scope.file.visible.get(name.name, (None, None))
    if isinstance(declaration, surface.Chain):
        scope.report(composition.ChainInProgram(name.span, name.name))
    else:
        report_no_target(name, surface.Mechanism, scope)


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
