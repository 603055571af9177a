"""Formulas whose bounded operators have all run out after some steps, one step at a time.

In F<=1000 (a & X b) the counter and the time run together: after d steps at most 1000 - d are
left. The product of a chain with all the formulas of all the counters is a thousand times as
large as what is in it at any one time, so here it is never built. Going forward, the pairs (s, φ)
of a step are made from those of the step before and only their numbers are kept; going back,

    x_d(s, φ) = Σ_t P(s,t) x_{d+1}(t, after(φ, s) at t)

needs the values of one step at a time. A pair whose formula counts no longer has a value that does
not depend on the step, and comes from a product (`product`).

With m steps, exact values of step d are whole over R L^(m-d), L being the lcm of the row
denominators and R a common denominator of the values of pairs that do not count. Bounds are kept
as multiples of 2^-T that are rounded down once a step: as weights sum to 1, that loses less than
one unit a step, and another where a value comes from the product, so the upper bound is the lower
one and m + 1 units, and as much as the values from the product are apart. Measured: F<=1000 with
X and & inside on a well-mixed chain of 10,000 states, whose product has 10^7: bounds in 22 s, the
exact value of 8,600 bits in 53 s, 0.3 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpcheck import exact
from dpcheck.chain.chain import BoolArray, Chain, IntArray, WeightArray
from dpcheck.chain.graph import graph_of
from dpcheck.chain.sets import distinct, union
from dpcheck.chain.weights.rows import ranges
from dpcheck.limits import Limit, LimitReached, Limits
from dpcheck.records import dataclass
from dpcheck.solve.formulas.independent_parts import ALWAYS_FORMULA, Factors
from dpcheck.solve.formulas.product import PRODUCT, Table
from dpcheck.solve.formulas.terms import (
    Conjunction,
    Disjunction,
    Next,
    StrongUntil,
    Terms,
    WeakUntil,
)

COUNTING_PAYS_FROM = 50
"""Steps: below, the product is small enough."""
STATES_A_FORMULA = 20
"""A formula that was made costs as much as so many states."""

Bounds = tuple[exact.Number, exact.Number]
Rest = Callable[[IntArray, IntArray], list[Bounds]]
"""Bounds of the values of pairs (states, formulas) that do not count."""


def horizon(terms: Terms, term: int) -> int | None:
    """Return a number of steps after which no bounded operator is left; None if there is none.

    >>> terms = Terms()
    >>> soon = terms.until(0, terms.after(terms.literal(0)), 1000)
    >>> horizon(terms, soon), horizon(terms, terms.weak(soon, 1))
    (1000, None)
    """
    known: dict[int, int | None] = {}
    for part in terms.subterms(term):  # parts come before what has them, and may be shared
        inner = [known[each] for each in terms.parts(part)]
        known[part] = _horizon(terms, part, inner)
    return known[term]


def _horizon(terms: Terms, term: int, inner: Sequence[int | None]) -> int | None:
    """Return the number of steps for a term from those for its parts."""
    if None in inner:
        return None
    longest = max((steps for steps in inner if steps is not None), default=0)
    match terms[term]:
        case Conjunction() | Disjunction():
            return longest
        case Next():
            return longest + 1 if longest else 0
        case StrongUntil(_, _, bound) | WeakUntil(_, _, bound):
            if bound is None:
                return None if longest else 0
            return bound + longest
        case _:
            return 0


@dataclass(frozen=True, eq=False)
class Walk:
    """A chain, the classes of its states, and formulas that progress step by step.

    A pair (s, φ) is the key φ n_states + s; keys of false and true come before all others.
    """

    chain: Chain
    classes: IntArray
    progression: Factors
    step: Table
    settled: Table

    def starts(self, states: IntArray) -> IntArray:
        """Return the keys [n] of the whole formula at some states [n]."""
        roots = np.full(len(states), self.progression.root(), np.int64)
        return self.settled.lookup(roots, self.classes[states]) * self.chain.n_states + states

    def counts(self, keys: IntArray) -> BoolArray:
        """Return in which pairs [n], sorted, a bounded operator is left."""
        formulas = keys // self.chain.n_states
        places = np.flatnonzero(np.diff(formulas, prepend=-1))
        counting = [self.progression.counts(f) for f in formulas[places].tolist()]
        return np.repeat(np.array(counting, np.bool_), np.diff(places, append=len(formulas)))

    def moved(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the chain's edges [n_edges] from some pairs [n], and the pairs they lead to."""
        n = self.chain.n_states
        states, graph = keys % n, graph_of(self.chain)
        lengths = graph.degrees[states]
        edges = ranges(graph.indptr[states], lengths)
        targets = graph.targets[edges]
        after = np.repeat(self.step.lookup(keys // n, self.classes[states]), lengths)
        return edges, self.settled.lookup(after, self.classes[targets]) * n + targets


def walk_of(chain: Chain, classes: IntArray, progression: Factors, limits: Limits) -> Walk:
    """Return a walk that minds the deadline: one step of a formula may be long."""

    def step(formula: int, state_class: int) -> int:
        limits.check_time(f"{len(progression)} formulas")
        return progression.step(formula, state_class)

    n_classes = int(classes.max(initial=0)) + 1
    return Walk(
        chain, classes, progression, Table(step, n_classes), Table(progression.settled, n_classes)
    )


def counted_bounds(
    walk: Walk, asked: IntArray, rest: Rest, bits: int | None, limits: Limits
) -> list[Bounds]:
    """Return bounds of the formula's probability at asked[n], at most 2^-bits apart.

    `bits` is None for exact values, twice each; `rest` must be exact then, else 2^-(bits+1) near.
    """
    n = walk.chain.n_states
    starts = walk.starts(asked)
    steps, others = _forward(walk, starts, limits)
    known = rest(others % n, others // n) if len(others) else []
    scale = _exact_scale(walk, known) if bits is None else _fixed_scale(walk, bits, len(steps))
    lows = [_over(low, scale.one) for low, _ in known]
    values, one = _backward(walk, steps, others, lows, scale, limits)
    found = [exact.number(value, one) for value in values(starts)]
    if bits is None:
        return [(value, value) for value in found]
    gaps = [exact.subtract(high, low) for low, high in known]
    slack = exact.add(exact.number(len(steps) + 1, one), max(gaps, key=exact.by_size, default=0))
    highs = (exact.add(value, slack) for value in found)
    return [
        (low, high if exact.compare(high, 1) < 0 else 1)
        for low, high in zip(found, highs, strict=True)
    ]


def _forward(walk: Walk, starts: IntArray, limits: Limits) -> tuple[list[IntArray], IntArray]:
    """Return the pairs [n_steps][n] that count, and the other pairs [n] they lead to, sorted."""
    n = walk.chain.n_states
    steps: list[IntArray] = []
    others: IntArray = np.empty(0, np.int64)
    found = starts
    n_seen = 0
    while True:
        found = _sorted_set(found[found >= (ALWAYS_FORMULA + 1) * n], n)
        counting = walk.counts(found)
        others = union(others, found[~counting])
        here = found[counting]
        if not len(here):
            return steps, others
        steps.append(here)
        n_seen += len(here)
        limits.check_states(len(here), PRODUCT)
        _check_formulas(len(walk.progression), n_seen, limits)
        limits.check_time(f"{n_seen} {PRODUCT} in {len(steps)} steps")
        _, found = walk.moved(here)


def _check_formulas(n_formulas: int, n_seen: int, limits: Limits) -> None:
    """Raise `LimitReached` for too many formulas."""
    if n_formulas * STATES_A_FORMULA > limits.max_states:
        limit = Limit("states", limits.max_states // STATES_A_FORMULA, "formulas")
        raise LimitReached(limit, f"{n_formulas} formulas, {n_seen} {PRODUCT}")


def _sorted_set(keys: IntArray, n: int) -> IntArray:
    """Return the different ones of keys [n], sorted: by marks where keys are dense."""
    if not len(keys):
        return keys
    low = int(keys.min()) // n * n
    width = int(keys.max()) - low + 1
    if width > 16 * len(keys):
        return distinct(keys)
    marks = np.zeros(width, np.bool_)
    marks[keys - low] = True
    return np.flatnonzero(marks) + low


@dataclass(frozen=True, eq=False)
class _Scale:
    """Values of the last step are whole over `one`, and those before over `multiple` times more.

    factors [n_states] is L / D_s. For bounds all steps have one scale: `multiple` is 1, and after
    each step the sums are divided by the factors, here D_s, and rounded down.
    """

    one: exact.Whole
    multiple: exact.Whole
    factors: WeightArray
    is_exact: bool

    def earlier(self, sums: WeightArray, states: IntArray) -> WeightArray:
        """Return the values [n] of some states from Σ_t n_st x_t."""
        factors = self.factors[states]
        return sums * factors if self.is_exact else sums // factors


def _exact_scale(walk: Walk, known: list[Bounds]) -> _Scale:
    common = exact.common_multiple(exact.as_fraction_parts(value)[1] for value, _ in known)
    visited = np.flatnonzero(walk.classes >= 0)
    denominators = walk.chain.denominators[visited].tolist()
    multiple = exact.common_multiple(set(denominators))
    quotients = {d: exact.exact_quotient(multiple, d) for d in set(denominators)}
    factors = np.zeros(walk.chain.n_states, object)
    factors[visited] = [quotients[d] for d in denominators]
    return _Scale(common, multiple, factors, is_exact=True)


def _fixed_scale(walk: Walk, bits: int, n_steps: int) -> _Scale:
    one = 1 << bits + 1 + (n_steps + 1).bit_length()
    return _Scale(one, 1, walk.chain.denominators.astype(object), is_exact=False)


def _backward(
    walk: Walk,
    steps: list[IntArray],
    others: IntArray,
    lows: list[exact.Whole],
    scale: _Scale,
    limits: Limits,
) -> tuple[Callable[[IntArray], list[exact.Whole]], exact.Whole]:
    """Return a function that finds the values of pairs before the first step, and their scale.

    lows: the values of the other pairs, over `scale.one`.
    """
    n = walk.chain.n_states
    last = np.array([0, scale.one, *lows], object)
    later: IntArray = np.empty(0, np.int64)
    values: WeightArray = np.empty(0, object)
    unit: exact.Whole = 1

    def found(keys: IntArray) -> WeightArray:
        """Return the values [n] of pairs of the step after the present one."""
        table: WeightArray = np.concatenate((last * unit, values))
        place = np.minimum(keys // n, ALWAYS_FORMULA)
        is_later = _is_in(later, keys)
        place[is_later] = len(last) + np.searchsorted(later, keys[is_later])
        is_other = _is_in(others, keys)
        place[is_other] = 2 + np.searchsorted(others, keys[is_other])
        return table[place]

    for passed, here in enumerate(reversed(steps)):
        limits.check_time(f"{passed} of {len(steps)} steps summed")
        edges, keys = walk.moved(here)
        states = here % n
        terms = walk.chain.numerators[edges].astype(object) * found(keys)
        lengths = graph_of(walk.chain).degrees[states]
        sums = np.add.reduceat(terms, np.cumsum(lengths) - lengths)
        later, values = here, scale.earlier(sums, states)
        unit = unit * scale.multiple
    return (lambda keys: found(keys).tolist()), scale.one * unit


def _is_in(ordered: IntArray, keys: IntArray) -> BoolArray:
    """Return which keys are among ordered ones."""
    if not len(ordered):
        return np.zeros(len(keys), np.bool_)
    place = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    result: BoolArray = ordered[place] == keys
    return result


def _over(value: exact.Number, one: exact.Whole) -> exact.Whole:
    """Return a value over a scale, rounded down where its denominator does not divide that."""
    above, below = exact.as_fraction_parts(value)
    if isinstance(above, int) and isinstance(below, int) and isinstance(one, int):
        return above * one // below
    return above * exact.exact_quotient(one, below)
