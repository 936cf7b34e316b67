"""What to run when one recording per side cannot tell."""

from __future__ import annotations

from sonde.compare.remedy import command_that_tells
from sonde.store.meta import Meta
from sonde.store.recording import Recording


def recording(*words: str, source: str = "run", **environment: str) -> Recording:
    return Recording(Meta(source=source, command=["python", *words], environment=environment), {})


def told(a: Recording, b: Recording, more: int = 4) -> str:
    return command_that_tells([[a], [b]], (["a.sonde"], ["b.sonde"]), more)


def test_an_edited_program_is_recorded_again() -> None:
    wanted = "record each 4 times, then: sonde diff a.sonde a-*.sonde vs b.sonde b-*.sonde"
    assert told(recording("train.py"), recording("train.py")) == wanted


def test_two_commands_are_proved_in_turns() -> None:
    found = told(recording("train.py", "--batch", "8"), recording("train.py", "--batch", "16"))
    assert found == "sonde prove --before 'python train.py --batch 8' --after 'python train.py --batch 16'"
    found = told(recording("t.py", OMP_NUM_THREADS="1"), recording("t.py"))
    assert (
        found
        == "sonde prove --before 'env OMP_NUM_THREADS=1 python t.py' --after 'env -u OMP_NUM_THREADS python t.py'"
    )


def test_a_verdict_needs_nothing_and_traces_cannot_be_run_again() -> None:
    assert told(recording("t.py"), recording("t.py"), 0) == ""
    assert "several traces per side" in told(recording(source="kineto"), recording(source="kineto"))
