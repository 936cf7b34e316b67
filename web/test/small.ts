// A small recording: two threads of one process, stacks main > f and main > g, a worker that works for the first thread,
// one wait, and two kernels on a device.
import { Model } from "../src/data/model";
import type { Payload } from "../src/data/payload";

export const STRINGS = ["main", "f", "g", "train.py", "lock", "worker", "sgemm", "copy", "<module>", "/p/__init__.py"];
const table = (columns: Record<string, number[]>) => ({ rows: Object.values(columns)[0].length, columns });

export function small(facts: object = {}): Model {
  return new Model({
    facts: { duration_ns: 100, kept: { profile: { slot_ns: 1 } }, ...facts },
    strings: STRINGS,
    tables: {
      processes: table({ process: [0], pid: [77], rank: [-1], role: [-1] }),
      threads: table({ thread: [2, 1], process: [0, 0], tid: [78, 77], kind: [5, 0], name: [-1, -1] }),
      functions: table({
        layer: [0, 0, 0, 0], name: [0, 1, 2, 8], full: [-1, -1, -1, -1], file: [3, 3, 3, 9], library: [-1, -1, -1, -1],
        runtime: [0, 0, 0, 0], work: [0, 0, 0, 0], inlined: [0, 0, 0, 0],
      }),
      frames: table({ function: [0, 1, 2], line: [10, 20, 30] }),
      stacks: table({ parent: [-1, 0, 0], frame: [0, 1, 2], heuristic: [0, 0, 0], work: [0, 0, 0] }),
      samples: table({
        time: [10, 20, 30, 40, 50], thread: [1, 1, 2, 1, 1], owner: [-1, -1, 1, -1, -1], stack: [1, 1, 2, 2, 0],
        count: [1, 1, 1, 1, 1], state: [0, 0, 0, 3, 0], reason: [-1, -1, -1, 4, -1], weight: [5, 5, 7, 20, 3],
      }),
      kernels: table({
        start: [10, 15, 60], duration: [10, 10, 20], op: [-1, -1, -1], work: [0, 2, 0], name: [6, 7, 6], stream: [7, 8, 7],
        device: [0, 0, 0], process: [0, 0, 0], launch: [-1, -1, -1],
      }),
    },
  } as unknown as Payload);
}
