// Which rows count, and how much: samples, operator calls, kernels or
// allocations, restricted to the selected range, thread and state.

import type { Model } from "../data/model";
import { clipped } from "./clip";
import { steadyRange } from "./layers";
import { mergedLayers } from "./merge";
import { opSource, sampleSource, type Source } from "./source";

export type Measure = "cpu" | "off" | "both" | "ops" | "gpu" | "memory";

export interface Rows {
  source: Source;
  node: ArrayLike<number>; // node of each row
  group: ArrayLike<number>; // thread of each row (owner when asked for)
  weight: ArrayLike<number>;
  time: ArrayLike<number>; // moment of each row
  samples: ArrayLike<number> | null; // number of samples behind each row
  unit: "time" | "bytes";
  whole: string; // what 100 % is, in words
  pruned: number; // weight known to be missing from the rows
}

export interface Filter {
  range: [number, number] | null;
  thread: number; // -1: all
  merge?: boolean; // equal layers are one
  owners: boolean; // workers count for the thread that opened their region
}

const cache = new WeakMap<Model, { samples?: Source; waits?: ReturnType<typeof waitSource>; ops?: ReturnType<typeof opSource>; gpu?: ReturnType<typeof opSource> }>();

function sources(model: Model) {
  let found = cache.get(model);
  if (!found) cache.set(model, (found = {}));
  return found;
}

export function cachedSampleSource(model: Model): Source {
  return (sources(model).samples ??= sampleSource(model));
}

export function measuresOf(model: Model): Measure[] {
  const found: Measure[] = [];
  if (model.has("samples")) found.push("cpu", "off", "both");
  if (model.has("ops")) found.push("ops");
  if (model.has("kernels")) found.push("gpu");
  if (model.has("ops") && sum(model.column("ops", "allocated")) > 0) found.push("memory");
  return found;
}

const recent = new WeakMap<Model, Map<string, Rows>>();
const KEPT = 4; // views, the panel and its tabs ask for the same rows one after another

export function rowsOf(model: Model, measure: Measure, filter: Filter): Rows {
  let known = recent.get(model);
  if (!known) recent.set(model, (known = new Map()));
  const id = JSON.stringify([measure, filter]);
  let found = known.get(id);
  if (!found) {
    found = filter.merge ? rowsOf(model, measure, { ...filter, merge: false }) : chosenRows(model, measure, filter);
    if (filter.merge) found = { ...found, source: mergedLayers(found.source) };
  }
  known.delete(id);
  known.set(id, found); // the newest is last
  if (known.size > KEPT) known.delete(known.keys().next().value!);
  return found;
}

function chosenRows(model: Model, measure: Measure, filter: Filter): Rows {
  if (measure === "ops" || measure === "memory") return opRows(model, measure, filter);
  if (measure === "gpu") return gpuRows(model, filter);
  return sampleRows(model, measure, filter);
}

// Sampled stacks with the reason of each wait as an innermost box.
function waitSource(model: Model): Source & { rowNode: Int32Array } {
  const base = cachedSampleSource(model);
  const parent = Array.from(base.parent);
  const key = Array.from(base.key);
  const labels = [...base.labels];
  const stack = model.column("samples", "stack");
  const state = model.column("samples", "state");
  const reason = model.column("samples", "reason");
  const rowNode = Int32Array.from(stack);
  const labelOf = new Map<number, number>();
  const nodeOf = new Map<string, number>();
  for (let i = 0; i < rowNode.length; i++) {
    if (state[i] !== 3 || reason[i] < 0) continue;
    if (!labelOf.has(reason[i])) {
      labelOf.set(reason[i], labels.length);
      labels.push({ name: `waiting: ${model.text(reason[i])}`, full: `waiting: ${model.text(reason[i])}`, layer: 5, file: "", line: -1, library: "", runtime: false });
    }
    const id = `${stack[i]}:${reason[i]}`;
    let node = nodeOf.get(id);
    if (node === undefined) {
      node = parent.length;
      nodeOf.set(id, node);
      parent.push(stack[i]);
      key.push(labelOf.get(reason[i])!);
    }
    rowNode[i] = node;
  }
  return { parent: Int32Array.from(parent), key: Int32Array.from(key), labels, rowNode };
}

