"""Programs written to break an explorer, each judged by the interpreter beside it."""

from __future__ import annotations

import pytest

import dpcheck
from dpcheck.resolve.programs import statements
from tests.chains import built_chain, chain_rows, initial_pairs
from tests.oracle.reference import Program

PROGRAMS = {
    "every statement, in loops and out of them": """
        mechanism m {
          input x in 0..1
          input w[1..2] in {red, green}
          adjacent all
          var a[1..3] in 0..9 := 0
          var y in 0..9 := 0
          n := 0
          (p, q) := (x, w[1])
          a[x mod 3 + 1] := x + 1
          while n < 2 {
            coin ~ if w[2] = red then bernoulli(1/2) else bernoulli(1/3)
            if coin { n := n + 1; a[n] := min(a[n] + p, 9) } else { n := n + 2 }
            y ~ geometric(n, 1/2) clamped 0..2
            z ~ {i: 1 + i for i in 0..1} normalized
            if y >= z & !(y = 1) | q = green { output (a, y div 2) }
          }
          while a[1] > 0 { a[1] := a[1] - 1 }
          output clamp(n, 0, a[2] + 1)
        }""",
    "numbers beyond 64 bits stay apart": """
        mechanism m { input x in 0..2 adjacent all
          y := 2^80 + x
          z := y * y
          output z mod 7
          output z - 2^160 }""",
    "products leave 64 bits on the way and come back": """
        mechanism m { input x in 0..3 adjacent all
          y := (x * 10^12 + 1) * (10^12 + x)
          output y mod 97
          output (y - 1) div 10^20 }""",
    "integers at the edge of the codes": """
        mechanism m { input x in {2^61 - 1, 2^61, 2^62, -2^61, -2^63, 2^63} adjacent all
          y := x + 1
          output y
          output x - 1
          output y = x + 1 & abs(x) > 5 }""",
    "true is no number and no symbol": """
        mechanism m { input x in {0, 1, true, false} adjacent all
          y := x = 1
          output (y, x = true)
          if x = 1 | x = 0 { output x + 1 } else { output if x then a else b } }""",
    "rationals keep their values": """
        mechanism m { input x in {1/2, 2/4, 0.25, 1} adjacent all
          y ~ uniform({x, 1/2})
          output y * 2
          output floor(y * 3) + y }""",
    "the untaken side is not evaluated": """
        mechanism m { input x in 0..2 adjacent all
          a := x != 0 & 1/x > 1/2
          b := x = 0 | 6 mod x = 0
          c := x = 0 => 1/(1 - x) = 1
          d := if x = 0 then 7 else 1/x
          e := sum(i in -1..1 where i != 0 : x/i)
          output (a, b, c, d, e) }""",
    "arrays may begin anywhere": """
        mechanism m { input q[-1..1] in 0..1 adjacent hamming(q, q') <= 1
          var a[0..1] := 9
          a[q[0]] := q[-1]
          a[1 - q[0]] ~ uniform(0..1)
          output a[0] + argmax(q)
          output a
          output q }""",
    "a whole array is copied, not shared": """
        mechanism m { input x in 0..1 adjacent all
          var a[1..2] := x
          var b[1..2] := 0
          b[1] := a[2]
          a[2] := 5
          output (a[1], a[2], b[1], b[2])
          output sum(a) }""",
    "loops over nothing do nothing": """
        mechanism m { input x in 0..1 adjacent all
          for i in 1..0 { output never }
          for i in 1..x { output i }
          repeat 0 { output never }
          repeat x { output again } }""",
    "the order of a set literal is the order of the loop": """
        mechanism m { input x in {3, 1, 2} adjacent abs(x - x') <= 1
          for i in {2, 3, 1} { if i >= x { output i } } }""",
    "a set without repeats is drawn from uniformly": """
        mechanism m { input x in 0..2 adjacent all
          y ~ uniform({x, 1, x * x})
          z ~ uniform({i mod 2 for i in 0..x})
          output y + 10 * z }""",
    "stop ends the mechanism that is run, not its caller": """
        mechanism inner(k = 2) { input z in 0..2 adjacent all
          for i in 1..k {
            b ~ bernoulli(1/(1 + z))
            if b { output i; stop }
          }
          output none }
        mechanism m { input x in 0..2 adjacent all
          repeat 2 { run inner(z = x) }
          y ~ inner(k = 1, z = x)
          if y = none { output end; stop }
          output y
          stop }""",
    "mechanisms call mechanisms that call mechanisms": """
        mechanism a { input z in 0..1 adjacent all
          y ~ bernoulli(1/(2 + z))
          output if y then 1 else 0 }
        mechanism b(n = 2) { input z in 0..1 adjacent all
          total := 0
          repeat n { y ~ a(z = z) total := total + y }
          output total }
        mechanism m { input x in 0..1 adjacent all
          y ~ b(n = 3, z = 1 - x)
          z ~ b(z = clamp(y, 0, 1))
          output (y, z)
          run b(z = x) }""",
    "a callee's names are its own": """
        mechanism inner(x = 3) { input y in 0..9 adjacent all z := y + x output z }
        mechanism m { input y in 0..2 adjacent all
          z := 5
          w ~ inner(x = 5, y = y + 1)
          output (w, z, y)
          run inner(y = z) }""",
    "if the callee diverges the caller does": """
        mechanism inner { input z in 0..1 adjacent all
          go := z = 1
          while go { go ~ uniform({true}) }
          output done }
        mechanism m { input x in 0..1 adjacent all
          coin ~ bernoulli(1/3)
          output start
          if coin { y ~ inner(z = x) output y } else { run inner(z = 0) } }""",
    "silent loops nest": """
        mechanism m { input x in 0..1 adjacent all
          y := 0
          while y < 2 {
            z := 0
            while z = 0 { z ~ {0: 1/2, 1: 1/4, 2: 1/4} }
            y ~ uniform({0, z, 2 * x})
          }
          output y
          while x = 1 & y = 2 { y ~ {2: 9/10, 3: 1/10} }
          output y }""",
    "a random walk between two walls": """
        mechanism m { input x in 1..5 adjacent abs(x - x') <= 1
          y := x
          while 0 < y < 6 { up ~ bernoulli(2/5) y := if up then y + 1 else y - 1 }
          output y }""",
    "some of the probability goes silent forever": """
        mechanism m { input x in 0..2 adjacent all
          y := x
          output start
          while y != 3 {
            if y = 2 { y ~ {2: 1/3, 3: 1/3, 4: 1/3} } else if y < 2 { y ~ uniform(0..4) }
          }
          output end }""",
    "going silent before the first output": """
        mechanism m { input x in 0..1 adjacent all
          while x = 1 { y := 0 }
          output x }""",
    "no output at all": """
        mechanism m { input x in 0..1 adjacent all
          y ~ bernoulli(1/2)
          if y & x = 1 { stop } }""",
    "probabilities zero and one are no branches": """
        mechanism m { input x in 0..1 adjacent all
          a ~ bernoulli(x)
          b ~ {0: 0, 1: 1, 2: 0}
          c ~ binomial(3, 1 - x)
          d ~ binomial(0, 1/2)
          output (a, b, c, d) }""",
    "outputs in both branches and after": """
        mechanism m { input x in 0..1 adjacent all
          c ~ bernoulli(1/2)
          if c { output x } else { output 1 - x; output x }
          output c }""",
    "what was output is remembered, the memory is not": """
        mechanism m { input x in 0..3 adjacent all
          a := x mod 2
          output a
          b := x div 2
          output b
          output go
          output go
          c ~ bernoulli(if b = 1 then 1/3 else 2/3)
          output c }""",
    "tuples are compared and taken apart": """
        mechanism m { input p in {0, 1} * {a, b} adjacent all
          (n, s) := p
          t := (n, (s, n + 1))
          (u, v) ~ uniform({(n, 2), (7, 7)})
          output t
          output (t[2][1] = a, p = (1, b), u + v)
          output p in {(0, a), (1, b)} }""",
    "names of constants win over symbols": """
        const top = 3
        mechanism m(bot = 4) { input x in {0, 1} adjacent all
          output if x = 0 then top else bot
          output (top, side) }""",
    "wide denominators": """
        mechanism m { input x in 0..1 adjacent all
          a ~ bernoulli(1e-30)
          b ~ {0: 1/3^40, 1: 1 - 1/3^40}
          c ~ geometric(x, 1/10^9) clamped -1..2
          output (a, b)
          output c }""",
    "many factors of one loop": """
        mechanism m { input x in 0..1 adjacent all
          count1 := 0
          repeat 40 {
            b ~ bernoulli(if x = 1 then 12345/99991 else 54321/99991)
            count1 := min(3, count1 + (if b then 1 else 0))
          }
          output count1 }""",
    "distributions choose and call each other": """
        dist base(p) = {0: p, 1: 1 - p}
        dist pick(c, p) = if c then base(p) else uniform({5, 6})
        dist noise(center) = geometric(center, 1/2) clamped 0..2
        mechanism m { input x in 0..1 adjacent all
          y ~ pick(x = 0, 1/3)
          z ~ noise(x + 1)
          w ~ if y = 0 then noise(0) else base(1/5)
          output (y, z, w) }""",
    "every policy where the center is far outside": """
        mechanism m { input x in {-7, 0, 9} adjacent all
          a ~ geometric(x, 1/3) clamped 0..2
          output a
          b ~ geometric(x, 1/3) conditioned 0..2
          output b
          c ~ geometric(x, 1/3) folded 0..2
          output c
          d ~ geometric(x, 1/3) wrapped 0..2
          output d }""",
    "every policy on a single point": """
        mechanism m { input x in 0..1 adjacent all
          a ~ geometric(x, 1/3) clamped 1..1
          b ~ geometric(x, 1/3) conditioned 1..1
          c ~ geometric(x, 1/3) wrapped 1..1
          output (a, b, c) }""",
    "one-sided noise below and above its support": """
        mechanism m { input x in 1..2 adjacent all
          a ~ geometric_positive(x/3) clamped -2..-1
          b ~ geometric_positive(x/3) folded -2..1
          c ~ geometric_positive(x/3) wrapped 3..5
          d ~ geometric_positive(x/3) conditioned 2..3
          output (a, b, c, d) }""",
    "a condition on earlier inputs": """
        mechanism m { input x in 0..2 input y in 0..2 where y <= x
          public z[1..2] in 0..1 where z[1] <= z[2]
          adjacent abs(x - x') + abs(y - y') <= 1
          output (x + y) * z[1] }""",
    "adjacency by pairs of symbols": """
        mechanism m { input x in {a, b, c} adjacent (a, b), (c, b), (b, a) output x }""",
    "an adjacency that nobody wrote symmetrically": """
        mechanism m { input x[1..2] in 0..2 adjacent x[1] < x'[1] & x[2] = x'[2] output sum(x) }""",
    "binders shadow and nest": """
        mechanism m { input x in 0..2 adjacent all
          output sum(i in 0..x : sum(j in i..2 where j != x : i * j))
          output argmax(i in -2..2 : -(i - x)^2)
          output exists(i in 0..2 : forall(j in 0..i : j <= x & i > 0))
          output max(i in {x, 1} : if i = x then i else -i)
          output count(i in {j * j for j in -2..2} : i > x) }""",
    "one break leaves a loop over two indices": """
        mechanism m { input x in 0..2 adjacent all
          n := 0
          for i in 0..2, j in i..2 where i + j != x {
            n := n + 1
            c ~ bernoulli(1/(2 + i + j))
            if c { break }
            for k in 1..j { if k > i { break } n := n + k }
          }
          output n }""",
    "a loop over two indices that runs decide": """
        mechanism m { input x in 0..2 adjacent all
          last ~ uniform(0..x)
          n := 0
          for i in 0..last, j in {i, x, last} where i <= j {
            if i + j = 3 { break }
            c ~ bernoulli(1/2)
            if c { output (i, j); n := n + 1 }
            while c { c ~ bernoulli(1/3) if n = 2 { break } }
          }
          output n }""",
    "a set that is written out is visited in the order written, without repeats": """
        mechanism m { input x in 0..1 adjacent all
          y ~ uniform(0..x)
          for j in {x, 1 - x, y} { output j }
          for j in {2, x, 2, y + 1, x} { output j; x2 := j; if j = 1 { break } }
          s := 0
          for j in {y, s, x, 3} { s := s + 1; if j = y & y != x { c ~ bernoulli(1/3) output c } }
          output s }""",
    "of elements that tie the first as written is the best": """
        mechanism m { input x in 0..2 adjacent all
          y ~ uniform(0..x)
          output argmax(j in {x, 2 - x} : 0)
          output (argmin(j in {x, y, 5} where j != 1 : abs(j - 1)), argmax(j in {y, x + 1, y} : -j))
          output argmin(j in {y, argmax(i in {y, x, 1} : i mod 2)} : (j - x)^2) }""",
    "equal sets that runs make have one order, whoever makes them": """
        fun first(S) = argmin(i in S : 0)
        mechanism h { input T in {{5, 2}, {3}} adjacent all output first(T) }
        mechanism m { input x in 0..2 input T in {{7, (1, x1), true}, {2, 9, 1/2}} adjacent all
          S := if x = 0 then {5, 2, 30} else if x = 1 then {30, 2, 5} else {i for i in {2, 30, 5}}
          all := 0
          for i in S { all := 100 * all + i }
          for i in {10 - i for i in {3, x, 4}} { all := 100 * all + i }
          for i in if x = 0 then {4, 3} else {3, 4} { all := 100 * all + i }
          output all
          output (first(S), first({3 - x, x}), first({5, 2}), argmax(i in {x - j for j in S} : 0))
          U ~ uniform({{x, 5}, {5, 1}, {2, x}})
          for i in T * U { output (i, first(U), S, {x, 9, 5, x1}) }
          y ~ h(T = {5, 2})
          output y }
        mechanism symbols { input s in {x1} adjacent all output s }""",
    "sets that a function makes have one order, whatever it is given": """
        const T = {3, 1}
        fun two(a) = {a + 1, a}
        fun first(S) = argmax(i in S : 0)
        dist best(S) = {first(S): 1}
        mechanism m(k = 1, U = {5, 2}) { input x in 0..1 adjacent all
          output (first(two(x)), first(two(x + 1)), first(two(k)), first(two(3)))
          output (first(T), first(U))
          output (argmin(i in two(x) : 0), argmin(i in two(2 * x) : 0), argmin(i in two(k) : 0))
          all := 0
          for i in two(x) { all := 100 * all + i }
          for i in two(x + k) { all := 100 * all + i }
          output all
          for j in 1..2 {
            for i in two(j) { all := 100 * all + i }
            for i in two(10 * j) { all := 100 * all + i }
            for i in {v * j for v in U} { all := 100 * all + i }
            y ~ best({j + k, j})
            output (all, y, first({j + 1, j}), argmax(i in {j + 1, j} : 0)) }
          for i in two(7) { all := 100 * all + i }
          for i in if k = 1 then {x + 9, x} else {x} { all := 100 * all + i }
          output all }""",
    "a quantifier looks at a set that is written out in the order written, until it is decided": """
        mechanism m { input x in 0..1 adjacent all
          output exists(i in {2, x, 0} : 1/i > 0)
          output forall(i in {3, 0} where i >= x : 1/(i + x) < 1/3)
          output exists(i in {1, 0} : x <= 1/i) }""",
    "indices of one loop hide names only in it": """
        mechanism m(j = 5) { input x in 0..1 adjacent all
          for i in 0..1, j in 2..3 where j - i != 2 { output 10 * i + j + x }
          output j }""",
    "a while loop that counts": """
        mechanism m { input x in 0..3 adjacent abs(x - x') <= 1
          i := 0
          total := 0
          while i < x { i := i + 1  c ~ bernoulli(i/4)  if c { total := total + i; output total } }
          output total }""",
    "outputs of equal text and different kinds": """
        mechanism m { input x in 0..1 adjacent all
          output if x = 0 then (1, 2) else (1, 3)
          output ((x, 1), {x, 2} = {2, x}) }""",
    "tuples become arrays, whatever the indices of these are": """
        fun pair(a) = (a, a + 1)
        mechanism h { input q[0..1] in 0..9 adjacent all output 10 * q[0] + q[1] }
        mechanism m { input x in 0..2 adjacent all
          var a[0..1] := 5
          var b[3..4] := 5
          a := (1, 2)
          b := (a[1], x)
          run h(q = (7, 8))
          run h(q = (x, 3))
          y ~ h(q = if x = 0 then (x, 4) else pair(x + 1))
          a := pair(x + y)
          output (a, b) }""",
    "an array or a tuple becomes an array, whatever the indices of these are": """
        const c = 1
        fun chosen(k, u, v) = if k = c then u else v
        mechanism h { input q[0..1] in 0..9 adjacent all output 10 * q[0] + q[1] }
        mechanism m { input x in 0..2 adjacent all
          var a[0..1] := x
          var b[3..4] := 5
          a := if x = 0 then (a[1], 7) else a
          b := if x = 1 then a else b
          a := if x = 2 then b else if x = 1 then (a[1] + 1, a[0]) else a
          run h(q = if x = 1 then b else (x, 4))
          b := chosen(x, (b[4], b[3]), a)
          output (a, b) }""",
    "a checked range that holds": """
        mechanism m { input x in 0..3 adjacent all
          var c in 0..9 := x
          var d[1..2] in {0, 1, 4, 9} := 0
          c := c * 3
          d[1 + x mod 2] := x^2
          c ~ uniform({c, 0})
          output (c, d[1], d[2]) }""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_chain_agrees_with_the_runs(name):
    text = PROGRAMS[name]
    program = Program(text)
    chain = built_chain(text, "m")
    assert chain_rows(chain, 10) == program.rows()
    assert initial_pairs(chain) == program.pairs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_so_it_does_where_loops_are_too_long_to_be_written_out(name, monkeypatch):
    monkeypatch.setattr(statements, "MAX_UNROLLED", 3)
    chain = built_chain(PROGRAMS[name], "m")
    assert chain_rows(chain, 10) == Program(PROGRAMS[name]).rows()


@pytest.mark.parametrize(
    "body",
    [
        "output first(x, 1/x)",
        "y ~ coin(1/2, 1/x) output y",
        "y ~ coin(1/2, 1/x) output first(x, y)",
        "output if 2 < x < 1/x then 1 else 0",
        "output if 3 < x < 2 + x < 1/x then 1 else 0",
        "output max(i in {1, 2} : first(i, 1/(x - i)))",
        "output first(x, first(x, 1/x))",
    ],
)
def test_every_argument_and_operand_is_evaluated_used_or_not(body):
    functions = "fun first(a, b) = a  dist coin(p, q) = {0: p, 1: 1 - p}\n"
    model = functions + "mechanism m { input x in %s adjacent all " + body + " }"
    with pytest.raises(dpcheck.ModelError) as found:
        dpcheck.loads(model % "0..2").target("m").output_distributions()
    assert [mistake.code for mistake in found.value.mistakes] == ["DP207"]
    if "1/x" in body:
        assert dpcheck.loads(model % "1..2").target("m").output_distributions()


@pytest.mark.parametrize("value", ["first(1, 1/0)", "first(1, first(1, 1/0))", "2 < 1 < 1/0"])
def test_so_is_every_one_of_a_constant(value):
    with pytest.raises(dpcheck.ModelError) as found:
        dpcheck.loads(f"fun first(a, b) = a\nconst c = {value}")
    assert [mistake.code for mistake in found.value.mistakes] == ["DP207"]


def test_what_is_skipped_is_not_evaluated_within_an_argument_either():
    text = """
      fun first(a, b) = a
      mechanism m { input x in 0..2 adjacent all
        output first(x, if x = 0 then 0 else 1/x)
        if x != 0 & first(x, 1/x) > 0 { output 1 }
      }"""
    assert len(dpcheck.loads(text).target("m").output_distributions()) == 3
