"""Alignments checked again: noise that is moved as they say keeps every path and all outputs.

Evidence is a graph of states: a program point, what two runs have in common there, and how far
the noise of one is moved in the other. At each state the program is followed here, statement by
statement, on its own: every way that a run may go on needs an answer whose shifts keep the other
run on it. A number f of one run is f + s in the other, so that with s >= 0 all of `f >= 0`, `f > 0`
are kept, with s <= 0 their opposites, and with s = 0 equations and what is shown. What an answer
leaves open of a shift is an interval, and s is bounded over all of it.

Taken as known: what neighbors differ by, what other distributions draw, and that no run fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import product
from typing import NamedTuple, cast

from dpcheck.certify import moved
from dpcheck.certify.moved import OPEN, Draw, Items, Mixed, Moved, is_mixed, mapped
from dpcheck.exact import Rational
from dpcheck.model import expressions, program
from dpcheck.model.evaluation import Fault, apply, elements_of, evaluate
from dpcheck.model.values import SetValue, Value, same_value
from dpcheck.records import dataclass

Draws = Callable[[program.Distribution, Mapping[str, Mixed]], Sequence[Value]]
"""All values that a distribution may draw, where it is alike in both runs."""


class Answer(NamedTuple):
    """What is paid (pairs of a ratio's number and how often), and the number of the next state.

    `left` are the shifts that are left of all draws; those that `kept` numbers are the state's.
    """

    cost: Sequence[tuple[int, int]]
    target: int
    left: Sequence[Draw]
    kept: Sequence[int]


@dataclass(frozen=True, eq=False)
class Place:
    """A state: what is known at a node, and the shifts that are left of draws.

    `sums` are how far groups of cells may still differ; `ranges` what each cell may differ by, and
    its groups.
    """

    node: int
    known: Mapping[str, Mixed]
    draws: Sequence[Draw]
    sums: Sequence[int]
    ranges: Mapping[str, tuple[int, int, Sequence[int]]]


class NotKeptError(Exception):
    """Noise cannot be moved as evidence says, or what it says is not understood."""


def certify_shifts(
    mechanism: program.Mechanism,
    places: Mapping[int, Place],
    answers: Mapping[int, Sequence[Answer]],
    starts: Sequence[int],
    ratios: Sequence[Value],
    drawn: Draws,
) -> bool:
    """Return whether answers[state] keep all paths of runs from the states of `starts`."""
    try:
        _check_starts(mechanism, [places[start] for start in starts])
        for number, place in places.items():
            _Step(mechanism, place, ratios, drawn).check(answers[number], places)
    except (NotKeptError, Fault, LookupError):
        return False
    return True


def _check_starts(mechanism: program.Mechanism, starts: Sequence[Place]) -> None:
    """Require a start for all values of public inputs from finite sets, but those left out."""
    public = [one for one in mechanism.inputs if one.is_public and not one.is_unbounded]
    cells = [cell for one in public for cell in one.cells]
    for values in product(*(one.domain for one in public for _ in one.cells)):
        given = dict(zip(cells, values, strict=True))
        if any(_is_left_out(one.where, given) for one in public):
            continue
        for place in starts:
            known = [name in given and _same(v, given[name]) for name, v in place.known.items()]
            if place.node == mechanism.entry and not place.draws and all(known):
                break
        else:
            raise NotKeptError


def _is_left_out(where: expressions.Expr | None, given: Mapping[str, Value]) -> bool:
    """Return whether a `where` says for certain that no input has these values."""
    if where is None or any(name not in given for name in expressions.reads(where)):
        return False
    return evaluate(where, given) is False


class _After(NamedTuple):
    """What follows a statement on one path: the next node, all values, and a draw if any."""

    node: int
    known: Mapping[str, Mixed]
    draw: Draw | None = None


class _MissingError(NotKeptError):
    """The difference of an input is not chosen yet."""

    def __init__(self, cell: str) -> None:
        super().__init__()
        self.cell = cell


class _Step:
    """What may happen at one state. A statement is followed once for every list of choices."""

    def __init__(
        self, mechanism: program.Mechanism, place: Place, ratios: Sequence[Value], drawn: Draws
    ) -> None:
        self.mechanism, self.place, self.ratios, self.drawn = mechanism, place, ratios, drawn
        self.script: list[int] = []
        self.counts: list[int] = []
        self.needs: list[tuple[Moved, int]] = []
        self.is_open = False  # whether centers may have differences that are not chosen

    def check(self, answers: Sequence[Answer], places: Mapping[int, Place]) -> None:
        """Raise `NotKeptError` unless every way to go on has an answer."""
        streams = {c for one in self.mechanism.inputs if one.is_stream for c in one.cells}
        node = self.mechanism.nodes[self.place.node]
        if isinstance(node, program.Branch) and node.is_round and streams & self.place.known.keys():
            raise NotKeptError  # every round reads values of its own
        try:
            ways = list(self._ways())
        except _MissingError as missing:
            # Without an answer there must be no neighbors here: no difference that is left.
            chosen = self._chosen(answers, places) if answers else {missing.cell}
            self.is_open = not chosen
            if self.is_open:
                ways = list(self._ways())
            else:
                ways = [(after, ()) for after in self._differences(chosen)]
        for after, needs in ways:
            if not any(self._is_kept(after, needs, one, places[one.target]) for one in answers):
                raise NotKeptError

    def _ways(self) -> Iterator[tuple[_After, Sequence[tuple[Moved, int]]]]:
        """Yield what may follow, with what it needs of shifts: every list of choices once."""
        node = self.mechanism.nodes[self.place.node]
        if isinstance(node, program.Stop):
            return
        self.script = []
        while True:
            self.counts, self.needs = [], []
            after = self._after(node)
            yield after, self.needs
            while self.counts and self.script[len(self.counts) - 1] == self.counts[-1] - 1:
                self.counts.pop()
            if not self.counts:
                return
            del self.script[len(self.counts) :]
            self.script[-1] += 1

    def _choice(self, count: int) -> int:
        """Return the number of one of several ways: all of them, one after the other."""
        if len(self.counts) == len(self.script):
            self.script.append(0)
        self.counts.append(count)
        return self.script[len(self.counts) - 1]

    def _differences(self, cells: AbstractSet[str]) -> Iterator[_After]:
        """Yield all differences of the one cell for which one is chosen."""
        if len(cells) != 1:
            raise NotKeptError
        (cell,) = cells
        known = self.place.known
        low, high, groups = self.place.ranges[cell]
        room = min((self.place.sums[group] for group in groups), default=high - low)
        for by in range(low, high + 1):
            if abs(by) <= room or not groups:
                yield _After(self.place.node, {**known, cell: Moved((), by)})

    def _chosen(self, answers: Sequence[Answer], places: Mapping[int, Place]) -> set[str]:
        """Return the cells of inputs whose differences the answers choose."""
        known, cells = self.place.known, self.place.ranges.keys()
        return {
            n for one in answers for n in places[one.target].known.keys() & cells - known.keys()
        }

    # --- one answer ------------------------------------------------------------------------

    def _is_kept(
        self, after: _After, needs: Sequence[tuple[Moved, int]], one: Answer, target: Place
    ) -> bool:
        """Return whether an answer is to this way to go on, and its shifts keep the path."""
        before = [*self.place.draws, *([] if after.draw is None else [after.draw])]
        return (
            target.node == after.node
            and len(one.left) == len(before)
            and all(map(_is_within, one.left, before))
            and all(_is_met(number, sign, one.left) for number, sign in needs)
            and _pays(one, self.place.draws)
            and [one.left[draw] for draw in one.kept] == list(target.draws)
            and self._are_sums_right(after, target)
            and all(
                name in after.known
                and _same(mapped(after.known[name], lambda n: _renamed(n, one)), value)
                for name, value in target.known.items()
            )
        )

    def _are_sums_right(self, after: _After, target: Place) -> bool:
        """Return whether what cells may still differ by is less by what was chosen now."""
        sums = list(self.place.sums)
        if after.node == self.place.node:
            for name in after.known.keys() - self.place.known.keys():
                for group in self.place.ranges[name][2]:
                    number = after.known[name]
                    assert isinstance(number, Moved), "a difference was chosen"
                    sums[group] -= abs(number.by)
        return list(target.sums) == sums

    # --- statements ------------------------------------------------------------------------

    def _after(self, node: object) -> _After:
        known = self.place.known
        match node:
            case program.Assign(target=name, value=value, next=following):
                return _After(following, {**known, name: self._value(value, known)})
            case program.AssignCell(lo=lo, cells=cells, index=index, value=value, next=following):
                place = self._value(index, known)
                if not isinstance(place, int) or not 0 <= place - lo < len(cells):
                    raise NotKeptError
                return _After(following, {**known, cells[place - lo]: self._value(value, known)})
            case program.Unpack(targets=names, value=value, next=following):
                items = self._value(value, known)
                if not isinstance(items, tuple) or len(items) != len(names):
                    raise NotKeptError
                return _After(following, {**known, **dict(zip(names, items, strict=True))})
            case program.Forget(targets=names, next=following):
                return _After(following, {n: v for n, v in known.items() if n not in names})
            case program.Branch(condition=condition, then=then, orelse=orelse):
                return _After(then if self._truth(condition, known) else orelse, known)
            case program.Output(value=value, next=following):
                self._shown(self._value(value, known))
                return _After(following, known)
            case program.Sample(target=name, distribution=distribution, next=following):
                draw = self._drawn(distribution, known)
                if isinstance(draw, Draw):
                    noise = Moved(((len(self.place.draws), 1),), 0, True)
                    return _After(following, {**known, name: noise}, draw)
                return _After(following, {**known, name: draw})
            case _:
                raise NotKeptError

    def _shown(self, value: Mixed) -> None:
        """Need that what is shown is shown in the other run, too."""
        self.needs += [(number, 0) for number in moved.numbers_in(value)]

    def _drawn(
        self, distribution: program.Distribution, known: Mapping[str, Mixed]
    ) -> Mixed | Draw:
        """Return noise that may be moved, or what else is drawn."""
        match distribution:
            case program.LetDistribution(name=name, value=value, body=body):
                return self._drawn(body, {**known, name: self._value(value, known)})
            case program.ChooseDistribution(condition=condition, then=then, orelse=orelse):
                return self._drawn(then if self._truth(condition, known) else orelse, known)
            case program.Parametric(policy=program.Unbounded(), word=word, arguments=arguments):
                ratio = self._value(arguments[-1], known)
                low, high = self._center(arguments[:-1], known)
                number = next((i for i, r in enumerate(self.ratios) if _same(ratio, r)), None)
                if number is None:
                    raise NotKeptError
                least = high if word == "geometric_positive" else -OPEN
                return Draw(low, number, "", least, spread=high - low)
            case _:
                values = self.drawn(distribution, known)
                return values[self._choice(len(values))]

    def _center(
        self, centers: Sequence[expressions.Expr], known: Mapping[str, Mixed]
    ) -> tuple[int, int]:
        """Return by how much a center is moved, at least and at most.

        Sums are least and greatest where each difference that is open is at one of its ends.
        """
        names = {name for each in centers for name in expressions.reads(each)}
        ranges = self.place.ranges if self.is_open else {}
        missing = sorted((names & ranges.keys()) - known.keys())
        n_choices = len(self.counts)
        changes = []
        for ends in product(*(ranges[name][:2] for name in missing)):
            differing = (Moved((), by) for by in ends)
            inner = {**known, **dict(zip(missing, differing, strict=True))}
            forms = [_form(self._value(center, inner)) for center in centers]
            if any(form.draws for form in forms):
                raise NotKeptError
            changes.append(sum(form.by for form in forms))
        if missing and len(self.counts) > n_choices:
            raise NotKeptError
        return min(changes), max(changes)

    # --- expressions -----------------------------------------------------------------------

    def _truth(self, condition: expressions.Expr, known: Mapping[str, Mixed]) -> bool:
        value = self._value(condition, known)
        if not isinstance(value, bool):
            raise NotKeptError
        return value

    def _value(self, expr: expressions.Expr, known: Mapping[str, Mixed]) -> Mixed:
        """Return the value on one path, where the choices so far say how comparisons come out."""
        names = list(expressions.reads(expr))
        for name in names:
            if name not in known and name in self.place.ranges:
                raise _MissingError(name)
        if not any(is_mixed(known[name]) for name in names if name in known):
            return evaluate(expr, cast("Mapping[str, Value]", known))
        match expr:
            case expressions.Var(name=name):
                return known[name]
            case expressions.ArrayVar(lo=lo, cells=cells):
                return Items(lo, tuple(known[cell] for cell in cells))
            case expressions.If(condition=condition, then=then, orelse=orelse):
                return self._value(then if self._truth(condition, known) else orelse, known)
            case expressions.Let(name=name, value=value, body=body):
                return self._value(body, {**known, name: self._value(value, known)})
            case expressions.Logic(op=op, args=args):
                for arg in args[:-1]:
                    if self._truth(arg, known) is (op == "or"):
                        return op != "and"
                return self._truth(args[-1], known)
            case expressions.Apply(args=args):
                return self._applied(expr, [self._value(arg, known) for arg in args])
            case expressions.Binder():
                return self._bound(expr, known)
            case _:
                raise NotKeptError

    def _bound(self, expr: expressions.Binder, known: Mapping[str, Mixed]) -> Mixed:
        """Return the value of a binder, element by element of a set that both runs have."""
        elements = list(elements_of(_alike(self._value(expr.domain, known))))
        inner = [{**known, expr.name: element} for element in elements]
        if expr.where is not None:
            where = expr.where
            chosen = [_alike(self._value(where, each)) is True for each in inner]
            elements = [each for each, is_in in zip(elements, chosen, strict=True) if is_in]
            inner = [each for each, is_in in zip(inner, chosen, strict=True) if is_in]
        if expr.kind in ("forall", "exists"):
            ends_at = expr.kind == "exists"
            return any(self._truth(expr.body, e) is ends_at for e in inner) is ends_at
        values = [self._value(expr.body, each) for each in inner]
        if expr.kind in ("argmax", "argmin"):
            return elements[self._best(values, is_greatest=expr.kind == "argmax")]
        if expr.kind not in ("max", "min", "sum", "count"):
            raise NotKeptError
        return self._applied(expressions.Apply(expr.kind, (), expr.span), [tuple(values)])

    def _applied(self, expr: expressions.Apply, values: Sequence[Mixed]) -> Mixed:
        """Return the value of an operator, by what it means for numbers."""
        if not any(map(is_mixed, values)):
            return apply(expr.op, cast("Sequence[Value]", values))
        match expr.op, values:
            case (">" | ">=" | "<" | "<=" | "=" | "!=") as op, (left, right):
                return self._compared(op, _form(left).plus(_form(right), -1))
            case ("+" | "-" | "neg" | "sum") as op, _:
                total = Moved()
                for i, item in enumerate(moved.items_of(values)):
                    is_subtracted = i == 1 if op == "-" else op == "neg"
                    total = total.plus(_form(item), -1 if is_subtracted else 1)
                return total
            case "*", (Moved() as one, n) | (n, Moved() as one) if type(n) is int:
                return Moved().plus(one, n)
            case ("max" | "min") as op, _:
                items = moved.items_of(values)
                return items[self._best(items, is_greatest=op == "max")]
            case ("argmax" | "argmin") as op, _:
                first = values[0].lo if isinstance(values[0], Items) else 1
                return first + self._best(moved.items_of(values), is_greatest=op == "argmax")
            case "clamp", (whole, low, high) if not is_mixed((low, high)):
                apply("clamp", (0, cast("Value", low), cast("Value", high)))
                return (low, whole, high)[self._side(whole) + 1]
            case "in", (whole, SetValue(items=range())):
                return self._side(whole) == 0
            case "tuple", _:
                return tuple(values)
            case "array", (int(lo), *items):
                return Items(lo, tuple(items))
            case "index", (Items(lo=lo, items=cells), int(i)) if 0 <= i - lo < len(cells):
                return cells[i - lo]
            case "index", (tuple() as whole, int(i)) if 1 <= i <= len(whole):
                return whole[i - 1]
            case "len", (Items(items=cells),):
                return len(cells)
            case _:
                raise NotKeptError

    def _compared(self, op: str, difference: Moved) -> bool:
        """Return how a comparison of a difference with 0 comes out."""
        is_true = self._choice(2) == 0
        if op in ("=", "!="):
            self.needs.append((difference, 0))
        else:
            self.needs.append((difference, 1 if is_true is op.startswith(">") else -1))
        return is_true

    def _side(self, whole: Mixed) -> int:
        """Return -1, 0 or 1 as a number is below, in or above a range."""
        side = self._choice(3) - 1
        self.needs.append((_form(whole), side))
        return side

    def _best(self, items: Sequence[Mixed], *, is_greatest: bool) -> int:
        """Return which item is the first of the greatest, or of the least: any may be."""
        best = self._choice(len(items))
        for other in (*items[:best], *items[best + 1 :]):
            difference = _form(items[best]).plus(_form(other), -1)
            self.needs.append((difference, 1 if is_greatest else -1))
        return best


# --- values --------------------------------------------------------------------------------


def _alike(value: Mixed) -> Value:
    if is_mixed(value):
        raise NotKeptError
    return cast("Value", value)


def _form(value: Mixed) -> Moved:
    """Return how a number is moved; one that both runs have is not."""
    if isinstance(value, Moved):
        return value
    if isinstance(value, int | Rational) and not isinstance(value, bool):
        return Moved()
    raise NotKeptError


def _same(left: Mixed, right: Mixed) -> bool:
    match left, right:
        case (Moved(), Moved()):
            return (left.draws, left.by) == (right.draws, right.by)
        case (Items(), Items()):
            return left.lo == right.lo and _same(left.items, right.items)
        case (tuple(), tuple()):
            return len(left) == len(right) and all(map(_same, left, right))
        case _:
            if is_mixed(left) or is_mixed(right):
                return False
            return same_value(cast("Value", left), cast("Value", right))


def _renamed(number: Moved, one: Answer) -> Moved:
    """Return a number with those of its draws after an answer; draws not kept are fixed."""
    by = number.by
    for draw, n in number.draws:
        if draw not in one.kept:
            shift = one.left[draw]
            if shift.low != shift.high:
                raise NotKeptError
            by += n * shift.low
    pairs = ((one.kept.index(draw), n) for draw, n in number.draws if draw in one.kept)
    return Moved(tuple(sorted(pairs)), by)


# --- shifts --------------------------------------------------------------------------------


def _is_within(left: Draw, before: Draw) -> bool:
    """Return whether some shifts are left, no others than before, of the same draw."""
    is_same = left._replace(low=before.low, high=before.high, name=before.name) == before
    return is_same and before.low <= left.low <= left.high <= before.high


def _is_met(number: Moved, sign: int, left: Sequence[Draw]) -> bool:
    """Return whether a number is moved by at least 0 (1), at most 0 (-1) or 0 (0) for certain."""
    ends = [sorted((n * left[draw].low, n * left[draw].high)) for draw, n in number.draws]
    least = number.by + sum(low for low, _ in ends)
    most = number.by + sum(high for _, high in ends)
    return (least >= 0 or sign < 0) and (most <= 0 or sign > 0)


def _pays(one: Answer, before: Sequence[Draw]) -> bool:
    """Return whether an answer pays for the least that the shifts left cost more than before."""
    due: dict[int, int] = {}
    for i, shift in enumerate(one.left):
        paid = _least(before[i]) if i < len(before) else 0
        due[shift.ratio] = due.get(shift.ratio, 0) + _least(shift) - paid
    for ratio, n in one.cost:
        due[ratio] = due.get(ratio, 0) - n
    return max(due.values(), default=0) <= 0


def _least(draw: Draw) -> int:
    """Return how far noise is moved at least, beyond what its center is."""
    return max(draw.low - draw.change, draw.change + draw.spread - draw.high, 0)
