"""The best number of an array, or its sum, known while its cells are written.

`for i in 1..m { v[i] ~ ... }  output argmax(v)` tells m numbers apart until it asks. The best so
far and its place are enough: of noise without bounds more than m! orders become 2^m, of noise with
k values k^m tuples become k m pairs.

Law: where cells are read all at once only, by `argmax`, `sum` and the like, and all that is read
was written in one *round*, a straight piece of the program that writes each cell once and is not
entered in between, what is asked of the cells written so far takes the next one in. The first of
equal numbers wins: if places are asked, cells are written in order, or in the opposite order.
What is known before any draw may be added, `argmax(i in 1..m : q[i] + v[i])`. States that are
compared draw by draw keep the cells: which of these are neighbors hangs on all they remember.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial

from dpcheck.explore.programs.liveness import Flow, flow_of, lasting
from dpcheck.explore.programs.moved_centers import Names, integer_inputs
from dpcheck.explore.sampling.values_drawn import values_drawn
from dpcheck.explore.values.mistakes import spoken
from dpcheck.model import program
from dpcheck.model.expressions import (
    Apply,
    ArrayVar,
    Binder,
    Const,
    Expr,
    If,
    Operator,
    Var,
    known_cell,
    reads,
)
from dpcheck.model.trees import descendants, replaced
from dpcheck.model.values import SetValue
from dpcheck.records import Frozen, replace
from dpcheck.source import Span

_KEPT = {"argmax": "max", "max": "max", "argmin": "min", "min": "min", "sum": "sum"}
"""What is kept of the cells written so far, by what is asked."""

_WINS: dict[str, tuple[Operator, Operator]] = {"max": (">=", ">"), "min": ("<=", "<")}
"""How a number compares with the best so far where it is better: it wins ties or loses them."""


_OF = "#of "
"""What stands in a variable's name between what is asked and the first cell."""


class _Cells(Frozen):
    """Cells of which something is asked: what they are called, their indices, what is added."""

    text: str
    names: tuple[str, ...]
    places: tuple[int, ...]
    added: tuple[int | str, ...] = ()

    def number(self, name: str, span: Span) -> Expr:
        """Return what is asked of one cell: it, or its sum with what is added."""
        cell = Var(name, span)
        if not self.added:
            return cell
        by = self.added[self.names.index(name)]
        return Apply("+", (cell, Const(by, span) if isinstance(by, int) else Var(by, span)), span)

    def are_in(self, array: ArrayVar) -> bool:
        """Return whether an array has these cells at their places."""
        where = dict(enumerate(array.cells, array.lo))
        return all(where.get(k) == name for k, name in zip(self.places, self.names, strict=True))

    def variable(self, kind: str) -> str:
        """Return the variable of what is asked of all, spoken `argmax(v)`."""
        return f"{kind}({self.text}){_OF}{self.names[0]}"

    def so_far(self, kind: str) -> str:
        """Return the variable of what is asked of those written so far, where others follow."""
        return f"{kind}({self.text}) so far{_OF}{self.names[0]}"


def cell_behind(name: str) -> str:
    """Return a cell of which a variable is the best; the variable itself if it is another one."""
    return name.rpartition(_OF)[2]


Round = dict[str, int]
"""The nodes that write the cells, by their names, in order."""

Asked = list[set[tuple[str, _Cells]]]
"""What each node asks, and of which cells."""


def with_running_best(mechanism: program.Mechanism) -> program.Mechanism:
    """Return the mechanism where what is asked of many cells is known before that."""
    given = integer_inputs(mechanism)
    indexed = _with_places_known(mechanism)
    asked = [{*_questions(node, given)} for node in indexed.nodes]
    kinds: dict[_Cells, set[str]] = {}
    for each in asked:
        for kind, cells in each:
            kinds.setdefault(cells, set()).add(kind)
    alone = _read_alone(indexed, kinds, given) if kinds else {}
    rounds = {
        cells: found
        for cells, found in (_rounds(indexed, asked, alone) if alone else {}).items()
        if kinds[cells].isdisjoint(("argmax", "argmin"))
        or all((*each,) in (cells.names, cells.names[::-1]) for each in found)
    }
    return _with_answers(indexed, asked, kinds, rounds, given) if rounds else mechanism


