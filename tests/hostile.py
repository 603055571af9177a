"""Model files that take for ever, or all memory: short texts, each slow in another part.

`written(folder)` writes them. Every one must end in its limits: undecided, or with a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

INPUT = "input x in {0, 1} adjacent all"


def mechanism(body: str, claim: str = "check m: dp(1)") -> str:
    """Return a model with one mechanism about a bit x."""
    return f"mechanism m {{\n  {INPUT}\n  {body}\n}}\n{claim}\n"


def nested_distributions() -> str:
    """Return functions that call the one before twice."""
    lines = ["dist f0(x) = if x = 1 then {0: 1} else {1: 1}"]
    lines += [
        f"dist f{k}(x) = if x = 1 then f{k - 1}(x) else f{k - 1}(x + 1)" for k in range(1, 51)
    ]
    return "\n".join([*lines, mechanism("y ~ f50(x) output y")])


def many_runs() -> str:
    """Return mechanisms that are run within each other."""
    ifs = " ".join(f"if x = {k} {{ y := {k} }}" for k in range(140))
    lines = [f"mechanism m0 {{ {INPUT} y := 0 {ifs} output y }}"]
    lines += [
        f"mechanism m{k} {{ {INPUT} y := 0 {ifs} run m{k - 1}(x = x) }}" for k in range(1, 50)
    ]
    return "\n".join([*lines, "check m49: dp(1)", ""])


def unknown_names() -> str:
    """Return a model that uses 1,500 names which look like 1,500 others."""
    known = "\n".join(f"const some_constant_{k:04}a = {k}" for k in range(1500))
    used = " ".join(f"y := y + some_constant_{k:04}b" for k in range(1500))
    return f"{known}\n{mechanism(f'y := 0 {used} output y')}"


def unknown_states() -> str:
    """Return a chain that leads from 1,500 states to others whose names look like theirs."""
    states = "\n".join(f"state some_state_{k:04}a" for k in range(1500))
    rows = "\n".join(f"some_state_{k:04}a -> 1: some_state_{k:04}b" for k in range(1500))
    return f"chain c {{ {states}\n{rows}\ninit some_state_0000a }}\ncheck c: true\n"


def syntax_errors() -> str:
    """Return a text with a mistake on every line."""
    lines = ["const a = 1 1", "check m dp(1)", "const b = |x - 1|", "y := 1 and 1", "mechanism m {"]
    return "".join(f"{lines[k % 5]}\n" for k in range(10_000))


def long_table() -> str:
    """Return a table of 20,000 rows."""
    rows = "".join(f"row,i{k},a,1/2\nrow,i{k},b,1/2\n" for k in range(20_000))
    return rows + "".join(f"pair,i{k},i{k + 1}\n" for k in range(19_999))


def losses_of(n: int, claim: str) -> str:
    """Return a mechanism with so many privacy losses."""
    return (
        f"mechanism m {{ input x in 0..1 adjacent all y ~ uniform(0..{n - 1})\n"
        f"  z ~ bernoulli(if x = 0 then (y + 1)/{3 * n} else (2*{n} - y)/{3 * n})\n"
        f"  output (y, z) }}\n{claim}\n"
    )


MODELS: Mapping[str, str] = {
    "nested_distributions": nested_distributions(),
    "constant_sums": "const n = sum(i in 1..31623 : sum(j in 1..31623 : i * j))\n"
    + mechanism("y ~ bernoulli(1/n) output y"),
    "long_exponential": mechanism("y ~ {0: exp(-1000000000), 1: 1 - exp(-1000000000)} output y"),
    "many_runs": many_runs(),
    "nested_tuples": "const c = "
    + "(" * 20_000
    + "1"
    + ",)" * 20_000
    + "\n"
    + mechanism("output x"),
    "unknown_names": unknown_names(),
    "unknown_states": unknown_states(),
    "syntax_errors": syntax_errors(),
    "long_table": 'import "table.csv"\ncheck table: dp(1)\n',
    "doubled_tuples": mechanism("t := (x, x) repeat 200 { t := (t, t) } output t"),
    "drawn_sums": mechanism(
        "z ~ uniform(1..2) output sum(i in 1..100000 : sum(j in 1..100000 : i * j * z + x))"
    ),
    "high_order": mechanism(
        "y ~ geometric(x, 1/2) clamped 0..1 output y", "compute m: renyi(1000000)"
    ),
    "odd_order": mechanism(
        "y ~ geometric(x, 1/2) clamped 0..1 output y", "compute m: renyi(1000001/3)"
    ),
    "long_fractions": mechanism(
        "y ~ bernoulli(if x = 0 then 1/3^1000000 else 1/(3^1000000 + 2)) output y"
    ),
    "large_set": mechanism("y := len({i * i + x for i in 1..900000}) output y"),
    "large_product": mechanism("y ~ uniform((1..10000) * (1..10000)) output y"),
    "long_loop": mechanism(
        "s := x z := false while !z { s ~ uniform({(s * k + k) mod 4001 for k in 1..100})"
        " z ~ bernoulli(s / 8000) } output s"
    ),
    "many_losses": losses_of(3001, "compute m: zcdp"),
    "many_bases": losses_of(3001, "compute compose(m, 2): epsilon(1/100)"),
    "much_memory": mechanism(
        "t := {(i, i * x) for i in 1..900000} * {(i, x) for i in 1..900} output len(t)"
    ),
}


def written(folder: Path) -> list[Path]:
    """Write the models, and what they import; return their files."""
    (folder / "table.csv").write_text(long_table())
    paths = []
    for name, text in MODELS.items():
        path = folder / f"{name}.dpm"
        path.write_text(text)
        paths.append(path)
    return paths
