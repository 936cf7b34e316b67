"""Trace reading side by side: Sonde, orjson, msgspec, simdjson, json; CPU seconds and peak memory.

usage: python -m benchmarks reader [--trace FILE.json.gz] [--repeats 3] [--large] [--only NAME…]

Every reading is a process of its own; readers take turns, so that a busy
machine hurts all alike. CPU time is user + system of that process (and of `gzip`,
where it runs that) from before to after reading; memory is its peak less what it
had before. `--large` makes a 1.1 GB trace by repeating the events. Reading gzip is
set beside inflating alone: ratios of the same turn.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import gzip
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build/bench"
COPIES = 22  # of a real trace, to read 82 MB
LARGE_COPIES = 14


def sonde_columns(path: Path) -> int:
    from sonde.ingest.kineto.trace_library import NativeTrace

    with NativeTrace(path) as trace:
        return trace.fact("events")


def sonde_tables(path: Path) -> int:
    from sonde.ingest.kineto import reader as kineto

    events: int = kineto.read(path).meta.details["trace"]["events"]
    return events


def _plain(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def with_json(path: Path) -> int:
    return len(json.loads(_plain(path))["traceEvents"])


def with_orjson(path: Path) -> int:
    import orjson

    return len(orjson.loads(_plain(path))["traceEvents"])


def with_msgspec(path: Path) -> int:
    import msgspec

    text, number, either = (str, ""), (float, 0.0), (int | str, 0)
    fields = {
        "name": text,
        "ph": text,
        "cat": text,
        "ts": number,
        "dur": number,
        "pid": either,
        "tid": either,
    }
    event = msgspec.defstruct("Event", [(key, *kind) for key, kind in fields.items()])
    trace = msgspec.defstruct("Trace", [("traceEvents", list[event])])  # type: ignore[valid-type]
    return len(msgspec.json.decode(_plain(path), type=trace).traceEvents)


def with_simdjson(path: Path) -> int:
    import simdjson

    return len(simdjson.Parser().parse(_plain(path))["traceEvents"])


def inflate_zlib(path: Path) -> int:
    """Piece by piece into one buffer's worth of memory, nothing kept: the least that zlib can do."""
    stream, size = zlib.decompressobj(31), 0
    with path.open("rb") as file:
        while piece := file.read(1 << 18):
            while piece:
                size += len(stream.decompress(piece, 1 << 20))
                piece = stream.unconsumed_tail
    return size


def inflate_gzip(path: Path) -> int:
    subprocess.run(["gzip", "-dc", str(path)], stdout=subprocess.DEVNULL, check=True)
    return 0


def inflate_libdeflate(path: Path) -> int:
    """The fastest inflater there is; it needs the whole file and the whole result in memory."""
    lib = ctypes.CDLL(LIBDEFLATE or "libdeflate.so")
    lib.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
    data = path.read_bytes()
    out = ctypes.create_string_buffer(int.from_bytes(data[-4:], "little"))
    size = ctypes.c_size_t()
    code = lib.libdeflate_gzip_decompress(
        ctypes.c_void_p(lib.libdeflate_alloc_decompressor()),
        data,
        ctypes.c_size_t(len(data)),
        out,
        ctypes.c_size_t(len(out)),
        ctypes.byref(size),
    )
    if code:
        raise SystemExit(f"libdeflate: code {code}")
    return size.value


LIBDEFLATE = ctypes.util.find_library("deflate")
INFLATERS = {
    "inflate: zlib": inflate_zlib,
    **({"inflate: gzip -dc": inflate_gzip} if shutil.which("gzip") else {}),
    **({"inflate: libdeflate": inflate_libdeflate} if LIBDEFLATE else {}),
}
READERS: dict[str, tuple[Callable[[Path], int], str]] = {
    "sonde columns": (sonde_columns, "numpy"),
    "sonde tables, linked": (sonde_tables, "numpy"),
    "simdjson DOM": (with_simdjson, "pysimdjson"),
    "msgspec typed": (with_msgspec, "msgspec"),
    "orjson": (with_orjson, "orjson"),
    "json": (with_json, ""),
    **{name: (function, "") for name, function in INFLATERS.items()},
}


def status_bytes(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0


def measure(name: str, path: Path) -> None:
    """Read once in this process and print what it took."""
    reader, _ = READERS[name]
    if name.startswith("sonde"):  # loading the library is not reading
        import numpy  # noqa: F401

    Path("/proc/self/clear_refs").write_text("5")  # forget the peak, which came with the fork
    rss_before = status_bytes("VmRSS")
    before, wall_s = cpu_seconds(), time.perf_counter()
    events = reader(path)
    wall_s, cpu_s = time.perf_counter() - wall_s, cpu_seconds() - before
    grown = status_bytes("VmHWM") - rss_before
    print(json.dumps({"cpu_s": cpu_s, "wall_s": wall_s, "peak_bytes": grown, "events": events}))


def cpu_seconds() -> float:
    """User and system time of this process and of the children it waited for."""
    use = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in use)


