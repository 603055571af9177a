"""What a claim about all values of a parameter is decided with, and where it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import gcd
from operator import and_, or_

from dpcheck.check.arrangements import Run
from dpcheck.check.decide import Asked
from dpcheck.check.values.verdicts import Coverage, Outcome, Vacuity
from dpcheck.exact import Budget, ExpNumber, Extended, Number, Param, Whole, growth_of
from dpcheck.exact.line import Chosen, Line
from dpcheck.exact.roots import Region, everywhere, joined, without
from dpcheck.limits import Limits
from dpcheck.logic.claims import Claim, ForAll, is_pure
from dpcheck.records import Frozen, dataclass, field, fields


@dataclass(frozen=True, eq=False)
class Setting(Asked):
    """What a claim about all values of a parameter is decided with.

    It is about independent `runs`, mostly one. `vanishing` are weights that are 0 for some value of
    the parameter, `gaps` those between ratios of shown numbers, of which one stands for both where
    they are equal; `weights` have the units of all, also of those that no number of the claim
    depends on. `at` asks the same claim of one value, or of the irrational one that lies in an
    interval.
    """

    claim: Claim
    runs: Sequence[Run]
    for_all: ForAll
    vanishing: tuple[Number, ...]
    gaps: tuple[Number, ...]
    weights: tuple[Number, ...]
    at: Callable[[Chosen | Param], Outcome]

    @property
    def is_composed(self) -> bool:
        """Whether the claim is about more than one run."""
        return len(self.runs) > 1 or self.runs[0][1] > 1

    @property
    def n_equal(self) -> int:
        """How often all runs together are repeated, if the claim is about ratios alone; else 1."""
        return gcd(*(times for _, times in self.runs)) if is_pure(self.claim) else 1

    def zeros(self, line: Line) -> Region:
        """Return the values asked strictly inside of the interval at which a weight is 0."""
        return zeros_of(self.vanishing, self.for_all, line)

    def asked(self, line: Line) -> Region:
        """Return the values strictly inside of the interval that are asked about."""
        if not self.for_all.param.is_single:
            return self.for_all.asked(line)
        zeros = self.zeros(line)
        assert len(zeros.ends) == 1, "weights are 0 at the value asked, and at no other"
        return zeros

    def of_chain(self, line: Line) -> Region:
        """Return those of the values asked at which no weight of the chain is 0."""
        if self.for_all.param.is_single:
            return self.asked(line)
        return without(self.asked(line), [self.zeros(line)])

    @property
    def limits(self) -> Limits:
        """What the claim may use."""
        return self.truths.limits


@dataclass(frozen=True, eq=False)
class Failing:
    """For which values strictly inside of the interval a claim fails, and what was looked at.

    `doubtful` are values for which it is not known whether it fails; for those `alone` nothing is
    said by the region, but what was found at them.
    """

    line: Line
    region: Region
    coverage: Coverage
    vacuity: tuple[Vacuity, ...] = ()
    doubtful: Region | None = None
    alone: Mapping[Chosen, Outcome] = field(default_factory=dict)


def zeros_of(vanishing: Iterable[Number], for_all: ForAll, line: Line) -> Region:
    """Return the values asked strictly inside of the interval at which one of some weights is 0."""
    zeros = [line.where(weight, (0,)) for weight in vanishing]
    nowhere = everywhere(False, line.low, line.high)
    return joined(and_, [for_all.asked(line), joined(or_, [nowhere, *zeros])])


def told_by_all(found: Iterable[tuple[Vacuity, ...]]) -> tuple[Vacuity, ...]:
    """Return why a claim says little for all values, by what says so for some of them each.

    A reason is a sentence about a mechanism. It is one for all values where it is true for each:
    that no run diverges is wrong where a weight is 0, say.
    """
    first, *others = found
    return tuple(reason for reason in first if all(reason in other for other in others))


def line_of_claim(setting: Setting, found: Iterable[Extended | Whole]) -> Line:
    """Return the line on which found numbers, and those of the claim and weights, are rational.

    So what is asked at a value by itself has exact numbers there, or that value is no rational t.
    """
    for_all = setting.for_all
    known = *numbers_of(setting.claim), *setting.weights
    return for_all.line([*found, *known])


def numbers_of(node: object) -> Iterator[ExpNumber]:
    """Yield the numbers at the stand-in in what is claimed, budgets by powers of e^budget."""
    match node:
        case ExpNumber():
            yield node
        case Budget():
            yield from numbers_of(growth_of(node)[0])
        case tuple():
            for part in node:
                yield from numbers_of(part)
        case Frozen():
            for each in fields(node):
                yield from numbers_of(getattr(node, each.name))
