// Time by category (Python, framework, operator, kernel, other, spin, wait)
// for chosen threads and a range, and where it is spent most.

import { CATEGORIES, WAIT, type Model } from "../data/model";
import { clipped, isTaken } from "./clip";

export interface LayerSums {
  sums: number[]; // by category, in ns
  running: number; // everything but waiting
  all: number; // running and waiting
  taken: number; // ready to run but off the CPU: in none of the others
  samples: number;
}

export function layerSums(model: Model, range: [number, number] | null, thread = -1): LayerSums {
  const sums = new Array<number>(CATEGORIES.length).fill(0);
  let samples = 0;
  let taken = 0;
  const rows = model.rows("samples");
  if (rows) {
    const who = model.column("samples", "thread");
    const count = model.column("samples", "count");
    const inside = clipped(model, range);
    const away = isTaken(model);
    for (let i = 0; i < rows; i++) {
      if (thread >= 0 && who[i] !== thread) continue;
      const weight = inside(i);
      if (!weight) continue;
      if (away(i)) taken += weight;
      else {
        sums[model.category[i]] += weight;
        samples += count[i];
      }
    }
  }
  const all = sums.reduce((a, b) => a + b, 0);
  return { sums, running: all - sums[WAIT], all, taken, samples };
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
  const who = model.column("samples", "thread");
  const stack = model.column("samples", "stack");
  const inside = clipped(model, range);
  const away = isTaken(model);
  const sums = new Map<number, number>();
  let all = 0;
  for (let i = 0; i < rows; i++) {
    if (model.category[i] !== category || (thread >= 0 && who[i] !== thread)) continue;
    const weight = away(i) ? 0 : inside(i);
    all += weight;
    const f = nearest[stack[i]];
    if (weight && f >= 0) sums.set(f, (sums.get(f) ?? 0) + weight);
  }
  let best = -1;
  for (const [f, value] of sums) if (best < 0 || value > sums.get(best)!) best = f;
  if (best < 0) return null;
  return { name: model.text(model.column("functions", "name")[best]), share: sums.get(best)! / all };
}
