"""An explicit chain with its parameters filled in: families, rows, neighbors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from dpcheck.diagnostics.names import HiddenName, NameTaken, UnknownState
from dpcheck.diagnostics.runs import NowhereToStart, OutsideFamily, TwoRowsForOneState
from dpcheck.diagnostics.structure import ComputedWithUnbounded, NotAState, WrongNumberOfIndices
from dpcheck.model import program, surface
from dpcheck.model.atoms import Label
from dpcheck.model.evaluation import apply
from dpcheck.model.expressions import Apply, Const, Expr, Logic, Var
from dpcheck.model.values import SetValue, Symbol, Value
from dpcheck.resolve.expressions.expressions import constant, expression
from dpcheck.resolve.expressions.kinds import report_wrong_kinds_of_rows
from dpcheck.resolve.expressions.signatures import known_set
from dpcheck.resolve.names.scopes import Held, Known, Scope, sound, what_is
from dpcheck.resolve.programs.distributions import check_row, distribution
from dpcheck.resolve.programs.loops import report_second_variables
from dpcheck.source import Span


def resolved_chain(chain: surface.Chain, title: str, scope: Scope) -> program.ExplicitChain | None:
    """Return the core chain; None if its states have a mistake.

    `scope` is the file's, with the parameters bound. Other mistakes are only reported: what is
    returned then must not be explored.
    """
    families = _families(chain, scope)
    if families is None:
        return None
    states = States(chain.name.name, families)
    rows = _rows(chain.rows, states, scope)
    _report_second_rows(rows, scope)
    clauses = (_adjacent(clause, states, scope) for clause in chain.adjacency)
    adjacency = tuple(clause for clause in clauses if clause is not None)
    initial = _initial(chain, states, scope)
    if initial is None and not chain.adjacency:
        scope.report(NowhereToStart(chain.name.span, chain.name.name))
    observed = _observed(chain, states, scope)
    place = chain.name.span
    core = program.ExplicitChain(title, families, rows, adjacency, initial, observed, place)
    report_wrong_kinds_of_rows(core, scope)
    return core


# --- states --------------------------------------------------------------------------------


class States:
    """The states and labels of a chain by name."""

    def __init__(self, chain: str, families: Sequence[program.Family]) -> None:
        """Collect the names of families and labels."""
        self.chain = chain
        self.families = {family.name: family for family in families}
        self.labels = frozenset(label for family in families for label in family.labels)

    def names(self) -> Iterable[str]:
        """Return every name of a state, family or label."""
        return (*self.families, *self.labels)

    def family(self, name: surface.Identifier, scope: Scope) -> program.Family | None:
        """Return the family, or single state, of a name; else report what the name is."""
        family = self.families.get(name.name)
        if family is None:
            if name.name in self.labels:
                scope.report(NotAState(name.span, name.name, "a label"))
            else:
                candidate = scope.session.suggestion(name.name, self.names())
                scope.report(UnknownState(name.span, name.name, self.chain, candidate))
        return family


def domain_of(family: program.Family, position: int) -> SetValue:
    """Return the set that one index of a family ranges over."""
    _, domain = family.indices[position]
    assert isinstance(domain, Const), "sets of indices are known"
    assert isinstance(domain.value, SetValue), "sets of indices are sets"
    return domain.value


def _families(chain: surface.Chain, scope: Scope) -> tuple[program.Family, ...] | None:
    families: dict[str, program.Family] = {}
    is_sound = True
    for declared in chain.families:
        name = declared.name.name
        if name in families:
            first = families[name].span
            scope.report(NameTaken(declared.name.span, name, "a state", first))
            is_sound = False
            continue
        indices: list[tuple[str, Expr]] = []
        for index in declared.indices:
            purpose = f"the set of `{index.variable.name}`"
            domain = known_set(index.domain, scope, purpose)
            is_sound = is_sound and domain is not None
            if domain is not None:
                indices.append((index.variable.name, Const(domain, index.domain.span)))
        labels = tuple(label.name for label in declared.labels)
        families[name] = program.Family(name, tuple(indices), labels, declared.name.span)
    return tuple(families.values()) if is_sound else None


# --- rows ----------------------------------------------------------------------------------


def _rows(
    rows: Sequence[surface.RowStatement], states: States, scope: Scope
) -> tuple[program.RowStatement, ...]:
    resolved = (_row_statement(row, states, scope) for row in rows)
    return tuple(row for row in resolved if row is not None)


def _row_statement(
    row: surface.RowStatement, states: States, scope: Scope
) -> program.RowStatement | None:
    match row:
        case surface.Row(origin=origin, branches=branches, span=span):
            source = _member(origin, states, scope)
            weights = [_weight(branch, scope) for branch in branches]
            check_row(span, weights, scope)
            pairs = zip(branches, weights, strict=True)
            targets: tuple[program.RowBranch | program.RowDraw, ...] | None
            targets = sound([_branch(branch, weight, states, scope) for branch, weight in pairs])
            return None if source is None or targets is None else program.Row(source, targets, span)
        case surface.RowsFor():
            report_second_variables(row.indices, scope)
            (statement,) = _loop(row, row.indices, states, scope)
            return statement
        case surface.RowsIf(branches=branches, otherwise=otherwise):
            return _choice(branches, otherwise, states, scope)
    assert_never(row)


def _loop(
    loop: surface.RowsFor, indices: Sequence[surface.LoopIndex], states: States, scope: Scope
) -> tuple[program.RowStatement, ...]:
    """Return a loop over the indices that are left, one inside of the other."""
    if not indices:
        if loop.where is None:
            return _rows(loop.body, states, scope)
        return (_choice([(loop.where, loop.body)], (), states, scope),)
    index, *rest = indices
    domain = expression(index.domain, scope)
    inner, name = _with_variable(index.variable, _in_loop(domain, scope))
    return (program.RowsFor(name, domain, _loop(loop, rest, states, inner), loop.span),)


def _choice(
    branches: Sequence[tuple[surface.Expression, tuple[surface.RowStatement, ...]]],
    otherwise: Sequence[surface.RowStatement],
    states: States,
    scope: Scope,
) -> program.RowsIf:
    """Return `if ... else if ... else` as nested choices."""
    (tree, body), *rest = branches
    condition = expression(tree, scope)
    scope = scope.uncertain()
    then = _rows(body, states, scope)
    nested = (_choice(rest, otherwise, states, scope),) if rest else None
    orelse = _rows(otherwise, states, scope) if nested is None else nested
    return program.RowsIf(condition, then, orelse, tree.span)


def _with_variable(variable: surface.Identifier, scope: Scope) -> tuple[Scope, str]:
    """Return the scope in which a loop or draw variable is known, and its core name."""
    name = scope.names.fresh(variable.name)
    held = Held(Var(name, variable.span), "loop variable", variable.span)
    return scope.bound(variable.name, held), name


def _report_second_rows(rows: Sequence[program.RowStatement], scope: Scope) -> None:
    """Report states with two rows as far as no loop has to be run for it."""
    first: dict[str, Span] = {}
    for row in rows:
        if not isinstance(row, program.Row):
            continue
        indices = [index.value for index in row.source.indices if isinstance(index, Const)]
        if len(indices) != len(row.source.indices):
            continue
        key = Label(row.source.name, tuple(indices) or None).text
        if key in first:
            scope.report(TwoRowsForOneState(row.span, (), key, first[key]))
        first.setdefault(key, row.span)


def _in_loop(domain: Expr, scope: Scope) -> Scope:
    """Return the scope of a loop's body: what stands there is met if the domain has elements."""
    value = domain.value if isinstance(domain, Const) else None
    return scope if isinstance(value, SetValue) and value.size > 0 else scope.uncertain()


