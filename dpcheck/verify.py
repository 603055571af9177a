"""Check dpcheck's witnesses with nothing but the standard library: python3 verify.py WITNESS...

A witness is a claim about a Markov chain, and its rows. Exit status 0: all are proved; 1: one is
rejected; 2: one lacks a proof. Not covered: that rows, neighbors and budget are the model's.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import lcm, prod
from pathlib import Path
from typing import Any, TypeAlias

Json = Any
Whole: TypeAlias = "int | Polynomial"


def need(condition: object, why: str) -> None:
    """Reject the file unless a condition holds."""
    if not condition:
        raise ValueError(why)


class Polynomial:
    """The sum of c t^n over `terms` {n: c}, t = e^unit: zero only if all c are (Lindemann 1882)."""

    def __init__(self, terms: dict[int, int]) -> None:
        self.terms = {n: c for n, c in terms.items() if c}

    def __add__(self, other: Whole) -> Polynomial:
        theirs = getattr(other, "terms", {0: other})
        return Polynomial({n: self.terms.get(n, 0) + theirs.get(n, 0) for n in self.terms | theirs})

    def __mul__(self, other: Whole) -> Polynomial:
        terms: dict[int, int] = {}
        for n, c in self.terms.items():
            for m, d in getattr(other, "terms", {0: other}).items():
                terms[n + m] = terms.get(n + m, 0) + c * d
        return Polynomial(terms)

    def __pow__(self, exponent: int) -> Polynomial:
        need((exponent - 1) * (len(self.terms) - 1) < 30_000, "out of range")  # some minutes
        return prod([self] * exponent, start=Polynomial({0: 1}))

    __radd__, __rmul__ = __add__, __mul__


@cache
def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers below and above 2^bits e^x, x >= 0: squares of the series at x/2^k <= 1/2."""
    k = int(2 * x).bit_length()
    terms, fine = [Fraction(1)], bits + 2 * k
    while terms[-1] * 2**fine > 1:  # the rest of the series is less than twice its last term
        terms.append(terms[-1] * x / 2**k / len(terms))
    low, high = int(sum(terms) * 2**fine), int((sum(terms) + 2 * terms[-1]) * 2**fine) + 1
    for _ in range(k):
        low, high = low * low >> fine, (high * high >> fine) + 1
    return low >> 2 * k, (high >> 2 * k) + 1


