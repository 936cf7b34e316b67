"""Rule 18 on devices, DataLoader stall: the GPU is idle while the program waits for its next batch.

Condition: idle time inside `enumerate(DataLoader)…__next__` is at least 5 % of the window (TensorBoard
    plugin's threshold).
Saving: that idle time, 70 to 100 %.
Not for: loading behind a busy device.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.analyze.samples.stack_index import text_mask
from sonde.insights.devices import device_saving, mean_share
from sonde.insights.model import Evidence, Experiment, Insight
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject

LEAST_SHARE = 0.05


def judge(subject: Subject) -> Iterator[Finding]:
    share = mean_share(subject, lambda d: d.verdict.shares["input"] * d.time.window_ns)
    if share < LEAST_SHARE:
        return
    names = subject.table("ops").text("name")
    single = bool(text_mask(names, r"_SingleProcessDataLoaderIter").any())
    how = "in the training process itself (num_workers=0)" if single else "in worker processes"
    yield Finding(
        Insight(
            rule=RULE.name,
            title=f"The GPU is idle {share:.0%} of the time waiting for input",
            why="Batches are made more slowly than the model uses them.",
            evidence=(
                Evidence(
                    f"{share:.1%} of the window idle inside DataLoader.__next__; batches are made {how}"
                ),
            ),
            saving=device_saving(subject, 0.7 * share, share),
            confidence="high",
            fix="DataLoader(..., num_workers=4, prefetch_factor=4, persistent_workers=True, pin_memory=True)",
            experiment=Experiment(
                "arguments",
                target="torch.utils.data.DataLoader",
                arguments={"num_workers": 4, "prefetch_factor": 4, "persistent_workers": True},
            ),
            resource="input",
        )
    )


RULE = Rule(
    "gpu_input", 18, "device events and operator calls", judge, scope="gpu", breadth=0, way="elsewhere"
)
