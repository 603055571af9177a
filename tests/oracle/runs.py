"""All runs of a mechanism with their exact probabilities, by recursion on its text.

A result of a block is (outputs, environment, status), where status says how it goes on:

    on        the block is done and what follows runs
    stopped   the run has ended
    diverged  the run goes on forever without showing anything more
    broken    the innermost loop is left
    cut       the run is about to output once more than asked for

A `while` loop is a system of linear equations: the distribution f(e) of the results from an
environment e at its head satisfies f(e) = c(e) + sum over e' of Q(e, e') f(e'), where Q collects
the rounds that output nothing and c everything else. Rounds that output leave fewer outputs to
come, so the recursion ends. Environments that cannot reach any c(e) > 0 diverge.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from dpcheck.model import surface
from tests.oracle import distributions
from tests.oracle.expressions import evaluate
from tests.oracle.values import (
    Arr,
    FiniteSet,
    NotCovered,
    OracleError,
    integer,
    is_true,
    number,
)

ON, STOPPED, DIVERGED, CUT, BROKEN = "on", "stopped", "diverged", "cut", "broken"
ONE = Fraction(1)


def output_rows(mechanism, parameters, file, most=10**6):
    """Return {input: {(outputs, status): probability}}, the inputs in order.

    Runs are followed for at most `most` outputs; with fewer outputs in every run, the rows are
    the distributions of complete output sequences.
    """
    parameters = parameter_values(mechanism, parameters, file)
    rows = {}
    for inputs in universe(mechanism, parameters, file):
        rows[frozen(inputs)] = mechanism_row(mechanism, parameters, inputs, file, most)
    return rows


def parameter_values(mechanism, given, file):
    """Return the values of all parameters, defaults in the scope of those before them."""
    values = {}
    for parameter in mechanism.parameters:
        name = parameter.name.name
        if name in given:
            values[name] = given[name]
        elif parameter.default is None:
            raise OracleError(f"{name} has no value")
        else:
            values[name] = evaluate(parameter.default, values, file)
    return values


def universe(mechanism, parameters, file):
    """Return every value of the inputs, the last input changing fastest."""
    partial = [{}]
    for declared in mechanism.inputs:
        name = declared.name.name
        extended = []
        for earlier in partial:
            env = {**parameters, **earlier}
            domain = evaluate(declared.domain, env, file)
            if declared.indices is None:
                choices = domain.items
            else:
                low = integer(evaluate(declared.indices.low, env, file))
                high = integer(evaluate(declared.indices.high, env, file))
                choices = [
                    Arr(low, cells) for cells in product(domain.items, repeat=high - low + 1)
                ]
            for choice in choices:
                candidate = {**env, name: choice}
                if declared.where is None or is_true(evaluate(declared.where, candidate, file)):
                    extended.append({**earlier, name: choice})
        partial = extended
    return partial


def neighbor_pairs(mechanism, parameters, file):
    """Return the neighboring inputs as pairs (i, j), i < j, of places in the universe."""
    parameters = parameter_values(mechanism, parameters, file)
    inputs = universe(mechanism, parameters, file)
    public = [declared.name.name for declared in mechanism.inputs if declared.is_public]
    pairs = []
    for j, t in enumerate(inputs):
        for i, s in enumerate(inputs[:j]):
            agree = all(s[name] == t[name] for name in public)
            if agree and any(
                is_adjacent(clause, parameters, *two, file)
                for clause in mechanism.adjacency
                for two in ((s, t), (t, s))
            ):
                pairs.append((i, j))
    return sorted(pairs)


def is_adjacent(clause, parameters, s, t, file):
    """Return whether one clause relates the input s to the input t."""
    match clause:
        case surface.AdjacentAll():
            return True
        case surface.AdjacentPairs():
            ((left,), (right,)) = s.values(), t.values()
            return any(
                evaluate(a, parameters, file) == left and evaluate(b, parameters, file) == right
                for a, b in clause.pairs
            )
        case surface.AdjacentWhere():
            primed = {name + "'": value for name, value in t.items()}
            return is_true(evaluate(clause.condition, {**parameters, **s, **primed}, file))
    raise NotCovered(type(clause).__name__)


def mechanism_row(mechanism, parameters, inputs, file, most):
    """Return {(outputs, status): probability} of one input; a finished body has stopped."""
    row = {}
    results = block_results(mechanism.body, {**parameters, **inputs}, file, most)
    for (outputs, _, status), p in results.items():
        add(row, (outputs, STOPPED if status == ON else status), p)
    return row


def frozen(env):
    """Return an environment as something hashable."""
    return tuple(sorted(env.items(), key=lambda item: item[0]))


def add(results, key, p):
    """Add a probability to an entry."""
    if p:
        results[key] = results.get(key, 0) + p


def block_results(block, env, file, most):
    """Return {(outputs, environment, status): probability} of a sequence of statements."""
    results = {((), frozen(env), ON): ONE}
    for statement in block:
        following = {}
        for (outputs, now, status), p in results.items():
            if status != ON:
                add(following, (outputs, now, status), p)
                continue
            left = most - len(outputs)
            for (more, then, goes), q in statement_results(
                statement, dict(now), file, left
            ).items():
                add(following, (outputs + more, then, goes), p * q)
        results = following
    return results


def statement_results(statement, env, file, most):
    """Return {(outputs, environment, status): probability} of one statement."""
    match statement:
        case surface.Output():
            shown = evaluate(statement.value, env, file)
            return {(((shown,), frozen(env), ON) if most else ((), frozen(env), CUT)): ONE}
        case surface.Stop():
            return {((), frozen(env), STOPPED): ONE}
        case surface.Break():
            return {((), frozen(env), BROKEN): ONE}
        case surface.Assign():
            value = evaluate(statement.value, env, file)
            return {((), frozen(assigned(statement.place, value, env, file)), ON): ONE}
        case surface.Var():
            return {((), frozen(declared_local(statement, env, file)), ON): ONE}
        case surface.Sample():
            return sample_results(statement, env, file)
        case surface.If():
            for condition, block in statement.branches:
                if is_true(evaluate(condition, env, file)):
                    return block_results(block, env, file, most)
            return block_results(statement.otherwise, env, file, most)
        case surface.Repeat():
            times = integer(evaluate(statement.times, env, file))
            return behind_loop(block_results(statement.body * times, env, file, most))
        case surface.For():
            return for_results(statement, env, file, most)
        case surface.While():
            return while_results(statement, env, file, most)
        case surface.Run():
            return run_results(statement, env, file, most)
    raise NotCovered(type(statement).__name__)


def assigned(place, value, env, file):
    """Return the environment after an assignment, declared ranges checked."""
    match place:
        case surface.Identifier(name=name):
            check_range(name, value, env)
            return {**env, name: value}
        case surface.Cell():
            name = place.name.name
            check_range(name, value, env)
            return {**env, name: env[name].with_item(evaluate(place.index, env, file), value)}
        case surface.Pattern():
            if not isinstance(value, tuple) or len(value) != len(place.names):
                raise OracleError(f"{value} does not fit the pattern")
            for name, part in zip(place.names, value, strict=True):
                check_range(name.name, part, env)
                env = {**env, name.name: part}
            return env
    raise NotCovered(type(place).__name__)


def check_range(name, value, env):
    """Raise unless the value lies in the declared set of a local."""
    allowed = env.get(name + " in")
    if allowed is not None and value not in allowed.items:
        raise OracleError(f"{name} := {value} leaves its range")


def declared_local(statement, env, file):
    """Return the environment after `var`: the set is kept under the key `NAME in`."""
    name = statement.name.name
    env = {**env, name: None}
    env.pop(name + " in", None)
    if statement.domain is not None:
        env[name + " in"] = evaluate(statement.domain, env, file)
    value = None if statement.value is None else evaluate(statement.value, env, file)
    if value is not None:
        check_range(name, value, env)
    if statement.indices is None:
        return {**env, name: value}
    low = integer(evaluate(statement.indices.low, env, file))
    high = integer(evaluate(statement.indices.high, env, file))
    return {**env, name: Arr(low, (value,) * (high - low + 1))}


def for_results(statement, env, file, most):
    """Return the results of the loop, its variables being local to it."""
    return behind_loop(index_results(statement, statement.indices, env, file, most))


def index_results(statement, indices, env, file, most):
    """Return the results of the rounds over the indices that are left; some may be broken off."""
    if not indices:
        if statement.where is not None and not is_true(evaluate(statement.where, env, file)):
            return {((), frozen(env), ON): ONE}
        return block_results(statement.body, env, file, most)
    domain = evaluate(indices[0].domain, env, file)
    if not isinstance(domain, FiniteSet):
        raise OracleError(f"{domain} is no set")
    name = indices[0].variable.name
    results = {((), frozen(env), ON): ONE}
    for element in domain.items:
        following = {}
        for (outputs, now, status), p in results.items():
            if status != ON:
                add(following, (outputs, now, status), p)
                continue
            inner = {**dict(now), name: element}
            left = most - len(outputs)
            rest = index_results(statement, indices[1:], inner, file, left)
            for (more, then, goes), q in rest.items():
                add(following, (outputs + more, then, goes), p * q)
        results = following
    restored = {}
    for (outputs, now, status), p in results.items():
        after = {key: value for key, value in now if key != name}
        if name in env:
            after[name] = env[name]
        add(restored, (outputs, frozen(after), status), p)
    return restored


def behind_loop(results):
    """Return the results of a loop, in which those that left it go on."""
    joined = {}
    for (outputs, now, status), p in results.items():
        add(joined, (outputs, now, ON if status == BROKEN else status), p)
    return joined


def while_results(statement, env, file, most):
    """Return the results of the loop by linear equations over the environments at its head."""
    silent, constant = {}, {}
    pending = [frozen(env)]
    while pending:
        head = pending.pop()
        if head in silent:
            continue
        if len(silent) > 3000:
            raise NotCovered("a loop with very many states")
        silent[head], constant[head] = {}, {}
        if not is_true(evaluate(statement.condition, dict(head), file)):
            add(constant[head], ((), head, ON), ONE)
            continue
        for (outputs, then, status), p in block_results(
            statement.body, dict(head), file, most
        ).items():
            if status == BROKEN:
                add(constant[head], (outputs, then, ON), p)
            elif status != ON:
                add(constant[head], (outputs, then, status), p)
            elif not outputs:
                add(silent[head], then, p)
                pending.append(then)
            else:
                rest = while_results(statement, dict(then), file, most - len(outputs))
                for (more, last, goes), q in rest.items():
                    add(constant[head], (outputs + more, last, goes), p * q)
    return solved(silent, constant)[frozen(env)]


def solved(silent, constant):
    """Return f with f(e) = constant(e) + sum of silent(e, e') f(e'), by elimination."""
    leaves = {head for head, results in constant.items() if results}
    while True:
        more = {head for head in silent if head not in leaves and leaves & set(silent[head])}
        if not more:
            break
        leaves |= more
    f = {head: dict(results) for head, results in constant.items()}
    rows = {head: dict(row) for head, row in silent.items()}
    for head in silent:
        if head not in leaves:
            f[head], rows[head] = {((), head, DIVERGED): ONE}, {}
    # Eliminate one head after another from all rows: e = c + q e + ... gives (c + ...)/(1 - q).
    for head in silent:
        loop = rows[head].pop(head, Fraction(0))
        f[head] = {key: p / (1 - loop) for key, p in f[head].items()}
        rows[head] = {then: p / (1 - loop) for then, p in rows[head].items()}
        for other in silent:
            weight = rows[other].pop(head, None) if other != head else None
            if weight:
                for key, p in f[head].items():
                    add(f[other], key, weight * p)
                for then, p in rows[head].items():
                    add(rows[other], then, weight * p)
    return f


def run_results(statement, env, file, most):
    """Return the results of `run other(...)`: its outputs, and the caller's environment."""
    row = called_row(statement.mechanism.name, statement.arguments, env, file, most)
    return {
        (outputs, frozen(env), ON if status == STOPPED else status): p
        for (outputs, status), p in row.items()
    }


