"""What the marks of a launch say about the program: does it draw batches, with how many threads does it compute?"""

from __future__ import annotations

from sonde import json_text
from sonde.columns import Table


def draws_batches(marks: Table) -> bool:
    """Whether it has drawn batches from a DataLoader."""
    return bool((marks.text("kind").equals("phase") & marks.text("name").equals("dataloader")).any())


def threads_of(marks: Table) -> int:
    """Threads that torch computed with; -1 when no process said so, or several disagree."""
    told = marks.take(marks.text("kind").equals("settings")).text("extra").tolist()
    found = {json_text.whole(json_text.object_of(text).get("threads")) for text in told} - {-1}
    return found.pop() if len(found) == 1 else -1
