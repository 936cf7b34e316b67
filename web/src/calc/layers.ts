// Time by category (Python, framework, operator, kernel, other, spin, wait)
// for chosen threads and a range, and where it is spent most.

import { CATEGORIES, WAIT, type Model } from "../data/model";

export interface LayerSums {
  sums: number[]; // by category, in ns
  running: number; // everything but waiting
  all: number;
  samples: number;
}

export function layerSums(model: Model, range: [number, number] | null, thread = -1): LayerSums {
  const sums = new Array<number>(CATEGORIES.length).fill(0);
  let samples = 0;
  const rows = model.rows("samples");
  if (rows) {
    const time = model.column("samples", "time");
    const who = model.column("samples", "thread");
    const weight = model.column("samples", "weight");
    const count = model.column("samples", "count");
    for (let i = 0; i < rows; i++) {
      if (range && (time[i] < range[0] || time[i] > range[1])) continue;
      if (thread >= 0 && who[i] !== thread) continue;
      sums[model.category[i]] += weight[i];
      samples += count[i];
    }
  }
  const all = sums.reduce((a, b) => a + b, 0);
  return { sums, running: all - sums[WAIT], all, samples };
}

// The steady part of the run: from the end of warm-up to the last step's end.
export function steadyRange(model: Model): [number, number] | null {
  const steady = model.steps.slice(model.warmup);
  return steady.length ? [steady[0].start, steady[steady.length - 1].end] : null;
}

// The label of a layer (operator = 2, module = 1, …) with most weight in a category.
export function topLabel(model: Model, category: number, layer: number, range: [number, number] | null, thread = -1): { name: string; share: number } | null {
  const rows = model.rows("samples");
  if (!rows) return null;
  const parent = model.column("stacks", "parent");
  const frame = model.column("stacks", "frame");
  const functionOf = model.column("frames", "function");
  const layerOf = model.column("functions", "layer");
  const nearest = new Int32Array(parent.length).fill(-1);
  for (let i = 0; i < parent.length; i++) {
    const f = functionOf[frame[i]];
    nearest[i] = layerOf[f] === layer ? f : parent[i] >= 0 ? nearest[parent[i]] : -1;
  }
  const time = model.column("samples", "time");
  const who = model.column("samples", "thread");
  const stack = model.column("samples", "stack");
  const weight = model.column("samples", "weight");
  const sums = new Map<number, number>();
  let all = 0;
  for (let i = 0; i < rows; i++) {
    if (model.category[i] !== category || (thread >= 0 && who[i] !== thread)) continue;
    if (range && (time[i] < range[0] || time[i] > range[1])) continue;
    all += weight[i];
    const f = nearest[stack[i]];
    if (f >= 0) sums.set(f, (sums.get(f) ?? 0) + weight[i]);
  }
  let best = -1;
  for (const [f, value] of sums) if (best < 0 || value > sums.get(best)!) best = f;
  if (best < 0) return null;
  return { name: model.text(model.column("functions", "name")[best]), share: sums.get(best)! / all };
}
