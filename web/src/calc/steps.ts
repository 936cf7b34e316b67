// Steps of the program, and how many of the first ones are warm-up.

import type { Model } from "../data/model";

export interface Step {
  number: number;
  start: number;
  end: number;
}

export function findSteps(model: Model): { steps: Step[]; warmup: number } {
  const rows = model.rows("marks");
  const steps: Step[] = [];
  if (rows) {
    const kind = model.column("marks", "kind");
    const process = model.column("marks", "process");
    let first: number | null = model.facts.steps?.process ?? null;
    for (let i = 0; i < rows; i++) {
      if (model.text(kind[i]) !== "step") continue;
      // One process speaks for the job: the ranks' steps are the same steps.
      first ??= process[i];
      if (process[i] !== first) continue;
      steps.push({
        number: model.column("marks", "number")[i],
        start: model.column("marks", "start")[i],
        end: model.column("marks", "end")[i],
      });
    }
  }
  steps.sort((a, b) => a.start - b.start);
  const told = model.facts.steps?.warmup;
  return { steps, warmup: typeof told === "number" ? told : countWarmup(steps.map((s) => s.end - s.start)) };
}

// Leading steps that are clearly slower than the second half of the run:
// beyond three robust deviations, and by at least a tenth.
export function countWarmup(durations: number[]): number {
  if (durations.length < 4) return durations.length > 1 ? 1 : 0;
  const late = durations.slice(Math.floor(durations.length / 2));
  const middle = median(late);
  const spread = 1.4826 * median(late.map((d) => Math.abs(d - middle)));
  const limit = middle + Math.max(3 * spread, 0.1 * middle);
  let count = 0;
  while (count < durations.length / 2 && durations[count] > limit) count++;
  return count;
}

export function median(values: ArrayLike<number>): number {
  if (!values.length) return NaN;
  const sorted = Array.from(values).sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
