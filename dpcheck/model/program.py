"""The core model: mechanisms as control-flow graphs, explicit chains as families and rows.

`resolve` makes these from the surface tree for one *target*: parameters have their values, names
are resolved, called mechanisms are inlined, `for` loops over constant sets are unrolled where
that is small. `explore` turns them into a `Chain`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from dpcheck.model.atoms import Label
from dpcheck.model.distributions import PolicyKind
from dpcheck.model.expressions import Binding, Const, Expr
from dpcheck.model.postorder import postorder
from dpcheck.model.values import INTEGERS, SetValue, Value
from dpcheck.records import Frozen, dataclass, replace
from dpcheck.source import Span

# --- distributions -------------------------------------------------------------------------


class Policy(Frozen):
    """What happens to a result outside `lo..hi`; both ends are inclusive."""

    kind: PolicyKind
    lo: Expr
    hi: Expr
    span: Span


class Unbounded(Frozen):
    """The policy of noise on all integers."""

    span: Span


class Parametric(Frozen):
    """A built-in distribution by its word, with as many arguments as its row has parameters.

    `model.distributions` holds the rows. There is a policy where the row needs one, else None.
    """

    word: str
    arguments: tuple[Expr, ...]
    policy: Policy | Unbounded | None
    span: Span


class Branches(Frozen):
    """`{value: weight, ...}`; without `normalized` the weights must sum to 1."""

    branches: tuple[tuple[Expr, Expr], ...]
    normalized: bool
    span: Span


class Weighted(Binding):
    """`{value: weight for name in domain where condition}`."""

    domain: Expr
    where: Expr | None
    value: Expr
    weight: Expr
    normalized: bool
    span: Span


class LetDistribution(Binding):
    """Evaluate `value` once, bind it to `name` in `body` (a `dist` of the file, applied)."""

    value: Expr
    body: Distribution
    span: Span


class ChooseDistribution(Frozen):
    """`if condition then then else orelse` between distributions."""

    condition: Expr
    then: Distribution
    orelse: Distribution
    span: Span


Distribution = Parametric | Branches | Weighted | LetDistribution | ChooseDistribution


def alternatives(distribution: Distribution) -> Iterator[Parametric | Branches | Weighted]:
    """Yield what a distribution may be, by what is let and chosen."""
    match distribution:
        case LetDistribution(body=body):
            yield from alternatives(body)
        case ChooseDistribution(then=then, orelse=orelse):
            yield from (*alternatives(then), *alternatives(orelse))
        case _:
            yield distribution


def unbounded_policy(distribution: Distribution) -> Unbounded | None:
    """Return how a distribution is said to be `unbounded`, first of several; None if it is not."""
    policies = (getattr(each, "policy", None) for each in alternatives(distribution))
    return next((policy for policy in policies if isinstance(policy, Unbounded)), None)


def with_noise(
    distribution: Distribution, changed: Callable[[Parametric], Parametric]
) -> Distribution:
    """Return a distribution whose built-in ones are changed."""
    match distribution:
        case Parametric():
            return changed(distribution)
        case LetDistribution(body=body):
            return replace(distribution, body=with_noise(body, changed))
        case ChooseDistribution(then=then, orelse=orelse):
            then, orelse = with_noise(then, changed), with_noise(orelse, changed)
            return replace(distribution, then=then, orelse=orelse)
        case _:
            return distribution


# --- mechanisms ----------------------------------------------------------------------------


class Assign(Frozen):
    """`target := value`; with `within`, a value outside that set is the user's mistake.

    `is_drawn` marks the result of a sampled mechanism: neighbors of later states have equal ones.
    """

    target: str
    value: Expr
    within: Expr | None
    next: int
    span: Span
    is_drawn: bool = False


class AssignCell(Frozen):
    """`array[index] := value`, where cell `lo + i` of the array is the variable `cells[i]`."""

    array: str
    lo: int
    cells: tuple[str, ...]
    index: Expr
    value: Expr
    within: Expr | None
    next: int
    span: Span


class Unpack(Frozen):
    """`(a, b) := value`: the value must be a tuple of that many components."""

    targets: tuple[str, ...]
    value: Expr
    next: int
    span: Span


class Sample(Frozen):
    """`target ~ distribution`; with `within`, a result outside that set is a mistake.

    `is_prior` marks data of a `prior`: they need not be equal in neighbors of later states.
    """

    target: str
    distribution: Distribution
    within: Expr | None
    next: int
    span: Span
    is_prior: bool = False


class Forget(Frozen):
    """The targets have no value any more: a mechanism that is called again begins anew."""

    targets: tuple[str, ...]
    next: int
    span: Span


class Branch(Frozen):
    """Go to `then` or `orelse`. `is_loop_head` marks the test of a `while`.

    A run without output can only go on forever through such a head, so the explorer cuts there.
    `is_round` marks the loop that never ends, where streams go on to their next values.
    """

    condition: Expr
    then: int
    orelse: int
    is_loop_head: bool
    span: Span
    is_round: bool = False


class Output(Frozen):
    """Show the value to the adversary, then go on.

    `query` says that it is what an analyst chose, who adapts or has fixed the choice beforehand.
    """

    value: Expr
    next: int
    span: Span
    query: Literal["adaptive", "fixed"] | None = None


class Stop(Frozen):
    """The run ends: †."""

    span: Span


class Fail(Frozen):
    """A run that gets here is the user's mistake, shown with the run that leads here.

    `reason` is a lower-case sentence: "coin_flip outputs a second time", for a mechanism that is
    sampled and must output exactly once on every run.
    """

    reason: str
    span: Span


Node = Assign | AssignCell | Unpack | Sample | Forget | Branch | Output | Stop | Fail


def successors(node: Node) -> tuple[int, ...]:
    """Return the nodes that may come next, the way a known condition does not go left out."""
    match node:
        case Stop() | Fail():
            return ()
        case Branch(condition=Const(value=bool() as known)):
            return (node.then if known else node.orelse,)
        case Branch(then=then, orelse=orelse):
            return (then, orelse)
        case _:
            return (node.next,)


def written(node: Node) -> tuple[str, ...]:
    """Return the variables that a node may give another value, or none."""
    match node:
        case Assign(target=target) | Sample(target=target):
            return (target,)
        case AssignCell(cells=cells):
            return cells
        case Unpack(targets=targets) | Forget(targets=targets):
            return targets
        case _:
            return ()


def numbered(nodes: Sequence[Node], entry: int) -> tuple[tuple[Node, ...], int]:
    """Return the reachable nodes in reverse postorder; the entry becomes node 0."""
    order = postorder([entry], lambda node: successors(nodes[node]))[::-1]
    numbers = {old: new for new, old in enumerate(order)}
    return tuple(led_to(nodes[old], numbers) for old in order), 0


def led_to(node: Node, numbers: Mapping[int, int]) -> Node:
    """Return a node that leads to the nodes with other numbers."""
    match node:
        case Stop() | Fail():
            return node
        case Branch(then=then, orelse=orelse):
            # A way that is never taken need not exist; it may lead anywhere.
            first = numbers.get(then, numbers.get(orelse, 0))
            second = numbers.get(orelse, first)
            return replace(node, then=first, orelse=second)
        case _:
            return replace(node, next=numbers[node.next])


class Input(Frozen):
    """One declared input or public; scalar if `lo` is None, else an array from index `lo`.

    Variables: `cells`, for a scalar `name` alone; cell `lo + i` of an array is `cells[i]`.
    `where` restricts the values; it reads this and earlier inputs only. With `is_stream` there is a
    value for each round of the loop that never ends: the one cell is that of the round at hand.
    `is_choice` marks what an analyst has fixed beforehand, a cell for each length of a history.
    """

    name: str
    lo: int | None
    cells: tuple[str, ...]
    domain: SetValue
    where: Expr | None
    is_public: bool
    span: Span
    is_stream: bool = False
    is_choice: bool = False

    @property
    def is_unbounded(self) -> bool:
        """Return whether the values are all integers."""
        return self.domain == INTEGERS


class AdjacentWhere(Frozen):
    """Neighbors satisfy the condition; a primed variable is the neighbor's value."""

    condition: Expr
    span: Span


