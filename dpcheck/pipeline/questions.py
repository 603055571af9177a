"""The claims of one file, answered: a target is explored once for all claims that can share it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache, partial
from itertools import starmap
from math import inf
from typing import TYPE_CHECKING, assert_never

from dpcheck.chain.chain import Chain
from dpcheck.check.decide import ClaimRejected, decide, decide_arranged, nothing_asked
from dpcheck.check.formulas.truths import BEYOND, Truths
from dpcheck.check.quantities.privacy import EventClaim
from dpcheck.check.values.event_text import going_on
from dpcheck.check.values.measures import TOO_FAR, EndValue, Measures
from dpcheck.check.values.verdicts import (
    Amount,
    Counterexample,
    Coverage,
    Outcome,
    Phrase,
    Undecided,
    Violated,
)
from dpcheck.diagnostics.claims import SeveralStates
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.runs import RunMistake
from dpcheck.exact import Number, TooLarge, divide, log
from dpcheck.explore import Explored, MistakesFound, explore, labelled
from dpcheck.explore.explored import at_end, measured, with_less_told
from dpcheck.explore.open_queries import UNBOUNDED, check_named, with_queries_closed
from dpcheck.explore.tails.tails import Window, WindowTooSmall
from dpcheck.limits import Limit, LimitReached, Limits, RunLimits, too_large
from dpcheck.logic.claims import Claim, QuantityClaim, QuantityValue
from dpcheck.model.atoms import AtEnd, Measure
from dpcheck.model.program import Mechanism, Target
from dpcheck.model.values import Value, value_text
from dpcheck.pipeline.conditions import condition_of
from dpcheck.pipeline.evidence.witnesses import Heading, everywhere, lacking, witnessed
from dpcheck.pipeline.options import Spread, in_place
from dpcheck.pipeline.shown_numbers import (
    decided_between,
    decided_for_all,
    is_told_in_kinds,
    undecided_beyond,
    wider_window,
)
from dpcheck.pipeline.sieve import sieved, sifted_claim
from dpcheck.records import dataclass, field, replace
from dpcheck.report import Answer, Asked, Crash, Decided, Started
from dpcheck.report.answers import region_of
from dpcheck.report.coverage import covered_by
from dpcheck.resolve import Resolved, ResolvedCheck

if TYPE_CHECKING:
    from dpcheck.align.windows import Size
    from dpcheck.explain import Detail, Explanation
    from dpcheck.pipeline.everywhere import Seen, Worst

Key = tuple[int, frozenset[str], bool, bool]
Explorable = Explored | MistakesFound | LimitReached

MAX_WIDER = 3
"""How often the window is made twice as wide for formulas inside of a path.

