"""A Trainer callback for Hugging Face: says where the Trainer's own steps end.

Not needed under `sonde run`, which finds the same steps by itself; it is for those who want
their recording to follow `global_step` to the letter.

    Trainer(..., callbacks=[sonde.integrations.huggingface.SondeCallback()])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from sonde.integrations.annotate import step


class SondeCallback(TrainerCallback):  # type: ignore[misc]
    """One Sonde step per optimizer step of the Trainer."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        step()
