"""Alignments that do not keep paths are rejected by the code that did not find them."""

from __future__ import annotations

import pytest

from dpcheck.align.arena import arena
from dpcheck.align.bound import aligned
from dpcheck.align.neighbors import Unreadable, differences
from dpcheck.align.prices import keeps_paths
from dpcheck.align.ways import Ways
from dpcheck.certify.moved import OPEN
from dpcheck.limits import Limits
from dpcheck.records import replace
from tests.align.programs import NOISY_ARGMAX, RandomProgram
from tests.align.resolved import mechanism

LIMITS = Limits(max_states=100_000)

ABOVE_THRESHOLD = """
mechanism m {
  input q[1..] in integers
  public t in 0..1
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, 1/4) unbounded
  for i in 1.. {
    z ~ geometric(q[i], 1/2) unbounded
    if z >= noisy_t { output top stop }
    output bot
  }
}"""

ON_ARRAYS = """
mechanism m {
  input q[1..3] in integers
  public t in integers
  adjacent l1(q, q') <= 1
  var v[1..3] := 0
  for i in 1..3 { v[i] ~ geometric(q[i], 1/2) unbounded }
  w ~ geometric(t, 1/3) unbounded
  BODY
}"""


def found(text):
    target = mechanism(text)
    return aligned(arena(target, differences(target), LIMITS), LIMITS)


def on(alignment, text):
    """Return an alignment as one of another program with the same statements."""
    return replace(alignment, arena=replace(alignment.arena, mechanism=mechanism(text)))


BODIES = [
    ("if v[1] >= w { stop } output t", "if v[1] <= w { stop } output t"),
    ("output v[1] > w", "output v[1] = w"),
    ("output argmax(v)", "output argmin(v)"),
    ("output max(v) > w", "output min(v) > w"),
    ("output v[1] > w", "output v[1] - w"),
    ("output v[1] in 0..2", "output v[1] + v[2] in 0..2"),
    ("output v[1] >= 0", "output v[1] in 0..2"),
    (
        "y ~ geometric(0, 1/2) unbounded output q[1] + y > 0",
        "y ~ geometric_positive(1/2) unbounded output q[1] + y > 0",
    ),
    ("output w >= 0", "output w + v[1] >= 0"),
    ("output if v[1] > 0 then v[2] > 0 else true", "output if v[1] > 0 then true else v[2] > 0"),
    ("output count(i in 1..2 : v[i] > 0)", "output count(i in 1..2 : v[i] > w)"),
    ("output (v[1] > 0, t)[1]", "output (v[1] > 0, v[1])[2]"),
    ("n := v[1] + w output n > 0", "n := v[1] - w output n > 0"),
    ("a[1] := v[1] a[2] := v[2] output a[1] > 0", "a[1] := v[2] a[2] := v[1] output a[1] > 0"),
    ("y ~ geometric(q[1], 1/2) unbounded output y", "y ~ geometric(q[1], 1/9) unbounded output y"),
    ("y ~ geometric(q[1], 1/2) unbounded output y", "y ~ geometric(2, 1/2) unbounded output y"),
    ("b ~ uniform(0..1) output b + v[1] > 0", "b ~ uniform(0..2) output b + v[1] > 0"),
]


@pytest.mark.parametrize(("body", "other"), BODIES)
def test_an_alignment_of_one_program_is_none_of_another(body, other):
    start = "var a[1..2] := 0\n  " if "a[1]" in body else ""
    texts = [ON_ARRAYS.replace("BODY", start + each) for each in (body, other)]
    alignment = found(texts[0])
    assert keeps_paths(alignment)
    assert not keeps_paths(on(alignment, texts[1]))


def edited(alignment, state, k, option):
    """Return the alignment with another option in a place, or without one (None)."""
    answers = [list(each) for each in alignment.answers]
    answers[state][k : k + 1] = [] if option is None else [option]
    return replace(alignment, answers=answers)


def answers_of(alignment):
    reached = list(alignment.reached())
    return [(s, k, one) for s in reached for k, one in enumerate(alignment.answers[s])]


def test_no_answer_can_be_left_out():
    alignment = found(ABOVE_THRESHOLD)
    for state, k, _ in answers_of(alignment):
        assert not keeps_paths(edited(alignment, state, k, None))


def test_no_answer_is_needed_only_where_no_neighbors_are():
    """All of `l1` may be spent on q[1]; then q[2], which must differ, has no difference left."""
    text = ON_ARRAYS.replace("BODY", "output v[1] > w").replace("<= 1", "<= 1 & q'[2] - q[2] >= 1")
    alignment = found(text)
    assert keeps_paths(alignment)
    silent = [state for state in alignment.reached() if not alignment.answers[state]]
    assert len(silent) > 1  # the end, and what cannot be
    for state in {*alignment.reached()} - {*silent}:
        answers = [[] if i == state else each for i, each in enumerate(alignment.answers)]
        assert not keeps_paths(replace(alignment, answers=answers))


def no_answer_can_be_cheaper(alignment):
    """Assert that a certificate with any answer that costs less is refused."""
    paid = [one for one in answers_of(alignment) if one[2].cost]
    assert paid
    for state, k, option in paid:
        ((ratio, n),) = option.cost
        cheaper = option._replace(cost=((ratio, n - 1),))
        assert not keeps_paths(edited(alignment, state, k, cheaper))


def test_no_answer_can_be_cheaper():
    no_answer_can_be_cheaper(found(ABOVE_THRESHOLD))


