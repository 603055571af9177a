"""Paths and options come in; an event a stage, and an answer a claim, go out."""

from dpcheck.pipeline.run import Options, check_paths

__all__ = ["Options", "check_paths"]
