"""Views of real GPU traces against the raw events, and against TraceLens (commit 171dd747) where it is right."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sonde.cli.main import main
from tests.oracle.traces import MEGATRON, trace
from tests.unit.render.reading import read_page

VIT = "tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz"
BERT = "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz"
SAM = "samfast/asdf_True_tiny.json.gz"
FLASH, EFFICIENT = (
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
)
VIEWS = ("gpu", "ops", "steps", "losses", "quality")


def shown(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> dict[str, Any]:
    assert main(["show", str(path), *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def raw(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(trace(name).read_bytes()))
    return found


# What TraceLens says: milliseconds busy and idle, and GFLOP and kernel time (µs) of operators whose formula is ours.
@pytest.mark.parametrize(
    ("name", "busy_ms", "idle_ms", "operators"),
    [
        (VIT, 1.225309, 6.334535, {FLASH: (5.722620, 122.848)}),
        (BERT, 0.309438, 3.598387, {FLASH: (0.162865, 37.408)}),
        (
            SAM,
            436.316,
            41.499,
            {FLASH: (75.264688, 27975), EFFICIENT: (137.682944, 5155), "aten::mm": (5287.971914, 23448)},
        ),
    ],
)
def test_busy_time_and_flops_are_those_of_tracelens(
    name: str,
    busy_ms: float,
    idle_ms: float,
    operators: dict[str, tuple[float, float]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = shown(capsys, trace(name), "gpu")
    (device,) = found["devices"]
    assert (device["busy_ms"], device["idle_ms"]) == (
        pytest.approx(busy_ms, abs=2e-6),
        pytest.approx(idle_ms, abs=2e-6),
    )
    rows = {row["name"]: row for row in found["ranks"][0]["achieved"]["rows"]}
    for operator, (gflop, kernel_us) in operators.items():
        row = rows[operator]
        assert row["device_ms"] * 1e3 == pytest.approx(kernel_us, rel=1e-5)
        assert row["tflops"] * row["device_ms"] == pytest.approx(gflop, rel=1e-5)


def test_causal_flash_attention_has_half_the_flops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No trace at hand is causal; this is a real one whose calls say that they are."""
    document = raw(VIT)
    for event in document["traceEvents"]:
        if event["name"] == FLASH:
            assert event["args"]["Concrete Inputs"][4] == "False"
            event["args"]["Concrete Inputs"][4] = "True"
    (tmp_path / "causal.json").write_text(json.dumps(document))
    full, half = (
        {row["name"]: row["tflops"] for row in shown(capsys, path, "gpu")["ranks"][0]["achieved"]["rows"]}
        for path in (trace(VIT), tmp_path / "causal.json")
    )
    assert half.pop(FLASH) == pytest.approx(full.pop(FLASH) / 2)
    assert half == full


def test_mfu_says_of_which_part_of_the_device_time_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, trace(SAM), "gpu")["ranks"][0]["achieved"]
    assert found["covered"] == pytest.approx(0.785, abs=0.001)
    assert found["mfu_of_covered"] == pytest.approx(found["mfu"] / found["covered"])
    assert main(["show", str(trace(SAM)), "gpu"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "MFU at least 5.7 % of 312 TFLOP/s (dense 16 bit): FLOPs are known for 78.5 % of" in said
    assert main(["show", str(trace(VIT)), "gpu"]) == 0
    assert "MFU 1.7 % of 989 TFLOP/s" in capsys.readouterr().out


def test_shapes_without_linked_kernels_are_not_called_missing_shapes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = shown(capsys, trace("ao/quantize_vit_bfloat16.json.gz"), "gpu")["ranks"][0]["achieved"]
    assert found["why_unknown"] == "no kernel is linked to the matrix operators, whose shapes are known"


def test_limit_reaches_every_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    events = raw(SAM)["traceEvents"]
    time_us: dict[str, float] = {}
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            time_us[event["name"]] = time_us.get(event["name"], 0) + event["dur"]
    assert len(time_us) > 100
    kernels = shown(capsys, trace(SAM), "gpu", "--limit", "1000")["ranks"][0]["kernels"]
    assert {k["name"]: pytest.approx(k["total_ms"] * 1e3) for k in kernels} == time_us
    few = shown(capsys, trace(SAM), "gpu", "--limit", "30")["ranks"][0]
    assert (len(few["kernels"]), few["rows_in_all"]["kernels"]) == (30, len(time_us))


def test_the_page_has_the_idle_split_of_show_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (device,) = shown(capsys, trace(VIT), "gpu")["devices"]
    page = tmp_path / "page.html"
    assert main(["report", str(trace(VIT)), "-o", str(page)]) == 0
    (told,) = read_page(page)["facts"]["answers"]["gpu"]["devices"]
    for part in ("host", "kernel", "sync", "other"):
        assert told[f"idle_{part}_ms"] == device[f"idle_{part}_ms"], part


def folder_of(tmp_path: Path, ranks: tuple[int, ...]) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    for rank in ranks:
        shutil.copy(trace(MEGATRON[rank]), folder)
    return folder


def test_a_missing_empty_cut_or_foreign_rank_is_named_before_every_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(tmp_path, (0, 1, 2, 3, 6))
    (folder / "megatron_kineto_5.json").write_text("")
    (folder / "notes.json").write_text('{"lr": 1}')
    cut = raw(MEGATRON[7])
    text = json.dumps(cut)
    (folder / "megatron_kineto_7.json").write_text(text[: len(text) // 2])
    for view in VIEWS:
        assert main(["show", str(folder), view]) == 0
        first = capsys.readouterr().out.split("\n\n")[0]
        assert "ranks 4-5 are missing" in first, view
        assert "megatron_kineto_5.json is empty" in first, view
        assert "notes.json is not a trace" in first, view
        assert "megatron_kineto_7.json (rank 7) is incomplete" in first, view
    found = shown(capsys, folder, "gpu")
    assert [d["rank"] for d in found["devices"]] == [0, 1, 2, 3, 6, 7]
    assert any("ranks 4-5 are missing" in note for note in found["notes"])


def test_two_runs_in_one_folder_are_two(capsys: pytest.CaptureFixture[str]) -> None:
    folder = trace("multirank/torchrec/sst_long_a2a_optimizer_2")
    last, first, second = (
        shown(capsys, folder, "gpu", *words) for words in ((), ("--run", "1"), ("--run", "2"))
    )
    assert "the folder holds 2 runs" in last["notes"][0]
    assert last["devices"] == second["devices"]
    assert first["devices"] != second["devices"]
    for one in (first, second):
        assert sorted(d["rank"] for d in one["devices"]) == [0, 1, 2, 3]


def test_kernels_launched_before_the_trace_have_a_name_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By correlation: those without a launch whose number is below every launch of the trace."""
    name = "multirank/torchrec/sst_long_a2a_optimizer_2"
    path = sorted(trace(name).iterdir())[0]
    events = json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())[
        "traceEvents"
    ]
    launches = {
        e["args"]["correlation"]
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and e.get("args", {}).get("correlation")
    }
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    orphans = [e for e in work if e["args"].get("correlation") not in launches]
    early = [e for e in orphans if 0 < e["args"].get("correlation", 0) < min(launches)]
    assert orphans
    (device,) = shown(capsys, path, "gpu")["devices"]
    assert device["kernels_without_launch"] == len(orphans)
    assert device["kernels_launched_before_trace"] == len(early)
    assert device["launched_before_trace_ms"] == pytest.approx(sum(e["dur"] for e in early) / 1e3, abs=1e-5)
