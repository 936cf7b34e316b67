"""No test looks away: with --strict-skips, as in `make test`, a skip that allowed_skips.txt does not know is a failure.

Also keeps the account of a run: --account FILE gets counts, what failed and why tests were skipped, as JSON, for
`tests/run.py`. The hooks are taken into tests/conftest.py.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.environments import data_folder

ALLOWED = Path(__file__).with_name("allowed_skips.txt")


def patterns(text: str) -> list[re.Pattern[str]]:
    lines = (line.strip() for line in text.splitlines())
    return [re.compile(line) for line in lines if line and not line.startswith("#")]


def allowed(reason: str, known: list[re.Pattern[str]]) -> bool:
    if reason.startswith("got empty parameter set"):  # a list of real traces
        return data_folder() is None
    return any(pattern.fullmatch(reason) for pattern in known)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """What pytest.skip or a mark said, without pytest's own words in front."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ").strip()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sonde")
    group.addoption("--strict-skips", action="store_true", help="a skip that is not allowed is a failure")
    group.addoption("--account", type=Path, help="write counts, failures and skips to this file")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[KNOWN] = patterns(ALLOWED.read_text(encoding="utf-8"))
    if config.getoption("--account") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Account(config.getoption("--account")), "sonde-account")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return judged(report, item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return judged(report, collector.config)


KNOWN = pytest.StashKey[list[re.Pattern[str]]]()


def judged(report: Any, config: pytest.Config) -> Any:
    """The report; a skip that is not allowed has become a failure."""
    if report.outcome != "skipped" or hasattr(report, "wasxfail") or not config.getoption("--strict-skips"):
        return report
    reason = reason_of(report)
    if not allowed(reason, config.stash[KNOWN]):
        report.outcome = "failed"
        report.longrepr = f"skipped, and {ALLOWED.name} does not allow it: {reason}"
    return report


class Account:
    """What became of each test, written at the end of the run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.passed = 0
        self.failed: dict[str, None] = {}  # in order, once each
        self.skipped: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.passed and report.when == "call"
        self._count(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._count(report)

    def _count(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.failed[report.nodeid] = None
        elif report.skipped:
            self.skipped[reason_of(report)] += 1

    def pytest_sessionfinish(self) -> None:
        told = {"passed": self.passed, "failed": list(self.failed), "skipped": dict(self.skipped)}
        self.path.write_text(json.dumps(told), encoding="utf-8")
