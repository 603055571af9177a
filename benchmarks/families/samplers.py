"""Samplers that use fair coins only, and loop until they have what they want."""

from __future__ import annotations

from fractions import Fraction

from benchmarks.families.noise import HALF
from benchmarks.instances import (
    Instance,
    Query,
    adjacent_numbers,
    prism_choice,
    prism_program,
    prism_start,
)


def bernoulli_sampler(n: int) -> Instance:
    """Return Bernoulli(1/n) by rejection, then used as one randomized response."""
    bits = (n - 1).bit_length()
    return Instance(
        family="bernoulli-sampler",
        size=str(n),
        model=f"""mechanism m {{
  input x in 0..1
  adjacent all
  value := {n}
  while value >= {n} {{
    value := 0
    repeat {bits} {{
      coin ~ bernoulli(1/2)
      value := 2 * value + (if coin then 1 else 0)
    }}
  }}
  output if value = 0 then x else 1 - x
}}
""",
        claim=lambda bound: f"check m: epsilon = ln({bound})",
        prism=prism_program(
            ["x : [0..1]", f"i : [0..{bits}]", f"value : [0..{2**bits}]", "y : [0..2]"],
            [
                f"y=2 & i<{bits} -> "
                + prism_choice((HALF, f"(i'=i+1)&(value'=2*value+{coin})") for coin in (0, 1)),
                f"y=2 & i={bits} & value>={n} -> (i'=0)&(value'=0)",
                f"y=2 & i={bits} & value<{n} -> (y'=value=0?x:1-x)&(value'=0)&(i'=0)&(x'=0)",
                "y<2 -> true",
            ],
            "i=0 & value=0 & y=2",
            "i=0 & value=0 & y=2",
        ),
        queries=lambda: [Query(f"X output = {y}", {"y": y}) for y in (0, 1)],
        variables=("x",),
        start="x = {0}",
        neighbors=lambda: [((0,), (1,))],
        bound=Fraction(n - 1),
        is_tight=True,
        is_all_ends=True,
    )


def laplace_sampler(n: int) -> Instance:
    """Return two-sided 1/2-geometric noise on x in 0..n, drawn from fair coins, clamped to 0..n.

    Coins until tails give the size, one more the sign; minus zero is drawn again. A size of n or
    more lands on the bound from everywhere, so counting stops there.
    """
    end = "(phase'=2)&(x'=0)&(size'=0)"
    return Instance(
        family="laplace-sampler",
        size=str(n),
        model=f"""mechanism m {{
  input x in 0..{n}
  adjacent abs(x - x') <= 1
  size := 0
  minus := true
  while size = 0 & minus {{
    coin ~ bernoulli(1/2)
    while coin & size < {n} {{
      size := size + 1
      coin ~ bernoulli(1/2)
    }}
    minus ~ bernoulli(1/2)
  }}
  output clamp(if minus then x - size else x + size, 0, {n})
}}
""",
        claim=lambda bound: f"check m: epsilon = ln({bound})",
        prism=prism_program(
            ["phase : [-1..2]", f"x : [0..{n}]", f"size : [0..{n}]", f"y : [0..{n}]"],
            [
                *prism_start("phase", [("x", n)]),
                f"phase=0 & size<{n} -> 1/2:(size'=size+1) + 1/2:(phase'=1)",
                f"phase=0 & size={n} -> (phase'=1)",
                f"phase=1 & size=0 -> 1/2:(phase'=0) + 1/2:{end}&(y'=x)",
                "phase=1 & size>0 -> "
                + prism_choice(
                    (HALF, f"{end}&(y'={y})") for y in (f"min(x+size,{n})", "max(x-size,0)")
                ),
                "phase=2 -> true",
            ],
            "phase=0 & size=0",
        ),
        queries=lambda: (Query(f"X output = {y}", {"phase": 2, "y": y}) for y in range(n + 1)),
        variables=("x",),
        start="x = {0}",
        neighbors=lambda: adjacent_numbers(n),
        bound=Fraction(2),
        is_tight=True,
        is_all_ends=True,
        modules=("dpcheck.chain.contraction.forward",),
    )
