"""What every benchmark writes beside its figures: when, where, with which versions; and where to.

Results are dated files in benchmarks/results; none is ever overwritten.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import signal
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sonde.record.surroundings import machine_facts

RESULTS = Path(__file__).parent / "results"
PACKAGES = (
    *("torch", "numpy", "duckdb", "py-spy", "scalene", "austin-dist", "HolisticTraceAnalysis"),
    *("orjson", "msgspec", "pysimdjson"),
)
MINORS = (10, 11, 12, 13)  # of Python 3, which Sonde supports


def facts() -> dict[str, Any]:
    """Machine, load and versions at this moment."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine_facts(),
        "load": os.getloadavg(),
        "versions": versions,
    }


def foreground() -> None:
    """A shell's background job ignores SIGINT, and so would the programs that it starts; theirs is the default."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def interpreters(asked: list[str]) -> tuple[list[str], list[str]]:
    """Those that `--python` names, with `all` spelled out; and the versions that are missing."""
    found, absent = [], []
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for word in asked:
        if word != "all":
            found.append(word)
            continue
        found.append(sys.executable)
        for minor in MINORS:
            if minor == sys.version_info.minor:
                continue
            kept = sorted(pyenv.glob(f"3.{minor}.*/bin/python"))
            here = str(kept[-1]) if kept else shutil.which(f"python3.{minor}")
            (found if here else absent).append(here or f"python3.{minor}")
    return found, absent


def write(name: str, result: dict[str, Any]) -> Path:
    """Write `result` with the facts; returns the file."""
    RESULTS.mkdir(exist_ok=True)
    stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H%M%S")
    path = RESULTS / f"{name}-{stamp}.json"
    path.write_text(json.dumps({**facts(), **result}, indent=1) + "\n", encoding="utf-8")
    return path
