"""From text to trees: tuples (word, parts...), one word a construct.

A grammar has declarations, statements and what stands between operators; an operator takes what
binds tighter (Pratt, POPL 1973). The text is one that `check` accepts: some others are read as if
they were one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpcheck.reference.values import KEYWORDS, WrongProgram

Tree = Any
Block = tuple[Tree, ...]

GRAMMAR = """
file: part*
part: "import" (quoted | name+.)
  | ("const" | "fun" | "dist") name ('(' name*, ')' | ) '=' expression
  | "param" name ends
  | ("mechanism" | "chain") name ('(' parameter*, ')' | ) block
  | ("check" | "refute" | "compute") line quoted? target ('for' about)? ('at' formula)? ':' formula
  | ("input" | "public") name bracketed? 'in' expression where?
  | "adjacent" expression+, ('~' expression where?)?
  | "prior" postfix '~' expression
  | "var" name bracketed? ('in' expression)? (':=' expression)?
  | "output" expression | "run" target | "query" index "fixed"?
  | "state" postfix (':' label+, | ) | ("init" | "observe") expression+,
  | stop | loop | while | repeat | conditional | step
block: '{' part* '}'
parameter: name ('=' expression)?
target: name ('(' expression*, ')' | )
about: name ends
ends: '>' sum | 'in' ("(" | "[") sum ',' sum (")" | "]")
index: name 'in' expression
where: 'where' expression
bracketed: '[' expression ']'
stop: "stop"
loop: 'for' index+, where? block
while: "while" expression block
repeat: 'repeat' expression block
conditional: "if" expression block ('else' (another | block))?
another: conditional
step: (postfix | pattern) ((":=" | "~") expression | "->" branch++)?
pattern: open name*, ')'
branch: expression ('~' expression)? ':' postfix
label: name | quoted
operand: number | parenthesis | set
  | "if" expression 'then' expression 'else' expression
  | "!" until | ("-" | "ln") sign | "X" until | ("F" | "G") ('<=' bound)? until
  | ("P" | "E") limits bracketed | "D" '{' expression (',' expression)? '}' bracketed
  | call | quotation