class Witness:
    """A file as it was read: rows {state: [(weight, target, shown)]}, no target at a run's end."""

    def __init__(self, fields: dict[str, Json]) -> None:
        """Check that rows sum to 1, with what never comes to the event or goal of the file."""
        self.fields = fields
        self.unit = Fraction(*self.number(fields.get("unit", "1")))
        logs = [[Fraction(*self.number(x)) for x in (m, a)] for m, a in fields.get("ln", [])]
        self.root = lcm(*(m.denominator for m, _ in logs))
        need(all(a > 0 and (abs(m) + 1) * self.root < 10**6 for m, a in logs), "out of range")
        factor = prod((a ** int(m * self.root) for m, a in logs), start=Fraction(1))
        shift = Fraction(*self.number(fields.get("rational", "0"))) * self.root / self.unit
        need(self.unit > 0 and shift.denominator == 1, "the budget is no multiple of the unit")
        grown = Polynomial({int(shift): factor.numerator})
        self.growth = grown if shift else factor.numerator, factor.denominator
        self.under = self.whole(fields.get("denominator", 1))
        self.unders = {s: self.whole(x) for s, x in fields.get("unders", {}).items()}
        need(min(map(self.sign, [self.under, *self.unders.values()])) > 0, "a denominator is <= 0")
        self.rows: dict[int, list[tuple[Whole, Json, Json]]] = {}
        for shown, steps in fields.get("steps", []):
            for state, x, target in steps:
                self.rows.setdefault(state, []).append((self.whole(x), target, shown))
        for state, row in self.rows.items():
            seen = all(x in (None, "diverged") if t is None else type(x) is str for _, t, x in row)
            need(seen or fields["proof"] == "path", f"row {state}: a step is silent")
            rest = self.sign(sum((x * -1 for x, _, _ in row), self.total(state, 1)))
            need(0 <= rest <= (fields["proof"] != "laws"), f"row {state} does not sum to 1")
            ok = all(self.sign(x) > 0 and str(t) not in self.unders for x, t, _ in row)
            need(ok, f"row {state} leads to a start, or a weight is not positive")

    def total(self, state: Json, length: int) -> Whole:
        """Return the weight of all runs of so many steps: only the first may have its own under."""
        return self.unders.get(str(state), self.under) * self.under ** (length - 1) if length else 1

    def whole(self, written: Json) -> Whole:
        """Return a whole number that is written as 3, or as [[coefficient, power], ...]."""
        if type(written) is int:
            return written
        terms = {n: c for c, n in written if type(c) is type(n) is int}
        need(len(terms) == len(written), f"{written} is not whole, or has a power twice")
        return Polynomial(terms)

    def number(self, written: Json) -> tuple[Any, Any]:
        """Return over and under of a number written as "3/4", "2^9*5^-7", or a pair of wholes."""
        if isinstance(written, str):
            form = r"-?N(/N)?|N\^-?[0-9]{1,5}([*]N\^-?[0-9]{1,5})*".replace("N", "[0-9]+")
            need(re.fullmatch(form, written), f"{written!r} is no fraction")
            powers = (f"{each}^1".split("^")[:2] for each in written.split("*"))
            return prod(Fraction(base) ** int(n) for base, n in powers).as_integer_ratio()
        over, under = map(self.whole, written)
        need(self.sign(under) > 0, "a denominator is not positive")
        return over, under

    def sign(self, x: Whole) -> int:
        """Return the sign of a whole number: if it is not zero, some enclosure shows it."""
        if isinstance(x, int):
            return (x > 0) - (x < 0)
        bits, lower, upper, powers = 64, 0, 0, sorted(x.terms)
        need(not powers or self.unit * (powers[-1] - powers[0]) < 10**6, "out of range")
        while powers and lower <= 0 <= upper:
            lower, upper, down, up = 0, 0, 2**bits, 2**bits
            for last, n in zip(powers[:1] + powers, powers, strict=False):
                low, high = exp_bounds(self.unit * (n - last), bits)
                down, up, c = down * low >> bits, (up * high >> bits) + 1, x.terms[n]
                lower += c * (down if c > 0 else up)
                upper += c * (up if c > 0 else down)
            bits *= 2
        return (lower > 0) - (upper < 0)

    def compare(self, p: Whole, under: Whole, written: Json) -> int:
        """Return the sign of p / under - a number in the file."""
        over, below = self.number(written)
        return self.sign(p * below + under * over * -1)

    def exceeds(self, p: Whole, q: Whole) -> bool:
        """Return whether p > e^ε q, where q >= 0 and e^ε is a root of `growth`, a quotient."""
        over, below = self.growth
        return self.sign(p) > 0 and self.sign(p**self.root * below + q**self.root * over * -1) > 0

    def is_within(self, p: Whole, q: Whole, under: Whole) -> bool:
        """Return whether p <= e^ε q + δ, both over one denominator."""
        over, below = self.number(self.fields["delta"])
        return not self.exceeds(p * below + under * over * -1, q * below)

    def check_sides(self, found: list[Whole], under: Whole) -> None:
        """Reject the file unless its sides have these probabilities."""
        for p, side in zip(found, self.fields["sides"], strict=True):
            need(self.compare(p, under, side["probability"]) == 0, "a side has another chance")


def chance_of(w: Witness, state: int, begun: list[Json], length: int) -> Whole:
    """Return the weight of runs that begin so, of the total of that length, if a row leads on."""
    reached: dict[Json, Whole] = {state: 1}
    for shown in begun:
        before, reached = reached, {}
        for s, chance in before.items():
            for weight, target, _ in (edge for edge in w.rows.get(s, []) if edge[2] == shown):
                reached[target] = reached.get(target, 0) + chance * weight
    return sum(reached.values()) * w.under ** (length - len(begun))


