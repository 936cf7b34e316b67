"""A static flame graph (icicle) as SVG: a picture for an issue or a README.

Frames narrower than a third of a pixel are left out; hovering shows name and
share of the whole on-CPU time. A picture rounds, so the exact nanoseconds are in
the file too: `data-ns` of each frame, and of the whole what is drawn in the first
row (`data-total-ns` less `data-left-out-ns`).
"""

from __future__ import annotations

from html import escape
from typing import BinaryIO

import numpy as np

from sonde.analyze.base.nesting import depths
from sonde.export.profile import StackProfile, profile_of
from sonde.layers import layer_fills
from sonde.store.recording import Recording

WIDTH_PX, ROW_PX, CHARACTER_PX, SMALLEST_PX = 1200, 17, 6.6, 0.35


def write(recording: Recording, stream: BinaryIO) -> None:
    stream.write(draw(profile_of(recording), recording.meta.program).encode("utf-8", "replace"))


def draw(profile: StackProfile, title: str) -> str:
    total = node_totals(profile)
    first_row = np.flatnonzero(profile.parent < 0)
    measured = int(total[first_row].sum())
    whole = measured or 1
    left = np.zeros(len(total), np.int64)
    depth = depths(profile.parent)
    filled = np.zeros(len(total) + 1, np.int64)  # how far children of a node reach; last: of the root
    for node, parent in enumerate(profile.parent.tolist()):
        base = int(left[parent]) if parent >= 0 else 0
        left[node] = base + filled[parent]
        filled[parent] += total[node]
    scale = WIDTH_PX / whole
    shown = np.flatnonzero(total * scale >= SMALLEST_PX)
    left_out = measured - int(total[np.intersect1d(first_row, shown)].sum())
    height = (int(depth[shown].max(initial=0)) + 2) * ROW_PX + 8
    layers, fills = profile.frames.text("layer").tolist(), layer_fills()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH_PX} {height}" '
        f'font-family="Verdana, sans-serif" font-size="11" '
        f'data-total-ns="{measured}" data-left-out-ns="{left_out}">',
        f'<text x="4" y="13">{_clean(title)}: on-CPU time, {whole / 1e9:.2f} s</text>',
    ]
    for node in shown.tolist():
        frame = int(profile.frame[node])
        x, width = left[node] * scale, total[node] * scale
        y = (int(depth[node]) + 1) * ROW_PX + 4
        name = profile.labels[frame]
        colour = fills.get(layers[frame] or "", fills["native"])
        tip = f"{name} — {total[node] / 1e6:.1f} ms, {100 * total[node] / whole:.1f} % of on-CPU time"
        fits = int((width - 4) / CHARACTER_PX)
        label = "" if fits < 3 else name if len(name) <= fits else name[: fits - 1] + "…"
        parts.append(
            f'<g data-ns="{total[node]}"><title>{_clean(tip)}</title>'
            f'<rect x="{x:.2f}" y="{y}" width="{max(width - 0.4, 0.2):.2f}" '
            f'height="{ROW_PX - 1}" fill="{colour}" rx="1"/>'
            + (f'<text x="{x + 3:.2f}" y="{y + 12}">{_clean(label)}</text>' if label else "")
            + "</g>"
        )
    return "\n".join([*parts, "</svg>\n"])


def node_totals(profile: StackProfile) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Time in each node and everything below it. Children come after parents, so one backward sweep."""
    total = np.zeros(len(profile.parent), np.int64)
    np.add.at(total, profile.stack, profile.weight_ns)
    parents = profile.parent.tolist()
    for node in range(len(parents) - 1, -1, -1):
        if parents[node] >= 0:
            total[parents[node]] += total[node]
    return total


def _clean(text: str) -> str:
    """XML has no place for control characters, not even escaped."""
    return escape("".join(c if c.isprintable() else "�" for c in text))
