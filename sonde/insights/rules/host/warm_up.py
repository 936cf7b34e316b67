"""Rule 11, warm-up: the first steps cost more than all the rest of a run.

Condition: the excess of the first steps over the steady one is at least 10 s and a quarter of the run.
Saving: compilation that a cache would keep (its measured time, 50 to 95 %), else a part of the excess; once
    per run.
Not for: short excesses, which every program has: first touches, thread pools, lazy loading.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_MS, LEAST_SHARE = 10_000.0, 0.25


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
            saving=Saving(0.5 * compiled, max(0.95 * compiled, 0.3 * excess_ms), run_ms),
            confidence="medium" if compiled > 0.5 * excess_ms else "low",
            fix="export TORCHINDUCTOR_FX_GRAPH_CACHE=1 TORCHINDUCTOR_CACHE_DIR=$HOME/.cache/inductor\n"
            "# fixed shapes, fewer compiled variants, or a longer run to spread it over",
            experiment=Experiment("environment", environment={"TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}),
            resource="once",
        )
    )


RULE = Rule("warm_up", 11, "steps and marks of the compiler", judge, scope="cpu", breadth=1)
