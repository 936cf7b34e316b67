// Made by: python -m sonde.views.typescript. Do not edit: the declarations are in sonde/views.

export type Unit = "" | "ms" | "us" | "ns" | "bytes" | "count" | "share" | "percent" | "FLOP" | "GB/s" | "TFLOP/s";

export interface ColumnFacts<Row> {
  key: keyof Row & string;
  kind: "text" | "integer" | "number" | "flag";
  unknown: boolean; // may be null
  title: string;
  unit: Unit;
  meaning: string;
}

export interface Verdict { word: string | null; sentence: string; evidence: string[]; shares: Record<string, number>; samples: number | null; thread: number; crowded: boolean; }
export interface SliceRow { file: string; line: number; function: string; place: string; modules: string | null; kind: string; work: string; ms: number; share: number; own_share: number | null; cpu_ms: number; samples: number; floor_ms: number | null; reason: string; }
export interface AccountAnswer { unit: string | null; units: number; whole_ms: number; own_ms: number; samples: number; library_lines: boolean; kinds: Record<string, number>; rows: SliceRow[]; needed_ms: number | null; unknown_ms: number | null; missing: string | null; not_carried: number; }
export interface RankRow { rank: number; host: string | null; local_rank: number | null; role: string | null; pid: number; steps: number; step_ms: number | null; mean_ms: number | null; collectives: number; sent_bytes: number | null; waiting_ms: number | null; transfer_ms: number | null; exposed_ms: number | null; late_ms: number | null; message_ms: number | null; last_in: number | null; cpu_ms: number | null; max_rss_bytes: number | null; exit_code: number | null; }
export interface Ranks { world_size: number | null; missing: number[]; double: number[]; pattern: string; late: LateAnswer | null; pace: number | null; sentence: string | null; steps_compared: number; shared: number; unfinished: number; mismatched: number; clock: string; groups: GroupRow[]; rows: RankRow[]; not_carried: number; }
export interface LateAnswer { rank: number; sentence: string; pattern: string; late_ms: number; sigma_ms: number; late_steps: number; steps: number; cause: string; kind: string; file: string; line: number; excess_ms: number; step_ms: number; without_ms: number | null; }
export interface GroupRow { name: string | null; description: string | null; backend: string | null; ranks: number[]; collectives: number; }
export interface CollectiveRow { kind: string; rank: number | null; group: string | null; bytes: number | null; dtype: string | null; calls: number; per_step: number | null; queue_ms: number | null; total_ms: number | null; waiting_ms: number | null; transfer_ms: number | null; exposed_ms: number | null; bandwidth_gbs: number | null; last_rank: number | null; last_share: number | null; unfinished: number; file: string | null; line: number | null; }
export interface CollectivesAnswer { calls: number; ranks: number; shared: number; unfinished: number; mismatched: number; per_step_waiting_ms: number | null; per_step_transfer_ms: number | null; per_step_exposed_ms: number | null; rows: CollectiveRow[]; not_carried: number; }
export interface QualityAnswer { samples: number; engines: string[]; waits: number; duration_s: number; cpu_s: CpuSeconds; lost: Record<string, number>; overhead: Overhead; per_sample: PerSample | null; attributed: Record<string, Attributed>; heuristic: number | null; anchor_missed: number | null; rate: Rate | null; clock: TorchClock | null; windows: DisturbedWindows | null; undisturbed: Undisturbed | null; primitives: Record<string, number> | null; }
export interface CpuSeconds { sampled: number; rusage: number | null; share: number | null; spread: number; unplaced: number; unsampled: number; missing: number; processes: CountedProcesses; }
export interface CountedProcesses { all: number; unsampled: number; unknown: number; }
export interface Overhead { share: number | null; low: number | null; high: number | null; method: string; pairs: number; windows: number; }
export interface PerSample { walk_p50_ns: number; walk_p95_ns: number; handler_p50_ns: number; handler_p95_ns: number; }
export interface Attributed { samples: number; python: number | null; op: number | null; module: number | null; leaf: number | null; root: number | null; }
export interface Rate { asked_hz: number; lowest_hz: number; }
export interface TorchClock { within_ns: number; drift: number; }
export interface DisturbedWindows { count: number; disturbed: number; most_taken: number; }
export interface Undisturbed { before: Side; after: Side; differs: string[]; sentence: string | null; }
export interface Side { steps: number; ms: number; cpu_ms: number; faults: number; }
export interface GpuAnswer { devices: GpuDevice[]; stragglers: GpuStraggler[]; alignment: GpuAlignment; ranks: GpuRank[]; }
export interface GpuDevice { rank: number; process: number; device: number; events: number; window_ms: number; busy_ms: number; idle_ms: number; compute_ms: number; communication_ms: number; copy_ms: number; overlap_ms: number; idle_host_ms: number; idle_kernel_ms: number; idle_sync_ms: number; idle_other_ms: number; kernels_without_launch: number; kernels_launched_before_trace: number; launched_before_trace_ms: number; kernels_before_launch: number; skew_us: number; sm_efficiency: number | null; occupancy_percent: number | null; tensor_core_share: number | null; max_queue_depth: number; mean_queue_depth: number; waiting_ms: number | null; transfer_ms: number | null; bound: string; shares: Record<string, number>; evidence: string[]; }
export interface GpuStraggler { rank: number; cause: string; last_arrivals: number; shared_collectives: number; waiting_ms: number; peers_waiting_ms: number; caused_ms: number; evidence: string; }
export interface GpuAlignment { aligned: boolean; reason: string | null; shared_collectives: number; uncertainty_us: number; offset_us: Record<string, number>; waiting_ms: Record<string, number>; last_arrivals: Record<string, number>; }
export interface GpuRank { rank: number; source: string; rows_in_all: Record<string, number>; kernels: GpuKernel[]; launches: GpuLaunch[]; calls: GpuCall[]; syncs: GpuSync[]; dead_windows: GpuStretch[]; copies: GpuCopy[]; graphs: GpuGraphs; memory: GpuMemory[]; critical_path_ms: Record<string, number>; achieved: GpuAchieved; }
export interface GpuKernel { name: string; kernel_class: string; origin: string; fused: string[]; tensor_cores: boolean; calls: number; graph_calls: number; total_ms: number; share: number; median_us: number; max_us: number; blocks_per_sm: number | null; occupancy_percent: number | null; }
export interface GpuLaunch { name: string; calls: number; events: number; call_median_us: number; device_median_us: number; latency_median_us: number; latency_p95_us: number; short_kernels: number; }
export interface GpuCall { name: string; kind: string; api: string; calls: number; total_ms: number; median_us: number; max_us: number; }
export interface GpuSync { call: string; op: string | null; count: number; waited_ms: number; device_idle_ms: number; longest_ms: number; }
export interface GpuStretch { device: number; start_ms: number; ms: number; cause: string; next: string; }
export interface GpuCopy { direction: string; memory: string; calls: number; bytes: number; total_ms: number; gbs: number | null; best_gbs: number | null; small_calls: number; }
export interface GpuGraphs { graphs: number; launches: number; events: number; device_ms: number; share: number; }
export interface GpuMemory { device: string; peak_bytes: number; peak_reserved_bytes: number | null; fragmentation: number | null; }
export interface GpuAchieved { device_name: string | null; peak_tflops: number | null; flops: number | null; covered: number | null; mfu: number | null; mfu_of_covered: number | null; why_unknown: string | null; rows: GpuRate[]; }
export interface GpuRate { name: string; item_bytes: number | null; calls: number; device_ms: number; tflops: number | null; gbs: number | null; peak_share: number | null; }
export interface OpRow { name: string; key: string | null; kind: string | null; self_ms: number; total_ms: number; self_wall_ms: number | null; total_wall_ms: number | null; device_self_ms: number | null; device_total_ms: number | null; calls: number | null; preempted: number | null; cpu_mem_bytes: number | null; self_cpu_mem_bytes: number | null; device_mem_bytes: number | null; self_device_mem_bytes: number | null; flops: number | null; samples: number | null; }
export interface Ops { by: string; source: string; self_ms: number; self_wall_ms: number | null; device_self_ms: number; device_elsewhere_ms: number; launched_before_trace_ms: number; rows: OpRow[]; apart: Apart | null; not_carried: number; }
export interface Apart { start_ms: number; shutdown_ms: number; }
export interface StepRow { index: number; start_ns: number; ms: number; taken_ms: number; in_window: boolean; }
export interface Steps { process: number | null; kind: string; count: number; warmup: number; left_out: number; median_ms: number | null; p10_ms: number | null; p90_ms: number | null; phase_ms: Record<string, number>; steps: StepRow[]; run: RunPhaseRow[]; processes: ProcessSteps[]; taken_away: Record<string, unknown>; not_carried: number; }
export interface RunPhaseRow { name: string; ms: number; share: number; count: number; }
export interface ProcessSteps { process: number | null; kind: string; count: number; warmup: number; left_out: number; median_ms: number | null; p10_ms: number | null; p90_ms: number | null; phase_ms: Record<string, number>; }
export interface Compile { span_ms: number; compile_ms: number; cache_hits: number; cache_misses: number; recompiles: number; regions: RegionRow[]; breaks: BreakRow[]; kernels: GeneratedKernel[]; }
export interface RegionRow { compile_id: string; name: string; file: string | null; line: number; start_ns: number; compile_ms: number; ops: number; cache_hits: number; cache_misses: number; recompile_reason: string | null; }
export interface BreakRow { reason: string; file: string | null; line: number; count: number; }
export interface GeneratedKernel { name: string; direction: string | null; fused: string[]; lines: string[]; provenance: string; versions: number; time_ms: number; samples: number; }
export interface Memory { devices: PeakRow[]; host: HostRow[]; growth: GrowthRow[]; }
export interface PeakRow { process: number; device: string; peak_bytes: number; seen_bytes: number; base_bytes: number; time_ns: number; step: number | null; allocated_bytes: number | null; reserved_bytes: number | null; by_category: Record<string, number>; by_op: HolderRow[]; by_module: HolderRow[]; by_line: HolderRow[]; curve: MemoryCurve; }
export interface HolderRow { name: string; bytes: number; blocks: number; }
export interface MemoryCurve { start_ns: number; end_ns: number; bytes: number[]; }
export interface HostRow { process: number; pid: number; role: string | null; max_rss_bytes: number | null; rss_bytes: number[]; }
export interface GrowthRow { process: number; name: string; steps: number; bytes_per_step: number; low: number; high: number; grows: boolean; }
export interface ThreadRow { thread: number; tid: number; process: number; kind: string | null; name: string | null; samples: number; on_cpu_ms: number; running_ms: number; spinning_ms: number; imbalance_ms: number; waiting_ms: number; }
export interface Threads { rows: ThreadRow[]; apart: Apart; not_carried: number; }
export interface WaitRow { kind: string | null; reason: string; waiting_ms: number; waits: number; python: string | null; place: string | null; }
export interface Waits { reasons: Record<string, number>; rows: WaitRow[]; profilers_ms: number; apart: Apart; not_carried: number; }
export interface MachineAnswer { machine: Record<string, unknown>; versions: Record<string, string>; aten_capability: string | null; running_ms: number; elsewhere_ms: number; kernels: SeenKernels[]; }
export interface SeenKernels { library: string; isa: string | null; cpu_ms: number; share: number; samples: number; heaviest: string; }
export interface LossRow { cause: string | null; count: number; unit: string | null; detail: string | null; }
export interface Losses { rows: LossRow[]; not_carried: number; }

