"""The observers: what runs inside the program to see steps, phases, modules and operators.

Entered by the bootstrap after `import torch`; standard library only, since the
program's Python need not have Sonde's dependencies. Every observer is a guest:
it changes no result, raises nothing, prints nothing, and costs about a microsecond
per mark. What it sees goes to raw/PID.*.jsonl in the recording's folder.
"""

from __future__ import annotations

from typing import Any


def torch_imported(torch: Any) -> None:
    """`import torch` has just finished in this process."""
    from sonde.record.observe import install

    install.observe(torch)


def dynamo_imported(dynamo: Any) -> None:
    """`import torch._dynamo` has just finished: the program is about to compile."""
    from sonde.record.observe import compiler

    compiler.observe(dynamo)


def mxnet_imported(mxnet: Any) -> None:
    """`import mxnet` has just finished in this process."""
    from sonde.record.observe import install
    from sonde.record.observe import mxnet as observer

    seen = install.observe(None)
    if seen is not None and seen.session.options.get("mxnet", True):
        observer.observe(mxnet, seen)
