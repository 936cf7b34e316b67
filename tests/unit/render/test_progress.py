"""The line of progress: on a terminal it is replaced and cleared; elsewhere nothing is written."""

from __future__ import annotations

import io

from sonde.render.text.progress import CLEAR, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_each_stage_and_then_nothing() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.stage("reading the logs")
    progress.stage("writing the tables")
    progress.done()
    assert stream.getvalue().split(CLEAR) == [
        "",
        "sonde: reading the logs …",
        "sonde: writing the tables …",
        "",
    ]


def test_a_pipe_and_a_closed_terminal_get_nothing() -> None:
    pipe, closed = io.StringIO(), Terminal()
    for stream in (pipe, None):
        Progress(stream).stage("reading the logs")
    progress = Progress(closed)
    closed.close()
    progress.stage("reading the logs")
    assert pipe.getvalue() == ""
