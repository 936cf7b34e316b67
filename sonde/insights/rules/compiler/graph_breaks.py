"""Rule 10, graph breaks: a compiled function returns to Python in the middle of its graph.

Condition: the compiler noted graph breaks in the program's own code, and in steady steps the time outside
    compiled kernels below compiled functions is at least 5 % of the step.
Saving: (breaks)/(breaks + 1) of the time that entering, guarding and leaving compiled regions takes, 30 to
    120 %.
Not for: breaks in code that runs once.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.compiling import compilations, place
from sonde.insights.host_layers import in_kernel
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05
COMPILED = r"torch_dynamo_resume_in|_fn$|compiled_fn|__call__|inner_fn|runtime_wrapper|call$"
COMPILED_FILE = r"torch/_dynamo/|torch/_functorch/|torch/_inductor/|torchinductor_"


def judge(subject: Subject) -> Iterator[Finding]:
    _, breaks = compilations(subject)
    own = [b for b in breaks if place(b)[0]]
    if not breaks:
        return
    compiled = subject.host_with(".", layer="^python$", file=COMPILED_FILE)
    resumed = subject.host_with(r"torch_dynamo_resume_in|__resume_at", layer="^python$")
    guards = subject.host_with(
        r"dynamo__custom_eval_frame|torch::dynamo::|_PyEval_EvalFrame_dynamo|run_root_guard|dynamo_eval",
        layer="^native$",
    )
    claim = (compiled | resumed | guards) & ~in_kernel(subject)
    share = subject.share(claim)
    if share.low < LEAST_SHARE:
        return
    places = {place(b) for b in own or breaks}
    regions = len(places) + 1
    # Each break runs once per layer that shares the code: count the regions that a step enters.
    per_step = _regions_per_step(subject)
    factor = 1 - 1 / max(per_step, regions)
    first = (own or breaks)[0]
    file, line = place(first)
    reason = " ".join(str(first.facts.get("reason", "")).split())[:160]
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"torch.compile breaks its graph at {len(places)} place(s), entering "
            f"{max(per_step, regions):.0f} regions per step",
            why="At each break Python takes over, and entering the next compiled region costs guards and wrappers.",
            evidence=(
                Evidence(f"{file.rpartition('/')[2]}:{line}: {reason}", "line", "", file, line),
                Evidence(f"{share.middle:.1%} of the step enters and leaves compiled regions"),
            ),
            saving=subject.saving(share, 0.3 * factor, min(1.2 * factor, 1.0)),
            confidence="high" if share.low > 0.1 else "medium",
            fix="# remove what breaks the graph (print, .item(), calls of foreign code), then check with\n"
            "model = torch.compile(model, fullgraph=True)\n"
            "# see all: TORCH_LOGS=graph_breaks python script.py",
            experiment=Experiment("patch"),
        ),
        claim,
    )


def _regions_per_step(subject: Subject) -> float:
    """Compiled regions that a recorded step enters; 0 when no window tells."""
    try:
        calls = subject.calls
    except NotEnough:
        return 0.0
    rows = calls.named(
        r"^Torch-Compiled Region|TorchDynamo Cache Lookup|^CompiledFunction$|AOTDispatcher Runtime Wrapper"
    )
    kinds: dict[str, int] = {}
    for name in calls.ops.text("name").take(rows).tolist():
        head = (name or "").split(":")[0].split("/")[0]
        kinds[head] = kinds.get(head, 0) + 1
    return max(kinds.values(), default=0) / max(calls.steps, 1)


RULE = Rule(
    "graph_breaks", 10, "marks of the compiler and samples", judge, scope="cpu", breadth=0, way="in one pass"
)
