import { describe, expect, it } from "vitest";
import { stretchOf } from "../src/calc/clip";
import { layerSums } from "../src/calc/layers";
import { rowsOf } from "../src/calc/weights";
import { Model, WAIT } from "../src/data/model";
import type { Payload } from "../src/data/payload";

const S = 1e9;
const strings = ["preempted", "lock", "f"];

// One thread of a minute: a wait for a lock over all of it, ten samples, and pieces in which it was off the CPU.
function model(slot = 1): Model {
  const waits = [[0, 60 * S, 1], [10 * S, 0.4 * S, 0], [10.5 * S, 0.4 * S, 0]];
  const time = [...waits.map((w) => w[0]), ...Array.from({ length: 10 }, (_, i) => 10 * S + i * 0.01 * S)];
  const rows = time.length;
  const of = (pick: (i: number) => number) => Float64Array.from(time, (_, i) => pick(i));
  const wait = (i: number) => i < waits.length;
  const table = (columns: Record<string, ArrayLike<number>>) => ({ rows: Object.values(columns)[0].length, columns });
  return new Model({
    facts: { duration_ns: 60 * S, kept: { profile: { slot_ns: slot } } },
    strings,
    tables: {
      functions: table({ layer: [3], name: [2], full: [-1], file: [-1], library: [-1], runtime: [0], work: [4], inlined: [0] }),
      frames: table({ function: [0], line: [-1] }),
      stacks: table({ parent: [-1], frame: [0], heuristic: [0], work: [3] }),
      samples: {
        rows,
        columns: {
          time: Float64Array.from(time), thread: of(() => 0), owner: of(() => -1), stack: of(() => 0), count: of(() => 1),
          state: of((i) => (wait(i) ? 3 : 0)),
          reason: of((i) => (wait(i) ? waits[i][2] : -1)),
          weight: of((i) => (wait(i) ? waits[i][1] : 0.01 * S)),
        },
      },
    },
  } as unknown as Payload);
}

describe("a selected range", () => {
  it("holds no more of a wait than the range lasts", () => {
    const found = layerSums(model(), [10 * S, 12 * S], 0);
    expect(found.sums[WAIT]).toBeCloseTo(2 * S);
    expect(found.running).toBeCloseTo(0.1 * S);
    const rows = rowsOf(model(), "off", { range: [20 * S, 22 * S], thread: 0, owners: false });
    expect(Array.from(rows.weight)).toEqual([2 * S]);
  });
  it("keeps time in which the thread could not run apart from its waits", () => {
    expect(layerSums(model(), [10 * S, 12 * S], 0).taken).toBeCloseTo(0.8 * S);
    expect(layerSums(model(), [10.2 * S, 10.6 * S], 0).taken).toBeCloseTo(0.3 * S);
    expect(layerSums(model(), null, 0).taken).toBeCloseTo(0.8 * S);
  });
  it("spreads a joined row over its slot", () => {
    expect(layerSums(model(2 * S), [10 * S, 11 * S], 0).taken).toBeCloseTo(0.2 * S + 0.25 * 0.4 * S, -8);
  });
  it("is drawn where it was: samples up to their time, waits from their start on, preemption over its look", () => {
    const stretch = stretchOf(model());
    expect(stretch(0)).toEqual([0, 60 * S]);
    expect(stretch(3)).toEqual([9.99 * S, 0.01 * S]);
    const short = model();
    short.column("samples", "weight")[1] = 0.03 * S;
    expect(stretchOf(short)(1)).toEqual([10 * S, 0.1 * S]);
  });
});
