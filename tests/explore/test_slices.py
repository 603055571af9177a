"""Inputs explored slice by slice, in any order: every answer is that of one exploration."""

from __future__ import annotations

import contextlib
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcheck.explore.runs import raw_graph, visible
from dpcheck.explore.runs.explorer import explored_runs
from tests.chains import built_chain, chain_rows
from tests.checking import check_text
from tests.oracle.programs import programs, programs_with_formulas

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ["", "analysts", "bugs", "building_blocks", "histograms", "selection"]
MODELS = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / "models" / folder).glob("*.dpm"))
    if path.stem not in ("utility_growth", "above_threshold")  # which take long in slices
]
NOT_ANSWERS = {"file", "seconds", "version"}


@contextlib.contextmanager
def sliced(size, seed=0, most_shared=1e9):
    """Explore about so many inputs at a time, in an order of the seed; tell how many slices."""
    find, made = visible.input_slices, []

    def shuffled(*arguments):
        slices, names = find(*arguments)
        Random(seed).shuffle(slices)
        return slices, names

    def counted(*arguments):
        made.append(arguments)
        return explored_runs(*arguments)

    with (
        patch.object(visible, "SLICE", size),
        patch.object(visible, "MANY_INPUTS", 2),
        patch.object(raw_graph, "MAX_SHARED", most_shared),
        patch.object(visible, "input_slices", shuffled),
        patch.object(visible, "explored_runs", counted),
    ):
        yield made


def answers(report):
    """Return a report without times and places."""
    match report:
        case dict():
            return {k: answers(value) for k, value in report.items() if k not in NOT_ANSWERS}
        case list():
            return list(map(answers, report))
        case _:
            return report


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_reports_on_models_are_those_of_one_exploration(path):
    text = path.read_text(encoding="utf-8")
    with sliced(8, seed=7):
        report = check_text(text)
    assert answers(report) == answers(check_text(text))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 4), st.integers(0, 9))
def test_reports_on_programs_are_those_of_one_exploration(text, size, seed):
    text += "check m: dp(ln 2) compute m: delta(0) compute m: epsilon compute m: mutual_information"
    with sliced(size, seed):
        report = check_text(text)
    assert answers(report) == answers(check_text(text))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs_with_formulas(), st.integers(0, 9))
def test_formulas_have_the_probabilities_of_one_exploration(drawn, seed):
    text, formula = drawn
    text += f"\ncheck m: P>=1/2 [ {formula} ] check m: P<=1/3 [ {formula} ]"
    with sliced(1, seed):
        report = check_text(text)
    assert answers(report) == answers(check_text(text))


def test_equally_likely_runs_are_shown_in_one_order():
    text = """mechanism m {
      input y in {false, true}
      adjacent all
      v ~ {2: 1/2, 4: 1/2}
      if y {
        if forall(b in 0..2 : b != v) { }
        output 1
      }
      output (v, v)
    }
    check m: P>=1/2 [ X (output = 1) ]"""
    expected = answers(check_text(text))
    for seed in range(3):
        with sliced(1, seed):
            assert answers(check_text(text)) == expected


COUNTS = """mechanism m {
  input a in 0..9
  input b in 0..9
  adjacent l1((a, b), (a', b')) <= 1
  x ~ geometric(a, 1/2) clamped 0..9
  y ~ geometric(b, 1/2) clamped 0..9
  output x > y
}
"""


def test_slices_are_a_partition_by_what_is_remembered_longest():
    seen = []
    find = visible.input_slices

    def noted(flow, inputs, n_inputs):
        seen.append((*find(flow, inputs, n_inputs), inputs))
        return seen[0][:2]

    with sliced(40), patch.object(visible, "input_slices", noted):
        chain = built_chain(COUNTS, "m")
    ((slices, names, inputs),) = seen
    assert names == {"b"}
    assert np.array_equal(np.sort(np.concatenate(slices)), chain.initial)
    assert [len(set(inputs["b"][some])) for some in slices] == [4, 4, 2]
    assert all((np.diff(some) > 0).all() for some in slices)


def test_targets_increase_though_slices_meet_states_in_other_orders():
    text = """mechanism m {
      input x in 0..3
      adjacent all
      y ~ {x: 1/3, 3 - x: 2/3}
      output y
      z ~ {x: 1/2, y: 1/2}
      output z
    }"""
    with sliced(1):
        chain = built_chain(text, "m")
    rows = np.split(chain.targets, chain.indptr[1:-1])
    assert all((np.diff(row) > 0).all() for row in rows)
    assert chain_rows(chain, 2) == chain_rows(built_chain(text, "m"), 2)


def test_inputs_that_the_first_draw_forgets_are_explored_at_once():
    text = """mechanism m {
      input x[1..4] in 0..2
      adjacent all
      y ~ geometric(sum(x), 1/2) clamped 0..8
      z ~ {y: 1/2, 0: 1/2}
      output z
    }"""
    with sliced(1) as made:
        built_chain(text, "m")
    assert len(made) == 1


def test_inputs_that_soon_meet_in_many_states_are_explored_at_once():
    text = COUNTS.replace("x ~ geometric(a, 1/2)", "x ~ geometric(a + b, 1/2)")
    text = text.replace("y ~ geometric(b, 1/2)", "y ~ uniform(0..x) z ~ uniform(0..y) w := z y")
    text = text.replace("clamped 0..9\n  output", "\n  output").replace(
        "w := z y", "y := y + z + b"
    )
    with sliced(10, most_shared=1) as made:
        shared = check_text(text + "compute m: epsilon")
    assert len(made[-1][0].inputs["a"]) == 100
    with sliced(10) as parted:
        assert answers(check_text(text + "compute m: epsilon")) == answers(shared)
    assert len(parted) == 10


@pytest.mark.parametrize("size", [40, 1000])
def test_the_limit_on_states_is_for_all_slices_together(size):
    text = COUNTS + "compute m: epsilon"
    with sliced(size):
        few, enough = (check_text(text, "--max-states", n) for n in ("210", "310"))
    assert few["results"][0]["verdict"] == "undecided"
    assert enough["results"][0]["verdict"] == "value"


def test_a_mistake_of_one_slice_is_told():
    text = COUNTS.replace("x > y", "x > y / (9 - b)") + "compute m: epsilon"
    with sliced(5):
        parted = check_text(text)
    assert [e["code"] for e in parted["errors"]] == [e["code"] for e in check_text(text)["errors"]]
    assert parted["errors"]
