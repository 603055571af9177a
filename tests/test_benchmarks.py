"""The benchmark compares like with like: both texts of a job mean the same numbers."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.instances import Instance, Valuation
from benchmarks.job import TOOLS, write_models
from benchmarks.suite import SMALL, SUITE
from benchmarks.table import MARKS, Run, Series, Timing, replace_table, row
from tests.checking import check_text, verdicts

Table = dict[tuple[Valuation, int], Fraction]

SLIGHTLY_LESS = Fraction(10**6 - 1, 10**6)


def dpcheck_table(instance: Instance, starts: list[Valuation]) -> Table:
    """Return the exact probability of every query from every start."""
    target = instance.model.split()[1]
    asked = {
        (start, j): f"compute {target} at {instance.start_condition(start)} : P=? [ {query.path} ]"
        for start in starts
        for j, query in enumerate(instance.queries())
    }
    report = check_text(instance.model + "\n".join(asked.values()))
    values = [Fraction(result["value"]["exact"]) for result in report["results"]]
    return dict(zip(asked, values, strict=True))


def storm_table(instance: Instance, program_text: str, *, is_exact: bool = True) -> Table:
    """Return Storm's probability of every query from every start."""
    stormpy = pytest.importorskip("stormpy")
    from benchmarks import storm

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.prism")
        path.write_text(program_text)
        program = stormpy.parse_prism_program(str(path))
    model, properties = storm.built(program, instance, is_exact=is_exact)
    starts = storm.start_states(model, instance.variables)
    found = {}
    for j, query in enumerate(properties):
        result = stormpy.model_checking(model, query)
        for start, state in starts.items():
            found[start, j] = Fraction(str(result.get_value(state)))
    return found


def largest_ratio(table: Table, instance: Instance) -> Fraction:
    """Return the least E with p <= E q for all queries and neighbors; no probability may be 0."""
    columns = {j for _, j in table}
    return max(
        max(table[a, j] / table[b, j], table[b, j] / table[a, j])
        for a, b in instance.neighbors()
        for j in columns
    )


def answer(tool: str, instance: Instance) -> str:
    """Return what a tool of the benchmark answers to a job."""
    with tempfile.TemporaryDirectory() as folder:
        write_models(instance, Path(folder))
        return TOOLS[tool]().job(Path(folder), instance)


def test_every_family_has_a_small_job_to_compare() -> None:
    small = {make().family for make in SMALL.values()}
    missing = {
        name
        for name in SUITE
        if not any(name.startswith(f"{family}-") for family in small | {"exactdp-response"})
    }
    assert not missing
    assert all(name == make().name for name, make in SMALL.items())


@pytest.mark.peers
@pytest.mark.parametrize("name", SMALL)
def test_both_texts_of_a_job_have_the_same_probabilities(name: str) -> None:
    instance = SMALL[name]()
    expected = storm_table(instance, instance.prism)
    assert dpcheck_table(instance, sorted({start for start, _ in expected})) == expected
    assert {start for pair in instance.neighbors() for start in pair} <= {s for s, _ in expected}


@pytest.mark.peers
@pytest.mark.parametrize("name", [name for name, make in SMALL.items() if make().prism_floats])
def test_a_program_for_floats_has_nearly_the_same_probabilities(name: str) -> None:
    instance = SMALL[name]()
    assert instance.prism_floats is not None
    exact = storm_table(instance, instance.prism)
    floats = storm_table(instance, instance.prism_floats, is_exact=False)
    assert all(abs(floats[key] - value) < Fraction(1, 10**9) for key, value in exact.items())


@pytest.mark.peers
@pytest.mark.parametrize("name", SMALL)
def test_all_ways_agree_and_a_tight_bound_cannot_be_less(name: str) -> None:
    pytest.importorskip("stormpy")
    instance = SMALL[name]()
    ways = ["dpcheck", "storm-exact", "storm-exact-elimination", "storm-exact-eigen", "storm-sound"]
    if instance.is_all_ends:
        ways += ["storm-exact-forward", "storm-sound-forward"]
    answers = {way: answer(way, instance) for way in ways}
    assert len(set(answers.values())) == 1, answers
    if instance.is_value:
        return
    assert answers["dpcheck"] == "holds"
    least = largest_ratio(storm_table(instance, instance.prism), instance)
    assert least == instance.bound if instance.is_tight else least < instance.bound
    tighter = replace(instance, bound=least * SLIGHTLY_LESS)
    if instance.bound > 1:
        exact_ways = [way for way in ways if "sound" not in way]
        assert {answer(way, tighter) for way in exact_ways} == {"violated"}


def test_the_smallest_jobs_hold_without_other_tools() -> None:
    for make in SMALL.values():
        instance = make()
        assert set(verdicts(check_text(instance.dpm))) <= {"holds", "value"}, instance.name


def test_a_table_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    replace_table(file, "new")
    assert file.read_text() == f"before\n{MARKS[0]}\nnew\n{MARKS[1]}\nafter\n"


def test_a_row_says_what_did_not_finish_and_never_extrapolates() -> None:
    ours = Series("dpcheck", [Run(0.5, 0.5, 60, "holds")] * 5)
    stopped = Series("storm-exact", problem="time", is_built=True)
    building = Series("storm-sound", problem="time")
    wrong = Series("storm-sound-forward", [Run(1.0, 1.0, 90, "violated")])
    found = {
        "dpcheck": ours,
        "storm-exact": stopped,
        "storm-sound": building,
        "storm-sound-forward": wrong,
    }
    text = row(Timing("job", "family", found), 300)
    assert "| 0.5 | 60 | did not finish in 300 s | - |" in text
    assert "| did not finish in 300 s, building | - |" in text
    assert "| 1 (1), says violated | 2 [2 .. 2] |" in text


def test_a_kept_timing_is_read_back_as_it_was() -> None:
    series = Series("storm-sound", [Run(1.0, 0.9, 90, "holds")], whole=[2.0], is_built=True)
    timing = Timing("job", "family", {"storm-sound": series})
    assert Timing.from_record(json.loads(json.dumps(asdict(timing)))) == timing
