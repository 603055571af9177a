"""Long compositions beside dp_accounting: the same losses, the same grid, one run.

    python -m benchmarks.compositions [NAME ...] [--most K]

For each composition: the bounds on ε(δ) that `compute` prints, with the CPU time of the whole
answer (reading to enclosure); on the last grid that it used, dp_accounting's pessimistic and
optimistic ε and its connect-the-dots estimate, an upper bound as ours is, with their CPU time from
the losses on. dp_accounting computes in floats. Ends with status 1 where our upper end is above its
pessimistic one by more than floats are wrong, or our lower end above the connected dots.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from dp_accounting.pld import pld_pmf, privacy_loss_distribution

import dpcheck
from dpcheck.check.quantities import grid_bounds
from dpcheck.exact.number import ball

MODELS = """
mechanism subsampled_gaussian(q = 1/100) {
  input x in 0..1
  adjacent all
  s ~ bernoulli(q)
  y ~ gaussian(if s then x else 0, 7/8) conditioned -12..13
  output y
}
mechanism gaussian_10 {
  input x in 0..1
  adjacent all
  y ~ gaussian(x, 199/200) conditioned -80..81
  output y
}
mechanism survey_mix {
  input x in 0..1
  adjacent all
  w ~ bernoulli(1/2)
  y ~ bernoulli(if w then (if x = 1 then 11/20 else 9/20) else (if x = 1 then 13/25 else 12/25))
  output (w, y)
}
mechanism sampled_count(n = 3, q = 1/4) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  c ~ binomial(x, q)
  y ~ geometric(c, 1/2) clamped 0..n
  output y
}
mechanism exp_count {
  input x in 0..10
  adjacent abs(x - x') <= 1
  y ~ geometric(x, exp(-1/10)) clamped 0..10
  output y
}
"""

CASES = {
    "subsampled_gaussian": "1e-5",
    "gaussian_10": "1e-6",
    "survey_mix": "1e-5",
    "sampled_count": "1e-5",
    "exp_count": "1e-6",
}
TIMES = (10, 100, 1000, 10_000)
FLOATS_ARE_WRONG = 1e-6
"""Relative; dp_accounting's tails of 1e-15 matter where δ is not far above them."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    times: int
    cells: tuple[str, ...]
    is_right: bool


def rows(names: list[str], most: int) -> Iterator[Row]:
    """Yield a row a composition, measured now."""
    for name in names:
        for times in TIMES:
            if times <= most:
                yield row(name, times, CASES[name])


def row(name: str, times: int, delta: str) -> Row:
    """Return what both find out about one composition."""
    grids = []
    made = grid_bounds.GridLosses.of

    def noted(*given, **how):  # the last grid is the one that the answer comes from
        grids.append(made(*given, **how))
        directions.append(given[0])
        return grids[-1]

    directions: list = []
    grid_bounds.GridLosses.of = noted
    started = time.process_time()
    (answer,) = dpcheck.loads(MODELS).ask(f"compute compose({name}, {times}): epsilon({delta})")
    seconds = time.process_time() - started
    grid_bounds.GridLosses.of = made
    amount = answer.outcome.verdict.amount
    low, high = map(float, amount.enclosure or (amount.decimal, amount.decimal))
    if not grids:
        return Row(name, times, (f"{high:.9g}", "exact", f"{seconds:.2f}", *"------"), True)
    step = grids[-1].first_step
    used = [parts for parts, grid in zip(directions, grids, strict=True) if grid.first_step == step]
    theirs = accounting([parts[0][0] for parts in used], times, float(step), float(delta))
    pessimistic, dots = theirs[0][0], theirs[2][0]
    slack = 1 + FLOATS_ARE_WRONG
    is_right = high <= pessimistic * slack and low <= dots * slack
    shown = [f"{value:.9g}" for value, _ in theirs]
    spent = [f"{spent:.2f}" for _, spent in theirs]
    width = f"{(high - low) / high:.1e}"
    ours = (f"{low:.9g} .. {high:.9g}", width, f"{seconds:.2f}")
    points = max(grid.most_points for grid in grids)
    cells = (*ours, f"{step} ({points:,})", *shown, " / ".join(spent))
    return Row(name, times, cells, is_right)


def accounting(losses, times: int, step: float, delta: float) -> list[tuple[float, float]]:
    """Return dp_accounting's ε, pessimistic, optimistic and by connected dots, with CPU seconds.

    The largest over all directions that dpcheck looked at on the last grid.
    """
    sides = [
        [(as_log(each.p), as_log(each.q)) for each in one.losses]
        + [(as_log(p), -math.inf) for p in [one.p_only] if p != 0]
        + [(-math.inf, as_log(q)) for q in [one.q_only] if q != 0]
        for one in losses
    ]
    found = []
    for estimate in (pessimistic, optimistic, connected_dots):
        started = time.process_time()
        values = [estimate(side, times, step, delta) for side in sides]
        found.append((max(values), time.process_time() - started))
    return found


def as_log(number) -> float:
    """Return the logarithm of an exact number."""
    return float(ball(number, 128).log().mid()) if number != 0 else -math.inf


def pessimistic(side, times: int, step: float, delta: float, *, is_upper: bool = True) -> float:
    """Return dp_accounting's upper ε by rounding losses up; its lower one by rounding down."""
    p = {i: x for i, (x, _) in enumerate(side) if x > -math.inf}
    q = {i: y for i, (_, y) in enumerate(side) if y > -math.inf}
    one = privacy_loss_distribution.from_two_probability_mass_functions(
        q,
        p,
        pessimistic_estimate=is_upper,
        value_discretization_interval=step,
        symmetric=True,
    )
    return one.self_compose(times).get_epsilon_for_delta(delta)


def optimistic(side, times: int, step: float, delta: float) -> float:
    """Return dp_accounting's lower ε."""
    return pessimistic(side, times, step, delta, is_upper=False)


def connected_dots(side, times: int, step: float, delta: float) -> float:
    """Return dp_accounting's upper ε by connecting dots of the privacy profile."""
    p, q = (np.exp([pair[i] for pair in side]) for i in (0, 1))
    finite = [x - y for x, y in side if math.isfinite(x - y)]
    places = np.arange(math.floor(min(finite) / step) - 1, math.ceil(max(finite) / step) + 2)
    deltas = np.array([np.maximum(0, p - math.exp(j * step) * q).sum() for j in places])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, places, deltas)
    one = privacy_loss_distribution.PrivacyLossDistribution(pmf)
    return one.self_compose(times).get_epsilon_for_delta(delta)


HEAD = (
    "composition",
    "runs",
    "ε by dpcheck",
    "width",
    "CPU s",
    "step (points)",
    "dp_accounting pessimistic",
    "optimistic",
    "connect the dots",
    "CPU s",
)


def main() -> int:
    """Print the table as Markdown; return the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", choices=[*CASES, []])
    options.add_argument("--most", type=int, default=TIMES[-1])
    given = options.parse_args()
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "|".join(["---", *["--:"] * (len(HEAD) - 1)]) + "|")
    is_right = True
    for each in rows(given.names or list(CASES), given.most):
        print(f"| {each.name} | {each.times} | " + " | ".join(each.cells) + " |", flush=True)
        is_right &= each.is_right
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