def _weight(branch: surface.RowBranch | surface.RowDraw, scope: Scope) -> Expr:
    """Return the probability of a branch; a draw takes all of it."""
    match branch:
        case surface.RowBranch(probability=probability):
            return expression(probability, scope)
        case surface.RowDraw(span=span):
            return Const(1, span)
    assert_never(branch)


def _branch(
    branch: surface.RowBranch | surface.RowDraw, weight: Expr, states: States, scope: Scope
) -> program.RowBranch | program.RowDraw | None:
    match branch:
        case surface.RowBranch(target=tree, span=span):
            target = _member(tree, states, scope)
            return None if target is None else program.RowBranch(weight, target, span)
        case surface.RowDraw(variable=variable, distribution=tree, target=target_tree, span=span):
            drawn = distribution(tree, scope)
            inner, name = _with_variable(variable, scope)
            target = _member(target_tree, states, inner)
            if drawn is None or target is None:
                return None
            policy = program.unbounded_policy(drawn)
            if policy is not None:
                place, what = target_tree.span, "the target of a row"
                among = next((each for _, each in states.families[target.name].indices), None)
                scope.report(ComputedWithUnbounded(place, what, variable.name, policy.span, among))
                return None
            return program.RowDraw(name, drawn, target, span)
    assert_never(branch)


def _member(
    tree: surface.StateReference, states: States, scope: Scope, *, whole: bool = False
) -> program.StateReference | None:
    """Return a reference to one state; with `whole`, a family's bare name stands for all of it."""
    family = states.family(tree.name, scope)
    indices = tuple(expression(index, scope) for index in tree.indices)
    if family is None:
        return None
    if not (whole and not indices) and not _fits(family, len(indices), tree, scope):
        return None
    values = [index.value for index in indices if isinstance(index, Const)]
    if values and len(values) == len(indices) and scope.certain:
        _known_label(family, values, tree.span, scope)
    return program.StateReference(tree.name.name, indices, tree.span)


def _fits(family: program.Family, given: int, tree: surface.StateReference, scope: Scope) -> bool:
    needed = len(family.indices)
    if needed == given:
        return True
    if given == 0:
        scope.report(NotAState(tree.span, family.name, "a whole family of states"))
    else:
        scope.report(WrongNumberOfIndices(tree.span, family.name, needed, given))
    return False


