"""Formulas inside of others that depend on how far two numbers beyond the window are apart."""

from __future__ import annotations

import re
from fractions import Fraction
from math import isclose

import pytest

from dpcheck import loads
from dpcheck.check.formulas.truths import Truths
from dpcheck.explore import mechanism
from dpcheck.explore.explore import explore
from dpcheck.explore.explored import labelled
from dpcheck.explore.tails.tails import Window
from dpcheck.limits import Limits
from dpcheck.logic.formulas import outermost_numbers
from tests.check.test_formulas_beyond import Writer, values_of
from tests.checking import check_text

TIED = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric_positive(1/2) unbounded
  output asked
  v ~ geometric_positive(1/2) unbounded
  c ~ {0: 1/2, 1: 1/4, 2: 1/64, 3: 1/4 - 1/64}
  if c = 0 { output heads }
  else { if c = 1 { output if v > t then heads else no } else { output if c = 2 then tri else no } }
  w ~ geometric_positive(1/2) unbounded
  r := 0
  if w - 1 = 0 {
    u ~ geometric_positive(1/2) unbounded
    if u = w + 1 { if v = u + 1 { r := 1 } }
  } else { if w = v + 1 {
    u ~ geometric_positive(1/2) unbounded
    if u = w + 1 { if t = u + 1 { r := 2 } }
  } }
  output r
}
check m: P>0 [ X P>=(1/2 + 1/64 + 1/40000)
  [ X (heads | (tri & !(P>0 [ X output = 1 ] & P>0 [ X output = 2 ]))) ] ]
"""


def test_formulas_tie_numbers_that_are_farther_apart_than_draws_of_one_run_meet():
    """v = 3 and t = v + 3: so t = 6 is no number like all others, 3 draws of one above from 0.

    P = 1/2 + 1/4 2^-(t+1) + 1/64, less 1/1024 for t = 6: from t = 13 on it is not as asked.
    """
    (check,) = loads(TIED).claims
    explored = explore(check.target, window=Window(-19, 19, apart=4), limits=Limits())
    chain = labelled(explored, check.atoms)
    (formula,) = outermost_numbers(check.claim.formula.path)
    truths, texts = Truths(chain, Limits()), [chain.state_text(s) for s in range(chain.n_states)]
    found = truths.bounds_everywhere(formula)
    asked = {
        text.partition("with ")[2]: (bool(found.surely[s]), bool(found.possibly[s]))
        for s, text in enumerate(texts)
        if "asked" in text
    }
    known = {f"t = {n}": (n < 13,) * 2 for n in range(20)}
    assert {name: asked.pop(name) for name in known} == known
    assert asked
    assert not any(surely for surely, _ in asked.values())


def test_gaps_that_no_window_knows_are_not_told():
    """P(t >= s + 3) is 1/12; beyond 12 it is not known first whether a number lies between."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  s ~ if x = 0 then geometric_positive(1/2) unbounded else uniform(-12..12)
  t ~ geometric_positive(1/2) unbounded
  output asked
  v ~ geometric(0, 1/2) unbounded
  output s < v & v < t - 1
}
check m at x = 0: P=1/12 [ X P>0 [ X output = true ] ]
"""
    (check,) = loads(text).claims
    found = [
        explore(check.target, window=window, limits=Limits()).orders
        for window in (Window(), Window(-20, 20, apart=4))
    ]
    assert all(orders.n_unmet >= 10 for orders in found)
    assert [orders.ordered(1) is None for orders in found] == [True, False]
    (result,) = check_text(text)["results"]
    assert result["verdict"] == "holds"


BETWEEN = """
mechanism m {
  input x in 0..1
  adjacent all
  s ~ geometric_positive(1/2) unbounded
  t ~ geometric_positive(1/2) unbounded
  output asked
  v ~ geometric(x, 1/2) unbounded
  output if v > t then high else low
  w ~ geometric(x, 1/2) unbounded
  output if s < w & w < t then hit else miss
}
"""


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("P>0 [ X (high & P>0 [ X hit ]) ]", "1/6"),
        ("P>0 [ X (high & D{ln (3/2)} [ X hit ]) ]", "5/6"),
        ("D{ln 2} [ X (high & P>0 [ X hit ]) ]", "1"),
        ("D{ln (3/2)} [ X (high & P>0 [ X hit ]) ]", "5/6"),
        ("P>=23/24 [ X (low & P>0 [ X hit ]) ]", "5/48"),
        ("P>23/24 [ X (low & P>0 [ X hit ]) ]", "11/192"),
        ("P=1/48 [ X (high & P>0 [ X hit ]) ]", "7/256"),
    ],
)
def test_a_draw_fits_between_two_numbers_wherever_these_are(formula, value):
    """t >= s + 2 has probability 1/6; v > t has 1/3 2^-t, and twice that for the neighbor."""
    claims = (
        f"compute m at x = 0: P=? [ X {formula} ]\ncheck m at x = 0: P=({value}) [ X {formula} ]"
    )
    first, second = check_text(BETWEEN + claims)["results"]
    assert first["value"]["exact"] == value
    assert second["verdict"] == "holds"


def test_gaps_that_no_run_leads_to_are_no_part_of_a_law():
    """A draw that was seen between them parts two numbers by two at least."""
    claim = "compute m at x = 0: P=? [ X D{ln 2} [ X (hit & P>0 [ X hit ]) ] ]"
    text = BETWEEN.replace("if v > t then high else low", "if s < v & v < t then hit else miss")
    (result,) = check_text(text + claim)["results"]
    assert result["value"]["exact"] == "1"


def test_the_cut_ties_numbers_as_one_that_is_kept_does():
    """With v = 1 and t = 2 there is no number between 0 and v, or v and t; t is next to the cut.

    P = 1/2 + 1/4 2^-(t+1) + 1/16, less 1/64 for t = 2: it is as asked up to t = 6.
    """
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  t ~ geometric_positive(1/2) unbounded
  output asked
  v ~ geometric_positive(1/2) unbounded
  c ~ {0: 1/2, 1: 1/4, 2: 1/16, 3: 1/4 - 1/16}
  if c = 0 { output heads }
  else { if c = 1 { output if v > t then heads else no }
  else { output if c = 3 then no else if v > 0 & v < t then tri else heads } }
  w ~ geometric_positive(1/2) unbounded
  output if 0 < w & w < v then below else if v < w & w < t then above else no
}
compute m at x = 0: P=? [ X P>=(1/2 + 1/16 + 1/1000)
  [ X (heads | (tri & (P>0 [ X below ] | P>0 [ X above ]))) ] ]
"""
    assert values_of(text, "") == ["127/128"]


