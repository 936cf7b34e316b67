"""The decoder of raw logs: every record type, cut anywhere, damaged anywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.errors import InputError
from sonde.ingest.agent.decode import read_raw_log
from sonde.ingest.agent.log import FOREVER_NS, RawLog
from tests.unit.store import slog
from tests.unit.store.slog import Slog


def decode(folder: Path, data: bytes) -> RawLog:
    path = folder / "42.1000.slog"
    path.write_bytes(data)
    return read_raw_log(path)


def example() -> Slog:
    log = Slog().base(1000).header()
    log.record(slog.THREAD_START, 0, 42, 1000, "main", 1, 0x401000)
    log.record(slog.MAPPING, 1000, 0x400000, 0x500000, 0, "/bin/prog", "ab12")
    log.record(slog.NODE, 1, 0, 0x7FFF_FFFF_F123, 0).record(slog.NODE, 2, 1, 0x401010, 8)
    log.record(slog.CODE, 7, "Net.forward", "net.py", 3, b"\x80\x00\xff")
    log.record(slog.PYTHON_NODE, 1, 0, 7, ("z", -1), 1, 0xDEAD)
    log.sample(0, 500, 2, 1, 10_000_000).sample(0, -200, 1, 0, 5)
    log.chunk()
    log.base(9000)
    log.sample(0, 10, 2).sample(0, 7, 2, weight_ns=99, kind=slog.WAIT)
    log.record(slog.UNMAPPING, 9000, 0x400000, 0x500000)
    log.record(slog.JIT_CODE, 9000, 0x1000, 64, "jit_conv", "perfmap")
    log.record(slog.LOSS, "ring_full", "samples", 3, "why")
    log.record(slog.COUNTER, 9000, "rss_bytes", 1 << 40).record(slog.BLOCK, 1, 2, 1, 3)
    log.record(slog.STATISTICS, "handler_ns", 12).record(slog.MODULE, 5, 0xDEAD, "encoder.0")
    log.record(slog.THREAD_END, 0, 9500, 77, "main")
    return log.record(slog.FOOTER, 9999, ("z", -6), 100, 50, 4096, 0)


def problems(log: RawLog) -> list[tuple[str | None, int]]:
    return [(log.losses.cause[i], int(log.losses.count[i])) for i in range(len(log.losses.count))]


def test_every_record_type_is_decoded(tmp_path: Path) -> None:
    log = decode(tmp_path, example().data())
    assert (log.header.pid, log.header.epoch_offset_ns, log.header.engine) == (42, -5, "perf+kernel")
    assert log.header.command == "prog\0arg"
    assert log.footer is not None
    assert (log.footer.end_ns, log.footer.epoch_offset_ns, log.footer.replaced) == (9999, -6, False)
    assert log.samples.time_ns.tolist() == [1500, 1300, 9010]
    assert log.samples.native.tolist() == [2, 1, 2]
    assert log.samples.python.tolist() == [1, 0, 0]
    assert log.samples.owner.tolist() == [-1, -1, -1]
    assert (log.waits.time_ns.tolist(), log.waits.weight_ns.tolist()) == ([9017], [99])
    assert log.nodes.parent.tolist() == [0, 1]
    assert log.nodes.pc.tolist() == [0x7FFF_FFFF_F123, 0x401010]
    assert log.python_nodes.instruction.tolist() == [-1]
    assert log.python_nodes.code.tolist() == [1]
    assert log.codes.name.tolist() == ["Net.forward"]
    assert log.codes.line_table == [b"\x80\x00\xff"]
    assert log.mappings.path[0] == "/bin/prog"
    assert log.mappings.until_ns.tolist() == [9000]
    assert log.jit.name[0] == "jit_conv"
    assert problems(log) == [("ring_full", 3)]
    assert log.counters.value.tolist() == [float(1 << 40)]
    assert log.modules.path[0] == "encoder.0"
    assert log.statistics == {"handler_ns": 12}
    assert log.blocks.on.tolist() == [True]
    assert log.threads.routine.tolist() == [0x401000]
    assert (log.threads.cpu_ns.tolist(), log.threads.end_ns.tolist()) == ([77], [9500])
    assert log.truncated_bytes == 0


def test_a_mapping_that_is_reused_ends_where_the_next_begins(tmp_path: Path) -> None:
    log = Slog().base(0).header().record(slog.MAPPING, 1, 0x1000, 0x2000, 0, "/a.so", "aa")
    log.record(slog.UNMAPPING, 5, 0x1000, 0x2000).record(slog.MAPPING, 7, 0x1000, 0x2000, 0, "/b.so", "")
    mappings = decode(tmp_path, log.data()).mappings
    assert mappings.until_ns.tolist() == [5, FOREVER_NS]
    assert mappings.build_id.tolist() == ["aa", None]


def test_a_new_epoch_restarts_node_numbers(tmp_path: Path) -> None:
    log = Slog().base(0).header().record(slog.NODE, 1, 0, 0xA, 0).sample(0, 1, 1).chunk()
    log.base(10, epoch=1).record(slog.NODE, 1, 0, 0xB, 0).sample(0, 1, 1).sample(0, 1, 2)
    decoded = decode(tmp_path, log.data())
    assert decoded.nodes.pc[decoded.samples.native[:2] - 1].tolist() == [0xA, 0xB]
    assert decoded.samples.native[2] == 0
    assert problems(decoded) == [("unknown_stack", 1)]


def test_the_last_header_counts(tmp_path: Path) -> None:
    assert (
        decode(tmp_path, Slog().header(python="").header(python="3.13.1").data()).header.python_version
        == "3.13.1"
    )


@pytest.mark.parametrize("keep_all_of_first_chunk", [True, False])
def test_cut_at_every_byte_keeps_what_came_before(tmp_path: Path, keep_all_of_first_chunk: bool) -> None:
    log = example()
    data, first = log.data(), len(log.chunks[0])
    for size in range(first, len(data)) if keep_all_of_first_chunk else range(first):
        if not keep_all_of_first_chunk:
            with pytest.raises(InputError, match=f"{size} bytes without a header"):
                decode(tmp_path, data[:size])
            continue
        decoded = decode(tmp_path, data[:size])
        assert len(decoded.samples.thread) == 2
        assert decoded.footer is None
        assert decoded.truncated_bytes == size - first
        assert problems(decoded) == ([("truncated_log", size - first)] if size > first else [])


@settings(max_examples=200, deadline=None)
@given(position=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_never_crashes_and_is_never_silent(
    tmp_path_factory: pytest.TempPathFactory, position: int, bit: int
) -> None:
    data = bytearray(example().data())
    data[position % len(data)] ^= 1 << bit
    try:
        decoded = decode(tmp_path_factory.mktemp("flip"), bytes(data))
    except InputError:
        return
    assert problems(decoded) != [("ring_full", 3)]


@settings(max_examples=300, deadline=None)
@given(payload=st.binary(max_size=300))
def test_any_bytes_with_a_valid_checksum_are_survived(
    tmp_path_factory: pytest.TempPathFactory, payload: bytes
) -> None:
    log = Slog().header().chunk()
    log._payload = payload
    decoded = decode(tmp_path_factory.mktemp("any"), log.data())
    assert decoded.header.pid == 42


def test_unknown_record_types_are_skipped_and_counted(tmp_path: Path) -> None:
    decoded = decode(tmp_path, Slog().base(0).header().record(200, 1, "new").sample(0, 5, 0).data())
    assert decoded.samples.time_ns.tolist() == [5]
    assert problems(decoded) == [("unknown_record", 1)]


def test_what_is_not_a_log_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_raw_log(tmp_path / "missing.slog")
    with pytest.raises(InputError, match="cannot be read"):
        read_raw_log(tmp_path)
    with pytest.raises(InputError, match="without a header"):
        decode(tmp_path, b"%PDF-1.4 and so on, more than sixteen bytes")


def test_columns_outlive_the_decoder(tmp_path: Path) -> None:
    first = decode(tmp_path, example().data())
    copies = first.samples.weight_ns.copy()
    for _ in range(5):
        decode(tmp_path, example().data())
    assert np.array_equal(first.samples.weight_ns, copies)


def test_readings_are_differences_and_the_end_of_the_handler_may_be_missing(tmp_path: Path) -> None:
    log = slog.Slog().header().base(1000)
    log.record(slog.READINGS, ("z", 5), *(("z", value) for value in (100, 20, 3, 4, 0, 6, 7)))
    log.record(slog.READINGS, ("z", 10), *(("z", value) for value in (-40, 1, 1, 0, 0, 2, 0)))
    log.sample(1, 2, 0)
    log.record(slog.SAMPLE, 1, ("z", 3), 0, 0, 0, 0, 10, 0, 0, 0, 2, 100)
    path = tmp_path / "1.slog"
    path.write_bytes(log.data())
    found = read_raw_log(path)
    rss = found.counters.name.equals("rss_bytes")
    assert found.counters.value[rss].tolist() == [100, 60]
    assert found.counters.time_ns[rss].tolist() == [1005, 1015]
    assert found.counters.value[found.counters.name.equals("voluntary_switches")].tolist() == [6, 8]
    assert found.samples.handler_ns.tolist() == [0, 25_600]
    assert found.samples.time_ns.tolist() == [1017, 1020]


def test_what_could_not_be_written_is_a_loss(tmp_path: Path) -> None:
    whole = decode(tmp_path, slog.preamble() + example().data())
    assert problems(whole) == [("ring_full", 3)]
    assert whole.truncated_bytes == 0
    log = decode(tmp_path, slog.preamble(2, 7, 1_500_000_000, 3, 4) + example().data())
    assert problems(log)[1:] == [("log_write_failed", n) for n in (2, 7, 3, 4)]
    assert "1.500 s of CPU time" in str(log.losses.detail[2])


def test_a_damaged_preamble_costs_only_its_counts(tmp_path: Path) -> None:
    damaged = bytearray(slog.preamble(samples=7))
    damaged[16] ^= 1
    log = decode(tmp_path, bytes(damaged) + example().data())
    assert log.samples.time_ns.tolist() == [1500, 1300, 9010]
    assert problems(log) == [("ring_full", 3), ("malformed_record", 1)]


def test_after_a_gap_everything_is_told_again_and_counts_once(tmp_path: Path) -> None:
    def told(log: Slog, since_ns: int, node: int) -> None:
        log.header(version=2).record(slog.THREAD_START, 0, 42, 1000, "main", 1, 0)
        log.record(slog.MAPPING, since_ns, 0x400000, 0x500000, 0, "/bin/prog", "ab12")
        log.record(slog.NODE, 1, 0, node, 0).sample(0, 1, 1)
        log.record(slog.READINGS, ("z", 0), *(("z", 5),) * 7)

    log = Slog().base(1000, 1)
    told(log, 900, 0x401010)
    log.record(slog.MAPPING, 950, 0x600000, 0x700000, 0, "/lib/gone.so", "cd34")
    log.chunk()
    log.base(5000, 2).record(slog.GAP, 2001, 5000).chunk()  # and once more nothing else could be written
    log.base(7000, 3).record(slog.GAP, 5001, 7000)
    told(log, 5001, 0x402020)
    log.record(slog.READINGS, ("z", 0), *(("z", 1),) * 7)
    found = decode(tmp_path, slog.preamble(samples=1) + log.data())
    assert [found.nodes.pc[n - 1] for n in found.samples.native] == [0x401010, 0x402020]
    assert found.threads.number.tolist() == [0]
    rows = list(
        zip(found.mappings.path.tolist(), found.mappings.from_ns, found.mappings.until_ns, strict=True)
    )
    assert rows == [("/bin/prog", 900, FOREVER_NS), ("/lib/gone.so", 950, 2001)]
    assert found.counters.value.tolist() == [5.0] * 14 + [6.0] * 7
