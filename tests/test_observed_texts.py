"""What an adversary sees is told apart by what it is, and written so that nobody confuses it."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcheck
from tests.checking import check_text, verdicts

TWO_WAYS = """chain c {
  state s
  state r
  %s
  s -> 1/2: %s + 1/2: u
  r -> 1/4: %s + 1/4: %s + 1/2: u
  state u
  adjacent s ~ r
  observe %s
}
"""


def epsilon(text):
    """Return the least ε of the only target of a text."""
    (result,) = check_text(text + "\ncompute c: epsilon\n")["results"]
    return result["value"]["exact"]


@pytest.mark.parametrize(
    ("states", "first", "second", "observed"),
    [
        ("state a  state b : a", "a", "b", "a"),
        ("state t[i in 0..1] : t2  state t2", "t[0]", "t2", "t2"),
        ("state a  state t[i in 0..1] : a", "t[1]", "a", "a"),
        ("state a : b  state b : a", "a", "b", "a, b"),
        ("state a : b  state b", "a", "b", "b"),
    ],
)
def test_a_state_and_a_label_of_one_name_are_seen_as_one(states, first, second, observed):
    """Both states show the same set of labels, so seeing either tells nothing."""
    assert epsilon(TWO_WAYS % (states, first, first, second, observed)) == "0"


@pytest.mark.parametrize(
    ("states", "first", "second", "observed"),
    [
        ("state t[i in 0..1]", "t[0]", "t[1]", "t"),
        ("state b : t  state t[i in 0..1]", "t[0]", "b", "t"),
        ("state t[i in 0..1] : a", "t[0]", "t[1]", "a, t[1]"),
        ('state t[i in 0..1]  state "t[0]"', "t[0]", '"t[0]"', 't[0], "t[0]"'),
        ('state "a, b"  state a : b', '"a, b"', "a", 'a, b, "a, b"'),
        ('state "a & b"  state a : b', '"a & b"', "a", 'a, b, "a & b"'),
    ],
)
def test_other_members_and_other_sets_of_labels_are_seen_as_others(states, first, second, observed):
    """They differ in what is observed, however they are written."""
    text = TWO_WAYS % (states, first, first, second, observed)
    assert epsilon(text) == "inf"
    assert _sums(text, "c") == {1}


def test_a_member_and_a_state_that_is_named_like_it_are_two_states():
    """Formulas pick one of them, `at` as well."""
    text = """chain c {
      state s[i in 0..1]
      state "s[1]"
      s[0] -> 1/4: s[1] + 3/4: "s[1]"
      s[1] -> 1: s[1]
      "s[1]" -> 1: s[0]
      init s[0]
    }
    check c: P=1/4 [ X s[1] ]
    check c: P=3/4 [ X "s[1]" ]
    check c at s[1] : P=1 [ X s[1] ]
    check c at "s[1]" : P=1 [ X s[0] ]
    """
    assert verdicts(check_text(text)) == ["holds"] * 4


def test_at_picks_the_state_and_not_the_label_of_its_name():
    """The label `a` holds at `b` too, where the claim does not."""
    text = """chain c { state a  state b : a  state t  a -> 1: t  b -> 1: b  init a, b }
    check c at a : P=1 [ X t ]
    refute c : P=1 [ a & X t ]
    """
    assert verdicts(check_text(text)) == ["holds", "violated"]


def _sums(text, target):
    """Return what the rows of all output distributions sum to."""
    rows = dpcheck.loads(text).target(target).output_distributions()
    return {sum(row.values(), Fraction(0)) for row in rows.values()}


@pytest.mark.parametrize(
    "body",
    [
        "y ~ bernoulli(1/2) if y { output diverged } else { while true { } }",
        'y ~ bernoulli(1/2) if y { output "a, b" } else { output a output b }',
        'y ~ bernoulli(1/2) if y { output "(no output)" }',
        'y ~ bernoulli(1/2) if y { output "(a, b)" } else { output (a, b) }',
        'y ~ bernoulli(1/2) if y { output "..." } else { output "true" output true }',
        'y ~ bernoulli(1/2) if y { output "1" } else { output 1 }',
        "var a[0..1] := 7 var b[1..2] := 7 y ~ bernoulli(1/2) if y { output a } else { output b }",
    ],
)
def test_no_two_sequences_of_outputs_are_written_alike(body):
    """Every row of the distributions and of the table sums to 1."""
    text = f"mechanism m {{ input x in {{0, 1}} adjacent all {body} }}"
    assert _sums(text, "m") == {1}
    table = dpcheck.loads(text).target("m").pmf("csv").splitlines()
    weights = [Fraction(line.rsplit(",", 1)[1]) for line in table if line.startswith("row,x = 0")]
    assert sum(weights) == 1


NAMES = st.text(alphabet="a1 ,&()[]'.\\", min_size=1, max_size=5) | st.sampled_from(
    ["diverged", "stopped", "(no output)", "...", "true", "R", "s[0]", "s[1]", "a & b"]
)


@given(names=st.lists(NAMES, min_size=2, max_size=4, unique=True), data=st.data())
def test_sequences_of_any_labels_stay_apart(names, data):
    """Random chains whose labels look like sequences, sets, members and ends of others."""
    quoted = [f'"{name}"' for name in names]
    labels = [data.draw(st.lists(st.sampled_from(quoted), unique=True, max_size=2)) for _ in names]
    places = [*quoted, "s[0]", "s[1]"]
    lines = ["state start", "state s[i in 0..1]"]
    for name, own in zip(quoted, labels, strict=True):
        lines.append(f"state {name}" + (f" : {', '.join(own)}" if own else ""))
    share = f"1/{len(places)}"
    lines.append("start -> " + " + ".join(f"{share}: {place}" for place in places))
    for k, place in enumerate(places[:-1]):
        if data.draw(st.booleans()):
            lines.append(f"{place} -> 1: {places[k + 1]}")
    lines += ["init start", f"observe s, {', '.join(quoted)}"]
    text = "chain c { " + "\n".join(lines) + " }"
    assert _sums(text, "c") == {1}
    lines = list(csv.reader(io.StringIO(dpcheck.loads(text).target("c").pmf("csv"))))
    assert sum(Fraction(line[3]) for line in lines if line[0] == "row") == 1
    assert len({line[2].strip() for line in lines}) == len(lines)


def test_a_table_of_confusable_sequences_is_the_same_when_it_is_read_again(tmp_path):
    """`pmf` of an imported `pmf` has the same rows."""
    text = """mechanism m {
      input x in {0, 1}
      adjacent all
      y ~ {0: 1/2, 1: if x = 0 then 1/8 else 3/8, 2: if x = 0 then 3/8 else 1/8}
      if y = 0 { output "a, b" } else if y = 1 { output a output b } else { output "it's" }
    }
    """
    first = dpcheck.loads(text).target("m")
    (tmp_path / "again.json").write_text(first.pmf("json"))
    again = dpcheck.load(tmp_path / "again.json").target("m")
    rows = [list(map(sorted, _values(target))) for target in (first, again)]
    assert rows[0] == rows[1]
    assert again.epsilon() == first.epsilon()


def _values(target):
    return [list(row.values()) for row in target.output_distributions().values()]
