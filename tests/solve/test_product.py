"""The product of a chain with a path formula: its limits, and formulas that are very many."""

from __future__ import annotations

import importlib
import random
from fractions import Fraction

import pytest

from dpcheck.limits import LimitReached, Limits
from dpcheck.solve.formulas.product import counting
from tests.solve.chains import (
    Row,
    atom,
    both,
    either,
    finally_,
    following,
    globally,
    make_chain,
    no,
    probabilities,
)
from tests.solve.test_reach import random_rows

product_module = importlib.import_module("dpcheck.solve.formulas.product")


def test_a_limit_while_the_product_is_solved_names_its_states() -> None:
    with pytest.raises(LimitReached) as caught, counting(1234):
        Limits(deadline=0.0, timeout=1.0).check_time("0 of 9 layers solved")
    assert "0 of 9 layers solved" in caught.value.progress
    assert "1234 states of the product of chain and path formula" in caught.value.progress
    assert caught.value.limit.kind == "time"


def test_more_product_states_than_allowed_are_called_that() -> None:
    walk: list[Row] = [{s: Fraction(1, 2), s + 1: Fraction(1, 2)} for s in range(9)]
    walk.append({9: Fraction(1)})
    long = make_chain(walk, ["a"] * 9 + ["b"])
    counters = finally_(both(atom("a"), following(atom("b"))), 30)
    with pytest.raises(LimitReached) as caught:
        probabilities(long, counters, limits=Limits(max_states=20))
    assert "states of the product of chain and path formula" in caught.value.progress
    assert caught.value.limit.kind == "states"


def test_more_formulas_than_fit_in_arrays_are_kept_in_dictionaries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(4)
    rows = random_rows(rng, 12, "any")
    labels = ["".join(x for x in "abcd" if rng.random() < 0.4) for _ in rows]
    response = [globally(either(no(atom(a)), finally_(atom(b), 6))) for a, b in ("ab", "bc", "ca")]
    path = either(both(*response), finally_(both(atom("a"), finally_(atom("d"), 4))))
    expected = probabilities(make_chain(rows, labels), path)
    monkeypatch.setattr(product_module, "MAX_DENSE", 40)
    assert probabilities(make_chain(rows, labels), path) == expected
