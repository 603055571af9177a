"""The trees of the language's constructs."""

from fractions import Fraction

import pytest

from dpcheck.model import surface as s
from tests.parse.printing import surface_text
from tests.parse.reading import expression_of, formula_of, item_of, model_of


def shown(part):
    return surface_text(part)


def test_top_level_items_in_the_order_of_the_text():
    model = model_of(
        """
        const n = 5
        fun near(a, b) = abs(a - b) <= 1
        dist coin(p) = {true: p, false: 1 - p}
        dist fair = coin(1/2)
        import "noise.dpm"
        import std.above_threshold
        check survey: dp(ln 3); refute survey: dp(ln 2)
        for k in 1..4, l in 1..k where k != l {
          check rr(k = k): epsilon = k * ln 3  for j in {1} { compute m: delta(0) } }
        check "a name" at at x = pos : P>=3/4 [ F Y ]
        """
    )
    kinds = [type(item).__name__ for item in model.items]
    assert kinds == [
        "Constant", "Function", "DistributionFunction", "DistributionFunction", "ImportFile",
        "ImportStandard", "Question", "Question", "QuestionsFor", "Question",
    ]  # fmt: skip
    named = model.items[-1]
    assert (named.title, named.target.name.name, shown(named.at)) == ("a name", "at", "x = pos")
    assert model.items[4].path == "noise.dpm"
    assert model.items[5].module == "above_threshold"
    loop = model.items[8]
    assert [(i.variable.name, shown(i.domain)) for i in loop.indices] == [
        ("k", "1..4"),
        ("l", "1..k"),
    ]
    assert shown(loop.where) == "k != l"
    assert [type(question).__name__ for question in loop.body] == [
        "Question",
        "QuestionsFor",
    ]


def test_mechanism_sorts_its_declarations():
    mechanism = item_of(
        """mechanism m(k = 3, n) {
          input q[1..k] in 0..n where sum(q) = 4
          public t in 0..n
          adjacent linf(q, q') <= 1
          adjacent (pos, neg), (neg, unknown)
          adjacent all
          output t
        }"""
    )
    assert [p.default and shown(p.default) for p in mechanism.parameters] == ["3", None]
    q, t = mechanism.inputs
    assert (shown(q.indices), shown(q.domain), shown(q.where)) == ("1..k", "0..n", "sum(q) = 4")
    assert (q.is_public, t.is_public, t.indices) == (False, True, None)
    where, pairs, everything = mechanism.adjacency
    assert shown(where.condition) == "linf(q, q') <= 1"
    assert [tuple(map(shown, pair)) for pair in pairs.pairs] == [("pos", "neg"), ("neg", "unknown")]
    assert isinstance(everything, s.AdjacentAll)


STATEMENTS = [
    ("x := e", s.Assign),
    ("a[i] := e", s.Assign),
    ("(a, b) := t", s.Assign),
    ("x ~ bernoulli(1/2)", s.Sample),
    ("a[i] ~ {1: 1/2, 2: 1/2}", s.Sample),
    ("(a, b) ~ other(x = 3)", s.Sample),
    ("var a[1..k] := 0", s.Var),
    ("var c in 0..9 := 0", s.Var),
    ("var c", s.Var),
    ("if c { } else if d { stop } else { output e }", s.If),
    ("for i in S { }", s.For),
    ("for i in S, j in {i} where i < j { }", s.For),
    ("while c { x := 1 }", s.While),
    ("repeat n { x := 1 }", s.Repeat),
    ("output (a, b)", s.Output),
    ("output output", s.Output),
    ("stop", s.Stop),
    ("run other", s.Run),
    ("run other(k = 3, x = e)", s.Run),
]


@pytest.mark.parametrize("separator", ["\n", " ", " ; ", ";;\n"])
def test_statements_need_nothing_between_them(separator):
    text = separator.join(text for text, _ in STATEMENTS)
    body = item_of("mechanism m {" + text + "}").body
    assert [type(statement) for statement in body] == [kind for _, kind in STATEMENTS]
    for (written, _), statement in zip(STATEMENTS, body, strict=True):
        assert statement.span.text == written


