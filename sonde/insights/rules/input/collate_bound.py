"""Rule 21, collate bound: putting samples together into a batch costs more than it needs to.

Condition: in DataLoader code of the stepping process, converting Python numbers or lists to tensors takes
    at least 5 % of the step.
Saving: at least 60 % of the conversion, at most everything below the lines that convert: making the lists and
    freeing them goes with it.
Not for: batches stacked from arrays and tensors, which is a plain copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.insights.host_layers import in_loader
from sonde.insights.loading import loading
from sonde.insights.model import Experiment
from sonde.insights.rule import Finding, Rule
from sonde.insights.subject import Subject
from sonde.insights.taxed import Tax, taxed

LEAST_SHARE = 0.05
WON_LOW, WON_HIGH = 0.6, 1.0
CONVERTS = (
    r"internal_new_from_data|recursive_store|compute_sizes|infer_scalar_type|tensor_ctor|array_tolist|tolist"
    r"|PyArray_ToList|recursive_tolist"
)
FIX = """# keep samples as arrays or tensors and stack them once
def collate(rows):
    return torch.from_numpy(np.stack(rows))   # not torch.tensor([row.tolist() for row in rows])"""


def judge(subject: Subject) -> Iterator[Finding]:
    loading(subject)
    tax = Tax(
        rule=RULE.name,
        title="Making batches out of Python numbers takes {share} of each step",
        why="Lists are converted one number at a time; arrays are copied in one go.",
        seen="{share} of the step is below lines that convert Python objects while a batch is collated",
        kind="fact",
        name="",
        won=(WON_LOW, WON_HIGH),
        fix=FIX,
        experiment=Experiment("patch"),
        resource="input",
        lines=2,
    )
    conversion = subject.host_with(CONVERTS) & in_loader(subject)
    claim = subject.host_at(subject.places(conversion)) & in_loader(subject) | conversion
    if subject.share(conversion).low >= LEAST_SHARE:
        yield from taxed(subject, claim, LEAST_SHARE, tax)


RULE = Rule(
    "collate_bound", 21, "samples inside the DataLoader", judge, scope="cpu", breadth=0, way="in bulk"
)
