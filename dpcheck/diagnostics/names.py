"""Mistakes about names (DP3xx): unknown, taken, misplaced, or without a value yet."""

from __future__ import annotations

import re
import unicodedata

from dpcheck.diagnostics.mistakes import CODE, Label, Mistake, listed
from dpcheck.model.distributions import DISTRIBUTIONS
from dpcheck.model.words import BEFORE_OPERANDS
from dpcheck.source import Span


def _meant(candidate: str | None) -> str | None:
    return None if candidate is None else f"did you mean `{candidate}`?"


_NAMES_ELSEWHERE = {
    **dict.fromkeys(
        ["sigma", "σ"],
        "declare it, as in `const sigma = 2`; the base of `gaussian` for that deviation is"
        " `exp(-1/(2 * sigma^2))`",
    ),
    "bool": "write `{false, true}`",
    "boolean": "write `{false, true}`",
    "Bool": "write `{false, true}`",
    **dict.fromkeys(
        ["int", "integer", "Int", "Integers", "ints", "nat", "ℤ", "ℕ"],
        "a set is finite here: `0..10`; only an `input` or `public` may be in `integers`",
    ),
    **dict.fromkeys(
        ["float", "double", "real", "reals", "ℝ"], "a set is finite here: `{0, 1/2, 1}`"
    ),
    **dict.fromkeys(["Pr", "Prob"], "write `P>=1/2 [ X output = 1 ]`, with a bound of your own"),
    "integers": "only an `input` or `public` may be any integer; give this a set `lo..hi`",
    "outputs": "only E reads the number of outputs; ask `P=? [ X X !stopped ]`",
    **dict.fromkeys(["infinity", "Infinity", "infty", "oo", "Inf", "INF"], "write `inf`"),
    "inf": "`inf` stands alone beside a quantity, as in `epsilon < inf`",
    "e": "a power of e is written `exp(x)`",
    "null": "an output that says nothing is a symbol: `output none`",
    "None": "an output that says nothing is a symbol: `output none`",
}
"""Names that other languages know, and what to write."""


_DISTANCES = {
    "abs": "abs({x} - {x}')",
    **{name: f"{name}({{x}}, {{x}}')" for name in ("hamming", "l1", "linf")},
}
"""Distances that `adjacent` compares, of an input from its neighbor's."""


def _before(span: Span) -> str:
    """Return the part of its line that stands before a place."""
    return span.source.line(span.line)[: span.column - 1]


_IN_A_DRAW = re.compile(rf"\b(?P<of>exp|{'|'.join(DISTRIBUTIONS)})\((?P<left>[^()]*)$")
_IN_A_BUDGET = re.compile(r"(?:dp\(|D\{) *$")
_MECHANISM = re.compile(r"mechanism +(\w+) *(?:\(([^()]*)\))?(?![\s\S]*\n\w)")
"""The head of the mechanism that a text ends in: its name and parameters."""
LONG_MECHANISM = 5_000
"""Characters before a name in which the head of its mechanism is looked for, each time."""


