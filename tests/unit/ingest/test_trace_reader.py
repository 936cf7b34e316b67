"""The native reader alone: exact numbers, gzip, strings, and input that means harm."""

from __future__ import annotations

import gzip
import json
import os
import random
import zlib
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.errors import InputError
from sonde.ingest.kineto.trace_library import OPS, Limits, NativeTrace

from .synthetic import event

EVENTS = json.dumps({"traceEvents": [event("cpu_op", f"op{i}", i, 1) for i in range(200)]}).encode()


def starts(times: list[str]) -> list[int]:
    rows = ",".join(f'{{"ph":"X","cat":"cpu_op","name":"a","ts":{t},"dur":1}}' for t in times)
    with NativeTrace(f"[{rows}]".encode()) as trace:
        found: list[int] = trace.column(OPS, "start_ns").tolist()
        return found


def lost(data: bytes, limits: Limits | None = None) -> dict[str, int]:
    with NativeTrace(data, limits) as trace:
        return {loss.cause: loss.count for loss in trace.losses()}


def metadata_of(data: bytes) -> list[tuple[str, str, bool, int]]:
    with NativeTrace(data) as trace:
        return trace.metadata()


@given(st.decimals(-(10**13), 10**15, places=6, allow_nan=False, allow_infinity=False))
@settings(max_examples=300, deadline=None)
def test_times_are_exact_to_the_nanosecond(value: Decimal) -> None:
    expected = int((value * 1000).quantize(Decimal(1), rounding=ROUND_HALF_UP))
    assert starts([f"{value:f}"]) == [expected]


def test_times_may_have_exponents_and_any_number_of_digits() -> None:
    assert starts(
        ["1.5e3", "15E2", "1686430713341388.137", "1686430713341388.13700000000000000001", "0.0005"]
    ) == [
        1_500_000,
        1_500_000,
        1686430713341388137,
        1686430713341388137,
        1,
    ]


def test_integers_of_every_length_and_keys_written_any_way() -> None:
    values = [0, -1, 7, 10**17, 10**18 - 1, 10**18, 2**63 - 1, -(10**18)]
    rows = ",".join(
        f'{{ "ph" :"X" ,"c\\u0061t":"x","cat" : "cpu_op","name":"a","ts":1,"dur":1,"args":{{"External id" : {v}}}}}'
        for v in values
    )
    with NativeTrace(f"[{rows}]".encode()) as trace:
        found = trace.arguments(OPS, {"id": ("i64", ("External id",))})["id"].tolist()
    assert found == values


def test_times_in_nanoseconds_of_the_epoch_are_known_by_their_size() -> None:
    rows = '[{"ph":"X","cat":"cpu_op","name":"a","ts":1712195495505543123,"dur":42}]'
    with NativeTrace(rows.encode()) as trace:
        assert trace.column(OPS, "start_ns").tolist() == [1712195495505543123]
        assert trace.column(OPS, "duration_ns").tolist() == [42]


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_strings_come_back_as_json_reads_them(text: str) -> None:
    cleaned = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for ascii_only in (True, False):
        data = json.dumps([event("cpu_op", cleaned, 1, 1)], ensure_ascii=ascii_only).encode()
        with NativeTrace(data) as trace:
            assert trace.text(trace.column(OPS, "name")).tolist() == [cleaned]
            assert trace.losses() == []


@given(
    st.binary(max_size=4000),
    st.integers(0, 9),
    st.sampled_from(
        [zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED, zlib.Z_FILTERED]
    ),
    st.integers(1, 40),
)
@settings(max_examples=200, deadline=None)
def test_gzip_inflates_as_zlib_deflated(data: bytes, level: int, strategy: int, repeat: int) -> None:
    text = data.decode("latin-1") * repeat
    body = json.dumps({"payload": text, "traceEvents": []}, ensure_ascii=False).encode()
    deflate = zlib.compressobj(level, zlib.DEFLATED, 31, 9, strategy)
    packed = deflate.compress(body) + deflate.flush()
    assert metadata_of(packed)[0][:2] == ("payload", text)
    assert lost(packed) == {}


def test_gzip_of_several_members_is_one_file() -> None:
    middle = len(EVENTS) // 2
    packed = gzip.compress(EVENTS[:middle]) + gzip.compress(EVENTS[middle:])
    with NativeTrace(packed) as trace:
        assert (trace.rows(OPS), trace.losses()) == (200, [])


def test_large_gzip_crosses_every_buffer() -> None:
    rows = [
        event("cpu_op", f"operator number {i % 977}", i * 3, 2, **{"External id": i}) for i in range(40_000)
    ]
    body = json.dumps({"traceEvents": rows}).encode()
    for level in (1, 6, 9):
        with NativeTrace(gzip.compress(body, level)) as trace, NativeTrace(body) as plain:
            assert trace.rows(OPS) == plain.rows(OPS) == 40_000
            assert trace.column(OPS, "start_ns").tolist() == plain.column(OPS, "start_ns").tolist()
            assert trace.losses() == []