function sampleRows(model: Model, measure: "cpu" | "off" | "both", filter: Filter): Rows {
  const waits = measure === "cpu" || !model.rows("samples") ? null : (sources(model).waits ??= waitSource(model));
  const source = waits ?? cachedSampleSource(model);
  const total = model.rows("samples");
  const time = total ? model.column("samples", "time") : [];
  const thread = total ? model.column("samples", "thread") : [];
  const owner = total ? model.column("samples", "owner") : [];
  const state = total ? model.column("samples", "state") : [];
  const stack = total ? model.column("samples", "stack") : [];
  const inside = total ? clipped(model, filter.range) : () => 0;
  const count = total ? model.column("samples", "count") : [];
  const picked: number[] = [];
  for (let i = 0; i < total; i++) {
    if (measure === "cpu" ? state[i] === 3 : measure === "off" ? state[i] !== 3 : false) continue;
    if (filter.range && !inside(i)) continue;
    const who = filter.owners && owner[i] >= 0 ? owner[i] : thread[i];
    if (filter.thread >= 0 && who !== filter.thread) continue;
    picked.push(i);
  }
  const kind = measure === "cpu" ? "CPU time" : measure === "off" ? "waiting time" : "thread time, running and waiting";
  return {
    source,
    node: take(waits ? waits.rowNode : stack, picked),
    group: picked.map((i) => (filter.owners && owner[i] >= 0 ? owner[i] : thread[i])),
    weight: Float64Array.from(picked, inside),
    time: take(time, picked),
    samples: take(count, picked),
    unit: "time",
    whole: `${kind} of ${scope(model, filter)}`,
    pruned: 0,
  };
}

function opRows(model: Model, measure: "ops" | "memory", filter: Filter): Rows {
  const source = (sources(model).ops ??= opSource(model, false));
  const total = model.rows("ops");
  const start = model.column("ops", "start");
  const thread = model.column("ops", "thread");
  const node = model.column("ops", "node");
  const weight = model.column("ops", measure === "ops" ? "self" : "allocated");
  const picked: number[] = [];
  for (let i = 0; i < total; i++) {
    if (!weight[i] && measure === "memory") continue;
    if (filter.range && (start[i] < filter.range[0] || start[i] > filter.range[1])) continue;
    if (filter.thread >= 0 && thread[i] !== filter.thread) continue;
    picked.push(i);
  }
  const everything = !filter.range && filter.thread < 0;
  return {
    source,
    node: take(node, picked),
    group: take(thread, picked),
    weight: take(weight, picked),
    time: take(start, picked),
    samples: null,
    unit: measure === "ops" ? "time" : "bytes",
    whole: `${measure === "ops" ? "time inside recorded calls" : "bytes allocated"} of ${scope(model, filter)}`,
    pruned: everything && measure === "ops" ? (model.facts.kept?.ops?.pruned_self_ns ?? 0) : 0,
  };
}

function gpuRows(model: Model, filter: Filter): Rows {
  const source = (sources(model).gpu ??= opSource(model, true));
  const start = model.column("kernels", "start");
  const weight = model.column("kernels", "duration");
  const op = model.column("kernels", "op");
  const thread = model.has("ops") ? model.column("ops", "thread") : [];
  const work = model.column("kernels", "work");
  const picked: number[] = [];
  for (let i = 0; i < start.length; i++) {
    if (work[i] === 3) continue;
    if (filter.range && (start[i] < filter.range[0] || start[i] > filter.range[1])) continue;
    const who = op[i] >= 0 ? thread[op[i]] : -1;
    if (filter.thread >= 0 && who !== filter.thread) continue;
    picked.push(i);
  }
  return {
    source,
    node: take(source.kernelNode, picked),
    group: picked.map((i) => (op[i] >= 0 ? thread[op[i]] : -1)),
    weight: take(weight, picked),
    time: take(start, picked),
    samples: null,
    unit: "time",
    whole: `device time of ${scope(model, filter)}`,
    pruned: 0,
  };
}

function scope(model: Model, filter: Filter): string {
  const who = filter.thread >= 0 ? model.threadLabel(filter.thread) : "all threads";
  const steady = steadyRange(model);
  if (filter.range && steady && filter.range[0] === steady[0] && filter.range[1] === steady[1]) return `${who} in steady steps`;
  return filter.range ? `${who} in the selected range` : `${who}, whole recording`;
}

function take(column: ArrayLike<number>, rows: number[]): Float64Array {
  const out = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) out[i] = column[rows[i]];
  return out;
}

function sum(column: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < column.length; i++) total += column[i];
  return total;
}
