"""For every rule two recordings: one in which it fires, and one that differs in the cause alone, in which it must not.

`tests/unit/insights/test_pairs.py` sends both through the engine; a rule of `RULES` without a pair fails there.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.store.recording import Recording
from tests.unit.insights.pairs import device, host, kernels, system, windows, work

Make = Callable[[], Recording]
PAIRS: dict[str, tuple[Make, Make]] = {
    **device.PAIRS,
    **host.PAIRS,
    **kernels.PAIRS,
    **system.PAIRS,
    **windows.PAIRS,
    **work.PAIRS,
}
