"""What every benchmark writes beside its figures, and where to.

Beside the figures stand the commit, Sonde's version, the command, the machine, its load before and after, and the
versions of what was measured. `write` puts them into benchmarks/results/NAME.json: the latest run of a suite, the older
ones are in git. BENCHMARK_RESULTS names another folder, for runs that are not to be kept.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sonde.record.outside.surroundings import machine_facts
from sonde.version import __version__

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MEGATRON = [
    ROOT / "tests" / "data" / "traces" / "multirank" / "megatron_tp8" / f"megatron_kineto_{rank}.json.gz"
    for rank in range(8)
]
BEGAN = datetime.now(timezone.utc)
LOAD_BEFORE = os.getloadavg()
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
        "took_s": round((datetime.now(timezone.utc) - BEGAN).total_seconds()),
        "commit": commit(),
        "version": __version__,
        "command": " ".join([sys.argv[0], shlex.join(sys.argv[1:])]).strip(),
        "machine": machine_facts(),
        "load": {"before": LOAD_BEFORE, "after": os.getloadavg()},
        "versions": versions,
    }


def commit() -> str | None:
    """The commit that is measured, with "+" when files of the code were changed since; None outside a clone."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode:
        return None
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "sonde", "native"], check=False)
    return head.stdout.strip() + ("+" if changed.returncode else "")


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
    """Write `result` with the facts as the latest of this suite; returns the file."""
    folder = Path(os.environ.get("BENCHMARK_RESULTS") or RESULTS)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**facts(), **result}, indent=1) + "\n", encoding="utf-8")
    return path
