"""What kind a thread is, from how it was started and what it was seen doing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sonde.ingest.agent.frame_table import Frame

_OMP_LIBRARY = re.compile(r"^lib(?:gomp|iomp5|omp)\b")
_AUTOGRAD = re.compile(r"^torch::autograd::(?:python::Python)?Engine::(?:thread_init|thread_main|reentrant)")
_INTER_OP = re.compile(r"^c10::ThreadPool::main_loop")
_DATA_LOADER = re.compile(r"/torch/utils/data/")


def kind_of(raw_kind: str, start_library: str, start_name: str, frames: Iterable[Frame], owned: bool) -> str:
    """`frames`: all frames seen in the thread's own samples; `owned`: it worked for a pool's owner."""
    if raw_kind == "main":
        return "main"
    if raw_kind == "agent" or start_library.startswith("libsonde_"):
        return "sonde"
    seen_python = False
    for frame in frames:
        if frame.layer == "native" and _AUTOGRAD.match(frame.name):
            return "autograd"
        if frame.layer == "native" and _INTER_OP.match(frame.name):
            return "interop"
        if frame.layer == "python":
            seen_python = True
            if _DATA_LOADER.search(frame.file or "") and frame.name in ("_worker_loop", "_pin_memory_loop"):
                return "dataloader"
    if owned or _OMP_LIBRARY.match(start_library):
        return "omp"
    python_started = start_name in ("thread_run", "pythread_wrapper")
    return "python" if seen_python or python_started else "native"


def is_data_loader(frames: Iterable[Frame]) -> bool:
    """Was the process seen in the loop of a DataLoader worker?"""
    return any(
        f.layer == "python" and f.name == "_worker_loop" and _DATA_LOADER.search(f.file or "") for f in frames
    )
