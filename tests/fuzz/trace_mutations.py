"""Mutates traces and reads them to tables: any bytes end in a recording or an InputError.

usage: python -m tests.fuzz.trace_mutations [--count 10000] [--seed 1] [FILE...]

Runs under a memory limit and an alarm per input, and prints what the inputs ended
in. A crash, another exception, a hang or too much memory ends it with a traceback
and leaves the input in build/fuzz/.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import signal
from collections import Counter
from pathlib import Path

from sonde.errors import InputError
from sonde.importers import kineto
from sonde.importers.trace_library import Limits, NativeTrace

MEMORY_BYTES = 2 << 30
SECONDS_EACH = 20
WHOLE_BYTES = 300_000  # traces up to this size are mutated as a whole, the head of larger ones
LIMITS = Limits(value_bytes=1 << 20, metadata_bytes=4 << 20, metadata_entries=1000)
TOKENS = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\u12", b"nan", b"-inf", b"1e999", b"\xff\xfe"]
TOKENS += [b'"ph":"X"', b'"args":{', b'"traceEvents":[', b"\x1f\x8b", b"9" * 40, b"\n", b"\x00", b"null"]


def seeds(files: list[Path]) -> list[bytes]:
    """Whole small files, and short valid traces cut from longer ones; some gzip'ed."""
    found = []
    for path in files:
        data = path.read_bytes()
        found.append(data if len(data) <= WHOLE_BYTES else data[:30_000])
    events = [
        {"ph": "X", "cat": c, "name": f"n{i}", "pid": 1, "tid": i % 3, "ts": 10 * i + 0.125, "dur": 5 + i}
        | {"args": {"External id": i, "correlation": i, "Input Dims": [[1, 2]], "stream": 7, "device": 0}}
        for i, c in enumerate(["cpu_op", "cuda_runtime", "kernel", "user_annotation", "python_function"] * 3)
    ]
    own = json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "x"}, indent=1).encode()
    return [*found, own, gzip.compress(own), gzip.compress(own + own)]


def mutate(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """One to five edits: flips, tokens, cuts, copies, splices, truncation."""
    for _ in range(rng.randint(1, 5)):
        if not data:
            return data
        at = rng.randrange(len(data))
        end = min(len(data), at + rng.randint(1, 300))
        choice = rng.randrange(7)
        if choice == 0:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif choice == 1:
            data = data[:at] + rng.choice(TOKENS) + data[at:]
        elif choice == 2:
            data = data[:at] + data[end:]
        elif choice == 3:
            data = data[:at] + data[at:end] * rng.randint(2, 20) + data[end:]
        elif choice == 4:
            other = rng.choice(others)
            cut = rng.randrange(len(other) + 1)
            data = data[:at] + other[cut : cut + 2000] + data[end:]
        elif choice == 5:
            data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        else:
            data = data[:at]
    return data


def outcome(data: bytes, tables: bool) -> str:
    """How reading ended."""
    try:
        with NativeTrace(data, LIMITS) as trace:
            if tables:
                recording = kineto.recording_of(trace, None)
                return "with losses" if len(recording.table("losses")) else "clean"
            return "with losses" if trace.losses() else "clean"
    except InputError:
        return "input error"


def run(count: int, seed: int, files: list[Path]) -> Counter[str]:
    """Outcomes of `count` mutations; every fifth goes on to the tables."""
    rng = random.Random(seed)
    corpus = seeds(files)
    outcomes: Counter[str] = Counter()
    for number in range(count):
        data = mutate(rng.choice(corpus), rng, corpus)
        signal.alarm(SECONDS_EACH)
        try:
            outcomes[outcome(data, tables=number % 5 == 0)] += 1
        except BaseException:
            folder = Path("build/fuzz")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"failing-{seed}-{number}.json").write_bytes(data)
            raise
    signal.alarm(0)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    outcomes = run(options.count, options.seed, options.files)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"mutations": options.count, "peak_mb": peak_mb, **outcomes}))


if __name__ == "__main__":
    main()
