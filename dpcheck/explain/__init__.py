"""A violated claim with its evidence comes in; an explanation of it, as frozen data, goes out."""

from dpcheck.explain.explanation import Detail, Explanation

__all__ = ["Detail", "Explanation"]
