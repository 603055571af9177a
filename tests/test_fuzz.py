"""A short run of the fuzz target, the same every time: `python -m tests.fuzz` runs longer."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests import fuzz


@pytest.mark.skipif(not hasattr(fuzz.signal, "setitimer"), reason="no timers here")
def test_mutated_models_and_tables_are_no_crash():
    for name, content in islice(fuzz.inputs(seed=13), 25):
        failure = fuzz.failure_of(name, content)
        assert failure is None, (name, content, failure)


def test_the_same_seed_makes_the_same_inputs():
    first, again = (list(islice(fuzz.inputs(seed=5), 40)) for _ in range(2))
    assert first == again
    found = fuzz.corpus()
    assert sum(found.get(name) != content for name, content in first) > 30


def test_a_crash_is_found_and_made_smaller(monkeypatch):
    def broken(path):
        if "bug" in Path(path).read_text("utf-8"):
            raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "_failure_of_file", broken)
    content = b"const n = 1\nconst bug = 2\nconst m = 3\n" * 20
    failure = fuzz.failure_of("a.dpm", content)
    assert failure is not None
    assert failure.kind.startswith("ZeroDivisionError at test_fuzz.py")
    lines = fuzz.smaller("a.dpm", content, failure.kind, lambda text: text.splitlines(True))
    assert lines == b"const bug = 2\n"
