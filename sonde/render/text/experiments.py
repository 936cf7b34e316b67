"""Experiments in the terminal: a live line while they run, the outcome afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TextIO

from sonde.experiment.measure.paired import Comparison, Progress
from sonde.experiment.tuning.tune import Tuned
from sonde.render.text.page import Column, Page


class ProgressLine:
    """One line that is rewritten; on a stream that is no terminal, one line per ten pairs."""

    def __init__(self, stream: TextIO, seconds_left: Callable[[], float] | None = None) -> None:
        self.stream = stream
        self.seconds_left = seconds_left
        self.live = stream.isatty()

    def __call__(self, progress: Progress) -> None:
        ratio = f"{progress.ratio:.3f}×" if progress.ratio else "–"
        text = (
            f"{progress.comparison}: pair {progress.pairs_done} of {progress.pairs_planned}, "
            f"time {ratio}{self._left(progress)}"
        )
        if self.live:
            self.stream.write("\r\x1b[2K" + text[:150])
        elif progress.pairs_done == progress.pairs_planned:
            self.stream.write(text + "\n")
        self.stream.flush()

    def _left(self, progress: Progress) -> str:
        """Of this comparison by the pace so far, and of the budget where there is one."""
        parts = []
        if progress.seconds_left:
            parts.append(f"about {duration(progress.seconds_left)} to go")
        budget = self.seconds_left() if self.seconds_left else None
        if budget is not None:
            parts.append(f"{duration(max(0.0, budget))} of the budget left")
        return "".join(f", {part}" for part in parts)

    def close(self) -> None:
        if self.live:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()


def duration(seconds: float) -> str:
    """40 s, 5 min."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Stable keys: verdict, ratio, low, high, pairs, discarded, noise_floor, a_ms, b_ms, same_result."""
    verdict = comparison.verdict
    return {
        "verdict": verdict.word,
        "ratio": _finite(verdict.ratio.estimate),
        "low": _finite(verdict.ratio.low) if math.isfinite(verdict.ratio.high) else None,
        "high": _finite(verdict.ratio.high),
        "pairs": verdict.pairs,
        "discarded": comparison.discarded,
        "discard_reasons": list(comparison.discard_reasons),
        "unit": comparison.unit,
        "in_turns": comparison.in_turns,
        "noise_floor": _finite(verdict.noise_floor),
        "more_pairs": verdict.more_pairs,
        "reason": verdict.reason,
        "a_ms": comparison.a_ms,
        "b_ms": comparison.b_ms,
        "same_result": comparison.same_result,
        "results": list(comparison.results),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def tuned_data(tuned: Tuned) -> dict[str, Any]:
    """`best`: name, environment, prefix, by_hand, instances; `gain`: comparison with as is, or null; `trials`."""
    return {
        "best": {
            "name": tuned.best.name,
            "environment": tuned.best.environment,
            "prefix": list(tuned.best.prefix),
            "by_hand": [s.by_hand for s in tuned.kept if s.by_hand],
            "instances": tuned.best.instances,
        },
        "gain": comparison_data(tuned.confirmed) if tuned.confirmed else None,
        "noise_floor": _finite(tuned.noise_floor),
        "out_of_time": tuned.out_of_time,
        "finished": tuned.finished,
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


def show_tuned(data: dict[str, Any], page: Page) -> None:
    columns = [
        Column("knob"),
        Column("setting"),
        Column("time", right=True),
        Column("95 % interval", right=True),
    ]
    if data["trials"]:
        page.table([*columns, Column("pairs", right=True), Column("")], [_row(t) for t in data["trials"]])
    if data["noise_floor"]:
        page.line(f"noise floor of this machine for this program: {data['noise_floor']:.1%}")
    gain = data["gain"]
    if not data["finished"]:
        found = (
            "" if data["best"]["name"] == "as is" else f"; best so far, not confirmed: {data['best']['name']}"
        )
        page.heading(f"Not finished{found}.")
        return
    if gain is None or data["best"]["name"] == "as is":
        page.heading("No setting was proved better than the program as it is.")
        if gain:
            page.line(
                f"The best candidate did not hold on fresh pairs: {gain['verdict']} ({gain['reason']})."
            )
    else:
        page.heading(
            f"{data['best']['name']}: {1 / gain['ratio']:.2f}× as fast "
            f"[{1 / gain['high']:.2f}, {1 / gain['low']:.2f}], on {gain['pairs']} fresh pairs of launches"
            f"{' in turns' if gain['in_turns'] else ''}"
        )
        if gain["unit"] == "launch":
            page.line("  (of whole launches, start-up included: the program has no steady steps)")
        for key, value in sorted(data["best"]["environment"].items()):
            page.line(f"  export {key}={value}")
        for line in data["best"]["by_hand"]:
            page.line(f"  in the program: {line}")
        if data["best"]["instances"] > 1:
            page.line(f"  {data['best']['instances']} copies side by side")
        if data["best"]["prefix"]:
            page.line(f"  {' '.join(data['best']['prefix'])} command …")
    if data["out_of_time"]:
        page.line("The budget ran out before every setting was tried (--budget).")


def _row(trial: dict[str, Any]) -> tuple[str, ...]:
    found = trial["comparison"]
    if not found:
        return (trial["knob"], trial["setting"], "", "", "", trial["note"])
    low, high = found["low"], found["high"]
    interval = f"{low:.3f} – {high:.3f}" if low is not None and high is not None else "not known yet"
    note = "kept" if trial["kept"] else trial["note"]
    return (trial["knob"], trial["setting"], f"{found['ratio']:.3f}×", interval, str(found["pairs"]), note)
