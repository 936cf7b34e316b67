"""Step aside when the program uses torch.profiler itself, and learn where it exports its trace.

raw/PID.own-traces.jsonl: {"path", "time_ns", "epoch_offset_ns"}, one line per export. The
file is linked into raw/ at once where that is possible, because programs export to
temporary folders; otherwise the path alone is kept.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

from sonde import rawfolder
from sonde.record.inside.patch import wrap
from sonde.record.inside.session import now_ns

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation


def observe(torch: Any, seen: Observation) -> None:
    """Watch the start of every Python-level profiler, and exports."""
    count = [0]

    def make_start(original: Any) -> Any:
        def start(self: Any, *args: Any, **kwargs: Any) -> Any:
            seen.windows.step_aside("the program uses torch.profiler; Sonde opens no windows of its own")
            return original(self, *args, **kwargs)

        return start

    def make_export(original: Any) -> Any:
        def export_chrome_trace(self: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, path, *args, **kwargs)
            try:
                remember(os.path.abspath(path))
            except Exception as error:
                seen.session.lose("own_trace_unknown", 1, "files", f"{path}: {error}")
            return result

        return export_chrome_trace

    def remember(path: str) -> None:
        kind = rawfolder.OWN_TRACE_PACKED if path.endswith(".gz") else rawfolder.OWN_TRACE
        kept = kind.path(seen.session.raw, os.getpid(), count[0])
        count[0] += 1
        try:
            os.link(path, kept)
        except OSError:
            kept = path
        line = {"path": kept, "from": path, "time_ns": now_ns(), "epoch_offset_ns": time.time_ns() - now_ns()}
        name = rawfolder.OWN_TRACES.path(seen.session.raw, os.getpid())
        with open(name, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    legacy = torch.autograd.profiler.profile
    if not wrap(legacy, "_prepare_trace", make_start):
        wrap(legacy, "__enter__", make_start)
    from torch.profiler import profiler

    if not wrap(profiler._KinetoProfile, "export_chrome_trace", make_export):
        wrap(legacy, "export_chrome_trace", make_export)
