"""Asking an agent that is in a process already, beside the one who brought it there.

In: a process id. Out: what it said. Under `sonde run` no agent listens: a thread that does is started for the question.
"""

from __future__ import annotations

import time

from sonde.errors import EnvironmentLacks
from sonde.machine.attachable import obstacles
from sonde.native import agent_path
from sonde.record.outside.attach import channel
from sonde.record.outside.attach.channel import Channel, HungUp
from sonde.record.outside.attach.injector import inject
from sonde.record.outside.attach.place import PACKAGE
from sonde.record.outside.attach.visit import CODE

LOOK_EVERY_S = 0.1


def record_window(pid: int, steps: int, patience_s: float) -> float:
    """Have the next `steps` recorded in detail; how long it took until they were saved."""
    start = time.monotonic()
    line = _connect(pid)
    try:
        answer = _late(line, f"ask_for_window({steps})")
        if not answer.startswith("window "):
            why = "it is not observed" if answer == "not observed" else answer.removeprefix("refused ")
            raise EnvironmentLacks(f"process {pid} records no window: {why}")
        wanted = int(answer.split()[1]) + 1
        while time.monotonic() < start + patience_s:
            time.sleep(LOOK_EVERY_S)
            said = _late(line, "windows_so_far()").split()
            if said[0] == "windows" and int(said[1]) >= wanted:
                return time.monotonic() - start
    finally:
        line.leave()
    raise EnvironmentLacks(
        f"process {pid} did not make {steps} steps within {patience_s:g} s; the window is recorded when it does",
        f"sonde dump {pid} shows what it does",
    )


def _late(line: Channel, call: str) -> str:
    return line.ask("python", CODE.format(package=str(PACKAGE), call=call))


def _connect(pid: int) -> Channel:
    if channel.find(pid) is not None:
        try:
            return Channel(pid)
        except HungUp:
            pass  # of a process that had this number before
    found = obstacles(pid)
    if found:
        raise EnvironmentLacks(found[0].reason, found[0].remedy)
    inject(pid, str(agent_path()), "SONDE_AGENT_JOIN=1\n")
    return Channel(pid, 10.0)
