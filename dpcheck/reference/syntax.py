"""From text to trees: tuples (word, parts...), one word a construct.

Declarations and statements begin with a word; in expressions an operator takes what binds tighter
(Pratt, POPL 1973). The text is one that `check` accepts: some others are read as if they were one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpcheck.reference.values import FALSE, KEYWORDS, TRUE, WrongProgram

Tree = Any
Block = tuple[Tree, ...]
Part = Callable[[], Any]

TOKEN = re.compile(
    r"""(?:[\s\ufeff]|\#[^\n\r]*)+|(?P<primed>[^\W\d]\w*')|(?P<name>[^\W\d]\w*)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|"(?P<quoted>[^"\n\r]*)"
    |(?P<sign>:=|->|=>|\.\.|!=|<=|>=|[-=<>!&|~+*/^?.,:;()\[\]{}])""",
    re.VERBOSE,
)
ITEMS = {
    "const": "name names = expression",
    "fun": "name names = expression",
    "dist": "name names = expression",
    "param": "name ends",
    "mechanism": "name parameters mechanism",
    "chain": "name parameters chain",
}
MECHANISM = {
    "input": "name bracketed in expression where?",
    "public": "name bracketed in expression where?",
    "adjacent": "expressions",
    "prior": "assignments",
}
STATEMENTS = {
    "var": "name bracketed in? :=?",
    "while": "expression statements",
    "output": "expression",
    "stop": "",
    "run": "target",
    "query": "index",
}
CHAIN = {
    "state": "label indices labels",
    "adjacent": "reference ~ reference where?",
    "init": "references",
    "observe": "references",
}
"""What stands behind the word that a construct begins with: parts, words or signs, and
expressions with a word before them that may be missing (`where?`)."""
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
FORMULA_POWER, RANGE_POWER, SUM_POWER, SIGN_POWER = 5, 7, 8, 10


class Parser:
    """The tokens of a text, (kind, text, line), and the place of the next."""

    def __init__(self, text: str, *, in_formula: bool = False) -> None:
        """Split the text; in formulas `P D E X F G U W R` are operators."""
        self.tokens: list[tuple[str, str, int]] = []
        self.at, self.in_formula = 0, in_formula
        place, line = 0, 1
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                raise WrongProgram(f"no token: {text[place : place + 20]!r}")
            if match.lastgroup is not None:
                self.tokens.append((match.lastgroup, match[match.lastgroup], line))
            line += len(re.findall(r"\r\n|\n|\r", match[0]))
            place = match.end()
        self.tokens += [("end", "", 0)] * 2

    # --- tokens ----------------------------------------------------------------------------

    def sees(self, *texts: str, ahead: int = 0) -> bool:
        """Return whether the next token is one of these words or signs."""
        kind, text, _ = self.tokens[self.at + ahead]
        return kind in ("name", "sign") and text in texts

    def takes(self, *texts: str) -> str | None:
        """Take the next token if it is one of these."""
        return self.text("name", "sign") if self.sees(*texts) else None

    def need(self, *texts: str) -> str:
        """Take the next token, which must be one of these."""
        found = self.takes(*texts)
        if found is None:
            raise WrongProgram(f"`{texts[0]}` expected before `{self.tokens[self.at][1]}`")
        return found

    def text(self, *kinds: str) -> str | None:
        """Take the next token if it is of one of these kinds."""
        kind, text, _ = self.tokens[self.at]
        if kind not in kinds:
            return None
        self.at += 1
        return text

    def name(self) -> str:
        """Take a name."""
        found = None if self.sees(*KEYWORDS) else self.text("name")
        if found is None:
            raise WrongProgram(f"a name expected before `{self.tokens[self.at][1]}`")
        return found

    def many(self, part: Part, close: str) -> Block:
        """Take parts between commas, and what closes them."""
        found: list[Tree] = []
        while not self.takes(close):
            if found:
                self.need(",")
            found.append(part())
        return tuple(found)

    def listed(self, part: Part) -> Block:
        """Take `(part, part)` if it is there."""
        return self.many(part, ")") if self.takes("(") else ()

    def separated(self, part: Part, sign: str = ",") -> Block:
        """Take one part or more with a sign between them."""
        found = [part()]
        while self.takes(sign):
            found.append(part())
        return tuple(found)

    def maybe(self, *texts: str) -> Tree:
        """Take an expression if one of these is in front of it."""
        return self.expression() if self.takes(*texts) else None

    def block(self, part: Part) -> Block:
        """Take parts in braces."""
        self.need("{")
        return self.until(lambda: self.takes("}"), part)

    def until(self, ends: Callable[[], object], part: Part) -> Block:
        """Take parts as long as nothing ends them; a `;` may stand behind each."""
        found = []
        while not ends():
            if not self.takes(";"):
                found.append(part())
        return tuple(found)

    # --- files -----------------------------------------------------------------------------

    def file(self) -> Block:
        """Take all items of a file."""
        return self.until(lambda: self.tokens[self.at][0] == "end", self.item)

    def shaped(self, shapes: dict[str, str]) -> Tree:
        """Take a construct that begins with one of these words, or return None."""
        word = self.takes(*shapes)
        if word is None:
            return None
        found = [word]
        for part in shapes[word].split():
            if part in PARTS:
                found.append(PARTS[part](self))
            elif part.endswith("?"):
                found.append(self.maybe(part[:-1]))
            else:
                self.need(part)
        return tuple(found)

    def item(self) -> Tree:
        """Take a declaration, an import, a question or questions."""
        if self.takes("import"):
            file = self.text("quoted")
            return ("import", self.separated(self.name, ".") if file is None else file)
        return self.shaped(ITEMS) or self.question()

    def question(self) -> Tree:
        """Take `check target at condition : claim`, or a `for` around questions."""
        if self.takes("for"):
            return self.loop(self.question)
        line = self.tokens[self.at][2]
        kind = self.need("check", "refute", "compute")
        self.text("quoted")
        target, self.in_formula = self.target(), True
        values = (self.name(), self.ends()) if self.takes("for") else None
        condition = self.maybe("at")
        self.need(":")
        claim, self.in_formula = self.expression(), False
        return ("question", kind, target, values, condition, claim, line)

    def ends(self) -> Tree:
        """Take what the values of a parameter compare with: `in (0, 1]`, or `> 0`."""
        if self.takes(">"):
            return ((">", self.expression(SUM_POWER)),)
        self.need("in")
        above = ">" if self.need("(", "[") == "(" else ">="
        low = self.expression(SUM_POWER)
        self.need(",")
        high = self.expression(SUM_POWER)
        return (above, low), ("<" if self.need(")", "]") == ")" else "<=", high)

    def target(self) -> Tree:
        """Take a mechanism or chain with its arguments."""
        return ("call", self.name(), self.listed(self.expression))

    def index(self) -> tuple[str, Tree]:
        """Take an index with its set."""
        name = self.name()
        self.need("in")
        return name, self.expression()

    def loop(self, part: Part) -> Tree:
        """Take the rest of `for i in S, j in T where c { }`: loops inside of each other."""
        indices, where, block = self.separated(self.index), self.maybe("where"), self.block(part)
        if where is not None:
            block = (("if", where, block, ()),)
        for name, domain in reversed(indices):
            block = (("for", name, domain, block),)
        return block[0]

    def conditional(self, part: Part) -> Tree:
        """Take the rest of `if c { } else if d { } else { }`."""
        condition, then, otherwise = self.expression(), self.block(part), Block()
        if self.takes("else"):
            otherwise = (self.conditional(part),) if self.takes("if") else self.block(part)
        return ("if", condition, then, otherwise)

    # --- mechanisms and chains -------------------------------------------------------------

    def statement(self) -> Tree:
        """Take a statement."""
        if self.sees("break") and not self.sees(":=", "~", "[", ahead=1):
            return (self.takes("break"),)
        if self.takes("if"):
            return self.conditional(self.statement)
        if self.takes("for"):
            return ("loop", (self.loop(self.statement),))
        if self.takes("repeat"):
            rounds = ("..", ("constant", 1), self.expression())
            return ("loop", (("for", "repeat", rounds, self.block(self.statement)),))
        found = self.shaped(STATEMENTS) or self.assignment()
        self.takes("fixed")
        return ("loop", (found,)) if found[0] == "while" else found

    def assignment(self) -> Tree:
        """Take `place := e` or `place ~ distribution`: a name, a cell or a pattern."""
        if self.takes("("):
            place: Tree = ("pattern", self.many(self.name, ")"))
        else:
            name, index = self.name(), self.bracketed()
            place = ("local", name) if index is None else ("cell", name, index)
        return (self.need(":=", "~"), place, self.expression())

    def begins_call(self) -> bool:
        """Return whether arguments come next: not the `(a, b) :=` of another statement."""
        ahead = 1
        while self.tokens[self.at + ahead][0] == "name" and self.sees(",", ahead=ahead + 1):
            ahead += 2
        is_closed = self.tokens[self.at + ahead][0] == "name" and self.sees(")", ahead=ahead + 1)
        return self.sees("(") and not (is_closed and self.sees(":=", "~", ahead=ahead + 2))

    def bracketed(self) -> Tree:
        """Take `[expression]` if it is there."""
        return self.many(self.expression, "]")[0] if self.takes("[") else None

    def row(self) -> Tree:
        """Take a row, or rows in a `for` or an `if`."""
        if self.takes("for"):
            return self.loop(self.row)
        if self.takes("if"):
            return self.conditional(self.row)
        source = self.reference()
        self.need("->")
        return ("row", source, self.separated(self.branch, "+"))

    def branch(self) -> Tree:
        """Take `weight: target`, or `v ~ distribution: target`."""
        name = self.name() if self.sees("~", ahead=1) else None
        self.takes("~")
        weight = self.expression()
        self.need(":")
        return (name, weight, self.reference())

    def label(self) -> str:
        """Take a label."""
        quoted = self.text("quoted")
        return self.name() if quoted is None else quoted

    def reference(self) -> tuple[str, Block]:
        """Take a label with the indices behind it."""
        return self.label(), self.many(self.expression, "]") if self.takes("[") else ()

    # --- expressions, distributions and formulas -------------------------------------------

    def expression(self, least: int = 0) -> Tree:
        """Take an expression whose operators bind at least so tightly."""
        found = self.operand()
        while self.power() >= least:
            power, word = self.power(), self.text("name", "sign")
            found = self.operation(word, found, power)
        return found

    def power(self) -> int:
        """Return how tightly the next token binds, if it is an operator, else -1."""
        kind, text, _ = self.tokens[self.at]
        is_name = text in ("U", "W", "R") and not self.in_formula
        return POWER.get(text, -1) if kind in ("name", "sign") and not is_name else -1

    def operation(self, word: str | None, left: Tree, power: int) -> Tree:
        """Take what stands behind an operator."""
        match word:
            case "[":
                return ("index", left, self.many(self.expression, "]"))
            case "unbounded":
                return ("policy", word, left, None)
            case "clamped" | "conditioned" | "folded" | "wrapped":
                return ("policy", word, left, self.expression(RANGE_POWER))
            case "U" | "W" | "R":
                bound = self.bound() if self.takes("<=") else None
                return (word, left, self.expression(power), bound)
            case "..":
                return (word, left, None if self.sees("]", "{") else self.expression(power + 1))
            case "=>" | "^":  # to the right
                return (word, left, self.expression(power))
        if word not in COMPARISONS:
            return (word, left, self.expression(power + 1))
        signs, parts = [word], [left, self.expression(power + 1)]
        while (another := self.takes(*COMPARISONS)) is not None:
            signs.append(another)
            parts.append(self.expression(power + 1))
        return ("compare", tuple(signs), tuple(parts))

    def operand(self) -> Tree:
        """Take what stands between operators, with an operator before it."""
        for kind, word in (("number", "constant"), ("primed", "name"), ("quoted", "quoted")):
            text = self.text(kind)
            if text is not None and kind == "quoted" and self.begins_call():
                return self.called(text)
            if text is not None:
                return (word, exact(text) if kind == "number" else text)
        if self.in_formula and self.sees("X", "F", "G", "P", "D", "E", "output"):
            return self.formula()
        if self.takes("true", "false"):
            return ("constant", TRUE if self.tokens[self.at - 1][1] == "true" else FALSE)
        sign = self.takes("(", "{", "if", "!", "-", "ln", "forall", "exists")
        match sign:
            case "(":
                parts = self.many(self.expression, ")")
                return parts[0] if len(parts) == 1 else ("tuple", parts)
            case "{":
                return self.braces()
            case "if":
                return (sign, self.expression(), self.maybe("then"), self.maybe("else"))
            case "!":
                return (sign, self.expression(FORMULA_POWER))
            case "-" | "ln":
                return ("negative" if sign == "-" else sign, self.expression(SIGN_POWER))
        name = sign or self.name()
        return self.called(name) if self.begins_call() else ("name", name)

    def called(self, name: str) -> Tree:
        """Take `(a, b)` of a call, or `(i in S where c : e)` of a binder."""
        self.need("(")
        found: list[Tree] = []
        while not self.takes(")"):
            if found:
                self.need(",")
            found.append(self.expression())
            if self.sees("where", ":"):
                where = self.maybe("where")
                self.need(":")
                body = self.expression()
                self.need(")")
                ((_, _, ((_, variable), domain)),) = found
                return ("binder", name, variable, domain, where, body)
        return ("call", name, tuple(found))

    def braces(self) -> Tree:
        """Take the rest of a set, or of a distribution by its branches."""
        if self.takes("}"):
            return ("set", ())
        first, weight = self.pair()
        if self.takes("for"):
            source = (*self.index(), self.maybe("where"))
            self.need("}")
            if weight is None:
                return ("comprehension", first, *source)
            return ("weights", first, weight, *source, self.takes("normalized"))
        self.takes(",")
        more = self.many(self.pair, "}")
        if weight is None:
            return ("set", (first, *(value for value, _ in more)))
        return ("branches", ((first, weight), *more), self.takes("normalized"))

    def pair(self) -> tuple[Tree, Tree]:
        """Take a value, with its weight where it has one."""
        return self.expression(), self.maybe(":")

    def formula(self) -> Tree:
        """Take a temporal operator and what it is about, a probability, or an output."""
        word = self.need("X", "F", "G", "P", "D", "E", "output")
        match word:
            case "X":
                return (word, self.expression(FORMULA_POWER))
            case "F" | "G":
                bound = self.bound() if self.takes("<=") else None
                return (word, self.expression(FORMULA_POWER), bound)
            case "output":
                return self.called(word) if self.begins_call() else ("name", word)
            case "D":
                self.need("{")
                epsilon, *delta = self.many(self.expression, "}")
                return (word, epsilon, delta[0] if delta else ("constant", 0), self.path())
        if self.takes("in"):
            self.need("[")
            low, high = self.many(self.expression, "]")
            return (word, ((">=", low), ("<=", high)), self.path())
        sign = self.need(">=", ">", "<=", "<", "=")
        if self.takes("?"):
            return (f"{word}=?", self.path())
        return (word, ((sign, self.bound()),), self.path())

    def bound(self) -> Tree:
        """Take the bound of an operator: a number, a quotient, a name, or a parenthesis."""
        if self.takes("-"):
            return ("negative", self.bound())
        if self.takes("("):
            return self.many(self.expression, ")")[0]
        left = self.bound_atom()
        return ("/", left, self.bound_atom()) if self.takes("/") else left

    def bound_atom(self) -> Tree:
        """Take a number or a name."""
        number = self.text("number")
        return ("name", self.label()) if number is None else ("constant", exact(number))

    def path(self) -> Tree:
        """Take a path formula in brackets."""
        self.need("[")
        return self.many(self.expression, "]")[0]


def exact(text: str) -> int | Fraction:
    """Return a number as it is written."""
    found = Fraction(text)
    return int(found) if found.denominator == 1 else found


def parsed_claim(text: str) -> Tree:
    """Return a claim or a value as a tree."""
    parser = Parser(text, in_formula=True)
    found = parser.expression()
    if parser.tokens[parser.at][0] != "end":
        raise WrongProgram(f"`{parser.tokens[parser.at][1]}` is too much")
    return found


def parsed_target(text: str) -> Tree:
    """Return a mechanism or chain with its arguments as a tree."""
    return Parser(text).target()


def parsed_part(text: str) -> Tree:
    """Return a parameter and what its values compare with."""
    parser = Parser(text)
    return parser.name(), parser.ends()


def named(argument: Tree) -> tuple[str | None, Tree]:
    """Return the name and the value of an argument `x = e` of a mechanism; no name of another.

    The parser knows no mechanisms, and reads it as the comparison that it is elsewhere: x is what
    stands in front of all, since nothing in an expression binds more loosely than its operators.
    """
    match argument:
        case ("compare", (_,), (("name", name), value)):
            return name, value
        case ("compare", (_, *signs), (("name", name), *parts)):
            return name, ("compare", tuple(signs), tuple(parts))
        case ("=>" | "|" | "&" as word, left, right):
            name, value = named(left)
            return (name, (word, value, right)) if name is not None else (None, argument)
    return None, argument


PARTS: dict[str, Callable[[Parser], Any]] = {
    "name": Parser.name,
    "names": lambda parser: parser.listed(parser.name),
    "label": Parser.label,
    "labels": lambda parser: parser.separated(parser.label) if parser.takes(":") else (),
    "ends": Parser.ends,
    "target": Parser.target,
    "index": Parser.index,
    "indices": lambda parser: parser.many(parser.index, "]") if parser.takes("[") else (),
    "bracketed": Parser.bracketed,
    "expression": Parser.expression,
    "expressions": lambda parser: parser.separated(parser.expression),
    "reference": Parser.reference,
    "references": lambda parser: parser.separated(parser.reference),
    "parameters": lambda parser: parser.listed(lambda: (parser.name(), parser.maybe("="))),
    "assignments": lambda parser: (parser.assignment(),),
    "statements": lambda parser: parser.block(parser.statement),
    "mechanism": lambda parser: parser.block(
        lambda: parser.shaped(MECHANISM) or parser.statement()
    ),
    "chain": lambda parser: parser.block(lambda: parser.shaped(CHAIN) or parser.row()),
}
"""How the parts of constructs are taken."""
