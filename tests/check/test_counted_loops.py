"""Formulas inside of paths, in loops that count their rounds: what they are where rounds are known.

A `while` that counts is the `for` over what it counts, so all their answers are equal.
"""

from __future__ import annotations

from fractions import Fraction
from math import isclose

import pytest

from dpcheck.pipeline.claims.explorations import Explorations
from tests.check.test_formulas_beyond import WIDTH, Writer
from tests.checking import check_text

FOR = """
mechanism m {
  input q[0..2] in 0..1
  public k in 1..2
  adjacent linf(q, q') <= 1
  t ~ geometric(0, 1/2) unbounded
  for n in 0..2 { y ~ geometric(q[n], 1/2) unbounded  ROUND }
}
compute m at q[0] = 0 & q[1] = 0 & q[2] = 1 & k = 2: P=? [ F P>=1/3 [ X yes ] ]
compute m at q[0] = 0 & q[1] = 0 & q[2] = 1 & k = 2: P=? [ X P>=1/2 [ F P>=1/3 [ X yes ] ] ]
compute m at q[0] = 0 & q[1] = 1 & q[2] = 1 & k = 2: P=? [ X (yes & P>=2/3 [ X yes ]) ]
compute m at q[0] = 0 & q[1] = 1 & q[2] = 1 & k = 2: P=? [ X D{ln 2} [ X yes ] ]
compute m at q[0] = 0 & q[1] = 1 & q[2] = 1 & k = 2: P=? [ X D{ln 2} [ X (no & P>0 [ X no ]) ] ]
check m: P>=1/2 [ F P>=1/3 [ X yes ] ]
check m: P<=1/3 [ X (yes & P>=2/3 [ X yes ]) ]
"""
SHOWS = "output if y > t then yes else no"
HITS = "if y > t { output yes  c := c + 1 } else { output no }"
STOPS = "if y > t { output yes  stop } else { output no }"


def answers(text):
    """Return what is told of claims: all that does not depend on how the program is written."""
    report = check_text(text)
    return [
        {key: each.get(key) for key in ("verdict", "value", "evidence")}
        for each in report["results"]
    ]


def counted(text, head, start="n := 0", step="n := n + 1"):
    """Return the same program with its loop counted."""
    body = text.replace("for n in 0..2 {", f"{start}  {head} {{")
    return body.replace("ROUND }", f"ROUND  {step} }}")


SILENT = "if y > t { c := c + 1 }  if n != 1 { output if c > 1 then yes else no }"

LOOPS = {
    "a counter": (SHOWS, "", "while n < 3", SHOWS),
    "the test last": (SHOWS, "", "while true", f"{SHOWS}  if n >= 2 {{ stop }}"),
    "a break": (SHOWS, "", "while true", f"{SHOWS}  if n >= 2 {{ break }}"),
    "a run that stops": (STOPS, "", "while n < 3", STOPS),
    "a coin beside it": (
        f"if go {{ {SHOWS}  go ~ bernoulli(2/3) }}",
        "go := true",
        "while go & n < 3",
        f"{SHOWS}  go ~ bernoulli(2/3)",
    ),
    "noise beside it": (
        f"{SHOWS}  if y < t {{ stop }}",
        "y := 0",
        "while (y >= t | n = 0) & n < 3",
        SHOWS,
    ),
    "hits beside it": (f"if c < 2 {{ {HITS} }}", "c := 0", "while n < 3 & c < 2", HITS),
    "hits that stop": (
        f"if c < 2 {{ {HITS} }}",
        "c := 0",
        "while n < 3",
        f"{HITS}  if c >= 2 {{ stop }}",
    ),
    "rounds that show nothing": (SILENT, "c := 0", "while n < 3", SILENT),
    "an input": (f"if n <= k {{ {SHOWS} }}", "", "while n <= k", SHOWS),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_counts_its_rounds_tells_what_a_for_does(name):
    rounds, start, head, body = LOOPS[name]
    wanted = answers(FOR.replace("  for n", f"  {start}\n  for n").replace("ROUND", rounds))
    text = counted(FOR, head, f"{start}  n := 0").replace("ROUND", body)
    found = answers(text)
    assert found == wanted
    assert not any("enclosure" in (each["value"] or ()) for each in found)


def values(text):
    """Return the values of claims as they are told."""
    return [each["value"] for each in check_text(text)["results"]]


class WriterOfLoops(Writer):
    """Writes the same programs with loops that count."""

    def program(self, policy):
        text = super().program(policy)
        head = text[text.index("  for i in 1..") :].partition("{")[0]
        n = head.strip()[-1]
        body, _, rest = text.partition(head)
        shows, end, claim = rest.partition(" }\n}\n")
        return f"{body}  i := 1  while i <= {n} {shows}  i := i + 1{end}{claim}"


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 8, 11, 198])
def test_random_programs_that_count_are_those_with_for_and_with_clamped_noise(seed):
    counted, known = WriterOfLoops(seed).program("unbounded"), Writer(seed).program("unbounded")
    (found,), (wanted,) = values(counted), values(known)
    (near,) = values(WriterOfLoops(seed).program(f"clamped -{WIDTH}..{WIDTH}"))
    assert found == wanted
    assert "exact" in found
    assert isclose(Fraction(found["decimal"]), Fraction(near["decimal"]), abs_tol=1e-6)


