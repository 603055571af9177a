"""Mistakes about imports of files (DP70x)."""

from __future__ import annotations

from dpcheck.diagnostics.mistakes import Mistake


class ImportNotFound(Mistake, code="DP701"):
    """`import "path"` names nothing that can be read.

    `reason` says why.
    """

    path: str
    reason: str
    similar: str | None

    help_text = 'did you mean "{self.similar}"?'
    title_text = "cannot import `{self.path}`: {self.reason}"
    explanation = """\
An imported file cannot be read. The path is taken from the folder of the file that imports it. It
names a model (`.dpm`) or a table (`.csv`, `.json`), and nothing hidden (`.git`, `.env`): a model
from a stranger shall not make dpcheck show the lines of any other file.

Wrong: import "niose.dpm"
Right: import "noise.dpm"
"""


class ImportOutsideRoot(Mistake, code="DP702"):
    """The imported path leads out of the root directory.

    `common` is the folder, from the working directory, that holds both files, if it is to be told.
    """

    path: str
    root: str
    common: str | None = None

    help_text = (
        "check the file from the folder `{self.common}`, or move the other file into `{self.root}`"
    )
    label_text = "not inside the root"
    title_text = "the import `{self.path}` leads outside of `{self.root}`"
    explanation = """\
Imports stay inside the root: the directory given on the command line; for a file, the working
directory if it contains the file, else the file's own folder. A model from a stranger can
therefore not read files elsewhere on your machine. Links are followed before this is decided.

Wrong: import "../../secrets.dpm"
Right: start dpcheck in, or give it, a directory that contains both files.
"""


class ImportCycle(Mistake, code="DP703"):
    """Files import each other.

    `cycle` lists them, the first again at the end.
    """

    cycle: tuple[str, ...]

    explanation = """\
Files that import each other in a circle cannot be read in any order. Move what both need to a
third file.

Wrong: a.dpm imports b.dpm, which imports a.dpm
"""

    @property
    def title(self) -> str:
        return "imports go in a circle: " + " imports ".join(f"`{name}`" for name in self.cycle)


class UnknownStandardModule(Mistake, code="DP704"):
    """`import std.name`, and the package ships no such library."""

    name: str
    similar: str | None
    known: tuple[str, ...]

    help_text = "did you mean `std.{self.similar}`?"
    title_text = "the standard library has no `{self.name}`"
    explanation = """\
`import std.NAME` brings in one of the libraries that ship with dpcheck. There is none of this
name.

Wrong: import std.surveys
Right: import std.survey
"""

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"`dpcheck list` shows all {len(self.known)} libraries",)


class ImportedFileHasMistakes(Mistake, code="DP705"):
    """The imported file has mistakes of its own, shown beside this one."""

    path: str

    title_text = "`{self.path}` has mistakes, so this import brings nothing in"
    explanation = """\
The imported file has mistakes, so its names are not known here. Mend that file first: its own
mistakes are reported too.
"""


class MalformedTable(Mistake, code="DP706"):
    """An imported table of probabilities that is none.

    `reason` says why, `advice` what to do.
    """

    shown: str
    reason: str
    advice: str | None = None

    help_text = "{self.advice}"
    title_text = "`{self.shown}` is no table of probabilities: {self.reason}"
    explanation = """\
A JSON or CSV file can be imported as a mechanism: a distribution of outputs for each input, and the
pairs of neighbors. Probabilities are numbers or expressions of the language. Rows of counts, or of
rounded numbers, are divided by their sums where a line says `normalized`.

Right (measured.csv):
    row,x = pos,Y,3/4
    row,x = pos,N,1/4
    row,x = neg,Y,1/4
    row,x = neg,N,3/4
    pair,x = pos,x = neg

Right (measured.json):
    {"rows": {"x = pos": {"Y": "3/4", "N": "1/4"}, "x = neg": {"Y": "1/4", "N": "3/4"}},
     "pairs": [["x = pos", "x = neg"]], "normalized": false}
"""

    @property
    def file(self) -> str | None:
        """The table."""
        return self.shown
