"""Which addresses hold parameters, gradients and optimizer state: asked once per window.

The allocator's events know sizes and times, not meanings. Inside a window, when an
optimizer is about to step, its tensors are listed once: address and bytes by category. The
cost is under a microsecond per tensor, in windows only.
"""

from __future__ import annotations

from typing import Any

MOST_TENSORS = 20_000


def listing(optimizer: Any) -> dict[str, list[tuple[int, int]]]:
    """(address, bytes) of the optimizer's tensors by category; each storage once."""
    found: dict[str, list[tuple[int, int]]] = {"parameter": [], "gradient": [], "optimizer_state": []}
    seen: set[int] = set()

    def add(category: str, tensor: Any) -> None:
        try:
            storage = tensor.untyped_storage()
            pointer, size = storage.data_ptr(), storage.nbytes()
        except Exception:  # fake, meta and wrapped tensors have none
            return
        if pointer and pointer not in seen and len(seen) < MOST_TENSORS:
            seen.add(pointer)
            found[category].append((pointer, size))

    for group in optimizer.param_groups:
        for parameter in group["params"]:
            add("parameter", parameter)
            if parameter.grad is not None:
                add("gradient", parameter.grad)
            for value in optimizer.state.get(parameter, {}).values():
                if hasattr(value, "untyped_storage"):
                    add("optimizer_state", value)
    return found
