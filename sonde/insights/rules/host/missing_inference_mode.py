"""Rule 48, inference builds a graph: forward passes with gradients on, and never a backward pass.

Condition: the process makes inference steps, at least 90 % of its forward passes run with gradients
    enabled, and no backward pass was ever seen.
Saving: the samples that create, keep and free autograd nodes (65 to 300 % of what is visibly theirs: they
    spread over every operator). Memory: activations that are kept for nothing.
Not for: training, and evaluation inside a training process.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde import json_text
from sonde.insights.model import Evidence, Experiment, Insight, NotEnough
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_GRAD = 0.9
LEAST_SHARE = 0.01
AUTOGRAD = (
    r"torch::autograd::(Node|SavedVariable|collect_next_edges|create_gradient_edge|set_history"
    r"|deleteNode|Edge|generated::\w+Backward"
    r"|compute_requires_grad|impl::|VariableHooks|AutogradMeta|gatherFunctions|accumulate_or_make)"
    r"|AutogradMeta|Backward\d+::|release_variables|gradient_edge|SavedVariable"
)


def judge(subject: Subject) -> Iterator[Finding]:
    phases = subject.marks("phase")
    names = phases.text("name")
    if not names.equals("forward").any():
        raise NotEnough("no forward pass of a module was seen")
    if names.equals("backward").any() or names.equals("optimizer").any():
        return
    told = [json_text.object_of(text) for text in phases.text("extra").take(names.equals("forward")).tolist()]
    grads = [bool(facts.get("grad")) for facts in told if "calls" not in facts]  # a burst does not tell
    with_grad = sum(1 for g in grads if g) / max(len(grads), 1)
    if with_grad < LEAST_GRAD:
        return
    claim = subject.host_with(AUTOGRAD, layer="^native$")
    share = subject.share(claim)
    yield Finding(
        Insight(
            rule=RULE.name,
            title="Inference runs with gradients on",
            why="Every operator records a graph and keeps its inputs alive, although no backward pass follows.",
            evidence=(
                Evidence(
                    f"{with_grad:.0%} of {len(grads)} forward passes have gradients enabled, and "
                    "none is followed by backward"
                ),
                Evidence(f"{share.middle:.1%} of the step visibly makes, keeps and frees autograd nodes"),
            ),
            saving=subject.saving(share, 0.65, 3.0) if share.middle >= LEAST_SHARE else None,
            confidence="high",
            fix="with torch.inference_mode():\n    y = model(x)",
            experiment=Experiment(
                "flag",
                code="import torch; torch.set_grad_enabled(False)",
                note="inference_mode saves a little more",
            ),
        ),
        claim if share.middle >= LEAST_SHARE else None,
    )


RULE = Rule(
    "missing_inference_mode",
    48,
    "forward passes and samples",
    judge,
    scope="cpu",
    breadth=0,
    way="not at all",
)
