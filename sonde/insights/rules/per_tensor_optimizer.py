"""Rule 49, per-tensor optimizer: the optimizer updates one parameter after the other in Python.

Condition: frames `_single_tensor_*` (torch's OptimizerSingleTensor pattern) take at least 5 % of the step.
Saving: the part of that time spent outside kernels: dispatch and Python, 60 to 95 % of it; where arithmetic
    dominates little is won, and the rule stays silent when the winnable part is below 5 % of the step.
Not for: foreach or fused optimizers; fewer than 20 tensors; sparse gradients.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_kernel
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05  # catalogue, rule 49
LEAST_WIN = 0.05
FEWEST_TENSORS = 20  # ours: fewer tensors have little to share
WITH_FUSED = ("Adam", "AdamW", "SGD", "Adagrad")


def judge(subject: Subject) -> Iterator[Finding]:
    claim = subject.host_with(r"^_single_tensor_\w+$", layer="^python$", file=r"torch/optim/")
    share = subject.share(claim)
    overhead = subject.share(claim & ~in_kernel(subject))
    if share.low < LEAST_SHARE or overhead.low < LEAST_WIN:
        return
    optimizers = [o for o in subject.settings.get("optimizers", []) if isinstance(o, dict)]
    known = optimizers[0] if optimizers else {}
    name = str(known.get("class", "Adam"))
    option = "fused" if name in WITH_FUSED else "foreach"
    if known.get("sparse_gradients"):
        return  # sparse gradients are updated one by one in any case
    if int(known.get("tensors", FEWEST_TENSORS)) < FEWEST_TENSORS:
        return
    tensors = f"; {known['tensors']} tensors" if "tensors" in known else ""
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The optimizer updates its tensors one by one: {share.middle:.0%} of each step",
            why="Each small update pays for Python and dispatch; one fused call does all of them.",
            evidence=(
                Evidence(
                    f"{share.middle:.1%} of the step in _single_tensor_*, {overhead.middle:.1%} of the step of it "
                    f"outside kernels{tensors}",
                    "frame",
                    "_single_tensor",
                ),
            ),
            saving=subject.saving(overhead, 0.6, 0.95 * max(share.middle / max(overhead.middle, 1e-9), 1.0)),
            confidence="high",
            fix=f"torch.optim.{name}(model.parameters(), ..., {option}=True)",
            experiment=Experiment(
                "arguments",
                target=f"torch.optim.{name}",
                arguments={option: True, **({"foreach": None} if option == "fused" else {})},
                note="results differ in the last bits",
            ),
        ),
        claim,
    )


RULE = Rule("per_tensor_optimizer", 49, "samples in steady steps", judge, scope="cpu", breadth=0)
