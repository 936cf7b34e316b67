"""May these recordings be compared? Reasons why not, in words.

A difference in how two recordings were made shows as a difference between programs: another rate or
clock of samples, another depth, another machine, another program. Such pairs are refused unless forced.
What changes a program's speed on purpose (environment, arguments, versions) is told, not refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sonde.store.recording import Recording


@dataclass(frozen=True)
class Likeness:
    """`unlike`: why a comparison would mislead; `changed`: what is different and may well be the point."""

    unlike: list[str]
    changed: list[str]


def likeness(a: Sequence[Recording], b: Sequence[Recording]) -> Likeness:
    """Compare every recording with the first of side A."""
    first = a[0]
    unlike: list[str] = []
    changed: list[str] = []
    for side, recordings in (("A", a[1:]), ("B", b)):
        for recording in recordings:
            for what, was, now in _must_agree(first, recording):
                if was != now:
                    unlike.append(f"{what}: {was} in {_name(first)}, {now} in {_name(recording)}")
            if side == "A":
                for what, was, now in _may_change(first, recording):
                    if was != now:
                        unlike.append(f"{what} within side A: {was} and {now}")
    for recording in b[1:]:
        for what, was, now in _may_change(b[0], recording):
            if was != now:
                unlike.append(f"{what} within side B: {was} and {now}")
    for what, was, now in _may_change(first, b[0]):
        if was != now:
            changed.append(f"{what}: {was} → {now}")
    for recording in (*a, *b):
        if recording.meta.exit_code not in (0, None):
            changed.append(f"{_name(recording)} ended with exit code {recording.meta.exit_code}")
    return Likeness(_distinct(unlike), _distinct(changed))


def _must_agree(a: Recording, b: Recording) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = [("made by", a.meta.source, b.meta.source)]
    if a.meta.source == b.meta.source == "run":
        found += [
            ("program", a.meta.program, b.meta.program),
            ("sampling rate", _rate(a), _rate(b)),
            ("clock of samples", _engine(a), _engine(b)),
            ("profiling windows", a.meta.options.get("window"), b.meta.options.get("window")),
            ("primitives listened to", _flag(a, "primitives"), _flag(b, "primitives")),
            ("on/off blocks", _flag(a, "blocks"), _flag(b, "blocks")),
        ]
    if a.meta.machine.get("cpu") and b.meta.machine.get("cpu"):
        found.append(("machine", _machine(a), _machine(b)))
    return found


def _may_change(a: Recording, b: Recording) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    words_a, words_b = a.meta.command[2:], b.meta.command[2:]
    found.append(("arguments", " ".join(words_a) or "none", " ".join(words_b) or "none"))
    for key in sorted({*a.meta.environment, *b.meta.environment}):
        found.append((key, a.meta.environment.get(key, "not set"), b.meta.environment.get(key, "not set")))
    for key in sorted({*a.meta.versions, *b.meta.versions}):
        found.append((key, a.meta.versions.get(key, "absent"), b.meta.versions.get(key, "absent")))
    return found


def _rate(recording: Recording) -> str:
    return f"{recording.meta.options.get('rate_hz', '?')} Hz"


def _flag(recording: Recording, name: str) -> str:
    return "yes" if recording.meta.options.get(name) else "no"


def _engine(recording: Recording) -> str:
    processes = recording.table("processes")
    return (processes.text("engine")[0] if len(processes) else None) or "none"


def _machine(recording: Recording) -> str:
    machine = recording.meta.machine
    return f"{machine.get('cpu')}, {machine.get('usable_cpus')} CPUs"


def _name(recording: Recording) -> str:
    return recording.path.name if recording.path else recording.meta.program or "memory"


def _distinct(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(lines))
