"""The outer half of `pytest --sonde`: start the tests under `sonde run`, then read the recording.

Enters: pytest's configuration. Leaves: pytest's own exit code, or 1 when a test that passed broke a limit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sonde.analyze.recording.regions import RegionCost, region_costs
from sonde.errors import SondeError
from sonde.integrations.pytest_plugin import BASELINE, COUNTED, FOLDER, LIMITS, RECORDING, inner_command
from sonde.render.text.page import Column, Page
from sonde.render.text.units import nanoseconds, percent
from sonde.store.reader import open_recording

FEWEST_SAMPLES = 30  # below that a share is not judged


def profiled(config: pytest.Config) -> int:
    """Run the tests, print the slow ones, hold tests to their limits."""
    folder = Path(config.getoption("--sonde-dir")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LIMITS).unlink(missing_ok=True)
    recording = folder / RECORDING
    shutil.rmtree(recording, ignore_errors=True)
    words = [sys.executable, "-m", "sonde", "run", "--quiet", "-o", str(recording), "--", *inner_command()]
    code = subprocess.run(words, env={**os.environ, FOLDER: str(folder)}, check=False).returncode
    try:
        costs = _costs(recording)
    except SondeError as error:
        print(f"sonde: the tests ran, but their recording cannot be read: {error.message}", file=sys.stderr)
        return code
    limits = _limits(folder / LIMITS)
    baseline = _baseline(folder / BASELINE)
    broken = [line for cost in costs for line in broken_limits(cost, limits.get(cost.name, {}), baseline)]
    _show(costs, broken, recording, config.getoption("--sonde-slow"))
    if config.getoption("--sonde-baseline") or not baseline:
        counts = {c.name: {key: getattr(c, key) for key in COUNTED} for c in costs}
        (folder / BASELINE).write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    return 1 if broken and code == 0 else code


def _costs(path: Path) -> list[RegionCost]:
    recording = open_recording(path)
    return region_costs(*(recording.table(t) for t in ("marks", "samples", "threads", "stacks", "frames")))


def _limits(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {entry.pop("test"): entry for entry in map(json.loads, lines)}


def _baseline(path: Path) -> dict[str, dict[str, int]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def broken_limits(cost: RegionCost, limits: dict[str, Any], baseline: dict[str, dict[str, int]]) -> list[str]:
    """A sentence for each limit that the test did not keep, or that could not be judged."""
    said = []
    if "step_ms" in limits:
        if cost.median_step_ns is None:
            said.append(f"{cost.name}: step_ms cannot be judged: no steps were found in it")
        elif cost.median_step_ns / 1e6 > limits["step_ms"]:
            said.append(
                f"{cost.name}: a step takes {nanoseconds(cost.median_step_ns)}, limit {limits['step_ms']} ms"
            )
    for operator, most in limits.get("max_share", {}).items():
        share = cost.operators.get(operator, 0.0)
        if cost.samples < FEWEST_SAMPLES:
            said.append(
                f"{cost.name}: max_share cannot be judged from {cost.samples} samples; let the test run longer"
            )
        elif share > most:
            said.append(f"{cost.name}: {operator} takes {percent(share)} of CPU time, limit {percent(most)}")
    for key in limits.get("no_new", ()):
        before, now = baseline.get(cost.name, {}).get(key, 0), getattr(cost, key)
        if now > before:
            said.append(f"{cost.name}: {now} {key.replace('_', ' ')}, {before} in the baseline")
    return said


def _show(costs: list[RegionCost], broken: list[str], recording: Path, rows: int) -> None:
    page = Page()
    slow = sorted(costs, key=lambda c: -c.wall_ns)[:rows]
    if slow:
        page.heading(f"sonde: {len(slow)} slowest of {len(costs)} tests")
        columns = [Column("test", fold=True), Column("time", right=True), Column("CPU", right=True)]
        columns += [
            Column("step", right=True),
            Column("heaviest line", fold=True),
            Column("heaviest operator"),
        ]
        page.table(columns, [_row(cost) for cost in slow])
    for line in broken:
        page.line(f"FAILED {line}")
    page.line(
        f"Next:  sonde report {os.path.relpath(recording)} --open     sonde insights {os.path.relpath(recording)}"
    )


def _row(cost: RegionCost) -> tuple[str, ...]:
    step = "–" if cost.median_step_ns is None else nanoseconds(cost.median_step_ns)
    line = "–" if cost.place is None else f"{cost.place.label}  {percent(cost.place_share)}"
    operator = next((f"{name}  {percent(share)}" for name, share in cost.operators.items()), "–")
    return (cost.name, nanoseconds(cost.wall_ns), nanoseconds(cost.cpu_ns), step, line, operator)
