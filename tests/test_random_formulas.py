"""Random chains and random formulas of dpCTL*, as text: what is reported is what the oracle finds.

The oracle evaluates state formulas from the inside out: the truth of each one inside a path becomes
a fresh letter, path probabilities are those of `tests.solve.oracle`, and P and D follow their
definitions over plain fractions.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dpcheck.exact import Budget, number
from dpcheck.logic import formulas as f
from dpcheck.logic.formula_text import formula_text
from tests.checking import check_text
from tests.solve.chains import HERE, as_fraction
from tests.solve.oracle import oracle_probabilities
from tests.solve.strategies import LETTERS, chains, paths
from tests.solve.test_paths import size

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def chain_text(rows, labels, pairs):
    """Return the chain `c` of the language; the last state has no row and goes to the sink."""
    lines = ["chain c {"]
    for s, label in enumerate(labels):
        lines.append(f"  state s{s}" + (f" : {', '.join(label)}" if label else ""))
    lines.append(f"  state never : {', '.join(LETTERS)}")  # declares every label
    for s, row in enumerate(rows[:-1]):
        lines.append(f"  s{s} -> " + " + ".join(f"{p}: s{t}" for t, p in row.items()))
    lines += [f"  adjacent s{s} ~ s{t}" for s, t in pairs]
    return "\n".join([*lines, "}"])


def with_sink(rows, labels):
    """Return what the oracle is given: the last state goes to a sink of its own."""
    n = len(rows)
    return [*rows[:-1], {n: Fraction(1)}, {n: Fraction(1)}], [*labels, ""]


@st.composite
def relations(draw, n):
    """Draw pairs of states, of which some may be the same state or the same pair."""
    state = st.integers(0, n - 1)
    return [(0, n - 1), *draw(st.lists(st.tuples(state, state), max_size=4))]


def state_formulas(max_leaves):
    """Draw P and D formulas, with further ones inside of their paths."""
    budgets = st.sampled_from([Budget.of(0), Budget.ln(2), Budget.ln(number(4, 3))])
    bounds = st.sampled_from([0, number(1, 3), number(1, 2), 1])
    relations = st.tuples(st.sampled_from([">=", ">", "<=", "<", "="]), bounds)

    def around(path):
        return st.one_of(
            st.builds(lambda e, d, p: f.Private(e, d, p, HERE), budgets, bounds, path),
            st.builds(lambda r, p: f.ProbabilityIs((r,), p, HERE), relations, path),
        )

    def holding(state):
        return st.builds(lambda s, p: _with_leaf(p, s), state, paths(2))

    flat = around(paths(max_leaves))
    once = around(holding(flat))
    return st.one_of(once, around(holding(once)))


def _with_leaf(path, state):
    """Return the path with its leaves `a` replaced by a state formula."""
    match path:
        case f.Holds(f.Atom("a")):
            return f.Holds(state, HERE)
        case f.Holds():
            return path
        case f.PathAnd(arguments) | f.PathOr(arguments):
            return type(path)(tuple(_with_leaf(each, state) for each in arguments), HERE)
        case f.PathNot(argument) | f.Next(argument):
            return type(path)(_with_leaf(argument, state), HERE)
        case f.Finally(argument, bound) | f.Globally(argument, bound):
            return type(path)(_with_leaf(argument, state), bound, HERE)
        case f.Until(left, right, bound):
            return f.Until(_with_leaf(left, state), _with_leaf(right, state), bound, HERE)
        case f.WeakUntil(left, right) | f.Release(left, right):
            return type(path)(_with_leaf(left, state), _with_leaf(right, state), HERE)
    raise AssertionError(path)


class Oracle:
    """The truth of formulas on a chain, by their definitions."""

    def __init__(self, rows, labels, pairs):
        self.rows, self.labels = with_sink(rows, labels)
        self.pairs = [(s, t) for s, t in pairs if s != t]
        self.letters = iter(range(0x4E00, 0x9FFF))

    def truth(self, formula):
        """Return where a state formula holds, a list over states."""
        match formula:
            case f.Atom(key):
                return [key in label for label in self.labels]
            case f.ProbabilityIs(((comparison, bound),), path):
                r = as_fraction(bound)
                compare = {
                    ">=": Fraction.__ge__,
                    ">": Fraction.__gt__,
                    "<=": Fraction.__le__,
                    "<": Fraction.__lt__,
                    "=": Fraction.__eq__,
                }[comparison]
                return [compare(p, r) for p in self.probabilities(path)]
            case f.Private(epsilon, delta, path):
                p = self.probabilities(path)
                e, d = as_fraction(epsilon.exp()), as_fraction(delta)
                failing = {
                    s
                    for pair in self.pairs
                    if any(p[i] > e * p[j] + d for i, j in (pair, pair[::-1]))
                    for s in pair
                }
                return [s not in failing for s in range(len(p))]
        raise AssertionError(formula)

    def probabilities(self, path):
        """Return the probability of a path formula at every state."""
        named = self.named(path)
        return oracle_probabilities(self.rows, self.labels, named)

    def named(self, path):
        """Return the path with every inner P and D replaced by a letter of its own."""
        match path:
            case f.Holds(f.Atom()):
                return path
            case f.Holds(state):
                letter = chr(next(self.letters))
                holds = self.truth(state)
                self.labels = [
                    label + letter if here else label
                    for label, here in zip(self.labels, holds, strict=True)
                ]
                return f.Holds(f.Atom(letter, HERE), HERE)
            case f.PathAnd(arguments) | f.PathOr(arguments):
                return type(path)(tuple(self.named(each) for each in arguments), HERE)
            case f.PathNot(argument) | f.Next(argument):
                return type(path)(self.named(argument), HERE)
            case f.Finally(argument, bound) | f.Globally(argument, bound):
                return type(path)(self.named(argument), bound, HERE)
            case f.Until(left, right, bound):
                return f.Until(self.named(left), self.named(right), bound, HERE)
            case f.WeakUntil(left, right) | f.Release(left, right):
                return type(path)(self.named(left), self.named(right), HERE)
        raise AssertionError(path)


def oracle_size(formula):
    """Return the largest number of operators that the path oracle has to eliminate at once."""
    inner = [formula.path]
    sizes = [size(formula.path)]
    while inner:
        node = inner.pop()
        if isinstance(node, f.Holds):
            if isinstance(node.state, f.Private | f.ProbabilityIs):
                sizes.append(oracle_size(node.state))
            continue
        names = ("argument", "left", "right")
        inner.extend(getattr(node, name) for name in names if hasattr(node, name))
        inner.extend(getattr(node, "arguments", ()))
    return max(sizes)


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(chains(5), paths(5))
def test_probabilities_of_path_formulas_as_text(chain, path):
    assume(size(path) <= 7)
    rows, labels = chain
    text = chain_text(rows, labels, [])
    asked = [f"compute c at s{s} : P=? [ {formula_text(path)} ]" for s in range(len(rows))]
    report = check_text("\n".join([text.replace("}", "  init s0\n}"), *asked]))
    assert set(report) == {"schema", "dpcheck", "ok", "results"}, report
    found = [Fraction(result["value"]["exact"]) for result in report["results"]]
    expected = oracle_probabilities(*with_sink(rows, labels), path)
    assert found == expected[:-1]


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(st.data(), chains(5), state_formulas(3))
def test_verdicts_of_nested_formulas_as_text(data, chain, formula):
    rows, labels = chain
    assume(len(rows) > 1 and oracle_size(formula) <= 4)
    pairs = data.draw(relations(len(rows)))
    assume(any(s != t for s, t in pairs))
    asked = [f"check c at s{s} : {formula_text(formula)}" for s in range(len(rows))]
    asked += [f"check c at s{s} : !{formula_text(formula)}" for s in range(len(rows))]
    report = check_text("\n".join([chain_text(rows, labels, pairs), *asked]))
    assert set(report) == {"schema", "dpcheck", "ok", "results"}, report
    found = [result["verdict"] == "holds" for result in report["results"]]
    expected = Oracle(rows, labels, pairs).truth(formula)[: len(rows)]
    assert found == [*expected, *(not holds for holds in expected)]
