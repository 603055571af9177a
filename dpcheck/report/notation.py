"""How numbers, sequences of outputs, and events are written for people.

A number is exact with a decimal of 7 digits beside it: after `=` where the decimal is all of it,
else after `≈`. A number too long to read is its decimal alone; the JSON answer has it in full. A
sequence is `no, then yes`, a set of them `{ no; yes, then bot (31 times); and 9 more }`. No float
is involved; decimals are rounded from the correctly rounded text of an `Amount`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
)
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import assert_never

from dpcheck.check.values.ranges import in_ranges
from dpcheck.check.values.verdicts import (
    OPPOSITE,
    Amount,
    Enough,
    OutputSequence,
    Phrase,
    PhrasePart,
    ShownEvent,
    Sides,
)
from dpcheck.report.characters import visible

LONGEST = 60
"""Characters of the longest number that is shown exactly."""
_LONGEST_EXPRESSION = 300
"""Three lines of a terminal; nobody reads more of a polynomial."""
LONGEST_IN_TABLE = 9
"""Characters of exact numbers that stand in tables."""
_DIGITS_SHOWN = 7
"""Significant digits that a decimal is rounded to for the eye."""
_ALL_DIGITS = 17  # that an `Amount` has
_ALIKE = f"(equal in their first {_ALL_DIGITS} digits)"
_MAX_SHIFT = 10**17
"""Bounds exponents of decimals: the type `Decimal` holds no larger ones."""
_REPEATED = 3
"""So many equal outputs in a row are counted instead of listed."""
_SEQUENCES_SHOWN = 8
"""Sequences of an event that are shown."""
_SEQUENCE_SHOWN = 600
"""Characters of one sequence."""

_LONG_NUMBER = re.compile(
    rf"(?:(?<= )= )?(?:(?<![\w.])|(?<=\.\.))(-?\d[\d/]{{{LONGEST},}})(?!\w|\.\d)"
)
_LONG_INTEGER = re.compile(rf"(?<![\w.])\d{{{LONGEST},}}(?![\w.])")
_RATIONAL = re.compile(r"-?\d+(/\d+)?")
_MAX_EXACT = 4000
"""Python reads no integers of more than 4,300 digits."""
_UNREADABLE = re.compile(r"\^\(|ln\(.*exp")
"""Exact values that no claim may contain: with roots, and logarithms of powers of e."""
_ROUNDING = {"": ROUND_HALF_EVEN, "<=": ROUND_CEILING, ">=": ROUND_FLOOR}

# --- numbers -------------------------------------------------------------------------------


def amount_text(amount: Amount, digits: int = _DIGITS_SHOWN) -> str:
    """Return an amount exactly and, where that says more, as a decimal of so many digits.

    >>> amount_text(Amount("3/4", "0.75")), amount_text(Amount("1/3", "0.33333333333333333"))
    ('3/4 = 0.75', '1/3 ≈ 0.3333333')
    >>> amount_text(Amount("ln(3)", "1.0986122886681097", exp="3"))
    'ln(3) ≈ 1.098612'
    """
    exact = amount.exact
    if amount.param is not None:
        return expression_text(exact)
    if exact in (amount.decimal, "inf") or _is_interval(amount):
        return exact
    if len(exact) > LONGEST:
        return f"≈ {_rounded(amount.decimal, digits)} (exact: {_length(exact)})"
    short = _rounded(amount.decimal, digits)
    return exact if exact == short else f"{exact} {'=' if _is_same(exact, short) else '≈'} {short}"


def amount_object(amount: Amount) -> dict[str, object]:
    """Return an amount as an object of JSON: exact where it has such a form, and as a decimal.

    What depends on a parameter has none.

    >>> amount_object(Amount("1/2", "0.5"))
    {'exact': '1/2', 'decimal': '0.5'}
    >>> amount_object(Amount("-ln(alpha)", "-ln(alpha)", param="alpha"))
    {'exact': '-ln(alpha)'}
    """
    made: dict[str, object] = {} if amount.exact.startswith("in [") else {"exact": amount.exact}
    if amount.exp is not None:
        made["exp"] = amount.exp
    if amount.enclosure is not None:
        made["enclosure"] = list(amount.enclosure)
    return made if amount.param is not None else {**made, "decimal": amount.decimal}


def number_text(
    amount: Amount, longest: int = LONGEST_IN_TABLE, digits: int = _DIGITS_SHOWN
) -> str:
    """Return an exact number where it is short, as in a table's cell, else a decimal.

    >>> number_text(Amount("3/4", "0.75"))
    '3/4'
    >>> number_text(Amount("161/648000", "0.00024845679012345679"))
    '≈ 0.0002484568'
    >>> number_text(Amount("3/2", "1.5"), 0), number_text(Amount(f"1/{10**30}", "1e-30"), 0)
    ('3/2', '≈ 1e-30')
    >>> number_text(Amount("in [0, 2.5811747917e-9]", "0", enclosure=("0", "2.5811747917e-9")))
    'in [0, 2.581175e-9]'
    """
    if amount.decimal == "0" and (interval := _interval_text(amount, digits)) is not None:
        return interval  # it may be 0, and need not
    if len(amount.exact) <= longest and not _is_interval(amount):
        return amount.exact
    if amount.decimal == "inf":
        return "inf"
    short = _rounded(amount.decimal, digits)
    about = f"≈ {short}"
    is_exact = len(amount.exact) <= len(about) and _is_same(amount.exact, short)
    return amount.exact if is_exact else about


def readable(amount: Amount, longest: int = 24, digits: int = _DIGITS_SHOWN) -> str:
    """Return an amount exactly with its decimal, or as a decimal alone where the text is longer.

    >>> third = Amount("1/3", "0.33333333333333333")
    >>> readable(third), readable(third, 2), readable(Amount("4", "4"), 0)
    ('1/3 ≈ 0.3333333', '≈ 0.3333333', '4')
    >>> readable(Amount("in [0, 2.5811747917e-9]", "0", enclosure=("0", "2.5811747917e-9")), 0)
    'in [0, 2.581175e-9]'
    """
    if (interval := _interval_text(amount, digits)) is not None:
        return interval
    is_decimal = amount.exact == amount.decimal and len(amount.exact) < 10
    is_short = is_decimal or len(amount.exact) <= longest
    return amount_text(amount, digits) if is_short else number_text(amount, 0, digits)


def shortened(text: str) -> str:
    """Return the text with numbers too long to read as decimals, their digits counted.

    >>> shortened("x = 1/" + "7" * 80)
    'x ≈ 1.285714e-80 (81 digits)'
    >>> shortened("x in 0..1" + "0" * 80)
    'x in 0..≈ 1e+80 (81 digits)'
    """
    return _LONG_NUMBER.sub(_shorten, text)


def counted(count: int, noun: str) -> str:
    """Return how many of something there are.

    >>> counted(1, "claim"), counted(2000, "claim")
    ('1 claim', '2,000 claims')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def expression_text(expression: str) -> str:
    """Return an expression over a parameter; of a long one with rounded numbers, or how it begins.

    >>> expression_text("alpha^3 - alpha - 1")
    'alpha^3 - alpha - 1'
    >>> expression_text(f"ln({10**954}/p)")
    '≈ ln(1e+954/p) (exact: 955 digits)'
    >>> expression_text(" + ".join(f"exp({k}*eps)" for k in range(200, 0, -1)))[30:]
    'exp(198*eps) + ... (200 terms; the JSON answer has all)'
    """
    if len(expression) <= _LONGEST_EXPRESSION:
        return expression
    short = _LONG_INTEGER.sub(lambda match: _rounded(match[0]), expression)
    about = "" if short == expression else "≈ "
    if len(short) <= _LONGEST_EXPRESSION:
        return f"{about}{short} (exact: {_length(expression)})"
    first = re.match(r"(?:\S+ [+-] ){3}", short)
    n_terms = expression.count(" + ") + expression.count(" - ") + 1
    return f"{about}{first[0] if first else ''}... ({n_terms} terms; the JSON answer has all)"


