"""The socket on which the agent in a process answers (native/agent/attach/socket.h).

In: a process id. Out: a Channel; each command is answered by text, or refused with a reason.
"""

from __future__ import annotations

import os
import socket
import stat
import time
from glob import glob
from pathlib import Path

from sonde.errors import EnvironmentLacks

PLACES = ("/tmp", "/dev/shm")
ANSWER_WITHIN_S = 30.0
OWN_THREAD = "sonde-attach"  # native/agent/attach/control.cpp
THREAD_ENDS_WITHIN_S = 1.0


class Refused(EnvironmentLacks):
    """The agent said no."""


class HungUp(EnvironmentLacks):
    """The agent or its process is gone."""


def find(pid: int) -> Path | None:
    """The socket of this process as we see it: below /proc/PID/root in a container. None: it has none."""
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
        inner = _inner_pid(pid)
    except OSError:
        return None
    for place in PLACES:
        path = Path(f"/proc/{pid}/root{place}/sonde-{uid}/{inner}.sock")
        try:
            folder, found = path.parent.lstat(), path.lstat()
        except OSError:
            continue
        private = stat.S_ISDIR(folder.st_mode) and stat.S_IMODE(folder.st_mode) == 0o700
        if private and folder.st_uid in (uid, 0) and stat.S_ISSOCK(found.st_mode):
            return path
    return None


def _inner_pid(pid: int) -> int:
    """The number that the process has in its own namespace."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid


def _has_ended(pid: int) -> bool:
    """Wait until the agent's own thread is gone from the process: it still has to be taken down by libc and kernel."""
    own = [task for task in glob(f"/proc/{pid}/task/*") if _name_of(task) == OWN_THREAD]
    end = time.monotonic() + THREAD_ENDS_WITHIN_S
    while any(_name_of(task) == OWN_THREAD for task in own):
        if time.monotonic() >= end:
            return False
        time.sleep(0.001)
    return True


def _name_of(task: str) -> str:
    try:
        return Path(task, "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


class Channel:
    """One connection. The agent leaves the program when the one that came with it is closed."""

    def __init__(self, pid: int, patience_s: float = 0.0) -> None:
        self.pid = pid
        end = time.monotonic() + patience_s
        while True:
            path = find(pid)
            if path is not None:
                try:
                    self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                    self._socket.connect(str(path))
                    self._check()
                    break
                except OSError:
                    self._socket.close()
            if time.monotonic() >= end:
                raise HungUp(f"no agent answers in process {pid}")
            time.sleep(0.01)
        self._socket.settimeout(ANSWER_WITHIN_S)

    def _check(self) -> None:
        """Is the one that answers the process itself, or could be: its user's or root's?"""
        import struct

        data = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        _, uid, _ = struct.unpack("3i", data)
        if uid not in (0, os.stat(f"/proc/{self.pid}").st_uid):
            raise OSError("somebody else answers")

    def ask(self, name: str, body: str = "", number: int = 0) -> str:
        data = body.encode("utf-8", "surrogateescape")
        try:
            self._socket.sendall(f"{name} {len(data)} {number}\n".encode() + data)
            head = self._line().split()
            text = self._bytes(int(head[1])).decode("utf-8", "replace")
        except (OSError, ValueError, IndexError):
            raise HungUp(f"the agent in process {self.pid} is gone") from None
        if head[0] != "ok":
            raise Refused(f"process {self.pid}: {text}")
        return text

    def leave(self) -> bool:
        """Tell the agent to go, and wait until nothing of it is left. False: its thread has not ended in time."""
        stays = False
        try:
            stays = self.ask("end") == "stays"  # one that sleeps: its thread is the program's for good
            self._socket.recv(1)  # it closes when its thread is about to end
        except (OSError, HungUp, Refused):
            pass
        self.close()
        return stays or _has_ended(self.pid)

    def close(self) -> None:
        self._socket.close()

    def is_open(self) -> bool:
        """Is the process still there? Asked without waiting."""
        import select

        ready, _, _ = select.select([self._socket], [], [], 0)
        return not ready

    def _line(self) -> str:
        line = b""
        while not line.endswith(b"\n"):
            got = self._socket.recv(1)
            if not got:
                raise OSError("closed")
            line += got
        return line.decode()

    def _bytes(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            got = self._socket.recv(size - len(data))
            if not got:
                raise OSError("closed")
            data += got
        return data
