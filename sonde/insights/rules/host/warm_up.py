"""Rule 11, warm-up: the first steps cost more than all the rest of a run.

Condition: the excess of the first steps over the steady one is at least 10 s and a quarter of the run, and at least
    half of it is compilation of graphs that came from no cache.
Saving: that compilation, 0 to 95 %; once per run.
Not for: excesses that no setting takes away: first touches, thread pools, lazy loading, a machine that was busy.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_MS, LEAST_SHARE = 10_000.0, 0.25
LEAST_COMPILED = 0.5  # of the excess


def judge(subject: Subject) -> Iterator[Finding]:
    report = subject.report
    first = report.steps[: report.warmup]
    excess_ms = sum(max(s.own_ns - report.median_ns, 0.0) for s in first) / 1e6
    run_ms = max(subject.meta.duration_s * 1e3, excess_ms)
    if excess_ms < LEAST_MS or excess_ms < LEAST_SHARE * run_ms:
        return
    start, end = first[0].start_ns, first[-1].start_ns + first[-1].duration_ns
    marks = subject.marks("compile")
    inside = (marks.array("start_ns") >= start) & (marks.array("start_ns") < end)
    compile_ms = float((marks.array("end_ns") - marks.array("start_ns"))[inside].sum()) / 1e6
    compiled = min(compile_ms, excess_ms)
    if compiled < LEAST_COMPILED * excess_ms:
        return
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The first {report.warmup} steps cost {excess_ms / 1e3:.0f} s more than steady ones",
            why="Compiling, tuning and first touches are paid once per run; caches carry them over to the next.",
            evidence=(
                Evidence(
                    f"{excess_ms / 1e3:.1f} s of a run of {run_ms / 1e3:.0f} s, {compiled / 1e3:.1f} "
                    "s of it compiling"
                ),
            ),
            saving=Saving(0.0, 0.95 * compiled, run_ms),
            confidence="low",
            fix="export TORCHINDUCTOR_CACHE_DIR=$HOME/.cache/inductor   # a folder that outlives the container\n"
            "# fixed shapes, fewer compiled variants, or a longer run to spread it over",
            experiment=Experiment("patch"),
            resource="once",
        )
    )


RULE = Rule("warm_up", 11, "steps and marks of the compiler", judge, scope="cpu", breadth=1, way="once")