class AdjacentPairs(Frozen):
    """`adjacent (v, w), ...` for the one private input of the mechanism."""

    pairs: tuple[tuple[Value, Value], ...]
    span: Span


class AdjacentAll(Frozen):
    """Any two inputs are neighbors."""

    span: Span


Adjacency = AdjacentWhere | AdjacentPairs | AdjacentAll


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A mechanism with its parameters filled in, as a control-flow graph.

    A target is what one target of a question came to: no two objects are equal.

    `nodes[entry]` is where a run starts. `title` is how messages call it: `rr(k = 4)`.
    The neighbor relation is the symmetric closure of the union of `adjacency`, without
    self-pairs, restricted to pairs that agree on every public input; a private input that no
    clause mentions may change freely. Where a sample of the records is drawn first, `sampled_at`
    says where that is asked for: neighbors must be one record apart. With `hides_queries` claims
    count outputs alone, and no query that was fixed beforehand. `n_rounds` is set where it has the
    first outputs, so many, of a mechanism that goes on.
    """

    title: str
    inputs: tuple[Input, ...]
    adjacency: tuple[Adjacency, ...]
    nodes: tuple[Node, ...]
    entry: int
    span: Span
    sampled_at: Span | None = None
    hides_queries: bool = False
    n_rounds: int | None = None

    @property
    def has_unbounded_inputs(self) -> bool:
        """Return whether some input may be any integer: such a mechanism has no finite chain."""
        return any(one.is_unbounded for one in self.inputs)

    @property
    def has_analyst(self) -> bool:
        """Return whether queries are asked, by one who adapts or has fixed them beforehand."""
        return any(isinstance(node, Output) and node.query is not None for node in self.nodes)

    @property
    def has_queries(self) -> bool:
        """Return whether an analyst who adapts chooses anything."""
        return any(isinstance(node, Output) and node.query == "adaptive" for node in self.nodes)

    @property
    def has_fixed_queries(self) -> bool:
        """Return whether an analyst has chosen anything beforehand."""
        return any(isinstance(node, Output) and node.query == "fixed" for node in self.nodes)

    @property
    def has_priors(self) -> bool:
        """Return whether data are drawn before it starts."""
        return any(isinstance(node, Sample) and node.is_prior for node in self.nodes)

    @property
    def locals(self) -> frozenset[str]:
        """The names that it assigns, as the text has them, and those of mechanisms it runs."""
        cells = (cell for node in self.nodes for cell in written(node))
        return frozenset(re.sub(r"^.*\.|[\[#].*$", "", cell) for cell in cells)

    def shows_only(self, name: str) -> bool:
        """Return whether every output is the variable of that name."""
        shown = (node.value for node in self.nodes if isinstance(node, Output))
        return {getattr(value, "name", None) for value in shown} == {name}

    @property
    def choices(self) -> frozenset[str]:
        """The variables that an analyst has fixed beforehand."""
        return frozenset(cell for one in self.inputs if one.is_choice for cell in one.cells)


# --- explicit chains -----------------------------------------------------------------------


class Family(Frozen):
    """`state name[i in S, j in T] : labels`; a single state has no indices.

    `indices` holds, per index, its name and the set it ranges over.
    """

    name: str
    indices: tuple[tuple[str, Expr], ...]
    labels: tuple[str, ...]
    span: Span


class StateReference(Frozen):
    """A member of a family: `name[e1, e2]`. Without indices: the state, or the whole family."""

    name: str
    indices: tuple[Expr, ...]
    span: Span


class RowBranch(Frozen):
    """`probability: target`."""

    probability: Expr
    target: StateReference
    span: Span


class RowDraw(Frozen):
    """`name ~ distribution : target`, where the target may read the drawn name."""

    name: str
    distribution: Distribution
    target: StateReference
    span: Span


class Row(Frozen):
    """`source -> branch + branch ...`."""

    source: StateReference
    branches: tuple[RowBranch | RowDraw, ...]
    span: Span


class RowsFor(Frozen):
    """`for name in domain { ... }` around rows."""

    name: str
    domain: Expr
    body: tuple[RowStatement, ...]
    span: Span


class RowsIf(Frozen):
    """`if condition { ... } else { ... }` around rows."""

    condition: Expr
    then: tuple[RowStatement, ...]
    orelse: tuple[RowStatement, ...]
    span: Span


RowStatement = Row | RowsFor | RowsIf


class AdjacentStates(Frozen):
    """`adjacent left ~ right where condition`.

    `fresh` are the index names the clause introduces, each with the set it ranges over (the
    index set of the family at the position where the name stands alone).
    """

    left: StateReference
    right: StateReference
    fresh: tuple[tuple[str, Expr], ...]
    where: Expr | None
    span: Span


@dataclass(frozen=True, eq=False)
class ExplicitChain:
    """A chain as declared. `initial` and `observed` are None where the text is silent.

    `observed` are labels, families, states or members, in the order written.
    """

    title: str
    families: tuple[Family, ...]
    rows: tuple[RowStatement, ...]
    adjacency: tuple[AdjacentStates, ...]
    initial: tuple[StateReference, ...] | None
    observed: tuple[Label, ...] | None
    span: Span


Target = Mechanism | ExplicitChain


class Part(Frozen):
    """One part of an arrangement: `times` independent runs of a target on the same input.

    Neighbors are the inputs up to `distance` in the graph of the target's own neighbors.
    """

    target: Target
    distance: int
    times: int
