"""OpenTelemetry profiles over HTTP. Experimental: the protocol is in development and changes without notice.

Enters: a minute. Leaves: one ExportProfilesServiceRequest (opentelemetry/proto/profiles/v1development), posted to
/v1development/profiles. Invariant of the format: entry 0 of each table of the dictionary is the empty one.
"""

from __future__ import annotations

import os

import numpy as np

from sonde.columns import Interner
from sonde.export import protobuf as pb
from sonde.export.profile import StackProfile, profile_of
from sonde.export.speedscope import thread_name
from sonde.live.watch.minute import Minute
from sonde.push import Labels
from sonde.push.post import Server
from sonde.store.recording import Recording
from sonde.version import __version__

PATH = "/v1development/profiles"
CONTENT_TYPE = "application/x-protobuf"


class Otlp:
    """A sink; `address` is the collector's."""

    def __init__(self, address: str, labels: Labels) -> None:
        self._server = Server(address)
        self._labels = labels

    def send(self, minute: Minute, recording: Recording) -> None:
        self._server.post(PATH, request(minute, recording, self._labels), CONTENT_TYPE)


def request(minute: Minute, recording: Recording, labels: Labels) -> bytes:
    """The message of one minute: CPU time in nanoseconds by stack and thread."""
    profile = profile_of(recording)
    profile.refuse_endless()
    strings = Interner()
    strings("")
    stacks: dict[int, int] = {}
    attributes: dict[str, int] = {}
    samples = _samples(recording, profile, stacks, attributes)
    cpu = pb.integer(1, strings("cpu")) + pb.integer(2, strings("nanoseconds"))
    body = pb.message(1, cpu) + b"".join(samples)
    body += pb.fixed64(3, minute.from_ns) + pb.integer(4, max(minute.until_ns - minute.from_ns, 0))
    body += pb.message(5, cpu) + pb.integer(6, round(1e9 / labels.rate_hz) if labels.rate_hz else 0)
    body += pb.message(7, os.urandom(16))
    scope = pb.text(1, "sonde") + pb.text(2, __version__)
    resource = pb.message(1, _attribute("service.name", labels.program))
    resource += pb.message(1, _attribute("host.name", labels.host))
    of_scope = pb.message(2, pb.message(1, scope) + pb.message(2, body))
    return pb.message(1, pb.message(1, resource) + of_scope) + pb.message(
        2, _dictionary(profile, stacks, attributes, strings)
    )


def _samples(
    recording: Recording, profile: StackProfile, stacks: dict[int, int], attributes: dict[str, int]
) -> list[bytes]:
    """One per distinct stack and thread; `stacks` (by node) and `attributes` (thread names) get their numbers."""
    if not len(profile.stack):
        return []
    pairs, inverse = np.unique(np.stack([profile.stack, profile.thread], axis=1), axis=0, return_inverse=True)
    weight = np.zeros(len(pairs), np.int64)
    np.add.at(weight, inverse.reshape(-1), profile.weight_ns)
    out = []
    for (node, thread), ns in zip(pairs.tolist(), weight.tolist(), strict=True):
        stack = stacks.setdefault(node, len(stacks) + 1)
        attribute = attributes.setdefault(thread_name(recording, thread), len(attributes) + 1)
        out.append(pb.message(2, pb.integer(1, stack) + pb.packed(2, [attribute]) + pb.packed(4, [ns])))
    return out


def _dictionary(
    profile: StackProfile, stacks: dict[int, int], attributes: dict[str, int], strings: Interner
) -> bytes:
    """Tables: mappings 1, locations 2, functions 3, links 4, strings 5, attributes 6, stacks 7."""
    out = [pb.message(1, b""), pb.message(2, b""), pb.message(3, b""), pb.message(4, b"")]
    out += [pb.message(6, b""), pb.message(7, b"")]
    files, lines = profile.frames.text("file").tolist(), profile.frames.array("line").tolist()
    for row, label in enumerate(profile.labels):
        line = pb.integer(1, row + 1) + (pb.integer(2, lines[row]) if lines[row] > 0 else b"")
        out.append(pb.message(2, pb.message(3, line)))
        function = pb.integer(1, strings(label)) + pb.integer(3, strings(files[row] or ""))
        out.append(pb.message(3, function))
    out += [pb.message(7, pb.packed(1, [row + 1 for row in reversed(profile.path(node))])) for node in stacks]
    key = strings("thread.name")
    out += [pb.message(6, pb.integer(1, key) + pb.message(2, pb.text(1, name))) for name in attributes]
    return b"".join(out) + b"".join(pb.text(5, value) for value in strings.values)


def _attribute(name: str, value: str) -> bytes:
    return pb.text(1, name) + pb.message(2, pb.text(1, value))
