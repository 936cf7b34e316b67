"""What is wrong or worth knowing about a machine: every check of the facts, worst first."""

from __future__ import annotations

from sonde.machine.checks import libraries, system, threads
from sonde.machine.facts import Facts
from sonde.machine.problem import Check, Problem

CHECKS: tuple[Check, ...] = (*threads.CHECKS, *libraries.CHECKS, *system.CHECKS)
_ORDER = {"error": 0, "warning": 1, "info": 2}


def find(facts: Facts) -> list[Problem]:
    """All problems."""
    found = [problem for check in CHECKS for problem in check(facts)]
    return sorted(found, key=lambda f: _ORDER[f.severity])
