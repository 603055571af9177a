"""Noisy max: which of several noisy counts is the largest."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from benchmarks.families.noise import HALF, prism_geometric, prism_reached
from benchmarks.instances import (
    Instance,
    Query,
    Valuation,
    prism_choice,
    prism_program,
    prism_start,
)


def count_pairs(m: int, bound: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs of count vectors where one count differs by one."""
    for counts in product(range(bound + 1), repeat=m):
        for i in range(m):
            if counts[i] < bound:
                yield counts, (*counts[:i], counts[i] + 1, *counts[i + 1 :])


def noisy_max(m: int, bound: int) -> Instance:
    """Return noisy max: the first index of the largest of m noisy counts; one changes by one.

    In the PRISM program `least` is one more than the best count so far: what the next one has to
    reach. A count is forgotten once it was used; the last one only wins or does not.
    """
    draws = [
        f"i={i - 1} -> "
        + prism_geometric(
            f"x{i}",
            HALF,
            bound,
            lambda v, i=i: (
                f"(i'={i})&(x{i}'=0)&(least'=max(least,{v + 1}))&(winner'=least<={v}?{i}:winner)"
            ),
        )
        for i in range(1, m)
    ]
    choose = prism_start("i", ((f"x{i}", bound) for i in range(1, m + 1)))
    wins = prism_reached(f"x{m}", HALF, "least")
    beyond = f"(least>{bound} ? 0 : {wins})"
    end = f"(i'={m})&(x{m}'=0)&(least'=0)"
    last = prism_choice([(beyond, f"{end}&(winner'={m})"), (f"1-{beyond}", end)])
    return Instance(
        family="noisy-max",
        size=f"{m}x{bound}",
        model=f"""mechanism m {{
  input x[1..{m}] in 0..{bound}
  adjacent l1(x, x') <= 1
  best := -1
  winner := 0
  for i in 1..{m} {{
    noisy ~ geometric(x[i], 1/2) clamped 0..{bound}
    if noisy > best {{ best := noisy; winner := i }}
  }}
  output winner
}}
""",
        claim=lambda bound: f"check m: epsilon = ln({bound})",
        prism=prism_program(
            [
                f"i : [{-m}..{m}]",
                *(f"x{i} : [0..{bound}]" for i in range(1, m + 1)),
                *(f"least : [0..{bound + 1}]", f"winner : [0..{m}]"),
            ],
            [*choose, *draws, f"i={m - 1} -> {last}", f"i={m} -> true"],
            "i=0",
        ),
        queries=lambda: (Query(f"X output = {w}", {"i": m, "winner": w}) for w in range(1, m + 1)),
        variables=tuple(f"x{i}" for i in range(1, m + 1)),
        start=" & ".join(f"x[{i}] = {{{i - 1}}}" for i in range(1, m + 1)),
        neighbors=lambda: count_pairs(m, bound),
        bound=Fraction(2),
        is_tight=True,
    )
