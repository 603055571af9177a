"""A claim whose quantity is misspelt names the quantity that was meant."""

from __future__ import annotations

import pytest

from dpcheck.diagnostics import names
from dpcheck.diagnostics.names import UnknownFunction, UnknownName
from dpcheck.logic.quantities import QUANTITIES
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.words import KEYWORDS
from dpcheck.parse.slips import vocabulary
from dpcheck.resolve.claims import elsewhere
from dpcheck.resolve.expressions.expressions import BUILT_IN
from tests.resolve.reading import resolved

M = "mechanism m { input x in 0..1 adjacent all y ~ bernoulli(1/2) output y }\n"


@pytest.mark.parametrize(
    ("claim", "name", "meant"),
    [
        ("check m: epslon = 1", "epslon", "epsilon"),
        ("check m: dpp(1)", "dpp", "dp"),
        ("check m: delt(1) = 0", "delt", "delta"),
        ("compute m: epsilno", "epsilno", "epsilon"),
        ("compute m: reny(2)", "reny", "renyi"),
    ],
)
def test_the_quantity_that_was_meant_is_suggested(claim, name, meant):
    (found,) = resolved(M + claim).mistakes
    assert isinstance(found, UnknownFunction | UnknownName)
    assert (found.name, found.similar) == (name, meant)
    assert found.span.text == name


def test_a_label_or_symbol_that_looks_like_a_quantity_is_none():
    chain = "chain c { state s : profiles  init s  s -> 1: s }\ncheck c at s: profiles\n"
    assert not [m for m in resolved(chain).mistakes if isinstance(m, UnknownName)]


def test_a_budget_is_not_compared_with_a_number():
    (found,) = resolved(M + "check m: epsilon = delta(0)").mistakes
    assert (found.code, found.span.text) == ("DP625", "epsilon = delta(0)")


@pytest.mark.parametrize(
    ("claim", "word"),
    [
        ("delta(0) + 1 = 7/6", "delta"),
        ("2 * delta(0) <= 1", "delta"),
        ("1 - epsilon > -3", "epsilon"),
        ("-bayes_vulnerability < 1/(1 + renyi(2))", "bayes_vulnerability"),
    ],
)
def test_a_quantity_one_counts_with_is_known(claim, word):
    (found,) = resolved(M + f"check m: {claim}").mistakes
    assert (found.code, found.quantity) == ("DP602", word)


def test_words_that_are_written_another_way_are_explained():
    (found,) = resolved(M + "check m: dp(inf)").mistakes
    assert found.help == "`inf` stands alone beside a quantity, as in `epsilon < inf`"
    (found,) = resolved(M + "check m: dp(ln2)").mistakes
    assert found.help == "write `ln 2`"
    (found,) = resolved(M + "compute m: leakage").mistakes  # the head of a column of `quantities`
    assert found.help == "write `min_entropy_leakage`"
    (found,) = resolved("const a = True").mistakes
    assert found.help == "write `true`"


@pytest.mark.parametrize(
    ("hints", "elsewhere_in_texts"),
    [
        (names._NAMES_ELSEWHERE, ()),
        (names._FUNCTIONS_ELSEWHERE, ()),
        (vocabulary.AT_TOP_LEVEL, ("var",)),  # a statement
        (vocabulary.IN_A_BLOCK, ()),
        (vocabulary.POLICY_WORDS, ("clamp",)),  # a function
        (elsewhere.WORDS, [word for word, meant in elsewhere.WORDS.items() if word == meant]),
    ],
)
def test_no_word_of_the_language_is_taken_for_one_of_another(hints, elsewhere_in_texts):
    known = {*KEYWORDS, *QUANTITIES, *DISTRIBUTIONS, *BUILT_IN}
    assert known.intersection(hints) == set(elsewhere_in_texts)
