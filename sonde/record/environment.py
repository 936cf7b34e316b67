"""The environment variables that let the observers into every Python process of the job.

In: the recording's folder and the options of `sonde run`. Out: the variables to set
for the child. PYTHONPATH gets one folder in front, which holds a `sitecustomize`
that chains to the user's own; whatever the user had stays behind it, in order.

Python ignores PYTHONPATH under -I and -E and skips `sitecustomize` under -S:
such a process is still sampled, but has no steps and no operator windows;
`sonde.ingest.observers.framework` says so in `losses`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import UsageError
from sonde.native import lines_path

BOOTSTRAP = Path(__file__).resolve().parent / "bootstrap"
OPTIONS_VARIABLE = "SONDE_OBSERVE"
LINES_VARIABLE = "SONDE_AGENT_LINES"  # read by native/lines; the agent keeps it across exec
DEFAULT_BUDGET = 0.02


@dataclass(frozen=True)
class ObserveOptions:
    """What the observers inside the program shall do."""

    window: str = "auto"  # auto, all, none or steps=A:B (steps A up to, not including, B)
    budget: float = DEFAULT_BUDGET  # share of the program's CPU time that windows may cost
    lines: bool = True  # trace Python lines and modules inside windows
    primitives: bool = False  # have oneDNN and MKL print their calls, kept apart by native/lines
    mxnet: bool = True  # start MXNet's own profiler in programs that use MXNet
    turns: Path | None = None  # a byte shared with the launcher, which lets two programs take turns


def parse_window(text: str) -> tuple[str, int, int]:
    """Check `--window`: the mode, and first and last+1 step for `steps=A:B`, else -1."""
    if text in ("auto", "all", "none"):
        return text, -1, -1
    found = re.fullmatch(r"steps=(\d+):(\d+)", text)
    if not found or int(found[1]) >= int(found[2]):
        raise UsageError(
            f"--window {text!r} is not understood", "use auto, all, none or steps=A:B with A < B, steps=10:13"
        )
    return "steps", int(found[1]), int(found[2])


def python_environment(
    folder: Path, options: ObserveOptions | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Variables to add to the child's environment; `environment` is what it has without us."""
    options = options or ObserveOptions()
    environment = os.environ if environment is None else environment
    mode, first, last = parse_window(options.window)
    if not 0 <= options.budget <= 1:
        raise UsageError(f"--budget {options.budget} is not a share of run time", "give 0.02 for 2 %")
    previous = environment.get("PYTHONPATH")
    # An empty entry would mean the current directory, which the user did not ask for.
    path = str(BOOTSTRAP) + (os.pathsep + previous if previous else "")
    settings = {
        "folder": str(folder.resolve()),
        "window": mode,
        "first": first,
        "last": last,
        "budget": options.budget,
        "lines": options.lines,
        "primitives": options.primitives,
        "mxnet": options.mxnet,
    }
    if options.turns is not None:
        settings |= {"turns": str(options.turns.resolve()), "launcher": os.getpid()}
    made = {"PYTHONPATH": path, OPTIONS_VARIABLE: json.dumps(settings)}
    if options.primitives:
        others = environment.get("LD_PRELOAD")
        made["LD_PRELOAD"] = f"{lines_path()}:{others}" if others else str(lines_path())
        made[LINES_VARIABLE] = str((folder / "raw").resolve())
    return made
