"""Tables of output sequences, read entry by entry."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcheck.check.evidence import sequences
from dpcheck.check.evidence.sequences import ENDS, has_output_cycle, sequence_table
from dpcheck.exact import number
from dpcheck.limits import Limits
from tests.chains import built_chain, chain_rows
from tests.checking import check_text, verdicts

SURVEY = """
mechanism m {
  input x in {pos, neg}
  adjacent all
  y ~ if x = pos then {Y: 3/4, N: 1/4} else {Y: 1/4, N: 3/4}
  output y
}
"""
ENDS_TELL_APART = """
mechanism m {
  input x in 0..2
  adjacent all
  c ~ {silent: 1/7, ends: 2/7, loops: 2/7, hides: 1/7, other: 1/7}
  if c = silent { stop }
  if c = hides { while true { } }
  if c = other { output x; stop }
  output 1
  if c = loops { while true { } }
}
"""
OTHER_MEMORY = """
mechanism m {
  input x in 0..3
  adjacent abs(x - x') <= 1
  a ~ uniform(0..x)
  b ~ geometric(a, 1/3) clamped 0..3
  output b
}
"""
TWO_OUTPUTS = """
mechanism m {
  input x in 0..1
  adjacent all
  a ~ bernoulli((1 + x)/3)
  output a
  if a { output x }
}
"""
MANY_DENOMINATORS = """
mechanism m {
  input d in 0..11
  adjacent abs(d - d') <= 1
  noisy ~ geometric(5, 1/4) clamped 0..11
  for i in 1..3 {
    answer ~ geometric(d, 1/2) clamped 0..11
    if answer >= noisy { output top; stop }
    output bot
  }
}
"""
ENDLESS = """
mechanism m {
  input x in 0..1
  adjacent all
  while true { output x }
}
"""


TEXTS = [SURVEY, ENDS_TELL_APART, OTHER_MEMORY, TWO_OUTPUTS, MANY_DENOMINATORS]


@pytest.mark.parametrize("text", TEXTS)
def test_tables_list_every_sequence_once_with_its_probability(text):
    chain = built_chain(text, "m")
    table = sequence_table(chain, chain.initial, limits=Limits())
    for i, expected in enumerate(chain_rows(chain, 3)):
        row = range(int(table.indptr[i]), int(table.indptr[i + 1]))
        sequences = [int(table.sequences[j]) for j in row]
        found = {
            (
                tuple(chain.observation_text(code) for code in table.outputs(k)),
                ENDS[int(table.end[k])],
            ): Fraction(int(table.weights[j]), int(table.denominators[i]))
            for j, k in zip(row, sequences, strict=True)
        }
        assert found == expected
        assert sequences == sorted(set(sequences)), "sequences strictly increase"


@pytest.mark.parametrize("text", TEXTS)
def test_some_sources_have_the_rows_they_have_among_all(text):
    chain = built_chain(text, "m")
    last = chain.initial[::-1][:1]
    alone = sequence_table(chain, last, limits=Limits())
    expected = chain_rows(chain, 3)[-1]
    assert alone.sources.tolist() == last.tolist()
    assert {
        (tuple(chain.observation_text(c) for c in alone.outputs(int(k))), ENDS[int(alone.end[k])])
        for k in alone.sequences
    } == set(expected)


def test_tables_larger_than_asked_for_are_not_made():
    chain = built_chain(OTHER_MEMORY, "m")
    assert sequence_table(chain, chain.initial, limits=Limits(), max_entries=15) is None
    assert sequence_table(chain, chain.initial, limits=Limits(), max_entries=16) is not None


@pytest.mark.parametrize(
    ("text", "is_endless"),
    [
        (SURVEY, False),
        (ENDS_TELL_APART, False),
        (TWO_OUTPUTS, False),
        (ENDLESS, True),
        (ENDLESS.replace("output x", "output x output 5"), True),
    ],
)
def test_outputs_go_on_without_end_exactly_if_a_cycle_shows_some(text, is_endless):
    chain = built_chain(text, "m")
    assert has_output_cycle(chain, np.asarray(chain.initial)) is is_endless


SHARED_DRAW = """
mechanism m {
  input d in 0..5
  public t in 0..3
  adjacent abs(d - d') <= 1
  noisy ~ geometric(t, 1/4) clamped 0..5
  for i in 1..3 {
    answer ~ geometric(d, 1/2) clamped 0..5
    if answer >= noisy { output top; stop }
    output bot
  }
}
"""
FORGETS = """
mechanism m {
  input x in 0..9
  adjacent abs(x - x') <= 1
  hidden ~ {i: (if i = x then 5 else 1)/14 for i in 0..9}
  seen ~ bernoulli((1 + hidden)/12)
  output seen
  for i in 1..3 {
    hidden ~ {hidden: 1/3, (hidden + 1) mod 10: 2/3}
    seen ~ bernoulli((1 + hidden)/12)
    output seen
    if seen = 1 { hidden := 0 }
  }
}
"""
IRRATIONAL = """
mechanism m {
  input d in 0..5
  public t in 0..3
  adjacent abs(d - d') <= 1
  noisy ~ geometric(t, exp(-1/2)) clamped 0..5
  for i in 1..2 {
    answer ~ geometric(d, exp(-1/4)) clamped 0..5
    if answer >= noisy { output top; stop }
    output bot
  }
}
"""
LONG_SHARED_DRAW = SHARED_DRAW.replace("1..3", "1..12").replace("1/4", "1/4567")
ENDLESS_SHARED_DRAW = SHARED_DRAW.replace("for i in 1..3", "while true")


def rows_by_sequence(chain, **options):
    """Return {(outputs, end): probability} of each source."""
    table = sequence_table(chain, chain.initial, limits=Limits(), **options)
    shown = [(table.outputs(k), int(table.end[k])) for k in range(table.n_sequences)]
    sequences, weights = table.sequences.tolist(), table.weights.tolist()
    return [
        {shown[sequences[j]]: number(weights[j], denominator) for j in range(start, end)}
        for start, end, denominator in zip(
            table.indptr.tolist(), table.indptr[1:].tolist(), table.denominators, strict=False
        )
    ]


@pytest.mark.parametrize("depth", [None, 1, 2, 3, 5])
@pytest.mark.parametrize("shared_by", [1, 2, 4])
@pytest.mark.parametrize(
    "text",
    [*TEXTS, SHARED_DRAW, LONG_SHARED_DRAW, ENDLESS_SHARED_DRAW, FORGETS, IRRATIONAL, ENDLESS],
)
def test_following_runs_from_what_departures_share_changes_nothing(
    text, shared_by, depth, monkeypatch
):
    chain = built_chain(text, "m")
    if depth is None and has_output_cycle(chain, np.asarray(chain.initial)):
        return
    monkeypatch.setattr(sequences, "_MANY_ENTRIES", 10**9)
    expected = rows_by_sequence(chain, depth=depth)
    monkeypatch.setattr(sequences, "_MANY_ENTRIES", 1)
    monkeypatch.setattr(sequences, "_SHARED_BY", shared_by)
    assert rows_by_sequence(chain, depth=depth) == expected


@pytest.mark.parametrize("text", [SHARED_DRAW, LONG_SHARED_DRAW, FORGETS, MANY_DENOMINATORS])
def test_what_fits_without_heads_is_found_with_them(text, monkeypatch):
    chain = built_chain(text, "m")
    fitting = {}
    for many in (10**9, 1):
        monkeypatch.setattr(sequences, "_MANY_ENTRIES", many)
        monkeypatch.setattr(sequences, "_SHARED_BY", 1)
        fitting[many] = {
            most
            for most in range(10, 3000, 211)
            if sequence_table(chain, chain.initial, limits=Limits(), max_entries=most) is not None
        }
    assert fitting[10**9] <= fitting[1]


def test_departures_that_share_a_draw_are_followed_once_from_its_values(monkeypatch):
    chain = built_chain(LONG_SHARED_DRAW, "m")
    n_sources = []
    step = sequences._Search._step

    def counted(search, level):
        n_sources.append(len(level.source))
        return step(search, level)

    monkeypatch.setattr(sequences._Search, "_step", counted)
    monkeypatch.setattr(sequences, "_MANY_ENTRIES", 1)
    table = sequence_table(chain, chain.initial, limits=Limits())
    assert table.is_complete
    # From each of d and of noisy in 1..5, in place of each of d, t and noisy.
    assert n_sources == [24] + [30] * 11


def test_a_table_that_shares_is_not_made_larger_than_asked_for(monkeypatch):
    monkeypatch.setattr(sequences, "_MANY_ENTRIES", 1)
    chain = built_chain(LONG_SHARED_DRAW, "m")
    assert sequence_table(chain, chain.initial, limits=Limits(), max_entries=300) is None
    assert sequence_table(chain, chain.initial, limits=Limits(), max_entries=3000) is not None


@pytest.mark.parametrize("n_alike", [7, 8, 9, 20])
def test_rows_that_begin_alike_are_not_taken_for_equal(n_alike):
    n = n_alike + 2
    text = f"""
      mechanism m {{
        input x in 0..2
        adjacent abs(x - x') = 1
        y ~ {{i: (if i < {n_alike} then 2 else if (i = {n_alike}) = (x = 1) then 3 else 1)/{2 * n}
             for i in 0..{n - 1}}}
        output y
      }}
      check m: epsilon = ln 3
    """
    assert verdicts(check_text(text)) == ["holds"]


def test_equal_rows_over_other_denominators_are_one_class():
    text = """
      mechanism m {
        input x in 0..1
        adjacent all
        y ~ if x = 0 then {i: 1/10 for i in 0..9} else {i: 3/30 for i in 0..9}
        output y
      }
      check m: epsilon = 0
    """
    assert verdicts(check_text(text)) == ["holds"]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_prefixes_do_not_tell_whether_a_run_is_certain_to_stop_next(depth):
    text = """
    mechanism m {
      input x in 0..1
      adjacent all
      if x = 0 { ends ~ uniform(0..1) } else { ends := 2 }
      output a
      if ends = 2 { ends ~ uniform(0..1) }
      if ends = 1 { stop }
      while true { output b }
    }
    """
    first, second = rows_by_sequence(built_chain(text, "m"), depth=depth)
    assert first == second
