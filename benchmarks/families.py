"""The benchmark families: each instance is one job, written for dpcheck and for Storm.

An instance holds the `.dpm` text with its claim, the PRISM program with the same probabilities,
one property per output, and which initial states are neighbors. The job is the user's whole
question: is the claim `epsilon = ln E` true for every neighbor pair and every output?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Valuation = tuple[int, ...]


@dataclass(frozen=True)
class Instance:
    """One job.

    `variables` names the PRISM variables that tell initial states apart, and `neighbors` yields
    the neighboring pairs of their values. `bound` is E with `p <= E q` for every output and pair,
    None where no finite E exists. `properties` are Storm's, one per output.
    """

    family: str
    size: str
    dpm: str
    prism: str
    properties: Callable[[], Iterator[str]]
    variables: tuple[str, ...]
    neighbors: Callable[[], Iterator[tuple[Valuation, Valuation]]]
    bound: Fraction

    @property
    def name(self) -> str:
        """The name on the command line and in the table."""
        return f"{self.family}-{self.size}"


def prism_choice(branches: list[tuple[Fraction, str]]) -> str:
    """Return the right side of a PRISM command; branches of probability 0 are left out."""
    return " + ".join(f"{prism_number(p)}:{update}" for p, update in branches if p)


def prism_number(value: Fraction) -> str:
    """Return a fraction as Storm reads it exactly: integers of 64 bits and more end in `.0`."""
    parts = value.numerator, value.denominator
    return "/".join(f"{part}.0" if part >> 63 else str(part) for part in parts)


def clamped_geometric(center: int, alpha: Fraction, low: int, high: int) -> list[Fraction]:
    """Return the probabilities of low..high for two-sided geometric noise, tails on the bounds."""
    scale = (1 - alpha) / (1 + alpha)
    row = [scale * alpha ** abs(value - center) for value in range(low, high + 1)]
    row[0] = alpha ** (center - low) / (1 + alpha)
    row[-1] = alpha ** (high - center) / (1 + alpha)
    return row


def adjacent_numbers(limit: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs (k, k+1) of 0..limit."""
    for k in range(limit):
        yield (k,), (k + 1,)


# --- the truncated geometric mechanism -------------------------------------------------------


def geometric(n: int) -> Instance:
    """Return all n+1 inputs, all outputs, all neighboring pairs of the 1/2-geometric mechanism.

    The PRISM program is one command whose probabilities are expressions in x: Storm builds that
    several times faster than a table of numbers, which takes 120 MB for n = 1000.
    """
    branches = " + ".join(
        [
            "2/3*pow(1/2,x):(phase'=1)&(y'=0)",
            *(f"1/3*pow(1/2,max(x-{y},{y}-x)):(phase'=1)&(y'={y})" for y in range(1, n)),
            f"2/3*pow(1/2,{n}-x):(phase'=1)&(y'={n})",
        ]
    )
    return Instance(
        family="geometric",
        size=str(n),
        dpm=f"""mechanism m {{
  input x in 0..{n}
  adjacent abs(x - x') <= 1
  y ~ geometric(x, 1/2) clamped 0..{n}
  output y
}}
check m: epsilon = ln 2
""",
        prism=f"""dtmc
module m
  phase : [0..1];
  x : [0..{n}];
  y : [0..{n}];
  [] phase=0 -> {branches};
  [] phase=1 -> true;
endmodule
init phase=0 & y=0 endinit
""",
        properties=lambda: (f"P=? [ F (phase=1 & y={y}) ]" for y in range(n + 1)),
        variables=("x",),
        neighbors=lambda: adjacent_numbers(n),
        bound=Fraction(2),
    )


# --- above threshold -------------------------------------------------------------------------


def at_least_table(n: int) -> dict[tuple[int, int], Fraction]:
    """Return Pr[clamped 1/2-geometric noise on d reaches threshold], by (d, threshold)."""
    rows = [clamped_geometric(d, Fraction(1, 2), 0, n) for d in range(n + 1)]
    return {(d, t): sum(rows[d][t:], Fraction(0)) for d in range(n + 1) for t in range(n + 1)}


