// How operator calls and kernels hang together: who called whom, what a call launched, which others have its name.
// The writer orders `ops` by thread and start, a caller before what it calls, so relatives are found by walking rows.

import type { Model } from "../data/model";

const kernelIndex = new WeakMap<Model, { from: Int32Array; rows: Int32Array }>();
const named = new WeakMap<Model, Map<string, Int32Array>>();

export function callOf(model: Model, op: number): number {
  return model.column("opnodes", "call")[model.column("ops", "node")[op]];
}

export function opName(model: Model, op: number): string {
  return model.text(model.column("calls", "name")[callOf(model, op)]);
}

// The call around this one on its thread, -1 when there is none.
export function callerOf(model: Model, op: number): number {
  const [node, thread, start, duration] = ["node", "thread", "start", "duration"].map((name) => model.column("ops", name));
  const above = model.column("opnodes", "parent")[node[op]];
  if (above < 0) return -1;
  for (let i = op - 1; i >= 0 && thread[i] === thread[op]; i--) {
    if (node[i] === above && start[i] + duration[i] >= start[op]) return i;
  }
  return -1;
}

// Outermost first.
export function callersOf(model: Model, op: number): number[] {
  const found: number[] = [];
  for (let at = callerOf(model, op); at >= 0 && found.length < 64; at = callerOf(model, at)) found.unshift(at);
  return found;
}

// The rows of the calls inside a call: those that follow it until its end. `direct` leaves out what they call.
export function calleesOf(model: Model, op: number, direct = true): number[] {
  const [node, thread, start, duration] = ["node", "thread", "start", "duration"].map((name) => model.column("ops", name));
  const parent = model.column("opnodes", "parent");
  const end = start[op] + duration[op];
  const found: number[] = [];
  for (let i = op + 1; i < node.length && thread[i] === thread[op] && start[i] < end; i++) {
    if (!direct || parent[node[i]] === node[op]) found.push(i);
  }
  return found;
}

function kernelsByOp(model: Model): { from: Int32Array; rows: Int32Array } {
  let found = kernelIndex.get(model);
  if (!found) {
    const op = model.rows("kernels") ? model.column("kernels", "op") : [];
    const from = new Int32Array(model.rows("ops") + 1);
    for (let i = 0; i < op.length; i++) if (op[i] >= 0) from[op[i] + 1]++;
    for (let i = 1; i < from.length; i++) from[i] += from[i - 1];
    const next = from.slice();
    const rows = new Int32Array(from[from.length - 1]);
    for (let i = 0; i < op.length; i++) if (op[i] >= 0) rows[next[op[i]]++] = i;
    kernelIndex.set(model, (found = { from, rows }));
  }
  return found;
}

// Kernels that a call launched, itself or by what it called, in the order of their start.
export function kernelsOf(model: Model, op: number): number[] {
  if (!model.rows("kernels")) return [];
  const { from, rows } = kernelsByOp(model);
  const found: number[] = [];
  for (const call of [op, ...calleesOf(model, op, false)]) for (let i = from[call]; i < from[call + 1]; i++) found.push(rows[i]);
  const start = model.column("kernels", "start");
  return found.sort((a, b) => start[a] - start[b]);
}

// The first kernel of a launch, -1 when it has none in the page.
export function kernelOfLaunch(model: Model, launch: number): number {
  return model.rows("kernels") ? model.column("kernels", "launch").indexOf(launch) : -1;
}

// The innermost call that was open on a thread at a moment.
export function callAt(model: Model, thread: number, moment: number): number {
  const [who, start, duration] = ["thread", "start", "duration"].map((name) => model.column("ops", name));
  let low = 0;
  let high = who.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (who[middle] < thread || (who[middle] === thread && start[middle] <= moment)) low = middle + 1;
    else high = middle;
  }
  for (let i = low - 1, steps = 0; i >= 0 && who[i] === thread && steps < 5000; i--, steps++) {
    if (start[i] + duration[i] >= moment) return i;
  }
  return -1;
}

// All rows of the same name, by start: what ‹ › walks.
export function sameName(model: Model, table: "ops" | "kernels" | "launches", code: number): Int32Array {
  let known = named.get(model);
  if (!known) named.set(model, (known = new Map()));
  const id = `${table}:${code}`;
  let found = known.get(id);
  if (!found) {
    const start = model.column(table, "start");
    const name = table === "ops" ? null : model.column(table, "name");
    const rows: number[] = [];
    const [node, call, names] = table === "ops" ? [model.column("ops", "node"), model.column("opnodes", "call"), model.column("calls", "name")] : [[], [], []];
    for (let i = 0; i < start.length; i++) if ((name ? name[i] : names[call[node[i]]]) === code) rows.push(i);
    known.set(id, (found = Int32Array.from(rows).sort((a, b) => start[a] - start[b] || a - b)));
  }
  return found;
}

// File and line of the nearest call around this one that has them, and the module, each with its own search.
export function placeOf(model: Model, op: number): { file: string; line: number; module: string } {
  const calls = (name: string) => model.column("calls", name);
  let [file, line, module] = ["", -1, ""];
  for (const at of [op, ...callersOf(model, op).reverse()]) {
    const call = callOf(model, at);
    if (!file && calls("file")[call] >= 0) [file, line] = [model.text(calls("file")[call]), calls("line")[call]];
    if (!module) module = model.text(calls("module")[call]);
  }
  return { file, line, module };
}
