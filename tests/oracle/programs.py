"""Random programs as text, drawn from the grammar so that every run is without mistakes.

Every expression is made for a kind (integer, Boolean, symbol) from the variables in scope; what
is assigned to an integer variable is brought back to a small range. Loops end, or repeat a draw
until it fits (and may then go silent forever). The number of draws is bounded, so that the
interpreter beside this module can follow every run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

PROBABILITIES = ["0", "1", "1/2", "1/3", "2/5", "0.25", "3/4", "1/7"]
ALPHAS = ["1/2", "1/3", "0.9", "2/7"]
SYMBOLS = ["red", "green", "blue"]


@dataclass
class Scope:
    """What a place of the program can read, and how much it may still do."""

    integers: list[str] = field(default_factory=list)
    booleans: list[str] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    arrays: list[tuple[str, int, int]] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
    constant: list[str] = field(default_factory=list)

    def copy(self):
        return Scope(
            list(self.integers),
            list(self.booleans),
            list(self.symbols),
            list(self.arrays),
            set(self.fixed),
            list(self.constant),
        )


class Writer:
    """Writes the pieces of one program; `draws_left` bounds the random choices of a run.

    `number(low, high)` makes every choice: hypothesis (whose examples shrink), or a seeded
    generator (whose examples differ more from each other).
    """

    def __init__(self, number, draws_left=6, outputs_left=5):
        self.number = number
        self.draws_left = draws_left
        self.outputs_left = outputs_left
        self.n_loops = 0
        self.names = 0
        self.helpers = []

    def fresh(self, stem="v"):
        self.names += 1
        return f"{stem}{self.names}"

    def pick(self, items):
        return items[self.number(0, len(items) - 1)]

    def chance(self, percent):
        return self.number(0, 99) >= 100 - percent

    def variable(self, names):
        """Return a name in scope; half of the time the newest, often a random result."""
        return names[-1] if self.chance(50) else self.pick(names)

    # --- expressions -----------------------------------------------------------------------

    def integer(self, scope, depth=2):
        """Return an integer expression."""
        leaf = depth == 0 or self.chance(35)
        if leaf and scope.arrays and self.chance(25):
            return self.cell(scope, 0)
        if leaf:
            if scope.integers and self.chance(80):
                return self.variable(scope.integers)
            return str(self.number(0, 3))
        a = self.integer(scope, depth - 1)
        kind = self.number(0, 14)
        if kind <= 3:
            return f"({a} {self.pick('+-*')} {self.integer(scope, depth - 1)})"
        if kind == 4:
            return f"({a} {self.pick(['mod', 'div'])} {self.pick(['2', '3', '-2'])})"
        if kind == 5:
            return f"{self.pick(['max', 'min'])}({a}, {self.integer(scope, depth - 1)})"
        if kind == 6:
            return f"abs({a})"
        if kind == 7:
            b = self.boolean(scope, depth - 1)
            return f"(if {b} then {a} else {self.integer(scope, depth - 1)})"
        if kind == 8:
            return f"clamp({a}, -1, 2)"
        if kind == 9 and scope.arrays:
            function = self.pick(["sum", "max", "min", "len", "argmax", "argmin"])
            return f"{function}({self.pick(scope.arrays)[0]})"
        if kind == 10 and scope.arrays:
            return self.cell(scope, depth - 1)
        if kind == 11:
            return self.binder(scope, depth)
        if kind == 12:
            return f"{self.pick(['floor', 'ceil'])}({a} / {self.pick(['2', '3'])})"
        if kind == 13:
            return f"({a}, {self.integer(scope, depth - 1)})[{self.number(1, 2)}]"
        if kind == 14:
            return f"double({a})"
        return f"-{a}" if not a.startswith("-") else a

    def cell(self, scope, depth):
        name, low, high = self.pick(scope.arrays)
        if depth == 0 or self.chance(50):
            return f"{name}[{self.number(low, high)}]"
        inner = self.integer(scope, depth - 1)
        if self.chance(50):
            return f"{name}[clamp({inner}, {low}, {high})]"
        return f"{name}[{low} + {inner} mod {high - low + 1}]"

    def binder(self, scope, depth):
        name = self.fresh("b")
        inner = scope.copy()
        inner.integers.append(name)
        kind = self.pick(["sum", "product", "max", "min", "count", "argmax", "argmin"])
        domain = self.pick(["0..2", "{1, 3}", "-1..0", "{2 * z for z in 0..2 where z != 1}"])
        where = ""
        if kind in ("sum", "product", "count") and self.chance(40):
            where = f" where {self.boolean(inner, depth - 1)}"
        body = self.boolean(inner, depth - 1) if kind == "count" else self.integer(inner, depth - 1)
        return f"{kind}({name} in {domain}{where} : {body})"

    def boolean(self, scope, depth=2):
        """Return a Boolean expression."""
        if scope.booleans and self.chance(30):
            return self.variable(scope.booleans)
        if depth == 0:
            return self.pick(["true", "false"])
        kind = self.number(0, 9)
        a = self.integer(scope, depth - 1)
        if kind <= 3:
            operator = self.pick(["=", "!=", "<", "<=", ">", ">="])
            return f"({a} {operator} {self.integer(scope, depth - 1)})"
        if kind == 4:
            return f"({a} in {self.pick(['{0, 2}', '1..3', '-1..0'])})"
        if kind == 5:
            return f"(0 <= {a} < {self.integer(scope, depth - 1)})"
        if kind == 6 and scope.symbols:
            other = self.pick([*scope.symbols, *SYMBOLS])
            return f"({self.pick(scope.symbols)} = {other})"
        if kind == 7:
            return f"!{self.boolean(scope, depth - 1)}"
        if kind == 8:
            name = self.fresh("b")
            inner = scope.copy()
            inner.integers.append(name)
            quantifier = self.pick(["forall", "exists"])
            return f"{quantifier}({name} in 0..2 : {self.boolean(inner, depth - 1)})"
        operator = self.pick(["&", "|", "=>"])
        return f"({self.boolean(scope, depth - 1)} {operator} {self.boolean(scope, depth - 1)})"

    def symbol(self, scope):
        if scope.symbols and self.chance(70):
            return self.variable(scope.symbols)
        return self.pick(SYMBOLS)

    def small(self, scope, depth=2):
        """Return an integer expression with values in -2..3."""
        e = self.integer(scope, depth)
        return self.pick([f"clamp({e}, -2, 3)", f"({e}) mod 4", f"({e}) mod 3 - 1"])

    def shown(self, scope):
        """Return an expression to output: of any kind, perhaps a tuple."""
        kind = self.number(0, 9)
        newest = scope.integers[-3:] + scope.booleans[-1:] + scope.symbols[-1:]
        if kind <= 1:
            return self.small(scope)
        if kind == 2:
            return self.boolean(scope)
        if kind == 3:
            return self.pick(newest)
        if kind >= 8:
            return f"({self.pick(newest)}, {self.pick(newest)})"
        if kind == 4:
            return self.symbol(scope)
        if kind == 5:
            return f"({self.symbol(scope)}, {self.small(scope, 1)})"
        if kind == 6:
            return f"({self.small(scope, 1)}) / 2"
        return f"if {self.boolean(scope, 1)} then {self.symbol(scope)} else {self.small(scope, 1)}"

    # --- distributions ---------------------------------------------------------------------

    def probability(self, scope):
        if self.chance(60):
            return self.pick(PROBABILITIES)
        if self.chance(50):
            p, q = self.pick(PROBABILITIES), self.pick(PROBABILITIES)
            return f"if {self.boolean(scope, 1)} then {p} else {q}"
        return f"1 / (1 + ({self.small(scope, 1)})^2)"

    def integer_distribution(self, scope):
        """Return a distribution over few small integers."""
        kind = self.number(0, 11)
        center = self.small(scope, 1)
        alpha = self.pick(ALPHAS)
        if kind == 0:
            return f"uniform({self.pick(['0..2', '{0, 3}', '-1..0', '{z mod 2 for z in 0..3}'])})"
        if kind == 1:
            return f"uniform({{0, {center}}})"
        if kind == 2:
            p = self.probability(scope)
            return f"{{1: {p}, 0: 1 - ({p})}}"
        if kind == 3:
            return f"{{z: 2^(z * ({center})) for z in 0..2}} normalized"
        if kind == 4:
            return "{z + 1: 1/2 for z in 0..3 where z mod 2 = 1}"
        if kind == 5:
            return f"binomial({self.number(0, 2)}, {self.probability(scope)})"
        if kind <= 7:
            policy = self.pick(["clamped", "conditioned", "folded", "wrapped"])
            return f"geometric({center}, {alpha}) {policy} {self.pick(['0..2', '-1..1', '1..3'])}"
        if kind == 8:
            policy = self.pick(["clamped", "conditioned", "folded", "wrapped"])
            return f"geometric_positive({alpha}) {policy} {self.pick(['0..2', '-1..1', '1..2'])}"
        if kind == 9:
            return f"gaussian({center}, {alpha}) conditioned {self.pick(['0..1', '-1..1'])}"
        if kind == 10:
            b = self.boolean(scope, 1)
            return f"if {b} then uniform(0..1) else {{2: 1/3, 0: 2/3}}"
        return f"coin({self.probability(scope)}, {self.number(0, 1)})"

    # --- statements ------------------------------------------------------------------------

    def block(self, scope, size, depth, indent):
        """Return the lines of a block; names introduced in it stay in the given scope."""
        lines = []
        for _ in range(self.number(1, size)):
            lines += self.statement(scope, depth, indent)
        return lines

    def inner_block(self, scope, depth, indent):
        return self.block(scope.copy(), 2, depth - 1, indent + "  ")

    def statement(self, scope, depth, indent):
        kind = self.number(0, 16)
        if kind <= 1:
            return [indent + line for line in self.assignment(scope)]
        if kind <= 6 and self.draws_left > 0:
            return [indent + line for line in self.sample(scope)]
        if kind <= 9 and self.outputs_left > 0:
            self.outputs_left -= 1
            return [f"{indent}output {self.shown(scope)}"]
        if kind == 16 and self.n_loops > 0:
            always = self.chance(15)
            return [indent + ("break" if always else f"if {self.boolean(scope)} {{ break }}")]
        if depth == 0 or kind == 16:
            return [indent + line for line in self.assignment(scope)]
        if kind == 10 and self.chance(30):
            return [f"{indent}if {self.boolean(scope)} {{ stop }}"]
        if kind <= 12:
            return self.conditional(scope, depth, indent)
        if kind == 13:
            return self.bounded_loop(scope, depth, indent)
        if kind == 14:
            return self.retry_loop(scope, indent)
        return self.call(scope, indent)

    def assignment(self, scope):
        kind = self.number(0, 7)
        free = [name for name in scope.integers if name not in scope.fixed]
        if kind <= 2 and free:
            return [f"{self.pick(free)} := {self.small(scope)}"]
        arrays = [array for array in scope.arrays if array[0] not in scope.fixed]
        if kind == 3 and arrays:
            name, low, high = self.pick(arrays)
            return [
                f"{name}[clamp({self.integer(scope, 1)}, {low}, {high})] := {self.small(scope, 1)}"
            ]
        if kind == 4:
            a, b = self.fresh(), self.fresh()
            line = f"({a}, {b}) := ({self.small(scope, 1)}, {self.boolean(scope, 1)})"
            scope.integers.append(a)
            scope.booleans.append(b)
            return [line]
        if kind == 5:
            name = self.fresh("a")
            low = self.number(0, 1)
            high = low + self.number(0, 2)
            line = f"var {name}[{low}..{high}] := {self.small(scope, 1)}"
            scope.arrays.append((name, low, high))
            return [line]
        name = self.fresh()
        if kind == 6:
            line = f"{name} := {self.boolean(scope)}"
            scope.booleans.append(name)
        elif kind == 7:
            line = f"var {name} in -2..3 := {self.small(scope)}"
            scope.integers.append(name)
        else:
            line = f"{name} := {self.small(scope)}"
            scope.integers.append(name)
        return [line]

    def sample(self, scope):
        self.draws_left -= 1
        kind = self.number(0, 9)
        free = [name for name in scope.integers if name not in scope.fixed]
        if kind <= 1 and free:
            return [f"{self.pick(free)} ~ {self.clipped(self.integer_distribution(scope))}"]
        arrays = [array for array in scope.arrays if array[0] not in scope.fixed]
        if kind == 2 and arrays:
            name, low, high = self.pick(arrays)
            index = f"clamp({self.integer(scope, 1)}, {low}, {high})"
            return [f"{name}[{index}] ~ {self.clipped(self.integer_distribution(scope))}"]
        name = self.fresh()
        if kind == 3:
            line = f"{name} ~ bernoulli({self.probability(scope)})"
            scope.booleans.append(name)
        elif kind == 4:
            p = self.probability(scope)
            line = f"{name} ~ {{red: {p}, {self.pick(SYMBOLS[1:])}: 1 - ({p})}}"
            scope.symbols.append(name)
        elif kind == 5:
            other = self.fresh()
            line = f"({name}, {other}) ~ uniform({{0, 1}} * {{0, 2}})"
            scope.integers += [name, other]
        elif kind == 6:
            line = f"{name} ~ helper(z = ({self.integer(scope, 1)}) mod 2)"
            scope.integers.append(name)
        else:
            line = f"{name} ~ {self.integer_distribution(scope)}"
            scope.integers.append(name)
        return [line]

    @staticmethod
    def clipped(distribution):
        """Return the distribution: all of them stay within -2..3, so ranges hold."""
        return distribution

    def conditional(self, scope, depth, indent):
        lines = [f"{indent}if {self.boolean(scope)} {{"]
        lines += self.inner_block(scope, depth, indent)
        if self.chance(25):
            lines += [f"{indent}}} else if {self.boolean(scope)} {{"]
            lines += self.inner_block(scope, depth, indent)
        if self.chance(60):
            lines += [f"{indent}}} else {{"]
            lines += self.inner_block(scope, depth, indent)
        return [*lines, f"{indent}}}"]

    def bounded_loop(self, scope, depth, indent):
        kind = self.number(0, 3)
        inner = scope.copy()
        before, after = [], []
        if kind == 0:
            head = f"repeat {self.number(0, 2)} {{"
        elif kind == 1:
            name = self.fresh("i")
            inner.integers.append(name)
            inner.fixed.add(name)
            low = self.number(-1, 1)
            head = f"for {name} in {low}..{low + self.number(-1, 1)} {{"
        elif kind == 2:
            name = self.fresh("i")
            inner.integers.append(name)
            inner.fixed.add(name)
            head = f"for {name} in {{0, {self.small(scope, 1)}}} {{"
            if self.chance(50):
                head = f"for {name} in {{3, 1}} {{"
        else:
            name = self.fresh("w")
            inner.integers.append(name)
            inner.fixed.add(name)
            before = [f"{indent}{name} := 0"]
            head = f"while {name} < {self.number(1, 2)} {{"
            after = [f"{indent}  {name} := {name} + 1"]
        draws, outputs = self.draws_left, self.outputs_left
        self.draws_left, self.outputs_left = draws // 2, outputs // 2
        self.n_loops += 1
        body = self.block(inner, 2, depth - 1, indent + "  ")
        self.n_loops -= 1
        spent = draws // 2 - self.draws_left, outputs // 2 - self.outputs_left
        self.draws_left, self.outputs_left = draws - 2 * spent[0], outputs - 2 * spent[1]
        return [*before, indent + head, *body, *after, f"{indent}}}"]

    def retry_loop(self, scope, indent):
        """Return a loop that draws until the result fits; it may never."""
        if self.draws_left < 1:
            return [f"{indent}{line}" for line in self.assignment(scope)]
        self.draws_left -= 1
        name = self.fresh("r")
        inner = scope.copy()
        start = f"{indent}{name} := {self.number(0, 2)}"
        scope.integers.append(name)
        test = self.pick([f"{name} = 0", f"{name} <= 1", f"{name} mod 2 = 0", f"{name} != 1"])
        lines = [start, f"{indent}while {test} {{"]
        if self.chance(25):
            lines.append(f"{indent}  {name} := {self.number(0, 1)}")
        lines.append(f"{indent}  {name} ~ {self.integer_distribution(inner)}")
        if self.chance(20):
            lines.append(f"{indent}  if {self.boolean(inner)} {{ break }}")
        return [*lines, f"{indent}}}"]

    def call(self, scope, indent):
        if self.outputs_left < 2 or self.draws_left < 1:
            return [f"{indent}{line}" for line in self.assignment(scope)]
        self.outputs_left -= 2
        self.draws_left -= 1
        last = self.number(1, 2)
        return [f"{indent}run speaker(last = {last}, z = ({self.integer(scope, 1)}) mod 3)"]


PRELUDE = """
const half = 1/2
fun double(e) = 2 * e
dist palette = {red: 1/3, green: 1/3, blue: 1/3}
dist coin(p, base) = {base: p, base + 1: 1 - p}
mechanism helper(bias = 1/3) {
  input z in 0..1
  adjacent all
  h ~ bernoulli(if z = 1 then bias else half)
  if h { output 2; stop }
  h2 ~ uniform(0..1)
  output h2 * z
}
mechanism speaker(last = 2) {
  input z in 0..2
  adjacent all
  for i in 1..last {
    s ~ bernoulli(1/(i + z))
    if s { output (i, z); stop }
  }
  output z - 1
}
"""


def choices(draw):
    """Return the function that makes the choices of one example."""
    seed = draw(st.none() | st.integers(0, 2**32))
    if seed is None:
        return lambda low, high: draw(st.integers(low, high))
    return Random(seed).randint


@st.composite
def programs(draw):
    """Draw the text of a model with a mechanism `m`."""
    return program(Writer(choices(draw)))


def program(writer):
    """Return the text of a model with a mechanism `m`."""
    scope = Scope()
    lines = ["mechanism m(k = 2) {"]
    scope.constant.append("k")
    scope.integers.append("k")
    scope.fixed.add("k")
    clauses = []
    for name in ["x", "y"][: writer.number(1, 2)]:
        word = writer.pick(["input", "input", "public"]) if name == "y" else "input"
        kind = writer.number(0, 4)
        if kind == 0:
            lines.append(f"  {word} {name}[1..2] in 0..{writer.pick(['1', '2', 'k'])}")
            if writer.chance(30):
                lines[-1] += f" where sum({name}) >= 1"
            scope.arrays.append((name, 1, 2))
            clauses += [f"{d}({name}, {name}') <= 1" for d in ("linf", "l1", "hamming")]
            clauses.append(f"sum({name}) = sum({name}') + 1")
        elif kind == 1:
            lines.append(f"  {word} {name} in {{red, green, blue}}")
            scope.symbols.append(name)
            clauses += [f"{name} = red & {name}' != red", f"{name} != {name}'"]
        elif kind == 2:
            lines.append(f"  {word} {name} in {{false, true}}")
            scope.booleans.append(name)
            clauses.append(f"{name} => {name}'")
        else:
            lines.append(
                f"  {word} {name} in {writer.pick(['0..3', '-1..1', '{1, 3, 0}', '0..k'])}"
            )
            if writer.chance(20):
                lines[-1] += f" where {name} != 1"
            scope.integers.append(name)
            clauses += [f"abs({name} - {name}') <= 1", f"{name}' = {name} + 1", f"{name} < {name}'"]
        scope.fixed.add(name)
    if writer.chance(25):
        lines.append("  adjacent all")
    else:
        lines += [f"  adjacent {writer.pick(clauses)}" for _ in range(writer.number(1, 2))]
        if writer.chance(25):
            lines[-1] += f" & {writer.pick(clauses)}"
    lines += ["  " + line for line in writer.sample(scope)]
    for _ in range(writer.number(1, 3)):
        lines += writer.block(scope, 3, 2, "  ")
    if writer.draws_left:
        lines += ["  " + line for line in writer.sample(scope)]
    if writer.outputs_left:
        lines.append(f"  output {writer.shown(scope)}")
    return PRELUDE + "\n".join([*separated(lines), "}"]) + "\n"


def separated(lines):
    """Return the lines with `;` where a line break alone would read on: `x := y` and `(a, b)`."""
    following = [*lines[1:], ""]
    return [
        line + ";" if after.lstrip().startswith("(") and line[-1] not in "{}" else line
        for line, after in zip(lines, following, strict=True)
    ]


def atom(writer, scope):
    """Return an atom about the output or the inputs."""
    kind = writer.number(0, 7)
    if kind <= 2:
        operator = writer.pick(["=", "=", "!=", "<", ">="])
        return f"output {operator} {writer.number(-1, 3)}"
    if kind == 3:
        return f"output = {writer.pick(['true', 'false', 'red', '(red, 1)', '1/2'])}"
    if kind == 4:
        return f"output[{writer.number(1, 2)}] = {writer.pick(['1', 'red', '0'])}"
    if kind == 5:
        return writer.pick(["stopped", "diverged", "true", "stopped"])
    if kind == 6 and scope.integers:
        return f"output {writer.pick(['=', '>', '!='])} {writer.pick(scope.integers)}"
    return f"({writer.boolean(scope, 1)})"


def path_formula(writer, scope, depth):
    """Return a path formula without nested probabilities, in parentheses where it needs them."""
    kind = writer.number(0, 11)
    if depth == 0 or kind == 0:
        return f"({atom(writer, scope)})"
    inner = path_formula(writer, scope, depth - 1)
    if kind <= 3:
        return f"X {inner}"
    if kind == 4:
        return f"F {inner}"
    if kind == 5:
        return f"F<={writer.number(0, 3)} {inner}"
    if kind == 6:
        return f"!{inner}"
    other = path_formula(writer, scope, depth - 1)
    if kind == 7:
        return f"({inner} U {other})"
    if kind == 8:
        return f"({inner} U<={writer.number(0, 3)} {other})"
    return f"({inner} {writer.pick(['&', '|', '=>'])} {other})"


@st.composite
def programs_with_formulas(draw):
    """Draw a program and a path formula about its inputs and outputs."""
    number = choices(draw)
    text = program(Writer(number))
    return text, path_formula(Writer(number), inputs_of(text), 3)


def inputs_of(text):
    """Return the scope of a formula: the inputs of `m` by their kinds."""
    scope = Scope()
    for line in text[text.index("mechanism m(") :].splitlines():
        words = line.split()
        if words and words[0] in ("input", "public"):
            name = words[1]
            if "[" in name:
                scope.arrays.append((name.split("[")[0], 1, 2))
            elif "red" in line:
                scope.symbols.append(name)
            elif "true" in line:
                scope.booleans.append(name)
            else:
                scope.integers.append(name)
    return scope