number: digits
parenthesis: '(' expression+, ')'
set: '{' pair*, source? '}' "normalized"?
source: 'for' index where?
pair: expression (':' expression)?
call: (name | "forall" | "exists" | "output") arguments?
quotation: quoted arguments?
arguments: '(' expression*, binding? ')'
binding: where? ':' expression
limits: "in" '[' expression ',' expression ']' | (">=" | ">" | "<=" | "<" | "=") ("?" | bound)
bound: negated | '(' expression ')' | fraction
negated: "-" bound
fraction: atom ('/' atom)?
atom: number | variable
variable: name | quoted
indices: expression+, ']'
"""
"""'x' is taken, "x" kept; `?` is None if it is missing; `*,` takes any with commas, `++` some with
plus signs; nothing stands for (). A rule keeps a tuple, or what `MEANINGS` say; one thing is
that thing. Options differ in what they begin with."""
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "in")
LEVELS = (
    ("clamped", "conditioned", "folded", "wrapped", "unbounded"),
    ("=>",),
    ("|",),
    ("&",),
    ("U", "W", "R"),
    (),  # before something: ! X F G
    COMPARISONS,
    ("..",),
    ("+", "-"),
    ("*", "/", "div", "mod"),
    (),  # before something: - ln
    ("^",),
    ("[",),
)
"""The operators between two expressions, or behind one, from loosest to tightest."""
POWER = {word: power for power, words in enumerate(LEVELS) for word in words}
PARTS = {"expression": 0, "until": 5, "range": 7, "sum": 8, "sign": 10, "postfix": 12}
"""Expressions whose operators bind at least so tightly."""
OF_FORMULAS = frozenset("PDEXFGUWR")
"""Operators that are names elsewhere."""
SKIP = r"(?:[\s\ufeff;]|\#[^\n\r]*+)*+"
TOKEN = re.compile(
    rf"""[\s\ufeff;]|\#[^\n\r]*|(?P<name>[^\W\d]\w*'?)
    |(?P<digits>\d+(?:\.\d+)?(?:[eE][+-]?\d{{1,5}}(?!\d))?)|"(?P<quoted>[^"\n\r]*)"
    |(?P<open>\((?={SKIP}\w+{SKIP}(?:,{SKIP}\w+{SKIP})*\){SKIP}(?::=|~)))
    |(?P<sign>:=|->|=>|\.\.|!=|<=|>=|[-=<>!&|~+*/^?.,:()\[\]{{}}])|(?P<none>.)""",
    re.VERBOSE,
)


def looped(indices: Block, where: Tree, block: Block) -> Tree:
    """Return the loops of `for i in S, j in T where c { }`, inside of each other."""
    if where is not None:
        block = (("if", where, block, None),)
    for index in reversed(indices):
        block = (("for", *index, block),)
    return ("loop", block)


def called(name: str, arguments: Block, binding: Block | None) -> Tree:
    """Return `f(a, b)`, or a binder `f(i in S where c : e)`."""
    if binding is None:
        return ("call", name, arguments)
    ((_, _, ((_, variable), domain)),) = arguments
    return ("binder", name, (variable, domain, binding[0]), binding[1])


def ends(first: Tree, *rest: Tree) -> Tree:
    """Return what the values of a parameter compare with: `in (0, 1]`, or `> 0`."""
    if not rest:
        return (">", first), ("<", ("name", "inf"))
    low, high, close = rest
    return (">" if first == "(" else ">=", low), ("<" if close == ")" else "<=", high)


def exact(text: str) -> int | Fraction:
    """Return a number as it is written."""
    found = Fraction(text)
    return int(found) if found.denominator == 1 else found


MEANINGS: dict[str, Callable[..., Tree]] = {
    "target": lambda name, arguments: ("call", name, arguments),
    "ends": ends,
    "stop": lambda word: (word,),
    "loop": looped,
    "while": lambda *parts: ("loop", (parts,)),
    "repeat": lambda times, block: looped(
        (("repeat", ("..", ("constant", 1), times)),), None, block
    ),
    "another": lambda tree: (tree,),
    "step": lambda place, sign, *value: (sign or "alone", place, *value),
    "pattern": lambda _, names: ("pattern", names),
    "branch": lambda a, drawn, to: (None, a, to) if drawn is None else (a[1], drawn, to),
    "number": lambda text: ("constant", exact(text)),
    "parenthesis": lambda parts: parts[0] if len(parts) == 1 else ("tuple", parts),
    "set": lambda *parts: ("set", *parts),
    "source": lambda index, where: (*index, where),
    "call": lambda name, behind: called(name, *behind) if behind else ("name", name),
    "quotation": lambda name, behind: called(name, *behind) if behind else ("quoted", name),
    "fraction": lambda over, under: over if under is None else ("/", over, under),
    "variable": lambda name: ("name", name),
}


def rules_of(grammar: str) -> dict[str, Tree]:
    """Return the options of each rule: sequences of (a mark or options, how often)."""

    def options(marks: list[str]) -> Tree:
        found: list[list[Tree]] = [[]]
        while marks and (mark := marks.pop()) != ")":
            if mark == "|":
                found.append([])
            elif mark[0] in "?*+":
                found[-1][-1] = (found[-1][-1][0], mark)
            else:
                found[-1].append((options(marks) if mark == "(" else mark, ""))
        return found

    rows = (row.partition(":") for row in re.split(r"\n(?=\w)", grammar.strip()))
    mark = r"""'[^']+'|"[^"]+"|\w+|[*+][,+.]?|[?()|]"""
    return {name: options(re.findall(mark, body)[::-1]) for name, _, body in rows}


RULES = rules_of(GRAMMAR)


