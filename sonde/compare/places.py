"""Names of places that stay the same when a project is moved: files relative to the program's folder."""

from __future__ import annotations

import os

# Code that is not the user's: installed packages, the standard library, generated files, Sonde itself.
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3", "/sonde/record/", "/torchinductor_")


def is_users(file: str | None) -> bool:
    """Whether a Python file is part of the program rather than of a library."""
    return bool(file) and not str(file).startswith("<") and not any(part in str(file) for part in _FOREIGN)


def place(file: str, root: str) -> str:
    """`file` relative to `root` where it is below, else after site-packages, else its own name."""
    if root and file.startswith(root.rstrip("/") + "/"):
        return os.path.relpath(file, root)
    for part in ("/site-packages/", "/dist-packages/"):
        if part in file:
            return file.rpartition(part)[2]
    return os.path.basename(file)


def program_root(command: list[str], directory: str) -> str:
    """Folder of the script in a command line; the working folder when there is none."""
    for word in command[1:]:
        if word.endswith(".py"):
            return os.path.dirname(os.path.normpath(os.path.join(directory, word)))
    return directory
