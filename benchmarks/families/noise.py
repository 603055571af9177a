"""Two-sided geometric noise, clamped to a range; and the truncated geometric mechanism."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from benchmarks.instances import (
    Instance,
    Query,
    adjacent_numbers,
    prism_choice,
    prism_program,
    prism_start,
)

HALF = Fraction(1, 2)


def clamped_geometric(center: int, alpha: Fraction, n: int) -> list[Fraction]:
    """Return the probabilities of 0..n: those of center plus noise, the tails on the bounds."""
    scale = (1 - alpha) / (1 + alpha)
    row = [scale * alpha ** abs(value - center) for value in range(n + 1)]
    row[0] = alpha**center / (1 + alpha)
    row[n] = alpha ** (n - center) / (1 + alpha)
    return row


def prism_geometric(center: str, alpha: Fraction, n: int, update: Callable[[int], str]) -> str:
    """Return the branches of one command that draws from 0..n around a variable.

    The probabilities are expressions in the center: one command for all centers, which Storm reads
    and builds several times faster than one command a center with numbers.
    """
    edge, scale = 1 / (1 + alpha), (1 - alpha) / (1 + alpha)
    weights = [
        f"{edge}*pow({alpha},{center})",
        *(f"{scale}*pow({alpha},max({center}-{v},{v}-{center}))" for v in range(1, n)),
        f"{edge}*pow({alpha},{n}-{center})",
    ]
    return prism_choice((weight, update(v)) for v, weight in enumerate(weights))


def prism_reached(center: str, alpha: Fraction, least: str) -> str:
    """Return the probability that clamped noise around a variable is at least another variable."""
    edge = 1 / (1 + alpha)
    above = f"{edge}*pow({alpha},{least}-{center})"
    below = f"1-{edge}*pow({alpha},{center}-{least}+1)"
    return f"({least}<=0 ? 1 : ({least}>{center} ? {above} : {below}))"


def geometric(n: int) -> Instance:
    """Return all inputs, all outputs, all neighboring pairs of the mechanism on 0..n."""
    draw = prism_geometric("x", HALF, n, lambda y: f"(phase'=1)&(x'=0)&(y'={y})")
    return Instance(
        family="geometric",
        size=str(n),
        model=f"""mechanism m {{
  input x in 0..{n}
  adjacent abs(x - x') <= 1
  y ~ geometric(x, 1/2) clamped 0..{n}
  output y
}}
""",
        claim=lambda bound: f"check m: epsilon = ln {bound}",
        prism=prism_program(
            ["phase : [-1..1]", f"x : [0..{n}]", f"y : [0..{n}]"],
            [*prism_start("phase", [("x", n)]), f"phase=0 -> {draw}", "phase=1 -> true"],
            "phase=0",
        ),
        queries=lambda: (Query(f"X output = {y}", {"phase": 1, "y": y}) for y in range(n + 1)),
        variables=("x",),
        start="x = {0}",
        neighbors=lambda: adjacent_numbers(n),
        bound=Fraction(2),
        is_tight=True,
        is_all_ends=True,
    )
