// Tables of operator calls. Those of the whole recording are the answer of `sonde show ops`; here only the calls
// of a selected range or thread are summed, by the same formula (sonde/analyze/ops/table.py): self is the call less
// the calls it made, total and self are without time ready but off the CPU, and which rows count as calls was decided
// by the writer.

import { KINDS, type Model } from "../data/model";
import { COLUMNS, type OpRow } from "../data/answers";

export type GroupBy = "name" | "shape" | "module" | "line" | "thread";
export type { OpRow };

const MODULE = KINDS.indexOf("module");

export interface OpTable {
  rows: OpRow[];
  self_ms: number; // what shares are of: all operators and regions, not the modules
}

export function opTable(model: Model, by: GroupBy, range: [number, number] | null, thread: number): OpTable {
  const told = !range && thread < 0 ? model.operators(by) : null;
  if (!told) return summed(model, by, range, thread, false);
  return { rows: [...told.rows, ...summed(model, by, null, -1, true).rows], self_ms: told.self_ms };
}

// Operators only: neither regions that the program named nor modules.
export function isOperator(row: OpRow): boolean {
  return row.kind !== "annotation" && row.kind !== "module" && row.kind !== "python";
}

function summed(model: Model, by: GroupBy, range: [number, number] | null, thread: number, modules: boolean): OpTable {
  const groups = new Map<string, OpRow>();
  const rows = model.rows("ops");
  if (!rows) return { rows: [], self_ms: 0 };
  const call = model.column("opnodes", "call");
  const column = (name: string) => model.column("ops", name);
  const calls = (name: string) => model.column("calls", name);
  const [start, who, counts, node, signature, own, extra, lasted, taken, device] =
    ["start", "thread", "counts", "node", "signature", "self", "table_self_extra", "duration", "taken", "device"].map(column);
  const flops = model.column("signatures", "flops");
  let all = 0;
  for (let i = 0; i < rows; i++) {
    if (range && (start[i] < range[0] || start[i] > range[1])) continue;
    if (thread >= 0 && who[i] !== thread) continue;
    const c = call[node[i]];
    const kind = KINDS[calls("kind")[c]];
    if (!counts[i] || (modules && kind !== "module" && kind !== "python")) continue;
    const name = model.text(calls("name")[c]);
    const file = model.text(calls("file")[c]);
    const key =
      by === "shape" ? model.text(model.column("signatures", "shapes")[signature[i]])
      : by === "module" ? model.text(calls("module")[c])
      : by === "line" ? (file ? `${file}:${calls("line")[c]}` : "")
      : by === "thread" ? model.threadLabel(who[i])
      : "";
    const id = `${calls("kind")[c] === MODULE ? 1 : 0}\u0001${name}\u0001${key}`;
    let row = groups.get(id);
    if (!row) groups.set(id, (row = empty(name, key || null, kind)));
    const self = (own[i] + extra[i]) / 1e6;
    row.calls! += 1;
    row.self_ms += self;
    row.total_ms += (lasted[i] - taken[i]) / 1e6;
    row.device_self_ms! += device[i] / 1e6;
    const known = flops[signature[i]];
    if (!Number.isNaN(known)) row.flops = (row.flops ?? 0) + known;
    if (kind !== "module" && kind !== "python") all += self;
  }
  return { rows: [...groups.values()], self_ms: all };
}

// What only whole calls of the whole recording can tell is not known of a range: every declared column that `summed`
// does not fill.
function empty(name: string, key: string | null, kind: string): OpRow {
  const unknown = Object.fromEntries(COLUMNS.ops.map((column) => [column.key, null]));
  return { ...unknown, name, key, kind, calls: 0, self_ms: 0, total_ms: 0, device_self_ms: 0 } as OpRow;
}

export interface ModuleRow {
  path: string;
  name: string;
  depth: number;
  self: number; // in the module, not in a submodule
  total: number;
  calls: number;
  allocated: number;
  children: boolean;
}

