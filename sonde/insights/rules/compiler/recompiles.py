"""Rule 10, recompilations: torch.compile compiles the same function again because an input changed.

Condition: at least two compilations name a failed guard (recompile_reason), or one in steady steps; eight
    of one function reach torch's recompile_limit, after which it runs uncompiled.
Saving: the time of those compilations: per step where they happen in steady steps, else once, of all the time that
    the run steps; where torch gave up, at most also half of the steps that then run uncompiled.
Not for: the first compilation of each function, and the one that turns a size dynamic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sonde.insights.compiling import compilations, users_place
from sonde.insights.model import Evidence, Experiment, Insight, Saving
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

FEWEST = 2  # the first may be torch turning a size dynamic
LIMIT = 8  # torch._dynamo.config.recompile_limit
FALLBACK = 0.5  # of the steps: what compiled code may be faster by than the uncompiled one (ours)


def judge(subject: Subject) -> Iterator[Finding]:
    found, _ = compilations(subject)
    again = [c for c in found if c.reason]
    start, end = subject.steady.starts[0], subject.steady.ends[-1]
    late = [c for c in again if start <= c.start_ns < end]
    if len(again) < FEWEST and not late:
        return
    names = Counter(c.name for c in again)
    name, count = names.most_common(1)[0]
    took = sum(c.end_ns - c.start_ns for c in again) / 1e6
    steady_ms = sum(c.end_ns - c.start_ns for c in late) / 1e6
    steady_share = steady_ms * 1e6 / max(float(subject.steady.total_ns), 1.0)
    limit = f"; at {LIMIT} torch gives up and runs it uncompiled" if count >= LIMIT - 1 else ""
    file, line = users_place(subject, [c for c in again if c.name == name])
    per_step = steady_share >= 0.02
    steps = subject.report.steps
    stepped = max(s.start_ns + s.duration_ns for s in steps) - min(s.start_ns for s in steps)
    run_ms = max(stepped / 1e6, took)
    saving = (
        Saving(0.7 * steady_share * subject.step_ms, 1.1 * steady_share * subject.step_ms, subject.step_ms)
        if per_step
        else Saving(0.6 * took, took + (FALLBACK * (run_ms - took) if limit else 0.0), run_ms)
    )
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"{name} was compiled {count + 1} times{limit}",
            why="Compiled code is made for the sizes and values that it saw; a new one makes torch compile again.",
            evidence=(
                Evidence(
                    f"{len(again)} recompilations took {took / 1e3:.1f} s", "mark", "compile", file, line
                ),
                Evidence(f"failed guard: {' '.join(again[-1].reason.split())[:160]}"),
            ),
            saving=saving,
            confidence="high",
            fix="model = torch.compile(model, dynamic=True)   # or torch._dynamo.mark_dynamic(x, 0), "
            "or pad to a few sizes\n"
            "# see all: TORCH_LOGS=recompiles python script.py",
            experiment=Experiment("arguments", target="torch.compile", arguments={"dynamic": True}),
            resource="host" if per_step else "once",
        )
    )


RULE = Rule("recompiles", 10, "marks of the compiler", judge, scope="cpu", breadth=0, way="once")
