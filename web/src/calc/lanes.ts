// The lanes of the timeline: one per thread and one per GPU stream, grouped by
// process, main thread first, busiest next. A lane knows its rows in the order
// in which they can be searched by time.

import { stretchOf, takenRows } from "./clip";
import { roleOf } from "./roles";
import { CATEGORY_ORDER, KINDS, type Model } from "../data/model";

export interface Lane {
  kind: "process" | "thread" | "stream" | "idle"; // idle: stands for folded threads
  id: string; // its word in the address
  label: string;
  note: string;
  process: number;
  thread: number;
  device: number; // of a stream, else -1
  stream: number;
  samples: Int32Array; // rows of `samples`, by time
  slices: Int32Array[]; // rows of `ops` by depth, by start; for a stream rows of `kernels`
  launches: Int32Array; // rows of `launches`, by start
  modules: ModuleRun[]; // stretches of one module, where no call is the module itself
  roots: number; // outermost levels that hold a few calls around everything: folded into one line
  weight: number; // CPU time
  longest: number; // longest time that one sample stands for
  bins: Float32Array | null; // sampled time by bin and category, for drawing from afar
}

export interface ModuleRun {
  module: number; // string code
  start: number;
  end: number;
}

const NONE = new Int32Array(0);
const EMPTY = { samples: NONE, slices: [], launches: NONE, modules: [], roots: 0, weight: 0, longest: 0, bins: null };
const MAX_DEPTH = 64;
const UNFOLLOWED = "(not followed)";

export function buildLanes(model: Model): Lane[] {
  const threads = new Map<number, Lane>();
  const laneOf = (thread: number): Lane => {
    let lane = threads.get(thread);
    if (!lane) {
      const actor = model.threadById.get(thread);
      lane = {
        kind: "thread", id: `t${thread}`, label: model.threadLabel(thread), note: actor ? `${roleOf(model, thread).words} · ${actor.tid}` : "",
        process: actor?.process ?? -1, thread, device: -1, stream: -1, ...EMPTY,
      };
      threads.set(thread, lane);
    }
    return lane;
  };
  const stretch = model.rows("samples") ? stretchOf(model) : (): [number, number] => [0, 0];
  for (const actor of model.threads) {
    const lane = laneOf(actor.id);
    lane.samples = model.samplesOf(actor.id);
    const weight = lane.samples.length ? model.column("samples", "weight") : [];
    const state = lane.samples.length ? model.column("samples", "state") : [];
    for (const row of lane.samples) {
      lane.weight += state[row] === 3 ? 0 : weight[row];
      lane.longest = Math.max(lane.longest, stretch(row)[1]);
    }
  }
  addOps(model, laneOf);
  addLaunches(model, laneOf);
  const streams = streamLanes(model);
  const roles = new Map<number, string>();
  const ranks = new Map<number, number>();
  for (let i = 0; i < model.rows("processes"); i++) {
    const id = model.column("processes", "process")[i];
    roles.set(id, `${model.text(model.column("processes", "role")[i]) || "process"} ${model.column("processes", "pid")[i]}`);
    ranks.set(id, model.column("processes", "rank")[i]);
  }
  // What threads used that were not followed is known only as a sum at the end of the run: it has no place in time.
  for (const actor of model.threads) if (actor.name === UNFOLLOWED) threads.delete(actor.id);
  const lanes = [...threads.values()].filter((lane) => lane.samples.length || lane.slices.length || lane.launches.length);
  const processes = [...new Set([...lanes, ...streams].map((lane) => lane.process))].sort((a, b) => a - b);
  const out: Lane[] = [];
  for (const process of processes) {
    const number = ranks.get(process) ?? -1;
    const own = lanes.filter((lane) => lane.process === process);
    own.sort((a, b) => rank(model, a) - rank(model, b) || b.weight - a.weight || a.thread - b.thread);
    const name = `${roles.get(process) ?? "process"}${number >= 0 ? `, rank ${number}` : ""}`;
    out.push({ kind: "process", id: `p${process}`, label: name, note: `${own.length} ${own.length === 1 ? "thread" : "threads"}`, process, thread: -1, device: -1, stream: -1, ...EMPTY });
    out.push(...own, ...streams.filter((lane) => lane.process === process));
  }
  return out;
}

// The main thread first, our own last.
function rank(model: Model, lane: Lane): number {
  const kind = model.threadById.get(lane.thread)?.kind;
  return kind === "main" ? 0 : kind === "sonde" ? 2 : 1;
}

