"""Targets made of targets: `compose(m, 3)`, `compose(m1, m2)`, `group(m, 2)`, `subsample(m, q)`.

A composition is independent runs on the same input, a group the same mechanism with inputs up to a
distance of the neighbor graph as neighbors. They nest: the group of a composition is the
composition of groups, and the distances of a group of a group multiply. So every arrangement comes
down to parts: a mechanism or chain, the distance of its neighbors, and how often it runs. A
subsample is a mechanism of its own, which draws the records that another sees. A declared target of
the same name wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dpcheck.diagnostics.align import NotForAllIntegers
from dpcheck.diagnostics.claims import NothingObserved
from dpcheck.diagnostics.composition import FixedInComparison, NotForStrategies, NotIndependentRuns
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.quantities import ArrangementUsage, NotOfArrangement
from dpcheck.exact import Number, Rational, exact_text, multiply
from dpcheck.logic import claims
from dpcheck.logic.formulas import Truth
from dpcheck.model import surface
from dpcheck.model.program import ExplicitChain, Mechanism, Part
from dpcheck.model.values import value_text
from dpcheck.records import dataclass
from dpcheck.resolve.claims.formulas import Reader
from dpcheck.resolve.expressions.expressions import BUILT_IN, constant
from dpcheck.resolve.expressions.params import wrong_value
from dpcheck.resolve.names.scopes import Scope
from dpcheck.source import Span

WORDS = ("compose", "group", "subsample")
OF_LOSSES: Final = (claims.TightEpsilon, claims.TightDelta, claims.LossQuantity, claims.LossTable)
"""Quantities that are computed from privacy losses."""
OF_OUTPUTS: Final = (claims.PathProbability, claims.LeastError, claims.Expectation)
"""Quantities that count or read outputs."""


@dataclass(frozen=True)
class Leaf:
    """A target that is a mechanism or chain, as written; each record is `kept` so likely."""

    target: surface.Target
    kept: Number = 1


@dataclass(frozen=True)
class Compose:
    """Independent runs: each arrangement so many times."""

    parts: tuple[tuple[Arranged, int], ...]


@dataclass(frozen=True)
class Group:
    """Neighbors up to a distance."""

    inner: Arranged
    distance: int


Arranged = Leaf | Compose | Group


def arranged(target: surface.Target, scope: Scope) -> Arranged | None:
    """Return a target as an arrangement; None, with a mistake, if it is written wrongly."""
    word = target.name.name
    if word not in WORDS or word in scope.file.visible:
        return Leaf(target)
    n_arguments = len(target.arguments)
    fits = n_arguments > 0 if word == "compose" else n_arguments == 2
    if not fits or any(argument.name for argument in target.arguments):
        scope.report(ArrangementUsage(target.span, word, edit=_in_order(target, scope)))
        return None
    made = {"compose": _compose, "group": _group, "subsample": _subsample}[word]
    return made(target, scope)


def _subsample(target: surface.Target, scope: Scope) -> Arranged | None:
    """Return a sample of the records, drawn for one mechanism; of a sample it is a smaller one."""
    inner = _inner(target.arguments[0].value, "subsample", scope)
    kept = constant(target.arguments[1].value, scope, "the probability in `subsample(...)`")
    if inner is None or kept is None:
        return None
    match inner, kept:
        case Leaf(), int() | Rational() if not isinstance(kept, bool) and 0 <= kept <= 1:
            return Leaf(inner.target, multiply(inner.kept, kept))
    usage, place = ArrangementUsage(target.span, "subsample"), target.arguments[1].value.span
    if isinstance(inner, Leaf):
        usage = ArrangementUsage(place, "subsample", value_text(kept))
    scope.report(wrong_value(kept, place, usage))
    return None


def _group(target: surface.Target, scope: Scope) -> Arranged | None:
    inner = _inner(target.arguments[0].value, "group", scope)
    distance = _count(target.arguments[1].value, "group", scope)
    if inner is None or distance is None:
        return None
    return Group(inner, distance)


def _compose(target: surface.Target, scope: Scope) -> Arranged | None:
    """Return a composition: a number says how often the target before it runs."""
    parts: list[tuple[Arranged, int]] = []
    is_counted = True
    for argument in target.arguments:
        if _is_target(argument.value, scope):
            inner = _inner(argument.value, "compose", scope)
            if inner is None:
                return None
            parts.append((inner, 1))
            is_counted = False
            continue
        times = _count(argument.value, "compose", scope)
        if times is None:
            return None
        if is_counted:
            edit = None if parts else _in_order(target, scope)
            place = target.span if edit else argument.span
            scope.report(ArrangementUsage(place, "compose", edit=edit))
            return None
        parts[-1] = parts[-1][0], times
        is_counted = True
    return Compose(tuple(parts))


def _in_order(target: surface.Target, scope: Scope) -> str | None:
    """Return an arrangement of a target and a number in this order, without names of these."""
    values = [argument.value for argument in target.arguments]
    values.sort(key=lambda value: not _is_target(value, scope))
    if [_is_target(value, scope) for value in values] != [True, False]:
        return None
    return f"{target.name.name}({', '.join(value.span.text for value in values)})"


def _is_target(tree: surface.Expression, scope: Scope) -> bool:
    """Return whether an argument names a target, declared or not, and is no number."""
    match tree:
        case surface.Call(function=function):
            name = function.name
        case surface.Name(name=name, primed=False, quoted=False):
            pass
        case _:
            return False
    found = scope.file.visible.get(name)
    if found is not None:
        return isinstance(found[1], surface.Mechanism | surface.Chain)
    return name in WORDS or not (name in scope.bindings or name in BUILT_IN)


def _inner(tree: surface.Expression, word: str, scope: Scope) -> Arranged | None:
    match tree:
        case surface.Name(name=name, primed=False, quoted=False, span=span):
            identifier = surface.Identifier(name, span=span)
            return arranged(surface.Target(identifier, (), span=span), scope)
        case surface.Call(function=function, arguments=arguments, span=span):
            return arranged(surface.Target(function, arguments, span=span), scope)
    scope.report(ArrangementUsage(tree.span, word))
    return None


def _count(tree: surface.Expression, word: str, scope: Scope) -> int | None:
    value = constant(tree, scope, f"a number in `{word}(...)`")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        scope.report(
            wrong_value(value, tree.span, ArrangementUsage(tree.span, word, value_text(value)))
        )
        return None
    return value


def leaves(tree: Arranged, distance: int = 1, times: int = 1) -> Iterator[tuple[Leaf, int, int]]:
    """Yield (target, distance of neighbors, number of runs) of every part, in order."""
    match tree:
        case Leaf():
            yield tree, distance, times
        case Group(inner=inner, distance=further):
            yield from leaves(inner, distance * further, times)
        case Compose(parts=parts):
            for inner, count in parts:
                yield from leaves(inner, distance, times * count)


def arranged_text(tree: Arranged, leaf_texts: Sequence[str]) -> str:
    """Return an arrangement with the texts of its leaves, in order, filled in."""
    remaining = iter(leaf_texts)

    def text(part: Arranged) -> str:
        match part:
            case Leaf(kept=kept):
                return sampled_text(next(remaining), kept)
            case Group(inner=inner, distance=distance):
                return f"group({text(inner)}, {exact_text(distance)})"
            case Compose(parts=parts):
                texts = [
                    text(inner) + (f", {exact_text(times)}" if times != 1 else "")
                    for inner, times in parts
                ]
                return f"compose({', '.join(texts)})"

    return text(tree)


def sampled_text(leaf_text: str, kept: Number) -> str:
    """Return the text of a leaf with the probability that a record is kept."""
    return leaf_text if kept == 1 else f"subsample({leaf_text}, {exact_text(kept)})"


# --- what may be asked ---------------------------------------------------------------------


def is_askable(
    claim: claims.Claim, parts: Sequence[Part], reader: Reader, question: surface.Question
) -> bool:
    """Return whether a claim makes sense for a target or an arrangement; else report why not."""
    mistake = next(_reasons_against(claim, parts, reader, question), None)
    if mistake is not None:
        reader.scope.report(mistake)
    return mistake is None


def _reasons_against(
    claim: claims.Claim, parts: Sequence[Part], reader: Reader, question: surface.Question
) -> Iterator[Mistake]:
    """Yield why a claim makes no sense, if it makes none."""
    span, targets = question.claim.span, [part.target for part in parts] or [reader.target]
    mechanisms = [target for target in targets if isinstance(target, Mechanism)]
    is_composed = len(parts) > 1 or any(part.times > 1 for part in parts)
    if any(target.has_queries for target in mechanisms):
        yield from _without_strategy(claim, span, is_composed=is_composed)
    read = {isinstance(quantity, OF_OUTPUTS) for quantity in claims.quantities_of(claim)}
    if len(read) > 1 and any(target.has_fixed_queries for target in mechanisms):
        yield FixedInComparison(span)
    unbounded = [target for target in mechanisms if target.has_unbounded_inputs]
    if any(target.has_fixed_queries for target in unbounded):
        yield NotForAllIntegers(span, "a query")
    elif unbounded and (what := _without_bounds(claim, parts, question)) is not None:
        yield NotForAllIntegers(span, what)
    if parts and not is_composed and reader.collected.needs_later_neighbors:
        yield NotOfArrangement(span, "a nested D", "group")
    if is_composed and not _is_about_losses(claim):
        yield NotOfArrangement(span, "this claim", "compose")
    if is_composed and any(target.has_priors for target in mechanisms):
        loop = "prior r ~ ... repeat 2 { ... }"
        yield NotIndependentRuns(span, "the data of a `prior`", loop)
    if is_composed and any(target.has_fixed_queries for target in mechanisms):
        yield from _without_one_choice(claim, span, mechanisms)
    for chain in targets[1:]:
        if isinstance(chain, ExplicitChain) and chain.observed is None:
            yield NothingObserved(question.target.span, chain.title, "compose", chain.span)


def _without_one_choice(
    claim: claims.Claim, span: Span, mechanisms: Sequence[Mechanism]
) -> Iterator[NotIndependentRuns]:
    """Yield that one choice of queries for all runs may not be the worst of each.

    It is where they are runs of one mechanism, and losses add up.
    """
    if any(target is not mechanisms[0] for target in mechanisms):
        loop = "query c in S fixed ... query d in T fixed ..."
    elif not _is_pure(claim):
        loop = "repeat 2 { query c in S fixed ... }"
    else:
        return
    yield NotIndependentRuns(span, "the choices of a `query ... fixed`", loop)


def _without_strategy(
    claim: claims.Claim, span: Span, *, is_composed: bool
) -> Iterator[NotForStrategies]:
    """Yield what of a claim means nothing where an analyst adapts."""
    if is_composed:
        loop = "write the runs as a loop in one mechanism: `repeat 2 { query c in S ... }`"
        yield NotForStrategies(span, "a composition", loop)
    for quantity in claims.quantities_of(claim):
        match quantity:
            case claims.TightEpsilon() | claims.TightDelta() | claims.LossTable(word="profile"):
                pass
            case _:
                yield NotForStrategies(span, "this quantity")
    match claim:
        case claims.FormulaClaim(formula=formula) if not isinstance(formula, Truth):
            yield NotForStrategies(span, "a formula")


def _without_bounds(
    claim: claims.Claim, parts: Sequence[Part], question: surface.Question
) -> str | None:
    """Return what of a claim is not decided where inputs are all integers; None if nothing."""
    if parts:
        return "a composition or a group"
    if question.at is not None:
        return "a claim `at` some inputs"
    if _is_pure(claim):
        return None
    match claim, claims.quantities_of(claim):
        case claims.FormulaClaim(formula=Truth()), _:
            return None
        case (claims.PrivacyClaim(), _) | (claims.QuantityClaim(), (claims.TightEpsilon(),)):
            return "δ > 0"
        case claims.FormulaClaim(), _:
            return "a formula"
        case _:
            return "this quantity"


def _is_pure(claim: claims.Claim) -> bool:
    """Return whether a claim is about ε for δ = 0 alone."""
    match claim, claims.quantities_of(claim):
        case (claims.PrivacyClaim(delta=0), _) | (_, (claims.TightEpsilon(delta=0),)):
            return True
        case _:
            return False


def is_about_outputs(claim: claims.Claim) -> bool:
    """Return whether a claim counts or reads outputs, among which no query is."""
    quantities = claims.quantities_of(claim)
    return isinstance(claim, claims.FormulaClaim) or any(
        isinstance(quantity, OF_OUTPUTS) for quantity in quantities
    )


def _is_about_losses(claim: claims.Claim) -> bool:
    quantities = claims.quantities_of(claim)
    are_known = bool(quantities) and all(isinstance(each, OF_LOSSES) for each in quantities)
    return are_known or isinstance(claim, claims.PrivacyClaim)
