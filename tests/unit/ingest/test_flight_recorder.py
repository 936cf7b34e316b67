"""Dumps of torch's flight recorder: read without resolving a class, judged like a job that runs."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from sonde.analyze.ranks.hang import verdict
from sonde.errors import InputError
from sonde.ingest import flight_recorder


def entry(
    number: int, name: str = "gloo:all_reduce", sizes: Any = ((4,),), retired: bool = True
) -> dict[str, Any]:
    """As torch 2.13 writes it for gloo: the state stays "scheduled"."""
    return {
        "record_id": number - 1,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": name,
        "time_created_ns": 1_795_013_314_000_000_000 + number * 1_000_000_000,
        "input_sizes": [list(s) for s in sizes],
        "input_dtypes": ["Float"] * len(sizes),
        "output_sizes": [list(s) for s in sizes],
        "output_dtypes": ["Float"] * len(sizes),
        "state": "scheduled",
        "retired": retired,
        "is_p2p": False,
        "timeout_ms": 1_800_000,
    }


def dump(*entries: dict[str, Any], ranks: str = "[0, 1, 2]") -> dict[str, Any]:
    # gloo's configuration calls the default group "", its entries call it "0".
    return {
        "version": "2.10",
        "pg_config": {"": {"name": "", "desc": "", "ranks": ranks}},
        "entries": list(entries),
    }


def written(folder: Path, dumps: dict[int, dict[str, Any]], pickled: bool = False) -> Path:
    for rank, one in dumps.items():
        data = pickle.dumps(one) if pickled else json.dumps(one).encode()
        (folder / f"trace_{rank}").write_bytes(data)
    return folder


@pytest.mark.parametrize("pickled", [False, True])
def test_the_rank_that_never_entered_is_named(tmp_path: Path, pickled: bool) -> None:
    waiting = dump(entry(60), entry(61, retired=False))
    folder = written(tmp_path, {0: waiting, 1: dump(entry(60)), 2: waiting}, pickled)
    found = verdict(flight_recorder.read_folder(folder), 3)
    assert (found.kind, found.ranks, found.waiting) == ("absent", (1,), (0, 2))
    assert found.sentence.startswith("rank 1 never entered all_reduce #61 of group 0")


@pytest.mark.parametrize(
    "other", [entry(5, "gloo:broadcast", retired=False), entry(5, sizes=((8,),), retired=False)]
)
def test_different_calls_under_one_number_are_a_mismatch(tmp_path: Path, other: dict[str, Any]) -> None:
    folder = written(
        tmp_path, {0: dump(entry(5, retired=False)), 1: dump(other), 2: dump(entry(5, retired=False))}
    )
    found = verdict(flight_recorder.read_folder(folder), 3)
    assert found.kind == "mismatch"
    assert set(found.ranks) == {0, 1}


def test_a_rank_without_a_dump_is_gone(tmp_path: Path) -> None:
    waiting = dump(entry(7, retired=False))
    found = verdict(flight_recorder.read_folder(written(tmp_path, {0: waiting, 1: waiting})), 3)
    assert (found.kind, found.ranks) == ("dead", (2,))


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/sonde-was-here",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps({"entries": [Evil()], "pg_config": {}}),
        b"\x80\x04entries",
        b'{"entries": [1, {"process_group": 3}], "pg_config": 7',
        pickle.dumps(["entries"]),
    ],
)
def test_hostile_dumps_are_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "trace_0").write_bytes(data)
    with pytest.raises(InputError) as error:
        flight_recorder.read_folder(tmp_path)
    assert "\n" not in error.value.message
    assert not Path("/tmp/sonde-was-here").exists()


def test_odd_entries_are_passed_over(tmp_path: Path) -> None:
    odd = dump(entry(1))
    odd["entries"] += [3, {"process_group": 3, "input_sizes": "x", "collective_seq_id": "y", "retired": True}]
    folder = written(tmp_path, {0: odd, 1: dump(entry(1))})
    assert verdict(flight_recorder.read_folder(folder), 2).kind == "unknown"