From 3 integers that leads to 37; a formula that depends on more would with every window.
"""

MAX_WIDENED = 16
"""How often the window of shown numbers is made twice as wide for errors: to 2^16 integers."""

MORE_TIME = 1.1
"""A chain that was given up is tried again with so many times the time it had."""


@dataclass
class Explorations:
    """The chains built so far, by target and by what claims need of it.

    A limit or a mistake met once is met again by every claim that needs the same chain, without
    doing the work again. Of those `to_answer` that worst pairs decide, a chain has these alone
    where inputs are many; blocks of them are `spread`.
    """

    to_answer: Sequence[ResolvedCheck] = ()
    spread: Spread = in_place
    _found: dict[Key, Explorable] = field(default_factory=dict)
    _seconds: dict[Key, float] = field(default_factory=dict)  # that an attempt had
    _windows: dict[Key, Window] = field(default_factory=dict)  # of numbers without bounds
    _targets: list[Target] = field(default_factory=list)  # keeps `id` from being used again
    _closed: dict[int, Mechanism | LimitReached] = field(default_factory=dict)  # by target
    _sifted: dict[int, Sequence[EventClaim]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note for each claim all those about its target, if worst pairs decide every one."""
        found: defaultdict[int, list[EventClaim | None]] = defaultdict(list)
        for check in self.to_answer:
            found[id(check.target)].append(sifted_claim(check))
        sifted = {
            target: [claim for claim in claims if claim is not None]
            for target, claims in found.items()
            if None not in claims
        }
        self._sifted = {id(each): sifted.get(id(each.target), []) for each in self.to_answer}

    def closed(self, check: ResolvedCheck, limits: Limits) -> ResolvedCheck:
        """Return a claim about a mechanism without an analyst who has fixed queries.

        Raises `LimitReached` with `UNBOUNDED` where these are inputs of no finite number.
        """
        if not isinstance(check.target, Mechanism):
            return check
        key = id(check.target)
        if key not in self._closed:
            try:
                self._closed[key] = with_queries_closed(check.target, limits)
            except LimitReached as reached:
                if reached.limit != UNBOUNDED:
                    raise
                self._closed[key] = reached.with_traceback(None)
            self._targets.append(check.target)
        target = self._closed[key]
        if isinstance(target, LimitReached):
            raise target.with_traceback(None)
        if target is check.target:
            return check
        check_named(check.atoms, check.target, target, check.span)
        return replace(check, target=target)

    def explored(self, check: ResolvedCheck, limits: Limits) -> Explored:
        """Return the chain a claim needs; raises `MistakesFound` or `LimitReached`."""
        key = self._key(check)
        if key not in self._found or self._may_come_further(key, limits):
            self._targets.append(check.target)
            self._seconds[key] = seconds_left(limits.deadline)
            self._found[key] = self._attempt(check, limits, self._windows.get(key))
        found = self._found[key]
        if isinstance(found, Explored):
            found.table.limits = limits  # values are still computed, now for this claim
            return found
        raise found.with_traceback(None)  # which would keep all that was being made

    def _key(self, check: ResolvedCheck) -> Key:
        kept, is_sifted = frozenset(check.kept_inputs), bool(self._sifted.get(id(check)))
        return id(check.target), kept, check.needs_later_neighbors, is_sifted

    def _attempt(self, check: ResolvedCheck, limits: Limits, window: Window | None) -> Explorable:
        claims = self._sifted.get(id(check))
        try:
            if claims and isinstance(check.target, Mechanism):
                return sieved(check.target, claims, window, limits, self.spread)
            return explore(
                check.target,
                kept_inputs=frozenset(check.kept_inputs),
                later_neighbors=check.needs_later_neighbors,
                window=window,
                limits=limits,
            )
        except (MistakesFound, LimitReached) as stopped:
            return stopped.with_traceback(None)

    def labelled(self, check: ResolvedCheck, limits: Limits) -> tuple[Explored, Chain]:
        """Return what `explored` does, and the chain with the labels of a claim's atoms."""
        while True:
            explored = self.explored(check, limits)
            try:
                chain = labelled(explored, check.atoms) if check.atoms else explored.chain
                measures_of(explored, check, chain.n_states)
            except WindowTooSmall as found:
                self.widen(check, found.window)
            else:
                return explored, chain

    def widen(self, check: ResolvedCheck, window: Window) -> None:
        """Let the chain a claim needs have another window for numbers without bounds."""
        key = self._key(check)
        self._windows[key] = window
        self._found.pop(key, None)

    def _may_come_further(self, key: Key, limits: Limits) -> bool:
        """Return whether a chain was given up for want of time, of which there is more now.

        Another claim may have used up much of its time before it came to the chain.
        """
        found = self._found[key]
        is_late = isinstance(found, LimitReached) and found.limit.kind == "time"
        return is_late and seconds_left(limits.deadline) > MORE_TIME * max(self._seconds[key], 0.0)

    def forget(self) -> None:
        """Let go of all chains: who was stopped at any point may have left values half entered."""
        self._found.clear()
        self._windows.clear()
        self._seconds.clear()
        self._closed.clear()
        self._targets.clear()


