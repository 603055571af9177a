"""How much memory there is, and how to take no more of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/proc/self/cgroup")
_MOUNTED = Path("/sys/fs/cgroup")
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def memory_of(text: str) -> int:
    """Return an amount of memory in bytes; raises `ValueError` for what is none.

    >>> memory_of("1.5G") == 3 << 29, memory_of("500 MB") == 500 << 20, memory_of("1048576")
    (True, True, 1048576)
    """
    unit = text.strip().upper().removesuffix("B").removesuffix("I").strip()
    number = unit.rstrip("KMGT")
    n_bytes = float(number) * _SIZES[unit[len(number) :]]
    if not 1 <= n_bytes < 1 << 63:
        raise ValueError(text)
    return int(n_bytes)


def available_memory() -> int | None:
    """Return three quarters of the memory of the machine or its container, in bytes, if known."""
    known = list(_group_limits())
    with suppress(ValueError, OSError, AttributeError):
        known.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(known) * 3 // 4 if known else None


def _group_limits() -> Iterator[int]:
    """Yield the limits of the control groups this process is in, of version 1 and 2.

    A group is bounded by those around it too; a container often sees its own as the outermost.
    """
    try:
        lines = _GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, name = _MOUNTED, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = _MOUNTED / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # not mounted here, or "max"
                yield int((folder / name).read_text())
            if folder == top:
                break


def limit_memory(n_bytes: int) -> None:
    """Let this process have so many bytes more than it has now; raises nothing where it cannot."""
    import resource

    kind = getattr(resource, "RLIMIT_DATA", resource.RLIMIT_AS)
    soft, hard = resource.getrlimit(kind)
    limits = [n_bytes + data_size(), *(each for each in (soft, hard) if each >= 0)]
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (min(limits), hard))


def data_size() -> int:
    """Return how many bytes of data this process has, as the limit counts them; 0 if unknown."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path("/proc/self/statm").read_text().split()[5]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


_OF_ALLOCATOR = {-8: 1, -3: 32 << 20, -1: 64 << 20, -2: 1 << 20}
"""Options by their numbers in glibc's `malloc.h`: one pool for all threads (`M_ARENA_MAX`), the
bytes from which on an array is a piece of its own (`M_MMAP_THRESHOLD`), that are kept at the end
(`M_TRIM_THRESHOLD`), and by which memory grows (`M_TOP_PAD`)."""


def keep_memory() -> None:
    """Let this process use again what it gives back, arrays below 32 MB, in place of fresh memory.

    glibc asks the system for each array above 128 KB, and gives it back, until it has learnt what
    is asked for again; a thread's memory grows by single pages. A fresh page is cleared first: in
    `geometric-200` 4,100 of them, so 2,400, and 0.85 of the CPU time. Other allocators have no such
    options, or the same ones.
    """
    from ctypes import CDLL

    with suppress(OSError, AttributeError, TypeError):
        set_option = CDLL(None).mallopt
        for option, value in _OF_ALLOCATOR.items():
            set_option(option, value)
