// GPU: how busy each device was and with what, and which kernels took it.

import { useMemo } from "preact/hooks";
import { deviceRows, type DeviceRow, type IdleSplit } from "../calc/gpu";
import { Empty } from "../ui/parts";
import { DataTable } from "../ui/table";
import type { ViewProps } from "../ui/context";
import { GPU_WORK, type Model } from "../data/model";
import * as format from "../calc/format";

// Idle time by cause, in the words of `sonde show REC gpu`.
const IDLE: [keyof IdleSplit, string, string][] = [
  ["host", "Idle: host", "Idle because the host had not launched the next work yet"],
  ["kernel", "Idle: gap", "Between queued kernels, below 30 µs each: the device's own turn-around"],
  ["sync", "Idle: sync", "The launching thread sat in a call that waits for the device"],
  ["other", "Idle: other", "Work was queued but waited for another stream or an event, or its launch is not in the trace"],
];

interface KernelRow {
  name: string;
  device: number;
  work: number;
  calls: number;
  total: number;
  longest: number;
  occupancy: number;
}

export function GpuView({ model, store, theme, match }: ViewProps) {
  const range = store.range;
  const devices = useMemo(() => deviceRows(model, range), [model, range?.[0], range?.[1]]);
  const kernels = useMemo(() => kernelRows(model, range), [model, range?.[0], range?.[1]]);
  if (!model.has("kernels")) {
    return (
      <Empty title="No GPU work in this recording" command="sonde report trace.json.gz">
        This program used no GPU, or it was recorded without one. A Kineto trace made on a GPU machine can be opened directly:
      </Empty>
    );
  }
  const sum = kernels.reduce((total, row) => total + row.total, 0) || 1;
  const shown = match.active ? kernels.filter((row) => match.test(row.name)) : kernels;
  const kept = model.facts.kept?.device ?? {};
  return (
    <section class="view" data-view="gpu">
      <DataTable<DeviceRow>
        id="devices"
        store={store}
        rows={devices}
        sort="device"
        file="devices"
        height="300px"
        note={`percentages are of the window: first start to last end of work on the device${range ? "; why it was idle is known for the whole recording only" : ""}`}
        columns={[
          { id: "device", title: "Device", meaning: "Device and the process that used it", width: "minmax(150px, 1fr)", value: (d) => `GPU ${d.device} · process ${d.process}` },
          { id: "window", title: "Window", meaning: "From the first start to the last end", width: "90px", wide: true, value: (d) => d.window, show: (d) => format.time(d.window) },
          { id: "busy", title: "Busy", meaning: "At least one kernel or copy was running", width: "120px", value: (d) => d.busy, show: (d) => `${format.time(d.busy)}  ${format.percent(d.busy / d.window)}`, bar: (d) => d.busy / d.window },
          { id: "idle", title: "Idle", meaning: "Nothing was running", width: "120px", value: (d) => d.idle, show: (d) => `${format.time(d.idle)}  ${format.percent(d.idle / d.window)}` },
          ...IDLE.map(([id, title, meaning]) => ({
            id: `idle_${id}`, title, meaning, width: "104px", wide: true,
            value: (d: DeviceRow) => d.split?.[id] ?? -1,
            show: (d: DeviceRow) => (d.split ? format.time(d.split[id]) : "–"),
          })),
          { id: "compute", title: "Compute", meaning: "Union of compute kernels", width: "120px", wide: true, value: (d) => d.compute, show: (d) => `${format.time(d.compute)}  ${format.percent(d.compute / d.window)}` },
          { id: "comm", title: "Communication", meaning: "Union of collectives", width: "136px", wide: true, value: (d) => d.communication, show: (d) => `${format.time(d.communication)}  ${format.percent(d.communication / d.window)}` },
          { id: "overlap", title: "Overlapped", meaning: "Communication at the same time as compute, as a share of communication", width: "110px", wide: true, value: (d) => d.overlap, show: (d) => (d.communication ? format.percent(d.overlap / d.communication) : "–") },
          { id: "copy", title: "Copies", meaning: "Union of copies and sets", width: "110px", wide: true, value: (d) => d.copy, show: (d) => format.time(d.copy) },
          { id: "events", title: "Events", meaning: "Kernels, copies and sets", width: "80px", wide: true, value: (d) => d.events, show: (d) => format.count(d.events) },
        ]}
      />
      <DataTable<KernelRow>
        id="kernels"
        store={store}
        rows={shown}
        sort="total"
        file="kernels"
        height="calc(100vh - 300px)"
        onPick={(row) => store.open("timeline", { q: row.name, re: null })}
        note={
          <>
            percentages are of {format.time(sum)}, all device time{range ? " in the range" : ""}
            {kept.before_trace ? `; ${format.count(kept.before_trace)} events were launched before the trace began` : ""}
            {kept.without_launch ? `; ${format.count(kept.without_launch)} events have no launch in the trace` : ""}
            {kept.pruned && range ? `; ${format.count(kept.pruned)} short events are not in this page` : ""}
          </>
        }
        columns={[
          {
            id: "name", title: "Kernel", meaning: "Kernel, copy or set; click to see it in the timeline", width: "minmax(130px, 1fr)", value: (row) => row.name,
            show: (row) => (
              <>
                <i class="dot" style={{ background: theme.gpu[row.work] }} />
                {row.name}
              </>
            ),
          },
          { id: "work", title: "Work", meaning: "Compute, communication, copy or sync", width: "110px", wide: true, value: (row) => GPU_WORK[row.work] },
          { id: "calls", title: "Calls", meaning: "How often it ran", width: "80px", value: (row) => row.calls, show: (row) => format.count(row.calls) },
          { id: "total", title: "Total", meaning: "Sum of durations on the device", width: "minmax(112px, 136px)", value: (row) => row.total, show: (row) => `${format.time(row.total)}  ${format.percent(row.total / sum)}`, bar: (row) => row.total / sum },
          { id: "mean", title: "Mean", meaning: "Total divided by calls", width: "90px", wide: true, value: (row) => row.total / row.calls, show: (row) => format.time(row.total / row.calls) },
          { id: "longest", title: "Longest", meaning: "Longest single run", width: "90px", wide: true, value: (row) => row.longest, show: (row) => format.time(row.longest) },
          { id: "occupancy", title: "Occupancy", meaning: "Mean estimated achieved occupancy; – when the trace has none", width: "104px", wide: true, value: (row) => row.occupancy, show: (row) => (row.occupancy >= 0 ? `${format.digits(row.occupancy)} %` : "–") },
        ]}
      />
    </section>
  );
}

