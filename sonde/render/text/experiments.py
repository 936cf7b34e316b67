"""Experiments in the terminal: a live line while they run, the outcome afterwards."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TextIO

from sonde.experiment.paired import Comparison, Progress
from sonde.experiment.tune import Tuned
from sonde.render.text.page import Column, Page


class ProgressLine:
    """One line that is rewritten; on a stream that is no terminal, one line per ten pairs."""

    def __init__(self, stream: TextIO, seconds_left: Callable[[], float]) -> None:
        self.stream = stream
        self.seconds_left = seconds_left
        self.live = stream.isatty()

    def __call__(self, progress: Progress) -> None:
        ratio = f"{progress.ratio:.3f}×" if progress.ratio else "–"
        left = max(0.0, self.seconds_left())
        text = (
            f"{progress.comparison}: pair {progress.pairs_done} of {progress.pairs_planned}, "
            f"time {ratio}, {left / 60:.0f} min left"
        )
        if self.live:
            self.stream.write("\r\x1b[2K" + text[:150])
        elif progress.pairs_done == progress.pairs_planned:
            self.stream.write(text + "\n")
        self.stream.flush()

    def close(self) -> None:
        if self.live:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Stable keys: verdict, ratio, low, high, pairs, discarded, noise_floor, a_ms, b_ms, same_result."""
    verdict = comparison.verdict
    return {
        "verdict": verdict.word,
        "ratio": _finite(verdict.ratio.estimate),
        "low": _finite(verdict.ratio.low),
        "high": _finite(verdict.ratio.high),
        "pairs": verdict.pairs,
        "discarded": comparison.discarded,
        "noise_floor": verdict.noise_floor,
        "more_pairs": verdict.more_pairs,
        "reason": verdict.reason,
        "a_ms": comparison.a_ms,
        "b_ms": comparison.b_ms,
        "same_result": comparison.same_result,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def tuned_data(tuned: Tuned) -> dict[str, Any]:
    """`best`: name, environment, prefix; `gain`: comparison with as is, or null; `trials`."""
    return {
        "best": {
            "name": tuned.best.name,
            "environment": tuned.best.environment,
            "prefix": list(tuned.best.prefix),
        },
        "gain": comparison_data(tuned.confirmed) if tuned.confirmed else None,
        "noise_floor": _finite(tuned.noise_floor),
        "out_of_time": tuned.out_of_time,
        "trials": [
            {
                "knob": t.knob,
                "setting": t.setting.name,
                "kept": t.kept,
                "note": t.note,
                "comparison": comparison_data(t.comparison) if t.comparison else None,
            }
            for t in tuned.trials
        ],
    }


def show_tuned(data: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(data, ensure_ascii=False, allow_nan=False))
        return
    page = Page()
    columns = [
        Column("knob"),
        Column("setting"),
        Column("time", right=True),
        Column("95 % interval", right=True),
    ]
    page.table([*columns, Column("pairs", right=True), Column("")], [_row(t) for t in data["trials"]])
    if data["noise_floor"]:
        page.line(f"noise floor of this machine: {data['noise_floor']:.1%}")
    gain = data["gain"]
    if gain is None or data["best"]["name"] == "as is":
        page.heading("Nothing was proved better than the program as it is.")
        if gain:
            page.line(
                f"The best candidate did not hold on fresh pairs: {gain['verdict']} ({gain['reason']})."
            )
    else:
        page.heading(
            f"{data['best']['name']}: {1 / gain['ratio']:.2f}× as fast "
            f"[{1 / gain['high']:.2f}, {1 / gain['low']:.2f}], on {gain['pairs']} fresh pairs"
        )
        for key, value in sorted(data["best"]["environment"].items()):
            page.line(f"  export {key}={value}")
        if data["best"]["prefix"]:
            page.line(f"  {' '.join(data['best']['prefix'])} command …")
    if data["out_of_time"]:
        page.line("The budget ran out before every knob was turned (--budget).")


def _row(trial: dict[str, Any]) -> tuple[str, ...]:
    found = trial["comparison"]
    if not found:
        return (trial["knob"], trial["setting"], "", "", "", trial["note"])
    low, high = found["low"], found["high"]
    interval = f"{low:.3f} – {high:.3f}" if low is not None and high is not None else "not known yet"
    note = "kept" if trial["kept"] else trial["note"]
    return (trial["knob"], trial["setting"], f"{found['ratio']:.3f}×", interval, str(found["pairs"]), note)
