"""Event-level differential privacy by its definition, on pairs of exact distributions.

A row maps a complete observation (outputs and how the run ended) to its probability.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

INFINITE = "inf"


def excess_over_all_events(p, q, e_epsilon):
    """Return max over *every set* S of P(S) - e^eps Q(S): the definition, exponential time."""
    support = sorted(set(p) | set(q), key=repr)
    events = chain.from_iterable(combinations(support, size) for size in range(len(support) + 1))
    return max(
        sum((p.get(o, 0) - e_epsilon * q.get(o, 0) for o in event), Fraction(0)) for event in events
    )


def excess(p, q, e_epsilon):
    """Return the same by the worst event, every observation where p exceeds e^eps q."""
    return sum((max(Fraction(0), p[o] - e_epsilon * q.get(o, 0)) for o in p), Fraction(0))


def delta(rows, pairs, e_epsilon):
    """Return the least delta of the pairs, both directions; 0 without pairs."""
    both = [(s, t) for s, t in pairs] + [(t, s) for s, t in pairs]
    return max((excess(rows[s], rows[t], e_epsilon) for s, t in both), default=Fraction(0))


def e_epsilon(rows, pairs):
    """Return the least e^eps >= 1 with delta = 0, or `INFINITE`."""
    least = Fraction(1)
    for s, t in pairs:
        for one, other in ((rows[s], rows[t]), (rows[t], rows[s])):
            for o, p in one.items():
                if p and not other.get(o):
                    return INFINITE
                if p:
                    least = max(least, p / other[o])
    return least


def path_excess(rows, pairs, e_epsilon, event):
    """Return the largest P_s(event) - e^eps P_t(event) over the pairs, both directions."""
    chance = {
        s: sum((p for o, p in row.items() if event(o)), Fraction(0)) for s, row in rows.items()
    }
    both = [(s, t) for s, t in pairs] + [(t, s) for s, t in pairs]
    return max((chance[s] - e_epsilon * chance[t] for s, t in both), default=Fraction(0))
