"""Which instances belong to the benchmark, smallest first within a family."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from benchmarks.families.maximum import noisy_max
from benchmarks.families.noise import geometric
from benchmarks.families.response import randomized_response, response_count
from benchmarks.families.samplers import bernoulli_sampler, laplace_sampler
from benchmarks.families.shapes import deep, layered, wide
from benchmarks.families.threshold import (
    above_threshold,
    above_threshold_forever,
    above_threshold_list,
    above_threshold_release,
)
from benchmarks.families.walks import grid, ruin
from benchmarks.instances import Instance

HALF, TWO_FIFTHS, FIFTH = Fraction(1, 2), Fraction(2, 5), Fraction(1, 5)

SUITE: dict[str, Callable[[], Instance]] = {
    "geometric-50": partial(geometric, 50),
    "geometric-200": partial(geometric, 200),
    "geometric-1000": partial(geometric, 1000),
    "above-threshold-20x20": partial(above_threshold, 20, 20),
    "above-threshold-20x100": partial(above_threshold, 20, 100),
    "above-threshold-forever-20": partial(above_threshold_forever, 20),
    "above-threshold-release-20": partial(above_threshold_release, 20),
    "randomized-response-8": partial(randomized_response, 8),
    "randomized-response-10": partial(randomized_response, 10),
    "randomized-response-12": partial(randomized_response, 12),
    "response-count-1000": partial(response_count, 1000),
    "noisy-max-4x10": partial(noisy_max, 4, 10),
    "noisy-max-5x10": partial(noisy_max, 5, 10),
    "noisy-max-4x20": partial(noisy_max, 4, 20),
    "noisy-max-6x10": partial(noisy_max, 6, 10),
    "noisy-max-5x20": partial(noisy_max, 5, 20),
    "noisy-max-6x20": partial(noisy_max, 6, 20),
    "ruin-1-2-1000": partial(ruin, 1000, HALF),
    "ruin-2-5-1000": partial(ruin, 1000, TWO_FIFTHS),
    "ruin-1-2-10000": partial(ruin, 10_000, HALF),
    "ruin-2-5-10000": partial(ruin, 10_000, TWO_FIFTHS),
    "grid-50x50": partial(grid, 50),
    "grid-100x100": partial(grid, 100),
    "grid-300x300": partial(grid, 300),
    "grid-exact-50x50": partial(grid, 50, is_value=True),
    "grid-exact-100x100": partial(grid, 100, is_value=True),
    "grid-exact-300x300": partial(grid, 300, is_value=True),
    "bernoulli-sampler-1001": partial(bernoulli_sampler, 1001),
    "laplace-sampler-50": partial(laplace_sampler, 50),
    "deep-100000": partial(deep, 100_000),
    "wide-1000000": partial(wide, 1000),
    "layered-100000x10": partial(layered, 100_000, 10),
}

# The grid of ExactDP: every randomized response with flip 1/5, every short list of queries.
for n in range(2, 13):
    SUITE[f"exactdp-response-{n}"] = partial(randomized_response, n, FIFTH)
for n in range(16, 23):
    SUITE[f"exactdp-response-pair-{n}"] = partial(randomized_response, n, FIFTH, is_one_pair=True)
for length in range(2, 7):
    for high in range(1, 4):
        SUITE[f"above-threshold-list-{length}x{high}"] = partial(above_threshold_list, length, high)

# The same families, so small that every number can be compared; not timed.
SMALL: dict[str, Callable[[], Instance]] = {
    "geometric-4": partial(geometric, 4),
    "above-threshold-2x3": partial(above_threshold, 2, 3),
    "above-threshold-forever-3": partial(above_threshold_forever, 3),
    "above-threshold-release-3": partial(above_threshold_release, 3),
    "randomized-response-3": partial(randomized_response, 3),
    "exactdp-response-pair-3": partial(randomized_response, 3, FIFTH, is_one_pair=True),
    "response-count-40": partial(response_count, 40),
    "noisy-max-3x2": partial(noisy_max, 3, 2),
    "ruin-1-2-10": partial(ruin, 10, HALF),
    "ruin-2-5-10": partial(ruin, 10, TWO_FIFTHS),
    "grid-6x6": partial(grid, 6),
    "grid-exact-5x5": partial(grid, 5, is_value=True),
    "bernoulli-sampler-11": partial(bernoulli_sampler, 11),
    "laplace-sampler-4": partial(laplace_sampler, 4),
    "deep-20": partial(deep, 20),
    "wide-16": partial(wide, 4),
    "layered-8x3": partial(layered, 8, 3),
    "above-threshold-list-3x1": partial(above_threshold_list, 3, 1),
    "above-threshold-list-2x2": partial(above_threshold_list, 2, 2),
}
