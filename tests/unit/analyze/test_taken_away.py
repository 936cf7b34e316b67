"""Time that was taken away: how much, within which stretch, and that figures of steps do without it."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.recording.taken_away import (
    DisturbedWindows,
    disturbed_windows,
    levelled,
    pieces_of,
    taken_away,
)
from sonde.analyze.steps.program import step_reports
from sonde.columns import Table
from sonde.store import build

MS = 1_000_000
THREADS = build.table(
    "threads", thread=[0], process=[0], kind=["main"], start_ns=[0], end_ns=[4000 * MS], cpu_ns=[1000 * MS]
)


def waits(pieces: list[tuple[int, int]], reason: str = "preempted") -> Table:
    """(start, weight) in ms, of thread 0."""
    return build.table(
        "samples",
        len(pieces),
        time_ns=[start * MS for start, _ in pieces],
        thread=[0] * len(pieces),
        stack=[-1] * len(pieces),
        state=["waiting"] * len(pieces),
        reason=[reason] * len(pieces),
        weight_ns=[weight * MS for _, weight in pieces],
    )


def steps(lengths: list[int]) -> Table:
    """Steps one after the other, the first half of each is its backward pass."""
    rows: list[tuple[str, str, int, int, int]] = []
    at = 0
    for number, length in enumerate(lengths):
        rows.append(("step", "train", number, at, at + length))
        rows.append(("phase", "backward", -1, at, at + length // 2))
        at += length
    kind, name, number_of, start, end = zip(*rows, strict=True)
    return build.table(
        "marks",
        len(rows),
        mark=list(range(len(rows))),
        process=[0] * len(rows),
        thread=[0] * len(rows),
        kind=kind,
        name=name,
        number=number_of,
        start_ns=[s * MS for s in start],
        end_ns=[e * MS for e in end],
    )


def test_a_stretch_holds_its_part_of_the_looks_it_covers() -> None:
    pieces = pieces_of(waits([(0, 75), (100, 75), (200, 50), (1000, 300)]), 0)
    assert pieces.total_ns == 500 * MS
    first, last = np.array([0, 0, 50, 1000, 500]), np.array([2000, 50, 150, 1100, 900])
    assert pieces.within(first * MS, last * MS).tolist() == [
        500 * MS,
        pytest.approx(37.5 * MS),
        75 * MS,
        60 * MS,  # 300 ms do not fit into a short look: it was one of half a second
        0,
    ]
    assert pieces_of(waits([(0, 75)], "lock"), 0).total_ns == 0
    assert pieces_of(waits([(0, 75)]), 1).total_ns == 0


def test_the_share_is_of_the_threads_life_or_of_the_steps_asked_for() -> None:
    samples = waits([(i * 100, 75) for i in range(40)])
    marks = steps([100] * 4)
    whole = taken_away(samples, THREADS, marks)
    assert (whole.share, whole.seconds, whole.name) == (pytest.approx(0.75), pytest.approx(3.0), "main")
    assert whole.sentence == (
        "The machine was busy: main was ready but off the CPU 75 % of the time; "
        "wall-clock figures below are of the rest."
    )
    first = taken_away(samples, THREADS, marks, (np.array([0]), np.array([200 * MS])))
    assert (first.seconds, first.of_seconds) == (pytest.approx(0.15), pytest.approx(0.2))
    assert not taken_away(waits([(0, 300)]), THREADS, marks).matters


def test_steps_and_phases_are_of_the_time_that_was_left() -> None:
    marks = steps([40] * 20 + [160] * 20)  # from 0.8 s on, a neighbour takes three quarters
    samples = waits([(800 + 100 * i, 75) for i in range(32)])
    (wall,), (own,) = step_reports(marks), step_reports(marks, samples, THREADS)
    assert wall.median_ns == 100 * MS
    assert own.median_ns == pytest.approx(40 * MS, rel=0.01)
    assert own.p90_ns == pytest.approx(40 * MS, rel=0.01)
    assert own.phase_ns == pytest.approx({"backward": 20 * MS, "other": 20 * MS}, rel=0.01)
    assert own.warmup == 0
    assert own.taken_share == pytest.approx(0.6, abs=0.01)
    assert (own.steps[-1].duration_ns, own.steps[-1].taken_ns) == (160 * MS, pytest.approx(120 * MS))


def test_little_that_was_taken_away_changes_no_figure() -> None:
    marks = steps([40] * 20)
    (report,) = step_reports(marks, waits([(100, 20)]), THREADS)
    assert report.median_ns == 40 * MS
    assert all(step.taken_ns == 0 for step in report.steps)
    assert report.taken_share == pytest.approx(0.025)


def test_windows_say_how_much_was_taken_from_them_and_quotas_are_named() -> None:
    def marks(kind: str, extras: list[str | None]) -> Table:
        return build.table(
            "marks", len(extras), kind=[kind] * len(extras), process=[0] * len(extras), extra=extras
        )

    found = disturbed_windows(
        marks("window", [None, '{"taken_share":0.05}', '{"taken_share":0.7}', "[", "3"])
    )
    assert found == DisturbedWindows(count=2, disturbed=1, most_taken=0.7)
    assert disturbed_windows(marks("window", [None])) is None
    samples = waits([(i * 100, 50) for i in range(40)])
    said = taken_away(samples, THREADS, marks("settings", ['{"scheduling":{"throttled_s":1.9}}', "{}"]))
    assert said.sentence.startswith(
        "The CPU quota of the control group was used up: main was ready but off the"
    )
    assert said.as_json()["throttled_seconds"] == 1.9


def test_short_steps_are_cut_to_one_level_where_the_sum_is_right() -> None:
    own_ms, random = 10, np.random.default_rng(3)
    lengths = own_ms + np.where(
        random.random(200) < 0.4, random.uniform(3, 60, 200), 0
    )  # four in ten disturbed
    ends = np.cumsum(lengths) * MS
    starts = ends - lengths * MS
    looks = np.arange(0, ends[-1], 100 * MS)
    # The kernel tells how much was taken in each look, and not from which step.
    at = (starts // (100 * MS)).astype(int)
    taken = np.bincount(at, (lengths - own_ms) * MS, len(looks))
    pieces = pieces_of(waits([(int(t / MS), int(w / MS)) for t, w in zip(looks, taken, strict=True)]), 0)
    found = levelled(lengths * MS, pieces.within(starts, ends), starts.astype(np.int64))
    assert np.median(found) == pytest.approx(own_ms * MS, rel=0.1)
    assert found.sum() == pytest.approx(own_ms * 200 * MS, rel=0.05)
    even = lengths * MS - pieces.within(starts, ends)  # spread evenly, a typical step comes out far too short
    assert np.median(even) < 0.85 * own_ms * MS


def test_a_neighbour_that_leaves_early_is_no_warm_up() -> None:
    marks = steps([160] * 10 + [40] * 40)
    (wall,) = step_reports(marks)
    (own,) = step_reports(marks, waits([(100 * i, 75) for i in range(16)]), THREADS)
    assert (wall.warmup, own.warmup) == (10, 0)
    assert own.median_ns == 40 * MS
