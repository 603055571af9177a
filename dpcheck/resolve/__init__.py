"""Surface trees come in; claims with targets, names and constants resolved, go out."""

from dpcheck.resolve.checks import Resolved, ResolvedCheck
from dpcheck.resolve.model import resolve_model

__all__ = ["Resolved", "ResolvedCheck", "resolve_model"]