def is_member(family: program.Family, indices: Sequence[Value]) -> bool:
    """Return whether a family has a member with these indices."""
    return len(indices) == len(family.indices) and all(
        apply("in", (value, domain_of(family, position))) is True
        for position, value in enumerate(indices)
    )


def first_member(family: program.Family) -> Label | None:
    """Return the label of the first member of a family, if it has any."""
    domains = [domain_of(family, position).items for position in range(len(family.indices))]
    return Label(family.name, tuple(items[0] for items in domains)) if all(domains) else None


# --- neighbors, initial states, observations -----------------------------------------------


def _adjacent(
    clause: surface.AdjacentStates, states: States, scope: Scope
) -> program.AdjacentStates | None:
    """Return a clause with its fresh index names.

    A bare name between brackets ranges over the set of that position; where it stands at several
    positions, over the first one's, and must belong to the others' too.
    """
    names: dict[str, tuple[str, Expr]] = {}
    memberships: list[Expr] = []
    inner = scope
    for tree in (clause.left, clause.right):
        family = states.family(tree.name, scope)
        if family is None or not _fits(family, len(tree.indices), tree, scope):
            return None
        for position, index in enumerate(tree.indices):
            if not isinstance(index, surface.Name) or index.quoted or index.primed:
                continue
            domain = Const(domain_of(family, position), index.span)
            if index.name in names:
                variable = Var(names[index.name][0], index.span)
                memberships.append(Apply("in", (variable, domain), index.span))
                continue
            _warn_of_hidden_name(index, domain_of(family, position), scope)
            identifier = surface.Identifier(index.name, span=index.span)
            inner, name = _with_variable(identifier, inner)
            names[index.name] = (name, domain)
    if names or clause.where is not None:
        inner = inner.uncertain()
    left, right = _member(clause.left, states, inner), _member(clause.right, states, inner)
    where = None if clause.where is None else expression(clause.where, inner)
    if left is None or right is None:
        return None
    conditions = [*memberships, *(() if where is None else (where,))]
    if len(conditions) > 1:
        where = Logic("and", tuple(conditions), clause.span)
    elif conditions:
        where = conditions[0]
    return program.AdjacentStates(left, right, tuple(names.values()), where, clause.span)


def _warn_of_hidden_name(index: surface.Name, domain: SetValue, scope: Scope) -> None:
    binding = scope.bindings.get(index.name)
    _, declaration = scope.file.visible.get(index.name, (None, None))
    if isinstance(binding, Known):
        scope.report(HiddenName(index.span, index.name, f"the {binding.role}"))
    elif isinstance(declaration, surface.Constant):
        what = what_is(declaration).removeprefix("a ")
        scope.report(HiddenName(index.span, index.name, f"the {what}"))
    elif Symbol(index.name) in domain.items:
        scope.report(HiddenName(index.span, index.name, "the symbol", f'"{index.name}"'))


def _initial(
    chain: surface.Chain, states: States, scope: Scope
) -> tuple[program.StateReference, ...] | None:
    if not chain.inits:
        return None
    references = [
        _member(tree, states, scope, whole=True) for init in chain.inits for tree in init.states
    ]
    return tuple(reference for reference in references if reference is not None)


def _observed(chain: surface.Chain, states: States, scope: Scope) -> tuple[Label, ...] | None:
    """Return what an adversary sees: labels, families, states, members `s[3]`."""
    if not chain.observes:
        return None
    trees = (tree for observe in chain.observes for tree in observe.names)
    labels = (_observed_label(tree, states, scope) for tree in trees)
    return tuple(dict.fromkeys(label for label in labels if label is not None))


def _observed_label(tree: surface.StateReference, states: States, scope: Scope) -> Label | None:
    name = tree.name.name
    if tree.indices:
        return known_member(tree.name, tree.indices, tree.span, states, scope)
    if name not in states.families and name not in states.labels:
        candidate = scope.session.suggestion(name, states.names())
        scope.report(UnknownState(tree.span, name, states.chain, candidate))
        return None
    return Label(name, None)


def known_member(
    name: surface.Identifier,
    indices: Sequence[surface.Expression],
    span: Span,
    states: States,
    scope: Scope,
) -> Label | None:
    """Return the label of a member that is known; else report why there is none."""
    family = states.family(name, scope)
    if family is None:
        return None
    needed, given = len(family.indices), len(indices)
    if needed != given:
        scope.report(WrongNumberOfIndices(span, family.name, needed, given))
        return None
    purpose = f"an index of `{name.name}`"
    values: tuple[Value, ...] | None = sound([constant(i, scope, purpose) for i in indices])
    return None if values is None else _known_label(family, values, span, scope)


def _known_label(
    family: program.Family, values: Sequence[Value], span: Span, scope: Scope
) -> Label | None:
    """Return the label of the member with these indices; else report that there is none."""
    member = Label(family.name, tuple(values))
    if not is_member(family, values):
        scope.report(OutsideFamily(span, (), member.text))
        return None
    return member
