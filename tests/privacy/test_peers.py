"""Exact values between what dp_accounting and OpenDP say of the same mechanisms."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from math import log

import pytest
from flint import fmpq

from dpcheck import mechanisms
from dpcheck.exact import Budget, number
from dpcheck.front import loads
from dpcheck.limits import Limits
from dpcheck.pipeline.sources.imports import STANDARD
from dpcheck.privacy.composition import composed
from dpcheck.privacy.grid import GridLosses
from dpcheck.privacy.losses import LossDistribution

pytestmark = pytest.mark.peers
SLACK = 1e-9  # both tools compute in floats


def losses_of(p, q):
    return LossDistribution.of(
        (number(x.numerator, x.denominator), number(y.numerator, y.denominator))
        for x, y in zip(p, q, strict=True)
    )


def bounds(p, q, times, epsilon):
    """Return dp_accounting's optimistic and pessimistic δ of both directions."""
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

    def logs(row):
        return {i: log(x) for i, x in enumerate(row) if x > 0}

    found = []
    for pessimistic in (False, True):
        pld = accounting.from_two_probability_mass_functions(
            logs(q),
            logs(p),
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-4,
            symmetric=False,
        )
        found.append((pld.self_compose(times) if times > 1 else pld).get_delta_for_epsilon(epsilon))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("times", [2, 5, 10, 20])
def test_composed_randomized_response_lies_between_the_bounds_of_dp_accounting(times):
    p, q = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    together = composed([(losses_of(p, q), times)])
    for factor in (3, 9, 27):
        low, high = bounds(p, q, times, log(factor))
        exact = float(Fraction(str(together.delta(factor))))
        assert low - SLACK <= exact <= high + SLACK


@pytest.mark.filterwarnings("ignore")
def test_random_pairs_lie_between_the_bounds_of_dp_accounting():
    chance = random.Random(7)
    for _ in range(12):
        p, q = (
            [Fraction(w, sum(weights)) for w in weights]
            for weights in ([chance.randint(1, 9) for _ in range(5)] for _ in range(2))
        )
        losses = losses_of(p, q)
        for factor in (1, 2):
            low, high = bounds(p, q, 1, log(factor))
            sides = (losses.delta(factor), losses.reversed().delta(factor))
            exact = max(float(Fraction(str(side))) for side in sides)
            assert low - SLACK <= exact <= high + SLACK


