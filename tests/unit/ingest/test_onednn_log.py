"""The log reader against real logs of four libraries and samples of every version.

The oracle for times is independent of the reader: the last comma separated
field of every line that starts with a marker and ends in a number.
"""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.errors import InputError
from sonde.ingest import open_any
from sonde.ingest.verbose import onednn_log
from sonde.store.recording import Recording
from tests.environments import data_folder

DATA = Path(__file__).resolve().parents[2] / "data" / "onednn"
VERSIONS = DATA / "versions.txt"


SHARED = data_folder()
MXNET = sorted((SHARED / "mxnet").glob("verbose*.log*")) if SHARED else []
MXNET = [p for p in MXNET if "ONEDNN_VERBOSE" not in p.name]
TORCH = sorted(DATA.glob("*.log.gz"))


def text_of(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()


def plain_sum_ms(text: str) -> tuple[int, float]:
    """How many lines end in a time, and the sum of those times."""
    times = []
    for line in text.splitlines():
        found = re.fullmatch(r"(?:mkldnn|dnnl|onednn|onednn_graph)_verbose,.*,([\d.]+(?:e-?\d+)?)", line)
        if found and ",info," not in line and ":dispatch," not in line and ":check," not in line:
            times.append(float(found[1]))
        found = re.fullmatch(r"MKL_VERBOSE \w+\(.*\) ([\d.]+)(ns|us|ms|s) .*", line)
        if found:
            times.append(float(found[1]) * {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]])
    return len(times), math.fsum(times)


def losses(recording: Recording) -> dict[str, int]:
    table = recording.table("losses")
    return dict(zip(table.text("cause").tolist(), table.array("count").tolist(), strict=True))


@pytest.mark.parametrize("path", [VERSIONS, *TORCH, *MXNET], ids=lambda p: p.name)
def test_every_line_is_read_and_times_add_up_to_a_plain_sum(path: Path) -> None:
    recording = onednn_log.read(path)
    primitives = recording.table("primitives")
    count, total_ms = plain_sum_ms(text_of(path))
    assert count > 15
    assert len(primitives) == count
    assert math.fsum(primitives.array("time_ms")) == pytest.approx(total_ms, rel=1e-12)
    assert losses(recording) == {}
    assert not np.isnan(primitives.array("flops")[~_is_graph(recording)]).any()


def _is_graph(recording: Recording) -> np.ndarray:
    kinds = recording.table("primitives").text("kind").tolist()
    return np.array([str(kind).startswith("graph:") for kind in kinds])


@pytest.mark.skipif(not MXNET, reason="no folder of real traces (SONDE_DATA)")
def test_an_mxnet_log_tells_its_library_and_isa() -> None:
    path = next(p for p in MXNET if p.name == "verbose_cnn.log")
    recording = onednn_log.read(path)
    assert recording.meta.versions == {"onednn": "2.4.4"}
    assert recording.meta.details["onednn"]["isa"] == "Intel AVX-512 with Intel DL Boost"
    assert recording.meta.details["onednn"]["other_lines"] == 2


def test_the_sample_lines_of_each_version_say_what_they_are() -> None:
    primitives = onednn_log.read(VERSIONS).table("primitives")
    rows = list(
        zip(
            *(primitives.text(c).tolist() for c in ("event", "engine", "kind", "implementation", "isa")),
            strict=True,
        )
    )
    assert rows[0] == ("exec", None, "reorder", None, None)
    assert ("exec", None, "convolution", "jit:avx2", "avx2") in rows
    assert ("exec", "cpu", "matmul", "brg_matmul:avx512_core_amx", "avx512_core_amx") in rows
    assert ("exec", "gpu", "graph:sdp", "sdp_primitive_v1_kernel_t:dnnl_backend", None) in rows
    assert ("exec", "cpu", "graph:convolution_post_ops", "dnnl_backend", None) in rows
    graph = "larger_partition_kernel_t:dnnl_backend"
    assert ("compile:cache_miss", "cpu", "graph:matmul_post_ops", graph, None) in rows
    assert ("exec", "cpu", "brgemm", "", None) in rows
    assert ("exec", "cpu", "sgemm", None, None) in rows


