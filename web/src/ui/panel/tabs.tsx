// The tabs of the panel that show a stretch of time: flame, operators, kernels, waits.

import { useMemo } from "preact/hooks";
import { labelId } from "../../calc/details/named";
import { isOperator, opTable, type OpRow } from "../../calc/ops";
import { kernelRows, type KernelRow } from "../../calc/kernels";
import { buildTree } from "../../calc/tree";
import { waitRows } from "../../calc/waits";
import { measuresOf, rowsOf, type Measure } from "../../calc/weights";
import type { WaitRow } from "../../data/answers";
import * as format from "../../calc/format";
import { Choice } from "../parts";
import type { ViewProps } from "../context";
import { FlameChart } from "../flamechart";
import { DataTable } from "../table";

export interface Stretch {
  range: [number, number] | null;
  words: string; // of what, for the notes
}

const HEIGHT = "calc(var(--tall) - 134px)";
const WORDS: Record<Measure, string> = { cpu: "On CPU", off: "Off CPU", both: "Both", ops: "Operators", gpu: "GPU", memory: "Memory" };

export function FlameTab({ model, store, theme, match, stretch }: ViewProps & { stretch: Stretch }) {
  const { range } = stretch;
  const trees = useMemo(() => {
    const full = measuresOf(model).map((measure) => [measure, rowsOf(model, measure, { range, thread: -1, owners: false })] as const);
    return full.filter(([, rows]) => rows.node.length > 0);
  }, [model, range?.[0], range?.[1]]);
  const measure = trees.find(([m]) => m === store.get("panel.measure", ""))?.[0] ?? trees[0]?.[0];
  const tree = useMemo(() => (measure ? buildTree(trees.find(([m]) => m === measure)![1], { hideRuntime: true, byGroup: null, invert: false }) : null), [trees, measure]);
  if (!tree) return <p class="note">Nothing was sampled or called in {stretch.words}.</p>;
  return (
    <>
      <div class="bar">
        <Choice label="What the flame of the range measures" value={measure} options={trees.map(([m]) => [m, WORDS[m]])} onChange={(v) => store.set({ "panel.measure": v })} />
        <span class="note">{tree.unit === "time" ? format.time(tree.sum) : format.bytes(tree.sum)} = 100 % of {stretch.words}</span>
      </div>
      <FlameChart tree={tree} theme={theme} match={match} label={`Flame of ${stretch.words}`} height={HEIGHT} onPick={(node) => node > 0 && store.select({ kind: "function", name: labelId(tree.labels[tree.label[node]]) }, { tab: null })} />
    </>
  );
}

export function OperatorsTab({ model, store, match, stretch }: ViewProps & { stretch: Stretch }) {
  const { range } = stretch;
  const table = useMemo(() => opTable(model, "name", range, -1), [model, range?.[0], range?.[1]]);
  const rows = table.rows.filter((row) => isOperator(row) && (!match.active || match.test(row.name)));
  const sum = table.self_ms || 1;
  return (
    <DataTable<OpRow>
      id="panel.ops" store={store} rows={rows} sort="self" file="operators" height={HEIGHT}
      note={`operators that began in ${stretch.words}`}
      onPick={(row) => store.select({ kind: "opname", name: row.name }, { tab: null })}
      columns={[
        { id: "name", title: "Operator", meaning: "Click to see it, its shapes and its callers", width: "minmax(130px, 1fr)", value: (row) => row.name },
        { id: "calls", title: "Calls", meaning: "Calls", width: "80px", value: (row) => row.calls ?? NaN, show: (row) => (row.calls === null ? "–" : format.count(row.calls)) },
        { id: "self", title: "Self CPU", meaning: "Self time", width: "minmax(112px, 146px)", value: (row) => row.self_ms, show: (row) => `${format.time(row.self_ms * 1e6)}  ${format.percent(row.self_ms / sum)}`, bar: (row) => row.self_ms / sum },
        { id: "device", title: "Self device", meaning: "Device time of what it launched", width: "100px", wide: true, value: (row) => row.device_self_ms ?? NaN, show: (row) => (row.device_self_ms ? format.time(row.device_self_ms * 1e6) : "–") },
      ]}
    />
  );
}

export function KernelsTab({ model, store, match, stretch }: ViewProps & { stretch: Stretch }) {
  const { range } = stretch;
  const rows = useMemo(() => kernelRows(model, range), [model, range?.[0], range?.[1]]);
  const sum = rows.reduce((total, row) => total + row.total, 0) || 1;
  return (
    <DataTable<KernelRow>
      id="panel.kernels" store={store} rows={match.active ? rows.filter((row) => match.test(row.name) || match.test(row.short)) : rows} sort="total" file="kernels" height={HEIGHT}
      note={`kernels and copies that began in ${stretch.words}`}
      onPick={(row) => store.select({ kind: "kname", name: row.name }, { tab: null })}
      columns={[
        { id: "name", title: "Kernel", meaning: "Click to see it and who launches it", width: "minmax(130px, 1fr)", value: (row) => row.short },
        { id: "calls", title: "Runs", meaning: "How often it ran", width: "80px", value: (row) => row.calls, show: (row) => format.count(row.calls) },
        { id: "total", title: "Total", meaning: "Sum of durations on the device", width: "minmax(112px, 146px)", value: (row) => row.total, show: (row) => `${format.time(row.total)}  ${format.percent(row.total / sum)}`, bar: (row) => row.total / sum },
        { id: "longest", title: "Longest", meaning: "Longest single run", width: "90px", wide: true, value: (row) => row.longest, show: (row) => format.time(row.longest) },
      ]}
    />
  );
}

export function WaitsTab({ model, store, match, stretch }: ViewProps & { stretch: Stretch }) {
  const { range } = stretch;
  const rows = useMemo(() => waitRows(model, range), [model, range?.[0], range?.[1]]);
  const sum = rows.reduce((total, row) => total + row.waiting_ms, 0) || 1;
  const wanted = (row: WaitRow) => !match.active || [row.reason, row.python, row.place].some((text) => text && match.test(text));
  return (
    <DataTable<WaitRow>
      id="panel.waits" store={store} rows={rows.filter(wanted)} sort="waiting" file="waits" height={HEIGHT}
      note={`time off the CPU in ${stretch.words}, all threads`}
      columns={[
        { id: "reason", title: "Reason", meaning: "lock, input, idle, preempted, …", width: "minmax(90px, 130px)", value: (row) => row.reason },
        { id: "kind", title: "Thread", meaning: "Kind of the threads that waited", width: "100px", value: (row) => row.kind ?? "" },
        { id: "python", title: "Python", meaning: "Innermost Python frame", width: "minmax(100px, 1fr)", value: (row) => row.python ?? "", show: (row) => row.python ?? "–" },
        { id: "place", title: "Native", meaning: "Innermost native frame that is not plumbing", width: "minmax(100px, 1fr)", wide: true, value: (row) => row.place ?? "", show: (row) => row.place ?? "–" },
        { id: "waiting", title: "Waiting", meaning: "Time off the CPU", width: "minmax(112px, 146px)", value: (row) => row.waiting_ms, show: (row) => `${format.time(row.waiting_ms * 1e6)}  ${format.percent(row.waiting_ms / sum)}`, bar: (row) => row.waiting_ms / sum },
        { id: "waits", title: "Waits", meaning: "Waits that were seen", width: "80px", wide: true, value: (row) => row.waits, show: (row) => format.count(row.waits) },
      ]}
    />
  );
}
