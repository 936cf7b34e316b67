"""One timed run of HTA on the files given. Runs in HTA's own environment: it must not import Sonde."""

from __future__ import annotations

import json
import logging
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any


def cpu_seconds() -> float:
    use = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in use)


def main() -> None:
    from hta.trace_analysis import TraceAnalysis

    wall = time.perf_counter()
    files = dict(enumerate(sys.argv[1:]))
    trace = TraceAnalysis(trace_files=files, trace_dir="/tmp", include_last_profiler_step=True)
    loaded = cpu_seconds()
    ranks = list(files)
    failed = []

    def ask(name: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}")

    temporal = ask("temporal", lambda: trace.get_temporal_breakdown(visualize=False))
    ask("idle", lambda: trace.get_idle_time_breakdown(ranks=ranks, visualize=False))
    ask("kernels", lambda: trace.get_gpu_kernel_breakdown(visualize=False))
    ask("overlap", lambda: trace.get_comm_comp_overlap(visualize=False))
    ask("launch", lambda: trace.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False))
    ask("queue", lambda: trace.get_queue_length_summary(ranks=ranks))
    ask("bandwidth", lambda: trace.get_memory_bw_summary(ranks=ranks))
    ask("stragglers", lambda: trace.get_potential_stragglers())
    ask(
        "critical path",
        lambda: trace.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1),
    )
    result = {
        "cpu_s": cpu_seconds(),
        "load_cpu_s": loaded,
        "wall_s": time.perf_counter() - wall,
        "rows": sum(len(trace.t.get_trace(r)) for r in ranks),
        "max_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "failed": failed,
        "idle_percent": None if temporal is None else temporal["idle_time_pctg"].tolist(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose hta.py would hide the package
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    main()
