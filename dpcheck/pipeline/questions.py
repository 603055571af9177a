"""The claims of one file, answered: outcomes with why they are so, and with their evidence."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, assert_never, cast

from dpcheck.check.values.measures import ClaimRejected
from dpcheck.check.values.verdicts import (
    Amount,
    Coverage,
    Enough,
    Outcome,
    Phrase,
    Undecided,
    Violated,
)
from dpcheck.diagnostics.claims import SeveralStates
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.exact import ExpNumber, ParamNumber, TooLarge, exact_text, param_text
from dpcheck.explore import Explored, MistakesFound
from dpcheck.explore.open_queries import UNBOUNDED
from dpcheck.limits import Limit, LimitReached, Limits, RunLimits, too_large
from dpcheck.logic.claims import (
    ForAll,
    PrivacyClaim,
    QuantityClaim,
    QuantityValue,
    TightDelta,
    TightEpsilon,
    is_about_pairs,
)
from dpcheck.model.program import Mechanism
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.claims.fewer_inputs import fewer_inputs
from dpcheck.pipeline.claims.outcomes import Ready, decided, made_ready, outcome_of
from dpcheck.pipeline.evidence.witnesses import (
    Heading,
    everywhere,
    is_shown_by_window,
    lacking,
    witnessed,
)
from dpcheck.records import dataclass, field, replace
from dpcheck.report.answers import (
    Answer,
    Asked,
    Crash,
    Decided,
    Known,
    Started,
    advised,
    ended_by,
    region_of,
)
from dpcheck.report.coverage import covered_by
from dpcheck.resolve import ResolvedCheck
from dpcheck.source import SourceText

if TYPE_CHECKING:
    from dpcheck.check.values.verdicts import AllValues
    from dpcheck.exact import Number, Param
    from dpcheck.explain import Detail, Explanation
    from dpcheck.explain.explanation import Tight
    from dpcheck.explain.subject import Subject
    from dpcheck.intervals import ParamInterval
    from dpcheck.model.values import Value
    from dpcheck.resolve import Resolved

_MAX_PIECES = 2
"""So many pieces of an ε over a parameter are read at once."""


def is_selected(check: ResolvedCheck, pattern: str | None) -> bool:
    """Return whether a claim's name, target or text matches a glob; a plain text matches itself."""
    if pattern is None:
        return True
    target = check.target_text
    texts = [check.name, target, target.partition("(")[0], check.claim_text]
    texts.append(f"{target}: {check.claim_text}")
    return pattern in texts or any(text and fnmatchcase(text, pattern) for text in texts)


def answered(
    check: ResolvedCheck,
    asked: Asked,
    explorations: Explorations,
    allowed: RunLimits,
    detail: Detail | None = None,
    heading: Heading | None = None,
) -> Iterator[Started | Known | Decided | Answer | Mistake | Crash]:
    """Yield that work on a claim starts, what is known, then its answer, or mistakes or a bug.

    A claim that is violated and should not be is explained in as much detail as asked, if it is.
    With a heading the answer has a witness. Its verdict is told before that work begins, and stands
    whatever a bug there costs.
    """
    yield Started(asked)
    work = _Work(check, asked, explorations, allowed.of_a_claim(), heading)
    try:
        outcome, shown = yield from work.outcome()
    except MistakesFound as found:
        yield from _one_a_place(found.mistakes)
    except ClaimRejected as rejected:
        yield _with_condition(rejected.mistake, check, work.explored)
    except (LimitReached, TooLarge) as limit:
        yield work.undecided(_limit_of(limit, allowed))
    except (RecursionError, MemoryError) as limit:
        explorations.forget()
        yield work.undecided(_limit_of(limit, allowed))
    except Exception:  # noqa: BLE001 - a bug costs this claim and no other
        import traceback

        explorations.forget()
        yield Crash(f"{asked.file}:{asked.line}", traceback.format_exc())
    except BaseException:
        explorations.forget()
        raise
    else:
        decided = work.answer(outcome)
        if shown is None:
            yield replace(decided, witness=everywhere(check, heading, outcome))
        else:
            yield from _told(decided, shown, work.limits, detail, heading)


