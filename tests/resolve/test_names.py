"""What names mean: symbols, constants, imports."""

import difflib

import pytest

from dpcheck.model.expressions import Const
from dpcheck.model.program import Output
from dpcheck.model.values import Symbol
from dpcheck.resolve.names.scopes import Session
from dpcheck.resolve.names.symbols import _Found
from tests.resolve.reading import codes, constants, mechanism, parsed, resolved, sound

INPUT = "input x in 0..1 adjacent all"
M = "mechanism m { input x in 0..1 adjacent all "


@pytest.mark.parametrize(
    "text",
    [
        "const s = {yes, no} const c = yes",
        "const c = yes mechanism m { input x in {yes, no} adjacent all output x }",
        f"const c = yes {M}y ~ {{yes: 1/2, no: 1/2}} output y }}",
        f"const c = yes {M}output yes }}",
        f"const c = yes {M}output (1, yes) }}",
        f"const c = yes {M}output if x = 1 then yes else no }}",
        f"const c = yes {M}var v in {{yes, no}} := yes output v }}",
        "const c = yes dist d(p) = {yes: p, no: 1 - p}",
        "const c = yes chain k { state s[i in {yes, no}] adjacent s[i] ~ s[j] }",
        'const c = "yes"',
    ],
)
def test_a_symbol_is_introduced_for_the_whole_file(text):
    assert sound(text).mistakes == ()
    if text.startswith("const c"):
        assert constants(text)["c"] == "yes"


@pytest.mark.parametrize(
    "text",
    [
        "const c = yes",
        f"{M}if x = yes {{ stop }} output x }}",
        f"{M}output x + yes }}",
        f"{M}output x }} check m: P>=0 [ F yes ]",
        f"{M}y := x in {{yes, no}} output y }}",
    ],
)
def test_anywhere_else_an_unknown_name_is_a_mistake(text):
    assert set(codes(text)) == {"DP301"}


def test_locals_inputs_parameters_and_constants_win_over_symbols():
    core = mechanism("y := 1 output y output k output n output x",
                     before="const n = 3 const k = 4 const all_of_them = {y, k, n}")  # fmt: skip
    shown = [n.value for n in core.nodes if isinstance(n, Output)]
    assert [v.value if isinstance(v, Const) else v.name for v in shown] == ["y", 4, 3, "x"]


def test_a_local_that_is_output_introduces_no_symbol():
    text = "mechanism m { input x in 0..1 adjacent all y := x output y } const c = y"
    assert codes(text) == ["DP301"]


def test_constants_stand_in_any_order_and_may_be_overridden():
    text = "const a = b + 1 const b = 2"
    assert constants(text) == {"a": "3", "b": "2"}
    assert constants(text, b="2 * 5") == {"a": "11", "b": "10"}


def test_an_override_sees_the_constants_of_the_main_file():
    assert constants("const a = 1 const b = 2", a="b * b") == {"a": "4", "b": "2"}


def test_an_override_that_needs_itself_is_a_cycle():
    assert [m.code for m in resolved("const a = 1", a="a + 1").mistakes] == ["DP309"]


def test_imported_names_come_in_and_keep_their_own_meaning():
    library = parsed(
        "const n = 2 const top = 5 fun twice(a) = n * a"
        " mechanism lib { input x in 0..1 adjacent all output (twice(x), top) }",
        "lib.dpm",
    )
    main = """import "lib.dpm" const k = 4
              mechanism m { input x in 0..1 adjacent all output twice(x) + k }"""
    model = sound(main + " check m: dp(1) check lib: dp(1)", (library,), n="3")
    assert {c.target_text for c in model.checks} == {"m", "lib"}


def test_symbols_of_imported_files_are_known_in_claims():
    library = parsed("mechanism lib { input x in 0..1 adjacent all output yes }", "lib.dpm")
    (check,) = sound('import "lib.dpm" check lib: P>=1 [ X yes ]', (library,)).checks
    assert list(check.atoms) == ["yes"]


def test_a_constant_of_the_importing_file_does_not_reach_into_the_imported_one():
    library = parsed("mechanism lib { input x in 0..1 adjacent all output top }", "lib.dpm")
    (check,) = sound('import "lib.dpm" const top = 3 check lib: dp(1)', (library,)).checks
    (shown,) = [n.value.value for n in check.target.nodes if isinstance(n, Output)]
    assert shown == Symbol("top")


def test_a_file_imported_on_two_ways_is_no_clash():
    base = parsed("const n = 2", "base.dpm")
    left = parsed('import "base.dpm" const l = n', "left.dpm")
    right = parsed('import "base.dpm" const r = n', "right.dpm")
    main = 'import "left.dpm" import "right.dpm" const all = l + r + n'
    assert codes(main, (base, left, right)) == []


def test_names_of_two_imports_may_clash():
    left, right = parsed("const n = 2", "left.dpm"), parsed("const n = 3", "right.dpm")
    assert codes('import "left.dpm" import "right.dpm"', (left, right)) == ["DP710"]


def test_names_in_a_claim_prefer_loops_then_inputs_then_parameters():
    text = """const n = 9 mechanism m(n = 2) { input x in 0..n adjacent all output x }
              for v in 3..3 { check m: P>=0 [ F (output = v & x <= n) ] }"""
    (check,) = sound(text).checks
    assert list(check.atoms) == ["output = 3", "x <= 2"]
    assert check.claim_text == "P>=0 [ F (output = 3 & x <= 2) ]"
    assert check.kept_inputs == ("x",)


@pytest.mark.parametrize("use", ["y := y + {}", "run {}(x = x)", "y ~ {}(x)"])
def test_thousands_of_unknown_names_beside_similar_ones_are_not_all_compared(use, monkeypatch):
    compared = []
    ratio = difflib.SequenceMatcher.real_quick_ratio
    monkeypatch.setattr(
        difflib.SequenceMatcher,
        "real_quick_ratio",
        lambda pair: compared.append(pair) or ratio(pair),
    )
    known = "\n".join(
        f"const one_name_among_so_many_{k}a = 1\n"
        f"mechanism one_run_among_so_many_{k}a {{ {INPUT} output x }}"
        for k in range(150)
    )
    used = " ".join(use.format(f"one_name_among_so_many_{k}b") for k in range(150))
    found = resolved(f"{known}\n{M}y := x {used} output y }}\ncheck m: dp(1)").mistakes
    assert len(found) >= 150
    assert 2 < sum(mistake.similar is not None for mistake in found) < 150
    assert len(compared) < 15_000  # of 22,500 and more


def test_what_is_known_is_listed_for_the_first_unknown_names_only():
    session = Session()
    while session.suggestion("name", ["x" * 100_000]) is None and session.pairs_of_letters > 0:
        pass
    assert session.suggestion("name", (pytest.fail(word) for word in ["listed"])) is None


def test_no_statement_copies_the_names_of_a_mechanism():
    """A union with nothing would: for n statements that is n^2."""

    class Names(frozenset):
        def __or__(self, _other):
            pytest.fail("it is copied")

    item = parsed(f"{M}y := x z := y output (z, yes) }}\ncheck m: dp(1)").items[0]
    found = _Found(frozenset(), frozenset())
    for statement in item.body:
        found.visit(statement, Names({"x", "y", "z"}), in_declaration=False)
    assert found.symbols == {"yes"}
