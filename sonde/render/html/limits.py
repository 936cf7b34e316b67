"""How much detail a page carries, and the steps by which it gives some up.

Level 0 keeps everything a browser can draw fluidly; each further level about
halves the rows. `report` takes the first level that fits the size asked for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Upper bounds of what enters the page."""

    sample_rows: int
    stack_share: float  # stack nodes with less than this share of all time are pruned
    op_rows: int
    kernel_rows: int
    table_rows: int
    curve_points: int
    source_bytes: int


LEVELS = (
    Limits(400_000, 0.0, 300_000, 200_000, 20_000, 2_000, 1_500_000),
    Limits(250_000, 1e-6, 180_000, 120_000, 10_000, 1_500, 1_000_000),
    Limits(150_000, 1e-5, 100_000, 80_000, 5_000, 1_000, 600_000),
    Limits(80_000, 5e-5, 50_000, 40_000, 3_000, 800, 400_000),
    Limits(40_000, 2e-4, 25_000, 20_000, 2_000, 600, 200_000),
    Limits(15_000, 1e-3, 10_000, 8_000, 1_000, 400, 100_000),
    Limits(4_000, 5e-3, 3_000, 2_000, 300, 200, 0),
    Limits(1_000, 2e-2, 500, 500, 100, 100, 0),
)