class UnknownName(Mistake, code="DP301"):
    """A name that means nothing here.

    `similar` is a known one that looks like it.
    `may_be_symbol`: it is a whole value, such as what is assigned, compared or put into a set.
    `known`: in `adjacent` and in claims, the `reader`, all that is read there.
    `is_parameter`: it is primed, and of a parameter, which has no neighbor's value.
    """

    name: str
    similar: str | None
    may_be_symbol: bool = False
    known: tuple[str, ...] = ()
    reader: str = "`adjacent`"
    is_parameter: bool = False

    title_text = "unknown name `{self.name}`"
    explanation = """\
A name is a constant, a parameter, an input, a local or a symbol. A symbol (a name that stands for
itself) must be introduced somewhere in the file: by a set literal in a declaration, as a key of a
distribution literal, or as a bare name that is output. Anywhere else an unknown name is a mistake,
most often a slip of the pen.

In quotes a name is a symbol wherever it stands.

Wrong: input x in {pos, neg}   ...   if x = pso { output Y }
Right: input x in {pos, neg}   ...   if x = pos { output Y }

Wrong: y := Y                        y ~ uniform({Y, N})
Right: y := "Y"                      y ~ uniform({"Y", "N"})
"""

    @property
    def help(self) -> str | None:
        if self.is_parameter:
            name = self.name.rstrip("'")
            return f"`{name}` is a parameter; data stands in the braces: `input {name} in 0..3`"
        if self.name in ("True", "False"):
            return f"write `{self.name.lower()}`"
        if self.name.startswith("ln") and self.name[2:].isdigit():
            return f"write `ln {self.name[2:]}`"
        before = "" if self.span is None else _before(self.span)
        if self.name == "e" and _IN_A_BUDGET.search(before):
            return "a budget is the ε of e^ε: leave `e^` out"
        if (self.name, before[-2:]) == ("inf", ".."):
            return "a range has an end; all integers are `integers`, for an input"
        if self.name in ("Z", "N") and before.endswith(" in "):
            return "write `integers` for an input, or a set `lo..hi`"
        if self.name in _DISTANCES and self.known and self.reader == "`adjacent`":
            return f"call it, as in `{_DISTANCES[self.name].format(x=self.known[0])} <= 1`"
        if self.name in _NAMES_ELSEWHERE:
            return _NAMES_ELSEWHERE[self.name]
        if self.name in DISTRIBUTIONS:
            return f"it is drawn from, `y ~ {DISTRIBUTIONS[self.name].signature}`"
        symbolic = unicodedata.normalize("NFKC", self.name).replace("\u2044", "/")
        if len(self.name) == 1 and unicodedata.numeric(self.name, None) is not None:
            return f"write `{symbolic}`"
        base = self.name.rstrip("⁰¹²³⁴⁵⁶⁷⁸⁹")
        if base and base != self.name:
            return f"write `{base}^{unicodedata.normalize('NFKC', self.name[len(base) :])}`"
        if re.search(r"(^|\s)--\s", before):
            return "comments start with `#`, not with `--`"
        symbol = f'a symbol, which stands for itself, is written `"{self.name}"`'
        if self.known and self.similar is None:
            known = listed(self.known, "and", CODE)
            reads = f"{self.reader} reads {known}, not what is drawn or assigned"
            return f"{reads}; {symbol}" if self.may_be_symbol else reads
        if not self.may_be_symbol:
            return _meant(self.similar) or self._declared
        if self.similar is None:
            return symbol
        is_other_case = self.similar.lower() == self.name.lower()
        return f"{_meant(self.similar)} {symbol}" if is_other_case else _meant(self.similar)

    @property
    def _declared(self) -> str | None:
        """How a number is declared that a claim reads, or that says how noise is drawn."""
        if self.reader == "a claim" and self.name.islower():
            every = f", or `param {self.name} > 0` for all values" * self.name.startswith("eps")
            return f"declare it, as in `const {self.name} = 1`{every}"
        drawn = None if self.span is None else _IN_A_DRAW.search(_before(self.span))
        if drawn is None:
            return None
        assert self.span is not None, "it is drawn somewhere"
        is_ratio = "," in drawn["left"] or drawn["of"] in ("bernoulli", "geometric_positive")
        values, value = ("in (0, 1)", "1/2") if is_ratio else ("> 0", "1")
        declared = f"declare `param {self.name} {values}`"
        text, end = self.span.source.text, self.span.start
        head = text.rfind("mechanism ", max(0, end - LONG_MECHANISM), end)
        home = None if head == -1 else _MECHANISM.match(text, head, end)
        if home is None:
            return declared
        parameters = ", ".join(filter(None, (home[2], f"{self.name} = {value}")))
        return f"{declared}, or a parameter, `mechanism {home[1]}({parameters})`"


