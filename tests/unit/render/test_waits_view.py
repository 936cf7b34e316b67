"""`show waits` lists waits of the program, not those that profiling brings."""

from __future__ import annotations

import io

from sonde.columns import Text
from sonde.render.text import show
from sonde.render.text.page import Page
from sonde.store import build
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions

NAMES = ("poll", "read_batch", "sonde::finish_background", "GOMP_parallel", "libkineto::ConfigLoader::update")
LIBRARIES = ("libc.so.6", "libdata.so", "libsonde_agent.so", "libsonde_agent.so", "libtorch_cpu.so")


def recorded() -> Recording:
    """Each function waits once, in poll; the last sample is of Sonde's own thread."""
    count = len(NAMES)
    callers = range(1, count)
    tables = {
        "frames": build.table(
            "frames",
            frame=range(count),
            layer=Text.of(["native"] * count),
            name=Text.of(list(NAMES)),
            full_name=Text.of(list(NAMES)),
            library=Text.of(list(LIBRARIES)),
        ),
        # A caller is node 2i, and poll below it node 2i + 1.
        "stacks": build.table(
            "stacks",
            stack=range(2 * len(callers)),
            parent=[n for i in range(len(callers)) for n in (-1, 2 * i)],
            frame=[n for caller in callers for n in (caller, 0)],
        ),
        "samples": build.table(
            "samples",
            time_ns=range(5),
            thread=[0, 0, 0, 1, 2],
            stack=[1, 3, 5, 7, 1],
            state=Text.of(["waiting"] * 5),
            reason=Text.of(["io", "lock", "idle", "lock", "lock"]),
            weight_ns=[10**9, 2 * 10**9, 3 * 10**9, 40 * 10**9, 5 * 10**9],
        ),
        "threads": build.table(
            "threads", thread=[0, 1, 2], process=[0, 0, 0], kind=Text.of(["main", "native", "sonde"])
        ),
    }
    return Recording(Meta(), tables)


def test_waits_of_sonde_and_kineto_are_counted_and_not_listed() -> None:
    data = VIEWS["waits"].data(recorded(), ShowOptions())
    assert [(r["place"], r["waiting_ms"]) for r in data["rows"]] == [
        ("GOMP_parallel", 3000),
        ("read_batch", 1000),
    ]
    assert data["reasons"] == {"idle": 3000, "io": 1000}
    assert data["profilers_ms"] == 47_000
    stream = io.StringIO()
    show("waits", data, Page(stream), ShowOptions())
    assert "Not listed: 47.0 s of waits of Sonde and of torch's profiler." in stream.getvalue()