function kernelRows(model: Model, range: [number, number] | null): KernelRow[] {
  if (!range) {
    const column = (name: string) => model.column("kerneltotals", name);
    return Array.from({ length: model.rows("kerneltotals") }, (_, i) => ({
      name: model.text(column("name")[i]), device: column("device")[i], work: column("work")[i], calls: column("calls")[i],
      total: column("total")[i], longest: column("longest")[i], occupancy: column("occupancy")[i],
    })).filter((row) => row.work !== 3);
  }
  const groups = new Map<string, KernelRow & { known: number }>();
  const column = (name: string) => model.column("kernels", name);
  for (let i = 0; i < model.rows("kernels"); i++) {
    const start = column("start")[i];
    if (start < range[0] || start > range[1] || column("work")[i] === 3) continue;
    const key = `${column("name")[i]}:${column("device")[i]}`;
    let row = groups.get(key);
    if (!row) groups.set(key, (row = { name: model.text(column("name")[i]), device: column("device")[i], work: column("work")[i], calls: 0, total: 0, longest: 0, occupancy: NaN, known: 0 }));
    row.calls++;
    row.total += column("duration")[i];
    row.longest = Math.max(row.longest, column("duration")[i]);
    if (column("occupancy")[i] >= 0) {
      row.occupancy = ((row.known ? row.occupancy : 0) * row.known + column("occupancy")[i]) / (row.known + 1);
      row.known++;
    }
  }
  return [...groups.values()];
}
