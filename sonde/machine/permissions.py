"""What this process may ask the kernel: performance events, tracing, BPF.

Settings alone do not tell (containers filter system calls), so on the running
machine the question is asked: a perf event is opened and closed again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import struct
from dataclasses import dataclass

from sonde.machine.tree import Tree

_CAP_SYS_PTRACE, _CAP_SYS_ADMIN, _CAP_PERFMON, _CAP_BPF = 19, 21, 38, 39
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319}
_PERF_TYPE_SOFTWARE, _CPU_CLOCK = 1, 0
_EXCLUDE_KERNEL_AND_HV = 1 << 5 | 1 << 6
_ATTR_SIZE = 64  # PERF_ATTR_SIZE_VER0


@dataclass(frozen=True)
class Permissions:
    """None where it is not known."""

    perf_event_paranoid: int | None
    perf_events: bool | None  # may sample its own threads, user code only
    perf_kernel: bool | None  # may sample kernel code too
    ptrace_scope: int | None
    ptrace: str | None  # any, children or none
    bpf: bool | None
    root: bool | None


def read_permissions(tree: Tree, pid: str = "self") -> Permissions:
    """Settings, capabilities and, on the running machine, the real answer."""
    status = tree.text(f"/proc/{pid}/status") or ""
    found = re.search(r"^CapEff:\s*([0-9a-f]{1,16})$", status, re.MULTILINE)
    capabilities = int(found[1], 16) if found else None
    uid = re.search(r"^Uid:\s+\d+\s+(\d{1,10})", status, re.MULTILINE | re.ASCII)
    paranoid = tree.number("/proc/sys/kernel/perf_event_paranoid")
    privileged = _has(capabilities, _CAP_PERFMON) or _has(capabilities, _CAP_SYS_ADMIN)
    by_settings = None if paranoid is None else privileged or paranoid <= 2
    kernel = None if paranoid is None else privileged or paranoid <= 1
    asked = _try_perf_event() if tree.live and pid == "self" else None
    scope = tree.number("/proc/sys/kernel/yama/ptrace_scope")
    unprivileged_bpf = tree.number("/proc/sys/kernel/unprivileged_bpf_disabled")
    bpf = None
    if capabilities is not None:
        bpf = _has(capabilities, _CAP_BPF) or _has(capabilities, _CAP_SYS_ADMIN) or unprivileged_bpf == 0
    return Permissions(
        perf_event_paranoid=paranoid,
        perf_events=by_settings if asked is None else asked,
        perf_kernel=False if asked is False else kernel,
        ptrace_scope=scope,
        ptrace=_ptrace(scope, _has(capabilities, _CAP_SYS_PTRACE)),
        bpf=bpf,
        root=int(uid[1]) == 0 if uid else None,
    )


def _has(capabilities: int | None, bit: int) -> bool:
    return capabilities is not None and bool(capabilities >> bit & 1)


def _ptrace(scope: int | None, capable: bool) -> str:
    """No Yama (scope absent) means that a process may trace any other of its user."""
    if scope == 3:
        return "none"
    if capable or scope in (None, 0):
        return "any"
    return "children" if scope == 1 else "none"


def _try_perf_event() -> bool | None:
    """Open a CPU-clock event on this thread; None when the machine is not known."""
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return None
    attributes = struct.pack(
        "<IIQQQQQ", _PERF_TYPE_SOFTWARE, _ATTR_SIZE, _CPU_CLOCK, 1_000_000, 0, 0, _EXCLUDE_KERNEL_AND_HV
    ).ljust(_ATTR_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    descriptor = libc.syscall(ctypes.c_long(number), attributes, 0, -1, -1, ctypes.c_ulong(0))
    if descriptor >= 0:
        os.close(descriptor)
        return True
    return False if ctypes.get_errno() in (errno.EACCES, errno.EPERM, errno.ENOSYS) else None
