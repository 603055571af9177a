"""The door for Python: whatever is wrong with a question is a `ModelError` that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcheck import mechanisms
from dpcheck.cli import run
from dpcheck.front import ModelError, load, loads
from dpcheck.limits import LimitReached

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


def test_several_claims_where_one_is_asked_for_are_a_mistake():
    with pytest.raises(ModelError, match=r"DP017.*the text holds 2"):
        mechanisms.survey().check("dp(1) check survey: dp(2)")


def test_a_question_with_a_warning_is_answered():
    survey = mechanisms.survey()
    assert survey.check("epsilon > ln 3/2").is_ok
    assert not survey.check("dp(ln 3/2)").is_ok
    assert [each.is_ok for each in survey.model.ask("check survey: epsilon > ln 3/2")] == [True]


def test_a_broken_target_is_shown_as_it_was_written():
    with pytest.raises(ModelError) as caught:
        loads(MODEL).target("m(")
    assert "1 | m(\n" in str(caught.value)
    assert "check" not in str(caught.value)


@pytest.mark.parametrize("call", [["profile", "--target", "m("], ["pmf", "m("]])
def test_a_broken_target_of_a_command_is_shown_as_it_was_written(tmp_path, capsys, call):
    (tmp_path / "m.dpm").write_text(MODEL)
    assert run([call[0], str(tmp_path / "m.dpm"), *call[1:]]) == 2
    complaint = capsys.readouterr().err
    assert "1 | m(\n" in complaint
    assert "compute" not in complaint


def test_limits_are_given_beside_the_parameters_of_a_target():
    model = loads("mechanism m(n = 1) { input x in 0..n adjacent all output x output x output x }")
    limited = model.target("m", n=30, max_states=40)
    with pytest.raises(LimitReached, match="states"):
        limited.value("epsilon")
    assert limited.text == "m(n = 30)"
    assert model.target("m", n=30, timeout=60).value("epsilon").exact == "inf"
    with pytest.raises(LimitReached, match=r"s passed|time"):
        model.target("m", n=2000, timeout=1e-9).value("epsilon")


def test_a_parameter_named_as_a_limit_is_given_in_the_name():
    model = loads("mechanism m(timeout = 1) { input x in 0..timeout adjacent all output x }")
    assert model.target("m(timeout = 3)", timeout=60).chain().n_reported_states == 8


@pytest.mark.parametrize("claim", ["check m: dp(oops)", "check m: epsilon == 1"])
def test_a_model_with_a_mistake_in_a_claim_is_refused_as_one_with_any_other(claim):
    """Whoever asks a model for its claims never misses one."""
    with pytest.raises(ModelError, match=r"error\[DP"):
        loads(f"{MODEL}{claim}\n")


def test_values_of_params_are_advised_as_python_gives_them():
    """It was advised `-D eps=1`."""
    text = "mechanism m { input x in 0..1 adjacent all y ~ bernoulli(exp(-eps)) output y }"
    with pytest.raises(ModelError, match=r'`load\(path, eps="1"\)`'):
        loads(f"param eps > 0 {text}").target("m").chain()
    with pytest.raises(ModelError, match=r'`load\(path, eps="1", mu="1"\)`'):
        loads(f"param eps > 0 param mu > 0 {text}").target("m").check("dp(mu)")
