"""P and D over analysts who have fixed their queries, against all sequences of queries, one by one.

A random mechanism asks before each output. The oracle knows it as a table of weights, and takes
the definitions literally: a formula P or D holds at a history if it does for every sequence of
queries from there on.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from random import Random
from unittest.mock import patch

import pytest

from dpcheck.model import fixed_queries
from tests.checking import check_text, error_codes, verdicts

QUERIES = (0, 1)
MEMORIES = (0, 1)
ENDED = None


class Rounds:
    """Rounds in which the analyst asks, and an output and a memory are drawn, given both and x.

    With `asks_twice` a second query goes before an output; with `says_more` a memory of 1 is shown
    by one more output, so that histories of a round have several lengths. A history is what round
    comes next, the input, the memory, the last output, and how many outputs and queries there were.
    """

    def __init__(
        self, choose: Random, n_rounds: int, *, asks_twice: bool = False, says_more: bool = False
    ) -> None:
        self.n_rounds, self.says_more = n_rounds, says_more
        self.names = ["c", "d"] if asks_twice else ["c"]
        self.weights = {
            key: [choose.randrange(1, 4) for _ in range(4)]
            for key in product(
                range(n_rounds), product(QUERIES, repeat=len(self.names)), (0, 1), MEMORIES
            )
        }

    def text(self, *, is_loop: bool = False) -> str:
        """Return the mechanism in dpm, its rounds written out or in a loop."""
        lines = ["mechanism m {", "  input x in 0..1", "  adjacent all", "  memory := 0"]
        if is_loop:
            lines += ["  i := 0", f"  while i < {self.n_rounds} {{", *self.round("i = {} & ")]
            lines += ["  i := i + 1", "  }"]
        else:
            lines += [line for i in range(self.n_rounds) for line in self.round("", i)]
        return "\n".join([*lines, "}", ""])

    def round(self, when: str, only: int | None = None) -> list[str]:
        """Return the lines of one round, or of any."""
        cases = []
        for (i, asked, x, memory), weights in self.weights.items():
            if only not in (None, i):
                continue
            branches = ", ".join(
                f"{divmod(k, 2)}: {weight}/{sum(weights)}" for k, weight in enumerate(weights)
            )
            equal = [f"{name} = {q}" for name, q in zip(self.names, asked, strict=True)]
            condition = " & ".join([*equal, f"x = {x}", f"memory = {memory}"])
            cases.append(f"if {when.format(i)}{condition} then {{{branches}}}")
        lines = [f"  query {name} in 0..1 fixed" for name in self.names]
        lines += [f"  r ~ {' else '.join(cases)} else {{(0, 0): 1}}", "  (shown, memory) := r"]
        lines += ["  output shown"]
        return [*lines, "  if memory = 1 { output more }"] if self.says_more else lines

    def after(self, history, words):
        """Return what is next in a history, by probability."""
        i, x, memory, _, length, is_told = history
        if not is_told:
            return [((i, x, memory, "more", length + 1, True), Fraction(1))]
        places = enumerate(self.names, length)
        asked = tuple(words[name, place] for place, name in places)
        weights = self.weights[i, asked, x, memory]
        length += len(self.names) + 1
        return [
            (
                (i + 1, x, k % 2, k // 2, length, not (self.says_more and k % 2)),
                Fraction(weight, sum(weights)),
            )
            for k, weight in enumerate(weights)
        ]

    def runs(self, history, words):
        """Yield the runs from a history where the analyst has fixed words, with probabilities."""
        i, *_, is_told = history
        if i == self.n_rounds and is_told:
            yield (history, ENDED), Fraction(1)
            return
        for following, p in self.after(history, words):
            for run, chance in self.runs(following, words):
                yield (history, *run), p * chance

    @cached_property
    def all_words(self):
        """All that an analyst may have fixed: choices by query and length of the history."""
        lengths = {0}
        asked = []
        for _ in range(self.n_rounds):
            asked += [(name, n + k) for n in lengths for k, name in enumerate(self.names)]
            lengths = {n + len(self.names) + 1 for n in lengths}
            lengths |= {n + 1 for n in lengths} if self.says_more else set()
        places = sorted(set(asked))
        return [
            dict(zip(places, each, strict=True)) for each in product(QUERIES, repeat=len(places))
        ]


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
                return history is not ENDED and history[3] == value
            case ("not", inner):
                return not self.holds(inner, history)
            case ("and", left, right):
                return self.holds(left, history) and self.holds(right, history)
            case ("or", left, right):
                return self.holds(left, history) or self.holds(right, history)
            case ("P", comparison, bound, path):
                return all(
                    {">=": p >= bound, "<=": p <= bound}[comparison]
                    for p in (self.chance(history, path, w) for w in self.rounds.all_words)
                )
            case ("D", growth, delta, path):
                if history is ENDED:
                    return True
                i, x, *rest = history
                for words in self.rounds.all_words:
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


def verdicts_of(rounds, formulas):
    """Return the verdicts by the definitions."""
    oracle = Oracle(rounds)
    starts = [(0, x, 0, None, 0, True) for x in (0, 1)]
    return [
        "holds" if all(oracle.holds(formula, start) for start in starts) else "violated"
        for formula in formulas
    ]


@pytest.mark.parametrize("seed", range(12))
def test_nested_formulas_are_about_all_that_may_be_asked(seed):
    choose = Random(seed)
    rounds = Rounds(choose, 2 + seed % 2, asks_twice=seed % 4 == 2)
    formulas = [random_state(choose, 2) for _ in range(20)]
    claims = "".join(f"check m: {written(formula)}\n" for formula in formulas)
    assert verdicts(check_text(rounds.text() + claims)) == verdicts_of(rounds, formulas)


@pytest.mark.parametrize("seed", range(8))
def test_a_loop_whose_histories_end_is_decided(seed):
    choose = Random(seed)
    rounds = Rounds(choose, 2, asks_twice=seed % 4 == 3)
    formulas = [random_state(choose, 1 + seed % 2) for _ in range(12)]
    claims = "".join(f"check m: {written(formula)}\n" for formula in formulas)
    found = verdicts(check_text(rounds.text(is_loop=True) + claims))
    assert found == verdicts_of(rounds, formulas)


@pytest.mark.parametrize("seed", range(8))
def test_a_query_after_histories_of_several_lengths_has_a_choice_for_each(seed):
    choose = Random(seed)
    rounds = Rounds(choose, 2, asks_twice=seed % 4 == 3, says_more=True)
    formulas = [random_state(choose, 1 + seed % 2) for _ in range(12)]
    claims = "".join(f"check m: {written(formula)}\n" for formula in formulas)
    expected = verdicts_of(rounds, formulas)
    for is_loop in (False, True):
        assert verdicts(check_text(rounds.text(is_loop=is_loop) + claims)) == expected


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


IN_A_LOOP = ACCURACIES.replace("repeat 2 {", "i := 0  while i < 2 { i := i + 1")


@pytest.mark.parametrize("text", [ACCURACIES, IN_A_LOOP])
def test_what_a_claim_names_is_given(text):
    claims = """
