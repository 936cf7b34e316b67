"""One timed run of Sonde on the files given: what the suite hta starts in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's idle threads spin at their start
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def main() -> None:
    from benchmarks.lib.everything import everything
    from sonde.analyze.ranks.comparison import gpu_summary
    from sonde.ingest.ranks import engines

    wall = time.perf_counter()
    got = engines.run(everything, [Path(p) for p in sys.argv[1:]], workers=2)
    done = [m for m in got if not isinstance(m, engines.Failure)]
    found = gpu_summary([m.summary for m in done])
    wall = time.perf_counter() - wall
    use = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    times = [d.time for r in found.ranks for d in r.devices]
    result = {
        "cpu_s": sum(u.ru_utime + u.ru_stime for u in use),
        "read_cpu_s": sum(m.read_cpu_s for m in done),
        "analyse_cpu_s": sum(m.analyse_cpu_s for m in done),
        "wall_s": wall,
        "rows": sum(m.rows for m in done),
        "max_rss_mb": max(u.ru_maxrss for u in use) / 1024,
        "failed": len(got) - len(done),
        "stragglers": [s.rank for s in found.stragglers],
        "idle_percent": [round(100 * t.idle_ns / t.window_ns, 2) for t in times],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
