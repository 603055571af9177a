"""Random surface expressions, every one of which the grammar can spell."""

from hypothesis import strategies as st

from dpcheck.model import surface as s
from dpcheck.source import SourceText, Span

HERE = Span(SourceText("nowhere", ""), 0, 0)

identifiers = st.sampled_from(["a", "b", "count", "epsilon", "at", "all", "ε"])
numbers = st.sampled_from(
    [(0, 1, "0"), (7, 1, "7"), (1, 10, "0.1"), (1, 10**6, "1e-6"), (2500, 1, "2.5E+3")]
).map(lambda parts: s.Number(*parts, span=HERE))
names = st.one_of(
    st.builds(s.Name, identifiers, span=st.just(HERE)),
    st.builds(s.Name, identifiers, primed=st.just(True), span=st.just(HERE)),
    st.builds(s.Name, st.sampled_from(["R", "a b"]), quoted=st.just(True), span=st.just(HERE)),
    st.just(s.Name("output", span=HERE)),
)
leaves = st.one_of(numbers, names, st.builds(s.Boolean, st.booleans(), span=st.just(HERE)))


def node(kind, *parts, **places):
    return st.builds(kind, *parts, **places, span=st.just(HERE))


def tuples(items, least=1):
    return st.lists(items, min_size=least, max_size=3).map(tuple)


def larger(e):
    """Nodes whose parts come from the strategy e."""
    name = node(s.Identifier, identifiers)
    maybe = st.none() | e
    here = st.just(HERE)
    argument = node(s.Argument, st.none() | name, e)
    operators = ["+", "-", "*", "/", "div", "mod", "^"]
    signs = ["=", "!=", "<", "<=", ">", ">=", "in"]
    comparison = tuples(e, 2).flatmap(
        lambda operands: node(
            s.Comparison,
            st.just(operands),
            st.tuples(*[st.sampled_from(signs) for _ in operands[1:]]),
        )
    )
    binders = [
        *("forall", "exists", "sum", "product", "max", "min", "count", "argmax", "argmin", "set"),
    ]
    policies = ["clamped", "conditioned", "folded", "wrapped"]
    branch = node(s.Branch, e, e)
    return st.one_of(
        node(s.Call, name, tuples(argument, 0)),
        node(s.Index, e, tuples(e)),
        node(s.Negative, e),
        node(s.Logarithm, e),
        node(s.Arithmetic, st.sampled_from(operators), e, e),
        node(s.Range, e, e),
        comparison,
        node(s.Not, e),
        node(s.Junction, st.sampled_from("&|"), tuples(e, 2)),
        node(s.Implication, e, e),
        node(s.Conditional, e, e, e),
        node(s.Tuple, tuples(e, 2)),
        node(s.SetLiteral, tuples(e, 0)),
        node(s.Binder, st.sampled_from(binders), name, e, maybe, e),
        node(s.Branches, tuples(branch), st.booleans()),
        node(s.WeightedBranches, e, e, name, e, maybe, st.booleans()),
        node(s.WithPolicy, e, st.sampled_from(policies), e, e, policy_span=here),
        node(s.Unbounded, e, policy_span=here),
        node(s.TemporalPrefix, st.sampled_from("FG"), maybe, e, operator_span=here),
        node(s.TemporalPrefix, st.just("X"), st.none(), e, operator_span=here),
        node(s.TemporalInfix, st.just("U"), maybe, e, e, operator_span=here),
        node(s.TemporalInfix, st.sampled_from("WR"), st.none(), e, e, operator_span=here),
        node(s.ProbabilityIs, st.sampled_from([">=", ">", "<=", "<", "="]), e, e),
        node(s.ProbabilityIn, e, e, e),
        node(s.ProbabilityOf, e),
        node(s.Private, e, maybe, e),
    )


expressions = st.recursive(leaves, larger, max_leaves=12)