check m at c[2] = high : P>=1 [ X P>=4/5 [ X output = x ] ]
check m at c[2] = low : P<=0 [ X P>=4/5 [ X output = x ] ]
check m: c[2] = high => P>=1 [ X P>=4/5 [ X output = x ] ]
check m: P>=1 [ X (c[2] = high => P>=4/5 [ X output = x ]) ]
check m: c[1] = low => !P>=4/5 [ X output = x ]
check m: c[1] = high => !P>=4/5 [ X output = x ]
compute m at x = 0 & c[1] = low & c[2] = high : P=? [ X P>=4/5 [ X output = x ] ]
"""
    found = check_text(text + claims)["results"]
    assert [result["verdict"] for result in found[:-1]] == ["holds"] * 5 + ["violated"]
    assert found[-1]["value"]["exact"] == "1"


@pytest.mark.parametrize("text", [ACCURACIES, IN_A_LOOP])
@pytest.mark.parametrize(
    ("at", "epsilon"),
    [
        ("c[1] = low | c[2] = low", "27/2"),
        ("!(c[1] = high)", "27/2"),
        ("!(c[1] = high | c[2] = high)", "9/4"),
        ("c[1] = high => c[2] = low", "27/2"),
    ],
)
def test_a_condition_selects_analysts_one_by_one(at, epsilon, text):
    claim = f"check m at {at} : epsilon = ln({epsilon})\n"
    assert verdicts(check_text(text + claim)) == ["holds"]


@pytest.mark.parametrize("seed", range(6))
def test_choices_of_a_loop_have_the_names_of_one_that_is_written_out(seed):
    choose = Random(seed)
    rounds = Rounds(choose, 2 + seed % 2, says_more=seed % 3 == 1)
    n_cells = len(rounds.all_words[0])

    def named():
        return f"c[{choose.randrange(1, n_cells + 1)}] = {choose.randrange(2)}"

    claims = "".join(
        f"check m at {named()} | {named()} : {written(random_state(choose, 2))}\n"
        f"check m: {named()} => ({written(random_state(choose, 2))})\n"
        f"check m: P>=1/2 [ X ({named()} => {written(random_state(choose, 1))}) ]\n"
        f"compute m at {named()} : delta(ln 2)\n"
        for _ in range(3)
    )
    written_out, in_a_loop = (
        [
            (one["verdict"], one.get("value"))
            for one in check_text(rounds.text(is_loop=is_loop) + claims)["results"]
        ]
        for is_loop in (False, True)
    )
    assert in_a_loop == written_out


def test_states_forget_choices_that_are_not_read_again():
    """After each query and each output only later choices, x, and what is shown are left."""
    text = IN_A_LOOP.replace("i < 2", "i < 6") + "compute m: epsilon\n"
    (result,) = check_text(text)["results"]
    assert result["states"] == 2 * 2**6 + sum(2 * (2 * 2 * 2**later) for later in range(6))


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


# --- histories of any length ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounds", "kind", "run"),
    [
        ("while true", "fixed", "input x = 0; then output go; then c ~ 1"),
        ("while true", "", "input x = 0; then output go; then c ~ 1"),
        ("for i in 1..2", "fixed", "input x = 0, c = [1, 0]; then output go"),
    ],
)
def test_a_mistake_on_a_run_names_the_choices_of_its_analyst(rounds, kind, run):
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  output go
  {rounds} {{
    query c in {{0, 1}} {kind}
    y ~ bernoulli(1/2 + c)
    output y
  }}
}}
check m: dp(ln 2)
"""
    (error,) = check_text(text)["errors"]
    assert error["notes"] == [f"on the run: {run}"]


