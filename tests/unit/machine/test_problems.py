"""Each rule fires on the machine or setting that it is about, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sonde.machine import problems
from sonde.machine.facts import Facts, gather
from sonde.machine.libraries import from_maps
from sonde.machine.torch_probe import TorchFacts, parse
from tests.unit.machine import trees

GOMP = "/venv/torch/lib/libgomp-a34b3233.so.1"
IOMP = "/opt/intel/lib/libiomp5.so"


def maps(*paths: str) -> str:
    return "\n".join(f"7f0000000000-7f0000001000 r-xp 00000000 08:01 123        {path}" for path in paths)


@pytest.fixture
def machine(tmp_path: Path) -> Facts:
    return gather(trees.make(tmp_path, trees.x86("CPU", trees.AVX512, 1, 8, 1)), environment={})


def said(facts: Facts, **environment: str) -> list[str]:
    return [f"{f.severity}: {f.what}" for f in problems.find(replace(facts, environment=environment))]


def test_a_clean_machine_has_no_finding(machine: Facts) -> None:
    assert said(machine) == []


def test_more_threads_than_cpus(machine: Facts) -> None:
    assert said(machine, OMP_NUM_THREADS="9") == [
        "error: OMP_NUM_THREADS=9, but this process may use 8 CPU(s)"
    ]
    assert said(machine, OMP_NUM_THREADS="8") == []
    assert said(machine, OMP_NUM_THREADS="16,2")[0].startswith("error")


def test_a_thread_limit_below_the_count(machine: Facts) -> None:
    assert any("OMP_THREAD_LIMIT" in x for x in said(machine, OMP_THREAD_LIMIT="2", OMP_NUM_THREADS="4"))


def test_two_openmp_runtimes_are_counted_from_the_memory_map(machine: Facts) -> None:
    loaded = from_maps(maps(GOMP, GOMP, IOMP, "/usr/lib/libompi.so"))
    assert loaded.openmp == {"libgomp": (GOMP,), "libiomp5": (IOMP,)}
    assert any("2 OpenMP runtimes" in x for x in said(replace(machine, libraries=loaded)))
    two_copies = from_maps(maps(GOMP, "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"))
    assert two_copies.openmp_count == 2


@pytest.mark.parametrize(
    ("libraries", "name", "dead"),
    [
        ([GOMP], "KMP_BLOCKTIME", True),
        ([IOMP], "KMP_BLOCKTIME", False),
        ([GOMP, IOMP], "KMP_BLOCKTIME", False),
        ([IOMP], "GOMP_SPINCOUNT", True),
        ([GOMP], "GOMP_SPINCOUNT", False),
        ([GOMP], "MALLOC_CONF", True),
        ([GOMP, "/usr/lib/libjemalloc.so.2"], "MALLOC_CONF", False),
        (["/usr/lib/libtcmalloc_minimal.so.4"], "MALLOC_TRIM_THRESHOLD_", True),
        ([GOMP], "MALLOC_TRIM_THRESHOLD_", False),
    ],
)
def test_settings_that_no_loaded_library_reads(
    machine: Facts, libraries: list[str], name: str, dead: bool
) -> None:
    facts = replace(machine, libraries=from_maps(maps(*libraries)))
    assert any(f"{name} is set and has no effect" in x for x in said(facts, **{name: "1"})) == dead


def test_dead_settings_are_not_guessed_without_a_memory_map(machine: Facts) -> None:
    assert said(machine, KMP_BLOCKTIME="1") == []


@pytest.mark.parametrize(
    ("name", "value", "fires"),
    [
        ("ONEDNN_MAX_CPU_ISA", "AVX2", True),
        ("ONEDNN_MAX_CPU_ISA", "DEFAULT", False),
        ("ATEN_CPU_CAPABILITY", "default", True),
        ("ONEDNN_VERBOSE", "1", True),
        ("ONEDNN_VERBOSE", "0", False),
        ("CUDA_LAUNCH_BLOCKING", "1", True),
        ("PYTORCH_JIT", "0", True),
        ("PYTORCH_JIT", "1", False),
        ("KMP_DUPLICATE_LIB_OK", "TRUE", True),
        ("PYTHONMALLOC", "debug", True),
        ("PYTHONMALLOC", "pymalloc", False),
    ],
)
def test_caps_and_switches(machine: Facts, name: str, value: str, fires: bool) -> None:
    assert any(name in x for x in said(machine, **{name: value})) == fires


def test_system_settings(machine: Facts) -> None:
    slow = replace(machine.system, governors=("powersave",), huge_pages="never", steal_share=0.2)
    words = " ".join(said(replace(machine, system=slow)))
    assert "powersave" in words
    assert "huge pages are off" in words
    assert "20.0%" in words


def test_smt_siblings(tmp_path: Path) -> None:
    facts = gather(trees.make(tmp_path, trees.x86("CPU", trees.AVX512, 1, 4, 2)), environment={})
    assert said(facts) == ["info: SMT: 8 CPUs are 4 physical cores"]
    assert any("8 threads on 4 physical cores" in x for x in said(facts, OMP_NUM_THREADS="8"))


def torch_facts(aten: str = "AVX512", isa: str = "Intel AVX-512 with Intel DL Boost") -> TorchFacts:
    output = f"onednn_verbose,v1,info,oneDNN v3.12.0 (commit 80)\nonednn_verbose,v1,info,cpu,isa:{isa}\n"
    output += "MKL_VERBOSE oneMKL 2024.0 for Intel(R) 64 architecture Intel(R) Architecture processors, Lnx\n"
    answer = {
        "version": "2.13.0",
        "python": "3.11.7",
        "threads": 8,
        "interop_threads": 4,
        "aten_capability": aten,
        "build": "PyTorch built with:\n - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, USE_MKLDNN=1, ",
        "maps": maps(GOMP),
    }
    return parse(answer, output)


def test_what_the_libraries_print_is_kept_apart_from_what_the_processor_has(machine: Facts) -> None:
    torch = torch_facts()
    assert (torch.onednn_version, torch.blas) == ("3.12.0", "mkl")
    assert torch.onednn_isa == "Intel AVX-512 with Intel DL Boost"
    assert torch.mkl_line is not None
    assert torch.mkl_line.startswith("oneMKL 2024.0")
    assert any("most of its own kernels run as AVX2" in x for x in said(replace(machine, torch=torch)))


def test_a_library_below_the_machine(machine: Facts) -> None:
    facts = replace(machine, torch=torch_facts("AVX2", "Intel AVX2"))
    assert any("oneDNN uses Intel AVX2" in x for x in said(facts))
