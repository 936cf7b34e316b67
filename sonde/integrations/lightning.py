"""A Lightning callback: one Sonde step per training batch, one region per validation run.

Not needed under `sonde run`, which finds steps by itself.

    Trainer(callbacks=[sonde.integrations.lightning.SondeCallback()])
"""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:  # the older package name
    from pytorch_lightning.callbacks import Callback

from sonde.integrations.annotate import region, step


class SondeCallback(Callback):  # type: ignore[misc]
    """Marks batches and validation."""

    def __init__(self) -> None:
        self._validation: region | None = None

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        step()

    def on_validation_start(self, *args: Any) -> None:
        self._validation = region("validation").__enter__()

    def on_validation_end(self, *args: Any) -> None:
        if self._validation is not None:
            self._validation.__exit__()
            self._validation = None