def test_break_is_a_word_only_where_it_stands_alone():
    text = """mechanism m {
      input x in {break, go}
      adjacent all
      for break in 1..3 { if c { break } else { break; } while c { y := break break }
        repeat 3 { y ~ {break: 1} normalized break } }
      break := 1
      break[1] ~ uniform({break})
      if x in {break} { output break }
      (break, y) := f(break)
      while c { break (a, b) := (1, 2) break stop break x := 1 break if c { } }
    }"""
    body = item_of(text).body
    kinds = [s.For, s.Assign, s.Sample, s.If, s.Assign, s.While]
    assert [type(statement) for statement in body] == kinds
    chosen, inner, repeated = body[0].body
    assert [type(x) for x in (chosen.branches[0][1][0], chosen.otherwise[0])] == [s.Break] * 2
    assert [type(statement) for statement in inner.body] == [s.Assign, s.Break]
    assert [type(statement) for statement in repeated.body] == [s.Sample, s.Break]
    assert [type(statement) for statement in body[5].body] == [
        s.Break, s.Assign, s.Break, s.Stop, s.Break, s.Assign, s.Break, s.If]  # fmt: skip


def test_states_and_targets_may_be_called_break():
    item_of("chain c { state break; state a: break; break -> 1/2: a + 1/2: break a -> 1: break }")
    item_of('check "as such" break at break: dp(1)')


def test_a_pattern_after_a_name_is_no_call():
    body = item_of("mechanism m { x := a\n(b, c) := f(x)\nx := a (b, c) }").body
    assert isinstance(body[0].value, s.Name)
    assert [name.name for name in body[1].place.names] == ["b", "c"]
    assert isinstance(body[2].value, s.Call)


def test_a_minus_on_the_next_line_goes_on():
    (statement,) = item_of("mechanism m { x := 1\n-1 }").body
    assert shown(statement.value) == "1 - 1"


def test_else_if_is_flat():
    (statement,) = item_of(
        "mechanism m { if a { } else if b { } else if c { } else { stop } }"
    ).body
    assert [shown(condition) for condition, _ in statement.branches] == ["a", "b", "c"]
    assert statement.otherwise == (s.Stop(span=statement.span),)


def test_chain_sorts_its_declarations():
    chain = item_of(
        """chain c(n = 5) {
          state pos
          state g[i in 0..n, j in 0..2] : Y, "R"
          pos -> 3/4: g[0, 1] + 1/4: pos
          for i in 0..n { if i = 0 { g[i, 0] -> 1: pos } else { g[i, 0] -> 1: g[i - 1, 0] } }
          "R" -> l ~ geometric(k, 1/2) clamped 0..n : t[l]
          adjacent pos ~ g[i, j] where i = j
          init pos, g[0, 0]
          observe Y, "R", g
        }"""
    )
    assert [family.name.name for family in chain.families] == ["pos", "g"]
    g = chain.families[1]
    assert [(i.variable.name, shown(i.domain)) for i in g.indices] == [("i", "0..n"), ("j", "0..2")]
    assert [(label.name, label.quoted) for label in g.labels] == [("Y", False), ("R", True)]
    row, loop, drawn = chain.rows
    assert [shown(branch.probability) for branch in row.branches] == ["3/4", "1/4"]
    assert isinstance(loop.body[0], s.RowsIf)
    assert isinstance(drawn.branches[0], s.RowDraw)
    assert isinstance(drawn.branches[0].distribution, s.WithPolicy)
    assert shown(chain.adjacency[0].where) == "i = j"
    assert [len(state.indices) for state in chain.inits[0].states] == [0, 2]
    assert len(chain.observes[0].names) == 3


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a => b => c", "a => (b => c)"),
        ("a | b & c", "a | (b & c)"),
        ("a & b U c", "a & (b U c)"),
        ("a U b W c", "a U (b W c)"),
        ("F a U b", "(F a) U b"),
        ("!a & b", "(!a) & b"),
        ("! x = 3", "!(x = 3)"),
        ("F output = 3", "F (output = 3)"),
        ("X X a & b", "(X (X a)) & b"),
        ("x = 1..3", "x = (1..3)"),
        ("0..n - 1", "0..(n - 1)"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("a + b mod c", "a + (b mod c)"),
        ("-a * b", "(-a) * b"),
        ("-a^2", "-(a^2)"),
        ("2^3^2", "2^(3^2)"),
        ("ln 2^3", "ln (2^3)"),
        ("2 * ln 2 + 1/2", "(2 * (ln 2)) + (1/2)"),
        ("ln -x", "ln (-x)"),
        ("a[1][2]", "(a[1])[2]"),
        ("if a then b else c | d", "if a then b else (c | d)"),
        ("P=? [ X a ] <= 1/2", "(P=? [ X a ]) <= (1/2)"),
        ("geometric(x, a) clamped 0..n + 1", "(geometric(x, a)) clamped 0..(n + 1)"),
        ("a => g clamped 0..1", "(a => g) clamped 0..1"),
    ],
)
def test_precedence(text, grouped):
    assert formula_of(text) == formula_of(grouped)


