"""What a caller may ask of a report, and what it is told about the one written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEFAULT_MAX_SIZE_BYTES = 5_000_000


@dataclass(frozen=True)
class Insight:
    """A card of the overview. Any dataclass with these fields will do."""

    title: str
    evidence: str
    saving: str
    fix: str


@dataclass(frozen=True)
class ReportOptions:
    """How to write a report."""

    max_size_bytes: int = DEFAULT_MAX_SIZE_BYTES
    no_source: bool = False  # embed no source text at all
    title: str | None = None
    insights: Sequence[Any] = ()  # dataclasses or mappings: title, evidence, saving, fix, …
    findings: Sequence[Any] = ()  # findings about the machine: severity, what, why, fix
    taken_away: str | None = None  # one sentence above the verdict: the machine was busy
    headroom: str | None = None  # one sentence under the account: what a step must do
    closing: str | None = None  # one sentence after the insights, or in their place


@dataclass(frozen=True)
class ReportSummary:
    """What was written, and what had to be left out to keep to the size."""

    path: Path
    size_bytes: int
    detail_level: int  # 0: everything; each level keeps about half of the one before
    samples: int
    sample_rows: int  # rows in the page; fewer than samples when equal ones were joined
    ops: int
    op_rows: int
    pruned: dict[str, str] = field(default_factory=dict)  # what -> one sentence
