"""The surface tree: a model file exactly as written, before any name means anything.

How things are represented (read this before you write against it; import the module, not its
names: `from dpcheck.model import surface`, because the core model uses some of the same words):

- Every node is a frozen dataclass with a `span`. Spans take no part in `==`, `hash` and `repr`:
  two trees are equal when they say the same thing.
- A declared name is an `Identifier` (it has a span of its own); a name that is *used* in an
  expression is a `Name`, whether it is a constant, parameter, input, local, symbol, label,
  family, quantity (`epsilon`), `inf`, `stopped`, `diverged` or the keyword `output`. `x'` is
  `Name("x", primed=True)`. `"R"` is `Name("R", quoted=True)`: a symbol or label for certain.
- Expressions, distributions and formulas share one union, `Expression`, since claims mix them.
  Parentheses leave no trace. `a & b & c` is one `Junction`, `0 <= x < 3` one `Comparison`.
  `exp(x)`, `abs(x)`, `geometric(x, a)`, `survey(x = b)`, `dp(e)`, `delta(e)` are all `Call`.
  `ln x` is `Logarithm` (also `ln(x)`). `S * T` is `Arithmetic("*")`: sets or numbers.
  `a[i]` and `t[1]` and a member `s[3]` or `g[1, 2]` of a family are all `Index`.
- `{v: w, ...}` is `Branches`; `{v: w for x in S where c}` is `WeightedBranches`;
  `geometric(...) clamped lo..hi` is `WithPolicy` around the `Call`.
- `sum(i in S : e)` is `Binder`; `sum(a)` and `max(a, b)` are `Call`; `count(x in S)` (no colon)
  is a `Call` with a Boolean argument.
- Numbers are exact: `Number` holds numerator and denominator of the literal (`0.1` is 1/10,
  `1e-6` too) and the text as written. `3/4` is the division of two literals, and `-1` is
  `Negative(Number)`.
- The union of expressions is at most `MAX_NESTING` levels deep (the parser reports deeper text),
  so recursion over it is safe; `Junction`, `Comparison` and `If.branches` are flat.
"""

from __future__ import annotations

from typing import Literal

from dpcheck.model.distributions import PolicyKind
from dpcheck.model.expressions import BinderKind
from dpcheck.records import Frozen, field, replace
from dpcheck.source import SourceText, Span

MAX_NESTING = 150
"""Levels of nesting the parser accepts, in brackets and in the tree below one top-level item."""


class Node(Frozen):
    """What is written at a place; trees are equal that differ in places alone."""

    span: Span = field(compare=False, repr=False, kw_only=True)


# --- names -----------------------------------------------------------------------------------


class Identifier(Node):
    """A name at the place that declares it, or a label; `quoted` if written in quotes."""

    name: str
    quoted: bool = False


# --- expressions -----------------------------------------------------------------------------


class Number(Node):
    """A literal: exactly `numerator / denominator`, in lowest terms; `text` as written."""

    numerator: int
    denominator: int
    text: str


class Boolean(Node):
    """`true` or `false`."""

    value: bool


class Name(Node):
    """A name that is used: `x`, `x'` (primed), `"R"` (quoted), `output`."""

    name: str
    primed: bool = False
    quoted: bool = False


class Argument(Node):
    """One argument of a call or target: `value`, or `name = value`."""

    name: Identifier | None
    value: Expression


class Call(Node):
    """`function(arguments)`.

    Every argument of the form `NAME = e` is a named one here. Where the function takes no named
    arguments (everything but mechanisms and targets), `=` is equality: `positional(argument)`
    gives the comparison back, and every other argument as it is.
    """

    function: Identifier
    arguments: tuple[Argument, ...]


class Index(Node):
    """`base[indices]`: array element, tuple component, member of a family of states."""

    base: Expression
    indices: tuple[Expression, ...]


class Negative(Node):
    """`-operand`."""

    operand: Expression


class Logarithm(Node):
    """`ln operand`, the natural logarithm."""

    operand: Expression


ArithmeticOperator = Literal["+", "-", "*", "/", "div", "mod", "^"]


