"""A slow oracle for path formulas: the algorithm of Courcoubetis and Yannakakis, over `Fraction`.

It eliminates temporal operators from the innermost outwards. For X p or p U q over propositions,
compute its probability q_s at each state, split s into a copy where the operator is true and one
where it is false, of weights q_s and 1 - q_s, and keep the transitions between consistent copies:

    P'((s, v), (t, w)) = P(s, t) q_t(w) / q_s(v).

The operator is a proposition of the new chain. (J. ACM 42(4), 1995, section 3.) Bounded operators
are written out with X. Nothing here is shared with the package but the formula classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcheck.logic import formulas as f

Row = dict[int, Fraction]
Formula = tuple  # ("true",) ("p", name) ("not", φ) ("and", φ, ψ) ("X", φ) ("U", φ, ψ)


@dataclass
class Refined:
    """A chain whose states carry propositions, and the weights of each first state's copies."""

    rows: list[Row]
    labels: list[set[str]]
    copies: list[Row]
    n_operators: int = 0


def oracle_probabilities(rows: list[Row], labels: list[str], path: f.PathFormula) -> list[Fraction]:
    """Return the probability of the path formula from every state."""
    chain = Refined(
        [{t: w for t, w in row.items() if w} for row in rows],
        [set(label) for label in labels],
        [{s: Fraction(1)} for s in range(len(rows))],
    )
    chain, proposition = eliminated(chain, core(path))
    return [
        sum((w for t, w in copies.items() if holds(proposition, chain.labels[t])), Fraction(0))
        for copies in chain.copies
    ]


def core(path: f.PathFormula) -> Formula:
    """Return the formula over true, propositions, not, and, X, U."""
    match path:
        case f.Holds(state):
            return core_state(state)
        case f.PathNot(argument):
            return ("not", core(argument))
        case f.PathAnd(arguments):
            return conjunction([core(a) for a in arguments])
        case f.PathOr(arguments):
            return ("not", conjunction([("not", core(a)) for a in arguments]))
        case f.Next(argument):
            return ("X", core(argument))
        case f.Finally(argument, bound):
            return core_until(("true",), core(argument), bound)
        case f.Globally(argument, bound):
            return ("not", core_until(("true",), ("not", core(argument)), bound))
        case f.Until(left, right, bound):
            return core_until(core(left), core(right), bound)
        case f.WeakUntil(left, right):
            first, second = core(left), core(right)
            never = ("not", ("U", ("true",), ("not", first)))
            return ("not", ("and", ("not", ("U", first, second)), ("not", never)))
        case f.Release(left, right):
            return ("not", ("U", ("not", core(left)), ("not", core(right))))
    raise AssertionError(path)


def core_state(state: f.StateFormula) -> Formula:
    match state:
        case f.Truth(value):
            return ("true",) if value else ("not", ("true",))
        case f.Atom(key):
            return ("p", key)
        case f.Not(argument):
            return ("not", core_state(argument))
        case f.And(arguments):
            return conjunction([core_state(a) for a in arguments])
        case f.Or(arguments):
            return ("not", conjunction([("not", core_state(a)) for a in arguments]))
    raise AssertionError(state)


def conjunction(parts: list[Formula]) -> Formula:
    result: Formula = ("true",)
    for part in parts:
        result = ("and", result, part)
    return result


def core_until(left: Formula, right: Formula, bound: int | None) -> Formula:
    if bound is None:
        return ("U", left, right)
    result = right
    for _ in range(bound):
        step = ("and", left, ("X", result))
        result = ("not", ("and", ("not", right), ("not", step)))
    return result


def holds(proposition: Formula, label: set[str]) -> bool:
    match proposition:
        case ("true",):
            return True
        case ("p", name):
            return name in label
        case ("not", argument):
            return not holds(argument, label)
        case ("and", left, right):
            return holds(left, label) and holds(right, label)
    raise AssertionError(proposition)


def eliminated(chain: Refined, formula: Formula) -> tuple[Refined, Formula]:
    """Return a refined chain on which the formula is a combination of propositions."""
    parts = []
    for part in formula[1:]:
        if isinstance(part, tuple):
            chain, proposition = eliminated(chain, part)
            parts.append(proposition)
        else:
            parts.append(part)
    if formula[0] not in ("X", "U"):
        return chain, (formula[0], *parts)
    name = f"#{chain.n_operators}"
    return split(chain, (formula[0], *parts), name), ("p", name)


def split(chain: Refined, operator: Formula, name: str) -> Refined:
    """Return the chain with every state split by the truth of an operator over propositions."""
    first = [holds(operator[1], label) for label in chain.labels]
    second = [holds(operator[-1], label) for label in chain.labels]
    if operator[0] == "X":
        chance = [sum((w for t, w in row.items() if first[t]), Fraction(0)) for row in chain.rows]
    else:
        chance = until_probabilities(chain.rows, first, second)
    weight = {(s, True): q for s, q in enumerate(chance) if q > 0}
    weight |= {(s, False): 1 - q for s, q in enumerate(chance) if q < 1}
    number = {copy: i for i, copy in enumerate(sorted(weight))}

    def consistent(s: int, value: bool, t: int, after: bool) -> bool:
        if operator[0] == "X":
            return value == first[t]
        return value == (second[s] or (first[s] and after))

    rows = []
    for s, value in sorted(weight):
        row = {}
        for t, p in chain.rows[s].items():
            for after in (False, True):
                if (t, after) in weight and consistent(s, value, t, after):
                    row[number[t, after]] = p * weight[t, after] / weight[s, value]
        assert sum(row.values()) == 1
        rows.append(row)
    return Refined(
        rows,
        [chain.labels[s] | ({name} if value else set()) for s, value in sorted(weight)],
        [
            {
                number[t, value]: w * weight[t, value]
                for t, w in copies.items()
                for value in (False, True)
                if (t, value) in weight
            }
            for copies in chain.copies
        ],
        chain.n_operators + 1,
    )


def until_probabilities(rows: list[Row], left: list[bool], right: list[bool]) -> list[Fraction]:
    """Return Pr(left U right) by graph search for 0 and Gaussian elimination."""
    n = len(rows)
    possible = {s for s in range(n) if right[s]}
    while True:
        more = {s for s in range(n) if left[s] and s not in possible and possible & rows[s].keys()}
        if not more:
            break
        possible |= more
    unknown = [s for s in range(n) if s in possible and not right[s]]
    place = {s: i for i, s in enumerate(unknown)}
    matrix = [[Fraction(0)] * (len(unknown) + 1) for _ in unknown]
    for s in unknown:
        matrix[place[s]][place[s]] += 1
        for t, p in rows[s].items():
            if right[t]:
                matrix[place[s]][-1] += p
            elif t in place:
                matrix[place[s]][place[t]] -= p
    solution = gauss(matrix)
    return [
        Fraction(1) if right[s] else solution[place[s]] if s in place else Fraction(0)
        for s in range(n)
    ]


def gauss(matrix: list[list[Fraction]]) -> list[Fraction]:
    """Return the solution of the square system whose last column is the right-hand side."""
    n = len(matrix)
    for column in range(n):
        pivot = next(row for row in range(column, n) if matrix[row][column])
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        matrix[column] = [value / matrix[column][column] for value in matrix[column]]
        for row in range(n):
            if row != column and matrix[row][column]:
                factor = matrix[row][column]
                matrix[row] = [
                    a - factor * b for a, b in zip(matrix[row], matrix[column], strict=True)
                ]
    return [row[-1] for row in matrix]
