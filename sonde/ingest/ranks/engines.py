"""Where the per-rank stage runs: in this process, on a local pool, or on Ray.

Enters: one function and a list of paths. Leaves: its results in the order of the paths.
The function takes one path and returns something small, so engines differ in speed and never in results.
A file that cannot be read becomes a `Failure`: one bad rank does not lose the others.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, Union

from sonde.errors import EnvironmentLacks, UsageError, expected
from sonde.ingest import Failure

ENGINES = ("local", "ray")
Result = TypeVar("Result")


Outcome = Union[Result, Failure]


def run(
    stage: Callable[[Path], Result], paths: Sequence[Path], engine: str = "local", workers: int | None = None
) -> list[Outcome[Result]]:
    """`stage` of every path. `workers` limits how many run at once; by default one per usable CPU."""
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}", f"use one of {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise UsageError(f"{workers} workers cannot do anything", "give 1 or more")
    if engine == "ray":
        return _on_ray(stage, paths, workers)
    count = min(workers or usable_cpus(), len(paths))
    if count <= 1:
        return [guarded(stage, p) for p in paths]
    return _on_pool(stage, paths, count)


def usable_cpus() -> int:
    """CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def guarded(stage: Callable[[Path], Result], path: Path) -> Outcome[Result]:
    """The stage's result, or the expected failure as a value."""
    try:
        return stage(path)
    except Exception as error:
        known = expected(error)
        if known is None:
            raise
        return Failure(path, known.message)


def _on_pool(stage: Callable[[Path], Result], paths: Sequence[Path], count: int) -> list[Outcome[Result]]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    method = "fork" if may_fork() else "spawn"
    with ProcessPoolExecutor(count, get_context(method), initializer=_prepare_worker) as pool:
        try:
            return list(pool.map(guarded, [stage] * len(paths), paths))
        except BrokenProcessPool:
            raise EnvironmentLacks(
                "a process that read traces was killed, most likely for lack of memory", "read fewer at once"
            ) from None


def _prepare_worker() -> None:
    """End a worker at once on Ctrl-C; use the memory of one file again for the next.

    glibc gives large blocks back at once, so every page of the next file would fault anew: some 20 ms a file.
    Collections of garbage would go through all that was imported, and unshare its pages. Only in workers,
    which are ours and end with the last file.
    """
    import ctypes
    import gc
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says so, once; a worker has nothing to tidy up
    gc.freeze()
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        trim_threshold, top_pad, mmap_threshold = -1, -2, -3  # malloc.h
        mallopt(mmap_threshold, 32 << 20)  # the most that glibc takes
        mallopt(trim_threshold, 1 << 30)
        mallopt(top_pad, 16 << 20)


def may_fork() -> bool:
    """Whether workers may start as copies of this process, which spares each of them all imports.

    Threads do not survive a fork and may hold locks, so: one Python thread, and none of the libraries that
    keep native ones. Those of OpenBLAS, which come with numpy, are stopped and started by its own handlers.
    """
    import threading

    if not hasattr(os, "fork") or threading.active_count() > 1:
        return False
    return not any(name in sys.modules for name in ("duckdb", "torch", "ray", "pyarrow", "polars"))


def _on_ray(
    stage: Callable[[Path], Result], paths: Sequence[Path], workers: int | None
) -> list[Outcome[Result]]:
    try:
        import ray
    except ImportError:
        raise EnvironmentLacks(
            "the engine ray needs Ray, which is not installed", "pip install 'sonde-profiler[ray]'"
        ) from None
    with _stdout_on_stderr():
        started = not ray.is_initialized()
        if started:
            _start_ray(ray, workers)
        try:
            task: Any = ray.remote(num_cpus=1)(guarded)
            whole: Any = ray.put(stage)
            results: list[Outcome[Result]] = ray.get([task.remote(whole, p) for p in paths])
            return results
        finally:
            if started:
                ray.shutdown()


@contextlib.contextmanager
def _stdout_on_stderr() -> Iterator[None]:
    """Whatever Ray and the processes that it starts print goes to stderr: our stdout may be JSON."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # the caller closed it: nothing to protect
        kept = -1
    try:
        if kept >= 0:
            os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if kept >= 0:
            os.dup2(kept, 1)
            os.close(kept)


def _start_ray(ray: Any, workers: int | None) -> None:
    """Join the cluster that RAY_ADDRESS names, or start one on this machine."""
    quiet = {"log_to_driver": False, "configure_logging": False}
    try:
        if os.environ.get("RAY_ADDRESS"):
            ray.init(**quiet)  # a running cluster has its own CPU count
        else:
            ray.init(num_cpus=workers, include_dashboard=False, **quiet)
    except Exception as error:  # Ray raises plain exceptions when its daemons do not come up
        raise EnvironmentLacks(
            f"Ray could not be started: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            "start a cluster with `ray start --head` and set RAY_ADDRESS, or use the engine local",
        ) from error