def _read_alone(
    mechanism: program.Mechanism, every: Iterable[_Cells], given: Names
) -> dict[str, _Cells]:
    """Return by their names the cells that nothing but what is asked of all of them reads."""
    of_name: dict[str, _Cells] = {}
    several: set[_Cells] = set()
    for cells in every:
        for name in cells.names:
            if of_name.setdefault(name, cells) != cells:
                several |= {cells, of_name[name]}
    answer = partial(_answer, given=given)
    others = {*reads(*(replaced(node, answer) for node in mechanism.nodes))}
    return {
        name: cells
        for name, cells in of_name.items()
        if cells not in several and others.isdisjoint(cells.names)
    }


def _with_places_known(mechanism: program.Mechanism) -> program.Mechanism:
    """Return the mechanism where `v[a]` is `v[argmax(v)]` if that is what a was given.

    So it is if no other value of a may be read there, and no cell is written in between.
    """
    nodes = list(mechanism.nodes)
    places = {
        k: (node, found[1])
        for k, node in enumerate(nodes)
        if isinstance(node, program.Assign)
        and (found := _question(node.value, frozenset())) is not None
    }
    flow = flow_of(mechanism, frozenset()) if places else None
    for k, (node, cells) in places.items():
        assert flow is not None, "there are places"
        after = lasting(k, node.target, flow)
        written = {name for j in after for name in program.written(nodes[j])}
        others = (j for j, each in enumerate(nodes) if node.target in program.written(each))
        if written.isdisjoint(cells.names) and not any(
            after & lasting(j, node.target, flow) for j in others if j != k
        ):
            for j in after:
                nodes[j] = replaced(nodes[j], partial(_cell_at, node, cells))
    return replace(mechanism, nodes=tuple(nodes)) if places else mechanism


def _cell_at(place: program.Assign, cells: _Cells, part: object) -> Expr | None:
    """Return the best of cells where an array that has them is read at the place of that."""
    match part:
        case Apply(op="index", args=(ArrayVar() as array, Var(name=name))):
            if name == place.target and cells.are_in(array):
                return replace(part, args=(array, place.value))
    return None


def _questions(node: program.Node, given: Names) -> Iterator[tuple[str, _Cells]]:
    """Yield what a node asks, and of which cells."""
    for part in descendants(node):
        found = _question(part, given)
        if found is not None:
            yield found


def _question(part: object, given: Names) -> tuple[str, _Cells] | None:
    """Return what an expression asks, and of which cells; None if it does not.

    given: the variables that may be added to cells.
    """
    match part:
        case Apply(op="index", args=(ArrayVar() as array, index)):  # v[argmax(v)] is max(v)
            match _question(index, given):
                case ("argmax" | "argmin") as kind, cells if cells.are_in(array):
                    return None if cells.added else (_KEPT[kind], cells)
        case Apply(op=kind, args=(ArrayVar(name=name, lo=lo, cells=cells),)):
            if kind in _KEPT:
                return kind, _Cells(spoken(name), cells, tuple(range(lo, lo + len(cells))))
        case Apply(op=("max" | "min" | "sum") as kind, args=args):
            names = tuple(map(_variable, args))
            if all(names) and len({*names}) == len(names):
                return kind, _Cells(", ".join(map(spoken, names)), names, ())
        case Binder(
            kind=kind,
            name=index,
            domain=Const(value=SetValue(items=range() as places)),
            where=None,
            body=body,
        ) if kind in _KEPT and places:
            found = _cells(body, None, index, places, given)
            match body:
                case Apply(op="+", args=(left, right)):
                    found = _cells(left, right, index, places, given)
                    found = found or _cells(right, left, index, places, given)
            return None if found is None else (kind, found)
    return None


