"""What each target costs, to be held beside what it cost before: ε, δ and accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from hashlib import blake2b

from dpcheck.check.all_values.decide import text_of_asked
from dpcheck.check.quantities.privacy import quantity_text
from dpcheck.check.values.amounts import bound_amount
from dpcheck.check.values.verdicts import Amount
from dpcheck.exact import (
    Epsilon,
    ExpNumber,
    Extended,
    ParamBudget,
    ParamNumber,
    exact_text,
    param_text,
)
from dpcheck.intervals import ParamInterval
from dpcheck.limits import LimitReached, RunLimits
from dpcheck.logic import claims
from dpcheck.model.program import Mechanism
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.left_open import amount_of
from dpcheck.pipeline.questions import answer_alone
from dpcheck.records import replace
from dpcheck.report.answers import Measured, Measuring, Stated
from dpcheck.resolve import ResolvedCheck

PROVED = "epsilon at most"
"""The name of what an alignment proves of a mechanism on all integers."""

LONGEST, SHOWN = 240, 60
"""No longer text is written into a baseline, else its first characters: lines are reviewed."""

Asking = Callable[[str], Sequence[ResolvedCheck]]
"""Returns questions as if the file ended with them."""


def measured(
    checks: Sequence[ResolvedCheck],
    explorations: Explorations,
    limits: RunLimits,
    recorded: Mapping[str, Sequence[str]],
    asking: Asking,
) -> Iterator[Measuring | Measured]:
    """Yield what each target costs that claims of a file are about, in their order.

    That is tight ε (not where all its budgets have a δ), δ at every ε and ε at every δ that its
    checks claim, every accuracy its claims name, and what is `recorded` of it; of a target with a
    parameter, ε for all its values; of one about all integers what an alignment proves, since
    windows would be searched for all else.
    """
    for target in dict.fromkeys(check.target_text for check in checks):
        own = [check for check in checks if check.target_text == target]
        file = own[0].span.source.name
        amounts: dict[str, Amount | None] = {}
        if isinstance(own[0].target, Mechanism) and own[0].target.has_unbounded_inputs:
            yield Measuring(file, target, PROVED)
            amounts = _proved(own[0].target, limits)
        else:
            questions = _to_ask(target, own, recorded.get(target, ()), asking)
            for name, question in questions.items():
                yield Measuring(file, target, name)
                amounts[name] = _amount(question, explorations, limits)
        yield Measured(file, target, amounts)


def _proved(mechanism: Mechanism, limits: RunLimits) -> dict[str, Amount | None]:
    """Return what an alignment proves of ε, nothing where none does."""
    from dpcheck.pipeline.claims.proofs import proved_bound

    try:
        most = proved_bound(mechanism, limits.of_a_claim())
    except LimitReached:
        return {PROVED: None}
    if most is None:
        return {}
    amount = amount_of(most)
    if isinstance(most, ParamBudget):
        amount = Amount(f"for {most.param.name} in {most.param.text}: {amount.exact}", "")
    return {PROVED: _kept(amount)}


def _to_ask(
    target: str, own: Sequence[ResolvedCheck], recorded: Sequence[str], asking: Asking
) -> dict[str, ResolvedCheck]:
    """Return what to ask of a target, by the text of the quantity."""
    plain = [check for check in own if check.at is None]
    depends = any(check.for_all for check in own)
    questions = {} if depends or not plain else _questions(plain)
    for name in ("epsilon",) if depends else recorded:
        if name not in questions:
            questions.update((name, each) for each in asking(f"compute {target}: {name}"))
    return questions


def _questions(checks: Sequence[ResolvedCheck]) -> dict[str, ResolvedCheck]:
    """Return what to ask of a target, by the text of the quantity."""
    first = checks[0]
    plain = replace(first, atoms={}, kept_inputs=(), needs_later_neighbors=False)
    found: dict[str, tuple[ResolvedCheck, claims.Quantity]] = {}

    def ask(check: ResolvedCheck, quantity: claims.Quantity) -> None:
        found[quantity_text(quantity)] = check, quantity

    deltas = {bounds["delta"] for each in checks if "delta" in (bounds := _checked(each))}
    if not deltas or "0" in deltas:  # else ε alone may be infinite, and nobody asks
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
        return None if answer.outcome.value is None else _kept(answer.outcome.value)
    pieces = [
        f"for {known.param} in {_exact(p.interval).text}: {p.most or p.exact}" for p in known.pieces
    ]
    return _kept(Amount("; ".join(pieces), ""))


def _exact(interval: ParamInterval) -> ParamInterval:
    """Return an interval whose irrational ends are not taken for the numbers they are close to."""
    ends = (
        end if end.exact is not None else replace(end, exact=f"≈{end.decimal}")
        for end in (interval.low, interval.high)
    )
    return ParamInterval(*ends)


def _kept(amount: Amount) -> Amount:
    """Return an amount as a line that people can review: a hash in place of a long text.

    By that it is known whether two are the same. Before it stand decimals below and above a number,
    of what is none how it begins.
    """
    text = amount.exact
    if len(text) <= LONGEST:
        return amount
    begins = f"{text[:SHOWN]}…"
    if amount.decimal and amount.param is None:
        around, context = Decimal(amount.decimal), Context(prec=17)  # correctly rounded
        begins = f"in [{around.next_minus(context)}, {around.next_plus(context)}]"
    digest = blake2b(text.encode(), digest_size=16).hexdigest()
    return Amount(f"{begins} ({len(text)} characters, blake2b {digest})", "")


# --- claims --------------------------------------------------------------------------------


def stated(check: ResolvedCheck) -> Stated:
    """Return what a check bounds from above, and for which values of a parameter."""
    for_all = check.for_all
    if for_all is None:
        return Stated("", _bounds(check))
    if for_all.single is not None:
        values = f"{{{exact_text(for_all.single)}}}"
    else:
        line = for_all.line()
        values = text_of_asked(for_all, line, for_all.asked(line))
    return Stated(f"{for_all.param.name} in {values}", _bounds(check))


def _checked(check: ResolvedCheck) -> dict[str, str]:
    return _bounds(check) if check.kind == "check" else {}


def _bounds(check: ResolvedCheck) -> dict[str, str]:
    """Return what a check bounds from above, and by what.

    `dp(e, d)`, `epsilon(d) <= e` and `delta(e) <= d` say the same. An equation is a bound as well.
    """

    def text(value: Epsilon | Extended) -> str:
        if check.for_all is not None and isinstance(value, ExpNumber):
            for_all = check.for_all
            return param_text(ParamNumber(value, for_all.param, for_all.is_exponential))
        return param_text(value) if isinstance(value, ParamBudget) else bound_amount(value).exact

    match check.claim:
        case claims.PrivacyClaim(epsilon=epsilon, delta=delta):
            return {"epsilon": text(epsilon), "delta": text(delta)}
        case claims.QuantityClaim(quantity=quantity, comparison="<=" | "<" | "=" as sign, bound=b):
            beyond = " <" if sign == "<" else ""
        case _:
            return {}
    match quantity:
        case claims.TightEpsilon(delta=delta):
            return {f"epsilon{beyond}": text(b), "delta": text(delta)}
        case claims.TightDelta(epsilon=epsilon):
            return {"epsilon": text(epsilon), f"delta{beyond}": text(b)}
        case claims.LeastError():
            return {f"{quantity_text(quantity)}{beyond}": text(b)}
        case claims.LossQuantity() if sign != "=":  # of some less is worse
            return {f"{quantity_text(quantity)}{beyond}": text(b)}
        case _:
            return {}
