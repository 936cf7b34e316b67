"""Other tools' own readers accept what Sonde exports, and add up the same figures.

speedscope is the npm package, opened in Chromium; pprof is Go's own tool; Perfetto's messages are parsed
with the classes of its PyPI package, which know every field. `make test` installs all three. The Firefox
Profiler's reader is in no package: tests/unit/export/firefox_types.py holds its types instead. A GPU trace
that leaves as Chrome JSON is judged by torch's own validator and read by HTA, where that is installed.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sonde.export import FORMATS
from sonde.export.profile import profile_of
from sonde.store.recording import Recording
from tests.browser.test_report_in_chromium import CHROMIUM
from tests.environments import data_file, python_of
from tests.fixtures.synthetic import training_run

ROOT = Path(__file__).resolve().parents[2]
SPEEDSCOPE = ROOT / "web" / "node_modules" / "speedscope" / "dist" / "release"
PPROF = ROOT / ".make" / "pprof"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return training_run()


@pytest.fixture(scope="module")
def files(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("exports")
    made = {}
    for name in ("speedscope", "collapsed", "pprof", "chrome", "perfetto"):
        made[name] = folder / f"run{FORMATS[name].suffix}"
        with made[name].open("wb") as stream:
            FORMATS[name].writer()(recording, stream)
    return made


def self_ns(recording: Recording) -> dict[str, int]:
    """Own time of each function, added up here without any exporter."""
    profile = profile_of(recording)
    found: dict[str, int] = {}
    for node, ns in zip(profile.stack.tolist(), profile.weight_ns.tolist(), strict=True):
        label = profile.labels[int(profile.frame[node])]
        found[label] = found.get(label, 0) + ns
    return found


@pytest.mark.skipif(not SPEEDSCOPE.exists(), reason="needs the speedscope package (npm install in web/)")
@pytest.mark.skipif(
    importlib.util.find_spec("jsonschema") is None, reason="needs jsonschema (pip install jsonschema)"
)
def test_speedscope_schema_accepts_the_file(files: dict[str, Path]) -> None:
    import jsonschema

    schema = json.loads((SPEEDSCOPE / "file-format-schema.json").read_text())
    document = json.loads(files["speedscope"].read_text())
    jsonschema.validate(document, schema)
    document["profiles"][0]["weights"] = "none"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


@pytest.mark.skipif(not SPEEDSCOPE.exists(), reason="needs the speedscope package (npm install in web/)")
@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"needs Chromium at {CHROMIUM}")
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_speedscope_itself_opens_four_formats(files: dict[str, Path], recording: Recording) -> None:
    wanted = ["speedscope", "collapsed", "pprof", "chrome"]
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("speedscope.mjs")), *(str(files[n]) for n in wanted)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    seen: dict[str, dict[str, Any]] = json.loads(done.stdout)
    for name in wanted:
        shown = seen[str(files[name])]
        assert shown["problems"] == [], name
        assert "Sandwich" in shown["text"], name
    # collapsed has one profile for all threads, so its largest self time is the recording's.
    heaviest = max(self_ns(recording).items(), key=lambda item: item[1])
    rows = re.findall(
        r"([\d,]+) \([^)]*\)\n\t([\d,]+) \([^)]*\)\n\t(.*)", seen[str(files["collapsed"])]["text"]
    )
    largest = max(((int(own.replace(",", "")), name) for _, own, name in rows))
    assert largest == (heaviest[1], heaviest[0])


@pytest.mark.skipif(not PPROF.exists(), reason="needs go tool pprof (scripts/pprof.sh .make/pprof)")
def test_go_tool_pprof_reads_and_adds_up(files: dict[str, Path], recording: Recording) -> None:
    done = subprocess.run(
        [str(PPROF), "-top", "-nodecount=1000000", "-nodefraction=0", "-unit=ns", str(files["pprof"])],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    rows = re.findall(
        r"^ *([\d.]+)(?:ns)? +[\d.]+% +[\d.]+% +([\d.]+)(?:ns)? +[\d.]+% +(.*)$", done.stdout, re.MULTILINE
    )
    expected = {name: ns for name, ns in self_ns(recording).items() if ns > 0}
    # pprof writes a file beside the name only in other reports; -top prints the function alone.
    assert {name: int(float(flat)) for flat, _, name in rows if float(flat) > 0} == expected
    raw = subprocess.run(
        [str(PPROF), "-raw", str(files["pprof"])], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert "samples/count cpu/nanoseconds" in raw
    broken = files["pprof"].with_name("broken.pb.gz")
    broken.write_bytes(gzip.compress(gzip.decompress(files["pprof"].read_bytes())[:-7]))
    refused = subprocess.run([str(PPROF), "-raw", str(broken)], capture_output=True, timeout=60, check=False)
    assert refused.returncode != 0


@pytest.mark.skipif(
    importlib.util.find_spec("perfetto") is None, reason="needs perfetto (pip install perfetto)"
)
def test_perfetto_messages_are_all_known_fields(files: dict[str, Path], recording: Recording) -> None:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

    trace = protos.Trace()
    data = files["perfetto"].read_bytes()
    assert trace.ParseFromString(data) == len(data)
    before = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == before, "some fields are not Perfetto's"
    weights = begins = 0
    tracks = set()
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks.add(packet.track_descriptor.uuid)
        if packet.HasField("track_event") and packet.track_event.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            begins += 1
            assert packet.track_event.track_uuid in tracks
            assert packet.track_event.name
        if packet.HasField("perf_sample"):
            weights += packet.perf_sample.timebase_count
    assert begins == sum(len(recording.table(t)) for t in ("ops", "kernels", "marks"))
    assert weights == int(profile_of(recording).weight_ns.sum())


GPU_TRACES = ["kineto_tb/resnet50_nw4_a.json.gz", "samfast/asdf_True_tiny.json.gz"]


def exported(name: str, folder: Path) -> tuple[Path, Path]:
    """A real trace, and what Sonde writes of it."""
    from sonde.ingest import open_any

    source = data_file(f"traces/{name}")
    made = folder / "again.json"
    with made.open("wb") as stream:
        FORMATS["chrome"].writer()(open_any(source), stream)
    return source, made


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None
    or importlib.util.find_spec("torch.profiler._trace_validator") is None,
    reason="needs torch 2.13 or later, which has a validator of traces",
)
@pytest.mark.parametrize("name", GPU_TRACES)
def test_torch_s_own_validator_accepts_a_gpu_trace(name: str, tmp_path: Path) -> None:
    from torch.profiler._trace_validator import validate_trace

    _, made = exported(name, tmp_path)
    assert validate_trace(str(made)) == (True, [])


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None
    or importlib.util.find_spec("torch.profiler._trace_validator") is None,
    reason="needs torch 2.13 or later, which has a validator of traces",
)
def test_torch_s_own_validator_sees_launches_and_kernels_of_ours(tmp_path: Path) -> None:
    from torch.profiler._trace_validator import validate_trace

    _, made = exported(GPU_TRACES[0], tmp_path)
    document = json.loads(made.read_text())
    for event in document["traceEvents"]:
        if event.get("cat") == "kernel":
            event["ts"] -= 1e9  # before its launch
    made.write_text(json.dumps(document))
    passed, violations = validate_trace(str(made))
    assert not passed
    assert len(violations) > 1000


@pytest.mark.parametrize(
    "name", [*GPU_TRACES, "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"]
)
def test_hta_finds_the_same_kernels_in_what_leaves_as_in_what_came(name: str, tmp_path: Path) -> None:
    python = python_of("hta", "hta")
    seen = []
    for path in exported(name, tmp_path):
        words = [python, str(Path(__file__).with_name("hta_totals.py")), str(path)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        seen.append(json.loads(done.stdout.splitlines()[-1]))
    assert sum(count for _, count in seen[0]["kernels"].values()) > 1000
    assert seen[1] == seen[0]