def _cells(array: Expr, by: Expr | None, index: str, places: range, given: Names) -> _Cells | None:
    """Return the cells of an array at the places of an index, with what is added at each.

    None where there are no such cells, or what is added is not given.
    """
    if not (isinstance(array, Apply) and array.op == "index"):
        return None
    known = [_at(place, array, index) for place in places]
    names = tuple(each for each in known if isinstance(each, str))
    added = () if by is None else tuple(_at(place, by, index) for place in places)
    summands = tuple(each for each in added if isinstance(each, int) or each in given)
    if len({*names}) < len(places) or len(summands) < len(added):
        return None
    sides = (_text(side, index, places) for side in (array, by) if side is not None)
    return _Cells(" + ".join(sides), names, tuple(places), summands)


def _at(place: int, side: Expr, index: str) -> int | str | None:
    """Return the integer, or the variable, that one side of a sum is at a place of the index."""
    match side:
        case Const(value=value) if type(value) is int:
            return value
        case Var(name=name):
            return place if name == index else name
        case Apply(op="index", args=(array, Var(name=name))) if name == index:
            return known_cell(array, Const(place, side.span))
    return None


def _text(side: Expr, index: str, places: range) -> str:
    """Return what one side of a sum is at all places: `v[1..3]`, `x`, `1..3`."""
    between = f"{places[0]}..{places[-1]}"
    match side:
        case Apply(op="index", args=(ArrayVar(name=name), _)):
            return f"{spoken(name)}[{between}]"
        case Const(value=value):
            return str(value)
        case Var(name=name) if name != index:
            return spoken(name)
    return between


def _variable(expr: Expr) -> str:
    """Return the variable that an expression is, "" of others."""
    match expr:
        case Var(name=name):
            return name
        case Apply(op="index", args=(array, index)):
            return known_cell(array, index) or ""
    return ""


def _answer(part: object, given: Names) -> Var | None:
    """Return the variable of what an expression asks; None if it does not."""
    match _question(part, given):
        case kind, cells:
            assert isinstance(part, Apply | Binder), "others ask nothing"
            return Var(cells.variable(kind), part.span)
    return None


def _with_answers(
    mechanism: program.Mechanism,
    asked: Asked,
    kinds: Mapping[_Cells, set[str]],
    rounds: Mapping[_Cells, list[Round]],
    given: Names,
) -> program.Mechanism:
    """Return the mechanism that reads in variables what is asked of cells with rounds."""

    def answer(part: object) -> Var | None:
        found = _question(part, given)
        return _answer(part, given) if found is not None and found[1] in rounds else None

    nodes = [
        replaced(node, answer) if any(cells in rounds for _, cells in each) else node
        for node, each in zip(mechanism.nodes, asked, strict=True)
    ]
    for cells, found in rounds.items():
        for each in found:
            for name in each:
                _take_in(nodes, name, each, cells, kinds[cells])
    return replace(mechanism, nodes=tuple(nodes))


def _rounds(
    mechanism: program.Mechanism, asked: Asked, alone: Mapping[str, _Cells]
) -> dict[_Cells, list[Round]]:
    """Return the rounds of which cells are read, where nothing else may be read.

    alone: by their names, the cells.
    """
    flow = flow_of(mechanism, frozenset())
    rounds: dict[_Cells, list[Round]] = {}
    others = {alone[name] for name in flow.live[mechanism.entry] if name in alone}
    for piece in _straight_pieces(mechanism):
        begun: dict[_Cells, Round] = {}
        for k in piece:
            others.update(cells for _, cells in asked[k] if cells in begun)
            node = mechanism.nodes[k]
            for name in _read_later(node, flow, alone):
                cells = alone[name]
                if not _gives_number(node):
                    others.add(cells)
                begun.setdefault(cells, {})[name] = k
                if len(begun[cells]) == len(cells.names):
                    rounds.setdefault(cells, []).append(begun.pop(cells))
        others.update(begun)
    return {cells: found for cells, found in rounds.items() if cells not in others}


