"""Chains of random core programs equal what a slow interpreter finds."""

import random
from fractions import Fraction

import numpy as np
import pytest

from dpcheck.chain.contraction import forward
from dpcheck.explore import explore, labelled
from dpcheck.explore.runs import explorer
from dpcheck.explore.runs.batches import Batch, Part
from dpcheck.explore.values.evaluate import Frame
from dpcheck.limits import LimitReached, Limits
from dpcheck.model.atoms import Condition, Sink
from dpcheck.model.program import Parametric
from dpcheck.model.values import SetValue
from tests.explore.building import (
    SPAN,
    arr,
    array,
    bernoulli,
    branches,
    c,
    geometric,
    if_,
    logic,
    mechanism,
    op,
    scalar,
    sym,
    symbols,
    v,
)
from tests.explore.slow_interpreter import chain_sequences, sequences
from tests.numbers import rational

HALF = c(rational("0.5"))


class Programs:
    """Random programs over the integers a, b (and the array w[0..2]) and the inputs x, y."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.n_counters = 0

    def expr(self, depth=2):
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([v("a"), v("b"), v("x"), v("y"), c(rng.randint(0, 3))])
        kind = rng.choice(["+", "-", "*", "max", "if", "index", "mod"])
        if kind == "if":
            return if_(self.condition(depth - 1), self.expr(depth - 1), self.expr(depth - 1))
        if kind == "index":
            return op("index", arr("w", 0, 2), op("mod", self.expr(depth - 1), 3))
        if kind == "mod":
            return op("mod", self.expr(depth - 1), 3)
        return op(kind, self.expr(depth - 1), self.expr(depth - 1))

    def condition(self, depth=1):
        left, right = self.expr(depth), self.expr(depth)
        test = op(self.rng.choice(["=", "<", "<=", "!="]), left, right)
        if self.rng.random() < 0.2:
            return logic(self.rng.choice(["and", "or"]), test, self.condition(0))
        return test

    def distribution(self):
        rng = self.rng
        match rng.randint(0, 3):
            case 0:
                p, q = rng.randint(1, 3), rng.randint(1, 3)
                return branches((self.expr(1), p), (self.expr(1), q), (7, 0), normalized=True)
            case 1:
                domain = op("range", 0, op("mod", self.expr(1), 3))
                return Parametric("uniform", (domain,), None, SPAN)
            case 2:
                return branches((0, c(rational("0.25"))), (1, HALF), (2, c(rational("0.25"))))
            case _:
                return branches((self.expr(1), HALF), (self.expr(1), HALF))

    def block(self, depth):
        return [self.statement(depth) for _ in range(self.rng.randint(1, 3))]

    def statement(self, depth):
        rng = self.rng
        kind = rng.choice([":=", ":=", "~", "~", "output", "[]", "()", "if", "if", "while", "stop"])
        target = rng.choice(["a", "b"])
        match kind:
            case ":=":
                return (":=", target, op("mod", self.expr(), 5))
            case "~":
                return ("~", target, self.distribution())
            case "output":
                return ("output", self.expr(1))
            case "[]":
                return ("[]", "w", 0, 2, op("mod", self.expr(1), 3), op("mod", self.expr(1), 4))
            case "()":
                return ("()", ("a", "b"), op("tuple", op("mod", self.expr(1), 5), v("x")))
            case "if" if depth > 0:
                orelse = self.block(depth - 1) if rng.random() < 0.7 else []
                return ("if", self.condition(), self.block(depth - 1), orelse)
            case "while" if depth > 0:
                self.n_counters += 1
                name = f"i{self.n_counters}"
                step = (":=", name, op("+", name, 1))
                body = [*self.block(depth - 1), step]
                loop = ("while", op("<", name, rng.randint(1, 2)), body)
                return ("if", True, [(":=", name, 0), loop], [])
            case "stop" if rng.random() < 0.2:
                return ("stop",)
        return ("output", v(target))

    def mechanism(self):
        start = [(":=", name, 0) for name in ("a", "b", "w[0]", "w[1]", "w[2]")]
        inputs = [scalar("x", range(2)), scalar("y", SetValue((0, 3)))]
        return mechanism(inputs, start + self.block(2) + self.block(1))


@pytest.mark.parametrize("seed", range(150))
def test_output_sequences_of_random_programs_are_those_of_the_slow_interpreter(seed, monkeypatch):
    if seed % 3 == 0:
        monkeypatch.setattr(explorer, "MAX_ROWS", 3)
        monkeypatch.setattr(forward, "MAX_ENTRIES", 5)
    target = Programs(seed).mechanism()
    kept = frozenset({"x"}) if seed % 2 else frozenset()
    explored = explore(target, kept_inputs=kept, later_neighbors=seed % 5 == 0, limits=Limits())
    envs = [{"x": x, "y": y} for x in (0, 1) for y in (0, 3)]
    for initial, env in enumerate(envs):
        expected, cut = sequences(target, env, 10_000)
        assert cut == 0
        assert chain_sequences(explored, initial, 100) == (expected, 0)
    chain = explored.chain
    sums = np.add.reduceat(chain.numerators, chain.indptr[:-1])
    assert np.array_equal(sums, chain.denominators)


def rejection(p):
    """Repeat a coin until it shows heads; then output what the last digit was."""
    body = [
        ("~", "heads", bernoulli(p)),
        (":=", "x", op("mod", op("+", "x", 1), 3)),
    ]
    return mechanism(
        [scalar("x", range(3))],
        [(":=", "heads", c(False)), ("while", op("not", "heads"), body), ("output", "x")],
    )


def test_a_rejection_loop_is_summed_exactly():
    explored = explore(rejection(HALF), limits=Limits())
    found, _ = chain_sequences(explored, 0, 5)
    # After k tosses the digit is k mod 3: 1/2 + 1/16 + ... = 4/7, then 2/7, then 1/7.
    assert found == {
        (1, "stopped"): Fraction(4, 7),
        (2, "stopped"): Fraction(2, 7),
        (0, "stopped"): Fraction(1, 7),
    }


def test_a_loop_without_output_and_without_end_diverges():
    explored = explore(rejection(c(0)), limits=Limits())
    assert explored.chain.diverged == explored.chain.stopped + 1
    assert chain_sequences(explored, 0, 5)[0] == {("diverged",): 1}
    atoms = {"gone": Sink("diverged"), "over": Sink("stopped")}
    chain = labelled(explored, atoms)
    assert chain.labelling["gone"].tolist() == [False] * 4 + [True]
    assert chain.labelling["over"].tolist() == [False] * 3 + [True, False]


def survey(name="x", target="y", after=()):
    answer = if_(op("=", name, sym("pos")), sym("Y"), sym("N"))
    return [
        ("~", "coin", bernoulli(HALF)),
        (
            "if",
            "coin",
            [(":=", target, answer)],
            [("~", target, branches((sym("Y"), HALF), (sym("N"), HALF)))],
        ),
        ("output", target),
        *after,
    ]


def person():
    return scalar("x", symbols("pos", "neg"))


def test_the_survey_has_four_states_four_transitions_and_one_pair():
    chain = explore(mechanism([person()], survey()), limits=Limits()).chain
    assert chain.n_reported_states == 4
    assert chain.n_reported_transitions == 4
    assert chain.neighbors.pairs.tolist() == [[0, 1]]
    assert [chain.state_text(s) for s in (0, 1, 4)] == ["x = pos", "x = neg", "stopped"]
    assert {chain.state_text(s) for s in (2, 3)} == {"after output N", "after output Y"}


def test_claims_that_name_an_input_keep_it_in_every_state():
    explored = explore(
        mechanism([person()], survey()), kept_inputs=frozenset({"x"}), limits=Limits()
    )
    atoms = {
        "x = pos": Condition(op("=", "x", sym("pos")), False, ("x",)),
        "honest": Condition(
            op("=", "output", if_(op("=", "x", sym("pos")), sym("Y"), sym("N"))), True, ("x",)
        ),
        "number": Condition(op("<=", "output", 3), True, ()),
    }
    chain = labelled(explored, atoms)
    assert explored.chain.n_reported_states == 6
    assert int(chain.labelling["x = pos"].sum()) == 4  # the start, two outputs, its own end
    assert int(chain.labelling["honest"].sum()) == 2
    assert not chain.labelling["number"].any()


@pytest.mark.parametrize("copied", [True, False])
def test_a_copy_of_the_input_does_not_hide_later_neighbors(copied):
    start = [(":=", "z", v("x"))] if copied else []
    body = [*start, ("output", sym("go")), ("output", v("z" if copied else "x"))]
    explored = explore(mechanism([person()], body), later_neighbors=True, limits=Limits())
    (pair,) = explored.chain.neighbors.later.tolist()
    assert [explored.chain.state_text(s).split(" with")[0] for s in pair] == ["after output go"] * 2


def test_later_neighbors_of_the_double_survey_agree_on_the_first_answer():
    target = mechanism([person()], survey() + survey(target="z"))
    explored = explore(target, later_neighbors=True, limits=Limits())
    chain = explored.chain
    texts = [[chain.state_text(s) for s in pair] for pair in chain.neighbors.later.tolist()]
    assert sorted(map(sorted, texts)) == [
        sorted(f"after output {shown} with x = {x}" for x in ("pos", "neg")) for shown in ("N", "Y")
    ]


def test_later_neighbors_agree_on_every_draw():
    # z + x is equal for different z; only pairs with equal z go on together.
    body = [
        ("~", "z", Parametric("uniform", (op("range", 0, 1),), None, SPAN)),
        ("output", op("-", "z", "z")),
        ("output", op("+", "z", "x")),
    ]
    target = mechanism([scalar("x", range(2))], body)
    explored = explore(target, later_neighbors=True, limits=Limits())
    columns = explored.chain
    texts = {columns.state_text(s) for pair in columns.neighbors.later for s in pair.tolist()}
    assert texts == {f"after output 0 with x = {x}, z = {z}" for x in (0, 1) for z in (0, 1)}
    assert len(columns.neighbors.later) == 2


def test_a_database_read_only_through_its_sum_collapses():
    body = [(":=", "s", op("sum", arr("x", 1, 8))), ("output", sym("go")), ("output", v("s"))]
    chain = explore(mechanism([array("x", 1, 8, range(2))], body), limits=Limits()).chain
    assert chain.n_reported_states == 2**8 + 9 + 9


def test_states_beyond_the_limit_are_a_limit_and_no_mistake():
    body = [("~", "z", geometric("x", HALF, 0, 50)), ("output", v("z"))]
    with pytest.raises(LimitReached):
        explore(mechanism([scalar("x", range(9))], body), limits=Limits(max_states=30))
    with pytest.raises(LimitReached):
        explore(mechanism([scalar("x", range(9))], body), limits=Limits(deadline=0.0, timeout=1))


def test_a_part_of_a_batch_is_the_batch_as_it_stands_only_if_it_says_so():
    batch = Batch(np.array([4, 5]), np.array([1, 2]), np.array([8, 9]))
    turned = Part(Frame(2, {}), np.array([1, 0]))
    whole = Part(Frame(2, {}), batch.every)
    for part, order in ((turned, [1, 0]), (whole, [0, 1])):
        assert batch.source_of(part).tolist() == [[4, 5][k] for k in order]
        assert batch.weight_of(part).tolist() == [[1, 2][k] for k in order]
        assert batch.drawn_of(part).tolist() == [[8, 9][k] for k in order]
