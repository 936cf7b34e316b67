// Memory: what the framework's allocator held over time, who held it at the
// peak, and the resident memory of the processes.

import { useMemo } from "preact/hooks";
import { CurveCard, type Series } from "../ui/curve";
import { Empty } from "../ui/parts";
import { DataTable } from "../ui/table";
import type { ViewProps } from "../ui/context";
import type { Peak } from "../data/facts";
import type { Model } from "../data/model";
import * as format from "../calc/format";
import { measuresOf } from "../calc/weights";
import { aliveAt, type AliveRow } from "../calc/alive";
import { counterSeries, isResident } from "../calc/counters";

type PeakRow = AliveRow;

export function MemoryView({ model, store, theme, match }: ViewProps) {
  const devices = useMemo(() => memoryCurves(model), [model]);
  const resident = useMemo(() => counterSeries(model).filter(isResident), [model]);
  if (!devices.length && !resident.length) {
    return (
      <Empty title="No memory was recorded" command="sonde run --window auto your_script.py">
        Allocations come from the framework's profiler in windows (for an imported trace: profile_memory=True), resident memory from the counters of a recording.
      </Empty>
    );
  }
  return (
    <section class="view" data-view="memory">
      {devices.map((d) => {
        const peak = (model.facts.peaks ?? []).find((p) => p.device === d.device && p.process === d.process);
        const moment = store.get("memory.at", "") && model.has("blocks") ? store.number("memory.at", 0) : null;
        const alive = moment === null ? (peak ? peakRows(model, peak) : []) : aliveAt(model, d.process, d.device, moment);
        const held = alive.reduce((sum, row) => sum + row.bytes, 0);
        const byCategory = [...alive.reduce((sums, row) => sums.set(row.category, (sums.get(row.category) ?? 0) + row.bytes), new Map<string, number>())].sort((a, b) => b[1] - a[1]);
        const rows = peak ? alive.filter((row) => !match.active || match.test(row.op) || match.test(row.module) || match.test(row.category)) : [];
        const categories = rows.some((row) => row.category !== "unknown");
        return (
          <CurveCard
            title={<>In use by the framework, <bdi>{d.device}</bdi>{devices.length > 1 && d.device === "cpu" ? ` of process ${d.process}` : ""}</>}
            note={peak && `peak ${format.bytes(peak.bytes)} at ${format.time(peak.time)}${d.windows > 1 ? `; ${d.windows} windows, what happens between them is not seen` : ""}`}
            file="memory"
            unit="bytes"
            label={`Memory in use on ${d.device}`}
            times={d.times}
            series={d.series}
            show={format.bytes}
            theme={theme}
            store={store}
            moment={moment}
            onMoment={model.has("blocks") ? (time) => store.set({ "memory.at": String(Math.round(time)) }) : undefined}
          >
            {moment !== null && (
              <p data-role="alive">
                <b>Alive at {format.time(moment)}: {format.bytes(held)}</b> <span class="note">in the blocks of this window that the page carries; {byCategory.map(([name, size]) => `${name} ${format.bytes(size)}`).join(", ")} · arrow keys move the moment</span>{" "}
                <button type="button" class="plain" onClick={() => store.set({ "memory.at": null })}>show the peak</button>
              </p>
            )}
            {peak && (moment !== null || rows.length > 0) && (
              <>
                {moment === null && <p class="note">
                  {model.has("blocks") ? "Click the curve to see what lives at that moment. " : ""}Alive at the peak: {format.count(peak.blocks)} blocks that were seen, {format.bytes(peak.known)} of {format.bytes(peak.bytes)}
                  {categories ? "" : "; what they are for is not known: this recording has no marks of phases (forward, backward) and no list of parameters"}
                </p>}
                <DataTable<PeakRow>
                  id={`peak`}
                  store={store}
                  rows={rows}
                  sort="bytes"
                  file="memory-at-peak"
                  height="340px"
                  columns={[
                    { id: "op", title: "Allocated by", meaning: "Operator that asked for the memory", width: "minmax(110px, 1fr)", value: (row) => row.op },
                    { id: "module", title: "Module", meaning: "Module around the allocation", width: "minmax(100px, 0.7fr)", wide: true, value: (row) => row.module },
                    ...(categories ? [{ id: "category", title: "Category", meaning: "Parameter, gradient, optimizer state, activation, temporary, input or unknown", width: "minmax(84px, 120px)", value: (row: PeakRow) => row.category }] : []),
                    { id: "bytes", title: "Bytes", meaning: "Bytes alive", width: "minmax(84px, 110px)", value: (row) => row.bytes, show: (row) => format.bytes(row.bytes), bar: (row) => row.bytes / Math.max(1, moment === null ? peak.known : held) },
                    { id: "blocks", title: "Blocks", meaning: "Number of blocks that were seen; – for those that live through the whole window", width: "80px", wide: true, value: (row) => row.blocks, show: (row) => (row.blocks ? format.count(row.blocks) : "–") },
                  ]}
                />
              </>
            )}
          </CurveCard>
        );
      })}
      {resident.map((c) => (
        <CurveCard title="Resident memory" note={`${c.label}: physical memory of the process, by the operating system`} file="resident" unit="bytes" label={`Resident memory, ${c.label}`} times={c.times} series={c.series} show={format.bytes} theme={theme} store={store} height={170} />
      ))}
      {measuresOf(model).includes("memory") && <p class="note">
        Which operators allocate most: <a href="#flame" onClick={(event) => { event.preventDefault(); store.open("flame", { "flame.measure": "memory" }); }}>flame of allocated bytes</a>
      </p>}
    </section>
  );
}

interface Curve {
  process: number;
  device: string;
  windows: number;
  times: number[];
  series: Series[];
}

// One curve per process and device; between two windows nothing is known, so nothing is drawn.
function memoryCurves(model: Model): Curve[] {
  const column = (name: string) => model.column("memory", name);
  const groups = new Map<string, number[]>();
  for (let i = 0; i < model.rows("memory"); i++) {
    const key = `${column("process")[i]}:${column("device")[i]}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key)!.push(i);
  }
  return [...groups.values()].map((list) => {
    const times: number[] = [];
    const used: (number | null)[] = [];
    const held: (number | null)[] = [];
    const windows = new Set(list.map((i) => column("window")[i])).size;
    list.forEach((i, at) => {
      if (at && column("window")[i] !== column("window")[list[at - 1]]) {
        times.push(column("time")[list[at - 1]]);
        used.push(null);
        held.push(null);
      }
      times.push(column("time")[i]);
      used.push(column("allocated")[i]);
      held.push(column("reserved")[i]);
    });
    const series: Series[] = [{ name: "in use", values: used }];
    if (held.some((v) => v !== null && v > 0)) series.push({ name: "reserved", values: held });
    return { process: column("process")[list[0]], device: model.text(column("device")[list[0]]), windows, times, series };
  });
}

function peakRows(model: Model, peak: Peak): PeakRow[] {
  return peak.rows.map(([op, module, category, bytes, blocks]: number[]) => ({
    op: model.text(op), module: model.text(module), category: model.text(category), bytes, blocks,
  }));
}
