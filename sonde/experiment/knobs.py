"""What `sonde tune` may turn, big effects first: each knob is a list of settings for this machine.

A setting is environment variables and words in front of the command; the program is
never changed. A setting that cannot work here is listed with the reason, not tried.
"""

from __future__ import annotations

import ctypes.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field

from sonde.experiment.arm import Arm


@dataclass(frozen=True)
class Place:
    """What the machine offers this process (see `sonde check`)."""

    effective_cpus: int  # affinity ∩ cpuset ∩ quota
    physical_cores: int  # of those
    nodes: tuple[tuple[int, ...], ...] = ()  # CPUs by NUMA node, of those


@dataclass(frozen=True)
class Setting:
    """One position of a knob. `impossible` says why it cannot be tried here."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    impossible: str = ""

    def on(self, arm: Arm) -> Arm:
        """The arm with this setting turned on top of what it has."""
        name = self.name if arm.name == "as is" else f"{arm.name}, {self.name}"
        return Arm(name, arm.command, {**arm.environment, **self.environment}, arm.prefix + self.prefix)


@dataclass(frozen=True)
class Knob:
    name: str
    settings: Callable[[Place], list[Setting]]


def threads(place: Place) -> list[Setting]:
    """1, a quarter, half and all physical cores, all usable CPUs. Always single and all."""
    cores, cpus = max(1, place.physical_cores), max(1, place.effective_cpus)
    counts = sorted({1, max(1, cores // 4), max(1, cores // 2), min(cores, cpus), cpus})
    return [
        Setting(f"{n} thread{'s' if n > 1 else ''}", {"OMP_NUM_THREADS": str(n), "MKL_NUM_THREADS": str(n)})
        for n in counts
    ]


def waiting(place: Place) -> list[Setting]:
    """How idle OpenMP threads wait. Both runtimes are addressed: each ignores the other's variable."""
    return [
        Setting("passive waiting", {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}),
        Setting("short spinning", {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}),
    ]


def placement(place: Place) -> list[Setting]:
    """Where threads may run."""
    found = [
        Setting("threads close", {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}),
        Setting("threads spread", {"OMP_PROC_BIND": "spread", "OMP_PLACES": "cores"}),
    ]
    if place.effective_cpus == 1:
        return [Setting(s.name, impossible="there is one CPU") for s in found]
    why = "" if shutil.which("numactl") else "numactl is not installed"
    if len(place.nodes) <= 1:
        why = "there is one NUMA node"
    bind = ("numactl", "--cpunodebind=0", "--membind=0")
    found.append(Setting("one NUMA node", prefix=bind, impossible=why))
    found.append(Setting("memory interleaved", prefix=("numactl", "--interleave=all"), impossible=why))
    return found


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
    mode = _transparent_huge_pages()
    why = "" if mode in ("madvise", "always") else f"transparent huge pages are {mode} here"
    return [Setting("huge pages", {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, impossible=why)]


def _transparent_huge_pages() -> str:
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return "unknown"
    return text.partition("[")[2].partition("]")[0] or "unknown"


KNOBS: tuple[Knob, ...] = (
    Knob("threads", threads),
    Knob("waiting", waiting),
    Knob("placement", placement),
    Knob("allocator", allocator),
    Knob("huge pages", huge_pages),
)
