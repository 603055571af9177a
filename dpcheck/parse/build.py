"""From the rules of the grammar to the surface tree.

A `-> name` of `grammar/dpm.lark` is a method of `Builder`, which receives the place of what was
reduced and what the rule keeps; or it is a class of the tree, whose fields are what the rule keeps,
in order. Lists are built in place and frozen where a node takes them. What the grammar lets through
and the language does not is reported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Literal, TypeVar, cast

from dpcheck.diagnostics import syntax
from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.model import surface as s
from dpcheck.model.distributions import PolicyKind
from dpcheck.model.expressions import BinderKind
from dpcheck.model.surface_text import one_line
from dpcheck.model.trees import too_deep_place
from dpcheck.model.words import KEYWORDS
from dpcheck.parse.tokens import Token
from dpcheck.records import dataclass, replace
from dpcheck.source import SourceText, Span

MAX_DIGITS = 100_000
"""Digits of the numerator or denominator of a literal; more is a mistake."""

BINDERS = frozenset(
    {"forall", "exists", "sum", "product", "max", "min", "count", "argmax", "argmin"}
)

NAMES = frozenset({"NAME", "ARG_NAME", "OUTPUT"})
"""The tokens that are names: `output` is one too, where it is not a statement."""

_OPENING: dict[str, s.ArithmeticOperator] = {"+": "+", "-": "+", "*": "*", "/": "*"}
"""The operator after which terms of a sum, or factors of a product, may be put in brackets."""

TERMS_IN_A_ROW = 64
"""So many terms are added one after the other; then as many such sums."""

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class _Run:
    """A sum or product as far as it is read: what is complete, and the last terms, to go on from.

    a + b - c + d = (a + b - c) + d, and equally (a + b) + (d - c): + and * of exact numbers are
    associative, so after one of these (`opening`) the next terms may make a node of their own.
    That of n terms in a row is then not n levels deep. `found` is the node made of all, kept so
    that its identity stays its own.
    """

    opening: s.ArithmeticOperator
    before: s.Expression | None
    last: s.Expression
    n_terms: int
    found: s.Arithmetic | None = None

    def with_term(self, kind: s.ArithmeticOperator, right: s.Expression, span: Span) -> _Run:
        """Return the run with one more term; `span` is that of all terms."""
        if kind == self.opening and self.n_terms >= TERMS_IN_A_ROW:
            whole = self.node(Span(span.source, span.start, self.last.span.end))
            return _Run(self.opening, whole, right, 1)
        start = span.start if self.before is None else self.last.span.start
        last = s.Arithmetic(kind, self.last, right, span=Span(span.source, start, span.end))
        return _Run(self.opening, self.before, last, self.n_terms + 1)

    def node(self, span: Span) -> s.Arithmetic:
        """Return the sum or product so far."""
        if self.before is not None:
            return s.Arithmetic(self.opening, self.before, self.last, span=span)
        assert isinstance(self.last, s.Arithmetic), "a run has two terms"
        return self.last


class Builder:
    """Makes nodes, and collects mistakes."""

    def __init__(self, source: SourceText) -> None:
        """Start with no mistakes."""
        self.source = source
        self.mistakes: list[Mistake] = []
        self._spoiled_from = -1
        self._runs: dict[int, _Run] = {}

    def spoil(self, offset: int) -> None:
        """Remember that the item around this place cannot be used."""
        self._spoiled_from = max(self._spoiled_from, offset)

    def _report(self, mistake: Mistake) -> None:
        """Report a mistake that spoils the item it stands in."""
        self.mistakes.append(mistake)
        if mistake.severity == "error" and mistake.span is not None:
            self.spoil(mistake.span.start)

    def _place(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)

    def _identifier(self, token: Token) -> s.Identifier:
        return s.Identifier(token.text, span=self._place(token))

    def _range(self, name: Token, indices: s.Expression | None) -> s.Range | None:
        """Return the range of an array declaration, or report that it is none."""
        if indices is None or isinstance(indices, s.Range):
            return indices
        self._report(syntax.ArrayWithoutRange(indices.span, name.text, indices.span.text))
        return None

    def field(self, value: object) -> object:
        """Return a token or a list of what was kept as a field: names have places, words none."""
        match value:
            case Token():
                return self._identifier(value) if value.type in NAMES else value.text
            case list():
                return tuple([self.field(item) for item in value])
            case _:
                return value

    # --- lists and options -------------------------------------------------------------------

    def none(self, _: Span) -> None:
        """Return the missing part."""
        return

    def yes(self, _: Span, *_words: Token) -> bool:
        """Return that the word is there."""
        return True

    def no(self, _: Span) -> bool:
        """Return that the word is missing."""
        return False

    def listed(self, _: Span, *items: object) -> list[object]:
        """Return a list to append to."""
        return [*items]

    def append(self, _: Span, items: list[object], *more: object) -> list[object]:
        """Return the list, longer by what follows it."""
        items += more
        return items

    def block(
        self, _: Span, condition: s.Expression, statements: list[object]
    ) -> tuple[s.Expression, tuple[object, ...]]:
        """`if condition { ... }`, or the same after an `else`."""
        return condition, tuple(statements)

    def text(self, _: Span, token: Token) -> str:
        """Return what stands between quotes."""
        return token.text[1:-1]

    def identifier(self, _: Span, name: Token) -> s.Identifier:
        """Return a name at the place that declares it, or a label."""
        return self._identifier(name)

    def quoted_identifier(self, span: Span, name: Token) -> s.Identifier:
        """Return a label in quotes."""
        return s.Identifier(name.text[1:-1], quoted=True, span=span)

    # --- top level ---------------------------------------------------------------------------

    def add_item(self, _: Span, items: list[s.Item], item: s.Item) -> list[s.Item]:
        """Keep the item unless a mistake spoiled it."""
        if self._spoiled_from < item.span.start:
            deep = too_deep_place(item, s.MAX_NESTING)
            if deep is None:
                items.append(item)
                return items
            self._report(syntax.NestedTooDeeply(deep, s.MAX_NESTING))
        return items

    def import_file(self, span: Span, path: Token) -> s.ImportFile:
        """`import "path"`."""
        return s.ImportFile(path.text[1:-1], path_span=self._place(path), span=span)

    def import_standard(self, span: Span, library: Token, module: Token) -> s.ImportStandard:
        """`import std.name`."""
        if library.text != "std":
            self._report(syntax.UnknownLibrary(self._place(library), library.text, module.text))
        return s.ImportStandard(module.text, module_span=self._place(module), span=span)

    def param_above(self, span: Span, name: Token, low: s.Expression) -> s.Constant:
        """`param name > low`."""
        high = s.Name("inf", span=low.span)
        interval = s.Interval(low, high, has_low=False, has_high=False, span=low.span)
        return s.Constant(self._identifier(name), interval, span=span)

    def interval(
        self, span: Span, opening: Token, low: s.Expression, high: s.Expression, closing: Token
    ) -> s.Interval:
        """`(low, high]`."""
        has_low, has_high = opening.type == "OPEN_BRACKET", closing.type == "CLOSE_BRACKET"
        return s.Interval(low, high, has_low, has_high, span=span)

    def at(self, _: Span, word: Token, condition: s.Expression) -> s.Expression:
        """`at condition`."""
        del word
        return condition

    # --- mechanisms --------------------------------------------------------------------------

    def mechanism(
        self,
        span: Span,
        name: Token,
        parameters: list[s.Parameter],
        items: list[s.Input | s.Adjacent | s.Statement],
    ) -> s.Mechanism:
        """`mechanism name(parameters) { ... }`, its items sorted by kind."""
        inputs: list[s.Input] = []
        adjacency: list[s.Adjacent] = []
        body: list[s.Statement] = []
        for item in items:
            match item:
                case s.Input():
                    inputs.append(item)
                case s.AdjacentWhere() | s.AdjacentPairs() | s.AdjacentAll():
                    adjacency.append(item)
                case s.Sample(is_prior=True) if not all(map(_is_prior, body)):
                    self._report(syntax.LatePrior(item.span))
                case _:
                    body.append(item)
        for stray in _breaks_outside_loops(body):
            self._report(syntax.BreakOutsideLoop(stray.span))
        return s.Mechanism(
            self._identifier(name),
            tuple(parameters),
            tuple(inputs),
            tuple(adjacency),
            tuple(body),
            span=span,
        )

    def input_declaration(
        self,
        span: Span,
        kind: Token,
        name: Token,
        indices: s.Expression | None,
        domain: s.Expression,
        where: s.Expression | None,
    ) -> s.Input:
        """`input name[range] in domain where condition`, or `public ...`."""
        return s.Input(
            self._identifier(name),
            indices if isinstance(indices, s.EndlessRange) else self._range(name, indices),
            domain,
            where,
            kind.text == "public",
            span=span,
        )

    def adjacent(self, span: Span, parts: list[s.Expression]) -> s.Adjacent:
        """`adjacent condition`, `adjacent all`, or `adjacent (v, w), ...`."""
        pairs = []
        for part in parts:
            match part:
                case s.Tuple(items=(left, right)):
                    pairs.append((left, right))
                case s.Name(name="all", primed=False, quoted=False) if len(parts) == 1:
                    return s.AdjacentAll(span=span)
                case _ if len(parts) == 1:
                    return s.AdjacentWhere(part, span=span)
                case _:
                    self._report(syntax.NotAPair(part.span))
                    break
        return s.AdjacentPairs(tuple(pairs), span=span)

    def pattern(self, span: Span, _: Token, names: list[Token]) -> s.Pattern:
        """Return `(a, b)` on the left of `:=` or `~`."""
        return s.Pattern(tuple(self._identifier(name) for name in names), span=span)

    def var(
        self,
        span: Span,
        name: Token,
        indices: s.Expression | None,
        domain: s.Expression | None,
        value: s.Expression | None,
    ) -> s.Var:
        """`var name[range] in domain := value`; `in 0..9 = 0` is a slip, for no set is compared."""
        match domain:
            case s.Comparison(operands=(within, first), operators=("=",)) if value is None:
                at = span.source.text.index("=", within.span.end)
                self._report(syntax.WrongEqualsSign(Span(span.source, at, at + 1), "="))
                domain, value = within, first
        return s.Var(self._identifier(name), self._range(name, indices), domain, value, span=span)

    def break_loop(self, span: Span, _: Token) -> s.Break:
        """`break`."""
        return s.Break(span=span)

    # --- explicit chains ---------------------------------------------------------------------

    def chain(
        self,
        span: Span,
        name: Token,
        parameters: list[s.Parameter],
        items: list[s.Family | s.AdjacentStates | s.Init | s.Observe | s.RowStatement],
    ) -> s.Chain:
        """`chain name(parameters) { ... }`, its items sorted by kind."""
        kinds = (s.Family, s.AdjacentStates, s.Init, s.Observe)
        rows = [item for item in items if not isinstance(item, kinds)]
        return s.Chain(
            self._identifier(name),
            tuple(parameters),
            _of_kind(s.Family, items),
            tuple(rows),
            _of_kind(s.AdjacentStates, items),
            _of_kind(s.Init, items),
            _of_kind(s.Observe, items),
            span=span,
        )

    # --- expressions -------------------------------------------------------------------------

    def number(self, span: Span, token: Token) -> s.Number:
        """Return the exact value of a literal."""
        text = token.text
        mantissa, _, exponent_text = text.lower().partition("e")
        whole, _, fraction = mantissa.partition(".")
        # Few digits show that an exponent is out of bounds; zeros before them are none.
        size = int(exponent_text.lstrip("+-").lstrip("0")[:12] or "0")
        exponent = -size if exponent_text.startswith("-") else size
        n_digits = len(whole) + len(fraction) + abs(exponent)
        if n_digits > MAX_DIGITS:
            self._report(syntax.NumberTooLong(span, text, n_digits, MAX_DIGITS))
            return s.Number(0, 1, "0", span=span)
        numerator = _integer(whole + fraction) * 10 ** max(0, exponent)
        denominator = 10 ** (len(fraction) + max(0, -exponent))
        common = math.gcd(numerator, denominator)
        return s.Number(numerator // common, denominator // common, text, span=span)

    def name(self, span: Span, token: Token) -> s.Name:
        """Return a name that is used."""
        return s.Name(token.text, span=span)

    def primed(self, span: Span, token: Token) -> s.Name:
        """`x'`."""
        word = token.text[:-1]
        if word in KEYWORDS:
            self._report(syntax.QuotedPrime(span, word))
        return s.Name(word, primed=True, span=span)

    def quoted(self, span: Span, token: Token) -> s.Name:
        """`"R"`."""
        return s.Name(token.text[1:-1], quoted=True, span=span)

    def with_policy(
        self, span: Span, distribution: s.Expression, policy: Token, bounds: s.Expression
    ) -> s.Expression:
        """`distribution policy low..high`."""
        if not isinstance(bounds, s.Range):
            bound = bounds.span.text if bounds.span.text.isalnum() else None
            self._report(syntax.PolicyWithoutRange(bounds.span, policy.text, bound))
            return distribution
        return s.WithPolicy(
            distribution,
            cast("PolicyKind", policy.text),
            bounds.low,
            bounds.high,
            policy_span=Span(self.source, policy.start, span.end),
            span=span,
        )

    def unbounded(self, span: Span, distribution: s.Expression, word: Token) -> s.Unbounded:
        """`distribution unbounded`."""
        policy_span = Span(self.source, word.start, word.end)
        return s.Unbounded(distribution, policy_span=policy_span, span=span)

    def comparison(self, span: Span, chain: list[s.Expression | Token]) -> s.Comparison:
        """Return the whole chain of comparisons."""
        operands = cast(list[s.Expression], chain[::2])
        operators = cast(list[Token], chain[1::2])
        signs = tuple(cast(s.ComparisonOperator, token.text) for token in operators)
        return s.Comparison(tuple(operands), signs, span=span)

    def endless_range(self, span: Span, low: s.Expression, dots: Token) -> s.EndlessRange:
        """`low..`; only its `{` or `]` tells that there is no end."""
        del dots
        return s.EndlessRange(low, span=span)

    def arithmetic(
        self, span: Span, left: s.Expression, operator: Token, right: s.Expression
    ) -> s.Arithmetic:
        """`left operator right`; sums and products of many terms are trees of few levels."""
        kind = cast(s.ArithmeticOperator, operator.text)
        opening = _OPENING.get(kind)
        if opening is None:
            return s.Arithmetic(kind, left, right, span=span)
        run = self._runs.pop(id(left), None)
        if run is None or run.opening != opening:
            run = _Run(opening, None, left, 1)
        run = run.with_term(kind, right, span)
        found = run.node(span)
        self._runs[id(found)] = replace(run, found=found)
        return found

    def quotient(
        self, span: Span, left: s.Expression, operator: Token, right: s.Expression
    ) -> s.Arithmetic:
        """`left / right`; `ln a/b` is right but rarely meant."""
        above = left.operand if isinstance(left, s.Negative) else left
        if (
            isinstance(above, s.Logarithm)
            and left.span.start == span.start
            and above.operand.span.end == left.span.end
        ):
            below = one_line(span.source.text[operator.end : span.end]).strip()
            sign = one_line(span.source.text[span.start : above.span.start])
            read = f"({one_line(left.span.text)})/{below}"
            other = f"{sign}ln({one_line(above.operand.span.text)}/{below})"
            self._report(syntax.LogarithmOfQuotient(span, one_line(span.text), read, other))
        return self.arithmetic(span, left, operator, right)

    def quoted_call(self, span: Span, function: Token, arguments: list[s.Argument]) -> s.Call:
        """`"F"(arguments)`, a function whose name is an operator in formulas."""
        name = self.quoted_identifier(self._place(function), function)
        return s.Call(name, tuple(arguments), span=span)

    def binder(
        self,
        span: Span,
        kind: Token,
        membership: s.Expression,
        where: s.Expression | None,
        body: s.Expression,
    ) -> s.Expression:
        """`kind(variable in domain where condition : body)`."""
        match membership:
            case s.Comparison(
                operands=(s.Name(primed=False, quoted=False) as variable, domain),
                operators=("in",),
            ) if kind.text in BINDERS:
                return s.Binder(
                    cast("BinderKind", kind.text),
                    s.Identifier(variable.name, span=variable.span),
                    domain,
                    where,
                    body,
                    span=span,
                )
            case _:
                binds = kind.text in BINDERS
                place = membership.span if binds else self._place(kind)
                is_name = binds and isinstance(membership, s.Name)
                edit = f"{membership.span.text} in 1..3" if is_name else None
                self._report(syntax.MalformedBinder(place, kind.text, binds, edit))
                return body

    # --- formulas ----------------------------------------------------------------------------

    def prefix(
        self, span: Span, operator: Token, bound: s.Expression | None, operand: s.Expression
    ) -> s.TemporalPrefix:
        """`X operand`, `F operand`, `G<=bound operand`."""
        word, place = cast(Literal["X", "F", "G"], operator.text), self._place(operator)
        return s.TemporalPrefix(word, bound, operand, operator_span=place, span=span)

    def infix(
        self,
        span: Span,
        left: s.Expression,
        operator: Token,
        bound: s.Expression | None,
        right: s.Expression,
    ) -> s.TemporalInfix:
        """`left U right`, `left U<=bound right`, `left W right`, `left R right`."""
        word, place = cast(Literal["U", "W", "R"], operator.text), self._place(operator)
        return s.TemporalInfix(word, bound, left, right, operator_span=place, span=span)

    def expectation_is(
        self, span: Span, comparison: Token, bound: s.Expression, value: s.Expression
    ) -> s.Expectation:
        """`E comparison bound [ value ]`."""
        sign = cast(Literal[">=", ">", "<=", "<", "="], comparison.text)
        return s.Expectation(((sign, bound),), value, span=span)

    def expectation_in(
        self, span: Span, low: s.Expression, high: s.Expression, value: s.Expression
    ) -> s.Expectation:
        """`E in [low, high] [ value ]`."""
        return s.Expectation(((">=", low), ("<=", high)), value, span=span)


def _of_kind(kind: type[Kind], items: Iterable[object]) -> tuple[Kind, ...]:
    return tuple(item for item in items if isinstance(item, kind))


def builder_of(name: str) -> Callable[..., object]:
    """Return what makes the value of a rule `-> name`, from a builder, a place and what was kept.

    >>> source = SourceText("", "stop")
    >>> builder_of("stop")(Builder(source), Span(source, 0, 4))
    Stop()
    """
    own: Callable[..., object] | None = getattr(Builder, name, None)
    if own is not None:
        return own
    kind: Callable[..., object] = KINDS.get(name) or getattr(s, name.title().replace("_", ""))

    def node(builder: Builder, span: Span, *kept: object) -> object:
        return kind(*[builder.field(v) if type(v) in _UNFINISHED else v for v in kept], span=span)

    return node


KINDS: Mapping[str, Callable[..., object]] = {
    "true": partial(s.Boolean, True),
    "false": partial(s.Boolean, False),
    "disjunction": partial(s.Junction, "|"),
    "conjunction": partial(s.Junction, "&"),
    "positional_argument": partial(s.Argument, None),
    "empty_set": partial(s.SetLiteral, ()),
    "expectation_of": partial(s.Expectation, ()),
    "prior": partial(s.Sample, is_prior=True),
    "set_comprehension": lambda body, variable, domain, where, span: s.Binder(
        "set", variable, domain, where, body, span=span
    ),
}
"""Nodes of which a rule says a field without keeping it."""

_UNFINISHED = frozenset({Token, list})


def _integer(digits: str) -> int:
    """Return the value of decimal digits, of any number (Python alone stops at 4,300)."""
    if len(digits) <= 4000:
        return int(digits)
    half = len(digits) // 2
    shift: int = 10**half
    return _integer(digits[:-half]) * shift + _integer(digits[-half:])


def _is_prior(statement: s.Statement) -> bool:
    """Return whether a statement is a `prior`."""
    return isinstance(statement, s.Sample) and statement.is_prior


def _breaks_outside_loops(body: Iterable[s.Statement]) -> Iterator[s.Break]:
    """Yield every `break` that no loop is around."""
    for statement in body:
        match statement:
            case s.Break():
                yield statement
            case s.If(branches=branches, otherwise=otherwise):
                for _, block in branches:
                    yield from _breaks_outside_loops(block)
                yield from _breaks_outside_loops(otherwise)
