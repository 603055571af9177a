"""Lines that fit: folded between words, places at the right margin, colors where they are asked."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.records import replace
from dpcheck.report.characters import width
from dpcheck.report.styled import Piece, PlainWriter, laid_out, line, plain, writer

WORDS = st.lists(
    st.sampled_from(["a", "bc", "≈", "1/3", "[1, 2]", "·", "x = 1,", "漢字"]), min_size=1
)


@given(WORDS, st.integers(20, 60), st.integers(0, 12))
def test_folding_keeps_every_word_and_fits(words, columns, hang):
    rows = [plain(row) for row in laid_out(line(" ".join(words), hang=hang), columns)]
    assert " ".join(rows).split() == " ".join(words).split()
    assert all(width(row) < columns for row in rows)


@given(WORDS, st.integers(40, 100))
def test_a_place_ends_at_the_margin_once(words, columns):
    styled = line("    ", " ".join(words), hang=8, place=Piece("model.dpm:12"))
    rows = [plain(row) for row in laid_out(styled, columns)]
    places = [row for row in rows if "model.dpm:12" in row]
    assert [width(row) for row in places] == [columns]
    assert places[0].endswith("model.dpm:12")


def test_numbers_and_lists_are_not_torn_apart():
    text = line("probability ", "1/81 ≈ 0.01234568 against q = [1, 0, 1, 0]: ratio 8", hang=12)
    rows = [plain(row) for row in laid_out(text, 40)]
    assert rows[0] == "probability 1/81 ≈ 0.01234568"
    assert all(re.search(r"\[[^\]]*$", row) is None for row in rows)


def test_a_line_without_hang_is_left_whole():
    assert [plain(row) for row in laid_out(line("a " * 80), 40)] == [("a " * 80).rstrip()]


@pytest.mark.parametrize(
    ("variables", "is_colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_force_color_colors_a_pipe_and_no_color_wins(variables, is_colored, monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    write = writer(stream)
    write([line(Piece("holds", "good"))])
    assert ("\x1b[" in stream.getvalue()) == is_colored
    assert isinstance(write, PlainWriter) != is_colored


@pytest.mark.parametrize("room", range(70, 95))
def test_a_place_stands_at_the_margin_wherever_the_first_row_is_folded(room):
    claim = line("    ", "x" * (room - 10), "  ", "violated and more words", hang=8)
    rows = [*laid_out(replace(claim, place=Piece("a.dpm:12")), 100)]
    assert len(plain(rows[0])) == 100
    assert plain(rows[0]).endswith("  a.dpm:12")
    assert all(len(plain(row)) <= 100 for row in rows)
