"""What the program is set to: threads, debug switches, optimizer, loaders, libraries. Written once or twice.

Leaves marks of kind "settings", each a JSON object: one when the first optimizer step ends, one for each
DataLoader that is iterated over (once), one at exit. What is left in place per step is one look at a flag.
Questions that torch cannot answer in this version are left out. They are asked in the program's own time: what is only
needed at the end is imported there, and patterns are compiled where something may match.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sonde.record.frameworks.torch.inside import hooks
from sonde.record.inside.patch import wrap
from sonde.record.inside.placement import Ticks, numa_bytes, physical_cpus, scheduling
from sonde.record.inside.session import now_ns

if TYPE_CHECKING:
    from sonde.record.inside.observation import Observation

OPENMP = (b"libgomp", b"libiomp5", b"libomp")
ALLOCATORS = (b"libjemalloc", b"libtcmalloc", b"libmimalloc")
MOST_LOADERS = 16
MOST_THREADS = 256


def observe(torch: Any, seen: Observation) -> None:
    """Ask at the first optimizer step, at each loader's first pass, and at exit."""
    told: dict[str, Any] = {}

    def write(found: dict[str, Any]) -> None:
        new = {key: value for key, value in found.items() if told.get(key) != value}
        if new:
            told.update(new)
            text = json.dumps(new, default=str)
            seen.session.mark("settings", "", now_ns(), now_ns(), extra="," + text[1:-1])

    _first_step(torch, write, seen.session.late)
    _loaders(write)
    begun = _ticks()
    seen.session.on_exit.insert(0, lambda: write(_flags(torch) | _at_exit(begun)))
    seen.session.on_fork.append(told.clear)


def _first_step(torch: Any, write: Callable[[dict[str, Any]], None], late: bool) -> None:
    done: list[bool] = []
    is_compiling = torch.compiler.is_compiling

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        # The hook stays: torch is walking the table of hooks now, and taking one out of it
        # would end the program's step with an error wherever another hook follows.
        if is_compiling() or done:
            return
        done.append(True)
        try:
            write({"optimizers": [_optimizer(optimizer)], **_flags(torch)})
        except Exception as error:  # an optimizer of another kind: the program goes on
            write({"settings_failed": f"{type(error).__name__}: {error}"})

    with suppress(hooks.NoHooks):
        hooks.add(torch, "post", after, late)


def _optimizer(optimizer: Any) -> dict[str, Any]:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    dtypes: dict[str, int] = {}
    for parameter in parameters:
        name = str(parameter.dtype).removeprefix("torch.")
        dtypes[name] = dtypes.get(name, 0) + parameter.numel()
    group = optimizer.param_groups[0]
    return {
        "class": type(optimizer).__name__,
        "foreach": group.get("foreach"),
        "fused": group.get("fused"),
        "capturable": group.get("capturable"),
        "tensors": len(parameters),
        "elements": sum(dtypes.values()),
        "dtypes": dtypes,
        "devices": sorted({str(p.device) for p in parameters}),
        "sparse_gradients": sum(1 for p in parameters if p.grad is not None and p.grad.is_sparse),
    }


def _loaders(write: Callable[[dict[str, Any]], None]) -> None:
    from torch.utils.data import dataloader

    known: set[int] = set()

    def make(original: Any) -> Any:
        def __iter__(self: Any) -> Any:
            if id(self) not in known and len(known) < MOST_LOADERS:
                known.add(id(self))
                try:
                    write({"loaders": [_loader(self, len(known))]})
                except Exception as error:
                    write({"settings_failed": f"{type(error).__name__}: {error}"})
            return original(self)

        return __iter__

    wrap(dataloader.DataLoader, "__iter__", make)


def _loader(loader: Any, number: int) -> dict[str, Any]:
    collate = getattr(loader, "collate_fn", None)
    return {
        "number": number,
        "num_workers": loader.num_workers,
        "persistent_workers": loader.persistent_workers,
        "pin_memory": loader.pin_memory,
        "prefetch_factor": loader.prefetch_factor,
        "batch_size": loader.batch_size,
        "dataset": type(loader.dataset).__name__,
        "collate": getattr(collate, "__qualname__", type(collate).__name__),
    }


