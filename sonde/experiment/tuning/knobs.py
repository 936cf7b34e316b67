"""What `sonde tune` may turn, big effects first: each knob is a list of settings for this machine.

A setting is environment variables, words in front of the command, or a change made inside the process
before the program goes on; the program's files are never touched. A setting that cannot
work here is listed with the reason, not tried.
"""

from __future__ import annotations

import ctypes.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sonde.experiment.design.arm import Arm, Patch

LOADER = "torch.utils.data.DataLoader"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Place:
    """What the machine offers this process (see `sonde check`), and what is known of the program."""

    effective_cpus: int  # affinity ∩ cpusets, and no more than the quota pays for
    physical_cores: int  # of those
    nodes: tuple[tuple[int, ...], ...] = ()  # usable CPUs by NUMA node
    cpus: tuple[int, ...] = ()  # usable CPUs
    packages: int = 1  # sockets
    quota: float | None = None  # CPUs that a cgroup pays for, where that is fewer than usable
    huge_pages: str = "unknown"  # of the kernel: always, madvise or never
    loads: bool = True  # the program draws batches from a DataLoader
    throughput: bool = False  # copies of the program may run side by side


@dataclass(frozen=True)
class Setting:
    """One position of a knob. `impossible` says why it cannot be tried here."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    code: str = ""  # to run once torch is imported
    patch: Patch | None = None
    instances: int = 0  # 0: as many as there are
    impossible: str = ""
    by_hand: str = ""  # how a user puts it into the program, where no variable does it

    def on(self, arm: Arm) -> Arm:
        """The arm with this setting turned on top of what it has."""
        return replace(
            arm,
            name=self.name if arm.name == "as is" else f"{arm.name}, {self.name}",
            environment={**arm.environment, **self.environment},
            prefix=arm.prefix + self.prefix,
            code="\n".join(part for part in (arm.code, self.code) if part),
            patches=(*arm.patches, *([self.patch] if self.patch else [])),
            instances=self.instances or arm.instances,
        )


@dataclass(frozen=True)
class Knob:
    name: str
    settings: Callable[[Place], list[Setting]]


def threads(place: Place) -> list[Setting]:
    """1, a quarter, half, one socket, all physical cores, all usable CPUs. Single, socket and all always."""
    cores, cpus = max(1, place.physical_cores), max(1, place.effective_cpus)
    socket = max(1, cores // max(1, place.packages))
    counts = sorted({1, max(1, cores // 4), max(1, cores // 2), socket, min(cores, cpus), cpus})
    return [thread_setting(n) for n in counts]


def thread_setting(count: int) -> Setting:
    names = f"{count} thread{'s' if count > 1 else ''}"
    return Setting(names, dict.fromkeys(THREAD_VARIABLES, str(count)))


def waiting(place: Place) -> list[Setting]:
    """How idle OpenMP threads wait. Both runtimes are addressed: each ignores the other's variable."""
    return [
        Setting("passive waiting", {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}),
        Setting("short spinning", {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}),
    ]


def placement(place: Place) -> list[Setting]:
    """Where threads may run, and where their memory lies."""
    found = [
        Setting("threads close", {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}),
        Setting("threads spread", {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}),
    ]
    if place.effective_cpus == 1:
        return [replace(s, impossible="there is one CPU") for s in found]
    why = "" if shutil.which("numactl") else "numactl is not installed"
    if len(place.nodes) <= 1:
        why = "there is one NUMA node"
    bind = ("numactl", "--cpunodebind=0", "--membind=0")
    found.append(Setting("one NUMA node", prefix=bind, impossible=why))
    found.append(Setting("memory interleaved", prefix=("numactl", "--interleave=all"), impossible=why))
    return found


def workers(place: Place) -> list[Setting]:
    """Processes of a DataLoader, whatever number the program gives it."""
    counts = sorted({0, 1, max(1, place.effective_cpus // 2), place.effective_cpus})
    why = "" if place.loads else "the program uses no DataLoader"
    return [
        Setting(f"{n} loader worker{'s' * (n != 1)}", patch=Patch(LOADER, {"num_workers": n}), impossible=why,
                by_hand=f"DataLoader(…, num_workers={n})")
        for n in counts
    ]  # fmt: skip


def allocator(place: Place) -> list[Setting]:
    """Who hands out memory; glibc can be told to keep what it has."""
    keep = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "2147483648",
            "MALLOC_TOP_PAD_": "67108864"}  # fmt: skip
    found = [Setting("glibc keeps memory", keep)]
    for name, libraries in (("jemalloc", ("jemalloc",)), ("tcmalloc", ("tcmalloc_minimal", "tcmalloc"))):
        path = next((p for p in map(ctypes.util.find_library, libraries) if p), None)
        why = "" if path else f"{name} is not installed"
        extra = {"LD_PRELOAD": path} if path else {}
        if name == "jemalloc" and path:
            extra["MALLOC_CONF"] = "oversize_threshold:1,background_thread:true,metadata_thp:auto"
        found.append(Setting(name, extra, impossible=why))
    return found


def huge_pages(place: Place) -> list[Setting]:
    """Huge pages for malloc, where the kernel gives them on request."""
    why = "" if place.huge_pages == "madvise" else f"transparent huge pages are {place.huge_pages} here"
    return [Setting("huge pages", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, impossible=why)]


def interop(place: Place) -> list[Setting]:
    """Threads for operators that run beside each other; no variable sets them."""
    code = "torch.set_num_interop_threads(1)"
    why = "there is one CPU" if place.effective_cpus == 1 else ""
    return [Setting("1 inter-op thread", code=code, impossible=why, by_hand=code)]


def instances(place: Place) -> list[Setting]:
    """Copies side by side, each with its share of the cores."""
    cores = max(1, place.physical_cores)
    counts = [n for n in sorted({2, cores // 2, cores}) if 1 < n <= cores and cores % n == 0]
    why = "" if place.throughput else "steps get no shorter by it: --throughput counts steps of all copies"
    if not counts:
        return [Setting("2 instances", impossible="there is one core")]
    return [
        replace(thread_setting(cores // n), name=f"{n} instances", instances=n, impossible=why)
        for n in counts
    ]


KNOBS: tuple[Knob, ...] = (
    Knob("threads", threads),
    Knob("workers", workers),
    Knob("instances", instances),
    Knob("waiting", waiting),
    Knob("placement", placement),
    Knob("allocator", allocator),
    Knob("huge pages", huge_pages),
    Knob("inter-op", interop),
)