DRAWN = {
    "for": "for i in 1..n { ROUND }",
    "repeat": "i := 1  repeat n { ROUND  i := i + 1 }",
    "while": "i := 1  while i <= n { ROUND  i := i + 1 }",
    "a cell": "i := 1  var c[1..2] := 0  while c[2] < n { ROUND  c[2] := c[2] + 1  i := i + 1 }",
    "two cells": "j := 1  var c[1..2] := 0  while c[1] + c[2] < n"
    " { i := 1 + c[1] + c[2]  ROUND  c[j] := c[j] + 1  j := 3 - j }",
    "a component": "s := (1, false)  while s[1] <= n { i := s[1]  ROUND  s := (i + 1, y > t) }",
    "drawn again": "i := 1  while i <= n { ROUND  i := i + 1  n ~ uniform({n}) }",
    "a coin beside it": "i := 1  go := true  while go & i <= n"
    " { ROUND  go ~ bernoulli(if i = 1 then 1 else 2/3)  i := i + 1 }",
}
COINS = "go := true  for i in 1..LAST { if go { ROUND  go ~ bernoulli(if i = 1 then 1 else 2/3) } }"
SUPPORTS = {
    "{1: 1/3, 2: 2/3}": (1, 2),
    "uniform(1..2)": (1, 2),
    "{2 * i + 1: 1/2 for i in 0..1}": (1, 3),
    "geometric(k, 1/2) clamped 1..3": (1, 2, 3),
    "binomial(3, 1/4)": (0, 1, 2, 3),
}
ROUND = {
    "shows": "y ~ geometric(q[i - 1], 1/2) unbounded  output if y > t then yes else no",
    "stops": "y ~ geometric(q[i - 1], 1/2) unbounded  if y > t { output yes  stop }  output no",
}


def drawn(loop, support, shows):
    """Return a program that draws how many rounds it has."""
    claims = FOR[FOR.index("compute") :]
    return f"""
mechanism m {{
  input q[0..2] in 0..1
  public k in 1..2
  adjacent linf(q, q') <= 1
  t ~ geometric(0, 1/2) unbounded
  y := 0  n ~ {support}
  {loop.replace("ROUND", ROUND[shows])}
}}
{claims}"""


def unrolled(loop, values):
    """Return the loops of each number of rounds."""
    parts = (f"if n = {n} {{ {loop.replace('LAST', str(n))} }}" for n in values)
    return " else ".join(parts)


