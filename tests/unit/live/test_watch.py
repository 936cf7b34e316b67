"""Ten hours of a watch, by a clock that does not wait: what it writes, keeps and says."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path

import pytest

from sonde.live.picture import Picture, ProcessNow, Row, Steps
from sonde.live.watch.loop import LOOK_EVERY_S, MOST_KEPT, StepSeen, Watch
from sonde.live.watch.minute import MOST_BYTES, Minute, line
from sonde.live.watch.place import Place, of_recording
from sonde.live.watch.triggers import SlowStep
from sonde.store.recording import Recording

HOUR_S = 3600.0
START_S = 1_000_000.0


class MadeClock:
    def __init__(self) -> None:
        self.s = START_S

    def now_ns(self) -> int:
        return round(self.s * 1e9)

    def epoch_ns(self) -> int:
        return 1_700_000_000_000_000_000 + self.now_ns()


def busy_minute(rows: int = 400) -> Picture:
    named = [Row(f"function_{i}_" + "x" * 300, 1000 - i, 0.001, 3) for i in range(rows)]
    steps = [
        Steps(0, "train", 60, 60, 1000.0, 1100.0, 1.0, (1000.0,) * 240, {"forward": 0.4, "backward": 0.6})
    ]
    process = ProcessNow(1, 0, "rank", "python train.py", 1.5, 1 << 30, 1000.0, 1.0)
    states, layers = {"running": 1.0}, {"native": 0.9, "python": 0.1}
    return Picture("train.py", 60, 10**10, 6000, states, layers, 0.0, steps, *(named,) * 5, [process] * 64, 0)


class MadeJob:
    """Steps of a second, three percent apart; every fiftieth takes four, as saving a checkpoint would."""

    def __init__(self, clock: MadeClock) -> None:
        self._clock, self._random = clock, random.Random(5)
        self._picture = busy_minute()
        self._made: list[StepSeen] = []
        self._end_s, self._count = START_S, 0
        self.stall_s: dict[int, float] = {}  # hour → one step that takes so long
        self.slower_from_s, self.stands_from_s = float("inf"), float("inf")

    def poll(self) -> bool:
        while self._end_s < min(self._clock.s, self.stands_from_s):
            took = self._random.gauss(1.0, 0.03) + (3.0 if self._count % 50 == 49 else 0.0)
            took *= 1.5 if self._end_s >= self.slower_from_s else 1.0
            hour = int((self._end_s - START_S) / HOUR_S)
            took += self.stall_s.pop(hour, 0.0)
            begun, self._end_s = self._end_s, self._end_s + took
            self._made.append(StepSeen(7, round(begun * 1e9), round(self._end_s * 1e9)))
            self._count += 1
        return True

    def steps(self, since_ns: int) -> list[StepSeen]:
        self._made = [step for step in self._made if step.end_ns > since_ns]
        return [step for step in self._made if step.end_ns <= self._clock.now_ns()]

    def look(self, seconds: float) -> tuple[Picture, Recording]:
        return self._picture, None  # type: ignore[return-value]  # nobody is sent it here


class Saved:
    """What would have been saved."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, path: Path) -> None:
        self.names.append(path.name)
        path.mkdir()
        (path / "meta.json").write_text("{}")


def watched(tmp_path: Path) -> tuple[MadeClock, MadeJob, Saved, Place, Watch]:
    clock = MadeClock()
    job, saved, place = MadeJob(clock), Saved(), of_recording(tmp_path / "train.sonde")
    place.make(tmp_path / "train.sonde")
    watch = Watch(job, place, clock, saved, lambda: {"watch": clock.s / 1000}, quiet_s=300)
    return clock, job, saved, place, watch


def go_on(clock: MadeClock, watch: Watch, hours: float) -> None:
    for _ in range(round(hours * HOUR_S / LOOK_EVERY_S)):
        clock.s += LOOK_EVERY_S
        watch.tick()


def kinds(saved: Saved) -> list[str]:
    return [name.removesuffix(".sonde").split("-", 2)[2] for name in saved.names]


