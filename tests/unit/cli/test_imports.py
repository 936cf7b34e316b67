"""What a command imports before it can answer: a heavy import costs every user at every start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TRACE = (
    Path(__file__).parents[2] / "data" / "traces" / "multirank" / "megatron_tp8" / "megatron_kineto_0.json.gz"
)
# Each takes 10 to 100 ms of CPU time to import, or is not ours to import at all.
HEAVY = {"duckdb", "rich", "torch", "pandas", "numpy.ma", "concurrent.futures", "zipfile", "logging"}


def imported(code: str) -> set[str]:
    """The modules that an interpreter has loaded after `code`, without those of its own start."""
    text = f"import sys; had = set(sys.modules); {code}; print('\\n'.join(set(sys.modules) - had), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_the_package_loads_nothing_else() -> None:
    assert imported("import sonde") == {"sonde", "sonde.version"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"]])
def test_help_loads_no_numbers(words: list[str]) -> None:
    loaded = imported(
        f"from sonde.cli.main import main\ntry: main({words!r})\nexcept SystemExit: pass\nimport sys"
    )
    assert not loaded & (HEAVY | {"numpy"})


def test_a_view_of_a_trace_loads_numpy_and_no_more() -> None:
    loaded = imported(f"from sonde.cli.main import main; main(['show', {str(TRACE)!r}, 'gpu'])")
    assert "numpy" in loaded
    assert not loaded & HEAVY
    assert len([name for name in loaded if name.startswith("sonde.")]) < 150


def test_steps_of_a_trace_load_no_more_either(tmp_path: Path) -> None:
    """np.median of floats would import numpy.ma, and the spread of step times is one."""
    trace = tmp_path / "steps.json"
    events = [
        {
            "ph": "X",
            "cat": cat,
            "name": name,
            "pid": pid,
            "tid": 1,
            "ts": 1000 * i + at,
            "dur": dur,
            "args": args,
        }
        for i in range(6)
        for cat, name, pid, at, dur, args in (
            ("user_annotation", f"ProfilerStep#{i}", 1, 0, 900 + 10 * i, {}),
            ("cuda_runtime", "cudaLaunchKernel", 1, 10, 5, {"correlation": i}),
            ("kernel", "gemm", 0, 40, 700, {"correlation": i, "device": 0, "stream": 7}),
        )
    ]
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
    loaded = imported(f"from sonde.cli.main import main; main(['show', {str(trace)!r}, 'gpu'])")
    assert "sonde.analyze.steps.trace" in loaded
    assert not loaded & HEAVY
