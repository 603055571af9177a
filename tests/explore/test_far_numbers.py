"""Expressions on all integers beyond a window at once, against each of the integers."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from math import comb

import pytest
from flint import fmpq

from dpcheck.exact import add, multiply, power
from dpcheck.model.evaluation import Fault, apply
from dpcheck.model.far_numbers import FarNumber, NotFarEnough, far_integer, mean
from dpcheck.model.values import ArrayValue, SetValue

STEPS = 30


class Writer:
    """Writes random expressions of x, and perhaps of y: an operator with its operands."""

    def __init__(self, seed, names):
        self.pick = random.Random(seed).choice
        self.names = names

    def number(self, depth):
        if depth == 0 or self.pick((0, 0, 1)):
            return self.pick((*self.names, self.pick((-3, 0, 2, fmpq(7, 2), 40))))
        op = self.pick(("+", "-", "*", "^", "/", "neg", "abs", "max", "min", "clamp", "l1", "linf"))
        one, other = self.number(depth - 1), self.number(depth - 1)
        match op:
            case "^":
                return op, one, self.pick((0, 1, 2, 3))
            case "/":
                return op, one, self.pick((-2, fmpq(3, 5)))
            case "neg" | "abs":
                return op, one
            case "clamp":
                return op, one, -5, self.pick((-1, 4))
            case "l1" | "linf":
                return op, ("tuple", one, 1), ("tuple", other, self.names[0])
            case _:
                return op, one, other

    def truth(self, depth):
        op = self.pick(("<", "<=", ">", ">=", "=", "!=", "in", "argmax"))
        one, other = self.number(depth), self.number(depth)
        if op == "in":
            return op, one, self.pick((SetValue(range(-2, 9)), SetValue((1, fmpq(1, 2), 12))))
        if op in ("=", "!=") and self.pick((0, 1)):
            return op, ("tuple", one, 3), ("tuple", other, 3)
        return op, one, other


def value_of(tree, environment):
    match tree:
        case str():
            return environment[tree]
        case tuple():
            return apply(tree[0], [value_of(each, environment) for each in tree[1:]])
        case _:
            return tree


def at(value, steps):
    """Return a value where the numbers of steps are these."""
    if not isinstance(value, FarNumber):
        return value
    total = 0
    for term, c in value.terms.items():
        part = c
        for step in term:
            part = multiply(part, steps[step])
        total = add(total, part)
    return total


@pytest.mark.parametrize("seed", range(400))
def test_values_for_all_steps_are_those_of_every_number_of_steps(seed):
    draw = random.Random(seed)
    first, way = draw.randint(-4, 9), draw.choice((1, -1))
    writer = Writer(seed, ("x",))
    tree = writer.number(3) if draw.random() < 0.5 else writer.truth(2)
    for _ in range(40):  # windows, each as much wider as is asked for
        try:
            found = value_of(tree, {"x": far_integer(0, first, way)})
        except NotFarEnough as wider:
            first += way * (wider.steps or 4)
        else:
            break
    for n in range(STEPS):
        one = value_of(tree, {"x": first + way * n})
        assert apply("=", [at(found, [n]), one]), tree


def values_in_cells(tree, first, way, most):
    """Return pairs of a cell's numbers and its value, of cells that break where they have to."""
    cell = first if most == 0 else far_integer(0, first, way, most)
    try:
        return [([first + way * n for n in range(most + 1)], value_of(tree, {"x": cell}))]
    except NotFarEnough as found:
        starts = [0, *(found.breaks or range(1, most + 1)), most + 1]
    return [
        pair
        for start, end in itertools.pairwise(starts)
        for pair in values_in_cells(tree, first + way * start, way, end - 1 - start)
    ]


@pytest.mark.parametrize("seed", range(300))
def test_values_in_cells_are_those_of_every_number_in_them(seed):
    draw = random.Random(seed)
    first, way = draw.randint(-9, 9), draw.choice((1, -1))
    writer = Writer(seed, ("x",))
    tree = writer.number(3) if draw.random() < 0.5 else writer.truth(2)
    try:
        found = values_in_cells(tree, first, way, STEPS)
    except Fault:  # it is no polynomial
        return
    assert [n for numbers, _ in found for n in numbers] == [first + way * n for n in range(31)]
    for numbers, value in found:
        for n, one in enumerate(numbers):
            assert apply("=", [at(value, [n]), value_of(tree, {"x": one})]), tree