export const SLICE_ROW_COLUMNS: ColumnFacts<SliceRow>[] = [
  { key: "file", kind: "text", unknown: false, title: "file", unit: "", meaning: "file of the innermost line of the user's own code" },
  { key: "line", kind: "integer", unknown: false, title: "line", unit: "", meaning: "that line, -1 when there is none" },
  { key: "function", kind: "text", unknown: false, title: "function", unit: "", meaning: "the function that it is in" },
  { key: "place", kind: "text", unknown: false, title: "place", unit: "", meaning: "function, file and line for people" },
  { key: "modules", kind: "text", unknown: true, title: "modules", unit: "", meaning: "innermost modules around it, most time first, comma-separated" },
  { key: "kind", kind: "text", unknown: false, title: "kind", unit: "", meaning: "kind of work, one short word" },
  { key: "work", kind: "text", unknown: false, title: "work", unit: "", meaning: "the same for people" },
  { key: "ms", kind: "number", unknown: false, title: "wall", unit: "ms", meaning: "wall time of the stepping thread" },
  { key: "share", kind: "number", unknown: false, title: "share", unit: "share", meaning: "of the whole step" },
  { key: "own_share", kind: "number", unknown: true, title: "of the rest", unit: "share", meaning: "of the step without what other programs took" },
  { key: "cpu_ms", kind: "number", unknown: false, title: "CPU, all threads", unit: "ms", meaning: "CPU time of all threads that worked for it" },
  { key: "samples", kind: "integer", unknown: false, title: "samples", unit: "count", meaning: "samples that it rests on" },
  { key: "floor_ms", kind: "number", unknown: true, title: "floor", unit: "ms", meaning: "least time that its result needs; null: not known" },
  { key: "reason", kind: "text", unknown: false, title: "why", unit: "", meaning: "why the floor is that, or why it is not known" },
];
export const RANK_ROW_COLUMNS: ColumnFacts<RankRow>[] = [
  { key: "rank", kind: "integer", unknown: false, title: "rank", unit: "", meaning: "its number in the job" },
  { key: "host", kind: "text", unknown: true, title: "host", unit: "", meaning: "machine it ran on" },
  { key: "local_rank", kind: "integer", unknown: true, title: "local", unit: "", meaning: "its number on that machine" },
  { key: "role", kind: "text", unknown: true, title: "role", unit: "", meaning: "what it is for: sonde.role() or the launcher" },
  { key: "pid", kind: "integer", unknown: false, title: "pid", unit: "", meaning: "process id" },
  { key: "steps", kind: "integer", unknown: false, title: "steps", unit: "count", meaning: "steps that it made" },
  { key: "step_ms", kind: "number", unknown: true, title: "step", unit: "ms", meaning: "median steady step" },
  { key: "mean_ms", kind: "number", unknown: true, title: "mean", unit: "ms", meaning: "mean of the compared steps, with what other programs took" },
  { key: "collectives", kind: "integer", unknown: false, title: "collectives", unit: "count", meaning: "collectives, sends and receives" },
  { key: "sent_bytes", kind: "integer", unknown: true, title: "bytes", unit: "bytes", meaning: "inputs of all its collectives" },
  { key: "waiting_ms", kind: "number", unknown: true, title: "waiting", unit: "ms", meaning: "per step, for the last rank to come" },
  { key: "transfer_ms", kind: "number", unknown: true, title: "transfer", unit: "ms", meaning: "per step, after the last rank had come" },
  { key: "exposed_ms", kind: "number", unknown: true, title: "exposed", unit: "ms", meaning: "per step, standing still for collectives" },
  { key: "late_ms", kind: "number", unknown: true, title: "late", unit: "ms", meaning: "per step, later than the median of the others where it came last" },
  { key: "message_ms", kind: "number", unknown: true, title: "messages", unit: "ms", meaning: "per step, standing still for sends and receives" },
  { key: "last_in", kind: "integer", unknown: true, title: "last", unit: "count", meaning: "collectives that it entered last" },
  { key: "cpu_ms", kind: "number", unknown: true, title: "CPU", unit: "ms", meaning: "CPU time of its process" },
  { key: "max_rss_bytes", kind: "integer", unknown: true, title: "memory", unit: "bytes", meaning: "peak resident memory" },
  { key: "exit_code", kind: "integer", unknown: true, title: "exit", unit: "", meaning: "exit code, -N when killed by signal N" },
];
export const COLLECTIVE_ROW_COLUMNS: ColumnFacts<CollectiveRow>[] = [
  { key: "kind", kind: "text", unknown: false, title: "kind", unit: "", meaning: "all_reduce, all_gather, …, send, receive" },
  { key: "rank", kind: "integer", unknown: true, title: "rank", unit: "", meaning: "with --by rank: whose calls" },
  { key: "group", kind: "text", unknown: true, title: "group", unit: "", meaning: "name of the process group, and what it is for" },
  { key: "bytes", kind: "integer", unknown: true, title: "size", unit: "bytes", meaning: "input of one rank, of one call" },
  { key: "dtype", kind: "text", unknown: true, title: "type", unit: "", meaning: "type of the elements" },
  { key: "calls", kind: "integer", unknown: false, title: "calls", unit: "count", meaning: "calls, each rank's counted" },
  { key: "per_step", kind: "number", unknown: true, title: "per step", unit: "", meaning: "calls of one rank in a step" },
  { key: "queue_ms", kind: "number", unknown: true, title: "queued", unit: "ms", meaning: "from the call to the backend's start" },
  { key: "total_ms", kind: "number", unknown: true, title: "time", unit: "ms", meaning: "from the call to its end" },
  { key: "waiting_ms", kind: "number", unknown: true, title: "waiting", unit: "ms", meaning: "of that: for the last rank to come" },
  { key: "transfer_ms", kind: "number", unknown: true, title: "transfer", unit: "ms", meaning: "of that: after the last rank had come" },
  { key: "exposed_ms", kind: "number", unknown: true, title: "exposed", unit: "ms", meaning: "of that: the calling thread did nothing else" },
  { key: "bandwidth_gbs", kind: "number", unknown: true, title: "GB/s", unit: "", meaning: "size over transfer (algorithm bandwidth)" },
  { key: "last_rank", kind: "integer", unknown: true, title: "last", unit: "", meaning: "the rank that most often came last" },
  { key: "last_share", kind: "number", unknown: true, title: "of calls", unit: "share", meaning: "in how many of them" },
  { key: "unfinished", kind: "integer", unknown: false, title: "open", unit: "count", meaning: "calls that never ended" },
  { key: "file", kind: "text", unknown: true, title: "file", unit: "", meaning: "file of the line that asked" },
  { key: "line", kind: "integer", unknown: true, title: "line", unit: "", meaning: "that line" },
];
export const GPU_DEVICE_COLUMNS: ColumnFacts<GpuDevice>[] = [
  { key: "rank", kind: "integer", unknown: false, title: "rank", unit: "", meaning: "of the process; -1: it has none" },
  { key: "process", kind: "integer", unknown: false, title: "process", unit: "", meaning: "number of the process in the recording" },
  { key: "device", kind: "integer", unknown: false, title: "device", unit: "", meaning: "number of the device" },
  { key: "events", kind: "integer", unknown: false, title: "events", unit: "count", meaning: "kernels, copies and sets" },
  { key: "window_ms", kind: "number", unknown: false, title: "window", unit: "ms", meaning: "from the first start to the last end on the device" },
  { key: "busy_ms", kind: "number", unknown: false, title: "busy", unit: "ms", meaning: "at least one kernel or copy was running" },
  { key: "idle_ms", kind: "number", unknown: false, title: "idle", unit: "ms", meaning: "nothing was running" },
  { key: "compute_ms", kind: "number", unknown: false, title: "compute", unit: "ms", meaning: "at least one compute kernel was running" },
  { key: "communication_ms", kind: "number", unknown: false, title: "communication", unit: "ms", meaning: "at least one collective was running" },
  { key: "copy_ms", kind: "number", unknown: false, title: "copy", unit: "ms", meaning: "at least one copy or set was running" },
  { key: "overlap_ms", kind: "number", unknown: false, title: "overlap", unit: "ms", meaning: "communication at the same time as compute" },
  { key: "idle_host_ms", kind: "number", unknown: false, title: "idle: host", unit: "ms", meaning: "idle: the host had not launched the next work yet" },
  { key: "idle_kernel_ms", kind: "number", unknown: false, title: "kernel gap", unit: "ms", meaning: "idle: gaps below 30 µs between queued kernels" },
  { key: "idle_sync_ms", kind: "number", unknown: false, title: "sync", unit: "ms", meaning: "idle: the launching thread was in a call that waits for the device" },
  { key: "idle_other_ms", kind: "number", unknown: false, title: "other", unit: "ms", meaning: "idle: queued work waited for another stream, or its launch is not recorded" },
  { key: "kernels_without_launch", kind: "integer", unknown: false, title: "no launch", unit: "count", meaning: "events whose launch is not in the trace" },
  { key: "kernels_launched_before_trace", kind: "integer", unknown: false, title: "launched before", unit: "count", meaning: "of these: launched before the trace began" },
  { key: "launched_before_trace_ms", kind: "number", unknown: false, title: "launched before", unit: "ms", meaning: "device time of events launched before the trace began" },
  { key: "kernels_before_launch", kind: "integer", unknown: false, title: "before launch", unit: "count", meaning: "events that begin before their launch: the clocks are skewed" },
  { key: "skew_us", kind: "number", unknown: false, title: "skew", unit: "us", meaning: "largest time by which an event begins before its launch" },
  { key: "sm_efficiency", kind: "number", unknown: true, title: "SM busy", unit: "share", meaning: "share of the SMs that had work" },
  { key: "occupancy_percent", kind: "number", unknown: true, title: "occupancy", unit: "percent", meaning: "estimated achieved occupancy" },
  { key: "tensor_core_share", kind: "number", unknown: true, title: "tensor cores", unit: "share", meaning: "of compute time: kernels that use tensor cores" },
  { key: "max_queue_depth", kind: "integer", unknown: false, title: "queue max", unit: "count", meaning: "most events launched and not yet begun" },
  { key: "mean_queue_depth", kind: "number", unknown: false, title: "mean", unit: "count", meaning: "the same, mean over time" },
  { key: "waiting_ms", kind: "number", unknown: true, title: "waiting", unit: "ms", meaning: "in collectives, for ranks that came later" },
  { key: "transfer_ms", kind: "number", unknown: true, title: "transfer", unit: "ms", meaning: "in collectives, moving data" },
  { key: "bound", kind: "text", unknown: false, title: "bound by", unit: "", meaning: "what limits the device, in one word" },
];
export const GPU_STRAGGLER_COLUMNS: ColumnFacts<GpuStraggler>[] = [
  { key: "rank", kind: "integer", unknown: false, title: "rank", unit: "", meaning: "that is late" },
  { key: "cause", kind: "text", unknown: false, title: "cause", unit: "", meaning: "host-, input-, compute- or copy-bound" },
  { key: "last_arrivals", kind: "integer", unknown: false, title: "last", unit: "count", meaning: "collectives at which it arrived last" },
  { key: "shared_collectives", kind: "integer", unknown: false, title: "collectives", unit: "count", meaning: "that all ranks share" },
  { key: "waiting_ms", kind: "number", unknown: false, title: "waits", unit: "ms", meaning: "how long it waits for others" },
  { key: "peers_waiting_ms", kind: "number", unknown: false, title: "peers wait", unit: "ms", meaning: "median wait of the other ranks" },
  { key: "caused_ms", kind: "number", unknown: false, title: "caused", unit: "ms", meaning: "what its lateness costs the others" },
  { key: "evidence", kind: "text", unknown: false, title: "evidence", unit: "", meaning: "where it spends the time, against its peers" },
];
export const GPU_KERNEL_COLUMNS: ColumnFacts<GpuKernel>[] = [
  { key: "name", kind: "text", unknown: false, title: "name", unit: "", meaning: "kernel, copy or set" },
  { key: "kernel_class", kind: "text", unknown: false, title: "class", unit: "", meaning: "compute, communication, copy, sync or other" },
  { key: "origin", kind: "text", unknown: false, title: "made by", unit: "", meaning: "library or compiler: aten, cudnn, triton, …" },
  { key: "tensor_cores", kind: "flag", unknown: false, title: "tensor cores", unit: "", meaning: "its name says that it uses them" },
  { key: "calls", kind: "integer", unknown: false, title: "calls", unit: "count", meaning: "how often it ran" },
  { key: "graph_calls", kind: "integer", unknown: false, title: "in graphs", unit: "count", meaning: "of these: replayed by a graph" },
  { key: "total_ms", kind: "number", unknown: false, title: "total", unit: "ms", meaning: "sum of its durations" },
  { key: "share", kind: "number", unknown: false, title: "share", unit: "share", meaning: "of all device time" },
  { key: "median_us", kind: "number", unknown: false, title: "median", unit: "us", meaning: "median duration" },
  { key: "max_us", kind: "number", unknown: false, title: "longest", unit: "us", meaning: "longest duration" },
  { key: "blocks_per_sm", kind: "number", unknown: true, title: "blocks/SM", unit: "count", meaning: "mean blocks per SM" },
  { key: "occupancy_percent", kind: "number", unknown: true, title: "occupancy", unit: "percent", meaning: "mean estimated achieved occupancy" },
];
export const GPU_LAUNCH_COLUMNS: ColumnFacts<GpuLaunch>[] = [
  { key: "name", kind: "text", unknown: false, title: "launched by", unit: "", meaning: "runtime or driver call" },
  { key: "calls", kind: "integer", unknown: false, title: "calls", unit: "count", meaning: "calls on the host" },
  { key: "events", kind: "integer", unknown: false, title: "events", unit: "count", meaning: "device events that they launched" },
  { key: "call_median_us", kind: "number", unknown: false, title: "call", unit: "us", meaning: "median duration of the call" },
  { key: "device_median_us", kind: "number", unknown: false, title: "event", unit: "us", meaning: "median duration of the event" },
  { key: "latency_median_us", kind: "number", unknown: false, title: "latency", unit: "us", meaning: "median, start of the call to start of the event" },
  { key: "latency_p95_us", kind: "number", unknown: false, title: "95 %", unit: "us", meaning: "95th percentile of the latency" },
  { key: "short_kernels", kind: "integer", unknown: false, title: "shorter than call", unit: "count", meaning: "events shorter than their call" },
];
export const GPU_CALL_COLUMNS: ColumnFacts<GpuCall>[] = [
  { key: "name", kind: "text", unknown: false, title: "call", unit: "", meaning: "runtime or driver call" },
  { key: "kind", kind: "text", unknown: false, title: "kind", unit: "", meaning: "launch, copy, sync, memory, …" },
  { key: "api", kind: "text", unknown: false, title: "api", unit: "", meaning: "runtime or driver" },
  { key: "calls", kind: "integer", unknown: false, title: "calls", unit: "count", meaning: "how often it was called" },
  { key: "total_ms", kind: "number", unknown: false, title: "total", unit: "ms", meaning: "host time" },
  { key: "median_us", kind: "number", unknown: false, title: "median", unit: "us", meaning: "median duration" },
  { key: "max_us", kind: "number", unknown: false, title: "longest", unit: "us", meaning: "longest duration" },
];
export const GPU_SYNC_COLUMNS: ColumnFacts<GpuSync>[] = [
  { key: "call", kind: "text", unknown: false, title: "call", unit: "", meaning: "the call that waits" },
  { key: "op", kind: "text", unknown: true, title: "below", unit: "", meaning: "operator that makes the call" },
  { key: "count", kind: "integer", unknown: false, title: "calls", unit: "count", meaning: "how often" },
  { key: "waited_ms", kind: "number", unknown: false, title: "host waits", unit: "ms", meaning: "host time in the call" },
  { key: "device_idle_ms", kind: "number", unknown: false, title: "device idles", unit: "ms", meaning: "idle device time that follows" },
  { key: "longest_ms", kind: "number", unknown: false, title: "longest", unit: "ms", meaning: "longest wait" },
];
export const GPU_STRETCH_COLUMNS: ColumnFacts<GpuStretch>[] = [
  { key: "device", kind: "integer", unknown: false, title: "device", unit: "", meaning: "number of the device" },
  { key: "start_ms", kind: "number", unknown: false, title: "at", unit: "ms", meaning: "from the start of the trace" },
  { key: "ms", kind: "number", unknown: false, title: "length", unit: "ms", meaning: "its length" },
  { key: "cause", kind: "text", unknown: false, title: "cause", unit: "", meaning: "host, kernel, sync or other" },
  { key: "next", kind: "text", unknown: false, title: "ended by", unit: "", meaning: "the event that ended it" },
];
export const GPU_COPY_COLUMNS: ColumnFacts<GpuCopy>[] = [
  { key: "direction", kind: "text", unknown: false, title: "direction", unit: "", meaning: "host to device, device to host, …" },
  { key: "memory", kind: "text", unknown: false, title: "memory", unit: "", meaning: "pageable or pinned, where the trace says" },
  { key: "calls", kind: "integer", unknown: false, title: "calls", unit: "count", meaning: "how often" },
  { key: "bytes", kind: "integer", unknown: false, title: "bytes", unit: "bytes", meaning: "moved in all" },
  { key: "total_ms", kind: "number", unknown: false, title: "total", unit: "ms", meaning: "sum of durations" },
  { key: "gbs", kind: "number", unknown: true, title: "GB/s", unit: "GB/s", meaning: "mean rate" },
  { key: "best_gbs", kind: "number", unknown: true, title: "largest GB/s", unit: "GB/s", meaning: "best rate of one copy" },
  { key: "small_calls", kind: "integer", unknown: false, title: "below 64 KiB", unit: "count", meaning: "copies of less than 64 KiB" },
];
export const GPU_MEMORY_COLUMNS: ColumnFacts<GpuMemory>[] = [
  { key: "device", kind: "text", unknown: false, title: "device", unit: "", meaning: "name of the device" },
  { key: "peak_bytes", kind: "integer", unknown: false, title: "peak in use", unit: "bytes", meaning: "most bytes that tensors used" },
  { key: "peak_reserved_bytes", kind: "integer", unknown: true, title: "peak reserved", unit: "bytes", meaning: "most bytes reserved" },
  { key: "fragmentation", kind: "number", unknown: true, title: "fragmentation", unit: "share", meaning: "of what is reserved: used by no tensor, at its peak" },
];
export const GPU_RATE_COLUMNS: ColumnFacts<GpuRate>[] = [
  { key: "name", kind: "text", unknown: false, title: "operator", unit: "", meaning: "operator" },
  { key: "item_bytes", kind: "integer", unknown: true, title: "bytes/element", unit: "bytes", meaning: "size of one element" },
  { key: "calls", kind: "integer", unknown: false, title: "calls", unit: "count", meaning: "calls with known FLOPs" },
  { key: "device_ms", kind: "number", unknown: false, title: "device", unit: "ms", meaning: "device time" },
  { key: "tflops", kind: "number", unknown: true, title: "TFLOP/s", unit: "TFLOP/s", meaning: "achieved" },
  { key: "gbs", kind: "number", unknown: true, title: "GB/s at least", unit: "GB/s", meaning: "from the bytes that must move" },
  { key: "peak_share", kind: "number", unknown: true, title: "of peak", unit: "share", meaning: "of the dense 16-bit peak" },
];
export const OP_ROW_COLUMNS: ColumnFacts<OpRow>[] = [
  { key: "name", kind: "text", unknown: false, title: "Name", unit: "", meaning: "operator, or [memory]: what no operator allocated" },
  { key: "key", kind: "text", unknown: true, title: "Group", unit: "", meaning: "what the rows are grouped by beside the name" },
  { key: "kind", kind: "text", unknown: true, title: "Kind", unit: "", meaning: "op, backward, compiled or annotation; unknown from samples" },
  { key: "self_ms", kind: "number", unknown: false, title: "Self CPU", unit: "ms", meaning: "in the operator, not in those it calls; not off the CPU" },
  { key: "total_ms", kind: "number", unknown: false, title: "CPU total", unit: "ms", meaning: "with the operators it calls; without time off the CPU" },
  { key: "self_wall_ms", kind: "number", unknown: true, title: "Self wall", unit: "ms", meaning: "as Self CPU, with time ready but off the CPU" },
  { key: "total_wall_ms", kind: "number", unknown: true, title: "Wall total", unit: "ms", meaning: "as CPU total, with time ready but off the CPU" },
  { key: "device_self_ms", kind: "number", unknown: true, title: "Self device", unit: "ms", meaning: "device time of what it launched" },
  { key: "device_total_ms", kind: "number", unknown: true, title: "Device total", unit: "ms", meaning: "the same with the operators it calls" },
  { key: "calls", kind: "integer", unknown: true, title: "# of Calls", unit: "count", meaning: "recorded calls" },
  { key: "preempted", kind: "integer", unknown: true, title: "Preempted", unit: "count", meaning: "calls that lost at least 0.5 ms off the CPU" },
  { key: "cpu_mem_bytes", kind: "integer", unknown: true, title: "CPU Mem", unit: "bytes", meaning: "allocated less freed, callees included" },
  { key: "self_cpu_mem_bytes", kind: "integer", unknown: true, title: "Self CPU Mem", unit: "bytes", meaning: "allocated less freed by itself" },
  { key: "device_mem_bytes", kind: "integer", unknown: true, title: "Device Mem", unit: "bytes", meaning: "allocated less freed, callees included" },
  { key: "self_device_mem_bytes", kind: "integer", unknown: true, title: "Self device Mem", unit: "bytes", meaning: "allocated less freed by itself" },
  { key: "flops", kind: "number", unknown: true, title: "FLOPs", unit: "FLOP", meaning: "of the calls whose FLOPs are known" },
  { key: "samples", kind: "integer", unknown: true, title: "Samples", unit: "count", meaning: "samples behind the row, where no call was recorded" },
];
export const STEP_ROW_COLUMNS: ColumnFacts<StepRow>[] = [
  { key: "index", kind: "integer", unknown: false, title: "step", unit: "", meaning: "its number, as the program or Sonde counts" },
  { key: "start_ns", kind: "integer", unknown: false, title: "start", unit: "ns", meaning: "when it began, by CLOCK_MONOTONIC" },
  { key: "ms", kind: "number", unknown: false, title: "time", unit: "ms", meaning: "from its start to its end, without `taken_ms`" },
  { key: "taken_ms", kind: "number", unknown: false, title: "taken", unit: "ms", meaning: "ready but off the CPU" },
  { key: "in_window", kind: "flag", unknown: false, title: "in window", unit: "", meaning: "a profiling window slowed it down: left out of medians" },
];
export const REGION_ROW_COLUMNS: ColumnFacts<RegionRow>[] = [
  { key: "compile_id", kind: "text", unknown: false, title: "id", unit: "", meaning: "torch's id of the compilation, frame/attempt" },
  { key: "name", kind: "text", unknown: false, title: "region", unit: "", meaning: "the function that was compiled" },
  { key: "file", kind: "text", unknown: true, title: "file", unit: "", meaning: "where it is defined" },
  { key: "line", kind: "integer", unknown: false, title: "line", unit: "", meaning: "line in `file`; -1: not known" },
  { key: "start_ns", kind: "integer", unknown: false, title: "start", unit: "ns", meaning: "when compiling began, by CLOCK_MONOTONIC" },
  { key: "compile_ms", kind: "number", unknown: false, title: "compiling", unit: "ms", meaning: "time to compile it" },
  { key: "ops", kind: "integer", unknown: false, title: "operators", unit: "count", meaning: "operators in its graph; 0: not known" },
  { key: "cache_hits", kind: "integer", unknown: false, title: "cache hits", unit: "count", meaning: "graphs found in Inductor's cache" },
  { key: "cache_misses", kind: "integer", unknown: false, title: "cache misses", unit: "count", meaning: "graphs that had to be compiled" },
  { key: "recompile_reason", kind: "text", unknown: true, title: "recompiled because", unit: "", meaning: "the guard that failed; null: compiled for the first time" },
];
export const BREAK_ROW_COLUMNS: ColumnFacts<BreakRow>[] = [
  { key: "reason", kind: "text", unknown: false, title: "reason", unit: "", meaning: "as torch gives it" },
  { key: "file", kind: "text", unknown: true, title: "file", unit: "", meaning: "where the break is" },
  { key: "line", kind: "integer", unknown: false, title: "line", unit: "", meaning: "line in `file`; -1: not known" },
  { key: "count", kind: "integer", unknown: false, title: "count", unit: "count", meaning: "how often" },
];
export const GENERATED_KERNEL_COLUMNS: ColumnFacts<GeneratedKernel>[] = [
  { key: "name", kind: "text", unknown: false, title: "kernel", unit: "", meaning: "its name" },
  { key: "direction", kind: "text", unknown: true, title: "direction", unit: "", meaning: "forward or backward" },
  { key: "provenance", kind: "text", unknown: false, title: "known by", unit: "", meaning: "compiler, or name: only the kernel's name tells" },
  { key: "versions", kind: "integer", unknown: false, title: "versions", unit: "count", meaning: "kernels of this name" },
  { key: "time_ms", kind: "number", unknown: false, title: "time", unit: "ms", meaning: "sampled CPU time, or device time of a trace" },
  { key: "samples", kind: "integer", unknown: false, title: "seen", unit: "count", meaning: "samples in the kernel, or its runs on a device" },
];
export const PEAK_ROW_COLUMNS: ColumnFacts<PeakRow>[] = [
  { key: "process", kind: "integer", unknown: false, title: "process", unit: "", meaning: "number of the process in the recording" },
  { key: "device", kind: "text", unknown: false, title: "device", unit: "", meaning: "cpu, cuda:0, …" },
  { key: "peak_bytes", kind: "integer", unknown: false, title: "peak", unit: "bytes", meaning: "most bytes in use by the framework" },
  { key: "seen_bytes", kind: "integer", unknown: false, title: "seen", unit: "bytes", meaning: "of it: allocated inside the window" },
  { key: "base_bytes", kind: "integer", unknown: false, title: "older", unit: "bytes", meaning: "of it: allocated before the window" },
  { key: "time_ns", kind: "integer", unknown: false, title: "time", unit: "ns", meaning: "when the peak was, by CLOCK_MONOTONIC" },
  { key: "step", kind: "integer", unknown: true, title: "step", unit: "", meaning: "step that the peak falls into" },
  { key: "allocated_bytes", kind: "integer", unknown: true, title: "allocated", unit: "bytes", meaning: "most bytes in use, by the allocator's own count" },
  { key: "reserved_bytes", kind: "integer", unknown: true, title: "reserved", unit: "bytes", meaning: "most bytes reserved, by the allocator's own count" },
];
export const HOLDER_ROW_COLUMNS: ColumnFacts<HolderRow>[] = [
  { key: "name", kind: "text", unknown: false, title: "made by", unit: "", meaning: "operator, module or line" },
  { key: "bytes", kind: "integer", unknown: false, title: "bytes", unit: "bytes", meaning: "alive at the peak" },
  { key: "blocks", kind: "integer", unknown: false, title: "blocks", unit: "count", meaning: "allocations alive at the peak" },
];
export const HOST_ROW_COLUMNS: ColumnFacts<HostRow>[] = [
  { key: "process", kind: "integer", unknown: false, title: "process", unit: "", meaning: "number of the process in the recording" },
  { key: "pid", kind: "integer", unknown: false, title: "pid", unit: "", meaning: "the system's number of it" },
  { key: "role", kind: "text", unknown: true, title: "role", unit: "", meaning: "what the process is: main, worker, …" },
  { key: "max_rss_bytes", kind: "integer", unknown: true, title: "maximum", unit: "bytes", meaning: "most resident memory" },
];
export const GROWTH_ROW_COLUMNS: ColumnFacts<GrowthRow>[] = [
  { key: "process", kind: "integer", unknown: false, title: "process", unit: "", meaning: "number of the process in the recording" },
  { key: "name", kind: "text", unknown: false, title: "counter", unit: "", meaning: "what grows" },
  { key: "steps", kind: "integer", unknown: false, title: "steps", unit: "count", meaning: "last steps that were fitted" },
  { key: "bytes_per_step", kind: "number", unknown: false, title: "per step", unit: "bytes", meaning: "slope" },
  { key: "low", kind: "number", unknown: false, title: "low", unit: "bytes", meaning: "its 95 % interval" },
  { key: "high", kind: "number", unknown: false, title: "high", unit: "bytes", meaning: "its 95 % interval" },
  { key: "grows", kind: "flag", unknown: false, title: "grows", unit: "", meaning: "the interval is above zero" },
];
export const THREAD_ROW_COLUMNS: ColumnFacts<ThreadRow>[] = [
  { key: "thread", kind: "integer", unknown: false, title: "thread", unit: "", meaning: "its number in the recording" },
  { key: "tid", kind: "integer", unknown: false, title: "tid", unit: "", meaning: "the system's number of it" },
  { key: "process", kind: "integer", unknown: false, title: "process", unit: "", meaning: "the number of its process in the recording" },
  { key: "kind", kind: "text", unknown: true, title: "kind", unit: "", meaning: "main, python, omp, sonde, …" },
  { key: "name", kind: "text", unknown: true, title: "name", unit: "", meaning: "as the program named it" },
  { key: "samples", kind: "integer", unknown: false, title: "samples", unit: "count", meaning: "samples and waits that were recorded" },
  { key: "on_cpu_ms", kind: "number", unknown: false, title: "on CPU", unit: "ms", meaning: "running, busy-waiting or waiting for slower threads" },
  { key: "running_ms", kind: "number", unknown: false, title: "running", unit: "ms", meaning: "on a CPU, at work" },
  { key: "spinning_ms", kind: "number", unknown: false, title: "busy-waiting", unit: "ms", meaning: "on a CPU, an idle pool thread that waits in a loop" },
  { key: "imbalance_ms", kind: "number", unknown: false, title: "imbalance", unit: "ms", meaning: "on a CPU, waiting for slower threads of its pool" },
  { key: "waiting_ms", kind: "number", unknown: false, title: "waiting", unit: "ms", meaning: "off the CPU, for whatever reason" },
];
export const WAIT_ROW_COLUMNS: ColumnFacts<WaitRow>[] = [
  { key: "kind", kind: "text", unknown: true, title: "thread", unit: "", meaning: "kind of the threads that waited" },
  { key: "reason", kind: "text", unknown: false, title: "reason", unit: "", meaning: "lock, input, idle, preempted, …" },
  { key: "waiting_ms", kind: "number", unknown: false, title: "waiting", unit: "ms", meaning: "time off the CPU, all threads of the kind" },
  { key: "waits", kind: "integer", unknown: false, title: "waits", unit: "count", meaning: "waits that were seen" },
  { key: "python", kind: "text", unknown: true, title: "Python", unit: "", meaning: "innermost Python frame" },
  { key: "place", kind: "text", unknown: true, title: "native", unit: "", meaning: "innermost native frame outside system libraries" },
];
export const SEEN_KERNELS_COLUMNS: ColumnFacts<SeenKernels>[] = [
  { key: "library", kind: "text", unknown: false, title: "library", unit: "", meaning: "library of the kernels" },
  { key: "isa", kind: "text", unknown: true, title: "names say", unit: "", meaning: "instruction set, as the kernels' names spell it" },
  { key: "cpu_ms", kind: "number", unknown: false, title: "CPU time", unit: "ms", meaning: "sampled in them" },
  { key: "share", kind: "number", unknown: false, title: "of running", unit: "share", meaning: "of all running CPU time" },
  { key: "samples", kind: "integer", unknown: false, title: "samples", unit: "count", meaning: "samples in them" },
  { key: "heaviest", kind: "text", unknown: false, title: "heaviest", unit: "", meaning: "the kernel with most time" },
];
export const LOSS_ROW_COLUMNS: ColumnFacts<LossRow>[] = [
  { key: "cause", kind: "text", unknown: true, title: "cause", unit: "", meaning: "what was lost, or is uncertain" },
  { key: "count", kind: "integer", unknown: false, title: "count", unit: "count", meaning: "how much, in `unit`" },
  { key: "unit", kind: "text", unknown: true, title: "unit", unit: "", meaning: "what `count` counts: samples, events, bytes, …" },
  { key: "detail", kind: "text", unknown: true, title: "detail", unit: "", meaning: "why, in words" },
];

