"""What a Bayesian attacker learns: posteriors between two neighbors, and the whole channel.

An attacker who believes with prior p that the input is the first of two neighbors, and else the
second, believes after an output of likelihood ratio x = P(o)/Q(o) the posterior

    p x / (p x + 1 - p),

which rises with x. So over all outputs it lies between its values at the least and the largest
ratio; under ε-differential privacy in [p/(e^ε+(1-e^ε)p), e^ε p/(1+(e^ε-1)p)].

For a channel with n equally likely secrets the *Bayes vulnerability* after an output is the chance
of guessing the secret in one try, (1/n) Σ_o max_x P(o|x); *min-entropy leakage* is ln of how many
times larger that is than 1/n (Smith, "On the foundations of quantitative information flow",
FoSSaCS 2009; in nats here, divide by ln 2 for bits).
"""

from __future__ import annotations

from dpcheck.exact import Number, add, divide, multiply, subtract


def posterior(prior: Number, ratio: Number | None) -> Number:
    """Return the posterior after an output of that likelihood ratio; None is an infinite one.

    >>> from dpcheck.exact import number
    >>> posterior(number(1, 2), 3), posterior(number(1, 2), divide(1, 3))
    (3/4, 1/4)
    """
    if prior == 0:
        return 0
    if ratio is None:
        return 1
    weight = multiply(prior, ratio)
    return divide(weight, add(weight, subtract(1, prior)))
