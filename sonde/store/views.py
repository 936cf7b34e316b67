"""Views that answer the questions people ask most, on top of the tables.

Each is (name, what it answers, SQL). They only use tables and earlier views,
so that `sonde query REC "SELECT * FROM hot_frames LIMIT 20"` just works.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    name: str
    answers: str
    sql: str


VIEWS: tuple[View, ...] = (
    View(
        "stack_frames",
        "every stack with each frame on it, once per node: the base of self and total times",
        """
        WITH RECURSIVE up(stack, node) AS (
          SELECT stack, stack FROM stacks
          UNION ALL
          SELECT up.stack, s.parent FROM up JOIN stacks s ON s.stack = up.node WHERE s.parent >= 0
        )
        SELECT up.stack, s.frame, s.depth, up.node = up.stack AS leaf
        FROM up JOIN stacks s ON s.stack = up.node
        """,
    ),
    # From the stacks of samples alone: `stack_frames` also climbs from each of their callers, which goes by the square
    # of the depth of a recursion.
    View(
        "sampled_stack_frames",
        "the stacks that on-CPU samples ended in, with each frame on them and their time",
        """
        WITH RECURSIVE used AS (
          SELECT stack, sum(weight_ns) AS ns, count(*) AS samples
          FROM samples WHERE state <> 'waiting' AND stack >= 0 GROUP BY stack
        ), up(stack, node) AS (
          SELECT stack, stack FROM used
          UNION ALL
          SELECT up.stack, s.parent FROM up JOIN stacks s ON s.stack = up.node WHERE s.parent >= 0
        )
        SELECT up.stack, s.frame, s.depth, up.node = up.stack AS leaf, used.ns, used.samples
        FROM up JOIN stacks s ON s.stack = up.node JOIN used ON used.stack = up.stack
        """,
    ),
    View(
        "hot_lines",
        "on-CPU time per line of Python, callees included",
        """
        WITH per AS (
          SELECT DISTINCT sf.stack, sf.ns, f.file, f.line, f.name
          FROM sampled_stack_frames sf JOIN frames f USING (frame) WHERE f.layer = 'python'
        )
        SELECT file, line, name AS function, round(sum(ns) / 1e6, 3) AS total_ms
        FROM per GROUP BY ALL ORDER BY total_ms DESC
        """,
    ),
    View(
        "kernel_summary",
        "device kernels and copies by name",
        """
        SELECT name, kind, class, device, count(*) AS calls,
               round(sum(end_ns - start_ns) / 1e6, 3) AS total_ms,
               round(median(end_ns - start_ns) / 1e3, 3) AS median_us
        FROM kernels GROUP BY ALL ORDER BY total_ms DESC
        """,
    ),
)
