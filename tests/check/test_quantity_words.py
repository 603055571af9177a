"""Every word of a quantity has a row, something that computes it, a usage, and a line of text."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from dpcheck.check.quantities.decide_quantity import CHANNEL_VALUES
from dpcheck.check.quantities.loss_values import COMPUTED, TABULATED
from dpcheck.logic.quantities import QUANTITIES, words_where

LANGUAGE = Path(__file__).parents[2] / "docs" / "language.md"


def test_every_quantity_of_losses_is_computed():
    tables = {row.word for row in QUANTITIES.values() if row.one_value}
    assert set(TABULATED) == tables
    of_one_value = {
        w for w in words_where(of="losses") if QUANTITIES[w].parameters or w not in tables
    }
    assert set(COMPUTED) == of_one_value


def test_every_quantity_of_a_channel_is_computed():
    assert set(CHANNEL_VALUES) == set(words_where(of="channel"))


def test_the_schema_names_every_table():
    schema = json.loads((files("dpcheck.report") / "schema" / "results-1.json").read_text("utf-8"))
    of_all_values = {"P", "E", "epsilon", "delta"}  # pieces between the values of a parameter
    of_bounds = {f"bounds of the {word}" for word in ("profile", "losses", "tradeoff")}
    named = schema["$defs"]["table"]["properties"]["name"]["enum"]
    assert set(named) == set(TABULATED) | of_all_values | of_bounds


@pytest.mark.parametrize("word", QUANTITIES)
def test_the_language_describes_it(word):
    text = LANGUAGE.read_text("utf-8")
    assert f"`{word}`" in text or f"`{word}(" in text


@pytest.mark.parametrize(
    ("word", "usage"),
    [
        ("dp", "`dp(epsilon)` or `dp(epsilon, delta)`"),
        ("epsilon", "`epsilon` or `epsilon(delta)`"),
        ("delta", "`delta(epsilon)`"),
        ("renyi", "`renyi(order)` or `renyi(order, digits)`"),
        ("total_variation", "`total_variation`"),
    ],
)
def test_the_usage_shows_each_number_of_arguments(word, usage):
    assert QUANTITIES[word].usage == usage
