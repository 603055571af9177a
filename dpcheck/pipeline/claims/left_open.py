"""What is told of a claim about all integers that is left open: why, and what can be asked instead.

What is to be written is told with the names and values of the program at hand, as whole texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpcheck.align.moves import IF_TRUE
from dpcheck.align.obstacles import Obstacle
from dpcheck.align.windows import round_of
from dpcheck.check.values.amounts import epsilon_amount
from dpcheck.check.values.verdicts import Amount
from dpcheck.exact import Budget, ParamBudget, param_text
from dpcheck.explore.values.mistakes import spoken
from dpcheck.model import trees
from dpcheck.model.expressions import Apply, Const, Var
from dpcheck.model.program import Assign, Input, Mechanism
from dpcheck.model.surface_text import one_line

FEW_ROUNDS = 3
"""So many rounds and integers a finite question is about: it is answered in a second."""

MAX_CELLS = 6
"""Finite inputs of more numbers are not advised: those of eight have no answer after 100 s."""


def obstacle_text(found: Obstacle) -> str:
    """Return in words why no shifts of noise bound ε, as far as that is known."""
    if found.place is not None:
        text = one_line(found.place.text)
        return f"no noise that is left to be moved keeps both runs alike at `{text}`"
    moved: dict[str, dict[str, None]] = {}
    for step in found.turn:
        is_of_outcome = step.outcome in ("true", "false")
        where = f"`{one_line(step.span.text)}` is {step.outcome}" if is_of_outcome else ""
        moved.setdefault(spoken(step.name), {})[where] = None
    texts = []
    for name, places in moved.items():
        where = ", ".join(filter(None, places))
        texts.append(f"noise of {name} is moved again and again{where and f', where {where}'}")
    return "; ".join(texts)


def advice(mechanism: Mechanism, target: str, most: Budget | None) -> str:
    """Return what to write instead of a claim that is left open; `most` is what is proved of ε."""
    inputs = [f"`{text}`" for text in _finite_inputs(mechanism)]
    head = round_of(mechanism)
    if head is not None:
        inputs.append(f"`for {_index_of(mechanism, head)} in 1..{FEW_ROUNDS}`")
    parts = [f"claim what is proved, `check {target}: dp({amount_of(most).exact})`"] if most else []
    if most is None:
        parts += [f"count no further than is needed, `{text}`" for text in _counters(mechanism)]
        parts += [
            f"keep what is asked twice, `outcome := {text}`" for text in _asked_twice(mechanism)
        ]
    n_cells = sum(FEW_ROUNDS if one.is_stream else len(one.cells) for one in mechanism.inputs)
    if n_cells <= MAX_CELLS or not parts:
        parts.append(f"ask about finite inputs: {', '.join(inputs)}")
    return ", or ".join(parts)


def amount_of(epsilon: Budget) -> Amount:
    """Return a budget as an amount, with a parameter as a function of it."""
    if isinstance(epsilon, ParamBudget):
        return Amount(param_text(epsilon), param_text(epsilon), param=epsilon.param.name)
    return epsilon_amount(epsilon)


def _finite_inputs(mechanism: Mechanism) -> Iterator[str]:
    """Yield declarations in place of those of inputs that may be any integers."""
    for one in mechanism.inputs:
        if one.is_unbounded:
            word = "public" if one.is_public else "input"
            yield f"{word} {one.name}{_indices(one)} in 0..{FEW_ROUNDS - 1}"


def _indices(one: Input) -> str:
    if one.lo is None:
        return ""
    last = FEW_ROUNDS if one.is_stream else one.lo + len(one.cells) - 1
    return f"[{one.lo}..{last}]"


def _index_of(mechanism: Mechanism, head: int) -> str:
    """Return the variable of the loop that never ends, as written before its `1..`."""
    span = mechanism.nodes[head].span
    written = re.search(r"([^\W\d]\w*)\s+in\s*\Z", span.source.text[: span.start])
    return written[1] if written else "i"


def _counters(mechanism: Mechanism) -> Iterator[str]:
    """Yield assignments that end to count, in place of those that do not: `n := n + 1`."""
    for node in mechanism.nodes:
        match node:
            case Assign(
                target=target,
                value=Apply(op="+", args=(Var(name=name), Const(value=int() as more))),
                within=None,
            ) if name == target and more > 0:
                text = one_line(node.value.span.text)
                yield f"{spoken(target)} := min({text}, {FEW_ROUNDS})"


def _asked_twice(mechanism: Mechanism) -> Iterator[str]:
    """Yield comparisons that stand at two places: paths answer them differently, as no run does."""
    places: dict[str, set[int]] = {}
    for node in mechanism.nodes:
        for part in trees.descendants(node):
            if isinstance(part, Apply) and part.op in IF_TRUE:
                places.setdefault(one_line(part.span.text), set()).add(part.span.start)
    yield from (text for text, starts in places.items() if len(starts) > 1)
