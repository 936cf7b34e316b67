"""Why a process cannot be looked into, and what helps: asked after the kernel has refused, from /proc.

In: a process id and the kernel's error number. Out: the error to raise, with reason and remedy.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from sonde.errors import EnvironmentLacks, InputError, SondeError
from sonde.machine.owner import status_of, user_name
from sonde.machine.tree import Tree

_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


def refusal(pid: int, error: int, yama: Path = _YAMA) -> SondeError:
    """The reason in words."""
    status = status_of(Tree(), pid)
    if status is None:
        return InputError(f"there is no process {pid}", "list processes with ps -e")
    name = status.get("Name", "?")
    if status.get("State", "").startswith("Z"):
        return InputError(f"process {pid} ({name}) has ended (it is a zombie): it has no stacks")
    if "VmSize" not in status:
        return InputError(f"{pid} ({name}) is a kernel thread: it has no user stacks")
    if error not in (errno.EACCES, errno.EPERM):
        return EnvironmentLacks(f"process {pid} ({name}) cannot be read: {os.strerror(error)}")
    owner = int(status.get("Uid", "0").split()[0])
    if os.geteuid() not in (0, owner):
        return EnvironmentLacks(
            f"process {pid} ({name}) belongs to {user_name(owner)}",
            f"run sonde as {user_name(owner)}, or as root",
        )
    scope = Tree().text(str(yama))
    if scope in ("1", "2", "3"):
        remedy = {
            "1": "run sonde as root, or: sudo sysctl kernel.yama.ptrace_scope=0",
            "2": "run sonde as root, or with CAP_SYS_PTRACE",
            "3": "this setting cannot be changed before the next boot",
        }[scope]
        return EnvironmentLacks(
            f"the kernel forbids reading process {pid} ({name}): yama ptrace_scope is {scope}", remedy
        )
    return EnvironmentLacks(
        f"the kernel forbids reading process {pid} ({name}): it has rights that sonde lacks, or is not dumpable",
        "run sonde as root with CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)",
    )
