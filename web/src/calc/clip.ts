// How much of a row of samples lies in a range. A sample on the CPU is a moment; a wait is a stretch from its start
// on, and only the part of it inside the range counts: nobody waits longer in a range than the range lasts.

import type { Model } from "../data/model";

export type Range = [number, number] | null;

export function clipped(model: Model, range: Range): (row: number) => number {
  const weight = model.column("samples", "weight");
  if (!range) return (row) => weight[row];
  const time = model.column("samples", "time");
  const state = model.column("samples", "state");
  return (row) => {
    if (state[row] !== 3) return time[row] < range[0] || time[row] > range[1] ? 0 : weight[row];
    // Rows that were joined begin at their slot and last at least that long.
    const length = Math.max(weight[row], model.slot, 1);
    const inside = Math.min(time[row] + length, range[1]) - Math.max(time[row], range[0]);
    return inside > 0 ? weight[row] * Math.min(inside / length, 1) : 0;
  };
}

// Ready to run, but off the CPU: no wait of the program's own.
export function isTaken(model: Model): (row: number) => boolean {
  const state = model.column("samples", "state");
  const reason = model.column("samples", "reason");
  return (row) => state[row] === 3 && reason[row] >= 0 && model.text(reason[row]) === "preempted";
}