def seconds_left(deadline: float | None) -> float:
    """Return the time until a deadline, [s]."""
    return inf if deadline is None else deadline - time.monotonic()


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
) -> Iterator[Started | Decided | Answer | Mistake | Crash]:
    """Yield that work on a claim starts, then its answer, or the mistakes or bug it ran into.

    A claim that is violated and should not be is explained in as much detail as asked, if it is.
    With a heading the answer has a witness. Its verdict is told before that work begins, and stands
    whatever a bug there costs.
    """
    yield Started(asked)
    work = _Work(check, asked, explorations, allowed.of_a_claim(), heading)
    try:
        outcome, shown = work.outcome()
    except MistakesFound as found:
        yield from _one_a_place(found.mistakes)
    except ClaimRejected as rejected:
        yield _with_condition(rejected.mistake, check.target, work.explored)
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


@dataclass
class _Work:
    """A claim that is being answered; `explored` is its chain once there is one, to be counted."""

    check: ResolvedCheck
    asked: Asked
    explorations: Explorations
    limits: Limits
    heading: Heading | None
    started: float = field(default_factory=time.monotonic)  # [s]
    explored: Explored | None = None

    def outcome(self) -> tuple[Outcome, _Ready | None]:
        """Return the outcome, and the claim with the chain that its counterexample is about.

        No chain has infinitely many inputs. Raises what `answered` makes answers of.
        """
        check, limits = self.check, self.limits
        limits.check_time("the work on this claim had not begun")
        if isinstance(check.target, Mechanism) and check.target.has_unbounded_inputs:
            return _everywhere(check, limits)
        try:
            check = self.explorations.closed(check, limits)
        except LimitReached as reached:
            if reached.limit != UNBOUNDED:
                raise
            return _over_all_analysts(check, limits)
        self.explored = self.explorations.explored(check, limits)  # labels may take too long
        ready = _ready(check, self.explorations, limits)
        self.explored = ready.explored
        return _outcome(ready, limits)

    def answer(self, outcome: Outcome) -> Answer:
        """Return an outcome as an answer, with the sizes of the chain and the time it took."""
        sizes = None
        if self.explored is not None:
            whole = self.explored.sizes
            sizes = whole.n_states, whole.n_transitions
            if self.explored.whole is not None:
                outcome = replace(outcome, coverage=Coverage(whole.n_initial, whole.n_pairs))
        return self.asked.answered(outcome, sizes, time.monotonic() - self.started)

    def undecided(self, limit: LimitReached) -> Answer:
        """Return that a limit was reached, without evidence."""
        stopped = self.answer(_undecided(limit, self.explored))
        return replace(
            stopped, witness=lacking(self.check, self.heading, "the claim has no verdict")
        )


def _told(
    answer: Answer, ready: _Ready, limits: Limits, detail: Detail | None, heading: Heading | None
) -> Iterator[Decided | Answer | Crash]:
    """Yield an answer with why it is violated and with its witness, as far as they are wanted."""
    is_wrong = ready.check.kind == "check" and isinstance(answer.outcome.verdict, Violated)
    if (detail is not None and is_wrong) or heading is not None:
        yield Decided(answer)
    why: Explanation | None = None
    faults: Sequence[str] = ()
    if detail is not None and is_wrong:
        why, faults = _explained(ready, answer.outcome, limits, detail)
        answer = replace(answer, explanation=why)
    elif heading is not None and ready.check.kind == "refute":
        why, faults = _explained(ready, answer.outcome, limits, "none")
    if ready.whole is not None:
        yield replace(answer, witness=everywhere(ready.whole, heading, answer.outcome))
    else:
        yield from witnessed(answer, ready.check, ready.chain, ready.parts, heading, why, limits)
    for fault in faults:
        yield Crash(f"{answer.file}:{answer.line}", fault)


@dataclass(frozen=True, eq=False)
class _Ready:
    """A claim with the chain it is about; `parts` are those of an arrangement.

    `truths` is what was computed so far of formulas on the chain. Of a claim about infinitely many
    inputs, `whole`, it is a window.
    """

    check: ResolvedCheck
    explored: Explored
    chain: Chain
    parts: Sequence[tuple[Chain, int, int]]
    explorations: Explorations
    truths: Truths
    whole: ResolvedCheck | None = None

    @property
    def measures(self) -> Measures:
        """The numbers that the claim measures."""
        return measures_of(self.explored, self.check, self.chain.n_states)