def test_a_damaged_gzip_is_told() -> None:
    packed = bytearray(gzip.compress(EVENTS))
    packed[-5] ^= 1  # in the checksum's neighbour, the size
    assert lost(bytes(packed)) == {"gzip_checksum": 1}
    assert lost(gzip.compress(EVENTS) + b"garbage after it") == {"gzip_trailing_garbage": 1}
    seen = lost(gzip.compress(EVENTS)[:-200])
    assert seen["gzip_truncated"] == 1


def test_an_event_in_the_middle_that_is_no_json_costs_only_itself() -> None:
    good = json.dumps(event("cpu_op", "good", 1, 1))
    data = f'[{good}, {{"ph": "X", "name": oops oops }}, {good}, {{"ph": "X", "args": {{]}}, {good}]'.encode()
    with NativeTrace(data) as trace:
        assert trace.rows(OPS) == 3
    assert lost(data)["bad_event"] == 2


def test_unescaped_quotes_in_arguments_are_repaired() -> None:
    args = '{"Call stack":"f("a", "b") x","Ev Idx":1}'
    text = f'[{{"ph":"X","cat":"cpu_op","ts":1,"dur":1,"args":{args},"name":"n"}}]'
    with NativeTrace(text.encode()) as trace:
        found = trace.arguments(OPS, {"stack": ("text", ("Call stack",))})
        assert trace.text(found["stack"]).tolist() == ['f("a", "b") x']
        assert [loss.cause for loss in trace.losses()] == ["repaired_event"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"traceEvents":[{"ph":"X","args":{"a":' + b"[" * 100_000, "nest deeper than 256"),
        (b'{"a":' + b'{"a":' * 100_000, "nest deeper than 256"),
        (b"[" * 100_000, "nest deeper than 256"),
        (b'{"traceEvents":[{"ph":"X","name":"' + b"x" * 3_000_000, "one value is longer than 1 MB"),
        (b'{"a":"' + b"x" * 3_000_000, "one value is longer than 1 MB"),
        (b"\x00\x01\x02", "which is no JSON"),
        (b"", "it is empty"),
        (b"   \n ", "it is empty"),
    ],
)
def test_input_without_bounds_is_an_input_error(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        NativeTrace(data, Limits(value_bytes=1 << 20))


def test_a_gzip_bomb_is_stopped() -> None:
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    blank = b" " * (1 << 20)
    bomb = b"".join([deflate.compress(b"["), *(deflate.compress(blank) for _ in range(260)), deflate.flush()])
    with pytest.raises(InputError, match="inflates to more than 250 times its size"):
        NativeTrace(bomb)


def test_more_keys_than_anyone_uses_are_dropped_and_counted() -> None:
    events = [
        event("cpu_op", "a", 1, 1, **{f"k{i}": 1 for i in range(n, n + 1000)}) for n in range(0, 70_000, 1000)
    ]
    assert lost(json.dumps(events).encode()) == {"too_many_keys": 10}


def test_quotes_that_never_close_do_not_take_forever() -> None:
    # Each start would look for a closing quote to the end of the file: the repair has a budget.
    data = b'[{"ph":"' * 40_000
    assert lost(data)["bad_event"] >= 1


def test_metadata_floods_keep_the_last_name_of_a_thread() -> None:
    names = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 0, "args": {"name": f"t{i}"}}
        for i in range(5000)
    ]
    data = json.dumps({"traceEvents": [*names, event("cpu_op", "a", 1, 1)]}).encode()
    with NativeTrace(data) as trace:
        assert trace.fact("metadata_events") == 5000
        assert trace.text(trace.tracks("thread_name")).tolist() == ["t4999"]


def test_files_are_inflated_ahead_with_the_same_result(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = [event("cpu_op", f"op {rng.random()}", i + rng.random(), rng.random()) for i in range(30_000)]
    body = json.dumps({"traceEvents": rows}).encode()
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(body, 1))
    assert path.stat().st_size > 256 * 1024  # smaller files are inflated by the reading thread
    with NativeTrace(path) as ahead, NativeTrace(body) as plain:
        assert ahead.column(OPS, "start_ns").tolist() == plain.column(OPS, "start_ns").tolist()
        assert ahead.losses() == []
    path.write_bytes(path.read_bytes()[:-1000])
    with NativeTrace(path) as cut:
        assert {loss.cause for loss in cut.losses()} >= {"gzip_truncated", "unclosed_document"}


def test_giving_up_midway_ends_the_inflating_thread(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    noise = random.Random(5).randbytes(2_000_000).hex()
    path.write_bytes(gzip.compress(b'{"a":"' + noise.encode(), 1))
    before = len(os.listdir("/proc/self/task"))
    for _ in range(5):
        with pytest.raises(InputError, match="one value is longer than 1 MB"):
            NativeTrace(path, Limits(value_bytes=1 << 20))
    assert len(os.listdir("/proc/self/task")) == before
