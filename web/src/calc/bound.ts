// What bounds the program. Of the whole recording: what `sonde show verdict` says. Of a selected range: the same
// shares and thresholds (sonde/insights/bound.py) over the samples of the thread that was judged.

import { BOUND, type Verdict } from "../data/answers";
import type { Model } from "../data/model";
import { clipped, isTaken, type Range } from "./clip";

export type Shares = Record<string, number>;

export function verdict(model: Model, range: Range): Verdict {
  const told = model.answer("verdict");
  if (!range) return told ?? unknown("Not judged: the recording is damaged.");
  if (model.has("kernels")) return unknown("Not judged: of a device only the whole trace is; its shares of this range are below.");
  if (!model.has("samples")) return unknown("Not judged: this recording has no samples.");
  const thread = told && told.thread >= 0 ? told.thread : (model.threads.find((t) => t.kind === "main")?.id ?? -1);
  const { shares, samples } = sharesOf(model, range, thread, told?.crowded ?? false);
  if (samples < BOUND.fewest_samples) {
    return unknown(`Not judged: ${samples} samples in this range, ${BOUND.fewest_samples} are needed.`);
  }
  const word = wordOf(shares);
  const parts = Object.entries(BOUND.words).filter(([kind]) => shares[kind] >= 0.005).map(([kind, text]) => `${Math.round(shares[kind] * 100)}% ${text}`);
  const evidence = [`this range is ${parts.join(", ")}`];
  return { word, sentence: `This range is ${word}: ${evidence[0]}.`, evidence, shares, samples, thread, crowded: told?.crowded ?? false };
}

function unknown(sentence: string): Verdict {
  return { word: null, sentence, evidence: [], shares: {}, samples: null, thread: -1, crowded: false };
}

function sharesOf(model: Model, range: Range, thread: number, crowded: boolean): { shares: Shares; samples: number } {
  const sums = new Array<number>(BOUND.kinds.length).fill(0);
  const [who, kind, count] = ["thread", "kind", "count"].map((name) => model.column("samples", name));
  const inside = clipped(model, range);
  const taken = isTaken(model);
  let samples = 0;
  for (let i = 0; i < who.length; i++) {
    if (who[i] !== thread || taken(i)) continue;
    const weight = inside(i);
    if (!weight) continue;
    sums[kind[i]] += weight;
    samples += count[i];
  }
  const all = sums.reduce((a, b) => a + b, 0) || 1;
  const pool = sums[BOUND.kinds.indexOf("pool")] / all;
  const rest = crowded && pool < 1 ? 1 - pool : 1;
  const shares: Shares = {};
  BOUND.kinds.forEach((name, i) => (shares[name] = rest < 1 && name === "pool" ? 0 : sums[i] / all / rest));
  return { shares, samples };
}

// As word_of of sonde/insights/bound.py; tests/data/bound_words.json holds both to the same answers.
export function wordOf(given: Shares): string {
  if (given.pool >= BOUND.pool) return "wait-bound";
  const rest = Math.max(1 - given.pool, 1e-9);
  const share = (name: string) => given[name] / rest;
  const [loss, word] = Object.entries(BOUND.waits).reduce((most, one) => (share(one[0]) > share(most[0]) ? one : most));
  if (share(loss) >= BOUND.loss) return word;
  if (share("overhead") >= BOUND.overhead) return "overhead-bound";
  return share("math") >= share("memory") ? "compute-bound" : "kernel-bound";
}

// The length of a steady step, in ns.
export function steadyStep(model: Model): number | null {
  const median = model.answer("steps")?.median_ms;
  return median ? median * 1e6 : null;
}
