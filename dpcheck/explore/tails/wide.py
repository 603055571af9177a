"""Which variables may hold a number without bounds, and what a program does with them.

Such a variable is called *wide*. Wide variables that are compared, copied into each other, or
chosen among together are one *group*: what is known of one may tell something of the others. All
other numbers they are compared with have to lie in the window; those are the *guards* of a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, assert_never

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.structure import ComputedWithUnbounded
from dpcheck.explore.values.mistakes import spoken
from dpcheck.model import program
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.expressions import (
    Apply,
    ArrayVar,
    Binder,
    Const,
    Expr,
    If,
    Let,
    Logic,
    Var,
    known_cell,
    reads,
)
from dpcheck.model.surface_text import one_line
from dpcheck.model.trees import descendants, replaced
from dpcheck.model.values import SetValue
from dpcheck.records import dataclass, replace
from dpcheck.source import Span

Names = frozenset[str]
Kind = Literal["noise", "copies", "others"]
"""What a `~` draws: noise without bounds, copies of such numbers, or anything else."""

NONE: Final[Names] = frozenset()

_NEEDED: Final = {
    "probability": range(2),
    "count": range(21),
    **dict.fromkeys(("/", "div", "mod", "^", "ln", "rounds"), range(1, 21)),
}
"""Some numbers that an operator, or a kind of parameter, takes where it does not take all."""

_FREE_FIRST: Final = frozenset(("/", "div", "mod", "^"))
"""Operators that take any number on their left."""

MANY_ELEMENTS: Final = 64
"""What is asked of so many elements at most is read one by one."""

_WORDS: Final = {
    "neg": "`-`",
    "range": "`..`",
    "rounds": "`repeat`",
    "tuple": "a tuple that is not output",
}


@dataclass(frozen=True, eq=False)
class Wide:
    """What a mechanism does with its wide variables.

    groups: the variables of each group, sorted. revealing: the nodes that draw what is shown of a
    wide number (see `with_numbers_revealed`), with its group. guards: by node, expressions of which
    all values (`evaluate.codes_of_all`) have to lie in the window while that node runs. sums: by
    node, in the order in which they are resolved, the numbers of a group that are in sums, and all
    that is added to them. touching: by node, the groups it reads or writes. arriving: the nodes
    that draw a wide variable (and do not copy one), or how far some are apart (see
    `with_sums_resolved`), with their group. showing: those that output one.
    """

    groups: tuple[tuple[str, ...], ...]
    revealing: Mapping[int, int]
    guards: Mapping[int, tuple[Expr, ...]]
    sums: Mapping[int, tuple[tuple[Expr, ...], ...]]
    touching: Mapping[int, tuple[int, ...]]
    arriving: Mapping[int, int]
    showing: frozenset[int]

    @property
    def names(self) -> Names:
        """All wide variables."""
        return frozenset().union(*self.groups)


def _group_of(name: str, groups: tuple[tuple[str, ...], ...]) -> int:
    return next(k for k, names in enumerate(groups) if name in names)


def holding_numbers(nodes: tuple[program.Node, ...]) -> dict[str, Span | None]:
    """Return the wide variables, and where what each holds is drawn."""
    drawn: dict[str, Span | None] = {}
    n_known = -1
    while n_known < len(drawn):  # a copy of a wide variable is one
        n_known = len(drawn)
        for node in nodes:
            _Uses(drawn).node(node)
    return drawn


def kinds_drawn(distribution: program.Distribution, drawn: dict[str, Span | None]) -> set[Kind]:
    """Return what a distribution may draw, where some variables are wide."""
    uses = _Uses(drawn)
    uses.distribution(distribution)
    return uses.kinds


def wide_uses(nodes: tuple[program.Node, ...]) -> tuple[Wide, list[Mistake]]:
    """Return what a mechanism does with numbers without bounds, and what it may not do.

    Every wide variable is drawn without bounds, or a copy of one that is.
    """
    drawn = holding_numbers(nodes)
    uses = [_Uses(drawn) for _ in nodes]
    for node, one in zip(nodes, uses, strict=True):
        one.node(node)
    groups = _groups(drawn, [names for one in uses for names in one.joined])
    touching = {
        k: found
        for k, one in enumerate(uses)
        if (found := tuple(g for g, names in enumerate(groups) if one.touched & set(names)))
    }
    wide = Wide(
        groups,
        {k: _group_of(min(one.reveals), groups) for k, one in enumerate(uses) if one.reveals},
        {k: tuple(one.guards) for k, one in enumerate(uses) if one.guards},
        {k: one.sums_of(groups) for k, one in enumerate(uses) if one.sums},
        touching,
        {k: _group_of(min(one.arrives), groups) for k, one in enumerate(uses) if one.arrives},
        frozenset(k for k, one in enumerate(uses) if one.shows),
    )
    shown = {spoken(name) for one in uses if one.shows for name in one.touched}
    mistakes = (mistake for one in uses for mistake in one.mistakes)
    return wide, [replace(mistake, is_shown=mistake.name in shown) for mistake in mistakes]


def with_numbers_revealed(nodes: tuple[program.Node, ...], wide: Wide) -> tuple[program.Node, ...]:
    """Return the nodes where a wide number is drawn once more before it is output.

    What is drawn, by the distribution `reveal`, is its value in the window, or that it is beyond.
    Before another of its group in the same output `reveal` has a second argument, `true`.
    """
    result = list(nodes)
    drawn: dict[str, Span | None] = {name: None for names in wide.groups for name in names}
    for k in sorted(wide.showing):
        node = nodes[k]
        assert isinstance(node, program.Output), "only outputs show"
        parts: dict[str, Expr] = {}
        value = _in_parts(node.value, parts, k)
        held = {name: _Uses(drawn).holds(part) for name, part in parts.items()}
        shown = {name: _group_of(min(of), wide.groups) for name, of in held.items() if of}
        after, behind = len(result), set[int]()
        result.append(program.Output(value, node.next, node.span))
        for name in sorted(parts, key=shown.__contains__, reverse=True):  # wide ones last
            if name in shown:
                others = (Const(True, node.span),) if shown[name] in behind else ()
                reveal = program.Parametric("reveal", (parts[name], *others), None, node.span)
                result.append(program.Sample(name, reveal, None, after, node.span))
                behind.add(shown[name])
            else:
                result.append(program.Assign(name, parts[name], None, after, node.span))
            after = len(result) - 1
        result[k] = program.Branch(Const(True, node.span), after, after, False, node.span)
    return tuple(result)


def with_sums_resolved(nodes: tuple[program.Node, ...], wide: Wide) -> tuple[program.Node, ...]:
    """Return the nodes where gaps between wide numbers are resolved before these are in sums.

    What is drawn, by the distribution `resolve`, is how far they are apart, as far as sums tell. It
    reads the numbers in sums, whether these stay in a variable, and what is added.
    """
    result = list(nodes)
    for k, sums in wide.sums.items():
        node, after = nodes[k], len(result)
        result.append(node)
        stays = Const(not isinstance(node, program.Branch | program.Output), node.span)
        for moved, *added in reversed(sums):  # the first of them runs first
            resolve = program.Parametric("resolve", (moved, stays, *added), None, node.span)
            result.append(program.Sample(f"apart~{k}", resolve, None, after, node.span))
            after = len(result) - 1
        result[k] = program.Branch(Const(True, node.span), after, after, False, node.span)
    return tuple(result)


def _in_parts(value: Expr, parts: dict[str, Expr], node: int) -> Expr:
    """Return an output with variables in place of its components; these go to `parts`."""
    match value:
        case Apply(op="tuple" | "array" as op, args=args):
            return Apply(op, tuple(_in_parts(arg, parts, node) for arg in args), value.span)
        case ArrayVar(lo=lo, span=span):
            cells = _items((value,))
            return _in_parts(Apply("array", (Const(lo, span), *cells), span), parts, node)
        case Const():
            return value
        case _:
            name = f"shown~{node}.{len(parts)}"
            parts[name] = value
            return Var(name, value.span)


def _groups(drawn: Iterable[str], joined: Iterable[Names]) -> tuple[tuple[str, ...], ...]:
    """Return the variables in groups, those that were joined in one."""
    group_of = {name: {name} for name in drawn}
    for names in joined:
        together = set().union(*(group_of[name] for name in names))
        for name in together:
            group_of[name] = together
    return tuple(sorted({tuple(sorted(group)) for group in group_of.values()}))


class _Uses:
    """What one node does; `drawn` says of every wide variable where it is drawn, and grows."""

    def __init__(self, drawn: dict[str, Span | None]) -> None:
        """Start with nothing read."""
        self.drawn = drawn
        self.guards: list[Expr] = []
        self.joined: list[Names] = []
        self.mistakes: list[ComputedWithUnbounded] = []
        self.touched: set[str] = set()
        self.sums: list[tuple[Names, Expr]] = []
        self.shows = False
        self.kinds: set[Kind] = set()
        self.arrives = self.reveals = NONE
        self._bound: dict[str, Names] = {}
        self._context: list[Let | Binder] = []
        self._given: list[Expr] = []

    # --- nodes -----------------------------------------------------------------------------

    def node(self, node: program.Node) -> None:
        """Read a node."""
        match node:
            case program.Assign(target=target, value=value, within=within):
                self._assigned((target,), value, within)
            case program.AssignCell(array=name, lo=lo, cells=cells, index=index, within=within):
                self.narrow(index, "an index", ArrayVar(name, lo, cells, node.span))
                self._assigned(cells, node.value, within)
            case program.Unpack(targets=targets, value=value):
                self.narrow(value, "`(a, b) := ...`")
                wide = self.drawn.keys() & set(targets)
                self.touched |= wide
                if wide:
                    self._guard(value)
            case program.Sample(target=target, distribution=distribution, within=within):
                self._drawn(target, distribution, within)
            case program.Branch(condition=condition):
                self.narrow(condition, "`if`")
            case program.Output(value=value):
                self.shows = self._shown(value)
            case program.Forget(targets=targets):
                self.touched |= self.drawn.keys() & set(targets)
            case program.Stop() | program.Fail():
                pass
            case _:
                assert_never(node)

    def _assigned(self, targets: tuple[str, ...], value: Expr, within: Expr | None) -> None:
        """Read `target := value`; of several cells any may be the target.

        In `total := total + z` it is z that needs bounds: with them the sum is allowed, if total
        has bounds or not.
        """
        names = self.holds(value)
        own = set(map(spoken, targets))
        self.mistakes = [one for one in self.mistakes if one.name not in own] or self.mistakes
        if names and within is not None:
            self._refuse("a declared range", names, value.span, within)
        if names and _may_be_array(value):  # one variable would hold several numbers
            self._refuse("a copy of an array", names, value.span)
        for target in targets if names else ():
            self.drawn.setdefault(target, self.drawn[min(names)])
        wide = frozenset(self.drawn.keys() & set(targets))
        if wide:
            self.joined.append(names | wide if names else wide)
            self.touched |= wide
            if not names:
                self._guard(value)

    def _drawn(self, target: str, distribution: program.Distribution, within: Expr | None) -> None:
        """Read `target ~ distribution`."""
        names, policy = self.distribution(distribution), program.unbounded_policy(distribution)
        if policy is not None:
            self.drawn.setdefault(target, policy.span)
        elif names:
            self.drawn.setdefault(target, self.drawn[min(names)])
        if target not in self.drawn:
            return
        self.arrives = NONE if names else frozenset((target,))
        if within is not None:
            self._refuse("a declared range", frozenset((target,)), within.span, within)
        self.touched.add(target)
        self.joined.append(names | {target})

    def distribution(self, distribution: program.Distribution) -> Names:
        """Return the wide variables of which a result may be a copy."""
        match distribution:
            case program.Parametric(
                word=word, arguments=arguments, policy=program.Unbounded(), span=span
            ):
                self._noise(word, arguments, span)
                self.kinds.add("noise")
                return NONE
            case program.Parametric(word="resolve", arguments=(Apply(args=moved), *_)):
                self.arrives = NONE.union(*map(self.holds, moved))
                return NONE
            case program.Parametric(word="reveal", arguments=(argument, *_)):
                self.reveals = self._together((argument,))
                return NONE
            case program.Parametric(word=word, arguments=arguments, policy=policy):
                bounds = (policy.lo, policy.hi) if isinstance(policy, program.Policy) else ()
                for one, part in zip(DISTRIBUTIONS[word].parameters, arguments, strict=True):
                    self.narrow(part, "a distribution", _NEEDED.get(one.kind))
                for end in bounds:
                    self.narrow(end, "a bound of a policy", _between(*bounds))
                self.kinds.add("others")
                return NONE
            case program.Branches(branches=branches):
                for _, weight in branches:
                    self.narrow(weight, "a probability", _NEEDED["probability"])
                names = self._together([value for value, _ in branches])
                self.kinds.add("copies" if names else "others")
                return names
            case program.Weighted(name=name, domain=domain, where=where, weight=weight) as listed:
                self.narrow(domain, "a distribution")
                elements = Binder(name, "set", domain, where, listed.value, listed.span)
                self._context.append(self._elements(elements))
                for part in (*(() if where is None else (where,)), listed.value, weight):
                    self.narrow(part, "a distribution")
                self._context.pop()
                self.kinds.add("others")
                return NONE
            case program.LetDistribution(name=name, value=value, body=body):
                self._bound[name] = self.holds(value)
                self._context.append(Let(name, value, value, distribution.span))
                found = self.distribution(body)
                self._context.pop()
                return found
            case program.ChooseDistribution(condition=condition, then=then, orelse=orelse):
                self.narrow(condition, "`if`")
                return self.distribution(then) | self.distribution(orelse)
        assert_never(distribution)

    def _noise(self, word: str, arguments: Sequence[Expr], span: Span) -> None:
        """Read noise without bounds; the window holds its center with what moves that."""
        for argument in arguments:
            self.narrow(argument, "noise")
        n_parameters = len(DISTRIBUTIONS[word].parameters)
        center = arguments[0] if n_parameters > 1 else Const(0, span)
        for each in arguments[n_parameters:]:
            center = Apply("+", (center, each), span)
        self._guard(center)

    def _shown(self, value: Expr) -> bool:
        """Read what is output, and return whether a number without bounds is in it."""
        parts = _items((value,))
        if parts == (value,):
            return bool(self.holds(value))
        return max(map(self._shown, parts), default=False)  # all are read

    # --- expressions -----------------------------------------------------------------------

    def narrow(self, expr: Expr, what: str, among: Expr | range | None = None) -> None:
        """Read an expression that has to be without wide numbers, and be in an array or range."""
        names = self.holds(expr)
        if names:
            is_sum = isinstance(expr, Apply) and expr.op in ("+", "-")
            is_given = isinstance(expr, Var) and expr.name in self._bound  # to a function
            moved = expr.span.text if is_sum or is_given else None
            self._refuse(what, names, expr.span, among, moved)

    def holds(self, expr: Expr) -> Names:
        """Return the wide variables of which the value may be a copy."""
        match expr:
            case Const():
                return NONE
            case Var(name=name):
                return self._bound.get(name) or self._variables((name,))
            case ArrayVar():
                return self._together(_items((expr,)))
            case Apply():
                return self._applied(expr)
            case Logic(op=op, args=args):
                n_given = len(self._given)
                for arg in args:
                    self.narrow(arg, "a condition")
                    self._given.append(_negated(arg) if op == "or" else arg)
                del self._given[n_given:]
                return NONE
            case If(condition=condition, then=then, orelse=orelse):
                self.narrow(condition, "`if`")
                return self._together((then, orelse))
            case Let(name=name, value=value, body=body):
                self._bound[name] = self.holds(value)
                return self._inside(expr, body)
            case Binder():
                return self._binder(expr)
        assert_never(expr)

    def _variables(self, names: Iterable[str]) -> Names:
        found = frozenset(self.drawn.keys() & set(names))
        self.touched |= found
        return found

    def _applied(self, expr: Apply) -> Names:
        """Return what the result of an operator may be a copy of."""
        match expr.op, expr.args:
            case (("=" | "!=" | "<" | "<=" | ">" | ">="), args):
                if not self._is_of_difference(expr):
                    self._together(args)
                return NONE
            case "in", (item, among):
                self.narrow(among, "`in`")
                self._together((item, among))
                return NONE
            case (("max" | "min"), args):
                return self._together(_items(args))
            case (("argmax" | "argmin"), args):
                self._together(_items(args))
                return NONE
            case "clamp", (item, *ends):
                for end in ends:
                    self.narrow(end, "a bound of `clamp`", _between(*ends))
                self._together((item, *ends))
                return NONE
            case "index", (array, index):
                self.narrow(index, "an index", array)
                if (cell := known_cell(array, index)) is not None:
                    return self._variables((cell,))
                return self._together(_items((array,)))
            case (("+" | "-"), (one, by)) if (names := self.holds(one)) and not self.holds(by):
                added = by if expr.op == "+" else Apply("neg", (by,), by.span)
                self.sums.append((names, self._added(added)))
                return names
            case "+", (left, right) if (names := self.holds(right)) and not self.holds(left):
                self.sums.append((names, self._added(left)))
                return names
            case op, args:
                words = {**_WORDS, "set": f"`{one_line(expr.span.text)}`"}
                needed = _between(*args) if op == "range" else _NEEDED.get(op)
                for k, arg in enumerate(args):
                    is_free = k == 0 and op in _FREE_FIRST  # any number may be divided
                    for item in _items((arg,)):
                        what = words.get(op, f"`{op}`")
                        self.narrow(item, what, None if is_free else needed)
                return NONE

    def _added(self, expr: Expr) -> Expr:
        """Return what is added to a wide number, or nothing where a condition before it fails."""
        if not isinstance(expr, Const):
            for given in self._given:
                if not self._reads_wide(given):
                    expr = If(given, expr, Const(0, expr.span), expr.span)
        return self._closed(expr)

    def _is_of_difference(self, expr: Apply) -> bool:
        """Return whether a difference of two wide numbers is compared; report what to write."""
        for k, (side, other) in enumerate((expr.args, expr.args[::-1])):
            match side:
                case Apply(op="-", args=(Var() as one, Var() as by)):
                    if not self.holds(one) or not self.holds(by) or self._reads_wide(other):
                        return False
                    sides = _text(one), _sum_text(by, other)
                    low, high = sides if k == 0 else sides[::-1]
                    instead = f"{low} {expr.op} {high}"
                    self._refuse("`-`", self.holds(one), side.span, instead=instead)
                    return True
        return False

    def sums_of(self, groups: tuple[tuple[str, ...], ...]) -> tuple[tuple[Expr, ...], ...]:
        """Return tuples of a group's numbers in sums, and all that is added to them, in order.

        What is added may depend on other sums, `z + (if w + 1 < z then 2 else 0)`: it has the value
        that it has in the end once gaps are resolved for these, which were found before it.
        """
        found: dict[int, tuple[Expr, ...]] = {}
        changed: dict[int, None] = {}
        resolved: list[tuple[Expr, ...]] = []
        for names, added in sorted(self.sums, key=lambda each: self._reads_wide(each[1])):
            if self._reads_wide(added):
                resolved += [found[group] for group in changed]
                changed = {}
            group, span = _group_of(min(names), groups), added.span
            before, *others = found.get(group, (Apply("tuple", (), span),))
            every = sorted(names | set(reads(before)))
            moved = Apply("tuple", tuple(Var(name, span) for name in every), span)
            found[group] = (moved, *others, added)
            changed[group] = None
        return (*resolved, *(found[group] for group in changed))

    def _together(self, parts: Iterable[Expr]) -> Names:
        """Return what several values may be copies of; they are compared or chosen among."""
        found = [(part, self.holds(part)) for part in parts]
        names = NONE.union(*(one for _, one in found))
        if names:
            self.joined.append(names)
            for part, one in found:
                if not one:
                    self._guard(part)
        return names

    def _binder(self, expr: Binder) -> Names:
        """Return what the result of a binder may be a copy of."""
        self.narrow(expr.domain, f"`{expr.kind}`")
        elements = self._elements(expr)
        if expr.where is not None:
            self._context.append(elements)
            self.narrow(expr.where, "`where`")
            self._context.pop()
        bodies = self._one_by_one(expr)
        names = self._asked(bodies) if bodies else self._inside(elements, expr.body)
        self._variables(reads(expr.body))  # a cell that is not asked lives until then, too
        if names and expr.kind not in ("max", "min", "argmax", "argmin"):
            self._refuse(f"`{expr.kind}`", names, expr.body.span)
        self.joined.append(names)
        return names if expr.kind in ("max", "min") else NONE

    def _one_by_one(self, binder: Binder) -> list[Expr]:
        """Return what is asked of each element, if that may be read one by one: else nothing.

        So `count(i in 1..9 : v[i] > 0)` compares no two cells. What is added to numbers is resolved
        for all elements at once, as far as the farthest of them needs.
        """
        match binder:
            case Binder(
                kind="exists" | "forall" | "count",
                domain=Const(value=SetValue(items=range() as items)),
                where=None,
                body=body,
            ) if len(items) <= MANY_ELEMENTS and not any(map(self._is_moved, descendants(body))):
                every = (Const(item, binder.span) for item in items)
                return [replaced(body, partial(_given, binder.name, each)) for each in every]
        return []

    def _is_moved(self, part: object) -> bool:
        return isinstance(part, Apply) and part.op in ("+", "-") and self._reads_wide(part)

    def _asked(self, bodies: Iterable[Expr]) -> Names:
        """Return what some expressions may be copies of, up to one that makes a mistake."""
        names, n_mistakes = NONE, len(self.mistakes)
        for body in bodies:
            names |= self.holds(body)
            if len(self.mistakes) > n_mistakes:
                break  # so do the others
        return names

    def _elements(self, binder: Binder) -> Binder:
        """Return a binder over all elements that a run may look at, as far as that is known.

        Which of them satisfy a condition on wide numbers is known in a window that holds what these
        are compared with there, and where gaps are resolved; so all elements do until then.
        """
        match binder.where:
            case None:
                return binder
            case Logic(op="and", args=args) as where:
                known = tuple(arg for arg in args if not self._reads_wide(arg))
                rest = replace(where, args=known) if known else None
                return replace(binder, where=rest)
            case where:
                return replace(binder, where=None) if self._reads_wide(where) else binder

    def _reads_wide(self, expr: Expr) -> bool:
        return any(self._bound.get(name) or name in self.drawn for name in reads(expr))

    def _inside(self, binding: Let | Binder, body: Expr) -> Names:
        self._context.append(binding)
        names = self.holds(body)
        self._context.pop()
        return names

    # --- findings --------------------------------------------------------------------------

    def _guard(self, expr: Expr) -> None:
        """Let the window hold all values of an expression."""
        self.guards.append(self._closed(expr))

    def _closed(self, expr: Expr) -> Expr:
        """Return an expression, or the set of its values, for all that is bound around it."""
        for binding in reversed(self._context):
            if binding.name not in reads(expr):
                continue
            if isinstance(binding, Let):
                expr = Let(binding.name, binding.value, expr, expr.span)
            else:
                where = binding.where
                expr = Binder(binding.name, "set", binding.domain, where, expr, expr.span)
        return expr

    def _refuse(
        self,
        what: str,
        names: Names,
        span: Span,
        among: Expr | range | None = None,
        moved: str | None = None,
        instead: str | None = None,
    ) -> None:
        name = min(names)
        given = spoken(name), self.drawn[name], among, moved, instead
        self.mistakes.append(ComputedWithUnbounded(span, what, *given))


def _given(name: str, value: Const, part: object) -> Const | None:
    """Return the value of a variable."""
    return value if isinstance(part, Var) and part.name == name else None


def _text(expr: Expr) -> str:
    """Return an expression as a term of a sum is written."""
    text = one_line(expr.span.text)
    return f"({text})" if isinstance(expr, If | Let | Logic) else text


def _negated(expr: Expr) -> Expr:
    """Return that a condition does not hold."""
    return Apply("not", (expr,), expr.span)


def _sum_text(left: Expr, right: Expr) -> str:
    """Return the sum of two expressions."""
    match right:
        case Const(value=0):
            return _text(left)
        case Const(value=int(number)) if number < 0:
            return f"{_text(left)} - {-number}"
    return f"{_text(left)} + {_text(right)}"


def _items(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return the values that a function of several values, or of one collection, takes."""
    match args:
        case (ArrayVar(cells=cells, span=span),):
            return tuple(Var(cell, span) for cell in cells)
        case (Apply(op="tuple", args=items),):
            return items
        case (Apply(op="array", args=(_, *items)),):
            return tuple(items)
        case _:
            return args


def _between(first: Expr, last: Expr) -> range | None:
    """Return numbers that one end of a range may be, where the other one is known."""
    match first, last:
        case Const(value=int(low)), _:
            return range(low, low + 21)
        case _, Const(value=int(high)):
            return range(high - 20, high + 1)
    return None


def _may_be_array(expr: Expr) -> bool:
    """Return whether the value may be an array as a whole."""
    match expr:
        case ArrayVar():
            return True
        case If(then=then, orelse=orelse):
            return _may_be_array(then) or _may_be_array(orelse)
        case Let(body=body):
            return _may_be_array(body)
    return False
