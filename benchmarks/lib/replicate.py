"""Make big inputs from small real ones: one trace many times over, or many ranks from eight.

Times, correlations, external ids and step numbers are moved in each copy, so that links stay right and the
copies are as regular, and as irregular, as the original.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any


def load(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    document: dict[str, Any] = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    return document


def lengthen(source: Path, target: Path, times: int) -> None:
    """The trace `times` times, one after the other, as plain JSON."""
    document = load(source)
    events = document["traceEvents"]
    timed = [e for e in events if "ts" in e and e.get("ph") != "M"]
    span = max(e["ts"] + e.get("dur", 0) for e in timed) - min(e["ts"] for e in timed)
    span = -(-span // 100_000) * 100_000  # the same for all ranks of a job, or their collectives would part
    ids = 1 + max(max(e.get("args", {}).get(k, 0) for k in ("correlation", "External id")) for e in timed)
    with target.open("w", encoding="utf-8") as out:
        head = {k: v for k, v in document.items() if k != "traceEvents"}
        out.write(json.dumps(head)[:-1] + ', "traceEvents": [\n')
        for copy in range(times):
            moved = [_moved(e, copy, span, ids) for e in (events if copy == 0 else timed)]
            out.write((",\n" if copy else "") + ",\n".join(map(json.dumps, moved)))
        out.write("\n]}\n")


def _moved(event: dict[str, Any], copy: int, span: float, ids: int) -> dict[str, Any]:
    if copy == 0:
        return event
    event = {**event, "ts": event["ts"] + copy * span}
    if "id" in event:
        event["id"] += copy * ids
    if str(event.get("name", "")).startswith("ProfilerStep#"):
        event["name"] = f"ProfilerStep#{int(event['name'][13:]) + copy}"
    args = event.get("args")
    if args:
        event["args"] = {
            k: v + copy * ids if k in ("correlation", "External id") else v for k, v in args.items()
        }
    return event


def multiply_ranks(sources: list[Path], folder: Path, ranks: int) -> list[Path]:
    """`ranks` files, rank r being a copy of source r mod n under its own rank, gzip'ed like the originals."""
    texts = [gzip.decompress(p.read_bytes()) for p in sources]
    made = []
    for rank in range(ranks):
        text = re.sub(rb'"rank": ?\d+', b'"rank": %d' % rank, texts[rank % len(texts)], count=1)
        text = re.sub(rb'"world_size": ?\d+', b'"world_size": %d' % ranks, text, count=1)
        path = folder / f"rank_{rank}.json.gz"
        path.write_bytes(gzip.compress(text, 1))
        made.append(path)
    return made
