"""MKL_VERBOSE lines: times in their unit, FLOPs of products, nothing invented."""

from __future__ import annotations

import math

import pytest

from sonde.ingest.verbose import mkl_log

TAIL = b" CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:8"


@pytest.mark.parametrize(
    ("text", "time_ms"), [(b"41.32us", 0.04132), (b"1.50ms", 1.5), (b"900ns", 0.0009), (b"2.00s", 2000.0)]
)
def test_times_become_milliseconds(text: bytes, time_ms: float) -> None:
    parts = mkl_log.split(b"MKL_VERBOSE SAXPY(10,0x7f,0x55,1,0x56,1) " + text + TAIL)
    assert parts is not None
    assert parts[1] == pytest.approx(time_ms)
    call = mkl_log.parse(parts[0].decode())
    assert (call.kind, call.threads) == ("saxpy", 8)
    assert math.isnan(call.cost.flops)


@pytest.mark.parametrize(
    ("call", "flops", "size"),
    [
        (b"SGEMM(N,T,32,10,8,0x1,0x2,32,0x3,10,0x4,0x5,32)", 2 * 32 * 10 * 8, 4 * (256 + 80 + 320)),
        (b"DGEMM(N,T,32,10,8,0x1,0x2,32,0x3,10,0x4,0x5,32)", 2 * 32 * 10 * 8, 8 * (256 + 80 + 320)),
        (b"ZGEMM(N,N,2,3,4,0x1,0x2,2,0x3,4,0x4,0x5,2)", 8 * 24, 16 * (8 + 12 + 6)),
        (b"gemm_bf16bf16f32(T,N,2,3,4,0x1,0x2,2,0x3,4,0x4,0x5,2)", 2 * 24, 2 * 20 + 4 * 6),
        (b"SGEMV(N,30,20,0x1,0x2,30,0x3,1,0x4,0x5,1)", 2 * 600, 4 * 650),
    ],
)
def test_products_know_their_cost(call: bytes, flops: float, size: float) -> None:
    parts = mkl_log.split(b"MKL_VERBOSE " + call + b" 1.00us" + TAIL)
    assert parts is not None
    cost = mkl_log.parse(parts[0].decode()).cost
    assert (cost.flops, cost.bytes) == (flops, size)


def test_calls_that_differ_in_addresses_only_are_the_same() -> None:
    one = mkl_log.split(b"MKL_VERBOSE SGEMM(N,N,2,3,4,0x1,0x2,2,0x3,4,0x4,0x5,2) 1.00us" + TAIL)
    two = mkl_log.split(b"MKL_VERBOSE SGEMM(N,N,2,3,4,0xa,0xb,2,0xc,4,0xd,0xe,2) 9.00us" + TAIL)
    assert one is not None
    assert two is not None
    assert one[0] == two[0]


def test_a_batch_is_not_counted_as_one_product() -> None:
    parts = mkl_log.split(b"MKL_VERBOSE SGEMM_BATCH(0x1,0x2,0x3,0x4,0x5) 1.00us" + TAIL)
    assert parts is not None
    assert math.isnan(mkl_log.parse(parts[0].decode()).cost.flops)