def test_of_all_analysts_numbers_without_bounds_are_compared_far_out():
    """9 and 12 are outside of the window that the program needs."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  b := true
  while b {
    query c in {0, 1} fixed
    z ~ geometric(x * c, 1/2) unbounded
    output z
    b ~ bernoulli(1/2)
  }
}
check m: P<=1/768 [ X output > 9 ]
check m: D{ln 2} [ X output > 9 ]
check m: E<=(12 + 1/3072) [ max(output(1), 12) ]
check m: E<=12 [ max(output(1), 12) ]
"""
    found = check_text(text)["results"]
    assert [each["verdict"] for each in found] == ["holds", "holds", "holds", "violated"]


def test_of_a_parameter_one_of_infinitely_many_analysts_shows_some_values():
    """Who asks 1 and then 2 learns more, so that dp(ln 2) fails for p > 1/6, delta for p > 1/8."""
    text = """
param p in (0, 1/2)
mechanism m {
  input x in 0..1
  adjacent all
  s := 0
  while true {
    query c in {1, 2} fixed
    if s = 0 { s := c  output go }
    else if s = 1 {
      s := 3
      y ~ bernoulli(1/2 + (if x = 1 then 1 else -1) * (if c = 2 then p else p/2))
      output y
    } else { output done }
  }
}
check m: dp(ln 2)
check m: delta(0) <= 1/4
check m: D{ln 2} [ X X output = true ]
check m: dp(ln(1 + p/4))
"""
    *some, every = check_text(text)["results"]
    for found, low in zip(some, ("1/3", "1/4", "1/3"), strict=True):
        assert [each["from"]["exact"] for each in found["values"]["fails_for"]] == [low]
        assert found["values"]["at_least"] is True
        assert "holds_for" not in found["values"]
    assert "at_least" not in every["values"]


