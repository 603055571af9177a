"""Later neighbors by running two neighboring inputs side by side, one step at a time.

A state is (what was output, the statements still to run, the memory they can still read). Two
runs stay together while every `~` gives both the same result and every output is the same; the
states they reach right after an output, at the same program point, are neighbors if they differ.
Loops are unrolled into the statements still to run, so this covers bounded loops only.
"""

from __future__ import annotations

from fractions import Fraction

from dpcheck.reference.distributions import distribution
from dpcheck.reference.expressions import evaluate, holds
from dpcheck.reference.programs import words
from dpcheck.reference.values import NotCovered


def live_names(rest, names, after=frozenset()):
    """Return the names that statements may read before they set them; `names` are a tree's."""
    live = set(after)
    for statement in reversed(rest):
        match statement:
            case ("bind", name, _):
                live -= {name}
            case (":=" | "~", ("name", name), value):
                live = (live - {name}) | names(value)
            case ("output", value):
                live |= names(value)
            case ("if", condition, then, otherwise):
                ways = [live_names(block, names, live) for block in (then, otherwise)]
                live = names(condition).union(*ways)
            case ("stop",):
                live = set()
            case _:
                raise NotCovered(statement[0])
    return live


def unrolled(block, scope):
    """Return the statements of a block with its loops over constants unrolled."""
    flat = []
    for statement in block:
        match statement:
            case ("loop", (("for", name, domain, body),)):
                for element in evaluate(domain, {}, scope).items:
                    flat.append(("bind", name, element))
                    flat += unrolled(body, scope)
            case ("if", condition, then, otherwise):
                flat.append(
                    ("if", condition, unrolled(then, scope), unrolled(otherwise or (), scope))
                )
            case ("input" | "public" | "adjacent", *_):
                continue
            case _:
                flat.append(statement)
    return tuple(flat)


def step(rest, env, runs):
    """Run to the next event: a sample with its results, an output with its value, or the end."""
    while rest:
        statement, rest = rest[0], rest[1:]
        match statement:
            case ("bind", name, value):
                env = {**env, name: value}
            case (":=", place, value):
                env = runs.assigned(place, evaluate(value, env, runs.scope), env)
            case ("if", condition, then, otherwise):
                rest = (then if holds(condition, env, runs.scope) else otherwise) + rest
            case ("~", place, drawn):
                law = distribution(drawn, env, runs.scope).items()
                return "sample", {v: (p, (rest, runs.assigned(place, v, env))) for v, p in law}
            case ("output", value):
                return "output", evaluate(value, env, runs.scope), (rest, env)
            case ("stop",):
                return ("end",)
            case _:
                raise NotCovered(statement[0])
    return ("end",)


def later_state(value, rest, env, names):
    """Return the state right after an output: loop positions that set nothing more are one."""
    live = live_names(rest, names)
    return value, identity(rest), tuple(sorted((k, v) for k, v in env.items() if k in live))


def identity(rest):
    """Return what tells program points apart: which statements are still to run."""
    return tuple(s if s[0] == "bind" else id(s) for s in rest)


def later_neighbors(program, body):
    """Return {state: {state: one (rest, env) of it}} for the later states that are neighbors."""
    runs, partners = program.model, {}
    inputs = [runs.env(point) for point in program.inputs]
    pending = [((body, inputs[i]), (body, inputs[j])) for i, j in program.pairs()]
    met = set()
    while pending:
        left, right = pending.pop()
        both = later_state(None, *left, words), later_state(None, *right, words)
        if both in met:
            continue
        met.add(both)
        one, other = step(*left, runs), step(*right, runs)
        if one[0] != other[0] or one[0] == "end":
            continue
        if one[0] == "sample":
            pending += [
                (one[1][value][1], other[1][value][1]) for value in one[1] if value in other[1]
            ]
        elif one[1] == other[1]:
            pending.append((one[2], other[2]))
            s, t = (later_state(end[1], *end[2], words) for end in (one, other))
            if s != t and s[1] == t[1]:
                partners.setdefault(s, {})[t] = other[2]
                partners.setdefault(t, {})[s] = one[2]
    return partners


def first_output_is_private(program, e_epsilon, delta, wanted):
    """Return, for each input, the probability that after the first output D{e, d}[X wanted] holds.

    Runs that end without output count as private: † has no neighbor.
    """
    runs = program.model
    body = unrolled(program.model.body, runs.scope)
    partners = later_neighbors(program, body)
    chances = {}

    def chance(rest, env):
        """Return the probability that the next output is wanted, computed once for a state."""
        key = later_state(None, rest, env, words)
        if key not in chances:
            event = step(rest, env, runs)
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
        others = partners.get(later_state(value, *state, words), {}).values()
        return all(
            p <= e_epsilon * q + delta and q <= e_epsilon * p + delta
            for q in (chance(*other) for other in others)
        )

    def probability(rest, env):
        event = step(rest, env, runs)
        match event[0]:
            case "sample":
                return sum(p * probability(*state) for p, state in event[1].values())
            case "output":
                return Fraction(is_private(event[1], event[2]))
        return Fraction(1)

    return [probability(body, runs.env(each)) for each in program.inputs]
