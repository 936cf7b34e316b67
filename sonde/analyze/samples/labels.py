"""How a frame is written in one line of text, the same in every format and view."""

from __future__ import annotations

from sonde.columns import Table

# Layers whose frames carry their layer as a prefix; Python and native frames are plain names.
PREFIXED = ("module", "op", "jit", "gpu", "kernel", "label")


def frame_label(layer: str | None, name: str | None, file: str | None, line: int) -> str:
    """`func (file.py:line)`, `[op] aten::mm`, `[jit] name`, or the plain native name."""
    text = name or "unknown"
    if layer == "python":
        where = (file or "?").rpartition("/")[2]
        return f"{text} ({where}:{line})" if line > 0 else f"{text} ({where})"
    return f"[{layer}] {text}" if layer in PREFIXED else text


def frame_labels(frames: Table) -> list[str]:
    """One label per row of `frames`, in row order."""
    layers, names = frames.text("layer").tolist(), frames.text("name").tolist()
    files, lines = frames.text("file").tolist(), frames.array("line").tolist()
    return [frame_label(*row) for row in zip(layers, names, files, lines, strict=True)]
