"""Stacks as text: equal ones are folded, waits are worded, names of others cannot move the cursor."""

from __future__ import annotations

import json

from sonde.live.dump import ProcessDump, ThreadDump
from sonde.live.frames import Frame
from sonde.live.waits import Wait
from sonde.render.text.dump import as_json, as_text

STACK = (Frame("native", "pthread_mutex_lock", "libc.so.6"), Frame("python", "work", "a.py", 7))


def thread(
    tid: int, wait: Wait | None = None, frames: tuple[Frame, ...] = STACK, gil: bool = False
) -> ThreadDump:
    return ThreadDump(tid, "worker", "waiting" if wait else "running", wait, gil, frames, (), 0.0)


def process(*threads: ThreadDump) -> ProcessDump:
    return ProcessDump(1, "python a.py", "3.11", (), threads)


def test_equal_stacks_are_one_with_a_count() -> None:
    wait = Wait("mutex", "mutex 0x10", 9)
    text = as_text([process(thread(1, wait), thread(2, wait), thread(3))])
    assert text.splitlines() == [
        "Process 1: python a.py",
        "3 threads, Python 3.11",
        "",
        '2 threads "worker" (1, 2): waiting for mutex 0x10, held by thread 9',
        "    pthread_mutex_lock [libc.so.6]",
        "    work (a.py:7)",
        "",
        'Thread 3 "worker": running',
        "    pthread_mutex_lock [libc.so.6]",
        "    work (a.py:7)",
    ]


def test_waits_for_different_holders_stay_apart() -> None:
    text = as_text([process(thread(1, Wait("gil", "the GIL", 3)), thread(2, Wait("gil", "the GIL")))])
    assert "waiting for the GIL, held by thread 3" in text
    assert "waiting for the GIL, holder not known" in text


def test_python_frames_alone() -> None:
    text = as_text([process(thread(1, gil=True))], python_only=True)
    assert "pthread_mutex_lock" not in text
    assert 'Thread 1 "worker": running, holds the GIL' in text


def test_escapes_of_another_program_are_not_obeyed() -> None:
    text = as_text([process(thread(1, frames=(Frame("python", "\x1b[2J", "a\n.py", 1),)))])
    assert "\x1b" not in text
    assert "a\\n.py:1" in text


def test_json_has_every_thread() -> None:
    answer = json.loads(as_json([process(thread(1, Wait("sleep", "sleep")), thread(2))]))
    threads = answer["processes"][0]["threads"]
    assert [t["tid"] for t in threads] == [1, 2]
    assert threads[0]["wait"] == {"kind": "sleep", "text": "sleep", "holder": None}
    assert threads[0]["frames"][1] == {
        "layer": "python",
        "name": "work",
        "place": "a.py",
        "line": 7,
        "certain": True,
    }