def _ready(check: ResolvedCheck, explorations: Explorations, limits: Limits) -> _Ready:
    """Return a claim with its chain, labelled; raises `MistakesFound` or `LimitReached`."""
    check = explorations.closed(check, limits)
    explored, chain = explorations.labelled(check, limits)
    parts = _parts(check, chain, explorations, limits)
    return _Ready(check, explored, chain, parts, explorations, Truths(chain, limits))


def _outcome(ready: _Ready, limits: Limits) -> tuple[Outcome, _Ready]:
    """Return the outcome of a claim, and the claim that its counterexample is about.

    That is another one for a claim about all values of a parameter: the same for one value.
    """
    check, at_values = ready.check, dict[Value, _Ready]()
    if check.for_all is None:
        return _decided(ready, limits)
    from dpcheck.check.all_values.decide import NOT_SHOWN, decide_for_all, violated_somewhere

    def at_value(claim: Claim, value: Value) -> Outcome:
        try:
            one = _at_value(check, value, limits)
            if claim is not check.claim:  # ε, which reads no parameter
                return _decided(replace(one, check=replace(one.check, claim=claim)), limits)[0]
            outcome, at_values[value] = _decided(one, limits)
        except ClaimRejected as rejected:
            mistake, name = rejected.mistake, for_all.param.name
            if isinstance(mistake, RunMistake):
                mistake = mistake.on_run((f"{name} = {value_text(value)}", *mistake.run))
            raise ClaimRejected(mistake) from None
        return outcome

    explored, chain, for_all = ready.explored, ready.chain, check.for_all
    for part, distance, _ in ready.parts:  # one, of a group: compositions are refused
        from dpcheck.check.arrangements import at_distance

        chain = at_distance(part, distance, limits)
    vanishing = tuple(explored.table.weights.vanishing)
    has_loops = isinstance(check.target, Mechanism) and check.target.has_loops

    def decide_on(chain: Chain, claim: Claim) -> Outcome:
        return decide_for_all(
            *(chain, claim, check.at, for_all, vanishing),
            has_loops=has_loops,
            at_value=partial(at_value, claim),
            measures=measures_of(explored, check, chain.n_states),
            limits=limits,
        )

    try:
        if is_told_in_kinds(explored, check.claim):
            found = decided_for_all(explored, chain, check.claim, decide_on)
            if found is None:
                raise undecided_beyond(explored, for_all.param)
            outcome = found
        else:
            outcome = decide_on(chain, check.claim)
            verdict = outcome.verdict
            assert not isinstance(verdict, Undecided) or verdict.limit is not NOT_SHOWN, verdict
    except LimitReached as reached:
        if reached.limit.kind != "size" or isinstance(check.claim, QuantityValue):
            raise
        shown = violated_somewhere(for_all, partial(at_value, check.claim))
        if shown is None:
            raise
        outcome = shown
    shown_at = None if outcome.all_values is None else outcome.all_values.shown_at
    return outcome, ready if shown_at is None else at_values[shown_at]


def _at_value(check: ResolvedCheck, value: Value, limits: Limits) -> _Ready:
    """Return the claim for one value of its parameter; raises `ClaimRejected` with its mistake."""
    assert check.chosen is not None, "a parameter can be chosen"
    resolved = check.chosen(value)
    mistakes: Sequence[Mistake] = [m for m in resolved.mistakes if m.severity == "error"]
    if not mistakes:
        (one,) = resolved.checks
        try:
            return _ready(one, Explorations(), limits)
        except MistakesFound as found:
            mistakes = found.mistakes
    raise ClaimRejected(mistakes[0])


