// Made by: python -m sonde.views.typescript. Do not edit: the declarations are in sonde/views.

export interface ColumnFacts<Row> {
  key: keyof Row & string;
  kind: "text" | "integer" | "number" | "flag";
  unknown: boolean; // may be null
  title: string;
  unit: "" | "ms" | "ns" | "bytes" | "count" | "share" | "FLOP";
  meaning: string;
}

export interface OpRow {
  name: string;
  key: string | null;
  kind: string | null;
  self_ms: number;
  total_ms: number;
  self_wall_ms: number | null;
  total_wall_ms: number | null;
  device_self_ms: number | null;
  device_total_ms: number | null;
  calls: number | null;
  preempted: number | null;
  cpu_mem_bytes: number | null;
  self_cpu_mem_bytes: number | null;
  device_mem_bytes: number | null;
  self_device_mem_bytes: number | null;
  flops: number | null;
  samples: number | null;
}

export interface Ops {
  by: string;
  source: string;
  self_ms: number;
  self_wall_ms: number | null;
  device_self_ms: number;
  device_elsewhere_ms: number;
  launched_before_trace_ms: number;
  rows: OpRow[];
  not_carried: number; // rows that are not in the page
}

export interface StepRow {
  index: number;
  start_ns: number;
  ms: number;
  taken_ms: number;
  in_window: boolean;
}

export interface Steps {
  process: number | null;
  kind: string;
  count: number;
  warmup: number;
  left_out: number;
  median_ms: number | null;
  p10_ms: number | null;
  p90_ms: number | null;
  phase_ms: Record<string, number>;
  steps: StepRow[];
  run: RunPhaseRow[];
  processes: ProcessSteps[];
  taken_away: Record<string, unknown>;
  not_carried: number; // rows that are not in the page
}

export interface RunPhaseRow {
  name: string;
  ms: number;
  share: number;
  count: number;
}

export interface ProcessSteps {
  process: number | null;
  kind: string;
  count: number;
  warmup: number;
  left_out: number;
  median_ms: number | null;
  p10_ms: number | null;
  p90_ms: number | null;
  phase_ms: Record<string, number>;
}

export interface ThreadRow {
  thread: number;
  tid: number;
  process: number;
  kind: string | null;
  name: string | null;
  samples: number;
  on_cpu_ms: number;
  running_ms: number;
  spinning_ms: number;
  imbalance_ms: number;
  waiting_ms: number;
}

export interface Threads {
  rows: ThreadRow[];
  not_carried: number; // rows that are not in the page
}

export interface WaitRow {
  kind: string | null;
  reason: string;
  waiting_ms: number;
  waits: number;
  python: string | null;
  place: string | null;
}

export interface Waits {
  reasons: Record<string, number>;
  rows: WaitRow[];
  profilers_ms: number;
  not_carried: number; // rows that are not in the page
}

export interface LossRow {
  cause: string | null;
  count: number;
  unit: string | null;
  detail: string | null;
}

export interface Losses {
  rows: LossRow[];
  not_carried: number; // rows that are not in the page
}

export interface Verdict {
  word: string | null;
  sentence: string;
  evidence: string[];
  shares: Record<string, number>;
  samples: number | null;
  thread: number;
  crowded: boolean;
}

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
  { key: "in_window", kind: "flag", unknown: false, title: "in window", unit: "", meaning: "a deep window slowed it: in no median" },
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
  { key: "spinning_ms", kind: "number", unknown: false, title: "spinning", unit: "ms", meaning: "on a CPU, busy-waiting for work" },
  { key: "imbalance_ms", kind: "number", unknown: false, title: "imbalance", unit: "ms", meaning: "on a CPU, waiting for slower threads of its pool" },
  { key: "waiting_ms", kind: "number", unknown: false, title: "waiting", unit: "ms", meaning: "off the CPU, for whatever reason" },
];

export const WAIT_ROW_COLUMNS: ColumnFacts<WaitRow>[] = [
  { key: "kind", kind: "text", unknown: true, title: "thread", unit: "", meaning: "kind of the threads that waited" },
  { key: "reason", kind: "text", unknown: false, title: "reason", unit: "", meaning: "lock, input, idle, preempted, …" },
  { key: "waiting_ms", kind: "number", unknown: false, title: "waiting", unit: "ms", meaning: "time off the CPU, all threads of the kind" },
  { key: "waits", kind: "integer", unknown: false, title: "waits", unit: "count", meaning: "waits that were seen" },
  { key: "python", kind: "text", unknown: true, title: "Python", unit: "", meaning: "innermost Python frame" },
  { key: "place", kind: "text", unknown: true, title: "native", unit: "", meaning: "innermost native frame that is not plumbing" },
];

export const LOSS_ROW_COLUMNS: ColumnFacts<LossRow>[] = [
  { key: "cause", kind: "text", unknown: true, title: "cause", unit: "", meaning: "what was lost, or is uncertain" },
  { key: "count", kind: "integer", unknown: false, title: "count", unit: "count", meaning: "how much, in `unit`" },
  { key: "unit", kind: "text", unknown: true, title: "unit", unit: "", meaning: "what `count` counts: samples, events, bytes, …" },
  { key: "detail", kind: "text", unknown: true, title: "detail", unit: "", meaning: "why, in words" },
];

// What the report's data block holds of each view.
export interface Answers {
  ops: Record<string, Ops>;
  steps: Steps;
  threads: Threads;
  waits: Waits;
  losses: Losses;
  verdict: Verdict;
}

// The columns of each view's rows, in the order of its declaration.
export const COLUMNS = {
  ops: OP_ROW_COLUMNS,
  steps: STEP_ROW_COLUMNS,
  threads: THREAD_ROW_COLUMNS,
  waits: WAIT_ROW_COLUMNS,
  losses: LOSS_ROW_COLUMNS,
};

// The field of each answer that has its rows.
export const ROWS = {
  ops: "rows",
  steps: "steps",
  threads: "rows",
  waits: "rows",
  losses: "rows",
} as const;

// The verdict: kinds of samples in the order of their codes, words for their shares, thresholds.
export const BOUND = {"kinds": ["input", "wait", "pool", "math", "memory", "overhead"], "words": {"math": "in matrix products, convolutions and attention", "memory": "in other kernels", "overhead": "in Python, dispatch and bookkeeping", "input": "waiting for input", "pool": "waiting for other threads of the pool", "wait": "waiting for something else"}, "loss": 0.25, "pool": 0.5, "overhead": 0.5, "fewest_samples": 30};