function addOps(model: Model, laneOf: (thread: number) => Lane): void {
  const rows = model.rows("ops");
  if (!rows) return;
  const node = model.column("ops", "node");
  const thread = model.column("ops", "thread");
  const parent = model.column("opnodes", "parent");
  const depth = new Int32Array(parent.length);
  for (let i = 0; i < depth.length; i++) depth[i] = parent[i] >= 0 ? depth[parent[i]] + 1 : 0;
  const byLane = new Map<number, number[][]>();
  for (let i = 0; i < rows; i++) {
    let levels = byLane.get(thread[i]);
    if (!levels) byLane.set(thread[i], (levels = []));
    const level = Math.min(MAX_DEPTH - 1, depth[node[i]]);
    while (levels.length <= level) levels.push([]);
    levels[level].push(i);
  }
  // A level that lost all of its calls to pruning takes no room.
  for (const [id, levels] of byLane) {
    const lane = laneOf(id);
    lane.slices = levels.filter((l) => l.length).map((l) => Int32Array.from(l));
    // Frames that stay open all the time say nothing in a picture of time.
    while (lane.roots < lane.slices.length - 1 && lane.slices[lane.roots].length <= 2) lane.roots++;
    if (lane.roots < 3) lane.roots = 0;
    lane.modules = moduleRuns(model, lane);
  }
}

// Calls next to each other that belong to one module, as one stretch.
function moduleRuns(model: Model, lane: Lane): ModuleRun[] {
  const [node, start, duration] = ["node", "start", "duration"].map((name) => model.column("ops", name));
  const call = model.column("opnodes", "call");
  const [module, kind] = ["module", "kind"].map((name) => model.column("calls", name));
  const runs: ModuleRun[] = [];
  const rows = lane.slices.flatMap((level) => Array.from(level)).sort((a, b) => start[a] - start[b]);
  for (const row of rows) {
    const c = call[node[row]];
    if (kind[c] === MODULE_KIND) return [];
    if (module[c] < 0) continue;
    const last = runs[runs.length - 1];
    if (last && last.module === module[c] && start[row] - last.end < (last.end - last.start) * 0.5 + 1000) last.end = Math.max(last.end, start[row] + duration[row]);
    else if (!last || start[row] >= last.end) runs.push({ module: module[c], start: start[row], end: start[row] + duration[row] });
  }
  return runs;
}

const MODULE_KIND = KINDS.indexOf("module");

function addLaunches(model: Model, laneOf: (thread: number) => Lane): void {
  const rows = model.rows("launches");
  if (!rows) return;
  const thread = model.column("launches", "thread");
  const byLane = new Map<number, number[]>();
  for (let i = 0; i < rows; i++) {
    if (!byLane.has(thread[i])) byLane.set(thread[i], []);
    byLane.get(thread[i])!.push(i);
  }
  for (const [id, list] of byLane) laneOf(id).launches = Int32Array.from(list);
}

function streamLanes(model: Model): Lane[] {
  const rows = model.rows("kernels");
  if (!rows) return [];
  const process = model.column("kernels", "process");
  const device = model.column("kernels", "device");
  const stream = model.column("kernels", "stream");
  const groups = new Map<string, { lane: Lane; rows: number[]; device: number; stream: number }>();
  for (let i = 0; i < rows; i++) {
    const key = `${process[i]}:${device[i]}:${stream[i]}`;
    let group = groups.get(key);
    if (!group) {
      const lane: Lane = {
        kind: "stream", id: `s${process[i]}.${device[i]}.${stream[i]}`, label: `GPU ${device[i]} stream ${stream[i]}`, note: "kernels and copies", process: process[i], thread: -1, device: device[i], stream: stream[i],
        ...EMPTY,
      };
      groups.set(key, (group = { lane, rows: [], device: device[i], stream: stream[i] }));
    }
    group.rows.push(i);
  }
  return [...groups.values()]
    .sort((a, b) => a.device - b.device || a.stream - b.stream)
    .map((group) => {
      group.lane.slices = [Int32Array.from(group.rows)];
      return group.lane;
    });
}

export const BINS = 8192;
// What a strip stacks: the categories, and as the last one time ready but off the CPU.
export const TAKEN = CATEGORY_ORDER.length;
export const STRIP_KINDS = TAKEN + 1;

// A lane's samples summed into BINS equal stretches of the recording.
export function binsOf(model: Model, lane: Lane): Float32Array {
  if (lane.bins) return lane.bins;
  const kinds = STRIP_KINDS;
  const taken = takenRows(model);
  const out = new Float32Array(BINS * kinds);
  const weight = model.column("samples", "weight");
  const width = model.duration / BINS;
  const stretch = stretchOf(model);
  for (const row of lane.samples) {
    const [start, length] = stretch(row);
    const density = weight[row] / length;
    const first = Math.max(0, Math.floor(start / width));
    const last = Math.min(BINS - 1, Math.floor((start + length) / width));
    for (let bin = first; bin <= last; bin++) {
      const covered = Math.min(start + length, (bin + 1) * width) - Math.max(start, bin * width);
      if (covered > 0) out[bin * kinds + (taken[row] ? TAKEN : model.category[row])] += covered * density;
    }
  }
  return (lane.bins = out);
}

// First position in `rows` whose `column` value is at least `value`.
export function lowerBound(rows: Int32Array, column: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[rows[middle]] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