def answer_alone(
    check: ResolvedCheck, explorations: Explorations, allowed: RunLimits
) -> Answer | None:
    """Return the answer to a question that nobody wrote, if it has one."""
    events = answered(check, asked_of(check), explorations, allowed)
    return next((event for event in events if isinstance(event, Answer)), None)


@dataclass
class _Work:
    """A claim that is being answered; `explored` is its chain once there is one, to be counted.

    `known` is its outcome if a limit is reached.
    """

    check: ResolvedCheck
    asked: Asked
    explorations: Explorations
    limits: Limits
    heading: Heading | None
    started: float = field(default_factory=time.monotonic)  # [s]
    explored: Explored | None = None
    known: Outcome | None = None

    def outcome(self) -> Generator[Known, None, tuple[Outcome, Ready | None]]:
        """Return the outcome, and the claim with the chain that its counterexample is about.

        No chain has infinitely many inputs. Raises what `answered` makes answers of.
        """
        check, limits = self.check, self.limits
        limits.check_time("the work on this claim had not begun")
        if isinstance(check.target, Mechanism) and check.target.has_unbounded_inputs:
            return (yield from self.outcome_everywhere())
        try:
            check = self.explorations.closed(check, limits)
        except LimitReached as reached:
            if reached.limit != UNBOUNDED:
                raise
            from dpcheck.pipeline.claims.analysts import outcome_over_analysts

            return outcome_over_analysts(check, limits)
        try:
            self.explored = self.explorations.explored(check, limits)  # labels may take too long
        except LimitReached as reached:
            if reached.limit.kind != "states":
                raise
            return self.outcome_of_many(check, reached)
        ready = made_ready(check, self.explorations, limits)
        self.explored = ready.explored
        return outcome_of(ready, limits)

    def outcome_of_many(
        self, check: ResolvedCheck, reached: LimitReached
    ) -> tuple[Outcome, Ready | None]:
        """Return the outcome where states are too many, if all integers or a few inputs tell it."""
        from dpcheck.pipeline.claims.many_inputs import proved_everywhere, violated_by_some

        proved, claim = proved_everywhere(check, self.limits)
        if proved is not None:
            return proved, None
        violated = violated_by_some(check, self.limits)
        if violated is not None:
            return violated
        limit = reached.limit
        if claim and limit.advice:
            advice = f"claim what is proved, `{claim}`, or {limit.advice}"
            limit = replace(limit, advice=advice)
        raise LimitReached(limit, reached.progress)

    def outcome_everywhere(self) -> Generator[Known, None, tuple[Outcome, Ready | None]]:
        """Return the outcome for inputs that are all integers, and tell what is known before."""
        from dpcheck.pipeline.claims.everywhere import outcomes_everywhere

        work = outcomes_everywhere(self.check, self.limits)
        while True:
            try:
                self.known = next(work)
            except StopIteration as end:
                return cast("tuple[Outcome, Ready | None]", end.value)
            yield Known(self.asked, self.known)

    def answer(self, outcome: Outcome) -> Answer:
        """Return an outcome as an answer, with the sizes of the chain and the time it took."""
        sizes = None
        if self.explored is not None:
            whole = self.explored.sizes
            sizes = whole.n_states, whole.n_transitions
            if self.explored.whole is not None:
                outcome = replace(outcome, coverage=Coverage(whole.n_pairs))
        return self.asked.answered(outcome, sizes, time.monotonic() - self.started)

    def undecided(self, limit: LimitReached) -> Answer:
        """Return that a limit was reached, without evidence, with what was known by then."""
        coverage = Coverage(0)
        if self.explored is not None:
            coverage = Coverage(self.explored.sizes.n_pairs)
        reached = advised(limit.limit, self.asked)
        outcome = Outcome(Undecided(reached, Phrase.of(limit.progress)), coverage)
        if self.known is not None:
            outcome = ended_by(reached, self.known)
        why = "the claim has no verdict"
        witness = lacking(self.check, self.heading, why)
        return replace(self.answer(outcome), witness=witness)