def endless_rounds(choose: Random):
    """Return rounds that go on by chance, with what they show given x, the query, and a memory."""
    weights = [choose.randrange(1, 8) for _ in range(8)]
    cases = " else ".join(
        f"if c = {c} & x = {x} & memory = {m} then {weights[4 * c + 2 * x + m]}/8"
        for c, x, m in product((0, 1), repeat=3)
    )
    return f"""
    query c in 0..1 fixed
    b ~ bernoulli({cases} else 1/2)
    memory ~ bernoulli(if b then 1/3 else 3/4)
    memory := if memory then 1 else 0
    output if b then 1 else 0
    if memory = 1 {{ going ~ bernoulli({choose.randrange(1, 8)}/8) }}
"""


HEAD = "mechanism m {\n  input x in 0..1\n  adjacent all\n  memory := 0  going := true\n"


def claimed(choose: Random):
    """Return a claim that the first three outputs decide."""
    paths = ["X output = 1", "X X output = 0", "X (output = 1 & X output = 1)", "F<=3 output = 1"]
    paths += ["X X stopped", "G<=2 !output = 1", "X (output = 1 => X X output = 0)"]
    path, bound = choose.choice(paths), Fraction(choose.randrange(1, 16), 16)
    budget = f"ln({choose.randrange(2, 6)}), {bound / 4}"
    quantities = [f"P<={bound}", f"P>={bound}", f"D{{{budget}}}"]
    return f"{choose.choice(quantities)} [ {path} ]"


@pytest.mark.parametrize("seed", range(6))  # 3 s each
def test_what_is_decided_for_any_length_is_so_where_few_are_fixed(seed):
    """Three outputs decide, so an analyst has fixed three choices as far as claims can tell."""
    choose = Random(seed)
    body = endless_rounds(choose)
    claims = "".join(f"check m: {claimed(choose)}\n" for _ in range(12))
    unrolled = f"{HEAD}  repeat 3 {{\n    if !going {{ stop }}{body}  }}\n}}\n{claims}"
    for_ever = f"{HEAD}  while going {{{body}  }}\n}}\n{claims}"
    expected, found = (verdicts(check_text(text)) for text in (unrolled, for_ever))
    known = [(e, f) for e, f in zip(expected, found, strict=True) if f != "undecided"]
    assert [e for e, _ in known] == [f for _, f in known]
    assert len(known) >= 6
    # What one of few choices violates is found.
    assert not [
        e for e, f in zip(expected, found, strict=True) if (e, f) == ("violated", "undecided")
    ]