def _read_later(node: program.Node, flow: Flow, names: Container[str]) -> list[str]:
    """Return the variables, of some, that a node writes and that may be read then."""
    written = [name for name in program.written(node) if name in names]
    after = {name for k in program.successors(node) for name in flow.live[k]} if written else ()
    return [name for name in written if name in after]


def _straight_pieces(mechanism: program.Mechanism) -> Iterator[list[int]]:
    """Yield the pieces of a program that run as a whole, entered at their first nodes alone."""
    ways = [program.successors(node) for node in mechanism.nodes]
    before = Counter(after for each in ways for after in each)
    following = {k: each[0] for k, each in enumerate(ways) if len(each) == 1}
    inside = {k for k in following.values() if before[k] == 1 and k != mechanism.entry}
    for first in range(len(ways)):
        if first not in inside:
            piece = [first]
            while following.get(piece[-1]) in inside:
                piece.append(following[piece[-1]])
            yield piece


def _gives_number(node: program.Node) -> bool:
    """Return whether what a node gives its one target is sure to be a number."""
    match node:
        case program.Sample(distribution=program.Parametric(policy=program.Unbounded())):
            return True
        case program.Sample(distribution=distribution):
            values = values_drawn(distribution)
            return values is not None and _are_numbers(values)
        case program.Assign(value=value):
            return _is_number(value)
    return False


def _is_number(value: Expr) -> bool:
    match value:
        case Const(value=number):
            return type(number) is int
        case Apply(op="+" | "-"):
            return True
    return False


def _are_numbers(values: Expr) -> bool:
    """Return whether all elements of a set are sure to be numbers."""
    match values:
        case Const(value=SetValue() as known):
            return known.has_integers_only
        case Apply(op="range"):
            return True
        case Apply(op="set", args=each):
            return all(map(_is_number, each))
        case Binder(kind="set", name=name, domain=domain, body=body):
            return _is_number(body) or (body == Var(name, body.span) and _are_numbers(domain))
        case If(then=then, orelse=orelse):
            return _are_numbers(then) and _are_numbers(orelse)
    return False


def _take_in(
    nodes: list[program.Node], name: str, round_: Round, cells: _Cells, kinds: set[str]
) -> None:
    """Let what is asked be known once a cell is written, too."""
    k, first, last = round_[name], next(iter(round_)), next(reversed(round_))
    writer = nodes[k]
    assert isinstance(writer, program.Sample | program.Assign), "these write numbers"
    span, after, cell = writer.span, writer.next, cells.number(name, writer.span)
    known = cells.variable if name == last else cells.so_far

    def then(target: str, value: Expr, after: int) -> int:
        nodes.append(program.Assign(target, value, None, after, span))
        return len(nodes) - 1

    def best(kind: str) -> Var:
        return Var(cells.so_far(kind), span)

    for kept in sorted({_KEPT[kind] for kind in kinds}):
        if kept == "sum":
            value = cell if name == first else Apply("+", (best(kept), cell), span)
            after = then(known(kept), value, after)
            continue
        place = Const(cells.places[cells.names.index(name)], span) if cells.places else None
        better, otherwise = then(known(kept), cell, after), after
        if place is not None and f"arg{kept}" in kinds:
            better = then(known(f"arg{kept}"), place, better)
        if name == first:
            after = better
            continue
        if name == last:
            otherwise = then(known(kept), best(kept), after)
            if f"arg{kept}" in kinds:
                otherwise = then(known(f"arg{kept}"), best(f"arg{kept}"), otherwise)
        wins = _WINS[kept][(*round_,) == cells.names]
        beats = Apply(wins, (cell, best(kept)), span)
        nodes.append(program.Branch(beats, better, otherwise, False, span))
        after = len(nodes) - 1
    nodes[k] = replace(writer, next=after)