class Arithmetic(Node):
    """`left operator right`."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


class Range(Node):
    """`low..high`, both ends included."""

    low: Expression
    high: Expression


class EndlessRange(Node):
    """`low..`, without an end: the indices of a stream, the rounds of a loop that never ends."""

    low: Expression


ComparisonOperator = Literal["=", "!=", "<", "<=", ">", ">=", "in"]


class Comparison(Node):
    """A chain `e0 op1 e1 op2 e2 ...`: every neighboring pair of two or more operands compares."""

    operands: tuple[Expression, ...]
    operators: tuple[ComparisonOperator, ...]


class Not(Node):
    """`! operand`."""

    operand: Expression


class Junction(Node):
    """`a & b & ...` or `a | b | ...`: at least two operands, lazy from left to right."""

    operator: Literal["&", "|"]
    operands: tuple[Expression, ...]


class Implication(Node):
    """`left => right`."""

    left: Expression
    right: Expression


class Conditional(Node):
    """`if condition then then else otherwise`, of values or of distributions."""

    condition: Expression
    then: Expression
    otherwise: Expression


class Tuple(Node):
    """`(a, b, ...)`: at least two items."""

    items: tuple[Expression, ...]


class SetLiteral(Node):
    """`{a, b, ...}`, possibly empty."""

    items: tuple[Expression, ...]


class Binder(Node):
    """`kind(variable in domain where condition : body)`.

    Of the kind `set` it is `{body for variable in domain where condition}`.
    """

    kind: BinderKind
    variable: Identifier
    domain: Expression
    where: Expression | None
    body: Expression


# --- distributions ---------------------------------------------------------------------------


class Branch(Node):
    """`value: weight` in a distribution literal."""

    value: Expression
    weight: Expression


class Branches(Node):
    """`{value: weight, ...}`, with `normalized` after it or not."""

    branches: tuple[Branch, ...]
    normalized: bool


class WeightedBranches(Node):
    """`{value: weight for variable in domain where condition}`, `normalized` or not."""

    value: Expression
    weight: Expression
    variable: Identifier
    domain: Expression
    where: Expression | None
    normalized: bool


class WithPolicy(Node):
    """`distribution policy low..high`; `policy_span` covers from the policy's word to the end."""

    distribution: Expression
    policy: PolicyKind
    low: Expression
    high: Expression
    policy_span: Span = field(compare=False, repr=False, kw_only=True)


class Unbounded(Node):
    """`distribution unbounded`; `policy_span` is the word's."""

    distribution: Expression
    policy_span: Span = field(compare=False, repr=False, kw_only=True)


Distribution = Branches | WeightedBranches | WithPolicy | Unbounded
"""The expressions that are distributions and nothing else; a `Call` may be one, too."""


# --- formulas --------------------------------------------------------------------------------


class TemporalPrefix(Node):
    """`X operand`, `F operand`, `G operand`; `F` and `G` may have a `bound` of steps."""

    operator: Literal["X", "F", "G"]
    bound: Expression | None
    operand: Expression
    operator_span: Span = field(compare=False, repr=False, kw_only=True)


class TemporalInfix(Node):
    """`left U right` (may have a `bound` of steps), `left W right`, `left R right`."""

    operator: Literal["U", "W", "R"]
    bound: Expression | None
    left: Expression
    right: Expression
    operator_span: Span = field(compare=False, repr=False, kw_only=True)


class ProbabilityIs(Node):
    """`P comparison bound [ path ]`."""

    comparison: Literal[">=", ">", "<=", "<", "="]
    bound: Expression
    path: Expression


class ProbabilityIn(Node):
    """`P in [low, high] [ path ]`."""

    low: Expression
    high: Expression
    path: Expression


class ProbabilityOf(Node):
    """`P=? [ path ]`: a quantity, to compare or to report."""

    path: Expression


class Expectation(Node):
    """`E=? [ value ]`, `E comparison bound [ value ]` or `E in [low, high] [ value ]`.

    `relations` are the comparisons: none, one, or `>= low` and `<= high`.
    """

    relations: tuple[tuple[Literal[">=", ">", "<=", "<", "="], Expression], ...]
    value: Expression


class Private(Node):
    """`D{epsilon} [ path ]` or `D{epsilon, delta} [ path ]`."""

    epsilon: Expression
    delta: Expression | None
    path: Expression


Formula = (
    TemporalPrefix
    | TemporalInfix
    | ProbabilityIs
    | ProbabilityIn
    | ProbabilityOf
    | Expectation
    | Private
)
"""The expressions that only formulas may contain."""

Expression = (
    Number
    | Boolean
    | Name
    | Call
    | Index
    | Negative
    | Logarithm
    | Arithmetic
    | Range
    | EndlessRange
    | Comparison
    | Not
    | Junction
    | Implication
    | Conditional
    | Tuple
    | SetLiteral
    | Binder
    | Distribution
    | Formula
)


