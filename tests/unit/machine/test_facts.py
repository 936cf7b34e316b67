"""Facts of many machines, read from trees made by their public formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.machine import facts, problems
from sonde.machine.facts import Facts, gather
from sonde.machine.tree import cpu_list, to_cpu_list
from tests.unit.machine import trees


def read(root: Path, files: dict[str, str], environment: dict[str, str] | None = None) -> Facts:
    return gather(trees.make(root, files), environment=environment or {})


def test_an_avx2_machine_is_answered_not_failed(tmp_path: Path) -> None:
    found = read(tmp_path, trees.x86("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", trees.AVX2, 1, 12, 1))
    assert found.isa.level == "AVX2"
    assert "avx512f" not in found.isa.usable
    assert (found.effective_cpus, found.topology.physical_cores, found.topology.smt) == (12, 12, False)
    assert problems.find(found) == []


def test_two_amd_sockets_with_smt(tmp_path: Path) -> None:
    files = trees.x86("AMD EPYC 7763 64-Core Processor", trees.AVX2, 2, 64, 2, vendor="AuthenticAMD")
    found = read(tmp_path, files)
    assert found.processor.vendor == "AMD"
    assert (found.effective_cpus, found.topology.physical_cores, found.topology.packages) == (256, 128, 2)
    assert found.topology.numa_nodes == 2
    assert found.topology.siblings[0] == (0, 128)


def test_siblings_next_to_each_other_are_still_one_core(tmp_path: Path) -> None:
    found = read(tmp_path, trees.x86("Intel(R) Xeon(R) @ 2.20GHz", trees.AVX512, 1, 4, 2, interleaved=True))
    assert found.topology.physical_cores == 4
    assert found.topology.siblings[0] == (0, 1)


def test_an_affinity_of_two_siblings_is_one_core(tmp_path: Path) -> None:
    files = trees.x86("Intel(R) Xeon(R) @ 2.20GHz", trees.AVX512, 1, 4, 2, interleaved=True)
    files["/proc/self/status"] = trees.status("2-3")
    found = read(tmp_path, files)
    assert (found.effective_cpus, found.topology.physical_cores) == (2, 1)


def test_a_xeon_with_amx(tmp_path: Path) -> None:
    found = read(tmp_path, trees.x86("Intel(R) Xeon(R) Platinum 8480+", trees.AMX, 2, 56, 2))
    assert found.isa.level == "AMX"
    assert {"amx_tile", "amx_bf16", "amx_int8", "avx512_fp16"} <= set(found.isa.usable)
    assert found.topology.last_level_bytes == 107520 * 1024


def test_an_arm_machine_has_a_name_and_its_own_vector_units(tmp_path: Path) -> None:
    found = read(tmp_path, trees.arm(64))
    assert found.processor.model == "Arm Neoverse V1"
    assert (found.architecture, found.isa.level, found.effective_cpus) == ("aarch64", "SVE", 64)
    assert found.topology.physical_cores == 64
    assert "numa_nodes" in found.unknown


def test_a_hybrid_processor_names_its_kinds(tmp_path: Path) -> None:
    files = trees.x86("12th Gen Intel(R) Core(TM) i7-12700", trees.AVX2 + " avx_vnni", 1, 12, 1)
    files["/sys/devices/cpu_core/cpus"] = "0-7"
    files["/sys/devices/cpu_atom/cpus"] = "8-11"
    found = read(tmp_path, files)
    assert found.topology.hybrid == ("8 performance", "4 efficiency")
    assert found.isa.level == "AVX2 VNNI"
    assert any("different kinds" in f.what for f in problems.find(found))


def test_a_quota_at_any_level_above_counts_rounded_down(tmp_path: Path) -> None:
    files = trees.x86("Intel(R) Xeon(R)", trees.AVX512, 1, 16, 1)
    files["/proc/self/cgroup"] = "0::/kubepods.slice/pod1.slice/container.scope"
    base = "/sys/fs/cgroup/kubepods.slice"
    files[f"{base}/cpu.max"] = "max 100000"
    files[f"{base}/pod1.slice/cpu.max"] = "250000 100000"
    files[f"{base}/pod1.slice/container.scope/cpu.max"] = "400000 100000"
    files[f"{base}/pod1.slice/memory.max"] = str(8 << 30)
    files[f"{base}/pod1.slice/container.scope/memory.max"] = "max"
    files[f"{base}/pod1.slice/cpu.stat"] = "usage_usec 5\nnr_periods 1000\nnr_throttled 950\nthrottled_usec 7"
    found = read(tmp_path, files)
    assert (found.cgroup.version, found.cgroup.cpu_quota, found.effective_cpus) == ("v2", 2.5, 2)
    assert found.memory_limit_bytes == 8 << 30
    seen = problems.find(found)
    assert any("95%" in f.what for f in seen)
    assert any(f.severity == "error" and "quota pays for 2.5" in f.what for f in seen)


def test_a_version_1_container_that_sees_host_paths(tmp_path: Path) -> None:
    files = trees.x86("Intel(R) Xeon(R)", trees.AVX512, 1, 16, 1)
    files["/.dockerenv"] = ""
    files["/proc/self/cgroup"] = "5:cpuset:/docker/abc\n4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n"
    files["/proc/self/mountinfo"] = "\n".join(
        f"{40 + i} 30 0:{i} /docker/abc /sys/fs/cgroup/{name} ro,nosuid - cgroup cgroup rw,{name}"
        for i, name in enumerate(["cpu,cpuacct", "cpuset", "memory"])
    )
    files["/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"] = "150000"
    files["/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us"] = "100000"
    files["/sys/fs/cgroup/cpuset/cpuset.cpus"] = "4-7"
    files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712"
    found = read(tmp_path, files)
    assert (found.cgroup.version, found.cgroup.cpu_quota, found.effective_cpus) == ("v1", 1.5, 1)
    assert found.usable_cpus == frozenset({4, 5, 6, 7})
    assert found.cgroup.memory_bytes is None
    assert found.cgroup.hidden_levels
    assert found.container


def test_a_version_2_container_in_its_own_namespace(tmp_path: Path) -> None:
    files = trees.x86("AMD EPYC 9654", trees.AVX512 + " avx512_bf16", 1, 8, 1, vendor="AuthenticAMD")
    files["/run/.containerenv"] = ""
    files["/proc/self/cgroup"] = "0::/"
    files["/sys/fs/cgroup/cpu.max"] = "300000 100000"
    files["/sys/fs/cgroup/cpuset.cpus.effective"] = "0-7"
    found = read(tmp_path, files)
    assert (found.effective_cpus, found.cgroup.hidden_levels) == (3, True)
    assert found.isa.level == "AVX-512 BF16"


def test_without_sys_it_says_what_it_knows_and_what_not(tmp_path: Path) -> None:
    files = {n: t for n, t in trees.x86("Some CPU", trees.AVX2, 1, 4, 2).items() if n.startswith("/proc")}
    found = read(tmp_path, files)
    assert (found.effective_cpus, found.topology.physical_cores) == (8, 4)  # from /proc/cpuinfo
    assert {"caches", "numa_nodes", "huge_pages", "governors"} <= set(found.unknown)


def test_an_empty_machine_is_all_unknown(tmp_path: Path) -> None:
    found = read(tmp_path, {"/proc/": ""})
    assert found.effective_cpus is None
    assert {"cpu_model", "isa", "effective_cpus", "memory_bytes"} <= set(found.unknown)
    assert problems.find(found) == []
    json.dumps(facts.to_json(found), allow_nan=False)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("0-6:2", {0, 2, 4, 6}),
        ("", set()),
        ("3-1", None),
        ("a", None),
        ("0-99999999", None),
        (None, None),
    ],
)
def test_cpu_lists(text: str | None, cpus: set[int] | None) -> None:
    found = cpu_list(text)
    assert found == (None if cpus is None else frozenset(cpus))


@given(st.frozensets(st.integers(0, 500)))
def test_cpu_lists_survive_the_round_trip(cpus: frozenset[int]) -> None:
    assert cpu_list(to_cpu_list(cpus)) == cpus


NAMES = [*sorted(trees.x86("M", trees.AVX512, 1, 2, 2)), "/sys/fs/cgroup/user.slice/cpuset.cpus.effective"]
NAMES += ["/sys/fs/cgroup/user.slice/cpu.stat", "/proc/self/maps", "/sys/devices/cpu_core/cpus"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.dictionaries(
        st.sampled_from(NAMES), st.one_of(st.none(), st.text(max_size=40), st.binary(max_size=40))
    )
)
def test_fuzzed_trees_never_crash_and_never_invent_cpus(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, str | bytes | None]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    tree = trees.make(root, trees.x86("M", trees.AVX512, 1, 2, 2))
    for name, content in changes.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink(missing_ok=True)
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content)
    found = gather(tree, environment={})
    json.dumps(facts.to_json(found), allow_nan=False)
    problems.find(found)
    assert found.effective_cpus is None or found.effective_cpus >= 1
    if not {n for n in changes if "status" in n or "online" in n or "cpuset" in n or "cpu.max" in n}:
        assert found.effective_cpus == 4
