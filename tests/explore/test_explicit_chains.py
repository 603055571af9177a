"""Rows of explicit chains, laid out some at a time, and states named by their indices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcheck.explore import explore
from dpcheck.explore.explicit import layout
from dpcheck.explore.explicit.families import IndexSet
from dpcheck.limits import Limits
from tests.checking import check_text, error_codes
from tests.resolve.reading import sound

LONG = 2**70

CHAIN = f"""chain c {{
  state s[k in 0..9]
  state a
  state b
  state last
  for k in 0..9 {{
    if k mod 2 = 0 {{ s[9 - k] -> 1/4: s[(k + 7) mod 10] + 1/2: a + 1/4: a }}
    else {{ s[9 - k] -> 1/{LONG}: s[k] + {LONG - 1}/{LONG}: b }}
  }}
  a -> i ~ uniform({{0, 1, 4}}): s[2 * i]
  b -> 1: b
  adjacent s[0] ~ s[1]
}}
check c: D{{ln 2}} [ F last ]
"""

S, A, B, LAST, STOPPED = range(10), 10, 11, 12, 13


def expected_rows():
    """Return the rows as the text says them."""
    third, tiny = Fraction(1, 3), Fraction(1, LONG)
    rows = {A: {0: third, 2: third, 8: third}, B: {B: 1}}
    rows |= {LAST: {STOPPED: 1}, STOPPED: {STOPPED: 1}}
    for k in S:
        even = {(k + 7) % 10: Fraction(1, 4), A: Fraction(3, 4)}
        rows[9 - k] = {k: tiny, B: 1 - tiny} if k % 2 else even
    return rows


def rows_of(text):
    """Return the rows of a text's chain as {state: {target: probability}}."""
    chain = explore(sound(text).checks[0].target, limits=Limits()).chain
    rows = {}
    for s in range(chain.n_states):
        row = slice(chain.indptr[s], chain.indptr[s + 1])
        targets, weights = chain.targets[row].tolist(), chain.numerators[row].tolist()
        assert targets == sorted(set(targets))
        denominator = chain.denominators.item(s)
        rows[s] = {t: Fraction(w, denominator) for t, w in zip(targets, weights, strict=True)}
    return rows


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_rows_are_those_of_the_text_however_many_are_laid_out_at_once(at_once, monkeypatch):
    monkeypatch.setattr(layout, "ROWS_AT_ONCE", at_once)
    assert rows_of(CHAIN) == expected_rows()


def test_a_second_row_for_a_state_is_found_whatever_statement_it_is_in(monkeypatch):
    monkeypatch.setattr(layout, "ROWS_AT_ONCE", 2)
    within = CHAIN.replace("s[9 - k] -> 1/4", "s[min(9 - k, 5)] -> 1/4")
    across = CHAIN.replace("  b -> 1: b", "  b -> 1: b\n  s[3] -> 1: b")
    for text in (within, across):
        assert error_codes(check_text(text)) == ["DP511"]


@pytest.mark.parametrize("codes", [[3, 4, 5], [5, 3, 4], [4, 3, 5], [-2, 0, 7], [6]])
def test_places_in_an_index_set_are_those_of_the_codes(codes):
    asked = np.array([*range(-4, 9), 2**62, 2**62 + 5])
    places, are_members = IndexSet(np.array(codes, np.int64)).places(asked)
    assert are_members.tolist() == [code in codes for code in asked.tolist()]
    found = [codes[place] for place in places[are_members].tolist()]
    assert found == asked[are_members].tolist()
