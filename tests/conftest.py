"""Options shared by all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("dpcheck", deadline=None, print_blob=True)
settings.load_profile("dpcheck")

os.environ["XDG_CACHE_HOME"] = os.devnull  # no test is answered by the results of another


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew from what dpcheck prints now",
    )
