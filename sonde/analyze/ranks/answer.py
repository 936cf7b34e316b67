"""The answer of `sonde show REC gpu`: its types, with what people read about each column.

They are here, below the view, because an importer that compares hundreds of ranks keeps the answer in the recording
(`all_ranks` in its details). Times are in ms, or in µs where the key says so. None: the trace does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sonde.rows import Column


@dataclass(frozen=True)
class GpuDevice:
    """One device of one rank, from its first event to its last."""

    rank: Annotated[int, Column("rank", meaning="of the process; -1: it has none")]
    process: Annotated[int, Column("process", meaning="number of the process in the recording")]
    device: Annotated[int, Column("device", meaning="number of the device")]
    events: Annotated[int, Column("events", "count", "kernels, copies and sets")]
    window_ms: Annotated[float, Column("window", "ms", "from the first start to the last end on the device")]
    busy_ms: Annotated[float, Column("busy", "ms", "at least one kernel or copy was running")]
    idle_ms: Annotated[float, Column("idle", "ms", "nothing was running")]
    compute_ms: Annotated[float, Column("compute", "ms", "at least one compute kernel was running")]
    communication_ms: Annotated[float, Column("communication", "ms", "at least one collective was running")]
    copy_ms: Annotated[float, Column("copy", "ms", "at least one copy or set was running")]
    overlap_ms: Annotated[float, Column("overlap", "ms", "communication at the same time as compute")]
    idle_host_ms: Annotated[
        float, Column("idle: host", "ms", "idle: the host had not launched the next work yet")
    ]
    idle_kernel_ms: Annotated[
        float, Column("kernel gap", "ms", "idle: gaps below 30 µs between queued kernels")
    ]
    idle_sync_ms: Annotated[
        float, Column("sync", "ms", "idle: the launching thread was in a call that waits for the device")
    ]
    idle_other_ms: Annotated[
        float,
        Column("other", "ms", "idle: queued work waited for another stream, or its launch is not recorded"),
    ]
    kernels_without_launch: Annotated[
        int, Column("no launch", "count", "events whose launch is not in the trace")
    ]
    kernels_launched_before_trace: Annotated[
        int, Column("launched before", "count", "of these: launched before the trace began")
    ]
    launched_before_trace_ms: Annotated[
        float, Column("launched before", "ms", "device time of events launched before the trace began")
    ]
    kernels_before_launch: Annotated[
        int, Column("before launch", "count", "events that begin before their launch: the clocks are skewed")
    ]
    skew_us: Annotated[float, Column("skew", "us", "largest time by which an event begins before its launch")]
    sm_efficiency: Annotated[float | None, Column("SM busy", "share", "share of the SMs that had work")]
    occupancy_percent: Annotated[float | None, Column("occupancy", "percent", "estimated achieved occupancy")]
    tensor_core_share: Annotated[
        float | None, Column("tensor cores", "share", "of compute time: kernels that use tensor cores")
    ]
    max_queue_depth: Annotated[int, Column("queue max", "count", "most events launched and not yet begun")]
    mean_queue_depth: Annotated[float, Column("mean", "count", "the same, mean over time")]
    waiting_ms: Annotated[float | None, Column("waiting", "ms", "in collectives, for ranks that came later")]
    transfer_ms: Annotated[float | None, Column("transfer", "ms", "in collectives, moving data")]
    bound: Annotated[str, Column("bound by", meaning="what limits the device, in one word")]
    shares: dict[str, float]  # of the window, what the verdict rests on
    evidence: list[str]


@dataclass(frozen=True)
class GpuStraggler:
    """A rank that the others wait for."""

    rank: Annotated[int, Column("rank", meaning="that is late")]
    cause: Annotated[str, Column("cause", meaning="host-, input-, compute- or copy-bound")]
    last_arrivals: Annotated[int, Column("last", "count", "collectives at which it arrived last")]
    shared_collectives: Annotated[int, Column("collectives", "count", "that all ranks share")]
    waiting_ms: Annotated[float, Column("waits", "ms", "how long it waits for others")]
    peers_waiting_ms: Annotated[float, Column("peers wait", "ms", "median wait of the other ranks")]
    caused_ms: Annotated[float, Column("caused", "ms", "what its lateness costs the others")]
    evidence: Annotated[str, Column("evidence", meaning="where it spends the time, against its peers")]


@dataclass(frozen=True)
class GpuAlignment:
    """One clock for all ranks, from the collectives that they share."""

    aligned: bool
    reason: str | None  # why not
    shared_collectives: int
    uncertainty_us: float
    offset_us: dict[str, float]  # by rank, against the mean clock
    waiting_ms: dict[str, float]  # by rank
    last_arrivals: dict[str, int]  # by rank


@dataclass(frozen=True)
class GpuKernel:
    """All device events of one name."""

    name: Annotated[str, Column("name", meaning="kernel, copy or set")]
    kernel_class: Annotated[str, Column("class", meaning="compute, communication, copy, sync or other")]
    origin: Annotated[str, Column("made by", meaning="library or compiler: aten, cudnn, triton, …")]
    fused: list[str]  # operators that a generated kernel fuses
    tensor_cores: Annotated[bool, Column("tensor cores", meaning="its name says that it uses them")]
    calls: Annotated[int, Column("calls", "count", "how often it ran")]
    graph_calls: Annotated[int, Column("in graphs", "count", "of these: replayed by a graph")]
    total_ms: Annotated[float, Column("total", "ms", "sum of its durations")]
    share: Annotated[float, Column("share", "share", "of all device time")]
    median_us: Annotated[float, Column("median", "us", "median duration")]
    max_us: Annotated[float, Column("longest", "us", "longest duration")]
    blocks_per_sm: Annotated[float | None, Column("blocks/SM", "count", "mean blocks per SM")]
    occupancy_percent: Annotated[
        float | None, Column("occupancy", "percent", "mean estimated achieved occupancy")
    ]


@dataclass(frozen=True)
class GpuLaunch:
    """From the host's call to the start on the device, by launching call."""

    name: Annotated[str, Column("launched by", meaning="runtime or driver call")]
    calls: Annotated[int, Column("calls", "count", "calls on the host")]
    events: Annotated[int, Column("events", "count", "device events that they launched")]
    call_median_us: Annotated[float, Column("call", "us", "median duration of the call")]
    device_median_us: Annotated[float, Column("event", "us", "median duration of the event")]
    latency_median_us: Annotated[
        float, Column("latency", "us", "median, start of the call to start of the event")
    ]
    latency_p95_us: Annotated[float, Column("95 %", "us", "95th percentile of the latency")]
    short_kernels: Annotated[int, Column("shorter than call", "count", "events shorter than their call")]