@pytest.mark.parametrize("side", [-1, 1])
def test_no_shift_can_be_another(side):
    """All that is left of shifts is needed: one more on the side that a path narrowed breaks it."""
    alignment = found(ABOVE_THRESHOLD)
    n_edited = 0
    for state, k, option in answers_of(alignment):
        before = alignment.arena.states[state].draws
        for i, draw in enumerate(option.left[: len(before)]):
            low, high = draw.low - (side < 0), draw.high + (side > 0)
            if before[i].low <= low and high <= before[i].high:
                left = list(option.left)
                left[i] = draw._replace(low=low, high=high)
                wrong = option._replace(left=tuple(left))
                n_edited += 1
                assert not keeps_paths(edited(alignment, state, k, wrong)), (state, draw)
    assert n_edited


@pytest.mark.parametrize("what", ["draws", "left"])
def test_no_state_can_forget_what_was_chosen(what):
    """Neither how far noise may still be moved, nor by how much inputs may still differ."""
    alignment = found(ON_ARRAYS.replace("BODY", "output v[1] > w output w > v[2]"))
    n_edited = 0
    for _, _, option in answers_of(alignment):
        state = alignment.arena.states[option.target]
        draws = tuple(draw._replace(low=-OPEN, high=OPEN) for draw in state.draws)
        wider = {"draws": draws, "left": (1,)}[what]
        if wider != getattr(state, what):
            states = list(alignment.arena.states)
            states[option.target] = replace(state, **{what: wider})
            n_edited += 1
            edited_arena = replace(alignment.arena, states=states)
            assert not keeps_paths(replace(alignment, arena=edited_arena))
    assert n_edited


def test_values_of_a_round_are_not_those_of_the_next(monkeypatch):
    text = ABOVE_THRESHOLD.replace("{ output top stop }", "{ output top }")
    assert found(text).cost is None  # each round may differ by something else
    init = Ways.__init__

    def once_for_all(ways, *arguments):
        init(ways, *arguments)
        ways.streams = set()

    monkeypatch.setattr(Ways, "__init__", once_for_all)
    alignment = found(text)
    assert alignment.cost is not None
    assert not keeps_paths(alignment)


@pytest.mark.parametrize("public", ["0..1", "0..2 where t > 0", "0..1 where n in t..1"])
def test_every_start_is_needed(public):
    text = ABOVE_THRESHOLD.replace("public t in 0..1", f"public n in 0..1 public t in {public}")
    alignment = found(text if "n in" in public else text.replace("public n in 0..1", ""))
    assert len(alignment.arena.starts) == (3 if "n in" in public else 2)
    for start in alignment.arena.starts:
        others = [one for one in alignment.arena.starts if one != start]
        assert not keeps_paths(replace(alignment, arena=replace(alignment.arena, starts=others)))


@pytest.mark.parametrize("op", [">=", ">", "<=", "<", "=", "!="])
def test_a_wrong_law_of_a_comparison_is_found(op, monkeypatch):
    text = ON_ARRAYS.replace("BODY", f"if v[1] {op} w {{ stop }} output t")
    assert keeps_paths(found(text))
    right = {">=": 1, ">": 1, "<": -1, "<=": -1, "=": 0, "!=": 0}
    monkeypatch.setattr("dpcheck.align.moves.IF_TRUE", {**right, op: 1 if right[op] < 1 else -1})
    assert not keeps_paths(found(text))


@pytest.mark.parametrize("seed", range(40))
def test_alignments_of_random_programs_keep_paths(seed):
    target = mechanism(RandomProgram(seed).text)
    try:
        alignment = aligned(arena(target, differences(target), LIMITS), LIMITS)
    except Unreadable:
        return
    assert alignment.cost is None or keeps_paths(alignment)


def left_open(text=NOISY_ARGMAX):
    target = mechanism(text)
    cases = differences(target)
    return aligned(arena(target, cases, LIMITS, is_settled=False), LIMITS)


@pytest.mark.parametrize(
    ("of", "other"),
    [
        ("q[i]", "q[i] + q[1]"),
        ("q[i]", "-q[i] - q[2]"),
        ("q[i], 1/2", "q[i], 1/3"),
        ("q[i]", "if q[i] - q[i] > 0 then 0 else q[i]"),
        ("argmax(v)", "argmax(v[1], v[2], v[3] + q[3])"),
        ("output", "if q[1] > 0 { stop } output"),
    ],
)
def test_differences_that_are_open_are_so_where_noise_is_centered_at_them(of, other):
    assert keeps_paths(left_open())
    assert not keeps_paths(on(left_open(), NOISY_ARGMAX.replace(of, other)))


@pytest.mark.parametrize("what", [{"spread": 1}, {"spread": 0, "change": 1}, {"spread": 3}])
def test_noise_pays_for_all_differences_that_are_open(what):
    alignment = left_open()
    n_edited = 0
    for state, k, option in answers_of(alignment):
        for i, _ in enumerate(option.left):
            left = list(option.left)
            left[i] = left[i]._replace(**what)
            wrong = option._replace(left=tuple(left))
            n_edited += 1
            assert not keeps_paths(edited(alignment, state, k, wrong))
    assert n_edited


@pytest.mark.parametrize("answer", ["argmax(v)", "v[1] > 0", "v[2]"])
def test_no_answer_to_differences_that_are_open_can_be_cheaper(answer):
    no_answer_can_be_cheaper(left_open(NOISY_ARGMAX.replace("argmax(v)", answer)))
