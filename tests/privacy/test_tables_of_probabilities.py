"""Tables of probabilities: written exactly, imported as mechanisms, bounded like all imports."""

from __future__ import annotations

import pytest

from dpcheck import mechanisms
from tests.checking import check_files, error_codes

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


@pytest.mark.parametrize(
    "text",
    [
        "row,a,Y,3/4\nrow,a,Y,1/4\npair,a,a\n",
        "row,a,Y,1\n",
        "row,a,Y,1\npair,a,b\n",
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


def test_a_table_outside_of_the_root_is_not_read():
    files = {"in/main.dpm": 'import "../table.csv"\n' + CLAIMS, "table.csv": CSV}
    assert "DP702" in error_codes(check_files(files, "in/main.dpm"))
