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

    def need(self, text: str) -> None:
        """Take a word or sign that must be there."""
        if self.takes(text) is None:
            raise WrongProgram(f"`{text}` expected before `{self.tokens[self.at][1]}`")

    def kind(self, ahead: int = 0) -> str:
        """Return the kind of a token."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)][0]

    def name(self) -> str:
        """Take a name."""
        kind, text, _ = self.tokens[self.at]
        if kind != "name" or text in KEYWORDS:
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
        if word == "import" and self.kind() == "quoted":
            self.at += 1
            return ("import", self.tokens[self.at - 1][1])
        if word == "import":
            self.need("std")
            self.need(".")
            return ("import std", self.name())
        if word == "param":
            return ("param", *self.values())
        if word in ("const", "fun", "dist"):
            name = self.name()
            names = self.many(self.name, ")") if self.takes("(") else []
            self.need("=")
            return (word, name, names, self.expression())
        if word in ("mechanism", "chain"):
            name = self.name()
            parameters = self.many(self.parameter, ")") if self.takes("(") else []
            self.need("{")
            part = self.mechanism_part if word == "mechanism" else self.chain_part
            return (word, name, parameters, self.until_closed(part))
        return self.question()

    def question(self) -> Tree:
        """Take `check target at condition : claim`, or a `for` around questions."""
        line = self.tokens[self.at][2]
        if self.takes("for"):
            indices, where = self.loop_head()
            return ("for", indices, where, self.until_closed(self.question))
        kind = self.takes("check", "refute", "compute")
        if kind is None:
            raise WrongProgram(f"no item begins with `{self.tokens[self.at][1]}`")
        if self.kind() == "quoted":
            self.at += 1
        target, self.in_formula = self.target(), True
        if self.takes("for"):
            self.values()
        condition = self.expression() if self.takes("at") else None
        self.need(":")
        claim, self.in_formula = self.expression(), False
        return ("question", kind, target, condition, claim, line)

    def values(self) -> tuple[str, list[tuple[str, Tree]]]:
        """Take a parameter and what its values compare with: `alpha in (0, 1]`, or `eps > 0`."""
        name = self.name()
        if self.takes(">"):
            return name, [(">", self.sum())]
        self.need("in")
        above = ">" if self.takes("(") or not self.taken("[") else ">="
        low = self.sum()
        self.need(",")
        high = self.sum()
        below = "<" if self.takes(")") or not self.taken("]") else "<="
        return name, [(above, low), (below, high)]

    def target(self) -> Tree:
        """Take a mechanism or chain with its arguments."""
        name = self.name()
        return ("call", name, self.many(self.argument, ")") if self.takes("(") else [])

    def loop_head(self) -> tuple[list[tuple[str, Tree]], Tree]:
        """Take the indices and the condition of a `for`, and the brace behind them."""
        indices: list[tuple[str, Tree]] = []
        while not indices or self.takes(","):
            name = self.name()
            self.need("in")
            indices.append((name, self.expression()))
        where = self.expression() if self.takes("where") else None
        self.need("{")
        return indices, where

    def parameter(self) -> Tree:
        """Take a parameter with its default."""
        name = self.name()
        return (name, self.expression() if self.takes("=") else None)

    def until_closed(self, part: Part) -> list[Tree]:
        """Take parts up to a closing brace."""
        found = []
        while not self.takes("}"):
            if not self.takes(";"):
                found.append(part())
        return found

    # --- mechanisms ------------------------------------------------------------------------

    def mechanism_part(self) -> Tree:
        """Take a declaration of a mechanism, or a statement."""
        kind = self.takes("input", "public", "adjacent", "prior")
        if kind in ("input", "public"):
            name = self.name()
            indices = self.bracketed()
            self.need("in")
            domain = self.expression()
            where = self.expression() if self.takes("where") else None
            return (kind, name, indices, domain, where)
        if kind == "adjacent":
            return ("adjacent", self.listed())
        return ("prior", self.statement()) if kind == "prior" else self.statement()

    def bracketed(self) -> Tree:
        """Take `[expression]` if it is there."""
        if not self.takes("["):
            return None
        found = self.expression()
        self.need("]")
        return found

    def listed(self) -> list[Tree]:
        """Take expressions between commas."""
        found = [self.expression()]
        while self.takes(","):
            found.append(self.expression())
        return found

    def block(self) -> list[Tree]:
        """Take statements in braces."""
        self.need("{")
        return self.until_closed(self.statement)

    def statement(self) -> Tree:
        """Take a statement."""
        if self.sees("break") and not self.sees(":=", "~", "[", ahead=1):
            self.at += 1
            return ("break",)
        word = self.takes("var", "if", "for", "while", "repeat", "output", "stop", "run", "query")
        match word:
            case "var":
                name, indices = self.name(), self.bracketed()
                domain = self.expression() if self.takes("in") else None
                return (
                    "var",
                    name,
                    indices,
                    domain,
                    self.expression() if self.takes(":=") else None,
                )
            case "if":
                return self.conditional_blocks(self.block)
            case "for":
                indices, where = self.loop_head()
                return ("for", indices, where, self.until_closed(self.statement))
            case "while" | "repeat":
                return (word, self.expression(), self.block())
            case "output":
                return ("output", self.expression())
            case "stop":
                return ("stop",)
            case "run":
                return ("run", self.target())
            case "query":
                return ("query", *self.state_index(), self.takes("fixed"))
        place = self.place()
        return (self.takes(":=") or self.taken("~"), place, self.expression())

    def taken(self, text: str) -> str:
        """Take a sign that must be there, and return it."""
        self.need(text)
        return text

    def conditional_blocks(self, block: Part) -> Tree:
        """Take the rest of `if c { } else if d { } else { }`."""
        branches = [(self.expression(), block())]
        while self.takes("else"):
            if not self.takes("if"):
                return ("if", branches, block())
            branches.append((self.expression(), block()))
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
            indices = self.many(self.state_index, "]") if self.takes("[") else []
            labels = [self.label()] if self.takes(":") else []
            while labels and self.takes(","):
                labels.append(self.label())
            return ("state", label, indices, labels)
        if word == "adjacent":
            left = self.reference()
            self.need("~")
            right = self.reference()
            return ("adjacent", left, right, self.expression() if self.takes("where") else None)
        if word in ("init", "observe"):
            found = [self.reference()]
            while self.takes(","):
                found.append(self.reference())
            return (word, found)
        return self.row()

    def row(self) -> Tree:
        """Take a row, or rows in a `for` or an `if`."""
        if self.takes("for"):
            indices, where = self.loop_head()
            return ("for", indices, where, self.until_closed(self.row))
        if self.takes("if"):
            return self.conditional_blocks(self.row_block)
        source = self.reference()
        self.need("->")
        branches = [self.row_branch()]
        while self.takes("+"):
            branches.append(self.row_branch())
        return ("row", source, branches)

    def row_block(self) -> list[Tree]:
        """Take rows in braces."""
        self.need("{")
        return self.until_closed(self.row)

    def row_branch(self) -> Tree:
        """Take `weight: target`, or `v ~ distribution: target`."""
        name = self.name() if self.kind() == "name" and self.sees("~", ahead=1) else None
        if name is not None:
            self.need("~")
        weight = self.expression()
        self.need(":")
        return (name, weight, self.reference())

    def label(self) -> str:
        """Take a label."""
        if self.kind() == "quoted":
            self.at += 1
            return self.tokens[self.at - 1][1]
        return self.name()

    def state_index(self) -> tuple[str, Tree]:
        """Take an index of a family with its set."""
        name = self.name()
        self.need("in")
        return name, self.expression()

    def reference(self) -> tuple[str, list[Tree]]:
        """Take a label with the indices behind it."""
        label = self.label()
        return label, self.many(self.expression, "]") if self.takes("[") else []

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
        left = self.joined("|", lambda: self.joined("&", self.until))
        return ("=>", left, self.implication()) if self.takes("=>") else left

    def joined(self, sign: str, part: Part) -> Tree:
        """Take parts between `|`, or `&`."""
        parts = [part()]
        while self.takes(sign):
            parts.append(part())
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
        kind, text, _ = self.tokens[self.at]
        self.at += 1
        return ("number", exact(text)) if kind == "number" else ("name", text, False)

    def comparison(self) -> Tree:
        """Take `a < b <= c`."""
        parts, signs = [self.range()], []
        while (word := self.takes(*COMPARISONS)) is not None:
            signs.append(word)
            parts.append(self.range())
        return ("compare", signs, parts) if signs else parts[0]

    def range(self) -> Tree:
        """Take `lo..hi`."""
        left = self.sum()
        if not self.takes(".."):
            return left
        return ("..", left, None if self.sees("]", "{") else self.sum())

    def sum(self) -> Tree:
        """Take sums and differences."""
        left = self.product()
        while (word := self.takes("+", "-")) is not None:
            left = (word, left, self.product())
        return left

    def product(self) -> Tree:
        """Take products and quotients."""
        left = self.unary()
        while (word := self.takes("*", "/", "div", "mod")) is not None:
            left = (word, left, self.unary())
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
        kind, text, _ = self.tokens[self.at]
        if kind == "number":
            self.at += 1
            return ("number", exact(text))
        if kind == "quoted":
            self.at += 1
            return ("name", text, True)
        if kind == "primed":
            self.at += 1
            return ("name", text, False)
        if self.takes("("):
            parts = self.many(self.expression, ")")
            return parts[0] if len(parts) == 1 else ("tuple", parts)
        if self.takes("{"):
            return self.braces()
        if self.takes("true", "false"):
            return ("boolean", text == "true")
        if self.in_formula and self.sees("P", "D", "E"):
            return self.probability()
        if self.takes("forall", "exists"):
            self.need("(")
            return self.binder_or_call(text)
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
            where = self.expression() if self.takes("where") else None
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
        first = self.expression()
        weight = self.expression() if self.takes(":") else None
        if self.takes("for"):
            variable, domain = self.state_index()
            where = self.expression() if self.takes("where") else None
            self.need("}")
            if weight is None:
                return ("comprehension", first, variable, domain, where)
            is_normalized = self.takes("normalized") is not None
            return ("weights", first, weight, variable, domain, where, is_normalized)
        if weight is None:
            items = [first, *(self.many(self.expression, "}") if self.takes(",") else [])]
            if len(items) == 1:
                self.need("}")
            return ("set", items)
        branches = [(first, weight)]
        while self.takes(","):
            value = self.expression()
            self.need(":")
            branches.append((value, self.expression()))
        self.need("}")
        return ("branches", branches, self.takes("normalized") is not None)

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
        word = self.takes(">=", ">", "<=", "<") or self.taken("=")
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


def parsed(text: str) -> list[Tree]:
    """Return the items of a file."""
    return Parser(text).file()


def parsed_claim(text: str) -> Tree:
    """Return a claim or a value as a tree."""
    parser = Parser(text)
    parser.in_formula = True
    found = parser.expression()
    if parser.kind() != "end":
        raise WrongProgram(f"`{parser.tokens[parser.at][1]}` is too much")
    return found


def parsed_values(text: str) -> tuple[str, list[tuple[str, Tree]]]:
    """Return a parameter and what its values compare with."""
    return Parser(text).values()


def parsed_target(text: str) -> Tree:
    """Return a target as a tree."""
    return Parser(text).target()