@pytest.mark.parametrize("seed", range(6))
def test_bounds_over_all_analysts_contain_what_each_attains(seed):
    choose = Random(seed)
    body = endless_rounds(choose)
    paths = ["X X output = 1", "F<=3 output = 0", "X (output = 1 & X output = 1)"]
    for_ever = f"{HEAD}  while going {{{body}  }}\n}}\n"
    unrolled = f"{HEAD}  repeat 3 {{\n    if !going {{ stop }}{body}  }}\n}}\n"
    words = list(product((0, 1), repeat=3))
    for path in paths:
        asked = f"compute m at x = 1 : P=? [ {path} ]\n"
        (result,) = check_text(for_ever + asked)["results"]
        low, high = bounds_told(result)
        each = "".join(
            asked.replace("x = 1", f"x = 1 & c[1] = {a} & c[2] = {b} & c[3] = {c}")
            for a, b, c in words
        )
        for one in check_text(unrolled + each)["results"]:
            assert low <= Fraction(one["value"]["exact"]) <= high


def bounds_told(result):
    """Return the bounds of a probability that stayed unknown."""
    assert result["verdict"] == "undecided"
    return [Fraction(result["bounds"][end]["exact"]) for end in ("low", "high")]


OPEN = """
mechanism m {
  input x in 0..1
  adjacent all
  going := true
  while going {
    query c in {low, high} fixed
    b ~ bernoulli(if c = low then 3/5 else 9/10)
    output if b then x else 1 - x
    going ~ bernoulli(1/2)
  }
}
"""


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("P<=9/10 [ X output = x ]", "holds"),
        ("P<=4/5 [ X output = x ]", "violated"),
        ("D{ln 9} [ F (output = 1 & X stopped) ]", "holds"),
        ("D{ln 8} [ X output = 1 ]", "violated"),
        # low, low, ... alone violates it: 9/50 + 41/50 * 3/10 of the same, 9/37 < 1/4.
        ("P>=1/4 [ F (output = x & X output = x) ]", "violated"),
        ("P>=1 [ X P<=1/2 [ X output = x ] ]", "holds"),
        ("P>=1 [ X P>=1/2 [ X output = x ] ]", "violated"),
        ("P>=1 [ X P>=1/3 [ X output = x ] ]", "undecided"),
        ("!P<=4/5 [ X output = x ]", "undecided"),
        ("P>=1 [ F stopped ]", "holds"),
        ("P<=0 [ G !stopped ]", "holds"),
        ("epsilon = inf", "holds"),
        ("dp(5)", "violated"),
        ("E<=3/2 [ outputs ]", "violated"),
        ("E<=2 [ outputs ]", "holds"),
        ("E<19/10 [ outputs ]", "violated"),
        ("E>=3/5 [ if output = x then 1 else 0 ]", "holds"),
        ("E<=17/20 [ if output = x then 1 else 0 ]", "violated"),
        ("E in [3/5, 9/10] [ if output = x then 1 else 0 ]", "holds"),
        ("delta(ln 9) >= 1/10", "holds"),
        ("delta(ln 9) <= 1/5", "violated"),
        ("dp(ln 9, 9/20)", "holds"),
    ],
)
def test_claims_about_histories_of_any_length(claim, verdict):
    assert verdicts(check_text(f"{OPEN}check m: {claim}\n")) == [verdict]


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("outputs", len),
        ("{2}", lambda outputs: outputs[1]),
        ("{}", lambda outputs: outputs[-1]),
        ("{} - 3 * outputs", lambda outputs: outputs[-1] - 3 * len(outputs)),
    ],
)
def test_means_lie_between_those_of_analysts_who_see_everything(seed, text, value):
    """Every analyst counts as too many; all strategies are tried, history by history."""
    rounds = Rounds(Random(seed), 2, asks_twice=seed % 3 == 1, says_more=seed % 3 == 2)
    for index, name in (("{2}", "output(2)"), ("{}", "output")):
        number = f"(if {name} = more then 5 else {name})" if rounds.says_more else name
        text = text.replace(index, number)

    def best(pick, *seen):
        i, *_, is_told = seen[-1]
        if i == rounds.n_rounds and is_told:
            return Fraction(value([5 if s[3] == "more" else s[3] for s in seen[1:]]))
        length, options = seen[-1][4], []
        for asked in range(2 ** len(rounds.names)):
            words = {(name, length + k): asked >> k & 1 for k, name in enumerate(rounds.names)}
            options.append(
                sum(p * best(pick, *seen, each) for each, p in rounds.after(seen[-1], words))
            )
        return pick(options)

    start = (0, 1, 0, None, 0, True)
    with patch.object(fixed_queries, "MOST_ANALYSTS", 0):
        claim = f"compute m at x = 1 : E=? [ {text} ]\n"
        (result,) = check_text(rounds.text(is_loop=True) + claim, "--jobs", "1")["results"]
    low, high = best(min, start), best(max, start)
    if result["verdict"] == "value":
        assert low == high == Fraction(result["value"]["exact"])
    else:
        assert bounds_told(result) == [low, high]


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("at x = 1 : E=? [ if output = 1 then 1 else 0 ] <= 3/4", "undecided"),  # 9/10 if high
        ("at x = 1 : E=? [ if output = 1 then 1 else 0 ] <= 9/10", "holds"),
        ("at x = 1 : E=? [ if output = 1 then 1 else 0 ] >= 19/20", "violated"),
        ("at x = 1 : E=? [ outputs ] = 2", "holds"),
        ("at x = 1 : P=? [ X output = 0 ] <= 2/5", "holds"),
        ("at x = 1 : P=? [ X output = 0 ] >= 1/2", "violated"),
        ("at x = 1 & c[1] = low : P=? [ X output = 0 ] = 2/5", "holds"),
    ],
)
def test_a_number_at_one_state_is_compared_by_its_bounds(claim, verdict):
    assert verdicts(check_text(f"{OPEN}check m {claim}\n")) == [verdict]


