"""States that remember numbers beyond the window, and so stand for one state for each such number.

Let n draws at most be still to come. The numbers that are kept have gaps between them, the first
to all that any number meets, and at a distance x from there P(X_i = x) is a multiple of r_i^x. Say
which draws land between which numbers, in which order, and of each part into which they part a gap
how long it is, if it is shorter than a length d, else only that. Where d is large enough, whatever
happens to a run is the same for all of these: as large as formulas inside of the path are alike
from, and more by as much as numbers are moved in all. Sums of products of ρ^x over some parts, each
at least d long and together G, are sums of exponentials in G for all G from their number times d,
less their number, plus 1, on: a part's ratio is that of the part above times others, so no two are
equal. The others are d - 1 long at most each.

So the probability of whatever happens is Σ c Π_i ρ_i^(g_i) over gaps g_i that are all longer than
(n+1)(d-1), with products ρ_i of ratios of draws. Its values where each gap has as many lengths as
there are such products are all of it; those are states where all gaps are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, cmp_to_key, partial

from dpcheck.chain.arrays import marked
from dpcheck.chain.chain import Gap, Lumped
from dpcheck.exact import Number, compare, multiply
from dpcheck.explore.runs.raw_graph import Discovered
from dpcheck.explore.runs.to_come import ENDLESS, MOVED, ToCome
from dpcheck.explore.runs.visible import Visible
from dpcheck.explore.tails.tails import Tails, state_column

MAX_RATIOS = 40
"""So many states are looked at for each length of a gap that is not known."""


def lumped_states(seen: Visible, tails: Tails) -> dict[int, Lumped]:
    """Return the states after outputs that stand for several, with what is known of these.

    Where no draw or sum comes any more, and what is shown is in the window, all these are alike.
    No law is known where claims tell shown numbers apart beyond it: they are met there.
    """
    found: dict[int, Lumped] = {}
    is_told = set(tails.wide.revealing.values()) if tails.window.margin else set()
    for cut, states in seen.shown.items():
        names = map(state_column, range(len(tails.wide.groups)))
        columns = {g: states.columns[n] for g, n in enumerate(names) if n in states.columns}
        come, inside = seen.to_come[cut], _Known(states, tails)
        gaps = {g: None if g in is_told else _gap(come, g, tails) for g in columns}
        is_beyond = sum((column != 0 for column in columns.values()), start=states.numbers < 0)
        for row in marked(is_beyond).tolist():
            state_of = {g: int(column[row]) for g, column in columns.items()}
            unknown = [g for g, s in state_of.items() for _ in range(tails.states.n_unknown(s))]
            if any(come[g] or come[g, 1] or g in is_told for g in unknown):
                laws = [gap for gap in map(gaps.__getitem__, unknown) if gap is not None]
                axes = tuple(laws) if len(laws) == len(unknown) else ()
                known = partial(inside.state, row, state_of)
                found[int(states.numbers[row])] = Lumped(axes, tails.window.apart, known)
    return found


def _gap(come: ToCome, group: int, tails: Tails) -> Gap | None:
    """Return what is known of each gap of a group; None where too much is to come."""
    if ENDLESS in (come[group], come[MOVED]):
        return None
    products: set[Number] = {1}
    for key, count in come.items():
        if isinstance(key, tuple) and key[0] == group:
            for _ in range(count):
                products |= {multiply(each, key[1]) for each in products}
                if len(products) > MAX_RATIOS:
                    return None
    ratios = tuple(sorted(products, key=cmp_to_key(compare), reverse=True))
    return Gap(ratios, come[group] + 1, come[MOVED] + tails.farthest)


class _Known:
    """The states of a cut point, where all that they hold is known."""

    def __init__(self, states: Discovered, tails: Tails) -> None:
        """Look at nothing yet."""
        self.states, self.tails = states, tails

    @cached_property
    def _numbers(self) -> dict[tuple[int, ...], int]:
        columns = (column.tolist() for column in self.states.columns.values())
        return dict(zip(zip(*columns, strict=True), self.states.numbers.tolist(), strict=True))

    def state(self, row: int, state_of: Mapping[int, int], lengths: Sequence[int]) -> int | None:
        """Return the state where gaps that a row does not know have some lengths.

        state_of: its tail states, by group. None if no run was seen to get there.
        """
        values = {name: int(column[row]) for name, column in self.states.columns.items()}
        left, window = iter(lengths), self.tails.window
        low, high = window.low + window.apart, window.high - window.apart
        for group, state in state_of.items():
            names = [name for name in self.tails.wide.groups[group] if name in values]
            inside = [values[name] for name in names if window.low <= values[name] <= window.high]
            anchors = max([*inside, high]), min([*inside, low])
            found = self.tails.states.known(state, left, anchors)
            if found is None:
                return None
            values[state_column(group)], codes = found
            values |= {name: codes.get(values[name], values[name]) for name in names}
        return self._numbers.get(tuple(values.values()))
