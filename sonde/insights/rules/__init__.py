"""The rules, one file each, in the order of the catalogue. Adding one = one file + one line here."""

from __future__ import annotations

from sonde.insights.rule import Rule
from sonde.insights.rules import (
    collate_bound,
    debug_left_on,
    gc_pauses,
    gil_contention,
    io_in_step,
    loader_stall,
    loop_indexing,
    per_tensor_optimizer,
    python_overhead,
    synchronous_loader,
    worker_restart,
)

RULES: tuple[Rule, ...] = (
    python_overhead.RULE,
    loop_indexing.RULE,
    gc_pauses.RULE,
    gil_contention.RULE,
    io_in_step.RULE,
    debug_left_on.RULE,
    loader_stall.RULE,
    synchronous_loader.RULE,
    worker_restart.RULE,
    collate_bound.RULE,
    per_tensor_optimizer.RULE,
)
