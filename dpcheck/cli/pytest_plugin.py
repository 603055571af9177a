"""The plugin for pytest: `.dpm` files are collected, and every claim is a test.

pytest loads it by its entry point; nothing has to be configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dpcheck.pipeline.claims.explorations import Explorations
    from dpcheck.resolve import ResolvedCheck


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ModelFile | None:
    """Return a collector of claims for a model file."""
    if file_path.suffix != ".dpm":
        return None
    collector: ModelFile = ModelFile.from_parent(parent, path=file_path)
    return collector


class ModelFile(pytest.File):
    """A model file: a test a claim. Mistakes in its text are an error of the collection."""

    def collect(self) -> Iterator[Claim]:
        """Yield the claims of the file, whose targets are explored once for all of them."""
        from dpcheck.front import ModelError, load
        from dpcheck.pipeline.claims.explorations import Explorations

        try:
            claims = load(self.path).claims
        except ModelError as wrong:
            raise self.CollectError(str(wrong)) from None
        explorations = Explorations()
        for check in claims:
            name = f"{check.line}: {check.kind} {check.target_text}: {check.claim_text}"
            yield Claim.from_parent(self, name=name, check=check, explorations=explorations)


class NotAsClaimed(AssertionError):
    """A claim did not come out as written; the text is the report on it."""


class Claim(pytest.Item):
    """A claim, which passes if it comes out as written."""

    def __init__(
        self,
        *,
        check: ResolvedCheck,
        explorations: Explorations,
        **rest: Any,  # noqa: ANN401
    ) -> None:
        """Keep the claim, and the chains that the claims of its file share."""
        super().__init__(**rest)
        self._check = check
        self._explorations = explorations

    def runtest(self) -> None:
        """Answer the claim; raises `NotAsClaimed`."""
        from dpcheck.front import ModelError, answer_to
        from dpcheck.limits import MAX_STATES, TIMEOUT, RunLimits

        try:
            answer = answer_to(self._check, self._explorations, RunLimits(MAX_STATES, TIMEOUT))
        except ModelError as wrong:
            raise NotAsClaimed(str(wrong)) from None
        if not answer.is_ok:
            raise NotAsClaimed(str(answer))

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Return the report on the claim; a bug in dpcheck is shown as pytest shows any."""
        if isinstance(excinfo.value, NotAsClaimed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the claim stands, its line counted from 0."""
        return self.path, self._check.line - 1, self.name