def _flags(torch: Any) -> dict[str, Any]:
    """Switches as they are now; a question that fails is left out."""
    questions: dict[str, Callable[[], Any]] = {
        "threads": torch.get_num_threads,
        "interop_threads": torch.get_num_interop_threads,
        "detect_anomaly": torch.is_anomaly_enabled,
        "deterministic": torch.are_deterministic_algorithms_enabled,
        "default_dtype": lambda: str(torch.get_default_dtype()).removeprefix("torch."),
        "float32_matmul_precision": torch.get_float32_matmul_precision,
        "mkldnn": lambda: bool(torch.backends.mkldnn.enabled),
        "cpu_capability": torch.backends.cpu.get_cpu_capability,
        "cudnn_benchmark": lambda: bool(torch.backends.cudnn.benchmark),
        "dev_mode": lambda: bool(sys.flags.dev_mode),
        "environment": _environment,
        "cpu_flags": _cpu_flags,
        "affinity": _affinity,
        "quota_cpus": _quota,
        "huge_pages": _huge_pages,
        "flush_denormal": lambda: _flushes(torch),
        "inductor_freezing": lambda: _freezing(),
    }
    found: dict[str, Any] = {}
    for name, ask in questions.items():
        try:
            found[name] = ask()
        except Exception:  # not in this version of torch or not on this system: not known
            continue
    with suppress(OSError):  # no /proc: not known
        found |= _libraries()
    return found


def before_start() -> dict[str, Any]:
    """What can be told of a program that has no Python: the machine's part, asked by `sonde run` itself."""
    questions: dict[str, Callable[[], Any]] = {
        "cpu_flags": _cpu_flags,
        "affinity": _affinity,
        "quota_cpus": _quota,
        "huge_pages": _huge_pages,
        "physical_cpus": physical_cpus,
    }
    found: dict[str, Any] = {}
    for name, ask in questions.items():
        with suppress(OSError, ValueError):  # not on this system: not known
            found[name] = ask()
    return found


def _ticks() -> Ticks | None:
    try:
        return Ticks.now()
    except (OSError, ValueError, IndexError):  # no /proc/stat as Linux writes it: not known
        return None


def _at_exit(begun: Ticks | None) -> dict[str, Any]:
    """What only a whole run can tell."""
    questions: dict[str, Callable[[], Any]] = {"physical_cpus": physical_cpus, "numa_bytes": numa_bytes}
    if begun is not None:
        questions["scheduling"] = lambda: scheduling(begun)
    found: dict[str, Any] = {}
    for name, ask in questions.items():
        try:
            found[name] = ask()
        except Exception:  # not on this system: not known
            continue
    return found


def _environment() -> dict[str, str]:
    from sonde.record.inside.variables import kept_environment

    return kept_environment(dict(os.environ))


def _libraries() -> dict[str, list[str]]:
    """Paths of the OpenMP runtimes and allocators among the mapped files, from one look at them."""
    with open("/proc/self/maps", "rb") as maps:
        text = maps.read()
    paths = sorted({line[line.find(b"/") :] for line in text.split(b"\n") if b".so" in line and b"/" in line})
    kinds = {"openmp": OPENMP, "allocator": ALLOCATORS}
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    for path in paths:
        name = os.path.basename(path)
        for kind, names in kinds.items():
            if name.startswith(names) and b".so" in name:
                found[kind].append(path.decode("utf-8", "replace"))
    return found


def _cpu_flags() -> list[str]:
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "avx_ne_convert", "avx512_vnni", "bf16", "sve")
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        for line in info:
            if line.startswith(("flags", "Features")):
                there = set(line.split())
                return [flag for flag in wanted if flag in there]
    return []


def _affinity() -> dict[str, Any]:
    """CPUs of the process's threads: how many each may use, and how many share one single CPU."""
    alone: dict[int, int] = {}
    smallest = largest = 0
    for name in sorted(os.listdir("/proc/self/task"))[:MOST_THREADS]:
        try:
            cpus = os.sched_getaffinity(int(name))
        except OSError:
            continue
        smallest = min(smallest or len(cpus), len(cpus))
        largest = max(largest, len(cpus))
        if len(cpus) == 1:
            cpu = next(iter(cpus))
            alone[cpu] = alone.get(cpu, 0) + 1
    return {
        "main": len(os.sched_getaffinity(0)),
        "smallest": smallest,
        "largest": largest,
        "pinned_together": max(alone.values(), default=0),
        "online": os.cpu_count(),
    }


def _quota() -> float | None:
    """CPUs that the control group pays for, None when it sets no limit."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        path = next((line.split("::", 1)[1].strip() for line in file if "::" in line), "/")
    best: float | None = None
    while True:
        try:
            with open(f"/sys/fs/cgroup{path.rstrip('/')}/cpu.max", encoding="utf-8") as file:
                quota, period = file.read().split()
            if quota != "max":
                cpus = int(quota) / int(period)
                best = cpus if best is None else min(best, cpus)
        except (OSError, ValueError):
            pass
        if path in ("", "/"):
            return best
        path = path.rpartition("/")[0]


def _huge_pages() -> str:
    with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="utf-8") as file:
        return file.read().partition("[")[2].partition("]")[0]  # "always [madvise] never"


def _flushes(torch: Any) -> bool:
    """Whether this thread takes numbers too small to be normal for zero."""
    small = torch.full((1,), 1e-40, dtype=torch.float32)
    return bool((small * 1.0 == 0).item())


def _freezing() -> bool | None:
    config = sys.modules.get("torch._inductor.config")
    return None if config is None else bool(config.freezing)
