"""Above threshold (the sparse vector technique): noisy answers until one reaches a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product

from benchmarks.families.noise import HALF, clamped_geometric, prism_geometric, prism_reached
from benchmarks.instances import (
    Instance,
    Query,
    Valuation,
    prism_choice,
    prism_program,
    prism_start,
)

QUARTER = Fraction(1, 4)


def opening(n: int, private: Iterable[str]) -> list[str]:
    """Return the commands that choose the inputs, and trade the threshold for a noisy one."""
    draw = prism_geometric("t", QUARTER, n, lambda v: f"(phase'=1)&(t'=0)&(noisy'={v})")
    return [
        *prism_start("phase", ((name, n) for name in (*private, "t"))),
        f"phase=0 -> {draw}",
    ]


def sequences(k: int) -> Iterator[Query]:
    """Yield what can be seen: `top` after fewer than k answers `bot`, or k times `bot`."""
    path = "X top"
    for i in range(k):
        yield Query(path, {"phase": 2, "i": i})
        path = f"X (bot & {path})"
    path = "X bot"
    for _ in range(k - 1):
        path = f"X (bot & {path})"
    yield Query(path, {"phase": 1, "i": k})


def above_threshold(n: int, k: int) -> Instance:
    """Return k queries that all equal the database d in 0..n, public t, stop at `top`."""
    reached = prism_reached("d", HALF, "noisy")
    over = f"(i'=i+1)&(d'=i<{k - 1}?d:0)&(noisy'=i<{k - 1}?noisy:0)"
    ask = prism_choice([(reached, "(phase'=2)&(d'=0)&(noisy'=0)"), (f"1-{reached}", over)])
    return Instance(
        family="above-threshold",
        size=f"{n}x{k}",
        model=f"""mechanism m {{
  input d in 0..{n}
  public t in 0..{n}
  adjacent abs(d - d') <= 1
  noisy ~ geometric(t, 1/4) clamped 0..{n}
  for i in 1..{k} {{
    answer ~ geometric(d, 1/2) clamped 0..{n}
    if answer >= noisy {{ output top; stop }}
    output bot
  }}
}}
""",
        claim=lambda bound: f"check m: epsilon = ln({bound})",
        prism=prism_program(
            [
                *("phase : [-2..2]", f"d : [0..{n}]", f"t : [0..{n}]"),
                *(f"noisy : [0..{n}]", f"i : [0..{k}]"),
            ],
            [
                *opening(n, ["d"]),
                *(f"phase=1 & i<{k} -> {ask}", f"phase=1 & i={k} -> true", "phase=2 -> true"),
            ],
            "phase=0",
        ),
        queries=lambda: sequences(k),
        variables=("d", "t"),
        start="d = {0} & t = {1}",
        neighbors=lambda: data_pairs(n),
        bound=Fraction(2) ** k,
        is_tight=True,
        modules=("dpcheck.chain.weights.products",),
    )


def data_pairs(n: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs where the database changes by one and the threshold is the same."""
    for d in range(n):
        for t in range(n + 1):
            yield (d, t), (d + 1, t)


# --- queries without end ---------------------------------------------------------------------


def forever_model(n: int, shown: str) -> str:
    """Return the mechanism that asks until the threshold is reached, and then shows something."""
    return f"""mechanism m {{
  input d in 0..{n}
  public t in 0..{n}
  adjacent abs(d - d') <= 1
  noisy ~ geometric(t, 1/4) clamped 0..{n}
  while true {{
    answer ~ geometric(d, 1/2) clamped 0..{n}
    if answer >= noisy {{ output {shown}; stop }}
    output bot
  }}
}}
"""


def above_threshold_forever(n: int) -> Instance:
    """Return queries without end; the claim is that all d agree on whether `top` ever comes."""
    reached = prism_reached("d", HALF, "noisy")
    ask = prism_choice([(reached, "(phase'=2)&(d'=0)&(noisy'=0)"), (f"1-{reached}", "true")])
    return Instance(
        family="above-threshold-forever",
        size=str(n),
        model=forever_model(n, "top"),
        claim=lambda bound: f"check m: D{{ln {bound}}} [ F top ]",
        prism=prism_program(
            ["phase : [-2..2]", f"d : [0..{n}]", f"t : [0..{n}]", f"noisy : [0..{n}]"],
            [*opening(n, ["d"]), f"phase=1 -> {ask}", "phase=2 -> true"],
            "phase=0",
        ),
        queries=lambda: [Query("F top", {"phase": 2})],
        variables=("d", "t"),
        start="d = {0} & t = {1}",
        neighbors=lambda: data_pairs(n),
        bound=Fraction(1),
        is_tight=True,
    )


def above_threshold_release(n: int) -> Instance:
    """Return queries without end that close with the noisy answer that reached the threshold.

    The answer v comes last with probability sum_w Pr[noisy = w] Pr[answer = v] / Pr[answer >= w]
    over the w <= v: each loop is a geometric series. The bound is the largest ratio of these sums.
    """
    draw = prism_geometric(
        "d",
        HALF,
        n,
        lambda v: (
            f"(phase'=noisy<={v}?2:1)&(y'=noisy<={v}?{v}:0)"
            f"&(d'=noisy<={v}?0:d)&(noisy'=noisy<={v}?0:noisy)"
        ),
    )
    return Instance(
        family="above-threshold-release",
        size=str(n),
        model=forever_model(n, "answer"),
        claim=lambda bound: f"check m: forall(v in 0..{n} : D{{ln({bound})}} [ F output = v ])",
        prism=prism_program(
            [
                *("phase : [-2..2]", f"d : [0..{n}]", f"t : [0..{n}]"),
                *(f"noisy : [0..{n}]", f"y : [0..{n}]"),
            ],
            [*opening(n, ["d"]), f"phase=1 -> {draw}", "phase=2 -> true"],
            "phase=0",
        ),
        queries=lambda: (Query(f"F output = {v}", {"phase": 2, "y": v}) for v in range(n + 1)),
        variables=("d", "t"),
        start="d = {0} & t = {1}",
        neighbors=lambda: data_pairs(n),
        bound=release_bound(n),
        is_tight=True,
    )


def release_bound(n: int) -> Fraction:
    """Return the largest ratio of the probabilities that an answer comes last."""
    answers = [clamped_geometric(d, HALF, n) for d in range(n + 1)]
    thresholds = [clamped_geometric(t, QUARTER, n) for t in range(n + 1)]
    last = {}
    for d, t in product(range(n + 1), repeat=2):
        factor, at_least = Fraction(0), Fraction(1)
        for v in range(n + 1):
            factor += thresholds[t][v] / at_least
            last[d, t, v] = answers[d][v] * factor
            at_least -= answers[d][v]
    ratios = (
        last[d, t, v] / last[d + 1, t, v]
        for d, t, v in product(range(n), range(n + 1), range(n + 1))
    )
    return max(max(ratio, 1 / ratio) for ratio in ratios)


# --- lists of queries ------------------------------------------------------------------------


def list_pairs(length: int, high: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs of lists, with a threshold, where no item differs by more than one."""
    for first in product(range(high + 1), repeat=length):
        near = [range(max(v - 1, 0), min(v + 1, high) + 1) for v in first]
        for second in product(*near):
            if first < second:
                for t in range(high + 1):
                    yield (*first, t), (*second, t)


def above_threshold_list(length: int, high: int) -> Instance:
    """Return lists of queries over 0..high that may all change by one, public threshold.

    An item is forgotten once it has been asked, and all of them at `top`.
    """
    asks = []
    for i in range(1, length + 1):
        reached = prism_reached(f"q{i}", HALF, "noisy")
        forget = "".join(f"&(q{j}'=0)" for j in range(i, length + 1))
        top = f"(phase'=2)&(noisy'=0){forget}"
        over = f"(i'={i})&(q{i}'=0)" + ("&(noisy'=0)" if i == length else "")
        asks.append(
            f"phase=1 & i={i - 1} -> {prism_choice([(reached, top), (f'1-{reached}', over)])}"
        )
    items = [f"q{i}" for i in range(1, length + 1)]
    return Instance(
        family="above-threshold-list",
        size=f"{length}x{high}",
        model=f"""mechanism m {{
  input q[1..{length}] in 0..{high}
  public t in 0..{high}
  adjacent linf(q, q') <= 1
  noisy ~ geometric(t, 1/4) clamped 0..{high}
  for i in 1..{length} {{
    answer ~ geometric(q[i], 1/2) clamped 0..{high}
    if answer >= noisy {{ output top; stop }}
    output bot
  }}
}}
""",
        claim=lambda bound: f"check m: epsilon = ln({bound})",
        prism=prism_program(
            [
                f"phase : [{-length - 1}..2]",
                *(f"{item} : [0..{high}]" for item in items),
                *(f"t : [0..{high}]", f"noisy : [0..{high}]", f"i : [0..{length}]"),
            ],
            [*opening(high, items), *asks, f"phase=1 & i={length} -> true", "phase=2 -> true"],
            "phase=0",
        ),
        queries=lambda: sequences(length),
        variables=(*items, "t"),
        start=" & ".join(f"q[{i}] = {{{i - 1}}}" for i in range(1, length + 1))
        + f" & t = {{{length}}}",
        neighbors=lambda: list_pairs(length, high),
        bound=Fraction(2) ** length,
        is_tight=True,
        modules=("dpcheck.chain.weights.products",),
    )
