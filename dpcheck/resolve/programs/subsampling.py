"""Poisson subsampling: a mechanism that sees each record with some probability, independently.

A database is as many records of each kind as its private inputs say, integers in 0..n. Of v equal
records, binomially many are kept (each by itself with probability q), and the mechanism runs on
those: a program as any other, so its law is exact for every database, and neighbors are what the
mechanism says, one record that is added or removed (Balle, Barthe, Gaboardi, "Privacy amplification
by subsampling", NeurIPS 2018). Inputs that do not count have no law of what runs see without a
record, so they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.diagnostics.quantities import NotCountsOfRecords
from dpcheck.exact import Number
from dpcheck.model import surface
from dpcheck.model.expressions import ArrayVar, Const, Var
from dpcheck.model.program import Parametric, Sample
from dpcheck.model.values import INTEGERS, value_text
from dpcheck.resolve.expressions.expressions import expression
from dpcheck.resolve.expressions.signatures import InputShape, cell_names
from dpcheck.resolve.names.scopes import Held, Scope
from dpcheck.resolve.programs.graph import Step, choice, fail, plain
from dpcheck.source import Span


def sample_of_records(
    mechanism: surface.Mechanism,
    shapes: Sequence[InputShape],
    kept: Number,
    scope: Scope,
    span: Span,
) -> tuple[tuple[Step, ...], Scope]:
    """Return the draws of what is kept of each private input, and a scope where inputs mean that.

    A sample that the mechanism's `where` excludes is a mistake of the run that draws it.
    """
    steps: list[Step] = []
    for shape in shapes:
        if not shape.declared.is_public:
            if not _counts_records(shape):
                _report_no_counts(mechanism, shape, scope, span)
                continue
            drawn, sample = _drawn(shape, kept, scope, span)
            steps += drawn
            scope = scope.bound(shape.name, sample)
        if shape.declared.where is not None:  # what is public may depend on what is kept
            condition = expression(shape.declared.where, scope)
            reason = f"a sample of records does not satisfy the `where` of `{shape.name}`"
            steps.append(choice(condition, (), (fail(reason, span),), span))
    return tuple(steps), scope


def _drawn(shape: InputShape, kept: Number, scope: Scope, span: Span) -> tuple[list[Step], Held]:
    """Return the draws of what is kept of an input, and what holds that."""
    held = scope.bindings[shape.name]
    assert isinstance(held, Held), "an input is a variable"
    new = scope.names.fresh(f"sampled_{shape.name}")
    sample: Var | ArrayVar = Var(new, held.span)
    cells, records = [new], [shape.name]
    if isinstance(held.variable, ArrayVar):
        assert shape.indices is not None, "an array has indices"
        cells, records = list(cell_names(new, shape.indices)), list(held.variable.cells)
        sample = ArrayVar(new, held.variable.lo, tuple(cells), held.span)
    place = shape.declared.name.span
    steps = [_draw(one, Var(of, span), kept, place) for one, of in zip(cells, records, strict=True)]
    return steps, Held(sample, "input", held.span)


def _draw(sample: str, records: Var, kept: Number, span: Span) -> Step:
    drawn = Parametric("binomial", (records, Const(kept, span)), None, span)
    return plain(Sample, sample, drawn, None, span=span)


def _report_no_counts(
    mechanism: surface.Mechanism, shape: InputShape, scope: Scope, span: Span
) -> None:
    domain, name = value_text(shape.domain), mechanism.name.name
    values = None if shape.is_stream or shape.domain == INTEGERS else shape.domain
    n_records = 1 if shape.indices is None else len(shape.indices)
    counts = _as_counts(shape)
    scope.report(NotCountsOfRecords(span, name, shape.name, domain, counts, values, n_records))


def _counts_records(shape: InputShape) -> bool:
    """Return whether an input is 0..n."""
    if shape.is_stream or shape.domain == INTEGERS:
        return False
    items = shape.domain.items
    if isinstance(items, range):
        return items.start == 0
    return {item for item in items if type(item) is int} == set(range(len(items)))


def _as_counts(shape: InputShape) -> str | None:
    """Return the declaration with the set 0..n for numbers of an input; other values count none."""
    items = range(2) if shape.domain == INTEGERS else shape.domain.items
    ends = (items[0], items[-1]) if isinstance(items, range) else items
    numbers = [n for n in ends if type(n) is int and n >= 0]
    if len(numbers) < len(ends):
        return None
    indices = shape.declared.indices
    return f"{shape.name}{'' if indices is None else f'[{indices.span.text}]'} in 0..{max(numbers)}"
