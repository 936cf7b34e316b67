"""pprof: profile.proto, gzip'ed; read by `go tool pprof`, Pyroscope and others.

Two values per sample, as pprof's own CPU profiles have: samples and nanoseconds.
Field numbers are those of google/pprof's profile.proto.
"""

from __future__ import annotations

import gzip
from typing import BinaryIO

import numpy as np

from sonde.columns import Interner
from sonde.export import protobuf as pb
from sonde.export.profile import StackProfile, profile_of
from sonde.export.speedscope import thread_name
from sonde.store.recording import Recording


def write(recording: Recording, stream: BinaryIO) -> None:
    profile = profile_of(recording)
    strings = Interner()
    strings("")  # the first string must be empty
    body = [
        pb.message(1, pb.integer(1, strings("samples")) + pb.integer(2, strings("count"))),
        pb.message(1, pb.integer(1, strings("cpu")) + pb.integer(2, strings("nanoseconds"))),
        *_samples(recording, profile, strings),
        *_functions(profile, strings),
        pb.integer(9, recording.meta.clock.epoch_offset_start_ns + int(profile.time_ns.min(initial=0))),
        pb.integer(10, round(recording.meta.duration_s * 1e9)),
        pb.message(11, pb.integer(1, strings("cpu")) + pb.integer(2, strings("nanoseconds"))),
        pb.integer(12, _period_ns(recording)),
    ]
    body += [pb.text(6, value) for value in strings.values]
    # mtime 0: equal recordings give equal files
    stream.write(gzip.compress(b"".join(body), compresslevel=6, mtime=0))


def _period_ns(recording: Recording) -> int:
    rate = recording.meta.options.get("rate_hz")
    return round(1e9 / rate) if isinstance(rate, (int, float)) and rate > 0 else 0


def _samples(recording: Recording, profile: StackProfile, strings: Interner) -> list[bytes]:
    """One message per distinct (stack, thread): pprof aggregates anyway."""
    if len(profile.stack) == 0:
        return []
    profile.refuse_endless()
    pairs, inverse = np.unique(np.stack([profile.stack, profile.thread], axis=1), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    weight = np.zeros(len(pairs), np.int64)
    np.add.at(weight, inverse, profile.weight_ns)
    count = np.bincount(inverse, minlength=len(pairs))
    key = strings("thread")
    out = []
    for (node, thread), samples, ns in zip(pairs.tolist(), count.tolist(), weight.tolist(), strict=True):
        leaf_first = [row + 1 for row in reversed(profile.path(node))]
        label = pb.integer(1, key) + pb.integer(2, strings(thread_name(recording, thread)))
        out.append(
            pb.message(2, pb.packed(1, leaf_first) + pb.packed(2, (samples, ns)) + pb.message(3, label))
        )
    return out


def _functions(profile: StackProfile, strings: Interner) -> list[bytes]:
    """A location and a function per frame, both numbered row + 1."""
    frames = profile.frames
    full, files = frames.text("full_name").tolist(), frames.text("file").tolist()
    lines = frames.array("line").tolist()
    out = []
    for row, label in enumerate(profile.labels):
        line = pb.integer(1, row + 1) + (pb.integer(2, lines[row]) if lines[row] > 0 else b"")
        out.append(pb.message(4, pb.integer(1, row + 1) + pb.message(4, line)))
        function = pb.integer(1, row + 1) + pb.integer(2, strings(label))
        function += pb.integer(3, strings(full[row] or label))
        if files[row]:
            function += pb.integer(4, strings(files[row]))
        out.append(pb.message(5, function))
    return out
