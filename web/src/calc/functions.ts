// Self and total per function (recursion counted once), and the callers and
// callees of one: what the sandwich view shows.

import { layout, plainLabel, TreeBuilder, type Tree } from "./tree";
import type { Model } from "../data/model";
import type { Rows } from "./weights";

export interface FunctionRow {
  key: number;
  self: number;
  total: number;
  count: number;
}

export interface NodeSums {
  rows: Float64Array; // of the node itself
  self: Float64Array;
  total: Float64Array;
  count: Float64Array;
}

export function nodeSums(rows: Rows): NodeSums {
  const n = rows.source.parent.length;
  const self = new Float64Array(n);
  const count = new Float64Array(n);
  for (let i = 0; i < rows.node.length; i++) {
    self[rows.node[i]] += rows.weight[i];
    count[rows.node[i]] += rows.samples ? rows.samples[i] : 1;
  }
  const own = count.slice();
  const total = self.slice();
  for (let i = n - 1; i >= 0; i--) {
    const above = rows.source.parent[i];
    if (above >= 0) {
      total[above] += total[i];
      count[above] += count[i];
    }
  }
  return { rows: own, self, total, count };
}

// 1 for nodes with no ancestor of the same function. One walk over the tree
// with a counter per function, so that deep recursion costs no more than flat.
export function outermost(rows: Rows): Uint8Array {
  return outermostBy(rows.source.parent, rows.source.key, rows.source.labels.length);
}

// The same for any key per node; a negative key belongs to nothing.
export function outermostBy(parent: ArrayLike<number>, key: ArrayLike<number>, keys: number): Uint8Array {
  const n = parent.length;
  const firstChild = new Int32Array(n).fill(-1);
  const nextSibling = new Int32Array(n).fill(-1);
  const roots: number[] = [];
  for (let i = n - 1; i >= 0; i--) {
    if (parent[i] < 0) roots.push(i);
    else {
      nextSibling[i] = firstChild[parent[i]];
      firstChild[parent[i]] = i;
    }
  }
  const open = new Int32Array(keys + 1); // the last entry takes negative keys
  const slot = (node: number) => (key[node] < 0 ? keys : key[node]);
  const out = new Uint8Array(n);
  for (const root of roots) {
    let at = root;
    let entering = true;
    while (at >= 0) {
      if (entering) {
        if (open[slot(at)]++ === 0 && key[at] >= 0) out[at] = 1;
        if (firstChild[at] >= 0) {
          at = firstChild[at];
          continue;
        }
      }
      open[slot(at)]--;
      if (at === root) break;
      if (nextSibling[at] >= 0) {
        at = nextSibling[at];
        entering = true;
      } else {
        at = parent[at];
        entering = false;
      }
    }
  }
  return out;
}

// All functions on the CPU, of the whole recording: as the writer summed them (sonde/analyze/samples/stacks.py).
export function wholeTable(model: Model): FunctionRow[] {
  const column = (name: string) => model.column("functions", name);
  const [self, total, count] = ["cpu_self", "cpu_total", "cpu_samples"].map(column);
  return Array.from({ length: model.rows("functions") }, (_, key) => ({ key, self: self[key], total: total[key], count: count[key] })).filter((row) => row.total > 0);
}

// The same of the rows of a selected range, thread or other measure, by the same formula.
export function functionTable(rows: Rows): FunctionRow[] {
  const sums = nodeSums(rows);
  const outer = outermost(rows);
  const { key, labels } = rows.source;
  const self = new Float64Array(labels.length);
  const total = new Float64Array(labels.length);
  const count = new Float64Array(labels.length);
  for (let i = 0; i < key.length; i++) {
    self[key[i]] += sums.self[i];
    if (outer[i]) total[key[i]] += sums.total[i];
    // Samples behind the total; for calls, the calls of the function itself.
    if (!rows.samples) count[key[i]] += sums.rows[i];
    else if (outer[i]) count[key[i]] += sums.count[i];
  }
  const out: FunctionRow[] = [];
  for (let i = 0; i < labels.length; i++) {
    if (total[i] > 0) out.push({ key: i, self: self[i], total: total[i], count: count[i] });
  }
  return out;
}

// Callees: everything below the outermost calls of a function, merged.
export function calleeTree(rows: Rows, focus: number, hideRuntime: boolean): Tree {
  const { parent, key, labels } = rows.source;
  const sums = nodeSums(rows);
  const builder = new TreeBuilder();
  const all = [...labels, plainLabel(labels[focus].name, labels[focus])];
  builder.label[0] = all.length - 1;
  const view = new Int32Array(parent.length).fill(-1);
  for (let i = 0; i < parent.length; i++) {
    const above = parent[i] >= 0 ? view[parent[i]] : -1;
    if (above < 0) {
      if (key[i] !== focus) continue;
      view[i] = 0;
    } else view[i] = hideRuntime && labels[key[i]].runtime ? above : builder.child(above, key[i]);
    builder.add(view[i], sums.self[i], 0);
  }
  return layout(builder, all, rows.unit, rows.whole);
}

// Callers: who called it, weighted by the time spent in it.
export function callerTree(rows: Rows, focus: number, hideRuntime: boolean): Tree {
  const { parent, key, labels } = rows.source;
  const sums = nodeSums(rows);
  const outer = outermost(rows);
  const builder = new TreeBuilder();
  const all = [...labels, plainLabel(labels[focus].name, labels[focus])];
  builder.label[0] = all.length - 1;
  for (let i = 0; i < parent.length; i++) {
    if (key[i] !== focus || !outer[i] || sums.total[i] <= 0) continue;
    let view = 0;
    let steps = 0;
    for (let at = parent[i]; at >= 0 && steps < 256; at = parent[at]) {
      if (hideRuntime && labels[key[at]].runtime) continue;
      view = builder.child(view, key[at]);
      steps++;
    }
    builder.add(view, sums.total[i], sums.count[i]);
  }
  return layout(builder, all, rows.unit, rows.whole);
}
