// Two recordings side by side: one tree with the weight of both, and a table
// of functions with the interval of each difference.
//
// With steps on both sides, numbers are per steady step and the interval is
// Welch's, from the spread between steps. Without, they are totals and the
// interval covers only the sampling itself.

import type { Model } from "../data/model";
import { outermost } from "./functions";
import { TreeBuilder, layout, plainLabel, type Tree } from "./tree";
import type { Label } from "./source";
import { rowsOf, type Measure, type Rows } from "./weights";

export interface DiffRow {
  label: Label;
  before: number;
  after: number;
  low: number; // 95 % interval of after − before
  high: number;
  sure: boolean; // the interval does not hold zero
  self: boolean;
}

export interface DiffTree {
  tree: Tree;
  before: Float64Array;
  after: Float64Array;
  deviation: Float64Array; // of the change, from sampling alone
}

export interface Side {
  model: Model;
  rows: Rows;
  step: Int32Array; // steady step of each row, -1 outside; all 0 without steps
  steps: number;
}

export function perStep(before: Model, after: Model): boolean {
  return [before, after].every((m) => m.steps.length - m.warmup >= 3);
}

export function sideOf(model: Model, measure: Measure, byStep: boolean): Side {
  const rows = rowsOf(model, measure, { range: null, thread: -1, owners: false });
  const steady = model.steps.slice(model.warmup);
  const step = new Int32Array(rows.node.length);
  if (!byStep) return { model, rows, step, steps: 1 };
  // Only steps that hold rows count: operator windows cover just some of them.
  const used = new Map<number, number>();
  for (let i = 0; i < step.length; i++) {
    const at = findStep(steady, rows.time[i]);
    if (at < 0) step[i] = -1;
    else {
      if (!used.has(at)) used.set(at, used.size);
      step[i] = used.get(at)!;
    }
  }
  return { model, rows, step, steps: Math.max(1, used.size) };
}

function findStep(steps: { start: number; end: number }[], time: number): number {
  let low = 0;
  let high = steps.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (time < steps[middle].start) high = middle - 1;
    else if (time > steps[middle].end) low = middle + 1;
    else return middle;
  }
  return -1;
}

export function labelKey(label: Label): string {
  const file = label.file.slice(label.file.lastIndexOf("/") + 1);
  return `${label.layer}\u0001${label.name}\u0001${file}`;
}

export function diffTree(before: Side, after: Side, hideRuntime: boolean): DiffTree {
  const labels: Label[] = [];
  const ids = new Map<string, number>();
  const builder = new TreeBuilder();
  const sums: [number, number, number][][] = [[], []];
  [before, after].forEach((side, which) => {
    const { source } = side.rows;
    const id = source.labels.map((label) => {
      const key = labelKey(label);
      if (!ids.has(key)) {
        ids.set(key, labels.length);
        labels.push(label);
      }
      return ids.get(key)!;
    });
    const view = new Int32Array(source.parent.length);
    for (let i = 0; i < view.length; i++) view[i] = -1;
    const resolve = (node: number): number => {
      const path: number[] = [];
      let at = node;
      while (at >= 0 && view[at] < 0) {
        path.push(at);
        at = source.parent[at];
      }
      let found = at >= 0 ? view[at] : 0;
      for (let i = path.length - 1; i >= 0; i--) {
        const key = source.key[path[i]];
        if (!(hideRuntime && source.labels[key].runtime)) found = builder.child(found, id[key]);
        view[path[i]] = found;
      }
      return found;
    };
    for (let i = 0; i < side.rows.node.length; i++) {
      if (side.step[i] < 0) continue;
      const weight = side.rows.weight[i] / side.steps;
      const node = resolve(side.rows.node[i]);
      builder.add(node, weight / 2, 0); // the width is the mean of both
      sums[which].push([node, weight, side.rows.samples ? (weight * weight) / Math.max(1, side.rows.samples[i]) : 0]);
    }
  });
  labels.push(plainLabel("all"));
  builder.label[0] = labels.length - 1;
  const tree = layout(builder, labels, before.rows.unit, `the mean of both recordings${before.steps > 1 ? ", per steady step" : ""}`);
  const upward = (lists: [number, number, number][][], which: 1 | 2) => {
    const out = new Float64Array(tree.parent.length);
    for (const list of lists) for (const entry of list) out[entry[0]] += entry[which];
    for (let i = out.length - 1; i > 0; i--) out[tree.parent[i]] += out[i];
    return out;
  };
  return { tree, before: upward([sums[0]], 1), after: upward([sums[1]], 1), deviation: upward(sums, 2).map(Math.sqrt) };
}

