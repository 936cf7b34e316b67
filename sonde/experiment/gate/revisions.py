"""Two revisions of a repository side by side on disk.

Enters: names of git revisions. Leaves: a folder for each, removed at the end whatever happens. The user's own
work tree is only read: a revision is checked out as a detached work tree in a temporary folder.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import EnvironmentLacks, UsageError

DEFAULT_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


@dataclass(frozen=True)
class Revision:
    """What is measured: its name for people, its commit, and where its files are."""

    name: str
    commit: str
    folder: Path


def repository_of(folder: Path) -> Path:
    """The top of the work tree that `folder` is in."""
    return Path(_git(folder, "rev-parse", "--show-toplevel"))


def default_base(repository: Path) -> str:
    """Where the current branch left the main one."""
    for name in DEFAULT_BASES:
        try:
            return _git(repository, "merge-base", "HEAD", name)
        except UsageError:
            continue
    raise UsageError("no main branch was found to compare with", "name the base: --base REVISION")


def current(repository: Path) -> Revision:
    """The work tree as it is, uncommitted changes included."""
    commit = _git(repository, "rev-parse", "HEAD")
    changed = bool(_git(repository, "status", "--porcelain", "--untracked-files=no"))
    return Revision(
        f"{commit[:10]}{' with changes' if changed else ''}", "" if changed else commit, repository
    )


@contextmanager
def checked_out(repository: Path, name: str) -> Iterator[Revision]:
    """The files of a revision, in a folder that lives as long as the block."""
    commit = _git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as scratch:
        folder = Path(scratch) / commit[:10]
        _git(repository, "worktree", "add", "--quiet", "--detach", str(folder), commit)
        try:
            yield Revision(name if name != commit else commit[:10], commit, folder)
        finally:
            _git(repository, "worktree", "remove", "--force", str(folder))


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise EnvironmentLacks(
            "git was not found", "install git, or compare commands: sonde prove --before --after"
        ) from None
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"no such revision: {words[-1]}"])[-1]
        raise UsageError(
            f"git {words[0]}: {said}", "run it inside a git repository, and name a revision that exists"
        )
    return done.stdout.strip()
