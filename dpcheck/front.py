"""The door for Python: models, their targets, and exact answers.

Everything goes the way of the command line: a question to a target is a claim in the language,
parsed and resolved like any other, so both give the same answers.

    >>> model = loads('''
    ...     mechanism coin(p = 3/4) {
    ...       input x in {false, true}
    ...       adjacent all
    ...       y ~ bernoulli(if x then p else 1 - p)
    ...       output y
    ...     }
    ...     check coin: dp(ln 3)
    ... ''')
    >>> [answer.is_ok for answer in model.answers()]
    [True]
    >>> coin = model.target("coin")
    >>> coin.epsilon().exact, coin.delta("ln 2").exact
    ('ln(3)', '1/4')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from math import inf, log
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcheck.chain.chain import Chain
from dpcheck.check.quantities.output_rows import output_rows, tells_as_much
from dpcheck.check.values.verdicts import Amount, Cell, Table, Undecided, Value
from dpcheck.diagnostics.files import NotOneClaim, SeveralFiles
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.params import NotForAllValues
from dpcheck.diagnostics.quantities import FarNumbersInTable
from dpcheck.exact import ExpNumber, as_fraction, exact_text
from dpcheck.explore import MistakesFound, labelled
from dpcheck.limits import MAX_STATES, LimitReached, RunLimits
from dpcheck.model import program, surface
from dpcheck.model.atoms import Sink
from dpcheck.parse import parse_expression
from dpcheck.pipeline.claims.explorations import Explorations
from dpcheck.pipeline.questions import answered, asked_of, is_selected
from dpcheck.pipeline.run import read_definitions, resolved, resolved_questions, undeclared
from dpcheck.pipeline.sources.files import ModelPath, model_paths
from dpcheck.pipeline.sources.imports import Closure, Library
from dpcheck.pipeline.sources.tables import names_in_table, table_csv, table_json
from dpcheck.records import dataclass, field, fields, replace
from dpcheck.report import answers
from dpcheck.report.answers import Crash
from dpcheck.report.drawing import mistake_text
from dpcheck.report.plot import Profile, profile_points, profiles_svg
from dpcheck.report.text import answer_text
from dpcheck.resolve import Resolved, ResolvedCheck
from dpcheck.source import SourceText

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from matplotlib.axes import Axes

Parameter = bool | int | Fraction | str
"""A parameter or constant: `3`, `Fraction(1, 4)`, or an expression of the language, `"ln 3"`."""

FloatArray = npt.NDArray[np.float64]

Probability = Fraction | ExpNumber
"""An exact probability: a fraction, or an element of ℚ(e^r)."""


class ModelError(Exception):
    """A model with mistakes; `mistakes` are typed, and the text draws them all."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        """Keep the mistakes."""
        self.mistakes = tuple(mistakes)
        text = "\n\n".join(map(mistake_text, self.mistakes))
        super().__init__("\n" + re.sub(r"`-D (\w+=[^`]*)`", _loaded_with, text))


def _loaded_with(option: re.Match[str]) -> str:
    """Return how values are given from Python, of values as `-D` takes them."""
    given = ", ".join(re.sub("=(.*)", r'="\1"', each) for each in option[1].split(" -D "))
    return f"`load(path, {given})`"


class Answer(answers.Answer):
    """One claim and its outcome: printed, shown in notebooks, and true if it came out as written.

    >>> import dpcheck
    >>> answer = dpcheck.mechanisms.survey().check("dp(ln 3)")
    >>> print(answer)
    survey(truth = 3/4)  for x in {pos, neg} · adjacent all · 4 states · 1 neighbor pair
      ✓ check   dp(ln 3)  holds (tightest: x = pos against x = neg, ratio 3 of 3 at output Y)
    """

    __slots__ = ()

    def __str__(self) -> str:
        """Return the report on the claim, as away from a terminal."""
        return answer_text(self)

    def _repr_html_(self) -> str:
        """Return the report as Jupyter shows it."""
        from dpcheck.report.formats.page import answer_html

        return answer_html(self)

    def __bool__(self) -> bool:
        """Return whether the claim came out as written: `is_ok`."""
        return self.is_ok


def load(path: str | Path, **constants: Parameter) -> Model:
    """Return the model in a file, some of its constants given another value.

    Imports are bounded as on the command line. Raises `ModelError`.
    """
    paths, mistakes = model_paths([str(path)])
    if len(paths) > 1:
        mistakes += (SeveralFiles(None, str(path), len(paths), paths[0].shown),)
    if mistakes:
        raise ModelError(mistakes)
    return _model(Library().closure(paths[0]), constants)


def loads(text: str, **constants: Parameter) -> Model:
    """Return the model a text describes; it may import libraries (`import std.survey`).

    Raises `ModelError`.
    """
    here = Path.cwd().resolve()
    path = ModelPath("<text>", here / "<text>", here)
    return _model(Library().closure_of_text(path, SourceText("<text>", text)), constants)


def _model(closure: Closure, constants: Mapping[str, Parameter]) -> Model:
    model = Model(closure, tuple(constants.items()))
    _refuse(model.mistakes)
    return model


def _refuse(mistakes: Iterable[Mistake]) -> None:
    """Raise `ModelError` for mistakes that are more than warnings."""
    wrong = [mistake for mistake in mistakes if mistake.severity == "error"]
    if wrong:
        raise ModelError(wrong)


@dataclass(frozen=True, eq=False)
class Model:
    """A model file with everything it imports, free of mistakes that can be seen in its text."""

    _closure: Closure
    _constants: tuple[tuple[str, Parameter], ...] = ()

    @cached_property
    def _definitions(self) -> dict[str, surface.Expression]:
        definitions, mistakes = read_definitions(
            [f"{name}={parameter_text(value)}" for name, value in self._constants]
        )
        _refuse(mistakes + undeclared(definitions, [self._closure]))
        return definitions

    @cached_property
    def _resolved(self) -> Resolved:
        return resolved(self._closure, self._definitions)

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """The mistakes of the text; in a model at hand they are warnings."""
        return self._resolved.mistakes

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The names of the mechanisms and chains: the file's own, then those it imports."""
        assert self._closure.file.model is not None, "a model at hand was parsed"
        models = [self._closure.file.model, *self._closure.imported]
        found = (target.name.name for model in models for target in model.targets)
        return tuple(dict.fromkeys(found))

    def target(
        self,
        name: str,
        *,
        max_states: int = MAX_STATES,
        timeout: float | None = None,
        **parameters: Parameter,
    ) -> Target:
        """Return a mechanism or chain with its parameters filled in. Raises `ModelError`.

        `max_states` and `timeout` (seconds) limit each question; a parameter of one of these names
        is given in the name, as in `model.target("m(timeout = 3)")`.
        """
        return Target(self, name, tuple(parameters.items()), max_states, timeout)

    @property
    def claims(self) -> tuple[ResolvedCheck, ...]:
        """The claims of the file, loops expanded, not yet answered."""
        return self._resolved.checks

    def answers(
        self,
        select: str | None = None,
        *,
        max_states: int = MAX_STATES,
        timeout: float | None = None,
    ) -> tuple[Answer, ...]:
        """Return the answer to every claim of the file, or to those that `select` matches.

        Raises `ModelError` when a claim runs into a mistake.
        """
        checks = [check for check in self.claims if is_selected(check, select)]
        return _answers(checks, RunLimits(max_states, timeout))

    def ask(
        self, text: str, *, max_states: int = MAX_STATES, timeout: float | None = None
    ) -> tuple[Answer, ...]:
        """Return the answers to questions as if the file ended with them.

        Compositions and groups are asked about in this way. Raises `ModelError`.

        >>> model = loads("import std.survey")
        >>> (answer,) = model.ask("compute compose(survey, 2): delta(ln 3)")
        >>> answer.outcome.verdict.amount.exact
        '3/8'
        """
        return _answers(self.resolved_questions(text), RunLimits(max_states, timeout))

    def resolved_question(self, text: str) -> ResolvedCheck:
        """Return a claim as if the file ended with it; raises `ModelError`, also for several."""
        found = self.resolved_questions(text)
        if len(found) != 1:
            raise ModelError([NotOneClaim(found[1].span if found else None, len(found))])
        return found[0]

    def resolved_questions(self, text: str) -> tuple[ResolvedCheck, ...]:
        """Return claims as if the file ended with them; raises `ModelError`."""
        question = SourceText("<question>", text)
        checks, mistakes = resolved_questions(self._closure, question, self._definitions)
        _refuse(mistakes)
        return tuple(checks)


