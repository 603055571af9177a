"""Inputs with `where` and their neighbors, against every value and every pair, one by one.

Conditions are evaluated from left to right on all values, and on all ordered pairs of inputs that
agree on what is public; if one has no value somewhere, that is a mistake, however many conjuncts
would have ruled the place out afterwards.
"""

from __future__ import annotations

from random import Random

import pytest

import dpcheck
from dpcheck.explore.inputs import adjacency
from dpcheck.reference.values import WrongProgram
from tests.checking import check_text, error_codes
from tests.oracle.reference import Program

SETS = ["0..2", "0..3", "{0, 2, 5}", "{0, 1/2, 3}", "{a, b}", "{a, 1}", "{(0, 1), (1, 1), (2, 0)}"]
RAGGED = ["{(0, 1), (1, 2, 0)}", "{(0, a), (1, 2)}"]


class Inputs:
    """Random declarations and conditions over them; mostly without mistakes."""

    def __init__(self, seed):
        self.choose = Random(seed)
        choice = self.choose.choice
        self.may_fail = self.choose.random() < 0.4
        sets = SETS + RAGGED * self.may_fail
        self.x, self.q, self.y = choice(sets), choice([*sets[:6], *["0..2"] * 4]), choice(sets[:6])
        self.lo = choice([0, 1, 1])
        self.index = [f"q[{self.lo}]", f"q[{self.lo + 1}]"]

    def _comparison(self):
        return self.choose.choice(["<", "<=", "=", ">=", ">", "!="])

    def _is_number(self, domain):
        return not any(c in domain for c in "ab(")

    def number(self, prime=""):
        """Return a number over the inputs, of the neighbor where they are primed."""
        q, cells = f"q{prime}", [i.replace("q", f"q{prime}") for i in self.index]
        options = ["1", "2", f"len({q})"]
        if self._is_number(self.q) or self.may_fail:
            options += [*cells, f"sum({q})", f"max({q})", f"{cells[0]} - 2 * {cells[1]}"]
        if self._is_number(self.x) or self.may_fail:
            options += [f"x{prime}", f"(x{prime} + 1)"]
        if self.may_fail:
            options += [f"1/({cells[0]} - 1)", f"q{prime}[{self.lo} + x{prime}]", f"x{prime}[2]"]
        return self.choose.choice(options)

    def condition(self, depth=2):
        """Return a condition over the inputs of one."""
        kind = self.choose.randrange(6)
        if kind <= 1 and depth:
            sign = self.choose.choice(["&", "&", "|"])
            return f"({self.condition(depth - 1)} {sign} {self.condition(depth - 1)})"
        if kind == 2:
            return f"x {self.choose.choice(['=', '!='])} {self.choose.choice(self.index)}"
        if kind == 3:
            return f"count(i in {self.lo}..{self.lo + 1} where i > 0 : q[i] = {self.number()}) <= 1"
        return f"{self.number()} {self._comparison()} {self.number()}"

    def relation(self, depth=2):
        """Return a condition over the inputs and those of a neighbor."""
        kind = self.choose.randrange(9)
        if kind <= 2 and depth:
            sign = self.choose.choice(["&", "&", "&", "|"])
            return f"({self.relation(depth - 1)} {sign} {self.relation(depth - 1)})"
        if kind == 3:
            return self.choose.choice(["x = x'", "q = q'", "y = y'", "x != x'", "y' = y"])
        if kind == 4:
            prime = self.choose.choice(["", "'"])
            return f"{self.number(prime)} {self._comparison()} {self.number(prime)}"
        norms = ["hamming(q, q')", "hamming(q', q)"]
        if self._is_number(self.q) or self.may_fail:
            norms += ["l1(q, q')", "linf(q, q')", "abs(q[1] - q'[1])"]
        if self._is_number(self.x) or self.may_fail:
            norms += ["abs(x - x')", "abs(x - x') + hamming(q, q')"]
        if "(" in self.x and (self.may_fail or "a" not in self.x):
            norms += ["linf(x, x')", "l1(x, x')", "hamming(x, x')"]
        if self.may_fail:
            norms += ["linf((x, y), (x', y'))", "1/(len(q) - hamming(q, q'))"]
        sign = self.choose.choice(["<=", "<=", "<", "="])
        return f"{self.choose.choice(norms)} {sign} {self.choose.randrange(3)}"

    def text(self):
        """Return a mechanism with these inputs."""
        where = [f" where {self.condition()}" * (self.choose.random() < 0.7) for _ in "xqy"]
        where[0] = f" where x != {self.choose.randrange(3)}" * (self.choose.random() < 0.3)
        lines = [
            f"  input x in {self.x}{where[0]}",
            f"  input q[{self.lo}..{self.lo + 1}] in {self.q}{where[1]}",
            f"  {self.choose.choice(['input', 'public'])} y in {self.y}{where[2]}",
        ]
        clauses = [f"  adjacent {self.relation()}" for _ in range(self.choose.choice([1, 1, 2]))]
        symbols = "  s ~ {a: 1, b: 0}"
        return "\n".join(["mechanism m {", *lines, *clauses, symbols, "  output s", "}"])


