"""A `for` with several indices and a `where` abbreviates loops and an `if` inside of each other."""

import pytest

from tests.chains import built_chain, chain_rows
from tests.resolve.reading import codes

PAIRS = {
    "rows of a chain": (
        """chain c(n = 3) {
          state s[i in 0..n, j in 0..n]  state t[k in 0..n]
          for i in 0..n, j in i..n where i + j <= n { s[i, j] -> i/n: t[j] + 1 - i/n: t[i + j] }
          for i in 1..n, j in 0..i - 1 { s[i, j] -> 1: t[i - j] }
          adjacent s[i, j] ~ s[k, l] where abs(i - k) + abs(j - l) = 1
          observe t }""",
        """chain c(n = 3) {
          state s[i in 0..n, j in 0..n]  state t[k in 0..n]
          for i in 0..n { for j in i..n { if i + j <= n {
            s[i, j] -> i/n: t[j] + 1 - i/n: t[i + j] } } }
          for i in 1..n { for j in 0..i - 1 { s[i, j] -> 1: t[i - j] } }
          adjacent s[i, j] ~ s[k, l] where abs(i - k) + abs(j - l) = 1
          observe t }""",
    ),
    "statements": (
        """mechanism c { input x in 0..2 adjacent all
          var a[0..2] := 0
          for i in 0..2, j in 0..i where j != x { c ~ bernoulli(1/(i + 2)) if c { a[j] := i } }
          output (a[0], a[1], a[2]) }""",
        """mechanism c { input x in 0..2 adjacent all
          var a[0..2] := 0
          for i in 0..2 { for j in 0..i { if j != x {
            c ~ bernoulli(1/(i + 2)) if c { a[j] := i } } } }
          output (a[0], a[1], a[2]) }""",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_short_form_means_the_long_one(name):
    short, long = (chain_rows(built_chain(text, "c"), 3) for text in PAIRS[name])
    assert short == long
    assert short


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("for i in 0..2, i in 0..2 { s[i] -> 1: t }", "DP302"),
        ("for i in 0..2 where i { s[i] -> 1: t }", "DP401"),
        ("for i in 0..2, j in 5 { s[i] -> 1: t }", "DP401"),
        ("for i in 0..2 where k = 1 { s[i] -> 1: t }", "DP301"),
    ],
)
def test_mistakes_in_the_heads_of_rows(rows, code):
    chain = f"chain c {{ state s[i in 0..2] state t {rows} adjacent s[i] ~ s[j] }}"
    assert set(codes(chain + " check c: P=1 [ F t ]")) == {code}
