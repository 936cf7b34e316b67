// One thread: step > linear > mm, and a second linear; mm launched a kernel.
import { Model } from "../src/data/model";
import type { Payload } from "../src/data/payload";

const STRINGS = ["step", "aten::linear", "aten::mm", "/p/a.py", "fc", "[[2, 3]]", "cudaLaunchKernel", "gemm", "ampere_sgemm", "main", "runtime"];
const table = (columns: Record<string, number[]>) => ({ rows: Object.values(columns)[0].length, columns, specs: {} });

export function calls(): Model {
  return new Model({
    facts: { duration_ns: 100 },
    strings: STRINGS,
    tables: {
      processes: table({ process: [0], pid: [1], rank: [-1], role: [-1] }),
      samples: table({ thread: [] }),
      threads: table({ thread: [0], process: [0], tid: [1], kind: [9], name: [-1] }),
      calls: table({ name: [0, 1, 2], kind: [1, 0, 0], module: [-1, 4, -1], file: [3, -1, -1], line: [12, -1, -1] }),
      opnodes: table({ parent: [-1, 0, 1], call: [0, 1, 2] }),
      signatures: table({ shapes: [-1, 5], dtypes: [-1, -1], flops: [NaN, NaN], bytes: [NaN, NaN] }),
      ops: table({
        thread: [0, 0, 0, 0], start: [0, 10, 12, 50], duration: [90, 30, 20, 10], taken: [0, 0, 0, 0], self: [50, 10, 20, 10], table_self_extra: [0, 0, 0, 0],
        counts: [1, 1, 1, 1], node: [0, 1, 2, 1], signature: [0, 1, 1, 1], allocated: [0, 0, 0, 0], device: [0, 0, 8, 0],
      }),
      launches: table({ thread: [0], start: [14], duration: [6], name: [6], kind: [10] }),
      kernels: table({
        process: [0], device: [0], stream: [7], start: [25], duration: [8], name: [8], short: [7], work: [0], op: [2], launch: [0], bytes: [-1],
        grid: [-1], block: [-1], registers: [0], shared: [0], occupancy: [NaN],
      }),
    },
  } as unknown as Payload);
}
