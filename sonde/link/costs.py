"""FLOPs and bytes of operator calls, where their shapes tell and the source left them unknown."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonde.analyze.ops.costs import op_costs
from sonde.columns import Table


def with_costs(tables: Mapping[str, Table]) -> dict[str, Table]:
    """`ops` with `flops` and `bytes`."""
    ops = tables["ops"]
    costs = op_costs(ops)
    flops, size = ops.array("flops"), ops.array("bytes")
    return {
        "ops": ops.with_columns(
            flops=np.where(np.isnan(flops), costs.flops, flops),
            bytes=np.where(np.isnan(size), costs.bytes, size),
        )
    }
