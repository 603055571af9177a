"""What a job is, and the pieces its texts are made of.

A job asks: is `p <= E q` true for every query and every pair of neighbors, where p and q are the
probabilities of the query from the two? It is written twice, as a dpm model with a claim and as a
PRISM program with one property a query; `tests/test_benchmarks.py` shows that the numbers agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

Valuation = tuple[int, ...]
Pairs = Iterable[tuple[Valuation, Valuation]]


@dataclass(frozen=True)
class Query:
    """One event: as a path formula of dpm, and as the values of PRISM variables in its states."""

    path: str
    target: Mapping[str, int]

    @property
    def prism(self) -> str:
        """The property that Storm is asked."""
        target = " & ".join(f"{variable}={value}" for variable, value in self.target.items())
        return f"P=? [ F ({target}) ]"


@dataclass(frozen=True)
class Instance:
    """One job.

    `model` is dpm text without claims; `claim(E)` adds the claim with the bound E. `variables` are
    the PRISM variables that tell initial states apart, `start` is the dpm condition of the initial
    state with such values, and `neighbors` yields the neighboring pairs of values. `bound` is E.
    With `is_tight`, no smaller E would do. With `is_value` the job is the one query's probability
    from the first state of the only pair, and nothing is compared. `prism_floats` is the program
    for floats where another one is better. With `is_all_ends`, every run ends in an absorbing
    state, the states of a query are absorbing, and no query has two of them. `modules` are those
    that dpcheck imports only for such jobs.
    """

    family: str
    size: str
    model: str
    claim: Callable[[Fraction], str]
    prism: str
    queries: Callable[[], Iterable[Query]]
    variables: tuple[str, ...]
    start: str
    neighbors: Callable[[], Pairs]
    bound: Fraction
    is_tight: bool = False
    is_value: bool = False
    prism_floats: str | None = None
    is_all_ends: bool = False
    modules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name on the command line and in the table."""
        return f"{self.family}-{self.size}"

    @property
    def dpm(self) -> str:
        """The model file of the job."""
        return f"{self.model}{self.claim(self.bound)}\n"

    def start_condition(self, values: Valuation) -> str:
        """Return what follows `at` in a claim about one initial state."""
        return self.start.format(*values)


def prism_choice(branches: Iterable[tuple[object, str]]) -> str:
    """Return the right side of a PRISM command."""
    return " + ".join(f"{p}:{update}" for p, update in branches)


def prism_program(
    declared: Iterable[str], commands: Iterable[str], starts: str, init: str | None = None
) -> str:
    """Return a program of one module; the label `start` marks the states of `starts`.

    Storm finds the states of an `init` construct with an SMT solver, milliseconds each, unless it
    is `true`. So where there are many, the program has one initial state, and chooses among the
    starts (see `prism_start`); queries are answered for every state anyway.
    """
    lines = [*(f"{text};" for text in declared), *(f"[] {text};" for text in commands)]
    body = "\n".join(f"  {line}" for line in lines)
    given = f"init {init} endinit\n" if init else ""
    return f'dtmc\nmodule m\n{body}\nendmodule\nlabel "start" = {starts};\n{given}'


def prism_start(clock: str, ranges: Iterable[tuple[str, int]]) -> list[str]:
    """Return commands that choose variables one after the other while the clock runs up to 0.

    A variable is chosen from 0 up to its limit.
    """
    steps = list(ranges)
    return [
        f"{clock}={number - len(steps)} -> "
        + prism_choice(
            (f"1/{limit + 1}", f"({clock}'={number - len(steps) + 1})&({name}'={value})")
            for value in range(limit + 1)
        )
        for number, (name, limit) in enumerate(steps)
    ]


def adjacent_numbers(limit: int) -> Iterator[tuple[Valuation, Valuation]]:
    """Yield the pairs (k, k+1) of 0..limit."""
    for k in range(limit):
        yield (k,), (k + 1,)
