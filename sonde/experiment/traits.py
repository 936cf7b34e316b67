"""What the marks of a launch say about the program: does it draw batches, with how many threads does it compute?"""

from __future__ import annotations

import json

from sonde.columns import Table


def draws_batches(marks: Table) -> bool:
    """Whether it has drawn batches from a DataLoader."""
    return bool((marks.text("kind").equals("phase") & marks.text("name").equals("dataloader")).any())


def threads_of(marks: Table) -> int:
    """Threads that torch computed with; -1 when no process said so, or several disagree."""
    told = marks.take(marks.text("kind").equals("settings")).text("extra").tolist()
    found = {int(n) for text in told if text and (n := json.loads(text).get("threads")) is not None}
    return found.pop() if len(found) == 1 else -1
