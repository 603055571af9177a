"""Random explicit chains as text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st


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
