"""What keeps `sonde attach` out is said beforehand, from /proc alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sonde.machine.attachable import obstacles
from sonde.machine.tree import Tree

ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\x3e\x00"
GLIBC = "7f00-7f01 r-xp 0 0:0 0 /usr/lib/libc.so.6"


def process(root: Path, status: dict[str, str], maps: str = GLIBC, exe: bytes = ELF, yama: str = "0") -> Tree:
    """A machine with one process, 7, of ours unless `status` says otherwise; we have no capabilities."""
    uid = os.geteuid()
    known = {
        "Name": "train", "State": "S (sleeping)", "Tgid": "7", "PPid": "1", "TracerPid": "0",
        "Uid": f"{uid} {uid} {uid} {uid}", "VmSize": "1 kB", "CapPrm": "0", "Seccomp": "0",
    }  # fmt: skip
    folder = root / "proc" / "7"
    folder.mkdir(parents=True)
    (folder / "status").write_text("".join(f"{k}:\t{v}\n" for k, v in {**known, **status}.items()))
    (folder / "maps").write_text(maps + "\n")
    (folder / "exe").write_bytes(exe)
    own = root / "proc" / "self"
    own.mkdir()
    (own / "status").write_text("CapEff:\t0\nCapPrm:\t0\n")
    scope = root / "proc" / "sys" / "kernel" / "yama"
    scope.mkdir(parents=True)
    (scope / "ptrace_scope").write_text(yama + "\n")
    return Tree(root)


def test_a_process_of_the_same_user_can_be_entered(tmp_path: Path) -> None:
    assert obstacles(7, process(tmp_path, {})) == []


@pytest.mark.parametrize(
    ("status", "reason", "remedy"),
    [
        ({"Uid": "4242 4242 4242 4242"}, "belongs to user 4242", "as root"),
        ({"TracerPid": "99"}, "traced by process 99", "end process 99"),
        ({"State": "T (stopped)"}, "is stopped", "kill -CONT 7"),
        ({"State": "Z (zombie)"}, "has ended", "that runs"),
        ({"CapPrm": "80000"}, "capabilities that sonde lacks", "CAP_SYS_PTRACE"),
        ({"Tgid": "5"}, "is a thread of process 5", "sonde attach 5"),
    ],
)
def test_reason_and_remedy_are_named(
    tmp_path: Path, status: dict[str, str], reason: str, remedy: str
) -> None:
    found = obstacles(7, process(tmp_path, status))[0]
    assert reason in found.reason
    assert remedy in found.remedy


@pytest.mark.parametrize("scope", ["1", "2", "3"])
def test_yama_is_named_with_its_level_and_a_way_without_it(tmp_path: Path, scope: str) -> None:
    found = obstacles(7, process(tmp_path, {}, yama=scope))[0]
    assert f"ptrace_scope is {scope}" in found.reason
    assert "SONDE_DORMANT=1" in found.remedy


@pytest.mark.parametrize(
    ("maps", "exe", "reason"),
    [
        ("7f00-7f01 r-xp 0 0:0 0 /lib/ld-musl-x86_64.so.1", ELF, "musl"),
        ("7f00-7f01 r-xp 0 0:0 0 /usr/bin/train", ELF, "statically"),
        (GLIBC, ELF[:4] + b"\x01" + ELF[5:], "not a 64-bit x86 program"),
    ],
)
def test_programs_that_cannot_load_the_agent_are_named(
    tmp_path: Path, maps: str, exe: bytes, reason: str
) -> None:
    assert reason in obstacles(7, process(tmp_path, {}, maps, exe))[0].reason


def test_a_process_that_is_not_there(tmp_path: Path) -> None:
    assert "there is no process 8" in obstacles(8, process(tmp_path, {}))[0].reason