def _told(
    answer: Answer, ready: Ready, limits: Limits, detail: Detail | None, heading: Heading | None
) -> Iterator[Decided | Answer | Crash]:
    """Yield an answer with why it is violated and with its witness, as far as they are wanted."""
    is_wrong = ready.check.kind == "check" and isinstance(answer.outcome.verdict, Violated)
    if (detail is not None and is_wrong) or heading is not None:
        yield Decided(answer)
    why: Explanation | None = None
    faults: Sequence[str] = ()
    if detail is not None and is_wrong:
        why, faults = _explained(ready, answer, limits, detail)
        answer = replace(answer, explanation=why)
    elif heading is not None and ready.check.kind == "refute":
        why, faults = _explained(ready, answer, limits, "none")
    if ready.whole is not None and not is_shown_by_window(ready.whole, answer.outcome):
        yield replace(answer, witness=everywhere(ready.whole, heading, answer.outcome))
    else:
        yield from witnessed(answer, ready, heading, why, limits)
    for fault in faults:
        yield Crash(f"{answer.file}:{answer.line}", fault)


def _explained(
    ready: Ready, answer: Answer, limits: Limits, detail: Detail
) -> tuple[Explanation | None, Sequence[str]]:
    """Return why a claim is violated, as far as it is said in time, and tracebacks of bugs."""
    from dpcheck.explain.explain import explain, short_limits
    from dpcheck.explain.explanation import Setting
    from dpcheck.explain.subject import Subject
    from dpcheck.pipeline.claims.smaller import smaller_model

    check = ready.check
    if check.for_all is not None:
        return None, ()  # no value is rational where it is violated
    asked, outcome = ready.whole, answer.outcome
    known = outcome.all_values
    shown_at = None if known is None else known.shown_at
    if asked is not None and asked.chosen is not None and shown_at is not None:
        ready = replace(ready, whole=asked.chosen(shown_at).checks[0])
    ready.truths.limits = limits = short_limits(limits)
    subject = Subject(
        *(check.claim, check.at, check.target, ready.explored, ready.chain),
        *(ready.truths, limits, (), ready.measures, outcome.value),
        ask=partial(_asked, ready, limits),
        is_window=(ready.whole or ready.of_analysts) is not None,
        detail=detail,
    )
    subject = replace(subject, parts=[*_parts_alone(ready, subject)])
    found, whole = explain(subject, outcome), ready.explored.whole
    if found is not None and found.others is not None and whole is not None:
        # Of each block those pairs were kept that exceed the budget most.
        others = replace(found.others, n_pairs=whole.n_pairs, is_complete=False)
        found = replace(found, others=others)
    if found is not None and known is not None and known.sample:
        tight = found.tight or subject.part("tight", lambda: _value_there(subject))
        if tight is not None:
            texts = [*_least_epsilon(subject, ready, asked), *_claims_that_hold(answer, known)]
            found = replace(found, tight=_at_value(tight, known, texts))
    if found is not None and detail == "full" and ready.whole is None:
        n_inputs = ready.explored.sizes.n_initial
        smaller = subject.part("also", lambda: smaller_model(check, n_inputs, limits))
        found = replace(found, also=tuple(starmap(Setting, (smaller or {}).items())))
    return found, tuple(subject.faults.values())


def _value_there(subject: Subject) -> Tight | None:
    """Return what a quantity is, which stands beside no verdict for all values of a parameter."""
    from dpcheck.check.quantities.privacy import quantity_text
    from dpcheck.explain.explanation import Tight

    if not isinstance(claim := subject.claim, QuantityClaim):
        return None
    value = subject.ask(QuantityValue(claim.quantity, claim.span))
    if value is None:
        return None
    word, is_chance = quantity_text(claim.quantity), isinstance(claim.quantity, TightDelta)
    return Tight(Phrase.of(Enough(value, "<=", word, is_chance=is_chance)))


_Told = tuple[str, "Sequence[ParamInterval]"]
"""What is true of all values of some intervals, ends rounded inward, and these as they are."""