def reach_formula(value: str) -> str:
    """Return Pr[clamped 1/2-geometric noise on a value reaches `noisy`] as a PRISM expression."""
    above, below = f"2/3*pow(1/2,noisy-{value})", f"1-2/3*pow(1/2,{value}-noisy+1)"
    return f"(noisy=0 ? 1 : (noisy>{value} ? {above} : {below}))"


def above_threshold(n: int, k: int) -> Instance:
    """Return k queries that all equal the database d in 0..n, public t, stop at `top`."""
    quarter = Fraction(1, 4)
    draw = "\n".join(
        f"  [] phase=0 & t={t} -> "
        + prism_choice(
            [
                (p, f"(phase'=1)&(noisy'={v})")
                for v, p in enumerate(clamped_geometric(t, quarter, 0, n))
            ]
        )
        + ";"
        for t in range(n + 1)
    )
    reached = reach_formula("d")
    return Instance(
        family="above-threshold",
        size=f"{n}x{k}",
        dpm=f"""mechanism m {{
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
check m: dp({k} * ln 2)
""",
        prism=f"""dtmc
module m
  phase : [0..2];
  d : [0..{n}];
  t : [0..{n}];
  noisy : [0..{n}];
  i : [0..{k}];
{draw}
  [] phase=1 & i<{k} -> {reached}:(phase'=2) + 1-{reached}:(i'=i+1);
  [] phase=1 & i={k} -> true;
  [] phase=2 -> true;
endmodule
init phase=0 & noisy=0 & i=0 endinit
""",
        properties=lambda: iter(
            (
                *(f"P=? [ F (phase=2 & i={i}) ]" for i in range(k)),
                f"P=? [ F (phase=1 & i={k}) ]",
            )
        ),
        variables=("d", "t"),
        neighbors=lambda: (((d, t), (d + 1, t)) for d in range(n) for t in range(n + 1)),
        bound=Fraction(2) ** k,
    )


def above_threshold_forever(n: int) -> Instance:
    """Return queries without end; the claim is that all d agree on whether `top` ever comes."""
    quarter = Fraction(1, 4)
    draw = "\n".join(
        f"  [] phase=0 & t={t} -> "
        + prism_choice(
            [
                (p, f"(phase'=1)&(noisy'={v})")
                for v, p in enumerate(clamped_geometric(t, quarter, 0, n))
            ]
        )
        + ";"
        for t in range(n + 1)
    )
    ask = "\n".join(
        f"  [] phase=1 & d={d} & noisy={v} -> "
        + prism_choice([(p, "(phase'=2)"), (1 - p, "true")])
        + ";"
        for (d, v), p in at_least_table(n).items()
    )
    return Instance(
        family="above-threshold-forever",
        size=str(n),
        dpm=f"""mechanism m {{
  input d in 0..{n}
  public t in 0..{n}
  adjacent abs(d - d') <= 1
  noisy ~ geometric(t, 1/4) clamped 0..{n}
  while true {{
    answer ~ geometric(d, 1/2) clamped 0..{n}
    if answer >= noisy {{ output top; stop }}
    output bot
  }}
}}
check m: D{{0}} [ F top ]
""",
        prism=f"""dtmc
module m
  phase : [0..2];
  d : [0..{n}];
  t : [0..{n}];
  noisy : [0..{n}];
{draw}
{ask}
  [] phase=2 -> true;
endmodule
init phase=0 & noisy=0 endinit
""",
        properties=lambda: iter(("P=? [ F phase=2 ]",)),
        variables=("d", "t"),
        neighbors=lambda: (((d, t), (d + 1, t)) for d in range(n) for t in range(n + 1)),
        bound=Fraction(1),
    )


