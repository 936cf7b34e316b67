"""What a processed profile of the Firefox Profiler must look like, after its public type definitions.

No package on npm, PyPI or Debian holds the profiler's reader, so its types (src/types/profile.ts of
firefox-devtools/profiler at version 58 of the format) are written down here as required keys,
and what its reader relies on as checks: equal columns, indices in range, parents before children.
"""

from __future__ import annotations

from typing import Any

COLOURS = {
    "transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red",
    "lightred", "darkgrey", "grey",
}  # fmt: skip
TABLES = {
    "samples": ("stack", "time", "weight", "threadCPUDelta"),
    "markers": ("data", "name", "startTime", "endTime", "phase", "category"),
    "stackTable": ("frame", "prefix"),
    "frameTable": (
        "address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID",
        "line", "column",
    ),
    "funcTable": ("name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"),
    "resourceTable": ("lib", "name", "host", "type"),
    "nativeSymbols": ("libIndex", "address", "name", "functionSize"),
}  # fmt: skip
THREAD = {
    "processType": str, "processStartupTime": (int, float), "registerTime": (int, float), "name": str,
    "pausedRanges": list, "isMainThread": bool, "pid": str, "tid": (int, str),
}  # fmt: skip
META = {
    "interval": (int, float), "startTime": (int, float), "processType": int, "product": str, "stackwalk": int,
    "version": int, "preprocessedProfileVersion": int, "markerSchema": list, "categories": list,
}  # fmt: skip


def check(profile: dict[str, Any]) -> None:
    """Fails with what the viewer would stumble over."""
    _typed(profile["meta"], META)
    categories = profile["meta"]["categories"]
    assert {c["color"] for c in categories} <= COLOURS
    assert sum(c["color"] == "grey" for c in categories) >= 1
    assert all(c["subcategories"][0] == "Other" for c in categories)
    schemas = {s["name"]: {f["key"] for f in s["fields"]} for s in profile["meta"]["markerSchema"]}
    strings = profile["shared"]["stringArray"]
    assert len(strings) == len(set(strings))
    sources = profile["shared"]["sources"]
    _columns(sources, ("uuid", "filename"))
    _indices(sources["filename"], strings)
    for lib in profile["libs"]:
        assert set(lib) == {"arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"}
    places = {(t["pid"], t["tid"]) for t in profile["threads"]}
    assert len(places) == len(profile["threads"])
    for thread in profile["threads"]:
        _typed(thread, THREAD)
        for name, columns in TABLES.items():
            _columns(thread[name], columns)
        _thread(thread, profile, schemas)
    for counter in profile["counters"]:
        assert counter["pid"] == profile["threads"][counter["mainThreadIndex"]]["pid"]
        _columns(counter["samples"], ("time", "count"))


def _thread(thread: dict[str, Any], profile: dict[str, Any], schemas: dict[str, set[str]]) -> None:
    strings, categories = profile["shared"]["stringArray"], profile["meta"]["categories"]
    stacks, frames, funcs = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    samples, markers = thread["samples"], thread["markers"]
    assert samples["weightType"] in ("samples", "tracing-ms", "bytes")
    assert samples["time"] == sorted(samples["time"])
    _indices(samples["stack"], stacks["frame"])
    _indices(stacks["frame"], frames["func"])
    assert all(p is None or p < row for row, p in enumerate(stacks["prefix"]))
    _indices(frames["func"], funcs["name"])
    _indices(frames["category"], categories)
    _indices(funcs["name"], strings)
    _indices([s for s in funcs["source"] if s is not None], profile["shared"]["sources"]["filename"])
    _indices([r for r in funcs["resource"] if r != -1], thread["resourceTable"]["name"])
    _indices(thread["resourceTable"]["lib"], profile["libs"])
    _indices(markers["name"], strings)
    _indices(markers["category"], categories)
    for start, end, phase, data in zip(
        markers["startTime"], markers["endTime"], markers["phase"], markers["data"], strict=True
    ):
        assert phase == 1
        assert 0 <= start <= end
        assert set(data) - {"type"} <= schemas[data["type"]]


def _typed(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for key, kind in expected.items():
        assert isinstance(found[key], kind), (key, found[key])


def _columns(table: dict[str, Any], columns: tuple[str, ...]) -> None:
    assert {c: len(table[c]) for c in columns} == dict.fromkeys(columns, table["length"])


def _indices(numbers: list[int], into: list[Any]) -> None:
    assert all(isinstance(n, int) and 0 <= n < len(into) for n in numbers)
