"""What **tight** says of all values of a parameter holds when it is pasted into the file."""

from __future__ import annotations

import re

import pytest

from tests.checking import check_text

MODEL = """
param p in %s
mechanism m {
  input x in 0..1
  adjacent all
  y ~ {1: if x = 0 then 1 - p - p^2 else p, 2: if x = 0 then p + p^2 else 1 - p}
  output y
}
"""
PIECE = re.compile(r"([^,;]*?) for p in ([\[({][^\])}]*[\])}])")
NARROWER = re.compile(r"with param p in ([\[(][^\])]*[\])]): ([^;]*)")


def tight(interval, claim):
    (result,) = check_text(f"{MODEL % interval}check m{claim}")["results"]
    return result["explanation"]["tight"]["text"]


def pasted(interval, text):
    """Yield the models that the text advises, with a claim of each."""
    for values, claim in NARROWER.findall(text):
        yield f"{MODEL % values}check m: {claim}"
    name = re.match(r"(epsilon\S*) = ", text)
    if name is not None:
        told = text.removeprefix(name[0]).split(";")[0]
        for value, part in PIECE.findall(told):
            values = f"[{part[1:-1]}, {part[1:-1]}]" if part[0] == "{" else part
            claim = f"{name[1]} = {value.strip()}"
            yield f"{MODEL % interval}check m for p in {values}: {claim}"


@pytest.mark.parametrize("claim", [": dp(ln 3)", ": dp(ln 2, 1/10)"])
@pytest.mark.parametrize("interval", ["[0, 1/4]", "(0, 1/4]", "(0, 1/3]"])
def test_the_least_epsilon_is_one_that_a_claim_may_name(interval, claim):
    models = [*pasted(interval, tight(interval, claim))]
    assert models
    for model in models:
        report = check_text(model)
        assert "errors" not in report, model
        assert [result["verdict"] for result in report["results"]] == ["holds"], model


def test_of_a_part_the_ends_of_the_whole_interval_count():
    text = tight("[0, 1/4]", " for p in (0, 1/4]: dp(ln 3)")
    assert text.startswith("with param p in (0, 1/4]: epsilon = ln((1 - p - p^2)/p); ")