def _least_epsilon(subject: Subject, ready: Ready, whole: ResolvedCheck | None) -> Iterator[_Told]:
    """Yield the least ε for all values of a parameter, where it has few pieces, and is not slow.

    Of inputs that are all integers it is that of the `whole`: what is explained is a window.
    """
    every = ready.for_all
    if every is None or not isinstance(claim := every.check.claim, PrivacyClaim):
        return
    known = subject.part("tight", lambda: _pieces_of_epsilon(every, whole, ready.truths.limits))
    if known is None or len(known.pieces) > _MAX_PIECES:
        return
    if any(piece.most is not None for piece in known.pieces):
        return
    pieces = [(piece, inside) for piece in known.pieces if (inside := piece.interval.inside)]
    name = _epsilon_text(claim.delta, every.check.for_all)
    declared, told, narrower = _declared(every.check), [], []
    for piece, inside in pieces:
        written, values = f"{name} = {piece.text}", f"{known.param} in {inside.claimed}"
        is_constant = not re.search(rf"\b{known.param}\b", piece.text)
        if is_constant or _is_claim(written, values, f"{known.param} in {declared}"):
            told.append((f"{piece.text} for {known.param} in {inside.text}", piece.interval))
        elif _is_claim(written, values, values):
            narrower.append((f"with param {values}: {written}", [piece.interval]))
    if told:
        yield f"{name} = {', '.join(text for text, _ in told)}", [each for _, each in told]
    yield from narrower


_ANY = "mechanism m { input x in 0..1  adjacent all  output x }"


def _declared(check: ResolvedCheck) -> str:
    """Return the interval of the parameter that a check is about, also where it asks a part."""
    from dpcheck.resolve.expressions.params import params_in

    assert check.for_all is not None, "it is about one"
    values = params_in((check.target, check.claim))
    found = (value.param for value in values if not isinstance(value, ExpNumber))
    return next(found, check.for_all.param).text


def _is_claim(text: str, part: str, declared: str) -> bool:
    """Return whether a file may claim this of some values of its parameter.

    ln((1 - p)/p) is no budget where p may be 0, whatever part is asked.
    """
    from dpcheck.parse import parse_model
    from dpcheck.resolve import resolve_model

    model = f"param {declared}\n{_ANY}\ncheck m for {part}: {text}"
    parsed = parse_model(SourceText("claim", model))
    found = (*parsed.mistakes, *resolve_model(parsed.model).mistakes)
    return all(mistake.severity == "warning" for mistake in found)


def _pieces_of_epsilon(
    every: Ready, whole: ResolvedCheck | None, limits: Limits
) -> AllValues | None:
    """Return what is known of the least ε of a `dp` claim for all values, None if it is slow."""
    from dpcheck.explain.explain import short_limits
    from dpcheck.pipeline.claims.everywhere import outcome_everywhere

    try:
        if whole is not None:
            return outcome_everywhere(_asking_epsilon(whole), short_limits(limits))[0].all_values
        asked = replace(every, check=_asking_epsilon(every.check))
        return outcome_of(asked, short_limits(limits))[0].all_values
    except (ClaimRejected, LimitReached):
        return None


def _epsilon_text(delta: Number, for_all: ForAll | None) -> str:
    """Return `epsilon(delta)` with a δ that may depend on the parameter, `epsilon` for δ = 0."""
    if for_all is None or not isinstance(delta, ExpNumber):
        return "epsilon" if delta == 0 else f"epsilon({exact_text(delta)})"
    return f"epsilon({param_text(ParamNumber(delta, for_all.param, for_all.is_exponential))})"


def _asking_epsilon(check: ResolvedCheck) -> ResolvedCheck:
    """Return the question for the least ε of a `dp` claim; so it is for each value of a param."""
    claim, chosen = check.claim, check.chosen
    assert isinstance(claim, PrivacyClaim), "it is claimed of the same target"
    quantity = QuantityValue(TightEpsilon(claim.delta, claim.span), claim.span)
    if chosen is None:
        return replace(check, claim=quantity)

    def asked_of(value: Value | Param) -> Resolved:
        found = chosen(value)
        return replace(found, checks=tuple(map(_asking_epsilon, found.checks)))

    return replace(check, claim=quantity, chosen=asked_of)


def _claims_that_hold(answer: Answer, known: AllValues) -> Iterator[_Told]:
    """Yield a claim for those intervals of values for which it holds."""
    at = "" if answer.at is None else f" at {answer.at}"
    for each in known.holds_for if known.is_exact else ():
        inside = each.inside
        if inside is not None and inside.low != inside.high:
            values = f"{known.param} in {inside.claimed}"
            yield f"check {answer.target} for {values}{at}: {answer.claim}", [each]


