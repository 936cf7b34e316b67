"""What a recording keeps of the machine's truth: its name, its measured roofs, and what is wrong with it.

Made when the program starts, with the program's own variables: a report that is read
elsewhere, or later, says what held then and there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sonde.machine import problems, roofs
from sonde.machine.facts import gather


def recorded_machine(environment: Mapping[str, str]) -> dict[str, Any]:
    """`id`, `roofs` (None when none were measured) and `findings`, for `meta.machine`."""
    facts = gather(environment=dict(environment))
    return {
        "id": roofs.machine_id(facts),
        "roofs": roofs.known_roofs(facts),
        "findings": [asdict(problem) for problem in problems.find(facts)],
    }
