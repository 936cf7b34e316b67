"""A log read while it grows says, piece by piece, what the whole log says."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.ingest.agent.decode import read_raw_log
from sonde.ingest.agent.followed_log import FollowedLog
from sonde.ingest.agent.log import RawLog, RawSamples
from sonde.ingest.agent.used import only_used
from sonde.ingest.observers import events as event_files
from sonde.ingest.observers.followed_events import FollowedEvents
from sonde.record.inside.events import BLOCK_BYTES, RECORD, RECORD_BYTES
from tests.unit.ingest.test_rawlog import example


def stack_of(log: RawLog, node: int) -> tuple[int, ...]:
    path = []
    while node:
        path.append(int(log.nodes.pc[node - 1]))
        node = int(log.nodes.parent[node - 1])
    return tuple(path)


def told(log: RawLog, samples: RawSamples) -> list[tuple[int, int, tuple[int, ...], str | None]]:
    """Time, weight, native stack and innermost Python function of each."""
    rows = []
    for i, time_ns in enumerate(samples.time_ns.tolist()):
        python = int(samples.python[i])
        name = log.codes.name[int(log.python_nodes.code[python - 1]) - 1] if python else None
        rows.append((time_ns, int(samples.weight_ns[i]), stack_of(log, int(samples.native[i])), name))
    return rows


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, 2000), max_size=6))
def test_polls_add_up_to_the_whole_log(cuts: list[int], tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    data = example().data()
    folder: Path = tmp_path_factory.mktemp("log")
    path = folder / "42.1000.slog"
    path.write_bytes(data)
    whole = read_raw_log(path)
    path.write_bytes(b"")
    follower = FollowedLog(path)
    samples, waits, counters, losses = [], [], 0, 0
    last = None
    for end in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        path.write_bytes(data[:end])
        log = follower.poll()
        if log is not None:
            used = only_used(log)
            samples += told(used, used.samples)
            waits += told(used, used.waits)
            counters += len(log.counters.value)
            losses += int(log.losses.count.sum())
            last = log
    follower.close()
    assert last is not None
    assert samples == told(whole, whole.samples)
    assert waits == told(whole, whole.waits)
    assert counters == len(whole.counters.value)
    assert losses == int(whole.losses.count.sum())
    assert last.footer == whole.footer


def test_only_stacks_that_samples_use_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "42.1000.slog"
    path.write_bytes(example().data())
    log = read_raw_log(path)
    one = RawSamples(**{name: column[1:2] for name, column in vars(log.samples).items()})  # at the outer node
    none = RawSamples(**{name: column[:0] for name, column in vars(log.waits).items()})
    used = only_used(RawLog(**{**vars(log), "samples": one, "waits": none}))
    assert used.nodes.pc.tolist() == [0x7FFF_FFFF_F123]
    assert len(used.python_nodes.code) == 0
    assert used.samples.native.tolist() == [1]


def test_events_are_handed_out_once_while_blocks_fill(tmp_path: Path) -> None:
    path = tmp_path / "42.events.bin"
    per_block = BLOCK_BYTES // RECORD_BYTES - 1
    records = [(1, 10 + i, 20 + i, i, 0) for i in range(per_block + 30)]

    def write(count: int) -> None:
        data = b""
        for first in range(0, max(count, 1), per_block):
            rows = records[first : min(first + per_block, count)]
            block = RECORD.pack(77, 0, 0, 0, 0) + b"".join(RECORD.pack(*row) for row in rows)
            data += block.ljust(BLOCK_BYTES, b"\0")
        path.write_bytes(data)

    follower = FollowedEvents(path)
    assert len(follower.poll()) == 0
    seen: list[int] = []
    for count in (1, 1, 60, per_block, per_block + 1, per_block + 30):
        write(count)
        seen += follower.poll().a.tolist()
        assert seen == list(range(count))
    assert event_files.read(path).a.tolist() == seen
