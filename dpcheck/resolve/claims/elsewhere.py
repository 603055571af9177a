"""Claims in the words of papers and of other tools, and how they are written here.

Only words that the file does not declare are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.syntax import ForeignSpelling
from dpcheck.model import surface

# fmt: off
WORDS: Final = {
    **dict.fromkeys(["eps", "ε", "ϵ", "max_divergence", "dmax"], "epsilon"),
    **dict.fromkeys(["δ", "hockey_stick", "hockey_stick_divergence"], "delta"),
    **dict.fromkeys(["rdp", "renyi_dp", "renyi_divergence", "rényi"], "renyi"),
    **dict.fromkeys(["rho", "ρ", "zcdp", "cdp", "z_cdp"], "zcdp"),
    **dict.fromkeys(["tv", "tv_distance", "total_variation_distance"], "total_variation"),
    **dict.fromkeys(["kl", "kl_divergence", "kullback_leibler"], "renyi(1)"),
    **dict.fromkeys(["fdp", "f_dp", "trade_off", "tradeoff_curve", "roc"], "tradeoff"),
    **dict.fromkeys(["pld", "privacy_loss", "loss"], "losses"),
    **dict.fromkeys(["privacy_profile"], "profile"),
    **dict.fromkeys(["leakage", "min_entropy"], "min_entropy_leakage"),
    **dict.fromkeys(["dp", "adp", "pure_dp", "puredp", "approx_dp", "local_dp", "ldp"], "dp"),
}
# fmt: on
INFINITE: Final = frozenset({"inf", "infinity", "infty", "oo", "∞"})


def elsewhere(
    tree: surface.Expression, kind: surface.QuestionKind, is_known: Callable[[str], bool]
) -> Mistake | None:
    """Return the mistake that a claim is written as elsewhere, if it is."""
    whole = None if kind == "compute" else _whole_claim(tree, is_known)
    if whole is not None:
        return ForeignSpelling(tree.span, tree.span.text, whole)
    sides = tree.operands if isinstance(tree, surface.Comparison) else (tree,)
    for side in sides:
        match side:
            case surface.Call(function=surface.Identifier(name="renyi"), arguments=(order,)) if (
                order.value.span.text in INFINITE
            ):
                return ForeignSpelling(side.span, side.span.text, "epsilon")
            case surface.Call(function=surface.Identifier(name=name, span=span), arguments=given):
                word = WORDS.get(name.lower(), name)
                if given and all(argument.name for argument in given) and not is_known(name):
                    values = ", ".join(argument.value.span.text for argument in given)
                    return ForeignSpelling(side.span, side.span.text, f"{word}({values})")
            case surface.Name(name=name, primed=False, quoted=False, span=span):
                pass
            case _:
                continue
        meant = WORDS.get(name.lower())
        if meant is not None and meant != name and not is_known(name):
            return ForeignSpelling(span, name, meant)
    return None


def _whole_claim(tree: surface.Expression, is_known: Callable[[str], bool]) -> str | None:
    """Return how a whole claim is written: `(e, d)-dp`, `rdp(a, e)`, `zcdp(e)`, `dp(eps = e)`."""
    match tree:
        case surface.Arithmetic(
            operator="-", left=left, right=surface.Name(name="dp" | "DP" | "Dp" as name)
        ) if not is_known(name):
            text = left.span.text
            return f"dp{text}" if isinstance(left, surface.Tuple) else f"dp({text})"
        case surface.Call(function=surface.Identifier(name=name), arguments=arguments):
            word = WORDS.get(name.lower())
            texts = [argument.value.span.text for argument in arguments]
            names = {argument.name and argument.name.name for argument in arguments}
            if word == "dp" and names and names <= {"eps", "epsilon", "delta"}:
                return f"dp({', '.join(texts)})"
            if name.lower() == "renyi" or is_known(name):
                return None
            if word == "renyi" and len(texts) == 2:
                return f"renyi({texts[0]}) <= {texts[1]}"
            if word == "zcdp" and len(texts) == 1:
                return f"zcdp <= {texts[0]}"
    return None
