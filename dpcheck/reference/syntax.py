"""From text to trees: tuples (word, parts...), one word a construct, by recursive descent.

Where the grammar asks for one token more (`(a, b) := t` behind an expression, the `x` of
`f(x = e)`), the parser looks ahead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpcheck.reference.values import KEYWORDS, WrongProgram

Tree = Any
Part = Callable[[], Tree]

TOKEN = re.compile(
    r"""(?:[\s\ufeff]|\#[^\n\r]*)+|(?P<primed>[^\W\d]\w*')|(?P<name>[^\W\d]\w*)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|"(?P<quoted>[^"\n\r]*)"
    |(?P<sign>:=|->|=>|\.\.|!=|<=|>=|[-=<>!&|~+*/^?.,:;()\[\]{}])""",
    re.VERBOSE,
)
POLICIES = ("clamped", "conditioned", "folded", "wrapped")
LEVELS = (("+", "-"), ("*", "/", "div", "mod"))
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "in")


class Named(str):
    """The name of an argument `x = 1`, with the comparison that it is elsewhere."""

    __slots__ = ("comparison",)

    comparison: Tree


def by_place(arguments: list[tuple[Named | None, Tree]]) -> list[Tree]:
    """Return the arguments of a function or distribution, which have no names."""
    return [value if name is None else name.comparison for name, value in arguments]


class Parser:
    """The tokens of a text, (kind, text, line), and the place of the next."""

    def __init__(self, text: str) -> None:
        """Split the text."""
        self.tokens: list[tuple[str, str, int]] = []
        place, line = 0, 1
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                raise WrongProgram(f"no token: {text[place : place + 20]!r}")
            if match.lastgroup is not None:
                self.tokens.append((match.lastgroup, match[match.lastgroup], line))
            line += len(re.findall(r"\r\n|\n|\r", match[0]))
            place = match.end()
        self.tokens.append(("end", "", 0))
        self.at = 0
        self.in_formula = False

    # --- tokens ----------------------------------------------------------------------------

    def sees(self, *texts: str, ahead: int = 0) -> bool:
        """Return whether the next token is one of these words or signs."""
        kind, text, _ = self.tokens[min(self.at + ahead, len(self.tokens) - 1)]
        return kind in ("name", "sign") and text in texts

    def takes(self, *texts: str) -> str | None:
        """Take the next token if it is one of these."""
        if not self.sees(*texts):
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def need(self, *texts: str) -> str:
        """Take the next token, which must be one of these."""
        found = self.takes(*texts)
        if found is None:
            raise WrongProgram(f"`{texts[0]}` expected before `{self.tokens[self.at][1]}`")
        return found

    def kind(self, ahead: int = 0) -> str:
        """Return the kind of a token."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)][0]

    def text(self, *kinds: str) -> str | None:
        """Take the next token if it is of one of these kinds."""
        if self.kind() not in kinds:
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def name(self) -> str:
        """Take a name."""
        text = self.tokens[self.at][1]
        if self.kind() != "name" or text in KEYWORDS:
            raise WrongProgram(f"a name expected before `{text}`")
        self.at += 1
        return text

    def many(self, part: Part, close: str) -> list[Any]:
        """Take parts between commas, and what closes them."""
        found: list[Any] = []
        while not self.takes(close):
            if found:
                self.need(",")
            found.append(part())
        return found

    def separated(self, part: Part, sign: str = ",") -> list[Any]:
        """Take one part or more with a sign between them."""
        found = [part()]
        while self.takes(sign):
            found.append(part())
        return found

    def maybe(self, *texts: str) -> Tree:
        """Take an expression if one of these is in front of it."""
        return self.expression() if self.takes(*texts) else None

    def block(self, part: Part) -> list[Tree]:
        """Take parts in braces."""
        self.need("{")
        return self.until_closed(part)

    def until_closed(self, part: Part) -> list[Tree]:
        """Take parts up to a closing brace."""
        found = []
        while not self.takes("}"):
            if not self.takes(";"):
                found.append(part())
        return found

    # --- files -----------------------------------------------------------------------------

    def file(self) -> list[Tree]:
        """Take all items of a file."""
        items = []
        while self.kind() != "end":
            if not self.takes(";"):
                items.append(self.item())
        return items

    def item(self) -> Tree:
        """Take a declaration, an import, a question or questions."""
        word = self.takes("import", "const", "fun", "dist", "mechanism", "chain", "param")
        match word:
            case "import" if self.takes("std"):
                self.need(".")
                return ("import std", self.name())
            case "import":
                return ("import", self.text("quoted"))
            case "param":
                return ("param", *self.values())
            case "const" | "fun" | "dist":
                name = self.name()
                names = self.many(self.name, ")") if self.takes("(") else []
                self.need("=")
                return (word, name, names, self.expression())
            case "mechanism" | "chain":
                name = self.name()
                parameters = self.many(self.parameter, ")") if self.takes("(") else []
                part = self.mechanism_part if word == "mechanism" else self.chain_part
                return (word, name, parameters, self.block(part))
        return self.question()

    def question(self) -> Tree:
        """Take `check target at condition : claim`, or a `for` around questions."""
        line = self.tokens[self.at][2]
        if self.takes("for"):
            return ("for", *self.loop_head(), self.block(self.question))
        kind = self.need("check", "refute", "compute")
        self.text("quoted")
        target, self.in_formula = self.target(), True
        values = self.values() if self.takes("for") else None
        condition = self.maybe("at")
        self.need(":")
        claim, self.in_formula = self.expression(), False
        return ("question", kind, target, values, condition, claim, line)

    def values(self) -> tuple[str, list[tuple[str, Tree]]]:
        """Take a parameter and what its values compare with: `alpha in (0, 1]`, or `eps > 0`."""
        name = self.name()
        if self.takes(">"):
            return name, [(">", self.leveled())]
        self.need("in")
        above = ">" if self.need("(", "[") == "(" else ">="
        low = self.leveled()
        self.need(",")
        high = self.leveled()
        below = "<" if self.need(")", "]") == ")" else "<="
        return name, [(above, low), (below, high)]

    def target(self) -> Tree:
        """Take a mechanism or chain with its arguments."""
        name = self.name()
        return ("call", name, self.many(self.argument, ")") if self.takes("(") else [])

    def loop_head(self) -> tuple[list[tuple[str, Tree]], Tree]:
        """Take the indices and the condition of a `for`."""
        return self.separated(self.index), self.maybe("where")

    def index(self) -> tuple[str, Tree]:
        """Take an index with its set."""
        name = self.name()
        self.need("in")
        return name, self.expression()

    def parameter(self) -> Tree:
        """Take a parameter with its default."""
        return self.name(), self.maybe("=")

    # --- mechanisms ------------------------------------------------------------------------

    def mechanism_part(self) -> Tree:
        """Take a declaration of a mechanism, or a statement."""
        kind = self.takes("input", "public", "adjacent", "prior")
        if kind in ("input", "public"):
            name, indices = self.name(), self.bracketed()
            self.need("in")
            return (kind, name, indices, self.expression(), self.maybe("where"))
        if kind == "adjacent":
            return ("adjacent", self.separated(self.expression))
        return ("prior", self.statement()) if kind == "prior" else self.statement()

    def bracketed(self) -> Tree:
        """Take `[expression]` if it is there."""
        if not self.takes("["):
            return None
        found = self.expression()
        self.need("]")
        return found

    def statement(self) -> Tree:
        """Take a statement."""
        if self.sees("break") and not self.sees(":=", "~", "[", ahead=1):
            self.at += 1
            return ("break",)
        word = self.takes("var", "if", "for", "while", "repeat", "output", "stop", "run", "query")
        match word:
            case "var":
                return ("var", self.name(), self.bracketed(), self.maybe("in"), self.maybe(":="))
            case "if":
                return self.conditional(self.statement)
            case "for":
                return ("for", *self.loop_head(), self.block(self.statement))
            case "while":
                return ("while", self.expression(), self.block(self.statement))
            case "repeat":
                rounds = ("..", ("number", 1), self.expression())
                return ("for", [("repeat", rounds)], None, self.block(self.statement))
            case "output":
                return ("output", self.expression())
            case "stop":
                return ("stop",)
            case "run":
                return ("run", self.target())
            case "query":
                return ("query", *self.index(), self.takes("fixed"))
        place = self.place()
        return (self.need(":=", "~"), place, self.expression())

    def conditional(self, part: Part) -> Tree:
        """Take the rest of `if c { } else if d { } else { }`."""
        branches = [(self.expression(), self.block(part))]
        while self.takes("else"):
            if not self.takes("if"):
                return ("if", branches, self.block(part))
            branches.append((self.expression(), self.block(part)))
        return ("if", branches, [])

    def place(self) -> Tree:
        """Take what is assigned to: a name, a cell or a pattern."""
        if self.takes("("):
            return ("pattern", self.many(self.name, ")"))
        name = self.name()
        index = self.bracketed()
        return ("local", name) if index is None else ("cell", name, index)

    def is_pattern(self) -> bool:
        """Return whether `(a, b) :=` or `(a, b) ~` comes next."""
        ahead = 1
        while self.kind(ahead) == "name" and self.sees(",", ")", ahead=ahead + 1):
            if self.sees(")", ahead=ahead + 1):
                return self.sees(":=", "~", ahead=ahead + 2)
            ahead += 2
        return False

    # --- explicit chains -------------------------------------------------------------------

    def chain_part(self) -> Tree:
        """Take a declaration or rows of a chain."""
        word = self.takes("state", "adjacent", "init", "observe")
        if word == "state":
            label = self.label()
            indices = self.many(self.index, "]") if self.takes("[") else []
            labels = self.separated(self.label) if self.takes(":") else []
            return ("state", label, indices, labels)
        if word == "adjacent":
            left = self.reference()
            self.need("~")
            return ("adjacent", left, self.reference(), self.maybe("where"))
        if word in ("init", "observe"):
            return (word, self.separated(self.reference))
        return self.row()

    def row(self) -> Tree:
        """Take a row, or rows in a `for` or an `if`."""
        if self.takes("for"):
            return ("for", *self.loop_head(), self.block(self.row))
        if self.takes("if"):
            return self.conditional(self.row)
        source = self.reference()
        self.need("->")
        return ("row", source, self.separated(self.row_branch, "+"))

    def row_branch(self) -> Tree:
        """Take `weight: target`, or `v ~ distribution: target`."""
        name = None
        if self.kind() == "name" and self.sees("~", ahead=1):
            name = self.name()
            self.need("~")
        weight = self.expression()
        self.need(":")
        return (name, weight, self.reference())

    def label(self) -> str:
        """Take a label."""
        quoted = self.text("quoted")
        return self.name() if quoted is None else quoted

    def reference(self) -> tuple[str, list[Tree]]:
        """Take a label with the indices behind it."""
        return self.label(), self.many(self.expression, "]") if self.takes("[") else []

    # --- expressions, from loosest to tightest ---------------------------------------------

    def expression(self) -> Tree:
        """Take an expression, a distribution or a formula."""
        if self.takes("if"):
            condition = self.expression()
            self.need("then")
            then = self.expression()
            self.need("else")
            return ("if", condition, then, self.expression())
        found = self.implication()
        if self.takes("unbounded"):
            return ("policy", "unbounded", found, ())
        policy = self.takes(*POLICIES)
        if policy is None:
            return found
        bounds = self.range()
        return ("policy", policy, found, bounds)

    def implication(self) -> Tree:
        """Take `a => b`, to the right."""
        left = self.junction("|", lambda: self.junction("&", self.until))
        return ("=>", left, self.implication()) if self.takes("=>") else left

    def junction(self, sign: str, part: Part) -> Tree:
        """Take parts between `|`, or `&`."""
        parts = self.separated(part, sign)
        return (sign, parts) if len(parts) > 1 else parts[0]

    def until(self) -> Tree:
        """Take `a U b` and the like, to the right."""
        left = self.prefix()
        word = self.takes("U", "W", "R") if self.in_formula else None
        if word is None:
            return left
        bound = self.bound() if word == "U" and self.takes("<=") else None
        return (word, left, self.until(), bound)

    def prefix(self) -> Tree:
        """Take `! X F G` before something."""
        if self.takes("!"):
            return ("!", self.prefix())
        word = self.takes("X", "F", "G") if self.in_formula else None
        if word is None:
            return self.comparison()
        bound = self.bound() if word != "X" and self.takes("<=") else None
        return (word, self.prefix(), bound)

    def bound(self) -> Tree:
        """Take the bound of an operator: a number, a quotient, a name, or a parenthesis."""
        if self.takes("("):
            found = self.expression()
            self.need(")")
            return found
        left = self.bound_atom()
        return ("/", left, self.bound_atom()) if self.takes("/") else left

    def bound_atom(self) -> Tree:
        """Take a number or a name."""
        number = self.text("number")
        return ("name", self.name(), False) if number is None else ("number", exact(number))

    def comparison(self) -> Tree:
        """Take `a < b <= c`."""
        parts, signs = [self.range()], []
        while (word := self.takes(*COMPARISONS)) is not None:
            signs.append(word)
            parts.append(self.range())
        return ("compare", signs, parts) if signs else parts[0]

    def range(self) -> Tree:
        """Take `lo..hi`."""
        left = self.leveled()
        if not self.takes(".."):
            return left
        return ("..", left, None if self.sees("]", "{") else self.leveled())

    def leveled(self, level: int = 0) -> Tree:
        """Take sums and differences, or at the next level products and quotients."""
        if level == len(LEVELS):
            return self.unary()
        left = self.leveled(level + 1)
        while (word := self.takes(*LEVELS[level])) is not None:
            left = (word, left, self.leveled(level + 1))
        return left

    def unary(self) -> Tree:
        """Take `-` and `ln`."""
        word = self.takes("-", "ln")
        if word is not None:
            return ("negative" if word == "-" else "ln", self.unary())
        return self.power()

    def power(self) -> Tree:
        """Take a power, to the right."""
        base = self.postfix()
        return ("^", base, self.exponent()) if self.takes("^") else base

    def exponent(self) -> Tree:
        """Take an exponent, which may be negative."""
        return ("negative", self.exponent()) if self.takes("-") else self.power()

    def postfix(self) -> Tree:
        """Take an atom with the indices behind it."""
        base = self.atom()
        while self.takes("["):
            base = ("index", base, self.many(self.expression, "]"))
        return base

    def atom(self) -> Tree:
        """Take what is not made by an operator."""
        kind, text = self.kind(), self.text("number", "quoted", "primed")
        if text is not None:
            return ("number", exact(text)) if kind == "number" else ("name", text, kind == "quoted")
        if self.takes("("):
            parts = self.many(self.expression, ")")
            return parts[0] if len(parts) == 1 else ("tuple", parts)
        if self.takes("{"):
            return self.braces()
        word = self.takes("true", "false", "forall", "exists")
        if word in ("true", "false"):
            return ("boolean", word == "true")
        if word is not None:
            self.need("(")
            return self.binder_or_call(word)
        if self.in_formula and self.sees("P", "D", "E"):
            return self.probability()
        if self.in_formula and self.takes("output"):
            return self.binder_or_call("output") if self.takes("(") else ("name", "output", False)
        name = self.name()
        if self.sees("(") and not self.is_pattern() and self.takes("("):
            return self.binder_or_call(name)
        return ("name", name, False)

    def binder_or_call(self, name: str) -> Tree:
        """Take what stands in the parentheses of a call or a binder."""
        if self.takes(")"):
            return ("call", name, [])
        first = self.argument()
        if self.sees("where", ":"):
            where = self.maybe("where")
            self.need(":")
            body = self.expression()
            self.need(")")
            _, _, ((_, variable, _), domain) = first[1]
            return ("binder", name, variable, domain, where, body)
        if self.takes(")"):
            return ("call", name, [first])
        self.need(",")
        return ("call", name, [first, *self.many(self.argument, ")")])

    def argument(self) -> tuple[Named | None, Tree]:
        """Take an argument, by name or by place: only what is called tells which `x = 1` is."""
        is_named = self.kind() == "name" and self.sees("=", ahead=1) and not self.sees(*KEYWORDS)
        begin, comparison = self.at, self.expression()
        if not is_named:
            return None, comparison
        self.at = begin
        name = Named(self.name())
        name.comparison = comparison
        self.need("=")
        return name, self.expression()

    def braces(self) -> Tree:
        """Take a set, or a distribution by its branches."""
        if self.takes("}"):
            return ("set", [])
        first, weight = self.expression(), self.maybe(":")
        if self.takes("for"):
            variable, domain = self.index()
            where = self.maybe("where")
            self.need("}")
            if weight is None:
                return ("comprehension", first, variable, domain, where)
            return ("weights", first, weight, variable, domain, where, self.is_normalized())
        more = []
        if self.takes(","):
            more = self.many(lambda: (self.expression(), self.maybe(":")), "}")
        else:
            self.need("}")
        if weight is None:
            return ("set", [first, *(value for value, _ in more)])
        return ("branches", [(first, weight), *more], self.is_normalized())

    def is_normalized(self) -> bool:
        """Take `normalized` if it is there."""
        return self.takes("normalized") is not None

    def probability(self) -> Tree:
        """Take a P, a D or an E."""
        if self.takes("D"):
            self.need("{")
            budget = self.many(self.expression, "}")
            return ("D", budget[0], budget[1] if len(budget) > 1 else None, self.path())
        of = self.takes("P", "E")
        if self.takes("in"):
            self.need("[")
            low, high = self.many(self.expression, "]")
            return (of, [(">=", low), ("<=", high)], self.path())
        word = self.need(">=", ">", "<=", "<", "=")
        if word == "=" and self.takes("?"):
            return (f"{of}=?", self.path())
        return (of, [(word, self.bound())], self.path())

    def path(self) -> Tree:
        """Take a path formula in brackets."""
        self.need("[")
        found = self.expression()
        self.need("]")
        return found


def exact(text: str) -> int | Fraction:
    """Return a number as it is written."""
    found = Fraction(text)
    return int(found) if found.denominator == 1 else found


def parsed_claim(text: str) -> Tree:
    """Return a claim or a value as a tree."""
    parser = Parser(text)
    parser.in_formula = True
    found = parser.expression()
    if parser.kind() != "end":
        raise WrongProgram(f"`{parser.tokens[parser.at][1]}` is too much")
    return found
