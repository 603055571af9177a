"""Limits reached where there is no claim yet to be undecided (DP03x): no mistakes of the user's."""

from __future__ import annotations

from dpcheck.diagnostics.files import FileMistake
from dpcheck.diagnostics.mistakes import Mistake


class ReadingStopped(FileMistake, code="DP030", severity="undecided"):
    """A limit was reached before the claims of a file were known.

    `limit` says which.
    """

    limit: str
    option: str

    title_text = "{self.limit} before `{self.path}` was read to its end"
    help_text = "raise `{self.option}`"
    explanation = """\
The limit on time or memory was reached while the file and what it imports were read: its constants
computed, its loops unrolled, its mechanisms put together. None of its claims is decided. A model
that takes long to read mostly calls functions or mechanisms within each other many times.

Right: dpcheck check --timeout 3600 large.dpm
"""


class RunStopped(Mistake, code="DP031", severity="undecided"):
    """The time of the run was over before all files were looked at.

    `n_files` were not, from `first` on; both are None where the files were not even found.
    """

    limit: str
    option: str
    n_files: int | None
    first: str | None

    help_text = "raise `{self.option}`"
    explanation = """\
The limit on the time of the whole run was reached, so that some files were not looked at. None of
their claims is decided.

Right: dpcheck check --total-timeout 3600 models
"""

    @property
    def title(self) -> str:
        match self.n_files:
            case None:
                return f"{self.limit} before all files were found"
            case 1:
                return f"{self.limit} before `{self.first}` was read"
            case _:
                return f"{self.limit} before {self.n_files} files were read: `{self.first}`, ..."