def positional(argument: Argument) -> Expression:
    """Return the argument as an expression: in `f(x = e)`, the comparison it spells.

    A named value extends as far as it can, a comparison binds tighter than `&`: `x = a & b` is
    `(x = a) & b` here. Spans tell where the user wrote parentheses, which nothing moves into.
    """
    name, value = argument.name, argument.value
    if name is None:
        return value
    left = Name(name.name, span=name.span)
    if value.span.end < argument.span.end:
        return _equality(left, value)
    return _compared_first(left, value)


def _compared_first(left: Name, value: Expression) -> Expression:
    """Return `left = value` with `=` binding tighter than what is loose in `value`."""
    span = left.span.to(value.span)
    match value:
        case Junction(operands=(first, *rest)) if first.span.start == value.span.start:
            return replace(value, operands=(_compared_first(left, first), *rest), span=span)
        case Implication(left=first) if first.span.start == value.span.start:
            return replace(value, left=_compared_first(left, first), span=span)
        case TemporalInfix(left=first) if first.span.start == value.span.start:
            return replace(value, left=_compared_first(left, first), span=span)
        case Comparison():
            operands, operators = (left, *value.operands), ("=", *value.operators)
            return replace(value, operands=operands, operators=operators, span=span)
        case _:
            return _equality(left, value)


def _equality(left: Name, right: Expression) -> Comparison:
    return Comparison((left, right), ("=",), span=left.span.to(right.span))


# --- statements of mechanisms ----------------------------------------------------------------


class Cell(Node):
    """`name[index]` on the left of `:=` or `~`."""

    name: Identifier
    index: Expression


class Pattern(Node):
    """`(a, b, ...)` on the left of `:=` or `~`: at least two names."""

    names: tuple[Identifier, ...]


Place = Identifier | Cell | Pattern


class Assign(Node):
    """`place := value`."""

    place: Place
    value: Expression


class Sample(Node):
    """`place ~ distribution`, where the distribution may be a call of another mechanism.

    `is_prior` marks `prior place ~ distribution`, which stands before all other statements.
    """

    place: Place
    distribution: Expression
    is_prior: bool = False


class Var(Node):
    """`var name[range] in domain := value`; each of the three parts may be missing (None)."""

    name: Identifier
    indices: Range | None
    domain: Expression | None
    value: Expression | None


class If(Node):
    """`if c { } else if d { } else { }`: conditions with their blocks in order, flat."""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


class LoopIndex(Node):
    """`variable in domain` in the head of a `for`, or between the brackets of a family."""

    variable: Identifier
    domain: Expression


class For(Node):
    """`for i in S, j in T where condition { body }`: a domain sees the variables before it."""

    indices: tuple[LoopIndex, ...]
    where: Expression | None
    body: tuple[Statement, ...]


class While(Node):
    """`while condition { body }`."""

    condition: Expression
    body: tuple[Statement, ...]


class Repeat(Node):
    """`repeat times { body }`."""

    times: Expression
    body: tuple[Statement, ...]


class Output(Node):
    """`output value`."""

    value: Expression


class Stop(Node):
    """`stop`."""


class Break(Node):
    """`break`, inside of a loop."""


class Run(Node):
    """`run mechanism(arguments)`."""

    mechanism: Identifier
    arguments: tuple[Argument, ...]


class Query(Node):
    """`query name in choices`: the analyst chooses a value, seeing all outputs so far.

    With `fixed` the choice was made beforehand; it depends on the length of the history alone.
    """

    name: Identifier
    choices: Expression
    is_fixed: bool


Statement = Assign | Sample | Var | If | For | While | Repeat | Output | Stop | Break | Run | Query


# --- mechanisms ------------------------------------------------------------------------------


class Parameter(Node):
    """`name = default` of a mechanism or chain, or `name` alone."""

    name: Identifier
    default: Expression | None


class Input(Node):
    """`input name[range] in domain where condition`, or `public ...`; a scalar has no range."""

    name: Identifier
    indices: Range | EndlessRange | None
    domain: Expression
    where: Expression | None
    is_public: bool


class AdjacentWhere(Node):
    """`adjacent condition`, over inputs and primed inputs."""

    condition: Expression


class AdjacentPairs(Node):
    """`adjacent (v, w), (v, w), ...`."""

    pairs: tuple[tuple[Expression, Expression], ...]


class AdjacentAll(Node):
    """`adjacent all`."""


Adjacent = AdjacentWhere | AdjacentPairs | AdjacentAll


class Mechanism(Node):
    """`mechanism name(parameters) { inputs adjacency body }`, each kind in source order."""

    name: Identifier
    parameters: tuple[Parameter, ...]
    inputs: tuple[Input, ...]
    adjacency: tuple[Adjacent, ...]
    body: tuple[Statement, ...]


