"""Mistakes of syntax (DP1xx): text that is not a model, in words."""

from __future__ import annotations

from dpcheck.diagnostics.mistakes import Label, Mistake, listed
from dpcheck.source import Span


class Unexpected(Mistake, code="DP101"):
    """Something stands where the grammar wants something else; both in words."""

    expected: tuple[str, ...]
    found: str
    edit: str | None = None

    help_text = "{self.edit}"
    explanation = """\
The text stops making sense at this place: what was read so far can only go on with what the
message lists. Often the real slip is just before: a missing `,`, `:` or bracket.

Wrong: check survey dp(ln 3)
Right: check survey: dp(ln 3)
"""

    @property
    def title(self) -> str:
        return f"expected {listed(self.expected)}, found {self.found}"


class UnclosedBracket(Mistake, code="DP102"):
    """A bracket is still open where something else begins.

    `what` names what it opened.
    """

    opener: Span
    closer: str
    what: str
    found: str
    edit: str | None = None

    title_text = (
        "expected `{self.closer}` to close the {self.what} opened at line {self.opener.line},"
        " found {self.found}"
    )
    label_text = "`{self.closer}` must come before this"
    second_place = "opener", "opened here"
    help_text = "write `{self.edit}`"
    explanation = """\
A bracket was opened and not closed before the text goes on with something that cannot stand
inside it, or ends.

Wrong: mechanism survey { output top
       check survey: dp(0)
Right: mechanism survey { output top }
       check survey: dp(0)
"""


class UnmatchedBracket(Mistake, code="DP103"):
    """A closing bracket that closes nothing."""

    closer: str

    title_text = "`{self.closer}` closes nothing"
    explanation = """\
A closing bracket has no opening one: either it is one too many, or the opening one is missing.

Wrong: output (x + 1))
Right: output (x + 1)
"""


class WrongEqualsSign(Mistake, code="DP104"):
    """`=` where `:=` is meant, or the other way round."""

    found: str

    explanation = """\
`=` compares (and defines constants, functions and parameters); `:=` assigns to a variable.

Wrong: x = x + 1        const n := 5
Right: x := x + 1       const n = 5
"""

    @property
    def title(self) -> str:
        if self.found == "=":
            return "`=` compares; assign with `:=`"
        return "`:=` assigns to a variable; here `=` is meant"

    @property
    def help(self) -> str | None:
        return "write `:=`" if self.found == "=" else "write `=`"


class KeywordAsName(Mistake, code="DP105"):
    """A word of the language stands where a name is meant.

    `in_formula` if only there it is one.
    """

    word: str
    meaning: str
    can_quote: bool
    in_formula: bool

    explanation = """\
Keywords are reserved everywhere: a variable, constant or mechanism needs another name; a symbol or
label of that name is written in quotes. The operator words P D X F G U W R E are reserved inside
formulas only, where a name, symbol or label of that name is written in quotes.

Wrong: output if              check m: P>=1/2 [ X output = R ]
Right: output "if"            check m: P>=1/2 [ X output = "R" ]
"""

    @property
    def title(self) -> str:
        where = " in a formula" if self.in_formula else ", which cannot be a name"
        return f"`{self.word}` is {self.meaning}{where}"

    @property
    def help(self) -> str | None:
        if self.can_quote:
            other = "a name," if self.in_formula else "choose another name; a"
            return f'{other} symbol or label `{self.word}` is written `"{self.word}"` here'
        return "choose another name"


class ForeignSpelling(Mistake, code="DP107"):
    """A spelling from another language whose meaning is plain.

    `why` goes on from `meant`.
    """

    found: str
    meant: str
    why: str = ""

    explanation = """\
Other languages spell this so; this one does not.

Wrong: x == 1 and y != 2      x % 2       |x - x'| ≤ 3        return x      3 ln 2
Right: x = 1 & y != 2         x mod 2     abs(x - x') <= 3    output x      3 * ln 2
"""

    @property
    def title(self) -> str:
        if not self.meant:
            return f"`{self.found}` is no word of the language"
        return f"`{self.found}` is written `{self.meant}`"

    @property
    def help(self) -> str | None:
        return f"write `{self.meant}` {self.why}".rstrip() if self.meant else "leave it out"


class StrayCharacters(Mistake, code="DP108"):
    """Characters that begin nothing in the language."""

    characters: str

    explanation = """\
These characters have no meaning in a model file outside of comments and quoted names.

Wrong: output x @ 2
Right: output x * 2
"""

    @property
    def title(self) -> str:
        plural = "s" if len(self.characters) > 1 else ""
        shown = self.characters if len(self.characters) <= 20 else self.characters[:20] + "..."
        if not shown.isprintable():
            shown = shown.encode("unicode_escape").decode("ascii")
        return f"stray character{plural} `{shown}`"


class UnclosedQuote(Mistake, code="DP109"):
    """A quoted name that does not end on its line."""

    title_text = "this quote is not closed before the end of the line"
    help_text = 'add the closing `"`'
    explanation = """\
A quoted name ends on the line on which it begins.

Wrong: check "first answer survey: dp(ln 3)
Right: check "first answer" survey: dp(ln 3)
"""


