"""Random explicit chains: what an adversary sees of them is what the definition says."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given, settings

from tests.checking import check_text
from tests.oracle import privacy
from tests.oracle.explicit import explicit_chains
from tests.oracle.reference import Program

random_chains = settings(max_examples=25, deadline=None)
MOST = 7


def observed(chain, most=MOST):
    """Return the rows of the states that have a neighbor."""
    starts = sorted({s for pair in chain.pairs for s in pair})
    return dict(zip(starts, Program(chain.text, "c").rows(most), strict=True))


@random_chains
@given(explicit_chains())
def test_tight_quantities_of_a_chain_are_those_of_the_definition(chain):
    rows = observed(chain)
    assume(all(status != "cut" for row in rows.values() for _, status in row))
    text = chain.text + "compute c: epsilon\ncompute c: delta(0)\ncompute c: delta(ln 2)\n"
    report = check_text(text)
    assert not report.get("errors"), report["errors"]
    epsilon, *deltas = (result["value"] for result in report["results"])
    least = privacy.e_epsilon(rows, chain.pairs)
    if least == privacy.INFINITE:
        assert epsilon["exact"] == "inf"
    else:
        assert Fraction(epsilon["exp"]) == least
    for value, e_epsilon in zip(deltas, (1, 2), strict=True):
        assert Fraction(value["exact"]) == privacy.delta(rows, chain.pairs, e_epsilon)


@random_chains
@given(explicit_chains())
def test_a_chain_with_endless_outputs_is_never_proved_private(chain):
    rows = observed(chain, 5)
    assume(any(status == "cut" for row in rows.values() for _, status in row))
    report = check_text(chain.text + "check c: dp(ln 2)\ncheck c: dp(0, 1/3)\n")
    assert not report.get("errors"), report["errors"]
    # The events "the first outputs are these" are events too: their excess is a lower bound.
    for result, e_epsilon, delta in zip(
        report["results"], (2, 1), (Fraction(0), Fraction(1, 3)), strict=True
    ):
        if privacy.delta(observed(chain, 3), chain.pairs, e_epsilon) > delta:
            assert result["verdict"] == "violated"
        elif privacy.delta(rows, chain.pairs, e_epsilon) > delta:
            assert result["verdict"] in ("violated", "undecided")
        if result["verdict"] == "violated":
            excess = Fraction(result["counterexample"]["excess"]["exact"])
            assert excess > 0
