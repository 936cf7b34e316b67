"""The watch itself: looks at the job every other second, and does what is due.

Enters: a job that is followed, a clock, a place, somebody who saves recordings, sinks (`sonde.push`). Leaves: a line
per minute, recordings of the last minutes when something is unusual or somebody asks, and what the sinks make of it.
Invariant: nothing that fails here ends the watch. What could not be written is counted, and said once it can be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sonde.errors import SondeError
from sonde.live.picture import Picture
from sonde.live.watch.minute import Minute, line
from sonde.live.watch.place import Place
from sonde.live.watch.triggers import SlowerPace, SlowStep
from sonde.store.recording import Recording

LOOK_EVERY_S = 2.0
MINUTE_S = 60.0
MOST_KEPT = 10  # recordings that nobody asked for
SLOW_STEP, SLOWER, ASKED = "slow-step", "slower", "asked"
UNASKED = (SLOW_STEP, SLOWER)


@dataclass(frozen=True)
class StepSeen:
    """A step that has ended."""

    pid: int
    start_ns: int
    end_ns: int


class Job(Protocol):
    """What is watched: `sonde.live.following.Following`."""

    def poll(self) -> bool:
        """Take in what has come."""

    def steps(self, since_ns: int) -> list[StepSeen]:
        """Those that ended after that time, oldest first."""

    def look(self, seconds: float) -> tuple[Picture, Recording]:
        """The last seconds."""


class Clock(Protocol):
    """Time, so that a test can make ten hours of it."""

    def now_ns(self) -> int:
        """As samples and steps have it."""

    def epoch_ns(self) -> int:
        """As people have it."""


class Sink(Protocol):
    """Somebody who is told of each minute."""

    def send(self, minute: Minute, recording: Recording) -> None:
        """OSError or SondeError: it was not possible; the next minute is tried again."""


class Watch:
    """Call `tick` every LOOK_EVERY_S; `ask` at any time, from a signal handler."""

    def __init__(
        self,
        job: Job,
        place: Place,
        clock: Clock,
        save: Callable[[Path], None],
        own_cpu_s: Callable[[], dict[str, float]],
        quiet_s: float,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self._job, self._place, self._clock = job, place, clock
        self._save, self._own_cpu_s, self._sinks = save, own_cpu_s, sinks
        self._quiet_ns = round(quiet_s * 1e9)
        self._asked = False
        now = clock.now_ns()
        self._minute_began = now
        self._steps_until = now
        self._saved_ns = now - self._quiet_ns
        self._own_before = own_cpu_s()
        self._slow: dict[int, SlowStep] = {}
        self._pace: dict[int, SlowerPace] = {}
        self._waiting: list[str] = []  # lines that could not be written
        self.saved = self.unwritten = 0

    def ask(self) -> None:
        """Save a recording at the next look."""
        self._asked = True

    def tick(self) -> None:
        """Look, and do what is due."""
        self._job.poll()
        now = self._clock.now_ns()
        unusual = self._judge(now)
        if self._asked:
            self._asked = False
            self._keep(ASKED, "asked for", now)
        elif unusual and now - self._saved_ns >= self._quiet_ns:
            self._keep(*unusual, now)
        if now - self._minute_began >= MINUTE_S * 1e9:
            self.end_minute()

    def end_minute(self) -> None:
        """Write down what the time since the last one was like; also at the end of the watch."""
        now, epoch = self._clock.now_ns(), self._clock.epoch_ns()
        seconds = (now - self._minute_began) / 1e9
        if seconds < 1:
            return
        own = self._own_cpu_s()
        used = {name: max(value - self._own_before.get(name, 0.0), 0.0) for name, value in own.items()}
        picture, recording = self._job.look(seconds)
        begun = epoch - (now - self._minute_began)
        minute = Minute(begun, epoch, picture, used, self.saved, self.unwritten)
        self._minute_began, self._own_before = now, own
        self._write(line(minute))
        for sink in self._sinks:
            try:
                sink.send(minute, recording)
            except (OSError, SondeError) as error:
                self._say("not-sent", to=type(sink).__name__, why=str(error))

    def _judge(self, now: int) -> tuple[str, str] | None:
        """What is unusual since the last look."""
        found: tuple[str, str] | None = None
        for step in self._job.steps(self._steps_until):
            self._steps_until = max(self._steps_until, step.end_ns)
            if step.pid not in self._slow:
                self._slow[step.pid] = SlowStep()
                self._pace[step.pid] = SlowerPace(step.start_ns / 1e9)
            self._pace[step.pid].step()
            said = self._slow[step.pid].step((step.end_ns - step.start_ns) / 1e9)
            if said and found is None:
                found = (SLOW_STEP, f"process {step.pid}: {said}")
        for pid, pace in self._pace.items():
            said = pace.look(now / 1e9, self._slow[pid].median_s)
            if said and found is None:
                found = (SLOWER, f"process {pid}: {said}")
        return found

    def _keep(self, kind: str, why: str, now: int) -> None:
        self._saved_ns = now
        path = self._place.name_for(kind, self._clock.epoch_ns() / 1e9)
        try:
            if kind in UNASKED:
                self._place.keep_newest(UNASKED, MOST_KEPT - 1)
            self._save(path)
        except (OSError, SondeError) as error:
            self.unwritten += 1
            self._say("not-saved", recording=path.name, why=f"{why}; {error}")
            return
        self.saved += 1
        self._say("saved", recording=path.name, why=why)

    def _say(self, kind: str, **told: str) -> None:
        self._write(json.dumps({"kind": kind, "at_ns": self._clock.epoch_ns(), **told}))

    def _write(self, text: str) -> None:
        """In order; on a full disk the newest lines wait, and the oldest of those are dropped."""
        self._waiting.append(text)
        try:
            while self._waiting:
                self._place.add(self._waiting[0])
                del self._waiting[0]
        except OSError:
            self.unwritten += 1
            del self._waiting[:-60]
