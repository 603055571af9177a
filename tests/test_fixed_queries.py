"""P and D over analysts who have fixed their queries, against all sequences of queries, one by one.

A random mechanism asks before each output. The oracle knows it as a table of weights, and takes
the definitions literally: a formula P or D holds at a history if it does for every sequence of
queries from there on.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import pytest

from tests.checking import check_text, verdicts

QUERIES = (0, 1)
MEMORIES = (0, 1)
ENDED = None


class Rounds:
    """Rounds in which the analyst asks, and an output and a memory are drawn, given both and x.

    With `asks_twice` a second query goes before an output. A history is what round comes next, the
    input, the memory and the last output.
    """

    def __init__(self, choose: Random, n_rounds: int, *, asks_twice: bool) -> None:
        self.n_rounds = n_rounds
        self.n_asked = 2 if asks_twice else 1
        self.weights = {
            key: [choose.randrange(1, 4) for _ in range(4)]
            for key in product(
                range(n_rounds), product(QUERIES, repeat=self.n_asked), (0, 1), MEMORIES
            )
        }

    def text(self) -> str:
        """Return the mechanism in dpm."""
        lines = ["mechanism m {", "  input x in 0..1", "  adjacent all", "  memory := 0"]
        names = ["c", "d"][: self.n_asked]
        for i in range(self.n_rounds):
            lines += [f"  query {name} in 0..1 fixed" for name in names]
            cases = []
            for asked, x, memory in product(
                product(QUERIES, repeat=self.n_asked), (0, 1), MEMORIES
            ):
                weights = self.weights[i, asked, x, memory]
                branches = ", ".join(
                    f"{divmod(k, 2)}: {weight}/{sum(weights)}" for k, weight in enumerate(weights)
                )
                equal = [f"{name} = {q}" for name, q in zip(names, asked, strict=True)]
                condition = " & ".join([*equal, f"x = {x}", f"memory = {memory}"])
                cases.append(f"if {condition} then {{{branches}}}")
            lines.append(f"  r ~ {' else '.join(cases)} else {{(0, 0): 1}}")
            lines += ["  (shown, memory) := r", "  output shown"]
        return "\n".join([*lines, "}", ""])

    def after(self, history, asked):
        """Return the histories after one, by their probabilities."""
        i, x, memory, _ = history
        weights = self.weights[i, asked, x, memory]
        return [
            ((i + 1, x, k % 2, k // 2), Fraction(weight, sum(weights)))
            for k, weight in enumerate(weights)
        ]

    def runs(self, history, words):
        """Yield the runs from a history for the queries of each round, with probabilities."""
        if history[0] == self.n_rounds:
            yield (history, ENDED), Fraction(1)
            return
        for following, p in self.after(history, words[history[0]]):
            for run, chance in self.runs(following, words):
                yield (history, *run), p * chance

    def all_words(self):
        """Return all that may be asked, by round."""
        each = list(product(QUERIES, repeat=self.n_asked))
        return list(product(each, repeat=self.n_rounds))


class Oracle:
    """The truth of formulas, by the definitions.

    State formulas: ("out", v), ("x", v), ("not", φ), ("and", φ, ψ), ("or", φ, ψ),
    ("P", comparison, bound, path), ("D", e^ε, δ, path). Paths: ("X", path), ("F", path),
    ("G", path), ("U", path, path) and state formulas.
    """

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.holds = cache(self._holds)

    def chance(self, history, path, words):
        if history is ENDED:
            return Fraction(self.on_run((ENDED,), 0, path))
        runs = self.rounds.runs(history, words)
        return sum(p for run, p in runs if self.on_run(run, 0, path))

    def on_run(self, run, at, path):
        """Return whether a run satisfies a path formula from a place on; its end lasts for ever."""
        at = min(at, len(run) - 1)
        later = range(at, len(run))
        match path:
            case ("X", inner):
                return self.on_run(run, at + 1, inner)
            case ("F", inner):
                return any(self.on_run(run, k, inner) for k in later)
            case ("G", inner):
                return all(self.on_run(run, k, inner) for k in later)
            case ("U", left, right):
                return any(
                    self.on_run(run, k, right)
                    and all(self.on_run(run, j, left) for j in range(at, k))
                    for k in later
                )
            case _:
                return self.holds(path, run[at])

    def _holds(self, formula, history):
        match formula:
            case ("out", value):
                return history is not ENDED and history[0] > 0 and history[3] == value
            case ("not", inner):
                return not self.holds(inner, history)
            case ("and", left, right):
                return self.holds(left, history) and self.holds(right, history)
            case ("or", left, right):
                return self.holds(left, history) or self.holds(right, history)
            case ("P", comparison, bound, path):
                return all(
                    {">=": p >= bound, "<=": p <= bound}[comparison]
                    for p in (self.chance(history, path, w) for w in self.rounds.all_words())
                )
            case ("D", growth, delta, path):
                if history is ENDED:
                    return True
                i, x, *rest = history
                for words in self.rounds.all_words():
                    p = self.chance(history, path, words)
                    q = self.chance((i, 1 - x, *rest), path, words)
                    if p > growth * q + delta or q > growth * p + delta:
                        return False
                return True
        raise AssertionError(formula)


def written(formula) -> str:
    """Return a formula of the oracle in dpm."""
    match formula:
        case ("out", value):
            return f"output = {value}"
        case ("not", inner):
            return f"!({written(inner)})"
        case ("and", left, right):
            return f"({written(left)}) & ({written(right)})"
        case ("or", left, right):
            return f"({written(left)}) | ({written(right)})"
        case ("P", comparison, bound, path):
            return f"P{comparison}{bound} [ {written(path)} ]"
        case ("D", growth, delta, path):
            return f"D{{ln({growth}), {delta}}} [ {written(path)} ]"
        case ("U", left, right):
            return f"({written(left)}) U ({written(right)})"
        case (word, inner):
            return f"{word} ({written(inner)})"
    raise AssertionError(formula)


def random_state(choose: Random, depth: int):
    kinds = ["out", "not", "and", "or"] + ["P", "P", "D"] * (2 if depth > 1 else 1)
    match "out" if depth == 0 else choose.choice(kinds):
        case "out":
            return "out", choose.randrange(2)
        case "not":
            return "not", random_state(choose, depth)
        case "and" | "or" as word:
            return word, random_state(choose, depth), random_state(choose, depth)
        case "P":
            bound = Fraction(choose.randrange(1, 8), 8)
            return "P", choose.choice([">=", "<="]), bound, random_path(choose, depth - 1)
        case _:
            delta = Fraction(choose.randrange(0, 3), 8)
            return "D", choose.randrange(1, 4), delta, random_path(choose, depth - 1)


def random_path(choose: Random, depth: int):
    match choose.choice(["X", "XX", "F", "G", "U"]):
        case "XX":
            return "X", ("X", random_state(choose, depth))
        case "U":
            return "U", random_state(choose, depth), random_state(choose, depth)
        case word:
            return word, random_state(choose, depth)


@pytest.mark.parametrize("seed", range(12))
def test_nested_formulas_are_about_all_that_may_be_asked(seed):
    choose = Random(seed)
    rounds = Rounds(choose, 2 + seed % 2, asks_twice=seed % 4 == 3)
    oracle = Oracle(rounds)
    formulas = [random_state(choose, 2) for _ in range(25)]
    starts = [(0, x, 0, 0) for x in (0, 1)]
    expected = [
        "holds" if all(oracle.holds(formula, start) for start in starts) else "violated"
        for formula in formulas
    ]
    claims = "".join(f"check m: {written(formula)}\n" for formula in formulas)
    assert verdicts(check_text(rounds.text() + claims)) == expected


ACCURACIES = """
mechanism m {
  input x in 0..1
  adjacent all
  repeat 2 {
    query c in {low, high} fixed
    b ~ bernoulli(if c = low then 3/5 else 9/10)
    output if b then x else 1 - x
  }
}
"""


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("P>=1 [ X P>=3/5 [ X output = x ] ]", "holds"),
        ("P>=1 [ X P>=4/5 [ X output = x ] ]", "violated"),
        ("P<=0 [ X P>=4/5 [ X output = x ] ]", "holds"),
        ("P>=1 [ X !P>=4/5 [ X output = x ] ]", "holds"),
        ("P>=1 [ X !P<=4/5 [ X output = x ] ]", "holds"),
        ("!P>=4/5 [ X output = x ]", "holds"),
        ("!P>=3/5 [ X output = x ]", "violated"),
        # For each sequence of queries one of both is true, and neither is for all.
        ("P<=4/5 [ X output = x ] | P>=4/5 [ X output = x ]", "violated"),
        ("P=3/5 [ X output = x ]", "violated"),
    ],
)
def test_a_negated_formula_is_true_where_some_queries_make_it_false(claim, verdict):
    assert verdicts(check_text(f"{ACCURACIES}check m: {claim}\n")) == [verdict]


def test_what_a_claim_names_is_given():
    claims = """
