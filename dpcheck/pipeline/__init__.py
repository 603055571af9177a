"""The stages in order, for every file and every claim."""

from dpcheck.pipeline.run import Options, check_paths

__all__ = ["Options", "check_paths"]