class NameTaken(Mistake, code="DP302"):
    """A name that is declared a second time.

    `what` is what the first declaration makes it, or the language, where there is none.
    """

    name: str
    what: str
    first: Span | None

    title_text = "the name `{self.name}` is taken: it is {self.what}"
    explanation = """\
Names are unique: the top-level names of a file, the parameters and inputs of one mechanism, and the
variables that one tuple is taken apart into. No `param` is called `inf`, for which values of it
would be taken.

Wrong: const n = 3
       const n = 4
Right: const n = 3
       const m = 4
"""

    @property
    def labels(self) -> tuple[Label, ...]:
        if self.first is None:
            return super().labels
        assert self.span is not None, "names have places"
        return Label(self.span, "declared again"), Label(self.first, "first declared here")


class NotAValue(Mistake, code="DP303"):
    """A mechanism, function, distribution or chain where a value is needed."""

    name: str
    what: str

    title_text = "`{self.name}` is {self.what}, not a value"
    explanation = """\
Only constants, parameters, inputs, locals and symbols have values. A function is called,
`near(a, b)`; a distribution or another mechanism is drawn from, `y ~ survey(x = b)`.

Wrong: y := survey(x = b)
Right: y ~ survey(x = b)
"""

    @property
    def help(self) -> str | None:
        match self.what:
            case "a mechanism" | "a distribution":
                symbol = f'a symbol of that name stands in quotes, `"{self.name}"`'
                return f"draw from it with `~`, as in `y ~ {self.name}(...)`; {symbol}"
            case "a function":
                return f"call it, as in `{self.name}(...)`"
        return None


_GEOMETRIC = "it is `geometric(center, exp(-1/b)) unbounded` for scale b"
_GAUSSIAN = (
    "it is `gaussian(center, exp(-1/(2 * s^2))) conditioned lo..hi` for a standard deviation s"
)

_FUNCTIONS_ELSEWHERE = {
    **dict.fromkeys(
        ["laplace", "lap", "laplace_mechanism", "laplacemechanism"],
        "continuous noise is not supported yet; on the integers the Laplace distribution is"
        " `geometric(center, exp(-1/b)) unbounded` for scale b",
    ),
    **dict.fromkeys(["discrete_laplace", "discretelaplace", "dlap"], _GEOMETRIC),
    **dict.fromkeys(
        ["one_sided_geometric", "geometric_one_sided"],
        "it is `x + z`, where `z ~ geometric_positive(alpha) unbounded`",
    ),
    **dict.fromkeys(["normal", "n", "discrete_gaussian", "gaussian_mechanism"], _GAUSSIAN),
    **dict.fromkeys(
        ["poisson", "pois", "rpois"],
        "it has no end; cut off after 9 it is"
        " `{k: mu^k / product(i in 1..k : i) for k in 0..9} normalized`",
    ),
    **dict.fromkeys(["rgeom", "make_geometric", "then_geometric"], _GEOMETRIC),
    **dict.fromkeys(["make_laplace", "then_laplace", "rlaplace"], _GEOMETRIC),
    **dict.fromkeys(["rnorm", "gauss", "make_gaussian", "then_gaussian"], _GAUSSIAN),
    **dict.fromkeys(["flip", "coin", "rbern", "ber", "bern"], "it is `bernoulli(p)`"),
    **dict.fromkeys(["rbinom", "binom", "bin"], "it is `binomial(n, p)`"),
    **dict.fromkeys(["choice", "sample"], "it is `uniform(S)`, for a set S"),
    "randint": "it is `uniform(lo..hi)`",
    "randrange": "it is `uniform(lo..hi - 1)`",
    **dict.fromkeys(
        ["runif", "rand", "random"], "draw first: `b ~ bernoulli(p)`, and then `if b { ... }`"
    ),
    **dict.fromkeys(
        ["mean", "avg", "average"],
        "of an array it is `sum(x)/len(x)`; of what is random, E: `E<=2 [ output ]`",
    ),
    "median": "sorting is not there; of three: `max(min(a, b), min(max(a, b), c))`",
    **dict.fromkeys(
        ["sort", "sorted", "order"],
        "sorting is not there; the largest is `max(q)`, its index `argmax(q)`",
    ),
    "l2": "squares are exact: `sum(i in 1..3 : (q[i] - q'[i])^2) <= 1`",
    **dict.fromkeys(["c", "tuple", "list", "vector"], "a tuple is written `(a, b)`"),
    **dict.fromkeys(
        ["exponential", "exponential_mechanism", "make_exponential", "softmax"],
        "it is `{r: exp(e * score(r) / 2) for r in S} normalized`; see `import std.exponential`",
    ),
    "range": "it is `lo..hi - 1`; both ends are included",
    "log": "write `ln` for the natural logarithm",
    **dict.fromkeys(
        ["puredp", "pure_dp", "approxdp", "approx_dp", "adp", "edp"],
        "it is `dp(epsilon)`, or `dp(epsilon, delta)`",
    ),
    "gdp": "a Gaussian trade-off curve has no exact form; `compute m: tradeoff` shows the curve",
    "d": "say the distance: `abs(x - x')`, `hamming(x, x')`, `l1(x, x')` or `linf(x, x')`",
    **dict.fromkeys(
        ["symmetric_distance", "absolute_distance", "distance", "hamming_distance"],
        "distances are `abs(x - x')`, `hamming(x, x')`, `l1(x, x')` and `linf(x, x')`",
    ),
    "round": "it is `floor(x + 1/2)`",
    **{word: f"write `{sign}`" for word, sign in BEFORE_OPERANDS.items()},
    "sqrt": "roots have no exact value; compare squares, or raise to a power, as in `x^2`",
}


