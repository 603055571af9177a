"""Tables of probabilities: written exactly, imported as mechanisms, bounded like all imports."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck import mechanisms
from tests.checking import called, check_files, error_codes

CSV = "row,pos,Y,3/4\nrow,pos,N,1/4\nrow,neg,Y,1/4\nrow,neg,N,3/4\npair,pos,neg\n"
JSON = (
    '{"rows": {"a": {"Y": 0.75, "N": 0.25}, "b": {"Y": "1/4", "N": "3/4"}}, "pairs": [["a", "b"]]}'
)
CLAIMS = "check table: epsilon = ln 3\ncheck table: delta(ln 2) = 1/4\n"


@pytest.mark.parametrize(("name", "text"), [("table.csv", CSV), ("table.json", JSON)])
def test_a_table_is_a_mechanism(name, text):
    report = check_files({"main.dpm": f'import "{name}"\n{CLAIMS}', name: text}, "main.dpm")
    assert report["ok"], report


def test_what_is_written_reads_back_as_the_same_mechanism():
    for target in (mechanisms.survey(), mechanisms.truncated_geometric(alpha="exp(-1/2)")):
        for form in ("json", "csv"):
            name = f"{target.name}.{form}"
            claim = f"check {target.name}: epsilon = {target.epsilon().exact}\n"
            claim += f"check {target.name}: delta(0) = {target.delta(0).exact}\n"
            files = {"main.dpm": f'import "{name}"\n{claim}', name: target.pmf(form)}
            report = check_files(files, "main.dpm")
            assert report["ok"], report


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("asked", ["survey(truth = 2/3)", "group(survey(truth = 2/3), 2)"])
def test_what_is_written_of_a_target_with_arguments_is_named_as_its_file(form, asked):
    target = dpcheck.loads("import std.survey").target(asked)
    main = f'import "half.{form}"\ncheck half: epsilon = ln 2\n'
    report = check_files({"main.dpm": main, f"half.{form}": target.pmf(form)}, "main.dpm")
    assert report["ok"], report


@pytest.mark.parametrize(
    "text",
    [
        "row,a,Y,3/4\nrow,a,Y,1/4\npair,a,a\n",
        "row,a,Y,1\npair,a,b\n",
        "row,a,Y,0\nrow,a,N,0\nnormalized\n",
        "row,a,Y,-1\nrow,a,N,2\nnormalized\n",
        "row,a,Y,exp(-1)\nrow,a,N,2\nnormalized\n",
        "row,a,a,1\nrow,b,a,1\npair,a,b\n",
        'row,a,Y,1): "Y" + (0\nrow,b,Y,1\npair,a,b\n',
        "nonsense\n",
        'row,"a""b",Y,1\nrow,b,Y,1\npair,b,b\n',
    ],
)
def test_a_table_that_is_none_is_the_users_mistake(text):
    report = check_files(
        {"main.dpm": 'import "table.csv"\n' + CLAIMS, "table.csv": text}, "main.dpm"
    )
    assert "DP706" in error_codes(report)


def test_a_row_that_does_not_sum_to_one_is_the_users_mistake():
    text = CSV.replace("row,pos,Y,3/4", "row,pos,Y,1/2")
    report = check_files(
        {"main.dpm": 'import "table.csv"\n' + CLAIMS, "table.csv": text}, "main.dpm"
    )
    assert error_codes(report)


ROWS = '{"mechanism": "t", "rows": {"a": {"Y": 1},\n "b": {"Y": 1}}, "pairs": [["a", "b"]]}'


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("t.csv", "row,a,Y,1\n\nrow,b,Y,3/4\nrow,b,N,3/8\npair,a,b\n", 3, "b sums to 9/8, not 1"),
        ("t.csv", "row,a,Y,1\nrow,b,Y,-1/4\nrow,b,N,1.25\npair,a,b\n", 2, "b has Y with -1/4"),
        ("t.csv", "row,a,Y,1\nrow,b,Y,one +\npair,a,b\n", 2, "which is no number"),
        ("t.csv", "row,a,Y,1\nrow,b,Y,1\npair,a,c\n", 3, "the pair with c"),
        ("t.csv", "row,a,Y,1\nrow,b,,1\npair,a,b\n", 2, "'' cannot be the name"),
        ("t.csv", "row,a,b,1\nrow,b,Y,1\npair,a,b\n", 2, "b is both"),
        ("t.csv", "row,a,Y,1\nrow,b,Y," + "1" * 200_000 + "\npair,a,b\n", 2, "not CSV"),
        ("t.json", ROWS.replace('"b": {"Y": 1}', '"a": {"N": 1}, "b": {"Y": 1}'), 2, "a twice"),
        ("t.json", ROWS.replace('{"Y": 1}}', '{"Y": 1,\n "Y": 1}}'), 3, "b has Y twice"),
        ("t.json", ROWS.replace("{", '{"pairs": [],', 1), 2, "the table has pairs twice"),
        ("t.json", ROWS.replace("{", '{"z": [{"q": 1, "q": 1}],', 1), 1, "z has q twice"),
        ("t.json", ROWS.replace('"b": {"Y": 1}', '"b": {}'), 2, "the row of b is empty"),
        ("t.json", ROWS.replace('"b": {"Y": 1}', '"b": {"Y": 0.9}'), 2, "b sums to 9/10, not 1"),
        ("t.json", ROWS.replace('"t"', '"while"'), 1, "'while' is no name"),
        ("t.json", '{"rows": {},\n "pairs": []}', 1, "no rows"),
        ("t.json", ROWS.replace("{", '{"normalized": 1,\n', 1), 1, '"normalized" is true or false'),
        ("t.json", ROWS.replace('"Y"', r'"\ud800"', 1), 1, "cannot be the name"),
        ("t.csv", 'row,"a",Y,"1\n"\nrow,"b\nc",Y,1\npair,a,b\n', 3, "cannot be the name"),
        ("t.csv", 'row,"a",Y,"1\n"\nrow,b,"Y\n', 3, "`row,input,output,probability`"),
        ("t.csv", "row,a,Y\u2028Z,1\n\nrow,b,Y,3/4\npair,a,b\n", 3, "b sums to 3/4, not 1"),
    ],
)
def test_a_mistake_in_a_table_stands_at_the_users_own_line(name, text, line, said):
    files = {"main.dpm": f'import "{name}"\ncheck t: epsilon = ln 3\n', name: text}
    report = check_files(files, "main.dpm")
    assert not report["results"], report
    (error,) = [each for each in report["errors"] if each["code"] == "DP706"]
    assert (error["line"], error["file"].endswith(name)) == (line, True)
    assert said in error["message"]


@pytest.mark.parametrize(
    ("name", "text", "place", "code"),
    [
        ("t.json", '{"rows":{"a":{"Y":"foo"}},"pairs":[]}', (1, 20, "foo"), "DP301"),
        (
            "t.json",
            '{"pairs":[],"c":[{"Y\\"":""}],"rows":{"a":\n{"Y":NaN}}}',
            (2, 6, "NaN"),
            "DP301",
        ),
        (
            "t.json",
            '{"rows":{"a":{"Y":1/0}},"pairs":[]}'.replace("1/0", '"1/0"'),
            (1, 20, "1/0"),
            "DP207",
        ),
        ("t.json", '{"rows":{"a":{"Y":"ln 2"}},"pairs":[]}', (1, 20, "ln 2"), "DP401"),
        ("t.json", '{"rows":{"a":{"Y":"2^(10^10)"}},"pairs":[]}', (1, 20, "2^(10^10)"), "DP208"),
        ("t.json", '{"rows":{"a":{"Y":1e999999999}},"pairs":[]}', (1, 19, "1e999999999"), "DP706"),
        ("t.csv", "row,a,Y,1/3\nrow,a,N,1/0\npair,a,a\n", (2, 9, "1/0"), "DP207"),
        ("t.csv", "row,a,Y,1/3\nrow,a,N, 1/3*1\npair,a,a\n", (1, 5, "a,Y,1/3"), "DP203"),
        ("t.csv", 'row,a,Y,1/3\nrow,a,"N","ln 2"\npair,a,a\n', (2, 12, "ln 2"), "DP401"),
    ],
)
def test_what_is_wrong_with_an_expression_in_a_table_is_shown_there(
    name, text, place, code, tmp_path
):
    """Out of a worker, too: there, and in the table, are lines of the text that the user has."""
    (tmp_path / "m.dpm").write_text(f'import "{name}"\ncheck t: epsilon = 0\n', "utf-8")
    (tmp_path / name).write_text(text, "utf-8")
    line, column, marked = place
    told = called("check", "m.dpm", cwd=tmp_path).stderr
    assert f" --> {name}:{line}:" in told
    assert f"{line} | {text.splitlines()[line - 1]}\n" in told
    report = check_files({"m.dpm": f'import "{name}"\ncheck t: epsilon = 0\n', name: text}, "m.dpm")
    (error,) = [each for each in report["errors"] if each["code"] == code]
    assert (error["line"], error["column"]) == (line, column)
    assert text.splitlines()[line - 1][column - 1 :].startswith(marked)


def test_lines_of_a_run_through_a_table_are_those_of_the_table(tmp_path):
    (tmp_path / "m.dpm").write_text('import "t.csv"\ncheck t: epsilon = 0\n', "utf-8")
    (tmp_path / "t.csv").write_text("row,a,Y,1/3\nrow,b,Y,1\nrow,a,N,2/3\npair,a,b\n", "utf-8")
    told = called("check", "m.dpm", cwd=tmp_path).stdout
    assert 'from "a", "b" · adjacent "a" ~ "b"' in told
    assert "                        1  N         2/3\n" in told


def test_counts_that_are_all_zero_have_no_distribution():
    files = {"m.dpm": 'import "t.csv"', "t.csv": "row,a,Y,0\nrow,a,N,0\nnormalized\npair,a,a\n"}
    (error, _) = check_files(files, "m.dpm")["errors"]
    assert "sums to 0: no output has a weight above 0" in error["message"]


def test_a_table_outside_of_the_root_is_not_read():
    files = {"in/main.dpm": 'import "../table.csv"\n' + CLAIMS, "table.csv": CSV}
    assert "DP702" in error_codes(check_files(files, "in/main.dpm"))


COUNTS = {
    "t.csv": "row,a,Y,750\nrow,a,N,250\nrow,b,Y,1\nrow,b,N,3.0E+00\npair,a,b\n",
    "t.json": '{"rows": {"a": {"Y": 750, "N": 250}, "b": {"Y": 1, "N": 3}}, "pairs": [["a", "b"]]}',
}
ROUNDED = {
    "t.csv": "row,a,Y,0.333\nrow,a,N,0.333\nrow,a,?,0.333\nrow,b,Y,1\npair,a,b\n",
    "t.json": '{"rows": {"a": {"Y": 0.333, "N": 0.333, "?": 0.333}, "b": {"Y": 1}}, "pairs": []}',
}


@pytest.mark.parametrize("name", ["t.csv", "t.json"])
@pytest.mark.parametrize(
    ("tables", "claim"),
    [(COUNTS, "epsilon = ln 3"), (ROUNDED, "P=? [ X Y ] = 1/3")],
)
def test_counts_and_rounded_numbers_are_divided_by_their_sum_where_the_table_says_so(
    tables, claim, name
):
    at = "" if "ln" in claim else " at a "
    main = f'import "{name}"\ncheck t{at}: {claim}\n'
    text = tables[name]
    (error, *_) = check_files({"main.dpm": main, name: text}, "main.dpm")["errors"]
    assert error["code"] == "DP706"
    said = "a line `normalized`" if name == "t.csv" else '`"normalized": true`'
    assert said in error["help"]
    text = (
        text + "normalized\n" if name == "t.csv" else text.replace("{", '{"normalized": true, ', 1)
    )
    report = check_files({"main.dpm": main, name: text}, "main.dpm")
    assert report["ok"], report


def test_what_is_written_of_a_mechanism_without_neighbors_reads_back():
    model = dpcheck.loads("mechanism t { input x in {pos} adjacent all output x output top }")
    for form in ("json", "csv"):
        main = f'import "t.{form}"\ncheck t: P=1 [ X "pos, top" ]\ncompute t: epsilon\n'
        report = check_files(
            {"main.dpm": main, f"t.{form}": model.target("t").pmf(form)}, "main.dpm"
        )
        assert [result["verdict"] for result in report["results"]] == ["holds", "value"], report
        assert report["results"][1]["vacuous"]


SHOWN = """
mechanism m() {
  input q[1..2] in 0..2
  adjacent l1(q, q') <= 1
  a ~ geometric(q[1], 1/2) unbounded
  b ~ geometric(q[2], RATIO) unbounded
  output SHOWN
}
"""


@pytest.mark.parametrize("shown", ["max(a, b, 2)", "if a > b then a else 5"])
def test_no_table_lumps_numbers_whose_value_tells_more(shown):
    """Beyond the window the ratios grow: read back, dp(ln(33/20)) would hold of the first."""
    target = dpcheck.loads(SHOWN.replace("RATIO", "1/2").replace("SHOWN", shown)).target("m")
    with pytest.raises(dpcheck.ModelError) as refused:
        target.pmf()
    assert [mistake.code for mistake in refused.value.mistakes] == ["DP646"]


@pytest.mark.parametrize("ratio", ["1/2", "1/3"])
def test_a_table_may_lump_numbers_that_nothing_hidden_was_compared_with(ratio):
    target = dpcheck.loads(SHOWN.replace("RATIO", ratio).replace("SHOWN", "(a, b)")).target("m")
    claim = f"check m: epsilon = {target.epsilon().exact}\ncheck m: delta(ln 2) = "
    files = {"main.dpm": f'import "m.json"\n{claim}{target.delta("ln 2").exact}\n'}
    assert check_files({**files, "m.json": target.pmf()}, "main.dpm")["ok"]