def list_vectors(length: int, high: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs of lists and thresholds where no item differs by more than one."""
    for first in product(range(high + 1), repeat=length):
        near = [range(max(v - 1, 0), min(v + 1, high) + 1) for v in first]
        for second in product(*near):
            if first < second:
                for t in range(high + 1):
                    yield (*first, t), (*second, t)


def above_threshold_list(length: int, high: int) -> Instance:
    """Return lists of queries over 0..high that may all change by one, public threshold."""
    quarter = Fraction(1, 4)
    draw = "\n".join(
        f"  [] phase=0 & t={t} -> "
        + prism_choice(
            [
                (p, f"(phase'=1)&(noisy'={v})")
                for v, p in enumerate(clamped_geometric(t, quarter, 0, high))
            ]
        )
        + ";"
        for t in range(high + 1)
    )
    ask = "\n".join(
        f"  [] phase=1 & i={i} & q{i + 1}={d} & noisy={v} -> "
        + prism_choice([(p, "(phase'=2)"), (1 - p, f"(i'={i + 1})")])
        + ";"
        for i in range(length)
        for (d, v), p in at_least_table(high).items()
    )
    declared = "\n".join(f"  q{i} : [0..{high}];" for i in range(1, length + 1))
    return Instance(
        family="above-threshold-list",
        size=f"{length}x{high}",
        dpm=f"""mechanism m {{
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
check m: dp({length} * ln 2)
""",
        prism=f"""dtmc
module m
  phase : [0..2];
{declared}
  t : [0..{high}];
  noisy : [0..{high}];
  i : [0..{length}];
{draw}
{ask}
  [] phase=1 & i={length} -> true;
  [] phase=2 -> true;
endmodule
init phase=0 & noisy=0 & i=0 endinit
""",
        properties=lambda: iter(
            (
                *(f"P=? [ F (phase=2 & i={i}) ]" for i in range(length)),
                f"P=? [ F (phase=1 & i={length}) ]",
            )
        ),
        variables=(*(f"q{i}" for i in range(1, length + 1)), "t"),
        neighbors=lambda: list_vectors(length, high),
        bound=Fraction(2) ** length,
    )


# --- randomized response ---------------------------------------------------------------------


def bit_vectors(n: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs of bit vectors of length n that differ in one place."""
    for bits in product((0, 1), repeat=n):
        for i in range(n):
            if bits[i] == 0:
                yield bits, (*bits[:i], 1, *bits[i + 1 :])


def answer_tests(bits: Valuation) -> list[str]:
    """Return the conditions that the answers are these bits."""
    return [f"y{j}={bit}" for j, bit in enumerate(bits, start=1)]


def randomized_response(
    n: int, flip: Fraction = Fraction(1, 4), *, is_one_pair: bool = False
) -> Instance:
    """Return n bits, each flipped with some probability, seen as one vector.

    All vectors and their neighbors, or the pair 10...0 and 00...0 alone.
    """
    keep = 1 - flip
    answers = "\n".join(
        f"  [] i={i - 1} -> {keep}:(i'={i})&(y{i}'=x{i}) + {flip}:(i'={i})&(y{i}'=1-x{i});"
        for i in range(1, n + 1)
    )
    declared = "\n".join(f"  x{i} : [0..1];\n  y{i} : [0..1];" for i in range(1, n + 1))
    fresh = " & ".join(f"y{i}=0" for i in range(1, n + 1))
    only = "".join(f" & x{i}=0" for i in range(2, n + 1)) if is_one_pair else ""
    if is_one_pair:
        given = "input x in 0..1\n  adjacent all"
        bit = "(if i = 1 then x else 0)"
    else:
        given = f"input x[1..{n}] in 0..1\n  adjacent hamming(x, x') <= 1"
        bit = "x[i]"
    family = "randomized-response" if flip == Fraction(1, 4) else "exactdp-response"
    zeros = (0,) * (n - 1)
    return Instance(
        family=f"{family}-pair" if is_one_pair else family,
        size=str(n),
        dpm=f"""mechanism m {{
  {given}
  var y[1..{n}] := 0
  for i in 1..{n} {{
    y[i] ~ {{{bit}: {keep}, 1 - {bit}: {flip}}}
  }}
  output y
}}
check m: epsilon = ln({keep / flip})
""",
        prism=f"""dtmc
module m
  i : [0..{n}];
{declared}
{answers}
  [] i={n} -> true;
endmodule
init i=0 & {fresh}{only} endinit
""",
        properties=lambda: (
            "P=? [ F ("
            + " & ".join([f"i={n}", *(f"y{j + 1}={b}" for j, b in enumerate(bits))])
            + ") ]"
            for bits in product((0, 1), repeat=n)
        ),
        variables=tuple(f"x{i}" for i in range(1, n + 1)),
        neighbors=lambda: iter([((0, *zeros), (1, *zeros))]) if is_one_pair else bit_vectors(n),
        bound=keep / flip,
    )


# --- noisy max -------------------------------------------------------------------------------


def count_vectors(m: int, bound: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs of count vectors where one count differs by one."""
    for counts in product(range(bound + 1), repeat=m):
        for i in range(m):
            if counts[i] < bound:
                yield counts, (*counts[:i], counts[i] + 1, *counts[i + 1 :])


def noisy_max(m: int, bound: int) -> Instance:
    """Return noisy max: the first index of the largest of m noisy counts; one changes by one."""
    rows = [clamped_geometric(c, Fraction(1, 2), 0, bound) for c in range(bound + 1)]
    commands = []
    for i in range(1, m + 1):
        for count in range(bound + 1):
            for best in [0] if i == 1 else range(bound + 1):
                stay = sum(rows[count][: best + 1], Fraction(0)) if i > 1 else Fraction(0)
                branches = [(stay, f"(i'={i})")] if i > 1 else []
                start = best + 1 if i > 1 else 0
                branches += [
                    (rows[count][v], f"(i'={i})&(best'={v})&(winner'={i})")
                    for v in range(start, bound + 1)
                ]
                commands.append(
                    f"  [] i={i - 1} & x{i}={count} & best={best} -> {prism_choice(branches)};"
                )
    declared = "\n".join(f"  x{i} : [0..{bound}];" for i in range(1, m + 1))
    text = "\n".join(commands)
    return Instance(
        family="noisy-max",
        size=f"{m}x{bound}",
        dpm=f"""mechanism m {{
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
check m: dp(2 * ln 2)
""",
        prism=f"""dtmc
module m
  i : [0..{m}];
{declared}
  best : [0..{bound}];
  winner : [0..{m}];
{text}
  [] i={m} -> true;
endmodule
init i=0 & best=0 & winner=0 endinit
""",
        properties=lambda: (f"P=? [ F (i={m} & winner={w}) ]" for w in range(1, m + 1)),
        variables=tuple(f"x{i}" for i in range(1, m + 1)),
        neighbors=lambda: count_vectors(m, bound),
        bound=Fraction(4),
    )


# --- many users, seen as a count -------------------------------------------------------------


def count_row(n: int, yes: int) -> list[Fraction]:
    """Return Pr[0..n answers `yes`] when so many of n users would truly say it.

    The coefficients of (1 + 3t)^yes (3 + t)^(n - yes) over 4^n.
    """
    row = [1]
    for user in range(n):
        no, aye = (1, 3) if user < yes else (3, 1)
        row = [no * a + aye * b for a, b in zip([*row, 0], [0, *row], strict=True)]
    return [Fraction(weight, 4**n) for weight in row]


def response_count(n: int) -> Instance:
    """Return n randomized responses seen as a count of `yes`, for two neighboring true counts."""
    low = n // 2
    rows = [count_row(n, yes) for yes in (low, low + 1)]
    commands = "\n".join(
        f"  [] phase=0 & x={x} -> "
        + prism_choice([(p, f"(phase'=1)&(y'={y})") for y, p in enumerate(row)])
        + ";"
        for x, row in zip((low, low + 1), rows, strict=True)
    )
    return Instance(
        family="response-count",
        size=str(n),
        dpm=f"""mechanism m {{
  input x in {low}..{low + 1}
  adjacent abs(x - x') <= 1
  truthful ~ binomial(x, 3/4)
  lying ~ binomial({n} - x, 1/4)
  output truthful + lying
}}
check m: dp(ln 3)
""",
        prism=f"""dtmc
module m
  phase : [0..1];
  x : [{low}..{low + 1}];
  y : [0..{n}];
{commands}
  [] phase=1 -> true;
endmodule
init phase=0 & y=0 endinit
""",
        properties=lambda: (f"P=? [ F (phase=1 & y={y}) ]" for y in range(n + 1)),
        variables=("x",),
        neighbors=lambda: iter([((low,), (low + 1,))]),
        bound=Fraction(3),
    )


# --- walks: one large strongly connected component --------------------------------------------


def ruin(n: int, up: Fraction) -> Instance:
    """Return gambler's ruin on 0..n from the two middle states: who is ruined, who wins."""
    down = 1 - up
    middle = n // 2
    bound = ruin_ratio(n, up, middle)
    return Instance(
        family=f"ruin-{up.numerator}-{up.denominator}",
        size=str(n),
        dpm=f"""chain ruin {{
  state s[k in 0..{n}]
  for k in 1..{n - 1} {{ s[k] -> {up}: s[k+1] + {down}: s[k-1] }}
  s[0] -> 1: s[0]
  s[{n}] -> 1: s[{n}]
  adjacent s[k] ~ s[l] where k = {middle} & l = {middle + 1}
  init s[{middle}], s[{middle + 1}]
}}
check ruin: D{{ln({bound})}} [ F s[{n}] ]
check ruin: D{{ln({bound})}} [ F s[0] ]
""",
        prism=f"""dtmc
module m
  k : [0..{n}];
  [] k>0 & k<{n} -> {up}:(k'=k+1) + {down}:(k'=k-1);
  [] k=0 | k={n} -> true;
endmodule
init k={middle} | k={middle + 1} endinit
""",
        properties=lambda: iter((f"P=? [ F k={n} ]", "P=? [ F k=0 ]")),
        variables=("k",),
        neighbors=lambda: iter([((middle,), (middle + 1,))]),
        bound=bound,
    )


def ruin_ratio(n: int, up: Fraction, k: int) -> Fraction:
    """Return the largest ratio between the ends' probabilities from k and from k+1."""
    r = (1 - up) / up

    def wins(start: int) -> Fraction:
        return Fraction(start, n) if r == 1 else (1 - r**start) / (1 - r**n)

    p, q = wins(k), wins(k + 1)
    return max(q / p, (1 - p) / (1 - q))


def grid(n: int, *, is_tight: bool) -> Instance:
    """Return a walk on an n x n grid that ends at one of four labelled corners.

    Neighbors are the two states in the middle. The claim has room (E = 2), or asks for the
    exact probability of one corner.
    """
    middle = n // 2
    last = n - 1
    claim = (
        f"compute walk at c[{middle}, {middle}] : P=? [ F c[0, 0] ]"
        if is_tight
        else "check walk: D{ln 2} [ F c[0, 0] ]"
    )
    corner = f"((x=0 | x={last}) & (y=0 | y={last}))"
    return Instance(
        family="grid-exact" if is_tight else "grid",
        size=f"{n}x{n}",
        dpm=f"""chain walk {{
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
{claim}
""",
        prism=f"""dtmc
module m
  x : [0..{last}];
  y : [0..{last}];
  [] !{corner} -> 1/4:(x'=max(x-1,0)) + 1/4:(x'=min(x+1,{last}))
                + 1/4:(y'=max(y-1,0)) + 1/4:(y'=min(y+1,{last}));
  [] {corner} -> true;
endmodule
init (x={middle} | x={middle + 1}) & y={middle} endinit
""",
        properties=lambda: iter(("P=? [ F (x=0 & y=0) ]",)),
        variables=("x", "y"),
        neighbors=lambda: iter([((middle, middle), (middle + 1, middle))]),
        bound=Fraction(2),
    )


# --- loops in samplers -----------------------------------------------------------------------


def bernoulli_sampler(n: int) -> Instance:
    """Return Bernoulli(1/n) from fair coins by rejection, then used as one randomized response."""
    bits = (n - 1).bit_length()
    return Instance(
        family="bernoulli-sampler",
        size=str(n),
        dpm=f"""mechanism m {{
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
check m: epsilon = ln {n - 1}
""",
        prism=f"""dtmc
module m
  x : [0..1];
  i : [0..{bits}];
  value : [0..{2**bits}];
  y : [0..2];
  [] y=2 & i<{bits} -> 1/2:(i'=i+1)&(value'=2*value) + 1/2:(i'=i+1)&(value'=2*value+1);
  [] y=2 & i={bits} & value>={n} -> (i'=0)&(value'=0);
  [] y=2 & i={bits} & value<{n} -> (y'=(value=0 ? x : 1-x))&(value'=0);
  [] y<2 -> true;
endmodule
init i=0 & value=0 & y=2 endinit
""",
        properties=lambda: (f"P=? [ F y={y} ]" for y in (0, 1)),
        variables=("x",),
        neighbors=lambda: iter([((0,), (1,))]),
        bound=Fraction(n - 1),
    )


def laplace_sampler(n: int) -> Instance:
    """Return two-sided 1/2-geometric noise on x in 0..n, drawn from fair coins, clamped to 0..n.

    Coins until tails give the size, one more the sign; minus zero is drawn again. A size of n or
    more lands on the bound from everywhere, so counting stops there.
    """
    return Instance(
        family="laplace-sampler",
        size=str(n),
        dpm=f"""mechanism m {{
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
check m: epsilon = ln 2
""",
        prism=f"""dtmc
module m
  phase : [0..2];
  x : [0..{n}];
  size : [0..{n}];
  y : [0..{n}];
  [] phase=0 & size<{n} -> 1/2:(size'=size+1) + 1/2:(phase'=1);
  [] phase=0 & size={n} -> (phase'=1);
  [] phase=1 & size=0 -> 1/2:(phase'=0) + 1/2:(phase'=2)&(y'=x);
  [] phase=1 & size>0 -> 1/2:(phase'=2)&(y'=min(x+size,{n}))&(size'=0)
                       + 1/2:(phase'=2)&(y'=max(x-size,0))&(size'=0);
  [] phase=2 -> true;
endmodule
init phase=0 & size=0 & y=0 endinit
""",
        properties=lambda: (f"P=? [ F (phase=2 & y={y}) ]" for y in range(n + 1)),
        variables=("x",),
        neighbors=lambda: adjacent_numbers(n),
        bound=Fraction(2),
    )


# --- shapes ----------------------------------------------------------------------------------


def deep(n: int) -> Instance:
    """Return a narrow chain of n steps; the first step's odds to drop out depend on the start."""
    return Instance(
        family="deep",
        size=str(n),
        dpm=f"""chain deep {{
  state a[k in 0..{n}]
  state b[k in 0..{n}]
  state out : dropped
  for k in 0..{n - 1} {{
    a[k] -> {n - 1}/{n}: a[k+1] + 1/{n}: out
    b[k] -> {n - 2}/{n}: a[k+1] + 2/{n}: out
  }}
  out -> 1: out
  adjacent a[k] ~ b[k] where k = 0
}}
check deep: D{{ln 2}} [ F dropped ]
""",
        prism=f"""dtmc
module m
  k : [0..{n}];
  b : [0..1];
  dropped : [0..1];
  [] dropped=0 & k<{n} & b=0 -> {n - 1}/{n}:(k'=k+1) + 1/{n}:(dropped'=1);
  [] dropped=0 & k<{n} & b=1 -> {n - 2}/{n}:(k'=k+1)&(b'=0) + 2/{n}:(dropped'=1);
  [] dropped=1 | k={n} -> true;
endmodule
init k=0 & dropped=0 endinit
""",
        properties=lambda: iter(("P=? [ F dropped=1 ]",)),
        variables=("b",),
        neighbors=lambda: iter([((0,), (1,))]),
        bound=Fraction(2),
    )


def wide(m: int) -> Instance:
    """Return a mechanism with m*m outputs, the first part of which depends on the input."""
    draws = "\n  ".join(
        f"[] phase=0 & s={s} -> "
        + prism_choice(
            [
                (Fraction(2 if i % 2 == s else 1, m + m // 2), f"(phase'=1)&(a'={i})")
                for i in range(m)
            ]
        )
        + ";"
        for s in (0, 1)
    )
    more = prism_choice([(Fraction(1, m), f"(phase'=2)&(b'={j})&(s'=0)") for j in range(m)])
    return Instance(
        family="wide",
        size=str(m * m),
        dpm=f"""mechanism m {{
  input s in 0..1
  adjacent all
  a ~ {{i: (if i mod 2 = s then 2 else 1)/{m + m // 2} for i in 0..{m - 1}}}
  b ~ uniform(0..{m - 1})
  output {m} * a + b
}}
check m: epsilon = ln 2
""",
        prism=f"""dtmc
module m
  phase : [0..2];
  s : [0..1];
  a : [0..{m - 1}];
  b : [0..{m - 1}];
  {draws}
  [] phase=1 -> {more};
  [] phase=2 -> true;
endmodule
init phase=0 & a=0 & b=0 endinit
""",
        properties=lambda: iter(
            ("P=? [ F (phase=2 & a=0 & b=0) ]", "P=? [ F (phase=2 & a=1 & b=0) ]")
        ),
        variables=("s",),
        neighbors=lambda: iter([((0,), (1,))]),
        bound=Fraction(2),
    )


def layered(width: int, depth: int) -> Instance:
    """Return an explicit chain of `depth` layers of `width` states, as wide as it is shallow.

    A state goes straight on, to its left or to its right; the last layer shows left or right half.
    """
    half = width // 2
    return Instance(
        family="layered",
        size=f"{width}x{depth}",
        dpm=f"""chain layered {{
  state c[i in 0..{depth}, k in 0..{width - 1}]
  state left : ended
  for k in 0..{width - 1} {{
    for i in 0..{depth - 1} {{
      c[i, k] -> 1/2: c[i+1, k] + 1/3: c[i+1, max(k-1, 0)] + 1/6: c[i+1, min(k+1, {width - 1})]
    }}
    if k < {half} {{ c[{depth}, k] -> 1: left }} else {{ c[{depth}, k] -> 1: c[{depth}, k] }}
  }}
  left -> 1: left
  adjacent c[i, k] ~ c[j, l] where i = 0 & j = 0 & l = k + 1 & abs(k - {half}) <= 2
}}
check layered: D{{ln 4}} [ F left ]
""",
        prism=f"""dtmc
module m
  i : [0..{depth + 1}];
  k : [0..{width - 1}];
  [] i<{depth} -> 1/2:(i'=i+1) + 1/3:(i'=i+1)&(k'=max(k-1,0))
             + 1/6:(i'=i+1)&(k'=min(k+1,{width - 1}));
  [] i={depth} & k<{half} -> (i'={depth + 1})&(k'=0);
  [] i={depth} & k>={half} -> true;
  [] i={depth + 1} -> true;
endmodule
init i=0 & k>={half - 2} & k<={half + 3} endinit
""",
        properties=lambda: iter((f"P=? [ F i={depth + 1} ]",)),
        variables=("k",),
        neighbors=lambda: (((k,), (k + 1,)) for k in range(half - 2, half + 3)),
        bound=Fraction(4),
    )
