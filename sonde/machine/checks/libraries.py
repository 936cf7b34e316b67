"""Rules about the libraries in a process, the settings they obey, and switches left on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.analyze.primitives.implementations import rank_of_effective
from sonde.machine.facts import Facts
from sonde.machine.problem import Check, Problem


def several_openmp_runtimes(facts: Facts) -> Iterator[Problem]:
    loaded = facts.libraries
    if loaded and loaded.openmp_count > 1:
        names = ", ".join(path for paths in loaded.openmp.values() for path in paths)
        yield Problem(
            "warning",
            f"{loaded.openmp_count} OpenMP runtimes in one process: {names}",
            "Each has its own pool of threads; they take the CPUs from each other.",
            "import torch first, or install packages that share one runtime (conda-forge does)",
        )


def duplicate_runtime_allowed(facts: Facts) -> Iterator[Problem]:
    if facts.environment.get("KMP_DUPLICATE_LIB_OK", "").upper() in ("1", "TRUE"):
        yield Problem(
            "warning",
            "KMP_DUPLICATE_LIB_OK is set",
            "It silences the error about two OpenMP runtimes; results may be wrong and threads doubled.",
            "unset KMP_DUPLICATE_LIB_OK and remove one of the runtimes",
        )


def dead_settings(facts: Facts) -> Iterator[Problem]:
    loaded = facts.libraries
    if loaded is None:
        return
    names = set(facts.environment)
    intel = {"libiomp5", "libomp"} & set(loaded.openmp)
    dead: list[tuple[str, str, str]] = []
    if "libgomp" in loaded.openmp and not intel:
        dead += [
            (n, "libgomp ignores it", "OMP_WAIT_POLICY, GOMP_SPINCOUNT or OMP_PROC_BIND")
            for n in names
            if n.startswith("KMP_")
        ]
    if intel and "libgomp" not in loaded.openmp:
        dead += [
            (n, f"{min(intel)} ignores it", "KMP_AFFINITY or OMP_PROC_BIND")
            for n in names
            if n.startswith("GOMP_") and n != "GOMP_CPU_AFFINITY"
        ]
    if "jemalloc" not in loaded.allocators:
        dead += [
            (n, "jemalloc is not loaded", "LD_PRELOAD=libjemalloc.so.2") for n in names & {"MALLOC_CONF"}
        ]
    if "tcmalloc" not in loaded.allocators:
        dead += [
            (n, "tcmalloc is not loaded", "LD_PRELOAD=libtcmalloc.so.4")
            for n in names
            if n.startswith("TCMALLOC_")
        ]
    if loaded.allocators:
        dead += [
            (n, f"{loaded.allocators[0]} replaces glibc's allocator", "that allocator's own settings")
            for n in names
            if re.fullmatch(r"MALLOC_(TRIM_THRESHOLD|MMAP_THRESHOLD|ARENA_MAX|TOP_PAD)_", n)
        ]
    for name, why, instead in sorted(dead):
        yield Problem(
            "warning", f"{name} is set and has no effect", f"{why}.", f"use {instead}, or unset {name}"
        )


def isa_capped(facts: Facts) -> Iterator[Problem]:
    caps = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS")
    for name in (*caps, "MKL_CBWR", "ONEDNN_DEFAULT_FPMATH_MODE"):
        value = facts.environment.get(name, "")
        if not value or (name == "ONEDNN_DEFAULT_FPMATH_MODE" and value.upper() == "STRICT"):
            continue
        if name.endswith("MAX_CPU_ISA") and value.upper() in ("DEFAULT", "ALL"):
            continue
        capped = name != "ONEDNN_DEFAULT_FPMATH_MODE"
        yield Problem(
            "warning" if capped else "info",
            f"{name}={value}",
            "It limits which instructions a library may use." if capped else "It trades precision for speed.",
            f"unset {name} unless you mean it",
        )


def isa_not_enabled_by_the_system(facts: Facts) -> Iterator[Problem]:
    if facts.isa.disabled:
        yield Problem(
            "warning",
            f"the processor has {', '.join(facts.isa.disabled)}, the system does not enable it",
            "The kernel or hypervisor does not save those registers, so no library may use them.",
            "update the kernel, or ask the provider for a machine type that exposes them",
        )


def library_uses_less_than_the_machine_has(facts: Facts) -> Iterator[Problem]:
    torch = facts.torch
    if torch is None or facts.isa.level is None:
        return
    if torch.onednn_isa and "AVX-512" in facts.isa.level and rank_of_effective(torch.onednn_isa) < 5:
        yield Problem(
            "warning",
            f"the machine has {facts.isa.level}, oneDNN uses {torch.onednn_isa}",
            "A variable, an old library or a hypervisor limits it.",
            "look for ONEDNN_MAX_CPU_ISA; update torch",
        )
    if torch.aten_capability == "AVX512":
        yield Problem(
            "info",
            "ATen's capability is AVX512, yet most of its own kernels run as AVX2",
            "Only kernels registered for AVX-512 use it; the rest fall back by design.",
            "nothing to do; the namespaces in samples (at::native::AVX2) show what runs",
        )
    if torch.mkl_line and facts.processor.vendor == "AMD" and "enabled processors" not in torch.mkl_line:
        yield Problem(
            "info",
            "MKL chose its generic code path on this AMD processor",
            f"Its own line: {torch.mkl_line}",
            "compare with oneDNN for float32 products: torch.set_float32_matmul_precision('medium')",
        )


_DEBUG = {
    "ONEDNN_VERBOSE": "every primitive prints a line",
    "DNNL_VERBOSE": "every primitive prints a line",
    "MKLDNN_VERBOSE": "every primitive prints a line",
    "MKL_VERBOSE": "every BLAS call prints a line",
    "CUDA_LAUNCH_BLOCKING": "every kernel launch waits for its end",
    "TORCH_DISTRIBUTED_DEBUG": "collectives are checked and logged",
    "TORCH_SHOW_DISPATCH_TRACE": "every dispatch prints a line",
    "PYTHONMALLOC": "Python's allocator is replaced",
    "PYTHONDEVMODE": "Python runs with debug hooks",
    "PYTHONTRACEMALLOC": "every allocation keeps its traceback",
    "PYTHONFAULTHANDLER": "",
    "MALLOC_CHECK_": "glibc checks every free",
    "MALLOC_PERTURB_": "glibc fills every block",
    "ASAN_OPTIONS": "an address sanitizer may be in use",
    "NCCL_DEBUG": "NCCL logs",
    "PYTORCH_JIT": "TorchScript is switched off when 0",
    "TORCHDYNAMO_DISABLE": "torch.compile does nothing",
    "TORCH_COMPILE_DISABLE": "torch.compile does nothing",
}  # fmt: skip


def debug_switches(facts: Facts) -> Iterator[Problem]:
    for name, effect in _DEBUG.items():
        value = facts.environment.get(name, "")
        if not effect or value in ("", "none", "OFF", "WARN") or (value == "0") != (name == "PYTORCH_JIT"):
            continue
        if name == "PYTHONMALLOC" and "debug" not in value and value != "malloc":
            continue
        severity = "info" if name == "NCCL_DEBUG" else "warning"
        yield Problem(
            severity, f"{name}={value}: a debug switch is on", f"With it, {effect}.", f"unset {name}"
        )


CHECKS: tuple[Check, ...] = (
    several_openmp_runtimes,
    duplicate_runtime_allowed,
    dead_settings,
    isa_capped,
    isa_not_enabled_by_the_system,
    library_uses_less_than_the_machine_has,
    debug_switches,
)
