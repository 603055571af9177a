"""Mistakes in the calls of commands other than `check`.

DP04x are about sweeps: what is set, what reads it, where it runs. DP05x are about files of
evidence: what is no witness, or says what the model does not.
"""

from __future__ import annotations

from dpcheck.diagnostics.files import FileMistake
from dpcheck.diagnostics.mistakes import Mistake


class MalformedSet(Mistake, code="DP040"):
    """An option `--set` that is not NAME=VALUES.

    `example` is one that is, near to it if that is known.
    """

    text: str
    example: str = "k=1..20"

    title_text = "`--set {self.text}` is not NAME=VALUES"
    help_text = "write a name and its values, such as `--set {self.example}`"
    explanation = """\
`dpcheck sweep` takes the values of a parameter as `--set NAME=VALUES`. The values are expressions
of the language, with commas between them; a range of integers stands for each of them.

Wrong: --set "k 1..20"
Right: --set k=1..20 --set alpha=1/2,2/3
"""


class SetTwice(Mistake, code="DP041"):
    """Two options `--set` for one name."""

    name: str
    both: str

    title_text = "`{self.name}` is set twice"
    help_text = "write all its values once: `--set {self.name}={self.both}`"
    explanation = """\
Every name of a sweep has one list of values; the units of the sweep are all combinations of one
value of each name.

Wrong: --set k=1..5 --set k=10
Right: --set k=1..5,10
"""


class NothingReadsSet(Mistake, code="DP042"):
    """A name that is set, and that neither the target nor the questions nor the file reads.

    `similar` is a parameter or constant of that kind of name; `known` lists them all.
    """

    name: str
    target: str
    similar: str | None
    known: tuple[str, ...]

    help_text = "did you mean `{self.similar}`?"
    title_text = "nothing in `{self.target}` or its questions reads `{self.name}`"
    explanation = """\
What `--set` names is a parameter of the target, a constant of the file, or a name that stands in
`--target`, `--compute` or `--check`. This name is none of them, so all its values would give one
answer.

Wrong: dpcheck sweep m.dpm --target m --set kk=1..9
Right: dpcheck sweep m.dpm --target m --set k=1..9
Right: dpcheck sweep m.dpm --target "compose(m, n)" --set n=1..9 --compute "epsilon(1/n)"
"""

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.known:
            return ()
        return (f"can be set: {', '.join(f'`{name}`' for name in self.known)}",)


class SetRangeOfNoIntegers(Mistake, code="DP043"):
    """A range in `--set` whose ends are not two integers, the smaller first."""

    text: str

    title_text = "`{self.text}` has no integers in it"
    help_text = "write both ends as integers, the smaller first, such as `1..20`"
    explanation = """\
A range in `--set` stands for its integers. Both ends are written as integers, the smaller first:
nothing of the file is known there, and steps other than 1 are written out.

Wrong: --set k=1..n
Wrong: --set alpha=0.1..0.9
Right: --set k=1..20 --set alpha=0.1,0.5,0.9
"""


class TooManyUnits(Mistake, code="DP044"):
    """More combinations of values than a sweep answers."""

    n_units: int
    most: int

    title_text = (
        "the sweep has {self.n_units:,} combinations of values; at most {self.most:,} are answered"
    )
    help_text = "set fewer values, or sweep in several calls"
    explanation = """\
A sweep answers all combinations of the values that are set. Their number is the product of the
lengths of the lists, and this many would take a day or more, and give a table nobody reads.

Wrong: --set i=1..1000 --set j=1..1000
Right: --set i=1..1000 --set j=1,10,100,1000
"""


class UnknownKindOfOutput(Mistake, code="DP045"):
    """A file whose name does not say what to write."""

    path: str

    title_text = "`-o {self.path}` does not say what to write"
    help_text = "end the name in .csv, .json or .html"
    explanation = """\
The name of the file says what a sweep writes into it: a table as .csv, everything that was found
as .json, or a page with the table and drawings as .html.

Wrong: dpcheck sweep m.dpm --target m --set k=1..9 -o results
Right: dpcheck sweep m.dpm --target m --set k=1..9 -o results.csv
"""


class NoCluster(Mistake, code="DP046"):
    """The place where a sweep is to run cannot be reached."""

    place: str
    reason: str
    advice: str

    title_text = "cannot work on `{self.place}`: {self.reason}"
    help_text = "{self.advice}"
    explanation = """\
`--on dask` starts workers of dask distributed on this machine, and `--on ADDRESS` uses a scheduler
that runs already. Both need the package `distributed` (the extra `cluster` of dpcheck), and dpcheck
in this version wherever a worker runs.

Right: dpcheck sweep m.dpm --target m --set k=1..9 --on dask --jobs 4
Right: dpcheck sweep m.dpm --target m --set k=1..9 --on tcp://127.0.0.1:8786
"""


class MalformedUnit(Mistake, code="DP047"):
    """A unit of work that no process can answer."""

    reason: str

    title_text = "this is no unit of work: {self.reason}"
    explanation = """\
`dpcheck work` and `dpcheck.work` answer units: JSON objects with the texts of a model and what it
imports, and claims about it.

Right: {"file": "m.dpm", "files": {"m.dpm": "import std.survey"}, "claims": "check survey: dp(2)"}
"""


class NoWitness(FileMistake, code="DP050"):
    """A file is no witness that proves what it says."""

    reason: str

    title_text = "`{self.path}` proves nothing: {self.reason}"
    help_text = "write it again with `dpcheck check FILE --witness DIR`"
    explanation = """\
`dpcheck replay` first does what `dpcheck verify` does, and this file does not prove what it says
about the chain in it: it was changed, or cut off, or is no witness at all.

Right: dpcheck check survey.dpm --witness evidence
"""


class ModelChanged(FileMistake, code="DP051"):
    """The model of a witness is another text now."""

    model: str

    title_text = "`{self.model}` is not the text that `{self.path}` was written for"
    help_text = "check the model again with `--witness`, or replay an earlier version"
    explanation = """\
A witness has the SHA-256 of its model and of all files that this imports. One of them has changed
since, so that the claim may be another one. Files are looked for from the working directory, as
`dpcheck check` found them.
"""


class NotReplayed(FileMistake, code="DP052"):
    """A witness is not derived again from the model's text."""

    reason: str

    title_text = "`{self.path}` is not derived again: {self.reason}"
    explanation = """\
`dpcheck replay` derives violations from the model's text by an interpreter of its own. It does not
cover P and D of noise without bounds, tables of probabilities, groups and samples of records,
analysts who choose queries, and programs whose runs take it too long, or on which noise that it
leaves out (thousands of steps from its center) decides. `dpcheck verify` still checks the evidence.
"""


class ModelSaysOtherwise(FileMistake, code="DP053"):
    """What a witness says is not what the model's text says."""

    reason: str

    title_text = "the model's text contradicts `{self.path}`: {self.reason}"
    explanation = """\
The evidence proves a violation for the chain in the file, but by the model's text its inputs are
no neighbors, the budget is another one, or the event has other probabilities. Somebody made the
file up, or dpcheck has a bug.
"""