def called_row(name, arguments, env, file, most):
    """Return the outputs of a called mechanism; its inputs must lie in their sets."""
    mechanism = file.mechanisms[name]
    given = {argument.name.name: evaluate(argument.value, env, file) for argument in arguments}
    parameters = parameter_values(mechanism, given, file)
    inputs = {declared.name.name: given[declared.name.name] for declared in mechanism.inputs}
    if inputs not in universe(mechanism, parameters, file):
        raise OracleError(f"{inputs} is no input of {name}")
    return mechanism_row(mechanism, parameters, inputs, file, most)


def sample_results(statement, env, file):
    """Return the results of `place ~ distribution`, a called mechanism included."""
    drawn = statement.distribution
    name = None
    if isinstance(drawn, surface.Call):
        name, arguments = drawn.function.name, drawn.arguments
    elif isinstance(drawn, surface.Name):
        name, arguments = drawn.name, ()
    results = {}
    if name in file.mechanisms:
        for (outputs, status), p in called_row(name, arguments, env, file, 2).items():
            if status == DIVERGED:
                add(results, ((), frozen(env), DIVERGED), p)
            elif len(outputs) != 1 or status != STOPPED:
                raise OracleError(f"{name} does not output exactly once")
            else:
                after = assigned(statement.place, outputs[0], env, file)
                add(results, ((), frozen(after), ON), p)
        return results
    for value, p in distribution(drawn, env, file).items():
        add(results, ((), frozen(assigned(statement.place, value, env, file)), ON), p)
    return results


