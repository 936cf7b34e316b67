"""Write hta-0.5.0.json: what HolisticTraceAnalysis itself says about our traces.

Run by hand, in an environment with HolisticTraceAnalysis==0.5.0 and pandas<2.3:
    python tests/golden/make_hta.py ../shared/data/traces
Microseconds and percentages as HTA prints them. Tests compare Sonde with the file and do not need HTA.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

SETS: dict[str, list[str]] = {
    "megatron_tp8": [f"multirank/megatron_tp8/megatron_kineto_{r}.json.gz" for r in range(8)],
    "sam_eager": ["samfast/asdf_False_b.json.gz"],
    "sam_compiled": ["samfast/asdf_True_b.json.gz"],
    "sam_eager_small": ["samfast/asdf_False_small.json.gz"],
    "sam_compiled_small": ["samfast/asdf_True_small.json.gz"],
    "h100_bert": ["tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz"],
    "h100_owlv2": ["tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"],
    "mi300_bert": ["tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz"],
    "ns_resolution": ["hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"],
    "mtia": ["hta/mtia_trace_single_rank/mtia_rank_0.json.gz"],
    "trace_filter": ["hta/trace_filter/sampled_rank-0.json.gz", "hta/trace_filter/sampled_rank-1.json.gz"],
    "trace_diff_control": ["hta/trace_diff/control/control.json.gz"],
    "alexnet": ["hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz"],
    "simple_add": ["hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz"],
    "resnet50_nw0": ["kineto_tb/resnet50_nw0_a.json.gz"],
    "resnet50_nw4": ["kineto_tb/resnet50_nw4_a.json.gz"],
    "switch": ["misc/switch_trace.json.gz"],
}


def rows(frame: Any) -> list[dict[str, Any]]:
    return json.loads(frame.to_json(orient="records"))


def ask(name: str, call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        print(f"  {name}: {type(error).__name__} {error}"[:150])
        return {"raises": type(error).__name__}


def analyse(files: list[Path]) -> dict[str, Any]:
    from hta.trace_analysis import TraceAnalysis

    with tempfile.TemporaryDirectory() as folder:
        named = {i: str(f) for i, f in enumerate(files)}
        analyzer = TraceAnalysis(trace_files=named, trace_dir=folder)
    ranks = list(named)
    frames = {r: analyzer.t.get_trace(r) for r in ranks}
    return {
        "gpu_events": {str(r): int((f["stream"] != -1).sum()) for r, f in frames.items()},
        "temporal": ask("temporal", lambda: rows(analyzer.get_temporal_breakdown(visualize=False))),
        "idle": ask("idle", lambda: rows(analyzer.get_idle_time_breakdown(ranks=ranks, visualize=False)[0])),
        "overlap": ask("overlap", lambda: rows(analyzer.get_comm_comp_overlap(visualize=False))),
        "kernel_types": ask(
            "kernel types", lambda: rows(analyzer.get_gpu_kernel_breakdown(visualize=False)[0])
        ),
        "launch": ask(
            "launch",
            lambda: {
                str(r): {
                    "count": len(f),
                    "cpu": int(f["cpu_duration"].sum()),
                    "gpu": int(f["gpu_duration"].sum()),
                    "delay": int(f["launch_delay"].sum()),
                }
                for r, f in analyzer.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False).items()
            },
        ),
        "queue": ask(
            "queue",
            lambda: json.loads(analyzer.get_queue_length_summary(ranks=ranks)["queue_length"].to_json()),
        ),
        "stragglers": ask("stragglers", lambda: list(analyzer.get_potential_stragglers())),
    }


def main() -> None:
    logging.disable(logging.CRITICAL)
    root = Path(sys.argv[1])
    result = {}
    for name, files in SETS.items():
        print(name, flush=True)
        result[name] = {"files": files, **ask(name, lambda files=files: analyse([root / f for f in files]))}
    out = Path(__file__).with_name("hta-0.5.0.json")
    out.write_text(json.dumps(result, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
