"""What is advised where memory was short of inputs can be written, and is less."""

from __future__ import annotations

import re

import pytest

import dpcheck
from dpcheck.limits import Limit
from dpcheck.pipeline.questions import asked_of
from dpcheck.pipeline.stopped import after_limit
from dpcheck.report.answers import FileRead, Reading, Started

COUNTS = """mechanism m(k = 3, n = 100) {
  input q[1..k] in 0..n
  adjacent hamming(q, q') <= 1
  y ~ geometric(q[1], 1/2) clamped 0..3
  output y
}
check m: dp(ln 2)"""


def asked(text):
    (check,) = dpcheck.loads(text).claims
    return asked_of(check)


def test_all_that_makes_many_inputs_is_named():
    assert asked(COUNTS).less == (
        "take fewer inputs than 1,030,301: a smaller `k` or `n`, or fewer values in "
        "`input q[1..k] in 0..n`; `adjacent l1(q, q') <= 1` has fewer neighbors"
    )


def test_the_adjacency_that_is_advised_has_fewer_pairs():
    small = COUNTS.replace("100", "20").replace("k = 3", "k = 2")
    found = re.search(r"adjacent l1[^`]*", asked(COUNTS).less)
    fewer = small.replace("adjacent hamming(q, q') <= 1", found[0])
    pairs = [dpcheck.loads(text).answers()[0].outcome.neighbor_pairs for text in (small, fewer)]
    assert pairs == [8820, 840]


@pytest.mark.parametrize("text", ["linf(q, q') <= 1", "hamming(q, q') <= 2", "q != q'"])
def test_another_adjacency_is_not_advised_in_place_of_any(text):
    assert "adjacent" not in asked(COUNTS.replace("hamming(q, q') <= 1", text)).less


def test_few_inputs_and_inputs_without_bounds_are_not_to_blame():
    assert asked(COUNTS.replace("k = 3", "k = 1")).less == ""
    integers = "input q in integers adjacent abs(q - q') <= 1 y ~ geometric(q, 1/2) unbounded"
    assert asked(f"mechanism m {{ {integers} output y }} check m: dp(1)").less == ""


def test_a_number_of_inputs_that_nobody_reads_is_a_power_of_ten():
    assert "than 10^4008:" in asked(COUNTS.replace("k = 3", "k = 2000")).less


def test_memory_that_ends_the_work_from_outside_is_advised_on_as_well():
    claim = asked(COUNTS)
    told = [Reading(claim.file), FileRead(claim.file, (claim,), 1, 0, 1), Started(claim)]
    for kind, advice in [("memory", f"{claim.less}; or raise `--max-memory`"), ("time", "")]:
        answer = after_limit(told, Limit(kind, 5), 1.0)[0]
        assert answer.outcome.verdict.limit.advice == advice
