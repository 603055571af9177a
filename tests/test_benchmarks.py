"""The benchmark compares like with like: both texts of a job mean the same numbers."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks import dipc, ways
from benchmarks.instances import Instance, Valuation
from benchmarks.job import TOOLS, write_models
from benchmarks.suite import SMALL, SUITE
from benchmarks.table import MARKS, Run, Series, Timing, replace_table, row
from benchmarks.ways import Ways
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
    tried = [
        "dpcheck",
        "storm-exact",
        "storm-exact-elimination",
        "storm-exact-eigen",
        "storm-sound",
    ]
    if instance.is_all_ends:
        tried += ["storm-exact-forward", "storm-sound-forward"]
    answers = {way: answer(way, instance) for way in tried}
    assert len(set(answers.values())) == 1, answers
    if instance.is_value:
        return
    assert answers["dpcheck"] == "holds"
    least = largest_ratio(storm_table(instance, instance.prism), instance)
    assert least == instance.bound if instance.is_tight else least < instance.bound
    tighter = replace(instance, bound=least * SLIGHTLY_LESS)
    if instance.bound > 1:
        exact_ways = [way for way in tried if "sound" not in way]
        assert {answer(way, tighter) for way in exact_ways} == {"violated"}


def test_the_smallest_jobs_hold_without_other_tools() -> None:
    for make in SMALL.values():
        instance = make()
        assert set(verdicts(check_text(instance.dpm))) <= {"holds", "value"}, instance.name


def test_the_rows_beside_dipc_are_the_claims_of_its_model() -> None:
    report = check_text(dipc.MODEL.read_text("utf-8"))
    assert all(result["ok"] for result in report["results"])
    page = dipc.MODEL.with_name("README.md").read_text("utf-8")
    table = page.partition(dipc.HEAD)[2].partition("\n\n")[0]
    rows = [line.split(" | ") for line in table.splitlines()]
    made = [dipc.row(result, 0).split(" | ") for result in report["results"]]
    seconds = 7
    assert [row[:seconds] + row[seconds + 1 :] for row in rows] == [
        [*row[:seconds], *row[seconds + 1 : -1], row[-1].removesuffix("\n")] for row in made
    ]


def test_a_table_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    replace_table(file, "new")
    assert file.read_text() == f"before\n{MARKS[0]}\nnew\n{MARKS[1]}\nafter\n"


def test_a_row_says_what_did_not_finish_and_never_extrapolates() -> None:
    ours = Series("dpcheck", [Run(0.5, 0.5, 60, "holds")] * 5)
    stopped = Series("storm-exact", problem="time", is_built=True)
    building = Series("storm-sound", problem="time")
    found = {"dpcheck": ours, "storm-exact": stopped, "storm-sound": building}
    text = row(Timing("job", "family", found), 300)
    assert "| 0.5 | 60 | did not finish in 300 s | - |" in text
    assert "| did not finish in 300 s, building | - |" in text


def test_a_row_names_the_way_and_another_answer() -> None:
    ours = Series("dpcheck", [Run(0.5, 0.5, 60, "holds")] * 5)
    wrong = Series("storm-exact-forward", [Run(1.0, 1.0, 90, "violated")])
    text = row(Timing("job", "family", {"dpcheck": ours, "storm-exact": wrong}), 300)
    assert "| 1 forward (1), says violated | 2 [2 .. 2] |" in text


class Clock:
    """Stands for runs of jobs: what each way takes, in seconds, of which the cap allows some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float | str]) -> None:
        self.seconds = seconds
        self.asked: list[tuple[str, float]] = []
        monkeypatch.setattr(ways, "add_run", self.add_run)

    def add_run(self, series: Series, name: str, folder: Path, limit: float) -> None:
        self.asked.append((series.way, limit))
        taken = self.seconds.get(series.way, 1e9)
        series.is_built = taken != "building"
        if isinstance(taken, str):
            series.problem = "time" if taken == "building" else taken
        elif taken > limit:
            series.problem = "time"
        else:
            series.runs.append(Run(taken, taken, 60, "holds"))


def test_ways_are_given_little_more_than_the_best_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, {"storm-exact-acyclic": 9.0, "storm-exact-forward": 4.0})
    fastest = Ways(300, {}, None).fastest("storm-exact", SMALL["geometric-4"](), tmp_path)
    assert fastest.way == "storm-exact-forward"
    assert clock.asked == [
        *(("storm-exact-acyclic", 300), ("storm-exact", 11.0), ("storm-exact-forward", 11.0)),
    ]


def test_where_the_favorite_does_not_finish_no_other_way_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, {"storm-exact-acyclic": "failed", "storm-exact-eigen": 9.0})
    instance = SMALL["ruin-1-2-10"]()
    tried = Ways(300, {}, None)
    assert tried.fastest("storm-exact", instance, tmp_path).way == "storm-exact-eigen"
    clock.seconds, clock.asked = {}, []
    assert not tried.fastest("storm-exact", instance, tmp_path).runs
    assert not tried.fastest("storm-exact", instance, tmp_path).runs
    assert [way for way, _ in clock.asked] == ["storm-exact-eigen", "storm-exact"]


def test_a_model_that_cannot_be_built_is_built_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, {"storm-exact-acyclic": "building"})
    Ways(300, {}, None).fastest("storm-exact", SMALL["geometric-4"](), tmp_path)
    assert len(clock.asked) == 1


def test_what_did_not_finish_is_noted_and_not_repeated_under_the_same_cap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, instance = tmp_path / "unfinished.json", SMALL["geometric-4"]()
    clock = Clock(monkeypatch, {"storm-exact-forward": 250.0})
    Ways(300, {}, file).fastest("storm-exact", instance, tmp_path)
    clock.asked = []
    again = Ways(300, {}, file).fastest("storm-exact", instance, tmp_path)
    assert clock.asked == [("storm-exact-forward", 300)]
    assert again.way == "storm-exact-forward"
    clock.asked = []
    Ways(400, {}, file).fastest("storm-exact", instance, tmp_path)
    assert len(clock.asked) == 3


def test_a_kept_timing_is_read_back_as_it_was() -> None:
    series = Series("storm-sound", [Run(1.0, 0.9, 90, "holds")], whole=[2.0], is_built=True)
    timing = Timing("job", "family", {"storm-sound": series})
    assert Timing.from_record(json.loads(json.dumps(asdict(timing)))) == timing
