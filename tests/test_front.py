"""The door for Python: whatever is wrong with a question is a `ModelError` that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcheck.front import ModelError, load

MODEL = """\
mechanism m { input x in 0..1 adjacent all y ~ geometric(x, 1/2) clamped 0..1 output y }
check m: dp(ln 2)
"""


def test_a_directory_of_several_models_is_not_loaded(tmp_path):
    for name in ("a.dpm", "b.dpm"):
        (tmp_path / name).write_text(MODEL)
    with pytest.raises(ModelError, match=r"DP015.*one file is needed.*has 2 models"):
        load(tmp_path)
    (tmp_path / "b.dpm").unlink()
    assert load(tmp_path).targets == ("m",)


@pytest.mark.parametrize("name", ["", Path("no_such.dpm")])
def test_what_names_no_file_is_not_loaded(name):
    with pytest.raises(ModelError, match=r"error\[DP0"):
        load(name)
