"""Formulas taken apart into independent parts: the same numbers, no more states, less work."""

from __future__ import annotations

import importlib
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from dpcheck.exact import Number
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic import formulas as f
from dpcheck.solve import paths
from dpcheck.solve.formulas import independent_parts, progression
from dpcheck.solve.formulas.independent_parts import independent_parts as parts_of
from dpcheck.solve.formulas.product import Product, counting, product
from dpcheck.solve.formulas.terms import TRUE, Terms
from tests.checking import check_text
from tests.solve import strategies
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
from tests.solve.strategies import RandomChain
from tests.solve.test_reach import random_rows

product_module = importlib.import_module("dpcheck.solve.formulas.product")


def values_and_size(chain: RandomChain, path: f.PathFormula) -> tuple[list[Number], int]:
    """Return the probabilities from all states, and how many product states they took."""
    sizes = [0]

    def counted(*arguments: object) -> Product:
        found = product(*arguments)  # type: ignore[arg-type]
        sizes.append(len(found.states))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "product", counted)
        found = probabilities(make_chain(*chain), path)
    return found, sizes[-1]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(strategies.chains(), strategies.paths(6), strategies.paths(6))
def test_parts_taken_apart_have_the_numbers_of_the_whole(
    chain: RandomChain, left: f.PathFormula, right: f.PathFormula
) -> None:
    for whole in (both(left, right), either(left, no(right))):
        apart, _ = values_and_size(chain, whole)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(independent_parts, "independent_parts", lambda _, root: [root])
            together, _ = values_and_size(chain, whole)
        assert apart == together


def test_independent_conjuncts_are_never_multiplied_out(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = "abcdefgh"
    rng = np.random.default_rng(5)
    rows, labels = [], []
    for s in range(60):
        rows.append({t: Fraction(1, 2) for t in {s + 1, s + 2}})
        labels.append("".join(x for x in letters if rng.random() < 0.5))
    rows += [{61: Fraction(1)}, {61: Fraction(1)}]
    chain = rows, [*labels, "", ""]
    parts = [
        finally_(both(atom(x), following(following(atom(y)))))
        for x, y in zip(letters[::2], letters[1::2], strict=True)
    ]
    expected = values_and_size(chain, both(*parts))
    monkeypatch.setattr(progression, "MAX_CONJUNCTIONS", 8)
    assert values_and_size(chain, both(*parts)) == expected
    with monkeypatch.context() as patch:
        patch.setattr(independent_parts, "independent_parts", lambda _, root: [root])
        with pytest.raises(LimitReached):
            probabilities(make_chain(*chain), both(*parts))


def test_parts_that_share_an_element_its_bound_or_its_negation_stay_together() -> None:
    terms = Terms()
    a, b, c = (terms.literal(i) for i in range(3))
    eventually = terms.until(TRUE, terms.both(a, terms.after(b)))
    soon = terms.until(TRUE, terms.both(a, terms.after(b)), 5)
    never = terms.negation(eventually)
    other = terms.until(a, terms.both(c, terms.after(c)))
    # Beside its negation it is false, which has one part anyway.
    for related in (soon, terms.after(never), terms.after(eventually)):
        assert len(parts_of(terms, terms.both(eventually, related))) == 1
        assert len(parts_of(terms, terms.both(other, related))) == 2
    assert len(parts_of(terms, terms.either(eventually, soon, other))) == 2


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


def test_classes_that_a_part_cannot_tell_apart_are_one_class_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terms = Terms()
    literals = [terms.literal(i) for i in range(4)]
    parts = [terms.until(TRUE, terms.both(a, terms.after(a))) for a in literals]
    elements = [t for t in range(len(terms.table)) if t > 1]
    added = []
    add_class = progression.Progression.add_class

    def counted(self: progression.Progression, true: list[int], false: list[int]) -> int:
        added.append(self)
        return add_class(self, true, false)

    monkeypatch.setattr(progression.Progression, "add_class", counted)
    whole = independent_parts.Factors(terms, terms.both(*parts), elements)
    for code in range(16):
        holding = [a for i, a in enumerate(literals) if code >> i & 1]
        whole.add_class(holding, [a for a in literals if a not in holding])
    assert len(added) == 4 * 2


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


def test_parts_that_are_very_many_formulas_as_a_whole_are_decided() -> None:
    """As a whole these have more formulas than a limit allows: pairs in all combinations."""
    parts = [f"F (output = {i} & F output = {(3 * i + 1) % 13})" for i in range(9)]
    report = check_text(f"""mechanism m {{
      input x in 0..1
      adjacent all
      for i in 1..12 {{ y ~ uniform(0..12)  output y }}
    }}
    check m: P>=0 [ {" & ".join(parts)} ]""")
    assert report["results"][0]["verdict"] == "holds"