_ARGUMENTS = re.compile(r"\(((?:[^()\n]|\([^()\n]*\))*)\)")
_ARGUMENT = re.compile(r"(?:[^,(){}\n]|\([^()\n]*\)|\{[^{}\n]*\})+")
_PLACE = re.compile(r"\b(?:center|1/b|lo|hi|[np]|(?<=\()S)\b")


def _of_call(advice: str, span: Span) -> str:
    """Fill the arguments of a call into what is advised in its place, if they are as many."""
    written = _ARGUMENTS.match(span.source.text, span.end)
    given = [] if written is None else [each.strip() for each in _ARGUMENT.findall(written[1])]
    before, shown, after = re.split("(`[^`]*`)", advice, maxsplit=1)
    places = _PLACE.findall(shown)
    if places in (["center", "1/b"], ["lo", "hi"]) and len(given) == 1:
        given = ["0", *given]
    if not places or len(given) != len(places):
        return advice
    after = after.removesuffix(", for a set S").replace("scale b", f"scale {given[-1]}")
    if "1/b" in places:
        given[-1] = _inverse(given[-1])
    filled = iter(given)
    return before + _PLACE.sub(lambda _: next(filled), shown) + after


def _inverse(number: str) -> str:
    """Return 1 over a number as one writes it.

    >>> _inverse("2"), _inverse("1/eps"), _inverse("s/eps"), _inverse("a + b")
    ('1/2', 'eps', 'eps/s', '1/(a + b)')
    """
    if quotient := re.fullmatch(r"([\w.]+)/([\w.]+)", number):
        return quotient[2] if quotient[1] == "1" else f"{quotient[2]}/{quotient[1]}"
    return f"1/{number}" if re.fullmatch(r"[\w.]+", number) else f"1/({number})"


