"""Random programs on all integers: streams and arrays, of the class of alignments and around it."""

from __future__ import annotations

import random

NOISY_ARGMAX = """
mechanism m {
  input q[1..3] in integers
  adjacent linf(q, q') <= 1
  var v[1..3] := 0
  for i in 1..3 { v[i] ~ geometric(q[i], 1/2) unbounded }
  output argmax(v)
}"""

COMPARISONS = (">=", ">", "<", "<=", "=", "!=")


class RandomProgram:
    """One program, made of choices of a seed; `text` is its mechanism `m`."""

    def __init__(self, seed):
        self.choices = random.Random(seed)
        self.is_stream = self.is_likely(0.6)
        self.length = self.choices.randint(1, 3)
        self.inputs = [f"q[{i}]" for i in range(1, self.length + 1)]
        self.noisy = []
        self.text = self.stream() if self.is_stream else self.array()

    def is_likely(self, chance):
        return self.choices.random() < chance

    def one(self, *ways):
        """Return one of several texts, or what one of several methods makes."""
        way = self.choices.choice(ways)
        return way() if callable(way) else way

    # --- programs --------------------------------------------------------------------------

    def stream(self):
        far = self.one("1", "1", "2")
        self.inputs = ["t"]
        before = [self.draw() for _ in range(self.choices.randint(0, 2))]
        known, self.inputs = list(self.noisy), ["q[i]"]
        rounds = [self.draw(), *self.statements(0, 3), self.output()]
        if self.is_likely(0.6):
            rounds.append(f"if {self.condition()} {{ {self.one('stop', 'break')} }}")
        self.inputs, self.noisy = ["t"], known
        after = self.output()
        public = self.one("public t in integers", "public t in 0..1")
        return self.mechanism(
            [f"input q[1..] in integers {public}", f"adjacent linf(q, q') <= {far}"],
            [*before, f"for i in 1.. {{ {' '.join(rounds)} }}", after],
        )

    def array(self):
        far, k = self.one("1", "1", "2"), self.length
        relation = self.one(
            f"linf(q, q') <= {far}",
            f"l1(q, q') <= {far}",
            f"forall(i in 1..{k} : 0 <= q'[i] - q[i] <= {far})",
            f"q'[1] - q[1] = {far} & linf(q, q') <= {far}",
        )
        inputs = f"input q[1..{k}] in integers public t in integers"
        body = [self.draw(), *self.statements(0, 4), self.output()]
        return self.mechanism([inputs, f"adjacent {relation}"], body)

    def mechanism(self, head, body):
        lines = [*head, "n := 0", "b := false", "var a[1..2] := 0", *body]
        distributions = """
fun larger(x, y) = if x > y then x else y
dist noise(c) = geometric(c, 1/2) unbounded
dist one_of(c) = if c then geometric(0, 1/2) unbounded else geometric(2, 1/4) unbounded"""
        text = "\n  ".join(lines)
        return f"{distributions}\nmechanism m {{\n  {text}\n}}"

    # --- statements ------------------------------------------------------------------------

    def statements(self, depth, most):
        """Return statements; what they draw is forgotten after an inner block."""
        known = list(self.noisy)
        found = [self.statement(depth) for _ in range(self.choices.randint(1, most))]
        if depth:
            self.noisy = [name for name in self.noisy if name in known]
        return found

    def statement(self, depth):
        inner = [self.chosen] * 3 if depth < 2 else []
        return self.one(
            *([self.draw] * 4),
            *([self.output] * 3),
            lambda: f"{self.one(*self.noisy or 'n')} := {self.number()}",
            lambda: f"a[{self.one('1', '2', 'n + 1')}] := {self.number()}",
            "n := min(n + 1, 1)",
            self.one("b ~ bernoulli(1/3)", "n ~ uniform(0..1)", "n ~ {i: 1/2 for i in 0..1}"),
            *inner,
        )

    def chosen(self):
        ends = self.one("", "stop")
        then = " ".join(self.statements(1, 2))
        orelse = f" else {{ {' '.join(self.statements(1, 2))} }}" if self.is_likely(0.5) else ""
        return f"if {self.condition()} {{ {then} {ends} }}{orelse}"

    def draw(self):
        name = f"v{len(self.noisy)}"
        if self.noisy and self.is_likely(0.2):
            name = self.one(*self.noisy)
        ratio = self.one("1/2", "1/4", "1/3", f"if {self.condition(1)} then 1/2 else 1/4")
        law = self.one(
            *[lambda: f"geometric({self.center()}, {ratio}) unbounded"] * 6,
            "geometric_positive(1/2) unbounded",
            lambda: f"noise({self.center()})",
            lambda: f"one_of({self.condition(1)})",
        )
        self.noisy = [*dict.fromkeys((*self.noisy, name))]
        return f"{name} ~ {law}"

    def center(self):
        one = self.one(*self.inputs * 3, "t", "0")
        more = f"{self.one('+', '-')} {self.one(*self.inputs, 't', '1')}"
        chosen = f"(if {self.condition(1)} then {one} else {self.one(*self.inputs, '1')})"
        return self.one(*[one] * 5, f"{one} {more}", f"-({one})", chosen)

    def output(self):
        shown = self.one(
            *[lambda: f"if {self.condition()} then top else bot"] * 5,
            "bot",
            *[self.number] * 2,
            lambda: f"argmax({self.number()}, {self.number()})",
            lambda: f"({self.one('bot', 'top')}, {self.number()})",
            lambda: f"count(j in 0..1 : {self.number()} > j)",
            lambda: f"{self.one('a[1]', 'a[n + 1]', 'max(a)')} {self.comparison()} 0",
        )
        return f"output {shown}"

    # --- expressions -----------------------------------------------------------------------

    def comparison(self):
        return self.one(*COMPARISONS[:4] * 2, *COMPARISONS[4:])

    def number(self):
        """Return a number, noisy if there is one."""
        x, y = (self.one(*self.noisy or ["1"]) for _ in range(2))
        return self.one(
            *[x] * 12,
            f"{x} {self.one('+', '-')} {self.one(*self.inputs, 't', '1')}",
            f"{self.one('max', 'min')}({x}, {y})",
            f"{self.one('max', 'min')}({x}, {self.one('0', '1')})",
            f"clamp({x}, {self.one('-1', '0')}, 1)",
            f"larger({x}, {self.one(y, '1')})",
            f"-{x}",
            f"({x}, 1)[1]",
            f"max(j in 1..2 : {x})",
        )

    def condition(self, depth=0):
        x, op = self.number(), self.comparison()
        side = self.one(*[self.number()] * 4, self.one(*self.inputs), "t", "0", "2")
        if depth > 1 or self.is_likely(0.7):
            return f"{x} {op} {side}"
        return self.one(
            lambda: (
                f"({self.condition(depth + 1)} {self.one('&', '|')} {self.condition(depth + 1)})"
            ),
            lambda: f"({self.condition(depth + 1)} => {self.condition(depth + 1)})",
            lambda: f"!({self.condition(depth + 1)})",
            f"{x} in {self.one('0..1', '0..0', '2..1')}",
            f"exists(j in 0..1 : {x} {op} j)",
            "b",
        )


