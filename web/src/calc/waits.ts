// Time off the CPU in a stretch, by reason and place. Of the whole recording it is the answer of `sonde show waits`;
// here the waits of a selected range are summed, by the same formula (sonde/views/waits.py).

import type { WaitRow } from "../data/answers";
import type { Model } from "../data/model";
import { clipped, type Range } from "./clip";

const PROFILERS = ["sonde::", "libkineto::"];
const SYSTEM = ["libc.so", "ld-linux", "libpthread", "libgomp", "libpython", "python"];

export function waitRows(model: Model, range: Range): WaitRow[] {
  if (!range) return model.answer("waits")?.rows ?? [];
  if (!model.has("samples")) return [];
  const [thread, state, reason, stack, count] = ["thread", "state", "reason", "stack", "count"].map((name) => model.column("samples", name));
  const inside = clipped(model, range);
  const groups = new Map<string, WaitRow>();
  const places = new Map<number, [string | null, string | null]>();
  for (let i = 0; i < thread.length; i++) {
    if (state[i] !== 3) continue;
    const weight = inside(i);
    if (!weight) continue;
    if (!places.has(stack[i])) places.set(stack[i], placeOf(model, stack[i]));
    const [python, place] = places.get(stack[i])!;
    const kind = model.threadById.get(thread[i])?.kind || null;
    if (kind === "sonde" || PROFILERS.some((word) => place?.startsWith(word))) continue;
    const why = model.text(reason[i]) || "other";
    const id = [kind, why, python, place].join("\u0001");
    let row = groups.get(id);
    if (!row) groups.set(id, (row = { kind, reason: why, waiting_ms: 0, waits: 0, python, place }));
    row.waiting_ms += weight / 1e6;
    row.waits += count[i];
  }
  return [...groups.values()].sort((a, b) => b.waiting_ms - a.waiting_ms);
}

// Innermost Python frame, and innermost native frame that is not plumbing.
function placeOf(model: Model, stack: number): [string | null, string | null] {
  const [parent, frame] = ["parent", "frame"].map((name) => model.column("stacks", name));
  const functionOf = model.column("frames", "function");
  const [layer, name, library] = ["layer", "name", "library"].map((column) => model.column("functions", column));
  let [python, place]: [string | null, string | null] = [null, null];
  for (let node = stack; node >= 0 && (python === null || place === null); node = parent[node]) {
    const f = functionOf[frame[node]];
    if (layer[f] === 0 && python === null) python = model.text(name[f]);
    if (layer[f] === 3 && place === null && !SYSTEM.some((word) => model.text(library[f]).startsWith(word))) place = model.text(name[f]);
  }
  return [python, place];
}
