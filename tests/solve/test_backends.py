"""One suite over every backend: each must return the solution that elimination returns."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from dpcheck.chain.chain import IntArray
from dpcheck.chain.graph import Graph, topological_layers
from dpcheck.chain.weights.denominators import weight_array
from dpcheck.chain.weights.rows import indptr_of
from dpcheck.exact import Number, number
from dpcheck.exact.linear import solve_linear
from dpcheck.limits import LimitReached, Limits
from dpcheck.records import replace
from dpcheck.solve.systems import dixon_lifting, float_solves, solution, trees
from dpcheck.solve.systems.acyclic import acyclic_solution
from dpcheck.solve.systems.enclosures import acyclic_bounds
from dpcheck.solve.systems.system import System
from dpcheck.solve.systems.trees import forest, tree_solution
from tests.checking import check_text, verdicts

Backend = Callable[[System, IntArray, Limits], list[Number]]


def eliminated(system: System) -> list[Number]:
    """Return every x_s by sparse elimination: the reference."""
    entries = zip(
        system.graph.sources.tolist(),
        system.graph.targets.tolist(),
        system.numerators.tolist(),
        strict=True,
    )
    right = [(s, 0, b) for s, b in enumerate(system.constants.tolist()) if b]
    rows = solve_linear(system.denominators.tolist(), entries, right)
    return [row.get(0, 0) for row in rows]


def random_system(rng: random.Random, n: int, kind: str, digits: int = 1) -> System:
    """Return a system of n states of some shape, weights with up to so many digits."""
    lengths, targets, numerators, denominators, constants = [], [], [], [], []
    for s in range(n):
        match kind:
            case "acyclic":
                pool = range(s + 1, min(n, s + 9))
            case "small components":
                pool = range(s // 4 * 4, min(n, s // 4 * 4 + 7))
            case "tree":
                pool = sorted({(s - 1) // 3, *range(3 * s + 1, 3 * s + 4)} & set(range(n)))
            case "one component":
                pool = [(s + 1) % n, (s + n - 1) % n, rng.randrange(n)]
            case _:
                raise AssertionError(kind)
        row = sorted(
            {t for t in rng.sample(list(pool), min(len(pool), rng.randint(1, 3))) if t != s}
        )
        if kind == "one component":
            row = sorted({*row, (s + 1) % n} - {s})
        weights = [rng.randint(1, 10**digits) for _ in row]
        gain, loss = (rng.choice([0, rng.randint(1, 10**digits)]) for _ in range(2))
        if s == n - 1:
            gain, loss = 1, 1
        lengths.append(len(row))
        targets.extend(row)
        numerators.extend(weights)
        denominators.append(max(1, sum(weights) + gain + loss))
        constants.append(gain)
    return System(
        Graph(indptr_of(np.array(lengths)), np.array(targets, np.int64)),
        weight_array(numerators),
        weight_array(denominators),
        weight_array(constants),
    )


def proper(system: System) -> bool:
    """Return whether every state leads to a row that loses mass."""
    try:
        eliminated(system)
    except ZeroDivisionError:
        return False
    return True


def by_layers(system: System, wanted: IntArray, limits: Limits) -> list[Number]:
    layers = topological_layers(system.graph)
    assert layers is not None
    return acyclic_solution(system, layers, wanted, limits)


def by_trees(system: System, wanted: IntArray, limits: Limits) -> list[Number]:
    trees = forest(system, wanted)
    assert trees is not None
    return tree_solution(system, trees, wanted, limits)


def by_enclosures(system: System, wanted: IntArray, limits: Limits) -> list[Number]:
    """Return exact values wherever bounds enclose them closely, else a bound: a wrong answer."""
    layers = topological_layers(system.graph)
    assert layers is not None
    values = acyclic_solution(system, layers, wanted, limits)
    bounds = acyclic_bounds(system, layers, wanted, 70, limits)
    close = number(1, 2**70)
    return [
        value if low <= value <= high and high - low <= close else low
        for value, (low, high) in zip(values, bounds, strict=True)
    ]


BACKENDS: dict[str, tuple[Backend, list[str]]] = {
    "chosen": (solution.solution, ["acyclic", "small components", "one component", "tree"]),
    "layers": (by_layers, ["acyclic"]),
    "trees": (by_trees, ["tree"]),
    "enclosures": (by_enclosures, ["acyclic"]),
    "lifting": (
        dixon_lifting.lifted_values,
        ["one component", "small components", "acyclic", "tree"],
    ),
}


@pytest.mark.parametrize("digits", [1, 3])
@pytest.mark.parametrize("n", [2, 9, 70, 200])
@pytest.mark.parametrize(
    ("backend", "kind"), [(name, kind) for name, (_, kinds) in BACKENDS.items() for kind in kinds]
)
def test_every_backend_returns_what_elimination_returns(
    backend: str, kind: str, n: int, digits: int
) -> None:
    rng = random.Random(f"{backend} {kind} {n} {digits}")
    for _ in range(3):
        system = random_system(rng, n, kind, digits)
        if not proper(system):
            continue
        expected = eliminated(system)
        wanted = np.array(sorted(rng.sample(range(n), min(n, 5))))
        found = BACKENDS[backend][0](system, wanted, Limits())
        assert found == [expected[s] for s in wanted.tolist()]


@pytest.mark.parametrize("kind", ["acyclic", "small components", "one component", "tree"])
def test_weights_of_two_hundred_digits_are_solved_exactly(kind: str) -> None:
    rng = random.Random(kind)
    system = random_system(rng, 40, kind, digits=200)
    everything = np.arange(40)
    assert solution.solution(system, everything, Limits()) == eliminated(system)


@pytest.mark.parametrize("limit", ["LIFTING_PAYS_FROM", "MAX_COLUMN_ENTRIES"])
def test_components_too_large_to_eliminate_join_the_acyclic_rest(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solution, limit, 3)
    rng = random.Random(limit)
    for n in (8, 30, 90):
        system = random_system(rng, n, "small components")
        everything = np.arange(n)
        assert solution.solution(system, everything, Limits()) == eliminated(system)


def ruin(n: int, up: int, down: int) -> System:
    """Return the gambler's ruin: win 1 with odds up:down, from 1..n, to reach n + 1 before 0."""
    sources = np.repeat(np.arange(n), 2)
    targets = sources + np.tile([-1, 1], n)
    inside = (targets >= 0) & (targets < n)
    return System(
        Graph(indptr_of(np.bincount(sources[inside], minlength=n)), targets[inside]),
        np.tile([down, up], n)[inside],
        np.full(n, up + down),
        np.where(np.arange(n) == n - 1, up, 0),
    )


