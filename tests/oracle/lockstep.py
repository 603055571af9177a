"""Later neighbors by running two neighboring inputs side by side, one step at a time.

A state is (what was output, the statements still to run, the memory they can still read). Two
runs stay together while every `~` gives both the same result and every output is the same; the
states they reach right after an output, at the same program point, are neighbors if they differ.
Loops are unrolled into the statements still to run, so this covers bounded loops only.
"""

from __future__ import annotations

from fractions import Fraction

from dpcheck.model import surface
from tests.oracle.expressions import evaluate
from tests.oracle.runs import assigned, distribution, frozen, neighbor_pairs, universe
from tests.oracle.values import NotCovered, integer, is_true

Bind = tuple  # ("bind", name, value) stands among the statements where a loop variable is set


def names_read(node):
    """Return the names that occur in a tree."""
    if isinstance(node, surface.Name):
        return {node.name}
    if isinstance(node, tuple):
        return set().union(*(names_read(inner) for inner in node))
    if hasattr(node, "__dataclass_fields__"):
        return set().union(
            *(names_read(getattr(node, f)) for f in node.__dataclass_fields__ if "span" not in f)
        )
    return set()


def live_names(rest, after=frozenset()):
    """Return the names that the statements may read before they set them."""
    live = set(after)
    for statement in reversed(rest):
        match statement:
            case ("bind", name, _):
                live -= {name}
            case surface.Assign(place=surface.Identifier(name=name)):
                live = (live - {name}) | names_read(statement.value)
            case surface.Sample(place=surface.Identifier(name=name)):
                live = (live - {name}) | names_read(statement.distribution)
            case surface.Output():
                live |= names_read(statement.value)
            case surface.If():
                ways = [live_names(block, live) for _, block in statement.branches]
                conditions = names_read(tuple(c for c, _ in statement.branches))
                live = conditions.union(*ways, live_names(statement.otherwise, live))
            case surface.Stop():
                live = set()
            case _:
                raise NotCovered(type(statement).__name__)
    return live


def unrolled(block, file):
    """Return the statements of a block with its loops over constants unrolled."""
    flat = []
    for statement in block:
        match statement:
            case surface.Repeat():
                times = integer(evaluate(statement.times, {}, file))
                flat += list(unrolled(statement.body, file)) * times
            case surface.For():
                (index,) = statement.indices
                assert statement.where is None
                for element in evaluate(index.domain, {}, file).items:
                    flat.append(("bind", index.variable.name, element))
                    flat += unrolled(statement.body, file)
            case surface.If():
                branches = tuple((c, unrolled(b, file)) for c, b in statement.branches)
                otherwise = unrolled(statement.otherwise, file)
                flat.append(surface.If(branches, otherwise, span=statement.span))
            case _:
                flat.append(statement)
    return tuple(flat)


def step(rest, env, file):
    """Run to the next event: a sample with its results, an output with its value, or the end."""
    while rest:
        statement, rest = rest[0], rest[1:]
        match statement:
            case ("bind", name, value):
                env = {**env, name: value}
            case surface.Assign():
                env = assigned(statement.place, evaluate(statement.value, env, file), env, file)
            case surface.If():
                for condition, block in statement.branches:
                    if is_true(evaluate(condition, env, file)):
                        rest = block + rest
                        break
                else:
                    rest = statement.otherwise + rest
            case surface.Sample():
                results = distribution(statement.distribution, env, file).items()
                return "sample", {
                    value: (p, (rest, assigned(statement.place, value, env, file)))
                    for value, p in results
                }
            case surface.Output():
                return "output", evaluate(statement.value, env, file), (rest, env)
            case surface.Stop():
                return ("end",)
            case _:
                raise NotCovered(type(statement).__name__)
    return ("end",)


def later_state(value, rest, env):
    """Return the state right after an output: loop positions that set nothing more are one."""
    live = live_names(rest)
    return value, identity(rest), frozen({k: v for k, v in env.items() if k in live})


def identity(rest):
    """Return what tells program points apart: which statements are still to run."""
    return tuple(s if isinstance(s, tuple) else id(s) for s in rest)


def later_neighbors(mechanism, body, parameters, file):
    """Return {state: {state: one (rest, env) of it}} for the later states that are neighbors."""
    inputs = [{**parameters, **i} for i in universe(mechanism, parameters, file)]
    partners = {}
    pending = [
        ((body, inputs[i]), (body, inputs[j])) for i, j in neighbor_pairs(mechanism, {}, file)
    ]
    met = set()
    while pending:
        left, right = pending.pop()
        both = later_state(None, *left), later_state(None, *right)
        if both in met:
            continue
        met.add(both)
        one, other = step(*left, file), step(*right, file)
        if one[0] != other[0] or one[0] == "end":
            continue
        if one[0] == "sample":
            pending += [
                (one[1][value][1], other[1][value][1]) for value in one[1] if value in other[1]
            ]
        elif one[1] == other[1]:
            pending.append((one[2], other[2]))
            s, t = later_state(one[1], *one[2]), later_state(other[1], *other[2])
            if s != t and s[1] == t[1]:
                partners.setdefault(s, {})[t] = other[2]
                partners.setdefault(t, {})[s] = one[2]
    return partners


def first_output_is_private(mechanism, parameters, file, e_epsilon, delta, wanted):
    """Return, for each input, the probability that after the first output D{e, d}[X wanted] holds.

    Runs that end without output count as private: † has no neighbor.
    """
    body = unrolled(mechanism.body, file)
    partners = later_neighbors(mechanism, body, parameters, file)
    chances = {}

    def chance(rest, env):
        """Return the probability that the next output is wanted, computed once for a state."""
        key = later_state(None, rest, env)
        if key not in chances:
            event = step(rest, env, file)
            match event[0]:
                case "sample":
                    chances[key] = sum(p * chance(*state) for p, state in event[1].values())
                case "output":
                    chances[key] = Fraction(event[1] == wanted)
                case _:
                    chances[key] = Fraction(0)
        return chances[key]

    def is_private(value, state):
        p = chance(*state)
        others = partners.get(later_state(value, *state), {}).values()
        return all(
            p <= e_epsilon * q + delta and q <= e_epsilon * p + delta
            for q in (chance(*other) for other in others)
        )

    def probability(rest, env):
        event = step(rest, env, file)
        match event[0]:
            case "sample":
                return sum(p * probability(*state) for p, state in event[1].values())
            case "output":
                return Fraction(is_private(event[1], event[2]))
        return Fraction(1)

    return [
        probability(body, {**parameters, **inputs})
        for inputs in universe(mechanism, parameters, file)
    ]
