// Direct callers and callees of a function by the time spent in it: the plain table beside every flame.

import { nodeSums, outermost, type NodeSums } from "./functions";
import type { Rows } from "./weights";

export interface Neighbour {
  key: number; // label; -1: called by nothing, or its own time
  value: number;
}

const sums = new WeakMap<Rows, { sums: NodeSums; outer: Uint8Array }>();

export function sumsOf(rows: Rows): { sums: NodeSums; outer: Uint8Array } {
  let found = sums.get(rows);
  if (!found) sums.set(rows, (found = { sums: nodeSums(rows), outer: outermost(rows) }));
  return found;
}

export function totalsOf(rows: Rows, focus: number): { self: number; total: number; count: number } {
  const { sums: own, outer } = sumsOf(rows);
  const { key } = rows.source;
  const out = { self: 0, total: 0, count: 0 };
  for (let i = 0; i < key.length; i++) {
    if (key[i] !== focus) continue;
    out.self += own.self[i];
    if (outer[i]) {
      out.total += own.total[i];
      out.count += own.count[i];
    }
  }
  return out;
}

// Callers share the function's total among them; callees and its own time do so too.
export function neighbours(rows: Rows, focus: number, hideRuntime: boolean): { callers: Neighbour[]; callees: Neighbour[] } {
  const { parent, key, labels } = rows.source;
  const { sums: own, outer } = sumsOf(rows);
  const hidden = (node: number) => hideRuntime && labels[key[node]].runtime && key[node] !== focus;
  const callers = new Map<number, number>();
  const callees = new Map<number, number>();
  const inside = new Int32Array(key.length).fill(-1); // the key that this node's time counts for, below a focus
  const add = (to: Map<number, number>, at: number, value: number) => value > 0 && to.set(at, (to.get(at) ?? 0) + value);
  for (let i = 0; i < key.length; i++) {
    const above = parent[i];
    if (key[i] === focus) {
      inside[i] = -2; // its own
      if (outer[i]) {
        let at = above;
        while (at >= 0 && hidden(at)) at = parent[at];
        add(callers, at >= 0 ? key[at] : -1, own.total[i]);
      }
    } else if (above >= 0 && inside[above] !== -1) {
      inside[i] = inside[above] !== -2 ? inside[above] : hidden(i) ? -2 : key[i];
    }
    if (inside[i] !== -1) add(callees, inside[i] === -2 ? -1 : inside[i], own.self[i]);
  }
  const sorted = (map: Map<number, number>) => [...map].map(([k, value]) => ({ key: k, value })).sort((a, b) => b.value - a.value);
  return { callers: sorted(callers), callees: sorted(callees) };
}
