// Rows over a prefix tree → the tree a flame view draws: hidden frames skipped,
// equal neighbours merged, optionally one tree per thread, or upside down.
// Everything is iterative: a recording may have stacks of ten thousand frames.

import type { Rows } from "./weights";
import type { Drawn } from "../data/model";
import type { Label } from "./source";
import { applied, type Transform } from "./transforms";

export interface TreeOptions {
  hideRuntime: boolean;
  byGroup: ((group: number) => string) | null; // name of a root per group, or merged
  invert: boolean;
  transforms?: Transform[];
}

export interface Tree {
  parent: Int32Array;
  label: Int32Array; // index into labels
  depth: Int32Array;
  total: Float64Array;
  self: Float64Array;
  count: Float64Array; // samples behind the total
  x: Float64Array; // left edge, as weight
  levels: Int32Array[]; // nodes of each depth, from left to right
  labels: Label[];
  unit: "time" | "bytes";
  whole: string;
  sum: number;
}

const MAX_INVERTED_DEPTH = 256;

export class TreeBuilder {
  parent: number[] = [-1];
  label: number[] = [0];
  depth: number[] = [0];
  self: number[] = [0];
  count: number[] = [0];
  private children = new Map<number, number>();

  child(parent: number, label: number): number {
    // Labels stay far below 2^21 and nodes below 2^32, so the key is exact.
    const key = parent * 2097152 + label;
    let node = this.children.get(key);
    if (node === undefined) {
      node = this.parent.length;
      this.children.set(key, node);
      this.parent.push(parent);
      this.label.push(label);
      this.depth.push(this.depth[parent] + 1);
      this.self.push(0);
      this.count.push(0);
    }
    return node;
  }

  add(node: number, weight: number, count: number): void {
    this.self[node] += weight;
    this.count[node] += count;
  }
}

export function plainLabel(name: string, { layer, work }: Drawn = { layer: 7 }): Label {
  return { name, full: name, layer, work, file: "", line: -1, library: "", runtime: false };
}

export function buildTree(rows: Rows, options: TreeOptions): Tree {
  const { source } = rows;
  const labels = [...source.labels, plainLabel("all")];
  const root = labels.length - 1;
  const hidden = source.labels.map((label) => options.hideRuntime && label.runtime);
  const builder = new TreeBuilder();
  builder.label[0] = root;
  const groupRoot = new Map<number, number>();
  const startOf = (group: number): number => {
    if (!options.byGroup) return 0;
    let node = groupRoot.get(group);
    if (node === undefined) {
      labels.push(plainLabel(options.byGroup(group)));
      node = builder.child(0, labels.length - 1);
      groupRoot.set(group, node);
    }
    return node;
  };
  // Sum rows by (group, node) first: samples repeat stacks many times over.
  const byGroup = new Map<number, Map<number, [number, number]>>();
  for (let i = 0; i < rows.node.length; i++) {
    const group = options.byGroup ? rows.group[i] : 0;
    let inner = byGroup.get(group);
    if (!inner) byGroup.set(group, (inner = new Map()));
    const entry = inner.get(rows.node[i]);
    const seen = rows.samples ? rows.samples[i] : 1;
    if (entry) {
      entry[0] += rows.weight[i];
      entry[1] += seen;
    } else inner.set(rows.node[i], [rows.weight[i], seen]);
  }
  const done = options.transforms?.length ? applied(options.transforms, source.parent, source.key, source.labels) : null;
  const memo = new Int32Array(source.parent.length);
  const stamp = new Int32Array(source.parent.length);
  let turn = 0;
  const path: number[] = [];
  for (const [group, entries] of byGroup) {
    turn++;
    const start = startOf(group);
    for (const [node, [weight, seen]] of entries) {
      if (done && (done.state[node] === 2 || !done.inside[node])) continue;
      if (options.invert) {
        insertInverted(builder, source, hidden, start, node, weight, seen, labels);
        continue;
      }
      path.length = 0;
      let at = node;
      while (at >= 0 && stamp[at] !== turn) {
        path.push(at);
        at = source.parent[at];
      }
      let view = at >= 0 ? memo[at] : start;
      for (let i = path.length - 1; i >= 0; i--) {
        const key = source.key[path[i]];
        if (!hidden[key] && (!done || (done.inside[path[i]] && !done.state[path[i]]))) view = builder.child(view, key);
        memo[path[i]] = view;
        stamp[path[i]] = turn;
      }
      builder.add(view, weight, seen);
    }
  }
  if (rows.pruned > 0) {
    labels.push(plainLabel("(pruned) calls too short to carry in this page"));
    builder.add(builder.child(0, labels.length - 1), rows.pruned, 0);
  }
  return layout(builder, labels, rows.unit, rows.whole);
}