check m at c[2] = high : P>=1 [ X P>=4/5 [ X output = x ] ]
check m at c[2] = low : P<=0 [ X P>=4/5 [ X output = x ] ]
check m: c[2] = high => P>=1 [ X P>=4/5 [ X output = x ] ]
check m: P>=1 [ X (c[2] = high => P>=4/5 [ X output = x ]) ]
check m: c[1] = low => !P>=4/5 [ X output = x ]
check m: c[1] = high => !P>=4/5 [ X output = x ]
compute m at x = 0 & c[1] = low & c[2] = high : P=? [ X P>=4/5 [ X output = x ] ]
"""
    found = check_text(ACCURACIES + claims)["results"]
    assert [result["verdict"] for result in found[:-1]] == ["holds"] * 5 + ["violated"]
    assert found[-1]["value"]["exact"] == "1"


def test_a_disjunction_says_which_queries_make_each_part_false():
    claim = "check m: P<=4/5 [ X output = x ] | P>=4/5 [ X output = x ]\n"
    (result,) = check_text(ACCURACIES + claim, "--explain", "full")["results"]
    remarks = str(result["explanation"])
    assert "9/10" in remarks
    assert "3/5" in remarks


def test_of_a_parameter_too_a_negated_formula_is_about_some_queries():
    text = "param p in (1/2, 1)\n" + ACCURACIES.replace("3/5", "p")
    claims = """
check m: P>=1/2 [ X output = x ]
check m: !P>=9/10 [ X output = x ]
check m: P<=4/5 [ X output = x ] | P>=4/5 [ X output = x ]
"""
    found = check_text(text + claims)["results"]
    assert [result["verdict"] for result in found] == ["holds", "violated", "violated"]
    fails = [result["values"]["fails_for"] for result in found[1:]]
    # Above 9/10 both accuracies are at least 9/10; above 4/5 both are, and the second part holds.
    ends = [[(each["from"]["exact"], each["to"]["exact"]) for each in one] for one in fails]
    assert ends == [[("9/10", "1")], [("1/2", "4/5")]]
