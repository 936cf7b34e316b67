"""What the attached process can see: where its agent's library lies and where it may write.

In: a process id and the recording's folder. Out: both as that process names them. In the same file system, for the same
user, nothing is copied. In a container (another root, another /tmp), or for another user's process, the library and
the observers are copied to a private folder in that process's /tmp, and the logs are brought back at the end.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from sonde import rawfolder
from sonde.errors import EnvironmentLacks
from sonde.native import agent_path
from sonde.version import __version__

PACKAGE = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Place:
    """Paths as the process sees them, and where its logs are for us."""

    library: str
    package: str  # folder of the `sonde` package
    folder: str  # where the agent finds `raw`
    staged: Path | None  # as we see `folder`, when it is not the recording itself
    owner: tuple[int, int]  # uid and gid of the process


def place_for(pid: int, folder: Path) -> Place:
    """Where things are for this process. Copies them where need be."""
    status = os.stat(f"/proc/{pid}")
    owner = (status.st_uid, status.st_gid)
    library, folder = agent_path(), folder.resolve()
    own = os.geteuid() == owner[0]
    if own and all(_is_same(pid, path) for path in (library, PACKAGE, folder)):
        return Place(str(library), str(PACKAGE), str(folder), None, owner)
    return _staged(pid, library, owner)


def _is_same(pid: int, path: Path) -> bool:
    try:
        ours, theirs = path.stat(), os.stat(f"/proc/{pid}/root{path}")
    except OSError:
        return False
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)


def _staged(pid: int, library: Path, owner: tuple[int, int]) -> Place:
    inner = f"/tmp/sonde-{owner[0]}"
    outer = Path(f"/proc/{pid}/root{inner}")
    try:
        _make_private(outer, owner)
        copy = outer / f"{library.stem}-{__version__}.so"
        _copy(library, copy, owner)
        package = outer / f"package-{__version__}" / "sonde"
        if not package.exists():
            shutil.copytree(PACKAGE, package, ignore=_only_python)
            for name in (package.parent, *package.parent.rglob("*")):
                os.chown(name, *owner)
        logs = outer / f"{pid}.visit"
        shutil.rmtree(logs, ignore_errors=True)
        for made in (logs, logs / rawfolder.FOLDER):
            made.mkdir(mode=0o700)
            os.chown(made, *owner)
    except OSError as error:
        raise EnvironmentLacks(
            f"process {pid} has another view of the file system, and its /tmp cannot be used: {error.strerror}",
            "run sonde inside its container, as its user",
        ) from None
    return Place(
        f"{inner}/{copy.name}", f"{inner}/{package.parent.name}/sonde", f"{inner}/{logs.name}", logs, owner
    )


def _make_private(folder: Path, owner: tuple[int, int]) -> None:
    try:
        folder.mkdir(mode=0o700)
        os.chown(folder, *owner)
    except FileExistsError:
        found = folder.lstat()
        if folder.is_symlink() or found.st_uid != owner[0] or found.st_mode & 0o777 != 0o700:
            raise PermissionError(13, f"{folder} is not a private folder of its user's") from None


def _copy(source: Path, to: Path, owner: tuple[int, int]) -> None:
    """Never written in place: the copy may be loaded in a process."""
    if to.exists() and to.stat().st_size == source.stat().st_size and to.read_bytes() == source.read_bytes():
        return
    partial = to.with_suffix(".partial")
    shutil.copyfile(source, partial)
    os.chown(partial, *owner)
    partial.chmod(0o755)
    partial.replace(to)


def _only_python(folder: str, names: list[str]) -> set[str]:
    """For copytree: what is left out."""
    return {n for n in names if not (n.endswith(".py") or Path(folder, n).is_dir()) or n == "__pycache__"}


def bring_back(place: Place, folder: Path) -> None:
    """Move the logs into the recording."""
    if place.staged is None:
        return
    for path in (place.staged / rawfolder.FOLDER).iterdir():
        shutil.copyfile(path, folder / rawfolder.FOLDER / path.name)
    shutil.rmtree(place.staged, ignore_errors=True)
