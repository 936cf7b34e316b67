"""`sonde daemon` beside stock torch: exact numbers of steps, two ranks, and senders that mean harm."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.errors import EnvironmentLacks
from sonde.live.kineto_ipc import KinetoDaemon
from sonde.store.reader import open_recording

TRAIN = """
import os, time, torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=.01)
data, end = torch.randn(4, 8), time.time() + 120
while time.time() < end:
    optimizer.zero_grad()
    model(data).sum().backward()
    optimizer.step()
    open(f"{os.environ['KINETO_IPC_SOCKET_DIR']}/trains-{os.getpid()}", "w").close()
    time.sleep(.02)
"""
HEAD = struct.Struct("@N32s")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the sockets, so that nothing meets another daemon of this machine. A socket's path is short."""
    with tempfile.TemporaryDirectory(prefix="kd") as name:
        folder = Path(name)
        monkeypatch.setenv("KINETO_IPC_SOCKET_DIR", name)
        monkeypatch.delenv(
            "KINETO_CONFIG", raising=False
        )  # with one, torch 2.13 traces more steps than asked for
        yield folder


@pytest.fixture
def ranks(place: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    (place / "train.py").write_text(TRAIN)
    started = []
    for rank in range(2):
        environment = {**os.environ, "KINETO_USE_DAEMON": "1", "RANK": str(rank)}
        with (place / f"log-{rank}").open("wb") as log:
            command = [sys.executable, str(place / "train.py")]
            started.append(subprocess.Popen(command, env=environment, stderr=log))
    yield started
    for one in started:
        one.kill()
        one.wait()


@pytest.mark.torch
@pytest.mark.serial
def test_two_ranks_give_exactly_the_steps_that_were_asked_for(
    place: Path, ranks: list[subprocess.Popen[bytes]]
) -> None:
    daemon = KinetoDaemon()
    for _ in range(120):
        daemon.serve(0.5)
        if all(one.pid in daemon.clients and (place / f"trains-{one.pid}").exists() for one in ranks):
            break
    daemon.close()
    assert {one.pid for one in ranks} == set(daemon.clients)
    asked = [
        sys.executable,
        "-m",
        "sonde",
        "daemon",
        "--steps",
        "3",
        "-o",
        str(place / "od.sonde"),
        "--wait",
        "90",
    ]
    for _ in range(3):  # a program that got no CPU in the moment it was asked for has nothing to show
        done = subprocess.run(asked, capture_output=True, text=True, timeout=200, check=False)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    recording = open_recording(place / "od.sonde")
    processes, ops = recording.table("processes"), recording.table("ops")
    assert len(processes) == 2
    steps = ops.take(ops.text("name").equals("Optimizer.step#SGD.step"))
    assert len(steps) == 6
    assert ops.text("name").equals("aten::addmm").sum() == 12
    assert [one.poll() for one in ranks] == [None, None]


def send(place: Path, data: bytes, reply: bool = False) -> bytes | None:
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.bind(str(place / f"client-{os.urandom(4).hex()}"))
    sender.settimeout(0.5)
    sender.sendto(data, str(place / "dynolog"))
    try:
        return sender.recv(65536) if reply else None
    except TimeoutError:
        return None
    finally:
        sender.close()


def test_garbage_is_not_answered_and_does_no_harm(place: Path) -> None:
    daemon = KinetoDaemon()
    for data in (b"", b"x", HEAD.pack(0, b"req"), HEAD.pack(1 << 46, b"req") + b"abc", os.urandom(4000)):
        send(place, data)
        daemon.serve(0.2)
    count = struct.pack("@iiq", 2, 1 << 30, 0)
    send(place, HEAD.pack(len(count), b"req") + count)
    daemon.serve(0.2)
    assert set(daemon.clients) <= {os.getpid()}
    daemon.close()
    assert not (place / "dynolog").exists()


def test_a_second_daemon_is_refused_and_a_dead_one_is_replaced(place: Path) -> None:
    daemon = KinetoDaemon()
    with pytest.raises(EnvironmentLacks, match="another daemon"):
        KinetoDaemon()
    daemon._socket.close()  # as after kill -9: the file stays
    KinetoDaemon().close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_only_processes_of_the_same_user_are_answered(place: Path) -> None:
    place.chmod(0o777)
    script = (
        "import os, socket, struct, sys\n"
        "os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        f"s.bind({str(place / 'other')!r}); s.settimeout(2)\n"
        "head = struct.Struct('@N32s')\n"
        "body = struct.pack('@iiqi', 2, 1, 0, os.getpid())\n"
        f"s.sendto(head.pack(len(body), b'req') + body, {str(place / 'dynolog')!r})\n"
    )
    daemon = KinetoDaemon()
    (place / "dynolog").chmod(0o777)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    daemon.serve(0.5)
    assert len(daemon.clients) == 1  # we are root, and root answers everyone
    (pid,) = daemon.clients
    assert daemon.clients[pid].uid == 65534
    daemon.close()


def test_another_users_process_gets_no_answer(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = KinetoDaemon()
    monkeypatch.setattr("sonde.live.kineto_ipc.os.geteuid", lambda: 4242)
    body = struct.pack("@iiqi", 2, 1, 0, os.getpid())
    send(place, HEAD.pack(len(body), b"req") + body)
    daemon.serve(0.3)
    assert not daemon.clients
    assert daemon.refused == {os.getpid(): os.getuid()}
    daemon.close()
