"""FLOPs and dims of primitives against published figures and brute force."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.analyze.primitives import cost as primitive_cost
from sonde.analyze.primitives import descriptors, problems


def flops(kind: str, shape: str, direction: str = "forward_training", auxiliary: str = "") -> float:
    problem = problems.parse(kind, direction, auxiliary, shape)
    assert problem is not None
    return problem.flops


def test_alexnet_conv1_of_batch_256_is_the_published_53_97_gflop() -> None:
    shape = "mb256_ic3oc96_ih227oh55kh11sh4dh0ph0_iw227ow55kw11sw4dw0pw0"
    assert flops("convolution", shape) == 2 * 256 * 96 * 3 * (55 * 11) ** 2
    assert flops("convolution", shape) / 1e9 == pytest.approx(53.97, abs=0.005)


def test_padding_taps_do_not_count() -> None:
    # 3 taps per output except at the two borders, where one falls outside.
    assert flops("convolution", "mb1_ic1oc1_ih1oh1kh1sh1dh0ph0_iw5ow5kw3sw1dw0pw1") == 2 * (5 * 3 - 2)


@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 7),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(-2, 6),
)
def test_taps_equal_brute_force(
    size_in: int, size_out: int, kernel: int, stride: int, dilation: int, pad: int
) -> None:
    counted = sum(
        0 <= o * stride - pad + k * (dilation + 1) < size_in for o in range(size_out) for k in range(kernel)
    )
    assert problems.taps(size_in, size_out, kernel, stride, dilation, pad) == counted


def test_the_group_may_stand_in_front_or_inside() -> None:
    new = "g4mb2_ic16oc32_ih32oh15kh3sh2dh0ph0_iw32ow15kw3sw2dw0pw0"
    old = "mb2_g4ic16oc32_ih32oh15kh3sh2dh0ph0_iw32ow15kw3sw2dw0pw0"
    assert flops("convolution", new) == flops("convolution", old) == 2 * 2 * 32 * 4 * 45**2


def test_a_deconvolution_mirrors_its_convolution() -> None:
    forward = flops("convolution", "mb2_ic8oc32_ih30oh15kh4sh2dh0ph1_iw30ow15kw4sw2dw0pw1")
    assert flops("deconvolution", "mb2_ic32oc8_ih15oh30kh4sh2dh0ph1_iw15ow30kw4sw2dw0pw1") == forward


@pytest.mark.parametrize(
    ("kind", "auxiliary", "shape", "expected"),
    [
        ("matmul", "", "256x1024:1024x4096", 2 * 256 * 1024 * 4096),
        ("matmul", "", "8x1x16x64:8x4x64x32", 2 * 8 * 4 * 16 * 64 * 32),
        ("brgemm", "bs:4 beta:0", "32x64:64x64", 4 * 2 * 32 * 64 * 64),
        ("inner_product", "", "mb1ic256ih6iw6oc4096", 2 * 256 * 36 * 4096),
        (
            "rnn",
            "alg:vanilla_lstm direction:unidirectional_left2right",
            "l1t7mb4sic64slc32dhc64dic64",
            7 * 2 * 4 * 64 * 4 * 96,
        ),
        (
            "rnn",
            "alg:vanilla_gru direction:bidirectional_concat",
            "l2t3mb4sic8slc8dhc8dic8",
            2 * 2 * 3 * 2 * 3 * 8 * 4 * 16,
        ),
        ("sdpa", "", "1x16x384x64:1x16x64x384:1x16x384x64", 2 * 16 * 384 * 384 * 128),
        ("reorder", "", "2x16x7x7", 0),
        ("binary", "alg:binary_add", "2x1x4:2x3x4", 24),
        ("softmax", "axis:1", "4x10", 200),
        ("pooling_v2", "", "mb2ic8_ih16oh8kw2sw2kh2sh2_iw16ow8", 2 * 8 * 64 * 4),
    ],
)
def test_flops_by_kind(kind: str, auxiliary: str, shape: str, expected: float) -> None:
    assert flops(kind, shape, auxiliary=auxiliary) == expected


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("convolution", "#"),
        ("convolution", "mb2_ic3"),
        ("convolution", "mb2_ic3oc4_ih4oh4kh99999999sh1"),
        ("convolution", "mb2_ic3oc4_ih4oh4kh3sh0"),
        ("convolution", "g2mb2_ic3oc4_ih4oh4kh3sh1"),
        ("matmul", "2x3:4x5"),
        ("matmul", "*x3:3x5"),
        ("flux", "2x3"),
        ("eltwise", ""),
        ("eltwise", "2x-3"),
    ],
)
def test_what_is_not_understood_is_not_guessed(kind: str, shape: str) -> None:
    assert problems.parse(kind, "", "", shape) is None
    cost = primitive_cost.of_primitive(kind, "", "src:f32::blocked:ab::f0", "", "", shape)
    assert math.isnan(cost.flops)
    assert math.isnan(cost.bytes)


@given(st.sampled_from(["convolution", "matmul", "rnn", "pooling", "sdpa", "eltwise", "lrn"]), st.text())
def test_any_text_is_an_answer_or_none(kind: str, text: str) -> None:
    problem = problems.parse(kind, "forward", text, text)
    assert problem is None or problem.flops >= 0


def test_bytes_of_a_convolution_are_its_four_tensors() -> None:
    cost = primitive_cost.of_primitive(
        "convolution",
        "forward_training",
        "src:f32:a:blocked:abcd::f0 wei:f32:a:blocked:Acdb8a::f0 bia:f32:a:blocked:a::f0 "
        "dst:f32:a:blocked:aBcd8b::f0",
        "attr-scratchpad:user",
        "alg:convolution_direct",
        "mb2_ic3oc16_ih32oh32kh3sh1dh0ph1_iw32ow32kw3sw1dw0pw1",
    )
    assert cost.bytes == 4 * (2 * 3 * 1024 + 16 * 3 * 9 + 16 + 2 * 16 * 1024)


def test_padded_blocks_are_paid_for() -> None:
    # 3 input channels padded to 2*4 = 8; 16 output channels fill their block of 8 twice.
    found = descriptors.parse("dst:s8:p:blocked:ABcd2b8a4b::f8:zpm1")[0]
    assert found is not None
    assert found.size_bytes((16, 3, 3, 3)) == 16 * 8 * 9


@pytest.mark.parametrize(
    ("text", "argument", "data_type"),
    [
        ("src_f32::blocked:abcd:f0", "src", "f32"),
        ("diff_wei_iter_bf16::blocked:abcde::f0", "diff_wei_iter", "bf16"),
        ("src_f8_e5m2::blocked:ab::f0", "src", "f8_e5m2"),
        ("wei:s4:a:blocked:ab::f0", "wei", "s4"),
        ("in:f32_nchw", "src", "f32"),
        ("fsrc:nChw16c", "src", None),
        ("src_fused_u8::blocked:abcd::f0", "src_fused", "u8"),
    ],
)
def test_descriptors_of_every_era(text: str, argument: str, data_type: str | None) -> None:
    found = descriptors.parse(text)[0]
    assert found is not None
    assert (found.argument, found.data_type) == (argument, data_type)


def test_an_absent_tensor_costs_nothing_and_an_unknown_type_is_unknown() -> None:
    for text in ("bia_undef::undef::f0", "bia:undef::undef:::", "fbia:undef"):
        found = descriptors.parse(text)[0]
        assert found is not None
        assert not found.present
        assert found.size_bytes((5,)) == 0
    old = descriptors.parse("fsrc:nchw")[0]
    assert old is not None
    assert math.isnan(old.size_bytes((2, 2)))