interface ModuleSums {
  self: number;
  total: number;
  calls: number;
  allocated: number;
}

// Module tree by path. `from` is samples (whole run) or ops (windows, with calls and memory).
export function moduleTree(model: Model, from: "samples" | "ops", range: [number, number] | null): ModuleRow[] {
  const own = new Map<string, ModuleSums>();
  const entry = (path: string): ModuleSums => {
    let found = own.get(path);
    if (!found) own.set(path, (found = { self: 0, total: 0, calls: 0, allocated: 0 }));
    return found;
  };
  if (from === "samples") sampledModules(model, range, entry);
  else calledModules(model, range, entry);
  const sums = new Map<string, ModuleSums>();
  for (const [path, values] of own) {
    const words = path.split(".");
    for (let end = words.length; end > 0; end--) {
      const above = words.slice(0, end).join(".");
      let sum = sums.get(above);
      if (!sum) sums.set(above, (sum = { self: 0, total: 0, calls: 0, allocated: 0 }));
      sum.total += values.self;
      sum.allocated += values.allocated;
      if (end === words.length) {
        sum.self += values.self;
        sum.calls += values.calls;
      }
    }
  }
  const children = new Map<string, string[]>();
  for (const path of sums.keys()) {
    const at = path.lastIndexOf(".");
    const above = at < 0 ? "" : path.slice(0, at);
    if (!children.has(above)) children.set(above, []);
    children.get(above)!.push(path);
  }
  const out: ModuleRow[] = [];
  const visit: [string, number][] = [];
  const open = (path: string, depth: number) => {
    const list = (children.get(path) ?? []).sort((a, b) => sums.get(a)!.total - sums.get(b)!.total);
    for (const child of list) visit.push([child, depth]);
  };
  open("", 0);
  while (visit.length) {
    const [path, depth] = visit.pop()!;
    const sum = sums.get(path)!;
    out.push({ path, name: path.slice(path.lastIndexOf(".") + 1), depth, ...sum, children: children.has(path) });
    open(path, depth + 1);
  }
  return out;
}

function sampledModules(model: Model, range: [number, number] | null, entry: (path: string) => ModuleSums): void {
  if (!model.has("samples")) return;
  const parent = model.column("stacks", "parent");
  const frame = model.column("stacks", "frame");
  const functionOf = model.column("frames", "function");
  const layer = model.column("functions", "layer");
  const name = model.column("functions", "name");
  const module = new Int32Array(parent.length).fill(-1); // innermost module of each stack
  for (let i = 0; i < parent.length; i++) {
    const f = functionOf[frame[i]];
    module[i] = layer[f] === 1 ? name[f] : parent[i] >= 0 ? module[parent[i]] : -1;
  }
  const time = model.column("samples", "time");
  const stack = model.column("samples", "stack");
  const weight = model.column("samples", "weight");
  const state = model.column("samples", "state");
  const sums = new Map<number, number>();
  for (let i = 0; i < time.length; i++) {
    if (state[i] === 3 || (range && (time[i] < range[0] || time[i] > range[1]))) continue;
    const path = module[stack[i]];
    if (path >= 0) sums.set(path, (sums.get(path) ?? 0) + weight[i]);
  }
  for (const [path, value] of sums) entry(model.text(path) || "(model)").self += value;
}

function calledModules(model: Model, range: [number, number] | null, entry: (path: string) => ModuleSums): void {
  const rows = model.rows("ops");
  if (!rows) return;
  const call = model.column("opnodes", "call");
  const module = model.column("calls", "module");
  const kind = model.column("calls", "kind");
  const column = (name: string) => model.column("ops", name);
  for (let i = 0; i < rows; i++) {
    if (range && (column("start")[i] < range[0] || column("start")[i] > range[1])) continue;
    const c = call[column("node")[i]];
    const path = model.text(module[c]);
    if (!path) continue;
    const sum = entry(path);
    sum.self += column("self")[i];
    sum.allocated += column("allocated")[i];
    if (kind[c] === 3) sum.calls++;
  }
}