def phrase_text(phrase: Phrase, written: Callable[[Amount], str] | None = None) -> str:
    """Return a phrase, its numbers `written` so, or as they are alone: with a decimal beside them.

    These have as many digits as tell them apart; what depends on a `param` has none.

    >>> low, high = Amount("1" * 99, "0.25000000010000000"), Amount("2" * 99, "0.25000000020000000")
    >>> phrase_text(Phrase.of("between ", low, " and ", high))
    'between ≈ 0.2500000001 (exact: 99 digits) and ≈ 0.2500000002 (exact: 99 digits)'
    """
    if written is not None:
        return phrase.written(partial(_part_text, written=written))
    amounts = [part for part in phrase.parts if isinstance(part, Amount)]
    digits = digits_apart([amount for amount in amounts if amount.param is None])
    text = phrase_text(phrase, partial(amount_text, digits=digits or _ALL_DIGITS))
    return text if digits else f"{text} {_ALIKE}"


def requirement_text(requirement: Phrase, sides: Sides | None) -> str:
    """Return what fails, in exact numbers, and as decimals what is so instead.

    >>> p, q = Amount("1/3", "0.33333333333333333"), Amount("1/6", "0.16666666666666667")
    >>> requirement_text(Phrase.of(p, " <= ", q), Sides(p, "<=", q))
    '1/3 <= 1/6      0.3333333 > 0.1666667'
    """
    if sides is None:
        return phrase_text(requirement)
    return f"{phrase_text(requirement, partial(number_text, longest=LONGEST))}{_fact(sides)}"