def sums_with_noise(seed):
    """Return a mechanism that compares inputs to which noise was added, some of it one-sided."""
    choices = random.Random(seed)
    one, n = choices.choice, choices.randint(2, 3)
    relation = one(["linf(q, q') <= 1"] * 2 + ["l1(q, q') <= 1", "l1(q, q') <= 2"])
    if choices.random() < 0.3:
        relation = f"forall(i in 1..{n} : 0 <= q'[i] - q[i] <= 1)"
    lines = []
    for i in range(1, n + 1):
        positive = "geometric_positive(1/2)"
        law = one([positive, positive, "geometric(0, 1/2)", f"geometric(q[{i}], 1/4)"])
        center = f"{one(['', '', '-'])}q[{i}]"
        lines += [f"z ~ {law} unbounded", f"v[{i}] := {center} + {one('z' * 9 + '1')}"]
    x, y = (f"v[{choices.randint(1, n)}]" for _ in range(2))
    best = "best := 1  for i in 2..N { if v[i] > v[best] { best := i } }  output best"
    shown = [
        *["output argmax(v)"] * 2,
        f"output {x} >= {y}",
        f"output argmin(v)  output {x} > {one('01')}",
        f"if {x} > {y} {{ output top }} else {{ output {y} < {one(['0', x])} }}",
        best.replace("N", str(n)),
    ]
    body = "\n  ".join([*lines, one(shown)])
    return f"""
mechanism m {{
  input q[1..{n}] in integers
  adjacent {relation}
  var v[1..{n}] := 0
  {body}
}}"""
