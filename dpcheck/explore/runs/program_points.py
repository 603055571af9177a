"""Cut points: where deterministic code is cut into batches."""

from __future__ import annotations

from typing import Literal

MAX_PASSES = 64
"""How often a walk may come to heads of loops before they are cut points."""

MAX_PASSING = 1024
"""How many rows may pass a head: with more, merging them pays at once."""

STOPPED = -1
"""The target of a run that ends, until the raw states are all known."""

CutKind = Literal["sample", "head", "shown"]
Cut = tuple[CutKind, int]
"""The kind of a cut point, and its node or (after an output) program point."""

DRAWS = "~"
SHOWN = "output"
"""Names of the extra column of a cut point: the distribution's number, the value shown."""