class Parser:
    """The tokens of a text, (kind, text, where it begins), and the place of the next."""

    def __init__(self, text: str, *, in_formula: bool = False) -> None:
        """Split the text; in formulas `P D E X F G U W R` are operators."""
        found = TOKEN.finditer(text)
        self.tokens = [(m.lastgroup, m[m.lastgroup], m.start()) for m in found if m.lastgroup]
        self.tokens.append(("end", "", len(text)))
        self.text, self.at, self.in_formula = text, 0, in_formula

    def sees(self, *words: str) -> bool:
        """Return whether the next token is one of these words or signs."""
        kind, text, _ = self.tokens[self.at]
        is_meant = self.in_formula or text not in OF_FORMULAS
        return text in words and kind in ("name", "sign") and is_meant

    def next(self) -> str:
        """Take the next token."""
        self.at += 1
        return self.tokens[self.at - 1][1]

    def line(self) -> int:
        """Return the line of the next token."""
        return 1 + len(re.findall(r"\r\n|\n|\r", self.text[: self.tokens[self.at][2]]))

    def needed(self, kept: Block | None) -> Block:
        """Return what was kept, if that was there."""
        if kept is None:
            found = self.tokens[self.at][1]
            raise WrongProgram(f"line {self.line()}: `{found}` is not expected here")
        return kept

    def whole(self, rule: str) -> Tree:
        """Take all tokens by a rule of the grammar."""
        (found,) = self.needed(self.part(rule))
        self.needed(() if self.tokens[self.at][0] == "end" else None)
        return found

    def options(self, options: Tree) -> Block | None:
        """Take one of some options: return what it keeps of its tokens; None if none is there."""
        begins = self.at
        for option in options:
            kept = Block()
            for part, how in option:
                found = self.many(part, how) if how else self.part(part)
                if found is None and self.at == begins:
                    break
                kept += self.needed(found)
            else:
                return kept if option else ((),)
        return None

    def many(self, part: Tree, how: str) -> Block | None:
        """Take as many of a part as there are, with a sign between them, or at most one."""
        found, between = self.part(part), how[1:]
        if how == "?":
            return (None,) if found is None else found
        items = list[Tree]()
        while found is not None:
            items += found
            if between and not self.sees(between):
                break
            self.at += len(between)
            found = self.needed(self.part(part)) if between else self.part(part)
        return (tuple(items),) if items or how[0] == "*" else None

    def part(self, part: Tree) -> Block | None:
        """Take a part: options, a word, a token of some kind, an expression, or by a rule."""
        if isinstance(part, list):
            return self.options(part)
        if part[0] in "'\"":
            if not self.sees(part[1:-1]):
                return None
            word = self.next()
            return (word,) if part[0] == '"' else ()
        if part in PARTS:
            return self.expression(PARTS[part])
        if part == "formula":
            self.in_formula = True
            kept = self.expression(0)
            self.in_formula = False
            return kept
        if part == "line":
            return (self.line(),)
        if part not in RULES:
            kind, text, _ = self.tokens[self.at]
            is_there = kind == part and (kind == "quoted" or text not in KEYWORDS)
            return (self.next(),) if is_there else None
        kept = self.options(RULES[part])
        if kept is None or (len(kept) == 1 and part not in MEANINGS):
            return kept
        return (MEANINGS[part](*kept),) if part in MEANINGS else (kept,)

    # --- operators -------------------------------------------------------------------------

    def expression(self, least: int) -> Block | None:
        """Take an expression whose operators bind at least so tightly."""
        kept = self.part("operand")
        while kept is not None:
            word = self.tokens[self.at][1]
            if POWER.get(word, -1) < least or not self.sees(word):
                break
            kept = (self.operation(self.next(), kept[0], POWER[word]),)
        return kept

    def right(self, least: int) -> Tree:
        """Take the expression behind an operator."""
        return self.needed(self.expression(least))[0]

    def operation(self, word: str, left: Tree, power: int) -> Tree:
        """Take what stands behind an operator."""
        match word:
            case "[":
                return ("index", left, *self.needed(self.part("indices")))
            case "unbounded" | "clamped" | "conditioned" | "folded" | "wrapped":
                bounds = None if word == "unbounded" else self.right(PARTS["range"])
                return ("policy", word, left, bounds)
            case "U" | "W" | "R":
                bound = self.part("bound") if self.sees("<=") and self.next() else (None,)
                return (word, *self.needed(bound), left, self.right(power))
            case "..":
                return (word, left, None if self.sees("]", "{") else self.right(power + 1))
            case "=>" | "^":  # to the right
                return (word, left, self.right(power))
        if word not in COMPARISONS:
            return (word, left, self.right(power + 1))
        signs, parts = [word], [left, self.right(power + 1)]
        while self.sees(*COMPARISONS):
            signs.append(self.next())
            parts.append(self.right(power + 1))
        return ("compare", tuple(signs), tuple(parts))


def parsed(text: str, rule: str = "expression") -> Tree:
    """Return a text as a tree: a claim or a value, or by a rule, as of a `target` or a `file`."""
    return Parser(text, in_formula=rule == "expression").whole(rule)


def named(argument: Tree) -> tuple[str | None, Tree]:
    """Return the name and the value of an argument `x = e` of a mechanism; no name of another.

    The parser knows no mechanisms, and reads it as the comparison that it is elsewhere: x is what
    stands in front of all, since nothing in an expression binds more loosely than its operators.
    """
    match argument:
        case ("compare", (_, *signs), (("name", name), *parts)):
            return name, ("compare", tuple(signs), tuple(parts)) if signs else parts[0]
        case ("=>" | "|" | "&" as word, left, right):
            name, value = named(left)
            return (name, (word, value, right)) if name is not None else (None, argument)
    return None, argument