def test_groups_are_about_all_analysts_too():
    text = OPEN.replace("x in 0..1", "x in 0..2").replace(
        "adjacent all", "adjacent abs(x - x') <= 1"
    )
    text = text.replace("if b then x else 1 - x", "if b & x > 0 then 1 else if x = 2 then 2 else 0")
    claims = ["dp(9)", "epsilon = inf", "delta(0) >= 9/10", "delta(0) <= 1", "delta(0) <= 2/3"]
    found = check_text(text + "".join(f"check group(m, 2): {claim}\n" for claim in claims))
    assert verdicts(found) == ["violated", "holds", "holds", "holds", "violated"]


def test_both_bounds_are_told_where_they_do_not_meet():
    """What is shown next is known better if low was asked before an answer 0, and high before 1."""
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  going := true  last := 0
  while going {
    query c in {low, high} fixed
    b ~ bernoulli(if (c = low) = (last = 0) then 1/2 else if x = 1 then 9/10 else 1/10)
    last := if b then 1 else 0
    output last
    going ~ bernoulli(1/2)
  }
}
compute m: delta(1)
check m: delta(1) <= 73/100
"""
    for result in check_text(text)["results"]:
        assert result["verdict"] == "undecided"
        low, high = (float(result["bounds"][end]["decimal"]) for end in ("low", "high"))
        assert 0.7 < low < high < 0.8


def test_a_choice_may_be_added_to_noise_that_was_drawn_before():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  z ~ geometric(x, 1/2) unbounded
  output drawn
  query c in {1, 3} fixed
  output z + c > 2
}
check m: dp(ln 2)
check m: epsilon = ln 2
check m at x = 1: P>=1/3 [ X P>=1/2 [ X output = true ] ]
check m at x = 1: P>=2/3 [ X !(P>=1/2 [ X output = true ]) ]
"""
    report = check_text(text)
    assert verdicts(report) == verdicts(check_text(text.replace("z + c", "z + c * 1")))
    assert verdicts(report)[:2] == ["holds", "holds"]


def test_a_query_that_no_run_makes_has_no_choices():
    text = OPEN.replace("going ~", "if x > 5 { query d in 0..1 fixed } going ~")
    claims = "check m: P<=4/5 [ X output = x ]\ncheck m at d[1] = 0 : dp(9)\n"
    report = check_text(text + claims)
    assert verdicts(report) == ["violated"]
    assert error_codes(report) == ["DP644"]


