"""The quantities a claim can name: a row for each word.

A new quantity is a row here, the function that computes it (in `COMPUTED` or `TABULATED` of
`check/quantities/loss_values.py`, or in `CHANNEL_VALUES` of `decide_quantity.py`), and a line in
`docs/language.md`.
"""

from __future__ import annotations

from typing import Final, Literal

from dpcheck.records import dataclass


@dataclass(frozen=True)
class Parameter:
    """An argument: its name in the usage, what it may be, an example, what a mistake calls it.

    A quantity reads an argument of the kind `written` itself.
    """

    name: str
    kind: Literal["budget", "probability", "order", "digits", "written"]
    example: str = ""
    title: str = ""


DELTA: Final = Parameter("delta", "probability", "1/100", "δ")
EPSILON: Final = Parameter("epsilon", "budget", "ln 2")
PRIOR: Final = Parameter("prior", "probability", "1/2", "a prior")
DIGITS: Final = Parameter("digits", "digits", "20", "the number of digits")


@dataclass(frozen=True)
class QuantityWord:
    """What a word means in a claim.

    `of` is what determines it: events of output sequences, the privacy losses of pairs, the
    distributions of all inputs together, the errors of outputs, or the runs from one state. It is
    compared with bounds of its `value`; `dp` is the one that is true or false. Without arguments it
    is a table where `one_value` says what to compare instead. `overview` is what the overview of a
    file asks, and the head of that column.
    """

    word: str
    of: Literal["sequences", "losses", "channel", "errors", "runs"]
    value: Literal["budget", "number", "truth"] = "number"
    parameters: tuple[Parameter, ...] = ()
    n_required: int = 0
    may_be_infinite: bool = False
    one_value: str = ""
    usage_text: str = ""
    overview: tuple[str, str] | None = None

    @property
    def usage(self) -> str:
        """How it is written, with each number of arguments."""
        names = [parameter.name for parameter in self.parameters]
        counts = range(self.n_required, len(names) + 1)
        calls = (
            f"`{self.word}({', '.join(names[:n])})`" if n else f"`{self.word}`" for n in counts
        )
        return self.usage_text or " or ".join(calls)


PATH_PROBABILITY: Final = QuantityWord("P=?", "runs", usage_text="`P=? [ path ]`")
EXPECTATION: Final = QuantityWord("E=?", "runs", may_be_infinite=True, usage_text="`E=? [ value ]`")

_ROWS: Final = (
    QuantityWord("dp", "sequences", "truth", (EPSILON, DELTA), 1),
    QuantityWord(
        "epsilon", "sequences", "budget", (DELTA,), may_be_infinite=True, overview=("epsilon", "ε")
    ),
    QuantityWord("delta", "sequences", "number", (EPSILON,), 1, overview=("delta(0)", "δ(0)")),
    QuantityWord("total_variation", "sequences"),
    QuantityWord(
        "renyi",
        "losses",
        "budget",
        (Parameter("order", "order", "2", "the order of `renyi`"), DIGITS),
        n_required=1,
        may_be_infinite=True,
        overview=("renyi(2)", "renyi(2)"),
    ),
    QuantityWord(
        "zcdp", "losses", "budget", (DIGITS,), may_be_infinite=True, overview=("zcdp", "zcdp")
    ),
    QuantityWord(
        "tradeoff",
        "losses",
        parameters=(Parameter("type_one", "probability", "1/10", "the type I error"),),
        one_value="tradeoff(type_one)",
        usage_text="`tradeoff(type_one)`, or `tradeoff` for the whole curve",
    ),
    QuantityWord("loss_tail", "losses", "number", (EPSILON,), 1),
    QuantityWord(
        "posterior_max",
        "losses",
        parameters=(PRIOR,),
        n_required=1,
        overview=("posterior_max(1/2)", "posterior(1/2)"),
    ),
    QuantityWord("posterior_min", "losses", "number", (PRIOR,), 1),
    QuantityWord("bayes_vulnerability", "channel", overview=("bayes_vulnerability", "bayes vuln.")),
    QuantityWord(
        "min_entropy_leakage", "channel", "budget", overview=("min_entropy_leakage", "leakage")
    ),
    QuantityWord(
        "accuracy",
        "errors",
        parameters=(
            Parameter("output(i)", "written"),
            Parameter("value", "written"),
            Parameter("beta", "written", "1/20", "β"),
        ),
        n_required=2,
        may_be_infinite=True,
        usage_text=(
            "`accuracy(value, beta)`, or `accuracy(output(i), value, beta)` of the i-th output"
        ),
    ),
    QuantityWord("profile", "losses", one_value="delta(epsilon)"),
    QuantityWord("losses", "losses", one_value="loss_tail(epsilon)"),
)

QUANTITIES: Final = {row.word: row for row in _ROWS}
"""The rows by their words; `P=?` is no word."""


def words_where(*, of: str | None = None, value: str | None = None) -> list[str]:
    """Return the words of the rows with the given `of` and `value`."""
    rows = (row for row in _ROWS if of in (None, row.of) and value in (None, row.value))
    return [row.word for row in rows]
