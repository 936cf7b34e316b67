"""`sonde prove` in the terminal: predicted against measured, and the ledger of all predictions."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from sonde.experiment.proving.ledger import Calibration, Outcome
from sonde.experiment.proving.proof import Proof
from sonde.render.text.experiments import comparison_data
from sonde.render.text.page import Column, Page


def proof_data(proof: Proof) -> dict[str, Any]:
    """Stable keys: rule, outcome, predicted {low, high} or null, measured, low, high, noise_floor, how, comparison."""
    return {
        "rule": proof.rule,
        "outcome": proof.word,
        "predicted": None
        if proof.predicted is None
        else dict(zip(("low", "high"), proof.predicted, strict=True)),
        "measured": proof.measured,
        "low": proof.low,
        "high": proof.high,
        "noise_floor": proof.noise_floor if math.isfinite(proof.noise_floor) else None,
        "how": proof.how,
        "comparison": comparison_data(proof.comparison),
    }


def show_proof(data: dict[str, Any], page: Page) -> None:
    found = data["comparison"]
    page.heading(f"{data['rule']}: {data['outcome']}")
    promised = data["predicted"]
    said = "no figure" if promised is None else f"{promised['low']:.1%} to {promised['high']:.1%} of a step"
    interval = "interval not closed" if data["low"] is None else f"[{data['low']:.1%}, {data['high']:.1%}]"
    page.line(f"  predicted saving  {said}")
    page.line(f"  measured saving   {data['measured']:.1%} {interval}")
    what = "a step" if found["unit"] == "step" else "a launch (no steady steps: start-up included)"
    page.line(
        f"  {what}: {found['a_ms']:.3g} ms → {found['b_ms']:.3g} ms, {found['pairs']} pairs of {data['how']}, "
        f"{found['discarded']} discarded{_reasons(found)}; {_floor(data)}"
    )
    if found["verdict"] == "inconclusive":
        page.line(
            f"  Not known yet: about {found['more_pairs']} more pairs would settle it (--budget, --journal)."
        )
    if not found["same_result"]:
        before, after = found["results"]
        page.line(
            "  The program's results differ, so this does not count as proof: "
            f"{before or 'nothing'} / {after or 'nothing'}"
        )


def _floor(data: dict[str, Any]) -> str:
    floor = data["noise_floor"]
    return "noise floor not known: too few pairs" if floor is None else f"noise floor {floor:.1%}"


def _reasons(found: dict[str, Any]) -> str:
    return f" ({', '.join(found['discard_reasons'])})" if found["discard_reasons"] else ""


def ledger_data(outcomes: list[Outcome], rows: list[Calibration]) -> dict[str, Any]:
    """`outcomes`, oldest first, each with `judged`; `calibration` by rule with `share` of predictions that held."""
    return {
        "outcomes": [{**asdict(o), "judged": o.judged} for o in outcomes],
        "calibration": [{**asdict(row), "share": row.share} for row in rows],
    }


def show_ledger(data: dict[str, Any], page: Page) -> None:
    if not data["outcomes"]:
        page.line("Nothing has been proved yet.  sonde insights REC, then: sonde prove REC RULE")
        return
    numbers = [Column(t, right=True) for t in ("predicted", "measured", "interval", "pairs")]
    page.table(
        [Column("when"), Column("rule"), Column("program", fold=True), *numbers, Column("")],
        [_cells(o) for o in data["outcomes"]],
    )
    page.line()
    titles = ("proofs", "held", "promised too much", "too little", "open", "held of judged")
    page.table(
        [Column("rule"), *(Column(t, right=True) for t in titles)],
        [
            (r["rule"], r["proofs"], r["held"], r["promised_too_much"], r["promised_too_little"], r["open"],
             "–" if r["share"] is None else f"{r['share']:.0%}")
            for r in data["calibration"]
        ],
    )  # fmt: skip


def _cells(o: dict[str, Any]) -> tuple[str, ...]:
    promised = "–" if o["predicted_low"] is None else f"{o['predicted_low']:.1%} … {o['predicted_high']:.1%}"
    interval = "–" if o["measured_low"] is None else f"{o['measured_low']:.1%} … {o['measured_high']:.1%}"
    note = o["judged"] if o["same_result"] else "results differ"
    return (
        o["when"][:16],
        o["rule"],
        o["program"],
        promised,
        f"{o['measured']:.1%}",
        interval,
        str(o["pairs"]),
        note,
    )
