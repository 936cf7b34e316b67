"""Why a process cannot be read: the reason and the remedy, by what /proc says."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from sonde.live.refusals import refusal


@pytest.mark.parametrize(
    ("scope", "remedy"), [("1", "ptrace_scope=0"), ("2", "CAP_SYS_PTRACE"), ("3", "next boot")]
)
def test_yama_is_named_with_its_level(scope: str, remedy: str, tmp_path: Path) -> None:
    yama = tmp_path / "ptrace_scope"
    yama.write_text(f"{scope}\n")
    error = refusal(os.getpid(), errno.EACCES, yama)
    assert f"ptrace_scope is {scope}" in error.message
    assert error.hint is not None
    assert remedy in error.hint


def test_without_yama_the_missing_right_is_named(tmp_path: Path) -> None:
    error = refusal(os.getpid(), errno.EPERM, tmp_path / "none")
    assert "rights that sonde lacks" in error.message
    assert error.hint is not None
    assert "CAP_SYS_PTRACE" in error.hint


def test_a_zombie_has_no_stacks(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    error = refusal(child.pid, errno.ESRCH, tmp_path / "none")
    child.wait()
    assert "has ended" in error.message


def test_a_process_of_another_user_names_that_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 12345)
    error = refusal(os.getpid(), errno.EACCES, tmp_path / "none")
    assert "belongs to" in error.message
    assert error.hint is not None
    assert "run sonde as" in error.hint
