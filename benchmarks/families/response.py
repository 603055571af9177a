"""Randomized response: a vector of flipped bits, and many users seen as a count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import comb

from benchmarks.instances import Instance, Query, Valuation, prism_choice, prism_program

LEAST_FLOAT = 1e-300


def bit_pairs(n: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs of bit vectors of length n that differ in one place."""
    for bits in product((0, 1), repeat=n):
        for i in range(n):
            if bits[i] == 0:
                yield bits, (*bits[:i], 1, *bits[i + 1 :])


def answers(n: int) -> Iterator[Query]:
    """Yield every vector of n answers."""
    for bits in product((0, 1), repeat=n):
        shown = " & ".join(f"output[{j}] = {bit}" for j, bit in enumerate(bits, start=1))
        kept = {f"x{j}": bit for j, bit in enumerate(bits, start=1)}
        yield Query(f"X ({shown})", {"i": n} | kept)


def randomized_response(
    n: int, flip: Fraction = Fraction(1, 4), *, is_one_pair: bool = False
) -> Instance:
    """Return n bits, each flipped with some probability, seen as one vector.

    All vectors and their neighbors, or the pair 10...0 and 00...0 alone. The PRISM program flips
    the bits where they stand: nothing of a bit is remembered but its answer.
    """
    keep = 1 - flip
    bits = range(1, n + 1)
    if is_one_pair:
        given = "input x in 0..1\n  adjacent all"
        bit, start = "(if i = 1 then x else 0)", "x = {0}"
    else:
        given = f"input x[1..{n}] in 0..1\n  adjacent hamming(x, x') <= 1"
        bit, start = "x[i]", " & ".join(f"x[{i}] = {{{i - 1}}}" for i in bits)
    family = "randomized-response" if flip == Fraction(1, 4) else "exactdp-response"
    zeros = (0,) * (n - 1)
    return Instance(
        family=f"{family}-pair" if is_one_pair else family,
        size=str(n),
        model=f"""mechanism m {{
  {given}
  var y[1..{n}] := 0
  for i in 1..{n} {{
    y[i] ~ {{{bit}: {keep}, 1 - {bit}: {flip}}}
  }}
  output y
}}
""",
        claim=lambda bound: f"check m: epsilon = ln({bound})",
        prism=prism_program(
            [f"i : [0..{n}]", *(f"x{i} : [0..1]" for i in bits)],
            [
                *(f"i={i - 1} -> {keep}:(i'={i}) + {flip}:(i'={i})&(x{i}'=1-x{i})" for i in bits),
                f"i={n} -> true",
            ],
            "i=0",
            "i=0" + "".join(f" & x{i}=0" for i in bits[1:]) if is_one_pair else "true",
        ),
        queries=lambda: answers(n),
        variables=tuple(f"x{i}" for i in bits),
        start=start,
        neighbors=lambda: iter([((0, *zeros), (1, *zeros))]) if is_one_pair else bit_pairs(n),
        bound=keep / flip,
        is_tight=True,
        is_all_ends=True,
    )


def response_count(n: int) -> Instance:
    """Return n randomized responses seen as a count of `yes`, for two neighboring true counts.

    Those who would truly say it and those who lie are drawn one after the other, in both languages.
    Storm's floats get decimals: its parser of floats takes no number of 600 digits and none below
    the least normal float; such results of a draw are left out there.
    """
    low = n // 2

    def exact(users: int, weight: int) -> str:
        return f"{weight}.0*pow(1/4,{users})"

    def decimal(users: int, weight: int) -> str | None:
        value = float(Fraction(weight, 4**users))
        return repr(value) if value > LEAST_FLOAT else None

    def program(number: Callable[[int, int], str | None]) -> str:
        commands = []
        for yes in (low, low + 1):
            for phase, users, odds in ((0, yes, (1, 3)), (1, n - yes, (3, 1))):
                after = f"(phase'={phase + 1})" + (f"&(x'={low})" if phase else "")
                weights = enumerate(binomial_weights(users, *odds))
                numbers = ((value, number(users, weight)) for value, weight in weights)
                draw = prism_choice((p, f"{after}&(y'=y+{value})") for value, p in numbers if p)
                commands.append(f"phase={phase} & x={yes} -> {draw}")
        return prism_program(
            ["phase : [0..2]", f"x : [{low}..{low + 1}]", f"y : [0..{n}]"],
            [*commands, "phase=2 -> true"],
            "phase=0",
            "phase=0 & y=0",
        )

    return Instance(
        family="response-count",
        size=str(n),
        model=f"""mechanism m {{
  input x in {low}..{low + 1}
  adjacent abs(x - x') <= 1
  truthful ~ binomial(x, 3/4)
  lying ~ binomial({n} - x, 1/4)
  output truthful + lying
}}
""",
        claim=lambda bound: f"check m: epsilon = ln({bound})",
        prism=program(exact),
        prism_floats=program(decimal),
        queries=lambda: (Query(f"X output = {y}", {"phase": 2, "y": y}) for y in range(n + 1)),
        variables=("x",),
        start="x = {0}",
        neighbors=lambda: iter([((low,), (low + 1,))]),
        bound=Fraction(3),
        is_tight=True,
        is_all_ends=True,
        modules=("dpcheck.chain.contraction.forward",),
    )


def binomial_weights(users: int, no: int, yes: int) -> list[int]:
    """Return (no + yes)^users Pr[0..users answers `yes`], by the odds of an answer.

    >>> binomial_weights(2, 1, 3)
    [1, 6, 9]
    """
    return [comb(users, k) * yes**k * no ** (users - k) for k in range(users + 1)]
