"""Known truths: exact answers that were computed with plain fractions, independently of any tool.

E is e^epsilon, tight over all neighbor pairs and both directions; delta is event-level.
"""

from __future__ import annotations

import pytest

from tests.checking import check_text

RR = """
mechanism survey(truth = 3/4) {
  input x in {pos, neg}
  adjacent all
  y ~ if x = pos then {Y: truth, N: 1 - truth} else {Y: 1 - truth, N: truth}
  output y
}
mechanism answers(k = 2) {
  input x in {pos, neg}
  adjacent all
  repeat k { run survey(x = x) }
}
"""


def assert_all_hold(text):
    report = check_text(text)
    wrong = [result for result in report["results"] if not result["ok"]]
    assert report["ok"], (wrong, report.get("errors"))
    assert report["results"]


def test_the_survey_has_e_3_and_its_deltas():
    assert_all_hold(
        RR
        + """
    check survey: epsilon = ln 3
    check survey: delta(0) = 1/2
    check survey: delta(ln 2) = 1/4
    check survey: D{ln 3} [ X Y ]
    check survey: D{ln 3} [ X N ]
    check survey: D{0, 1/2} [ X Y ]
    refute survey: D{0, 1/2 - 1e-50} [ X Y ]
    """
    )


def test_two_answers_of_one_person():
    assert_all_hold(
        RR
        + """
    check answers: epsilon = ln 9
    check answers: delta(0) = 1/2
    check answers: delta(ln 3) = 3/8
    check answers: D{ln 9} [ X (Y & X Y) ]
    refute answers: D{ln 9 - 1e-40} [ X (Y & X Y) ]
    check answers: D{ln 3} [ X X Y ]
    check answers: D{ln 3} [ X (Y & D{ln 3} [ X Y ]) ]
    """
    )


@pytest.mark.parametrize(
    ("k", "delta", "largest"),
    [
        (1, "0", None),
        (2, "3/8", None),
        (3, "3/8", None),
        (4, "75/128", "39/128"),
        (5, "75/128", "15/64"),
        (6, "735/1024", "363/2048"),
    ],
)
def test_k_answers_hide_more_in_events_than_in_single_outputs(k, delta, largest):
    text = RR + f"check answers(k = {k}): delta(ln 3) = {delta}\n"
    text += f"check answers(k = {k}): epsilon = {k} * ln 3\n"
    if largest is not None:
        path = f"X output = a{k}"
        for i in range(k - 1, 0, -1):
            path = f"X (output = a{i} & {path})"
        for verdict, bound in (("check", largest), ("refute", f"{largest} - 1e-30")):
            formula = f"D{{ln 3, {bound}}} [ {path} ]"
            for i in range(k, 0, -1):
                formula = f"forall(a{i} in {{Y, N}} : {formula})"
            text += f"{verdict} answers(k = {k}): {formula}\n"
    assert_all_hold(text)


GEOMETRIC = """
mechanism truncated(n = 5, alpha = 1/2, distance = 1) {
  input x in 0..n
  adjacent abs(x - x') <= distance
  y ~ geometric(x, alpha) clamped 0..n
  output y
}
"""
HALF = {
    0: "2/3 1/6 1/12 1/24 1/48 1/48",
    1: "1/3 1/3 1/6 1/12 1/24 1/24",
    2: "1/6 1/6 1/3 1/6 1/12 1/12",
}
QUARTER = {
    0: "4/5 3/20 3/80 3/320 3/1280 1/1280",
    1: "1/5 3/5 3/20 3/80 3/320 1/320",
    2: "1/20 3/20 3/5 3/20 3/80 1/80",
}


@pytest.mark.parametrize(("alpha", "table"), [("1/2", HALF), ("1/4", QUARTER)])
def test_the_truncated_geometric_table(alpha, table):
    text = GEOMETRIC
    for x, row in table.items():
        for y, p in enumerate(row.split()):
            target = f"check truncated(alpha = {alpha})"
            text += f"{target} at x = {x} : P=? [ X output = {y} ] = {p}\n"
            text += f"{target} at x = {5 - x} : P=? [ X output = {5 - y} ] = {p}\n"
    assert_all_hold(text)


def test_the_truncated_geometric_budget_is_the_distance_times_the_logarithm():
    assert_all_hold(
        GEOMETRIC
        + """
    check truncated: epsilon = ln 2
    check truncated(distance = 2): epsilon = ln 4
    check truncated(distance = 5): epsilon = ln 32
    check truncated: delta(0) = 1/3
    for d in 1..3 { check truncated(alpha = 1/4, distance = d): epsilon = d * ln 4 }
    """
    )


