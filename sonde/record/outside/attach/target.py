"""Processes that already run, as a `Target` of `launch`: they are not started, and outlive the recording.

In: process ids, how long. Out: how it went, as for a command: CPU time is what they used while the agent was in them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from sonde.errors import SondeError
from sonde.record.outside.attach.visit import Visit
from sonde.record.outside.target import Ended

TEND_EVERY_S = 0.5


class ProcessTarget:
    """The first process must be entered; of others (`--all`) it is said when one cannot be."""

    def __init__(
        self, pids: list[int], folder: Path, seconds: float | None, say: Callable[[str], None]
    ) -> None:
        self._pids, self._folder, self._seconds, self._say = pids, folder, seconds, say
        self._over = threading.Event()
        self.visits: list[Visit] = []

    def start(self, environment: Mapping[str, str]) -> int:
        for number, pid in enumerate(self._pids):
            visit = Visit(pid, self._folder)
            try:
                visit.start(environment)
            except (SondeError, OSError) as error:
                if number == 0:
                    raise
                self._say(f"process {pid} is left out: {error}")
                continue
            self.visits.append(visit)
        return self._pids[0]

    def wait(self, adopting: bool) -> Ended:
        end = time.monotonic() + self._seconds if self._seconds is not None else None
        try:
            while not self._over.is_set():
                left = TEND_EVERY_S if end is None else min(TEND_EVERY_S, end - time.monotonic())
                if left <= 0 or self._over.wait(left):
                    break
                running = [visit.tend() for visit in self.visits]  # all of them: each has threads to tend
                if not any(running):
                    break
        finally:
            for visit in self.visits:
                visit.stop()
        for visit in self.visits:
            for note in visit.notes:
                self._say(f"process {visit.pid}: {note}")
        used = sum(max(visit.end_cpu_ns - visit.start_cpu_ns, 0) for visit in self.visits)
        return Ended(exit_code=0, user_ns=used, system_ns=0, max_rss_bytes=_most_memory(self._pids))

    def interrupt(self, number: int) -> None:
        self._over.set()


def _most_memory(pids: list[int]) -> int:
    most = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith("VmHWM:"):
                most = max(most, int(line.split()[1]) * 1024)
    return most
