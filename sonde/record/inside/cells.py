"""The text of a notebook's cells, which are no files: only the program itself has it.

IPython keeps the source of each cell for tracebacks (`linecache`), under the name that code objects have. At the end of
the program it is written down, as `sonde run --no-source` does not forbid:

    raw/PID.cells.json    {name: text}
"""

from __future__ import annotations

import atexit
import json
import os
import re
import sys
from typing import Any

from sonde import rawfolder

OPTIONS_VARIABLE = "SONDE_OBSERVE"
NAME = re.compile(r"/ipykernel_\d+/|^<ipython-input-")
MOST_BYTES = 4 << 20


def watch(module: Any) -> None:
    """IPython's compiler was imported: there will be cells."""
    atexit.register(_write)


def _write() -> None:
    try:
        options = json.loads(os.environ[OPTIONS_VARIABLE])
        found = cells(getattr(sys.modules.get("linecache"), "cache", {}))
        if found and options.get("source", True):
            path = rawfolder.CELLS.path(os.path.join(options["folder"], rawfolder.FOLDER), os.getpid())
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
                json.dump(found, file)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # the lines have no text, and nothing else changes


def cells(cache: Any) -> dict[str, str]:
    """Name and text of the cells in `linecache.cache`; the newest ones where there are very many."""
    found: dict[str, str] = {}
    room = MOST_BYTES
    for name, entry in reversed(list(dict(cache).items())):
        # Size, time of change, lines, name; what is no file has no time of change.
        if NAME.search(name) and isinstance(entry, tuple) and len(entry) == 4 and entry[1] is None:
            text = "".join(entry[2])
            room -= len(text)
            if room < 0:
                break
            found[name] = text
    return found
