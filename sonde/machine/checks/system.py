"""Rules about the system: clock, memory, other guests, permissions."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.machine.facts import Facts
from sonde.machine.problem import Check, Problem

_MUCH_STEAL = 0.02
_LITTLE_MEMORY = 0.10


def governor_saves_power(facts: Facts) -> Iterator[Problem]:
    saving = [g for g in facts.system.governors if g not in ("performance", "schedutil")]
    if saving:
        yield Problem(
            "warning",
            f"frequency governor: {', '.join(saving)}",
            "The clock rises late or not at all, so times differ from run to run.",
            "sudo cpupower frequency-set -g performance",
        )


def host_takes_time(facts: Facts) -> Iterator[Problem]:
    share = facts.system.steal_share
    if share is not None and share > _MUCH_STEAL:
        yield Problem(
            "warning",
            f"{share:.1%} of CPU time since boot went to other guests of the host (steal)",
            "Threads stop without a reason inside the program; busy-waiting thread pools suffer most.",
            "measure with more repeats; set OMP_WAIT_POLICY=PASSIVE; use a dedicated machine for comparisons",
        )


def no_huge_pages(facts: Facts) -> Iterator[Problem]:
    if facts.system.huge_pages == "never":
        yield Problem(
            "warning",
            "transparent huge pages are off",
            "Large tensors then need many small pages: more faults and more misses of the address cache.",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled, and THP_MEM_ALLOC_ENABLE=1",
        )


def memory_is_short(facts: Facts) -> Iterator[Problem]:
    free, limit = facts.system.memory_available_bytes, facts.memory_limit_bytes
    if (
        free is not None
        and limit
        and facts.system.memory_bytes
        and free < _LITTLE_MEMORY * facts.system.memory_bytes
    ):
        yield Problem(
            "warning",
            f"{free / 2**30:.1f} GiB of {facts.system.memory_bytes / 2**30:.1f} GiB memory is left",
            "Page cache and allocators lose first; then the system kills a process.",
            "end what you do not need, or use a smaller batch",
        )


def sampling_is_restricted(facts: Facts) -> Iterator[Problem]:
    if facts.permissions.perf_events is False:
        yield Problem(
            "info",
            "performance events are not permitted",
            f"kernel.perf_event_paranoid is {facts.permissions.perf_event_paranoid}, or a filter forbids it.",
            "sudo sysctl kernel.perf_event_paranoid=1; without it Sonde samples with timers",
        )
    if facts.permissions.ptrace == "none":
        yield Problem(
            "info",
            "no process may be traced",
            f"kernel.yama.ptrace_scope is {facts.permissions.ptrace_scope}.",
            "start programs with: sonde run; sonde attach needs ptrace",
        )


CHECKS: tuple[Check, ...] = (
    governor_saves_power,
    host_takes_time,
    no_huge_pages,
    memory_is_short,
    sampling_is_restricted,
)
