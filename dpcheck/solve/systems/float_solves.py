"""Float solutions of A x = r for a sparse M-matrix A: guesses, made into digits by `dixon_lifting`.

The strong components of A, taken in topological order, make it block triangular; each block is
solved once the blocks that it enters are, and only blocks on the diagonal cost more than a product
(Duff & Reid, ACM TOMS 1978). What serves a block depends on its shape:

- Many small components one after the other are one block, factored in their topological order:
  fill stays within their rows.
- A factorization (SuperLU, minimum degree on the pattern of A + Aᵀ, pivots on the diagonal, as A is
  diagonally dominant) is best where fill stays small: graphs that are long, or flat like a grid.
  The profile of a reverse Cuthill-McKee ordering bounds the fill without computing it (George &
  Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981).
- Where a large component is left fast, as the copies of a chain in a product mostly are, or is well
  mixed, BiCGSTAB converges in some ten products with A: it is tried first.
- What is left, as a grid of 10^6 states, gets incomplete factors (SuperLU's ILU with a drop
  tolerance: Li & Shao, ACM TOMS 2011), on which BiCGSTAB converges in some ten steps.

Measured: 100x100 grid: profile 10^6, factor 0.11 s, solve 4 ms; 300x300: 3 s and 70 ms; a band of
150,000 states and width 600, left with probability 0.1, to 200 bits: factored 5.9 s, by BiCGSTAB
0.9 s. 1000x1000 grid: profile 10^9, incomplete factors 15 s and 1.2 GB, then 10 s a solution.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from dpcheck.chain.chain import IntArray
from dpcheck.chain.graph import Graph, strong_components
from dpcheck.chain.sets import distinct
from dpcheck.limits import Limits
from dpcheck.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
else:
    FloatArray = np.ndarray

SMALL_COMPONENT = 32
"""Smaller components are factored many together, as one block."""
CHEAP_PROFILE = 4e6
"""Entries under the profile for which a factorization is over before an iteration is tried."""
MAX_PROFILE = 1.2e8
"""Entries under the profile that a factorization may fill: 1 GB of floats."""
KRYLOV_TOLERANCE = 1e-10
"""Relative residual at which an iteration ends: some 30 bits a digit."""
PLAIN_STEPS = 60
"""Steps that an iteration without factors may take."""
FACTORED_STEPS = 200
"""Steps that an iteration with incomplete factors may take."""
DROPPED_BELOW = 1e-4
"""Relative size of what incomplete factors leave out; a grid of 10^6 states is decided so."""
MAX_FILL = 20
"""Bounds incomplete factors: so many entries for one of the matrix."""
HEARING_INTERVAL = 0.05
"""Seconds between two looks at the clock while a thread factors."""


class IllConditioned(Exception):
    """Floats are no guide here: another backend has to solve the system."""


FloatSolve = Callable[[FloatArray, Limits], FloatArray]
"""Maps r to an approximation of A⁻¹ r, within limits."""


_kept: WeakKeyDictionary[Graph, tuple[Any, FloatSolve]] = WeakKeyDictionary()


def kept_float_solve(matrix: Any, home: Graph | None, limits: Limits) -> FloatSolve:  # noqa: ANN401
    """Return `float_solve(matrix)`, made anew only where the last matrix of its home was another.

    Formulas about one chain often have the same equations but for the constants.
    """
    last = None if home is None else _kept.get(home)
    if last is not None and _is_same(last[0], matrix):
        return last[1]
    found = float_solve(matrix, limits)
    if home is not None:
        _kept[home] = matrix, found
    return found


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401
    """Return whether two matrices in scipy CSR form are equal, entry by entry."""
    return all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("indptr", "indices", "data")
    )


def float_solve(matrix: Any, limits: Limits) -> FloatSolve:  # noqa: ANN401
    """Return a function that maps r to an approximation of A⁻¹ r; A is in scipy CSR form."""
    graph = Graph(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
    component, count = strong_components(graph)
    if count == 1:
        return _one_block(matrix, limits)
    # Components that others enter have smaller numbers: from the last to the first, A is upper
    # triangular.
    order = np.argsort(-component, kind="stable")
    ordered = matrix[order][:, order].tocsr()
    sizes = np.bincount(component, minlength=count)[::-1]
    blocks = [_block(ordered, first, end, limits) for first, end in _cut(sizes)]

    def solve(right: FloatArray, limits: Limits) -> FloatArray:
        shuffled, found = right[order], np.empty(len(right))
        for block in reversed(blocks):
            limits.check_time(f"guessing the values of {len(right)} states")
            here = shuffled[block.first : block.end]
            if block.beyond is not None:
                here = here - block.beyond @ found[block.end :]
            found[block.first : block.end] = block.solve(here, limits)
        result = np.empty(len(right))
        result[order] = found
        return result

    return solve


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows first .. end-1 of a block triangular matrix.

    beyond: their entries from column `end` on, None if there are none; solve: for those before.
    """

    first: int
    end: int
    beyond: Any
    solve: FloatSolve


def _cut(sizes: IntArray) -> list[tuple[int, int]]:
    """Return the blocks (first, end): each large component, and what lies between two of them.

    >>> _cut(np.array([1, 2, 50, 1, 60, 70]))
    [(0, 3), (3, 53), (53, 54), (54, 114), (114, 184)]
    """
    ends = np.cumsum(sizes)
    large = np.flatnonzero(sizes > SMALL_COMPONENT)
    cuts = np.concatenate(([0], ends[large] - sizes[large], ends[large], ends[-1:]))
    return list(pairwise(distinct(cuts).tolist()))


