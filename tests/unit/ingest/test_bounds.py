"""No file hangs Sonde or fills the memory: work grows with the input, and what is over a bound is refused by name.

Times are CPU times of this process, so that a busy machine does not matter; before, each of these took minutes.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sonde.analyze.base import call_tree
from sonde.analyze.base.nesting import depths, levels, nearest, skip, sum_up, timeline
from sonde.analyze.device.by_op import inside_same
from sonde.analyze.ops.table import op_table
from sonde.errors import InputError
from sonde.export.collapsed import collapsed_lines
from sonde.export.profile import profile_of
from sonde.ingest import open_any, plain_bytes
from sonde.ingest.kineto import device as kineto_device
from sonde.ingest.kineto import reader as kineto
from sonde.ingest.mxnet import table as mxnet_table
from sonde.ingest.mxnet import trace as mxnet_trace
from sonde.ingest.sampled import collapsed, perf_script, speedscope
from sonde.ingest.verbose import onednn_log
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.unit.ingest.synthetic import event, losses, read

SECONDS = 30  # of CPU


@contextmanager
def quick(seconds: float = SECONDS) -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


SHAPES: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "each in the one before": lambda i, n: (i, 2 * (n - i)),
    "like stairs": lambda i, n: (i, n),
    "all at once": lambda i, n: (5, 5),
    "without length": lambda i, n: (5, 0),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_sixty_thousand_calls_of_any_shape(shape: str) -> None:
    count = 60_000
    with quick():
        events = [event("cpu_op", f"n{i % 100}", *SHAPES[shape](i, count)) for i in range(count)]
        recording = read(events)
        table = op_table(recording.table("ops"))
    assert table.array("calls").sum() == count
    parent = recording.table("ops").array("parent")
    assert int(depths(parent).max()) == (
        count - 1 if shape == "each in the one before" else depths(parent).max()
    )


def test_a_million_nested_calls_are_placed_and_asked() -> None:
    count = 1_000_000
    start = np.arange(count)
    with quick():
        order, parent, _ = call_tree.nest(np.zeros(count), start, 2 * (count - start))
        ends = (start + 2 * (count - start))[order]
        found = call_tree.enclose(np.zeros(count), start[order], ends, parent, None, np.zeros(count), ends)
    assert parent.tolist()[:3] == [-1, 0, 1]
    assert (found == order).all()


def test_trees_cost_the_logarithm_of_their_depth() -> None:
    count = 200_000
    chain = np.arange(-1, count - 1)
    keep = np.arange(count) % 1000 == 0
    with quick():
        assert depths(chain)[-1] == count - 1
        assert skip(chain, keep)[-1] == count - 1000
        assert nearest(chain, keep)[-1] == count - 1000
        assert len(list(levels(depths(chain)))) == count
        assert sum_up(chain, np.ones(count, np.int64))[0] == count
        assert inside_same(np.arange(count) % 7, chain).sum() == count - 7
        start = np.arange(count)
        assert timeline(start, start, 2 * count - start, chain).at(np.array([count - 1]))[0] == count - 1


def test_modules_in_modules_do_not_fill_the_memory() -> None:
    count = 20_000
    with quick():
        found = read(
            [event("python_function", f"nn.Module: M_{i}", i, 2 * (count - i)) for i in range(count)]
        )
    assert max(map(len, found.table("ops").text("module").values)) < 5000


def test_devices_and_streams_are_bounded() -> None:
    for name, most in (("device", kineto_device.MOST_DEVICES), ("stream", kineto_device.MOST_STREAMS)):
        rows: list[dict[str, Any]] = [
            event("kernel", "k", i, 1, **{"stream": 7, "device": 0, name: i}) for i in range(most + 1)
        ]
        with pytest.raises(InputError, match=f"work on {most + 1} {name}s; at most {most}"):
            read(rows)


def perf_text(path: Path, frames: int) -> Path:
    lines = "".join(f"\t{i:x} f{i}+0x1 (/lib/x.so)\n" for i in range(frames))
    path.write_text(f"prog 1/1 1.000001: 10000 cpu-clock:\n{lines}\n")
    return path


def test_a_stack_of_half_a_million_frames(tmp_path: Path) -> None:
    with quick(60):
        recording = perf_script.read(perf_text(tmp_path / "perf.txt", 500_000))
    assert int(recording.table("stacks").array("depth").max()) == 500_000
    recording = perf_script.read(perf_text(tmp_path / "perf.txt", 50_000))
    with quick():
        data = VIEWS["stacks"].data(recording, ShowOptions())
        json.dumps(data["tree"])
    assert data["on_cpu_ms"] == 0.01
    assert len(list(collapsed_lines(profile_of(recording)))) == 1


def test_perf_samples_without_periods_cost_one_look_each(tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_text("".join(f"p 1/1 {i}.5: 1 cycles:\n\t1 f (x)\n\n" for i in range(50_000)))
    with quick():
        assert len(perf_script.read(path).table("samples")) == 50_000


@pytest.mark.parametrize(
    "line", ["a" + " " * 900_000, "   ff" + " " * 900_000, "a " * 400_000, "\t1 " + "(" * 900_000]
)
def test_long_lines_cost_no_more_than_their_length(line: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_text(f"p 1/1 1.5: 1 cycles:\n\t1 f (x)\n{line}\n")
    with quick():
        assert len(perf_script.read(path).table("samples")) == 1
        path.write_text(f"a;b 5\n{line}\n")
        collapsed.read(path)


def test_stacks_that_would_fill_a_disk_are_not_written_out(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    count = 20_000
    opened = [{"type": "O", "frame": 0, "at": i} for i in range(count)]
    profile = {"type": "evented", "name": "x", "unit": "nanoseconds", "startValue": 0, "events": opened}
    path.write_text(json.dumps({"shared": {"frames": [{"name": "f"}]}, "profiles": [profile]}))
    with quick():
        recording = speedscope.read(path)
        with pytest.raises(InputError, match="up to 20000 frames deep and would take 199990000 frames"):
            list(collapsed_lines(profile_of(recording)))


READERS = {
    "speedscope": speedscope.read, "mxnet": mxnet_trace.read, "mxnet table": mxnet_table.read,
    "perf": perf_script.read, "collapsed": collapsed.read, "onednn": onednn_log.read,
}  # fmt: skip


@pytest.mark.parametrize("name", list(READERS))
def test_gzip_bombs_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_bytes, "ALWAYS_BYTES", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b" " * 500 + (b"\n" + b" " * 500_000) * 40, 9))
    with quick(), pytest.raises(InputError, match="grows more than 250-fold"):
        READERS[name](path)


def test_a_trace_that_inflates_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b'{"schemaVersion": 1, "traceEvents": [' + b" " * 400_000_000, 9))
    with quick(), pytest.raises(InputError, match="trace"):
        open_any(path)


@pytest.mark.parametrize("time", ["1e400", "1e13", "-1", "-0.5", "nan", "inf"])
def test_times_of_no_clock_are_no_times(time: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    good = "onednn_verbose,v1,primitive,exec,cpu,matmul,brg,undef,src:f32,,,1x2:2x3,{}\n"
    mkl = "MKL_VERBOSE SGEMM(N,N,1,2,3) {}s CNR:OFF\n"
    path.write_text(good.format("0.5") + good.format(time) + mkl.format("2.0") + mkl.format(time))
    recording = onednn_log.read(path)
    assert recording.table("primitives").array("time_ms").tolist() == [0.5, 2000.0]
    assert losses(recording) == {"unparsed_line": 2}


@pytest.mark.parametrize("weight", ["9" * 29, "9" * 400, "1e5", "-4"])
def test_weights_of_no_clock_are_counted(weight: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"a;b 50\na;c {weight}\n")
    recording = collapsed.read(path)
    assert len(recording.table("samples")) == 1
    assert sum(losses(recording).values()) == 1


def test_speedscope_frames_that_are_not_there_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for stack in ([-1], [1], [True, 5], ["0"], [0.0]):
        profile = {"type": "sampled", "name": "x", "unit": "none", "samples": [[0], stack], "weights": [1, 1]}
        path.write_text(json.dumps({"shared": {"frames": [{"name": "f"}]}, "profiles": [profile]}))
        recording = speedscope.read(path)
        assert (len(recording.table("samples")), losses(recording)) == (1, {"bad_profile": 1})


@pytest.mark.parametrize("value", [None, "x", [], {}, True, 1e300, float("nan"), -(10**30)])
@pytest.mark.parametrize("key", ["ts", "pid", "tid", "name", "cat", "ph", "args"])
def test_mxnet_events_of_any_kind(key: str, value: Any, tmp_path: Path) -> None:
    common = {"name": "op", "cat": "operator", "pid": 0, "tid": 1}
    events = [{**common, "ph": "B", "ts": 1}, {**common, "ph": "E", "ts": 3}]
    events.append({"ph": "C", "name": "Memory: cpu/0", "ts": 1, "pid": 0, "args": {"Memory": 12}})
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"traceEvents": [*events, *({**e, key: value} for e in events)]}))
    assert len(mxnet_trace.read(path).table("ops")) >= 1


def test_every_importer_says_no_to_deep_json(tmp_path: Path) -> None:
    for start in ('{"traceEvents": ', '{"shared": {"frames": []}, "profiles": ', '{"Time": '):
        path = tmp_path / "x.json"
        path.write_text(start + "[" * 200_000)
        for read_file in (kineto.read, speedscope.read, mxnet_trace.read, mxnet_table.read):
            with pytest.raises(InputError):
                read_file(path)
