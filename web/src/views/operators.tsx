// Operators and modules: the tables of the framework's own profiler, over the
// whole recording or the selected range.

import { useMemo } from "preact/hooks";
import { isOperator, moduleTree, opTable, type GroupBy, type ModuleRow, type OpRow } from "../calc/ops";
import { COLUMNS } from "../data/answers";
import { Choice, Empty, Pick } from "../ui/parts";
import { DataTable, type TableColumn } from "../ui/table";
import type { ViewProps } from "../ui/context";
import { threadOptions } from "./flame";
import * as format from "../calc/format";

// Columns with a place or a form of their own, and those for programs: wall time and the device's memory.
const PLACED = new Set<string>([
  "name", "key", "kind", "calls", "self_ms", "total_ms", "flops", "samples", "self_wall_ms", "total_wall_ms", "device_mem_bytes", "self_device_mem_bytes",
]);

export function OperatorsView(props: ViewProps) {
  const { model, store, match } = props;
  const by = store.get("ops.by", "name") as GroupBy | "tree";
  const kind = store.get("ops.kind", "op");
  const thread = store.number("thread", -1);
  const range = store.range;
  const told = model.operators("name");
  const table = useMemo(() => (by === "tree" ? { rows: [], self_ms: 0 } : opTable(model, by, range, thread)), [model, by, thread, range?.[0], range?.[1]]);
  if (!model.has("ops") && !told?.rows.length) {
    const sampled = model.has("samples");
    return (
      <>
        <Empty title="No operator calls were recorded" command="sonde run --window auto your_script.py">
          Calls with shapes and memory come from short windows of the framework's profiler{sampled ? "; sampled operators are in Flame and Sandwich" : ""}. To record windows:
        </Empty>
        {sampled && <ModuleTable {...props} />}
      </>
    );
  }
  const chosen = table.rows.filter((row) => (kind === "all" ? true : kind === "region" ? row.kind === "annotation" || row.kind === "module" : isOperator(row)));
  const shown = match.active ? chosen.filter((row) => match.test(row.name) || match.test(row.key ?? "")) : chosen;
  const sum = table.self_ms || 1;
  const has = (pick: (row: OpRow) => number | null) => chosen.some((row) => (pick(row) ?? 0) !== 0);
  const pruned = model.facts.kept?.ops;
  const ms = (value: number | null) => (value === null ? "–" : format.time(value * 1e6));
  const columns: TableColumn<OpRow>[] = [
    { ...said("name"), width: "minmax(140px, 1fr)", value: (row) => row.name },
  ];
  if (by !== "name") {
    const title = { shape: "Input shapes", module: "Module", line: "Line", thread: "Thread" }[by as Exclude<GroupBy, "name">];
    columns.push({
      ...said("key"), title, width: "minmax(140px, 1fr)",
      value: (row) => row.key ?? "",
      show: (row) => (by === "line" && row.key ? format.baseName(row.key) : row.key || "–"),
    });
  }
  columns.push(
    { ...said("calls"), width: "90px", value: (row) => row.calls ?? NaN, show: (row) => (row.calls === null ? "–" : format.count(row.calls)) },
    { ...said("self_ms"), width: "minmax(112px, 146px)", value: (row) => row.self_ms, show: (row) => `${ms(row.self_ms)}  ${format.percent(row.self_ms / sum)}`, bar: (row) => row.self_ms / sum },
    { ...said("total_ms"), width: "100px", wide: true, value: (row) => row.total_ms, show: (row) => ms(row.total_ms) },
    { id: "mean", title: "CPU time avg", meaning: "CPU total divided by calls", width: "110px", wide: true, value: (row) => row.total_ms / (row.calls || NaN), show: (row) => ms(row.calls ? row.total_ms / row.calls : null) },
  );
  // The other declared columns, where anything is in them.
  for (const { key, unit } of COLUMNS.ops) {
    if (PLACED.has(key) || !has((row) => row[key] as number | null)) continue;
    const value = (row: OpRow) => (row[key] as number | null) ?? NaN;
    columns.push({ ...said(key), width: "100px", wide: key !== "device_self_ms", value, show: (row) => format.unit(value(row), unit) });
  }
  if (has((row) => row.flops)) columns.push({ id: "flops", title: "FLOP/s", meaning: "Floating point operations of the calls divided by their total time; – when the profiler knows no formula", width: "100px", wide: true, value: (row) => rate(row), show: (row) => (rate(row) > 0 ? format.scaled(rate(row), "") : "–") });
  return (
    <section class="view" data-view="operators">
      <div class="bar">
        <Choice
          label="Group by"
          value={by}
          options={[["name", "Name"], ["shape", "Shape"], ["module", "Module"], ["line", "Line"], ["thread", "Thread"], ["tree", "Module tree"]]}
          onChange={(v) => store.set({ "ops.by": v })}
        />
        {by !== "tree" && (
          <>
            <Choice label="Kind" value={kind} options={[["op", "Operators"], ["region", "Regions", "user regions and modules"], ["all", "All"]]} onChange={(v) => store.set({ "ops.kind": v })} />
            <Pick label="Thread" bare value={String(thread)} options={threadOptions(model)} onChange={(v) => store.set({ thread: v === "-1" ? null : v })} />
          </>
        )}
      </div>
      {by === "tree" ? (
        <ModuleTable {...props} />
      ) : (
        <DataTable<OpRow>
          id="ops"
          store={store}
          rows={shown}
          columns={columns}
          sort="self_ms"
          file={`operators-by-${by}`}
          selected={(row) => store.get("sel", "") === `opname:${row.name}`}
          onPick={(row) => store.select({ kind: "opname", name: row.name })}
          note={
            <>
              percentages are of {format.time(sum * 1e6)}, the self time of all operators and regions
              {told?.source === "samples" ? "; from sampled stacks: no profiling window was recorded, so calls and memory are not known" : ""}
              {pruned && pruned.pruned_calls > 0 && (range || thread >= 0) ? `; ${format.count(pruned.pruned_calls)} calls shorter than ${format.time(pruned.longest_pruned_ns)} are not in this page` : ""}
            </>
          }
        />
      )}
    </section>
  );
}

