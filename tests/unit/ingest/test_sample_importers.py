"""Collapsed stacks, speedscope and perf script text become the same samples."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sonde.errors import InputError
from sonde.ingest import FORMATS, head_of, open_any
from sonde.ingest.sampled import collapsed, perf_script, speedscope
from sonde.store.recording import Recording

COLLAPSED = """\
main (train.py:3);[op] aten::mm;gemm 30
main (train.py:3);[op] aten::mm 12
start;[jit] kernel_1;do_syscall_64_[k] 5
no weight here
"""
PERF = """\
# captured on: today
python3 4242/4243 [001] 17.000100: 10000000 cpu-clock:ppp:
\t    7f001234 gemm_kernel+0x14 (/usr/lib/libblas.so)
\t    7f00aaaa py::forward:/home/me/net.py (/tmp/perf-4242.map)
\t    55555555 [unknown] (/usr/bin/python3.11)

python3 4242/4242 [000] 17.010100: 10000000 cpu-clock:ppp:
\tffffffff81 do_syscall_64+0x9 ([kernel.kallsyms])
\t    7f00bbbb read+0x9 (/usr/lib/libc.so.6)

what is this
python3 4242/4243 [001] 17.020100: 10000000 cpu-clock:ppp:
\t    7f001234 gemm_kernel+0x99 (/usr/lib/libblas.so)

"""


def weighted(recording: Recording) -> dict[str, int]:
    """Collapsed stacks of a recording: the names, root first, with their nanoseconds."""
    frames, stacks, samples = (recording.table(t) for t in ("frames", "stacks", "samples"))
    parents, frame_of = stacks.array("parent").tolist(), stacks.array("frame").tolist()
    found: dict[str, int] = {}
    for stack, weight in zip(
        samples.array("stack").tolist(), samples.array("weight_ns").tolist(), strict=True
    ):
        names = []
        while stack >= 0:
            names.append(str(frames.text("name")[frame_of[stack]]))
            stack = parents[stack]
        key = ";".join(reversed(names))
        found[key] = found.get(key, 0) + weight
    return found


def losses(recording: Recording) -> dict[str | None, int]:
    table = recording.table("losses")
    return dict(zip(table.text("cause").tolist(), table.array("count").tolist(), strict=True))


def test_collapsed_lines_become_samples(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text(COLLAPSED)
    recording = collapsed.read(path)
    unit = collapsed.COUNT_NS
    assert weighted(recording) == {
        "main;aten::mm;gemm": 30 * unit,
        "main;aten::mm": 12 * unit,
        "start;kernel_1;do_syscall_64": 5 * unit,
    }
    frames = recording.table("frames")
    layers = dict(zip(frames.text("name").tolist(), frames.text("layer").tolist(), strict=True))
    assert layers == {
        "main": "python",
        "aten::mm": "op",
        "gemm": "native",
        "start": "native",
        "kernel_1": "jit",
        "do_syscall_64": "kernel",
    }
    assert losses(recording) == {"bad_line": 1}


def test_perf_samples_keep_thread_time_and_period(tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_text(PERF)
    recording = perf_script.read(path)
    samples = recording.table("samples")
    assert samples.array("time_ns").tolist() == [17_000_100_000, 17_010_100_000, 17_020_100_000]
    assert weighted(recording) == {
        "0x55555555;forward;gemm_kernel": 10_000_000,
        "read;do_syscall_64": 10_000_000,
        "gemm_kernel": 10_000_000,
    }
    threads = recording.table("threads")
    assert threads.array("tid").tolist() == [4243, 4242]
    assert recording.table("processes").array("pid").tolist() == [4242]
    assert losses(recording) == {"bad_line": 1}
    frames = recording.table("frames")
    python = frames.text("layer").tolist().index("python")
    assert frames.text("file")[python] == "/home/me/net.py"


def speedscope_document() -> dict[str, object]:
    frames = [{"name": "main", "file": "a.py", "line": 3}, {"name": "work"}, {"name": "[op] aten::add"}]
    sampled = {
        "type": "sampled",
        "name": "t1",
        "unit": "milliseconds",
        "startValue": 1,
        "endValue": 6,
        "samples": [[0, 1], [0], [0, 1]],
        "weights": [1, 2.5, 1.5],
    }
    evented = {
        "type": "evented",
        "name": "t2",
        "unit": "microseconds",
        "startValue": 0,
        "endValue": 10,
        "events": [
            {"type": "O", "frame": 0, "at": 0},
            {"type": "O", "frame": 2, "at": 4},
            {"type": "C", "frame": 2, "at": 7},
            {"type": "C", "frame": 0, "at": 10},
        ],
    }
    schema = "https://www.speedscope.app/file-format-schema.json"
    return {"$schema": schema, "shared": {"frames": frames}, "profiles": [sampled, evented]}


def test_speedscope_profiles_of_both_kinds(tmp_path: Path) -> None:
    path = tmp_path / "profile.json.gz"
    path.write_bytes(gzip.compress(json.dumps(speedscope_document()).encode()))
    recording = speedscope.read(path)
    assert weighted(recording) == {
        "main;work": 2_500_000,
        "main": 2_500_000 + 7_000,
        "main;aten::add": 3_000,
    }
    assert recording.table("threads").text("name").tolist() == ["t1", "t2"]
    assert losses(recording) == {}


def test_a_broken_profile_costs_only_itself(tmp_path: Path) -> None:
    document = speedscope_document()
    document["profiles"][0]["samples"] = [[99]]  # type: ignore[index]
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(document))
    recording = speedscope.read(path)
    assert losses(recording)["bad_profile"] == 1
    assert len(recording.table("samples")) == 3


def test_formats_are_told_by_content_not_by_name(tmp_path: Path) -> None:
    contents = {
        "collapsed": COLLAPSED.encode(),
        "perf": PERF.encode(),
        "speedscope": json.dumps(speedscope_document()).encode(),
        "kineto": b'{"schemaVersion": 1, "traceEvents": []}',
    }
    for name, data in contents.items():
        for packed in (False, True):
            path = tmp_path / f"{name}{packed}.anything"
            path.write_bytes(gzip.compress(data) if packed else data)
            fits = [f.name for f in FORMATS if f.sniff(head_of(path))]
            assert fits[0] == name
            assert open_any(path).meta.source == name


def test_what_no_format_knows_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(InputError, match="not in a format that Sonde knows"):
        open_any(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        open_any(path)
    with pytest.raises(InputError, match="does not exist"):
        open_any(tmp_path / "nothing")