def _at_value(tight: Tight, known: AllValues, told: Sequence[_Told]) -> Tight:
    """Return what is tight at one value of a parameter, after what is so for all of some."""
    texts = [text for text, _ in told]
    ends = [end for _, intervals in told for each in intervals for end in each.rounded_ends]
    if ends:
        texts.append(f"rounded inward: {', '.join(dict.fromkeys(ends))}")
    setting = f"{known.param}={known.sample}"
    texts.append(f"with -D {setting}: " if "(" not in setting else f"with -D '{setting}': ")
    return replace(tight, text=Phrase.of("; ".join(texts), *tight.text.parts))


def _parts_alone(ready: Ready, subject: Subject) -> Iterator[tuple[Subject, int, int]]:
    """Yield the parts of an arrangement, each as the subject of the claim."""
    for part, number in zip(ready.check.parts, ready.numbers, strict=True):
        alone, own = subject, ready.sources[number]
        if number > 0:
            alone = replace(subject, target=part.target, explored=own.explored, chain=own.chain)
        yield alone, part.distance, part.times


def _asked(ready: Ready, limits: Limits, claim: QuantityValue) -> Amount | None:
    """Return a quantity of the target that a claim is about; None where it has none."""
    if ready.of_analysts is not None:
        from dpcheck.pipeline.claims.analysts import outcome_over_analysts

        return outcome_over_analysts(replace(ready.of_analysts, claim=claim), limits)[0].value
    if ready.whole is None:
        asked = replace(ready.check, claim=claim)  # of all that is told, not of less
        return decided(made_ready(asked, ready.explorations, limits), limits)[0].value
    target = ready.whole.target
    is_finite = isinstance(target, Mechanism) and not target.has_unbounded_inputs
    if ready.whole.for_all is not None or is_finite:
        return None
    from dpcheck.pipeline.claims.everywhere import outcome_everywhere

    return outcome_everywhere(replace(ready.whole, claim=claim), limits)[0].value


def _one_a_place(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """Yield the first mistake of each kind at each place: other runs meet it with other values."""
    seen = set()
    for mistake in mistakes:
        key = type(mistake), mistake.span
        if key not in seen:
            seen.add(key)
            yield mistake


def _with_condition(mistake: Mistake, check: ResolvedCheck, explored: Explored | None) -> Mistake:
    """Return a mistake with what to write, where it asks for one of several states."""
    if not isinstance(mistake, SeveralStates) or explored is None:
        return mistake
    from dpcheck.pipeline.conditions import condition_of, with_bound_inside

    condition = condition_of(mistake.states[0], check.target, explored)
    for_each = with_bound_inside(check.claim_text) if check.kind == "check" else None
    return replace(mistake, condition=condition, for_each=for_each)


def _limit_of(
    reached: LimitReached | TooLarge | RecursionError | MemoryError, allowed: RunLimits
) -> LimitReached:
    """Return the limit that an exception says was reached."""
    match reached:
        case LimitReached():
            return reached
        case TooLarge():
            return too_large(str(reached), "use exponents that are small multiples of one number")
        case RecursionError():
            return too_large("a value is nested too deeply", "values of fewer levels")
        case MemoryError():
            return LimitReached(Limit("memory", allowed.max_memory or 0))
    assert_never(reached)


def asked_of(
    check: ResolvedCheck, heading: Heading | None = None, *, is_strict: bool = False
) -> Asked:
    """Return a claim as people see it; with `is_strict`, one that says nothing is not ok.

    With a heading it has a witness, which lacks evidence as long as nobody has made it.
    """
    return Asked(
        file=check.span.source.name,
        line=check.span.line,
        name=check.name,
        kind=check.kind,
        target=check.target_text,
        at=check.at_text,
        claim=check.claim_text,
        covers=covered_by(check.target),
        is_strict=is_strict,
        region=region_of(check.span),
        witness=lacking(check, heading, "its work was ended before it was made"),
        is_about_pairs=is_about_pairs(check.claim),
        less=fewer_inputs(check.target, check.parameters),
    )
