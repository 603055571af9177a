"""Claims in the words of papers and of other tools, and how they are written here.

Only words that the file does not declare are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from dpcheck.diagnostics.mistakes import Mistake
from dpcheck.diagnostics.syntax import ForeignSpelling
from dpcheck.logic.quantities import QUANTITIES
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
PARAMETERS: Final = {parameter.name for row in QUANTITIES.values() for parameter in row.parameters}
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
                written = by_position(WORDS.get(name.lower(), name), given)
                if written and any(argument.name for argument in given) and not is_known(name):
                    return ForeignSpelling(side.span, side.span.text, written)
            case surface.Index(base=surface.Name(name=name), indices=indices) if not is_known(name):
                given = tuple(surface.Argument(None, each, span=each.span) for each in indices)
                written = by_position(WORDS.get(name.lower(), name), given)
                if written:
                    return ForeignSpelling(side.span, side.span.text, written)
                continue
            case surface.Name(name=name, primed=False, quoted=False, span=span):
                pass
            case _:
                continue
        meant = WORDS.get(name.lower())
        if meant is not None and meant != name and not is_known(name):
            return ForeignSpelling(span, name, meant)
    return None


def _whole_claim(tree: surface.Expression, is_known: Callable[[str], bool]) -> str | None:
    """Return how a whole claim is written: `(e, d)-dp`, `rdp(a, e)`, `zcdp(e)`."""
    match tree:
        case surface.Arithmetic(
            operator="-", left=left, right=surface.Name(name="dp" | "DP" | "Dp" as name)
        ) if not is_known(name):
            text = left.span.text
            return f"dp{text}" if isinstance(left, surface.Tuple) else f"dp({text})"
        case surface.Call(function=surface.Identifier(name=name), arguments=arguments):
            word = WORDS.get(name.lower())
            ordered = sorted(arguments, key=lambda one: _parameter(one) == "epsilon")
            texts = [argument.value.span.text for argument in ordered]
            if name.lower() == "renyi" or is_known(name):
                return None
            if word == "renyi" and len(texts) == 2:
                return f"renyi({texts[0]}) <= {texts[1]}"
            if word == "zcdp" and len(texts) == 1:
                return f"zcdp <= {texts[0]}"
    return None


def for_one_event(
    tree: surface.Expression, is_known: Callable[[str], bool]
) -> ForeignSpelling | None:
    """Return the mistake that `D{e} [ p ]` is written `dp(e) [ p ]`, if it is."""
    match tree:
        case surface.Index(surface.Call(surface.Identifier(name), given), (path,)):
            if WORDS.get(name.lower()) == "dp" and not is_known(name):
                budget = ", ".join(argument.value.span.text for argument in given)
                written = f"D{{{budget}}} [ {path.span.text} ]"
                return ForeignSpelling(tree.span, tree.span.text, written)
    return None


def by_position(word: str, given: Sequence[surface.Argument]) -> str | None:
    """Return a quantity with arguments as it takes them, an example for each that is missing.

    Names tell the places, and arguments without a known one stand in their order. None if some
    argument has no place.
    """
    row = QUANTITIES.get(word)
    if row is None:
        return None
    named = {_parameter(one): one for one in given if _parameter(one) in PARAMETERS}
    others = [one for one in given if _parameter(one) not in PARAMETERS]
    is_short = row.of == "errors" and len(given) < len(row.parameters)
    texts: list[str] = []
    for parameter in row.parameters[is_short:]:
        found = named.pop(parameter.name, None) or (others.pop(0) if others else None)
        if found is None and len(texts) >= row.n_required and not named:
            break
        texts.append(parameter.example if found is None else found.value.span.text)
    return None if named or others or "" in texts else f"{word}({', '.join(texts)})"


def _parameter(argument: surface.Argument) -> str:
    """Return the name of an argument as it is here, `epsilon` for `eps`; none if it has no name."""
    name = "" if argument.name is None else argument.name.name
    return WORDS.get(name.lower(), name)
