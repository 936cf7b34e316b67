"""What HTA reads from a trace, as JSON: run with a Python that has HTA.   python hta_totals.py TRACE"""

import json
import logging
import os
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found]  # noqa: E402

analysis = TraceAnalysis(trace_files={0: os.path.abspath(sys.argv[1])}, trace_dir="")
trace, names = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
device = trace[trace["stream"] != -1]
totals = device.groupby("name")["dur"].agg(["sum", "count"])
launches = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
found = {
    "temporal": analysis.get_temporal_breakdown(visualize=False).to_dict("records"),
    "kernels": {names[i]: [int(row["sum"]), int(row["count"])] for i, row in totals.iterrows()},
    "launches": len(launches),
}
print(json.dumps(found))
