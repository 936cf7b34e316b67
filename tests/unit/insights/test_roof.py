"""Which roofs a recording is held against: its own, or those of the machine that it ran on, for its threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sonde.errors import EnvironmentLacks
from sonde.insights.bandwidth import bytes_per_second
from sonde.insights.engine import judge
from sonde.insights.floors import headroom
from sonde.insights.model import NotEnough
from sonde.insights.roof import measured_roof, roof_of
from sonde.insights.subject import Subject
from sonde.machine import facts, roofs
from sonde.machine.roofs import MeasuredRoofs, Rate
from sonde.render.text.needed import needed_words
from sonde.store.recording import Recording
from tests.fixtures.synthetic import training_run


def _subject(machine: str) -> Subject:
    run = training_run()
    kept = {k: v for k, v in run.meta.machine.items() if k != "roofs"} | {"id": machine}
    return Subject(Recording(replace(run.meta, machine=kept), {t.name: t for t in run.tables()}))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """This machine, with roofs for one and two threads."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machine = roofs.machine_id(facts.gather())
    peaks = [Rate("f32", n, n * 100e9, n * 90e9, 9) for n in (1, 2)]
    bandwidths = [Rate("memory", n, n * 10e9, n * 9e9, 9) for n in (1, 2)]
    roofs.save(MeasuredRoofs(machine, "2026-01-01", "native", 1.0, peaks, bandwidths))
    return machine


def test_roofs_measured_after_the_recording_count_where_it_ran_here(here: str) -> None:
    subject = _subject(here)
    roof, origin = roof_of(subject)
    assert origin == "measured here 2026-01-01"
    assert roof.threads == 2, "the program did not say how many threads it computes with"
    found = judge(subject.recording, ())
    assert found.account is not None
    floors = headroom(subject, found.account).floors
    assert any(f.ns for s, f in zip(found.account.slices, floors, strict=True) if s.kind == "arithmetic")


def test_one_thread_is_held_against_the_roof_of_one(here: str) -> None:
    subject = _subject(here)
    subject.settings["threads"] = 1
    assert roof_of(subject)[0].peak("f32") == 100e9
    assert bytes_per_second(subject) == (5e9, 10e9)


def test_work_of_another_machine_is_not_held_against_this_one(here: str) -> None:
    subject = _subject(here[::-1])
    with pytest.raises(EnvironmentLacks, match="the machine that this ran on"):
        roof_of(subject)
    with pytest.raises(NotEnough, match="sonde check --roof"):
        measured_roof(subject)
    assert roof_of(subject, "here")[1] == "measured here 2026-01-01; the work ran elsewhere"


@pytest.mark.parametrize(
    ("needed", "unknown", "words"),
    [
        (6.0, 0.1, "what it must do would take 6.00 ms"),
        (
            6.0,
            6.0,
            "up to 14.0 ms of it could be saved; how much of the other 6.00 ms is needed is not known",
        ),
        (
            12.0,
            6.0,
            "what it must do would take 12.0 ms, if all of the 6.00 ms with an unknown floor is needed",
        ),
    ],
)
def test_what_is_not_known_is_not_called_needed(needed: float, unknown: float, words: str) -> None:
    assert needed_words(20.0, needed, unknown) == words
