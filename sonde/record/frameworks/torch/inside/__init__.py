"""torch as seen from inside the program. Each function is called once, right after the import that it is named for."""

from __future__ import annotations

from typing import Any


def torch_imported(torch: Any) -> None:
    """`import torch` has just finished in this process."""
    from sonde.record.frameworks.torch.inside import install

    install.observe(torch)


def dynamo_imported(dynamo: Any) -> None:
    """`import torch._dynamo` has just finished: the program is about to compile."""
    from sonde.record.frameworks.torch.inside import compiler

    compiler.observe(dynamo)
