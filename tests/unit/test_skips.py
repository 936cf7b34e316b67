"""A skip is a failure in `make test`, unless its reason is on the list."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.skips import ALLOWED, KNOWN, judged, patterns

LIST = patterns(ALLOWED.read_text(encoding="utf-8"))


def skipped(reason: str, *, strict: bool = True) -> SimpleNamespace:
    """What becomes of a report of a test that was skipped with this reason."""
    report = SimpleNamespace(outcome="skipped", longrepr=("test_x.py", 3, f"Skipped: {reason}"))
    config = SimpleNamespace(getoption=lambda name: strict, stash={KNOWN: LIST})
    return judged(report, config)  # type: ignore[arg-type, no-any-return]


@pytest.mark.parametrize(
    "reason", ["needs root to become nobody", "this machine had 1.2 CPUs for two threads"]
)
def test_what_hardware_or_permission_forbids_may_be_skipped(reason: str) -> None:
    assert skipped(reason).outcome == "skipped"


@pytest.mark.parametrize(
    "reason",
    ["needs mxnet: make .make/environments/mxnet/ready", "no g++ to compile with", "needs root", "later"],
)
def test_any_other_skip_is_a_failure_that_says_why(reason: str) -> None:
    report = skipped(reason)
    assert report.outcome == "failed"
    assert reason in report.longrepr
    assert skipped(reason, strict=False).outcome == "skipped"
