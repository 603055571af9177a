"""The resolve room: names, kinds, constants and composition; a surface tree becomes a model."""

from dpcheck.resolve.checks import Resolved, ResolvedCheck, TargetDeclaration
from dpcheck.resolve.model import instantiate, resolve_model

__all__ = ["Resolved", "ResolvedCheck", "TargetDeclaration", "instantiate", "resolve_model"]
