// How much of a row of samples lies in a range. A sample on the CPU is a moment; a wait is a stretch from its start
// on, and only the part of it inside the range counts: nobody waits longer in a range than the range lasts.

import type { Model } from "../data/model";

export type Range = [number, number] | null;

// How often the agent looks while much is taken away (LOOK_NS of sonde/analyze/recording/taken_away.py): a look says how
// much of it a thread was ready but off the CPU, not when.
const LOOK = 100_000_000;

// The stretch that a row of samples is drawn over, [start, length]: a sample stands for the time up to it, a wait for
// the time from its start on, preemption for its part of a look, a row that was joined for its slot.
export function stretchOf(model: Model): (row: number) => [number, number] {
  const [time, weight, state] = ["time", "weight", "state"].map((name) => model.column("samples", name));
  const taken = isTaken(model);
  return (row) => {
    if (state[row] === 3) return [time[row], Math.max(weight[row], model.slot, taken(row) ? LOOK : 1)];
    const length = model.slot > 1 ? model.slot : Math.max(1, weight[row]);
    return [model.slot > 1 ? time[row] : time[row] - length, length];
  };
}

export function clipped(model: Model, range: Range): (row: number) => number {
  const weight = model.column("samples", "weight");
  if (!range) return (row) => weight[row];
  const time = model.column("samples", "time");
  const state = model.column("samples", "state");
  const stretch = stretchOf(model);
  return (row) => {
    if (state[row] !== 3) return time[row] < range[0] || time[row] > range[1] ? 0 : weight[row];
    const [start, length] = stretch(row);
    const inside = Math.min(start + length, range[1]) - Math.max(start, range[0]);
    return inside > 0 ? weight[row] * Math.min(inside / length, 1) : 0;
  };
}

const takenOf = new WeakMap<Model, Uint8Array>();

// 1 for rows of a thread that was ready to run, but off the CPU: no wait of the program's own.
export function takenRows(model: Model): Uint8Array {
  let found = takenOf.get(model);
  if (!found) {
    const state = model.column("samples", "state");
    const reason = model.column("samples", "reason");
    const code = model.strings.indexOf("preempted");
    takenOf.set(model, (found = Uint8Array.from(state, (s, i) => (s === 3 && code >= 0 && reason[i] === code ? 1 : 0))));
  }
  return found;
}

export function isTaken(model: Model): (row: number) => boolean {
  const rows = takenRows(model);
  return (row) => rows[row] === 1;
}