def _fact(sides: Sides) -> str:
    """Return the true comparison of two decimals, of as many digits as tell them apart.

    Of values that no decimal at hand tells apart only this is said.
    """
    digits = digits_apart([sides.left, sides.right])
    if digits is None:
        return f"      {_ALIKE}"
    left, right = (_rounded(each.decimal, digits) for each in (sides.left, sides.right))
    return "" if left == right else f"      {left} {OPPOSITE[sides.comparison]} {right}"


def digits_apart(amounts: Sequence[Amount]) -> int | None:
    """Return how many digits tell different numbers apart; None where there are not so many."""
    n_different = len({each.exact for each in amounts})
    for digits in range(_DIGITS_SHOWN, _ALL_DIGITS + 1):
        if len({_rounded(each.decimal, digits) for each in amounts}) >= n_different:
            return digits
    return None


def enough_text(found: Enough, written: Callable[[Amount], str]) -> str:
    """Return what can be pasted: the exact number where it is `written`, a rounded one on its side.

    Beside a name stand both, but for a lower bound.

    >>> third = Amount("1/3", "0.33333333333333333")
    >>> enough_text(Enough(third, "<=", "delta"), amount_text)
    'delta = 1/3 <= 0.3333334'
    >>> enough_text(Enough(third, ">="), partial(readable, longest=2))
    '0.3333333'
    """
    is_bound = bool(found.name) and found.side == ">="
    amount, text = found.amount, "" if found.end or is_bound else written(found.amount)
    is_exact = text and not text.startswith("≈") and not _UNREADABLE.search(amount.exact)
    if is_exact and found.name and "≈" not in text:
        return f"{found.name} = {text}"
    bound = found.end or _rounded(amount.decimal)
    if not found.end and not _is_same(amount.exact, bound):
        bound = _rounded(amount.decimal, side=found.side)
    bound = "1" if found.is_chance and Decimal(bound) > 1 else bound
    if found.name:
        return f"{found.name}{f' = {amount.exact}' if is_exact else ''} {found.side} {bound}"
    exact = f"({amount.exact})" if " " in amount.exact else amount.exact
    return exact if is_exact else bound


def _part_text(part: PhrasePart, written: Callable[[Amount], str]) -> str:
    match part:
        case Enough():
            return enough_text(part, written)
        case Amount():
            return written(part)
        case OutputSequence():
            return sequence_text(part)
        case _:
            return shortened(visible(part))


def _is_interval(amount: Amount) -> bool:
    """Return whether the text is an enclosure, whose ends are decimals already."""
    ends = amount.enclosure
    return ends is not None and amount.exact.startswith("in [") and len(ends[0]) <= LONGEST


def _rounded(decimal: str, digits: int = _DIGITS_SHOWN, side: str = "") -> str:
    """Return a decimal rounded to the digits shown, or to one on a side of what it stands for.

    That is off from the 17 digits of an `Amount`, which are correctly rounded, by less than a unit
    of the last one: the next decimal of so many digits is beyond it.

    >>> _rounded("0.33333333333333333"), _rounded("9.9999999999e+500000000000000000000")
    ('0.3333333', '1e+500000000000000000001')
    >>> _rounded("0.5", side="<="), _rounded("0.5", side=">=")
    ('0.5000001', '0.4999999')
    """
    context = Context(digits, _ROUNDING[side], Emin=MIN_EMIN, Emax=MAX_EMAX)
    mantissa, _, power = decimal.lower().partition("e")
    shift = int(power or 0)
    is_far = abs(shift) > _MAX_SHIFT  # for the type `Decimal`
    given = Decimal(mantissa if is_far else decimal)
    if side:
        full = Context(_ALL_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)
        given = given.next_plus(full) if side == "<=" else given.next_minus(full)
    rounded = context.plus(given)
    if not rounded.is_finite():
        return decimal
    if rounded == 0:
        return "0"
    if -7 <= rounded.adjusted() < 15 and not is_far:
        text = f"{rounded:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    exponent = rounded.adjusted() + (shift if is_far else 0)
    leading = rounded.scaleb(-rounded.adjusted(), context).normalize(context)
    return f"{leading:f}e{exponent:+d}"


