"""A mechanism with its parameters filled in: inputs, adjacency and program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dpcheck.diagnostics import structure
from dpcheck.diagnostics.runs import PairOutsideInput
from dpcheck.exact import Number
from dpcheck.model import program, surface, trees
from dpcheck.model.evaluation import apply
from dpcheck.model.expressions import ArrayVar, Var, primed_name, reads
from dpcheck.model.values import Value, value_text
from dpcheck.resolve.expressions.expressions import constant, expression, has_hole
from dpcheck.resolve.expressions.kinds import report_wrong_kinds
from dpcheck.resolve.expressions.signatures import InputShape, cell_names, input_shapes
from dpcheck.resolve.names.scopes import Held, Role, Scope
from dpcheck.resolve.programs.fixed_queries import with_known_choices
from dpcheck.resolve.programs.graph import Step, control_flow_graph
from dpcheck.resolve.programs.lengths import too_long_part
from dpcheck.resolve.programs.secrets import with_possible_secrets
from dpcheck.resolve.programs.statements import MAX_STEPS, Size, TooManySteps, mechanism_steps
from dpcheck.source import Span


def resolved_mechanism(
    mechanism: surface.Mechanism, title: str, scope: Scope, kept: Number, use: Span
) -> program.Mechanism | None:
    """Return the core mechanism; None if its inputs have a mistake.

    `scope` is the file's, with the parameters bound; each record is `kept` so likely, which is said
    at `use`. Other mistakes are only reported: what is returned then must not be explored.
    """
    part = too_long_part(mechanism, scope.file, scope.session, MAX_STEPS)
    if part is not None:
        scope.report(structure.ProgramTooLarge(part.name.span, part.name.name, MAX_STEPS))
        return None
    shapes, broken = input_shapes(mechanism, scope)
    scope = scope.bound_all({**input_bindings(shapes, scope), **broken})
    inputs = tuple(_input(shape, shapes[:i], scope) for i, shape in enumerate(shapes))
    adjacency = _adjacency(mechanism, shapes, scope)
    drawn: tuple[Step, ...] = ()
    if kept != 1:
        from dpcheck.resolve.programs.subsampling import sample_of_records

        drawn, scope = sample_of_records(mechanism, shapes, kept, scope, use)
    try:
        steps = (*drawn, *mechanism_steps(mechanism, scope, Size(), captured=False))
    except TooManySteps:
        scope.report(structure.ProgramTooLarge(mechanism.name.span, mechanism.name.name, MAX_STEPS))
        scope.session.too_long.append(mechanism)
        return None
    place = mechanism.name.span
    nodes, entry = control_flow_graph(steps, place)
    sampled_at = None if kept == 1 else use
    core = program.Mechanism(title, inputs, adjacency, nodes, entry, place, sampled_at)
    core = with_known_choices(with_possible_secrets(core, scope), scope)
    report_wrong_kinds(core, scope)
    return None if broken else core


# --- inputs --------------------------------------------------------------------------------


def _variable(shape: InputShape) -> Var | ArrayVar:
    """Return the variable of an input: its own name, and a cell for each element of an array."""
    span = shape.declared.name.span
    if shape.indices is None:
        return Var(shape.name, span)
    cells = (f"{shape.name}[i]",) if shape.is_stream else cell_names(shape.name, shape.indices)
    return ArrayVar(shape.name, shape.indices.start, cells, span)


def input_bindings(shapes: Sequence[InputShape], scope: Scope) -> dict[str, Held]:
    """Return what the inputs are: variables of their own names."""
    bindings: dict[str, Held] = {}
    for shape in shapes:
        scope.names.fresh(shape.name)
        role: Role = "stream" if shape.is_stream else "input"
        bindings[shape.name] = Held(_variable(shape), role, shape.declared.name.span)
    return bindings


def _input(shape: InputShape, earlier: Sequence[InputShape], scope: Scope) -> program.Input:
    """Return an input; its `where` sees itself and the inputs before it."""
    declared = shape.declared
    where = None
    if declared.where is not None:
        later = {name for name, held in scope.bindings.items() if isinstance(held, Held)}
        later -= {known.name for known in (*earlier, shape)}
        visible = {name: held for name, held in scope.bindings.items() if name not in later}
        inner = Scope(scope.session, scope.file, scope.names, visible)
        where = expression(declared.where, inner)
    variable = _variable(shape)
    lo, cells = (
        (variable.lo, variable.cells) if isinstance(variable, ArrayVar) else (None, (shape.name,))
    )
    public, stream = declared.is_public, shape.is_stream
    return program.Input(shape.name, lo, cells, shape.domain, where, public, declared.span, stream)


# --- adjacency -----------------------------------------------------------------------------


def _adjacency(
    mechanism: surface.Mechanism, shapes: Sequence[InputShape], scope: Scope
) -> tuple[program.Adjacency, ...]:
    """Return the clauses; a mechanism with private inputs needs one."""
    private = [shape for shape in shapes if not shape.declared.is_public]
    if not mechanism.adjacency:
        if private:
            suggestion = _suggestion(private)
            scope.report(
                structure.MissingAdjacent(mechanism.name.span, mechanism.name.name, suggestion)
            )
        return ()
    clauses = [_clause(clause, mechanism, shapes, scope) for clause in mechanism.adjacency]
    known = tuple(clause for clause in clauses if clause is not None)
    if len(known) == len(clauses) and not any(map(has_mistake, known)):
        _report_free_inputs(private, known, scope)
        for clause in mechanism.adjacency:
            if isinstance(clause, surface.AdjacentWhere):
                _report_unprimed(private, clause.condition, scope)
    return known


def has_mistake(clause: program.Adjacency) -> bool:
    """Return whether a clause has a part that could not be resolved."""
    return isinstance(clause, program.AdjacentWhere) and has_hole(clause.condition)


def _suggestion(private: Sequence[InputShape]) -> str:
    """Return a clause that fits the first input."""
    shape = private[0]
    name = shape.name
    numbers = shape.domain.has_integers_only
    if len(private) > 1:
        return "all"
    if shape.indices is not None:
        distance = "linf" if shape.is_stream else "l1" if numbers else "hamming"
        return f"{distance}({name}, {name}') <= 1"
    return f"abs({name} - {name}') <= 1" if numbers else "all"


def _clause(
    clause: surface.Adjacent,
    mechanism: surface.Mechanism,
    shapes: Sequence[InputShape],
    scope: Scope,
) -> program.Adjacency | None:
    match clause:
        case surface.AdjacentAll(span=span):
            return program.AdjacentAll(span)
        case surface.AdjacentWhere(condition=condition, span=span):
            primed = {shape.name: _primed(shape) for shape in shapes}
            whole = {shape.name: _held(shape) for shape in shapes}
            bindings = {**scope.bindings, **whole}
            inner = Scope(scope.session, scope.file, scope.names, bindings, primed)
            return program.AdjacentWhere(expression(condition, inner), span)
        case surface.AdjacentPairs():
            return _pairs(clause, mechanism, shapes, scope)


def _held(shape: InputShape) -> Held:
    """Return an input as it stands in `adjacent`: of a stream its one cell, which is any round."""
    return Held(_variable(shape), "input", shape.declared.name.span)


def _primed(shape: InputShape) -> Held:
    """Return the neighbor's copy of an input: every variable with a prime at its end."""
    variable = _variable(shape)
    span = shape.declared.name.span
    if isinstance(variable, Var):
        return Held(Var(f"{variable.name}'", span), "input", span)
    cells = tuple(map(primed_name, variable.cells))
    return Held(ArrayVar(f"{variable.name}'", variable.lo, cells, span), "input", span)