def orders_of(window):
    """Return the chain of a program with two draws to come for two numbers, and its orders."""
    (check,) = loads(f"{BETWEEN}check m: P>0 [ X high ]").claims
    explored = explore(check.target, window=window, limits=Limits())
    assert explored.orders is not None
    return explored.chain, explored.orders


def gaps_in(chain, states):
    """Return how many numbers are between s and t in states where s is the smaller one."""
    texts = (chain.state_text(state) for state in states)
    found = [re.search(r"asked with s = (\d+), t = (\d+)", text) for text in texts]
    pairs = [(int(each[1]), int(each[2])) for each in found if each is not None]
    return {t - s - 1 for s, t in pairs if s < t}


@pytest.mark.parametrize("told", [0, 1])
def test_laws_begin_where_no_two_draws_tie_numbers_by_what_formulas_tell(told):
    chain, orders = orders_of(Window(-13, 13, apart=3))
    ordered = orders.ordered(1 + told)
    assert ordered is not None
    alike = [gaps for each in ordered.alike if len(gaps := gaps_in(chain, each.tolist())) > 1]
    laws = {order.near: len(order.ratios) for order, _ in ordered.placed().values()}
    near = [gaps_in(chain, states) for states, n_gaps in laws.items() if n_gaps == 2]
    assert min(map(min, alike)) == told
    assert min(map(min, filter(None, near))) == 3 * told


def test_gaps_are_told_as_far_as_a_window_knows_them():
    apart = {n: orders_of(Window(-13, 13, apart=n))[1] for n in (0, 1)}
    assert [apart[n].ordered(level) is None for n in (0, 1) for level in (1, 2, 3)] == [
        *(False, True, True),
        *(False, False, True),
    ]


class WriterOfGaps(Writer):
    """Writes a program that keeps two numbers, and formulas about draws next to these."""

    def program(self, policy):
        pick = self.pick
        ratios = pick(("1/2", "1/3", "1/8")), pick(("1/2", "1/4", "1/8")), pick(("1/2", "1/3"))
        s, t, w = (f"geometric_positive({ratio}) {policy}" for ratio in ratios)
        signs = ("<", "<=", ">", ">=")
        shows = pick((f"v {pick(signs)} t", f"v {pick(signs)} s", "s < v & v < t", "v = t"))
        low = pick(("s < w & w < t", "t < w & w < s", "s <= w & w < t", "w = t & t > s"))
        return f"""
mechanism m {{
  input x in 0..1
  adjacent all
  s ~ {s}
  t ~ {t}
  output asked
  v ~ geometric({pick("0x")}, {ratios[2]}) {policy}
  c ~ {{0: 1/2, 1: 1/3, 2: 1/6}}
  if c = 0 {{ output if {shows} then top else bot }}
  else {{ output if c = 1 & v > {pick("st")} then top else if c = 1 then bot else mid }}
  w ~ {w}
  output if {low} then low else bot
}}
compute m at x = {pick("01")}: P=? [ X {self.formula(1)} ]
"""

    def path(self, depth):
        pick = self.pick
        if depth == 0:
            return "X low"
        inner = pick(("P>0 [ X low ]", "P=0 [ X low ]", "P>=1/10 [ X low ]"))
        return f"X ({pick(('top', 'bot', '(mid | bot)', 'mid | top'))} & {inner})"


@pytest.mark.parametrize("seed", range(12))
def test_what_one_window_tells_of_all_numbers_is_what_a_wider_one_does(seed, monkeypatch):
    """What an error would change is far too improbable to be seen beside clamped noise."""
    text, followed = WriterOfGaps(seed).program("POLICY"), mechanism.followed
    (found,) = values_of(text, "unbounded")
    (near,) = values_of(text, "clamped -11..11")
    assert isclose(Fraction(found), Fraction(near), abs_tol=3e-3)
    wide = Window(-15, 15, apart=4)
    monkeypatch.setattr(
        mechanism, "followed", lambda given, window: followed(given, window or wide)
    )
    (again,) = check_text(text.replace("POLICY", "unbounded"))["results"]
    assert again["value"]["exact"] == found
