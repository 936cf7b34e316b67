"""Rules about threads and the CPUs they may run on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sonde.machine.facts import Facts
from sonde.machine.problem import Check, Problem
from sonde.machine.tree import to_cpu_list

_MUCH_THROTTLING = 0.05


def threads_above_what_may_run(facts: Facts) -> Iterator[Problem]:
    allowed = facts.effective_cpus
    if allowed is None:
        return
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        first = re.match(r"\s*(\d{1,9})", facts.environment.get(name, ""))
        if first and int(first[1]) > allowed:
            yield Problem(
                "error",
                f"{name}={facts.environment[name]}, but this process may use {allowed} CPU(s)",
                f"{_cause(facts)} Extra threads wait for each other, and spin while they wait.",
                f"export {name}={allowed}",
            )


def default_threads_ignore_the_quota(facts: Facts) -> Iterator[Problem]:
    quota, usable = facts.cgroup.cpu_quota, facts.usable_cpus
    if quota is None or usable is None or facts.environment.get("OMP_NUM_THREADS"):
        return
    if facts.effective_cpus is not None and facts.effective_cpus < len(usable):
        threads = facts.torch.threads if facts.torch else len(usable)
        if threads > facts.effective_cpus:
            yield Problem(
                "error",
                f"the CPU quota pays for {quota:g} CPUs, libraries will start {threads} threads",
                "Thread pools count CPUs, not quota; the kernel then stops the whole process in each period.",
                f"export OMP_NUM_THREADS={facts.effective_cpus}",
            )


def torch_runs_more_threads_than_allowed(facts: Facts) -> Iterator[Problem]:
    if facts.torch is None or facts.effective_cpus is None or facts.cgroup.cpu_quota is not None:
        return
    if facts.torch.threads > facts.effective_cpus:
        yield Problem(
            "error",
            f"torch runs {facts.torch.threads} threads on {facts.effective_cpus} CPU(s)",
            _cause(facts),
            f"export OMP_NUM_THREADS={facts.effective_cpus}",
        )


def thread_limit_below_thread_count(facts: Facts) -> Iterator[Problem]:
    limit, count = (facts.environment.get(n, "") for n in ("OMP_THREAD_LIMIT", "OMP_NUM_THREADS"))
    if limit.isdigit() and count.isdigit() and int(limit) < int(count):
        yield Problem(
            "error",
            f"OMP_THREAD_LIMIT={limit} is below OMP_NUM_THREADS={count}",
            "The backward pass may hang: it waits for threads that are never started.",
            "unset OMP_THREAD_LIMIT",
        )


def group_was_throttled(facts: Facts) -> Iterator[Problem]:
    periods, throttled = facts.cgroup.periods, facts.cgroup.throttled_periods
    if periods and throttled and throttled / periods > _MUCH_THROTTLING:
        yield Problem(
            "warning",
            f"the control group was stopped in {throttled / periods:.0%} of its periods",
            "It used its CPU quota before the period ended; then nothing in it runs.",
            "use fewer threads, or raise the quota",
        )


def siblings_in_use(facts: Facts) -> Iterator[Problem]:
    cores, usable = facts.topology.physical_cores, facts.usable_cpus
    if not facts.topology.smt or cores is None or usable is None:
        return
    asked = facts.environment.get("OMP_NUM_THREADS", "")
    threads = int(asked) if asked.isdigit() else (facts.torch.threads if facts.torch else 0)
    example = facts.topology.siblings[0]
    best = min(cores, facts.effective_cpus or cores)
    if threads > cores:
        yield Problem(
            "warning",
            f"{threads} threads on {cores} physical cores: SMT siblings share their vector units",
            f"CPUs {to_cpu_list(frozenset(example))} are one core; dense kernels gain nothing from both.",
            f"export OMP_NUM_THREADS={best} OMP_PROC_BIND=close OMP_PLACES=cores",
        )
    else:
        yield Problem(
            "info",
            f"SMT: {len(usable)} CPUs are {cores} physical cores",
            "One thread per core is usually best for dense kernels.",
            f"export OMP_NUM_THREADS={best}",
        )


def cores_differ(facts: Facts) -> Iterator[Problem]:
    if facts.topology.hybrid:
        yield Problem(
            "warning",
            f"the cores are of different kinds: {', '.join(facts.topology.hybrid)}",
            "A parallel region ends when its slowest thread ends.",
            "bind to the fast cores: taskset -c LIST, with OMP_NUM_THREADS set to their number",
        )


def several_memory_nodes(facts: Facts) -> Iterator[Problem]:
    nodes = facts.topology.numa_nodes
    if nodes and nodes > 1:
        yield Problem(
            "warning",
            f"the usable CPUs span {nodes} memory nodes",
            "Memory lies on the node that touched it first; the others read it through the slower link.",
            "numactl --cpunodebind=0 --membind=0 …, or one process per node",
        )


def _cause(facts: Facts) -> str:
    if facts.cgroup.cpu_quota is not None and facts.effective_cpus == max(1, int(facts.cgroup.cpu_quota)):
        return f"The control group's quota pays for {facts.cgroup.cpu_quota:g} CPUs."
    if facts.usable_cpus is not None:
        return f"Affinity and cpuset allow CPUs {to_cpu_list(facts.usable_cpus)}."
    return ""


CHECKS: tuple[Check, ...] = (
    threads_above_what_may_run,
    default_threads_ignore_the_quota,
    torch_runs_more_threads_than_allowed,
    thread_limit_below_thread_count,
    group_was_throttled,
    siblings_in_use,
    cores_differ,
    several_memory_nodes,
)
