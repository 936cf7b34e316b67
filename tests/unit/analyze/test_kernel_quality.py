"""Names of implementations to quality and rank of instruction set."""

from __future__ import annotations

import pytest

from sonde.analyze.primitives import implementations as kernel_quality


@pytest.mark.parametrize(
    ("kind", "name", "quality", "isa"),
    [
        ("convolution", "jit:avx512_core", "good", "avx512_core"),
        ("convolution", "brgconv:avx512_core_amx", "good", "avx512_core_amx"),
        ("convolution", "brg_conv_fwd:avx2", "good", "avx2"),
        ("deconvolution", "brg_deconv:avx2+brgconv_strided:avx2", "good", "avx2"),
        ("convolution", "x64:gemm:jit", "fallback", None),
        ("matmul", "gemm:jit", "fallback", None),
        ("matmul", "gemm:ref", "reference", None),
        ("rnn", "ref:any", "reference", None),
        ("rnn", "ref", "reference", None),
        ("pooling", "simple_nchw:any", "fallback", None),
        ("reorder", "jit:uni", "good", None),
        ("eltwise", "jit:uni", "fallback", None),
        ("reorder", "jit:blk", "good", None),
        ("matmul", "zen:matmul:f32|bf16:amd", "vendor", None),
        ("convolution", "acl", "vendor", None),
        ("brgemm", "", "unknown", None),
        ("softmax", "jit:sse41", "good", "sse41"),
    ],
)
def test_quality_and_isa(kind: str, name: str, quality: str, isa: str | None) -> None:
    assert kernel_quality.quality_of(kind, name) == quality
    assert kernel_quality.isa_of(name) == isa


def test_isa_ranks_are_ordered_as_the_machines_came() -> None:
    names = ["sse41", "avx", "avx2", "avx2_vnni", "avx512_core", "avx512_core_vnni", "avx512_core_bf16"]
    names += ["avx512_core_fp16", "avx512_core_amx", "avx10_2_512"]
    ranks = [kernel_quality.isa_rank(name) for name in names]
    assert ranks == sorted(set(ranks))
    assert kernel_quality.isa_rank(None) == 0


def test_the_header_text_has_the_rank_of_its_names() -> None:
    texts = {
        "Intel SSE4.1": "sse41",
        "Intel AVX": "avx",
        "Intel AVX2": "avx2",
        "Intel AVX2 with Intel DL Boost": "avx2_vnni",
        "Intel AVX-512 with AVX512BW, AVX512VL, and AVX512DQ extensions": "avx512_core",
        "Intel AVX-512 with Intel DL Boost": "avx512_core_vnni",
        "Intel AVX-512 with Intel DL Boost and bfloat16 support ": "avx512_core_bf16",
        "Intel AVX-512 with float16, Intel DL Boost and bfloat16 support ": "avx512_core_fp16",
        "Intel AVX-512 with float16, Intel DL Boost and bfloat16 support and Intel AMX with bfloat16 and "
        "8-bit integer support": "avx512_core_amx",
    }
    for text, name in texts.items():
        assert kernel_quality.rank_of_effective(text) == kernel_quality.isa_rank(name), text
    assert kernel_quality.rank_of_effective("Intel 64") == 0
