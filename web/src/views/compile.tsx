// Compile: what torch.compile cost and did, as `sonde show compile` says it.

import type { BreakRow, GeneratedKernel, RegionRow } from "../data/answers";
import { lineWord } from "../data/selection";
import { Empty } from "../ui/parts";
import { DataTable } from "../ui/table";
import type { ViewProps } from "../ui/context";
import * as format from "../calc/format";

export function CompileView({ model, store, match }: ViewProps) {
  const told = model.answer("compile");
  if (!told || (!told.regions.length && !told.breaks.length && !told.kernels.length)) {
    return (
      <Empty title="Nothing was compiled" command="sonde run your_script.py">
        Regions, graph breaks and recompiles are seen when a program that calls torch.compile is recorded.
      </Empty>
    );
  }
  const ms = (value: number) => format.time(value * 1e6);
  const place = (file: string | null, line: number) => (file ? `${format.baseName(file)}:${line}` : "–");
  const select = (row: { file: string | null; line: number }) => row.file && store.select({ kind: "line", name: lineWord(row.file, row.line) });
  const wanted = (...texts: (string | null)[]) => !match.active || texts.some((text) => text !== null && match.test(text));
  return (
    <section class="view" data-view="compile">
      <div class="verdict">
        <h1>
          {`Compiling took ${ms(told.compile_ms)} of ${ms(told.span_ms)}: ${told.regions.length} ${told.regions.length === 1 ? "region" : "regions"}, ${told.breaks.length} kinds of graph breaks, ${format.count(told.recompiles)} recompiles.`}
        </h1>
        <p class="note">{`Cache: ${format.count(told.cache_hits)} hits, ${format.count(told.cache_misses)} misses`}</p>
      </div>
      {told.breaks.length > 0 && (
        <DataTable<BreakRow>
          id="breaks" store={store} rows={told.breaks.filter((row) => wanted(row.reason, row.file))} sort="count" file="graph-breaks" height="30vh" note="graph breaks: why a graph ended, and on which line" onPick={select}
          columns={[
            { id: "reason", title: "Graph break", meaning: "Why the graph ended", width: "minmax(160px, 1fr)", value: (row) => row.reason },
            { id: "line", title: "Line", meaning: "Click to see it", width: "minmax(90px, 180px)", value: (row) => place(row.file, row.line) },
            { id: "count", title: "Times", meaning: "How often", width: "80px", value: (row) => row.count, show: (row) => format.count(row.count) },
          ]}
        />
      )}
      <DataTable<RegionRow>
        id="regions" store={store} rows={told.regions.filter((row) => wanted(row.name, row.file, row.recompile_reason))} sort="compile" file="regions" height="34vh" note="compiled regions; a recompile names the guard that failed" onPick={select}
        columns={[
          { id: "name", title: "Region", meaning: "Function that was compiled", width: "minmax(110px, 0.6fr)", value: (row) => row.name },
          { id: "line", title: "Line", meaning: "Click to see it", width: "minmax(90px, 180px)", wide: true, value: (row) => place(row.file, row.line) },
          { id: "compile", title: "Compiling", meaning: "Time that compiling it took", width: "100px", value: (row) => row.compile_ms, show: (row) => ms(row.compile_ms) },
          { id: "ops", title: "Operators", meaning: "Operators in the graph", width: "90px", value: (row) => row.ops, show: (row) => format.count(row.ops) },
          { id: "guard", title: "Recompiled because", meaning: "The guard that failed; empty for a first compile", width: "minmax(100px, 1fr)", value: (row) => row.recompile_reason ?? "" },
        ]}
      />
      {told.kernels.length > 0 && (
        <DataTable<GeneratedKernel>
          id="generated" store={store} rows={told.kernels.filter((row) => wanted(row.name, row.fused.join(" ")))} sort="time" file="generated-kernels" height="34vh" note="generated kernels with the operators they fuse"
          onPick={(row) => store.set({ q: row.name, re: null })}
          columns={[
            { id: "name", title: "Kernel", meaning: "Generated kernel", width: "minmax(120px, 0.7fr)", value: (row) => row.name },
            { id: "fused", title: "Fuses", meaning: "Operators in it", width: "minmax(120px, 1fr)", value: (row) => row.fused.join(", ") },
            { id: "lines", title: "From", meaning: "Lines that it was made from", width: "minmax(80px, 0.5fr)", wide: true, value: (row) => row.lines.map(format.baseName).join(", ") },
            { id: "time", title: "Time", meaning: "Sampled or measured time in it", width: "100px", value: (row) => row.time_ms, show: (row) => ms(row.time_ms) },
            { id: "direction", title: "Pass", meaning: "Forward or backward", width: "90px", wide: true, value: (row) => row.direction ?? "" },
          ]}
        />
      )}
    </section>
  );
}
