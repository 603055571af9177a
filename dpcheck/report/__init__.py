"""Answers and mistakes come in; text, drawings for a terminal, and JSON go out."""

from dpcheck.report.answers import (
    Answer,
    Asked,
    Collector,
    Crash,
    Decided,
    Event,
    FileDone,
    FileRead,
    Reading,
    Started,
    Summary,
    Witness,
    in_reading_order,
)
from dpcheck.report.characters import visible
from dpcheck.report.drawing import draw_mistake
from dpcheck.report.live import TextReport, work_text
from dpcheck.report.styled import plain, writer
from dpcheck.report.text import closing_lines, crash_lines, undecided_lines

__all__ = [
    "Answer",
    "Asked",
    "Collector",
    "Crash",
    "Decided",
    "Event",
    "FileDone",
    "FileRead",
    "Reading",
    "Started",
    "Summary",
    "TextReport",
    "Witness",
    "closing_lines",
    "crash_lines",
    "draw_mistake",
    "in_reading_order",
    "plain",
    "undecided_lines",
    "visible",
    "work_text",
    "writer",
]