def beside_inflating(runs: dict[tuple[str, str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Reading the gzip file over inflating it, turn by turn: the median ratio, the least and the most."""
    found = []
    for reader in ("sonde columns", "sonde tables, linked"):
        ours = runs.get(("gzip", reader), [])
        for inflater in INFLATERS:
            theirs = runs.get(("gzip", inflater), [])
            row: dict[str, Any] = {"reader": reader, "beside": inflater}
            for clock in ("wall_s", "cpu_s"):
                ratios = sorted(a[clock] / b[clock] for a, b in zip(ours, theirs, strict=False))
                if ratios:
                    row[clock.replace("_s", "_ratio")] = round(statistics.median(ratios), 2)
                    row[clock.replace("_s", "_ratio_low_high")] = [round(ratios[0], 2), round(ratios[-1], 2)]
            found.append(row)
    return found


def run_one(name: str, path: Path) -> dict[str, Any] | None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, __file__, "--measure", name, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(f"  {name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def prepare(source: Path, large: bool) -> dict[str, Path]:
    """The plain file, the gzip file, and the large one."""
    WORK.mkdir(parents=True, exist_ok=True)
    plain = WORK / source.name.removesuffix(".gz")
    data = _plain(source)
    if not plain.exists() or plain.stat().st_size != len(data):
        plain.write_bytes(data)
    inputs = {"plain": plain, "gzip": source}
    if large:
        inputs["large"] = WORK / "large.json"
        mark = b'"traceEvents": ['
        start, stop = data.index(mark) + len(mark), data.rindex(b"]")
        body = data[start:stop].rstrip()
        size = start + LARGE_COPIES * (len(body) + 1) - 1 + len(data) - stop
        if not inputs["large"].exists() or inputs["large"].stat().st_size != size:
            with inputs["large"].open("wb") as file:
                file.write(data[:start])
                for copy in range(LARGE_COPIES):
                    file.write(b"," * bool(copy) + body)
                file.write(data[stop:])
    return inputs


def find_default() -> Path:
    """Rank 0 of the repository's real traces, 22 times over: 82 MB of JSON."""
    from benchmarks.lib.environment import MEGATRON
    from benchmarks.lib.replicate import lengthen

    WORK.mkdir(parents=True, exist_ok=True)
    made = WORK / "megatron.json"
    if not (WORK / "megatron.json.gz").exists():
        lengthen(MEGATRON[0], made, COPIES)
        with made.open("rb") as plain, gzip.open(WORK / "megatron.json.gz", "wb", 6) as packed:
            shutil.copyfileobj(plain, packed)
        made.unlink()
    return WORK / "megatron.json.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--prepare", action="store_true", help="make the inputs and stop")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure[0], Path(options.measure[1]))
    from benchmarks.lib.environment import facts, write  # not in the processes that are measured

    before = facts()
    inputs = prepare(options.trace or find_default(), options.large)
    if options.prepare:
        return None
    sizes = {kind: len(_plain(p)) if kind == "gzip" else p.stat().st_size for kind, p in inputs.items()}
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(options.repeats):
        for kind, path in inputs.items():
            for name in options.only or READERS:
                if name.startswith("inflate") and kind != "gzip":
                    continue
                if kind == "large" and name in ("orjson", "json"):
                    continue  # orjson needs 8 GB for it; json takes a minute each
                found = run_one(name, path)
                if found:
                    runs.setdefault((kind, name), []).append(found)
    rows = []
    print(f"{'input':6} {'reader':28} {'MB per CPU-s: best':>19} {'median':>8} {'peak / JSON':>12}")
    for (kind, name), found in runs.items():
        cpu = sorted(f["cpu_s"] for f in found)
        size = sizes[kind]
        peak = max(f["peak_bytes"] for f in found)
        row = {
            "input": kind,
            "reader": name,
            "json_bytes": size,
            "cpu_s": cpu,
            "wall_s": sorted(f["wall_s"] for f in found),
            "mb_per_cpu_s_best": round(size / 1e6 / max(cpu[0], 1e-9), 1),
            "mb_per_cpu_s_median": round(size / 1e6 / max(cpu[len(cpu) // 2], 1e-9), 1),
            "peak_over_json": round(peak / size, 3),
            "events": found[0]["events"],
        }
        rows.append(row)
        best, median = row["mb_per_cpu_s_best"], row["mb_per_cpu_s_median"]
        print(f"{kind:6} {name:28} {best:>19} {median:>8} {row['peak_over_json']:>12}")
    ratios = beside_inflating(runs)
    for row in ratios:
        print(json.dumps(row))
    report = {**before, "repeats": options.repeats, "rows": rows, "gzip_beside_inflating": ratios}
    print(f"written to {write('reader', report).relative_to(ROOT)}")
    return None


if __name__ == "__main__":
    main()
