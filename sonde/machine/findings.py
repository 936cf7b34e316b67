"""What is wrong or worth knowing about a machine: every rule over the facts, worst first."""

from __future__ import annotations

from sonde.machine.facts import Facts
from sonde.machine.finding import Finding, Rule
from sonde.machine.rules import libraries, system, threads

RULES: tuple[Rule, ...] = (*threads.RULES, *libraries.RULES, *system.RULES)
_ORDER = {"error": 0, "warning": 1, "info": 2}


def find(facts: Facts) -> list[Finding]:
    """All findings."""
    found = [finding for rule in RULES for finding in rule(facts)]
    return sorted(found, key=lambda f: _ORDER[f.severity])