def test_ten_hours_are_bounded_and_only_what_is_unusual_is_saved(tmp_path: Path) -> None:
    clock, job, saved, place, watch = watched(tmp_path)
    job.stall_s = {4: 9.0}
    job.slower_from_s = START_S + 7 * HOUR_S
    job.stands_from_s = START_S + 9 * HOUR_S
    go_on(clock, watch, 1)
    tracemalloc.start()
    go_on(clock, watch, 2)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    go_on(clock, watch, 7)
    assert kinds(saved) == ["slow-step", "slower", "slower"]
    assert grown < 500_000
    told = place.lines()
    assert sum(row["kind"] == "minute" for row in told) == 600
    assert max(map(len, (place.folder / "minutes.jsonl").read_text().splitlines())) < MOST_BYTES
    reasons = [row["why"] for row in told if row["kind"] == "saved"]
    assert reasons[0].startswith("process 7: a step took 9.")
    assert "steps a second" in reasons[1]
    assert reasons[2].split(": ")[1].startswith("0.0")  # almost none
    assert told[5]["own_cpu_s"] == {"watch": 0.06}


def test_recordings_that_nobody_asked_for_do_not_pile_up(tmp_path: Path) -> None:
    clock, job, saved, place, watch = watched(tmp_path)
    job.stall_s = dict.fromkeys(range(1, 16), 9.0)
    go_on(clock, watch, 0.5)
    watch.ask()
    go_on(clock, watch, 15.5)
    assert kinds(saved) == ["asked", *["slow-step"] * 15]
    left = sorted(path.name for path in place.folder.glob("*.sonde"))
    assert left == sorted([saved.names[0], *saved.names[-MOST_KEPT:]])


def test_two_recordings_at_once_are_one(tmp_path: Path) -> None:
    clock, job, saved, _, watch = watched(tmp_path)
    go_on(clock, watch, 0.9)
    job.stall_s = {0: 6.0, 1: 20.0}  # minutes apart
    clock.s = START_S + HOUR_S - 100
    go_on(clock, watch, 0.1)
    assert kinds(saved) == ["slow-step"]


def test_on_a_full_disk_the_watch_goes_on_and_says_so_later(tmp_path: Path) -> None:
    clock, _, _, place, watch = watched(tmp_path)

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    watch._save = full
    minutes = place.folder / "minutes.jsonl"
    minutes.mkdir()  # opening it fails
    watch.ask()
    go_on(clock, watch, 0.05)
    assert watch.unwritten >= 4
    minutes.rmdir()
    go_on(clock, watch, 0.05)
    told = place.lines()
    assert [row["kind"] for row in told] == ["not-saved", *["minute"] * 6]
    assert "No space left" in told[0]["why"]
    assert told[-1]["unwritten"] >= 4


def test_a_sink_that_fails_is_told_again(tmp_path: Path) -> None:
    clock, _, _, place, watch = watched(tmp_path)
    sent: list[Minute] = []

    class Sometimes:
        def send(self, minute: Minute, recording: Recording) -> None:
            sent.append(minute)
            if len(sent) == 1:
                raise ConnectionRefusedError(111, "Connection refused")

    watch._sinks = [Sometimes()]
    go_on(clock, watch, 0.05)
    assert len(sent) == 3
    assert [row["kind"] for row in place.lines()] == ["minute", "not-sent", "minute", "minute"]
    assert sent[1].from_ns == sent[0].until_ns


def test_what_comes_again_becomes_usual() -> None:
    steps = SlowStep()
    said = [steps.step(5.0 if i % 100 == 99 else 1.0) for i in range(1000)]
    assert [i for i, text in enumerate(said) if text] == [199]


def test_noise_of_a_step_is_not_unusual() -> None:
    made = random.Random(3)
    steps = SlowStep()
    assert not any(steps.step(made.lognormvariate(0, 0.2)) for _ in range(20_000))


def test_a_line_fits_whatever_the_job_is() -> None:
    minute = Minute(1, 2, busy_minute(4000), {"watch": 0.1}, 0, 0)
    told = json.loads(line(minute))
    assert len(line(minute)) < MOST_BYTES
    assert len(told["lines"]) > 5


def test_a_second_watch_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = tmp_path / "train.sonde"
    of_recording(recording).make(recording)
    monkeypatch.setattr("os.getpid", lambda: 1)
    from sonde.errors import InputError

    with pytest.raises(InputError, match="already"):
        of_recording(recording).make(recording)
