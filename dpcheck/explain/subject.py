"""What a claim is about, as it was checked: handed over by the pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import TypeVar

from dpcheck.chain.chain import Chain, IntArray
from dpcheck.check.decide import selected_states
from dpcheck.check.formulas.truths import BEYOND, Truths
from dpcheck.check.values.measures import Measures
from dpcheck.check.values.verdicts import Amount
from dpcheck.exact import TooLarge
from dpcheck.explain.explanation import WANTED, Detail, Line, Omission
from dpcheck.explore import Explored
from dpcheck.limits import LimitReached, Limits
from dpcheck.logic.claims import At, Claim, QuantityValue
from dpcheck.model.program import Mechanism, Target
from dpcheck.records import dataclass, field, replace

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Subject:
    """A claim, its target explored, and the limits of explaining it.

    `chain` has the labels of the claim's atoms, `truths` what was computed of formulas on it.
    `parts` are those of an arrangement, each alone, with the distance of its neighbors and the
    number of its runs; `measures` what outputs of states are measured by; `value` what the claim
    bounds, if it was found beside the verdict. `ask` finds another quantity of the target. Of a
    target that `is_window` some of the inputs were looked at, of infinitely many, and of an endless
    stream the first outputs, as many as `n_outputs` says. `omitted` gathers the parts of the
    `detail` wanted that ran into the limits or a bug, `faults` tracebacks of bugs, by part.
    """

    claim: Claim
    at: At | None
    target: Target
    explored: Explored
    chain: Chain
    truths: Truths
    limits: Limits
    parts: Sequence[tuple[Subject, int, int]] = ()
    measures: Measures = field(default_factory=Measures)
    value: Amount | None = None
    ask: Callable[[QuantityValue], Amount | None] = lambda _: None
    is_window: bool = False
    detail: Detail = "full"
    omitted: list[Omission] = field(default_factory=list)
    faults: dict[Omission, str] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        """Whether more pairs may violate the claim, by more, than the chain shows."""
        window = self.explored.window
        return self.is_window or (window is not None and window.has_kinds)

    @property
    def early(self) -> Subject:
        """This subject for a part that others come after: they keep a quarter of the time left."""
        left = (self.limits.cpu_deadline or inf) - time.process_time()
        end = time.process_time() + left * 3 / 4
        return replace(self, limits=replace(self.limits, cpu_deadline=end))

    @property
    def n_outputs(self) -> int | None:
        """After how many outputs runs were cut off; None where they were not."""
        return self.target.n_rounds if isinstance(self.target, Mechanism) else None

    @property
    def selected(self) -> IntArray:
        """The states that the claim is about, [n_selected]."""
        return selected_states(self.truths, self.at)

    def in_brackets(self, line: Line) -> str:
        """Return ` (line 7)`, or ` (line survey:7)` of a line in another file."""
        return f" (line {line.text(self.claim.span.source.name)})"

    def part(self, name: Omission, make: Callable[[], Found]) -> Found | None:
        """Return a part of the explanation, None where it is not wanted, too much, or has a bug."""
        if name not in WANTED[self.detail]:
            return None
        try:
            self.limits.check_time("explaining")
            return make()
        except (LimitReached, TooLarge, RecursionError, MemoryError) as reached:
            if not isinstance(reached, LimitReached) or reached.limit != BEYOND:
                self.omitted.append(name)  # what no window knows is told by `known`
        except Exception:  # noqa: BLE001 - a bug costs this part and nothing else
            import traceback

            self.omitted.append(name)
            self.faults[name] = traceback.format_exc()
        return None
