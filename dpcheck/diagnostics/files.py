"""Mistakes about files and the command line (DP0xx): what is seen before any text is read."""

from __future__ import annotations

import re

from dpcheck.diagnostics.mistakes import Mistake


class FileMistake(Mistake):
    """A mistake about a whole file or directory, named by `path`."""

    path: str

    @property
    def file(self) -> str | None:
        """The path as the user gave it."""
        return self.path


class NoSuchFile(FileMistake, code="DP001"):
    """The path names nothing.

    `similar` is a name nearby that looks like it.
    """

    similar: str | None

    help_text = "did you mean `{self.similar}`?"
    title_text = "there is no file or directory `{self.path}`"
    explanation = """\
A file or directory named on the command line does not exist. Paths are taken from the
directory in which dpcheck was started.

Wrong: dpcheck check models/surveys.dpm
Right: dpcheck check models/survey.dpm
"""


class NotUtf8(FileMistake, code="DP002"):
    """A byte that is not part of UTF-8 text; the span is where it stands."""

    byte: int
    offset: int

    title_text = "the file is not UTF-8 text: byte 0x{self.byte:02x} at offset {self.offset}"
    label_text = "byte 0x{self.byte:02x}"
    explanation = """\
Model files are UTF-8 text. A byte in this file does not belong to any UTF-8 character, which
usually means that the file was saved in another encoding (Latin-1, UTF-16), or is not text.

Right: save the file as UTF-8; for example  iconv -f latin1 -t utf-8 old.dpm > new.dpm
"""


class HoldsNul(FileMistake, code="DP003"):
    """The text holds a NUL character."""

    label_text = "here"
    title_text = "the file holds a NUL character, so it is not text"
    explanation = """\
A model file is text, and text has no NUL characters (bytes of value zero). A file that holds one
is a binary file, was damaged, or was saved as UTF-16.
"""


class EmptyFile(FileMistake, code="DP004"):
    """The file declares nothing."""

    title_text = "`{self.path}` is empty: it declares nothing"
    explanation = """\
The file declares nothing: it is empty, or holds only spaces and comments. Checking it would
succeed without having checked anything, so dpcheck says so instead.

Right: mechanism survey { ... }
       check survey: dp(ln 3)
"""


class NoModels(FileMistake, code="DP005"):
    """A directory without model files."""

    title_text = "there is no `.dpm` file in the directory `{self.path}`"
    explanation = """\
A directory stands for all `.dpm` files in it and below it (hidden directories left out). This one
has none, so nothing would be checked.
"""


class CannotRead(FileMistake, code="DP006"):
    """The operating system refuses to read the file.

    `reason` is in its words.
    """

    reason: str

    title_text = "cannot read `{self.path}`: {self.reason}"
    explanation = """\
The file exists, but the operating system does not let dpcheck read it: often a matter of
permissions, or the path names something that is not a file.
"""


class LinkOutsideRoot(FileMistake, code="DP018"):
    """The path is a symbolic link that leads out of the root directory, or to no model."""

    root: str

    title_text = "the link `{self.path}` leads to no model inside of `{self.root}`"
    explanation = """\
A symbolic link may lead to a model (`.dpm`) inside the root: the directory given on the command
line; for a file, the working directory if it contains the link, else the link's own folder. A
repository of a stranger can therefore not make dpcheck show the lines of other files on your
machine, nor of hidden ones (`.git/config`). What a link leads to elsewhere is not even opened.

Wrong: dpcheck check models           (models/a.dpm is a link to ../../secrets.dpm)
Right: dpcheck check ../../secrets.dpm
"""


class UndeclaredDefinition(Mistake, code="DP007"):
    """`-D name=value`, and no file given declares that constant."""

    name: str
    similar: str | None

    title_text = "no file declares a constant `{self.name}`, which -D sets"
    help_text = "did you mean `{self.similar}`?"
    help_otherwise = "a parameter is set in a claim, as in `check m(k = 4): dp(ln 2)`"
    explanation = """\
`-D NAME=VALUE` gives a constant of the files another value. No file on the command line, nor a
file they import, declares a constant of that name, so the option would do nothing.

Wrong: dpcheck check survey.dpm -D m=5     (the file declares `const n = 3`)
Right: dpcheck check survey.dpm -D n=5
"""


class MalformedDefinition(Mistake, code="DP008"):
    """What follows `-D` is not `NAME=VALUE`."""

    text: str

    title_text = "`-D {self.text}` is not of the form NAME=VALUE"
    help_text = "write, for example, `-D n=8`"
    explanation = """\
`-D` takes a name, `=`, and an expression of the language without spaces around `=`.

Wrong: -D n          -D 5=n
Right: -D n=8        -D 'eps=ln 3 + 1/2'
"""


class NothingSelected(Mistake, code="DP009"):
    """`--select` matches no claim."""

    pattern: str
    n_claims: int

    explanation = """\
`--select GLOB` keeps the claims whose name, target or claim matches the pattern (`*` stands for
any characters, `?` for one). None does, so nothing would be checked.

Right: --select survey       --select 'rr(k = *)'       --select 'epsilon*'
"""

    @property
    def title(self) -> str:
        claims = "1 claim" if self.n_claims == 1 else f"{self.n_claims} claims"
        return f"`--select {self.pattern}` matches none of {claims}"


