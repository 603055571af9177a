"""Chains of extreme shapes: deep and narrow, wide and shallow."""

from __future__ import annotations

from fractions import Fraction

from benchmarks.instances import Instance, Query, adjacent_numbers, prism_choice, prism_program


def deep(n: int) -> Instance:
    """Return a narrow chain of n steps; the first step's odds to drop out depend on the start."""
    return Instance(
        family="deep",
        size=str(n),
        model=f"""chain deep {{
  state start[b in 0..1]
  state a[k in 1..{n}]
  state out : dropped
  for b in 0..1 {{ start[b] -> ({n - 1} - b)/{n}: a[1] + (1 + b)/{n}: out }}
  for k in 1..{n - 1} {{ a[k] -> {n - 1}/{n}: a[k+1] + 1/{n}: out }}
  a[{n}] -> 1: a[{n}]
  out -> 1: out
  adjacent start[b] ~ start[c] where b != c
}}
""",
        claim=lambda bound: f"check deep: D{{ln({bound})}} [ F dropped ]",
        prism=prism_program(
            [f"k : [0..{n}]", "b : [0..1]", "dropped : [0..1]"],
            [
                f"dropped=0 & k<{n} -> "
                + prism_choice(
                    [
                        (f"({n - 1}-b)/{n}", "(k'=k+1)&(b'=0)"),
                        (f"(1+b)/{n}", "(dropped'=1)&(k'=0)&(b'=0)"),
                    ]
                ),
                f"dropped=1 | k={n} -> true",
            ],
            "k=0 & dropped=0",
            "k=0 & dropped=0",
        ),
        queries=lambda: [Query("F dropped", {"dropped": 1})],
        variables=("b",),
        start="start[{0}]",
        neighbors=lambda: [((0,), (1,))],
        bound=Fraction(2),
    )


def wide(m: int) -> Instance:
    """Return a mechanism with m*m outputs, the first part of which depends on the input.

    Two of the outputs are asked for, one of each kind: a query for every output is more than Storm
    could answer in hours, and the million states are what this job is about.
    """
    total = m + m // 2
    draw = prism_choice(
        (f"(s={i % 2} ? 2 : 1)/{total}", f"(phase'=1)&(s'=0)&(a'={i})") for i in range(m)
    )
    more = prism_choice((f"1/{m}", f"(phase'=2)&(b'={j})") for j in range(m))
    return Instance(
        family="wide",
        size=str(m * m),
        model=f"""mechanism m {{
  input s in 0..1
  adjacent all
  a ~ {{i: (if i mod 2 = s then 2 else 1)/{total} for i in 0..{m - 1}}}
  b ~ uniform(0..{m - 1})
  output {m} * a + b
}}
""",
        claim=lambda bound: "\n".join(
            f"check m: D{{ln({bound})}} [ X output = {m * a} ]" for a in (0, 1)
        ),
        prism=prism_program(
            ["phase : [0..2]", "s : [0..1]", f"a : [0..{m - 1}]", f"b : [0..{m - 1}]"],
            [f"phase=0 -> {draw}", f"phase=1 -> {more}", "phase=2 -> true"],
            "phase=0",
            "phase=0 & a=0 & b=0",
        ),
        queries=lambda: [
            Query(f"X output = {m * a}", {"phase": 2, "a": a, "b": 0}) for a in (0, 1)
        ],
        variables=("s",),
        start="s = {0}",
        neighbors=lambda: [((0,), (1,))],
        bound=Fraction(2),
        is_tight=True,
    )


def layered(width: int, depth: int) -> Instance:
    """Return an explicit chain of `depth` layers of `width` states, as wide as it is shallow.

    A state goes straight on, to its left or to its right; at the end a state of the left half says
    `left` with probability 2/3, one of the right half with 1/3. Any two states side by side of the
    first layer are neighbors.
    """
    half = width // 2
    part = max(d for d in range(1, width + 1) if width % d == 0 and d * d <= width)
    choose = [
        "i=-1 -> " + prism_choice((f"1/{part}", f"(i'=0)&(k'={j})") for j in range(part)),
        "i=0 -> "
        + prism_choice(
            (f"{part}/{width}", f"(i'=1)&(k'={part}*{j}+k)") for j in range(width // part)
        ),
    ]
    return Instance(
        family="layered",
        size=f"{width}x{depth}",
        model=f"""chain layered {{
  state c[i in 1..{depth}, k in 0..{width - 1}]
  state left
  state right
  for k in 0..{width - 1} {{
    for i in 1..{depth - 1} {{
      c[i, k] -> 1/2: c[i+1, k] + 1/3: c[i+1, max(k-1, 0)] + 1/6: c[i+1, min(k+1, {width - 1})]
    }}
    if k < {half} {{ c[{depth}, k] -> 2/3: left + 1/3: right }}
    else {{ c[{depth}, k] -> 1/3: left + 2/3: right }}
  }}
  left -> 1: left
  right -> 1: right
  adjacent c[i, k] ~ c[j, l] where i = 1 & j = 1 & l = k + 1
}}
""",
        claim=lambda bound: f"check layered: D{{ln({bound})}} [ F left ]",
        prism=prism_program(
            [f"i : [-1..{depth + 2}]", f"k : [0..{width - 1}]"],
            [
                *choose,
                f"i>0 & i<{depth} -> "
                + prism_choice(
                    [
                        ("1/2", "(i'=i+1)"),
                        ("1/3", "(i'=i+1)&(k'=max(k-1,0))"),
                        ("1/6", f"(i'=i+1)&(k'=min(k+1,{width - 1}))"),
                    ]
                ),
                f"i={depth} -> "
                + prism_choice(
                    [
                        (f"(k<{half} ? 2 : 1)/3", f"(i'={depth + 1})&(k'=0)"),
                        (f"(k<{half} ? 1 : 2)/3", f"(i'={depth + 2})&(k'=0)"),
                    ]
                ),
                f"i>{depth} -> true",
            ],
            "i=1",
        ),
        queries=lambda: [Query("F left", {"i": depth + 1})],
        variables=("k",),
        start="c[1, {0}]",
        neighbors=lambda: adjacent_numbers(width - 1),
        bound=Fraction(2),
    )