def _is_same(exact: str, short: str) -> bool:
    """Return whether a short decimal is all of a rational number.

    Those of more than `_MAX_EXACT` characters are not read.
    """
    return (
        len(exact) <= _MAX_EXACT
        and bool(_RATIONAL.fullmatch(exact))
        and "e+" not in short
        and Fraction(exact) == Fraction(short)
    )


def _length(text: str) -> str:
    """Return how long a number is: its digits, or the characters of a longer expression."""
    n_digits = sum(map(str.isdigit, text))
    is_fraction = n_digits > 0.8 * len(text)
    return f"{n_digits:,} digits" if is_fraction else f"{len(text):,} characters"


def _shorten(match: re.Match[str]) -> str:
    above, _, below = match[1].partition("/")
    decimal = Context(prec=_ALL_DIGITS).divide(Decimal(above), Decimal(below or "1"))
    return f"≈ {_rounded(str(decimal))} ({_length(match[1])})"


def _interval_text(amount: Amount, digits: int) -> str | None:
    """Return the ends of an enclosure, None where one decimal stands for both."""
    if amount.enclosure is None or not _is_interval(amount):
        return None
    below, above = amount.enclosure
    if _rounded(below, digits) == _rounded(above, digits):
        return None
    low = "0" if below == "0" else _rounded(below, digits, ">=")
    return f"in [{low}, {_rounded(above, digits, '<=')}]"


# --- sequences of outputs ------------------------------------------------------------------


def sequence_text(sequence: OutputSequence) -> str:
    """Return a sequence of outputs; equal ones in a row are counted, two of them beside others.

    >>> sequence_text(OutputSequence(("no", "yes"))), sequence_text(OutputSequence(("bot",) * 31))
    ('no, then yes', 'bot (31 times)')
    >>> sequence_text(OutputSequence(("no", "yes", "yes")))
    'no, then yes (twice)'
    >>> sequence_text(OutputSequence(("no", "no")))
    'no, then no'
    >>> sequence_text(OutputSequence(())), sequence_text(OutputSequence((), "diverged"))
    ('no output', 'no output, then diverged')
    """
    steps = [*_steps(sequence.outputs)]
    match sequence.ending:
        case "stopped":
            steps = steps or ["no output"]
        case "diverged":
            steps = [*(steps or ["no output"]), "diverged"]
        case "goes on":
            steps = [*steps, "anything"]
        case _ as never:
            assert_never(never)
    text = ", then ".join(steps)
    return text if len(text) <= _SEQUENCE_SHOWN else f"{text[:_SEQUENCE_SHOWN]}…"


def _steps(outputs: Sequence[str]) -> Iterator[str]:
    """Yield outputs as steps of a sequence.

    The language writes every other output that could be read as the words of a sequence in quotes.
    """
    for output, group in groupby(outputs):
        shown = '"anything"' if output == "anything" else shortened(visible(output))
        times = sum(1 for _ in group)
        if times >= _REPEATED or 2 == times < len(outputs):
            yield f"{shown} ({'twice' if times == 2 else f'{times} times'})"
        else:
            yield from [shown] * times


def event_text(event: ShownEvent, room: int | None = None, n_all: int = 0) -> str:
    """Return an event: one sequence as it is, several as a set, words as they are.

    Of a set so many sequences are shown as fit in `room` characters, but at least one. It may have
    more of them, `n_all`.

    >>> event_text((OutputSequence(("a",)), OutputSequence(("b", "c"))))
    '{ a; b, then c }'
    >>> event_text(tuple(OutputSequence((text,), has_all_beyond=True) for text in ("0", "< 0")))
    'output <= 0'
    """
    if isinstance(event, Phrase):
        return phrase_text(event, None if room is None else number_text)
    n_all = max(n_all, len(event))
    if n_all == 1:
        return sequence_text(event[0])
    if n_all == len(event):
        event = in_ranges(event)
        n_all = len(event)
    if n_all == 1:
        return f"{'output ' * (len(event[0].outputs) == 1)}{sequence_text(event[0])}"
    shown = [sequence_text(each) for each in event[:_SEQUENCES_SHOWN]]
    text = _set_text(shown, n_all)
    while room is not None and len(text) > room and len(shown) > 1:
        text = _set_text(shown := shown[:-1], n_all)
    return text


def _set_text(shown: Sequence[str], n_all: int) -> str:
    more = [f"and {n_all - len(shown):,} more"] if n_all > len(shown) else []
    return f"{{ {'; '.join([*shown, *more])} }}" if n_all else ""
