// Steps of the program, as `sonde show steps` counts and measures them.

import type { Steps } from "../data/answers";

export interface Step {
  number: number;
  start: number;
  end: number;
  length: number; // without the time in which its thread was ready but off the CPU, where that matters
}

export function findSteps(told: Steps | null, origin: number): { steps: Step[]; warmup: number } {
  const steps = (told?.steps ?? []).map((row) => ({
    number: row.index,
    start: row.start_ns - origin,
    end: row.start_ns - origin + (row.ms + row.taken_ms) * 1e6,
    length: row.ms * 1e6,
  }));
  return { steps, warmup: told?.warmup ?? 0 };
}

export function median(values: ArrayLike<number>): number {
  if (!values.length) return NaN;
  const sorted = Array.from(values).sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
