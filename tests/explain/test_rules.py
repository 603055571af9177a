"""Rules say what they select: a second evaluator reads their text and counts again."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from dpcheck.report.explained.attribution import by_output_rows
from tests.explain.explaining import exact, explained, seeded

FIXED = """
mechanism rounds {
  input x[1..2] in 0..1
  adjacent hamming(x, x') <= 1
  for i in 1..2 {
    query who in 1..2 fixed
    b ~ bernoulli(if x[who] = 1 then 3/4 else 1/4)
    output b
  }
}

mechanism forks {
  input x in 0..1
  adjacent all
  b ~ bernoulli(if x = 1 then 3/4 else 1/4)
  z ~ uniform(1..3)
  if b { query c in 1..2 fixed; output (0, z) } else { query d in 1..2 fixed; output (0, z) }
}

check rounds: dp(ln 2)
check forks: dp(ln 2)
"""

NAMES = {"first": 0, "second": 1, "third": 2}


def holds(text, outputs):
    """Return whether a rule holds of a sequence of symbols, by its words alone."""
    if ", or " in text:
        return any(holds(part, outputs) for part in text.split(", or ", 1))
    if " or " in text:
        return any(holds(part, outputs) for part in text.split(" or "))
    if " and " in text and not re.fullmatch(r"outputs \d+ and \d+ are equal", text):
        parts = re.split(r" and (?!\d+ are equal)", text)
        return all(holds(part, outputs) for part in parts)
    return atom(text, outputs)


def atom(text, outputs):
    patterns = [
        (r"the (\w+) output is other than (\w+)", lambda n, v: at(outputs, n) not in (None, v)),
        (r"the (\w+) output is (\w+)", lambda n, v: at(outputs, n) == v),
        (r"no output is (\w+)", lambda v: v not in outputs),
        (r"exactly (\d+) outputs? (?:is|are) (\w+)", lambda n, v: outputs.count(v) == int(n)),
        (r"at least (\d+) outputs? (?:is|are) (\w+)", lambda n, v: outputs.count(v) >= int(n)),
        (r"at most (\d+) outputs? (?:is|are) (\w+)", lambda n, v: outputs.count(v) <= int(n)),
        (r"there (?:is|are) at least (\d+) outputs?", lambda n: len(outputs) >= int(n)),
        (r"there (?:is|are) at most (\d+) outputs?", lambda n: len(outputs) <= int(n)),
        (r"there (?:is|are) (\d+) outputs?", lambda n: len(outputs) == int(n)),
        (
            r"the first (\w+) is output (\d+)",
            lambda v, n: v in outputs and outputs.index(v) + 1 == int(n),
        ),
        (
            r"the first (\w+) is among the first (\d+) outputs",
            lambda v, n: v in outputs[: int(n)],
        ),
        (
            r"outputs (\d+) and (\d+) are equal",
            lambda i, j: len(outputs) >= int(j) and outputs[int(i) - 1] == outputs[int(j) - 1],
        ),
    ]
    for pattern, meaning in patterns:
        found = re.fullmatch(pattern, text)
        if found is not None:
            return meaning(*found.groups())
    raise AssertionError(f"no meaning for: {text}")


def at(outputs, name):
    place = NAMES.get(name)
    place = int(re.match(r"\d+", name)[0]) - 1 if place is None else place
    return outputs[place] if place < len(outputs) else None


def tree_model(rng):
    """Return a mechanism of three answers, and the laws of its sequences from both inputs."""
    lines, laws = [], []
    chances = {}
    for side in ("pos", "neg"):
        for before in ("", "a", "b", "aa", "ab", "ba", "bb"):
            chances[side, before] = Fraction(rng.randint(1, 5), 6)
    lines += [f"  var r{depth} in {{a, b}} := a" for depth in range(3)]
    for depth in range(3):
        for before in [key for side, key in chances if side == "pos" and len(key) == depth]:
            for side in ("pos", "neg"):
                p = chances[side, before]
                conditions = [f"x = {side}"] + [f"r{i} = {v}" for i, v in enumerate(before)]
                draw = f"r{depth} ~ {{a: {p}, b: {1 - p}}}"
                lines.append(f"  if {' & '.join(conditions)} {{ {draw} }}")
        lines.append(f"  output r{depth}")
    for side in ("pos", "neg"):
        law = {}
        for word in [x + y + z for x in "ab" for y in "ab" for z in "ab"]:
            p = Fraction(1)
            for i, value in enumerate(word):
                one = chances[side, word[:i]]
                p *= one if value == "a" else 1 - one
            law[word] = p
        laws.append(law)
    body = "\n".join(lines)
    text = f"mechanism m {{\n  input x in {{pos, neg}}\n  adjacent all\n{body}\n}}\n"
    return text + "check m: dp(ln 2)\ncheck m: dp(ln 2, 1/50)\n", dict(
        zip(("pos", "neg"), laws, strict=True)
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_rule_has_the_probabilities_that_its_words_have(seed, tmp_path):
    text, laws = tree_model(seeded(seed))
    for found in explained(text, tmp_path):
        sides = (found.neighbors.left, found.neighbors.right)
        rules = [(found.rule, sides)]
        if found.others is not None and found.others.rule is not None:
            worst = found.others.worst
            rules.append((found.others.rule, (worst.left, worst.right)))
        for rule, names in rules:
            if rule is None:
                continue
            for amount, name in zip((rule.p, rule.q), names, strict=True):
                law = laws[name.removeprefix("x = ")]
                assert exact(amount) == sum(p for word, p in law.items() if holds(rule.text, word))


def test_the_outputs_of_the_worst_pair_have_the_chances_beside_them(tmp_path):
    text = """mechanism m {
      input q[1..2] in 0..1
      adjacent l1(q, q') <= 1
      repeat 2 { y ~ geometric(q[2], 2/5) unbounded  output y }
    }
    check m: dp(0, 1/10)"""
    (found,) = explained(text, tmp_path)
    others = found.others
    # Both <= 0 has 25/49 against 4/49; with those that are as likely from both sides, where the
    # second is larger, 5/7 against 2/7: the excess is the same.
    assert others.n_outputs == len(others.outputs) == 4
    assert [*map(exact, others.chances)] == [Fraction(25, 49), Fraction(4, 49)]
    assert [exact(others.rule.p), exact(others.rule.q)] == [Fraction(5, 7), Fraction(2, 7)]


def test_queries_that_are_fixed_are_no_outputs(tmp_path):
    rounds, forks = explained(FIXED, tmp_path)
    assert re.fullmatch(r"the (first|second) output is (true|false)", rounds.rule.text)
    assert [step.kind for step in rounds.run.steps] == ["query", "draw", "output"] * 2
    assert forks.rule.text in {"c = 1 is asked", "d = 1 is asked"}


def test_queries_that_are_fixed_are_not_counted_among_outputs(tmp_path):
    hidden = FIXED.replace("output b\n", "c ~ bernoulli(1/8)\n    output b | c\n")
    rounds, _ = explained(hidden, tmp_path)
    assert [step.query for step in rounds.by_output[:4]] == ["who", None, "who", None]
    said = by_output_rows(rounds.by_output, rounds.by_output[0].lines[0].file, 80)
    assert [line.split()[1:4] for line in said[1:]] == [["1", "=", "true"], ["2", "=", "true"]]
