"""Statements to the steps of a graph: one walk through a mechanism's body, forwards.

Loops over sets known before any run are unrolled while that stays short; then the loop variable
is a constant, and so may be parameters, indices and conditions in the body. Other loops get
hidden variables for the set and the position in it. Mechanisms that are run or sampled are
written out with fresh variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, assert_never

from dpcheck.diagnostics import composition, structure
from dpcheck.diagnostics.kinds import LoopOverArray, NotAnArray
from dpcheck.model import program, surface
from dpcheck.model.expressions import Apply, ArrayVar, Binder, Const, Expr, Var, reads
from dpcheck.model.offers import fixed_symbol, offer_symbol
from dpcheck.model.values import SetValue, value_text
from dpcheck.records import Frozen, dataclass
from dpcheck.resolve.expressions import expressions, signatures
from dpcheck.resolve.expressions.params import wrong_value
from dpcheck.resolve.names.scopes import Binding, Held, Known, Scope, report_no_target
from dpcheck.resolve.names.syntax import place_names
from dpcheck.resolve.programs import graph
from dpcheck.resolve.programs.distributions import distribution, mechanism_called
from dpcheck.resolve.programs.graph import Step, assign, choice, plain
from dpcheck.resolve.programs.locals import Locals, Missing, Turns, merged, turned
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
        steps.insert(0, plain(program.Forget, walk.variables_doubted(), span=mechanism.span))
    return tuple(steps)


class _Walk(Locals):
    """The state of one walk.

    `asked` are the variables that an analyst has chosen; `left` has, for each loop around, what may
    be unassigned where `break` leaves it. `has_rounds` is set by a loop that never ends.
    """

    def __init__(
        self, mechanism: surface.Mechanism, scope: Scope, size: Size, prefix: str, *, captured: bool
    ) -> None:
        super().__init__(mechanism, scope, prefix)
        self.size = size
        self.captured = captured
        self.left: list[list[dict[str, Turns]]] = []
        self.asked: set[str] = set()
        self.has_rounds = False

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
                    else plain(program.Output, shown, span=span)
                ]
            case surface.Query():
                return self.query(statement, scope)
            case surface.Stop():
                self.missing = None
                return [graph.STOP]
            case surface.Break(span=span):
                way = turned(self.missing, span, "when this leaves the loop")
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
        variable = self.scalar(name.name, name.span).variable
        self.asked.add(variable)
        uniform = program.Parametric("uniform", (choices,), None, statement.choices.span)
        mark = fixed_symbol if statement.is_fixed else offer_symbol
        offered = () if statement.is_fixed else (choices,)
        parts = (Const(mark(name.name), span), *offered, Var(variable, span))
        shown = Apply("tuple", parts, span)
        by = "fixed" if statement.is_fixed else "adaptive"
        draw = plain(program.Sample, variable, uniform, None, span=span)
        return [draw, plain(program.Output, shown, span=span, query=by)]

    def private_reads(self, choices: Expr) -> str:
        """Return a variable that the choices read and the analyst does not know; "" if none."""
        known = {expressions.HOLE, *self.asked}  # of a hole another mistake tells
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
        self.missing = turned(before, tree.span, "when this is true")
        then = self.block(body, scope)
        after_then = self.missing
        self.missing = turned(before, tree.span, "when this is false")
        orelse = self.choice(rest, otherwise, scope)
        self.missing = merged(before, after_then, self.missing)
        return [choice(condition, then, orelse, tree.span)]

    # --- sampling --------------------------------------------------------------------------

    def sample(self, statement: surface.Sample, scope: Scope) -> list[Step]:
        """Return `place ~ distribution`, or the sampling of another mechanism."""
        place, span = statement.place, statement.span
        mechanism = mechanism_called(statement.distribution, scope)
        if mechanism is not None and statement.is_prior:
            scope.report(composition.PriorOfMechanism(mechanism.span, mechanism.function.name))
            for name in place_names(place):
                self.assigned(name.name)
            return []
        if mechanism is not None:
            return self.sampled(mechanism, statement, scope)
        drawn = distribution(statement.distribution, scope)
        if isinstance(place, surface.Cell) and statement.is_prior:
            if self.assignable(place.name, scope):
                scope.report(NotAnArray(place.span, place.name.name, is_prior=True))
            self.assigned(place.name.name)
            return []
        within: Expr | None = None
        target = scope.names.fresh("drawn#")
        steps = self.assignment(place, Var(target, span), scope, span)
        if drawn is None:
            return []
        match steps:
            case [Step(assigns=(target, within))]:  # what is assigned is drawn at once
                steps = []
        draw = plain(program.Sample, target, drawn, within, span=span, is_prior=statement.is_prior)
        return [draw, *steps]

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
        if counts is not None and (counts[1] == 0 or counts[0] > 1):
            how = "never outputs anything" if counts[1] == 0 else "outputs more than once"
            scope.report(composition.NeverExactlyOnce(mechanism.span, name, how))
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

    def with_breaks(self, steps: list[Step], before: Missing) -> list[Step]:
        """Return the steps of a loop that ends here, which `break` may leave.

        `before` is what was unassigned before the loop.
        """
        ways = self.left.pop()
        for way in ways:
            self.missing = merged(before, self.missing, way)
        return [graph.left_by_break(steps)] if ways else steps

    def while_loop(self, loop: surface.While, scope: Scope) -> list[Step]:
        """Return a `while`; what its body assigns is not assigned after it."""
        condition = expressions.expression(loop.condition, scope)
        known = condition.value if isinstance(condition, Const) else None
        if known is False:
            return []
        before = self.missing
        self.missing = turned(before, loop.condition.span, "in the first round")
        self.left.append([])
        body = self.block(loop.body, scope)
        self.missing = None
        if known is not True:
            self.missing = turned(before, loop.condition.span, "when this is false at once")
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
        is_written = isinstance(index.domain, surface.SetLiteral)
        domain = (expressions.expression if is_written else expressions.ordered)(
            index.domain, scope
        )
        if isinstance(domain, ArrayVar):
            domain = self.indices_of(domain, index, scope)
        inside = partial(self.over, rest, body)
        return self.rounds(
            inside, domain, scope, index.variable, index.domain.span, is_written=is_written
        )

    def indices_of(self, array: ArrayVar, index: surface.LoopIndex, scope: Scope) -> Expr:
        """Return the indices of an array that is looped over, which is a mistake."""
        indices, place = range(array.lo, array.lo + len(array.cells)), index.domain.span
        edit, names = f"{array.lo}..{indices.stop - 1}", (place.text, index.variable.name)
        scope.report(LoopOverArray(place, "a set", "an array", (), edit, "this is", *names))
        return Const(SetValue(indices), place)

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
        self.missing = turned(self.missing, domain.span, "in the first round")
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
                mistake = structure.BadRepeat(span, value_text(value))
                scope.report(wrong_value(value, span, mistake))
                return []
        domain = expressions.folded("rounds", [times], span)
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
        *,
        is_written: bool = False,
    ) -> list[Step]:
        """Return a loop over a set, unrolled where the set is known and that stays short.

        `is_written` is true of a set that is written out as the loop's own.
        """
        rounds: Iterable[_Round] = ()
        n_rounds, steps = 0, list[Step]()
        match domain:
            case Const(value=SetValue() as elements):
                n_rounds, rounds = elements.size, _known_rounds(elements, variable, scope)
            case Apply(op="set", args=args) if is_written and variable is not None:
                held = [Var(scope.names.fresh("element#"), arg.span) for arg in args]
                pairs = zip(held, args, strict=True)
                steps = [assign(element.name, arg, None, arg.span) for element, arg in pairs]
                n_rounds, rounds = len(held), _rounds_as_written(held, variable, scope)
            case _:
                return self.rolled(body, domain, None, scope, variable, span)
        written = self.written_out(body, rounds, n_rounds)
        if written is None:
            return self.rolled(body, domain, _in_order(domain), scope, variable, span)
        return steps + written

    def written_out(self, body: Body, rounds: Iterable[_Round], n_rounds: int) -> list[Step] | None:
        """Return the body once for each round; None where that is too long.

        The first round tells how long one is. If all together would be too long, it is forgotten
        and the loop stays a loop.
        """
        if n_rounds > 1 and not self.size.may_try:
            return None
        steps: list[Step] = []
        start, before, n_left = self.size.n_steps, self.missing, len(self.left[-1])
        self.missing = None if before is None else dict(before)
        for i, each in enumerate(rounds):
            here = self.missing
            if here is None:
                break
            if each.is_earlier is None:
                steps += [*each.first, *body(each.scope)]
            else:
                place = each.is_earlier.span
                self.missing = turned(here, place, "when no earlier element equals this")
                round_ = [*each.first, *body(each.scope)]
                skipped = turned(here, place, "when an earlier element equals this")
                self.missing = merged(here, self.missing, skipped)
                steps.append(choice(each.is_earlier, (), round_, place))
            self.size.count_rounds(start, i + 1)
            if i == 0 and n_rounds > 1 and self.size.is_too_long(start, n_rounds):
                self.missing = before
                del self.left[-1][n_left:]
                return None
        return steps

    def rolled(
        self,
        body: Body,
        domain: Expr,
        in_order: Expr | None,
        scope: Scope,
        variable: surface.Identifier | None,
        span: Span,
    ) -> list[Step]:
        """Return a loop with hidden variables for the set and the position in it.

        `in_order` is a tuple of its elements in the order written, where that is known.
        """
        elements, position = scope.names.fresh("set#"), scope.names.fresh("position#")
        there, here = Var(elements, span), Var(position, span)
        steps: list[Step] = [
            assign(elements, domain if in_order is None else in_order, None, span),
            assign(position, Const(0, span), None, span),
        ]
        round_: list[Step] = []
        inner = scope
        following = Apply("+", (here, Const(1, span)), span)
        if variable is not None:
            held = Var(scope.names.fresh(variable.name), variable.span)
            inner = scope.bound(variable.name, Held(held, "loop variable", variable.span))
            element = Apply("element", (there, here), span)
            if in_order is not None:  # components of tuples count from 1
                element = Apply("index", (there, following), span)
            round_.append(assign(held.name, element, None, variable.span))
        round_.append(assign(position, following, None, span))
        before = self.missing
        self.missing = turned(before, span, "in the first round")
        inside = body(inner)
        if isinstance(in_order, Apply):
            is_earlier = _is_earlier(there, here, Var(scope.names.fresh("earlier#"), span))
            inside = [choice(is_earlier, (), inside, span)]
        round_.extend(inside)
        is_known = isinstance(domain, Const) or in_order is not None
        is_entered = is_known and (self.missing is not None or self.left[-1])
        if not is_entered:
            self.missing = turned(before, span, "when this has no element")
        condition = Apply("<", (here, Apply("len", (there,), span)), span)
        self.size.n_steps += len(steps) + len(round_) + 1
        return [*steps, graph.while_loop(condition, round_, span)]


# --- small questions -----------------------------------------------------------------------


class _Round(Frozen):
    """A round written out: its scope, the steps before the body, and when it is left out."""

    scope: Scope
    first: Sequence[Step] = ()
    is_earlier: Expr | None = None


def _known_rounds(
    elements: SetValue, variable: surface.Identifier | None, scope: Scope
) -> Iterator[_Round]:
    """Yield a round for each element of a set known before any run."""
    for element in elements:
        if variable is None:
            yield _Round(scope)
        else:
            known = Known(element, "loop variable", variable.span)
            yield _Round(scope.bound(variable.name, known))


def _rounds_as_written(
    elements: Sequence[Var], variable: surface.Identifier, scope: Scope
) -> Iterator[_Round]:
    """Yield the rounds over a set literal whose elements a run decides, in the order written.

    Equal sets are one value, whose elements have one order, so the literal is not made a set:
    all elements are evaluated first, and one that is equal to an earlier one has no round.
    """
    for i, element in enumerate(elements):
        held = Var(scope.names.fresh(variable.name), variable.span)
        inner = scope.bound(variable.name, Held(held, "loop variable", variable.span))
        earlier = expressions.folded("set", list(elements[:i]), element.span)
        is_earlier = Apply("in", (element, earlier), element.span) if i else None
        yield _Round(inner, [assign(held.name, element, None, variable.span)], is_earlier)


def _in_order(domain: Expr) -> Expr | None:
    """Return a tuple of the elements of a set in the order written, None for a range.

    Equal sets are one value on a run, which does not remember the order.
    """
    match domain:
        case Const(value=SetValue(items=tuple() as items)) if items:
            return Const(items, domain.span)
        case Apply(op="set", args=args):
            return Apply("tuple", args, domain.span)
    return None


def _is_earlier(elements: Expr, place: Expr, other: Var) -> Expr:
    """Return whether an element of a tuple is equal to one before it, at some `other` place."""
    span = other.span
    last = Apply("-", (place, Const(1, span)), span)
    before = Apply("range", (Const(1, span), last), span)
    one, this = (Apply("index", (elements, each), span) for each in (other, place))
    return Binder(other.name, "exists", before, None, Apply("=", (one, this), span), span)


def _report_no_mechanism(name: surface.Identifier, scope: Scope) -> None:
    _, declaration = scope.file.visible.get(name.name, (None, None))
    if isinstance(declaration, surface.Chain):
        scope.report(composition.ChainInProgram(name.span, name.name))
    else:
        report_no_target(name, surface.Mechanism, scope)