def expected(text):
    """Return all inputs and all pairs of neighbors, or None where a condition has no value."""
    try:
        program = Program(text)
        return program.texts, program.pairs()
    except WrongProgram:
        return None


@pytest.mark.parametrize("block", range(12))
def test_inputs_and_neighbors_are_those_of_the_definition(block, monkeypatch):
    if block % 3 == 0:
        monkeypatch.setattr(adjacency, "BLOCK", 7)
    n_right = 0
    for seed in range(block * 8, block * 8 + 8):
        text = Inputs(seed).text()
        wanted = expected(text)
        codes = error_codes(check_text(text + "\ncompute m: epsilon\n"))
        if all(code.startswith("DP4") for code in codes) and codes:
            continue  # a wrong kind is seen without looking at any value
        if wanted is None:
            assert codes, text
        elif not wanted[0]:
            assert codes == ["DP508"], text
        else:
            assert not codes, (text, codes)
            chain = dpcheck.loads(text).target("m").chain()
            found = list(map(chain.state_text, chain.initial.tolist()))
            assert found == wanted[0], text
            assert [tuple(pair) for pair in chain.neighbors.pairs.tolist()] == wanted[1], text
            n_right += 1
    assert n_right


HIDDEN = [
    "input x in {(0, 1), (1, 2, 3)} input y in 0..1 adjacent linf(x, x') < 1 & y = y' & x = x'",
    "input q[1..2] in {a, b} adjacent linf(q, q') < 1 & q = q'",
    "input q[1..2] in {a, b} adjacent l1(q, q') <= 0",
    "input x in {(0, 1), (1, 1)} input y in 0..1 adjacent linf((x, y), (x', y')) <= 0",
    "input x in 0..3 adjacent 1/(x - x' - 1) > 0 & abs(x - x') <= 0",
    "input x in 0..3 adjacent (x = x' | 1/(x - x' - 1) > 0) & abs(x - x') < 0",
    "input q[1..2] in 0..2 where 1/(2 - q[1] + q[2]) > 0 & q[1] <= 1 adjacent all",
    "input q[1..2] in 0..2 where (1/(2 - q[1] + q[2]) > 0 & q[1] <= 1) | q[2] = 1 adjacent all",
    "input q[1..3] in 0..2 where q[1] < q[3] & 1/q[2] > 0 & q[2] > 0 adjacent all",
    "input x in 0..3 adjacent x / 0 > x' & abs(x - x') <= 0",
]


@pytest.mark.parametrize("declared", HIDDEN)
def test_a_mistake_is_not_hidden_by_later_conjuncts(declared):
    text = f"mechanism m {{ {declared} output 0 }}\ncompute m: epsilon"
    assert error_codes(check_text(text))


@pytest.mark.parametrize(
    "declared",
    [
        "input x in 0..3 adjacent abs(x - x') <= 0 & 1/(x - x' - 1) > 0",
        "input x in {(0, 1), (1, 1)} adjacent linf(x, x') < 1 & x = x'",
        "input x in {a, 1} input y in 0..1 adjacent x = x' & x != a & abs(x - x') <= 1",
        "input q[1..2] in 0..2 where q[1] <= 1 & 1/(2 - q[1] + q[2]) > 0 adjacent all",
        "input q[1..3] in 0..2 where q[1] < q[3] & q[2] > 0 & 1/q[2] > 0 adjacent all",
        "input q[1..3] in 0..2 where q[2] < q[3] & 1/(2 - q[2]) > 0 & q[1] > 0 adjacent all",
    ],
)
def test_a_conjunct_before_guards_those_after_it(declared):
    text = f"mechanism m {{ {declared} output 0 }}\ncompute m: epsilon"
    assert not error_codes(check_text(text))


TWO_ARRAYS = "input q[1..3] in 0..2 input r[1..3] in 0..2 adjacent"
TWO_RANGES = "input q[0..1] in 0..2 input r[1..2] in 0..2 adjacent"


@pytest.mark.parametrize(
    ("declared", "n_pairs"),
    [
        # codes of fractions next to each other are no distances
        ("input x in {1/2, 5/2, 9/2, 13/2, 17/2, 21/2} adjacent abs(x - x') <= 1", 0),
        # twice the distance is at most 2
        ("input x in 0..40 adjacent abs(x - x') + abs(x - x') <= 2", 40),
        # a record that differs may differ in both of its cells: 3 records, 8 other values of each
        (
            f"{TWO_ARRAYS} count(i in 1..3 : (q[i], r[i]) != (q'[i], r'[i])) <= 1",
            729 * 3 * 8 // 2,
        ),
        # arrays with different indices differ
        (
            f"{TWO_RANGES} q = r' & abs(r[1] - q'[0]) <= 1 & abs(r[2] - q'[1]) <= 1",
            0,
        ),
    ],
)
def test_neighbors_at_a_distance_are_counted(declared, n_pairs):
    report = check_text(f"mechanism m {{ {declared} output 0 }}\ncompute m: epsilon")
    assert report["results"][0]["neighbor_pairs"] == n_pairs
