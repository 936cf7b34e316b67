"""The kinds of work that the time of a step is divided into, and the kind of each operator.

A kind says what the time was spent on, not whether it was needed. `OVERHEAD`, `WAITS` and `KERNELS` group
kinds for verdicts; every kind is in exactly one group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

KINDS: dict[str, str] = {
    "arithmetic": "arithmetic",
    "memory": "memory traffic",
    "copies": "copies and layout",
    "random": "random numbers",
    "gather": "gather and scatter",
    "allocation": "allocation and page faults",
    "python": "Python",
    "native": "other native code",
    "dispatch": "dispatch",
    "autograd": "autograd bookkeeping",
    "loading": "loading",
    "io": "I/O",
    "gc": "garbage collection",
    "locks": "locks and GIL",
    "barriers": "barriers and imbalance",
    "sleep": "sleep",
    "communication": "communication",
    "compiling": "compiling",
    "debugging": "debugging and tracing",
    "waiting": "other waits",
    "unseen": "not seen by any sample",
    "taken": "taken away by other programs",
}
CODES = {name: code for code, name in enumerate(KINDS)}
NAMES = tuple(KINDS)

KERNELS = ("arithmetic", "memory", "copies", "random", "gather")
OVERHEAD = ("python", "native", "dispatch", "autograd", "allocation", "gc", "debugging", "compiling")
WAITS = ("locks", "barriers", "sleep", "communication", "waiting", "unseen", "taken", "io")

# Kinds that are all paid per call and not for its work: of some time they are weighed together.
HALF = 0.5
PER_CALL = ("python", "dispatch", "autograd", "allocation")


def main_kind(weights: Mapping[str, float]) -> str:
    """The kind that stands for some time: the largest, where what is paid per call counts as one."""
    per_call = {kind: weights.get(kind, 0.0) for kind in PER_CALL}
    most = max(weights, key=lambda kind: weights[kind], default="")
    if sum(per_call.values()) > weights.get(most, 0.0):
        # Small tensors are allocated at every call as well: memory is the matter only where it is most of that.
        if per_call["allocation"] < HALF * sum(per_call.values()):
            per_call["allocation"] = 0.0
        return max(per_call, key=lambda kind: per_call[kind])
    if most in ("memory", "copies") and weights.get("arithmetic", 0.0) >= HALF * weights[most]:
        return "arithmetic"  # a model: its products, and what stands around them
    return most


_MATH = (
    r"mm|addmm|bmm|baddbmm|addbmm|matmul|linear|mkldnn_linear\w*|mkldnn_convolution\w*|convolution|conv\dd|_convolution"
    r"|slow_conv\w*|thnn_conv\w*|convolution_backward|convolution_overrideable|scaled_dot_product\w*|_scaled_dot\w+"
    r"|_flash_attention\w*|_fft\w*|addmv|mv|einsum|tensordot|lstm|gru|rnn\w*|mkldnn_rnn_layer\w*|quantized_\w+|dot|vdot"
    r"|addr|ger|outer|cdist\w*|_cdist\w*|linalg_\w+|_linalg\w*|inverse|cholesky\w*|svd|qr|stft|istft"
    r"|(?:_?adaptive_)?(?:max|avg|fractional_max|lp)_pool\w*|max_pool\w*|_?upsample\w*|(?:arg)?sort|msort|topk|kthvalue|median"
    r"|_?sparse_addmm|_sparse_mm\w*|_?sspaddmm|_sparse_sparse_matmul|histc|histogram\w*|_histogram\w*|unfold_backward|ctc_loss|_ctc_loss\w*"
)
_RANDOM = (
    r"rand\w*|normal_?|uniform_?|bernoulli_?|dropout_?|native_dropout\w*|multinomial|exponential_?|random_|cauchy_?"
    r"|log_normal_?|geometric_?|poisson|_sample_dirichlet|_standard_gamma|rrelu\w*"
)
_GATHER = (
    r"index\w*|_index\w*|_unsafe_index\w*|gather\w*|scatter\w*|embedding\w*|_embedding\w*|masked_\w+|nonzero\w*|take"
    r"|take_along_dim|put_?|_sparse\w*|unique\w*|_unique\w*|bincount|searchsorted|where|grid_sampler\w*|one_hot"
)
_COPIES = (
    r"copy_?|_copy\w*|clone|contiguous|cat|_cat|concat\w*|stack|_to_copy|to|repeat\w*|tile|pad|constant_pad_nd|roll|flip"
    r"|_reshape_\w+|reshape|im2col|col2im|unfold\w*|pixel_(?:un)?shuffle|tril_?|triu_?|lift_fresh|_to_dense|to_mkldnn"
    r"|mkldnn_reorder\w*|_pin_memory|resize_\w*"
)
_OF_OPERATOR = tuple(
    (re.compile(rf"^\w+::(?:{names})(?:\.|$)"), kind)
    for names, kind in (
        (_MATH, "arithmetic"),
        (_RANDOM, "random"),
        (_GATHER, "gather"),
        (_COPIES, "copies"),
    )
)


_NODE = re.compile(r"(?:^|: )(\w+?)Backward\d*$")
_MATH_NODE = re.compile(r"(?i)addmm|^mm|bmm|convolution|linear|matmul|attention|lstm|gru|rnn|^mv|einsum")


def operator_kind(name: str) -> str:
    """What the kernel of an operator does; anything that is no product, copy, gather or draw moves memory."""
    if node := _NODE.search(name):
        return "arithmetic" if _MATH_NODE.search(node[1]) else "memory"
    for pattern, kind in _OF_OPERATOR:
        if pattern.search(name):
            return kind
    return "memory"