class SlashComment(Mistake, code="DP110"):
    """A comment in the style of C."""

    found: str

    title_text = "`{self.found}` means nothing here: comments start with `#`"
    explanation = """\
Comments start with `#` and end with the line. Division without remainder is `div`.

Wrong: x := 1   // one       y := x // 2      -- a comment      /* a comment */
Right: x := 1   # one        y := x div 2     # a comment       # a comment
"""

    @property
    def help(self) -> str | None:
        match self.found:
            case "//":
                return "write `#` for a comment, `div` for division rounded down"
            case "--" | "%":
                return "write `#`"
            case _:
                return "put `#` at the start of every line of the comment"


class MalformedNumber(Mistake, code="DP111"):
    """Digits followed by letters."""

    text: str
    meant: str

    title_text = "`{self.text}` is neither a number nor a name"
    help_text = "write `{self.meant}`"
    explanation = """\
A number is digits, perhaps with a fraction and an exponent: `5`, `0.25`, `1e-6`. A name cannot
begin with a digit, and a product needs its `*`.

Wrong: 2x        1_000        0x10
Right: 2 * x     1000         16
"""


class NumberTooLong(Mistake, code="DP112"):
    """A literal whose exact value has too many digits to write down."""

    text: str
    n_digits: int
    limit: int

    explanation = """\
Numbers are exact here, and this one has more digits than can be written down, let alone computed
with. `1e-1000000000` is a fraction whose denominator has a billion digits.

Wrong: const delta = 1e-1000000000
Right: const delta = 1e-100
"""

    @property
    def title(self) -> str:
        shown = self.text if len(self.text) <= 30 else self.text[:20] + "..."
        return (
            f"`{shown}` is too large to write down: {self.n_digits:,} digits, limit {self.limit:,}"
        )


class NestedTooDeeply(Mistake, code="DP113"):
    """Brackets, blocks or operators nested beyond the limit."""

    limit: int

    title_text = "nested too deeply: more than {self.limit} levels"
    explanation = """\
Brackets, blocks and operators may be nested to a fixed depth, far beyond what a person writes. A
chain of `+`, `*`, `=>`, or of conditions `if ... else if ...` inside an expression nests once for
every link; chains of `&`, `|` and of comparisons do not.

Wrong: x1 + x2 + ... + x10000
Right: sum(i in 1..10000 : x[i])
"""

    @property
    def labels(self) -> tuple[Label, ...]:
        return () if self.span is None else (Label(self.span, f"level {self.limit + 1}"),)


class PolicyWithoutRange(Mistake, code="DP114"):
    """What follows `clamped`, `conditioned`, `folded`, `wrapped` is not a range.

    `bound` is that if it is a name or a number.
    """

    policy: str
    bound: str | None

    title_text = "`{self.policy}` needs a range `lo..hi` after it"
    help_text = "write `0..{self.bound}`"
    explanation = """\
A policy says what happens to results outside of a range, so the range `lo..hi` stands after it.

Wrong: geometric(x, 1/2) clamped 5
Right: geometric(x, 1/2) clamped 0..5
"""


class ArrayWithoutRange(Mistake, code="DP115"):
    """The brackets of an array declaration do not hold a range."""

    name: str
    size: str

    title_text = "the array `{self.name}` needs a range of indices, such as `{self.name}[1..n]`"
    help_text = "write `1..{self.size}` for indices from 1"
    explanation = """\
An array is declared with the range of its indices, both ends included.

Wrong: var a[5] := 0
Right: var a[1..5] := 0
"""


class MalformedBinder(Mistake, code="DP116"):
    """`f(e1 : e2)` where e1 is not `name in set`, or f binds nothing.

    `edit` is a name with a set.
    """

    function: str
    binds: bool
    edit: str | None

    help_text = "write `{self.edit}`, with the set that is meant"
    explanation = """\
`forall`, `exists`, `sum`, `product`, `max`, `min`, `count`, `argmax` and `argmin` bind one variable
that ranges over a set: `sum(i in 1..3 : a[i])`, perhaps with a condition, as in
`sum(i in 1..3 where i != j : a[i])`. For two variables, nest two of them.

Wrong: forall(1..3 : a[i] = 0)               sum(i in S, j in S : e)
Right: forall(i in 1..3 : a[i] = 0)          sum(i in S : sum(j in S : e))
"""

    @property
    def title(self) -> str:
        if self.binds:
            return f"`{self.function}` needs `name in set` before the `:`"
        return f"`{self.function}` does not bind a variable, so no `:` can stand in its parentheses"


class NotAPair(Mistake, code="DP117"):
    """One of several things after `adjacent` is not a pair."""

    title_text = "several things after `adjacent` must be pairs `(v, w)`"
    help_text = "join conditions with `|` or `&`, or write one `adjacent` for each"
    explanation = """\
After `adjacent` stands one condition over inputs and primed inputs, or `all`, or pairs of values
`(v, w)` of the only input. Several conditions are several clauses: their union counts.

Wrong: adjacent abs(a - a') <= 1, abs(b - b') <= 1
Right: adjacent abs(a - a') <= 1 | abs(b - b') <= 1
"""


