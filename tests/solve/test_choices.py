"""Least and greatest probabilities over analysts, against all strategies and against iteration."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from dpcheck.check.formulas.over_analysts import TruthsOverAnalysts
from dpcheck.exact import as_fraction
from dpcheck.explore import explore, labelled
from dpcheck.limits import Limits
from dpcheck.model.fixed_queries import adaptive
from tests.resolve.reading import resolved
from tests.test_fixed_queries import HEAD, Oracle, Rounds, endless_rounds, random_path, written


def extremes_of(text, path):
    """Return the least and the greatest probability of a path at each initial state."""
    (check,) = resolved(f"{text}check m: P>=1/2 [ {path} ]\n").checks
    explored = explore(
        adaptive(check.target), kept_inputs=frozenset(check.kept_inputs), limits=Limits()
    )
    chain = labelled(explored, check.atoms)
    found = TruthsOverAnalysts(chain, Limits()).bounds(check.claim.formula.path, chain.initial)
    return chain, [(as_fraction(low), as_fraction(high)) for low, high in found]


class AllStrategies(Oracle):
    """Values of an analyst who sees everything, by trying each question after each history."""

    def best(self, pick, path, *seen):
        i, *_, is_told = seen[-1]
        if i == self.rounds.n_rounds and is_told:
            return Fraction(self.on_run((*seen, None), 0, path))
        length, options = seen[-1][4], []
        for asked in range(2 ** len(self.rounds.names)):
            words = {(name, length + k): asked >> k & 1 for k, name in enumerate(self.rounds.names)}
            after = self.rounds.after(seen[-1], words)
            options.append(sum(p * self.best(pick, path, *seen, each) for each, p in after))
        return pick(options)


@pytest.mark.parametrize("seed", range(15))
def test_bounds_are_those_of_the_best_strategies(seed):
    choose = Random(seed)
    rounds = Rounds(choose, 2, asks_twice=seed % 3 == 1, says_more=seed % 3 == 2)
    oracle = AllStrategies(rounds)
    opened = rounds.text(is_loop=True)
    for _ in range(4):
        path = random_path(choose, 0)
        _, found = extremes_of(opened, written(path))
        starts = [(0, x, 0, None, 0, True) for x in (0, 1)]
        expected = [(oracle.best(min, path, s), oracle.best(max, path, s)) for s in starts]
        assert found == expected


@pytest.mark.parametrize("seed", range(10))
def test_bounds_in_a_loop_are_those_of_iteration(seed):
    """x := best of what follows, from 0 on, comes to the least solution."""
    choose = Random(seed)
    value = choose.randrange(2)
    text = f"{HEAD}  while going {{{endless_rounds(choose)}  }}\n}}\n"
    chain, found = extremes_of(text, f"F (output = {value} & X output = {value})")
    for pick, which in ((min, 0), (max, 1)):
        values = iterated(chain, value, pick)
        for state, bounds in zip(chain.initial.tolist(), found, strict=True):
            assert abs(values[state, False] - bounds[which]) < 1e-9


def iterated(chain, value, pick):
    """Return the best chance to see a value twice in a row, by state and whether it was just so."""
    text = {
        s: chain.observation_text(o) for s, o in enumerate(chain.observation.tolist()) if o >= 0
    }
    offered = {s: o in chain.offers for s, o in enumerate(chain.observation.tolist())}
    size = {s: chain.offers[o][1] for s, o in enumerate(chain.observation.tolist()) if offered[s]}
    rows = []
    for s in range(chain.n_states):
        edges = range(chain.indptr[s], chain.indptr[s + 1])
        rows.append(
            [(int(chain.targets[e]), chain.numerators[e] / chain.denominators[s]) for e in edges]
        )
    values = {(s, was): 0.0 for s in range(chain.n_states) for was in (False, True)}

    def after(t, was):
        if offered.get(t) or t not in text:
            return values[t, was and t in text]
        if text[t] == str(value):
            return 1.0 if was else values[t, True]
        return values[t, False]

    for _ in range(600):
        for s, was in values:
            plain = sum(p * after(t, was) for t, p in rows[s] if not offered.get(t))
            options = {}
            for t, p in rows[s]:
                if offered.get(t):
                    label = text[t]
                    options[label] = options.get(label, 0.0) + p * size[t] * after(t, was)
            values[s, was] = plain + (pick(options.values()) if options else 0.0)
    return values


@pytest.mark.parametrize("leaves", [1, 2])
def test_a_loop_that_the_analyst_may_stay_in_has_probability_0_at_least(leaves):
    text = f"""
mechanism m {{
  going := true
  while going {{
    query c in 1..2 fixed
    b ~ bernoulli(1/2)
    if c = {leaves} & b {{ going := false }}
    output c
  }}
}}
"""
    for path in ("F stopped", "G !stopped"):
        _, found = extremes_of(text, path)
        assert found == [(0, 1)]
