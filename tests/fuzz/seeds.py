"""Small valid inputs of every format, made here, so that the campaign needs no files from elsewhere."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sonde.experiment.design.arm import Measurement
from sonde.experiment.proving.journal import Entry
from sonde.experiment.proving.ledger import Outcome
from sonde.store.meta import Meta
from sonde.store.writer import write_tables
from tests.fixtures.synthetic import training_run
from tests.unit.ingest.test_rawlog import example
from tests.unit.store import recordings

DATA = Path(__file__).resolve().parents[1] / "data"


def kineto() -> list[bytes]:
    categories = ["cpu_op", "cuda_runtime", "kernel", "user_annotation", "python_function", "gpu_memcpy"]
    events: list[dict[str, object]] = [
        {"ph": "X", "cat": c, "name": f"n{i}", "pid": 1, "tid": i % 3, "ts": 10 * i + 0.125, "dur": 25 - i}
        | {"args": {"External id": i, "correlation": i, "Input Dims": [[1, 2]], "stream": 7, "device": 0}}
        for i, c in enumerate(categories * 2)
    ]
    events += [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": "ProfilerStep#1",
            "pid": 1,
            "tid": 1,
            "ts": 0,
            "dur": 99,
        },
        {"ph": "X", "cat": "python_function", "name": "a.py(3): f", "pid": 1, "tid": 1, "ts": 1, "dur": 90},
        {
            "ph": "X",
            "cat": "python_function",
            "name": "nn.Module: Net_0",
            "pid": 1,
            "tid": 1,
            "ts": 2,
            "dur": 80,
        },
        {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 9}
        | {"args": {"Addr": 64, "Bytes": 512, "Total Allocated": 512, "Device Type": 0, "Device Id": -1}},
        {"ph": "C", "name": "rss", "pid": 1, "tid": 1, "ts": 5, "args": {"v": 3}},
        {"ph": "s", "id": 3, "cat": "fwdbwd", "name": "fwdbwd", "pid": 1, "tid": 1, "ts": 10.125},
        {"ph": "f", "id": 3, "cat": "fwdbwd", "name": "fwdbwd", "pid": 1, "tid": 1, "ts": 20.125, "bp": "e"},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 0, "args": {"name": "thread 1"}},
        {"ph": "B", "cat": "cpu_op", "name": "pair", "pid": 1, "tid": 2, "ts": 100},
        {"ph": "E", "cat": "cpu_op", "name": "pair", "pid": 1, "tid": 2, "ts": 110},
    ]
    facts = {"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "deviceProperties": [{"id": 0}]}
    own = json.dumps(
        {**facts, "distributedInfo": {"rank": 0}, "traceEvents": events, "traceName": "x"}, indent=1
    )
    return [own.encode(), gzip.compress(own.encode()), json.dumps(events).encode()]


def perf() -> list[bytes]:
    text = (
        "# captured\npython 4242/4243 [001] 100.000001: 10000000 cpu-clock:u: \n"
        "\t    7f12 at::native::add+0x1c (/lib/libtorch_cpu.so)\n\tffffffff81000000 do_syscall_64 ([kernel.kallsyms])\n"
        "\t    4010 py::train:/home/u/a.py (/tmp/perf-4242.map)\n\t 0 [unknown] ([unknown])\n\n"
        "my prog 7 5.5: cycles: \n\t  aa f (x) const+0x2 (/lib/x.so (deleted))\n\n"
        "my prog 7 6.75: cycles: \n\t  aa g+0x2 (/lib/x.so)\n\n"
    )
    return [text.encode(), gzip.compress(text.encode())]


def speedscope() -> list[bytes]:
    frames = [{"name": "main", "file": "a.py", "line": 3}, {"name": "[op] aten::mm"}, {"name": "f (b.py:7)"}]
    sampled = {"type": "sampled", "name": "main 42", "unit": "milliseconds", "startValue": 0, "endValue": 3}
    evented = {"type": "evented", "name": "t", "unit": "none", "startValue": 0, "endValue": 9}
    opened = [{"type": "O", "frame": i, "at": i} for i in range(3)]
    closed = [{"type": "C", "frame": 2 - i, "at": 5 + i} for i in range(3)]
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "sonde 0.1.0",
        "name": "x",
        "shared": {"frames": frames},
        "profiles": [
            {**sampled, "samples": [[0], [0, 1], [0, 2, 1]], "weights": [1, 1.5, 0.5]},
            {**evented, "events": opened + closed},
        ],
    }
    return [json.dumps(document).encode(), gzip.compress(json.dumps(document, indent=1).encode())]


def collapsed() -> list[bytes]:
    return [
        b"main;a (a.py:3);[op] aten::mm 12\nmain;b 7\nmain;[jit] k;c_[k] 100\n",
        b"a;b 123456789012\na 0.5\n",
    ]


def onednn() -> list[bytes]:
    return [part.encode() for part in (DATA / "onednn/versions.txt").read_text().split("# ") if part.strip()]


def mkl() -> list[bytes]:
    text = (
        "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture, Lnx 2.0GHz lp64\n"
        "MKL_VERBOSE SGEMM(T,N,10,2,14400,0x7f01,0x7f02,14400,0x7f03,14400,0x7f04,0x7f05,10) 207.81us CNR:OFF NThr:1\n"
        "MKL_VERBOSE cblas_dgemv(N,30,40,0x1,(nil)) 1.5ms CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2\n"
        "MKL_VERBOSE gemm_s8u8s32(N,N,8,8,8,0x1) 3e-05s CNR:OFF NThr:4\nMKL_VERBOSE ZGEMM3M(N,N,4,4,4) 12ns\n"
    )
    return [text.encode()]


def mxnet() -> list[bytes]:
    events: list[dict[str, object]] = [
        {"ph": "M", "args": {"name": "cpu pinned/"}, "pid": 0, "name": "process_name"}
    ]
    for i, (category, begin, end) in enumerate([("operator", "B", "E"), ("MXNET_C_API", "b", "e")] * 3):
        common = {"name": f"op{i}", "cat": category, "pid": 0, "tid": 17710305560941257705, "id": i}
        events += [{**common, "ph": begin, "ts": 1000 + 10 * i}, {**common, "ph": end, "ts": 1005 + 10 * i}]
    events.append({"ph": "C", "name": "Memory: cpu/0", "ts": 1001, "pid": 0, "args": {"Memory": 12}})
    return [json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1).encode()]


def mxnet_aggregate() -> list[bytes]:
    figures = {"Count": 20, "Total": 285.6, "Min": 0.017, "Max": 53.07, "Avg": 14.28}
    held = {"Count": 3, "Min": 1.0, "Max": 2.0, "Avg": 1.5}
    document = {"Time": {"operator": {"Convolution": figures}}, "Memory": {"Device Storage": {"cpu/0": held}}}
    table = (
        "\nProfile Statistics:\n\tNote the difference in units for different entries.\nDevice Storage\n=====\n"
        "Name   Total Count    Min Use  (kB)    Max Use  (kB)    Avg Use  (kB)\n----   -----------\n"
        "Memory: cpu/0   1361   0.0040   71204.3516   35602.1758\n\noperator\n=====\nName  Total Count\n----\n"
        "Convolution   120   984.1000   0.0130   53.0700   14.2800\n"
    )
    return [json.dumps(document).encode(), table.encode()]


def rawlog() -> list[bytes]:
    return [example().data()]


def meta() -> list[bytes]:
    with TemporaryDirectory() as folder:
        training_run(2, 50).meta.write(Path(folder))
        return [(Path(folder) / "meta.json").read_bytes()]


def journal() -> list[bytes]:
    entries = [Entry("a", n, arm, Measurement(1.5, 3, 0, "loss=1"), "k") for n in range(2) for arm in "ab"]
    return ["".join(json.dumps(asdict(e)) + "\n" for e in entries).encode()]


def ledger() -> list[bytes]:
    made = Outcome("2026-01-01", "rule", "p.py", 0.1, 0.2, 0.15, 0.1, None, "faster", 8, True)
    return [(json.dumps(asdict(made)) + "\n").encode() * 3]


@cache
def folder_files() -> dict[str, bytes]:
    """Every file of a small recording, by its path in the folder.

    Made in another process: DuckDB's threads do not survive the fork of a worker, but their locks do.
    """
    with TemporaryDirectory() as name:
        subprocess.run([sys.executable, "-m", "tests.fuzz.seeds", name], check=True, cwd=DATA.parents[1])
        folder = Path(name)
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def packed() -> list[bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for inner, data in folder_files().items():
            archive.writestr(f"a.sonde/{inner}", data)
    return [stream.getvalue()]


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]), recordings.tables().values())
    Meta(program="a.py").write(Path(sys.argv[1]))
