"""What a watch pushes, as others read it: Go's pprof, OpenTelemetry's own classes, Prometheus' promtool."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.errors import EnvironmentLacks, UsageError
from sonde.export.profile import profile_of
from sonde.live.picture import picture
from sonde.live.watch.minute import Minute
from sonde.push import Labels, check, make_sinks
from sonde.push.prometheus import Exposition, Port
from sonde.store.recording import Recording
from tests.environments import file_of
from tests.fixtures.synthetic import training_run

ROOT = Path(__file__).resolve().parents[2]
PPROF = ROOT / ".make" / "pprof"
LABELS = Labels('train "a\\b".py', "host-1", 100.0)
FROM_NS, UNTIL_NS = 1_700_000_000_000_000_000, 1_700_000_060_500_000_000


class Server:
    """Takes what comes, and answers as it is told."""

    def __init__(self) -> None:
        self.status = 200
        self.got: list[tuple[str, str, bytes]] = []
        outer = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append((self.path, self.headers["Content-Type"], body))
                self.send_response(outer.status)
                self.end_headers()
                self.wfile.write(b"said so")

            def log_message(self, *words: object) -> None:
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


@pytest.fixture(scope="module")
def recording() -> Recording:
    return training_run()


@pytest.fixture(scope="module")
def minute(recording: Recording) -> Minute:
    own = {"watch": 0.25, "agent": 0.05}
    return Minute(FROM_NS, UNTIL_NS, picture(recording, 60.5), own, 3, 0)


def self_ns(recording: Recording) -> dict[str, int]:
    profile = profile_of(recording)
    found: dict[str, int] = {}
    for node, weight in zip(profile.stack.tolist(), profile.weight_ns.tolist(), strict=True):
        name = profile.labels[int(profile.frame[node])]
        found[name] = found.get(name, 0) + weight
    return found


def test_pyroscope_gets_the_stacks(
    server: Server, recording: Recording, minute: Minute, tmp_path: Path
) -> None:
    (sink,) = make_sinks([f"pyroscope={server.address}/base"], LABELS)
    sink.send(minute, recording)
    ((path, kind, body),) = server.got
    split = urllib.parse.urlsplit(path)
    assert split.path == "/base/ingest"
    asked = dict(urllib.parse.parse_qsl(split.query))
    assert asked == {
        "name": LABELS.program + "{host=host-1}",
        "from": "1700000000",
        "until": "1700000061",
        "format": "pprof",
        "sampleRate": "100",
        "spyName": "sonde",
    }
    assert kind == "application/octet-stream"
    if not PPROF.exists():
        pytest.skip("no go tool pprof")
    file = tmp_path / "body.pb.gz"
    file.write_bytes(body)
    raw = subprocess.run([PPROF, "-raw", file], capture_output=True, text=True, check=True).stdout
    table = raw[raw.index("Samples:") : raw.index("Locations")].splitlines()[2:]
    totals = [
        int(line.split(":")[0].split()[1]) for line in table if ":" in line and line.split()[0].isdigit()
    ]
    assert sum(totals) == sum(self_ns(recording).values())


def test_opentelemetry_reads_the_request(
    server: Server, recording: Recording, minute: Minute, tmp_path: Path
) -> None:
    (sink,) = make_sinks([f"otlp={server.address}"], LABELS)
    sink.send(minute, recording)
    ((path, kind, body),) = server.got
    assert (path, kind) == ("/v1development/profiles", "application/x-protobuf")
    file = tmp_path / "body.bin"
    file.write_bytes(body)
    python = file_of("otlp", "bin/python")
    script = Path(__file__).with_name("otlp_totals.py")
    done = subprocess.run([python, script, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["self_ns"] == self_ns(recording)
    assert told["resource"] == {"service.name": LABELS.program, "host.name": "host-1"}
    assert told["type"] == ["cpu", "nanoseconds"]
    assert (told["time_ns"], told["duration_ns"]) == (FROM_NS, UNTIL_NS - FROM_NS)
    assert (told["period"], told["id_bytes"]) == (10_000_000, 16)
    assert told["zero_first"]
    assert sum(told["threads"].values()) == sum(told["self_ns"].values())


def test_promtool_accepts_the_text_and_finds_nothing_to_say(recording: Recording, minute: Minute) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool")
    exposition = Exposition(LABELS)
    exposition.text(minute)
    text = exposition.text(minute)
    done = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    steps = minute.picture.steps[0]
    lines = [line for line in text.splitlines() if line.startswith("sonde_steps_total")]
    assert lines[0].endswith(f" {2 * steps.count}")  # of two minutes
    assert 'program="train \\"a\\\\b\\".py"' in lines[0]
    layers = [float(line.split()[-1]) for line in text.splitlines() if line.startswith("sonde_layer_ratio")]
    assert sum(layers) == pytest.approx(1, abs=0.01)


def test_a_port_of_loopback_serves_the_last_minute(recording: Recording, minute: Minute) -> None:
    port = Port(0, LABELS)
    try:
        address = f"http://127.0.0.1:{port.port}/metrics"
        with urllib.request.urlopen(address) as answer:
            assert answer.read() == b""
        port.send(minute, recording)
        with urllib.request.urlopen(address) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"sonde_step_seconds{" in answer.read()
        with pytest.raises(EnvironmentLacks, match="cannot be used"):
            Port(port.port, LABELS)
    finally:
        port.close()


def test_a_file_is_replaced_whole(recording: Recording, minute: Minute, tmp_path: Path) -> None:
    path = tmp_path / "sonde.prom"
    (sink,) = make_sinks([f"prometheus={path}"], LABELS)
    sink.send(minute, recording)
    assert "sonde_own_cpu_seconds_total" in path.read_text()
    assert [one.name for one in tmp_path.iterdir()] == ["sonde.prom"]


def test_what_a_server_refuses_is_said(server: Server, recording: Recording, minute: Minute) -> None:
    (sink,) = make_sinks([f"otlp={server.address}"], LABELS)
    server.status = 429
    with pytest.raises(OSError, match="answered 429 said so"):
        sink.send(minute, recording)


@pytest.mark.parametrize(
    "text",
    [
        "pyroscope=http://203.0.113.7:4040",
        "otlp=http://collector.example:4318",
        "otlp=https://127.0.0.1",
        "pyroscope=http://user@127.0.0.1",
        "pyroscope=http://127.0.0.1:99999",
        "pyroscope",
        "statsd=127.0.0.1:8125",
    ],
)
def test_other_machines_and_nonsense_are_refused_before_anything_runs(text: str) -> None:
    with pytest.raises(UsageError):
        check([text])


def test_addresses_of_this_machine_are_taken() -> None:
    check(["pyroscope=http://[::1]:4040", "otlp=localhost:4318", "prometheus=9100"])
