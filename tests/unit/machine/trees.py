"""Trees of /proc and /sys of machines that we do not have, made from their public formats."""

from __future__ import annotations

from pathlib import Path

from sonde.machine.tree import Tree

AVX2 = "fpu lm sse sse2 ssse3 sse4_1 sse4_2 avx f16c fma avx2 bmi1 bmi2"
AVX512 = AVX2 + " avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni"
AMX = AVX512 + " avx512_bf16 avx512_fp16 avx_vnni amx_tile amx_bf16 amx_int8"
NEON = "fp asimd evtstrm aes crc32 atomics fphp asimdhp cpuid asimddp sve i8mm bf16 svei8mm svebf16"


def make(root: Path, files: dict[str, str]) -> Tree:
    """Write files below `root`; a name that ends in / is an empty folder."""
    for name, text in files.items():
        path = root / name.lstrip("/")
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return Tree(root)


def status(cpus: str, capabilities: str = "0000000000000000", uid: int = 1000) -> str:
    ids = "\t".join([str(uid)] * 4)
    return f"Name:\tpython\nUid:\t{ids}\nCapEff:\t{capabilities}\nCpus_allowed_list:\t{cpus}"


def x86(
    model: str,
    flags: str,
    packages: int,
    cores: int,
    threads: int,
    vendor: str = "GenuineIntel",
    interleaved: bool = False,
) -> dict[str, str]:
    """cpuinfo and topology. Siblings are N apart as on bare metal, or next to each other as in many VMs."""
    count = packages * cores * threads
    files: dict[str, str] = {}
    blocks = []
    for cpu in range(count):
        if interleaved:
            package, core = cpu // (cores * threads), cpu // threads % cores
        else:
            package, core = cpu % (packages * cores) // cores, cpu % cores
        folder = f"/sys/devices/system/cpu/cpu{cpu}"
        files[f"{folder}/topology/core_id"] = str(core)
        files[f"{folder}/topology/physical_package_id"] = str(package)
        files[f"{folder}/topology/die_id"] = "0"
        for index, (level, kind, size) in enumerate(
            [
                (1, "Data", "48K"),
                (1, "Instruction", "32K"),
                (2, "Unified", "2048K"),
                (3, "Unified", "107520K"),
            ]
        ):
            cache = f"{folder}/cache/index{index}"
            files |= {f"{cache}/level": str(level), f"{cache}/type": kind, f"{cache}/size": size}
            files[f"{cache}/shared_cpu_list"] = str(cpu)
        files[f"{folder}/cpufreq/scaling_governor"] = "performance"
        blocks.append(
            f"processor\t: {cpu}\nvendor_id\t: {vendor}\nmodel name\t: {model}\nphysical id\t: {package}\n"
            f"core id\t\t: {core}\nflags\t\t: {flags}"
        )
    for package in range(packages):
        members = [c for c in range(count) if f"physical id\t: {package}\n" in blocks[c]]
        files[f"/sys/devices/system/node/node{package}/cpulist"] = ",".join(map(str, members))
    files["/proc/cpuinfo"] = "\n\n".join(blocks)
    files["/sys/devices/system/cpu/online"] = f"0-{count - 1}"
    files["/proc/self/status"] = status(f"0-{count - 1}")
    files["/proc/stat"] = "cpu  1000 0 500 8000 100 0 50 0 0 0"
    files["/proc/meminfo"] = "MemTotal:       65536000 kB\nMemFree: 1 kB\nMemAvailable:   40000000 kB"
    files["/sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never"
    files["/proc/sys/kernel/perf_event_paranoid"] = "2"
    files["/proc/self/cgroup"] = "0::/user.slice"
    files["/proc/self/mountinfo"] = CGROUP2
    files["/sys/fs/cgroup/cgroup.controllers"] = "cpuset cpu memory"
    files["/sys/fs/cgroup/user.slice/cpu.max"] = "max 100000"
    return files


CGROUP2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"


def arm(cpus: int) -> dict[str, str]:
    """A Graviton 3: no model name, no vendor, features instead of flags, no package numbers in cpuinfo."""
    block = (
        "processor\t: {}\nBogoMIPS\t: 2100.00\nFeatures\t: " + NEON + "\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1"
    )
    files = {
        "/proc/cpuinfo": "\n\n".join(block.format(cpu) for cpu in range(cpus)),
        "/proc/self/status": status(f"0-{cpus - 1}"),
        "/sys/devices/system/cpu/online": f"0-{cpus - 1}",
    }
    for cpu in range(cpus):
        folder = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        files |= {
            f"{folder}/core_id": str(cpu),
            f"{folder}/physical_package_id": "0",
            f"{folder}/die_id": "-1",
        }
    return files
