"""Reading oneDNN's dispatch log, and turning a primitive back into a call of torch."""

from __future__ import annotations

import gzip
from pathlib import Path

from sonde.machine import dispatch
from sonde.machine.dispatch import Question

DATA = Path(__file__).resolve().parents[2] / "data" / "onednn"
GROUPED = "g4mb2_ic16oc32_ih32oh15kh3sh2dh0ph0_iw32ow15kw3sw2dw0pw0"


def test_reasons_are_those_printed_before_the_kernel_was_created() -> None:
    log = gzip.decompress((DATA / "torch_2.13_all.log.gz").read_bytes()).decode()
    lines = log.splitlines()
    start = next(i for i, line in enumerate(lines) if GROUPED in line)
    chosen, reasons = dispatch.explain("\n".join(lines[start:]), "convolution", "forward_training")
    assert chosen == "x64:gemm:jit"
    assert any(r.startswith("brdgmm_dw: multiple input/output channels detected") for r in reasons)
    assert "unsupported isa (jit_uni_dw_conv_kernel_utils.cpp:103)" in reasons


def test_the_reasons_of_a_backward_pass_are_not_those_of_its_forward() -> None:
    fields = "cpu,rnn,{},{},src:f32::blocked:abc::f0,,alg:vanilla_lstm,l1"
    head = "onednn_verbose,v1,primitive,"
    log = "\n".join(
        [
            f"{head}create:dispatch,rnn,unsupported isa,src/cpu/a.cpp:1",
            f"{head}create:cache_miss,{fields.format('ref', 'forward_training')},0.1",
            f"{head}create:dispatch,rnn,bad weights,src/cpu/b.cpp:2",
            f"{head}create:cache_miss,{fields.format('ref:any', 'backward')},0.1",
        ]
    )
    assert dispatch.explain(log, "rnn", "backward") == ("ref:any", ("bad weights (b.cpp:2)",))
    assert dispatch.explain(log, "rnn", "forward_training") == ("ref", ("unsupported isa (a.cpp:1)",))


def test_a_primitive_becomes_the_call_that_makes_it() -> None:
    layouts = "src:f32:a:blocked:acdb::f0 wei:f32::blocked:Acdb8a::f0"
    found = dispatch.to_torch(Question("convolution", GROUPED, "forward_training", layouts))
    assert found is not None
    assert (found["source"], found["weight"]) == ([2, 16, 32, 32], [32, 4, 3, 3])
    assert (found["stride"], found["pad"], found["dilation"], found["groups"]) == ([2, 2], [0, 0], [1, 1], 4)
    assert found["channels_last"] is True
    turned = dispatch.to_torch(Question("deconvolution", "mb2_ic32oc8_iw15ow30kw4sw2dw0pw1", "forward", ""))
    assert turned is not None
    assert turned["weight"] == [32, 8, 4]


def test_linear_layers_are_inner_products() -> None:
    found = dispatch.to_torch(Question("inner_product", "mb32ic64oc128", "forward_inference", "", "bf16"))
    assert found is not None
    assert (found["source"], found["weight"], found["type"]) == ([32, 64], [128, 64], "bf16")
    assert dispatch.to_torch(Question("inner_product", "mb1ic256ih6iw6oc4096", "forward", "")) is None


def test_what_torch_cannot_be_asked_for_is_left_out() -> None:
    assert dispatch.to_torch(Question("graph:sdp", "1x2", "undef", "")) is None
    assert dispatch.to_torch(Question("convolution", "#", "forward", "")) is None
    assert dispatch.to_torch(Question("convolution", GROUPED, "forward", "", "u8")) is None
    assert dispatch.ask([Question("eltwise", "2x3", "forward", "")]) == []


def test_failures_are_said() -> None:
    question = Question("matmul", "2x3:3x4", "undef", "")
    answers = dispatch.parse_answers("x\nsonde-problem 0\nsonde-failed 0 RuntimeError: no\n", [question])
    assert (answers[0].chosen, answers[0].failed) == (None, "RuntimeError: no")