def _decided(ready: _Ready, limits: Limits) -> tuple[Outcome, _Ready]:
    """Return the outcome of a claim that depends on no parameter, and the chain it is about."""
    check = ready.check
    if check.leaves_out is not None:
        return nothing_asked(check.kind, check.leaves_out), ready
    if not is_told_in_kinds(ready.explored, check.claim):
        return _decided_with_memory(ready, limits)
    while True:
        wider = wider_window(ready.explored, check.claim)
        decide_on = partial(_decided_on, ready, limits=limits)
        found = decided_between(
            ready.explored, ready.chain, check.claim, decide_on, is_last=wider is None
        )
        if found is not None:
            outcome, told = found
            parts = [(told if own is ready.chain else own, far, n) for own, far, n in ready.parts]
            return outcome, replace(ready, chain=told, parts=parts)
        if wider is None:
            raise undecided_beyond(ready.explored)
        ready.explorations.widen(check, wider)
        ready = _ready(check, ready.explorations, limits)


def _decided_with_memory(ready: _Ready, limits: Limits) -> tuple[Outcome, _Ready]:
    """Return the outcome, in a window beyond which it is the same for all hidden numbers."""
    check, explorations = ready.check, ready.explorations
    for n_tried in range(MAX_WIDENED + 1):
        ready = _without_kinds(ready, limits)
        try:
            outcome = _decided_on(ready, ready.chain, check.claim, limits)
        except WindowTooSmall as found:
            explorations.widen(check, found.window)
        else:
            limit = outcome.verdict.limit if isinstance(outcome.verdict, Undecided) else None
            window, memory = ready.explored.window, ready.explored.memory
            if limit == TOO_FAR and window is not None and n_tried < MAX_WIDENED:
                explorations.widen(check, window.widened())
            elif limit == BEYOND and memory is not None and n_tried < MAX_WIDER:
                explorations.widen(check, memory.wider())
            else:
                return outcome, ready
        ready = _ready(check, explorations, limits)
    raise LimitReached(TOO_FAR)


def _without_kinds(ready: _Ready, limits: Limits) -> _Ready:
    """Return a claim with outputs that exist: formulas never tell kinds of shown numbers apart."""
    window = ready.explored.window
    if window is None or len(window.ratios) < 2 or ready.parts:
        return ready
    told = with_less_told(ready.explored, ready.chain, keeps_far=False)
    return replace(ready, chain=told, truths=Truths(told, limits))


def _decided_on(ready: _Ready, chain: Chain, claim: Claim, limits: Limits) -> Outcome:
    """Return the outcome of a claim on a chain, in place of the one that is ready."""
    check = ready.check
    measures = measures_of(ready.explored, check, chain.n_states)
    if not ready.parts:
        known = ready.truths if chain is ready.chain else None
        return decide(chain, claim, at=check.at, limits=limits, measures=measures, truths=known)
    return decide_arranged(
        [(chain if own is ready.chain else own, far, n) for own, far, n in ready.parts],
        [part.target.title for part in check.parts],
        claim,
        at=check.at,
        span=check.span,
        limits=limits,
        measures=measures,
    )


def _explained(
    ready: _Ready, outcome: Outcome, limits: Limits, detail: Detail
) -> tuple[Explanation | None, Sequence[str]]:
    """Return why a claim is violated, as far as it is said in time, and tracebacks of bugs."""
    from dpcheck.explain.explain import explain, short_limits
    from dpcheck.explain.explanation import Setting
    from dpcheck.explain.subject import Subject
    from dpcheck.pipeline.smaller import smaller_model

    check = ready.check
    if check.for_all is not None:
        return None, ()  # no value is rational where it is violated
    asked, known = ready.whole, outcome.all_values
    shown_at = None if known is None else known.shown_at
    if asked is not None and asked.chosen is not None and shown_at is not None:
        ready = replace(ready, whole=asked.chosen(shown_at).checks[0])
    ready.truths.limits = limits = short_limits(limits)
    subject = Subject(
        *(check.claim, check.at, check.target, ready.explored, ready.chain),
        *(ready.truths, limits, ready.parts, ready.measures, outcome.value),
        ask=partial(_asked, ready, limits),
        is_window=ready.whole is not None,
        detail=detail,
    )
    found, whole = explain(subject, outcome), ready.explored.whole
    if found is not None and found.others is not None and whole is not None:
        # Of each block those pairs were kept that exceed the budget most.
        others = replace(found.others, n_pairs=whole.n_pairs, is_complete=False)
        found = replace(found, others=others)
    if found is not None and detail == "full" and ready.whole is None:
        n_inputs = ready.explored.sizes.n_initial
        smaller = subject.part("also", lambda: smaller_model(check, n_inputs, _violating, limits))
        found = replace(found, also=tuple(starmap(Setting, (smaller or {}).items())))
    return found, tuple(subject.faults.values())


