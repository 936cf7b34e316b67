"""Rule 49, per-tensor optimizer: the optimizer updates one parameter after the other in Python.

Condition: frames `_single_tensor_*` (torch's OptimizerSingleTensor pattern) take at least 5 % of the step, and at least
    5 % of the step can be won.
Saving: Adam and its like pass over each tensor six times or more and make two temporaries; the fused form passes once.
    Here it took 10 to 39 % of the time at 8 to 100 tensors of 1 thousand to 1.5 million elements: at least half
    of the time is won, whatever the tensors. More than all of it can be: large temporaries go back to the system, and
    the rest of the step pays for fresh pages (of a VAE 28 % was the update, 31 to 43 % was won). For others only the
    part outside kernels: dispatch and Python, 60 to 95 % of it, and that only with many tensors.
Not for: foreach or fused optimizers; sparse gradients.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_kernel
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05  # catalogue, rule 49
LEAST_WIN = 0.05
FEWEST_TENSORS = 20  # ours: where only dispatch is won, fewer tensors have little to share
WITH_FUSED = ("Adam", "AdamW", "SGD", "Adagrad")
MANY_PASSES = ("Adam", "AdamW", "Adagrad")
ONE_PASS_WINS = (0.5, 1.15)  # times the whole update, measured with torch 2.13 on the CPU


def judge(subject: Subject) -> Iterator[Finding]:
    claim = subject.host_with(r"^_single_tensor_\w+$", layer="^python$", file=r"torch/optim/")
    share = subject.share(claim)
    overhead = subject.share(claim & ~in_kernel(subject))
    if share.low < LEAST_SHARE:
        return
    optimizers = [o for o in subject.settings.get("optimizers", []) if isinstance(o, dict)]
    known = optimizers[0] if optimizers else {}
    name = str(known.get("class", "Adam"))
    option = "fused" if name in WITH_FUSED else "foreach"
    if known.get("sparse_gradients"):
        return  # sparse gradients are updated one by one in any case
    dispatch = overhead.low if int(known.get("tensors", FEWEST_TENSORS)) >= FEWEST_TENSORS else 0.0
    low, high = 0.6 * overhead.middle / share.middle, 0.95
    won = dispatch
    if known and name in MANY_PASSES:  # an optimizer without a name might be any
        low, high = max(low, ONE_PASS_WINS[0]), max(ONE_PASS_WINS[1], low)
        won = max(won, share.low * ONE_PASS_WINS[0])
    if won < LEAST_WIN:
        return
    tensors = f"; {known['tensors']} tensors" if "tensors" in known else ""
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The optimizer updates its tensors one by one: {share.middle:.0%} of each step",
            why="Each tensor is passed over several times, and each pass pays for Python and dispatch; one fused call "
            "reads and writes everything once.",
            evidence=(
                Evidence(
                    f"{share.middle:.1%} of the step in _single_tensor_*, {overhead.middle:.1%} of the step of it "
                    f"outside kernels{tensors}",
                    "frame",
                    "_single_tensor",
                ),
            ),
            saving=subject.saving(share, low, high),
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


RULE = Rule(
    "per_tensor_optimizer", 49, "samples in steady steps", judge, scope="cpu", breadth=0, way="in bulk"
)