def prove_event(w: Witness) -> bool:
    """Two states and an event S: P(S) > e^ε Q(S) + δ; [x, n] in a sequence is n times x."""
    runs = [[x if type(x) is list else [x, 1] for x in each] for each in w.fields["event"]]
    need(all(0 < n < 10**5 for each in runs for _, n in each), "an output is shown too often")
    event = [[x for x, n in each for _ in range(n)] for each in runs]
    need(not any(b[: len(a)] == a for a, b in permutations(event, 2)), "overlapping")
    states, length = [side["state"] for side in w.fields["sides"]], max(map(len, event))
    p, q = (sum(chance_of(w, s, begun, length) for begun in event) for s in states)
    under, other = (w.total(s, length) for s in states)
    w.check_sides([p * other, q * under], under * other)
    return w.is_within(p * other, q * under, under * other)


def laws_of(w: Witness, states: set[Json], length: Json) -> Json:
    """Return {sequence: weight} by state, of the total: no run is longer than `length`."""
    levels, keys, laws = [states - {None}], dict[Json, int](), dict[Json, Json]()
    while levels[-1] and len(levels) < len(w.rows) + 2:
        levels.append({t for s in levels[-1] for _, t, _ in w.rows[s]} - {None})
    need(len(levels) - 1 <= length <= len(w.rows), "a run is longer than said, or than all rows")
    for n, level in reversed([*enumerate(levels)]):
        below, laws = laws, {s: {} for s in level} | {None: {None: w.total(None, length - n)}}
        for s, (weight, target, shown) in ((a, edge) for a in level for edge in w.rows[a]):
            for sequence, chance in below[target].items():
                key = keys.setdefault((shown, sequence), len(keys))
                laws[s][key] = laws[s].get(key, 0) + weight * chance
    return laws


def prove_laws(w: Witness) -> bool:
    """All pairs, both ways: the sum over all sequences of max(0, p - e^ε q) is at most δ."""
    pairs, length = w.fields["pairs"], w.fields["length"]
    laws = laws_of(w, {s for pair in pairs for s in pair}, length)
    for s, t in pairs + [pair[::-1] for pair in pairs]:
        (p, f), (q, g) = ((laws[a], w.total(b, 1)) for a, b in ((s, t), (t, s)))
        above = [key for key, x in p.items() if w.exceeds(x * f, q.get(key, 0) * g)]
        sums = [sum(law.get(key, 0) for key in above) for law in (p, q)]
        if not w.is_within(sums[0] * f, sums[1] * g, w.total(s, length) * f):
            return False
    return True


def prove_sum(w: Witness) -> bool:
    """Independent runs and an event S, that the scores of their outputs sum to at least `least`."""
    found = []
    for k in (2, 3):  # the law of a sum is a product of polynomials whose exponents are scores
        law = Polynomial({0: 1})
        for part in w.fields["parts"]:
            outputs = [[each[1], each[k]] for each in part["outputs"]]
            shown = [[*each[0]] for each in part["outputs"]]
            need(not any(b[: len(a)] == a for a, b in permutations(shown, 2)), "overlapping")
            need(all(type(n) is type(x) is int and x >= 0 for n, x in outputs), "a wrong weight")
            need(0 < part["times"] < 10**7, "a part never runs, or too often")
            law *= sum((Polynomial({n: x}) for n, x in outputs), Polynomial({})) ** part["times"]
        above = sum(x for score, x in law.terms.items() if score >= w.fields["least"])
        found.append((above, sum(law.terms.values())))
    (p, under), (q, other) = found
    need(under == other > 0, "the laws have different denominators")
    w.check_sides([p, q], under)
    return w.is_within(p, q, under)