class NoClaims(Mistake, code="DP019"):
    """No file of a run states a claim.

    There are `n_files`; `target` is a mechanism or chain of theirs that can be asked about.
    """

    n_files: int
    target: str | None

    explanation = """\
None of the files has a `check`, `refute` or `compute`, so nothing would be checked, and a gate
would pass that tests nothing. The claims of imported files do not run. Where that is meant, as for
a directory of libraries, `--allow-empty` says so.

Right: check survey: dp(ln 3)
Right: dpcheck check lib/ --allow-empty
"""

    @property
    def title(self) -> str:
        files = "the file states" if self.n_files == 1 else f"{self.n_files} files state"
        return f"{files} no claim, so nothing is checked"

    @property
    def help(self) -> str | None:
        asked = "" if self.target is None else f"ask `compute {self.target}: epsilon`, or "
        return f"{asked}allow it with `--allow-empty`"


class NoSuchCode(Mistake, code="DP010"):
    """`dpcheck explain CODE` for a code that does not exist."""

    name: str
    similar: str | None

    title_text = "there is no mistake with the code `{self.name}`"
    help_text = "did you mean `{self.similar}`?"
    help_otherwise = "`dpcheck explain` alone lists every code"
    explanation = """\
`dpcheck explain CODE` explains one mistake; codes look like DP203. Without a code it lists all of
them.
"""


class AlreadyExists(FileMistake, code="DP011"):
    """A command would overwrite a file that dpcheck did not make."""

    title_text = "`{self.path}` exists already; it is left as it is"
    help_text = "take another name"
    explanation = """\
`dpcheck new NAME` writes the file NAME.dpm, and never over a file that is there already. The
options `--svg` and `--csv` of `dpcheck profile` write over drawings and tables that they made, and
over nothing else. Take another name, or remove the file first.
"""


class CannotWrite(FileMistake, code="DP012"):
    """The operating system refuses to write the file, or it is somebody else's."""

    reason: str

    title_text = "cannot write `{self.path}`: {self.reason}"
    explanation = """\
The operating system does not let dpcheck write the file: the directory does not exist or is
read-only, or the disk is full. Or there is a file of this name that no earlier call wrote, such as
a model: choose another name.

Wrong: dpcheck profile m.dpm --svg m.dpm
Right: dpcheck profile m.dpm --svg m.svg
"""


class NotAName(Mistake, code="DP013"):
    """`dpcheck new` with something that cannot name a mechanism."""

    name: str

    title_text = "`{self.name}` cannot be the name of a mechanism"
    explanation = """\
The name of the new file is the name of the mechanism in it: letters, digits and underscores, not
a digit first, and not a word of the language.

Wrong: dpcheck new my-survey        dpcheck new while
Right: dpcheck new my_survey        dpcheck new models/my_survey
"""

    @property
    def help(self) -> str | None:
        made = "_".join(re.findall(r"\w+", self.name)).lstrip("0123456789_")
        return f"try `{made}`" if made and made != self.name else None


class EmptyPath(Mistake, code="DP014"):
    """A file or directory is named by an empty text."""

    title_text = "the name of a file or directory is empty"
    help_text = "`.` stands for the working directory"
    explanation = """\
An argument of the call is empty: mostly a variable of the shell that is not set. To check all
models of the working directory, say so with a dot.

Wrong: dpcheck check "$MODELS"      (and MODELS is not set)
Right: dpcheck check .
"""


class SeveralFiles(FileMistake, code="DP015"):
    """A directory of models where one file is needed.

    There are `n_files`; `first` is one of them.
    """

    n_files: int
    first: str

    title_text = "one file is needed, and the directory `{self.path}` has {self.n_files} models"
    help_text = "name one of them, such as `{self.first}`"
    explanation = """\
`dpcheck pmf` and `dpcheck.load` take one model file, because a target is looked for in one file. A
directory stands for all models in it and below it, and this one has several.

Wrong: dpcheck pmf models survey
Right: dpcheck pmf models/survey.dpm survey
"""


class WrongCall(Mistake, code="DP016"):
    """An option or argument of the call is wrong."""

    reason: str

    title_text = "{self.reason}"
    explanation = """\
The command line cannot be read: an option does not exist or has a value it cannot have, or no file
is named. This is how `--format json` says it; as text, the usage of the command stands beside it.

Wrong: dpcheck check --format json --max-states many survey.dpm
Right: dpcheck check --format json --max-states 1000 survey.dpm
"""


class NotOneClaim(Mistake, code="DP017"):
    """A call from Python asks about one claim, and its text holds another number of claims."""

    n_claims: int

    title_text = "one claim is needed here, and the text holds {self.n_claims}"
    explanation = """\
`Target.check`, `Target.value` and their kin answer one claim, which is written without `check` and
without the target. Several claims at once are what `Model.ask` is for.

Wrong: survey.check("dp(1) check survey: dp(2)")
Right: survey.check("dp(1)")
"""
