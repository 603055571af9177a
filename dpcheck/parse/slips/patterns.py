"""Slips as patterns: what a text is elsewhere that begins with a token, and what it is here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpcheck.diagnostics import syntax
from dpcheck.logic.quantities import QUANTITIES
from dpcheck.parse.slips.reader import Edit, Reader, Slip
from dpcheck.parse.slips.vocabulary import BINDING, CLAIM_WORDS, DRAWN, POLICY_WORDS, TYPES
from dpcheck.parse.tables import WORDS
from dpcheck.parse.tokens import POLICY_TOKENS, QUESTION_WORDS
from dpcheck.source import Span

_INNER = r"((?:[^()\[\]{}\n]|\([^()\n]*\)|\{[^{}\n]*\}|\[[^\[\]\n]*\])*)"
"""Text between brackets, with brackets in it."""

_PLAIN = r"((?:[^():\n]|\([^():\n]*\))+)"
"""Text without a colon."""

_TYPE = f"(?:{'|'.join(sorted(TYPES))})"
_DRAWN = f"(?:{'|'.join(sorted(DRAWN))})"
_CLAIM = f"(?:{'|'.join(sorted(CLAIM_WORDS))})"
_OF_ONE = "argmax|argmin|max|min|sum|count|len|abs|floor|ceil|exp"
_WORD = f"(?:{'|'.join(WORDS)})"
_BUDGET = r"\d[\d./]*|ln\b[^:;#\n]*?"
_QUANTITY = f"({'|'.join(sorted(QUANTITIES))})"
_PROBABILITY = (
    (r"P(?:max|min|rob|r)(?= *[<>=])", "P"),
    (rf"P_\{{{_INNER}\}}", r"P\1"),
    (rf"P *([<>]=?|=) *([\w./]+(?= )|[\d./]+|\?) *\({_INNER}\)(?! *\[)", r"P\1\2 [\3]"),
)
_END = r"(?=\s*(?:[\n;}),]|$))"
_BEFORE = r"(output|:=|~|=|\() *(?!if\b)"
_TEST = r"((?:(?!then| else )[^\n{}])+?)"
_ASKED = r"((?:[^?:\n;{}()]|\([^()\n]*\))+?)"
_CHOICES = (
    (
        rf"{_BEFORE}{_ASKED}(?<![=<>]) *\? *([^:\n]+?) *: *([^\n;}}]+?){_END}",
        r"\1 if \2 then \3 else \4",
    ),
    (
        rf"{_BEFORE}((?:(?! if )[^\n;{{}}(])+?) if {_TEST} else ([^\n;}}]+?){_END}",
        r"\1 if \3 then \2 else \4",
    ),
)
_STATEMENT = r"((?:output|stop|run|return|print|break|\w+(?:\[\w+\])? *(?::=|~))[^\n;{}]*?)"
_CONDITION = r"((?:(?! then |:)[^\n;{}])+?)"
_IF_THEN = rf"if +{_CONDITION} +(?:then +)?{_STATEMENT}"
_BRANCHES = (
    (rf"if +{_CONDITION} +then *\{{", r"if \1 {"),
    (rf"{_IF_THEN}(?= +else +{_IF_THEN})", r"if \1 { \2 }"),
    (rf"{_IF_THEN} +else +{_STATEMENT} *{_END}", r"if \1 { \2 } else { \3 }"),
    (rf"{_IF_THEN} *{_END}", r"if \1 { \2 }"),
)
_STATES = tuple(
    (
        "states? +" + " *, *".join([r"(\w+)"] * n) + r"\b(?! *[:,])",
        " ".join(rf"state \{k}" for k in range(1, n + 1)),
    )
    for n in range(9, 1, -1)
)
_NOT_IN = ((r"([\w']+(?:\[\w+\])?) not in (\{[^{}]*\}|[\w.+-]+)", r"!(\1 in \2)"),)
_RANGE = r"(-?\w+\.\.-?\w+)"
_BETWEEN = "for all numbers between"
_NO_ENDS = "or, without ends, `in integers`"
_PAIRS = ((rf"(?<!-){_RANGE} *\* *{_RANGE}", r"(\1) * (\2)"),)
MOST_NEXT = 5
"""The longest row of `X` that anybody would write for a lower bound of steps."""

_STEPS = (
    (r"([FGU]) *\[ *0 *, *(\w+) *\]", r"\1<=\2"),
    (r"([FGU]) *\[ *(\d+) *\]", r"\1<=\2"),
    *(
        (rf"([FG]) *\[ *{n} *, *(\w+) *\]", rf"{'X ' * n}\1<=(\2 - {n})")
        for n in range(1, MOST_NEXT + 1)
    ),
    *((rf"([FG]) *>= *{n}(?= +[\w(!])", rf"{'X ' * n}\1") for n in range(1, MOST_NEXT + 1)),
)
_ENDS = r"([^\[\]\n,]+, *[^\[\]\n,]+?) *"
_LINE_END = r"(?= *(?:[\n;#]|$))"
_SET = r"([^:\n\[\]]+?)"
_ALL_OF = (
    (
        rf"(?:(?<=[\[(:&|!>] )|(?<=[\[(!]))(\w+) +(\w+) +in +{_SET} *: *{_SET}(?= *[\n\]])",
        r"\1(\2 in \3 : \4)",
    ),
    (rf"(?<!if )(\w+) +(\w+) *: *([^:;#\n]+){_LINE_END}", r"\1(\2 in 1..3 : \3)"),
    (rf"(?<=:= )(\w+) +(\w+) +in +{_SET} *: *([^:;#\n]+){_LINE_END}", r"\1(\2 in \3 : \4)"),
    (r"(?<=if )(\w+) +(\w+) *: *([^:{\n]+?)(?= *\{)", r"\1(\2 in 1..3 : \3)"),
    (rf"(?<=: )(\w+) +(\w+) +in +{_SET} *: *([^:;#\n]*\]){_LINE_END}", r"\1(\2 in \3 : \4)"),
    (rf"(?<=if )(\w+) +(\w+) +in +{_SET} *: *([^:{{\n]+?)(?= *\{{)", r"\1(\2 in \3 : \4)"),
)
_QUESTION = r"(\w+ [^:;#\n]+?) *: *([^:;#\n]*[\w)\]}])"
_PART = r"for +(?:all +)?(\w+) +in"
_INTERVAL = r"([(\[][^:;#{}\n]+,[^:;#{}\n]+[)\]])"
_ONE_INTERVAL = r"([(\[][^:;#{}\n,]+,[^:;#{}\n,]+?[)\]])"
_TWO_INTERVALS = rf"{_ONE_INTERVAL} *(?:and|or|&|\||,|∪) *{_ONE_INTERVAL}"
_ONE_VALUE = r"\{ *([^:,{}\n]+?) *\}"
_END_VALUE = r"(\d+(?:/\d+|\.\d+)?)"
_STATEMENT_END = r"(?=\s*(?:[\n;}#]|$))"
_BALANCED = r"(?:[^()\[\]\n;{}]|\([^()\n]*\)|\[[^\[\]\n]*\])+?"
_LOOP_BEHIND = ((rf"{_STATEMENT} +for +(\w+ +in +{_BALANCED}){_STATEMENT_END}", r"for \2 { \1 }"),)
_GENERATOR = rf"\(\[?([^\n;{{}}]+?) +for +(\w+) +in +({_BALANCED})"
_GENERATORS = tuple(
    (f"{word}{_GENERATOR}{part}", rf"{meant}(\2 in \3{condition} : \1)")
    for word, meant in BINDING.items()
    for part, condition in (
        (rf" +if +({_BALANCED})\]?\)", r" where \4"),
        (r"\]?\)", ""),
    )
)
_LOOP = r"for *\((?:int +)?(\w+) *:?= *([^;\n]+?) *; *\1 *"
PATTERNS = {
    "NAME": (
        (r"el(?:s|se)?if\b", "else if"),
        (r"(?<=[\w)\]] )(?:do|times|begin) *\{", "{"),
        (rf"count\((\w+) in {_PLAIN} where {_PLAIN}\)", r"count(\1 in \2 : \3)"),
        (r"log(?= +(?!in\b|mod\b|div\b)\w)", "ln"),
        (r"from +(\w+) +import +(\w+)", r"import \1.\2"),
        (r"(\w+) *: *(\w+) *\|=", r"\1 at \2:"),
        (rf"(?<![^\n]){_TYPE} +(\w+)", r"const \1"),
        (rf"{_TYPE} +([^\W\d]\w*)", r"\1"),
        (rf"(?<!state )(\w+) *: *{_TYPE}\b", r"\1"),
        *((rf"(?<=\) ){word}\b(?= *[-\w(\[])", meant) for word, meant in POLICY_WORDS.items()),
        (r"(?<=\) )(?:un(?:clamped|truncated|limited)|infinite)\b", "unbounded"),
        (r"(?:pure|approx\w*|\((?:ε|eps)\w*\))[- ]+(?=dp\()", ""),
        *_GENERATORS,
        (r"(?<=\} )(?:re)?normali[sz]ed?\b", "normalized"),
        (
            rf"({_OF_ONE}) +(?!(?:{_WORD}|{_CLAIM})\b)(\w+(?:\[\w+\])?)(?![\w\[(]| *(?:\(|:=|~))",
            r"\1(\2)",
        ),
        (rf"{_QUANTITY} *\{{{_INNER}\}}", r"\1(\2)"),
        (rf"(dp) +({_BUDGET}|[^\W\d]\w*){_LINE_END}", r"\1(\2)"),
        (rf"(delta) +(ln\b[^:;#\n]*?|[^\W\d]\w*){_LINE_END}", r"\1(\2)"),
        (rf"({_QUANTITY}(?:\([^()\n]*\))?) +({_BUDGET}){_LINE_END}", r"\1 <= \3"),
        (rf"D_ *\{{{_INNER}\}} *[\[(]{_INNER}[\])]", r"D{\1} [\2]"),
        *_PROBABILITY,
        *_STATES,
        *_NOT_IN,
        *_PAIRS,
    ),
    "PRIMED": _NOT_IN,
    **dict.fromkeys(("F", "G", "U"), _STEPS),
    **dict.fromkeys(("FORALL", "EXISTS"), _ALL_OF),
    "OUTPUT": (*_CHOICES, *_NOT_IN),
    **dict.fromkeys(("ASSIGN", "TILDE", "OPEN"), _CHOICES),
    "P": _PROBABILITY,
    "D": (
        (rf"D *[\[(]{_INNER}[\])] *[\[(]{_INNER}[\])]", r"D{\1} [\2]"),
        (rf"D *\{{{_INNER}\}} *\({_INNER}\)", r"D{\1} [\2]"),
    ),
    "STATE": ((r"state +(\w+) *: *init\b", r"state \1 init \1"), *_STATES),
    "PARAM": (
        (r"param +(\w+) *= *(\d\S*)", r"const \1 = \2"),
        (rf"(param +\w+ +in) *\] *{_ENDS}\[", r"\1 (\2)"),
        (rf"(param +\w+ +in) *\] *{_ENDS}\]", r"\1 (\2]"),
        (rf"(param +\w+ +in) *\[ *{_ENDS}\[", r"\1 [\2)"),
        (rf"param +(\w+) *, *(\w+) *((?:>|in\b)[^\n;#]*?){_LINE_END}", r"param \1 \3 param \2 \3"),
        (r"param +(\w+) *>= *(\d[\w./]*)", r"param \1 in [\2, inf)"),
        (rf"param +{_END_VALUE} *< *(\w+) *< *{_END_VALUE}", r"param \2 in (\1, \3)"),
        (rf"param +{_END_VALUE} *<= *(\w+) *< *{_END_VALUE}", r"param \2 in [\1, \3)"),
        (rf"param +{_END_VALUE} *< *(\w+) *<= *{_END_VALUE}", r"param \2 in (\1, \3]"),
        (rf"param +{_END_VALUE} *<= *(\w+) *<= *{_END_VALUE}", r"param \2 in [\1, \3]"),
        (r"param +(\w+) +in +0\.\.1\b", r"param \1 in (0, 1)"),
        (rf"param +(\w+) +in +{_END_VALUE}\.\.{_END_VALUE}", r"param \1 in [\2, \3]", _BETWEEN),
        (rf"param +(e(?:ps\w*)?){_LINE_END}", r"param \1 > 0"),
        (rf"param +(\w+){_LINE_END}", r"param \1 in (0, 1)"),
    ),
    "ASK": ((rf"query +(\w+){_LINE_END}(?!\s*in\b)", r"query \1 in {a, b}"),),
    "STOP": ((r"stop *\( *\)", "stop"),),
    "CONST": ((r"const +(\w+) +(\d\S*)", r"const \1 = \2"),),
    "NUMBER": (
        *_PAIRS,
        (r"(\d+(?:\.\d+)?) ?%(?! *[\w(\"{])", r"\1/100"),
        (r"(?<![({\[,])(?<![({\[,] )(\d{1,3}),(\d{3})(?:,(\d{3}))?(?!,?\d)", r"\1\2\3"),
    ),
    "IN": ((r"in +(\d+):(\d+)", r"in \1..\2"),),
    "EQ": ((r"= +([<>])", r"\1="), *_CHOICES),
    **dict.fromkeys(("LT", "GT", "NOT", "COLON"), ((r"([<>!:]) +=", r"\1="),)),
    **dict.fromkeys(
        ("INPUT", "PUBLIC"),
        (
            (rf"(\w+) +(\w+(?:\[[^\]\n]*\])?) *: *{_TYPE}(?= +in\b)", r"\1 \2"),
            (r"(\w+) +(\w+) *: *int(?:eger)?\b", r"\1 \2 in 0..3", _NO_ENDS),
            (r"(\w+) +(\w+) *: *bool(?:ean)?\b", r"\1 \2 in {false, true}"),
            (r"(\w+) +(\w+) *[:=](?! *=) *(\S+)", r"\1 \2 in \3"),
            (r"(\w+) +(\w+) *, *(\w+) +in +(\S+)", r"\1 \2 in \4 \1 \3 in \4"),
            (rf"(\w+) +(\w+(?:\[[^\]\n]*\])?){_LINE_END}(?!\s*in\b)", r"\1 \2 in 0..3"),
        ),
    ),
    "FOR": (
        (r"for +(?:each|all)\b(?= +\w+ +in\b)", "for"),
        (r"for +(\w+) *[:=](?! *=) *(\S+)", r"for \1 in \2"),
        (_LOOP + r"<= *([^;\n]+?) *;[^;{\n]*\)", r"for \1 in \2..\3"),
        (_LOOP + r"< *([^;\n]+?) *;[^;{\n]*\)", r"for \1 in \2..\3 - 1"),
        (rf"for *\( *(\w+ +in\b{_INNER})\)", r"for \1"),
    ),
    **dict.fromkeys(POLICY_TOKENS, ((r"(\w+) *\(([^,()\n]*), *([^,()\n]*)\)", r"\1 \2..\3"),)),
    **dict.fromkeys(
        QUESTION_WORDS,
        (
            (r"(\w+) +(\w+)\^(\w+)", r"\1 compose(\2, \3)"),
            (r"(\w+ [^:\n]+) (at [^:\n]+?) +(for \w+ in [(\[][^:\n]+?) *:", r"\1 \3 \2:"),
            (rf"{_QUESTION} +{_PART} +{_INTERVAL}{_LINE_END}", r"\1 for \3 in \4: \2"),
            (rf"{_QUESTION} +{_PART} +{_ONE_VALUE}{_LINE_END}", r"\1 for \3 in [\4, \4]: \2"),
            (rf"{_QUESTION} +(for +\w+ +in +[^\n;#{{}}]+?){_LINE_END}", r"\3 { \1: \2 }"),
            (rf"{_QUESTION} +(at [\w(!][^:;#\n]*?){_LINE_END}", r"\1 \3: \2"),
            (rf"(\w+ [^:\n]+?) +{_PART} +{_ONE_VALUE}(?=[^:\n]*:)", r"\1 for \2 in [\3, \3]"),
            (rf"(\w+ [^:\n]+?) +{_PART} +0\.\.1\b", r"\1 for \2 in (0, 1)"),
            (rf"(\w+ [^:\n]+?) +{_PART} +{_END_VALUE}\.\.{_END_VALUE}", r"\1 for \2 in [\3, \4]"),
            (r"(\w+ [^:\n]+?) +for +(?:all|every|any) +\w+(?= *(?:at\b[^:\n]*)?:)", r"\1"),
            (
                rf"(\w+ [^:\n]+?) +{_PART} +(\{{[^{{}}\n]*\}}) *: *([^:;#\n]+?){_LINE_END}",
                r"for \2 in \3 { \1 for \2 in [\2, \2]: \4 }",
            ),
            (
                rf"(check [^:\n]+?) +{_PART} +{_TWO_INTERVALS} *: *([^:;#\n]*[\w)\]}}])",
                r"\1 for \2 in \3: \5 \1 for \2 in \4: \5",
            ),
            (rf"(\w+) +({_CLAIM}\b *[^:\s][^:\n]*?) *: *(\w+)(?=\s*\n|$)", r"\1 \3: \2"),
        ),
    ),
}
"""What a text is elsewhere that begins with a token of a type, what it is here, and why."""

PATTERNS_OF_STATEMENTS = {
    "NAME": (
        (r"(\w+) *([-+*/])= *(\S+)", r"\1 := \1 \2 \3"),
        (rf"(\w+) *, *(\w+) *~ *({_DRAWN}\([^\n;#{{}}]*[\w)])", r"\1 ~ \3 \2 ~ \3"),
        (r"(\w+) *, *(\w+) *(:=|~)", r"(\1, \2) \3"),
        (r"(\w+)\+\+", r"\1 := \1 + 1"),
        (r"(\w+)--(?! )", r"\1 := \1 - 1"),
        (rf"(\w+) *<- *(?:\$ *(?=\w)|(?={_DRAWN}\b))(\w+)", r"\1 ~ \2"),
        (r"(\w+) *<- *(\S+)", r"\1 := \2"),
        (r"(\w+) *(?:<~|~~|:~) *(\S+)", r"\1 ~ \2"),
        *_LOOP_BEHIND,
    ),
    "OUTPUT": _LOOP_BEHIND,
    "ELSE": (
        (rf"else +{_STATEMENT} *{_END}", r"else { \1 }"),
        *((f"else +{pattern}", f"else {meant}") for pattern, meant in _BRANCHES),
    ),
    "IF": _BRANCHES,
    "IMPORT": ((rf"import +(?!std\b)(\w+){_LINE_END}", r'import "\1.dpm"'),),
    "FORALL": ((r"forall(?= +\w+ +in\b)", "for"),),
}
"""The same where a statement or an item may begin."""

_NORM = r"(?:\|\||‖)([^|‖\n]+?) *- *([^|‖\n]+?)(?:\|\||‖)"
PATTERNS_OF_OPERANDS = {
    "DOT": ((r"\.(\d+)", r"0.\1"),),
    "MINUS": _PAIRS,
    "NE": ((r"<>(?= *[\w(!])", "F"),),
    "OPEN_BRACKET": ((r"\[\](?= *[\w(!])", "G"),),
    "OR": (
        (_NORM + "_1", r"l1(\1, \2)"),
        (_NORM + "_(?:inf(?:ty)?|∞)", r"linf(\1, \2)"),
        (_NORM + "_0", r"hamming(\1, \2)"),
        (r"\|([^|\n]+)\|", r"abs(\1)"),
    ),
}
"""The same where an operand may begin."""


def as_elsewhere(r: Reader, i: int) -> Slip | None:
    """Look for what the tables of patterns know at token i."""
    kind = r.type(i)
    patterns = PATTERNS.get(kind, ())
    if r.begins_element(i):
        patterns += PATTERNS_OF_STATEMENTS.get(kind, ())
    if not r.ends_operand(i - 1) or r.is_first[i - 1]:
        patterns += PATTERNS_OF_OPERANDS.get(kind, ())
    for pattern, meant, *why in patterns:
        match = re.compile(pattern).match(r.source.text, r.tokens[i].start)
        if match:
            written, place = match.expand(meant), Span(r.source, *match.span())
            mistake = syntax.ForeignSpelling(place, match[0], written, *why)
            return Slip(mistake, tuple(_differences(match.start(), match[0], written)))
    return None


def _differences(start: int, found: str, written: str) -> Iterator[Edit]:
    """Yield the edits from one text to another: what stays keeps its places."""
    from difflib import SequenceMatcher

    for tag, i, j, k, m in SequenceMatcher(None, found, written, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Edit(start + i, start + j, written[k:m])
