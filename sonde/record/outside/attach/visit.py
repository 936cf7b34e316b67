"""One process: the agent comes, records, and leaves (the steps are those of native/agent/attach/visit.h).

In: a process id, the recording's folder, the variables that tell agent and observers what to do. Out: a log in
`raw/`, and what the visit cost the program. Whatever fails on the way, the agent is told to leave.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import EnvironmentLacks, SondeError
from sonde.record.inside.observation import OPTIONS_VARIABLE
from sonde.record.outside.attach.channel import Channel, HungUp, Refused, find
from sonde.record.outside.attach.injector import inject, set_stacks
from sonde.record.outside.attach.place import Place, bring_back, place_for

ANSWER_WITHIN_S = 10.0
PYTHON_WITHIN_MS = 5_000
LOOK_AGAIN_S = 2.0  # a program that has no framework yet may be importing it
CLOSE_WITHIN_S = 4.0  # for a window to be closed by the thread that opened it

# Finds this copy of Sonde, whatever the program has on its path, and calls a function of `late`.
CODE = """
import sys
package = {package!r}
if "sonde" not in sys.modules:
    import importlib.util as find
    spec = find.spec_from_file_location("sonde", package + "/__init__.py", submodule_search_locations=[package])
    made = find.module_from_spec(spec)
    sys.modules["sonde"] = made
    spec.loader.exec_module(made)
from sonde.record.inside import late
answer = late.{call}
"""


@dataclass
class Cost:
    """What the program noticed, in ms: the longest stop of one thread, and of each kind."""

    stop_ms: float = 0.0
    inject_ms: float = 0.0
    leave_ms: float = 0.0


class Visit:
    """`start`, then `tend` now and then, then `stop`."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid, self.folder = pid, folder
        self.cost = Cost()
        self.notes: list[str] = []  # what is missing, for the user
        self._look_again: float | None = None  # for a framework
        self._environment: Mapping[str, str] = {}
        self._place: Place | None = None
        self._channel: Channel | None = None
        self.start_cpu_ns = self.end_cpu_ns = 0

    def start(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        place = self._place = place_for(self.pid, self.folder)
        asked = {k: v for k, v in environment.items() if k.startswith("SONDE_AGENT_")}
        asked |= {"SONDE_AGENT_FOLDER": place.folder, "SONDE_AGENT_LAUNCHER": "0"}
        request = "".join(f"{name}={value}\n" for name, value in asked.items())
        self._channel = self._wake() or self._bring(place, request)
        try:
            orders = self._channel.ask("begin", request)
            self.start_cpu_ns = cpu_ns(self.pid)
            self._channel.ask("start")
            self._give_stacks(orders)
            self._observe(environment)
        except BaseException:
            self.stop()
            raise

    def _wake(self) -> Channel | None:
        """The agent that sleeps in the process, if there is one: no right to trace is needed."""
        if find(self.pid) is None:
            return None
        try:
            line = Channel(self.pid)
            state = line.ask("status")
        except (HungUp, Refused):
            return None  # of a process that had this number before, or one that cannot answer
        if "state dormant" in state:
            return line
        line.close()
        if "state waiting" in state:
            return None
        raise EnvironmentLacks(
            f"process {self.pid}: another attach is under way", "end it first, with Ctrl-C"
        )

    def _bring(self, place: Place, request: str) -> Channel:
        injected = inject(self.pid, place.library, request)
        self.cost.stop_ms, self.cost.inject_ms = injected.stop_ms, injected.whole_ms
        return Channel(self.pid, ANSWER_WITHIN_S)

    def _give_stacks(self, orders: str) -> None:
        assert self._channel is not None
        answer, stop_ms = set_stacks(self.pid, orders)
        self.cost.stop_ms = max(self.cost.stop_ms, stop_ms)
        if answer:
            self._channel.ask("done", answer)

    def _observe(self, environment: Mapping[str, str]) -> None:
        text = environment.get(OPTIONS_VARIABLE)
        if text is None or self._place is None:
            return
        options = {**json.loads(text), "folder": self._place.folder}
        try:
            answer = self._late(f"enter({options!r})")
        except Refused as error:
            if "no interpreter" not in error.message:
                self.notes.append(f"no steps and no operators: {error.message}")
            return
        if answer == "no framework":  # perhaps it is just being imported
            self._look_again = time.monotonic() + LOOK_AGAIN_S
        if answer == "observed already":
            self.notes.append("the program is observed by sonde already: no steps of its own")

    def _late(self, call: str, limit_ms: int = PYTHON_WITHIN_MS) -> str:
        assert self._channel is not None
        assert self._place is not None
        return self._channel.ask("python", CODE.format(package=self._place.package, call=call), limit_ms)

    def window(self, steps: int) -> str:
        return self._late(f"ask_for_window({steps})")

    def tend(self) -> bool:
        """Threads that were found meanwhile get what they need. False: the process has ended."""
        if self._channel is None or not self._channel.is_open():
            return False
        try:
            self.end_cpu_ns = cpu_ns(self.pid)
            orders = self._channel.ask("orders")
            if orders.count("\n") > 1:
                self._give_stacks(orders)
            if self._look_again is not None and time.monotonic() > self._look_again:
                self._look_again = None
                self._observe(self._environment)
        except (HungUp, OSError):
            return False
        return True

    def stop(self) -> None:
        """The agent leaves. Nothing is raised: what could not be done is in `notes`."""
        channel, place = self._channel, self._place
        if channel is None or place is None:
            return
        start = time.monotonic()
        try:
            with contextlib.suppress(Refused):
                answer = self._late(
                    f"leave({CLOSE_WITHIN_S})", round(CLOSE_WITHIN_S * 1000) + PYTHON_WITHIN_MS
                )
                if answer == "window open":
                    self.notes.append(
                        "a profiling window is still open; the program closes it at its next step"
                    )
            orders = channel.ask("stop")
            with contextlib.suppress(OSError):
                self.end_cpu_ns = cpu_ns(self.pid)
            answer, stop_ms = set_stacks(self.pid, orders)
            self.cost.stop_ms = max(self.cost.stop_ms, stop_ms)
            channel.ask("done", answer)
            if not channel.leave():
                self.notes.append("the agent's own thread has not ended yet; it does nothing any more")
        except HungUp:
            channel.close()
        finally:
            self._channel = None
            self.cost.leave_ms = (time.monotonic() - start) * 1e3
            try:
                bring_back(place, self.folder)
            except (OSError, SondeError) as error:
                self.notes.append(f"logs could not be brought back: {error}")


def cpu_ns(pid: int) -> int:
    """CPU time that the process has used, by the kernel's own clock of it. OSError: it is gone."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def is_running(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
