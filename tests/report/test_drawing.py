"""Mistakes drawn in the user's lines: marks under the right columns, words that never collide."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dpcheck.diagnostics.claims import BadStepBound
from dpcheck.diagnostics.mistakes import Label, Mistake
from dpcheck.report.characters import width
from dpcheck.report.drawing import WIDTH, draw_mistake
from dpcheck.report.styled import plain
from dpcheck.source import SourceText, Span


class Sample(Mistake, code="DP999"):
    places: tuple[Label, ...] = ()
    remark: tuple[str, ...] = ()
    edit: str | None = None

    explanation = "only in tests"

    title = property(lambda self: "something is wrong")
    labels = property(lambda self: self.places)
    notes = property(lambda self: self.remark)
    help = property(lambda self: self.edit)


def drawn(text: str, *places: tuple[str, str], remark=(), edit=None) -> str:
    source = SourceText("a.dpm", text)
    labels = []
    for part, words in places:
        start = text.index(part)
        labels.append(Label(Span(source, start, start + len(part)), words))
    mistake = Sample(None, tuple(labels), tuple(remark), edit)
    return "\n".join(plain(line) for line in draw_mistake(mistake))


def test_two_places_of_one_line_stand_beside_each_other():
    text = "chain c {\n  state s\n  state t\n  pos -> 3/4: s + 3/8: t\n}\n"
    assert drawn(text, ("3/4", "3/4"), ("3/8", "3/8"), edit="write less") == (
        "error[DP999]: something is wrong\n"
        " --> a.dpm:4:10\n"
        "  |\n"
        "4 |   pos -> 3/4: s + 3/8: t\n"
        "  |          ^^^ 3/4  ^^^ 3/8\n"
        "  = help: write less"
    )


def test_words_that_do_not_fit_hang_below_their_mark():
    assert drawn("a + b", ("a", "far too long to fit"), ("b", "short")) == (
        "error[DP999]: something is wrong\n"
        " --> a.dpm:1:1\n"
        "  |\n"
        "1 | a + b\n"
        "  | ^   ^ short\n"
        "  | |\n"
        "  | far too long to fit"
    )


def test_a_place_of_many_lines_gets_a_bracket():
    text = "while x {\n  a\n  b\n  c\n  d\n  e\n}"
    assert drawn(text, (text, "this loop")) == (
        "error[DP999]: something is wrong\n"
        " --> a.dpm:1:1\n"
        "  |\n"
        "1 | / while x {\n"
        "2 | |   a\n"
        "...\n"
        "6 | |   e\n"
        "7 | | }\n"
        "  | |_^ this loop"
    )


def test_tabs_and_wide_characters_keep_marks_in_place():
    lines = drawn("\t漢字 x", ("x", "here")).splitlines()
    assert lines[3] == "1 |     漢字 x"
    assert lines[4] == "  |          ^ here"
    assert width(lines[3][: lines[3].index("x")]) == width(lines[4][: lines[4].index("^")])


def test_a_long_line_is_clipped_around_its_mark():
    lines = drawn("x" * 500 + "BAD" + "y" * 500, ("BAD", "here")).splitlines()
    assert lines[3].startswith("1 | ...x")
    assert lines[3].endswith("y...")
    assert lines[4].index("^^^") == lines[3].index("BAD")


def test_places_in_two_files_are_both_shown():
    one, two = SourceText("one.dpm", "const n = 1"), SourceText("two.dpm", "\nconst n = 2")
    labels = (Label(Span(one, 6, 7), "again here"), Label(Span(two, 7, 8), "first here"))
    lines = [plain(line) for line in draw_mistake(Sample(None, labels))]
    assert lines == [
        "error[DP999]: something is wrong",
        " --> one.dpm:1:7",
        "  |",
        "1 | const n = 1",
        "  |       ^ again here",
        " ::: two.dpm:2:7",
        "  |",
        "2 | const n = 2",
        "  |       - first here",
    ]


def test_control_characters_are_shown_as_pictures():
    text = drawn("a\x1b[31mb\N{RIGHT-TO-LEFT OVERRIDE}c", ("c", ""))
    assert "\x1b" not in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text


def test_the_end_of_a_file_can_be_marked():
    source = SourceText("a.dpm", "chain c {\n")
    lines = [plain(x) for x in draw_mistake(Sample(None, (Label(Span(source, 10, 10), "end"),)))]
    assert lines[-2:] == ["2 |", "  | ^ end"]


def test_a_mistake_without_a_place_has_a_title_and_remarks():
    mistake = Sample(None, (), ("first\nsecond",), "do this")
    assert [plain(line) for line in draw_mistake(mistake)] == [
        "error[DP999]: something is wrong",
        " = note: first",
        "         second",
        " = help: do this",
    ]


@given(st.data())
def test_any_places_of_any_text_can_be_drawn(data):
    text = data.draw(st.text(alphabet="ab \t\n漢\u0301\u202e\x00", max_size=300))
    source = SourceText("a.dpm", text)
    labels = []
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        labels.append(Label(Span(source, start, end), data.draw(st.sampled_from(["", "words"]))))
    lines = [plain(line) for line in draw_mistake(Sample(None, tuple(labels)))]
    assert any("^" in line for line in lines)
    assert all("\n" not in line for line in lines)
    assert all(width(line) < WIDTH + 40 for line in lines)
    assert "\n".join(lines).count("words") == sum(label.text == "words" for label in set(labels))


def test_a_long_number_is_shortened_wherever_a_mistake_shows_it():
    (line, *_) = draw_mistake(BadStepBound(None, "1/" + "7" * 9999))
    assert "77777777777777777777...77777777777777777777 (9999 digits)" in plain(line)
