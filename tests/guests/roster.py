"""Every guest: a small program that must behave under Sonde as it does without.

One row per guest: a file of `programs`, its arguments and the packages that it needs. A guest prints the same on
every run, whatever the timing, so that its output can be compared byte by byte. `make proofs` installs
packages.txt into an environment of its own. A new guest is one file and one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Guest:
    """One program; `needs` are the modules that it imports beside the standard library."""

    name: str
    file: str
    arguments: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return PROGRAMS / self.file


GUESTS = (
    Guest("jax", "jax_training.py", needs=("jax",)),
    Guest("onnxruntime", "onnxruntime_inference.py", needs=("onnx", "onnxruntime")),
    Guest("numba", "numba_parallel.py", needs=("numba",)),
    Guest("xgboost", "xgboost_training.py", needs=("xgboost",)),
    Guest("lightgbm", "lightgbm_training.py", needs=("lightgbm",)),
    Guest("faiss", "faiss_search.py", needs=("faiss",)),
    Guest("openvino", "openvino_inference.py", needs=("openvino",)),
    Guest("opencv", "opencv_filters.py", needs=("cv2",)),
    Guest("tokenizers", "tokenizers_rayon.py", needs=("tokenizers",)),
    Guest("duckdb", "duckdb_queries.py", needs=("duckdb",)),
    Guest("sklearn-loky", "sklearn_loky.py", needs=("sklearn",)),
    Guest("gevent", "gevent_servers.py", needs=("gevent",)),
    Guest("uvloop", "uvloop_echo.py", needs=("uvloop",)),
    Guest("trio", "trio_tasks.py", needs=("trio",)),
    Guest("cython", "cython_compiled.py", needs=("Cython", "setuptools")),
    Guest("greenlet", "greenlet_switches.py", needs=("greenlet",)),
    Guest("multiprocessing-fork", "multiprocessing_pool.py", ("fork",)),
    Guest("multiprocessing-spawn", "multiprocessing_pool.py", ("spawn",)),
    Guest("multiprocessing-forkserver", "multiprocessing_pool.py", ("forkserver",)),
    Guest("fork-warnings", "fork_warnings.py"),
    Guest("daemon", "daemon.py"),
    Guest("exec-chain", "exec_chain.py"),
    Guest("thousand-threads", "thousand_threads.py"),
    Guest("deep-recursion", "deep_recursion.py"),
    Guest("faulthandler", "faulthandler_enabled.py"),
    Guest("segfault", "segfault.py"),
    Guest("itimer-prof", "own_profiling_timer.py"),
    Guest("interrupted-read", "interrupted_read.py"),
    Guest("sigwait", "sigwait_thread.py"),
    Guest("sigwait-prof", "sigwait_thread.py", ("prof",)),
    Guest("signalfd", "signalfd_loop.py"),
    Guest("signalfd-prof", "signalfd_loop.py", ("prof",)),
    Guest("seccomp-refuse", "seccomp_filter.py", ("refuse",)),
    Guest("seccomp-kill", "seccomp_filter.py", ("kill",)),
    Guest("siglongjmp", "siglongjmp.c"),
    Guest("stack-in-heap", "stack_in_heap.c"),
)
BUILT_IN = tuple(guest for guest in GUESTS if not guest.needs)  # what `make test` runs
