"""Operators against the compiled kernels that contain them, so that eager and compiled rows meet.

In: what kernels of each side fuse (from the recording where the compiler told, else from the
kernel's name), and the operators seen. Out: groups of names that stand for the same work. A kernel that
both sides have is left alone; one that only one side has is grouped with the operators it
contains, on both sides, so sums stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from sonde import json_text
from sonde.columns import Table

_COMPILED = re.compile(r"^(?:graph_\d+_)?(?:cpp|triton)_\w+|^extern_kernels[.:]+\w+")
_FUSED = re.compile(r"^(?:graph_\d+_)?(?:cpp|triton_[a-z]+)_fused_(?P<body>.+?)(?:_\d+)?$")
_EXTERNAL = re.compile(r"^extern_kernels[.:]+(?P<name>\w+)")
# Operators that Inductor makes of two before it calls a library. Used only when the other side lacks the result.
_MADE_OF = {"addmm": ("mm", "add"), "baddbmm": ("bmm", "add"), "_mkl_linear": ("linear", "addmm")}

Fused = dict[str, frozenset[str]]  # kernel → operators by base name


def contained_in(fused: Iterable[frozenset[str]]) -> frozenset[str]:
    """Every operator that kernels contain, and what those may be made of."""
    ops = {op for contained in fused for op in contained}
    return frozenset(ops.union(*(_MADE_OF.get(op, ()) for op in ops)))


def is_compiled(name: str) -> bool:
    """Whether a name is a kernel of torch.compile or a library call from its code."""
    return bool(_COMPILED.match(name))


def base(name: str) -> str:
    """aten::add_ → add: in-place and out-of-place calls are the same work."""
    plain = name.rpartition("::")[2].partition(".")[0]
    return plain.rstrip("_") or plain


def fused_kernels(marks: Table, names: Iterable[str]) -> Fused:
    """Every compiled kernel among `names` and in the marks of the compiler, with its operators."""
    found: Fused = {}
    for name in names:
        if is_compiled(name):
            found[name] = by_name(name)
    rows = np.flatnonzero(marks.text("kind").equals("compile") & marks.text("name").equals("kernel"))
    for row in rows.tolist():
        extra = json_text.object_of(marks.text("extra")[row])
        kernel, listed = extra.get("kernel"), extra.get("fused")
        if isinstance(kernel, str) and isinstance(listed, list) and listed:
            told = frozenset(base(str(op)) for op in listed)
            # Of a library call the compiler names the last operator only: mm + add → addmm, "add".
            told |= by_name(kernel) if _EXTERNAL.match(kernel) else frozenset()
            for name in (kernel, kernel.replace("extern_kernels.", "extern_kernels::")):
                found[name] = told
    return found


def by_name(kernel: str) -> frozenset[str]:
    """cpp_fused_addmm_relu_0 → addmm, relu. Words that belong together are joined by a list of known ones."""
    external = _EXTERNAL.match(kernel)
    if external:
        return frozenset([base(external["name"])])
    fused = _FUSED.match(kernel)
    return frozenset(split_words(fused["body"])) if fused else frozenset()


# Operators whose names hold an underscore, longest first where one begins like another.
_LONG = """
    native_layer_norm_backward native_layer_norm native_group_norm native_batch_norm_backward
    native_batch_norm _native_batch_norm_legit_functional _native_batch_norm_legit native_dropout_backward
    native_dropout _softmax_backward_data _log_softmax_backward_data _log_softmax _softmax log_softmax
    threshold_backward gelu_backward sigmoid_backward tanh_backward silu_backward nll_loss_backward
    nll_loss_forward mse_loss_backward mse_loss convolution_backward max_pool2d_with_indices_backward
    _low_memory_max_pool_with_offsets max_pool2d_with_indices avg_pool2d_backward avg_pool2d
    _adaptive_avg_pool2d _unsafe_view _unsafe_index_put _unsafe_index index_put index_select masked_fill
    scalar_tensor _to_copy convert_element_type zeros_like ones_like full_like new_zeros new_full
    constant_pad_nd _scaled_dot_product_flash_attention_for_cpu scaled_dot_product_attention
    binary_cross_entropy_with_logits cross_entropy_loss leaky_relu clamp_min clamp_max
    embedding_dense_backward select_scatter slice_scatter slice_backward select_backward layer_norm
    batch_norm group_norm rms_norm _foreach_add _foreach_mul _foreach_addcdiv _foreach_addcmul
    _foreach_sqrt _foreach_div _foreach_lerp _foreach_sub scatter_add bitwise_and logical_and logical_not
    upsample_nearest2d upsample_bilinear2d repeat_interleave
""".split()  # noqa: SIM905
_BY_LENGTH = sorted(_LONG, key=len, reverse=True)


def split_words(body: str) -> list[str]:
    """The operators that Inductor joined by "_" to a kernel's name."""
    words, rest = [], body
    while rest:
        known = next((w for w in _BY_LENGTH if rest == w or rest.startswith(w + "_")), None)
        word = known or rest.partition("_")[0] or rest.partition("_")[2].partition("_")[0]
        if not known and rest.startswith("_"):
            word = "_" + word
        words.append(word.strip("_") if word.strip("_") in _LONG else word)
        rest = rest[len(word) :].removeprefix("_")
    return [base(word) for word in words if word]


def fusion_groups(
    a_names: Iterable[str], b_names: Iterable[str], a_fused: Mapping[str, frozenset[str]],
    b_fused: Mapping[str, frozenset[str]],
) -> dict[str, str]:  # fmt: skip
    """Name → name of its group, for every name (of either side) that belongs to one."""
    a_names, b_names = set(a_names), set(b_names)
    seen = a_names | b_names
    plain = {name: base(name) for name in seen if not is_compiled(name)}
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    for mine, fused, other in ((a_names, a_fused, b_names), (b_names, b_fused, a_names)):
        there = {plain[name] for name in other if name in plain}
        for kernel in mine - other:
            contained = set(fused.get(kernel, frozenset()))
            for made in contained & set(_MADE_OF):
                if made not in there:
                    contained |= set(_MADE_OF[made])
            for op in contained & there:
                parent[root("op " + op)] = root(kernel)
    groups: dict[str, list[str]] = {}
    for name in seen:
        node = "op " + plain[name] if name in plain else name
        if node in parent:
            groups.setdefault(root(node), []).append(name)
    result: dict[str, str] = {}
    for members in groups.values():
        kernels = sorted(m for m in members if m not in plain)
        ops = sorted(m for m in members if m in plain)
        if kernels and ops:
            label = f"{_listed(ops)} ⟷ {_listed(kernels)}"
            result |= dict.fromkeys(members, label)
    return result


def _listed(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return " + ".join(names[:most]) + more
