// Tables of operator calls: exact sums over the recording, or sums over the
// rows of a selected range. Self is the call less the calls it made; which rows
// count as calls is decided by the writer as torch.profiler decides it.

import type { Model } from "../data/model";

export type GroupBy = "name" | "shape" | "module" | "line" | "thread";

export interface OpRow {
  key: string;
  name: string;
  kind: number;
  shapes: string;
  module: string;
  place: string;
  calls: number;
  self: number;
  total: number;
  allocated: number;
  deviceSelf: number;
  deviceTotal: number;
  flops: number; // NaN when unknown
}

export function opTable(model: Model, by: GroupBy, range: [number, number] | null, thread: number): OpRow[] {
  const groups = new Map<string, OpRow>();
  const add = (call: number, signature: number, who: number, values: Omit<OpRow, "key" | "name" | "kind" | "shapes" | "module" | "place" | "flops">) => {
    const name = model.text(model.column("calls", "name")[call]);
    const kind = model.column("calls", "kind")[call];
    const module = model.text(model.column("calls", "module")[call]);
    const file = model.text(model.column("calls", "file")[call]);
    const line = model.column("calls", "line")[call];
    const shapes = model.text(model.column("signatures", "shapes")[signature]);
    const place = file ? `${file}:${line}` : "";
    const extra = by === "shape" ? shapes : by === "module" ? module : by === "line" ? place : by === "thread" ? model.threadLabel(who) : "";
    const key = `${kind === 1 || kind === 3 ? kind : 0}\u0001${name}\u0001${extra}`;
    let row = groups.get(key);
    if (!row) {
      row = { key: extra, name, kind, shapes: by === "shape" ? shapes : "", module: by === "module" ? module : "", place: by === "line" ? place : "", calls: 0, self: 0, total: 0, allocated: 0, deviceSelf: 0, deviceTotal: 0, flops: 0 };
      groups.set(key, row);
    }
    row.calls += values.calls;
    row.self += values.self;
    row.total += values.total;
    row.allocated += values.allocated;
    row.deviceSelf += values.deviceSelf;
    row.deviceTotal += values.deviceTotal;
    row.flops += values.calls * model.column("signatures", "flops")[signature];
  };
  if (!range && thread < 0 && by !== "thread") {
    const rows = model.rows("optotals");
    const column = (name: string) => model.column("optotals", name);
    for (let i = 0; i < rows; i++) {
      add(column("call")[i], column("signature")[i], -1, {
        calls: column("calls")[i], self: column("self")[i], total: column("total")[i], allocated: column("allocated")[i],
        deviceSelf: column("device_self")[i], deviceTotal: column("device_total")[i],
      });
    }
  } else {
    const rows = model.rows("ops");
    if (!rows) return [];
    const call = model.column("opnodes", "call");
    const column = (name: string) => model.column("ops", name);
    const start = column("start");
    for (let i = 0; i < rows; i++) {
      if (range && (start[i] < range[0] || start[i] > range[1])) continue;
      if (thread >= 0 && column("thread")[i] !== thread) continue;
      if (!column("counts")[i]) continue;
      const node = column("node")[i];
      add(call[node], column("signature")[i], column("thread")[i], {
        calls: 1, self: column("self")[i] + column("table_self_extra")[i], total: column("duration")[i],
        allocated: column("allocated")[i], deviceSelf: column("device")[i], deviceTotal: 0,
      });
    }
  }
  return [...groups.values()];
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
