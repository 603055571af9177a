"""Evidence for P and D: the chain's product with the formula, and the chances in all of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.check.formulas.counterexamples import false_parts
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.values.verdicts import Counterexample
from dpcheck.exact import Number, Whole, as_fraction_parts, exact_quotient, whole
from dpcheck.logic import formulas as f
from dpcheck.records import dataclass
from dpcheck.solve import path_product, reach_probabilities
from dpcheck.witness.writing import (
    Fields,
    Lacking,
    Quotient,
    Row,
    budget_fields,
    common_multiple,
    rows_fields,
)

MAX_NODES = 100_000
"""Bounds the rows of a file."""

Decided = f.Private | f.ProbabilityIs


@dataclass(frozen=True, eq=False)
class Reaching:
    """How the product of a chain with a path formula comes to true.

    starts: the node of each state asked for; rows, values, ranks: of the nodes with a chance above
    0 but not true itself, which is `goal`; a node without a row has none.
    """

    starts: dict[int, int]
    goal: int
    rows: dict[int, Row]
    values: dict[int, Number]
    ranks: dict[int, int]

    def chance(self, state: int) -> Number:
        """Return the chance of the formula at a state asked for."""
        start = self.starts[state]
        return 1 if start == self.goal else self.values.get(start, 0)


def path_evidence(
    formula: f.StateFormula, truths: Truths, selected: IntArray, found: Counterexample | None
) -> Fields:
    """Return evidence for a P or D, or for a part of a conjunction that is false.

    Without a counterexample the formula holds at all of the selected states, [n_selected].
    """
    if found is None:
        part = _decided(formula)
        says, states, pairs = "holds", selected.tolist(), truths.pairs_at(selected).tolist()
    else:
        failing = selected[~truths.at(formula, selected)]
        part = _decided(false_parts(formula, failing, truths)[0][0])
        says, states, pairs = "violated", *_shown(part, truths, selected, found)
    if isinstance(part, f.Private):
        states = sorted({s for pair in pairs for s in pair}) if found is None else pairs[0]
    reaching = _reaching(truths, part.path, states)
    fields = _chances(reaching)
    fields["sides"] = [
        {
            "input": truths.chain.state_text(s),
            "state": reaching.starts[s],
            "probability": Quotient(reaching.chance(s)),
        }
        for s in ([] if found is None else states)
    ]
    if isinstance(part, f.Private):
        ends = {tuple(sorted(reaching.starts[s] for s in pair)) for pair in pairs}
        asked = {"pairs": sorted(map(list, ends)), **budget_fields(part.epsilon, part.delta)}
    else:
        asked = {
            "states": sorted({*reaching.starts.values()}),
            "bounds": [[comparison, Quotient(bound)] for comparison, bound in part.relations],
        }
    return {"says": says, "proof": "path", **asked, **fields}


def _decided(formula: f.StateFormula) -> Decided:
    """Return a formula that is P or D without another in its path."""
    if not isinstance(formula, Decided):
        raise Lacking("the formula is made of several, and each would need its own")
    if f.is_nested(formula.path):
        raise Lacking("the path formula has a P or D inside, which would need its own")
    return formula


def _shown(
    part: Decided, truths: Truths, selected: IntArray, found: Counterexample
) -> tuple[list[int], list[list[int]]]:
    """Return the state or pair, of [n_selected], that fails: the counterexample's if it does."""
    text = truths.chain.state_text
    if not isinstance(part, f.Private):
        failing: list[int] = selected[~truths.at(part, selected)].tolist()
        return [next((s for s in failing if text(s) == found.states[0]), failing[0])], []
    pairs = truths.violating(part, truths.pairs_at(selected)).tolist()
    names = set(found.states)
    pair = next((each for each in pairs if set(map(text, each)) == names), pairs[0])
    return [], [pair]


def _reaching(truths: Truths, path: f.PathFormula, states: Sequence[int]) -> Reaching:
    """Return the product from some states, with the chance of true at every node."""
    chain, limits = truths.chain, truths.limits
    asked = np.array(states, np.int64)
    found = path_product(chain, path, satisfying=truths.everywhere, states=asked, limits=limits)
    n = found.graph.n_states
    if n > MAX_NODES:
        raise Lacking(f"a certificate of {n:,} rows would have more than {MAX_NODES:,} rows")
    everywhere = np.ones(n, np.bool_)
    target = ~everywhere
    target[found.true] = True
    weights = (chain.numerators[found.edges], np.append(chain.denominators[found.states], [1, 1]))
    wanted = np.arange(n - 2, dtype=np.int64)
    chances = reach_probabilities(found.graph, weights, target, everywhere, wanted, limits)
    values = {k: value for k, value in enumerate(chances) if value != 0}
    rows: dict[int, Row] = {}
    for k in values:
        limits.check_time(f"{len(rows)} rows of evidence written")
        edges: dict[int, Whole] = {}
        for j in range(int(found.graph.indptr[k]), int(found.graph.indptr[k + 1])):
            t = int(found.graph.targets[j])
            if t == found.true or t in values:
                edges[t] = edges.get(t, 0) + whole(weights[0][j])
        row = [(weight, t, _text(chain, found.states, t)) for t, weight in edges.items()]
        rows[k] = whole(weights[1][k]), [*row]
    starts = dict(zip(states, map(int, found.starts), strict=True))
    return Reaching(starts, found.true, rows, values, _ranks(rows, found.true))


def _text(chain: Chain, states: IntArray, node: int) -> str | None:
    """Return what entering a node shows; states [n_nodes]."""
    shown = int(chain.observation[states[node]]) if node < len(states) else -1
    return None if shown < 0 else chain.observation_text(shown)


def _ranks(rows: dict[int, Row], goal: int) -> dict[int, int]:
    """Return how many steps it is at least from a node to the goal."""
    import networkx as nx

    backward = nx.DiGraph((t, node) for node, (_, edges) in rows.items() for _, t, _ in edges)
    backward.add_node(goal)
    ranks: dict[int, int] = dict(nx.single_source_shortest_path_length(backward, goal))
    return ranks


def _chances(reaching: Reaching) -> Fields:
    """Return the rows, and the chances over one denominator."""
    parts = {node: as_fraction_parts(value) for node, value in reaching.values.items()}
    under = common_multiple(below for _, below in parts.values())
    values = {
        str(node): [exact_quotient(under, below) * over, reaching.ranks[node]]
        for node, (over, below) in parts.items()
    }
    goal = [reaching.goal]
    return {"goal": goal, "under": under, "values": values, **rows_fields(reaching.rows)}
