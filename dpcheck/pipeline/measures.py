"""What each target costs, to be held beside what it cost before: ε, δ and accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dpcheck.check.quantities.privacy import quantity_text
from dpcheck.check.values.amounts import bound_amount
from dpcheck.check.values.verdicts import Amount
from dpcheck.exact import exact_text
from dpcheck.limits import RunLimits
from dpcheck.logic import claims
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.questions import answer_alone
from dpcheck.records import replace
from dpcheck.report.answers import Measured
from dpcheck.resolve import ResolvedCheck

Asking = Callable[[str], Sequence[ResolvedCheck]]
"""Returns questions as if the file ended with them."""


def measured(
    checks: Sequence[ResolvedCheck],
    explorations: Explorations,
    limits: RunLimits,
    recorded: Mapping[str, Sequence[str]],
    asking: Asking,
) -> Iterator[Measured]:
    """Yield what each target costs that claims of a file are about, in their order.

    That is tight ε, δ at every ε and ε at every δ that its checks claim, every accuracy its claims
    name, and what is `recorded` of it; of a target with a parameter, ε for all its values.
    """
    for target in dict.fromkeys(check.target_text for check in checks):
        own = [check for check in checks if check.target_text == target]
        plain = [check for check in own if check.at is None]
        depends = any(check.for_all for check in own)
        questions = {} if depends or not plain else _questions(plain)
        for name in ("epsilon",) if depends else recorded.get(target, ()):
            if name not in questions:
                questions.update((name, each) for each in asking(f"compute {target}: {name}"))
        amounts = {
            name: _amount(question, explorations, limits) for name, question in questions.items()
        }
        bounds = {check.claim_text: _bounds(check) for check in own if check.kind == "check"}
        yield Measured(own[0].span.source.name, target, amounts, bounds)


def _questions(checks: Sequence[ResolvedCheck]) -> dict[str, ResolvedCheck]:
    """Return what to ask of a target, by the text of the quantity."""
    first = checks[0]
    plain = replace(first, atoms={}, kept_inputs=(), needs_later_neighbors=False)
    found: dict[str, tuple[ResolvedCheck, claims.Quantity]] = {}

    def ask(check: ResolvedCheck, quantity: claims.Quantity) -> None:
        found[quantity_text(quantity)] = check, quantity

    ask(plain, claims.TightEpsilon(0, first.span))
    for check in checks:
        match check.claim:
            case claims.PrivacyClaim(epsilon=epsilon, delta=delta) if check.kind == "check":
                ask(plain, claims.TightDelta(epsilon, check.span))
                ask(plain, claims.TightEpsilon(delta, check.span))
            case (
                claims.QuantityClaim(quantity=claims.LeastError() as error)
                | claims.QuantityValue(quantity=claims.LeastError() as error)
            ):
                ask(check, error)
    return {
        name: replace(
            check, kind="compute", claim=claims.QuantityValue(quantity, check.span), claim_text=name
        )
        for name, (check, quantity) in found.items()
    }


def _amount(
    question: ResolvedCheck, explorations: Explorations, limits: RunLimits
) -> Amount | None:
    """Return the value of a quantity, None where it stays undecided."""
    answer = answer_alone(question, explorations, limits)
    if answer is None or answer.is_undecided:
        return None
    known = answer.outcome.all_values
    if known is None:
        return answer.outcome.value
    pieces = [f"for {known.param} in {p.interval.text}: {p.text}" for p in known.pieces]
    return Amount("; ".join(pieces), "")


def _bounds(check: ResolvedCheck) -> Mapping[str, str]:
    """Return what a check bounds from above, and by what."""
    match check.claim:
        case claims.PrivacyClaim(epsilon=epsilon, delta=delta):
            return {"epsilon": exact_text(epsilon), "delta": exact_text(delta)}
        case claims.QuantityClaim(
            quantity=claims.TightEpsilon()
            | claims.TightDelta()
            | claims.LossQuantity()
            | claims.LeastError() as quantity,
            comparison="<=" | "<" as comparison,
            bound=bound,
        ):
            return {f"{quantity_text(quantity)} {comparison}": bound_amount(bound).exact}
        case _:
            return {}