def test_comparisons_chain_and_conjunctions_are_flat():
    chain = expression_of("0 <= x < 3 != y")
    assert (len(chain.operands), chain.operators) == (4, ("<=", "<", "!="))
    assert len(expression_of("a & b & c & d").operands) == 4
    assert len(expression_of("(a & b) & c").operands) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-6", Fraction(1, 10**6)),
        ("2.50E+1", Fraction(25)),
        ("1e-000000000000005", Fraction(1, 10**5)),
        ("1e+0000000000000002", Fraction(100)),
        ("0.000", Fraction(0)),
        ("9" * 5000, Fraction(10**5000 - 1)),
        ("1e5000", Fraction(10**5000)),
    ],
)
def test_literals_are_exact(text, value):
    number = expression_of(text)
    assert Fraction(number.numerator, number.denominator) == value
    assert number.text == text


def test_two_dots_make_a_range_of_integers():
    assert shown(expression_of("1..3")) == "1..3"
    assert expression_of("1..3").low.numerator == 1
    assert expression_of("1.5..3").low.text == "1.5"


def test_words_that_stay_names():
    for word in ("epsilon", "delta", "dp", "at", "count", "min", "max", "all", "std", "exp", "inf"):
        assert item_of(f"const {word} = 1").name.name == word
        assert expression_of(word) == s.Name(word, span=expression_of(word).span)


def test_formulas():
    claim = formula_of("D{ln 3, 1/4}[X (Y & D{0}[F<=n/m Y])] & P in [1/4, 1] [a U<=(k + 1) b]")
    private, within = claim.operands
    assert shown(private.delta) == "1/4"
    assert shown(private.path.operand.operands[1].path.bound) == "n/m"
    assert shown(within.path.bound) == "k + 1"
    assert formula_of("F<=n (x = 3)").bound.name == "n"
    assert formula_of("F<=n output = 3").bound.name == "n"


def test_named_arguments_and_equalities():
    call = expression_of("m(x = a & b, (y = 1), z = if c then 1 else 2)")
    assert [a.name and a.name.name for a in call.arguments] == ["x", None, "z"]


def test_primed_and_quoted_names():
    assert expression_of("q'[1]").base.primed
    quoted = expression_of('"R"')
    assert (quoted.name, quoted.quoted) == ("R", True)


def test_spans_cover_what_was_written():
    text = "( a  + b ) * c # end"
    product = expression_of(text)
    assert product.span.text == "( a  + b ) * c"
    assert product.left.span.text == "a  + b"
