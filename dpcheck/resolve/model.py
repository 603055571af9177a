"""A whole model file: declarations, targets, claims.

The steps, in order: link the files, evaluate the constants, expand the questions. Targets are
resolved when a question first needs them; those that no question needs are resolved too, so that
their mistakes are seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from dpcheck.diagnostics.claims import NothingAsked, TooManyClaims
from dpcheck.diagnostics.composition import ChoicesWithoutNumbers, InputAsParameter
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.params import ParamAsValue
from dpcheck.diagnostics.quantities import ArrangementUsage
from dpcheck.diagnostics.runs import RunMistake
from dpcheck.diagnostics.syntax import ForeignSpelling, NestedTooDeeply
from dpcheck.exact import ExpNumber, Number
from dpcheck.limits import FRAMES, with_deep_stack
from dpcheck.logic.claims import At, Claim, FormulaClaim
from dpcheck.logic.formulas import Truth
from dpcheck.model import surface
from dpcheck.model.atoms import inputs_of
from dpcheck.model.expressions import Var
from dpcheck.model.fixed_queries import open_cells
from dpcheck.model.program import Mechanism, Part, Target
from dpcheck.model.surface_text import written_text
from dpcheck.model.values import Value, value_key, value_text
from dpcheck.records import Frozen, replace
from dpcheck.resolve.chains import resolved_chain
from dpcheck.resolve.checks import Resolved, ResolvedCheck
from dpcheck.resolve.claims import arrangements
from dpcheck.resolve.claims.all_values import Quantified, left_out, quantified
from dpcheck.resolve.claims.claims import at_condition, claim, quantity_names
from dpcheck.resolve.claims.formulas import Collected, Reader, filled_in_texts
from dpcheck.resolve.expressions import expressions
from dpcheck.resolve.expressions.params import params_in, report_misuse
from dpcheck.resolve.expressions.signatures import input_shapes, named_arguments, parameter_bindings
from dpcheck.resolve.names import scopes
from dpcheck.resolve.names.files import linked_file
from dpcheck.resolve.names.syntax import called_names
from dpcheck.resolve.names.unread import UnreadNames
from dpcheck.resolve.programs.distributions import distribution
from dpcheck.resolve.programs.fixed_queries import choice_bindings
from dpcheck.resolve.programs.loops import known_condition, known_domain, report_second_variables
from dpcheck.resolve.programs.mechanisms import input_bindings, resolved_mechanism
from dpcheck.source import SourceText, Span

MAX_CHECKS = 10_000
"""Loops around claims make at most this many."""

MAX_ROUNDS = 100_000
"""Loops around claims have at most this many rounds, those that a `where` leaves out included."""

TargetItem = surface.Mechanism | surface.Chain


def resolve_model(
    main: surface.SurfaceModel,
    imported: Sequence[surface.SurfaceModel] = (),
    overrides: Mapping[str, surface.Expression] | None = None,
    lost_words: frozenset[str] = frozenset(),
    n_in_claims: int = 0,
) -> Resolved:
    """Return the checks of a file with their targets, and every mistake that can be seen.

    `imported` is everything the file imports, directly or not, each file after those that it
    imports itself; `overrides` are values for constants, as expressions over the main file's
    names. Which overrides some file declares is for the caller to see.
    `lost_words` are those of items with syntax errors: nobody calls them unknown. `n_in_claims`
    mistakes were seen in claims that were left out.
    """
    session = scopes.Session(dict(overrides or {}), lost_words, n_in_claims=n_in_claims)
    found = _resolved_safely(main, imported, session, None)

    again = partial(scopes.Session, session.overrides, lost_words)

    def with_others(check: ResolvedCheck) -> ResolvedCheck:
        resolved = partial(_resolved_safely, main, imported, only=check)
        if check.for_all is None:
            return replace(check, with_parameters=lambda values: resolved(again(given=values)))
        name = check.for_all.param.name
        return replace(check, chosen=lambda value: resolved(again(chosen={name: value})))

    return replace(found, checks=tuple(map(with_others, found.checks)))


def _resolved_safely(
    main: surface.SurfaceModel,
    imported: Sequence[surface.SurfaceModel],
    session: scopes.Session,
    only: ResolvedCheck | None,
) -> Resolved:
    """Return the checks of a file, or `only` one, which was resolved before with other values."""
    try:
        return with_deep_stack(lambda: _resolved(main, imported, session, only))
    except RecursionError:
        deep = NestedTooDeeply(Span(main.source, 0, 0), FRAMES)
        return Resolved((), (deep,))


def _resolved(
    main: surface.SurfaceModel,
    imported: Sequence[surface.SurfaceModel],
    session: scopes.Session,
    only: ResolvedCheck | None,
) -> Resolved:
    session.main = linked_file(main, imported, session)
    scope = scopes.Scope(session, session.main, scopes.FreshNames())
    if only is None:
        _resolve_declarations(scope)
    checks = _checks(main, scope, only)
    if only is None:
        _resolve_unused(scope)
    if session.n_errors == 0 and only is None:
        UnreadNames(main, scope).report()
    is_answerable = session.n_elsewhere == 0
    found = _in_order(session, main.source)
    return Resolved(checks if is_answerable else (), found, is_answerable)


def _checks(
    main: surface.SurfaceModel, scope: scopes.Scope, only: ResolvedCheck | None
) -> tuple[ResolvedCheck, ...]:
    """Return the claims of a file in whose own text is no mistake, or `only` one of them."""
    expansion = _Expansion()
    for item in main.items:
        if isinstance(item, surface.Question | surface.QuestionsFor) and (
            only is None or only.span in item.span
        ):
            expansion.start(item, scope)
    for waiting in expansion.waiting:
        asked = waiting.question.span, waiting.loop_values
        is_asked = only is None or asked == (only.span, only.loop_values)
        if is_asked and not (expansion.is_full and waiting.loop_values):
            expansion.question(waiting)
    scope.session.asking = None
    return tuple(expansion.checks)


def _in_order(session: scopes.Session, main: SourceText) -> tuple[Mistake, ...]:
    """Return the mistakes by file, the main one first, and place."""

    def place(mistake: Mistake) -> tuple[bool, str, int]:
        if mistake.span is None:
            return False, "", 0
        source = mistake.span.source
        return source is not main, source.name, mistake.span.start

    return tuple(sorted(session.found.values(), key=place))


# --- declarations --------------------------------------------------------------------------


def _resolve_declarations(scope: scopes.Scope) -> None:
    """Evaluate all constants, and look for mistakes in functions and distributions."""
    for declaration in scope.file.declared.values():
        match declaration:
            case surface.Constant():
                expressions.constant_of_file(scope.session, scope.file, declaration)
            case surface.Function(parameters=parameters, body=body):
                if not expressions.is_too_large(scope.file, declaration, scope):
                    expressions.expression(body, _with_unknown(parameters, scope))
            case surface.DistributionFunction(parameters=parameters, body=body):
                distribution(body, _with_unknown(parameters, scope))
            case surface.Mechanism() | surface.Chain():
                pass


def _with_unknown(parameters: Sequence[surface.Identifier], scope: scopes.Scope) -> scopes.Scope:
    """Return the scope in which the parameters are names without a known value."""
    fresh = scopes.Scope(scope.session, scope.file, scopes.FreshNames(), certain=False)
    return fresh.bound_all(
        {parameter.name: scopes.Known(None, "argument", parameter.span) for parameter in parameters}
    )


def _resolve_unused(scope: scopes.Scope) -> None:
    """Resolve the file's targets that no question needs, for their mistakes alone.

    What a mechanism runs that is too long, written out, was seen there as far as the limit allows:
    it may be as long itself, and so on down.
    """
    used = {key[0] for key in scope.session.instances}
    for declaration in scope.file.declared.values():
        if not isinstance(declaration, TargetItem) or id(declaration) in used:
            continue
        if id(declaration) in _run_by(scope.session.too_long, scope.file):
            continue
        if all(parameter.default is not None for parameter in declaration.parameters):
            _instance(scope.file, declaration, {}, scope, declaration.name.span)


def _run_by(mechanisms: Sequence[surface.Mechanism], file: scopes.File) -> set[int]:
    """Return the ids of what mechanisms of a file run, directly or not."""
    found: set[int] = set()
    waiting: list[object] = list(mechanisms)
    while waiting:
        for name in called_names(waiting.pop()):
            called = file.declared.get(name.name)
            if called is not None and id(called) not in found:
                found.add(id(called))
                waiting.append(called)
    return found


# --- targets -------------------------------------------------------------------------------


def _instance(
    file: scopes.File,
    declaration: TargetItem,
    given: Mapping[str, Value | None],
    scope: scopes.Scope,
    use: Span,
    kept: Number = 1,
) -> Target | None:
    """Return the target with these parameters; equal parameters give the same object.

    Each record is `kept` so likely, which only mechanisms can be asked with.
    """
    session = scope.session
    name = declaration.name.name
    inner = scopes.Scope(session, file, scopes.FreshNames())
    bindings = parameter_bindings(declaration.parameters, given, name, inner, use)
    values = [binding.value for binding in bindings.values() if isinstance(binding, scopes.Known)]
    key = (id(declaration), kept, *(None if v is None else value_key(v) for v in values))
    if key not in session.instances:
        title = arrangements.sampled_text(target_text(name, given), kept)
        inner = inner.bound_all(bindings)
        session.instances[key], session.is_making = None, True
        known, n_in_claim, n_errors = set(session.found), session.n_in_claims, session.n_errors
        if isinstance(declaration, surface.Mechanism):
            session.instances[key] = resolved_mechanism(declaration, title, inner, kept, use)
        elif kept != 1:
            scope.report(ArrangementUsage(use, "subsample"))
        else:
            session.instances[key] = resolved_chain(declaration, title, inner)
        if session.has_params:
            report_misuse(session.instances[key], inner)
        session.is_making = False
        made = session.instances[key]
        if made is not None and session.n_errors > n_errors:
            session.doubtful.add(made)
        for new in session.found.keys() - known if given else ():
            mistake = session.found[new]
            if isinstance(mistake, RunMistake):  # it may be one for these parameters alone
                session.found[new] = mistake.on_run((title, *mistake.run))
        if session.n_in_claims > n_in_claim:  # another claim has this mistake at its own place
            return session.instances.pop(key)
    return session.instances[key]


def _outputs_alone(target: Target, scope: scopes.Scope) -> Target:
    """Return a target where fixed queries are no steps; the same object for the same target."""
    if not isinstance(target, Mechanism) or not target.has_fixed_queries:
        return target
    key = ("outputs alone", target)
    made = scope.session.instances.get(key)
    if made is None:
        made = scope.session.instances[key] = replace(target, hides_queries=True)
    return made


def _outputs_of_all(
    target: Target, parts: Sequence[Part], scope: scopes.Scope
) -> tuple[Target, tuple[Part, ...]]:
    """Return a target and the parts of an arrangement, where fixed queries are no steps."""
    alone = (replace(part, target=_outputs_alone(part.target, scope)) for part in parts)
    return _outputs_alone(target, scope), tuple(alone)


def target_text(name: str, given: Mapping[str, Value | None]) -> str:
    """Return a target as reports call it.

    >>> target_text("rr", {"k": 4}), target_text("survey", {})
    ('rr(k = 4)', 'survey')
    """
    if not given:
        return name
    parts = (f"{key} = {'?' if v is None else value_text(v)}" for key, v in given.items())
    return f"{name}({', '.join(parts)})"


# --- questions -----------------------------------------------------------------------------


class _Expansion:
    """The checks made so far from questions and the loops around them."""

    def __init__(self) -> None:
        self.checks: list[ResolvedCheck] = []
        self.waiting: list[_Waiting] = []
        self.n_rounds = 0
        self.is_full = False

    def start(self, item: surface.Question | surface.QuestionsFor, scope: scopes.Scope) -> None:
        """Note a question, or those of a loop; a mistake in a head of loops costs all in them."""
        session, first = scope.session, len(self.waiting)
        session.asking, n_errors = item.span, session.n_errors
        self.expand(item, scope, {})
        if session.n_errors > n_errors:
            lost = (replace(each, has_sound_loops=False) for each in self.waiting[first:])
            self.waiting[first:] = lost
        elif len(self.waiting) == first:
            assert isinstance(item, surface.QuestionsFor), "a question waits"
            scope.report(NothingAsked(item.indices[0].variable.span))

    def expand(
        self,
        item: surface.Question | surface.QuestionsFor,
        scope: scopes.Scope,
        loop_values: Mapping[str, Value],
    ) -> None:
        """Note a question, or those of every round of a loop.

        They are looked at when all are counted: too many are seen before any takes time.
        """
        if isinstance(item, surface.Question):
            self.waiting.append(_Waiting(item, scope, loop_values))
            return
        report_second_variables(item.indices, scope)
        self.rounds(item, item.indices, scope, loop_values)

    def rounds(
        self,
        loop: surface.QuestionsFor,
        indices: Sequence[surface.LoopIndex],
        scope: scopes.Scope,
        loop_values: Mapping[str, Value],
    ) -> None:
        """Add the checks of a loop for all values of the indices that are left."""
        if not indices:
            if known_condition(loop.where, scope):
                for part in loop.body:
                    self.expand(part, scope, loop_values)
            return
        index, *rest = indices
        domain = known_domain(index.domain, scope)
        if domain is None or not self.has_room(loop, domain.size, scope):
            return
        for element in domain:
            if any(not isinstance(each, ExpNumber) for each in params_in(element)):
                why = "a loop around claims goes through values, and a `param` has none"
                scope.report(ParamAsValue(index.domain.span, (), why))
                return
            if not self.has_room(loop, 0, scope):
                return
            known = scopes.Known(element, "loop variable", index.variable.span)
            inner = scope.bound(index.variable.name, known)
            self.rounds(loop, rest, inner, {**loop_values, index.variable.name: element})

    def has_room(self, loop: surface.QuestionsFor, n_more: int, scope: scopes.Scope) -> bool:
        """Return whether so many rounds more may follow; else report it, once.

        Rounds make claims, except where a `where` leaves them out.
        """
        if self.is_full:
            return False
        self.n_rounds += n_more
        counts = (
            ("claims", len(self.waiting) + (0 if loop.where else n_more), MAX_CHECKS),
            ("rounds of loops", self.n_rounds, MAX_ROUNDS),
        )
        for what, count, limit in counts:
            if count > limit:
                scope.report(TooManyClaims(loop.span, f"the {what} of this file", count, limit))
                self.is_full = True
                return False
        return True

    def question(self, waiting: _Waiting) -> None:
        """Add one check, unless a part of it has a mistake: some are told and not returned."""
        session, question = waiting.scope.session, waiting.question
        session.asking, before = question.span, session.n_in_claims
        check = _check_of(question, waiting.scope, waiting.loop_values)
        is_sound = waiting.has_sound_loops and session.n_in_claims == before
        if check is not None and is_sound:
            self.checks.append(check)


class _Waiting(Frozen):
    """A question in one round of the loops around it, and whether their heads make sense."""

    question: surface.Question
    scope: scopes.Scope
    loop_values: Mapping[str, Value]
    has_sound_loops: bool = True


def _check_of(
    question: surface.Question, scope: scopes.Scope, loop_values: Mapping[str, Value]
) -> ResolvedCheck | None:
    """Return what a question asks; None, with a mistake, if it makes no sense."""
    if _is_reversed(question, scope):
        return None
    tree = arrangements.arranged(question.target, scope)
    parts = None if tree is None else _resolved_parts(tree, scope)
    if tree is None or parts is None:
        return None
    return _resolved_check(question, tree, parts, scope, loop_values)


def _resolved_check(
    question: surface.Question,
    tree: arrangements.Arranged,
    parts: list[tuple[_Resolved, int, int]],
    scope: scopes.Scope,
    loop_values: Mapping[str, Value],
) -> ResolvedCheck | None:
    """Return a question about known targets; None, with a mistake, if it makes no sense."""
    first = parts[0][0]
    scope.session.asked.clear()
    reader = _reader(first, scope, loop_values)
    leaves_out = left_out(question.part, scope)
    read = _claimed(question, reader, is_left_out=leaves_out is not None)
    if read is None:
        return None
    asked, at = read
    explored = _explored(question, asked, tree, parts, reader)
    if explored is None:
        return None
    target, arrangement = explored
    values = _values_asked(question, read, parts, reader)
    if not values.is_sound:
        return None
    names = [target_text(part.declaration.name.name, part.given) for part, _, _ in parts]
    at_text, claim_text = _texts(question, reader)
    return ResolvedCheck(
        kind=question.kind,
        name=question.title,
        target_text=arrangements.arranged_text(tree, names),
        target=target,
        parts=arrangement,
        claim=asked,
        claim_text=claim_text,
        at=at,
        at_text=at_text,
        atoms=dict(reader.collected.atoms),
        kept_inputs=tuple(reader.collected.kept_inputs),
        needs_later_neighbors=reader.collected.needs_later_neighbors,
        span=question.span,
        for_all=values.for_all,
        loop_values=loop_values,
        leaves_out=leaves_out,
        parameters={} if arrangement else _integers(first.declaration, reader, loop_values),
    )


def _values_asked(
    question: surface.Question,
    read: tuple[Claim, At | None],
    parts: Sequence[tuple[_Resolved, int, int]],
    reader: Reader,
) -> Quantified:
    """Return for which values of a parameter a claim and states are asked; reports misuse of it."""
    if reader.scope.session.has_params:
        report_misuse(list(reader.collected.atoms.values()), reader.scope)
    targets = [part.target for part, _, _ in parts]
    return quantified(question, *read, targets, reader.scope)


def _explored(
    question: surface.Question,
    asked: Claim,
    tree: arrangements.Arranged,
    parts: Sequence[tuple[_Resolved, int, int]],
    reader: Reader,
) -> tuple[Target, tuple[Part, ...]] | None:
    """Return the target and the parts that are explored for a claim; None, with a mistake, if none.

    These are other ones where the claim is about the outputs of all runs together.
    """
    if _reads_open_array(reader, question):
        return None
    target = parts[0][0].target
    if isinstance(asked, FormulaClaim) or reader.collected.is_nested:
        reader.collected.keep_choices(target)
    is_leaf = isinstance(tree, arrangements.Leaf)
    arrangement = () if is_leaf else tuple(Part(each.target, *rest) for each, *rest in parts)
    if not arrangements.is_askable(asked, arrangement, reader, question):
        return None
    if arrangements.is_about_outputs(asked):
        return _outputs_of_all(target, arrangement, reader.scope)
    return target, arrangement


def _integers(
    declaration: TargetItem, reader: Reader, loop_values: Mapping[str, Value]
) -> dict[str, int]:
    """Return the parameters of a target that are integers, but for variables of loops."""
    names = {parameter.name.name for parameter in declaration.parameters} - {*loop_values}
    known = reader.filled_in.items()
    return {name: value for name, value in known if name in names and type(value) is int}


def _claimed(
    question: surface.Question, reader: Reader, *, is_left_out: bool
) -> tuple[Claim, At | None] | None:
    """Return the claim of a question, and the states it is about; None after a mistake.

    One that is left out for the value of its parameter says nothing, and need not make sense there.
    """
    nothing = FormulaClaim(Truth(True, question.span), question.span)
    asked = nothing if is_left_out else claim(question, reader)
    at = None if question.at is None else at_condition(question.at, reader)
    is_unread = asked is None or (question.at is not None and at is None)
    return None if asked is None or is_unread else (asked, at)


def _reads_open_array(reader: Reader, question: surface.Question) -> bool:
    """Report a question that reads all choices of a query, of unknown number; return if it does."""
    if not isinstance(reader.target, Mechanism):
        return False
    last = {cells[-1]: name for name, cells in open_cells(reader.target).items()}
    read = (name for atom in reader.collected.atoms.values() for name in inputs_of(atom))
    whole = next((last[name] for name in read if name in last), None)
    if whole is not None:
        reader.scope.report(ChoicesWithoutNumbers(question.span, whole))
    return whole is not None


def _texts(question: surface.Question, reader: Reader) -> tuple[str | None, str]:
    """Return the condition on initial states and the claim as written, variables filled in."""
    texts = filled_in_texts(reader)
    at_text = None if question.at is None else written_text(question.at, texts)
    for name in quantity_names(question.claim):
        texts.pop(name, None)
    return at_text, written_text(question.claim, texts)


def _is_reversed(question: surface.Question, scope: scopes.Scope) -> bool:
    """Report `check dp(1): m`, and return whether it is that: the target and the claim swapped."""
    target, claimed = question.target, question.claim
    match claimed:
        case surface.Name(name=name) | surface.Call(function=surface.Identifier(name=name)):
            pass
        case _:
            return False
    if target.name.name in scope.file.visible or name not in scope.file.names_of(TargetItem):
        return False
    span = target.span.to(claimed.span)
    scope.report(ForeignSpelling(span, span.text, f"{claimed.span.text}: {target.span.text}"))
    return True


class _Resolved(Frozen):
    """A target with its declaration, where that stands, the parameters given, and its place."""

    file: scopes.File
    declaration: TargetItem
    given: dict[str, Value | None]
    target: Target
    place: Span


def _resolved_parts(
    tree: arrangements.Arranged, scope: scopes.Scope
) -> list[tuple[_Resolved, int, int]] | None:
    """Return the targets that are arranged, each with its distance and number of runs.

    None, with a mistake, where one of them has no meaning.
    """
    every = list(arrangements.leaves(tree))
    found = scopes.sound([_resolved_target(leaf, scope) for leaf, _, _ in every])
    if found is None:
        return None
    return [(part, n, k) for part, (_, n, k) in zip(found, every, strict=True)]


def _resolved_target(leaf: arrangements.Leaf, scope: scopes.Scope) -> _Resolved | None:
    found = _target_of(leaf.target, scope)
    if found is None:
        return None
    target = _instance(*found, scope, leaf.target.span, leaf.kept)
    return None if target is None else _Resolved(*found, target, leaf.target.span)


def _target_of(
    asked: surface.Target, scope: scopes.Scope
) -> tuple[scopes.File, TargetItem, dict[str, Value | None]] | None:
    """Return the declaration a question is about, and the parameters it gives."""
    name = asked.name
    file, declaration = scope.file.visible.get(name.name, (None, None))
    if file is None or not isinstance(declaration, TargetItem):
        words = arrangements.WORDS if asked.arguments else ()
        scopes.report_no_target(name, TargetItem, scope, words)
        return None
    declared = declaration.inputs if isinstance(declaration, surface.Mechanism) else ()
    inputs = {each.name.name for each in declared}
    arguments: list[surface.Argument] = []
    for argument in asked.arguments:
        if argument.name is not None and argument.name.name in inputs:
            mistake = InputAsParameter(argument.name.span, argument.name.name, name.name)
            scope.report(mistake)
        else:
            arguments.append(argument)
    known = [parameter.name.name for parameter in declaration.parameters]
    named = named_arguments(arguments, name.name, known, scope)
    given = {
        key: expressions.argument_value(argument.value, scope, f"the parameter `{key}`")
        for key, argument in named.items()
    }
    return file, declaration, {**given, **scope.session.given}


def _reader(found: _Resolved, scope: scopes.Scope, loop_values: Mapping[str, Value]) -> Reader:
    """Return the reader of formulas about a target.

    Names mean, from the nearest: variables of loops around the question, inputs, parameters of
    the target, then what the file says.
    """
    declaration, target = found.declaration, found.target
    home = scopes.Scope(scope.session, found.file, scopes.FreshNames())
    parameters = parameter_bindings(
        declaration.parameters, found.given, declaration.name.name, home, found.place
    )
    filled_in = {
        name: binding.value
        for name, binding in parameters.items()
        if isinstance(binding, scopes.Known) and binding.value is not None
    }
    bindings: dict[str, scopes.Binding] = dict(parameters)
    names = scopes.FreshNames(["output"])
    if isinstance(target, Mechanism) and isinstance(declaration, surface.Mechanism):
        inner = scopes.Scope(scope.session, found.file, names, parameters)
        shapes, _ = input_shapes(declaration, inner)
        bindings.update(input_bindings(shapes, inner))
        bindings.update(choice_bindings(target))
        output = Var("output", declaration.span)
        bindings["output"] = scopes.Held(output, "output", declaration.span)
    bindings.update(scope.bindings)
    filled_in.update(loop_values)
    inside = scopes.Scope(scope.session, scope.file, names, bindings, about=target)
    return Reader(target, inside, Collected(), filled_in)
