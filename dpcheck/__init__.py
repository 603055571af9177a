"""dpcheck decides, exactly, whether a randomized program is differentially private.

    >>> import dpcheck
    >>> dpcheck.mechanisms.survey().epsilon().exact
    'ln(3)'

What is public is named here, and imported when it is first used, so that the command line can
answer `--help` at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcheck.version import __version__ as __version__

if TYPE_CHECKING:
    from dpcheck import mechanisms
    from dpcheck.chain.chain import Chain
    from dpcheck.check.values.verdicts import Amount, Outcome
    from dpcheck.front import Answer, Model, ModelError, Target, from_transitions, load, loads
    from dpcheck.limits import LimitReached
    from dpcheck.pipeline.units import work

__all__ = [
    "Amount",
    "Answer",
    "Chain",
    "LimitReached",
    "Model",
    "ModelError",
    "Outcome",
    "Target",
    "from_transitions",
    "load",
    "loads",
    "mechanisms",
    "work",
]

_HOMES = {
    "Amount": "dpcheck.check.values.verdicts",
    "Answer": "dpcheck.front",
    "Chain": "dpcheck.chain.chain",
    "LimitReached": "dpcheck.limits",
    "Model": "dpcheck.front",
    "ModelError": "dpcheck.front",
    "Outcome": "dpcheck.check.values.verdicts",
    "Target": "dpcheck.front",
    "from_transitions": "dpcheck.front",
    "load": "dpcheck.front",
    "loads": "dpcheck.front",
    "work": "dpcheck.pipeline.units",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Return a public name, from the module where it lives."""
    if name == "mechanisms":
        return import_module("dpcheck.mechanisms")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
