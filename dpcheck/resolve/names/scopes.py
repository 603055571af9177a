"""What names mean at a place, and where mistakes are collected.

A `Scope` is immutable: binding a name gives a new scope. Behind it stands one `Session` for a
model file with its imports: the files, the collected mistakes, and what was resolved already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Final, Literal, Protocol, TypeVar

from dpcheck.diagnostics.mistakes import Mistake, shortened, similar
from dpcheck.diagnostics.names import UnknownTarget
from dpcheck.diagnostics.runs import RunMistake
from dpcheck.exact import Param
from dpcheck.model import surface
from dpcheck.model.expressions import ArrayVar, Expr, Var
from dpcheck.model.program import Mechanism, Target
from dpcheck.model.surface_text import one_line
from dpcheck.model.values import Value
from dpcheck.model.words import OPERATOR_WORDS
from dpcheck.records import dataclass, field, replace
from dpcheck.resolve.names.syntax import assigned_names
from dpcheck.source import Span

PAIRS_OF_LETTERS = 5_000_000
"""To look for a name like another compares up to each letter of the one with each of the other."""

Role = Literal[
    "constant", "parameter", "loop variable", "input", "local", "argument", "output",
    "stream", "round",
]  # fmt: skip


@dataclass(frozen=True)
class Known:
    """A name whose value is known before any run; a value of None has a mistake of its own."""

    value: Value | None
    role: Role
    span: Span


@dataclass(frozen=True)
class Held:
    """A name whose value is that of a core variable, or of a whole array of them."""

    variable: Var | ArrayVar
    role: Role
    span: Span


@dataclass(frozen=True)
class Local:
    """A local of the mechanism being walked; the walk knows whether it is assigned."""

    walk: LocalReader


class LocalReader(Protocol):
    """What a walk through a mechanism offers to expressions: its locals, as of now."""

    def read(self, name: str, span: Span, *, certain: bool) -> Expr:
        """Return a local's value; report it if it may be unassigned and is read for certain."""


Binding = Known | Held | Local

Found = TypeVar("Found")


def sound(parts: Sequence[Found | None]) -> tuple[Found, ...] | None:
    """Return the parts of something; None if one of them has a mistake, which is None."""
    known = tuple(part for part in parts if part is not None)
    return known if len(known) == len(parts) else None


Declaration = (
    surface.Constant
    | surface.Function
    | surface.DistributionFunction
    | surface.Mechanism
    | surface.Chain
)


@dataclass(frozen=True, eq=False)
class File:
    """One file: what it declares, what it sees (imports included), and its symbols."""

    model: surface.SurfaceModel
    declared: Mapping[str, Declaration]
    visible: Mapping[str, tuple[File, Declaration]]
    symbols: frozenset[str]

    def names_of(self, kinds: type[Declaration] | UnionType) -> list[str]:
        """Return the names it sees of all declarations of some kinds."""
        return [name for name, (_, found) in self.visible.items() if isinstance(found, kinds)]


@dataclass(frozen=True)
class Asked:
    """A budget or a bound of the claim that is being resolved; of an interval both ends."""

    value: Value
    needed: Literal["budget", "probability", "bound", "interval"]
    span: Span


@dataclass(eq=False)
class Session:
    """Everything that is remembered while one model file is resolved.

    `asking` is the text of the claims that are being resolved. A mistake in it is about these
    alone, for no other text names a claim; after one elsewhere all claims are in doubt. One that a
    function has for what a claim calls it with is about that claim, too: whoever else calls it so
    meets the mistake again. Not so where a target or a constant is made (`is_making`), which is
    kept for others. Mistakes of both kinds are counted each time they are met, but for warnings.
    """

    overrides: Mapping[str, surface.Expression] = field(default_factory=dict)
    lost_words: frozenset[str] = frozenset()
    main: File | None = None
    found: dict[tuple[type[Mistake], Span | None], Mistake] = field(default_factory=dict)
    constants: dict[int, Value | None] = field(default_factory=dict)
    in_progress: list[surface.Constant] = field(default_factory=list)
    recursive: set[int] = field(default_factory=set)
    locals: dict[int, tuple[str, ...]] = field(default_factory=dict)
    least_steps: dict[int, int] = field(default_factory=dict)
    too_long: list[surface.Mechanism] = field(default_factory=list)
    written_out: dict[int, tuple[int, int]] = field(default_factory=dict)
    too_large: dict[int, surface.Function] = field(default_factory=dict)
    pairs_of_letters: int = PAIRS_OF_LETTERS
    instances: dict[tuple[object, ...], Target | None] = field(default_factory=dict)
    doubtful: set[Target] = field(default_factory=set)  # what they say may be another thing
    asked: list[Asked] = field(default_factory=list)
    has_params: bool = False
    chosen: Mapping[str, Value | Param] = field(default_factory=dict)  # of parameters
    given: Mapping[str, Value] = field(default_factory=dict)  # of the target that is asked about
    asking: Span | None = None
    is_making: bool = False
    n_in_claims: int = 0
    n_elsewhere: int = 0

    def report(self, mistake: Mistake) -> None:
        """Keep a mistake; of several alike at one place the first."""
        asking, span = self.asking, mistake.span
        is_in_claim = asking is not None and span is not None and span in asking
        if asking is not None and not is_in_claim and not self.is_making:
            is_in_claim = True
            if isinstance(mistake, RunMistake):
                mistake = mistake.on_run((shortened(one_line(asking.text)), *mistake.run))
        self.found.setdefault((type(mistake), span), mistake)
        if mistake.severity == "error":
            self.n_in_claims += is_in_claim
            self.n_elsewhere += not is_in_claim

    def suggestion(self, name: str, candidates: Iterable[str]) -> str | None:
        """Return the candidate that looks most like a name, if one does.

        Thousands of unknown names beside thousands of others get few suggestions: all would take
        minutes. After those the candidates are not even listed.
        """
        if self.pairs_of_letters <= 0:
            return None
        known = {candidate for candidate in candidates if candidate != name}
        self.pairs_of_letters -= len(name) * sum(map(len, known))
        return similar(name, known) if self.pairs_of_letters > 0 else None

    def locals_of(self, mechanism: surface.Mechanism) -> tuple[str, ...]:
        """Return the names a mechanism assigns, found out once."""
        if id(mechanism) not in self.locals:
            self.locals[id(mechanism)] = assigned_names(mechanism.body)
        return self.locals[id(mechanism)]

    def is_recursive(self, file: File, name: str) -> bool:
        """Return whether a declaration the file sees takes part in a cycle of calls."""
        return id(file.visible[name][1]) in self.recursive

    @property
    def n_errors(self) -> int:
        """How often a mistake was met that is worse than a warning."""
        return self.n_in_claims + self.n_elsewhere


