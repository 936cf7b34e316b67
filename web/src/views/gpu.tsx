// GPU: how busy each device was and with what, and which kernels took it.

import { useMemo } from "preact/hooks";
import { deviceRows, type DeviceRow } from "../calc/gpu";
import { GPU_DEVICE_COLUMNS } from "../data/answers";
import { kernelRows, type KernelRow } from "../calc/kernels";
import { gapSentence, longestGaps, showGap } from "./overview/idle";
import { Empty } from "../ui/parts";
import { DataTable } from "../ui/table";
import type { ViewProps } from "../ui/context";
import { GPU_WORK } from "../data/model";
import * as format from "../calc/format";

// Titles and meanings are those of `sonde show REC gpu`.
const SHOWN = ["window_ms", "busy_ms", "idle_ms", "idle_host_ms", "idle_kernel_ms", "idle_sync_ms", "idle_other_ms", "compute_ms", "communication_ms", "copy_ms"] as const;
const WITH_SHARE: readonly string[] = ["busy_ms", "idle_ms", "compute_ms", "communication_ms"];
const NARROW: readonly string[] = ["busy_ms", "idle_ms"]; // shown on a narrow screen, too

function deviceColumn(id: (typeof SHOWN)[number]) {
  const said = GPU_DEVICE_COLUMNS.find((column) => column.key === id)!;
  const share = (d: DeviceRow) => (d[id] ?? 0) / d.window_ms;
  return {
    id, title: said.title, meaning: said.meaning, width: WITH_SHARE.includes(id) ? "136px" : "104px", wide: !NARROW.includes(id),
    value: (d: DeviceRow) => d[id] ?? -1,
    show: (d: DeviceRow) => (d[id] === undefined ? "–" : format.time(d[id] * 1e6) + (WITH_SHARE.includes(id) ? `  ${format.percent(share(d))}` : "")),
    bar: id === "busy_ms" ? share : undefined,
  };
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
  const shown = match.active ? kernels.filter((row) => match.test(row.name) || match.test(row.short)) : kernels;
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
          ...SHOWN.map(deviceColumn),
          { id: "overlap_ms", title: "overlapped", meaning: "Communication at the same time as compute, as a share of communication", width: "110px", wide: true, value: (d) => d.overlap_ms, show: (d) => (d.communication_ms ? format.percent(d.overlap_ms / d.communication_ms) : "–") },
          { id: "events", title: "Events", meaning: "Kernels, copies and sets", width: "80px", wide: true, value: (d) => d.events, show: (d) => format.count(d.events) },
        ]}
      />
      <Gaps model={model} store={store} />
      <DataTable<KernelRow>
        id="kernels"
        store={store}
        rows={shown}
        sort="total"
        file="kernels"
        height="calc(100vh - 300px)"
        selected={(row) => store.get("sel", "") === `kname:${row.name}`}
        onPick={(row) => store.select({ kind: "kname", name: row.name })}
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
            id: "name", title: "Kernel", meaning: "Kernel, copy or set; click to see it in the timeline", width: "minmax(130px, 1fr)", value: (row) => row.short,
            show: (row) => (
              <>
                <i class="dot" style={{ background: theme.gpu[row.work] }} />
                <span title={row.name}>{row.short}</span>
              </>
            ),
          },
          { id: "work", title: "Work", meaning: "Compute, communication, copy or sync", width: "110px", wide: true, value: (row) => GPU_WORK[row.work] },
          ...(range ? [] : [
            { id: "origin", title: "Made by", meaning: "Library or compiler that the kernel comes from, by its name", width: "90px", wide: true, value: (row: KernelRow) => row.origin },
            { id: "tensor", title: "Tensor cores", meaning: "Its name says that tensor or matrix cores did the work", width: "110px", wide: true, value: (row: KernelRow) => (row.tensor ? "yes" : "–") },
          ]),
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

// The longest stretches in which a device did nothing, each a link to the moment.
function Gaps({ model, store }: Pick<ViewProps, "model" | "store">) {
  const gaps = longestGaps(model, 8);
  if (!gaps.length) return null;
  return (
    <article class="card" data-role="gap-list">
      <header>
        <h2>Longest gaps</h2>
        <span class="note">click one to see it in the timeline</span>
      </header>
      <ul class="gaps">
        {gaps.map((row) => (
          <li>
            <a href={`#timeline?sel=gap:${row}`} onClick={(event) => { event.preventDefault(); showGap(store, model, row); }}>
              <bdi>{`GPU ${model.column("gaps", "device")[row]}, ${gapSentence(model, row)}`}</bdi>
            </a>
          </li>
        ))}
      </ul>
    </article>
  );
}
