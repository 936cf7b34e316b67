"""How long a report of a million samples and a million calls, and one of 512 ranks, takes to build and to open.

    python -m benchmarks report [--samples N] [--ops N]

Prints one line of JSON, also kept in benchmarks/results: seconds to build, size, and from
headless Chromium the time until the page is ready, the 95th percentile of frame times while panning and
zooming, and the time from a selection to its panel. The promise (build ≤ 10 s, open ≤ 2 s, p95 ≤ 33 ms, panel
≤ 100 ms, the view of 512 ranks ≤ 2 s, on an idle machine) is checked with --check.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
RANKS = 512


def main() -> int:
    from benchmarks.lib.environment import write
    from sonde.render.html import write_report
    from sonde.store.meta import Meta
    from sonde.store.recording import Recording
    from tests.fixtures.large import large_run
    from tests.fixtures.made_job import made_job

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--ops", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true", help="exit 1 when the promise is not kept")
    parser.add_argument("--keep", type=Path, help="write the page here and leave it")
    options = parser.parse_args()
    recording = large_run(options.samples, options.ops)
    with tempfile.TemporaryDirectory() as folder:
        page = options.keep or Path(folder) / "report.html"
        wall, cpu = time.perf_counter(), time.process_time()
        summary = write_report(recording, page)
        result: dict[str, Any] = {
            "build_s": round(time.perf_counter() - wall, 2),
            "build_cpu_s": round(time.process_time() - cpu, 2),
            "size_bytes": summary.size_bytes,
            "detail_level": summary.detail_level,
            "sample_rows": summary.sample_rows,
            "op_rows": summary.op_rows,
        }
        result["browser"] = _browser("measure.mjs", page.resolve())
        result["panel"] = _browser("clicks.mjs", page.resolve())
        job = Path(folder) / "job.html"
        made = made_job(RANKS, 20, lambda rank, step: 20.0 + (rank * 7 + step) % 5)
        write_report(Recording(Meta(source="run", program="job.py"), made), job)
        result["ranks"] = {
            "ranks": RANKS,
            **_browser("opens.mjs", job, "ranks", "[data-table=ranks] .table-row"),
        }
    print(json.dumps(result))
    print(write("report", {"samples": options.samples, "ops": options.ops, **result}))
    slow = [
        result["build_s"] > 10,
        result["browser"]["open_ms"] > 2000,
        *(view["frame_p95_ms"] > 33 for view in result["browser"]["frames"].values()),
        *(kind["median_ms"] > 100 for kind in result["panel"].values() if isinstance(kind, dict)),
        result["ranks"]["open_ms"] > 2000,
    ]
    return 1 if options.check and any(slow) else 0


def _browser(script: str, page: Path, *words: str) -> dict[str, Any]:
    """What one script of tests/browser printed of a page."""
    command = ["node", str(ROOT / "tests" / "browser" / script), str(page), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
