"""What each target costs, to be held beside what it cost before: ε, δ and accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpcheck.exact import exact_text
from dpcheck.limits import RunLimits
from dpcheck.logic.claims import (
    LeastError,
    PrivacyClaim,
    Quantity,
    QuantityClaim,
    QuantityValue,
    TightDelta,
    TightEpsilon,
)
from dpcheck.pipeline.questions import Explorations, answered, asked_of
from dpcheck.records import replace
from dpcheck.report import Answer
from dpcheck.report.answers import ClaimMade, Measured
from dpcheck.resolve import ResolvedCheck


def measured(
    checks: Sequence[ResolvedCheck], explorations: Explorations, limits: RunLimits
) -> Iterator[Measured]:
    """Yield what each target costs that claims of a file are about, in their order.

    That is tight ε, δ at every ε and ε at every δ that its checks claim, and every accuracy its
    claims name. What stays undecided is left out.
    """
    for target in dict.fromkeys(check.target_text for check in checks):
        own = [check for check in checks if check.target_text == target and check.at is None]
        if not own:
            continue
        amounts = {}
        for text, (check, quantity) in _quantities(own).items():
            asked = replace(
                check, kind="compute", claim=QuantityValue(quantity, check.span), claim_text=text
            )
            for event in answered(asked, asked_of(asked), explorations, limits):
                if isinstance(event, Answer) and event.outcome.value is not None:
                    amounts[text] = event.outcome.value
        claims = [_made(check) for check in own if check.kind == "check"]
        yield Measured(own[0].span.source.name, target, own[0].line, amounts, tuple(claims))


def _quantities(checks: Sequence[ResolvedCheck]) -> dict[str, tuple[ResolvedCheck, Quantity]]:
    """Return the quantities to record of a target, by their text."""
    first = checks[0]
    plain = replace(first, atoms={}, kept_inputs=(), needs_later_neighbors=False)
    found: dict[str, tuple[ResolvedCheck, Quantity]] = {
        "epsilon": (plain, TightEpsilon(0, first.span))
    }
    for check in checks:
        match check.claim:
            case PrivacyClaim(epsilon=epsilon, delta=delta) if check.kind == "check":
                text = f"delta({exact_text(epsilon)})"
                found[text] = plain, TightDelta(epsilon, check.span)
                if delta != 0:
                    text = f"epsilon({exact_text(delta)})"
                    found[text] = plain, TightEpsilon(delta, check.span)
            case (
                QuantityClaim(quantity=LeastError() as error)
                | QuantityValue(quantity=LeastError() as error)
            ):
                found[error.text] = check, error
    return found


def _made(check: ResolvedCheck) -> ClaimMade:
    claim = check.claim
    if isinstance(claim, PrivacyClaim):
        budget = exact_text(claim.epsilon), exact_text(claim.delta)
        return ClaimMade(check.claim_text, check.line, budget)
    return ClaimMade(check.claim_text, check.line)
