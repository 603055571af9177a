"""What resolving a model yields: claims with their targets, ready to be explored."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.exact import Param
from dpcheck.logic.claims import At, Claim, ForAll
from dpcheck.model.atoms import AtomMeaning
from dpcheck.model.program import Part, Target
from dpcheck.model.surface import QuestionKind
from dpcheck.model.values import Value
from dpcheck.records import dataclass, field
from dpcheck.source import Span


@dataclass(frozen=True, eq=False)
class ResolvedCheck:
    """One `check`, `refute` or `compute`, loops expanded and names resolved.

    name: the title given in quotes, or None;
    target_text: the target with values filled in, `rr(k = 4)`;
    target: the core mechanism or chain, one object for all checks with equal parameters;
    parts: of `compose(...)` and `group(...)` all parts, of which `target` is the first; else none;
    claim, claim_text, at, at_text: what is claimed, and the user's words with values filled in;
    atoms: the meaning of every atom of the formulas in claim and `at`, by its key;
    kept_inputs: input variables (cells) that atoms inside the brackets of P and D read;
    needs_later_neighbors: a D stands inside the brackets of another P or D;
    span: the whole question; its line is the one reported.
    for_all: the parameter for all values of which it is asked, if it depends on one;
    loop_values: the values of the variables of loops around it;
    leaves_out: the value chosen of a parameter, `alpha = 1/2`, where it is not in the part asked;
    chosen: the same question resolved for one value of its parameter, or for a smaller interval;
    parameters: of a target that is not arranged, its parameters that are integers, with values;
    with_parameters: the same question resolved with other values of these.
    """

    kind: QuestionKind
    name: str | None
    target_text: str
    target: Target
    claim: Claim
    claim_text: str
    at: At | None
    at_text: str | None
    atoms: Mapping[str, AtomMeaning]
    kept_inputs: tuple[str, ...]
    needs_later_neighbors: bool
    span: Span
    parts: tuple[Part, ...] = ()
    for_all: ForAll | None = None
    loop_values: Mapping[str, Value] = field(default_factory=dict)
    leaves_out: str | None = None
    chosen: Callable[[Value | Param], Resolved] | None = field(
        default=None, compare=False, repr=False
    )
    parameters: Mapping[str, int] = field(default_factory=dict)
    with_parameters: Callable[[Mapping[str, int]], Resolved] | None = field(
        default=None, compare=False, repr=False
    )

    @property
    def line(self) -> int:
        """The line the question stands on, from 1."""
        return self.span.line


@dataclass(frozen=True)
class Resolved:
    """A resolved model file: claims without a mistake, none where the rest of its text has one.

    With `is_answerable` it has none: what the targets are can be asked about.
    """

    checks: tuple[ResolvedCheck, ...]
    mistakes: tuple[Mistake, ...]
    is_answerable: bool = False