def _violating(check: ResolvedCheck, limits: Limits) -> int | None:
    """Return how many inputs the target of a violated claim has; None if it is not violated."""
    explorations = Explorations()
    check = explorations.closed(check, limits)
    outcome, ready = _outcome(_ready(check, explorations, limits), limits)
    return len(ready.explored.chain.initial) if isinstance(outcome.verdict, Violated) else None


def _asked(ready: _Ready, limits: Limits, claim: QuantityValue) -> Amount | None:
    """Return a quantity of the target that a claim is about; None where it has none."""
    if ready.whole is None:
        return _decided(replace(ready, check=replace(ready.check, claim=claim)), limits)[0].value
    is_for_all = ready.whole.for_all is not None
    return None if is_for_all else _everywhere(replace(ready.whole, claim=claim), limits)[0].value


def _everywhere(check: ResolvedCheck, limits: Limits) -> tuple[Outcome, _Ready | None]:
    """Return the outcome of a claim about inputs that may be any integers.

    Beside it the window that violates the claim, if one does.
    """
    from dpcheck.pipeline.everywhere import Seen, decided_everywhere

    shown: list[tuple[Outcome, _Ready]] = []

    def decide(size: Size, claim: Claim, own: Limits) -> Seen:
        outcome, ready = _on_window(check, own, size, claim)
        shown.append((outcome, ready))
        is_decided = not isinstance(outcome.verdict, Undecided)
        worst = cache(partial(_worst, size, ready, own)) if is_decided else lambda: None
        return Seen(size, outcome, worst)

    outcome = decided_everywhere(check, decide, limits)
    of_window = [ready for found, ready in shown if found.verdict is outcome.verdict]
    if not of_window or not isinstance(outcome.verdict, Violated):
        return outcome, None
    target = of_window[0].check.target
    assert isinstance(target, Mechanism), "it has inputs"
    verdict = Violated(_cut_off(outcome.verdict.counterexample, target.n_rounds))
    return replace(outcome, verdict=verdict), replace(of_window[0], whole=check)


def _cut_off(found: Counterexample, most: int | None) -> Counterexample:
    """Return a counterexample of a stream, whose runs go on after the first outputs."""
    runs = tuple(replace(run, shown=going_on(run.shown, most)) for run in found.runs)
    event = found.event
    if isinstance(event, tuple):
        event = tuple(going_on(each, most) for each in event)
    return replace(found, event=event, runs=runs)


def _worst(size: Size, ready: _Ready, limits: Limits) -> Worst | None:
    """Return the neighbors of a window that lose most; None where all lose nothing."""
    from dpcheck.check.quantities.seen_pairs import complete_evidence, seen_pairs
    from dpcheck.pipeline.everywhere import Worst

    seen = seen_pairs(ready.chain, ready.chain.initial, limits)
    evidence = complete_evidence(seen)
    gap = None if evidence is None else evidence.worst_ratio()
    if gap is None:
        return None
    lost = None if gap.q == 0 else log(divide(gap.p, gap.q))
    cells, table = ready.explored.inputs, ready.explored.table
    pair = tuple(
        tuple((cell, table.value(int(codes[one]))) for cell, codes in cells.items())
        for one in seen.states[gap.pair].tolist()
    )
    return Worst(lost, size, pair)


