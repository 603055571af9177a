"""Which instances belong to the benchmark, smallest first within a family."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from benchmarks.families import (
    Instance,
    above_threshold,
    above_threshold_forever,
    above_threshold_list,
    bernoulli_sampler,
    deep,
    geometric,
    grid,
    laplace_sampler,
    layered,
    noisy_max,
    randomized_response,
    response_count,
    ruin,
    wide,
)

SUITE: dict[str, Callable[[], Instance]] = {
    "geometric-50": partial(geometric, 50),
    "geometric-200": partial(geometric, 200),
    "geometric-1000": partial(geometric, 1000),
    "above-threshold-20x20": partial(above_threshold, 20, 20),
    "above-threshold-20x100": partial(above_threshold, 20, 100),
    "above-threshold-forever-20": partial(above_threshold_forever, 20),
    "randomized-response-8": partial(randomized_response, 8),
    "randomized-response-10": partial(randomized_response, 10),
    "randomized-response-12": partial(randomized_response, 12),
    "response-count-1000": partial(response_count, 1000),
    "noisy-max-4x10": partial(noisy_max, 4, 10),
    "noisy-max-5x10": partial(noisy_max, 5, 10),
    "noisy-max-6x10": partial(noisy_max, 6, 10),
    "noisy-max-4x20": partial(noisy_max, 4, 20),
    "ruin-1-2-1000": partial(ruin, 1000, Fraction(1, 2)),
    "ruin-2-5-1000": partial(ruin, 1000, Fraction(2, 5)),
    "ruin-1-2-10000": partial(ruin, 10_000, Fraction(1, 2)),
    "ruin-2-5-10000": partial(ruin, 10_000, Fraction(2, 5)),
    "grid-50x50": partial(grid, 50, is_tight=False),
    "grid-100x100": partial(grid, 100, is_tight=False),
    "grid-300x300": partial(grid, 300, is_tight=False),
    "grid-exact-50x50": partial(grid, 50, is_tight=True),
    "grid-exact-100x100": partial(grid, 100, is_tight=True),
    "bernoulli-sampler-1001": partial(bernoulli_sampler, 1001),
    "laplace-sampler-50": partial(laplace_sampler, 50),
    "deep-100000": partial(deep, 100_000),
    "wide-1000000": partial(wide, 1000),
    "layered-100000x10": partial(layered, 100_000, 10),
}

# The grid of ExactDP: every randomized response with flip 1/5, every short list of queries.
for n in range(2, 13):
    SUITE[f"exactdp-response-{n}"] = partial(randomized_response, n, Fraction(1, 5))
for n in range(16, 23, 2):
    SUITE[f"exactdp-response-pair-{n}"] = partial(
        randomized_response, n, Fraction(1, 5), is_one_pair=True
    )
for length in range(2, 7):
    for high in range(1, 4):
        SUITE[f"above-threshold-list-{length}x{high}"] = partial(above_threshold_list, length, high)
