"""The environment variables that let the observer of operator calls into native torch programs.

In: the command and the options of `sonde run --shapes`. Out: the variables to set, or none and a file
raw/shapes.txt that says why; `sonde.record.frameworks.collect` makes a row of `losses` of it.
"""

from __future__ import annotations

from sonde import rawfolder
from sonde.native import observer_path
from sonde.record.frameworks.base import Launch
from sonde.record.frameworks.torch_native.build import NotBuilt, observer_for
from sonde.record.inside.options import parse_window

# Read by native/observer and calls.cpp; the agent keeps what begins like this across exec.
OBSERVER_VARIABLE, TORCH_VARIABLE = "SONDE_AGENT_OBSERVER", "SONDE_AGENT_OBSERVER_TORCH"
SHARE_VARIABLE = "SONDE_AGENT_SHAPES"


def observer_environment(launch: Launch) -> dict[str, str]:
    """Variables to add. `--window all` knows no budget."""
    mode, _, _ = parse_window(launch.options.window)
    try:
        if mode == "none":
            raise NotBuilt("--window none was given")
        built = observer_for(launch.command)
    except NotBuilt as why:
        (launch.folder / rawfolder.FOLDER / rawfolder.SHAPES_OF_JOB).write_text(f"{why}\n", encoding="utf-8")
        return {}
    others = launch.environment.get("LD_PRELOAD")
    return {
        "LD_PRELOAD": f"{observer_path()}:{others}" if others else str(observer_path()),
        OBSERVER_VARIABLE: str(built.observer),
        TORCH_VARIABLE: str(built.torch),
        SHARE_VARIABLE: "1" if mode == "all" else f"{launch.options.budget:.6f}",
    }
