"""Model texts, checked as the command line checks them: their explained answers."""

from __future__ import annotations

import random
from fractions import Fraction

from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.report.answers import Answer, Crash


def answers(text, folder, **options):
    """Return the answers of all claims of a model, in order."""
    path = folder / "model.dpm"
    path.write_text(text, "utf-8")
    events = list(check_paths([str(path)], Options(n_explained=None, **options)))
    assert not [event for event in events if isinstance(event, Crash)]
    return [event for event in events if isinstance(event, Answer)]


def explained(text, folder):
    """Return the explanations of the claims that are violated."""
    found = [answer.explanation for answer in answers(text, folder)]
    return [explanation for explanation in found if explanation is not None]


def exact(amount):
    """Return an amount as a Fraction."""
    return Fraction(amount.exact)


def random_rows(rng, n_inputs, n_outputs):
    """Return random distributions over outputs, some of them 0, as lists of Fractions."""
    rows = []
    for _ in range(n_inputs):
        weights = [rng.choice([0, 1, 1, 2, 3, 4]) for _ in range(n_outputs)]
        weights[rng.randrange(n_outputs)] += 1
        rows.append([Fraction(weight, sum(weights)) for weight in weights])
    return rows


def table_model(rows, claim, names=None):
    """Return a mechanism with one input that draws its output from the rows."""
    inputs = names or [str(i) for i in range(len(rows))]
    domain = f"0..{len(rows) - 1}" if names is None else "{" + ", ".join(names) + "}"
    lines = [
        f"  if x = {name} {{ y ~ {{{', '.join(f'{k}: {p}' for k, p in enumerate(row) if p)}}} }}"
        for name, row in zip(inputs, rows, strict=True)
    ]
    body = "\n".join(lines)
    return (
        f"mechanism m {{\n  input x in {domain}\n  adjacent all\n  var y := 0\n{body}\n"
        f"  output y\n}}\ncheck m: {claim}\n"
    )


def seeded(seed):
    return random.Random(seed)
