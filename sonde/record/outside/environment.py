"""The environment variables that let the observers into every Python process of the job.

In: the recording's folder and the options of `sonde run`. Out: the variables to set
for the child. PYTHONPATH gets one folder in front, which holds a `sitecustomize`
that chains to the user's own; whatever the user had stays behind it, in order.

Python ignores PYTHONPATH under -I and -E and skips `sitecustomize` under -S:
such a process is still sampled, but has no steps and no operator windows;
`sonde.record.frameworks.collect` says so in `losses`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from sonde import rawfolder
from sonde.errors import UsageError
from sonde.native import lines_path
from sonde.record.frameworks.known import FRAMEWORKS
from sonde.record.inside.observation import OPTIONS_VARIABLE, WATCH_VARIABLE
from sonde.record.inside.options import ObserveOptions, parse_window

BOOTSTRAP = Path(__file__).resolve().parents[1] / "inside" / "bootstrap"
LINES_VARIABLE = "SONDE_AGENT_LINES"  # read by native/lines; the agent keeps it across exec


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
        "source": options.source,
        "ring_bytes": options.ring_bytes,
    }
    if options.turns is not None:
        settings |= {"turns": str(options.turns.resolve()), "launcher": os.getpid()}
    made = {"PYTHONPATH": path, OPTIONS_VARIABLE: json.dumps(settings), WATCH_VARIABLE: watched()}
    if options.primitives:
        others = environment.get("LD_PRELOAD")
        made["LD_PRELOAD"] = f"{lines_path()}:{others}" if others else str(lines_path())
        made[LINES_VARIABLE] = str((folder / rawfolder.FOLDER).resolve())
    return made


GENERATORS = ("numba", "jax")  # libraries that run code of LLVM's and write no perf map


def watched() -> str:
    """What the bootstrap waits for: "MODULE=OBSERVERS:FUNCTION" for each module that gives a framework away."""
    noticed = [pair for framework in FRAMEWORKS for pair in framework.noticed_by.items()]
    noticed += [(module, "sonde.record.inside.jit_list:watch") for module in GENERATORS]
    noticed.append(("IPython.core.compilerop", "sonde.record.inside.cells:watch"))
    return " ".join(f"{module}={entry}" for module, entry in noticed)
