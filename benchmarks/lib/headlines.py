"""What each result says in one line: what was asked, and the figure. README and docs/benchmarks.md show these only.

In: a result as its suite wrote it. Out: sentences; the plots of docs are made of the same rows (document.py).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

Result = dict[str, Any]
Line = tuple[str, str]


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def bounds(row: Result, digits: int = 1) -> str:
    return f"[{100 * row['low']:.{digits}f}, {100 * row['high']:.{digits}f}]"


def overhead_inside(result: Result) -> Line:
    said = (f"{r['profiler']} {100 * r['share']:+.1f} % {bounds(r)}" for r in result["rows"])
    return "cost inside one process, random on/off blocks of a loop of tiny operators", "; ".join(said)


def overhead(result: Result) -> Line:
    rows = [r for r in result["rows"] if r["workload"] == "op_dense" and r["profiler"] != "nothing"]
    said = (f"{r['profiler']} {r['ratio']:.3f} [{r['low']:.3f}, {r['high']:.3f}]" for r in rows)
    what = f"CPU time of the same loop relative to an unprofiled run, {result['rounds']} interleaved rounds"
    return what, "; ".join(said)


def defaults(result: Result) -> Line:
    sums = sorted(result["sums"])
    what = "`sonde run` with its defaults: CPU time of all examples relative to unprofiled runs"
    return what, f"{statistics.median(sums):.3f} [{sums[0]:.3f}, {sums[-1]:.3f}] in {result['rounds']} rounds"


def attribution(result: Result) -> Line:
    names = ("sonde 100 Hz", "py-spy --native", "perf dwarf 99 Hz")
    rows = [r for r in result["rows"] if r["workload"] == "conv_net" and r["profiler"] in names]
    said = (f"{r['profiler']} {percent(r['op'], 0)} and {percent(r['leaf'], 0)}" for r in rows)
    what = "CPU samples of a conv net with an operator, and with a named leaf, imports included"
    return what, "; ".join(said)


def size(result: Result) -> Line:
    parts = ("raw_bytes_per_sample", "tables_bytes_per_sample")
    said = (f"{r['rate_hz']} Hz: {r[parts[0]]:.0f} and {r[parts[1]]:.0f}" for r in result["rows"])
    what = f"{result['seconds'] / 60:.0f} minutes of recording: bytes per sample in the log and in the tables"
    return what, "; ".join(said)


def guest_suites(result: Result) -> Line:
    outcomes = sum(sum(r["outcomes"].values()) for r in result["rows"])
    different = sum(len(r["different"]) for r in result["rows"])
    what = f"tests of CPython and numpy with Sonde at {result['rate_hz']} Hz"
    return what, f"{outcomes:,} outcomes, {different} different from those without"


def guests(result: Result) -> Line:
    profiled = [r for r in result["rows"] if r["rate_hz"]]
    same, runs = (sum(r[k] for r in profiled) for k in ("identical", "runs"))
    what = f"output and exit code of {len({r['guest'] for r in profiled})} programs of many kinds"
    return what, f"the same in {same} of {runs} runs"


def kills(result: Result) -> Line:
    tried, kept = (sum(r[k] for r in result["rows"]) for k in ("moments", "kept_the_promise"))
    return "`kill -9` at random moments: opens, and lacks at most 0.5 s per thread", f"{kept} of {tried}"


def memory(result: Result) -> Line:
    one = next(r for r in result["rows"] if r["threads"] == 1)
    said = f"{one['resident_kib'] / 1024:.1f} MiB, and {result['resident_kib_per_thread']:.0f} KiB per thread"
    return f"resident memory that the agent adds, {result['rate_hz']} Hz", said


def split(result: Result) -> Line:
    inside, runs = sum(r["inside"] for r in result["rows"]), len(result["rows"])
    said = f"inside the {percent(result['level'])} interval in {inside} of {runs} runs at {result['rate_hz']:.0f} Hz"
    return "a known split between two functions, Python and C++, one and several threads", said


def soak(result: Result) -> Line:
    samples = sum(r["samples"] for r in result["rows"])
    what = f"{result['seconds'] / 60:.0f} minutes of threads, forks, libraries and exceptions, {result['rate_hz']} Hz"
    return what, f"{samples:,} samples, {len(result['failures'])} failures"


def reader(result: Result) -> Line:
    kind = "large" if any(r["input"] == "large" for r in result["rows"]) else "plain"
    row = next(r for r in result["rows"] if r["input"] == kind and r["reader"] == "sonde tables, linked")
    said = f"{row['mb_per_cpu_s_median']:.0f} MB of JSON per CPU second (best {row['mb_per_cpu_s_best']:.0f})"
    return f"a Kineto trace of {row['json_bytes'] / 1e6:,.0f} MB into linked tables", said


def hta(result: Result) -> Line:
    low, high = result["cpu_ratio_low_high"]
    what = f"reading and analysing 8 ranks of {result['input_mb'] / 8:.0f} MB, beside HTA 0.5.0"
    return what, f"{result['cpu_ratio']:.0f} × less CPU time [{low:.0f}, {high:.0f}]"


def ranks(result: Result) -> Line:
    rows = [r for r in result["rows"] if r["engine"] == "local"]
    said = (f"{r['ranks']}: {1000 * r['cpu_s_per_rank']:.0f} ms, {r['worker_max_rss_mb']} MB" for r in rows)
    return "CPU time per rank and memory of a worker, by number of ranks", "; ".join(said)


def report(result: Result) -> Line:
    said = f"built in {result['build_cpu_s']:.1f} s of CPU time, {result['size_bytes'] / 1e6:.1f} MB"
    if browser := result.get("browser"):
        said += f", opens in {browser['open_ms'] / 1000:.1f} s"
    return f"the page of {result['samples']:,} samples and {result['ops']:,} calls", said


def insights(result: Result) -> Line:
    known = [r for r in result["rows"] if r.get("measured_share") is not None and r.get("predicted_share")]
    first = sum(r["rank"] == 1 for r in result["rows"])
    covered = sum(bool(r["covered"]) for r in known)
    what = "planted mistakes named first; savings inside the predicted interval"
    return what, f"{first} of {len(result['rows'])}; {covered} of {len(known)}"


def insights_clean(result: Result) -> Line:
    alarms = sum(len(r["alarms"]) for r in result["rows"])
    return (
        f"said of {len(result['rows'])} good programs beyond what their own text tells",
        f"{alarms} findings",
    )


def diagnosis(result: Result) -> Line:
    def said(summary: Result) -> str:
        every, outside = summary["all"], summary["outside"]
        return (
            f"{every['line_first']} of {every['programs']} ({outside['line_first']} of {outside['programs']}), "
            f"line and kind {every['line_and_kind_first']}"
        )

    what = "mistakes written without reading the rules: their line is the first card's (of those outside the rules)"
    if "first_seen" not in result:
        return what, said(result["summary"])
    return (
        what,
        f"as first seen {said(result['first_seen'])}; after learning from them {said(result['summary'])}",
    )


def insights_speed(result: Result) -> Line:
    what = f"insights on {result['samples']:,} samples and {result['ops']:,} calls"
    return what, f"{min(result['cpu_s']):.1f} s of CPU time"


def text_exam(result: Result) -> Line:
    total = result["total"]
    return (
        f"planted mistakes: `insights --brief` alone (at most {total['longest']:,} characters) names line and fix; "
        "the line in its first finding; the fix in its first finding",
        f"{total['whole']} of {total['programs']}; {total['line_first']} of {total['line_asked']}; "
        f"{total['fix_first']} of {total['programs']}",
    )


def own_speed(result: Result) -> Line:
    after = ", ".join(f"{result[part]['cpu_s']:.1f}" for part in ("summary", "long", "eight"))
    return (
        "`import sonde`; start of a profiled program; summary after 10 s, after 10 minutes' worth of samples, of 8 "
        "processes; `show gpu` of an 80 MB trace",
        f"{result['import']['more_ms']:.0f} ms; {result['start']['more_ms']:.0f} ms; {after} s; "
        f"{result['trace']['mb_per_cpu_s']} MB/s, all of CPU time",
    )


def false_positives(result: Result) -> Line:
    rows = [r for r in result["rows"] if r["effect"] == 0]
    said = (f"{r['design']} {percent(r['called_different'])} {bounds(r)}" for r in rows)
    return f"false positives in {rows[0]['trials']} simulated A/A tests on a drifting machine", "; ".join(
        said
    )


def aa_pairs(result: Result) -> Line:
    pairs = result["pairs"]
    wrong = sum(p["same"]["verdict"] in ("faster", "slower") or bool(p["same"]["row_count"]) for p in pairs)
    found = sum(p["slow"]["verdict"] == "slower" for p in pairs)
    what = f"`sonde diff` of one recording per side on a busy machine, {len(pairs)} pairs"
    return what, f"{wrong} wrong of equal programs; {percent(result['planted'], 0)} planted found in {found}"


def onednn_log(result: Result) -> Line:
    said = ", ".join(f"{r['lines_per_s']:,}" for r in result["rows"])
    return "lines of a oneDNN log read per CPU second, without and with stamps", said


def interposers(result: Result) -> Line:
    said = (f"{r['loop']} {100 * r['share']:+.2f} % {bounds(r, 2)}" for r in result["rows"])
    return "CPU time of standing in front of autograd and the inter-op pool", "; ".join(said)


HEADLINES: dict[str, Callable[[Result], Line]] = {
    "overhead-inside": overhead_inside,
    "overhead": overhead,
    "defaults": defaults,
    "interposers": interposers,
    "attribution": attribution,
    "split": split,
    "size": size,
    "memory": memory,
    "guests": guests,
    "guest_suites": guest_suites,
    "kills": kills,
    "soak": soak,
    "reader": reader,
    "hta": hta,
    "ranks": ranks,
    "report": report,
    "onednn_log": onednn_log,
    "insights": insights,
    "insights_clean": insights_clean,
    "diagnosis": diagnosis,
    "insights_speed": insights_speed,
    "own_speed": own_speed,
    "text_exam": text_exam,
    "statistics": false_positives,
    "aa_pairs": aa_pairs,
}
README = (
    *("overhead-inside", "overhead", "defaults", "attribution", "split", "size", "guest_suites"),
    *("reader", "hta", "insights", "diagnosis", "statistics"),
)
