"""Statements become the control-flow graph that the language describes."""

import pytest

from dpcheck.model.evaluation import evaluate
from dpcheck.model.expressions import Const, Var, reads
from dpcheck.model.program import (
    AdjacentWhere,
    Assign,
    Branch,
    Fail,
    Mechanism,
    Output,
    Sample,
    Stop,
)
from dpcheck.model.values import SetValue, Symbol
from tests.resolve.reading import codes_in, mechanism, resolved, sound


def outputs(core: Mechanism) -> list[object]:
    return [
        n.value.value for n in core.nodes if isinstance(n, Output) and isinstance(n.value, Const)
    ]


def run_without_noise(core: Mechanism, **inputs) -> list[object]:
    """Return what a mechanism without samples outputs, one node after the other."""
    environment, shown, place = dict(inputs), [], core.entry
    for _ in range(10_000):
        node = core.nodes[place]
        match node:
            case Assign():
                environment[node.target] = evaluate(node.value, environment)
                place = node.next
            case Branch():
                place = node.then if evaluate(node.condition, environment) else node.orelse
            case Output():
                shown.append(evaluate(node.value, environment))
                place = node.next
            case Stop():
                return shown
            case Fail():
                return [*shown, node.reason]
    raise AssertionError("runs too long")


def test_branches_that_go_on_alike_go_on_at_one_node():
    core = mechanism("if x = 1 { output a } else { output b } output c")
    after = {n.next for n in core.nodes if isinstance(n, Output) and n.value.value != Symbol("c")}
    assert len(after) == 1


def test_all_ends_are_one_node():
    core = mechanism("if x = 1 { output a; stop } if x = 2 { stop } output b")
    assert sum(isinstance(node, Stop) for node in core.nodes) == 1


def test_what_follows_a_sure_stop_is_gone():
    assert outputs(mechanism("output 1 stop output 2")) == [1]


def test_a_known_condition_leaves_one_branch():
    core = mechanism("if 1 < 2 { output 1 } else { output 2 }")
    assert outputs(core) == [1]
    assert not any(isinstance(node, Branch) for node in core.nodes)


def test_loops_over_known_sets_are_unrolled_and_nest():
    core = mechanism("for i in 1..3 { for j in i..3 { output (i, j) } }")
    assert outputs(core) == [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]


@pytest.mark.parametrize("x", range(4))
def test_loops_over_sets_that_a_run_decides_run_in_order(x):
    core = mechanism("for i in {j*j for j in 0..x} { output i } for i in 1..x { output i }")
    assert run_without_noise(core, x=x) == [j * j for j in range(x + 1)] + list(range(1, x + 1))


def test_a_loop_too_long_to_unroll_stays_a_loop():
    core = mechanism("s := 0 for i in 1..30000 { s := s + i } output s")
    assert len(core.nodes) < 20
    assert any(isinstance(node, Branch) and node.is_loop_head for node in core.nodes)


