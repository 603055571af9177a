"""The order in which a search leaves the nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def postorder(roots: Iterable[int], following: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the nodes that roots lead to, each after all that it leads to (cycles aside).

    >>> postorder([0], [[1, 2], [2], [0]].__getitem__)
    [2, 1, 0]
    """
    order: list[int] = []
    seen: set[int] = set()
    for root in roots:
        stack = [(root, iter(following(root)))] if root not in seen else []
        seen.add(root)
        while stack:
            node, rest = stack[-1]
            after = next(rest, None)
            if after is None:
                order.append(node)
                stack.pop()
            elif after not in seen:
                seen.add(after)
                stack.append((after, iter(following(after))))
    return order