def test_timestamps_become_nanoseconds_exactly(tmp_path: Path) -> None:
    line = "onednn_verbose,v1,1794777026205.673096,primitive,exec,cpu,reorder,jit:uni,undef,"
    line += "src:f32::blocked:ab::f0 dst:f32::blocked:ba::f0,,,2x3,{}\n"
    path = tmp_path / "log"
    path.write_text(line.format(0.5) + line.format(0.25).replace("205.673096", "206.000001"))
    recording = onednn_log.read(path, process=3, epoch_offset_ns=1_000)
    primitives = recording.table("primitives")
    assert primitives.array("start_ns").tolist() == [1794777026205672096, 1794777026205999001]
    assert primitives.array("process").tolist() == [3, 3]
    assert recording.meta.clock.sources == {"onednn": 245}


def test_a_matmul_line_of_v3_2_in_full(tmp_path: Path) -> None:
    primitives = onednn_log.read(VERSIONS).table("primitives")
    row = primitives.text("implementation").tolist().index("brg_matmul:avx512_core_amx")
    assert primitives.text("dtypes")[row] == '["bf16", "bf16", "bf16", "bf16"]'
    assert primitives.text("post_ops")[row] == '["eltwise_relu:0:0:1", "binary_add:bf16:3:ab"]'
    assert primitives.array("flops")[row] == 2 * 256 * 1024 * 4096
    # Source, weights, bias, destination, and the operand of the fused addition.
    elements = 256 * 1024 + 1024 * 4096 + 4096 + 256 * 4096 + 256 * 4096
    assert primitives.array("bytes")[row] == 2 * elements


def test_text_glued_in_front_and_two_records_in_one_line_are_taken_apart(tmp_path: Path) -> None:
    record = (
        "onednn_verbose,exec,cpu,eltwise,jit:avx2,forward_training,data_f32::blocked:ab:f0,,alg:eltwise_relu"
    )
    path = tmp_path / "log"
    path.write_text(f"epoch 1 loss 0.3 {record},4x4,0.5\n{record},4x4,{record},8x8,0.25\n")
    recording = onednn_log.read(path)
    primitives = recording.table("primitives")
    assert primitives.array("time_ms").tolist() == [0.5, 0.25]
    assert primitives.text("shape").tolist() == ["4x4", "8x8"]
    assert losses(recording) == {"unparsed_line": 1}  # the first half of the second line has no time


def test_unknown_lines_are_counted_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    strange = "onednn_verbose,v9,warp,exec,cpu,flux,none,12"
    path.write_text(strange + "\n" + VERSIONS.read_text())
    recording = onednn_log.read(path)
    assert losses(recording) == {"unparsed_line": 1}
    assert recording.meta.details["onednn"]["unparsed"] == [strange]


def test_a_log_cut_in_its_last_line_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(VERSIONS.read_text().rstrip()[:-40])
    assert "unterminated_line" in losses(onednn_log.read(path))


def test_gpu_work_without_a_time_keeps_its_row(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "mkldnn_verbose,exec,gpu,reorder,ocl:any,undef,"
        "src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,num:1,2x16\n"
    )
    primitives = onednn_log.read(path).table("primitives")
    assert np.isnan(primitives.array("time_ms")).tolist() == [True]
    assert primitives.text("shape")[0] == "2x16"


@pytest.mark.parametrize("content", ["", "hello\nworld\n", "\x00" * 100])
def test_a_file_without_a_verbose_line_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "log"
    path.write_text(content)
    with pytest.raises(InputError, match="no oneDNN or MKL verbose line"):
        onednn_log.read(path)


def test_diagnostics_are_gathered_with_their_reason() -> None:
    path = next(p for p in TORCH if "_all" in p.name)
    found = onednn_log.read(path).meta.details["onednn"]["diagnostics"]
    assert sum(d["count"] for d in found if d["topic"] == "dispatch") == text_of(path).count(":dispatch,")
    assert any("only unit strides" in d["text"] for d in found)


def test_bf16_of_torch_is_read_with_its_bytes_and_with_what_refused_it() -> None:
    recording = onednn_log.read(next(p for p in TORCH if "_bf16" in p.name))
    table = recording.table("primitives")
    linear = table.take(table.text("event").equals("exec") & table.text("kind").equals("matmul"))
    assert set(linear.text("dtypes").tolist()) == {'["u8", "s8", "bf16"]'}
    assert set(linear.text("quality").tolist()) == {"reference"}
    assert set(linear.array("flops").tolist()) == {2.0 * 64 * 128 * 256}
    assert set(linear.array("bytes").tolist()) == {
        64.0 * 128 + 128 * 256 + 2 * 64 * 256
    }  # two bytes a result
    reorder = table.take(table.text("dtypes").equals('["f32", "bf16"]'))
    assert set(reorder.array("bytes").tolist()) == {64.0 * 128 * (4 + 2)}
    refused = [d["text"] for d in recording.meta.details["onednn"]["diagnostics"] if d["topic"] == "dispatch"]
    alone = [t for t in refused if "src:bf16" in t and "wei:bf16" in t and "dst:bf16" in t]
    assert any(",ref:any," in t and "unsupported datatype" in t for t in alone)


