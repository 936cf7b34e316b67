"""The end of an attach: what is waited for, and what a refusal says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sonde.record.outside.attach import channel
from sonde.record.outside.attach.channel import Channel
from sonde.record.outside.attach.injector import Outcome, _refusal

# An agent as the socket sees it: it answers, closes, and its thread ends a while later.
AGENT = """
import ctypes, os, socket, sys, threading, time
folder = f"/tmp/sonde-{os.getuid()}"
os.makedirs(folder, 0o700, exist_ok=True)
path = f"{folder}/{os.getpid()}.sock"
listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listening.bind(path)
listening.listen()
answer, later = sys.argv[1].encode(), float(sys.argv[2])

def serve():
    ctypes.CDLL(None).prctl(15, b"sonde-attach", 0, 0, 0)
    line, _ = listening.accept()
    line.recv(100)
    line.sendall(b"ok %d\\n%s" % (len(answer), answer))
    line.close()
    time.sleep(later)

threading.Thread(target=serve).start()
print("ready", flush=True)
sys.stdin.read()
os.unlink(path)
os._exit(0)
"""


def names(pid: int) -> set[str]:
    return {path.read_text().strip() for path in Path(f"/proc/{pid}/task").glob("*/comm")}


@pytest.mark.parametrize(
    ("answer", "later_s", "gone"), [("leaves", 0.3, True), ("leaves", 60.0, False), ("stays", 60.0, True)]
)
def test_leaving_waits_for_the_agents_thread(
    answer: str, later_s: float, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if later_s > 1:
        monkeypatch.setattr(channel, "THREAD_ENDS_WITHIN_S", 0.2)
    words = [sys.executable, "-c", AGENT, answer, str(later_s)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert Channel(process.pid).leave() is gone
        assert ("sonde-attach" in names(process.pid)) is (later_s > 1)
        process.communicate(b"")


def test_no_room_for_thread_local_variables_is_refused_with_a_remedy() -> None:
    said = "/x/libsonde_agent.so: cannot allocate memory in static TLS block"
    error = _refusal(7, Outcome.NOT_LOADED, 0, said)
    assert "used up the room for thread-local variables" in error.message
    assert error.hint is not None
    assert "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=" in error.hint
    other = _refusal(7, Outcome.NOT_LOADED, 0, "no such file")
    assert "no such file" in other.message
    assert other.hint is None