def test_a_cell_breaks_where_a_comparison_changes():
    x = far_integer(0, 6, 1, 100)
    for other, breaks in ((50, (44, 45)), (fmpq(101, 2), (45,)), (6, (1,)), (106, (100,))):
        with pytest.raises(NotFarEnough) as found:
            apply("<", [x, other])
        assert (found.value.step, found.value.breaks) == (0, breaks)
    assert apply("<", [x, 107]) is True
    assert apply("<", [x, far_integer(1, 107, 1)]) is True
    assert apply("<", [apply("*", [x, x]), 106**2 + 1]) is True


@pytest.mark.parametrize("seed", range(200))
def test_two_numbers_are_computed_with_for_all_steps_of_both(seed):
    """A comparison may be one that no window decides, `x < y`."""
    draw = random.Random(seed)
    firsts, ways = [draw.choice((-60, 60)) for _ in "xy"], [draw.choice((1, -1)) for _ in "xy"]
    tree = Writer(seed, ("x", "y")).number(3)
    far = {name: far_integer(k, firsts[k], ways[k]) for k, name in enumerate("xy")}
    try:
        found = value_of(tree, far)
    except (NotFarEnough, Fault):
        return
    for n, m in ((0, 0), (3, 0), (0, 7), (20, 1), (1, 20), (50, 50)):
        both = {"x": firsts[0] + ways[0] * n, "y": firsts[1] + ways[1] * m}
        assert apply("=", [at(found, [n, m]), value_of(tree, both)]), tree


def test_a_window_is_widened_to_the_number_that_is_compared_with():
    x = far_integer(0, 3, 1)
    for other, steps in ((3, 1), (10, 8), (fmpq(21, 2), 8)):
        with pytest.raises(NotFarEnough) as found:
            apply("<", [x, other])
        assert found.value.steps == steps
    assert apply("<", [x, fmpq(5, 2)]) is False


@pytest.mark.parametrize("op", ["<", "=", "max"])
def test_no_window_tells_which_of_two_numbers_is_larger(op):
    x, y = far_integer(0, 3, 1), far_integer(1, 9, 1)
    with pytest.raises(Fault) as found:
        apply(op, [x, y])
    assert found.value.kind == "without bounds"
    assert apply(">", [x, far_integer(1, -9, -1)]) is True
    assert apply("=", [apply("-", [x, x]), 0]) is True


def test_other_kinds_of_values_are_no_numbers_beyond():
    x = far_integer(0, 3, 1)
    for value in (True, (x, 1), ArrayValue(1, (x,)), SetValue((1,))):
        assert apply("=", [x, value]) is False
    with pytest.raises(Fault) as found:
        apply("+", [x, True])
    assert found.value.kind == "wrong kind"


@pytest.mark.parametrize("degree", range(7))
def test_means_are_those_of_sums(degree):
    """Steps of chance (1 - r) r^s have E[C(s, k)] = (r/(1-r))^k."""
    ratios = [fmpq(1, 3), fmpq(2, 7)]
    tree = ("*", ("^", "x", degree), ("-", "y", 2))
    found = value_of(tree, {"x": far_integer(0, 2, 1), "y": far_integer(1, 5, -1)})
    exact = mean(found, lambda i, k: power(ratios[i] / (1 - ratios[i]), k))
    sums = [
        sum(
            Fraction(int(r.p), int(r.q)) ** s * (1 - Fraction(int(r.p), int(r.q))) * f(s)
            for s in range(120)
        )
        for r, f in zip(ratios, (lambda s: (2 + s) ** degree, lambda s: 3 - s), strict=True)
    ]
    assert abs(Fraction(int(exact.p), int(exact.q)) / (sums[0] * sums[1]) - 1) < Fraction(1, 10**30)


def test_binomials_are_powers_in_another_basis():
    for n in range(6):
        number = apply("^", [far_integer(0, 0, 1), 3])
        assert mean(number, lambda _, k, n=n: comb(n, k)) == n**3
