// Memory: what the framework's allocator held over time, who held it at the
// peak, and the resident memory of the processes.

import { useMemo } from "preact/hooks";
import { CurveCard, type Series } from "../ui/curve";
import { Empty } from "../ui/parts";
import { DataTable } from "../ui/table";
import type { ViewProps } from "../ui/context";
import type { Model } from "../data/model";
import * as format from "../calc/format";
import { counterSeries } from "../calc/counters";

interface PeakRow {
  op: string;
  module: string;
  category: string;
  bytes: number;
  blocks: number;
}

export function MemoryView({ model, store, theme, match }: ViewProps) {
  const devices = useMemo(() => memoryCurves(model), [model]);
  const resident = useMemo(() => counterSeries(model).filter((c) => /rss_bytes$|pss_bytes$|memory_bytes$/.test(c.name)), [model]);
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
        const peak = (model.facts.peaks ?? []).find((p: any) => p.device === d.device);
        const rows = peak ? peakRows(model, peak).filter((row) => !match.active || match.test(row.op) || match.test(row.module) || match.test(row.category)) : [];
        return (
          <CurveCard
            title={<>In use by the allocator, <bdi>{d.device}</bdi></>}
            note={peak && `peak ${format.bytes(peak.bytes)} at ${format.time(peak.time)}; frees of blocks allocated before the window can make it negative`}
            file="memory"
            unit="bytes"
            label={`Memory in use on ${d.device}`}
            times={d.times}
            series={d.series}
            show={format.bytes}
            theme={theme}
            store={store}
          >
            {rows.length > 0 && (
              <>
                <p class="note">
                  Alive at the peak: {format.count(peak.blocks)} blocks, {format.bytes(peak.known)} of {format.bytes(peak.bytes)} allocated inside the recording
                </p>
                <DataTable<PeakRow>
                  id={`peak`}
                  store={store}
                  rows={rows}
                  sort="bytes"
                  file="memory-at-peak"
                  height="340px"
                  columns={[
                    { id: "op", title: "Allocated by", meaning: "Operator around the allocation", width: "minmax(110px, 1fr)", value: (row) => row.op },
                    { id: "module", title: "Module", meaning: "Module around the allocation", width: "minmax(100px, 0.7fr)", wide: true, value: (row) => row.module },
                    { id: "category", title: "Category", meaning: "Parameter, gradient, optimizer state, activation, temporary, input or unknown", width: "minmax(84px, 120px)", value: (row) => row.category },
                    { id: "bytes", title: "Bytes", meaning: "Bytes alive at the peak", width: "minmax(84px, 110px)", value: (row) => row.bytes, show: (row) => format.bytes(row.bytes), bar: (row) => row.bytes / Math.max(1, peak.known) },
                    { id: "blocks", title: "Blocks", meaning: "Number of blocks", width: "80px", wide: true, value: (row) => row.blocks, show: (row) => format.count(row.blocks) },
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
      <p class="note">
        Which operators allocate most: <a href="#flame" onClick={(event) => { event.preventDefault(); store.open("flame", { "flame.measure": "memory" }); }}>flame of allocated bytes</a>
      </p>
    </section>
  );
}

function memoryCurves(model: Model): { device: string; times: number[]; series: Series[] }[] {
  const rows = model.rows("memory");
  const groups = new Map<number, number[]>();
  for (let i = 0; i < rows; i++) {
    const device = model.column("memory", "device")[i];
    if (!groups.has(device)) groups.set(device, []);
    groups.get(device)!.push(i);
  }
  return [...groups].map(([device, list]) => {
    const series: Series[] = [{ name: "in use", values: list.map((i) => model.column("memory", "allocated")[i]) }];
    if (list.some((i) => model.column("memory", "reserved")[i] > 0)) series.push({ name: "reserved", values: list.map((i) => model.column("memory", "reserved")[i]) });
    return { device: model.text(device), times: list.map((i) => model.column("memory", "time")[i]), series };
  });
}

function peakRows(model: Model, peak: any): PeakRow[] {
  return peak.rows.map(([op, category, bytes, blocks]: [number, number, number, number]) => {
    const call = op >= 0 ? model.column("opnodes", "call")[model.column("ops", "node")[op]] : -1;
    return {
      op: call >= 0 ? model.text(model.column("calls", "name")[call]) : "(outside any operator)",
      module: call >= 0 ? model.text(model.column("calls", "module")[call]) : "",
      category: model.text(category), bytes, blocks,
    };
  }).reduce((merged: PeakRow[], row: PeakRow) => {
    const same = merged.find((m) => m.op === row.op && m.module === row.module && m.category === row.category);
    if (same) {
      same.bytes += row.bytes;
      same.blocks += row.blocks;
    } else merged.push(row);
    return merged;
  }, []);
}
