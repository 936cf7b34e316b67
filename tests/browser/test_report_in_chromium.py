"""The report in a real browser: what a person does, checked sentence by sentence.

Chromium is driven by playwright-core from web/node_modules (`npm install` in web/). The checks live in
checks.mjs; here the pages are made, the suites run, and each sentence is asserted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sonde.render.html import Insight, ReportOptions, write_diff_report, write_report
from sonde.store.meta import Meta
from sonde.store.recording import Recording
from sonde.views import VIEWS
from sonde.views.options import ShowOptions
from tests.environments import data_file
from tests.fixtures.comparison import comparison_of
from tests.fixtures.device_run import device_run
from tests.fixtures.hostile import hostile_run
from tests.fixtures.synthetic import training_run

ROOT = Path(__file__).resolve().parents[2]
# After a wanted change of the page: SONDE_LOOKS=write node tests/browser/looks.mjs PAGE VIEW …
LOOKED_AT = (
    *("overview", "timeline", "flame", "sandwich", "operators", "source", "memory", "primitives", "guide"),
    "operators?sel=opname:aten::gelu",
)
FIREFOX = os.environ.get("SONDE_FIREFOX", "/usr/bin/firefox-esr")
CHROMIUM = os.environ.get("SONDE_CHROMIUM", "/usr/bin/chromium")
pytestmark = [
    pytest.mark.skipif(
        not Path(CHROMIUM).exists(), reason=f"needs Chromium at {CHROMIUM} (apt-get install chromium)"
    ),
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js"),
    pytest.mark.skipif(
        not (ROOT / "web" / "node_modules" / "playwright-core").exists(),
        reason="needs playwright-core (npm install in web/)",
    ),
]


def run_suite(suite: str, page: Path) -> dict[str, str]:
    """Sentence → "ok" or what was seen instead."""
    done = subprocess.run(
        ["node", str(ROOT / "tests" / "browser" / "checks.mjs"), suite, str(page)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results: dict[str, str] = json.loads(done.stdout)
    assert results
    return results


def failures(results: dict[str, str]) -> dict[str, str]:
    return {sentence: seen for sentence, seen in results.items() if seen != "ok"}


def made_up() -> list[dict[str, object]]:
    """Insights of every shape that the rules make, through the same function as `sonde report`."""
    from sonde.insights.model import Evidence, Experiment, Saving
    from sonde.insights.model import Insight as Judgement
    from sonde.insights.to_json import insight_json

    evidence = (
        Evidence("aten::gelu takes 340 µs of a step", "op", "aten::gelu"),
        Evidence("gpt.py:30 runs it", "line", file=str(ROOT / "tests/data/programs/gpt.py"), line=30),
        Evidence("blocks.0.mlp holds it", "module", "blocks.0.mlp"),
        Evidence("_PyEval_EvalFrameDefault is busy", "frame", "_PyEval_EvalFrameDefault"),
        Evidence("a fifth piece is left out", "fact"),
    )
    first = Judgement(
        "fusion", "Fuse <b>GELU</b>", "Each pass reads everything again.", evidence,
        Saving(4.25, 9.5, 90.0), "high", "model = torch.compile(model)\nmodel(x)  # <script>",
        Experiment("patch", note="compare accuracy"),
    )  # fmt: skip
    unknown = Judgement(
        "threads", "Try fewer threads", "Spinning workers take turns.", (Evidence("30 % spins"),),
        None, "low", "OMP_NUM_THREADS=2 python train.py",
        Experiment("environment", environment={"OMP_NUM_THREADS": "2"}), "once",
    )  # fmt: skip
    return [insight_json(first), insight_json(unknown)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "gpt.html"
    simple = Insight("GELU runs alone", "aten::gelu moves 16 MB per call", "4–9 ms per step", "fuse it")
    findings = [
        {
            "severity": "warning",
            "what": "THP is off",
            "why": "page faults cost",
            "fix": "echo madvise > /sys/…",
        }
    ]
    write_report(training_run(), path, ReportOptions(insights=[*made_up(), simple], findings=findings))
    return path


def test_every_view_opens_and_is_readable_in_both_themes_and_at_400_px(page: Path) -> None:
    results = run_suite("views", page)
    assert len(results) == 22
    assert failures(results) == {}


def test_each_view_can_be_searched_linked_reached_by_keys_zoomed_and_saved_at_400_px(page: Path) -> None:
    results = run_suite("each", page)
    assert len(results) == 10 * 5 + 7  # seven of the ten have a picture that zooms
    assert failures(results) == {}


def test_the_report_can_be_used(page: Path) -> None:
    results = run_suite("use", page)
    assert len(results) >= 20
    assert failures(results) == {}


def run_script(script: str, *words: str) -> dict[str, str]:
    """Sentence → "ok" or what was seen instead, of another script in this folder."""
    done = subprocess.run(
        ["node", str(ROOT / "tests" / "browser" / script), *words],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results: dict[str, str] = json.loads(done.stdout)
    assert results
    return results


def test_what_people_want_to_know_takes_three_actions_at_most(page: Path) -> None:
    results = run_script("tasks.mjs", "cpu", str(page))
    assert len(results) >= 16
    assert failures(results) == {}


def test_axe_finds_no_barrier_in_any_view_in_either_theme(page: Path) -> None:
    views = (
        "overview",
        "timeline",
        "flame",
        "sandwich",
        "operators",
        "source",
        "memory",
        "primitives",
        "machine",
        "guide",
    )
    results = run_script("axe.mjs", str(page), *views, "operators?sel=opname:aten::gelu")
    assert len(results) == 2 * 11
    assert failures(results) == {}


def test_every_view_looks_as_it_did(page: Path) -> None:
    results = run_script("looks.mjs", str(page), *LOOKED_AT)
    assert len(results) == len(LOOKED_AT) + 1
    assert failures(results) == {}


def test_every_view_works_in_firefox(page: Path) -> None:
    if not Path(FIREFOX).exists():
        pytest.skip(f"needs Firefox at {FIREFOX} (apt-get install firefox-esr)")
    views = (
        "overview",
        "timeline",
        "flame",
        "sandwich",
        "operators",
        "source",
        "memory",
        "gpu",
        "primitives",
    )
    done = subprocess.run(
        [
            *("node", "--experimental-websocket", "--no-warnings"),
            *(str(ROOT / "tests" / "browser" / "firefox.mjs"), str(page), *views, "machine", "guide"),
        ],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results: dict[str, str] = json.loads(done.stdout)
    assert len(results) == len(views) + 3
    assert failures(results) == {}


def test_two_recordings_are_compared(tmp_path: Path) -> None:
    sides = training_run(), training_run(seed=8, slow=10.0)
    told = comparison_of(*sides)
    (tmp_path / "diff.json").write_text(json.dumps(told))  # what the page has to show
    write_diff_report(*sides, tmp_path / "diff.html", told)
    assert failures(run_suite("diff", tmp_path / "diff.html")) == {}


def test_a_real_gpu_trace(tmp_path: Path) -> None:
    from sonde.ingest import open_any

    write_report(open_any(data_file("traces/kineto_tb/resnet50_nw4_a.json.gz")), tmp_path / "gpu.html")
    assert failures(run_suite("gpu", tmp_path / "gpu.html")) == {}
    assert failures(run_script("tasks.mjs", "gpu", str(tmp_path / "gpu.html"))) == {}


def test_notes_and_idle_time_of_a_trace_of_two_ranks(tmp_path: Path) -> None:
    recording = device_run()
    recording.meta.details["notes"] = ["rank 2 is missing: the traces are of 0-1", "<b>x</b>.json is empty"]
    devices = VIEWS["gpu"].data(recording, ShowOptions())["devices"]
    told = {
        "notes": recording.meta.details["notes"],
        "idle": [f"{d['idle_host_ms']:.3g}" for d in devices],
    }
    (tmp_path / "ranks.json").write_text(json.dumps(told))
    write_report(recording, tmp_path / "ranks.html")
    results = run_suite("ranks", tmp_path / "ranks.html")
    assert len(results) == 3
    assert failures(results) == {}


@pytest.mark.timeout(600)
def test_hostile_names_deep_stacks_and_many_threads_are_harmless(tmp_path: Path) -> None:
    write_report(hostile_run(), tmp_path / "hostile.html")
    assert failures(run_suite("hostile", tmp_path / "hostile.html")) == {}


def test_an_empty_recording_explains_itself(tmp_path: Path) -> None:
    write_report(Recording(Meta(program="nothing.py")), tmp_path / "empty.html")
    assert failures(run_suite("empty", tmp_path / "empty.html")) == {}
