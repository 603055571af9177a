"""From a claim and its outcome to the text of a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.check.decide import selected_states
from dpcheck.check.formulas.truths import Truths
from dpcheck.check.quantities.seen_pairs import seen_pairs
from dpcheck.check.values.verdicts import Holds, Outcome, Violated
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic.claims import At, Claim, FormulaClaim, PrivacyClaim
from dpcheck.records import dataclass
from dpcheck.witness.compositions import composition_evidence
from dpcheck.witness.events import event_evidence, laws_evidence
from dpcheck.witness.paths import path_evidence
from dpcheck.witness.writing import Fields, Lacking, witness_json


@dataclass(frozen=True, eq=False)
class Asking:
    """A claim about a chain, or about runs of several.

    head: what the file says of the claim. parts: of a composition the chain and number of runs of
    each part; `chain` is the first part's.
    """

    head: Mapping[str, object]
    claim: Claim
    at: At | None
    chain: Chain
    parts: Sequence[tuple[Chain, int]] = ()


def witness_text(asking: Asking, outcome: Outcome, limits: Limits) -> str:
    """Return evidence for an outcome as the text of a file, or a file that says what is lacking."""
    try:
        evidence = _evidence(asking, outcome, limits)
        return witness_json(dict(asking.head), evidence)
    except Lacking as lacking:
        reason = str(lacking)
    except LimitReached as reached:
        reason = reached.limit.text
    return lacking_text(asking.head, reason)


def lacking_text(head: Mapping[str, object], reason: str) -> str:
    """Return a file that says why it has no evidence."""
    return witness_json(dict(head), {"says": "nothing", "lacks": reason})


def _evidence(asking: Asking, outcome: Outcome, limits: Limits) -> Fields:
    verdict = outcome.verdict
    if not isinstance(verdict, Holds | Violated):
        raise Lacking("the claim has no verdict")
    found = verdict.counterexample if isinstance(verdict, Violated) else None
    if found is not None and found.beyond is not None:
        raise Lacking("the outputs that violate it are further out than those told one by one")
    truths = Truths(asking.chain, limits)
    selected: IntArray = selected_states(truths, asking.at)
    match asking.claim:
        case PrivacyClaim() if asking.parts:
            return composition_evidence(asking.claim, asking.parts, found, limits)
        case PrivacyClaim():
            seen = seen_pairs(asking.chain, selected, limits)
            if found is None and asking.chain.offers:
                raise Lacking("that no strategy of an analyst exceeds its budget is not listed")
            if found is None:
                return laws_evidence(asking.claim, seen)
            return event_evidence(asking.claim, seen, found)
        case FormulaClaim(formula=formula):
            return path_evidence(formula, truths, selected, found)
        case _:
            raise Lacking("claims of this kind have none, only dp and formulas P and D do")
