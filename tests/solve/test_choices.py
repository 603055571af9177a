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
from tests.checking import check_text
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


@pytest.mark.parametrize("seed", range(10))
def test_what_is_asked_may_depend_on_what_was_shown(seed):
    """States next to each other are offered different queries."""
    choose = Random(seed)

    def answer(query):
        chances = [choose.randrange(1, 8) for _ in range(2)]
        drawn = f"b ~ bernoulli(if {query} = 0 then {chances[0]}/8 else {chances[1]}/8)"
        return f"{{ query {query} in 0..1 fixed  {drawn} }}"

    turns = " ".join(f"else if shown = {k} {answer(choose.choice('cde'))}" for k in range(1, 3))
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  shown := x  going := true
  while going {{
    if shown = 0 {answer("c")} {turns} else {answer("e")}
    shown ~ if b then {{0: 1/4, 1: 1/4, 3: 1/2}} else {{1: 1/2, 2: 1/2}}
    output shown
    going ~ bernoulli(7/8)
  }}
}}
"""
    value = choose.randrange(4)
    chain, found = extremes_of(text, f"F (output = {value} & X output = {value})")
    for pick, which in ((min, 0), (max, 1)):
        values = iterated(chain, value, pick)
        for state, bounds in zip(chain.initial.tolist(), found, strict=True):
            assert abs(values[state, False] - bounds[which]) < 1e-9


@pytest.mark.parametrize(
    "path", ["X X bot", "X X !bot", "X F bot", "X X G bot", "X F stopped", "X (!bot & X F !bot)"]
)
def test_an_analyst_may_ask_for_ever_and_nothing_more_is_shown(path):
    """Whoever asks nothing but 0 sees neither another output nor an end."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  output start
  while true {
    query c in 0..1 fixed
    if c = 1 { output bot }
  }
}
"""
    _, found = extremes_of(text, path)
    asked = "".join(f"compute m at x = {x}: P=? [ {path} ]\n" for x in (0, 1))
    counted = text.replace("output start", "n := 0  output start")
    for is_0 in ("true", "false", "n = 0", "n > 0", "n = 1", "n > 1"):
        chosen = f"c := if {is_0} then 0 else 1  n := min(n + 1, 2)"
        each = counted.replace("query c in 0..1 fixed", chosen)
        for (low, high), result in zip(found, check_text(each + asked)["results"], strict=True):
            assert low <= Fraction(result["value"]["exact"]) <= high


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