def test_a_center_outside_the_bounds():
    text = (
        "mechanism m { input x in 7..7 adjacent all y ~ geometric(x, 1/2) clamped 0..5 output y }"
    )
    for y, p in enumerate(["1/192", "1/192", "1/96", "1/48", "1/24", "11/12"]):
        text += f"\ncheck m: P=? [ X output = {y} ] = {p}"
    assert_all_hold(text)


ABOVE = """
mechanism above(k = 2) {
  input q[1..k] in 0..5
  public t in 0..5
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, 1/4) clamped 0..5
  for i in 1..k {
    noisy_q ~ geometric(q[i], 1/2) clamped 0..5
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
mechanism same(k = 2) {
  input d in 0..5
  public t in 0..5
  adjacent abs(d - d') <= 1
  noisy_t ~ geometric(t, 1/4) clamped 0..5
  for i in 1..k {
    noisy_q ~ geometric(d, 1/2) clamped 0..5
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
"""


@pytest.mark.parametrize("comparison", [">=", ">"])
def test_clamped_above_threshold_needs_two_to_the_k(comparison):
    # With `>` a tie counts as below, and the worst sequence ends in top.
    last = "bot" if comparison == ">=" else "top"
    worst = {1: f"X {last}", 2: f"X (bot & X {last})", 3: f"X (bot & X (bot & X {last}))"}
    text = ABOVE.replace(">=", comparison)
    for k in (1, 2, 3):
        text += f"check above(k = {k}): epsilon = {k} * ln 2\n"
        text += f"check above(k = {k}): D{{{k} * ln 2}} [ {worst[k]} ]\n"
        text += f"refute above(k = {k}): D{{{k} * ln 2 - 1e-20}} [ {worst[k]} ]\n"
    assert_all_hold(text)


def test_deltas_of_above_threshold():
    assert_all_hold(
        ABOVE
        + """
    check above(k = 1): delta(0) = 18139/61440
    check above(k = 2): delta(0) = 9947/30720
    """
    )


@pytest.mark.parametrize(
    ("comparison", "two", "three"), [(">", "943/292", "62777/16504"), (">=", "4", "8")]
)
def test_above_threshold_when_every_query_is_the_database(comparison, two, three):
    assert_all_hold(
        ABOVE.replace(">=", comparison)
        + f"""
    check same(k = 2): epsilon = ln({two})
    check same(k = 3): epsilon = ln({three})
    """
    )


@pytest.mark.parametrize(("truth", "base"), [("2/3", "2"), ("4/5", "4")])
def test_randomized_response_on_n_bits(truth, base):
    assert_all_hold(f"""
    mechanism rr(n = 1, changed = 1) {{
      input b[1..n] in 0..1
      adjacent hamming(b, b') <= changed
      for i in 1..n {{
        honest ~ bernoulli({truth})
        output if honest then b[i] else 1 - b[i]
      }}
    }}
    for n in 1..5 {{
      check rr(n = n): epsilon = ln {base}
      check rr(n = n, changed = n): epsilon = n * ln {base}
    }}
    """)


def test_the_exponential_mechanism_over_three_items():
    text = """
    mechanism exponential(base = 2) {
      input s[1..3] in 0..2
      adjacent DISTANCE(s, s') <= 1
      y ~ {i: base^s[i] for i in 1..3} normalized
      output y
    }
    """
    all_scores, one_score = text.replace("DISTANCE", "linf"), text.replace("DISTANCE", "l1")
    assert_all_hold(
        all_scores
        + """
    check exponential: epsilon = ln 3
    check exponential: dp(ln 4)
    check exponential(base = 4): epsilon = ln 11
    refute exponential(base = 4): dp(ln 4)
    """
    )
    assert_all_hold(one_score + "check exponential: epsilon = ln(9/5)")


def test_deterministic_and_random_record_release():
    assert_all_hold("""
    mechanism exact { input x in 0..4 adjacent abs(x - x') <= 1 output x }
    mechanism record(n = 4) {
      input r[1..n] in 0..1
      adjacent hamming(r, r') <= 1
      i ~ uniform(1..n)
      output r[i]
    }
    check exact: epsilon = inf
    check record: epsilon = inf
    for e in {1, 2, 10, 10^6} { check record: delta(ln e) = 1/4 }
    check record: dp(0, 1/4)
    refute record: dp(100, 1/4 - 1e-9)
    """)


