"""`pytest --sonde`: what slow tests spend their time on, and limits that fail a test.

pytest finds this file by its entry point. With `--sonde` the test run is started once more, under `sonde run`, in which
each test is a region; when it has ended, this process reads the recording and prints a line per slow test. A test may
state limits:

    @pytest.mark.sonde(step_ms=40, max_share={"aten::copy_": 0.1}, no_new=["graph_breaks"])
    def test_training(): ...

Without `--sonde` nothing happens: no import of Sonde's own, no process, no cost.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = "SONDE_PYTEST_FOLDER"  # set inside: where limits are noted
RECORDING, LIMITS, BASELINE = "tests.sonde", "limits.jsonl", "baseline.json"
KNOWN = ("step_ms", "max_share", "no_new")
COUNTED = ("graph_breaks", "recompiles")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sonde", "profiling with Sonde")
    group.addoption("--sonde", action="store_true", help="profile the tests and summarise the slow ones")
    group.addoption("--sonde-dir", default="sonde-tests", metavar="DIR", help="where the recording is kept")
    group.addoption("--sonde-slow", type=int, default=10, metavar="N", help="slow tests to list (default 10)")
    group.addoption(
        "--sonde-baseline", action="store_true", help="take this run's counts as the ones to compare with"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "sonde(step_ms, max_share, no_new): limits that `pytest --sonde` holds the test to"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """The outer run: everything happens in a child under `sonde run`."""
    if not config.getoption("--sonde") or os.environ.get(FOLDER):
        return None
    from sonde.integrations.pytest_session import profiled

    return profiled(config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """The inner run: the test's own code is a region that has its name."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return (yield)
    from sonde.integrations.annotate import region

    _note_limits(item, Path(folder))
    with region(item.nodeid):
        return (yield)


def _note_limits(item: pytest.Item, folder: Path) -> None:
    marker = item.get_closest_marker("sonde")
    if marker is None:
        return
    limits = check_limits(marker.args, dict(marker.kwargs))
    line = json.dumps({"test": item.nodeid, **limits}) + "\n"
    with (folder / LIMITS).open(
        "a", encoding="utf-8"
    ) as stream:  # one write: workers of xdist share the file
        stream.write(line)


def check_limits(args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """The marker's arguments; a misspelt one is an error of the test, not a limit that is never checked."""
    unknown = [name for name in given if name not in KNOWN]
    if args or unknown:
        raise pytest.UsageError(f"pytest.mark.sonde takes {', '.join(KNOWN)}, not {(*args, *unknown)}")
    wrong = [name for name in given.get("no_new", ()) if name not in COUNTED]
    if wrong:
        raise pytest.UsageError(f"no_new knows {', '.join(COUNTED)}, not {', '.join(map(str, wrong))}")
    return given


def inner_command() -> list[str]:
    """How this pytest was started, to start it again."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py" or not started.is_file():
        return [sys.executable, "-m", "pytest", *sys.argv[1:]]
    return [sys.executable, str(started), *sys.argv[1:]]