class FreshNames:
    """Names for core variables: the text's own while it is free, then `i#2`, `i#3`, ...

    `n_calls` counts the calls of functions written out where these names are used.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Start with the names that are taken already."""
        self._counts = dict.fromkeys(taken, 1)
        self.n_calls = 0

    def fresh(self, base: str) -> str:
        """Return a name that was not returned before.

        >>> names = FreshNames(["i"])
        >>> names.fresh("i"), names.fresh("j"), names.fresh("i")
        ('i#2', 'j', 'i#3')
        """
        count = self._counts.get(base, 0) + 1
        self._counts[base] = count
        return base if count == 1 else f"{base}#{count}"


@dataclass(frozen=True)
class Scope:
    """The meaning of names at one place.

    `certain` is false inside what a run may skip (the right side of `&`, a branch of `if`): what
    would be a mistake only if it were evaluated is then left to the run. `depth` counts the calls
    of functions that are being written out. `about` is the target of a claim, in whose formulas
    operator words in quotes are names.
    """

    session: Session
    file: File
    names: FreshNames
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    primed: Mapping[str, Held] | None = None
    certain: bool = True
    depth: int = 0
    about: Target | None = None

    def inside(self, file: File) -> Scope:
        """Return the scope of a function's body: only what its own file says."""
        return Scope(self.session, file, self.names, certain=self.certain, depth=self.depth + 1)

    def bound(self, name: str, binding: Binding) -> Scope:
        """Return the scope with one more name."""
        return replace(self, bindings={**self.bindings, name: binding})

    def bound_all(self, bindings: Mapping[str, Binding]) -> Scope:
        """Return the scope with more names."""
        return replace(self, bindings={**self.bindings, **bindings})

    def uncertain(self) -> Scope:
        """Return the scope for a part that a run may skip."""
        return replace(self, certain=False) if self.certain else self

    def knows(self, tree: surface.Name) -> bool:
        """Return whether a name, as it stands, means something in the file."""
        is_named = tree.name in self.file.visible or tree.name in self.file.symbols
        return is_named or tree.name in self.bindings or tree.quoted or tree.primed

    def is_symbol(self, tree: surface.Name) -> bool:
        """Return whether a quoted name is a symbol whatever else has that name.

        In a formula, where `R` is an operator, `"R"` is what `R` is elsewhere.
        """
        if not tree.quoted or self.about is None or tree.name not in OPERATOR_WORDS:
            return tree.quoted
        return not self.hides_symbol(tree.name)

    def is_absent(self, name: str) -> bool:
        """Return whether no value is the symbol of this name in a claim: at most a local has it."""
        if not isinstance(self.about, Mechanism) or name in self.file.symbols:
            return False
        declared = (found.span.text for _, found in self.file.visible.values())
        return name in self.about.locals or not any(name in text for text in declared)

    def hides_symbol(self, name: str) -> bool:
        """Return whether a constant, parameter, input or local wins over a symbol of that name."""
        _, declaration = self.file.visible.get(name, (None, None))
        return name in self.bindings or isinstance(declaration, surface.Constant)

    def report(self, mistake: Mistake) -> None:
        """Keep a mistake."""
        self.session.report(mistake)

    def known_names(self) -> Iterator[str]:
        """Yield every name that means something as a value here."""
        yield from self.bindings
        yield from self.file.names_of(surface.Constant)
        yield from self.file.symbols


def report_no_target(
    name: surface.Identifier,
    kinds: type[Declaration] | UnionType,
    scope: Scope,
    words: tuple[str, ...] = (),
) -> None:
    """Report a name that is none of these kinds of declarations, unless a syntax error hid it.

    `words` are no declarations, and may be meant as well.
    """
    _, declaration = scope.file.visible.get(name.name, (None, None))
    if declaration is None and name.name in scope.session.lost_words:
        return
    what = None if declaration is None else what_is(declaration)
    candidate = scope.session.suggestion(name.name, [*scope.file.names_of(kinds), *words])
    scope.report(UnknownTarget(name.span, name.name, what, candidate))


_KINDS: Final[Mapping[type[Declaration], str]] = {
    surface.Constant: "a constant",
    surface.Function: "a function",
    surface.DistributionFunction: "a distribution",
    surface.Mechanism: "a mechanism",
    surface.Chain: "a chain",
}


def is_param(found: Declaration | None) -> bool:
    """Return whether what a name was found to be, if anything, is a `param`."""
    return isinstance(found, surface.Constant) and isinstance(found.value, surface.Interval)


def what_is(declaration: Declaration) -> str:
    """Return what kind of thing was declared, with its article."""
    if is_param(declaration):
        return "a `param`"
    return _KINDS[type(declaration)]