# --- explicit chains -------------------------------------------------------------------------


class Family(Node):
    """`state name[indices] : labels`; a single state has no indices."""

    name: Identifier
    indices: tuple[LoopIndex, ...]
    labels: tuple[Identifier, ...]


class StateReference(Node):
    """`name` or `name[e1, e2]`: a state, a member of a family, a family, or a label."""

    name: Identifier
    indices: tuple[Expression, ...]


class RowBranch(Node):
    """`probability: target`."""

    probability: Expression
    target: StateReference


class RowDraw(Node):
    """`variable ~ distribution : target`."""

    variable: Identifier
    distribution: Expression
    target: StateReference


class Row(Node):
    """`origin -> branch + branch + ...`."""

    origin: StateReference
    branches: tuple[RowBranch | RowDraw, ...]


class RowsFor(Node):
    """`for i in S, j in T where condition { rows }`."""

    indices: tuple[LoopIndex, ...]
    where: Expression | None
    body: tuple[RowStatement, ...]


class RowsIf(Node):
    """`if c { rows } else if d { rows } else { rows }`, flat."""

    branches: tuple[tuple[Expression, tuple[RowStatement, ...]], ...]
    otherwise: tuple[RowStatement, ...]


RowStatement = Row | RowsFor | RowsIf


class AdjacentStates(Node):
    """`adjacent left ~ right where condition`."""

    left: StateReference
    right: StateReference
    where: Expression | None


class Init(Node):
    """`init s, t[0], ...`."""

    states: tuple[StateReference, ...]


class Observe(Node):
    """`observe Y, t, s[3], ...`."""

    names: tuple[StateReference, ...]


class Chain(Node):
    """`chain name(parameters) { ... }`, each kind of declaration in source order."""

    name: Identifier
    parameters: tuple[Parameter, ...]
    families: tuple[Family, ...]
    rows: tuple[RowStatement, ...]
    adjacency: tuple[AdjacentStates, ...]
    inits: tuple[Init, ...]
    observes: tuple[Observe, ...]


# --- top level -------------------------------------------------------------------------------


class Interval(Node):
    """`(low, high]`, each end in a bracket that takes it in or in a parenthesis that does not."""

    low: Expression
    high: Expression
    has_low: bool
    has_high: bool


class Constant(Node):
    """`const name = value`; or `param name in interval`, a value that nobody has chosen."""

    name: Identifier
    value: Expression | Interval


class Function(Node):
    """`fun name(parameters) = body`."""

    name: Identifier
    parameters: tuple[Identifier, ...]
    body: Expression


class DistributionFunction(Node):
    """`dist name(parameters) = body`; without parentheses there are no parameters."""

    name: Identifier
    parameters: tuple[Identifier, ...]
    body: Expression


class ImportFile(Node):
    """`import "path"`; `path` as between the quotes, `path_span` with the quotes."""

    path: str
    path_span: Span = field(compare=False, repr=False, kw_only=True)


class ImportStandard(Node):
    """`import std.name`; `module` is what follows `std.`."""

    module: str
    module_span: Span = field(compare=False, repr=False, kw_only=True)


class Target(Node):
    """`name(arguments)` or `name`: what a question is about."""

    name: Identifier
    arguments: tuple[Argument, ...]


QuestionKind = Literal["check", "refute", "compute"]


class Part(Node):
    """`for name in interval`: the values of a `param` that a question is about."""

    name: Identifier
    interval: Interval


class Question(Node):
    """`check "title" target for part at condition : claim`, or `refute`, or `compute`.

    The claim is a formula, a call of `dp`, a quantity, or a comparison
    with a quantity; `at` is a state formula or a member of a family.
    """

    kind: QuestionKind
    title: str | None
    target: Target
    part: Part | None
    at: Expression | None
    claim: Expression


class QuestionsFor(Node):
    """`for i in S, j in T where condition { questions }`."""

    indices: tuple[LoopIndex, ...]
    where: Expression | None
    body: tuple[Question | QuestionsFor, ...]


Item = (
    ImportFile
    | ImportStandard
    | Constant
    | Function
    | DistributionFunction
    | Mechanism
    | Chain
    | Question
    | QuestionsFor
)


class SurfaceModel(Frozen):
    """One file: its items in source order (without the ones that have syntax errors)."""

    source: SourceText = field(compare=False, repr=False)
    items: tuple[Item, ...]

    @property
    def targets(self) -> list[Mechanism | Chain]:
        """What claims can be about: the mechanisms and chains that the file declares."""
        return [item for item in self.items if isinstance(item, Mechanism | Chain)]