function rate(row: OpRow): number {
  return (row.flops ?? 0) > 0 && row.total_ms > 0 ? row.flops! / (row.total_ms / 1e3) : NaN;
}

// What a column is called and means, as `sonde show ops` declares it.
function said(key: keyof OpRow): { id: string; title: string; meaning: string } {
  const { title, meaning } = COLUMNS.ops.find((column) => column.key === key)!;
  return { id: key, title, meaning };
}

function ModuleTable({ model, store, match }: ViewProps) {
  const both = model.has("samples") && model.has("ops");
  const from = store.get("modules.from", model.has("samples") ? "samples" : "ops") as "samples" | "ops";
  const range = store.range;
  const rows = useMemo(() => moduleTree(model, from, range), [model, from, range?.[0], range?.[1]]);
  const closed = new Set(store.get("modules.closed", "").split(",").filter(Boolean));
  const sum = rows.filter((row) => row.depth === 0).reduce((total, row) => total + row.total, 0) || 1;
  const steps = range ? 1 : Math.max(1, model.steps.length);
  const shown = rows
    .map((row, order) => ({ ...row, order }))
    .filter((row) => (match.active ? match.test(row.path) : ![...closed].some((path) => row.path.startsWith(`${path}.`))));
  if (!rows.length) {
    return (
      <Empty title="No modules were seen" command="sonde run your_script.py">
        Modules are named when a torch.nn program is recorded with Sonde, or when a trace was made with with_modules=True.
      </Empty>
    );
  }
  const toggle = (row: ModuleRow) => {
    if (!row.children) return;
    if (closed.has(row.path)) closed.delete(row.path);
    else closed.add(row.path);
    store.set({ "modules.closed": closed.size ? [...closed].join(",") : null });
  };
  return (
    <>
      {both && (
        <div class="bar">
          <Choice label="Source" value={from} options={[["samples", "Sampled CPU time", "all steps, all threads working for the module"], ["ops", "Calls in windows", "wall time, calls and memory in recorded windows"]]} onChange={(v) => store.set({ "modules.from": v })} />
        </div>
      )}
      <DataTable<ModuleRow & { order: number }>
        id="modules"
        store={store}
        rows={shown}
        sort="tree"
        file="modules"
        onPick={toggle}
        note={`percentages are of ${format.time(sum)}, the time inside modules`}
        columns={[
          {
            id: "tree", title: "Module", meaning: "Path of the module; click a row to fold it", width: "minmax(170px, 1fr)", value: (row) => -row.order,
            show: (row) => (
              <span style={{ paddingLeft: `${row.depth * 14}px` }}>
                {row.children ? (closed.has(row.path) ? "▸ " : "▾ ") : "· "}
                {row.name}
              </span>
            ),
          },
          { id: "total", title: "Total", meaning: "Time inside the module and its submodules", width: "minmax(112px, 146px)", value: (row) => row.total, show: (row) => `${format.time(row.total)}  ${format.percent(row.total / sum)}`, bar: (row) => row.total / sum },
          { id: "self", title: "Self", meaning: "Time inside the module but not in a submodule", width: "110px", value: (row) => row.self, show: (row) => format.time(row.self) },
          { id: "step", title: range ? "In range" : "Per step", meaning: "Total divided by the number of steps", width: "100px", wide: true, value: (row) => row.total / steps, show: (row) => format.time(row.total / steps) },
          { id: "calls", title: "Calls", meaning: "Calls in recorded windows", width: "80px", wide: true, value: (row) => row.calls, show: (row) => (row.calls ? format.count(row.calls) : "–") },
          { id: "memory", title: "Allocated per call", meaning: "Bytes allocated inside, divided by calls", width: "120px", wide: true, value: (row) => row.allocated / Math.max(1, row.calls), show: (row) => (row.allocated ? format.bytes(row.allocated / Math.max(1, row.calls)) : "–") },
        ]}
      />
    </>
  );
}
