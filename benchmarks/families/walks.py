"""Walks that are one large strongly connected component: gambler's ruin, and a grid."""

from __future__ import annotations

from fractions import Fraction

from benchmarks.instances import Instance, Query, prism_choice, prism_program


def ruin(n: int, up: Fraction) -> Instance:
    """Return gambler's ruin on 0..n from the two middle states: who is ruined, who wins."""
    down = 1 - up
    middle = n // 2
    return Instance(
        family=f"ruin-{up.numerator}-{up.denominator}",
        size=str(n),
        model=f"""chain ruin {{
  state s[k in 0..{n}]
  for k in 1..{n - 1} {{ s[k] -> {up}: s[k+1] + {down}: s[k-1] }}
  s[0] -> 1: s[0]
  s[{n}] -> 1: s[{n}]
  adjacent s[k] ~ s[l] where k = {middle} & l = {middle + 1}
  init s[{middle}], s[{middle + 1}]
}}
""",
        claim=lambda bound: "\n".join(
            f"check ruin: D{{ln({bound})}} [ F s[{end}] ]" for end in (n, 0)
        ),
        prism=prism_program(
            [f"k : [0..{n}]"],
            [f"k>0 & k<{n} -> {up}:(k'=k+1) + {down}:(k'=k-1)", f"k=0 | k={n} -> true"],
            f"k={middle} | k={middle + 1}",
            f"k={middle} | k={middle + 1}",
        ),
        queries=lambda: [Query(f"F s[{end}]", {"k": end}) for end in (n, 0)],
        variables=("k",),
        start="s[{0}]",
        neighbors=lambda: [((middle,), (middle + 1,))],
        bound=ruin_ratio(n, up, middle),
        is_tight=True,
    )


def ruin_ratio(n: int, up: Fraction, k: int) -> Fraction:
    """Return the largest ratio between the ends' probabilities from k and from k+1."""
    r = (1 - up) / up

    def wins(start: int) -> Fraction:
        return Fraction(start, n) if r == 1 else (1 - r**start) / (1 - r**n)

    p, q = wins(k), wins(k + 1)
    return max(q / p, (1 - p) / (1 - q))


def grid(n: int, *, is_value: bool = False) -> Instance:
    """Return a walk on an n x n grid that ends at one of four labelled corners.

    Neighbors are two states in the middle, and the claims are about every corner; with `is_value`
    the job is the exact probability of one corner instead.
    """
    middle, last = n // 2, n - 1
    corners = [(x, y) for x in (0, last) for y in (0, last)]
    if is_value:
        corners = corners[:1]
    corner = f"((x=0 | x={last}) & (y=0 | y={last}))"
    return Instance(
        family="grid",
        size=f"exact-{n}x{n}" if is_value else f"{n}x{n}",
        model=f"""chain walk {{
  state c[x in 0..{last}, y in 0..{last}]
  for x in 0..{last} {{
    for y in 0..{last} {{
      if (x = 0 | x = {last}) & (y = 0 | y = {last}) {{ c[x, y] -> 1: c[x, y] }}
      else {{
        c[x, y] -> 1/4: c[max(x - 1, 0), y] + 1/4: c[min(x + 1, {last}), y]
                 + 1/4: c[x, max(y - 1, 0)] + 1/4: c[x, min(y + 1, {last})]
      }}
    }}
  }}
  adjacent c[x, y] ~ c[z, y] where x = {middle} & z = {middle + 1} & y = {middle}
}}
""",
        claim=lambda bound: (
            f"compute walk at c[{middle}, {middle}] : P=? [ F c[0, 0] ]"
            if is_value
            else "\n".join(f"check walk: D{{ln({bound})}} [ F c[{x}, {y}] ]" for x, y in corners)
        ),
        prism=prism_program(
            [f"x : [0..{last}]", f"y : [0..{last}]"],
            [
                f"!{corner} -> "
                + prism_choice(
                    ("1/4", f"({variable}'={beside})")
                    for variable in ("x", "y")
                    for beside in (f"max({variable}-1,0)", f"min({variable}+1,{last})")
                ),
                f"{corner} -> true",
            ],
            f"(x={middle} | x={middle + 1}) & y={middle}",
            f"(x={middle} | x={middle + 1}) & y={middle}",
        ),
        queries=lambda: [Query(f"F c[{x}, {y}]", {"x": x, "y": y}) for x, y in corners],
        variables=("x", "y"),
        start="c[{0}, {1}]",
        neighbors=lambda: [((middle, middle), (middle + 1, middle))],
        bound=Fraction(2),
        is_value=is_value,
        modules=("scipy.sparse.csgraph", "scipy.sparse.linalg"),
    )