class UnknownFunction(Mistake, code="DP304"):
    """A call of something that is not known.

    `is_variable` if the name is a value.
    """

    name: str
    similar: str | None
    is_variable: bool

    explanation = f"""\
A call names a `fun` or `dist` of the file, or a built-in: abs, min, max, sum, count, clamp, argmax,
argmin, floor, ceil, len, exp, hamming, l1, linf; after `~` another mechanism, or one of
{", ".join(DISTRIBUTIONS)}.
Elements of arrays stand in square brackets.

Wrong: y ~ geometrical(x, 1/2) clamped 0..5
Right: y ~ geometric(x, 1/2) clamped 0..5
"""

    @property
    def title(self) -> str:
        if self.is_variable:
            return f"`{self.name}` is a value and cannot be called"
        return f"unknown function `{self.name}`"

    @property
    def help(self) -> str | None:
        if self.name == "output":
            return "only `accuracy` and E read the i-th output, `output(i)`; a part is `output[i]`"
        if self.is_variable:
            return f"an element of an array is written `{self.name}[...]`"
        advice = _FUNCTIONS_ELSEWHERE.get(self.name.lower())
        if advice is None or self.span is None:
            return advice or _meant(self.similar)
        return _of_call(advice, self.span)


class UnknownTarget(Mistake, code="DP305"):
    """A claim about something that is no mechanism or chain.

    `what` it is, if anything.
    """

    name: str
    what: str | None
    similar: str | None

    help_text = "did you mean `{self.similar}`?"
    explanation = """\
A claim is about a mechanism or a chain that the file declares or imports; `run` and `~` call
mechanisms.

Wrong: check survye: dp(ln 3)
Right: check survey: dp(ln 3)
"""

    @property
    def title(self) -> str:
        if self.what is not None:
            return f"`{self.name}` is {self.what}, not a mechanism"
        return f"there is no mechanism or chain `{self.name}`"


class PrimeOutsideAdjacency(Mistake, code="DP306"):
    """A primed name outside an `adjacent` clause."""

    name: str

    title_text = "`{self.name}'` is the neighbor's value, known only in `adjacent`"
    explanation = """\
A primed name is the neighbor's value of an input. Only an `adjacent` clause speaks of two
databases at once; a run and a claim see one.

Wrong: output x'
Right: adjacent abs(x - x') <= 1
"""


class OutputOutsideClaim(Mistake, code="DP307"):
    """The word `output` used as a value where nothing was output."""

    title_text = "`output` has a value only in claims about mechanisms"
    explanation = """\
As a value, `output` is what a mechanism showed, and only the formulas of claims about mechanisms
can speak of it. On a chain, claims name labels and states.

Wrong: if output = 3 { stop }
Right: check m: P>=1/2 [ F output = 3 ]
"""


class CannotAssign(Mistake, code="DP308"):
    """An assignment to something that keeps its value.

    `chosen` is a value that `-D` may choose of a `param`.
    """

    name: str
    what: str
    declared: Span
    chosen: str = ""

    title_text = "cannot assign to `{self.name}`: it is {self.what}"
    label_text = "assigned here"
    second_place = "declared", "{self.what}"
    explanation = """\
Inputs, parameters, constants and loop variables keep their values; a mechanism changes its locals
only. A `param` stands for all its values; `-D` chooses one.

Wrong: input x in 0..5   ...   x := x + 1
Right: input x in 0..5   ...   y := x + 1
"""

    @property
    def help(self) -> str:
        """What to write instead."""
        local = "assign to a local of another name"
        return (
            local
            if not self.chosen
            else (f"{local}, or leave this out and choose a value, `-D {self.name}={self.chosen}`")
        )


class ConstantCycle(Mistake, code="DP309"):
    """Constants that need each other.

    `cycle` lists them, the first again at the end.
    """

    cycle: tuple[str, ...]

    explanation = """\
Constants may stand in any order, but no constant may need its own value.

Wrong: const a = b + 1
       const b = a - 1
"""

    @property
    def title(self) -> str:
        return "constants go in a circle: " + " needs ".join(f"`{name}`" for name in self.cycle)