// What the report's data block holds of each view.
export interface Answers {
  verdict: Verdict;
  account: AccountAnswer;
  ranks: Ranks;
  collectives: CollectivesAnswer;
  quality: QualityAnswer;
  gpu: GpuAnswer;
  ops: Record<string, Ops>;
  steps: Steps;
  compile: Compile;
  memory: Memory;
  threads: Threads;
  waits: Waits;
  machine: MachineAnswer;
  losses: Losses;
}

// The columns of each view's rows, in the order of its declaration.
export const COLUMNS = {
  account: SLICE_ROW_COLUMNS,
  ranks: RANK_ROW_COLUMNS,
  collectives: COLLECTIVE_ROW_COLUMNS,
  ops: OP_ROW_COLUMNS,
  steps: STEP_ROW_COLUMNS,
  threads: THREAD_ROW_COLUMNS,
  waits: WAIT_ROW_COLUMNS,
  losses: LOSS_ROW_COLUMNS,
};

// The field of each answer that has its rows.
export const ROWS = {
  account: "rows",
  ranks: "rows",
  collectives: "rows",
  ops: "rows",
  steps: "steps",
  threads: "rows",
  waits: "rows",
  losses: "rows",
} as const;

// Views that the page shows as a plain table of their own.
export type Tab = Exclude<keyof typeof COLUMNS, "ops">;
export const TABS: { view: Tab; title: string; about: string }[] = [
  { view: "collectives", title: "Collectives", about: "what ranks exchanged: waiting for the last rank, transfer, exposed part" },
];

// The verdict: kinds of samples in the order of their codes, words for their shares, thresholds.
export const BOUND = {"kinds": ["input", "ranks", "wait", "pool", "math", "memory", "overhead"], "words": {"math": "in matrix products, convolutions and attention", "memory": "in other kernels", "overhead": "in Python, dispatch and bookkeeping", "input": "waiting for input", "pool": "waiting for other threads of the pool", "ranks": "waiting for other ranks", "wait": "waiting for something else"}, "waits": {"input": "input-bound", "ranks": "communication-bound", "wait": "wait-bound"}, "loss": 0.25, "pool": 0.5, "overhead": 0.5, "fewest_samples": 30};
