"""Explicit chains: random ones as text, and what an adversary sees of them, by linear equations.

Entering a state with an observed label shows the label; other states are silent. A run ends in
the sink or in an absorbing state; a run that shows nothing more without ending has diverged.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from tests.oracle.runs import CUT, DIVERGED, STOPPED, add, solved


@dataclass(frozen=True)
class ExplicitChain:
    """Row s: {target: probability}, empty if it is missing; label and pairs by state number."""

    rows: tuple[dict[int, Fraction], ...]
    labels: tuple[str | None, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def text(self):
        """The chain in the language, as `chain c`."""
        lines = ["chain c {"]
        for s, label in enumerate(self.labels):
            lines.append(f"  state s{s}" + ("" if label is None else f" : {label}"))
        for s, row in enumerate(self.rows):
            if row:
                lines.append(f"  s{s} -> " + " + ".join(f"{p}: s{t}" for t, p in row.items()))
        lines += [f"  adjacent s{s} ~ s{t}" for s, t in self.pairs]
        labels = sorted({label for label in self.labels if label is not None})
        return "\n".join([*lines, f"  observe {', '.join(labels)}", "}"]) + "\n"

    def is_absorbing(self, s):
        """Return whether a run ends in the state."""
        return self.rows[s] == {s: 1}

    def observed_row(self, start, most, known=None):
        """Return {(outputs, status): probability} from a state, for at most `most` outputs."""
        known = {} if known is None else known
        if (start, most) in known:
            return known[start, most]
        silent, constant = {}, {}
        pending = [start]
        while pending:
            s = pending.pop()
            if s in silent:
                continue
            silent[s], constant[s] = {}, {}
            if self.is_absorbing(s) or not self.rows[s]:
                add(constant[s], ((), STOPPED, None), Fraction(1))
                continue
            for t, p in self.rows[s].items():
                if self.labels[t] is None:
                    add(silent[s], t, p)
                    pending.append(t)
                elif most == 0:
                    add(constant[s], ((), CUT, None), p)
                else:
                    for (outputs, status), q in self.observed_row(t, most - 1, known).items():
                        add(constant[s], ((self.labels[t], *outputs), status, None), p * q)
        row = {}
        for (outputs, status, ends), p in solved(silent, constant)[start].items():
            # `solved` marks what goes silent forever in the third place.
            add(row, (outputs, DIVERGED if ends == DIVERGED else status), p)
        known[start, most] = row
        return row


@st.composite
def explicit_chains(draw):
    """Draw a chain of at most seven states that shows at most two labels."""
    n_states = draw(st.integers(2, 7))
    states = st.integers(0, n_states - 1)
    rows = []
    for _ in range(n_states):
        weights = draw(st.dictionaries(states, st.integers(1, 4), max_size=3))
        total = sum(weights.values())
        rows.append({t: Fraction(w, total) for t, w in weights.items()})
    labels = tuple(draw(st.sampled_from([None, None, "A", "B"])) for _ in range(n_states))
    if not any(labels):
        labels = (*labels[:-1], "A")
    pairs = draw(st.sets(st.tuples(states, states).filter(lambda p: p[0] < p[1]), min_size=1))
    return ExplicitChain(tuple(rows), labels, tuple(sorted(pairs)))
