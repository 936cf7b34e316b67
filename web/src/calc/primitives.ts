// Calls of oneDNN and MKL by problem: of the whole recording as the writer summed them, of a range those that began in it.

import type { Model } from "../data/model";

export interface PrimitiveRow {
  library: string;
  event: string;
  kind: string;
  implementation: string;
  isa: string;
  quality: string;
  shape: string;
  dtypes: string;
  layouts: string;
  postOps: string;
  calls: number;
  ms: number;
  flops: number;
  bytes: number;
}

export function primitiveRows(model: Model, range: [number, number] | null): PrimitiveRow[] {
  const text = (name: string, i: number) => model.text(model.column("primitives", name)[i]);
  const rows = Array.from({ length: model.rows("primitives") }, (_, i) => ({
    library: text("library", i), event: text("event", i), kind: text("kind", i), implementation: text("implementation", i), isa: text("isa", i),
    quality: text("quality", i), shape: text("shape", i), dtypes: text("dtypes", i).replace(/["[\]]/g, ""), layouts: text("layouts", i), postOps: text("post_ops", i),
    calls: model.column("primitives", "calls")[i], ms: model.column("primitives", "time_ms")[i],
    flops: model.column("primitives", "flops")[i], bytes: model.column("primitives", "bytes")[i],
  }));
  if (!range) return rows;
  const [group, start, duration] = ["group", "start", "duration"].map((name) => model.column("primitivecalls", name));
  const calls = new Float64Array(rows.length);
  const spent = new Float64Array(rows.length);
  for (let i = 0; i < group.length; i++) {
    if (start[i] < range[0] || start[i] >= range[1]) continue;
    calls[group[i]] += 1;
    spent[group[i]] += duration[i];
  }
  return rows
    .map((row, i) => ({ ...row, calls: calls[i], ms: spent[i] / 1e6, flops: (row.flops / row.calls) * calls[i], bytes: (row.bytes / row.calls) * calls[i] }))
    .filter((row) => row.calls > 0);
}