@dataclass(frozen=True)
class GpuCall:
    """Runtime and driver calls of one name, on the host."""

    name: Annotated[str, Column("call", meaning="runtime or driver call")]
    kind: Annotated[str, Column("kind", meaning="launch, copy, sync, memory, …")]
    api: Annotated[str, Column("api", meaning="runtime or driver")]
    calls: Annotated[int, Column("calls", "count", "how often it was called")]
    total_ms: Annotated[float, Column("total", "ms", "host time")]
    median_us: Annotated[float, Column("median", "us", "median duration")]
    max_us: Annotated[float, Column("longest", "us", "longest duration")]


@dataclass(frozen=True)
class GpuSync:
    """Where the host waits for the device."""

    call: Annotated[str, Column("call", meaning="the call that waits")]
    op: Annotated[str | None, Column("below", meaning="operator that makes the call")]
    count: Annotated[int, Column("calls", "count", "how often")]
    waited_ms: Annotated[float, Column("host waits", "ms", "host time in the call")]
    device_idle_ms: Annotated[float, Column("device idles", "ms", "idle device time that follows")]
    longest_ms: Annotated[float, Column("longest", "ms", "longest wait")]


@dataclass(frozen=True)
class GpuStretch:
    """A long stretch without device work."""

    device: Annotated[int, Column("device", meaning="number of the device")]
    start_ms: Annotated[float, Column("at", "ms", "from the start of the trace")]
    ms: Annotated[float, Column("length", "ms", "its length")]
    cause: Annotated[str, Column("cause", meaning="host, kernel, sync or other")]
    next: Annotated[str, Column("ended by", meaning="the event that ended it")]