def test_max_over_min_is_told_where_it_does_not_decide():
    """Asked low, the neighbors answer with 3/5 and 2/5, asked high with 1/5 and 1/10."""
    answers = "(if x = 0 then 3/5 else 2/5) else (if x = 0 then 1/5 else 1/10)"
    text = OPEN.replace("3/5 else 9/10", answers).replace("if b then x else 1 - x", "b")
    claims = "".join(f"check m: D{{ln({e})}} [ X output = true ]\n" for e in ("6", "3", "19/10"))
    found = check_text(text + claims)["results"]
    assert [one["verdict"] for one in found] == ["holds", "undecided", "violated"]
    assert "D holds for epsilon from ln(6) on" in str(found[1])


def test_values_of_a_loop_whose_histories_end_by_chance():
    text = """
mechanism m {
  input x in 0..1
  adjacent all
  n ~ uniform(1..3)
  i := 0
  while i < n {
    query c in {low, high} fixed
    b ~ bernoulli(if c = low then 3/5 else 9/10)
    output if b then x else 1 - x
    i := i + 1
  }
}
check m: epsilon = 3 * ln 9
check m: P<=9/10 [ X output = x ]
check m: P>=3/5 [ X output = x ]
"""
    assert verdicts(check_text(text)) == ["holds"] * 3


def test_what_is_known_by_bounds_has_no_witness_and_says_why(tmp_path):
    claims = "check m: P<=9/10 [ X output = x ]\ncheck m: P>=1 [ X P>=1/2 [ X output = x ] ]\n"
    report = check_text(OPEN + claims, "--witness", str(tmp_path))
    told = "P=? [ X P>=1/2 [ X output = x ] ] is 0, by the least"
    assert told in report["results"][1]["counterexample"]["requirement"]
    for path in tmp_path.iterdir():
        assert "more analysts than can be listed" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("at c[1] = low : P<=3/5 [ X output = x ]", "holds"),
        ("at c[1] = low | c[1] = high : P<=3/5 [ X output = x ]", "violated"),
        ("at c[2] = low : P<=3/5 [ X output = x ]", "violated"),
        ("at c[2] = low : P<=3/10 [ X X output = x ]", "holds"),
        ("at c[2] = low : D{ln(3/2)} [ X X output = 1 ]", "holds"),
        ("at c[1] = low : D{ln(3/2)} [ X X output = 1 ]", "violated"),
        (": P>=9/20 [ X X (c[2] = low | output = x) ]", "holds"),
        ("at c[1] = low & c[2] = low : delta(0) <= 1", "holds"),
    ],
)
def test_first_choices_may_be_given_where_histories_are_endless(claim, verdict):
    assert verdicts(check_text(f"{OPEN}check m {claim}\n")) == [verdict]


@pytest.mark.parametrize(
    ("text", "at", "code"),
    [
        (IN_A_LOOP, "c[3] = low", "DP644"),
        (OPEN, "c[33] = low", "DP644"),
        (IN_A_LOOP, "len(c) = 2", "DP643"),
        (IN_A_LOOP, "c[1 + x] = low", "DP643"),
        (OPEN, "c[0] = low", "DP643"),
        (OPEN, "c[65] = low", "DP643"),
    ],
)
def test_choices_that_are_not_there(text, at, code):
    assert error_codes(check_text(f"{text}check m at {at} : dp(9)\n")) == [code]


