"""Which files changed since a commit: what git says of the checkout around here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=off")


def changed_since(revision: str, here: Path) -> frozenset[str]:
    """Return the real paths of all files that differ from where this branch left a revision.

    Files that git does not know yet are among them, ignored ones are not. Raises `ValueError`
    that says why these cannot be known.
    """
    top = _git(here, "rev-parse", "--show-toplevel", wrong=f"{here} is in no checkout of git")
    root = Path(top.rstrip("\n"))
    commit = f"{revision}^{{commit}}"
    unknown = f"git knows no commit `{revision}` here; a shallow checkout has few: fetch more of it"
    found = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", commit, wrong=unknown
    )
    alone = f"`{revision}` and HEAD have no commit in common here: fetch more of the history"
    base = _git(root, "merge-base", found.strip(), "HEAD", wrong=alone).strip()
    names = _git(root, "diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", base, "--")
    names += _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    real = os.path.realpath(root)
    return frozenset(os.path.join(real, name) for name in names.split("\0") if name)  # noqa: PTH118


def _git(folder: Path, *arguments: str, wrong: str | None = None) -> str:
    """Return what git prints; raises `ValueError`."""
    try:
        done = subprocess.run(
            [*_GIT, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except OSError:
        raise ValueError("git is not installed, which knows what changed") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise ValueError(wrong or f"git {arguments[0]} failed: {said[0] if said else 'no reason'}")
    return os.fsdecode(done.stdout)
