"""Kineto's own socket: what stock torch asks a daemon (dynolog's place) when KINETO_USE_DAEMON=1 is set.

A Unix datagram is `size_t bytes, char type[32], payload`. A process says hello with `ctxt` and asks every few seconds
with `req` whether it shall trace; the answer is the text of a configuration, empty for none.

Two rules: an answer is sent from the bound socket and no other, because Kineto ends the program on any other; and only
processes of the same user (of anyone, for root) are answered: the kernel tells who sent a datagram.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

from sonde.errors import EnvironmentLacks

DAEMON_NAME = "dynolog"
FOLDER_VARIABLE = "KINETO_IPC_SOCKET_DIR"
_HEAD = struct.Struct("@N32s")
_CREDENTIALS = struct.Struct("3i")
_CONTEXT = struct.Struct("@iiq")
_REQUEST = struct.Struct("@iiq")
_ACTIVITIES = 2  # bit of a request: the process could trace now
_MOST_BYTES = 65_536


@dataclass
class Client:
    """A process that asked."""

    pid: int
    uid: int
    ancestors: tuple[int, ...] = ()
    last_ns: int = 0
    polls: int = 0
    configuration: str | None = None  # to be handed over at its next question
    handed_ns: int = -1

    def ask(self, configuration: str) -> None:
        """Hand this over when it asks the next time."""
        self.configuration, self.handed_ns = configuration, -1


@dataclass
class KinetoDaemon:
    """The bound socket and everyone who has asked. One per machine: a second one is refused by the system."""

    clients: dict[int, Client] = field(default_factory=dict)
    refused: dict[int, int] = field(default_factory=dict)  # pid → uid of those that are not answered

    def __post_init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        folder = os.environ.get(FOLDER_VARIABLE)
        self._path = Path(folder) / DAEMON_NAME if folder else None
        # The zero byte behind the abstract name is part of it.
        address: str | bytes = str(self._path) if self._path else b"\0" + DAEMON_NAME.encode() + b"\0"
        try:
            if self._path is not None and self._is_dead(self._path):
                self._path.unlink()
            self._socket.bind(address)
        except OSError as error:
            self._socket.close()
            if error.errno == errno.EADDRINUSE:
                raise EnvironmentLacks(
                    "another daemon already answers torch's profiler here (dynolog, or another sonde daemon)",
                    "end it first",
                ) from None
            raise

    @staticmethod
    def _is_dead(path: Path) -> bool:
        """A socket file that nobody listens at any more."""
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        finally:
            probe.close()
        return False

    def close(self) -> None:
        self._socket.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def serve(self, seconds: float) -> None:
        """Answer whoever asks, for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._socket], [], [], left)[0]:
                return
            self._answer()

    def _answer(self) -> None:
        data, ancillary, _, sender = self._socket.recvmsg(_MOST_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
        told = [
            _CREDENTIALS.unpack(content[: _CREDENTIALS.size])
            for level, kind, content in ancillary
            if level == socket.SOL_SOCKET
            and kind == socket.SCM_CREDENTIALS
            and len(content) >= _CREDENTIALS.size
        ]
        if len(data) < _HEAD.size or not told or not sender:
            return
        pid, uid, _ = told[0]  # by the kernel; what the datagram says of itself is not believed
        if os.geteuid() not in (0, uid):
            self.refused[pid] = uid
            return
        size, kind = _HEAD.unpack_from(data)
        body = data[_HEAD.size : _HEAD.size + min(size, _MOST_BYTES)]
        client = self.clients.setdefault(pid, Client(pid, uid))
        client.last_ns = time.monotonic_ns()
        word = kind.split(b"\0")[0]
        if word == b"ctxt" and len(body) >= _CONTEXT.size:
            self._send(b"ctxt", struct.pack("@i", len(self.clients)), sender)
        elif word == b"req" and len(body) >= _REQUEST.size:
            self._send(b"req", self._configuration(client, body).encode(), sender)

    def _configuration(self, client: Client, body: bytes) -> str:
        able, count, _ = _REQUEST.unpack_from(body)
        if count > 0 and len(body) >= _REQUEST.size + 4 * count:
            client.ancestors = struct.unpack_from(f"@{count}i", body, _REQUEST.size)[1:]
        client.polls += 1
        if client.configuration is None or not able & _ACTIVITIES:
            return ""
        given, client.configuration = client.configuration, None
        client.handed_ns = time.monotonic_ns()
        return given

    def _send(self, kind: bytes, payload: bytes, to: str | bytes) -> None:
        """From the bound socket: an answer from any other one aborts the program that asked."""
        with contextlib.suppress(OSError):  # it is gone, or does not listen now: it asks again
            self._socket.sendto(_HEAD.pack(len(payload), kind) + payload, socket.MSG_DONTWAIT, to)