def _over_all_analysts(check: ResolvedCheck, limits: Limits) -> tuple[Outcome, _Ready | None]:
    """Return the outcome of a claim about analysts who are too many to be tried one by one."""
    from dpcheck.pipeline.analysts import over_all_analysts

    found: list[_Ready] = []

    def decide(one: ResolvedCheck) -> Outcome:
        outcome, ready = _outcome(_ready(one, Explorations(), limits), limits)
        found[:] = [ready]
        return outcome

    outcome, shown = over_all_analysts(check, decide, limits)
    return outcome, None if shown is None else found[0]


def _on_window(
    check: ResolvedCheck, limits: Limits, size: Size, claim: Claim
) -> tuple[Outcome, _Ready]:
    """Return the outcome of a claim about a window of the mechanism asked about."""
    from dpcheck.align.windows import window

    def on_window(own: ResolvedCheck) -> ResolvedCheck:
        assert isinstance(own.target, Mechanism), "it has inputs"
        part = own.claim
        if isinstance(part, QuantityClaim) and isinstance(claim, QuantityClaim):
            part = replace(part, comparison=claim.comparison)
        return replace(own, target=window(own.target, size), claim=part)

    def chosen(value: Value) -> Resolved:
        assert check.chosen is not None, "a parameter can be chosen"
        resolved = check.chosen(value)
        return replace(resolved, checks=tuple(map(on_window, resolved.checks)))

    one = replace(on_window(check), claim=claim, chosen=chosen)
    return _outcome(_ready(one, Explorations(), limits), limits)


def _parts(
    check: ResolvedCheck, first: Chain, explorations: Explorations, limits: Limits
) -> list[tuple[Chain, int, int]]:
    """Return the chain, distance and number of runs of every part; `first` is the first's chain."""
    found = []
    for part in check.parts:
        chain = first
        if part.target is not check.parts[0].target:
            alone = replace(check, target=part.target, kept_inputs=())
            explored = explorations.explored(alone, limits)
            if is_told_in_kinds(explored, check.claim):
                raise undecided_beyond(explored)
            chain = explored.chain
        found.append((chain, part.distance, part.times))
    return found


def _one_a_place(mistakes: Iterable[Mistake]) -> Iterator[Mistake]:
    """Yield the first mistake of each kind at each place: other runs meet it with other values."""
    seen = set()
    for mistake in mistakes:
        key = type(mistake), mistake.span
        if key not in seen:
            seen.add(key)
            yield mistake


def _with_condition(mistake: Mistake, target: Target, explored: Explored | None) -> Mistake:
    """Return a mistake with what `at` may say, where it asks for one of several states."""
    if not isinstance(mistake, SeveralStates) or explored is None:
        return mistake
    return replace(mistake, condition=condition_of(mistake.states[0], target, explored))


def measures_of(explored: Explored, check: ResolvedCheck, n_states: int) -> Measures:
    """Return the numbers that a claim measures.

    The chain asked about, of n_states, may have more sinks than the one explored, where nothing is
    output.
    """
    more: list[Number | None] = [None] * (n_states - explored.chain.n_states)
    at_outputs: dict[str, list[Number | None]] = {}
    at_least: dict[str, list[Number | None]] = {}
    at_ends: dict[str, EndValue] = {}
    for key, meaning in check.atoms.items():
        match meaning:
            case Measure():
                least, most = measured(explored, meaning)
                at_least[key], at_outputs[key] = least + more, most + more
            case AtEnd(positions=positions, reads_last=reads_last, degree=degree):
                value = at_end(explored, meaning)
                at_ends[key] = EndValue(positions, reads_last, degree, value)
    return Measures(at_outputs, at_least, at_ends)


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


def _undecided(limit: LimitReached, explored: Explored | None) -> Outcome:
    coverage = Coverage(0, 0)
    if explored is not None:
        coverage = Coverage(explored.sizes.n_initial, explored.sizes.n_pairs)
    return Outcome(Undecided(limit.limit, Phrase.of(limit.progress)), coverage)


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
    )
