"""Pyroscope: the stacks of each minute as pprof, to /ingest.

Enters: a minute. Leaves: one POST with the file of `sonde export -f pprof`, named after the program.
"""

from __future__ import annotations

import io
import urllib.parse

from sonde.export import pprof
from sonde.live.watch.minute import Minute
from sonde.push import Labels
from sonde.push.post import Server
from sonde.store.recording import Recording


class Pyroscope:
    """A sink; `address` is the server's."""

    def __init__(self, address: str, labels: Labels) -> None:
        self._server = Server(address)
        self._labels = labels

    def send(self, minute: Minute, recording: Recording) -> None:
        body = io.BytesIO()
        pprof.write(recording, body)
        asked = {
            "name": f"{self._labels.program}{{host={self._labels.host}}}",
            "from": minute.from_ns // 1_000_000_000,
            "until": -(-minute.until_ns // 1_000_000_000),
            "format": "pprof",
            "sampleRate": round(self._labels.rate_hz),
            "spyName": "sonde",
        }
        self._server.post(
            f"/ingest?{urllib.parse.urlencode(asked)}", body.getvalue(), "application/octet-stream"
        )
