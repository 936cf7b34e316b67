"""Each malformed file reads as far as it can, and says in `losses` what is wrong with it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sonde.errors import InputError
from sonde.ingest.kineto import reader as kineto
from sonde.store.recording import Recording

from . import slow_oracle

FOLDER = slow_oracle.trace_folder() / "malformed"
OK_ROWS = {"ops": 90, "launches": 71, "kernels": 50}

# file → (losses, rows that differ from the control)
CASES: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "00_ok.json": ({}, {}),
    "01_unescaped_quote_name.json": ({"repaired_event": 1}, {}),
    "02_unescaped_quote_metadata.json": ({"repaired_event": 1}, {}),
    "03_raw_backslash_windows.json": ({"bad_escape": 1}, {}),
    "04_control_char.json": ({"control_character": 1}, {}),
    "05_invalid_utf8.json": ({"invalid_utf8": 1}, {}),
    "06_inf_bandwidth.json": ({"not_a_number": 1}, {}),
    "07_nan.json": ({"not_a_number": 1}, {}),
    "08_truncated_mid_event.json": (
        {"truncated_event": 1, "unclosed_document": 1},
        {"launches": 35, "kernels": 25},
    ),
    "09_missing_close.json": ({"unclosed_document": 1}, {}),
    "10_trailing_comma.json": ({"trailing_comma": 1}, {}),
    "11_bare_array.json": ({}, {}),
    "13_no_traceEvents.json": ({"no_events": 1}, {"ops": 0, "launches": 0, "kernels": 0}),
    "14_traceEvents_empty.json": ({"no_events": 1}, {"ops": 0, "launches": 0, "kernels": 0}),
    "15_launches_without_kernels.json": ({"launches_without_kernels": 35}, {"kernels": 0}),
    "16_negative_dur.json": ({"negative_duration": 1}, {}),
    "17_ts_zero_kernels.json": ({"time_out_of_range": 2, "launches_without_kernels": 2}, {"kernels": 48}),
    "18_ts_as_string.json": ({"number_as_string": 369}, {}),
    "19_kernel_before_launch.json": ({"kernels_before_launch": 1}, {}),
    "20_overlapping_same_stream.json": ({"overlap_on_stream": 1}, {}),
    "21_absurd_duration.json": ({"absurd_duration": 1}, {"ops": 89}),
    "22_no_correlation.json": ({"kernels_without_launch": 35, "launches_without_kernels": 35}, {}),
    "23_epoch_us_fraction.json": ({}, {}),
    "24_bom_crlf.json": ({}, {}),
    "25_dup_keys.json": ({"duplicate_key": 1}, {}),
    "26_concatenated.json": (
        {"concatenated_document": 1},
        {"ops": 180, "launches": 142, "kernels": 100},
    ),
    "27_gz_named_json.json": ({}, {}),
    "28_plain_named_gz.json.gz": ({}, {}),
    "29_gz_truncated.json.gz": ({"gzip_truncated": 1, "truncated_event": 1, "unclosed_document": 1}, {}),
    "31_rank_dup_a.json": ({}, {}),
    "31_rank_dup_b.json": ({}, {}),
}
UNREADABLE = {
    "12_empty_file.json": "it is empty",
    "30_zip_not_json.json": r"starts with 'PK\\x03\\x04",
}


def losses(recording: Recording) -> dict[str, int]:
    table = recording.table("losses")
    causes = [str(c) for c in table.text("cause").tolist()]
    return dict(zip(causes, table.array("count").tolist(), strict=True))


def test_every_file_has_a_case() -> None:
    assert {p.name for p in FOLDER.glob("*.json*")} == set(CASES) | set(UNREADABLE)


@pytest.mark.parametrize("name", CASES)
def test_reads_what_is_there_and_counts_what_is_not(name: str) -> None:
    expected, rows = CASES[name]
    recording = kineto.read(FOLDER / name)
    assert losses(recording) == expected
    assert {t: len(recording.table(t)) for t in OK_ROWS} == {**OK_ROWS, **rows}


@pytest.mark.parametrize("name", UNREADABLE)
def test_no_trace_at_all_is_an_input_error(name: str) -> None:
    with pytest.raises(InputError, match=UNREADABLE[name]) as caught:
        kineto.read(FOLDER / name)
    assert str(FOLDER / name) in caught.value.message


def test_a_repaired_name_is_what_was_meant() -> None:
    names = kineto.read(FOLDER / "01_unescaped_quote_name.json").table("ops").text("name").values
    assert '{"device": "cpu"}(12): run' in names


def test_repaired_metadata_keeps_what_follows() -> None:
    details = kineto.read(FOLDER / "02_unescaped_quote_metadata.json").meta.details
    assert details["metadata"]["note"] == 'say /"hi/" x'
    assert len(details["deviceProperties"]) == 2


def test_raw_backslashes_stay() -> None:
    names = kineto.read(FOLDER / "03_raw_backslash_windows.json").table("ops").text("name").values
    assert r"torch\cuda\__init__.py(219): _lazy_init" in names


def test_bad_bytes_read_as_replacement_characters() -> None:
    names = kineto.read(FOLDER / "05_invalid_utf8.json").table("ops").text("name").values
    assert any(re.match(r"cfg\.py\(0\): �+$", n) for n in names)


def test_duplicate_keys_take_the_last() -> None:
    assert kineto.read(FOLDER / "25_dup_keys.json").meta.versions["schemaVersion"] == "1"


def test_nineteen_digit_times_are_exact() -> None:
    plain = kineto.read(FOLDER / "00_ok.json").table("ops").array("start_ns")
    exact = kineto.read(FOLDER / "23_epoch_us_fraction.json").table("ops").array("start_ns")
    assert np.unique(exact - plain).tolist() == [137]


def test_concatenated_traces_do_not_mix() -> None:
    recording = kineto.read(FOLDER / "26_concatenated.json")
    kernels, launches = recording.table("kernels"), recording.table("launches")
    process_of_launch = recording.table("threads").array("process")[launches.array("thread")]
    assert len(recording.table("processes")) == 2
    assert (process_of_launch[kernels.array("launch")] == kernels.array("process")).all()
    assert np.bincount(kernels.array("process")).tolist() == [50, 50]


def test_every_loss_has_a_sentence(tmp_path: Path) -> None:
    for name in CASES:
        table = kineto.read(FOLDER / name).table("losses")
        assert all(table.text("detail")[i] and table.text("unit")[i] for i in range(len(table)))
