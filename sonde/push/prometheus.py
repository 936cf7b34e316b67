"""Prometheus' text format, on a port of 127.0.0.1 or in a file for node_exporter's textfile collector.

Enters: minutes. Leaves: step time, share by layer and state, losses, memory and Sonde's own cost, as of the last
minute; what is called `_total` counts from the start of the watch.
"""

from __future__ import annotations

import http.server
import os
import threading
from pathlib import Path

from sonde.errors import EnvironmentLacks, UsageError
from sonde.live.watch.loop import Sink
from sonde.live.watch.minute import Minute
from sonde.push import Labels
from sonde.store.recording import Recording

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_PROCESSES = 256  # a label value each

_HELP: dict[str, tuple[str, str]] = {
    "sonde_step_seconds": ("gauge", "Time of a step in the last minute, by percentile."),
    "sonde_steps_total": ("counter", "Steps that have ended since the watch began."),
    "sonde_cpu_seconds_total": ("counter", "CPU time of the program that samples stand for."),
    "sonde_layer_ratio": ("gauge", "Share of CPU time in the last minute by layer of the innermost frame."),
    "sonde_state_ratio": (
        "gauge",
        "Share of CPU time in the last minute by state; spinning: busy-waiting (idle pool threads).",
    ),
    "sonde_phase_ratio": ("gauge", "Share of the median step by phase."),
    "sonde_taken_ratio": ("gauge", "Share of time in which the stepping thread was ready but off the CPU."),
    "sonde_cpus": ("gauge", "CPUs in use on average over the last minute."),
    "sonde_resident_bytes": ("gauge", "Resident memory."),
    "sonde_samples_total": ("counter", "Samples taken."),
    "sonde_lost_samples_total": ("counter", "Samples that were lost."),
    "sonde_own_cpu_seconds_total": ("counter", "CPU time of Sonde's own threads and processes."),
    "sonde_saved_recordings_total": ("counter", "Recordings that were saved."),
    "sonde_unwritten_total": ("counter", "Minutes and recordings that could not be written."),
}


class Exposition:
    """The text, minute by minute."""

    def __init__(self, labels: Labels) -> None:
        self._labels = {"program": labels.program}
        self._steps: dict[tuple[int, int], int] = {}
        self._own: dict[str, float] = {}
        self._cpu_s = 0.0
        self._samples = self._lost = 0

    def text(self, minute: Minute) -> str:
        """Adds the minute to what is counted, and says all of it."""
        now = minute.picture
        self._cpu_s += now.cpu_ns / 1e9
        self._samples += now.samples
        self._lost = max(self._lost, now.lost_samples)
        for part, seconds in minute.own_cpu_s.items():
            self._own[part] = self._own.get(part, 0.0) + seconds
        figures: dict[str, list[tuple[dict[str, str], float]]] = {name: [] for name in _HELP}
        rank_of = {number: (one.pid, one.rank) for number, one in enumerate(now.processes)}
        for step in now.steps[:MOST_PROCESSES]:
            pid, rank = rank_of.get(step.process, (-1, -1))
            who = _who(pid, rank)
            figures["sonde_step_seconds"].append(({**who, "percentile": "50"}, step.median_ms / 1e3))
            figures["sonde_step_seconds"].append(({**who, "percentile": "90"}, step.p90_ms / 1e3))
            self._steps[pid, rank] = self._steps.get((pid, rank), 0) + step.count
            for phase, share in step.phases.items():
                figures["sonde_phase_ratio"].append(({**who, "phase": phase}, share))
        figures["sonde_steps_total"] = [(_who(*who), count) for who, count in self._steps.items()]
        figures["sonde_cpu_seconds_total"] = [({}, self._cpu_s)]
        figures["sonde_layer_ratio"] = [({"layer": layer}, share) for layer, share in now.layers.items()]
        figures["sonde_state_ratio"] = [({"state": state}, share) for state, share in now.states.items()]
        figures["sonde_taken_ratio"] = [({}, now.taken_share)]
        for one in now.processes[:MOST_PROCESSES]:
            who = _who(one.pid, one.rank)
            figures["sonde_cpus"].append((who, one.cores))
            if one.rss_bytes >= 0:
                figures["sonde_resident_bytes"].append((who, one.rss_bytes))
        figures["sonde_samples_total"] = [({}, self._samples)]
        figures["sonde_lost_samples_total"] = [({}, self._lost)]
        figures["sonde_own_cpu_seconds_total"] = [({"part": part}, s) for part, s in self._own.items()]
        figures["sonde_saved_recordings_total"] = [({}, minute.saved)]
        figures["sonde_unwritten_total"] = [({}, minute.unwritten)]
        return "".join(self._metric(name, rows) for name, rows in figures.items() if rows)

    def _metric(self, name: str, rows: list[tuple[dict[str, str], float]]) -> str:
        kind, meaning = _HELP[name]
        lines = [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        for labels, value in rows:
            told = ",".join(f'{key}="{_escaped(text)}"' for key, text in {**self._labels, **labels}.items())
            lines.append(
                f"{name}{{{told}}} {value:.9g}" if isinstance(value, float) else f"{name}{{{told}}} {value}"
            )
        return "\n".join(lines) + "\n"


class TextFile:
    """A sink; the file is replaced at once, so that a reader never sees half of it."""

    def __init__(self, path: Path, labels: Labels) -> None:
        self._path, self._exposition = path, Exposition(labels)

    def send(self, minute: Minute, recording: Recording) -> None:
        partial = self._path.with_name(self._path.name + ".partial")
        partial.write_text(self._exposition.text(minute), encoding="utf-8")
        partial.replace(self._path)


class Port:
    """A sink that is asked: GET /metrics on 127.0.0.1."""

    def __init__(self, port: int, labels: Labels) -> None:
        self._exposition = Exposition(labels)
        sink = self
        self.text = b""

        class Answer(http.server.BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                known = self.path.split("?")[0] in ("/", "/metrics")
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(sink.text) if known else 0))
                self.end_headers()
                if known:
                    self.wfile.write(sink.text)

            def log_message(self, *args: object) -> None:
                pass

        try:
            self._server = http.server.HTTPServer(("127.0.0.1", port), Answer)
        except OSError as error:
            raise EnvironmentLacks(
                f"port {port} of 127.0.0.1 cannot be used: {error.strerror}", "choose another"
            ) from None
        self.port: int = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True, name="metrics").start()

    def send(self, minute: Minute, recording: Recording) -> None:
        self.text = self._exposition.text(minute).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def open_sink(address: str, labels: Labels) -> Sink:
    """A number is a port; everything else a file, whose folder is there."""
    if address.isascii() and address.isdigit():
        if not 0 <= int(address) < 65536:
            raise UsageError(f"{address} is not a port", "use 1 to 65535")
        return Port(int(address), labels)
    path = Path(address)
    if path.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise UsageError(f"{address} cannot be written", "give a file, or a port")
    return TextFile(path, labels)


def _who(pid: int, rank: int) -> dict[str, str]:
    return {"pid": str(pid), **({"rank": str(rank)} if rank >= 0 else {})}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