export function diffTable(before: Side, after: Side, self: boolean): DiffRow[] {
  const a = perLabel(before, self);
  const b = perLabel(after, self);
  const out: DiffRow[] = [];
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    const left = a.get(key);
    const right = b.get(key);
    const first = stats(left?.values, left?.squares, before.steps);
    const second = stats(right?.values, right?.squares, after.steps);
    const change = second.mean - first.mean;
    const half = first.margin === null || second.margin === null ? NaN : quantile(first, second) * Math.sqrt(first.margin + second.margin);
    out.push({
      label: (right ?? left)!.label, before: first.mean, after: second.mean, low: change - half, high: change + half,
      sure: Number.isFinite(half) && Math.abs(change) > half, self,
    });
  }
  return out;
}

interface PerLabel {
  label: Label;
  values: Float64Array; // by step
  squares: number; // of single rows, for the sampling error
}

function perLabel(side: Side, self: boolean): Map<string, PerLabel> {
  const { rows, steps } = side;
  const { source } = rows;
  const out = new Map<string, PerLabel>();
  const entries = source.labels.map((label) => {
    const key = labelKey(label);
    let entry = out.get(key);
    if (!entry) out.set(key, (entry = { label, values: new Float64Array(steps), squares: 0 }));
    return entry;
  });
  const outer = self ? null : outermost(rows);
  for (let i = 0; i < rows.node.length; i++) {
    const step = side.step[i];
    if (step < 0) continue;
    const weight = rows.weight[i];
    const each = rows.samples ? (weight * weight) / Math.max(1, rows.samples[i]) : 0;
    if (self) {
      const entry = entries[source.key[rows.node[i]]];
      entry.values[step] += weight;
      entry.squares += each;
      continue;
    }
    for (let at = rows.node[i]; at >= 0; at = source.parent[at]) {
      if (!outer![at]) continue;
      const entry = entries[source.key[at]];
      entry.values[step] += weight;
      entry.squares += each;
    }
  }
  for (const [key, entry] of out) if (!entry.values.some((v) => v > 0)) out.delete(key);
  return out;
}

interface Stats {
  mean: number;
  margin: number | null; // variance of the mean
  degrees: number;
}

function stats(values: Float64Array | undefined, squares = 0, steps: number): Stats {
  if (!values) return { mean: 0, margin: 0, degrees: Math.max(1, steps - 1) };
  const n = values.length;
  const mean = values.reduce((x, y) => x + y, 0) / n;
  if (n < 2) return { mean, margin: squares > 0 ? squares : null, degrees: 1000 };
  const variance = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (n - 1);
  return { mean, margin: variance / n, degrees: n - 1 };
}

// Student's 97.5 % quantile at Welch's degrees of freedom.
function quantile(a: Stats, b: Stats): number {
  const [x, y] = [a.margin ?? 0, b.margin ?? 0];
  const degrees = x + y > 0 ? (x + y) ** 2 / (x ** 2 / a.degrees + y ** 2 / b.degrees) : 1000;
  return studentQuantile(degrees);
}

export function studentQuantile(degrees: number): number {
  const table = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
  const d = Math.max(1, degrees);
  if (d <= 10) {
    const low = Math.floor(d);
    const next = table[Math.min(9, low)];
    return table[low - 1] + (next - table[low - 1]) * (d - low);
  }
  return 1.96 + 2.37 / d + 2.8 / (d * d); // within 0.005 of the table above ten
}