def test_sniffing_knows_logs_from_other_files() -> None:
    assert onednn_log.sniff(VERSIONS.read_bytes()[:4096])
    assert onednn_log.sniff(b"loss 1\nMKL_VERBOSE oneMKL 2024.0\n")
    assert not onednn_log.sniff(b'{"traceEvents": []}')
    assert not onednn_log.sniff(b"")


LINES = [line for path in [VERSIONS, *TORCH[:2]] for line in text_of(path).splitlines() if "verbose" in line]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_damaged_logs_never_crash_and_never_lose_a_line_in_silence(
    tmp_path: Path, data: st.DataObject
) -> None:
    lines = [line.encode() for line in data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))]
    junk = st.binary(max_size=12).filter(lambda b: b"\n" not in b)
    for index in range(len(lines)):
        at = data.draw(st.integers(0, len(lines[index])))
        end = data.draw(st.integers(at, min(len(lines[index]), at + 20)))
        lines[index] = lines[index][:at] + data.draw(junk) + lines[index][end:]
    path = tmp_path / "log"
    path.write_bytes(b"\n".join(lines) + b"\n")
    try:
        recording = onednn_log.read(path)
    except InputError:
        return
    primitives = recording.table("primitives")
    details = recording.meta.details["onednn"]
    diagnostics = sum(d["count"] for d in details.get("diagnostics", []))
    headers = len(details["headers"]) + len(details.get("mkl", []))
    other = details["other_lines"] + losses(recording).get("unparsed_line", 0) + diagnostics
    assert len(primitives) + other <= len(lines) * 2
    # Equal headers count once, so this is an upper bound of what may be missing.
    assert len(primitives) + other + headers >= len(lines) - sum(b"info" in x or b"MKL" in x for x in lines)
    ends = {float(x) for line in lines for x in re.findall(rb"[\d.]+(?:e[+-]?\d+)?", line) if _is_float(x)}
    for time_ms, library in zip(
        primitives.array("time_ms"), primitives.text("library").tolist(), strict=True
    ):
        assert library == "mkl" or np.isnan(time_ms) or time_ms in ends


def _is_float(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("path", [VERSIONS, TORCH[0], *MXNET[:1]], ids=lambda p: p.name)
def test_a_log_is_found_by_its_content(path: Path) -> None:
    assert open_any(path).meta.source == "onednn"


def test_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(VERSIONS.read_bytes().replace(b"\n", b"\r\n"))
    found, plain = onednn_log.read(path), onednn_log.read(VERSIONS)
    assert losses(found) == {}
    times = [r.table("primitives").array("time_ms").tolist() for r in (found, plain)]
    assert times[0] == times[1]


@pytest.mark.parametrize(
    "text",
    [
        "nan",
        "inf",
        "1_0",
        " 1",
        "1 ",
        "",
        "0x1p3",
        "1e",
        "--1",
        "+1",
        "-0",
        "-1",
        ".5",
        "5.",
        "1.2.3",
        "e+5",
        "1e400",
    ],
)
def test_a_time_that_printf_never_writes_is_not_a_time(tmp_path: Path, text: str) -> None:
    line = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,2x3,"
    path = tmp_path / "log"
    path.write_text(f"{line}0.5\n{line}{text}\n")
    recording = onednn_log.read(path)
    assert recording.table("primitives").array("time_ms").tolist() == [0.5]
    assert losses(recording) == {"unparsed_line": 1}


@pytest.mark.parametrize(
    ("text", "time_ms"), [("0.25", 0.25), ("12", 12.0), ("1.5e-05", 1.5e-05), ("1.23457e+06", 1234570.0)]
)
def test_times_are_read_in_every_form_that_printf_writes(tmp_path: Path, text: str, time_ms: float) -> None:
    line = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,2x3,"
    path = tmp_path / "log"
    path.write_text(f"{line}{text}\n")
    recording = onednn_log.read(path)
    assert recording.table("primitives").array("time_ms").tolist() == [time_ms]
    assert losses(recording) == {}
