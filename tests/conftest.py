"""Options shared by all tests."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import settings

# Every run draws other examples, so many short runs see what one long run sees; but the gate, which
# sets CI, draws the same ones, so that a commit that has passed passes again. Before a release:
# `python -m pytest --hypothesis-profile=thorough tests/exact`, which takes the tests that say no
# number of their own twenty times as far.
is_gate = "CI" in os.environ
settings.register_profile(
    "dpcheck", deadline=None, print_blob=True, max_examples=50, derandomize=is_gate
)
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile("dpcheck")

os.environ["XDG_CACHE_HOME"] = os.devnull  # no test is answered by the results of another
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each command that is called compiles all anew

# Where a shell starts jobs with Ctrl-C ignored, what tests call would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# As the command line does. With Python's own threshold the collector looks at all that thousands of
# tests leave behind so often that the last tests of a run took ten times as long as each alone.
gc.set_threshold(100_000, 10, 10)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew from what dpcheck prints now",
    )
