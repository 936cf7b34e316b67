"""What the stepping thread was doing, in seven kinds that leave no remainder.

input     waiting for, or making, the next batch inside a DataLoader
ranks     off the CPU in a collective, a send or a receive: for other ranks or their data
wait      off the CPU elsewhere (not counting preemption, nor the work of other threads that it waits for)
pool      waiting for the other threads of a parallel region, busily or asleep: no arithmetic
math      in a kernel of a matrix product, convolution or attention
memory    in any other kernel of a framework or library
overhead  everything else: Python, dispatch, autograd bookkeeping, allocation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sonde.analyze.account import kinds as account_kinds
from sonde.analyze.account.kinds import KERNELS
from sonde.analyze.account.stack_kinds import (
    COMMUNICATION,
    COMMUNICATION_FILE,
    KERNEL_NAME,
    MATH_NAME,
    NATIVE_LOADER,
)
from sonde.analyze.samples.stack_index import Mask, StackIndex
from sonde.columns import Array, Table

if TYPE_CHECKING:
    from sonde.insights.subject import Subject

KINDS = ("input", "ranks", "wait", "pool", "math", "memory", "overhead")
DATALOADER_FILE = r"torch/utils/data/"
LOADER_FUNCTION = r"(^|\.)(__next__|_next_data)$"
LOADER_NEXT = r"(^|\.)__next__$|_next_data$|dataloader\.py"
MATH_OP = (
    r"^aten::(mm|addmm|bmm|baddbmm|addbmm|matmul|linear|mkldnn_linear|mkldnn_convolution|convolution|conv\dd"
    r"|_convolution|slow_conv\w*|thnn_conv\w*|convolution_backward|convolution_overrideable"
    r"|scaled_dot_product_attention|_scaled_dot\w+|_flash_attention\w*|addmv|mv|einsum|lstm|gru|mkldnn_rnn_layer)"
)


# The kind here of each kind of work in the account.
_OF_WORK = np.array(
    [
        KINDS.index("math" if name == "arithmetic" else "memory" if name in KERNELS else "overhead")
        for name in account_kinds.KINDS
    ]
)


@dataclass(frozen=True)
class HostLayers:
    """Masks over `subject.host`; each sample is in exactly one."""

    input: Mask
    ranks: Mask
    wait: Mask
    pool: Mask
    math: Mask
    memory: Mask
    overhead: Mask

    def items(self) -> list[tuple[str, Mask]]:
        return [
            ("input", self.input),
            ("ranks", self.ranks),
            ("wait", self.wait),
            ("pool", self.pool),
            ("math", self.math),
            ("memory", self.memory),
            ("overhead", self.overhead),
        ]


def in_loader(subject: Subject) -> Mask:
    """Host samples inside a DataLoader's `__next__`."""
    return subject.host_with(LOADER_FUNCTION, layer="^python$", file=DATALOADER_FILE)


def in_kernel(subject: Subject) -> Mask:
    """Host samples in code that works on the elements of tensors."""
    index = subject.stacks
    kernels = index.frames_where(KERNEL_NAME, layer="^native$") | index.frames_where(layer="^(jit|gpu)$")
    return subject.host_mask(index.on_stack(kernels))


def sample_kinds(index: StackIndex, samples: Table, crowded: bool, behind: Array) -> Array:
    """For each sample its place in `KINDS`. On a `crowded` machine a pool that waits inside a loader is `pool`.

    `behind`: the kind of work of other threads that a wait is for, -1 where it is for none.
    """
    at = samples.array("stack").astype(np.int64)
    known = (at >= 0) & (at < len(index))

    def holds(stacks: Mask) -> Mask:
        return known & stacks[np.where(known, at, 0)] if len(index) else np.zeros(len(at), np.bool_)

    waiting = samples.text("state").equals("waiting")
    busy = samples.text("state").matches(("spinning", "imbalance"))
    pool = busy | (waiting & samples.text("reason").equals("idle"))
    loader = index.frames_where(LOADER_FUNCTION, layer="^python$", file=DATALOADER_FILE)
    loader |= index.frames_where(NATIVE_LOADER, layer="^native$")
    kernels = index.frames_where(KERNEL_NAME, layer="^native$") | index.frames_where(layer="^(jit|gpu)$")
    products = index.frames_where(MATH_OP, layer="^op$") | index.frames_where(
        MATH_NAME, layer="^(native|jit)$"
    )
    communication = index.frames_where(COMMUNICATION, layer="^native$") | index.frames_where(
        layer="^python$", file=COMMUNICATION_FILE
    )
    loading = holds(index.on_stack(loader)) & ~(pool & crowded)
    kernel = holds(index.on_stack(kernels))
    math = holds(index.on_stack(products))
    ranks = waiting & holds(index.on_stack(communication))
    chosen = np.select([loading, ranks, pool, waiting, kernel & math, kernel], [0, 1, 3, 2, 4, 5], 6)
    chosen = np.where((chosen == KINDS.index("wait")) & (behind >= 0), _OF_WORK[behind], chosen)
    result: Array = chosen.astype(np.int64)
    return result


def host_layers(subject: Subject) -> HostLayers:
    """The same as masks over `subject.host`."""
    host = subject.host
    kinds = sample_kinds(subject.stacks, host.samples, subject.taken.matters, host.behind)
    return HostLayers(*(kinds == KINDS.index(name) for name in KINDS))