def prove_path(w: Witness) -> bool:
    """Compare chances of the goal: 1 there, else the mean over successors; 0 if not in the file.

    From each state a path of falling `rank` leads there, so that the equations have one solution.
    """
    goal, (_, under) = set(w.fields["goal"]), w.number([0, w.fields["under"]])
    values = w.fields["values"].items()
    x = {int(s): w.whole(value) for s, (value, _) in values} | dict.fromkeys(goal, under)
    rank = {int(s): steps for s, (_, steps) in values} | dict.fromkeys(goal, 0)
    for s in w.rows:
        mean = sum(weight * x[t] for weight, t, _ in w.rows[s])
        need(w.sign(mean + w.total(s, 1) * x[s] * -1) == 0, f"state {s} has another probability")
        need(any(rank[t] < rank[s] for _, t, _ in w.rows[s]), f"the rank of state {s} is wrong")
    need(len(values) == len(w.rows) and w.rows.keys() == x.keys() - goal, "rows and values differ")
    sides = [side["state"] for side in w.fields["sides"]]
    named = sum(w.fields.get("pairs", []), [*goal, *sides, *w.fields.get("states", [])])
    need(all(type(s) is int for s in named), "a state is no number")
    w.check_sides([x.get(s, 0) for s in sides], under)
    if "pairs" in w.fields:
        pairs = [(x.get(s, 0), x.get(t, 0)) for s, t in w.fields["pairs"]]
        return all(w.is_within(p, q, under) and w.is_within(q, p, under) for p, q in pairs)
    tests = [(x.get(s, 0), *test) for s in w.fields["states"] for test in w.fields["bounds"]]
    return all(w.compare(p, under, bound) in SIGNS[comparison] for p, comparison, bound in tests)


SIGNS = {">=": (0, 1), ">": (1,), "<=": (-1, 0), "<": (-1,), "=": (0,)}
PROVING = {"laws": prove_laws, "path": prove_path}
REFUTING = {"event": prove_event, "path": prove_path, "sum": prove_sum}


def verify(text: str) -> tuple[int, str]:
    """Return 0 if a text is a witness and proves what it says, else 1 or 2; and why."""
    sys.set_int_max_str_digits(0)
    try:
        fields = json.loads(text)
        written = json.dumps(fields, separators=(",", ":"))
        digest, form = fields.pop("digest"), fields["format"]
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return 2, "cannot be read: a witness is JSON with a format and a digest"
    try:
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        need(text.replace("\n", "") == written, "it is not as json.dumps writes it tersely")
        bare = re.sub(r'"(\\.|[^"\\])*"', "", written)  # 2.0 and true equal 2 and 1 in Python
        need(set(bare) <= set("0123456789-,:[]{}null"), "a number is not written as one")
        need(digest == hashlib.sha256(canonical.encode()).hexdigest(), "the digest is another one")
        need(form == "dpcheck-witness/2", "this is another format")
        says, claim = fields["says"], "{target}: {text}".format(**fields["claim"])
        if says == "nothing":
            return 2, f"{claim}: not proved here: {fields['lacks']}"
        prove = {"holds": PROVING, "violated": REFUTING}[says][fields["proof"]]
        need(prove(Witness(fields)) == (says == "holds"), "the evidence says the contrary")
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        return 1, f"rejected: {e if type(e) is ValueError else f'it is malformed, {e!r}'}"
    return 0, f"proved: {claim}: {says} on the chain in the file"


def main(paths: list[str]) -> int:
    """Verify files, say what they prove, and return the exit status."""
    found = []
    for path in paths:
        try:
            status, why = verify(Path(path).read_text("utf-8"))
        except (OSError, ValueError) as error:
            status, why = 2, f"cannot be read: {getattr(error, 'strerror', None) or error}"
        found.append(status)
        told = (c if c.isprintable() else ascii(c)[1:-1] for c in f"{path}: {why}")
        sys.stdout.write("".join(told) + "\n")
    return 1 if 1 in found else max(found, default=2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
