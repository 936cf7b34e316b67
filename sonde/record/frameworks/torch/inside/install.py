"""Put torch's observers in place, once, and tell the windows how torch is recorded deeply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.record.frameworks.torch.inside import (
    compiled_calls,
    data_loading,
    groups,
    modules,
    own_profiler,
    settings,
    training,
)
from sonde.record.inside import observation
from sonde.record.inside.observation import Observation

if TYPE_CHECKING:
    from sonde.record.frameworks.torch.inside.kineto import KinetoWindow
    from sonde.record.frameworks.torch.inside.lines import LineTrace

OBSERVERS = (
    training.observe,
    data_loading.observe,
    modules.observe,
    compiled_calls.observe,
    own_profiler.observe,
    settings.observe,
    groups.observe,
)
_ON_CREATION = 2


def observe(torch: Any, options: dict[str, Any] | None = None) -> Observation | None:
    """Install everything; None when this process is not to be observed."""
    seen = observation.observe(options)
    if seen is not None and "torch" not in seen.met:
        seen.meet("torch", torch, OBSERVERS)
        seen.windows.ready(TorchDeep(torch))
    return seen


class TorchDeep:
    """How a window records torch (see `sonde.record.inside.deep`)."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    # Imported when a window opens: a program without windows need not pay for it.
    def trace(self) -> KinetoWindow:
        from sonde.record.frameworks.torch.inside.kineto import KinetoWindow

        return KinetoWindow(self._torch)

    def lines(self) -> LineTrace:
        from sonde.record.frameworks.torch.inside.lines import LineTrace

        return LineTrace(self._torch)

    def set_verbose(self, on: bool) -> None:
        """As torch.backends.mkldnn.verbose and torch.backends.mkl.verbose do."""
        for name, level in (("mkldnn_set_verbose", _ON_CREATION), ("mkl_set_verbose", 1)):
            setter = getattr(getattr(self._torch._C, "_verbose", None), name, None)
            if setter is not None:
                setter(level if on else 0)

    def uses_device(self) -> bool:
        return bool(self._torch.cuda.is_initialized())