def from_transitions(
    transitions: Mapping[str, Mapping[str, Parameter]],
    neighbors: Iterable[tuple[str, str]],
    *,
    labels: Mapping[str, Iterable[str]] | None = None,
    observe: Iterable[str] | None = None,
    initial: Iterable[str] | None = None,
    name: str = "made",
) -> Target:
    """Return an explicit chain made in Python, to be asked as any other: `dp` needs `observe`.

    `transitions` has the exact probabilities of every state's successors; a state without any goes
    to the end. `labels` are those of a state beside its name. Raises `ModelError`, and `ValueError`
    for a name that no quotes can hold.

    >>> table = {"x": {"yes": Fraction(3, 4), "no": "1/4"}, "y": {"yes": "1/4", "no": "3/4"}}
    >>> chain = from_transitions(table, [("x", "y")], observe=["yes", "no"])
    >>> chain.epsilon().exact, bool(chain.check("D{ln 3} [ X yes ]"))
    ('ln(3)', True)
    """
    successors = [state for row in transitions.values() for state in row]
    lines = []
    for state in dict.fromkeys([*transitions, *successors]):
        own = ", ".join(map(_word, (labels or {}).get(state, ())))
        lines.append(f"state {_word(state)}" + (f" : {own}" if own else ""))
        row = [
            f"({parameter_text(p)}): {_word(to)}" for to, p in transitions.get(state, {}).items()
        ]
        if row:
            lines.append(f"{_word(state)} -> {' + '.join(row)}")
    lines += [f"adjacent {_word(one)} ~ {_word(other)}" for one, other in neighbors]
    for keyword, states in (("init", initial), ("observe", observe)):
        if states is not None:
            lines.append(f"{keyword} {', '.join(map(_word, states))}")
    text = "\n  ".join([f"chain {name} {{", *lines]) + "\n}\n"
    return loads(text).target(name)


