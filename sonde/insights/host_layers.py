"""What the stepping thread was doing, in six kinds that leave no remainder.

input     waiting for, or making, the next batch inside a DataLoader
wait      off the CPU elsewhere (not counting preemption)
pool      waiting for the other threads of a parallel region, busily or asleep: no arithmetic
math      in a kernel of a matrix product, convolution or attention
memory    in any other kernel of a framework or library
overhead  everything else: Python, dispatch, autograd bookkeeping, allocation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.analyze.samples.stack_index import Mask

if TYPE_CHECKING:
    from sonde.insights.subject import Subject

DATALOADER_FILE = r"torch/utils/data/"
LOADER_NEXT = r"(^|\.)__next__$|_next_data$|dataloader\.py"
KERNEL_NAME = (
    r"(?i)mkl_|mkldnn|dnnl::impl::cpu|onednn|cblas_|[sdhb]gemm|gemm_|omp_fn|outlined|xnn_|fbgemm|[Ss]leef|brgemm"
    r"|at::vec::|at::native::.*(kernel|loop|vectori[sz]ed|cpublas)|kernel_cpu|cpp_fused|triton_"
)
MATH_OP = (
    r"^aten::(mm|addmm|bmm|baddbmm|addbmm|matmul|linear|mkldnn_linear|mkldnn_convolution|convolution|conv\dd"
    r"|_convolution|slow_conv\w*|thnn_conv\w*|convolution_backward|convolution_overrideable"
    r"|scaled_dot_product_attention|_scaled_dot\w+|_flash_attention\w*|addmv|mv|einsum|lstm|gru|mkldnn_rnn_layer)"
)
MATH_NAME = r"(?i)gemm|brgemm|mkl_blas|conv_|_conv|convolution|cblas_|flash_attention|matmul"


@dataclass(frozen=True)
class HostLayers:
    """Masks over `subject.host`; each sample is in exactly one."""

    input: Mask
    wait: Mask
    pool: Mask
    math: Mask
    memory: Mask
    overhead: Mask

    def items(self) -> list[tuple[str, Mask]]:
        return [
            ("input", self.input),
            ("wait", self.wait),
            ("pool", self.pool),
            ("math", self.math),
            ("memory", self.memory),
            ("overhead", self.overhead),
        ]


def in_loader(subject: Subject) -> Mask:
    """Host samples inside a DataLoader's `__next__`."""
    return subject.host_with(r"(^|\.)(__next__|_next_data)$", layer="^python$", file=DATALOADER_FILE)


def in_kernel(subject: Subject) -> Mask:
    """Host samples in code that works on the elements of tensors."""
    index = subject.stacks
    kernels = index.frames_where(KERNEL_NAME, layer="^native$") | index.frames_where(layer="^(jit|gpu)$")
    return subject.host_mask(index.on_stack(kernels))


def host_layers(subject: Subject) -> HostLayers:
    """Tell them apart."""
    index, host = subject.stacks, subject.host
    loading = in_loader(subject)
    pool = host.pool & ~loading
    kernel = in_kernel(subject) & ~loading & ~host.waiting & ~pool
    math_stacks = index.on_stack(
        index.frames_where(MATH_OP, layer="^op$") | index.frames_where(MATH_NAME, layer="^(native|jit)$")
    )
    math = kernel & subject.host_mask(math_stacks)
    wait = host.waiting & ~loading & ~pool
    return HostLayers(loading, wait, pool, math, kernel & ~math, ~(loading | wait | pool | kernel))
