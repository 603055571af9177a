"""Every example of docs/python.md runs, in the order of the page."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dpcheck
from dpcheck.front import Drawing

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"(<!-- needs: (\w+) -->\n)?```python\n(.*?)^```$",
    (ROOT / "docs" / "python.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_the_examples_of_the_page_run():
    names = {}
    plain = [text for _, needs, text in BLOCKS if not needs]
    assert len(plain) == 6
    exec(compile("\n".join(plain), "docs/python.md", "exec"), names)


@pytest.mark.peers
@pytest.mark.parametrize(("needs", "text"), [(n, text) for _, n, text in BLOCKS if n])
def test_the_examples_with_other_packages_run(needs, text):
    if find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    exec(compile(text, "docs/python.md", "exec"), {})


def test_a_profile_is_drawn_with_and_without_matplotlib(monkeypatch):
    survey = dpcheck.mechanisms.survey()
    if find_spec("matplotlib") is not None:
        (line,) = survey.plot_profile().get_lines()
        x, y = line.get_data()
        assert np.allclose(y, np.maximum(0, 0.75 - np.exp(x) * 0.25))
    monkeypatch.setattr("dpcheck.front.find_spec", lambda name: None)
    drawn = survey.plot_profile()
    assert isinstance(drawn, Drawing)
    assert drawn._repr_svg_().startswith("<svg ")


def test_losses_have_both_ends_where_outputs_are_impossible():
    table = {"x": {"a": "1/2", "b": "1/2"}, "y": {"b": "3/4", "c": "1/4"}}
    chain = dpcheck.from_transitions(table, [("x", "y")], observe=["a", "b", "c"])
    losses = chain.losses()
    assert losses[0].tolist() == [np.inf, 0.5, 0.0]
    assert losses[-1].tolist() == [-np.inf, 0.0, 0.25]
    assert losses[:, 1:].sum(axis=0).tolist() == [1.0, 1.0]


def test_a_chain_from_python_has_any_names_and_exact_weights():
    table = {"s 1": {"X": 1}, "U": {"X": "1/3", "f(x)": "2/3"}}
    chain = dpcheck.from_transitions(
        table, [("s 1", "U")], labels={"X": ["yes"]}, observe=["yes"], initial=["s 1", "U"]
    )
    assert chain.epsilon() == "inf"
    assert chain.value("P=? [ F yes ]", at='"U"') == "1/3"
    with pytest.raises(dpcheck.ModelError, match="sum"):
        dpcheck.from_transitions({"s": {"t": "1/2"}}, []).chain()
    with pytest.raises(ValueError, match="no name"):
        dpcheck.from_transitions({'a"b': {}}, [])