def _word(name: str) -> str:
    if not name or set(name) & set('"\n\r'):
        raise ValueError(f"{name!r} is no name of a state or label")
    return f'"{name}"'


def parameter_text(value: Parameter) -> str:
    """Return a value as the language writes it.

    >>> parameter_text(Fraction(1, 4)), parameter_text(True), parameter_text("ln 3")
    ('1/4', 'true', 'ln 3')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _answers(checks: Sequence[ResolvedCheck], limits: RunLimits) -> tuple[Answer, ...]:
    explorations = Explorations(checks)
    return tuple(answer_to(check, explorations, limits) for check in checks)


def answer_to(check: ResolvedCheck, explorations: Explorations, limits: RunLimits) -> Answer:
    """Return the answer to a claim; raises `ModelError` for the mistakes it runs into."""
    mistakes: list[Mistake] = []
    for event in answered(check, asked_of(check), explorations, limits, "full"):
        match event:
            case answers.Answer():
                return Answer(**{each.name: getattr(event, each.name) for each in fields(event)})
            case Crash():
                raise AssertionError(event.traceback)
            case Mistake():
                mistakes.append(event)
    raise ModelError(mistakes)


@dataclass(frozen=True, eq=False)
class Target:
    """A mechanism or chain of a model, its parameters filled in; explored once for all questions.

    `max_states` and `timeout` (seconds a question) are its limits.
    """

    model: Model
    name: str
    parameters: tuple[tuple[str, Parameter], ...] = ()
    max_states: int = MAX_STATES
    timeout: float | None = None
    _explorations: Explorations = field(default_factory=Explorations, repr=False)

    def __post_init__(self) -> None:
        """Resolve the target, so that a wrong name or parameter shows at once."""
        alone = parse_expression(SourceText("<target>", self.name))
        if alone.mistakes:
            raise ModelError(alone.mistakes)
        _ = self._core

    @property
    def text(self) -> str:
        """The target as a claim names it: `survey(truth = 2/3)`."""
        given = ", ".join(f"{name} = {parameter_text(value)}" for name, value in self.parameters)
        return f"{self.name}({given})" if given else self.name

    @cached_property
    def _core(self) -> program.Target:
        return self.model.resolved_question(f"check {self.text}: true").target

    def answer(self, claim: str, *, at: str | None = None, kind: str = "check") -> Answer:
        """Return the answer to a claim about this target, as written in a model file.

        `kind` is `check`, `refute` or `compute`; `at` restricts the initial states. Raises
        `ModelError` for a claim that makes no sense here.
        """
        where = "" if at is None else f" at {at} "
        check = self.model.resolved_question(f"{kind} {self.text}{where}: {claim}")
        return answer_to(replace(check, target=self._core), self._explorations, self._limits)

    def check(self, claim: str, *, at: str | None = None) -> Answer:
        """Return the answer to `check`: `is_ok` tells whether the claim holds.

        >>> import dpcheck
        >>> dpcheck.mechanisms.survey().check("dp(ln 3)").is_ok
        True
        """
        return self.answer(claim, at=at)

    def value(self, quantity: str, *, at: str | None = None) -> Amount:
        """Return a quantity such as `epsilon(1/10)` or `P=? [ F Y ]`, exactly and as a decimal.

        Raises `LimitReached` where it stays undecided.
        """
        return self._computed(quantity, at).amount

    def _computed(self, quantity: str, at: str | None) -> Value:
        verdict = self.answer(quantity, at=at, kind="compute").outcome.verdict
        if isinstance(verdict, Undecided):
            raise LimitReached(verdict.limit, str(verdict.progress))
        assert isinstance(verdict, Value), "`compute` gives a value"
        return verdict

    def epsilon(self, delta: Parameter = 0) -> Amount:
        """Return the least ε >= 0 with (ε, delta)-differential privacy; `inf` if there is none.

        >>> import dpcheck
        >>> dpcheck.mechanisms.truncated_geometric(alpha="1/4").epsilon().exact
        'ln(4)'
        """
        return self.value(f"epsilon({parameter_text(delta)})")

    def table(self, function: str, *, at: str | None = None) -> Table:
        """Return `profile`, `losses` or `tradeoff` as a table of exact amounts.

        >>> import dpcheck
        >>> [row[2].exact for row in dpcheck.mechanisms.survey().table("profile").rows]
        ['1/2', '0']
        """
        table = self._computed(function, at).table
        if table is None:
            raise ValueError(f"{function} is no function; `value` gives its number")
        return table

    def delta(self, epsilon: Parameter) -> Amount:
        """Return the least δ with (epsilon, δ)-differential privacy.

        >>> import dpcheck
        >>> dpcheck.mechanisms.survey().delta("ln 2").exact
        '1/4'
        """
        return self.value(f"delta({parameter_text(epsilon)})")

    def chain(self) -> Chain:
        """Return the Markov chain: CSR arrays, labels, initial states, neighbor pairs.

        Raises `ModelError`, also where a `param` has no value: `load(path, alpha="1/2")` gives one.

        >>> import dpcheck
        >>> chain = dpcheck.mechanisms.survey().chain()
        >>> chain.n_reported_states, chain.neighbors.pairs.tolist()
        (4, [[0, 1]])
        """
        return self._told()[0]

    def output_distributions(self) -> dict[str, dict[str, Probability]]:
        """Return, for each initial state, every output sequence with its exact probability.

        Numbers without bounds are one output beyond a window, `> 5`, also where `pmf` is a mistake.
        Raises `LimitReached` where there are infinitely many.

        >>> import dpcheck
        >>> dpcheck.mechanisms.survey().output_distributions()["x = pos"]
        {'Y': Fraction(3, 4), 'N': Fraction(1, 4)}
        """
        rows = output_rows(self.chain(), self._limits.of_a_claim())
        return {
            state: {shown: as_fraction(p) for shown, p in row.items()}
            for state, row in rows.items()
        }

    def pmf(self, form: str = "json") -> str:
        """Return all output distributions and neighbor pairs as a table, `"json"` or `"csv"`.

        A model imports such a file as a mechanism: `import "measured.json"`. Raises `ModelError`,
        also where finitely many outputs tell less than numbers without bounds do.

        >>> import dpcheck
        >>> print(dpcheck.mechanisms.survey().pmf("csv"), end="")
        row,x = pos,Y,3/4
        row,x = pos,N,1/4
        row,x = neg,Y,1/4
        row,x = neg,N,3/4
        pair,x = pos,x = neg
        """
        chain, all_told, window = self._told()
        found = output_rows(chain, self._limits.of_a_claim())
        names = [(chain.state_text(s), chain.state_text(t)) for s, t in chain.neighbors.pairs]
        if all_told is not chain:
            more = output_rows(all_told, self._limits.of_a_claim())
            if not tells_as_much(found, more, names):
                place = self.model.resolved_question(f"check {self.text}: true").span
                raise ModelError([FarNumbersInTable(place, window)])
        states = names_in_table(found)
        outputs = names_in_table({shown for row in found.values() for shown in row})
        rows = {
            states[state]: {outputs[shown]: exact_text(p) for shown, p in row.items()}
            for state, row in found.items()
        }
        pairs = [(states[s], states[t]) for s, t in names]
        if form not in ("json", "csv"):
            raise ValueError("a table is written as json or csv")
        return table_json(self.name, rows, pairs) if form == "json" else table_csv(rows, pairs)

    def profile(self) -> FloatArray:
        """Return the privacy profile as profile[n_pieces, 4] of floats, to plot or to compute with.

        A row is e^ε from, e^ε to, P and Q: between the two, δ = P - e^ε Q. No float is evidence;
        `table("profile")` has the exact numbers.

        >>> import dpcheck
        >>> dpcheck.mechanisms.survey().profile().tolist()
        [[1.0, 3.0, 0.75, 0.25], [3.0, inf, 0.0, 0.0]]
        """
        rows = self.table("profile").rows
        return np.array([[float(_amount(row[k])) for k in (0, 1, 3, 4)] for row in rows])

    def losses(self) -> FloatArray:
        """Return the privacy losses of the worst pair, losses[n_losses, 3], the largest first.

        A row is the loss ln(P/Q) with the probabilities of outputs that have it, P and Q, as
        floats; a loss is inf where Q is 0, and -inf where P is 0.

        >>> import dpcheck
        >>> dpcheck.mechanisms.survey().losses().round(3).tolist()
        [[1.099, 0.75, 0.25], [-1.099, 0.25, 0.75]]
        """
        table = self.table("losses")
        first, *_ = table.rows
        rows = [row for row in table.rows if row[0] == first[0]]
        mirrored = [row for row in table.rows if row[0] != first[0]]
        found = [[float(_amount(row[k])) for k in (2, 3, 4)] for row in rows]
        # A loss of -inf stands only in the other direction, as inf.
        found += [
            [-inf, 0.0, float(_amount(row[3]))]
            for row in mirrored
            if _amount(row[2]).exact == "inf"
        ]
        return np.array(found)

    def plot_profile(self, axes: Axes | None = None) -> Axes | Drawing:
        """Return δ over ε, drawn: axes of matplotlib where it is installed, else SVG.

        With `axes` the curve is drawn there, beside others. A notebook shows either.
        """
        name, table = self.text, self.table("profile")
        if axes is None and find_spec("matplotlib") is None:
            return Drawing(profiles_svg(name, [Profile(name, table)]))
        if axes is None:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
        points = np.array(profile_points(table))
        axes.plot(points[:, 0], points[:, 1], label=name)
        axes.set(xlabel="ε", ylabel="δ")
        axes.legend()
        return axes

    def privacy_loss_distribution(
        self, *, pessimistic: bool = True, interval: float = 1e-4
    ) -> PrivacyLossDistribution:
        """Return the worst pair's losses for Google's `dp_accounting`, which must be installed.

        Both directions are given (its `symmetric=False`), as natural logarithms; the upper
        distribution is the one with the larger loss. From here on numbers are floats, rounded by
        `dp_accounting` to multiples of `interval`.
        """
        from dp_accounting.pld import privacy_loss_distribution as accounting

        upper, lower = (
            {place: log(mass) for place, mass in enumerate(masses) if mass > 0}
            for masses in self.losses().T[1:].tolist()
        )
        return accounting.from_two_probability_mass_functions(
            lower,
            upper,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=interval,
            symmetric=False,
        )

    def _told(self) -> tuple[Chain, Chain, tuple[int, int]]:
        """Return the chain, one that tells all of numbers beyond a window, and this window.

        They are one where all of such a number is told by its being there.
        """
        check = self.model.resolved_question(f"check {self.text}: true")
        if check.for_all is not None:
            param, what = check.for_all.param, "a table of probabilities"
            raise ModelError([NotForAllValues(check.span, what, param.name, param.simplest.str())])
        try:
            asked = replace(check, target=self._core)
            explored = self._explorations.explored(asked, self._limits.of_a_claim())
        except MistakesFound as found:
            raise ModelError(found.mistakes) from None
        chain = labelled(explored, {"stopped": Sink("stopped"), "diverged": Sink("diverged")})
        if explored.window is None or not explored.window.has_kinds:
            return chain, chain, (0, 0)
        return explored.told_less(chain).chain, chain, explored.window.shown

    @property
    def _limits(self) -> RunLimits:
        return RunLimits(self.max_states, self.timeout)


@dataclass(frozen=True)
class Drawing:
    """A drawing as SVG, which a notebook shows; the text is that of a file."""

    svg: str

    def _repr_svg_(self) -> str:
        """Return the drawing as Jupyter shows it."""
        return self.svg


def _amount(cell: Cell) -> Amount:
    assert isinstance(cell, Amount), "a column of numbers"
    return cell
