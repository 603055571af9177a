"""The slow and obvious meaning of a core mechanism: recursion over its graph with fractions."""

from fractions import Fraction

from dpcheck.exact import as_fraction_parts
from dpcheck.model.evaluation import evaluate
from dpcheck.model.program import (
    Assign,
    AssignCell,
    Branch,
    Branches,
    Output,
    Parametric,
    Sample,
    Stop,
    Unpack,
)
from dpcheck.model.values import value_key


def fraction(value):
    return Fraction(*as_fraction_parts(value))


def support(distribution, env):
    """Return (value, probability) pairs."""
    match distribution:
        case Parametric(word="bernoulli", arguments=(p,)):
            q = fraction(evaluate(p, env))
            return [(True, q), (False, 1 - q)]
        case Parametric(word="uniform", arguments=(domain,)):
            values = list(evaluate(domain, env))
            return [(value, Fraction(1, len(values))) for value in values]
        case Branches(branches=pairs, normalized=normalized):
            found = [(evaluate(v, env), fraction(evaluate(w, env))) for v, w in pairs]
            total = sum(w for _, w in found) if normalized else 1
            return [(value, w / total) for value, w in found]
    raise AssertionError(distribution)


def sequences(mechanism, env, max_steps):
    """Return {(outputs..., how it ended): probability} and the mass of runs that are longer."""
    result, cut = {}, Fraction(0)
    stack = [(mechanism.entry, dict(env), (), Fraction(1), 0)]
    while stack:
        node_index, env, shown, p, steps = stack.pop()
        if p == 0:
            continue
        if steps > max_steps:
            cut += p
            continue
        node = mechanism.nodes[node_index]
        steps += 1
        match node:
            case Assign(target=target, value=value):
                stack.append((node.next, {**env, target: evaluate(value, env)}, shown, p, steps))
            case AssignCell(lo=lo, cells=cells, index=index, value=value):
                cell = cells[evaluate(index, env) - lo]
                stack.append((node.next, {**env, cell: evaluate(value, env)}, shown, p, steps))
            case Unpack(targets=targets, value=value):
                new = dict(zip(targets, evaluate(value, env), strict=True))
                stack.append((node.next, {**env, **new}, shown, p, steps))
            case Sample(target=target, distribution=distribution):
                for value, q in support(distribution, env):
                    stack.append((node.next, {**env, target: value}, shown, p * q, steps))
            case Branch(condition=condition, then=then, orelse=orelse):
                chosen = then if evaluate(condition, env) else orelse
                stack.append((chosen, env, shown, p, steps))
            case Output(value=value):
                key = value_key(evaluate(value, env))
                stack.append((node.next, env, (*shown, key), p, steps))
            case Stop():
                key = (*shown, "stopped")
                result[key] = result.get(key, 0) + p
    return result, cut


def chain_sequences(explored, initial, max_length):
    """Return the same of a chain's initial state, and the mass of longer sequences."""
    chain, result, cut = explored.chain, {}, Fraction(0)
    output = explored.columns["output"]
    stack = [(initial, (), Fraction(1))]
    while stack:
        s, shown, p = stack.pop()
        if s == chain.stopped or s == chain.diverged:
            key = (*shown, "stopped" if s == chain.stopped else "diverged")
            result[key] = result.get(key, 0) + p
            continue
        if len(shown) > max_length:
            cut += p
            continue
        for j in range(chain.indptr[s], chain.indptr[s + 1]):
            t = int(chain.targets[j])
            q = Fraction(int(chain.numerators[j]), int(chain.denominators[s]))
            more = (value_key(explored.table.value(int(output[t]))),) if t < len(output) else ()
            stack.append((t, shown + more, p * q))
    return result, cut
