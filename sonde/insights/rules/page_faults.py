"""Rule 31, page faults and malloc trim: memory is asked from the system and given back in every step.

Condition: at least 1000 minor faults per second and 10 per step, and the system CPU time of the process is
    at least 5 % of the wall time of steady steps.
Saving: the system time beyond 1 %, at most all of it (a fault costs 0.1 to 1 µs and clears a page of 4
    KiB), and up to half more for cold caches.
Not for: faults of the first touch of memory that stays (warm-up), programs whose system time is reading
    files.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.shares import exact
from sonde.insights.subject import Subject

LEAST_FAULTS_PER_S, LEAST_FAULTS_PER_STEP = 1000.0, 10.0
LEAST_SYSTEM = 0.05
USUAL_SYSTEM = 0.01
PAGE_BYTES = 4096
TUNABLES = {
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "2147483648",
    "MALLOC_TOP_PAD_": "67108864",
}


def judge(subject: Subject) -> Iterator[Finding]:
    faults = subject.counter_steady("minor_faults")
    system = subject.counter_steady("cpu_system_ns") / 1e9
    per_step = faults * subject.mean_step_ns / 1e9
    if faults < LEAST_FAULTS_PER_S or per_step < LEAST_FAULTS_PER_STEP or system < LEAST_SYSTEM:
        return
    # Faults must be able to explain the system time: reading files takes system time too.
    explained = min(faults * 2e-6, system)
    if explained < LEAST_SYSTEM:
        return
    share = exact(min(explained - USUAL_SYSTEM, 0.9), 1.0)
    done = {k for k in TUNABLES if k in subject.environment}
    if done == set(TUNABLES):
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{per_step * PAGE_BYTES / 1e6:.1f} MB of fresh memory per step: the kernel clears "
            f"pages {system:.0%} of the time",
            why="Large buffers go back to the system when freed; the next step faults every page in again.",
            evidence=(
                Evidence(f"{faults:,.0f} page faults per second, {per_step:,.0f} per step"),
                Evidence(f"{system:.1%} of the time is system CPU time"),
            ),
            saving=subject.saving(share, 0.3, min(2.0, 0.9 / max(share.middle, 1e-9))),
            confidence="high" if share.middle > 0.1 else "medium",
            fix="export " + " ".join(f"{k}={v}" for k, v in TUNABLES.items()) + "\n"
            "# or LD_PRELOAD=libtcmalloc.so / libjemalloc.so; or write into a buffer that stays: "
            "torch.add(a, b, out=kept)",
            experiment=Experiment(
                "environment", environment=TUNABLES, note="resident memory stays at its peak"
            ),
        )
    )


RULE = Rule("page_faults", 31, "counters of faults and CPU time", judge, scope="cpu", breadth=1)
