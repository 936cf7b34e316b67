"""What to put into a program's environment so that generated code gets names, and how to tidy up after it.

oneDNN writes a jitdump (a name, an address, a size and a time for each kernel) when asked to; the agent
reads it while it grows (native/agent/jit). The files lie in a private folder and are removed at the end.
Perf maps that other runtimes write by themselves (/tmp/perf-PID.map) need nothing from here.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

JITDUMP = (
    4  # ONEDNN_JIT_PROFILE is a sum: 1 VTune, 2 perf map in /tmp, 4 jitdump, 8 times from the CPU's counter
)
_DEFAULT_PROFILE = 1


def jit_environment(folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Variables to set so that kernels are named in `folder`; what the user asked of oneDNN is kept."""
    asked = base.get("ONEDNN_JIT_PROFILE", base.get("DNNL_JIT_PROFILE", ""))
    profile = int(asked) if asked.isdigit() else _DEFAULT_PROFILE
    environment = {"ONEDNN_JIT_PROFILE": str(profile | JITDUMP)}
    # A user who collects jitdumps keeps them where they were asked for; the agent looks there too.
    if "JITDUMPDIR" not in base:
        environment["JITDUMPDIR"] = str(folder.resolve())
    return environment


def remove_jit_files(folder: Path) -> None:
    """Removes what `jit_environment` made programs write into `folder`; nothing to do is fine."""
    shutil.rmtree(folder / ".debug", ignore_errors=True)
