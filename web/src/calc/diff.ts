// Two recordings side by side: one tree with the weight of both. It is a
// picture; every figure of the comparison comes from Python (data/comparison.ts).
// With steps on both sides weights are per step, of the steps that were compared.

import type { Model } from "../data/model";
import { TreeBuilder, layout, plainLabel, type Tree } from "./tree";
import type { Label } from "./source";
import { rowsOf, type Measure, type Rows } from "./weights";

export interface DiffTree {
  tree: Tree;
  before: Float64Array;
  after: Float64Array;
  deviation: Float64Array; // of the change, from sampling alone
}

export interface Side {
  model: Model;
  rows: Rows;
  step: Int32Array; // step of each row, -1 outside; all 0 without steps
  steps: number;
}

// `steady` are the numbers of the steps that were compared, as ranges; none: totals.
export function sideOf(model: Model, measure: Measure, steady: [number, number][]): Side {
  const rows = rowsOf(model, measure, { range: null, thread: -1, owners: false });
  const step = new Int32Array(rows.node.length);
  const chosen = model.steps.filter((s) => steady.some(([first, last]) => first <= s.number && s.number <= last));
  if (!chosen.length) return { model, rows, step, steps: 1 };
  if (measure === "cpu" || measure === "off" || measure === "both") {
    for (let i = 0; i < step.length; i++) step[i] = findStep(chosen, rows.time[i]);
    return { model, rows, step, steps: chosen.length };
  }
  // Calls are recorded in windows, which are left out of steady steps: of these count the steps that hold any.
  const after = model.steps.slice(model.warmup);
  const used = new Set<number>();
  for (let i = 0; i < step.length; i++) {
    step[i] = findStep(after, rows.time[i]);
    if (step[i] >= 0) used.add(step[i]);
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