def test_a_histogram_of_two_bins():
    text = """
    mechanism histogram {
      input h[1..2] in 0..3
      adjacent ADJACENT
      for i in 1..2 { y ~ geometric(h[i], 1/2) clamped 0..3  output y }
    }
    """
    assert_all_hold(text.replace("ADJACENT", "l1(h, h') <= 1") + "check histogram: epsilon = ln 2")
    moves = "sum(h) = sum(h') & linf(h, h') <= 1"
    assert_all_hold(text.replace("ADJACENT", moves) + "check histogram: epsilon = ln 4")


def test_conditioned_and_resampled_noise_lose_the_bound():
    assert_all_hold("""
    mechanism conditioned5 {
      input x in 0..5
      adjacent abs(x - x') <= 1
      y ~ geometric(x, 1/2) conditioned 0..5
      output y
    }
    mechanism resampled {
      input x in 0..5
      adjacent abs(x - x') <= 1
      y := 0
      while y = 0 { y ~ geometric(x, 1/2) clamped 0..5 }
      output y
    }
    check conditioned5: epsilon = ln(52/21)
    check conditioned5: delta(ln 2) = 80/819
    check resampled: epsilon = ln(5/2)
    """)


@pytest.mark.parametrize(
    ("counts", "distance", "e_epsilon"), [(2, "linf", 4), (3, "linf", 8), (3, "l1", 2)]
)
def test_noisy_argmax(counts, distance, e_epsilon):
    assert_all_hold(f"""
    mechanism noisy_argmax(m = {counts}) {{
      input c[1..m] in 0..3
      adjacent {distance}(c, c') <= 1
      var v[1..m] := 0
      for i in 1..m {{ v[i] ~ geometric(c[i], 1/2) clamped 0..3 }}
      output argmax(v)
    }}
    check noisy_argmax: epsilon = ln {e_epsilon}
    """)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_value_of_the_largest_noisy_count(n):
    assert_all_hold(f"""
    mechanism noisy_max(m = {n}) {{
      input c[1..m] in 0..3
      adjacent linf(c, c') <= 1
      var v[1..m] := 0
      for i in 1..m {{ v[i] ~ geometric(c[i], 1/2) clamped 0..3 }}
      output max(v)
    }}
    check noisy_max: epsilon = {n} * ln 2
    """)


def test_a_flip_probability_linear_in_epsilon_is_not_enough():
    assert_all_hold("""
    const eps = 1/2
    mechanism rr {
      input b in {false, true}
      adjacent all
      flip ~ bernoulli((1 - eps)/2)
      output if flip then !b else b
    }
    check rr: epsilon = ln 3
    refute rr: dp(eps)
    """)


@pytest.mark.parametrize(("k", "delta"), [(2, "1/2"), (3, "2/5"), (5, "2/7")])
def test_k_ary_randomized_response(k, delta):
    assert_all_hold(f"""
    mechanism krr(k = {k}, E = 3) {{
      input x in 1..k
      adjacent all
      y ~ {{v: if v = x then E/(E + k - 1) else 1/(E + k - 1) for v in 1..k}}
      output y
    }}
    check krr: epsilon = ln 3
    check krr: delta(0) = {delta}
    """)


@pytest.mark.parametrize(
    ("alpha", "distance", "e_epsilon"), [("1/2", "1", 2), ("1/2", "3", 8), ("1/4", "1", 4)]
)
def test_a_partial_sum_with_one_noise(alpha, distance, e_epsilon):
    assert_all_hold(f"""
    mechanism partial_sum {{
      input b[1..3] in 0..1
      adjacent hamming(b, b') <= {distance}
      y ~ geometric(sum(b), {alpha}) clamped 0..3
      output y
    }}
    check partial_sum: epsilon = ln {e_epsilon}
    """)


def test_randomized_response_by_rejection_from_fair_coins():
    assert_all_hold("""
    mechanism rr {
      input b in {false, true}
      adjacent all
      first := true
      second := true
      while first & second { first ~ bernoulli(1/2)  second ~ bernoulli(1/2) }
      output if first | second then b else !b
    }
    check rr: epsilon = ln 2
    """)


