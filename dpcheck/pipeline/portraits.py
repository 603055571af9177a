"""Pictures of targets, for reports that show some: the privacy profile, and a small chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dpcheck.chain.chain import Chain
from dpcheck.check.values.amounts import epsilon_amount, number_amount
from dpcheck.check.values.verdicts import Table
from dpcheck.exact import ExpNumber, exact_text
from dpcheck.explore import MistakesFound
from dpcheck.limits import LimitReached, RunLimits
from dpcheck.logic.claims import ForAll, LossTable, PrivacyClaim, QuantityValue
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.questions import answer_alone
from dpcheck.records import replace
from dpcheck.report.answers import Graph, Node, Portrait, StatedBudget
from dpcheck.resolve import ResolvedCheck

MOST_STATES = 40
"""A chain of more states is not drawn: nobody could follow its arrows."""

MOST_PIECES = 2_000
"""Of a profile that is drawn: a curve has some hundred points that can be told apart."""

SECONDS = 2.0
"""For one picture, which is worth less than a verdict."""

MOST_TARGETS = 100
"""Of a file with pictures; a reader of more targets looks at their claims."""


def portraits(
    checks: Sequence[ResolvedCheck], explorations: Explorations, allowed: RunLimits
) -> Iterator[Portrait]:
    """Yield a portrait of each target that claims of a file are about, in their order."""
    limits = replace(allowed, timeout=min(allowed.timeout or SECONDS, SECONDS))
    first: dict[str, ResolvedCheck] = {}
    for check in sorted(checks, key=lambda check: check.for_all is not None):
        first.setdefault(check.target_text, check)
    for target in list(dict.fromkeys(check.target_text for check in checks))[:MOST_TARGETS]:
        check = replace(first[target], kind="compute", at=None, at_text=None, atoms={})
        table = LossTable("profile", check.span)
        check = replace(check, claim=QuantityValue(table, check.span), kept_inputs=())
        yield Portrait(
            check.span.source.name,
            target,
            None if check.for_all is not None else _profile(check, explorations, limits),
            stated_budgets(checks, target),
            None if check.parts else _graph(check, explorations, limits),
        )


def _profile(check: ResolvedCheck, explorations: Explorations, limits: RunLimits) -> Table | None:
    """Return the profile of a target, if it has one that can be drawn."""
    answer = answer_alone(check, explorations, limits)
    table = None if answer is None else answer.table
    is_drawn = table is not None and table.name == "profile" and len(table.rows) <= MOST_PIECES
    return table if is_drawn else None


def _graph(check: ResolvedCheck, explorations: Explorations, limits: RunLimits) -> Graph | None:
    """Return the chain of a target, if it is small enough to be drawn."""
    try:
        chain = explorations.explored(check, limits.of_a_claim()).chain
    except (MistakesFound, LimitReached):
        return None
    is_small = chain.n_reported_states <= MOST_STATES and not chain.offers
    return graph_of(chain, check.for_all) if is_small else None


def graph_of(chain: Chain, for_all: ForAll | None = None) -> Graph:
    """Return a chain as it is drawn: without the loops of its sinks, and what is never reached.

    With `for_all` its probabilities are functions of a parameter.
    """
    graph = chain.to_networkx()
    is_end = [state == chain.stopped or state == chain.diverged for state in graph]
    edges = [
        (s, t, _probability_text(p, for_all))
        for s, t, p in graph.edges.data("probability")
        if not is_end[s]
    ]
    reached = {*chain.initial.tolist(), *(t for _, t, _ in edges)}
    kept = {state: place for place, state in enumerate(sorted(reached))}
    nodes = (graph.nodes[state] for state in kept)
    return Graph(
        tuple(Node(node["text"], node["shows"], node["is_initial"]) for node in nodes),
        tuple((kept[s], kept[t], p) for s, t, p in edges if s in kept),
    )


def _probability_text(p: Fraction | ExpNumber, for_all: ForAll | None) -> str:
    if isinstance(p, Fraction):
        return str(p)
    if for_all is None:
        return exact_text(p)
    return for_all.line([p]).text(p)


def stated_budgets(checks: Sequence[ResolvedCheck], target: str) -> tuple[StatedBudget, ...]:
    """Return the budgets that checks state for a target."""
    stated = [
        check.claim
        for check in checks
        if check.kind == "check" and check.target_text == target and check.at is None
        if check.for_all is None
    ]
    return tuple(
        StatedBudget(epsilon_amount(claim.epsilon), number_amount(claim.delta))
        for claim in stated
        if isinstance(claim, PrivacyClaim)
    )