def test_a_loop_too_long_to_unroll_does_what_an_unrolled_one_does():
    long = mechanism(
        "s := 0 for i in 1..30000 { if i <= 40 { s := s + i } else { stop } output s }"
    )
    assert run_without_noise(long, x=0) == [i * (i + 1) // 2 for i in range(1, 41)]


@pytest.mark.parametrize("x", range(4))
@pytest.mark.parametrize("many", [3, 30000])
def test_break_leaves_the_innermost_loop(x, many):
    nested = mechanism(
        f"""for i in 1..{many} {{
              for j in 1..{many} {{ if j > x {{ break }} output (i, j) }}
              if i = 2 {{ break output never }}
              output i
            }}
            output done"""
    )
    inner = [[(i, j) for j in range(1, x + 1)] for i in (1, 2)]
    assert run_without_noise(nested, x=x) == [*inner[0], 1, *inner[1], Symbol("done")]


@pytest.mark.parametrize("head", ["while true", "repeat x + 2", "for i in 0..x", "repeat 5"])
def test_break_leaves_every_kind_of_loop(head):
    core = mechanism(f"n := 0 {head} {{ n := n + 1 if n = 1 {{ output n }} else {{ break }} }}"
                     " output (n, done)")  # fmt: skip
    assert run_without_noise(core, x=3) == [1, (2, Symbol("done"))]


def test_break_never_leaves_the_called_mechanism():
    before = INNER % "while true { y := y + 1 if y > 4 { break } } output y"
    core = mechanism("repeat 2 { run inner(z = x) w ~ inner(z = 0) output (w, x) }", before=before)
    assert run_without_noise(core, x=3) == [6, (5, 3)] * 2


def test_repeat_takes_known_and_decided_numbers():
    assert outputs(mechanism("repeat 3 { output 7 }")) == [7, 7, 7]
    assert run_without_noise(mechanism("repeat x { output 7 }"), x=2) == [7, 7]


def test_only_while_heads_and_hidden_loops_are_marked():
    core = mechanism("y := x while y > 0 { y := y - 1 if y = 1 { output y } }")
    assert [n.is_loop_head for n in core.nodes if isinstance(n, Branch)] == [True, False]


def test_known_indices_name_cells():
    core = mechanism(
        "var a[1..3] := 0 a[2] := x y ~ uniform(0..1) a[y + 1] ~ uniform(0..1) output a[2]"
    )
    assert {n.target for n in core.nodes if isinstance(n, Assign)} >= {"a[1]", "a[2]", "a[3]"}
    assert any(isinstance(n, Output) and n.value == Var("a[2]", n.value.span) for n in core.nodes)


def test_declared_ranges_hold_at_every_later_assignment():
    core = mechanism("var c in 0..9 := 0 c := x c ~ uniform(0..3) (c, d) := (1, 2) output c + d")
    within = [n.within for n in core.nodes if isinstance(n, Assign | Sample)]
    assert [w is not None and w.value == SetValue(range(10)) for w in within] == [True] * 4


INNER = "mechanism inner(k = 2) { input z in 0..9 adjacent all y := z + k %s }"


def test_stop_in_a_mechanism_that_is_run_ends_that_one_only():
    before = INNER % "output y if y > 3 { stop } output late"
    core = mechanism("run inner(z = x) output done", before=before)
    assert run_without_noise(core, x=0) == [2, Symbol("late"), Symbol("done")]
    assert run_without_noise(core, x=3) == [5, Symbol("done")]


def test_a_sampled_mechanism_gives_its_output_and_goes_on_silently():
    core = mechanism("y ~ inner(z = x) output (x, y)", before=INNER % "output y y := 0")
    assert run_without_noise(core, x=3) == [(3, 5)]
    assert not any(isinstance(node, Fail) for node in core.nodes)


@pytest.mark.parametrize(
    ("body", "x", "end"),
    [
        ("if y = 2 { output 1 }", 0, [1]),
        ("if y = 2 { output 1 }", 1, ["`inner` ended without an output, but it is sampled"]),
        ("output 1 if y = 3 { output 2 }", 0, [1]),
        ("output 1 if y = 3 { output 2 }", 1, ["`inner` outputs a second time, but it is sampled"]),
        ("while y < 4 { y := y + 1 if y = 4 { output y } }", 0, [4]),
        ("while true { y := y + 1 if y = 4 { output y break } }", 0, [4]),
        ("while true { output y if y = 2 { break } y := y - 1 }", 0, [2]),
        (
            "while true { output y if y = 2 { break } y := y - 1 }",
            1,
            ["`inner` outputs a second time, but it is sampled"],
        ),
        ("for i in 1..3 { if i = 2 { break } output y }", 1, [3]),
        (
            "for i in 1..3 { if i = z { break } output y }",
            1,
            ["`inner` ended without an output, but it is sampled"],
        ),
        ("for i in 1..3 { if i = z { break } output y }", 2, [4]),
        (
            "while y < 4 { y := y + 1 if y = 4 { output y } }",
            3,
            ["`inner` ended without an output, but it is sampled"],
        ),
    ],
)
def test_how_often_a_sampled_mechanism_outputs_is_checked_on_the_run(body, x, end):
    core = mechanism("r ~ inner(z = x) output r", before=INNER % body)
    assert run_without_noise(core, x=x) == end


def test_arguments_must_lie_in_the_declared_set():
    core = mechanism("run inner(z = x + 8)", before=INNER % "output y")
    (copy,) = [n for n in core.nodes if isinstance(n, Assign) and n.target == "inner.z"]
    assert copy.within.value == SetValue(range(10))


def test_a_called_mechanism_has_locals_of_its_own_in_every_call():
    core = mechanism(
        "y := 50 run inner(z = x) run inner(z = 1) output y", before=INNER % "output y"
    )
    assert run_without_noise(core, x=4) == [6, 3, 50]


def test_parameters_may_be_loop_variables_of_unrolled_loops():
    core = mechanism("for i in 1..3 { run inner(k = i, z = x) }", before=INNER % "output y")
    assert run_without_noise(core, x=4) == [5, 6, 7]


def test_arrays_are_passed_cell_by_cell():
    before = "mechanism inner { input b[0..1] in 0..9 where b[0] <= b[1] adjacent all output b[0] }"
    core = mechanism("var a[1..2] := x a[2] := 3 run inner(b = a)", before=before)
    assert run_without_noise(core, x=2) == [2]
    assert run_without_noise(core, x=9) == ["the arguments of `inner` do not satisfy its `where`"]


def test_functions_see_their_own_file_only_and_evaluate_arguments_once():
    before = "const c = 10 fun f(a, b) = if a > b then g(a) + c else b fun g(a) = a * a"
    core = mechanism("c1 := 1 output f(x + 1, 2)", before=before)
    assert [run_without_noise(core, x=x)[0] for x in range(4)] == [2, 2, 19, 26]
    assert all(name == "x" for n in core.nodes if isinstance(n, Output) for name in reads(n.value))


def test_the_neighbors_values_are_primed_variables():
    core = mechanism(
        "output sum(b)", "input b[1..2] in 0..1 public t in 0..1 adjacent hamming(b, b') <= t'"
    )
    (clause,) = core.adjacency
    assert isinstance(clause, AdjacentWhere)
    assert set(reads(clause.condition)) == {"b[1]", "b[2]", "b'[1]", "b'[2]", "t'"}


def test_equal_parameters_give_the_same_target():
    model = sound(
        "mechanism m(k = 2) { input x in 1..k adjacent all output x }"
        "check m: dp(1) check m(k = 2): dp(2) check m(k = 3): dp(1)"
        "for k in 2..3 { check m(k = k): dp(3) }"
    )
    targets = [check.target for check in model.checks]
    assert targets[0] is targets[1] is targets[3]
    assert targets[2] is targets[4] is not targets[0]
    assert [check.target_text for check in model.checks] == [
        "m", "m(k = 2)", "m(k = 3)", "m(k = 2)", "m(k = 3)"]  # fmt: skip


def test_a_default_may_use_constants_and_earlier_parameters():
    text = """const n = 4
              mechanism m(k = n, l = 2 * k) { input x in 1..l adjacent all output x }
              check m(k = 3): dp(1)"""
    model = sound(text, n="7")
    (check,) = model.checks
    assert check.target.inputs[0].domain == SetValue(range(1, 7))


@pytest.mark.parametrize(
    "body",
    [
        "if x = 1 { y := 1 } output y",
        "for i in 1..x { y := i } output y",
        "while x > 5 { y := 1 } output y",
        "output y y := 1",
        "if x = 1 { y := 1 } else if x = 2 { stop } output y",
        "for i in 1..2 { if i = 1 { output y } y := i }",
        "while true { if x = 1 { break } y := 1 } output y",
        "for i in 1..2 { if x = i { break } y := i } output y",
        "for i in 1..30000 { if x = i { break } y := i } output y",
        "repeat 1 { if x = 1 { break } y := 1 } output y",
        "repeat 2 { repeat 2 { if x = 1 { break } y := 1 } output y }",
        "for i in 1..x { y := i break } output y",
    ],
)
def test_reading_what_may_be_unassigned_is_a_mistake(body):
    assert codes_in(body) == ["DP310"]


@pytest.mark.parametrize(
    "body",
    [
        "if x = 1 { y := 1 } else { y := 2 } output y",
        "if x = 1 { y := 1 } else { stop } output y",
        "for i in 1..2 { y := i } output y",
        "for i in 1..30000 { y := i } output y",
        "while true { y := 1 stop } output 1",
        "for i in 1..3 { output if i = 1 then 0 else y y := i }",
        "for i in 1..3 { if i > 1 & y > 1 { output i } y := i }",
        "for i in 1..3 { if i > 1 { output y } y := i }",
        "repeat 2 { y := 1 } output y",
        "while true { y := 1 if x = 1 { break } } output y",
        "while true { if x = 1 { y := 1 break } } output y",
        "for i in 1..2 { y := i if x = i { break } } output y",
        "for i in 1..30000 { y := i if x = i { break } } output y",
        "for i in 1..30000 { y := i break } output y",
        "repeat 2 { y := 1 break output never } output y",
        "repeat 2 { if x = 1 { stop } else { break } z := y } output 1",
        "if 1 = 1 { y := 1 } output y",
    ],
)
def test_what_is_assigned_on_every_way_is_no_mistake(body):
    assert set(codes_in(body)) <= {"DP313"}  # y need not be read


def test_a_mistake_in_a_loop_is_reported_once():
    assert codes_in("for i in 1..9 { output z + i }") == ["DP301"]


def test_mistakes_of_unused_targets_functions_and_distributions_are_seen():
    text = """fun f(a) = b
              dist d(p) = {true: q, false: 1 - q}
              mechanism m { input x in 0..1 adjacent all output x + yy }"""
    assert [m.code for m in resolved(text).mistakes] == ["DP301"] * 4


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("s -> 3/4: t + 3/8: u", ["DP203"]),
        ("s -> 3/4: t + 3/8: uu", ["DP203", "DP311"]),
        ("s -> 3/2: t + -1/2: u", ["DP201", "DP201"]),
        ("s -> 1: t s -> 1/2: u", ["DP203", "DP511"]),
        ("for i in 1..2 { s -> 1/2: t + 1/4: u }", ["DP203"]),
        ("for i in 2..1 { s -> 1/2: t + 1/4: u }", []),
        ("if half = 0 { s -> half: t } else { s -> half: t + half: u }", []),
        ("s -> half: t + half: u", []),
        ("s -> i ~ uniform({1}) : t", []),
    ],
)
def test_rows_of_known_probabilities_are_checked_with_the_other_mistakes(rows, expected):
    text = "const half = 1/2 chain c { state s state t state u ROWS init s } check c: P=1 [ F t ]"
    found = resolved(text.replace("ROWS", rows)).mistakes
    assert sorted(mistake.code for mistake in found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mechanism m { input x in 0..1/0 adjacent x' = x + 1 output x }", ["DP207"]),
        ("mechanism m { input x in 1 adjacent abs(x - x') <= 1 output x }", ["DP401"]),
        (
            "mechanism m { input x in 0..1 adjacent all var a[1..2] a[1] := x output a[2] }",
            ["DP527"],
        ),
    ],
)
def test_a_mistake_has_no_echo(text, expected):
    assert [mistake.code for mistake in resolved(text).mistakes] == expected
