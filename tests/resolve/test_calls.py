"""Functions that call functions: what is too much is seen before it is written out."""

from __future__ import annotations

from dpcheck.diagnostics.claims import TooManyClaims
from dpcheck.diagnostics.composition import TooManyCalls
from dpcheck.resolve.expressions import expressions
from tests.resolve.reading import mechanism, resolved

M = "mechanism m { input x in 0..1 adjacent all y ~ bernoulli(1/2) output y }"


def test_functions_that_call_the_one_before_twice_are_refused_once(monkeypatch):
    monkeypatch.setattr(expressions, "MAX_CALLS", 2_000)
    functions = "".join(f"fun f{i}(x) = f{i - 1}(x) + f{i - 1}(x)\n" for i in range(1, 40))
    found = resolved(f"fun f0(x) = x\n{functions}{M}\ncheck m: dp(f39(1))").mistakes
    assert [(type(mistake), mistake.name) for mistake in found] == [(TooManyCalls, "f10")]


def test_a_long_row_of_functions_is_refused_once_where_it_gets_too_deep():
    functions = "".join(f"fun f{i}(x) = f{i - 1}(x) + 1\n" for i in range(1, 2000))
    found = resolved(f"fun f0(x) = x\n{functions}{M}\ncheck m: dp(f1999(1))").mistakes
    assert [(type(mistake), mistake.name) for mistake in found] == [(TooManyCalls, "f50")]


def test_fifty_functions_deep_is_allowed():
    functions = "".join(f"fun f{i}(x) = f{i - 1}(x) + 1\n" for i in range(1, 50))
    mechanism("output f49(x)", before=f"fun f0(x) = x\n{functions}")


def test_too_many_claims_are_one_mistake():
    loops = "".join(f"for i{i} in 1..2 {{ " for i in range(30))
    found = resolved(f"{M}\n{loops} check m: dp(1) {'}' * 30}").mistakes
    assert [type(mistake) for mistake in found] == [TooManyClaims]