class MayBeUnassigned(Mistake, code="DP310"):
    """A local that some run reads before it has a value.

    `path` are the turns of such a run.
    """

    name: str
    path: tuple[tuple[Span, str], ...]

    label_text = "read here"
    title_text = "`{self.name}` may have no value here"
    help_text = "assign `{self.name}` on every way that leads here"
    explanation = """\
A local has no value before its first assignment, and every way to the place where it is read must
pass one.

Wrong: if c { y := 1 }
       output y
Right: y := 0
       if c { y := 1 }
       output y
"""

    @property
    def labels(self) -> tuple[Label, ...]:
        return *super().labels, *(Label(span, text) for span, text in self.path)


class UnknownState(Mistake, code="DP311"):
    """A name that is no state, family or label of the chain."""

    name: str
    chain: str
    similar: str | None

    help_text = "did you mean `{self.similar}`?"
    title_text = "`{self.chain}` has no state or label `{self.name}`"
    explanation = """\
In a chain and in claims about it, a name is a state, a family of states, or a label that a state
carries after its colon.

Wrong: state s : Y   ...   observe Yes
Right: state s : Y   ...   observe Y
"""


class HiddenName(Mistake, code="DP312", severity="warning"):
    """An index name of `adjacent` that hides a constant, a parameter, or a symbol of the family.

    `edit` is what to write where the symbol is meant.
    """

    name: str
    what: str
    edit: str | None = None

    help_text = "if it is meant, write `{self.edit}`"
    title_text = "`{self.name}` ranges over all indices here; it is not {self.what} of that name"
    explanation = """\
A bare name between the brackets of `adjacent s[k] ~ s[l]` is fresh: it ranges over the whole index
set of the family, even if a constant, a parameter or a symbol has the same name. If the constant is
meant, write an expression, such as `s[n + 0]`; a symbol is meant in quotes, as in `s["pos"]`.
"""


class UnusedLocal(Mistake, code="DP313", severity="warning"):
    """A local that nothing reads.

    `shown` is a symbol that is output and looks like it.
    """

    name: str
    shown: str | None

    title_text = "nothing reads `{self.name}`"
    help_text = "`output {self.shown}` shows the symbol `{self.shown}`; did you mean `{self.name}`?"
    explanation = """\
A local gets a value that nothing reads. Often its name is misspelt where it should be read: a bare
name that is output and names nothing is a symbol, so `output bb` shows the symbol `bb`, always the
same, whatever `b` is.

Wrong: b ~ bernoulli(1/3)   output bb
Right: b ~ bernoulli(1/3)   output b
"""


class MisspeltOutput(Mistake, code="DP315", severity="warning"):
    """A symbol that is output, named nowhere else, and looks like a local."""

    name: str
    meant: str

    title_text = "this shows the symbol `{self.name}`, whatever `{self.meant}` is"
    help_text = 'write `{self.meant}`, or `"{self.name}"` in quotes if the symbol is meant'
    explanation = """\
A bare name that is output and names nothing is a symbol. Here it looks like a local of the
mechanism, and nothing else in the file names it: a claim about privacy then holds because nothing
private is shown. If the symbol is meant, quotes say so.

Wrong: noisy ~ geometric(x, 1/2) clamped 0..3   if noisy > 2 { output high } else { output nosy }
Right: noisy ~ geometric(x, 1/2) clamped 0..3   if noisy > 2 { output high } else { output noisy }
"""


class AbsentSymbol(Mistake, code="DP314", severity="warning"):
    """A symbol in quotes, in a claim about a mechanism that has no such value."""

    name: str
    similar: str | None

    title_text = 'nothing that is declared is ever the symbol `"{self.name}"`'
    help_text = 'did you mean `"{self.similar}"`?'
    explanation = """\
In quotes a name is a symbol wherever it stands. No input of the mechanism has this one as a value,
and no statement names it, so it is never output: a claim about it may hold, and says nothing.

Wrong: output top   ...   check m: P<=1/2 [ X "tpo" ]
Right: output top   ...   check m: P<=1/2 [ X top ]
"""