@dataclass(frozen=True)
class GpuCopy:
    """Copies and sets of one direction and kind of memory."""

    direction: Annotated[str, Column("direction", meaning="host to device, device to host, …")]
    memory: Annotated[str, Column("memory", meaning="pageable or pinned, where the trace says")]
    calls: Annotated[int, Column("calls", "count", "how often")]
    bytes: Annotated[int, Column("bytes", "bytes", "moved in all")]
    total_ms: Annotated[float, Column("total", "ms", "sum of durations")]
    gbs: Annotated[float | None, Column("GB/s", "GB/s", "mean rate")]
    best_gbs: Annotated[float | None, Column("largest GB/s", "GB/s", "best rate of one copy")]
    small_calls: Annotated[int, Column("below 64 KiB", "count", "copies of less than 64 KiB")]


@dataclass(frozen=True)
class GpuGraphs:
    """Replays of CUDA or HIP graphs."""

    graphs: int
    launches: int
    events: int
    device_ms: float
    share: float  # of the device's work


@dataclass(frozen=True)
class GpuMemory:
    """Memory of the framework's allocator on one device."""

    device: Annotated[str, Column("device", meaning="name of the device")]
    peak_bytes: Annotated[int, Column("peak in use", "bytes", "most bytes that tensors used")]
    peak_reserved_bytes: Annotated[int | None, Column("peak reserved", "bytes", "most bytes reserved")]
    fragmentation: Annotated[
        float | None, Column("fragmentation", "share", "of what is reserved: used by no tensor, at its peak")
    ]


@dataclass(frozen=True)
class GpuRate:
    """Achieved rate of one matrix operator."""

    name: Annotated[str, Column("operator", meaning="operator")]
    item_bytes: Annotated[int | None, Column("bytes/element", "bytes", "size of one element")]
    calls: Annotated[int, Column("calls", "count", "calls with known FLOPs")]
    device_ms: Annotated[float, Column("device", "ms", "device time")]
    tflops: Annotated[float | None, Column("TFLOP/s", "TFLOP/s", "achieved")]
    gbs: Annotated[float | None, Column("GB/s at least", "GB/s", "from the bytes that must move")]
    peak_share: Annotated[float | None, Column("of peak", "share", "of the dense 16-bit peak")]


@dataclass(frozen=True)
class GpuAchieved:
    """Matrix operators against the device's peak."""

    device_name: str | None
    peak_tflops: float | None
    flops: float | None
    covered: float | None  # share of the matrix operators' device time whose FLOPs are known
    mfu: float | None
    mfu_of_covered: float | None
    why_unknown: str | None
    rows: list[GpuRate]


@dataclass(frozen=True)
class GpuRank:
    """The lists of one rank, the longest first; `rows_in_all` says how many rows each has without --limit."""

    rank: int
    source: str
    rows_in_all: dict[str, int]
    kernels: list[GpuKernel]
    launches: list[GpuLaunch]
    calls: list[GpuCall]
    syncs: list[GpuSync]
    dead_windows: list[GpuStretch]
    copies: list[GpuCopy]
    graphs: GpuGraphs
    memory: list[GpuMemory]
    critical_path_ms: dict[str, float]
    achieved: GpuAchieved


@dataclass(frozen=True)
class GpuAnswer:
    """Devices of all ranks, who is late, one clock, and the lists of each rank."""

    devices: list[GpuDevice]
    stragglers: list[GpuStraggler]
    alignment: GpuAlignment
    ranks: list[GpuRank]