def test_the_number_of_coin_tosses_gives_the_survey_away():
    text = """
    mechanism tossed {
      input x in {pos, neg}
      adjacent all
      truthful ~ bernoulli(1/2)
      y ~ {Y: if !truthful then 1/2 else if x = pos then 1 else 0,
           N: if !truthful then 1/2 else if x = neg then 1 else 0}
      output SHOWN
    }
    """
    alone = text.replace("SHOWN", "y")
    assert_all_hold(alone + "check tossed: epsilon = ln 3")
    counted = text.replace("SHOWN", "(y, if truthful then 1 else 2)")
    assert_all_hold(counted + "check tossed: epsilon = inf check tossed: delta(ln 3) = 1/2")


def test_the_time_of_halting_leaks_where_halting_does_not():
    assert_all_hold("""
    mechanism halting {
      input x in {fast, slow}
      adjacent all
      more := true
      while more {
        output tick
        more ~ bernoulli(if x = fast then 1/2 else 2/3)
      }
    }
    check halting: D{0} [ F stopped ]
    refute halting: dp(ln 10)
    refute halting: dp(5)
    refute halting: D{0} [ X X stopped ]
    """)


@pytest.mark.parametrize(("t", "delta"), [(3, "1/6"), (5, "1/24"), (10, "1/768")])
def test_a_stability_based_histogram_has_a_delta_at_every_epsilon(t, delta):
    assert_all_hold(f"""
    mechanism stability(t = {t}) {{
      input present in {{false, true}}
      adjacent all
      if present {{
        noise ~ geometric(0, 1/2) clamped -20..20
        if 1 + noise >= t {{ output key }} else {{ output nothing }}
      }} else {{ output nothing }}
    }}
    check stability: epsilon = inf
    for e in {{1, 2, 1000}} {{ check stability: delta(ln e) = {delta} }}
    """)


def test_one_time_rappor():
    assert_all_hold("""
    mechanism permanent(bits = 2, f = 1/2) {
      input v in 1..bits
      adjacent all
      for i in 1..bits {
        b ~ bernoulli(if i = v then 1 - f/2 else f/2)
        output b
      }
    }
    mechanism instantaneous(bits = 2, f = 1/2, p = 1/4, q = 3/4) {
      input v in 1..bits
      adjacent all
      for i in 1..bits {
        b ~ bernoulli(if i = v then 1 - f/2 else f/2)
        r ~ bernoulli(if b then q else p)
        output r
      }
    }
    check permanent: epsilon = ln 9
    check instantaneous: epsilon = ln(25/9)
    """)


@pytest.mark.parametrize(("n", "delta"), [(1, "1/4"), (2, "3/16"), (3, "9/64"), (5, "81/1024")])
def test_shuffled_randomized_responses(n, delta):
    assert_all_hold(f"""
    mechanism shuffled(n = {n}) {{
      input b[1..n] in 0..1
      adjacent hamming(b, b') <= 1
      total := 0
      for i in 1..n {{
        honest ~ bernoulli(3/4)
        total := total + (if honest then b[i] else 1 - b[i])
      }}
      output total
    }}
    check shuffled: epsilon = ln 3
    check shuffled: delta(ln 2) = {delta}
    """)


def test_a_rappor_vector_whose_last_bit_is_never_flipped():
    assert_all_hold("""
    mechanism broken {
      input v in 1..3
      adjacent all
      for i in 1..2 {
        b ~ bernoulli(if i = v then 3/4 else 1/4)
        output b
      }
      output v = 3
    }
    refute broken: dp(ln 9)
    check broken: epsilon = inf
    check broken: delta(ln 9) = 1
    """)


@pytest.mark.parametrize(
    ("p", "q", "claimed", "exact"), [("1/2", "1/4", 3, 5), ("2/3", "1/3", 4, 7)]
)
def test_a_unary_encoding_that_forgets_to_clear_the_true_bit(p, q, claimed, exact):
    # The report starts as the encoded vector and bits are only ever set: a true bit that lost
    # its toss stays, so it shows with probability p + (1 - p) q.
    assert_all_hold(f"""
    mechanism unary(clear = true) {{
      input v in 1..2
      adjacent all
      for i in 1..2 {{
        b ~ bernoulli(if i != v then {q} else if clear then {p} else {p} + (1 - {p}) * {q})
        output b
      }}
    }}
    check unary: epsilon = ln {claimed}
    check unary(clear = false): epsilon = ln {exact}
    """)


def test_a_lie_that_may_repeat_the_truth():
    assert_all_hold("""
    mechanism rr(k = 2) {
      input x in 1..k
      adjacent all
      keep ~ bernoulli(3/4)
      lie ~ uniform(1..k)
      output if keep then x else lie
    }
    refute rr: dp(ln 3)
    check rr: epsilon = ln 7
    """)