function insertInverted(
  builder: TreeBuilder,
  source: Rows["source"],
  hidden: boolean[],
  start: number,
  node: number,
  weight: number,
  seen: number,
  labels: Label[],
): void {
  let view = start;
  let steps = 0;
  for (let at = node; at >= 0; at = source.parent[at]) {
    const key = source.key[at];
    if (hidden[key]) continue;
    if (++steps > MAX_INVERTED_DEPTH) {
      if (labels[labels.length - 1].name !== "(further callers not shown)") {
        labels.push(plainLabel("(further callers not shown)"));
      }
      view = builder.child(view, labels.length - 1);
      break;
    }
    view = builder.child(view, key);
  }
  builder.add(view, weight, seen);
}

export function layout(builder: TreeBuilder, labels: Label[], unit: Rows["unit"], whole: string): Tree {
  const n = builder.parent.length;
  const parent = Int32Array.from(builder.parent);
  const self = Float64Array.from(builder.self);
  const total = Float64Array.from(self);
  const count = Float64Array.from(builder.count);
  const depth = Int32Array.from(builder.depth);
  for (let i = n - 1; i > 0; i--) {
    total[parent[i]] += total[i];
    count[parent[i]] += count[i];
  }
  let deepest = 0;
  for (let i = 0; i < n; i++) if (depth[i] > deepest) deepest = depth[i];
  const counts = new Int32Array(deepest + 1);
  for (let i = 0; i < n; i++) counts[depth[i]]++;
  const levels = Array.from(counts, (size) => new Int32Array(size));
  const filled = new Int32Array(deepest + 1);
  for (let i = 0; i < n; i++) levels[depth[i]][filled[depth[i]]++] = i;
  const x = new Float64Array(n);
  const next = new Float64Array(n); // where the next child of a node starts
  for (let level = 1; level <= deepest; level++) {
    const nodes = levels[level];
    nodes.sort((a, b) => x[parent[a]] - x[parent[b]] || parent[a] - parent[b] || total[b] - total[a] || a - b);
    for (const node of nodes) {
      x[node] = x[parent[node]] + next[parent[node]];
      next[parent[node]] += total[node];
    }
  }
  return {
    parent, label: Int32Array.from(builder.label), depth, total, self, count, x, levels, labels, unit, whole,
    sum: total[0],
  };
}

// The node at a depth that covers a position, -1 when none does.
export function nodeAt(tree: Tree, depth: number, position: number): number {
  const nodes = tree.levels[depth];
  if (!nodes) return -1;
  let low = 0;
  let high = nodes.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const node = nodes[middle];
    if (tree.x[node] > position) high = middle - 1;
    else if (tree.x[node] + tree.total[node] <= position) low = middle + 1;
    else return node;
  }
  return -1;
}

// Weight of all nodes that match, counting nested matches once.
export function matchedTotal(tree: Tree, matches: Uint8Array): number {
  let sum = 0;
  const inside = new Uint8Array(tree.parent.length);
  for (let i = 0; i < inside.length; i++) {
    const above = i > 0 && inside[tree.parent[i]];
    if (above) inside[i] = 1;
    else if (matches[tree.label[i]] && i > 0) {
      inside[i] = 1;
      sum += tree.total[i];
    }
  }
  return sum;
}