class UnknownLibrary(Mistake, code="DP118"):
    """`import name.other` where name is not `std`."""

    name: str
    module: str

    title_text = "only `std` has libraries, not `{self.name}`"
    help_text = 'import a file by its path: `import "{self.name}/{self.module}.dpm"`'
    explanation = """\
`import std.NAME` brings in a library that ships with dpcheck. A file of your own is imported by its
path in quotes.

Wrong: import noise.laplace
Right: import "noise/laplace.dpm"
"""


class LogarithmOfQuotient(Mistake, code="DP119", severity="warning"):
    """`ln a/b` is (ln a)/b: right, but rarely meant."""

    written: str
    meant: str
    other: str

    title_text = "`{self.written}` means {self.meant}"
    help_text = "write `{self.other}` or `{self.meant}`"
    explanation = """\
`ln` binds tighter than `/`: `ln 3/2` is (ln 3)/2 = 0.549..., not ln(3/2) = 0.405... The two are
different budgets, so say which one is meant.

Unclear: dp(ln 3/2)
Clear:   dp(ln(3/2))        dp((ln 3)/2)
"""


class Misplaced(Mistake, code="DP120"):
    """A statement or declaration that belongs inside something else, or outside.

    `move` is its first and last line, and the line above which it can stand.
    """

    word: str
    home: str
    move: tuple[int, int, int] | None = None

    title_text = "`{self.word}` belongs {self.home}"
    explanation = """\
Statements, inputs and adjacency belong inside of a mechanism, states and rows inside of a chain;
checks, constants and functions stand at the top level of the file. Often a `}` too many, or one
too few, has ended a block early or late.

Wrong: mechanism m { input x in 0..1 } output x
Right: mechanism m { input x in 0..1  output x }
"""

    @property
    def help(self) -> str | None:
        if self.move is None:
            return None
        first, last, target = self.move
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        return f"move {lines} above line {target}"


class QuotedPrime(Mistake, code="DP121"):
    """A keyword with a prime."""

    word: str

    title_text = "`{self.word}` is a word of the language, so `{self.word}'` names nothing"
    explanation = """\
`x'` is the neighbor's value of the input x. A keyword cannot be an input, so it has no primed form.

Wrong: adjacent output' = output
Right: adjacent x' = x + 1
"""


class ForeignLanguage(Mistake, code="DP124"):
    """A whole text of another language, with how to say such a thing here."""

    language: str
    advice: str

    help_text = "{self.advice}"
    title_text = "this is {self.language}, not a model of dpcheck"
    explanation = """\
The text is a model or a program of another tool. Nothing else is said about it, because every line
would be a mistake. `dpcheck new NAME` writes a file to start from.

Wrong: dtmc  module die  s : [0..1] init 0;  [] s=0 -> 0.5 : (s'=0) + 0.5 : (s'=1);  endmodule
Right: chain die { state s[i in 0..1]  s[0] -> 1/2: s[0] + 1/2: s[1]  init s[0] }
"""


class IndentedBlock(Mistake, code="DP123"):
    """A block by `:` and indentation.

    `head` begins its first line.
    """

    head: str
    last_line: int

    title_text = "the block of `{self.head}` stands in braces, not behind a `:`"
    help_text = "write `{{` and, after line {self.last_line}, `}}`"
    explanation = """\
A block stands in braces. Indentation means nothing, and a `:` opens no block.

Wrong: mechanism m:                 if x = 1:
         output top                   output top
Right: mechanism m {                if x = 1 {
         output top                   output top
       }                            }
"""


class BreakOutsideLoop(Mistake, code="DP122"):
    """`break` with no loop around it in its mechanism."""

    title_text = "`break` stands outside of a loop"
    help_text = "put it inside of `for`, `while` or `repeat`; `stop` ends the run"
    explanation = """\
`break` leaves the innermost `for`, `while` or `repeat` around it. It never leaves a mechanism: one
that is run or sampled inside of a loop cannot end the loop of its caller. `stop` ends a run, or the
mechanism that is run or sampled.

Wrong: if done { break }                      with no loop around it
Right: while true { ...  if done { break } }
"""


class LatePrior(Mistake, code="DP127"):
    """`prior x ~ dist` after the first statement of its mechanism."""

    title_text = "`prior` stands after the first statement"
    help_text = "put it before the first statement; noise is drawn by `x ~ dist` without `prior`"
    explanation = """\
A prior is what the adversary believes about the data before the mechanism begins, so it is drawn
before all statements. What the mechanism itself draws is noise: `x ~ dist` without `prior`.

Wrong: y ~ geometric(others, 1/2) clamped 0..3  prior others ~ binomial(3, 1/4)
Right: prior others ~ binomial(3, 1/4)  y ~ geometric(others, 1/2) clamped 0..3
"""
