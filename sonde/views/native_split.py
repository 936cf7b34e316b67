"""Where an operator's own time went, as plain data (`native` of a row of `ops --native`)."""

from __future__ import annotations

from typing import Any

from sonde.analyze.samples.native_split import NativeSplit, Share

LEAVES_KEPT = 8


def native_json(split: NativeSplit | None) -> dict[str, Any] | None:
    """`samples`, `on_cpu_ms`, `parts` and `leaves` (name, part, ms, samples, share, low, high), `waits`."""
    if split is None:
        return None
    return {
        "samples": split.samples,
        "on_cpu_ms": split.on_cpu_ns / 1e6,
        "parts": [_share(s) for s in split.parts],
        "leaves": [_share(s) for s in split.leaves[:LEAVES_KEPT]],
        "waits": {reason: {"ms": ns / 1e6, "waits": n} for reason, (ns, n) in split.waits.items()},
    }


def _share(share: Share) -> dict[str, Any]:
    return {
        "name": share.name,
        "part": share.part,
        "ms": share.ns / 1e6,
        "samples": share.samples,
        "share": share.share,
        "low": share.low,
        "high": share.high,
    }