def distribution(expr, env, file):
    """Return {value: probability} of a distribution expression."""

    def value(inner, **more):
        return evaluate(inner, {**env, **more}, file)

    match expr:
        case surface.Conditional():
            chosen = expr.then if is_true(value(expr.condition)) else expr.otherwise
            return distribution(chosen, env, file)
        case surface.Branches():
            pairs = [(value(b.value), number(value(b.weight))) for b in expr.branches]
            return distributions.weighted(pairs, expr.normalized)
        case surface.WeightedBranches():
            name = expr.variable.name
            pairs = [
                (value(expr.value, **{name: e}), number(value(expr.weight, **{name: e})))
                for e in value(expr.domain).items
                if expr.where is None or is_true(value(expr.where, **{name: e}))
            ]
            return distributions.weighted(pairs, expr.normalized)
        case surface.WithPolicy():
            args = [value(surface.positional(a)) for a in expr.distribution.arguments]
            bounds = integer(value(expr.low)), integer(value(expr.high))
            return with_policy(expr.distribution.function.name, args, expr.policy, bounds)
        case surface.Name() if expr.name in file.distributions:
            return distribution(file.distributions[expr.name].body, {}, file)
        case surface.Call():
            args = [value(surface.positional(a)) for a in expr.arguments]
            if expr.function.name in file.distributions:
                declared = file.distributions[expr.function.name]
                names = [parameter.name for parameter in declared.parameters]
                return distribution(declared.body, dict(zip(names, args, strict=True)), file)
            match expr.function.name:
                case "bernoulli":
                    return distributions.bernoulli(number(args[0]))
                case "uniform":
                    return distributions.uniform(args[0].items)
                case "binomial":
                    return distributions.binomial(integer(args[0]), number(args[1]))
    raise NotCovered(f"distribution {expr}")


def with_policy(name, args, kind, bounds):
    """Return noise of infinite support under a policy."""
    match name:
        case "geometric":
            return distributions.two_sided(integer(args[0]), number(args[1]), kind, *bounds)
        case "geometric_positive":
            return distributions.one_sided(number(args[0]), kind, *bounds)
        case "gaussian" if kind == "conditioned":
            return distributions.gaussian(integer(args[0]), number(args[1]), *bounds)
    raise NotCovered(f"{name} {kind}")