def _pairs(
    clause: surface.AdjacentPairs,
    mechanism: surface.Mechanism,
    shapes: Sequence[InputShape],
    scope: Scope,
) -> program.Adjacency | None:
    """Return the pairs of values of the one private input."""
    private = [shape for shape in shapes if not shape.declared.is_public]
    n_private = sum(not one.is_public for one in mechanism.inputs)
    if len(private) < n_private:  # an input has a mistake of its own
        return None
    if n_private != 1 or private[0].indices is not None:
        scope.report(structure.PairsNeedOneInput(clause.span, mechanism.name.name, n_private))
        return None
    shape = private[0]
    bare = Scope(
        scope.session,
        scope.file,
        scope.names,
        {name: held for name, held in scope.bindings.items() if not isinstance(held, Held)},
    )
    pairs: list[tuple[Value, Value]] = []
    for left, right in clause.pairs:
        values = [_pair_value(tree, shape, bare) for tree in (left, right)]
        if values[0] is not None and values[1] is not None:
            pairs.append((values[0], values[1]))
    if len(pairs) != len(clause.pairs):
        return None
    return program.AdjacentPairs(tuple(pairs), clause.span)


def _pair_value(tree: surface.Expression, shape: InputShape, scope: Scope) -> Value | None:
    value = constant(tree, scope, "a value in `adjacent`")
    if value is not None and not apply("in", (value, shape.domain)):
        scope.report(PairOutsideInput(tree.span, shape.name, value_text(value)))
        return None
    return value


def _report_free_inputs(
    private: Sequence[InputShape], clauses: Sequence[program.Adjacency], scope: Scope
) -> None:
    """Warn about private inputs that no clause mentions."""
    mentioned: set[str] = set()
    for clause in clauses:
        if not isinstance(clause, program.AdjacentWhere):
            return
        mentioned.update(name.replace("'", "") for name in reads(clause.condition))
    for shape in private:
        variable = _variable(shape)
        cells = variable.cells if isinstance(variable, ArrayVar) else (variable.name,)
        if mentioned.isdisjoint(cells):
            scope.report(structure.FreeInput(shape.declared.name.span, shape.name))


def _report_unprimed(
    private: Sequence[InputShape], condition: surface.Expression, scope: Scope
) -> None:
    """Warn about private inputs that a condition reads, but not with a prime: a forgotten `'`."""
    names = [node for node in trees.descendants(condition) if isinstance(node, surface.Name)]
    primed = {node.name for node in names if node.primed}
    for shape in private:
        places = [node.span for node in names if node.name == shape.name and not node.quoted]
        if places and shape.name not in primed:
            first = min(places, key=lambda span: span.start)
            edit = _with_prime(condition, shape.name)
            scope.report(structure.UnprimedInput(first, shape.name, condition.span, edit))


def _with_prime(condition: surface.Expression, name: str) -> str | None:
    """Return a condition with primes where it compares an input with itself: in `x - x`.

    The second of two equal operands is the neighbor's.
    """
    text = condition.span.text
    for node in trees.descendants(condition):
        below = trees.parts(node)
        operands = [part.value if isinstance(part, surface.Argument) else part for part in below]
        for left, right in pairwise(operands):
            used = [
                n
                for n in trees.descendants(right)
                if isinstance(n, surface.Name) and n.name == name
            ]
            if left == right and used:
                ends = sorted((n.span.end - condition.span.start for n in used), reverse=True)
                for end in ends:
                    text = f"{text[:end]}'{text[end:]}"
                return " ".join(text.split())
    return None