@pytest.mark.filterwarnings("ignore")
def test_bounds_of_long_compositions_lie_between_the_bounds_of_dp_accounting():
    times = 100
    p, q = [Fraction(n, 40) for n in (11, 9, 13, 7)], [Fraction(n, 40) for n in (9, 11, 7, 13)]
    found = GridLosses.of([(losses_of(p, q), times)], fmpq(1, 1000), 80, Limits())
    for epsilon in (Budget.of(times // 20), Budget.of(times // 12)):
        low, high = bounds(p, q, times, float(epsilon.ball(64).mid()))
        below, above = found.delta_below(epsilon)[0], found.delta_above(epsilon)
        assert low - SLACK <= float(above.mid())
        assert float(below.mid()) <= float(above.mid()) <= high + SLACK


HAVE_NO_ONE_TABLE = {
    *("adaptive_above_threshold", "online", "stream"),
    *("unbounded_adaptive_above_threshold", "unbounded_online", "unbounded_stream"),
}
"""Mechanisms whose analyst adapts, or whose runs may have any number of outputs."""
LIBRARY = [
    (path.stem, name)
    for path in sorted(STANDARD.glob("*.dpm"))
    for name in re.findall(r"^mechanism (\w+)", path.read_text("utf-8"), flags=re.MULTILINE)
    if name not in HAVE_NO_ONE_TABLE
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("library", "name"), LIBRARY)
def test_every_library_mechanism_lies_between_the_bounds_of_dp_accounting(library, name):
    target = loads(f"import std.{library}").target(name)
    rows = list(target.output_distributions().values())
    chain = target.chain()
    order = {int(state): i for i, state in enumerate(chain.initial)}
    pairs = [(order[s], order[t]) for s, t in chain.neighbors.pairs.tolist()]
    for s, t in random.Random(5).sample(pairs, min(4, len(pairs))):
        outputs = sorted({*rows[s], *rows[t]})
        p, q = ([Fraction(rows[i].get(o, 0)) for o in outputs] for i in (s, t))
        losses = losses_of(p, q)
        for factor in (1, 2):
            low, high = bounds(p, q, 1, log(factor))
            sides = (losses.delta(factor), losses.reversed().delta(factor))
            exact = max(float(Fraction(str(side))) for side in sides)
            assert low - SLACK <= exact <= high + SLACK


ONE_SIDED = """
mechanism release {
  input x in {a, b}
  adjacent all
  y ~ if x = a then {1: 1/2, 2: 1/3, 3: 1/6} else {1: 1/4, 2: 1/4, 4: 1/2}
  output y
}
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", [mechanisms.survey(), loads(ONE_SIDED).target("release")])
def test_exported_losses_enclose_the_exact_delta(target):
    pytest.importorskip("dp_accounting")
    low, high = (target.privacy_loss_distribution(pessimistic=p) for p in (False, True))
    for budget in ("0", "1/10", "1/2", "1"):
        exact, epsilon = float(target.delta(budget).decimal), float(Fraction(budget))
        assert low.get_delta_for_epsilon(epsilon) - SLACK <= exact
        assert exact <= high.get_delta_for_epsilon(epsilon) + SLACK


def opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    return dp


@pytest.mark.parametrize("base", [2, 3])
def test_opendp_never_claims_less_than_the_exact_epsilon_of_its_geometric_mechanism(base):
    dp = opendp()
    noise = dp.m.make_geometric(
        dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / log(base), bounds=(0, 5)
    )
    for distance in (1, 2):
        target = mechanisms.truncated_geometric(alpha=Fraction(1, base), sensitivity=distance)
        assert noise.map(distance) >= float(target.epsilon().decimal) * (1 - 1e-12)


@pytest.mark.parametrize("truth", [Fraction(3, 4), Fraction(2, 3), Fraction(9, 10)])
def test_opendp_never_claims_less_than_the_exact_epsilon_of_randomized_response(truth):
    dp = opendp()
    response = dp.m.make_randomized_response_bool(float(truth))
    exact = float(mechanisms.survey(truth=truth).epsilon().decimal)
    assert response.map(1) >= exact * (1 - 1e-12)


THRESHOLD = """
mechanism release(t = 5, alpha = 1/2) {
  input present in {false, true}
  adjacent all
  z ~ geometric(1, alpha) clamped -40..t
  output if present & z >= t then key else nothing
}
"""


def test_release_at_the_threshold_has_the_delta_of_at_least_not_of_more_than():
    model = loads(THRESHOLD)
    assert model.target("release").delta("ln 2").exact == "1/24"
    strict = loads(THRESHOLD.replace(">= t", "> t").replace("40..t", "40..t + 1"))
    assert strict.target("release").delta("ln 2").exact == "1/48"


def test_opendp_claims_the_smaller_delta_for_its_threshold_release():
    dp = opendp()
    from importlib.metadata import version

    if not version("opendp").startswith("0.16"):
        pytest.skip("what other versions claim is not known here")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    release = dp.m.make_laplace_threshold(domain, metric, scale=1 / log(2), threshold=5)
    _, delta = release.map((1, 1, 1))
    exact = Fraction(loads(THRESHOLD).target("release").delta("ln 2").exact)
    assert delta == pytest.approx(1 / 48, rel=1e-6)
    assert delta < exact


NOISY_MAX = """
# Permute and flip of two counts: report noisy max with exponential noise of this scale.
mechanism noisy_max(scale = 2) {
  input s[1..2] in 0..3
  adjacent linf(s, s') <= 1
  first ~ uniform(1..2)
  keep ~ bernoulli(exp((s[first] - max(s[1], s[2])) / scale))
  output if keep then first else 3 - first
}
"""


@pytest.mark.parametrize("scale", [1, 2])
def test_opendp_never_claims_less_than_the_exact_epsilon_of_noisy_max(scale):
    dp = opendp()
    counts = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    mechanism = dp.m.make_noisy_max(*counts, dp.max_divergence(), scale=float(scale))
    exact = loads(NOISY_MAX).target("noisy_max", scale=scale).epsilon()
    assert float(exact.decimal) > 0
    assert mechanism.map(1) >= float(exact.decimal) * (1 - 1e-12)


SAMPLED = """
mechanism step {
  input x in 0..1
  adjacent all
  y ~ gaussian(x, exp(-1/2)) conditioned -10..11
  output y
}
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("rate", "times"), [("1/2", 1), ("1/10", 20), ("1/100", 500)])
def test_poisson_samples_lie_between_the_bounds_of_dp_accounting(rate, times):
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    low, high = (
        accounting.from_discrete_gaussian_mechanism(
            1,
            value_discretization_interval=1e-4,
            sampling_prob=float(Fraction(rate)),
            pessimistic_estimate=is_pessimistic,
        ).self_compose(times)
        for is_pessimistic in (False, True)
    )
    target = f"compose(subsample(step, {rate}), {times})"
    for epsilon in ("1/10", "1"):
        (answer,) = loads(SAMPLED).ask(f"compute {target}: delta({epsilon})")
        amount = answer.outcome.verdict.amount
        ends = [float(end) for end in amount.enclosure or (amount.decimal, amount.decimal)]
        at = float(Fraction(epsilon))
        assert low.get_delta_for_epsilon(at) - SLACK <= ends[1]
        assert ends[0] <= high.get_delta_for_epsilon(at) + SLACK
        assert ends[1] - ends[0] <= 4e-4 * ends[1]
        # Rounding every loss by less than 10^-4 moves ε by less than 10^-4 a run.
        wide = [pld.get_delta_for_epsilon(at) for pld in (low, high)]
        assert wide[1] - wide[0] < 0.03