def _block(ordered: Any, first: int, end: int, limits: Limits) -> _Block:  # noqa: ANN401
    rows = ordered[first:end]
    diagonal, beyond = rows[:, first:end].tocsr(), rows[:, end:].tocsr()
    graph = Graph(diagonal.indptr.astype(np.int64), diagonal.indices.astype(np.int64))
    small = strong_components(graph)[1] > 1 or end - first <= SMALL_COMPONENT
    solve = _factored(diagonal, "NATURAL", limits) if small else _one_block(diagonal, limits)
    return _Block(first, end, beyond if beyond.nnz else None, solve)


def _one_block(matrix: Any, limits: Limits) -> FloatSolve:  # noqa: ANN401
    """Return guesses for a strongly connected matrix."""
    limits.check_time(f"before factoring a component of {matrix.shape[0]} states")
    profile = _profile(matrix)
    if profile <= CHEAP_PROFILE:
        return _factored(matrix, "MMD_AT_PLUS_A", limits)
    return _iterated(matrix, profile, limits)


def fill_bound(graph: Graph) -> float:
    """Return how many entries lie between the first of a row and the diagonal, over all rows.

    The matrix has the graph's edges and a full diagonal, rows and columns in reverse Cuthill-McKee
    order; the fill of each triangular factor is at most that.
    """
    from scipy.sparse import csr_matrix, identity

    n = graph.n_states
    ones = np.ones(len(graph.targets), np.int8)
    return _profile(csr_matrix((ones, graph.targets, graph.indptr), (n, n)) + identity(n, np.int8))


def _profile(matrix: Any) -> float:  # noqa: ANN401
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    pattern = (abs(matrix) + abs(matrix.T)).tocsr()
    order = reverse_cuthill_mckee(pattern, symmetric_mode=True)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    # The diagonal is never empty, so no row is.
    first = np.minimum.reduceat(place[pattern.indices], pattern.indptr[:-1])
    return float((place - first).sum())


def _factored(matrix: Any, order: str, limits: Limits) -> FloatSolve:  # noqa: ANN401
    from scipy.sparse.linalg import splu

    def factor() -> Any:  # noqa: ANN401
        return splu(
            matrix.tocsc(), permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    try:
        factors: Any = _interruptible(factor, limits, f"factoring {matrix.shape[0]} equations")
    except RuntimeError as singular:
        raise IllConditioned from singular

    def solve(right: FloatArray, _limits: Limits) -> FloatArray:
        solution: FloatArray = factors.solve(right)
        return solution

    return solve


def _interruptible(work: Callable[[], Any], limits: Limits, progress: str) -> Any:  # noqa: ANN401
    """Return what the work returns; the deadline and an interrupt end the wait, not the work.

    One call of SuperLU may take seconds, in which Python hears nothing; it runs in a thread.
    """
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def answer() -> None:
        try:
            answers.put((work(), None))
        except BaseException as failure:  # noqa: BLE001 - raised again where it is awaited
            answers.put((None, failure))

    Thread(target=answer, daemon=True).start()
    while True:
        with suppress(Empty):
            result, failure = answers.get(timeout=HEARING_INTERVAL)
            if failure is not None:
                raise failure
            return result
        limits.check_time(progress)


def _iterated(matrix: Any, profile: float, limits: Limits) -> FloatSolve:  # noqa: ANN401
    """Return guesses by Krylov iterations, on factors where they converge slowly."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import LinearOperator

    scaling = diags([1.0 / matrix.diagonal()], [0])
    scaled = (scaling @ matrix).tocsr()

    def solver(inverse: Any, n_steps: int) -> FloatSolve:  # noqa: ANN401
        return lambda right, limits: _krylov(scaled, scaling @ right, inverse, n_steps, limits)[0]

    ones = np.ones(matrix.shape[0])
    if _krylov(scaled, scaling @ ones, None, PLAIN_STEPS, limits)[1]:
        return solver(None, PLAIN_STEPS)
    if profile <= MAX_PROFILE:
        return _factored(matrix, "MMD_AT_PLUS_A", limits)
    factors = _incomplete_factors(scaled, limits)
    return solver(LinearOperator(matrix.shape, factors.solve), FACTORED_STEPS)


def _krylov(
    matrix: Any,  # noqa: ANN401
    right: FloatArray,
    inverse: Any,  # noqa: ANN401
    n_steps: int,
    limits: Limits,
) -> tuple[FloatArray, bool]:
    """Return an approximation x [n_states] of `matrix` x = right, and whether it converged.

    By the stabilized bi-conjugate gradient (van der Vorst, 1992), with an approximate inverse.
    """
    from scipy.sparse.linalg import bicgstab

    def tick(_: object) -> None:
        limits.check_time(f"iterations for {matrix.shape[0]} states")

    found, failed = bicgstab(
        matrix, right, rtol=KRYLOV_TOLERANCE, maxiter=n_steps, M=inverse, callback=tick
    )
    return found, not failed


def _incomplete_factors(matrix: Any, limits: Limits) -> Any:  # noqa: ANN401
    """Return LU factors of a scipy matrix without their small entries; raises `IllConditioned`."""
    from scipy.sparse.linalg import spilu

    def factored() -> Any:  # noqa: ANN401
        return spilu(
            matrix.tocsc(),
            drop_tol=DROPPED_BELOW,
            fill_factor=MAX_FILL,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    progress = f"incomplete factors of {matrix.shape[0]} equations"
    try:
        return _interruptible(factored, limits, progress)
    except RuntimeError as singular:
        raise IllConditioned from singular
