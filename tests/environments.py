"""What tests need beside the environment that they run in: other Pythons, packages, a built example, real traces.

`make test` makes all of it under .make/environments (scripts/environments). A test asks here; where the thing is
missing it is skipped with the command that makes it, which `make test` takes for a failure (tests/skips.py).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("SONDE_ENVIRONMENTS") or ROOT / ".make" / "environments")


def python_of(environment: str, package: str) -> str:
    """A Python that has `package`: this one, or that of the named environment."""
    if importlib.util.find_spec(package) is not None:
        return sys.executable
    python = FOLDER / environment / "bin" / "python"
    if not python.exists():
        pytest.skip(f"needs {package}: make .make/environments/{environment}/ready")
    return str(python)


def file_of(environment: str, path: str) -> Path:
    """A file of the named environment."""
    found = FOLDER / environment / path
    if not found.exists():
        pytest.skip(f"needs {path}: make .make/environments/{environment}/ready")
    return found


def data_folder() -> Path | None:
    """Real traces and logs of others: $SONDE_DATA, or `shared/data` beside the checkout or above it."""
    told = os.environ.get("SONDE_DATA")
    if told:
        return Path(told)
    folders = (parent / "shared" / "data" for parent in ROOT.parents)
    return next((folder for folder in folders if folder.is_dir()), None)


def data_file(name: str) -> Path:
    """A file of real data by its path, from the repository or from the data folder."""
    own = ROOT / "tests" / "data" / name
    folder = data_folder()
    if own.exists():
        return own
    if folder is None:
        pytest.skip("no folder of real traces (SONDE_DATA)")
    assert (folder / name).exists(), f"{folder} lacks {name}"
    return folder / name


def interpreters() -> dict[int, str]:
    """One Python for each minor version that Sonde supports: this one, pyenv's, the system's, the one that make got."""
    found = {sys.version_info[1]: sys.executable}
    for minor in range(10, 15):
        pyenv = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        system = shutil.which(f"python3.{minor}", path="/usr/bin:/usr/local/bin")
        made = FOLDER / f"python3.{minor}" / "bin" / f"python3.{minor}"
        for candidate in (*map(str, pyenv), system, str(made) if made.exists() else None):
            if candidate:
                found.setdefault(minor, candidate)
    return found


def interpreter(minor: int) -> str:
    found = interpreters().get(minor)
    if found is None:
        pytest.skip(f"needs Python 3.{minor}: pyenv install 3.{minor}")
    return found