@pytest.mark.parametrize("n", [800, 3000])
def test_gamblers_ruin_has_its_closed_form(n: int) -> None:
    k = n // 3
    fair, unfair = (
        solution.solution(ruin(n, *odds), np.array([k - 1]), Limits()) for odds in ((1, 1), (2, 3))
    )
    assert fair == [number(k, n + 1)]
    assert unfair == [number((3**k - 2**k) * 2 ** (n + 1 - k), 3 ** (n + 1) - 2 ** (n + 1))]


@pytest.mark.parametrize("exit_weight", [10**-6, 10**-12, 10**-15])
def test_near_singular_components_are_solved_exactly(exit_weight: float) -> None:
    weight = round(1 / exit_weight)
    n = 750
    rng = random.Random(n)
    steps = rng.sample(range(n), n)
    targets = np.array([sorted({(s + 1) % n, steps[s]} - {s}) for s in range(n)], object)
    lengths = np.array([len(row) for row in targets])
    flat = np.concatenate([np.array(row) for row in targets])
    heads = np.repeat(np.arange(n), lengths)
    share = np.array([weight // lengths[s] for s in heads], object)
    sums = np.array([share[0]] * n, object)
    for s in range(n):
        sums[s] = int(share[heads == s].sum())
    constants = np.array([int(s == 0) for s in range(n)])
    losses = np.array([int(s == n // 2) for s in range(n)])
    system = System(
        Graph(indptr_of(lengths), flat.astype(np.int64)),
        weight_array(share.tolist()),
        weight_array((sums + constants + losses).tolist()),
        weight_array(constants.tolist()),
    )
    asked = np.array([3, 500])
    expected = eliminated(system)
    assert solution.solution(system, asked, Limits()) == [expected[3], expected[500]]


def test_lifted_bounds_enclose_the_values() -> None:
    system = ruin(900, 2, 3)
    asked = np.array([10, 450, 880])
    values = solution.solution(system, asked, Limits())
    bounds = dixon_lifting.lifted_bounds(system, asked, 80, Limits())
    for value, (low, high) in zip(values, bounds, strict=True):
        assert low <= value <= high
        assert (high - low) * 2**79 <= 1


@pytest.mark.parametrize("n", [9, 70, 200])
def test_weights_of_forty_bits_are_lifted(n: int) -> None:
    rng = random.Random(n)
    system = random_system(rng, n, "one component", digits=11)
    assert system.denominators.max() >> 36
    expected, asked = eliminated(system), np.arange(0, n, 7)
    values = dixon_lifting.lifted_values(system, asked, Limits())
    assert values == [expected[s] for s in asked.tolist()]
    for value, (low, high) in zip(
        values, dixon_lifting.lifted_bounds(system, asked, 80, Limits()), strict=True
    ):
        assert low <= value <= high
        assert (high - low) * 2**79 <= 1


def test_long_constants_enter_a_lifted_system_from_the_top() -> None:
    system = ruin(60, 2, 3)
    shifted = System(
        system.graph,
        system.numerators,
        system.denominators,
        weight_array([b * (10**90 + 7 * s) for s, b in enumerate(system.constants.tolist())]),
    )
    expected = eliminated(shifted)
    asked = np.arange(60)
    assert dixon_lifting.lifted_values(shifted, asked, Limits()) == expected


def test_a_wrong_denominator_is_never_proved() -> None:
    system = ruin(300, 2, 3)
    lifted = dixon_lifting.LiftedSystem(system, Limits())
    digits = dixon_lifting._Digits([], [], [], [], [])
    for digit in lifted.digits(Limits()):
        dixon_lifting._keep(digits, digit, np.array([5]))
        if digit.total > 3000:
            break
    right = dixon_lifting._proved_denominator(lifted, digits, 3**301 - 2**301, Limits())
    assert right == 3**301 - 2**301
    for wrong in (3**301 - 2**301 - 2, (3**301 - 2**301) // 7919, 12345):
        found = dixon_lifting._proved_denominator(lifted, digits, wrong, Limits())
        assert found is None or found % right == 0


@pytest.mark.parametrize("bits", [-5, dixon_lifting.EXTRA_BITS, 200])
def test_the_distance_from_integers_is_never_underestimated(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any factor q, against the exact values; a margin left out is seen in some state.

    What lies beyond all digits is most of it where fewer bits are asked for, rounding where more.
    """
    monkeypatch.setattr(dixon_lifting, "EXTRA_BITS", bits)
    n = 300
    lifted = dixon_lifting.LiftedSystem(ruin(n, 2, 3), Limits())
    digits = dixon_lifting._Digits([], [], [], [], [])
    for digit in lifted.digits(Limits()):
        dixon_lifting._keep(digits, digit, np.array([5]))
        if digit.total > 2000:
            break
    below = 3 ** (n + 1) - 2 ** (n + 1)
    for q in (1, 12345, 3**200 + 1, below, below // 7919):
        distances, _ = dixon_lifting._distances(lifted, digits, q, Limits())
        assert distances is not None
        for k in range(1, n + 1):
            value = Fraction(q * (3**k - 2**k) * 2 ** (n + 1 - k), below)
            assert Fraction(float(distances[k - 1])) >= abs(value - round(value))


def test_a_fraction_near_the_digits_is_no_value_while_another_is_as_near() -> None:
    """The first convergents are short ones that digits do not tell from the value."""
    n = 60
    system = ruin(n, 2, 3)
    lifted = dixon_lifting.LiftedSystem(system, Limits())
    asked = np.arange(n)
    expected, digits = eliminated(system), dixon_lifting._Digits([], [], [], [], [])
    n_refused = 0
    for digit in lifted.digits(Limits()):
        dixon_lifting._keep(digits, digit, asked)
        try:
            found = dixon_lifting._values_by_determinant(lifted, digits, asked)
        except dixon_lifting.IllConditioned:
            n_refused += 1
            continue
        assert found == expected
        break
    assert n_refused > 1


def test_a_sum_of_distances_of_one_proves_nothing() -> None:
    lifted = dixon_lifting.LiftedSystem(ruin(50, 2, 3), Limits())
    largest = float((lifted._sizes @ np.ones(50)).max())
    for factor in (1.0, 1 - 2.0**-52):
        assert not lifted.row_sums_below_one(np.full(50, factor / largest))


@pytest.mark.parametrize("n_stored", [0, 1, 7, 20])
def test_digits_that_did_not_fit_in_memory_are_computed_again(
    n_stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, k = 300, 100
    monkeypatch.setattr(dixon_lifting, "STORED_DIGITS_LIMIT", n * 8 * n_stored)
    found = dixon_lifting.lifted_values(ruin(n, 2, 3), np.array([k - 1]), Limits())
    assert found == [number((3**k - 2**k) * 2 ** (n + 1 - k), 3 ** (n + 1) - 2 ** (n + 1))]


def test_a_circle_of_links_is_no_tree() -> None:
    circle = System(
        Graph(np.array([0, 1, 2, 3]), np.array([1, 2, 0])),
        np.array([1, 1, 1]),
        np.array([2, 2, 2]),
        np.array([1, 0, 0]),
    )
    assert forest(circle, np.array([0])) is None


def random_forest(rng: random.Random, n: int, largest: int, bushiness: float) -> System:
    """Return trees of long paths; some links go one way only, some are given in two parts."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for s in range(1, n):
        t = s - 1 if rng.random() > bushiness else rng.randrange(s)
        for source, target in ((s, t), (t, s)):
            for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 1, 2))):
                rows[source].append((target, rng.randint(1, largest)))
        if rng.random() < 0.2:
            rows[s].append((s, rng.randint(1, largest)))
    for row in rows:
        rng.shuffle(row)
    constants = [rng.choice((0, rng.randint(1, largest))) for _ in range(n)]
    return System(
        Graph(
            indptr_of(np.array([len(row) for row in rows])),
            np.array([t for r in rows for t, _ in r]),
        ),
        weight_array([w for row in rows for _, w in row]),
        weight_array([sum(w for _, w in r) + b + 1 for r, b in zip(rows, constants, strict=True)]),
        weight_array(constants),
    )


@pytest.mark.parametrize("shortest", [2, 16])
@pytest.mark.parametrize("bushiness", [0.0, 0.03, 0.2])
@pytest.mark.parametrize("largest", [1, 100, 2**29, 2**40, 10**50])
def test_paths_of_trees_are_solved_in_halves_as_state_by_state(
    largest: int, bushiness: float, shortest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "SHORTEST_PATH", shortest)
    rng = random.Random(f"{largest} {bushiness}")
    for n in (17, 18, 120):
        system = random_forest(rng, n, largest, bushiness)
        wanted = np.array(sorted(rng.sample(range(n), rng.choice((1, 2, 5)))))
        values = eliminated(system)
        assert by_trees(system, wanted, Limits()) == [values[s] for s in wanted.tolist()]


@pytest.mark.parametrize("part", ["numerators", "denominators", "constants"])
def test_paths_are_solved_whatever_array_holds_objects(part: str) -> None:
    """Small numbers stand in an array of objects where another row of the chain has long ones."""
    line = ruin(200, 2**20 - 3, 2**20 + 1)
    mixed = replace(line, **{part: getattr(line, part).astype(object)})
    wanted = np.array([50])
    assert by_trees(mixed, wanted, Limits()) == [eliminated(line)[50]]


def test_the_states_of_a_long_line_are_not_taken_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, wanted = 3_000, np.array([1_500, 1_501])
    one_by_one: list[int] = []
    eliminated_state = trees._eliminated

    def counted(rows: trees._Rows, s: int, *others: Any) -> trees._Triple:
        one_by_one.append(s)
        return eliminated_state(rows, s, *others)

    monkeypatch.setattr(trees, "_eliminated", counted)
    line = ruin(n, 2, 3)
    found = forest(line, wanted)
    assert found is not None
    values = tree_solution(line, found, wanted, Limits())
    assert values == solution.solution(line, wanted, Limits())
    assert len(one_by_one) < 10


def test_ten_thousand_states_on_a_line_are_solved_without_lifting() -> None:
    start = time.process_time()
    (fair,) = solution.solution(ruin(10_000, 1, 1), np.array([4999]), Limits())
    assert fair == number(5000, 10_001)
    assert time.process_time() - start < 2


def test_bounds_of_a_deep_chain_do_not_wait_for_its_exact_values() -> None:
    n = 30_000
    graph = Graph(np.minimum(np.arange(n + 1), n - 1), np.arange(1, n))
    weights = np.full(n - 1, n - 1), np.full(n, n), np.ones(n, np.int64)
    start = time.process_time()
    asked = np.array([0])
    ((low, high),) = solution.solution_bounds(System(graph, *weights), asked, 100, Limits())
    assert 0 < (high - low) * 2**100 <= 1
    assert low * 10**15 < 10**15 * (1 - number((n - 1) ** n, n**n)) < high * 10**15
    assert time.process_time() - start < 2


def block_system(rng: random.Random, sizes: list[int], leak: int) -> System:
    """Return strong components of the given sizes, each entering those after it; weights 1."""
    targets: list[int] = []
    lengths, denominators, constants = [], [], []
    n = sum(sizes)
    first = 0
    for size in sizes:
        for s in range(first, first + size):
            row = {first + (s - first + 1) % size, first + rng.randrange(size)}
            row |= {rng.randrange(first + size, n)} if first + size < n else set()
            row -= {s}
            lengths.append(len(row))
            targets.extend(sorted(row))
            denominators.append(leak * (len(row) + 1))
            constants.append(rng.randrange(2))
        first += size
    numerators = [leak] * len(targets)
    return System(
        Graph(indptr_of(np.array(lengths)), np.array(targets, np.int64)),
        np.array(numerators, np.int64),
        np.array(denominators, np.int64),
        np.array(constants, np.int64),
    )


@pytest.mark.parametrize("profile", [1e9, 0])
def test_guesses_solve_every_mixture_of_components(
    profile: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With no profile allowed, large components are iterated.
    monkeypatch.setattr(float_solves, "CHEAP_PROFILE", profile)
    rng = random.Random(1)
    for sizes in ([1] * 50, [3, 1, 80, 2, 2, 60, 1], [100], [5] * 30, [70, 70]):
        system = block_system(rng, sizes, 3)
        matrix = scipy.sparse.diags(
            [system.denominators.astype(np.float64)], [0]
        ) - scipy.sparse.csr_matrix(
            (system.numerators, system.graph.targets, system.graph.indptr),
            (system.n_states, system.n_states),
        )
        matrix = matrix.tocsr().astype(np.float64)
        right = np.array([rng.random() for _ in range(system.n_states)])
        solution = float_solves.float_solve(matrix, Limits())(right, Limits())
        assert np.abs(matrix @ solution - right).max() < 1e-9


def test_a_component_is_factored_where_iterations_converge_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n, factored, made = 400, float_solves._factored, []
    monkeypatch.setattr(
        float_solves, "_factored", lambda *given: made.append(1) or factored(*given)
    )
    off = scipy.sparse.diags([np.ones(n - 1), np.ones(n - 1)], [1, -1])
    for diagonal, n_made in ((3.0, 0), (2.0, 1)):
        matrix = (scipy.sparse.diags([np.full(n, diagonal)], [0]) - off).tocsr()
        right = np.random.default_rng(5).random(n)
        found = float_solves._iterated(matrix, 0, Limits())(right, Limits())
        assert np.abs(matrix @ found - right).max() < 1e-6
        assert len(made) == n_made


def test_incomplete_factors_lead_iterations_that_converge_slowly() -> None:
    n = 100
    line = scipy.sparse.diags([np.ones(n - 1), np.ones(n - 1)], [1, -1])
    one = scipy.sparse.identity(n)
    off = scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line)
    matrix = (scipy.sparse.identity(n * n) * 4.0 - off).tocsr()
    right = np.random.default_rng(5).random(n * n)
    found = float_solves._iterated(matrix, 1e10, Limits())(right, Limits())
    assert np.abs(matrix @ found - right).max() < 1e-6


def test_iterations_mind_the_deadline() -> None:
    n = 2_000
    off = scipy.sparse.diags([np.ones(n - 1), np.ones(n - 1)], [1, -1])
    matrix = (scipy.sparse.diags([np.full(n, 2.1)], [0]) - off).tocsr()
    late = Limits(deadline=time.monotonic() - 1, timeout=1)
    with pytest.raises(LimitReached, match="iterations"):
        float_solves._iterated(matrix, 0, late)(np.ones(n), late)


def test_guesses_are_kept_for_the_same_equations_of_one_chain() -> None:
    def matrix(n: int, diagonal: float) -> Any:
        off = scipy.sparse.diags([np.ones(n - 1), np.ones(n - 1)], [1, -1])
        return (scipy.sparse.diags([np.full(n, diagonal)], [0]) - off).tocsr()

    home, other = ruin(3, 1, 1).graph, ruin(3, 1, 1).graph
    first = float_solves.kept_float_solve(matrix(50, 2.5), home, Limits())
    assert float_solves.kept_float_solve(matrix(50, 2.5), home, Limits()) is first
    assert float_solves.kept_float_solve(matrix(50, 2.5), other, Limits()) is not first
    assert float_solves.kept_float_solve(matrix(50, 2.5), None, Limits()) is not first
    for changed in (matrix(50, 2.25), matrix(51, 2.5)):
        right = np.ones(changed.shape[0])
        found = float_solves.kept_float_solve(changed, home, Limits())(right, Limits())
        assert np.abs(changed @ found - right).max() < 1e-9


def test_claims_with_other_labels_share_what_is_known_of_a_graph() -> None:
    report = check_text("""
      chain line {
        state s[k in 0..900]
        for k in 1..899 { s[k] -> 1/2: s[k+1] + 1/4: s[k-1] + 1/4: s[(7*k) mod 900] }
        s[0] -> 1: s[0]
        s[900] -> 1: s[900]
        adjacent s[k] ~ s[l] where k = 450 & l = 451
      }
      check line: D{ln 2} [ F s[0] ]
      check line: D{ln 2} [ F s[900] ]
      refute line: D{0} [ F s[0] ]
    """)
    assert verdicts(report) == ["holds", "holds", "violated"]


def test_many_small_components_in_a_deep_order_are_enclosed_in_seconds() -> None:
    rng = random.Random(2)
    system = block_system(rng, [4] * 5_000, 1)
    began = time.process_time()
    (bounds,) = solution.solution_bounds(system, np.array([0]), 64, Limits())
    assert time.process_time() - began < 5
    assert 0 <= bounds[0] < bounds[1] <= 1
    assert bounds[1] - bounds[0] <= number(1, 2**64)


def test_the_deadline_does_not_wait_for_a_factorization() -> None:
    is_over = threading.Event()

    def long() -> None:
        is_over.wait(60)

    began = time.monotonic()
    with pytest.raises(LimitReached, match="factoring"):
        float_solves._interruptible(long, Limits(deadline=began + 0.1, timeout=0.1), "factoring")
    assert time.monotonic() - began < 30
    is_over.set()


def test_what_goes_wrong_in_a_thread_is_raised_where_it_is_awaited() -> None:
    def failing() -> None:
        raise RuntimeError("singular")

    with pytest.raises(RuntimeError, match="singular"):
        float_solves._interruptible(failing, Limits(), "factoring")
