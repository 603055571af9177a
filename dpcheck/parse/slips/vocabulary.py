"""Words of other languages, and the words here that mean the same."""

from __future__ import annotations

from dpcheck.logic.quantities import QUANTITIES
from dpcheck.model.distributions import DISTRIBUTIONS

# fmt: off
AT_TOP_LEVEL = {
    **dict.fromkeys(["assert", "verify", "prove", "claim", "property", "theorem"], "check"),
    **dict.fromkeys(["print", "show", "eval", "evaluate", "report"], "compute"),
    **dict.fromkeys(["let", "define", "val", "var"], "const"),
    **dict.fromkeys(["def", "func", "function", "fn"], "fun"),
    **dict.fromkeys(["module", "algorithm", "procedure", "proc", "program"], "mechanism"),
    **dict.fromkeys(["include", "require", "source", "use", "load"], "import"),
}
IN_A_BLOCK = {
    **dict.fromkeys(["return", "print", "emit", "yield", "release", "publish", "show"], "output"),
    **dict.fromkeys(["halt", "exit", "quit", "abort"], "stop"),
    **dict.fromkeys(["private", "secret", "sensitive"], "input"),
    **dict.fromkeys(["neighbors", "neighbours", "neighbor", "neighbour", "adjacency"], "adjacent"),
    **dict.fromkeys(["let", "local", "val"], ""),
    **dict.fromkeys(["pass", "skip"], ""),
    "foreach": "for", "loop": "while true",
}
"""The first word of an element elsewhere, and here."""

BETWEEN_OPERANDS = {
    "and": "&", "or": "|", "implies": "=>", "iff": "=", "xor": "!=", "equals": "=", "to": "..",
    "until": "U", "unless": "W", "releases": "R",
}
TYPES = frozenset({"int", "integer", "float", "double", "real", "bool", "boolean", "str", "string"})
GIVEN = frozenset({",", "with", "where", "given", "using", "for", "when", "if"})
SATISFIES = frozenset({"satisfies", "is", "has", "fulfills", "ensures"})
ELSE_IF = frozenset({"elif", "elsif", "elseif"})
CLAIM_WORDS = frozenset({*QUANTITIES, "P", "D"})
DRAWN = frozenset({*DISTRIBUTIONS, "laplace"})
BINDING = {word: word for word in ("sum", "product", "max", "min", "count", "argmax", "argmin")}
BINDING |= {"all": "forall", "any": "exists"}
POLICY_WORDS = {
    **dict.fromkeys(["truncated", "bounded", "clipped", "clamp", "censored"], "clamped"),
    **dict.fromkeys(["reflected", "mirrored"], "folded"),
    **dict.fromkeys(["renormalized", "restricted", "rejected"], "conditioned"),
}
# fmt: on
