"""Torch's global hooks of optimizers: added, and taken away again by a guest that leaves before the program ends.

Torch walks its table of hooks in every step, and a table that changes meanwhile ends the program's step with an error.
A program that is just being started walks none. In one that runs (`sonde attach`) the table itself stays as it is:
another one with our hook in it takes its place, in one step, and later the old one again.
"""

from __future__ import annotations

from typing import Any

from sonde.record.inside import patch

_TABLES = {"pre": "_global_optimizer_pre_hooks", "post": "_global_optimizer_post_hooks"}


class NoHooks(Exception):
    """This torch has none."""


def add(torch: Any, kind: str, hook: Any, late: bool) -> None:
    """Call `hook(optimizer, args, kwargs)` before or after ("pre", "post") every optimizer's step."""
    try:
        from torch.optim import optimizer

        register = getattr(optimizer, f"register_optimizer_step_{kind}_hook")
    except (ImportError, AttributeError):
        raise NoHooks(f"torch {torch.__version__} has no optimizer step hooks") from None
    if not late:
        register(hook)
        return
    table = getattr(optimizer, _TABLES[kind], None)
    if table is None:
        raise NoHooks(f"torch {torch.__version__} keeps its optimizer step hooks elsewhere")
    grown = type(table)(table)
    grown[f"sonde {id(hook)}"] = hook
    patch.replace(optimizer, _TABLES[kind], grown)