@pytest.mark.parametrize(
    ("name", "support", "shows"),
    [
        *((name, "{1: 1/3, 2: 2/3}", "shows") for name in DRAWN),
        *(("while", support, "stops") for support in SUPPORTS),
    ],
)
def test_a_number_of_rounds_that_is_drawn_is_each_of_its_values(name, support, shows):
    known = COINS if name == "a coin beside it" else "for i in 1..LAST { ROUND }"
    wanted = answers(drawn(unrolled(known, SUPPORTS[support]), support, shows))
    found = answers(drawn(DRAWN[name], support, shows))
    assert found == wanted
    assert not any("enclosure" in (each["value"] or ()) for each in found)


class WriterOfDrawn(Writer):
    """Writes the same programs with as many rounds as are drawn."""

    def __init__(self, seed, support):
        super().__init__(seed)
        self.support = support

    def program(self, policy):
        text = super().program(policy)
        head = text[text.index("  for i in 1..") :].partition("{")[0]
        body, _, rest = text.partition(head)
        shows, end, claim = rest.partition(" }\n}\n")
        n = int(head.strip()[-1])
        return (
            f"{body}  m ~ {self.support.format(n=n)}  i := 1"
            f"  while i <= m {shows}  i := i + 1{end}{claim}"
        )


class WriterOfUnrolled(WriterOfDrawn):
    """Writes those with a loop for each number of rounds."""

    def program(self, policy):
        text = Writer.program(self, policy)
        start = text.index("  for i in 1..")
        n = int(text[start:].partition("{")[0].strip()[-1])
        loop, _, claim = text[start:].partition(" }\n}\n")
        parts = (
            f"if m = {k} {{ {loop.replace(f'1..{n}', f'1..{k}')} }} }}" for k in range(1, n + 1)
        )
        return (
            f"{text[:start]}  m ~ {self.support.format(n=n)}  {' else '.join(parts)}\n}}\n{claim}"
        )


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 8, 11, 198])
def test_random_programs_of_drawn_rounds_are_those_unrolled_and_with_clamped_noise(seed):
    supports = ("uniform(1..{n})", "geometric(1, 1/3) clamped 1..{n}")
    support = supports[seed % 2]
    (found,) = values(WriterOfDrawn(seed, support).program("unbounded"))
    (wanted,) = values(WriterOfUnrolled(seed, support).program("unbounded"))
    (near,) = values(WriterOfDrawn(seed, support).program(f"clamped -{WIDTH}..{WIDTH}"))
    assert found == wanted
    assert "exact" in found
    assert isclose(Fraction(found["decimal"]), Fraction(near["decimal"]), abs_tol=1e-6)


def test_a_loop_that_counts_how_far_it_moves_a_number_tells_what_a_for_does():
    """1/3 * 2^-7 of all runs have a t from 8 on, for which v is below with 2/3 at least."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(0, 1/2) unbounded
  output asked
  c := 0  while c < 7 { t := t - 1  c := c + 1 }
  v ~ geometric(0, 1/2) unbounded
  output v < t
}
compute m at x = 1: P=? [ X P>=2/3 [ X output = true ] ]
"""
    assert [each["exact"] for each in values(text)] == ["1/384"]


def test_no_window_is_tried_in_which_states_would_be_too_many(monkeypatch):
    """Two kept numbers, one of them moved, have no law: each window only knows closer bounds."""
    tried = []
    widen = Explorations.widen
    monkeypatch.setattr(
        Explorations, "widen", lambda *args: (tried.append(args[2]), widen(*args))[1]
    )
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric(x, 1/5) unbounded
  u ~ geometric(0, 1/5) unbounded
  n := 0
  while n < 2 { y ~ geometric(0, 1/6) unbounded  n := n + 1  output y > t }
  n := 0
  while n < 2 {
    y ~ geometric(0, 1/6) unbounded
    n := n + 1
    output y > u
    if y > t { t := t - 1 }
  }
  output t > u
}
compute m at x = 0: P=? [ X P>=2/5 [ X output = true ] ]
"""
    monkeypatch.setattr("dpcheck.explore.runs.orders.MANY_BOUNDED", 220_000)
    (found,) = check_text(text)["results"]
    low, high = map(float, found["value"]["enclosure"])
    assert low < 1 / 6 < high < low + 1e-3
    assert [(each.low, each.high) for each in tried] == [(-5, 5)]