@pytest.mark.parametrize(
    ("going", "verdict"), [("g := false", "violated"), ("g ~ bernoulli(1/2)", "undecided")]
)
def test_later_neighbors_may_differ_in_what_was_asked(going, verdict):
    """A query is no step of a run, so runs in which one makes none are in lock step too."""
    text = f"""
mechanism m {{
  input x in 0..1
  adjacent all
  g := true
  while g {{
    if x = 1 {{ query c in 0..1 fixed }}
    output go
    y ~ bernoulli(if x = 1 then 3/4 else 1/4)
    output y
    {going}
  }}
}}
check m: P>=1 [ X D{{0}} [ X output = true ] ]
"""
    assert verdicts(check_text(text)) == [verdict]


def test_sets_of_the_same_name_that_differ_in_kind_are_two_sets():
    text = """
mechanism m {
  input x in {0, 1}
  adjacent all
  query c in {1, 2} fixed
  y ~ bernoulli((if c = 1 then 1 + x else 2) / 4)
  output (c, y)
  query c in {SECOND, 2} fixed
  y ~ bernoulli((if c = 1 then 2 - x else 2) / 4)
  output (c, y)
}
compute m: epsilon
"""
    assert error_codes(check_text(text.replace("SECOND", "true"))) == ["DP636"]
    (found,) = check_text(text.replace("SECOND", "2/2"))["results"]
    assert found["value"]["exp"] == "3"


LISTED = """
mechanism m {
  input x in {a, b, c}
  PUBLIC
  adjacent (a, b), (b, c)
  query k in {1, 2}
  y ~ bernoulli(if x = a then 1/(2 + k) else 1/2)
  output y
}
"""


@pytest.mark.parametrize("known", ["public t in 0..1", "public t[1..2] in 0..1 where sum(t) > 0"])
def test_listed_pairs_agree_on_what_is_public_and_on_what_was_asked(known):
    asked = LISTED.replace("PUBLIC", known).replace("{1, 2}", "{1, 2} fixed")
    claims = "check m: epsilon = ln 2  check m at k[1] = 1: epsilon = ln(3/2)  check m: dp(ln 2)"
    report = check_text(asked + claims)
    assert verdicts(report) == ["holds"] * 3
    n_known = 2 if known.endswith("0..1") else 3
    assert [one["neighbor_pairs"] for one in report["results"]] == [
        2 * n_known * n_asked for n_asked in (2, 1, 2)
    ]


def test_a_listed_value_that_no_input_has_is_a_mistake_beside_public_inputs_too():
    text = LISTED.replace("PUBLIC", "public t in 0..1").replace(
        "{a, b, c}", "{a, b, c} where x != c"
    )
    report = check_text(text + "check m: dp(ln 2)")
    assert error_codes(report) == ["DP509"]


def test_listed_pairs_of_an_input_with_a_mistake_are_not_said_to_lack_it():
    text = LISTED.replace("PUBLIC", "").replace("query k", "query c")  # which is no symbol then
    assert "DP526" not in error_codes(check_text(text + "check m: dp(ln 2)"))


TWO_SCALES = """
mechanism low_is_clear { ASKED b ~ bernoulli(if c = low then 9/10 else 3/5) SHOWN }
mechanism high_is_clear { ASKED b ~ bernoulli(if c = low then 3/5 else 9/10) SHOWN }
mechanism both { HEAD run low_is_clear(x = x)  run high_is_clear(x = x) }
"""


def test_one_choice_for_runs_of_several_mechanisms_is_not_the_worst_of_each():
    head = "input x in 0..1  adjacent all"
    text = TWO_SCALES.replace("ASKED", f"{head} query c in {{low, high}} fixed")
    text = text.replace("SHOWN", "output if b then x else 1 - x").replace("HEAD", head)
    claims = "check both: epsilon = 2 * ln 9  check compose(low_is_clear, 2): epsilon = 2 * ln 9"
    assert verdicts(check_text(text + claims)) == ["holds"] * 2
    mixed = "compose(low_is_clear, high_is_clear)"
    for claim in (f"check {mixed}: dp(ln(27/2))", f"compute {mixed}: epsilon"):
        assert error_codes(check_text(text + claim)) == ["DP645"]
