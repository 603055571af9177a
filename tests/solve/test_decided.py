"""What a state decides about a subterm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpcheck.chain.graph import graph_of
from dpcheck.limits import Limits
from dpcheck.solve.formulas.almost_sure import decided, interpretation, progression_by_class
from dpcheck.solve.formulas.terms import FALSE, TRUE, Terms
from tests.solve.chains import make_chain

HALF = Fraction(1, 2)


def test_what_follows_a_goal_does_not_make_reaching_it_doubtful() -> None:
    # 0 -> 1 (a) -> 2; 3 goes to 0 or to 2.
    chain = make_chain(
        [{1: Fraction(1)}, {2: Fraction(1)}, {2: Fraction(1)}, {0: HALF, 2: HALF}],
        ["", "a", "", ""],
    )
    terms = Terms()
    goal = terms.literal(0)
    finally_a = terms.until(TRUE, goal)
    never_a = terms.weak(terms.negation(goal), FALSE)
    everywhere = np.ones(4, np.bool_)
    literals = [chain.labelling["a"]]
    meaning = interpretation(graph_of(chain), terms, literals, everywhere, Limits())
    known = decided(meaning, terms.both(finally_a, terms.after(finally_a)))[finally_a]
    assert known.true.tolist() == [True, True, False, False]
    assert known.false.tolist() == [False, False, True, False]
    dual = decided(meaning, terms.both(never_a, terms.after(never_a)))[never_a]
    assert dual.true.tolist() == known.false.tolist()
    assert dual.false.tolist() == known.true.tolist()


def test_states_are_told_apart_by_more_terms_than_have_codes_in_a_word() -> None:
    """One digit to base 3 a term: 1 where a literal is true, 2 where it is false.

    The codes of the two states would differ by 2^64, which is nothing in a word.
    """
    digits, rest = list[int](), 2**64
    while rest:
        digits.append((rest + 1) % 3 - 1)
        rest = (rest - digits[-1]) // 3
    terms = Terms()
    literals = [np.array([digit < 1, digit > -1]) for digit in reversed(digits)]
    root = terms.both(*map(terms.literal, range(len(digits))))
    chain = make_chain([{1: Fraction(1)}, {0: Fraction(1)}], ["", ""])
    everywhere = np.ones(2, np.bool_)
    meaning = interpretation(graph_of(chain), terms, literals, everywhere, Limits())
    _, classes = progression_by_class(meaning, root, decided(meaning, root), everywhere)
    assert sorted(classes.tolist()) == [0, 1]
