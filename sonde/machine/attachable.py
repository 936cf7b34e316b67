"""Can `sonde attach` enter this process? Asked from /proc alone, before anything is touched.

In: a process id. Out: what stands in the way, each with its remedy; nothing: it can be tried.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sonde.machine.owner import status_of, user_name
from sonde.machine.tree import Tree

CAP_SYS_PTRACE = 19
_ELF64_X86 = (2, 62)  # class, machine


@dataclass(frozen=True)
class Obstacle:
    """Why not, and what helps."""

    reason: str
    remedy: str


def obstacles(pid: int, tree: Tree | None = None) -> list[Obstacle]:
    """What keeps `sonde attach` out of this process, the most basic first."""
    tree = tree or Tree()
    status = status_of(tree, pid)
    if status is None:
        return [Obstacle(f"there is no process {pid}", "list processes with ps -e")]
    name = status.get("Name", "?")
    state = status.get("State", "?")[:1]
    if state in "ZX":
        return [Obstacle(f"process {pid} ({name}) has ended", "attach to a process that runs")]
    if "VmSize" not in status:
        return [Obstacle(f"{pid} ({name}) is a kernel thread", "attach to a program")]
    if int(status.get("Tgid", pid)) != pid:
        remedy = f"sonde attach {status['Tgid']}"
        return [Obstacle(f"{pid} ({name}) is a thread of process {status['Tgid']}", remedy)]
    found = [*_rights(pid, name, status, tree), *_state(pid, name, state, status)]
    return found or _program(pid, name, tree)


def _rights(pid: int, name: str, status: dict[str, str], tree: Tree) -> list[Obstacle]:
    own = status_of(tree, "self") or {}
    may_trace = bool(int(own.get("CapEff", "0"), 16) >> CAP_SYS_PTRACE & 1)
    if may_trace:
        return []
    owners = set(status.get("Uid", "").split()[:3])
    if owners != {str(os.geteuid())}:
        other = sorted(owners - {str(os.geteuid())})
        user = user_name(int(other[0])) if other else "another user"
        return [Obstacle(f"process {pid} ({name}) belongs to {user}", f"run sonde as {user}, or as root")]
    theirs = int(status.get("CapPrm", "0"), 16)
    if theirs & ~int(own.get("CapPrm", "0"), 16):
        return [
            Obstacle(
                f"process {pid} ({name}) has capabilities that sonde lacks",
                "run sonde with CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)",
            )
        ]
    return _yama(pid, name, tree)


def _yama(pid: int, name: str, tree: Tree) -> list[Obstacle]:
    scope = tree.text("/proc/sys/kernel/yama/ptrace_scope")
    dormant = "or start the program with SONDE_DORMANT=1 (sonde run --dormant)"
    remedies = {
        "1": f"run sonde as root, or: sudo sysctl kernel.yama.ptrace_scope=0, {dormant}",
        "2": f"run sonde as root or with CAP_SYS_PTRACE, {dormant}",
        "3": f"this setting cannot be changed before the next boot: {dormant.removeprefix('or ')}",
    }
    if scope not in remedies or (scope == "1" and _is_descendant(pid, tree)):
        return []
    reason = f"the kernel forbids entering process {pid} ({name}): yama ptrace_scope is {scope}"
    return [Obstacle(reason, remedies[scope])]


def _is_descendant(pid: int, tree: Tree) -> bool:
    own = os.getpid()
    while pid > 1:
        status = status_of(tree, pid) or {}
        pid = int(status.get("PPid", "0"))
        if pid == own:
            return True
    return False


def _state(pid: int, name: str, state: str, status: dict[str, str]) -> list[Obstacle]:
    tracer = int(status.get("TracerPid", "0"))
    if tracer:
        reason = f"process {pid} ({name}) is traced by process {tracer} already (gdb, strace, py-spy)"
        return [Obstacle(reason, f"end process {tracer} first")]
    if state in "Tt":
        return [Obstacle(f"process {pid} ({name}) is stopped", f"continue it first: kill -CONT {pid}")]
    if status.get("Seccomp", "0") not in ("0", "") and status.get("Seccomp") == "1":
        return [Obstacle(f"process {pid} ({name}) is in strict seccomp mode", f"use sonde dump {pid}")]
    return []


def _program(pid: int, name: str, tree: Tree) -> list[Obstacle]:
    kind = _elf_kind(tree.path(f"/proc/{pid}/exe"))
    if kind is not None and kind != _ELF64_X86:
        reason = f"process {pid} ({name}) is not a 64-bit x86 program"
        return [Obstacle(reason, f"use sonde dump {pid}, or perf")]
    maps = tree.text(f"/proc/{pid}/maps")
    if not maps:
        return [Obstacle(f"the memory map of process {pid} ({name}) cannot be read", "run sonde as root")]
    if "/ld-musl" in maps:
        reason = f"process {pid} ({name}) uses musl (Alpine): the agent needs glibc"
        return [Obstacle(reason, "run the program in an image with glibc (Debian, Ubuntu)")]
    if "/libc.so.6" not in maps and "/libc-2." not in maps:
        reason = f"process {pid} ({name}) is linked statically: the agent cannot be loaded"
        return [Obstacle(reason, f"use sonde dump {pid}, or perf")]
    return []


def _elf_kind(path: Path) -> tuple[int, int] | None:
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return None
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return None
    return head[4], int.from_bytes(head[18:20], "little")
